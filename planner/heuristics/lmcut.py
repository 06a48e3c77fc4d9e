"""LM-cut: the sum of the costs of disjunctive action landmarks (Helmert and Domshlak, 2009).

While h_max of the goal is positive, each round cuts off the *goal zone*: the facts from which zero-cost operators reach
the goal. Every plan contains an action that enters the zone. These actions are a landmark. The landmark cost is the
least remaining cost of these actions. LM-cut subtracts it from each.

LM-cut subtracts the landmark cost from all relaxed operators of an action. No action pays more than its cost. Every
plan pays each landmark. Hence the sum is admissible. The first operator that enters the zone has all preconditions
outside. The cut contains only such operators.

Two techniques make LM-cut fast. LM-cut never expands facts whose h_max is at least the goal's. The zone contains only
such facts. A successor inherits those landmarks of its parent that do not contain the action between them (Pommerening
and Helmert, 2013).
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
    """A disjunctive action landmark. `worth` is its contribution to the estimate.

    `operators` are the relaxed operators whose cost pays for it.
    """

    worth: int
    actions: frozenset[int]
    operators: tuple[int, ...]


class LmCut:
    """The LM-cut heuristic of a task. A state inherits the landmarks of its parent.

    `relaxed` is the relaxation of the task; `actions` is the number of actions.
    """

    def __init__(self, relaxed: RelaxedTask, actions: int, check: Check) -> None:
        self.relaxed = relaxed
        self.start = Start(relaxed)
        self.operators_of = relaxed.operators_of(actions)
        self.shared = any(len(operators) > 1 for operators in self.operators_of)
        self.check = check
        self._ordered = False

    def __call__(self, state: State) -> int:
        """Return the admissible estimate of `state`."""
        return self.evaluate(state, None, INFINITY)[0]

    def inherit(self, known: list[Landmark], action: int) -> tuple[int, tuple[list[Landmark], int]]:
        """Return the cost of the landmarks without `action`, and the data from which `evaluate` filters them."""
        bound = 0
        for landmark in known:
            if action not in landmark.actions:
                bound += landmark.worth
        return bound, (known, action)

    def evaluate(
        self, state: State, inherited: tuple[list[Landmark], int] | None, limit: int
    ) -> tuple[int, list[Landmark]]:
        """Return the estimate of `state` and its landmarks. The evaluation stops once the estimate reaches `limit`."""
        self.check()
        if not self._ordered:
            self._ordered = True
            self.choose_order(state)
        landmarks: list[Landmark] = []
        if inherited is not None:
            known, action = inherited
            landmarks = [landmark for landmark in known if action not in landmark.actions]
        return Evaluation(self, state, landmarks).find_landmarks(limit), landmarks

    def choose_order(self, state: State) -> None:
        """Choose the precondition order with the highest estimate. It breaks ties among preconditions of maximal value.

        `state` is the first state that LM-cut evaluates: other states inherit its landmarks.
        """
        orders = self.try_orders(state)
        self.relaxed.preconditions[:] = max(orders, key=lambda _: Evaluation(self, state, []).find_landmarks(INFINITY))

    def try_orders(self, state: State) -> Iterator[list[tuple[int, ...]]]:
        """Sort the preconditions of all operators by one key after another; yield each order."""
        relaxed, given = self.relaxed, self.relaxed.preconditions[:]
        relaxed.preconditions[:] = [tuple(sorted(facts)) for facts in given]
        yield relaxed.preconditions[:]
        near = Evaluation(self, state, [])
        near.find_landmarks(0)
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
    """The evaluation of one state; `costs` replaces operator costs.

    `value` is h_max of each fact under the remaining costs. Values below the goal's are final.

    `missing` counts unexpanded preconditions. `supporter` is the precondition of highest value. `queue` holds facts by
    their value at the time of insertion; `keys` is the heap of these values.
    """

    __slots__ = (
        "check",
        "cost", "expanded", "facts", "keys", "landmarks", "missing", "operators_of", "queue", "ready", "relaxed",
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
        self.expanded = start.expanded[:]
        self.supporter = start.supporter[:]
        self.ready = start.ready
        self.queue: dict[int, list[int]] = {}
        self.keys: list[int] = []

    def find_landmarks(self, limit: int) -> int:
        """Return the estimate, and add the landmarks found. Stop once the estimate reaches `limit`."""
        total = 0
        for landmark in self.landmarks:
            total += landmark.worth
            self._subtract_cost(landmark)
        value, goal = self.value, self.relaxed.goal
        self._requeue_effects(self.ready)
        self._compute_values()
        while value[goal] and total < limit:
            if value[goal] == INFINITY:
                return INFINITY
            self.check()
            landmark = self._find_cut()
            self.landmarks.append(landmark)
            total += landmark.worth
            self._subtract_cost(landmark)
            self._requeue_effects(landmark.operators)
            self._update_values(goal)
        return total

    def bound_operators(self, most: int) -> list[int]:
        """Return for each operator a lower bound, beyond the landmarks, on plans that use it.

        The bound is the remaining cost of the operator plus h_max of its preconditions. A bound above `most` may be
        lower than this sum.
        """
        self.value.append(most + 1)
        self._update_values(len(self.value) - 1)
        self.value.pop()
        value, cost, supporter, farther = self.value, self.cost, self.supporter, self.keys[0] if self.keys else INFINITY
        return [
            farther if missing else value[supporter[operator]] + cost[operator]
            for operator, missing in enumerate(self.missing)
        ]

    def _subtract_cost(self, landmark: Landmark) -> None:
        cost, worth = self.cost, landmark.worth
        if self.shared:  # an operator may be dearer than others of its action, where it is ruled out
            for operator in landmark.operators:
                cost[operator] = max(0, cost[operator] - worth)
            return
        for operator in landmark.operators:
            cost[operator] -= worth

    def _compute_values(self) -> None:
        """Compute h_max of the goal, and of all facts of lower value."""
        needed_by, effects, goal = self.relaxed.needed_by, self.relaxed.effects, self.relaxed.goal
        cost, value, missing, expanded = self.cost, self.value, self.missing, self.expanded
        supporter, queue, keys = self.supporter, self.queue, self.keys
        while keys:
            now = keys[0]
            for fact in queue[now]:
                if value[fact] != now:
                    continue
                if value[goal] == now:
                    return
                expanded[fact] = 1
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

    def _update_values(self, end: int) -> None:
        """Update the value of the fact `end` after costs fell. Values of expanded facts may fall, too."""
        needed_by, effects = self.relaxed.needed_by, self.relaxed.effects
        preconditions = self.relaxed.preconditions
        cost, value, missing, expanded = self.cost, self.value, self.missing, self.expanded
        supporter, queue, keys = self.supporter, self.queue, self.keys
        while keys:
            now = keys[0]
            for fact in queue[now]:
                if value[fact] != now:
                    continue
                if value[end] <= now:
                    return
                new = not expanded[fact]
                expanded[fact] = 1
                for operator in needed_by[fact]:
                    if new:
                        missing[operator] -= 1
                    elif supporter[operator] != fact:
                        continue
                    if missing[operator]:
                        continue
                    highest, price = fact, now
                    for condition in preconditions[operator]:
                        if value[condition] > price:
                            highest, price = condition, value[condition]
                    supporter[operator] = highest
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

    def _requeue_effects(self, operators: Iterable[int]) -> None:
        """Queue the effects of `operators` whose values fall."""
        preconditions, effects, cost, value = self.relaxed.preconditions, self.relaxed.effects, self.cost, self.value
        supporter, missing, queue, keys = self.supporter, self.missing, self.queue, self.keys
        for operator in operators:
            if not missing[operator]:
                facts = preconditions[operator]
                if len(facts) > 1:  # the value of the supporter may have fallen
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

    def _find_cut(self) -> Landmark:
        """Return the landmark of the operators that enter the goal zone.

        The zone is the goal, and the supporter of each zero-cost operator that enters the zone.
        """
        added_by, preconditions, cost, value = self.relaxed.added_by, self.relaxed.preconditions, self.cost, self.value
        zone, waiting, entering = {self.relaxed.goal}, [self.relaxed.goal], []
        for fact in waiting:
            for operator in added_by[fact]:
                if cost[operator]:
                    entering.append(operator)
                elif zone.isdisjoint(preconditions[operator]):
                    highest, price = -1, -1
                    for condition in preconditions[operator]:
                        if value[condition] > price:
                            highest, price = condition, value[condition]
                    zone.add(highest)
                    waiting.append(highest)
        return self._make_landmark({operator for operator in entering if zone.isdisjoint(preconditions[operator])})

    def _make_landmark(self, operators: set[int]) -> Landmark:
        """Return the landmark of which every plan uses one of `operators`."""
        action_of, cost = self.relaxed.actions, self.cost
        worth = min([cost[operator] for operator in operators])
        actions = frozenset([action_of[operator] for operator in operators])
        if self.shared:
            operators = {operator for action in actions for operator in self.operators_of[action]}
        return Landmark(worth, actions, tuple(operators))


def build(task: Task, costs: list[int], check: Check) -> Heuristic:
    """Build the heuristic for `task`."""
    return LmCut(relax(task, costs), len(costs), check)


LM_CUT = Kind(build, "cuts through the relaxed task", admissible=True)
