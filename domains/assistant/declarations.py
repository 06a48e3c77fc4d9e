"""What the assistant can do."""

from __future__ import annotations

from functools import cache
from typing import Annotated

from planner.language.declare import FIXED, Domain, Entity, From
from planner.model import DomainModel


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
    _vocabulary(assistant)
    _reading(assistant)
    _writing(assistant)
    _sending(assistant)
    return assistant.model


def _vocabulary(assistant: Domain) -> None:
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


def _reading(assistant: Domain) -> None:
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


def _writing(assistant: Domain) -> None:
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


def _sending(assistant: Domain) -> None:
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
