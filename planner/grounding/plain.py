"""Actions without parameters are ground as they stand: facts get numbers, and what can be reached is counted off.

So are the tools of most agents. What comes out is what rules and joins make of them (`planner.grounding.ground`), in
microseconds for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planner.grounding.costs import cost_picker
from planner.grounding.instantiate import RawAction
from planner.grounding.joins import Row
from planner.grounding.literals import Literal
from planner.grounding.simplify import RawTask
from planner.model import Action, And, Atom, Formula, Metric, Not, Number, Problem


def plain_task(problem: Problem) -> tuple[RawTask, list[Atom]] | None:
    """Return the reachable part of a plain ADL problem, and the atoms of its facts; a fact may be unreachable.

    None where there are parameters, conditional effects, axioms, or conditions beyond conjunctions of literals.
    """
    domain = problem.domain
    if domain.axioms or any(action.parameters or action.when for action in domain.actions.values()):
        return None
    facts = _Facts()
    actions = []
    for action in domain.actions.values():
        condition, effect = facts.literals(action.requires), facts.each(action.provides)
        if condition is None or effect is None:
            return None
        adds, deletes = [fact for fact in effect if fact >= 0], [~literal for literal in effect if literal < 0]
        actions.append(RawAction(action, (), _cost(action, problem), condition, adds, deletes))
    goal = facts.literals(problem.goal.hard)
    if goal is None:
        return None
    initial = facts.known(problem.initial)
    return RawTask(initial, goal, _reached(actions, initial), []), facts.atoms


def _cost(action: Action, problem: Problem) -> Number:
    cost = action.cost
    if len(cost) == 1 and type(cost[0]) is int and problem.metric is Metric.COST:
        return cost[0]
    return cost_picker(action, problem)(())


class _Facts:
    """Atoms and their numbers, in the order in which they are met."""

    def __init__(self) -> None:
        self.atoms: list[Atom] = []
        self._numbers: dict[tuple[str, Row], int] = {}

    def literals(self, formula: Formula) -> list[Literal] | None:
        """Return the literals of a conjunction; None for any other formula."""
        return self.each(formula.parts if isinstance(formula, And) else (formula,))

    def each(self, parts: Iterable[Formula]) -> list[Literal] | None:
        """Return the literals; None where one is none."""
        found = []
        for part in parts:
            atom = part.part if isinstance(part, Not) else part
            if not isinstance(atom, Atom):
                return None
            key = (atom.predicate, atom.args)
            number = self._numbers.get(key)
            if number is None:
                number = self._numbers[key] = len(self.atoms)
                self.atoms.append(atom)
            found.append(number if atom is part else ~number)
        return found

    def known(self, atoms: Iterable[Atom]) -> set[int]:
        """Return the numbers of those of `atoms` that were met."""
        numbers = self._numbers
        return {numbers[key] for atom in atoms if (key := (atom.predicate, atom.args)) in numbers}


def _reached(actions: Sequence[RawAction], initial: Iterable[int]) -> list[RawAction]:
    """Return the actions that may apply some time if nothing is ever deleted, in their order."""
    waiting: dict[int, list[int]] = {}
    missing = []
    for number, action in enumerate(actions):
        needed = [fact for fact in action.condition if fact >= 0]
        missing.append(len(needed))
        for fact in needed:
            waiting.setdefault(fact, []).append(number)
    seen = set(initial)
    queue = [*seen]
    for number, action in enumerate(actions):
        if not missing[number]:
            queue += [fact for fact in action.adds if fact not in seen]
            seen.update(action.adds)
    while queue:
        for number in waiting.get(queue.pop(), ()):
            missing[number] -= 1
            if not missing[number]:
                queue += [fact for fact in actions[number].adds if fact not in seen]
                seen.update(actions[number].adds)
    return [action for action, left in zip(actions, missing, strict=True) if not left]
