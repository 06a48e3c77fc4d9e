"""Scheduling of searches: turns of several searches, and the two tiers of each.

A search begins in plain Python (the reference tier) and is replaced by machine code (the compiled tier) if it takes
long, so that small tasks never wait for machine code to load. Large tasks begin in machine code. Where there is no
machine code yet, a process of its own makes it while the search goes on in plain Python, and a warning says so.
Searches that machine code cannot run (for very large costs, or without numba) stay in plain Python.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection, Generator

from planner.lightweight import TYPE_CHECKING, Final, TypeVar, dataclass
from planner.search import Run
from planner.search.search_run import Ending, Steps

if TYPE_CHECKING:
    from planner.search.lanes import Apart, Flight

T = TypeVar("T")

PATIENCE_LOADED: Final = 0.003
"""Seconds of search before machine code takes over, if it is loaded."""
PATIENCE_BUILT: Final = 0.04
"""Seconds of search before machine code is loaded: loading takes about as long."""
PATIENCE_MISSING: Final = 1.0
"""Seconds of search before machine code is made where there is none: once, for about a minute of a processor."""
LOOK_AGAIN: Final = 0.5
"""Seconds between two tests whether the compilation has finished."""
FIRST_TURN: Final = 0.02
"""Seconds of the first turns: what the first search solves meanwhile needs no preparation of the others."""
TURN: Final = 0.1
"""Length of a turn as a fraction of the total time spent before it."""
GLANCE: Final = 0.005
"""Seconds between two looks at a search in a lane, where no other is at work."""


def run_in_tiers(
    reference: Callable[[], Steps],
    compiled: Callable[[], Steps],
    kernels: Collection[str],
    *,
    large: bool = False,
    again: bool = True,
) -> Steps:
    """Run `reference`, and replace it by `compiled`, which needs machine code of these `kernels`, if it takes long.

    For a `large` task, whose preparation in plain Python takes long, begin with `compiled` if there is machine code.
    With `again`, a compiled search that ends INCOMPLETE is followed by the reference search.
    """
    ending = None if large and _can_load(kernels) else (yield from _until_compiled(reference(), kernels))
    if ending is None:
        ending = yield from compiled()
        if ending is Ending.INCOMPLETE and again:
            ending = yield from reference()
    return ending


def _until_compiled(reference: Steps, kernels: Collection[str]) -> Generator[None, None, Ending | None]:
    """Run `reference` to its end, or until machine code can take over; return None then."""
    clock = time.monotonic
    spent, patience = 0.0, PATIENCE_LOADED
    while spent <= patience or (patience := _next_look(spent, kernels)) > spent:
        began = clock()
        try:
            next(reference)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        spent += clock() - began
        yield
    reference.close()
    return None


def _can_load(kernels: Collection[str]) -> bool:
    from planner.jit import library

    return library.load(*kernels) is not None


def _next_look(spent: float, kernels: Collection[str]) -> float:
    """Return after how many seconds of search to look for machine code again; 0 where it is loaded."""
    if spent < PATIENCE_BUILT and "planner.jit.library" not in sys.modules:
        return PATIENCE_BUILT
    from planner.jit import library

    if library.is_loaded(*kernels) or (spent >= PATIENCE_BUILT and library.load(*kernels) is not None):
        return 0.0
    ask_for_machine_code(spent, kernels)
    return max(spent + LOOK_AGAIN, PATIENCE_MISSING) if spent >= PATIENCE_BUILT else PATIENCE_BUILT


def ask_for_machine_code(spent: float, kernels: Collection[str]) -> None:
    """Start to make machine code of `kernels` if a search has `spent` more than `PATIENCE_MISSING` seconds without."""
    if spent >= PATIENCE_MISSING:
        from planner.jit.build_process import start_build

        start_build(kernels)


def describe_machine_code() -> str:
    """Return what there is of machine code, in the words of `Statistics`; "" where no search has looked for it."""
    if "planner.jit.library" not in sys.modules:
        return ""
    from planner.jit import library

    return library.describe_state()


@dataclass(slots=True)
class Contender:
    """A search that takes turns with others, started in its first turn."""

    steps: Steps
    share: int
    """Its share of the time, relative to the others'."""
    spent: float = 0.0
    """Seconds of processor time that count as spent."""
    by: tuple[str, str] = ("", "")
    """The names of the search and the heuristic at work."""
    apart: Apart | None = None
    """What lets it be at work beside others; None if it shares its run and memory with others."""
    improving: int = 0
    """Its share where there are lanes and a plan is known; 0 if that is as before."""
    flight: Flight | None = None
    """Its turn in a lane; None while it has none."""

    def advance(self, run: Run) -> None:
        """Let the search go on until it pauses; `run` is that of those which take turns."""
        if self.apart is None:
            next(self.steps)
            return
        try:
            self.apart.advance(self.steps)
        finally:
            run.by = self.apart.run.by if any(self.apart.run.by) else run.by
            self.apart.report()

    def run_here(self, run: Run) -> Steps:
        """Let the search be at work in this thread until it ends."""
        while True:
            try:
                self.advance(run)
            except StopIteration as stop:
                return _ending(stop)
            yield


