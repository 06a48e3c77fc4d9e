"""The world that the workers of these examples serve: put handlers of your own in its place."""

from executor import World
from planner import Domain

domain = Domain("shop", types=["order"])
domain.action("pack", {"order": "order"}, provides=["packed(order)"], tags=["trusted"])
domain.action("send", {"order": "order"}, requires=["packed(order)"], provides=["sent(order)"], tags=["trusted"])
one_order = domain.problem(objects={"o1": "order"}, goal=["sent(o1)"])
world = World(domain)


@world.handler("pack")
async def pack(order: str) -> None:
    """Pack an order: here is the call to your warehouse."""


@world.handler("send")
async def send(order: str) -> None:
    """Send an order: here is the call to your carrier."""
