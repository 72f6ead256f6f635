"""The extension module. Use the names of the package, :mod:`ssdlab`."""

import builtins
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Literal, Protocol, Self, final, overload

from typing_extensions import Buffer, TypeAlias, disjoint_base

import numpy  # type: ignore[import-not-found, unused-ignore]
import pandas  # type: ignore[import-untyped, import-not-found, unused-ignore]
import polars  # type: ignore[import-not-found, unused-ignore]
import pyarrow  # type: ignore[import-untyped, import-not-found, unused-ignore]

from ssdlab.policy import Trigger, Victim

__version__: str

_Path: TypeAlias = str | PathLike[str]
_Value: TypeAlias = str | int | float | bool | timedelta | list[Any] | tuple[Any, ...] | dict[str, Any]
_Changes: TypeAlias = str | dict[str, _Value] | Sequence[str | dict[str, _Value]]
_Progress: TypeAlias = Literal["auto"] | bool | Callable[[int, int | None, int], object]
_Check: TypeAlias = Literal["off", "sampled", "full"]
_LbaPolicy: TypeAlias = Literal["error", "wrap", "clip", "dense"]
_TimeOrder: TypeAlias = Literal["error", "keep", "clamp", "sort"]
_Op: TypeAlias = Literal["read", "write", "trim", "flush"]
_Columns: TypeAlias = Mapping[str, Buffer | Sequence[str] | Sequence[bool]]

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

_Trace: TypeAlias = _Path | BinaryIO | _ArrowStream | _Columns

class Error(Exception):
    """Any error of ssdlab."""

class UsageError(Error, ValueError):
    """Arguments contradict each other, or a value is out of range."""

    key: str | None
    message: str | None
    help: str | None
    nearest: str | None
    file: str | None
    line: int | None
    column: int | None

class ConfigError(Error, ValueError):
    """A configuration breaks a rule, or a key has a wrong value."""

    key: str | None
    message: str | None
    help: str | None
    nearest: str | None
    file: str | None
    line: int | None
    column: int | None

class TraceError(Error, ValueError):
    """Requests are invalid."""

    file: str | None
    line: int | None
    column: int | str | None
    text: str | None

class FileError(Error, OSError):
    """A file can't be read or written."""

class InvariantError(Error, AssertionError):
    """A law of the simulation is broken: a defect of the simulator."""

    law: str | None
    at_ns: int | None
    reproduce: str | None

class PolicyError(Error, RuntimeError):
    """A policy failed."""

    plane: int | None
    now: int | None

class MemoryLimitError(Error, MemoryError):
    """More memory is needed than may be taken."""

    needed: int | None
    limit: int | None

@final
class Config:
    """An immutable configuration with the origin of its values."""

    def __new__(cls) -> Config: ...
    @staticmethod
    def preset(name: str) -> Config:
        """A named configuration; `name` is one of `presets()`."""
    @staticmethod
    def load(*files: _Path, preset: str | None = None) -> Config:
        """Files in turn, over a preset: the paths `files`, and the name `preset`."""
    @staticmethod
    def from_toml(text: str, name: str = "text") -> Config:
        """A configuration from the `text` of a file; `name` stands for it in errors."""
    @overload
    def set(self, key: str, /, value: _Value | Any | None) -> Config: ...
    @overload
    def set(self, key: dict[str, Any], /) -> Config: ...
    def __getitem__(self, key: str, /) -> Any: ...
    @property
    def digest(self) -> str:
        """Digest of the effective configuration, as `config_digest` of a summary."""
    @property
    def capacity_bytes(self) -> int:
        """Bytes that the host may address."""
    def origin(self, key: str) -> str:
        """Where the value of `key` was set: `default`, or a text and the line in it."""
    def to_toml(self) -> str:
        """The effective configuration as TOML. Equal configurations give equal texts."""
    def to_dict(self) -> dict[str, dict[str, Any]]:
        """The effective configuration, every key of every section; None where a key has no value."""
    def __copy__(self) -> Config: ...
    def __deepcopy__(self, _memo: object) -> Config: ...
    def __reduce__(self) -> tuple[Any, tuple[str]]: ...
    def _repr_html_(self) -> str: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Info:
    """Something that has a name: a preset, a scheme, a workload."""

    @property
    def name(self) -> str:
        """Its name."""
    @property
    def text(self) -> str:
        """Its document or its manual."""
    @property
    def knobs(self) -> list[Knob]:
        """The knobs of a scheme."""
    @property
    def slot(self) -> str | None:
        """The slot of a scheme, such as `schemes.victim`."""

@final
class Knob:
    """A knob of a scheme."""

    @property
    def name(self) -> str:
        """Its name."""
    @property
    def default(self) -> str:
        """Its default, as JSON writes it."""
    @property
    def range(self) -> str:
        """The values that it takes."""
    @property
    def meaning(self) -> str:
        """Its purpose."""

