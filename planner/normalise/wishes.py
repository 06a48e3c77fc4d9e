"""Soft goals and soft constraints, compiled to costs (Keyder and Geffner, 2009): what a plan forgoes, it pays for.

    stage 0 ── steps ─→ stage 0 ── the goal ─→ stage 1 ── wish 0 is granted, or forgone ─→ stage 2 ── … ─→ stage n

A plan that costs least has the most net benefit: the utilities of the wishes that come true, less what its steps cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planner.annotations import Final
from planner.model import COST, TRUE, Action, Formula, Metric, Number, Problem
from planner.normalise.constraints import without_constraints
from planner.normalise.declarations import to_adl, with_items
from planner.normalise.relevant import relevant_part
from planner.normalise.stages import moving, staged
from planner.records import replace

SPENT: Final = "@spent"
"""The resource that a budget on the cost of steps limits, where forgone wishes cost something, too."""
END: Final = "@end"
_GRANT: Final = "@grant-"
_FORGO: Final = "@forgo-"


def without_wishes(problem: Problem, *, whole: bool = False) -> Problem:
    """Return the relevant part of `problem`, or the `whole`, in plain ADL, without soft goals and without constraints.

    Its plans are those of `problem`, each followed by special actions, whose names begin with `@`. What these cost is
    what the wishes are worth that the plan forgoes, if it costs the least.
    """
    plain = without_constraints(to_adl(problem if whole else relevant_part(problem)))
    hard, soft = plain.goal.hard, plain.goal.soft
    plain = with_spending(plain) if COST in plain.budgets else plain
    end = moving(Action(END, requires=hard), END, 0, 1, 0)
    special = [end, *granting([wish.condition for wish in soft], [wish.utility for wish in soft], 1)]
    found = staged(plain, special, hard, 1 + len(soft), first_only=True)
    return found if problem.deadline is None else with_items(found, problem)


def granting(wishes: Sequence[Formula], costs: Iterable[Number], first: int) -> list[Action]:
    """Return special actions that find each wish to hold, or forgo it at its cost, from stage `first` on."""
    return [
        moving(Action(name, requires=condition), name, first + place, first + place + 1, price)
        for place, (wish, cost) in enumerate(zip(wishes, costs, strict=True))
        for name, condition, price in ((granted(place), wish, 0), (forgone(place), TRUE, cost))
    ]


def granted(place: int) -> str:
    """Return the name of the special action that finds the wish at this place to hold."""
    return f"{_GRANT}{place}"


def forgone(place: int) -> str:
    """Return the name of the special action that forgoes the wish at this place."""
    return f"{_FORGO}{place}"


def granted_by(names: Iterable[str]) -> frozenset[int]:
    """Return the places of the wishes that the special actions of `names` find to hold."""
    return frozenset([int(name.removeprefix(_GRANT)) for name in names if name.startswith(_GRANT)])


def with_spending(plain: Problem) -> Problem:
    """Return `plain` with its budget on the cost for a resource, of which steps use what they cost."""
    actions = {
        name: replace(action, uses={**action.uses, SPENT: (1,) if plain.metric is Metric.LENGTH else action.cost})
        for name, action in plain.domain.actions.items()
    }
    budgets = {SPENT if name == COST else name: limit for name, limit in plain.budgets.items()}
    return replace(plain, domain=replace(plain.domain, actions=actions), budgets=budgets)
