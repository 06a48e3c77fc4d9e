"""Tasks in time: decompositions of sequences of steps, whose schedules keep the order of the tasks.

Each action that lasts is taken as one step (`planner.compilations.sequential_steps`), and the tasks are decomposed as
always. A simple temporal network then lets steps overlap where nothing orders them: neither what they read and write,
nor the networks of the decomposition. A task that comes before another one ends before the other begins. In the order
of their starts, the steps of a plan decompose the tasks as a sequence. Changes at known times are tasks of it, too;
where no schedule fits the first decompositions, a clock is part of the state (`htn.compilations.known_changes`).

Sequences are a restriction: a step may need another one throughout, or a longer one. So their bounds, and that there
is none, are proofs only where no plan is anything else (`_are_all_plans`). What any plan in time to the goal costs,
whatever tasks it is for, is a lower bound in any case; so is, of the makespan, the critical path.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial
from graphlib import TopologicalSorter
from itertools import pairwise

from htn.compilations.known_changes import add_changes, add_clock, put_in, take_out
from htn.model import Decomposition, HtnProblem, Network, Node
from htn.verification.plan_verification import validate
from planner.compilations import Claim, Compiled
from planner.compilations.driver import Driver
from planner.compilations.sequential_steps import compile_sequential, has_known_durations
from planner.errors import PlanError, UnsupportedError
from planner.grounding.action_tables import make_price
from planner.grounding.ground_temporal import find_meetings, ground_temporal, hard_deadlines
from planner.heuristics.critical_path_in_time import bound_makespan
from planner.lightweight import Final, replace
from planner.limits import LimitReached, Limits, never
from planner.model import TRUE, Action, Atom, Goal, Number, Problem, is_temporal
from planner.model.arithmetic import as_number, exact_value
from planner.model.constructs import CONSTRAINED, Construct, Service, has, name_refused, way_round
from planner.model.domain import numeric_fluents
from planner.model.problem import Metric, counts_makespan_alone
from planner.options import Solve, SolveOptions
from planner.plan import Plan, Result, Status, Step, StepTime, StoppedBy, exact_sum, unsupported_result
from planner.scheduling.epoch_order import order_by_epochs
from planner.scheduling.happening_schedule import EVENT, Moment, find_times
from planner.scheduling.waiting import wait_in_turn
from planner.semantics.durations import SEPARATION, has_chosen_durations, least_term
from planner.semantics.snap_actions import SnapProblem, make_snap_problem
from planner.task.ground_task import INFINITY
from planner.validation.timed_replay import TimedReplay, in_turn
from planner.validation.verdict import Verdict


def is_in_time(problem: HtnProblem) -> bool:
    """Return whether `problem` asks for a plan in time: a deadline alone does so as well."""
    return problem.classical.deadline is not None or is_temporal(problem.classical)


UNPROVED: Final = "where times count, plans of tasks are not proved the best: more time does not help"
NO_SEQUENCE: Final = "no sequence of steps decomposes the tasks; plans whose steps need each other were not searched"
NONE_IN_TIME: Final = "no sequence of steps was found that meets the deadlines and windows"
NO_TIMES: Final = "its steps have no times that meet the deadlines"
NO_TREE: Final = "the plan has no decomposition: solve(problem) and validate(problem, plan) give one"
SCHEDULING: Final = 2
"""How many times as long as the time limit the schedule of a plan that was found before its end may take."""
FIRST_SHARE: Final = 0.4
ASSUMED_LIMIT: Final = 30.0
"""Part of the time for sequences without a clock where something happens at known times, and of which limit if none."""


def as_sequences(problem: HtnProblem, check: Callable[[], None] = never) -> HtnProblem:
    """Return the problem whose plans are sequences of the steps of `problem`. Raises as `compile_sequential` does.

    Where plans in time are compared by the costs of their steps alone, so are sequences; else by their durations.
    Changes at known times are tasks of it. Wishes, constraints and budgets are left out.
    """
    classical = compile_sequential(problem.classical, by_costs=isinstance(problem.classical.metric, Metric))
    classical = replace(classical, goal=Goal(classical.goal.hard), constraints=(), budgets={})
    domain = replace(problem.domain, classical=classical.domain)
    sequential = replace(problem, classical=classical, domain=domain, seal=())
    timed = problem.classical
    return add_changes(sequential, timed, make_snap_problem(timed, check)) if timed.timed else sequential


def as_plain_plans(problem: HtnProblem, plan: Plan) -> Iterator[Plan]:
    """Yield what `plan` is as a plan of `as_sequences(problem)`: with changes at known times, there are two choices.

    Steps without times are taken one after another.
    """
    if plan.times and has_chosen_durations(problem.classical.domain):
        from htn.compilations.duration_choices import fix_durations_of

        problem, plan = fix_durations_of(problem, plan)
    sequential, classical = as_sequences(problem), problem.classical
    if not classical.timed:
        yield Plan(price_sequence(sequential, plan.steps), sequential, plan.tree)
        return
    timed = plan if plan.times else replace(in_turn(problem.classical, plan.steps), tree=plan.tree)
    for each in put_in(timed, classical, make_snap_problem(classical)):
        yield Plan(price_sequence(sequential, each.steps), sequential, each.tree)


def without_changes(problem: HtnProblem, plan: Plan) -> Plan:
    """Return a plan of `as_sequences(problem)` without the steps and tasks that are changes at known times."""
    return take_out(plan, make_snap_problem(problem.classical))[0] if problem.classical.timed else plan


def price_sequence(sequential: HtnProblem, steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return `steps` with their costs in the problem of sequences; unknown actions keep theirs."""
    actions = sequential.classical.domain.actions
    return tuple(
        [
            replace(step, cost=make_price(actions[step.action], sequential.classical)(step.arguments))
            if step.action in actions and len(step.arguments) == len(actions[step.action].parameters)
            else step
            for step in steps
        ]
    )