@disjoint_base
class Section:
    """A part of a summary: its keys as items and as attributes."""

    def __getitem__(self, key: str, /) -> Any: ...
    def __getattr__(self, name: str, /) -> Any: ...
    def __len__(self) -> int: ...
    def __contains__(self, key: object, /) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
    def keys(self) -> Any:
        """The keys."""
    def values(self) -> list[Any]:
        """The values."""
    def items(self) -> list[tuple[str, Any]]:
        """Keys with their values."""
    def get(self, key: str, default: Any | None = None) -> Any:
        """The value of `key`, or `default`."""
    def to_dict(self) -> dict[str, Any]:
        """A copy as dictionaries."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __dir__(self) -> list[str]: ...
    def __reduce__(self) -> tuple[Any, tuple[Any]]: ...
    @staticmethod
    def _of(values: dict[str, Any]) -> Section:
        """A section of these values."""

@final
class Summary(Section):
    """The results of a run: the contract `ssdlab.summary/1`."""

    @staticmethod
    def load(path: _Path) -> Summary:
        """Reads the file `path` that the command wrote."""
    def to_json(self) -> str:
        """The bytes of the file that `--json` writes."""
    @staticmethod
    def _from_json(text: str) -> Summary:
        """A summary from the bytes of its file."""

@final
class Column:
    """A column of a table: numbers through the buffer protocol, anything as a list."""

    @property
    def name(self) -> str:
        """Its name."""
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> int | float | str | None: ...
    def to_list(self) -> list[int | float | str | None]:
        """The cells as a list; None where one is empty."""
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> numpy.ndarray[Any, Any]: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Table:
    """Rows with named columns, in memory."""

    @property
    def num_rows(self) -> int:
        """How many rows it has."""
    @property
    def column_names(self) -> list[str]:
        """Names of the columns."""
    @property
    def schema(self) -> list[tuple[str, str]]:
        """Names and types of the columns."""
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    def column(self, name: str) -> Column:
        """The column `name`: a view of one batch, or a copy of several that is kept."""
    def __getitem__(self, name: str, /) -> Column: ...
    def head(self, n: int = 5) -> Table:
        """The first `n` rows."""
    def select(self, names: Sequence[str]) -> Table:
        """The columns `names`, in this order."""
    def filter_range(self, column: str, lo: float | None = None, hi: float | None = None) -> Table:
        """The rows whose number in `column` is at least `lo` and less than `hi`; None is no bound. Empty cells are left out."""
    def write_csv(self, path: _Path) -> None:
        """Writes CSV to `path`, the bytes that the command writes."""
    def write_parquet(self, path: _Path) -> None:
        """Writes Parquet to `path`, the bytes that the command writes."""
    def to_pandas(self) -> pandas.DataFrame:
        """A `pandas.DataFrame`."""
    def to_polars(self) -> polars.DataFrame:
        """A `polars.DataFrame` that shares the memory of this table."""
    def to_pyarrow(self) -> pyarrow.Table:
        """A `pyarrow.Table` that shares the memory of this table."""
    def _repr_html_(self) -> str: ...

@final
class Requests:
    """Which requests a run serves, and how recordings are read: stated once, for `run`, `compare`, `sweep`, `explain`, `whatif` and
    `report`. It does not change. A table is read when this is made; a stream that can be read once serves one run.

    - `trace`: recorded requests: a path, a binary file, an object with `__arrow_c_stream__`, or a dict of buffers.
    - `workload`: requests to generate, in place of a trace: a name of `workloads()`, the path of a TOML file, or a dict.
    - `tenants`: several of them on one device: a dict of names and texts such as `"workload:random-read,depth=4"`.
    - `format`: the format of the trace, or `"auto"` to detect it.
    - `device`: only requests of this volume of the trace.
    - `limit`: at most this many requests, over all loops.
    - `loop`: the trace or workload this many times, one after the other.
    - `until`: `"end-of-life"` repeats them until the device accepts no more writes (`life.mode`).
    - `time_scale`: arrival times are multiplied by this: a number, or a text such as `"1/3"`.
    - `replay`: `"arrival"` (at the times of the trace) or `"closed"` (a new request when one of `device.queue_depth` completes).
    - `lba_policy`: requests beyond the end of the device: `"error"`, `"wrap"`, `"clip"` or `"dense"`.
    - `on_bad_line`: `"error"`, or `"skip=N"` to leave out at most so many lines that can't be read.
    - `time_order`: times that go back: `"error"`, `"sort"`, `"clamp"` or `"keep"`.
    - `op_codes`: which number is a read where a format leaves it open: `"read-is-one"` or `"read-is-zero"`.
    - `within_second`: times of whole seconds: `"once"` (all at its start) or `"even"` (spread over it).
    - `max_request`: the largest request of a trace: bytes, or a text such as `"64MiB"`.
    - `traces`: a directory of recordings that replace the workloads that model them.
    - `seed`: seed of every random choice; by default 1.
    """

    def __new__(
        cls,
        *,
        trace: _Trace | None = None,
        workload: _Path | dict[str, Any] | None = None,
        tenants: Mapping[str, str] | Sequence[str] | None = None,
        format: str = "auto",
        device: str | int | None = None,
        limit: int | None = None,
        loop: int = 1,
        until: Literal["end-of-life"] | None = None,
        time_scale: float | str = 1,
        replay: Literal["arrival", "closed"] | None = None,
        lba_policy: _LbaPolicy = "error",
        on_bad_line: str = "error",
        time_order: _TimeOrder = "error",
        op_codes: Literal["read-is-one", "read-is-zero"] | None = None,
        within_second: Literal["once", "even"] = "once",
        max_request: int | str | None = None,
        traces: _Path | None = None,
        seed: int = 1,
    ) -> Requests: ...
    def replace(self, **changes: Any) -> Requests:
        """These requests with other arguments: `requests.replace(limit=1000)`.

        - `changes`: arguments of `Requests` by name; None takes one back.
        """
    def _given(self) -> dict[str, Any]:
        """What was given, by name."""

@final
class Run:
    """The result of a run."""

    @property
    def summary(self) -> Summary:
        """The summary."""
    @property
    def write_amplification(self) -> float | None:
        """Pages of flash programmed over pages that the host wrote: see `write_amplification_bytes`."""
    @property
    def write_amplification_bytes(self) -> float | None:
        """Write amplification: bytes of flash programmed over bytes that the host wrote. Where writes do not fill their pages, it is more
        than that in pages.
        """
    @property
    def remarks(self) -> list[str]:
        """What the command says about the requests on standard error."""
    @property
    def perf(self) -> dict[str, float | int | None]:
        """The cost of the simulation itself."""
    @property
    def requests(self) -> Table | None:
        """One row per request, if they were asked for."""
    @property
    def series(self) -> Table | None:
        """One row per window of simulated time, if they were asked for."""
    @property
    def blocks(self) -> Table | None:
        """One row per block, if they were asked for."""
    @property
    def histograms(self) -> Table | None:
        """One row per bucket of latencies and waits, if they were asked for."""
    @property
    def timeline(self) -> Path | None:
        """The file of the timeline, if one was asked for."""
    @property
    def config(self) -> Config:
        """The configuration."""
    def report(
        self,
        path: _Path,
        *,
        lite: bool = False,
        title: str | None = None,
        sections: Sequence[str] | None = None,
        timeline_window: str | None = None,
        max_size: int | str = "8MiB",
    ) -> None:
        """Writes the page that `ssdlab report` makes of the results: of summary.json, histograms.csv, series.csv and blocks.csv as far
        as the run has them, and of the files that it wrote.

        - `path`: the file of the page.
        - `lite`: without its script: figures can't be zoomed and show no values, and maps and timelines have fewer marks.
        - `title`: its title.
        - `sections`: only these sections, by name.
        - `max_size`: what is thinned to keep the page below this: bytes, or a text.
        - `timeline_window`: only this part of the timeline, such as `"10ms..12.5ms"`.
        """
    def _pictures(self) -> list[str]:
        """The percentile curve and the causes of latency as SVG, for notebooks."""
    def explain(
        self,
        at: str | None = None,
        *,
        tries: _Changes | None = "auto",
        jobs: int | None = None,
        top: int = 5,
        progress: _Progress = "auto",
    ) -> Explanation:
        """Why requests are slow. The run is simulated again and watched, and once more with each change to try.

        - `at`: which requests: `read`, `write` or `all` with a percentile or `max`, such as `"read.p99.9"`; `"request:N"`; or
          `"time:FROM..TO"`. By default `read.p99.9`, or `write.p99.9` without reads.
        - `tries`: changes to try, each by a whole run: `"auto"`, `"none"`, or changes as a dict, a text or a list of these.
        - `jobs`: runs at the same time; by default one a core, as far as memory allows.
        - `top`: causes that the text shows, at most.
        - `progress`: `"auto"` (a line after 2 s, in terminals and notebooks), False, or a function of `(done, total, simulated_ns)`.
        """
    def whatif(
        self,
        at: str = "slowest",
        *,
        change: _Changes | None = None,
        without: str | Sequence[str] | None = None,
        before: str | timedelta = "1s",
        after: str | timedelta = "1s",
        rows: bool = False,
        progress: _Progress = "auto",
    ) -> WhatIf:
        """Had something not happened: the device is copied before it, and both copies serve the same requests.

        - `at`: the moment: `"slowest"`, `"slowest:read"`, `"slowest:write"`, `"request:N"`, or a time.
        - `change`: keys that one copy has otherwise, as a dict, a text or a list of these.
        - `without`: one or more of `gc`, `gc:plane=P`, `gc:job=N`, `request:N`, `tenant:NAME`, `suspend`, `writeback`.
        - `before`, `after`: how much is compared: a text such as `"50ms"`, or a timedelta.
        - `rows`: a row per request of the window, with both futures.
        - `progress`: `"auto"` (a line after 2 s, in terminals and notebooks), False, or a function of `(done, total, simulated_ns)`.
        """
    def _repr_html_(self) -> str: ...

@final
class Explanation(Section):
    """Why some requests are slow: the contract `ssdlab.explain/1`."""

    @property
    def text(self) -> str:
        """What `ssdlab explain` prints."""
    def to_json(self) -> str:
        """The bytes of the file that `ssdlab explain --json` writes."""

@final
class Import(Section):
    """What files of other simulators become: the contract `ssdlab.import/1`."""

    @property
    def config(self) -> Config:
        """The configuration."""
    @property
    def workload(self) -> dict[str, Any] | None:
        """All generated flows as one workload; `None` if there are none, or they do not make one."""
    @property
    def workloads(self) -> dict[str, dict[str, Any]]:
        """Each generated flow as a workload, by name."""
    @property
    def text(self) -> str:
        """What `ssdlab import` prints."""
    def to_json(self) -> str:
        """The bytes of the file that `ssdlab import --notes FILE.json` writes."""
    def to_toml(self) -> str:
        """The bytes of the file that `ssdlab import -o FILE` writes."""

@final
class WhatIf(Section):
    """Two futures of one device: the contract `ssdlab.whatif/1`."""

    @property
    def text(self) -> str:
        """What `ssdlab whatif` prints."""
    @property
    def rows(self) -> Table | None:
        """One row per request of the window, if they were asked for."""
    def to_json(self) -> str:
        """The bytes of the file that `ssdlab whatif --json` writes."""

@final
class Device:
    """A live device: submit requests, advance time, read results at any time. It is used by one thread at a time.

    - `cfg`: the configuration; by default the built-in device.
    - `seed`: seed of every random choice.
    - `check`: how much the oracle checks: `"off"`, `"sampled"` or `"full"`.
    - `victim`, `trigger`: policies written in Python, in place of those of the configuration.
    - `requests`: without it no rows are kept for `poll`, which makes the device faster.
    """

    def __new__(
        cls,
        cfg: Config | None = None,
        *,
        seed: int = 1,
        check: _Check = "sampled",
        victim: Victim | None = None,
        trigger: Trigger | None = None,
        requests: bool = True,
    ) -> Device: ...
    def submit(self, op: _Op, offset: int = 0, bytes: int = 0, *, at: int | None = None) -> int | None:
        """Submits a request, which arrives at the time `at` in nanoseconds, or now. Returns its number, or `None` for a flush, which
        is only counted. `op` is `"read"`, `"write"`, `"trim"` or `"flush"`; `offset` its first byte and `bytes` its length, both
        multiples of 512.
        """
    def submit_many(self, table: _ArrowStream | _Columns) -> range:
        """Submits all requests of a table (`table`, as `trace` of `run`, but no file) in order of arrival, or none of them if one is refused. Returns their numbers."""
    def advance(self, until: int | None = None, *, by: int | None = None) -> int:
        """Simulates everything before the time `until`, or before now plus `by`, and nothing at it; both are nanoseconds. Returns how
        many requests completed. The clock ends at 2^61 - 1 ns.
        """
    def run(self) -> int:
        """Simulates until nothing is left to do. Returns how many requests completed."""
    @property
    def next_event(self) -> int | None:
        """Time of the next event in nanoseconds; `None` if nothing is left to do."""
    @property
    def now(self) -> int:
        """Simulated time in nanoseconds."""
    @property
    def pending(self) -> int:
        """Requests submitted and not completed."""
    @property
    def capacity_bytes(self) -> int:
        """Bytes that the host may address."""
    @property
    def config(self) -> Config:
        """The configuration."""
    def poll(self) -> Table:
        """Requests that completed since the last call, in order of completion: the columns of `--requests`, trims included."""
    def summary(self) -> Summary:
        """What has happened so far."""
    def state(self) -> Table:
        """The state of every block: the columns of `--blocks`."""
    def lookup(self, offset: int) -> tuple[int, int, int, int, int, int] | Literal["memory"] | None:
        """Where the newest version of the page is that contains the byte `offset`: `(channel, chip, die, plane, block, page)`, each counted
        within the one before it; `"memory"` on its way to flash; `None` if it was never written or is trimmed.
        """
    def power_cut(self) -> None:
        """Cuts power now and recovers, in no time: requests in service are lost. Needs `check="full"`."""
    def fail_chip(self, chip: int) -> None:
        """Fails the chip of number `chip` now. Needs `raid.layout` and `faults.chip_fails`; a time that is never reached is enough."""
    def snapshot(self) -> Snapshot:
        """A copy of the device at this time."""
    def fork(self, set: dict[str, Any] | None = None) -> Device:
        """A second device with the same state; the two share nothing. `set` changes keys of it that a running device may change."""

@final
class Snapshot:
    """A copy of a device at a time, from which any number of devices can be made."""

    def device(self) -> Device:
        """A device with this state."""
    @property
    def now(self) -> int:
        """Simulated time in nanoseconds."""
    def __len__(self) -> int: ...

@final
class Disk:
    """A simulated drive that keeps data, in virtual time: for tests of what stores data. The simulator decides when a request completes,
    and what a power cut leaves. Used in a `with` statement, it drops its data at the end.

    Requests are submitted at the current time, and complete when the clock is advanced (`run`, or `next_event` and `advance_to`). A call
    that submits one raises `ValueError` if it does not lie on the disk or is not of whole sectors of 512 bytes, and `BlockingIOError` if
    the drive's queue is full: advance the clock then.

    - `cfg`: the configuration; by default the built-in device.
    - `seed`: seed of every random choice.
    - `check`: `"full"` (the default) knows every version of every page, which `power_cut` and `read_at_rest` need; `"sampled"` and
      `"off"` keep the newest data only, and are faster.
    """

    def __new__(cls, cfg: Config | None = None, *, seed: int = 1, check: _Check = "full") -> Disk: ...
    def write(self, offset: int, data: Buffer, *, through: bool = False) -> int:
        """Writes `data` (anything with a buffer of bytes) from the byte `offset` on, both multiples of 512. The data is copied. Returns the
        number of the request. `through`: forced unit access, which a write-back cache completes when the data is on flash.
        """
    def write_zeroes(self, offset: int, bytes: int, *, through: bool = False) -> int:
        """Writes `bytes` zeros from the byte `offset` on, both multiples of 512; they take no memory here. Returns the number of the request.
        `through`: as of `write`.
        """
    def read(self, offset: int, bytes: int) -> int:
        """Reads `bytes` from the byte `offset` on, both multiples of 512. Returns the number of the request; the data comes with its
        completion.
        """
    def trim(self, offset: int, bytes: int) -> int:
        """Discards the whole pages of `bytes` from the byte `offset` on, both multiples of 512. Returns the number of the request."""
    def flush(self) -> int:
        """Puts completed writes on flash. A drive without a write cache has nothing to flush: then it completes at once. Returns the number
        of the request.
        """
    @property
    def next_event(self) -> int | None:
        """Time at which something happens next, in nanoseconds; `None` if nothing is left to do."""
    def advance_to(self, at: int) -> None:
        """Moves the clock to `at` nanoseconds, and handles everything up to and including it. A time in the past is now."""
    def advance_before(self, at: int) -> None:
        """Moves the clock to `at` nanoseconds, and handles everything before it, so that a request submitted next arrives before what
        happens at `at` itself. A time in the past is now.
        """
    def completions(self) -> list[Completion]:
        """Takes the requests that have completed, in order of completion."""
    def run(self) -> list[Completion]:
        """Advances until nothing is left to do. Returns the requests that have completed."""
    def power_cut(self) -> Survivors:
        """Cuts the power now. The drive recovers in no simulated time, and its data is what survived."""
    def read_at_rest(self, offset: int, bytes: int) -> builtins.bytes:
        """What a power cut now would leave of the `bytes` from the byte `offset` on, in no time. Raises `OSError` if it could not be read
        then.
        """
    def fork(self) -> Disk:
        """A second disk with the same state and future. The two share nothing but memory that neither changes."""
    @property
    def now(self) -> int:
        """Simulated time in nanoseconds."""
    @property
    def capacity_bytes(self) -> int:
        """Bytes of the drive."""
    @property
    def kept_bytes(self) -> int:
        """Bytes of data in memory."""
    @property
    def config(self) -> Config:
        """The configuration."""
    def close(self) -> None:
        """Drops the drive with its data. Other calls raise `ValueError` from now on."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *_raised: object) -> None: ...

