"""Describe problems in words: domain and state for a language model, goals for the people who confirm them.

The words follow from declarations and goals alone, never from results of tools. Long lists and texts are shortened, and
marked as such.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from planner.language.documents.document_conditions import Notation
from planner.model import COST, Action, Atom, DomainModel, Formula, Problem, Variable
from planner.model.formulas import atoms_in, conjuncts

MOST_OBJECTS: Final = 400
"""Most objects that are named, of all types together."""
MOST_FACTS: Final = 200
"""Most facts of a state that are listed."""
LONGEST_DESCRIPTION: Final = 300
"""Most characters of a description."""


def describe_domain(problem: Problem) -> str:
    """Describe the types with their objects, the predicates and the actions of `problem`, a line each."""
    facts = [
        f"- {_head(each.name, each.parameters)}{_described(each.description)}"
        for each in problem.domain.predicates.values()
    ]
    actions = [_describe_action(each, problem.domain) for each in problem.domain.actions.values()]
    objects = _describe_objects(problem)
    return "\n".join(["Objects, by type:", *objects, "Facts that can be stated:", *facts, "Actions:", *actions])


def describe_state(facts: Iterable[Atom]) -> str:
    """List the facts that hold, one a line, up to a limit."""
    found = list(facts)
    lines = [f"- {fact}" for fact in found[:MOST_FACTS]]
    if len(found) > MOST_FACTS:
        lines.append(f"- and {len(found) - MOST_FACTS:,} more")
    return "\n".join(lines) or "- nothing that can be stated"


def _describe_objects(problem: Problem) -> Iterator[str]:
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


def _describe_action(action: Action, domain: DomainModel) -> str:
    """Describe the parameters, conditions and effects of an action in a line."""
    write = Notation([each.name for each in action.step_parameters], [each.name for each in domain.constants])
    does: Sequence[tuple[str, list[str]]] = (
        ("needs", write.formula(action.requires)),
        ("then", write.each(action.provides)),
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
    """Format a description as a suffix."""
    line = " ".join(text.split())
    return f" = {line[:LONGEST_DESCRIPTION]}{'…' if len(line) > LONGEST_DESCRIPTION else ''}" if line else ""


def describe_goal(problem: Problem) -> str:
    """Describe hard goals, soft goals, constraints and limits, a line each."""
    goals = [_describe_condition(each, problem) for each in conjuncts(problem.goal.hard)]
    wishes = [f"{_describe_condition(each.condition, problem)}, worth {each.utility}" for each in problem.goal.soft]
    hard = [str(each) for each in problem.constraints if each.utility is None]
    soft = [f"{each}, worth {each.utility}" for each in problem.constraints if each.utility is not None]
    limits = [f"at most {most} of {'costs' if name == COST else name}" for name, most in problem.budgets.items()]
    limits += [f"within {problem.deadline} seconds"] if problem.deadline is not None else []
    titles = {
        "At the end": goals,
        "If it can be had": wishes,
        "On the way": hard,
        "On the way, if it can be had": soft,
        "Limits": limits,
    }
    lines = [line for title, found in titles.items() if found for line in (f"{title}:", *(f"- {e}" for e in found))]
    return "\n".join(lines) or "Nothing is asked for."


def _describe_condition(formula: Formula, problem: Problem) -> str:
    """Write a condition in its notation, with the declared descriptions of its predicates."""
    text = "; ".join(Notation((), ()).formula(formula)) or "nothing"
    predicates = [problem.domain.predicates.get(atom.predicate) for atom in atoms_in(formula)]
    meanings = dict.fromkeys(" ".join(each.description.split()) for each in predicates if each is not None)
    described = "; ".join(filter(None, meanings))
    return f"{text} ({described})" if described else text
