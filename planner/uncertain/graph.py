"""The explicit part of a decision process: nodes, and what can be done in each.

A node is a state, together with what is left of the budgets where there are some. An *end* is an option that leads
nowhere: to stop, or to hope for the best where a node has not been looked into.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planner.annotations import TYPE_CHECKING, Final
from planner.records import dataclass
from planner.task import State
from planner.uncertain.purse import Left

if TYPE_CHECKING:
    from planner.uncertain.aims import Aim
    from planner.uncertain.process import Process

STOP: Final = -1
"""The choice to end here."""
OPEN: Final = -2
"""In the place of a choice: what may be hoped for in a node that has not been looked into."""


@dataclass(frozen=True, slots=True)
class Option:
    """What can be done in a node: `branches` are `(probability, node)`, each node once; an end has none.

    `cost` is in units of the task's resolution. `worth` is what an end is worth, one number for each reward that is
    aimed at, the more important ones first.
    """

    choice: int
    cost: float
    branches: tuple[tuple[float, int], ...]
    worth: tuple[float, ...] = ()


class Graph:
    """The nodes that were met, numbered from 0, the initial one; `options` has those of a node, `inside` if expanded.

    No option takes more than is left of a budget.
    """

    def __init__(self, process: Process, aim: Aim) -> None:
        self.process = process
        self.aim = aim
        self.states: list[State] = []
        self.left: list[Left] = []
        self.options: list[list[Option]] = []
        self.inside: list[bool] = []
        self._numbers: dict[tuple[State, Left], int] = {}
        self.is_abridged = False
        """Whether options are missing: then what may be hoped for cannot be told from those that are there."""
        self.node(process.initial, process.purse.full)

    def __len__(self) -> int:
        return len(self.states)

    def node(self, state: State, left: Left) -> int:
        """Return the number of a node, new ones with nothing but hope."""
        number = self._numbers.setdefault((state, left), len(self.states))
        if number == len(self.states):
            self.states.append(state)
            self.left.append(left)
            over = self.aim.is_over(state)
            self.options.append([self.aim.stop(state) if over else self.aim.hope(state, left)])
            self.inside.append(over or self.options[number][0].choice == STOP)
        return number

    def expand(self, number: int) -> None:
        """Look into a node: give it its options."""
        self.widen(number, self.process.applicable(self.states[number]))

    def widen(self, number: int, choices: Iterable[int], *, hopeful: bool = False) -> None:
        """Give a node options for more `choices`; where it is `hopeful`, others may be better, and hope is left."""
        process, state, left = self.process, self.states[number], self.left[number]
        found = [option for option in self.options[number] if option.choice != OPEN] or [self.aim.stop(state)]
        for choice in choices:
            rest = process.left_after(choice, left)
            if rest is not None:
                after = [(share, self.node(each, rest)) for share, each in process.outcomes(state, choice)]
                if len(after) > 1 or after[0][1] != number:
                    found.append(Option(choice, process.choices[choice].cost, tuple(after)))
        self.options[number] = [*found, *([self.aim.hope(state, left)] if hopeful else [])]
        self.inside[number] = True

    def abridge(
        self, states: list[State], left: list[Left], options: list[list[Option]], inside: Sequence[bool]
    ) -> None:
        """Have these nodes instead, the initial one first, with those options alone that a policy needs."""
        self.states, self.left, self.options, self.inside = states, left, options, [*inside]
        self._numbers = {key: number for number, key in enumerate(zip(states, left, strict=True))}
        self.is_abridged = True

    def closed(self) -> list[list[Option]]:
        """Return the options where nothing is hoped for: nodes that were not looked into are ends."""
        return [
            [option for option in options if option.choice != OPEN] if inside else [self.aim.stop(state)]
            for options, inside, state in zip(self.options, self.inside, self.states, strict=True)
        ]
