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
    def preset(name: str) -> Config: ...
    @staticmethod
    def load(*files: _Path, preset: str | None = None) -> Config: ...
    @staticmethod
    def from_toml(text: str, name: str = "text") -> Config: ...
    @overload
    def set(self, key: str, /, value: _Value | Any | None) -> Config: ...
    @overload
    def set(self, key: dict[str, Any], /) -> Config: ...
    def __getitem__(self, key: str, /) -> Any: ...
    @property
    def digest(self) -> str: ...
    @property
    def capacity_bytes(self) -> int: ...
    def origin(self, key: str) -> str: ...
    def to_toml(self) -> str: ...
    def to_dict(self) -> dict[str, dict[str, Any]]: ...
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
    def name(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def knobs(self) -> list[Knob]: ...
    @property
    def slot(self) -> str | None: ...

@final
class Knob:
    """A knob of a scheme."""

    @property
    def name(self) -> str: ...
    @property
    def default(self) -> str: ...
    @property
    def range(self) -> str: ...
    @property
    def meaning(self) -> str: ...

@disjoint_base
class Section:
    """A part of a summary: its keys as items and as attributes."""

    def __getitem__(self, key: str, /) -> Any: ...
    def __getattr__(self, name: str, /) -> Any: ...
    def __len__(self) -> int: ...
    def __contains__(self, key: object, /) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
    def keys(self) -> Any: ...
    def values(self) -> list[Any]: ...
    def items(self) -> list[tuple[str, Any]]: ...
    def get(self, key: str, default: Any | None = None) -> Any: ...
    def to_dict(self) -> dict[str, Any]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __dir__(self) -> list[str]: ...
    def __reduce__(self) -> tuple[Any, tuple[Any]]: ...
    @staticmethod
    def _of(values: dict[str, Any]) -> Section: ...

@final
class Summary(Section):
    """The results of a run: the contract ``ssdlab.summary/1``."""

    @staticmethod
    def load(path: _Path) -> Summary: ...
    def to_json(self) -> str: ...
    @staticmethod
    def _from_json(text: str) -> Summary: ...

@final
class Column:
    """A column of a table: numbers through the buffer protocol, anything as a list."""

    @property
    def name(self) -> str: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> int | float | str | None: ...
    def to_list(self) -> list[int | float | str | None]: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> numpy.ndarray[Any, Any]: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Table:
    """Rows with named columns, in memory."""

    @property
    def num_rows(self) -> int: ...
    @property
    def column_names(self) -> list[str]: ...
    @property
    def schema(self) -> list[tuple[str, str]]: ...
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    def column(self, name: str) -> Column: ...
    def __getitem__(self, name: str, /) -> Column: ...
    def head(self, n: int = 5) -> Table: ...
    def select(self, names: Sequence[str]) -> Table: ...
    def filter_range(self, column: str, lo: float | None = None, hi: float | None = None) -> Table: ...
    def write_csv(self, path: _Path) -> None: ...
    def write_parquet(self, path: _Path) -> None: ...
    def to_pandas(self) -> pandas.DataFrame: ...
    def to_polars(self) -> polars.DataFrame: ...
    def to_pyarrow(self) -> pyarrow.Table: ...
    def _repr_html_(self) -> str: ...

@final
class Requests:
    """Which requests runs serve, stated once."""

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
    def replace(self, **changes: Any) -> Requests: ...
    def _given(self) -> dict[str, Any]: ...

@final
class Run:
    """The result of a run."""

    @property
    def summary(self) -> Summary: ...
    @property
    def write_amplification(self) -> float | None: ...
    @property
    def write_amplification_bytes(self) -> float | None: ...
    @property
    def remarks(self) -> list[str]: ...
    @property
    def perf(self) -> dict[str, float | int | None]: ...
    @property
    def requests(self) -> Table | None: ...
    @property
    def series(self) -> Table | None: ...
    @property
    def blocks(self) -> Table | None: ...
    @property
    def histograms(self) -> Table | None: ...
    @property
    def timeline(self) -> Path | None: ...
    @property
    def config(self) -> Config: ...
    def report(
        self,
        path: _Path,
        *,
        lite: bool = False,
        title: str | None = None,
        sections: Sequence[str] | None = None,
        timeline_window: str | None = None,
        max_size: int | str = "8MiB",
    ) -> None: ...
    def _pictures(self) -> list[str]: ...
    def explain(
        self,
        at: str | None = None,
        *,
        tries: _Changes | None = "auto",
        jobs: int | None = None,
        top: int = 5,
        progress: _Progress = "auto",
    ) -> Explanation:
        """Why requests are slow. The run is simulated again and watched, and once more with each change to try."""
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
        """Had something not happened: the device is copied before it, and both copies serve the same requests."""
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
    """A live device: submit requests, advance time, read results at any time. It is used by one thread at a time."""

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
    def submit(self, op: _Op, offset: int = 0, bytes: int = 0, *, at: int | None = None) -> int | None: ...
    def submit_many(self, table: _ArrowStream | _Columns) -> range: ...
    def advance(self, until: int | None = None, *, by: int | None = None) -> int: ...
    def run(self) -> int: ...
    @property
    def next_event(self) -> int | None: ...
    @property
    def now(self) -> int: ...
    @property
    def pending(self) -> int: ...
    @property
    def capacity_bytes(self) -> int: ...
    @property
    def config(self) -> Config: ...
    def poll(self) -> Table: ...
    def summary(self) -> Summary: ...
    def state(self) -> Table: ...
    def lookup(self, offset: int) -> tuple[int, int, int, int, int, int] | Literal["memory"] | None: ...
    def power_cut(self) -> None: ...
    def fail_chip(self, chip: int) -> None: ...
    def snapshot(self) -> Snapshot: ...
    def fork(self, set: dict[str, Any] | None = None) -> Device: ...

@final
class Snapshot:
    """A copy of a device at a time, from which any number of devices can be made."""

    def device(self) -> Device: ...
    @property
    def now(self) -> int: ...
    def __len__(self) -> int: ...

@final
class Disk:
    """A simulated drive that keeps data, in virtual time: for tests of what stores data."""

    def __new__(cls, cfg: Config | None = None, *, seed: int = 1, check: _Check = "full") -> Disk: ...
    def write(self, offset: int, data: Buffer, *, through: bool = False) -> int: ...
    def write_zeroes(self, offset: int, bytes: int, *, through: bool = False) -> int: ...
    def read(self, offset: int, bytes: int) -> int: ...
    def trim(self, offset: int, bytes: int) -> int: ...
    def flush(self) -> int: ...
    @property
    def next_event(self) -> int | None: ...
    def advance_to(self, at: int) -> None: ...
    def advance_before(self, at: int) -> None: ...
    def completions(self) -> list[Completion]: ...
    def run(self) -> list[Completion]: ...
    def power_cut(self) -> Survivors: ...
    def read_at_rest(self, offset: int, bytes: int) -> builtins.bytes: ...
    def fork(self) -> Disk: ...
    @property
    def now(self) -> int: ...
    @property
    def capacity_bytes(self) -> int: ...
    @property
    def kept_bytes(self) -> int: ...
    @property
    def config(self) -> Config: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_raised: object) -> None: ...

