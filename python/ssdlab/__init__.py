"""The SSD laboratory: trace-driven, event-driven SSD simulation.

The work is done by the extension module; this package names it, and draws.
"""

from typing import TYPE_CHECKING, Any

from ssdlab._ssdlab import (
    Column,
    Comparison,
    Completion,
    Config,
    ConfigError,
    Device,
    Disk,
    Error,
    Explanation,
    FileError,
    Import,
    Info,
    InvariantError,
    Knob,
    Lost,
    MemoryLimitError,
    PolicyError,
    Reproduction,
    Requests,
    Run,
    Section,
    Snapshot,
    Summary,
    Survivors,
    Table,
    TraceError,
    TriggerView,
    UsageError,
    Variant,
    VictimView,
    WhatIf,
    __version__,
    compare,
    explain,
    import_config,
    ladder,
    presets,
    read_trace,
    reproduce,
    run,
    schema,
    schemes,
    slots,
    whatif,
    workload,
    workloads,
)
from ssdlab.policy import Trigger, Victim
from ssdlab.report import report
from ssdlab.sweep import Sweep, optimize, sweep

if TYPE_CHECKING:
    from ssdlab import plot

__all__ = [
    "Column",
    "Comparison",
    "Completion",
    "Config",
    "ConfigError",
    "Device",
    "Disk",
    "Error",
    "Explanation",
    "FileError",
    "Import",
    "Info",
    "InvariantError",
    "Knob",
    "Lost",
    "MemoryLimitError",
    "PolicyError",
    "Reproduction",
    "Requests",
    "Run",
    "Section",
    "Snapshot",
    "Summary",
    "Survivors",
    "Sweep",
    "Table",
    "TraceError",
    "Trigger",
    "TriggerView",
    "UsageError",
    "Variant",
    "Victim",
    "VictimView",
    "WhatIf",
    "__version__",
    "compare",
    "explain",
    "import_config",
    "ladder",
    "optimize",
    "plot",
    "presets",
    "read_trace",
    "report",
    "reproduce",
    "run",
    "schema",
    "schemes",
    "slots",
    "sweep",
    "whatif",
    "workload",
    "workloads",
]


def __getattr__(name: str) -> Any:
    """Imports what most scripts do not need when it is first used."""
    if name == "plot":
        from importlib import import_module

        return import_module("ssdlab.plot")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
