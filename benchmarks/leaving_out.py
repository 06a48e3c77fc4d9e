"""Our command without parts of what it proves with: `python -m benchmarks.leaving_out PART[+PART…] solve …`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from importlib import import_module
from typing import Any, Final

from planner.cli import main as command
from planner.portfolio.workplace import Workplace, heuristic_of
from planner.pruning.h2 import Pruned, Pruning
from planner.search import Ending
from planner.search.search_run import Pauses, Steps


def disable_search(name: str, heuristic: str) -> None:
    """Let the search called `name` with this heuristic give up at once."""
    search = Workplace.search

    def left(self: Workplace, asked: str, other: str | None = None, **options: Any) -> Steps:
        if (asked, heuristic_of(asked, other)) == (name, heuristic):
            return give_up_at_once()
        return search(self, asked, other, **options)

    Workplace.search = left  # type: ignore[method-assign, assignment]


def disable_relaxed_plans() -> None:
    """Try no relaxed plans."""

    def untried(self: Workplace) -> Steps:  # noqa: ARG001 - that is how it is called
        return give_up_at_once()

    Workplace.try_relaxed_plans = untried  # type: ignore[method-assign]


def disable_h2() -> None:
    """Let all actions be needed, and all facts go together; nor is anything counted then."""

    def unlooked(self: Workplace, seconds: float | None) -> Generator[None, None, Pruned | None]:  # noqa: ARG001
        yield
        self.common.pruned = Pruning(self.task, self.check, None).result()
        return self.common.pruned

    Workplace.prune_by_h2 = unlooked  # type: ignore[method-assign]


def disable_counting() -> None:
    """Let numbers of actions be found that add up to the goal."""

    def unfound(*_: object) -> Generator[None, None, str]:
        yield
        return ""

    vars(import_module("planner.pruning.state_equation"))["disprove"] = unfound


def disable_stubborn_sets() -> None:
    """Let A* and uniform cost try all actions."""
    import_module("planner.search.task_compiled").Board.stubborn = None


def disable_symmetries() -> None:
    """Let every state stand for itself."""
    import_module("planner.search.task_compiled").Board.orbits = None


def disable_cartesian() -> None:
    """Let all abstractions be projections."""

    def unmade(*_: object) -> Pauses:
        yield

    import_module("planner.heuristics.abstractions.cartesian").Cartesian.make = unmade


def disable_symbolic() -> None:
    """Search nothing beside."""
    vars(import_module("planner.solve"))["beside"] = lambda steps, *_: steps


def give_up_at_once() -> Steps:
    """Give up at once."""
    yield
    return Ending.INCOMPLETE


PARTS: Final[dict[str, Callable[[], None]]] = {
    "relaxed": disable_relaxed_plans,
    "uniform": lambda: disable_search("uniform", ""),
    "lmcut": lambda: disable_search("astar", "lmcut"),
    "scp": lambda: disable_search("astar", "scp"),
    "cartesian": disable_cartesian,
    "stubborn": disable_stubborn_sets,
    "symmetries": disable_symmetries,
    "h2": disable_h2,
    "counting": disable_counting,
    "symbolic": disable_symbolic,
}
"""What the automatic choice of `--mode optimal` is made of."""


def main() -> None:
    """Run the command without what its first argument names."""
    for part in sys.argv.pop(1).split("+"):
        PARTS[part]()
    command()


if __name__ == "__main__":
    main()
