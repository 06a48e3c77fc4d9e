"""Whatever is declared, in Python or in a document: a hierarchy, or an error of ours that can be shown."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable

from htn.language.declare import Methods
from planner import Domain, Entity, ForethoughtError, read_documents


class Robot(Entity): ...


class Room(Entity): ...


PLAIN = [
    None, 3, 1.5, True, "", "x", "_", "a:", ": x", "not", "(and", "((((", "?robot", "a\nb", "\ud800", [], {}, [None],
    [[]], {"a": 1}, "at(robot, room)", ["at(robot, room)"], "(at ?robot ?room)", "visit(_)", "visit(robot, room)",
    ["a: visit(robot, room)", "b: visit(robot, room)"], ["a: b: c"], "a: (visit ?robot ?room)", "(visit ?robot ?room)",
    "(and (visit ?robot ?room))", "(= ?robot ?room)", "robot != room", "robot != robot", ["a <", "<"], [["a"]],
    [["a", "b"], ["b", "a"]], ["a < b"], [["a", "a"]], [[1, 2]], {"robot": "Robot", "room": "Room"},
]  # fmt: skip
VALUES = [*PLAIN, (), object(), Robot, Robot("r"), b"x", {1}, [("a", "b")], lambda: 1]
FIELDS = ["task", "requires", "subtasks", "ordered", "ordering", "constraints", "description", "other"]
GOOD = {"task": "visit(robot, room)", "subtasks": ["a: visit(robot, room)", "b: visit(robot, room)"]}
MOVE = {"parameters": {"robot": "Robot", "room": "Room"}, "requires": "at(robot, room)"}


def mixed(rng: random.Random, good: dict[str, object], values: list[object]) -> dict[str, object]:
    return {**good, **{field: rng.choice(values) for field in rng.sample(FIELDS, rng.randint(0, 2))}}


def declare(rng: random.Random) -> None:
    office = Domain("office")
    office.action("move", {"robot": Robot, "room": Room}, requires="at(robot, room)")
    how = Methods(office)
    how.task("visit", robot=Robot, room=Room)
    if rng.random() < 0.2:
        how.task(rng.choice(VALUES), **{rng.choice(["room", "description"]): rng.choice(VALUES)})
    both = {"robot": Robot, "room": Room}
    fields, returned = mixed(rng, GOOD, VALUES), None
    if rng.random() < 0.3:
        returned = rng.choice(VALUES)
        fields.pop("subtasks", None)
    if rng.random() < 0.5:
        how.method(rng.choice(["m", "m", rng.choice(VALUES)]), rng.choice([both, both, rng.choice(VALUES)]), **fields)
    else:

        @how.method(**fields)
        def method(robot: Robot, room: Room):  # noqa: ARG001 - their names are what counts
            return returned

    parts = ["ordered", "ordering", "parameters", "constraints", "tasks"]
    options = {name: rng.choice(VALUES) for name in rng.sample(parts, rng.randint(0, 1))}
    how.problem(objects=[Robot("robot"), Room("room")], **options)


def outcomes(act: Callable[[random.Random], object], count: int) -> Counter[str]:
    """Return how often nothing was wrong, and how often what was wrong could be said."""
    found: Counter[str] = Counter()
    for seed in range(count):
        try:
            act(random.Random(seed))
        except ForethoughtError as error:
            found["told" if str(error) else "silent"] += 1
        else:
            found["fine"] += 1
    return found


def test_anything_in_python() -> None:
    found = outcomes(declare, 3000)
    assert found["silent"] == 0
    assert min(found["fine"], found["told"]) > 100


def document(rng: random.Random) -> str:
    method = {"parameters": MOVE["parameters"], **mixed(rng, GOOD, PLAIN)}
    tasks = {"visit": {"parameters": MOVE["parameters"]}}
    methods = rng.choice([{"m": method}] * 8 + [rng.choice(PLAIN)])
    domain = {"domain": "office", "types": ["Robot", "Room"], "actions": {"move": MOVE}, "tasks": tasks}
    network = rng.choice([mixed(rng, {"subtasks": ["visit(robot, room)"]}, PLAIN), rng.choice(PLAIN)])
    problem = {"problem": "p", "objects": {"robot": "Robot", "room": "Room"}, "tasks": network}
    return json.dumps([{**domain, "methods": methods}, problem])


def test_anything_in_documents() -> None:
    found = outcomes(lambda rng: read_documents(document(rng)), 1000)
    assert found["silent"] == 0
    assert min(found["fine"], found["told"]) > 20
