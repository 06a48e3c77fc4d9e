"""The slow, obvious twins of hierarchical planning: every state, and every decomposition.

Constraints and budgets are kept; where something is wished for, costs are charges: of steps, and of what is forgone.

`cheapest_steps` and `cheapest` find the cheapest plan of a hierarchical problem, `accepts` says whether a sequence of
steps is a plan. Where all networks are sequences, what a task costs from one state to another is a fixed point over all
(task, state), which is exact however tasks recur (Knuth 1977, "A generalization of Dijkstra's algorithm"). Otherwise
all pairs of a state and what remains to be done are visited, cheapest first; these may be infinitely many.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import count, product
from typing import Any, TypeAlias

from benchmarks.random_problems import key_of
from htn.model import HtnProblem, Method, Network, Node
from planner.errors import ForethoughtError
from planner.model import Atom, Formula, Number
from planner.model.formulas import substitute
from planner.plan import Step
from planner.semantics.constraint_monitors import ConstraintMonitors
from planner.semantics.simulation import Simulation

Steps: TypeAlias = tuple[Step, ...]
Found: TypeAlias = tuple[Number, Steps]
Remaining: TypeAlias = tuple[tuple[Atom, frozenset[int]], ...]
"""Tasks to be done, each with the places of those that come before it: all of them, not only the next."""


Asking: TypeAlias = tuple[int, Atom] | None
"""A state and the task that is looked at there; None for the whole problem."""
MOST_TASKS = 16
"""A network of more tasks than this is taken for one that grows without end."""


OVER = -1
"""The state after the end of a plan, whose wishes are settled."""


class TooManyNetworks(ForethoughtError):
    """There is more to look at than the caller wanted."""


class World:
    """The states of a problem by number, each made when an action first leads to it.

    To a state belongs what has happened of the constraints, and what was spent of what has a budget.
    """

    def __init__(self, problem: HtnProblem) -> None:
        self.problem = problem
        first = Simulation(problem.classical)
        self.states = [first]
        self.watches = [ConstraintMonitors(first)]
        self.spent: list[tuple[Number, ...]] = [(0,) * len(problem.classical.budgets)]
        self._numbers = {self._key(first, self.watches[0], self.spent[0]): 0}
        self._after: dict[tuple[int, Atom], tuple[Step, int] | None] = {}
        self._truths: dict[tuple[int, Formula], bool] = {}

    @staticmethod
    def _key(state: Simulation, watches: ConstraintMonitors, spent: tuple[Number, ...]) -> tuple[Any, ...]:
        return key_of(state), frozenset(state.values.items()), watches.key, spent

    def holds(self, state: int, formula: Formula) -> bool:
        """Return whether `formula` holds in the state of this number."""
        if (state, formula) not in self._truths:
            self._truths[state, formula] = self.states[state].holds(formula)
        return self._truths[state, formula]

    def is_end(self, state: int) -> bool:
        """Return whether a plan may end here."""
        watches = self.watches[state]
        return self.holds(state, self.problem.classical.goal.hard) and not watches.broken and not any(watches.unmet)

    def forgone(self, state: int) -> Number:
        """Return what a plan that ends here does without."""
        wishes = [wish.utility for wish in self.problem.classical.goal.soft if not self.holds(state, wish.condition)]
        return sum([*wishes, *[wish.utility or 0 for wish in self.watches[state].forgone]])

    def after(self, state: int, action: Atom) -> tuple[Step, int] | None:
        """Return the step that `action` is in this state, and where it leads; None where it cannot be done."""
        if (state, action) not in self._after:
            self._after[state, action] = self._applied(state, action)
        return self._after[state, action]

    def _applied(self, state: int, action: Atom) -> tuple[Step, int] | None:
        step = Step(action.predicate, action.args)
        if self.watches[state].broken or self.states[state].find_objection(step) is not None:
            return None
        step = Step(action.predicate, action.args, self.states[state].cost(step))
        uses = self.states[state].spending(step)
        budgets = self.problem.classical.budgets
        spent = tuple([had + uses.get(name, 0) for had, name in zip(self.spent[state], budgets, strict=True)])
        if any(had > most for had, most in zip(spent, budgets.values(), strict=True)):
            return None
        after, watches = self.states[state].copy(), self.watches[state].copy()
        watches.look(after, step)
        after.apply(step)
        watches.look(after)
        number = self._numbers.setdefault(self._key(after, watches, spent), len(self.states))
        if number == len(self.states):
            self.states.append(after)
            self.watches.append(watches)
            self.spent.append(spent)
        return step, number


class Replay(World):
    """The states along some steps; nothing else can be done in them."""

    def __init__(self, problem: HtnProblem, steps: Steps) -> None:
        super().__init__(problem)
        self.steps = steps
        for step in steps:
            state = self.states[-1]
            if state.find_objection(step) is not None:
                break
            after = state.copy()
            after.apply(step)
            self.states.append(after)
            self.watches.append(self.watches[0])

    def is_end(self, state: int) -> bool:
        """Return whether the steps are over, and may end here."""
        return state == len(self.steps) and super().is_end(state)

    def after(self, state: int, action: Atom) -> tuple[Step, int] | None:
        """Return the next one of the steps, if it is `action`, and where it leads."""
        if state + 1 >= len(self.states):
            return None
        step = self.steps[state]
        return (step, state + 1) if (step.action, step.arguments) == (action.predicate, action.args) else None


class Hierarchy:
    """The ground instances of methods, and of the initial network."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.problem = world.problem
        self.domain = world.problem.domain
        self._objects = world.states[0].rules.universe
        self._methods: dict[Atom, list[tuple[Formula, Network, Node]]] = {}

    def is_action(self, task: Atom) -> bool:
        """Return whether `task` is an action, not a compound task."""
        return task.predicate in self.domain.classical.actions

    def starts(self) -> list[Network]:
        """Return the initial network for each choice of its parameters."""
        problem = self.problem
        nothing = Method("", Atom(""), problem.parameters, network=problem.network)
        return [network for _, network, _ in self._instances(nothing, {}, Atom(""))]

    def ways(self, state: int, task: Atom) -> list[Network]:
        """Return what the methods make of `task` in this state."""
        return [network for network, _ in self.ways_by_methods(state, task)]

    def ways_by_methods(self, state: int, task: Atom) -> list[tuple[Network, Node]]:
        """Return the same, each with a node that says which method is used, and with which objects."""
        if task not in self._methods:
            self._methods[task] = list(self._all_ways(task))
        return [
            (network, node) for condition, network, node in self._methods[task] if self.world.holds(state, condition)
        ]

    def _all_ways(self, task: Atom) -> Iterator[tuple[Formula, Network, Node]]:
        declared = self.domain.tasks[task.predicate].parameters
        if not all(self._fits(arg, each.types) for arg, each in zip(task.args, declared, strict=True)):
            return
        for method in self.domain.methods_for(task.predicate):
            binding = unified(method.task.args, task.args)
            if binding is not None:
                yield from self._instances(method, binding, task)

    def _fits(self, arg: str, types: tuple[str, ...]) -> bool:
        return arg in self._objects.of_types(types)

    def _instances(
        self, method: Method, binding: Mapping[str, str], task: Atom
    ) -> Iterator[tuple[Formula, Network, Node]]:
        """Yield the precondition, the network and the use of `method` for each choice of objects."""
        names, network = [each.name for each in method.parameters], method.network
        choices = [
            [name for name in self._objects.of_types(each.types) if binding.get(each.name, name) == name]
            for each in method.parameters
        ]
        for values in product(*choices):
            full = dict(zip(names, values, strict=True))
            if self.world.states[0].holds(substitute(network.constraints, full)):
                tasks = tuple([type(each)(each.task.substitute(full)) for each in network.subtasks])
                node = Node(task, method=method.name, binding=values)
                yield substitute(method.precondition, full), Network(tasks, network.ordering), node


