"""Trajectory constraints in time, slow and obvious: the memory of each constraint is part of the state.

Shares no code with the planner. A constraint is judged by the initial state and by the state after all happenings of
each moment; a step counts from its start where it may break a constraint, and from its end where it meets one. A tick
is the least time between two happenings of which one must come before the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from benchmarks.numeric_semantics import Term
from benchmarks.temporal_semantics import Happening, State, TemporalSemantics

MEMORY: Final = "@"
Condition = tuple[Any, ...]
"""`("fact", term)`, `("not", c)`, `("and", c, …)`, `("or", c, …)`, or a pattern of steps `("step", name, arg…)`."""


@dataclass(frozen=True, slots=True)
class Watch:
    """A constraint: `kind` is always, sometime, most, before or after; `other` and `times` as the kind needs them."""

    kind: str
    what: Condition
    other: Condition | None = None
    times: int = 1


@dataclass(frozen=True, slots=True)
class Named(Happening):
    """A happening of the step `step`, of which it may be the start and the end."""

    step: Term = ()
    is_start: bool = False
    is_end: bool = False


def _mark(place: int, word: str, number: int = 0) -> Any:
    """Return the fact by which the constraint at `place` remembers `word`."""
    return MEMORY, place, word, number


def _named(happening: Happening, step: Term, *, is_start: bool, is_end: bool) -> Named:
    given = {each.name: getattr(happening, each.name) for each in fields(Happening)}
    return Named(**given, step=step, is_start=is_start, is_end=is_end)


def holds(condition: Condition, facts: frozenset[Term]) -> bool:
    """Return whether `condition`, which is no pattern of steps, holds where these are the facts."""
    head, *parts = condition
    if head == "fact":
        return parts[0] in facts
    if head == "not":
        return not holds(parts[0], facts)
    return (all if head == "and" else any)(holds(part, facts) for part in parts)


def covers(pattern: Condition, step: Term) -> bool:
    """Return whether the pattern of steps covers `step`."""
    _, name, *given = pattern
    return name == step[0] and all(mine in ("_", theirs) for mine, theirs in zip(given, step[1:], strict=True))


class MonitoredSemantics(TemporalSemantics):
    """What a domain and a problem mean under constraints; facts that begin with `MEMORY` remember what happened."""

    def __init__(self, domain: str, problem: str, ticks: int, watches: Sequence[Watch]) -> None:
        super().__init__(domain, problem, ticks)
        self.watches = list(watches)
        self.actions = [
            replace(
                action,
                start=_named(action.start, action.name, is_start=True, is_end=action.end is None),
                end=None if action.end is None else _named(action.end, action.name, is_start=False, is_end=True),
            )
            for action in self.actions
        ]
        self.initial = self._judge([], self.initial)

    def apply(self, together: Sequence[Happening], state: State) -> State:
        """Return the state after happenings that come at once, with what the constraints remember."""
        return self._judge(together, super().apply(together, state))

    def allows(self, happening: Happening, state: State) -> bool:
        """Return whether what `happening` needs holds in `state`: of the goal, the constraints, too."""
        return super().allows(happening, state) and (happening is not self.goal or not self.find_broken(state))

    def find_broken(self, state: State) -> list[int]:
        """Return the places of the constraints that a plan that ends in `state` breaks."""
        return [
            place
            for place, watch in enumerate(self.watches)
            if _mark(place, "broken") in state.facts
            or (watch.kind == "sometime" and _mark(place, "what") not in state.facts)
        ]

    def _judge(self, together: Sequence[Happening], state: State) -> State:
        steps = [each for each in together if isinstance(each, Named)]
        begun = [each.step for each in steps if each.is_start]
        ended = [each.step for each in steps if each.is_end]
        memory = set(state.facts)
        for place, watch in enumerate(self.watches):
            self._remember(place, watch, memory, begun, ended)
        return State(frozenset(memory), state.values)

    def _remember(self, place: int, watch: Watch, memory: set[Any], begun: list[Term], ended: list[Term]) -> None:
        def seen(word: str) -> bool:
            return _mark(place, word) in memory

        facts = frozenset(memory)
        is_step, is_other_step = watch.what[0] == "step", watch.other is not None and watch.other[0] == "step"
        starts = [covers(watch.what, step) for step in begun] if is_step else []
        now = any(starts) if is_step else holds(watch.what, facts)
        met = any(covers(watch.what, step) for step in ended) if is_step else now
        other = False
        if watch.other is not None:
            other = any(covers(watch.other, each) for each in begun) if is_other_step else holds(watch.other, facts)
        is_broken = False
        if watch.kind == "always":
            is_broken = not all(starts) if is_step else not now
        elif watch.kind == "most":
            count = next(each[3] for each in memory if each[:3] == (MEMORY, place, "count")) if seen("counts") else 0
            more = sum(starts) if is_step else int(now and not seen("held"))
            memory -= {_mark(place, "count", count)}
            memory |= {_mark(place, "count", count + more), _mark(place, "counts")}
            is_broken = count + more > watch.times
            memory -= {_mark(place, "held")}
            memory |= {_mark(place, "held")} if now else set()
        elif watch.kind == "before":
            at_once = is_step and not is_other_step and met
            is_broken = other and not (seen("what") or at_once)
        elif watch.kind == "after":
            at_once = is_other_step and not is_step and other
            is_broken = now and (seen("other") or at_once)
        memory |= {_mark(place, "broken")} if is_broken else set()
        memory |= {_mark(place, "what")} if met and watch.kind in ("sometime", "before") else set()
        memory |= {_mark(place, "other")} if other and watch.kind == "after" else set()
