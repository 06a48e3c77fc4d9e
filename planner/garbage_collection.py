"""Pauses of the garbage collector where it would find nothing."""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Iterator

from planner.lightweight import Final


@contextlib.contextmanager
def pause_collector() -> Iterator[None]:
    """Pause the cyclic garbage collector; at the end, new objects count as long-lived if they are many.

    Reading, declaring and grounding create hundreds of thousands of lists and atoms, all of them kept and none in a
    cycle. Traversing them again and again would take up to half of the time.
    """
    if not gc.isenabled():
        yield
        return
    Keeper.collect_if_due()
    gc.disable()
    try:
        yield
    finally:
        if gc.get_count()[0] > FEW:
            Keeper().keep()
        gc.enable()


AGAIN: Final = 1.0
"""Seconds for which objects that other code has frozen are not counted again: counting a million takes 30 ms."""
FEW: Final = 10_000
"""Number of new objects up to which they stay young: the collector looks through them in 0.3 ms."""
MANY: Final = 300_000
"""Least number of objects made long-lived between two full collections: 30 MB, if all of them are garbage."""


class Keeper:
    """Makes objects long-lived, unless other code has frozen objects: these would be unfrozen.

    The collector does not count such objects, and would never look for garbage among them: `collect_if_due` does.
    """

    _frozen_at = -AGAIN
    _kept = 0
    """Number of objects made long-lived since the last full collection here."""
    _lasting = 0
    """Number of objects after that collection."""

    def __init__(self) -> None:
        now = time.monotonic()
        if now >= Keeper._frozen_at + AGAIN and gc.get_freeze_count():
            Keeper._frozen_at = now
        self._may = now >= Keeper._frozen_at + AGAIN

    def keep(self) -> None:
        """Move all objects to the oldest generation.

        This resets the count by which the collector finds that the oldest generation is due, so what other code has
        moved there since the last time is counted here, too.
        """
        if self._may:
            young, middle, oldest = gc.get_count()
            size, number, _ = gc.get_threshold()
            Keeper._kept += young + size * (middle + number * oldest)
            gc.freeze()
            gc.unfreeze()

    @classmethod
    def collect_if_due(cls) -> None:
        """Collect all garbage if many objects were made long-lived, and half as many as there were last time."""
        if cls._kept > max(MANY, cls._lasting // 2):
            gc.collect()
            cls._kept, cls._lasting = 0, len(gc.get_objects())
