"""Objects that somebody told of and the problem does not have: what they mean for a goal over all objects."""

from __future__ import annotations

from executor.record.state import RunState
from planner.model import Exists, Forall, Object
from planner.model.formulas import walk
from planner.records import replace
from planner.validate import Simulation


def goal_beyond(state: RunState) -> bool | None:
    """Return whether the goal holds with the objects that were told of; None where it does not range over any of them.

    Of such an object only those facts hold that were told.
    """
    if not state.strangers:
        return None
    wider = _wider_world(state)
    return wider.holds(state.goal) if _ranges_over(state, wider) else None


def _wider_world(state: RunState) -> Simulation:
    """Return the state of the world with the objects that were told of and the problem does not have."""
    problem, universe = state.beliefs.problem, state.beliefs.simulation.rules.universe
    facts = [fact for fact, note in state.strangers.items() if note.holds]
    objects = {
        arg: Object(arg, parameter.types)
        for fact in state.strangers
        for arg, parameter in zip(fact.args, problem.domain.predicates[fact.predicate].parameters, strict=True)
        if arg not in universe
    }
    wider = replace(problem, objects=(*problem.objects, *objects.values()), initial=(*problem.initial, *facts))
    return Simulation(wider)


def _ranges_over(state: RunState, wider: Simulation) -> bool:
    """Return whether a variable of the goal, or of an axiom below it, stands for an object that the problem lacks."""
    known, domain = state.beliefs.simulation.rules.universe, state.problem.domain
    formulas = [state.goal, *(each.condition for each in domain.axioms)]
    quantified = (each for formula in formulas for each in walk(formula) if isinstance(each, Forall | Exists))
    variables = (variable for each in quantified for variable in each.variables)
    return any(name not in known for each in variables for name in wider.rules.universe.of_types(each.types))
