"""Decide: from a problem with uncertain outcomes to a policy with its values and bounds.

`decide` grounds the Markov decision process, lets the searches for policies take turns, and validates the result.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from decimal import Decimal
from functools import partial

from planner.compilations.trajectory_constraints import constraint_of
from planner.errors import InputError, UnsupportedError, did_you_mean
from planner.garbage_collection import pause_collector
from planner.lightweight import Any, Final, cast, replace
from planner.limits import LimitReached, Limits, check_limits, never
from planner.model import Formula, Number, Problem
from planner.model.constructs import CONSTRAINED, Construct, Service, has, name_refused
from planner.model.domain import creates_objects, lists_patterns
from planner.model.problem import NumericMetric, find_constraint_on_unknown, is_numeric, is_temporal
from planner.options import check_simulations
from planner.plan import Statistics, Status, StoppedBy
from planner.policies.decision import GUIDE, Aim, Decision, Hopes, Objective
from planner.policies.evaluation import evaluate
from planner.policies.lao_star import Bounds, Check, Search, search_all_states, search_promising_states
from planner.policies.layered_process import LayeredProcess
from planner.policies.markov_decision_process import Graph, Option, Process
from planner.policies.policy import Policy
from planner.policies.policy_extraction import policy_of
from planner.policies.policy_iteration import find_best_policy
from planner.policies.policy_mcts import EXPLORATION, make_hopes, search_by_simulations, solve_known_part
from planner.policies.process_grounding import process_of
from planner.policies.replanning import search_by_plans
from planner.problem_kinds import AnyProblem, classical_of, is_other_problem, resolve_problem, service_of
from planner.semantics.turns import may_last_longer, refused_in_turn

LOOKING: Final = 0.6
"""Fraction of the time limit for the searches; the rest is for extracting a policy from the expanded graph."""
MAKING: Final = 0.9
"""Fraction of the time left at a limit for solving the expanded graph; the rest is for writing the policy."""
SAME: Final = 1e-6
"""Largest relative difference between two computations of the same value."""

PLANS: Final = "plans"
"""The search that follows plans for lucky outcomes: it has a policy soon and proves nothing."""

SIMULATIONS: Final = "mcts"
"""Monte Carlo tree search. Its kernels treat rewards below 1e-9 as 0, so that another search must prove that a problem
is unsolvable."""

Turn = tuple[str, Search]
"""The name of a search, and the search; turns with the same name continue on the same graph."""


class Decider:
    """The process of a problem, with the graph and the bounds of each search that has had a turn."""

    def __init__(
        self,
        problem: AnyProblem,
        objective: Objective,
        penalty: Number | None,
        limits: Limits,
        source: AnyProblem | None = None,
    ) -> None:
        self.problem, self.objective, self.limits = problem, objective, limits
        self.source = source
        """The problem whose actions create objects, for which `problem` has placeholders."""
        self.penalty = None if penalty is None else float(penalty)
        self.process: Process | None = None
        self.known: dict[str, tuple[Graph, Bounds]] = {}
        self.ground_seconds = 0.0
        self.planned: Policy | None = None
        """The policy of the search by plans, once another search has had a turn after it."""

    def run(self, turns: Sequence[Turn]) -> Decision:
        """Run the searches of `turns` one after the other until one has a policy; return the decision."""
        search = turns[-1][0]
        try:
            self.process = _process_of(self.problem, self.limits, pooled=self.source is not None)
            self.ground_seconds = self.limits.elapsed
            limit = self.limits.remaining
            part = self.limits.part(None if limit is None else limit * LOOKING)
            turns = _turns_for(self.process, turns)
            search, chosen = self._run_turns(self.process, turns, part)
            policy = policy_of(self.known[search][0], chosen, self.source or self.problem, part.check)
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
            policy = self._policy_at_limit(search)
        if self.planned is not None and not self.known[search][1].proved and self._is_better(self.planned, policy):
            return self._make_decision(self.planned, stopped_by, PLANS)
        return self._make_decision(policy, stopped_by, search)

    def _is_better(self, one: Policy, other: Policy) -> bool:
        """Return whether `one` is better than `other`."""
        return self._charges(one) < self._charges(other)

    def _charges(self, policy: Policy) -> tuple[float, ...]:
        if self.objective is Objective.COST and self.penalty is not None:
            return (policy.cost + self.penalty * (1 - policy.success),)
        utility = -policy.utility if self.objective is Objective.UTILITY else 0.0
        return round(-policy.success, 9), round(utility, 9), policy.cost

    def _run_turns(self, process: Process, turns: Sequence[Turn], part: Limits) -> tuple[str, Sequence[Option | None]]:
        """Run the searches of `turns` until one has a policy; return its name and the options of the policy."""
        for name, search in turns:
            if name not in self.known:
                self.known[name] = self._start_search(process, name)
            solution = search(*self.known[name], part.check)
            if solution is not None and name == SIMULATIONS and self._is_hopeless(name):
                return self._run_turns(process, [("lao", search_promising_states)], part)
            if solution is not None:
                return name, solution.chosen
            if name == PLANS:
                self.planned = self._policy_of_plans(part.check)
        raise AssertionError("the last search must return a policy")

    def _is_hopeless(self, *searches: str) -> bool:
        """Return whether one of `searches` has proved that the goal cannot be reached."""
        known = [self.known[name] for name in searches if name in self.known]
        return any(graph.aim.rewards and bounds.values[0] <= 0 for graph, bounds in known)

    def _policy_of_plans(self, check: Check) -> Policy:
        graph, _ = self.known[PLANS]
        return policy_of(
            graph,
            find_best_policy(graph.closed_options(), graph.aim.rewards, check).chosen,
            self.source or self.problem,
            check,
        )

    def _start_search(self, process: Process, search: str) -> tuple[Graph, Bounds]:
        units = process.task.resolution
        aim = Aim(process, self.objective, None if self.penalty is None else self.penalty * units)
        if search != "vi" and process.task.unreachable_goal is None:
            check = self.limits.check
            if isinstance(process, LayeredProcess):
                aim.hopes = process.make_hopes(check) if process.has_hopes else None
            elif process.is_guided:
                aim.hopes = make_hopes(aim, check) if search == SIMULATIONS else Hopes(process, check)
        graph = Graph(process, aim)
        first = graph.options[0][0]
        if search == PLANS:
            aim.hopes = None
        return graph, Bounds((*first.worth, first.cost))

    def _policy_at_limit(self, search: str) -> Policy:
        """Return the best policy that stops in unexpanded nodes.

        If there is no time to compute that, return the policy of the latest solution, which was optimistic there.
        """
        graph, bounds = self.known[search]
        chosen: Sequence[Option | None] = () if bounds.solution is None else bounds.solution.chosen
        if self.limits.cancel is None or not self.limits.cancel.is_set():
            limit = self.limits.remaining
            part = self.limits.part(None if limit is None else limit * MAKING)
            with contextlib.suppress(LimitReached):
                if search == SIMULATIONS:
                    chosen = solve_known_part(graph, bounds, part.check).chosen
                else:
                    chosen = find_best_policy(graph.closed_options(), graph.aim.rewards, part.check).chosen
        return policy_of(graph, chosen, self.source or self.problem, never)

    def _make_decision(self, policy: Policy, stopped_by: StoppedBy, search: str) -> Decision:
        graph, bounds = self.known[search]
        aim, values = graph.aim, min([each.values for _, each in self.known.values()], key=_tightness)
        success = min(1.0, values[0]) if aim.rewards else 1.0
        settled = not aim.rewards or policy.success >= success - SAME
        cost = self._cost_bound(values[-1], aim.process, settled=settled)
        status = Status.OPTIMAL if bounds.proved else Status.SOLVED
        if self._is_hopeless(*(name for name in self.known if name != SIMULATIONS)):
            status, cost = Status.UNSOLVABLE, float("inf")
            if self._is_open():
                status = Status.UNKNOWN
        elif aim.rewards and policy.success <= 0:
            status = Status.UNKNOWN
        if status is Status.OPTIMAL and policy.is_ambiguous:
            status = Status.SOLVED
        classical = classical_of(self.problem)
        takes_turns = is_temporal(classical) or has(classical, Construct.DEADLINE)
        if status in (Status.OPTIMAL, Status.SOLVED) and takes_turns:
            status, success = Status.SOLVED, 1.0  # steps at once might do better: nothing bounds these
            cost = self._cost_bound(0.0, aim.process, settled=False)
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
            self._explain_status(aim, status, policy, bounds),
            self._statistics(search),
        )

    def _is_open(self) -> bool:
        """Return whether other policies than the searched ones, or other facts than the known ones, may reach the goal.

        The searched policies do one step after another, which may miss a deadline that steps at once would meet.
        """
        process, classical = self.process, classical_of(self.problem)
        if has(classical, Construct.UNKNOWN):
            return True
        in_time = has(classical, Construct.DEADLINE) or is_temporal(classical)
        if not in_time or process is None:
            return in_time
        return process.task.unreachable_goal is None or may_last_longer(classical)

    @staticmethod
    def _cost_bound(value: float, process: Process, *, settled: bool) -> float:
        """Return the lower bound of the cost; that of all policies unless the bounds of the rewards are `settled`."""
        least = 0.0 if process.is_bounded else float("-inf")
        return ((value if settled else least) + process.offset) / process.task.resolution

    def _explain_status(self, aim: Aim, status: Status, policy: Policy, bounds: Bounds) -> str:
        goal = aim.process.task.unreachable_goal
        if status is Status.SOLVED and policy.is_ambiguous:
            return "some states differ in nothing that a policy looks at"
        if status is Status.UNKNOWN and bounds.proved and self._is_open():
            if has(classical_of(self.problem), Construct.UNKNOWN):
                return "no policy ever comes to know that it has reached the goal"
            return "no policy that does one step after another is in time"
        if status is Status.UNSOLVABLE:
            return _describe_unsolvable(goal, classical_of(self.problem))
        if bounds.simulations and not bounds.proved:
            return f"{bounds.simulations} simulations were made"
        if bounds.plans and not bounds.proved:
            runs, reached = bounds.tried
            found = f"{bounds.plans} plans were looked for"
            again = f"; of {runs} runs that plan again where the policy ends, {reached} reached the goal"
            return found + (again if runs else "")
        classical = classical_of(self.problem)
        if status in (Status.OPTIMAL, Status.SOLVED) and (is_temporal(classical) or has(classical, Construct.DEADLINE)):
            return "one step is done after another: steps at once might do better"
        if self.objective is Objective.COST and aim.rewards and policy.success < 1 - SAME:
            return "success comes first, as it is not certain and no penalty says what giving up costs"
        return ""

    def _is_validated(self, policy: Policy) -> bool:
        """Evaluate `policy` on the declared problem; return False where time does not allow it, or it is ambiguous.

        Raises `RuntimeError` for different values: that is an internal error.
        """
        try:
            if policy.is_ambiguous:
                return False
            worth = evaluate(policy.problem, policy, self.limits.check)
        except LimitReached:
            return False
        pairs = [(policy.success, worth.success), (policy.cost, worth.cost), (policy.utility, worth.utility)]
        for ours, theirs in pairs:
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


def _describe_unsolvable(goal: Formula | None, problem: Problem) -> str:
    """Return why the goal cannot be reached; `goal` is the part of it that cannot, if that is known."""
    if goal is None:
        return "no outcomes lead to the goal" + (" within the constraints" if has(problem, *CONSTRAINED) else "")
    constraint = constraint_of(goal, problem)
    if constraint is not None:
        return f"nothing can keep this constraint: {constraint}"
    return f"nothing makes this part of the goal true: {goal}"


def _tightness(values: tuple[float, ...]) -> tuple[float, ...]:
    """Return a key that is smaller for tighter bounds: upper bounds of rewards, and a lower bound of the cost."""
    *rewards, cost = values
    return (*[round(each, 9) for each in rewards], -cost)


SEARCHES: Final[dict[str, Search]] = {
    "lao": search_promising_states,
    "vi": search_all_states,
    "mcts": search_by_simulations,
    PLANS: search_by_plans,
}
SHARE: Final = 0.35
"""Fraction of the time limit for the search by plans, which gives a good policy early."""
PLANNING: Final = 10.0
"""Most seconds for the search by plans, in its turn."""
ALONE: Final = 0.5
"""Fraction of the time limit for the search by plans where it is the only search."""


def decide(
    problem: AnyProblem,
    *,
    objective: Objective = Objective.SUCCESS,
    penalty: Number | None = None,
    search: str | None = None,
    simulations: int | None = None,
    seed: int = 0,
    exploration: float | None = None,
    time_limit: float | None = 10.0,
    memory_limit: float | None = None,
    cancel: threading.Event | None = None,
) -> Decision:
    """Find a policy for `problem`, whose actions have uncertain outcomes, and bounds of all policies.

    `penalty` is the cost of giving up, for `Objective.COST`; without one, success comes first. Budgets on the cost and
    on resources hold in every execution. `search` is `lao` (LAO*), `vi` (value iteration over all states), `plans`
    (plans for lucky outcomes, with replanning) or `mcts` (Monte Carlo tree search); without one, they take turns.
    `mcts` stops after so many `simulations`, draws its random numbers from `seed`, and weighs rarely tried steps by
    `exploration` (0.3 by default): the more, the wider it tries, and 0 only follows what looks best. `time_limit` is in
    seconds, `memory_limit` in GiB of the process; None is no limit. Setting `cancel` from any thread ends the search.

    In time, a policy does one step after another; in a hierarchy, it does the tasks. Raises `InputError` for unknown
    searches, for invalid limits, and for mistakes in the problem that only grounding finds.
    """
    _check_arguments(objective, penalty, search)
    check_simulations(search, simulations, seed)
    _check_exploration(exploration, search)
    check_limits(time_limit, memory_limit)
    problem = resolve_problem(problem)
    classical = classical_of(problem)
    refused = find_refusal(problem)
    if refused is not None:
        reason = f"policies do not take {refused[0]}; {refused[1]}"
        return Decision(Status.UNSUPPORTED, StoppedBy.INCOMPLETE, objective, reason=reason)
    weight = EXPLORATION if exploration is None else float(exploration)
    simulating = partial(search_by_simulations, simulations=simulations, seed=seed, exploration=weight)
    planning = partial(search_by_plans, seconds=None if time_limit is None else ALONE * time_limit)
    named = SEARCHES | {"mcts": simulating, PLANS: planning}
    is_layered = is_other_problem(problem) or is_temporal(classical) or creates_objects(classical.domain)
    if is_numeric(classical) or is_layered:
        if search == PLANS:
            what = _name_layer(problem)
            reason = f"the search {search!r} does not take {what}; 'lao', 'vi' and 'mcts' do"
            return Decision(Status.UNSUPPORTED, StoppedBy.INCOMPLETE, objective, reason=reason)
        several = LAYERED_TURNS if is_layered or has(classical, Construct.UNKNOWN) else NUMERIC_TURNS
        turns = several if search is None else [(search, named[search])]
    else:
        turns = _turns(simulating, time_limit) if search is None else [(search, named[search])]
    limits = Limits(time_limit, memory_limit, cancel)
    with pause_collector():
        if creates_objects(classical.domain):
            from planner.policies.created_objects import decide_with_placeholders

            turns = LAYERED_TURNS if search is None else turns
            found = decide_with_placeholders(
                problem, lambda pool, part: Decider(pool, objective, penalty, part, problem), turns, limits
            )
        else:
            found = Decider(problem, objective, penalty, limits).run(turns)
    return _qualify_by_listings(classical, found) if lists_patterns(classical.domain) else found


FEW: Final = 2_000
"""States that value iteration, and later LAO*, may expand in its first turn."""
MANY: Final = 40_000
"""States that value iteration may expand in its second turn."""
NUMERIC_TURNS: Final[list[Turn]] = [
    ("vi", partial(search_all_states, most=FEW)),
    ("lao", partial(search_promising_states, most=FEW)),
    ("vi", partial(search_all_states, most=MANY)),
    ("lao", search_promising_states),
]
"""The turns where there are numbers, which other searches and estimates do not take."""


LAYERED_TURNS: Final[list[Turn]] = [
    ("lao", partial(search_promising_states, most=FEW)),
    ("vi", partial(search_all_states, most=MANY)),
    ("lao", search_promising_states),
]
"""The turns in time and for tasks, where there may be many more states than the best policy looks into."""


def _process_of(problem: AnyProblem, limits: Limits, *, pooled: bool) -> Process:
    """Return the decision process of a problem of any kind.

    With a `pooled` number of placeholders, nothing is left out as irrelevant, and no heuristic gives bounds: both might
    not hold with more placeholders.
    """
    process: Process
    if is_other_problem(problem):
        process = service_of(problem).decision_process(problem, limits)
    else:
        process = process_of(cast("Problem", problem), limits, whole=pooled)
    layer: Process | None = process
    while pooled and layer is not None:
        layer.is_guided = layer.has_hopes = False
        layer = layer.base if isinstance(layer, LayeredProcess) else None
    return process


def _turns_for(process: Process, turns: Sequence[Turn]) -> Sequence[Turn]:
    """Return those of `turns` that take `process`: without a bound of the metric, only all states prove anything.

    Raises `UnsupportedError` where none is left.
    """
    if process.is_bounded:
        return turns
    if len(turns) == 1 and turns[0][0] != "vi":
        what = f"the search {turns[0][0]!r} where no bound of a fluent limits the metric"
        raise UnsupportedError(what, "declare 'low' or 'high' of the function, or search with 'vi'")
    return [("vi", search_all_states)]


def _qualify_by_listings(problem: Problem, found: Decision) -> Decision:
    """Return UNKNOWN without bounds in place of UNSOLVABLE where objects that turn up might reach the goal."""
    from planner.compilations.unlisted_objects import describe_unlisted, may_find_more

    if found.status is not Status.UNSOLVABLE or not may_find_more(problem):
        return found
    reason = "; ".join(filter(None, [found.reason, f"objects may turn up: {describe_unlisted(problem)}"]))
    unknown = replace(found, status=Status.UNKNOWN, stopped_by=StoppedBy.INCOMPLETE, reason=reason)
    return replace(unknown, success_bound=1.0, utility_bound=None, cost_bound=0.0)


def _name_layer(problem: AnyProblem) -> str:
    """Name what the search by plans does not take of `problem`."""
    classical = classical_of(problem)
    if is_other_problem(problem):
        return "tasks"
    if creates_objects(classical.domain):
        return Construct.CREATION.value
    return "time" if is_temporal(classical) else "numbers"


def _turns(simulating: Search, time_limit: float | None) -> list[Turn]:
    """Return the turns of the searches: exact ones on few states, then plans, and simulations for large processes."""
    awhile = PLANNING if time_limit is None else min(PLANNING, SHARE * time_limit)
    return [
        ("vi", partial(search_all_states, most=FEW)),
        (PLANS, partial(search_by_plans, seconds=awhile, alone=False)),
        ("lao", partial(search_promising_states, most=FEW)),
        ("vi", partial(search_all_states, most=MANY)),
        ("mcts", simulating),
    ]


def _check_arguments(objective: Any, penalty: Any, search: str | None) -> None:
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


def _check_exploration(exploration: Any, search: str | None) -> None:
    """Raise `InputError` for an invalid weight of exploration, and for one beside other searches."""
    if exploration is None:
        return
    if isinstance(exploration, bool) or not isinstance(exploration, int | float | Decimal):
        raise InputError(f"`exploration` must be a number, 0 or more, got {exploration!r}")
    if not 0 <= exploration < float("inf"):
        raise InputError(f"`exploration` must be a number, 0 or more, got {exploration}")
    if search != SIMULATIONS:
        raise InputError("`exploration` is for search 'mcts' only", hint="give search='mcts', or no exploration")


def find_refusal(whole: AnyProblem) -> tuple[str, str] | None:
    """Return a construct of a problem of any kind that policies do not take, and a way round; None without one."""
    problem = classical_of(whole)
    doubtful = find_constraint_on_unknown(problem)
    if doubtful is not None:
        return f"constraints on facts declared unknown, such as '{doubtful}'", "constrain what is known"
    if has(problem, Construct.UNKNOWN) and isinstance(problem.metric, NumericMetric):
        return f"unknown facts beside the metric '{problem.metric}'", "solve(…) gives a plan on suppositions"
    if is_temporal(problem) and (refused := refused_in_turn(problem)) is not None:
        return refused
    named = name_refused(problem, Service.POLICIES)
    return (named[0], "solve(…) gives a plan, which supposes their values") if named else None
