"""h²: which pairs of values no plan passes through, forwards and backwards, and what that prunes of a task.

Forwards (Haslum and Geffner, 2000): a pair is reached if an action makes both values true, or one of them while the
other may hold and stay. Backwards (Alcázar and Torralba, 2015): the same for reversed actions, from the goal. Each
direction leaves out what the other has ruled out. Where all values of a variable but one are ruled out by what must
hold, that one must hold, too (disambiguation). Sets of values are integers, one bit each.

    values    the task as assignments to finite-domain variables
    pairs     h² over them: the reference tier
    pruning   both directions by turns
    smaller   the task without the actions that no plan needs, and the facts that nothing makes true then
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from itertools import islice
from operator import itemgetter

from planner.lightweight import TYPE_CHECKING, Final, Protocol, dataclass, replace
from planner.limits import never
from planner.search.search_run import Pauses
from planner.task.finite_domain import TRUE, Assignments, Operator, merge_variables, translate_task
from planner.task.ground_task import AxiomLayer, ConditionalEffect, GroundAction, Rule, State, Task, bits, facts_of

if TYPE_CHECKING:
    from planner.jit.arrays import Entries

Rows = Callable[[int], State]
"""From a value to those that may hold together with it."""
Sharpened = Generator[None, None, bool]
"""Work that may be given up wherever it pauses."""


@dataclass(frozen=True, slots=True)
class Gain:
    """`value` may be gained where `here` can hold, in the direction of travel, and `there` can, where it leads to."""

    value: int
    here: State
    there: State


@dataclass(slots=True)
class Arrow:
    """An operator in the direction of travel: from states with `here` to states with `there`.

    Values that are not `gone` may stay; `seen` is when it was last looked at.
    """

    here: State
    there: State
    gone: State
    gains: list[Gain]
    seen: int = -1


class Pairs:
    """What is known of pairs: `possible[w]` has the values that may hold together with w, and w itself if it may hold.

    `before` and `after` are what must hold where each action is applied, and then; None where it need not be applied.
    """

    def __init__(self, task: Assignments) -> None:
        self._task = task
        self._masks = [bits(values) for values in task.variables]
        everything = (1 << task.size) - 1
        self.possible = [everything & ~self._masks[task.variable_of[w]] | 1 << w for w in range(task.size)]
        for group in task.groups:
            for value in facts_of(group):
                self.possible[value] &= ~group | 1 << value
        self._initial, self._goal = bits((TRUE, *task.initial)), bits((TRUE, *task.goal))
        self.before = [None if each is None else bits(each.before) for each in task.operators]
        self.after = [None if each is None else bits(each.after) for each in task.operators]

    def sharpen(self) -> Sharpened:
        """Find what else must hold where each action is applied, and which actions cannot be.

        Returns whether the initial state and the goal may be parts of a plan.
        """
        for number, operator in enumerate(self._task.operators):
            if operator is not None and self.before[number] is not None:
                yield
                self.before[number], self.after[number] = self._around(operator, number)
        initial, goal = self.closed(self._initial), self.closed(self._goal)
        if initial is None or goal is None:
            return False
        self._initial, self._goal = initial, goal
        return True

    def _around(self, operator: Operator, number: int) -> tuple[State | None, State | None]:
        """Return what must hold before and after an action; None where it cannot be applied."""
        stays = ~0
        for change in operator.changes:
            stays &= ~self._masks[self._task.variable_of[change.after]]
        before, after = self.before[number], self.after[number]
        known = None
        while before is not None and after is not None and known != (before, after):
            known = before, after
            before = self.closed(before | after & stays)
            after = None if before is None else self.closed(after | before & stays)
        return (None, None) if after is None else (before, after)

    def closed(self, known: State) -> State | None:
        """Return all values that must hold where `known` ones do; None where these cannot hold together."""
        while True:
            fitting = self._fitting(self.possible, known)
            if known & ~fitting:
                return None
            more = known
            for mask in self._masks:
                if not known & mask:
                    left = fitting & mask
                    if not left:
                        return None
                    if not left & (left - 1):
                        more |= left
            if more == known:
                return known
            known = more

    def forwards(self) -> Pauses:
        """Rule out the pairs that are not reached from the initial state."""
        return self._travel(self._initial, self._forward_arrows())

    def backwards(self) -> Pauses:
        """Rule out the pairs from which the goal is not reached."""
        return self._travel(self._goal, self._backward_arrows())

    def _travel(self, start: State, arrows: list[Arrow]) -> Pauses:
        """Rule out the pairs that are not reached from states where `start` holds."""
        first = self._fitting(self.possible, start)
        reached = [self.possible[w] & first if first >> w & 1 else 0 for w in range(self._task.size)]
        yield from _Spread(self.possible, reached, arrows).run()
        self.possible[:] = reached

    @staticmethod
    def _fitting(rows: Sequence[State], values: State) -> State:
        """Return what may hold together with each of `values`."""
        fitting = ~0
        for value in facts_of(values):
            fitting &= rows[value]
        return fitting

    def copy(self) -> Rows:
        """Return the rows as they are now."""
        return self.possible[:].__getitem__

    def actions(self) -> list[int]:
        """Return the actions that a plan may need."""
        return [number for number, before in enumerate(self.before) if before is not None]

    def needed(self, action: int) -> tuple[int, ...]:
        """Return what must hold where an action is applied, if a plan may need it; else nothing."""
        return tuple(facts_of(self.before[action] or 0))

    def count(self) -> int:
        """Return a number that is another one whenever more is known."""
        known = [each.bit_count() for each in (*self.before, *self.after) if each is not None]
        return sum([row.bit_count() for row in self.possible]) + 4 * self._task.size * len(self.actions()) - sum(known)

    def _used(self) -> Iterator[tuple[Operator, State, State]]:
        for operator, before, after in zip(self._task.operators, self.before, self.after, strict=True):
            if operator is not None and before is not None and after is not None:
                yield operator, before, after

    def _forward_arrows(self) -> list[Arrow]:
        return [
            Arrow(
                before,
                after,
                bits(operator.gone),
                [Gain(change.after, bits(change.condition), 0) for change in operator.changes],
            )
            for operator, before, after in self._used()
        ]

    def _backward_arrows(self) -> list[Arrow]:
        return [
            Arrow(
                after,
                before,
                bits(operator.gone),
                [
                    Gain(value, 1 << change.after, bits(change.condition))
                    for change in operator.changes
                    for value in self._task.befores(change)
                ],
            )
            for operator, before, after in self._used()
        ]


class _Spread:
    """Adds to `reached` all pairs that `arrows` lead to, none of which is not `possible`."""

    def __init__(self, possible: list[State], reached: list[State], arrows: list[Arrow]) -> None:
        self._possible, self._reached, self._arrows = possible, reached, arrows
        self._clock = 0
        self._grown = [0] * len(reached)
        """When each row last grew."""

    def run(self) -> Pauses:
        """Go on until nothing is new."""
        before = -1
        while before < self._clock:
            before = self._clock
            for arrow in self._arrows:
                if self._is_due(arrow):
                    yield
                    arrow.seen = self._clock
                    self._follow(arrow)

    def _is_due(self, arrow: Arrow) -> bool:
        """Return whether anything has changed that the arrow may start from."""
        read = arrow.here
        for gain in arrow.gains:
            read |= gain.here
        return any(self._grown[value] > arrow.seen for value in facts_of(read))

    def _follow(self, arrow: Arrow) -> None:
        gains = [found for gain in arrow.gains if (found := self._gained(arrow, gain)) is not None]
        for gain, here, there in gains:
            together = here & there & ~arrow.gone | 1 << gain.value
            for other, _, _ in gains:
                if not ((arrow.here | other.here) & ~here or (arrow.there | other.there | 1 << other.value) & ~there):
                    together |= 1 << other.value
            self._reach(gain.value, together)

    def _gained(self, arrow: Arrow, gain: Gain) -> tuple[Gain, State, State] | None:
        """Return `gain` with what may hold in the states it comes from and in those it leads to; None if it may not."""
        needed, made = arrow.here | gain.here, arrow.there | gain.there | 1 << gain.value
        here, there = ~0, ~0
        for value in facts_of(needed):
            here &= self._reached[value]
        for value in facts_of(made):
            there &= self._possible[value]
        return None if needed & ~here or made & ~there else (gain, here, there)

    def _reach(self, value: int, together: State) -> None:
        new = together & ~self._reached[value]
        if not new:
            return
        self._clock += 1
        self._reached[value] |= new
        self._grown[value] = self._clock
        for other in facts_of(new):
            self._reached[other] |= 1 << value
            self._grown[other] = self._clock


def restrict_task(task: Task, actions: Sequence[int]) -> tuple[Task, list[int], list[int]]:
    """Return `task` with these actions only, and which of them and of its facts are left.

    Facts are numbered anew, in order. What can be reached with the actions can be reached just so in the smaller task.
    """
    holding = _reach_facts(task, [task.actions[number] for number in actions])
    left = [number for number in actions if holding.issuperset(task.actions[number].precondition)]
    kept = [task.actions[number] for number in left]
    facts = [fact for fact in range(len(task.facts)) if fact in holding]
    if len(facts) == len(task.facts):
        return replace(task, actions=tuple(kept)), left, facts
    return _Numbering(facts).task(task, kept), left, facts


def _reach_facts(task: Task, actions: Sequence[GroundAction]) -> set[int]:
    """Return the facts that may hold if deletes are ignored, those that are derived or goals among them."""
    holding = {*task.initial, *task.goal, *task.derived}
    waiting = [(action.precondition, action.adds) for action in actions if not holding.issuperset(action.adds)]
    waiting += [
        (action.precondition + effect.condition, effect.adds) for action in actions for effect in action.conditional
    ]
    before = -1
    while before != len(waiting):
        before, open_still = len(waiting), []
        for needed, adds in waiting:
            if holding.issuperset(needed):
                holding.update(adds)
            else:
                open_still.append((needed, adds))
        waiting = open_still
    return holding


class _Numbering:
    """New numbers for the `facts` that are left."""

    def __init__(self, facts: Sequence[int]) -> None:
        self._facts = facts
        self._number = {fact: number for number, fact in enumerate(facts)}

    def task(self, task: Task, actions: Iterable[GroundAction]) -> Task:
        """Return `task` with these actions."""
        groups = [self._left(group) for group in task.mutexes]
        return replace(
            task,
            facts=tuple([task.facts[fact] for fact in self._facts]),
            variables=tuple([left for group in task.variables if (left := self._left(group))]),
            initial=self._left(task.initial),
            goal=self._left(task.goal),
            actions=tuple([self._action(action) for action in actions]),
            axioms=tuple([self._layer(layer) for layer in task.axioms]),
            derived=frozenset(self._left(task.derived)),
            mutexes=tuple([group for group in groups if len(group) > 1]),
        )

    def _left(self, facts: Iterable[int]) -> tuple[int, ...]:
        number = self._number
        return tuple([number[fact] for fact in facts if fact in number])

    def _can_hold(self, facts: Iterable[int]) -> bool:
        return all(fact in self._number for fact in facts)

    def _action(self, action: GroundAction) -> GroundAction:
        effects = [
            ConditionalEffect(self._left(effect.condition), self._left(effect.adds), self._left(effect.deletes))
            for effect in action.conditional
            if self._can_hold(effect.condition)
        ]
        return replace(
            action,
            precondition=self._left(action.precondition),
            adds=self._left(action.adds),
            deletes=self._left(action.deletes),
            conditional=tuple([effect for effect in effects if effect.adds or effect.deletes]),
        )

    def _layer(self, layer: AxiomLayer) -> AxiomLayer:
        rules = [
            Rule(self._left(rule.body), self._left([rule.head])[0]) for rule in layer.rules if self._can_hold(rule.body)
        ]
        negated = [(self._number[fact], self._number[derived]) for fact, derived in layer.negated]
        return AxiomLayer(tuple(rules), tuple(negated))


MOST: Final = 4_000
"""Conflicts that search looks for in each state, at most."""


class Knowledge(Protocol):
    """Either tier's knowledge of pairs; see `planner.pruning.h2.Pairs`."""

    def sharpen(self) -> Sharpened:
        """Find what else must hold where each action is applied; return whether there may be a plan."""

    def forwards(self) -> Pauses:
        """Rule out the pairs that are not reached from the initial state."""

    def backwards(self) -> Pauses:
        """Rule out the pairs from which the goal is not reached."""

    def copy(self) -> Rows:
        """Return the rows as they are now."""

    def actions(self) -> list[int]:
        """Return the actions that a plan may need."""

    def needed(self, action: int) -> tuple[int, ...]:
        """Return what must hold where an action is applied, if a plan may need it; else nothing."""

    def count(self) -> int:
        """Return a number that is another one whenever more is known."""


