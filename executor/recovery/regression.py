"""From which points of a plan the rest of it leads to the goal: by regression, in one pass from its end.

What the rest needs is the kernel of a triangle table (Fikes, Hart, Nilsson 1972).
"""

from __future__ import annotations

from collections.abc import Sequence

from planner.model import OPEN, Formula
from planner.plan import Step
from planner.validate import Simulation
from planner.validate.ready import Fixed, Ready, Test, split
from planner.validate.state import Row


def furthest(now: Simulation, steps: Sequence[Step], goal: Formula) -> int | None:
    """Return how many of `steps` can be left out at most, so that the others lead to `goal`; None: no number does.

    Raises `Unclear` where conditions or effects are more than facts.
    """
    rules = now.rules
    lookups, rest = split(rules.compiler.compile(goal), rules.axioms.__contains__)
    if rest or rules.remembered:
        raise Unclear
    needs = _Needs(now)
    works = needs.add([(each.predicate, each.args, each.positive) for each in lookups])
    for number in range(len(steps), -1, -1):
        if not works or not needs.unmet:
            return number if works else None
        if number:
            ready = rules.ready(steps[number - 1])
            if isinstance(ready, str):
                return None
            works = needs.before(ready)
    return None


class Unclear(Exception):  # noqa: N818 - it names what it says
    """What a plan needs cannot be told without going through it."""


class _Needs:
    """The facts that must hold, or must not, so that the rest of a plan works; `unmet` are those that are otherwise."""

    def __init__(self, now: Simulation) -> None:
        self._state = now.world.state
        self._wanted: dict[str, dict[Row, bool]] = {}
        self.unmet: set[tuple[str, Row]] = set()

    def add(self, tests: Sequence[Test]) -> bool:
        """Need what `tests` ask for, too; return whether that goes together."""
        for name, row, holds in tests:
            if self._wanted.setdefault(name, {}).setdefault(row, holds) is not holds:
                return False
            if (row in self._state.table(name).rows) is not holds:
                self.unmet.add((name, row))
        return True

    def before(self, ready: Ready) -> bool:
        """Make these the needs of one more step and what follows it; return whether anything can meet them."""
        if ready.fixed is None or ready.rest:
            raise Unclear
        return self._achieved(ready.fixed) and self.add(ready.tests)

    def _achieved(self, effects: Fixed) -> bool:
        """Need no longer what `effects` bring about; return whether they undo nothing that is needed."""
        made = dict.fromkeys(effects.given, True) | dict.fromkeys(effects.ending, False)
        for pattern in effects.open:
            rows = [row for row in self._wanted.get(pattern.predicate, ()) if _covers(pattern.args, row)]
            made |= {(pattern.predicate, row): False for row in rows if (pattern.predicate, row) not in effects.given}
        for (name, row), holds in made.items():
            wanted = self._wanted.get(name, {}).pop(row, holds)
            if wanted is not holds:
                return False
            self.unmet.discard((name, row))
        return True


def _covers(pattern: Row, row: Row) -> bool:
    return all(mine in (OPEN, other) for mine, other in zip(pattern, row, strict=True))
