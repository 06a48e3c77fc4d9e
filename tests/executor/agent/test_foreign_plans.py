"""Plans of others, in their forms, are resolved, checked, repaired at the least change, or refused with the reason."""

from __future__ import annotations

import json

import pytest

from executor.agent.foreign_plans.parse_steps import read_calls
from executor.agent.foreign_plans.repair_plan import RepairStatus, repair, repair_plan
from planner import Domain, load, solve
from planner.errors import InputError, PlanError
from planner.model import Problem
from planner.validation.validate import validate

OFFICE = Domain("office")
OFFICE.type("robot")
OFFICE.type("room")
OFFICE.action(
    "move_robot",
    {"robot": "robot", "origin": "room", "target": "room", "speed": int},
    requires=["at(robot, origin)", "door(origin, target)"],
    provides=["at(robot, target)"],
    modifies=["at(robot, _)"],
    similes=["go", "drive to"],
)
STATE = ["at(R2, hall)", "door(hall, stairs)", "door(stairs, lab)", "door(lab, stairs)"]
ROOMS = {"R2": "robot", "hall": "room", "stairs": "room", "lab": "room"}


def act(steps, goal="at(R2, lab)", **options):
    return repair(OFFICE, STATE, steps, goal, **options)


FORMS = [
    "move_robot(R2, hall, stairs)\nmove_robot(R2, stairs, lab)",
    "1. (move_robot R2 hall stairs)\n2. (move_robot R2 stairs lab)\n; cost = 2",
    "- go(r2, Hall, stairs)\n- drive to (r2, stairs, lab)",
    "- go(r2, Hall, stairs)\n- Drive-To(r2, stairs, LAB)",
    ["move_robot(R2, hall, stairs)", {"action": "move_robot", "arguments": ["R2", "stairs", "lab"]}],
    [
        {"tool": "go", "args": {"Robot": "r2", "origin": "hall", "target": "stairs", "speed": 3}},
        {"name": "go", "input": {"robot": {"name": "R2"}, "origin": "stairs", "target": "lab"}},
    ],
    {
        "tool_calls": [
            {
                "type": "function",
                "function": {
                    "name": "move_robot",
                    "arguments": json.dumps({"robot": "R2", "origin": a, "target": b}),
                },
            }
            for a, b in (("hall", "stairs"), ("stairs", "lab"))
        ]
    },
    {
        "executionModel": "sequential",
        "steps": [
            {"id": "1", "actionName": "go", "parameters": {"robot": "R2", "origin": "hall", "target": "stairs"}},
            {"id": "2", "actionName": "go", "parameters": {"robot": "R2", "origin": "stairs", "target": "lab"}},
        ],
    },
    {"plan": {"steps": [{"step": "go(R2, hall, stairs)"}, {"step": "go(R2, stairs, lab)"}]}},
]


@pytest.mark.parametrize("form", [*FORMS, *[json.dumps(form) for form in FORMS[4:]]])
def test_every_form_is_read(form) -> None:
    found = act(form)
    assert found.status is RepairStatus.VALID
    assert [step.arguments for step in found.plan.steps] == [("R2", "hall", "stairs"), ("R2", "stairs", "lab")]
    assert validate(found.plan.problem, found.plan).valid


def test_values_for_data_parameters_come_along() -> None:
    assert act(FORMS[5]).data == {0: {"speed": 3}}


@pytest.mark.parametrize(
    ("steps", "kept"),
    [
        (["go(R2, stairs, lab)"], [(0,)]),
        (["go(R2, stairs, lab)", "go(R2, hall, stairs)"], [(0,), (1,)]),
        (["go(R2, hall, stairs)", "fly(R2, lab)", "go(R2, stairs, lab)"], [(0, 2)]),
        (["go(R2, hall, stairs)", "go(R2, stairs, labb)"], [(0,)]),
        (["go(R2, stairs, hall)", {"tool": "go", "args": {"robot": "R2", "origin": "lab"}}], [()]),
        ([], [()]),
    ],
)
def test_a_plan_that_fails_is_repaired_at_the_least_change(steps, kept) -> None:
    found = act(steps)
    assert found.status is RepairStatus.REPAIRED
    assert found.kept in kept
    assert found.least
    assert validate(found.plan.problem, found.plan).valid
    assert not found.counterexample.valid


def test_what_means_nothing_is_said() -> None:
    found = act(["fly(R2, lab)", "go(R2, stairs, labb)", "go(R2, hall, stairs, lab)", "go(R2, hall, stairs)", "go(R2)"])
    wrong = dict(found.misunderstood)
    assert "there is no action 'fly'" in wrong[0]
    assert wrong[1] == "there is no object 'labb'; did you mean 'lab'?"
    assert "takes 3 arguments, not 4" in wrong[2]
    assert found.left_out == (0, 1, 2)


@pytest.mark.parametrize(
    "steps",
    [
        ["go(R2, stairs)", "go(R2, lab)"],
        ["go(R2)", "go(lab)"],
        [{"tool": "go", "args": {"to": "stairs", "robot": "R2", "origin": "hall"}}, "go(R2, lab)"],
        ["go(robot=R2, target=stairs)", "go(target='lab')"],
        "```text\nThe plan:\n1. go(R2, hall, stairs)\n2. go(R2, lab)\n```\nDone!",
    ],
)
def test_arguments_that_were_left_out_follow_where_there_is_one_way(steps) -> None:
    found = act(steps)
    assert found.status is RepairStatus.REPAIRED
    assert found.kept == (0, 1)
    assert found.counterexample is None
    assert [step.arguments for step in found.plan.steps] == [("R2", "hall", "stairs"), ("R2", "stairs", "lab")]


