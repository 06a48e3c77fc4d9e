"""Capabilities that are missing, as data: a host can look for what has them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from planner.explain.unreachable_goals import Unreachable
from planner.lightweight import dataclass
from planner.model import Action, Atom, DomainModel, Not, Outcome, When

WORDS = "no fact expresses it"
"""The cause where something is said in words alone."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A `fact` that nothing can provide, or words that no fact expresses; who needs it, nearest first.

    `pattern` is the fact with types in place of objects: what an action would have to provide. `provided_by` are the
    actions that are declared to provide such facts, and cannot: for want of a handler, of objects, or of what they need
    in turn. `cause` says why there is nothing else.
    """

    fact: str
    needed_by: tuple[str, ...] = ()
    provided_by: tuple[str, ...] = ()
    pattern: str = ""
    cause: str = WORDS

    def __str__(self) -> str:
        needs = f", needed by {' ← '.join(self.needed_by)}" if self.needed_by else ""
        by = f" (declared, but of no use here: {', '.join(self.provided_by)})" if self.provided_by else ""
        return f"missing: {self.fact}{needs}{by}"

    def to_dict(self) -> dict[str, Any]:
        """Return the missing capability as JSON-ready data."""
        return {
            "fact": self.fact,
            "pattern": self.pattern,
            "cause": self.cause,
            "needed_by": list(self.needed_by),
            "provided_by": list(self.provided_by),
        }


def missing_in(parts: Iterable[Unreachable], domain: DomainModel, needed_by: tuple[str, ...] = ()) -> Iterator[Missing]:
    """Yield what is missing for `parts` of a goal, each once; `needed_by` is who needs that goal."""
    found = dict.fromkeys(each for part in parts for each in part.missing)
    for each in found:
        is_negative, name = each.fact.startswith("not "), each.fact.removeprefix("not ").partition("(")[0]
        would = [action.signature for action in domain.actions.values() if _gives(action, name, not is_negative)]
        pattern = f"{'not ' if is_negative else ''}{_pattern(domain, name)}" if name in domain.predicates else ""
        yield Missing(each.fact, (*each.needed_by, *needed_by), tuple(would), pattern, each.cause.value)


def _gives(action: Action, predicate: str, positive: bool) -> bool:
    """Return whether `action` is declared to make facts of `predicate` true, or false."""
    effects: list[Action | When | Outcome] = [action, *action.when, *action.outcomes]
    literals = [each for effect in effects for each in effect.provides]
    given = [each for each in literals if isinstance(each, Atom)]
    ended = [each.part for each in literals if isinstance(each, Not) and isinstance(each.part, Atom)]
    ended += [each for effect in effects for each in effect.modifies]
    return any(each.predicate == predicate for each in (given if positive else ended))


def _pattern(domain: DomainModel, name: str) -> str:
    types = [" | ".join(each.types) for each in domain.predicates[name].parameters]
    return f"{name}({', '.join(types)})" if types else name
