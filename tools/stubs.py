#!/usr/bin/env python3
"""Writes what python/ssdlab/_ssdlab.pyi shares with the module: members, parameters, defaults and manuals. Types are the file's own.

    python tools/stubs.py            # with the package installed (maturin develop --profile dev)
    python tools/stubs.py --check    # status 1 where the file is not what this would write

A member that the file lacks is added with the type `Any`, for which mypy's stubtest asks; one that the module lacks is dropped.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from pathlib import Path
from typing import Any

from ssdlab import _ssdlab as module

STUB = Path(__file__).parent.parent / "python" / "ssdlab" / "_ssdlab.pyi"
WIDTH = 120


class Stub:
    """A text and its changes, each of some of its lines."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.tree = ast.parse(text)
        self.changes: list[tuple[int, int, list[str]]] = []

    def source(self, node: ast.AST) -> str:
        """The text of a node, on one line."""
        return " ".join((ast.get_source_segment("\n".join(self.lines), node) or "").split())

    def written(self) -> str:
        """The text as it should be."""
        for node in self.tree.body:
            if isinstance(node, ast.ClassDef) and hasattr(module, node.name):
                self.a_class(node, getattr(module, node.name))
            elif isinstance(node, ast.FunctionDef):
                self.function(node, module, 0)
        lines = self.lines
        for first, last, new in sorted(self.changes, reverse=True):
            lines[first:last] = new
        return "\n".join(lines)

    def a_class(self, node: ast.ClassDef, owner: Any) -> None:
        known = set()
        first = node.body[0]
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            self.changes.append((first.lineno - 1, first.end_lineno or 0, manual(owner, 4)))
        for one in node.body:
            if isinstance(one, ast.FunctionDef):
                known.add(one.name)
                self.function(one, owner, 4)
            elif isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
                known.add(one.target.id)
        for name in vars(owner):
            if not name.startswith("_") and name not in known:
                self.changes.append((node.end_lineno or 0, node.end_lineno or 0, absent(name, owner)))

    def function(self, node: ast.FunctionDef, owner: Any, indent: int) -> None:
        """A function of the module or of a class: its head as it is unless its parameters differ, and its manual."""
        marks = [self.source(one) for one in node.decorator_list]
        start = min([node.lineno, *(one.lineno for one in node.decorator_list)]) - 1
        special = node.name.startswith("__")
        if not special and not hasattr(owner, node.name):
            self.changes.append((start, node.end_lineno or 0, []))
            return
        if special or "overload" in marks or any(mark.endswith(".setter") for mark in marks):
            return
        body = node.body[0]
        line, column = body.lineno - 1, body.col_offset
        if line == node.lineno - 1 or self.lines[line][:column].strip():
            head = [*self.lines[node.lineno - 1 : line], self.lines[line][:column].rstrip()]
        else:
            head = self.lines[node.lineno - 1 : line]
        thing = inspect.getattr_static(owner, node.name)
        thing = getattr(thing, "__func__", thing)
        if "property" not in marks and self.differs(node, thing):
            head = self.head(node, thing, indent)
        told = manual(thing, indent + 4)
        text = [*head, *told] if told else [*head[:-1], head[-1] + " ..."]
        self.changes.append((node.lineno - 1, node.end_lineno or 0, text))

    def given(self, node: ast.FunctionDef) -> list[tuple[str, str, str]]:
        """Name, mark and default of the parameters that the file has, without self and cls."""
        all = node.args
        defaults = [None] * (len(all.posonlyargs) + len(all.args) - len(all.defaults)) + list(all.defaults)
        plain = [(one, "" if one in all.args else "/") for one in [*all.posonlyargs, *all.args]]
        found = [(one.arg, mark, self.source(default) if default else "") for (one, mark), default in zip(plain, defaults)]
        found += [(all.vararg.arg, "*args", "")] if all.vararg else []
        found += [(one.arg, "*", self.source(default) if default else "") for one, default in zip(all.kwonlyargs, all.kw_defaults)]
        found += [(all.kwarg.arg, "**", "")] if all.kwarg else []
        return [one for one in found if one[0] not in ("self", "cls")]

    def differs(self, node: ast.FunctionDef, thing: Any) -> bool:
        own = parameters(thing)
        return own is not None and [(one.name, MARKS[one.kind], default(one)) for one in own] != self.given(node)

    def head(self, node: ast.FunctionDef, thing: Any, indent: int) -> list[str]:
        """The lines of a function with the module's parameters and defaults, and the types of the file."""
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
        types = {one.arg: self.source(one.annotation) for one in arguments if one and one.annotation}
        parts = [one.arg for one in arguments if one and one.arg in ("self", "cls")]
        own = parameters(thing) or []
        for before, one in zip([None, *own], own):
            if before and before.kind == one.POSITIONAL_ONLY != one.kind:
                parts.append("/")
            if one.kind == one.KEYWORD_ONLY and (not before or before.kind not in (one.KEYWORD_ONLY, one.VAR_POSITIONAL)):
                parts.append("*")
            stars = MARKS[one.kind].replace("*args", "*") if "*" in MARKS[one.kind] and one.kind != one.KEYWORD_ONLY else ""
            parts.append(f"{stars}{one.name}: {types.get(one.name, 'Any')}" + (f" = {default(one)}" if default(one) else ""))
        if own and own[-1].kind == own[-1].POSITIONAL_ONLY:
            parts.append("/")
        returned = f" -> {self.source(node.returns) if node.returns else 'Any'}:"
        line = f"{' ' * indent}def {node.name}({', '.join(parts)}){returned}"
        if len(line) + 4 <= WIDTH:
            return [line]
        inner = [f"{' ' * (indent + 4)}{part}," for part in parts]
        return [f"{' ' * indent}def {node.name}(", *inner, f"{' ' * indent}){returned}"]


