"""An agent's tools: pages that block, services that are down, models that answer nonsense, and what all that costs.

Declared in Python. What it shows: `risk` and `outcomes`, alternatives that differ in what they cost and how reliable
they are, budgets on money and tokens, durations and deadlines, services of which nobody knows whether they are up.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from planner.language.declare import Domain, Entity, Outcome
from planner.language.loading.load import LazyProblems
from planner.model import DomainModel, Problem

if TYPE_CHECKING:
    from planner.testing import Case


class Question(Entity):
    """Something to be answered with a source."""


class Site(Entity):
    """A web site with pages, which may block who scrapes them."""


class Service(Entity):
    """A paid service with an interface for programs."""


@cache
def domain() -> DomainModel:
    """Return the domain: costs say how much trouble a step makes, and steps use money and tokens besides."""
    tools = Domain("tools", description="Answer questions with tools that may fail, within budgets.")
    _declare_vocabulary(tools)
    _declare_fetching(tools)
    _declare_answering(tools)
    _declare_reporting(tools)
    return tools.model


def _declare_vocabulary(tools: Domain) -> None:
    tools.predicate("page", site=Site, question=Question, description="the site has a page on the question")
    tools.predicate("blocked", site=Site, description="the site has noticed that a program reads it")
    tools.predicate("serves", service=Service, question=Question, description="the service knows about the question")
    tools.predicate("up", service=Service, description="the service works at present")
    tools.predicate("key", service=Service, description="there is a key for the service")
    tools.predicate("known", question=Question, description="there is a person who knows the answer")
    tools.predicate("text", question=Question, description="there is a text that has the answer in it")
    tools.predicate("draft", question=Question, description="there is an answer that nobody has checked")
    tools.predicate("answered", question=Question, description="there is an answer that was checked")
    tools.function("fee", service=Service)
    tools.function("price", service=Service)
    tools.function("length", question=Question)


def _declare_fetching(tools: Domain) -> None:
    tools.action(
        "scrape",
        {"site": Site, "question": Question},
        requires=["page(site, question)", "not blocked(site)"],
        provides=["text(question)"],
        outcomes=[
            Outcome("0.6", ["text(question)"], name="read"),
            Outcome("0.3", name="broken page"),
            Outcome("0.1", ["blocked(site)"], name="blocked"),
        ],
        cost=3,
        duration=8,
        tags=["read_only"],
        description="Read a page as a browser would; the site may block that.",
        similes=["fetch page", "crawl"],
    )
    tools.action(
        "buy_key",
        {"service": Service},
        requires=["not key(service)", "up(service)"],
        provides=["key(service)"],
        uses={"money": "fee(service)"},
        duration=120,
        tags=["irreversible", "needs_approval"],
        description="Subscribe to a service.",
        similes=["subscribe", "get access"],
    )
    tools.action(
        "call",
        {"service": Service, "question": Question},
        requires=["serves(service, question)", "key(service)", "up(service)"],
        provides=["text(question)"],
        uses={"money": "price(service)"},
        risk="0.02",
        duration=2,
        tags=["read_only", "idempotent"],
        description="Ask a paid service.",
        similes=["query", "request"],
    )
    tools.action(
        "ping",
        {"service": Service},
        senses=["up(service)"],
        duration=1,
        tags=["read_only", "idempotent"],
        description="See whether a service works at present.",
        similes=["check status"],
    )


def _declare_answering(tools: Domain) -> None:
    tools.action(
        "ask_small_model",
        {"question": Question},
        requires=["text(question)"],
        provides=["draft(question)"],
        cost=2,
        uses={"tokens": "length(question)"},
        risk="0.25",
        duration=3,
        tags=["idempotent"],
        description="Have a small language model find the answer in the text; it may fail to.",
        similes=["extract", "cheap model"],
    )
    tools.action(
        "ask_large_model",
        {"question": Question},
        requires=["text(question)"],
        provides=["draft(question)"],
        uses={"tokens": "length(question)", "money": 2},
        risk="0.02",
        duration=12,
        tags=["idempotent"],
        description="Have a large language model find the answer in the text.",
        similes=["strong model"],
    )
    tools.action(
        "check",
        {"question": Question},
        requires=["draft(question)"],
        provides=["answered(question)", "not draft(question)"],
        outcomes=[
            Outcome("0.85", ["answered(question)", "not draft(question)"], name="right"),
            Outcome("0.15", ["not draft(question)"], name="wrong"),
        ],
        uses={"tokens": "length(question)"},
        duration=5,
        tags=["idempotent"],
        description="Compare an answer with the text; a wrong one is thrown away.",
        similes=["verify", "fact-check"],
    )
    tools.action(
        "ask_expert",
        {"question": Question},
        requires=["known(question)"],
        provides=["answered(question)"],
        cost=4,
        uses={"money": 30},
        duration=3600,
        tags=["needs_approval"],
        description="Have a person answer; that takes an hour.",
        similes=["ask a human", "escalate"],
    )


def _declare_reporting(tools: Domain) -> None:
    tools.action(
        "report",
        requires=["(forall (?q - Question) (answered ?q))"],
        provides=["reported"],
        duration=4,
        tags=["irreversible"],
        description="Send the answers.",
        similes=["reply", "deliver"],
    )


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


PAID = """
buy_key(bank)
call(bank, rates)
ask_large_model(rates)
check(rates)
report()
"""

SCRAPED = """
scrape(forum, rates)
ask_small_model(rates)
check(rates)
report()
"""

THRIFT = """
buy_key(bank)
call(bank, rates)
call(bank, wages)
call(office, taxes)
ask_small_model(rates)
ask_small_model(taxes)
ask_small_model(wages)
check(rates)
check(taxes)
check(wages)
report()
"""


def cases() -> tuple[Case, ...]:
    """Return the optima, plans and invalid plans of the small problems, for tests."""
    from planner.testing import Case

    return (
        Case(
            "one-question",
            one_question(),
            5,
            valid=(PAID, SCRAPED),
            invalid=(
                (PAID.replace("buy_key(bank)", ""), "key(bank)"),
                (PAID.replace("check(rates)", ""), "answered"),
                (
                    SCRAPED.replace("check", "ask_small_model(rates)\ncheck(rates)\nask_small_model(rates)\ncheck"),
                    "tokens",
                ),
            ),
        ),
        Case(
            "thrift",
            thrift(),
            14,
            valid=(THRIFT,),
            invalid=(
                (THRIFT.replace("ask_small_model(rates)", "ask_large_model(rates)"), "money"),
                (THRIFT.replace("report()", "ask_expert(wages)\nreport()"), "money"),
                (THRIFT.replace("check(wages)", ""), "answered"),
            ),
        ),
        Case(
            "there is no money for the bank",
            one_question(money=5),
            6,
            valid=(SCRAPED, SCRAPED.replace("small", "large")),
            invalid=((PAID, "money"),),
        ),
        Case("there are too few tokens", one_question(tokens=3), None, invalid=((SCRAPED, "tokens"),)),
        Case("nobody knows", one_question(served=False), None, invalid=((PAID, "serves(bank, rates)"),)),
    )
