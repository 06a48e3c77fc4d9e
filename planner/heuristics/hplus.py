"""Cheapest plans of the delete relaxation; their cost is h+ (Hoffmann, 2005).

The search branches over sets of actions, not over sequences (Pommerening and Helmert, 2012). Every plan that extends an
incomplete set contains an action of a landmark. Case i chooses the action number i of the landmark and rules out the
actions before it. A chosen action costs nothing from there on; a ruled-out action costs more than the bound. LM-cut
prunes cases, and inherits the landmarks without the chosen action.

The search looks for plans within a bound, and raises the bound until there are some. Each bound has a task of its own,
without the actions that no plan within the bound can use: their remaining cost, and that of reaching them, exceed the
bound less the landmarks (reduced-cost fixing). This removes most actions of a large library, and more of them in each
case.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush

from planner.heuristics.declare import Check
from planner.heuristics.lmcut import Evaluation, Landmark, LmCut
from planner.heuristics.relaxation import AXIOM, RelaxedTask, relax
from planner.lightweight import Final, dataclass
from planner.task.ground_task import INFINITY, State, Task, bits

MOST_WORK: Final = 2_000_000
"""Limit of the search: operator evaluations in all cases together, about one second."""
SOME_WORK: Final = MOST_WORK // 400
"""Operator evaluations after which the search optimizes the precondition order for each bound."""

Found = tuple[int, frozenset[int] | None]
"""A lower bound on the cost of relaxed plans, and the actions of a relaxed plan if one was found."""


def find_relaxed_plans(task: Task, costs: list[int], check: Check, work: int = MOST_WORK) -> Iterator[Found]:
    """Yield rising bounds with good relaxed plans, and finally all relaxed plans within the bound.

    The bound is `INFINITY` if there is no relaxed plan. The generator pauses after each case. It ends after `work`
    evaluations, or when all these plans were found (some with additional zero-cost actions, some repeatedly).
    """
    relaxed, state = relax(task, costs), bits(task.initial)
    heuristic, bound, uses = LmCut(relaxed, len(costs), check), -1, relaxed.costs
    best: list[tuple[int, ...]] = []
    for order in heuristic.try_orders(state):
        root = Evaluation(heuristic, state, [])
        value = root.find_landmarks(INFINITY)
        if value == INFINITY:
            yield value, None
            return
        if value > bound:
            bound, best = value, order
        plan = _find_free_plan(heuristic, root, relaxed.costs)
        yield bound, _actions_of(plan, relaxed)
        uses = list(map(max, uses, [value + use for use in root.bound_operators(sum(relaxed.costs))]))
        if _sum_prices(plan, relaxed.costs) == bound:
            break
    relaxed.preconditions[:] = best
    left = work
    while left > 0:
        yield bound, None
        heuristic = LmCut(
            relaxed.restrict_to([operator for operator, use in enumerate(uses) if use <= bound]), len(costs), check
        )
        if work - left > SOME_WORK:
            heuristic.choose_order(state)
        cases = _Cases(heuristic, state, bound, left)
        for found in cases.search_cases():
            yield bound, found
        if cases.found:
            return
        left = cases.left
        bound = min([cases.above, *[use for use in uses if use > bound]])


@dataclass(slots=True)
class _Case:
    """A case: the cost `spent` on chosen actions, its `prices` of operators, and the remaining `landmarks`."""

    spent: int
    prices: list[int]
    landmarks: list[Landmark]


class _Cases:
    """The search for relaxed plans of cost at most `bound`, with `left` operator evaluations to go.

    All plans that it has not `found` cost at least `above`.
    """

    def __init__(self, heuristic: LmCut, state: State, bound: int, left: int) -> None:
        self.above = INFINITY
        self.found = False
        self.left = left
        self._heuristic = heuristic
        self._relaxed = heuristic.relaxed
        self._state = state
        self._bound = bound

    def search_cases(self) -> Iterator[frozenset[int] | None]:
        """Yield plans, and None for each case without one."""
        waiting = [_Case(0, self._relaxed.costs, [])]
        while waiting and self.left > 0:
            self.left -= len(self._relaxed.costs)
            case = waiting.pop()
            evaluation = Evaluation(self._heuristic, self._state, case.landmarks, case.prices)
            left = self._bound - case.spent
            value = evaluation.find_landmarks(left + 1)
            if value > left:
                self.above = min(self.above, case.spent + value)
                yield None
                continue
            self._rule_out(case, evaluation, left - value)
            plan = _find_free_plan(self._heuristic, evaluation, case.prices)
            complete = _sum_prices(plan, case.prices) <= left
            self.found |= complete
            yield _actions_of(plan, self._relaxed) if complete else None
            if value:
                waiting += self._divide(case, evaluation, plan)
        if waiting:
            self.above = min(self.above, self._bound)

    def _rule_out(self, case: _Case, evaluation: Evaluation, slack: int) -> None:
        """Rule out the operators whose use costs more than `slack`, the bound less the landmarks."""
        ruled_out, prices = self._bound + 1, case.prices[:]
        for operator, use in enumerate(evaluation.bound_operators(slack)):
            if use > slack and 0 < prices[operator] < ruled_out:
                prices[operator] = ruled_out
                self.above = min(self.above, self._bound - slack + use)
        case.prices = prices

    def _divide(self, case: _Case, evaluation: Evaluation, planned: frozenset[int]) -> list[_Case]:
        """Branch on the landmark with the fewest remaining operators; return the cases of `planned` ones last."""
        prices, costs, ruled_out = case.prices[:], self._relaxed.costs, self._bound + 1
        choices = [
            (len(left), -landmark.worth, left)
            for landmark in case.landmarks
            for left in [[operator for operator in landmark.operators if prices[operator] < ruled_out]]
        ]
        fewest = min(choices)[2]
        fewest.sort(key=lambda operator: (operator not in planned, evaluation.cost[operator]))
        cases = []
        for action in dict.fromkeys([self._relaxed.actions[operator] for operator in fewest]):
            chosen, operators = prices[:], self._heuristic.operators_of[action]
            for operator in operators:
                chosen[operator], prices[operator] = 0, ruled_out
            rest = [landmark for landmark in case.landmarks if action not in landmark.actions]
            cases.append(_Case(case.spent + costs[operators[0]], chosen, rest))
        return cases[::-1]


def _find_free_plan(heuristic: LmCut, evaluation: Evaluation, prices: list[int]) -> frozenset[int]:
    """Return operators that reach the goal at no remaining cost, with low `prices` if possible.

    Each fact keeps a set of operators that reaches it, and a set pays each operator once (Keyder and Geffner, 2008).
    """
    relaxed, left, expanded = heuristic.relaxed, evaluation.cost, heuristic.start.expanded
    missing = heuristic.start.missing[:]
    plan: dict[int, frozenset[int]] = {}
    price: dict[int, int] = {}
    waiting: list[tuple[int, int]] = []
    ready: Iterable[int] = heuristic.start.ready
    while True:
        for operator in ready:
            if not left[operator]:
                needed = [plan[fact] for fact in relaxed.preconditions[operator] if fact in plan]
                operators = frozenset((operator,)).union(*needed)
                total = _sum_prices(operators, prices)
                for fact in relaxed.effects[operator]:
                    if not expanded[fact] and total < price.get(fact, INFINITY):
                        price[fact], plan[fact] = total, operators
                        heappush(waiting, (total, fact))
        total, fact = heappop(waiting)
        if fact == relaxed.goal:
            return plan[fact]
        ready = []
        if price[fact] == total:
            price[fact] = -1
            for operator in relaxed.needed_by[fact]:
                missing[operator] -= 1
                if not missing[operator]:
                    ready.append(operator)


def _sum_prices(plan: Iterable[int], prices: list[int]) -> int:
    return sum([prices[operator] for operator in plan])


def _actions_of(plan: Iterable[int], relaxed: RelaxedTask) -> frozenset[int]:
    return frozenset([relaxed.actions[operator] for operator in plan if relaxed.actions[operator] != AXIOM])
