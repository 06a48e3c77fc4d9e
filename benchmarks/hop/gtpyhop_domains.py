"""Three benchmark domains written in Python for GTPyhop, and the reader of the HDDL problems that they start from.

Actions and methods are functions of a state, which GTPyhop copies. A domain keeps in itself what never changes, and in
the state what does. Nothing of ours is imported: the interpreter may have GTPyhop alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

Task = tuple[str, ...]
Words = list[Any]
"""Words and lists of them."""
TOKEN = re.compile(r"[()]|[^\s()]+")


def read_expression(path: str) -> Words:
    """Return the expression in the file at `path` as nested lists of words, in lower case."""
    stack: list[Words] = [[]]
    for line in Path(path).read_text(encoding="utf-8", errors="replace").lower().splitlines():
        for word in TOKEN.findall(line.partition(";")[0]):
            if word == "(":
                stack.append([])
            elif word == ")":
                closed = stack.pop()
                stack[-1].append(closed)
            else:
                stack[-1].append(word)
    return list(stack[0][0])


def find_parts(expression: Words, head: str) -> list[Words]:
    """Return the parts of a definition that begin with `head`."""
    return [part for part in expression if part[:1] == [head]]


def read_initial(problem: Words) -> dict[str, list[Any]]:
    """Return the arguments (a tuple) of the initial facts of each predicate."""
    found: dict[str, list[Any]] = {}
    for predicate, *arguments in find_parts(problem, ":init")[0][1:]:
        found.setdefault(predicate, []).append(tuple(arguments))
    return found


def read_tasks(problem: Words) -> list[Task]:
    """Return the initial tasks, which are totally ordered and may have labels."""
    (network,) = find_parts(problem, ":htn")
    keyword = next(word for word in network if word in (":ordered-subtasks", ":ordered-tasks"))
    listed = network[network.index(keyword) + 1]
    each = listed[1:] if listed[:1] == ["and"] else [listed]
    return [tuple(one[1] if isinstance(one[-1], list) else one) for one in each]


Subtasks = list[Task] | None
"""What a method gives; None where it is not applicable."""
State = Any
"""GTPyhop's own class, whose attributes each domain chooses."""
Methods = Mapping[str, Callable[..., Subtasks]]


class PythonDomain(Protocol):
    """A domain in Python, made for one problem: what never changes is kept here, what changes in GTPyhop's state."""

    @property
    def actions(self) -> Sequence[Callable[..., State]]:
        """The actions by their names; each gives the state after it, or None where it is not applicable."""
        ...

    @property
    def methods(self) -> Mapping[str, Methods]:
        """The methods for each task, by the names that they have in HDDL."""
        ...


def count_step(state: State) -> State:
    """Return `state` with one step more: GTPyhop leaves out of the plan what changes nothing."""
    state.steps += 1
    return state


TABLE = "table"


class Blocks:
    """A state has what each block is on (None in the hand), what is on each block, and what the hand holds.

    A block that lies where a task wants it is not put on the table again.
    """

    def __init__(self, state: State, problem: Words) -> None:
        facts = read_initial(problem)
        self.target = {task[1]: task[2] for task in read_tasks(problem) if task[0] == "do_put_on"}
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
        return count_step(state)

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
        return count_step(state)

    def nop(self, state: State) -> State:
        """Do nothing."""
        return count_step(state)


class Snacks:
    """Whoever takes gluten gets what has some, so that the rest is left for the others."""

    def __init__(self, state: State, problem: Words) -> None:
        facts = read_initial(problem)
        self.allergic = {child for (child,) in facts["allergic_gluten"]}
        self.place = dict(facts["waiting"])
        self.pure = {name for kind in ("bread", "content") for (name,) in facts[f"no_gluten_{kind}"]}
        state.bread = [name for (name,) in facts["at_kitchen_bread"]]
        state.content = [name for (name,) in facts["at_kitchen_content"]]
        state.new = [name for (name,) in facts["notexist"]]
        state.tray = dict(facts["at"])
        state.made = {}
        state.on = {}

    @property
    def actions(self) -> list[Callable[..., State]]:
        """The actions by their names."""
        return [
            self.make_sandwich_no_gluten,
            self.make_sandwich,
            self.put_on_tray,
            self.move_tray,
            self.serve_sandwich_no_gluten,
            self.serve_sandwich,
        ]

    @property
    def methods(self) -> dict[str, Methods]:
        """Two for the only task."""
        return {"serve": {"m0_serve": self.without_gluten, "m1_serve": self.with_gluten}}

    def without_gluten(self, state: State, child: str) -> Subtasks:
        """Return how to serve a child that takes none."""
        return self.served(state, child, "_no_gluten", pure=True) if child in self.allergic else None

    def with_gluten(self, state: State, child: str) -> Subtasks:
        """Return how to serve a child that takes some."""
        return None if child in self.allergic else self.served(state, child, "", pure=False)

    def served(self, state: State, child: str, kind: str, *, pure: bool) -> Subtasks:
        """Return the steps with the first of everything that will do."""
        bread = next((name for name in state.bread if (name in self.pure) is pure), None)
        content = next((name for name in state.content if (name in self.pure) is pure), None)
        tray = next((name for name, place in state.tray.items() if place == "kitchen"), None)
        if bread is None or content is None or tray is None or not state.new:
            return None
        one, place = state.new[0], self.place[child]
        return [
            (f"make_sandwich{kind}", one, bread, content),
            ("put_on_tray", one, tray),
            ("move_tray", tray, "kitchen", place),
            (f"serve_sandwich{kind}", one, child, tray, place),
            ("move_tray", tray, place, "kitchen"),
        ]

    def make_sandwich_no_gluten(self, state: State, one: str, bread: str, content: str) -> State:
        """Make one of what has no gluten."""
        return self.make_sandwich(state, one, bread, content) if {bread, content} <= self.pure else None

    def make_sandwich(self, state: State, one: str, bread: str, content: str) -> State:
        """Make one of what is in the kitchen."""
        if one not in state.new or bread not in state.bread or content not in state.content:
            return None
        state.new.remove(one)
        state.bread.remove(bread)
        state.content.remove(content)
        state.made[one] = {bread, content} <= self.pure
        return count_step(state)

    def put_on_tray(self, state: State, one: str, tray: str) -> State:
        """Put a sandwich on a tray, both in the kitchen."""
        if one not in state.made or one in state.on or state.tray[tray] != "kitchen":
            return None
        state.on[one] = tray
        return count_step(state)

    def move_tray(self, state: State, tray: str, origin: str, target: str) -> State:
        """Take a tray elsewhere, or nowhere."""
        if state.tray[tray] != origin:
            return None
        state.tray[tray] = target
        return count_step(state)

    def serve_sandwich_no_gluten(self, state: State, one: str, child: str, tray: str, place: str) -> State:
        """Serve what has no gluten."""
        return self.serve_sandwich(state, one, child, tray, place) if state.made[one] else None

    def serve_sandwich(self, state: State, one: str, child: str, tray: str, place: str) -> State:
        """Serve a sandwich from a tray where the child waits."""
        if state.on.get(one) != tray or state.tray[tray] != place or self.place[child] != place:
            return None
        state.on[one] = child
        return count_step(state)


class Towers:
    """A state has what each ring is on, and what is at the top of each tower, itself where it has no ring."""

    def __init__(self, state: State, problem: Words) -> None:
        facts = read_initial(problem)
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
        return count_step(state)
