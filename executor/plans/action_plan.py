"""`ActionPlan`: plans as data, from a search result, from JSON, or written by hand.

A step names its action, its arguments by parameter, and the steps that it depends on. A data parameter may take its
value from the result of an earlier step: `{{step.data.tasks}}`. An object that a step creates has no name yet:
`creates` gives it a placeholder, which later steps use as an argument. `Basis` records the origin of a plan.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from itertools import count, repeat
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self
from uuid import uuid4

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError, to_jsonable_python

from executor.plans.execution_models import ExecutionModel, is_candidate_set, is_decision, is_policy
from executor.plans.suppositions import texts_by_step
from executor.tools.isolated_values import replace_iterators
from executor.tools.step_policy import Choice, ExecutionPolicy, OnError, Rate
from planner.errors import NoPlan, PlanError, UnsupportedError
from planner.language.declare import resolve_action
from planner.language.declare.declared_names import Types
from planner.language.declare.fields import CodePlace, Place
from planner.language.declare.model_builder import objects_of
from planner.language.declare.problem_builder import ProblemBuilder
from planner.language.documents.document_conditions import Notation, demand_of, write_constraint
from planner.language.documents.schema import ConstraintDocument, NetworkDocument
from planner.model import (
    Action,
    Atom,
    Constraint,
    DomainModel,
    Formula,
    Goal,
    Metric,
    NumericMetric,
    Object,
    Problem,
)
from planner.model.object_names import read_term
from planner.model.problem import with_limits_of
from planner.model.timing import TimedEffect
from planner.model.unknown_numbers import find_unread
from planner.plan import Plan, Result, Status, Step, StepTime, Supposition
from planner.problem_kinds import classical_of, is_other_problem
from planner.validation.validate import check_steps

if TYPE_CHECKING:
    from planner.policies.decision import Decision
    from planner.policies.policy import Policy as ContingentPolicy
    from planner.topk.top_k import CandidateSet

REFERENCE: Final = re.compile(r"\{\{\s*([^\s.{}]+)\s*(?:\.\s*([^\s{}]+)\s*)?\}\}")
"""A reference in a text: the id of a step, and the path of a field of its result."""


def references(value: Any) -> Iterator[str]:
    """Yield the ids of the steps to which texts inside `value` refer."""
    for text in texts_in(value):
        if "{{" in text:
            yield from (match[1] for match in REFERENCE.finditer(text))


def texts_in(value: Any) -> Iterator[str]:
    """Yield the texts inside `value`; of mappings, the values and not the keys."""
    stack = [value]
    while stack:
        match stack.pop():
            case str() as text:
                yield text
            case dict() as mapping:
                stack.extend(reversed(mapping.values()))
            case list() | tuple() as items:
                stack.extend(reversed(items))


class Basis(BaseModel):
    """The origin of a plan: the request, its reading, who confirmed it, and what that took.

    `request` is the request as made, `words` is its reading in words, `thought` is the language model's reason for that
    reading, and `confirmed` says who confirmed it. `unverified` maps parts of the request that no fact expresses, word
    for word, to the ground steps (`mail(note, ada)`) that a model proposed for them; these steps need approval, and a
    run of the plan is `UNVERIFIED` at best. `proposing` is the model's reason for these proposals. `left` are the parts
    that no step serves; with any, a run is `LOWERED` at best. `calls`, `tokens` and `cost` (money) count the use of
    language models. `saved` counts the seconds of search, the calls and the tokens that reuse saved. `drawn` says who
    wrote the plan if no search found it. A plan that `is_unattended` was made without a person who asked for it.
    Handlers of earlier runs have `named` these of its objects, which nobody has observed.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    request: str = ""
    words: str = ""
    thought: str = ""
    confirmed: str = ""
    unverified: dict[str, tuple[str, ...]] = {}
    proposing: str = ""
    left: tuple[str, ...] = ()
    calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    saved: dict[str, float] = {}
    drawn: str = ""
    is_unattended: bool = False
    named: tuple[str, ...] = ()

    @property
    def proposed(self) -> frozenset[str]:
        """The ground steps that a model proposed for parts that no fact expresses."""
        return frozenset([step for steps in self.unverified.values() for step in steps])


