"""The search without grounding takes its turns while others ground."""

from __future__ import annotations

import time

from htn.answer import HtnAnswer
from htn.lifted.code import Unfit
from htn.lifted.machine import machine
from htn.lifted.search import DepthFirst
from htn.lifted.trees import plan_by
from htn.model import HtnProblem
from planner.annotations import Final
from planner.budget import Budget
from planner.search.run import Ending, Steps
from planner.turns import Contender, take_turns, until_plan

AFTER: Final = 0.05
"""Seconds of processor time that grounding has alone: small problems are solved better with an estimate."""
ALONE: Final = 0.05
"""Seconds that one order of the methods has before the other."""
TURN: Final = 0.02
"""Seconds of processor time between two questions whether it has been long enough."""
SHARE: Final = 0.5
"""The part of the time from then on that is spent without grounding."""


def depth_first(problem: HtnProblem, answer: HtnAnswer) -> Steps:
    """Search for one plan without grounding, and offer it: methods are tried as they are declared, or backwards."""
    turns = [
        Contender(_depth_first(problem, answer, backwards=False), 2),
        Contender(_depth_first(problem, answer, backwards=True), 1, spent=ALONE),
    ]
    return (yield from until_plan(take_turns(turns, answer.run), answer.run))


def _depth_first(problem: HtnProblem, answer: HtnAnswer, *, backwards: bool) -> Steps:
    try:
        made = machine(problem, backwards=backwards)
    except (Unfit, SyntaxError, RecursionError):  # what Python does not compile is too deep for it
        return Ending.INCOMPLETE
    yield
    search = DepthFirst(made)
    ending = yield from search.steps()
    if ending is Ending.FIRST_PLAN:
        answer.run.by = ("depth-first", "blind")
        answer.offer(plan_by(search.ways, made, problem))
    return ending


class Enough(BaseException):
    """A plan was found while others were at work, and no more is asked for; as `LimitReached`, it is no error."""


class Meanwhile(Budget):
    """A budget as `budget`: whoever asks it lets `steps` go on for their share of the time.

    `steps` are None where there are none, or no more. With `enough`, `Enough` is raised when that gave a plan.
    """

    __slots__ = ("_enough", "_next", "steps")

    def __init__(self, budget: Budget, steps: Steps | None, *, enough: bool) -> None:
        super().__init__(budget.time_limit, budget.memory_limit, budget.cancel, budget.started)
        self.steps = steps
        self._enough = enough
        self._next = time.thread_time() + AFTER

    def check(self) -> None:
        """Raise `LimitReached` when a limit is reached, or `Enough`."""
        super().check()
        now = time.thread_time()
        if self.steps is None or now < self._next:
            return
        try:
            while time.thread_time() < now + TURN:
                next(self.steps)
        except StopIteration as stop:
            self.steps = None
            if self._enough and stop.value is Ending.FIRST_PLAN:
                raise Enough from None
        self._next = time.thread_time() + TURN * (1 - SHARE) / SHARE
