"""The decision process of a hierarchical problem: its states are those of the world, and the tasks that are left.

An action that is done takes its task off, also where an outcome brings nothing; a step that fails by its risk leaves
it. To decompose a task costs nothing. Each ground method has an action without effects in the classical process, by
which that process tells where the precondition of the method holds.
"""

from __future__ import annotations

from collections.abc import Mapping

from htn.model import HtnProblem
from htn.policies.remaining_tasks import (
    GroundMethod,
    Methods,
    Remaining,
    find_ready,
    name_tasks,
    replace_task,
)
from planner.errors import UnsupportedError
from planner.lightweight import Final, replace
from planner.limits import Limits
from planner.model import Action, Atom
from planner.policies.decision import IMPOSSIBLE, Hopes, Hoping
from planner.policies.lao_star import Check
from planner.policies.layered_process import LayeredProcess
from planner.policies.markov_decision_process import Choice, Left, Process
from planner.policies.process_grounding import keep_idle_steps, process_of
from planner.semantics.turns import names_in
from planner.task.ground_task import INFINITY, State

TEST: Final = "@method-"
"""Prefix of the actions that test preconditions of methods."""
MOST_METHODS: Final = 100_000
"""Most ground methods of a process."""


def decision_process(problem: HtnProblem, limits: Limits) -> Process:
    """Return the decision process of `problem`. Raises as `process_of` does for its classical part."""
    methods = Methods(problem)
    tests: dict[str, GroundMethod] = {}
    for method in methods.reachable():
        limits.check()
        tests[f"{TEST}{len(tests)}"] = method
        if len(tests) > MOST_METHODS:
            raise UnsupportedError(f"hierarchies with more than {MOST_METHODS} ground methods", "solve gives a plan")
    classical = problem.classical
    actions = {
        name: Action(name, requires=method.precondition, cost=(), tags=frozenset({"irreversible"}))
        for name, method in tests.items()
    }
    domain = replace(classical.domain, actions={**classical.domain.actions, **actions})
    base = process_of(keep_idle_steps(replace(classical, domain=domain)), limits, whole=True)
    return TaskProcess(base, methods, tests)


class TaskProcess(LayeredProcess[Remaining]):
    """The process of `methods` over the classical process `base`, whose actions `tests` test their preconditions."""

    def __init__(self, base: Process, methods: Methods, tests: Mapping[str, GroundMethod]) -> None:
        super().__init__(base, methods.first)
        self._methods = methods
        self._doing: dict[Atom, list[int]] = {}
        self._tested: dict[int, list[int]] = {}
        for number, choice in enumerate(base.choices):
            method = tests.get(choice.step.action)
            if method is None:
                self._doing.setdefault(Atom(choice.step.action, choice.step.arguments), []).append(number)
            else:
                self._tested.setdefault(id(method), []).append(number)
        self._tests: dict[tuple[State, int], State | None] = {}
        self._keys: dict[tuple[int, int, int], int] = {}
        self._choices: list[Choice] = []
        self._methods_by_number: dict[int, GroundMethod] = {}
        self._base_choice: list[int] = []
        self._place: list[int] = []
        self.choices = self._choices
        self.supposed: dict[int, tuple[Atom, bool]] = {}
        self.costs = TaskCosts(self)

    def tasks(self, state: State) -> tuple[str, ...]:
        """Return the tasks that are left to be done in `state`."""
        return name_tasks(self.more(state))

    def place(self, choice: int) -> int:
        """Return the place among the tasks of the one that `choice` does or decomposes."""
        return self._place[choice]

    def applicable(self, state: State) -> list[int]:
        """Return the numbers of the applicable choices in `state`, in ascending order."""
        remaining = self.more(state)
        here = {*self.base.applicable(self.inner(state))}
        found = []
        for place in find_ready(remaining):
            task = remaining[place][0]
            if self._methods.is_compound(task):
                found += [
                    self._number(place, self._tested[id(each)][0], each)
                    for each in self._methods.of(task)
                    if self._test(self.inner(state), each) is not None
                ]
            else:
                step = task.predicate, task.args
                found += [
                    self._number(place, each, None)
                    for each in here
                    if (self.base.choices[each].step.action, self.base.choices[each].step.arguments) == step
                ]
        return sorted(found)

    def _test(self, world: State, method: GroundMethod) -> State | None:
        """Return the state of the world in which `method` can be chosen, perhaps after waiting; None without one."""
        key = world, id(method)
        if key not in self._tests:
            read = frozenset(names_in(method.precondition))
            tested = (self.base.test(world, each, read) for each in self._tested.get(id(method), ()))
            self._tests[key] = next((each for each in tested if each is not None), None)
        return self._tests[key]

    def _number(self, place: int, base_choice: int, method: GroundMethod | None) -> int:
        key = place, base_choice, id(method)
        if key not in self._keys:
            number = self._keys[key] = len(self._choices)
            known = self.base.choices[base_choice]
            if method is not None:
                known = Choice(method.step, 0, known.precondition, known.branches)
                self._methods_by_number[number] = method
            elif base_choice in self.base.supposed:
                self.supposed[number] = self.base.supposed[base_choice]
            self._choices.append(known)
            self._base_choice.append(base_choice)
            self._place.append(place)
        return self._keys[key]

    def results(self, state: State, choice: int) -> list[tuple[float, State, bool]]:
        """Return the distribution of the state after `choice`, and of whether its step has happened."""
        world, remaining, place = self.inner(state), self.more(state), self._place[choice]
        method = self._methods_by_number.get(choice)
        if method is not None:
            left = replace_task(remaining, place, method.subtasks, method.ordering)
            after = self._test(world, method)
            assert after is not None
            return [(1.0, self.number(after, left), True)]
        left = replace_task(remaining, place, (), ())
        return [
            (share, self.number(after, left if done else remaining), done)
            for share, after, done in self.base.results(world, self._base_choice[choice])
        ]

    def charge(self, state: State, choice: int) -> float:
        """Return the expected cost of `choice` in `state`."""
        if choice in self._methods_by_number:
            return 0.0
        return self.base.charge(self.inner(state), self._base_choice[choice])

    def left_after(self, choice: int, left: Left) -> Left | None:
        """Return the rest of the budgets after `choice`; None where it exceeds one."""
        return left if choice in self._methods_by_number else self.base.left_after(self._base_choice[choice], left)

    def is_goal(self, state: State) -> bool:
        """Return whether nothing is left to be done in `state`, and the hard goal holds."""
        return not self.more(state) and super().is_goal(state)

    def make_hopes(self, check: Check) -> Hoping:
        """Return lower bounds of costs by the tasks that are left, and by the goal."""
        return TaskHopes(self, check)

    def cost_of(self, task: Atom) -> float:
        """Return the least cost of the steps that do the action `task`; infinite where none can ever be done."""
        costs = [self.base.least_charge(each) for each in self._doing.get(task, ())]
        return min(costs, default=IMPOSSIBLE)

    def ways_of(self, task: Atom) -> list[tuple[Atom, ...]]:
        """Return the subtasks of the methods whose preconditions may hold."""
        return [each.subtasks for each in self._methods.of(task) if id(each) in self._tested]

    def is_compound(self, task: Atom) -> bool:
        """Return whether methods do `task`."""
        return self._methods.is_compound(task)


