"""From a problem with uncertain outcomes to a policy."""

from __future__ import annotations

import threading
from decimal import Decimal
from functools import partial

from planner.annotations import Any, Final, cast
from planner.budget import Budget, check_limits
from planner.collector import collector_paused
from planner.errors import InputError, UnsupportedError, did_you_mean
from planner.kinds import AnyProblem, is_other_problem
from planner.model import Number, Problem
from planner.model.domain import creates_objects
from planner.plan import Status, StoppedBy
from planner.resolve import resolve_problem
from planner.strategy import check_simulations
from planner.uncertain.aims import Objective
from planner.uncertain.deciding import PLANS, Deciding, Turn
from planner.uncertain.decision import Decision
from planner.uncertain.exact import Search, everything, promising
from planner.uncertain.mcts import simulated
from planner.uncertain.replanning import replanned

SEARCHES: Final[dict[str, Search]] = {
    "lao": promising,
    "vi": everything,
    "mcts": simulated,
    PLANS: replanned,
}
FEW: Final = 2_000
"""So many states are looked into by each exact search first."""
MANY: Final = 40_000
"""So many are all looked into where it is not enough to look into few that are promising."""
SHARE: Final = 0.35
"""This part of the time is for plans, so that there is something good in any case,"""
PLANNING: Final = 10.0
"""and so many seconds at most;"""
ALONE: Final = 0.5
"""this part, where nothing else is asked for."""


def decide(
    problem: AnyProblem,
    *,
    objective: Objective = Objective.SUCCESS,
    penalty: Number | None = None,
    search: str | None = None,
    simulations: int | None = None,
    seed: int = 0,
    time_limit: float | None = 10.0,
    memory_limit: float | None = None,
    cancel: threading.Event | None = None,
) -> Decision:
    """Return the best policy for `problem`, whose actions may come out in several ways, with what is proved about it.

    `objective` says what is best. `penalty` is what giving up costs, for `Objective.COST`; without one, success comes
    first. Budgets on the cost and on resources hold in every execution. `search` is `lao`, which looks into promising
    states only, `vi`, which looks into all, `plans`, which follows plans for lucky outcomes, or `mcts`, which looks
    where simulations lead: it stops after so many `simulations`, and draws its random numbers from `seed`. If none is
    named, they take turns. `time_limit` is in
    seconds, `memory_limit` in GiB of the process; None is no limit; setting `cancel` from any thread ends the work.

    Raises `InputError` for a search that does not exist, for limits that are none, and for mistakes in the problem
    that only grounding shows.
    """
    _check(objective, penalty, search)
    check_simulations(search, simulations, seed)
    check_limits(time_limit, memory_limit)
    if is_other_problem(problem):
        raise UnsupportedError("policies for problems of other kinds than the classical one", "solve gives a plan")
    problem = cast("Problem", resolve_problem(problem))
    construct = unsupported(problem)
    if construct:
        reason = f"policies do not take {construct} yet"
        return Decision(Status.UNSUPPORTED, StoppedBy.INCOMPLETE, objective, reason=reason)
    simulating = partial(simulated, simulations=simulations, seed=seed)
    planning = partial(replanned, seconds=None if time_limit is None else ALONE * time_limit)
    named = SEARCHES | {"mcts": simulating, PLANS: planning}
    turns = _turns(simulating, time_limit) if search is None else [(search, named[search])]
    with collector_paused():
        return Deciding(problem, objective, penalty, Budget(time_limit, memory_limit, cancel)).done(turns)


def _turns(simulating: Search, time_limit: float | None) -> list[Turn]:
    """Return which searches take turns: few states are all looked into; of many, those that matter."""
    awhile = PLANNING if time_limit is None else min(PLANNING, SHARE * time_limit)
    return [
        ("vi", partial(everything, most=FEW)),
        (PLANS, partial(replanned, seconds=awhile, alone=False)),
        ("lao", partial(promising, most=FEW)),
        ("vi", partial(everything, most=MANY)),
        ("mcts", simulating),
    ]


def _check(objective: Any, penalty: Any, search: str | None) -> None:
    if not isinstance(objective, Objective):
        raise InputError(f"{objective!r} is no objective", hint="Objective.SUCCESS, .COST and .UTILITY are")
    if search is not None and search not in SEARCHES:
        hint = did_you_mean(search, SEARCHES) or f"there are {', '.join(SEARCHES)}"
        raise InputError(f"there is no search {search!r} for policies", hint=hint)
    if penalty is not None and not isinstance(penalty, int | float | Decimal):
        raise InputError(f"the penalty for giving up is a number, 0 or more, not {penalty!r}")
    if penalty is not None and not penalty >= 0:
        raise InputError(f"the penalty for giving up is {penalty}, but may not be negative")
    if penalty is not None and objective is not Objective.COST:
        raise InputError("only the objective COST weighs a penalty", hint="objective=Objective.COST, or no penalty")


def unsupported(problem: Problem) -> str:
    """Return what `problem` has that policies do not take; nothing where they take all."""
    return next(
        iter(
            [
                *(["constraints where facts are unknown"] if problem.constraints and problem.unknown else []),
                *(["deadlines"] if problem.deadline is not None else []),
                *(["actions that create objects"] if creates_objects(problem.domain) else []),
            ]
        ),
        "",
    )
