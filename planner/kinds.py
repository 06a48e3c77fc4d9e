"""Problems of other kinds than the classical one: other packages read, solve and check them."""

from __future__ import annotations

from planner.annotations import TYPE_CHECKING, Any, Protocol
from planner.errors import UnsupportedError
from planner.model import DomainModel, Problem
from planner.records import replace

if TYPE_CHECKING:
    from typing import TypeGuard

    from planner.budget import Budget
    from planner.candidates.iterator import Candidates, Which
    from planner.check import Finding
    from planner.plan import Plan, Result
    from planner.validate import Verdict


class Named(Protocol):
    """What has a name: every domain and every problem."""

    @property
    def name(self) -> str:
        """Its name."""


class OtherDomain(Named, Protocol):
    """A domain of another kind."""

    def check(self) -> list[Finding]:
        """Return what lint says about the domain without objects."""


class Reasons(Protocol):
    """An explanation: text for people, and data."""

    def __str__(self) -> str:
        """Return lines for people."""

    def to_dict(self) -> dict[str, Any]:
        """Return the same as JSON-ready data."""


class OtherProblem(Named, Protocol):
    """A problem of another kind."""

    @property
    def domain(self) -> OtherDomain:
        """Its domain."""

    @property
    def classical(self) -> Problem:
        """Its classical part: objects, initial state, goal and actions."""

    def resolved(self) -> OtherProblem:
        """Return the problem with its texts read and its names looked up; raises `InputError` for a mistake."""

    def solve(self, **options: Any) -> Result:
        """Return the answer to the problem; the options are those of `planner.solve`."""

    def candidates(self, budget: Budget, which: Which) -> Candidates:
        """Return the plans for the problem by their costs; the options are those of `planner.candidates`."""

    def read_plan(self, text: str, source: str) -> Plan:
        """Return the plan that `text`, from the file `source`, writes; raises `PlanError` where it writes none."""

    def check(self, budget: Budget) -> list[Finding]:
        """Return what lint says about the problem and its domain; raises `LimitReached`."""

    def write_plan(self, plan: Any) -> str:
        """Return `plan` as the text that `read_plan` takes."""

    def draw_plan(self, plan: Any) -> str:
        """Return what the steps of `plan` came of, drawn for people."""

    def validate(self, plan: Any, budget: Budget | None = None) -> Verdict:
        """Return whether `plan` works, and if not, where it breaks and why; or that `budget` was too small to tell."""

    def explain_plan(self, plan: Any, budget: Budget | None = None) -> Reasons:
        """Return why each step of `plan`, a valid one, is there; raises `LimitReached`."""

    def to_unified_planning(
        self, environment: Any = None, budget: Budget | None = None, *, is_ground: bool = False
    ) -> Any:
        """Return the problem as one of unified-planning: what `planner.engines.others` calls `OtherOutgoing`.

        With `is_ground`, nothing in it has parameters, quantifiers or conditional effects.
        """

    def for_another_process(self, budget: Budget) -> OtherProblem:
        """Return the problem without Python values, which could not be sent; raises `LimitReached`."""

    def why_not(self, budget: Budget) -> Reasons:
        """Return why there is no plan, as far as that shows within `budget`."""


class Declarer:
    """What authors declare a domain of another kind into, as they declare a classical one into a `Domain`."""

    @property
    def model(self) -> OtherDomain:
        """The immutable domain; raises `DeclarationError` where declarations contradict each other."""
        raise NotImplementedError


AnyDomain = DomainModel | OtherDomain
AnyProblem = Problem | OtherProblem


def is_other_domain(value: object) -> TypeGuard[OtherDomain]:
    """Return whether `value` is a domain of another kind: these have their classical part as `classical`."""
    return isinstance(getattr(value, "classical", None), DomainModel)


def is_other_problem(value: object) -> TypeGuard[OtherProblem]:
    """Return whether `value` is a problem of another kind; see `is_other_domain`."""
    return isinstance(getattr(value, "classical", None), Problem)


def classical_of(problem: AnyProblem) -> Problem:
    """Return the problem itself, or the classical part of one of another kind."""
    return problem if isinstance(problem, Problem) else problem.classical


def with_classical(problem: Any, classical: Problem) -> Any:
    """Return `problem` with `classical`, of the same domain, in place of its classical part."""
    return classical if isinstance(problem, Problem) else replace(problem, classical=classical)


def not_classical(found: Named, doing: str) -> UnsupportedError:
    """Return the error for `found`, of another kind, where only what is classical is taken; `doing` says for what."""
    kinds = "classical domains and problems, such as those in PDDL"
    return UnsupportedError(f"{doing} '{found.name}', which is no classical problem", f"this takes {kinds}")