class TaskCosts:
    """Lower bounds of what each task costs, whatever the state: the least fixed point over the methods."""

    def __init__(self, process: TaskProcess) -> None:
        self._process = process
        self._costs: dict[Atom, float] = {}

    def of(self, task: Atom) -> float:
        """Return a lower bound of the cost of `task`; infinite where it can never be done."""
        if task not in self._costs:
            self._solve(task)
        return self._costs[task]

    def _solve(self, task: Atom) -> None:
        """Find the costs of `task` and of all tasks below it."""
        ways: dict[Atom, list[tuple[Atom, ...]]] = {}
        waiting = [task]
        while waiting:
            each = waiting.pop()
            if each in ways or each in self._costs:
                continue
            if not self._process.is_compound(each):
                self._costs[each] = self._process.cost_of(each)
                continue
            ways[each] = self._process.ways_of(each)
            waiting += [below for way in ways[each] for below in way]
        self._costs.update(dict.fromkeys(ways, IMPOSSIBLE))
        changed = True
        while changed:
            changed = False
            for each, own in ways.items():
                cost = min([sum([self._costs[below] for below in way]) for way in own], default=IMPOSSIBLE)
                if cost < self._costs[each]:
                    self._costs[each], changed = cost, True


class TaskHopes:
    """Lower bounds by the tasks that are left, and by the heuristic of the classical process, if it has one."""

    def __init__(self, process: TaskProcess, check: Check) -> None:
        self._process = process
        base = process.base
        guided = base.is_guided and base.task.unreachable_goal is None
        self._classical = Hopes(base, check) if guided else None

    def luckiest(self, state: State) -> int:
        """Return a lower bound of the cost with the luckiest outcomes; `INFINITY` where none lead to the goal."""
        own = self._of_tasks(state)
        known = 0 if self._classical is None else self._classical.luckiest(self._process.inner(state))
        return INFINITY if own == IMPOSSIBLE else max(int(own), known)

    def expected(self, state: State) -> float:
        """Return a lower bound of the expected cost of the goal; `IMPOSSIBLE` where no outcomes lead to it."""
        known = 0.0 if self._classical is None else self._classical.expected(self._process.inner(state))
        return max(self._of_tasks(state), known)

    def _of_tasks(self, state: State) -> float:
        return sum([self._process.costs.of(task) for task, _ in self._process.more(state)])
