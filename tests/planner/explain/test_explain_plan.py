"""Why each step is in a plan."""

from __future__ import annotations

import json

import pytest

from planner.errors import PlanError
from planner.explain.plan_explanation import PlanExplanation, Service, explain_plan
from planner.language.declare import Domain, mandatory, never
from planner.model import Problem
from planner.plan import Plan, Step
from planner.solve import solve
from planner.testing import steps_from
from planner.validation.validate import validate


def courier() -> Problem:
    domain = Domain("courier", types=["robot", "room", "ball"])
    domain.action(
        "move",
        {"robot": "robot", "origin": "room", "target": "room"},
        requires=["at(robot, origin)"],
        provides=["at(robot, target)"],
        modifies=["at(robot, _)"],
    )
    domain.action(
        "pick",
        {"robot": "robot", "ball": "ball", "room": "room"},
        requires=["at(robot, room)", "inside(ball, room)"],
        provides=["holds(robot, ball)", "not inside(ball, room)"],
    )
    domain.action(
        "drop",
        {"robot": "robot", "ball": "ball", "room": "room"},
        requires=["at(robot, room)", "holds(robot, ball)"],
        provides=["inside(ball, room)", "not holds(robot, ball)"],
    )
    domain.action("sing", {"robot": "robot"}, provides=["cheerful(robot)"])
    domain.action("bow", {"robot": "robot"}, after=["drop(robot, _, _)"], provides=["thanked(robot)"])
    return domain.problem(
        objects={"r": "robot", "hall": "room", "lab": "room", "b": "ball"},
        initial=["at(r, hall)", "inside(b, lab)"],
        goal=["inside(b, hall)", "thanked(r)"],
    )


GOOD = """
move(r, hall, lab)
pick(r, b, lab)
move(r, lab, hall)
drop(r, b, hall)
bow(r)
"""


def explained(text: str) -> PlanExplanation:
    problem = courier()
    return explain_plan(
        problem, Plan(tuple([Step(step.action, step.arguments, 1) for step in steps_from(text)]), problem)
    )


def test_each_step_says_what_it_provides_for_whom() -> None:
    explanation = explained(GOOD)
    assert [each.services for each in explanation.steps] == [
        (Service("at(r, lab)", 2), Service("at(r, lab)", 3)),
        (Service("holds(r, b)", 4),),
        (Service("at(r, hall)", 4),),
        (Service("drop(r, b, hall) has run", 5), Service("inside(b, hall)", None)),
        (Service("thanked(r)", None),),
    ]
    assert explanation.redundant == ()
    assert explanation.leaner is None


def test_the_chain_leads_to_the_goal() -> None:
    first, *_ = explained(GOOD).steps
    assert first.chain == (Service("at(r, lab)", 2), Service("holds(r, b)", 4), Service("inside(b, hall)", None))


def test_the_explanation_in_words() -> None:
    assert explained(GOOD).describe().splitlines() == [
        "1. move(r, hall, lab)",
        "   provides at(r, lab), needed by 2. pick(r, b, lab) → 4. drop(r, b, hall) → the goal inside(b, hall)",
        "   also provides at(r, lab), needed by 3. move(r, lab, hall)",
        "2. pick(r, b, lab)",
        "   provides holds(r, b), needed by 4. drop(r, b, hall) → the goal inside(b, hall)",
        "3. move(r, lab, hall)",
        "   provides at(r, hall), needed by 4. drop(r, b, hall) → the goal inside(b, hall)",
        "4. drop(r, b, hall)",
        "   provides inside(b, hall), needed by the goal",
        "   also provides drop(r, b, hall) has run, needed by 5. bow(r)",
        "5. bow(r)",
        "   provides thanked(r), needed by the goal",
    ]


REDUNDANT = {
    "a step that serves nothing": ("sing(r)" + GOOD, (1,)),
    "there and back serve each other only": ("move(r, hall, lab)\nmove(r, lab, hall)" + GOOD, (1, 2)),
    "put down and picked up again": (
        GOOD.replace("pick(r, b, lab)", "pick(r, b, lab)\ndrop(r, b, lab)\npick(r, b, lab)"),
        (2, 3),
    ),
}


@pytest.mark.parametrize("name", REDUNDANT)
def test_redundant_steps_can_be_left_out(name: str) -> None:
    text, expected = REDUNDANT[name]
    explanation = explained(text)
    assert explanation.redundant == expected
    assert explanation.leaner is not None
    assert validate(courier(), explanation.leaner).valid
    assert f"valid without {', '.join(map(str, expected))}, at cost 5" in explanation.describe()


def test_an_empty_plan_is_explained() -> None:
    problem = courier().domain
    done = Problem("done", problem)
    assert "empty" in explain_plan(done, Plan((), done)).describe()


def test_only_valid_plans_are_explained() -> None:
    with pytest.raises(PlanError, match="only a valid plan"):
        explained("bow(r)")


def test_the_data_are_ready_for_json() -> None:
    data = json.loads(json.dumps(explained("sing(r)" + GOOD).to_dict()))
    assert data["redundant"] == [1]
    assert data["steps"][0]["services"] == []
    assert data["steps"][5]["services"] == [{"condition": "thanked(r)", "needed_by": None}]
    assert len(data["leaner"]["steps"]) == 5


def test_wishes_and_constraints_are_what_steps_are_for():
    errands = Domain("errands")
    errands.action("shop", provides="stocked", cost=2)
    errands.action("read", provides="amused")
    errands.action("ring", provides="rung")
    problem = errands.problem(
        goal={"hard": "stocked", "soft": {"amused": 3}}, constraints=[mandatory("ring"), never("stocked", utility=1)]
    )
    plan = solve(problem).expect_plan()
    explanation = explain_plan(problem, plan)
    said = {each.step.action: [str(service.condition) for service in each.services] for each in explanation.steps}
    assert said["shop"] == ["stocked"]
    assert said["read"] == ["amused"]
    assert explanation.redundant == ()
    ring = next(each for each in explanation.steps if each.step.action == "ring")
    assert ring.keeps == ring.to_dict()["keeps"] == "sometime done ring"
    assert "keeps the constraint 'sometime done ring'" in str(explanation)


def test_what_only_a_forgone_wish_would_need_is_redundant():
    errands = Domain("errands")
    errands.action("shop", provides="stocked")
    errands.action("wrap", provides="wrapped", requires="stocked")
    problem = errands.problem(goal={"hard": "stocked", "soft": {"(and (wrapped) (not (stocked)))": 3}})
    explanation = explain_plan(problem, Plan(steps_from("shop()\nwrap()"), problem))
    assert explanation.redundant == (2,)
