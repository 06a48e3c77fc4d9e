"""Plans of any length whose handlers do nothing, and worlds to carry them out in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from executor.world.world import World
from planner import Domain
from planner.plan import Plan, Step

CHAIN, INDEPENDENT = "chain", "independent"
PLANS: Final = (CHAIN, INDEPENDENT)
"""Plans in which each step needs the one before it, and plans in which no step needs another."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What is timed: so many `steps` of a kind of plan in an execution model, each looked at after it if `observed`."""

    plan: str
    model: str
    steps: int
    observed: bool = False

    def made(self) -> tuple[World, Plan]:
        """Return the plan, and a world in which it works."""
        return (_chain if self.plan == CHAIN else _independent)(self.steps, observed=self.observed)


def _chain(steps: int, *, observed: bool) -> tuple[World, Plan]:
    """Return a walk along a line of spots."""
    domain = Domain("chain", types=["spot"])
    domain.action(
        "go",
        {"a": "spot", "b": "spot"},
        requires=["at(a)", "next(a, b)"],
        provides=["at(b)"],
        modifies=["at(_)"],
        tags=() if observed else ("trusted",),
    )
    spots = [f"p{number}" for number in range(steps + 1)]
    pairs = list(pairwise(spots))
    problem = domain.problem(
        objects=dict.fromkeys(spots, "spot"),
        initial=[f"at({spots[0]})", *[f"next({one}, {other})" for one, other in pairs]],
        goal=[f"at({spots[-1]})"],
    )
    world, place = World(domain), [spots[0]]

    async def go(a: str, b: str) -> None:  # noqa: ARG001 - it takes what the action has
        place[0] = b

    async def where() -> str:
        return place[0]

    return _with(world, go, "at(_)" if observed else None, where), Plan(
        tuple([Step("go", each, 1) for each in pairs]), problem
    )


def _independent(steps: int, *, observed: bool) -> tuple[World, Plan]:
    """Return visits to spots, in any order."""
    domain = Domain("visits", types=["spot"])
    domain.action("go", {"a": "spot"}, provides=["seen(a)"], tags=() if observed else ("trusted",))
    spots = [f"p{number}" for number in range(steps)]
    problem = domain.problem(objects=dict.fromkeys(spots, "spot"), initial=[], goal=[f"seen({each})" for each in spots])
    world, visited = World(domain), set[str]()

    async def go(a: str) -> None:
        visited.add(a)

    async def has_seen(a: str) -> bool:
        return a in visited

    plan = Plan(tuple([Step("go", (each,), 1) for each in spots]), problem)
    return _with(world, go, "seen(a)" if observed else None, has_seen), plan


def _with(world: World, handler: Callable[..., Any], pattern: str | None, observer: Callable[..., Any]) -> World:
    world.handler("go")(handler)
    if pattern is not None:
        world.observer(pattern)(observer)
    return world
