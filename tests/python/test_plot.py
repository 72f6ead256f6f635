"""Figures show what the tables hold."""

import sys
from collections import Counter
from itertools import pairwise

import pytest

np = pytest.importorskip("numpy")
matplotlib = pytest.importorskip("matplotlib")
alt = pytest.importorskip("altair")

import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.container import BarContainer  # noqa: E402

import ssdlab as sl  # noqa: E402
from conftest import python  # noqa: E402
from ssdlab import _figures as figures  # noqa: E402
from ssdlab._timeline import slices  # noqa: E402

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture(autouse=True)
def canvas():
    """Draws without a window, and forgets styles and figures."""
    plt.switch_backend("agg")
    with plt.rc_context():
        yield
    plt.close("all")


@pytest.fixture(scope="module")
def runs(small, tmp_path_factory):
    path = tmp_path_factory.mktemp("timeline")
    return [
        sl.run(
            small.set("schemes.victim", victim),
            workload="quickstart",
            limit=6000,
            requests=True,
            series="50ms",
            blocks=True,
            timeline=path / f"{victim}.perfetto",
            timeline_window="0ms..100ms",
        )
        for victim in ("greedy", "fifo")
    ]


@pytest.fixture(scope="module")
def bare(small):
    return sl.run(small, workload="quickstart", limit=100)


def latencies(run, op):
    rows = run.requests.to_pandas()
    return np.sort(rows.loc[rows["op"].isin([op] if op != "all" else ["read", "write"]), "latency_ns"].to_numpy())


def column(run, table, name):
    return getattr(run, table)[name].to_list()


def draw(axes):
    """Draws a figure, which raises what drawing warns of."""
    axes.figure.canvas.draw()
    return axes


ALL = {
    "cdf": lambda runs, **more: sl.plot.cdf(runs, "read", **more),
    "ccdf": lambda runs, **more: sl.plot.cdf(runs, "write", ccdf=True, **more),
    "percentiles": lambda runs, **more: sl.plot.percentiles(runs, "all", **more),
    "causes": lambda runs, **more: sl.plot.causes(runs, "read", **more),
    "tail": lambda runs, **more: sl.plot.causes(runs, "write", at=0.99, **more),
    "series": lambda runs, **more: sl.plot.series(runs[0], ["read_p99_ns", "write_p99_ns"], **more),
    "wear": lambda runs, **more: sl.plot.wear(runs[0], **more),
    "gantt": lambda runs, **more: sl.plot.gantt(runs[0], (0, 5_000_000), **more),
}


@pytest.mark.parametrize("name", ALL)
def test_every_function_returns_the_axes_and_labels_them(name, runs):
    for style in (False, True):
        if style:
            sl.plot.style()
        axes = draw(ALL[name](runs))
        assert isinstance(axes, Axes) and axes.get_xlabel()
        assert axes.get_ylabel() or all(tick.get_text() for tick in axes.get_yticklabels())
        assert len(axes.figure.axes) == 1
        if style:
            assert axes.figure.get_size_inches()[0] == 3.5
            sizes = {text.get_fontsize() for text in [axes.xaxis.label, *axes.get_xticklabels(), *axes.get_yticklabels()]}
            assert sizes == {8.0}
            # Nothing is cut off.
            box = axes.figure.get_tightbbox()
            assert 0 <= box.x0 and box.x1 <= 3.5 and 0 <= box.y0 and box.y1 <= axes.figure.get_size_inches()[1]
    _, given = plt.subplots()
    assert ALL[name](runs, ax=given) is given


