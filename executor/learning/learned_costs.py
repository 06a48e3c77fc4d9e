"""What planning in a run knows of earlier runs: problems are searched with what was learned of their actions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from executor.journal import Journal
from executor.learning.experience import Experience
from executor.learning.learned_action import Learning
from planner.compilations.determinization import expected_costs
from planner.errors import InputError
from planner.lightweight import replace
from planner.model import Problem
from planner.problem_kinds import is_other_problem

OPTIMISTIC: Final = Learning(explore="optimistic")
"""How runs learn that are to, where nothing else is said: what may be better is tried."""
Learned = bool | Learning | Experience
"""Whether planning knows of earlier runs: those in the journal, how much is made of them, or what was learned."""


@dataclass(slots=True)
class Pricing:
    """Gives problems the expected costs of their actions, by `experience`, and what the `journal` has by now."""

    experience: Experience
    journal: Journal | None = None

    @classmethod
    def of(cls, learned: Any, journal: Journal | None) -> Pricing | None:
        """Return what is asked for by `learned`; None where nothing is. Raises `InputError` where nothing is known."""
        if learned is False:
            return None
        if isinstance(learned, Experience):
            return cls(learned, journal)
        if not isinstance(learned, bool | Learning):
            hint = "True or False, a Learning, or an Experience"
            raise InputError(f"{learned!r} does not say what is learned", hint=hint)
        if journal is None:
            raise InputError("what runs have shown is learned from a journal", hint="Executor(world, 'runs.db', …)")
        return cls(Experience(learned if isinstance(learned, Learning) else OPTIMISTIC), journal)

    def learned(self, problem: Any) -> Any:
        """Return `problem` with actions as they were seen; raises `JournalError`, and `InputError` as they apply."""
        if self.journal is not None:
            self.experience.read(self.journal)
        return self.experience.applied_to(problem)

    def priced(self, problem: Any) -> Any:
        """Return `problem` with the costs of its actions until they come out as intended; raises as `learned`."""
        found = self.learned(problem)
        if isinstance(found, Problem):
            return expected_costs(found)
        if not is_other_problem(found):
            return found
        classical = expected_costs(found.classical)
        whole: Any = found
        return replace(whole, domain=replace(whole.domain, classical=classical.domain), classical=classical)
