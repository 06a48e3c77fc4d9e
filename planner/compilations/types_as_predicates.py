"""Compiles types to static predicates, for planners that support neither several parents of a type nor `either`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from planner.language.pddl.pddl_vocabulary import UNTYPED
from planner.language.pddl.sections import choose_free_name
from planner.model import formulas
from planner.model.actions import Action, When
from planner.model.domain import Axiom, Predicate, TypeHierarchy
from planner.model.formulas import And, Atom, Exists, Forall, Formula, Imply, Object, Variable
from planner.model.problem import Problem


def with_plain_types(problem: Problem) -> Problem:
    """Compile `problem` to types that form a tree, with one type for each variable and object.

    If the types do not form a tree, all types become static predicates in conditions.
    """
    loose = _remove_alternatives(problem)
    return loose if _has_plain_types(loose) else _Untyping(loose).result()


def _remove_alternatives(problem: Problem) -> Problem:
    """Remove `either` from the declarations of predicates and functions; this excludes no fact that holds."""
    domain = problem.domain
    predicates = {
        name: replace(each, parameters=_with_single_types(each.parameters)) for name, each in domain.predicates.items()
    }
    functions = {
        name: replace(each, parameters=_with_single_types(each.parameters)) for name, each in domain.functions.items()
    }
    return replace(problem, domain=replace(domain, predicates=predicates, functions=functions))


def _with_single_types(parameters: Iterable[Variable]) -> tuple[Variable, ...]:
    return tuple([each if len(each.types) == 1 else Variable(each.name) for each in parameters])


def _has_plain_types(problem: Problem) -> bool:
    domain = problem.domain
    conditions = [problem.goal.hard, *(axiom.condition for axiom in domain.axioms)]
    bound: list[Variable | Object] = [variable for axiom in domain.axioms for variable in axiom.parameters]
    for action in domain.actions.values():
        conditions += [action.requires, *(effect.requires for effect in action.when)]
        bound += [*action.parameters, *(variable for effect in action.when for variable in effect.variables)]
    for formula in conditions:
        bound += [x for part in formulas.walk(formula) if isinstance(part, Forall | Exists) for x in part.variables]
    parents = domain.types.values()
    return all(len(each.types) == 1 for each in (*bound, *problem.all_objects)) and all(len(x) < 2 for x in parents)


class _Untyping:
    """Rewrites one problem with a predicate for each type, or set of alternative types, of a variable."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._members = TypeHierarchy(problem.domain.types).objects_by_type(problem.all_objects)
        self._predicates: dict[tuple[str, ...], str] = {}
        self._taken = set(problem.domain.predicates)

    def result(self) -> Problem:
        problem, domain = self._problem, self._problem.domain
        goal = replace(problem.goal, hard=self._formula(problem.goal.hard))
        actions = {name: self._action(action) for name, action in domain.actions.items()}
        axioms = tuple(map(self._axiom, domain.axioms))
        predicates = {
            name: replace(each, parameters=_untype(each.parameters)) for name, each in domain.predicates.items()
        }
        predicates |= {name: Predicate(name, (Variable("?x"),)) for name in self._predicates.values()}
        functions = {
            name: replace(each, parameters=_untype(each.parameters)) for name, each in domain.functions.items()
        }
        untyped = replace(
            domain,
            types={},
            constants=_untype_objects(domain.constants),
            predicates=predicates,
            functions=functions,
            actions=actions,
            axioms=axioms,
        )
        initial = (*problem.initial, *self._facts())
        return replace(problem, domain=untyped, objects=_untype_objects(problem.objects), initial=initial, goal=goal)

    def _facts(self) -> Iterable[Atom]:
        for types, predicate in self._predicates.items():
            names = dict.fromkeys(name for kind in types for name in self._members.get(kind, ()))
            yield from (Atom(predicate, (name,)) for name in names)

    def _guards(self, variables: Iterable[Variable]) -> list[Formula]:
        """Return the conditions that `variables` have their types."""
        return [Atom(self._predicate(each.types), (each.name,)) for each in variables if each.types != UNTYPED]

    def _predicate(self, types: tuple[str, ...]) -> str:
        if types not in self._predicates:
            self._predicates[types] = choose_free_name(f"is-{'-or-'.join(types)}", self._taken)
        return self._predicates[types]

    def _guard(self, variables: Iterable[Variable], formula: Formula) -> Formula:
        guards = self._guards(variables)
        return (
            formulas.conjunction([*guards, *formulas.conjuncts(self._formula(formula))])
            if guards
            else self._formula(formula)
        )

    def _action(self, action: Action) -> Action:
        requires = self._guard(action.parameters, action.requires)
        effects = tuple(map(self._effect, action.when))
        return replace(action, parameters=_untype(action.parameters), requires=requires, when=effects)

    def _effect(self, effect: When) -> When:
        requires = self._guard(effect.variables, effect.requires)
        return replace(effect, requires=requires, variables=_untype(effect.variables))

    def _axiom(self, axiom: Axiom) -> Axiom:
        return Axiom(axiom.predicate, _untype(axiom.parameters), self._guard(axiom.parameters, axiom.condition))

    def _formula(self, formula: Formula) -> Formula:
        match formula:
            case Exists(variables, part):
                return Exists(_untype(variables), self._guard(variables, part))
            case Forall(variables, part):
                guards, inner = self._guards(variables), self._formula(part)
                return Forall(_untype(variables), Imply(And(tuple(guards)), inner) if guards else inner)
            case _:
                return formulas.with_children(
                    formula, tuple([self._formula(part) for part in formulas.children(formula)])
                )


def _untype(variables: Iterable[Variable]) -> tuple[Variable, ...]:
    return tuple([Variable(each.name) for each in variables])


def _untype_objects(objects: Iterable[Object]) -> tuple[Object, ...]:
    return tuple([Object(each.name) for each in objects])
