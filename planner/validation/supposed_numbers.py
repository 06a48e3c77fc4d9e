"""Finds the values of unknown numbers that plans suppose, and the steps that depend on them."""

from __future__ import annotations

from collections.abc import Sequence

from planner.model import Action, Atom, Formula, Problem
from planner.model.formulas import atoms_in, conjunction, is_variable, substitute
from planner.model.unknown_numbers import find_unread, known_fact
from planner.plan import Step, Supposition


def measured_by(problem: Problem, step: Step) -> list[Atom]:
    """Return patterns of the function terms whose values `step` measures."""
    action = problem.domain.actions[step.action]
    binding = _bind(action, step) if action.measures else {}
    return [pattern.substitute(binding) for pattern in action.measures]


def _bind(action: Action, step: Step) -> dict[str, str]:
    """Return the arguments of `step` by parameter, with the names of what it creates."""
    return dict(zip([each.name for each in action.step_parameters], step.arguments, strict=False))


def find_supposed_numbers(problem: Problem, steps: Sequence[Step]) -> tuple[Supposition, ...]:
    """Return the values of unknown numbers that `steps` for `problem` suppose, and the steps that rest on them."""
    looks = [measured_by(problem, step) for step in steps]
    conditions = [*[_requires(problem, step) for step in steps], problem.goal.hard]
    found = []
    for term in find_unread(problem):
        resting = [at for at, each in enumerate(conditions, 1) if _mentions(each, known_fact(term))]
        if resting and term in problem.values:
            seen = [at for at, each in enumerate(looks, 1) if any(pattern.matches(term) for pattern in each)]
            goal, numbers = resting[-1] > len(steps), tuple([at for at in resting if at <= len(steps)])
            look, value = seen[0] if seen else None, problem.values[term]
            found.append(Supposition(term, True, numbers, goal=goal, seen=look, value=value))
    return tuple(found)


def _requires(problem: Problem, step: Step) -> Formula:
    action = problem.domain.actions[step.action]
    return substitute(conjunction([action.requires, action.throughout]), _bind(action, step))


def _mentions(formula: Formula, fact: Atom) -> bool:
    """Return whether an atom of `formula`, whose quantifiers bind its variables, may be `fact`."""
    return any(
        atom.predicate == fact.predicate
        and all(is_variable(mine) or mine == other for mine, other in zip(atom.args, fact.args, strict=True))
        for atom in atoms_in(formula)
    )
