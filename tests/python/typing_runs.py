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
verdicts: dict[str, dict[str, int]] = sl.reproduce("d", ["Table 1"]).verdicts
try:
    sl.Config.load("a.toml", preset="pagc")
except sl.ConfigError as error:
    where: tuple[str | None, int | None] = (error.file, error.line)
except sl.FileError as error:
    number: int | None = error.errno
