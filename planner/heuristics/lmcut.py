"""LM-cut: the sum of the costs of disjunctive action landmarks (Helmert and Domshlak, 2009).

As long as the goal costs something under h_max, the *goal zone*, all facts from which free operators lead to the goal,
is cut off: every plan needs one of the actions that enter it. The cheapest of them says what that is worth; all of them
are charged that much, and the next round goes on with what is left of their costs.

A cut charges the *action*, and so every relaxed operator of it: an action with conditional effects pays once, whatever
it achieves. So no action is charged more than it costs, each landmark takes its worth out of at least one action that
every plan pays, and the sum is admissible. The first operator of a plan to enter the zone has no precondition in it:
that is all a landmark needs, so operators with a precondition inside are never in the cut.

Two things make it fast. Facts that cost as much as the goal or more are *far*, and are never looked into: the zone
lies among them. And a successor inherits the landmarks of its parent that do not contain the action between
(Pommerening and Helmert, 2013).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush

from planner.heuristics.declare import Check, Heuristic, Kind
from planner.heuristics.relaxation import RelaxedTask, Start, relax
from planner.lightweight import dataclass
from planner.task.ground_task import INFINITY, State, Task


@dataclass(frozen=True, slots=True)
class Landmark:
    """Every plan has one of `actions`, and `worth` of its cost is counted for this; `operators` are the actions'."""

    worth: int
    actions: frozenset[int]
    operators: tuple[int, ...]


class LmCut:
    """The LM-cut heuristic of a task: states inherit their parents' landmarks.

    `relaxed` is the relaxation of a task with so many `actions`.
    """

    def __init__(self, relaxed: RelaxedTask, actions: int, check: Check) -> None:
        self.relaxed = relaxed
        self.start = Start(relaxed)
        self.operators_of = relaxed.operators_of(actions)
        self.shared = any(len(operators) > 1 for operators in self.operators_of)
        self.check = check
        self._ordered = False

    def __call__(self, state: State) -> int:
        """Return the estimate for `state`: never too high."""
        return self.evaluate(state, None, INFINITY)[0]

    def inherit(self, known: list[Landmark], action: int) -> tuple[int, tuple[list[Landmark], int]]:
        """Return what the landmarks without `action` are worth, and the way to them."""
        bound = 0
        for landmark in known:
            if action not in landmark.actions:
                bound += landmark.worth
        return bound, (known, action)

    def evaluate(
        self, state: State, inherited: tuple[list[Landmark], int] | None, limit: int
    ) -> tuple[int, list[Landmark]]:
        """Return the estimate for `state` (from `limit` on it may be too low) and its landmarks."""
        self.check()
        if not self._ordered:
            self._ordered = True
            self.choose_order(state)
        landmarks: list[Landmark] = []
        if inherited is not None:
            known, action = inherited
            landmarks = [landmark for landmark in known if action not in landmark.actions]
        return Evaluation(self, state, landmarks).run(limit), landmarks

    def choose_order(self, state: State) -> None:
        """Choose the order of preconditions with the highest estimate of `state`: the first of the dearest counts.

        `state` is the first state to be evaluated: other states inherit its landmarks.
        """
        orders = self.try_orders(state)
        self.relaxed.preconditions[:] = max(orders, key=lambda _: Evaluation(self, state, []).run(INFINITY))

    def try_orders(self, state: State) -> Iterator[list[tuple[int, ...]]]:
        """Sort the preconditions of all operators by one key after the other, and yield each order."""
        relaxed, given = self.relaxed, self.relaxed.preconditions[:]
        relaxed.preconditions[:] = [tuple(sorted(facts)) for facts in given]
        yield relaxed.preconditions[:]
        near = Evaluation(self, state, [])
        near.run(0)
        keys: list[Callable[[int], int]] = [
            lambda fact: near.value[fact],
            lambda fact: len(relaxed.added_by[fact]),
            lambda fact: len(relaxed.needed_by[fact]),
            lambda fact: -fact,
        ]
        for key in keys:
            relaxed.preconditions[:] = [tuple(sorted(facts, key=key)) for facts in given]
            yield relaxed.preconditions[:]


