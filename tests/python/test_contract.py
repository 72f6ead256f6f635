"""What scripts are written against: the code of the package's contract, and of the contract of reports, word for word.

Each function below is one of its snippets; only names of files and small devices are ours.
"""

import copy
import json
import pickle
from pathlib import Path

import pytest

import ssdlab as sl

np = pytest.importorskip("numpy")


@pytest.fixture
def base(small: sl.Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> sl.Config:
    """A small device, and a directory of files to work in."""
    monkeypatch.chdir(tmp_path)
    Path("a.toml").write_text("[gc]\nthreshold = 0.05\n")
    Path("b.toml").write_text("[geometry]\nblocks_per_plane = 64\n")
    return small


def test_configurations(base: sl.Config) -> None:
    cfg = sl.Config()
    cfg = sl.Config.preset("nvme-tlc")
    cfg = sl.Config.load("a.toml", "b.toml", preset="pagc")
    assert cfg["geometry.blocks_per_plane"] == 64 and cfg.origin("gc.threshold") == "a.toml:2"
    cfg = cfg.set("gc.threshold", "5 blocks")
    cfg = base.set({"schemes.victim": "fifo", "geometry": {"channels": 4}})
    assert cfg["timing.read"] == "50us" and len(cfg.digest) == 64 and cfg.capacity_bytes > 0
    assert cfg.origin("timing.read") == "default"
    other = sl.Config.from_toml(cfg.to_toml())
    assert cfg.to_dict()["geometry"]["channels"] == 4 and cfg == other and hash(cfg) == hash(other)
    assert copy.copy(cfg) == cfg and pickle.loads(pickle.dumps(cfg)) == cfg
    assert sl.run(cfg, workload="quickstart", limit=10).summary.config_digest == cfg.digest
    with pytest.raises(sl.ConfigError) as e:
        cfg.set("gc.treshold", 1)
    assert (e.value.key, e.value.nearest) == ("gc.treshold", "gc.threshold") and e.value.message and e.value.help
    for info in (*sl.presets(), *sl.schemes(), *sl.workloads()):
        assert info.name and info.text and info.knobs is not None
    assert isinstance(sl.schema(), dict)


def test_runs(base: sl.Config) -> None:
    r = sl.run(
        base, trace=None, workload="quickstart", format="auto", device=None, limit=500, loop=1, time_scale=1, replay=None,
        lba_policy="error", on_bad_line="error", time_order="error", op_codes=None,
        within_second="once", max_request=None, traces=None, seed=1, check="sampled", count_only=False,
        requests=False, series=None, blocks=False, histograms=False, timeline=None, timeline_window=None,
        memory_limit=None, progress="auto",
    )  # fmt: skip
    assert r.summary["latency_ns"]["read"]["p99_9"] == r.summary.latency_ns.read.p99_9
    Path("s.json").write_text(r.summary.to_json())
    assert sl.Summary.load("s.json") == r.summary and json.loads(r.summary.to_json())["schema"] == "ssdlab.summary/1"
    assert r.write_amplification is not None and isinstance(r.remarks, list) and r.perf["cpu_s"] >= 0
    assert (r.requests, r.series, r.blocks, r.histograms) == (None, None, None, None)


def test_comparisons_and_papers(base: sl.Config) -> None:
    c = sl.compare(
        base, vary={"schemes.victim": ["greedy", "rga"], "gc.time": ["real", "none"]}, repeat=3, jobs=None, workload="quickstart", limit=500
    )
    assert len(c.table) == 4 and c[0].summaries[0] and c.to_markdown() and json.loads(c.to_json())
    assert c[1].refused is None
    rep = sl.reproduce("d", ["Table 1"], quick=False, traces=None)
    assert rep.figures.num_rows == 8 and rep.verdicts["parameter"]["same"] == 7


def test_tables(base: sl.Config) -> None:
    duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    t = sl.run(base, workload="quickstart", limit=500, requests=True).requests
    found = duckdb.sql("select op, quantile_cont(latency_ns, 0.999) from t group by op").fetchall()
    assert {op for op, _ in found} == {"read", "write"}
    frame = polars.DataFrame(t)
    assert frame.height == len(t) == t.num_rows == 500 and dict(t.schema)["latency_ns"]
    assert t.column("latency_ns").to_list() == frame["latency_ns"].to_list()
    assert np.asarray(t["latency_ns"]).sum() == frame["latency_ns"].sum()
    assert t.head(3).num_rows == 3 and t.select(["op"]).column_names == ["op"]
    assert t.filter_range("latency_ns", 0, 60_000).num_rows < 500 and "<table" in t._repr_html_()
    t.write_csv("t.csv")
    t.write_parquet("t.parquet")


def test_requests_from_python(base: sl.Config) -> None:
    table = sl.workload("quickstart", limit=1000, seed=1, capacity=base.capacity_bytes, page_size=4096)
    table.write_csv("trace.csv")
    assert sl.run(base, trace=table, limit=1000).summary.trace_digest == sl.run(base, workload="quickstart", limit=1000).summary.trace_digest
    given = {"time_ns": np.arange(4, dtype="u8"), "op": np.array([0, 1, 0, 1], "u1"), "offset": np.arange(4, dtype="u8") * 4096, "bytes": np.full(4, 4096, "u8")}
    assert sl.run(base, trace=given).summary.requests.write == 2


def test_a_live_device() -> None:
    dev = sl.Device(sl.Config(), seed=1, check="sampled")
    i = dev.submit("write", offset=0, bytes=4096)
    j = dev.submit("read", 64 * 4096, 4096, at=300_000)
    assert (i, j) == (0, 1) and dev.next_event is not None
    dev.advance(until=1_000_000)
    dev.run()
    t = dev.poll()
    rows = {op: i for i, op in enumerate(t["op"].to_list())}
    value = lambda name, op: t[name].to_list()[rows[op]]  # noqa: E731
    assert value("latency_ns", "write") == 605_120 and value("latency_ns", "read") == 360_240
    assert [value(name, "read") for name in ("die_host", "array", "bus")] == [305_120, 50_000, 5_120]
    assert dev.now >= 605_120 and dev.pending == 0 and dev.summary().requests.write == 1
    assert dev.state().num_rows > 0 and dev.lookup(0) is not None
    with pytest.raises(ValueError, match="300"):
        dev.submit("read", 0, 4096, at=300_000)
    snap = dev.snapshot()
    d2 = snap.device()
    d3 = dev.fork(set={"gc.time": "none"})
    assert len(snap) > 10**6 and d2.now == d3.now == dev.now


def test_faults_of_a_live_device() -> None:
    # Parity, and failures at times that are never reached, so that a chip may fail and power may be cut by hand.
    cfg = sl.Config().set(
        {
            "geometry": {"channels": 2, "chips_per_channel": 4, "blocks_per_plane": 32, "pages_per_block": 32},
            "device.over_provisioning": 0.4,
            "raid": {"layout": "traditional", "group": 4},
            "faults.chip_fails": [{"chip": 3, "at": "1h"}],
        }
    )
    dev = sl.Device(cfg, check="full")
    for page in range(64):
        dev.submit("write", page * 4096, 4096, at=0)
    dev.advance(until=10**9)
    # Chip 3 is the second one of the second channel.
    page = next(page for page in range(64) if dev.lookup(page * 4096)[:2] == (1, 1))
    dev.submit("write", 0, 4096)
    dev.advance(by=1000)
    dev.power_cut()
    dev.fail_chip(3)
    assert dev.pending == 0 and dev.summary().power_cuts[0]["at_ns"] == 10**9 + 1000
    # The rest of its group restores the page of the failed chip.
    dev.submit("read", page * 4096, 4096)
    dev.run()
    assert dev.pending == 0 and dev.summary().failures.lost_pages == 0


class Oldest(sl.Victim):
    """FIFO over closed blocks."""

    def pick(self, view: sl.VictimView) -> int | None:
        return min(range(view.closed), key=view.closed_at.__getitem__)


def test_policies(base: sl.Config) -> None:
    cfg = base
    r = sl.run(cfg, workload="random-write", victim=Oldest(), limit=500)
    record = r.summary["config"]["schemes"]["victim"]
    assert record["python"].endswith(":Oldest") and record["about"] == "FIFO over closed blocks." and len(record["source"]) == 64
    assert "victim" in str(sl.slots())


def test_environments(base: sl.Config) -> None:
    gymnasium = pytest.importorskip("gymnasium")
    import gym_env  # noqa: F401

    env = gymnasium.make(
        "ssdlab/Victim-v0", config=base, workload="random-write", candidates=8, episode_writes=200, reward="moved", warm="random", seed=None
    )
    observation, info = env.reset(seed=1)
    assert observation["candidates"].shape == (8, 4) and observation["device"].shape == (3,) and len(info["action_mask"]) == 8


def test_figures(base: sl.Config) -> None:
    pytest.importorskip("matplotlib")
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    r = sl.run(base, workload="quickstart", limit=500, requests=True, series="10ms", blocks=True, timeline="t.pftrace")
    with plt.rc_context():
        sl.plot.style()
        axes = [
            sl.plot.cdf([r], op="all", ccdf=False),
            sl.plot.percentiles([r], "read"),
            sl.plot.causes([r], "read", at=None),
            sl.plot.series(r, ["iops"]),
            sl.plot.wear(r),
            sl.plot.gantt(r, (0, 5_000_000)),
        ]
    assert all(axes)
    plt.close("all")


def test_the_commands_of_reports(base: sl.Config, command) -> None:
    command("run", "--workload", "quickstart", "--limit", 500, "--set", "geometry.blocks_per_plane=32", "--set", "precondition.mode=random",
            "--report", "q.html", "--report-title", "T", "--histograms", "q.histograms.csv", "--json", "q.json", "--quiet")  # fmt: skip
    command("plot", "percentiles", "q.histograms.csv", "-o", "fig.svg", "--width", "3.5in", "--height", "2.2in", "--font-size", "8pt", "--theme", "paper")
    command("plot", "percentiles", "q.histograms.csv", "q.json", "-o", "fig.json", "--op", "read", "--log", "y", "--title", "T")
    figure = json.loads(Path("fig.json").read_text())
    assert figure["schema"] == "ssdlab.figure/1" and figure["id"] == "percentiles"
    assert figure["x"]["scale"] == "one-minus-log" and figure["y"] == figure["y"] | {"label": "latency", "unit": "ns", "scale": "log"}
    assert figure["series"][0]["name"] == "read" and figure["series"][0]["mark"] == "step" and figure["series"][0]["points"]
    assert set(figure["source"]) == {"config_digest", "trace_digest", "seed", "version"} and figure["caption"] and figure["table"]["rows"]
    command("report", "q.json", "q.histograms.csv", "-o", "r.html", "--lite", "--title", "T", "--sections", "verdict,latency", "--max-size", "8MiB")
    command("plot", "--list", "q.json")
