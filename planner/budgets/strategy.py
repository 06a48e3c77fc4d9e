"""Which searches are run for a task with budgets, and how they share the time."""

from __future__ import annotations

from planner.annotations import Final
from planner.budgets.allowance import allowances, cost_allowance
from planner.budgets.labels import Limits, Sum, label_search
from planner.budgets.surrogates import Spending, Weights, allowed, multipliers, surrogate, weighted
from planner.heuristics import REGISTRY as HEURISTICS
from planner.model import COST, Problem
from planner.search import Ending
from planner.search.run import Steps
from planner.task import INFINITY
from planner.turns import Contender, at_most, take_turns
from planner.workplace import Workplace

LABELLED: Final = ("astar", "uniform")
"""The searches that count resources."""
BLIND_LABELS: Final = 2_000_000
"""Labels after which search without estimates gives up: they take about a GiB."""


def within_budgets(
    workplace: Workplace, problem: Problem, mode: str, search: str | None = None, heuristic: str | None = None
) -> Steps:
    """Search for the cheapest plan of `problem` that keeps its budgets; `search` is one of `LABELLED`, if given.

    Where no plan keeps them, `run.excluded` says why. Raises as `allowances` does.
    """
    task, run = workplace.task, workplace.run
    budget = cost_allowance(problem, task)
    run.limit = min(run.limit, budget.most + 1)
    spending = Spending(workplace, allowances(problem, task), budget)
    if search is None:
        ending = yield from _turns(spending, mode)
    else:
        ending = yield from _labels(spending, counting(workplace, search, heuristic))
        ending = ending if run.trusted else Ending.INCOMPLETE
    if run.plan is None and ending is Ending.EXHAUSTED and not spending.unsolvable:
        run.excluded = spending.excluded or _together(spending, problem)
    return ending


def counting(workplace: Workplace, search: str, heuristic: str | None) -> str:
    """Return the heuristic for a search by labels of this name; where it proves nothing, the run is not trusted."""
    name = "blind" if search == "uniform" else heuristic or "lmcut"
    workplace.run.trusted = HEURISTICS[name].admissible and workplace.safe(HEURISTICS[name])
    return name


def _together(spending: Spending, problem: Problem) -> str:
    names = [*([COST] if COST in problem.budgets else []), *(each.name for each in spending.allowances)]
    return f"no plan keeps the budget{'s' if len(names) > 1 else ''} on {' and '.join(names)}"


def _turns(spending: Spending, mode: str) -> Steps:
    """Let searches by labels and searches for other costs take turns."""
    kinds = len(spending.allowances)
    free: Weights = (1, *[0] * kinds)
    if not kinds:
        return surrogate(spending, free, improve=mode != "optimal")
    informed = Contender(_labels(spending, "lmcut"), 1)
    blind = Contender(at_most(BLIND_LABELS, _labels(spending, "blind"), spending.run), 1)
    return take_turns([Contender(others(spending, free, mode), 4), informed, blind], spending.run)


def others(spending: Spending, free: Weights, mode: str) -> Steps:
    """Search for what costs the least, for what uses the least, for what is between, and by labels with these sums."""
    singles = [tuple([int(place == other) for other in range(len(free))]) for place in range(1, len(free))]
    improve = mode != "optimal"
    contenders = [Contender(surrogate(spending, free, improve=improve), len(singles))]
    contenders += [Contender(surrogate(spending, weights, improve=improve), 1) for weights in singles]
    if (yield from take_turns(contenders, spending.run)) is Ending.EXHAUSTED:
        return Ending.EXHAUSTED
    if (yield from multipliers(spending)) is Ending.EXHAUSTED:
        return Ending.EXHAUSTED
    if not spending.sums:
        return Ending.INCOMPLETE
    return (yield from _labels(spending, "lmcut", tuple(spending.sums.values())))


def _labels(spending: Spending, heuristic: str, sums: tuple[Weights, ...] = ()) -> Steps:
    """Search by labels with one heuristic for the cost, for each resource, and for these sums of them."""
    workplace, kind, run = spending.workplace, HEURISTICS[heuristic], spending.run
    run.by = ("labels", f"{heuristic} of sums" if sums else heuristic)
    columns = [*spending.charges, *[weighted(weights, spending.charges) for weights in sums]]
    estimates = [kind.build(workplace.task, costs, workplace.check) for costs in columns]
    first = len(spending.charges)
    known = [Sum(first + at, allowed(each, spending.allowances), each[0]) for at, each in enumerate(sums)]
    limits = Limits([each.most for each in spending.allowances], run, known)
    ending = yield from label_search(workplace.space, columns, limits, estimates, run)
    spending.unsolvable = run.plan is None and not limits.cut and spending.cost.most >= INFINITY
    return ending
