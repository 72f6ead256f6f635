"""Reports in a browser: offline, silent, readable without scripts, by keyboard, on paper, and by a reader of screens.

The browser is the system's Chromium. Without it, or without playwright, these tests are skipped; with SSDLAB_BROWSER=1 they fail.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import http.server
import json
import os
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import once, timing

HERE = Path(__file__).parent
WIDTHS = [360, 1440]
THEMES = ["light", "dark"]
# What Jenkins sends with the files of a build unless its administrator changes it.
JENKINS = "sandbox; default-src 'none'; img-src 'self'; style-src 'self';"
TINY = """
[geometry]
channels = 2
chips_per_channel = 2
dies_per_chip = 1
planes_per_die = 2
blocks_per_plane = 32
pages_per_block = 16

[device]
over_provisioning = 0.25

[precondition]
mode = "random"
"""

STUDY = """
schema = "ssdlab.study/1"
name = "victim-by-spare"
[base]
files = ["tiny.toml"]
[input]
workload = "mixed-70-30"
limit = 1_000
[axes]
"schemes.victim" = ["greedy", "fifo"]
"device.over_provisioning" = { from = 0.25, to = 0.4, steps = 4 }
[repeat]
seeds = 2
"""


def lacking(what: str) -> None:
    if os.environ.get("SSDLAB_BROWSER") == "1":
        pytest.fail(f"SSDLAB_BROWSER=1: {what}")
    pytest.skip(what)


@pytest.fixture(scope="module")
def browser() -> Iterator:
    """The system's Chromium."""
    path = shutil.which("chromium")
    if path is None:
        lacking("no chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        lacking("no playwright")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def made(tmp_path_factory, command) -> Path:
    """Pages of a run with all that a run can write, of a comparison, a study, a paper, an explanation and an experiment; the results
    that they are made of."""
    return once(tmp_path_factory, "pages", lambda place: write_pages(place, command))


def write_pages(place: Path, command) -> None:
    (place / "tiny.toml").write_text(TINY)
    (place / "study.toml").write_text(STUDY)
    run = "run tiny.toml --workload mixed-70-30 --limit 4000 --quiet"
    files = "--json s.json --histograms h.csv --blocks b.csv --series se.csv --series-dies --window 20ms --timeline t.pftrace"
    some = "tiny.toml --workload mixed-70-30 --limit 1000 --quiet"
    vary = "--vary gc.time=real,none --vary schemes.victim=greedy,fifo --repeat 3"
    for line in [
        f"{run} {files} --report run.html",
        f"{run} --report lite.html --report-lite",
        f"compare {some} {vary} --json c.json --report compare.html",
        "sweep run study.toml --store store --quiet --report sweep.html",
        "reproduce d --quiet --quick --limit 5000 --json r.json --report paper.html",
        f"explain {some} --try gc.time=none --report explain.html",
        f"whatif {some} --at slowest:read --without gc --report whatif.html",
    ]:
        command(*line.split(), cwd=place)


# The pages, and how many figures each has.
PAGES = {"run": 11, "compare": 1, "sweep": 10, "paper": 15, "explain": 7, "whatif": 1}


class Watched:
    """A page that is offline, and what it did that it must not do."""

    def __init__(self, context, uri: str) -> None:
        self.page = context.new_page()
        self.requests: list[str] = []
        self.said: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.said.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        self.page.add_init_script(
            "addEventListener('securitypolicyviolation', event => (window.violations ||= []).push(event.violatedDirective))"
        )
        self.page.goto(uri)

    def is_silent(self, uri: str) -> None:
        assert self.requests == [uri]
        assert self.said == []
        assert self.page.evaluate("window.violations || []") == []


@pytest.fixture
def opened(browser):
    """Opens a page in a context of its own."""
    with contextlib.ExitStack() as contexts:

        def call(path: Path, width: int = 1440, theme: str = "light", *, uri: str | None = None, **options) -> Watched:
            offline = uri is None
            context = browser.new_context(
                offline=offline, viewport={"width": width, "height": 900}, color_scheme=theme, accept_downloads=True, **options
            )
            contexts.callback(context.close)
            return Watched(context, path.as_uri() if uri is None else uri)

        yield call


def all_in_view(page) -> None:
    """Shows every figure, also those of which a reader chooses one, and lets the script draw each of them again."""

    def drawn(figure) -> None:
        figure.scroll_into_view_if_needed()
        if figure.locator(".plot > svg").count():
            figure.locator(".plot").focus()
            page.keyboard.press("+")
            page.keyboard.press("0")

    for label in reversed(page.locator(".views > label").all()):
        label.click()
        drawn(page.locator(f"#figure-{label.get_attribute('for').removeprefix('view-')}"))
    for figure in page.locator("figure[data-figure]").all():
        if figure.is_visible():
            drawn(figure)


# Signs of a figure: the shapes of its SVG, and those whose places are no numbers.
DRAWN = """() => JSON.parse(document.getElementById('ssdlab-data').textContent).figures.map(figure => {
  const place = [...document.querySelectorAll('[data-figure]')].find(one => one.dataset.figure === figure.id);
  const shapes = [...place.querySelectorAll('.plot svg :is(path, rect, circle, line, text)')];
  const wrong = shapes.filter(shape => [...shape.attributes].some(one => /NaN|undefined|Infinity/.test(one.value))).length;
  return { id: figure.id, empty: figure.empty || null, tools: place.querySelectorAll('.tools button').length, marks: shapes.length, wrong };
})"""


# Each page in both themes and at both widths; all pairs of these with the page that has all kinds of charts.
SEEN = [(name, theme, width) for name in PAGES for theme, width in zip(THEMES, reversed(WIDTHS), strict=True)]
SEEN += [("run", theme, width) for theme, width in zip(THEMES, WIDTHS, strict=True)]


@pytest.mark.parametrize(("name", "theme", "width"), SEEN)
def test_every_figure_is_drawn_and_nothing_else_happens(made, opened, name, theme, width) -> None:
    path = made / f"{name}.html"
    watched = opened(path, width, theme)
    page = watched.page
    all_in_view(page)
    figures = page.evaluate(DRAWN)
    assert len(figures) == PAGES[name]
    for figure in figures:
        if figure["empty"]:
            assert page.get_by_text(figure["empty"]).count(), figure
        else:
            assert figure["tools"] >= 6 and figure["marks"] > 10 and figure["wrong"] == 0, figure
    # Wide content scrolls in its own box, never the page.
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    watched.is_silent(path.as_uri())


# Where each bar is along the axis of names: its group, the place of the group, and its own ends; from what is drawn.
BARS = """() => [...document.querySelectorAll('[data-panel]')].flatMap((node, index) => {
  const panel = JSON.parse(node.dataset.panel), [left, , right] = panel.frame;
  if (panel.x.scale !== 'band') return [];
  const band = (right - left) / panel.x.bands.length;
  return [...node.querySelectorAll('[data-series]')].flatMap(one => {
    if (JSON.parse(one.dataset.series).mark !== 'bar') return [];
    const path = one.querySelector('path').getAttribute('d'), box = /M([\\d.]+) [\\d.]+(h|H)([\\d.]+)/g;
    return [...path.matchAll(box)].map(([, from, kind, to]) => {
      const ends = [+from, kind === 'h' ? +from + +to : +to], group = Math.floor(((ends[0] + ends[1]) / 2 - left) / band);
      return { figure: node.closest('figure').id, panel: index, group, from: left + group * band, band, ends };
    });
  });
})"""


@pytest.mark.parametrize("bars", [3, 2], ids=["three", "two"])
def test_bars_of_a_group_stand_beside_each_other(opened, command, tmp_path, bars) -> None:
    (tmp_path / "tiny.toml").write_text(TINY)
    # A group is a value of the key with the most values, so both keys have as many as a group has bars.
    workloads = ["mixed-70-30", "random-write", "zipf-write"][:bars]
    inputs = ", ".join(f'{name} = {{ workload = "{name}" }}' for name in workloads)
    study = STUDY[: STUDY.index("[input]")] + f"""
[input]
limit = 500
[axes]
input = {{ values = {{ {inputs} }} }}
"schemes.victim" = {json.dumps(["greedy", "fifo", "random"][:bars])}
"""
    (tmp_path / "study.toml").write_text(study)
    command(*"sweep run study.toml --store store --quiet --report sweep.html".split(), cwd=tmp_path)
    page = opened(tmp_path / "sweep.html").page
    drawn = page.evaluate(BARS)
    all_in_view(page)
    # As the file has them, and as the script draws them again.
    for found in [drawn, page.evaluate(BARS)]:
        groups: dict[tuple, list] = {}
        for bar in found:
            groups.setdefault((bar["figure"], bar["panel"], bar["group"]), []).append(bar)
        assert {len(group) for group in groups.values()} == {bars}, groups
        for group in groups.values():
            group.sort(key=lambda bar: bar["ends"])
            for bar in group:
                assert bar["from"] - 0.1 <= bar["ends"][0] < bar["ends"][1] <= bar["from"] + bar["band"] + 0.1, "within its own place"
            for one, other in zip(group, group[1:], strict=False):
                assert one["ends"][1] <= other["ends"][0] + 0.15, "beside the one before"


def test_all_kinds_of_figures_of_a_run_are_on_its_page(made, command) -> None:
    page = (made / "run.html").read_text()
    data = json.loads(page.split('id="ssdlab-data">')[1].split("</script>")[0])
    shown = {figure["id"] for figure in data["figures"]}
    files = [made / name for name in ["s.json", "h.csv", "b.csv", "se.csv", "se.dies.csv", "t.pftrace"]]
    lines = command("plot", "--list", *files).decode().splitlines()[1:]
    can = {line.split()[0] for line in lines if line.rstrip().endswith("yes")}
    assert shown == can - {"timeline-text"}


# The part of a linear x axis that a chart shows, in percent: from two of its ticks.
VIEW = """id => {
  const node = document.querySelector(`[data-figure="${id}"] [data-panel]`), panel = JSON.parse(node.dataset.panel);
  const [left, , right] = panel.frame, [low, high] = panel.x.ends, unit = high >= 1e9 ? 1e9 : high >= 1e6 ? 1e6 : 1e3;
  const ticks = [...node.querySelectorAll('[data-ticks] text')].map(text => [+text.textContent * unit, +text.getAttribute('x')]);
  const [first, last] = [ticks[0], ticks[ticks.length - 1]], each = (last[0] - first[0]) / (last[1] - first[1]);
  return [left, right].map(x => Math.round((first[0] + (x - first[1]) * each - low) / (high - low) * 100));
}"""


def zoomed(page, figure: str) -> list[float]:
    return page.evaluate(VIEW, figure)


def test_the_keyboard_reaches_everything(made, opened) -> None:
    path = made / "run.html"
    watched = opened(path)
    page = watched.page
    # The first stop is the link past the contents.
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.evaluate("document.activeElement.getBoundingClientRect().left") >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#main"
    # Colours: the arrow keys of a group of switches.
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.locator("#theme-auto").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#theme-light").is_checked() and page.evaluate(ground) == light
    page.keyboard.press("ArrowRight")
    assert page.locator("#theme-dark").is_checked() and page.evaluate(ground) != light
    # Zoom, on the chart and with its buttons.
    figure = page.locator("[data-figure=causes]")
    figure.locator(".plot").focus()
    page.keyboard.press("0")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid", "focus is visible"
    assert zoomed(page, "causes") == [0, 100]
    page.keyboard.press("+")
    assert zoomed(page, "causes") == [25, 75]
    page.keyboard.press("ArrowRight")
    assert zoomed(page, "causes") == [35, 85]
    page.keyboard.press("-")
    assert zoomed(page, "causes") == [0, 100]
    page.keyboard.press("+")
    page.keyboard.press("0")
    assert zoomed(page, "causes") == [0, 100]
    figure.get_by_role("button", name="Zoom in").focus()
    page.keyboard.press("Enter")
    assert zoomed(page, "causes") == [25, 75]
    figure.get_by_role("button", name="Reset").focus()
    page.keyboard.press("Space")
    assert zoomed(page, "causes") == [0, 100]
    # The table.
    toggle = figure.locator("summary")
    toggle.focus()
    page.keyboard.press("Enter")
    assert figure.locator("table").is_visible()
    # Files.
    for ending, begins in [("PNG", b"\x89PNG\r\n\x1a\n"), ("SVG", b"<svg "), ("CSV", b"op,cause,")]:
        figure.get_by_role("button", name=ending).focus()
        with page.expect_download() as waiting:
            page.keyboard.press("Enter")
        assert waiting.value.suggested_filename == f"causes.{ending.lower()}"
        content = Path(waiting.value.path()).read_bytes()
        assert content.startswith(begins) and len(content) > 500
    assert watched.said == []
    assert [url for url in watched.requests if not url.startswith("blob:")][0] == path.as_uri()


def test_arrow_keys_say_the_value_of_each_mark(made, opened) -> None:
    page = opened(made / "run.html").page
    summary = json.loads((made / "s.json").read_text())
    figure = page.locator("[data-figure=causes]")
    figure.locator(".plot").focus()
    tip, said = figure.locator(".tip"), figure.locator("[role=status]")
    assert tip.is_hidden() and figure.locator(".ring").count() == 0
    series = [button.inner_text() for button in figure.locator(".legend button").all()]
    seen = []
    for _ in range(3 * len(series)):
        page.keyboard.press("ArrowRight")
        assert tip.is_visible() and said.text_content() == tip.text_content() and figure.locator(".ring").count() == 1
        if tip.text_content() in seen:
            break
        seen.append(tip.text_content())
    assert len(seen) > 10, seen
    page.keyboard.press("Home")
    assert tip.text_content() == seen[0] and seen[0].startswith(f"reads\n{series[0]}: ")
    # The value is the summary's.
    cause = series[0].split(" ")[0]
    mean = summary["breakdown_ns"]["read"][cause] / summary["latency_ns"]["read"]["count"]
    number, unit = seen[0].split(": ")[1].split(" ")
    assert abs(float(number) * {"ns": 1, "us": 1e3, "ms": 1e6}[unit] / mean - 1) < 0.006
    page.keyboard.press("ArrowDown")
    assert tip.text_content().startswith(f"reads\n{series[1]}: "), "the next series"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowLeft")
    assert tip.text_content() == seen[0], "there is none before the first"
    # Zooming keeps to the mark, and the view follows it.
    page.keyboard.press("+")
    page.keyboard.press("+")
    assert tip.is_visible() and tip.text_content() == seen[0]
    page.keyboard.press("End")
    assert tip.is_visible() and tip.text_content() == seen[-1] and zoomed(page, "causes")[1] > 50
    page.keyboard.press("Escape")
    assert tip.is_hidden() and figure.locator(".ring").count() == 0
    assert page.evaluate("document.activeElement.className") == "plot"
    before = zoomed(page, "causes")
    page.keyboard.press("ArrowLeft")
    assert tip.is_hidden() and zoomed(page, "causes")[0] < before[0], "without a mark, it moves the view"


def test_series_are_switched_off_and_on(made, opened) -> None:
    page = opened(made / "run.html").page
    figure = page.locator("[data-figure=causes]")
    buttons, marks = figure.locator(".legend button"), figure.locator("[data-series]")
    names = [button.inner_text() for button in buttons.all()]
    assert figure.locator("[data-legend]").is_hidden() and len(names) > 3

    def pressed(i: int) -> bool:
        return buttons.nth(i).get_attribute("aria-pressed") == "true"

    def boxes() -> list[list[float]]:
        return marks.evaluate_all("all => all.map(one => { const b = one.getBBox(); return [b.x, b.y, b.width, b.height]; })")

    before = boxes()
    assert len(before) == len(names) and all(map(pressed, range(len(names))))
    buttons.nth(0).focus()
    page.keyboard.press("Space")
    assert not pressed(0) and marks.first.is_hidden()
    # The next of the stack begins where it began.
    after = boxes()
    assert abs(after[1][0] - before[0][0]) < 0.5 and before[1][0] > before[0][0] + 0.5
    figure.locator(".plot").focus()
    page.keyboard.press("ArrowRight")
    assert names[1] in figure.locator(".tip").text_content()
    buttons.nth(0).focus()
    page.keyboard.press("Enter")
    assert pressed(0) and marks.first.is_visible()
    assert all(abs(a - b) < 0.2 for one, other in zip(before, boxes(), strict=True) for a, b in zip(one, other, strict=True))


def test_a_pointer_shows_values_and_a_drag_zooms(made, opened) -> None:
    page = opened(made / "run.html").page
    figure = page.locator("[data-figure=causes]")
    figure.scroll_into_view_if_needed()
    frame = "e => { const [l, t, r, b] = JSON.parse(e.dataset.panel).frame, m = e.getScreenCTM(); return [l * m.a + m.e, r * m.a + m.e, t * m.d + m.f, b * m.d + m.f]; }"
    left, right, top, bottom = figure.locator("[data-panel]").evaluate(frame)
    tip, row = figure.locator(".tip"), top + (bottom - top) / 6
    page.mouse.move(left + 3, row)
    page.mouse.move(left + 4, row)
    tip.wait_for(state="visible")
    assert tip.text_content().startswith("reads\n")
    page.mouse.move(left + (right - left) * 0.2, row)
    page.mouse.down()
    page.mouse.move(left + (right - left) * 0.6, row, steps=4)
    page.mouse.up()
    assert zoomed(page, "causes") == [20, 60]
    page.mouse.move(5, 5)
    assert tip.is_hidden()


# The places of the marks of each series.
PLACES = """() => [...document.querySelectorAll('[data-series]')].map(node => {
  const box = node.getBBox(), shapes = node.querySelectorAll('path, circle, text').length;
  return [shapes, box.x, box.y, box.x + box.width, box.y + box.height];
})"""


@pytest.mark.parametrize("name", PAGES)
def test_the_script_draws_marks_where_the_file_has_them(made, opened, name) -> None:
    page = opened(made / f"{name}.html").page
    page.emulate_media(media="print")
    # Of figures among which a reader chooses, all are looked at here.
    page.evaluate("document.querySelectorAll('.views > figure').forEach(figure => figure.style.display = 'block')")
    before = page.evaluate(PLACES)
    for figure in page.locator("figure[data-figure]").all():
        if figure.locator(".plot > svg").count():
            figure.locator(".plot").focus()
            page.keyboard.press("+")
            page.keyboard.press("0")
    after = page.evaluate(PLACES)
    assert len(before) == len(after) > 0
    for one, other in zip(before, after, strict=True):
        assert one[0] == other[0] and all(abs(a - b) < 0.16 for a, b in zip(one[1:], other[1:], strict=True)), (one, other)


def test_windows_have_one_cursor_in_all_panels(made, opened) -> None:
    page = opened(made / "run.html").page
    chart = page.locator("[data-figure=series] .plot")
    chart.evaluate("e => e.scrollIntoView()")
    box = chart.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 90)
    tip = page.locator("[data-figure=series] .tip")
    tip.wait_for(state="visible")
    text = tip.inner_text()
    for panel in ["requests/s", "read latency", "write latency", "write amplification", "free pages", "GC"]:
        assert panel in text, text


