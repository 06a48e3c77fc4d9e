"""Patch the plan: find the cheapest way back into it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from executor.recovery.ladder import Ladder


async def take(ladder: Ladder, about: str) -> bool:
    """Patch the plan; if that fails, look everywhere and try again."""
    if await ladder.replanning.patch(about):
        return True
    return await ladder.survey.look_everywhere() and (ladder.reopen_doubt() or await ladder.replanning.patch(about))