@final
class Completion:
    """The end of a request. Times are nanoseconds of simulated time."""

    @property
    def ticket(self) -> int: ...
    @property
    def op(self) -> _Op: ...
    @property
    def submitted(self) -> int: ...
    @property
    def completed(self) -> int: ...
    @property
    def causes(self) -> dict[str, int]: ...
    @property
    def data(self) -> bytes | None: ...
    @property
    def error(self) -> str | None: ...

@final
class Lost:
    """A range of sectors whose newest data a power cut has taken."""

    @property
    def offset(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def ticket(self) -> int | None: ...
    @property
    def reason(self) -> Literal["in_flight", "volatile", "torn", "overwritten", "trim_undone"]: ...
    @property
    def unreadable(self) -> bool: ...

@final
class Survivors:
    """What a power cut has left."""

    @property
    def lost(self) -> list[Lost]: ...
    @property
    def aborted(self) -> list[int]: ...
    def broken_promises(self) -> list[Lost]: ...

@final
class VictimView:
    """What a victim policy sees: the closed blocks of a plane, in ascending order, as read-only buffers of `closed` numbers."""

    @property
    def plane(self) -> int: ...
    @property
    def now(self) -> int: ...
    @property
    def pages_per_block(self) -> int: ...
    @property
    def closed(self) -> int: ...
    @property
    def block(self) -> memoryview: ...
    @property
    def valid(self) -> memoryview: ...
    @property
    def erases(self) -> memoryview: ...
    @property
    def closed_at(self) -> memoryview: ...
    @property
    def streams(self) -> memoryview: ...

@final
class TriggerView:
    """What a trigger sees of a plane whose die is idle."""

    @property
    def plane(self) -> int: ...
    @property
    def now(self) -> int: ...
    @property
    def pages_per_block(self) -> int: ...
    @property
    def pages_per_plane(self) -> int: ...
    @property
    def threshold(self) -> int: ...
    @property
    def free_pages(self) -> int: ...
    @property
    def free_blocks(self) -> int: ...
    @property
    def closed(self) -> int: ...
    @property
    def least_valid(self) -> int | None: ...
    @property
    def valid_pages(self) -> int: ...

@final
class _Decision:
    @property
    def plane(self) -> int: ...
    @property
    def now(self) -> int: ...
    @property
    def count(self) -> int: ...
    @property
    def pages_per_block(self) -> int: ...
    def valid(self, candidate: int) -> int | None: ...
    def features(self, k: int) -> bytes: ...
    def plane_features(self) -> bytes: ...
    def sample(self) -> dict[str, int]: ...

@final
class _End:
    def summary(self) -> Summary: ...
    def sample(self) -> dict[str, int]: ...

@final
class _WrongVictim:
    """A victim policy that breaks a law once requests run, for tests of what a defect looks like."""

    def __new__(cls) -> _WrongVictim: ...

@final
class _Game:
    def __new__(cls, config: Config, slot: str, number: int, workload: str, writes: int, seed: int) -> _Game: ...
    def reset(self, seed: int) -> _Decision | _End: ...
    def step(self, answer: int) -> _Decision | _End: ...
    def answer(self, answer: int) -> None: ...
    def next(self) -> _Decision | _End: ...

@final
class Variant:
    """One variant of a comparison."""

    @property
    def name(self) -> str: ...
    @property
    def values(self) -> dict[str, str]: ...
    @property
    def summaries(self) -> list[Summary]: ...
    @property
    def refused(self) -> str | None: ...

@final
class Comparison:
    """The same requests on several configurations, each compared with the first."""

    @property
    def table(self) -> Table: ...
    @property
    def remarks(self) -> list[str]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Variant: ...
    def to_markdown(self) -> str: ...
    def to_json(self) -> str: ...
    def report(
        self,
        path: _Path,
        *,
        lite: bool = False,
        title: str | None = None,
        sections: Sequence[str] | None = None,
        max_size: int | str = "8MiB",
    ) -> None: ...
    def _shown(self) -> tuple[list[list[str]], str | None]: ...
    def _repr_html_(self) -> str: ...

@final
class Reproduction:
    """A paper's tables and figures with our numbers."""

    @property
    def figures(self) -> Table: ...
    @property
    def verdicts(self) -> dict[str, dict[str, int]]: ...
    @property
    def remarks(self) -> list[str]: ...
    def to_markdown(self) -> str: ...
    def to_json(self) -> str: ...
    def report(
        self,
        path: _Path,
        *,
        lite: bool = False,
        title: str | None = None,
        sections: Sequence[str] | None = None,
        max_size: int | str = "8MiB",
    ) -> None: ...

@final
class _Study:
    """A study with its points."""

    @staticmethod
    def open(path: _Path, store: _Path | None) -> _Study: ...
    @staticmethod
    def parse(text: str, directory: _Path, store: _Path | None) -> _Study: ...
    def at(self, choices: Sequence[Sequence[float]]) -> _Study: ...
    def with_policies(self, victim: Victim | None, trigger: Trigger | None, identity: str) -> _Study: ...
    @property
    def name(self) -> str: ...
    def __len__(self) -> int: ...
    def axes(self) -> list[dict[str, Any]]: ...
    def values(self) -> list[dict[str, Any]]: ...
    def baseline(self) -> list[int | None]: ...
    def workloads(self) -> list[str]: ...
    def best(
        self, values: Sequence[Sequence[float]], more: bool
    ) -> tuple[tuple[list[int], float] | None, list[tuple[int, float]]]: ...
    def runs(self, store: _Path) -> list[tuple[int, int, str]]: ...
    def keep(self, store: _Path) -> None: ...
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
    ) -> int: ...
    def tasks(
        self, store: _Path, *, retry: str | None, check: str, memory_limit: int | str | None, fill_cache: _Path | None
    ) -> list[str]: ...
    def put(self, store: _Path, results: Sequence[str]) -> None: ...
    def status(self, store: _Path) -> dict[str, Any]: ...
    def table(self, store: _Path, tidy: bool, perf: bool) -> Table: ...

