"""`Requests`: stated once, taken by everything that runs."""

from pathlib import Path

import numpy as np
import pytest

import ssdlab as sl

SMALL = sl.Config().set({"geometry": {"blocks_per_plane": 32}, "precondition.mode": "random", "device.over_provisioning": 0.2})
QUICK = sl.Requests(workload="random-write", limit=3000, seed=4)


def test_a_run_is_that_of_the_arguments() -> None:
    plain = sl.run(SMALL, workload="random-write", limit=3000, seed=4)
    assert sl.run(SMALL, QUICK).summary.to_json() == plain.summary.to_json()
    assert sl.run(SMALL, source=QUICK).summary.to_json() == plain.summary.to_json()


def test_arguments_beside_it_change_it() -> None:
    plain = sl.run(SMALL, workload="random-write", limit=500, seed=9).summary
    assert sl.run(SMALL, QUICK, limit=500, seed=9).summary == plain
    assert sl.run(SMALL, QUICK.replace(limit=500, seed=9)).summary == plain
    assert sl.run(SMALL, QUICK.replace(seed=9), limit=500).summary == plain
    assert QUICK.replace(limit=None).replace(limit=3000) is not QUICK
    assert repr(QUICK) == "ssdlab.Requests(workload='random-write', limit=3000, seed=4)"


def test_a_comparison_takes_it() -> None:
    vary = {"schemes.victim": ["greedy", "fifo"]}
    plain = sl.compare(SMALL, vary=vary, workload="random-write", limit=3000, seed=4)
    assert sl.compare(SMALL, QUICK, vary=vary).to_json() == plain.to_json()


def test_a_sweep_takes_it(tmp_path: Path) -> None:
    study = {
        "schema": "ssdlab.study/1",
        "name": "one",
        "base": {"set": {"geometry.blocks_per_plane": 32}},
        "axes": {"schemes.victim": ["greedy", "fifo"]},
    }
    given = {"workload": "random-write", "limit": 3000}
    plain = sl.sweep({**study, "input": given}, tmp_path / "a", progress=False)
    done = sl.sweep(study, tmp_path / "b", requests=sl.Requests(**given), progress=False)  # type: ignore[arg-type]
    names = [name for name in plain.table.column_names if not name.startswith(("wall", "cpu", "peak"))]
    rows = [[t[name].to_list() for name in names] for t in (plain.table, done.table)]
    assert rows[0] == rows[1] and len(names) > 20
    for wrong, said in [
        (QUICK, "leave seed out"),
        (sl.Requests(workload={"phases": [{"requests": 1, "write": 1.0}]}), "save this one to a file"),
    ]:
        with pytest.raises(sl.UsageError, match=said):
            sl.sweep(study, tmp_path / "c", requests=wrong)
    with pytest.raises(sl.UsageError, match="give one of them"):
        sl.sweep({**study, "input": given}, tmp_path / "c", requests=sl.Requests(workload="random-write"))


def test_explain_whatif_and_report_run_it(tmp_path: Path) -> None:
    run = sl.run(SMALL, QUICK)
    assert sl.explain(QUICK, "write.p99", cfg=SMALL, tries="none").to_json() == run.explain("write.p99", tries="none").to_json()
    assert sl.explain(run, "write.p99", tries="none").to_json() == run.explain("write.p99", tries="none").to_json()
    assert sl.whatif(QUICK, cfg=SMALL, without="gc").to_json() == run.whatif(without="gc").to_json()
    assert sl.whatif(run, without="gc").to_json() == run.whatif(without="gc").to_json()
    sl.report(QUICK, tmp_path / "a.html", cfg=SMALL, lite=True)
    sl.report(sl.run(SMALL, QUICK, histograms=True, blocks=True), tmp_path / "b.html", lite=True)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    with pytest.raises(sl.UsageError, match="cfg is for Requests"):
        sl.explain(run, cfg=SMALL)


def test_a_table_is_read_once_and_serves_many_runs() -> None:
    columns = {
        "time_ns": np.arange(50, dtype=np.uint64) * 1000,
        "op": np.ones(50, dtype=np.uint8),
        "offset": np.arange(50, dtype=np.uint64) * 4096,
        "bytes": np.full(50, 4096, dtype=np.uint64),
    }
    source = sl.Requests(trace=columns)
    assert repr(source) == "ssdlab.Requests(trace=dict)"
    first, second = sl.run(SMALL, source).summary, sl.run(SMALL, source).summary
    assert first == second and first.requests.write == 50


def test_mistakes_are_told_when_it_is_made() -> None:
    for wrong, said in [
        ({}, "no requests"),
        ({"workload": "quickstart", "trace": "a.csv"}, "both trace and workload"),
        ({"workload": "quickstart", "lba_policy": "wrapp"}, "lba_policy"),
        ({"workload": "quickstart", "loop": 1 << 33}, "loop"),
        ({"workload": "quickstart", "until": "tomorrow"}, "until: `tomorrow`"),
    ]:
        with pytest.raises(sl.UsageError, match=said):
            sl.Requests(**wrong)  # type: ignore[arg-type]
    for call in (sl.run, sl.compare, sl.Requests):
        with pytest.raises(TypeError, match=rf"{call.__name__}\(\) got an unexpected keyword argument 'limt'"):
            call(workload="quickstart", limt=3)  # type: ignore[operator]
    with pytest.raises(TypeError, match="argument 'format'"):
        sl.Requests(workload="quickstart", format=3)  # type: ignore[arg-type]
    with pytest.raises(sl.UsageError, match="is no Requests"):
        sl.run(SMALL, "quickstart")  # type: ignore[arg-type]


def test_requests_are_repeated_to_the_end_of_a_drive() -> None:
    geometry = {"channels": 2, "chips_per_channel": 1, "dies_per_chip": 1, "planes_per_die": 1}
    geometry |= {"blocks_per_plane": 256, "pages_per_block": 16}
    life = {"life.mode": "wear", "life.endurance": 100}
    drive = sl.Config().set({"geometry": geometry, "device.over_provisioning": 0.2, **life})
    requests = sl.Requests(workload="random-write", until="end-of-life")
    summary = sl.run(drive, requests, count_only=True).summary
    assert summary["life"]["end"]["host_bytes"] == summary["life"]["tbw_bytes"] > 0
    table = sl.compare(drive, requests, vary={"ftl.wear_levelling": ["none", "dynamic"]}, count_only=True)
    assert table.to_json().count('"tbw_bytes"') >= 2
    with pytest.raises(sl.UsageError, match="do not wear out"):
        sl.run(SMALL, requests, count_only=True)
