"""First steps that no plan needs, but after which a step may be taken that may not come first.

Leaving out what is irrelevant makes a plan cheaper, except for the step that keeps another one from being the first.
Of those that change the same facts that anything reads, the cheapest will do.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from planner.model import Atom, Formula, Problem
from planner.model.formulas import atoms_in
from planner.plan import Step
from planner.validate import Simulation


def irrelevant_firsts(
    simulation: Simulation, relevant: Problem, banned: Collection[Atom], check: Callable[[], None]
) -> list[Step]:
    """Return steps that can be taken now, of actions that `relevant` does not have, none of them `banned`.

    `check` is called now and then.
    """
    read = {atom.predicate for formula in _conditions(relevant) for atom in atoms_in(formula)}
    cheapest: dict[frozenset[Atom], Step] = {}
    for step in simulation.applicable():
        check()
        if step.action in relevant.domain.actions or Atom(step.action, step.arguments) in banned:
            continue
        changes = simulation.changes(step)
        key = frozenset([fact for fact in (*changes.added, *changes.removed) if fact.predicate in read])
        if key not in cheapest or step.cost < cheapest[key].cost:
            cheapest[key] = step
    return list(cheapest.values())


def _conditions(problem: Problem) -> Iterator[Formula]:
    yield problem.goal.hard
    yield from (axiom.condition for axiom in problem.domain.axioms)
    for action in problem.domain.actions.values():
        yield action.requires
        yield from (when.requires for when in action.when)
