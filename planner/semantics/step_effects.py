"""What applying an action changes: added, retracted, modified in place, and gone stale with any of these.

Steps made ready: what an action with its arguments asks for and does, worked out once for each.

A plan of a hundred thousand steps has a few hundred different ones. What depends on the state alone is left: facts to
be looked up, and effects with conditions.

The exact cost of a step, and what it uses of resources.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import itemgetter

from planner.errors import InputError, PlanError
from planner.lightweight import Final, dataclass
from planner.model.actions import Action, CostFunction, CostTerm, When, negated_atoms, positive_atoms
from planner.model.domain import DomainModel, Predicate, cache_per_domain
from planner.model.formulas import OPEN, Atom, Number, is_variable
from planner.model.problem import Metric, Problem
from planner.plan import exact_sum
from planner.semantics.axioms import World
from planner.semantics.condition_solver import All, Binding, Compiler, Condition, Domains, Lookup, Row, State, Universe


@dataclass(frozen=True, slots=True)
class Changes:
    """What one step does in one state.

    `provided` are the facts it gives, whether they held before or not; `retracted` are the patterns whose matches end
    unless provided; `modified` the items it writes by `modifies`. `added` and `removed` are the facts whose truth
    changes.
    """

    provided: tuple[Atom, ...]
    retracted: tuple[Atom, ...]
    modified: tuple[Atom, ...]
    added: tuple[Atom, ...]
    removed: tuple[Atom, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Effect:
    """A declared effect, made ready."""

    source: When
    domains: Domains
    condition: Condition

    @classmethod
    def of(cls, source: When, universe: Universe, compiler: Compiler) -> Effect:
        """Return `source`, made ready."""
        return cls(source, universe.domains(source.variables), compiler.compile(source.requires))


class Staleness:
    """Which facts end when an item is written: the transitive closure of `stale_with`."""

    def __init__(self, domain: DomainModel) -> None:
        self._dependants: dict[str, list[tuple[Atom, Predicate]]] = {}
        for predicate in domain.predicates.values():
            for pattern in predicate.stale_with:
                self._dependants.setdefault(pattern.predicate, []).append((pattern, predicate))

    def __bool__(self) -> bool:
        """Return whether anything goes stale in this domain."""
        return bool(self._dependants)

    def of(self, written: Iterable[Atom]) -> list[Atom]:
        """Return patterns of all facts that go stale when the items `written` are, links between them included."""
        queue = list(written) if self._dependants else []
        found: dict[Atom, None] = {}
        while queue:
            item = queue.pop()
            for pattern, predicate in self._dependants.get(item.predicate, ()):
                binding = match_item(pattern, item)
                if binding is not None:
                    names = [parameter.name for parameter in predicate.parameters]
                    stale = Atom(predicate.name, tuple([binding.get(name, OPEN) for name in names]))
                    if stale not in found:
                        found[stale] = None
                        queue.append(stale)
        return list(found)


@cache_per_domain
def staleness_of(domain: DomainModel) -> Staleness:
    """Return what goes stale with what in `domain`."""
    return Staleness(domain)


def match_item(pattern: Atom, item: Atom) -> Binding | None:
    """Return what the written `item` says about the variables of `pattern`; None where it is another item."""
    binding: Binding = {}
    for mine, other in zip(pattern.args, item.args, strict=True):
        if OPEN in (mine, other):
            continue
        if is_variable(mine):
            if binding.setdefault(mine, other) != other:
                return None
        elif mine != other:
            return None
    return binding


def compute_changes(world: World, effects: Iterable[Effect], staleness: Staleness, binding: Binding) -> Changes:
    """Return what `effects` do in `world`: every condition is evaluated in the state before."""
    provided: dict[Atom, None] = {}
    ended: dict[Atom, None] = {}
    modified: dict[Atom, None] = {}
    for effect in effects:
        for found in world.solver.solutions([effect.condition], effect.domains, binding):
            provided.update((atom.substitute(found), None) for atom in positive_atoms(effect.source.provides))
            ended.update((atom.substitute(found), None) for atom in negated_atoms(effect.source.provides))
            modified.update((atom.substitute(found), None) for atom in effect.source.modifies)
    stale = staleness.of([*provided, *ended, *modified])
    retracted = {**ended, **{item: None for item in modified if OPEN in item.args}, **dict.fromkeys(stale)}
    matches = {fact: None for pattern in retracted for fact in world.state.matching(pattern)}
    return Changes(
        provided=tuple(provided),
        retracted=tuple(retracted),
        modified=tuple(modified),
        added=tuple([fact for fact in provided if fact not in world.state]),
        removed=tuple([fact for fact in matches if fact not in provided]),
    )


def cost_of(problem: Problem, action: Action, binding: Binding) -> Number:
    """Return what a step costs, exactly; `binding` gives the action's parameters in their order.

    Raises `PlanError` where a static value is missing or negative, `DeclarationError` where a function gives none.
    """
    if problem.metric is Metric.LENGTH:
        return 1
    return exact_sum(_term(problem, term, binding, "cost") for term in action.cost)


def uses_of(problem: Problem, action: Action, binding: Binding) -> dict[str, Number]:
    """Return how much of each resource a step uses, exactly; resources that `action` does not name are left out.

    Raises as `cost_of` does.
    """
    return {
        resource: exact_sum(_term(problem, term, binding, f"use of {resource}") for term in terms)
        for resource, terms in action.uses.items()
    }


def _term(problem: Problem, term: CostTerm, binding: Binding, what: str) -> Number:
    match term:
        case CostFunction():
            return term.value(tuple(binding.values()))
        case Atom():
            key = term.substitute(binding)
            if key not in problem.values:
                raise PlanError(f"its {what} {key} has no value in problem '{problem.name}'")
            return _checked(problem.values[key], f"its {what} {key}")
        case _:
            return _checked(term, f"its {what}")


def _checked(number: Number, name: str) -> Number:
    if number < 0:
        raise PlanError(f"{name} is {number}, and that is never negative")
    return number


MOST_KEPT: Final = 50_000
"""So many steps are kept ready: a long plan whose steps all differ must not take many times its own memory."""

Filler = Callable[[Row], Row]
"""Gives the arguments of a pattern when it is given those of the action."""

Facts = dict[tuple[str, Row], Atom]
"""Atoms by predicate and arguments."""

Test = tuple[str, Row, bool]
"""A fact, and whether it must hold or must not."""


@dataclass(frozen=True, slots=True, eq=False)
class FixedEffects:
    """Effects that are the same in all states; `ending` are facts that end unless they are provided, too."""

    provided: tuple[Atom, ...]
    retracted: tuple[Atom, ...]
    modified: tuple[Atom, ...]
    given: Facts
    ending: Facts
    open: tuple[Atom, ...]

    @classmethod
    def of(cls, provided: Facts, ended: Facts, modified: Facts, staleness: Staleness) -> FixedEffects:
        """Return what these patterns do, and all that goes stale with them."""
        items = {key: item for key, item in modified.items() if OPEN in item.args}
        retracted = {**ended, **items}
        if staleness:
            stale = staleness.of([*provided.values(), *ended.values(), *modified.values()])
            retracted |= {(item.predicate, item.args): item for item in stale}
        ending = {key: fact for key, fact in retracted.items() if OPEN not in fact.args and key not in provided}
        patterns = tuple([pattern for pattern in retracted.values() if OPEN in pattern.args])
        return cls(
            tuple(provided.values()), tuple(retracted.values()), tuple(modified.values()), provided, ending, patterns
        )

    def changes(self, state: State) -> Changes:
        """Return what these effects do in `state`."""
        tables = state.tables
        new = [fact for (name, row), fact in self.given.items() if name not in tables or row not in tables[name].rows]
        old = [fact for (name, row), fact in self.ending.items() if name in tables and row in tables[name].rows]
        for pattern in self.open:
            old += [fact for fact in state.matching(pattern) if (fact.predicate, fact.args) not in self.given]
        if self.open and (self.ending or len(self.open) > 1):
            old = list(dict.fromkeys(old))
        return Changes(self.provided, self.retracted, self.modified, tuple(new), tuple(old))


@dataclass(frozen=True, slots=True, eq=False)
class CompiledStep:
    """An action with its arguments: `tests` and `rest` must hold before it; `fixed` is None where its effects vary."""

    binding: Binding
    tests: tuple[Test, ...]
    rest: tuple[Condition, ...]
    fixed: FixedEffects | None
    cost: Number | InputError


def tests_pass(tests: Iterable[Test], state: State) -> bool:
    """Return whether the facts of `state` are as `tests` say."""
    tables = state.tables
    for name, row, positive in tests:
        if (name in tables and row in tables[name].rows) is not positive:
            return False
    return True


class StepCompiler:
    """Makes the steps of one action ready, from its condition and effects; `derived` says what no state has."""

    def __init__(self, problem: Problem, action: Action, requires: Condition, derived: Callable[[str], bool]) -> None:
        self._problem = problem
        self._action = action
        self._names = [parameter.name for parameter in action.parameters]
        places = {name: place for place, name in enumerate(self._names)}
        lookups, self._rest = split_condition(requires, derived)
        self._lookups = [(each.predicate, make_filler(each.args, places), each.positive) for each in lookups]
        self._places = places
        self._patterns: list[list[tuple[str, Filler]]] | None = None
        self._stale: Staleness | None = None

    def with_effects(self, effects: Iterable[Effect], staleness: Staleness) -> StepCompiler:
        """Note the effects, where they are the same in all states."""
        found: list[list[Atom]] = [[], [], []]
        for effect in effects:
            condition = effect.condition
            if effect.domains or not isinstance(condition, All) or condition.parts:
                return self
            found[0] += positive_atoms(effect.source.provides)
            found[1] += negated_atoms(effect.source.provides)
            found[2] += effect.source.modifies
        self._stale = staleness
        self._patterns = [[(each.predicate, make_filler(each.args, self._places)) for each in atoms] for atoms in found]
        return self

    def ready(self, arguments: Row) -> CompiledStep:
        """Return the action with `arguments`, which fit it."""
        binding = dict(zip(self._names, arguments, strict=True))
        tests = tuple([(name, fill(arguments), positive) for name, fill, positive in self._lookups])
        return CompiledStep(binding, tests, self._rest, self._fixed(arguments), self._cost(binding))

    def _fixed(self, arguments: Row) -> FixedEffects | None:
        if self._patterns is None or self._stale is None:
            return None
        provided, ended, modified = [_filled(patterns, arguments) for patterns in self._patterns]
        return FixedEffects.of(provided, ended, modified, self._stale)

    def _cost(self, binding: Binding) -> Number | InputError:
        try:
            return cost_of(self._problem, self._action, binding)
        except InputError as error:
            return error


def _filled(patterns: Iterable[tuple[str, Filler]], arguments: Row) -> Facts:
    """Return `patterns` with `arguments`, each fact once."""
    found: Facts = {}
    for name, fill in patterns:
        row = fill(arguments)
        found[name, row] = Atom(name, row)
    return found


def split_condition(condition: Condition, derived: Callable[[str], bool]) -> tuple[list[Lookup], tuple[Condition, ...]]:
    """Return what `condition` asks for in the tables of a state, and the rest; together they are the condition."""
    lookups, rest = [], []
    for part in _parts(condition):
        if isinstance(part, Lookup) and not derived(part.predicate):
            lookups.append(part)
        else:
            rest.append(part)
    return lookups, tuple(rest)


def _parts(condition: Condition) -> Iterator[Condition]:
    stack = [condition]
    while stack:
        part = stack.pop()
        if isinstance(part, All):
            stack.extend(reversed(part.parts))
        else:
            yield part


def make_filler(args: tuple[str, ...], places: Mapping[str, int]) -> Filler:
    """Return what gives `args` with values for variables, when it is given these in the order that `places` says."""
    known = [places[arg] for arg in args if arg in places]
    if len(known) < len(args):
        pairs = [(arg, places.get(arg)) for arg in args]
        return lambda row: tuple([arg if place is None else row[place] for arg, place in pairs])
    if len(known) > 1:
        return itemgetter(*known)
    return lambda row: tuple([row[place] for place in known])
