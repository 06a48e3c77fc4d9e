"""Exact scheduling of a plan's steps: the orders of steps that share a machine or a capacity are chosen anew.

The steps, their durations, and what they provide for each other stay. A machine is a fact that steps need and make
false at their start, and make true again at their end; a capacity is a number that they take from and give back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from math import lcm

from planner.errors import PlanError
from planner.lightweight import Final, dataclass, field
from planner.model.actions import Action
from planner.model.formulas import (
    TRUE,
    Atom,
    Comparison,
    Equals,
    Not,
    Number,
    atoms_in,
    comparisons_in,
    conjuncts,
    functions_in,
    substitute,
)
from planner.model.problem import Problem
from planner.plan import Plan, Step, StepTime
from planner.scheduling.exact_schedule import find_least_schedule, find_least_schedule_by_cp_sat, has_cp_sat
from planner.scheduling.happening_schedule import END, EVENT, START, Moment, Network, make_network
from planner.scheduling.list_schedules import find_makespan, space_out
from planner.scheduling.project import Edge, Project, Resource, Schedule
from planner.semantics.durations import SEPARATION, chosen_durations
from planner.semantics.simulation import bind_parameters
from planner.semantics.snap_actions import SnapProblem
from planner.validation.timed_replay import price_plan
from planner.validation.validate import check_steps

MOST_STEPS: Final = 150
"""Steps of the largest plan that is scheduled anew."""


def reschedule(
    problem: Problem,
    snap: SnapProblem,
    plan: Plan,
    may_go_on: Callable[[], bool] = lambda: True,
    more_seconds: float = 0.0,
) -> Plan | None:
    """Return a valid plan of the same steps that ends sooner; None where none is found.

    Branch and bound ends when `may_go_on` says so. If it has no proof then, and OR-tools is installed, CP-SAT searches
    for `more_seconds`.
    """
    modelled = model_project(problem, snap, plan) if 1 < len(plan.steps) <= MOST_STEPS else None
    if modelled is None:
        return None
    project, network = modelled
    now = max([network.ticks(time.end) for time in plan.times])
    found = _find_schedule(project, now, may_go_on, more_seconds)
    if found is None:
        return None
    for starts in (found.starts, space_out(project, found.starts)):
        if starts is not None and find_makespan(project, starts) < now:
            better = price_plan(_list_steps(problem, plan, network, starts))
            if check_steps(problem, better).valid:
                return better
    return None


def _list_steps(problem: Problem, plan: Plan, network: Network, starts: Sequence[int]) -> Plan:
    """Return `plan` with its steps in the order of their `starts`, in ticks of `network`."""
    order = sorted(range(len(plan.steps)), key=lambda number: (starts[number], number))
    times = [StepTime(network.seconds(starts[each]), plan.times[each].duration) for each in order]
    return Plan(tuple([plan.steps[each] for each in order]), problem, times=tuple(times))


def model_project(problem: Problem, snap: SnapProblem, plan: Plan) -> tuple[Project, Network] | None:
    """Return the project of the steps of `plan`, and the network whose ticks it counts; None where there is none."""
    shared = find_shared(problem, snap, plan.steps)
    sequence = order_moments(problem, snap, plan)
    chosen = chosen_durations(problem, plan.steps, [time.duration for time in plan.times])
    try:
        network = make_network(problem, snap, plan.steps, sequence, without=shared, durations=chosen)
    except PlanError:
        return None
    return _Modeller(network, plan, sequence, shared).model(), network


def _find_schedule(
    project: Project, before: int, may_go_on: Callable[[], bool], more_seconds: float
) -> Schedule | None:
    found = find_least_schedule(project, before=before, may_go_on=may_go_on)
    if may_go_on() or not more_seconds or not has_cp_sat():
        return found
    limit = before if found is None else found.makespan
    return find_least_schedule_by_cp_sat(project, more_seconds, limit) or found


def order_moments(problem: Problem, snap: SnapProblem, plan: Plan) -> list[Moment]:
    """Return the happenings of `plan` in the order of their times: known changes, then ends, then starts."""
    found: list[tuple[Number, int, Moment]] = []
    for number, effect in enumerate(problem.timed):
        found.append((effect.time, 0, Moment(EVENT, number)))
    for number, (step, time) in enumerate(zip(plan.steps, plan.times, strict=True)):
        found.append((time.start, 2, Moment(START, number)))
        if snap.actions[step.action].end:
            found.append((time.end, 1 if time.duration else 3, Moment(END, number)))
    return [moment for _, _, moment in sorted(found, key=lambda each: (each[0], each[1], each[2].number))]


@dataclass(slots=True)
class Shared:
    """A machine or a capacity: how much there is, and how much each step, by its place, holds while it lasts.

    Where starts compare what is left, no start comes at once with the start or the end of another step.
    """

    capacity: Fraction
    demands: dict[int, Fraction] = field(default_factory=dict)
    is_compared: bool = False


def find_shared(problem: Problem, snap: SnapProblem, steps: Sequence[Step]) -> dict[Atom, Shared]:
    """Return the facts and the numbers that `steps` hold while they last, and that nothing else touches."""
    touched: dict[Atom, list[tuple[int, str]]] = {}
    for number, step in enumerate(steps):
        moments = snap.actions[step.action]
        for name, moment in ((moments.start, START), (moments.end, END), (moments.lasting, "lasting")):
            if name:
                action = snap.problem.domain.actions[name]
                for item, how in _touch(action, Step(name, step.arguments)):
                    touched.setdefault(item, []).append((number, f"{moment} {how}"))
    for effect in problem.timed:
        for literal in effect.provides:
            touched.setdefault(literal.part if isinstance(literal, Not) else literal, []).append((-1, ""))  # type: ignore[arg-type]
        for change in effect.numbers:
            touched.setdefault(change.fluent, []).append((-1, ""))
    found: dict[Atom, Shared] = {}
    initial = set(problem.initial)
    for item, touches in touched.items():
        by_step: dict[int, set[str]] = {}
        for number, how in touches:
            by_step.setdefault(number, set()).add(how)
        if item in initial and all(hows == _MACHINE for hows in by_step.values()):
            found[item] = Shared(Fraction(1), dict.fromkeys(by_step, Fraction(1)))
            continue
        shared = _read_capacity(snap.problem, item, by_step)
        if shared is not None:
            found[item] = shared
    return {item: shared for item, shared in found.items() if len(shared.demands) > 1}


_MACHINE: Final = {f"{START} needs", f"{START} ends", f"{END} makes"}


def _read_capacity(problem: Problem, item: Atom, by_step: dict[int, set[str]]) -> Shared | None:
    """Return the capacity `item`; None if it is none, or some step does anything else with it."""
    value = problem.values.get(item)
    if value is None:
        return None
    function = problem.domain.functions.get(item.predicate)
    is_bounded = function is not None and function.low == 0
    shared = Shared(Fraction(value))
    for number, hows in by_step.items():
        amount = next((how.removeprefix(f"{START} takes ") for how in hows if how.startswith(f"{START} takes ")), None)
        if amount is None:
            return None
        expected = {f"{START} takes {amount}", f"{END} gives {amount}"}
        if hows != expected | {f"{START} compares {amount}"} and not (is_bounded and hows == expected):
            return None
        shared.demands[number] = Fraction(amount)
        shared.is_compared |= hows != expected
    return shared


def _touch(action: Action, step: Step) -> Iterator[tuple[Atom, str]]:
    """Yield the facts and numbers that a happening touches, and how."""
    binding = dict(bind_parameters(action, step))
    for part in conjuncts(action.requires):
        condition = substitute(part, binding)
        if isinstance(condition, Atom):
            yield condition, "needs"
        elif isinstance(condition, Comparison):
            left, right = condition.left, condition.right
            if isinstance(left, Atom) and condition.relation == ">=" and not any(True for _ in functions_in(right)):
                yield left, f"compares {right}"
            else:
                yield from ((term, "reads") for term in condition.functions)
        elif not isinstance(condition, Equals):
            yield from ((atom, "mentions") for atom in atoms_in(condition))
            yield from ((term, "reads") for each in comparisons_in(condition) for term in each.functions)
    for when in action.effects:
        is_plain = when.requires == TRUE and not when.variables
        for literal in when.provides:
            atom = literal.part if isinstance(literal, Not) else literal
            assert isinstance(atom, Atom)
            how = "ends" if isinstance(literal, Not) else "makes"
            yield atom.substitute(binding), how if is_plain else "writes"
        for item in when.modifies:
            yield item.substitute(binding), "writes"
        for effect in when.numbers:
            change = effect.substitute(binding)
            how = {"-=": "takes", "+=": "gives"}.get(change.operator, "writes")
            constant = not any(True for _ in functions_in(change.value))
            yield change.fluent, f"{how} {change.value}" if is_plain and constant else "writes"
            yield from ((term, "reads") for term in functions_in(change.value))


@dataclass(slots=True)
class _Modeller:
    """Makes a project of a network and of what its steps share."""

    network: Network
    plan: Plan
    sequence: Sequence[Moment]
    shared: dict[Atom, Shared]

    def model(self) -> Project:
        """Return the project."""
        network, times = self.network, self.plan.times
        durations = tuple([network.ticks(time.duration) for time in times])
        place: dict[int, tuple[int, int]] = {}
        for number, (start, end) in enumerate(zip(network.starts, network.ends, strict=True)):
            place[end] = number, durations[number]
            place[start] = number, 0
        known = {0: 0}
        for (one, other), least in network.edges.items():
            if one == 0 and network.edges.get((other, 0)) == -least and other not in place:
                known[other] = least
        edges: list[Edge] = []
        earliest: dict[int, int] = {}
        latest: dict[int, int] = {}
        for (one, other), least in network.edges.items():
            if one in place and other in place:
                (first, before), (second, after) = place[one], place[other]
                if first != second:
                    edges.append((first, second, least + before - after))
            elif one in known and other in place:
                number, after = place[other]
                earliest[number] = max(earliest.get(number, 0), known[one] + least - after)
            elif one in place and other in known:
                number, before = place[one]
                tick = known[other] - least - before
                latest[number] = min(latest.get(number, tick), tick)
        gap = network.ticks(SEPARATION)
        either: list[tuple[Edge, Edge]] = []
        for one, other in network.apart:
            if one in place and other in place and place[one][0] != place[other][0]:
                (first, before), (second, after) = place[one], place[other]
                either.append(((first, second, gap + before - after), (second, first, gap + after - before)))
        resources = []
        for each in self.shared.values():
            if each.is_compared:
                either += self._keep_apart(each, durations, gap)
            scale = lcm(each.capacity.denominator, *[demand.denominator for demand in each.demands.values()])
            demands = {number: int(demand * scale) for number, demand in each.demands.items() if demand}
            resources.append(Resource(int(each.capacity * scale), demands, gap))
        return Project(durations, tuple(edges), tuple(either), tuple(resources), earliest, latest)

    def _keep_apart(self, shared: Shared, durations: Sequence[int], gap: int) -> Iterator[tuple[Edge, Edge]]:
        """Yield that starts do not come at once with starts and ends of other steps."""
        for one, other in combinations(shared.demands, 2):
            yield (one, other, gap), (other, one, gap)
            for first, second in ((one, other), (other, one)):
                yield (first, second, gap - durations[second]), (second, first, gap + durations[second])
