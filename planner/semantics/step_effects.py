"""Effects, costs and resource use of steps.

A step adds facts, retracts patterns, modifies items in place, and makes facts stale that depend on any of these.
`StepCompiler` instantiates an action once for each tuple of arguments: a plan of a hundred thousand steps has a few
hundred different ones. What remains for each state are lookups of facts, and conditional effects.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from operator import itemgetter

from planner.errors import InputError, PlanError
from planner.lightweight import Final, dataclass
from planner.model.actions import Action, CostFunction, CostTerm, NumericEffect, When, negated_atoms, positive_atoms
from planner.model.arithmetic import evaluate_static
from planner.model.domain import DomainModel, Predicate, cache_per_domain
from planner.model.formulas import OPEN, Arithmetic, Atom, Number, is_variable
from planner.model.problem import COST, Metric, Problem
from planner.plan import exact_sum
from planner.semantics.axioms import World
from planner.semantics.condition_solver import All, Binding, Compiler, Condition, Domains, Lookup, Row, State, Universe
from planner.semantics.numeric_state import NumberChange
from planner.semantics.undefined_values import UndefinedValue, describe_missing


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes that one step makes in one state.

    The step makes the facts `provided` true, whether they held before or not. Facts that a pattern in `retracted`
    covers become false unless they are provided. `modified` are the items that `modifies` writes. The truth of the
    facts in `added` and `removed` changes, and the values of the fluents in `numbers`.
    """

    provided: tuple[Atom, ...]
    retracted: tuple[Atom, ...]
    modified: tuple[Atom, ...]
    added: tuple[Atom, ...]
    removed: tuple[Atom, ...]
    numbers: tuple[NumberChange, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Effect:
    """A declared effect with its compiled condition."""

    source: When
    domains: Domains
    condition: Condition

    @classmethod
    def of(cls, source: When, universe: Universe, compiler: Compiler) -> Effect:
        """Compile the declared effect `source`."""
        return cls(source, universe.domains(source.variables), compiler.compile(source.requires))


class Staleness:
    """The transitive closure of `stale_with`: which facts become false when an item is written."""

    def __init__(self, domain: DomainModel) -> None:
        self._dependants: dict[str, list[tuple[Atom, Predicate]]] = {}
        for predicate in domain.predicates.values():
            for pattern in predicate.stale_with:
                self._dependants.setdefault(pattern.predicate, []).append((pattern, predicate))

    def __bool__(self) -> bool:
        """Return whether anything goes stale in this domain."""
        return bool(self._dependants)

    def of(self, written: Iterable[Atom]) -> list[Atom]:
        """Return patterns of all facts that go stale when an action writes the items `written`, directly or not."""
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
    """Return the staleness relation of `domain`."""
    return Staleness(domain)


def match_item(pattern: Atom, item: Atom) -> Binding | None:
    """Bind the variables of `pattern` to the arguments of the written `item`; None where they do not match."""
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
    """Return the changes that `effects` make in `world`; every condition is evaluated in the state before the step."""
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


def find_numeric_effects(world: World, effects: Iterable[Effect], binding: Binding) -> list[NumericEffect]:
    """Return the ground numeric effects of `effects` in `world`: one for each binding of their variables."""
    found: list[NumericEffect] = []
    for effect in effects:
        if effect.source.numbers:
            solutions = world.solver.solutions([effect.condition], effect.domains, binding)
            names = list(effect.domains)
            once = {tuple([solution[name] for name in names]): solution for solution in solutions}
            found += [each.substitute(solution) for solution in once.values() for each in effect.source.numbers]
    return found


def cost_of(problem: Problem, action: Action, binding: Binding) -> Number:
    """Return the exact cost of a step; `binding` has the action's parameters in their order.

    Raises `PlanError` where a static value is missing or negative, `DeclarationError` where a function gives none.
    """
    if problem.metric is Metric.LENGTH:
        return 1
    return exact_sum(_evaluate_term(problem, term, binding, "cost") for term in action.cost)


def uses_of(problem: Problem, action: Action, binding: Binding) -> dict[str, Number]:
    """Return the exact use of each resource that `action` names by a step.

    Raises as `cost_of` does.
    """
    return {
        resource: exact_sum(_evaluate_term(problem, term, binding, f"use of {resource}") for term in terms)
        for resource, terms in action.uses.items()
    }


def spending_of(problem: Problem, action: Action, binding: Binding) -> dict[str, Number]:
    """Return what budgets count of a step: its use of each resource, and the cost that its action states.

    Raises as `cost_of` does.
    """
    return {**uses_of(problem, action, binding), COST: cost_of(problem, action, binding)}


def _evaluate_term(problem: Problem, term: CostTerm, binding: Binding, what: str) -> Number:
    name = f"its {what}"
    match term:
        case CostFunction():
            return term.value(tuple(binding.values()))
        case Atom():
            key = term.substitute(binding)
            name = f"{name} {key}"
            if key not in problem.values:
                raise UndefinedValue(f"{name} has no value in problem '{problem.name}'")
            number = problem.values[key]
        case Arithmetic():
            missing = describe_missing(term, name, problem, binding)
            if missing:
                raise UndefinedValue(missing)
            number = evaluate_static(term, problem.values, binding, name, problem.name)
        case _:
            number = term
    if number < 0:
        raise PlanError(f"{name} is {number}, and that is never negative")
    return number


MOST_KEPT: Final = 50_000
"""Most compiled steps that are cached: a long plan whose steps all differ must not take many times its own memory."""

Filler = Callable[[Row], Row]
"""A function from the arguments of an action to those of a pattern."""

Facts = dict[tuple[str, Row], Atom]
"""Atoms by predicate and arguments."""

Test = tuple[str, Row, bool]
"""A fact, and whether it must hold or must not."""


@dataclass(frozen=True, slots=True, eq=False)
class FixedEffects:
    """Effects that are the same in all states.

    `given` are the facts that become true, `ending` those that become false, and `open` the patterns with open
    arguments whose facts become false.
    """

    provided: tuple[Atom, ...]
    retracted: tuple[Atom, ...]
    modified: tuple[Atom, ...]
    given: Facts
    ending: Facts
    open: tuple[Atom, ...]

    @classmethod
    def of(cls, provided: Facts, ended: Facts, modified: Facts, staleness: Staleness) -> FixedEffects:
        """Join these patterns with all that goes stale with them."""
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
        """Return the changes that these effects make in `state`."""
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
    """An action with its arguments.

    Its precondition is the conjunction of `tests` and `rest`. `fixed` is None where its effects depend on the state.
    """

    binding: Binding
    tests: tuple[Test, ...]
    rest: tuple[Condition, ...]
    fixed: FixedEffects | None
    cost: Number | InputError


def tests_pass(tests: Iterable[Test], state: State) -> bool:
    """Return whether all `tests` hold in `state`."""
    tables = state.tables
    for name, row, positive in tests:
        if (name in tables and row in tables[name].rows) is not positive:
            return False
    return True


class StepCompiler:
    """Compiles the steps of one action; `is_derived` tells derived predicates, which the tables of a state lack."""

    def __init__(
        self,
        problem: Problem,
        action: Action,
        requires: Condition,
        effects: Collection[Effect],
        staleness: Staleness,
        *,
        is_derived: Callable[[str], bool],
    ) -> None:
        self._problem = problem
        self._action = action
        self._names = [parameter.name for parameter in action.parameters]
        places = {name: place for place, name in enumerate(self._names)}
        lookups, self._rest = split_condition(requires, is_derived)
        self._lookups = [(each.predicate, make_filler(each.args, places), each.positive) for each in lookups]
        self._staleness = staleness
        sources = [effect.source for effect in effects]
        self._patterns: list[list[tuple[str, Filler]]] | None = None
        """What the effects provide, retract and modify; None where they depend on the state."""
        if all(
            not effect.domains and isinstance(effect.condition, All) and not effect.condition.parts
            for effect in effects
        ):
            provided = [atom for source in sources for atom in positive_atoms(source.provides)]
            ended = [atom for source in sources for atom in negated_atoms(source.provides)]
            modified = [atom for source in sources for atom in source.modifies]
            written = (provided, ended, modified)
            self._patterns = [[(each.predicate, make_filler(each.args, places)) for each in atoms] for atoms in written]

    def compile_step(self, arguments: Row) -> CompiledStep:
        """Instantiate the action with `arguments` of the right number and types."""
        binding = dict(zip(self._names, arguments, strict=True))
        tests = tuple([(name, fill(arguments), positive) for name, fill, positive in self._lookups])
        fixed = None
        if self._patterns is not None:
            rows = [[(name, fill(arguments)) for name, fill in patterns] for patterns in self._patterns]
            provided, ended, modified = [{key: Atom(*key) for key in keys} for keys in rows]
            fixed = FixedEffects.of(provided, ended, modified, self._staleness)
        cost: Number | InputError
        try:
            cost = cost_of(self._problem, self._action, binding)
        except InputError as error:
            cost = error
        return CompiledStep(binding, tests, self._rest, fixed, cost)


def split_condition(
    condition: Condition, is_derived: Callable[[str], bool]
) -> tuple[list[Lookup], tuple[Condition, ...]]:
    """Split a conjunction into lookups in the tables of a state and the other conjuncts."""
    lookups: list[Lookup] = []
    rest: list[Condition] = []
    stack = [condition]
    while stack:
        part = stack.pop()
        if isinstance(part, All):
            stack.extend(reversed(part.parts))
        elif isinstance(part, Lookup) and not is_derived(part.predicate):
            lookups.append(part)
        else:
            rest.append(part)
    return lookups, tuple(rest)


def make_filler(args: tuple[str, ...], places: Mapping[str, int]) -> Filler:
    """Return a function from an action's arguments to `args`, whose variables stand at these `places` among them."""
    known = [places[arg] for arg in args if arg in places]
    if len(known) < len(args):
        pairs = [(arg, places.get(arg)) for arg in args]
        return lambda row: tuple([arg if place is None else row[place] for arg, place in pairs])
    if len(known) > 1:
        return itemgetter(*known)
    return lambda row: tuple([row[place] for place in known])
