"""Makes the gallery: each shipped domain with what it shows, a problem, a plan, and a picture of the plan."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from executor.desk.pages.drawings import draw_chart, draw_graph, draw_tree
from executor.desk.pages.plan_page import plan_page
from planner import Result, solve, write_yaml

ROOT: Final = Path(__file__).parents[2]
SECONDS: Final = 30.0
"""Time limit of each search, in seconds; each takes less than two."""
SHOWN: Final = {
    "assistant": "with-chart",
    "courier": "two-robots",
    "elevator": "quarrel",
    "errands": "short",
    "incident": "release",
    "outing": "day",
    "purchasing": "office",
    "secretary": "in-the-way",
    "stacking": "tower",
    "tools": "thrift",
    "travel": "couple",
    "workshop": "morning",
}
"""Problems that show what is special of their domain; of other domains, the first problem is shown."""
ABOUT: Final = """---
hide: [navigation]
---

# Gallery

Each [shipped domain](reference/domains.md) with one of its problems, a plan for it, and what was proved of that plan.
The pictures come from `forethought view NAME PROBLEM --to svg`; with `--open` in place of `--to svg`, you get a page to
explore.
"""


def make_gallery() -> dict[str, str | bytes]:
    """Return the page of the gallery and its pictures, by their places in the site."""
    names = sorted(path.parent.name for path in (ROOT / "domains").glob("*/__init__.py"))
    parts, pictures = [ABOUT], {}
    for name in names:
        module = import_module(f"domains.{name}")
        problems = module.problems()
        chosen = SHOWN.get(name) or next(iter(problems))
        result = solve(problems[chosen], time_limit=SECONDS)
        pictures |= {f"assets/gallery/{name}-{kind}.svg": svg for kind, svg in draw_plan(result)}
        drawn = [place for place in pictures if place.startswith(f"assets/gallery/{name}-")]
        parts += show_domain(f"{name} {chosen}", module.__doc__ or "", problems[chosen], result, drawn)
    return {"gallery.md": "\n".join(parts), **pictures}


def show_domain(names: str, about: str, problem: Any, result: Result, pictures: list[str]) -> Iterator[str]:
    """Yield the paragraphs about a domain, a problem and the plan; `names` are those of domain and problem."""
    name = names.split(maxsplit=1)[0]
    yield f"## {name}\n\n{about.strip()}\n"
    yield fold(f"The problem: `forethought compile {names} --to yaml`", write_yaml(problem, domain=False))
    yield f"**{result.status.value.capitalize()}.** {describe_worth(result)}\n"
    yield f"```text\n{result.expect_plan()}\n```\n"
    yield from (f"![The plan of {name}: {place.rsplit('-')[-1][:-4]}]({place}){{.picture}}\n" for place in pictures)


def draw_plan(result: Result) -> Iterator[tuple[str, str]]:
    """Yield the kind and the SVG of each picture of the plan: its decomposition, its schedule, or its causal links."""
    page = plan_page(result.expect_plan(), result)
    if page.tree is not None:
        yield "tree", draw_tree(page)
    elif page.chart is not None and page.chart.unit == "seconds":
        yield "chart", draw_chart(page)
    if page.graph is not None:
        yield "graph", draw_graph(page)


def describe_worth(result: Result) -> str:
    """Return what the plan costs and is worth, as `Result.describe` says it, without what stopped the search."""
    words = "; ".join(result.describe().split("; ")[2:])
    return f"{words[:1].upper()}{words[1:]}."


def fold(title: str, yaml: str) -> str:
    """Return a block of YAML that opens on demand."""
    indented = re.sub("^(?=.)", "    ", f"```yaml\n{yaml.rstrip()}\n```", flags=re.MULTILINE)
    return f'??? example "{title}"\n\n{indented}\n'
