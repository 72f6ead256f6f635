"""Tables, in this package and in others."""

import gc
import os
from pathlib import Path

import numpy as np
import pytest

import ssdlab as sl


@pytest.fixture(scope="module")
def run(small: sl.Config) -> sl.Run:
    return sl.run(small, workload="quickstart", limit=70_000, requests=True, series="10ms", blocks=True)


@pytest.fixture(scope="module")
def rows(run: sl.Run) -> sl.Table:
    assert run.requests is not None
    return run.requests


def test_shape(rows: sl.Table) -> None:
    assert rows.num_rows == len(rows) == 70_000 and len(rows.column_names) == 27
    assert rows.schema[:3] == [("request", "uint64"), ("arrival_ns", "uint64"), ("op", "dictionary<int8, utf8>")]
    with pytest.raises(KeyError, match="latency_ns"):
        rows.column("latency_n")


def test_causes_sum_to_the_latency(rows: sl.Table) -> None:
    causes = sum(np.asarray(rows.column(name)) for name in rows.column_names[8:])
    assert (causes == np.asarray(rows["latency_ns"])).all()


def test_columns_are_buffers(rows: sl.Table) -> None:
    column = rows.column("latency_ns")
    view = memoryview(column)
    assert (view.format, view.readonly, view.shape, view.itemsize) == ("Q", True, (70_000,), 8)
    assert view.tolist() == column.to_list() == np.asarray(column).tolist()
    assert column[0] == view[0] and column[-1] == view[-1] and len(column) == 70_000
    assert np.frombuffer(rows.head(10).column("bytes"), "u8").tolist() == rows["bytes"].to_list()[:10]
    assert np.asarray(column, dtype="f8").dtype == np.float64
    with pytest.raises(ValueError):
        np.asarray(column)[0] = 1
    with pytest.raises(BufferError, match="words"):
        memoryview(rows.column("op"))
    assert set(np.asarray(rows["op"]).tolist()) == {"read", "write"}
    with pytest.raises(IndexError):
        column[70_000]


def test_empty_cells(run: sl.Run) -> None:
    means = run.series.column("read_mean_ns")  # type: ignore[union-attr]
    late = sl.run(workload="quickstart", limit=3, series="1us").series
    assert late is not None
    cells = late.column("read_mean_ns").to_list()
    assert None in cells and any(cell is not None for cell in cells)
    with pytest.raises(BufferError, match="empty"):
        memoryview(late.column("read_mean_ns"))
    assert np.isnan(np.asarray(late.column("read_mean_ns"))).sum() == cells.count(None)
    assert late.to_pandas()["read_mean_ns"].isna().sum() == cells.count(None)
    assert late.to_polars()["read_mean_ns"].to_list() == cells
    assert len(means) > 0


def test_parts(rows: sl.Table) -> None:
    assert rows.head(3)["request"].to_list() == [0, 1, 2] and rows.head(0).num_rows == 0
    assert rows.select(["op", "bytes"]).column_names == ["op", "bytes"]
    arrivals = np.asarray(rows["arrival_ns"])
    lo, hi = int(arrivals[100]), int(arrivals[66_000])
    part = rows.filter_range("arrival_ns", lo, hi)
    assert part.num_rows == ((arrivals >= lo) & (arrivals < hi)).sum()
    assert rows.filter_range("arrival_ns").num_rows == 70_000
    assert rows.filter_range("arrival_ns", 2**70).num_rows == 0
    with pytest.raises(sl.UsageError):
        rows.filter_range("op", 1, 2)


def test_other_libraries(run: sl.Run, rows: sl.Table) -> None:
    import arro3.core
    import duckdb
    import nanoarrow
    import pandas
    import polars
    import pyarrow

    for table in (rows, run.series, run.blocks):
        assert table is not None
        cells = {name: table.column(name).to_list() for name in table.column_names}
        arrow = pyarrow.table(table)
        arrow.validate(full=True)
        assert arrow.to_pydict() == cells
        assert table.to_polars().to_dict(as_series=False) == cells
        frame = table.to_pandas()
        assert list(frame.columns) == table.column_names and len(frame) == len(table)
        pandas.testing.assert_frame_equal(
            frame, pandas.DataFrame(cells).astype(frame.dtypes), check_categorical=False
        )
        assert arro3.core.Table.from_arrow(table).num_rows == len(table)
        assert len(nanoarrow.Array(table)) == len(table)
    assert isinstance(rows.to_polars(), polars.DataFrame)
    assert nanoarrow.Schema(rows).n_fields == 27
    t = rows  # duckdb finds a variable by its name
    found = duckdb.sql("select op, max(latency_ns), count(*) from t group by op order by op").fetchall()
    latency, reads = np.asarray(rows["latency_ns"]), np.asarray(rows["op"]) == "read"
    assert found == [("read", latency[reads].max(), reads.sum()), ("write", latency[~reads].max(), (~reads).sum())]
    assert len(t) == 70_000


