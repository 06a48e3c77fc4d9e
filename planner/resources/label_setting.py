"""Label-setting A*: states with what was paid and used on the way to them (Mandow and Pérez de la Cruz, 2010).

A state is reached in many ways that do not compare: one costs less, another leaves more of a budget. Each is a label; a
label is dropped where another at its state has paid and used no more (dominance), and where what it has used and what
must still be used, by an admissible estimate for each resource, exceed a budget.

Any other search keeps budgets if what is left of them is part of the state: a number whose lower bits are the facts.
Above them is a field for each budget, and a guard bit: a step that takes too much borrows from the guard.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from operator import add, le

from planner.grounding.action_tables import common_resolution, use_picker
from planner.lightweight import Any, Final, Protocol, dataclass
from planner.model import COST, Number, Problem
from planner.plan import exact
from planner.search.astar import LifoOpenList
from planner.search.search_run import DEAD_END, AdvisingHeuristic, Ending, Run, Steps
from planner.search.search_run import Estimate as Estimate_counted
from planner.task.ground_task import INFINITY, Task
from planner.task.ground_task import State as State_counted
from planner.task.state_space import Space

PAUSE: Final = 8
"""Labels that are expanded between two pauses."""

Vector = tuple[int, ...]
"""The cost, and the uses of each resource."""
State = Any
"""What can be told from others, and is in a space of its kind."""
Estimate = Callable[[State], int]
"""What the rest of a plan comes to at least, or `DEAD_END`."""


class Charges(Protocol):
    """What is paid and used for each action, by number."""

    def __getitem__(self, action: int, /) -> Vector:
        """Return the vector of this action."""


class Labelled(Protocol):
    """A space that labels are searched in."""

    @property
    def initial(self) -> State:
        """Where plans begin."""

    def is_goal(self, state: State, /) -> bool:
        """Return whether a plan may end in `state`."""

    def successors(self, state: State, /) -> list[tuple[int, State]]:
        """Return `(action, next state)` for all that can be done in `state`."""


class Label:
    """A way to `state` that has paid and used `vector`: the label `before`, and then `action`."""

    __slots__ = ("action", "before", "state", "vector")

    def __init__(self, state: State, vector: Vector, before: Label | None, action: int) -> None:
        self.state, self.vector, self.before, self.action = state, vector, before, action

    def path(self) -> list[int]:
        """Return the actions on the way."""
        found, label = [], self
        while label.before is not None:
            found.append(label.action)
            label = label.before
        return found[::-1]


class Fronts:
    """The labels at each state none of which is as good as another in all respects."""

    def __init__(self) -> None:
        self._of: dict[State, list[Label]] = {}

    def takes(self, label: Label) -> bool:
        """Take in `label` instead of those that are no better, unless one is as good."""
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

    def has(self, label: Label) -> bool:
        """Return whether nothing better than `label` was found."""
        return any(other is label for other in self._of[label.state])


class Rest:
    """Admissible estimates of what the rest of a plan costs and uses: one for the cost, then one for each resource."""

    def __init__(self, estimates: Sequence[Estimate]) -> None:
        self._estimates = estimates
        self._known: dict[State, Vector] = {}

    def known(self, state: State) -> Vector | None:
        """Return what was estimated for `state`, if anything was."""
        return self._known.get(state)

    def of(self, state: State) -> Vector:
        """Return the estimates for `state`; all are `DEAD_END` where one is."""
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
    """A weighted sum of all that plans spend, which is at `place` among it.

    It tells what plans within the budgets cost at least: the sum, less what the budgets come to, by the cost's weight.
    """

    place: int
    allowed: int
    of_cost: int


class ResourceLimits:
    """What labels may still lead to: a plan cheaper than the best one of `run` that uses at most so much of each.

    `cut` says whether a budget has cut off a label.
    """

    def __init__(self, most: Sequence[int], run: Run, sums: Sequence[Sum] = ()) -> None:
        self._most = most
        self._run = run
        self._sums = sums
        self.cut = False

    def least(self, vector: Vector, rest: Vector) -> int:
        """Return what a plan within the budgets costs at least where `vector` is spent, and at least `rest` must be."""
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
        """Return whether what was spent, and must still be, is within the limits."""
        return self.least(vector, rest) < self._run.limit


def label_search(
    space: Labelled,
    charges: Charges,
    limits: ResourceLimits,
    estimates: Sequence[Estimate],
    run: Run,
    *,
    taken: Callable[[list[int]], list[int]] = list,
) -> Steps:
    """Search for the cheapest plan within `limits`.

    The `charges` are what each action costs, then what it uses of each resource, and then its part of each sum that the
    limits have; the `estimates` are of the same. All plans within the limits that are cheaper than `run.limit` are
    excluded when it ends. What the run is told of a plan is what is `taken` for its actions.
    """
    rest, fronts, waiting, least = Rest(estimates), Fronts(), LifoOpenList(), limits.least
    first = Label(space.initial, (0,) * len(estimates), None, -1)
    fronts.takes(first)
    waiting.push(0, 0, (first, first.vector))
    while waiting:
        f, _, (label, bound) = waiting.pop()
        run.raise_bound(f)
        if f >= run.limit:
            break
        if not fronts.has(label):
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
                if fronts.takes(new):
                    run.generated += 1
                    waiting.push(max(f, value), left[0], (new, left))
    run.raise_bound(run.limit)
    return Ending.EXHAUSTED


@dataclass(frozen=True, slots=True)
class Allowance:
    """The budget on one resource: `uses` of each action, by number, and `most`; `resolution` units make one."""

    name: str
    uses: list[int]
    most: int
    budget: Number
    resolution: int

    def shown(self, units: int) -> Number:
        """Return so many units in the problem's terms."""
        return exact(Decimal(units) / self.resolution)