def unified(pattern: tuple[str, ...], args: tuple[str, ...]) -> dict[str, str] | None:
    """Return what the variables of `pattern` stand for where it is `args`; None where it cannot be."""
    binding: dict[str, str] = {}
    for term, arg in zip(pattern, args, strict=True):
        if (binding.setdefault(term, arg) if term.startswith("?") else term) != arg:
            return None
    return binding


class Sequences:
    """In sequences: the states in which a task can end that begins in another, and what that costs."""

    def __init__(self, world: World, limit: int) -> None:
        self.world = world
        self.hierarchy = Hierarchy(world)
        self.limit = limit
        self.ends: dict[tuple[int, Atom], dict[int, Found]] = {}
        self.askers: dict[tuple[int, Atom], dict[Asking, None]] = {}
        self.queue: dict[Asking, None] = {}

    def cheapest(self) -> Found | None:
        """Return a cheapest plan with its charge; None where there is none."""
        starts = self.hierarchy.starts()
        self.queue = {None: None}
        best: dict[int, Found] = {}
        while self.queue:
            asking = next(iter(self.queue))
            del self.queue[asking]
            if asking is None:
                best = self._through_any(0, starts, None)
            else:
                self._update(asking)
        ends = [
            (cost + self.world.forgone(end), steps) for end, (cost, steps) in best.items() if self.world.is_end(end)
        ]
        return min(ends, default=None, key=cost_of)

    def _update(self, key: tuple[int, Atom]) -> None:
        state, task = key
        found = self._through_any(state, self.hierarchy.ways(state, task), key)
        if {end: cost for end, (cost, _) in found.items()} != {end: cost for end, (cost, _) in self.ends[key].items()}:
            self.ends[key] = found
            self.queue.update(self.askers[key])

    def _through_any(self, state: int, networks: list[Network], asking: Asking) -> dict[int, Found]:
        best: dict[int, Found] = {}
        for network in networks:
            for end, found in self._through(state, network, asking).items():
                improve(best, end, found)
        return best

    def _through(self, state: int, network: Network, asking: Asking) -> dict[int, Found]:
        reached: dict[int, Found] = {state: (0, ())}
        for each in in_order(network):
            further: dict[int, Found] = {}
            for begin, (cost, steps) in reached.items():
                for end, (more, others) in self._ends_of(begin, each, asking).items():
                    improve(further, end, (cost + more, steps + others))
            reached = further
        return reached

    def _ends_of(self, state: int, task: Atom, asking: Asking) -> dict[int, Found]:
        if self.hierarchy.is_action(task):
            after = self.world.after(state, task)
            return {} if after is None else {after[1]: (after[0].cost, (after[0],))}
        key = state, task
        if key not in self.ends:
            if len(self.ends) >= self.limit:
                raise TooManyNetworks(f"more than {self.limit} tasks and states")
            self.ends[key], self.askers[key], self.queue[key] = {}, {}, None
        self.askers[key][asking] = None
        return self.ends[key]


