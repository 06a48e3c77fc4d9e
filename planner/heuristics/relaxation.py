"""The delete relaxation and its heuristics h_max, h_add and h_FF.

Every unconditional effect, conditional effect and axiom rule becomes a *relaxed operator*. An operator refers to its
action, whose cost is paid once for all its operators; axiom rules are free. The relaxation assumes that negated derived
facts hold. This excludes no relaxed plan, so no estimate becomes too high.

h_max: the value of a set of facts is the value of its most expensive fact; h_add: the sum of the values of its facts
(Bonet and Geffner, 2001). h_FF: the cost of a relaxed plan (Hoffmann and Nebel, 2001) from the achievers of h_add
(Keyder and Geffner, 2008).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heappop, heappush

from planner.heuristics.declare import Check, Heuristic, Kind
from planner.lightweight import Final, dataclass, replace
from planner.limits import under_limits
from planner.task.ground_task import INFINITY, State, Task

AXIOM: Final = -1
"""The action number of relaxed operators without an action: of axiom rules, and of the one that adds the goal."""


@dataclass(frozen=True, slots=True)
class RelaxedTask:
    """The relaxation of a task; parallel lists describe the operators, which are numbered from 0.

    The relaxation adds two facts to the `size - 2` facts of the task. `start` always holds, and is the precondition of
    operators that have no other. The last operator (free, an `AXIOM`) adds `goal` from all goal facts. `needed_by` and
    `added_by` lead from facts to operators.
    """

    size: int
    start: int
    goal: int
    preconditions: list[tuple[int, ...]]
    effects: list[tuple[int, ...]]
    costs: list[int]
    actions: list[int]
    needed_by: list[list[int]]
    added_by: list[list[int]]

    def operators_of(self, actions: int) -> list[list[int]]:
        """Return the relaxed operators of each of the `actions` actions."""
        found: list[list[int]] = [[] for _ in range(actions)]
        for operator, action in enumerate(self.actions):
            if action != AXIOM:
                found[action].append(operator)
        return found

    def price(self, costs: Sequence[int]) -> RelaxedTask:
        """Return the relaxation with other `costs` of the actions."""
        return replace(self, costs=[0 if action == AXIOM else costs[action] for action in self.actions])

    def restrict_to(self, operators: Iterable[int]) -> RelaxedTask:
        """Return the relaxation with only these operators, renumbered in this order."""
        kept = list(operators)
        preconditions = [self.preconditions[operator] for operator in kept]
        effects = [self.effects[operator] for operator in kept]
        return RelaxedTask(
            self.size,
            self.start,
            self.goal,
            preconditions,
            effects,
            [self.costs[operator] for operator in kept],
            [self.actions[operator] for operator in kept],
            _index_by_fact(self.size, preconditions),
            _index_by_fact(self.size, effects),
        )


class Start:
    """The start of an exploration, in which the facts of a state have value 0.

    `missing` counts the unmet preconditions of each operator, and `ready` holds the operators without one. `value` is 0
    for facts that hold, and `expanded` marks them. `supporter` is some precondition. Counting the preconditions takes
    much of the time of an evaluation. Successive states differ little. So `move_to` updates the counts by the changed
    facts only.
    """

    def __init__(self, relaxed: RelaxedTask) -> None:
        self._needed_by, self._effects, self._costs = relaxed.needed_by, relaxed.effects, relaxed.costs
        self._state = 0
        self.missing = [len(facts) for facts in relaxed.preconditions]
        self.value = [INFINITY] * relaxed.size
        self.expanded = bytearray(relaxed.size)
        self.supporter = [facts[0] for facts in relaxed.preconditions]
        self.ready: set[int] = set()
        self._add(relaxed.start)

    def move_to(self, state: State) -> None:
        """Replace the facts of the last state by those of `state`."""
        changed = state ^ self._state
        self._state = state
        while changed:
            lowest = changed & -changed
            changed ^= lowest
            if state & lowest:
                self._add(lowest.bit_length() - 1)
            else:
                self._remove(lowest.bit_length() - 1)

    def fire(self, value: list[int], achiever: list[int]) -> dict[int, list[int]]:
        """Apply the ready operators to `value` and `achiever`, in place; return the facts achieved, by value."""
        reached: dict[int, list[int]] = {}
        for operator in self.ready:
            cost = self._costs[operator]
            for effect in self._effects[operator]:
                if cost < value[effect]:
                    value[effect] = cost
                    achiever[effect] = operator
                    reached.setdefault(cost, []).append(effect)
        return reached

    def _add(self, fact: int) -> None:
        self.value[fact], self.expanded[fact] = 0, 1
        missing, ready = self.missing, self.ready
        for operator in self._needed_by[fact]:
            missing[operator] -= 1
            if not missing[operator]:
                ready.add(operator)

    def _remove(self, fact: int) -> None:
        self.value[fact], self.expanded[fact] = INFINITY, 0
        missing, ready = self.missing, self.ready
        for operator in self._needed_by[fact]:
            if not missing[operator]:
                ready.discard(operator)
            missing[operator] += 1


def relax(task: Task, costs: Sequence[int] | None = None) -> RelaxedTask:
    """Build the delete relaxation of `task`; `costs` replaces the costs of its actions."""
    size = len(task.facts) + 2
    start, goal = size - 2, size - 1
    preconditions: list[tuple[int, ...]] = []
    effects: list[tuple[int, ...]] = []
    actions: list[int] = []
    free = {fact for layer in task.axioms for fact, _ in layer.negated}
    for needed, added, action in under_limits(_list_operators(task, goal)):
        if not free and action != AXIOM and not task.actions[action].conditional:
            conditions, gained = needed, added  # both are free of repetitions, and of each other
        else:
            conditions = tuple([fact for fact in dict.fromkeys(needed) if fact not in free])
            gained = tuple([fact for fact in dict.fromkeys(added) if fact not in needed and fact not in free])
        if gained:
            preconditions.append(conditions or (start,))
            effects.append(gained)
            actions.append(action)
    price = [action.cost for action in task.actions] if costs is None else costs
    return RelaxedTask(
        size,
        start,
        goal,
        preconditions,
        effects,
        [0 if action == AXIOM else price[action] for action in actions],
        actions,
        _index_by_fact(size, preconditions),
        _index_by_fact(size, effects),
    )


def _list_operators(task: Task, goal: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], int]]:
    for number, action in enumerate(task.actions):
        if not action.conditional:
            yield action.precondition, action.adds, number
            continue
        gains: dict[tuple[int, ...], list[int]] = {(): list(action.adds)}
        for effect in action.conditional:
            gains.setdefault(effect.condition, []).extend(effect.adds)
        for condition, added in gains.items():
            yield action.precondition + condition, tuple(added), number
    for layer in task.axioms:
        for rule in layer.rules:
            yield rule.body, (rule.head,), AXIOM
    yield task.goal, (goal,), AXIOM


def _index_by_fact(size: int, lists: list[tuple[int, ...]]) -> list[list[int]]:
    index: list[list[int]] = [[] for _ in range(size)]
    for operator, facts in enumerate(under_limits(lists)):
        for fact in facts:
            index[fact].append(operator)
    return index


def build_hmax(task: Task, costs: list[int], check: Check) -> Heuristic:
    """Build h_max for `task`. It expands facts in the order of their values (Dijkstra, 1959)."""
    relaxed = relax(task, costs)
    start = Start(relaxed)
    goal, cost, needed_by, effects = relaxed.goal, relaxed.costs, relaxed.needed_by, relaxed.effects

    def estimate(state: State) -> int:
        check()
        start.move_to(state)
        missing, value = start.missing[:], start.value[:]
        reached = start.fire(value, [-1] * len(value))
        keys = sorted(reached)
        while keys:
            now = keys[0]
            for fact in reached[now]:
                if value[fact] != now:
                    continue
                if fact == goal:
                    return now
                for operator in needed_by[fact]:
                    left = missing[operator] = missing[operator] - 1
                    if not left:
                        then = now + cost[operator]
                        for effect in effects[operator]:
                            if then < value[effect]:
                                value[effect] = then
                                if then in reached:
                                    reached[then].append(effect)
                                else:
                                    reached[then] = [effect]
                                    heappush(keys, then)
            del reached[heappop(keys)]
        return INFINITY

    return estimate


HMAX = Kind(build_hmax, "the dearest fact of the relaxed task", admissible=True, consistent=True)


Explore = Callable[[State], tuple[int, list[int]]]


def make_explorer(relaxed: RelaxedTask) -> Explore:
    """Return a function from a state to the h_add value of the goal and the best achiever of each fact.

    It expands facts in the order of their values (Knuth, 1977). The achiever is -1 for facts of the state; facts of
    higher value than the goal may have no achiever or not the best.
    """
    start = Start(relaxed)
    size, goal, costs = relaxed.size, relaxed.goal, relaxed.costs
    needed_by, effects = relaxed.needed_by, relaxed.effects

    def explore(state: State) -> tuple[int, list[int]]:
        start.move_to(state)
        missing, total, value, achiever = start.missing[:], costs[:], start.value[:], [-1] * size
        reached = start.fire(value, achiever)
        keys = sorted(reached)
        while keys:
            now = keys[0]
            for fact in reached[now]:
                if value[fact] != now:
                    continue
                if fact == goal:
                    return now, achiever
                for operator in needed_by[fact]:
                    left = missing[operator] = missing[operator] - 1
                    then = total[operator] = total[operator] + now
                    if not left:
                        for effect in effects[operator]:
                            if then < value[effect]:
                                value[effect] = then
                                achiever[effect] = operator
                                if then in reached:
                                    reached[then].append(effect)
                                else:
                                    reached[then] = [effect]
                                    heappush(keys, then)
            del reached[heappop(keys)]
        return INFINITY, achiever

    return explore


def make_relaxed_planner(relaxed: RelaxedTask) -> Callable[[State], list[int] | None]:
    """Return a function from a state to the actions of a relaxed plan, most after their supporters, or to None."""
    explore = make_explorer(relaxed)

    def plan(state: State) -> list[int] | None:
        value, achiever = explore(state)
        if value == INFINITY:
            return None
        chosen, marked, waiting = dict[int, None](), {relaxed.goal}, [relaxed.goal]
        while waiting:
            operator = achiever[waiting.pop()]
            if operator >= 0 and operator not in chosen:
                chosen[operator] = None
                new = [fact for fact in relaxed.preconditions[operator] if fact not in marked]
                marked.update(new)
                waiting += new
        actions = [relaxed.actions[operator] for operator in reversed(chosen)]
        return [action for action in dict.fromkeys(actions) if action != AXIOM]

    return plan


def build_hadd(task: Task, costs: list[int], check: Check) -> Heuristic:
    """Build h_add for `task`."""
    explore = make_explorer(relax(task, costs))

    def estimate(state: State) -> int:
        check()
        return explore(state)[0]

    return estimate


HADD = Kind(build_hadd, "the sum over the facts of the relaxed task")


class RelaxedPlan:
    """The h_FF heuristic of a task; its preferred actions are those of the relaxed plan."""

    def __init__(self, task: Task, costs: list[int], check: Check) -> None:
        self._plan = make_relaxed_planner(relax(task, costs))
        self._costs = costs
        self._check = check

    def __call__(self, state: State) -> int:
        """Return the cost of the relaxed plan for `state`."""
        return self.advise(state)[0]

    def advise(self, state: State) -> tuple[int, set[int]]:
        """Return the cost of the relaxed plan for `state`, and its actions, which are preferred where applicable."""
        self._check()
        actions = self._plan(state)
        return (INFINITY, set()) if actions is None else (sum([self._costs[each] for each in actions]), {*actions})


def build_hff(task: Task, costs: list[int], check: Check) -> Heuristic:
    """Build h_FF for `task`."""
    return RelaxedPlan(task, costs, check)


HFF = Kind(build_hff, "a relaxed plan, with preferred operators")
