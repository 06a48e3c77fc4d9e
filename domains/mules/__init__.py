"""Mules: robots carry crates between sites on a battery, and the more they carry, the more charge each metre takes.

Declared in Python. What it shows: effects that depend on the state (`load`), conditions that
compare sums, bounds that steps keep by themselves, and decimals.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import cache, partial
from typing import TYPE_CHECKING

from planner.language.declare import Domain, Entity
from planner.language.loading.load import LazyProblems
from planner.model import Atom, DomainModel, Problem

if TYPE_CHECKING:
    from planner.testing import Case


class Mule(Entity):
    """A robot that carries crates."""


class Crate(Entity):
    """Something to be carried."""


class Site(Entity):
    """A place where mules stop and crates lie."""


class Station(Site):
    """A site where mules can be charged."""


@cache
def domain() -> DomainModel:
    """Return the domain."""
    mules = Domain("mules", description="Carry crates between sites on a battery.")
    at = mules.predicate("at", mule=Mule, site=Site)
    lies = mules.predicate("lies", crate=Crate, site=Site, description="the crate is at the site, on no mule")
    on = mules.predicate("on", crate=Crate, mule=Mule)
    track = mules.predicate("track", origin=Site, target=Site)
    mules.function("charge", Mule, low=0, description="what is left in the battery")
    mules.function("battery", Mule, description="what the battery takes")
    mules.function("load", Mule, low=0, description="the weight of what the mule carries")
    mules.function("payload", Mule, description="the most that the mule carries")
    mules.function("weight", Crate)
    mules.function("distance", Site, Site)

    mules.action(
        "go",
        {"mule": Mule, "origin": Site, "target": Site},
        requires=[at("mule", "origin"), track("origin", "target")],
        provides=[at("mule", "target")],
        modifies=[at("mule", "_"), "charge(mule) -= distance(origin, target) * (1 + load(mule) / 20)"],
        cost="distance(origin, target)",
        description="Go along a track; a load of 20 doubles what that takes of the charge.",
        similes=["walk", "drive"],
    )
    mules.action(
        "recharge",
        {"mule": Mule, "station": Station},
        requires=[at("mule", "station"), "charge(mule) < battery(mule)"],
        modifies="charge(mule) := battery(mule)",
        cost=3,
        description="Charge the battery until it is full.",
        similes=["plug in"],
    )
    mules.action(
        "take",
        {"mule": Mule, "crate": Crate, "site": Site},
        requires=[at("mule", "site"), lies("crate", "site"), "load(mule) + weight(crate) <= payload(mule)"],
        provides=[on("crate", "mule")],
        modifies=[lies("crate", "_"), "load(mule) += weight(crate)"],
        description="Load a crate.",
        similes=["pick up", "load"],
    )
    mules.action(
        "leave",
        {"mule": Mule, "crate": Crate, "site": Site},
        requires=[at("mule", "site"), on("crate", "mule")],
        provides=[lies("crate", "site")],
        modifies=[on("crate", "_"), "load(mule) -= weight(crate)"],
        description="Unload a crate.",
        similes=["put down", "unload"],
    )
    return mules.model


Amount = int | str
"""A number, or the text of a decimal."""
Tracks = Mapping[tuple[str, str], Amount]
"""The length of each track, which is open both ways."""


def problems() -> Mapping[str, Problem]:
    """Return the shipped problems by name, from easy to hard; each is made when it is looked up."""
    return LazyProblems(
        {
            "one-crate": one_crate,
            "two-crates": two_crates,
            "yard": partial(generate, 1, 3),
            "quarry": partial(generate, 2, 4),
            "port": partial(generate, 3, 6),
            "valley": partial(generate, 4, 9),
            "coast": partial(generate, 5, 12),
        }
    )


def transport(
    name: str,
    tracks: Tracks,
    stations: Iterable[str],
    mules: Mapping[str, tuple[str, Amount, Amount, Amount]],
    crates: Mapping[str, tuple[str, str, Amount]],
) -> Problem:
    """Return the problem to bring each crate from its first site to its second.

    `mules` has for each mule its site, its charge, the most that its battery takes, and the most that it carries;
    `crates` has the weight of each crate, too.
    """
    sites = dict.fromkeys(site for ends in tracks for site in ends)
    charging = set(stations)
    both_ways = {(a, b): length for one, length in tracks.items() for a, b in (one, one[::-1])}
    values: dict[str | Atom, Amount] = {f"distance({a}, {b})": length for (a, b), length in both_ways.items()}
    for mule, (_, charge, battery, payload) in mules.items():
        values |= {f"charge({mule})": charge, f"battery({mule})": battery}
        values |= {f"payload({mule})": payload, f"load({mule})": 0}
    values |= {f"weight({crate})": weight for crate, (_, _, weight) in crates.items()}
    return Domain.of(domain()).problem(
        name,
        objects={
            **{site: "Station" if site in charging else "Site" for site in sites},
            **dict.fromkeys(mules, "Mule"),
            **dict.fromkeys(crates, "Crate"),
        },
        initial=[
            *[f"track({origin}, {target})" for origin, target in both_ways],
            *[f"at({mule}, {site})" for mule, (site, *_) in mules.items()],
            *[f"lies({crate}, {site})" for crate, (site, _, _) in crates.items()],
        ],
        goal=[f"lies({crate}, {site})" for crate, (_, site, _) in crates.items()],
        values=values,
    )


def one_crate(*, charge: Amount = 12) -> Problem:
    """Return the smallest transport: a crate from the quarry, for which the mule must be charged on the way."""
    return transport(
        "one-crate",
        {("shed", "fork"): "2.5", ("fork", "quarry"): 6, ("fork", "mast"): 1},
        ["mast"],
        {"m1": ("shed", charge, 30, 40)},
        {"stone": ("quarry", "shed", 20)},
    )


def two_crates() -> Problem:
    """Return a transport of two crates that are too heavy together for the way from the last station to the tower.

    After the heavier one, not enough charge is left for the way back: it must come last.
    """
    return transport(
        "two-crates",
        {("dock", "hall"): 4, ("hall", "tower"): 9},
        ["hall"],
        {"m1": ("dock", 22, 25, 50)},
        {"mast": ("dock", "tower", 30), "cable": ("dock", "tower", 10)},
    )


def generate(seed: int, size: int) -> Problem:
    """Return a random problem with `size` crates; the same seed and size give the same problem.

    Sites form a tree with some more tracks, four sites for three crates; every third is a station, and no track is so
    long that a full battery would not do for the heaviest crate and the way to the next station.
    """
    rng = random.Random(f"mules {seed} {size}")
    sites = [f"site{n}" for n in range(1, 3 + size * 4 // 3)]
    stations = sites[::3]
    tracks: dict[tuple[str, str], Amount] = {}
    for number in range(1, len(sites)):
        nearest = [site for site in sites[:number] if site in stations]
        tracks[rng.choice(nearest), sites[number]] = str(Decimal(rng.randint(4, 16)) / 2)
    for _ in range(len(sites) // 3):
        one, other = sorted(rng.sample(sites, 2), key=sites.index)
        tracks.setdefault((one, other), str(Decimal(rng.randint(4, 16)) / 2))
    mules = {
        f"mule{n}": (rng.choice(sites), rng.randint(15, 30), 40, rng.choice((20, 30, 40)))
        for n in range(1, 2 + size // 4)
    }
    crates: dict[str, tuple[str, str, Amount]] = {}
    for number in range(1, size + 1):
        origin, target = rng.sample(sites, 2)
        crates[f"crate{number}"] = (origin, target, 5 * rng.randint(1, 4))
    return transport(f"mules-{seed}-{size}", tracks, stations, mules, crates)


ONE_CRATE = """
go(m1, shed, fork)
go(m1, fork, mast)
recharge(m1, mast)
go(m1, mast, fork)
go(m1, fork, quarry)
take(m1, stone, quarry)
go(m1, quarry, fork)
go(m1, fork, shed)
leave(m1, stone, shed)
"""

CABLE_FIRST = """
take(m1, cable, dock)
take(m1, mast, dock)
go(m1, dock, hall)
recharge(m1, hall)
leave(m1, mast, hall)
go(m1, hall, tower)
leave(m1, cable, tower)
go(m1, tower, hall)
take(m1, mast, hall)
recharge(m1, hall)
go(m1, hall, tower)
leave(m1, mast, tower)
"""

ONE_BY_ONE = """
take(m1, mast, dock)
go(m1, dock, hall)
leave(m1, mast, hall)
go(m1, hall, dock)
take(m1, cable, dock)
go(m1, dock, hall)
recharge(m1, hall)
go(m1, hall, tower)
leave(m1, cable, tower)
go(m1, tower, hall)
take(m1, mast, hall)
recharge(m1, hall)
go(m1, hall, tower)
leave(m1, mast, tower)
"""


def cases() -> tuple[Case, ...]:
    """Return the optima, plans and invalid plans of the small problems, for tests."""
    from planner.testing import Case

    return (
        Case(
            "one-crate",
            one_crate(),
            24,
            valid=(ONE_CRATE,),
            invalid=(
                (ONE_CRATE.replace("recharge(m1, mast)", ""), "but charge(m1) is 1.5"),
                (ONE_CRATE.replace("take(m1, stone, quarry)", ""), "on(stone, m1)"),
                ("go(m1, shed, fork)\nrecharge(m1, fork)", "'fork' is of type Site"),
            ),
        ),
        Case(
            "two-crates",
            two_crates(),
            43,
            valid=(CABLE_FIRST, ONE_BY_ONE),
            invalid=(
                (CABLE_FIRST.replace("leave(m1, mast, hall)", ""), "load(m1) is 40"),
                (CABLE_FIRST.replace("mast", "rope").replace("cable", "mast").replace("rope", "cable"), "charge(m1)"),
                (CABLE_FIRST.replace("leave(m1, cable, tower)", ""), "load(m1)"),
            ),
        ),
        Case("mules-1-2", generate(1, 2), 35),
        Case("the mule cannot get to the mast", one_crate(charge=3), None, invalid=((ONE_CRATE, "charge(m1) is 0.5"),)),
    )
