"""Questions for the tools, from one to a night's work."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from domains.tools.declarations import domain
from planner.language.declare import Domain
from planner.language.loading.load import LazyProblems
from planner.model import Problem

EXPERT, LARGE = 30, 2
"""What an expert and a large model cost."""


def problems() -> Mapping[str, Problem]:
    """Return the shipped problems by name, from easy to hard; each is made when it is looked up."""
    return LazyProblems(
        {
            "one-question": one_question,
            "thrift": thrift,
            "hurry": hurry,
            "outage": outage,
            "morning": partial(generate, 1, 4),
            "day": partial(generate, 2, 10),
            "night": partial(generate, 3, 30),
        }
    )


def questions(
    name: str,
    lengths: Mapping[str, int],
    *,
    pages: Mapping[str, Iterable[str]],
    services: Mapping[str, tuple[int, int, Iterable[str]]],
    keys: Iterable[str] = (),
    known: Iterable[str] = (),
    blocked: Iterable[str] = (),
    **more: Any,
) -> Problem:
    """Return the problem to report answers to all questions, whose texts have so many tokens.

    `pages` are those of each site; `services` map to fee, price and what they serve, and `keys` are for some of them.
    Services are up unless that is `unknown`. Experts can answer what is `known`.
    """
    hidden = more.get("unknown", ())
    return Domain.of(domain()).problem(
        name,
        objects={
            **dict.fromkeys(lengths, "Question"),
            **dict.fromkeys(pages, "Site"),
            **dict.fromkeys(services, "Service"),
        },
        initial=[
            *[f"page({site}, {question})" for site, known in pages.items() for question in known],
            *[f"serves({service}, {question})" for service, (_, _, known) in services.items() for question in known],
            *[fact for service in services if (fact := f"up({service})") not in hidden],
            *[f"key({service})" for service in keys],
            *[f"known({question})" for question in known],
            *[f"blocked({site})" for site in blocked],
        ],
        goal=["reported"],
        values={
            **{f"length({question})": length for question, length in lengths.items()},
            **{f"fee({service})": fee for service, (fee, _, _) in services.items()},
            **{f"price({service})": price for service, (_, price, _) in services.items()},
        },
        **more,
    )


def one_question(*, money: int = 10, tokens: int = 8, served: bool = True) -> Problem:
    """Return the smallest errand: one question, a page that may be blocked, and a service that costs.

    Unless the question is `served`, nothing but the page has its answer, and that has blocked programs already.
    """
    return questions(
        "one-question",
        {"rates": 2},
        pages={"forum": ["rates"]},
        services={"bank": (5, 1, ["rates"] if served else [])},
        blocked=() if served else ["forum"],
        budgets={"money": money, "tokens": tokens},
    )


def thrift() -> Problem:
    """Return an errand whose money does not suffice for all that would save trouble."""
    return questions(
        "thrift",
        {"rates": 2, "taxes": 3, "wages": 4},
        pages={"forum": ["wages"], "wiki": ["rates", "taxes"]},
        services={"bank": (3, 1, ["rates", "wages"]), "office": (0, 3, ["taxes"])},
        keys=["office"],
        known=["wages"],
        budgets={"money": 8, "tokens": 30},
    )


def hurry() -> Problem:
    """Return an errand with a deadline, which leaves time neither for experts nor for new keys."""
    return questions(
        "hurry",
        {"rates": 2, "taxes": 3},
        pages={"wiki": ["rates", "taxes"]},
        services={"bank": (4, 1, ["rates", "taxes"])},
        known=["rates"],
        budgets={"money": 40, "tokens": 30},
        deadline=60,
    )


def outage() -> Problem:
    """Return an errand for which nobody knows which services are up: what is bought had better work."""
    return questions(
        "outage",
        {"rates": 2, "taxes": 1},
        pages={"wiki": ["taxes"]},
        services={"bank": (5, 1, ["rates"]), "fund": (3, 1, ["rates"])},
        unknown=["up(bank)", "up(fund)"],
        likely={"up(bank)": "0.9", "up(fund)": "0.4"},
        budgets={"money": 12, "tokens": 12},
    )


def generate(seed: int, size: int) -> Problem:
    """Return a random problem with `size` questions; the same seed and size give the same problem.

    There is a site for every three questions and a service for every four. The budgets leave room for every fee and
    every price of one service for each question, for trying twice with the models, and for one expert in ten questions.
    """
    rng = random.Random(f"tools {seed} {size}")
    lengths = {f"question{n}": rng.randint(1, 6) for n in range(1, size + 1)}
    pages: dict[str, list[str]] = {f"site{n}": [] for n in range(1, 2 + size // 3)}
    services: dict[str, tuple[int, int, list[str]]] = {
        f"service{n}": (rng.randint(0, 8), rng.randint(1, 3), []) for n in range(1, 2 + size // 4)
    }
    for question in lengths:
        for site in rng.sample(sorted(pages), min(len(pages), rng.randint(0, 2))):
            pages[site].append(question)
        services[rng.choice(sorted(services))][2].append(question)
    money = sum(fee + price * len(known) for fee, price, known in services.values())
    return questions(
        f"tools-{seed}-{size}",
        lengths,
        pages=pages,
        services=services,
        keys=[service for service in services if rng.random() < 0.3],
        known=[question for question in lengths if rng.random() < 0.5],
        budgets={"money": money + LARGE * size + EXPERT * (size // 10), "tokens": 4 * sum(lengths.values())},
    )
