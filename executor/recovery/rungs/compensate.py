"""Undo what the run has done."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from executor.recovery.ladder import Ladder


async def take(ladder: Ladder, about: str) -> bool:
    """Give the run up, and undo its steps, unless open questions may tell what it did."""
    if ladder.state.undecided_questions:
        return False
    await ladder.prove_impossible()
    return await ladder.compensation.plan_undo(about)