@final
class Completion:
    """The end of a request. Times are nanoseconds of simulated time."""

    @property
    def ticket(self) -> int:
        """The request: what its call returned."""
    @property
    def op(self) -> _Op:
        """`"read"`, `"write"`, `"trim"` or `"flush"`."""
    @property
    def submitted(self) -> int:
        """When it was submitted."""
    @property
    def completed(self) -> int:
        """When it completed."""
    @property
    def causes(self) -> dict[str, int]:
        """For what it spent this time: nanoseconds by cause, those that are not 0. They sum to the latency."""
    @property
    def data(self) -> bytes | None:
        """The data of a read; `None` if it failed, and for other requests."""
    @property
    def error(self) -> str | None:
        """Why it failed, if it did."""

@final
class Lost:
    """A range of sectors whose newest data a power cut has taken."""

    @property
    def offset(self) -> int:
        """First byte."""
    @property
    def bytes(self) -> int:
        """Bytes."""
    @property
    def ticket(self) -> int | None:
        """The newest request whose effect is gone; of those that had completed, if there is one."""
    @property
    def reason(self) -> Literal["in_flight", "volatile", "torn", "overwritten", "trim_undone"]:
        """`"in_flight"`, `"volatile"`, `"torn"`, `"overwritten"` or `"trim_undone"`. All but the first break a promise."""
    @property
    def unreadable(self) -> bool:
        """Whether reads fail from now on, until the range is written."""

