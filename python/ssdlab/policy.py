"""Policies written in Python: base classes, and what they mean.

A policy is asked by the engine and answers with a value. It is copied with its device by :func:`copy.deepcopy`, and so it is for
each run of a comparison or a study.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from ssdlab._ssdlab import UsageError

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


def _identity(*policies: object) -> str:
    """What tells policies apart in a store: the names and sources of their classes, and their state.

    What a class calls is not part of it: a store can't see that a function of another module has changed.
    """
    # The package is imported far more often than policies are told apart.
    import hashlib
    import inspect
    import pickle

    digest = hashlib.sha256()
    for policy in policies:
        for cls in type(policy).__mro__:
            if cls is object or cls.__module__.split(".")[0] == "ssdlab":
                continue
            name = f"{cls.__module__}:{cls.__qualname__}"
            try:
                source = inspect.getsource(cls)
            except (OSError, TypeError) as error:
                raise UsageError(
                    f"the source of {name} can't be read, so that a store could not tell its versions apart; define it in a file"
                ) from error
            digest.update(f"{name}\n{source}\n".encode())
        try:
            state = pickle.dumps(policy.__getstate__(), protocol=4)
        except Exception as error:
            raise UsageError(
                f"the state of {type(policy).__qualname__} can't be pickled, so that a store could not tell it from others; "
                "give the class a method __getstate__"
            ) from error
        digest.update(f"{len(state)}\n".encode() + state)
    return digest.hexdigest()
