"""Checked by mypy and pyright: figures, policies and live devices as users write them. It is not run."""

import altair as alt
import numpy as np
from matplotlib.axes import Axes

import ssdlab as sl


class Oldest(sl.Victim):
    """FIFO over closed blocks."""

    reads = ("closed_at",)

    def seed(self, n: int) -> None:
        self.n = n

    def pick(self, view: sl.VictimView) -> int | None:
        valid = np.frombuffer(view.valid, "u2")
        return int(valid.argmin()) if view.closed else None


class Early(sl.Trigger):
    """Early."""

    after = "1ms"

    def due(self, view: sl.TriggerView) -> bool:
        return view.free_pages < view.pages_per_plane // 10 and (view.least_valid or 0) < view.pages_per_block


run = sl.run(workload="quickstart", requests=True, blocks=True, series="1s", timeline="t", victim=Oldest(), trigger=Early())
sl.plot.style()
ax: Axes = sl.plot.cdf(run, "read", ccdf=True)
ax = sl.plot.percentiles([run, run.summary], ax=ax)
ax = sl.plot.causes({"mine": run}, "write", at=0.999)
ax = sl.plot.series(run, ["reads", "writes"])
ax = sl.plot.wear(run, ax=ax)
ax = sl.plot.gantt(run, (0, 1000))
chart: alt.Chart = sl.plot.altair.cdf(run)
chart = sl.plot.altair.series(run, "iops")
html: str = run._repr_html_() + sl.Config()._repr_html_()
device = sl.Device(victim=Oldest(), check="full")
number: int | None = device.submit("write", 0, 4096, at=5)
numbers: range = device.submit_many(sl.workload("quickstart", limit=10))
snapshot: sl.Snapshot = device.snapshot()
place = snapshot.device().fork({"gc.time": "none"}).lookup(0)
with sl.Disk(check="full") as disk:
    ticket: int = disk.write(0, memoryview(b"x" * 512), through=True)
    done: list[sl.Completion] = disk.run()
    data: bytes | None = done[0].data
    lost: list[sl.Lost] = disk.power_cut().broken_promises()
if isinstance(place, tuple):
    channel: int = place[0]
