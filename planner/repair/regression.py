"""From which points of a plan the rest of it leads to the goal: by regression, in one pass from its end.

What the rest needs is the kernel of a triangle table (Fikes, Hart, Nilsson 1972).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.model import Atom, Formula, Not
from planner.model.formulas import conjunction
from planner.plan import Step
from planner.semantics.condition_solver import Condition, Row, Same, State
from planner.semantics.simulation import Simulation
from planner.semantics.step_effects import CompiledStep, FixedEffects, Test, split_condition


def furthest(now: Simulation, steps: Sequence[Step], goal: Formula) -> int | None:
    """Return how many of `steps` can be left out at most, so that the others lead to `goal`; None: no number does.

    Raises `Unclear` where conditions or effects are more than facts.
    """
    return next((place for place, needs in regressed(now, steps, goal) if not needs.unmet), None)


def needed(now: Simulation, steps: Sequence[Step], goal: Formula) -> Formula:
    """Return what must hold so that `steps`, of which that is clear, lead to `goal`."""
    for place, needs in regressed(now, steps, goal):
        if not place:
            return needs.formula
    raise ValueError("these steps lead to the goal from no state")


def regressed(now: Simulation, steps: Sequence[Step], goal: Formula) -> Iterator[tuple[int, Needs]]:
    """Yield each place in `steps`, the last first, with what all from there on need, while anything can meet that.

    It is one object that changes. Raises `Unclear` where conditions or effects are more than facts.
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
    """What a plan needs cannot be told without going through it."""


class Needs:
    """The facts that must hold, or must not, so that the rest of a plan works; `unmet` are those that are otherwise."""

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
        """Need what `tests` ask for, too; return whether that goes together."""
        for name, row, holds in tests:
            if self._wanted.setdefault((name, row), holds) is not holds:
                return False
            self._rows.update((), [Atom(name, row)])
            if (row in self._state.table(name).rows) is not holds:
                self.unmet.add((name, row))
        return True

    def before(self, ready: CompiledStep) -> bool:
        """Make these the needs of one more step and what follows it; return whether anything can meet them."""
        if ready.fixed is None:
            raise Unclear
        return all(_same(part, ready) for part in ready.rest) and self._achieved(ready.fixed) and self.add(ready.tests)

    def _achieved(self, effects: FixedEffects) -> bool:
        """Need no longer what `effects` bring about; return whether they undo nothing that is needed."""
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


def _same(part: Condition, ready: CompiledStep) -> bool:
    """Return whether `part` holds, which asks whether two arguments are the same object."""
    if not isinstance(part, Same):
        raise Unclear
    return (ready.binding.get(part.left, part.left) == ready.binding.get(part.right, part.right)) is part.positive
