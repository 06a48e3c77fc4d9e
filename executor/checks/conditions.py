"""Whether conditions can hold: the plan is simulated, and every condition of every step is looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from executor.checks.findings import PLAN, PlanFinding, Where
from executor.plans.action_plan import ActionPlan, PlanStep
from executor.plans.stated import EXPECTS, LEAVES, REQUIRES, Reader, spelled_out
from planner.declare.places import CodePlace
from planner.errors import InputError
from planner.model import Atom, Formula, Not, Problem
from planner.model.formulas import atoms_in, conjuncts
from planner.plan import Step
from planner.validate import Changes, Simulation
from planner.validate.reasons import Chronicle
from planner.validate.simulation import bound


def check_stated(problem: Problem, plan: ActionPlan) -> tuple[list[PlanFinding], list[PlanStep]]:
    """Return what is wrong with the conditions that steps state, and the steps without these."""
    reader = Reader(problem)
    place = CodePlace("the plan")
    findings, steps = [], []
    for number, step in enumerate(plan.steps):
        bad: dict[str, set[str]] = {"requires": set(), "expects": set(), "supposes": set()}
        for field, texts in bad.items():
            for index, text in enumerate(getattr(step, field)):
                try:
                    said = reader.condition((text,), place)
                    if field == "supposes":
                        _check_supposed(said, problem)
                except InputError as error:
                    findings.append(Where.of(number, step).told("condition", error, field, index))
                    texts.add(text)
        left = {
            field: tuple([text for text in getattr(step, field) if text not in texts]) for field, texts in bad.items()
        }
        steps.append(step.model_copy(update=left) if any(bad.values()) else step)
    return findings, steps


def _check_supposed(said: Formula, problem: Problem) -> None:
    """Raise `InputError` where what a step supposes is not how a fact is that is unknown."""
    fact = said.part if isinstance(said, Not) else said
    if not (isinstance(fact, Atom) and any(pattern.matches(fact) for pattern in problem.unknown)):
        hint = "only facts that the plan declares unknown are supposed, or their negations"
        raise InputError(f"it supposes {said}, which is not unknown", hint=hint)


def check_conditions(
    problem: Problem, plan: ActionPlan, steps: Sequence[PlanStep], left_out: Sequence[set[str]]
) -> Iterator[PlanFinding]:
    """Yield the conditions of `steps`, and of the goal, that cannot hold.

    Where a condition fails, the step is taken to be done nevertheless, so that it is not told of all that come after
    it. `left_out` has, for each step, the predicates that steps before it may change of which nobody knows what they
    do, and at last those of all: what speaks of them is not judged.
    """
    spelled = spelled_out(problem, steps)
    run = _Run(spelled.problem, frozenset(pattern.predicate for pattern in problem.unknown))
    places = {each.id: number for number, each in enumerate(plan.steps)}
    main = frozenset(spelled.main)
    for part, (step, owner) in enumerate(zip(spelled.steps, spelled.owners, strict=True)):
        each = steps[owner]
        where = Where.of(places[each.id], each)
        own = part in main
        for message in run.complaints(step, left_out[owner]):
            said = message.replace("it requires", "it is to leave", 1) if step.action.endswith(LEAVES) else message
            yield where.error("condition", said, *() if own else _path(step))
        yield from _contradictions(run, step, where, own=own)
        run.apply(each.id, step, spelled.steps[spelled.main[owner]])
    goals = list(conjuncts(spelled.problem.goal.hard))
    for message in run.unmet(goals, left_out[-1]):
        yield PLAN.error("goal", f"at the end, the goal requires {message}", "goal", "hard")


def _path(step: Step) -> tuple[str, ...]:
    return ("requires",) if step.action.endswith(REQUIRES) else ("expects",)


def _contradictions(run: _Run, step: Step, where: Where, *, own: bool) -> Iterator[PlanFinding]:
    """Yield what a step expects although its action says otherwise."""
    if own or not step.action.endswith(EXPECTS):
        return
    for literal in run.simulation.problem.domain.actions[step.action].provides:
        fact = literal.part if isinstance(literal, Not) else literal
        against = run.latest.removed if isinstance(literal, Atom) else run.latest.provided
        if fact in against:
            does = "ends" if isinstance(literal, Atom) else "provides"
            yield where.error("expects", f"it is to leave {literal}, but its action {does} {fact}", "expects")


class _Run:
    """A simulation that goes on where a condition fails."""

    def __init__(self, problem: Problem, unknown: frozenset[str]) -> None:
        self.simulation = Simulation(problem)
        self.latest = Changes((), (), (), (), ())
        self._chronicle = Chronicle(problem.domain.derived)
        self._unknown = unknown

    def complaints(self, step: Step, left_out: set[str]) -> Iterator[str]:
        """Yield what fails of what `step` requires, and why."""
        found = self.simulation.objection(step)
        if found is None:
            return
        if found.misfit:
            yield from () if left_out else (found.misfit,)
            return
        action = self.simulation.problem.domain.actions[step.action]
        binding = bound(action, step)
        for part in conjuncts(action.requires):
            if not self.simulation.world.solver.holds(self.simulation.rules.compiler.compile(part), binding):
                failing = self.simulation.inspector.smallest_failure(part, binding)
                if self._is_judged(failing, left_out):
                    yield f"it requires {failing}, {self._chronicle.account(failing)}"

    def unmet(self, goals: Sequence[Formula], left_out: set[str]) -> Iterator[str]:
        """Yield the goals that do not hold, and why."""
        for part in goals:
            if not self.simulation.holds(part):
                failing = self.simulation.inspector.smallest_failure(part, {})
                if self._is_judged(failing, left_out):
                    yield f"{failing}, {self._chronicle.account(failing)}"

    def apply(self, id_: str, step: Step, whole: Step) -> None:
        """Apply `step`, a part of `whole`, whether it can be or not."""
        if isinstance(self.simulation.rules.ready(step), str):
            return
        self.latest = self.simulation.apply(step)
        self._chronicle.record(repr(id_), whole, self.latest)

    def _is_judged(self, failing: Formula, left_out: set[str]) -> bool:
        axioms = self.simulation.rules.axioms
        for atom in atoms_in(failing):
            base = axioms.reads(atom.predicate) if atom.predicate in axioms else {atom.predicate}
            if not self._unknown.isdisjoint(base) or not left_out.isdisjoint(base):
                return False
        return True
