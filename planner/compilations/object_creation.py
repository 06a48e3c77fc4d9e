"""Problems in which what may be created has placeholders: objects that do not exist before an action creates them.

A creating action gets its created objects as further parameters, after the declared ones. It takes placeholders of
exactly their types that no earlier step has taken. Guards say of everything else that a variable does not stand for
what does not exist.

No fact is about an object that does not exist: no initial fact is, effects write facts of objects that exist or that
they create, and axioms are guarded. So a variable needs no guard where some fact about it must hold anyway.

What can be reached with deletes ignored, however many objects are created.

Objects that do not exist yet: planning with placeholders for what actions create.

An action with `creates={"ticket": Ticket}` has the placeholder of the ticket as one argument more:
`create_ticket(alice, new-ticket-1)`. What is here compiles a problem with such actions to one without, in the terms of
the model alone, so that the plan checker, which shares nothing with grounding and search, can use it as search does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import count, islice, pairwise

from planner.compilations import Compilation, same_steps
from planner.errors import InputError, UnsupportedError
from planner.lightweight import Any, Final, dataclass, replace
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
    children,
    conjunction,
    conjuncts,
    with_children,
)
from planner.model.problem import Problem
from planner.model.unknown_facts import instances_of
from planner.plan import Plan, Step
from planner.problem_kinds import check_classical, classical_of


class Guards:
    """Adds facts of `predicate`, "it exists", to conditions on variables that may be of a type in `created`."""

    def __init__(self, predicate: str, created: Iterable[str], types: TypeHierarchy) -> None:
        self._predicate = predicate
        self._created = list(created)
        self._types = types
        self.types: set[str] = set()
        """The types of the variables that were guarded: their objects have to be said to exist."""

    def condition(self, formula: Formula, variables: Iterable[Variable] = ()) -> Formula:
        """Return `formula` for what exists: guarded inside, and where it says nothing of some of `variables`."""
        needed = self._needed(variables, mentioned(formula))
        inside = self._inside(formula)
        return conjunction([*needed, *conjuncts(inside)]) if needed else inside

    def effect(self, when: When) -> When:
        """Return the conditional effect `when` for what exists."""
        return replace(when, requires=self.condition(when.requires, when.variables))

    def axiom(self, axiom: Axiom) -> Axiom:
        """Return `axiom`, which derives nothing about what does not exist."""
        return replace(axiom, condition=self.condition(axiom.condition, axiom.parameters))

    def _inside(self, formula: Formula) -> Formula:
        match formula:
            case Exists(variables, part):
                return Exists(variables, self.condition(part, variables))
            case Forall(variables, part):
                needed = self._needed(variables, mentioned(part, positive=False))
                inside = self._inside(part)
                return Forall(variables, Imply(conjunction(needed), inside) if needed else inside)
            case _:
                return with_children(formula, tuple([self._inside(part) for part in children(formula)]))

    def _needed(self, variables: Iterable[Variable], known: set[Term]) -> list[Formula]:
        found: list[Formula] = []
        for variable in variables:
            if variable.name not in known and self._types.is_a(self._created, variable.types):
                self.types.update(variable.types)
                found.append(Atom(self._predicate, (variable.name,)))
        return found


def mentioned(formula: Formula, *, positive: bool = True) -> set[Term]:
    """Return terms of which some fact must hold wherever `formula` does; or does not, unless `positive`."""
    match formula:
        case Atom(_, args):
            return set(args) if positive else set()
        case Not(part):
            return mentioned(part, positive=not positive)
        case And(parts) | Or(parts) if parts:
            found = [mentioned(part, positive=positive) for part in parts]
            return set.union(*found) if isinstance(formula, And) is positive else set.intersection(*found)
        case Imply(premise, conclusion):
            return mentioned(Or((Not(premise), conclusion)), positive=positive)
        case Exists(variables, part) | Forall(variables, part) if isinstance(formula, Exists) is positive:
            return mentioned(part, positive=positive) - {variable.name for variable in variables}
        case _:
            return set()


EXISTING: Final = "existing"
FOLLOWS: Final = "follows"
NEXT: Final = "next"
UNBORN: Final = "unborn"


def created_types(actions: Iterable[Action]) -> dict[str, int]:
    """Return the types of what `actions` create, each with the most that one step creates."""
    found: dict[str, int] = {}
    for action in actions:
        types = list(action.creates.values())
        found.update({name: max(found.get(name, 0), types.count(name)) for name in types})
    return found


@dataclass(frozen=True, slots=True)
class Expansion:
    """A domain whose actions take placeholders; `fresh` has the predicate for those of each type that may be taken.

    `existing` says of an object that it exists, for variables of the types in `guarded`. Where placeholders are taken
    in order, `follows` says which comes after which.
    """

    domain: DomainModel
    existing: str
    guarded: frozenset[str]
    fresh: Mapping[str, str]
    follows: str | None


@cache_per_domain
def in_order(domain: DomainModel) -> Expansion:
    """Return `domain` with placeholders to be taken in a given order: search need not look at their permutations."""
    return _expansion(domain, NEXT, follows=True)


@cache_per_domain
def in_any_order(domain: DomainModel) -> Expansion:
    """Return `domain` with placeholders to be taken in whatever order."""
    return _expansion(domain, UNBORN, follows=False)


def _expansion(domain: DomainModel, prefix: str, *, follows: bool) -> Expansion:
    created = created_types(domain.actions.values())
    taken = set(domain.predicates)
    existing = _free(EXISTING, taken)
    fresh = {kind: _free(f"{prefix}-{kind}", taken) for kind in created}
    order = _free(FOLLOWS, taken) if follows else None
    guards = Guards(existing, created, TypeHierarchy(domain.types))
    writer = _Writer(guards, domain.actions, existing, fresh, order)
    predicates = [Predicate(existing, (Variable("?x"),))]
    predicates += [Predicate(name, (Variable("?x", (kind,)),)) for kind, name in fresh.items()]
    predicates += [Predicate(order, (Variable("?x"), Variable("?y")))] if order else []
    expanded = replace(
        domain,
        predicates={**domain.predicates, **{each.name: each for each in predicates}},
        actions={name: writer.action(action) for name, action in domain.actions.items()},
        axioms=tuple([guards.axiom(axiom) for axiom in domain.axioms]),
    )
    return Expansion(expanded, existing, frozenset(guards.types), fresh, order)


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes actions; `declared` has them all as they are declared."""

    guards: Guards
    declared: Mapping[str, Action]
    existing: str
    fresh: Mapping[str, str]
    follows: str | None

    def action(self, action: Action) -> Action:
        """Return `action` with parameters for what it creates, guarded."""
        requires = self.guards.condition(action.requires, action.parameters)
        when = tuple([self.guards.effect(effect) for effect in action.when])
        after = tuple([padded(pattern, self.declared[pattern.predicate]) for pattern in action.after])
        if not action.creates:
            return replace(action, requires=requires, when=when, after=after)
        needs, provides, chains = self._birth(action)
        return replace(
            action,
            parameters=action.step_parameters,
            requires=And((*conjuncts(requires), *needs)),
            provides=(*action.provides, *provides),
            when=(*when, *chains),
            after=after,
            cost=_declared_costs(action.cost, len(action.parameters)),
            uses={name: _declared_costs(terms, len(action.parameters)) for name, terms in action.uses.items()},
            creates={},
        )

    def _birth(self, action: Action) -> tuple[list[Formula], list[Literal], list[When]]:
        """Return what is needed for the created objects, what comes of them, and who may be created next."""
        needs: list[Formula] = []
        provides: list[Literal] = [Atom(self.existing, (name,)) for name in action.creates]
        chains: list[When] = []
        for kind, fresh in self.fresh.items():
            born = [name for name, wanted in action.creates.items() if wanted == kind]
            if not born:
                continue
            if self.follows is None:
                needs += [Atom(fresh, (name,)) for name in born]
                needs += [Not(Equals(one, other)) for place, one in enumerate(born) for other in born[:place]]
                provides += [Not(Atom(fresh, (name,))) for name in born]
            else:
                needs.append(Atom(fresh, (born[0],)))
                needs += [Atom(self.follows, pair) for pair in pairwise(born)]
                provides.append(Not(Atom(fresh, (born[0],))))
                chains.append(_chain(born[-1], kind, fresh, self.follows))
        return needs, provides, chains