def test_memory_is_shared(rows: sl.Table) -> None:
    import polars
    import pyarrow

    part = rows.head(1000)
    address = np.asarray(part["latency_ns"]).ctypes.data
    assert pyarrow.table(part)["latency_ns"].chunk(0).buffers()[1].address == address
    assert polars.DataFrame(part)["latency_ns"].to_numpy().ctypes.data == address
    frame = polars.DataFrame(part)
    before = frame["latency_ns"].to_list()
    del part
    gc.collect()
    assert frame["latency_ns"].to_list() == before, "the frame keeps the memory"


def test_a_stream_may_be_taken_any_number_of_times(rows: sl.Table) -> None:
    import pyarrow

    capsules = [rows.__arrow_c_stream__() for _ in range(3)]
    tables = [pyarrow.RecordBatchReader._import_from_c_capsule(capsule).read_all() for capsule in capsules]
    assert tables[0].equals(tables[2])
    wanted = pyarrow.schema([("request", pyarrow.float32())]).__arrow_c_schema__()
    assert pyarrow.RecordBatchReader._import_from_c_capsule(rows.__arrow_c_stream__(wanted)).schema == tables[0].schema
    assert pyarrow.schema(rows) == tables[0].schema
    del capsules
    rows.__arrow_c_stream__()  # never taken: the capsule frees it


def test_batches_are_bounded(rows: sl.Table) -> None:
    import pyarrow

    assert [chunk.num_rows for chunk in pyarrow.table(rows).to_batches()] == [65_536, 70_000 - 65_536]


def test_html_is_escaped(rows: sl.Table, small: sl.Config, tmp_path: Path) -> None:
    html = rows._repr_html_()
    assert html.count("<tr>") == 2 + 5 + 1 + 5 and "70000 rows" in html and "dictionary&lt;int8, utf8&gt;" in html
    # A text of the user in a cell: the name of a configuration file that is varied.
    file = tmp_path / "<b>&.toml"
    file.write_text("")
    table = sl.compare(small, vary={"file": [str(file)]}, repeat=2, workload="quickstart", limit=10).table
    assert "&lt;b&gt;&amp;.toml" in table._repr_html_() and "<b>" not in table._repr_html_()


def test_missing_libraries_name_the_extra(rows: sl.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    for module, extra in (("pandas", "ssdlab[pandas]"), ("polars", "ssdlab[polars]"), ("pyarrow", "pyarrow")):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(ImportError) as caught:
            getattr(rows, f"to_{module}")()
        assert extra in str(caught.value)


def test_files_have_the_right_ending(rows: sl.Table, tmp_path: Path) -> None:
    with pytest.raises(sl.UsageError):
        rows.write_csv(tmp_path / "rows.parquet")
    with pytest.raises(sl.FileError):
        rows.write_csv(tmp_path / "none" / "rows.csv")
    assert not list(tmp_path.iterdir())


def test_memory_returns(small: sl.Config) -> None:
    statm = Path("/proc/self/statm")
    if not statm.exists():
        pytest.skip("this system does not tell resident memory in /proc")

    def resident() -> int:
        gc.collect()
        return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    # Filling takes most of a short run, and ten thousand rows kept ninety times would be more than the process has.
    new = small.set("precondition.mode", "none")

    def one() -> None:
        table = sl.run(new, workload="quickstart", limit=10_000, requests=True).requests
        assert table is not None
        table.to_pyarrow()

    for _ in range(10):
        one()
    early = resident()
    for _ in range(90):
        one()
    assert resident() <= 1.05 * early
