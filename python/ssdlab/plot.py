"""Figures of runs, with matplotlib. ``ssdlab.plot.altair`` has the first four as Altair charts.

Each function takes the axes to draw on (``ax=None`` makes a figure) and returns them. ``runs`` is a run, several, or a mapping of
names to runs; without names, runs are called by what their configurations differ in. Times are in nanoseconds in the data and in a
suitable unit on the axis. A cause has the same colour and pattern in every figure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import cycle
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from ssdlab import _altair as altair
from ssdlab import _figures as figures
from ssdlab._figures import Runs
from ssdlab._ssdlab import Run, UsageError
from ssdlab._timeline import Slice, slices

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["altair", "causes", "cdf", "gantt", "percentiles", "series", "style", "wear"]

_MOST_ROWS = 100


def _matplotlib() -> Any:
    try:
        import matplotlib.pyplot
    except ImportError as error:
        raise figures.missing("matplotlib") from error
    return matplotlib


def _axes(ax: Axes | None, height: float | None = None) -> Axes:
    """The axes to draw on. A height in inches replaces that of the style."""
    mpl = _matplotlib()
    if ax is not None:
        return ax
    width, usual = mpl.rcParams["figure.figsize"]
    made: Axes = mpl.pyplot.subplots(figsize=(width, height or usual), layout="constrained")[1]
    return made


def style() -> None:
    """Sets matplotlib's style for a column of a paper: 3.5 inches wide, 8 points, colours for any colour vision.

    Inside ``with matplotlib.rc_context():`` it holds for the block only.
    """
    mpl = _matplotlib()
    cycler = mpl.cycler
    lines = cycler(color=[color for color, _ in figures.LINES]) + cycler(linestyle=[dashes for _, dashes in figures.LINES])
    size = dict.fromkeys(["font.size", "axes.labelsize", "axes.titlesize", "xtick.labelsize", "ytick.labelsize", "legend.fontsize"], 8)
    mpl.rcParams.update(
        size
        | {
            "figure.figsize": (3.5, 2.2),
            "figure.dpi": 150,
            "figure.constrained_layout.use": True,
            "savefig.dpi": 300,
            "pdf.fonttype": 42,
            "ps.fonttype": 42,
            "axes.prop_cycle": lines,
            "axes.linewidth": 0.6,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "axes.axisbelow": True,
            "grid.color": "#E0E0E0",
            "grid.linewidth": 0.5,
            "xtick.major.width": 0.6,
            "ytick.major.width": 0.6,
            "xtick.minor.size": 0,
            "ytick.minor.size": 0,
            "lines.linewidth": 1.3,
            "lines.markersize": 3.5,
            "hatch.linewidth": 0.5,
            "legend.frameon": False,
            "legend.handlelength": 2.4,
            "legend.borderaxespad": 0.3,
            "legend.labelspacing": 0.3,
        }
    )


def cdf(runs: Runs, op: str = "all", ccdf: bool = False, ax: Axes | None = None) -> Axes:
    """The share of requests that complete within a latency; with ``ccdf``, the share that takes at least as long: the tail.

    Needs ``requests=True``, or at least the columns ``op`` and ``latency_ns``. If a run has more than 2,000 distinct latencies,
    some points are left out; those that are drawn are exact.

    ``runs`` is a run, several, or a mapping of names to runs, ``op`` is ``"read"``, ``"write"`` or ``"all"``. It is drawn
    on the axes ``ax``, by default new ones.
    """
    curves = figures.curves(runs, op, ccdf)
    ax = _axes(ax)
    for (name, x, share), look in zip(curves, cycle(figures.LINES), strict=False):
        # Between two latencies the share that is within it is that of the lower one, the share that takes longer that of the upper.
        ax.plot(x, share, color=look[0], linestyle=look[1], drawstyle="steps-pre" if ccdf else "steps-post", label=_plain(name))
    _time(ax, "x", [float(ns) for _, x, _ in curves for ns in (x[0], x[-1])], "latency", log=True)
    if ccdf:
        ax.set_yscale("log")
    ax.set_ylabel(figures.curves_title(op, ccdf))
    ax.yaxis.set_major_formatter(lambda share, _: f"{100 * share:g} %")
    _legend(ax)
    return ax


def percentiles(runs: Runs, op: str = "all", ax: Axes | None = None) -> Axes:
    """The percentiles of the summary, on an axis on which 90, 99, 99.9 and 99.99 are equally far apart.

    A hollow mark stands for a percentile with fewer than ten requests above it: chance decides it.

    ``runs`` is a run, several, or a mapping of names to runs, ``op`` is ``"read"``, ``"write"`` or ``"all"``. It is drawn
    on the axes ``ax``, by default new ones.
    """
    kind = figures.kind(op)
    curves = [(name, figures.percentile_curve(run, op)) for name, run in figures.named(runs)]
    ax = _axes(ax)
    for (name, points), (color, dashes) in zip(curves, cycle(figures.LINES), strict=False):
        x, y = [point.nines for point in points], [point.latency_ns for point in points]
        ax.plot(x, y, color=color, linestyle=dashes, label=_plain(name))
        for rough in (False, True):
            marked = [(a, b) for a, b, point in zip(x, y, points, strict=True) if point.rough is rough]
            if marked:
                ax.plot(*zip(*marked, strict=True), "o", color=color, markerfacecolor="white" if rough else color, label="_")
    ax.set_xticks([point.nines for point in curves[0][1]], [f"{point.percent:g}" for point in curves[0][1]])
    ax.set_xlabel(f"percentile of {kind}")
    _time(ax, "y", [float(point.latency_ns) for _, points in curves for point in points], "latency", log=True)
    _legend(ax)
    return ax


def causes(runs: Runs, op: str = "all", at: float | None = None, ax: Axes | None = None) -> Axes:
    """Mean latency by cause, a bar for each run.

    With ``at``, a share such as 0.999, it is the mean of the requests from that quantile on, and needs ``requests=True``. The bars
    contain all causes; the legend names those with at least 1 % of a bar.

    ``runs`` is a run, several, or a mapping of names to runs, ``op`` is ``"read"``, ``"write"`` or ``"all"``. It is drawn
    on the axes ``ax``, by default new ones.
    """
    title, found = figures.split_title(op, at), figures.splits(runs, op, at)
    present = [c for c in figures.CAUSES if any(one.causes[c] > 0 for one in found.values())]
    shown = [c for c in present if any(one.causes[c] >= 0.01 * one.total for one in found.values())]
    own = ax is None
    ax = _axes(ax, 0.6 + (0.26 if at is None else 0.38) * len(found) + 0.16 * ((len(shown) + 2) // 3))
    left = [0.0] * len(found)
    for cause in present:
        look = figures.CAUSES[cause]
        widths = [one.causes[cause] for one in found.values()]
        ax.barh(
            range(len(found)),
            widths,
            left=left,
            height=0.6,
            color=look.color,
            hatch=look.hatch,
            edgecolor=_ink(look.color) if look.hatch else look.color,
            linewidth=0.3,
            label=cause if cause in shown else f"_{cause}",
        )
        left = [a + b for a, b in zip(left, widths, strict=True)]
    names = [_plain(name) + (f"\n{one.requests:,} {figures.kind(op)}" if at is not None else "") for name, one in found.items()]
    ax.set_yticks(range(len(found)), names)
    for label in ax.get_yticklabels():
        label.set_parse_math(False)
    ax.tick_params(axis="y", length=0)
    ax.grid(visible=False, axis="y")
    ax.invert_yaxis()
    ax.set_xlim(left=0)
    _time(ax, "x", [0.0, max(left)], title)
    _legend_above(ax, own)
    return ax


def series(run: Run, columns: str | Sequence[str], ax: Axes | None = None) -> Axes:
    """Columns of the windows over simulated time, all of them times or all of them counts. Needs ``series=``.

    A window is a step; one without a value, such as a mean latency without requests, is a gap. The run ends within the last
    window, whose counts are therefore lower.

    ``run`` is a run with ``series=``, ``columns`` a name of its columns or several. It is drawn on the axes ``ax``, by default new
    ones.
    """
    np = figures.numpy()
    starts, lines, unit = figures.series_lines(run, columns)
    own = ax is None
    ax = _axes(ax)
    # The last window is as long as the others.
    step = int(starts[1] - starts[0]) if len(starts) > 1 else 1
    edges = np.append(starts, starts[-1] + step)
    for line, (color, dashes) in zip(lines, cycle(figures.LINES), strict=False):
        ax.plot(edges, np.append(line.values, line.values[-1]), color=color, linestyle=dashes, drawstyle="steps-post", label=line.name)
    _time(ax, "x", [0.0, float(edges[-1])], "simulated time")
    label = lines[0].name if len(lines) == 1 else "time"
    if unit == "ns":
        _time(ax, "y", [0.0, float(max(np.nanmax(line.values, initial=0) for line in lines))], label.removesuffix("_ns"))
    else:
        ax.set_ylabel(unit if len(lines) > 1 or unit.startswith(label) else f"{label} ({unit})")
    ax.set_ylim(bottom=0)
    if len(lines) > 1:
        _legend_above(ax, own)
    return ax


def wear(run: Run, ax: Axes | None = None) -> Axes:
    """How many blocks were erased how often since the device was new. Needs ``blocks=True``.

    There is a bar for each number of erases, or for equal ranges of them where there are more than 60.

    ``run`` is a run with ``blocks=True``. It is drawn on the axes ``ax``, by default new ones.
    """
    from matplotlib.ticker import MaxNLocator

    counts = Counter(figures.erases(run))
    least, most = min(counts), max(counts)
    width = (most - least) // 60 + 1
    bars: Counter[int] = Counter()
    for erases, blocks in counts.items():
        bars[(erases - least) // width] += blocks
    x = [least + width * place + (width - 1) / 2 for place in bars]
    ax = _axes(ax)
    ax.bar(x, list(bars.values()), width=0.9 * width, color=figures.BLUE)
    ax.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    ax.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.set_xlabel("erases of a block" if width == 1 else f"erases of a block, {width} to a bar")
    ax.set_ylabel("blocks")
    return ax


# Colours of activities; those for GC and other background work are hatched.
_VERBS = {
    "read": figures.SKY,
    "write": figures.GREY,
    "trim": figures.YELLOW,
    "program": figures.BLUE,
    "transfer": figures.GREEN,
    "traversal": figures.ORANGE,
    "decoding": figures.BLACK,
    "copyback": figures.PURPLE,
    "erase": figures.VERMILLION,
}


def gantt(
    run: Run | str | PathLike[str], window: tuple[int, int] | None = None, ax: Axes | None = None
) -> Axes:
    """What every request, channel and plane did in a part of simulated time, from and to in nanoseconds.

    Needs ``timeline=PATH``, or the path of such a file. Rows in which nothing happened are left out. Requests are from arrival to
    completion; operations for GC and other background work are hatched.

    ``run`` is such a run or path, ``window`` the part, by default all of it. It is drawn on the axes ``ax``, by default new ones.
    """
    path = run.timeline if isinstance(run, Run) else run
    if path is None:
        raise UsageError('this needs a timeline: ssdlab.run(..., timeline="run.perfetto", timeline_window="0ms..5ms")')
    start, end = window if window is not None else (0, None)
    found = slices(path, start, end)
    if end is not None and end <= start:
        raise UsageError(f"window: {window} does not end after its beginning")
    if not found:
        raise UsageError("the timeline has nothing in this window")
    tracks = list(dict.fromkeys(one.track for one in found))
    if len(tracks) > _MOST_ROWS:
        raise UsageError(f"the window has {len(tracks)} rows, more than {_MOST_ROWS} can be read: give a shorter one")
    if window is None:
        start = min(one.start for one in found)
    last = end if end is not None else max(one.end for one in found)
    own = ax is None
    ax = _axes(ax, 0.9 + 0.15 * len(tracks))
    groups: dict[str, list[Slice]] = {}
    for one in found:
        groups.setdefault(_activity(one), []).append(one)
    for name in sorted(groups, key=_place):
        color, hatch = _VERBS.get(name.split(",")[0], figures.BLACK), "//////" if "," in name else ""
        ax.barh(
            [tracks.index(one.track) for one in groups[name]],
            [min(one.end, last) - max(one.start, start) for one in groups[name]],
            left=[max(one.start, start) - start for one in groups[name]],
            height=0.75,
            color=color,
            hatch=hatch,
            edgecolor=_ink(color) if hatch else color,
            linewidth=0.4,
            label=name,
        )
    ax.set_yticks(range(len(tracks)), tracks)
    ax.tick_params(axis="y", length=0)
    ax.grid(visible=False, axis="y")
    ax.invert_yaxis()
    ax.margins(y=0.01)
    ax.set_xlim(0, last - start)
    size, unit = figures.unit(start)
    since = f" since {start / size:.6g} {unit}" if start else ""
    _time(ax, "x", [0.0, float(last - start)], f"simulated time{since}")
    _legend_above(ax, own)
    return ax


def _activity(one: Slice) -> str:
    """The name of an activity in the legend."""
    name = one.name.split(" of a ")[0]
    return name if one.category == "host" else f"{name}, {'GC' if one.category == 'gc' else one.category}"


def _place(activity: str) -> tuple[bool, int, str]:
    """The place of an activity in the legend: the host's first."""
    name = activity.split(",")[0]
    return "," in activity, list(_VERBS).index(name) if name in _VERBS else len(_VERBS), activity


