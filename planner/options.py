"""The options of `solve`: the search to run, its limits, and a callback for its progress."""

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
    """The options of `planner.solve`, whose docstring describes the fields.

    `time_limit` is in seconds from the call of `limits`, `memory_limit` in GiB.
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
        """Raise `InputError` for invalid limits, numbers of simulations and seeds."""
        check_limits(self.time_limit, self.memory_limit)
        check_simulations(self.search, self.simulations, self.seed)

    def limits(self) -> Limits:
        """Return the limits on time and memory; time counts from now."""
        return Limits(self.time_limit, self.memory_limit, self.cancel)

    def within(self, limits: Limits, share: float = 1.0, **changes: Any) -> SolveOptions:
        """Return these options with `changes`, limited to a `share` of the remaining time of `limits`."""
        left = limits.remaining
        kept = {"memory_limit": limits.memory_limit, "cancel": limits.cancel}
        return replace(self, **{"time_limit": None if left is None else share * left, **kept, **changes})


def check_simulations(search: str | None, simulations: Any, seed: Any) -> None:
    """Raise `InputError` for invalid numbers of simulations and seeds, and for simulations of other searches."""
    if simulations is not None and not (isinstance(simulations, int) and simulations > 0):
        raise InputError(f"`simulations` must be a positive integer, got {simulations!r}", hint="None is no limit")
    if simulations is not None and search != "mcts":
        raise InputError("`simulations` limits search 'mcts' only", hint="give search='mcts', or no simulations")
    if not (isinstance(seed, int) and seed >= 0):
        raise InputError(f"`seed` must be an integer, 0 or more, got {seed!r}")


ANY_PLAN: Final = SolveOptions(mode="first")
"""The options of a search for any plan."""

Solve = Callable[[Any, SolveOptions], Result]
"""A function that solves a problem: `planner.solve.answer`, or that of another kind of problems."""
