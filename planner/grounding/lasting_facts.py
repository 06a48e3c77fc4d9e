"""Facts that say how long others will hold: a step that needs a fact throughout starts only if it holds long enough.

A lapse that runs, such as the firing of a kiln or the time until a shop closes, may delete a fact when it ends. A step
that needs this fact throughout, and lasts longer than that, cannot start then. So for such a fact and the time that
steps need it, the task gets a fact "holds so long": starts require it, what adds the fact adds it as well, unless it
deletes the fact itself too soon; and the search deletes it as soon as a running lapse will end too soon. Relaxed plans
then choose a kiln that burns long enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planner.lightweight import Final, dataclass, field, replace
from planner.limits import under_limits
from planner.model.formulas import Atom, Not
from planner.task.ground_task import ConditionalEffect, GroundAction, Task
from planner.task.temporal_task import FOREVER, Doom, Lapse, TemporalTask

MOST_FACTS: Final = 10_000
"""Most facts that are added to a task; where more would be, none is."""


def add_lasting_facts(task: TemporalTask) -> TemporalTask:
    """Return `task` with facts that say how long other facts will hold, where steps need them throughout.

    Its lapses are in another order: of those that end at one moment, what others need is deleted last.
    """
    found = _Lasting(task)
    found.find()
    if not found.known or len(found.known) > MOST_FACTS:
        return task
    return _order_lapses(found.change())


def end_deletes(task: TemporalTask, lapse: Lapse) -> frozenset[int]:
    """Return the facts that `lapse` deletes when it ends, whatever holds then."""
    actions = task.source.task.actions
    deleted = [frozenset(actions[end].deletes) for end in lapse.ends]
    return frozenset.intersection(*deleted) if deleted else frozenset()


@dataclass(slots=True)
class _Lasting:
    """The facts that are added to `task`: `known[fact, ticks]` is the one for `fact` and so many ticks."""

    task: TemporalTask
    deleters: dict[int, list[int]] = field(default_factory=dict)
    known: dict[tuple[int, int], int] = field(default_factory=dict)
    needs: dict[int, list[int]] = field(default_factory=dict)

    def find(self) -> None:
        task, actions = self.task, self.task.source.task.actions
        for place, lapse in enumerate(under_limits(task.lapses)):
            for fact in end_deletes(task, lapse):
                self.deleters.setdefault(fact, []).append(place)
        for action, place in enumerate(under_limits(task.begins)):
            if place < 0:
                continue
            lapse = task.lapses[place]
            if lapse.variable is not None or len(lapse.invariants) != 1:
                continue
            for fact in lapse.invariants[0]:
                if fact not in actions[action].adds and self.deleters.get(fact, [place]) != [place]:
                    number = self._number(fact, lapse.ticks)
                    self.needs.setdefault(action, []).append(number)

    def _number(self, fact: int, ticks: int) -> int:
        return self.known.setdefault((fact, ticks), len(self.task.source.task.facts) + 2 * len(self.known))

    def change(self) -> TemporalTask:
        """Return the task with the added facts."""
        task, source = self.task, self.task.source.task
        by_fact: dict[int, list[tuple[int, int]]] = {}
        for (fact, ticks), number in self.known.items():
            by_fact.setdefault(fact, []).append((ticks, number))
        literals = list(source.facts)
        for fact, ticks in self.known:
            text = source.facts[fact]
            name = str(text.part if isinstance(text, Not) else text)
            atom = Atom(f"{'not ' * isinstance(text, Not)}{name} for {ticks} ticks")
            literals += [atom, Not(atom)]
        pairs = [(number, number + 1) for number in self.known.values()]
        initial = set(source.initial)
        events = range(task.events, len(task.lapses))
        lasting = [
            number if fact in initial and self._lasts(fact, 0, events) >= ticks else number + 1
            for (fact, ticks), number in self.known.items()
        ]
        actions = [
            self._change_action(number, action, by_fact) for number, action in enumerate(under_limits(source.actions))
        ]
        changed = _with_facts(source, literals, pairs, [*source.initial, *lasting], actions)
        dooms = tuple([tuple(self._dooms(place, by_fact)) for place in under_limits(range(len(task.lapses)))])
        return replace(task, source=replace(task.source, task=changed), dooms=dooms)

    def _lasts(self, fact: int, now: int, events: Iterable[int]) -> int:
        """Return how long `fact` holds from tick `now` on, as far as changes at known times tell."""
        ends = [self.task.lapses[place].ticks for place in self.deleters.get(fact, ()) if place in events]
        return min([end - now for end in ends if end > now], default=1 << 62)

    def _dooms(self, place: int, by_fact: Mapping[int, list[tuple[int, int]]]) -> list[Doom]:
        lapse = self.task.lapses[place]
        slack = lapse.slack if lapse.greatest is None else FOREVER
        found = [
            Doom(ticks - slack, number)
            for fact in sorted(end_deletes(self.task, lapse))
            for ticks, number in by_fact.get(fact, ())
            if ticks > slack
        ]
        return sorted(found, key=lambda each: -each.ticks)

    def _change_action(
        self, number: int, action: GroundAction, by_fact: Mapping[int, list[tuple[int, int]]]
    ) -> GroundAction:
        """Return `action` with the facts that it requires, adds and deletes beside those that it knows."""
        needs = self.needs.get(number, ())
        touched = any(fact in by_fact for fact in (*action.adds, *action.deletes))
        branches = tuple([self._change_branch(number, each, by_fact) for each in action.conditional])
        if not needs and not touched and branches == action.conditional:
            return action
        adds, deletes = self._extend(number, action.adds, action.deletes, by_fact)
        return replace(
            action,
            precondition=tuple(sorted({*action.precondition, *needs})),
            adds=adds,
            deletes=deletes,
            conditional=branches,
        )

    def _change_branch(
        self, number: int, branch: ConditionalEffect, by_fact: Mapping[int, list[tuple[int, int]]]
    ) -> ConditionalEffect:
        adds, deletes = self._extend(number, branch.adds, branch.deletes, by_fact)
        return replace(branch, adds=adds, deletes=deletes)

    def _extend(
        self,
        number: int,
        adds: tuple[int, ...],
        deletes: tuple[int, ...],
        by_fact: Mapping[int, list[tuple[int, int]]],
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return what action `number` adds and deletes, if it did `adds` and `deletes`."""
        more, less = set(adds), set(deletes)
        for fact in adds:
            for ticks, lasting in by_fact.get(fact, ()):
                if self._adds_for(number, fact) >= ticks:
                    more.add(lasting)
                    less.add(lasting + 1)
        for fact in deletes:
            for _, lasting in by_fact.get(fact, ()):
                more.add(lasting + 1)
                less.add(lasting)
        return tuple(sorted(more)), tuple(sorted(less))

    def _adds_for(self, number: int, fact: int) -> int:
        """Return for how many ticks action `number` adds `fact` at most: until its own lapse or an event ends it."""
        task = self.task
        begun = task.begins[number]
        if begun >= 0:
            lapse = task.lapses[begun]
            return lapse.ticks + lapse.slack if lapse.variable is None and begun in self.deleters[fact] else 1 << 62
        events = range(task.events, len(task.lapses))
        own = [task.lapses[place].ticks for place in events if number in task.lapses[place].ends]
        return self._lasts(fact, own[0], events) if own else 1 << 62


