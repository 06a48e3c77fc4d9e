"""How the search for a plan went: what was known when, and which searches of the portfolio were at work when."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from executor.desk.pages import document as doc
from planner.model.problem import counts_makespan_alone
from planner.plan import Progress, Result, json_number
from planner.problem_kinds import classical_of
from planner.search import REGISTRY

GROUNDING: Final = "grounding"
"""What found a bound that no search found."""
_ABOUT: Final[Mapping[str, str]] = {
    **{name: algorithm.what for name, algorithm in REGISTRY.items()},
    "unbinding": "cheapest plans of the delete relaxation, if they can be carried out",
    "lookahead": "relaxed plans, executed as far as they go",
    "windows": "parts of the best plan, planned anew",
    "symbolic": "bidirectional search over sets of states, in a process of its own",
    "h2": "pairs of facts that never hold together",
    "labels": "states with what is left of the budgets",
    "timed": "states with the times of their facts",
    "progression": "tasks from the first to the last, each by one of its methods",
    "partial": "tasks in an order that is only partly given",
    "depth-first": "one method after another, and back where none goes on",
    "decision epochs": "steps that begin where something happens, in time",
    "scheduled sequences": "sequences of happenings, each with its earliest times",
    "sequence": "plans as if there was no time, scheduled afterwards",
    "proof": "A* over sequences of happenings in time",
    "costs": "what the steps cost at least, without times and capacities",
    "numeric": "best-first search over states with numbers",
    "exact": "states one by one, with exact numbers",
}
"""What the searches of portfolios do."""


def search_part(result: Result, seen: Sequence[Progress] = ()) -> doc.Search:
    """Return how the search for `result` went; what it reported, `seen`, serves where the result has no history."""
    history = result.history.to_dict()
    milestones = history["milestones"] or [
        {
            "elapsed": each.elapsed,
            "cost": None if each.plan is None else json_number(each.plan.charge),
            "lower_bound": json_number(each.lower_bound),
            "search": each.statistics.search,
        }
        for each in seen
    ]
    return search_of_data(
        {"milestones": milestones, "searches": history["searches"]},
        result.statistics.to_dict() | {"stopped by": result.stopped_by.value},
        _find_measure(result),
    )


def _find_measure(result: Result) -> str:
    if result.utility is not None:
        return "charge"
    is_timed = result.plan is not None and counts_makespan_alone(classical_of(result.plan.problem))
    return "makespan" if is_timed else "cost"


def search_of_data(history: Mapping[str, Any], statistics: Mapping[str, Any], measure: str = "cost") -> doc.Search:
    """Return how a search went, from the `history` and the statistics of a result in JSON."""
    return doc.Search(
        tuple(_find_points(history.get("milestones", ()))),
        tuple(_find_lanes(history.get("searches", ()))),
        tuple(_name_statistics(statistics)),
        measure,
    )


def _find_points(milestones: Iterable[Mapping[str, Any]]) -> Iterator[doc.SearchPoint]:
    known: tuple[Any, Any] = None, None
    for each in milestones:
        if known != (known := (each["cost"], each["lower_bound"])):
            yield doc.SearchPoint(round(each["elapsed"], 4), *known, each["search"] or GROUNDING)


def _find_lanes(searches: Iterable[Mapping[str, Any]]) -> Iterator[doc.SearchLane]:
    """Yield a lane for each search, whatever heuristics it went by."""
    by_name: dict[str, list[Mapping[str, Any]]] = {}
    for each in searches:
        by_name.setdefault(each["search"], []).append(each)
    for name, parts in by_name.items():
        turns = sorted([turn for part in parts for turn in part["turns"]])
        heuristics = dict.fromkeys([part["heuristic"] for part in parts if part["heuristic"]])
        begins, ends = ([turn[end] for turn in turns] for end in (0, 1))
        yield doc.SearchLane(name, tuple(heuristics), tuple(begins), tuple(ends), _ABOUT.get(name, ""))


def _name_statistics(statistics: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in statistics.items():
        if value not in (0, "", 0.0, None):
            yield name.replace("_", " "), _format(value)


def _format(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}" if isinstance(value, float) else str(value)
