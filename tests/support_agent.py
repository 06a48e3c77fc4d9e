"""A support agent for damaged orders, whose world is a SQLite file: actions, handlers, observers."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import BaseModel

from executor import ActionResult, ExecutionPolicy, World
from planner import Domain, Entity, From, Problem


class Customer(Entity): ...


class Order(Entity): ...


class Ticket(Entity): ...


class OrderRecord(BaseModel):
    order: str
    amount: Decimal
    sku: str
    items: list[str] = []


class Address(BaseModel):
    email: str
    lang: Literal["en", "de"] = "en"


support = Domain("support", description="Damaged orders are made good.")


# glue
def connect() -> sqlite3.Connection:
    return sqlite3.connect(os.environ["SUPPORT_DB"], timeout=10, isolation_level=None)


def create_tables() -> None:
    with closing(connect()) as db:
        db.execute("create table if not exists fact (name, a, b default '', unique (name, a, b))")
        db.execute("create table if not exists calls (tool, arguments)")


def write(sql: str, *values: object) -> None:
    with closing(connect()) as db:
        db.execute(sql, [str(each) for each in values])


def put(name: str, a: Entity | str, b: Entity | str = "") -> None:
    write("insert or ignore into fact values (?, ?, ?)", name, a, b)


def drop(name: str, a: Entity) -> None:
    write("delete from fact where name = ? and a = ?", name, a)


# end


@support.action(provides=["known(customer)"], tags=["read_only", "idempotent"], cost=1)
async def lookup_customer(customer: Customer) -> Address:
    """Look the address of a customer up."""
    put("known", customer)
    return Address(email=f"{customer}@example.org")


@support.action(provides=["loaded(order)"], tags=["read_only", "idempotent"], cost=1)
async def fetch_order(order: Order) -> OrderRecord:
    """Read the record of an order."""
    put("loaded", order)
    return OrderRecord(order=order.name, amount=Decimal("19.90"), sku="MUG-1")


@support.action(
    requires=["placed_by(order, customer)", "known(customer)"],
    provides=["open(ticket)", "about(ticket, order)"],
    creates={"ticket": Ticket},
    cost=2,
)
async def open_ticket(customer: Customer, order: Order) -> ActionResult:
    """Open a ticket of a customer about an order."""
    ticket = Ticket(f"t-{order}")
    put("open", ticket)
    put("about", ticket, order)
    return ActionResult(text=f"opened for {customer}", created={"ticket": ticket}, data={"id": ticket.name})


@support.action(requires=["loaded(order)"], provides=["assessed(order)"], tags=["idempotent"], cost=3)
async def assess_damage(
    order: Order, record: Annotated[OrderRecord, From("loaded(order)", "data")]
) -> dict[str, object]:
    """Judge the damage by a picture."""
    put("assessed", order)
    return {"severity": "3", "sku": record.sku}


@support.action(
    requires=["loaded(order)"],
    provides=["stock_checked(order)"],
    tags=["read_only", "idempotent"],
    cost=1,
    duration=2,
)
async def check_stock(order: Order, sku: Annotated[str, From("loaded(order)", "data.sku")]) -> dict[str, object]:
    """Count what is left."""
    put("stock_checked", order)
    return {"sku": sku, "left": 4}


@support.action(
    requires=["open(ticket)", "about(ticket, order)", "assessed(order)"],
    provides=["drafted(ticket)"],
    tags=["idempotent"],
    cost=2,
)
async def draft_reply(ticket: Ticket, order: Order, tone: Literal["formal", "warm"] = "warm") -> dict[str, str]:
    """Write a reply."""
    put("drafted", ticket)
    return {"text": f"About {order} ({tone}) ..."}


@support.action(
    requires=["drafted(ticket)", "compensated(order)", "about(ticket, order)"], provides=["replied(ticket)"], cost=1
)
async def send_reply(ticket: Ticket, order: Order, text: Annotated[str, From("drafted(ticket)", "data.text")]) -> str:
    """Send the reply."""
    put("replied", ticket)
    return f"{order}: {text}"


@support.action(
    requires=["loaded(order)", "assessed(order)", "placed_by(order, customer)", "known(customer)"],
    provides=["refunded(order)", "compensated(order)"],
    tags=["irreversible", "needs_approval"],
    cost=4,
    uses={"money": 20},
)
async def refund_payment(
    customer: Customer, order: Order, amount: Annotated[Decimal, From("loaded(order)", "data.amount")]
) -> str:
    """Pay the price back."""
    with closing(connect()) as db, db:
        db.execute("begin")
        db.execute("insert into calls values ('PAID', ?)", [order.name])
        db.executemany("insert into fact values (?, ?, '')", [("refunded", order.name), ("compensated", order.name)])
    return f"paid {amount} to {customer}"


@support.action(requires=["stock_checked(order)"], provides=["reserved(order)"], cost=2)
async def reserve_stock(order: Order) -> None:
    """Put a mug aside."""
    put("reserved", order)


@support.action(requires=["reserved(order)"], provides=["not reserved(order)"], cost=1)
async def release_stock(order: Order) -> None:
    """Put the mug back."""
    drop("reserved", order)


@support.action(
    requires=["reserved(order)", "assessed(order)"],
    provides=["shipped(order)", "compensated(order)"],
    cost=5,
    uses={"money": 8},
)
async def ship_replacement(order: Order) -> None:
    """Send another mug."""
    put("shipped", order)
    put("compensated", order)


@support.action(requires=["replied(ticket)", "open(ticket)"], provides=["closed(ticket)", "not open(ticket)"], cost=1)
async def close_ticket(ticket: Ticket) -> None:
    """Close a ticket."""
    put("closed", ticket)
    drop("open", ticket)


@support.action(requires=["known(customer)"], provides=["tagged(customer)"], tags=["idempotent"], cost=1)
async def tag_customer(customer: Customer) -> None:
    """Mark a customer for care."""
    put("tagged", customer)


@support.action(requires=["assessed(order)"], provides=["ops_told(order)"], tags=["idempotent"], cost=3)
async def notify_ops(order: Order) -> None:
    """Tell the warehouse."""
    put("ops_told", order)


world = World(support)
world.policy("check_stock", ExecutionPolicy(timeout=20))
world.policy("assess_damage", ExecutionPolicy(retries=2, backoff=0.05))


# glue
@world.around
async def log_calls(call, proceed):
    """Write each call down before it is made."""
    values = ",".join(str(each) for each in call.arguments.values())
    write("insert into calls values (?, ?)", call.action.name, values)
    return await proceed()


# end
# observers
SINGLE = [f"{name}(x)" for name, each in support.model.predicates.items() if len(each.parameters) == 1]
FACT = "select 1 from fact where name = :predicate and a = "
world.observe_sql(SINGLE, FACT + ":x", connect, conclusive=True)
world.observe_sql("about(ticket, order)", FACT + ":ticket and b = :order", connect, conclusive=True)
# end


def make_problem(goal: object = None, **more: object) -> Problem:
    """Return the problem of a damaged mug; by default, a ticket about `o1` is to be closed."""
    return support.problem(
        "damaged-mug",
        objects=[Customer("ada"), Customer("bob"), Order("o1"), Order("o2")],
        initial=["placed_by(o1, ada)", "placed_by(o2, bob)"],
        goal=goal or "(exists (?t - Ticket) (and (closed ?t) (about ?t o1)))",
        **more,
    )
