"""The searches without grounding take their turns while others ground."""

from __future__ import annotations

import time
from functools import partial
from typing import cast

from htn.answer import HtnAnswer
from htn.lifted.code import Unfit
from htn.lifted.machine import Machine, machine
from htn.lifted.search import DepthFirst
from htn.lifted.trees import moves_by, plan_by
from htn.model import HtnProblem
from planner.annotations import Final
from planner.budget import Budget, Finishing
from planner.search.run import Ending, Run, Steps
from planner.turns import Contender, take_turns, until_plan

DEPTH_FIRST: Final = ("depth-first", "blind")
AFTER: Final = 0.05
"""Seconds of processor time that grounding has alone: small problems are solved better with an estimate."""
AWHILE: Final = 10
"""Pauses of a search."""
ALONE: Final = 0.05
"""Seconds that one order of the methods has before the other."""
TURN: Final = 0.02
"""Seconds of processor time between two questions whether it has been long enough."""
SHARE: Final = 0.5
"""The part of the time from then on that is spent without grounding."""
PROMISING: Final = 0.2
"""Seconds after which it is less: what goes fast would have been done by then."""
REST: Final = 0.2
"""The part that it is then."""
STRAIGHT: Final = 0.97
"""The same as long as nothing had to be given up."""


class Descent:
    """Searches for one plan without grounding, which offer it: methods are tried as they are declared, or backwards.

    Where methods say all that there is to know, nothing has to be given up, and methods backwards are not tried.
    """

    def __init__(self, problem: HtnProblem, answer: HtnAnswer) -> None:
        self._problem, self._answer = problem, answer
        self._has_to_give_up = False
        self._pauses = 0
        self.unfit = ""
        """What in the problem these searches do not take."""

    @property
    def is_straight(self) -> bool:
        """Whether it has gone on for a while, and nothing had to be given up."""
        return self._pauses > AWHILE and not self._has_to_give_up

    def steps(self) -> Steps:
        """Search for a plan: `FIRST_PLAN` when there is one."""
        run, declared = self._answer.run, self._search(backwards=False)
        while not self._has_to_give_up:
            run.by = DEPTH_FIRST
            self._pauses += 1
            try:
                next(declared)
            except StopIteration as stop:
                return cast("Ending", stop.value)
            yield
        turns = [
            Contender(declared, 2, by=DEPTH_FIRST),
            Contender(self._search(backwards=True), 1, spent=ALONE, by=DEPTH_FIRST),
        ]
        return (yield from until_plan(take_turns(turns, run), run))

    def _search(self, *, backwards: bool) -> Steps:
        try:
            made = machine(self._problem, backwards=backwards, check=self._answer.budget.check)
        except (Unfit, SyntaxError, RecursionError) as error:  # what Python does not compile is too deep for it
            self.unfit = str(error) if isinstance(error, Unfit) else "conditions that are nested so deep"
            return Ending.INCOMPLETE
        yield
        search = DepthFirst(made)
        steps = search.steps()
        run, counted = self._answer.run, 0
        while True:
            try:
                next(steps)
            except StopIteration as stop:
                run.expanded += search.expanded - counted
                return self._ended(stop.value, search, made)
            run.expanded, counted = run.expanded + search.expanded - counted, search.expanded
            self._has_to_give_up |= search.given_up > 0
            yield

    def _ended(self, ending: Ending, search: DepthFirst, made: Machine) -> Ending:
        if ending is Ending.FIRST_PLAN:
            with Finishing():
                plan = plan_by(search.ways, made, self._problem)
                self._answer.offer(plan, partial(moves_by, search.ways, made))
        return ending


class Enough(BaseException):
    """A plan was found while others were at work, and no more is asked for; as `LimitReached`, it is no error."""


class Meanwhile(Budget):
    """A budget as `budget`: whoever asks it lets a `descent` go on for its share of the time.

    Its `steps` are None where there is none, or when it is over. With `enough`, `Enough` is raised when it gave a plan.
    """

    __slots__ = ("_descent", "_enough", "_next", "_run", "_spent", "steps")

    def __init__(self, budget: Budget, descent: Descent | None, run: Run, *, enough: bool) -> None:
        super().__init__(budget.time_limit, budget.memory_limit, budget.cancel, budget.started)
        self._descent, self._run = descent, run
        self.steps = descent.steps() if descent else None
        self._enough, self._spent = enough, 0.0
        self._next = time.thread_time() + AFTER

    @property
    def is_straight(self) -> bool:
        """Whether the descent had nothing to give up so far."""
        return self._descent is not None and self._descent.is_straight

    def check(self) -> None:
        """Raise `LimitReached` when a limit is reached, or `Enough`."""
        super().check()
        now = time.thread_time()
        if self.steps is None or now < self._next:
            return
        run = self._run
        by, limit = run.by, run.limit
        try:
            while time.thread_time() < now + TURN:
                next(self.steps)
        except StopIteration as stop:
            self.steps = None
            if self._enough and stop.value is Ending.FIRST_PLAN:
                raise Enough from None
        if run.limit == limit:
            run.by = by
        self._spent += time.thread_time() - now
        share = STRAIGHT if self.is_straight else SHARE if self._spent < PROMISING else REST
        self._next = time.thread_time() + TURN * (1 - share) / share
