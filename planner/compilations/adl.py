"""Plain ADL (Pednault, 1989): `modifies`, `stale_with` and `after` compiled to effects and facts.

Actions keep their names, parameters and costs, so that a plan of the compiled problem is a plan of the source.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from planner.compilations import reserve_name
from planner.lightweight import dataclass, replace
from planner.model import formulas
from planner.model.actions import Action, Literal, When, has_open_argument
from planner.model.domain import DomainModel, Predicate, TypeHierarchy, cache_per_domain, declares_changes
from planner.model.formulas import OPEN, TRUE, And, Atom, Equals, Formula, Not, Term, Variable, with_conjuncts
from planner.model.problem import Problem
from planner.semantics.staleness import StaleRule, Write, collect_stale_rules, find_stale

Types = Mapping[str, tuple[str, ...]]
"""The types of each term."""


def compile_adl(problem: Problem) -> Problem:
    """Compile to plain ADL effects, without `modifies`, `stale_with` and `after`; plans keep their steps.

    An open pattern in `modifies` becomes universal deletes, and `stale_with` becomes deletes. `after` becomes facts
    `ran-<action>`, which hold initially for the actions that have run before. Effects that change nothing are dropped.
    A problem that uses none of these constructs is returned unchanged.
    """
    domain = problem.domain
    if not declares_changes(domain):
        return replace(problem, ran=()) if problem.ran else problem
    history = _History.of(domain)
    rules = tuple(collect_stale_rules(domain))
    actions = {name: _compile_action(action, domain, rules, history) for name, action in domain.actions.items()}
    predicates = {name: replace(predicate, stale_with=()) for name, predicate in domain.predicates.items()}
    plain = replace(domain, actions=actions, predicates=predicates | history.predicates)
    initial = (*problem.initial, *history.held_after(problem.ran))
    return replace(problem, domain=plain, initial=initial, ran=())


def list_busy_items(action: Action) -> list[Atom]:
    """Return the items that each step of `action` changes in place."""
    return [item for item in action.modifies if not has_open_argument(item)]


def keep_items_busy(plain: Problem, source: Problem) -> Problem:
    """Restore the `modifies` of `source` in the actions of `plain`, so that steps keep items busy."""
    actions = dict(plain.domain.actions)
    for name, action in source.domain.actions.items():
        if name in actions and action.modifies:
            actions[name] = replace(actions[name], modifies=action.modifies)
    return replace(plain, domain=replace(plain.domain, actions=actions))


def _compile_action(action: Action, domain: DomainModel, rules: tuple[StaleRule, ...], history: _History) -> Action:
    types = {each.name: each.types for each in domain.constants}
    types |= {each.name: each.types for each in action.parameters}
    effects = [plain for effect in action.effects for plain in _compile_effect(effect, domain, rules, types)]
    unconditional = [effect for effect in effects if effect.requires == TRUE and not effect.variables]
    provides = [literal for effect in unconditional for literal in effect.provides]
    provides += history.provided_by(action)
    numbers = [number for effect in unconditional for number in effect.numbers]
    needs = history.required_by(action)
    return replace(
        action,
        requires=with_conjuncts(action.requires, *needs) if needs else action.requires,
        provides=tuple(dict.fromkeys(provides)),
        modifies=(),
        when=tuple([effect for effect in effects if effect not in unconditional]),
        after=(),
        numbers=tuple(numbers),
    )


def _compile_effect(effect: When, domain: DomainModel, rules: tuple[StaleRule, ...], types: Types) -> Iterator[When]:
    if effect.provides or effect.numbers:
        yield replace(effect, modifies=())
    retracted = [Write(pattern) for pattern in effect.modifies if OPEN in pattern.args]
    written = [Write(atom) for atom in effect.written]
    retracted += find_stale(written, rules)
    types = {**types, **{each.name: each.types for each in effect.variables}}
    for write in dict.fromkeys(retracted):
        if _may_match(write, domain, types):
            yield _make_delete(effect, write, domain, types)


def _may_match(write: Write, domain: DomainModel, types: Types) -> bool:
    """Return whether facts that `write` covers can exist: its constants must have the types of the predicate."""
    parameters = domain.predicates[write.pattern.predicate].parameters
    return all(
        formulas.is_variable(arg) or arg not in types or _hierarchy(domain).is_a(types[arg], parameter.types)
        for arg, parameter in zip(write.pattern.args, parameters, strict=True)
    )


@cache_per_domain
def _hierarchy(domain: DomainModel) -> TypeHierarchy:
    return TypeHierarchy(domain.types)


def _always_fits(term: Term, types: Types, parameter: Variable, hierarchy: TypeHierarchy) -> bool:
    """Return whether every possible object of `term` has a type of `parameter`."""
    return not formulas.is_variable(term) or all(
        hierarchy.is_a([each], parameter.types) for each in types.get(term, ())
    )


def _make_delete(effect: When, write: Write, domain: DomainModel, types: Types) -> When:
    """Return the effect that deletes every fact that `write` covers.

    A variable of the required type, equal to the term, replaces a term that may have another type.
    """
    taken = (
        {variable.name for variable in effect.variables}
        | formulas.free_variables(effect.requires)
        | {*write.pattern.args}
    )
    fresh: list[Variable] = []
    args: list[Term] = []
    equalities = sorted(write.equalities, key=str)
    parameters = domain.predicates[write.pattern.predicate].parameters
    for arg, parameter in zip(write.pattern.args, parameters, strict=True):
        if arg != OPEN and _always_fits(arg, types, parameter, _hierarchy(domain)):
            args.append(arg)
            continue
        name = reserve_name(f"?any{len(fresh)}", taken)
        fresh.append(Variable(name, parameter.types))
        args.append(name)
        if arg != OPEN:
            equalities.append(Equals(name, arg))
    condition = And((effect.requires, *equalities)) if equalities else effect.requires
    atom = Not(Atom(write.pattern.predicate, tuple(args)))
    return When(_flatten(condition), (atom,), (), (*effect.variables, *fresh))


def _flatten(formula: Formula) -> Formula:
    return formulas.conjunction(formulas.conjuncts(formula)) if isinstance(formula, And) else formula


@dataclass(frozen=True, slots=True)
class _History:
    """Facts `ran-…`: one predicate for each action and each choice of its parameters that some `after` binds."""

    names: dict[tuple[str, tuple[int, ...]], str]
    predicates: dict[str, Predicate]

    @classmethod
    def of(cls, domain: DomainModel) -> _History:
        names: dict[tuple[str, tuple[int, ...]], str] = {}
        predicates: dict[str, Predicate] = {}
        taken = set(domain.predicates)
        for action in domain.actions.values():
            for pattern in action.after:
                key = (pattern.predicate, _bound_places(pattern))
                if key in names:
                    continue
                parameters = domain.actions[pattern.predicate].parameters
                name = reserve_name("-".join(["ran", pattern.predicate, *map(str, key[1])]), taken)
                names[key] = name
                predicates[name] = Predicate(name, tuple([parameters[index] for index in key[1]]))
        return cls(names, predicates)

    def provided_by(self, action: Action) -> list[Literal]:
        return [
            Atom(name, tuple([action.parameters[index].name for index in bound]))
            for (ran, bound), name in self.names.items()
            if ran == action.name
        ]

    def held_after(self, ran: Iterable[Atom]) -> Iterable[Atom]:
        return dict.fromkeys(
            Atom(name, tuple([action.args[index] for index in bound]))
            for action in ran
            for (other, bound), name in self.names.items()
            if other == action.predicate
        )

    def required_by(self, action: Action) -> list[Formula]:
        return [
            Atom(
                self.names[pattern.predicate, _bound_places(pattern)],
                tuple([arg for arg in pattern.args if arg != OPEN]),
            )
            for pattern in action.after
        ]


def _bound_places(pattern: Atom) -> tuple[int, ...]:
    return tuple([index for index, arg in enumerate(pattern.args) if arg != OPEN])
