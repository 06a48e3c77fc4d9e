"""h² mutexes, forwards and backwards, and the pruning of a task by them.

Forwards (Haslum and Geffner, 2000): a pair is reached if an action adds both values, or adds one while the other may
hold and stay. Backwards (Alcázar and Torralba, 2015): the same with reversed actions, from the goal. Each direction
ignores the pairs that the other has excluded. If the values that must hold exclude all values of a variable but one,
that one must hold, too (disambiguation). Kernels do the work, in plain Python if there is no machine code.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from itertools import islice, pairwise
from operator import itemgetter

from planner.grounding.joins import batches
from planner.jit.arrays import Entries, empty_index, flatten, index, lengthen, words, zeros
from planner.jit.common_kernel import ENTRIES
from planner.jit.containers_kernel import Lists
from planner.lightweight import Final, dataclass, replace
from planner.limits import never
from planner.pruning import h2_kernel as kernel
from planner.pruning.disambiguation_kernel import Margin, Margins
from planner.search.search_run import Pauses
from planner.task.finite_domain import BATCH, TRUE, Assignments, Operator, merge_variables, translate_task
from planner.task.ground_task import AxiomLayer, ConditionalEffect, GroundAction, Rule, State, Task, bits, facts_of

Rows = Callable[[int], State]
"""Maps a value to the values that may hold together with it, as bits."""
Sharpened = Generator[None, None, bool]
"""Work that may be abandoned at each pause."""
Gain = tuple[int, Sequence[int], Sequence[int]]
"""A value that an operator may add, and the values that this requires before and after the operator."""

WORD: Final = 63
"""Number of bits used in a word."""
WORK: Final = 8_000_000
"""Steps of inner loops between two pauses: about 10 ms in machine code."""
PLAIN_WORK: Final = 50_000
"""The same for kernels in plain Python."""
MOST_KNOWN: Final = 1 << 26
"""Maximum number of values that must hold around operators, of 4 bytes each."""
ENDS: Final = 2
"""The initial state and the goal come after the operators."""
MOST_CONFLICTS: Final = 4_000
"""Maximum number of conflicts that search tests in each state."""


class Pairs:
    """The pairs of values of `task` that may hold together; `check` raises when a limit is reached.

    `entries` are the compiled kernels; without them, the kernels run in plain Python.
    """

    def __init__(
        self,
        task: Assignments,
        entries: Entries | None,
        check: Callable[[], None] = never,
        *,
        work: int | None = None,
    ) -> None:
        self._entries = entries = ENTRIES if entries is None else entries
        self._work = work or (PLAIN_WORK if entries is ENTRIES else WORK)
        self._actions = len(task.operators)
        size = self._size = task.size
        width = self._width = -(-size // WORD)
        self._domains = kernel.Domains(
            index([value // WORD for value in range(size)]),
            words([1 << value % WORD for value in range(size)]),
            index(task.variable_of),
            index([*[values.start for values in task.variables], size]),
        )
        self._gains, self._back = _pack_gains(task, _gain_forwards, check), _pack_gains(task, _gain_backwards, check)
        most = max([_count_most_gains(self._gains), _count_most_gains(self._back)])
        variables = len(task.variables)
        self._room = kernel.Room(zeros(width), zeros(width), zeros(width), index([0] * (most + 1)))
        here, there = (Margin(zeros(width), empty_index(variables)) for _ in range(2))
        self._margins = Margins(here, there, empty_index(variables))
        rows = [zeros(size * width) for _ in range(2)]
        self._table = kernel.Table(rows[0], rows[1], zeros(size), zeros(self._actions + ENDS))
        ends = [(TRUE, *task.initial), (TRUE, *task.goal)]
        self._around = kernel.Around(
            _pack_lists([*[() if each is None else each.before for each in task.operators], *ends]),
            _pack_lists([*[() if each is None else each.after for each in task.operators], *ends]),
        )
        self._number = zeros(kernel.HOW_MANY)
        entries["init_pairs"](self._domains, _pack_lists([facts_of(group) for group in task.groups]), self._table)
        self._number[kernel.COUNT] = sum([word.bit_count() for word in self._table.possible])

    def sharpen(self) -> Sharpened:
        """Extend the values that must hold around each operator (disambiguation); return False if there is no plan."""
        old, number = self._around, self._number
        new = kernel.Around(*[Lists(index([0]) * len(lists.start), lists.item[:]) for lists in old])
        number[kernel.POSITION] = 0
        outcome = kernel.BUSY
        while outcome != kernel.DONE:
            if outcome == kernel.FULL and sum([len(lists.item) for lists in new]) > MOST_KNOWN:
                return True
            if outcome == kernel.FULL:
                needed = [lists.start[number[kernel.POSITION]] + len(self._domains.first) for lists in new]
                new = kernel.Around(
                    *[Lists(lists.start, lengthen(lists.item, most)) for lists, most in zip(new, needed, strict=True)]
                )
            outcome = self._entries["sharpen_pairs"](
                self._work,
                number,
                self._domains,
                old,
                new,
                self._gains,
                self._table.possible,
                self._margins,
            )
            yield
        self._around = new
        return all(new.here.start[end] < new.here.start[end + 1] for end in (self._actions, self._actions + 1))

    def forwards(self) -> Pauses:
        """Exclude the pairs that are unreachable from the initial state."""
        return self._travel(self._actions, self._around, self._gains)

    def backwards(self) -> Pauses:
        """Exclude the pairs from which the goal is unreachable."""
        around = kernel.Around(self._around.there, self._around.here)
        return self._travel(self._actions + 1, around, self._back)

    def _travel(self, start: int, around: kernel.Around, gains: kernel.Gains) -> Pauses:
        """Exclude the pairs unreachable from states in which list `start` of `around.here` holds."""
        number, domains, table, room = self._number, self._domains, self._table, self._room
        self._entries["begin_spread"](start, number, domains, around, table, room)
        yield
        while self._entries["spread_pairs"](self._work, number, domains, around, gains, table, room) != kernel.DONE:
            yield
        self._entries["finish_spread"](number, table)

    def copy(self) -> Rows:
        """Return a copy of the rows, as a function from a value to its row."""
        rows, width = self._table.possible[:], self._width

        def row(value: int) -> State:
            found = 0
            for word in reversed(rows[value * width : (value + 1) * width]):
                found = found << WORD | word
            return found

        return row

    def actions(self) -> list[int]:
        """Return the actions that a plan may use."""
        start = self._around.here.start
        return [number for number in range(self._actions) if start[number] < start[number + 1]]

    def needed(self, action: int) -> tuple[int, ...]:
        """Return the values that must hold before an action; none if no plan uses it."""
        start, item = self._around.here
        return tuple(item[start[action] : start[action + 1]])

    def count(self) -> int:
        """Return a number that changes whenever a pair, an operator or a value is excluded."""
        known = sum([lists.start[-1] for lists in self._around])
        return self._number[kernel.COUNT] + 4 * self._size * len(self.actions()) - known


def _gain_forwards(_task: Assignments, operator: Operator) -> Iterator[Gain]:
    for change in operator.changes:
        yield change.after, [value for value in change.condition if value not in operator.before], ()


def _gain_backwards(task: Assignments, operator: Operator) -> Iterator[Gain]:
    for change in operator.changes:
        here = () if change.after in operator.after else (change.after,)
        for value in task.befores(change):
            yield value, here, change.condition


def _pack_gains(
    task: Assignments, of: Callable[[Assignments, Operator], Iterable[Gain]], check: Callable[[], None]
) -> kernel.Gains:
    """Pack the gains of operators into arrays; the initial state and the goal have none."""
    start, gains = index([0]), list[Gain]()
    for batch in batches(task.operators, BATCH):
        check()
        for operator in batch:
            if operator is not None:
                gains += of(task, operator)
            start.append(len(gains))
    start.extend([len(gains)] * ENDS)
    return kernel.Gains(
        start,
        index([value for value, _, _ in gains]),
        _pack_lists([here for _, here, _ in gains]),
        _pack_lists([there for _, _, there in gains]),
        _pack_lists([*[() if operator is None else operator.gone for operator in task.operators], *[()] * ENDS]),
    )


def _pack_lists(lists: Sequence[Sequence[int]]) -> Lists:
    return Lists(*flatten(lists))


def _count_most_gains(gains: kernel.Gains) -> int:
    """Return the maximum number of gains of an operator."""
    return max([end - first for first, end in pairwise(gains.start)])


def restrict_task(task: Task, actions: Sequence[int]) -> tuple[Task, list[int], list[int]]:
    """Restrict `task` to these actions; return it with the numbers of the remaining actions and facts.

    Facts are renumbered in order. The restricted task reaches the same states with these actions.
    """
    holding = _reach_facts(task, [task.actions[number] for number in actions])
    left = [number for number in actions if holding.issuperset(task.actions[number].precondition)]
    kept = [task.actions[number] for number in left]
    facts = [fact for fact in range(len(task.facts)) if fact in holding]
    if len(facts) == len(task.facts):
        return replace(task, actions=tuple(kept)), left, facts
    return _Numbering(facts).task(task, kept), left, facts


def _reach_facts(task: Task, actions: Sequence[GroundAction]) -> set[int]:
    """Return the facts that the delete relaxation reaches, with the derived facts and the goal."""
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
    """Renumbers the remaining `facts`."""

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


class Mutexes:
    """The mutex facts of each fact, as bits; a fact that never holds is mutex with itself.

    They are computed from `rows` over `size` values; fact f is `values[f]`.
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
    """A `task` that is no larger than the given one, and has the same cheapest plans.

    `actions` and `facts` are the numbers of its actions and facts in the given task; its variables may be fewer and
    larger. No reachable state has a pair of `unreachable` facts, and no state on a plan has a pair of `excluded` facts;
    most of these pairs are both. They are numbered as in `task`. Unless the task is `solvable`, it has no plan, as the
    proof named `by` shows.
    """

    task: Task
    actions: Sequence[int]
    facts: Sequence[int]
    solvable: bool
    unreachable: Mutexes
    excluded: Mutexes
    by: str = "h2"


