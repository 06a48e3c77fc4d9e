"""Tasks that can never be done: what each method lacks, even if nothing that holds ever ended."""

from __future__ import annotations

import itertools

from htn.explain.reach import Reach, done
from htn.explain.report import Attempt, Failure, Lack
from htn.model import Method
from htn.rooted import ROOT
from planner.annotations import Final
from planner.explain.nearmiss import NearMiss, near_misses
from planner.explain.providers import Provider
from planner.model import Action, Atom, Formula, Literal, Not
from planner.model.formulas import substitute
from planner.normalise.conditions import negation_normal
from planner.records import dataclass

TASKS: Final = 24
"""So many tasks are followed: the first that fails down to its deepest reason, then the next."""
CHOICES: Final = 3
"""So many choices of objects are followed for each method."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A task, and the path to it."""

    task: Atom
    above: tuple[str, ...] = ()


def impossible(reach: Reach) -> tuple[Failure, ...]:
    """Return the tasks that can never be done and that the root leads to, the deepest first; none where it can be."""
    if reach.may_be_done(Atom(ROOT)):
        return ()
    stack, found = [_Wanted(Atom(ROOT))], list[Failure]()
    seen: set[Atom] = set()
    while stack and len(seen) <= TASKS:
        wanted = stack.pop()
        if wanted.task in seen:
            continue
        seen.add(wanted.task)
        attempts, leads = _tried(wanted.task, reach)
        if wanted.task.predicate != ROOT or not leads:
            name = str(wanted.task) if wanted.task.predicate != ROOT else "the tasks of the problem"
            found.append(Failure(name, attempts, wanted.above))
        above = () if wanted.task.predicate == ROOT else (str(wanted.task), *wanted.above)
        stack += [_Wanted(each, above) for each in reversed(leads)]
    return tuple(sorted(found, key=lambda failure: -len(failure.above)))


def lacking(formula: Formula, reach: Reach) -> tuple[Lack, ...] | None:
    """Return the fewest literals whose impossibility rules out the ground `formula`; None where no facts would do."""
    sets = reach.relaxed.lacks(negation_normal(formula, itertools.count()))
    return tuple([lack(each, reach) for each in sets[0]]) if sets else None


def lack(literal: Literal, reach: Reach) -> Lack:
    """Return why `literal` can never hold."""
    atom = literal.part if isinstance(literal, Not) else literal
    assert isinstance(atom, Atom)  # noqa: S101 - a literal is an atom or its negation
    if isinstance(literal, Not):
        ends = "nothing that the tasks lead to ends it" if reach.is_changed(atom) else "no action ends it"
        return Lack(str(literal), f"but it holds, and {ends}")
    makes = "nothing that the tasks lead to makes it true" if reach.is_changed(atom) else "no action makes it true"
    return Lack(str(literal), f"which does not hold, and {makes}")


def _tried(task: Atom, reach: Reach) -> tuple[tuple[Attempt, ...], list[Atom]]:
    """Return what there is to do `task` by, and the subtasks that this fails for."""
    action = reach.domain.classical.actions.get(task.predicate)
    if action is not None:
        return (_action(task, reach),), []
    attempts: list[Attempt] = []
    leads: dict[Atom, None] = {}
    for method in reach.domain.methods_for(task.predicate):
        undoable = [
            (binding, [each for each in _subtasks(method, binding) if not reach.may_be_done(each)])
            for binding in reach.choices(method, task)
        ]
        for place, (binding, tasks) in enumerate(undoable[:CHOICES], start=1):
            others = len(undoable) - CHOICES if place == CHOICES else 0
            attempts.append(Attempt(label_of(method, binding), undoable=tuple(map(str, tasks)), others=others))
            leads.update(dict.fromkeys(tasks))
        if not undoable:
            attempts.append(_near(method, task, reach))
    return tuple(attempts), list(leads)


def _subtasks(method: Method, binding: dict[str, str]) -> list[Atom]:
    return [*dict.fromkeys(each.task.substitute(binding) for each in method.network.subtasks)]


def label_of(method: Method, binding: dict[str, str]) -> str:
    """Return `method` for certain objects as people write it."""
    return f"{method.name}({', '.join(binding[each.name] for each in method.parameters)})"


def _action(task: Atom, reach: Reach) -> Attempt:
    """Return what the action for `task` lacks."""
    action = reach.domain.classical.actions[task.predicate]
    for parameter, value in zip(action.parameters, task.args, strict=True):
        if value not in reach.relaxed.database.members(parameter.types):
            return Attempt("the action", remark=f"{value} is no {' or '.join(parameter.types)}")
    binding = {parameter.name: value for parameter, value in zip(action.parameters, task.args, strict=True)}
    lacks = lacking(substitute(action.requires, binding), reach)
    if lacks is None:
        return Attempt("the action", remark="no facts at all would let it apply to these objects")
    return Attempt("the action", lacks)


def _near(method: Method, task: Atom, reach: Reach) -> Attempt:
    """Return the instance of `method` for `task` that lacks least; it has none that applies."""
    stand_in = Action(method.name, method.parameters)
    found: list[NearMiss] = []
    for case in reach.cases(method):
        variables = (*method.parameters, *case.condition.variables)
        provider = Provider(stand_in, variables, case.condition, (done(method.task),))
        found += near_misses(provider, done(task), reach.relaxed)
    found.sort(key=lambda miss: len(miss.lacks))
    if not found:
        return Attempt(method.name, remark="no objects fit it for this task")
    labels = {miss.label for miss in found if len(miss.lacks) == len(found[0].lacks)}
    return Attempt(found[0].label, tuple([lack(each, reach) for each in found[0].lacks]), others=len(labels) - 1)
