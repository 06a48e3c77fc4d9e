"""Templates made of plans that worked: what these need is told by regression, or else by what their steps read."""

from __future__ import annotations

from planner.errors import InputError
from planner.model import Atom, Formula, Problem, Variable
from planner.model.formulas import atoms_in, conjunction, substitute
from planner.order import causal_links
from planner.order.links import INITIAL
from planner.plan import Plan
from planner.repair.regression import Unclear, needed
from planner.reuse.checked import expanded
from planner.reuse.templates import Template, Values
from planner.validate import Simulation, validate


def lift(plan: Plan, name: str = "", values: Values | None = None) -> Template:
    """Return the template that `plan` is an instance of: a parameter for each object of its problem.

    Constants of the domain, and names of what steps create, stay. `values` are those of data parameters, by the place
    of the step. Raises `InputError` for a plan that does not work.
    """
    problem: Problem = plan.problem
    verdict = validate(problem, plan.steps)
    if not verdict.valid:
        hint = "templates are of plans that work as it is declared"
        raise InputError(f"this plan cannot be lifted: {verdict.reason}", hint=hint)
    goal, requires = problem.goal.hard, _needs(plan)
    types = {each.name: each.types for each in problem.objects}
    named = [arg for step in plan.steps for arg in step.arguments]
    named += [arg for part in (goal, requires) for atom in atoms_in(part) for arg in atom.args]
    constants = {each.name for each in problem.domain.constants}
    binding = {arg: f"?{arg}" for arg in dict.fromkeys(named) if arg in types and arg not in constants}
    parameters = tuple([Variable(variable, types[arg]) for arg, variable in binding.items()])
    steps = tuple([(step.action, tuple([binding.get(arg, arg) for arg in step.arguments])) for step in plan.steps])
    requires, provides = substitute(requires, binding), substitute(goal, binding)
    return Template(name or problem.name, parameters, requires, provides, steps, values or {})


def _needs(plan: Plan) -> Formula:
    """Return what must hold for the plan; where that is more than facts, the facts that its steps read."""
    problem: Problem = plan.problem
    try:
        return needed(Simulation(expanded(problem, plan.steps)), plan.steps, problem.goal.hard)
    except (Unclear, ValueError):
        read = [each.condition for each in causal_links(problem, plan) if each.provider == INITIAL]
        stated = {each.predicate for each in problem.initial}
        return conjunction(dict.fromkeys(each for each in read if isinstance(each, Atom) and each.predicate in stated))
