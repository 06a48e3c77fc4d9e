"""`python -m benchmarks.creation`: planning with objects that actions create against planning with existing ones.

Each task has a number of orders, and a goal for each: some ticket is about it and closed. In the problem with creation,
an action creates the tickets; in the other one, as many tickets exist. Both are solved in one process, and the ratio of
their processor times says what creation costs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Annotated, Final

import typer

from benchmarks.report import format_table
from planner import Domain, Problem, Result, solve

AGENTS: Final = 2
"""Agents to which a ticket can be assigned."""
BUDGET: Final = 5
"""Minutes of the budget for each ticket, of which closing takes 2."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind of task: `add_creation` adds the actions that create tickets to a domain.

    The problem without creation has the objects and facts of `list_existing`, one call for each order.
    """

    add_creation: Callable[[Domain], None]
    list_existing: Callable[[int], tuple[dict[str, str], list[str]]]
    add_other: Callable[[Domain], None] = lambda _: None
    """Adds other actions."""
    goal: str = "(exists (?t - ticket) (and (closed ?t) (about ?t o{0})))"
    has_budget: bool = False


def _add_open_ticket(desk: Domain) -> None:
    desk.action(
        "open_ticket",
        {"c": "customer", "o": "order"},
        requires=["placed_by(o, c)"],
        provides=["open(t)", "about(t, o)"],
        creates={"t": "ticket"},
        cost=2,
    )


def _list_ticket(number: int) -> tuple[dict[str, str], list[str]]:
    return {f"t{number}": "ticket"}, [f"open(t{number})", f"about(t{number}, o{number})"]


def _add_report(desk: Domain) -> None:
    _add_open_ticket(desk)
    desk.action("write", {"t": "ticket"}, requires=["open(t)"], provides=["on(r, t)"], creates={"r": "report"})


def _list_report(number: int) -> tuple[dict[str, str], list[str]]:
    objects, facts = _list_ticket(number)
    return objects | {f"r{number}": "report"}, [*facts, f"on(r{number}, t{number})"]


def _add_pair(desk: Domain) -> None:
    desk.action(
        "open_pair",
        {"c": "customer", "o": "order"},
        requires=["placed_by(o, c)"],
        provides=["open(t)", "about(t, o)", "on(r, t)"],
        creates={"t": "ticket", "r": "report"},
        cost=3,
    )


def _add_blank(desk: Domain) -> None:
    desk.action("open_blank", provides=["open(t)", "blank(t)"], creates={"t": "ticket"}, cost=2)


def _list_blank(number: int) -> tuple[dict[str, str], list[str]]:
    return {f"t{number}": "ticket"}, [f"open(t{number})", f"blank(t{number})"]


def _add_subject(desk: Domain) -> None:
    provides = ["not blank(t)", "about(t, o)"]
    desk.action("subject", {"t": "ticket", "o": "order"}, requires=["blank(t)"], provides=provides)


REPORTED: Final = "(exists (?t - ticket ?r - report) (and (closed ?t) (about ?t o{0}) (on ?r ?t) (approved ?r)))"
SHAPES: Final = {
    "ticket": Shape(_add_open_ticket, _list_ticket),
    "budget": Shape(_add_open_ticket, _list_ticket, has_budget=True),
    "report": Shape(_add_report, _list_report, goal=REPORTED),
    "pair": Shape(_add_pair, _list_report, goal=REPORTED),
    "blank": Shape(_add_blank, _list_blank, _add_subject),
}
"""Tickets for an order; the same with a budget; a report on each ticket; both by one action; tickets named later."""


def make_problem(shape: Shape, count: int, *, creation: bool) -> Problem:
    """Return the problem of `shape` with `count` orders; without `creation`, the tickets exist."""
    desk = Domain("desk", types=["customer", "order", "agent", "ticket", "report"])
    for name, types in {
        "about": ("ticket", "order"),
        "on": ("report", "ticket"),
        "placed_by": ("order", "customer"),
    }.items():
        desk.predicate(name, *types)
    if creation:
        shape.add_creation(desk)
    shape.add_other(desk)
    desk.action("assign", {"t": "ticket", "a": "agent"}, requires=["open(t)"], provides=["assigned(t)"])
    desk.action(
        "approve", {"r": "report", "t": "ticket"}, requires=["on(r, t)", "assigned(t)"], provides=["approved(r)"]
    )
    desk.action(
        "close",
        {"t": "ticket"},
        requires=["open(t)", "assigned(t)"],
        provides=["closed(t)", "not open(t)"],
        cost=3,
        uses={"minutes": 2},
    )
    objects = {f"a{number}": "agent" for number in range(AGENTS)}
    initial: list[str] = []
    for number in range(count):
        objects |= {f"c{number}": "customer", f"o{number}": "order"}
        initial.append(f"placed_by(o{number}, c{number})")
        if not creation:
            more, facts = shape.list_existing(number)
            objects |= more
            initial += facts
    goal = [shape.goal.format(number) for number in range(count)]
    budgets = {"minutes": BUDGET * count} if shape.has_budget else {}
    return desk.problem(objects=objects, initial=initial, goal=goal, budgets=budgets)


def measure(problem: Problem, mode: str, time_limit: float, repeats: int) -> tuple[Result, float]:
    """Solve `problem` several times; return the last result and the median of the seconds of processor time."""
    seconds = []
    for _ in range(repeats):
        began = time.process_time()
        found = solve(problem, mode=mode, time_limit=time_limit)
        seconds.append(time.process_time() - began)
    return found, median(seconds)


def compare(shape: str, count: int, mode: str, time_limit: float, repeats: int) -> list[str]:
    """Return the row of the table for `count` objects of `shape`."""
    cells, times = [], []
    for creation in (False, True):
        problem = make_problem(SHAPES[shape], count, creation=creation)
        found, seconds = measure(problem, mode, time_limit, repeats)
        cells += [found.status.name, "" if found.cost is None else str(found.cost), f"{seconds:.3f}"]
        times.append(seconds)
    return [shape, mode, str(count), *cells, f"{times[1] / times[0]:.1f}"]


def main(
    *,
    counts: Annotated[str, typer.Option("--counts", help="Numbers of orders, separated by commas.")] = "1,8,30,100",
    shape: Annotated[list[str] | None, typer.Option("--shape", help="Shape of the tasks; may be repeated.")] = None,
    mode: Annotated[list[str] | None, typer.Option("--mode", help="Mode of `solve`; may be repeated.")] = None,
    time_limit: Annotated[float, typer.Option("--time-limit", min=0, help="Seconds for each problem.")] = 20.0,
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="Times that each problem is solved.")] = 1,
) -> None:
    """Compare planning with created objects to planning with existing ones, by processor time."""
    header = ["Shape", "Mode", "Objects", "Existing", "Cost", "Seconds", "Created", "Cost", "Seconds", "Ratio"]
    rows = []
    for name in shape or SHAPES:
        for each in mode or ["first", "anytime"]:
            for count in counts.split(","):
                typer.echo(f"{name} {each} {count}", err=True)
                rows.append(compare(name, int(count), each, time_limit, repeats))
    typer.echo(format_table(header, rows), nl=False)


if __name__ == "__main__":
    typer.run(main)