PlanStatus = Literal["proposed", "active", "completed", "abandoned"]


def _as_tuple(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


def _as_goals(value: Any) -> Any:
    return {"hard": value} if isinstance(value, str | list | tuple) else value


def _check_json(value: Any) -> Any:
    """Return `value` if JSON can hold it; raises `PydanticCustomError` otherwise."""
    value = replace_iterators(value)
    try:
        to_jsonable_python(value)
    except (ValueError, TypeError, RecursionError) as error:
        said = str(error).removeprefix("Unable to serialize unknown type: ")
        raise PydanticCustomError("no_json", "expected data that JSON can hold ({said})", {"said": said}) from None
    return value


def _exact_utilities(value: Any) -> Any:
    """Convert the utilities of constraint documents, which may be texts in JSON, to decimals."""
    if not isinstance(value, list | tuple):
        return value
    return [
        {**each, "utility": Decimal(str(each["utility"]))}
        if isinstance(each, dict) and isinstance(each.get("utility"), str | float)
        else each
        for each in value
    ]


Texts = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]
Amount = Annotated[int | Decimal, Field(ge=0, allow_inf_nan=False)]
"""An exact number; JSON has decimals as texts, and numbers are accepted, too."""
Cost = Annotated[int | Decimal, Field(allow_inf_nan=False)]
"""An exact number that may be below 0: the change of a numeric metric by a step."""
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Span = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Times = Annotated[int, Field(ge=1)]
Data = Annotated[Any, AfterValidator(_check_json)]
"""A value that JSON can hold."""
StepId = Annotated[str, Field(pattern=r"^[^\s.{}]+$")]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class StepRate(_Part):
    """The most starts of a step in a number of seconds: see `executor.tools.step_policy.Rate`."""

    most: Times
    seconds: Span
    by: tuple[str, ...] = ()
    wait: bool = True


class StepPolicy(_Part):
    """What one step changes of its action's `ExecutionPolicy`; `retry_on` names types of exceptions."""

    timeout: Seconds | None = None
    retries: Annotated[int, Field(ge=0)] | None = None
    backoff: Seconds = 0.5
    longest: Seconds = 30.0
    jitter: Seconds = 0.5
    retry_on: Texts = ()
    skills: Choice = "best first"
    on_error: OnError = "patch"
    lock: bool | tuple[str, ...] = False
    rate: StepRate | tuple[Times, Span] | None = None
    cache_for: Seconds = 0.0

    def over(self, policy: ExecutionPolicy) -> ExecutionPolicy:
        """Return `policy` with the fields that this one states."""
        stated = {name: getattr(self, name) for name in self.model_fields_set}
        if "retry_on" in stated:
            stated["retry_on"] = _match_named_errors(self.retry_on) if self.retry_on else None
        if isinstance(self.rate, StepRate):
            stated["rate"] = Rate(**dict(self.rate))
        return replace(policy, **stated)


def _match_named_errors(names: tuple[str, ...]) -> Callable[[Any], bool]:
    return lambda failure: any(each.__name__ in names for each in type(failure).__mro__)


