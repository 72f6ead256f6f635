"""Figures for papers: PDF and PNG of the command in the wheel."""

import re
import struct
import zlib
from pathlib import Path

import pytest

from conftest import python

WIDTH, HEIGHT = 3.5, 2.2


@pytest.fixture(scope="module")
def plot(tmp_path_factory, command):
    """Runs `ssdlab plot` of the package on the results of a run."""
    place = tmp_path_factory.mktemp("figures")
    small = ["--set", "geometry.blocks_per_plane=32", "--set", "precondition.mode=random"]
    files = ["--histograms", "h.csv", "--blocks", "b.csv", "--timeline", "t.pftrace"]
    command("run", "--workload", "quickstart", "--limit", 2000, *small, *files, "--quiet", cwd=place)

    def call(figure: str, target: str, *options: str) -> bytes:
        size = ["--width", f"{WIDTH}in", "--height", f"{HEIGHT}in"]
        done = python("-m", "ssdlab", "plot", figure, *files[1::2], "-o", target, *size, *options, cwd=place)
        assert done.returncode == 0, done.stderr
        return (place / target).read_bytes()

    return call


@pytest.mark.parametrize("figure", ["percentiles", "tail-causes", "wear", "gantt"])
def test_a_pdf_has_vectors_and_text_at_its_size(plot, figure, tmp_path) -> None:
    pdfium = pytest.importorskip("pypdfium2")
    made = plot(figure, f"{figure}.pdf", "--font-size", "7pt")
    assert made.startswith(b"%PDF-") and b"LiberationSans" in made
    (tmp_path / "figure.pdf").write_bytes(made)
    document = pdfium.PdfDocument(tmp_path / "figure.pdf")
    assert len(document) == 1
    sheet = document[0]
    assert sheet.get_size() == pytest.approx((72 * WIDTH, 72 * HEIGHT), abs=0.1)
    assert len(list(sheet.get_objects(filter=[pdfium.raw.FPDF_PAGEOBJ_IMAGE], max_depth=6))) == 0, "vectors"
    assert len(list(sheet.get_objects(filter=[pdfium.raw.FPDF_PAGEOBJ_PATH], max_depth=6))) > 5
    # The text is that of the SVG.
    svg = plot(figure, f"{figure}.svg", "--font-size", "7pt").decode()
    words = {word for text in re.findall(r"<text[^>]*>([^<]*)</text>", svg) for word in text.split() if word.isalpha()}
    # Beside upright text, letters are read one by one.
    found = "".join(sheet.get_textpage().get_text_range().split())
    assert words and [word for word in words if word not in found] == []


def decoded(png: bytes) -> tuple[int, int, bytes]:
    """Width, height, and the rows of a PNG with their filters."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    at, data, header = 8, b"", b""
    while at < len(png):
        (length,), kind = struct.unpack(">I", png[at : at + 4]), png[at + 4 : at + 8]
        body = png[at + 8 : at + 8 + length]
        assert zlib.crc32(kind + body) == struct.unpack(">I", png[at + 8 + length : at + 12 + length])[0]
        header, data = (body, data) if kind == b"IHDR" else (header, data + body if kind == b"IDAT" else data)
        at += 12 + length
    width, height, depth, colours = struct.unpack(">IIBB", header[:10])
    rows = zlib.decompress(data)
    assert (depth, colours) == (8, 6) and len(rows) == height * (4 * width + 1)
    return width, height, rows


@pytest.mark.parametrize("dpi", [72, 300])
def test_a_png_has_the_pixels_of_its_size(plot, dpi) -> None:
    made = plot("percentiles", f"{dpi}.png", "--dpi", str(dpi))
    width, height, rows = decoded(made)
    assert (width, height) == (round(WIDTH * dpi), pytest.approx(HEIGHT * dpi, abs=dpi / 72))
    assert len(set(rows)) > 10, "something is drawn"
    assert plot("percentiles", f"again-{dpi}.png", "--dpi", str(dpi)) == made


def test_a_font_of_the_callers_is_in_the_pdf(plot) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    font = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
    assert b"DejaVuSans" in plot("percentiles", "other.pdf", "--font", str(font))
