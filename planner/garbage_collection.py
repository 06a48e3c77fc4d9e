"""The garbage collector, kept still where it can find nothing."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def collector_paused() -> Iterator[None]:
    """Switch the cyclic garbage collector off for a while.

    Reading, declaring and grounding make hundreds of thousands of lists and atoms, all of them kept and none in a
    cycle; walking them again and again takes up to half of the time. At the end they pass as long-lived.
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
    """Lets what exists pass as long-lived, unless somebody else has frozen objects: these would thaw."""

    def __init__(self) -> None:
        self._may = not gc.get_freeze_count()

    def keep(self) -> None:
        """Spare the collector the way through what is new."""
        if self._may:
            gc.freeze()
            gc.unfreeze()
