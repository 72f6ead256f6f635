"""Why requests are slow, and what if something had not happened."""

import pytest

import ssdlab as sl

SMALL = {
    "geometry": {"channels": 2, "chips_per_channel": 2, "dies_per_chip": 1, "planes_per_die": 2, "blocks_per_plane": 32},
    "precondition": {"mode": "random"},
}


def config() -> sl.Config:
    return sl.Config().set(SMALL)


def run(**more) -> sl.Run:
    return sl.run(config(), workload="mixed-70-30", limit=4000, progress=False, **more)


def test_an_explanation_is_that_of_the_command(tmp_path, command) -> None:
    told = run().explain("read.p99", tries={"gc.time": "none", "schemes.victim": "fifo"}, progress=False)
    drive, path = tmp_path / "drive.toml", tmp_path / "explain.json"
    drive.write_text(config().to_toml())
    tries = "gc.time=none,schemes.victim=fifo"
    fixed = ["--workload", "mixed-70-30", "--limit", 4000, "--quiet"]
    printed = command("explain", drive, *fixed, "--at", "read.p99", "--try", tries, "--json", path)
    assert told.to_json() == path.read_text()
    assert printed.decode() == told.text == str(told)
    assert told["schema"] == "ssdlab.explain/1" and told.at == "read.p99"
    assert told.count == told["count"] and len(told["tries"]) == 2
    assert sum(cause["excess_ns"] for cause in told["causes"]) == pytest.approx(told["excess_ns"], abs=len(told["causes"]))
    assert repr(told) == "<ssdlab.Explanation of read.p99>"


def test_rows_of_a_file_are_explained_too(tmp_path) -> None:
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


def test_two_futures_are_those_of_the_command(tmp_path, command) -> None:
    done = run(requests=True)
    found = done.whatif("slowest:read", without="gc", before="20ms", after="20ms", rows=True, progress=False)
    drive, path = tmp_path / "drive.toml", tmp_path / "whatif.json"
    drive.write_text(config().to_toml())
    fixed = ["--workload", "mixed-70-30", "--limit", 4000, "--quiet"]
    window = ["--at", "slowest:read", "--without", "gc", "--before", "20ms", "--after", "20ms"]
    assert command("whatif", drive, *fixed, *window, "--json", path).decode() == found.text
    assert found.to_json() == path.read_text()
    assert found["schema"] == "ssdlab.whatif/1" and found["chosen"]["base"]["request"] == found["request"]
    assert found.rows is not None and len(found.rows) == found["requests"]
    # The base is the plain run.
    numbers = found.rows.column("base_request").to_list()
    columns = [done.requests.column(name).to_list() for name in ("request", "latency_ns")]
    plain = dict(zip(*columns, strict=True))
    assert [plain[number] for number in numbers] == found.rows.column("base_latency_ns").to_list()
    # Without a change there is no difference.
    same = done.whatif("slowest", progress=False)
    assert same["parting"] is None and same["gains"] == [] and same["losses"] == []
    # A change of keys, as a dict.
    other = done.whatif("time:1ms", change={"timing.read": "100us"}, before="1ms", after="10ms", progress=False)
    assert other["parting"]["base"].endswith("read ends") and other["parting"]["whatif"].endswith("read goes on")


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
