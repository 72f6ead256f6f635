"""Files of other simulators."""

from pathlib import Path

import pytest

import ssdlab as sl

SAMPLES = Path(__file__).parents[2] / "crates" / "import" / "tests" / "import"


def test_an_import_is_that_of_the_command(tmp_path, command) -> None:
    path = SAMPLES / "page.parameters"
    old = sl.import_config(path)
    drive, notes = tmp_path / "drive.toml", tmp_path / "notes.json"
    printed = command("import", path, "-o", drive, "--notes", notes).decode()
    assert printed == old.text == str(old)
    assert (drive.read_text(), notes.read_text()) == (old.to_toml(), old.to_json())
    assert old["schema"] == "ssdlab.import/1" and old["counts"]["total"] == len(old["keys"])
    assert old.config["geometry.channels"] == 2 and old.config["timing.read"] == "20us"
    assert old.workload is None and old.workloads == {}
    assert repr(old).startswith("<ssdlab.Import of page.parameters (SSDsim): ")


def test_imported_requests_run() -> None:
    old = sl.import_config(SAMPLES / "simplessd.cfg", SAMPLES / "simplessd-load.cfg")
    assert list(old.workloads) == ["generator"] and old.workload == old.workloads["generator"]
    run = sl.run(old.config, workload=old.workload, progress=False)
    assert run.summary.requests.read + run.summary.requests.write == 256


def test_mistakes_are_errors_with_their_place(tmp_path) -> None:
    with pytest.raises(sl.UsageError, match="no file"):
        sl.import_config()
    with pytest.raises(sl.UsageError, match="expected auto, mqsim"):
        sl.import_config(SAMPLES / "ssd.conf", simulator="qemu")
    bad = tmp_path / "page.parameters"
    bad.write_text((SAMPLES / "page.parameters").read_text().replace("t_R = 20000", "t_R = -1"))
    with pytest.raises(sl.ConfigError, match="-1 is negative") as caught:
        sl.import_config(bad)
    assert caught.value.line == 21
