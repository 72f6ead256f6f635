"""Bundles of studies whose policies are written in Python: they travel as source, and run only if that is allowed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

STUDY = """schema = "ssdlab.study/1"
name = "small"
[base]
set = { "precondition.mode" = "random", "geometry.blocks_per_plane" = 16, "geometry.channels" = 1, "device.over_provisioning" = 0.2 }
[input]
workload = "quickstart"
limit = 2000
[axes]
"gc.threshold" = ["3 blocks", "4 blocks"]
[repeat]
seeds = 2
"""
# Whoever imports it leaves a mark, where the environment says so.
LIST = """\"\"\"Two policies.\"\"\"

import os

import ssdlab as sl
from own import helper

if mark := os.environ.get("SSDLAB_TEST_MARK"):
    open(mark, "a").close()


class Nth(sl.Victim):
    \"\"\"Fewest valid pages, then the nth of them.\"\"\"

    def __init__(self, n):
        self.n = n

    def pick(self, view):
        return helper.least(view.valid, self.n) if view.closed else None


class Early(sl.Trigger):
    after = "1ms"

    def due(self, view):
        return view.free_pages < view.pages_per_plane // 10 and (view.least_valid or 0) < view.pages_per_block // 2
"""
HELPER = """def least(valid, n):
    few = sorted(range(len(valid)), key=lambda at: (valid[at], at))
    return few[min(n, len(few) - 1) if valid[few[min(n, len(few) - 1)]] == valid[few[0]] else 0]
"""
SWEEP = """import sys

import ssdlab as sl

sys.path.insert(0, "code")
import mine

