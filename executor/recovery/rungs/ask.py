"""Ask a person what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from executor.events.answers import RETRY
from executor.events.events import Rung, RungTaken

if TYPE_CHECKING:
    from executor.recovery.ladder import Ladder


async def take(ladder: Ladder, about: str) -> bool:
    """Ask whether to try again, and replan if so; fail if there is nobody to ask."""
    if ladder.asking.ask is None:
        return False
    if await ladder.questions.ask_for_another_try(about, ladder.reasons) != RETRY:
        return False
    ladder.emit(RungTaken(Rung.ASK, about, "somebody says that it is worth another try"))
    return await ladder.replanning.plan_again(about)
