"""Searches for other costs, which give plans that may keep the budgets, and bounds for those that do.

Let every plan come to `bound` or more by some weights of its cost and of what it uses. Then one that keeps the budgets
costs at least `bound`, less what the budgets come to, by the weight of the cost (Handler and Zang, 1980). All weight on
the cost leaves the budgets out of account; all weight on a resource asks how little of it will do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import gcd

from planner.budgets.allowance import Allowance
from planner.records import dataclass, field
from planner.search import Ending, Run
from planner.search.run import Steps

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
            self.run.found(plan, cost)

    def proved(self, weights: Weights, bound: int) -> None:
        """Take a proof that every plan comes to `bound` or more by `weights`."""
        of_cost, *others = weights
        granted = allowed(weights, self.allowances)
        if of_cost:
            least = max(0, -((granted - bound) // of_cost))
            self.run.proved(least)
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
