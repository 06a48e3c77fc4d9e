"""Mean costs of the first, the tenth and the hundredth run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean, stdev

from benchmarks.tables import markdown


def learning_table(costs: Mapping[str, Sequence[Sequence[int]]], shown: Sequence[int]) -> str:
    """Return, as Markdown, the mean cost of the runs `shown`, and of all, with the standard errors of the means.

    `costs` are those of consecutive runs, for each seed, by how they choose.
    """
    runs = max((len(each) for found in costs.values() for each in found), default=0)
    places = [number for number in shown if number <= runs]
    head = ("a run that …", *(f"run {number}" for number in places), f"mean of {runs}")
    rows = []
    for way, found in costs.items():
        single = [_mean([each[number - 1] for each in found]) for number in places]
        rows.append((way, *single, _mean([mean(each) for each in found])))
    return markdown(head, rows)


def _mean(values: Sequence[float]) -> str:
    error = stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return f"{mean(values):.2f} ± {error:.2f}"