def visible_figures(page) -> int:
    """Checks that the SVG of every figure is visible, view by view; returns how many there are."""
    figures = page.locator("figure[data-figure]").all()
    for figure in figures:
        name = figure.get_attribute("data-figure")
        view = page.locator(f"label[for='view-{name.replace(':', '-')}']")
        if view.count():
            view.click()
        # A figure without a point says why.
        drawing = figure.locator(".plot > *")
        box = drawing.bounding_box()
        assert drawing.is_visible() and box["width"] > 200 and box["height"] > 12, name
        if drawing.evaluate("e => e.tagName") == "svg":
            assert box["height"] > 60 and drawing.locator("text").count() > 3, name
    return len(figures)


@pytest.mark.parametrize("name", [*PAGES, "lite"])
def test_a_page_without_scripts_is_complete(made, opened, name) -> None:
    page = opened(made / f"{name}.html", java_script_enabled=False).page
    assert visible_figures(page) == (made / f"{name}.html").read_text().count("<figure ")
    assert page.locator(".tools").count() == 0, "buttons need scripts"
    # Tables of figures without a drawing are open.
    tables = page.locator("figure table:visible").count()
    page.locator("figure details:not([open]) summary:visible").first.click()
    assert page.locator("figure table:visible").count() == tables + 1


