"""Purchasing: an agent orders what is to be in stock, at suppliers' prices, from accounts that are never overdrawn.

Declared in YAML. What it shows: numbers with bounds, conditions that compare sums, prices that are not given where a
supplier has nothing to sell, and a metric of money and effort.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from decimal import Decimal
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from planner.language.declare import Domain
from planner.language.documents import read_documents
from planner.language.loading.load import LazyProblems
from planner.model import Atom, DomainModel, Problem

if TYPE_CHECKING:
    from planner.testing import Case

Amount = int | str
"""A number, or the text of a decimal."""
Offers = Mapping[str, Mapping[str, tuple[Amount, int]]]
"""For each supplier and item, the price of a pack and how many come in it."""


@cache
def domain() -> DomainModel:
    """Return the domain."""
    (found,) = read_documents(Path(__file__).with_name("domain.yaml")).classical_domains
    return found


def problems() -> Mapping[str, Problem]:
    """Return the shipped problems by name, from easy to hard; each is made when it is looked up."""
    return LazyProblems(
        {
            "paper": paper,
            "office": office,
            "week": partial(generate, 1, 2),
            "month": partial(generate, 2, 3),
            "quarter": partial(generate, 3, 5),
            "half-year": partial(generate, 4, 8),
            "year": partial(generate, 5, 14),
        }
    )


def purchase(
    name: str,
    offers: Offers,
    levels: Mapping[str, tuple[int, int, int]],
    accounts: Mapping[str, tuple[Amount, Amount, str]],
    *,
    forms: int = 1,
) -> Problem:
    """Return the problem to have enough of every item, with no order left open.

    `levels` has for each item how many there are, how many are wanted, and how many can be stored; `accounts` has for
    each account its balance, its limit, and who heads it. There are `forms` for orders from each supplier.
    """
    orders = {f"{supplier}-{n}": supplier for supplier in offers for n in range(1, forms + 1)}
    kinds: dict[str, list[str]] = {
        "item": [*levels],
        "supplier": [*offers],
        "order": [*orders],
        "account": [*accounts],
        "person": [*dict.fromkeys(head for _, _, head in accounts.values())],
    }
    values: dict[str | Atom, Amount] = {"spent": 0, **{f"total({order})": 0 for order in orders}}
    for item, (there, _, room) in levels.items():
        values |= {f"stock({item})": there, f"room({item})": room}
    for account, (balance, limit, _) in accounts.items():
        values |= {f"balance({account})": balance, f"limit({account})": limit}
    for supplier, sold in offers.items():
        for item, (price, pack) in sold.items():
            values |= {f"price({supplier}, {item})": price, f"pack({supplier}, {item})": pack}
    return Domain.of(domain()).problem(
        name,
        objects={each: kind for kind, names in kinds.items() for each in names},
        initial=[
            *[
                fact
                for order, supplier in orders.items()
                for fact in (f"blank({order})", f"form_of({order}, {supplier})")
            ],
            *[f"heads({head}, {account})" for account, (_, _, head) in accounts.items()],
        ],
        goal=[
            *[f"stock({item}) >= {wanted}" for item, (_, wanted, _) in levels.items()],
            "(forall (?order - order) (not (open ?order)))",
        ],
        values=values,
        metric="minimize spent + 2 * total-cost",
    )


def paper(*, balance: Amount = 60) -> Problem:
    """Return the smallest purchase: paper for one account, within its limit."""
    return purchase(
        "paper",
        {"berger": {"paper": ("19.90", 5)}},
        {"paper": (2, 10, 20)},
        {"office": (balance, 50, "ines")},
    )


def office(*, balance: Amount = 150) -> Problem:
    """Return a purchase of two items, where one order needs approval; the cheap supplier sells large packs."""
    return purchase(
        "office",
        {
            "berger": {"paper": ("19.90", 5), "toner": (65, 1)},
            "grossmann": {"paper": ("59.00", 20)},
        },
        {"paper": (2, 20, 25), "toner": (0, 2, 4)},
        {"office": (balance, 100, "ines"), "it": (100, 80, "omar")},
    )


def generate(seed: int, size: int) -> Problem:
    """Return a random problem with `size` items; the same seed and size give the same problem.

    There is a supplier for every two items, and an account for every three. Every item is sold by one supplier at
    least, in packs that fit, and the accounts have enough for the dearest of everything.
    """
    rng = random.Random(f"purchasing {seed} {size}")
    items = [f"item{n}" for n in range(1, size + 1)]
    suppliers = [f"supplier{n}" for n in range(1, 2 + size // 2)]
    offers: dict[str, dict[str, tuple[str, int]]] = {each: {} for each in suppliers}
    levels = {}
    needed = Decimal(0)
    for item in items:
        there, wanted = rng.randint(0, 3), rng.randint(4, 12)
        packs = []
        for supplier in rng.sample(suppliers, min(len(suppliers), rng.randint(1, 2))):
            pack, price = rng.choice((1, 2, 5)), Decimal(rng.randint(50, 900)) / 100
            offers[supplier][item] = (str(price * pack), pack)
            packs.append((price * pack * -(-(wanted - there) // pack), pack))
        levels[item] = (there, wanted, wanted + max(pack for _, pack in packs))
        needed += max(cost for cost, _ in packs)
    count = 1 + size // 3
    share = int(needed) // count + 100
    accounts: dict[str, tuple[Amount, Amount, str]] = {
        f"account{n}": (share + rng.randint(0, 99), rng.randint(20, 60), f"head{rng.randint(1, count)}")
        for n in range(1, count + 1)
    }
    sold = {supplier: found for supplier, found in offers.items() if found}
    return purchase(f"purchasing-{seed}-{size}", sold, levels, accounts)


PAPER = """
open_order(berger-1, berger, office)
add_line(berger-1, berger, office, paper)
add_line(berger-1, berger, office, paper)
send(berger-1, office)
"""

APPROVED = """
open_order(grossmann-1, grossmann, it)
add_line(grossmann-1, grossmann, it, paper)
send(grossmann-1, it)
open_order(berger-1, berger, office)
add_line(berger-1, berger, office, toner)
add_line(berger-1, berger, office, toner)
approve(berger-1, office, ines)
send(berger-1, office)
"""

TRANSFERRED = """
transfer(it, office)
open_order(grossmann-1, grossmann, office)
add_line(grossmann-1, grossmann, office, paper)
send(grossmann-1, office)
open_order(berger-1, berger, office)
add_line(berger-1, berger, office, toner)
add_line(berger-1, berger, office, toner)
approve(berger-1, office, ines)
send(berger-1, office)
"""


def cases() -> tuple[Case, ...]:
    """Return the optima, plans and invalid plans of the small problems, for tests."""
    from planner.testing import Case

    return (
        Case(
            "paper",
            paper(),
            Decimal("51.80"),
            valid=(PAPER,),
            invalid=(
                (
                    PAPER.replace("add_line(berger-1, berger, office, paper)", "", 1),
                    "but stock(paper) is 7 since step 2",
                ),
                (PAPER.replace("send(berger-1, office)", ""), "not open(berger-1)"),
                ("add_line(berger-1, berger, office, paper)" + PAPER, "open(berger-1)"),
            ),
        ),
        Case(
            "office",
            office(),
            219,
            valid=(APPROVED, TRANSFERRED),
            invalid=(
                (APPROVED.replace("approve(berger-1, office, ines)", ""), "total(berger-1) is 130"),
                (TRANSFERRED.replace("transfer(it, office)", ""), "balance(office) is 26"),
                (APPROVED.replace("approve(berger-1, office, ines)", "approve(berger-1, office, omar)"), "heads"),
            ),
        ),
        Case(
            "there is no money for a second pack",
            paper(balance="39.79"),
            None,
            invalid=((PAPER, "but balance(office) is 19.89"),),
        ),
        Case("month", generate(2, 3), 131),
        Case("both accounts together have too little", office(balance=88), None),
    )
