"""Which unknown facts matter, and what is relevant beside them."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from planner.model import Atom, Problem
from planner.model.hidden import hidden, item_places
from planner.normalise import relevant_part, to_adl
from planner.unknown.knowledge import Translation
from planner.unknown.names import Vocabulary
from planner.unknown.readings import read_predicates


def translation(problem: Problem, used: Collection[str] = ()) -> Translation | None:
    """Return `problem` ready to be translated, without what no plan needs; None where nothing unknown matters.

    The actions `used` stay.
    """
    unknown = {pattern.predicate for pattern in problem.unknown}
    matter = unknown & read_predicates(relevant_part(problem, used))
    while matter:
        sensors = [name for name, each in problem.domain.actions.items() if _are_about(each.senses, matter)]
        relevant = relevant_part(problem, [*used, *sensors])
        more = unknown & read_predicates(relevant)
        if more == matter:
            variables = hidden(problem, matter)
            plain = to_adl(relevant)
            names = dict.fromkeys(fact.predicate for variable in variables for fact in variable.facts)
            if not variables:
                return None
            return Translation(plain, variables, Vocabulary.of(plain.domain, names), item_places(problem.domain))
        matter = more
    return None


def _are_about(patterns: Iterable[Atom], predicates: Collection[str]) -> bool:
    return any(pattern.predicate in predicates for pattern in patterns)
