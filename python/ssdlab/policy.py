"""Policies written in Python: base classes, and what they mean.

A policy is asked by the engine and answers with a value. It is copied with its device by :func:`copy.deepcopy`.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ssdlab._ssdlab import TriggerView, VictimView

__all__ = ["Trigger", "Victim"]


class Victim:
    """Selects the block that a collection reclaims: ``run(..., victim=...)`` or ``Device(..., victim=...)``.

    An optional method ``seed(self, n: int)`` is called once, before the device is filled, with the seed of the run.
    """

    strict: bool = False
    """Whether it is an error to answer a block without an invalid page while another one has some."""

    reads: tuple[str, ...] = ()
    """Buffers of the view that are filled in every call, such as ``("erases", "closed_at")``. ``block`` and ``valid`` always are;
    the others also if the policy reads them in its first 100 calls."""

    def pick(self, view: VictimView) -> int | None:
        """The index of a block among the candidates of ``view``, or ``None`` to collect nothing now.

        ``None`` is an error when the plane has no page left for the host although a collection would free some.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method pick")


class Trigger:
    """Decides when idle dies are collected: ``run(..., trigger=...)`` or ``Device(..., trigger=...)``.

    A plane with fewer free pages than ``gc.threshold`` is collected in any case. In addition, each plane of a die that has been
    idle for ``after`` is asked for, and again after each collection that this has started, until the die is used. Of the planes
    with the answer ``True``, the one with the fewest free pages is collected.
    """

    after: int | str | timedelta = "10ms"
    """Idle time of a die: nanoseconds, a text with a unit, or a :class:`datetime.timedelta`. Read once."""

    def due(self, view: TriggerView) -> bool:
        """Whether the plane of ``view`` is collected now."""
        raise NotImplementedError(f"{type(self).__name__} has no method due")
