"""A library as an agent program would declare it: a `Domain` with an action for each tool, and a problem."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.tools.library import ACCESS, ACCOUNTS, SUBJECTS, Library
from planner import Domain, Problem

PARAMETERS = {"account": "account", "subject": "subject"}


def declared(library: Library) -> Problem:
    """Return the problem, through the declarations that programs use."""
    return _with_parameters(library) if library.subjects else _plain(library)


def _plain(library: Library) -> Problem:
    task = library.task
    domain = Domain("tools")
    for tool in task.tools:
        provides = [*tool.provides, *[f"not {fact}" for fact in tool.deletes]]
        domain.action(tool.name, requires=tool.requires, provides=provides, cost=tool.cost)
    return domain.problem(library.name, initial=task.initial, goal=task.goal)


def _with_parameters(library: Library) -> Problem:
    task = library.task
    domain = Domain("tools", types=["account", "subject"])
    for tool in task.tools:
        domain.action(
            tool.name,
            PARAMETERS,
            requires=["access(account, subject)", *about("subject", tool.requires)],
            provides=[*about("subject", tool.provides), *[f"not {fact}" for fact in about("subject", tool.deletes)]],
            cost=tool.cost,
        )
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
