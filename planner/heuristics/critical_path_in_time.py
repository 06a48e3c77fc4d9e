"""A lower bound on the makespan: the critical path of the delete relaxation (Haslum and Geffner, 2001: h_max by time).

A fact that a happening makes true can be read by another one `separation` ticks later. What must hold throughout a step
may be made true at the moment of its start. A step that has started must end as well, so the plan ends no sooner than
the steps that the goal needs, even where it needs their starts alone. Numbers are left out: every linear condition
counts as true.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from heapq import heapify, heappop, heappush

from planner.heuristics.relaxation import AXIOM, RelaxedTask, relax
from planner.lightweight import dataclass
from planner.limits import look, under_limits
from planner.task.ground_task import INFINITY
from planner.task.temporal_task import TemporalTask


@dataclass(frozen=True, slots=True)
class MakespanBound:
    """The least tick at which the last step of any plan may end; `INFINITY` where no relaxed plan exists.

    `met` has the least tick of each action by which a deadline is met, and `begun` that of the start of each lapse.
    """

    ticks: int
    met: Mapping[int, int]
    begun: Mapping[int, int]


def bound_makespan(task: TemporalTask, separation: int, meetings: Collection[int]) -> MakespanBound:
    """Return a bound on the makespan of plans; `meetings` has the actions by which deadlines are met."""
    plain = task.source.task
    relaxed = relax(plain, [0] * len(plain.actions))
    spans = _find_spans(task)
    value = [INFINITY] * relaxed.size
    free = {relaxed.start, *plain.initial, *[each.fact for each in task.source.conditions]}
    for fact in free:
        value[fact] = 0
    lenient = _lenient_facts(task)
    met: dict[int, int] = {}
    starts: dict[int, int] = {}
    missing = [len(facts) for facts in relaxed.preconditions]
    begun = [0] * len(relaxed.preconditions)
    waiting = [(0, fact) for fact in free]
    heapify(waiting)
    while waiting:
        now, fact = heappop(waiting)
        if value[fact] < now:
            continue
        look()
        for operator in relaxed.needed_by[fact]:
            action = relaxed.actions[operator]
            at_once = action == AXIOM or action in meetings or fact in lenient.get(action, ())
            ticks, counted = spans.get(action, (0, None))
            lasts = ticks if counted is None or fact in counted else 0
            begun[operator] = max(begun[operator], now + lasts + (0 if now == 0 or at_once else separation))
            missing[operator] -= 1
            if missing[operator] == 0:
                then = begun[operator]
                if action in meetings:
                    met[action] = then
                begins = -1 if action == AXIOM else task.begins[action]
                if begins >= 0:
                    starts[begins] = min(begun[operator], starts.get(begins, INFINITY))
                for effect in relaxed.effects[operator]:
                    if then < value[effect]:
                        value[effect] = then
                        heappush(waiting, (then, effect))
    if value[relaxed.goal] == INFINITY:
        return MakespanBound(INFINITY, met, starts)
    return MakespanBound(_last_end(task, relaxed, free, begun, meetings), met, starts)


def _find_spans(task: TemporalTask) -> dict[int, tuple[int, frozenset[int] | None]]:
    """Return for each end how many ticks after some facts it comes; None stands for all that it needs.

    These facts are that the step runs, and what it needs throughout; what it needs at its end may be late.
    """
    found: dict[int, tuple[int, frozenset[int] | None]] = {}
    for place, lapse in enumerate(under_limits(task.lapses)):
        ticks = lapse.ticks if lapse.variable is None else 0
        through = lapse.invariants[0] if len(lapse.invariants) == 1 else ()
        counted = frozenset([lapse.running, *through]) if place < task.events else None
        found |= dict.fromkeys(lapse.ends, (ticks, counted))
    return found


def _last_end(
    task: TemporalTask, relaxed: RelaxedTask, free: Collection[int], begun: Sequence[int], meetings: Collection[int]
) -> int:
    """Return the least tick by which all steps of some relaxed plan have ended, where operators come at `begun`.

    The value of a fact is the end of the last step of those that its best achiever and the facts before it need. A
    change at a known time is no step, nor that a deadline is met: a plan may end before them.
    """
    events = {action for lapse in task.lapses[task.events :] for action in lapse.ends} | {*meetings}
    value = [INFINITY] * relaxed.size
    for fact in free:
        value[fact] = 0
    missing = [len(facts) for facts in relaxed.preconditions]
    waiting = [(0, fact) for fact in free]
    heapify(waiting)
    while waiting:
        now, fact = heappop(waiting)
        if value[fact] < now:
            continue
        look()
        for operator in relaxed.needed_by[fact]:
            missing[operator] -= 1
            if missing[operator] == 0:
                action = relaxed.actions[operator]
                lasts = 0
                if action != AXIOM and task.begins[action] >= 0:
                    lapse = task.lapses[task.begins[action]]
                    lasts = lapse.ticks if lapse.variable is None else 0
                then = now if action == AXIOM or action in events else max(now, begun[operator] + lasts)
                for effect in relaxed.effects[operator]:
                    if then < value[effect]:
                        value[effect] = then
                        heappush(waiting, (then, effect))
    return value[relaxed.goal]


def _lenient_facts(task: TemporalTask) -> dict[int, frozenset[int]]:
    """Return for each action the facts that it may read at the moment when they become true.

    The end of a step reads that the step runs, and what it needed throughout; its start what it needs throughout.
    """
    found: dict[int, frozenset[int]] = {}
    running: dict[int, frozenset[int]] = {}
    for place, lapse in enumerate(under_limits(task.lapses)):
        through = frozenset([fact for facts in lapse.invariants for fact in facts])
        for action in lapse.ends:
            found[action] = through
        running[place] = through
    for action, place in enumerate(under_limits(task.begins)):
        if place >= 0:
            found[action] = running[place]
            own = frozenset(task.source.task.actions[action].adds)
            for end in task.lapses[place].ends:
                found[end] |= own
    return found
