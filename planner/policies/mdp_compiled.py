"""Markov decision processes as arrays for the kernels, with their objectives and the estimates of states."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate
from math import lcm
from typing import Any, Final

from planner.heuristics import lmcut_kernel as kinds
from planner.heuristics.lmcut_kernel import Guess, Landmarks
from planner.heuristics.relaxation import relax
from planner.heuristics.relaxation_compiled import count_missing, make_exploration, pack_relaxation, price_operators
from planner.jit import slots_kernel as slot
from planner.jit.arrays import empty_index, index, reals, words, zeros
from planner.jit.common_kernel import INFINITE, NOTHING
from planner.jit.library import Call
from planner.limits import never
from planner.model import COST
from planner.policies.decision import FINE, IMPOSSIBLE, Aim, average_costs, guide
from planner.policies.markov_decision_process import NOTHING as NO_CHANGE
from planner.policies.markov_decision_process import Process
from planner.policies.mdp_kernel import Aims, Choices, Prices
from planner.policies.policy_mcts import WIDE
from planner.policies.policy_mcts_kernel import NO_NODE
from planner.policies.value_iteration import FAR
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
    """The arrays for a process with an aim, and the kernels `entries`.

    `number` are the numbers of a search with this board. `check` raises when a limit is reached meanwhile.
    """

    def __init__(self, aim: Aim, entries: dict[str, Call], check: Callable[[], None] = never) -> None:
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
        number[slot.LUCKY] = int(COST in process.purse.names)
        number[slot.REWARDS] = self.aim.rewards
        number[slot.WIDE] = WIDE
        number[slot.MOST_BRANCHES] = max([len(choice.branches) for choice in process.choices], default=1)
        return number

    def pack(self, state: State) -> array[int]:
        """Return the words of a state of the reference tier."""
        return words(self.packed.pack(facts_of(self.aim.process.space.closed(state))))

    def unpack(self, state: Sequence[int]) -> State:
        """Return the state of the reference tier: without what is derived."""
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
    return Guess(
        Registry(zeros(size), empty_index(2)),
        Nodes(empty_index(1), empty_index(1), zeros(1), zeros(1), index([0])),
        Landmarks(
            zeros(2),
            index([0, 0]),
            empty_index(actions + 1),
            empty_index(2),
            zeros(1),
            index([0]),
            zeros(1),
            zeros(actions),
        ),
    )


class KernelHopes:
    """Lower bounds as `planner.policies.decision.Hopes` has them, by the kernels of `board`."""

    def __init__(self, board: ProcessBoard) -> None:
        self.board = board

    def luckiest(self, state: State) -> int:
        """Return a lower bound on what the goal costs with luck."""
        value = self._hoped(self.board.prices.lucky, state)
        return INFINITY if value == INFINITE else value

    def expected(self, state: State) -> float:
        """Return a lower bound on the expected cost of reaching the goal; `IMPOSSIBLE` where no outcomes lead to it."""
        value = self._hoped(self.board.prices.average, state)
        return IMPOSSIBLE if value == INFINITE else value / FINE

    def _hoped(self, costs: array[int], state: State) -> int:
        board = self.board
        relaxed, number = board.relaxed._replace(cost=costs), board.number
        coding, hoped = board.space.coding, board.entries["estimate_state"]
        return hoped(number[slot.KIND], number, relaxed, board.room, board.guess, coding, board.pack(state), 0)
