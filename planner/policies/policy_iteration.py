"""Policy iteration over strongly connected components (Howard, 1960; Dai and Goldsmith, 2007).

The equations x = b + A x of absorbing Markov chains are solved without differences such as 1 - 0.999…, which would lose
all digits: each equation also states the probability of leaving the chain (Grassmann, Taksar and Heyman, 1985).

Each end component without cost is merged into one class (de Alfaro, 1997; Kolobov et al., 2011; Haddad and Monmege,
2014). In the quotient, the values have only one fixed point, and policies that cycle for ever do not look good. The
objectives are optimised in turn, each among the policies that are optimal for those before; the last one is the cost.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from planner.graphs import strong_components
from planner.lightweight import Final, dataclass
from planner.policies.markov_decision_process import Option

Row = tuple[float, float, dict[int, float]]
"""A constant, the probability of leaving the chain at once, and the probability of each successor, by its key."""

FEW: Final = 100
"""Unknowns up to which elimination in plain Python is faster than importing numpy."""
MANY: Final = 3000
"""Unknowns up to which the system is solved as a dense matrix; larger ones are solved by iteration."""
CLOSE: Final = 1e-14
"""Iteration stops when no value changes by more than this fraction of it."""
ROUNDS: Final = 10_000
"""Most rounds of an iteration."""
SURE: Final = 1e-9
"""Largest error of the computed probability of leaving the chain, which is 1; a larger one shows a loss of digits."""


def solve_linear_system(rows: Mapping[int, Row]) -> dict[int, float]:
    """Solve x = constant + the sum of factor · unknown for all keys at once.

    From every key, a key must be reachable from which the chain can be left.
    """
    direct = {key: _remove_self_loop(key, row) for key, row in rows.items()}
    found = None
    if len(rows) > FEW:
        found = _solve_dense(direct) if len(rows) <= MANY else _iterate_gauss_seidel(direct)
    return _eliminate(direct) if found is None else found


def _remove_self_loop(key: int, row: Row) -> Row:
    """Solve the equation of `key` for the unknown of `key` alone."""
    constant, leaving, factors = row
    others = {other: share for other, share in factors.items() if other != key and share}
    rest = leaving + sum(others.values())
    return constant / rest, leaving / rest, {other: share / rest for other, share in others.items()}


def _eliminate(rows: Mapping[int, Row]) -> dict[int, float]:
    """Solve by Gaussian elimination without pivoting."""
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
        done[key] = _remove_self_loop(key, (constant, leaving, factors))
    values: dict[int, float] = {}
    for key in reversed(list(rows)):
        constant, _, factors = done[key]
        values[key] = constant + sum([share * values[after] for after, share in factors.items()])
    return values


def _solve_dense(rows: Mapping[int, Row]) -> dict[int, float] | None:
    """Solve with a dense matrix; return None where digits were lost."""
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


def _iterate_gauss_seidel(rows: Mapping[int, Row]) -> dict[int, float] | None:
    """Solve large and sparse systems by Gauss-Seidel iteration; return None where it does not converge."""
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
"""The options of each node."""


@dataclass(frozen=True, slots=True)
class Exit:
    """An option of `node` that can leave the class of the node.

    `price` and `branches` are those of taking the option until it leaves the class.
    """

    node: int
    option: Option
    price: float
    branches: tuple[tuple[float, int], ...]


class Quotient:
    """A decision process whose end components without cost are merged into one class each; `price` is the cost.

    `of` is the class of each node, and `members` the nodes of each class. `inner` are the free options of a node that
    stay in its class, and `exits` are all other options of a class. `check` raises at a limit.
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
        """Return whether `option` is free and stays in the class of `node`."""
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
        """Return the exit by `option`; None where it never leaves the class."""
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
    """Yield the maximal end components: their nodes, and the options that stay within (de Alfaro, 1997)."""
    waiting = [options]
    while waiting:
        part = _remove_leaving(waiting.pop(), check)
        leads = {node: [after for each in here for _, after in each.branches] for node, here in part.items()}
        for nodes in strong_components(leads):
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


def _remove_leaving(options: dict[int, list[Option]], check: Callable[[], None]) -> dict[int, list[Option]]:
    """Remove, again and again, options that may lead outside of `options` and nodes that have no option left."""
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
"""A policy changes only if the value improves by more than this fraction: less may be a rounding error."""
ENDLESS: Final = float("inf")

Exits = Sequence[Sequence[Exit]]
"""The exits of each class."""


