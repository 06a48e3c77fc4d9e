"""The steps with which optimal plans begin, where only `solve` takes the problem: one optimal plan for each first step.

A fact says that a step has been taken. Each action makes it true, and requires it of all steps but the asked one.
"""

from __future__ import annotations

from planner.lightweight import Any, Final, replace
from planner.limits import Limits
from planner.model import Atom, Predicate
from planner.model.actions import Action
from planner.model.formulas import Equals, Or, conjunction, with_conjuncts
from planner.options import SolveOptions
from planner.plan import Status, Step, StoppedBy, name_as_written
from planner.problem_kinds import classical_of, with_sealed_classical
from planner.questions.optimal_first_steps import FirstSteps
from planner.solve import answer

BEGUN: Final = Atom("@begun")
"""Holds when a step has been taken."""


def begin_with(problem: Any, step: Step) -> Any:
    """Return the problem, of any kind, whose plans are those of `problem` that begin with `step`.

    Only the given parameters of an action that creates objects count.
    """
    classical = classical_of(problem)
    domain, names = classical.domain, classical.domain.versions

    def guard(action: Action) -> Action:
        first: Any = BEGUN
        if names.get(action.name, action.name) == names.get(step.action, step.action):
            pairs = zip(action.parameters, step.arguments, strict=False)
            first = Or((BEGUN, conjunction([Equals(parameter.name, value) for parameter, value in pairs])))
        requires = with_conjuncts(action.requires, first)
        return replace(action, requires=requires, provides=(*action.provides, BEGUN))

    actions = {name: guard(action) for name, action in domain.actions.items()}
    predicates = {**domain.predicates, BEGUN.predicate: Predicate(BEGUN.predicate)}
    guarded = replace(classical, domain=replace(domain, actions=actions, predicates=predicates))
    return with_sealed_classical(problem, guarded)


def find_first_steps(problem: Any, possible: list[Step], limits: Limits) -> FirstSteps:
    """Return with which of the `possible` steps a plan for `problem`, of any kind, of the least charge begins.

    UNKNOWN: a limit came before the proof, or what is proved of the problem is not enough.
    """
    classical, best = classical_of(problem), answer(problem, SolveOptions().within(limits))
    if best.status is not Status.OPTIMAL or best.plan is None:
        status = Status.UNSOLVABLE if best.status is Status.UNSOLVABLE else Status.UNKNOWN
        return FirstSteps(status, best.stopped_by, classical)
    least, found = best.plan.charge, list[Step]()
    for place, step in enumerate(possible):
        part = SolveOptions().within(limits, 1 / (len(possible) - place))
        again = answer(begin_with(problem, step), part)
        if again.plan is not None and again.plan.charge <= least:
            found.append(step)
        elif again.status not in (Status.OPTIMAL, Status.UNSOLVABLE) and (again.lower_bound or least) <= least:
            return FirstSteps(Status.UNKNOWN, again.stopped_by, classical)
    return FirstSteps(Status.OPTIMAL, StoppedBy.EXHAUSTED, classical, tuple(name_as_written(found, classical)), least)
