"""What is learned of random runs in which things go wrong, against what became of their steps."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from benchmarks.faults.fault_run import RUN, carry_out
from benchmarks.faults.fault_setting import CRASHES, draw_setting
from executor import Experience, Journal, learn
from executor.events.events import StepStatus
from executor.loop.attempt import NEVER_BEGUN

DONE = {StepStatus.SUCCEEDED, StepStatus.COMPENSATED}


@pytest.mark.parametrize("seed", range(0, 400, 9))
def test_every_attempt_counts_once(seed, tmp_path):
    """Runs that no process died in: attempts are those of the steps, and those that worked the ones that were done."""
    drawn = draw_setting(seed, campaign=3)
    if drawn.kind in CRASHES:
        pytest.skip("what is lost with a process counts for nothing")
    carried = carry_out(replace(drawn, has_journal=True), tmp_path)
    if carried.refusal and not carried.simulated.calls:
        return  # a plan that cannot be carried out is refused before its first step: there is nothing to count
    assert carried.outcome is not None, carried.error
    attempts, worked = Counter(), Counter()
    for record in carried.outcome.steps:
        if (record.result or {}).get("error") not in NEVER_BEGUN:
            attempts[record.step.action] += record.attempts
            worked[record.step.action] += bool(record.attempts) and (
                record.status in DONE or record.status is StepStatus.UNVERIFIED
            )
    with Journal(tmp_path / f"{seed}.db") as journal:
        assert [each.run for each in journal.runs()] == [RUN]
        experience = learn(journal)
        assert Experience().read(journal).read(journal).tallies() == experience.tallies()
    for action in carried.simulated.problem.domain.actions:
        tally = experience.of(action)
        begun = sum(record.status in {StepStatus.WAITING, StepStatus.RUNNING} for record in _of(carried, action))
        assert tally.count + tally.open + begun >= attempts[action] - _unsure(carried, action)
        assert tally.count + tally.open <= attempts[action]
        assert tally.worked >= worked[action] - _unsure(carried, action)


def _of(carried, action):
    return [each for each in carried.outcome.steps if each.step.action == action]


def _unsure(carried, action):
    """Return how many steps of `action` were never begun in one of their attempts."""
    return sum(any(text in each.reason for text in NEVER_BEGUN) for each in _of(carried, action))
