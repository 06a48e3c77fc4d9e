"""Things that are taken and put down: blocks that explode, balls that slip."""

from __future__ import annotations

from itertools import pairwise
from random import Random

from planner import Domain, Outcome, Problem


def blocks(count: int, seed: int = 1) -> Problem:
    """Return blocks of which all but one make a tower; where one is first put down, it may destroy what is below.

    After the exploding blocks of IPC 2006: what is destroyed can neither be taken nor have anything put on it.
    """
    domain = Domain("blocks", types={"thing": "object", "block": "thing"})
    domain.action(
        "take",
        {"block": "block", "below": "thing"},
        requires=["on(block, below)", "clear(block)", "free", "not destroyed(block)"],
        provides=["holding(block)", "clear(below)", "not free", "not on(block, below)", "not clear(block)"],
    )
    down = ["on(block, below)", "clear(block)", "free", "not holding(block)"]
    for place, more in {"stack": ["not clear(below)"], "put_down": []}.items():
        fits = ["is_block(below)"] if place == "stack" else ["is_table(below)"]
        needs = ["holding(block)", "clear(below)", "not destroyed(below)", *fits]
        domain.action(
            place,
            {"block": "block", "below": "thing"},
            requires=[*needs, "armed(block)"],
            provides=[*down, *more],
            outcomes=[
                Outcome(0.9, [*down, *more]),
                Outcome(0.1, [*down, *more, "destroyed(below)", "not armed(block)"]),
            ],
        )
        domain.action(
            f"{place}_spent",
            {"block": "block", "below": "thing"},
            requires=[*needs, "not armed(block)"],
            provides=[*down, *more],
        )
    rng = Random(seed)
    names = [f"b{number}" for number in range(count)]
    start, half = rng.sample(names, count), max(1, count // 2)
    return domain.problem(
        objects={**dict.fromkeys(names, "block"), "table": "thing"},
        initial=[
            "free",
            "clear(table)",
            "is_table(table)",
            *[f"armed({name})" for name in names],
            *[f"is_block({name})" for name in names],
            *[f"on({above}, {below})" for above, below in pairwise([*start[:half], "table"])],
            *[f"on({above}, {below})" for above, below in pairwise([*start[half:], "table"])],
            f"clear({start[0]})",
            f"clear({start[half]})",
        ],
        goal=[f"on({above}, {below})" for above, below in pairwise(rng.sample(names, count - 1))],
    )


def gripper(balls: int) -> Problem:
    """Return balls to be carried to another room by two hands that miss one ball in four, and drop some on the way."""
    domain = Domain("gripper", types=["room", "ball", "hand"])
    domain.action(
        "pick",
        {"ball": "ball", "hand": "hand", "room": "room"},
        requires=["robot(room)", "at(ball, room)", "empty(hand)"],
        provides=["holds(hand, ball)", "not at(ball, room)", "not empty(hand)"],
        risk="0.25",
    )
    domain.action(
        "drop",
        {"ball": "ball", "hand": "hand", "room": "room"},
        requires=["robot(room)", "holds(hand, ball)"],
        provides=["at(ball, room)", "empty(hand)", "not holds(hand, ball)"],
    )
    domain.action(
        "move_empty",
        {"origin": "room", "target": "room", "left": "hand", "right": "hand"},
        requires=["robot(origin)", "door(origin, target)", "left(left)", "right(right)", "empty(left)", "empty(right)"],
        provides=["robot(target)"],
        modifies=["robot(_)"],
    )
    lost = ["robot(target)", "at(ball, origin)", "empty(hand)", "not holds(hand, ball)"]
    domain.action(
        "carry",
        {"origin": "room", "target": "room", "hand": "hand", "ball": "ball"},
        requires=["robot(origin)", "door(origin, target)", "holds(hand, ball)"],
        provides=["robot(target)"],
        modifies=["robot(_)"],
        outcomes=[
            Outcome(0.8, ["robot(target)"], modifies=["robot(_)"]),
            Outcome(0.2, lost, modifies=["robot(_)"]),
        ],
    )
    names = [f"ball{number}" for number in range(balls)]
    return domain.problem(
        objects={
            **dict.fromkeys(["here", "there"], "room"),
            **dict.fromkeys(names, "ball"),
            **dict.fromkeys(["left", "right"], "hand"),
        },
        initial=[
            "robot(here)",
            "door(here, there)",
            "door(there, here)",
            "empty(left)",
            "empty(right)",
            "left(left)",
            "right(right)",
            *[f"at({name}, here)" for name in names],
        ],
        goal=[f"at({name}, there)" for name in names],
    )
