"""Policy iteration over strongly connected components (Howard, 1960; Dai and Goldsmith, 2007).

Equations x = b + A x of absorbing Markov chains are solved without differences such as 1 - 0.999…, which would lose all
digits: each equation also states the probability of leaving the chain (Grassmann, Taksar and Heyman, 1985).

End components that cost nothing become one node each (de Alfaro, 1997; Kolobov et al., 2011; Haddad and Monmege, 2014):
without them, values have one fixed point, and no policy that cycles for ever passes for a good one. One aim follows the
other, each among the policies that are best so far; the last aim is the cost.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from planner.graphs import components
from planner.lightweight import Final, dataclass
from planner.policies.markov_decision_process import Option

Row = tuple[float, float, dict[int, float]]
"""A constant, the probability to leave the chain at once, and those of all that may come next: factors of unknowns."""

FEW: Final = 100
"""Up to so many unknowns, plain Python is faster than importing numpy."""
MANY: Final = 3000
"""Beyond so many unknowns, a dense matrix takes more memory than the problem is worth."""
CLOSE: Final = 1e-14
"""Iteration stops where a round changes nothing by more than this part of a value."""
ROUNDS: Final = 10_000
"""After so many rounds, iteration is given up."""
SURE: Final = 1e-9
"""By so much the probability to leave the chain at last may be found to differ from 1; more shows a loss of digits."""


def solved(rows: Mapping[int, Row]) -> dict[int, float]:
    """Return the unknowns x by their keys: x = constant + the sum of factor · unknown.

    From every key, the factors lead at last to one from which the chain can be left.
    """
    direct = {key: _without_loop(key, row) for key, row in rows.items()}
    found = None
    if len(rows) > FEW:
        found = _dense(direct) if len(rows) <= MANY else _iterated(direct)
    return _eliminated(direct) if found is None else found


def _without_loop(key: int, row: Row) -> Row:
    """Return the equation of `key` without `key` on its right-hand side."""
    constant, leaving, factors = row
    others = {other: share for other, share in factors.items() if other != key and share}
    rest = leaving + sum(others.values())
    return constant / rest, leaving / rest, {other: share / rest for other, share in others.items()}


def _eliminated(rows: Mapping[int, Row]) -> dict[int, float]:
    """Gaussian elimination without pivots: unknowns are replaced one by one by what they stand for."""
    done: dict[int, Row] = {}
    for key, (fixed, left, given) in rows.items():
        constant, leaving, factors = fixed, left, dict(given)
        for other, (more, out, shares) in done.items():
            share = factors.pop(other, 0.0)
            if share:
                constant += share * more
                leaving += share * out
                for after, each in shares.items():
                    factors[after] = factors.get(after, 0.0) + share * each
        done[key] = _without_loop(key, (constant, leaving, factors))
    values: dict[int, float] = {}
    for key in reversed(list(rows)):
        constant, _, factors = done[key]
        values[key] = constant + sum([share * values[after] for after, share in factors.items()])
    return values


def _dense(rows: Mapping[int, Row]) -> dict[int, float] | None:
    """Solve with a matrix; None where digits were lost."""
    import numpy as np

    place = {key: number for number, key in enumerate(rows)}
    matrix = np.eye(len(rows))
    for key, (_, _, factors) in rows.items():
        for after, share in factors.items():
            matrix[place[key], place[after]] -= share
    sides = np.array([(constant, leaving) for constant, leaving, _ in rows.values()])
    try:
        found = np.linalg.solve(matrix, sides)
    except np.linalg.LinAlgError:
        return None
    if not np.all(np.abs(found[:, 1] - 1) <= SURE):
        return None
    return dict(zip(rows, map(float, found[:, 0]), strict=True))


def _iterated(rows: Mapping[int, Row]) -> dict[int, float] | None:
    """Gauss-Seidel, for large and sparse systems; None where it does not come to rest, or too early."""
    values, left = dict.fromkeys(rows, 0.0), dict.fromkeys(rows, 0.0)
    for _ in range(ROUNDS):
        change = 0.0
        for key, (constant, leaving, factors) in rows.items():
            value = constant + sum([share * values[after] for after, share in factors.items()])
            change = max(change, abs(value - values[key]) / max(1.0, abs(value)))
            values[key] = value
            left[key] = leaving + sum([share * left[after] for after, share in factors.items()])
        if change <= CLOSE:
            return values if all(abs(each - 1) <= SURE for each in left.values()) else None
    return None


Options = Sequence[Sequence[Option]]
"""What can be done in each node."""


@dataclass(frozen=True, slots=True)
class Exit:
    """An option of `node` that leaves its class, taken until it does; `price` and `branches` are what that comes to."""

    node: int
    option: Option
    price: float
    branches: tuple[tuple[float, int], ...]


class Quotient:
    """`options` with nodes that are connected for free made one class; `price` says what an option costs.

    `of` gives the class of each node, `members` the nodes of each class, `inner` the options by which a node of a class
    of several leads within it, and `exits` all else that can be done in a class. `check` raises to give up.
    """

    def __init__(self, options: Options, price: Callable[[Option], float], check: Callable[[], None]) -> None:
        self.options = options
        self.price = price
        free = {
            node: found
            for node, here in enumerate(options)
            if (found := [option for option in here if option.branches and not price(option)])
        }
        groups = [*_end_components(free, check)]
        self.inner = {node: here for group in groups for node, here in group.items()}
        single = [[node] for node in range(len(options)) if node not in self.inner]
        self.members = [*map(list, groups), *single]
        self.of = [0] * len(options)
        for number, members in enumerate(self.members):
            for node in members:
                self.of[node] = number
        self.exits = [self._exits(members, check) for members in self.members]

    def is_inner(self, node: int, option: Option) -> bool:
        """Return whether `option` stays in the class of `node` and costs nothing."""
        inner = self.inner.get(node)
        return inner is not None and any(option is each for each in inner)

    def _exits(self, members: Sequence[int], check: Callable[[], None]) -> list[Exit]:
        check()
        return [
            found
            for node in members
            for option in self.options[node]
            if not self.is_inner(node, option) and (found := self._exit(node, option))
        ]

    def _exit(self, node: int, option: Option) -> Exit | None:
        """Return an option that is taken until it leaves the class; None where it only pays for staying there."""
        of, shares = self.of, dict[int, float]()
        for share, after in option.branches:
            shares[of[after]] = shares.get(of[after], 0.0) + share
        price = self.price(option)
        if not shares.pop(of[node], 0.0):
            return Exit(node, option, price, tuple([(share, after) for after, share in shares.items()]))
        if not shares:
            return None
        rest = sum(shares.values())
        return Exit(node, option, price / rest, tuple([(share / rest, after) for after, share in shares.items()]))


def _end_components(options: dict[int, list[Option]], check: Callable[[], None]) -> Iterator[dict[int, list[Option]]]:
    """Yield the maximal end components: nodes, and their options that never leave them (de Alfaro, 1997)."""
    waiting = [options]
    while waiting:
        part = _staying(waiting.pop(), check)
        leads = {node: [after for each in here for _, after in each.branches] for node, here in part.items()}
        for nodes in components(leads):
            check()
            inside = set(nodes)
            kept = {
                node: [each for each in part[node] if all(after in inside for _, after in each.branches)]
                for node in nodes
            }
            if all(len(kept[node]) == len(part[node]) for node in nodes):
                yield kept
            else:
                waiting.append({node: here for node, here in kept.items() if here})


def _staying(options: dict[int, list[Option]], check: Callable[[], None]) -> dict[int, list[Option]]:
    """Return the nodes and options that never need lead out of them, as far as that shows without a look at circles."""
    kept = {node: {id(option): option for option in here} for node, here in options.items()}
    users: dict[int, list[tuple[int, Option]]] = defaultdict(list)
    for node, here in options.items():
        check()
        for option in here:
            for _, after in option.branches:
                users[after].append((node, option))
    gone = [after for after in users if after not in kept]
    for after in gone:
        for node, option in users[after]:
            here_kept = kept.get(node, {})
            if here_kept.pop(id(option), None) is not None and not here_kept:
                del kept[node]
                gone.append(node)
    return {node: [*here.values()] for node, here in kept.items()}


BETTER: Final = 1e-11
"""An exit must be better by this part of a value to be taken instead: less is rounding."""
ENDLESS: Final = float("inf")

Exits = Sequence[Sequence[Exit]]
"""What can be done in each class."""


def best_exits(exits: Exits, check: Callable[[], None]) -> tuple[list[float], dict[int, Exit]]:
    """Return for each class the least expected price until an end, and the exits to take for it.

    Classes from which no policy ends for sure are `ENDLESS` and have no exit. `check` is called between rounds, and
    raises to give up.
    """
    values = [ENDLESS] * len(exits)
    chosen: dict[int, Exit] = {}
    leads = {number: [after for each in here for _, after in each.branches] for number, here in enumerate(exits)}
    for component in components(leads):
        check()
        if len(component) == 1:
            (number,) = component
            best = min(exits[number], key=lambda each: worth(each, values), default=None)
            if best is not None and (value := worth(best, values)) < ENDLESS:
                values[number], chosen[number] = value, best
        else:
            policy = _proper(component, exits, values)
            _improve(policy, exits, values, check)
            chosen |= policy
    return values, chosen


def worth(exit_: Exit, values: Sequence[float]) -> float:
    """Return the expected price of `exit_` and all that comes after it."""
    total = exit_.price
    for share, after in exit_.branches:
        total += share * values[after]
    return total


def _proper(component: Iterable[int], exits: Exits, values: Sequence[float]) -> dict[int, Exit]:
    """Return a policy that leaves the component, or ends, for sure, for the classes that have one."""
    inside = set(component)
    while True:
        usable = {
            number: [e for e in exits[number] if all(n in inside or values[n] < ENDLESS for _, n in e.branches)]
            for number in inside
        }
        policy = _closer(usable)
        if len(policy) == len(inside):
            return policy
        inside = set(policy)


def _closer(usable: dict[int, list[Exit]]) -> dict[int, Exit]:
    """Return exits that may each come closer to the outside, for the classes from which it can be reached."""
    before: dict[int, list[tuple[int, Exit]]] = defaultdict(list)
    found: dict[int, Exit] = {}
    for number, here in usable.items():
        for each in here:
            if not each.branches or any(after not in usable for _, after in each.branches):
                found.setdefault(number, each)
            for _, after in each.branches:
                before[after].append((number, each))
    queue = [*found]
    for number in queue:
        for earlier, each in before[number]:
            if earlier not in found:
                found[earlier] = each
                queue.append(earlier)
    return found


def _improve(policy: dict[int, Exit], exits: Exits, values: list[float], check: Callable[[], None]) -> None:
    """Make `policy`, a proper one, the best one, and note its values, both in place."""
    changed = True
    while changed:
        check()
        changed = False
        _evaluate(policy, values)
        for number, now in policy.items():
            best = min(exits[number], key=lambda each: worth(each, values))
            known = values[number]
            if best is not now and worth(best, values) < known - BETTER * abs(known):
                policy[number], changed = best, True


def _evaluate(policy: dict[int, Exit], values: list[float]) -> None:
    """Note what `policy` costs in each of its classes; most of them are in no circle once one knows what to do."""
    leads = {number: [after for _, after in exit_.branches if after in policy] for number, exit_ in policy.items()}
    for circle in components(leads):
        inside = set(circle)
        rows = {}
        for number in circle:
            exit_ = policy[number]
            outside = [(share, after) for share, after in exit_.branches if after not in inside]
            fixed = exit_.price + sum([share * values[after] for share, after in outside])
            leaving = sum([share for share, _ in outside]) if exit_.branches else 1.0
            rows[number] = fixed, leaving, {after: share for share, after in exit_.branches if after in inside}
        for number, value in solved(rows).items():
            values[number] = value


TIE: Final = 1e-9
"""Options whose values differ by less than this part of them are as good as each other."""


@dataclass(frozen=True, slots=True)
class Solution:
    """The best values in each node, of each reward and then of the cost, and the option to take for them.

    No option where none ends for sure.
    """

    values: tuple[tuple[float, ...], ...]
    chosen: tuple[Option | None, ...]


def best_policy(options: Options, rewards: int, check: Callable[[], None]) -> Solution:
    """Return the lexicographically best values and a policy that has them, for every node.

    Every node has an end among its `options`. `check` raises to give up.
    """
    values: list[tuple[float, ...]] = []
    for number in range(rewards):
        quotient = Quotient(options, partial(_lost, number), check)
        found, _ = best_exits(quotient.exits, check)
        values.append(tuple([-found[quotient.of[node]] for node in range(len(options))]))
        options = _kept(quotient, found)
    quotient = Quotient(options, lambda option: option.cost, check)
    found, exits = best_exits(quotient.exits, check)
    values.append(tuple([found[quotient.of[node]] for node in range(len(options))]))
    return Solution(tuple(values), _taken(quotient, exits))


def _lost(number: int, option: Option) -> float:
    """Return the reward of an end, as a price."""
    return -option.worth[number] if option.worth else 0.0


def _kept(quotient: Quotient, values: Sequence[float]) -> Options:
    """Return the options that keep the best value."""
    kept: list[list[Option]] = [list(quotient.inner.get(node, ())) for node in range(len(quotient.options))]
    for number, exits in enumerate(quotient.exits):
        limit = values[number] + TIE * abs(values[number])
        for each in exits:
            if worth(each, values) <= limit:
                kept[each.node].append(each.option)
    return kept


def _taken(quotient: Quotient, exits: dict[int, Exit]) -> tuple[Option | None, ...]:
    """Return the options of a policy that leaves every class through its exit."""
    chosen: list[Option | None] = [None] * len(quotient.options)
    for number, exit_ in exits.items():
        chosen[exit_.node] = exit_.option
        queue = [exit_.node]
        before: dict[int, list[tuple[int, Option]]] = {}
        for node in quotient.members[number]:
            for option in quotient.inner.get(node, ()):
                for _, after in option.branches:
                    before.setdefault(after, []).append((node, option))
        for node in queue:
            for earlier, option in before.get(node, ()):
                if chosen[earlier] is None:
                    chosen[earlier] = option
                    queue.append(earlier)
    return tuple(chosen)
