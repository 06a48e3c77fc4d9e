"""The order that a decomposition asks for, as a graph of events.

The event `2 * place` is the beginning of the node at `place`: of a compound task, the moment in which its method is
chosen and its precondition holds. `2 * place + 1` is its end. Both events of an action are the step itself. A method
begins before its subtasks and ends after them, and of two ordered subtasks the first ends before the second begins.
"""

from __future__ import annotations

from collections.abc import Sequence

from htn.plan import Decomposition
from htn.verify.frames import FlawError, Frame
from planner.plan import Step
from planner.records import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Events:
    """What follows each event at once, and how many events it follows; `steps` has the events that are steps."""

    following: list[list[int]]
    waits_for: list[int]
    steps: dict[int, int]


def events_of(tree: Decomposition, frames: Sequence[Frame]) -> Events:
    """Return the events of `tree`, whose compound tasks are `frames`."""
    size = 2 * (len(tree.nodes) + 1)
    following: list[list[int]] = [[] for _ in range(size)]
    for frame in frames:
        begin = 2 * frame.place
        following[begin].append(begin + 1)
        for child in frame.children:
            following[begin].append(2 * child)
            following[2 * child + 1].append(begin + 1)
        for first, second in frame.method.network.ordering:
            following[2 * frame.children[first] + 1].append(2 * frame.children[second])
    steps = {2 * place: node.step for place, node in enumerate(tree.nodes) if node.step is not None}
    for event in steps:
        following[event].append(event + 1)
    waits_for = [0] * size
    for events in following:
        for event in events:
            waits_for[event] += 1
    return Events(following, waits_for, steps)


def check_order(events: Events, frames: Sequence[Frame], steps: Sequence[Step]) -> None:
    """Raise `FlawError` where a step comes before another that its event follows, or where events form a cycle.

    `earliest` are slots: slot 0 is before the first step, slot n after step n.
    """
    earliest = [0] * len(events.following)
    cause = [-1] * len(events.following)
    waits_for = events.waits_for.copy()
    ready = [event for event, number in enumerate(waits_for) if not number]
    done = 0
    while ready:
        event = ready.pop()
        done += 1
        number = events.steps.get(event)
        if number is not None:
            if earliest[event] > number:
                raise FlawError(_disorder(event, cause, events, frames, steps))
            earliest[event], cause[event] = number + 1, -1
        for other in events.following[event]:
            if earliest[event] > earliest[other]:
                earliest[other], cause[other] = earliest[event], event
            waits_for[other] -= 1
            if not waits_for[other]:
                ready.append(other)
    if done < len(events.following):
        raise FlawError("the ordering of tasks has a cycle")


def _disorder(event: int, cause: Sequence[int], events: Events, frames: Sequence[Frame], steps: Sequence[Step]) -> str:
    """Return which step comes too early, and which network says so."""
    path = [event]
    while cause[path[-1]] >= 0:
        path.append(cause[path[-1]])
    early, late = events.steps[event], events.steps[path[-1]]
    start = f"step {early + 1} {steps[early]} comes before step {late + 1} {steps[late]}"
    first, second = next(pair for pair in zip(path[:0:-1], path[-2::-1], strict=True) if pair[0] % 2 > pair[1] % 2)
    frame = next(frame for frame in frames if first // 2 in frame.children)
    names = [frame.children.index(each // 2) for each in (first, second)]
    tasks = [frame.method.network.subtasks[name].task.substitute(frame.binding) for name in names]
    return f"{start}, but {frame} puts {tasks[0]} before {tasks[1]}"