def _chain(last: str, kind: str, fresh: str, follows: str) -> When:
    """Return the effect that lets the placeholder after `last` be created next."""
    then = f"{last}-next"
    return When(Atom(follows, (last, then)), (Atom(fresh, (then,)),), (), (Variable(then, (kind,)),))


def padded(pattern: Atom, action: Action) -> Atom:
    """Return `pattern`, of steps of `action`, with open arguments for what it creates."""
    missing = len(action.parameters) + len(action.creates) - len(pattern.args)
    return Atom(pattern.predicate, (*pattern.args, *[OPEN] * missing))


def _declared_costs(terms: Iterable[CostTerm], arity: int) -> tuple[CostTerm, ...]:
    return tuple([_declared_cost(term, arity) for term in terms])


def _declared_cost(term: CostTerm, arity: int) -> CostTerm:
    """Return a cost that knows nothing of what is created."""
    if not isinstance(term, CostFunction):
        return term
    function = term.function
    return CostFunction(lambda *names: function(*names[:arity]), term.resolution)


_NAME: Final = re.compile(r"[^\s(),;?]+")


def compile_object_creation(problem: Problem, number: int | Mapping[str, int]) -> Compilation:
    """Compile to a problem with `number` placeholders for each created type, or as many as it maps the type to.

    The compiled problem creates nothing: its plans are the plans of `problem` that create no more than that,
    placeholders taken in the order of their names. Raises `InputError` for a negative number, and for what is no
    classical problem.
    """
    check_classical(problem, "compile_object_creation", "give its classical part: problem.classical")
    if not creates_objects(problem.domain):
        return same_steps(problem, problem)
    types = created_types(problem.domain.actions.values())
    counts = dict.fromkeys(types, number) if isinstance(number, int) else number
    if min(counts.values(), default=0) < 0:
        raise InputError(f"{min(counts.values())} placeholders for a type", hint="give a number from 0 up")
    compiled = _expanded(problem, in_order(problem.domain), _named(problem, counts))
    return Compilation(compiled, lambda plan: declared_plan(plan, problem))