def plan_in_time(problem: HtnProblem, options: SolveOptions, answer: Solve) -> Result | None:
    """Solve `problem` by sequences and their schedules; return None where it asks for no plan in time.

    Wishes, budgets and constraints are compiled away before.
    """
    if not is_in_time(problem):
        return None
    refused = name_refused(problem.classical, Service.TASK_TIME)
    if refused:
        return unsupported_result(f"{refused[0]} in a problem with tasks in time", way_round(Service.TASK_TIME))
    if not has(problem.classical, Construct.SOFT_GOALS, Construct.BUDGETS, *CONSTRAINED):
        return _plan_sequences(problem, options, answer)
    from htn.compilations.parts_in_time import plan_parts_in_time

    return plan_parts_in_time(problem, options, lambda plain, given: _plan_sequences(plain, given, answer))


def _plan_sequences(problem: HtnProblem, options: SolveOptions, answer: Solve) -> Result:
    """Solve `problem`, which is in time without wishes, budgets and constraints."""
    check = partial(check_times, problem)
    if has_chosen_durations(problem.classical.domain):
        from htn.compilations.duration_choices import plan_with_chosen_durations

        def solve_fixed(fixed: HtnProblem, given: SolveOptions) -> Result:
            return _plan_sequences(fixed, given, answer)

        limits = options.limits()
        found = plan_with_chosen_durations(problem, options, solve_fixed, check)
        if found.plan is not None or found.stopped_by is not StoppedBy.INCOMPLETE:
            return found
        options = options.within(limits)
    driver = Driver(problem, options, answer, check)
    try:
        return _search_sequences(driver)
    except UnsupportedError as error:
        return unsupported_result(error.construct, error.hint)
    except LimitReached as limit:
        known = Status.UNKNOWN if driver.plan is None else Status.SOLVED
        return driver.end(Result(known, limit.stopped_by))


