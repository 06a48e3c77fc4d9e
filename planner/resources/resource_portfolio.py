"""The portfolio of searches for tasks with budgets: resource-constrained shortest paths (Handler and Zang, 1980).

The use of a resource is additive and never negative, so it is a second cost. Searches by weighted sums of cost and uses
give plans that may keep the budgets, and lower bounds by Lagrange multipliers: if every plan has a sum of at least
`bound`, a plan that keeps the budgets costs at least `bound` less the sum of the budgets, divided by the weight of the
cost. Label-setting search gives the proof (Mandow and Pérez de la Cruz, 2010).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import gcd

from planner.heuristics import REGISTRY as HEURISTICS
from planner.lightweight import Final, dataclass, field, replace
from planner.model import COST
from planner.plan import Result, Status, StoppedBy
from planner.portfolio.portfolio import BLIND_STATES, search_anytime
from planner.portfolio.tiers import Contender, run_at_most, take_turns
from planner.portfolio.workplace import Workplace, heuristic_of
from planner.resources import label_setting
from planner.resources.label_setting import Charges, ResourceLimits
from planner.search import REGISTRY as SEARCHES
from planner.search import Ending, Run, Space
from planner.search.search_run import Steps, advance
from planner.task.ground_task import INFINITY, Allowance, Task

Weights = tuple[int, ...]
"""Weights of the cost and of each resource."""
CostSearch = Callable[[list[int], Run, bool], Steps]
"""A search by other costs of the actions; the flag asks for better and better plans before the cheapest."""


@dataclass(slots=True)
class Spending:
    """What the searches for one task with budgets share: the `run` for the real costs, the budgets, and the results.

    `search` searches by other costs; `taken` turns its plans into the numbers of their actions. `excluded` says why no
    plan keeps the budgets, once that is proved. `unsolvable` says that there is no plan at all. `points` are the costs
    and uses of plans, `sums` the weights between them for each resource, by its place.
    """

    run: Run
    allowances: Sequence[Allowance]
    cost: Allowance
    search: CostSearch
    taken: Callable[[list[int]], list[int]] = list
    excluded: str = ""
    unsolvable: bool = False
    points: set[Weights] = field(default_factory=set)
    sums: dict[int, Weights] = field(default_factory=dict)

    @property
    def charges(self) -> list[list[int]]:
        """The costs of the actions, then their uses of each resource, by the number of the action."""
        return [self.cost.uses, *[each.uses for each in self.allowances]]

    def offer(self, plan: list[int]) -> None:
        """Report `plan` to the run if it keeps the budgets."""
        actions = self.taken(plan)
        cost, *uses = point = tuple([sum([amounts[action] for action in actions]) for amounts in self.charges])
        self.points.add(point)
        if all(used <= allowance.most for used, allowance in zip(uses, self.allowances, strict=True)):
            self.run.report_plan(plan, cost)

    def note_bound(self, weights: Weights, bound: int) -> None:
        """Use a proof that every plan has at least the sum `bound` by `weights`."""
        of_cost, *others = weights
        granted = total_budget(weights, self.allowances)
        if of_cost:
            least = max(0, -((granted - bound) // of_cost))
            self.run.raise_bound(least)
            if least > self.cost.most:
                keeping = f" that keeps the budgets on {self._join_names(others)}" if any(others) else ""
                self.excluded = f"every plan{keeping} {self.cost.describe_use(least)} or more"
                self.excluded += f", and the budget is {self.cost.budget}"
        elif bound > granted:
            one = next(each for weight, each in zip(others, self.allowances, strict=True) if weight)
            self.excluded = f"every plan {one.describe_use(bound)} or more, and the budget is {one.budget}"

    def _join_names(self, weights: Sequence[int]) -> str:
        return " and ".join(each.name for weight, each in zip(weights, self.allowances, strict=True) if weight)

    @property
    def is_decided(self) -> bool:
        """Whether the optimum, or that there is no plan, is proved."""
        return bool(self.excluded) or self.run.lower_bound >= self.run.limit


def total_budget(weights: Weights, allowances: Sequence[Allowance]) -> int:
    """Return the sum of the budgets by `weights`."""
    return sum([weight * each.most for weight, each in zip(weights[1:], allowances, strict=True)])


def weigh(weights: Weights, charges: Sequence[Sequence[int]]) -> list[int]:
    """Return the sum of the `charges` of each action by `weights`."""
    return [
        sum([weight * amount for weight, amount in zip(weights, each, strict=True)])
        for each in zip(*charges, strict=True)
    ]


def search_weighted_sum(spending: Spending, weights: Weights, *, improve: bool) -> Steps:
    """Search for a plan of least sum by `weights`; end EXHAUSTED if that decides the task.

    With `improve`, plans on the way there are offered, too.
    """
    run = Run(seed=spending.run.seed, failures=spending.run.failures)
    steps = spending.search(weigh(weights, spending.charges), run, improve)
    plan: list[int] | None = None
    before = Run()
    while True:
        ending = advance(steps)
        if run.plan is not plan and run.plan is not None:
            plan, spending.run.by = run.plan, run.found_by
            spending.offer(plan)
        spending.run.by = run.news_by if run.lower_bound else run.by
        spending.note_bound(weights, run.lower_bound)
        spending.run.add(run, before)
        spending.unsolvable = ending is Ending.EXHAUSTED and plan is None
        if spending.is_decided or spending.unsolvable:
            return Ending.EXHAUSTED
        if ending is not None or run.lower_bound >= run.limit:
            return Ending.INCOMPLETE
        yield


def weights_between(spending: Spending, place: int) -> Weights | None:
    """Return weights of the cost and of the resource at `place` by which two known plans have the same sum.

    These are the cheapest plan that exceeds the budget and the cheapest one that keeps it; None if either is missing.
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


