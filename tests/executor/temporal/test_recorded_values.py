"""What a history keeps reads back as it was, and can become nothing but records of ours."""

import json
from datetime import date
from decimal import Decimal
from fractions import Fraction

import pytest

from executor import CANNOT_SAY, ActionResult, ExecutionPolicy, Facts, Seen, World
from executor.recovery.recovery_policy import Recovery
from executor.temporal.recorded_world import describe_world, restore_world
from executor.temporal.value_data import (
    keep_values,
    pack_entries,
    read_answer,
    read_result,
    read_value,
    unpack_entries,
    write_answer,
    write_result,
    write_value,
)
from executor.tools.kept_values import recall_value
from planner import Domain, Entity, patch, solve
from planner.errors import InputError
from planner.model import Atom


class Room(Entity): ...


def keep(data):
    return json.loads(json.dumps(data))


def make_domain():
    domain = Domain("walk")
    domain.action(
        "go",
        {"origin": Room, "target": Room, "speed": int},
        requires=["here(origin)", "door(origin, target)"],
        provides=["here(target)"],
        modifies=["here(_)"],
        cost=2,
    )
    return domain


def test_the_result_of_a_search_reads_back():
    rooms = {"a": Room, "b": Room, "c": Room}
    problem = make_domain().problem(objects=rooms, initial=["here(a)", "door(a, b)", "door(b, c)"], goal=["here(c)"])
    found = patch(problem, solve(problem).plan.steps[1:])
    assert found.steps is not None
    assert read_value(keep(write_value(found))) == found
    assert read_value(keep(write_value(Recovery(weight=2)))) == Recovery(weight=2)


VALUES = [None, True, 3, 2.5, "x", [1, "a"], (1, (2,)), {("a", 1): Decimal("1.50")}, Fraction(1, 3), {"b", "a"}]


@pytest.mark.parametrize("value", [*VALUES, Atom("at", ("r",))])
def test_values_read_back(value):
    assert read_value(keep(write_value(value))) == value


@pytest.mark.parametrize(
    ("answer", "read"),
    [
        (None, None),
        (False, False),
        (Room("a"), "a"),
        ([Room("a"), "b"], ["a", "b"]),
        ([("r1", Room("a"))], [("r1", "a")]),
        ({Room("b"), Room("a")}, ["a", "b"]),
        ({"r1": 2.5}, {"r1": 2.5}),
        (Decimal("1.25"), Decimal("1.25")),
        (CANNOT_SAY, CANNOT_SAY),
        (Seen(True, 7), Seen(True, 7)),
        (Facts({"at(r, a)": True}), Facts({"at(r, a)": True})),
    ],
)
def test_answers_of_observers_read_back_with_names_of_objects(answer, read):
    assert read_answer(keep(write_answer(answer))) == read


@pytest.mark.parametrize(
    "name",
    ["os:system", "subprocess:Popen", "planner.plan:os", "executor.executor:Executor.run", "planner.nothing:Step"],
)
def test_a_history_names_only_records_of_ours(name):
    with pytest.raises((InputError, ModuleNotFoundError)):
        read_value({"!": name, "of": []})


def test_a_value_that_is_no_record_is_refused():
    with pytest.raises(InputError, match="cannot be recorded"):
        write_value(object())


def test_events_are_packed():
    entries = [("RunEnded", '{"status": "FAILED"}', 1.5)]
    assert unpack_entries(pack_entries(entries)) == entries


def test_a_world_is_recorded_without_its_code():
    world = World(make_domain())

    @world.handler("go", policy=ExecutionPolicy(retries=2))
    async def go(**_): ...

    @world.observer("here(_)", conclusive=True, settle_within=2.0)
    async def look(): ...

    @world.check("go")
    async def check(target): ...

    told = describe_world(world)
    restored = restore_world(keep(told), World(make_domain()))
    again = describe_world(restored)
    assert again == told
    assert [(each.name, each.settle_within, each.conclusive) for each in restored.observers] == [("look", 2.0, True)]
    assert restored.policy_of("go") == ExecutionPolicy(retries=2)
    assert restored.is_watched("here")


def test_the_version_is_that_of_what_the_domain_declares():
    other = make_domain()
    other.action("rest", {}, provides=["rested"])
    first, second, third = (describe_world(World(each))["version"] for each in (make_domain(), make_domain(), other))
    assert first == second
    assert first != third


def test_values_of_users_keep_their_types():
    values = {"day": date(2026, 11, 30), "slip": b"No. 7", "price": Decimal("60.00"), "rows": (1, {"a": {2}})}
    result = ActionResult(data=values, values={"slip": b"No. 8"}, observed=("paid",))
    read = read_result(keep(write_result(result)))
    assert (read.data, read.values, read.observed) == (values, {"slip": b"No. 8"}, ("paid",))
    assert recall_value(keep(keep_values(values))) == values
