"""Which happenings of a plan in time must not come at once (Fox and Long, 2003: the rule of no moving targets).

Two happenings keep their order, with some time between them, if the partial order says so. They also do not come at
once, though either order would do, if one writes a fact that the other reads or writes the other way, even where this
changes nothing, or if one compares a numeric fluent that the other changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.lightweight import dataclass, replace
from planner.model.actions import DURATION, Literal
from planner.model.arithmetic import Key
from planner.model.domain import numeric_effects
from planner.model.formulas import Atom, Comparison, Equals, Formula, Number, conjuncts, functions_in, substitute
from planner.model.problem import Problem
from planner.model.timing import fix_duration
from planner.partial_order.causal_links import find_links, find_orderings
from planner.partial_order.read_write_sets import Access, Patterns, find_accesses, read_patterns
from planner.plan import Plan, Step
from planner.semantics.simulation import Simulation, bind_parameters


@dataclass(frozen=True, slots=True)
class Separated:
    """Two happenings, by their numbers from 1, that must not come at once.

    `about` is the condition or the fluent that both touch. Where they are `ordered`, the first must come first.
    """

    earlier: int
    later: int
    about: Literal | Comparison
    ordered: bool


def find_separated(
    problem: Problem, steps: Sequence[Step], lasts: Sequence[Number | None], moments: Sequence[int] = ()
) -> Iterator[Separated]:
    """Yield the pairs of happenings that must not come at once, where `steps` are a valid plan of the snap `problem`.

    `lasts` has the duration of the step that each of them begins or ends. The goal counts as the last happening. Where
    a comparison leaves a choice which happenings are ordered, those with different `moments`, if these are given, are
    chosen: their order is there already. Raises `PlanError` for a plan that is not valid.
    """
    problem, steps = _fix_durations(problem, steps, lasts)
    found = find_accesses(problem, Plan(tuple(steps), problem))
    for each in find_orderings(found, find_links(found, problem.ran, moments), moments):
        yield Separated(each.earlier, each.later, each.about, ordered=True)
    yield from _separate_numbers(found[:-1])
    yield from _separate_mentions(problem, found[:-1])


def _fix_durations(
    problem: Problem, steps: Sequence[Step], lasts: Sequence[Number | None]
) -> tuple[Problem, list[Step]]:
    """Return `problem` and `steps` where actions whose effects depend on a duration have one of their own for each."""
    actions = dict(problem.domain.actions)
    fixed: list[Step] = []
    for step, seconds in zip(steps, lasts, strict=True):
        action = actions[step.action]
        if seconds is None or not any(DURATION in functions_in(each.value) for each in numeric_effects(action)):
            fixed.append(step)
            continue
        name = f"{step.action} [{seconds}]"
        actions[name] = replace(fix_duration(replace(action, name=name, duration=seconds)), duration=None)
        fixed.append(replace(step, action=name))
    if len(actions) == len(problem.domain.actions):
        return problem, fixed
    return replace(problem, domain=replace(problem.domain, actions=actions)), fixed


def _separate_mentions(problem: Problem, found: Sequence[Access]) -> Iterator[Separated]:
    """Yield the pairs of which one writes a fact that the other mentions in its conditions, or writes the other way."""
    simulation, mentions = Simulation(problem), _Mentions(problem)
    readers: dict[Atom, list[int]] = {}
    retracting: dict[Atom, list[int]] = {}
    for number, access in enumerate(found, start=1):
        for pattern in mentions.of(access.step, simulation):
            readers.setdefault(pattern, []).append(number)
        for pattern in access.changes.retracted:
            retracting.setdefault(pattern, []).append(number)
    mentioned, retracted = Patterns(readers), Patterns(retracting)
    for number, access in enumerate(found, start=1):
        others: dict[int, Atom] = {}
        for fact in (*access.changes.provided, *access.changes.retracted):
            for pattern in mentioned.overlapping(fact):
                others.update(dict.fromkeys(readers[pattern], fact))
        for fact in access.changes.provided:
            for pattern in retracted.overlapping(fact):
                others.update(dict.fromkeys(retracting[pattern], fact))
        for other, fact in others.items():
            if other != number:
                yield Separated(min(number, other), max(number, other), fact, ordered=False)


class _Mentions:
    """Finds the patterns of facts that steps mention in their conditions, by action."""

    def __init__(self, problem: Problem) -> None:
        self._actions = problem.domain.actions
        self._parts: dict[str, list[Formula]] = {}

    def of(self, step: Step, simulation: Simulation) -> list[Atom]:
        """Return the patterns for `step`, with open arguments for quantified variables."""
        action = self._actions[step.action]
        if step.action not in self._parts:
            conditions = [
                *conjuncts(action.requires),
                *[part for when in action.when for part in conjuncts(when.requires)],
            ]
            self._parts[step.action] = [each for each in conditions if not isinstance(each, Equals | Comparison)]
        binding = bind_parameters(action, step)
        return list(
            dict.fromkeys(
                pattern
                for part in self._parts[step.action]
                for pattern in read_patterns(substitute(part, binding), simulation)
            )
        )


def _separate_numbers(found: Sequence[Access]) -> Iterator[Separated]:
    """Yield the pairs of which one compares a fluent that the other changes."""
    before: dict[Key, tuple[list[int], list[int]]] = {}
    for number, access in enumerate(found, start=1):
        numbers = access.numbers
        changed = numbers.added.keys() | numbers.assigned
        for key in dict.fromkeys((*numbers.compared, *changed)):
            readers, writers = before.setdefault(key, ([], []))
            reads, writes = key in numbers.compared, key in changed
            earlier = [*(writers if reads else ()), *(readers if writes else ())]
            for each in dict.fromkeys(earlier):
                yield Separated(each, number, Atom(*key), ordered=False)
            if reads:
                readers.append(number)
            if writes:
                writers.append(number)
