"""TODO."""

from __future__ import annotations

from collections.abc import Iterable

from planner.compilations.object_creation.placeholders import created_types, with_placeholders_in_any_order
from planner.lightweight import Final, replace
from planner.limits import Limits
from planner.model import Exists, Forall, Formula, Problem, TypeHierarchy, Variable
from planner.model.domain import creates_objects
from planner.model.formulas import walk

LARGEST_RULE: Final = 4
"""More placeholders than that would make too many instances of the rule that needs them."""


def with_enough(problem: Problem) -> Problem | None:
    """Return `problem` with placeholders enough for relaxed reachability; None where they would be too many.

    Placeholders that may be created in any order can be exchanged for each other, and so can relaxed derivations. A
    step of one speaks of no more of them than the largest rule has variables: what is out of reach with so many is out
    of reach with more.
    """
    if not creates_objects(problem.domain):
        return problem
    sizes = rule_sizes(problem)
    free = replace(problem, constraints=()) if problem.constraints else problem
    return None if max(sizes.values()) > LARGEST_RULE else with_placeholders_in_any_order(free, sizes)


def out_of_reach(problem: Problem, limits: Limits) -> bool:
    """Return whether the goal is out of reach, with deletes ignored, however many objects are created.

    False where that is not known. Raises `LimitReached`.
    """
    from planner.grounding.ground import ground

    enough = with_enough(problem)
    return enough is not None and ground(enough, limits).unreachable_goal is not None


def rule_sizes(problem: Problem) -> dict[str, int]:
    """Return, for each type that is created, how many variables of one rule may stand for such objects; at least 1."""
    domain = problem.domain
    types = TypeHierarchy(domain.types)
    scopes = [(axiom.parameters, [axiom.condition]) for axiom in domain.axioms]
    scopes += [((), [problem.goal.hard, *(wish.condition for wish in problem.goal.soft)])]
    for action in domain.actions.values():
        created = [Variable(name, (kind,)) for name, kind in action.creates.items()]
        variables = (*action.parameters, *created, *(each for when in action.when for each in when.variables))
        scopes.append((variables, [action.requires, *(when.requires for when in action.when)]))
    return {
        kind: max(1, *(sum(types.is_a((kind,), each.types) for each in _variables(*scope)) for scope in scopes))
        for kind in created_types(domain.actions.values())
    }


def _variables(variables: Iterable[Variable], conditions: Iterable[Formula]) -> list[Variable]:
    """Return `variables` and those that quantifiers in `conditions` bind."""
    inside = [part for condition in conditions for part in walk(condition) if isinstance(part, Exists | Forall)]
    return [*variables, *(variable for part in inside for variable in part.variables)]
