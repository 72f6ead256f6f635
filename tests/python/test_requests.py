"""Requests from Python."""

import gzip
import io
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ssdlab as sl


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
