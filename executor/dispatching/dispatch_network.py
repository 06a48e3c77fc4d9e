"""The temporal network by which a plan is dispatched.

Its nodes are the starts and ends of the steps that are left, and the changes at known times. What has happened is
fixed. A step may start when everything has happened that it waits for, and when the network allows it to start so
early: a step that has to last until another one ends may have to wait for that one. Durations are those that are
expected; a step that takes longer is thought to end at any moment. (Dechter, Meiri and Pearl, 1991; Muscettola, Morris
and Tsamardinos, 1998.)
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from executor.dispatching.present_problem import Present
from executor.dispatching.timetable import Planned, Timetable
from planner.errors import InputError, PlanError, UnsupportedError
from planner.lightweight import TYPE_CHECKING, dataclass, field, replace
from planner.model import Goal, Problem
from planner.model.actions import DURATION, DurationRange
from planner.model.arithmetic import Exact, exact_value
from planner.model.formulas import conjunction, conjuncts
from planner.plan import Step
from planner.scheduling.happening_schedule import END, EVENT, START, make_network
from planner.scheduling.happening_schedule import Moment as Happening
from planner.semantics.durations import SEPARATION, chosen_durations
from planner.semantics.numeric_state import Values
from planner.semantics.simulation import Simulation, bind_parameters
from planner.semantics.snap_actions import SnapProblem, make_snap_problem, sum_of

if TYPE_CHECKING:
    from executor.plans.action_plan import ActionPlan

TICKS: Final = 1_000_000
"""Ticks of the network in a second."""
APART: Final = int(SEPARATION * TICKS)
"""Ticks between two happenings that must not come at once."""
NEVER: Final = 2**62


def ticks_of(seconds: Decimal | float) -> int:
    """Return `seconds` in ticks, rounded up."""
    exact = Fraction(repr(seconds)) if isinstance(seconds, float) else Fraction(seconds)
    return -(-exact.numerator * TICKS // exact.denominator)


@dataclass(frozen=True, slots=True)
class Node:
    """A start or an end of the step `about` (its id), or the change at a known time with the number `event`."""

    kind: str
    about: str = ""
    event: int = -1

    def __str__(self) -> str:
        return f"the {self.kind} of {self.about}" if self.about else f"the change {self.event + 1} at a known time"


@dataclass(frozen=True, slots=True)
class Limit:
    """The node must come until `until`, in ticks: for `what`."""

    node: int
    until: int
    what: str


@dataclass(frozen=True, slots=True)
class Lasts:
    """How long a step lasts, in ticks: at least `low`, and at most `high` (None: no limit)."""

    low: int
    high: int | None


@dataclass(slots=True, eq=False)
class DispatchNetwork:
    """A temporal network in ticks since the run began; node 0 is its beginning.

    An edge says how many ticks its second node comes at least after its first. `known` has the times of the changes at
    known times, `happened` those of all that has happened. Steps without a duration have one node; those whose handlers
    have not returned are `at_work`, and what comes after them waits.
    """

    nodes: list[Node] = field(default_factory=lambda: [Node("beginning")])
    edges: dict[tuple[int, int], int] = field(default_factory=dict)
    apart: list[tuple[int, int]] = field(default_factory=list)
    lasts: dict[str, Lasts] = field(default_factory=dict)
    limits: list[Limit] = field(default_factory=list)
    known: dict[int, int] = field(default_factory=dict)
    happened: dict[int, int] = field(default_factory=lambda: {0: 0})
    at_work: set[int] = field(default_factory=set)
    starts: dict[str, int] = field(default_factory=dict)
    ends: dict[str, int] = field(default_factory=dict)
    steps: dict[str, Step] = field(default_factory=dict)
    unchained: dict[tuple[int, int], int] = field(default_factory=dict)
    """The edges without those by which steps take capacities over."""

    def note_start(self, about: str, at: int) -> None:
        """Note that the step `about` has started."""
        self.happened[self.starts[about]] = at
        if self.starts[about] == self.ends[about]:
            self.at_work.add(self.starts[about])

    def note_end(self, about: str, at: int) -> bool:
        """Note that the step `about` has ended as was expected; return False where something had to come before that.

        What came before its end says nothing any more, nor do its deadlines.
        """
        end = self.ends[about]
        if self.starts[about] not in self.happened or any(one != self.starts[about] for one in self.waits_for(end)):
            return False
        self.at_work.discard(end)
        self.happened[end] = at
        self.lasts.pop(about)
        nodes = {self.starts[about], end}
        self.edges = {pair: least for pair, least in self.edges.items() if pair[1] not in nodes}
        self.unchained = {pair: least for pair, least in self.unchained.items() if pair[1] not in nodes}
        self.limits = [each for each in self.limits if each.node not in nodes]
        return True

    def chain_again(self, problem: Problem, planned: Mapping[str, Planned]) -> None:
        """Let the steps that are left take the capacities over anew from those at work."""
        left = {about: step for about, step in self.steps.items() if self.ends[about] not in self.happened}
        self.edges = dict(self.unchained)
        running = [about for about in left if self.is_running(about)]
        _chain_capacities(self, problem, left, running, planned)

    def is_running(self, about: str) -> bool:
        """Return whether the step `about` has started, and has an end that has not come."""
        end = self.ends[about]
        return self.starts[about] in self.happened and end != self.starts[about] and end not in self.happened

    def find_earliest(self, now: int) -> list[int] | str:
        """Return the earliest time of each node, nothing of what is left before `now`; or why there are none."""
        return self._relax(now, self._list_edges())

    def _list_edges(self) -> list[tuple[tuple[int, int], int]]:
        """Return all edges, with the durations of steps that have not begun."""
        edges = list(self.edges.items())
        for about, lasts in self.lasts.items():
            start, end = self.starts[about], self.ends[about]
            if start != end and start not in self.happened:
                edges.append(((start, end), lasts.low))
                if lasts.high is not None:
                    edges.append(((end, start), -lasts.high))
        return edges

    def _find_ends(self, now: int) -> dict[int, tuple[int, int]]:
        """Return the earliest and the latest time at which each step at work is thought to end."""
        found = {}
        for about, lasts in self.lasts.items():
            if self.is_running(about):
                begun = self.happened[self.starts[about]]
                latest = NEVER if lasts.high is None else max(begun + lasts.high, now)
                found[self.ends[about]] = max(begun + lasts.low, now), latest
        return found

    def _relax(self, now: int, edges: Sequence[tuple[tuple[int, int], int]]) -> list[int] | str:
        """Return the earliest time of each node by `edges`, or why there are none (Bellman, 1958; Ford, 1956)."""
        times = [max(now, 0)] * len(self.nodes)
        for node, at in (*self.known.items(), *self.happened.items()):
            times[node] = at
        fixed, ends = self.happened.keys() | self.known.keys(), self._find_ends(now)
        for node, (earliest, _) in ends.items():
            times[node] = earliest
        for _ in range(len(self.nodes) + 1):
            changed = False
            for (one, other), least in edges:
                at = times[one] + least
                if at <= times[other] or one == other:
                    continue
                if other in fixed:
                    if one in fixed:
                        continue  # what has happened has happened
                    return f"{self.nodes[one]} would have to come before {self.nodes[other]}"
                if other in ends and at > ends[other][1]:
                    return f"{self.nodes[other]} comes before {self.nodes[one]} can"
                times[other], changed = at, True
            if not changed:
                return times
        return "its times contradict each other"

    def find_targets(self, now: int, times: Sequence[int]) -> dict[str, int]:
        """Return when each step that is left should start, where `times` are the earliest ones.

        A step that has to last until others have ended does not start before these can: whatever they wait for may take
        longer than is expected. If a deadline needs it earlier, it starts as late as that allows.
        """
        latest = self._find_latest(now)
        left = {about: node for about, node in self.starts.items() if node not in self.happened}
        return {
            about: max(times[node], latest[node]) if self._is_early(about) else times[node]
            for about, node in left.items()
        }

    def _is_early(self, about: str) -> bool:
        """Return whether what has to end before the step `about` still waits for something else than this step."""
        start, end = self.starts[about], self.ends[about]
        if self.lasts[about].high is None or start == end:
            return False
        inner = {
            self.nodes[one].about
            for (one, other), least in self.edges.items()
            if other == end and least >= 0 and one not in self.happened and self.nodes[one].about not in ("", about)
        }
        if not inner:
            return False
        own = self._find_following(start) | {start, end}
        return any(
            node not in own and node not in self.known
            for each in inner
            if self.starts[each] not in self.happened
            for node in self.waits_for(self.starts[each])
        )

    def _find_following(self, node: int) -> set[int]:
        """Return the nodes that come after `node`, directly or not."""
        found, stack = set[int](), [node]
        following: dict[int, list[int]] = {}
        for (one, other), least in self.edges.items():
            if least >= 0:
                following.setdefault(one, []).append(other)
        for about in self.starts:
            following.setdefault(self.starts[about], []).append(self.ends[about])
        while stack:
            fresh = [each for each in following.get(stack.pop(), ()) if each not in found]
            found.update(fresh)
            stack += fresh
        return found

    def find_late(self, times: Sequence[int]) -> Limit | None:
        """Return a limit that `times` break by the most; None if they keep all."""
        late = [each for each in self.limits if times[each.node] > each.until]
        return max(late, key=lambda each: times[each.node] - each.until, default=None)

    def _find_latest(self, now: int) -> list[int]:
        """Return the latest time of each node that keeps all limits."""
        latest = [NEVER] * len(self.nodes)
        for node, at in self.known.items():
            latest[node] = at
        for limit in self.limits:
            latest[limit.node] = min(latest[limit.node], limit.until)
        for node in self.happened:
            latest[node] = NEVER
        edges, ends = self._list_edges(), self._find_ends(now)
        for _ in range(len(self.nodes) + 1):
            changed = False
            for (one, other), least in edges:
                bound = min(latest[other], ends[other][1] if other in ends else NEVER)
                if one in self.happened or other in self.happened or bound == NEVER or bound - least >= latest[one]:
                    continue
                latest[one], changed = bound - least, True
            if not changed:
                break
        return latest

    def find_latest_start(self, about: str, now: int) -> int:
        """Return the latest tick at which the step `about` may start so that all limits are kept."""
        return self._find_latest(now)[self.starts[about]]

    def find_alarm(self, now: int) -> int | None:
        """Return the first tick after `now` at which something is too late that has not happened by then, if any."""
        latest = self._find_latest(now)
        left = [self.starts[each] for each in self.starts if self.starts[each] not in self.happened]
        left += [self.ends[each] for each in self.ends if self.is_running(each)]
        return min([latest[node] + 1 for node in left if now < latest[node] + 1 < NEVER], default=None)

    def waits_for(self, node: int) -> Iterator[int]:
        """Yield the nodes that have not happened, and that `node` comes after."""
        for (one, other), least in self.edges.items():
            if other == node and least >= 0 and one != 0 and (one in self.at_work or one not in self.happened):
                yield one

    def find_ready(self, now: int, times: Sequence[int]) -> list[str]:
        """Return the steps that should start now, where `times` are the earliest ones."""
        found: list[str] = []
        taken: list[int] = []
        for about, at in self.find_targets(now, times).items():
            node = self.starts[about]
            if at > now or any(True for _ in self.waits_for(node)):
                continue
            if any(self._is_too_close(other, now, taken) for other in self._apart_from(node)):
                continue
            if any(self.edges.get((other, node), -1) > 0 for other in taken):
                continue
            taken.append(node)
            found.append(about)
        return found

    def _apart_from(self, node: int) -> Iterator[int]:
        for one, other in self.apart:
            if node in (one, other):
                yield other if node == one else one

    def _is_too_close(self, other: int, now: int, taken: Iterable[int]) -> bool:
        """Return whether the node `other` comes now, or has just come."""
        return other in self.at_work or other in taken or abs(self.happened.get(other, -APART) - now) < APART

    def find_next(self, now: int, times: Sequence[int]) -> int | None:
        """Return the next tick at which a step may start, or a change comes about, if nothing else happens.

        Steps that wait for others to end do not count: that end is something that happens.
        """
        moments = [at for at in self.known.values() if at > now]
        for about, at in self.find_targets(now, times).items():
            if any(True for _ in self.waits_for(self.starts[about])):
                continue
            if now < at < NEVER:
                moments.append(at)
            elif any(True for _ in self._apart_from(self.starts[about])):
                moments.append(now + APART)
        return min(moments, default=None)


def build_network(
    present: Present,
    steps: Sequence[tuple[str, Step]],
    planned: Mapping[str, Planned],
    begun: Mapping[str, int],
) -> DispatchNetwork:
    """Return the network of the `steps` that are left, with their ids, in the order of their planned times.

    `begun` has the ticks at which the steps at work began. Raises `PlanError` where the steps, in this order, do not
    lead from the present state to the goal.
    """
    free = _drop_capacities(present.problem)
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
    for id_, step in zip(ids, ground, strict=True):
        found.lasts[id_] = _find_duration(problem, step, planned.get(id_))
        if id_ in begun:
            found.note_start(id_, begun[id_])
    _add_limits(found, line)
    found.steps, found.unchained = dict(zip(ids, ground, strict=True)), dict(found.edges)
    _chain_capacities(found, present.problem, found.steps, present.running, planned)
    return found


def _drop_capacities(problem: Problem) -> Problem:
    """Return `problem` in which no step holds anything: the network has chains for capacities."""
    if not problem.capacity:
        return problem
    actions = {name: replace(each, holds={}) for name, each in problem.domain.actions.items()}
    return replace(problem, domain=replace(problem.domain, actions=actions), capacity={})


@dataclass(frozen=True, slots=True)
class _Share:
    """An `amount` of a capacity that the step `about` gives back `until` a planned time; "" has never been held."""

    until: Decimal
    about: str
    amount: Exact


def _chain_capacities(
    found: DispatchNetwork,
    problem: Problem,
    steps: Mapping[str, Step],
    running: Collection[str],
    planned: Mapping[str, Planned],
) -> None:
    """Let each of `steps` that holds a capacity come after those from which it takes its share over.

    The planned times say who has it before: first the steps that come before anyway, then whoever gives it back first.
    (Policella, Smith, Cesta and Oddi, 2004: chaining.) Raises `PlanError` where there is not enough at some time.
    """
    values = Values.of(problem)
    order = sorted(steps, key=lambda id_: (id_ not in running, planned[id_].start))
    for name, whole in problem.capacity.items():
        pool: list[_Share] | None = [_Share(Decimal("-Infinity"), "", exact_value(whole))]
        for id_ in order:
            action = problem.domain.actions[steps[id_].action]
            if name not in action.holds:
                continue
            needed = values.evaluate(sum_of(action.holds[name]), bind_parameters(action, steps[id_]))
            if not needed or pool is None:
                continue
            start = Decimal("-Infinity") if id_ in running else planned[id_].start
            pool = _take_over(found, pool, _Share(planned[id_].end, id_, needed), start)
            if pool is None:
                raise PlanError(f"step {id_!r} finds too little of {name} when it is planned to start")


def _take_over(found: DispatchNetwork, pool: list[_Share], need: _Share, start: Decimal) -> list[_Share] | None:
    """Let a step that starts take the share that it needs from `pool`; return the pool after it, if that is enough."""
    node, left = found.starts[need.about], need.amount
    kept: list[_Share] = []
    for share in sorted(pool, key=lambda each: (not _comes_before(found, each.about, node), each.until)):
        taken = min(share.amount, left) if share.until <= start else 0
        left -= taken
        if taken and share.about:
            before = found.ends[share.about]
            found.edges[before, node] = max(found.edges.get((before, node), 0), APART)
        if share.amount > taken:
            kept.append(replace(share, amount=share.amount - taken))
    return None if left > 0 else [*kept, need]


def _comes_before(found: DispatchNetwork, about: str, node: int) -> bool:
    return bool(about) and found.edges.get((found.ends[about], node), -1) >= 0


def check_times(problem: Problem, plan: ActionPlan) -> str:
    """Return why the steps of `plan`, in the order of their times, do not lead to the goal in time; "" if they do."""
    timetable = Timetable.of(plan, problem)
    assert timetable is not None, "it is a plan in time"
    wanted = conjunction([*conjuncts(problem.goal.hard), *[wish.condition for wish in problem.goal.soft]])
    plain = replace(problem, goal=Goal(wanted), constraints=(), budgets={}, unknown=(), likely={})
    present = Present(plain, Decimal(0), {}, {}, tuple(range(len(problem.timed))))
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