sl.sweep("study.toml", "results", victim=mine.Nth(1), trigger=mine.Early(), progress=False)
"""


def ends(status: int, *arguments: object, cwd: Path, program: object = None, **variables: str) -> str:
    """Runs the command, which has to end with a status; what it says, in one line."""
    command = [program] if program else [sys.executable, "-P", "-m", "ssdlab"]
    done = subprocess.run(
        [*command, *map(str, arguments)], cwd=cwd, env={**os.environ, **variables}, capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stdout + done.stderr
    return " ".join((done.stdout + done.stderr).split())


def lab(folder: Path) -> Path:
    """A folder with a study, its policies and the store of its runs."""
    (folder / "code/own").mkdir(parents=True)
    (folder / "study.toml").write_text(STUDY)
    (folder / "code/mine.py").write_text(LIST)
    (folder / "code/own/__init__.py").write_text("")
    (folder / "code/own/helper.py").write_text(HELPER)
    (folder / "sweep.py").write_text(SWEEP)
    subprocess.run([sys.executable, "-P", "sweep.py"], cwd=folder, check=True)
    return folder


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = lab(tmp_path_factory.mktemp("lab"))
    ends(0, "bundle", "make", "study.toml", "--store", "results", "-o", "b", cwd=folder)
    return (folder / "b").read_bytes()


@pytest.fixture
def shipped(bundle: bytes, tmp_path: Path) -> Path:
    """An empty folder with the bundle alone."""
    (tmp_path / "b").write_bytes(bundle)
    return tmp_path


def test_sources_travel_and_are_listed(shipped):
    said = ends(0, "bundle", "show", "b", cwd=shipped)
    assert "victim is mine:Nth, state {'n': 1}" in said and "trigger is mine:Early, state None" in said
    inside = "store/studies/small/policies"
    assert all(f"{inside}/{name}, SHA-256 " in said for name in ("mine.py", "own/__init__.py", "own/helper.py"))
    ends(0, "bundle", "extract", "b", "--into", "x", cwd=shipped)
    assert (shipped / "x" / inside / "mine.py").read_text() == LIST
    assert (shipped / "x" / inside / "own/helper.py").read_text() == HELPER
    page = (shipped / "x/README.md").read_text()
    manifest = json.loads((shipped / "x/manifest.json").read_text())
    digests = {file["path"]: file["sha256"] for file in manifest["files"]}
    assert all(digests[path] in page for path in manifest["policies"][0]["sources"])
    assert "--allow-code" in page and "sweep plan" not in page
    assert "pickle" not in (shipped / "x" / inside / "policies.json").read_text().replace('"pickled"', "")


@pytest.mark.parametrize("face", ["package", "program"])
def test_nothing_runs_unless_that_is_allowed(face, shipped, binary):
    program = binary if face == "program" else None
    mark = shipped / "mark"
    said = ends(1, "bundle", "verify", "b", "--points", "all", cwd=shipped, program=program, SSDLAB_TEST_MARK=str(mark))
    assert "2 points not run again: their policies are code" in said and "--allow-code" in said
    assert "2 policies, whose classes and states are those of the keys; 3 sources" in said
    assert "FAIL" not in said and said.count("pass: ") == 7
    assert not mark.exists()
    more = ("--allow-code", "--python", sys.executable) if program else ("--allow-code",)
    said = ends(0, "bundle", "verify", "b", "--points", "all", *more, cwd=shipped, program=program, SSDLAB_TEST_MARK=str(mark))
    assert "2 points of 2; 2 have the bytes of their records" in said
    assert mark.exists() and sorted(path.name for path in shipped.iterdir()) == ["b", "mark"]


def test_an_interpreter_without_the_package_is_named(shipped, binary):
    wanted = ("bundle", "verify", "b", "--allow-code", "--python")
    said = ends(1, *wanted, "./no-python", cwd=shipped, program=binary)
    assert "there is no ./no-python" in said and "with pip" in said
    bare = shipped / "bare"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    bare.chmod(0o755)
    if subprocess.run([bare, "-c", "import ssdlab"], capture_output=True, check=False).returncode:
        assert "No module named" in ends(1, *wanted, "./bare", cwd=shipped, program=binary)
    said = ends(2, "bundle", "verify", "b", "--python", "x", cwd=shipped, program=binary)
    assert "--allow-code" in said


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("mine.py", "the nth of them", "the Nth of them"),
        ("policies.json", "{'n': 1}", "{'n': 2}"),
        ("own/helper.py", "(valid[at], at)", "(valid[at], -at)"),
    ],
)
def test_a_changed_source_is_refused(file, old, new, tmp_path):
    folder = lab(tmp_path)
    kept = folder / "results/studies/small/policies" / file
    text = kept.read_text()
    changed = text.replace(old, new)
    assert changed != text
    kept.write_text(changed)
    make = ("bundle", "make", "study.toml", "--store", "results", "-o", "b")
    if file == "mine.py":
        # The class is part of the keys.
        said = ends(3, *make, cwd=folder)
        assert "the sources or states are not those that the runs had" in said
        return
    # Only a run shows what else has changed: another state is another policy, another helper gives other results.
    ends(0, *make, cwd=folder)
    ends(1, "bundle", "verify", "b", cwd=folder)
    said = ends(1 if file == "policies.json" else 5, "bundle", "verify", "b", "--points", "all", "--allow-code", cwd=folder)
    assert ("not those of the records" if file == "policies.json" else "the record has other bytes") in said


def test_the_last_sweep_says_which_policies_a_study_has(tmp_path, binary):
    folder = lab(tmp_path)
    for program in (None, binary):
        said = ends(0, "sweep", "status", "study.toml", "--store", "results", cwd=folder, program=program)
        assert "done 2," in said and "left 0," in said
        said = ends(0, "sweep", "table", "study.toml", "--store", "results", "-o", "t.csv", cwd=folder, program=program)
        assert "no result yet" not in said
    assert len((folder / "t.csv").read_text().splitlines()) == 5
    ends(0, "sweep", "run", "study.toml", "--store", "results", "--quiet", cwd=folder)
    ends(0, "bundle", "make", "study.toml", "--store", "results", "-o", "plain", cwd=folder)
    assert "policy" not in ends(0, "bundle", "show", "plain", cwd=folder)
    ends(0, "bundle", "verify", "plain", cwd=folder)
    subprocess.run([sys.executable, "-P", "sweep.py"], cwd=folder, check=True)
    ends(0, "bundle", "make", "study.toml", "--store", "results", "-o", "with", cwd=folder)
    assert "mine:Nth" in ends(0, "bundle", "show", "with", cwd=folder)


@pytest.mark.parametrize(
    ("new", "why"),
    [
        ("sl.sweep('study.toml', 'results', victim=type('Local', (mine.Nth,), {})(1), progress=False)", None),
        (
            "class Own(mine.Nth):\n    pass\nsl.sweep('study.toml', 'results', victim=Own(1), progress=False)",
            "in a script, a notebook or a function",
        ),
        (
            "policy = mine.Nth(1)\npolicy.n = mine.helper.Odd(1)\nsl.sweep('study.toml', 'results', victim=policy, progress=False)",
            "is not plain values",
        ),
    ],
)
def test_what_can_not_be_made_again_is_not_packed(new, why, tmp_path):
    (tmp_path / "code/own").mkdir(parents=True)
    (tmp_path / "study.toml").write_text(STUDY.replace("seeds = 2", "seeds = 1"))
    (tmp_path / "code/mine.py").write_text(LIST)
    (tmp_path / "code/own/__init__.py").write_text("")
    (tmp_path / "code/own/helper.py").write_text(HELPER + "\n\nclass Odd(int):\n    pass\n")
    (tmp_path / "sweep.py").write_text(SWEEP.rsplit("\n\n", 1)[0] + "\n" + new + "\n")
    done = subprocess.run([sys.executable, "-P", "sweep.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    if why is None:
        assert "can't be read" in done.stderr
        return
    assert done.returncode == 0, done.stderr
    said = ends(2, "bundle", "make", "study.toml", "--store", "results", "-o", "b", cwd=tmp_path)
    assert why in said and not (tmp_path / "b").exists()


def test_own_files_are_found_and_installed_packages_are_named(tmp_path, monkeypatch):
    from ssdlab._bundled import _sources

    (tmp_path / "outer/inner").mkdir(parents=True)
    (tmp_path / "first.py").write_text(
        "import json, pytest, ssdlab\nfrom outer.inner import second\n\ndef later():\n    import absent, outer.third\n"
    )
    # `outer` is a folder without a file of its own.
    (tmp_path / "outer/inner/__init__.py").write_text("")
    (tmp_path / "outer/inner/second.py").write_text("from ..third import x\nfrom . import second\n")
    (tmp_path / "outer/third.py").write_text("import first\nx = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    files, needs = _sources(["first"])
    assert list(files) == ["first", "outer.inner", "outer.inner.second", "outer.third"]
    assert [path for path, _ in files.values()] == ["first.py", "outer/inner/__init__.py", "outer/inner/second.py", "outer/third.py"]
    assert needs == {"pytest": pytest.__version__}
    assert "outer.third" not in sys.modules, "nothing of it is run"
