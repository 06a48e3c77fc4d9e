"""Continue another candidate plan that fits the believed state."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from executor.recovery.ladder import Ladder


async def take(ladder: Ladder, about: str) -> bool:
    """Go on with another candidate, if one fits."""
    return await ladder.replanning.take_candidate(about)
