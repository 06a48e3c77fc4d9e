"""Times of plans whose suppositions are left out: these took no time, but each step that rests on one came after it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.compilations.contingent.knowledge import Translation
from planner.compilations.contingent.supposition_actions import Supposing
from planner.errors import PlanError
from planner.lightweight import replace
from planner.model.formulas import Atom
from planner.model.problem import Problem
from planner.plan import Plan, Step, StepTime
from planner.scheduling.happening_schedule import END, EVENT, START, Moment, make_network
from planner.semantics.durations import SEPARATION
from planner.semantics.simulation import bind_parameters
from planner.semantics.snap_actions import make_snap_problem
from planner.validation.timed_replay import TimedReplay, find_happenings


def drop_suppositions(plan: Plan, problem: Problem, asked: Translation, made: Supposing) -> Plan:
    """Return `plan` of `made`, in time, as one of `problem`: without suppositions, and as early as its order allows.

    Steps that rest on what a step has sensed still come after it.
    """
    pairs = [(step, time) for step, time in zip(plan.steps, plan.times, strict=True) if made.is_own(step)]
    steps, times = [step for step, _ in pairs], [time for _, time in pairs]
    known = asked.suppose(asked.knowing(), made.find_supposed(plan.steps))
    early = _move_forward(known, steps, times, list(_order_looks(plan, problem, made)))
    plans = [_price(known, *each) for each in (early, (steps, times)) if each is not None]
    valid = [each for each in plans if each is not None]
    best = min(valid, key=lambda each: each.cost) if valid else Plan(tuple(steps), known, times=tuple(times))
    return replace(best, problem=problem)


def _price(known: Problem, steps: Sequence[Step], times: Sequence[StepTime]) -> Plan | None:
    order = sorted(range(len(steps)), key=lambda place: (times[place].start, place))
    bare = [replace(steps[place], cost=0) for place in order]
    replay = TimedReplay(known, bare, [times[place] for place in order])
    return replay.price() if replay.judge(None).valid else None


def _move_forward(
    known: Problem, steps: Sequence[Step], times: Sequence[StepTime], before: Sequence[tuple[int, int]]
) -> tuple[Sequence[Step], list[StepTime]] | None:
    """Return `steps` with the earliest times in the same order of happenings; None where there are none."""
    snap = make_snap_problem(known)
    events = {name: number for number, name in enumerate(snap.events)}
    sequence = []
    for each in find_happenings(known, snap, steps, times):
        if not each.number:
            sequence.append(Moment(EVENT, events[each.step.action]))
        else:
            is_start = snap.actions[steps[each.number - 1].action].start == each.step.action
            sequence.append(Moment(START if is_start else END, each.number - 1))
    lasting = {place: time.duration for place, time in enumerate(times)}
    try:
        network = make_network(known, snap, steps, sequence, durations=lasting)
    except PlanError:
        return None
    for first, second in before:
        network.add(network.ends[first], network.starts[second], network.ticks(SEPARATION))
    found = network.read_times()
    return None if found is None else (steps, found)


def _order_looks(plan: Plan, problem: Problem, made: Supposing) -> Iterator[tuple[int, int]]:
    """Yield pairs of steps without suppositions: one that senses, and one that starts after what it saw is supposed."""
    number, looks = 0, list[tuple[int, StepTime, list[Atom]]]()
    starts = [time for step, time in zip(plan.steps, plan.times, strict=True) if made.is_own(step)]
    for step, time in zip(plan.steps, plan.times, strict=True):
        if made.is_own(step):
            action = problem.domain.actions[step.action]
            binding = dict(bind_parameters(action, step))
            looks.append((number, time, [pattern.substitute(binding) for pattern in action.senses]))
            number += 1
            continue
        for fact in made.find_supposed([step]):
            for place, look, patterns in looks:
                if look.end < time.start and any(pattern.matches(fact) for pattern in patterns):
                    yield from ((place, other) for other, each in enumerate(starts) if each.start > time.start)
