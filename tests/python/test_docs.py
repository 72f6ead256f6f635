"""Every snippet of the manual, the notebook and the README runs, and prints what the page shows.

The blocks of a page that are marked `python` run in order, in one namespace and an empty directory. A block marked `text` that
directly follows one is what it prints.
"""

import contextlib
import io
import re
import traceback
from importlib.util import find_spec

import pytest

from conftest import ROOT, absent

PAGES = ["README.md", "docs/python.md", "docs/notebooks/first-hour.md"]
LIBRARIES = ["numpy", "pandas", "polars", "pyarrow", "duckdb", "matplotlib", "altair", "gymnasium"]
BLOCK = re.compile(r"^```(\S+)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def snippets(text: str) -> list[tuple[int, str, str | None]]:
    """The line of each snippet in a page, the snippet, and what it prints, if the page shows that."""
    found, end = [], -1
    for block in BLOCK.finditer(text):
        if block[1] == "python":
            found.append((text.count("\n", 0, block.start(2)) + 1, block[2], None))
            end = block.end()
        elif block[1] == "text" and end >= 0 and not text[end : block.start()].strip():
            found[-1] = (*found[-1][:2], block[2])
    return found


def run_page(name: str, text: str) -> None:
    names: dict[str, object] = {"__name__": "__main__"}
    for line, code, expected in snippets(text):
        printed = io.StringIO()
        # Tracebacks name the line of the page.
        compiled = compile("\n" * (line - 1) + code, name, "exec")
        with contextlib.redirect_stdout(printed):
            try:
                exec(compiled, names)
            except Exception:
                pytest.fail(f"{name}:{line}\n{code}\n{traceback.format_exc()}", pytrace=False)
        if expected is not None:
            assert printed.getvalue() == expected, f"{name}:{line}"


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.filterwarnings("error")
def test_the_snippets_of_a_page_run(page: str, tmp_path, monkeypatch) -> None:
    missing = [library for library in LIBRARIES if find_spec(library) is None]
    if missing:
        absent(f"not installed: {', '.join(missing)}")
    import matplotlib.pyplot as plt

    monkeypatch.chdir(tmp_path)
    plt.switch_backend("agg")
    text = (ROOT / page).read_text()
    assert snippets(text), page
    with plt.rc_context():
        run_page(page, text)
    plt.close("all")


def test_wrong_pages_fail() -> None:
    page = "# A page\n\n```python\nx = 1\nprint(x)\n```\n\n```text\n{}\n```\n\n```python\nassert x == 1\n```\n"
    assert [line for line, _, _ in snippets(page)] == [4, 13]
    run_page("page.md", page.format(1))
    with pytest.raises(AssertionError, match="page.md:4"):
        run_page("page.md", page.format(2))
    with pytest.raises(pytest.fail.Exception, match="page.md:4"):
        run_page("page.md", page.replace("x = 1", "x = 1 / 0"))
