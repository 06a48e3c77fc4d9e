"""What the verifiers of bare sequences of steps ask: methods made ready, and the state in each slot between steps."""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import TopologicalSorter

from htn.model import HtnProblem, Method
from htn.verify.frames import INITIAL
from planner.budget import Budget
from planner.model import Atom, Variable, is_variable
from planner.plan import Step
from planner.records import dataclass
from planner.validate import Replay
from planner.validate.conditions import Binding, Condition, Domains
from planner.validate.state import State, Table
from planner.validate.world import World


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """A method made ready; `order` has the places of its subtasks, none before one that it comes after.

    `subtasks` are in this order, and `after` has for each place those that come after it.
    """

    method: Method
    order: tuple[int, ...]
    subtasks: tuple[Atom, ...]
    after: tuple[tuple[int, ...], ...]
    precondition: Condition
    constraints: Condition


class Grammar:
    """The methods of `problem` and the states that `steps` lead through, as many as can be applied.

    The initial network is the method of a task of its own, `top`. Raises `LimitReached`.
    """

    def __init__(self, problem: HtnProblem, steps: Sequence[Step], budget: Budget) -> None:
        self._replay = Replay(problem.classical)
        self.top = Atom(INITIAL)
        self.steps = [Atom(step.action, step.arguments) for step in steps]
        self.worlds, self.is_plan = self._worlds(steps, budget)
        self.actions = problem.domain.classical.actions
        self._parameters = {name: task.parameters for name, task in problem.domain.tasks.items()}
        self._rules: dict[str, list[Rule]] = {name: [] for name in problem.domain.tasks}
        for method in problem.domain.methods.values():
            self._rules.setdefault(method.task.predicate, []).append(self._rule(method))
        initial = Method(INITIAL, self.top, problem.parameters, network=problem.network)
        self._rules[INITIAL] = [self._rule(initial)]

    def rules_for(self, task: str) -> list[Rule]:
        """Return the methods of the compound task of this name; none where there is no such task."""
        return self._rules.get(task, [])

    def fits(self, task: Atom) -> bool:
        """Return whether the arguments of the compound `task` have the types of its parameters; variables do."""
        parameters = self._parameters.get(task.predicate, ())
        return len(parameters) == len(task.args) and all(
            is_variable(argument) or self.is_instance(argument, parameter)
            for parameter, argument in zip(parameters, task.args, strict=True)
        )

    def is_instance(self, name: str, parameter: Variable) -> bool:
        """Return whether the object `name` is of the type of `parameter`."""
        return name in self._replay.simulation.rules.universe.of_types(parameter.types)

    def domains(self, method: Method, binding: Binding) -> Domains:
        """Return what each parameter of `method` that `binding` lacks ranges over."""
        missing = tuple([each for each in method.parameters if each.name not in binding])
        return self._replay.simulation.rules.universe.domains(missing)

    def extended(self, method: Method, pattern: Atom, task: Atom, known: Binding) -> Binding | None:
        """Return `known` with what makes `pattern`, a part of `method`, to `task`; None where names or types differ.

        Variables of `task` stand for anything.
        """
        if pattern.predicate != task.predicate or len(pattern.args) != len(task.args):
            return None
        binding = known.copy()
        for term, value in zip(pattern.args, task.args, strict=True):
            if not is_variable(value) and (binding.setdefault(term, value) if is_variable(term) else term) != value:
                return None
        fresh = (each for each in method.parameters if each.name in binding and each.name not in known)
        return binding if all(self.is_instance(binding[each.name], each) for each in fresh) else None

    def _rule(self, method: Method) -> Rule:
        network = method.network
        sorter = TopologicalSorter(dict.fromkeys(range(len(network.subtasks)), ()))
        after: list[list[int]] = [[] for _ in network.subtasks]
        for first, second in network.ordering:
            sorter.add(second, first)
            after[first].append(second)
        order = tuple(sorter.static_order())
        subtasks = tuple([network.subtasks[place].task for place in order])
        compiler = self._replay.simulation.rules.compiler
        conditions = compiler.compile(method.precondition), compiler.compile(network.constraints)
        return Rule(method, order, subtasks, tuple(map(tuple, after)), *conditions)

    def _worlds(self, steps: Sequence[Step], budget: Budget) -> tuple[list[World], bool]:
        """Return the state in each slot, and whether all steps can be applied and reach the goal.

        Facts of predicates that a step leaves alone are in one table for both states.
        """
        simulation = self._replay.simulation
        worlds = [World(simulation.world.state.copy(), simulation.rules.axioms)]
        for step in steps:
            budget.check()
            if self._replay.objection(step) is not None:
                return worlds, False
            changes = self._replay.apply(step)
            state = State()
            state.tables = worlds[-1].state.tables.copy()
            for predicate in {fact.predicate for fact in (*changes.added, *changes.removed)}:
                state.tables[predicate] = Table(simulation.world.state.table(predicate).rows)
            worlds.append(World(state, simulation.rules.axioms))
        return worlds, self._replay.end(None).valid