def improve(best: dict[int, Found], end: int, found: Found) -> None:
    """Keep `found` for `end` in `best` where it is cheaper than what is there."""
    if end not in best or found[0] < best[end][0]:
        best[end] = found


def cost_of(found: Found) -> Number:
    """Return the cost of what was found."""
    return found[0]


class Progression:
    """For any networks: uniform-cost search over states and what remains to be done."""

    def __init__(self, world: World, limit: int) -> None:
        self.world = world
        self.hierarchy = Hierarchy(world)
        self.limit = limit

    def cheapest(self) -> Found | None:
        """Return a cheapest plan with its charge; None where there is none."""
        ticket = count()
        queue: list[tuple[Number, int, int, int, Remaining, Steps]] = [
            (0, 0, next(ticket), 0, remaining_of(start), ()) for start in self.hierarchy.starts()
        ]
        over = remaining_of(Network())
        closed: set[tuple[int, Remaining]] = set()
        while queue:
            cost, work, _, state, remaining, steps = heapq.heappop(queue)
            if state == OVER:
                return cost, steps
            if (state, remaining) in closed:
                continue
            if not remaining and self.world.is_end(state):
                heapq.heappush(queue, (cost + self.world.forgone(state), 0, next(ticket), OVER, over, steps))
            if len(closed) >= self.limit or len(remaining) > MOST_TASKS:
                raise TooManyNetworks(f"more than {self.limit} states and networks, or {MOST_TASKS} tasks in one")
            closed.add((state, remaining))
            for step, end, rest in self.moves(state, remaining):
                more = () if step is None else (step,)
                key = cost + sum(each.cost for each in more), work + 1, next(ticket)
                heapq.heappush(queue, (*key, end, rest, (*steps, *more)))
        return None

    def moves(self, state: int, remaining: Remaining) -> Iterator[tuple[Step | None, int, Remaining]]:
        """Yield what can be done next: the step, if it is one, and what that leads to."""
        for place, (task, before) in enumerate(remaining):
            if before:
                continue
            if self.hierarchy.is_action(task):
                after = self.world.after(state, task)
                if after is not None:
                    yield *after, replaced(remaining, place, Network())
            else:
                for network in self.hierarchy.ways(state, task):
                    yield None, state, replaced(remaining, place, network)


