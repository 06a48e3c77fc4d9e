"""Optima, and what strategies come to when they are carried out by chance."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Final

from benchmarks.tables import markdown
from benchmarks.uncertain.cases import Case
from benchmarks.uncertain.replanning import as_intended, as_wished
from planner import Decision, Execution, Problem, decide, executions
from planner.uncertain.evaluation import Strategy


@dataclass(frozen=True, slots=True)
class Exact:
    """The exact solutions of one problem: decisions by all states (`vi`) and by promising ones (`lao`)."""

    name: str
    case: Case
    problem: Problem
    decisions: dict[str, Decision]
    seconds: dict[str, float]

    @property
    def best(self) -> Decision:
        """The decision that is proved, if one is."""
        return next((each for each in self.decisions.values() if each.is_proved), self.decisions["lao"])


def solved_exactly(name: str, case: Case, size: int, time_limit: float) -> Exact:
    """Return both exact solutions of a problem of this size."""
    problem, decisions, seconds = case.make(size), {}, {}
    for search in ("vi", "lao"):
        started = time.perf_counter()
        decisions[search] = decide(problem, search=search, time_limit=time_limit, **case.options())
        seconds[search] = time.perf_counter() - started
    return Exact(name, case, problem, decisions, seconds)


def optima_table(found: Sequence[Exact]) -> str:
    """Return a table of the optima, and of what it took to prove them."""
    head = ["problem", "aim", "success", "cost", "utility", "states", "s", "LAO*: states", "s"]
    return markdown(head, [_optimum(each) for each in found])


def _optimum(found: Exact) -> list[str]:
    everything, promising = found.decisions["vi"], found.decisions["lao"]
    policy, best = found.best.policy, found.best
    return [
        found.name,
        found.case.objective.name.lower(),
        "—" if policy is None else f"{policy.success:.2%}",
        "—" if best.expected_cost is None else f"{best.expected_cost:.3f}",
        "—" if policy is None or best.utility_bound is None else f"{policy.utility:.3f}",
        *[
            text
            for search, decision in (("vi", everything), ("lao", promising))
            for text in (
                f"{decision.statistics.expanded:,}{'' if decision.is_proved else ' (no proof)'}",
                f"{found.seconds[search]:.2f}",
            )
        ],
    ]


WAYS: Final[dict[str, Callable[[Problem, float], Strategy]]] = {
    "replanning as intended": as_intended,
    "replanning as wished": as_wished,
}


@dataclass(frozen=True, slots=True)
class Carried:
    """How a strategy did on a problem in many executions; `seconds` is what they took, planning included."""

    name: str
    way: str
    runs: list[Execution]
    seconds: float
    penalty: int


def carried_out(found: Exact, runs: int, seed: int, time_limit: float) -> list[Carried]:
    """Return how the best policy and the ways of replanning do, with the same chances for all."""
    strategies: dict[str, Strategy] = {}
    if found.best.policy is not None:
        strategies["policy"] = found.best.policy
    strategies |= {way: make(found.problem, time_limit) for way, make in WAYS.items()}
    carried = []
    for way, strategy in strategies.items():
        started = time.perf_counter()
        done = [*executions(found.problem, strategy, runs, seed)]
        seconds = time.perf_counter() - started
        carried.append(Carried(found.name, way, done, seconds, found.case.penalty or 0))
    return carried


def executions_table(found: Sequence[Carried]) -> str:
    """Return a table of success rates and mean costs, penalties included, with standard errors."""
    head = ["problem", "way", "success", "mean cost", "mean utility", "ms a run"]
    return markdown(head, [_carried(each) for each in found])


def _carried(found: Carried) -> list[str]:
    costs = [float(run.cost) + found.penalty * (not run.success) for run in found.runs]
    utilities = [run.utility for run in found.runs]
    return [
        found.name,
        found.way,
        f"{fmean(run.success for run in found.runs):.1%}",
        _mean(costs),
        _mean(utilities) if any(utilities) else "—",
        f"{1000 * found.seconds / len(found.runs):.2f}",
    ]


def _mean(values: Sequence[float]) -> str:
    error = stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return f"{fmean(values):.2f} ± {error:.2f}"
