"""Policies written in Python in stores and bundles: what a store keeps of them, and how `ssdlab bundle verify --allow-code` runs them.

A store keeps the files that define a policy and its state as text. Nothing is pickled: who reads the files has seen all that would run.
"""

from __future__ import annotations

import ast
import copyreg
import importlib
import importlib.util
import inspect
import json
import pickle
import platform
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

from ssdlab._ssdlab import UsageError, __version__, _policy_record, _Study
from ssdlab.policy import Trigger, Victim, _identity

SCHEMA = "ssdlab.policies/1"


class _Unfit(Exception):
    """Why a policy can't be made again elsewhere."""


def _spec(name: str) -> ModuleSpec | None:
    """How a module is found; none if it is not."""
    try:
        return getattr(sys.modules.get(name), "__spec__", None) or importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None


def _installed(name: str) -> bool | None:
    """Whether a top module is installed, or else the user's own; none for those of Python and of this package, and for no module."""
    spec = None if name in (*sys.stdlib_module_names, "ssdlab") else _spec(name)
    if spec is None:
        return None
    places = [spec.origin] if spec.has_location else list(spec.submodule_search_locations or [])
    return any({"site-packages", "dist-packages"} & set(Path(place).parts) for place in places if place)


def _own(name: str) -> Path | None:
    """The file of a module of the user's own. Installed packages are not imported for it."""
    if _installed(name.partition(".")[0]) is not False:
        return None
    spec = _spec(name)
    file = spec.origin if spec is not None and spec.has_location else None
    return Path(file) if file is not None and file.endswith(".py") else None


def _imports(name: str, package: bool, text: str) -> set[str]:
    """Modules that a source imports, wherever it does, and the packages that they are in."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = name.split(".") if package else name.split(".")[:-1]
                parts = parts[: len(parts) - node.level + 1]
                base = ".".join(filter(None, [*parts, node.module]))
            names.add(base)
            names.update(f"{base}.{alias.name}" for alias in node.names)
    dotted = [name.split(".") for name in names | {name}]
    return {".".join(own[:i]) for own in dotted for i in range(1, len(own) + 1)}


def _sources(modules: list[str]) -> tuple[dict[str, tuple[str, str]], dict[str, str | None]]:
    """By module, the path and the text of each file that these modules need, and the versions of installed modules among these."""
    files: dict[str, tuple[str, str]] = {}
    needs: dict[str, str | None] = {}
    left, seen = list(modules), set(modules)
    while left:
        name = left.pop()
        place = _own(name)
        if place is None:
            if "." not in name and _installed(name):
                needs[name] = str(getattr(sys.modules.get(name), "__version__", "")) or None
            continue
        package = place.name == "__init__.py"
        try:
            text = place.read_bytes().decode()
        except (OSError, UnicodeDecodeError) as error:
            raise _Unfit(f"{place.name} can't be read as UTF-8: {error}") from error
        files[name] = (name.replace(".", "/") + ("/__init__.py" if package else ".py"), text)
        new = _imports(name, package, text) - seen
        seen |= new
        left += sorted(new)
    return dict(sorted(files.items())), dict(sorted(needs.items()))


def _classes(policy: object) -> list[type]:
    """The classes that tell a policy apart: see `_identity`."""
    return [cls for cls in type(policy).__mro__ if cls is not object and cls.__module__.split(".")[0] != "ssdlab"]


def _rebuilt(cls: type, state: Any) -> Any:
    """An object of a class with a state, as a copy would have it."""
    policy = copyreg.__newobj__(cls)  # type: ignore[attr-defined]
    if state is None:
        return policy
    if hasattr(policy, "__setstate__"):
        policy.__setstate__(state)
        return policy
    attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    policy.__dict__.update(attributes or {})
    for name, value in (slots or {}).items():
        setattr(policy, name, value)
    return policy


def _state(policy: object) -> str:
    """The state of a policy as the text of a literal, from which an equal policy can be made."""
    text = repr(policy.__getstate__())
    try:
        same = _identity(_rebuilt(type(policy), ast.literal_eval(text))) == _identity(policy)
    except Exception:
        same = False
    if not same:
        raise _Unfit(
            f"the state of {type(policy).__qualname__} is not plain values (numbers, texts, True, None; lists, tuples and dicts of "
            "them): give the class a method __getstate__ that returns such values, and __setstate__ that takes them"
        )
    return text


def _part(slot: str, policy: Any, files: dict[str, tuple[str, str]]) -> dict[str, Any]:
    """A policy in the list of a store: what makes it again, and what its identity is computed from."""
    classes = []
    for cls in _classes(policy):
        lines, first = inspect.getsourcelines(cls)
        path, text = files[cls.__module__]
        if (text + "\n").split("\n")[first - 1 :][: len(lines)] != [line.rstrip("\n") for line in lines]:
            raise _Unfit(f"{path} has changed since {cls.__module__} was imported")
        name = f"{cls.__module__}:{cls.__qualname__}"
        classes.append({"name": name, "file": path, "line": first, "lines": len(lines)})
    record, after = _policy_record(policy, slot)
    state = pickle.dumps(policy.__getstate__(), protocol=4)
    return {
        "slot": slot,
        "class": f"{type(policy).__module__}:{type(policy).__qualname__}",
        "state": _state(policy),
        "pickled": state.hex(),
        "record": record,
        "after_ns": after,
        "classes": classes,
    }


def _kept(victim: Victim | None, trigger: Trigger | None, identity: str) -> list[tuple[str, bytes]]:
    """The files that a store keeps of policies: their sources, then the list. If they can't be made again, the list says why."""
    given = [(slot, policy) for slot, policy in (("victim", victim), ("trigger", trigger)) if policy is not None]
    listed: dict[str, Any] = {"schema": SCHEMA, "identity": identity, "python": platform.python_version()}
    files: dict[str, tuple[str, str]] = {}
    try:
        modules = []
        for cls in (cls for _, policy in given for cls in _classes(policy)):
            name = f"{cls.__module__}:{cls.__qualname__}"
            if cls.__module__ == "__main__" or "<locals>" in cls.__qualname__:
                raise _Unfit(f"{name} is defined in a script, a notebook or a function: define it at the top of a module of its own")
            if _own(cls.__module__) is None:
                raise _Unfit(f"the base class {name} is not in a file of your own, so its source can't travel")
            modules.append(cls.__module__)
        files, needs = _sources(modules)
        parts = [_part(slot, policy, files) for slot, policy in given]
        listed |= {"why_not": None, "needs": needs, "policies": parts, "sources": [path for path, _ in files.values()]}
    except _Unfit as why:
        files = {}
        listed |= {"why_not": str(why), "needs": {}, "policies": [], "sources": []}
    text = json.dumps(listed, indent=2, ensure_ascii=False) + "\n"
    return [*((path, text.encode()) for path, text in files.values()), ("policies.json", text.encode())]


