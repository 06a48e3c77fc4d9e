"""The options of `solve`: which search runs, what ends it, and who hears of its progress."""

from __future__ import annotations

from collections.abc import Callable

from planner.errors import InputError
from planner.lightweight import TYPE_CHECKING, Any, Final, dataclass, replace
from planner.limits import Limits, check_limits
from planner.plan import Progress, Result

if TYPE_CHECKING:
    import threading


@dataclass(frozen=True, slots=True)
class SolveOptions:
    """What `planner.solve` is asked for, beside the problem; its docstring describes the fields.

    `time_limit` is in seconds from the moment at which somebody calls `limits`, `memory_limit` in GiB.
    """

    mode: str = "anytime"
    search: str | None = None
    heuristic: str | None = None
    engine: str | None = None
    simulations: int | None = None
    seed: int = 0
    time_limit: float | None = 10.0
    memory_limit: float | None = None
    on_progress: Callable[[Progress], None] | None = None
    cancel: threading.Event | None = None

    def check(self) -> None:
        """Raise `InputError` for limits, numbers of simulations and seeds that are none."""
        check_limits(self.time_limit, self.memory_limit)
        check_simulations(self.search, self.simulations, self.seed)

    def limits(self) -> Limits:
        """Return the limits on time and memory, which begin to count now."""
        return Limits(self.time_limit, self.memory_limit, self.cancel)

    def within(self, limits: Limits, share: float = 1.0, **changes: Any) -> SolveOptions:
        """Return these options with `changes`, limited to a `share` of the time that `limits` has left."""
        left = limits.remaining
        kept = {"memory_limit": limits.memory_limit, "cancel": limits.cancel}
        return replace(self, **{"time_limit": None if left is None else share * left, **kept, **changes})


def check_simulations(search: str | None, simulations: Any, seed: Any) -> None:
    """Raise `InputError` for numbers of simulations and seeds that are none, and for simulations of other searches."""
    if simulations is not None and not (isinstance(simulations, int) and simulations > 0):
        raise InputError(f"simulations are a whole number above 0, not {simulations!r}", hint="None is no limit")
    if simulations is not None and search != "mcts":
        raise InputError("simulations are made by search 'mcts' only", hint="search='mcts' asks for it")
    if not (isinstance(seed, int) and seed >= 0):
        raise InputError(f"a seed is a whole number, 0 or more, not {seed!r}")


ANY_PLAN: Final = SolveOptions(mode="first")
"""The options of a search that is to find out whether there is a plan."""

Solve = Callable[[Any, SolveOptions], Result]
"""A function that answers for a problem: `planner.solve.answer`, or the one of another kind of problems."""
