"""The interface of searches: the run that a search reports to, how it pauses, and how it ends.

Every search is a generator: it yields at each point where it may be paused or abandoned, and returns how it ended. One
loop outside checks the limits of all searches. So several searches can take turns on one task and share the incumbent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Sequence
from enum import Enum
from typing import Protocol, runtime_checkable

from planner.lightweight import TYPE_CHECKING, Any, Final, dataclass, field
from planner.plan import SearchFailure
from planner.task.ground_task import INFINITY, State
from planner.task.successor_generator import Space

if TYPE_CHECKING:
    from planner.search.expansion import ExpansionWatch
    from planner.search.lanes import Lanes

TIERS: Final = ("reference", "interpreted", "compiled")
"""The tiers in which searches run: plain Python, kernels in plain Python, and kernels as machine code."""
DEAD_END: Final = INFINITY
"""The estimate of a state from which the goal cannot be reached."""


class Ending(Enum):
    """Why a search ended of its own accord."""

    EXHAUSTED = "no plan costs less than the best one found; without one, there is none"
    FIRST_PLAN = "a plan was found, and no more was asked for"
    INCOMPLETE = "the search gave up states without proof, and no others are left"


Pauses = Generator[None, None, None]
"""Work that can be paused at each yield."""
Steps = Generator[None, None, Ending]
Estimate = Callable[[State], int]
"""A heuristic as searches see it: from a state to the estimated cost of reaching the goal, or `DEAD_END`."""


@runtime_checkable
class IncrementalHeuristic(Protocol):
    """An admissible heuristic whose successors inherit knowledge of their parent, such as landmarks."""

    def evaluate(self, state: State, inherited: Any, limit: int) -> tuple[int, Any]:
        """Return an estimate and the knowledge of `state`; the evaluation may stop once it reaches `limit`."""

    def inherit(self, known: Any, action: int) -> tuple[int, Any]:
        """Return a lower bound for the successor by `action`, without evaluation, and the inherited data."""


@runtime_checkable
class AdvisingHeuristic(Protocol):
    """A heuristic with preferred actions."""

    def advise(self, state: State) -> tuple[int, set[int]]:
        """Return an estimate, and the preferred actions, applicable or not."""


Advice = Callable[[State], tuple[int, Collection[int]]]


def as_advice(estimate: Any) -> Advice:
    """Return `estimate` as a function that also returns preferred actions, none if the heuristic has none."""
    if isinstance(estimate, AdvisingHeuristic):
        return estimate.advise
    return lambda state: (estimate(state), ())


@dataclass(slots=True)
class Run:
    """The incumbent, the lower bound and the statistics of a search; costs are in the task's units."""

    limit: int = INFINITY
    """Searches look for plans that cost less than this: the cost of the incumbent, or a bound given before."""
    plan: list[int] | None = None
    """The incumbent, as action numbers."""
    lower_bound: int = 0
    expanded: int = 0
    evaluated: int = 0
    generated: int = 0
    stored: int = 0
    """Maximum number of packed states in memory so far."""
    stored_bytes: int = 0
    """Bytes of these states and of what the search keeps for each of them."""
    on_change: Callable[[], None] | None = None
    """Called after each new incumbent and each better bound."""
    trusted: bool = True
    """Whether bounds count; False for a search that may prune plans."""
    by: tuple[str, str] = ("", "")
    """The names of the search and the heuristic at work."""
    found_by: tuple[str, str] = ("", "")
    """Those that found the incumbent."""
    news_by: tuple[str, str] = ("", "")
    """Those that found the latest incumbent or bound."""
    beside: dict[int, Run] = field(default_factory=dict)
    """The runs of searches at work in other threads and processes meanwhile, by identity; shared by parts of a run."""
    lanes: Lanes | None = None
    """Threads for searches beside this one; None if one search is at work at a time."""
    seed: int = 0
    refining: bool = False
    """Whether the search is shortening the first plan: mode "first" waits for that."""
    simulations: int = 0
    most_simulations: int | None = None
    excluded: str = ""
    """Why there is no plan, if the search knows more than that it found none."""
    failed: str = ""
    """The error that ended a search early."""
    watch: ExpansionWatch | None = None
    """Looks at each expansion, if anybody wants that."""
    failures: list[SearchFailure] | None = None
    """The searches that errors have ended; None if an error is to end all searches, as nothing tells of failures."""
    tiers: tuple[str, ...] = ()
    """The tiers in which searches have run, in the order of `TIERS`."""

    @property
    def has_made_all_simulations(self) -> bool:
        """Whether the search has made all simulations that it may."""
        return self.most_simulations is not None and self.simulations >= self.most_simulations

    def report_plan(self, plan: list[int], cost: int, by: tuple[str, str] | None = None) -> None:
        """Make a plan, given by its action numbers, the incumbent if its `cost` is below the limit.

        `by` names the search that found it, if it is not the one at work.

        An error in what follows, such as that the plan is not valid, brings the incumbent from before back.
        """
        if cost < self.limit:
            before = self.plan, self.limit, self.found_by
            self.plan, self.limit, self.found_by = plan, cost, by or self.by
            try:
                self._notify(by)
            except Exception:
                self.plan, self.limit, self.found_by = before
                raise

    def raise_bound(self, bound: int, by: tuple[str, str] | None = None) -> None:
        """Raise the lower bound to `bound`, but not above the cost of the incumbent; `by` as in `report_plan`."""
        bound = min(bound, self.limit)
        if self.lower_bound < bound and self.trusted:
            self.lower_bound = bound
            self._notify(by)

    def contain(self, error: Exception) -> None:
        """Note that `error` has ended the search at work; raise it if it stands for a limit, or is not contained here.

        Others go on only if they do not need what that search would have found.
        """
        if self.failures is None or isinstance(error, MemoryError):
            raise error
        self.note_failure(SearchFailure.of(self.by, error))

    def note_failure(self, failure: SearchFailure) -> None:
        """Note a search that has ended by an error, if failures are told."""
        if self.failures is not None and failure not in self.failures:
            self.failures.append(failure)

    def note_tier(self, *names: str) -> None:
        """Note that a search runs in the tiers of these names."""
        if not set(names).issubset(self.tiers):
            self.tiers = tuple([tier for tier in TIERS if tier in names or tier in self.tiers])

    def begin_part(self) -> Run:
        """Return a run for a search of another form of the task: with the limit, seed and watch of this one."""
        return Run(
            self.limit,
            trusted=self.trusted,
            seed=self.seed,
            most_simulations=self.most_simulations,
            by=self.by,
            watch=self.watch,
            failures=self.failures,
            beside=self.beside,
            lanes=self.lanes,
        )

    def add(self, more: Run, before: Run) -> None:
        """Add what `more` has counted since the last call; `before` keeps the counts of that call."""
        self.by = more.by if any(more.by) else self.by
        self.note_tier(*more.tiers)
        for name in ("expanded", "evaluated", "generated", "simulations"):
            count = getattr(more, name)  # `more` may be at work in another thread
            setattr(self, name, getattr(self, name) + count - getattr(before, name))
            setattr(before, name, count)
        self.stored, self.stored_bytes = max(self.stored, more.stored), max(self.stored_bytes, more.stored_bytes)

    def _notify(self, by: tuple[str, str] | None) -> None:
        self.news_by = by or self.by
        if self.on_change is not None:
            self.on_change()


