"""Figures of runs as Altair charts, with the same data and looks as :mod:`ssdlab.plot`.

Charts are interactive in a notebook: pointing at a mark shows its value. Times on axes are in milliseconds. Vega-Lite has no
hatches, so causes differ in colour and, where a colour comes twice, in lightness.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ssdlab import _figures as figures
from ssdlab._figures import Runs
from ssdlab._ssdlab import Run

if TYPE_CHECKING:
    import altair

__all__ = ["causes", "cdf", "percentiles", "series"]

_WIDTH, _HEIGHT = 300, 180
_MS = 1e6


def _altair() -> Any:
    try:
        import altair
    except ImportError as error:
        raise figures.missing("altair") from error
    return altair


def _dashes(line: object) -> list[float]:
    named: dict[object, list[float]] = {"-": [1, 0], "--": [4, 2], "-.": [6, 2, 1, 2], ":": [1, 2]}
    return named[line] if line in named else list(line[1])  # type: ignore[index]


def _lines(values: list[dict[str, Any]], names: list[str], field: str = "run") -> tuple[Any, dict[str, Any]]:
    """A chart of these rows, and how the line of each name looks."""
    alt = _altair()
    looks = [figures.LINES[i % len(figures.LINES)] for i in range(len(names))]
    legend = None if names == [""] else alt.Legend(title=None)
    line = {
        "color": alt.Color(f"{field}:N", legend=legend, scale=alt.Scale(domain=names, range=[color for color, _ in looks])),
        "strokeDash": alt.StrokeDash(
            f"{field}:N", legend=legend, scale=alt.Scale(domain=names, range=[_dashes(dashes) for _, dashes in looks])
        ),
    }
    return alt.Chart(alt.InlineData(values=values), width=_WIDTH, height=_HEIGHT), line


def _latency(alt: Any, values: list[dict[str, Any]]) -> Any:
    """The scale of latencies: logarithmic, unless some are 0."""
    positive = all(row["latency_ms"] > 0 for row in values)
    return alt.Scale(type="log" if positive else "linear", zero=False, nice=False)


def cdf(runs: Runs, op: str = "all", ccdf: bool = False) -> altair.Chart:
    """As :func:`ssdlab.plot.cdf`."""
    alt = _altair()
    curves = figures.curves(runs, op, ccdf)
    # A logarithmic axis has no place for 0; the shares of the other points include such requests.
    values: list[dict[str, Any]] = [
        {"run": name, "latency_ms": ns / _MS, "share": share}
        for name, x, y in curves
        for ns, share in zip(x.tolist(), y.tolist(), strict=True)
        if ns > 0
    ]
    chart, line = _lines(values, [name for name, _, _ in curves])
    scale = alt.Scale(type="log") if ccdf else alt.Scale(domain=[0, 1])
    return chart.mark_line(interpolate="step-before" if ccdf else "step-after").encode(  # type: ignore[no-any-return]
        x=alt.X("latency_ms:Q", title="latency (ms)", scale=_latency(alt, values)),
        y=alt.Y("share:Q", title=figures.curves_title(op, ccdf), scale=scale, axis=alt.Axis(format="~p")),
        tooltip=["run:N", "latency_ms:Q", "share:Q"],
        **line,
    )


def percentiles(runs: Runs, op: str = "all") -> altair.Chart:
    """As :func:`ssdlab.plot.percentiles`; pointing at a mark says whether fewer than ten requests lie above it."""
    alt = _altair()
    kind = figures.kind(op)
    curves = [(name, figures.percentile_curve(run, op)) for name, run in figures.named(runs)]
    values: list[dict[str, Any]] = [
        {"run": name, "percentile": f"{p.percent:g}", "latency_ms": p.latency_ns / _MS, "rough": p.rough}
        for name, points in curves
        for p in points
    ]
    chart, line = _lines(values, [name for name, _ in curves])
    return chart.mark_line(point=True).encode(  # type: ignore[no-any-return]
        x=alt.X("percentile:O", title=f"percentile of {kind}", sort=None, axis=alt.Axis(labelAngle=0)),
        y=alt.Y("latency_ms:Q", title="latency (ms)", scale=_latency(alt, values)),
        tooltip=["run:N", "percentile:O", "latency_ms:Q", "rough:N"],
        **line,
    )


def _tint(cause: str) -> str:
    """The colour of a cause; lighter where matplotlib has a pattern."""
    look = figures.CAUSES[cause]
    toward = {"": 0.0, "xxxx": 0.15, "////": 0.3, "\\\\\\\\": 0.42, "----": 0.54, "....": 0.66}[look.hatch]
    parts = (int(look.color[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(part + (255 - part) * toward):02X}" for part in parts)


def causes(runs: Runs, op: str = "all", at: float | None = None) -> altair.Chart:
    """As :func:`ssdlab.plot.causes`."""
    alt = _altair()
    found = figures.splits(runs, op, at)
    present = [cause for cause in figures.CAUSES if any(one.causes[cause] > 0 for one in found.values())]
    values = [
        {"run": name, "cause": cause, "place": place, "meaning": figures.CAUSES[cause].meaning, "mean_ms": one.causes[cause] / _MS}
        for name, one in found.items()
        for place, cause in enumerate(present)
    ]
    chart = alt.Chart(alt.InlineData(values=values), width=_WIDTH, height=alt.Step(28))
    return chart.mark_bar(stroke="white", strokeWidth=0.5).encode(  # type: ignore[no-any-return]
        x=alt.X("mean_ms:Q", title=f"{figures.split_title(op, at)} (ms)", stack="zero"),
        y=alt.Y("run:N", title=None, sort=None),
        color=alt.Color("cause:N", sort=present, scale=alt.Scale(domain=present, range=[_tint(cause) for cause in present])),
        order=alt.Order("place:Q"),
        tooltip=["run:N", "cause:N", "meaning:N", "mean_ms:Q"],
    )


def series(run: Run, columns: str | Sequence[str]) -> altair.Chart:
    """As :func:`ssdlab.plot.series`."""
    alt = _altair()
    starts, lines, unit = figures.series_lines(run, columns)
    scale, title = (_MS, "ms") if unit == "ns" else (1.0, unit)
    values = [
        {"column": line.name, "start_s": ns / 1e9, "value": None if value != value else value / scale}
        for line in lines
        for ns, value in zip(starts.tolist(), line.values.tolist(), strict=True)
    ]
    chart, looks = _lines(values, [line.name for line in lines], "column")
    return chart.mark_line(interpolate="step-after").encode(  # type: ignore[no-any-return]
        x=alt.X("start_s:Q", title="simulated time (s)"),
        y=alt.Y("value:Q", title=title, scale=alt.Scale(zero=True)),
        tooltip=["column:N", "start_s:Q", "value:Q"],
        **looks,
    )