MARKS = {
    inspect.Parameter.POSITIONAL_ONLY: "/",
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "",
    inspect.Parameter.VAR_POSITIONAL: "*args",
    inspect.Parameter.KEYWORD_ONLY: "*",
    inspect.Parameter.VAR_KEYWORD: "**",
}


def parameters(thing: Any) -> list[inspect.Parameter] | None:
    """The parameters of a function, without self and cls; none where the module does not say them."""
    try:
        return [one for one in inspect.signature(thing).parameters.values() if one.name not in ("self", "cls")]
    except (TypeError, ValueError):
        return None


def default(one: inspect.Parameter) -> str:
    """The default as the file has it."""
    if one.default is one.empty:
        return ""
    return f'"{one.default}"' if isinstance(one.default, str) else repr(one.default)


def manual(thing: Any, indent: int) -> list[str]:
    """The docstring as lines of the file; none if there is none."""
    text = inspect.cleandoc(getattr(thing, "__doc__", None) or "").replace("\\", "\\\\")
    if not text:
        return []
    ends = '"""' if "\n" not in text and not text.endswith('"') else '\n"""'
    return textwrap.indent(f'"""{text}{ends}', " " * indent).split("\n")


def absent(name: str, owner: Any) -> list[str]:
    """A member that the file does not have yet."""
    thing = inspect.getattr_static(owner, name)
    is_function = callable(getattr(thing, "__func__", thing))
    start = Stub(f"def {name}(self) -> Any: ...")
    node = start.tree.body[0]
    assert isinstance(node, ast.FunctionDef)
    lines = start.head(node, thing, 4) if is_function else ["    @property", f"    def {name}(self) -> Any:"]
    told = manual(thing, 8)
    return [*lines, *told] if told else [*lines[:-1], lines[-1] + " ..."]


def main() -> int:
    before = STUB.read_text()
    after = Stub(before).written()
    if "--check" not in sys.argv[1:]:
        STUB.write_text(after)
        return 0
    if before != after:
        print(f"{STUB.name} is not what the module says: run python tools/stubs.py")
    return int(before != after)


if __name__ == "__main__":
    sys.exit(main())