@pytest.mark.parametrize("op", ["read", "write", "all"])
def test_points_of_a_cdf_are_quantiles_of_the_requests(op, runs):
    whole, tail = (sl.plot.cdf(runs, op, ccdf=ccdf) for ccdf in (False, True))
    for run, line, rest in zip(runs, whole.get_lines(), tail.get_lines(), strict=True):
        values = latencies(run, op)
        x, share = line.get_data()
        assert x[-1] == values[-1] and share[-1] == 1 and len(x) > 100
        for latency, at_most in zip(x.tolist(), share.tolist(), strict=True):
            # The quantile by the nearest rank, and no larger share has it.
            rank = round(at_most * len(values))
            assert values[rank - 1] == latency and (rank == len(values) or values[rank] > latency)
        x, share = rest.get_data()
        for latency, at_least in zip(x.tolist(), share.tolist(), strict=True):
            assert round(at_least * len(values)) == len(values) - np.searchsorted(values, latency, "left")


def test_what_a_thinned_cdf_keeps_is_exact_and_dense():
    values = np.random.default_rng(1).permutation(np.arange(1, 300_001, dtype="u8"))
    for tail in (False, True):
        x, share = figures.ecdf(values, tail)
        assert 1000 < len(x) <= 2002 and x[-1] == 300_000
        assert (np.round(share * 300_000) == (300_001 - x if tail else x)).all()
        assert max(b - a for a, b in pairwise(x.tolist())) < 0.0011 * 300_000
        # The slowest requests are all there.
        assert (np.diff(x[-20:].astype(int)) == 1).all()
    few = np.array([3, 3, 9], "u8")
    assert [part.tolist() for part in figures.ecdf(few)] == [[3, 9], [2 / 3, 1.0]]
    assert [part.tolist() for part in figures.ecdf(few, tail=True)] == [[3, 9], [1.0, 1 / 3]]


def test_percentiles_are_those_of_the_summary(runs):
    axes = sl.plot.percentiles(runs, "read")
    lines = [line for line in axes.get_lines() if line.get_linestyle() != "None"]
    for run, line in zip(runs, lines, strict=True):
        read = run.summary.latency_ns.read
        assert line.get_ydata().tolist() == [read[name] for name in ("p50", "p90", "p95", "p99", "p99_9", "p99_99")]
        assert np.allclose(line.get_xdata(), [-np.log10(1 - p) for p in (0.5, 0.9, 0.95, 0.99, 0.999, 0.9999)])
    hollow = [line for line in axes.get_lines() if line.get_markerfacecolor() == "white"]
    count = runs[0].summary.latency_ns.read["count"]
    assert 1000 < count < 10_000
    # With so many reads, fewer than ten lie above p99.9.
    assert [len(line.get_xdata()) for line in hollow] == [2, 2]
    again = sl.plot.percentiles([run.summary for run in runs], "read")
    assert again.get_lines()[0].get_ydata().tolist() == lines[0].get_ydata().tolist()


@pytest.mark.parametrize("at", [None, 0.5, 0.999])
@pytest.mark.parametrize("op", ["read", "all"])
def test_causes_sum_to_the_latency(op, at, runs):
    axes = sl.plot.causes({"one": runs[0], "two": runs[1]}, op, at=at)
    bars = [one for one in axes.containers if isinstance(one, BarContainer)]
    for place, run in enumerate(runs):
        values = latencies(run, op)
        if at is not None:
            values = values[values >= np.quantile(values, at, method="inverted_cdf")]
            assert f"\n{len(values):,} " in axes.get_yticklabels()[place].get_text()
        total = sum(one.patches[place].get_width() for one in bars)
        assert total == pytest.approx(values.mean(), rel=1e-12)
        # They lie end to end.
        edges = sorted((one.patches[place].get_x(), one.patches[place].get_width()) for one in bars)
        assert edges[0][0] == 0
        assert all(a + width == pytest.approx(b) for (a, width), (b, _) in pairwise(edges))
        if at is None:
            sums = run.summary.breakdown_ns[op]
            for one in bars:
                cause = one.get_label().removeprefix("_")
                assert one.patches[place].get_width() == pytest.approx(sums[cause] / len(values), rel=1e-9)


