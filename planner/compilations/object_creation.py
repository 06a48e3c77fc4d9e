"""Object creation: compiles problems whose actions create objects to problems with placeholders for these objects.

An action with `creates={"ticket": Ticket}` gets the created ticket as an additional last parameter:
`create_ticket(alice, new-ticket-1)`. The argument is a placeholder of exactly the declared type that no earlier step
has taken. Guards restrict all other variables to existing objects.

No fact is about a non-existing object: initial facts are not, effects write facts of existing or created objects, and
axioms are guarded. So a variable needs no guard if some fact about it must hold anyway.

The compilation uses the terms of the model alone. So the plan checker, which shares no code with grounding and search,
can use it, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count, islice, pairwise

from planner.compilations import Compiled, reserve_name
from planner.errors import InputError, UnsupportedError
from planner.lightweight import Any, Final, dataclass, replace
from planner.model import formulas
from planner.model.actions import Action, CostFunction, CostTerm, Literal, When
from planner.model.domain import Axiom, DomainModel, Predicate, TypeHierarchy, cache_per_domain, creates_objects
from planner.model.formulas import (
    OPEN,
    And,
    Atom,
    Equals,
    Exists,
    Forall,
    Formula,
    Imply,
    Not,
    Object,
    Or,
    Term,
    Variable,
)
from planner.model.problem import Problem
from planner.model.unknown_facts import instances_of
from planner.plan import Plan, Step
from planner.problem_kinds import check_classical, classical_of


class Guards:
    """Guards variables that may have a type in `created` by `predicate`, which says that an object exists."""

    def __init__(self, predicate: str, created: Iterable[str], types: TypeHierarchy) -> None:
        self._predicate = predicate
        self._created = list(created)
        self._types = types
        self.types: set[str] = set()
        """The types of the guarded variables, whose objects need facts of `predicate`."""

    def condition(self, formula: Formula, variables: Iterable[Variable] = ()) -> Formula:
        """Return `formula` with guards inside, and for those of `variables` about which it requires no fact."""
        needed = self._find_needed_guards(variables, terms_with_facts(formula))
        inside = self._guard_inside(formula)
        return formulas.conjunction([*needed, *formulas.conjuncts(inside)]) if needed else inside

    def effect(self, when: When) -> When:
        """Return the conditional effect `when` with guards."""
        return replace(when, requires=self.condition(when.requires, when.variables))

    def axiom(self, axiom: Axiom) -> Axiom:
        """Return `axiom` with guards, so that it derives nothing about objects that do not exist."""
        return replace(axiom, condition=self.condition(axiom.condition, axiom.parameters))

    def _guard_inside(self, formula: Formula) -> Formula:
        match formula:
            case Exists(variables, part):
                return Exists(variables, self.condition(part, variables))
            case Forall(variables, part):
                needed = self._find_needed_guards(variables, terms_with_facts(part, positive=False))
                inside = self._guard_inside(part)
                return Forall(variables, Imply(formulas.conjunction(needed), inside) if needed else inside)
            case _:
                return formulas.with_children(
                    formula, tuple([self._guard_inside(part) for part in formulas.children(formula)])
                )

    def _find_needed_guards(self, variables: Iterable[Variable], known: set[Term]) -> list[Formula]:
        found: list[Formula] = []
        for variable in variables:
            if variable.name not in known and self._types.is_a(self._created, variable.types):
                self.types.update(variable.types)
                found.append(Atom(self._predicate, (variable.name,)))
        return found


def terms_with_facts(formula: Formula, *, positive: bool = True) -> set[Term]:
    """Return terms about which some fact holds whenever `formula` is true (false, unless `positive`)."""
    match formula:
        case Atom(_, args):
            return set(args) if positive else set()
        case Not(part):
            return terms_with_facts(part, positive=not positive)
        case And(parts) | Or(parts) if parts:
            found = [terms_with_facts(part, positive=positive) for part in parts]
            return set.union(*found) if isinstance(formula, And) is positive else set.intersection(*found)
        case Imply(premise, conclusion):
            return terms_with_facts(Or((Not(premise), conclusion)), positive=positive)
        case Exists(variables, part) | Forall(variables, part) if isinstance(formula, Exists) is positive:
            return terms_with_facts(part, positive=positive) - {variable.name for variable in variables}
        case _:
            return set()


EXISTING: Final = "existing"
FOLLOWS: Final = "follows"
NEXT: Final = "next"
UNBORN: Final = "unborn"


def created_types(actions: Iterable[Action]) -> dict[str, int]:
    """Return the types that `actions` create, each with the maximum number of objects in one step."""
    found: dict[str, int] = {}
    for action in actions:
        types = list(action.creates.values())
        found.update({name: max(found.get(name, 0), types.count(name)) for name in types})
    return found


@dataclass(frozen=True, slots=True)
class Expansion:
    """A domain whose actions take placeholders; `fresh` maps each type to the predicate of its free placeholders.

    `existing` is the predicate of existing objects, needed for the types in `guarded`. `follows` relates each
    placeholder to the next one where placeholders are taken in order.
    """

    domain: DomainModel
    existing: str
    guarded: frozenset[str]
    fresh: Mapping[str, str]
    follows: str | None


@cache_per_domain
def expand_in_order(domain: DomainModel) -> Expansion:
    """Compile `domain` for placeholders that are taken in order, so that search skips their permutations."""
    return expand_domain(domain, NEXT, follows=True)


@cache_per_domain
def expand_in_any_order(domain: DomainModel) -> Expansion:
    """Compile `domain` for placeholders that are taken in any order."""
    return expand_domain(domain, UNBORN, follows=False)


def expand_domain(
    domain: DomainModel, prefix: str, *, follows: bool, chosen_by: Mapping[tuple[str, str], Atom] | None = None
) -> Expansion:
    """Compile `domain` for placeholders, whose free ones have facts of predicates that begin with `prefix`.

    With `follows`, a step frees the placeholder that follows the one that it takes. `chosen_by` gives for each action
    and each object that it creates a static condition on the placeholder; each placeholder then follows by itself.
    """
    created = created_types(domain.actions.values())
    taken = set(domain.predicates)
    existing = reserve_name(EXISTING, taken)
    fresh = {kind: reserve_name(f"{prefix}-{kind}", taken) for kind in created}
    order = reserve_name(FOLLOWS, taken) if follows else None
    guards = Guards(existing, created, TypeHierarchy(domain.types))
    writer = _ActionCompiler(guards, domain.actions, existing, fresh, order, chosen_by)
    predicates = [Predicate(existing, (Variable("?x"),))]
    predicates += [Predicate(name, (Variable("?x", (kind,)),)) for kind, name in fresh.items()]
    predicates += [Predicate(order, (Variable("?x"), Variable("?y")))] if order else []
    for choice in (chosen_by or {}).values():
        predicates.append(
            Predicate(choice.predicate, tuple([Variable(f"?x{place}") for place in range(len(choice.args))]))
        )
    expanded = replace(
        domain,
        predicates={**domain.predicates, **{each.name: each for each in predicates}},
        actions={name: writer.action(action) for name, action in domain.actions.items()},
        axioms=tuple([guards.axiom(axiom) for axiom in domain.axioms]),
    )
    return Expansion(expanded, existing, frozenset(guards.types), fresh, order)


@dataclass(frozen=True, slots=True)
class _ActionCompiler:
    """Compiles actions; `declared` maps names to the declared actions."""

    guards: Guards
    declared: Mapping[str, Action]
    existing: str
    fresh: Mapping[str, str]
    follows: str | None
    chosen_by: Mapping[tuple[str, str], Atom] | None

    def action(self, action: Action) -> Action:
        """Return `action` with guards, and with parameters for the objects that it creates."""
        requires = self.guards.condition(action.requires, action.parameters)
        when = tuple([self.guards.effect(effect) for effect in action.when])
        after = tuple([pad_pattern(pattern, self.declared[pattern.predicate]) for pattern in action.after])
        action = self._guard_moments(action) if action.has_moments else action
        if not action.creates:
            return replace(action, requires=requires, when=when, after=after)
        needs, provides, chains = self._birth(action)
        return replace(
            action,
            parameters=action.step_parameters,
            requires=And((*formulas.conjuncts(requires), *needs)),
            provides=(*action.provides, *provides),
            when=(*when, *chains),
            after=after,
            cost=_costs_of_declared(action.cost, len(action.parameters)),
            uses={name: _costs_of_declared(terms, len(action.parameters)) for name, terms in action.uses.items()},
            creates={},
        )

    def _guard_moments(self, action: Action) -> Action:
        """Return `action` with guards in what it requires and changes at its start, throughout and at its end."""
        start, end = [
            replace(
                each,
                requires=self.guards.condition(each.requires),
                when=tuple([self.guards.effect(effect) for effect in each.when]),
            )
            for each in (action.at_start, action.at_end)
        ]
        return replace(action, throughout=self.guards.condition(action.throughout), at_start=start, at_end=end)

    def _birth(self, action: Action) -> tuple[list[Formula], list[Literal], list[When]]:
        """Return conditions and effects on the created objects, and the effects that free the next placeholders."""
        needs: list[Formula] = []
        provides: list[Literal] = [Atom(self.existing, (name,)) for name in action.creates]
        chains: list[When] = []
        for kind, fresh in self.fresh.items():
            born = [name for name, wanted in action.creates.items() if wanted == kind]
            if not born:
                continue
            if self.chosen_by is not None:
                needs += [atom for name in born for atom in (self.chosen_by[action.name, name], Atom(fresh, (name,)))]
                provides += [Not(Atom(fresh, (name,))) for name in born]
                chains += [_free_next(name, kind, fresh, self.follows) for name in born if self.follows is not None]
            elif self.follows is None:
                needs += [Atom(fresh, (name,)) for name in born]
                needs += [Not(Equals(one, other)) for place, one in enumerate(born) for other in born[:place]]
                provides += [Not(Atom(fresh, (name,))) for name in born]
            else:
                needs.append(Atom(fresh, (born[0],)))
                needs += [Atom(self.follows, pair) for pair in pairwise(born)]
                provides.append(Not(Atom(fresh, (born[0],))))
                chains.append(_free_next(born[-1], kind, fresh, self.follows))
        return needs, provides, chains


def _free_next(last: str, kind: str, fresh: str, follows: str) -> When:
    """Return the effect that frees the placeholder after `last`."""
    then = f"{last}-next"
    return When(Atom(follows, (last, then)), (Atom(fresh, (then,)),), (), (Variable(then, (kind,)),))


def pad_pattern(pattern: Atom, action: Action) -> Atom:
    """Append open arguments for the created objects to `pattern`, which covers steps of `action`."""
    missing = len(action.parameters) + len(action.creates) - len(pattern.args)
    return Atom(pattern.predicate, (*pattern.args, *[OPEN] * missing))


def _costs_of_declared(terms: Iterable[CostTerm], arity: int) -> tuple[CostTerm, ...]:
    return tuple([_cost_of_declared(term, arity) for term in terms])


def _cost_of_declared(term: CostTerm, arity: int) -> CostTerm:
    """Return `term` as a function of the declared arguments alone."""
    if not isinstance(term, CostFunction):
        return term
    function = term.function
    return CostFunction(lambda *names: function(*names[:arity]), term.resolution)


_NAME: Final = re.compile(r"[^\s(),;?]+")


def compile_object_creation(problem: Problem, number: int | Mapping[str, int]) -> Compiled:
    """Compile to a problem with placeholders: `number` for each created type, or as many as it maps the type to.

    The compiled problem creates no objects. Its plans are the plans of `problem` that create no more objects than there
    are placeholders, which they take in the order of their names. Raises `InputError` for a negative number, and for a
    problem that is not classical.
    """
    check_classical(problem, "compile_object_creation", "give its classical part: problem.classical")
    if not creates_objects(problem.domain):
        return Compiled(problem, lambda plan: plan)
    types = created_types(problem.domain.actions.values())
    counts = dict.fromkeys(types, number) if isinstance(number, int) else number
    if min(counts.values(), default=0) < 0:
        raise InputError(f"{min(counts.values())} placeholders for a type", hint="give a number from 0 up")
    expansion, names = expand_in_order(problem.domain), choose_names(problem, counts)
    facts = [Atom(expansion.fresh[kind], (name,)) for kind, each in names.items() for name in each[:1]]
    facts += [Atom(expansion.follows, pair) for each in names.values() for pair in pairwise(each) if expansion.follows]
    compiled = expand_problem(problem, expansion, names, facts)
    return Compiled(compiled, lambda plan: map_plan_back(plan, problem))


def map_plan_back(plan: Plan, problem: Any) -> Plan:
    """Return `plan`, of a problem with placeholders, as a plan of `problem` that forgoes declared wishes."""
    if not plan.forgone:
        return replace(plan, problem=problem)
    pairs = zip(classical_of(problem).wishes, classical_of(plan.problem).wishes, strict=True)
    return replace(plan, problem=problem, forgone=tuple([wish for wish, guarded in pairs if guarded in plan.forgone]))


def add_placeholders(problem: Problem, counts: Mapping[str, int]) -> Problem:
    """Compile `problem` to one with these numbers of placeholders, taken in any order."""
    return _expand_in_any_order(problem, choose_names(problem, counts))


def for_steps(problem: Problem, steps: Iterable[Step], *, spare: int = 0) -> Problem:
    """Compile `problem` to one with placeholders for the objects that `steps` create, taken in any order.

    A name in the place of a created object becomes a placeholder, unless it is an object of `problem`. `spare` adds
    placeholders of each type for further steps. A problem that creates no objects is returned unchanged.
    """
    if not creates_objects(problem.domain):
        return problem
    known = {each.name for each in problem.all_objects}
    found: dict[str, str] = {}
    for step in steps:
        action = problem.domain.actions.get(step.action)
        if action is not None and len(step.arguments) == len(action.parameters) + len(action.creates):
            created = action.created_arguments(step.arguments)
            for name, kind in zip(created, action.creates.values(), strict=True):
                if name not in known and name != OPEN and _NAME.fullmatch(name):
                    found.setdefault(name, kind)
    types = created_types(problem.domain.actions.values())
    more = choose_names(problem, dict.fromkeys(types, spare), found)
    names = {each: [*(name for name, kind in found.items() if kind == each), *more[each]] for each in types}
    return _expand_in_any_order(problem, names)


def refuse_creation(domain: DomainModel, where: str) -> None:
    """Raise `UnsupportedError` if an action of `domain` creates objects; `where` completes the message."""
    name = next((name for name, action in domain.actions.items() if action.creates), None)
    if name is not None:
        hint = f"{__name__}.compile_object_creation(problem, number).problem has objects for them"
        raise UnsupportedError(f"created objects (in {name}), {where}", hint)


def created_by(source: Problem | DomainModel, step: Step) -> dict[str, str]:
    """Return the objects that `step` creates: their declared names, with their placeholders."""
    action = _action(source, step)
    names = [name.removeprefix("?") for name in action.creates]
    return dict(zip(names, action.created_arguments(step.arguments), strict=False))


def declared_arguments(source: Problem | DomainModel, step: Step) -> tuple[str, ...]:
    """Return the arguments of `step` for the declared parameters, without the created objects."""
    return _action(source, step).declared_arguments(step.arguments)


def _action(source: Problem | DomainModel, step: Step) -> Action:
    domain = source.domain if isinstance(source, Problem) else source
    if step.action not in domain.actions:
        raise InputError(f"domain '{domain.name}' has no action '{step.action}'")
    return domain.actions[step.action]


def choose_names(problem: Problem, counts: Mapping[str, int], others: Iterable[str] = ()) -> dict[str, list[str]]:
    """Return `counts` names for each type that, in any letter case, neither an object nor `others` has."""
    taken = find_taken_names(problem, others)
    types = created_types(problem.domain.actions.values())
    return {kind: list(islice(name_placeholders(kind, taken), counts.get(kind, 0))) for kind in types}


def find_taken_names(problem: Problem, others: Iterable[str] = ()) -> set[str]:
    """Return the names of the objects of `problem` and `others`, without letter case."""
    return {name.casefold() for name in (*[each.name for each in problem.all_objects], *others)}


def name_placeholders(kind: str, taken: set[str]) -> Iterator[str]:
    """Yield names for placeholders of a type that are not in `taken`, and add them to it."""
    for number in count(1):
        name = f"new-{kind.casefold()}-{number}"
        if name not in taken:
            taken.add(name)
            yield name


def _restrict_unknown(pattern: Atom, problem: Problem, created: Iterable[str], types: TypeHierarchy) -> Iterable[Atom]:
    """Restrict `pattern` to the facts of declared objects if it covers placeholders, too."""
    parameters = problem.domain.predicates[pattern.predicate].parameters
    open_ = [each.types for arg, each in zip(pattern.args, parameters, strict=True) if arg == OPEN]
    return instances_of(problem, pattern) if any(types.is_a(created, each) for each in open_) else [pattern]


def _expand_in_any_order(problem: Problem, placeholders: Mapping[str, Sequence[str]]) -> Problem:
    """Return `problem` with `placeholders` for each type, which are taken in any order."""
    expansion = expand_in_any_order(problem.domain)
    free = [Atom(expansion.fresh[kind], (name,)) for kind, names in placeholders.items() for name in names]
    return expand_problem(problem, expansion, placeholders, free)


def expand_problem(
    problem: Problem, expansion: Expansion, placeholders: Mapping[str, Sequence[str]], facts: Iterable[Atom]
) -> Problem:
    """Return `problem` over the domain of `expansion`, with `placeholders` for each type and `facts` about them."""
    domain = problem.domain
    types = TypeHierarchy(domain.types)
    guards = Guards(expansion.existing, placeholders, types)
    hard = guards.condition(problem.goal.hard)
    soft = tuple([replace(wish, condition=guards.condition(wish.condition)) for wish in problem.goal.soft])
    constraints = tuple(
        [
            each.mapped(guards.condition, lambda step: pad_pattern(step, domain.actions[step.predicate]))
            for each in problem.constraints
        ]
    )
    guarded = expansion.guarded | guards.types
    there = [Atom(expansion.existing, (each.name,)) for each in problem.all_objects if types.is_a(each.types, guarded)]
    return replace(
        problem,
        domain=expansion.domain,
        objects=(*problem.objects, *(Object(name, (kind,)) for kind, names in placeholders.items() for name in names)),
        initial=(*problem.initial, *there, *facts),
        goal=replace(problem.goal, hard=hard, soft=soft),
        constraints=constraints,
        unknown=tuple(
            [each for pattern in problem.unknown for each in _restrict_unknown(pattern, problem, placeholders, types)]
        ),
        ran=tuple([pad_pattern(action, domain.actions[action.predicate]) for action in problem.ran]),
    )