# Axes


def _plain(name: str) -> str:
    """A name as a label: one that begins with a low line would be left out of the legend."""
    return " " + name if name.startswith("_") else name


def _ink(color: str) -> str:
    """The colour of a pattern on a colour."""
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return "black" if 0.3 * red + 0.59 * green + 0.11 * blue > 128 else "white"


def _legend(ax: Axes) -> None:
    """A legend of names, unless a single run has none."""
    handles, labels = ax.get_legend_handles_labels()
    if any(labels):
        for text in ax.legend(handles, labels).get_texts():
            text.set_parse_math(False)


def _legend_above(ax: Axes, own: bool) -> None:
    """A legend that would hide data: above the axes; in a figure of our own, over its whole width."""
    space = {"handlelength": 1.4, "columnspacing": 1.0, "handletextpad": 0.5}
    handles, labels = ax.get_legend_handles_labels()
    if own and ax.figure is not None:
        ax.figure.legend(handles, labels, loc="outside upper left", ncols=3 if len(labels) > 2 else 2, **space)
    else:
        ax.legend(handles, labels, loc="lower left", bbox_to_anchor=(0, 1), ncols=2, **space)


def _time(ax: Axes, which: Literal["x", "y"], values: Sequence[float], label: str, log: bool = False) -> None:
    """Makes an axis of times, labelled in one unit, for values in nanoseconds."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

    axis = ax.xaxis if which == "x" else ax.yaxis
    least, largest = min((v for v in values if v > 0), default=0.0), max(values)
    size, unit = figures.unit(largest)
    axis.set_label_text(f"{label} ({unit})")
    if log and least > 0:
        ax.set(**{f"{which}scale": "log"})
        # A range of less than two decades has too few powers of ten.
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if largest < 100 * least else (1.0,)))
        axis.set_minor_formatter(NullFormatter())
    else:
        axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    axis.set_major_formatter(lambda value, _: f"{value / size:g}")