def search_multipliers(spending: Spending) -> Steps:
    """Search by the weights between known plans as long as these give new weights."""
    tried: set[Weights] = set()
    while fresh := [each for each in _new_weights(spending) if each[1] not in tried]:
        for place, weights in fresh:
            tried.add(weights)
            spending.sums[place] = weights
            if (yield from search_weighted_sum(spending, weights, improve=False)) is Ending.EXHAUSTED:
                return Ending.EXHAUSTED
    return Ending.INCOMPLETE


def _new_weights(spending: Spending) -> Iterator[tuple[int, Weights]]:
    for place in range(len(spending.allowances)):
        weights = weights_between(spending, place)
        if weights is not None:
            yield place, weights


LabelsFor = Callable[["tuple[Weights, ...]"], Steps]
"""A search by labels with these weighted sums as bounds."""

LABELLED: Final = ("astar", "uniform")
"""Names of the searches that use labels."""
COUNTED_BY: Final = "lmcut"
"""The heuristic for the remaining use of each resource."""
BLIND_LABELS: Final = 2_000_000
"""Number of labels after which blind search gives up; they take about 1 GiB."""


def refuse_without_labels(search: str, what: str) -> Result | None:
    """Return the refusal of a `search` that cannot do `what` as it uses no labels; None for one that can."""
    if search in LABELLED:
        return None
    reason = f"search '{search}' does not {what}; {' and '.join(LABELLED)} do"
    return Result(Status.UNSUPPORTED, StoppedBy.INCOMPLETE, reason=reason)


def search_with_budgets(
    workplace: Workplace, mode: str, search: str | None = None, heuristic: str | None = None
) -> Steps:
    """Search for the cheapest plan that keeps the allowances of the task.

    A named search in `LABELLED` uses labels; for others, the remaining budgets are part of the state. If no plan keeps
    the budgets, `run.excluded` says why.
    """
    spending = spending_of(workplace.task, workplace.run, cost_search_of(workplace))
    if search is None:
        ending = yield from search_within(workplace, spending, mode)
    elif search not in LABELLED:
        ending = yield from _search_with_counters(workplace, spending, search, heuristic)
    else:
        ending = yield from _search_labels(workplace, spending, select_label_heuristic(workplace, search, heuristic))
        ending = ending if workplace.run.trusted else Ending.INCOMPLETE
    return note_conclusion(spending, ending)


def _search_with_counters(workplace: Workplace, spending: Spending, search: str, heuristic: str | None) -> Steps:
    """Run a search with the remaining budgets as part of the state, in plain Python."""
    cost = [spending.cost] if spending.cost.most < INFINITY else []
    limits = [*cost, *spending.allowances]
    space, algorithm, name = (
        label_setting.BudgetedSpace(workplace.space, limits),
        SEARCHES[search],
        heuristic_of(search, heuristic),
    )
    kind, sure = HEURISTICS[name or "blind"], HEURISTICS[COUNTED_BY]
    run = workplace.run
    run.note_tier("reference")
    estimate = kind.build_for(workplace.task, algorithm.counts.of(space.costs), workplace.check, run.seed)
    told = sure.admissible and workplace.is_safe(sure)
    uses = [sure.build(workplace.task, each.uses, workplace.check) for each in limits if told]
    run.by, run.trusted = (search, name), workplace.is_safe(kind)
    ending = yield from algorithm.search(space, space.estimate(estimate, uses), run)
    spending.unsolvable = not space.cut
    return Ending.INCOMPLETE if ending is Ending.EXHAUSTED and not workplace.is_safe(kind) else ending


def spending_of(task: Task, run: Run, search: CostSearch, taken: Callable[[list[int]], list[int]] = list) -> Spending:
    """Return the allowances of `task`, and limit the cost of `run`."""
    cost = cost_allowance(task)
    run.limit = min(run.limit, cost.most + 1)
    return Spending(run, resource_allowances(task), cost, search, taken)


def resource_allowances(task: Task) -> list[Allowance]:
    """Return the allowances of `task` beside that on what its plans are charged."""
    return [each for each in task.allowances if not each.is_charged]


