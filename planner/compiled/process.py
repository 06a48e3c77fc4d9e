"""A decision process as arrays, and what is aimed at."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate
from math import lcm
from typing import Any, Final

from planner.budget import never
from planner.compiled.arrays import empty_index, index, reals, words, zeros
from planner.compiled.library import Call
from planner.compiled.packing import Packing, packing
from planner.compiled.relaxed import exploration, missing_at_first, packed_relaxation, prices
from planner.compiled.space import conjunctions, first_state, packed_space, packed_tree
from planner.heuristics.relaxed import relax
from planner.kernels import hopes as kinds
from planner.kernels import numbers as n
from planner.kernels.data import INFINITE, NOTHING, Landmarks, Nodes, Registry
from planner.kernels.hopes import Guess
from planner.kernels.process import Aims, Choices, Prices
from planner.kernels.trials import NO_NODE
from planner.model import COST
from planner.task import State, facts_of
from planner.uncertain.aims import FINE, Aim, average_costs, guide
from planner.uncertain.mcts import WIDE
from planner.uncertain.process import NOTHING as NO_CHANGE
from planner.uncertain.process import Process
from planner.uncertain.sweeps import FAR

KINDS: Final = {"blind": kinds.BLIND, "hmax": kinds.H_MAX, "lmcut": kinds.LM_CUT}


class ProcessBoard:
    """The arrays for a process with an aim, and the kernels `entries`.

    `number` are the numbers of a search with this board. `check` raises when a limit is reached meanwhile.
    """

    def __init__(self, aim: Aim, entries: dict[str, Call], check: Callable[[], None] = never) -> None:
        process, task = aim.process, aim.process.task
        self.aim, self.entries = aim, entries
        self.packed = packing(task)
        check()
        space = packed_space(task, self.packed, check, searched=False)
        self.initial = first_state(task, self.packed, space)
        relaxation, costs = relax(task), average_costs(process)
        check()
        self.relaxed = packed_relaxation(relaxation, costs)
        lucky = prices(relaxation, [action.cost for action in task.actions])
        self.prices = Prices(self.relaxed.cost[:], lucky)
        self.space = space._replace(tree=packed_tree(process.chooser, self.packed))
        self.choices, self.aims = _choices(process), _aims(aim, self.packed)
        self.far = FAR * (1 + max([choice.cost for choice in process.choices], default=0))
        self.room = exploration(relaxation, missing_at_first(relaxation, self.packed), costs, self.packed)
        self.guess = _guess(len(task.actions), self.packed.words)
        self.found = empty_index(len(process.choices) + 1)
        self.stack = empty_index(len(self.space.tree.action_start))
        self.number = self._numbers()

    def _numbers(self) -> array[int]:
        process, number = self.aim.process, zeros(n.HOW_MANY)
        number[n.LIMIT] = INFINITE
        number[n.PENDING] = NO_NODE
        number[n.KIND] = KINDS[guide(process.task)]
        number[n.BUDGETS] = len(process.purse.names)
        number[n.LUCKY] = int(COST in process.purse.names)
        number[n.REWARDS] = self.aim.rewards
        number[n.WIDE] = WIDE
        number[n.MOST_BRANCHES] = max([len(choice.branches) for choice in process.choices], default=1)
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
        conjunctions(cases, packed),
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
