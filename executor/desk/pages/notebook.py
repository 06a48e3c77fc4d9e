"""Small static pictures of plans and results for notebooks: `Plan._repr_html_` finds `render` here."""

from __future__ import annotations

from html import escape
from typing import Final

from executor.desk.pages.document import Page, StepItem
from planner.model.problem import counts_makespan_alone
from planner.plan import Plan, Result, name_as_written
from planner.problem_kinds import classical_of

MOST_STEPS: Final = 100
"""Most steps that a notebook shows."""
_TABLE: Final = "border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums"
_CELL: Final = "text-align:left;padding:2px 14px 2px 0;vertical-align:top"


def steps_table(page: Page, most: int = MOST_STEPS) -> str:
    """Return a table of the first steps of `page` as HTML; names are escaped and isolated."""
    if not page.steps:
        return f"<p>{escape(page.subtitle)}</p>"
    rows = [_row(number, step, page) for number, step in enumerate(page.steps[:most], start=1)]
    more = f"<p>… {len(page.steps) - most:,} more steps</p>" if len(page.steps) > most else ""
    has_costs = any(each.cost is not None and not each.status for each in page.steps)
    heads = ["", "step", "cost" if has_costs else "", *([""] if _bar(1, page) else [])]
    head = "".join(f'<th style="{_CELL};font-weight:normal;opacity:0.7">{each}</th>' for each in heads)
    return f'<table style="{_TABLE}"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>{more}'


def _row(number: int, step: StepItem, page: Page) -> str:
    cost = "" if step.cost is None else f"{step.cost:g}"
    bar = _bar(number, page)
    cells = [
        str(number),
        f"<b><bdi>{escape(step.action)}</bdi></b> <bdi>{escape(', '.join(step.arguments))}</bdi>",
        escape(step.status or cost),
        *([bar] if bar else []),
    ]
    return f"<tr>{''.join(f'<td style={_quote(_CELL)}>{cell}</td>' for cell in cells)}</tr>"


def _quote(text: str) -> str:
    return f'"{escape(text)}"'


def _bar(number: int, page: Page) -> str:
    """Return when a step runs as a bar, where the plan has times."""
    chart = page.chart
    if chart is None or chart.unit != "seconds" or not max(chart.ends):
        return ""
    scale = 240 / max(chart.ends)
    left, width = chart.starts[number - 1] * scale, (chart.ends[number - 1] - chart.starts[number - 1]) * scale
    colour = "#1d5c86" if number in chart.critical else "#7ba6c4"
    bar = f'<rect x="{left:.1f}" y="3" width="{max(width, 2):.1f}" height="9" rx="2" fill="{colour}"/>'
    when = f"{chart.starts[number - 1]:g} to {chart.ends[number - 1]:g} s"
    return f'<svg width="244" height="15" role="img" aria-label="{when}">{bar}</svg> {when}'


def render(item: object) -> str:
    """Return `item` as HTML for a notebook: what is proved in a line and a table of the steps; others as their text."""
    line = ""
    if isinstance(item, Result):
        line = f"<p>{escape(item.describe())}</p>"
        if item.plan is None:
            return line
        item = item.plan
    if not isinstance(item, Plan):
        return f'<pre style="white-space:pre-wrap">{escape(str(item))}</pre>'
    return line + steps_table(_short_page(item))


def _short_page(plan: Plan) -> Page:
    """Return the steps and the times of `plan`, without what would take longer to find."""
    from executor.desk.pages.document import Chart

    written = name_as_written(plan.steps, plan.problem)
    has_costs = not counts_makespan_alone(classical_of(plan.problem))
    steps = tuple([StepItem(each.action, each.arguments, float(each.cost) if has_costs else None) for each in written])
    chart = None
    if plan.times:
        starts, ends = [float(each.start) for each in plan.times], [float(each.end) for each in plan.times]
        chart = Chart("seconds", tuple(starts), tuple(ends))
    return Page("plan", plan.problem.name, f"{len(plan)} steps", steps=steps, chart=chart)
