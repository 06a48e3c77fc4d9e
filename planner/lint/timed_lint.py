"""Lint of time: capacities, windows and deadlines; and actions as all other checks see them, without their moments."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from planner.compilations.sequential_steps import Regression
from planner.errors import PlanError, UnsupportedError
from planner.lightweight import Final, dataclass, replace
from planner.lint.findings import Finding, Level
from planner.model.actions import NO_MOMENT, Action, DurationRange, When, negated_atoms, positive_atoms
from planner.model.domain import DomainModel, written_predicates
from planner.model.formulas import (
    OPEN,
    TRUE,
    Arithmetic,
    Atom,
    Not,
    Number,
    conjunction,
    conjuncts,
    is_variable,
    unmarked,
)
from planner.model.problem import Problem
from planner.semantics.durations import as_seconds
from planner.semantics.numeric_state import Values
from planner.semantics.snap_actions import split_moments, sum_of


def flatten_moments(domain: DomainModel) -> DomainModel:
    """Return `domain` with actions that require and change at once all that they do at their moments.

    What a start provides for the middle or the end of its own step is not required.
    """
    if not any(action.has_moments for action in domain.actions.values()):
        return domain
    return replace(domain, actions={name: _flatten(action) for name, action in domain.actions.items()})


def _flatten(action: Action) -> Action:
    if not action.has_moments:
        return action
    start, throughout, end = split_moments(action)
    needs = [*conjuncts(start.requires)]
    with contextlib.suppress(UnsupportedError):
        through = Regression.through(start, throughout)
        needs += [*conjuncts(through.regress(throughout)), *conjuncts(through.regress(end.requires))]
    first = When(TRUE, action.at_start.provides, action.at_start.modifies, numbers=action.at_start.numbers)
    last = When(TRUE, action.at_end.provides, action.at_end.modifies, numbers=action.at_end.numbers)
    moments = [each for each in (first, last) if each.provides or each.modifies or each.numbers]
    return replace(
        action,
        requires=conjunction(list(dict.fromkeys(needs))),
        when=(*moments, *action.at_start.when, *action.when, *action.at_end.when),
        throughout=TRUE,
        at_start=NO_MOMENT,
        at_end=NO_MOMENT,
        duration=action.duration.low if isinstance(action.duration, DurationRange) else action.duration,
    )


def with_timed_effects(problem: Problem) -> Problem:
    """Return `problem` with actions for the changes at known times, so that their facts can be reached."""
    if not problem.timed:
        return problem
    changes = {
        f"@{place}": Action(f"@{place}", provides=each.provides, numbers=each.numbers)
        for place, each in enumerate(problem.timed)
    }
    domain = replace(problem.domain, actions={**problem.domain.actions, **changes})
    return replace(problem, domain=domain, timed=())


def check_throughout(domain: DomainModel) -> Iterator[Finding]:
    """Yield what an action needs throughout and ends itself at its start."""
    for action in domain.actions.values():
        patterns = [*action.modifies, *action.at_start.modifies]
        ended = [*[x for x in patterns if OPEN in x.args], *negated_atoms(action.at_start.provides)]
        given = positive_atoms(action.at_start.provides)
        for atom in conjuncts(action.throughout):
            if isinstance(atom, Atom) and atom not in given and any(_covers(each, atom) for each in ended):
                plain = unmarked(atom)
                message = f"it can never apply: it requires {plain} throughout, and ends that at its own start"
                place, hint = f"action {action.name}", "end it at the end, or require it at the start only"
                yield Finding(Level.ERROR, "contradicting-requires", place, message, hint, "throughout", atom)


def _covers(pattern: Atom, fact: Atom) -> bool:
    return pattern.predicate == fact.predicate and pattern.matches(fact)


def check_time(problem: Problem) -> Iterator[Finding]:
    """Yield findings about capacities and windows of `problem`."""
    yield from _check_capacities(problem)
    yield from _check_windows(problem)
    yield from check_units(problem.domain)
    for due in problem.due:
        if due.by < 0:
            yield Finding(Level.ERROR, "past-deadline", f"deadline of {due.condition}", "it is before the beginning")


UNITS: Final = frozenset({60, 3600, 1000, 24, 86400, 1440})
"""Factors between units of time."""


def check_units(domain: DomainModel) -> Iterator[Finding]:
    """Yield durations that read a function as it is, where another one multiplies it by the factor of two units."""
    bare: dict[str, str] = {}
    scaled: dict[str, tuple[str, Number]] = {}
    for action in domain.actions.values():
        match action.duration:
            case Atom(name):
                bare.setdefault(name, action.name)
            case Arithmetic("*", (int(factor), Atom(name)) | (Atom(name), int(factor))) if factor in UNITS:
                scaled.setdefault(name, (action.name, factor))
    for name in bare.keys() & scaled.keys():
        other, times = scaled[name]
        message = f"it lasts {name}(…) seconds, and action {other} lasts {times} times as much for the same"
        place, hint = f"action {bare[name]}", f"should it be {times} * {name}(…)?"
        yield Finding(Level.HINT, "unlike-units", place, message, hint, "duration", name)


def _check_capacities(problem: Problem) -> Iterator[Finding]:
    used = dict.fromkeys(name for action in problem.domain.actions.values() for name in action.holds)
    for name in problem.capacity:
        if name not in used:
            yield Finding(Level.WARNING, "unused-capacity", f"capacity {name}", "no action holds it")
    for action in problem.domain.actions.values():
        place = f"action {action.name}"
        for name, terms in action.holds.items():
            amount = sum_of(terms)
            if isinstance(amount, Number) and amount > problem.capacity.get(name, 0):
                message = f"it holds {amount} of {name}, and there is {problem.capacity.get(name, 0)}"
                yield Finding(Level.WARNING, "too-much-held", place, message, "it can never start")
            if isinstance(action.duration, DurationRange) and action.duration.high is None:
                message = f"it holds {name}, and its duration has no upper bound"
                yield Finding(Level.HINT, "held-for-ever", place, message, "bound it, so that others get their turn")
            if action.duration is None:
                message = f"it holds {name}, and has no duration: it gives it back at once"
                yield Finding(Level.WARNING, "held-for-no-time", place, message, "give it a duration")


@dataclass(frozen=True, slots=True)
class _Window:
    """A time during which a fact holds; without `end`, it holds for ever."""

    start: Number
    end: Number | None

    def fits(self, seconds: Number) -> bool:
        """Return whether a step that takes `seconds` fits."""
        return self.end is None or self.end - self.start >= seconds


def _check_windows(problem: Problem) -> Iterator[Finding]:
    """Yield the actions that last longer than any window of a fact that they need throughout."""
    windows = _find_windows(problem)
    values = Values.of(problem)
    for action in problem.domain.actions.values():
        shortest = _find_shortest(action, values)
        for atom in conjuncts(action.throughout):
            if not isinstance(atom, Atom) or shortest is None:
                continue
            pattern = Atom(atom.predicate, tuple([OPEN if is_variable(arg) else arg for arg in atom.args]))
            known = [each for fact, own in windows.items() if pattern.matches(fact) for each in own]
            if known and not any(each.fits(shortest) for each in known):
                longest = max(each.end - each.start for each in known if each.end is not None)
                message = f"it lasts {shortest} s or more, and needs {atom} throughout, which holds {longest} s at most"
                yield Finding(Level.WARNING, "window-too-short", f"action {action.name}", message, "it can never end")


def _find_shortest(action: Action, values: Values) -> Number | None:
    """Return the least duration of steps of `action`; None where that depends on arguments or on the state."""
    duration = action.duration.low if isinstance(action.duration, DurationRange) else action.duration
    if duration is None:
        return None
    with contextlib.suppress(PlanError, KeyError):
        value = values.evaluate(duration)
        return None if value is None else as_seconds(value)
    return None


def _find_windows(problem: Problem) -> dict[Atom, list[_Window]]:
    """Return when facts hold that only changes at known times write; facts that actions write are left out."""
    written = written_predicates(problem.domain)
    found: dict[Atom, list[_Window]] = {}
    since: dict[Atom, Number] = {}
    for effect in sorted(problem.timed, key=lambda each: each.time):
        for literal in effect.provides:
            fact = literal.part if isinstance(literal, Not) else literal
            if not isinstance(fact, Atom) or fact.predicate in written:
                continue
            if fact in problem.initial and fact not in since and fact not in found:
                since[fact] = 0
            if not isinstance(literal, Not):
                since.setdefault(fact, effect.time)
            elif fact in since:
                found.setdefault(fact, []).append(_Window(since.pop(fact), effect.time))
    for fact, start in since.items():
        found.setdefault(fact, []).append(_Window(start, None))
    timed = {fact.predicate for fact in found}
    for fact in problem.initial:
        if fact.predicate in timed and fact not in found:
            found[fact] = [_Window(0, None)]
    return found
