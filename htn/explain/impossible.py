"""Tasks that can never be done: what each method lacks, even if nothing that holds ever ended."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from htn.explain.names import label_of, shown, title
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

FOLLOWED: Final = 2000
"""So many tasks are followed: the first that fails down to its deepest reason, then the next."""
TASKS: Final = 24
"""So many tasks are told."""
CHOICES: Final = 3
"""So many choices of objects are followed for each method."""


@dataclass(frozen=True, slots=True, eq=False)
class _Wanted:
    """A task that fails, and the one that it is there for; the root is at depth 0."""

    task: Atom
    above: _Wanted | None = None
    depth: int = 0

    @property
    def path(self) -> tuple[str, ...]:
        """The tasks above this one, nearest first."""
        found, upper = [], self.above
        while upper is not None and upper.depth:
            found.append(shown(upper.task))
            upper = upper.above
        return tuple(found)


def impossible(reach: Reach) -> tuple[Failure, ...]:
    """Return tasks that can never be done and that the root leads to, the deepest first; none where it can be."""
    if reach.may_be_done(Atom(ROOT)):
        return ()
    failing = _failing(reach)
    told = failing[1:] or failing
    told.sort(key=lambda wanted: -wanted.depth)
    return tuple([_told(each, reach) for each in told[:TASKS]])


def _failing(reach: Reach) -> list[_Wanted]:
    """Return the root and the tasks below it that can never be done, as they are found from the left."""
    stack, found = [_Wanted(Atom(ROOT))], list[_Wanted]()
    seen: set[Atom] = set()
    while stack and len(found) < FOLLOWED:
        wanted = stack.pop()
        if wanted.task not in seen:
            reach.relaxed.budget.check()
            seen.add(wanted.task)
            found.append(wanted)
            methods = reach.domain.methods_for(wanted.task.predicate)
            applied = [each for method in methods for each in _applied(method, wanted.task, reach)]
            leads = dict.fromkeys(task for _, tasks, _ in applied for task in tasks)
            stack += [_Wanted(each, wanted, wanted.depth + 1) for each in reversed(leads)]
    return found


def _told(wanted: _Wanted, reach: Reach) -> Failure:
    """Return what was tried for a task that fails."""
    if wanted.task.predicate in reach.domain.classical.actions:
        return Failure(shown(wanted.task), (_action(wanted.task, reach),), wanted.path)
    attempts: list[Attempt] = []
    for method in reach.domain.methods_for(wanted.task.predicate):
        applied = [*_applied(method, wanted.task, reach)]
        attempts += [
            Attempt(label, undoable=tuple(map(shown, tasks)), others=others) for label, tasks, others in applied
        ]
        attempts += [] if applied else [_near(method, wanted.task, reach)]
    return Failure(shown(wanted.task), tuple(attempts), wanted.path)


def _applied(method: Method, task: Atom, reach: Reach) -> Iterator[tuple[str, list[Atom], int]]:
    """Yield for which objects `method` applies to `task`, as people write it, and which of its subtasks fail.

    The number says how many further choices of objects there are.
    """
    choices = [*reach.choices(method, task)]
    for place, binding in enumerate(choices[:CHOICES], start=1):
        tasks = [each for each in _subtasks(method, binding) if not reach.may_be_done(each)]
        yield label_of(method, binding), tasks, len(choices) - CHOICES if place == CHOICES else 0


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


def _subtasks(method: Method, binding: dict[str, str]) -> list[Atom]:
    return [*dict.fromkeys(each.task.substitute(binding) for each in method.network.subtasks)]


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
    stand_in = Action(title(method), method.parameters)
    found: list[NearMiss] = []
    for case in reach.cases(method):
        variables = (*method.parameters, *case.condition.variables)
        provider = Provider(stand_in, variables, case.condition, (done(method.task),))
        found += near_misses(provider, done(task), reach.relaxed)
    found.sort(key=lambda miss: len(miss.lacks))
    if not found:
        fitting = "its parameters" if method.name == ROOT else "it for this task"
        return Attempt(title(method), remark=f"no objects fit {fitting}")
    labels = {miss.label for miss in found if len(miss.lacks) == len(found[0].lacks)}
    return Attempt(found[0].label, tuple([lack(each, reach) for each in found[0].lacks]), others=len(labels) - 1)
