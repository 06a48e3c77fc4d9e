"""Tasks whose actions create objects, planned with placeholders for these (`planner.creation`).

A subtask that is such an action has what it creates as its last arguments, as steps of plans have: parameters of the
method, which the subtasks after it can speak of.
"""

from __future__ import annotations

from collections.abc import Iterable

from htn.model import HtnProblem
from planner.creation import for_steps
from planner.creation.expansion import created_types, in_order
from planner.creation.guards import Guards
from planner.model import Atom, Problem, TypeHierarchy
from planner.model.domain import creates_objects
from planner.plan import Step
from planner.records import replace


def over(problem: HtnProblem, classical: Problem) -> HtnProblem:
    """Return `problem` over `classical`: its classical part, perhaps in another state, with placeholders.

    The variables that preconditions of methods quantify stand for what exists.
    """
    source = problem.classical
    if not creates_objects(source.domain) or creates_objects(classical.domain):
        return replace(problem, classical=classical)
    types = TypeHierarchy(source.domain.types)
    guards = Guards(in_order(source.domain).existing, created_types(source.domain.actions.values()), types)
    methods = {
        name: replace(each, precondition=guards.condition(each.precondition))
        for name, each in problem.domain.methods.items()
    }
    existing = in_order(source.domain).existing
    facts = [Atom(existing, (each.name,)) for each in source.all_objects if types.is_a(each.types, guards.types)]
    classical = replace(classical, initial=tuple(dict.fromkeys((*classical.initial, *facts))))
    domain = replace(problem.domain, classical=classical.domain, methods=methods)
    return replace(problem, domain=domain, classical=classical)


def named_by(problem: HtnProblem, steps: Iterable[Step]) -> HtnProblem:
    """Return `problem` with what creating steps among `steps` name as placeholders; as it is if nothing creates."""
    return over(problem, for_steps(problem.classical, steps))
