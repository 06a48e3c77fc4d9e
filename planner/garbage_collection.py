"""Pauses of the garbage collector where it would find nothing."""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Iterator

from planner.lightweight import Final


@contextlib.contextmanager
def pause_collector() -> Iterator[None]:
    """Pause the cyclic garbage collector; at the end, all new objects count as long-lived.

    Reading, declaring and grounding create hundreds of thousands of lists and atoms, all of them kept and none in a
    cycle. Traversing them again and again would take up to half of the time.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        Keeper().keep()
        gc.enable()


AGAIN: Final = 1.0
"""Seconds for which objects that other code has frozen are not counted again: counting a million takes 30 ms."""


class Keeper:
    """Makes objects long-lived, unless other code has frozen objects: these would be unfrozen."""

    _frozen_at = -AGAIN

    def __init__(self) -> None:
        now = time.monotonic()
        if now >= Keeper._frozen_at + AGAIN and gc.get_freeze_count():
            Keeper._frozen_at = now
        self._may = now >= Keeper._frozen_at + AGAIN

    def keep(self) -> None:
        """Move all objects to the oldest generation."""
        if self._may:
            gc.freeze()
            gc.unfreeze()
