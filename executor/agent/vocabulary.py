"""A domain and a problem in words, for a language model: what there is, what can be said of it, what can be done.

Everything here is declared; nothing of it came from tools. What is too long is cut, and says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from planner.language.documents.document_conditions import Notation
from planner.model import Action, Atom, DomainModel, Predicate, Problem, Variable

MOST_OBJECTS: Final = 400
"""Objects that are named, of all types together."""
MOST_FACTS: Final = 200
"""Facts of the present state that are shown."""
SENTENCE: Final = 300
"""Characters of one description."""


def vocabulary(problem: Problem) -> str:
    """Return the types with their objects, the facts and the actions of `problem`, a line each."""
    return "\n".join(
        [
            "Objects, by type:",
            *_objects(problem),
            "Facts that can be stated:",
            *[_predicate(each) for each in problem.domain.predicates.values()],
            "Actions:",
            *[_action(each, problem.domain) for each in problem.domain.actions.values()],
        ]
    )


def present(facts: Iterable[Atom]) -> str:
    """Return what holds now, one fact a line, as many as are shown."""
    found = list(facts)
    lines = [f"- {fact}" for fact in found[:MOST_FACTS]]
    if len(found) > MOST_FACTS:
        lines.append(f"- and {len(found) - MOST_FACTS:,} more")
    return "\n".join(lines) or "- nothing that can be stated"


def _objects(problem: Problem) -> Iterator[str]:
    by_type: dict[str, list[str]] = {name: [] for name in problem.domain.types}
    for each in problem.all_objects:
        for name in each.types:
            by_type.setdefault(name, []).append(each.name)
    room = MOST_OBJECTS
    for name, members in by_type.items():
        parents = ", ".join(parent for parent in problem.domain.types.get(name, ()) if parent != "object")
        shown = ", ".join(members[:room]) or "none"
        more = f", and {len(members) - room:,} more" if len(members) > room else ""
        room = max(room - len(members), 0)
        yield f"- {name}{f' (a kind of {parents})' if parents else ''}: {shown}{more}"


def _predicate(predicate: Predicate) -> str:
    return f"- {_head(predicate.name, predicate.parameters)}{_described(predicate.description)}"


def _action(action: Action, domain: DomainModel) -> str:
    """Return what an action takes, needs and does, on one line."""
    write = Notation([each.name for each in action.step_parameters], [each.name for each in domain.constants])
    does: Sequence[tuple[str, list[str]]] = (
        ("needs", write.formula(action.requires)),
        ("then", write.literals(action.provides)),
        ("creates", [name.removeprefix("?") for name in action.creates]),
        ("also called", list(action.similes)),
        ("for example", list(action.examples)),
        ("", sorted(action.tags)),
    )
    parts = "; ".join(f"{word} {', '.join(found)}".strip() for word, found in does if found)
    return f"- {_head(action.name, action.parameters)}{_described(action.description)}{f' [{parts}]' if parts else ''}"


def _head(name: str, parameters: Iterable[Variable]) -> str:
    args = [f"{each.name.removeprefix('?')}: {' | '.join(each.types)}" for each in parameters]
    return f"{name}({', '.join(args)})" if args else name


def _described(text: str) -> str:
    line = " ".join(text.split())
    return f" = {line[:SENTENCE]}{'…' if len(line) > SENTENCE else ''}" if line else ""
