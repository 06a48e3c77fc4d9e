"""The state space of a numeric task in exact arithmetic: the readable twin of `packed_numbers_kernel`.

A state is the number of a pair of facts and values, in the order in which they were reached, so that searches handle it
as any other state.
"""

from __future__ import annotations

from planner.errors import UnsupportedError
from planner.lightweight import Final
from planner.model.arithmetic import as_fraction, as_number, exact_value
from planner.model.formulas import Atom, Number
from planner.task.ground_task import State, bits
from planner.task.numeric_task import LinearEffect, NumericTask, Terms
from planner.task.numeric_task_compiled import find_opposites
from planner.task.successor_generator import Space

NO_STATE: Final = -1
"""The state after an action that would leave the bounds of a fluent."""
Values = tuple[int, ...]


class NumericSpace(Space):
    """The state space of `source`; it keeps all states that it has reached."""

    def __init__(self, source: NumericTask) -> None:
        super().__init__(source.task)
        opposite = find_opposites(source.task)
        self._variables = source.variables
        self._conditions = [(1 << each.fact, 1 << opposite[each.fact], each) for each in source.conditions]
        self._changes = [
            [([bits(condition) for condition in each.conditions], each.effects) for each in changes]
            for changes in source.changes
        ]
        self._states: list[tuple[State, Values]] = []
        self._numbers: dict[tuple[State, Values], int] = {}
        self.initial = self._number_of(self.initial, tuple([each.initial for each in source.variables]))

    def facts(self, state: State) -> State:
        """Return the facts of `state` without the derived ones."""
        return self._states[state][0]

    def with_facts(self, state: State, facts: State) -> State:
        """Return the state with the values of `state` and these facts, without derived ones."""
        return self._number_of(facts, self._states[state][1])

    def values(self, state: State) -> Values:
        """Return the values of the variables in `state`."""
        return self._states[state][1]

    def fluents(self, state: State) -> dict[Atom, Number]:
        """Return the values of the fluents in `state`. Raises `UnsupportedError` for one that is no finite decimal."""
        found = {}
        for variable, value in zip(self._variables, self._states[state][1], strict=True):
            number = as_number(exact_value(as_fraction(value) / variable.scale))
            if number is None:
                raise UnsupportedError(f"a value of {variable.fluent} that is no finite decimal", "use decimals")
            found[variable.fluent] = number
        return found

    def closed(self, state: State) -> State:
        """Return the facts of `state` with the derived ones."""
        return super().closed(self._states[state][0])

    def successors(self, state: State) -> list[tuple[int, State]]:
        """Return `(action, next state)` for every applicable action."""
        found = [(action, self.apply(action, state)) for action in self.actions_in(state)]
        return [each for each in found if each[1] != NO_STATE]

    def apply(self, action: int, state: State) -> State:
        """Return the state after `action`, whose precondition is not tested; `NO_STATE` out of bounds."""
        facts, values = self._states[state]
        full = self.closed(state)
        kept, added, _ = self.effects(action, full)
        after = self._change(action, full, values)
        if after is None:
            return NO_STATE
        facts = facts & kept | added
        return self._number_of(facts if after == values else self._compare(facts, after), after)

    def _change(self, action: int, full: State, values: Values) -> Values | None:
        """Return the values after `action`, None out of bounds."""
        after = [*values]
        changed: set[int] = set()
        for conditions, effects in self._changes[action]:
            if any(not condition & ~full for condition in conditions):
                for effect in effects:
                    self._add(effect, values, after)
                    changed.add(effect.variable)
        for variable in changed:
            low, high = self._variables[variable].low, self._variables[variable].high
            if (low is not None and after[variable] < low) or (high is not None and after[variable] > high):
                return None
        return tuple(after)

    @staticmethod
    def _add(effect: LinearEffect, values: Values, after: list[int]) -> None:
        amount = _sum(effect.terms, values) + effect.constant
        after[effect.variable] = after[effect.variable] + amount if effect.additive else amount

    def _compare(self, facts: State, values: Values) -> State:
        """Return `facts` with those comparisons that hold of `values`."""
        for yes, no, condition in self._conditions:
            holds = _sum(condition.terms, values) + condition.constant >= 0
            facts = facts & ~(yes | no) | (yes if holds else no)
        return facts

    def _number_of(self, facts: State, values: Values) -> int:
        number = self._numbers.setdefault((facts, values), len(self._states))
        if number == len(self._states):
            self._states.append((facts, values))
        return number


def _sum(terms: Terms, values: Values) -> int:
    return sum([weight * values[variable] for variable, weight in terms])
