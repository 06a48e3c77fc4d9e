"""The problem after a call: real names of what was created, budgets that are left, and what came otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.plans.created_objects import find_internal_predicates
from planner.errors import ForethoughtError
from planner.language.declare import Entity
from planner.lightweight import replace
from planner.model import Atom, Not, Problem
from planner.model.problem import COST, seal
from planner.plan import Step
from planner.semantics.simulation import Simulation


def reduce_budgets(problem: Problem, before: Problem, record: StepRecord) -> Problem:
    """Return `problem` with its budgets reduced by what the attempts at a step have used."""
    if not problem.budgets or not record.attempts:
        return problem
    simulation = Simulation(replace(before, unknown=()))
    used = {COST: simulation.cost(record.step), **simulation.uses(record.step)}
    left = {name: max(amount - record.attempts * used.get(name, 0), 0) for name, amount in problem.budgets.items()}
    return seal(replace(problem, budgets=left))


class RealNames:
    """Gives objects that a run has created their real names, instead of placeholders; `problem` is the one before."""

    def __init__(self, problem: Problem, state: RunState) -> None:
        self._problem = problem
        self._bindings = state.objects
        self._internal = find_internal_predicates(problem.domain, state.problem)

    @property
    def has_created(self) -> bool:
        """Whether the run has given real objects to placeholders."""
        known = {each.name for each in self._problem.all_objects}
        return any(name not in known and not self._bindings.is_open(name) for name in self._bindings)

    def facts_of(self, facts: Iterable[Atom]) -> Iterator[Atom]:
        """Yield the facts about real objects."""
        for each in facts:
            if each.predicate not in self._internal and self._bindings.exists(each):
                yield Atom(each.predicate, tuple(map(self._bindings.real_name, each.args)))

    def rename(self, text: str) -> str:
        """Return `text` with real names."""
        for name in self._bindings:
            text = text.replace(name, self._bindings.real_name(name))
        return text

    def step_of(self, step: Step) -> Step:
        """Return `step` with real names."""
        return replace(step, arguments=tuple(map(self._bindings.real_name, step.arguments)))

    def problem_of(self, after: Problem) -> Problem:
        """Return the problem from the believed state `after`, with the real objects."""
        bindings = self._bindings
        objects = [
            replace(each, name=bindings.real_name(each.name))
            for each in after.objects
            if not bindings.is_open(each.name)
        ]
        values = {bindings.real_name(name): value for name, value in bindings.items() if isinstance(value, Entity)}
        ran = tuple([Atom(each.predicate, tuple(map(bindings.real_name, each.args))) for each in after.ran])
        names = {each.name: bindings.real_name(each.name) for each in after.all_objects}
        return replace(
            self._problem,
            objects=tuple(dict.fromkeys(objects)),
            initial=tuple(self.facts_of(after.initial)),
            values={term.substitute(names): value for term, value in after.values.items()},
            ran=ran,
            entities={**self._problem.entities, **values},
        )


def predict_facts(before: Problem, step: Step) -> frozenset[Atom] | None:
    """Return the facts that should hold after `step`; None where it could not be done."""
    simulation = Simulation(replace(before, unknown=()))
    try:
        if simulation.find_objection(step) is not None:
            return None
        simulation.apply(step)
    except ForethoughtError:
        return None
    return simulation.facts


def name_differences(facts: frozenset[Atom], expected: frozenset[Atom] | None) -> tuple[str, ...]:
    """Name the facts that hold, or do not hold, against expectation."""
    if expected is None:
        return ()
    differing = [(fact, fact in facts) for fact in facts ^ expected]
    return tuple(sorted(str(fact if holds else Not(fact)) for fact, holds in differing))
