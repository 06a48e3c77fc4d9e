"""What the tools of the server take and give, as pydantic models: their schemas are the tools' own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Steps = Annotated[
    str | list[str] | list[dict[str, Any]],
    Field(
        description="A plan: steps as text, 'move(r2, hall, lab)' or '(move r2 hall lab)', one text or a list; or as"
        " {'action': …, 'arguments': […]}."
    ),
]


class Given(BaseModel):
    """What a call is about; unknown fields are mistakes."""

    model_config = ConfigDict(extra="forbid")

    problem: str | None = Field(
        default=None, description="Name of a problem of the served domain; by default the served one."
    )
    goal: list[str] | None = Field(
        default=None,
        description="Conditions in place of the problem's goal, such as 'at(r2, lab)' or 'not locked(door)'.",
    )
    state: list[str] | None = Field(
        default=None, description="The facts that hold, in place of the initial state; all others are false."
    )
    objects: dict[str, str] | None = Field(default=None, description="Further objects: names with their types.")
    domain_text: str | None = Field(default=None, description="A domain in PDDL or YAML, in place of the served one.")
    problem_text: str | None = Field(default=None, description="A problem in PDDL or YAML, in place of the served one.")


class Answer(BaseModel):
    """An answer; further fields may follow those of the schema."""

    model_config = ConfigDict(extra="allow")


class PlanStep(BaseModel):
    """A step of a plan, with its times in a plan in time; further fields may follow those of the schema."""

    model_config = ConfigDict(extra="allow")

    action: str
    arguments: list[str] = []
    cost: int | float | None = None


class PlanAnswer(Answer):
    """A plan, with what is proved of it; or why there is none."""

    status: str = Field(
        description="OPTIMAL (a plan, proved to cost the least), SOLVED (a plan), UNSOLVABLE (proved), UNKNOWN, "
        "UNSUPPORTED."
    )
    stopped_by: str
    steps: list[PlanStep] | None = Field(default=None, description="None where there is no plan.")
    cost: int | float | None = None
    lower_bound: int | float | None = Field(default=None, description="No plan costs less.")
    reason: str = ""
    suppositions: list[dict[str, Any]] = Field(default=[], description="What the plan takes unknown facts to be.")


class CandidatePlan(Answer):
    """One of several plans."""

    cost: int | float | None
    steps: list[PlanStep]


class CandidatesAnswer(Answer):
    """Plans by cost, the cheapest first."""

    candidates: list[CandidatePlan]
    proved: bool = Field(description="Whether no plan that is left out is cheaper than one of these.")
    complete: bool = Field(description="Whether there are no other plans.")
    stopped_by: str
    lower_bound: int | float | None = Field(default=None, description="All other plans cost at least this.")


class VerdictAnswer(Answer):
    """Whether a plan is valid, and else where and why it fails."""

    valid: bool
    reason: str = ""
    cost: int | float | None = None
    failing_step: int | None = Field(default=None, description="Number of the first step that cannot be done, from 1.")
    condition: str | None = Field(default=None, description="What that step lacks.")
    unmet: list[str] = Field(default=[], description="Parts of the goal that do not hold at the end.")


class ExplanationAnswer(Answer):
    """An explanation in words, and the same as data."""

    text: str
    data: dict[str, Any] = {}


class RepairAnswer(Answer):
    """A plan repaired with the least change, or the reason why there is no repair."""

    status: str = Field(description="VALID (as it stands), REPAIRED, or REFUSED.")
    reason: str = ""
    steps: list[PlanStep] | None = None
    kept: list[int] = Field(default=[], description="Places of the given steps that are kept, from 0.")
    left_out: list[int] = []
    inserted: list[int] = Field(default=[], description="Places of the new steps in the repaired plan, from 0.")
    least: bool = Field(default=False, description="Whether it is proved that no plan keeps more.")


class StepsAnswer(Answer):
    """Steps, and whether these are all."""

    steps: list[PlanStep]
    total: int = Field(description="How many there are; `steps` has no more than the limit.")
    complete: bool = Field(default=True, description="Whether `total` is all, or counting ended there.")


class ProgressAnswer(Answer):
    """The state after steps, and what each of them changed."""

    state: list[str] = Field(description="The facts that hold at the end, derived ones left out.")
    changes: list[dict[str, Any]] = Field(description="For each step: the facts added and removed.")
    goal_reached: bool
    failing_step: int | None = Field(default=None, description="Number of the first step that cannot be done, from 1.")
    reason: str = ""


class LandmarksAnswer(Answer):
    """Facts that each plan makes true at some time."""

    status: str = Field(description="SOLVED, UNSOLVABLE (then every fact is one, and none is listed), or UNKNOWN.")
    landmarks: list[dict[str, Any]] = Field(description="Each with its proof, and whether it is causal.")
    unknown: list[str] = Field(description="Facts of which nobody knows whether they are landmarks.")
    complete: bool


class ReachableAnswer(Answer):
    """What can be reached from the state: what was asked about, or else all that cannot."""

    answers: list[dict[str, Any]] = Field(
        description="Each with the item, `reachable` (null if unknown) and the proof."
    )
    unreachable_facts: list[str] | None = Field(default=None, description="All of them, if nothing was asked about.")
    unreachable_steps: list[str] | None = None


class SimplifiedAnswer(Answer):
    """A plan without the steps that it does not need."""

    plan: list[str]
    removed: list[int] = Field(description="Places of the removed steps, from 0.")
    saved: int | float
    least: bool = Field(description="Whether it is proved that no more can be left out.")


class FirstStepsAnswer(Answer):
    """All steps with which cheapest plans begin."""

    status: str = Field(description="OPTIMAL, UNSOLVABLE or UNKNOWN.")
    cost: int | float | None = None
    steps: list[str]


class RelevantAnswer(Answer):
    """Actions that may help to reach a goal, the most useful first."""

    actions: list[dict[str, Any]]


class DomainAnswer(Answer):
    """The vocabulary of a domain, and a problem in it."""

    domain: str
    description: str = ""
    types: dict[str, list[str]]
    predicates: dict[str, list[str]] = Field(description="Types of the arguments, by predicate.")
    actions: list[dict[str, Any]]
    problems: list[str] = Field(description="Names for `problem`.")
    problem: dict[str, Any] | None = Field(default=None, description="Objects, state and goal of the problem.")


class RunAnswer(Answer):
    """A run: how it ended, or how it stands."""

    run: str
    status: str = Field(
        description="SUCCEEDED (the goal was observed), UNVERIFIED, LOWERED, IMPOSSIBLE, FAILED, COMPENSATED, "
        "IN_DOUBT, CANCELLED, WAITING (answer its questions with `answer`, or go on with `resume`), ACTIVE."
    )
    reason: str = ""
    steps: list[dict[str, Any]] = Field(default=[], description="Each with id, action, arguments, status and reason.")
    questions: list[dict[str, Any]] = Field(
        default=[], description="Open questions: name, text, choices, and the `form` of an answer as a JSON schema."
    )
    waits: list[dict[str, Any]] = Field(default=[], description="Steps that wait for a result from outside.")
    simulated: bool = Field(description="Whether the run was in a simulated world.")
    goal_holds: bool | None = Field(default=None, description="In a simulated world: whether the goal holds there.")
    missing: dict[str, Any] | None = Field(default=None, description="Why no plan reaches the goal, if that is proved.")


class RunsAnswer(Answer):
    """Runs: one as it stands, or all with their statuses, the oldest first."""

    runs: Sequence[RunAnswer | dict[str, Any]]
