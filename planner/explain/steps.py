"""Why each step is in a plan: what it provides, for whom, and whether the plan could do without it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from planner.creation import for_steps
from planner.explain.words import readable
from planner.model import Problem
from planner.order import CausalLink, causal_links, purposes
from planner.plan import Plan, Step, Supposition, json_number
from planner.records import replace
from planner.validate import Simulation, as_supposed, validate

ELIMINATION: Final = 300
"""Up to how many steps leaving each of them out is tried; the time grows with the square of the plan's length."""


@dataclass(frozen=True, slots=True)
class Service:
    """One thing that a step does for another: `condition` is needed by step `consumer`, or by the goal (None)."""

    condition: str
    consumer: int | None


@dataclass(frozen=True, slots=True)
class StepExplanation:
    """Why step `number` (from 1) is in the plan.

    `services` are all its causal links to later steps and to the goal, `chain` those of a shortest way to the goal,
    the step's own first; it is empty where the step serves nothing. `redundant` steps can be left out together.
    """

    number: int
    step: Step
    services: tuple[Service, ...]
    chain: tuple[Service, ...]
    redundant: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as JSON-ready data; the goal as a consumer is null."""
        return {
            "number": self.number,
            "action": self.step.action,
            "arguments": list(self.step.arguments),
            "cost": json_number(self.step.cost),
            "services": [{"condition": each.condition, "needed_by": each.consumer} for each in self.services],
            "chain": [{"condition": each.condition, "needed_by": each.consumer} for each in self.chain],
            "redundant": self.redundant,
        }


@dataclass(frozen=True, slots=True)
class PlanExplanation:
    """Why each step of a valid plan is there; `leaner` is the plan without what is redundant, None if nothing is.

    Where facts are unknown, `suppositions` are what the plan takes to hold.
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
                yield f"   provides {self._story(each.chain)}"
            for service in each.services:
                if service not in each.chain[:1]:
                    yield f"   also provides {service.condition}, needed by {self._consumer(service)}"
            if not each.services:
                yield "   serves nothing"
        if self.leaner is not None:
            numbers = ", ".join(map(str, self.redundant))
            yield f"The plan is valid without {numbers}, at cost {self.leaner.cost}."
        yield from [f"The plan supposes {supposition}." for supposition in self.suppositions]

    def _story(self, chain: Sequence[Service]) -> str:
        first, *rest = chain
        onward = [self._consumer(each) + ("" if each.consumer else f" {each.condition}") for each in rest]
        return " → ".join([f"{first.condition}, needed by {self._consumer(first)}", *onward])

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
    """Return why each step of `plan` is there. Raises `PlanError` for a plan that is not valid."""
    source, expanded = problem, for_steps(problem, plan.steps)
    problem, suppositions = as_supposed(expanded, plan)
    plan = replace(plan, suppositions=suppositions)
    links, chains = causal_links(expanded, plan), purposes(expanded, plan)
    served: dict[int, list[CausalLink]] = {number: [] for number in chains}
    for link in links:
        if link.provider in served:
            served[link.provider].append(link)
    kept = _needed(problem, plan, [number for number, chain in chains.items() if chain])
    steps = [
        StepExplanation(
            number,
            step,
            _services(served[number], problem, plan),
            _services(chains[number], problem, plan),
            number not in kept,
        )
        for number, step in enumerate(plan.steps, start=1)
    ]
    leaner = Plan(tuple([plan.steps[number - 1] for number in kept]), source)
    return PlanExplanation(tuple(steps), leaner if len(leaner) < len(plan) else None, suppositions)


def _services(links: Sequence[CausalLink], problem: Problem, plan: Plan) -> tuple[Service, ...]:
    goal = len(plan) + 1
    found = (
        Service(readable(link.condition, problem.domain), None if link.consumer == goal else link.consumer)
        for link in links
    )
    return tuple(dict.fromkeys(found))


def _needed(problem: Problem, plan: Plan, useful: list[int]) -> list[int]:
    """Return the numbers of steps that are left after leaving out, one after the other, what can be left out.

    `useful` are the steps that serve the goal: leaving out the others changes nothing for them. Then each step is left
    out together with all that can then not be applied, if the goal is still reached (action elimination, Nakhost and
    Müller 2010). Steps that look at what is unknown and relied on stay.
    """
    kept, looks = useful, {each.seen for each in plan.suppositions if each.seen is not None}
    if len(kept) <= ELIMINATION:
        for number in useful:
            fewer = _without(number, kept, problem, plan) if number in kept else None
            kept = kept if fewer is None or not looks <= {*fewer} else fewer
    verdict = validate(problem, [plan.steps[number - 1] for number in kept])
    assert verdict.valid, verdict.reason  # noqa: S101 - what is called redundant must be
    return kept


def _without(number: int, kept: list[int], problem: Problem, plan: Plan) -> list[int] | None:
    """Return those of `kept` that can be applied when step `number` is left out; None if they miss the goal."""
    simulation = Simulation(problem)
    left: list[int] = []
    for each in kept:
        step = plan.steps[each - 1]
        if each != number and simulation.objection(step) is None:
            simulation.apply(step)
            left.append(each)
    return left if simulation.holds(problem.goal.hard) else None
