"""Replan, perhaps without some soft goals."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from executor.recovery.ladder import Ladder


async def take(ladder: Ladder, about: str) -> bool:
    """Search for another plan from the believed state."""
    return await ladder.replanning.replan(about)
