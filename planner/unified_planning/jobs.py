"""What goes to the process in which an engine runs, and what comes back."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import Enum, auto
from typing import Any

from planner.model import DomainModel, Problem
from planner.plan import Step
from planner.problem_kinds import AnyProblem


class EngineOutcome(Enum):
    """How the work in the other process ended."""

    FINISHED = auto()
    """The engine gave a result: `Answer.status` is what unified-planning calls it."""
    UNREACHABLE = auto()
    """Grounding proved that there is no plan; the engine was not asked."""
    UNSUPPORTED = auto()
    MISTAKE = auto()
    UNKNOWN_ENGINE = auto()
    OUT_OF_TIME = auto()
    OUT_OF_MEMORY = auto()
    CRASHED = auto()


@dataclass(frozen=True, slots=True)
class Job:
    """`problem` for the engine called `engine`, in `time_limit` seconds from the start of the process.

    `registered` is the module and class of an engine that only the calling process has registered.
    """

    problem: AnyProblem
    engine: str
    time_limit: float | None = None
    registered: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a job; `tree` are the tasks that the steps came of, if any.

    `sees_costs`: the engine was told the costs. `proves`: it says of itself that its plans are optimal.
    `engines` are those installed (for an unknown engine) or those that take the problem (for an unsupported one), and
    `package` is what would have to be installed.
    """

    outcome: EngineOutcome
    status: str = ""
    steps: tuple[Step, ...] | None = None
    tree: Any = None
    sees_costs: bool = False
    proves: bool = False
    reason: str = ""
    engines: tuple[str, ...] = field(default=())
    package: str = ""


def bare(problem: Problem) -> Problem:
    """Return `problem` without what planning does not read and another process could not be sent: Python values."""
    domain = problem.domain
    actions = {
        name: replace(action, creates=dict(action.creates), data=(), outcomes=(), risk=Decimal(0), cases=())
        for name, action in domain.actions.items()
    }
    stripped = DomainModel(
        name=domain.name,
        types=dict(domain.types),
        constants=domain.constants,
        predicates=dict(domain.predicates),
        functions=dict(domain.functions),
        actions=actions,
        axioms=domain.axioms,
    )
    return replace(problem, domain=stripped, values=dict(problem.values), entities={})