def _search_sequences(driver: Driver) -> Result:
    """Return the answer to the problem of `driver`. Raises `UnsupportedError` and `LimitReached`."""
    problem: HtnProblem = driver.problem
    classical, options, limits = problem.classical, driver.options, driver.limits
    sequential = as_sequences(problem, limits.check)
    is_cost, are_all, least = isinstance(classical.metric, Metric), _are_all_plans(problem), None
    longer = replace(limits, time_limit=None if limits.time_limit is None else SCHEDULING * limits.time_limit)

    def lift(plan: Plan) -> Plan:
        return schedule_tasks(problem, plan, longer.check) or plan

    for each, seconds in _choose_searches(problem, sequential, limits):
        claim = Claim(plans=False, bounds=is_cost and are_all and each is sequential)  # a clock leaves sequences out
        found = driver.ask(Compiled(each, lift, claim), limits.part(seconds))
        if each is sequential and are_all:
            if found.status is Status.UNSOLVABLE:
                return found
            least = found.lower_bound
        is_clocked = each is not sequential and _is_in_turn(problem) and not hard_deadlines(classical)
        if are_all and is_clocked and found.lower_bound is not None:  # steps in turn take as long as the clock says
            least = found.lower_bound
        is_late = each is sequential and options.mode != "first" and _has_clock(problem) and not _fits(problem, found)
        if driver.plan is not None and not is_late:
            driver.raise_bound(least if is_cost else _bound_makespan(problem, least, limits))
            if options.mode != "first" and not driver.is_optimal:
                driver.raise_bound(_bound_without_tasks(problem, options, limits))
            return driver.end(_answer(driver, found))
    if found.plan is None and (found.status is not Status.UNSOLVABLE or _is_unreachable(problem, limits)):
        return found
    shortest, deadline = bound_time_of_tasks(problem), classical.deadline
    if deadline is not None and deadline < shortest < INFINITY:
        late = f"every plan takes at least {shortest:g} s, and the deadline is {deadline} s"
        return Result(Status.UNSOLVABLE, StoppedBy.EXHAUSTED, statistics=found.statistics, reason=late)
    reason = NO_SEQUENCE if found.plan is None else NONE_IN_TIME
    return Result(Status.UNKNOWN, StoppedBy.INCOMPLETE, statistics=found.statistics, reason=reason)


def _bound_without_tasks(problem: HtnProblem, options: SolveOptions, limits: Limits) -> Number | None:
    """Return a lower bound on any plan in time to the goal, whatever tasks it is for; None if there is none.

    The search takes as long as all before it, and a second at least.
    """
    if problem.classical.goal.hard == TRUE:
        return None
    return solve_without_tasks(problem, options, limits.part(max(1.0, limits.elapsed))).lower_bound


def solve_without_tasks(problem: HtnProblem, options: SolveOptions, limits: Limits) -> Result:
    """Return the answer for the goal of `problem`, whatever tasks it is for, with the best searches for it."""
    from planner.solve import answer

    plain = options.within(limits, search=None, heuristic=None, engine=None, on_progress=None)
    return answer(problem.classical, plain)


def _are_all_plans(problem: HtnProblem) -> bool:
    """Return whether every plan is a schedule of a sequence of whole steps, each as short as it can be.

    So it is where nothing asks for a plan in time but a deadline, and where all networks are in order.
    """
    classical = problem.classical
    if not is_temporal(classical):
        return True
    if classical.timed or not has_known_durations(classical.domain):
        return False
    return _is_in_turn(problem) and not has_chosen_durations(classical.domain)


def _is_in_turn(problem: HtnProblem) -> bool:
    """Return whether all networks are in order, so that no two steps overlap."""
    networks = [problem.network, *[each.network for each in problem.domain.methods.values()]]
    return all(each.is_sequence for each in networks)


def _is_unreachable(problem: HtnProblem, limits: Limits) -> bool:
    """Return whether no steps in time reach the goal, whatever tasks they are for."""
    with contextlib.suppress(UnsupportedError, LimitReached):
        classical = problem.classical
        return (
            ground_temporal(classical, make_snap_problem(classical, limits.check), limits).source.task.unreachable_goal
            is not None
        )
    return False


