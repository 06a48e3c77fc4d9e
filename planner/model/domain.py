"""The immutable domain: types, predicates, functions, actions and derived predicates.

`cache_per_domain` keeps with a domain what functions compute from it alone: callers may search a domain of ten thousand
actions again and again, for one goal after the other.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from planner.errors import UnsupportedError
from planner.lightweight import TYPE_CHECKING, Any, Final, TypeVar, dataclass, field
from planner.model.actions import Action, CostTerm, DurationRange, NumericEffect, Outcome, Stated, When
from planner.model.formulas import Atom, Formula, Not, Number, Object, Variable, comparisons_in
from planner.model.renames import NO_RENAMES, Renames
from planner.model.spelling import Spelling

if TYPE_CHECKING:
    from decimal import Decimal

    from planner.errors import Location

Found = TypeVar("Found")


class Memo(dict[Any, Any]):
    """Results of functions of one domain, by function; copies and pickles start empty."""

    def __reduce__(self) -> tuple[type[Memo], tuple[()]]:
        return Memo, ()


def cache_per_domain(function: Callable[[DomainModel], Found]) -> Callable[[DomainModel], Found]:
    """Decorate `function`, which reads nothing but the domain, to compute its result once for each domain."""

    @functools.wraps(function)
    def once(domain: DomainModel) -> Found:
        memo = domain.memo
        if function not in memo:
            memo[function] = function(domain)
        found: Found = memo[function]
        return found

    return once


ROOT_TYPE: Final = "object"
INTERNAL: Final = "@"
"""The first character of names that compilations make; declared names do not begin with it."""


def is_internal(name: str) -> bool:
    """Return whether a compilation made `name`."""
    return name.startswith(INTERNAL)


@dataclass(frozen=True, slots=True)
class Predicate:
    """A predicate and its parameters; its facts become false when a step writes an item of `stale_with`.

    The arguments of a pattern in `stale_with` are parameters of the predicate, constants, or open. Facts that differ in
    argument `functional` only are values of one item, which has one at a time; lint proves or refutes it.
    """

    name: str
    parameters: tuple[Variable, ...] = ()
    stale_with: tuple[Atom, ...] = ()
    tags: frozenset[str] = frozenset()
    description: str = ""
    functional: int | None = None


@dataclass(frozen=True, slots=True)
class Function:
    """A numeric function: static, or a numeric fluent where some action changes it.

    Its values stay between `low` and `high`: an action that would leave this range is not applicable. An observed value
    equals the expected one if they differ by at most `tolerance`.
    """

    name: str
    parameters: tuple[Variable, ...] = ()
    low: Number | None = None
    high: Number | None = None
    tolerance: Number = 0
    description: str = ""


@dataclass(frozen=True, slots=True)
class Axiom:
    """`predicate(variables…)` is derived wherever `condition` holds (Thiébaux, Hoffmann, Nebel 2005)."""

    predicate: str
    parameters: tuple[Variable, ...]
    condition: Formula

    @property
    def head(self) -> Atom:
        """The derived atom, with its parameters as arguments."""
        return Atom(self.predicate, tuple([parameter.name for parameter in self.parameters]))


@dataclass(frozen=True, slots=True)
class Mention:
    """A place where a domain names an undeclared object, which must be of `types` there.

    `role` describes the place for messages, such as "argument 1 of 'at'".
    """

    place: Location
    types: tuple[str, ...] = ()
    role: str = ""


@dataclass(frozen=True, slots=True)
class Unfinished:
    """The parts of a PDDL domain that its problems complete.

    `undeclared` are objects that the domain names and problems declare, `constraints` those of each problem, and
    `preferences` those in the preconditions of actions, by action. `costs_at_start` says of actions that last how
    many of their costs, the first ones, come at their start, where a problem makes the sum of costs a function.
    """

    undeclared: Mapping[str, tuple[Mention, ...]] = field(default_factory=dict)
    constraints: tuple[Stated, ...] = ()
    preferences: Mapping[str, tuple[Stated, ...]] = field(default_factory=dict)
    costs_at_start: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_any(self) -> bool:
        """Whether problems have anything to complete."""
        return bool(self.undeclared or self.constraints or self.preferences)


@dataclass(frozen=True, slots=True)
class DomainModel:
    """A domain; mappings go from names to declarations, in the order of declaration.

    `types` maps a type to its parents (`object` is the root and need not be listed). `handlers` are opaque functions by
    action name, for the executor. Numbers of problems are rounded to multiples of `resolution`, unless a problem has
    its own. `versions` maps an action that stands for an action of the file in some cases to the name that plans use.
    `misplaced` locates arguments of types that cannot stand there, by declaration and atom. `spelling` is how its PDDL
    text writes names; None for a domain from elsewhere. `renames` has the names of earlier versions. `memo` is for
    `cache_per_domain`. Comparison ignores the fields that only help others: `handlers`, `resolution` and the like.
    """

    name: str
    types: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    constants: tuple[Object, ...] = ()
    predicates: Mapping[str, Predicate] = field(default_factory=dict)
    functions: Mapping[str, Function] = field(default_factory=dict)
    actions: Mapping[str, Action] = field(default_factory=dict)
    axioms: tuple[Axiom, ...] = ()
    description: str = ""
    handlers: Mapping[str, object] = field(default_factory=dict, compare=False, repr=False)
    resolution: Decimal | None = field(default=None, compare=False, repr=False)
    versions: Mapping[str, str] = field(default_factory=dict)
    unfinished: Unfinished = field(default_factory=Unfinished, compare=False, repr=False)
    misplaced: Mapping[tuple[str, Atom], Location] = field(default_factory=dict, compare=False, repr=False)
    spelling: Spelling | None = field(default=None, compare=False, repr=False)
    renames: Renames = field(default=NO_RENAMES, compare=False, repr=False)
    memo: Memo = field(default_factory=Memo, init=False, compare=False, repr=False)

    @property
    def derived(self) -> frozenset[str]:
        """The names of the derived predicates."""
        return frozenset(axiom.predicate for axiom in self.axioms)

    def __str__(self) -> str:
        parts = {"type": self.types, "predicate": self.predicates, "function": self.functions, "action": self.actions}
        return f"domain {self.name}: {name_counts(parts)}"


def name_counts(parts: Mapping[str, Collection[object]]) -> str:
    """Return how many there are of each kind, such as "2 types, 1 action"; kinds without any are left out."""
    counts = [f"{len(each)} {kind}{'' if len(each) == 1 else 's'}" for kind, each in parts.items() if each]
    return ", ".join(counts) or "nothing declared"


def refuse_unfinished(domain: DomainModel, language: str, *, with_objects: bool = False) -> None:
    """Raise `UnsupportedError` where a text of `domain` alone would lose what its problems complete.

    Set `with_objects` where the language requires that a domain declares all objects that it names.
    """
    unfinished = domain.unfinished
    parts = {
        "constraints": unfinished.constraints,
        "preferences in preconditions": unfinished.preferences,
        "undeclared objects": with_objects and unfinished.undeclared,
    }
    for what, found in parts.items():
        if found:
            raise UnsupportedError(f"{what} of the domain '{domain.name}' alone, {language}", "give a problem as well")


@cache_per_domain
def lists_patterns(domain: DomainModel) -> bool:
    """Return whether some action of `domain` lists the items of a pattern."""
    return any(action.lists for action in domain.actions.values())


@cache_per_domain
def may_find_out(domain: DomainModel) -> bool:
    """Return whether actions of `domain` may find objects, or values of numbers, that a problem lacks."""
    return lists_patterns(domain) or bool(measured_functions(domain))


@cache_per_domain
def numeric_fluents(domain: DomainModel) -> frozenset[str]:
    """Return the names of the functions that some action of `domain` changes, or measures."""
    changed = [each.fluent.predicate for action in domain.actions.values() for each in numeric_effects(action)]
    return frozenset([*changed, *measured_functions(domain)])


@cache_per_domain
def measured_functions(domain: DomainModel) -> frozenset[str]:
    """Return the names of the functions whose values some action of `domain` measures."""
    return frozenset([each.predicate for action in domain.actions.values() for each in action.measures])


def numeric_effects(action: Action) -> Iterator[NumericEffect]:
    """Yield all effects of `action` on numeric fluents, those of conditional effects and outcomes included."""
    for when in action.effects:
        yield from when.numbers
    for outcome in action.outcomes:
        yield from outcome.numbers


@cache_per_domain
def has_numbers(domain: DomainModel) -> bool:
    """Return whether `domain` changes or compares numbers, so that costs alone do not say all of them."""
    conditions = [each for action in domain.actions.values() for each in conditions_of(action)]
    conditions += [axiom.condition for axiom in domain.axioms]
    return bool(numeric_fluents(domain)) or any(True for each in conditions for _ in comparisons_in(each))


@cache_per_domain
def written_predicates(domain: DomainModel) -> frozenset[str]:
    """Return the names of the predicates whose facts change: written by actions, stale with others, or derived."""
    effects: list[When | Outcome] = [when for action in domain.actions.values() for when in action.effects]
    effects += [each for action in domain.actions.values() for each in action.outcomes]
    literals = [literal for each in effects for literal in each.provides]
    items: list[Formula] = [literal.part if isinstance(literal, Not) else literal for literal in literals]
    items += [item for each in effects for item in each.modifies]
    stale = [each.name for each in domain.predicates.values() if each.stale_with]
    return frozenset([*[item.predicate for item in items if isinstance(item, Atom)], *stale, *domain.derived])


@cache_per_domain
def has_durations(domain: DomainModel) -> bool:
    """Return whether some action of `domain` has a duration."""
    return any(action.duration is not None for action in domain.actions.values())


@cache_per_domain
def has_moments(domain: DomainModel) -> bool:
    """Return whether some action of `domain` says of time what a sequence of steps cannot show."""
    return any(action.has_moments for action in domain.actions.values())


def amounts_of(action: Action) -> Iterator[CostTerm]:
    """Yield the terms of all amounts of steps of `action`: costs, uses, what it holds, and its duration."""
    yield from action.cost
    for terms in (*action.uses.values(), *action.holds.values()):
        yield from terms
    duration = action.duration
    for each in (duration.low, duration.high) if isinstance(duration, DurationRange) else (duration,):
        if each is not None:
            yield each


def conditions_of(action: Action) -> Iterator[Formula]:
    """Yield all conditions of `action`: of its start, its end and between, and of its effects."""
    yield action.requires
    if action.has_moments:
        yield from (action.at_start.requires, action.throughout, action.at_end.requires)
    for when in action.effects:
        yield when.requires


@cache_per_domain
def creates_objects(domain: DomainModel) -> bool:
    """Return whether some action of `domain` creates objects."""
    return any(action.creates for action in domain.actions.values())


@cache_per_domain
def declares_changes(domain: DomainModel) -> bool:
    """Return whether `domain` says more of changes than which facts begin and end.

    Its actions have `modifies`, `after`, or conditional effects that change nothing, or facts become stale.
    """
    return any(map(_declares_changes, domain.actions.values())) or any(
        predicate.stale_with for predicate in domain.predicates.values()
    )


def _declares_changes(action: Action) -> bool:
    return bool(action.modifies or action.after) or any(
        when.modifies or not (when.provides or when.numbers) for when in action.when
    )


def uncertain_actions(domain: DomainModel) -> tuple[str, ...]:
    """Return the names of the actions of `domain` that have outcomes."""
    return tuple([name for name, action in domain.actions.items() if action.outcomes])


@cache_per_domain
def resources_of(domain: DomainModel) -> tuple[str, ...]:
    """Return the names of the resources that actions of `domain` use."""
    return tuple({name: None for action in domain.actions.values() for name in action.uses})


class TypeHierarchy:
    """The ancestors of each type, computed once."""

    def __init__(self, types: Mapping[str, tuple[str, ...]]) -> None:
        self._ancestors: dict[str, frozenset[str]] = {ROOT_TYPE: frozenset({ROOT_TYPE})}
        for name in types:
            self._ancestors[name] = frozenset(self._climb(name, types))

    @staticmethod
    def _climb(name: str, types: Mapping[str, tuple[str, ...]]) -> set[str]:
        found, stack = {ROOT_TYPE}, [name]
        while stack:
            current = stack.pop()
            if current not in found or current == name:
                found.add(current)
                stack.extend(parent for parent in types.get(current, ()) if parent not in found)
        return found

    def ancestors(self, name: str) -> frozenset[str]:
        """Return `name` and every type above it."""
        return self._ancestors.get(name, frozenset({name, ROOT_TYPE}))

    def is_a(self, types: Iterable[str], wanted: Iterable[str]) -> bool:
        """Return whether something of any of `types` belongs to any of `wanted`."""
        wanted = set(wanted)
        return any(not wanted.isdisjoint(self.ancestors(name)) for name in types)

    def objects_by_type(self, objects: Iterable[Object]) -> dict[str, list[str]]:
        """Return, for each type, the names of its objects (subtypes included), in the order given."""
        table: dict[str, list[str]] = {name: [] for name in self._ancestors}
        for item in objects:
            above = set().union(*(self.ancestors(name) for name in item.types))
            for name in above:
                table.setdefault(name, []).append(item.name)
        return table
