"""Applicability and progression: the steps that can be taken in a state, and what each of them changes there.

These answers come from the semantics of declared actions, which validation uses, too; nothing is grounded.
"""

from __future__ import annotations

from planner.errors import PlanError
from planner.lightweight import Any, dataclass, field
from planner.model import Atom, Problem
from planner.plan import Step, name_as_written
from planner.problem_kinds import AnyProblem, classical_of
from planner.questions.notation import AnyState, AnyStep, AnySteps, read_steps, spell, start_before, start_in
from planner.semantics.simulation import Objection, Simulation
from planner.validation.validate import Replay


def applicable(problem: AnyProblem, state: AnyState | None = None) -> tuple[Step, ...]:
    """Return all steps that can be taken in `state`, by default the initial one, each once, with their costs.

    They are in the order of their declaration; tasks do not count, and in time steps are taken in turn. Raises
    `InputError` for facts that the problem cannot have, and `UnsupportedError` where facts are unknown.
    """
    start = start_in(problem, state)
    steps = name_as_written(Simulation(start).applicable(), start)
    return tuple({(step.action, step.arguments): step for step in steps}.values())


@dataclass(frozen=True, slots=True)
class Progression:
    """What `step` changes in a state: `positive` facts become true, `negative` ones false; `state` has all after it.

    Only real changes count: a fact that held before is not positive, one that did not hold is not negative. Derived
    facts are left out.
    """

    step: Step
    positive: tuple[Atom, ...]
    negative: tuple[Atom, ...]
    state: frozenset[Atom] = field(repr=False)
    problem: Problem = field(repr=False, compare=False)

    def __str__(self) -> str:
        write = self.problem
        signs = [f"+ {spell(write, fact)}" for fact in self.positive] + [f"- {spell(write, x)}" for x in self.negative]
        return "\n".join([spell(write, self.step), *signs])

    def to_dict(self) -> dict[str, Any]:
        """Return the progression as JSON-ready data, without the state."""
        return {
            "step": spell(self.problem, self.step),
            "positive": [spell(self.problem, fact) for fact in self.positive],
            "negative": [spell(self.problem, fact) for fact in self.negative],
        }


def progress(problem: AnyProblem, step: AnyStep, state: AnyState | None = None) -> Progression:
    """Return what `step` changes in `state`, by default the initial one.

    Raises `PlanError` if the step cannot be taken there, with the condition that fails, and as `applicable` does.
    """
    start, steps = start_before(problem, [step], state)
    (chosen,) = read_steps(start, steps)
    replay = Replay(start)
    verdict = replay.find_objection(chosen)
    if verdict is not None:
        raise PlanError(f"{spell(start, chosen)} cannot be taken: {_describe(replay.simulation, chosen)}")
    changes, known = replay.apply(chosen), classical_of(problem).domain.predicates
    added, removed = [tuple([x for x in each if x.predicate in known]) for each in (changes.added, changes.removed)]
    facts = frozenset([fact for fact in replay.simulation.facts if fact.predicate in known])
    return Progression(chosen, added, removed, facts, start)


@dataclass(frozen=True, slots=True)
class Inapplicable:
    """The first step of a plan that cannot be taken: its `index`, from 0, and the `reason`."""

    index: int
    step: Step
    reason: str
    problem: Problem = field(repr=False, compare=False)

    def __str__(self) -> str:
        return f"{self.index}: {spell(self.problem, self.step)}: {self.reason}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data."""
        return {"index": self.index, "step": spell(self.problem, self.step), "reason": self.reason}


def first_inapplicable(problem: AnyProblem, steps: AnySteps, state: AnyState | None = None) -> Inapplicable | None:
    """Return the first of `steps` that cannot be taken, from `state` on; None if all can, whatever the goal.

    `planner.validate` also judges the goal, constraints and costs. Raises `InputError` for steps that the problem does
    not have, and as `applicable` does.
    """
    start, steps = start_before(problem, steps, state)
    simulation = Simulation(start)
    for index, step in enumerate(read_steps(start, steps)):
        if simulation.find_objection(step) is not None:
            return Inapplicable(index, step, _describe(simulation, step), start)
        simulation.apply(step)
    return None


def _describe(simulation: Simulation, step: Step) -> str:
    """Describe the objection to `step` in the words of the problem's file."""
    objection: Objection | None = simulation.find_objection(step)
    assert objection is not None
    if objection.misfit:
        return objection.misfit
    condition = objection.condition
    written = spell(simulation.problem, condition) if isinstance(condition, Atom) else str(condition)
    return f"it requires {written}, which does not hold"
