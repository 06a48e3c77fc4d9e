"""The problem from the state that a run believes in, with the real names of objects instead of placeholders."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from executor.events.run_state import RunState
from planner.language.declare import Entity
from planner.lightweight import replace
from planner.model import Atom, Not, Problem
from planner.model.problem import seal, with_limits_of
from planner.plan import Step


def make_believed_problem(source: Problem, state: RunState, limits: Problem) -> Problem:
    """Return `source` from the believed state, with the budgets and constraints that are left in `limits`."""
    now, objects = state.beliefs.problem, state.objects
    entities = {objects.real_name(name): value for name, value in objects.items() if isinstance(value, Entity)}
    names = {each.name: objects.real_name(each.name) for each in now.all_objects}
    known = [replace(each, name=names[each.name]) for each in now.objects if not objects.is_open(each.name)]
    changed: dict[str, Any] = {
        "objects": tuple(dict.fromkeys(known)),
        "initial": tuple(sorted(real_facts(state, now.initial), key=str)),
        "unknown": tuple(sorted(real_facts(state, state.beliefs.unknown), key=str)),
        "values": {term.substitute(names): value for term, value in now.values.items()},
        "ran": tuple([each.substitute(names) for each in now.ran]),
        "entities": {**source.entities, **entities},
    }
    return seal(with_limits_of(replace(source, goal=state.problem.goal, **changed), limits))


def real_facts(state: RunState, facts: Iterable[Atom]) -> frozenset[Atom]:
    """Return the facts about real objects, with their real names."""
    objects, is_internal = state.objects, state.beliefs.is_internal
    return frozenset([objects.real_fact(each) for each in facts if not is_internal(each) and objects.exists(each)])


def real_step(state: RunState, step: Step) -> Step:
    """Return `step` with real names, and without placeholders of objects that it is to create."""
    own = len(state.domain.actions[step.action].parameters)
    given = [name for at, name in enumerate(step.arguments) if at < own or not state.objects.is_open(name)]
    return replace(step, arguments=tuple(map(state.objects.real_name, given)))


def predict_facts(state: RunState, step: Step) -> frozenset[Atom] | None:
    """Return the facts that should hold after `step`; None where it cannot be done as far as is known."""
    then = state.beliefs.simulation.copy()
    if then.find_objection(step) is not None:
        return None
    then.apply(step)
    return then.facts


def name_differences(facts: frozenset[Atom], expected: frozenset[Atom]) -> tuple[str, ...]:
    """Name the facts that hold, or do not hold, against expectation."""
    return tuple(sorted([str(fact if fact in facts else Not(fact)) for fact in facts ^ expected]))
