"""Depth-first search for a decomposition: the first method that can be applied, until one cannot go on.

What leaves a part of the goal out of reach is not tried, and neither are lists of tasks that were met before in the
same state. A task that can be nested in itself is not done by way of itself in the same state, and what became of it in
a state is done again, not searched for again, as Tamaki and Sato (1986) table goals of logic programs. All this is
known by hashes of 64 bits, and so it is no proof when nothing is left.

The searches without grounding take their turns while others ground.

Depth-first search for decompositions without grounding.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, cast

from htn.compilations.method_splitting import ROOT
from htn.incumbent import HtnIncumbent
from htn.lifted.compiled_problem import DONE, FIRST, STOP, Cell, Machine, Way, machine
from htn.lifted.generated_code import Unfit
from htn.lifted.plan_extraction import moves_by, plan_by
from htn.model import HtnProblem
from planner.lightweight import Final
from planner.limits import Finishing, Limits
from planner.portfolio.tiers import Contender, run_until_plan, take_turns
from planner.search.search_run import Ending, Run, Steps

ROUNDS: Final = 200
"""So many tasks are looked at between two breaks."""


Change = tuple[Callable[[Any], None], Any]
"""A function and its argument."""
Outcome = tuple[Cell | None, list[Change], list[Way]]
"""One way in which a task was done: the cell of what is left then, the changes of the state, and the methods."""
LONGEST: Final = 50
"""Changes, and methods, of an outcome that is remembered."""
MOST: Final = 100
"""Outcomes of a task that are remembered."""


class Choice:
    """A task for which a way was chosen, and others are left.

    `begun` has the lengths of the trail and of the plan when it began. A task that can be nested in itself has a `key`,
    and another by which it is `known` what becomes of it if the same parts of the goal are in reach after it; then
    `place` is that of the first choice on whose task it depends what becomes of this one (its own, if on no
    other). `ends` are states in which it was done, `outcomes` what was done then (None if that is too much to
    remember), and `scoped` are keys of others that depend on this one.
    """

    __slots__ = ("begun", "ends", "key", "known", "outcomes", "place", "scoped", "ways")

    def __init__(
        self, ways: Iterator[Way | Outcome], begun: tuple[int, int], place: int, key: int = 0, known: int = 0
    ) -> None:
        self.ways, self.begun, self.place, self.key, self.known = ways, begun, place, key, known
        self.ends: set[int] | None = None
        self.outcomes: Sequence[Outcome] | None = ()
        self.scoped: list[int] | None = None


class DepthFirst:
    """One search; `ways` are the methods of its plan, in the order in which their tasks begin."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._compound = FIRST + len(machine.act)
        self.ways: list[Way] = []
        self._choices: list[Choice] = []
        self._trail: list[Change] = []
        self._seen: set[int] = set()
        self._known: dict[int, Sequence[Outcome]] = {}
        """What may become of tasks in states."""
        self._active: dict[int, tuple[Choice, int]] = {}
        """The choices for tasks that are not done yet, and their places."""
        self.expanded = 0
        """How many tasks were begun."""
        self.given_up = 0
        """How many tasks could not be done in any other way."""

    def steps(self) -> Steps:
        """Search for a plan: `FIRST_PLAN` when there is one."""
        machine, note = self._machine, self._trail.append
        end: Cell = (STOP, (), None, 0, 0)
        cell: Cell | None = (machine.number[ROOT], (), end, 1, machine.goals)
        while True:
            for _ in range(ROUNDS):
                if cell is None:
                    return Ending.INCOMPLETE
                number, args, rest, _, _ = cell
                if number >= self._compound:
                    self._choose(cell)
                elif number == DONE:
                    if self._finish(args):
                        cell = rest
                        continue
                elif number == STOP:
                    if machine.is_goal():
                        return Ending.FIRST_PLAN
                elif machine.act[number - FIRST](args, note):
                    cell = rest
                    continue
                cell = self._next()
            yield

    def _choose(self, cell: Cell) -> None:
        """Begin with the ways to do the first task of `cell`, unless it is known that none is of use."""
        number, args, rest, value, goals = cell
        state, true = self._machine.state
        if self._machine.goals & ~(true | goals):
            return
        here = hash((state, value))
        if here in self._seen:
            return
        key, place = 0, len(self._choices)
        begun = len(self._trail), len(self.ways)
        if number in self._machine.recursive:
            key = hash((number, args, state))
            known = self._known.get(hash((key, rest[4])))
            if known is not None:
                self._seen.add(here)
                if known:
                    self._choices.append(Choice(iter([(rest, *each[1:]) for each in known]), begun, place))
                return
            above = self._active.get(key)
            if above is not None:
                last = self._choices[-1]
                last.place = min(last.place, above[1])
                return
            rest = (DONE, key, rest, rest[3], rest[4])
        self._seen.add(here)
        choice = Choice(
            self._machine.ways[number - self._compound](args, rest), begun, place, key, hash((key, rest[4]))
        )
        self._choices.append(choice)
        if key:
            self._active[key] = choice, place

    def _finish(self, key: int) -> bool:
        """Note that the task of `key` is done; return whether this is news: whether it did not end so before."""
        entry = self._active[key]
        choice, end = entry[0], self._machine.state[0]
        if choice.ends is None:
            choice.ends = {end}
        elif end in choice.ends:
            return False
        else:
            choice.ends.add(end)
        del self._active[key]
        self._trail.append((self._begin_again, (key, entry, len(self.ways))))
        return True

    def _begin_again(self, what: tuple[int, tuple[Choice, int], int]) -> None:
        """Let a task be not done any more, and remember what was done for it."""
        key, entry, end = what
        self._active[key] = entry
        choice = entry[0]
        changes, done = choice.begun
        if choice.outcomes is None:
            return
        if len(self._trail) - changes > LONGEST or len(choice.outcomes) >= MOST or end - done > LONGEST:
            choice.outcomes = None
            return
        again = [
            (self._machine.inverse[undo], what) for undo, what in self._trail[changes:] if undo in self._machine.inverse
        ]
        choice.outcomes = (*choice.outcomes, (None, again, self.ways[done:end]))

    def _next(self) -> Cell | None:
        """Go back to the last task that can be done in another way; return what is to be done then."""
        trail, choices = self._trail, self._choices
        while choices:
            choice = choices[-1]
            changes, done = choice.begun
            while len(trail) > changes:
                undo, what = trail.pop()
                undo(what)
            del self.ways[done:]
            way = next(choice.ways, None)
            if way is None:
                choices.pop()
                self._give_up(choice)
                continue
            if isinstance(way[1], int):
                self.ways.append(way)
            else:
                self._repeat(way)
            return way[0]
        return None

    def _repeat(self, outcome: Outcome) -> None:
        """Do what was done for a task before."""
        _, again, ways = outcome
        inverse, note = self._machine.inverse, self._trail.append
        for do, what in again:
            do(what)
            note((inverse[do], what))
        self.ways += ways

    def _give_up(self, choice: Choice) -> None:
        """Remember what became of a task: for good, or for as long as the task is being done that it depends on."""
        choices, key = self._choices, choice.key
        self.given_up += 1
        for each in choice.scoped or ():
            self._known.pop(each, None)
        if key:
            del self._active[key]
            if choice.outcomes is not None:
                self._known[choice.known] = choice.outcomes
                if choice.place < len(choices):
                    above = choices[choice.place]
                    above.scoped = above.scoped or []
                    above.scoped.append(choice.known)
        if choices:
            choices[-1].place = min(choices[-1].place, choice.place)


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

    def __init__(self, problem: HtnProblem, incumbent: HtnIncumbent) -> None:
        self._problem, self._incumbent = problem, incumbent
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
        run, declared = self._incumbent.run, self._search(backwards=False)
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
        return (yield from run_until_plan(take_turns(turns, run), run))

    def _search(self, *, backwards: bool) -> Steps:
        try:
            made = machine(self._problem, backwards=backwards, check=self._incumbent.limits.check)
        except (Unfit, SyntaxError, RecursionError) as error:  # what Python does not compile is too deep for it
            self.unfit = str(error) if isinstance(error, Unfit) else "conditions that are nested so deep"
            return Ending.INCOMPLETE
        yield
        search = DepthFirst(made)
        steps = search.steps()
        run, counted = self._incumbent.run, 0
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
                self._incumbent.offer(plan, partial(moves_by, search.ways, made))
        return ending


class Enough(BaseException):
    """A plan was found while others were at work, and no more is asked for; as `LimitReached`, it is no error."""


class Meanwhile(Limits):
    """Limits with company: whoever checks them lets a `descent` go on for its share of the time.

    Its `steps` are None where there is none, or when it is over. With `enough`, `Enough` is raised when it gave a plan.
    """

    __slots__ = ("_descent", "_enough", "_next", "_run", "_spent", "steps")

    def __init__(self, limits: Limits, descent: Descent | None, run: Run, *, enough: bool) -> None:
        super().__init__(limits.time_limit, limits.memory_limit, limits.cancel, limits.started)
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