@final
class Survivors:
    """What a power cut has left."""

    @property
    def lost(self) -> list[Lost]:
        """Ranges that do not hold what was last written there: `Lost`, in order."""
    @property
    def aborted(self) -> list[int]:
        """Requests that will never complete."""
    def broken_promises(self) -> list[Lost]:
        """Ranges of data that the drive had acknowledged, and lost."""

@final
class VictimView:
    """What a victim policy sees: the closed blocks of a plane, in ascending order, as read-only buffers of `closed` numbers.

    Buffers are memory of the view, filled when they are first read in a call of `pick`, and used again by the next one: a policy
    that keeps a buffer reads newer numbers later.
    """

    @property
    def plane(self) -> int:
        """The plane that is collected."""
    @property
    def now(self) -> int:
        """Simulated time in nanoseconds."""
    @property
    def pages_per_block(self) -> int:
        """Pages of a block."""
    @property
    def closed(self) -> int:
        """The number of candidates: the length of every buffer."""
    @property
    def block(self) -> memoryview:
        """Index of each candidate in its plane (u32)."""
    @property
    def valid(self) -> memoryview:
        """Valid pages (u16)."""
    @property
    def erases(self) -> memoryview:
        """Erases since the start (u32)."""
    @property
    def closed_at(self) -> memoryview:
        """Time at which the block was closed, in nanoseconds (u64). Filling takes no time: blocks that were closed in it have their
        rank in the plane instead, 0 for the first, so they are older than all others and in order.
        """
    @property
    def streams(self) -> memoryview:
        """Write point that filled the block (u8): 0 the host's, 1 GC's, 2 that of joint collections, 3 that of copybacks. All data
        is the host's where `ftl.write_points` is `"shared"`.
        """

@final
class TriggerView:
    """What a trigger sees of a plane whose die is idle."""

    @property
    def plane(self) -> int:
        """The plane in question."""
    @property
    def now(self) -> int:
        """Simulated time in nanoseconds."""
    @property
    def pages_per_block(self) -> int:
        """Pages of a block."""
    @property
    def pages_per_plane(self) -> int:
        """Pages of a plane."""
    @property
    def threshold(self) -> int:
        """Free pages below which the plane is collected in any case: `gc.threshold` in pages."""
    @property
    def free_pages(self) -> int:
        """Unprogrammed pages of the plane."""
    @property
    def free_blocks(self) -> int:
        """Erased blocks of the plane that are not open."""
    @property
    def closed(self) -> int:
        """Closed blocks of the plane."""
    @property
    def least_valid(self) -> int | None:
        """Fewest valid pages of a closed block; `None` without one."""
    @property
    def valid_pages(self) -> int:
        """Valid pages of all closed blocks."""

