"""A drive that keeps data: times, data, power cuts, errors, and the example."""

import subprocess
import sys
from array import array
from pathlib import Path

import pytest

import ssdlab as sl

SMALL = sl.Config.from_toml("""
geometry = { channels = 2, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 12, pages_per_block = 8 }
device = { over_provisioning = 0.5, power_loss_protection = false }
cache = { size = "64KiB", writeback = "watermark" }
gc.reserve = 2
""")


def test_times_and_data_are_those_of_the_drive() -> None:
    with sl.Disk(seed=7) as disk:
        write = disk.write(0, b"\x09" * 4096)
        (done,) = disk.run()
        assert (done.ticket, done.op, done.submitted, done.completed) == (write, "write", 0, 605_120)
        assert (done.causes, done.data, done.error) == ({"array": 600_000, "bus": 5_120}, None, None)
        disk.read(0, 4096)
        assert disk.next_event is not None and disk.completions() == []
        disk.advance_to(disk.now + 55_119)
        assert disk.completions() == []
        disk.advance_to(disk.now + 1)
        (done,) = disk.completions()
        assert done.data == b"\x09" * 4096 and sum(done.causes.values()) == done.completed - done.submitted == 55_120
        assert disk.next_event is None and disk.kept_bytes == 4096
        # Anything with a buffer of bytes; what was never written, or discarded, is zeros.
        disk.write(8192, bytearray(b"a" * 512), through=True)
        disk.write(8704, memoryview(array("B", [7] * 512)))
        disk.write_zeroes(0, 4096)
        disk.read(0, 12288)
        disk.trim(8192, 4096)
        disk.read(8192, 4096)
        read, empty = (done.data for done in disk.run() if done.op == "read")
        assert read == bytes(8192) + b"a" * 512 + b"\x07" * 512 + bytes(3072) and empty == bytes(4096)
        assert repr(disk).startswith("<ssdlab.Disk of ") and disk.capacity_bytes == sl.Device().capacity_bytes
    with pytest.raises(ValueError, match="closed"):
        disk.read(0, 512)
    assert repr(disk) == "<ssdlab.Disk, closed>"


def test_a_power_cut_takes_what_was_only_in_the_cache() -> None:
    disk = sl.Disk(SMALL, seed=1)
    disk.write(0, b"1" * 4096)
    disk.flush()
    disk.run()
    newer = disk.write(0, b"2" * 4096)
    disk.run()
    other = disk.fork()
    assert disk.read_at_rest(0, 512) == b"1" * 512
    pending = disk.read(0, 512)
    left = disk.power_cut()
    (lost,) = left.broken_promises()
    assert (lost.offset, lost.bytes, lost.ticket, lost.reason, lost.unreadable) == (0, 4096, newer, "volatile", False)
    assert left.aborted == [pending] and len(left.lost) == 1
    disk.read(0, 4096)
    assert disk.run()[0].data == b"1" * 4096
    other.read(0, 4096)
    assert other.run()[0].data == b"2" * 4096, "the fork has its own future"


def test_errors_name_what_is_wrong() -> None:
    disk = sl.Disk(SMALL, check="sampled")
    for call in (lambda: disk.read(1, 512), lambda: disk.write(0, b"x"), lambda: disk.trim(disk.capacity_bytes, 512)):
        with pytest.raises(sl.UsageError):
            call()
    with pytest.raises(sl.UsageError, match="check"):
        disk.power_cut()
    with pytest.raises(sl.ConfigError, match="power_cut"):
        sl.Disk(SMALL.set("faults.power_cut", ["1s"]))
    with pytest.raises(TypeError):
        disk.write(0, "text")  # type: ignore[arg-type]
    with pytest.raises(BlockingIOError):
        for _ in range(10_000):
            disk.write(0, bytes(512))
    torn = sl.Disk(SMALL.set("cache.size", "0B"))
    torn.write(0, b"1" * 4096)
    torn.advance_to(300_000)
    with pytest.raises(OSError):
        torn.read_at_rest(0, 4096)
    assert torn.power_cut().lost[0].unreadable
    torn.read(0, 4096)
    (done,) = torn.run()
    assert done.data is None and "cannot read" in (done.error or "")


def test_requests_fail_as_the_configuration_says() -> None:
    faults = 'faults.read_errors = [{ at = "1ms", offset = "0B", bytes = "512B" }]'
    disk = sl.Disk(sl.Config.from_toml(faults))
    disk.write(0, b"1" * 4096)
    disk.advance_before(1_000_000)
    disk.read(0, 512)
    write, read = disk.run()
    assert write.completed == 605_120 and read.submitted == 1_000_000
    assert read.data is None and "cannot read" in (read.error or "")


def test_the_example_finds_both_bugs() -> None:
    example = Path(__file__).parents[2] / "examples" / "crash_kv.py"
    done = subprocess.run(
        [sys.executable, "-P", str(example), "60"], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    sound, flush, checksum = done.stdout.splitlines()
    assert sound == "sound: nothing is wrong in 60 worlds"
    assert "was promised (" in flush and "volatile" in flush and "shortest" in flush
    assert checksum.startswith("no checksum: world")
