#!/usr/bin/env python3
"""Counts the requests of a trace: written from the descriptions of the formats, without a look at the readers.

    count.py FORMAT FILE

prints reads, writes, trims, their bytes, lines and requests that are left out, and the time from the first arrival to the last.
"""

import csv
import datetime
import json
import re
import struct
import sys
from decimal import Decimal

NS = 1_000_000_000


def kind_of(word):
    """What a word of the kernel is, or a plain one."""
    plain = {"read": "R", "write": "W", "discard": "T", "flush": "F", "secure_erase": "T", "none": "-"}
    word = word.split("|")[0]
    if word.lower() in plain:
        return plain[word.lower()]
    body = word[1:] if re.match(r"F[RWDNF]", word) else word
    if body.startswith("WZ") or body[:1] in ("N", "Z"):
        return "-"
    return {"R": "R", "W": "W", "D": "T", "F": "F"}[body[0]]


class Count:
    def __init__(self):
        self.requests = []
        self.left_out = 0

    def add(self, at, kind, size):
        if kind in "RWT" and size > 0:
            self.requests.append((at, kind, size))
        else:
            self.left_out += 1

    def answer(self):
        def of(kind):
            return [size for _, found, size in self.requests if found == kind]

        times = [at for at, _, _ in self.requests]
        return {
            "reads": len(of("R")),
            "writes": len(of("W")),
            "trims": len(of("T")),
            "read_bytes": sum(of("R")),
            "write_bytes": sum(of("W")),
            "trim_bytes": sum(of("T")),
            "skipped": self.left_out,
            "span_ns": max(times) - min(times) if times else 0,
        }


EVENT = re.compile(r"\[\d+\]\s+(?:\S+\s+)?(\d+\.\d+):\s+(?:\w+:)?(\w+):\s+(.*)")


def ftrace(lines, count, event, unit):
    back = []
    for line in lines:
        found = EVENT.search(line)
        if not found:
            continue
        at, name, rest = int(Decimal(found[1]) * NS), found[2], found[3]
        if name == "block_rq_requeue":
            place = re.search(r"^(\S+) .*?(\d+ \+ \d+)", rest)
            back.append(place.groups())
        if name != event:
            continue
        if name.startswith("block"):
            dev, word, sector, sectors = re.search(r"^(\S+) (\S+) .*?(\d+) \+ (\d+)", rest).groups()
            place = (dev, f"{sector} + {sectors}")
            if place in back:
                back.remove(place)
                continue
            count.add(at, kind_of(word), int(sectors) * 512)
        elif name == "nvme_setup_cmd":
            command = re.search(r"cmd=\((\w+)", rest)[1]
            kind = {"nvme_cmd_read": "R", "nvme_cmd_write": "W"}.get(command, "-")
            length = re.search(r"len=(\d+)", rest)
            count.add(at, kind, (int(length[1]) + 1) * unit if length else 0)
        elif rest.startswith("send_req:"):
            kind = "R" if "(READ" in rest else "W" if "(WRITE" in rest else "-"
            count.add(at, kind, int(re.search(r"size: (-?\d+)", rest)[1]))


def etw(lines, count):
    for line in lines:
        found = re.match(r"\s*Disk(Read|Write|Flush),\s+(\d+),.*?\(\s*\d+\),(.*)", line)
        if not found:
            continue
        at, rest = int(found[2]), [part.strip() for part in found[3].split(",")]
        if found[1] == "Flush":
            count.add(at, "F", 0)
        else:
            count.add((at - int(rest[4])) * 1000, found[1][0], int(rest[3], 16))


def biosnoop(lines, count):
    for line in lines:
        if line.startswith("TIME"):
            queued = "QUE(ms)" in line
            continue
        words = line.split()
        if len(words) < 7:
            continue
        latency = words[-1]
        kind, _, size = words[-5:-2] if queued else words[-4:-1]
        before = words[: -5 if queued else -4]
        at = int(Decimal(words[0]) * NS) - int(Decimal(latency) * 1_000_000)
        count.add(at, "-" if before[-1].isdigit() else kind_of(kind), int(size))


def iosnoop(lines, count):
    for line in lines:
        words = line.split()
        if len(words) > 7 and words[-1] != "LATms" and words[0][0].isdigit():
            count.add(int(Decimal(words[0]) * NS), kind_of(words[-5]), int(words[-2]))


def io_tracer(lines, count):
    for row in csv.DictReader(lines):
        if row.get("mono_ns"):
            at = int(row["mono_ns"])
        else:
            day = datetime.datetime.fromisoformat(row["timestamp"]).replace(tzinfo=datetime.timezone.utc)
            at = int(day.timestamp()) * NS + day.microsecond * 1000
        count.add(at - int(Decimal(row["latency_ms"] or 0) * 1_000_000), kind_of(row["operation"]), int(row["size"]))


def records(data, count, form, size_at, word_at, op):
    for record in struct.iter_unpack(form, data):
        kind = op
        if word_at is not None:
            code = record[word_at] & 0xFF
            kind = "R" if code in (1, 2, 12) else "T" if code == 9 else "-" if code in (0, 255) else "W"
        count.add(record[0] * NS, kind, record[size_at])


def main():
    form, path = sys.argv[1:]
    name, _, rest = form.partition(":")
    count = Count()
    if name in ("lcs", "oraclegeneral"):
        data = open(path, "rb").read()
        op = "R" if "op=read" in rest else "W" if "op=write" in rest else None
        if name == "oraclegeneral":
            records(data, count, "<IQIq", 2, None, op)
        else:
            version = data[8]
            layout, word = {1: ("<IQIq", None), 2: ("<IQIIq", 3), 3: ("<IQqIIq", 3), 4: ("<IQqIIqI", 3)}[version]
            records(data[8192:], count, layout, 2, None if op else word, op)
    else:
        lines = open(path, encoding="utf-8", newline="").read().split("\n")
        if name == "ftrace":
            event, _, unit = rest.partition(":")
            ftrace(lines, count, event, int(unit or 512))
        else:
            {"etw": etw, "biosnoop": biosnoop, "iosnoop": iosnoop, "io-tracer": io_tracer}[name](lines, count)
    print(json.dumps(count.answer()))


main()
