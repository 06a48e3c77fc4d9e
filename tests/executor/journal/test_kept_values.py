"""Values come back from the journal as the types that they were, or are refused, or known to be lost."""

from __future__ import annotations

import asyncio
import enum
import random
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePosixPath
from typing import Annotated
from uuid import UUID

import pytest
from pydantic import BaseModel

from executor import ActionResult, Executor, RunStatus, Wait, World
from executor.journal import Journal
from executor.tools.json_data import dump_json_value, load_json
from executor.tools.kept_values import Keeper, Lost, recall_value
from planner import Domain, Entity, From
from planner.errors import InputError


class Doc(BaseModel):
    """A document."""

    name: str
    raw: bytes


class Colour(enum.Enum):
    """A colour."""

    RED = "red"


class Order(Entity):
    """An order."""


PLAIN = [
    None,
    True,
    7,
    10**5000,
    -0.5,
    float("inf"),
    "",
    "Müller & Söhne",
    "\ud800 lone",
    b"\x00\xff",
    Path("/tmp/x"),
    PurePosixPath("/tmp/x"),
    Decimal("1.10"),
    Fraction(1, 3),
    datetime(2030, 1, 2, 3, 4, 5, 6, tzinfo=UTC),
    datetime(2030, 1, 2, 3, tzinfo=UTC).replace(tzinfo=None),
    date(2030, 1, 2),
    time(3, 4),
    timedelta(days=-1, microseconds=3),
    UUID(int=5),
    1 + 2j,
]


def again(value):
    """Return what comes back of `value`, and what was lost."""
    keeper = Keeper()
    return recall_value(load_json(dump_json_value(keeper.keep(value)))), keeper.lost


def build(rng, depth):
    """Return a random value of nested containers."""
    kind = rng.randrange(6) if depth else 0
    parts = [build(rng, depth - 1) for _ in range(rng.randrange(4))] if kind else []
    if kind == 1:
        return parts
    if kind == 2:
        return tuple(parts)
    if kind == 3:
        return {rng.choice(["a", "$bytes", "$map", "ü", "x.y"]) + str(at % 2): each for at, each in enumerate(parts)}
    if kind == 4:
        return {rng.choice([at, (at, "b"), "$set", None]): each for at, each in enumerate(parts)}
    if kind == 5:
        return {each for each in PLAIN if rng.random() < 0.3}
    return rng.choice(PLAIN)


@pytest.mark.parametrize("value", PLAIN, ids=lambda value: type(value).__name__)
def test_each_type_comes_back(value):
    found, lost = again(value)
    assert (found, type(found), lost) == (value, type(value), {})


@pytest.mark.parametrize("seed", range(100))
def test_nested_values_come_back(seed):
    value = build(random.Random(seed), 4)
    assert again(value) == (value, {})


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (Doc(name="a", raw=b"\x00"), {"name": "a", "raw": b"\x00"}),
        (Colour.RED, "red"),
        (Order("o7"), "o7"),
        (type("Text", (str,), {})("x"), "x"),
    ],
)
def test_models_and_names_are_kept_by_their_contents(value, kept):
    assert again(value) == (kept, {})


def test_what_cannot_be_kept_is_known_to_be_lost():
    found, lost = again({"a": [1, object()], "f": print})
    assert found == {"a": [1, Lost("an object")], "f": Lost("a builtin_function_or_method")}
    assert lost == {"a.1": "an object", "f": "a builtin_function_or_method"}
    deep = circle = []
    for _ in range(5000):
        deep = [deep]
    circle.append(circle)
    for value in (deep, circle):
        assert list(again(value)[1].values()) == ["a value nested too deeply"]


def test_what_an_earlier_version_kept_is_read_as_it_is():
    for data in ({"$bytes": 5}, {"$other": "x"}, {"$date": "tomorrow"}, ["2030-01-02"], {"$decimal": "x"}):
        assert recall_value(data) == data


class Office:
    """A run that waits after its first step; `given` is what the last step was given."""

    def __init__(self, path, result):
        self.path, self.given = path, []
        domain = Domain("office")
        domain.action("make", provides=["made"], tags=["trusted"])
        domain.action("hold", requires=["made"], provides=["held"], tags=["trusted"])
        taken = {
            "raw": Annotated[bytes, From("made", "data.raw")],
            "doc": Annotated[Doc, From("made", "data.doc")],
            "due": Annotated[date, From("made", "data.due")],
            "colour": Annotated[Colour, From("made", "data.colour")],
        }
        domain.action("use", taken, requires=["made", "held"], provides=["used"], tags=["trusted"])
        self.domain, self.world = domain, World(domain)
        self.world.handler("make")(lambda: result)
        self.world.handler("hold")(lambda: Wait(event="go"))
        self.world.handler("use")(lambda context, **given: self.given.append((given, context.memory.get("price"))))

    def run(self, **options):
        with Journal(self.path) as journal:
            return asyncio.run(
                Executor(self.world, journal).run(self.domain.problem(goal=["used"]), run="r", **options)
            )

    def resume(self, **options):
        with Journal(self.path) as journal:
            return asyncio.run(Executor(self.world, journal).resume("r", **options))


DATA = {"raw": b"\x00\xff", "doc": Doc(name="a", raw=b"pdf\x00"), "due": date(2030, 1, 2), "colour": Colour.RED}


def test_a_step_is_given_the_same_before_and_after_a_restart(tmp_path):
    office = Office(tmp_path / "runs.db", ActionResult(data=DATA, values={"price": Decimal("1.10")}))
    assert office.run().status is RunStatus.WAITING
    assert office.resume(results={"s2": True}).status is RunStatus.SUCCEEDED
    assert office.given == [(DATA, Decimal("1.10"))]
    assert type(office.given[0][1]) is Decimal


def test_a_value_that_was_lost_is_said_and_asked_for(tmp_path, caplog):
    office = Office(tmp_path / "runs.db", ActionResult(data=DATA | {"raw": object()}))
    office.run()
    assert "the journal does not keep result.data.raw (an object) of s1" in caplog.text
    outcome = office.resume(results={"s2": True})
    assert outcome.status is RunStatus.WAITING
    assert "which the journal does not keep" in outcome.questions[0].known[0]
    name = outcome.questions[0].question
    assert office.resume(answers={name: {"raw": "seen"}}).status is RunStatus.SUCCEEDED
    assert office.given[0][0] == DATA | {"raw": b"seen"}


def test_values_that_cannot_be_kept_are_refused_where_they_are_set(tmp_path):
    office = Office(tmp_path / "runs.db", ActionResult(data=DATA))
    with pytest.raises(InputError, match=r"memory= has an object at client: the journal does not keep it"):
        office.run(memory={"client": object()})

    @office.world.handler("make")
    def make(context):
        with pytest.raises(InputError, match="working memory 'client' cannot be an object"):
            context.memory.set("client", object())
        context.memory.set("price", Decimal("2.50"))
        return ActionResult(data=DATA)

    office.run()
    assert office.resume(results={"s2": True}).status is RunStatus.SUCCEEDED
    assert office.given == [(DATA, Decimal("2.50"))]