def test_a_cause_always_looks_the_same_and_unlike_the_others(runs):
    looks = {cause: (look.color, look.hatch) for cause, look in figures.CAUSES.items()}
    assert len(set(looks.values())) == len(looks)
    own = list(runs[0].summary.breakdown_ns.read)
    assert runs[0].requests.column_names[8:] == own == list(looks)[: len(own)]
    assert list(looks)[len(own) :] == ["arbitration", "cache", "cache_gc", "cache_host", "slc", "retry"], "causes of optional features"
    for axes in (sl.plot.causes(runs, "read"), sl.plot.causes(runs[1], "write", at=0.9)):
        for bars in axes.containers:
            patch = bars.patches[0]
            seen = (matplotlib.colors.to_hex(patch.get_facecolor()).upper(), patch.get_hatch() or "")
            assert seen == looks[bars.get_label().removeprefix("_")]
    tints = [sl.plot.altair._tint(cause) for cause in looks]
    assert len(set(tints)) == len(tints)
    # Lines differ in their dashes too.
    assert len({str(dashes) for _, dashes in figures.LINES}) == len({color for color, _ in figures.LINES}) == len(figures.LINES)


def test_the_meanings_of_causes_are_those_of_the_command(command):
    shown = command("run", "--workload", "quickstart", "--limit", "20000", "--set", "precondition.mode=random", "--quiet").decode()
    rows = {line.split()[0]: line.split("%  ")[-1] for line in shown.splitlines() if line.split()[:1] and line.split()[0] in figures.CAUSES}
    assert len(rows) > 5
    assert rows == {cause: figures.CAUSES[cause].meaning for cause in rows}


def test_wear_counts_blocks_and_erases(runs):
    axes = sl.plot.wear(runs[0])
    erases = column(runs[0], "blocks", "erases")
    bars = {patch.get_x() + patch.get_width() / 2: patch.get_height() for patch in axes.patches}
    assert {round(x): y for x, y in bars.items()} == Counter(erases)
    assert sum(x * y for x, y in bars.items()) == pytest.approx(sum(erases))
    assert sum(bars.values()) == len(erases)


def test_wide_wear_has_ranges(monkeypatch, runs):
    monkeypatch.setattr(figures, "erases", lambda run: [0, 1, 119, 120, 121])
    axes = sl.plot.wear(runs[0])
    assert axes.get_xlabel() == "erases of a block, 3 to a bar"
    centres = sorted((round(p.get_x() + p.get_width() / 2, 6), p.get_height()) for p in axes.patches)
    assert centres == [(1, 2), (118, 1), (121, 2)]


def test_a_series_is_the_column(runs):
    axes = sl.plot.series(runs[0], "read_p99_ns")
    x, y = axes.get_lines()[0].get_data()
    starts, values = column(runs[0], "series", "start_ns"), column(runs[0], "series", "read_p99_ns")
    assert x.tolist() == [*starts, starts[-1] + 50_000_000]
    assert [None if v != v else v for v in y.tolist()] == [*values, values[-1]]
    assert axes.get_ylabel() == "read_p99 (ms)" and axes.get_xlabel() == "simulated time (s)"
    assert sl.plot.series(runs[0], "iops").get_ylabel() == "iops (requests/s)"
    assert sl.plot.series(runs[0], ["reads", "writes"]).get_ylabel() == "number in a window"
    assert sl.plot.series(runs[0], ["die_gc_own", "read_mean_ns"]).get_ylabel() == "time (ms)"
    with pytest.raises(sl.UsageError, match="no common axis"):
        sl.plot.series(runs[0], ["reads", "read_p99_ns"])
    with pytest.raises(sl.UsageError, match="reds is not in a series; it has requests, reads"):
        sl.plot.series(runs[0], ["reds"])


