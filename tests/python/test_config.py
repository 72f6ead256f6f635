"""Configurations."""

import copy
import pickle
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

import ssdlab as sl


def test_values_are_those_of_the_command_line() -> None:
    cfg = sl.Config()
    assert cfg["timing.read"] == "50us" and cfg["geometry.channels"] == 8 and cfg["timing.copyback"] is None
    assert cfg["geometry"]["page_size"] == "4KiB"
    assert cfg.capacity_bytes == 15461777408
    changed = cfg.set("gc.threshold", "5 blocks").set({"schemes.victim": "fifo", "geometry": {"channels": 4}})
    assert (changed["gc.threshold"], changed["geometry.channels"], changed["geometry.page_size"]) == ("5 blocks", 4, "4KiB")
    assert cfg["geometry.channels"] == 8, "a configuration never changes"


def test_the_digest_is_that_of_the_summary(small: sl.Config) -> None:
    assert sl.run(small, workload="quickstart", limit=100).summary["config_digest"] == small.digest
    # The contract's digest of the defaults with these two keys.
    both = sl.Config().set({"precondition.mode": "random", "geometry.blocks_per_plane": 64})
    assert both.digest == "d2b86475cded1cf6fbad6be19cd8c42552f2b1bd8cba8166a35eb969b221a23d"


def test_nested_tables_merge_and_knobs_stay() -> None:
    cfg = sl.Config.preset("composed")
    knobs = cfg["schemes.collector"]["idle-chip"]
    merged = cfg.set({"schemes": {"collector": {"idle-chip": {"absorb": False}}}})
    assert merged["schemes.collector"]["idle-chip"] == {**knobs, "absorb": False}
    assert merged == cfg.set("schemes.collector.idle-chip.absorb", False) != cfg


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (timedelta(microseconds=30), "30us"),
        (timedelta(milliseconds=1, microseconds=500), "1500us"),
        (np.timedelta64(30, "us"), "30us"),
        ("30us", "30us"),
        (["30us", "60us"], ["30us", "60us"]),
    ],
)
def test_durations(value: object, text: object) -> None:
    assert sl.Config().set("timing.read", value)["timing.read"] == text


@pytest.mark.parametrize("value", [4, np.int64(4), np.uint8(4), np.int32(4)])
def test_numbers_of_numpy_are_numbers(value: object) -> None:
    assert sl.Config().set("geometry.channels", value) == sl.Config().set("geometry.channels", 4)


def test_floats_and_flags() -> None:
    assert sl.Config().set("gc.threshold", np.float32(0.0625)) == sl.Config().set("gc.threshold", 0.0625)
    assert sl.Config().set("device.multi_plane", np.True_)["device.multi_plane"] is True


def test_texts_that_look_like_numbers_stay_texts() -> None:
    with pytest.raises(sl.ConfigError):
        sl.Config().set("geometry.channels", "4")


@pytest.mark.parametrize("value", [{1, 2}, object(), b"fifo", 1j, timedelta(seconds=-1), np.arange(3), 2**70])
def test_other_values_are_refused(value: object) -> None:
    with pytest.raises(sl.ConfigError) as caught:
        sl.Config().set("geometry.channels", value)
    assert caught.value.key == "geometry.channels"


def within(levels: int, make, value: object = 4) -> object:
    """A value inside so many others."""
    for _ in range(levels):
        value = make(value)
    return value


def endless(make) -> object:
    """A value that contains itself."""
    if make is dict:
        value: dict = {}
        value["a"] = value
        return value
    if make is list:
        items: list = [1]
        items.append(items)
        return items
    array = np.empty((), object)
    array[()] = array
    return array


DEEP = {
    "dict in itself": lambda: endless(dict),
    "list in itself": lambda: endless(list),
    "array in itself": lambda: endless(np.ndarray),
    "dict in list in itself": lambda: [{"a": endless(dict)}],
    "100,000 dicts": lambda: within(100_000, lambda value: {"a": value}),
    "100,000 lists": lambda: within(100_000, lambda value: [value]),
    "100,000 tuples": lambda: within(100_000, lambda value: (value,)),
}

TAKERS = {
    "set": lambda value: sl.Config().set("timing.read", value),
    "set of a dict": lambda value: sl.Config().set({"timing": value}),
    "fork": lambda value: sl.Device().fork({"timing": value}),
    "a workload": lambda value: sl.run(workload={"phase": value}, limit=10),
    "vary": lambda value: sl.compare(vary={"timing.read": ["50us", value]}, workload="quickstart", limit=10),
    "tries": lambda value: sl.run(workload="quickstart", limit=10).explain(tries=value),
    "a value to try": lambda value: sl.run(workload="quickstart", limit=10).explain(tries={"timing.read": value}),
    "change": lambda value: sl.run(workload="quickstart", limit=10).whatif(change={"timing.read": value}),
    "without": lambda value: sl.run(workload="quickstart", limit=10).whatif(without=value),
    "a study": lambda value: sl.sweep({"schema": "ssdlab.study/1", "name": "x", "axes": {"timing.read": value}}, "none"),
    "tenants": lambda value: sl.run(tenants={"db": value}, limit=10),
    "a column": lambda value: sl.run(trace=dict.fromkeys(("time_ns", "op", "offset", "bytes"), value)),
    "rows": lambda value: sl.run(workload="quickstart", limit=10, requests=value),
}


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize("kind", DEEP)
def test_values_without_an_end_are_refused_everywhere(kind: str, taker: str) -> None:
    with pytest.raises((sl.Error, TypeError, RecursionError)):
        TAKERS[taker](DEEP[kind]())


