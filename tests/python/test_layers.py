"""Files of the extension module use only files below them."""

import re
from graphlib import TopologicalSorter
from pathlib import Path


def test_imports_of_the_extension_have_no_circle():
    source = Path(__file__).parents[2] / "crates/python/src"
    used = {path.stem: set(re.findall(r"\bcrate::(\w+)", path.read_text())) for path in source.glob("*.rs")}
    assert {"run", "why", "watch"} <= used.keys() and "watch" in used["run"]
    known = {name: uses & used.keys() for name, uses in used.items() if name != "lib"}
    assert len(list(TopologicalSorter(known).static_order())) == len(known)
