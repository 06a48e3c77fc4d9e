"""Names as plans write them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planner.errors import Location, PlanError
from planner.pddl.trees import nearest, quote


class Lookup:
    """Finds names by what a plan calls them: exactly, else in any case, else as `export` writes them.

    `written` has what each name is exported as, and `kind` is what messages call them.
    """

    def __init__(self, written: Mapping[str, str], kind: str) -> None:
        self._kind = kind
        self._exact = written
        self._folded: dict[str, list[str]] = {}
        for name in written:
            self._folded.setdefault(name.lower(), []).append(name)
        for name, word in written.items():
            self._folded.setdefault(word, [name])

    def has(self, word: str) -> bool:
        """Return whether `word` is a name as it stands."""
        return word in self._exact

    def find(self, word: str, place: Location) -> str:
        """Return the name that `word` means; raise where there is none, or more than one."""
        if word in self._exact:
            return word
        found = self._folded.get(word.lower(), [])
        if len(found) == 1:
            return found[0]
        if found:
            choices = _either(found)
            raise PlanError(f"the {self._kind} {quote(word)} may be {choices}", place, "write it as it is declared")
        hint = nearest(word, self._exact) or "check that the plan belongs to this problem"
        raise PlanError(f"the problem has no {self._kind} {quote(word)}", place, hint)


def _either(names: Iterable[str]) -> str:
    return " or ".join(map(quote, names))
