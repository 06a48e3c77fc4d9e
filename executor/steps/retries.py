"""Whether a step is tried again, after how long, and by which handler."""

from __future__ import annotations

import logging
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from executor.looking.judge import Judgement
from executor.record.status import StepStatus
from executor.record.steps import StepRecord
from executor.steps.perform import Attempt
from executor.world.containment import containment, log_failure, shown, text_from
from executor.world.policy import TWICE, Policy
from executor.world.world import Skill
from planner.errors import InputError
from planner.model import Action

_LOG: Final = logging.getLogger(__name__)
HARMLESS: Final = frozenset({"idempotent", "read_only"})
"""Tags of actions that may be done twice."""


def is_harmless(action: Action) -> bool:
    """Return whether nothing is amiss where `action` is done twice."""
    return not action.tags.isdisjoint(HARMLESS)


def callable_next(
    skills: Sequence[Skill], record: StepRecord, policy: Policy, got: Attempt, found: Judgement
) -> list[Skill]:
    """Return those of `skills` that may be called after the latest attempt at a step, which nobody is at work on.

    None may where that could do twice what is not idempotent: what a handler says of itself is enough where the policy
    names `retries`, but never for an irreversible action that has begun. Else each is called as often as retries are
    allowed; one that was not called yet may be also where no retries are left.
    """
    if found.status not in {StepStatus.FAILED, StepStatus.IN_DOUBT}:
        return []
    action = skills[0].action
    says_that_it_failed = not (got.result.success or got.raised is not None or got.in_doubt)
    may_repeat = "irreversible" not in action.tags or not got.begun
    vouched = bool(policy.retries) and says_that_it_failed and may_repeat
    if not (is_harmless(action) or found.absent or vouched):
        return []
    calls = Counter([*record.failed, record.skill])
    retries = _retries(action, policy, got) if _matches(policy, got) else -1
    return [each for each in skills if got.crashed or not calls[each.name] or calls[each.name] <= retries]


def _retries(action: Action, policy: Policy, got: Attempt) -> int:
    """Return how often a step is tried again; once, if it is not harmless and did not say itself that it failed."""
    if policy.retries is not None:
        return policy.retries
    if is_harmless(action):
        return TWICE
    return int(got.result.success or got.raised is not None or bool(got.in_doubt))


def _matches(policy: Policy, got: Attempt) -> bool:
    """Return whether the policy says that a failure like this is tried again."""
    if policy.retry_on is None:
        return True
    if isinstance(policy.retry_on, tuple):
        failure = TimeoutError() if got.raised is None and got.in_doubt else got.raised
        return failure is None or isinstance(failure, policy.retry_on)
    assert callable(policy.retry_on), "a single type has become a tuple"  # noqa: S101 - `Policy` sees to it
    try:
        with containment():
            return bool(policy.retry_on(got.result if got.raised is None else got.raised))
    except Exception as error:  # noqa: BLE001 - whatever it raises, it has not said yes
        log_failure(_LOG, "retry_on of %s failed", shown(policy), error=error)
        return False


def pause(policy: Policy, attempts: int, rng: random.Random) -> float:
    """Return how many seconds to wait after so many attempts: exponential backoff, with jitter."""
    from tenacity import RetryCallState, wait_exponential  # noqa: PLC0415 - most steps succeed at once

    call = RetryCallState(None, None, (), {})  # type: ignore[arg-type]  # the arithmetic asks for the attempt only
    call.attempt_number = attempts
    waits = wait_exponential(multiplier=policy.backoff, max=policy.longest)
    return float(waits(call)) + rng.uniform(0, policy.jitter)


def chosen(skills: Sequence[Skill], policy: Policy, here: Sequence[str], ever: Mapping[str, int]) -> Skill:
    """Return which of `skills` is called: those in `here` have failed at this step, all as often `ever` as is said.

    Raises `InputError` where a function of the policy chooses none of them.
    """
    if len(skills) == 1 or policy.skills == "in order":
        return skills[0]
    if policy.skills == "best first":
        return min(skills, key=lambda each: (here.count(each.name), ever[each.name]))
    names = [each.name for each in skills]
    name = policy.skills(tuple(names), {each: ever[each] for each in names})
    if not (isinstance(name, str) and text_from(name) in names):
        raise InputError(
            f"the policy of {skills[0].action.name} chooses {shown(name)}", hint=f"one of {', '.join(names)}"
        )
    name = text_from(name)
    return skills[names.index(name)]
