"""Tools, and libraries of them with a task whose cheapest plan is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

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
