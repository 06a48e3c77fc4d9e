"""What applying an action changes: added, retracted, modified in place, and gone stale with any of these."""

from __future__ import annotations

from collections.abc import Iterable

from planner.model import OPEN, Atom, DomainModel, Predicate, When
from planner.model.actions import added, deleted
from planner.model.atoms import is_variable
from planner.model.memo import kept_with_domain
from planner.records import dataclass
from planner.validate.conditions import Binding, Compiler, Condition, Domains, Universe
from planner.validate.world import World


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
                binding = bound_by(pattern, item)
                if binding is not None:
                    names = [parameter.name for parameter in predicate.parameters]
                    stale = Atom(predicate.name, tuple([binding.get(name, OPEN) for name in names]))
                    if stale not in found:
                        found[stale] = None
                        queue.append(stale)
        return list(found)


@kept_with_domain
def staleness_of(domain: DomainModel) -> Staleness:
    """Return what goes stale with what in `domain`."""
    return Staleness(domain)


def bound_by(pattern: Atom, item: Atom) -> Binding | None:
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


def changes(world: World, effects: Iterable[Effect], staleness: Staleness, binding: Binding) -> Changes:
    """Return what `effects` do in `world`: every condition is evaluated in the state before."""
    provided: dict[Atom, None] = {}
    ended: dict[Atom, None] = {}
    modified: dict[Atom, None] = {}
    for effect in effects:
        for found in world.solver.solutions([effect.condition], effect.domains, binding):
            provided.update((atom.substitute(found), None) for atom in added(effect.source.provides))
            ended.update((atom.substitute(found), None) for atom in deleted(effect.source.provides))
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
