"""The SSD laboratory: trace-driven, event-driven SSD simulation.

The work is done by the extension module; this package only names it.
"""

from ssdlab._ssdlab import (
    Config,
    Error,
    Run,
    __version__,
    run,
)

__all__ = [
    "Config",
    "Error",
    "Run",
    "__version__",
    "run",
]
