"""An operations runbook: announce, drain, back up, migrate, deploy, verify, enable, roll back, close.

Declared in YAML (`domain.yaml`). What it shows: steps that must have run before (`after`), what cannot be undone
(`irreversible`), evidence that goes stale when a host changes, and rules that keep a service up at every moment.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from planner.language.declare import Domain
from planner.language.documents import read_documents
from planner.language.loading.load import LazyProblems
from planner.model import DomainModel, Problem

if TYPE_CHECKING:
    from planner.testing import Case


@cache
def domain() -> DomainModel:
    """Return the domain."""
    (found,) = read_documents(Path(__file__).with_name("domain.yaml")).classical_domains
    return found


def problems() -> Mapping[str, Problem]:
    """Return the shipped problems by name, from easy to hard; each is made when it is looked up."""
    return LazyProblems(
        {
            "patch": patch,
            "bridge": bridge,
            "pair": partial(generate, 1, 2),
            "cluster": partial(generate, 2, 4),
            "fleet": partial(generate, 3, 8),
            "platform": partial(generate, 4, 16),
            "region": partial(generate, 5, 40),
        }
    )


@dataclass(frozen=True, slots=True)
class Service:
    """A service with its hosts and how its versions and schemas fit together.

    Versions and schemas are counted from 1; `fits` lists which work together. The service runs the first version on the
    first schema, and is to run the last version on the last schema.
    """

    name: str
    hosts: int
    versions: int
    schemas: int
    fits: tuple[tuple[int, int], ...]

    def objects(self) -> dict[str, str]:
        """Return the objects of the service by name."""
        kinds = {"host": self.hosts, "version": self.versions, "schema": self.schemas}
        named = {self._part(kind, n): kind for kind, count in kinds.items() for n in range(1, count + 1)}
        return {self.name: "service", f"{self.name}-data": "database"} | named

    def initial(self) -> Iterator[str]:
        """Yield the initial facts."""
        yield f"keeps({self.name}, {self.name}-data)"
        yield f"layout({self.name}-data, {self._part('schema', 1)})"
        for number in range(1, self.hosts + 1):
            host = self._part("host", number)
            yield from (f"runs({host}, {self.name})", f"serving({host})")
            yield f"release({host}, {self._part('version', 1)})"
        for version, schema in self.fits:
            yield f"works_with({self._part('version', version)}, {self._part('schema', schema)})"
        for number in range(1, self.versions + 1):
            yield f"built({self._part('version', number)}, {self.name})"
        for number in range(1, self.schemas):
            yield f"follows({self._part('schema', number + 1)}, {self._part('schema', number)})"

    def goal(self) -> Iterator[str]:
        """Yield what is to be reached."""
        for number in range(1, self.hosts + 1):
            yield f"release({self._part('host', number)}, {self._part('version', self.versions)})"
        yield f"layout({self.name}-data, {self._part('schema', self.schemas)})"
        yield f"closed({self.name})"

    def _part(self, kind: str, number: int) -> str:
        return f"{self.name}-{kind}{number}"


def problem_of(name: str, services: list[Service]) -> Problem:
    """Return the problem to bring all `services` to their last versions and schemas."""
    return Domain.of(domain()).problem(
        name,
        objects={name: kind for service in services for name, kind in service.objects().items()},
        initial=[fact for service in services for fact in service.initial()],
        goal=[part for service in services for part in service.goal()],
    )


def patch() -> Problem:
    """Return the smallest change: two hosts, a new version, and a database that stays as it is."""
    return problem_of("patch", [Service("shop", 2, 2, 1, ((1, 1), (2, 1)))])


def bridge() -> Problem:
    """Return a change that only a version between can span: a host that serves meanwhile is deployed to twice."""
    return problem_of("bridge", [Service("shop", 2, 3, 2, ((1, 1), (2, 1), (2, 2), (3, 2)))])


def generate(seed: int, size: int) -> Problem:
    """Return a random problem with `size` hosts; the same seed and size give the same problem.

    Services have two to four hosts; half of them have to cross a migration, some of these over a version between.
    """
    rng = random.Random(f"runbook {seed} {size}")
    services: list[Service] = []
    left = max(size, 2)
    while left:
        hosts = left if left < 4 else rng.choice([2, 3, 4] if left > 5 else [2])
        hosts = hosts if left - hosts != 1 else hosts - 1 if hosts > 2 else hosts + 1
        left -= hosts
        services.append(rng.choice(_SHAPES)(f"service{len(services) + 1}", hosts))
    return problem_of(f"runbook-{seed}-{size}", services)


_SHAPES = (
    lambda name, hosts: Service(name, hosts, 2, 1, ((1, 1), (2, 1))),
    lambda name, hosts: Service(name, hosts, 2, 2, ((1, 1), (1, 2), (2, 2))),
    lambda name, hosts: Service(name, hosts, 2, 2, ((1, 1), (2, 1), (2, 2))),
    lambda name, hosts: Service(name, hosts, 3, 2, ((1, 1), (2, 1), (2, 2), (3, 2))),
)
"""No migration; migrate first; deploy first; cross over a version between."""


def _upgrade_host(host: int, old: int, new: int, schema: int) -> str:
    """Return the steps that bring one host of the shop from an old version to a new one."""
    one, other = f"shop-host{host}", f"shop-host{3 - host}"
    where = f"shop-version{new}, shop-data, shop-schema{schema}"
    return f"""