class PlanStep(_Part):
    """One step of a plan.

    `arguments` are objects by parameter, `parameters` values by data parameter. `creates` maps the names of created
    objects to placeholders. `requires` and `expects` are conditions before and after the step, beyond those of its
    action. `supposes` are literals that the step takes to hold unless they are known by then. `undoes` are the steps
    that this one undoes; its handler gets their results. `cost`, `duration` (seconds) and `tokens` are estimates; where
    they are None, the action's declarations count. In a plan in time, `start` is planned for so many seconds after the
    run began.
    """

    id: StepId
    action: str
    arguments: dict[str, Annotated[str, AfterValidator(read_term)]] = {}
    parameters: dict[str, Data] = {}
    creates: dict[str, str] = {}
    depends_on: Texts = ()
    requires: Texts = ()
    expects: Texts = ()
    supposes: Texts = ()
    policy: StepPolicy | None = None
    cost: Cost | None = None
    start: Amount | None = None
    duration: Seconds | None = None
    tokens: Annotated[int, Field(ge=0)] | None = None
    description: str = ""
    undoes: Texts = ()

    @classmethod
    def of(cls, step: Step, action: Action, name: str) -> Self:
        """Convert `step`, an instance of `action`, to a plan step with the id `name`."""
        given = list(step.arguments)
        own = [each.name.removeprefix("?") for each in action.parameters]
        created = [each.removeprefix("?") for each in action.creates]
        return cls(
            id=name,
            action=step.action,
            arguments=dict(zip(own, given, strict=False)),
            creates=dict(zip(created, given[len(own) :], strict=False)),
            cost=step.cost,
        )

    @property
    def created(self) -> dict[str, str]:
        """The arguments and the placeholders, by parameter."""
        return {**self.arguments, **self.creates}

    @property
    def needs(self) -> frozenset[str]:
        """The steps that this one depends on or takes values from."""
        return frozenset([*self.depends_on, *references(self.parameters)])

    def step(self, domain: DomainModel) -> Step:
        """Convert to a planner's step: placeholders follow the declared arguments.

        If `domain` has parameters for created objects, placeholders are their arguments. Raises `InputError` for an
        unknown action or a missing argument.
        """
        action = domain.actions.get(self.action) or resolve_action(domain, self.action)
        names = [each.name.removeprefix("?") for each in action.parameters]
        names += [each.removeprefix("?") for each in action.creates]
        given = {**self.creates, **self.arguments} if self.creates else self.arguments
        try:
            arguments = tuple([given[name] for name in names])
        except KeyError as error:
            raise PlanError(f"step {self.id!r} lacks the argument {error} of {action.signature}") from None
        return Step(action.name, arguments, self.cost or 0)


class Goals(_Part):
    """Hard goals, and soft goals with their utilities."""

    hard: Texts = ()
    soft: dict[str, Amount] = {}


class Constraints(_Part):
    """Limits of a run: cost, seconds, and tokens of language models; None is no limit."""

    cost: Amount | None = None
    duration: Seconds | None = None
    tokens: Annotated[int, Field(ge=0)] | None = None


class TimedChange(_Part):
    """What comes about so many seconds after a run began: literals, and changes of numbers such as `fuel(r2) += 3`."""

    time: Amount
    provides: Texts = ()
    numbers: Texts = ()


class Due(_Part):
    """A condition that must be reached `by` so many seconds after a run began; with a `weight`, it may be late."""

    condition: str
    by: Amount
    weight: Amount | None = None


class Metadata(_Part):
    """When a plan was made, its estimated duration in seconds, its priority and its limits."""

    created: datetime | None = None
    estimated_duration: Seconds | None = None
    priority: int = 0
    constraints: Constraints = Constraints()


