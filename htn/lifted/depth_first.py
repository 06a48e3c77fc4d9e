"""Depth-first search for a decomposition, without grounding: the first applicable method, until one cannot go on.

The search skips states from which a part of the goal is out of reach, and task lists that it met before in the same
state. It does not decompose a task by way of itself in the same state, and it repeats the outcomes that a recursive
task had in a state instead of searching for them again, as Tamaki and Sato (1986) table goals of logic programs. All
this is known by hashes of 64 bits: an exhausted search proves nothing.

`LiftedDescent` runs the search with the methods in both orders, and `LimitsWithDescent` gives it turns while others
ground.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, cast

from htn.compilations.method_preprocessing import ROOT
from htn.lifted.compiled_problem import DONE, FIRST, STOP, Cell, Machine, Way, compile_problem, moves_by, plan_by
from htn.lifted.generated_code import Unfit
from htn.model import HtnProblem
from htn.search.htn_incumbent import HtnIncumbent
from planner.errors import InputError, UnsupportedError
from planner.lightweight import Final
from planner.limits import Finishing, Limits
from planner.options import SolveOptions
from planner.plan import Result
from planner.portfolio.tiers import Contender, run_until_plan, take_turns
from planner.search.search_run import Ending, Run, Steps

ROUNDS: Final = 200
"""Tasks between two pauses of a search."""
LONGEST: Final = 50
"""Most changes, and most methods, of an outcome that is remembered."""
MOST_OUTCOMES: Final = 100
"""Most outcomes of a task that are remembered."""

Change = tuple[Callable[[Any], None], Any]
"""A function and its argument."""
Outcome = tuple[Cell | None, list[Change], list[Way]]
"""One way in which a task was done: the cell of the tasks left then, the changes of the state, and the methods."""


class Choice:
    """A choice point: a task with the `ways` to decompose it that were not tried yet.

    `begun` has the lengths of the trail and of the plan when the task began. A recursive task has a `key`, and a key by
    which its outcomes are `known` when the same parts of the goal are in reach after it; then `place` is that of the
    first choice point whose task these outcomes depend on (its own, if they depend on no other). `ends` are states in
    which it was done, `outcomes` what was done then (None if that is too much to remember), and `scoped` are keys of
    outcomes that depend on this one.
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
    """One search by backtracking; `ways` are the methods of its plan, in the order in which their tasks begin."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._compound = FIRST + len(machine.act)
        self.ways: list[Way] = []
        self._choices: list[Choice] = []
        self._trail: list[Change] = []
        self._seen: set[int] = set()
        self._known: dict[int, Sequence[Outcome]] = {}
        """The outcomes of recursive tasks in states."""
        self._active: dict[int, tuple[Choice, int]] = {}
        """The choice points for recursive tasks that are not done yet, and their places."""
        self.backtracks = 0
        """How many choice points were given up."""

    def steps(self) -> Steps:
        """Search for a plan; ends with `FIRST_PLAN` when there is one."""
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
                cell = self._backtrack()
            yield

    def _choose(self, cell: Cell) -> None:
        """Add a choice point for the first task of `cell`, unless no way to do the task is of use.

        None is where a part of the goal is out of reach, where the search met `cell` before in the same state, and
        where the task is being decomposed already in the same state.
        """
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
        """Note that the recursive task of `key` is done; return whether it ends in this state for the first time."""
        entry = self._active[key]
        choice, end = entry[0], self._machine.state[0]
        if choice.ends is None:
            choice.ends = {end}
        elif end in choice.ends:
            return False
        else:
            choice.ends.add(end)
        del self._active[key]
        self._trail.append((self._reopen, (key, entry, len(self.ways))))
        return True

    def _reopen(self, what: tuple[int, tuple[Choice, int], int]) -> None:
        """Undo that a recursive task is done, and remember its outcome."""
        key, entry, end = what
        self._active[key] = entry
        choice = entry[0]
        changes, done = choice.begun
        if choice.outcomes is None:
            return
        if len(self._trail) - changes > LONGEST or len(choice.outcomes) >= MOST_OUTCOMES or end - done > LONGEST:
            choice.outcomes = None
            return
        again = [
            (self._machine.inverse[undo], what) for undo, what in self._trail[changes:] if undo in self._machine.inverse
        ]
        choice.outcomes = (*choice.outcomes, (None, again, self.ways[done:end]))

    def _backtrack(self) -> Cell | None:
        """Return to the last choice point with another way; return the cell of the tasks left, None without one."""
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
        """Apply a remembered outcome."""
        _, again, ways = outcome
        inverse, note = self._machine.inverse, self._trail.append
        for do, what in again:
            do(what)
            note((inverse[do], what))
        self.ways += ways

    def _give_up(self, choice: Choice) -> None:
        """Remember the outcomes of a task for good, or for as long as the task that they depend on is being done."""
        choices, key = self._choices, choice.key
        self.backtracks += 1
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
STRAIGHT_PAUSES: Final = 10
"""Pauses of a search after which it counts as straight if it has not backtracked."""
OTHER_ORDER_SECONDS: Final = 0.05
"""Head start, in seconds, of the declared order of the methods over the reverse order."""

ALONE_SECONDS: Final = 0.05
"""Processor time, in seconds, that grounding has alone: small problems are solved better with an estimate."""
TURN_SECONDS: Final = 0.02
"""Length of a turn of the descent, in seconds of processor time."""
EARLY_SHARE: Final = 0.5
"""Share of the time that goes to the descent at first."""
EARLY_SECONDS: Final = 0.2
"""Processor time of the descent, in seconds, after which its share falls: what goes fast is done by then."""
LATE_SHARE: Final = 0.2
"""Share of the time that goes to the descent after that."""
STRAIGHT_SHARE: Final = 0.97
"""Share of the time that goes to a descent that has not had to backtrack."""


class LiftedDescent:
    """Depth-first searches for one plan, which they offer to `incumbent`: methods as they are declared, or backwards.

    Where the methods lead straight to a plan, nothing backtracks, and the reverse order is not tried; a `plain` descent
    never tries it.
    """

    def __init__(self, problem: HtnProblem, incumbent: HtnIncumbent, *, plain: bool = False) -> None:
        self._problem, self._incumbent, self._is_plain = problem, incumbent, plain
        self._has_backtracked = False
        self._pauses = 0
        self.unfit = ""
        """The construct of the problem that these searches do not take."""

    @property
    def is_straight(self) -> bool:
        """Whether the descent has gone on for a while and has not backtracked."""
        return self._pauses > STRAIGHT_PAUSES and not self._has_backtracked

    def steps(self) -> Steps:
        """Search for a plan; ends with `FIRST_PLAN` when there is one."""
        run, declared = self._incumbent.run, self._search(backwards=False)
        while self._is_plain or not self._has_backtracked:
            run.by = DEPTH_FIRST
            run.note_tier("reference")
            self._pauses += 1
            try:
                next(declared)
            except StopIteration as stop:
                return cast("Ending", stop.value)
            yield
        backwards = self._search(backwards=True)
        turns = [
            Contender(declared, 2, by=DEPTH_FIRST),
            Contender(backwards, 1, spent=OTHER_ORDER_SECONDS, by=DEPTH_FIRST),
        ]
        return (yield from run_until_plan(take_turns(turns, run), run))

    def _search(self, *, backwards: bool) -> Steps:
        try:
            machine = compile_problem(self._problem, backwards=backwards, check=self._incumbent.limits.check)
        except (Unfit, SyntaxError, RecursionError) as error:  # what Python does not compile is too deep for it
            self.unfit = str(error) if isinstance(error, Unfit) else "conditions that are nested so deep"
            return Ending.INCOMPLETE
        yield
        search = DepthFirst(machine)
        steps = search.steps()
        while True:
            try:
                next(steps)
            except StopIteration as stop:
                ending = cast("Ending", stop.value)
                break
            self._has_backtracked |= search.backtracks > 0
            yield
        if ending is Ending.FIRST_PLAN:
            with Finishing():
                plan = plan_by(search.ways, machine, self._problem)
                self._incumbent.offer(plan, partial(moves_by, search.ways, machine))
        return ending


def search_depth_first(
    problem: HtnProblem, incumbent: HtnIncumbent, heuristic: str | None, *, plain: bool = False
) -> Result:
    """Return the answer of depth-first search alone; raises `UnsupportedError` for constructs that it does not take."""
    if heuristic not in (None, "blind"):
        raise InputError(f"depth-first search does not use the heuristic '{heuristic}'", hint="leave it out")
    descent = LiftedDescent(problem, incumbent, plain=plain)
    result = incumbent.improve(descent.steps(), "first")
    if descent.unfit:
        raise UnsupportedError(f"{descent.unfit} in depth-first search", "leave --search out, and others search")
    return result


class EnoughPlans(BaseException):
    """The descent found a plan, and no more is asked for; like `LimitReached`, this is no error."""


class LimitsWithDescent(Limits):
    """Limits whose checks let a `descent` go on for its share of the time.

    `steps` are those of the descent, None where there is none or when it is over. With `enough`, `check` raises
    `EnoughPlans` when the descent found a plan.
    """

    __slots__ = ("_descent", "_enough", "_next", "_run", "_spent", "steps")

    def __init__(self, limits: Limits, descent: LiftedDescent | None, run: Run, *, enough: bool = False) -> None:
        super().__init__(limits.time_limit, limits.memory_limit, limits.cancel, limits.started)
        self._descent, self._run = descent, run
        self.steps = descent.steps() if descent else None
        self._enough, self._spent = enough, 0.0
        self._next = time.thread_time() + ALONE_SECONDS

    @classmethod
    def start(
        cls, problem: HtnProblem, incumbent: HtnIncumbent, options: SolveOptions, *, lifted: bool = True
    ) -> LimitsWithDescent:
        """Return the limits of `incumbent`, with a descent unless the options name a search or ask for a proof.

        There is no descent either unless `lifted`.
        """
        alone = options.names[0] is not None or options.mode == "optimal"
        enough = options.mode == "first" and not problem.classical.is_limited
        descent = None if alone or not lifted else LiftedDescent(problem, incumbent)
        return cls(incumbent.limits, descent, incumbent.run, enough=enough)

    @property
    def is_straight(self) -> bool:
        """Whether the descent has not had to backtrack so far."""
        return self._descent is not None and self._descent.is_straight

    def check(self) -> None:
        """Raise `LimitReached` when a limit is reached, or `EnoughPlans`."""
        super().check()
        now = time.thread_time()
        if self.steps is None or now < self._next:
            return
        run = self._run
        by, limit = run.by, run.limit
        try:
            while time.thread_time() < now + TURN_SECONDS:
                next(self.steps)
        except StopIteration as stop:
            self.steps = None
            if self._enough and stop.value is Ending.FIRST_PLAN:
                raise EnoughPlans from None
        if run.limit == limit:
            run.by = by
        self._spent += time.thread_time() - now
        share = STRAIGHT_SHARE if self.is_straight else EARLY_SHARE if self._spent < EARLY_SECONDS else LATE_SHARE
        self._next = time.thread_time() + TURN_SECONDS * (1 - share) / share
