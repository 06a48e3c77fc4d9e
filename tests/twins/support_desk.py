"""A small world for agents of other frameworks: orders are found, packed and shipped, or refunded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from executor import ActionResult, World
from planner import Domain, From


@dataclass
class Desk:
    """The truth of the desk; `broken` are the tools that raise, `lying` those that report what they do not do."""

    facts: set[str] = field(default_factory=set)
    log: list[str] = field(default_factory=list)
    broken: set[str] = field(default_factory=set)
    lying: set[str] = field(default_factory=set)

    def do(self, name: str, order: str, *facts: str, gone: tuple[str, ...] = ()) -> None:
        self.log.append(f"{name} {order}")
        if name in self.broken:
            raise RuntimeError(f"{name} is down")
        if name not in self.lying:
            self.facts |= {f"{fact} {order}" for fact in facts}
            self.facts -= {f"{fact} {order}" for fact in gone}


def desk_domain() -> Domain:
    domain = Domain("desk", types=["order"])
    domain.action("find", {"o": "order"}, provides=["known(o)"], tags=["read_only"], description="Look an order up.")
    domain.action("pack", {"o": "order"}, requires=["known(o)"], provides=["packed(o)"])
    domain.action("unpack", {"o": "order"}, requires=["packed(o)"], provides=["not packed(o)"])
    domain.action("ship", {"o": "order"}, requires=["packed(o)"], provides=["shipped(o)"], tags=["irreversible"])
    domain.action("courier", {"o": "order"}, requires=["packed(o)"], provides=["shipped(o)"], cost=5)
    domain.action(
        "refund",
        {"o": "order", "reason": str, "amount": int},
        requires=["known(o)"],
        provides=["refunded(o)"],
        tags=["irreversible", "needs_approval"],
    )
    return domain


def desk_world(domain: Domain | None = None, *, watched: bool = True) -> tuple[World, Desk]:
    """Return the world and its truth; without `watched`, nobody sees whether an order is shipped."""
    desk = Desk()
    world = World(domain or desk_domain())

    @world.handler("find")
    def find(o: str) -> ActionResult:
        desk.do("find", o, "known")
        return ActionResult(text=f"{o} costs 7", data={"price": 7})

    world.handler("pack")(lambda o: desk.do("pack", o, "packed"))
    world.handler("unpack")(lambda o: desk.do("unpack", o, gone=("packed",)))
    world.handler("ship")(lambda o: desk.do("ship", o, "shipped"))
    world.handler("courier")(lambda o: desk.do("courier", o, "shipped"))

    @world.handler("refund")
    def refund(o: str, reason: str, amount: int) -> str:
        desk.do("refund", o, "refunded")
        return f"{amount} for {reason}"

    def watch(name: str) -> None:
        world.observer(f"{name}(o)", conclusive=True, settle_within=0)(lambda o: f"{name} {o}" in desk.facts)

    for name in ("known", "packed", "refunded", *(["shipped"] if watched else [])):
        watch(name)
    return world, desk


def desk_problem(world: World, *goal: str, orders: tuple[str, ...] = ("o7", "o8")):
    return Domain.of(world.model).problem("ask", objects=dict.fromkeys(orders, "order"), goal=list(goal))


def priced_domain() -> Domain:
    """Return a domain in which the amount of a refund comes from the look-up."""
    domain = Domain("desk", types=["order"])
    domain.action("find", {"o": "order"}, provides=["known(o)"])
    domain.action(
        "refund",
        {"o": "order", "amount": Annotated[int, From("known(o)", "data.price")]},
        requires=["known(o)"],
        provides=["refunded(o)"],
    )
    return domain
