"""Requests from Python."""

import gzip
import io
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ssdlab as sl
from conftest import python


@pytest.fixture(scope="module")
def table(small: sl.Config) -> sl.Table:
    return sl.workload("quickstart", limit=2000, capacity=small.capacity_bytes)


def as_buffers(table: sl.Table, **more: object) -> dict[str, object]:
    columns: dict[str, object] = {name: np.asarray(table[name]) for name in ("time_ns", "offset", "bytes")}
    return {**columns, "op": np.array([{"read": 0, "write": 1}[op] for op in table["op"].to_list()], "u1"), **more}


def test_a_workload_as_a_table_is_the_workload(table: sl.Table, small: sl.Config) -> None:
    assert table.schema == [("time_ns", "uint64"), ("op", "dictionary<int8, utf8>"), ("offset", "uint64"), ("bytes", "uint64")]
    named, given = sl.run(small, workload="quickstart", limit=2000), sl.run(small, trace=table)
    assert given.summary["trace_digest"] == named.summary["trace_digest"]
    assert given.summary == named.summary and given.remarks == []


FORMS = {
    "pyarrow": lambda t: pa.table(t),
    "pyarrow, plain text": lambda t: pa.table(t).set_column(1, "op", pa.table(t)["op"].cast(pa.string())),
    "pyarrow, large text": lambda t: pa.table(t).set_column(1, "op", pa.table(t)["op"].cast(pa.large_string())),
    "pyarrow, signed": lambda t: pa.table({k: np.asarray(t[k]).astype("i8") for k in ("time_ns", "offset", "bytes")} | {"op": t["op"].to_list()}),
    "pyarrow, many batches": lambda t: pa.Table.from_batches(pa.table(t).to_batches(max_chunksize=7)),
    "a reader": lambda t: pa.RecordBatchReader.from_stream(t),
    "polars": lambda t: pl.DataFrame(t),
    "polars, text": lambda t: pl.DataFrame(t).with_columns(pl.col("op").cast(pl.String)),
    "pandas": lambda t: t.to_pandas(),
    "more columns": lambda t: t.to_pandas().assign(note="x", latency=1.5),
    "buffers": as_buffers,
    "buffers and words": lambda t: as_buffers(t, op=t["op"].to_list()),
    "buffers and numpy's words": lambda t: as_buffers(t, op=np.array(t["op"].to_list())),
    "columns of a table": lambda t: {**{name: t[name] for name in ("time_ns", "offset", "bytes")}, "op": t["op"].to_list()},
    "one device": lambda t: as_buffers(t, device=np.zeros(len(t), "u4")),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_a_table(form: str, table: sl.Table, small: sl.Config) -> None:
    assert sl.run(small, trace=FORMS[form](table)).summary == sl.run(small, trace=table).summary


def test_a_table_has_the_digest_of_its_csv(table: sl.Table, small: sl.Config, tmp_path: Path) -> None:
    table.write_csv(tmp_path / "t.csv")
    form = "columns:time=0:ns,op=1:'read'r'write'w,offset=2:bytes,size=3:bytes,sep=comma,header=1"
    own = sl.run(small, trace=table, loop=2, time_scale="1/3", limit=3000)
    csv = sl.run(small, trace=tmp_path / "t.csv", format=form, loop=2, time_scale="1/3", limit=3000)
    assert csv.summary["trace_digest"] == own.summary["trace_digest"]


WRITERS = {
    "ssdlab": lambda t, path: t.write_parquet(path),
    "pandas": lambda t, path: t.to_pandas().to_parquet(path),
    "pandas, text": lambda t, path: t.to_pandas().astype({"op": str}).to_parquet(path),
    "pandas, signed": lambda t, path: t.to_pandas().astype({"time_ns": "i8", "offset": "i8", "bytes": "i8"}).to_parquet(path),
    "pyarrow": lambda t, path: pq.write_table(pa.table(t), path),
    "pyarrow, no dictionary": lambda t, path: pq.write_table(pa.table(t), path, use_dictionary=False, data_page_version="2.0"),
    "polars": lambda t, path: pl.DataFrame(t).write_parquet(path),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_parquet_of_other_libraries_is_a_trace(writer: str, table: sl.Table, small: sl.Config, command, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    WRITERS[writer](table, path)
    wanted = sl.run(small, trace=table).summary
    assert sl.run(small, trace=path).summary == wanted
    sets = [item for key in ("geometry.blocks_per_plane=32", "precondition.mode=random", "device.over_provisioning=0.2") for item in ("--set", key)]
    command("run", "--trace", path, *sets, "--json", tmp_path / "a.json", "--quiet")
    assert sl.Summary.load(tmp_path / "a.json") == wanted
    assert sl.read_trace(path).to_pyarrow().equals(table.to_pyarrow())


def test_devices_are_laid_out_and_chosen(table: sl.Table, small: sl.Config) -> None:
    two = np.arange(len(table), dtype="u4") % 2
    low = as_buffers(table, offset=np.asarray(table["offset"]) % (1 << 26) // 4096 * 4096, device=two)
    both = sl.run(small, trace=low)
    assert any("2 volumes" in remark for remark in both.remarks)
    one = sl.run(small, trace=low, device=1)
    assert one.summary.requests.read + one.summary.requests.write == len(table) // 2
    frame = pd.DataFrame({**low, "op": table["op"].to_list()})
    assert sl.run(small, trace=pa.Table.from_pandas(frame)).summary == both.summary


def test_skipped_rows_are_counted(table: sl.Table, small: sl.Config) -> None:
    skip = np.zeros(len(table), bool)
    skip[5:9] = True
    codes = as_buffers(table)["op"].copy()
    codes[5:9] = 3
    by_flag, by_code = sl.run(small, trace=as_buffers(table, skip=skip)), sl.run(small, trace=as_buffers(table, op=codes))
    assert by_flag.summary == by_code.summary and by_flag.summary.requests.skipped == 4
    assert sl.run(small, trace=pa.table({**as_buffers(table), "skip": skip})).summary == by_flag.summary


def test_forced_unit_access_and_flushes_reach_a_device_with_a_cache(small: sl.Config) -> None:
    cached = small.set({"cache.size": "64KiB", "cache.time": "1us"})
    rows = {
        "time_ns": np.array([0, 5_000_000, 10_000_000, 10_500_000], "u8"),
        "op": ["write", "write", "write", "flush"],
        "offset": np.array([0, 4096, 8192, 0], "u8"),
        "bytes": np.array([4096, 4096, 4096, 0], "u8"),
    }
    fua = np.array([False, True, False, False])
    for table in ({**rows, "fua": fua}, pa.table({**rows, "fua": fua})):
        run = sl.run(cached, trace=table, requests=True)
        assert run.requests["latency_ns"].to_list()[:3] == [1_000, 1_000 + 605_120, 1_000]
        assert run.summary["requests"]["flush"] == 1
    plain, forced = sl.run(cached, trace=rows).summary, sl.run(cached, trace={**rows, "fua": fua}).summary
    assert plain["trace_digest"] == forced["trace_digest"] and plain["flush_digest"] != forced["flush_digest"]


def test_tenants_are_those_of_the_command(small: sl.Config, command, tmp_path: Path) -> None:
    tenants = {"db": "workload:random-read,depth=4,limit=500", "log": "workload:random-write,depth=8,limit=500"}
    run = sl.run(small, tenants=tenants, alone=True, requests=True)
    texts = [f"{name}={text}" for name, text in tenants.items()]
    assert sl.run(small, tenants=texts, alone=True).summary == run.summary
    sets = [item for key in ("geometry.blocks_per_plane=32", "precondition.mode=random", "device.over_provisioning=0.2") for item in ("--set", key)]
    given = [item for text in texts for item in ("--tenant", text)]
    command("run", *given, "--alone", *sets, "--json", tmp_path / "a.json", "--quiet")
    assert sl.Summary.load(tmp_path / "a.json") == run.summary
    assert run.summary["tenants"]["db"]["slowdown"] > 1
    assert set(run.requests["tenant"].to_list()) == {"db", "log"}
    compared = sl.compare(small, tenants=tenants, vary={"schemes.victim": ["greedy", "fifo"]})
    assert len(compared) == 2
    with pytest.raises(sl.UsageError, match="other requests"):
        sl.run(small, tenants=tenants, workload="quickstart")
    with pytest.raises(sl.UsageError, match="neither"):
        sl.run(small, tenants={"db": "quickstart"})


BAD = {
    "missing": (lambda b: {k: v for k, v in b.items() if k != "op"}, "op", None),
    "float": (lambda b: {**b, "time_ns": b["time_ns"].astype("f8")}, "time_ns", None),
    "text": (lambda b: {**b, "bytes": ["x"] * len(b["bytes"])}, "bytes", None),
    "length": (lambda b: {**b, "offset": b["offset"][:-1]}, "offset", None),
    "two dimensions": (lambda b: {**b, "offset": np.zeros((2, 2), "u8")}, "offset", None),
    "unknown operation": (lambda b: {**b, "op": np.array([0, 1, 9] + [0] * (len(b["op"]) - 3), "u1")}, "op", 3),
    "unknown word": (lambda b: {**b, "op": ["read"] * (len(b["op"]) - 1) + ["erase"]}, "op", 2000),
    "negative": (lambda b: {**b, "offset": np.where(np.arange(2000) == 6, -4096, 0)}, "offset", 7),
    "null": (lambda b: pa.table({**b, "bytes": pa.array([None if i == 4 else 512 for i in range(2000)], pa.uint64())}), "bytes", 5),
    "float in arrow": (lambda b: pa.table({**b, "bytes": pa.array([1.5] * 2000)}), "bytes", None),
    "missing in arrow": (lambda b: pa.table({"time_ns": b["time_ns"]}), "op", None),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_tables_name_column_and_row(kind: str, table: sl.Table, small: sl.Config) -> None:
    make, column, row = BAD[kind]
    with pytest.raises(sl.TraceError) as caught:
        sl.run(small, trace=make(as_buffers(table)))
    assert (caught.value.column, caught.value.line) == (column, row), str(caught.value)


PAIR = {"time_ns": np.array([0, 300_000], "u8"), "op": ["write", "read"], "offset": np.array([0, 64 * 4096], "u8"), "bytes": np.array([4096, 4096], "u8")}
WIDTHS = [f"{sign}{width}" for sign in "iu" for width in (1, 2, 4, 8)]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("form", ["buffers", "arrow", "polars", "parts"])
def test_every_width_of_integers_is_read_as_it_is(width: str, form: str) -> None:
    make = {
        "buffers": lambda columns: columns,
        "arrow": pa.table,
        "polars": pl.DataFrame,
        "parts": lambda columns: pa.concat_tables([pa.table(columns).slice(0, 1), pa.table(columns).slice(1)]),
    }[form]
    columns = {**PAIR, "time_ns": np.array([0, 100], width), "offset": np.array([0, 0], width), "device": np.array([3, 100], width)}
    rows = sl.read_trace(make(columns))
    assert rows["time_ns"].to_list() == [0, 100] and rows["device"].to_list() == [0, 1]
    # The largest sector of the width, as far as a device can be addressed.
    most = min(np.iinfo(width).max, 2**60) // 512 * 512
    assert sl.read_trace(make({**columns, "offset": np.array([0, most], width)}))["offset"].to_list() == [0, most]
    if width[0] == "u":
        return
    for name, fine in (("time_ns", 0), ("offset", 0), ("bytes", 64)):
        for negative in (-1, np.iinfo(width).min):
            wrong = {**columns, name: np.array([fine, negative], width)}
            with pytest.raises(sl.TraceError) as caught:
                sl.read_trace(make(wrong))
            assert (caught.value.column, caught.value.line) == (name, 2), str(caught.value)
            assert f"{name} is negative: {negative}" in str(caught.value)


@pytest.mark.parametrize("number", [-1, 2**32, 2**32 + 3])
def test_a_device_that_has_no_number_is_refused(number: int) -> None:
    columns = {**PAIR, "device": np.array([3, number], "i8")}
    for table in (columns, pa.table(columns)):
        with pytest.raises(sl.TraceError, match="32 bits") as caught:
            sl.read_trace(table)
        assert (caught.value.column, caught.value.line) == ("device", 2)


# 0, 300 us and 2 s after the first request, which is in 2024.
TIMES = [1_704_067_200_000_000_000 + ns for ns in (0, 300_000, 2_000_000_000)]
UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("form", ["timestamp", "timestamp with zone", "duration", "time of day", "polars", "pandas", "numpy", "numpy duration"])
def test_times_of_any_unit_are_converted_by_it(form: str, unit: str) -> None:
    step = UNITS[unit]
    given = [ns // step for ns in TIMES]
    if form == "time of day":
        given = [(ns - TIMES[0]) // step for ns in TIMES]
    array = np.array(given, "i8")
    rest = {"op": ["write"] * 3, "offset": np.zeros(3, "u8"), "bytes": np.full(3, 4096, "u8")}
    arrow = {
        "timestamp": pa.timestamp(unit),
        "timestamp with zone": pa.timestamp(unit, "Europe/Berlin"),
        "duration": pa.duration(unit),
        "time of day": pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit),
    }
    if form in arrow:
        narrow = pa.array(array).cast(pa.int32() if form == "time of day" and unit in ("s", "ms") else pa.int64())
        table = pa.table({"time_ns": narrow.cast(arrow[form]), **rest})
    elif form == "polars":
        if unit == "s":
            pytest.skip("polars has no seconds")
        table = pl.DataFrame({"time_ns": pl.Series(array).cast(pl.Datetime(unit)), **rest})
    elif form == "pandas":
        table = pd.DataFrame({"time_ns": pd.Series(array.astype(f"M8[{unit}]")), **rest})
    else:
        table = {"time_ns": array.astype(f"{'m' if 'duration' in form else 'M'}8[{unit}]"), **rest}
    expected = [(ns // step - TIMES[0] // step) * step for ns in TIMES]
    assert sl.read_trace(table)["time_ns"].to_list() == expected
    assert sl.run(trace=table).summary["simulated_ns"] == expected[-1] + 605_120


def test_times_of_numpy_and_pandas_in_a_dict() -> None:
    rest = {"op": ["write"] * 3, "offset": np.zeros(3, "u8"), "bytes": np.full(3, 4096, "u8")}
    for times in (
        np.array([0, 3, 20], "M8[100us]"),
        np.array([0, 99, 3, 99, 20], "M8[100us]")[::2],
        pd.Series(np.array([0, 300, 2000], "M8[us]")),
        pd.to_timedelta([0, 300, 2000], unit="us"),
    ):
        assert sl.read_trace({"time_ns": times, **rest})["time_ns"].to_list() == [0, 300_000, 2_000_000]
    assert sl.read_trace({"time_ns": np.array([1, 2, 3], "M8[D]"), **rest})["time_ns"].to_list() == [0, 86_400 * 10**9, 2 * 86_400 * 10**9]


BAD_TIMES = {
    "NaT": (np.array(["2024-01-01", "NaT"], "M8[us]"), 2, "empty"),
    "NaT of nanoseconds": (np.array(["2024-01-01", "NaT"], "M8[ns]"), 2, "empty"),
    "months": (np.array(["2024-01", "2024-02"], "M8[M]"), None, "datetime64"),
    "beyond": (np.array([0, 2**55], "M8[s]"), 2, "beyond 64 bits"),
    "beyond in arrow": (pa.array([0, 2**55], pa.timestamp("ms")), 2, "beyond 64 bits"),
    "null in arrow": (pa.array([0, None], pa.timestamp("ms")), 2, "empty"),
    "before the epoch": (np.array([0, -1], "M8[s]"), 2, "negative: -1000000000"),
    "dates": (pa.array([0, 1], pa.date32()), None, "Date32"),
}


@pytest.mark.parametrize("kind", BAD_TIMES)
def test_times_that_can_not_be_used_name_the_row(kind: str) -> None:
    times, row, message = BAD_TIMES[kind]
    columns = {**PAIR, "time_ns": times}
    with pytest.raises(sl.TraceError, match=message) as caught:
        sl.run(trace=columns if isinstance(times, np.ndarray) else pa.table(columns))
    assert (caught.value.column, caught.value.line) == ("time_ns", row)


def test_a_column_of_times_stands_for_times_only() -> None:
    with pytest.raises(sl.TraceError, match="type Timestamp") as caught:
        sl.run(trace=pa.table({**PAIR, "offset": pa.array([0, 0], pa.timestamp("us"))}))
    assert caught.value.column == "offset"


LARGE = """
import resource, sys
import numpy as np
import ssdlab as sl
rows = 60_000_000
columns = {"time_ns": np.zeros(rows, "u8"), "op": np.zeros(rows, "u1"), "offset": np.zeros(rows, "i4"), "bytes": np.full(1, 4096, "u2").repeat(rows)}
columns["skip"] = np.zeros(rows, bool)
if sys.argv[1] == "arrow":
    import pyarrow as pa
    columns = pa.table(columns)
sl.run(trace={name: column[:10] for name, column in columns.items()} if sys.argv[1] != "arrow" else columns.slice(0, 10))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert sl.run(trace=columns, limit=1000).summary.requests.read == 1000
assert len(sl.read_trace(columns, limit=1000)) == 1000
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ru_maxrss counts KiB on Linux")
@pytest.mark.parametrize("form", ["buffers", "arrow"])
def test_a_limit_bounds_what_a_large_table_costs(form: str) -> None:
    done = python("-c", LARGE, form)
    assert done.returncode == 0, done.stderr
    # Pages of zeros take no memory before they are read. A copy of a column would take 60 MB at least, all of them 1.5 GB.
    assert int(done.stdout) < 400_000, done.stdout


def endless(seen: list[int], rows: int, **columns: object) -> pa.RecordBatchReader:
    """A stream without end that can be read once; `seen` counts its batches."""
    first = {
        "time_ns": np.arange(rows, dtype="u8"),
        "op": np.zeros(rows, "u1"),
        "offset": np.zeros(rows, "u8"),
        "bytes": np.full(rows, 4096, "u4"),
        **columns,
    }

    def batches():
        while True:
            moved = {**first, "time_ns": first["time_ns"] + rows * len(seen)}
            seen.append(len(seen))
            yield pa.RecordBatch.from_pydict(moved)

    return pa.RecordBatchReader.from_batches(pa.RecordBatch.from_pydict(first).schema, batches())


def test_a_stream_is_read_as_far_as_its_limit() -> None:
    seen: list[int] = []
    assert sl.run(trace=endless(seen, 100), limit=950).summary["requests"]["read"] == 950
    assert len(seen) == 10
    seen = []
    assert len(sl.read_trace(endless(seen, 100), limit=1000)) == 1000 and len(seen) == 10
    seen = []
    assert sl.compare(vary={"timing.read": ["50us", "60us"]}, trace=endless(seen, 100), limit=200)[1].summaries[0]["requests"]["read"] == 200
    assert len(seen) == 2
    # Rows that are skipped, of other devices, or no requests do not count: every second one here.
    every = np.arange(100) % 2
    for more, options in (
        ({"skip": every == 1}, {}),
        ({"device": every.astype("u4")}, {"device": 1}),
        ({"bytes": np.where(every, 0, 4096).astype("u4")}, {"on_bad_line": "skip=10000"}),
        ({"bytes": np.where(every, 2**40, 4096).astype("u8")}, {"on_bad_line": "skip=10000"}),
    ):
        seen = []
        summary = sl.run(trace=endless(seen, 100, **more), limit=500, **options).summary
        assert summary["requests"]["read"] == 500 and len(seen) == 10, more
    # What comes is the same as of the whole table.
    table = pa.Table.from_batches([batch for batch, _ in zip(endless([], 100), range(12), strict=False)])
    own, whole = (sl.run(trace=trace, limit=950, time_order="sort").summary for trace in (pa.RecordBatchReader.from_stream(table), table))
    assert own == whole


def test_a_column_of_streams_is_that_of_files(small: sl.Config, tmp_path: Path) -> None:
    queues = small.set("nvme", {"arbitration": "rr", "queues": [{"name": "a", "match": {"stream": ["1"]}}, {"name": "b", "match": "rest"}]})
    rows = {
        "time_ns": np.arange(60, dtype="i8") * 1000,
        "op": ["read", "write"] * 30,
        "offset": np.arange(60, dtype="i8") * 4096,
        "bytes": np.full(60, 4096, "i8"),
        "stream": np.array([1, 1, 2] * 20, "i4"),
    }
    pq.write_table(pa.table(rows), tmp_path / "t.parquet")
    file = sl.run(queues, trace=tmp_path / "t.parquet").summary
    assert [own["requests"]["read"] + own["requests"]["write"] for own in file["tenants"].values()] == [40, 20]
    for table in (rows, pa.table(rows), pl.DataFrame(rows)):
        assert sl.run(queues, trace=table).summary == file
    for wrong in (np.full(60, -1), np.full(60, 2**32)):
        with pytest.raises(sl.TraceError, match="stream is not a number of 32 bits"):
            sl.run(queues, trace={**rows, "stream": wrong})
    with pytest.raises(sl.TraceError, match="stream"):
        sl.run(queues, trace=pa.table({**rows, "stream": ["a"] * 60}))
    with pytest.raises(sl.TraceError, match="stream has 59 rows"):
        sl.run(queues, trace={**rows, "stream": rows["stream"][:59]})


def test_rows_of_many_batches_come_in_order() -> None:
    rows = 3 * 4096 + 5
    columns = {
        "time_ns": np.arange(rows, dtype="u4"),
        "op": np.arange(rows, dtype="u1") % 2,
        "offset": np.arange(rows, dtype="i8") % 1000 * 4096,
        "bytes": np.full(rows, 4096, "u2"),
        "skip": np.arange(rows) % 7 == 3,
    }
    words = [["read", "write"][code] for code in columns["op"]]
    kept = ~columns["skip"]
    backwards = {name: column[::-1].copy()[::-1] for name, column in columns.items()}
    for table in (columns, backwards, {**columns, "op": words, "skip": columns["skip"].tolist()}, pa.table({**columns, "op": words}), pa.table(columns)):
        read = sl.read_trace(table)
        for name in ("time_ns", "offset"):
            assert (np.asarray(read[name]) == columns[name][kept]).all(), name
        assert read["op"].to_list() == [word for word, keep in zip(words, kept, strict=True) if keep]


def test_policies_apply_to_tables(table: sl.Table, small: sl.Config) -> None:
    offset = np.asarray(table["offset"]).astype("i8")
    offset[3] = -1
    run = sl.run(small, trace=as_buffers(table, offset=offset), on_bad_line="skip=1")
    assert run.summary.requests.read + run.summary.requests.write == len(table) - 1
    with pytest.raises(sl.TraceError):
        sl.run(small, trace=as_buffers(table, offset=np.asarray(table["offset"]) + np.uint64(1 << 40)))
    assert sl.run(small, trace=as_buffers(table, offset=np.asarray(table["offset"]) + np.uint64(1 << 40)), lba_policy="dense")


LINES = "".join(
    f"{128166372003061629 + i * 10000},hm,0,{'Read' if i % 3 else 'Write'},{i * 4096 % 1000000 // 512 * 512},4096,1\n" for i in range(500)
)


def test_binary_files_are_traces(small: sl.Config, tmp_path: Path) -> None:
    path = tmp_path / "hm.csv"
    path.write_text(LINES)
    wanted = sl.run(small, trace=path).summary
    assert sl.run(small, trace=io.BytesIO(LINES.encode())).summary == wanted
    assert sl.run(small, trace=io.BytesIO(gzip.compress(LINES.encode()))).summary == wanted
    with path.open("rb") as file:
        assert sl.run(small, trace=file).summary == wanted
    with path.open() as file, pytest.raises(sl.UsageError, match="binary mode"):
        sl.run(small, trace=file)
    with pytest.raises(sl.UsageError, match="only once"):
        sl.compare(small, vary={"gc.time": ["real", "none"]}, trace=io.BytesIO(LINES.encode()))
    with pytest.raises(sl.UsageError):
        sl.run(small, trace=io.BytesIO(LINES.encode()), loop=2)
    rows = sl.read_trace(path, limit=100)
    assert rows.num_rows == 100 and rows["time_ns"][0] == 0
    assert sl.run(small, trace=sl.read_trace(path)).summary == wanted


def test_what_a_file_raises_goes_through(small: sl.Config) -> None:
    class Broken(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            raise ZeroDivisionError("in read")

    with pytest.raises(ZeroDivisionError, match="in read"):
        sl.run(small, trace=Broken())


def test_places_of_errors_in_files(small: sl.Config, tmp_path: Path) -> None:
    path = tmp_path / "hm.csv"
    path.write_text(LINES + "1,2,3\n")
    with pytest.raises(sl.TraceError) as caught:
        sl.run(small, trace=path, format="msr")
    assert (caught.value.file, caught.value.line) == (str(path), 501)
    assert caught.value.column is not None and caught.value.text == "1,2,3"
