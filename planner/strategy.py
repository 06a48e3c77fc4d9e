"""Which searches are run for a task, and how they share the time.

Where deletes do not bind, a cheapest relaxed plan is all that is needed. Else Python searches a small state space
fastest without any estimate, a larger one with LM-cut, and finds a first plan fastest by greedy search. No look at a
task tells which it is, so they take turns on it, and share what they find: the best plan cuts off what costs as much in
all of them, and the first that is exhausted has the proof.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from planner.annotations import TYPE_CHECKING, Final
from planner.errors import InputError, did_you_mean
from planner.heuristics import REGISTRY as HEURISTICS
from planner.heuristics import Kind
from planner.heuristics.hplus import relaxed_plans
from planner.records import dataclass, replace
from planner.search import REGISTRY as SEARCHES
from planner.search import Ending, Run, Space
from planner.search.run import Steps, advice
from planner.search.unbinding import unbinding
from planner.search.weighted import once
from planner.task import State, Task, facts_of
from planner.tiers import tiered

if TYPE_CHECKING:
    from planner.compiled.board import Board

COMPILED: Final = frozenset(
    {
        ("astar", "blind"),
        ("astar", "hmax"),
        ("astar", "lmcut"),
        ("uniform", ""),
        ("greedy", "hff"),
        ("weighted", "hff"),
        ("bfws", "hff"),
    }
)
"""Searches and heuristics that there are kernels for."""
MODES: Final = ("anytime", "first", "optimal")
FIRST_TURN: Final = 0.02
"""Seconds: what is solved within the first turn of the first search is solved without building anything for others."""
TURN: Final = 0.1
"""A turn is this part of the time that was spent before it."""
BLIND_STATES: Final = 4_000_000
"""States after which uniform-cost search in plain Python gives up: they take about a GiB."""
FEW_STATES: Final = 100_000
"""The same where any plan will do: what is larger, estimates find sooner."""
HEAD_START: Final = 0.03
"""Seconds in which relaxed plans are tried before anything else: where deletes do not bind, nothing else is needed."""
FEW_ACTIONS: Final = 10_000
"""Actions up to which that is done: the first relaxed plan takes a look at all of them."""
COMPACT: Final = 4
"""So many packed states take about as much memory as one in plain Python."""


@dataclass(slots=True)
class Contender:
    """A search that takes part, started when its turn comes; `share` is its part of the time against the others'."""

    steps: Steps
    share: int
    spent: float = 0.0
    by: tuple[str, str] = ("", "")


@dataclass(slots=True)
class Workplace:
    """What all searches for one task share; `check` raises when a limit is reached.

    `_board` is the task as machine code sees it, once that was asked for.
    """

    task: Task
    space: Space
    run: Run
    check: Callable[[], None]
    _board: Board | None = None

    def search(
        self, name: str, heuristic: str | None = None, *, states: int | None = None, landmarks: bool = False
    ) -> Steps:
        """Run the search called `name` with a heuristic, its own by default, in either tier.

        With a number of `states` it gives up when it has generated about so many in plain Python, or, as they take less
        memory there, four times as many in machine code. With `landmarks`, machine code counts them too. A heuristic
        that is not safe for the task may have given up states: then nothing is exhausted.
        """
        heuristic = _heuristic_for(name, heuristic)
        self.run.by = (name, heuristic)

        def reference() -> Steps:
            steps = self._reference(name, heuristic)
            return steps if states is None else _at_most(states, steps, self.run)

        def compiled() -> Steps:
            from planner.compiled.searches import compiled_search  # noqa: PLC0415 - only for what lasts

            costs = SEARCHES[name].counts.of(self.space.costs)
            most = None if states is None else COMPACT * states
            self.run.by = (name, f"{heuristic} and landmarks" if landmarks else heuristic)
            search = compiled_search(self._packed(), name, heuristic, costs, states=most, landmarks=landmarks)
            return search(self.run)

        kind = HEURISTICS[heuristic or "blind"]
        if (name, heuristic) in COMPILED:
            ending = yield from tiered(reference, compiled, again=states is None)
        else:
            ending = yield from reference()
        return Ending.INCOMPLETE if ending is Ending.EXHAUSTED and not self.safe(kind) else ending

    def _packed(self) -> Board:
        """Return the task as arrays."""
        if self._board is None:
            from planner.compiled import library  # noqa: PLC0415 - only for what lasts
            from planner.compiled.board import Board  # noqa: PLC0415 - as above

            self._board = Board(self.task, library.loaded() or library.ENTRIES, self.check)
        return self._board

    def _reference(self, name: str, heuristic: str) -> Steps:
        """Search in plain Python."""
        algorithm, kind = SEARCHES[name], HEURISTICS[heuristic or "blind"]
        estimate = kind.build(self.task, algorithm.counts.of(self.space.costs), self.check)
        return (yield from algorithm.search(self.space, estimate, self.run))

    def windows(self) -> Steps:
        """Make the best plan better, piece by piece."""
        from planner.search.windows import Windows  # noqa: PLC0415 - only for what lasts

        self.run.by = ("windows", "hff")
        costs = SEARCHES["weighted"].counts.of(self.space.costs)

        def part(state: State, goal: State, run: Run) -> Steps:
            task = replace(self.task, initial=tuple(facts_of(state)), goal=tuple(facts_of(goal)))
            return once(Space(task), advice(HEURISTICS["hff"].build(task, costs, self.check)), run, 1)

        def reference() -> Steps:
            return Windows(self.space, self.run, part).steps()

        def compiled() -> Steps:
            from planner.compiled.searches import part_search  # noqa: PLC0415 - only for what lasts

            return Windows(self.space, self.run, part_search(self._packed(), costs)).steps()

        return (yield from tiered(reference, compiled, again=False))

    def relaxed(self) -> Steps:
        """Try cheapest relaxed plans."""
        self.run.by = ("unbinding", "hplus")
        if len(self.space.costs) > FEW_ACTIONS:
            return Ending.INCOMPLETE
        return (yield from unbinding(self.space, relaxed_plans(self.task, self.space.costs, self.check), self.run))

    def safe(self, kind: Kind) -> bool:
        """Return whether what a heuristic calls a dead end is one."""
        return kind.safe and kind.supports(self.task)