def declared_plan(plan: Plan, problem: Any) -> Plan:
    """Return `plan`, of a problem with placeholders, as one of `problem`; it forgoes the wishes as declared."""
    if not plan.forgone:
        return replace(plan, problem=problem)
    pairs = zip(classical_of(problem).wishes, classical_of(plan.problem).wishes, strict=True)
    return replace(plan, problem=problem, forgone=tuple([wish for wish, guarded in pairs if guarded in plan.forgone]))


def with_placeholders_in_any_order(problem: Problem, counts: Mapping[str, int]) -> Problem:
    """Return the same with placeholders that may be taken in whatever order."""
    return _expanded(problem, in_any_order(problem.domain), _named(problem, counts))


def for_steps(problem: Problem, steps: Iterable[Step], *, spare: int = 0) -> Problem:
    """Return `problem` with what the creating steps among `steps` name as placeholders, to be created in any order.

    Whatever name stands where something is created and is no object of `problem` becomes a placeholder. With `spare`,
    there are so many more of each type, for steps that may come to these. A problem that creates nothing is returned
    unchanged.
    """
    if not creates_objects(problem.domain):
        return problem
    known = {each.name for each in problem.all_objects}
    found: dict[str, str] = {}
    for step in steps:
        action = problem.domain.actions.get(step.action)
        if action is not None and len(step.arguments) == len(action.parameters) + len(action.creates):
            created = step.arguments[len(action.parameters) :]
            for name, kind in zip(created, action.creates.values(), strict=True):
                if name not in known and name != OPEN and _NAME.fullmatch(name):
                    found.setdefault(name, kind)
    types = created_types(problem.domain.actions.values())
    more = _named(problem, dict.fromkeys(types, spare), found)
    names = {each: [*(name for name, kind in found.items() if kind == each), *more[each]] for each in types}
    return _expanded(problem, in_any_order(problem.domain), names)


