"""Compile the conditions that single steps state into extra steps, so that all planning code can process them.

A step with requirements gets a step before it that requires just these. A step with expectations gets a step after it
that provides the expected literals, and a further one that requires the other expected conditions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from executor.plans.action_plan import PlanStep
from executor.plans.suppositions import parse_suppositions
from planner.compilations.object_creation import for_steps
from planner.language.declare.fields import CodePlace, Place
from planner.language.declare.problem_builder import ProblemBuilder
from planner.lightweight import replace
from planner.model import Action, Atom, Formula, Literal, Not, Problem
from planner.model.formulas import conjunction, conjuncts
from planner.model.unknown_facts import fix_unknown_facts
from planner.plan import Step

REQUIRES: Final = " requires"
EXPECTS: Final = " expects"
LEAVES: Final = " leaves"
"""Suffixes of the names of extra actions; no declared action has a space in its name."""


@dataclass(frozen=True, slots=True, eq=False)
class SpelledOutPlan:
    """A problem and steps for it, with the extra steps.

    `owners` has for each step the position in the plan of the step that it belongs to; `main` are the positions of the
    plan's own steps.
    """

    problem: Problem
    steps: tuple[Step, ...]
    owners: tuple[int, ...]
    main: tuple[int, ...]


def spell_out(problem: Problem, steps: Sequence[PlanStep]) -> SpelledOutPlan:
    """Compile `steps` and all that they state and create; unknown facts that a step supposes to hold become true.

    Raises `InputError` where a step is no instance of an action, or states an invalid condition.
    """
    ground = [each.step(problem.domain) for each in steps]
    held = [fact for each in steps for fact, holds in parse_suppositions(each.supposes).items() if holds]
    problem = for_steps(fix_unknown_facts(problem, held) if problem.unknown or held else problem, ground)
    if not any(each.requires or each.expects for each in steps):
        places = tuple(range(len(ground)))
        return SpelledOutPlan(problem, tuple(ground), places, places)
    reader = ConditionReader(problem)
    found = [
        (place, part)
        for place, (each, step) in enumerate(zip(steps, ground, strict=True))
        for part in _split_step(each, step, reader)
    ]
    actions = {action.name: action for _, (_, action) in found if action is not None}
    domain = replace(problem.domain, actions={**problem.domain.actions, **actions})
    return SpelledOutPlan(
        replace(problem, domain=domain),
        tuple([step for _, (step, _) in found]),
        tuple([place for place, _ in found]),
        tuple([part for part, (_, (_, action)) in enumerate(found) if action is None]),
    )


class ConditionReader:
    """Parses the conditions that steps state."""

    def __init__(self, problem: Problem) -> None:
        place = CodePlace(problem.name)
        self._builder = ProblemBuilder(problem.domain, {each.name: each for each in problem.objects}, place)
        self._derived = problem.domain.derived

    def condition(self, texts: Sequence[str], place: Place) -> Formula:
        """Parse `texts` to their conjunction; errors name `place`."""
        return self._builder.condition(texts, place)

    def expected(self, texts: Sequence[str], place: Place) -> tuple[list[Literal], list[Formula]]:
        """Parse `texts`, and split them into effects and other conditions."""
        effects: list[Literal] = []
        others: list[Formula] = []
        for part in conjuncts(self.condition(texts, place)):
            atom = part.part if isinstance(part, Not) else part
            if isinstance(atom, Atom) and atom.predicate not in self._derived:
                effects.append(Not(atom) if isinstance(part, Not) else atom)
            else:
                others.append(part)
        return effects, others


def _split_step(each: PlanStep, step: Step, reader: ConditionReader) -> Iterator[tuple[Step, Action | None]]:
    """Yield the steps for `each`, with the actions of the extra ones."""
    place = CodePlace(f"step {each.id!r}")
    if each.requires:
        yield _make_step(each.id + REQUIRES, reader.condition(each.requires, place), ())
    yield step, None
    if each.expects:
        effects, others = reader.expected(each.expects, place)
        yield _make_step(each.id + EXPECTS, conjunction(()), effects)
        if others:
            yield _make_step(each.id + LEAVES, conjunction(others), ())


def _make_step(name: str, requires: Formula, provides: Sequence[Literal]) -> tuple[Step, Action]:
    """Make a step and its action."""
    return Step(name), Action(name, requires=requires, provides=tuple(provides), cost=())