Guard = Callable[[Callable[[], None]], Callable[[], None]]
"""A function that lets a look at limits also end a search in a lane."""


def contend(
    run: Run,
    make: Callable[[Run, Guard | None], Steps],
    share: int,
    *,
    spent: float = 0.0,
    by: tuple[str, str] = ("", ""),
    improving: int = 0,
) -> Contender:
    """Return a contender that may be at work in a lane where `run` has lanes.

    `make` returns its search for a run, with working memory of its own if there is a guard.
    """
    if run.lanes is None:
        return Contender(make(run, None), share, spent, by)
    from planner.search.lanes import Apart

    apart = Apart(run, by)
    return Contender(make(apart.run, apart.guard), share, spent, by, apart, improving)


def take_turns(contenders: list[Contender], run: Run, *, shortest: float = FIRST_TURN) -> Steps:
    """Let `contenders` take turns: next is always the one that has had the least time relative to its share.

    Turns grow with the total time spent, and are measured in processor time, so that a busy computer does not change
    the shares. A turn that improved the incumbent is not charged to its search, which may well improve it again. Where
    lanes are free, searches that may have turns there while another one is at work here.

    An error ends its search only, and is noted in `run`; raises the first error if all searches have failed.
    """
    return _Turns(contenders, run, shortest).steps()