class ActionPlan(_Part):
    """A plan that can be stored, sent and run; `objects`, `initial` and the fields after them state its problem.

    `types` maps types of its objects that the domain does not name itself to the types right above them. `goal` is a
    list of conditions, or `{"hard": …, "soft": {condition: utility}}`. `tasks` are the initial tasks of a hierarchical
    plan, and `decomposition` is its decomposition, whose steps are numbered from 0 in the order of `steps`.
    `constraints` are trajectory constraints in the form of documents. `values` are those of functions, and `metric` is
    "cost", "length" or an expression such as "minimize fuel-used". `supposes` are literals that the goal itself
    rests on; where it is None, patches of the plan do not suppose anything, either. `timed` are changes at known times,
    `due` says by when parts of the goal must be reached, and `capacity` has how much of each capacity there is. Times
    are seconds since the run began, or since the absolute time `starts_at`, if there is one.

    A plan without steps may follow a `policy`, the data of `Policy.to_dict` with the `objective` and the `penalty` of
    `decide`; these are used to find a new policy after an outcome that the first does not cover. `alternatives` are
    other plans for the same problem, each a list of ground actions (`move(r2, hall, lab)`): if this plan fails, the end
    of one of them may still work. `results` maps facts that still hold to the results of the earlier steps that
    provided them; data parameters may take values from there. `basis` is the origin of the plan.
    """

    id: str = Field(default_factory=lambda: f"plan-{uuid4().hex[:12]}")
    name: str = "plan"
    goal: Annotated[Goals, BeforeValidator(_as_goals)] = Goals()
    steps: tuple[PlanStep, ...] = ()
    supposes: Texts | None = None
    model: ExecutionModel = "sequential"
    objects: dict[str, str | tuple[str, ...]] = {}
    types: dict[str, tuple[str, ...]] = {}
    initial: Texts = ()
    values: dict[str, int | Decimal] = {}
    unknown: Texts = ()
    likely: dict[str, Decimal] = {}
    constraints: Annotated[tuple[ConstraintDocument, ...], BeforeValidator(_exact_utilities)] = ()
    budgets: dict[str, Amount] = {}
    deadline: Amount | None = None
    timed: tuple[TimedChange, ...] = ()
    due: tuple[Due, ...] = ()
    capacity: dict[str, Amount] = {}
    starts_at: datetime | None = None
    ran: Texts = ()
    metric: str = "cost"
    metadata: Metadata = Metadata()
    status: PlanStatus = "proposed"
    tasks: list[str] | NetworkDocument | None = None
    decomposition: dict[str, Any] | None = None
    policy: dict[str, Any] | None = None
    alternatives: tuple[Texts, ...] = ()
    results: dict[str, Data] = {}
    basis: Basis = Basis()

    @classmethod
    def of(cls, plan: Plan | Result | CandidateSet | ContingentPolicy | Decision, **fields: Any) -> Self:
        """Convert a result of planning to data, with other `fields` such as `model`, `metadata` or `id`.

        Raises `NoPlan` where there is no plan. The execution model is hierarchical for a plan with a decomposition,
        policy for a policy, timed for a plan in time, else sequential. Steps are `s1`, `s2`, …. The metadata have the
        present time and, if all actions have a duration, the estimated duration. The first of several candidates is the
        plan, and all are its alternatives.
        """
        if is_candidate_set(plan):
            return cls.of(
                _first_plan(plan), **{"alternatives": texts_of([each.steps for each in plan.plans]), **fields}
            )
        if is_policy(plan) or is_decision(plan):
            return cls(**{**_policy_fields(plan), **fields})
        if isinstance(plan, Result):
            plan = plan.expect_plan()
        problem = plan.problem.classical if is_other_problem(plan.problem) else plan.problem
        supposing, goal = texts_by_step(_suppositions(plan, problem), len(plan.steps))
        found = {
            **statement_of(problem),
            "steps": tuple(_time_steps(steps_of(plan.steps, problem.domain, supposing=supposing), plan.times)),
            "supposes": goal,
            "model": "timed" if plan.times else "sequential" if plan.tree is None else "hierarchical",
            **({} if plan.tree is None else _decomposition_fields(plan)),
        }
        made = cls(**{**found, **fields})
        if "metadata" in fields:
            return made
        metadata = Metadata(created=datetime.now(UTC), estimated_duration=_estimate_seconds(made, problem))
        return made.model_copy(update={"metadata": metadata})

    def problem(self, domain: DomainModel, entities: Mapping[str, object] | None = None) -> Problem:
        """Build the problem that the plan solves; `entities` are the Python values of objects.

        Raises `PlanError` where the statement does not fit `domain`.
        """
        return problem_of(self, domain, CodePlace(f"plan {self.id}"), entities or {})

    def of_step(self, name: str) -> PlanStep:
        """Return the step with the id `name`; raises `KeyError`."""
        found = next((each for each in self.steps if each.id == name), None)
        if found is None:
            raise KeyError(name)
        return found


def _time_steps(steps: Iterable[PlanStep], times: Sequence[StepTime]) -> Iterator[PlanStep]:
    """Yield `steps` with their `times`, if there are any."""
    for step, time in zip(steps, times or repeat(None), strict=False):
        if time is None:
            yield step
        else:
            yield step.model_copy(update={"start": time.start, "duration": float(time.duration)})


