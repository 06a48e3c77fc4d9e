"""Whether a step is tried again, after how long, and by which handler."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Final

from executor.looking.judge import Judgement
from executor.record.status import StepStatus
from executor.steps.perform import Attempt
from executor.world.policy import TWICE, Policy
from executor.world.world import Skill
from planner.model import Action

HARMLESS: Final = frozenset({"idempotent", "read_only"})
"""Tags of actions that may be done twice."""


def is_harmless(action: Action) -> bool:
    """Return whether nothing is amiss where `action` is done twice."""
    return not action.tags.isdisjoint(HARMLESS)


def is_tried_again(action: Action, policy: Policy, got: Attempt, found: Judgement, attempt: int) -> bool:
    """Return whether another attempt follows the one with this number, which nobody is still at work on."""
    if found.status not in {StepStatus.FAILED, StepStatus.IN_DOUBT}:
        return False
    harmless = is_harmless(action)
    if got.crashed and (harmless or found.absent):
        return True
    says_that_it_failed = not (got.result.success or got.raised is not None or got.in_doubt)
    vouched = policy.retries is not None and says_that_it_failed
    if attempt > _retries(action, policy, got):
        return False
    return (harmless or found.absent or vouched) and _matches(policy, got)


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
        failure = got.raised or (TimeoutError() if got.in_doubt else None)
        return failure is None or isinstance(failure, policy.retry_on)
    return policy.retry_on(got.raised or got.result)


def pause(policy: Policy, attempts: int, rng: random.Random) -> float:
    """Return how many seconds to wait after so many attempts: exponential backoff, with jitter."""
    from tenacity import RetryCallState, wait_exponential  # noqa: PLC0415 - most steps succeed at once

    call = RetryCallState(None, None, (), {})  # type: ignore[arg-type]  # the arithmetic asks for the attempt only
    call.attempt_number = attempts
    waits = wait_exponential(multiplier=policy.backoff, max=policy.longest)
    return float(waits(call)) + rng.uniform(0, policy.jitter)


def best(skills: Sequence[Skill], tried: set[str], failed: Iterable[str]) -> Skill:
    """Return the handler to call: not `tried` for this step, and least often among those that `failed`."""
    names = list(failed)
    return min(skills, key=lambda skill: (skill.name in tried, names.count(skill.name)))
