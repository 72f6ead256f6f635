"""What figures show, without a drawing library: names of runs, distributions, causes, and how each of them looks.

`plot` and `plot.altair` draw the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ssdlab._ssdlab import Run, Section, Summary, Table, UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Runs: TypeAlias = Run | Summary | Sequence[Run | Summary] | Mapping[str, Run | Summary]

# The colours of Okabe and Ito, which people with any kind of colour vision can tell apart, and a grey.
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILLION, PURPLE, GREY = "#F0E442", "#0072B2", "#D55E00", "#CC79A7", "#BBBBBB"

LINES = (
    (BLUE, "-"),
    (VERMILLION, "--"),
    (GREEN, "-."),
    (PURPLE, ":"),
    (ORANGE, (0, (6, 1.5))),
    (BLACK, (0, (4, 1, 1, 1, 1, 1))),
    (SKY, (0, (2, 1))),
)
"""Colour and dashes of the first, second, ... line. No two lines differ in colour alone."""


@dataclass(frozen=True)
class Look:
    """How a cause looks in every figure, and what it is."""

    meaning: str
    color: str
    hatch: str


# The palette of pages and SVG (crates/figures/src/palette.rs, whose tests compare the two): GC is vermillion, other requests are sky
# blue, queues and space are yellow, service is green. Where a colour comes twice, the pattern differs.
CAUSES = {
    "queue": Look("device queue full", YELLOW, ""),
    "order": Look("in the dispatch window", YELLOW, "////"),
    "space": Look("no free page for host data", YELLOW, "----"),
    "staging": Look("no free buffer slot", PURPLE, "////"),
    "die_host": Look("other requests on the die", SKY, ""),
    "die_late": Look("requests delayed by GC", ORANGE, "\\\\\\\\"),
    "die_gc_own": Look("GC of the same plane", VERMILLION, ""),
    "die_gc_other": Look("GC of another plane", VERMILLION, "////"),
    "die_writeback": Look("write-backs on the die", PURPLE, ""),
    "bus_host": Look("other requests on the bus", SKY, "////"),
    "bus_gc": Look("GC on the bus", VERMILLION, "...."),
    "noc_host": Look("other requests on the NoC", SKY, "...."),
    "noc_gc": Look("GC on the NoC", VERMILLION, "xxxx"),
    "held": Look("held back by a scheme", YELLOW, "...."),
    "array": Look("service: flash array", GREEN, ""),
    "bus": Look("service: own transfers", GREEN, "////"),
    "noc": Look("service: own NoC traffic", GREEN, "...."),
    "decode": Look("service: error correction", GREEN, "xxxx"),
    "memory": Look("service: memory", GREEN, "----"),
    "arbitration": Look("slots went to other queues", YELLOW, "\\\\\\\\"),
    "cache": Look("no free cache line, or a flush", PURPLE, "\\\\\\\\"),
    "cache_gc": Look("no free cache line: GC", VERMILLION, "\\\\\\\\"),
    "cache_host": Look("no free cache line: others", SKY, "\\\\\\\\"),
    "slc": Look("folds of the SLC cache", ORANGE, "----"),
    "retry": Look("service: read retries", GREEN, "\\\\\\\\"),
}

PERCENTILES = {"p50": 50.0, "p90": 90.0, "p95": 95.0, "p99": 99.0, "p99_9": 99.9, "p99_99": 99.99}
"""Names in a summary, and what they are."""

OPS = {"read": "reads", "write": "writes", "all": "requests"}


def numpy() -> Any:
    """numpy, or an ImportError that names the extra."""
    try:
        import numpy
    except ImportError as error:
        raise missing("numpy") from error
    return numpy


def missing(name: str) -> ImportError:
    """The error of a library that is not installed."""
    return ImportError(f"{name} is not installed: pip install 'ssdlab[plots]'", name=name)


def kind(op: str) -> str:
    """What requests of an operation are called."""
    if op not in OPS:
        raise UsageError(f"op: {op!r} is not one of its values: {', '.join(OPS)}")
    return OPS[op]


def unit(largest: float) -> tuple[float, str]:
    """The unit for times up to `largest` nanoseconds: how many nanoseconds it has, and its name."""
    for size, name in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if largest >= size:
            return size, name
    return 1.0, "ns"


# Names of runs


def summary_of(run: Run | Summary) -> Summary:
    """The summary of a run, or the summary itself."""
    return run.summary if isinstance(run, Run) else run


def named(runs: Runs) -> list[tuple[str, Run | Summary]]:
    """Runs with their names: the keys of a mapping, or what their configurations differ in."""
    if isinstance(runs, (Run, Summary)):
        return [("", runs)]
    pairs = list(runs.items()) if isinstance(runs, Mapping) else list(zip(_names(runs), runs, strict=True))
    if not pairs:
        raise UsageError("no runs: give a run, several, or a mapping of names to runs")
    for name, run in pairs:
        if not isinstance(run, (Run, Summary)):
            raise UsageError(f"{name or 'the argument'} is a {type(run).__name__}: give what ssdlab.run returns")
    return pairs


def _names(runs: Sequence[Run | Summary]) -> list[str]:
    if len(runs) == 1:
        return [""]
    numbers = [f"run {i + 1}" for i in range(len(runs))]
    if not all(isinstance(run, (Run, Summary)) for run in runs):
        return numbers
    summaries = [summary_of(run) for run in runs]
    values = [dict(_leaves("", summary["config"].to_dict())) | {"seed": summary["seed"]} for summary in summaries]
    keys = [key for key in dict.fromkeys(key for one in values for key in one) if len({str(one.get(key)) for one in values}) > 1]
    if not 0 < len(keys) <= 3:
        return numbers
    names = [", ".join(f"{key.rsplit('.', 1)[-1]} {_word(one.get(key))}" for key in keys) for one in values]
    return names if len(set(names)) == len(names) else numbers


def _leaves(parent: str, table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        key = f"{parent}.{name}" if parent else name
        # A scheme with knobs is one value.
        if isinstance(value, Mapping) and parent != "schemes":
            yield from _leaves(key, value)
        else:
            yield key, value


def _word(value: object) -> str:
    """A value in a few letters: a policy in Python is its class, a scheme with knobs its name."""
    if isinstance(value, Mapping):
        return str(value["python"]).rsplit(":", 1)[-1] if "python" in value else str(next(iter(value), ""))
    return "none" if value is None else str(value)


# Rows


def rows(run: Run | Summary, columns: Iterable[str]) -> Table:
    """The rows of requests of a run, which must have these columns."""
    table = run.requests if isinstance(run, Run) else None
    if table is None:
        raise UsageError("this needs the rows of requests in memory: ssdlab.run(..., requests=True)")
    absent = [name for name in columns if name not in table.column_names]
    if absent:
        raise UsageError(f"the rows of requests have no column {', '.join(absent)}: add it to requests=[...], or give requests=True")
    return table


def series_of(run: Run) -> Table:
    """The windows of a run."""
    table = getattr(run, "series", None)
    if not isinstance(table, Table):
        raise UsageError('this needs windows of simulated time: ssdlab.run(..., series="100ms")')
    return table


def erases(run: Run) -> list[int]:
    """Erases of each block of a run."""
    table = getattr(run, "blocks", None)
    if not isinstance(table, Table):
        raise UsageError("this needs the state of blocks: ssdlab.run(..., blocks=True)")
    numbers: list[int] = numpy().asarray(table["erases"]).tolist()
    return numbers


def chosen(table: Table, op: str) -> NDArray[np.bool_]:
    """Which rows are of an operation."""
    np = numpy()
    if op == "all":
        return np.ones(len(table), bool)  # type: ignore[no-any-return]
    return np.array([word == op for word in table["op"].to_list()], bool)  # type: ignore[no-any-return]


def latencies(run: Run | Summary, op: str) -> NDArray[np.uint64]:
    """The latencies of a run in nanoseconds, in the order of submission."""
    np = numpy()
    table = rows(run, ["latency_ns"] if op == "all" else ["op", "latency_ns"])
    found = np.asarray(table["latency_ns"])[chosen(table, op)]
    if not len(found):
        raise UsageError(f"the run measured no {kind(op)}")
    return found  # type: ignore[no-any-return]


# Distributions


def ecdf(values: NDArray[np.uint64], tail: bool = False, most: int = 2000) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """Distinct values, and the share of all values that are at most as large; for the tail, that are at least as large.

    If there are more than `most` of them, some are left out: those that are kept are exact, and close together in the middle and
    in the tail.
    """
    np = numpy()
    distinct, counts = np.unique(values, return_counts=True)
    below = np.cumsum(counts)
    ranks = len(values) - below + counts if tail else below
    if len(distinct) > most:
        half, n = most // 2, len(values)
        wanted = np.concatenate([np.linspace(1, n, half), n + 1 - np.geomspace(1, n, half)])
        kept = np.unique(np.searchsorted(below, np.round(wanted)))
        distinct, ranks = distinct[kept], ranks[kept]
    return distinct, ranks / len(values)


@dataclass(frozen=True)
class Percentile:
    """A percentile of a summary. It is rough if fewer than ten requests lie above it."""

    percent: float
    latency_ns: int
    rough: bool

    @property
    def nines(self) -> float:
        """Its place on an axis on which 90, 99 and 99.9 are equally far apart."""
        return -math.log10(1 - self.percent / 100)


def percentile_curve(run: Run | Summary, op: str) -> list[Percentile]:
    """The percentiles of a summary."""
    figures = summary_of(run)["latency_ns"][op]
    count = figures["count"]
    if not count:
        raise UsageError(f"the run measured no {kind(op)}")
    above = {name: count * (100 - percent) / 100 for name, percent in PERCENTILES.items()}
    return [Percentile(percent, figures[name], above[name] < 9.999) for name, percent in PERCENTILES.items()]


def curves(runs: Runs, op: str, tail: bool) -> list[tuple[str, NDArray[np.uint64], NDArray[np.float64]]]:
    """The distribution of latency of each run."""
    kind(op)
    return [(name, *ecdf(latencies(run, op), tail)) for name, run in named(runs)]


def curves_title(op: str, tail: bool) -> str:
    """What the shares of a distribution are."""
    return f"{kind(op)} this slow or slower" if tail else f"{kind(op)} within this time"


# Causes


@dataclass(frozen=True)
class Split:
    """Mean latency of some requests, by cause."""

    requests: int
    causes: dict[str, float]

    @property
    def total(self) -> float:
        """Mean latency in nanoseconds."""
        return sum(self.causes.values())


def split(run: Run | Summary, op: str, at: float | None = None) -> Split:
    """Mean latency by cause: of all requests from the summary, or of those from a quantile on from the rows."""
    if at is None:
        summary = summary_of(run)
        count, sums = summary["latency_ns"][op]["count"], summary["breakdown_ns"][op]
        causes = {cause: sums.get(cause, 0) for cause in CAUSES}
    else:
        np = numpy()
        if not 0 <= at < 1:
            raise UsageError(f"at: {at} is not a share from 0 to below 1; the 99.9th percentile is 0.999")
        own = [cause for cause in CAUSES if cause in summary_of(run)["breakdown_ns"][op]]
        table = rows(run, ["op", "latency_ns", *own])
        values = latencies(run, op)
        # The nearest rank, as in summaries.
        rank = max(1, math.ceil(round(at * len(values), 6)))
        least = np.partition(values, rank - 1)[rank - 1]
        tail = chosen(table, op) & (np.asarray(table["latency_ns"]) >= least)
        count = int(tail.sum())
        causes = dict.fromkeys(CAUSES, 0) | {cause: int(np.asarray(table[cause])[tail].sum(dtype="u8")) for cause in own}
    if not count:
        raise UsageError(f"the run measured no {kind(op)}")
    return Split(count, {cause: ns / count for cause, ns in causes.items()})


def splits(runs: Runs, op: str, at: float | None) -> dict[str, Split]:
    """The split of each run."""
    kind(op)
    return {name: split(run, op, at) for name, run in named(runs)}


def split_title(op: str, at: float | None) -> str:
    """What a figure of causes shows."""
    where = "" if at is None else f" from p{100 * at:.6g} on"
    return f"mean latency of {kind(op)}{where}"


# Windows

# Sums of causes by the terms of a paper: see docs/model.md.
TERMS = ("st", "cngc", "csgc", "cogc", "lc", "outside")
UNITS = {"iops": "requests/s", "requests": "requests in a window", "reads": "reads in a window", "writes": "writes in a window"}


@dataclass(frozen=True)
class Line:
    """A column over time."""

    name: str
    values: NDArray[np.float64]


def series_lines(run: Run, columns: str | Sequence[str]) -> tuple[NDArray[np.uint64], list[Line], str]:
    """Starts of windows, the columns, and the unit of all of them: `ns`, or words. A window without a value is NaN."""
    np = numpy()
    table = series_of(run)
    names = [columns] if isinstance(columns, str) else list(columns)
    unknown = [name for name in names if name not in table.column_names or name == "start_ns"]
    if unknown or not names:
        known = ", ".join(name for name in table.column_names if name != "start_ns")
        raise UsageError(f"columns: {', '.join(unknown) or 'none'} is not in a series; it has {known}")
    lines = [Line(name, np.array([np.nan if v is None else v for v in table[name].to_list()], float)) for name in names]
    units = {"ns" if name.endswith("_ns") or name in CAUSES or name in TERMS else _unit(name) for name in names}
    if len(units) > 1 and "ns" in units:
        raise UsageError("columns: times and counts have no common axis: draw them on two")
    return np.asarray(table["start_ns"]), lines, units.pop() if len(units) == 1 else "number in a window"


def _unit(name: str) -> str:
    if name.startswith("flash_"):
        return "flash operations in a window"
    return UNITS.get(name, {"free_pages": "pages", "pending": "requests"}.get(name, f"{name} in a window"))