def _estimate_seconds(plan: ActionPlan, problem: Problem) -> float | None:
    """Estimate the duration of `plan` in its execution model; None where a step has no declared duration."""
    if not any(problem.domain.actions[each.action].duration for each in plan.steps):
        return None
    from executor.plan_check.estimate import estimate

    found = estimate(problem, plan.steps, plan.model)
    return None if found.untimed else found.duration


def _decomposition_fields(plan: Plan) -> dict[str, Any]:
    from htn.language.documents import tasks_document

    return {"tasks": tasks_document(plan.problem), "decomposition": plan.tree.to_dict()}


def texts_of(plans: Iterable[Iterable[Step]]) -> tuple[tuple[str, ...], ...]:
    """Write the steps of plans as texts of ground actions."""
    return tuple([tuple([str(Atom(step.action, step.arguments)) for step in steps]) for steps in plans])


def _first_plan(found: CandidateSet) -> Plan:
    if not found.plans:
        raise NoPlan(Result(Status.UNKNOWN, found.stopped_by, reason="there is no candidate"))
    return found.plans[0]


def _policy_fields(found: ContingentPolicy | Decision) -> dict[str, Any]:
    """Return the fields of a plan that follows a policy; raises `NoPlan` where there is none.

    Raises `UnsupportedError` for a policy that needs to be told more than runs observe.
    """
    policy = found.expect_policy() if is_decision(found) else found
    if policy.beyond_facts:
        raise UnsupportedError(f"a run by a policy about {policy.beyond_facts}", "run the problem: plans are patched")
    data = policy.to_dict()
    if is_decision(found):
        data |= {"objective": found.objective.name.lower(), "penalty": found.penalty}
    metadata = Metadata(created=datetime.now(UTC))
    return {
        **statement_of(classical_of(policy.problem)),
        "model": "policy",
        "policy": data,
        "supposes": (),
        "metadata": metadata,
    }


def problem_of(plan: ActionPlan, domain: DomainModel, place: Place, entities: Mapping[str, object]) -> Problem:
    """Build the problem of `plan`; errors name their place within `place`."""
    unnamed = {name: parents for name, parents in plan.types.items() if name not in domain.types}
    if unnamed:
        domain = replace(domain, types={**domain.types, **unnamed})
    objects, _ = objects_of(plan.objects, Types.of(domain.types), place.within("objects"))
    return ProblemBuilder(domain, objects, place).build(
        plan.name,
        plan.initial,
        {"hard": plan.goal.hard, "soft": plan.goal.soft},
        values=plan.values,
        unknown=plan.unknown,
        likely=plan.likely,
        constraints=[demand_of(each, place.within("constraints", at)) for at, each in enumerate(plan.constraints)],
        budgets=plan.budgets,
        deadline=plan.deadline,
        timed=[(each.time, [*each.provides, *each.numbers]) for each in plan.timed],
        due=[(each.condition, {"by": each.by, "weight": each.weight}) for each in plan.due],
        capacity=plan.capacity,
        starts_at=plan.starts_at,
        ran=plan.ran,
        metric=plan.metric,
        resolution=None,
        entities=entities,
    )


def statement_of(problem: Problem) -> dict[str, Any]:
    """Return the fields of an `ActionPlan` that state `problem`."""
    return {
        "name": problem.name,
        "goal": goals_of(problem.goal),
        "objects": {each.name: _types(each) for each in problem.objects},
        "types": _unnamed_types(problem),
        "initial": tuple(map(str, problem.initial)),
        "values": {str(term): value for term, value in problem.values.items()},
        "unknown": tuple(map(str, (*problem.unknown, *find_unread(problem)))),
        "likely": {str(fact): chance for fact, chance in problem.likely.items()},
        "constraints": tuple([_constraint(each) for each in problem.constraints]),
        "budgets": dict(problem.budgets),
        "deadline": problem.deadline,
        "timed": tuple([_timed_change(each) for each in problem.timed]),
        "due": tuple([Due(condition=_write(each.condition), by=each.by, weight=each.weight) for each in problem.due]),
        "capacity": dict(problem.capacity),
        "starts_at": problem.starts_at,
        "ran": tuple(map(str, problem.ran)),
        "metric": _metric_text(problem.metric),
    }


