"""What the tasks of a problem may lead to when nothing that holds ever ends.

As for grounding, a hierarchical problem becomes a classical one along the hierarchy, but each thing by itself, so that
what is missing shows where it is missing: a task is *demanded* by the method above it; a method *applies* where its
task is demanded and its precondition may hold; and a task is *done* by an action that may apply, or by a method all of
whose subtasks may be done.
"""

from __future__ import annotations

from collections.abc import Iterator

from htn.model import HtnDomain, HtnProblem, Method
from htn.needs import Needs, changes
from htn.rooted import ROOT, rooted
from htn.split import split
from planner.annotations import Final
from planner.budget import Budget
from planner.explain.nearmiss import matching
from planner.explain.relaxed import Relaxed
from planner.model import Action, Atom, Predicate, Problem, is_variable
from planner.model.formulas import conjunction, conjuncts
from planner.normalise import Conjunction, Schema, normalise, to_adl
from planner.records import replace

_DEMANDED: Final = "@do "
_APPLIES: Final = "@by "
_ENDS: Final = "@end "
_DONE: Final = "@done "


class Reach:
    """The relaxed world of a hierarchical problem; raises `LimitReached` while it is explored.

    With `pulled`, methods require what their subtasks need, where nothing in between may bring it about, and choose
    objects for one subtask alone when they come to it: that is less to look at, but what is missing then shows higher
    up, and some tasks are parts of methods.
    """

    def __init__(self, problem: HtnProblem, budget: Budget, *, pulled: bool = False) -> None:
        classical = to_adl(problem.classical)
        self.domain: HtnDomain = replace(rooted(problem), classical=classical.domain)
        if pulled:
            written = _written(classical)
            self.domain = split(self.domain, lambda predicate: predicate not in written)
        needs = Needs(self.domain, problem.classical.all_objects, alone=problem.is_ordered) if pulled else None
        self.normal = normalise(_program(self.domain, classical, needs))
        self.relaxed = Relaxed(self.normal, budget)
        self.schemas: dict[str, list[Schema]] = {}
        for schema in self.normal.schemas:
            self.schemas.setdefault(schema.action.name, []).append(schema)

    def may_be_done(self, task: Atom) -> bool:
        """Return whether the ground `task`, which some method leads to, may be done."""
        return self.relaxed.may(done(task))

    def choices(self, method: Method, task: Atom) -> Iterator[dict[str, str]]:
        """Yield for which objects `method` may apply to the ground `task`."""
        names = [each.name for each in method.parameters]
        bound = unified(method.task, task)
        if bound is None:
            return
        pattern = _head(_APPLIES + method.name, method)
        for row in sorted(matching(self.relaxed.relation(pattern.predicate), pattern, bound)):
            yield dict(zip(names, row, strict=True))

    def cases(self, method: Method) -> list[Schema]:
        """Return the conjunctive cases of when `method` applies; the demand of its task is left out."""
        cases = self.schemas.get(_APPLIES + method.name, [])
        return [replace(each, condition=_without_demand(each)) for each in cases]

    def is_changed(self, atom: Atom) -> bool:
        """Return whether any action writes facts of the predicate of `atom`."""
        return atom.predicate in self.relaxed.database.growing


def _written(classical: Problem) -> set[str]:
    """Return the predicates that actions write or axioms derive."""
    actions = classical.domain.actions.values()
    return {predicate for action in actions for predicate, _ in changes(action)} | classical.domain.derived


def unified(pattern: Atom, task: Atom) -> dict[str, str] | None:
    """Return what the variables of `pattern` stand for where it is `task`; None where it cannot be."""
    bound: dict[str, str] = {}
    for term, value in zip(pattern.args, task.args, strict=True):
        if (bound.setdefault(term, value) if is_variable(term) else term) != value:
            return None
    return bound


def done(task: Atom) -> Atom:
    """Return the fact that `task` was done."""
    return Atom(_DONE + task.predicate, task.args)


def _demanded(task: Atom) -> Atom:
    return Atom(_DEMANDED + task.predicate, task.args)


def _without_demand(schema: Schema) -> Conjunction:
    atoms = tuple([atom for atom in schema.condition.atoms if not atom.predicate.startswith(_DEMANDED)])
    return replace(schema.condition, atoms=atoms)


def _program(domain: HtnDomain, classical: Problem, needs: Needs | None) -> Problem:
    """Return the classical problem whose relaxed world says what may be demanded, apply and be done."""
    actions = [_action(each) for each in domain.classical.actions.values()]
    for method in domain.methods.values():
        actions += [_begin(method, needs), _end(method)]
    heads = {task.name: task.parameters for task in domain.tasks.values()}
    heads |= {action.name: action.parameters for action in domain.classical.actions.values()}
    kinds = (_DEMANDED, _DONE)
    predicates = [Predicate(kind + name, parameters) for name, parameters in heads.items() for kind in kinds]
    predicates += [Predicate(_APPLIES + each.name, each.parameters) for each in domain.methods.values()]
    grown = replace(
        domain.classical,
        actions={action.name: action for action in actions},
        predicates={**domain.classical.predicates, **{each.name: each for each in predicates}},
    )
    return replace(classical, domain=grown, initial=(*classical.initial, _demanded(Atom(ROOT))))


def _action(action: Action) -> Action:
    task = _head(action.name, action)
    requires = conjunction([_demanded(task), *conjuncts(action.requires)])
    return replace(action, requires=requires, provides=(*action.provides, done(task)))


def _begin(method: Method, needs: Needs | None) -> Action:
    parts = [_demanded(method.task), *conjuncts(method.precondition), *conjuncts(method.network.constraints)]
    parts += [need for need in needs.of_method(method) if need not in parts] if needs is not None else []
    demands = dict.fromkeys(_demanded(each.task) for each in method.network.subtasks)
    name = _APPLIES + method.name
    return Action(name, method.parameters, conjunction(parts), (_head(name, method), *demands), cost=(0,))


def _end(method: Method) -> Action:
    parts = [_head(_APPLIES + method.name, method), *(done(each.task) for each in method.network.subtasks)]
    needs = conjunction(dict.fromkeys(parts))
    return Action(_ENDS + method.name, method.parameters, needs, (done(method.task),), cost=(0,))


def _head(name: str, declared: Action | Method) -> Atom:
    return Atom(name, tuple([each.name for each in declared.parameters]))