def _fits(problem: HtnProblem, found: Result) -> bool:
    """Return whether the best sequence that a search `found` has a schedule; if not, another one may be better."""
    return found.plan is None or schedule_tasks(problem, found.plan) is not None


def _has_clock(problem: HtnProblem) -> bool:
    """Return whether sequences are searched with a clock, too."""
    timed = problem.classical
    is_bound = bool(timed.timed or timed.deadline is not None or hard_deadlines(timed))
    return is_bound and has_known_durations(timed.domain)


def _choose_searches(
    problem: HtnProblem, sequential: HtnProblem, limits: Limits
) -> Iterator[tuple[HtnProblem, float | None]]:
    """Yield the problems of sequences to search, until one has a plan, and how many seconds each may take."""
    timed = problem.classical
    if not _has_clock(problem):
        yield sequential, None
        return
    yield sequential, FIRST_SHARE * (limits.time_limit or ASSUMED_LIMIT)
    yield add_clock(sequential, timed, make_snap_problem(timed, limits.check)), None


def _answer(driver: Driver, found: Result) -> Result:
    """Return what is known of the best plan, after the search that ended as `found`."""
    if driver.is_optimal:
        return Result(Status.OPTIMAL, StoppedBy.EXHAUSTED, statistics=found.statistics)
    if found.stopped_by is not StoppedBy.EXHAUSTED:
        return Result(Status.SOLVED, found.stopped_by, statistics=found.statistics)
    return Result(Status.SOLVED, StoppedBy.INCOMPLETE, statistics=found.statistics, reason=UNPROVED)


def _bound_makespan(problem: HtnProblem, least: Number | None, limits: Limits) -> Number | None:
    """Return a lower bound on the makespan; None where plans are compared by more.

    `least` is that of one step after another, if no plan is anything else; none is shorter than the critical path, or
    than what the tasks take.
    """
    if not counts_makespan_alone(problem.classical):
        return None
    bounds = [] if least is None else [least]
    time = bound_time_of_tasks(problem)
    bounds += [time] if time < INFINITY else []
    with contextlib.suppress(UnsupportedError, LimitReached):
        bounds.append(_find_critical_path(problem.classical, limits))
    return max(bounds, default=None)


def _find_critical_path(problem: Problem, limits: Limits) -> Number:
    """Return the time that any way to the goal of `problem` takes, whatever tasks it is for."""
    task = ground_temporal(problem, make_snap_problem(problem, limits.check), limits)
    if task.source.task.unreachable_goal is not None:
        return 0
    ticks = bound_makespan(task, int(SEPARATION * task.resolution), find_meetings(problem, task)).ticks
    seconds = as_number(exact_value(Fraction(ticks, task.resolution))) if ticks < INFINITY else None
    return 0 if seconds is None else seconds


def bound_time_of_tasks(problem: HtnProblem) -> Number:
    """Return a lower bound, in seconds, of the time that the tasks of `problem` take; `INFINITY` where none ends.

    A task takes as long as its shortest method, and a network as long as its longest chain of tasks. What steps require
    is ignored, so tasks that are not ordered may all run at once.
    """
    times: dict[str, Number] = dict.fromkeys(problem.domain.tasks, INFINITY)
    classical = problem.classical
    changing = {change.fluent.predicate for each in classical.timed for change in each.numbers}
    changing |= numeric_fluents(classical.domain)
    actions = classical.domain.actions.items()
    times |= {name: _find_least_duration(each, classical, changing) for name, each in actions}
    changed = True
    while changed:
        changed = False
        for method in problem.domain.methods.values():
            time = _find_longest_chain(method.network, times)
            if time < times[method.task.predicate]:
                times[method.task.predicate], changed = time, True
    return _find_longest_chain(problem.network, times)


