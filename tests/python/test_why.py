"""Why requests are slow, and what if something had not happened."""

from __future__ import annotations

from pathlib import Path

import pytest
import ssdlab as sl
from ssdlab import __main__ as command

SMALL = {
    "geometry": {"channels": 2, "chips_per_channel": 2, "dies_per_chip": 1, "planes_per_die": 2, "blocks_per_plane": 32},
    "precondition": {"mode": "random"},
}


def config() -> sl.Config:
    return sl.Config().set(SMALL)


def run(**more: object) -> sl.Run:
    return sl.run(config(), workload="mixed-70-30", limit=4000, progress=False, **more)  # type: ignore[arg-type]


def test_an_explanation_is_that_of_the_command(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    told = run().explain("read.p99", tries={"gc.time": "none", "schemes.victim": "fifo"}, progress=False)
    path = tmp_path / "explain.json"
    sets = [f"--set={key}={value}" for key, value in config().to_flat().items()] if hasattr(config(), "to_flat") else []
    (tmp_path / "drive.toml").write_text(config().to_toml())
    arguments = ["ssdlab", "explain", str(tmp_path / "drive.toml"), *sets, "--workload", "mixed-70-30", "--limit", "4000"]
    arguments += ["--at", "read.p99", "--try", "gc.time=none,schemes.victim=fifo", "--json", str(path), "--quiet"]
    assert command.main_from(arguments) == 0
    assert told.to_json() == path.read_text()
    assert capfdbinary.readouterr().out.decode() == told.text == str(told)
    assert told["schema"] == "ssdlab.explain/1" and told.at == "read.p99"
    assert told.count == told["count"] and len(told["tries"]) == 2
    assert sum(cause["excess_ns"] for cause in told["causes"]) == pytest.approx(told["excess_ns"], abs=len(told["causes"]))
    assert repr(told) == "<ssdlab.Explanation of read.p99>"


def test_rows_of_a_file_are_explained_too(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    done = run(requests=path)
    rows = sl.explain(path, "read.p99")
    whole = sl.explain(done, "read.p99", tries=None, progress=False)
    for field in ["value_ns", "threshold_ns", "count", "total_ns", "middle_mean_ns", "causes"]:
        assert rows[field] == whole[field], field
    assert {pattern["name"] for pattern in rows["patterns"] if pattern["count"] is None} >= {"overload", "hot-die"}
    with pytest.raises(sl.UsageError, match="can't be run again"):
        sl.explain(path, tries="auto")
    with pytest.raises(sl.UsageError, match="did you mean read.p99"):
        sl.explain(path, "reads.p99")
    with pytest.raises(sl.FileError):
        sl.explain(tmp_path / "none.csv")


def test_two_futures_are_those_of_the_command(tmp_path: Path) -> None:
    done = run(requests=True)
    found = done.whatif("slowest:read", without="gc", before="20ms", after="20ms", rows=True, progress=False)
    (tmp_path / "drive.toml").write_text(config().to_toml())
    path = tmp_path / "whatif.json"
    arguments = ["ssdlab", "whatif", str(tmp_path / "drive.toml"), "--workload", "mixed-70-30", "--limit", "4000"]
    arguments += ["--at", "slowest:read", "--without", "gc", "--before", "20ms", "--after", "20ms", "--json", str(path)]
    assert command.main_from([*arguments, "--quiet"]) == 0
    assert found.to_json() == path.read_text()
    assert found["schema"] == "ssdlab.whatif/1" and found["chosen"]["base"]["request"] == found["request"]
    assert found.rows is not None and len(found.rows) == found["requests"]
    # The base is the plain run.
    numbers = found.rows.column("base_request").to_list()
    plain = {request: latency for request, latency in zip(done.requests.column("request").to_list(), done.requests.column("latency_ns").to_list())}  # type: ignore[union-attr]
    assert [plain[number] for number in numbers] == found.rows.column("base_latency_ns").to_list()
    # Without a change there is no difference.
    same = done.whatif("slowest", progress=False)
    assert same["parting"] is None and same["gains"] == [] and same["losses"] == []
    # A change of keys, as a dict.
    other = done.whatif("time:1ms", change={"timing.read": "100us"}, before="1ms", after="10ms", progress=False)
    assert other["parting"]["base"].startswith("read of request")


def test_what_cannot_be_is_refused() -> None:
    done = run()
    with pytest.raises(sl.ConfigError, match="the geometry is the device"):
        done.whatif(change={"geometry.channels": 4}, progress=False)
    with pytest.raises(sl.UsageError, match="expected gc, gc:plane=P"):
        done.whatif(without="everything", progress=False)
    with pytest.raises(sl.UsageError, match="expected slowest"):
        done.whatif("sometime", progress=False)
    with pytest.raises(sl.UsageError, match="no such measured read or write"):
        done.whatif("request:4000", progress=False)
