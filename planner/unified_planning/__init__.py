"""unified-planning in both directions: Forethought as one of its engines, and its engines for our problems.

unified-planning is imported when it is needed, since that takes more than a second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from planner.unified_planning.foreign_engines import solve_with

if TYPE_CHECKING:
    from unified_planning.environment import Environment

__all__ = ["NAMES", "register", "solve_with"]

NAMES: Final = {"forethought": "ForethoughtEngine", "forethought-opt": "ForethoughtOptimalEngine"}
"""The names under which `register` makes Forethought known, and the classes in `planner.unified_planning.engine`."""


def register(environment: Environment | None = None) -> None:
    """Make `OneshotPlanner(name="forethought")` and its like work, in the given or the global environment.

    unified-planning finds no engines by itself: call this once, or name the engine in its configuration file `up.ini`.
    Calling it again changes nothing.
    """
    from unified_planning.environment import get_environment

    factory = get_environment(environment).factory
    for name, class_name in NAMES.items():
        if name not in factory.engines:
            factory.add_engine(name, "planner.unified_planning.engine", class_name)