@pytest.fixture(scope="module")
def jenkins(made) -> Iterator[str]:
    """The pages as Jenkins serves them."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def end_headers(self) -> None:
            self.send_header("Content-Security-Policy", JENKINS)
            super().end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=made))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_readable_where_jenkins_serves_it(made, opened, jenkins, name) -> None:
    watched = opened(made, uri=f"{jenkins}/{name}.html")
    assert visible_figures(watched.page) >= 1
    assert watched.requests == [f"{jenkins}/{name}.html"]
    # Neither scripts nor styles came through: colours are the SVG's own.
    assert watched.page.locator(".tools").count() == 0
    fills = watched.page.evaluate("[...new Set([...document.querySelectorAll('svg [fill]')].map(e => getComputedStyle(e).fill))].length")
    assert fills > 3


@pytest.mark.parametrize(("name", "theme"), [("run", "dark"), *((name, "light") for name in PAGES)])
def test_a_printed_page_has_its_figures_on_four_sheets(made, opened, name, theme, tmp_path) -> None:
    pdfium = pytest.importorskip("pypdfium2")
    watched = opened(made / f"{name}.html", theme=theme)
    page = watched.page
    # As when a reader prints: a chart has been looked at.
    page.locator(".plot:has(> svg)").first.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("figure[data-figure]").count() == PAGES[name]
    # Of figures among which a reader chooses, the chosen one is printed.
    titles = page.locator("figure[data-figure]:visible h3").all_inner_texts()
    target = tmp_path / "page.pdf"
    page.pdf(path=target, format="A4")
    document = pdfium.PdfDocument(target)
    assert len(document) <= 4
    # Long titles are on several lines.
    text = " ".join(" ".join(sheet.get_textpage().get_text_range() for sheet in document).split())
    assert titles and [title for title in titles if title not in text] == []
    # Paths of the drawings are on the pages, and the ground is white in either theme.
    shapes = sum(1 for sheet in document for _ in sheet.get_objects(filter=[pdfium.raw.FPDF_PAGEOBJ_PATH], max_depth=6))
    drawn = page.locator("figure .plot > svg").filter(visible=True).count()
    assert drawn > 0 and shapes > 20 * drawn
    image = document[0].render(scale=0.5).to_numpy()
    assert (image[2, 2] == 255).all()
    # On A4 with margins of 10 mm, nothing is cut off at the right, and a figure fits on a page with its heading.
    page.set_viewport_size({"width": 718, "height": 1047})
    page.emulate_media(media="print")
    wide = "[...document.querySelectorAll('table, svg, p, pre')].filter(e => e.getBoundingClientRect().right > 718).map(e => e.outerHTML.slice(0, 200))"
    assert page.evaluate(wide) == []
    assert page.evaluate("Math.max(...[...document.querySelectorAll('.plot > svg')].map(e => e.getBoundingClientRect().height))") < 900
    for figure in page.locator("figure[data-figure]:visible").all():
        drawing = figure.locator(".plot > *")
        box, least = drawing.bounding_box(), 40 if drawing.evaluate("e => e.tagName") == "svg" else 12
        assert box is not None and box["height"] > least, figure.get_attribute("data-figure")
        # Tables with fewer than 20 rows are opened on paper, longer ones by the reader.
        table = figure.locator("table").first
        assert not figure.locator(".tools").is_visible() and table.is_visible() == (table.locator("tbody tr").count() < 20)
        assert not figure.locator(".tip, .ring").filter(visible=True).count()


HOSTILE = [
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{7*7}}",
    "javascript:alert(1)",
    "]]>",
    "<!--",
    "before\u2028after",
    "before\u202eafter",
    "A" * 10_000,
    "\udcff\udcfe bytes",
]


def literal(text: str) -> str:
    """What a page shows of a text: signs that act are left out or blank, and so is the middle of a long one."""
    text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return text.replace("\u2028", " ").replace("\u202e", "")[:60]


def poisoned(value, text: str):
    """A result in which the text stands wherever a text from outside can stand."""
    if isinstance(value, dict):
        return {key: poisoned(one, text) if key not in ("schema", "verdict", "letter") else one for key, one in value.items()}
    if isinstance(value, list):
        return [poisoned(one, text) for one in value]
    return text if isinstance(value, str) else value


@pytest.mark.parametrize("lite", [False, True], ids=["scripts", "lite"])
@pytest.mark.parametrize("text", HOSTILE, ids=["script", "image", "braces", "url", "cdata", "comment", "line", "direction", "long", "bytes"])
def test_hostile_text_is_shown_and_does_nothing(made, opened, command, tmp_path, text, lite) -> None:
    inputs = []
    for name in ["s.json", "c.json", "r.json"]:
        value = json.loads((made / name).read_text())
        # JSON has no bytes that are not UTF-8.
        clean = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        value = poisoned(value, clean)
        if name == "s.json":
            value["config"]["schemes"]["victim"] = {"python": clean, "about": clean, "source": None}
        # Names of files are bytes; they have no slash and at most 255 of them.
        path = os.fsencode(tmp_path) + b"/" + os.fsencode(text.replace("/", "")[:200]) + name.encode()
        with open(path, "w") as file:
            json.dump(value, file)
        inputs.append(os.fsdecode(path))
    inputs.append(str(made / "h.csv"))
    title = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    target = tmp_path / "page.html"
    command("report", *inputs, "-o", target, "--title", title, *(["--lite"] if lite else []))
    watched = opened(target)
    page = watched.page
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    if not lite:
        all_in_view(page)
    assert page.evaluate("document.scripts.length") == (1 if lite else 2)
    assert page.evaluate("document.images.length") == 0
    watched.is_silent(target.as_uri())
    flat = page.evaluate("[...document.querySelectorAll('body > :not(script)')].map(e => e.textContent).join(' ')")
    expected = literal(text)
    # In the title, the names of the files, variants, rows of papers, and the configuration.
    for place in ["h1", "#compare", "#paper", "#method", "#verdict"]:
        found = page.locator(place).first.evaluate("e => e.textContent")
        assert expected in found, (place, expected)
    assert "\u202e" not in flat and "A" * 201 not in flat
    assert page.title().startswith(expected)


@pytest.mark.parametrize("text", HOSTILE[:4], ids=["script", "image", "braces", "url"])
def test_hostile_names_of_a_study_do_nothing(opened, command, tmp_path, text) -> None:
    name = json.dumps(text)
    (tmp_path / "tiny.toml").write_text(TINY)
    axis = f'schemes = {{ label = {name}, values = {{ {name} = {{}}, fifo = {{ victim = "fifo" }} }} }}'
    (tmp_path / "study.toml").write_text(STUDY.replace('"schemes.victim" = ["greedy", "fifo"]', axis))
    command("sweep", "run", "study.toml", "--store", "store", "--quiet", "--report", "page.html", cwd=tmp_path)
    watched = opened(tmp_path / "page.html")
    all_in_view(watched.page)
    watched.is_silent((tmp_path / "page.html").as_uri())
    assert watched.page.evaluate("document.scripts.length") == 2
    assert text in watched.page.locator("#sweep").evaluate("e => e.textContent")


def test_choices_of_a_study_need_no_script(made, opened) -> None:
    for scripts in [True, False]:
        page = opened(made / "sweep.html", java_script_enabled=scripts).page
        first, second = page.locator("#figure-sweep-lines"), page.locator("#figure-sweep-lines-4")
        assert first.is_visible() and not second.is_visible()
        # Of a group of switches, the arrow keys choose.
        page.locator("#view-sweep-lines").focus()
        page.keyboard.press("ArrowLeft")
        assert second.is_visible() and not first.is_visible(), scripts
        assert "write amplification" in second.locator("h3").inner_text()


def test_figures_of_papers_are_chosen_by_verdict(made, opened) -> None:
    verdicts = json.loads((made / "r.json").read_text())["papers"][0]["items"]
    other = [item for item in verdicts if any(row["verdict"] in ("differs", "opposite") for row in item["rows"])]
    assert 0 < len(other) < len(verdicts)
    for scripts in [True, False]:
        page = opened(made / "paper.html", java_script_enabled=scripts).page
        figures = page.locator("#paper figure:visible")
        assert figures.count() == len(verdicts)
        page.locator("#verdict-all").focus()
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowLeft")
        assert page.locator("#verdict-other").is_checked(), "the last but one, by the keyboard"
        assert figures.count() == len(other), scripts
        assert f"! other ({len(other)})" in page.locator(".verdicts").inner_text()
        page.emulate_media(media="print")
        assert figures.count() == len(verdicts), "paper has all of them"


FIRST = ["run", "--workload", "quickstart", "--set", "precondition.mode=random", "--quiet"]


def test_pages_are_small(command, tmp_path) -> None:
    """The README's first run: with all that a run can write, and as it is."""
    more = "--series s.csv --series-dies --window 1s --timeline t.pftrace --timeline-window 40s..41s --report"
    command(*FIRST, *more.split(), "whole.html", cwd=tmp_path)
    command(*FIRST, *more.split(), "whole-lite.html", "--report-lite", cwd=tmp_path)
    command(*FIRST, "--report", "lite.html", "--report-lite", cwd=tmp_path)
    command(*FIRST, "--report", "run.html", cwd=tmp_path)
    sizes = {name: (tmp_path / name).stat().st_size for name in ("whole.html", "whole-lite.html", "run.html", "lite.html")}
    print(sizes)
    assert sizes.pop("whole.html") <= 700_000 and sizes.pop("whole-lite.html") <= 400_000 and max(sizes.values()) < 250_000