def _metric_text(metric: Metric | NumericMetric) -> str:
    if isinstance(metric, NumericMetric):
        return str(metric)
    return "length" if metric is Metric.LENGTH else "cost"


def _unnamed_types(problem: Problem) -> dict[str, tuple[str, ...]]:
    """Return the types of objects that no declaration in the domain names, with the types right above them.

    A domain learns these types from a problem's objects; a domain that has never seen that problem lacks them.
    """
    domain = problem.domain
    waiting = [kind for each in problem.objects for kind in each.types]
    if len(set(waiting) - {"object"}) == 0:
        return {}
    named = {kind for each in domain.predicates.values() for parameter in each.parameters for kind in parameter.types}
    for action in domain.actions.values():
        named.update(kind for parameter in action.parameters for kind in parameter.types)
        named.update(action.creates.values())
    found: dict[str, tuple[str, ...]] = {}
    while waiting:
        kind = waiting.pop()
        if kind not in named and kind not in found and kind in domain.types:
            found[kind] = domain.types[kind]
            waiting += domain.types[kind]
    return found


def _write(condition: Formula) -> str:
    return Notation((), ()).single(condition)


def _timed_change(effect: TimedEffect) -> TimedChange:
    return TimedChange(
        time=effect.time, provides=tuple(map(str, effect.provides)), numbers=tuple(map(str, effect.numbers))
    )


def _constraint(constraint: Constraint) -> ConstraintDocument:
    return ConstraintDocument.model_validate(write_constraint(constraint, Notation((), ())))


def goals_of(goal: Goal) -> Goals:
    """Write `goal` as texts; the utilities of equal soft goals are added up."""
    write = Notation((), ())
    soft: dict[str, int | Decimal] = {}
    for wish in goal.soft:
        text = write.single(wish.condition)
        soft[text] = soft.get(text, 0) + wish.utility
    return Goals(hard=tuple(write.formula(goal.hard)), soft=soft)


def _types(item: Object) -> str | tuple[str, ...]:
    return item.types[0] if len(item.types) == 1 else item.types


def steps_of(
    steps: Iterable[Step],
    domain: DomainModel,
    taken: Container[str] = (),
    *,
    supposing: Iterable[tuple[str, ...]] | None = None,
) -> Iterator[PlanStep]:
    """Convert `steps` to plan steps with new ids, none of them in `taken`; `supposing` has the suppositions of each."""
    names = (name for number in count(1) if (name := f"s{number}") not in taken)
    for step, supposes in zip(steps, repeat(()) if supposing is None else supposing, strict=False):
        made = PlanStep.of(step, domain.actions[step.action], next(names))
        yield made.model_copy(update={"supposes": supposes}) if supposes else made


def _suppositions(plan: Plan, problem: Problem) -> tuple[Supposition, ...]:
    """Return the suppositions of `plan`; if it has none recorded, find them by validation."""
    if plan.suppositions or not problem.unknown or plan.tree is not None:
        return plan.suppositions
    return check_steps(problem, plan.steps).suppositions


FIELDS: Final = frozenset({"goal", "constraints", "budgets", "deadline", "due", "basis"})
"""The fields of an `ActionPlan` that state its aim."""


def aim_of(problem: Problem, basis: Basis | None = None) -> dict[str, Any]:
    """Write the aim of `problem` as data."""
    made = ActionPlan(**statement_of(problem), basis=basis or Basis())
    return made.model_dump(mode="json", include=set(FIELDS))


def replace_aim(plan: ActionPlan, aim: Mapping[str, Any], source: Problem) -> tuple[ActionPlan, Problem]:
    """Replace the aim of `plan` and of its problem `source` by `aim`."""
    changed = ActionPlan.model_validate({**plan.model_dump(mode="json", exclude=set(FIELDS)), **aim})
    found = changed.problem(source.domain)
    aimed = replace(source, goal=found.goal, constraints=found.constraints, due=found.due)
    return changed, with_limits_of(aimed, found)
