"""The ground task as a STRIPS problem without variables, for domains that lifted STRIPS cannot say."""

from __future__ import annotations

from collections.abc import Mapping

from planner.budget import Budget
from planner.errors import UnsupportedError
from planner.model import Action, Atom, DomainModel, Goal, Literal, Metric, Not, Predicate, Problem
from planner.model.formulas import conjunction
from planner.pddl.parts import free_name
from planner.plan import Step
from planner.task import GroundAction, Task

_HINT = "export it with level 'adl'"


def grounded(problem: Problem, budget: Budget) -> tuple[Problem, Mapping[str, Step]]:
    """Return the ground task of `problem` as a problem whose facts and actions have no arguments, and its map back.

    The map says which step each of its actions stands for. Raises `UnsupportedError` where the task has conditional
    effects or axioms, which STRIPS does not know, and `LimitReached` where `budget` does not suffice.
    """
    from planner.grounding import ground  # noqa: PLC0415 - grounding is loaded only where needed

    task = ground(problem, budget)
    _check(task)
    facts, goal = (_facts(task), task.goal) if task.unreachable_goal is None else (["unreachable goal"], (0,))
    taken: set[str] = set()
    names = [free_name(" ".join([each.step.action, *each.step.arguments]), taken) for each in task.actions]
    actions = {name: _action(name, each, facts, problem.metric) for name, each in zip(names, task.actions, strict=True)}
    domain = DomainModel(problem.domain.name, predicates={name: Predicate(name) for name in facts}, actions=actions)
    initial = tuple([Atom(facts[number]) for number in task.initial])
    wanted = Goal(conjunction([Atom(facts[number]) for number in goal]))
    steps = {name: each.step for name, each in zip(names, task.actions, strict=True)}
    return Problem(problem.name, domain, (), initial, wanted, {}, problem.metric), steps


def _check(task: Task) -> None:
    if task.has_axioms:
        raise UnsupportedError("derived predicates, or conditions that have to be derived, in STRIPS", _HINT)
    for action in task.actions:
        if action.conditional:
            raise UnsupportedError(f"conditional effects in STRIPS, as {action.step} has them", _HINT)


def _facts(task: Task) -> list[str]:
    """Return a name for each fact of `task`."""
    taken: set[str] = set()
    return [free_name(_words(fact), taken) for fact in task.facts]


def _words(fact: Atom | Not) -> str:
    if isinstance(fact, Not):
        return f"not {_words(fact.part)}" if isinstance(fact.part, Atom | Not) else str(fact)
    return " ".join([fact.predicate, *fact.args])


def _action(name: str, action: GroundAction, facts: list[str], metric: Metric) -> Action:
    cost = (action.step.cost,) if metric is Metric.COST else ()
    provides: list[Literal] = [Atom(facts[number]) for number in action.adds]
    provides += [Not(Atom(facts[number])) for number in action.deletes]
    requires = conjunction([Atom(facts[number]) for number in action.precondition])
    return Action(name, requires=requires, provides=tuple(provides), cost=cost)
