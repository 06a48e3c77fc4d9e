"""No step begins in the same believed state in which the same ground action has failed before, however repairs fail."""

from __future__ import annotations

import random
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import replace

import pytest

from benchmarks.faults.fault_run import carry_out
from benchmarks.faults.fault_setting import draw_setting
from executor.events.answers import RETRY
from executor.events.events import Answered, FactsSeen, StepEnded, StepStarted, StepStatus
from executor.testing import Fault, FaultKind

FAULTS = [
    *(FaultKind.FAILS, FaultKind.RAISES, FaultKind.LIES, FaultKind.PARTLY, FaultKind.FAILS_DONE),
    *(FaultKind.CHANGE_BEFORE, FaultKind.CHANGE_AFTER, FaultKind.OBSERVER_CANNOT_SAY),
]


class Watch:
    """Keeps every state in which a ground action has failed, and notes who begins in one of them.

    What is seen after a failure, before anything else has begun, was so when it failed.
    """

    def __init__(self):
        self.failed, self.latest = defaultdict(set), {}
        self.again, self.begun, self.failures = [], 0, 0

    @contextmanager
    def follow(self, state, _run):
        yield lambda event: self.note(event, state)

    def note(self, event, state):
        facts = state.beliefs.simulation.facts
        match event:
            case StepStarted(id_, attempt):
                for key, then in self.latest.items():
                    self.failed[key].add(then)
                self.latest.clear()
                step = state.steps[id_].step
                self.begun += attempt == 1
                if attempt == 1 and facts in self.failed[step.action, step.arguments]:
                    self.again.append(f"{id_} {step}")
            case StepEnded(id_, StepStatus.FAILED | StepStatus.PARTIAL):
                step = state.steps[id_].step
                self.latest[step.action, step.arguments] = facts
                self.failures += 1
            case FactsSeen():
                self.latest = dict.fromkeys(self.latest, facts)
            case Answered(_, answer) if answer == RETRY:
                self.failed.clear()
                self.latest.clear()


def troubled(seed):
    """Return a run of the fault campaign in which the repairs fail, too."""
    dice = random.Random(seed)
    drawn = draw_setting(dice.randrange(10**6), 9)
    actions = sorted({step.action for step in drawn.plan.steps})
    more = []
    for _ in range(dice.randint(1, 4)):
        kind = dice.choice(FAULTS)
        at = "" if kind.is_of_observers or dice.random() < 0.3 else dice.choice(actions)
        names = [each for each in drawn.plan.steps if each.action == at]
        pattern = f"{at}({', '.join('_' * len(names[0].arguments))})" if names and names[0].arguments else at
        times = dice.choice([1, 2, 3, 5, 8])
        more.append(Fault(kind, pattern, skip=dice.randrange(4), times=times, rate=dice.choice([1, 0.7, 0.5])))
    return replace(drawn, faults=(*drawn.faults, *more))


@pytest.mark.parametrize("block", range(4))
def test_no_step_begins_where_it_has_failed(block, tmp_path):
    begun = failures = 0
    for seed in range(100 * block, 100 * block + 25):
        watch = Watch()
        carried = carry_out(troubled(seed), tmp_path, watch)
        assert not carried.error, (seed, carried.error)
        assert not watch.again, (seed, watch.again)
        begun, failures = begun + watch.begun, failures + watch.failures
    assert (begun > 100, failures > 20) == (True, True)
