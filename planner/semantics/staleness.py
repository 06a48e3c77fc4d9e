"""What goes stale when an effect of an action writes an item, said of all its steps at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from planner.lightweight import dataclass
from planner.model.domain import DomainModel
from planner.model.formulas import OPEN, Atom, Equals, Term, is_variable


@dataclass(frozen=True, slots=True)
class StaleRule:
    """Facts of `dependant` end when an effect writes `source`; both patterns share variables."""

    dependant: Atom
    source: Atom


@dataclass(frozen=True, slots=True)
class Write:
    """A pattern that an effect writes, under the equalities by which it matches a rule."""

    pattern: Atom
    equalities: frozenset[Equals] = frozenset()


def collect_stale_rules(domain: DomainModel) -> Iterator[StaleRule]:
    """Yield a rule for each pattern in `stale_with` of `domain`."""
    for predicate in domain.predicates.values():
        head = Atom(predicate.name, tuple([parameter.name for parameter in predicate.parameters]))
        yield from (StaleRule(head, source) for source in predicate.stale_with)


def find_stale(written: Iterable[Write], rules: Iterable[StaleRule]) -> list[Write]:
    """Return the patterns that become stale when `written` is written, directly or through others, each once."""
    found: dict[Write, None] = {}
    queue = list(written)
    while queue:
        write = queue.pop()
        for rule in rules:
            stale = _match_rule(write, rule)
            if stale is not None and stale not in found:
                found[stale] = None
                queue.append(stale)
    return list(found)


def _match_rule(write: Write, rule: StaleRule) -> Write | None:
    """Return what `rule` makes stale when `write` is written; None if its source cannot be the same fact."""
    if write.pattern.predicate != rule.source.predicate:
        return None
    binding: dict[Term, Term] = {}
    equalities = set(write.equalities)
    for mine, theirs in zip(write.pattern.args, rule.source.args, strict=True):
        if OPEN in (mine, theirs):
            continue
        expected = binding.setdefault(theirs, mine) if is_variable(theirs) else theirs
        if expected == mine:
            continue
        if not is_variable(mine) and not is_variable(expected):
            return None
        equalities.add(Equals(*sorted((mine, expected), reverse=True)))
    pattern = Atom(rule.dependant.predicate, tuple([binding.get(arg, OPEN) for arg in rule.dependant.args]))
    return Write(pattern, frozenset(equalities))
