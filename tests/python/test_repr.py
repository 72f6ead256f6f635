"""How results are shown."""

import re
from html import unescape
from html.parser import HTMLParser

import pytest

import ssdlab as sl
from ssdlab import _repr


class Tables(HTMLParser):
    """The cells of all tables of a page; a tag that is not closed or not known is an error."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.open: list[str] = []
        self.pictures = 0
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "svg" or "svg" in self.open:
            self.pictures += tag == "svg"
            assert tag in {"svg", "title", "desc", "defs", "pattern", "g", "rect", "path", "circle", "line", "text"}, tag
            assert not {name for name, _ in attrs} & {"style", "class", "href"} and not any(name.startswith("on") for name, _ in attrs)
            self.open.append(tag)
            return
        assert tag in {"div", "p", "table", "thead", "tbody", "tr", "th", "td"}, tag
        assert {name for name, _ in attrs} <= {"style"}
        self.open.append(tag)
        match tag:
            case "table":
                self.tables.append([])
            case "tr":
                self.tables[-1].append([])
            case "td" | "th":
                self.tables[-1][-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1] in ("td", "th"):
            self.tables[-1][-1][-1] += data


def cells(line: str) -> list[str]:
    return re.split(r" {2,}", line.strip())


def test_a_run_is_shown_as_the_command_shows_it(small, command, tmp_path) -> None:
    config = tmp_path / "small.toml"
    config.write_text(small.to_toml())
    printed = command("run", "--workload", "quickstart", "--limit", "20000", "--quiet", config).decode()
    run = sl.run(small, workload="quickstart", limit=20000)
    shown = Tables(run._repr_html_())
    facts, latency, causes = shown.tables
    assert shown.pictures == 2, "the percentile curve and the causes"
    lines = printed.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("latency"))
    assert [cells(line) for line in lines[at : at + 4]] == latency
    at = next(i for i, line in enumerate(lines) if line.startswith("time per request"))
    theirs = [cells(line) for line in lines[at : lines.index("", at)]]
    assert [[cell for cell in row if cell] for row in causes] == theirs
    facts = dict(facts)
    squeezed = " ".join(printed.split())
    for name in ("write amplification", "wear"):
        assert f"{name} {facts[name]}" in squeezed
    assert f"GC {facts['GC']}" in squeezed
    assert facts["digests"].startswith(f"configuration {run.summary.config_digest[:16]}")


def test_a_run_is_a_line_that_helps(small) -> None:
    run = sl.run(small, workload="quickstart", limit=2000, requests=["latency_ns"], blocks=True)
    assert re.fullmatch(
        r"<ssdlab\.Run: 1,\d{3} reads, \d{3} writes in \d+\.\d+ ms; p99\.9 of reads .*; write amplification \d\.\d{3}; with requests, blocks>",
        repr(run),
    )
    # Half a page a write: in bytes it is twice as much, and both are shown.
    halves = sl.run(small.set({"geometry.page_size": "8KiB", "device.partial_write": "whole-page"}), workload="quickstart", limit=2000)
    in_bytes, in_pages = halves.write_amplification_bytes, halves.write_amplification
    assert in_bytes > 1.5 * in_pages and f"write amplification {in_bytes:.3f} ({in_pages:.3f} in pages)" in repr(halves)
    assert f"{in_bytes:.3f} ({in_pages:.3f} in pages): " in halves._repr_html_()
    reads = sl.run(workload="random-read", limit=1)
    assert "1 read, 0 writes" in repr(reads) and "write amplification -" in repr(reads)
    Tables(reads._repr_html_())
    dev = sl.Device(small)
    assert repr(dev.snapshot()) == "<ssdlab.Snapshot of a device at 0 ns>"
    disk = sl.Disk(check="off")
    disk.read(0, 4096)
    assert repr(disk.run()) == "[<ssdlab.Completion of read 1: 0 to 55120 ns>]"


@pytest.mark.parametrize("ns", [0, 1, 999, 999.4, 999.6, 1000, 55_120, 999_949, 999_951, 3_500_000, 999_949_999, 2.5e9, 14_403.9e9])
def test_durations_are_those_of_the_command(ns, small) -> None:
    expected = {0: "0 ns", 999.6: "1.00 us", 55_120: "55.12 us", 999_951: "1.00 ms", 3_500_000: "3.50 ms", 2.5e9: "2.50 s"}
    shown = _repr.duration(ns)
    assert shown == expected.get(ns, shown)
    number, unit = shown.split(" ")
    assert float(number) * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[unit] == pytest.approx(ns, rel=0.006, abs=0.5)


def test_a_configuration_marks_what_differs() -> None:
    cfg = sl.Config.preset("nvme-tlc").set("gc.threshold", "5 blocks")
    (table,) = Tables(cfg._repr_html_()).tables
    assert table[0] == ["", "key", "value", "default", "set in"]
    keys = {key: (mark, value, default, where) for mark, key, value, default, where in table[1:]}
    flat = {f"{section}.{name}" for section, values in cfg.to_dict().items() for name in values}
    assert set(keys) == flat
    usual = sl.Config()
    for key, (mark, value, default, where) in keys.items():
        assert (mark == "●") == (cfg[key] != usual[key]), key
        if mark:
            assert where == cfg.origin(key) and default != value
    assert keys["gc.threshold"][1:] == ("5 blocks", str(usual["gc.threshold"]), "--set")
    marked = sum(mark == "●" for mark, *_ in keys.values())
    assert f"{marked} values differ from the default" in cfg._repr_html_()
    assert "1 value differs" in usual.set("geometry.channels", 4)._repr_html_()
    assert "0 values differ" in usual._repr_html_() and "●" not in usual._repr_html_()


def test_hostile_names_are_text(tmp_path, small) -> None:
    evil = "<script>alert('x')</script>\"&amp;"

    class Policy(sl.Victim):
        def pick(self, view):
            return min(range(view.closed), key=view.valid.__getitem__)

    Policy.__doc__ = evil
    Policy.__qualname__ = "<img src=x onerror=alert(1)>"
    run = sl.run(small, workload="quickstart", limit=500, victim=Policy())
    page = run._repr_html_()
    text = " ".join(cell for table in Tables(page).tables for row in table for cell in row)
    assert evil in text and "<img src=x onerror=alert(1)>" in text
    assert "<script" not in page and "<img" not in page
    assert evil in unescape(page)
    # A file name stands where a value was set.
    path = tmp_path / "<b onclick=x>.toml"
    path.write_text("[geometry]\nchannels = 4\n")
    page = sl.Config.load(path)._repr_html_()
    assert "<b onclick" not in page and "<b onclick=x>.toml:2" in " ".join(row[-1] for row in Tables(page).tables[0])
    # And a table of requests.
    table = sl.run(small, workload="quickstart", limit=20, requests=True).requests
    Tables(table._repr_html_())
