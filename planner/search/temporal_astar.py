"""A* for the least price, with proofs: sequences of happenings, whose least times follow from a temporal network.

A state has facts, values, the steps that run, and what is known of its times: the least distance to each stamp (see
`planner.search.temporal_happenings`) from the beginning, and from the start of each running step whose end may have to
wait. So a state stands for all schedules of its sequence (the zones of timed automata: Dill, 1989; sequences whose
order is that of their stamps only: Coles, Coles, Fox and Long, 2010). The end of a step may push its start, and all
that waits for it, to later.

Decision epochs are complete where no end may have to wait: then each happening comes at the least time that its
predecessors allow, happenings are taken in the order of their times, and states that differ in what lies behind them
are one. Elsewhere any order is taken that the stamps allow.

Of two states with the same facts, values and running steps, one dominates the other if no distance of it is greater,
and it costs no more. The heuristic is the critical path of the relaxation from the state, its running steps included,
and the costs by h_max where steps have prices.

A deadline of a goal is met once the goal holds in a state that may come in time. Where ends may have to wait, the state
may come later than that: then a plan may be found that is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush

from planner.lightweight import Final, dataclass, field
from planner.search.search_run import Run
from planner.search.temporal_happenings import Happening, HappeningRules, Meeting, Span
from planner.task.ground_task import INFINITY
from planner.task.numeric_task import NumericTask

NEVER: Final = -(1 << 60)
"""The distance to what nothing bounds."""
MAKESPAN: Final = 0
"""The column of the last end so far or to come."""
BACK: Final = 1
"""The column of the beginning: how much sooner than a start the beginning may be at the most, negated."""
STAMPS: Final = 2
"""The column of stamp 0."""

Row = list[int]


@dataclass(slots=True)
class Node:
    """A state and how it was reached.

    `rows[0]` has the least distance from the beginning to each column, and the other rows those from the starts of the
    running steps in `pushed`, by their places in `running`. The columns of the running steps' starts come after those
    of the stamps. `events` have happened, and `now` is the time of the last happening where times are fixed.
    """

    facts: int
    values: tuple[int, ...]
    running: tuple[int, ...]
    pushed: tuple[int, ...]
    events: int
    rows: list[Row]
    now: int = 0
    parent: Node | None = None
    happening: Happening | None = None
    begun: int = 0
    """The place in `running` of the step that the happening ended."""
    is_open: bool = True
    depth: int = 0
    paid: int = 0
    """What the happenings cost, in the units of the rules."""
    ticks: int = 0
    """The least tick at which a plan through the state may end."""
    price: int = 0


@dataclass(slots=True)
class TemporalAstar:
    """A* over the happenings of `rules`; plans end before `limit`, a tick, and cost less than `most`.

    No plan costs less than `bound`; once the search `is_complete`, it is proved. Both are in the units of the rules.
    `take` is told the happenings of the plan that is found, with its price.
    """

    rules: HappeningRules
    separation: int
    take: Callable[[list[tuple[Happening, int]], int], None]
    limit: int = INFINITY
    most: int = INFINITY
    bound: int = 0
    is_complete: bool = False
    found: int | None = None
    is_fixed: bool = field(init=False)
    _queue: list[tuple[int, int, int, Node]] = field(default_factory=list)
    _known: dict[tuple[object, ...], list[Node]] = field(default_factory=dict)
    _count: int = 0
    _path: _CriticalPath = field(init=False)
    _costs: _CheapestPath | None = field(init=False)
    _goal: int = 0

    def __post_init__(self) -> None:
        self.is_fixed = not self.rules.may_wait
        if self.separation > 1 and any(
            x.low is not None or x.high is not None for x in self.rules.task.source.variables
        ):
            self.is_fixed = False  # a step may take what is left within a separation of another one that gives
        self._path = _CriticalPath(self.rules, self.separation)
        self._costs = _CheapestPath(self.rules) if any(start.price for start in self.rules.starts) else None
        source = self.rules.task.source
        initial = sum(1 << fact for fact in source.task.initial)
        values = tuple([each.initial for each in source.variables])
        facts = _refresh(source, initial, values)
        row = [NEVER] * (STAMPS + self.rules.stamps)
        row[MAKESPAN] = row[BACK] = 0
        self._goal = sum(1 << fact for fact in source.task.goal)
        self._add(Node(facts, values, (), (), 0, [row]))

    def steps(self, run: Run, pace: int = 20) -> Iterator[None]:
        """Search, with a pause after each `pace` successors, until the proof."""
        since = 0
        while self._queue:
            price, _, _, node = heappop(self._queue)
            self.bound = max(self.bound, min(price, self.most))
            if price >= self.most:
                break
            if not node.is_open:
                continue
            if not node.running and node.events == len(self.rules.events) and not self._goal & ~node.facts:
                self.found = self.bound = self.most = price
                self.is_complete = True
                self.take(_trace(node), price)
                return
            run.expanded += 1
            for child in self._expand(node):
                run.generated += 1
                self._add(child, run)
                since += 1
                if since == pace:
                    since = 0
                    yield
        self.is_complete = True
        self.bound = self.most

    def _add(self, node: Node, run: Run | None = None) -> None:
        """Queue `node`, unless another one dominates it or it leads to no plan within the limits."""
        if node.parent is not None and node.happening is not None:
            node.paid = node.parent.paid + node.happening.price
        if not self._meet(node):
            return
        key: tuple[object, ...] = (node.facts, node.values, node.running, node.events)
        if self.is_fixed:
            row, last = node.rows[0], STAMPS + self.rules.stamps
            floor = node.now - self.separation
            row[STAMPS:last] = [max(each, floor) for each in row[STAMPS:last]]
            row[BACK] = node.now
            if not self._all_last(node):
                key = (*key, node.now)
        known = self._known.setdefault(key, [])
        for other in known:
            if other.paid <= node.paid and _dominates(other.rows, node.rows):
                return
        for other in known:
            other.is_open = not (node.paid <= other.paid and _dominates(node.rows, other.rows))
        known[:] = [other for other in known if other.is_open]
        known.append(node)
        if run is not None:
            run.evaluated += 1
        node.ticks = max(self._path.bound(node), node.parent.ticks if node.parent else 0)
        if node.ticks >= self.limit:
            return
        rest = 0 if self._costs is None else self._costs.bound(node)
        price = self.rules.per_tick * node.ticks + self.rules.fixed + node.paid + rest
        node.price = max(price, node.parent.price if node.parent else price)
        if node.price >= self.most:
            return
        self._count += 1
        depth = node.depth if self.rules.may_overlap_itself else -node.depth
        heappush(self._queue, (node.price, depth, -self._count, node))

    def _meet(self, node: Node) -> bool:
        """Note which deadlines are met in `node`; return False where one is over."""
        for each in self.rules.meetings:
            if node.facts & each.met:
                continue
            time = node.now if self.is_fixed else self._path.find_tick(node, each)
            if time <= each.by and any(not need & ~node.facts for need in each.needs):
                node.facts |= each.met
            elif self.is_fixed and time > each.by:
                return False
        return True

    def _expand(self, node: Node) -> Iterator[Node]:
        """Yield what may happen next."""
        rules, facts = self.rules, node.facts
        horizon = INFINITY
        if self.is_fixed:
            horizon = min([self._end_of(node, place) for place in range(len(node.running))], default=INFINITY)
            if node.events < len(rules.events):
                horizon = min(horizon, rules.events[node.events][0])
            if not self._all_last(node):
                horizon = min(horizon, node.now)
        for start in rules.starts:
            if not start.needs & ~facts:
                child = self._start(node, start, horizon)
                if child is not None:
                    yield child
        for place, lapse in enumerate(node.running):
            if self.is_fixed and self._end_of(node, place) > horizon:
                continue
            for end in rules.spans[lapse].ends:
                if not end.needs & ~facts:
                    child = self._end(node, place, end, rules.spans[lapse])
                    if child is not None:
                        yield child
                    break
        if node.events < len(rules.events):
            time, event = rules.events[node.events]
            if time <= horizon:
                child = self._happen_at(node, time, event)
                if child is not None:
                    yield child

    def _end_of(self, node: Node, place: int) -> int:
        return node.rows[0][STAMPS + self.rules.stamps + place] + self.rules.spans[node.running[place]].low

    def _all_last(self, node: Node) -> bool:
        return all(self._lasts(lapse, node.facts) for lapse in node.running)

    def _lasts(self, lapse: int, facts: int) -> bool:
        kept = self.rules.spans[lapse].kept
        return not kept or any(not each & ~facts for each in kept)

    def _change(self, node: Node, happening: Happening) -> tuple[int, tuple[int, ...]] | None:
        """Return the facts and the values after `happening`; None where it takes a value out of its bounds."""
        facts, values = (node.facts & ~happening.deletes) | happening.adds, node.values
        if not happening.effects:
            return facts, values
        source = self.rules.task.source
        after = list(values)
        for effect in happening.effects:
            amount = effect.constant + sum([values[variable] * weight for variable, weight in effect.terms])
            after[effect.variable] = after[effect.variable] + amount if effect.additive else amount
        for variable, value in zip(source.variables, after, strict=True):
            if variable.low is not None and value < variable.low:
                return None
            if variable.high is not None and value > variable.high:
                return None
        values = tuple(after)
        return _refresh(source, facts, values), values

    def _keeps(self, running: tuple[int, ...], facts: int) -> bool:
        return self.is_fixed or all(self._lasts(lapse, facts) for lapse in running)

    def _start(self, node: Node, start: Happening, horizon: int) -> Node | None:
        span = self.rules.spans.get(start.lapse)
        if span is not None and span.most is not None and node.running.count(start.lapse) >= span.most:
            return None
        least = [_wait(row, start) for row in node.rows]
        least[0] = max(least[0], 0)
        if self.is_fixed and not node.now <= least[0] <= horizon:
            return None
        for number in range(1, len(least)):
            back = node.rows[number][BACK]
            if back > NEVER // 2:
                least[number] = max(least[number], back + least[0])
        changed = self._change(node, start)
        if changed is None:
            return None
        facts, values = changed
        running = node.running if start.lapse < 0 else (*node.running, start.lapse)
        if not self._keeps(running, facts):
            return None
        rows = []
        low = span.low if span is not None else 0
        for time, row in zip(least, node.rows, strict=True):
            own = list(row)
            _mark(own, start, time, node.facts)
            own[MAKESPAN] = max(own[MAKESPAN], time + low)
            if span is not None:
                own.append(time)
            rows.append(own)
        pushed = node.pushed
        if span is not None and span.may_wait:
            own = [NEVER] * len(rows[0])
            own[MAKESPAN], own[-1] = low, 0
            _mark(own, start, 0, node.facts)
            rows.append(own)
            pushed = (*pushed, len(node.running))
        return self._order(
            Node(facts, values, running, pushed, node.events, rows, least[0], node, start, 0, depth=node.depth + 1)
        )

    def _end(self, node: Node, place: int, end: Happening, span: Span) -> Node | None:
        column = STAMPS + self.rules.stamps + place
        rows = node.rows
        least = [_wait(row, end) for row in rows]
        if span.high is not None:
            if self.is_fixed:
                if least[0] > rows[0][column] + span.low:
                    return None
            else:
                pushes = [each - span.high for each in least]
                if any(push > row[column] for push, row in zip(pushes, rows, strict=True)):
                    moved = _push(rows, pushes, rows[1 + node.pushed.index(place)])
                    if moved is None:
                        return None
                    rows = moved
                    least = [_wait(row, end) for row in rows]
        changed = self._change(node, end)
        if changed is None:
            return None
        facts, values = changed
        running = (*node.running[:place], *node.running[place + 1 :])
        if not self._keeps(running, facts):
            return None
        after = []
        gone = 1 + node.pushed.index(place) if place in node.pushed else 0
        for number, row in enumerate(rows):
            if number == gone and gone:
                continue
            time = max(least[number], row[column] + span.low)
            own = row[:column] + row[column + 1 :]
            _mark(own, end, time, node.facts)
            own[MAKESPAN] = max(own[MAKESPAN], time)
            after.append(own)
        pushed = tuple([each - (each > place) for each in node.pushed if each != place])
        now = max(least[0], rows[0][column] + span.low)
        return Node(facts, values, running, pushed, node.events, after, now, node, end, place, depth=node.depth + 1)

    def _happen_at(self, node: Node, time: int, event: Happening) -> Node | None:
        """Return what the change `event` at a known `time` leads to."""
        least = [_wait(row, event) for row in node.rows]
        if least[0] > time:
            return None
        changed = self._change(node, event)
        if changed is None or not self._keeps(node.running, changed[0]):
            return None
        rows = [list(row) for row in node.rows]
        if len(rows) > 1:
            first = rows[0]
            for row, each in zip(rows[1:], least[1:], strict=True):
                back = max(row[BACK], each - time)
                if back > NEVER // 2:
                    for column, distance in enumerate(first):
                        if column != BACK and distance > NEVER // 2:
                            row[column] = max(row[column], back + distance)
                    row[BACK] = back
            if any(
                row[BACK] + first[STAMPS + self.rules.stamps + place] > 0
                for row, place in zip(rows[1:], node.pushed, strict=True)
            ):
                return None
            for row in rows[1:]:
                if row[BACK] > NEVER // 2:
                    _mark(row, event, row[BACK] + time, node.facts)
        _mark(rows[0], event, time, node.facts)
        return Node(
            *changed,
            node.running,
            node.pushed,
            node.events + 1,
            rows,
            time,
            node,
            event,
            depth=node.depth + 1,
        )

    def _order(self, node: Node) -> Node:
        """Put the running steps in the order of their lapses, so that equal states look the same."""
        if len(node.running) < 2 or node.running[-1] >= node.running[-2]:
            return node
        order = sorted(range(len(node.running)), key=lambda place: node.running[place])
        base = STAMPS + self.rules.stamps
        places = {old: new for new, old in enumerate(order)}
        node.running = tuple([node.running[place] for place in order])
        for row in node.rows:
            row[base:] = [row[base + place] for place in order]
        rows = sorted(
            [(places[place], row) for place, row in zip(node.pushed, node.rows[1:], strict=True)],
            key=lambda each: each[0],
        )
        node.pushed = tuple([place for place, _ in rows])
        node.rows = [node.rows[0], *[row for _, row in rows]]
        return node


def _refresh(source: NumericTask, facts: int, values: tuple[int, ...]) -> int:
    """Return `facts` with those of the linear conditions that hold for `values`."""
    for condition in source.conditions:
        total = condition.constant + sum([values[variable] * weight for variable, weight in condition.terms])
        facts = facts | 1 << condition.fact if total >= 0 else facts & ~(1 << condition.fact)
    return facts


def _wait(row: Row, happening: Happening) -> int:
    """Return the least distance from the start of `row` to `happening`."""
    least = NEVER
    for stamp, gap in happening.waits:
        time = row[STAMPS + stamp]
        if time > NEVER // 2 and time + gap > least:
            least = time + gap
    return least


def _mark(row: Row, happening: Happening, time: int, facts: int) -> None:
    """Set the stamps of `happening`, which comes at `time` where `facts` hold."""
    if time > NEVER // 2:
        for stamp in happening.sets:
            row[STAMPS + stamp] = max(row[STAMPS + stamp], time)
        for fact, stamp in happening.firsts:
            if not facts & fact:
                row[STAMPS + stamp] = max(row[STAMPS + stamp], time)


def _push(rows: list[Row], pushes: list[int], pushed: Row) -> list[Row] | None:
    """Return `rows` where each is at least so far from a start, whose row is `pushed`; None if that cannot be."""
    found = []
    for number, (row, push) in enumerate(zip(rows, pushes, strict=True)):
        if push <= NEVER // 2:
            found.append(row)
            continue
        if row is pushed and push > 0:
            return None
        own = [
            max(each, push + further) if further > NEVER // 2 else each
            for each, further in zip(row, pushed, strict=True)
        ]
        if number == 0 and own[BACK] > 0:
            return None
        found.append(own)
    return found


def _dominates(one: list[Row], other: list[Row]) -> bool:
    """Return whether no distance of `one` is greater than that of `other`."""
    return all(
        all(mine <= theirs for mine, theirs in zip(row, others, strict=True))
        for row, others in zip(one, other, strict=True)
    )


def _trace(node: Node) -> list[tuple[Happening, int]]:
    """Return the happenings on the way to `node`, each with the place in `running` of the step that it ends."""
    found: list[tuple[Happening, int]] = []
    current: Node | None = node
    while current is not None:
        if current.happening is not None:
            found.append((current.happening, current.begun))
        current = current.parent
    return found[::-1]


@dataclass(frozen=True, slots=True)
class TimedAction:
    """A step of a plan in ticks: the number of the ground action that starts it."""

    action: int
    start: int
    end: int


def schedule_trace(rules: HappeningRules, trace: list[tuple[Happening, int]]) -> list[TimedAction]:
    """Return the steps of the happenings of a plan at the least times (Bellman, 1958; Ford, 1956)."""
    edges: list[tuple[int, int, int]] = []
    setters: dict[int, list[int]] = {}
    running: list[tuple[int, int]] = []
    steps: list[list[int]] = []
    begun: list[int] = []
    events = 0
    initial = sum(1 << fact for fact in rules.task.source.task.initial)
    for node, (happening, place) in enumerate(trace, start=1):
        edges.append((0, node, 0))
        for stamp, gap in happening.waits:
            edges += [(other, node, gap) for other in setters.get(stamp, ())]
        for stamp in happening.sets:
            setters.setdefault(stamp, []).append(node)
        for fact, stamp in happening.firsts:
            if not initial & fact:
                setters.setdefault(stamp, [node])
        if events < len(rules.events) and rules.events[events][1] is happening:
            time = rules.events[events][0]
            edges += [(0, node, time), (node, 0, -time)]
            events += 1
        elif happening.is_end:
            _, number = running.pop(place)
            start, span = steps[number][0], rules.spans[happening.lapse]
            steps[number].append(node)
            edges.append((start, node, span.low))
            if span.high is not None:
                edges.append((node, start, -span.high))
        else:
            if happening.lapse >= 0:
                running.append((happening.lapse, len(steps)))
                running.sort(key=lambda each: each[0])
            steps.append([node])
            begun.append(happening.action)
    times = [0] * (len(trace) + 1)
    changed = True
    while changed:
        changed = False
        for one, other, gap in edges:
            if times[one] + gap > times[other]:
                times[other] = times[one] + gap
                changed = True
    return [TimedAction(action, times[nodes[0]], times[nodes[-1]]) for action, nodes in zip(begun, steps, strict=True)]


def find_added(happening: Happening, source: NumericTask) -> int:
    """Return the facts that `happening` adds, as bits, with those of linear conditions that it may bring nearer."""
    added = happening.adds
    for condition in source.conditions:
        weights = dict(condition.terms)
        if any(
            effect.variable in weights
            and (not effect.additive or effect.terms or weights[effect.variable] * effect.constant > 0)
            for effect in happening.effects
        ):
            added |= 1 << condition.fact
    return added


class _CriticalPath:
    """A lower bound on the makespan of plans from a state: h_max by time (Haslum and Geffner, 2001).

    A linear condition comes true with the first happening that brings it nearer. One that a step needs throughout may
    come true at the moment of its start: its starts and ends wait a separation only for what they need themselves.
    """

    def __init__(self, rules: HappeningRules, separation: int) -> None:
        self._rules, self._separation = rules, separation
        source = rules.task.source
        self._goal = source.task.goal
        self._size = len(source.task.facts)
        linear = sum(1 << each.fact for each in source.conditions)
        self._starts = [
            (
                start.needs,
                self._facts_of(start.needs & ~through),
                self._facts_of(added),
                rules.spans[start.lapse].low if start.lapse >= 0 else 0,
                kept,
                self._facts_of((kept & ~start.needs) | (start.needs & through)),
                start.lapse,
            )
            for start in rules.starts
            for added in [find_added(start, source)]
            for kept in [self._kept(start.lapse) & ~added]
            for through in [linear & self._through(start.lapse)]
        ]
        self._ends = {
            place: [
                (end.needs, self._facts_of(end.needs & ~through), self._facts_of(find_added(end, source)))
                for through in [linear & self._through(place)]
                for end in span.ends
            ]
            for place, span in rules.spans.items()
        }
        self._events = [(time, self._facts_of(find_added(event, source))) for time, event in rules.events]
        self._stamps = [rules.stamp_of.get(fact, -1) for fact in range(self._size)]
        self._meetings = [
            (need, self._facts_of(need), each.met.bit_length() - 1, each.by)
            for each in rules.meetings
            for need in each.needs
        ]

    def find_tick(self, node: Node, meeting: Meeting) -> int:
        """Return the least tick at which one of the needs of `meeting` that hold in `node` came to hold."""
        row = node.rows[0]
        ways = [
            [self._stamps[fact] for fact in self._facts_of(need)] for need in meeting.needs if not need & ~node.facts
        ]
        return min([max([0, *[row[STAMPS + stamp] for stamp in way if stamp >= 0]]) for way in ways], default=0)

    def _facts_of(self, bits: int) -> list[int]:
        return [fact for fact in range(self._size) if bits >> fact & 1]

    def _kept(self, lapse: int) -> int:
        """Return the facts that a step needs throughout, where they are one conjunction."""
        kept = self._rules.spans[lapse].kept if lapse >= 0 else ()
        return kept[0] if len(kept) == 1 else 0

    def _through(self, lapse: int) -> int:
        """Return the facts that some way to keep a step needs throughout."""
        found = 0
        for facts in self._rules.spans[lapse].kept if lapse >= 0 else ():
            found |= facts
        return found

    def bound(self, node: Node) -> int:
        """Return the least tick at which a plan through `node` may end; `INFINITY` where there is none."""
        gap, row, base = self._separation, node.rows[0], node.now if node.rows[0][BACK] else 0
        reached = node.facts
        value = [INFINITY] * self._size
        done = [INFINITY] * self._size
        for fact, stamp in enumerate(self._stamps):
            if reached >> fact & 1:
                value[fact] = row[STAMPS + stamp] if stamp >= 0 else NEVER
                done[fact] = 0
        ending: dict[int, int] = {}
        column = STAMPS + self._rules.stamps
        for place, lapse in enumerate(node.running):
            time = row[column + place] + self._rules.spans[lapse].low
            ending[lapse] = min(ending.get(lapse, INFINITY), time)
        for time, added in self._events[node.events :]:
            for fact in added:
                reached |= 1 << fact
                value[fact], done[fact] = min(value[fact], time), 0
        changed = True
        while changed:
            changed = False
            for needs, facts, adds, low, kept, lasting, lapse in self._starts:
                if (needs | kept) & ~reached:
                    continue
                time = base
                for fact in facts:
                    time = max(time, value[fact] + gap)
                for fact in lasting:
                    time = max(time, value[fact])
                for fact in adds:
                    if time < value[fact] or time + low < done[fact]:
                        value[fact], done[fact] = min(value[fact], time), min(done[fact], time + low)
                        reached |= 1 << fact
                        changed = True
                if lapse >= 0 and time + low < ending.get(lapse, INFINITY):
                    ending[lapse] = time + low
                    changed = True
            for lapse, least in ending.items():
                for needs, facts, adds in self._ends[lapse]:
                    if needs & ~reached:
                        continue
                    time = least
                    for fact in facts:
                        time = max(time, value[fact] + gap)
                    for fact in adds:
                        if time < value[fact] or time < done[fact]:
                            value[fact], done[fact] = min(value[fact], time), min(done[fact], time)
                            reached |= 1 << fact
                            changed = True
        for needs, facts, met, by in self._meetings:
            if not needs & ~reached and max([0, *[value[fact] for fact in facts]]) <= by:
                value[met] = done[met] = 0
        return max([row[MAKESPAN], *[done[fact] for fact in self._goal]])


class _CheapestPath:
    """A lower bound on what is still to be paid for happenings: h_max by their prices (Bonet and Geffner, 2001).

    A linear condition comes true with the first happening that brings it nearer.
    """

    def __init__(self, rules: HappeningRules) -> None:
        self._source = rules.task.source
        self._size = len(self._source.task.facts)
        self._goal = self._source.task.goal
        self._starts = [self._rule(start, start.lapse) for start in rules.starts]
        self._ends = [self._rule(end, place) for place, span in rules.spans.items() for end in span.ends]
        self._given = [find_added(event, self._source) for _, event in rules.events]
        for each in rules.meetings:
            self._starts += [(self._facts_of(need), self._facts_of(each.met), 0, -1) for need in each.needs]

    def _rule(self, happening: Happening, lapse: int) -> tuple[list[int], list[int], int, int]:
        added = self._facts_of(find_added(happening, self._source))
        return self._facts_of(happening.needs), added, happening.price, lapse

    def _facts_of(self, bits: int) -> list[int]:
        return [fact for fact in range(self._size) if bits >> fact & 1]

    def bound(self, node: Node) -> int:
        """Return the least that plans through `node` pay for further happenings; `INFINITY` where there is none."""
        reached = node.facts
        for added in self._given[node.events :]:
            reached |= added
        value = [0 if reached >> fact & 1 else INFINITY for fact in range(self._size)]
        ending = dict.fromkeys(node.running, 0)
        changed = True
        while changed:
            changed = False
            for needs, adds, price, lapse in self._starts:
                paid = max([value[fact] for fact in needs], default=0) + price
                if paid < INFINITY:
                    if lapse >= 0 and paid < ending.get(lapse, INFINITY):
                        ending[lapse] = paid
                        changed = True
                    changed |= _lower(value, adds, paid)
            for needs, adds, price, lapse in self._ends:
                paid = max([ending.get(lapse, INFINITY), *[value[fact] for fact in needs]]) + price
                changed |= paid < INFINITY and _lower(value, adds, paid)
        return max([value[fact] for fact in self._goal], default=0)


def _lower(value: list[int], facts: list[int], paid: int) -> bool:
    """Lower the values of `facts` to what is `paid` for them; return whether one was greater."""
    found = False
    for fact in facts:
        if paid < value[fact]:
            value[fact], found = paid, True
    return found
