"""What must hold before a step for something to hold after it, as it was in one state (regression)."""

from __future__ import annotations

from planner.task import ConditionalEffect, GroundAction, State, Task, bits, facts_of


class Regression:
    """Regression through the actions of `task`, in which nothing is derived."""

    def __init__(self, task: Task) -> None:
        self._rivals = [0] * len(task.facts)
        """By fact: the others of its variable, which exclude it."""
        for variable in task.variables:
            whole = bits(variable)
            for fact in variable:
                self._rivals[fact] = whole & ~(1 << fact)

    def before(self, action: GroundAction, need: State, state: State) -> State | None:
        """Return facts of `state` with which `action` leads to `need`, as it does here; None where none will do.

        Conditional effects that take place give what is needed; what excludes those that would do harm is needed, too.
        """
        found, missing = bits(action.precondition), need & ~bits(action.adds)
        for effect in action.conditional:
            if not bits(effect.condition) & ~state and bits(effect.adds) & missing:
                found |= bits(effect.condition)
                missing &= ~bits(effect.adds)
        for effect in action.conditional:
            if bits(effect.deletes) & missing:
                witness = self._prevented(effect, state)
                if witness is None:
                    return None
                found |= witness
        return found | missing

    def _prevented(self, effect: ConditionalEffect, state: State) -> State | None:
        """Return a fact of `state` that keeps `effect` from taking place."""
        for fact in facts_of(bits(effect.condition) & ~state):
            rivals = self._rivals[fact] & state
            if rivals:
                return rivals & -rivals
        return None