def _perform(task: str, store: _Path | None = None) -> str: ...
def _half_width(values: Sequence[float]) -> float | None: ...
def _ratio(values: Sequence[float], base: Sequence[float]) -> tuple[float, float | None, float | None] | None: ...
def _column(name: str) -> str: ...
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
) -> Run: ...
def explain(
    source: Run | Requests | _Path,
    at: str | None = None,
    *,
    cfg: Config | None = None,
    tries: _Changes | None = "auto",
    jobs: int | None = None,
    top: int = 5,
    progress: _Progress = "auto",
) -> Explanation: ...
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
) -> WhatIf: ...
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
) -> Comparison: ...
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
) -> Comparison: ...
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
) -> Reproduction: ...
def workload(
    name: _Path,
    *,
    limit: int | None = None,
    seed: int = 1,
    capacity: int | str | None = None,
    page_size: int | str | None = None,
) -> Table: ...
def read_trace(path: _Trace, format: str = "auto", limit: int | None = None) -> Table: ...
def import_config(
    *files: _Path,
    simulator: Literal["auto", "mqsim", "ssdsim", "simplessd", "femu", "flashsim", "disksim"] = "auto",
    scenario: int = 1,
) -> Import: ...
def presets() -> list[Info]: ...
def schemes() -> list[Info]: ...
def workloads() -> list[Info]: ...
def slots() -> dict[str, list[str]]: ...
def schema(kind: Literal["configuration", "study", "fleet", "workload"] = "configuration") -> dict[str, Any]: ...
def main_from(arguments: Sequence[str]) -> int: ...
