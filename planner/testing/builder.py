"""Plans written step by step, each checked as it is written."""

from __future__ import annotations

from planner.creation import for_steps
from planner.errors import InputError
from planner.model import Atom, Formula, Problem
from planner.plan import Plan, Step
from planner.validate import Simulation, validate


class PlanBuilder:
    """Collects steps and applies each of them; see `plan`. Its methods return the builder itself."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._simulation = Simulation(problem)
        self._steps: list[Step] = []

    def step(self, action: str, *arguments: str) -> PlanBuilder:
        """Append a step. Raises `AssertionError` with the reason where it cannot be applied."""
        step = Step(action, arguments)
        self._make_room(step)
        if self._simulation.objection(step) is not None:
            raise AssertionError(validate(self._problem, [*self._steps, step]).reason)
        try:
            step = Step(action, arguments, self._simulation.cost(step))
        except InputError as error:
            raise AssertionError(f"step {len(self._steps) + 1} {step}: {error}") from error
        self._simulation.apply(step)
        self._steps.append(step)
        return self

    def _make_room(self, step: Step) -> None:
        """Have a placeholder for each object that `step` creates."""
        problem = for_steps(self._problem, [*self._steps, step])
        if problem.objects != self._simulation.problem.objects:
            self._simulation = Simulation(problem)
            for each in self._steps:
                self._simulation.apply(each)

    def holds(self, condition: Formula | str) -> PlanBuilder:
        """Assert that a ground condition holds here; text stands for an atom: `"at(r2, hall)"`, `"not at(r2, lab)"`."""
        negated = isinstance(condition, str) and condition.startswith("not ")
        formula = atom_from(condition.removeprefix("not ")) if isinstance(condition, str) else condition
        if self._simulation.holds(formula) is negated:
            raise AssertionError(f"after {len(self._steps)} steps, {condition} does not hold")
        return self

    def end(self) -> Plan:
        """Return the plan. Raises `AssertionError` with the reason where the goal does not hold."""
        plan = self.so_far()
        verdict = validate(plan.problem, plan)
        if not verdict.valid:
            raise AssertionError(verdict.reason)
        return plan

    def so_far(self) -> Plan:
        """Return the steps up to here as a plan, whether they reach the goal or not."""
        return Plan(tuple(self._steps), self._problem)


def plan(problem: Problem) -> PlanBuilder:
    """Begin a plan: `plan(problem).step("move", "r2", "hall", "lab").holds("at(r2, lab)").end()`."""
    return PlanBuilder(problem)


def atom_from(text: str) -> Atom:
    """Return the ground atom that `name(argument, …)` or `name` stands for."""
    name, _, arguments = text.strip().partition("(")
    found = [argument.strip() for argument in arguments.removesuffix(")").split(",")]
    return Atom(name.strip(), tuple(found) if found != [""] else ())


def steps_from(text: str) -> tuple[Step, ...]:
    """Return the steps that `text` lists, one a line: `move(r2, hall, lab)`; blank lines do not count. Costs are 0."""
    atoms = [atom_from(line) for line in text.splitlines() if line.strip()]
    return tuple([Step(atom.predicate, atom.args) for atom in atoms])