drain({one}, {other}, shop)
deploy({one}, shop, shop-version{old}, shop-version{new})
verify({one}, shop, {where})
enable({one}, shop, {where})
"""


PATCH = f"announce(shop)\n{_upgrade_host(1, 1, 2, 1)}{_upgrade_host(2, 1, 2, 1)}close(shop)"
MIGRATION = "back_up(shop-data)\nmigrate(shop-data, shop-schema1, shop-schema2, shop)\n"
BRIDGE = (
    "announce(shop)\n"
    + _upgrade_host(1, 1, 2, 1)
    + "drain(shop-host2, shop-host1, shop)\n"
    + MIGRATION
    + _upgrade_host(2, 1, 3, 2).replace("drain(shop-host2, shop-host1, shop)", "")
    + _upgrade_host(1, 2, 3, 2)
    + "close(shop)"
)


def cases() -> tuple[Case, ...]:
    """Return the optima, plans and invalid plans of the small problems, for tests."""
    from planner.testing import Case

    return (
        Case(
            "patch",
            patch(),
            18,
            valid=(PATCH,),
            invalid=(
                (PATCH.replace("announce(shop)", ""), "announced(shop)"),
                (PATCH.replace("verify(shop-host1", "verify(shop-host2"), "not serving(shop-host2)"),
                (
                    PATCH.replace("enable(shop-host2, shop, shop-version2, shop-data, shop-schema1)", ""),
                    "serving(shop-host2)",
                ),
                (
                    PATCH.replace("verify(shop-host2, shop, shop-version2, shop-data, shop-schema1)", "").replace(
                        "enable(shop-host2",
                        "roll_back(shop-host2, shop, shop-version1, shop-version2)\nenable(shop-host2",
                    ),
                    "release(shop-host2, shop-version2), which was retracted by step 8",
                ),
                (
                    PATCH.replace(
                        "deploy(shop-host1",
                        "roll_back(shop-host1, shop, shop-version1, shop-version1)\ndeploy(shop-host1",
                    ),
                    "it comes after deploy(shop-host1, shop, shop-version1, shop-version1)",
                ),
            ),
        ),
        Case(
            "bridge",
            bridge(),
            35,
            valid=(BRIDGE,),
            invalid=(
                (BRIDGE.replace("back_up(shop-data)", ""), "backed_up(shop-data)"),
                (f"announce(shop)\n{_upgrade_host(1, 1, 2, 1)}{MIGRATION}", "works_with(shop-version1, shop-schema2)"),
            ),
        ),
        Case(
            "one host alone can never be taken out",
            problem_of("alone", [Service("shop", 1, 2, 1, ((1, 1), (2, 1)))]),
            None,
            invalid=(("announce(shop)\ndrain(shop-host1, shop-host1, shop)", "shop-host1 != shop-host1"),),
        ),
    )
