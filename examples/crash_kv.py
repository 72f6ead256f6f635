"""A toy key-value store, crashed in simulated worlds.

The store appends each pair to a log and keeps an index in memory; after a crash it reads the log until the first record that is not
whole. `put` returns when the pair is to survive anything. The drive has a volatile write cache, so that takes a flush. One version of
the store forgets it, and one leaves the checksum out: both are found, with the shortest crash that shows it, and the sound one passes.

    python examples/crash_kv.py [WORLDS]
"""

import random
import struct
import sys
import zlib

import ssdlab as sl

DRIVE = sl.Config.from_toml("""
geometry = { channels = 2, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 12, pages_per_block = 8 }
device = { over_provisioning = 0.5, power_loss_protection = false }
cache = { size = "32KiB", writeback = "eager" }
gc.reserve = 2
""")
RECORD = 12288  # longer than the drive programs at a time, so that a cut can leave a part of it


class PowerCut(Exception):
    """The power is gone."""


class Store:
    """A log of records of equal size: checksum, key, filling, value."""

    def __init__(self, disk: sl.Disk, *, steps: int = -1, flushes: bool = True, checks: bool = True) -> None:
        self.disk, self.steps, self.flushes, self.checks = disk, steps, flushes, checks
        self.pairs: dict[int, int] = {}
        self.end = 0
        while (record := self._record(self.end)) is not None:
            self.pairs[record[0]] = record[1]
            self.end += RECORD

    def _wait(self) -> sl.Completion:
        """Advances until the request has completed, or the power is cut: it is after so many steps."""
        while not (done := self.disk.completions()):
            if self.steps == 0:
                raise PowerCut
            self.steps -= 1
            self.disk.advance_to(self.disk.next_event)
        return done[0]

    def _record(self, at: int) -> tuple[int, int] | None:
        self.disk.read(at, RECORD)
        data = self._wait().data
        if data is None:
            return None  # the drive reports an error: nothing was acknowledged there
        checksum, key = struct.unpack_from("<IQ", data)
        (value,) = struct.unpack_from("<Q", data, RECORD - 8)
        sound = checksum == zlib.crc32(data[4:]) if self.checks else checksum != 0
        return (key, value) if sound else None

    def put(self, key: int, value: int) -> None:
        # The value is at the end, so a part of a record has another one.
        body = struct.pack("<Q", key) + random.Random(value).randbytes(RECORD - 20) + struct.pack("<Q", value)
        self.disk.write(self.end, struct.pack("<I", zlib.crc32(body)) + body)
        self._wait()
        if self.flushes:
            # The drive may write back in any order: the flush is submitted when the write is in its cache.
            self.disk.flush()
            self._wait()
        self.end += RECORD
        self.pairs[key] = value


def crashed(fresh: sl.Disk, world: int, steps: int, **bug: bool) -> str | None:
    """Runs a world until its power is cut. Returns what was lost or wrong, if anything."""
    with fresh.fork() as disk:
        draw, promised, tried = random.Random(world), {}, {}
        try:
            store = Store(disk, steps=steps, **bug)
            for i in range(20):
                key = draw.randrange(4)
                tried[key] = i + 1
                store.put(key, i + 1)
                promised[key] = i + 1
        except PowerCut:
            pass
        lost = disk.power_cut()
        found = Store(disk, **bug).pairs
        for key, value in promised.items():
            if found.get(key) not in (value, tried[key]):
                reasons = sorted({one.reason for one in lost.lost})
                return f"key {key} is {found.get(key)}, but {value} was promised ({', '.join(reasons)})"
        for key, value in found.items():
            if value not in (promised.get(key), tried.get(key)):
                return f"key {key} is {value}, which was never put there"
    return None


def main(worlds: int) -> None:
    fresh = sl.Disk(DRIVE, seed=1)
    for name, bug in [("sound", {}), ("no flush", {"flushes": False}), ("no checksum", {"checks": False})]:
        for world in range(worlds):
            steps = random.Random(-world - 1).randrange(3, 90)
            if (what := crashed(fresh, world, steps, **bug)) is None:
                continue
            shortest = next(n for n in range(3, steps + 1) if crashed(fresh, world, n, **bug))
            print(f"{name}: world {world}: {what}; shortest: power cut after {shortest} steps")
            break
        else:
            print(f"{name}: nothing is wrong in {worlds} worlds")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
