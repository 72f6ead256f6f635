"""Runs: results, progress, stopping, memory, threads."""

import os
import pickle
import shlex
import signal
import subprocess
import threading
import time
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

import ssdlab as sl
from conftest import python, timing


@pytest.fixture(scope="module")
def run(small: sl.Config) -> sl.Run:
    return sl.run(small, workload="quickstart", limit=3000, requests=True)


def test_summaries_are_mappings(run: sl.Run) -> None:
    summary = run.summary
    assert isinstance(summary, Mapping) and isinstance(summary["latency_ns"], Mapping)
    assert summary["latency_ns"]["read"]["p99_9"] == summary.latency_ns.read.p99_9
    assert summary["write_amplification"] == run.write_amplification
    assert set(summary) == set(summary.keys()) == set(summary.to_dict()) and len(summary) == len(list(summary))
    assert "config" in summary and "nothing" not in summary and summary.get("nothing", 3) == 3
    assert dict(summary.requests.items())["read"] == summary.requests.read
    assert summary == pickle.loads(pickle.dumps(summary)) and summary == summary.to_dict()
    assert run.perf["requests"] == 3000
    for wrong, error in ((lambda: summary["nothing"], KeyError), (lambda: summary.nothing, AttributeError)):
        with pytest.raises(error):
            wrong()
    with pytest.raises((TypeError, AttributeError)):
        summary["seed"] = 2  # type: ignore[index]
    with pytest.raises(AttributeError):
        run.summary = None  # type: ignore[misc]


def test_summaries_of_other_schemas_are_refused(run: sl.Run, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(run.summary.to_json())
    assert sl.Summary.load(path).to_json() == run.summary.to_json()
    for text in (run.summary.to_json().replace("ssdlab.summary/1", "ssdlab.summary/2"), "{}", "not JSON"):
        path.write_text(text)
        with pytest.raises(sl.UsageError):
            sl.Summary.load(path)
    with pytest.raises(sl.FileError):
        sl.Summary.load(tmp_path / "none.json")


def test_seeds_of_a_comparison_are_those_of_runs(small: sl.Config) -> None:
    def summaries(**options: object) -> list[sl.Summary]:
        done = sl.compare(small, vary={"gc.time": ["real", "none"]}, workload="random-write", limit=500, **options)
        return [summary for variant in done for summary in variant.summaries]

    both = [small, small.set("gc.time", "none")]
    native = {seed: [sl.run(cfg, workload="random-write", limit=500, seed=seed).summary for cfg in both] for seed in (1, 7, 8)}
    assert summaries(seed=7) == native[7] and summaries() == summaries(seed=1) == native[1]
    assert len({summary["trace_digest"] for seed in native for summary in native[seed]}) == 3
    assert summaries(seed=7, repeat=2) == [native[seed][i] for i in (0, 1) for seed in (7, 8)]


def test_a_workload_may_be_a_file_or_a_dict(small: sl.Config, tmp_path: Path) -> None:
    text = next(info.text for info in sl.workloads() if info.name == "quickstart")
    file = tmp_path / "own.toml"
    file.write_text(text)
    spec = tomllib.loads(text)
    named = sl.run(small, workload="quickstart", limit=500).summary
    assert sl.run(small, workload=file, limit=500).summary == named
    assert sl.run(small, workload=spec, limit=500).summary == named
    with pytest.raises(sl.UsageError) as caught:
        sl.run(small, workload={**spec, "phases": 1})
    assert "phases" in str(caught.value)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"workload": "quickstart", "trace": "a.csv"},
        {"workload": "quick"},
        {"workload": "quickstart", "limit": 0},
        {"workload": "quickstart", "limit": -1},
        {"workload": "quickstart", "loop": 0},
        {"workload": "quickstart", "seed": -1},
        {"workload": "quickstart", "lba_policy": "dense"},
        {"workload": "quickstart", "check": "some"},
        {"workload": "quickstart", "replay": "never"},
        {"workload": "quickstart", "series": "0ns"},
        {"workload": "quickstart", "series": 5},
        {"workload": "quickstart", "requests": ["latency"]},
        {"workload": "quickstart", "requests": []},
        {"workload": "quickstart", "requests": ["op", "op"]},
        {"workload": "quickstart", "requests": 5},
        {"workload": "quickstart", "requests": "rows.txt"},
        {"workload": "quickstart", "count_only": True, "requests": True},
        {"workload": "quickstart", "progress": "loud"},
        {"workload": "quickstart", "timeline_window": "1s..2s"},
        {"trace": 5},
    ],
)
def test_arguments_that_make_no_sense_are_refused(small: sl.Config, arguments: dict) -> None:
    with pytest.raises(sl.UsageError) as caught:
        sl.run(small, **arguments)
    assert isinstance(caught.value, ValueError) and str(caught.value).startswith("error: ")


