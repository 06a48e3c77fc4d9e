"""The portfolio for tasks with budgets: resource-constrained shortest paths (Handler and Zang, 1980).

What a budget limits is additive and never negative, so it is a second cost. Searches for weighted sums of the costs
give plans that may keep the budgets, and bounds by Lagrange multipliers: if every plan comes to `bound` or more by some
weights of its cost and its uses, a plan that keeps the budgets costs at least `bound` less what the budgets come to, by
the weight of the cost. Label-setting search has the last word (Mandow and Pérez de la Cruz, 2010).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import gcd

from planner.heuristics import REGISTRY as HEURISTICS
from planner.lightweight import Final, dataclass, field, replace
from planner.model import COST, Problem
from planner.plan import Result, Status, StoppedBy
from planner.portfolio.portfolio import BLIND_STATES, search_anytime
from planner.portfolio.tiers import Contender, run_at_most, take_turns
from planner.portfolio.workplace import Workplace, heuristic_of
from planner.resources.label_setting import (
    Allowance,
    Charges,
    Counting,
    Estimate,
    Labelled,
    ResourceLimits,
    Sum,
    allowances,
    cost_allowance,
    label_search,
)
from planner.search import REGISTRY as SEARCHES
from planner.search import Ending, Run, Space
from planner.search.search_run import Steps
from planner.task.ground_task import INFINITY, Task

Weights = tuple[int, ...]
"""Of the cost, and of each resource."""
Searching = Callable[[list[int], Run, bool], Steps]
"""How one searches for plans by other costs of actions; and whether for ever better ones on the way to the cheapest."""


@dataclass(slots=True)
class Spending:
    """What searches for other costs share: the `run` for the real ones, the budgets, and what was found out.

    `search` searches by other costs; its plans are turned into the numbers of their actions by `taken`.
    `excluded` says in words why no plan keeps the budgets, where that is known of one of them; `unsolvable` says that
    there is no plan, whatever it uses. `points` are what plans cost and use, `sums` the weights between them for each
    resource, by its place.
    """

    run: Run
    allowances: Sequence[Allowance]
    cost: Allowance
    search: Searching
    taken: Callable[[list[int]], list[int]] = list
    excluded: str = ""
    unsolvable: bool = False
    points: set[Weights] = field(default_factory=set)
    sums: dict[int, Weights] = field(default_factory=dict)

    @property
    def charges(self) -> list[list[int]]:
        """What each action costs, by number, and what it uses of each resource."""
        return [self.cost.uses, *[each.uses for each in self.allowances]]

    def offer(self, plan: list[int]) -> None:
        """Take `plan` if it keeps the budgets."""
        actions = self.taken(plan)
        cost, *uses = point = tuple([sum([amounts[action] for action in actions]) for amounts in self.charges])
        self.points.add(point)
        if all(used <= allowance.most for used, allowance in zip(uses, self.allowances, strict=True)):
            self.run.report_plan(plan, cost)

    def proved(self, weights: Weights, bound: int) -> None:
        """Take a proof that every plan comes to `bound` or more by `weights`."""
        of_cost, *others = weights
        granted = allowed(weights, self.allowances)
        if of_cost:
            least = max(0, -((granted - bound) // of_cost))
            self.run.raise_bound(least)
            if least > self.cost.most:
                keeping = f" that keeps the budgets on {self._named(others)}" if any(others) else ""
                self.excluded = f"every plan{keeping} costs {self.cost.shown(least)} or more"
                self.excluded += f", and the budget is {self.cost.budget}"
        elif bound > granted:
            one = next(each for weight, each in zip(others, self.allowances, strict=True) if weight)
            self.excluded = f"every plan uses {one.shown(bound)} of {one.name} or more, and the budget is {one.budget}"

    def _named(self, weights: Sequence[int]) -> str:
        return " and ".join(each.name for weight, each in zip(weights, self.allowances, strict=True) if weight)

    @property
    def is_decided(self) -> bool:
        """Whether nothing is left to be found."""
        return bool(self.excluded) or self.run.lower_bound >= self.run.limit


def allowed(weights: Weights, allowances: Sequence[Allowance]) -> int:
    """Return what the budgets come to by `weights`."""
    return sum([weight * each.most for weight, each in zip(weights[1:], allowances, strict=True)])


def weighted(weights: Weights, charges: Sequence[Sequence[int]]) -> list[int]:
    """Return what each action comes to by `weights`, whose `charges` these are."""
    return [
        sum([weight * amount for weight, amount in zip(weights, each, strict=True)])
        for each in zip(*charges, strict=True)
    ]


def surrogate(spending: Spending, weights: Weights, *, improve: bool) -> Steps:
    """Search for a plan that comes to the least by `weights`; ends EXHAUSTED where that decides the matter.

    Where it is to `improve`, plans on the way there are offered, too.
    """
    run = Run()
    steps = spending.search(weighted(weights, spending.charges), run, improve)
    plan: list[int] | None = None
    before = Run()
    while True:
        try:
            next(steps)
            ending = None
        except StopIteration as stop:
            ending = stop.value
        if run.plan is not plan and run.plan is not None:
            plan = run.plan
            spending.offer(plan)
        spending.proved(weights, run.lower_bound)
        spending.run.add(run, before)
        spending.unsolvable = ending is Ending.EXHAUSTED and plan is None
        if spending.is_decided or spending.unsolvable:
            return Ending.EXHAUSTED
        if ending is not None or run.lower_bound >= run.limit:
            return Ending.INCOMPLETE
        yield


def between(spending: Spending, place: int) -> Weights | None:
    """Return weights of the cost and of the resource at `place` by which two known plans come to the same.

    They are the cheapest that is known, which uses too much, and the cheapest of those that do not. None where there
    are no such two.
    """
    most = spending.allowances[place].most
    over = [point for point in spending.points if point[place + 1] > most]
    within = [point for point in spending.points if point[place + 1] <= most]
    if not over or not within:
        return None
    first, second = min(over), min(within)
    of_cost, of_use = first[place + 1] - second[place + 1], second[0] - first[0]
    if of_use <= 0:
        return None
    common = gcd(of_cost, of_use)
    weights = [0] * (len(spending.allowances) + 1)
    weights[0], weights[place + 1] = of_cost // common, of_use // common
    return tuple(weights)


def multipliers(spending: Spending) -> Steps:
    """Search by the weights between known plans, as long as these give new ones."""
    tried: set[Weights] = set()
    while fresh := [each for each in _candidates(spending) if each[1] not in tried]:
        for place, weights in fresh:
            tried.add(weights)
            spending.sums[place] = weights
            if (yield from surrogate(spending, weights, improve=False)) is Ending.EXHAUSTED:
                return Ending.EXHAUSTED
    return Ending.INCOMPLETE


def _candidates(spending: Spending) -> Iterator[tuple[int, Weights]]:
    for place in range(len(spending.allowances)):
        weights = between(spending, place)
        if weights is not None:
            yield place, weights


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
    space, algorithm, name = Counting(workplace.space, limits), SEARCHES[search], heuristic_of(search, heuristic)
    kind, sure = HEURISTICS[name or "blind"], HEURISTICS[COUNTED_BY]
    estimate = kind.build(workplace.task, algorithm.counts.of(space.costs), workplace.check)
    told = sure.admissible and workplace.is_safe(sure)
    uses = [sure.build(workplace.task, each.uses, workplace.check) for each in limits if told]
    workplace.run.by, workplace.run.trusted = (search, name), workplace.is_safe(kind)
    ending = yield from algorithm.search(space, space.estimate(estimate, uses), workplace.run)
    spending.unsolvable = not space.cut
    return Ending.INCOMPLETE if ending is Ending.EXHAUSTED and not workplace.is_safe(kind) else ending


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

    def steps(costs: list[int], run: Run, improve: bool) -> Steps:
        task = workplace.task
        actions = [replace(action, cost=cost) for action, cost in zip(task.actions, costs, strict=True)]
        other = replace(task, actions=tuple(actions))
        place = Workplace(other, Space(other), run, workplace.check)
        contenders = [
            Contender(place.try_relaxed_plans(), 1),
            Contender(place.search("astar"), 4),
            Contender(place.search("uniform", states=BLIND_STATES), 1),
        ]
        if improve:
            contenders.append(Contender(search_anytime(place), 2))
        return (yield from take_turns(contenders, run))

    return steps


def counting(workplace: Workplace, search: str, heuristic: str | None) -> str:
    """Return the heuristic for a search by labels of this name; where it proves nothing, the run is not trusted."""
    name = "blind" if search == "uniform" else heuristic or "lmcut"
    workplace.run.trusted = HEURISTICS[name].admissible and workplace.is_safe(HEURISTICS[name])
    return name


def _together(spending: Spending, problem: Problem) -> str:
    names = [*([COST] if COST in problem.budgets else []), *(each.name for each in spending.allowances)]
    return f"no plan keeps the budget{'s' if len(names) > 1 else ''} on {' and '.join(names)}"


def within(workplace: Workplace, spending: Spending, mode: str) -> Steps:
    """Search for the cheapest plan within the budgets of `spending`, by labels and for other costs in turns."""
    informed = Contender(_labels(workplace, spending, "lmcut"), 1)
    blind = Contender(run_at_most(BLIND_LABELS, _labels(workplace, spending, "blind"), spending.run), 1)
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
    limits = ResourceLimits([each.most for each in spending.allowances], run, known)
    ending = yield from label_search(space, charges, limits, estimates, run, taken=taken)
    spending.unsolvable = run.plan is None and not limits.cut and spending.cost.most >= INFINITY
    return ending
