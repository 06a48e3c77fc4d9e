"""Steps made ready: what an action with its arguments asks for and does, worked out once for each.

A plan of a hundred thousand steps has a few hundred different ones. What depends on the state alone is left: facts to
be looked up, and effects with conditions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import itemgetter

from planner.annotations import Final
from planner.errors import InputError
from planner.model import OPEN, Action, Atom, Number, Problem
from planner.model.actions import added, deleted
from planner.records import dataclass
from planner.validate.conditions import All, Binding, Condition, Lookup
from planner.validate.costs import cost_of
from planner.validate.effects import Changes, Effect, Staleness
from planner.validate.state import Row, State

MOST_KEPT: Final = 50_000
"""So many steps are kept ready: a long plan whose steps all differ must not take many times its own memory."""

Filler = Callable[[Row], Row]
"""Gives the arguments of a pattern when it is given those of the action."""

Facts = dict[tuple[str, Row], Atom]
"""Atoms by predicate and arguments."""

Test = tuple[str, Row, bool]
"""A fact, and whether it must hold or must not."""


@dataclass(frozen=True, slots=True, eq=False)
class Fixed:
    """Effects that are the same in all states; `ending` are facts that end unless they are provided, too."""

    provided: tuple[Atom, ...]
    retracted: tuple[Atom, ...]
    modified: tuple[Atom, ...]
    given: Facts
    ending: Facts
    open: tuple[Atom, ...]

    @classmethod
    def of(cls, provided: Facts, ended: Facts, modified: Facts, staleness: Staleness) -> Fixed:
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
class Ready:
    """An action with its arguments: `tests` and `rest` must hold before it; `fixed` is None where its effects vary."""

    binding: Binding
    tests: tuple[Test, ...]
    rest: tuple[Condition, ...]
    fixed: Fixed | None
    cost: Number | InputError


def passed(tests: Iterable[Test], state: State) -> bool:
    """Return whether the facts of `state` are as `tests` say."""
    tables = state.tables
    for name, row, positive in tests:  # noqa: SIM110 - a generator takes half as long again
        if (name in tables and row in tables[name].rows) is not positive:
            return False
    return True


class Maker:
    """Makes the steps of one action ready, from its condition and effects; `derived` says what no state has."""

    def __init__(self, problem: Problem, action: Action, requires: Condition, derived: Callable[[str], bool]) -> None:
        self._problem = problem
        self._action = action
        self._names = [parameter.name for parameter in action.parameters]
        places = {name: place for place, name in enumerate(self._names)}
        lookups, self._rest = split(requires, derived)
        self._lookups = [(each.predicate, filler(each.args, places), each.positive) for each in lookups]
        self._places = places
        self._patterns: list[list[tuple[str, Filler]]] | None = None
        self._stale: Staleness | None = None

    def with_effects(self, effects: Iterable[Effect], staleness: Staleness) -> Maker:
        """Note the effects, where they are the same in all states."""
        found: list[list[Atom]] = [[], [], []]
        for effect in effects:
            condition = effect.condition
            if effect.domains or not isinstance(condition, All) or condition.parts:
                return self
            found[0] += added(effect.source.provides)
            found[1] += deleted(effect.source.provides)
            found[2] += effect.source.modifies
        self._stale = staleness
        self._patterns = [[(each.predicate, filler(each.args, self._places)) for each in atoms] for atoms in found]
        return self

    def ready(self, arguments: Row) -> Ready:
        """Return the action with `arguments`, which fit it."""
        binding = dict(zip(self._names, arguments, strict=True))
        tests = tuple([(name, fill(arguments), positive) for name, fill, positive in self._lookups])
        return Ready(binding, tests, self._rest, self._fixed(arguments), self._cost(binding))

    def _fixed(self, arguments: Row) -> Fixed | None:
        if self._patterns is None or self._stale is None:
            return None
        provided, ended, modified = [_filled(patterns, arguments) for patterns in self._patterns]
        return Fixed.of(provided, ended, modified, self._stale)

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


def split(condition: Condition, derived: Callable[[str], bool]) -> tuple[list[Lookup], tuple[Condition, ...]]:
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


def filler(args: tuple[str, ...], places: Mapping[str, int]) -> Filler:
    """Return what gives `args` with values for variables, when it is given these in the order that `places` says."""
    known = [places[arg] for arg in args if arg in places]
    if len(known) < len(args):
        pairs = [(arg, places.get(arg)) for arg in args]
        return lambda row: tuple([arg if place is None else row[place] for arg, place in pairs])
    if len(known) > 1:
        return itemgetter(*known)
    return lambda row: tuple([row[place] for place in known])
