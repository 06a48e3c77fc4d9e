"""From a problem with uncertain outcomes to a policy."""

from __future__ import annotations

import threading
from functools import partial

from planner.annotations import Any, Final
from planner.budget import Budget, LimitReached, check_limits
from planner.errors import InputError, UnsupportedError, did_you_mean
from planner.heuristics.kind import never
from planner.kinds import AnyProblem, is_other_problem
from planner.model import Number, Problem
from planner.model.domain import creates_objects
from planner.plan import Statistics, Status, StoppedBy
from planner.strategy import check_simulations
from planner.uncertain.aims import GUIDE, Aim, Hopes, Objective
from planner.uncertain.decision import Decision
from planner.uncertain.evaluation import evaluate
from planner.uncertain.exact import Bounds, Search, everything, promising
from planner.uncertain.following import policy_of
from planner.uncertain.graph import Graph
from planner.uncertain.lexicographic import best_policy
from planner.uncertain.mcts import best_known, simulated
from planner.uncertain.policy import Policy
from planner.uncertain.process import process_of

SEARCHES: Final[dict[str, Search]] = {"lao": promising, "vi": everything, "mcts": simulated}
LOOKING: Final = 0.7
"""This part of the time is for looking into states; the rest is for making a policy of what was seen."""
SAME: Final = 1e-6
"""Two computations of the same value may differ by this part of it."""


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
    states only, `vi`, which looks into all, or `mcts`, which looks where simulations lead: it stops after so many
    `simulations`, and draws its random numbers from `seed`. `time_limit` is in seconds, `memory_limit` in GiB of the
    process; None is no limit; setting `cancel` from any thread ends the work.

    Raises `InputError` for a search that does not exist, for limits that are none, and for mistakes in the problem
    that only grounding shows.
    """
    _check(objective, penalty, search)
    check_simulations(search, simulations, seed)
    check_limits(time_limit, memory_limit)
    if is_other_problem(problem):
        raise UnsupportedError("policies for problems of other kinds than the classical one", "solve gives a plan")
    if not isinstance(problem, Problem):
        raise InputError(f"a {type(problem).__name__} is no problem", hint="load(…) and domain.problem(…) give one")
    construct = unsupported(problem)
    if construct:
        reason = f"policies do not take {construct} yet"
        return Decision(Status.UNSUPPORTED, StoppedBy.INCOMPLETE, objective, reason=reason)
    work = _Work(problem, objective, penalty, Budget(time_limit, memory_limit, cancel))
    return work.done(search or "lao", partial(simulated, simulations=simulations, seed=seed))


def _check(objective: Any, penalty: Any, search: str | None) -> None:
    if not isinstance(objective, Objective):
        raise InputError(f"{objective!r} is no objective", hint="Objective.SUCCESS, .COST and .UTILITY are")
    if search is not None and search not in SEARCHES:
        raise InputError(f"there is no search {search!r} for policies", hint=did_you_mean(search, SEARCHES))
    if penalty is not None and not penalty >= 0:
        raise InputError(f"the penalty for giving up is {penalty}, but may not be negative")
    if penalty is not None and objective is not Objective.COST:
        raise InputError("only the objective COST weighs a penalty", hint="objective=Objective.COST, or no penalty")


def unsupported(problem: Problem) -> str:
    """Return what `problem` has that policies do not take; nothing where they take all."""
    return next(
        iter(
            [
                *(["unknown facts"] if problem.unknown else []),
                *(["constraints"] if problem.constraints else []),
                *(["deadlines"] if problem.deadline is not None else []),
                *(["actions that create objects"] if creates_objects(problem.domain) else []),
            ]
        ),
        "",
    )


class _Work:
    """One decision in the making."""

    def __init__(self, problem: Problem, objective: Objective, penalty: Number | None, budget: Budget) -> None:
        self.problem, self.objective, self.budget = problem, objective, budget
        self.penalty = None if penalty is None else float(penalty)
        self.bounds = Bounds(())
        self.graph: Graph | None = None
        self.ground_seconds = 0.0

    def done(self, search: str, simulating: Search) -> Decision:
        """Return what comes of `search`; `simulating` is how `mcts` is done."""
        stopped_by = StoppedBy.EXHAUSTED
        try:
            graph = self._ready(search)
            limit = self.budget.remaining
            part = self.budget.part(None if limit is None else limit * LOOKING)
            look = simulating if search == "mcts" else SEARCHES[search]
            solution = look(graph, self.bounds, part.check)
            stopped_by = StoppedBy.EXHAUSTED if self.bounds.proved else StoppedBy.INCOMPLETE
            policy = policy_of(graph, solution.chosen, self.problem, part.check)
        except LimitReached as reached:
            stopped_by = reached.stopped_by
            if self.graph is None:
                return Decision(Status.UNKNOWN, stopped_by, self.objective, statistics=self._statistics(search))
            policy = self._from_what_is_known(self.graph, search)
        return self._decision(policy, stopped_by, search)

    def _ready(self, search: str) -> Graph:
        process = process_of(self.problem, self.budget)
        self.ground_seconds = self.budget.elapsed
        units = process.task.resolution
        hopes = (
            None if search == "vi" or process.task.unreachable_goal is not None else Hopes(process, self.budget.check)
        )
        penalty = None if self.penalty is None else self.penalty * units
        aim = Aim(process, self.objective, penalty, hopes)
        self.graph = Graph(process, aim)
        first = self.graph.options[0][0]
        self.bounds = Bounds((*first.worth, first.cost))
        return self.graph

    def _from_what_is_known(self, graph: Graph, search: str) -> Policy:
        """Return the best policy that ends where nobody has looked."""
        if search == "mcts":
            solution = best_known(graph, self.bounds, never)
        else:
            solution = best_policy(graph.closed(), graph.aim.rewards, never)
        return policy_of(graph, solution.chosen, self.problem, never)

    def _decision(self, policy: Policy, stopped_by: StoppedBy, search: str) -> Decision:
        assert self.graph is not None  # noqa: S101 - a policy comes of it
        aim, values = self.graph.aim, self.bounds.values
        success = min(1.0, values[0]) if aim.rewards else 1.0
        settled = not aim.rewards or policy.success >= success - SAME
        cost = values[-1] / aim.process.task.resolution if settled else 0.0
        status = Status.OPTIMAL if self.bounds.proved else Status.SOLVED
        if aim.rewards and success < SAME:
            status, cost = Status.UNSOLVABLE, float("inf")
        elif status is Status.SOLVED and aim.rewards and policy.success < SAME:
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
            self._reason(aim, status, policy),
            self._statistics(search),
        )

    def _reason(self, aim: Aim, status: Status, policy: Policy) -> str:
        goal = aim.process.task.unreachable_goal
        if status is Status.UNSOLVABLE:
            return f"nothing makes this part of the goal true: {goal}" if goal else "no outcomes lead to the goal"
        if self.bounds.simulations and not self.bounds.proved:
            return f"{self.bounds.simulations} simulations were made"
        if self.objective is Objective.COST and aim.rewards and policy.success < 1 - SAME:
            return "success comes first, as it is not certain and no penalty says what giving up costs"
        return ""

    def _is_validated(self, policy: Policy) -> bool:
        """Compute again what `policy` is worth; False where there is no time for that. Differences are our mistakes."""
        budget = Budget(self.budget.remaining, self.budget.memory_limit, self.budget.cancel)
        try:
            worth = evaluate(self.problem, policy, budget.check)
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
        graph = self.graph
        task = graph.process.task if graph else None
        return Statistics(
            search,
            GUIDE if graph and graph.aim.hopes else "",
            len(task.facts) if task else 0,
            len(task.actions) if task else 0,
            len(task.variables) if task else 0,
            expanded=sum(graph.inside) if graph else 0,
            generated=len(graph) if graph else 0,
            ground_seconds=self.ground_seconds,
            search_seconds=self.budget.elapsed - self.ground_seconds,
            simulations=self.bounds.simulations,
        )
