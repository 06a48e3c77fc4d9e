"""What sentences mean, as problems: read by the reader of problem documents, which no model's answer goes through."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from benchmarks.sentences.recorded import Sentence
from executor.agent.reading.words import in_words
from htn.model import HtnProblem
from planner import Problem, load
from planner.documents import read_documents
from planner.model.formulas import conjuncts
from planner.records import replace


@cache
def problem_of(where: str) -> Problem:
    """Return the problem that is named as domain/problem, without its tasks, if it has any."""
    found = load(*where.split("/"))
    return found.classical if isinstance(found, HtnProblem) else _classical(found)


def _classical(found: Any) -> Problem:
    if not isinstance(found, Problem):
        raise TypeError(f"{found!r} is no classical problem")
    return found


def meant(sentence: Sentence) -> list[Problem]:
    """Return the problems that `sentence` means."""
    return [_problem(problem_of(sentence.where), each) for each in sentence.meanings]


def _problem(base: Problem, part: dict[str, Any]) -> Problem:
    objects = {each.name: list(each.types) for each in base.objects} | part.get("objects", {})
    text = json.dumps({"problem": base.name, **part, "objects": objects})
    found = _classical(*read_documents(text, domain=base.domain).problems)
    deadlines = [each for each in (base.deadline, found.deadline) if each is not None]
    budgets = {name: min(most, base.budgets.get(name, most)) for name, most in found.budgets.items()}
    return replace(
        base,
        objects=found.objects,
        goal=found.goal,
        constraints=(*base.constraints, *found.constraints),
        budgets={**base.budgets, **budgets},
        deadline=min(deadlines, default=None),
    )


def same(one: Problem, other: Problem) -> bool:
    """Return whether both ask for the same."""
    return _asked(one) == _asked(other)


def _asked(problem: Problem) -> tuple[Any, ...]:
    return (
        set(conjuncts(problem.goal.hard)),
        set(problem.goal.soft),
        set(problem.constraints),
        dict(problem.budgets),
        problem.deadline,
        set(problem.objects),
    )


def same_words(one: str, other: str) -> bool:
    """Return whether a person who reads both, in whatever order their lines are, reads the same."""
    return _lines(one) == _lines(other)


def words_of(problem: Problem) -> str:
    """Return what a person expects to be shown."""
    return in_words(problem)


def _lines(words: str) -> set[tuple[str, str]]:
    found, title = set(), ""
    for line in words.splitlines():
        title = title if line.startswith("- ") else line
        found.add((title, line))
    return found
