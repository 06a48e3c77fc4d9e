"""Help for those who test domains: plans that are replayed while they are written, and cases that are checked.

plan(problem).step("move", "r2", "hall", "lab").end()                   a plan, each step applied as it is written
check_cases([Case("one", problem, 2, ("move(r2, hall, lab)",))])        valid and invalid plans, and the optimum
worlds(problem)                                                         the ways in which unknown facts may turn out
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from planner.compilations.object_creation import for_steps
from planner.errors import InputError
from planner.model import Atom, Formula, Number, Problem, is_temporal
from planner.model.object_names import protect_quoted
from planner.model.unknown_facts import enumerate_worlds
from planner.plan import Plan, Result, Status, Step
from planner.semantics.simulation import Simulation
from planner.validation.validate import check_steps
from planner.validation.verdict import Verdict

__all__ = ["Case", "PlanBuilder", "atom_from", "check_cases", "complaints", "enumerate_worlds", "plan", "steps_from"]


class PlanBuilder:
    """Collects steps and applies each of them; see `plan`. Its methods return the builder itself."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._simulation = Simulation(problem)
        self._steps: list[Step] = []

    def step(self, action: str, *arguments: str) -> PlanBuilder:
        """Append a step. Raises `AssertionError` with the reason where it cannot be applied."""
        step = Step(action, arguments)
        self._add_placeholders(step)
        if self._simulation.find_objection(step) is not None:
            raise AssertionError(check_steps(self._problem, [*self._steps, step]).reason)
        try:
            step = Step(action, arguments, self._simulation.cost(step))
        except InputError as error:
            raise AssertionError(f"step {len(self._steps) + 1} {step}: {error}") from error
        self._simulation.apply(step)
        self._steps.append(step)
        return self

    def _add_placeholders(self, step: Step) -> None:
        """Add a placeholder for each object that `step` creates, and replay the steps so far."""
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
        verdict = check_steps(plan.problem, plan)
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
    plain, terms = protect_quoted(text)
    name, _, arguments = plain.strip().partition("(")
    found = [argument.strip() for argument in arguments.removesuffix(")").split(",")]
    return Atom(name.strip(), tuple([terms.get(each, each) for each in found]) if found != [""] else ())


def steps_from(text: str) -> tuple[Step, ...]:
    """Return the steps that `text` lists, one a line: `move(r2, hall, lab)`; blank lines do not count. Costs are 0."""
    atoms = [atom_from(line) for line in text.splitlines() if line.strip()]
    return tuple([Step(atom.predicate, atom.args) for atom in atoms])


PlanText = str | tuple[Step, ...] | Plan
"""A plan, its steps, or text with one step a line: `move(r2, hall, lab)`."""


@dataclass(frozen=True, slots=True)
class Case:
    """What is known about `problem`.

    `optimum` is the least cost of any plan, None where there is no plan; where something is wished for, it is the most
    net benefit: utility less cost. All of `valid` are plans, and the best of them is as good. Each of `invalid` is no
    plan, with a part of the reason that the plan checker gives.
    """

    name: str
    problem: Problem
    optimum: Number | None
    valid: tuple[PlanText, ...] = ()
    invalid: tuple[tuple[PlanText, str], ...] = field(default=())
    proved: bool = True
    """Whether solving proves it; else it only finds such a plan."""


def check_cases(cases: Iterable[Case], solve: Callable[[Problem], Result] | None = None) -> None:
    """Assert that every case is as its author says; all that is not is listed in one `AssertionError`.

    With `solve`, a function that answers with a proof, such as `partial(solve, mode="optimal")`, optima are proved too.
    """
    wrong = [f"{case.name}: {complaint}" for case in cases for complaint in complaints(case, solve)]
    if wrong:
        raise AssertionError("\n".join(wrong))


def complaints(case: Case, solve: Callable[[Problem], Result] | None = None) -> Iterator[str]:
    """Yield what is wrong with `case`."""
    wishes = bool(case.problem.wishes)
    found = [check_steps(case.problem, _plan_of(text, case.problem)) for text in case.valid]
    yield from doubt_valid(found)
    worth = [_net_benefit(case.problem, each) if wishes else each.cost for each in found if each.valid]
    yield from _check_worth(case, worth, "net benefit" if wishes else "cost")
    broken = [(check_steps(case.problem, _plan_of(text, case.problem)), reason) for text, reason in case.invalid]
    yield from doubt_invalid(broken)
    if solve is not None:
        yield from _check_answer(case, solve(case.problem))


def doubt_valid(verdicts: Iterable[Verdict]) -> Iterator[str]:
    """Yield which of these plans, all of which should be valid, are not."""
    for number, verdict in enumerate(verdicts, start=1):
        if not verdict.valid:
            yield f"valid plan {number} is not valid: {verdict.reason}"


def doubt_invalid(verdicts: Iterable[tuple[Verdict, str]]) -> Iterator[str]:
    """Yield which of these plans are valid, or not valid for another reason than the one that stands beside them."""
    for number, (verdict, reason) in enumerate(verdicts, start=1):
        if verdict.valid:
            yield f"invalid plan {number} is valid"
        elif reason not in verdict.reason:
            yield f"invalid plan {number} fails because {verdict.reason!r}, not because {reason!r}"


def _plan_of(text: PlanText, problem: Problem) -> Plan | tuple[Step, ...]:
    """Return the plan in `text`; one in time, as the competition writes it, where `problem` asks for that."""
    if isinstance(text, str) and is_temporal(problem) and "[" in text:
        from planner.language.pddl.plan_files import read_plan

        return read_plan(text, problem)
    return text if isinstance(text, Plan) and text.times else steps_of(text)


def _net_benefit(problem: Problem, verdict: Verdict) -> Number:
    gained = sum([wish.utility or 0 for wish in problem.wishes]) - verdict.cost
    return gained - sum([wish.utility or 0 for wish in verdict.forgone])


def _check_worth(case: Case, worth: list[Number], what: str) -> Iterator[str]:
    if case.optimum is None:
        if worth:
            yield f"it is said to have no plan, but one has a {what} of {min(worth)}"
        return
    best = max(worth, default=case.optimum) if case.problem.wishes else min(worth, default=case.optimum)
    if best != case.optimum:
        yield f"the best {what} is said to be {case.optimum}, but the best of its valid plans has {best}"


def _check_answer(case: Case, result: Result) -> Iterator[str]:
    expected = Status.OPTIMAL if case.proved else Status.SOLVED
    expected = Status.UNSOLVABLE if case.optimum is None else expected
    what, found = ("net benefit", result.net_benefit) if case.problem.wishes else ("cost", result.cost)
    if result.status is not expected or found != case.optimum:
        yield f"expected {expected.name} with {what} {case.optimum}, but solving gave {result.describe()}"
    elif result.plan is not None:
        verdict = check_steps(case.problem, result.plan)
        if not verdict.valid:
            yield f"solving gave an invalid plan: {verdict.reason}"


def steps_of(text: PlanText) -> tuple[Step, ...]:
    """Return the steps of a plan in any of its forms."""
    match text:
        case str():
            return steps_from(text)
        case Plan(steps):
            return steps
        case steps:
            return steps
