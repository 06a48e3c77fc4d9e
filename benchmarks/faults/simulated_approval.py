"""Approval of the steps of a run in a simulated world, with its faults."""

from __future__ import annotations

import asyncio
from typing import Any, Never

from executor.recovery.ask_people import Request
from executor.testing import FaultKind, SimulatedWorld
from planner.model import Atom


class Unprintable:
    """A value that cannot be printed, compared or judged true or false."""

    def _refuse(self, *_: object) -> Never:
        raise ValueError("this value cannot be used")

    __repr__ = __str__ = __bool__ = __len__ = __eq__ = __hash__ = _refuse


class UnprintableError(Exception):
    """An error that cannot be printed."""

    __str__ = __repr__ = Unprintable._refuse  # noqa: SLF001 - the same refusal


async def approve(simulated: SimulatedWorld, request: Request) -> Any:
    """Approve the step of `request`, unless a fault strikes."""
    step = Atom(request.action, tuple(request.arguments.values()))
    struck = simulated.strike(step, source="approval")
    if struck is None:
        return True
    match struck[1].kind:
        case FaultKind.APPROVAL_LATE:
            await asyncio.sleep(struck[1].delay)
            return True
        case FaultKind.APPROVAL_RAISES:
            raise UnprintableError
        case FaultKind.APPROVAL_UNPRINTABLE:
            return Unprintable()
        case _:
            return False
