"""A household robot: fetch, wash up, lay the table, and tidy until everything is in its place.

Tasks and methods in HDDL (`domain.hddl`). What it shows: recursion over rooms and over things, methods that are empty,
and one that applies only where nothing is left to do (`forall`).
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from htn.language.hddl import read_domain, read_problem
from htn.model import HtnDomain, HtnProblem, seal_problem, sequence
from htn.problem_kind import resolve
from planner.language.declare import Domain
from planner.language.loading.load import LazyProblems
from planner.lightweight import replace
from planner.model import Atom

if TYPE_CHECKING:
    from htn.testing import HtnCase


FOLDER: Final = Path(__file__).parent


@cache
def domain() -> HtnDomain:
    """Return the domain."""
    return read_domain(FOLDER / "domain.hddl")


def problems() -> Mapping[str, HtnProblem]:
    """Return the shipped problems by name, from easy to hard; each is made when it is looked up."""
    return LazyProblems(
        {
            "supper": partial(read_shipped_problem, "supper"),
            "guests": partial(read_shipped_problem, "guests"),
            "flat": partial(generate, 1, 3),
            "house": partial(generate, 2, 5),
            "villa": partial(generate, 3, 10),
        }
    )


def read_shipped_problem(name: str) -> HtnProblem:
    """Return the problem of that name in `problems/`."""
    return read_problem(FOLDER / "problems" / f"{name}.hddl", domain())


def unreachable_sink() -> HtnProblem:
    """Return a problem without a plan: no door leads to the kitchen, where the sink is."""
    found = read_shipped_problem("supper")
    kept = tuple([fact for fact in found.classical.initial if fact != Atom("door", ("hall", "kitchen"))])
    return replace(found, classical=replace(found.classical, name="blocked", initial=kept))


def generate(seed: int, size: int) -> HtnProblem:
    """Return a random problem with `size` rooms and as many things; the same seed and size give the same problem.

    Rooms form a tree. Every second thing is a dish, and every second dish is dirty; up to two dishes are laid, and then
    the house is tidied.
    """
    rng = random.Random(f"household {seed} {size}")
    rooms = [f"room{n}" for n in range(1, size + 1)]
    doors = {(rng.choice(rooms[:n]), rooms[n]): rng.randint(1, 4) for n in range(1, size)}
    things = [f"thing{n}" for n in range(1, size // 2 + 1)]
    dishes = [f"dish{n}" for n in range(1, size - size // 2 + 1)]
    both_ways = {(a, b): length for one, length in doors.items() for a, b in (one, one[::-1])}
    classical = Domain.of(domain().classical).problem(
        f"household-{seed}-{size}",
        objects=dict.fromkeys(rooms, "room") | dict.fromkeys(things, "thing") | dict.fromkeys(dishes, "dish"),
        initial=[
            *[f"door({a}, {b})" for a, b in both_ways],
            *[f"at({rng.choice(rooms)})", "(hand-empty)", f"sink({rng.choice(rooms)})"],
            *[f"lies({each}, {rng.choice(rooms)})" for each in (*things, *dishes)],
            *[f"home({each}, {rng.choice(rooms)})" for each in things],
            *[f"dirty({each})" for each in dishes[::2]],
        ],
        goal=[],
        values={f"distance({a}, {b})": length for (a, b), length in both_ways.items()},
    )
    table = rng.choice(rooms)
    laid = [Atom("lay", (dish, table)) for dish in dishes[:2]]
    return seal_problem(resolve(HtnProblem(domain(), classical, sequence(*laid, Atom("tidy")))))


TO_KITCHEN = "walk(parlour, hall)\nwalk(hall, kitchen)\n"
TO_PARLOUR = "walk(kitchen, hall)\nwalk(hall, parlour)\n"

SUPPER = f"""
walk(hall, parlour)
take(plate, parlour)
{TO_KITCHEN}wash(plate, kitchen)
{TO_PARLOUR}set-down(plate, parlour)
{TO_KITCHEN}take(book, kitchen)
{TO_PARLOUR}put(book, parlour)
"""

GUESTS = f"""
take(plate, kitchen)
wash(plate, kitchen)
{TO_PARLOUR}set-down(plate, parlour)
take(bowl, parlour)
{TO_KITCHEN}wash(bowl, kitchen)
{TO_PARLOUR}set-down(bowl, parlour)
walk(parlour, hall)
take(cup, hall)
walk(hall, parlour)
set-down(cup, parlour)
{TO_KITCHEN}take(book, kitchen)
walk(kitchen, hall)
put(book, hall)
"""


def cases() -> tuple[HtnCase, ...]:
    """Return the optima, plans and invalid plans of the small problems, for tests."""
    from htn.testing import HtnCase

    return (
        HtnCase(
            "supper",
            read_shipped_problem("supper"),
            28,
            valid=(SUPPER,),
            invalid=(
                (SUPPER.replace("wash(plate, kitchen)\n", ""), "not dirty(plate)"),
                (SUPPER.replace("walk(hall, parlour)\ntake", "take"), "at(parlour)"),
                (SUPPER.replace("put(book, parlour)", ""), "no decomposition of the tasks gives these steps"),
                (f"{SUPPER}walk(parlour, hall)", "no decomposition of the tasks gives these steps"),
            ),
        ),
        HtnCase(
            "guests",
            read_shipped_problem("guests"),
            26,
            valid=(GUESTS,),
            invalid=(
                (GUESTS.replace("set-down(bowl, parlour)", ""), "hand-empty"),
                (GUESTS.replace("put(book, hall)", f"{TO_PARLOUR}put(book, parlour)"), "at(kitchen)"),
            ),
        ),
        HtnCase("no door leads to the sink", unreachable_sink(), None),
    )