@final
class _Decision:
    @property
    def plane(self) -> int:
        """The plane."""
    @property
    def now(self) -> int:
        """Simulated time in nanoseconds."""
    @property
    def count(self) -> int:
        """The number of candidates."""
    @property
    def pages_per_block(self) -> int:
        """Data pages of a block."""
    def valid(self, candidate: int) -> int | None:
        """Valid pages of a candidate."""
    def features(self, k: int) -> bytes:
        """Features of `k` candidates and of the device, as bytes of 32-bit floats."""
    def plane_features(self) -> bytes:
        """Features of the plane, as bytes of 32-bit floats."""
    def sample(self) -> dict[str, int]:
        """Counters of the device."""

@final
class _End:
    def summary(self) -> Summary:
        """The results of the episode."""
    def sample(self) -> dict[str, int]:
        """Counters of the device."""

@final
class _WrongVictim:
    """A victim policy that breaks a law once requests run, for tests of what a defect looks like: it selects a block that is not closed."""

    def __new__(cls) -> _WrongVictim: ...

@final
class _Game:
    def __new__(cls, config: Config, slot: str, number: int, workload: str, writes: int, seed: int) -> _Game: ...
    def reset(self, seed: int) -> _Decision | _End:
        """Starts an episode and returns its first decision, or its end."""
    def step(self, answer: int) -> _Decision | _End:
        """Answers the open decision and returns what comes next."""
    def answer(self, answer: int) -> None:
        """Answers the open decision without waiting for what comes next."""
    def next(self) -> _Decision | _End:
        """Waits for what comes next after `answer`."""

@final
class Variant:
    """One variant of a comparison."""

    @property
    def name(self) -> str:
        """Its values in a few words."""
    @property
    def values(self) -> dict[str, str]:
        """Its value of each key that is varied, as on the command line."""
    @property
    def summaries(self) -> list[Summary]:
        """Its summaries, one a seed; none if it was refused."""
    @property
    def refused(self) -> str | None:
        """The rule that refuses it, if one does."""

@final
class Comparison:
    """The same requests on several configurations, each compared with the first."""

    @property
    def table(self) -> Table:
        """One row per variant, with all figures."""
    @property
    def remarks(self) -> list[str]:
        """What the command says about the requests on standard error."""
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Variant: ...
    def to_markdown(self) -> str:
        """The figures as one table, as `ssdlab compare --markdown` prints it."""
    def to_json(self) -> str:
        """The bytes of the file that `ssdlab compare --json` writes."""
    def report(
        self,
        path: _Path,
        *,
        lite: bool = False,
        title: str | None = None,
        sections: Sequence[str] | None = None,
        max_size: int | str = "8MiB",
    ) -> None:
        """Writes the page that `ssdlab report` makes of compare.json, the file of `ssdlab compare --json`.

        - `path`: the file of the page.
        - `lite`: without its script: figures can't be zoomed and show no values, and maps and timelines have fewer marks.
        - `title`: its title.
        - `sections`: only these sections, by name.
        - `max_size`: what is thinned to keep the page below this: bytes, or a text.
        """
    def _shown(self) -> tuple[list[list[str]], str | None]:
        """The table that the command prints, the heading first, and the ratios as SVG; for notebooks."""
    def _repr_html_(self) -> str: ...

@final
class Reproduction:
    """A paper's tables and figures with our numbers."""

    @property
    def figures(self) -> Table:
        """One row per value of the paper."""
    @property
    def verdicts(self) -> dict[str, dict[str, int]]:
        """By kind of value: how many have which verdict."""
    @property
    def remarks(self) -> list[str]:
        """Remarks on the runs."""
    def to_markdown(self) -> str:
        """As `ssdlab reproduce --markdown` prints it."""
    def to_json(self) -> str:
        """The bytes of the file that `ssdlab reproduce --json` writes."""
    def report(
        self,
        path: _Path,
        *,
        lite: bool = False,
        title: str | None = None,
        sections: Sequence[str] | None = None,
        max_size: int | str = "8MiB",
    ) -> None:
        """Writes the page that `ssdlab report` makes of reproduce.json, the file of `ssdlab reproduce --json`.

        - `path`: the file of the page.
        - `lite`: without its script: figures can't be zoomed and show no values, and maps and timelines have fewer marks.
        - `title`: its title.
        - `sections`: only these sections, by name.
        - `max_size`: what is thinned to keep the page below this: bytes, or a text.
        """

@final
class _Study:
    """A study with its points."""

    @staticmethod
    def open(path: _Path, store: _Path | None) -> _Study:
        """Reads a study."""
    @staticmethod
    def parse(text: str, directory: _Path, store: _Path | None) -> _Study:
        """A study from a text; relative paths begin at `directory`."""
    def at(self, choices: Sequence[Sequence[float]]) -> _Study:
        """The same study at other points: by point and axis, the place in a list or the number in a range."""
    def _again(self, places: Sequence[int]) -> _Study:
        """The same study at these of its points, by their places, and without limits."""
    def with_policies(
        self, victim: Victim | None, trigger: Trigger | None, identity: str, files: Sequence[tuple[str, bytes]]
    ) -> _Study:
        """The same study with policies written in Python in every run. A store tells them apart by `identity`, and keeps `files` of them."""
    @property
    def name(self) -> str: ...
    def __len__(self) -> int: ...
    def axes(self) -> list[dict[str, Any]]:
        """The axes: label, and values of a list or ends of a range."""
    def values(self) -> list[dict[str, Any]]:
        """The values of each point by axis."""
    def baseline(self) -> list[int | None]:
        """The place of the baseline of each point, if it has one."""
    def workloads(self) -> list[str]:
        """The labels of the axes that choose the requests, if they have several values."""
    def best(
        self, values: Sequence[Sequence[float]], more: bool
    ) -> tuple[tuple[list[int], float] | None, list[tuple[int, float]]]:
        """The best design over all workloads (its points, and the geometric mean of its ratios to the baseline; none where all points
        serve the same requests), and the best point for each workload with its mean: as pages of studies rank them. `values` has those
        of a measure by point and seed, `more` whether more is better.
        """
    def runs(self, store: _Path) -> list[tuple[int, int, str]]:
        """Point and key of each run that is known to be needed, in order, with its seed."""
    def keep(self, store: _Path) -> None:
        """Makes the store and keeps the study there."""
    def run(
        self,
        store: _Path,
        *,
        jobs: int | None,
        shard: str | None,
        time_limit: str | None,
        retry: str | None,
        claim: bool,
        check: str,
        memory_limit: int | str | None,
        fill_cache: _Path | None,
        progress: Any,
    ) -> int:
        """Runs it in threads; the exit status that the command would have."""
    def tasks(
        self, store: _Path, *, retry: str | None, check: str, memory_limit: int | str | None, fill_cache: _Path | None
    ) -> list[str]:
        """The runs that are left, each as a text that another process can take."""
    def put(self, store: _Path, results: Sequence[str]) -> None:
        """Keeps what tasks gave that were made without a store."""
    def status(self, store: _Path) -> dict[str, Any]:
        """Counts of the study."""
    def table(self, store: _Path, tidy: bool, perf: bool) -> Table:
        """One row a run, or a run and measure."""

