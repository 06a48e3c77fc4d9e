"""What a step says that it created: objects with names, which nothing else has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from executor.plans.creation import name_of
from executor.record.state import RunState
from executor.record.steps import StepRecord
from executor.steps.perform import Attempt
from planner.declare.syntax import is_name
from planner.errors import InputError
from planner.model import Action, Atom
from planner.model.actions import added
from planner.records import replace
from planner.validate.simulation import bound

LONGEST: Final = 80
"""Characters of a name that is quoted."""


def with_all_created(state: RunState, record: StepRecord, action: Action, got: Attempt) -> Attempt:
    """Return `got` with those objects that it can have created; it has failed where these are not all of them."""
    if not action.creates or got.wait is not None:
        return got
    given, wrong, names = got.result.created, dict[str, str](), set[str]()
    for name in [each.removeprefix("?") for each in action.creates]:
        value = given.get(name)
        if value is None or type(value) is bool or not is_name(name_of(value)):
            wrong[name] = f"its result has no {name!r} with a name among the objects that it created"
        elif name_of(value) in names or (found := _taken(state, record.plan.created[name], name_of(value))):
            what = "two objects at once" if name_of(value) in names else found
            wrong[name] = f"it says that it created {name_of(value)[:LONGEST]!r} as {name!r}, and that is {what}"
        else:
            names.add(name_of(value))
    if not wrong:
        return got
    kept = {name: value for name, value in given.items() if name not in wrong}
    if not got.result.success:
        return replace(got, result=replace(got.result, created=kept))
    error = "; ".join(wrong.values())
    return replace(got, result=replace(got.result, success=False, error=error, created=kept), raised=InputError(error))


def _taken(state: RunState, placeholder: str, name: str) -> str:
    """Return what has the `name` already that `placeholder` should get; nothing where it is free.

    An object is gone where something that held from its creation on does not hold any more, and leaves its name.
    """
    if any(each.name == name for each in state.source.all_objects):
        return "an object that was there before"
    if name != placeholder and any(each.name == name for each in state.problem.objects):
        return "what the plan calls something else that steps create"
    other = state.objects.placeholder_of(name)
    if other is None or other == placeholder:
        return ""
    gone = any(state.beliefs.holds(fact) is False for fact in _born_with(state, other))
    return "" if gone else "what another step has created"


def _born_with(state: RunState, placeholder: str) -> Iterator[Atom]:
    """Yield the facts that the step provided about `placeholder` that created it."""
    own = state.domain
    for record in state.steps.values():
        creates = record.step.arguments[len(own.actions[record.step.action].parameters) :]
        if placeholder in creates and record.status.is_done:
            action = state.problem.domain.actions[record.step.action]
            provided = [fact.substitute(bound(action, record.step)) for fact in added(action.provides)]
            yield from (fact for fact in provided if placeholder in fact.args and fact.predicate in own.predicates)
