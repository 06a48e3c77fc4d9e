"""Which searches are run for a task with budgets, and how they share the time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from planner.annotations import Final
from planner.budgets.allowance import allowances, cost_allowance
from planner.budgets.counted import Counting
from planner.budgets.labels import Charges, Estimate, Labelled, Limits, Sum, label_search
from planner.budgets.surrogates import Searching, Spending, Weights, allowed, multipliers, surrogate, weighted
from planner.heuristics import REGISTRY as HEURISTICS
from planner.model import COST, Problem
from planner.plan import Result, Status, StoppedBy
from planner.records import replace
from planner.search import REGISTRY as SEARCHES
from planner.search import Ending, Run, Space
from planner.search.run import Steps
from planner.strategy import BLIND_STATES, improving
from planner.task import INFINITY, Task
from planner.turns import Contender, at_most, take_turns
from planner.workplace import Workplace, heuristic_for

LabelsFor = Callable[["tuple[Weights, ...]"], Steps]
"""A search by labels that takes these sums for bounds."""

LABELLED: Final = ("astar", "uniform")
"""The searches that go over labels."""
COUNTED_BY: Final = "lmcut"
"""The heuristic that tells how much of each resource is still needed."""
BLIND_LABELS: Final = 2_000_000
"""Labels after which search without estimates gives up: they take about a GiB."""


def unlabelled(search: str, what: str) -> Result | None:
    """Return the refusal of a `search` that does not do `what`, as it goes over no labels; None for one that does."""
    if search in LABELLED:
        return None
    reason = f"search '{search}' does not {what}; {' and '.join(LABELLED)} do"
    return Result(Status.UNSUPPORTED, StoppedBy.INCOMPLETE, reason=reason)


def within_budgets(
    workplace: Workplace, problem: Problem, mode: str, search: str | None = None, heuristic: str | None = None
) -> Steps:
    """Search for the cheapest plan of `problem` that keeps its budgets.

    Of the searches that can be named, those in `LABELLED` go over labels; to others, what is left is part of the state.
    Where no plan keeps them, `run.excluded` says why. Raises as `allowances` does.
    """
    spending = spending_of(workplace.task, problem, workplace.run, searching(workplace))
    if search is None:
        ending = yield from within(workplace, spending, mode)
    elif search not in LABELLED:
        ending = yield from _counted(workplace, spending, search, heuristic)
    else:
        ending = yield from _labels(workplace, spending, counting(workplace, search, heuristic))
        ending = ending if workplace.run.trusted else Ending.INCOMPLETE
    return concluded(spending, problem, ending)


def _counted(workplace: Workplace, spending: Spending, search: str, heuristic: str | None) -> Steps:
    """Run a search with what is left of the budgets as part of the state, in plain Python."""
    cost = [spending.cost] if spending.cost.most < INFINITY else []
    limits = [*cost, *spending.allowances]
    space, algorithm, name = Counting(workplace.space, limits), SEARCHES[search], heuristic_for(search, heuristic)
    kind, sure = HEURISTICS[name or "blind"], HEURISTICS[COUNTED_BY]
    estimate = kind.build(workplace.task, algorithm.counts.of(space.costs), workplace.check)
    told = sure.admissible and workplace.safe(sure)
    uses = [sure.build(workplace.task, each.uses, workplace.check) for each in limits if told]
    workplace.run.by, workplace.run.trusted = (search, name), workplace.safe(kind)
    ending = yield from algorithm.search(space, space.estimate(estimate, uses), workplace.run)
    spending.unsolvable = not space.cut
    return Ending.INCOMPLETE if ending is Ending.EXHAUSTED and not workplace.safe(kind) else ending


def spending_of(
    task: Task, problem: Problem, run: Run, search: Searching, taken: Callable[[list[int]], list[int]] = list
) -> Spending:
    """Return the budgets of `problem` for searches, with a limit on the cost for `run`; raises as `allowances` does."""
    budget = cost_allowance(problem, task)
    run.limit = min(run.limit, budget.most + 1)
    return Spending(run, allowances(problem, task), budget, search, taken)


def concluded(spending: Spending, problem: Problem, ending: Ending) -> Ending:
    """Note why there is no plan, if that is proved; returns the `ending`."""
    if spending.run.plan is None and ending is Ending.EXHAUSTED and not spending.unsolvable:
        spending.run.excluded = spending.excluded or _together(spending, problem)
    return ending


def searching(workplace: Workplace) -> Searching:
    """Return how one searches by other costs: the proof first of all, as it is the optimum that tells most."""

    def steps(costs: list[int], run: Run, improve: bool) -> Steps:  # noqa: FBT001 - as declared
        task = workplace.task
        actions = [replace(action, cost=cost) for action, cost in zip(task.actions, costs, strict=True)]
        other = replace(task, actions=tuple(actions))
        place = Workplace(other, Space(other), run, workplace.check)
        contenders = [
            Contender(place.relaxed(), 1),
            Contender(place.search("astar"), 4),
            Contender(place.search("uniform", states=BLIND_STATES), 1),
        ]
        if improve:
            contenders.append(Contender(improving(place), 2))
        return (yield from take_turns(contenders, run))

    return steps


def counting(workplace: Workplace, search: str, heuristic: str | None) -> str:
    """Return the heuristic for a search by labels of this name; where it proves nothing, the run is not trusted."""
    name = "blind" if search == "uniform" else heuristic or "lmcut"
    workplace.run.trusted = HEURISTICS[name].admissible and workplace.safe(HEURISTICS[name])
    return name


def _together(spending: Spending, problem: Problem) -> str:
    names = [*([COST] if COST in problem.budgets else []), *(each.name for each in spending.allowances)]
    return f"no plan keeps the budget{'s' if len(names) > 1 else ''} on {' and '.join(names)}"


def within(workplace: Workplace, spending: Spending, mode: str) -> Steps:
    """Search for the cheapest plan within the budgets of `spending`, by labels and for other costs in turns."""
    informed = Contender(_labels(workplace, spending, "lmcut"), 1)
    blind = Contender(at_most(BLIND_LABELS, _labels(workplace, spending, "blind"), spending.run), 1)
    return sharing(spending, mode, lambda sums: _labels(workplace, spending, "lmcut", sums), [informed, blind])


def sharing(spending: Spending, mode: str, labels: LabelsFor, contenders: list[Contender]) -> Steps:
    """Let `others` take turns with these `contenders`; where the cost alone is limited, there is no need of them."""
    kinds = len(spending.allowances)
    free: Weights = (1, *[0] * kinds)
    if not kinds:
        return surrogate(spending, free, improve=mode != "optimal")
    return take_turns([Contender(others(spending, free, mode, labels), 4), *contenders], spending.run)


def others(spending: Spending, free: Weights, mode: str, labels: LabelsFor) -> Steps:
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
    return (yield from labels(tuple(spending.sums.values())))


def _labels(workplace: Workplace, spending: Spending, heuristic: str, sums: tuple[Weights, ...] = ()) -> Steps:
    """Search by labels with one heuristic for the cost, for each resource, and for these sums of them."""
    kind, run = HEURISTICS[heuristic], spending.run
    run.by = ("labels", f"{heuristic} of sums" if sums else heuristic)
    columns = columns_of(spending, sums)
    estimates = [kind.build(workplace.task, costs, workplace.check) for costs in columns]
    return (yield from labelled(workplace.space, spending, list(zip(*columns, strict=True)), estimates, sums))


def columns_of(spending: Spending, sums: tuple[Weights, ...]) -> list[list[int]]:
    """Return what labels count: the cost of each action, its uses, and its part of each of the `sums`."""
    return [*spending.charges, *[weighted(weights, spending.charges) for weights in sums]]


def labelled(
    space: Labelled,
    spending: Spending,
    charges: Charges,
    estimates: Sequence[Estimate],
    sums: tuple[Weights, ...],
    *,
    taken: Callable[[list[int]], list[int]] = list,
) -> Steps:
    """Search by labels that count these `charges`; the run is told what is `taken` for the actions of a plan."""
    first, run = len(spending.charges), spending.run
    known = [Sum(first + at, allowed(each, spending.allowances), each[0]) for at, each in enumerate(sums)]
    limits = Limits([each.most for each in spending.allowances], run, known)
    ending = yield from label_search(space, charges, limits, estimates, run, taken=taken)
    spending.unsolvable = run.plan is None and not limits.cut and spending.cost.most >= INFINITY
    return ending
