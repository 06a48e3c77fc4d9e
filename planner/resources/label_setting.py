"""Label-setting A* for plans within budgets (Mandow and Pérez de la Cruz, 2010), and budgets as part of states.

A label is a path to a state with its cost and its use of each resource. Labels of one state may be incomparable: one
costs less, another leaves more of a budget. A label is dropped if another label of its state dominates it, or if its
use and an admissible estimate of the remaining use exceed a budget.

Other searches keep budgets if the remaining budgets are part of the state: a number whose lower bits are the facts.
Above them is a field for each budget, and a guard bit: a step that uses too much borrows from the guard.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import add, le

from planner.lightweight import Any, Final, Protocol, dataclass
from planner.search.astar import LifoOpenList
from planner.search.search_run import DEAD_END, AdvisingHeuristic, Ending, Run, Steps
from planner.task.ground_task import INFINITY, Allowance, State
from planner.task.successor_generator import Space

PAUSE: Final = 8
"""Labels that are expanded between two pauses."""

Vector = tuple[int, ...]
"""The cost, and the use of each resource."""
LabelState = Any
"""A state of the space in which labels are searched: hashable, an integer in classical planning."""
Estimate = Callable[[LabelState], int]
"""Lower bound on the rest of a plan, or `DEAD_END`."""


class Charges(Protocol):
    """The cost and the uses of each action, by number."""

    def __getitem__(self, action: int, /) -> Vector:
        """Return the vector of `action`."""


class Labelled(Protocol):
    """A state space in which labels are searched."""

    @property
    def initial(self) -> LabelState:
        """The initial state."""

    def is_goal(self, state: LabelState, /) -> bool:
        """Return whether the goal holds in `state`."""

    def successors(self, state: LabelState, /) -> list[tuple[int, LabelState]]:
        """Return `(action, successor)` for all applicable actions."""


class Label:
    """A path to `state` of cost and uses `vector`: the path of the label `before`, then `action`."""

    __slots__ = ("action", "before", "state", "vector")

    def __init__(self, state: LabelState, vector: Vector, before: Label | None, action: int) -> None:
        self.state, self.vector, self.before, self.action = state, vector, before, action

    def path(self) -> list[int]:
        """Return the actions of the path."""
        found, label = [], self
        while label.before is not None:
            found.append(label.action)
            label = label.before
        return found[::-1]


class Fronts:
    """The Pareto front of labels of each state."""

    def __init__(self) -> None:
        self._of: dict[LabelState, list[Label]] = {}

    def add(self, label: Label) -> bool:
        """Add `label` and remove those that it dominates, unless one dominates it; return whether it was added."""
        known = self._of.get(label.state)
        if known is None:
            self._of[label.state] = [label]
            return True
        vector = label.vector
        for other in known:
            if all(map(le, other.vector, vector)):
                return False
        known[:] = [other for other in known if not all(map(le, vector, other.vector))]
        known.append(label)
        return True

    def contains(self, label: Label) -> bool:
        """Return whether `label` is still in its front."""
        return any(other is label for other in self._of[label.state])


class Rest:
    """Caches admissible estimates of the rest of a plan: its cost, then its use of each resource."""

    def __init__(self, estimates: Sequence[Estimate]) -> None:
        self._estimates = estimates
        self._known: dict[LabelState, Vector] = {}

    def known(self, state: LabelState) -> Vector | None:
        """Return the cached estimates for `state`, if there are any."""
        return self._known.get(state)

    def of(self, state: LabelState) -> Vector:
        """Return the estimates for `state`; all are `DEAD_END` if one is."""
        found: list[int] = []
        for estimate in self._estimates:
            found.append(estimate(state))
            if found[-1] >= DEAD_END:
                found = [DEAD_END] * len(self._estimates)
                break
        self._known[state] = tuple(found)
        return self._known[state]


@dataclass(frozen=True, slots=True)
class Sum:
    """A weighted sum of the cost and the uses, at `place` in the vectors of labels.

    It bounds the cost from below: the sum, less `allowed` (the sum of the budgets), divided by the weight `of_cost`.
    """

    place: int
    allowed: int
    of_cost: int


class ResourceLimits:
    """Prunes labels that lead to no plan within the budgets `most` that is cheaper than the best plan of `run`.

    `cut` says whether a budget has pruned a label.
    """

    def __init__(self, most: Sequence[int], run: Run, sums: Sequence[Sum] = ()) -> None:
        self._most = most
        self._run = run
        self._sums = sums
        self.cut = False

    def least(self, vector: Vector, rest: Vector) -> int:
        """Return a lower bound on the cost of plans within the budgets, with `vector` spent and `rest` estimated."""
        for place, most in enumerate(self._most, start=1):
            if vector[place] + rest[place] > most:
                self.cut = True
                return INFINITY
        found = vector[0] + rest[0]
        for each in self._sums:
            bound = -((each.allowed - vector[each.place] - rest[each.place]) // each.of_cost)
            if bound > found:
                found = bound
                self.cut = True
        return found

    def allow(self, vector: Vector, rest: Vector) -> bool:
        """Return whether a label may lead to a better plan within the budgets."""
        return self.least(vector, rest) < self._run.limit


def search_labels(
    space: Labelled,
    charges: Charges,
    limits: ResourceLimits,
    estimates: Sequence[Estimate],
    run: Run,
    *,
    taken: Callable[[list[int]], list[int]] = list,
) -> Steps:
    """Search for the cheapest plan within `limits`; when it ends, all such plans cheaper than `run.limit` are excluded.

    The `charges` are the cost of each action, its use of each resource, and its part of each sum of the limits; the
    `estimates` are of the same quantities. The run is given plans as what `taken` returns for their actions.
    """
    rest, fronts, waiting, least = Rest(estimates), Fronts(), LifoOpenList(), limits.least
    first = Label(space.initial, (0,) * len(estimates), None, -1)
    fronts.add(first)
    waiting.push(0, 0, (first, first.vector))
    while waiting:
        f, _, (label, bound) = waiting.pop()
        run.raise_bound(f)
        if f >= run.limit:
            break
        if not fronts.contains(label):
            continue
        state, vector = label.state, label.vector
        known = rest.known(state)
        if known is None:
            run.evaluated += 1
            known = rest.of(state)
        if known is not bound and (value := least(vector, known)) > f:
            if value < run.limit:
                waiting.push(value, known[0], (label, known))
            continue
        if space.is_goal(state):
            run.report_plan(taken(label.path()), vector[0])
            break
        run.expanded += 1
        if not run.expanded % PAUSE:
            yield
        for action, child in space.successors(state):
            charge = charges[action]
            after = tuple(map(add, vector, charge))
            left = rest.known(child)
            if left is None:
                left = tuple([value - less if value > less else 0 for value, less in zip(known, charge, strict=True)])
            value = least(after, left)
            if value < run.limit:
                new = Label(child, after, label, action)
                if fronts.add(new):
                    run.generated += 1
                    waiting.push(max(f, value), left[0], (new, left))
    run.raise_bound(run.limit)
    return Ending.EXHAUSTED


class BudgetedSpace(Space):
    """The states of `space` with the remaining budgets; `cut` says whether a budget has excluded an action."""

    def __init__(self, space: Space, allowances: Sequence[Allowance]) -> None:
        super().__init__(space.task)
        offset, full, amounts = len(self.task.facts), 0, [0] * len(self.costs)
        self.cut = False
        self._facts, self._guards = (1 << offset) - 1, 0
        self._fields = list[tuple[int, int]]()
        for each in allowances:
            self._fields.append((offset, (1 << each.most.bit_length()) - 1))
            width = each.most.bit_length()
            guard = 1 << offset + width
            full |= each.most << offset | guard
            self._guards |= guard
            for action, amount in enumerate(each.uses):
                amounts[action] += min(amount, each.most + 1) << offset
            offset += width + 1
        self._amounts = amounts
        self.initial |= full

    def closed(self, state: State) -> State:
        """Return `state` with its derived facts."""
        return state if self.close is None else self.close(state & self._facts) | state & ~self._facts

    def actions_in(self, state: State) -> list[int]:
        """Return the numbers of the applicable actions that the remaining budgets allow."""
        left, guards, amounts = state & ~self._facts, self._guards, self._amounts
        found = self.applicable(self.closed(state) & self._facts)
        paid = [action for action in found if left - amounts[action] & guards == guards]
        self.cut = self.cut or len(paid) < len(found)
        return paid

    def successors(self, state: State) -> list[tuple[int, State]]:
        """Return `(action, successor)` for all applicable actions."""
        return [(action, self.apply(action, state)) for action in self.actions_in(state)]

    def apply(self, action: int, state: State) -> State:
        """Return the state after `action`, which the remaining budgets allow."""
        facts = state & self._facts
        return super().apply(action, facts) | (state ^ facts) - self._amounts[action]

    def estimate(self, of_facts: Any, uses: Sequence[Estimate]) -> Any:
        """Return `of_facts` as an estimate for states with budgets.

        Admissible estimates of the remaining `uses` of each budget recognise dead ends.
        """
        return (_BudgetedAdvice if isinstance(of_facts, AdvisingHeuristic) else _BudgetedEstimate)(of_facts, self, uses)

    def split(self, state: State) -> tuple[State, State]:
        """Return the facts of `state`, and the remaining budgets."""
        facts = state & self._facts
        return facts, state ^ facts

    def suffices(self, left: State, needs: Sequence[int]) -> bool:
        """Return whether each remaining budget covers its need; set `cut` if not."""
        found = all((left >> offset & mask) >= need for (offset, mask), need in zip(self._fields, needs, strict=True))
        self.cut = self.cut or not found
        return found


class _BudgetedEstimate:
    """An estimate of the facts of a state that recognises dead ends by the remaining budgets."""

    def __init__(self, estimate: Any, space: BudgetedSpace, uses: Sequence[Estimate]) -> None:
        self._estimate, self._space, self._uses = estimate, space, uses
        self._needs: dict[State, list[int]] = {}

    def __call__(self, state: State) -> int:
        facts, left = self._space.split(state)
        found: int = self._estimate(facts) if self._is_alive(facts, left) else DEAD_END
        return found

    def _is_alive(self, facts: State, left: State) -> bool:
        if not self._uses:
            return True
        if facts not in self._needs:
            self._needs[facts] = [estimate(facts) for estimate in self._uses]
        return self._space.suffices(left, self._needs[facts])


class _BudgetedAdvice(_BudgetedEstimate):
    def advise(self, state: State) -> tuple[int, set[int]]:
        facts, left = self._space.split(state)
        dead: tuple[int, set[int]] = DEAD_END, set()
        found: tuple[int, set[int]] = self._estimate.advise(facts) if self._is_alive(facts, left) else dead
        return found