def _policy_record(policy: Victim | Trigger, slot: str) -> tuple[list[tuple[str, str | None]], int | None]:
    """What results record of a policy, and the idle time of a trigger in nanoseconds: what a store keeps of it."""

def _perform(task: str, store: _Path | None = None) -> str:
    """Makes the run of a task; what came of it as JSON. Without a store the record is part of it."""
def _half_width(values: Sequence[float]) -> float | None:
    """Half the width of the 95 % confidence interval of a mean; none of fewer than two values."""
def _ratio(values: Sequence[float], base: Sequence[float]) -> tuple[float, float | None, float | None] | None:
    """What values are of others, pair by pair: the geometric mean of the ratios, and the ends of its 95 % confidence interval. None where a
    value is 0.
    """
def _column(name: str) -> str:
    """The column of a measure, by that name or by the one that comparisons have for it."""
def run(
    cfg: Config | None = None,
    source: Requests | None = None,
    *,
    trace: _Trace | None = None,
    workload: _Path | dict[str, Any] | None = None,
    tenants: Mapping[str, str] | Sequence[str] | None = None,
    format: str = "auto",
    device: str | int | None = None,
    limit: int | None = None,
    loop: int = 1,
    until: Literal["end-of-life"] | None = None,
    time_scale: float | str = 1,
    replay: Literal["arrival", "closed"] | None = None,
    lba_policy: _LbaPolicy = "error",
    on_bad_line: str = "error",
    time_order: _TimeOrder = "error",
    op_codes: Literal["read-is-one", "read-is-zero"] | None = None,
    within_second: Literal["once", "even"] = "once",
    max_request: int | str | None = None,
    traces: _Path | None = None,
    seed: int = 1,
    check: _Check = "sampled",
    count_only: bool = False,
    alone: bool = False,
    requests: bool | Sequence[str] | _Path = False,
    series: str | timedelta | None = None,
    blocks: bool = False,
    histograms: bool | _Path = False,
    timeline: _Path | None = None,
    timeline_window: str | None = None,
    memory_limit: int | str | None = None,
    progress: _Progress = "auto",
    victim: Victim | _WrongVictim | None = None,
    trigger: Trigger | None = None,
) -> Run:
    """Simulates a trace or a workload and returns what happened.

    - `cfg`: the configuration; by default the built-in device.
    - `source`: `Requests`, in place of the arguments up to `traces`, which change them if both are given.
    - `trace`: recorded requests: a path, a binary file, an object with `__arrow_c_stream__`, or a dict of buffers.
    - `workload`: requests to generate, in place of a trace: a name of `workloads()`, the path of a TOML file, or a dict.
    - `tenants`: several of them on one device: a dict of names and texts such as `"workload:random-read,depth=4"`.
    - `format`: the format of the trace, or `"auto"` to detect it.
    - `device`: only requests of this volume of the trace.
    - `limit`: at most this many requests, over all loops.
    - `loop`: the trace or workload this many times, one after the other.
    - `until`: `"end-of-life"` repeats them until the device accepts no more writes (`life.mode`).
    - `time_scale`: arrival times are multiplied by this: a number, or a text such as `"1/3"`.
    - `replay`: `"arrival"` (at the times of the trace) or `"closed"` (a new request when one of `device.queue_depth` completes).
    - `lba_policy`: requests beyond the end of the device: `"error"`, `"wrap"`, `"clip"` or `"dense"`.
    - `on_bad_line`: `"error"`, or `"skip=N"` to leave out at most so many lines that can't be read.
    - `time_order`: times that go back: `"error"`, `"sort"`, `"clamp"` or `"keep"`.
    - `op_codes`: which number is a read where a format leaves it open: `"read-is-one"` or `"read-is-zero"`.
    - `within_second`: times of whole seconds: `"once"` (all at its start) or `"even"` (spread over it).
    - `max_request`: the largest request of a trace: bytes, or a text such as `"64MiB"`.
    - `traces`: a directory of recordings that replace the workloads that model them.
    - `seed`: seed of every random choice.
    - `check`: how much the oracle checks: `"off"`, `"sampled"` or `"full"`; results do not depend on it.
    - `count_only`: without time: the same placement, map and GC, but no latencies.
    - `memory_limit`: of all devices together: bytes, or a text such as `"2GiB"`; by default 80 % of the free memory.
    - `alone`: each tenant has the device for itself, too; the summary says how much slower it is with the others.
    - `requests`: a row per request: True, a list of columns, or the path of a file.
    - `series`: a row per window of this length, such as `"100ms"`.
    - `blocks`: a row per block at the end.
    - `histograms`: a row per bucket of latencies and waits: True, or the path of a file.
    - `timeline`: the file of what every plane, channel and request did.
    - `timeline_window`: only this part of simulated time, such as `"10ms..12.5ms"`.
    - `progress`: `"auto"` (a line after 2 s, in terminals and notebooks), False, or a function of `(done, total, simulated_ns)`.
    - `victim`, `trigger`: policies written in Python, in place of those of the configuration. The run asks the object itself.
    """
def explain(
    source: Run | Requests | _Path,
    at: str | None = None,
    *,
    cfg: Config | None = None,
    tries: _Changes | None = "auto",
    jobs: int | None = None,
    top: int = 5,
    progress: _Progress = "auto",
) -> Explanation:
    """Why requests are slow: of a `Run`, which is simulated again and watched, of `Requests`, or of a file of a run's rows.

    - `source`: a `Run`, `Requests`, or the path of a file that `requests=PATH` wrote.
    - `cfg`: the configuration for `Requests`; by default the built-in device.
    - `at`: which requests: `read`, `write` or `all` with a percentile or `max`, such as `"read.p99.9"`; `"request:N"`; or
      `"time:FROM..TO"`. By default `read.p99.9`, or `write.p99.9` without reads.
    - `tries`: changes to try, each by a whole run: `"auto"`, `"none"`, or changes as a dict, a text or a list of these.
    - `jobs`: runs at the same time; by default one a core, as far as memory allows.
    - `top`: causes that the text shows, at most.
    - `progress`: `"auto"` (a line after 2 s, in terminals and notebooks), False, or a function of `(done, total, simulated_ns)`.
    """
