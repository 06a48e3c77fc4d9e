"""Judge an attempt: read its result, observe the effects, and decide whether to try the step again.

Objects that a step created must have names that nothing else has. The policy of the step says whether another attempt
follows, after which pause, and by which handler.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from executor.events.events import (
    Disagreement,
    Event,
    FactsSeen,
    Note,
    ObjectsFound,
    Provenance,
    StepEnded,
    StepReturned,
    StepStatus,
)
from executor.events.remaining_budget import can_try_again
from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.loop.abandoned_calls import call_of, find_abandoned
from executor.loop.attempt import BUSY, Attempt
from executor.observe import step_verdict as verdict
from executor.observe.beliefs import Beliefs
from executor.observe.observe import Lookout, LookResult, adopt_look
from executor.observe.reports import NOTHING, Report, read_report
from executor.plans.created_objects import is_object, name_of
from executor.tools.containment import as_plain_text, contain_errors, log_failure, quote_value
from executor.tools.deps import MissingDeps
from executor.tools.json_data import data_of
from executor.tools.results import ActionResult
from executor.tools.step_policy import TWICE, ExecutionPolicy
from executor.tools.world import Skill, World
from planner.errors import InputError
from planner.lightweight import replace
from planner.model import Action, Atom
from planner.model.actions import positive_atoms
from planner.model.formulas import TRUE
from planner.semantics.simulation import bind_parameters

LONGEST: Final = 80
"""Longest name that a message quotes, in characters."""
MOST_DOUBLINGS: Final = 1000
"""Number of times that a pause doubles at most: a float holds no power of two past 1,023."""


def check_created_objects(state: RunState, record: StepRecord, action: Action, attempt: Attempt) -> Attempt:
    """Check the created objects of an attempt: keep the valid ones; it has failed if others are missing or invalid."""
    if not action.creates or attempt.wait is not None:
        return attempt
    given, wrong, valid = attempt.result.created, dict[str, str](), dict[str, str]()
    for name in [each.removeprefix("?") for each in action.creates]:
        value, placeholder = given.get(name), record.plan.created[name]
        if not is_object(value):
            wrong[name] = f"its result has no {name!r} with a name among the objects that it created"
        elif found := _find_twin(state, placeholder, value, valid) or _find_name_owner(state, record, name, value):
            wrong[name] = f"it says that it created {name_of(value)[:LONGEST]!r} as {name!r}, and that is {found}"
        else:
            valid[placeholder] = name_of(value)
    if not wrong:
        return attempt
    kept = {name: value for name, value in given.items() if name not in wrong}
    if not attempt.result.success:
        return replace(attempt, result=replace(attempt.result, created=kept))
    error = "; ".join(wrong.values())
    return replace(
        attempt, result=replace(attempt.result, success=False, error=error, created=kept), raised=InputError(error)
    )


def _find_twin(state: RunState, placeholder: str, value: Any, others: Mapping[str, str]) -> str:
    """Describe the clash of `value` with `others`, names by placeholder of what the same step creates; or return ""."""
    objects, types = state.objects, state.objects.declared_types(placeholder)
    same = [each for each, name in others.items() if name == name_of(value)]
    is_twice = any(objects.may_be_one(objects.declared_types(each), types) for each in same)
    return "two objects at once" if is_twice else ""


def _find_name_owner(state: RunState, record: StepRecord, parameter: str, value: Any) -> str:
    """Describe the object that already has the name of `value`, which a step creates; "" if the name is free.

    An object that turned up since the step began is the one that it created. The name of a created object is free again
    when a fact that its creation provided no longer holds. An object that can have no such type has its own names.
    """
    placeholder = record.plan.created[parameter]
    name = state.objects.term_of_created(placeholder, value)
    known = state.objects.plan_name(name)
    turned_up = state.found.get(known)
    is_same = turned_up is not None and (record.started or 0.0) <= turned_up
    if not is_same and any(each.name == known for each in state.source.all_objects):
        return "an object that was there before"
    other = state.objects.placeholder_of(name)
    if other is None or other == placeholder:
        return ""
    gone = any(state.beliefs.holds(fact) is False for fact in _find_birth_facts(state, other))
    return "" if gone else "what another step has created"


def _find_birth_facts(state: RunState, placeholder: str) -> Iterator[Atom]:
    """Yield the facts about `placeholder` that the step which created it provided."""
    own = state.domain
    for record in state.steps.values():
        creates = own.actions[record.step.action].created_arguments(record.step.arguments)
        if placeholder in creates and record.is_done:
            action = state.problem.domain.actions[record.step.action]
            provided = [
                fact.substitute(bind_parameters(action, record.step)) for fact in positive_atoms(action.provides)
            ]
            yield from (fact for fact in provided if placeholder in fact.args and fact.predicate in own.predicates)


def object_to_result(state: RunState, record: StepRecord, result: ActionResult) -> str:
    """Return the reason why the created objects in `result` do not fit a step; an empty text if they do."""
    return check_created_objects(state, record, state.domain.actions[record.step.action], Attempt(result)).result.error


_LOG: Final = logging.getLogger(__name__)
STILL_AT_WORK: Final = "its handler is still at work"
"""Ends the reason of a step in doubt whose handler was given up."""
HARMLESS: Final = frozenset({"idempotent", "read_only"})
"""Tags of actions that may be done twice."""


def is_harmless(action: Action) -> bool:
    """Return whether doing `action` twice is harmless."""
    return not action.tags.isdisjoint(HARMLESS)


def select_next_skills(
    skills: Sequence[Skill], record: StepRecord, policy: ExecutionPolicy, attempt: Attempt, found: verdict.Judgement
) -> list[Skill]:
    """Return the `skills` that may be called for the next attempt at a step.

    There are none if that could do an action twice that is not idempotent. The handler's own report of a failure rules
    that out if the policy states `retries`, but never for an irreversible action that has begun. Otherwise the policy
    limits the retries of each skill; a skill that was not called yet needs no retries.
    """
    if found.status not in {StepStatus.FAILED, StepStatus.IN_DOUBT}:
        return []
    action = skills[0].action
    may_repeat = "irreversible" not in action.tags or not attempt.begun
    vouched = bool(policy.retries) and _says_that_it_failed(attempt) and may_repeat
    if not (is_harmless(action) or found.absent or vouched):
        return []
    calls = Counter([*record.failed, record.skill])
    retries = _count_retries(action, policy, attempt) if is_to_be_retried(policy, attempt) else -1
    return [each for each in skills if attempt.crashed or not calls[each.name] or calls[each.name] <= retries]


def _says_that_it_failed(attempt: Attempt) -> bool:
    """Return whether the handler itself reported the failure, rather than raise or time out."""
    return not (attempt.result.success or attempt.raised is not None or attempt.in_doubt)


def _count_retries(action: Action, policy: ExecutionPolicy, attempt: Attempt) -> int:
    """Return the number of retries: by default 2 if harmless, else 1 unless the handler reported the failure."""
    if policy.retries is not None:
        return policy.retries
    if is_harmless(action):
        return TWICE
    return int(attempt.result.success or attempt.raised is not None or bool(attempt.in_doubt))


def is_to_be_retried(policy: ExecutionPolicy, attempt: Attempt) -> bool:
    """Return whether `retry_on` of the policy covers this failure."""
    if attempt.is_to_be_retried is not None:
        return attempt.is_to_be_retried
    if policy.retry_on is None:
        return True
    if isinstance(policy.retry_on, tuple):
        failure = TimeoutError() if attempt.raised is None and attempt.in_doubt else attempt.raised
        return failure is None or isinstance(failure, policy.retry_on)
    assert callable(policy.retry_on), "a single type has become a tuple"
    try:
        with contain_errors():
            return bool(policy.retry_on(attempt.result if attempt.raised is None else attempt.raised))
    except Exception as error:  # noqa: BLE001 - whatever it raises, it has not said yes
        log_failure(_LOG, "retry_on of %s failed", quote_value(policy), error=error)
        return False


def compute_pause(policy: ExecutionPolicy, attempts: int, rng: random.Random) -> float:
    """Return the pause after so many attempts, in seconds: exponential backoff with jitter."""
    doubled = policy.backoff * 2.0 ** min(attempts - 1, MOST_DOUBLINGS)
    return min(doubled, policy.longest) + rng.uniform(0, policy.jitter)


def choose_skill(
    skills: Sequence[Skill], policy: ExecutionPolicy, here: Sequence[str], ever: Mapping[str, int]
) -> Skill:
    """Choose one of `skills` by the policy; `here` are the failures at this step, `ever` counts those in the run.

    Raises `InputError` if the function of the policy returns none of their names.
    """
    if len(skills) == 1 or policy.skills == "in order":
        return skills[0]
    if policy.skills == "best first":
        return min(skills, key=lambda each: (here.count(each.name), ever[each.name]))
    names = [each.name for each in skills]
    name = policy.skills(tuple(names), {each: ever[each] for each in names})
    if not (isinstance(name, str) and as_plain_text(name) in names):
        raise InputError(
            f"the policy of {skills[0].action.name} chooses {quote_value(name)}", hint=f"one of {', '.join(names)}"
        )
    name = as_plain_text(name)
    return skills[names.index(name)]


UNPAID: Final = "the budgets do not suffice for another attempt"
UNTRIED: Final = "no other handler is called, as nobody knows that this one has done nothing"


@dataclass(frozen=True, slots=True)
class NextAttempt:
    """Another attempt follows, by one of `skills`; if none is made after all, the step ends as `otherwise`."""

    skills: Sequence[Skill]
    otherwise: StepEnded


@dataclass(slots=True, eq=False)
class Aftermath:
    """Judges the attempts at the steps of one run."""

    world: World
    state: RunState
    emit: Callable[[Event], None]
    lookout: Lookout
    aborted: asyncio.Event
    find_changed_beside: Callable[[StepRecord], Awaitable[Collection[Atom]]]
    """Finds the items that other steps may have changed since an irreversible step was begun."""

    async def end_attempt(
        self,
        record: StepRecord,
        attempt: Attempt,
        expected: verdict.Expected,
        policy: ExecutionPolicy,
        skills: Sequence[Skill] = (),
    ) -> NextAttempt | None:
        """Observe and judge an attempt; end the step, or return the next attempt by one of `skills`."""
        action = self.state.domain.actions[record.step.action]
        attempt = check_created_objects(self.state, record, action, attempt)
        if attempt.begun and attempt.raised is not None and "irreversible" in action.tags and not attempt.in_doubt:
            attempt = replace(attempt, in_doubt=attempt.result.error)
        result = data_of(attempt.result, attempt.seconds)
        if action.creates:
            self._keep_result(record, attempt, result)
        ways = [expected, *(verdict.expect_alternatives(self.state.beliefs, record.step) if action.outcomes else ())]
        visible = [fact for way in ways for fact in way.all if self.lookout.can_see(fact)]
        if visible:
            self._keep_result(record, attempt, result)
        over = [pattern for pattern in self._find_listed(record) if self.lookout.can_find(pattern)]
        looked = await self._look(visible, ways, over) if visible or over else LookResult()
        if "irreversible" in action.tags and any(way.items for way in ways):
            ways = await self._leave_out_changes_beside(record, attempt, ways)
            expected = ways[0]
        seen = [pattern for pattern in over if not looked.is_doubted(pattern)]
        attempt, report = self._read_report(record, attempt, seen)
        looked, reported = self._dispute_reports(record, ways, report, looked)
        found = self._judge(action, attempt, looked, reported, expected)
        if len(ways) > 1:
            judge_way = partial(self._judge, action, attempt, looked, reported)
            beliefs, doubt, odds = self.state.beliefs, attempt.in_doubt, verdict.list_odds(action)
            found = verdict.judge_outcomes(ways, judge_way, looked, beliefs, reported=reported, doubt=doubt, odds=odds)
        found = self._settle_judgement(record, attempt, action, _dispute_judgement(action, found, looked, ways))
        if found.status.is_done:
            outcome = "" if found.way is None else verdict.label_outcomes(action)[found.way]
            self.emit(StepEnded(record.id, found.status, found.reason, result, found.notes, outcome=outcome))
            return None
        others: Sequence[Skill] = ()
        is_lacking = isinstance(attempt.raised, MissingDeps)  # the run waits for them, and begins the step anew
        if is_lacking and found.status is StepStatus.FAILED:
            found = replace(found, status=StepStatus.PENDING)
        elif skills and not (is_lacking or self.aborted.is_set() or self._is_at_work(record, attempt)):
            others = select_next_skills(skills, record, policy, attempt, found)
            if others and not can_try_again(self.state, record):
                others, found = (), replace(found, reason=f"{found.reason}; {UNPAID}")
            left = [each for each in skills if each.name not in (*record.failed, record.skill)]
            if left and not others and UNPAID not in found.reason and found.status is StepStatus.FAILED:
                found = replace(found, reason=f"{found.reason}; {UNTRIED}")
        in_doubt = found.status is StepStatus.IN_DOUBT
        nothing_lost = found.absent if "irreversible" in action.tags else found.known or is_harmless(action)
        repeatable = not in_doubt and (nothing_lost or not attempt.begun)
        awaited = _list_awaited(expected, self.state.beliefs) if in_doubt else ()
        denied = _says_that_it_failed(attempt)
        end = StepEnded(record.id, found.status, found.reason, result, found.notes, repeatable, awaited, denied=denied)
        if others:
            self._keep_result(record, attempt, result)
            self._take_back(record, found.notes)
            return NextAttempt(others, end)
        self.emit(end)
        return None

    async def _leave_out_changes_beside(
        self, record: StepRecord, attempt: Attempt, ways: list[verdict.Expected]
    ) -> list[verdict.Expected]:
        """Return `ways` without the versions of items that other steps may have changed, unless success is reported."""
        if attempt.result.success and not attempt.in_doubt:
            return ways
        beside = await self.find_changed_beside(record)
        return [replace(way, items={**way.items, **dict.fromkeys({*way.items} & {*beside})}) for way in ways]

    def _take_back(self, record: StepRecord, seen: Sequence[Note]) -> None:
        """Believe what was believed before the start of a step that is tried again, and what was `seen` since."""
        if record.begun:
            self.emit(FactsSeen((*self.state.list_prior(record, seen), *seen), "taken back"))

    def _keep_result(self, record: StepRecord, attempt: Attempt, result: Mapping[str, Any]) -> None:
        """Emit the result of an attempt, unless it is kept already or there is none."""
        if record.result is None and not attempt.crashed:
            raised = "" if attempt.raised is None else result["error"]
            self.emit(StepReturned(record.id, result, attempt.in_doubt, raised))

    def _is_at_work(self, record: StepRecord, attempt: Attempt) -> bool:
        """Return whether an abandoned handler of the step is still at work, where the attempt was made."""
        if attempt.is_at_work is not None:
            return attempt.is_at_work
        return find_abandoned(call_of(self.state, record, self.world)) is not None

    def _judge(
        self,
        action: Action,
        attempt: Attempt,
        looked: LookResult,
        reported: Mapping[Atom, bool],
        expected: verdict.Expected,
    ) -> verdict.Judgement:
        return verdict.judge(
            action, attempt.result, expected, looked, self.state.beliefs, reported=reported, doubt=attempt.in_doubt
        )

    def _read_report(self, record: StepRecord, attempt: Attempt, seen: Collection[Atom]) -> tuple[Attempt, Report]:
        """Return the attempt with what its handler reports; an invalid report makes it a failure.

        Observers find all facts of the patterns in `seen`.
        """
        try:
            lists = self._find_listed(record)
            found = read_report(attempt.result, self.state.beliefs, self.state.objects, lists, seen)
        except InputError as error:
            return replace(
                attempt, result=replace(attempt.result, success=False, error=str(error)), raised=error
            ), NOTHING
        if found.found:
            self.emit(ObjectsFound(dict(found.found), str(record.step), found.entities))
            found = found.after_joining(self.state.beliefs)
        for fact, holds in found.strangers.items():
            reason = f"{record.step} reports {fact}: {self.state.beliefs.describe_stranger(fact)}"
            self.emit(Disagreement((fact,), reason, (Note(fact, holds, Provenance.REPORTED),)))
        return attempt, found

    def _dispute_reports(
        self, record: StepRecord, ways: Sequence[verdict.Expected], report: Report, looked: LookResult
    ) -> tuple[LookResult, Mapping[Atom, bool]]:
        """Return `looked` with what the `report` contradicts itself about as unknown, and the other reported facts."""
        beliefs = self.state.beliefs
        facts = verdict.find_contradictions(ways, report, looked, beliefs)
        if not facts:
            return looked, report.facts
        reason = f"{record.step} contradicts itself about {', '.join(map(str, facts))}"
        notes = [Note(fact, None, Provenance.UNKNOWN, reason) for fact in facts]
        more = LookResult(notes=notes, disagreements=[Disagreement(tuple(facts), reason)])
        adopt_look(more, beliefs, self.emit, "observed", leaving=ways[0].facts)
        return looked.with_more(more), {fact: holds for fact, holds in report.facts.items() if fact not in facts}

    def _find_listed(self, record: StepRecord) -> list[Atom]:
        """Return the patterns that the step lists."""
        action = self.state.problem.domain.actions[record.step.action]
        binding = dict(bind_parameters(action, record.step)) if action.lists else {}
        return [pattern.substitute(binding) for pattern in action.lists]

    async def _look(self, visible: list[Atom], ways: Sequence[verdict.Expected], over: Sequence[Atom]) -> LookResult:
        """Look until the first of `ways` is seen or the time is over; adopt all other observations.

        Observers that find out all facts of a pattern in `over` are asked, too.
        """
        beliefs, expected = self.state.beliefs, ways[0]
        self.lookout.note_act(visible)
        now, facts = asyncio.get_running_loop().time(), [fact for fact in expected.all if fact in visible]
        looked = await self.lookout.confirm(facts, lambda looked: expected.is_missed(looked, beliefs), beliefs, now)
        others = [fact for fact in visible if fact not in looked.seen] if len(ways) > 1 else []
        if others or over:
            looked = looked.with_more(await self.lookout.look(others, beliefs, over))
        leaving = {fact for way in ways for fact in (*way.facts, *way.items)}
        adopt_look(looked, beliefs, self.emit, "observed", leaving=leaving)
        return looked

    def _settle_judgement(
        self, record: StepRecord, attempt: Attempt, action: Action, found: verdict.Judgement
    ) -> verdict.Judgement:
        """Revise a judgement: in doubt while the handler is at work, failed instead of in doubt if harmless.

        An irreversible step that was begun is in doubt unless its handler says that it failed, or it is seen so.
        """
        if found.status.is_done:
            return found
        if self._is_at_work(record, attempt):
            is_said = found.reason.endswith(BUSY)
            reason = found.reason.removesuffix(BUSY) if is_said else f"{found.reason}, and "
            reason += STILL_AT_WORK
            return verdict.Judgement(StepStatus.IN_DOUBT, reason, found.notes)
        if "irreversible" in action.tags:
            is_sure = found.absent and all(each.requires == TRUE and not each.variables for each in action.effects)
            is_lost = attempt.begun and found.status is StepStatus.FAILED and not is_sure
            is_lost = is_lost and not _says_that_it_failed(attempt)
            return replace(found, status=StepStatus.IN_DOUBT, absent=False) if is_lost else found
        if found.status is StepStatus.IN_DOUBT and is_harmless(action):
            return replace(found, status=StepStatus.FAILED)
        return found


def _dispute_judgement(
    action: Action, found: verdict.Judgement, looked: LookResult, ways: Sequence[verdict.Expected]
) -> verdict.Judgement:
    """Put an irreversible step in doubt if observers contradict each other about its effects."""
    if "irreversible" not in action.tags:
        return found
    changed = {fact for way in ways for fact in (*way.changed, *way.items)}
    reasons = [each.source for each in looked.notes if each.holds is None and each.fact in changed]
    return replace(found, status=StepStatus.IN_DOUBT, reason=reasons[0]) if reasons else found


def _list_awaited(expected: verdict.Expected, beliefs: Beliefs) -> tuple[Note, ...]:
    """Return notes on the facts that hold if a step in doubt happened; nothing is listed without an answer."""
    facts = {**expected.facts, **dict.fromkeys(expected.stale, False)}
    return tuple(
        [Note(fact, holds, Provenance.ASSUMED) for fact, holds in facts.items() if not beliefs.is_listing(fact)]
    )