def allowances(problem: Problem, task: Task) -> list[Allowance]:
    """Return the budgets of `problem` on resources that plans may use too much of.

    Raises `InputError` where a static value is missing, `DeclarationError` where a function gives none.
    """
    return [
        allowance
        for name, budget in problem.budgets.items()
        if name != COST and any((allowance := _allowance(name, budget, problem, task)).uses)
    ]


def _allowance(name: str, budget: Number, problem: Problem, task: Task) -> Allowance:
    pickers = {action.name: use_picker(name, action, problem) for action in problem.domain.actions.values()}
    amounts = [pickers[action.step.action](action.step.arguments) for action in task.actions]
    resolution = common_resolution(set(amounts))
    return Allowance(
        name, [int(amount * resolution) for amount in amounts], int(budget * resolution), budget, resolution
    )


def cost_allowance(problem: Problem, task: Task) -> Allowance:
    """Return the budget on the cost; `most` is `INFINITY` where there is none."""
    budget = problem.budgets.get(COST)
    most = INFINITY if budget is None else int(budget * task.resolution)
    return Allowance(COST, [action.cost for action in task.actions], most, budget or 0, task.resolution)


class Counting(Space):
    """The state space of `space` within `allowances`; `cut` says whether these ever kept an action from being taken."""

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

    def closed(self, state: State_counted) -> State_counted:
        """Return `state` with its derived facts."""
        return state if self.close is None else self.close(state & self._facts) | state & ~self._facts

    def actions_in(self, state: State_counted) -> list[int]:
        """Return the numbers of the actions that can be applied in `state` and paid for."""
        left, guards, amounts = state & ~self._facts, self._guards, self._amounts
        found = self.applicable(self.closed(state) & self._facts)
        paid = [action for action in found if left - amounts[action] & guards == guards]
        self.cut = self.cut or len(paid) < len(found)
        return paid

    def successors(self, state: State_counted) -> list[tuple[int, State_counted]]:
        """Return `(action, next state)` for every action that can be applied in `state`."""
        return [(action, self.apply(action, state)) for action in self.actions_in(state)]

    def apply(self, action: int, state: State_counted) -> State_counted:
        """Return the state after `action`, which can be paid for."""
        facts = state & self._facts
        return super().apply(action, facts) | (state ^ facts) - self._amounts[action]

    def estimate(self, of_facts: Any, uses: Sequence[Estimate_counted]) -> Any:
        """Return an estimate for these states: what it is for their facts.

        Admissible estimates of the `uses` of each budget tell where too little is left.
        """
        return (_Advising if isinstance(of_facts, AdvisingHeuristic) else _Masked)(of_facts, self, uses)

    def split(self, state: State_counted) -> tuple[State_counted, State_counted]:
        """Return the facts of `state`, and what is left."""
        facts = state & self._facts
        return facts, state ^ facts

    def suffices(self, left: State_counted, needs: Sequence[int]) -> bool:
        """Return whether so much is `left` of each budget; notes it if not."""
        found = all((left >> offset & mask) >= need for (offset, mask), need in zip(self._fields, needs, strict=True))
        self.cut = self.cut or not found
        return found


class _Masked:
    """An estimate that looks at the facts of a state, and for dead ends at what is left."""

    def __init__(self, estimate: Any, space: Counting, uses: Sequence[Estimate_counted]) -> None:
        self._estimate, self._space, self._uses = estimate, space, uses
        self._needs: dict[State_counted, list[int]] = {}

    def __call__(self, state: State_counted) -> int:
        facts, left = self._space.split(state)
        found: int = self._estimate(facts) if self._lives(facts, left) else DEAD_END
        return found

    def _lives(self, facts: State_counted, left: State_counted) -> bool:
        if not self._uses:
            return True
        if facts not in self._needs:
            self._needs[facts] = [estimate(facts) for estimate in self._uses]
        return self._space.suffices(left, self._needs[facts])


class _Advising(_Masked):
    def advise(self, state: State_counted) -> tuple[int, set[int]]:
        facts, left = self._space.split(state)
        dead: tuple[int, set[int]] = DEAD_END, set()
        found: tuple[int, set[int]] = self._estimate.advise(facts) if self._lives(facts, left) else dead
        return found
