"""Steps as plans write them: an action's name and its arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from planner.errors import InputError, Location, PlanError
from planner.model import Number, Problem
from planner.pddl.lookup import Lookup
from planner.pddl.trees import counted
from planner.plan import Step

Word = tuple[str, Location]
"""A word and its place."""


class StepReader:
    """Turns words into steps; `actions` and `objects` have what each of these is exported as."""

    def __init__(self, problem: Problem, actions: Mapping[str, str], objects: Mapping[str, str]) -> None:
        self._problem = problem
        self._actions = Lookup(actions, "action")
        self._objects = Lookup(objects, "object")
        self._costs: dict[str, Callable[[tuple[str, ...]], Number]] = {}

    def read(self, words: Sequence[Word]) -> Step:
        """Return the step that `words`, one at least, are, with its exact cost.

        Raises `PlanError` where the problem has no such action or object, or the action another number of arguments.
        """
        name = self._actions.find(*words[0])
        place = words[0][1]
        action = self._problem.domain.actions[name]
        if len(words) - 1 != len(action.parameters):
            message = f"'{name}' has {counted(len(words) - 1, 'argument')} here, expected {len(action.parameters)}"
            raise PlanError(message, place, f"it is declared as {action.signature}")
        arguments = self.objects(words[1:])
        return Step(name, arguments, self._cost(name, arguments, place))

    def objects(self, words: Sequence[Word]) -> tuple[str, ...]:
        """Return the objects that `words` mean. Raises `PlanError` where there is none."""
        return tuple([self._objects.find(*word) for word in words])

    def _cost(self, name: str, arguments: tuple[str, ...], place: Location) -> Number:
        if name not in self._costs:
            from planner.grounding.costs import cost_picker  # noqa: PLC0415 - grounding is loaded only where needed

            self._costs[name] = cost_picker(self._problem.domain.actions[name], self._problem)
        try:
            return self._costs[name](arguments)
        except InputError as error:
            raise PlanError(error.message, place, error.hint) from None
