"""Which unknown facts matter, and what is relevant beside them."""

from __future__ import annotations

from collections.abc import Callable, Collection

from planner.model import Action, Problem
from planner.model.hidden import hidden, item_places
from planner.normalise import relevant_part, to_adl
from planner.unknown.knowledge import Translation
from planner.unknown.names import Vocabulary
from planner.unknown.readings import read_predicates

Cut = Callable[[Problem, Collection[str]], Problem]
"""Leaves out what is irrelevant, but for the actions that are named."""
Tells = Callable[[Action, Collection[str]], bool]
"""Whether an action tells something of facts of these predicates."""


def translation(problem: Problem, used: Collection[str] = ()) -> Translation | None:
    """Return `problem` ready to be translated, without what no plan needs; None where nothing unknown matters.

    The actions `used` stay.
    """
    relevant, matter = that_matters(problem, used, relevant_part, senses)
    return translated(problem, to_adl(relevant), matter) if matter else None


def that_matters(problem: Problem, used: Collection[str], cut: Cut, tells: Tells) -> tuple[Problem, Collection[str]]:
    """Return what is relevant of `problem`, and which predicates of unknown facts matter, with what `tells` of them."""
    unknown = {pattern.predicate for pattern in problem.unknown}
    relevant = cut(problem, used)
    matter = unknown & read_predicates(relevant)
    while matter:
        sensors = [name for name, each in problem.domain.actions.items() if tells(each, matter)]
        relevant = cut(problem, [*used, *sensors])
        more = unknown & read_predicates(relevant)
        if more == matter:
            break
        matter = more
    return relevant, matter


def translated(problem: Problem, plain: Problem, matter: Collection[str]) -> Translation | None:
    """Return the translation of `plain`, which is `problem` in plain ADL, where these predicates matter."""
    variables = hidden(problem, matter)
    names = dict.fromkeys(fact.predicate for variable in variables for fact in variable.facts)
    if not variables:
        return None
    return Translation(plain, variables, Vocabulary.of(plain.domain, names), item_places(problem.domain))


def senses(action: Action, predicates: Collection[str]) -> bool:
    """Return whether `action` says how facts of `predicates` are."""
    return any(pattern.predicate in predicates for pattern in action.senses)
