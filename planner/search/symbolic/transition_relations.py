"""Sets of states and transition relations as decision diagrams.

Each finite-domain variable is encoded by bits, and each bit has a twin for the state after a step, next to it in the
order. Variables that actions read and write together are close in the order: exchanging pairs reduces the sum of
squared distances (Kissmann and Edelkamp, 2011). Relations of actions with the same cost are merged while the diagrams
stay small; a relation has only the variables that it changes (Torralba et al., 2017).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from itertools import combinations
from operator import and_, or_
from random import Random

from oxidd.bcdd import BCDDFunction, BCDDManager, BCDDSubstitution
from oxidd.util import BooleanOperator

from planner.jit.arrays import Entries, flatten, words
from planner.jit.common_kernel import ENTRIES
from planner.jit.containers_kernel import Lists
from planner.lightweight import Final, dataclass
from planner.task.ground_task import GroundAction, State, Task, bits, facts_of, find_base_facts
from planner.task.packed_task_compiled import find_optional_variables, variables_of

Set = BCDDFunction
"""A set of states, or a relation between states: a diagram with complemented edges."""
NODE_BYTES: Final = 40
"""Bytes of a node, with its place in the table of all nodes."""
RESULT_BYTES: Final = 20
"""Bytes of an entry in the cache of results."""
NODES_A_RESULT: Final = 2
"""Nodes for each entry in the cache."""
MOST_RESULTS: Final = 1 << 24
"""Maximum number of cache entries: more are no faster, since touching memory costs time, too."""
NONE: Final = -1
"""The value of a variable without a true fact."""


class Coding:
    """The encoding of states of `task` by bits, with its variables in this `order`, in `room` bytes of memory.

    `variable_of` is the variable of each fact. `holds[f]` are the states in which fact f holds, derived facts included;
    `valid` are the codes that are states. `everything` and `nothing` are the full and the empty set.
    """

    def __init__(self, task: Task, order: list[int], room: int) -> None:
        together = RESULT_BYTES + NODES_A_RESULT * NODE_BYTES
        results = min(MOST_RESULTS, 1 << max(room // together, 1).bit_length() - 1)
        nodes = max(room - results * RESULT_BYTES, 0) // NODE_BYTES
        self.task, self.order = task, order
        self.rank = {variable: index for index, variable in enumerate(order)}
        """The position of each variable in the order."""
        self.variable_of = variables_of(task)
        self.manager = BCDDManager(nodes, results, 1)
        self.everything, self.nothing = self.manager.true(), self.manager.false()
        lacking = find_optional_variables(task, self.variable_of)
        self.values = [[*facts, *([NONE] if number in lacking else [])] for number, facts in enumerate(task.variables)]
        """The facts of each variable, and `NONE` where it may have none of them."""
        self.places = self._places()
        """The numbers of the bits of each variable; the twin of bit b is b + 1."""
        self.manager.add_vars(2 * sum(map(len, self.places)))
        self._same: dict[int, Set] = {}
        self.holds = self._facts()
        self._derive()
        self.valid = self.all_of(
            [self.any_of(self.states_with(variable, each) for each in self.values[variable]) for variable in order]
        )

    def _places(self) -> list[list[int]]:
        places: list[list[int]] = [[] for _ in self.values]
        used = 0
        for variable in self.order:
            width = max(1, (len(self.values[variable]) - 1).bit_length())
            places[variable] = list(range(used, used + 2 * width, 2))
            used += 2 * width
        return places

    def _facts(self) -> list[Set]:
        holds = [self.nothing] * len(self.task.facts)
        for variable, facts in enumerate(self.task.variables):
            for fact in facts:
                holds[fact] = self.states_with(variable, fact)
        return holds

    def _derive(self) -> None:
        """Compute the states in which derived facts hold, layer by layer, each to its fixed point."""
        holds = self.holds
        for layer in self.task.axioms:
            changed = True
            while changed:
                changed = False
                for rule in layer.rules:
                    more = holds[rule.head] | self.all_of([holds[fact] for fact in rule.body])
                    changed |= more != holds[rule.head]
                    holds[rule.head] = more
            for negated, derived in layer.negated:
                holds[negated] = ~holds[derived]

    def all_of(self, sets: Iterable[Set]) -> Set:
        """Return the intersection."""
        return reduce(and_, sets, self.everything)

    def any_of(self, sets: Iterable[Set]) -> Set:
        """Return the union."""
        return reduce(or_, sets, self.nothing)

    def states_with(self, variable: int, value: int, twin: int = 0) -> Set:
        """Return the states in which `variable` has this value (a fact, or `NONE`); with `twin` 1, after the step."""
        number, result = self.values[variable].index(value), self.everything
        for index, place in reversed(list(enumerate(self.places[variable]))):
            bit = self.manager.var(place + twin)
            result = (bit if number >> index & 1 else ~bit) & result
        return result

    def unchanged(self, variable: int) -> Set:
        """Return the pairs of states with the same value of `variable`."""
        if variable not in self._same:
            pairs = [self.manager.var(place).equiv(self.manager.var(place + 1)) for place in self.places[variable]]
            self._same[variable] = self.all_of(reversed(pairs))
        return self._same[variable]

    def state(self, facts: Iterable[int]) -> Set:
        """Return the set of the one state in which exactly these base facts hold."""
        value = {self.variable_of[fact]: fact for fact in facts}
        return self.all_of([self.states_with(variable, value.get(variable, NONE)) for variable in reversed(self.order)])

    def encode(self, state: State) -> list[tuple[int, bool]]:
        """Encode a state: return its bits and their values."""
        found = []
        for variable, values in enumerate(self.values):
            number = next((index for index, fact in enumerate(values) if fact == NONE or state >> fact & 1))
            found += [(place, bool(number >> index & 1)) for index, place in enumerate(self.places[variable])]
        return found

    def pick_state(self, states: Set) -> State:
        """Return one state of a set that is not empty."""
        cube = states.pick_cube()
        assert cube is not None
        facts = []
        for variable, values in enumerate(self.values):
            number = sum([1 << index for index, place in enumerate(self.places[variable]) if cube[place]])
            if values[number] != NONE:
                facts.append(values[number])
        return bits(facts)


ATTEMPTS: Final = 20
"""Number of initial orders that are improved: the given one and random ones."""
ORDERS: Final = 4
"""Number of orders that are returned."""
EXCHANGES: Final = 50_000
"""Number of exchanges of pairs that machine code tries for each order."""
FEW_EXCHANGES: Final = 2_000
"""The same for plain Python."""


def arrange_variables(
    task: Task, variable_of: list[int], entries: Entries, *, seed: int = 0, exchanges: int | None = None
) -> list[list[int]]:
    """Search for good orders of the variables of `task`, by hill-climbing from several initial orders.

    Each climb tries so many `exchanges`; None: as many as the `entries`, which may be machine code, can in time.
    """
    slow = entries["arrange_items"] is ENTRIES["arrange_items"]
    many = exchanges or (FEW_EXCHANGES if slow else EXCHANGES)
    pairs = find_neighbours(task, variable_of)
    near: list[list[int]] = [[] for _ in task.variables]
    for first, second in sorted(pairs):
        near[first].append(second)
        near[second].append(first)
    lists = Lists(*flatten(near))
    random, given = Random(seed), list(range(len(near)))
    found = {}
    for attempt in range(ATTEMPTS):
        begun = random.sample(given, len(given)) if attempt else given
        cost, order = _improve_order(begun, lists, attempt, entries, many)
        found[tuple(order)] = cost
    return [list(order) for order in sorted(found, key=found.__getitem__)[:ORDERS]]


def _improve_order(order: list[int], near: Lists, seed: int, entries: Entries, exchanges: int) -> tuple[int, list[int]]:
    if len(order) < 2:
        return 0, order
    better, place = words(order), words(order)
    for index, variable in enumerate(order):
        place[variable] = index
    return entries["arrange_items"](exchanges, seed, near, better, place), list(better)


def find_neighbours(task: Task, variable_of: list[int]) -> set[tuple[int, int]]:
    """Find the pairs of variables of which an action reads one and writes the other, or writes both."""
    pairs: set[tuple[int, int]] = set()
    depends = find_base_facts(task)
    for action in task.actions:
        written = {variable_of[fact] for fact in written_by(action)}
        bases = bits(read_by(action) - task.derived)
        for fact in read_by(action) & task.derived:
            bases |= depends[fact]
        read = {variable_of[fact] for fact in facts_of(bases)} - written
        pairs.update(combinations(sorted(written), 2))
        pairs.update((min(one, other), max(one, other)) for one in written for other in read)
    return pairs


def written_by(action: GroundAction) -> set[int]:
    """Return the facts that `action` may add or delete."""
    return {*action.adds, *action.deletes}.union(*[(*each.adds, *each.deletes) for each in action.conditional])


def read_by(action: GroundAction) -> set[int]:
    """Return the facts in the conditions of `action`."""
    return {*action.precondition}.union(*[each.condition for each in action.conditional])


MOST_NODES: Final = 100_000
"""Largest merged relation, in nodes."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A transition relation of steps with the same `cost`: `pairs` of states, over the variables `changed`.

    `before` and `after` are the cubes of the bits of these variables and of their twins, for quantification.
    """

    cost: int
    pairs: Set
    changed: frozenset[int]
    before: Set
    after: Set
    to_before: BCDDSubstitution
    to_after: BCDDSubstitution

    def image(self, states: Set) -> Set:
        """Return the successors of `states`."""
        return states.apply_exists(BooleanOperator.AND, self.pairs, self.before).substitute(self.to_before)

    def preimage(self, states: Set) -> Set:
        """Return the predecessors of `states`."""
        return states.substitute(self.to_after).apply_exists(BooleanOperator.AND, self.pairs, self.after)


Part = tuple[Set, frozenset[int]]
"""Pairs of states, and the variables that may differ."""


def build_relations(coding: Coding, most: int = MOST_NODES) -> list[Relation]:
    """Build the transition relations of all actions, those of least cost first."""
    by_cost: dict[int, list[Part]] = {}
    for action in coding.task.actions:
        changed = frozenset(coding.variable_of[fact] for fact in written_by(action))
        by_cost.setdefault(action.cost, []).append((_pairs(coding, action), changed))
    found = []
    for cost in sorted(by_cost):
        parts = sorted(by_cost[cost], key=lambda part: sorted(coding.rank[variable] for variable in part[1]))
        found += [_make_relation(coding, cost, *part) for part in _merge(coding, parts, most)]
    return found


def _pairs(coding: Coding, action: GroundAction) -> Set:
    """Return the pairs of states before and after `action`."""
    everything, holds = coding.everything, coding.holds
    adds: dict[int, dict[int, Set]] = {}
    deletes: dict[int, Set] = {}
    effects = [((), action.adds, action.deletes), *((e.condition, e.adds, e.deletes) for e in action.conditional)]
    for condition, added, deleted in effects:
        where = coding.all_of([holds[fact] for fact in condition]) if condition else everything
        for fact in added:
            values = adds.setdefault(coding.variable_of[fact], {})
            values[fact] = values.get(fact, coding.nothing) | where
        for fact in deleted:
            variable = coding.variable_of[fact]
            deletes[variable] = deletes.get(variable, coding.nothing) | where & holds[fact]
    pairs = coding.all_of([holds[fact] for fact in action.precondition])
    for variable in sorted({*adds, *deletes}, key=coding.rank.__getitem__, reverse=True):
        pairs &= _change(coding, pairs, variable, adds.get(variable, {}), deletes.get(variable, coding.nothing))
    return pairs


def _change(coding: Coding, when: Set, variable: int, adds: dict[int, Set], deleted: Set) -> Set:
    """Return the pairs of values of one variable under an action that is applied in the states `when`."""
    added = coding.any_of(adds.values())
    lost = deleted & ~added
    kept = ~(added | lost)
    # Adding wins over deleting; a variable that is neither set nor deleted keeps its value.
    change = coding.any_of([where & coding.states_with(variable, fact, 1) for fact, where in adds.items()])
    if (when & lost).satisfiable():
        change |= lost & coding.states_with(variable, NONE, 1)
    return change | kept & coding.unchanged(variable) if (when & kept).satisfiable() else change


def _merge(coding: Coding, parts: list[Part], most: int) -> list[Part]:
    """Merge neighbouring parts again and again while the results have at most `most` nodes."""
    done: list[Part] = []
    while len(parts) > 1:
        united: list[Part] = []
        for index in range(0, len(parts) - 1, 2):
            both = _unite(coding, parts[index], parts[index + 1])
            if both[0].node_count() <= most:
                united.append(both)
            else:
                done += parts[index : index + 2]
        parts = united + parts[len(parts) & ~1 :]
    return done + parts


def _unite(coding: Coding, one: Part, other: Part) -> Part:
    (pairs, changed), (more, also) = one, other
    for variable in also - changed:
        pairs &= coding.unchanged(variable)
    for variable in changed - also:
        more &= coding.unchanged(variable)
    return pairs | more, changed | also


def _make_relation(coding: Coding, cost: int, pairs: Set, changed: frozenset[int]) -> Relation:
    var = coding.manager.var
    places = sorted([place for variable in changed for place in coding.places[variable]], reverse=True)
    return Relation(
        cost,
        pairs,
        changed,
        coding.all_of(map(var, places)),
        coding.all_of(var(place + 1) for place in places),
        pairs.make_substitution([(place + 1, var(place)) for place in places]),
        pairs.make_substitution([(place, var(place + 1)) for place in places]),
    )
