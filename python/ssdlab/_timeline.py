"""Reads the timeline of a run: a Perfetto trace, of which only the messages that ssdlab writes are known here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from ssdlab._ssdlab import UsageError


@dataclass(frozen=True)
class Slice:
    """An activity: where, what, and when in nanoseconds."""

    track: str
    name: str
    category: str
    start: int
    end: int


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number of variable length, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _fields(data: bytes, at: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Fields of a message: number, and either value and -1, or beginning and end of what it contains."""
    while at < end:
        key, at = _number(data, at)
        match key & 7:
            case 0:
                value, at = _number(data, at)
                yield key >> 3, value, -1
            case 2:
                size, at = _number(data, at)
                yield key >> 3, at, at + size
                at += size
            case 1 | 5 as kind:
                at += 8 if kind == 1 else 4
            case _:
                raise ValueError("no field")


def slices(path: str | PathLike[str], start: int = 0, end: int | None = None) -> list[Slice]:
    """The slices of a file that overlap the time from `start` to `end`, track by track in the order of the file's tracks."""
    data = Path(path).read_bytes()
    try:
        return _slices(data, start, end)
    except (IndexError, ValueError) as error:
        raise UsageError(f"{path} is not a timeline of ssdlab") from error


def _slices(data: bytes, start: int, end: int | None) -> list[Slice]:
    names: dict[int, str] = {}
    ranks: dict[int, tuple[int, int]] = {}
    opened: dict[int, tuple[int, str, str]] = {}
    found: list[tuple[int, Slice]] = []

    def text(a: int, b: int) -> str:
        return data[a:b].decode()

    for packet, a, b in _fields(data, 0, len(data)):
        if packet != 1 or b < 0 or b > len(data):
            raise ValueError("no packet")
        time, event, track = 0, None, None
        for number, x, y in _fields(data, a, b):
            if number == 8:
                time = x
            elif number == 11:
                event = (x, y)
            elif number == 60:
                track = (x, y)
        if track:
            described = {number: (x, y) for number, x, y in _fields(data, *track)}
            uuid = described[1][0]
            names[uuid] = text(*described[2]).split(" (")[0]
            ranks[uuid] = (described[5][0] if 5 in described else uuid, described[12][0])
        if event:
            kind, uuid, name, category = 0, 0, "", ""
            for number, x, y in _fields(data, *event):
                match number:
                    case 9:
                        kind = x
                    case 11:
                        uuid = x
                    case 22:
                        category = text(x, y)
                    case 23:
                        name = text(x, y)
            if kind == 1:
                opened[uuid] = (time, name, category)
            elif kind == 2 and uuid in opened:
                begun, name, category = opened.pop(uuid)
                if time >= start and (end is None or begun < end):
                    found.append((uuid, Slice(names[uuid], name, category, begun, time)))
    found.sort(key=lambda one: (ranks[one[0]], one[1].start))
    return [one for _, one in found]
