"""Towers (of Hanoi): rings moved by an iterative rule, written as recursive tasks."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.hop.reading import Words, initial
from benchmarks.hop.written import Methods, State, Subtasks, counted


class Towers:
    """A state has what each ring is on, and what is at the top of each tower, itself where it has no ring."""

    def __init__(self, state: State, problem: Words) -> None:
        facts = initial(problem)
        self.smaller = set(facts["smallerthan"])
        state.on = dict(facts["on"])
        state.top = {tower: top for top, tower in facts["towertop"]}

    @property
    def actions(self) -> list[Callable[..., State]]:
        """The only one."""
        return [self.move]

    @property
    def methods(self) -> dict[str, Methods]:
        """The methods of each task, in lower case."""
        return {
            "shifttower": {"m-shifttower": self.shift},
            "selectdirection": {"selecteddirection": self.selected, "m-selectdirection": self.select},
            "rotatetower": {"m-rotatetower": self.rotate},
            "exchange": {
                "exchangeclear": self.exchange_clear,
                "exchangelr": self.exchange_left,
                "exchangerl": self.exchange_right,
            },
            "move_abstract": {"newmethod21": self.move_top},
        }

    def shift(self, state: State, one: str, two: str, three: str) -> Subtasks:
        """Return the first step towards the third tower: which way to go round."""
        top = state.top[one]
        return [("selectdirection", top, one, two, three)] if top in state.on else None

    def selected(self, state: State, ring: str, one: str, two: str, three: str) -> Subtasks:
        """Return how to go round once the lowest ring is reached."""
        return [("rotatetower", one, three, two)] if state.on[ring] == one else None

    def select(self, state: State, ring: str, one: str, two: str, three: str) -> Subtasks:
        """Return the other way round for each ring below."""
        below = state.on[ring]
        return [("selectdirection", below, one, three, two)] if below in state.on else None

    def rotate(self, _: State, one: str, two: str, three: str) -> Subtasks:
        """Return a move of the smallest ring, and one of another."""
        return [("move_abstract", one, two), ("exchange", one, two, three)]

    def exchange_clear(self, state: State, one: str, _: str, three: str) -> Subtasks:
        """Return nothing where both towers have no ring."""
        return [] if state.top[one] == one and state.top[three] == three else None

    def exchange_left(self, state: State, one: str, two: str, three: str) -> Subtasks:
        """Return the move from the first tower to the third, and what follows."""
        if (state.top[one], state.top[three]) not in self.smaller:
            return None
        return [("move_abstract", one, three), ("rotatetower", two, three, one)]

    def exchange_right(self, state: State, one: str, two: str, three: str) -> Subtasks:
        """Return the move from the third tower to the first, and what follows."""
        if (state.top[three], state.top[one]) not in self.smaller:
            return None
        return [("move_abstract", three, one), ("rotatetower", two, three, one)]

    def move_top(self, state: State, one: str, two: str) -> Subtasks:
        """Return the move of what is at the top."""
        top = state.top[one]
        return [("move", top, state.on[top], one, state.top[two], two)] if top in state.on else None

    def move(self, state: State, *arguments: str) -> State:
        """Move a ring from what it is on, the top of a tower, to the top of another, onto what is greater."""
        ring, below, one, target, two = arguments
        moved = state.top[one] == ring and state.top[two] == target and state.on[ring] == below
        if not moved or (ring, target) not in self.smaller:
            return None
        state.on[ring] = target
        state.top[one] = below
        state.top[two] = ring
        return counted(state)
