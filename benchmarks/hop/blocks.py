"""Blocksworld-GTOHP: one arm that stacks blocks."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.hop.reading import Words, initial, tasks
from benchmarks.hop.written import Methods, State, Subtasks, counted

TABLE = "table"


class Blocks:
    """A state has what each block is on (None in the hand), what is on each block, and what the hand holds.

    A block that lies where a task wants it is not put on the table again.
    """

    def __init__(self, state: State, problem: Words) -> None:
        facts = initial(problem)
        self.target = {task[1]: task[2] for task in tasks(problem) if task[0] == "do_put_on"}
        state.below = dict(facts.get("on", ()))
        state.above = {below: name for name, below in state.below.items()}
        state.below.update({name: TABLE for (name,) in facts.get("ontable", ())})
        state.hand = None

    @property
    def actions(self) -> list[Callable[..., State]]:
        """The actions by their names, `_` for `-`."""
        return [self.pick_up, self.put_down, self.stack, self.unstack, self.nop]

    @property
    def methods(self) -> dict[str, Methods]:
        """The methods of each task."""
        return {
            "do_put_on": {"m0_do_put_on": self.is_there, "m1_do_put_on": self.put_on},
            "do_on_table": {"m2_do_on_table": self.to_table, "m3_do_on_table": self.is_clear},
            "do_move": {"m4_do_move": self.from_table, "m5_do_move": self.from_block},
            "do_clear": {"m6_do_clear": self.is_clear, "m7_do_clear": self.clear},
        }

    def is_there(self, state: State, block: str, target: str) -> Subtasks:
        """Return that nothing is to be done where it is there already."""
        return [("nop",)] if state.below[block] == target else None

    def put_on(self, state: State, block: str, target: str) -> Subtasks:
        """Return how to clear both and move one onto the other."""
        if state.hand is not None:
            return None
        return [("do_clear", block), ("do_clear", target), ("do_on_table", target), ("do_move", block, target)]

    def to_table(self, state: State, block: str) -> Subtasks:
        """Return how to put a clear block on the table, unless it is where it should be."""
        below = state.below[block]
        if block in state.above or state.hand is not None or below in (TABLE, self.target.get(block)):
            return None
        return [("unstack", block, below), ("put_down", block)]

    def is_clear(self, state: State, block: str) -> Subtasks:
        """Return that nothing is to be done where nothing is on it."""
        return None if block in state.above else [("nop",)]

    def from_table(self, state: State, block: str, target: str) -> Subtasks:
        """Return how to move a block from the table onto another, both clear."""
        movable = self.movable(state, block, target) and state.below[block] == TABLE
        return [("pick_up", block), ("stack", block, target)] if movable else None

    def from_block(self, state: State, block: str, target: str) -> Subtasks:
        """Return how to move a block from another one onto a third, both clear."""
        below = state.below[block]
        movable = self.movable(state, block, target) and below != TABLE
        return [("unstack", block, below), ("stack", block, target)] if movable else None

    def movable(self, state: State, block: str, target: str) -> bool:
        """Return whether both are clear, and the hand is free."""
        return block not in state.above and target not in state.above and state.hand is None

    def clear(self, state: State, block: str) -> Subtasks:
        """Return how to put on the table what is on it."""
        above = state.above.get(block)
        if above is None or state.hand is not None:
            return None
        return [("do_clear", above), ("unstack", above, block), ("put_down", above)]

    def pick_up(self, state: State, block: str) -> State:
        """Take a block from the table."""
        return self.lift(state, block) if state.below[block] == TABLE else None

    def unstack(self, state: State, block: str, below: str) -> State:
        """Take a block from another."""
        return self.lift(state, block) if state.below[block] == below else None

    def lift(self, state: State, block: str) -> State:
        """Take a clear block into the free hand."""
        if state.hand is not None or block in state.above:
            return None
        state.above.pop(state.below[block], None)
        state.below[block] = None
        state.hand = block
        return counted(state)

    def put_down(self, state: State, block: str) -> State:
        """Put what the hand holds on the table."""
        return self.drop(state, block, TABLE)

    def stack(self, state: State, block: str, target: str) -> State:
        """Put what the hand holds on a clear block."""
        if target in state.above or target == block:
            return None
        if state.hand == block:
            state.above[target] = block
        return self.drop(state, block, target)

    def drop(self, state: State, block: str, target: str) -> State:
        """Let go of what the hand holds."""
        if state.hand != block:
            return None
        state.below[block] = target
        state.hand = None
        return counted(state)

    def nop(self, state: State) -> State:
        """Do nothing."""
        return counted(state)
