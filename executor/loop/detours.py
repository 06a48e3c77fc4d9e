"""Find steps that may begin out of turn: what waits holds up only the steps that serve the same goals."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from executor.events.events import UNFINISHED, StepStatus
from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.loop.dispatch import defer_irreversible, find_descendants
from executor.plans.partial_order import predecessors_of

MODELS: Final = frozenset({"sequential", "parallel", "dag", "reactive", "timed"})
"""The execution models in which steps pass those that wait for other goals."""


@dataclass(slots=True, eq=False)
class Detours:
    """The steps of one run that may pass steps which wait."""

    state: RunState
    _key: tuple[int, int, frozenset[str]] | None = field(init=False, default=None)
    _before: Mapping[str, Collection[str]] = field(init=False, default_factory=dict)

    def find(self, stalled: Sequence[StepRecord], is_barred: Callable[[str], bool]) -> list[str]:
        """Return a pending step that serves other goals than all steps that are `stalled`, if one may begin now.

        An irreversible step waits for all reversible ones, but for those that wait for `stalled` steps themselves.
        """
        state = self.state
        if not stalled or state.model not in MODELS:
            return []
        free = [
            record.id
            for record in state.pending()
            if all(state.serves_other_goals(record.id, each.id) for each in stalled) and not is_barred(record.id)
        ]
        if not free:
            return []
        left = state.with_status(*UNFINISHED)
        before = self._find_before(left, frozenset([each.id for each in stalled]))
        undone = {record.id for record in left}
        return [id_ for id_ in free if undone.isdisjoint(before.get(id_, ()))][:1]

    def _find_before(self, left: Sequence[StepRecord], stalled: frozenset[str]) -> Mapping[str, Collection[str]]:
        """Return the steps that each of those `left` waits for."""
        state, key = self.state, (self.state.changes, self.state.settled, stalled)
        if self._key != key:
            order = [record.id for record in left]
            before = predecessors_of(state.beliefs.problem, [record.plan for record in left])
            behind = stalled | find_descendants(stalled, order, before)
            late = {each.id for each in left if each.status is StepStatus.PENDING and state.is_irreversible(each)}
            self._key, self._before = (
                key,
                defer_irreversible(
                    order, before, late, lambda one, other: other in behind and state.serves_other_goals(one, other)
                ),
            )
        return self._before
