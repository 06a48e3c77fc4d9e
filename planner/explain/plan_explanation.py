"""Explanations of plans: what each step provides, which step needs it, and whether the plan is valid without it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from planner.compilations.object_creation import for_steps
from planner.errors import InputError, kind_of
from planner.explain.near_misses import describe_literal
from planner.lightweight import replace
from planner.model import Comparison, Goal, Not, Problem
from planner.model.formulas import with_conjuncts
from planner.model.problem import is_numeric
from planner.partial_order.causal_links import CausalLink, causal_links, find_purposes
from planner.plan import Plan, Step, Supposition, json_number, name_as_written
from planner.problem_kinds import resolve_classical
from planner.semantics.numeric_state import NumberChange
from planner.semantics.simulation import Simulation
from planner.validation.validate import apply_suppositions, check_steps

ELIMINATION: Final = 300
"""Longest plan for which action elimination is tried, in steps; its time is quadratic in the length."""


@dataclass(frozen=True, slots=True)
class Service:
    """One causal link of a step: step `consumer`, or the goal (None), needs `condition`.

    Where that is a comparison, `changes` are those that the step makes to the numbers in it.
    """

    condition: str
    consumer: int | None
    changes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.condition} ({', '.join(self.changes)})" if self.changes else self.condition

    def to_dict(self) -> dict[str, Any]:
        """Return the service as JSON-ready data; the goal as a consumer is null."""
        found: dict[str, Any] = {"condition": self.condition, "needed_by": self.consumer}
        return {**found, "changes": list(self.changes)} if self.changes else found


@dataclass(frozen=True, slots=True)
class StepExplanation:
    """The explanation of step `number` (from 1).

    `services` are its causal links to later steps and to the goal. `chain` is a shortest chain of links from the step
    to the goal; it is empty where the step serves nothing. `keeps` is a constraint that the plan breaks without a step
    that serves nothing else. All `redundant` steps together can be left out.
    """

    number: int
    step: Step
    services: tuple[Service, ...]
    chain: tuple[Service, ...]
    redundant: bool
    keeps: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as JSON-ready data; the goal as a consumer is null."""
        return {
            "number": self.number,
            "action": self.step.action,
            "arguments": list(self.step.arguments),
            "cost": json_number(self.step.cost),
            "services": [each.to_dict() for each in self.services],
            "chain": [each.to_dict() for each in self.chain],
            "redundant": self.redundant,
            **({"keeps": self.keeps} if self.keeps else {}),
        }


