"""What a problem asks for, in words that follow from its goal alone: people confirm this, not what a model says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from planner.documents.atoms import Notation
from planner.model import COST, Atom, Constraint, Formula, Problem
from planner.model.formulas import atoms_in, conjuncts


def in_words(problem: Problem) -> str:
    """Return what must hold at the end, what would be good, and what limits the way, a line each."""
    return "\n".join(_lines(problem)) or "Nothing is asked for."


def _lines(problem: Problem) -> Iterator[str]:
    yield from _listed("At the end", [_said(each, problem) for each in conjuncts(problem.goal.hard)])
    wishes = [f"{_said(each.condition, problem)}, worth {each.utility}" for each in problem.goal.soft]
    yield from _listed("If it can be had", wishes)
    hard = [each for each in problem.constraints if each.utility is None]
    yield from _listed("On the way", [_constraint(each) for each in hard])
    soft = [f"{_constraint(each)}, worth {each.utility}" for each in problem.constraints if each.utility is not None]
    yield from _listed("On the way, if it can be had", soft)
    limits = [f"at most {most} of {'costs' if name == COST else name}" for name, most in problem.budgets.items()]
    limits += [f"within {problem.deadline} seconds"] if problem.deadline is not None else []
    yield from _listed("Limits", limits)


def _listed(title: str, lines: Iterable[str]) -> Iterator[str]:
    found = list(lines)
    if found:
        yield f"{title}:"
        yield from (f"- {line}" for line in found)


def _constraint(constraint: Constraint) -> str:
    return str(constraint)


def _said(formula: Formula, problem: Problem) -> str:
    """Return a condition in its notation, and what its facts mean where that was declared."""
    text = "; ".join(Notation((), ()).formula(formula)) or "nothing"
    meanings = dict.fromkeys(filter(None, (_meaning(atom, problem) for atom in atoms_in(formula))))
    return f"{text} ({'; '.join(meanings)})" if meanings else text


def _meaning(atom: Atom, problem: Problem) -> str:
    predicate = problem.domain.predicates.get(atom.predicate)
    return " ".join(predicate.description.split()) if predicate is not None else ""
