"""The immutable hierarchy that every part of `htn` reads: tasks, methods, networks, and the problem.

What is classical stays in the classical model: a hierarchical domain *has* a `DomainModel` with types, predicates and
actions, and a hierarchical problem *has* a `Problem` with objects, initial state and goal.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from graphlib import CycleError
from itertools import pairwise

from htn.orders import Order, linear
from planner.annotations import TYPE_CHECKING
from planner.model import TRUE, Atom, DomainModel, Formula, Problem, Variable
from planner.model.problem import sealed as sealed_classical
from planner.records import dataclass, field, replace

if TYPE_CHECKING:
    from htn.explain import TaskExplanation, WhyNot
    from htn.unified import GroundOutgoing, HtnOutgoing
    from planner.annotations import Any
    from planner.budget import Budget
    from planner.candidates.iterator import Candidates, Which
    from planner.check import Finding
    from planner.errors import Location
    from planner.plan import Plan, Result
    from planner.validate import Verdict


@dataclass(frozen=True, slots=True)
class Task:
    """A compound task: what methods decompose."""

    name: str
    parameters: tuple[Variable, ...] = ()
    description: str = ""


@dataclass(frozen=True, slots=True)
class Subtask:
    """One task of a network: an action or a compound task (`task.predicate`) with its arguments.

    `label` is what orderings in files call it; it is "" where nobody gave it a name.
    """

    task: Atom
    label: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Network:
    """Tasks to be done: all of `subtasks`, in the partial order that `ordering` generates.

    `ordering` has pairs of places in `subtasks` and no cycles. `constraints` are a conjunction of equalities of terms
    and their negations.
    """

    subtasks: tuple[Subtask, ...] = ()
    ordering: tuple[Order, ...] = ()
    constraints: Formula = TRUE

    @property
    def is_sequence(self) -> bool:
        """Whether the subtasks are totally ordered, in whatever order they are written."""
        line = self.linearisation
        return {*pairwise(line)} <= {*self.ordering} and len(line) == len(self.subtasks)

    @property
    def linearisation(self) -> tuple[int, ...]:
        """The places of the subtasks in an order that agrees with `ordering`, as written where it leaves the choice.

        Empty where the ordering has a cycle.
        """
        try:
            return tuple(linear(len(self.subtasks), self.ordering))
        except CycleError:
            return ()


def sequence(*tasks: Atom, constraints: Formula = TRUE) -> Network:
    """Return the network of `tasks` one after the other."""
    ordering = tuple([(place, place + 1) for place in range(len(tasks) - 1)])
    return Network(tuple(map(Subtask, tasks)), ordering, constraints)


@dataclass(frozen=True, slots=True)
class Method:
    """One way to do the compound task `task`, whose arguments are parameters of the method or constants.

    `precondition` holds in some state after everything that is ordered before the task and before the first step of
    the method; where subtasks are ordered, that is the state in which the first of them begins.
    """

    name: str
    task: Atom
    parameters: tuple[Variable, ...] = ()
    precondition: Formula = TRUE
    network: Network = field(default_factory=Network)
    description: str = ""


@dataclass(frozen=True, slots=True)
class Spelling:
    """What a file calls names that are others in the model: by these, as the file spells them.

    `heads` are actions and tasks. The model has names in lower case, and another name for each of several methods that
    have one name in the file.
    """

    heads: Mapping[str, str] = field(default_factory=dict)
    methods: Mapping[str, str] = field(default_factory=dict)
    objects: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HtnDomain:
    """A classical domain with compound tasks and methods; names map to what they declare, in the order of declaration.

    No task has the name of an action. `inferred` are the predicates that nobody declared and methods alone name, each
    with the place where one does so first. `spelling` is that of its file: plans are written with it.
    """

    classical: DomainModel
    tasks: Mapping[str, Task] = field(default_factory=dict)
    methods: Mapping[str, Method] = field(default_factory=dict)
    inferred: Mapping[str, Location] = field(default_factory=dict, compare=False, repr=False)
    spelling: Spelling = field(default_factory=Spelling, compare=False, repr=False)

    @property
    def name(self) -> str:
        """The name of the domain."""
        return self.classical.name

    def check(self) -> list[Finding]:
        """Return what lint says about the domain without objects."""
        from htn.check import check_hierarchy  # noqa: PLC0415 - the model itself knows nothing of lint

        return check_hierarchy(self)

    def methods_for(self, task: str) -> list[Method]:
        """Return the methods for the compound task of this name, in the order of declaration."""
        return [method for method in self.methods.values() if method.task.predicate == task]


@dataclass(frozen=True, slots=True)
class HtnProblem:
    """Tasks to be done from an initial state, and a goal to hold when they are done.

    `classical` has the objects, the initial state and the goal (always true where the file has none). The arguments of
    `network` may be variables among `parameters`: any objects of their types will do. `spelling` is that of its file.
    `seal` has the other fields as they were when all names in them were looked up, see `sealed`.
    """

    domain: HtnDomain
    classical: Problem
    network: Network = field(default_factory=Network)
    parameters: tuple[Variable, ...] = ()
    spelling: Spelling = field(default_factory=Spelling, compare=False, repr=False)
    seal: tuple[object, ...] = field(default=(), compare=False, repr=False)

    @property
    def name(self) -> str:
        """The name of the problem."""
        return self.classical.name

    @property
    def is_sealed(self) -> bool:
        """Whether all names in the problem were looked up, and nothing was replaced since."""
        now = self.domain, self.classical, self.network, self.parameters
        return (
            len(self.seal) == len(now)
            and all(map(operator.is_, now, self.seal))
            and isinstance(self.classical, Problem)
            and not self.classical.unsealed
        )

    def resolved(self) -> HtnProblem:
        """Return the problem with its texts read and its names looked up; raises `InputError` for a mistake."""
        if self.is_sealed:
            return self
        from htn.declare.resolve import resolved  # noqa: PLC0415 - readers give problems that are sealed

        return resolved(self)

    @property
    def is_ordered(self) -> bool:
        """Whether the tasks of every network are totally ordered."""
        networks = [self.network, *(method.network for method in self.domain.methods.values())]
        return all(network.is_sequence for network in networks)

    def read_plan(self, text: str, source: str = "<string>") -> Plan:
        """Return the plan that `text` writes; see `htn.plan_files.plan_from_text`."""
        from htn.plan_files import plan_from_text  # noqa: PLC0415 - the model itself knows nothing of files

        return plan_from_text(text, self, source)

    def check(self, budget: Budget) -> list[Finding]:
        """Return what lint says about the problem and its domain; raises `LimitReached`."""
        from htn.check import check_htn_problem  # noqa: PLC0415 - as above

        return check_htn_problem(self.resolved(), budget)

    def write_plan(self, plan: Plan) -> str:
        """Return `plan` in the competition's format; see `htn.plans.write_plan`."""
        from htn.plans import write_plan  # noqa: PLC0415 - as above

        return write_plan(plan)

    def draw_plan(self, plan: Plan) -> str:
        """Return the decomposition of `plan`, drawn as a tree."""
        from htn.draw import drawn  # noqa: PLC0415 - as above

        return drawn(plan)

    def validate(self, plan: Plan, budget: Budget | None = None) -> Verdict:
        """Return whether `plan` works; without a decomposition, one is searched for within `budget` (None: 10 s)."""
        from htn.verify.sequence import judged  # noqa: PLC0415 - the model itself knows nothing of plans
        from planner.budget import Budget  # noqa: PLC0415 - as above

        return judged(self.resolved(), plan, budget or Budget(10.0))

    def explain_plan(self, plan: Plan, budget: Budget | None = None) -> TaskExplanation:
        """Return which tasks each step of `plan`, a valid one, is there for; raises `LimitReached`."""
        from htn.explain import explain_plan  # noqa: PLC0415 - as above

        return explain_plan(self.resolved(), plan, budget)

    def to_unified_planning(
        self, environment: Any = None, budget: Budget | None = None, *, is_ground: bool = False
    ) -> HtnOutgoing | GroundOutgoing:
        """Return the problem as one of unified-planning; see `htn.unified`."""
        from htn.unified import grounded, to_unified_planning  # noqa: PLC0415 - slow to load

        return (grounded if is_ground else to_unified_planning)(self.resolved(), environment, budget)

    def for_another_process(self, budget: Budget) -> HtnProblem:
        """Return the problem without Python values; raises `LimitReached`."""
        from htn.sent import sent  # noqa: PLC0415 - only foreign planners have processes of their own

        return sent(self, budget)

    def why_not(self, budget: Budget) -> WhyNot:
        """Return why there is no plan, as far as that shows within `budget`."""
        from htn.explain import why_not  # noqa: PLC0415 - as above

        return why_not(self.resolved(), budget)

    def solve(self, **options: Any) -> Result:
        """Return the answer; the options are those of `htn.solve.solve`."""
        from htn.solve import solve  # noqa: PLC0415 - what is only read needs no search

        return solve(self, **options)

    def candidates(self, budget: Budget, which: Which) -> Candidates:
        """Return the plans for the problem by their costs; see `htn.candidates`."""
        from htn.candidates.iterate import candidates  # noqa: PLC0415 - as above

        return candidates(self.resolved(), budget, which)


def sealed(problem: HtnProblem) -> HtnProblem:
    """Return `problem`, of which it is known that all its names mean something: nobody looks them up again."""
    if problem.is_sealed:
        return problem
    classical = problem.classical
    if classical.unsealed:
        classical = sealed_classical(classical)
    return replace(problem, classical=classical, seal=(problem.domain, classical, problem.network, problem.parameters))