def cost_allowance(task: Task) -> Allowance:
    """Return the allowance on what plans of `task` are charged; `most` is `INFINITY` if there is none."""
    uses = [action.cost for action in task.actions]
    unlimited = Allowance(COST, uses, INFINITY, 0, task.resolution, is_charged=True)
    return next((each for each in task.allowances if each.is_charged), unlimited)


def note_conclusion(spending: Spending, ending: Ending) -> Ending:
    """Set `run.excluded` if it is proved that no plan keeps the budgets; return `ending`."""
    if spending.run.plan is None and ending is Ending.EXHAUSTED and not spending.unsolvable:
        spending.run.excluded = spending.excluded or _describe_budgets(spending)
    return ending


def cost_search_of(workplace: Workplace) -> CostSearch:
    """Return a search by other costs: mainly for the proof, as the optimum gives the best bound."""

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


def select_label_heuristic(workplace: Workplace, search: str, heuristic: str | None) -> str:
    """Return the heuristic of a named search by labels; if it proves nothing, the run is not trusted."""
    name = "blind" if search == "uniform" else heuristic or "lmcut"
    workplace.run.trusted = HEURISTICS[name].admissible and workplace.is_safe(HEURISTICS[name])
    return name


def _describe_budgets(spending: Spending) -> str:
    names = [each.name for each in (spending.cost, *spending.allowances) if each.most < INFINITY]
    return f"no plan keeps the budget{'s' if len(names) > 1 else ''} on {' and '.join(names)}"


def search_within(workplace: Workplace, spending: Spending, mode: str) -> Steps:
    """Search for the cheapest plan within the budgets of `spending`, by labels and by weighted sums in turns."""
    informed = Contender(_search_labels(workplace, spending, "lmcut"), 1)
    blind = Contender(run_at_most(BLIND_LABELS, _search_labels(workplace, spending, "blind"), spending.run), 1)
    return share_turns(
        spending, mode, lambda sums: _search_labels(workplace, spending, "lmcut", sums), [informed, blind]
    )


def share_turns(spending: Spending, mode: str, labels: LabelsFor, contenders: list[Contender]) -> Steps:
    """Let searches by sums take turns with `contenders`; if only the cost is limited, one search by cost will do."""
    kinds = len(spending.allowances)
    free: Weights = (1, *[0] * kinds)
    if not kinds:
        return search_weighted_sum(spending, free, improve=mode != "optimal")
    return take_turns([Contender(search_other_costs(spending, free, mode, labels), 4), *contenders], spending.run)


def search_other_costs(spending: Spending, free: Weights, mode: str, labels: LabelsFor) -> Steps:
    """Search for the least cost, the least uses, the least sums between plans, and by labels with these sums."""
    singles = [tuple([int(place == other) for other in range(len(free))]) for place in range(1, len(free))]
    improve = mode != "optimal"
    contenders = [Contender(search_weighted_sum(spending, free, improve=improve), len(singles))]
    contenders += [Contender(search_weighted_sum(spending, weights, improve=improve), 1) for weights in singles]
    if (yield from take_turns(contenders, spending.run)) is Ending.EXHAUSTED:
        return Ending.EXHAUSTED
    if (yield from search_multipliers(spending)) is Ending.EXHAUSTED:
        return Ending.EXHAUSTED
    if not spending.sums:
        return Ending.INCOMPLETE
    return (yield from labels(tuple(spending.sums.values())))


def _search_labels(workplace: Workplace, spending: Spending, heuristic: str, sums: tuple[Weights, ...] = ()) -> Steps:
    """Search by labels with one heuristic for the cost, for each resource and for each sum."""
    kind, run = HEURISTICS[heuristic], spending.run
    run.note_tier("reference")
    run.by = ("labels", f"{heuristic} of sums" if sums else heuristic)
    columns = columns_of(spending, sums)
    estimates = [kind.build_for(workplace.task, costs, workplace.check, run.seed) for costs in columns]
    return (yield from search_by_labels(workplace.space, spending, list(zip(*columns, strict=True)), estimates, sums))


def columns_of(spending: Spending, sums: tuple[Weights, ...]) -> list[list[int]]:
    """Return the quantities of labels: cost of each action, its uses, and its part of each of the `sums`."""
    return [*spending.charges, *[weigh(weights, spending.charges) for weights in sums]]


def search_by_labels(
    space: label_setting.Labelled,
    spending: Spending,
    charges: Charges,
    estimates: Sequence[label_setting.Estimate],
    sums: tuple[Weights, ...],
    *,
    taken: Callable[[list[int]], list[int]] = list,
) -> Steps:
    """Search by labels with these `charges`; the run is given plans as what `taken` returns for their actions."""
    first, run = len(spending.charges), spending.run
    known = [
        label_setting.Sum(first + at, total_budget(each, spending.allowances), each[0]) for at, each in enumerate(sums)
    ]
    limits = ResourceLimits([each.most for each in spending.allowances], run, known)
    ending = yield from label_setting.search_labels(space, charges, limits, estimates, run, taken=taken)
    spending.unsolvable = run.plan is None and not limits.cut and spending.cost.most >= INFINITY
    return ending
