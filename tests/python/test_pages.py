"""Reports from Python are those of the command, byte for byte."""

import json
from pathlib import Path

import pytest

import ssdlab as sl
from conftest import timing


def page(command, directory: Path, *files: str, options: tuple[str, ...] = ()) -> bytes:
    """What `ssdlab report` makes of some files."""
    return command("report", *files, "-o", "-", *options, cwd=directory)


def test_a_run_writes_the_page_of_its_results(command, small: sl.Config, tmp_path: Path) -> None:
    timeline = tmp_path / "run.pftrace"
    kept = {"histograms": True, "series": "20ms", "blocks": True, "timeline": timeline, "timeline_window": "0ms..30ms"}
    run = sl.run(small, workload="quickstart", limit=3000, **kept)
    (tmp_path / "summary.json").write_text(run.summary.to_json())
    for name in ("histograms", "series", "blocks"):
        getattr(run, name).write_csv(tmp_path / f"{name}.csv")
    files = ["summary.json", "histograms.csv", "series.csv", "blocks.csv", "run.pftrace"]
    own = tmp_path / "own.html"
    run.report(own)
    assert own.read_bytes() == page(command, tmp_path, *files)
    run.report(own, lite=True, title="A <title>", sections=["latency", "timeline"], timeline_window="1ms..2ms", max_size="4MiB")
    options = ("--lite", "--title", "A <title>", "--sections", "latency,timeline", "--timeline-window", "1ms..2ms")
    assert own.read_bytes() == page(command, tmp_path, *files, options=(*options, "--max-size", "4MiB"))
    assert str(tmp_path).encode() not in own.read_bytes()


@pytest.mark.parametrize(("kept", "file"), [("histograms", "h.parquet"), ("requests", "r.csv"), ("requests", None), (None, None)])
def test_latencies_come_from_what_the_run_has(command, small: sl.Config, tmp_path: Path, kept, file) -> None:
    given = {kept: tmp_path / file if file else True} if kept else {}
    run = sl.run(small, workload="quickstart", limit=2000, **given)
    (tmp_path / "summary.json").write_text(run.summary.to_json())
    files = ["summary.json"]
    if kept and not file:
        run.requests.write_csv(tmp_path / "requests.csv")
        file = "requests.csv"
    if file:
        files.append(file)
    own = tmp_path / "own.html"
    run.report(own, lite=True)
    assert own.read_bytes() == page(command, tmp_path, *files, options=("--lite",))
    assert (b'data-figure="percentiles"' in own.read_bytes()) == (kept is not None)


def test_comparisons_and_papers_write_their_pages(command, small: sl.Config, tmp_path: Path) -> None:
    done = sl.compare(small, vary={"gc.time": ["real", "none"]}, repeat=2, workload="quickstart", limit=1000)
    (tmp_path / "compare.json").write_text(done.to_json())
    own = tmp_path / "own.html"
    done.report(own, title="Mine")
    assert own.read_bytes() == page(command, tmp_path, "compare.json", options=("--title", "Mine"))
    shown = done._repr_html_()
    assert shown.count("<svg") == 1 and "read mean" in shown and "real" in shown and "no difference shown" in shown
    paper = sl.reproduce("d", ["Table 1"])
    (tmp_path / "reproduce.json").write_text(paper.to_json())
    paper.report(own, lite=True)
    assert own.read_bytes() == page(command, tmp_path, "reproduce.json", options=("--lite",))


def test_what_is_thinned_is_a_warning(small: sl.Config, tmp_path: Path) -> None:
    run = sl.run(small, workload="quickstart", limit=3000, histograms=True, blocks=True, timeline=tmp_path / "t.pftrace")
    run.report(tmp_path / "whole.html", lite=True)
    with pytest.warns(UserWarning, match="the timeline shows only"):
        run.report(tmp_path / "small.html", lite=True, max_size=(tmp_path / "whole.html").stat().st_size - 1)
    assert (tmp_path / "small.html").stat().st_size < (tmp_path / "whole.html").stat().st_size


def test_wrong_arguments_are_those_of_the_command(small: sl.Config, tmp_path: Path) -> None:
    run = sl.run(small, workload="quickstart", limit=100)
    with pytest.raises(sl.UsageError, match="did you mean `latency`"):
        run.report(tmp_path / "a.html", sections=["latenzy"])
    with pytest.raises(sl.UsageError, match="bytes, more than"):
        run.report(tmp_path / "a.html", max_size="1KiB")
    with pytest.raises(sl.FileError):
        run.report(tmp_path / "none" / "a.html")
    with pytest.raises(sl.UsageError, match="histograms"):
        sl.run(small, workload="quickstart", limit=100, histograms=3)
    assert list(tmp_path.iterdir()) == []


def test_histograms_sum_to_the_summary(small: sl.Config) -> None:
    run = sl.run(small, workload="quickstart", limit=5000, histograms=True)
    table = run.histograms
    rows = list(zip(*(table[name].to_list() for name in ("measure", "op", "count", "sum_ns", "array")), strict=True))
    for op in ("read", "write"):
        mine = [row for row in rows if row[:2] == ("latency", op)]
        assert sum(row[2] for row in mine) == run.summary["latency_ns"][op]["count"]
        assert sum(row[4] for row in mine) == run.summary["breakdown_ns"][op]["array"]
        assert sum(row[3] for row in mine) == sum(run.summary["breakdown_ns"][op].values())
    assert {row[4] for row in rows if row[0] == "waiting"} == {None}
    assert "histograms" in repr(run)


@timing
def test_a_page_is_written_at_once(tmp_path: Path, command) -> None:
    import time

    run = sl.run(sl.Config().set("precondition.mode", "random"), workload="quickstart", histograms=True, series="1s", blocks=True)
    (tmp_path / "summary.json").write_text(run.summary.to_json())
    for name in ("histograms", "series", "blocks"):
        getattr(run, name).write_csv(tmp_path / f"{name}.csv")
    start = time.perf_counter()
    run.report(tmp_path / "a.html")
    own = time.perf_counter() - start
    start = time.perf_counter()
    page(command, tmp_path, "summary.json", "histograms.csv", "series.csv", "blocks.csv")
    theirs = time.perf_counter() - start
    print(f"written in {own:.2f} s by Python, in {theirs:.2f} s by the command")
    # Before it is written, both write or read the files of results.
    data = json.loads((tmp_path / "a.html").read_text().split('id="ssdlab-data">')[1].split("</script>")[0])
    assert len(data["figures"]) >= 9
    assert theirs <= 0.5