def test_files_that_are_not_there(small: sl.Config, tmp_path: Path) -> None:
    with pytest.raises(sl.FileError) as caught:
        sl.run(small, trace=tmp_path / "none.csv")
    assert isinstance(caught.value, OSError) and caught.value.filename == str(tmp_path / "none.csv")
    with pytest.raises(sl.FileError) as caught:
        sl.run(small, workload="quickstart", requests=tmp_path / "none" / "rows.csv")
    assert caught.value.errno == 2


def test_a_broken_law_is_an_exception(small: sl.Config, capfd: pytest.CaptureFixture[str]) -> None:
    from ssdlab import _ssdlab

    with pytest.raises(sl.InvariantError) as caught:
        sl.run(small, workload="random-write", limit=5000, victim=_ssdlab._WrongVictim(), seed=3)
    error = caught.value
    assert isinstance(error, AssertionError)
    assert error.law == "law: a victim is a closed block" and error.law in str(error)
    assert isinstance(error.at_ns, int) and error.at_ns > 0
    command = error.reproduce
    assert command is not None and command.startswith("ssdlab run ") and command in str(error)
    for part in ["--workload random-write", "--limit 5000", "--seed 3", "geometry.blocks_per_plane=32"]:
        assert part in command
    assert capfd.readouterr().err == ""