def test_a_gantt_shows_every_request_of_the_window(runs):
    window = (2_000_000, 20_000_000)
    axes = draw(sl.plot.gantt(runs[0], window))
    rows = runs[0].requests.to_pandas()
    inside = rows[(rows["arrival_ns"] < window[1]) & (rows["completion_ns"] >= window[0])]
    # Clipped to the window, from whose beginning time is counted.
    expected = {
        (max(a, window[0]) - window[0], min(b, window[1]) - window[0])
        for a, b in zip(inside["arrival_ns"], inside["completion_ns"], strict=True)
    }
    names = [tick.get_text() for tick in axes.get_yticklabels()]
    shown = [
        (patch.get_x(), patch.get_x() + patch.get_width())
        for bars in axes.containers
        for patch in bars.patches
        if names[round(patch.get_y() + patch.get_height() / 2)].startswith("requests")
    ]
    assert len(shown) == len(inside) > 10 and set(shown) == expected
    assert axes.get_xlabel() == "simulated time since 2 ms (ms)"
    kinds = [name.split()[0] for name in names]
    assert kinds == sorted(kinds, key=["requests", "channel", "plane"].index) and set(kinds) == {"requests", "channel", "plane"}
    assert any("GC" in bars.get_label() and bars.patches[0].get_hatch() for bars in axes.containers)
    assert draw(sl.plot.gantt(str(runs[0].timeline), (0, 3_000_000))).get_xlim() == (0, 3_000_000)


def test_slices_add_up_to_the_flash_operations(small, tmp_path):
    run = sl.run(small.set("precondition.mode", "none"), workload="quickstart", limit=200, timeline=tmp_path / "t")
    found = slices(run.timeline)
    host = Counter(one.name for one in found if one.track.startswith("plane") and one.category == "host")
    assert host == {"program": run.summary.flash.programs.host, "read": run.summary.flash.reads.host}
    with pytest.raises(sl.UsageError, match="more than 100 can be read"):
        sl.plot.gantt(run)
    (tmp_path / "other").write_bytes(b"no timeline\xff\xff")
    with pytest.raises(sl.UsageError, match="other is not a timeline of ssdlab"):
        sl.plot.gantt(tmp_path / "other")
    for window, message in [((9, 9), "does not end"), ((10**15, 10**15 + 1), "nothing in this window")]:
        with pytest.raises(sl.UsageError, match=message):
            sl.plot.gantt(run, window)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda run: sl.plot.cdf(run), r"requests=True"),
        (lambda run: sl.plot.causes(run, "read", at=0.9), r"requests=True"),
        (lambda run: sl.plot.series(run, "iops"), r'series="100ms"'),
        (lambda run: sl.plot.wear(run), r"blocks=True"),
        (lambda run: sl.plot.gantt(run), r'timeline="run.perfetto"'),
        (lambda run: sl.plot.altair.cdf(run), r"requests=True"),
        (lambda run: sl.plot.percentiles(run, "reads"), r"op: 'reads' is not one of its values: read, write, all"),
        (lambda run: sl.plot.causes(run, "read", at=99.9), r"the 99.9th percentile is 0.999"),
        (lambda run: sl.plot.cdf([]), r"no runs"),
        (lambda run: sl.plot.cdf([1]), r"is a int: give what ssdlab.run returns"),
    ],
)
def test_what_is_missing_is_named(call, message, bare):
    with pytest.raises(sl.UsageError, match=message):
        call(bare)
    assert not plt.get_fignums()


def test_missing_columns_and_requests_are_named(small):
    some = sl.run(small, workload="quickstart", limit=100, requests=["latency_ns"])
    assert sl.plot.cdf(some).get_lines()
    with pytest.raises(sl.UsageError, match="no column op"):
        sl.plot.cdf(some, "read")
    writes = sl.run(small, workload="random-write", limit=100, requests=True)
    for call in (sl.plot.cdf, sl.plot.percentiles, sl.plot.causes):
        with pytest.raises(sl.UsageError, match="measured no reads"):
            call(writes, "read")


