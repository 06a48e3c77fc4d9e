"""The best plan in time of a small problem: all orders of happenings, with exact times from a temporal network.

The rules are those of PDDL 2.1 (Fox and Long, 2003) and, for actions that are declared by `requires`, `provides` and
`modifies`, those of the reference page on time:

- A step is a start, an end, and its `throughout` between them; one without a duration is a single happening.
- `requires` holds at the start, where the conditions of effects are looked at and amounts of numbers computed. What a
  step ends ends at its start: patterns that it modifies, `not …` in `provides` but of what its own start brings. All
  else comes at its end.
- From its start to its end no other step reads or writes an item that it modifies, needs or makes the contrary of a
  fact that it will bring, reads a number that it will change or begins to change it (but for growth that may add up),
  begins to bring what will go stale at its end, or needs it at its own start.
- Two happenings are `SEPARATION` apart where one writes what the other reads, or writes the other way. What another
  step needs throughout is written no earlier than its end and no later than its start.
- The goal holds when all that happens at known times has happened; the makespan is when the last step ends.

A plan is looked for as a sequence of happenings, in which no step comes twice. Two neighbours that have nothing to do
with each other come in one order only. The times are the earliest ones.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import count
from typing import Any

from pairs.decompositions import Network
from pairs.interpreter import DURATION, MOST_CREATED, Change, Ground, State, World, apply, functions_of, terms_of
from pairs.moments import Effect, Happening, Moments, meet
from pairs.trajectories import Kept, Price, add_run, forgone, look_all, may_go_on, within

from planner.model import TRUE, Atom
from planner.model.actions import DurationRange

SEPARATION = Fraction(1, 1000)
TOUCHING = Fraction(0)
Found = tuple[Fraction, tuple[Atom, ...], tuple[tuple[Fraction, Fraction], ...]]


@dataclass(frozen=True)
class Running:
    """A step that has begun, with its `late` effects."""

    ground: Ground
    place: int | None
    end: int
    duration: Fraction
    start: Happening
    late: tuple[Effect, ...]


@dataclass
class Node:
    state: State
    kept: tuple[Kept, ...]
    happenings: tuple[Happening, ...] = ()
    variables: tuple[int, ...] = ()
    edges: tuple[tuple[int, int, Fraction], ...] = ()
    times: tuple[Fraction, ...] = (Fraction(0),)
    ends: tuple[int, ...] = ()
    running: tuple[Running, ...] = ()
    heads: tuple[Atom, ...] = ()
    steps: tuple[Atom, ...] = ()
    spans: tuple[tuple[int, int], ...] = ()
    done: frozenset[int] = frozenset()
    begun: frozenset[int] = frozenset()
    events: int = 0
    spent: dict[str, Fraction] = field(default_factory=dict)
    cost: Fraction = Fraction(0)
    reached: tuple[int | None, ...] = ()
    held: dict[str, Fraction] = field(default_factory=dict)
    places: dict[int | None, int] = field(default_factory=dict)


def best_in_time(world: World, start: State, network: Network) -> Found | None:
    """Return the least charge, the steps of a plan, and their starts and durations; None where there is no plan."""
    return Timeline(world, network).search(start)


class Timeline:
    """The search for one problem and one network of steps."""

    def __init__(self, world: World, network: Network) -> None:
        self.world, self.network, self.price = world, network, Price(world)
        self.problem = world.problem
        self.moments = Moments(world)
        self.events = sorted(self.problem.timed, key=lambda each: each.time)

    def search(self, start: State) -> Found | None:
        fresh = count()
        kept = look_all(self.world, tuple([Kept() for _ in self.problem.constraints]), state=start)
        reached = tuple([0 if self.world.holds(each.condition, start) else None for each in self.problem.due])
        first = Node(start, kept, reached=reached)
        if not may_go_on(self.world, kept):
            return None
        queue: list[tuple[Fraction, int, Node, bool]] = [(self.bound(first), next(fresh), first, False)]
        while queue:
            worth, _, node, complete = heapq.heappop(queue)
            if complete:
                spans = [(node.times[begin], node.times[end] - node.times[begin]) for begin, end in node.spans]
                return worth, node.steps, tuple(spans)
            charge = self.finish(node)
            if charge is not None:
                heapq.heappush(queue, (charge, next(fresh), node, True))
            for after in self.successors(node):
                heapq.heappush(queue, (self.bound(after), next(fresh), after, False))
        return None

    def makespan(self, node: Node) -> Fraction:
        return max((node.times[each] for each in node.ends), default=Fraction(0))

    def bound(self, node: Node) -> Fraction:
        return self.price.charge(node.state, node.cost, self.makespan(node)) - self.price.most_gain(node.state)

    def finish(self, node: Node) -> Fraction | None:
        """Return the charge of a plan that ends here; None where it may not."""
        if node.running or node.events < len(self.events) or not self.network.is_done(node.done):
            return None
        for due, when in zip(self.problem.due, node.reached, strict=True):
            if when is None or node.times[when] > Fraction(due.by):
                return None
        lost = forgone(self.world, node.state, node.kept)
        return None if lost is None else self.price.charge(node.state, node.cost, self.makespan(node)) + lost

    def successors(self, node: Node) -> Iterator[Node]:
        if node.events < len(self.events):
            yield from self.add_event(node)
        for running in node.running:
            yield from self.add_end(node, running)
        if self.network.serial and node.running:
            return
        for ground, place in self.network.choices(self.world, node.state, node.done):
            if ground.head in node.heads if place is None else place in node.begun:
                continue
            yield from self.add_start(node, ground, place)

    def add_event(self, node: Node) -> Iterator[Node]:
        event = self.events[node.events]
        effects = [(TRUE, event.provides, (), event.numbers, ())]
        change = self.world.change(effects, node.state, {})
        if change is not None:
            happening = self.moments.describe(f"event {event.time}", [], effects, {}, change)
            variable, time = len(node.times), Fraction(event.time)
            fixed = ((0, variable, time), (variable, 0, -time))
            after = self.append(node, happening, variable, fixed, apply(change, node.state))
            if after is not None:
                yield replace(after, events=node.events + 1)

    def add_start(self, node: Node, ground: Ground, place: int | None) -> Iterator[Node]:
        action, binding, state = ground.action, ground.binding, node.state
        ran = [pattern.substitute(binding) for pattern in action.after]
        if not all(any(pattern.matches(each) for each in state.ran) for pattern in ran):
            return
        if len(state.created) + len(action.creates) > MOST_CREATED:
            return
        cost = self.world.cost(ground, state)
        uses = {name: self.world.amounts(terms, state, binding) for name, terms in action.uses.items()}
        holds = {name: self.world.amounts(terms, state, binding) for name, terms in action.holds.items()}
        if cost is None or any(each is None for each in (*uses.values(), *holds.values())):
            return
        spent = {**node.spent}
        for name, used in uses.items():
            spent[name] = spent.get(name, Fraction(0)) + used
        total = node.cost + cost
        if not within(self.problem.budgets, {**spent, "cost": total}):
            return
        held = {name: node.held.get(name, Fraction(0)) + holds.get(name, 0) for name in {*node.held, *holds}}
        if not within(self.problem.capacity, held):
            return
        grown = replace(state, created=(*state.created, *ground.made))
        for low, high in self.durations(ground, state):
            if high == 0:
                after = self.whole(node, ground, grown, place)
            else:
                after = self.start(node, ground, grown, (low, high), place=place, holds=holds)
            if after is None:
                continue
            heads, begun = (*node.heads, ground.head), node.begun | ({place} if place is not None else set())
            done = after.done | ({place} if place is not None and high == 0 else set())
            kept = look_all(self.world, after.kept, step=ground.head)
            if not may_go_on(self.world, kept):
                continue
            yield replace(
                after,
                heads=heads,
                steps=(*node.steps, ground.step),
                begun=begun,
                done=done,
                spent=spent,
                cost=total,
                kept=kept,
            )

    def durations(self, ground: Ground, state: State) -> Iterator[tuple[Fraction, Fraction | None]]:
        """Yield the ranges of durations: whole numbers where an effect depends on the duration."""
        duration, binding = ground.action.duration, ground.binding
        if duration is None:
            yield Fraction(0), Fraction(0)
            return
        if not isinstance(duration, DurationRange):
            value = self.world.value(duration, state, binding)
            if value is not None and value >= 0:
                yield value, value
            return
        low = self.world.value(duration.low, state, binding)
        high = None if duration.high is None else self.world.value(duration.high, state, binding)
        if any(DURATION in terms_of(each.value, {}) for each in ground.action.numbers):
            for each in range(int(low), int(high) + 1):
                yield Fraction(each), Fraction(each)
            return
        yield low, high

    def whole(self, node: Node, ground: Ground, state: State, place: int | None) -> Node | None:
        action, binding = ground.action, ground.binding
        parts = self.moments.effects(ground, state)
        if not self.moments.may_begin(ground, state, [each.start for each in node.running]) or parts is None:
            return None
        early, late, last = parts
        if not self.may_end(node, ground, state):
            return None
        change = self.world.change(early + late + last, state, binding)
        if change is None or self.is_idle(ground, change, state):
            return None
        conditions = [action.requires, action.at_start.requires, action.at_end.requires]
        happening = self.moments.describe(f"{ground.head}", conditions, early + late + last, binding, change)
        happening = self.moments.look_first(replace(happening, owner=len(node.heads)), ground, late)
        happening = self.order_runs(happening, ground, begins=True, ends=True)
        variable = len(node.times)
        extra = self.network_edges(node, variable, place)
        after = self.append(node, happening, variable, extra, add_run(self.world, apply(change, state), ground.head))
        if after is not None:
            after.ends = (*after.ends, variable)
            after.spans = (*after.spans, (variable, variable))
            after.places = {**node.places, place: variable}
        return after

    def is_idle(self, ground: Ground, change: Change, state: State) -> bool:
        """Return whether a step changes nothing, nor will it: only changes at known times come in between."""
        return apply(change, state) == state and add_run(self.world, state, ground.head) == state and not self.events

    def start(
        self,
        node: Node,
        ground: Ground,
        state: State,
        bounds: tuple[Fraction, Fraction | None],
        *,
        place: int | None,
        holds: dict[str, Fraction],
    ) -> Node | None:
        binding, action = ground.binding, ground.action
        timed = replace(state, values=frozenset({**dict(state.values), DURATION: bounds[0]}.items()))
        parts = self.moments.effects(ground, timed)
        if not self.moments.may_begin(ground, state, [each.start for each in node.running]) or parts is None:
            return None
        early, late, last = parts
        change = self.world.change(early, timed, binding)
        if change is None:
            return None
        all_of_it = self.world.change(early + late + last, timed, binding)
        if all_of_it is not None and self.is_idle(ground, all_of_it, state) and not action.at_start.provides:
            return None
        items = frozenset(each.substitute(binding) for each in action.modifies)
        conditions = [action.requires, action.at_start.requires]
        happening = self.moments.describe(f"{ground.head} starts", conditions, early, binding, change)
        happening = self.moments.look_first(replace(happening, owner=len(node.heads)), ground, late)
        needed = self.moments.base(action.throughout, binding)
        happening = replace(happening, locked=items, throughout=needed, taken=("take", tuple(holds.items())))
        happening = self.order_runs(happening, ground, begins=True, ends=False)
        begin, end = len(node.times), len(node.times) + 1
        low, high = bounds
        edges = [(begin, end, low), *self.network_edges(node, begin, place)]
        if high is not None:
            edges.append((end, begin, -high))
        after = self.append(node, happening, begin, edges, apply(change, state))
        if after is None:
            return None
        after.ends = (*after.ends, end)
        after.spans = (*after.spans, (begin, end))
        after.places = {**node.places, place: end}
        after.running = (*after.running, Running(ground, place, end, low, happening, (*late, *last)))
        after.held = {name: node.held.get(name, Fraction(0)) + holds.get(name, 0) for name in {*node.held, *holds}}
        return after if self.endures(after) else None

    def may_end(self, node: Node, ground: Ground, state: State) -> bool:
        others = [each.start for each in node.running]
        return self.moments.surely(ground.action.at_end.requires, state, ground.binding, others, is_start=False)

    def add_end(self, node: Node, running: Running) -> Iterator[Node]:
        ground, state, place, effects = running.ground, node.state, running.place, running.late
        conditions = [ground.action.at_end.requires]
        rest = replace(node, running=tuple([each for each in node.running if each is not running]))
        if not self.may_end(rest, ground, state):
            return
        timed = replace(state, values=frozenset({**dict(state.values), DURATION: running.duration}.items()))
        change = self.world.change(effects, timed, ground.binding)
        if change is None:
            return
        happening = self.moments.describe(f"{ground.head} ends", conditions, effects, ground.binding, change)
        first = running.start
        holds = first.taken[1]
        happening = replace(
            happening,
            owner=first.owner,
            locked=first.locked,
            coming=first.coming,
            staling=first.staling,
            changing=first.changing,
            throughout=first.throughout,
            taken=("give", holds),
        )
        happening = self.order_runs(happening, ground, begins=False, ends=True)
        after_state = add_run(self.world, apply(change, state), ground.head)
        after = self.append(rest, happening, running.end, (), after_state)
        if after is None:
            return
        after.held = {name: amount - dict(holds).get(name, 0) for name, amount in node.held.items()}
        after.done = node.done | ({place} if place is not None else set())
        if self.endures(after):
            yield after

    def network_edges(self, node: Node, begin: int, place: int | None) -> list[tuple[int, int, Fraction]]:
        """Return that a step comes after those that end before it in the network; after all where it is serial."""
        if self.network.serial:
            return [(end, begin, TOUCHING) for end in node.ends]
        if place is None:
            return []
        return [(node.places[each], begin, TOUCHING) for each in sorted(self.network.before[place])]

    def order_runs(self, happening: Happening, ground: Ground, *, begins: bool, ends: bool) -> Happening:
        """Let steps that come `after` others read that they ran."""
        reads, added = happening.reads, happening.added
        if begins and ground.action.after:
            needed = [each.substitute(ground.binding) for each in ground.action.after]
            reads |= {Atom(f"ran {each.predicate}", each.args) for each in needed}
        if ends:
            added |= {Atom(f"ran {ground.action.name}", ground.head.args)}
        return replace(happening, reads=frozenset(reads), added=frozenset(added))

    def endures(self, node: Node) -> bool:
        """Return whether what running steps need throughout holds now, whatever others will bring."""
        return all(
            self.moments.surely(
                each.ground.action.throughout,
                node.state,
                each.ground.binding,
                [other.start for other in node.running if other is not each],
                is_start=False,
            )
            for each in node.running
        )

    def append(self, node: Node, happening: Happening, variable: int, extra: Any, state: State) -> Node | None:
        """Return `node` with `happening` after all others; None where it may not come, or comes in another order."""
        if not self.may_touch(node, happening):
            return None
        edges, last_gap = list(extra), None
        for known, place in zip(node.happenings, node.variables, strict=True):
            last_gap = self.gap(node, known, happening)
            if last_gap is not None and known.owner != happening.owner:
                edges.append((place, variable, last_gap))
        if node.happenings:
            known = node.happenings[-1]
            is_bound = last_gap is not None or any(first == node.variables[-1] for first, _, _ in extra)
            if not is_bound and known.name > happening.name:
                return None
        size = max([len(node.times), variable + 1, *[second + 1 for _, second, _ in extra]])
        times = settle([*node.times, *[Fraction(0)] * (size - len(node.times))], [*node.edges, *edges])
        if times is None:
            return None
        after = replace(
            node,
            state=state,
            happenings=(*node.happenings, happening),
            variables=(*node.variables, variable),
            edges=(*node.edges, *edges),
            times=times,
        )
        after.kept = look_all(self.world, node.kept, state=state)
        if not may_go_on(self.world, after.kept) or not self.endures(after):
            return None
        after.reached = tuple(
            [
                variable if known is None and self.world.holds(due.condition, state) else known
                for known, due in zip(node.reached, self.problem.due, strict=True)
            ]
        )
        late = self.problem.deadline is not None and self.makespan(after) > Fraction(self.problem.deadline)
        for due, when in zip(self.problem.due, after.reached, strict=True):
            late |= when is not None and times[when] > Fraction(due.by)
        return None if late else after

    def may_touch(self, node: Node, happening: Happening) -> bool:
        """Return whether no running step forbids others what `happening` reads or writes."""
        for running in node.running:
            if running.start.owner == happening.owner:
                continue
            touched, begun = happening.reads | happening.added | happening.ended | happening.locked, running.start
            if meet(begun.locked, touched):
                return False
            if happening.owner < 0:
                continue
            if self.moments.forbids(begun, happening):
                return False
            needed = set(functions_of(running.ground.action.throughout, running.ground.binding))
            if needed & {term for term, _ in happening.changing}:
                return False
        return True

    def gap(self, node: Node, first: Happening, second: Happening) -> Fraction | None:
        """Return the time between two happenings; None where they have nothing to do with each other."""
        if first.owner == second.owner:
            return TOUCHING
        touched = (first.reads | first.added | first.ended, second.reads | second.added | second.ended)
        if meet(first.added | first.ended, second.reads) or meet(first.reads, second.added | second.ended):
            return SEPARATION
        if meet(first.added, second.ended) or meet(first.ended, second.added):
            return SEPARATION
        if meet(first.locked, touched[1]) or meet(touched[0], second.locked) or meet(first.locked, second.locked):
            return SEPARATION
        if self.clash(first, second) or first.constrained & second.constrained:
            return SEPARATION
        if min(first.owner, second.owner) >= 0 and (
            self.moments.forbids(first, second) or self.moments.forbids(second, first)
        ):
            return SEPARATION
        if meet(first.throughout, second.added | second.ended) or meet(first.added | first.ended, second.throughout):
            return TOUCHING
        return self.capacity_gap(node, first, second)

    def clash(self, first: Happening, second: Happening) -> bool:
        one, other = {term for term, _ in first.changed}, {term for term, _ in second.changed}
        if first.compared & other or one & second.compared:
            return True
        return self.moments.clash(first.changed, second.changed)

    def capacity_gap(self, node: Node, first: Happening, second: Happening) -> Fraction | None:
        """Return the time between two happenings of `node` that take or give back; who takes waits for what it needs.

        Of what was given back since `first`, nothing is there at the same moment.
        """
        if first.taken is None or second.taken is None:
            return None
        mine, yours = dict(first.taken[1]), dict(second.taken[1])
        shared = mine.keys() & yours.keys()
        gives = first.taken[0] == "give"
        if not shared or first.taken[0] == second.taken[0]:
            return TOUCHING if shared and gives else None
        if gives:
            since = node.happenings[next(place for place, each in enumerate(node.happenings) if each is first) :]
            for name in shared:
                back = sum(dict(each.taken[1]).get(name, 0) for each in since if each.taken and each.taken[0] == "give")
                if node.held.get(name, 0) + back + yours[name] > Fraction(self.problem.capacity[name]):
                    return SEPARATION
        return TOUCHING


def settle(times: list[Fraction], edges: list[tuple[int, int, Fraction]]) -> tuple[Fraction, ...] | None:
    """Return the earliest times that keep all `edges`; None where there are none. The first time is 0."""
    for _ in range(len(times) + 1):
        changed = False
        for first, second, gap in edges:
            if times[first] + gap > times[second]:
                times[second] = times[first] + gap
                changed = True
        if times[0] > 0:
            return None
        if not changed:
            return tuple(times)
    return None