Search = Callable[[Space, Any, Run], Steps]
"""An algorithm: a function of the state space, a heuristic (at least an `Estimate`) and a run."""


def extract_plan(parents: dict[State, tuple[State, int] | None], state: State) -> list[int]:
    """Return the actions that lead from the state without a parent to `state`."""
    actions = []
    while (edge := parents[state]) is not None:
        state, action = edge
        actions.append(action)
    return actions[::-1]


def last_action(parents: dict[State, tuple[State, int] | None], state: State) -> int | None:
    """Return the action that leads to `state`; None for the state without a parent."""
    edge = parents[state]
    return None if edge is None else edge[1]


def advance(steps: Steps) -> Ending | None:
    """Let a search go on to its next pause; return how it ended, or None if it has not."""
    try:
        next(steps)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]
    return None


def search_reduced_task(search: Callable[[Run], Steps], run: Run, number: Sequence[int]) -> Steps:
    """Run `search` on a reduced task, and report its plans and bounds to `run`; its action a is `number[a]` here.

    Actions with a negative number are left out.

    Every plan of the reduced task must be a plan here of the same cost, and some cheapest plan must remain.
    """
    own, before = run.begin_part(), Run()
    steps, plan = search(own), own.plan
    while True:
        own.limit = min(own.limit, run.limit)
        try:
            ending = advance(steps)
        finally:
            run.add(own, before)
        if own.plan is not None and own.plan is not plan:
            plan = own.plan
            run.report_plan([number[action] for action in plan if number[action] >= 0], own.limit, own.found_by)
        run.raise_bound(own.lower_bound, own.news_by)
        if ending is not None:
            return ending
        yield