def test_names_are_what_differs(runs, small):
    def names(given):
        return [name for name, _ in figures.named(given)]

    assert names(runs[0]) == names(runs[:1]) == [""]
    assert names(runs) == ["victim greedy", "victim fifo"]
    assert names({"a": runs[0], "b": runs[1].summary}) == ["a", "b"]
    assert names([runs[0], runs[0]]) == ["run 1", "run 2"]
    seeds = [sl.run(small, workload="quickstart", limit=100, seed=seed) for seed in (1, 2)]
    assert names(seeds) == ["seed 1", "seed 2"]

    class First(sl.Victim):
        """The first one."""

        def pick(self, view):
            return min(range(view.closed), key=view.valid.__getitem__)

    policy = sl.run(small, workload="quickstart", limit=100, victim=First())
    assert names([seeds[0], policy]) == ["victim greedy", "victim test_names_are_what_differs.<locals>.First"]


def test_hostile_names_are_text(runs):
    names = ["_hidden", "$x_{1$ & \\frac{", "<b>bold</b>"]
    given = dict(zip(names, [*runs, runs[0]], strict=True))
    for axes in (sl.plot.cdf(given), sl.plot.percentiles(given)):
        assert [text.get_text().strip() for text in draw(axes).get_legend().get_texts()] == names
    assert [text.get_text().strip() for text in draw(sl.plot.causes(given)).get_yticklabels()] == names


def test_altair_charts_have_the_same_data(runs):
    charts = {
        "cdf": sl.plot.altair.cdf(runs, "read"),
        "ccdf": sl.plot.altair.cdf(runs[0], "read", ccdf=True),
        "percentiles": sl.plot.altair.percentiles(runs, "read"),
        "causes": sl.plot.altair.causes(runs, "read", at=0.99),
        "series": sl.plot.altair.series(runs[0], ["read_p99_ns", "write_p99_ns"]),
    }
    data = {}
    for name, chart in charts.items():
        assert isinstance(chart, alt.Chart)
        # to_dict checks the chart against the schema of Vega-Lite.
        spec = chart.to_dict()
        data[name] = spec["data"]["values"] if "values" in spec["data"] else spec["datasets"][spec["data"]["name"]]
    x, share = sl.plot.cdf(runs, "read").get_lines()[1].get_data()
    mine = [row for row in data["cdf"] if row["run"] == "victim fifo"]
    assert [row["share"] for row in mine] == share[x > 0].tolist()
    assert np.allclose([row["latency_ms"] for row in mine], x[x > 0] / 1e6)
    total = sum(row["mean_ms"] for row in data["causes"] if row["run"] == "victim greedy")
    values = latencies(runs[0], "read")
    assert total * 1e6 == pytest.approx(values[values >= np.quantile(values, 0.99, method="inverted_cdf")].mean())
    assert [row["latency_ms"] * 1e6 for row in data["percentiles"][:6]] == pytest.approx(
        [runs[0].summary.latency_ns.read[name] for name in figures.PERCENTILES]
    )
    p99 = [row["value"] for row in data["series"] if row["column"] == "read_p99_ns"]
    assert p99 == [None if ns is None else pytest.approx(ns / 1e6) for ns in column(runs[0], "series", "read_p99_ns")]


@pytest.mark.parametrize(("library", "call"), [("matplotlib", "cdf"), ("altair", "altair.cdf"), ("numpy", "cdf")])
def test_a_missing_library_names_the_extra(library, call):
    code = (
        f"import sys; sys.modules[{library!r}] = None; import ssdlab\n"
        "run = ssdlab.run(workload='quickstart', limit=10, requests=True)\n"
        f"try: ssdlab.plot.{call}(run)\nexcept ImportError as error: print(error)"
    )
    done = python("-c", code)
    assert (done.stdout, done.stderr) == (f"{library} is not installed: pip install 'ssdlab[plots]'\n", "")


def test_the_package_imports_no_drawing_library():
    done = python("-c", "import sys, ssdlab; print(sorted({'numpy', 'matplotlib', 'altair', 'pandas'} & set(sys.modules)))")
    assert done.stdout == "[]\n", (done.stderr, sys.path)