def remaining_of(network: Network) -> Remaining:
    """Return what is to be done for `network`."""
    return replaced(((Atom("the problem"), frozenset()),), 0, network)


def replaced(remaining: Remaining, place: int, network: Network) -> Remaining:
    """Return `remaining` with `network` instead of the task at `place`, which nothing precedes."""
    size = len(remaining)
    new = set(range(size, size + len(network.subtasks)))
    tasks: dict[int, tuple[Atom, frozenset[int]]] = {}
    for number, (task, before) in enumerate(remaining):
        if number != place:
            tasks[number] = task, (before - {place} | new if place in before else before)
    for number, earlier in enumerate(predecessors(network)):
        tasks[size + number] = network.subtasks[number].task, frozenset(size + each for each in earlier)
    return numbered(tasks)


def predecessors(network: Network) -> list[set[int]]:
    """Return for each subtask all that come before it."""
    before: list[set[int]] = [set() for _ in network.subtasks]
    for one, other in network.ordering:
        before[other].add(one)
    for middle, each in product(range(len(before)), repeat=2):
        if middle in before[each]:
            before[each] |= before[middle]
    return before


@cache
def in_order(network: Network) -> list[Atom]:
    """Return the tasks of a sequence, which may be written in another order."""
    before = predecessors(network)
    return [network.subtasks[place].task for place in sorted(range(len(before)), key=lambda place: len(before[place]))]


def numbered(tasks: dict[int, tuple[Atom, frozenset[int]]]) -> Remaining:
    """Return the tasks numbered by what they are and what stands around them: most equal networks look equal."""
    colours = {number: str(task) for number, (task, _) in tasks.items()}
    for _ in range(3):
        after: dict[int, list[str]] = {number: [] for number in tasks}
        for number, (_, before) in tasks.items():
            for each in before:
                after[each].append(colours[number])
        signatures = {
            number: (colours[number], sorted(colours[each] for each in before), sorted(after[number]))
            for number, (_, before) in tasks.items()
        }
        ranks = {repr(each): rank for rank, each in enumerate(sorted(signatures.values()))}
        colours = {number: f"{ranks[repr(signatures[number])]:05}" for number in tasks}
        if len(set(colours.values())) == len(colours):
            break
    order = sorted(tasks, key=colours.__getitem__)
    places = {number: place for place, number in enumerate(order)}
    return tuple([(tasks[number][0], frozenset(places[each] for each in tasks[number][1])) for number in order])


def cheapest_steps(problem: HtnProblem, limit: int = 20_000) -> Steps | None:
    """Return the steps of a cheapest plan, None where there is none; raises `TooManyNetworks`."""
    found = _cheapest(World(problem), limit)
    return None if found is None else found[1]


def cheapest(problem: HtnProblem, limit: int = 20_000) -> Number | None:
    """Return the cost of a cheapest plan; as `cheapest_steps`."""
    found = _cheapest(World(problem), limit)
    return None if found is None else found[0]


def accepts(problem: HtnProblem, steps: Steps, limit: int = 20_000) -> bool:
    """Return whether some decomposition of the tasks gives `steps`, and they reach the goal."""
    return _cheapest(Replay(problem, steps), limit) is not None


def _cheapest(world: World, limit: int) -> Found | None:
    kind = Sequences if world.problem.is_ordered else Progression
    return kind(world, limit).cheapest()