def _find_least_duration(action: Action, problem: Problem, changing: Collection[str]) -> Number:
    """Return a lower bound of the duration of all steps of `action`: of functions, the least value that is stated.

    Functions that are `changing` bound nothing.
    """
    match least_term(action):
        case int() | Decimal() as seconds:
            return max(seconds, 0)
        case Atom(name) if name not in changing:
            return max(min([value for term, value in problem.values.items() if term.predicate == name], default=0), 0)
    return 0


def _find_longest_chain(network: Network, times: Mapping[str, Number]) -> Number:
    """Return the greatest sum of the `times` of tasks of which each comes before the next one."""
    before: list[list[int]] = [[] for _ in network.subtasks]
    for first, second in network.ordering:
        before[second].append(first)
    ends: dict[int, Number] = {}
    order = TopologicalSorter(dict(enumerate(before))).static_order()
    for place in order:
        begin = max([ends[each] for each in before[place]], default=0)
        ends[place] = exact_sum([begin, times.get(network.subtasks[place].task.predicate, 0)])
    return max(ends.values(), default=0)


def schedule_tasks(problem: HtnProblem, plan: Plan, check: Callable[[], None] = never) -> Plan | None:
    """Return `plan`, whose steps can be taken one after another, with the earliest times; None where it is late.

    The order of the tasks of its decomposition is kept. Where the steps may also start as soon as they can, and still
    decompose the tasks, that order is used if it ends earlier. Where steps that overlap decompose the tasks in neither
    order, as preconditions of methods wait for steps of other tasks, they are taken in turn. `check` is called
    regularly, and may raise.
    """
    classical = problem.classical
    try:
        snap = make_snap_problem(classical)
        plan, sequence = take_out(plan, snap)
        steps = [replace(step, cost=0) for step in plan.steps]
        ordered = list(order_steps(problem, plan.tree)) if isinstance(plan.tree, Decomposition) else []
        if classical.timed:
            early = wait_in_turn(classical, snap, steps)
        else:
            early = order_by_epochs(classical, snap, steps, ordered)
        sequences = [each for each in (sequence, early) if each is not None and _has_all(each, snap)]
        ways = [(ordered, False), ([*pairwise(range(len(steps)))], False)]
        # methods may require what a change at a known time brings
        ways += [(ordered, True)] if classical.timed else []
        for before, keeps_changes in ways:
            times = [
                find_times(classical, snap, steps, each, before, keeps_changes=keeps_changes, check=check)
                for each in sequences
            ]
            found = [_time(problem, plan, each) for each in times]
            valid = [each for each in found if each is not None]
            if valid:
                return min(valid, key=lambda each: each.cost)
    except PlanError:
        return None
    return None


def find_earliest(problem: HtnProblem, plan: Plan) -> tuple[StepTime, ...]:
    """Return the earliest times of the steps of `plan`, in their order there. Raises `PlanError` where there are none.

    Of steps that are the same, the first is the earliest.
    """
    if not isinstance(plan.tree, Decomposition):
        raise PlanError(NO_TREE)
    timed = schedule_tasks(problem, plan)
    if timed is None:
        raise PlanError(NO_TIMES)
    times: dict[tuple[str, tuple[str, ...]], list[StepTime]] = {}
    for step, time in zip(timed.steps, timed.times, strict=True):
        times.setdefault((step.action, step.arguments), []).append(time)
    return tuple([times[step.action, step.arguments].pop(0) for step in plan.steps])


def _has_all(sequence: Sequence[Moment], snap: SnapProblem) -> bool:
    """Return whether all changes at known times are in `sequence`."""
    return sum(each.kind == EVENT for each in sequence) == len(snap.events)


