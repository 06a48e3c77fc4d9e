"""Pauses of the garbage collector where it would find nothing."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


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


class Keeper:
    """Makes objects long-lived, unless other code has frozen objects: these would be unfrozen."""

    def __init__(self) -> None:
        self._may = not gc.get_freeze_count()

    def keep(self) -> None:
        """Move all objects to the oldest generation."""
        if self._may:
            gc.freeze()
            gc.unfreeze()
