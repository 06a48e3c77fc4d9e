"""An operations runbook: a version is rolled out host by host behind a load balancer, with a migration."""

from __future__ import annotations

import functools
import random
from collections.abc import Mapping

from domains.series import Series
from planner.declare import Domain, Entity
from planner.model import Problem
from planner.testing import Case

SIZES = {"two-hosts": 2, "three-hosts": 3, "four-hosts": 4, "six-hosts": 6, "nine-hosts": 9}


class Host(Entity):
    """A machine behind the load balancer."""


class Version(Entity):
    """A version of the service."""


class Database(Entity):
    """A database, with one schema at a time."""


class Schema(Entity):
    """A schema of the database."""


_RUNBOOK = Domain("runbook", description="Roll out a version: drain, deploy, test, let in; back up before migrating.")

_RUNBOOK.predicate("tested(host)", Host, stale_with=["runs(host, _)"], description="as it runs now")
_RUNBOOK.predicate(
    "backup(database)", Database, stale_with=["schema(database, _)"], description="of the schema as it is"
)


def domain() -> Domain:
    """Return the domain."""
    return _RUNBOOK


@_RUNBOOK.action(
    requires=["serving(host)", "(exists (?other - Host) (and (serving ?other) (not (= ?other ?host))))"],
    provides=["not serving(host)"],
    tags=["idempotent"],
    similes=["take_out"],
)
def drain(host: Host) -> None:
    """Take a host out of the load balancer, as long as another one serves."""


@_RUNBOOK.action(
    requires=["not serving(host)", "tested(host)"],
    provides=["serving(host)"],
    tags=["idempotent"],
    similes=["let_in", "undrain"],
)
def enable(host: Host) -> None:
    """Put a tested host back into the load balancer."""


@_RUNBOOK.action(
    requires=["not serving(host)", "runs(host, old)", "built(new)", "old != new"],
    provides=["runs(host, new)"],
    modifies=["runs(host, _)"],
    cost=2,
    similes=["install", "roll_out"],
)
def deploy(host: Host, old: Version, new: Version) -> None:
    """Replace the version on a drained host."""


@_RUNBOOK.action(provides=["built(version)"], cost=3, tags=["idempotent"])
def build(version: Version) -> None:
    """Build a version."""


@_RUNBOOK.action(
    requires=["runs(host, version)", "schema(database, now)", "works_with(version, now)"],
    provides=["tested(host)"],
    tags=["read_only"],
    similes=["smoke_test", "verify"],
)
def test(host: Host, version: Version, database: Database, now: Schema) -> None:
    """Test a host against the database as it is."""


@_RUNBOOK.action(
    requires=["schema(database, now)"], provides=["backup(database)"], cost=2, tags=["idempotent"], similes=["dump"]
)
def back_up(database: Database, now: Schema) -> None:
    """Back the database up."""


@_RUNBOOK.action(
    requires=[
        "backup(database)",
        "schema(database, old)",
        "leads_to(old, new)",
        "(forall (?h - Host ?v - Version) (imply (and (serving ?h) (runs ?h ?v)) (works_with ?v ?new)))",
    ],
    provides=["schema(database, new)"],
    modifies=["schema(database, _)"],
    after=["announce"],
    cost=4,
    tags=["irreversible", "needs_approval"],
)
def migrate(database: Database, old: Schema, new: Schema) -> None:
    """Change the schema; every host that serves must work with the new one."""


@_RUNBOOK.action(provides=["announced"], tags=["idempotent"], similes=["notify"])
def announce(text: str = "") -> None:
    """Tell people what is about to happen."""


def problems() -> Mapping[str, Problem]:
    """Return the problems, from tiny to hard."""
    makers = {name: functools.partial(generate, 17, size) for name, size in SIZES.items()}
    return Series({"rolling": functools.partial(_rolling, 2), "one-host": functools.partial(_rolling, 1), **makers})


def _rolling(hosts: int) -> Problem:
    """Return the task to replace version v1 by v2 on all hosts, the schema as it is."""
    machines = [Host(f"h{number}") for number in range(1, hosts + 1)]
    return _RUNBOOK.problem(
        name="rolling" if hosts > 1 else "one-host",
        objects=[*machines, Version("v1"), Version("v2"), Database("db"), Schema("s1")],
        initial=[
            *[f"serving({host.name})" for host in machines],
            *[f"runs({host.name}, v1)" for host in machines],
            "schema(db, s1)",
            "works_with(v1, s1)",
            "works_with(v2, s1)",
            "built(v1)",
        ],
        goal=[f"{fact}({host.name}{rest})" for host in machines for fact, rest in (("runs", ", v2"), ("serving", ""))],
    )


def generate(seed: int, size: int) -> Problem:
    """Return a problem with `size` hosts, the last version at first on some, and one migration on the way."""
    rng = random.Random(seed)
    hosts = [Host(f"h{number}") for number in range(1, size + 1)]
    ahead = rng.sample(hosts, size // 3)
    runs = [f"runs({host.name}, {'v2' if host in ahead else 'v1'})" for host in hosts]
    works = ["works_with(v1, s1)", "works_with(v2, s1)", "works_with(v2, s2)", "works_with(v3, s2)"]
    goal = [f"runs({host.name}, v3)" for host in hosts] + [f"serving({host.name})" for host in hosts]
    return _RUNBOOK.problem(
        name=f"runbook-{seed}-{size}",
        objects=[*hosts, *map(Version, ["v1", "v2", "v3"]), Database("db"), Schema("s1"), Schema("s2")],
        initial=[
            *[f"serving({h.name})" for h in hosts],
            *runs,
            *works,
            "schema(db, s1)",
            "leads_to(s1, s2)",
            "built(v2)",
        ],
        goal=goal,
    )


def cases() -> list[Case]:
    """Return what is known of some problems."""
    known = problems()

    def replaced(host: str) -> str:
        return f"drain({host})\ndeploy({host}, v1, v2)\ntest({host}, v2, db, s1)\nenable({host})\n"

    return [
        Case(
            "rolling",
            known["rolling"],
            13,
            valid=(f"build(v2)\n{replaced('h1')}{replaced('h2')}",),
            invalid=(
                (f"{replaced('h1')}", "requires built(v2)"),
                ("drain(h1)\ndrain(h2)", "step 2 drain(h2)"),
                ("build(v2)\ndrain(h1)\ndeploy(h1, v1, v2)\nenable(h1)", "requires tested(h1)"),
            ),
        ),
        Case("one-host", known["one-host"], None),
    ]
