"""The example scripts. They take minutes, and one needs stable-baselines3, so they run with SSDLAB_EXAMPLES=1 only."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.skipif(os.environ.get("SSDLAB_EXAMPLES") != "1", reason="takes minutes: set SSDLAB_EXAMPLES=1")
@pytest.mark.parametrize("name", ["dqn.py", "linear_agent.py"])
def test_an_example_runs(name: str, tmp_path: Path) -> None:
    if name == "dqn.py":
        pytest.importorskip("stable_baselines3")
    done = subprocess.run(
        [sys.executable, "-P", str(EXAMPLES / name)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "greedy" in done.stdout
