"""Problems for the help desk, from one account to a bad Monday."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from functools import partial

from domains.helpdesk.declarations import domain
from planner.language.declare import Domain
from planner.language.loading.load import LazyProblems
from planner.model import Problem

Asked = tuple[str, str, str, bool]
"""A request, who made it, the system that it is about, and whether it is for an account."""


def problems() -> Mapping[str, Problem]:
    """Return the shipped problems by name, from easy to hard; each is made when it is looked up."""
    return LazyProblems(
        {
            "new-account": new_account,
            "outage": outage,
            "hour": partial(generate, 1, 3),
            "morning": partial(generate, 2, 5),
            "day": partial(generate, 3, 8),
            "monday": partial(generate, 4, 12),
            "week": partial(generate, 5, 24),
        }
    )


def new_account(*, team: str | None = "office-it") -> Problem:
    """Return the smallest real errand: somebody wants to use the wiki. Without a `team` for it, nobody can help."""
    return _problem("new-account", [("login", "ada", "wiki", True)], {} if team is None else {"wiki": team}, [])


def outage() -> Problem:
    """Return an errand in which two people report the same failure, for which one ticket will do."""
    asked = [("slow-mail", "ada", "mail", False), ("no-mail", "ben", "mail", False)]
    return _problem("outage", asked, {"mail": "office-it"}, ["mail"])


def _problem(name: str, asked: Iterable[Asked], runs: Mapping[str, str], broken: Iterable[str]) -> Problem:
    asked = list(asked)
    people, systems = [each[1] for each in asked], [*(each[2] for each in asked), *runs]
    kinds = {"Request": [each[0] for each in asked], "Person": people, "System": systems, "Team": runs.values()}
    initial = [*(f"runs({team}, {system})" for system, team in runs.items()), *(f"broken({each})" for each in broken)]
    goal: list[str] = []
    for request, person, system, is_access in asked:
        initial += [f"asked({person}, {request})", f"concerns({request}, {system})"]
        goal += [f"answered({request})", f"(exists (?t - Ticket) (and (tracks ?t {request}) (closed ?t)))"]
        if is_access:
            initial.append(f"wants_access({request})")
            goal.append(f"can_use({person}, {system})")
    objects = {each: kind for kind, names in kinds.items() for each in names}
    return Domain.of(domain()).problem(name, objects=objects, initial=initial, goal=goal)


def generate(seed: int, size: int) -> Problem:
    """Return a random problem with `size` requests; the same seed and size give the same problem.

    About a third of the systems are broken. Requests about these report that; half of the others are for accounts, and
    the rest are complaints about what works again.
    """
    rng = random.Random(f"helpdesk {seed} {size}")
    people = [f"person{number}" for number in range(1, 2 + size // 2)]
    systems = [f"system{number}" for number in range(1, 2 + size // 3)]
    runs = {system: f"team{rng.randint(1, 1 + size // 4)}" for system in systems}
    broken = [system for system in systems if rng.random() < 1 / 3]
    asked: list[Asked] = []
    for number in range(1, size + 1):
        system = rng.choice(systems)
        asked.append((f"request{number}", rng.choice(people), system, system not in broken and rng.random() < 1 / 2))
    return _problem(f"helpdesk-{seed}-{size}", asked, runs, broken)
