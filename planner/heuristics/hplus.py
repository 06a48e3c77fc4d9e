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

from planner.annotations import Final
from planner.heuristics.kind import Check
from planner.heuristics.lmcut import Evaluation, Landmark, LmCut
from planner.heuristics.relaxed import AXIOM, RelaxedTask, relax
from planner.records import dataclass
from planner.task import INFINITY, State, Task, bits

MOST_CASES: Final = 10_000
"""Cases that are looked at before the search is given up."""

Found = tuple[int, frozenset[int] | None]
"""A cost below which there is no relaxed plan, and the actions of one that costs so much, if one has been found."""


def relaxed_plans(task: Task, costs: list[int], check: Check, most: int = MOST_CASES) -> Iterator[Found]:
    """Yield rising bounds, and at last the relaxed plans that cost no more; `INFINITY` where there is no relaxed plan.

    It pauses after each case, and ends where all these plans have been found (with others that have free actions
    besides, or the same ones again), or after so many cases.
    """
    relaxed, state = relax(task, costs), bits(task.initial)
    heuristic = LmCut(relaxed, len(costs), check)
    first = Evaluation(heuristic, state, [])
    bound = first.run(INFINITY)
    plan = None if bound == INFINITY else _free_plan(heuristic, first, relaxed.costs)
    yield bound, None if plan is None or _price(plan, relaxed.costs) > bound else _actions(plan, relaxed)
    if plan is None:
        return
    heuristic.take_best_order(state)
    root = Evaluation(heuristic, state, [])
    least = root.run(INFINITY)
    uses = [least + use for use in root.reached_beyond(sum(relaxed.costs))]
    bound = max(bound, least)
    while most > 0:
        yield bound, None
        part = relaxed.only([operator for operator, use in enumerate(uses) if use <= bound])
        cases = _Cases(LmCut(part, len(costs), check), state, bound, most)
        for found in cases.plans():
            yield bound, found
        if cases.found:
            return
        most = cases.most
        bound = min([cases.above, *[use for use in uses if use > bound]])


@dataclass(slots=True)
class _Case:
    """A case: what the actions chosen cost, the prices of operators in it, and the landmarks that are left."""

    spent: int
    prices: list[int]
    landmarks: list[Landmark]


class _Cases:
    """The search for relaxed plans that cost at most `bound`, with `most` cases.

    No plan that it has not `found` costs less than `above`.
    """

    def __init__(self, heuristic: LmCut, state: State, bound: int, most: int) -> None:
        self.above = INFINITY
        self.found = False
        self.most = most
        self._heuristic = heuristic
        self._relaxed = heuristic.relaxed
        self._state = state
        self._bound = bound

    def plans(self) -> Iterator[frozenset[int] | None]:
        """Yield plans, and None for each case without one."""
        waiting = [_Case(0, self._relaxed.costs, [])]
        while waiting and self.most:
            self.most -= 1
            case = waiting.pop()
            evaluation = Evaluation(self._heuristic, self._state, case.landmarks, case.prices)
            left = self._bound - case.spent
            value = evaluation.run(left + 1)
            if value > left:
                self.above = min(self.above, case.spent + value)
                yield None
                continue
            self._rule_out(case, evaluation, left - value)
            plan = _free_plan(self._heuristic, evaluation, case.prices)
            complete = _price(plan, case.prices) <= left
            self.found |= complete
            yield _actions(plan, self._relaxed) if complete else None
            if value:
                waiting += self._divided(case, evaluation, set(plan))
        if waiting:
            self.above = min(self.above, self._bound)

    def _rule_out(self, case: _Case, evaluation: Evaluation, slack: int) -> None:
        """Make operators too dear that cost more than what landmarks leave over: `slack`."""
        ruled_out, prices = self._bound + 1, case.prices[:]
        for operator, use in enumerate(evaluation.reached_beyond(slack)):
            if use > slack and 0 < prices[operator] < ruled_out:
                prices[operator] = ruled_out
                self.above = min(self.above, self._bound - slack + use)
        case.prices = prices

    def _divided(self, case: _Case, evaluation: Evaluation, planned: set[int]) -> list[_Case]:
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


def _free_plan(heuristic: LmCut, evaluation: Evaluation, prices: list[int]) -> list[int]:
    """Return operators that reach the goal and cost nothing any more, with low `prices` if possible.

    What a fact takes is the sum of what its achiever and the conditions of it take, as for h_add.
    """
    relaxed, start, left = heuristic.relaxed, heuristic.start, evaluation.cost
    missing, sums, holds = start.missing[:], prices[:], start.looked
    value: dict[int, int] = {}
    achiever: dict[int, int] = {}
    waiting: list[tuple[int, int]] = []
    ready: Iterable[int] = start.ready
    while True:
        for operator in ready:
            price = sums[operator]
            for fact in () if left[operator] else relaxed.effects[operator]:
                if not holds[fact] and price < value.get(fact, INFINITY):
                    value[fact], achiever[fact] = price, operator
                    heappush(waiting, (price, fact))
        price, fact = heappop(waiting)
        if fact == relaxed.goal:
            return _needed(relaxed, achiever)
        ready = []
        if value[fact] == price:
            value[fact] = -1
            for operator in relaxed.needed_by[fact]:
                sums[operator] += price
                missing[operator] -= 1
                if not missing[operator]:
                    ready.append(operator)


def _needed(relaxed: RelaxedTask, achiever: dict[int, int]) -> list[int]:
    """Return the operators that the goal needs, if facts have these achievers."""
    operators = {achiever[relaxed.goal]: None}
    waiting = list(operators)
    for operator in waiting:
        for fact in relaxed.preconditions[operator]:
            if fact in achiever and achiever[fact] not in operators:
                operators[achiever[fact]] = None
                waiting.append(achiever[fact])
    return list(operators)


def _price(plan: list[int], prices: list[int]) -> int:
    return sum([prices[operator] for operator in plan])


def _actions(plan: list[int], relaxed: RelaxedTask) -> frozenset[int]:
    return frozenset([relaxed.actions[operator] for operator in plan if relaxed.actions[operator] != AXIOM])
