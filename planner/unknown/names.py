"""The predicates that a translation adds, named apart from those that there are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from planner.annotations import Final
from planner.model import DomainModel, Predicate
from planner.records import dataclass
from planner.unknown.readings import Names, affected

CAREFUL: Final = frozenset({"irreversible", "needs_observed"})
"""Tags of actions that rest on nothing that a step could look at and none has."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """For each predicate p that matters, the one that says something of its facts.

    `possible`: p is not known to be false. `open`: it is as unknown as it was at the beginning. `listed`: it was
    unknown then, whatever happened since. `seen`: a step has looked at it. `guessed`: it is supposed, and nobody has
    looked. `checked` and `suspected` are what is derived, surely or possibly, if guesses count for nothing.
    """

    possible: Names
    open: Names
    listed: Names
    seen: Names
    guessed: Names
    checked: Names
    suspected: Names

    @classmethod
    def of(cls, domain: DomainModel, unknown: Iterable[str]) -> Vocabulary:
        """Return names for `domain`, in plain ADL, where facts of the predicates `unknown` are."""
        unknown, taken = list(unknown), {*domain.predicates, *domain.functions}
        matter = affected(domain, unknown)
        actions = domain.actions.values()
        sensed = {pattern.predicate for action in actions for pattern in action.senses}
        visible = [name for name in unknown if name in sensed]
        careful = [name for name in visible if any(not action.tags.isdisjoint(CAREFUL) for action in actions)]
        derived = [name for name in matter if careful and name in domain.derived]

        def named(word: str, names: Iterable[str]) -> Names:
            return {name: _free(f"{word}-{name}", taken) for name in names}

        return cls(
            named("possibly", matter),
            named("open", unknown),
            named("listed", visible),
            named("seen", visible),
            named("guessed", careful),
            named("checked", derived),
            named("suspected", derived),
        )

    def predicates(self, domain: DomainModel) -> Iterator[Predicate]:
        """Yield the new predicates; each has the parameters of its own."""
        parts = (self.possible, self.open, self.listed, self.seen, self.guessed, self.checked, self.suspected)
        for name, new in [pair for names in parts for pair in names.items()]:
            yield Predicate(new, domain.predicates[name].parameters)


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "-"
    taken.add(name)
    return name
