"""The partial order of a plan of tasks: by what its steps and methods read and write, and by its decomposition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from htn.compilations.htn_in_time import NO_TREE, as_plain_plans
from htn.compilations.htn_reductions import add_placeholders_of_steps
from htn.model import Decomposition, HtnProblem
from htn.verification.chart_parsing import verify_overlapping
from htn.verification.decomposition_tree import Events, FlawError, Frame
from htn.verification.plan_verification import Sweep, make_sweep
from htn.verification.supposed_plans import SECONDS, verify_on_suppositions
from planner.errors import PlanError
from planner.lightweight import replace
from planner.limits import Limits
from planner.model import Action
from planner.model.formulas import TRUE, Formula, conjuncts, substitute, with_conjuncts
from planner.partial_order.causal_links import Order, Steps, draw_order, find_order, members
from planner.partial_order.supposed import suppose
from planner.plan import Plan, Step
from planner.problem_kinds import with_classical
from planner.semantics.snap_actions import make_snap_problem
from planner.validation.verdict import Verdict

if TYPE_CHECKING:
    import networkx as nx

TASK = "task"
"""The reason of an order that the tasks and methods ask for."""


def partial_order(problem: HtnProblem, plan: Plan) -> nx.DiGraph[int]:
    """Return the order of the steps of `plan`, which has a decomposition, as `planner.partial_order` does.

    The precondition of a method is read by a step of its own, which is left out of the graph; what orders steps by
    networks or through such a step has the reason "task". Raises `PlanError` for an invalid plan.
    """
    problem, looks = _suppose(add_placeholders_of_steps(problem, plan.steps), plan)
    return _order_steps(problem, plan, looks)


def _order_steps(problem: HtnProblem, plan: Plan, looks: Sequence[tuple[int, int]] = ()) -> nx.DiGraph[int]:
    """Return the order of the steps of `plan`, of which some look before others. Raises `PlanError`."""
    sweep = _sweep(problem, plan)
    order = list(_list_events(sweep, plan))
    actions = dict(problem.classical.domain.actions)
    steps: list[Step] = []
    for event in order:
        number = sweep.events.steps.get(event)
        if number is None:
            test = _make_test(event, sweep)
            actions[test.name] = test
            steps.append(Step(test.name))
        else:
            steps.append(plan.steps[number])
    domain = replace(problem.classical.domain, actions=actions)
    classical = replace(problem.classical, domain=domain, seal=())
    numbers = [0, *[sweep.events.steps.get(event, -1) + 1 for event in order]]
    tasks = _close(order, sweep.events)
    for one, other in looks:
        tasks[numbers.index(other)] |= 1 << numbers.index(one)
    return _project(find_order(classical, Plan(tuple(steps), classical)), tasks, numbers, plan)


def _suppose(problem: HtnProblem, plan: Plan) -> tuple[HtnProblem, list[tuple[int, int]]]:
    """Return `problem` with what `plan` supposes as given, and which steps look before which others, from 1."""
    if not problem.classical.unknown:
        return problem, []
    verdict = verify_on_suppositions(problem, plan)
    _require_valid(verdict)
    looks = [(each.seen, step) for each in verdict.suppositions if each.seen is not None for step in each.steps]
    classical = suppose(problem.classical, verdict.suppositions)
    return replace(with_classical(problem, classical), seal=()), looks


def partial_order_in_time(problem: HtnProblem, plan: Plan) -> nx.DiGraph[tuple[int, str]]:
    """Return the order of the happenings of `plan`, which has times; see `planner.partial_order`."""
    from htn.compilations.htn_in_time import order_steps
    from planner.scheduling.order_in_time import order_in_time

    before = [((one + 1, "end"), (other + 1, "start")) for one, other in order_steps(problem, _tree_of(plan))]
    flaws: list[PlanError] = []
    for plain, kind in zip(as_plain_plans(problem, plan), ("start", "end"), strict=False):
        try:
            order = _order_steps(add_placeholders_of_steps(plain.problem, plain.steps), plain)
        except PlanError as flaw:
            flaws.append(flaw)
            continue
        nodes = list(_name_nodes(plain, kind, plan, problem))
        before += [(nodes[one - 1], nodes[other - 1]) for one, other in order.edges]
        return order_in_time(problem.classical, plan, before)
    # steps that need each other are judged by their times alone
    judge = verify_on_suppositions if problem.classical.unknown else verify_overlapping
    verdict = judge(problem, plan, Limits(SECONDS))
    if verdict is None:
        raise flaws[0]
    _require_valid(verdict)
    return order_in_time(problem.classical, plan, before)


def _require_valid(verdict: Verdict) -> None:
    if not verdict.valid:
        raise PlanError(f"only a valid plan has an order: {verdict.reason}")


def _name_nodes(plain: Plan, kind: str, plan: Plan, problem: HtnProblem) -> Iterator[tuple[int, str]]:
    """Yield what each step of the sequence `plain` is in `plan`: a start or an end, or a change at a known time."""
    events = make_snap_problem(problem.classical).events
    moments = [each.start if kind == "start" else each.end for each in plan.times]
    steps = iter(
        sorted(range(len(moments)), key=lambda place: (moments[place], place)) if events else range(len(moments))
    )
    for step in plain.steps:
        if step.action in events:
            yield events.index(step.action) + 1, "event"
        else:
            yield next(steps) + 1, kind


def _sweep(problem: HtnProblem, plan: Plan) -> Sweep:
    """Return the pass over the states of `plan`, a valid one."""
    _tree_of(plan)
    try:
        sweep = make_sweep(problem, plan)
    except FlawError as flaw:
        raise PlanError(f"only a valid plan has an order: {flaw}") from None
    _require_valid(sweep.verdict(plan))
    return sweep


def _tree_of(plan: Plan) -> Decomposition:
    if not isinstance(plan.tree, Decomposition):
        raise PlanError(NO_TREE)
    return plan.tree


def _list_events(sweep: Sweep, plan: Plan) -> Iterator[int]:
    """Yield the steps, and the beginnings of methods that have conditions, as they came in the pass."""
    steps = {number: event for event, number in sweep.events.steps.items()}
    for slot in range(len(plan.steps) + 1):
        for place, begun in sweep.slots.items():
            if begun == slot and _condition_of(sweep.frames[2 * place]) != TRUE:
                yield 2 * place
        if slot < len(plan.steps):
            yield steps[slot]


def _condition_of(frame: Frame) -> Formula:
    method = frame.method
    return with_conjuncts(method.precondition, *conjuncts(method.network.constraints))


def _make_test(event: int, sweep: Sweep) -> Action:
    """Return an action that requires what the method that begins at `event` does, and changes nothing."""
    frame = sweep.frames[event]
    names = [parameter.name for parameter in frame.method.parameters]
    binding = dict(zip(names, sweep.found[frame.place], strict=True))
    return Action(f"@begin-{frame.place}", requires=substitute(_condition_of(frame), binding), cost=())


def _project(found: Order, tasks: Sequence[Steps], numbers: Sequence[int], plan: Plan) -> nx.DiGraph[int]:
    """Return the order of the steps of `plan`, whose `numbers` stand at their places; 0 stands for tests of methods."""
    closed: list[Steps] = [0]
    before: list[Steps] = [0] * (len(plan.steps) + 1)
    for place in range(1, len(numbers)):
        whole = direct = found.before[place] | tasks[place]
        for earlier in members(direct):
            whole |= closed[earlier]
        closed.append(whole)
        if numbers[place]:
            before[numbers[place]] = sum(1 << numbers[each] for each in members(whole) if numbers[each])
    places = {number: place for place, number in enumerate(numbers) if number}
    pairs = {
        (one, other): (places[one], places[other]) for other, earlier in enumerate(before) for one in members(earlier)
    }
    reasons = {pair: found.reasons[own] for pair, own in pairs.items() if own in found.reasons}
    links = {pair: found.links[own] for pair, own in pairs.items() if own in found.links}
    return draw_order(plan.steps, before, reasons, links, TASK)


def _close(order: Sequence[int], events: Events) -> list[Steps]:
    """Return for each place in `order`, from 1, the places of the events that the networks order before it."""
    places = {event: place for place, event in enumerate(order, start=1)}
    before: list[Steps] = [0] * len(events.following)
    waits_for = events.waits_for.copy()
    ready = [event for event, number in enumerate(waits_for) if not number]
    while ready:
        event = ready.pop()
        mine = before[event] | (1 << places[event] if event in places else 0)
        for other in events.following[event]:
            before[other] |= mine
            waits_for[other] -= 1
            if not waits_for[other]:
                ready.append(other)
    return [0, *[before[event] for event in order]]
