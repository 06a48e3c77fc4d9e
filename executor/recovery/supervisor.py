"""Decide what a failure needs: nothing, another plan, a question, or the end of the run.

`Limits` compares what a run took with what its plan allows: cost, seconds, and tokens.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from executor.events import events
from executor.events.answers import NO, YES, interpret_answer
from executor.events.failures import NOT_REPEATED
from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.loop.dispatch import SINGLE
from executor.loop.step import Stepper
from executor.observe.goal import end_run
from executor.plan_check.check_means import TOKENS
from executor.plans.suppositions import parse_suppositions
from executor.recovery.ladder import Ladder
from planner.model import Number
from planner.plan import exact_sum


@dataclass(slots=True, eq=False)
class Limits:
    """Compares what the steps of one run take with the constraints of its plan.

    An attempt whose result reports no tokens takes as many as its step or its action declares.
    """

    state: RunState
    _started: float = field(init=False, default_factory=time.monotonic)
    _before: float = field(init=False)
    """Seconds that steps took before this process."""
    _is_limited: bool = field(init=False)

    def __post_init__(self) -> None:
        self._before = self.state.spent.duration
        allowed = self.state.plan.metadata.constraints
        self._is_limited = any(each is not None for each in (allowed.cost, allowed.duration, allowed.tokens))

    def find_passed_questions(self) -> list[events.Asked]:
        """Return what is to be asked about limits that are passed, and that nobody has lifted."""
        return list(self._find_passed()) if self._is_limited and not self.state.is_undoing else []

    def _find_passed(self) -> Iterator[events.Asked]:
        allowed, spent = self.state.plan.metadata.constraints, self.state.spent
        for name, value, most, unit in (
            ("cost", spent.cost, allowed.cost, ""),
            ("duration", self._count_seconds(), allowed.duration, " s"),
            ("tokens", self._count_tokens() if allowed.tokens is not None else 0, allowed.tokens, " tokens"),
        ):
            if most is not None and value > most:
                does = "cost" if name == "cost" else "taken"
                text = f"the run has {does} {value:,g}{unit}, and no more than {most:,g}{unit} is allowed"
                asked = events.Asked(f"limit:{name}", "", f"{text}. May it go on?", (YES, NO), (text,))
                if interpret_answer(asked, self.state.answers.get(asked.question)) != YES:
                    yield asked

    def _count_tokens(self) -> Number:
        """Return the tokens that attempts reported, and those that are declared of the others."""
        simulation, steps = self.state.beliefs.simulation, self.state.steps
        tokens: list[Number] = [self.state.spent.tokens]
        for id_, times in self.state.spent.silent.items():
            record = steps[id_]
            uses = simulation.uses(record.step).get(TOKENS, 0) if record.plan.tokens is None else record.plan.tokens
            tokens.append(exact_sum([uses] * times))
        return exact_sum(tokens)

    def _count_seconds(self) -> float:
        """Return how long steps were at work; where several are at once, no longer than the run is driven."""
        spent = self.state.spent.duration
        if self.state.model in SINGLE:
            return spent
        return min(spent, self._before + time.monotonic() - self._started)


MOST_TRIED: Final = 10
"""Lines of a reason about what recovery tried; all of it is in `RunOutcome.recovery`."""


@dataclass(slots=True, eq=False)
class Supervisor:
    """Looks after the failures of one run, each of them once."""

    state: RunState
    stepper: Stepper
    ladder: Ladder
    limits: Limits = field(init=False)
    _passed: set[str] = field(init=False, default_factory=set)
    _seen: set[str] = field(init=False, default_factory=set)
    """The steps that were looked after."""
    _postponed: set[str] = field(init=False, default_factory=set)
    """The steps that failed, and are looked after when no step is at work."""
    _asked: list[str] = field(init=False, default_factory=list)
    """Why another plan was asked for last."""

    def __post_init__(self) -> None:
        self.limits = Limits(self.state)

    def take_up(self) -> None:
        """Note what was looked after before this process."""
        self._seen |= self.state.mended

    @property
    def passed(self) -> set[str]:
        """The steps of the plan that failed, and that the run goes on without."""
        return self._passed - self.state.mended

    @property
    def is_called(self) -> bool:
        """Whether something is amiss that the plan may have to be changed for."""
        return self._is_asked or bool(self._find_new()) or bool(self._find_belied())

    @property
    def is_needed(self) -> bool:
        """The same, with what was postponed until no step is at work."""
        return self._is_asked or bool(self._find_unattended()) or bool(self._find_belied())

    @property
    def _is_asked(self) -> bool:
        """Whether a step asks for another plan, or something else is wanted than what the plan is for."""
        return bool(self.stepper.replanning_requests) or self.state.wants_plan

    def _find_belied(self) -> list[str]:
        """Return what steps that are left suppose and is known to be otherwise."""
        if not self.state.is_supposing:
            return []
        plans = [record.plan.supposes for record in self.state.pending() if record.plan.supposes]
        facts = [fact for texts in plans for fact in self.state.beliefs.find_belied(parse_suppositions(texts))]
        return [f"{fact} is otherwise than the plan supposes" for fact in dict.fromkeys(facts)]

    def _find_unattended(self) -> list[StepRecord]:
        """Return the steps in trouble that nobody has attended to; one in doubt is attended to when it is settled."""
        return [
            record
            for record in self.state.with_status(*events.TROUBLE)
            if record.status is events.StepStatus.IN_DOUBT or record.id not in self._seen
        ]

    def _find_new(self) -> list[StepRecord]:
        return [record for record in self._find_unattended() if record.id not in self._postponed]

    async def patch_meanwhile(self) -> bool:
        """Patch around steps that failed while others go on; return whether that could be done.

        What takes more than a patch waits until no step is at work, and meanwhile blocks what depends on it.
        """
        fresh = self._find_new()
        policies = {self.stepper.policy_of(record).on_error for record in fresh}
        if not fresh or "abort" in policies:
            return False
        failed = [record for record in fresh if record.status is not events.StepStatus.IN_DOUBT]
        if failed == fresh and policies == {"continue"}:
            self._pass_over(fresh)
            return True
        if failed and policies == {"patch"} and self.state.has_aim:
            self._put_back()
            if await self.ladder.climb(failed, meanwhile=True):
                self._seen |= {record.id for record in failed}
                return True
        self._postponed |= {record.id for record in fresh}
        return False

    async def recover(self) -> events.RunEnded | None:
        """Settle what is in doubt, and climb the ladder; return the end of the run where nothing helps."""
        trouble = self._find_unattended()
        self._asked = list(dict.fromkeys([*self.stepper.replanning_requests, *self._find_belied()]))
        last = self.state.finished[-1] if self.state.finished else None
        asker = "" if self.state.wants_plan else last if self.stepper.replanning_requests else None
        self.stepper.replanning_requests.clear()
        self._seen |= {record.id for record in trouble}
        for record in trouble:
            if record.status is events.StepStatus.IN_DOUBT and not await self.ladder.questions.settle(record):
                self._seen.discard(record.id)
                return end_run(self.state, events.RunStatus.IN_DOUBT, f"{record.step}: {record.reason}")
        again = {record.id for record in trouble if record.status is events.StepStatus.PENDING}
        self._seen -= again
        self._postponed -= again
        left = [record for record in trouble if record.id not in again]
        return None if trouble and not left else await self._climb(left, asker)

    async def _climb(self, trouble: Sequence[StepRecord], asker: str | None) -> events.RunEnded | None:
        policies = [self.stepper.policy_of(record).on_error for record in trouble]
        if "abort" in policies:
            return end_run(self.state, events.RunStatus.FAILED, f"{trouble[0].step}: {trouble[0].reason}")
        if trouble and all(each == "continue" for each in policies):
            self._pass_over(trouble)
            return None
        if trouble and not self.state.has_aim:
            return None
        if self.ladder.reopen_doubt():
            return None
        self._put_back()
        if await self.ladder.climb(trouble, is_asked_by=asker):
            return None
        return await self._give_up(trouble)

    def _put_back(self) -> None:
        """Put steps back among those that have not begun that wait for an answer whether, or how, they may begin.

        Another plan may leave them out, or have them begin later. What was answered stays answered.
        """
        for record in self.state.with_status(events.StepStatus.WAITING):
            if "question" in (record.wait or {}):
                self.stepper.emit(events.StepEnded(record.id, events.StepStatus.PENDING, repeatable=False))

    def _pass_over(self, failed: Sequence[StepRecord]) -> None:
        """Go on without steps that failed."""
        self._passed |= {record.id for record in failed}
        self._seen |= self._passed

    async def recover_at_end(self) -> events.RunEnded | None:
        """Recover from the end of a plan that did not reach the goal; return the end of the run where that fails.

        After a failure that its policy passes over, nothing new is planned: lost soft goals are given up.
        """
        failed = self.state.with_status(*events.TROUBLE)
        goes_on = any(self.stepper.policy_of(each).on_error == "continue" for each in failed)
        if goes_on and self._drop_lost_wishes():
            return None
        if goes_on or not self.state.has_aim:
            return await self._give_up(failed)
        return None if self.ladder.reopen_doubt() or await self.ladder.climb([]) else await self._give_up([])

    def _drop_lost_wishes(self) -> bool:
        """Give up the soft goals that do not hold, if the hard goal does; return whether there were any."""
        holds = self.state.beliefs.is_true
        if self.state.unmet or not holds(self.state.problem.goal.hard):
            return False
        lost = [wish for wish in self.state.soft if not holds(wish.condition)]
        for wish in lost:
            self.ladder.emit(events.GoalDropped(str(wish.condition), float(wish.utility)))
        return bool(lost)

    async def ask_about_limits(self) -> events.RunEnded | None:
        """Ask whether the run may go on that has passed its limits; return its end where it may not, or nobody says."""
        for question in self.limits.find_passed_questions():
            asking = self.ladder.asking
            answer = None if asking.ask is None else await asking.answer(question)
            if answer is None or interpret_answer(question, answer) != YES:
                is_open = question.question in self.state.questions
                return end_run(
                    self.state, events.RunStatus.WAITING if is_open else events.RunStatus.FAILED, question.known[0]
                )
        return None

    async def _give_up(self, trouble: Sequence[StepRecord]) -> events.RunEnded:
        if self.state.is_undoing:
            return await self.end_undoing(trouble)
        state = self.state
        bars = [each for each in self.ladder.reasons if each.endswith(NOT_REPEATED)]
        causes = [*bars, *(state.describe_causes(trouble) or self._asked or [state.describe_lacking()])]
        if state.open_questions:
            return end_run(state, events.RunStatus.WAITING, _compose_reason(causes, self.ladder.reasons))
        await self.ladder.prove_impossible()
        status = events.RunStatus.FAILED if state.missing is None else events.RunStatus.IMPOSSIBLE
        return end_run(state, status, _compose_reason(causes, self.ladder.reasons))

    async def end_undoing(self, trouble: Sequence[StepRecord] = ()) -> events.RunEnded:
        """Return the end of a run that was given up: what it did is undone, as far as that was seen."""
        state, left = self.state, await self.ladder.compensation.finish_undo()
        tried = [each.reason for each in state.rungs if not each.found and each.reason]
        bars = [each for each in dict.fromkeys(tried) if each.endswith(NOT_REPEATED)]
        causes = [*bars, *(state.given_up or [state.describe_lacking()])]
        reason = _compose_reason(causes, [*tried, *state.describe_causes(trouble), *left])
        if left and state.open_questions:
            return end_run(state, events.RunStatus.WAITING, reason)
        done = events.RunStatus.FAILED if left else events.RunStatus.COMPENSATED
        return end_run(state, done if state.missing is None else events.RunStatus.IMPOSSIBLE, reason)


def _compose_reason(causes: Sequence[str], tried: Sequence[str]) -> str:
    """Return a reason whose first line has the causes; what recovery tried comes after it, a line each."""
    others = [each for each in dict.fromkeys(tried) if each not in causes]
    return "\n".join(["; ".join(causes), *others[-MOST_TRIED:]])
