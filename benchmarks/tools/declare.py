"""A library as an agent program would declare it: a `Domain` with an action for each tool, and a problem."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.tools.library import ACCESS, ACCOUNTS, SUBJECTS, Library
from planner import Domain, Problem

PARAMETERS = {"account": "account", "subject": "subject"}


@dataclass(frozen=True, slots=True)
class Said:
    """What an agent program says about one tool."""

    name: str
    parameters: dict[str, str]
    requires: list[str]
    provides: list[str]
    cost: int


def declared(library: Library) -> Problem:
    """Return the problem, through the declarations that programs use."""
    return problem_of(library, declare(library, said(library)))


def said(library: Library) -> list[Said]:
    """Return what is declared for each tool."""
    found = []
    for tool in library.task.tools:
        requires, provides, deletes = map(list, (tool.requires, tool.provides, tool.deletes))
        if library.subjects:
            requires, provides, deletes = (about("subject", facts) for facts in (requires, provides, deletes))
            requires = ["access(account, subject)", *requires]
        provides += [f"not {fact}" for fact in deletes]
        found.append(Said(tool.name, PARAMETERS if library.subjects else {}, requires, provides, tool.cost))
    return found


def declare(library: Library, tools: Iterable[Said]) -> Domain:
    """Return a domain that declares the tools."""
    domain = Domain("tools", types=["account", "subject"] if library.subjects else ())
    for tool in tools:
        domain.action(tool.name, tool.parameters, requires=tool.requires, provides=tool.provides, cost=tool.cost)
    return domain


def problem_of(library: Library, domain: Domain) -> Problem:
    """Return the problem: what there is to start from, and the goal."""
    task = library.task
    if not library.subjects:
        return domain.problem(library.name, initial=task.initial, goal=task.goal)
    initial = [fact for subject in SUBJECTS for fact in about(subject, task.initial)]
    return domain.problem(
        library.name,
        objects={**dict.fromkeys(ACCOUNTS, "account"), **dict.fromkeys(SUBJECTS, "subject")},
        initial=[*initial, *[f"access({account}, {subject})" for account, subject in ACCESS]],
        goal=[fact for subject in SUBJECTS[: library.subjects] for fact in about(subject, task.goal)],
    )


def about(subject: str, facts: Iterable[str]) -> list[str]:
    """Return the facts as ones about `subject`."""
    return [f"{fact}({subject})" for fact in facts]
