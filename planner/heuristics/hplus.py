"""Cheapest plans of the delete relaxation: what they cost is h+ (Hoffmann, 2005).

The search is for sets of actions, not for sequences: where a set is not complete, every plan needs one of the actions
of a landmark, and the cases are that it has the first of them; not the first, but the second; and so on (Pommerening
and Helmert, 2012). An action that is chosen costs nothing from there on, and one that is ruled out costs more than the
bound. LM-cut then says which cases are too dear, and inherits the landmarks that the choice has not fulfilled.

Plans of at most a bound are looked for, and the bound rises until there are some. Each bound comes with a task of its
own: an action is left out if its own cost, and that of reaching it, are more than the landmarks leave over. Such *costs
that are left* rule out most actions of a large library, and they do so again in each case.
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
"""Looks at an operator, in all cases together, after which the search is given up: that takes about a second."""
SOME_WORK: Final = MOST_WORK // 400
"""The same after which it is worth while to look for a better order of preconditions for each bound."""

Found = tuple[int, frozenset[int] | None]
"""A cost below which there is no relaxed plan, and the actions of one, if one has been found."""


def find_relaxed_plans(task: Task, costs: list[int], check: Check, work: int = MOST_WORK) -> Iterator[Found]:
    """Yield rising bounds, with good relaxed plans at first, and at last all those that cost no more than the bound.

    The bound is `INFINITY` where there is no relaxed plan. It pauses after each case, and ends after so much `work`, or
    where all these plans have been found (with others that have free actions besides, or the same ones again).
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
    """A case: what the actions chosen cost, the prices of operators in it, and the landmarks that are left."""

    spent: int
    prices: list[int]
    landmarks: list[Landmark]


class _Cases:
    """The search for relaxed plans that cost at most `bound`, as long as there is work `left` to do.

    No plan that it has not `found` costs less than `above`.
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
        """Make operators too dear that cost more than what landmarks leave over: `slack`."""
        ruled_out, prices = self._bound + 1, case.prices[:]
        for operator, use in enumerate(evaluation.bound_operators(slack)):
            if use > slack and 0 < prices[operator] < ruled_out:
                prices[operator] = ruled_out
                self.above = min(self.above, self._bound - slack + use)
        case.prices = prices

    def _divide(self, case: _Case, evaluation: Evaluation, planned: frozenset[int]) -> list[_Case]:
        """Return the cases for the landmark with the fewest operators left, those that are `planned` last."""
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
    """Return operators that reach the goal and cost nothing any more, with low `prices` if possible.

    Each fact is reached by a set of operators, and a set is as dear as all in it are: what several facts need is paid
    once (Keyder and Geffner, 2008).
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
