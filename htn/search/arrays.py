"""A ground hierarchical problem as kernels see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Final

from htn.grounding.ground import GroundHtn, GroundMethod
from htn.grounding.least import least_costs
from htn.model import Network, Subtask
from htn.orders import linear
from planner.compiled.arrays import flat, index, words
from planner.compiled.library import Call
from planner.compiled.packing import packing
from planner.compiled.relaxed import exploration, missing_at_first, packed_relaxation, prices
from planner.compiled.space import conjunctions, first_state, packed_space
from planner.heuristics.relaxed import RelaxedTask, relax
from planner.kernels.data import Exploration, Relaxed
from planner.kernels.hierarchy import Hierarchy
from planner.model import Atom
from planner.plan import Step
from planner.records import replace
from planner.task import GroundAction

DONE: Final = Atom("@done")
"""What facts of the relaxation that tasks were done are called, all of them."""

ALONE: Final = Network((Subtask(DONE),))
"""The network of what stands for one of several ground actions."""


class Board:
    """The arrays for `ground`, and the kernels `entries`; subtasks that are not ordered are done as they are written.

    `check` raises when a limit is reached meanwhile.
    """

    def __init__(self, ground: GroundHtn, entries: dict[str, Call], check: Callable[[], None] = lambda: None) -> None:
        task = ground.task
        self.ground, self.entries, self._check = ground, entries, check
        self.packed = packing(task)
        check()
        self.space = packed_space(task, self.packed, check, searched=False)
        self.initial = first_state(task, self.packed, self.space)
        self.costs = [action.cost for action in task.actions]
        known: dict[int, _Line] = {}
        lines = [_line(method, known) for method in ground.methods]
        self.sequences = [
            [method.subtasks[place] for place in line.order] for method, line in zip(ground.methods, lines, strict=True)
        ]
        """The subtasks of each method in an order that agrees with its own."""
        self.orders = [line.pairs for line in lines]
        """Their own order, as pairs of places in that sequence."""
        check()

    @cached_property
    def hierarchy(self) -> Hierarchy:
        """The tasks and methods."""
        ground = self.ground
        tasks = len(self.costs) + len(ground.compounds)
        facts = len(ground.task.facts)
        return Hierarchy(
            conjunctions([action.precondition for action in ground.task.actions], self.packed),
            conjunctions([method.precondition for method in ground.methods], self.packed),
            *flat(ground.methods_of),
            *flat(self.sequences),
            words(least_costs(ground, self.costs)),
            index(range(facts, facts + tasks)),
            index([facts + tasks]),
        )

    @cached_property
    def relaxation(self) -> RelaxedTask:
        """The relaxed composition: methods are operators as actions are, and that tasks were done are facts.

        The last fact is that something is demanded, which all of them require.
        """
        ground = self.ground
        first, tasks = len(ground.task.facts), len(self.costs) + len(ground.compounds)
        demanded = first + tasks
        task_of = {
            method: first + len(self.costs) + number
            for number, found in enumerate(ground.methods_of)
            for method in found
        }
        actions = [
            GroundAction(
                action.step,
                (*action.precondition, demanded),
                (*action.adds, first + number),
                action.deletes,
                action.conditional,
                action.cost,
            )
            for number, action in enumerate(ground.task.actions)
        ]
        actions += [
            _composing(method, [demanded, *[first + each for each in method.subtasks]], task_of[number])
            for number, method in enumerate(ground.methods)
        ]
        names = (*ground.task.facts, *[DONE] * (tasks + 1))
        self._check()
        return relax(replace(ground.task, facts=names, actions=tuple(actions)))

    @cached_property
    def _free(self) -> Relaxed:
        relaxation = self.relaxation
        self._check()
        return packed_relaxation(relaxation, [0] * (len(self.costs) + len(self.ground.methods)))

    def relaxed(self, costs: Sequence[int], own: int) -> Relaxed:
        """Return it as arrays, with these `costs` of actions, and `own` for each method."""
        return self._free._replace(cost=prices(self.relaxation, [*costs, *[own] * len(self.ground.methods)]))

    @cached_property
    def exploration(self) -> Exploration:
        """Room for explorations of it."""
        self._check()
        missing = missing_at_first(self.relaxation, self.packed)
        operators = len(self.costs) + len(self.ground.methods)
        return exploration(self.relaxation, missing, [1] * operators, self.packed)


class _Line:
    """The subtasks of a network, linear."""

    def __init__(self, network: Network) -> None:
        self.order = linear(len(network.subtasks), network.ordering)
        place = {subtask: number for number, subtask in enumerate(self.order)}
        self.pairs = [(place[one], place[other]) for one, other in network.ordering]


def _line(method: GroundMethod, known: dict[int, _Line]) -> _Line:
    """Return the line of `method`, which is worked out once for all its instances."""
    network = ALONE if method.method is None else method.method.network
    if id(network) not in known:
        known[id(network)] = _Line(network)
    return known[id(network)]


def _composing(method: GroundMethod, done: list[int], task: int) -> GroundAction:
    return GroundAction(Step(""), (*method.precondition, *dict.fromkeys(done)), (task,), (), (), 0)