@dataclass(frozen=True, slots=True)
class PlanExplanation:
    """The explanation of a valid plan; `leaner` is the plan without its redundant steps, None if there are none.

    Where facts are unknown, `suppositions` are those of the plan.
    """

    steps: tuple[StepExplanation, ...]
    leaner: Plan | None = field(default=None)
    suppositions: tuple[Supposition, ...] = ()

    @property
    def redundant(self) -> tuple[int, ...]:
        """The numbers of the steps that can be left out, all of them together."""
        return tuple([each.number for each in self.steps if each.redundant])

    def describe(self) -> str:
        """Return the explanation in lines for people."""
        return "\n".join(self._lines()) or "the plan is empty: the goal holds initially"

    def __str__(self) -> str:
        return self.describe()

    def _lines(self) -> Iterator[str]:
        for each in self.steps:
            yield f"{each.number}. {each.step}{': redundant' if each.redundant else ''}"
            if each.chain:
                yield f"   {self._verb(each, each.chain[0])} {self._story(each.chain)}"
            for service in each.services:
                if service not in each.chain[:1]:
                    verb, consumer = self._verb(each, service), self._consumer(service)
                    yield f"   also {verb} {service}, needed by {consumer}"
            if each.keeps:
                yield f"   keeps the constraint '{each.keeps}'"
            elif not each.services:
                yield "   serves nothing"
        if self.leaner is not None:
            numbers = ", ".join(map(str, self.redundant))
            yield f"The plan is valid without {numbers}, at cost {self.leaner.cost}."
        yield from [f"The plan supposes {supposition}." for supposition in self.suppositions]

    def describe_purpose(self, step: StepExplanation) -> str:
        """Return what `step` is there for, as the end of a sentence that it begins."""
        if step.redundant:
            return "can be left out"
        if step.keeps:
            return f"keeps the constraint '{step.keeps}'"
        if not step.chain:
            return "serves nothing by itself"
        return f"{self._verb(step, step.chain[0])} {self._story(step.chain)}"

    def _verb(self, step: StepExplanation, service: Service) -> str:
        seen = [each.literal for each in self.suppositions if each.seen == step.number]
        return "sees" if service.condition in seen else "provides"

    def _story(self, chain: Sequence[Service]) -> str:
        first, *rest = chain
        onward = [self._consumer(each) + ("" if each.consumer else f" {each.condition}") for each in rest]
        return " → ".join([f"{first}, needed by {self._consumer(first)}", *onward])

    def _consumer(self, service: Service) -> str:
        if service.consumer is None:
            return "the goal"
        return f"{service.consumer}. {self.steps[service.consumer - 1].step}"

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as JSON-ready data."""
        data = {
            "steps": [each.to_dict() for each in self.steps],
            "redundant": list(self.redundant),
            "leaner": self.leaner.to_dict() if self.leaner is not None else None,
        }
        if self.suppositions:
            data["suppositions"] = [each.to_dict() for each in self.suppositions]
        return data


def explain_plan(problem: Problem, plan: Plan) -> PlanExplanation:
    """Explain why each step of `plan` is in it.

    Wishes that come true count as part of the goal. Raises `PlanError` for an invalid plan, and `InputError` for
    undeclared names in the problem.
    """
    problem = resolve_classical(problem, "explain_plan", "htn.problem_kind.explain_plan(problem, plan) explains it")
    if not isinstance(plan, Plan):
        raise InputError(
            f"{kind_of(plan)} is no plan", hint="solve(problem).expect_plan() and Plan(steps, problem) are"
        )
    source, expanded = problem, for_steps(_fix_wishes(problem, plan), plan.steps)
    problem, suppositions = apply_suppositions(expanded, plan)
    plan = replace(plan, suppositions=suppositions)
    links, chains = causal_links(expanded, plan), find_purposes(expanded, plan)
    served: dict[int, list[CausalLink]] = {number: [] for number in chains}
    for link in links:
        if link.provider in served:
            served[link.provider].append(link)
    changes = _find_number_changes(problem, plan)
    kept = _eliminate_actions(problem, plan, [number for number, chain in chains.items() if chain])
    steps = [
        StepExplanation(
            number,
            step,
            _services(served[number], problem, plan, changes),
            _services(chains[number], problem, plan, changes),
            number not in kept,
            _find_kept_constraint(number, kept, problem, plan) if number in kept and not chains[number] else "",
        )
        for number, step in enumerate(name_as_written(plan.steps, problem), start=1)
    ]
    leaner = Plan(tuple([plan.steps[number - 1] for number in kept]), source)
    return PlanExplanation(tuple(steps), leaner if len(leaner) < len(plan) else None, suppositions)


def _fix_wishes(problem: Problem, plan: Plan) -> Problem:
    """Make the wishes that `plan` fulfils hard, and remove the others."""
    if not problem.wishes:
        return problem
    forgone = check_steps(problem, plan.steps).forgone
    wishes = [wish.condition for wish in problem.goal.soft if wish not in forgone]
    constraints = tuple([replace(each, utility=None) for each in problem.constraints if each not in forgone])
    hard = with_conjuncts(problem.goal.hard, *wishes)
    return replace(problem, goal=Goal(hard), constraints=constraints)


def _services(
    links: Sequence[CausalLink], problem: Problem, plan: Plan, changes: Sequence[Sequence[NumberChange]]
) -> tuple[Service, ...]:
    goal = len(plan) + 1
    found = (
        Service(
            describe_literal(link.condition, problem.domain),
            None if link.consumer == goal else link.consumer,
            _describe_changes(link, changes),
        )
        for link in links
    )
    return tuple(dict.fromkeys(found))


def _describe_changes(link: CausalLink, changes: Sequence[Sequence[NumberChange]]) -> tuple[str, ...]:
    """Return the changes by the provider of `link` to the numbers in its condition."""
    compared = link.condition.part if isinstance(link.condition, Not) else link.condition
    if not isinstance(compared, Comparison):
        return ()
    return tuple([str(each) for each in changes[link.provider - 1] if each.fluent in compared.functions])


def _find_number_changes(problem: Problem, plan: Plan) -> list[Sequence[NumberChange]]:
    """Return the changes of numeric fluents by each step."""
    if not is_numeric(problem):
        return [()] * len(plan)
    simulation = Simulation(problem)
    return [simulation.apply(step).numbers for step in plan.steps]


def _eliminate_actions(problem: Problem, plan: Plan, useful: list[int]) -> list[int]:
    """Return the numbers of the steps that remain after action elimination (Nakhost and Müller, 2010).

    `useful` are the steps that serve the goal; the others can be left out, unless there are constraints. Then each step
    is left out in turn, with all steps that are no longer applicable, if the goal is still reached. Steps that sense
    what the plan supposes stay.
    """
    useful = [*range(1, len(plan) + 1)] if problem.constraints else useful
    kept, looks = useful, {each.seen for each in plan.suppositions if each.seen is not None}
    if len(kept) <= ELIMINATION:
        for number in useful:
            fewer = _leave_out(number, kept, problem, plan) if number in kept else None
            kept = kept if fewer is None or not looks <= {*fewer} else fewer
    verdict = check_steps(problem, [plan.steps[number - 1] for number in kept])
    assert verdict.valid, verdict.reason
    return kept


def _leave_out(number: int, kept: list[int], problem: Problem, plan: Plan) -> list[int] | None:
    """Return those of `kept` that are applicable without step `number`; None if they miss the goal."""
    left, simulation = _keep_applicable(number, kept, problem, plan)
    if not simulation.holds(problem.goal.hard):
        return None
    if problem.constraints and not check_steps(problem, [plan.steps[each - 1] for each in left]).valid:
        return None
    return left


def _keep_applicable(number: int, kept: list[int], problem: Problem, plan: Plan) -> tuple[list[int], Simulation]:
    """Return those of `kept` that are applicable without step `number`, and the simulation after them."""
    simulation = Simulation(problem)
    left: list[int] = []
    for each in kept:
        step = plan.steps[each - 1]
        if each != number and simulation.find_objection(step) is None:
            simulation.apply(step)
            left.append(each)
    return left, simulation


def _find_kept_constraint(number: int, kept: list[int], problem: Problem, plan: Plan) -> str:
    """Return a constraint that the plan breaks without step `number`; "" if there is none."""
    left, _ = _keep_applicable(number, kept, problem, plan)
    verdict = check_steps(replace(problem, goal=Goal()), [plan.steps[each - 1] for each in left])
    return "" if verdict.constraint is None else str(verdict.constraint)
