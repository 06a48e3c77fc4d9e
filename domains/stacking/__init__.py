"""Blocks on a table, of which a crane moves one at a time: declared in Python, block by block."""

from __future__ import annotations

import functools
import random
from collections.abc import Mapping
from itertools import pairwise

from domains.series import Series
from planner.declare import Domain, Entity
from planner.model import Problem
from planner.testing import Case

SIZES = {"three-blocks": 3, "five-blocks": 5, "seven-blocks": 7, "ten-blocks": 10, "fourteen-blocks": 14}


class Block(Entity):
    """A block: it stands on the table or on one other block."""


def domain() -> Domain:
    """Return the domain."""
    return _STACKING


_STACKING = Domain("stacking", description="A crane moves blocks between stacks; moving from stack to stack costs 2.")


@_STACKING.action(
    requires=["clear(block)", "clear(target)", "on(block, origin)", "block != target", "origin != target"],
    provides=["on(block, target)", "clear(origin)", "not clear(target)"],
    modifies=["on(block, _)"],
    cost=2,
    similes=["restack"],
)
def shift(block: Block, origin: Block, target: Block) -> None:
    """Move a block from one block onto another."""


@_STACKING.action(
    requires=["clear(block)", "on(block, origin)"],
    provides=["on_table(block)", "clear(origin)"],
    modifies=["on(block, _)"],
    similes=["put_on_table"],
)
def unstack(block: Block, origin: Block) -> None:
    """Put a block from another onto the table."""


@_STACKING.action(
    requires=["clear(block)", "clear(target)", "on_table(block)", "block != target"],
    provides=["on(block, target)", "not on_table(block)", "not clear(target)"],
    similes=["put_on"],
)
def stack(block: Block, target: Block) -> None:
    """Put a block from the table onto another."""


def problems() -> Mapping[str, Problem]:
    """Return the problems, from tiny to hard."""
    makers = {name: functools.partial(generate, 11, size) for name, size in SIZES.items()}
    return Series({"swap": _swap, "impossible": _impossible, **makers})


def _swap() -> Problem:
    blocks = [Block("a"), Block("b")]
    initial = ["on_table(b)", "on(a, b)", "clear(a)"]
    return _STACKING.problem(name="swap", objects=blocks, initial=initial, goal=["on(b, a)"])


def _impossible() -> Problem:
    blocks = [Block("a"), Block("b")]
    initial = ["on_table(b)", "on_table(a)", "clear(a)", "clear(b)"]
    return _STACKING.problem(name="impossible", objects=blocks, initial=initial, goal=["on(a, b)", "on(b, a)"])


def generate(seed: int, size: int) -> Problem:
    """Return a problem that turns random stacks of `size` blocks into other random stacks."""
    rng = random.Random(seed)
    blocks = [Block(f"b{number}") for number in range(1, size + 1)]
    before, after = _stacks(blocks, rng), _stacks(blocks, rng)
    initial = [f"on_table({pile[0].name})" for pile in before] + [f"clear({pile[-1].name})" for pile in before]
    initial += _towers(before)
    goal = _towers(after) or [f"on_table({block.name})" for block in blocks]
    return _STACKING.problem(name=f"stacking-{seed}-{size}", objects=blocks, initial=initial, goal=goal)


def _stacks(blocks: list[Block], rng: random.Random) -> list[list[Block]]:
    piles: list[list[Block]] = []
    for block in rng.sample(blocks, len(blocks)):
        if piles and rng.random() < 0.7:
            rng.choice(piles).append(block)
        else:
            piles.append([block])
    return piles


def _towers(piles: list[list[Block]]) -> list[str]:
    return [f"on({upper.name}, {lower.name})" for pile in piles for lower, upper in pairwise(pile)]


def cases() -> list[Case]:
    """Return what is known of some problems."""
    known = problems()
    return [
        Case(
            "swap",
            known["swap"],
            2,
            valid=("unstack(a, b)\nstack(b, a)",),
            invalid=(
                ("stack(b, a)", "requires clear(b)"),
                ("unstack(a, b)\nstack(a, b)", "the goal requires on(b, a)"),
            ),
        ),
        Case("impossible", known["impossible"], None),
    ]
