"""Monte Carlo tree search for policies by kernels, and the arrays of decision processes that the kernels work on.

The policy that the search finds becomes a graph of the reference tier.
"""

from __future__ import annotations

import contextlib
from array import array
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, islice
from math import lcm
from typing import Any, Final

from planner.heuristics import lmcut_kernel as kinds
from planner.heuristics.lmcut_kernel import Guess, Landmarks
from planner.heuristics.relaxation import relax
from planner.heuristics.relaxation_compiled import count_missing, make_exploration, pack_relaxation, price_operators
from planner.jit import slots_kernel as slot
from planner.jit.arrays import empty_index, index, reals, words, zeros
from planner.jit.common_kernel import DONE, EXHAUSTED, FULL, INFINITE, NOTHING
from planner.jit.library import Call
from planner.limits import never, read_clock
from planner.policies import value_iteration_kernel as kernel
from planner.policies.decision import FINE, IMPOSSIBLE, Aim, average_costs, guide
from planner.policies.lao_star import Bounds, Check
from planner.policies.markov_decision_process import NOTHING as NO_CHANGE
from planner.policies.markov_decision_process import OPEN, STOP, Graph, Left, Option, Process
from planner.policies.mdp_kernel import Aims, Choices, Met, Options, Outlook, Prices
from planner.policies.policy_iteration import Solution
from planner.policies.policy_mcts import EXPLORATION, FIRST_SWEEP, WIDE, solve_known_part
from planner.policies.policy_mcts_kernel import NO_NODE, ROOT, Arms
from planner.policies.value_iteration import FAR, ROUNDS
from planner.policies.value_iteration_kernel import Swept
from planner.search.mcts import LOGARITHM_OF_2, LOGARITHMS, LOW_BITS
from planner.search.mcts_kernel import MOST, Bandit
from planner.search.task_compiled import WORK, enlarge_table, ensure_length, new_registry
from planner.task.ground_task import INFINITY, State, facts_of
from planner.task.packed_task_compiled import (
    Packing,
    choose_packing,
    pack_conjunctions,
    pack_initial_state,
    pack_space,
    pack_tree,
)
from planner.task.state_registry_kernel import Nodes, Registry

KINDS: Final = {"blind": kinds.BLIND, "hmax": kinds.H_MAX, "lmcut": kinds.LM_CUT}


class ProcessBoard:
    """The arrays of a process with an aim, and the kernels `entries`; `number` are the numbers of its search.

    `check` raises when a limit is reached meanwhile.
    """

    def __init__(self, aim: Aim, entries: Mapping[str, Call], check: Callable[[], None] = never) -> None:
        process, task = aim.process, aim.process.task
        self.aim, self.entries = aim, entries
        self.packed = choose_packing(task)
        check()
        space = pack_space(task, self.packed, check, searched=False)
        self.initial = pack_initial_state(task, self.packed, space)
        relaxation, costs = relax(task), average_costs(process)
        check()
        self.relaxed = pack_relaxation(relaxation, costs)
        lucky = price_operators(relaxation, [action.cost for action in task.actions])
        self.prices = Prices(self.relaxed.cost[:], lucky)
        self.space = space._replace(tree=pack_tree(process.chooser, self.packed))
        self.choices, self.aims = _choices(process), _aims(aim, self.packed)
        self.far = FAR * (1 + max([choice.cost for choice in process.choices], default=0))
        self.room = make_exploration(relaxation, count_missing(relaxation, self.packed), costs, self.packed)
        self.guess = _guess(len(task.actions), self.packed.words)
        self.found = empty_index(len(process.choices) + 1)
        self.stack = empty_index(len(self.space.tree.action_start))
        self.number = self._numbers()

    def _numbers(self) -> array[int]:
        process, number = self.aim.process, zeros(slot.HOW_MANY)
        number[slot.LIMIT] = INFINITE
        number[slot.PENDING] = NO_NODE
        number[slot.KIND] = KINDS[guide(process.task)]
        number[slot.BUDGETS] = len(process.purse.names)
        number[slot.LUCKY] = int(process.purse.is_charged)
        number[slot.REWARDS] = self.aim.rewards
        number[slot.WIDE] = WIDE
        number[slot.MOST_BRANCHES] = max([len(choice.branches) for choice in process.choices], default=1)
        return number

    def pack(self, state: State) -> array[int]:
        """Convert a state of the reference tier to words."""
        return words(self.packed.pack(facts_of(self.aim.process.space.closed(state))))

    def unpack(self, state: Sequence[int]) -> State:
        """Convert words to a state of the reference tier, without derived facts."""
        coding, found = self.packed.coding, 0
        for variable in range(len(coding.word) - len(self.aim.process.task.derived)):
            value = state[coding.word[variable]] >> coding.shift[variable] & coding.mask[variable]
            fact = coding.fact[coding.first[variable] + value]
            if fact != NOTHING:
                found |= 1 << fact
        return found