def chosen(workplace: Workplace, search: str, heuristic: str | None) -> tuple[Steps, str]:
    """Return the search that was asked for, and what it cannot prove, in words ("" if nothing)."""
    name, caveat = _heuristic_for(search, heuristic), ""
    kind = HEURISTICS[name or "blind"]
    if not workplace.safe(kind):
        caveat = f"{search} proves nothing with {name}, which may give up states that lead to the goal"
    elif SEARCHES[search].needs_admissible and not kind.admissible:
        caveat = f"{search} proves nothing with {name}, which may estimate too much"
    workplace.run.trusted = not caveat
    return workplace.search(search, heuristic), caveat


def _heuristic_for(search: str, heuristic: str | None) -> str:
    """Return the heuristic that `search` uses when `heuristic` is asked for; "" where it uses none."""
    own = SEARCHES[search].heuristic
    return "" if own is None else heuristic or own


def automatic(workplace: Workplace, mode: str) -> Steps:
    """Let the searches that suit `mode` take turns until one has the proof."""
    if mode == "first":
        blind = Contender(workplace.search("uniform", states=FEW_STATES), 1)
        return take_turns([Contender(_improving(workplace), 4), blind], workplace.run)
    relaxed = Contender(workplace.relaxed(), 3, spent=-HEAD_START)
    proof = Contender(workplace.search("astar"), 2)
    blind = Contender(workplace.search("uniform", states=BLIND_STATES), 1)
    if mode == "optimal":
        return take_turns([relaxed, proof, blind], workplace.run)
    return take_turns([relaxed, proof, Contender(_improving(workplace), 4), blind], workplace.run)


def _improving(workplace: Workplace) -> Steps:
    """Find a plan soon, and then better ones."""
    if (yield from workplace.search("greedy", landmarks=True)) is Ending.EXHAUSTED:
        return Ending.EXHAUSTED
    yield  # the first plan may be all that is wanted
    weighted = Contender(workplace.search("weighted", landmarks=True), 1)
    return (yield from take_turns([Contender(workplace.windows(), 1), weighted], workplace.run))


def _at_most(states: int, steps: Steps, run: Run) -> Steps:
    """Go through `steps` until they have generated so many states."""
    made = 0
    while made < states:
        before = run.generated
        try:
            next(steps)
        except StopIteration as stop:
            return _ending(stop)
        made += run.generated - before
        yield
    return Ending.INCOMPLETE


def take_turns(contenders: list[Contender], run: Run) -> Steps:
    """Run the one that has had the least of its share, for a turn that grows with the time spent so far.

    That is processor time: a busy computer does not change who has what. A turn that gave a better plan is not counted:
    there may be more where it came from.
    """
    clock = time.thread_time
    total = 0.0
    while contenders:
        current = min(contenders, key=lambda one: one.spent / one.share)
        began, limit = clock(), run.limit
        until = began + max(FIRST_TURN, total * TURN)
        run.by = current.by
        try:
            while clock() < until:
                next(current.steps)
                yield
        except StopIteration as stop:
            if _ending(stop) is Ending.EXHAUSTED:
                return Ending.EXHAUSTED
            contenders.remove(current)
        current.by = run.by
        if run.limit == limit:
            current.spent += clock() - began
        total += clock() - began
    return Ending.INCOMPLETE


def _ending(stop: StopIteration) -> Ending:
    assert isinstance(stop.value, Ending)  # noqa: S101 - what every search returns
    return stop.value


def checked_names(mode: str, search: str | None, heuristic: str | None) -> str | None:
    """Return the search that was asked for, if any (a heuristic alone: A*); raises `InputError` for unknown names."""
    for what, name, known in (
        ("mode", mode, MODES),
        ("search", search, SEARCHES),
        ("heuristic", heuristic, HEURISTICS),
    ):
        if name is not None and not (isinstance(name, str) and name in known):
            hint = did_you_mean(str(name), known) or f"there are {', '.join(known)}"
            raise InputError(f"there is no {what} '{name}'", hint=hint)
    return search or ("astar" if heuristic else None)