def find_best_exits(exits: Exits, check: Callable[[], None]) -> tuple[list[float], dict[int, Exit]]:
    """Find the least expected price of reaching an end from each class, and the exits of an optimal policy.

    The price is `ENDLESS` for classes from which no policy ends with certainty; they have no exit. `check` is called
    between rounds, and raises at a limit.
    """
    values = [ENDLESS] * len(exits)
    chosen: dict[int, Exit] = {}
    leads = {number: [after for each in here for _, after in each.branches] for number, here in enumerate(exits)}
    for component in strong_components(leads):
        check()
        if len(component) == 1:
            (number,) = component
            best = min(exits[number], key=lambda each: expected_price(each, values), default=None)
            if best is not None and (value := expected_price(best, values)) < ENDLESS:
                values[number], chosen[number] = value, best
        else:
            policy = _find_proper_policy(component, exits, values)
            _improve_policy(policy, exits, values, check)
            chosen |= policy
    return values, chosen


def expected_price(exit_: Exit, values: Sequence[float]) -> float:
    """Return the price of `exit_` plus the expected value of its successors."""
    total = exit_.price
    for share, after in exit_.branches:
        total += share * values[after]
    return total


def _find_proper_policy(component: Iterable[int], exits: Exits, values: Sequence[float]) -> dict[int, Exit]:
    """Find a proper policy, which leaves the component or ends with certainty, for the classes that have one."""
    inside = set(component)
    while True:
        usable = {
            number: [e for e in exits[number] if all(n in inside or values[n] < ENDLESS for _, n in e.branches)]
            for number in inside
        }
        policy = _find_approaching_exits(usable)
        if len(policy) == len(inside):
            return policy
        inside = set(policy)


def _find_approaching_exits(usable: dict[int, list[Exit]]) -> dict[int, Exit]:
    """Find for each class an exit towards the outside, by backward breadth-first search; leave out other classes."""
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


def _improve_policy(policy: dict[int, Exit], exits: Exits, values: list[float], check: Callable[[], None]) -> None:
    """Improve the proper policy `policy` to an optimal one, and set its `values`, both in place."""
    changed = True
    while changed:
        check()
        changed = False
        _evaluate_policy(policy, values)
        for number, now in policy.items():
            best = min(exits[number], key=lambda each: expected_price(each, values))
            known = values[number]
            if best is not now and expected_price(best, values) < known - BETTER * abs(known):
                policy[number], changed = best, True


def _evaluate_policy(policy: dict[int, Exit], values: list[float]) -> None:
    """Set the `values` of `policy` by component: under a fixed policy, most components are single classes."""
    leads = {number: [after for _, after in exit_.branches if after in policy] for number, exit_ in policy.items()}
    for component in strong_components(leads):
        inside = set(component)
        rows = {}
        for number in component:
            exit_ = policy[number]
            outside = [(share, after) for share, after in exit_.branches if after not in inside]
            fixed = exit_.price + sum([share * values[after] for share, after in outside])
            leaving = sum([share for share, _ in outside]) if exit_.branches else 1.0
            rows[number] = fixed, leaving, {after: share for share, after in exit_.branches if after in inside}
        for number, value in solve_linear_system(rows).items():
            values[number] = value


TIE: Final = 1e-9
"""Two values are tied if they differ by less than this fraction of them."""


@dataclass(frozen=True, slots=True)
class Solution:
    """The optimal values of each node, for each reward and then for the cost, and an optimal option.

    The option is None where none ends with certainty.
    """

    values: tuple[tuple[float, ...], ...]
    chosen: tuple[Option | None, ...]


def find_best_policy(options: Options, rewards: int, check: Callable[[], None]) -> Solution:
    """Find the lexicographically optimal values, and a policy that has them.

    Every node must have an end among its `options`. `check` raises at a limit.
    """
    values: list[tuple[float, ...]] = []
    for number in range(rewards):
        quotient = Quotient(options, partial(_price_of_reward, number), check)
        found, _ = find_best_exits(quotient.exits, check)
        values.append(tuple([-found[quotient.of[node]] for node in range(len(options))]))
        options = _keep_best(quotient, found)
    quotient = Quotient(options, lambda option: option.cost, check)
    found, exits = find_best_exits(quotient.exits, check)
    values.append(tuple([found[quotient.of[node]] for node in range(len(options))]))
    return Solution(tuple(values), _extract_options(quotient, exits))


def _price_of_reward(number: int, option: Option) -> float:
    """Return the negated reward of an end."""
    return -option.worth[number] if option.worth else 0.0


def _keep_best(quotient: Quotient, values: Sequence[float]) -> Options:
    """Return the options that are optimal for `values`."""
    kept: list[list[Option]] = [list(quotient.inner.get(node, ())) for node in range(len(quotient.options))]
    for number, exits in enumerate(quotient.exits):
        limit = values[number] + TIE * abs(values[number])
        for each in exits:
            if expected_price(each, values) <= limit:
                kept[each.node].append(each.option)
    return kept


def _extract_options(quotient: Quotient, exits: dict[int, Exit]) -> tuple[Option | None, ...]:
    """Return the options of a policy that leaves every class through its chosen exit."""
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
