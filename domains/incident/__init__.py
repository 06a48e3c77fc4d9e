"""Incidents: find the cause along dependencies, repair it, escalate, tell the customers, learn from it.

Tasks and methods declared in YAML (`domain.yaml`). What it shows: alternatives with preconditions, escalation up a
line of managers and diagnosis down a line of dependencies as recursion, and subtasks in a partial order.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from htn.model import HtnDomain, HtnProblem, seal_problem, sequence
from htn.problem_kind import resolve
from planner.language.declare import Domain
from planner.language.documents import read_documents
from planner.language.loading.load import LazyProblems
from planner.model import Atom

if TYPE_CHECKING:
    from htn.testing import HtnCase


@cache
def domain() -> HtnDomain:
    """Return the domain."""
    (found,) = read_documents(Path(__file__).with_name("domain.yaml")).domains
    assert isinstance(found, HtnDomain)
    return found


def problems() -> Mapping[str, HtnProblem]:
    """Return the shipped problems by name, from easy to hard; each is made when it is looked up."""
    return LazyProblems(
        {
            "shop": shop,
            "release": release,
            "chain": partial(generate, 1, 4),
            "platform": partial(generate, 2, 8),
            "region": partial(generate, 3, 16),
        }
    )


def incident(
    name: str,
    *,
    needs: Iterable[tuple[str, str]],
    down: Iterable[str],
    facts: Iterable[str],
    affected: str,
    customers: Iterable[str],
    goal: Iterable[str] = (),
) -> HtnProblem:
    """Return the problem to handle one incident that affects one service, which all `customers` use.

    `needs` says which service calls which; ada owns all services, and reports to ben, and he to eve, a manager.
    """
    called = [*needs]
    services = dict.fromkeys([affected, *(each for pair in called for each in pair)])
    people, users = ["ada", "ben", "eve"], [*customers]
    objects = dict.fromkeys(services, "service") | dict.fromkeys(people, "person") | dict.fromkeys(users, "customer")
    classical = Domain.of(domain().classical).problem(
        name,
        objects=objects | {"outage": "incident"},
        initial=[
            *[f"needs({one}, {other})" for one, other in called],
            *[f"down({each})" for each in down],
            *[f"owns(ada, {each})" for each in services],
            *[f"uses({each}, {affected})" for each in users],
            *["reports_to(ada, ben)", "reports_to(ben, eve)", "manager(eve)", f"affects(outage, {affected})"],
            *facts,
        ],
        goal=["written_up(outage)", *goal],
    )
    return seal_problem(resolve(HtnProblem(domain(), classical, sequence(Atom("handle", ("outage",))))))


def shop() -> HtnProblem:
    """Return an incident whose cause lies two services below; nobody has to be asked."""
    return incident(
        "shop",
        needs=[("shop", "cart"), ("cart", "store")],
        down=["shop", "cart", "store"],
        facts=["on_call(ada)", "on_call(eve)"],
        affected="shop",
        customers=["acme"],
    )


def release() -> HtnProblem:
    """Return an incident after a release: a replica would be quicker, but is to be there still at the end."""
    return incident(
        "release",
        needs=[("shop", "store")],
        down=["shop", "store"],
        facts=["changed(store)", "replicated(store)", "on_call(ada)", "on_call(eve)"],
        affected="shop",
        customers=["acme", "wile"],
        goal=["replicated(store)"],
    )


def silent_managers() -> HtnProblem:
    """Return a problem without a plan: a new version has broken the service, and no manager answers."""
    return incident(
        "silent",
        needs=[],
        down=["shop"],
        facts=["changed(shop)", "on_call(ada)", "on_call(ben)"],
        affected="shop",
        customers=["acme"],
    )


def generate(seed: int, size: int) -> HtnProblem:
    """Return a random problem with `size` services; the same seed and size give the same problem.

    Each service but the first is needed by one before it. Some are down, and so are all that need them.
    """
    rng = random.Random(f"incident {seed} {size}")
    services = [f"service{n}" for n in range(1, size + 1)]
    caller = {services[n]: rng.choice(services[max(0, n - 3) : n]) for n in range(1, size)}
    broken = rng.sample(services, 1 + size // 3)
    down = {services[0]: None}
    for each in broken:
        service: str | None = each
        while service is not None:
            down[service] = None
            service = caller.get(service)
    facts = [f"changed({each})" for each in broken[::2]] + [f"replicated({each})" for each in broken[1::2]]
    facts += ["on_call(eve)", *[f"on_call({each})" for each in ("ada", "ben") if rng.random() < 0.5]]
    return incident(
        f"incident-{seed}-{size}",
        needs=[(one, each) for each, one in caller.items()],
        down=down,
        facts=facts,
        affected=services[0],
        customers=[f"customer{n}" for n in range(1, 2 + size // 4)],
    )


SHOP = """
acknowledge(outage)
notify(acme, outage)
read_logs(store)
restart(store)
read_logs(cart)
restart(cart)
read_logs(shop)
restart(shop)
write_up(outage)
"""

ESCALATION = """
page(ada)
try_to_page(ben)
page(eve)
approve(eve, store)
"""

RELEASE = f"""
acknowledge(outage)
read_logs(store)
{ESCALATION}
roll_back(store)
notify(acme, outage)
read_logs(shop)
restart(shop)
notify(wile, outage)
write_up(outage)
"""


def cases() -> tuple[HtnCase, ...]:
    """Return the optima, plans and invalid plans of the small problems, for tests."""
    from htn.testing import HtnCase

    return (
        HtnCase(
            "shop",
            shop(),
            17,
            valid=(SHOP,),
            invalid=(
                (SHOP.replace("read_logs(store)\n", ""), "inspected(store)"),
                (SHOP.replace("restart(store)\n", ""), "not (needs(cart, store) and down(store))"),
                (SHOP.replace("notify(acme, outage)\n", ""), "no decomposition of the tasks gives these steps"),
                ("write_up(outage)" + SHOP.replace("write_up(outage)\n", ""), "no decomposition"),
            ),
        ),
        HtnCase(
            "release",
            release(),
            22,
            valid=(RELEASE,),
            invalid=(
                (RELEASE.replace("approve(eve, store)", ""), "approved(store)"),
                (RELEASE.replace("try_to_page(ben)\n", ""), "no decomposition"),
                (
                    RELEASE.replace("read_logs(store)", "").replace("roll_back(store)", "fail_over(store)"),
                    "replicated(store), which was retracted by step",
                ),
            ),
        ),
        HtnCase("no manager answers", silent_managers(), None),
    )