def _choices(process: Process) -> Choices:
    branches = [choice.branches for choice in process.choices]
    amounts = [process.purse.amounts[each[0][1]] for each in branches] if process.purse.names else []
    return Choices(
        reals([choice.cost for choice in process.choices]),
        _starts(branches),
        index([NOTHING if action == NO_CHANGE else action for each in branches for _, action in each]),
        reals([share for each in branches for share, _ in each]),
        words([amount for each in amounts for amount in each]),
    )


def _starts(lists: Sequence[Sequence[Any]]) -> array[int]:
    return index(accumulate(map(len, lists), initial=0))


def _aims(aim: Aim, packed: Packing) -> Aims:
    wishes = aim.process.wishes
    unit = lcm(*[Fraction(wish.utility).denominator for wish in wishes])
    cases = [facts_of(case) for wish in wishes for case in wish.cases]
    return Aims(
        _starts([wish.cases for wish in wishes]),
        pack_conjunctions(cases, packed),
        words([int(wish.utility * unit) for wish in wishes]),
        reals([-1.0 if aim.penalty is None else aim.penalty, aim.most, FINE, unit]),
    )


def _guess(actions: int, size: int) -> Guess:
    member, reference, none = empty_index(actions + 1), empty_index(2), index([0])
    landmarks = Landmarks(zeros(2), index([0, 0]), member, reference, zeros(1), none, zeros(1), zeros(actions))
    nodes = Nodes(empty_index(1), empty_index(1), zeros(1), zeros(1), none[:])
    return Guess(Registry(zeros(size), empty_index(2)), nodes, landmarks)


class KernelHopes:
    """Lower bounds like those of `planner.policies.decision.Hopes`, by the kernels of `board`."""

    def __init__(self, board: ProcessBoard) -> None:
        self.board = board

    def luckiest(self, state: State) -> int:
        """Return a lower bound of the cost with the luckiest outcomes."""
        value = self._estimate(self.board.prices.lucky, state)
        return INFINITY if value == INFINITE else value

    def expected(self, state: State) -> float:
        """Return a lower bound of the expected cost of the goal; `IMPOSSIBLE` where no outcomes lead to it."""
        value = self._estimate(self.board.prices.average, state)
        return IMPOSSIBLE if value == INFINITE else value / FINE

    def _estimate(self, costs: array[int], state: State) -> int:
        board = self.board
        relaxed, number = board.relaxed._replace(cost=costs), board.number
        coding, estimate = board.space.coding, board.entries["estimate_state"]
        return estimate(number[slot.KIND], number, relaxed, board.room, board.guess, coding, board.pack(state), 0)