def _with_facts(
    task: Task,
    facts: list[Atom | Not],
    pairs: list[tuple[int, int]],
    initial: list[int],
    actions: list[GroundAction],
) -> Task:
    """Return `task` with more `facts`, of which the new ones are `pairs` that exclude each other."""
    return replace(
        task,
        facts=tuple(facts),
        variables=(*task.variables, *pairs),
        mutexes=(*task.mutexes, *pairs),
        initial=tuple(initial),
        actions=actions,
    )


def _order_lapses(task: TemporalTask) -> TemporalTask:
    """Return `task` with its lapses in another order: last come those whose ends delete what others need throughout."""
    needed: dict[int, set[int]] = {}
    for place, lapse in enumerate(task.lapses[: task.events]):
        for conjunction in lapse.invariants:
            for fact in conjunction:
                needed.setdefault(fact, set()).add(place)
    outer = [
        any(needed.get(fact, {place}) != {place} for fact in end_deletes(task, lapse))
        for place, lapse in enumerate(task.lapses[: task.events])
    ]
    order = [*sorted(range(task.events), key=lambda place: outer[place]), *range(task.events, len(task.lapses))]
    name = {old: new for new, old in enumerate(order)}
    return replace(
        task,
        lapses=tuple([task.lapses[place] for place in order]),
        dooms=tuple([task.dooms[place] for place in order]),
        begins=tuple([name[place] if place >= 0 else place for place in task.begins]),
    )
