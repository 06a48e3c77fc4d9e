"""Problems for the assistant, from one page to a quarter's reports."""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import partial

from domains.assistant.declarations import domain
from planner.language.declare import Domain
from planner.language.loading.load import LazyProblems
from planner.model import Problem


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