def _policies(folder: Path) -> tuple[dict[str, Any], str]:
    """Imports the sources of a folder, and makes its policies by slot; their identity has to be the one that is listed."""
    listed = json.loads((folder / "policies.json").read_text(encoding="utf-8"))
    for module, version in listed["needs"].items():
        if importlib.util.find_spec(module) is None:
            said = f"{module} {version}" if version else module
            raise UsageError(f"the policies need {said}, which this Python has not: install it with pip")
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(folder))
    made: dict[str, Any] = {}
    for part in listed["policies"]:
        module, _, name = part["class"].partition(":")
        cls: Any = importlib.import_module(module)
        for step in name.split("."):
            cls = getattr(cls, step)
        made[part["slot"]] = _rebuilt(cls, ast.literal_eval(part["state"]))
    identity = _identity(*made.values())
    if identity != listed["identity"]:
        raise UsageError("the policies that the sources make are not those of the records")
    return made, identity


def _run(task: dict[str, Any]) -> None:
    """Runs points of a study with the policies of a folder, into a store."""
    if task["version"] != __version__:
        raise UsageError(f"it has ssdlab {__version__}, not {task['version']}")
    study = _Study.open(task["study"], None)._again(task["choices"])
    made, identity = _policies(Path(task["policies"]))
    study = study.with_policies(made.get("victim"), made.get("trigger"), identity, [])
    study.run(
        task["store"],
        jobs=task["jobs"],
        shard=None,
        time_limit=None,
        retry=None,
        claim=False,
        check=task["check"],
        memory_limit=None,
        fill_cache=None,
        progress=False,
    )


def _main() -> None:
    """Runs the task on standard input. If that fails, the last line on standard error is the reason."""
    try:
        _run(json.load(sys.stdin))
    except Exception as error:
        sys.exit(f"{type(error).__name__}: {' '.join(str(error).split())}")


if __name__ == "__main__":
    _main()
