"""Pages of results."""

from __future__ import annotations

from os import PathLike
from typing import Any

from ssdlab._ssdlab import Comparison, Config, Reproduction, Requests, Run, UsageError, run

__all__ = ["report"]


def report(
    source: Run | Comparison | Reproduction | Requests, path: str | PathLike[str], *, cfg: Config | None = None, **options: Any
) -> None:
    """Writes the page of results: of a `Run`, a `Comparison` or a `Reproduction`, or of a run of `Requests`.

    - `source`: the results, or `Requests`, which are run first, with tables of latencies and blocks.
    - `path`: the file of the page.
    - `cfg`: the configuration for `Requests`; by default the built-in device.
    - `options`: those of the method `report` of the results: `lite`, `title`, `sections`, `max_size`.
    """
    if isinstance(source, Requests):
        source = run(cfg, source, histograms=True, blocks=True)
    elif cfg is not None:
        raise UsageError("cfg is for Requests; leave it out: results have their configuration")
    source.report(path, **options)
