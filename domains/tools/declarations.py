"""What the tools do, how often they do not, and what they use."""

from __future__ import annotations

from functools import cache

from planner.language.declare import Domain, Entity, Outcome
from planner.model import DomainModel


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
    _vocabulary(tools)
    _fetching(tools)
    _answering(tools)
    _reporting(tools)
    return tools.model


def _vocabulary(tools: Domain) -> None:
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


def _fetching(tools: Domain) -> None:
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


def _answering(tools: Domain) -> None:
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


def _reporting(tools: Domain) -> None:
    tools.action(
        "report",
        requires=["(forall (?q - Question) (answered ?q))"],
        provides=["reported"],
        duration=4,
        tags=["irreversible"],
        description="Send the answers.",
        similes=["reply", "deliver"],
    )
