"""The rungs of the recovery ladder above another attempt: one file each, with the name of its member of `Rung`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import TYPE_CHECKING, cast

from executor.events.events import Rung

if TYPE_CHECKING:
    from executor.recovery.ladder import Ladder

Take = Callable[["Ladder", str], Awaitable[bool]]
"""Function that takes a rung after the failure of the step with this id; returns whether the run can go on."""


def action_of(rung: Rung) -> Take:
    """Return the function `take` of the module here with the name of `rung`."""
    return cast("Take", import_module(f"{__name__}.{rung.name.lower()}").take)
