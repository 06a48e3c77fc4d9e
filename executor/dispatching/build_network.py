"""From the steps that are left, and the times that are planned for them, to the network that dispatches them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from executor.dispatching.capacity_chains import chain_capacities
from executor.dispatching.dispatch_network import TICKS, DispatchNetwork, Lasts, Limit, Node, ticks_of
from executor.dispatching.present_problem import Present
from executor.dispatching.timetable import Planned, Timetable
from executor.plans.suppositions import parse_suppositions
from planner.errors import InputError, PlanError, UnsupportedError
from planner.lightweight import TYPE_CHECKING, dataclass, replace
from planner.model import Goal, Problem, SoftGoal
from planner.model.actions import DURATION, DurationRange
from planner.model.arithmetic import exact_value
from planner.model.formulas import with_conjuncts
from planner.plan import Step, StepTime
from planner.scheduling.happening_schedule import END, EVENT, START, make_network
from planner.scheduling.happening_schedule import Moment as Happening
from planner.semantics.durations import SEPARATION, chosen_durations
from planner.semantics.simulation import Simulation
from planner.semantics.snap_actions import SnapProblem, make_snap_problem
from planner.validation.timed_replay import TimedReplay

if TYPE_CHECKING:
    from executor.plans.action_plan import ActionPlan


def build_network(
    present: Present,
    steps: Sequence[tuple[str, Step]],
    planned: Mapping[str, Planned],
    begun: Mapping[str, int],
    looks: Iterable[tuple[str, str]] = (),
) -> DispatchNetwork:
    """Return the network of the `steps` that are left, with their ids, in the order of their planned times.

    `begun` has the ticks at which the steps at work began. Of each pair of `looks`, by their ids, the first step senses
    what the second one supposes, so that the second one starts after the first one has ended. Raises `PlanError` where
    the steps, in this order, do not lead from the present state to the goal.
    """
    free = _drop_capacities(present.supposed_problem)
    problem, snap = free, make_snap_problem(free)
    ids = [*present.running, *[id_ for id_, _ in steps]]
    ground = [*[Step(name) for name in present.running.values()], *[step for _, step in steps]]
    sequence = _order_happenings(present, ids, planned)
    lasts = [planned[id_].duration for id_ in ids]
    network = make_network(problem, snap, ground, sequence, durations=chosen_durations(problem, ground, lasts))
    found = DispatchNetwork()
    line = _Line(present, snap, ids, ground, sequence)
    places = _name_nodes(found, line)
    assert len(places) == network.nodes, "each happening has a node"
    for (one, other), least in network.edges.items():
        is_lasting = found.nodes[one].about == found.nodes[other].about != ""
        if 0 not in (one, other) and not is_lasting:
            found.edges[one, other] = -(-least * TICKS // network.resolution)
    found.apart = list(network.apart)
    for look, later in looks:
        if look in found.ends and later in found.starts and later not in begun:
            edge = found.ends[look], found.starts[later]
            found.edges[edge] = max(found.edges.get(edge, 0), ticks_of(Decimal(SEPARATION)))
    for id_, step in zip(ids, ground, strict=True):
        found.lasts[id_] = _find_duration(problem, step, planned.get(id_))
        if id_ in begun:
            found.note_start(id_, begun[id_])
    _add_limits(found, line)
    found.steps, found.unchained = dict(zip(ids, ground, strict=True)), dict(found.edges)
    chain_capacities(found, present.problem, found.steps, present.running, planned)
    return found


def _drop_capacities(problem: Problem) -> Problem:
    """Return `problem` in which no step holds anything: the network has chains for capacities."""
    if not problem.capacity:
        return problem
    actions = {name: replace(each, holds={}) for name, each in problem.domain.actions.items()}
    return replace(problem, domain=replace(problem.domain, actions=actions), capacity={})


def check_times(problem: Problem, plan: ActionPlan) -> str:
    """Return why the steps of `plan`, in the order of their times, do not lead to the goal in time; "" if they do."""
    timetable = Timetable.of(plan, problem)
    assert timetable is not None, "it is a plan in time"
    forgone = find_forgone(problem, plan)
    wishes = [wish.condition for wish in problem.goal.soft if wish not in forgone]
    present = _begin(replace(problem, goal=Goal(with_conjuncts(problem.goal.hard, *wishes))), plan)
    try:
        steps = [(each.id, each.step(problem.domain)) for each in plan.steps]
        network = build_network(present, steps, timetable.planned, {})
    except (PlanError, InputError, UnsupportedError) as error:
        return str(error)
    times = network.find_earliest(0)
    if isinstance(times, str):
        return times
    late = network.find_late(times)
    return (
        ""
        if late is None
        else f"{late.what} is not met: {network.nodes[late.node]} comes at {_show(times[late.node])} s"
    )


def _begin(problem: Problem, plan: ActionPlan) -> Present:
    """Return what is to be done before any step of `plan`, without what the network does not look at."""
    plain = replace(problem, constraints=(), budgets={}, unknown=(), likely={})
    texts = [*(plan.supposes or ()), *(text for each in plan.steps for text in each.supposes)]
    held = tuple([fact for fact, holds in parse_suppositions(texts).items() if holds])
    return Present(plain, Decimal(0), {}, {}, tuple(range(len(problem.timed))), supposed=held)


def find_forgone(problem: Problem, plan: ActionPlan) -> tuple[SoftGoal, ...]:
    """Return the soft goals that the steps of `plan` do not reach at their times; none if the plan is not valid."""
    timetable = Timetable.of(plan, problem)
    if timetable is None or not problem.goal.soft:
        return ()
    present = replace(_begin(problem, plan).supposed_problem, due=(), deadline=None)
    try:
        steps = [each.step(problem.domain) for each in plan.steps]
        planned = [timetable.planned[each.id] for each in plan.steps]
        times = [StepTime(each.start, each.duration) for each in planned]
        verdict = TimedReplay(present, steps, times).judge(None)
    except (PlanError, InputError, UnsupportedError):
        return ()
    return tuple([each for each in verdict.forgone if isinstance(each, SoftGoal)])


def _order_happenings(present: Present, ids: Sequence[str], planned: Mapping[str, Planned]) -> list[Happening]:
    """Return the happenings of the steps `ids` in the order of the planned times; those at work have begun before."""
    keyed: list[tuple[Decimal, int, int, Happening]] = []
    for number, id_ in enumerate(ids):
        time = planned.get(id_)
        if time is None:
            raise PlanError(f"nothing says when step {id_!r} is to start")
        start = Decimal("-Infinity") if id_ in present.running else time.start
        end = time.end if id_ in present.running else max(time.end, time.start)
        keyed.append((start, _START, number, Happening(START, number)))
        keyed.append((end, _END if time.duration else _START + 1, number, Happening(END, number)))
    for number, effect in enumerate(present.problem.timed):
        keyed.append((Decimal(effect.time) + present.now, _EVENT, number, Happening(EVENT, number)))
    return [each for *_, each in sorted(keyed, key=lambda each: each[:3])]


_EVENT: Final = 0
_END: Final = 1
_START: Final = 2


@dataclass(frozen=True, slots=True)
class _Line:
    """The happenings of the steps `ids` in the order in which they are planned."""

    present: Present
    snap: SnapProblem
    ids: Sequence[str]
    ground: Sequence[Step]
    sequence: Sequence[Happening]


def _name_nodes(found: DispatchNetwork, line: _Line) -> list[Node]:
    """Add the nodes of `line` to `found`, in the order in which `make_network` numbers them."""
    present, snap, ids, ground = line.present, line.snap, line.ids, line.ground
    for happening in line.sequence:
        if happening.kind == EVENT:
            effect = present.problem.timed[happening.number]
            node = Node(EVENT, event=present.events[happening.number])
            found.known[len(found.nodes)] = ticks_of(Decimal(effect.time) + present.now)
            found.nodes.append(node)
            continue
        id_ = ids[happening.number]
        if happening.kind == START:
            found.starts[id_] = found.ends[id_] = len(found.nodes)
        elif not snap.actions[ground[happening.number].action].end:
            continue
        else:
            found.ends[id_] = len(found.nodes)
        found.nodes.append(Node(happening.kind, id_))
    return found.nodes


def _find_duration(problem: Problem, step: Step, planned: Planned | None) -> Lasts:
    """Return how long `step` is thought to last."""
    duration = problem.domain.actions[step.action].duration
    if duration is None or planned is None:
        return Lasts(0, 0)
    expected = ticks_of(planned.duration)
    return Lasts(expected, None if isinstance(duration, DurationRange) and duration.high is None else expected)


def _add_limits(found: DispatchNetwork, line: _Line) -> None:
    """Add the deadlines: that of the whole plan to all ends, and others to what makes their conditions true."""
    present, snap, ground, places = line.present, line.snap, line.ground, found.nodes
    problem = present.problem
    if problem.deadline is not None:
        until = ticks_of(Decimal(problem.deadline) + present.now)
        found.limits += [Limit(node, until, f"the deadline at {_show(until)} s") for node in found.ends.values()]
    if not problem.due:
        return
    simulation = Simulation(snap.problem)
    open_ = dict(enumerate(problem.due))
    values, node = simulation.world.state.values, 0
    _note_reached(found, open_, simulation, present, 0)
    for happening in line.sequence:
        if happening.kind == EVENT:
            names = [Step(snap.events[happening.number])]
        else:
            step = ground[happening.number]
            moments = snap.actions[step.action]
            name = moments.start if happening.kind == START else moments.end
            names = [Step(name, step.arguments)] if name else []
            id_ = places[node + 1].about if names else ""
            if id_:
                values.fluents[DURATION.predicate, ()] = exact_value(Fraction(found.lasts[id_].low, TICKS))
        if not names:
            continue
        node += 1
        simulation.apply(names[0])
        values.fluents.pop((DURATION.predicate, ()), None)
        _note_reached(found, open_, simulation, present, node)
    for due in open_.values():
        raise PlanError(f"{due.condition} is due by {due.by}, and the plan does not reach it")


def _note_reached(
    found: DispatchNetwork, open_: dict[int, Any], simulation: Simulation, present: Present, node: int
) -> None:
    for number, due in list(open_.items()):
        if simulation.holds(due.condition):
            until = ticks_of(Decimal(due.by) + present.now)
            found.limits.append(Limit(node, until, f"the deadline of {due.condition} at {_show(until)} s"))
            del open_[number]


def _show(ticks: int) -> str:
    return f"{ticks / TICKS:g}"
