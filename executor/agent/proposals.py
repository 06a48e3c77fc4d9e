"""`Proposal`: the agent's proposal for a request: a goal in words, and a plan or an obstacle."""

from __future__ import annotations

from enum import Enum
from typing import Any

from executor.agent.foreign_plans.repair_plan import Repaired
from executor.agent.goal_reading.read_sentence import Reading, SentenceReadings
from executor.agent.improvise import Improvised
from executor.agent.plan_search import Missing
from executor.language_model.protocol import Usage
from executor.run import RunOutcome
from executor.tools.results import ActionResult, ResultOfItsOwn
from planner.lightweight import dataclass, field, replace
from planner.model import Problem
from planner.plan import Plan, Result
from planner.reuse.templates import Values


class Standing(Enum):
    """The state of a proposal; compare with `is`."""

    PLANNED = "there is a plan, and nothing in its way"
    UNCONFIRMED = "there is a plan; somebody has to say that its goal is meant"
    DECLINED = "somebody said that this is not meant"
    NOTHING = "nothing was asked for that could be done"
    AMBIGUOUS = "it may mean several things"
    UNKNOWN = "it names what nobody knows"
    UNREACHABLE = "nothing gives a part of it: a capability is missing"
    UNMODELLED = "a part of it cannot be said in the facts of the domain, and nothing serves it"
    UNVERIFIED = "there is a plan; for a part of it, nothing can confirm that it serves, and somebody has to approve"
    UNPLANNED = "no plan was found"
    CONFLICTING = "it cannot be had together with something that comes first"
    UNREAD = "the language model gave nothing that counts"


@dataclass(frozen=True, slots=True)
class Saved:
    """The savings by reused plans and readings: seconds of search, calls and tokens of a model."""

    seconds: float = 0.0
    calls: int = 0
    tokens: int = 0

    def to_dict(self) -> dict[str, float]:
        """Return the figures by name."""
        return {name: getattr(self, name) for name in ("seconds", "calls", "tokens")}


@dataclass(frozen=True, slots=True)
class Proposal:
    """The agent's proposal for a request, before anything is done.

    `problem` has the goal, in `words` for people; `result` is the result of planning. `readings` are all readings of a
    sentence, `thought` is the model's reason, and `usage` its use. `improvised` has steps for parts that no fact
    expresses. `question` is for a person to answer, and `reason` names the obstacle, if there is one; `missing` are
    missing capabilities. `saved` is what reuse saved, and `understood` the result of reading. `values` are values of
    data parameters from the plan, by step position. `repaired` is the repair of a plan from elsewhere.
    """

    standing: Standing
    request: str = ""
    problem: Problem | None = None
    words: str = ""
    result: Result | None = None
    readings: tuple[Reading, ...] = ()
    thought: str = ""
    question: str = ""
    reason: str = ""
    usage: Usage = Usage()
    improvised: Improvised | None = None
    missing: tuple[Missing, ...] = ()
    saved: Saved = Saved()
    understood: SentenceReadings | None = None
    values: Values = field(default_factory=dict)
    repaired: Repaired | None = None

    @property
    def is_ready(self) -> bool:
        """Whether its plan may be carried out at once."""
        return self.standing is Standing.PLANNED

    @property
    def is_for_somebody(self) -> bool:
        """Whether it has a plan that needs confirmation."""
        return self.standing in {Standing.UNCONFIRMED, Standing.UNVERIFIED}

    @property
    def is_from_tools(self) -> bool:
        """Whether results of tools may have influenced its goal."""
        return self.understood is not None and self.understood.from_tools

    @property
    def open_doubts(self) -> tuple[str, ...]:
        """The doubts that no person has decided; a remembered reading was confirmed with its doubts."""
        return () if self.understood is not None and self.understood.is_remembered else self.doubts

    @property
    def is_doubted(self) -> bool:
        """Whether there are open doubts."""
        return bool(self.open_doubts)

    @property
    def doubts(self) -> tuple[str, ...]:
        """Reasons why the reading of the request may be wrong."""
        return tuple([doubt for each in self.readings for doubt in each.doubts])

    @property
    def plan(self) -> Plan | None:
        """The plan, if there is one."""
        return self.result.plan if self.result is not None else None

    @property
    def relation(self) -> str:
        """Its relation to the active request: independent (alone), additional (also), or a replacement (instead)."""
        found = {each.meaning.relation for each in self.readings if each.meaning is not None}
        return found.pop() if len(found) == 1 else "alone"

    def stopped(self, standing: Standing, reason: str = "") -> Proposal:
        """Return the proposal as one that is not carried out, for a `reason`."""
        return replace(self, standing=standing, question="", reason=reason or self.reason)

    def to_dict(self) -> dict[str, Any]:
        """Return the proposal as JSON-ready data."""
        return {
            "standing": self.standing.name,
            "request": self.request,
            "words": self.words,
            "plan": self.plan.to_dict() if self.plan is not None else None,
            "readings": [each.words for each in self.readings],
            "missing": [each.to_dict() for each in self.missing],
            "unmodelled": [part for each in self.readings for part in each.unmodelled],
            "unverified": {} if self.improvised is None else self.improvised.unverified,
            "doubts": list(self.doubts),
            "thought": self.thought,
            "question": self.question,
            "reason": self.reason,
            "usage": self.usage.to_dict(),
            "saved": self.saved.to_dict(),
            **({} if self.repaired is None else {"repaired": self.repaired.to_dict()}),
        }


@dataclass(frozen=True, slots=True)
class Achieved(ResultOfItsOwn):
    """The end of a request: its proposal, and the outcome of its run; no `outcome` without a run."""

    proposal: Proposal
    outcome: RunOutcome | None = None

    @property
    def succeeded(self) -> bool:
        """Whether the goal was observed."""
        return self.outcome is not None and self.outcome.succeeded

    def as_result(self) -> ActionResult:
        """Return the result of a handler that returns this: that of its run, or a failure where nothing was done."""
        if self.outcome is not None:
            return self.outcome.as_result()
        standing, reason = self.proposal.standing, self.proposal.reason
        return ActionResult.failed(f"nothing was done: {standing.value}; {reason}".removesuffix("; "))
