"""Sentences for small models: they choose one of the facts that can be brought about, and write nothing.

A model that fits into a few hundred megabytes can seldom write a goal, and often choose one. What it chooses is one
fact; whether it is meant, a person decides, as of every goal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import Any, Final, Literal

from pydantic import create_model

from executor.agent.reading.answer import Meanings
from executor.language.checked import Answered, answered
from executor.language.protocol import Answer, LanguageModel, Part, Purpose, Request
from planner.budget import Budget
from planner.model import Action, Atom, Predicate, Problem, TypeHierarchy
from planner.model.actions import added
from planner.model.formulas import conjunction
from planner.records import replace

MOST: Final = 60
"""Choices that are offered at once; where there are more facts, a predicate is chosen first."""
SECONDS: Final = 5.0
"""How long it is looked which facts can be brought about, at most."""
NONE: Final = "none of these"
INSTRUCTIONS: Final = "Choose the fact that the user wants to be true."


class Chosen(Answer):
    """What a small model answers: one of the choices, without a thought."""

    thought: Literal[""] = ""


def is_small(model: LanguageModel) -> bool:
    """Return whether `model` says of itself that it is small (`is_small`)."""
    return getattr(model, "is_small", False) is True


async def chosen(model: LanguageModel, said: Sequence[Part], problem: Problem, **limits: Any) -> Answered[Meanings]:
    """Return what `model` takes the user to want: one fact, or nothing; `said` are the user's words.

    `limits` are those of `executor.language.checked.answered`, whose errors are raised.
    """
    facts = attainable(problem)
    if len(facts) > MOST:
        predicates = {fact.predicate: _about(fact.predicate, problem) for fact in facts}
        found = await _choice(model, said, predicates, limits)
        facts = [fact for fact in facts if fact.predicate == found.value]
    offered = {str(fact): _about(fact.predicate, problem) for fact in islice(facts, MOST)}
    answer = await _choice(model, said, offered, limits)
    meanings = [] if answer.value == NONE else [{"goal": [answer.value]}]
    return Answered(Meanings.model_validate({"meanings": meanings}), answer.rounds, answer.from_tools)


async def _choice(
    model: LanguageModel, said: Sequence[Part], choices: dict[str, str], limits: dict[str, Any]
) -> Answered[Any]:
    """Return which of `choices`, each with what it is about, is chosen."""
    names: Any = Literal[(*choices, NONE)]
    kind = create_model("Choice", __base__=Chosen, goal=(names, ...))
    listed = "\n".join(f"- {name}{f': {about}' if about else ''}" for name, about in choices.items())
    request = Request(Purpose.GOAL, INSTRUCTIONS, (Part("The choices", listed), *said), kind)
    found = await answered(model, request, kind, **limits)
    goal: Any = getattr(found.value, "goal")  # noqa: B009 - a field that is made above
    return Answered(goal, found.rounds, found.from_tools)


def attainable(problem: Problem) -> list[Atom]:
    """Return the facts that do not hold in `problem` and that its actions may bring about, by predicate."""
    from planner.explain import unreachable_parts  # noqa: PLC0415 - only where something was asked for

    domain, holds = problem.domain, set(problem.initial)
    provided = {
        atom.predicate for action in domain.actions.values() for when in action.effects for atom in added(when.provides)
    }
    wanted = [domain.predicates[name] for name in domain.predicates if name in provided | domain.derived]
    found = [fact for each in wanted for fact in _instances(each, problem) if fact not in holds]
    goal = replace(problem.goal, hard=conjunction(found), soft=())
    parts = unreachable_parts(replace(problem, goal=goal, constraints=(), budgets={}, deadline=None), Budget(SECONDS))
    hopeless = {str(part.goal) for part in parts}
    return [fact for fact in found if str(fact) not in hopeless]


def _instances(predicate: Predicate, problem: Problem) -> Iterator[Atom]:
    """Yield the facts of `predicate` about the objects of `problem`."""
    hierarchy = TypeHierarchy(problem.domain.types)
    fitting = [
        [each.name for each in problem.all_objects if hierarchy.is_a(each.types, parameter.types)]
        for parameter in predicate.parameters
    ]
    for args in islice(product(*fitting), MOST * MOST):
        yield Atom(predicate.name, args)


def _provided(action: Action) -> set[str]:
    return {atom.predicate for when in action.effects for atom in added(when.provides)}


def _about(predicate: str, problem: Problem) -> str:
    """Return what a predicate is declared to mean, or else what an action that provides it does."""
    declared = problem.domain.predicates[predicate].description
    providers = (each.description for each in problem.domain.actions.values() if predicate in _provided(each))
    return " ".join((declared or next(providers, "")).split())
