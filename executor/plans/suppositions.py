"""Suppositions of steps about unknown facts, as literals in plans."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from executor.events.fluent_values import pattern_of
from planner.language.declare.atom_syntax import parse_atom
from planner.model import Atom, DomainModel, Term
from planner.plan import Step, Supposition

if TYPE_CHECKING:
    from executor.plans.action_plan import PlanStep

NOT: Final = "not "


def texts_by_step(suppositions: Iterable[Supposition], count: int) -> tuple[list[tuple[str, ...]], tuple[str, ...]]:
    """Write the suppositions of each of `count` steps, and those of the goal, as texts."""
    found: list[list[str]] = [[] for _ in range(count)]
    goal: list[str] = []
    for each in suppositions:
        if each.value is not None:
            continue  # the value of a number, which the state has
        text = literal_text(each.fact, each.holds)
        for number in each.steps:
            found[number - 1].append(text)
        goal += [text] if each.goal else []
    return [tuple(texts) for texts in found], tuple(goal)


def literal_text(fact: Atom, holds: bool) -> str:
    """Write the literal of `fact`."""
    return str(fact) if holds else f"{NOT}{fact}"


def parse_suppositions(texts: Iterable[str]) -> dict[Atom, bool]:
    """Parse literals to facts and their truth values; raises `NotationError`."""
    words = [(text.strip(), not text.strip().startswith(NOT)) for text in texts]
    return {parse_atom(text if holds else text.removeprefix(NOT).strip()): holds for text, holds in words}


def find_looks(
    domain: DomainModel, steps: Sequence[Step], plans: Sequence[PlanStep]
) -> Iterator[tuple[int, int, Atom]]:
    """Yield, for each supposed fact that an earlier step senses, the last such step, the supposing step, and it."""
    sensed: list[tuple[int, Atom]] = []
    for place, (step, plan) in enumerate(zip(steps, plans, strict=True)):
        for fact in parse_suppositions(plan.supposes):
            before = [earlier for earlier, pattern in sensed if pattern.matches(fact)]
            if before:
                yield before[-1], place, fact
        sensed += [(place, pattern) for pattern in sensed_by(domain, step)]


def sensed_by(domain: DomainModel, step: Step) -> list[Atom]:
    """Return patterns of the facts that `step` senses, the values of numbers among them."""
    action = domain.actions[step.action]
    if not (action.senses or action.measures):
        return []
    pairs = zip(action.step_parameters, step.arguments, strict=False)
    binding: dict[Term, Term] = {parameter.name: name for parameter, name in pairs}
    return [pattern.substitute(binding) for pattern in (*action.senses, *map(pattern_of, action.measures))]