def test_a_refusal_of_depth_names_the_key_and_the_limit() -> None:
    with pytest.raises(sl.ConfigError, match="nested deeper than 64 levels") as caught:
        sl.Config().set("timing.read", within(65, lambda value: [value]))
    assert caught.value.key == "timing.read" and "contain itself" in (caught.value.help or "")
    # What is less deep is read, and refused for what it is.
    with pytest.raises(sl.ConfigError) as caught:
        sl.Config().set("timing.read", within(63, lambda value: [value]))
    assert "levels" not in str(caught.value)


def test_none_unsets_an_optional_key() -> None:
    cfg = sl.Config().set("timing.copyback", "700us")
    assert cfg.set("timing.copyback", None) == sl.Config()
    assert cfg.set({"timing": {"copyback": None}}) == sl.Config()
    with pytest.raises(sl.ConfigError, match="not optional") as caught:
        cfg.set("gc.threshold", None)
    assert caught.value.key == "gc.threshold"


def test_layers_and_origins(tmp_path: Path) -> None:
    first, second = tmp_path / "a.toml", tmp_path / "b.toml"
    first.write_text("[gc]\nthreshold = 0.05\n[timing]\nread = \"70us\"\n")
    second.write_text("[gc]\nthreshold = 0.1\n")
    cfg = sl.Config.load(first, second, preset="pagc").set("device.queue_depth", 8)
    assert (cfg["gc.threshold"], cfg["timing.read"]) == (0.1, "70us")
    assert cfg.origin("gc.threshold") == f"{second}:2"
    assert cfg.origin("timing.read") == f"{first}:4"
    assert cfg.origin("device.queue_depth") == "--set"
    assert cfg.origin("noc.model") == "default"
    second.unlink()
    assert cfg.set("device.queue_depth", 4)["gc.threshold"] == 0.1, "files are read once"


def test_what_is_equal_has_equal_text(small: sl.Config) -> None:
    for cfg in (small, *(sl.Config.preset(info.name) for info in sl.presets())):
        again = sl.Config.from_toml(cfg.to_toml())
        assert again == cfg and hash(again) == hash(cfg) and again.to_toml() == cfg.to_toml()
        for other in (copy.copy(cfg), copy.deepcopy(cfg), pickle.loads(pickle.dumps(cfg))):
            assert other == cfg and other.digest == cfg.digest
    assert small != sl.Config() and small != "small"
    assert sl.Config().to_dict()["geometry"]["channels"] == 8
    assert {section: set(keys) for section, keys in small.to_dict().items()} == {
        section: set(keys) for section, keys in sl.Config().to_dict().items()
    }


def test_errors_are_those_of_the_command_line(binary: Path, tmp_path: Path) -> None:
    import subprocess

    file = tmp_path / "a.toml"
    file.write_text("[gc]\ntreshold = 0.05\n")
    with pytest.raises(sl.ConfigError) as caught:
        sl.Config.load(file)
    error = caught.value
    assert (error.key, error.nearest, error.file, error.line, error.column) == ("gc.treshold", "gc.threshold", str(file), 2, 1)
    assert error.message == "gc.treshold: unknown key" and "did you mean" in (error.help or "")
    printed = subprocess.run([binary, "config", "show", file], capture_output=True, text=True, check=False)
    assert printed.returncode == 2 and printed.stderr == str(error) + "\n"
    with pytest.raises(sl.ConfigError) as caught:
        sl.Config().set("geometry.channels", 0)
    printed = subprocess.run(
        [binary, "config", "show", "--set", "geometry.channels=0"], capture_output=True, text=True, check=False
    )
    assert printed.stderr == str(caught.value) + "\n"
    assert (caught.value.key, caught.value.file) == ("geometry.channels", None)


@pytest.mark.parametrize("call", [lambda c: c["gc.treshold"], lambda c: c.origin("gc.treshold"), lambda c: c.set("gc.treshold", None)])
def test_unknown_keys_name_the_nearest(call) -> None:
    with pytest.raises(sl.ConfigError) as caught:
        call(sl.Config())
    assert caught.value.nearest == "gc.threshold"


def test_listings() -> None:
    assert [info.name for info in sl.presets()][:2] == ["default", "nvme-tlc"]
    assert "quickstart" in [info.name for info in sl.workloads()]
    schemes = {(info.slot, info.name): info for info in sl.schemes()}
    assert [knob.name for knob in schemes["schemes.victim", "d-choices"].knobs] == ["d"]
    assert "greedy" in sl.slots()["schemes.victim"]
    assert sl.schema()["properties"]["geometry"]


def test_the_schema_is_that_of_the_command(command) -> None:
    import json

    assert sl.schema() == json.loads(command("config", "schema"))