class Evaluation:
    """The work on one state, with other `costs` of operators if they are given.

    `value` is h_max of each fact under the costs that are left.

    Facts below the goal's value are exact and have been *looked into*; `missing` counts, for each operator, the
    preconditions that have not been; `supporter` is the dearest precondition where none is missing. `queue` holds facts
    by the value that they had when they were put in; `keys` is the heap of these values.
    """

    __slots__ = (
        "check",
        "cost", "facts", "keys", "landmarks", "looked", "missing", "operators_of", "queue", "ready", "relaxed",
        "shared", "supporter", "value",
    )  # fmt: skip

    def __init__(
        self, heuristic: LmCut, state: State, landmarks: list[Landmark], costs: list[int] | None = None
    ) -> None:
        relaxed = self.relaxed = heuristic.relaxed
        self.operators_of = heuristic.operators_of
        self.landmarks = landmarks
        self.check = heuristic.check
        self.shared = heuristic.shared
        self.cost = relaxed.costs[:] if costs is None else costs[:]
        start = heuristic.start
        start.move_to(state)
        self.missing = start.missing[:]
        self.value = start.value[:]
        self.looked = start.looked[:]
        self.supporter = start.supporter[:]
        self.ready = start.ready
        self.queue: dict[int, list[int]] = {}
        self.keys: list[int] = []

    def run(self, limit: int) -> int:
        """Return the estimate, and add the landmarks found to `landmarks`."""
        total = 0
        for landmark in self.landmarks:
            total += landmark.worth
            self._charge(landmark)
        value, goal = self.value, self.relaxed.goal
        self._requeue(self.ready)
        self._reach()
        while value[goal] and total < limit:
            if value[goal] == INFINITY:
                return INFINITY
            self.check()
            landmark = self._cut()
            self.landmarks.append(landmark)
            total += landmark.worth
            self._charge(landmark)
            self._requeue(landmark.operators)
            self._reach_again(goal)
        return total

    def bound_operators(self, most: int) -> list[int]:
        """Return lower bounds of plans with each operator, beyond the cost of the landmarks that `run` has found.

        The bound is the remaining cost of the operator and of reaching its preconditions. It is exact up to `most`, and
        greater than `most` otherwise.
        """
        self.value.append(most + 1)
        self._reach_again(len(self.value) - 1)
        self.value.pop()
        value, cost, supporter, farther = self.value, self.cost, self.supporter, self.keys[0] if self.keys else INFINITY
        return [
            farther if missing else value[supporter[operator]] + cost[operator]
            for operator, missing in enumerate(self.missing)
        ]

    def _charge(self, landmark: Landmark) -> None:
        cost, worth = self.cost, landmark.worth
        for operator in landmark.operators:
            cost[operator] -= worth

    def _reach(self) -> None:
        """Find the value of the goal, and of all facts below it."""
        needed_by, effects, goal = self.relaxed.needed_by, self.relaxed.effects, self.relaxed.goal
        cost, value, missing, looked = self.cost, self.value, self.missing, self.looked
        supporter, queue, keys = self.supporter, self.queue, self.keys
        while keys:
            now = keys[0]
            for fact in queue[now]:
                if value[fact] != now:
                    continue
                if value[goal] == now:
                    return
                looked[fact] = 1
                for operator in needed_by[fact]:
                    left = missing[operator] - 1
                    missing[operator] = left
                    if not left:
                        supporter[operator] = fact
                        then = now + cost[operator]
                        for effect in effects[operator]:
                            if then < value[effect]:
                                value[effect] = then
                                if then in queue:
                                    queue[then].append(effect)
                                else:
                                    queue[then] = [effect]
                                    heappush(keys, then)
            if value[goal] == now:
                return
            del queue[heappop(keys)]

    def _reach_again(self, end: int) -> None:
        """Find the value of the fact `end` after costs fell: facts that were looked into before may get cheaper."""
        needed_by, effects = self.relaxed.needed_by, self.relaxed.effects
        preconditions = self.relaxed.preconditions
        cost, value, missing, looked = self.cost, self.value, self.missing, self.looked
        supporter, queue, keys = self.supporter, self.queue, self.keys
        while keys:
            now = keys[0]
            for fact in queue[now]:
                if value[fact] != now:
                    continue
                if value[end] <= now:
                    return
                new = not looked[fact]
                looked[fact] = 1
                for operator in needed_by[fact]:
                    if new:
                        missing[operator] -= 1
                    elif supporter[operator] != fact:
                        continue
                    if missing[operator]:
                        continue
                    dearest, price = fact, now
                    for condition in preconditions[operator]:
                        if value[condition] > price:
                            dearest, price = condition, value[condition]
                    supporter[operator] = dearest
                    then = price + cost[operator]
                    for effect in effects[operator]:
                        if then < value[effect]:
                            value[effect] = then
                            if then in queue:
                                queue[then].append(effect)
                            else:
                                queue[then] = [effect]
                                heappush(keys, then)
            if value[end] <= now:
                return
            del queue[heappop(keys)]

    def _requeue(self, operators: Iterable[int]) -> None:
        """Queue the facts that `operators` now achieve at less cost."""
        preconditions, effects, cost, value = self.relaxed.preconditions, self.relaxed.effects, self.cost, self.value
        supporter, missing, queue, keys = self.supporter, self.missing, self.queue, self.keys
        for operator in operators:
            if not missing[operator]:
                facts = preconditions[operator]
                if len(facts) > 1:  # what was the dearest may have become cheaper just now
                    supporter[operator] = max(facts, key=value.__getitem__)
                then = value[supporter[operator]] + cost[operator]
                for effect in effects[operator]:
                    if then < value[effect]:
                        value[effect] = then
                        if then in queue:
                            queue[then].append(effect)
                        else:
                            queue[then] = [effect]
                            heappush(keys, then)

    def _cut(self) -> Landmark:
        """Return the landmark of the operators that enter the goal zone.

        The zone is the goal, and a dearest precondition of each free operator that leads into the zone.
        """
        added_by, preconditions, cost, value = self.relaxed.added_by, self.relaxed.preconditions, self.cost, self.value
        zone, waiting, entering = {self.relaxed.goal}, [self.relaxed.goal], []
        for fact in waiting:
            for operator in added_by[fact]:
                if cost[operator]:
                    entering.append(operator)
                elif zone.isdisjoint(preconditions[operator]):
                    dearest, price = -1, -1
                    for condition in preconditions[operator]:
                        if value[condition] > price:
                            dearest, price = condition, value[condition]
                    zone.add(dearest)
                    waiting.append(dearest)
        return self._landmark({operator for operator in entering if zone.isdisjoint(preconditions[operator])})

    def _landmark(self, operators: set[int]) -> Landmark:
        """Return the landmark that every plan has one of `operators`."""
        action_of, cost = self.relaxed.actions, self.cost
        worth = min([cost[operator] for operator in operators])
        actions = frozenset([action_of[operator] for operator in operators])
        if self.shared:
            operators = {operator for action in actions for operator in self.operators_of[action]}
        return Landmark(worth, actions, tuple(operators))


def build(task: Task, costs: list[int], check: Check) -> Heuristic:
    """Return the heuristic for `task`."""
    return LmCut(relax(task, costs), len(costs), check)


LM_CUT = Kind(build, "cuts through the relaxed task", admissible=True)
