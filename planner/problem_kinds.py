"""The protocol of other kinds of problems than the classical one, such as hierarchical ones.

A package that defines a kind of problems names a module in the entry point group `forethought.problem_kinds`, under the
`kind` of its problems and domains. That module implements `ProblemKind`: it solves, checks and converts the problems.

Names in a problem are resolved once, before other stages use it. Readers and `domain.problem(…)` return resolved
problems. `Problem(…)` and `replace(…)` check nothing; `resolve_problem` resolves what they return.
"""

from __future__ import annotations

from functools import cache

from planner.errors import InputError, UnsupportedError, kind_of
from planner.lightweight import TYPE_CHECKING, Any, Protocol, TypeVar, cast, replace
from planner.model import DomainModel, Problem
from planner.model.problem import seal

if TYPE_CHECKING:
    from typing import TypeGuard

    from planner.limits import Limits
    from planner.lint.findings import Finding
    from planner.options import SolveOptions
    from planner.plan import Plan, Result, StepTime
    from planner.validation.verdict import Verdict


class Named(Protocol):
    """A domain or a problem of any kind."""

    @property
    def name(self) -> str:
        """Its name."""


class OtherDomain(Named, Protocol):
    """A domain of another kind; its classical part is a `DomainModel` in `classical`."""

    @property
    def kind(self) -> str:
        """The name of the entry point that serves problems of this kind."""


class Reasons(Protocol):
    """An explanation: text for people, and data."""

    def __str__(self) -> str:
        """Return lines for people."""

    def to_dict(self) -> dict[str, Any]:
        """Return the same as JSON-ready data."""


class OtherProblem(Named, Protocol):
    """A problem of another kind."""

    @property
    def kind(self) -> str:
        """The name of the entry point that serves problems of this kind."""

    @property
    def domain(self) -> OtherDomain:
        """Its domain."""

    @property
    def classical(self) -> Problem:
        """Its classical part: objects, initial state, goal and actions."""


class ProblemKind(Protocol):
    """The module that serves problems of one kind."""

    def resolve(self, problem: Any) -> Any:
        """Return the problem with its texts read and its names looked up; raises `InputError` for a mistake."""

    def seal(self, problem: Any) -> Any:
        """Return the problem, in which all names were looked up, sealed: nobody looks them up again."""

    def solve(self, problem: Any, options: SolveOptions) -> Result:
        """Return the answer to the problem."""

    def decision_process(self, problem: Any, limits: Limits) -> Any:
        """Return the `planner.policies` process of the problem, for policies; raises `LimitReached`."""

    def with_placeholders(self, problem: Any, number: int) -> Any:
        """Return the problem with `number` placeholders for each type of object that actions create."""

    def name_created(self, problem: Any, steps: Any) -> Any:
        """Return the problem with the objects that `steps` create; as it is where actions create none."""

    def policy_world(self, problem: Any) -> Any:
        """Return the world of `planner.policies.evaluation` in which policies for the problem are evaluated."""

    def candidates(self, problem: Any, limits: Limits, options: Any) -> Any:
        """Return an iterator over the plans by cost; `options` is a `topk.candidates.CandidateOptions`."""

    def check_domain(self, domain: Any) -> list[Finding]:
        """Return the lint findings for a domain without objects."""

    def check(self, problem: Any, limits: Limits) -> list[Finding]:
        """Return the lint findings for the problem and its domain; raises `LimitReached`."""

    def read_plan(self, problem: Any, text: str, source: str) -> Plan:
        """Read a plan from `text` of the file `source`; raises `PlanError` for mistakes."""

    def write_plan(self, plan: Plan) -> str:
        """Write `plan` as text that `read_plan` reads."""

    def draw_plan(self, plan: Plan) -> str:
        """Draw the decomposition of `plan` as text."""

    def validate(self, problem: Any, plan: Plan, limits: Limits | None = None) -> Verdict:
        """Check `plan`: say whether it is valid, or where and why it fails, or that `limits` ended the check."""

    def partial_order(self, problem: Any, plan: Plan) -> Any:
        """Return the order of the steps of `plan` as a graph; see `planner.partial_order`."""

    def find_times(self, problem: Any, plan: Plan) -> tuple[StepTime, ...]:
        """Return the earliest times of the steps of `plan`, which has none; nothing where it needs none.

        Raises `PlanError` where there are none.
        """

    def explain_plan(self, problem: Any, plan: Plan, limits: Limits | None = None) -> Reasons:
        """Explain each step of the valid `plan`; raises `LimitReached`."""

    def explain_unsolvable(self, problem: Any, limits: Limits) -> Reasons:
        """Explain why there is no plan, as far as `limits` allow."""

    def why_not(self, problem: Any, question: Any, limits: Limits, plan: Any = None) -> Any:
        """Return the `WhyNot` of `planner.explain` about `plan`, or about the best plan."""

    def to_unified_planning(
        self, problem: Any, environment: Any = None, limits: Limits | None = None, *, is_ground: bool = False
    ) -> Any:
        """Return the problem as one of unified-planning: an `OtherOutgoing` of `planner.unified_planning`.

        With `is_ground`, nothing in it has parameters, quantifiers or conditional effects.
        """

    def for_another_process(self, problem: Any, limits: Limits) -> Any:
        """Return the problem without Python values, which could not be sent; raises `LimitReached`."""


