"""Another plan, perhaps with less of the soft goals."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from executor.recovery.ladder import Ladder


async def take(ladder: Ladder, about: str) -> bool:
    """Search for another plan from what is believed."""
    return await ladder.replanning.replan(about)
