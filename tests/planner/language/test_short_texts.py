"""What `print` shows of domains and problems: a name, counts and the goal, in a line."""

from __future__ import annotations

from htn.language.declare import Methods
from planner import Domain, Entity
from planner.language.loading.load import load, load_domain


class Room(Entity):
    """A room."""


def test_a_domain_and_a_problem_are_a_line_each() -> None:
    house = Domain("house")
    house.action("clean", {"r": Room}, provides=["clean(r)"])
    assert str(house) == str(house.model) == "domain house: 1 type, 1 predicate, 1 action"
    problem = house.problem("day", objects={"hall": Room}, goal=["clean(hall)"])
    assert str(problem) == "problem day of domain house: 1 object; goal: clean(hall)"
    assert f"{house.problem('idle', goal=[])}" == "problem idle of domain house: nothing declared; goal: none"


def test_long_goals_are_cut() -> None:
    house = Domain("house")
    house.action("clean", {"r": Room}, provides=["clean(r)"])
    rooms = {f"r{number}": Room for number in range(9)}
    text = str(house.problem("day", objects=rooms, goal=[f"clean({each})" for each in rooms]))
    assert text.endswith("goal: clean(r0), clean(r1), clean(r2), clean(r3), 5 more")


def test_tasks_are_shown() -> None:
    house = Domain("house")
    house.action("clean", {"r": Room}, provides=["clean(r)"])
    methods = Methods(house)
    methods.task("tidy", r=Room)
    methods.method("once", {"r": Room}, task="tidy(r)", subtasks=["clean(r)"])
    problem = methods.problem("day", objects={"hall": Room}, tasks=["tidy(hall)"])
    assert str(problem).endswith("; goal: none; tasks: tidy(hall)")
    assert str(problem.domain) == "domain house: 1 type, 1 predicate, 1 action, 1 task, 1 method"


def test_shipped_problems_are_short() -> None:
    for name in ("courier", "elevator", "household", "outing"):
        assert len(str(load_domain(name))) < 200
    assert str(load("elevator", "quarrel")).startswith("problem quarrel of domain elevator: 8 objects, ")
