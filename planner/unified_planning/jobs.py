"""Jobs and answers: what `foreign_engines` and the process of an engine (`engine_worker`) send each other."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import Enum, auto
from typing import Any

from planner.model import DomainModel, Problem
from planner.plan import Step, StepTime
from planner.problem_kinds import AnyProblem


class EngineOutcome(Enum):
    """How a job ended."""

    FINISHED = auto()
    """The engine gave a result; `Answer.status` is its status in unified-planning."""
    UNREACHABLE = auto()
    """Grounding proved that there is no plan; the engine did not run."""
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
    """The answer to a job; `tree` is the decomposition tree of a hierarchical plan, `times` are those of one in time.

    `sees_costs` says that the engine got the costs, `proves` that it guarantees optimal plans. `engines` are the
    installed ones (for an unknown engine) or those that take the problem (for an unsupported one), and `package` is the
    one to install for an unknown engine.
    """

    outcome: EngineOutcome
    status: str = ""
    steps: tuple[Step, ...] | None = None
    tree: Any = None
    times: tuple[StepTime, ...] = ()
    sees_costs: bool = False
    proves: bool = False
    reason: str = ""
    engines: tuple[str, ...] = field(default=())
    package: str = ""


def without_python_values(problem: Problem) -> Problem:
    """Return `problem` without Python values, which planning does not read and pickle cannot send."""
    domain = problem.domain
    actions = {
        name: replace(
            action,
            creates=dict(action.creates),
            uses=dict(action.uses),
            holds=dict(action.holds),
            data=(),
            outcomes=(),
            risk=Decimal(0),
            cases=(),
        )
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
    return replace(problem, domain=stripped, values=dict(problem.values), capacity=dict(problem.capacity), entities={})