def test_the_command_of_a_broken_law_repeats_the_run(small: sl.Config, binary: Path, tmp_path: Path) -> None:
    from ssdlab import _ssdlab

    with pytest.raises(sl.InvariantError) as caught:
        sl.run(small, workload="random-write", limit=2000, victim=_ssdlab._WrongVictim())
    words = shlex.split(caught.value.reproduce)
    done = subprocess.run([binary, *words[1:], "--quiet", "--json", "-"], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == sl.run(small, workload="random-write", limit=2000).summary.to_json()


def test_rows_beyond_the_limit_of_memory_are_refused_before_the_run(small: sl.Config) -> None:
    # 400,000 rows of 27 columns of 8 bytes: 82.4 MiB.
    with pytest.raises(sl.MemoryLimitError) as caught:
        sl.run(small, workload="quickstart", requests=True, memory_limit="64MiB")
    text = str(caught.value)
    assert "400,000 rows of 27 columns" in text and "216 bytes a row" in text and "requests.parquet" in text
    assert isinstance(caught.value, MemoryError) and caught.value.limit == 64 << 20
    rows = sl.run(small, workload="quickstart", requests=["latency_ns"], memory_limit="64MiB").requests
    assert rows is not None and rows.num_rows == 400_000 and rows.column_names == ["latency_ns"]
    with pytest.raises(sl.MemoryLimitError):
        sl.run(small, workload="quickstart", memory_limit=1000)


def test_rows_of_a_trace_beyond_the_limit_end_the_run(small: sl.Config, command, tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    command("trace", "generate", "quickstart", trace, "--capacity", "512MiB")
    with pytest.raises(sl.MemoryLimitError):
        sl.run(small, trace=trace, requests=True, memory_limit="64MiB")


class Stop(Exception):
    """Raised by a test."""


def test_progress_is_reported_and_may_stop_the_run(small: sl.Config, tmp_path: Path) -> None:
    calls: list[tuple[float, int, int | None, int]] = []
    run = sl.run(small, workload="quickstart", loop=3, progress=lambda *now: calls.append((time.monotonic(), *now)))
    assert calls and calls[-1][1] <= 1_200_000 and calls[-1][2] == 1_200_000
    assert all(0 <= later[1] - earlier[1] and later[3] >= earlier[3] for earlier, later in zip(calls, calls[1:]))
    assert all(later[0] - earlier[0] >= 0.19 for earlier, later in zip(calls, calls[1:])), "at most five a second"
    assert run.summary.requests.read > 0

    def stop(*_: object) -> None:
        raise Stop

    with pytest.raises(Stop):
        sl.run(small, workload="quickstart", loop=100, progress=stop, requests=tmp_path / "rows.csv")
    assert not list(tmp_path.iterdir()), "nothing partial is left"
    with pytest.raises(Stop):
        sl.compare(small, vary={"gc.time": ["real", "none"]}, workload="quickstart", loop=100, jobs=2, progress=stop)


INTERRUPTED = """
import os, signal, sys, threading, time
import ssdlab as sl
# Parallel workers of the tests ignore interrupts, and so would what they start.
signal.signal(signal.SIGINT, signal.default_int_handler)
sent = []
def send():
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
threading.Timer(float(sys.argv[1]), send).start()
try:
    RUN
except KeyboardInterrupt:
    print(time.monotonic() - sent[0])
"""

RUNS = {
    "a run": 'sl.run(sl.Config().set("geometry.blocks_per_plane", 32), workload="quickstart", loop=2000, requests="rows.csv")',
    "filling": 'sl.run(sl.Config().set({"precondition.mode": "random", "precondition.overwrite": 100}), workload="quickstart")',
    "a comparison": 'sl.compare(sl.Config(), vary={"gc.time": ["real", "none"]}, workload="quickstart", loop=2000, jobs=2)',
    "one by one": 'sl.compare(sl.Config(), vary={"gc.time": ["real", "none"]}, workload="quickstart", loop=2000, jobs=1)',
}


@pytest.mark.parametrize("name", RUNS)
def test_an_interrupt_ends(name: str, tmp_path: Path) -> None:
    done = python("-c", INTERRUPTED.replace("RUN", RUNS[name]), "1.0", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout, done.stderr
    assert not list(tmp_path.iterdir()), "nothing partial is left"
    if os.environ.get("SSDLAB_TIMING") == "1":
        assert float(done.stdout) < 0.1


def test_the_command_ends_with_130(tmp_path: Path) -> None:
    import subprocess
    import sys

    arguments = ["run", "--workload", "quickstart", "--loop", "2000", "--requests", "rows.csv"]
    process = subprocess.Popen([sys.executable, "-m", "ssdlab", *arguments], cwd=tmp_path, stderr=subprocess.DEVNULL)
    # The run has begun once it writes.
    deadline = time.monotonic() + 60
    while not list(tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert not list(tmp_path.iterdir())


def test_threads_run_side_by_side(small: sl.Config) -> None:
    alone = sl.run(small, workload="quickstart", limit=20000).summary
    results: list[object] = []
    threads = [
        threading.Thread(target=lambda: results.append(sl.run(small, workload="quickstart", limit=20000).summary))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [alone] * 4


@timing
def test_two_threads_take_the_time_of_one(small: sl.Config) -> None:
    def one() -> None:
        sl.run(small, workload="quickstart", loop=4)

    def timed(count: int) -> float:
        threads = [threading.Thread(target=one) for _ in range(count)]
        start = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return time.monotonic() - start

    assert timed(2) <= 1.2 * timed(1)


@timing
def test_a_heartbeat_misses_no_tick(small: sl.Config) -> None:
    gaps: list[float] = []
    over = threading.Event()

    def beat() -> None:
        last = time.monotonic()
        while not over.is_set():
            time.sleep(0.01)
            now = time.monotonic()
            gaps.append(now - last)
            last = now

    thread = threading.Thread(target=beat)
    thread.start()
    sl.run(small, workload="quickstart", loop=10)
    over.set()
    thread.join()
    assert max(gaps) < 0.05