class Pruning:
    """Prunes a task by h² for as long as its caller continues `steps`; `result` returns the task pruned so far.

    `pairs` are those of `values`, which stand for the facts of the task. `entries` are the compiled kernels; `check`
    raises when a limit is reached.
    """

    def __init__(self, task: Task, check: Callable[[], None] = never, entries: Entries | None = None) -> None:
        self._task = task
        self.values = translate_task(task, check)
        self.pairs = Pairs(self.values, entries, check)
        self._unreachable = self._excluded = self.pairs.copy()
        self._first = True
        self._solvable = True

    def steps(self) -> Pauses:
        """Exclude pairs and actions, forwards and backwards in turn, up to the fixed point."""
        pairs, forwards = self.pairs, True
        left: dict[bool, int | None] = {True: None, False: None}
        while True:
            self._solvable = yield from pairs.sharpen()
            if not self._solvable or left[forwards] == pairs.count():
                return
            yield from pairs.forwards() if forwards else pairs.backwards()
            left[forwards], forwards = pairs.count(), not forwards
            self._excluded = pairs.copy()
            if self._first:
                self._unreachable, self._first = self._excluded, False

    @property
    def is_solvable(self) -> bool:
        """Whether the pairs left exclude no plan."""
        return self._solvable

    def find_mutexes(self, facts: Iterable[int]) -> tuple[Mutexes, Mutexes]:
        """Return the mutexes among these facts of the task: of reachable states, and of states on a plan."""
        values = [self.values.value_of[fact] for fact in facts]
        rows, others = self._unreachable, self._excluded
        return Mutexes(rows, values, self.values.size), Mutexes(others, values, self.values.size)

    def result(self) -> Pruned:
        """Return the task as pruned so far."""
        task, actions, facts = restrict_task(self._task, self.pairs.actions() if self._solvable else [])
        unreachable, excluded = self.find_mutexes(facts)
        task = replace(
            merge_variables(task, unreachable.__getitem__),
            conflicts=tuple(islice(_find_conflicts(task, unreachable, excluded), MOST_CONFLICTS)),
        )
        return Pruned(task, actions, facts, self._solvable, unreachable, excluded)


def _find_conflicts(task: Task, unreachable: Mutexes, excluded: Mutexes) -> Iterator[tuple[int, int]]:
    """Yield the pairs of base facts that reachable states may have, but no state on a plan."""
    base = ~bits(task.derived)
    for fact in range(len(task.facts)):
        if fact not in task.derived:
            others = excluded[fact] & ~unreachable[fact] & base
            yield from [(fact, other) for other in facts_of(others >> fact << fact)]


def prune(
    task: Task,
    check: Callable[[], None] = never,
    *,
    entries: Entries | None = None,
    seconds: float | None = None,
) -> Pruned:
    """Prune `task` by h² for at most `seconds` of processor time; see `Pruning`."""
    until = None if seconds is None else time.thread_time() + seconds
    pruning = Pruning(task, check, entries)
    for _ in pruning.steps():
        check()
        if until is not None and time.thread_time() > until:
            break
    return pruning.result()