class Mutexes:
    """By fact, the facts that do not hold together with it, as bits; with itself, if it does not hold at all.

    They are read off `rows` over so many values (`size`), where fact f is `values[f]`.
    """

    def __init__(self, rows: Rows, values: Sequence[int], size: int) -> None:
        self._rows, self._values, self._size = rows, values, size
        self._pick = itemgetter(*[size - 1 - value for value in reversed(values)], 0)

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, fact: int) -> State:
        excluded = ~self._rows(self._values[fact]) & (1 << self._size) - 1
        digits = format(excluded, f"0{self._size}b")
        return int("".join(self._pick(digits)[:-1]), 2)


@dataclass(frozen=True, slots=True)
class Pruned:
    """A `task` that is no larger than the one that was given, and has the same cheapest plans.

    Its actions and facts are numbers `actions` and `facts` of that one; its variables may be fewer and larger. No state
    that can be reached there has a pair of `unreachable` facts, and no state on a plan one of `excluded` facts, most of
    which are both; these are by number in `task`. Unless it is `solvable` there is no plan, which is proved, `by` what;
    if it is, there may be one.
    """

    task: Task
    actions: Sequence[int]
    facts: Sequence[int]
    solvable: bool
    unreachable: Mutexes
    excluded: Mutexes
    by: str = "h2"


