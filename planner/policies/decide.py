"""Decide: from a problem with uncertain outcomes to a policy and what it is worth.

`decide` makes the Markov decision process, lets its searches take turns, and says what is proved at the end.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from decimal import Decimal
from functools import partial

from planner.compilations.trajectory_constraints import constraint_of
from planner.errors import InputError, UnsupportedError, did_you_mean
from planner.garbage_collection import collector_paused
from planner.lightweight import Any, Final, cast
from planner.limits import LimitReached, Limits, check_limits, never
from planner.model import Formula, Number, Problem
from planner.model.domain import creates_objects
from planner.options import check_simulations
from planner.plan import Statistics, Status, StoppedBy
from planner.policies.decision import GUIDE, Aim, Decision, Hopes, Objective
from planner.policies.evaluation import evaluate
from planner.policies.lao_star import Bounds, Check, Search, everything, promising
from planner.policies.markov_decision_process import Graph, Option, Process, process_of
from planner.policies.policy import Policy
from planner.policies.policy_extraction import policy_of
from planner.policies.policy_iteration import best_policy
from planner.policies.policy_mcts import best_known, hopes_for, simulated
from planner.policies.replanning import replanned
from planner.problem_kinds import AnyProblem, is_other_problem, resolve_problem

LOOKING: Final = 0.6
"""This part of the time is for looking into states; the rest is for making a policy of what was seen."""
MAKING: Final = 0.9
"""And this part of what is left then is for the best policy."""
SAME: Final = 1e-6
"""Two computations of the same value may differ by this part of it."""

PLANS: Final = "plans"
"""The search that proves nothing, and has a policy soon."""

SIMULATIONS: Final = "mcts"
"""The search whose kernels take rewards below 1e-9 for none: that none can be had is for another search to prove."""

Turn = tuple[str, Search]
"""A search that has a turn, and its name: those of the same name go on with what was seen."""


class Deciding:
    """The process of a problem, and what each search that has had a turn knows of it."""

    def __init__(self, problem: Problem, objective: Objective, penalty: Number | None, limits: Limits) -> None:
        self.problem, self.objective, self.limits = problem, objective, limits
        self.penalty = None if penalty is None else float(penalty)
        self.process: Process | None = None
        self.known: dict[str, tuple[Graph, Bounds]] = {}
        self.ground_seconds = 0.0
        self.planned: Policy | None = None
        """What came of plans, where others had a turn after that."""

    def done(self, turns: Sequence[Turn]) -> Decision:
        """Return what comes of the searches of `turns`, one after the other, until one comes to its end."""
        search = turns[-1][0]
        try:
            self.process = process_of(self.problem, self.limits)
            self.ground_seconds = self.limits.elapsed
            limit = self.limits.remaining
            part = self.limits.part(None if limit is None else limit * LOOKING)
            search, chosen = self._searched(self.process, turns, part)
            policy = policy_of(self.known[search][0], chosen, self.problem, part.check)
            stopped_by = StoppedBy.EXHAUSTED if self.known[search][1].proved else StoppedBy.INCOMPLETE
        except UnsupportedError as error:
            reason = str(error).removeprefix("unsupported: ")
            return Decision(Status.UNSUPPORTED, StoppedBy.INCOMPLETE, self.objective, reason=reason)
        except LimitReached as reached:
            stopped_by = reached.stopped_by
            if not self.known:
                return Decision(Status.UNKNOWN, stopped_by, self.objective, statistics=self._statistics(search))
            search = next(name for name, _ in reversed(turns) if name in self.known)
            if PLANS in self.known and self.planned is None:
                search = PLANS
            policy = self._from_what_is_known(search)
        if self.planned is not None and not self.known[search][1].proved and self._is_better(self.planned, policy):
            return self._decision(self.planned, stopped_by, PLANS)
        return self._decision(policy, stopped_by, search)

    def _is_better(self, one: Policy, other: Policy) -> bool:
        """Return whether `one` is better than `other`."""
        return self._charges(one) < self._charges(other)

    def _charges(self, policy: Policy) -> tuple[float, ...]:
        if self.objective is Objective.COST and self.penalty is not None:
            return (policy.cost + self.penalty * (1 - policy.success),)
        utility = -policy.utility if self.objective is Objective.UTILITY else 0.0
        return round(-policy.success, 9), round(utility, 9), policy.cost

    def _searched(self, process: Process, turns: Sequence[Turn], part: Limits) -> tuple[str, Sequence[Option | None]]:
        """Return the search that came to its end, and the options that are best."""
        for name, search in turns:
            if name not in self.known:
                self.known[name] = self._ready(process, name)
            solution = search(*self.known[name], part.check)
            if solution is not None and name == SIMULATIONS and self._is_hopeless(name):
                return self._searched(process, [("lao", promising)], part)
            if solution is not None:
                return name, solution.chosen
            if name == PLANS:
                self.planned = self._from_plans(part.check)
        raise AssertionError("the last search goes on to the end")

    def _is_hopeless(self, *searches: str) -> bool:
        """Return whether one of `searches` has found that nothing leads to the goal."""
        known = [self.known[name] for name in searches if name in self.known]
        return any(graph.aim.rewards and bounds.values[0] <= 0 for graph, bounds in known)

    def _from_plans(self, check: Check) -> Policy:
        graph, _ = self.known[PLANS]
        return policy_of(graph, best_policy(graph.closed(), graph.aim.rewards, check).chosen, self.problem, check)

    def _ready(self, process: Process, search: str) -> tuple[Graph, Bounds]:
        units = process.task.resolution
        aim = Aim(process, self.objective, None if self.penalty is None else self.penalty * units)
        if search != "vi" and process.task.unreachable_goal is None:
            check = self.limits.check
            aim.hopes = hopes_for(aim, check) if search == SIMULATIONS else Hopes(process, check)
        graph = Graph(process, aim)
        first = graph.options[0][0]
        if search == PLANS:
            aim.hopes = None
        return graph, Bounds((*first.worth, first.cost))

    def _from_what_is_known(self, search: str) -> Policy:
        """Return the best policy that ends where nobody has looked.

        Where time does not even allow that, it is the latest one, which was made in the hope of the best elsewhere.
        """
        graph, bounds = self.known[search]
        chosen: Sequence[Option | None] = () if bounds.solution is None else bounds.solution.chosen
        if self.limits.cancel is None or not self.limits.cancel.is_set():
            limit = self.limits.remaining
            part = self.limits.part(None if limit is None else limit * MAKING)
            with contextlib.suppress(LimitReached):
                if search == SIMULATIONS:
                    chosen = best_known(graph, bounds, part.check).chosen
                else:
                    chosen = best_policy(graph.closed(), graph.aim.rewards, part.check).chosen
        return policy_of(graph, chosen, self.problem, never)

    def _decision(self, policy: Policy, stopped_by: StoppedBy, search: str) -> Decision:
        graph, bounds = self.known[search]
        aim, values = graph.aim, min([each.values for _, each in self.known.values()], key=_tightness)
        success = min(1.0, values[0]) if aim.rewards else 1.0
        settled = not aim.rewards or policy.success >= success - SAME
        cost = values[-1] / aim.process.task.resolution if settled else 0.0
        status = Status.OPTIMAL if bounds.proved else Status.SOLVED
        if self._is_hopeless(*(name for name in self.known if name != SIMULATIONS)):
            status, cost = Status.UNSOLVABLE, float("inf")
            if self.problem.unknown:
                status = Status.UNKNOWN
        elif aim.rewards and policy.success <= 0:
            status = Status.UNKNOWN
        return Decision(
            status,
            stopped_by,
            self.objective,
            None if status in (Status.UNSOLVABLE, Status.UNKNOWN) else policy,
            success,
            values[1] if aim.rewards > 1 else None,
            cost,
            self.penalty,
            self._is_validated(policy),
            self._reason(aim, status, policy, bounds),
            self._statistics(search),
        )

    def _reason(self, aim: Aim, status: Status, policy: Policy, bounds: Bounds) -> str:
        goal = aim.process.task.unreachable_goal
        if status is Status.UNKNOWN and self.problem.unknown and bounds.proved:
            return "no policy ever comes to know that it has reached the goal"
        if status is Status.UNSOLVABLE:
            return _hopeless(goal, self.problem)
        if bounds.simulations and not bounds.proved:
            return f"{bounds.simulations} simulations were made"
        if bounds.plans and not bounds.proved:
            runs, reached = bounds.tried
            found = f"{bounds.plans} plans were looked for"
            again = f"; of {runs} runs that plan again where the policy ends, {reached} reached the goal"
            return found + (again if runs else "")
        if self.objective is Objective.COST and aim.rewards and policy.success < 1 - SAME:
            return "success comes first, as it is not certain and no penalty says what giving up costs"
        return ""

    def _is_validated(self, policy: Policy) -> bool:
        """Compute again what `policy` is worth; False where there is no time for that. Differences are our mistakes."""
        try:
            worth = evaluate(self.problem, policy, self.limits.check)
        except LimitReached:
            return False
        for ours, theirs in [
            (policy.success, worth.success),
            (policy.cost, worth.cost),
            (policy.utility, worth.utility),
        ]:
            if abs(ours - theirs) > SAME * max(1.0, abs(ours)):
                raise RuntimeError(f"internal error: a policy said to be worth {policy} is worth {worth}")
        return True

    def _statistics(self, search: str) -> Statistics:
        task = self.process.task if self.process else None
        graphs = [graph for graph, _ in self.known.values()]
        return Statistics(
            search,
            "" if search == "vi" else GUIDE,
            len(task.facts) if task else 0,
            len(task.actions) if task else 0,
            len(task.variables) if task else 0,
            expanded=sum(sum(graph.inside) for graph in graphs),
            generated=sum(map(len, graphs)),
            ground_seconds=self.ground_seconds,
            search_seconds=self.limits.elapsed - self.ground_seconds,
            simulations=sum(bounds.simulations for _, bounds in self.known.values()),
        )


def _hopeless(goal: Formula | None, problem: Problem) -> str:
    """Return why nothing leads to the goal, of which `goal` cannot be reached, if that is known of a part."""
    if goal is None:
        return "no outcomes lead to the goal" + (" within the constraints" if problem.constraints else "")
    constraint = constraint_of(goal, problem)
    if constraint is not None:
        return f"nothing can keep this constraint: {constraint}"
    return f"nothing makes this part of the goal true: {goal}"


def _tightness(values: tuple[float, ...]) -> tuple[float, ...]:
    """Return what is the less, the more bounds tell: rewards are bounded from above, the cost from below."""
    *rewards, cost = values
    return (*[round(each, 9) for each in rewards], -cost)


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
        return Deciding(problem, objective, penalty, Limits(time_limit, memory_limit, cancel)).done(turns)


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
