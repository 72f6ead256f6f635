"""What the tests share: the command that cargo builds, recordings, and small configurations."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import ssdlab as sl

ROOT = Path(__file__).resolve().parents[2]
# What stands beside a script of a user.
sys.path.append(str(ROOT / "examples"))


def absent(what: str) -> None:
    """Skips a test that needs something; with SSDLAB_PYTHON=1 that is a failure."""
    if os.environ.get("SSDLAB_PYTHON") == "1":
        pytest.fail(what)
    pytest.skip(what)


def once(temporary: pytest.TempPathFactory, name: str, fill: Callable[[Path], None]) -> Path:
    """A directory that one process of the session fills; the others wait until it has."""
    parallel = "PYTEST_XDIST_WORKER" in os.environ
    place = (temporary.getbasetemp().parent if parallel else temporary.getbasetemp()) / name
    full, failed = place.with_suffix(".full"), place.with_suffix(".failed")
    try:
        place.mkdir()
    except FileExistsError:
        while not full.exists():
            assert not failed.exists(), f"{name}: another process failed to fill it"
            time.sleep(0.05)
        return place
    try:
        fill(place)
    except BaseException:
        failed.touch()
        raise
    full.touch()
    return place


@pytest.fixture(scope="session")
def binary() -> Path:
    """The command that cargo builds. The runner names it; by hand, it is the newest in the target directory."""
    if named := os.environ.get("SSDLAB_BINARY"):
        return Path(named)
    built = [path for kind in ("debug", "release") if (path := ROOT / "target" / kind / "ssdlab").exists()]
    if not built:
        absent("no ssdlab binary: cargo build -p ssdlab")
    return max(built, key=lambda path: path.stat().st_mtime)


@pytest.fixture(scope="session")
def command(binary: Path):
    """Runs the command and returns what it printed; it must succeed."""

    def call(*arguments: object, cwd: Path | None = None) -> bytes:
        done = subprocess.run([binary, *map(str, arguments)], capture_output=True, cwd=cwd, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    return call


@pytest.fixture(scope="session")
def traces() -> Path:
    """The directory of recordings."""
    path = Path(os.environ.get("SSDLAB_TRACES", ROOT.parent / "shared" / "traces"))
    if not path.is_dir():
        pytest.skip("no recordings: set SSDLAB_TRACES")
    return path


@pytest.fixture(scope="session")
def small() -> sl.Config:
    """A device that is filled in a moment."""
    return sl.Config().set(
        {"geometry.blocks_per_plane": 32, "precondition.mode": "random", "device.over_provisioning": 0.2}
    )


def python(*arguments: str, env: dict[str, str] | None = None, **more) -> subprocess.CompletedProcess:
    """Runs this Python."""
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env={**os.environ, **(env or {})}, check=False, **more
    )


timing = pytest.mark.skipif(
    os.environ.get("SSDLAB_TIMING") != "1", reason="measures time: set SSDLAB_TIMING=1 on an idle machine"
)