class Pruning:
    """Looks for what no plan needs, for as long as `steps` are gone through; `result` is what is known by then.

    That is found out about `pairs` of `values`, which stand for the facts of the task.
    Kernels do the work where `entries` has them; `check` raises when a limit is reached meanwhile.
    """

    def __init__(self, task: Task, check: Callable[[], None] = never, entries: Entries | None = None) -> None:
        self._task = task
        self.values = translate_task(task, check)
        self.pairs = _knowledge(self.values, entries, check)
        self._unreachable = self._excluded = self.pairs.copy()
        self._first = True
        self._solvable = True

    def steps(self) -> Pauses:
        """Rule out pairs and actions forwards and backwards by turns, until neither would find anything new."""
        pairs, left, forwards = self.pairs, {True: -1, False: -1}, True
        while True:
            self._solvable = yield from pairs.sharpen()
            if not self._solvable or left[forwards] == pairs.count():
                return
            yield from pairs.forwards() if forwards else pairs.backwards()
            left[forwards], forwards = pairs.count(), not forwards
            self._excluded = pairs.copy()
            if self._first:
                self._unreachable, self._first = self._excluded, False

    def result(self) -> Pruned:
        """Return what is known."""
        task, actions, facts = restrict_task(self._task, self.pairs.actions() if self._solvable else [])
        values = [self.values.value_of[fact] for fact in facts]
        unreachable, excluded = (
            Mutexes(rows, values, self.values.size) for rows in (self._unreachable, self._excluded)
        )
        task = replace(
            merge_variables(task, unreachable),
            conflicts=tuple(islice(_find_conflicts(task, unreachable, excluded), MOST)),
        )
        return Pruned(task, actions, facts, self._solvable, unreachable, excluded)


def _find_conflicts(task: Task, unreachable: Mutexes, excluded: Mutexes) -> Iterator[tuple[int, int]]:
    """Yield the pairs of facts, none of them derived, that states may have which are reached, but none on a plan."""
    base = ~bits(task.derived)
    for fact in range(len(task.facts)):
        if fact not in task.derived:
            others = excluded[fact] & ~unreachable[fact] & base
            yield from [(fact, other) for other in facts_of(others >> fact << fact)]


def _knowledge(task: Assignments, entries: Entries | None, check: Callable[[], None]) -> Knowledge:
    """Return the tier that has the kernels."""
    if entries is None:
        return Pairs(task)
    from planner.pruning.h2_compiled import CompiledPairs

    return CompiledPairs(task, entries, check)


def prune(
    task: Task,
    check: Callable[[], None] = never,
    *,
    entries: Entries | None = None,
    seconds: float | None = None,
) -> Pruned:
    """Return what h² makes of `task`, or has made of it after so many `seconds` of processor time; see `Pruning`."""
    until = None if seconds is None else time.thread_time() + seconds
    pruning = Pruning(task, check, entries)
    for _ in pruning.steps():
        check()
        if until is not None and time.thread_time() > until:
            break
    return pruning.result()
