"""What failed in a run: a step is not tried again in the state in which it failed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from planner.model import Atom
from planner.plan import Step

Key = tuple[str, tuple[str, ...]]
"""An action and its arguments."""


@dataclass(frozen=True, slots=True)
class Tried:
    """An action that failed with its arguments, so many `times`; `facts` held when it did last, and `earlier` before.

    It is `spent` where nobody saw that it did nothing, and doing it once more might do it twice.
    """

    times: int
    facts: frozenset[Atom]
    spent: bool
    earlier: tuple[frozenset[Atom], ...] = ()

    def was_in(self, facts: frozenset[Atom]) -> bool:
        """Return whether it has failed while `facts` were believed to hold."""
        return facts == self.facts or facts in self.earlier


class Failures(dict[Key, Tried]):
    """What failed, by action and arguments; with whatever placeholders for what it creates."""

    def __init__(self) -> None:
        super().__init__()
        self._pardoned: set[Key] = set()
        self._latest: set[Key] = set()
        """What has failed since a step was begun last: what is seen now was so when it failed."""

    def failed(self, alike: Sequence[Step], facts: frozenset[Atom], *, repeatable: bool, begun: bool = True) -> None:
        """Note that a step has failed, while `facts` were believed to hold; it counts for all that are `alike`.

        One that had not `begun` has failed for what was believed, and not for what is seen of that moment later.
        """
        before = self.get((alike[0].action, alike[0].arguments))
        spent = not repeatable or (before is not None and before.spent)
        earlier = () if before is None else (*before.earlier, before.facts)
        tried = Tried(len(earlier) + 1, facts, spent, earlier)
        keys = [(each.action, each.arguments) for each in alike]
        self.update(dict.fromkeys(keys, tried))
        if begun:
            self._latest.update(keys)

    def begun(self) -> None:
        """Note that a step has begun: what is seen from now on may be its work."""
        self._latest.clear()

    @property
    def is_fresh(self) -> bool:
        """Whether something has failed, and nothing was begun since."""
        return bool(self._latest)

    def seen(self, facts: frozenset[Atom]) -> None:
        """Note that `facts` were seen to hold: they did so already when the latest steps failed."""
        for key in self._latest:
            self[key] = replace(self[key], facts=facts)

    def pardon(self, steps: Iterable[Step]) -> None:
        """Note that those of `steps` that failed may have had bad luck, and no others: they may be tried again."""
        self._pardoned = {(each.action, each.arguments) for each in steps}

    def bars(self, step: Step, facts: frozenset[Atom]) -> bool:
        """Return whether `step`, which was tried before, is not to be tried while `facts` are believed to hold."""
        key = step.action, step.arguments
        return self[key].spent or (self[key].was_in(facts) and key not in self._pardoned)
