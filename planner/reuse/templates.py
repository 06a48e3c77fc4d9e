"""Templates: plans with parameters, written by hand or lifted from plans that worked.

What a template needs is what its steps need together from the start: the kernel of a triangle table (Fikes, Hart and
Nilsson, 1972). Where that holds of some objects, its steps lead to what it provides; the checker has the last word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from planner.annotations import Final
from planner.errors import InputError
from planner.model import Atom, Formula, Object, Problem, TypeHierarchy, Variable, is_variable
from planner.model.formulas import atoms_in, conjuncts, substitute
from planner.plan import Plan, Step
from planner.records import dataclass
from planner.repair.regression import Unclear, needed
from planner.validate import Simulation, validate

TRIED: Final = 1_000
"""Choices of objects that are tried, at most."""


@dataclass(frozen=True, slots=True)
class Template:
    """Steps over `parameters` (typed variables) that lead from where `requires` holds to where `provides` does."""

    name: str
    parameters: tuple[Variable, ...]
    requires: Formula
    provides: Formula
    steps: tuple[tuple[str, tuple[str, ...]], ...]

    def plan_for(self, problem: Problem) -> Plan | None:
        """Return the template's plan for `problem` with some objects, checked; None where it does not fit."""
        wanted, given = list(conjuncts(problem.goal.hard)), list(conjuncts(self.provides))
        if not all(isinstance(part, Atom) for part in (*wanted, *given)):
            return None
        objects = {each.name: each for each in problem.all_objects}
        choice = _Choice(self, problem, objects)
        for number, binding in enumerate(choice.meeting(wanted, given, {})):
            if number >= TRIED:
                return None
            plan = self._plan(problem, binding)
            if plan is not None:
                return plan
        return None

    def _plan(self, problem: Problem, binding: Mapping[str, str]) -> Plan | None:
        steps = [Step(action, tuple(binding.get(arg, arg) for arg in args)) for action, args in self.steps]
        simulation = Simulation(problem)
        if any(simulation.rules.misfit(step) for step in steps):
            return None
        plan = Plan(tuple(Step(each.action, each.arguments, simulation.cost(each)) for each in steps), problem)
        return plan if validate(problem, plan).valid else None


class _Choice:
    """Chooses objects for the parameters of a template: first those of the goal, then those of what it requires."""

    def __init__(self, template: Template, problem: Problem, objects: Mapping[str, Object]) -> None:
        self._types = {each.name: each.types for each in template.parameters}
        self._hierarchy = TypeHierarchy(problem.domain.types)
        self._objects = objects
        self._facts: dict[str, list[Atom]] = {}
        for fact in problem.initial:
            self._facts.setdefault(fact.predicate, []).append(fact)
        self._needs = [part for part in conjuncts(template.requires) if isinstance(part, Atom)]
        self._rest = list(self._types)

    def meeting(
        self, wanted: Sequence[Formula], given: Sequence[Formula], binding: Mapping[str, str]
    ) -> Iterator[dict[str, str]]:
        """Yield the choices with which all of `wanted` are among what is `given`."""
        if not wanted:
            yield from self._met(self._needs, binding)
            return
        for part in given:
            found = self._matched(part, wanted[0], binding)
            if found is not None:
                yield from self.meeting(wanted[1:], given, found)

    def _met(self, needs: Sequence[Atom], binding: Mapping[str, str]) -> Iterator[dict[str, str]]:
        """Yield the choices with which `needs` hold at the start, and then those of all other parameters."""
        if needs:
            for fact in self._facts.get(needs[0].predicate, ()):
                found = self._matched(needs[0], fact, binding)
                if found is not None:
                    yield from self._met(needs[1:], found)
            return
        open_ = next((name for name in self._rest if name not in binding), None)
        if open_ is None:
            yield dict(binding)
            return
        for name in self._objects:
            if self._fits(open_, name):
                yield from self._met((), {**binding, open_: name})

    def _matched(self, pattern: Formula, fact: Formula, binding: Mapping[str, str]) -> dict[str, str] | None:
        if not (isinstance(pattern, Atom) and isinstance(fact, Atom)) or pattern.predicate != fact.predicate:
            return None
        found = dict(binding)
        for mine, theirs in zip(pattern.args, fact.args, strict=True):
            known = found.get(mine) if is_variable(mine) else mine
            if known is None and self._fits(mine, theirs):
                found[mine] = theirs
            elif known != theirs:
                return None
        return found

    def _fits(self, variable: str, name: str) -> bool:
        item = self._objects.get(name)
        return item is not None and self._hierarchy.is_a(item.types, self._types[variable])


def lift(plan: Plan, name: str = "") -> Template:
    """Return the template that `plan`, which works, is an instance of: a parameter for each object of its problem.

    Constants of the domain stay. Raises `InputError` where it cannot be told by facts what the plan needs: for
    disjunctions, quantifiers, conditional effects and derived facts.
    """
    problem: Problem = plan.problem
    goal = problem.goal.hard
    try:
        requires = needed(Simulation(problem), plan.steps, goal)
    except (Unclear, ValueError):
        hint = "templates are of plans whose conditions and effects are facts"
        raise InputError("what this plan needs cannot be said by facts alone", hint=hint) from None
    constants = {each.name for each in problem.domain.constants}
    named = [arg for step in plan.steps for arg in step.arguments]
    named += [arg for part in (goal, requires) for atom in atoms_in(part) for arg in atom.args]
    types = {each.name: each.types for each in problem.all_objects}
    binding = {arg: f"?{arg}" for arg in dict.fromkeys(named) if arg not in constants}
    parameters = tuple(Variable(variable, types[arg]) for arg, variable in binding.items())
    steps = tuple((step.action, tuple(binding.get(arg, arg) for arg in step.arguments)) for step in plan.steps)
    return Template(name or problem.name, parameters, substitute(requires, binding), substitute(goal, binding), steps)
