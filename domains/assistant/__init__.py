"""A research-and-report assistant: it searches, reads, summarises, draws charts, writes reports and sends them.

Declared in Python. What it shows: items changed in place (`modifies`) that make approvals stale, quantified conditions,
data parameters that flow from step to step, and tags that tell an executor where to be careful.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Annotated

from planner.language.declare import FIXED, Domain, Entity, From
from planner.language.loading.load import LazyProblems
from planner.model import DomainModel, Problem

if TYPE_CHECKING:
    from planner.testing import Case


class Topic(Entity):
    """Something to find out about."""


class Source(Entity):
    """A page, a paper or a table that says something about topics."""


class Chart(Entity):
    """A drawing of the figures of one source."""


class Report(Entity):
    """A text that draws on sources and may show charts."""


class Person(Entity):
    """Somebody who reads or answers for reports."""


@cache
def domain() -> DomainModel:
    """Return the domain."""
    assistant = Domain("assistant", description="Research a question, report on it, and have the report sent.")
    _declare_vocabulary(assistant)
    _declare_reading(assistant)
    _declare_writing(assistant)
    _declare_sending(assistant)
    return assistant.model


def _declare_vocabulary(assistant: Domain) -> None:
    assistant.predicate("covers", source=Source, topic=Topic, description="the source says something about the topic")
    assistant.predicate("archived", source=Source, description="a copy was kept when it was last read")
    assistant.predicate("has_figures", source=Source, description="there are numbers in it that can be drawn")
    assistant.predicate("uses", report=Report, source=Source, description="the report is to draw on the source")
    assistant.predicate("plots", chart=Chart, source=Source, description="the chart is to show the source's figures")
    assistant.predicate("responsible", person=Person, report=Report, description="the person approves the report")
    assistant.predicate("summarised", stale_with="fetched(source)", source=Source)
    assistant.predicate("drawn", stale_with="extracted(source)", chart=Chart, source=Source)
    assistant.predicate("proofread", stale_with="written(report)", report=Report)
    assistant.predicate("approved", stale_with="written(report)", report=Report)


def _declare_reading(assistant: Domain) -> None:
    assistant.action(
        "search_web",
        {"topic": Topic, "query": str},
        provides=["found(topic)"],
        cost=2,
        tags=["read_only", "idempotent"],
        description="Search the web for sources about a topic.",
        similes=["web search", "look up", "google"],
        examples=["search the web for heat pumps in old houses"],
    )
    assistant.action(
        "fetch",
        {"source": Source, "topic": Topic, "url": Annotated[str, From("found(topic)", "data.urls")]},
        requires=["found(topic)", "covers(source, topic)"],
        provides=["fetched(source)"],
        cost=3,
        tags=["read_only", "idempotent"],
        description="Fetch a source that a search has found.",
        similes=["open page", "download", "read"],
    )
    assistant.action(
        "recall",
        {"source": Source},
        requires=["archived(source)"],
        provides=["fetched(source)"],
        tags=["read_only", "idempotent"],
        description="Take the kept copy of a source.",
        similes=["open archive"],
    )
    assistant.action(
        "summarise",
        {"source": Source, "text": Annotated[str, From("fetched(source)", "data.text")], "words": int},
        requires=["fetched(source)"],
        provides=["summarised(source)"],
        cost=4,
        tags=["idempotent"],
        description="Sum up a fetched source in so many words.",
        similes=["summarize", "sum up", "tldr"],
        examples=["summarise the survey in 200 words"],
    )
    assistant.action(
        "extract_figures",
        {"source": Source, "text": Annotated[str, From("fetched(source)", "data.text")]},
        requires=["fetched(source)", "has_figures(source)"],
        provides=["extracted(source)"],
        cost=2,
        tags=["idempotent"],
        description="Read the numbers out of a fetched source.",
        similes=["get data", "read table"],
    )


def _declare_writing(assistant: Domain) -> None:
    assistant.action(
        "draw_chart",
        {"chart": Chart, "source": Source, "rows": Annotated[list[float], From("extracted(source)", "data.rows")]},
        requires=["extracted(source)", "plots(chart, source)"],
        provides=["drawn(chart, source)"],
        cost=2,
        tags=["idempotent"],
        description="Draw the figures of a source as a chart.",
        similes=["plot", "make graph", "visualise"],
        examples=["draw a bar chart of the prices"],
    )
    assistant.action(
        "write_report",
        {"report": Report, "style": str},
        requires=["(forall (?s - Source) (imply (uses ?report ?s) (summarised ?s)))"],
        provides=["written(report)"],
        cost=5,
        description="Write a report from the summaries of all the sources that it is to use.",
        similes=["draft", "compose", "write up"],
        examples=["write a report in plain style"],
    )
    assistant.action(
        "insert_chart",
        {"report": Report, "chart": Chart, "source": Source},
        requires=["written(report)", "drawn(chart, source)"],
        provides=["shows(report, chart)"],
        modifies=["written(report)"],
        description="Put a chart into a written report; whoever approved the report before has not seen it.",
        similes=["add chart", "embed graph"],
    )
    assistant.action(
        "proofread",
        {"report": Report, "text": Annotated[str, From("written(report)", "data.text")]},
        requires=["written(report)"],
        provides=["proofread(report)"],
        cost=2,
        tags=["idempotent"],
        description="Read a report and mend what is wrong with its language.",
        similes=["proof", "spell check"],
    )


def _declare_sending(assistant: Domain) -> None:
    assistant.action(
        "look_up_address",
        {"person": Person},
        provides=["address_known(person)"],
        tags=["read_only", "idempotent"],
        description="Find out how to write to a person.",
        similes=["find contact"],
    )
    assistant.action(
        "ask_approval",
        {"report": Report, "person": Person, "text": Annotated[str, From("written(report)", "data.text")]},
        requires=["written(report)", "proofread(report)", "responsible(person, report)", "address_known(person)"],
        provides=["approved(report)"],
        cost=3,
        description="Show a report to the person who answers for it, and wait for a yes.",
        similes=["get sign-off", "request review"],
    )
    assistant.action(
        "send",
        {
            "report": Report,
            "person": Person,
            "text": Annotated[str, From("written(report)", "data.text")],
            "address": Annotated[str, From("address_known(person)", "data.address"), FIXED],
            "subject": str,
        },
        requires=["written(report)", "approved(report)", "address_known(person)"],
        provides=["sent(report, person)"],
        tags=["irreversible", "needs_approval", "needs_observed"],
        description="Send an approved report to a person by mail.",
        similes=["mail", "email", "deliver"],
        examples=["send the report to the board"],
    )


def problems() -> Mapping[str, Problem]:
    """Return the shipped problems by name, from easy to hard; each is made when it is looked up."""
    return LazyProblems(
        {
            "one-page": one_page,
            "with-chart": with_chart,
            "weekly": partial(generate, 1, 4),
            "monthly": partial(generate, 2, 8),
            "quarterly": partial(generate, 3, 14),
            "yearly": partial(generate, 4, 24),
            "archive": partial(generate, 5, 60),
        }
    )


def one_page(*, responsible: bool = True) -> Problem:
    """Return the smallest real errand: read one page, and send what it says to one reader.

    Unless Ada is `responsible` for the memo, nobody may approve it, and it can never be sent.
    """
    return Domain.of(domain()).problem(
        "one-page",
        objects={"heating": "Topic", "survey": "Source", "memo": "Report", "ada": "Person", "board": "Person"},
        initial=[
            *["covers(survey, heating)", "uses(memo, survey)"],
            *(["responsible(ada, memo)"] if responsible else []),
        ],
        goal=["sent(memo, board)"],
    )


def with_chart() -> Problem:
    """Return an errand with two sources, one of them kept, and a chart, which has to be in before proofreading."""
    return Domain.of(domain()).problem(
        "with-chart",
        objects={
            "heating": "Topic",
            "survey": "Source",
            "prices": "Source",
            "trend": "Chart",
            "memo": "Report",
            "ada": "Person",
            "board": "Person",
        },
        initial=[
            "covers(survey, heating)",
            "covers(prices, heating)",
            "archived(prices)",
            "has_figures(prices)",
            "uses(memo, survey)",
            "uses(memo, prices)",
            "plots(trend, prices)",
            "responsible(ada, memo)",
        ],
        goal=["shows(memo, trend)", "sent(memo, board)", "sent(memo, ada)"],
    )


def generate(seed: int, size: int) -> Problem:
    """Return a random problem with `size` sources; the same seed and size give the same problem.

    Reports use three sources on average, share some, and go to one to three readers; a third of the sources are kept,
    half of them hold figures, and most of these are to be drawn.
    """
    rng = random.Random(f"assistant {seed} {size}")
    topics = [f"topic{n}" for n in range(1, 2 + size // 4)]
    sources = [f"source{n}" for n in range(1, size + 1)]
    reports = [f"report{n}" for n in range(1, 2 + size // 4)]
    people = [f"person{n}" for n in range(1, 4 + size // 8)]
    initial = [f"covers({source}, {rng.choice(topics)})" for source in sources]
    initial += [f"archived({source})" for source in sources if rng.random() < 0.3]
    figures = [source for source in sources if rng.random() < 0.5]
    initial += [f"has_figures({source})" for source in figures]
    goal: list[str] = []
    charts: list[str] = []
    for report in reports:
        used = rng.sample(sources, min(len(sources), rng.randint(2, 4)))
        initial += [f"uses({report}, {source})" for source in used]
        initial.append(f"responsible({rng.choice(people)}, {report})")
        for source in [source for source in used if source in figures and rng.random() < 0.7]:
            charts.append(f"chart{len(charts) + 1}")
            initial.append(f"plots({charts[-1]}, {source})")
            goal.append(f"shows({report}, {charts[-1]})")
        goal += [f"sent({report}, {person})" for person in rng.sample(people, rng.randint(1, 3))]
    kinds = {"Topic": topics, "Source": sources, "Chart": charts, "Report": reports, "Person": people}
    objects = {name: kind for kind, names in kinds.items() for name in names}
    return Domain.of(domain()).problem(f"assistant-{seed}-{size}", objects=objects, initial=initial, goal=goal)


ONE_PAGE = """
search_web(heating)
fetch(survey, heating)
summarise(survey)
write_report(memo)
proofread(memo)
look_up_address(ada)
ask_approval(memo, ada)
look_up_address(board)
send(memo, board)
"""

READING = """
search_web(heating)
fetch(survey, heating)
recall(prices)
summarise(survey)
summarise(prices)
extract_figures(prices)
draw_chart(trend, prices)
write_report(memo)
look_up_address(ada)
look_up_address(board)
"""


def cases() -> tuple[Case, ...]:
    """Return the optima, plans and invalid plans of the small problems, for tests."""
    from planner.testing import Case

    return (
        Case(
            "one-page",
            one_page(),
            22,
            valid=(ONE_PAGE,),
            invalid=(
                (ONE_PAGE.replace("search_web(heating)", ""), "found(heating)"),
                (ONE_PAGE.replace("proofread(memo)", ""), "proofread(memo)"),
                (ONE_PAGE.replace("ask_approval(memo, ada)", "ask_approval(memo, board)"), "responsible(board, memo)"),
                (ONE_PAGE.replace("proofread(memo)", "proofread(memo)\nwrite_report(memo)"), "retracted by step 6"),
                (ONE_PAGE.replace("send(memo, board)", ""), "the goal requires sent(memo, board)"),
            ),
        ),
        Case(
            "with-chart",
            with_chart(),
            33,
            valid=(
                READING + "insert_chart(memo, trend, prices)\nproofread(memo)\nask_approval(memo, ada)\n"
                "send(memo, ada)\nsend(memo, board)",
            ),
            invalid=(
                (
                    READING + "proofread(memo)\nask_approval(memo, ada)\ninsert_chart(memo, trend, prices)\n"
                    "send(memo, ada)\nsend(memo, board)",
                    "approved(memo), which was retracted by step 13 insert_chart(memo, trend, prices)",
                ),
                (READING.replace("summarise(prices)", ""), "summarised(prices)"),
            ),
        ),
        Case(
            "nobody answers for the memo",
            one_page(responsible=False),
            None,
            invalid=((ONE_PAGE, "responsible(ada, memo)"),),
        ),
    )
