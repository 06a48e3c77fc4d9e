"""Facts that grounding derives so that an action is not applicable where its numeric effects cannot be applied.

Conditional effects that exclude each other, or that lack a value, make an action inapplicable only where they happen.
An axiom derives a fact from the conditions under which they do; the action requires that this fact does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from planner.grounding.instantiate import RawAction, RawRule
from planner.lightweight import Final
from planner.model.formulas import Atom

DERIVED: Final = "@derived"
"""The predicate of facts that grounding derives."""


class Guards:
    """Makes derived facts; each caller takes the `rules` that it has to add to the task."""

    def __init__(self, atoms: list[Atom], is_plain: Callable[[int], bool]) -> None:
        self._atoms = atoms
        self._is_plain = is_plain
        self._heads: dict[frozenset[int], int] = {}
        self._either: dict[frozenset[int], int] = {}
        self._rules: list[RawRule] = []

    def take_rules(self) -> list[RawRule]:
        """Return the rules that were made since the last call."""
        rules, self._rules = self._rules, []
        return rules

    def forbid(self, action: RawAction, literals: Iterable[int]) -> bool:
        """Let `action` require that not all `literals` hold; return whether it is ever applicable."""
        together = frozenset(literals)
        if any(~literal in together for literal in together):
            return True
        if len(together) == 1 and all(map(self._is_plain, together)):
            action.condition += [~literal for literal in together]
        elif together:
            action.condition.append(~self._derive(self._heads, together, [tuple(sorted(together))]))
        return bool(together)

    def find_either(self, literals: Sequence[int]) -> int:
        """Return a fact that holds where one of `literals` does."""
        return self._derive(self._either, frozenset(literals), [(each,) for each in literals])

    def _derive(
        self, heads: dict[frozenset[int], int], literals: frozenset[int], bodies: Iterable[tuple[int, ...]]
    ) -> int:
        head = heads.setdefault(literals, len(self._atoms))
        if head == len(self._atoms):
            self._atoms.append(Atom(DERIVED, (str(head),)))
            self._rules += [RawRule(body, head) for body in bodies]
        return head
