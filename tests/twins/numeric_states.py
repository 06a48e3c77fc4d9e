"""The states of a numeric task in plain Python, for the readable searches: facts as bits, and the values."""

from __future__ import annotations

from planner.task.ground_task import State, bits
from planner.task.numeric_task import NumericTask
from planner.task.successor_generator import Space

Values = tuple[int, ...]
NumericState = tuple[State, Values]


class NumericStates(Space):
    """The state space of a numeric task; an action that leads out of the bounds of a variable is not applicable."""

    def __init__(self, source: NumericTask) -> None:
        super().__init__(source.task)
        self.source = source
        values = tuple([each.initial for each in source.variables])
        self.initial = (self._compare(bits(source.task.initial), values), values)

    def is_goal(self, state: NumericState) -> bool:
        return super().is_goal(state[0])

    def actions_in(self, state: NumericState) -> list[int]:
        return [action for action, _ in self.successors(state)]

    def successors(self, state: NumericState) -> list[tuple[int, NumericState]]:
        after = [(action, self.apply(action, state)) for action in super().actions_in(state[0])]
        return [(action, child) for action, child in after if child is not None]

    def apply(self, action: int, state: NumericState) -> NumericState | None:
        values = self._change(action, *state)
        return None if values is None else (self._compare(super().apply(action, state[0]), values), values)

    def _change(self, action: int, facts: State, values: Values) -> Values | None:
        full, after = self.closed(facts), list(values)
        for change in self.source.changes[action]:
            if any(not bits(condition) & ~full for condition in change.conditions):
                for effect in change.effects:
                    amount = effect.constant + sum([values[variable] * weight for variable, weight in effect.terms])
                    after[effect.variable] = after[effect.variable] + amount if effect.additive else amount
        for variable, value in zip(self.source.variables, after, strict=True):
            if not (variable.low is None or variable.low <= value) or not (
                variable.high is None or value <= variable.high
            ):
                return None
        return tuple(after)

    def _compare(self, facts: State, values: Values) -> State:
        for each in self.source.conditions:
            holds = each.constant + sum([values[variable] * weight for variable, weight in each.terms]) >= 0
            facts = facts | 1 << each.fact if holds else facts & ~(1 << each.fact)
        return facts
