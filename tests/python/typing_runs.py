"""Checked by mypy and pyright: a script as users write it. It is not run."""

from datetime import timedelta

import ssdlab as sl

cfg: sl.Config = sl.Config.preset("nvme-tlc").set("gc.threshold", "5 blocks").set({"geometry": {"channels": 4}})
cfg = cfg.set("timing.read", timedelta(microseconds=50)).set("timing.copyback", None)
run: sl.Run = sl.run(cfg, workload="quickstart", limit=1000, requests=["latency_ns"], series="100ms", blocks=True)
p99: int | None = run.summary.latency_ns.read.p99
rows: sl.Table | None = run.requests
if rows is not None:
    cells: list[int | float | str | None] = rows.column("latency_ns").to_list()
    view: memoryview = memoryview(rows.column("latency_ns"))
    again: sl.Run = sl.run(trace=sl.workload("quickstart", limit=10), progress=lambda done, total, now: None)
comparison: sl.Comparison = sl.compare(cfg, vary={"gc.time": ["real", "none"]}, repeat=2, workload="quickstart")
erases: sl.Column = comparison.table.column("erases")
why: sl.Explanation = sl.explain(run, "read.p99", tries=["gc.time=none", {"schemes.victim": "fifo"}], jobs=1)
said: str = why.text + run.explain(tries=None).to_json()
other: sl.WhatIf = run.whatif("request:7", change={"timing.read": timedelta(microseconds=60)}, without=["gc"], before="1ms")
both: sl.Table | None = other.rows
verdicts: dict[str, dict[str, int]] = sl.reproduce("d", ["Table 1"]).verdicts
try:
    sl.Config.load("a.toml", preset="pagc")
except sl.ConfigError as error:
    where: tuple[str | None, int | None] = (error.file, error.line)
except sl.FileError as error:
    number: int | None = error.errno


class Fewest(sl.Victim):
    """The block with the fewest valid pages."""

    reads = ("erases",)

    def pick(self, view: sl.VictimView) -> int | None:
        return min(range(view.closed), key=lambda i: view.valid[i], default=None)


class Soon(sl.Trigger):
    """Collects as soon as a die is idle."""

    after = timedelta(milliseconds=1)

    def due(self, view: sl.TriggerView) -> bool:
        return view.least_valid is not None and view.free_pages < 2 * view.threshold


device: sl.Device = sl.Device(cfg, seed=2, victim=Fewest(), trigger=Soon())
ticket: int | None = device.submit("write", 0, 4096, at=1000)
numbers: range = device.submit_many(sl.workload("quickstart", limit=10))
device.advance(by=1_000_000)
place: tuple[int, int, int, int, int, int] | str | None = device.lookup(0)
copy: sl.Device = device.snapshot().device().fork({"gc.time": "none"})
completions: sl.Table = copy.poll()
learned: sl.Run = sl.run(cfg, workload="random-write", victim=Fewest(), trigger=Soon())
