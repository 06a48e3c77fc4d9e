"""The options of `solve`: the search to run, its limits, and callbacks for its progress."""

from __future__ import annotations

from collections.abc import Callable

from planner.errors import InputError
from planner.lightweight import TYPE_CHECKING, Any, Final, dataclass, replace
from planner.limits import Limits, check_limits
from planner.plan import Progress, Result

if TYPE_CHECKING:
    import threading

PRUNING_KINDS: Final = ("h2", "stubborn", "symmetries")
"""The kinds of pruning that a plain search may be asked for."""
PRUNING_SEARCHES: Final = ("astar", "uniform")
"""The searches that know "stubborn" and "symmetries"."""


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
    plain: bool = False
    pruning: tuple[str, ...] = ()
    expansion_limit: int | None = None
    on_expansion: Callable[[Any], None] | None = None
    """Takes a `planner.search.expansion.Expansion`."""
    jobs: int = 1
    prepared: Any = None
    """A problem, and a function that grounds it within `Limits` as `planner.grounding.ground.ground` does."""

    def check(self) -> None:
        """Raise `InputError` for invalid limits, numbers of simulations, seeds and jobs, and what `plain` forbids."""
        check_limits(self.time_limit, self.memory_limit)
        check_simulations(self.search, self.simulations, self.seed)
        self._check_jobs()
        self._check_plain()

    def _check_jobs(self) -> None:
        if not _is_count(self.jobs):
            raise InputError(f"`jobs` must be a positive integer, got {self.jobs!r}", hint="1 is one search at a time")
        if self.jobs > 1:
            for name in ("plain", "engine", "search", "heuristic"):
                if getattr(self, name):
                    raise InputError(
                        f"`jobs` is for searches that share the work, and `{name}` asks for one", hint="leave one out"
                    )

    def _check_plain(self) -> None:
        most = self.expansion_limit
        if most is not None and not _is_count(most):
            raise InputError(f"`expansion_limit` must be a positive integer, got {most!r}", hint="None is no limit")
        if self.on_expansion is not None and not callable(self.on_expansion):
            raise InputError(f"`on_expansion` must be a function, got {self.on_expansion!r}")
        if not self.plain:
            for name in ("pruning", "expansion_limit", "on_expansion"):
                if getattr(self, name):
                    raise InputError(f"`{name}` is for plain search only", hint="add plain=True")
        elif self.engine is not None:
            raise InputError("`plain` is about our own searches, and `engine` names another planner", hint=_ONE)
        elif self.search == "symbolic" and (most is not None or self.on_expansion is not None):
            name = "on_expansion" if most is None else "expansion_limit"
            raise InputError(f"`{name}` is about states, and search 'symbolic' expands sets of them", hint=_ONE)
        self._check_pruning()

    def _check_pruning(self) -> None:
        if not isinstance(self.pruning, (tuple, list)):
            raise InputError(f"`pruning` must be a tuple of names, got {self.pruning!r}", hint="such as ('h2',)")
        search, _ = self.names
        for name in self.pruning:
            if name not in PRUNING_KINDS:
                raise InputError(f"there is no pruning {name!r}", hint=f"there are {', '.join(PRUNING_KINDS)}")
            if search == "symbolic":
                raise InputError("search 'symbolic' always prunes by h2", hint="leave `pruning` out")
            if name != "h2" and search not in PRUNING_SEARCHES:
                raise InputError(
                    f"search '{search}' does not prune by {name}", hint=f"{' and '.join(PRUNING_SEARCHES)} do"
                )

    @property
    def names(self) -> tuple[str | None, str | None]:
        """The names of the search and the heuristic to run; None for what is to be selected.

        A heuristic alone stands for A*. A plain search is named in any case: greedy search for a first plan, else A*.
        """
        stated = self.search or ("astar" if self.heuristic else None)
        default = ("greedy" if self.mode == "first" else "astar") if self.plain else None
        return stated or default, self.heuristic

    def limits(self) -> Limits:
        """Return the limits on time and memory; time counts from now."""
        return Limits(self.time_limit, self.memory_limit, self.cancel)

    def within(self, limits: Limits, share: float = 1.0, **changes: Any) -> SolveOptions:
        """Return these options with `changes`, limited to a `share` of the remaining time of `limits`."""
        left = limits.remaining
        kept = {"memory_limit": limits.memory_limit, "cancel": limits.cancel}
        return replace(self, **{"time_limit": None if left is None else share * left, **kept, **changes})


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def check_simulations(search: str | None, simulations: Any, seed: Any) -> None:
    """Raise `InputError` for invalid numbers of simulations and seeds, and for simulations of other searches."""
    if simulations is not None and not _is_count(simulations):
        raise InputError(f"`simulations` must be a positive integer, got {simulations!r}", hint="None is no limit")
    if simulations is not None and search != "mcts":
        raise InputError("`simulations` limits search 'mcts' only", hint="give search='mcts', or no simulations")
    if not (isinstance(seed, int) and seed >= 0):
        raise InputError(f"`seed` must be an integer, 0 or more, got {seed!r}")


_ONE: Final = "leave one of them out"

ANY_PLAN: Final = SolveOptions(mode="first")
"""The options of a search for any plan."""

Solve = Callable[[Any, SolveOptions], Result]
"""A function that solves a problem: `planner.solve.answer`, or that of another kind of problems."""
