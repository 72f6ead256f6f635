"""The package as it is installed."""

import os
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest

import ssdlab as sl
from conftest import ROOT, python, timing

TESTS = Path(__file__).parent


def test_every_name_is_documented_and_exported() -> None:
    from ssdlab import _ssdlab

    for name in sl.__all__:
        assert name == "__version__" or getattr(sl, name).__doc__, name
    hidden = {"main_from"}
    public = {name for name in vars(_ssdlab) if not name.startswith("_")}
    assert public - hidden <= set(sl.__all__)


def test_import_needs_no_library() -> None:
    code = "import sys; [sys.modules.__setitem__(name, None) for name in ('numpy', 'pandas', 'polars', 'pyarrow')]; import ssdlab"
    done = python("-c", code + "; print(len(ssdlab.run(workload='quickstart', limit=10, requests=True).requests))")
    assert (done.stdout, done.stderr) == ("10\n", "")


def test_signatures_have_the_defaults_of_the_manual() -> None:
    import inspect

    for function in (sl.run, sl.compare):
        defaults = {name: given.default for name, given in inspect.signature(function).parameters.items()}
        assert (defaults["seed"], defaults["loop"], defaults["time_scale"], defaults["progress"]) == (1, 1, 1, "auto")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--version"],
        ["presets"],
        ["schemes", "greedy"],
        ["config", "show", "--preset", "pagc"],
        ["run", "--workload", "quickstart", "--limit", "1000", "--quiet"],
        ["run", "--workload", "quick"],
        ["run", "--trace", "none.csv"],
        ["run", "--workload", "quickstart", "--json"],
        ["config", "show", "--set", "geometry.channels=0"],
        ["--help"],
    ],
    ids=lambda arguments: " ".join(arguments),
)
def test_the_command_is_the_same(arguments: list[str], binary: Path, tmp_path: Path) -> None:
    ours = subprocess.run([sys.executable, "-m", "ssdlab", *arguments], capture_output=True, cwd=tmp_path, check=False)
    theirs = subprocess.run([binary, *arguments], capture_output=True, cwd=tmp_path, check=False)
    assert (ours.returncode, ours.stdout, ours.stderr) == (theirs.returncode, theirs.stdout, theirs.stderr)


def test_the_script_is_the_command() -> None:
    script = Path(sys.executable).parent / ("ssdlab.exe" if os.name == "nt" else "ssdlab")
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=False)
    assert done.stdout == f"ssdlab {sl.__version__}\n"


def test_the_wheel_is_small() -> None:
    if wheel := os.environ.get("SSDLAB_WHEEL"):
        assert Path(wheel).stat().st_size < 12_000_000
    else:
        pytest.skip("no released wheel: SSDLAB_WHEEL is not set")


@timing
def test_import_is_fast() -> None:
    def one() -> float:
        start = time.monotonic()
        python("-c", "import ssdlab")
        with_it = time.monotonic() - start
        start = time.monotonic()
        python("-c", "pass")
        return with_it - (time.monotonic() - start)

    assert min(one() for _ in range(5)) < 0.08


def test_free_threading_stays_on() -> None:
    if not hasattr(sys, "_is_gil_enabled"):
        pytest.skip("this Python always has the lock")
    if os.environ.get("PYTHON_GIL") != "0":
        pytest.skip("needs a free-threaded Python with PYTHON_GIL=0")
    assert not sys._is_gil_enabled()


def test_stubs_are_true() -> None:
    pytest.importorskip("mypy")
    given = ["--allowlist", str(TESTS / "stubtest.txt"), "--mypy-config-file", str(TESTS / "stubtest.ini")]
    done = python("-m", "mypy.stubtest", "ssdlab", *given, "--ignore-unused-allowlist")
    assert done.returncode == 0, done.stdout


def test_stubs_are_those_of_the_module() -> None:
    done = python(str(ROOT / "tools" / "stubs.py"), "--check")
    assert done.returncode == 0, done.stdout


CHECKERS = {
    "mypy": ["mypy", "--strict", "--config-file", str(TESTS / "typing.ini")],
    "pyright": ["pyright", "--pythonpath", sys.executable],
}


@pytest.mark.parametrize("checker", CHECKERS.values(), ids=CHECKERS)
def test_scripts_of_users_are_typed(checker: list[str]) -> None:
    pytest.importorskip("mypy")
    scripts = sorted(map(str, TESTS.glob("typing_*.py")))
    assert scripts
    done = python("-m", *checker, *scripts, cwd=TESTS)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_path_of_the_build_is_in_the_stubs() -> None:
    text = (ROOT / "python" / "ssdlab" / "_ssdlab.pyi").read_text()
    assert "/home" not in text and "/tmp" not in text


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has a global lock")
def test_the_module_leaves_the_global_lock_off() -> None:
    done = python("-c", "import sys, ssdlab; print(sys._is_gil_enabled())", env={"PYTHON_GIL": ""})
    assert done.stdout == "False\n", done.stderr


def functions() -> dict[str, object]:
    """Every public function, and every public method of a public class."""
    found: dict[str, object] = {}
    for name in sl.__all__:
        thing = getattr(sl, name)
        if isinstance(thing, type):
            found |= {f"{name}.{own}": getattr(thing, own) for own in vars(thing) if not own.startswith("_")}
        elif callable(thing):
            found[name] = thing
    drawn = ["cdf", "percentiles", "causes", "series", "wear", "gantt"]
    found |= {f"plot.{name}": getattr(sl.plot, name) for name in drawn}
    return {name: thing for name, thing in found.items() if callable(thing)}


def test_manuals_name_every_parameter() -> None:
    import inspect
    import re

    absent = []
    for name, function in functions().items():
        parameters = set(inspect.signature(function).parameters) - {"self"}
        manual = function.__doc__ or ""
        absent += [f"{name}: {parameter}" for parameter in sorted(parameters) if not re.search(rf"`{parameter}\b", manual)]
    device = set(inspect.signature(sl.Device).parameters)
    absent += [f"Device: {parameter}" for parameter in sorted(device) if f"`{parameter}`" not in (sl.Device.__doc__ or "")]
    assert not absent, "\n".join(absent)
    assert len(inspect.signature(sl.run).parameters) > 27 < len((sl.run.__doc__ or "").splitlines())
