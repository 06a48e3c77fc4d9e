"""Facts that only changes at known times change: the windows in which they hold take the place of such facts.

Sequences of steps then need no events between the steps: a step starts in the first windows of the facts that it reads.
"""

from __future__ import annotations

from collections.abc import Iterator

from planner.lightweight import Final, dataclass, replace
from planner.task.ground_task import effects_of
from planner.task.temporal_task import ENDING, TemporalTask

AT_START: Final = 0
THROUGHOUT: Final = 1
AT_END: Final = 2
ALWAYS: Final = 1 << 60
"""The tick at which a window closes that is not closed."""


@dataclass(frozen=True, slots=True)
class Clocks:
    """The windows of facts.

    `windows` has by clock when it opens and closes, ascending. `reads` has for each action that starts a step the
    clocks that the step reads, with `AT_START`, `THROUGHOUT` or `AT_END`.
    """

    windows: tuple[tuple[tuple[int, int], ...], ...]
    reads: tuple[tuple[tuple[int, int], ...], ...]


def separate_clocks(task: TemporalTask) -> tuple[TemporalTask, Clocks] | None:
    """Return `task` without the conditions on facts that only changes at known times change, and their windows.

    Return None if such a change also changes what steps change, or effects, axioms or the goal depend on it.
    """
    source = task.source.task
    none = Clocks((), ((),) * len(source.actions))
    if task.events == len(task.lapses):
        return task, none
    events = {end for lapse in task.lapses[task.events :] for end in lapse.ends}
    changed = {fact for event in events for fact in (*source.actions[event].adds, *source.actions[event].deletes)}
    others = [action for number, action in enumerate(source.actions) if number not in events]
    elsewhere = {fact for action in others for part in effects_of(action) for fact in (*part.adds, *part.deletes)}
    read = {fact for action in others for part in action.conditional for fact in part.condition}
    read |= {*source.goal, *[fact for layer in source.axioms for rule in layer.rules for fact in rule.body]}
    if changed & (elsewhere | read) or any(task.source.changes[event] for event in events):
        return None
    if any(changed.intersection(conjunction) for lapse in task.lapses for conjunction in lapse.invariants[1:]):
        return None
    number_of = {fact: clock for clock, fact in enumerate(sorted(changed))}
    windows = tuple([tuple(_find_windows(task, fact)) for fact in number_of])
    reads = []
    for action, begun in enumerate(task.begins):
        own = [(fact, AT_START) for fact in source.actions[action].precondition] if begun != ENDING else []
        through: set[int] = set()
        if begun >= 0:
            lapse = task.lapses[begun]
            through = {fact for conjunction in lapse.invariants[:1] for fact in conjunction}
            own = [(fact, when) for fact, when in own if fact not in through]
            own += [(fact, THROUGHOUT) for fact in sorted(through)]
            own += [
                (fact, AT_END)
                for end in lapse.ends[:1]
                for fact in source.actions[end].precondition
                if fact not in through
            ]
        reads.append(tuple([(number_of[fact], when) for fact, when in own if fact in number_of]))
    actions = [
        replace(action, precondition=tuple([fact for fact in action.precondition if fact not in changed]))
        if number not in events and changed.intersection(action.precondition)
        else action
        for number, action in enumerate(source.actions)
    ]
    lapses = [
        replace(
            lapse,
            invariants=tuple([tuple([fact for fact in each if fact not in changed]) for each in lapse.invariants]),
        )
        for lapse in task.lapses
    ]
    plain = replace(task.source, task=replace(source, actions=actions))
    return replace(task, source=plain, lapses=tuple(lapses)), Clocks(windows, tuple(reads))


def _find_windows(task: TemporalTask, fact: int) -> Iterator[tuple[int, int]]:
    """Yield when `fact` begins and ceases to hold."""
    actions = task.source.task.actions
    opened = 0 if fact in task.source.task.initial else None
    for lapse in sorted(task.lapses[task.events :], key=lambda lapse: lapse.ticks):
        for event in lapse.ends[:1]:
            if fact in actions[event].deletes and opened is not None:
                yield opened, lapse.ticks
                opened = None
            elif fact in actions[event].adds and opened is None:
                opened = lapse.ticks
    if opened is not None:
        yield opened, ALWAYS