def refuse_creation(domain: DomainModel, where: str) -> None:
    """Raise `UnsupportedError` if an action of `domain` creates objects; `where` says where nothing stands for them."""
    name = next((name for name, action in domain.actions.items() if action.creates), None)
    if name is not None:
        hint = f"{__name__}.compile_object_creation(problem, number).problem has objects for them"
        raise UnsupportedError(f"created objects (in {name}), {where}", hint)


def created_by(source: Problem | DomainModel, step: Step) -> dict[str, str]:
    """Return what `step` creates: names of created objects, as declared, and the placeholders that stand for them."""
    action = _action(source, step)
    names = [name.removeprefix("?") for name in action.creates]
    return dict(zip(names, step.arguments[len(action.parameters) :], strict=False))


def declared_arguments(source: Problem | DomainModel, step: Step) -> tuple[str, ...]:
    """Return the arguments of `step` without what it creates: those of the declared parameters."""
    return step.arguments[: len(_action(source, step).parameters)]


def _action(source: Problem | DomainModel, step: Step) -> Action:
    domain = source.domain if isinstance(source, Problem) else source
    if step.action not in domain.actions:
        raise InputError(f"domain '{domain.name}' has no action '{step.action}'")
    return domain.actions[step.action]


def _named(problem: Problem, counts: Mapping[str, int], others: Iterable[str] = ()) -> dict[str, list[str]]:
    """Return as many names for each type as `counts` says, none that an object has, or one of `others`, in any case."""
    taken = {name.casefold() for name in (*[each.name for each in problem.all_objects], *others)}
    found: dict[str, list[str]] = {}
    for kind in created_types(problem.domain.actions.values()):
        candidates = (f"new-{kind.casefold()}-{number}" for number in count(1))
        found[kind] = list(islice((name for name in candidates if name not in taken), counts.get(kind, 0)))
        taken.update(found[kind])
    return found


def _of_old(pattern: Atom, problem: Problem, created: Iterable[str], types: TypeHierarchy) -> Iterable[Atom]:
    """Return what `pattern` covers of the objects of `problem`: of what does not exist yet, nothing is unknown."""
    parameters = problem.domain.predicates[pattern.predicate].parameters
    open_ = [each.types for arg, each in zip(pattern.args, parameters, strict=True) if arg == OPEN]
    return instances_of(problem, pattern) if any(types.is_a(created, each) for each in open_) else [pattern]


def _expanded(problem: Problem, expansion: Expansion, placeholders: Mapping[str, Sequence[str]]) -> Problem:
    """Return `problem` over the domain of `expansion`, with these placeholders for each type."""
    domain = problem.domain
    types = TypeHierarchy(domain.types)
    guards = Guards(expansion.existing, placeholders, types)
    hard = guards.condition(problem.goal.hard)
    soft = tuple([replace(wish, condition=guards.condition(wish.condition)) for wish in problem.goal.soft])
    constraints = tuple(
        [
            each.mapped(guards.condition, lambda step: padded(step, domain.actions[step.predicate]))
            for each in problem.constraints
        ]
    )
    guarded = expansion.guarded | guards.types
    facts = [Atom(expansion.existing, (each.name,)) for each in problem.all_objects if types.is_a(each.types, guarded)]
    for kind, names in placeholders.items():
        free = names if expansion.follows is None else names[:1]
        facts += [Atom(expansion.fresh[kind], (name,)) for name in free]
        if expansion.follows is not None:
            facts += [Atom(expansion.follows, pair) for pair in pairwise(names)]
    return replace(
        problem,
        domain=expansion.domain,
        objects=(*problem.objects, *(Object(name, (kind,)) for kind, names in placeholders.items() for name in names)),
        initial=(*problem.initial, *facts),
        goal=replace(problem.goal, hard=hard, soft=soft),
        constraints=constraints,
        unknown=tuple([each for pattern in problem.unknown for each in _of_old(pattern, problem, placeholders, types)]),
        ran=tuple([padded(action, domain.actions[action.predicate]) for action in problem.ran]),
    )
