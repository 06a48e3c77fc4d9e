"""A research assistant: it searches, reads, draws, writes and sends; each change makes a review stale."""

from __future__ import annotations

import functools
import random
from collections.abc import Mapping

from domains.series import Series
from planner.declare import Domain, Entity, From
from planner.model import Problem
from planner.testing import Case

SIZES = {"two-topics": 2, "three-topics": 3, "four-topics": 4, "six-topics": 6, "nine-topics": 9}


class Topic(Entity):
    """What a report is about."""


class Page(Entity):
    """A page of the web."""


class Report(Entity):
    """A document that the assistant writes."""


class Person(Entity):
    """Someone who is asked or written to."""


class Channel(Entity):
    """A way to reach people."""


_ASSISTANT = Domain("assistant", description="Research topics, write them up with charts, and send what was reviewed.")

_ASSISTANT.predicate("reviewed(report)", Report, stale_with=["document(report)"], description="as it is now")
_ASSISTANT.predicate("document(report)", Report, description="the report has text")


def domain() -> Domain:
    """Return the domain."""
    return _ASSISTANT


@_ASSISTANT.action(
    requires=["about(page, topic)"],
    provides=["found(page)"],
    tags=["read_only", "idempotent"],
    similes=["google", "look_up", "web_search"],
    examples=["find pages about solar power"],
)
def search_web(topic: Topic, page: Page, query: str = "") -> None:
    """Find a page about a topic."""


@_ASSISTANT.action(
    requires=["found(page)"], provides=["text(page)"], tags=["read_only", "idempotent"], similes=["open"]
)
def fetch(page: Page) -> None:
    """Fetch the text of a page that was found."""


@_ASSISTANT.action(
    requires=["text(page)", "about(page, topic)"], provides=["noted(topic)"], cost=2, similes=["summarize", "sum_up"]
)
def summarise(page: Page, topic: Topic, text: str = From("text(page)", "text")) -> None:
    """Note what a page says about a topic."""


@_ASSISTANT.action(requires=["expert(person, topic)"], provides=["noted(topic)", "figures(topic)"], cost=6)
def ask_expert(person: Person, topic: Topic) -> None:
    """Ask someone who knows a topic: slow, but figures come along."""


@_ASSISTANT.action(requires=["text(page)", "tables(page, topic)"], provides=["figures(topic)"], tags=["read_only"])
def extract_figures(page: Page, topic: Topic) -> None:
    """Read the figures about a topic from the tables of a page."""


@_ASSISTANT.action(requires=["figures(topic)"], provides=["chart(topic)"], similes=["plot", "visualise"])
def draw_chart(topic: Topic) -> None:
    """Draw a chart of the figures about a topic."""


@_ASSISTANT.action(
    requires=["noted(topic)", "chart(topic)"],
    provides=["covers(report, topic)", "document(report)"],
    cost=2,
    similes=["write", "draft"],
)
def write_section(report: Report, topic: Topic) -> None:
    """Write about a topic; what was reviewed before has to be reviewed again."""


@_ASSISTANT.action(requires=["document(report)", "editor(person)"], provides=["reviewed(report)"], cost=3)
def review(report: Report, person: Person) -> None:
    """Have the report as it is now reviewed by an editor."""


@_ASSISTANT.action(
    requires=["reviewed(report)", "reaches(channel, person)"],
    provides=["sent(report, person)"],
    tags=["irreversible", "needs_approval"],
    similes=["deliver", "email"],
    examples=["send the report to Alice"],
)
def send(report: Report, person: Person, channel: Channel, message: str = "") -> None:
    """Send a reviewed report."""


def problems() -> Mapping[str, Problem]:
    """Return the problems, from tiny to hard."""
    makers = {name: functools.partial(generate, 3, size) for name, size in SIZES.items()}
    return Series({"one-topic": _one_topic, "no-editor": _no_editor, **makers})


_ALICE, _MAIL, _REPORT, _SOLAR = Person("alice"), Channel("mail"), Report("report"), Topic("solar")
_FACTS = ["about(news, solar)", "tables(news, solar)", "reaches(mail, alice)"]


def _one_topic() -> Problem:
    return _ASSISTANT.problem(
        name="one-topic",
        objects=[_ALICE, Person("eve"), _MAIL, _REPORT, _SOLAR, Page("news")],
        initial=[*_FACTS, "editor(eve)"],
        goal=["covers(report, solar)", "reviewed(report)", "sent(report, alice)"],
    )


def _no_editor() -> Problem:
    return _ASSISTANT.problem(
        name="no-editor",
        objects=[_ALICE, _MAIL, _REPORT, _SOLAR, Page("news")],
        initial=_FACTS,
        goal=["sent(report, alice)"],
    )


def generate(seed: int, size: int) -> Problem:
    """Return a problem with `size` topics in one report, sent to half as many people."""
    rng = random.Random(seed)
    topics = [Topic(f"topic{number}") for number in range(1, size + 1)]
    pages = [Page(f"page{number}") for number in range(1, 2 * size + 1)]
    people = [Person(f"person{number}") for number in range(1, size // 2 + 3)]
    initial = [f"reaches(mail, {person.name})" for person in people] + ["editor(person1)"]
    for topic in topics:
        sources = rng.sample(pages, 2)
        initial += [f"about({page.name}, {topic.name})" for page in sources]
        initial.append(f"tables({rng.choice(sources).name}, {topic.name})")
        if rng.random() < 0.5:
            initial.append(f"expert({rng.choice(people).name}, {topic.name})")
    readers = rng.sample(people, max(1, size // 2))
    goal = [f"covers(report, {topic.name})" for topic in topics] + ["reviewed(report)"]
    return _ASSISTANT.problem(
        name=f"assistant-{seed}-{size}",
        objects=[*topics, *pages, *people, _MAIL, _REPORT],
        initial=initial,
        goal=[*goal, *[f"sent(report, {person.name})" for person in readers]],
    )


_RESEARCH = """search_web(solar, news)
fetch(news)
summarise(news, solar)
extract_figures(news, solar)
draw_chart(solar)"""

_CHANGED_AFTER_REVIEW = """write_section(report, solar)
review(report, eve)
write_section(report, solar)
send(report, alice, mail)"""


def cases() -> list[Case]:
    """Return what is known of some problems."""
    known = problems()
    return [
        Case(
            "one-topic",
            known["one-topic"],
            12,
            valid=(f"{_RESEARCH}\nwrite_section(report, solar)\nreview(report, eve)\nsend(report, alice, mail)",),
            invalid=(
                (f"{_RESEARCH}\nwrite_section(report, solar)\nsend(report, alice, mail)", "requires reviewed(report)"),
                (f"{_RESEARCH}\n{_CHANGED_AFTER_REVIEW}", "requires reviewed(report)"),
                ("fetch(news)", "requires found(news)"),
            ),
        ),
        Case("no-editor", known["no-editor"], None),
    ]