def whatif(
    source: Run | Requests,
    at: str = "slowest",
    *,
    cfg: Config | None = None,
    change: _Changes | None = None,
    without: str | Sequence[str] | None = None,
    before: str | timedelta = "1s",
    after: str | timedelta = "1s",
    rows: bool = False,
    progress: _Progress = "auto",
) -> WhatIf:
    """Had something not happened in a `Run`, or in a run of `Requests`: the device is copied before it, and both copies serve the same
    requests.

    - `source`: a `Run`, or `Requests`.
    - `cfg`: the configuration for `Requests`; by default the built-in device.
    - `at`: the moment: `"slowest"`, `"slowest:read"`, `"slowest:write"`, `"request:N"`, or a time.
    - `change`: keys that one copy has otherwise, as a dict, a text or a list of these.
    - `without`: one or more of `gc`, `gc:plane=P`, `gc:job=N`, `request:N`, `tenant:NAME`, `suspend`, `writeback`.
    - `before`, `after`: how much is compared: a text such as `"50ms"`, or a timedelta.
    - `rows`: a row per request of the window, with both futures.
    - `progress`: `"auto"` (a line after 2 s, in terminals and notebooks), False, or a function of `(done, total, simulated_ns)`.
    """
def compare(
    cfg: Config | None = None,
    source: Requests | None = None,
    *,
    vary: dict[str, Sequence[Any]] | None = None,
    repeat: int = 1,
    jobs: int | None = None,
    trace: _Trace | None = None,
    workload: _Path | dict[str, Any] | None = None,
    tenants: Mapping[str, str] | Sequence[str] | None = None,
    format: str = "auto",
    device: str | int | None = None,
    limit: int | None = None,
    loop: int = 1,
    until: Literal["end-of-life"] | None = None,
    time_scale: float | str = 1,
    replay: Literal["arrival", "closed"] | None = None,
    lba_policy: _LbaPolicy = "error",
    on_bad_line: str = "error",
    time_order: _TimeOrder = "error",
    op_codes: Literal["read-is-one", "read-is-zero"] | None = None,
    within_second: Literal["once", "even"] = "once",
    max_request: int | str | None = None,
    traces: _Path | None = None,
    seed: int = 1,
    check: _Check = "sampled",
    count_only: bool = False,
    memory_limit: int | str | None = None,
    progress: _Progress = "auto",
    victim: Victim | None = None,
    trigger: Trigger | None = None,
) -> Comparison:
    """Simulates the same requests on several configurations and compares each with the first.

    - `cfg`: the configuration that is varied; by default the built-in device.
    - `source`: `Requests`, in place of the arguments from `trace` to `traces`, which change them if both are given.
    - `vary`: a dict of keys (also `preset` and `file`), each with a list of values; every combination is a variant. Values of
      `schemes.victim` and `schemes.trigger` may be policies written in Python.
    - `repeat`: seeds of each variant, from `seed` on.
    - `jobs`: runs at the same time, by default one a core, as far as memory allows; results do not depend on it.
    - `trace`: recorded requests: a path, a binary file, an object with `__arrow_c_stream__`, or a dict of buffers.
    - `workload`: requests to generate, in place of a trace: a name of `workloads()`, the path of a TOML file, or a dict.
    - `tenants`: several of them on one device: a dict of names and texts such as `"workload:random-read,depth=4"`.
    - `format`: the format of the trace, or `"auto"` to detect it.
    - `device`: only requests of this volume of the trace.
    - `limit`: at most this many requests, over all loops.
    - `loop`: the trace or workload this many times, one after the other.
    - `until`: `"end-of-life"` repeats them until the device accepts no more writes (`life.mode`).
    - `time_scale`: arrival times are multiplied by this: a number, or a text such as `"1/3"`.
    - `replay`: `"arrival"` (at the times of the trace) or `"closed"` (a new request when one of `device.queue_depth` completes).
    - `lba_policy`: requests beyond the end of the device: `"error"`, `"wrap"`, `"clip"` or `"dense"`.
    - `on_bad_line`: `"error"`, or `"skip=N"` to leave out at most so many lines that can't be read.
    - `time_order`: times that go back: `"error"`, `"sort"`, `"clamp"` or `"keep"`.
    - `op_codes`: which number is a read where a format leaves it open: `"read-is-one"` or `"read-is-zero"`.
    - `within_second`: times of whole seconds: `"once"` (all at its start) or `"even"` (spread over it).
    - `max_request`: the largest request of a trace: bytes, or a text such as `"64MiB"`.
    - `traces`: a directory of recordings that replace the workloads that model them.
    - `seed`: seed of every random choice.
    - `check`: how much the oracle checks: `"off"`, `"sampled"` or `"full"`; results do not depend on it.
    - `count_only`: without time: the same placement, map and GC, but no latencies.
    - `memory_limit`: of all devices together: bytes, or a text such as `"2GiB"`; by default 80 % of the free memory.
    - `progress`: `"auto"` (a line after 2 s, in terminals and notebooks), False, or a function of `(done, total, simulated_ns)`.
    - `victim`, `trigger`: policies written in Python, in place of those of the configuration of every variant. Each run asks a deep copy of its own, so that results are those of `run`.
    """