class CompiledTrials:
    """The search on `board`, with random numbers from `seed` and this weight of `exploration`."""

    def __init__(
        self,
        board: ProcessBoard,
        seed: int,
        *,
        exploration: float = EXPLORATION,
        work: int = WORK,
        room: int = 1024,
    ) -> None:
        self.board, self._work = board, work
        self.number = board.number
        self.number[slot.RANDOM] = seed & LOW_BITS
        left = board.aim.process.purse.full
        self.registry = new_registry(board.initial, room, board.entries)
        self.met = Met(zeros(room), zeros(room), empty_index(room), _floats(room))
        self.rows = new_registry([0, *left], room, board.entries)
        parts = room * (board.aim.rewards + 1)
        nodes = [zeros(room), zeros(room), *[empty_index(room) for _ in range(7)]]
        self.outlook = Outlook(_floats(parts), _floats(parts), _floats(parts), *nodes)
        places = [empty_index(room) for _ in range(8)]
        self.options = Options(places[0], _floats(room), zeros(room), places[1], places[2], _floats(room), places[3])
        most = len(board.found)
        self._arms = Arms(
            empty_index(most), _floats(3 * max(2, most)), _floats(most), empty_index(most), empty_index(room)
        )
        self._swept = Swept(places[4], places[5], places[6], places[7], reals([board.far]))
        self._bandit = Bandit(reals(LOGARITHMS), reals([LOGARITHM_OF_2, exploration]))
        self._sweep = FIRST_SWEEP
        self.hoped: list[float] = []
        """The optimistic values of the initial node, once a sweep has computed them."""
        self.number[slot.STATES] = self.number[slot.NODES] = 1

    @property
    def simulations(self) -> int:
        """The number of simulations."""
        return self.number[slot.SIMULATIONS]

    @property
    def values(self) -> list[float]:
        """The expected rewards and the expected cost from the initial node."""
        return list(self.outlook.value[: self.board.aim.rewards + 1])

    @property
    def is_settled(self) -> bool:
        """Whether the values of the initial node are exact."""
        return bool(self.number[slot.ENTERED]) and bool(self.outlook.settled[ROOT])

    def simulate(self, simulations: int | None, check: Check) -> None:
        """Simulate until the initial node is settled, or so many simulations were made; `check` raises at a limit."""
        number, limit = self.number, MOST if simulations is None else simulations
        while True:
            number[slot.MOST_SIMULATIONS] = min(limit, self._sweep)
            outcome = self._call()
            check()
            if outcome == FULL:
                self._grow()
            elif outcome in (DONE, EXHAUSTED):
                if number[slot.SIMULATIONS] == self._sweep:
                    self.sweep(check)
                    self._sweep += self._sweep // 2
                if self.is_settled or number[slot.SIMULATIONS] >= limit:
                    return

    def _call(self) -> int:
        board = self.board
        nodes = (self.registry, self.met, self.rows, self.outlook, self.options, self._arms, self._bandit)
        estimates = (board.relaxed, board.prices, board.room, board.guess)
        return board.entries["trials"](
            self._work,
            self.number,
            board.space,
            board.choices,
            board.aims,
            *nodes,
            *estimates,
            board.found,
            board.stack,
        )

    def sweep(self, check: Check) -> None:
        """Iterate all values to their fixed points, settle nodes, and note the optimistic values."""
        if self._solve(kernel.HOPEFUL, check):
            self.hoped = self.values
            self._ask(kernel.SETTLE)
            while not self._ask(kernel.DOUBT):
                check()
        outlook, nodes = self.outlook, self.number[slot.NODES]
        if any(made < total for made, total in zip(outlook.made[:nodes], outlook.total[:nodes], strict=True)):
            self._solve(kernel.LIKELY, check)

    def close(self, check: Check) -> None:
        """Compute all values and best options without optimistic ends: a policy stops in unexpanded nodes."""
        self._solve(kernel.CLOSED, check)

    def _solve(self, mode: int, check: Check) -> bool:
        """Iterate the values of all nodes that are not settled; return whether all have converged."""
        self._ask(kernel.BEGIN, mode=mode)
        rewards, found = self.board.aim.rewards, True
        for part in range(rewards + 1):
            self._ask(kernel.START, part)
            found = self._iterate(part, check) and found
            if part < rewards:
                self._ask(kernel.KEEP, part)
        return found

    def _iterate(self, part: int, check: Check) -> bool:
        """Iterate one of the values; return whether it has converged."""
        for _ in range(ROUNDS):
            check()
            if self._ask(kernel.ROUND, part):
                return True
        return False

    def _ask(self, asked: int, part: int = 0, *, mode: int = 0) -> int:
        sweep = self.board.entries["sweep"]
        return sweep(asked, part, mode, self.number, self.outlook, self.options, self._swept)

    def _grow(self) -> None:
        """Lengthen the arrays that are full."""
        number, board, outlook = self.number, self.board, self.outlook
        new = number[slot.WIDE] * number[slot.MOST_BRANCHES] + 3
        states, nodes = number[slot.STATES] + new, number[slot.NODES] + new
        words, row, parts = board.packed.words, 1 + number[slot.BUDGETS], board.aim.rewards + 1
        length = _lengthen(self.met, states)
        _lengthen([self.registry.state], length * words)
        self.registry = enlarge_table(self.registry, number[slot.STATES], states, words, board.entries)
        length = _lengthen(outlook[3:], nodes)
        _lengthen(outlook[:3], length * parts)
        _lengthen([self.rows.state], length * row)
        self.rows = enlarge_table(self.rows, number[slot.NODES], nodes, row, board.entries)
        _lengthen([self._arms.path, *self._swept[:3]], length)
        length = _lengthen(self.options[:5], number[slot.OPTIONS] + len(board.found))
        _lengthen([self._swept.option], length)
        _lengthen(self.options[5:], number[slot.BRANCHES] + new)


