"""States as assignments: each finite-domain variable is a few bits, and each bit has a twin for the state after a step.

A set of states is a function of the bits, a relation between states one of bits and twins. A bit and its twin are
neighbours in the order of a diagram.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import and_, or_

from oxidd.bcdd import BCDDFunction, BCDDManager

from planner.annotations import Final
from planner.compiled.packing import may_lack_value, variables_of
from planner.task import State, Task, bits

Set = BCDDFunction
"""A set of states, or a relation between states: a diagram with complemented edges."""
NODE_BYTES: Final = 40
"""About what a node takes, with its place in the table of all nodes."""
RESULT_BYTES: Final = 20
"""What an entry in the table of results takes."""
NODES_A_RESULT: Final = 2
"""Nodes that there may be for each entry in that table."""
MOST_RESULTS: Final = 1 << 24
"""More entries were no faster: memory that is touched once costs time, too."""
NONE: Final = -1
"""The value of a variable none of whose facts holds."""


class Coding:
    """How states of `task` are written as bits, with its variables in this `order`, in so many bytes of memory.

    `variable_of` says of each fact which variable it is a value of. `holds[f]` are the states in which fact f holds,
    derived ones included; `valid` are those that are states at all. `everything` and `nothing` are sets.
    """

    def __init__(self, task: Task, order: list[int], room: int) -> None:
        together = RESULT_BYTES + NODES_A_RESULT * NODE_BYTES
        results = min(MOST_RESULTS, 1 << max(room // together, 1).bit_length() - 1)
        nodes = max(room - results * RESULT_BYTES, 0) // NODE_BYTES
        self.task, self.order = task, order
        self.rank = {variable: index for index, variable in enumerate(order)}
        """The number of each variable in that order."""
        self.variable_of = variables_of(task)
        self.manager = BCDDManager(nodes, results, 1)
        self.everything, self.nothing = self.manager.true(), self.manager.false()
        lacking = may_lack_value(task, self.variable_of)
        self.values = [[*facts, *([NONE] if number in lacking else [])] for number, facts in enumerate(task.variables)]
        """The facts of each variable, and `NONE` where it may have none of them."""
        self.places = self._places()
        """The bits of each variable, by their numbers; the twin of bit b is b + 1."""
        self.manager.add_vars(2 * sum(map(len, self.places)))
        self._same: dict[int, Set] = {}
        self.holds = self._facts()
        self._derive()
        self.valid = self.all_of(
            [self.any_of(self.having(variable, each) for each in self.values[variable]) for variable in order]
        )

    def _places(self) -> list[list[int]]:
        places: list[list[int]] = [[] for _ in self.values]
        used = 0
        for variable in self.order:
            width = max(1, (len(self.values[variable]) - 1).bit_length())
            places[variable] = list(range(used, used + 2 * width, 2))
            used += 2 * width
        return places

    def _facts(self) -> list[Set]:
        holds = [self.nothing] * len(self.task.facts)
        for variable, facts in enumerate(self.task.variables):
            for fact in facts:
                holds[fact] = self.having(variable, fact)
        return holds

    def _derive(self) -> None:
        """Say of derived facts in which states they hold, layer by layer, each to its fixed point."""
        holds = self.holds
        for layer in self.task.axioms:
            changed = True
            while changed:
                changed = False
                for rule in layer.rules:
                    more = holds[rule.head] | self.all_of([holds[fact] for fact in rule.body])
                    changed |= more != holds[rule.head]
                    holds[rule.head] = more
            for negated, derived in layer.negated:
                holds[negated] = ~holds[derived]

    def all_of(self, sets: Iterable[Set]) -> Set:
        """Return the intersection."""
        return reduce(and_, sets, self.everything)

    def any_of(self, sets: Iterable[Set]) -> Set:
        """Return the union."""
        return reduce(or_, sets, self.nothing)

    def having(self, variable: int, value: int, twin: int = 0) -> Set:
        """Return the states in which `variable` has this value (a fact, or `NONE`); with `twin` 1, after a step."""
        number, result = self.values[variable].index(value), self.everything
        for index, place in reversed(list(enumerate(self.places[variable]))):
            bit = self.manager.var(place + twin)
            result = (bit if number >> index & 1 else ~bit) & result
        return result

    def same(self, variable: int) -> Set:
        """Return the pairs of states in which `variable` has one value."""
        if variable not in self._same:
            pairs = [self.manager.var(place).equiv(self.manager.var(place + 1)) for place in self.places[variable]]
            self._same[variable] = self.all_of(reversed(pairs))
        return self._same[variable]

    def state(self, facts: Iterable[int]) -> Set:
        """Return the set with one state: that in which exactly these base facts hold."""
        value = {self.variable_of[fact]: fact for fact in facts}
        return self.all_of([self.having(variable, value.get(variable, NONE)) for variable in reversed(self.order)])

    def written(self, state: State) -> list[tuple[int, bool]]:
        """Return the bits of a state, given as a number, and what they are."""
        found = []
        for variable, values in enumerate(self.values):
            number = next((index for index, fact in enumerate(values) if fact == NONE or state >> fact & 1))
            found += [(place, bool(number >> index & 1)) for index, place in enumerate(self.places[variable])]
        return found

    def one_of(self, states: Set) -> State:
        """Return one of these states (there is one), as a number."""
        cube = states.pick_cube()
        assert cube is not None  # noqa: S101 - the set is not empty
        facts = []
        for variable, values in enumerate(self.values):
            number = sum([1 << index for index, place in enumerate(self.places[variable]) if cube[place]])
            if values[number] != NONE:
                facts.append(values[number])
        return bits(facts)