def _time(problem: HtnProblem, plan: Plan, times: Sequence[StepTime] | None) -> Plan | None:
    """Return `plan` with its steps at these `times`, in the order of their starts; None where that is not valid."""
    if times is None:
        return None
    order = sorted(range(len(times)), key=lambda place: (times[place].start, place))
    steps = [replace(plan.steps[place], cost=0) for place in order]
    replay = TimedReplay(problem.classical, steps, [times[place] for place in order])
    if not replay.judge(None).valid:
        return None
    tree = plan.tree
    if isinstance(tree, Decomposition):
        tree = tree.move_steps({place: new for new, place in enumerate(order)})
    timed = replace(replay.price(), problem=problem, tree=tree)
    return timed if any(validate(each.problem, each).valid for each in as_plain_plans(problem, timed)) else None


def order_steps(problem: HtnProblem, tree: Decomposition) -> Iterator[tuple[int, int]]:
    """Yield the pairs of steps, by their places in the plan, that the networks of `tree` put in this order."""
    steps = steps_below(tree)
    for _, first, second in order_tasks(problem, tree, steps):
        for earlier in steps[first]:
            for later in steps[second]:
                yield earlier, later


def order_tasks(
    problem: HtnProblem, tree: Decomposition, steps: Sequence[Sequence[int]]
) -> Iterator[tuple[Node | None, int, int]]:
    """Yield pairs of nodes with `steps` below them that one network orders, and the node above (None: the problem).

    These pairs and their transitive closure are the order of the steps: tasks that come to nothing are passed over.
    """
    for node, places, network in _networks(problem, tree):
        following: list[list[int]] = [[] for _ in places]
        for first, second in network.ordering:
            following[first].append(second)
        for first in range(len(places)):
            for second in _pass_over(first, following, [bool(steps[place]) for place in places]):
                yield node, places[first], places[second]


def _pass_over(first: int, following: Sequence[Sequence[int]], has_steps: Sequence[bool]) -> Iterator[int]:
    """Yield the tasks with steps that come after the task `first`, if that has steps, with none such between."""
    seen, stack = set[int](), list(following[first]) if has_steps[first] else []
    while stack:
        place = stack.pop()
        if place not in seen:
            seen.add(place)
            if has_steps[place]:
                yield place
            else:
                stack += following[place]


def steps_below(tree: Decomposition) -> list[list[int]]:
    """Return for each node of `tree` the places of the steps below it."""
    found: list[list[int]] = [[] for _ in tree.nodes]
    order, stack = list[int](), list(tree.roots)
    while stack:
        place = stack.pop()
        order.append(place)
        stack += tree.nodes[place].children
    for place in reversed(order):
        node = tree.nodes[place]
        found[place] = (
            [node.step] if node.step is not None else [step for each in node.children for step in found[each]]
        )
    return found


def _networks(problem: HtnProblem, tree: Decomposition) -> Iterator[tuple[Node | None, tuple[int, ...], Network]]:
    """Yield each node with a network (None: the problem), the nodes of the tasks of the network, and the network."""
    yield None, tree.roots, problem.network
    for node in tree.nodes:
        if node.step is None:
            yield node, node.children, problem.domain.methods[node.method].network


def check_times(problem: HtnProblem, plan: Plan) -> Verdict:
    """Return the verdict on the times of `plan`, whose steps decompose the tasks of `problem` as a sequence.

    A plan without times gets the earliest ones.
    """
    classical = problem.classical
    timed = plan if plan.times or not plan.steps else schedule_tasks(problem, plan)
    if timed is None:
        return Verdict(valid=False, cost=plan.cost, reason=NO_TIMES)
    verdict = TimedReplay(classical, timed.steps, timed.times).judge(None)
    if not verdict.valid or not isinstance(timed.tree, Decomposition):
        return verdict
    for earlier, later in order_steps(problem, timed.tree):
        if timed.times[earlier].end > timed.times[later].start:
            names = f"step {earlier + 1} {timed.steps[earlier]}", f"step {later + 1} {timed.steps[later]}"
            reason = f"{names[1]} starts at {timed.times[later].start}, before {names[0]} of an earlier task has ended"
            return Verdict(valid=False, cost=verdict.cost, reason=reason, failing_step=later + 1)
    return verdict