def _floats(length: int) -> Any:
    return reals([0.0]) * length


def _lengthen(arrays: Any, length: int) -> int:
    """Lengthen `arrays`, which have one length, to at least `length`; return their new length."""
    ensure_length(length, *arrays)
    return len(arrays[0])


SAME: Final = 1e-7
"""Largest relative difference between the value of a policy and a settled value."""
FINISHING: Final = 0.2
"""Time for the policy when a limit is reached, as a fraction of the time spent."""
LEAST: Final = 0.1
"""Seconds for the policy in addition."""


class _Enough(Exception):
    """The time for the policy has ended."""


def simulate_by_kernels(
    graph: Graph,
    bounds: Bounds,
    check: Check,
    simulations: int | None = None,
    seed: int = 0,
    *,
    exploration: float = EXPLORATION,
) -> Solution:
    """Search as `search_by_simulations` of the reference tier does, on the board of the lower bounds of `graph`."""
    assert isinstance(graph.aim.hopes, KernelHopes)
    search, began = CompiledTrials(graph.aim.hopes.board, seed, exploration=exploration), read_clock()
    try:
        search.simulate(simulations, check)
        if not search.is_settled:
            search.sweep(check)
    finally:
        bounds.simulations = search.simulations
        bounds.values = tuple(search.values if search.is_settled else search.hoped) or bounds.values
        if not search.is_settled:
            _close(search, read_clock() - began)
        copy_best_options(graph, search)
    solution = solve_known_part(graph, bounds, check)
    bounds.proved = all(
        abs(known[0] - value) <= SAME * max(1.0, abs(value))
        for known, value in zip(solution.values, bounds.values, strict=True)
    )
    return solution


def _close(search: CompiledTrials, seconds: float) -> None:
    """Compute values and best options without optimistic ends, as far as time allows."""
    until = read_clock() + FINISHING * seconds + LEAST

    def check() -> None:
        if read_clock() > until:
            raise _Enough

    with contextlib.suppress(_Enough):
        search.close(check)


def copy_best_options(graph: Graph, search: CompiledTrials) -> None:
    """Replace the nodes of `graph` by those that the best options reach, with no other options."""
    explored = _Explored(graph, search)
    number: dict[int, int] = {}
    order, options = [ROOT], []
    number[ROOT] = 0
    for node in order:
        options.append(explored.options(node, number))
        order += [*islice(number, len(order), None)]
    inside = [here[0].choice == STOP for here in options]
    graph.abridge([explored.state(node) for node in order], [explored.left(node) for node in order], options, inside)


class _Explored:
    """Reads nodes and options from the arrays of `search`."""

    def __init__(self, graph: Graph, search: CompiledTrials) -> None:
        self._process, self._search = graph.process, search
        self._width = 1 + search.number[slot.BUDGETS]

    def options(self, node: int, number: dict[int, int]) -> list[Option]:
        """Return the options to keep: stop and the best one, or the optimistic end; number new successors."""
        outlook, options = self._search.outlook, self._search.options
        if not outlook.inside[node]:
            return [self._end(OPEN, node)]
        found = [self._end(STOP, node)]
        if 0 < outlook.best[node] <= outlook.many[node]:
            option = outlook.first[node] + outlook.best[node] - 1
            places = range(options.start[option], options.end[option])
            branches = [(options.share[place], number.setdefault(options.node[place], len(number))) for place in places]
            choice = options.choice[option]
            found.append(Option(choice, self._process.choices[choice].cost, tuple(branches)))
        return found

    def _end(self, choice: int, node: int) -> Option:
        outlook, parts = self._search.outlook, self._search.board.aim.rewards + 1
        values = outlook.stop if choice == STOP else outlook.hope
        *rewards, cost = values[node * parts : (node + 1) * parts]
        return Option(choice, cost, (), tuple(rewards))

    def state(self, node: int) -> State:
        """Return the state of a node."""
        words = self._search.board.packed.words
        base = self._search.rows.state[node * self._width] * words
        return self._search.board.unpack(self._search.registry.state[base : base + words])

    def left(self, node: int) -> Left:
        """Return the rest of the budgets in a node."""
        return tuple(self._search.rows.state[node * self._width + 1 : (node + 1) * self._width])
