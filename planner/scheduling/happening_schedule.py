"""The earliest times of happenings in a given sequence: a simple temporal network (Dechter, Meiri and Pearl, 1991).

The sequence says in which order starts and ends that touch the same facts or numbers come; all others may come at once.
So the schedule follows from the partial order of the snap actions: of two that are ordered, the second comes at least
`SEPARATION` later. A step lasts as long as its action says, and what it needs throughout is neither given after its
start nor taken before its end. Changes at known times happen then. Happenings that must only not come at once are set
apart where they would, in the order of their times.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import lcm
from types import MappingProxyType

from planner.errors import PlanError
from planner.lightweight import Final, dataclass, field
from planner.limits import never
from planner.model.actions import DURATION, Literal
from planner.model.arithmetic import as_number, exact_value
from planner.model.formulas import Atom, Comparison, Not, Number
from planner.model.problem import Problem
from planner.partial_order.happening_order import Separated, find_separated
from planner.plan import Plan, Step, StepTime
from planner.semantics.durations import SEPARATION, Lasting, duration_of
from planner.semantics.simulation import Simulation, bind_parameters
from planner.semantics.snap_actions import SnapProblem
from planner.validation.timed_replay import price_plan

START: Final = "start"
END: Final = "end"
EVENT: Final = "event"


@dataclass(frozen=True, slots=True)
class Moment:
    """One happening: the `kind` of step `number`, from 0, or of the change `number` at a known time."""

    kind: str
    number: int


def in_sequence(count: int) -> list[Moment]:
    """Return the happenings of `count` steps that are taken one after another."""
    return [Moment(kind, number) for number in range(count) for kind in (START, END)]


@dataclass(slots=True)
class Network:
    """A simple temporal network over the happenings of a plan, in ticks of which `resolution` make a second.

    Node 0 is the beginning; each step has a node for its start and one for its end, the same where it takes no time.
    An edge says how many ticks its second node comes at least after its first; a negative number bounds how much later
    the first may come than the second. `apart` are pairs of nodes that must not come at once. `about` has the condition
    or the fluent that an edge is there for, where it orders what touches one.
    """

    resolution: int
    starts: list[int]
    ends: list[int]
    nodes: int = 1
    edges: dict[tuple[int, int], int] = field(default_factory=dict)
    apart: list[tuple[int, int]] = field(default_factory=list)
    about: dict[tuple[int, int], str] = field(default_factory=dict)

    def ticks(self, seconds: Number) -> int:
        """Return `seconds` in ticks."""
        return int(exact_value(seconds) * self.resolution)

    def seconds(self, ticks: int) -> Number:
        """Return `ticks` in seconds."""
        number = as_number(exact_value(Fraction(ticks, self.resolution)))
        assert number is not None
        return number

    def add(self, earlier: int, later: int, least: int, about: object = "") -> None:
        """Let node `later` come at least `least` ticks after node `earlier`."""
        if earlier != later and self.edges.get((earlier, later), least - 1) < least:
            self.edges[earlier, later] = least
            self.about[earlier, later] = str(about)

    def earliest(self) -> list[int] | None:
        """Return the earliest tick of each node; None where the constraints contradict each other."""
        least = self.ticks(SEPARATION)
        times = self._relax([0] * self.nodes)
        while times is not None:
            close = [(one, other) for one, other in self.apart if abs(times[one] - times[other]) < least]
            if not close:
                return times
            for one, other in close:
                if (times[one], one) <= (times[other], other):
                    self.add(one, other, least)
                else:
                    self.add(other, one, least)
            times = self._relax(times)
        return None

    def read_times(self) -> list[StepTime] | None:
        """Return the earliest time of each step; None where the constraints contradict each other."""
        times = self.earliest()
        if times is None:
            return None
        ticks = [(times[start], times[end]) for start, end in zip(self.starts, self.ends, strict=True)]
        return [StepTime(self.seconds(start), self.seconds(end - start)) for start, end in ticks]

    def _relax(self, times: list[int]) -> list[int] | None:
        """Raise `times` until all edges hold (Bellman, 1958; Ford, 1956)."""
        edges = sorted((later, earlier, least) for (earlier, later), least in self.edges.items())
        for _ in range(self.nodes + 1):
            changed = False
            for later, earlier, least in edges:
                if times[earlier] + least > times[later]:
                    if later == 0:
                        return None
                    times[later] = times[earlier] + least
                    changed = True
            if not changed:
                return times
        return None


@dataclass(frozen=True, slots=True)
class _Happening:
    """A moment, or what its step needs until its end (`is_lasting`), as a step of the snap problem."""

    moment: Moment
    step: Step
    is_lasting: bool = False


def _spell_out(snap: SnapProblem, steps: Sequence[Step], sequence: Sequence[Moment]) -> list[_Happening]:
    found: list[_Happening] = []
    for moment in sequence:
        if moment.kind == EVENT:
            found.append(_Happening(moment, Step(snap.events[moment.number])))
            continue
        step = steps[moment.number]
        moments = snap.actions[step.action]
        name = moments.start if moment.kind == START else moments.end
        if name:
            found.append(_Happening(moment, Step(name, step.arguments)))
        if moment.kind == START and moments.lasting:
            found.append(_Happening(moment, Step(moments.lasting, step.arguments), is_lasting=True))
    return found


def make_network(
    problem: Problem,
    snap: SnapProblem,
    steps: Sequence[Step],
    sequence: Sequence[Moment],
    without: Collection[Atom] = (),
    *,
    durations: Mapping[int, Number] = MappingProxyType({}),
    check: Callable[[], None] = never,
) -> Network:
    """Return the network of the valid `sequence` of happenings of `steps`.

    The order of happenings that touch the facts and numbers in `without` is left out. Steps with a place in `durations`
    last so many seconds. `check` is called for each pair of happenings that touch the same thing, and may raise. Raises
    `PlanError` where the sequence is no plan of the snap problem, or a duration has no value.
    """
    happenings = _spell_out(snap, steps, sequence)
    lasting = _find_durations(problem, snap, steps, happenings, durations)
    network = Network(_find_resolution(problem, lasting), [0] * len(steps), [0] * len(steps))
    nodes = []
    for each in happenings:
        nodes.append(0 if each.is_lasting else network.nodes)
        if not each.is_lasting:
            if each.moment.kind != EVENT:
                (network.starts if each.moment.kind == START else network.ends)[each.moment.number] = network.nodes
            else:
                when = network.ticks(problem.timed[each.moment.number].time)
                network.add(0, network.nodes, when)
                network.add(network.nodes, 0, -when)
            network.nodes += 1
    network.ends = [end or start for start, end in zip(network.starts, network.ends, strict=True)]
    for start, end, span in zip(network.starts, network.ends, lasting, strict=True):
        network.add(start, end, network.ticks(span.low))
        if span.high is not None:
            network.add(end, start, -network.ticks(span.high))
    lasts = [None if each.moment.kind == EVENT else lasting[each.moment.number].low for each in happenings]
    separated = find_separated(snap.problem, [each.step for each in happenings], lasts)
    _order(network, _checking(separated, check), happenings, nodes, without)
    return network


def _checking(separated: Iterable[Separated], check: Callable[[], None]) -> Iterator[Separated]:
    for each in separated:
        check()
        yield each


def _order(
    network: Network,
    separated: Iterable[Separated],
    happenings: Sequence[_Happening],
    nodes: Sequence[int],
    without: Collection[Atom],
) -> None:
    """Add to `network` the order of `happenings` that must be `separated`."""
    least = network.ticks(SEPARATION)
    for each in separated:
        if each.later > len(happenings) or (without and _is_about(each.about, without)):
            continue
        first, second = happenings[each.earlier - 1], happenings[each.later - 1]
        if first.moment == second.moment or (first.is_lasting and second.is_lasting):
            continue
        is_own = EVENT not in (first.moment.kind, second.moment.kind) and first.moment.number == second.moment.number
        one, other = nodes[each.earlier - 1], nodes[each.later - 1]
        if first.is_lasting or second.is_lasting:
            if is_own or not each.ordered:
                continue
            if first.is_lasting:
                network.add(network.ends[first.moment.number], other, 0, each.about)
            else:
                network.add(one, network.starts[second.moment.number], 0, each.about)
        elif each.ordered:
            network.add(one, other, least, each.about)
        elif not is_own:
            network.apart.append((one, other))


def _is_about(what: Literal | Comparison, items: Collection[Atom]) -> bool:
    """Return whether a condition is about one of `items` alone."""
    if isinstance(what, Comparison):
        return all(term in items for term in what.functions)
    return (what.part if isinstance(what, Not) else what) in items


def _find_durations(
    problem: Problem,
    snap: SnapProblem,
    steps: Sequence[Step],
    happenings: Sequence[_Happening],
    durations: Mapping[int, Number],
) -> list[Lasting]:
    """Return how long each step lasts, by the state in which it starts; those in `durations` last as long as they say.

    Effects that depend on a duration take the least one.
    """
    simulation = Simulation(snap.problem)
    found = [Lasting(0, 0)] * len(steps)
    for each in happenings:
        values, number = simulation.world.state.values, each.moment.number
        if each.moment.kind == START and not each.is_lasting:
            step = steps[number]
            action = problem.domain.actions[step.action]
            found[number] = duration_of(action, values, bind_parameters(action, step))
            if number in durations:
                found[number] = found[number].fix(durations[number])
        if each.moment.kind != EVENT:
            values.fluents[DURATION.predicate, ()] = exact_value(found[number].low)
        objection = simulation.find_objection(each.step)
        if objection is not None:
            raise PlanError(f"{each.step} cannot happen: {objection.misfit or objection.condition}")
        simulation.apply(each.step)
        simulation.world.state.values.fluents.pop((DURATION.predicate, ()), None)
    return found


def _find_resolution(problem: Problem, lasting: Sequence[Lasting]) -> int:
    numbers: list[Number] = [SEPARATION, *[each.time for each in problem.timed]]
    for each in lasting:
        numbers += [each.low] if each.high is None else [each.low, each.high]
    return lcm(*[Fraction(number).denominator for number in set(numbers)])


def schedule_happenings(
    problem: Problem,
    snap: SnapProblem,
    steps: Sequence[Step],
    sequence: Sequence[Moment],
    durations: Mapping[int, Number] = MappingProxyType({}),
    *,
    check: Callable[[], None] = never,
) -> Plan | None:
    """Return the plan in time of `steps` whose happenings come as early as `sequence` allows; None where none does.

    Steps with a place in `durations` last so many seconds. `check` and errors are those of `make_network`.
    """
    times = find_times(problem, snap, steps, sequence, durations=durations, check=check)
    if times is None:
        return None
    order = sorted(range(len(steps)), key=lambda number: (times[number].start, number))
    plan = Plan(tuple([steps[each] for each in order]), problem, times=tuple([times[each] for each in order]))
    return price_plan(plan)


def find_times(
    problem: Problem,
    snap: SnapProblem,
    steps: Sequence[Step],
    sequence: Sequence[Moment],
    before: Iterable[tuple[int, int]] = (),
    *,
    durations: Mapping[int, Number] = MappingProxyType({}),
    keeps_changes: bool = False,
    check: Callable[[], None] = never,
) -> list[StepTime] | None:
    """Return the earliest time of each of `steps` that `sequence` allows; None where there are none.

    Of each pair of steps in `before`, by their places, the first ends before the second starts. Steps with a place in
    `durations` last so many seconds. With `keeps_changes`, each step starts after all changes at known times that come
    before it in `sequence`. `check` and errors are those of `make_network`.
    """
    network = make_network(problem, snap, steps, sequence, durations=durations, check=check)
    if keeps_changes:
        latest: Number | None = None
        for each in sequence:
            if each.kind == EVENT:
                latest = problem.timed[each.number].time
            elif each.kind == START and latest is not None:
                network.add(0, network.starts[each.number], network.ticks(latest) + network.ticks(SEPARATION))
    for first, second in before:
        network.add(network.ends[first], network.starts[second], 0)
    return network.read_times()