def test_where_there_are_more_ways_none_is_taken() -> None:
    doors = [*STATE, "door(hall, lab)"]
    found = repair(OFFICE, doors, ["go(R2)"], "at(R2, lab)")
    assert found.left_out == (0,)
    assert "it may be move_robot(R2, hall, stairs) or move_robot(R2, hall, lab)" in found.misunderstood[0][1]


def test_named_otherwise_and_meant_by_type() -> None:
    steps = [{"action": "go", "args": {"who": "R2", "origin": "hall", "destination": "stairs"}}, "go(R2, stairs, lab)"]
    assert act(steps).status is RepairStatus.VALID


def test_plans_that_create_objects_are_taken_in() -> None:
    problem = load("helpdesk")
    plan = solve(problem).expect_plan()
    found = repair_plan(problem, str(plan))
    assert (found.status, found.plan.cost) == (RepairStatus.VALID, plan.cost)
    broken = repair_plan(problem, [str(step) for step in plan.steps[1:]])
    assert broken.status is RepairStatus.REPAIRED
    assert validate(problem, broken.plan).valid


def make_errand() -> Problem:
    """Return a problem in time: the shop opens later."""
    domain = Domain("shop", types=["place"])
    move = {"requires": ["at(a)"], "provides": ["at(b)"], "modifies": ["at(_)"], "duration": 4}
    domain.action("go", {"a": "place", "b": "place"}, **move)
    domain.action("buy", {"b": "place"}, requires=["at(b)", "open(b)"], provides=["bought"], duration=2)
    places = {"home": "place", "mall": "place"}
    return domain.problem(objects=places, initial=["at(home)"], windows={"open(mall)": "8..60"}, goal=["bought"])


def test_plans_in_time_are_repaired() -> None:
    problem = make_errand()
    found = repair_plan(problem, "(go home mall)\n(buy mall)")
    assert (found.status, found.origins, found.least) == (RepairStatus.VALID, (0, 1), True)
    broken = repair_plan(problem, "(buy mall)\n(sing mall)")
    assert (broken.status, broken.origins, broken.left_out) == (RepairStatus.REPAIRED, (None, 0), (1,))
    assert [step.action for step in broken.plan.steps] == ["go", "buy"]
    assert broken.plan.times[1].start >= 8
    assert validate(problem, broken.plan).valid


def test_plans_of_tasks_are_repaired() -> None:
    problem = load("household", "supper")
    plan = solve(problem).expect_plan()
    steps = [str(step) for step in plan.steps]
    assert repair_plan(problem, steps).status is RepairStatus.VALID
    broken = repair_plan(problem, steps[1:])
    assert (broken.status, broken.left_out) == (RepairStatus.REPAIRED, ())
    assert broken.plan.tree is not None
    assert validate(problem, broken.plan).valid


def test_the_answer_is_data() -> None:
    found = act(["fly(R2)", {"tool": "go", "args": {"robot": "R2", "origin": "hall", "target": "stairs", "speed": 3}}])
    data = json.loads(json.dumps(found.to_dict()))
    assert data["status"] == "REPAIRED"
    assert (data["kept"], data["left_out"], data["inserted"]) == ([1], [0], [1])
    assert data["given"][1]["data"] == {"speed": 3}
    assert data["counterexample"]["valid"] is False
    assert [step["arguments"] for step in data["plan"]["steps"]] == [["R2", "hall", "stairs"], ["R2", "stairs", "lab"]]


def test_what_cannot_be_repaired_is_refused_with_the_counterexample() -> None:
    found = repair(OFFICE, ["at(R2, hall)"], "go(R2, hall, lab)", "at(R2, lab)", objects=ROOMS)
    assert found.status is RepairStatus.REFUSED
    assert found.plan is None
    assert "door(hall, lab)" in found.counterexample.reason
    assert found.reason


@pytest.mark.parametrize("given", [7, [[None]], {"nothing": 1}, "[{", "[" * 100 + "]" * 100])
def test_what_is_no_plan_is_refused(given) -> None:
    with pytest.raises(PlanError):
        act(given)


def test_a_state_that_means_nothing_is_told() -> None:
    with pytest.raises(InputError, match="at") as refused:
        repair(OFFICE, ["at(R2)"], [], "at(R2, lab)")
    assert refused.value.location is None
    with pytest.raises(InputError, match="5 is no"):
        repair(OFFICE, [5], [], "at(R2, lab)")
    with pytest.raises(InputError, match=r"problem\.initial"):
        repair(OFFICE, load("assistant", "one-page"), [], "at(R2, lab)")
    with pytest.raises(InputError, match="expected a domain, got a str"):
        repair("office", STATE, [], "at(R2, lab)")


def test_forms_are_read_as_they_stand() -> None:
    (call,) = read_calls("3) send ( to='ada', 'hello there' )")
    assert (call.name, call.positional) == ("send", ("ada", "hello there"))