class _Turns:
    """The turns of searches for one task; `contenders` are those that have not ended."""

    def __init__(self, contenders: list[Contender], run: Run, shortest: float) -> None:
        self.contenders, self.run, self.shortest = contenders, run, shortest
        self.total = 0.0
        self.first: tuple[tuple[str, str], Exception] | None = None
        self.has_ended = not contenders

    def steps(self) -> Steps:
        """Let the searches take turns."""
        try:
            while self.contenders:
                here = self._choose()
                if here is None:
                    is_exhausted = self._call_back()
                    yield
                else:
                    is_exhausted = yield from self._take_turn(here)
                if is_exhausted:
                    return Ending.EXHAUSTED
        finally:
            self._recall()
        if self.first is not None and not self.has_ended:
            self.run.by = self.first[0]
            raise self.first[1]
        return Ending.INCOMPLETE

    def _take_turn(self, current: Contender) -> Generator[None, None, bool]:
        """Let `current` go on for a turn in this thread; return whether it, or one in a lane, is exhausted."""
        run, spent, limit = self.run, 0.0, self.run.limit
        run.by = current.by
        try:
            most = self._length()
            while spent < most:
                began = time.thread_time()
                try:
                    current.advance(run)
                finally:
                    spent += time.thread_time() - began
                if run.lanes is not None and self._look_into_lanes(current):
                    return True
                yield
        except StopIteration as stop:
            if self._end(current, _ending(stop)):
                return True
        except Exception as error:  # noqa: BLE001 - the history tells it
            self._fail(current, error, run.by)
        current.by = run.by
        if run.limit == limit:
            current.spent += spent
        self.total += spent
        if current not in self.contenders and self.contenders and run.plan is None:
            yield  # else what this search did would count as done by the next one
        return False

    def _due(self, contender: Contender) -> float:
        """Return the time that a search has had, relative to its share."""
        share = contender.share
        if self.run.lanes is not None and self.run.plan is not None:
            share = contender.improving or share
        return contender.spent / share

    def _length(self) -> float:
        return max(self.shortest, self.total * TURN)

    def _end(self, contender: Contender, ending: Ending) -> bool:
        """Leave out a search that has ended; return whether it is exhausted."""
        self.contenders.remove(contender)
        self.has_ended = True
        return ending is Ending.EXHAUSTED

    def _fail(self, contender: Contender, error: Exception, by: tuple[str, str]) -> None:
        """Leave out a search that an error has ended, and note that; raises errors that stand for limits."""
        self.run.by = by
        self.run.contain(error)
        self.contenders.remove(contender)
        self.first = self.first or (by, error)

    def _choose(self) -> Contender | None:
        """Choose the search that is next in this thread, and let others begin in lanes; None if all are there."""
        waiting = [each for each in self.contenders if each.flight is None]
        lanes = self.run.lanes
        if lanes is None or len(waiting) < 2:
            return min(waiting, key=self._due, default=None)
        waiting.sort(key=self._due)
        sharing = (each for each in waiting[: 1 + max(0, lanes.free)] if each.apart is None)
        here = next(sharing, waiting[0])
        self._fill_lanes(here)
        return here

    def _fill_lanes(self, here: Contender) -> None:
        """Let searches that may begin turns in lanes, as far as lanes are free, while `here` is at work."""
        assert self.run.lanes is not None
        waiting = [each for each in self.contenders if each.flight is None and each is not here]
        for each in sorted(waiting, key=self._due):
            if each.apart is not None:
                if not self.run.lanes.take():
                    return
                self._launch(each, each.apart)

    def _launch(self, contender: Contender, apart: Apart) -> None:
        from planner.search.lanes import Flight

        apart.hand_over()
        self.run.beside[id(apart.run)] = apart.run
        contender.flight = Flight(apart, contender.steps, self._length())
        if not contender.flight.start():
            self._leave(contender, apart)

    def _leave(self, contender: Contender, apart: Apart) -> None:
        contender.flight = None
        self.run.beside.pop(id(apart.run))

    def _look_into_lanes(self, here: Contender | None) -> bool:
        """Report what is new in lanes, and use those that are free; return whether a search there is exhausted."""
        has_landed = False
        for each in [*self.contenders]:
            if each.flight is not None:
                has_landed |= each.flight.has_landed
                if self._look_at(each, each.flight):
                    return True
        if has_landed and here is not None:
            self._fill_lanes(here)
        return False

    def _look_at(self, contender: Contender, flight: Flight) -> bool:
        """Report what is new of a search in a lane; return whether it is exhausted."""
        apart, has_landed, limit = flight.apart, flight.has_landed, self.run.limit
        error: BaseException | None = flight.error if has_landed else None
        try:
            apart.report()
        except Exception as failure:  # noqa: BLE001 - the history tells it
            error = error or failure
        contender.by = apart.run.by
        if has_landed:
            self._leave(contender, apart)
            self.total += flight.seconds
            contender.spent += flight.seconds if self.run.limit == limit else 0.0
        if isinstance(error, Exception):
            apart.is_recalled = True
            flight.wait()
            by, here = contender.by, self.run.by
            self._fail(contender, error, by)
            self.run.by = here
            if contender.flight is not None:
                self._leave(contender, apart)
        elif error is not None:
            raise error
        elif has_landed and flight.ending is not None:
            return self._end(contender, flight.ending)
        return False

    def _call_back(self) -> bool:
        """Wait for a search in a lane to come back to this thread; return whether one is exhausted."""
        flights = [each.flight for each in self.contenders if each.flight is not None]
        for each in flights:
            each.is_called = True
        flights[0].wait(GLANCE)
        return self._look_into_lanes(None)

    def _recall(self) -> None:
        """End the searches in lanes, and wait for that; keep what they have found."""
        flying = [each for each in self.contenders if each.flight is not None]
        for each in flying:
            assert each.flight is not None
            each.flight.apart.is_recalled = True
        for each in flying:
            assert each.flight is not None
            each.flight.wait()
            try:
                each.flight.apart.report()
            except Exception as error:  # noqa: BLE001 - the history tells it
                self.run.contain(error)
            self._leave(each, each.flight.apart)
        for each in self.contenders:
            if each.apart is not None:
                each.steps.close()  # it may itself have searches in lanes


def contain_errors(steps: Generator[None, None, T], run: Run) -> Generator[None, None, T | None]:
    """Run `steps`, without which others can go on; return None if an error ends them, and note it in `run`."""
    try:
        return (yield from steps)
    except Exception as error:  # noqa: BLE001 - the history tells it
        run.contain(error)
        return None


def run_while(steps: Steps, condition: Callable[[], bool]) -> Generator[None, None, Ending | None]:
    """Run `steps` while `condition` holds; return how they ended, or None where the condition ended them.

    There is no pause after the condition has ended to hold.
    """
    while condition():
        try:
            next(steps)
        except StopIteration as stop:
            return _ending(stop)
        if condition():
            yield
    return None


def run_until_plan(steps: Steps, run: Run) -> Steps:
    """Run `steps` until there is a plan."""
    ending = yield from run_while(steps, lambda: run.plan is None)
    return Ending.FIRST_PLAN if ending is None else ending


def _ending(stop: StopIteration) -> Ending:
    assert isinstance(stop.value, Ending)
    return stop.value


def run_at_most(states: int, steps: Steps, run: Run) -> Steps:
    """Run `steps` until they have generated so many states."""
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
