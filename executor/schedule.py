"""Which steps may begin now, in each execution model.

- `sequential`, `reactive`, `hierarchical`, `policy`: one after the other, in the order of the plan;
- `parallel`: all at once that nothing unfinished comes before, then the next such round;
- `dag`: each as soon as those are done that come before it.

In each model, irreversible steps come as late as the order allows (see `executor.plans.deferral`), and none is begun
while a question is open or a failure is not attended to.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

SINGLE: Final = frozenset({"sequential", "reactive", "hierarchical", "policy"})


class Agenda:
    """The steps that are left, and those that each of them waits for; a failed step blocks exactly its dependents."""

    def __init__(
        self, model: str, order: Sequence[str], before: Mapping[str, Collection[str]], begun: Collection[str] = ()
    ) -> None:
        """Make an agenda of the steps of `order`, none of which is done; those in `begun` are being done."""
        self._model = model
        self._place = {id_: place for place, id_ in enumerate(order)}
        if model in SINGLE:
            before = {id_: order[max(place - 1, 0) : place] for id_, place in self._place.items()}
        self._left = {id_: sum(1 for each in before.get(id_, ()) if each in self._place) for id_ in order}
        self._after: dict[str, list[str]] = {}
        for id_ in order:
            for each in before.get(id_, ()):
                if each in self._place:
                    self._after.setdefault(each, []).append(id_)
        self._ready = [(place, id_) for id_, place in self._place.items() if not self._left[id_] and id_ not in begun]

    def take(self, at_work: int, most: int | None, is_held: Callable[[str], bool]) -> list[str]:
        """Return the steps to begin now, while `at_work` are at work and at most `most` may be.

        Those for which `is_held` stay ready.
        """
        if at_work and (self._model in SINGLE or self._model == "parallel"):
            return []
        room = len(self._ready) if most is None else max(most - at_work, 0)
        if self._model in SINGLE:
            room = min(room, 1)
        taken = heapq.nsmallest(room, [each for each in self._ready if not is_held(each[1])])
        if taken:
            self._ready = [each for each in self._ready if each not in taken]
            heapq.heapify(self._ready)
        return [id_ for _, id_ in taken]

    def begun(self, id_: str) -> None:
        """Note that a step has begun: it is not ready any more, also where the agenda was made before that."""
        self._ready = [each for each in self._ready if each[1] != id_]
        heapq.heapify(self._ready)

    def done(self, id_: str) -> None:
        """Note that a step is done: what waited for it alone may begin."""
        self.begun(id_)
        for each in self._after.get(id_, ()):
            self._left[each] -= 1
            if not self._left[each]:
                heapq.heappush(self._ready, (self._place[each], each))

    def has_ready(self, is_held: Callable[[str], bool]) -> bool:
        """Return whether some step may begin, for which not `is_held`."""
        return any(not is_held(id_) for _, id_ in self._ready)