@timing
def test_a_page_is_interactive_soon(opened, command, tmp_path) -> None:
    def seconds(path: Path, figure: str, clicks: str) -> float:
        start = time.perf_counter()
        page = opened(path).page
        place = page.locator(f"[data-figure={figure}]")
        place.get_by_role("button", name=clicks).click()
        assert place.locator("[clip-path^=url]").count() > 0, "it is zoomed"
        return time.perf_counter() - start

    more = "--series s.csv --series-dies --window 1s --timeline t.pftrace --timeline-window 0s..6s --json j.json --report run.html"
    command(*FIRST, *more.split(), cwd=tmp_path)
    run = seconds(tmp_path / "run.html", "percentiles", "Zoom in")
    command("report", "j.json", "t.pftrace", "--timeline-window", "0s..6s", "--max-size", "32MiB", "-o", "bars.html", cwd=tmp_path)
    assert "the 20,000 longest" in (tmp_path / "bars.html").read_text()
    bars = seconds(tmp_path / "bars.html", "gantt", "Zoom in")
    print(f"interactive after {run:.2f} s, with 20,000 bars after {bars:.2f} s")
    assert run <= 2 and bars <= 5


def violations(page, axe: str) -> list[str]:
    page.evaluate(axe)
    tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa"]
    found = page.evaluate("tags => axe.run(document, { runOnly: { type: 'tag', values: tags } })", tags)
    assert len(found["passes"]) > 10, "axe looked at the page"
    return [f"{v['id']}: {node['html'][:200]} {node.get('failureSummary', '')}" for v in found["violations"] for node in v["nodes"]]


@pytest.fixture(scope="module")
def axe() -> str:
    """The source of axe-core, as it was published."""
    version, digest = (HERE / "axe/VERSION").read_text().split()
    source = (HERE / "axe/axe.min.js").read_bytes()
    assert version == "4.14.1" and hashlib.sha256(source).hexdigest() == digest
    assert "Mozilla Public License" in (HERE / "axe/LICENSE").read_text()
    return source.decode()


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", [*PAGES, "lite"])
def test_axe_finds_nothing(made, opened, axe, name, theme) -> None:
    page = opened(made / f"{name}.html", theme=theme).page
    if name != "lite":
        all_in_view(page)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert violations(page, axe) == []


def test_axe_would_find_something(browser, axe) -> None:
    page = browser.new_page()
    page.set_content("<main><h1>t</h1><p style='color:#ccc;background:#fff'>pale</p>" + "<button>x</button>" * 2 + "<input></main>")
    page.evaluate(axe)
    found = page.evaluate("axe.run().then(r => r.violations.map(v => v.id))")
    page.close()
    assert {"color-contrast", "label"} <= set(found)
