"""Decide how a run reacts to failures: it goes on, changes its plan, asks a question, or ends.

`Limits` compares cost, seconds and tokens of a run with the limits in its plan.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from executor.background_searches import read_timer
from executor.events import events
from executor.events.answers import DOUBT, NO, YES, interpret_answer, name_doubt
from executor.events.failures import NOT_REPEATED
from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.loop.aftermath import is_harmless
from executor.loop.detours import MODELS
from executor.loop.dispatch import SINGLE
from executor.loop.step import Stepper
from executor.observe.goal import end_run
from executor.plan_check.estimate import TOKENS
from executor.plans.execution_models import OFFERED
from executor.plans.suppositions import parse_suppositions
from executor.recovery.ladder import Ladder
from planner.model import Number
from planner.plan import exact_sum


@dataclass(slots=True, eq=False)
class Limits:
    """Compares cost, seconds and tokens of one run with the limits in its plan.

    An attempt that reports no tokens counts with the declared tokens of its step or action.
    """

    state: RunState
    _started: float = field(init=False, default_factory=read_timer)
    _before: float = field(init=False)
    """Seconds at work before this process."""
    _is_limited: bool = field(init=False)

    def __post_init__(self) -> None:
        self._before = self.state.spent.duration
        allowed = self.state.plan.metadata.constraints
        self._is_limited = any(each is not None for each in (allowed.cost, allowed.duration, allowed.tokens))

    def find_passed_questions(self) -> list[events.Asked]:
        """Return the questions for limits that are exceeded and that nobody has lifted."""
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
        """Sum the reported tokens of attempts, and the declared tokens of attempts without a report."""
        simulation, steps = self.state.beliefs.simulation, self.state.steps
        tokens: list[Number] = [self.state.spent.tokens]
        for id_, times in self.state.spent.silent.items():
            record = steps[id_]
            uses = simulation.uses(record.step).get(TOKENS, 0) if record.plan.tokens is None else record.plan.tokens
            tokens.append(exact_sum([uses] * times))
        return exact_sum(tokens)

    def _count_seconds(self) -> float:
        """Return the seconds that steps were at work; for concurrent steps, at most the time of driving the run."""
        spent = self.state.spent.duration
        if self.state.model in SINGLE:
            return spent
        return min(spent, self._before + read_timer() - self._started)


MOST_TRIED: Final = 10
"""Most lines about attempts of recovery in a reason; `RunOutcome.recovery` has all."""


@dataclass(slots=True, eq=False)
class Supervisor:
    """Handles the failures of one run, each of them once."""

    state: RunState
    stepper: Stepper
    ladder: Ladder
    limits: Limits = field(init=False)
    _passed: set[str] = field(init=False, default_factory=set)
    _seen: set[str] = field(init=False, default_factory=set)
    """Steps whose failures were handled."""
    _postponed: set[str] = field(init=False, default_factory=set)
    """Failed steps to be handled when no step is at work."""
    _doubts: set[str] = field(init=False, default_factory=set)
    """Steps in doubt about which somebody was asked here, without an answer yet."""
    _asked: list[str] = field(init=False, default_factory=list)
    """Reasons of the latest requests for replanning."""

    def __post_init__(self) -> None:
        self.limits = Limits(self.state)

    def take_up(self) -> None:
        """Take over the failures that were handled before this process."""
        self._seen |= self.state.mended

    @property
    def passed(self) -> set[str]:
        """Failed steps of the plan that the run goes on without."""
        return self._passed - self.state.mended

    @property
    def is_called(self) -> bool:
        """Whether a new failure, a request or a wrong supposition may need a change of the plan."""
        return self._is_asked or bool(self._find_new()) or bool(self._find_belied())

    @property
    def is_needed(self) -> bool:
        """Like `is_called`, with failures that were postponed until no step is at work."""
        return self._is_asked or bool(self._find_unattended()) or bool(self._find_belied())

    @property
    def _is_asked(self) -> bool:
        """Whether a step requests replanning, or the goal has changed."""
        return bool(self.stepper.replanning_requests) or self.state.wants_plan

    def _find_belied(self) -> list[str]:
        """Describe the suppositions of pending steps that are known to be wrong."""
        if not self.state.is_supposing:
            return []
        plans = [record.plan.supposes for record in self.state.pending() if record.plan.supposes]
        facts = [fact for texts in plans for fact in self.state.beliefs.find_belied(parse_suppositions(texts))]
        return [f"{fact} is otherwise than the plan supposes" for fact in dict.fromkeys(facts)]

    def _find_unattended(self) -> list[StepRecord]:
        """Return the steps in trouble that were not handled; a step in doubt is handled when it is settled."""
        return [
            record
            for record in self.state.steps.list_troubled()
            if (record.status is events.StepStatus.IN_DOUBT or record.id not in self._seen)
            and record not in self.list_open_doubts()
        ]

    def list_open_doubts(self) -> list[StepRecord]:
        """Return the steps in doubt about which somebody is asked, while steps for other goals go on."""
        if not self._doubts:
            return []
        asked = {each.step for name, each in self.state.open_questions.items() if name.startswith(DOUBT)}
        return [
            record
            for record in self.state.with_status(events.StepStatus.IN_DOUBT)
            if record.id in self._doubts and record.id in asked
        ]

    def end_in_doubt(self) -> events.RunEnded | None:
        """Return the end of a run with a step in doubt, about which somebody is asked; None for any other run."""
        doubts = self.list_open_doubts()
        return self._end_by_doubt(doubts[0]) if doubts else None

    def _end_by_doubt(self, record: StepRecord) -> events.RunEnded:
        return end_run(self.state, events.RunStatus.IN_DOUBT, f"{record.step}: {record.reason}")

    def _may_go_on_beside(self, record: StepRecord) -> bool:
        """Return whether a step in doubt leaves pending steps that serve other goals."""
        others = (each.id for each in self.state.pending())
        return self.state.model in MODELS and any(self.state.serves_other_goals(id_, record.id) for id_ in others)

    def _find_new(self) -> list[StepRecord]:
        return [record for record in self._find_unattended() if record.id not in self._postponed]

    async def patch_meanwhile(self, at_work: Collection[str]) -> bool:
        """Patch around failed steps while others are `at_work`; return whether that succeeded.

        A failure that needs more than a patch waits until no step is at work, and blocks its dependents meanwhile.
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
            self.put_back(at_work)
            if await self.ladder.climb(failed, meanwhile=True):
                self._seen |= {record.id for record in failed}
                return True
        self._postponed |= {record.id for record in fresh}
        return False

    async def recover(self) -> events.RunEnded | None:
        """Settle steps in doubt, and climb the ladder; return the end of the run if nothing helps."""
        trouble = self._find_unattended()
        self._asked = list(dict.fromkeys([*self.stepper.replanning_requests, *self._find_belied()]))
        last = self.state.finished[-1] if self.state.finished else None
        asker = "" if self.state.wants_plan else (last or "") if self.stepper.replanning_requests else None
        self.stepper.replanning_requests.clear()
        self._seen |= {record.id for record in trouble}
        for record in trouble:
            if record.status is events.StepStatus.IN_DOUBT and not await self._settle(record):
                self._seen.discard(record.id)
                self._postponed.discard(record.id)
                if not self._may_go_on_beside(record):
                    return self._end_by_doubt(record)
                self._doubts.add(record.id)
        again = {record.id for record in trouble if record.is_pending}
        self._seen -= again
        self._postponed -= again
        open_ = {record.id for record in self.list_open_doubts()}
        left = [record for record in trouble if record.id not in again | open_]
        return None if trouble and not left else await self._climb(left, asker)

    async def _settle(self, record: StepRecord) -> bool:
        """Settle a step in doubt by a look, or else by an answer; return whether it is settled."""
        clearance, retries = self.stepper.clearance, self.stepper.policy_of(record).retries
        may_retry = record.result is None or record.attempts <= (1 if retries is None else retries)
        if name_doubt(record) not in self.state.answers and await clearance.settle(record, may_retry=may_retry):
            return True
        return await self.ladder.questions.settle(record, clearance.describe_candidates(record))

    async def _climb(self, trouble: Sequence[StepRecord], asker: str | None) -> events.RunEnded | None:
        policies = [self.stepper.policy_of(record).on_error for record in trouble]
        for record, policy in zip(trouble, policies, strict=True):
            if policy == "abort" and not record.is_done:  # a doubt may have been settled: it happened
                return end_run(self.state, events.RunStatus.FAILED, f"{record.step}: {record.reason}")
        if trouble and all(each == "continue" for each in policies):
            self._pass_over(trouble)
            return None
        if trouble and not self.state.has_aim:
            return None
        if self.ladder.reopen_doubt():
            return None
        if not (self.state.has_aim or self.state.dropped or self.state.is_undoing):  # any other plan would be as good
            return await self._give_up([]) if self._find_belied() else None
        self.put_back()
        if await self.ladder.climb(trouble, is_asked_by=asker):
            return None
        return await self._give_up(trouble)

    def put_back(self, at_work: Collection[str] = ()) -> None:
        """Make steps pending again that wait for an approval or for parameters.

        Another plan may leave them out, or begin them later. Answers are kept. A step that is `at_work` has its answer
        and is about to begin: it keeps its flight.
        """
        for record in self.state.with_status(events.StepStatus.WAITING):
            if "question" in (record.wait or {}) and record.id not in at_work:
                self.stepper.emit(events.StepEnded(record.id, events.StepStatus.PENDING, repeatable=False))

    def _pass_over(self, failed: Sequence[StepRecord]) -> None:
        """Go on without the steps `failed`."""
        self._passed |= {record.id for record in failed}
        self._seen |= self._passed

    async def recover_at_end(self) -> events.RunEnded | None:
        """Recover from a plan that ended without reaching the goal; return the end of the run if that fails.

        After a failure with the policy "continue", there is no replanning: unreached soft goals are dropped.
        """
        failed = self.state.steps.list_troubled()
        goes_on = any(self.stepper.policy_of(each).on_error == "continue" for each in failed)
        if goes_on and self._drop_lost_wishes():
            return None
        if goes_on or not self.state.has_aim:
            return await self._give_up(failed)
        return None if self.ladder.reopen_doubt() or await self.ladder.climb([]) else await self._give_up([])

    def _drop_lost_wishes(self) -> bool:
        """Drop the soft goals that do not hold, if the hard goal does; return whether there were any."""
        holds = self.state.beliefs.is_true
        if self.state.unmet or not holds(self.state.problem.goal.hard):
            return False
        lost = [wish for wish in self.state.soft if not holds(wish.condition)]
        for wish in lost:
            self.ladder.emit(events.GoalDropped(str(wish.condition), float(wish.utility)))
        return bool(lost)

    async def ask_about_limits(self) -> events.RunEnded | None:
        """Ask whether a run may go on beyond its limits; return its end if it may not, or while there is no answer."""
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
        over = state.mended | self._passed
        trouble = trouble or [each for each in state.steps.list_troubled() if each.id not in over]
        failed = [each for each in trouble if not each.is_done]  # a doubt may have been settled: it happened
        causes = [*(state.describe_causes(failed) or self._asked or self._describe_lacking()), *bars]
        leftovers = [*self._find_leftovers(trouble)]
        if state.undecided_questions:
            status = events.RunStatus.IN_DOUBT if self.list_open_doubts() else events.RunStatus.WAITING
            asked = [f"open question: {each.text}" for each in state.undecided_questions]
            return end_run(state, status, _compose_reason(causes, [*self.ladder.reasons, *leftovers, *asked]))
        await self.ladder.prove_impossible()
        status = events.RunStatus.FAILED if state.missing is None else events.RunStatus.IMPOSSIBLE
        once = self._find_tried_once(trouble) if status is events.RunStatus.FAILED else ()
        reason = _compose_reason(causes, [*self.ladder.reasons, *once, *leftovers])
        if state.model == OFFERED and status is events.RunStatus.FAILED:
            self.ladder.replanning.drop("no plan is known")  # what comes next is up to the driver
            return end_run(state, events.RunStatus.WAITING, reason)
        return end_run(state, status, reason)

    def _describe_lacking(self) -> list[str]:
        """Describe what the first step that is left lacks, or else the goal."""
        left = next(iter(self.state.pending()), None)
        why = "" if left is None else self.stepper.conditions.find_objection(left)
        return [f"{left.step}: {why}" if left is not None and why else self.state.describe_lacking()]

    def _find_tried_once(self, trouble: Sequence[StepRecord]) -> Iterator[str]:
        """Yield for each failed step that was begun once what kept the run from trying it again."""
        actions = self.state.problem.domain.actions
        for record in trouble:
            action = actions.get(record.step.action)
            if action is None or record.attempts != 1 or record.status is not events.StepStatus.FAILED:
                continue
            may_be_repeated = is_harmless(action) or bool(self.stepper.policy_of(record).retries)
            if not may_be_repeated and "irreversible" not in action.tags:
                yield f"{record.step} was not tried again: {action.name} is not tagged idempotent, and has no retries"

    def _find_leftovers(self, trouble: Sequence[StepRecord]) -> Iterator[str]:
        """Yield for each step that did not create what it was to create what has turned up since it was begun."""
        domain, objects = self.state.domain, self.state.objects
        for record in trouble:
            action = domain.actions.get(record.step.action)
            if action is None or record.started is None:
                continue
            types = {*action.creates.values()}
            since = [name for name, at in self.state.found.items() if at is not None and at >= record.started]
            names = [name for name in since if not types.isdisjoint(objects.types_of(name))]
            if names:
                yield f"{record.step} may have left {', '.join(names)} behind: found after it was begun"

    async def end_undoing(self, trouble: Sequence[StepRecord] = ()) -> events.RunEnded:
        """Return the end of a run that was given up, by what was seen to be undone."""
        state, left = self.state, await self.ladder.compensation.finish_undo()
        tried = [each.reason for each in state.rungs if not each.found and each.reason]
        bars = [each for each in dict.fromkeys(tried) if each.endswith(NOT_REPEATED)]
        causes = [*(state.given_up or [state.describe_lacking()]), *bars]
        reason = _compose_reason(causes, [*tried, *state.describe_causes(trouble), *left])
        if left and state.undecided_questions:
            return end_run(state, events.RunStatus.WAITING, reason)
        done = events.RunStatus.FAILED if left else events.RunStatus.COMPENSATED
        return end_run(state, done if state.missing is None else events.RunStatus.IMPOSSIBLE, reason)


def _compose_reason(causes: Sequence[str], tried: Sequence[str]) -> str:
    """Compose a reason: the causes in the first line, then a line for each attempt of recovery."""
    others = [each for each in dict.fromkeys(tried) if each not in causes]
    return "\n".join(["; ".join(causes), *others[-MOST_TRIED:]])
