"""Libraries of agent tools with a task whose cheapest plan is known, as declarations and as suites of PDDL files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from planner import Domain, Problem
from planner.language.pddl.export import export

SUBJECTS: Final = ("report", "invoice", "contract")
"""What the tools with parameters work on."""
ACCOUNTS: Final = ("alice", "bob", "carol")
"""In whose name they do: who has access to what is fixed. Only the subject decides on what a tool changes."""
ACCESS: Final = (("alice", "report"), ("bob", "report"), ("bob", "invoice"), ("carol", "contract"))


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool over facts without arguments: it needs `requires`, makes `provides` true and `deletes` false."""

    name: str
    requires: tuple[str, ...]
    provides: tuple[str, ...]
    deletes: tuple[str, ...] = ()
    cost: int = 1


@dataclass(frozen=True, slots=True)
class Task:
    """Tools, the facts to start from, those to reach, and a cheapest way, known to be one by `certificate`."""

    tools: Sequence[Tool]
    initial: tuple[str, ...]
    goal: tuple[str, ...]
    plan: tuple[str, ...]
    certificate: str

    @property
    def optimum(self) -> int:
        """What the plan costs, and no plan less."""
        costs = {tool.name: tool.cost for tool in self.tools}
        return sum(costs[name] for name in self.plan)


@dataclass(frozen=True, slots=True)
class Library:
    """A task of `profile` with `size` tools.

    Where `subjects` is not 0 each tool takes an account and a subject, each fact is one about a subject, and the goal
    is to be reached for that many subjects. Subjects share no facts, so that the optimum is the sum of theirs.
    """

    profile: str
    size: int
    seed: int
    task: Task
    subjects: int = 0

    @property
    def name(self) -> str:
        """The name of profile, size and seed, as it stands in files."""
        return f"{self.profile}{'-parameters' if self.subjects else ''}-{self.size}-{self.seed}"

    @property
    def optimum(self) -> int:
        """The cost of a cheapest plan."""
        return self.task.optimum * max(1, self.subjects)


PARAMETERS = {"account": "account", "subject": "subject"}


@dataclass(frozen=True, slots=True)
class ToolDeclaration:
    """What an agent program says about one tool."""

    name: str
    parameters: dict[str, str]
    requires: list[str]
    provides: list[str]
    cost: int


def declare_problem(library: Library) -> Problem:
    """Return the problem, through the declarations that programs use."""
    return problem_of(library, declare_tools(library, describe_tools(library)))


def describe_tools(library: Library) -> list[ToolDeclaration]:
    """Return the declaration of each tool."""
    found = []
    for tool in library.task.tools:
        requires, provides, deletes = map(list, (tool.requires, tool.provides, tool.deletes))
        if library.subjects:
            requires, provides, deletes = (
                apply_to_subject("subject", facts) for facts in (requires, provides, deletes)
            )
            requires = ["access(account, subject)", *requires]
        provides += [f"not {fact}" for fact in deletes]
        found.append(ToolDeclaration(tool.name, PARAMETERS if library.subjects else {}, requires, provides, tool.cost))
    return found


def declare_tools(library: Library, tools: Iterable[ToolDeclaration]) -> Domain:
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
    initial = [fact for subject in SUBJECTS for fact in apply_to_subject(subject, task.initial)]
    return domain.problem(
        library.name,
        objects={**dict.fromkeys(ACCOUNTS, "account"), **dict.fromkeys(SUBJECTS, "subject")},
        initial=[*initial, *[f"access({account}, {subject})" for account, subject in ACCESS]],
        goal=[fact for subject in SUBJECTS[: library.subjects] for fact in apply_to_subject(subject, task.goal)],
    )


def apply_to_subject(subject: str, facts: Iterable[str]) -> list[str]:
    """Return the facts as ones about `subject`."""
    return [f"{fact}({subject})" for fact in facts]


COLUMNS = ("domain", "domain_file", "problem_file", "optimal_track", "satisficing_track", "optimum")


def write_suite(libraries: Iterable[Library], folder: Path) -> int:
    """Write the libraries and their `tasks.tsv` (with the certified optima) to `folder`; return how many there are."""
    rows = [COLUMNS]
    for library in libraries:
        profile, domain_file, problem_file = write_library(library, folder)
        rows.append((profile, domain_file, problem_file, "opt", "sat", str(library.optimum)))
    text = "".join("\t".join(row) + "\n" for row in rows)
    (folder / "tasks.tsv").write_text(text, encoding="utf-8")
    return len(rows) - 1


def write_library(library: Library, folder: Path) -> tuple[str, str, str]:
    """Write one library to a folder of its profile in `folder`; return the names of this folder and of both files."""
    place = folder / library.profile
    place.mkdir(parents=True, exist_ok=True)
    files = f"domain-{library.name}.pddl", f"{library.name}.pddl"
    exported = export(declare_problem(library))
    for name, text in zip(files, (exported.domain, exported.problem), strict=True):
        (place / name).write_text(text, encoding="utf-8")
    return (library.profile, *files)