def ladder(
    cfg: Config | None = None,
    source: Requests | None = None,
    *,
    depth: str | Sequence[int] = "1..256",
    repeat: int = 1,
    jobs: int | None = None,
    trace: _Trace | None = None,
    workload: _Path | dict[str, Any] | None = None,
    tenants: Mapping[str, str] | Sequence[str] | None = None,
    format: str = "auto",
    device: str | int | None = None,
    limit: int | None = None,
    loop: int = 1,
    until: Literal["end-of-life"] | None = None,
    time_scale: float | str = 1,
    replay: Literal["closed"] | None = None,
    lba_policy: _LbaPolicy = "error",
    on_bad_line: str = "error",
    time_order: _TimeOrder = "error",
    op_codes: Literal["read-is-one", "read-is-zero"] | None = None,
    within_second: Literal["once", "even"] = "once",
    max_request: int | str | None = None,
    traces: _Path | None = None,
    seed: int = 1,
    check: _Check = "sampled",
    memory_limit: int | str | None = None,
    progress: _Progress = "auto",
    victim: Victim | None = None,
    trigger: Trigger | None = None,
) -> Comparison:
    """Runs the same requests at several queue depths, always in a closed loop: when a request completes, the next one arrives.

    - `cfg`: the configuration; by default the built-in device.
    - `source`: `Requests`, in place of the arguments from `trace` to `traces`, which change them if both are given.
    - `depth`: depths as `"FROM..TO"`, doubled from FROM on and with TO itself, or a list of numbers.
    - `repeat`: seeds of each depth, from `seed` on.
    - `jobs`: runs at the same time, by default one a core, as far as memory allows; results do not depend on it.
    - `trace`: recorded requests: a path, a binary file, an object with `__arrow_c_stream__`, or a dict of buffers.
    - `workload`: requests to generate, in place of a trace: a name of `workloads()`, the path of a TOML file, or a dict.
    - `tenants`: several of them on one device: a dict of names and texts such as `"workload:random-read,depth=4"`.
    - `format`: the format of the trace, or `"auto"` to detect it.
    - `device`: only requests of this volume of the trace.
    - `limit`: at most this many requests, over all loops.
    - `loop`: the trace or workload this many times, one after the other.
    - `until`: `"end-of-life"` repeats them until the device accepts no more writes (`life.mode`).
    - `time_scale`: arrival times are multiplied by this: a number, or a text such as `"1/3"`.
    - `replay`: `"arrival"` (at the times of the trace) or `"closed"` (a new request when one of `device.queue_depth` completes).
    - `lba_policy`: requests beyond the end of the device: `"error"`, `"wrap"`, `"clip"` or `"dense"`.
    - `on_bad_line`: `"error"`, or `"skip=N"` to leave out at most so many lines that can't be read.
    - `time_order`: times that go back: `"error"`, `"sort"`, `"clamp"` or `"keep"`.
    - `op_codes`: which number is a read where a format leaves it open: `"read-is-one"` or `"read-is-zero"`.
    - `within_second`: times of whole seconds: `"once"` (all at its start) or `"even"` (spread over it).
    - `max_request`: the largest request of a trace: bytes, or a text such as `"64MiB"`.
    - `traces`: a directory of recordings that replace the workloads that model them.
    - `seed`: seed of every random choice.
    - `check`: how much the oracle checks: `"off"`, `"sampled"` or `"full"`; results do not depend on it.
    - `memory_limit`: of all devices together: bytes, or a text such as `"2GiB"`; by default 80 % of the free memory.
    - `progress`: `"auto"` (a line after 2 s, in terminals and notebooks), False, or a function of `(done, total, simulated_ns)`.
    - `victim`, `trigger`: policies written in Python, in place of those of the configuration of every depth. Each run asks a deep copy of its own, so that results are those of `run`.
    """
def reproduce(
    paper: str,
    ids: Sequence[str] | None = None,
    *,
    quick: bool = False,
    assumptions: bool = False,
    readings: Sequence[str] | None = None,
    load: bool = False,
    traces: _Path | None = None,
    format: Sequence[str] | None = None,
    limit: int | None = None,
    seed: int = 1,
    seeds: int | None = None,
    check: _Check = "sampled",
    count_only: bool = False,
    jobs: int | None = None,
    memory_limit: int | str | None = None,
    progress: _Progress = "auto",
) -> Reproduction:
    """Computes a paper's tables and figures, or those that are named.

    - `paper`: its letter or name: a (idle-chip), b (pagc), c (brr), d (fastgc), e (noc), or `"all"`.
    - `ids`: tables and figures such as `"fig14a"`; by default all.
    - `quick`: a smaller device and fewer requests.
    - `assumptions`: everything under each of the paper's open assumptions, too.
    - `readings`: names of readings under which every claim is judged too, or `["all"]`.
    - `load`: arrivals are calibrated to the level that the paper prints.
    - `traces`: a directory of recordings to run in place of their models.
    - `format`: formats of the recordings, as a list: one for all, or `"NAME=FORMAT"`.
    - `limit`: at most this many requests of each workload.
    - `seeds`: seeds of each run, from `seed` on; by default 5, or 1 with `quick`, `assumptions` or `readings`.
    - `seed`: seed of every random choice.
    - `check`: how much the oracle checks: `"off"`, `"sampled"` or `"full"`; results do not depend on it.
    - `count_only`: without time: the same placement, map and GC, but no latencies.
    - `memory_limit`: of all devices together: bytes, or a text such as `"2GiB"`; by default 80 % of the free memory.
    - `jobs`: runs at the same time, by default one a core, as far as memory allows; results do not depend on it.
    - `progress`: `"auto"` (a line after 2 s, in terminals and notebooks), False, or a function of `(done, total, simulated_ns)`.
    """
def workload(
    name: _Path,
    *,
    limit: int | None = None,
    seed: int = 1,
    capacity: int | str | None = None,
    page_size: int | str | None = None,
) -> Table:
    """The requests of a workload as a table, for a device of this capacity.

    - `name`: a name of `workloads()`, or the path of a TOML file.
    - `limit`: at most this many requests.
    - `seed`: seed of every random choice.
    - `capacity`: bytes that the host may address, or a text such as `"2GiB"`; by default 14 GiB.
    - `page_size`: bytes of a page; by default 4 KiB.
    """
def read_trace(path: _Trace, format: str = "auto", limit: int | None = None) -> Table:
    """The requests of a trace as a table.

    - `path`: a path, a binary file, an object with `__arrow_c_stream__`, or a dict of buffers.
    - `format`: the format of the trace, or `"auto"` to detect it.
    - `limit`: at most this many requests.
    """
def import_config(
    *files: _Path,
    simulator: Literal["auto", "mqsim", "ssdsim", "simplessd", "femu", "flashsim", "disksim"] = "auto",
    scenario: int = 1,
) -> Import:
    """Turns configurations and workloads of MQSim, SSDsim, SimpleSSD, FEMU, FlashSim or DiskSim into ours, and accounts for every key.

    - `files`: the files of one device, and of its workload.
    - `simulator`: whose files they are, or `"auto"` to detect it.
    - `scenario`: the number of a scenario of MQSim's workload file, from 1.
    """
def presets() -> list[Info]:
    """The named configurations; `text` is the document."""
def schemes() -> list[Info]:
    """The schemes of all slots; `text` is the manual."""
def workloads() -> list[Info]:
    """The workloads that come with the package; `text` is the document."""
def slots() -> dict[str, list[str]]:
    """The slots, each with the names of the schemes that fill it."""
def schema(kind: Literal["configuration", "study", "fleet", "workload"] = "configuration") -> dict[str, Any]:
    """The JSON Schema of a kind of file.

    - `kind`: `"configuration"`, `"study"`, `"fleet"` or `"workload"`.
    """
def main_from(arguments: Sequence[str]) -> int:
    """Runs the command `ssdlab` with these arguments, the program's name first, and returns its exit status."""
