"""Regresses the goal through a plan: which suffixes of it lead from the present state to the goal.

What a suffix needs is a kernel of the triangle table (Fikes, Hart and Nilsson, 1972). One pass from the end finds all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.model import Atom, Formula, Not
from planner.model.formulas import conjunction
from planner.plan import Step
from planner.semantics.condition_solver import Condition, Row, Same, State
from planner.semantics.simulation import Simulation
from planner.semantics.step_effects import CompiledStep, FixedEffects, Test, split_condition


def find_furthest_reentry(now: Simulation, steps: Sequence[Step], goal: Formula) -> int | None:
    """Return the largest number of first `steps` to drop so that the others lead to `goal`; None if no suffix does.

    Raises `Unclear` for conditions or effects that are more than facts.
    """
    return next((place for place, needs in regress_suffixes(now, steps, goal) if not needs.unmet), None)


def regress_goal(now: Simulation, steps: Sequence[Step], goal: Formula) -> Formula:
    """Return the condition under which `steps` lead to `goal`; raises as `regress_suffixes` does, and `ValueError`."""
    for place, needs in regress_suffixes(now, steps, goal):
        if not place:
            return needs.formula
    raise ValueError("these steps lead to the goal from no state")


def regress_suffixes(now: Simulation, steps: Sequence[Step], goal: Formula) -> Iterator[tuple[int, Needs]]:
    """Yield each place in `steps`, the last first, with the needs of the suffix from there, while these are consistent.

    The needs are one object that changes. Raises `Unclear` for conditions or effects that are more than facts.
    """
    rules = now.rules
    lookups, rest = split_condition(rules.compiler.compile(goal), rules.axioms.__contains__)
    if rest or rules.remembered:
        raise Unclear
    needs = Needs(now)
    works = needs.add([(each.predicate, each.args, each.positive) for each in lookups])
    for number in range(len(steps), -1, -1):
        if not works:
            return
        yield number, needs
        if number:
            ready = rules.compile_step(steps[number - 1])
            works = not isinstance(ready, str) and needs.before(ready)


class Unclear(Exception):
    """Regression cannot tell the needs of a plan: conditions or effects are more than facts."""


class Needs:
    """The facts that must hold, or must not, for a suffix of a plan to work; `unmet` are those that differ now."""

    def __init__(self, now: Simulation) -> None:
        self._state = now.world.state
        self._rows = State()
        self._wanted: dict[tuple[str, Row], bool] = {}
        self.unmet: set[tuple[str, Row]] = set()

    @property
    def formula(self) -> Formula:
        """The needs as a condition."""
        facts = ((Atom(*key), holds) for key, holds in self._wanted.items())
        return conjunction([fact if holds else Not(fact) for fact, holds in facts])

    def add(self, tests: Sequence[Test]) -> bool:
        """Add the facts of `tests`; return whether the needs are consistent."""
        for name, row, holds in tests:
            if self._wanted.setdefault((name, row), holds) is not holds:
                return False
            self._rows.update((), [Atom(name, row)])
            if (row in self._state.table(name).rows) is not holds:
                self.unmet.add((name, row))
        return True

    def before(self, ready: CompiledStep) -> bool:
        """Regress the needs through one more step in front; return whether they are consistent."""
        if ready.fixed is None:
            raise Unclear
        return (
            all(_decide_equality(part, ready) for part in ready.rest)
            and self._remove_achieved(ready.fixed)
            and self.add(ready.tests)
        )

    def _remove_achieved(self, effects: FixedEffects) -> bool:
        """Remove the needs that `effects` achieve; return whether the effects undo none."""
        made = dict.fromkeys(effects.given, True) | dict.fromkeys(effects.ending, False)
        for pattern in effects.open:
            rows = [(fact.predicate, fact.args) for fact in self._rows.matching(pattern)]
            made |= {key: False for key in rows if key not in effects.given}
        for key, holds in made.items():
            if self._wanted.pop(key, holds) is not holds:
                return False
            self.unmet.discard(key)
        self._rows.update([Atom(*key) for key in made], ())
        return True


def _decide_equality(part: Condition, ready: CompiledStep) -> bool:
    """Return whether the (in)equality `part` holds; raises `Unclear` for another condition."""
    if not isinstance(part, Same):
        raise Unclear
    return (ready.binding.get(part.left, part.left) == ready.binding.get(part.right, part.right)) is part.positive