@cache
def _kind(name: str) -> ProblemKind:
    from importlib.metadata import entry_points

    for each in entry_points(group="forethought.problem_kinds", name=name):
        found: ProblemKind = each.load()
        return found
    raise UnsupportedError(f"problems of kind {name!r}", "install the package that solves them")


def service_of(item: OtherProblem | OtherDomain) -> ProblemKind:
    """Return the module that serves a problem or a domain of another kind.

    Raises `UnsupportedError` where no installed package serves this kind.
    """
    return _kind(item.kind)


class Declarer:
    """An object that collects declarations of a domain of another kind, as `Domain` does for classical ones."""

    @property
    def model(self) -> OtherDomain:
        """The immutable domain; raises `DeclarationError` where declarations contradict each other."""
        raise NotImplementedError


AnyDomain = DomainModel | OtherDomain
AnyProblem = Problem | OtherProblem


def is_other_domain(value: object) -> TypeGuard[OtherDomain]:
    """Return whether `value` is a domain of another kind, whose `classical` is its classical part."""
    return isinstance(getattr(value, "classical", None), DomainModel)


def is_other_problem(value: object) -> TypeGuard[OtherProblem]:
    """Return whether `value` is a problem of another kind; see `is_other_domain`."""
    return isinstance(getattr(value, "classical", None), Problem)


def classical_of(problem: AnyProblem) -> Problem:
    """Return the problem itself, or the classical part of one of another kind."""
    return problem if isinstance(problem, Problem) else problem.classical


def with_classical(problem: Any, classical: Problem) -> Any:
    """Return `problem` with `classical` in place of its classical part, and with the domain of `classical`."""
    if isinstance(problem, Problem):
        return classical
    if classical.domain is problem.classical.domain:
        return replace(problem, classical=classical)
    return replace(problem, classical=classical, domain=replace(problem.domain, classical=classical.domain))


def with_sealed_classical(problem: Any, classical: Problem) -> Any:
    """Return `problem` as `with_classical` does, sealed: all names in `classical` were looked up."""
    found = with_classical(problem, seal(classical))
    return service_of(found).seal(found) if is_other_problem(found) else found


def unsupported_kind(found: Named, doing: str) -> UnsupportedError:
    """Return the error for `found`, of another kind, where only classical ones are supported; `doing` says where."""
    kinds = "classical domains and problems, such as those in PDDL"
    return UnsupportedError(f"{doing} '{found.name}', which is no classical problem", f"this takes {kinds}")


def check_classical(problem: object, asked: str, hint: str) -> None:
    """Raise `InputError` unless `problem` is classical; `asked` is the function, `hint` the alternative."""
    if isinstance(problem, Problem):
        return
    classical = getattr(problem, "classical", None)
    if isinstance(classical, Problem):
        raise InputError(f"{classical.name!r} is {kind_of(problem)}; {asked} takes classical problems", hint=hint)
    raise InputError(f"expected a problem, got {kind_of(problem)}", hint="load(…) and domain.problem(…) give one")


SomeProblem = TypeVar("SomeProblem")


def resolve_problem(problem: SomeProblem) -> SomeProblem:
    """Parse the texts of goal, constraints and facts in `problem`, and resolve all its names.

    For other kinds of problems, call the module registered for the kind. Raises `InputError` for a value that is not a
    problem, for undeclared names, and for arguments of a wrong number or type.
    """
    if is_other_problem(problem):
        return cast("SomeProblem", service_of(problem).resolve(problem))
    if not isinstance(problem, Problem):
        raise InputError(f"expected a problem, got {kind_of(problem)}", hint="load(…) and domain.problem(…) give one")
    if not problem.unsealed:
        return problem
    from planner.language.declare.name_resolution import resolve_names

    return cast("SomeProblem", resolve_names(problem))


def resolve_classical(problem: Problem, asked: str, hint: str) -> Problem:
    """Return `problem` as `resolve_problem` does; raises as `check_classical` does for one of another kind."""
    check_classical(problem, asked, hint)
    return resolve_problem(problem)
