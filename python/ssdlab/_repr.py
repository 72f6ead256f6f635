"""How results are shown: a line of text, and HTML for notebooks. Every text is escaped.

The tables are those of ``ssdlab run``; numbers are written as there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from ssdlab._figures import CAUSES, OPS
from ssdlab._ssdlab import Comparison, Config, Run, Summary

_LATENCY = {"mean": "mean", "p50": "p50", "p90": "p90", "p99": "p99", "p99.9": "p99_9", "p99.99": "p99_99", "max": "max"}


def _digits(value: float) -> str:
    """Four significant digits at most, three at least."""
    return f"{value:.{1 if value >= 99.995 else 2 if value >= 0.9995 else 3}f}"


def duration(ns: float | None) -> str:
    """A duration in a suitable unit."""
    if ns is None:
        return "-"
    if ns < 999.5:
        return f"{ns:.0f} ns"
    for limit, size, unit in ((999_950.0, 1e3, "us"), (999_950_000.0, 1e6, "ms")):
        if ns < limit:
            return f"{_digits(ns / size)} {unit}"
    return f"{_digits(ns / 1e9)} s"


def _decimal(value: float | None, places: int) -> str:
    return "-" if value is None else f"{value:.{places}f}"


def _share(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


def _plural(n: int, noun: str) -> str:
    return f"{n:,} {noun}" + ("" if n == 1 else "s")


def _requests(summary: Summary) -> str:
    return ", ".join(_plural(summary["requests"][op], op) for op in ("read", "write", "trim") if op != "trim" or summary["requests"][op])


def _amplification(summary: Summary) -> str:
    """In bytes, and in pages where that is another number."""
    in_bytes, in_pages = (_decimal(summary[key], 3) for key in ("write_amplification_bytes", "write_amplification"))
    return in_bytes if in_bytes == in_pages else f"{in_bytes} ({in_pages} in pages)"


def run_text(run: Run) -> str:
    """A run in a line."""
    summary = run.summary
    latency = summary["latency_ns"]
    tails = [f"p99.9 of {name} {duration(latency[op]['p99_9'])}" for op, name in list(OPS.items())[:2] if latency[op]["count"]]
    tables = [name for name in ("requests", "series", "blocks", "histograms", "timeline") if getattr(run, name) is not None]
    parts = [
        f"{_requests(summary)} in {duration(summary['simulated_ns'])}",
        *tails,
        f"write amplification {_amplification(summary)}",
        *([f"with {', '.join(tables)}"] if tables else []),
    ]
    return f"<ssdlab.Run: {'; '.join(parts)}>"


def _row(cells: Iterable[str], tag: str = "td", style: str = "") -> str:
    return f"<tr{style}>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    body = "".join(_row(row) for row in rows)
    return f"<table><thead>{_row(header, 'th')}</thead><tbody>{body}</tbody></table>"


def _latencies(summary: Summary) -> list[list[str]]:
    latency = summary["latency_ns"]
    return [
        ["all" if op == "all" else name, f"{latency[op]['count']:,}", *(duration(latency[op][key]) for key in _LATENCY.values())]
        for op, name in OPS.items()
    ]


def _causes(summary: Summary) -> list[list[str]]:
    by, latency = summary["breakdown_ns"], summary["latency_ns"]
    total = {op: sum(by[op].values()) for op in OPS}

    def row(name: str, values: dict[str, int], meaning: str) -> list[str]:
        cells = [name]
        for op in OPS:
            known = total[op] > 0
            cells.append(duration(values[op] / latency[op]["count"]) if known else "-")
            cells.append(_share(values[op] / total[op]) if known else "")
        return [*cells, meaning]

    found = {cause: {op: by[op].get(cause, 0) for op in OPS} for cause in CAUSES}
    rows = [row(cause, values, CAUSES[cause].meaning) for cause, values in found.items() if any(values.values())]
    return [*rows, row("total", total, "")]


def _facts(run: Run) -> list[list[str]]:
    summary = run.summary
    programs, gc, wear, use = (summary["flash"]["programs"], summary["gc"], summary["wear"], summary["utilisation"])
    collections = "no collections"
    if gc["collections"]:
        moved, freed = (_decimal(gc[key], 2) for key in ("moved_per_collection", "host_pages_per_collection"))
        collections = f"{_plural(gc['collections'], 'collection')}; each moved {moved} pages and freed {freed} for host data"
    erases = f"per block {wear['erases_min']} to {wear['erases_max']}, mean {_decimal(wear['erases_mean'], 2)}, since the device was new"
    return [
        ["schemes", ", ".join(f"{slot} {_scheme(value)}" for slot, value in summary["config"]["schemes"].items() if value is not None)],
        ["requests", f"{_requests(summary)} in {duration(summary['simulated_ns'])}; seed {summary['seed']}"],
        [
            "write amplification",
            f"{_amplification(summary)}: {summary['pages']['written']:,} host pages written, "
            f"flash programs {programs['host']:,} host + {programs['gc']:,} GC, {summary['flash']['copybacks']:,} copybacks",
        ],
        ["GC", collections],
        ["utilisation", f"dies {_share(use['die'])}, channels {_share(use['channel'])}"],
        ["wear", f"{summary['flash']['erases']:,} erases; {erases}"],
        ["digests", f"configuration {summary['config_digest'][:16]}, trace {summary['trace_digest'][:16]}"],
        *(["remark", text] for text in run.remarks),
    ]


def _scheme(value: Any) -> str:
    """A scheme: its name, or the class of a policy in Python with what it says of itself."""
    if isinstance(value, list):
        return " + ".join(_scheme(one) for one in value)
    if not hasattr(value, "items"):
        return str(value)
    if "python" in value:
        return f"{value['python']} (Python: {value['about']})" if "about" in value else f"{value['python']} (Python)"
    return next(iter(value.keys()), "")


def run_html(run: Run) -> str:
    """The tables of a run."""
    summary = run.summary
    facts = "".join(f"<tr><th>{escape(name)}</th><td style='text-align:left'>{escape(text)}</td></tr>" for name, text in _facts(run))
    parts = [f"<table><tbody>{facts}</tbody></table>", _table(["latency", "requests", *_LATENCY], _latencies(summary))]
    if summary["latency_ns"]["all"]["count"]:
        header = ["time per request", "reads", "", "writes", "", "all", "", ""]
        parts.append(_table(header, _causes(summary)))
    return "<div>" + "".join(parts + _drawn(run._pictures())) + "</div>"


def comparison_html(comparison: Comparison) -> str:
    """The table of a comparison, and the ratios to the first variant with their intervals."""
    (header, *rows), picture = comparison._shown()
    remarks = [f"<p>{escape(text)}</p>" for text in comparison.remarks]
    return "<div>" + "".join([*remarks, _table(header, rows), *_drawn([picture] if picture else [])]) + "</div>"


def _drawn(pictures: Iterable[str]) -> list[str]:
    """Pictures side by side where there is room; they are SVG by the renderer of reports, which escapes every text."""
    return [f"<div style='display:inline-block;max-width:100%;margin:.5em'>{picture}</div>" for picture in pictures]


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "-" if value is None else str(value)


def config_html(config: Config) -> str:
    """All keys; those that differ from the default are marked and say what the default is and where the value was set."""
    usual = Config().to_dict()
    rows = []
    changed = 0
    for section, keys in config.to_dict().items():
        for name, value in keys.items():
            key, default = f"{section}.{name}", usual.get(section, {}).get(name)
            if value == default:
                rows.append(_row(["", key, _value(value), "", ""]))
            else:
                changed += 1
                cells = ["●", key, _value(value), _value(default), config.origin(key)]
                rows.append(_row(cells, style=" style='font-weight:bold'"))
    head = _row(["", "key", "value", "default", "set in"], "th")
    said = f"configuration {config.digest[:16]}: {_plural(changed, 'value')} differ{'s' if changed == 1 else ''} from the default"
    return (
        f"<div><p>{escape(said)}</p><div style='max-height:24em;overflow:auto'>"
        f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table></div></div>"
    )
