"""Why there is no plan, through the chain of needs, and the smallest change that gives one."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from planner.explain.excuses import DEAREST, PRICE, STEPS, bound_assumptions
from planner.explain.unreachable_goals import Cause
from planner.explain.unsolvability import Diagnosis, explain_unsolvable
from planner.language.declare import Domain, When, forbidden, sometime
from planner.language.loading.load import load
from planner.limits import Limits
from planner.model import Problem
from planner.plan import StoppedBy
from planner.solve import solve
from planner.validation.validate import validate


def office() -> Domain:
    domain = Domain("office", types=["robot", "room", "ball", "person", "paper"])
    domain.action(
        "move",
        {"robot": "robot", "origin": "room", "target": "room"},
        requires=["at(robot, origin)", "door(origin, target)", "not blocked(target)"],
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
    domain.action("barricade", {"room": "room"}, provides=["blocked(room)"])
    domain.action(
        "approve",
        {"person": "person", "paper": "paper"},
        requires=["present(person)", "ready(paper)"],
        provides=["approved(paper)"],
    )
    domain.action("send", {"paper": "paper"}, requires=["approved(paper)"], provides=["sent(paper)"])
    domain.action("quote", {"paper": "paper"}, requires=["quoted(paper)"], provides=["cited(paper)"])
    domain.action("cite", {"paper": "paper"}, requires=["cited(paper)"], provides=["quoted(paper)"])
    domain.action("archive", {"paper": "paper"}, after=["send(paper)"], provides=["archived(paper)"])
    return domain


OBJECTS = {"r": "robot", "hall": "room", "kitchen": "room", "lab": "room", "b": "ball", "boss": "person", "p": "paper"}
INITIAL = ["at(r, hall)", "inside(b, hall)", "door(hall, kitchen)", "door(kitchen, lab)", "ready(p)"]


def in_office(*goal: str, extra: tuple[str, ...] = (), without: tuple[str, ...] = ()) -> Problem:
    objects = {name: kind for name, kind in OBJECTS.items() if name not in without}
    initial = [fact for fact in [*INITIAL, *extra] if fact not in without]
    return office().problem("errand", objects=objects, initial=initial, goal=list(goal))


def vault(keys: int = 2) -> Problem:
    """One key is there, and it stays in the first door that it opens."""
    domain = Domain("vault", types=["key", "door"])
    domain.action(
        "unlock",
        {"key": "key", "door": "door"},
        requires=["have(key)", "fits(key, door)", "shut(door)"],
        provides=["open(door)", "not shut(door)", "not have(key)"],
    )
    domain.action(
        "enter", {"one": "door", "two": "door"}, requires=["open(one)", "open(two)", "one != two"], provides=["inside"]
    )
    named = [f"key{number}" for number in range(1, keys + 1)]
    return domain.problem(
        "vault",
        objects=dict.fromkeys(named, "key") | {"outer": "door", "inner": "door"},
        initial=["have(key1)", "shut(outer)", "shut(inner)", *[f"fits({key}, {d})" for key in named for d in DOORS]],
        goal=["inside"],
    )


DOORS = ("outer", "inner")


def light() -> Problem:
    """A conditional effect and a derived goal: the lamp burns only where the fuse is whole, and nothing mends fuses."""
    domain = Domain("light", types=["lamp"])
    domain.predicate("lit", "lamp")
    domain.action("press", {"lamp": "lamp"}, when=[When(["whole(lamp)"], ["burns(lamp)"])])
    domain.action("blow", {"lamp": "lamp"}, requires=["whole(lamp)"], provides=["not whole(lamp)"])
    domain.derive("lit(lamp)", {"lamp": "lamp"}, "burns(lamp)")
    return domain.problem("light", objects={"desk": "lamp"}, initial=[], goal=["lit(desk)"])


@dataclass(frozen=True)
class Case:
    make: Callable[[], Problem]
    missing: tuple[tuple[str, Cause, tuple[str, ...]], ...]
    change: tuple[str, ...]


CASES = {
    "a fact that no action provides": Case(
        lambda: in_office("archived(p)"),
        (
            (
                "present(boss)",
                Cause.STATIC,
                ("approve(boss, p)", "send(p)", "archive(p)", "the goal archived(p)"),
            ),
        ),
        ("present(boss)",),
    ),
    "a false static fact on the way": Case(
        lambda: in_office("inside(b, lab)", without=("door(kitchen, lab)", "door(hall, kitchen)")),
        (("door(hall, lab)", Cause.STATIC, ("move(r, hall, lab)", "drop(r, b, lab)", "the goal inside(b, lab)")),),
        ("door(hall, lab)",),
    ),
    "a fact that nothing ends": Case(
        lambda: in_office("inside(b, lab)", extra=("blocked(lab)",)),
        (
            (
                "not blocked(lab)",
                Cause.LASTING,
                ("move(r, kitchen, lab)", "drop(r, b, lab)", "the goal inside(b, lab)"),
            ),
        ),
        ("not blocked(lab)",),
    ),
    "each needs the other": Case(
        lambda: in_office("cited(p)"),
        (("cited(p)", Cause.CIRCULAR, ("cite(p)", "quote(p)")),),
        ("quoted(p)",),
    ),
    "no object of a type": Case(
        lambda: in_office("sent(p)", without=("boss",)),
        (("approved(p)", Cause.NO_OBJECTS, ("send(p)", "the goal sent(p)")),),
        ("approved(p)",),
    ),
    "two goals, two gaps": Case(
        lambda: in_office("sent(p)", "inside(b, lab)", extra=("blocked(lab)",)),
        (
            ("present(boss)", Cause.STATIC, ("approve(boss, p)", "send(p)", "the goal sent(p)")),
            (
                "not blocked(lab)",
                Cause.LASTING,
                ("move(r, kitchen, lab)", "drop(r, b, lab)", "the goal inside(b, lab)"),
            ),
        ),
        ("not blocked(lab)", "present(boss)"),
    ),
    "the branch of a disjunction that a capability would help": Case(
        lambda: in_office("(or (cited p) (archived p))"),
        (
            (
                "present(boss)",
                Cause.STATIC,
                ("approve(boss, p)", "send(p)", "archive(p)", "the goal cited(p) or archived(p)"),
            ),
        ),
        ("present(boss)",),
    ),
    "a quantified goal": Case(
        lambda: in_office("(forall (?x - paper) (sent ?x))", without=("ready(p)",)),
        (
            ("present(boss)", Cause.STATIC, ("approve(boss, p)", "send(p)", "GOAL")),
            ("ready(p)", Cause.STATIC, ("approve(boss, p)", "send(p)", "GOAL")),
        ),
        ("approved(p)",),
    ),
    "a conditional effect and an axiom": Case(
        light,
        (("whole(desk)", Cause.NO_PROVIDER, ("press(desk)", "lit(desk)", "the goal lit(desk)")),),
        ("whole(desk)",),
    ),
    "a dead end: what one step uses up another needs": Case(vault, (), ("have(key2)",)),
    "a dead end with nothing to replace what is used up": Case(lambda: vault(1), (), ("open(inner)",)),
}


def explained(problem: Problem, seconds: float = 30) -> Diagnosis:
    return explain_unsolvable(problem, Limits(seconds))


@pytest.mark.parametrize("name", CASES)
def test_what_is_missing_and_who_needs_it(name: str) -> None:
    diagnosis = explained(CASES[name].make())
    assert diagnosis.solvable is False
    goal = f"the goal {diagnosis.unreachable[0].goal}" if diagnosis.unreachable else ""
    expected = {
        (fact, cause, tuple(goal if who == "GOAL" else who for who in needed_by))
        for fact, cause, needed_by in CASES[name].missing
    }
    assert {(each.fact, each.cause, each.needed_by) for each in diagnosis.missing} == expected


@pytest.mark.parametrize("name", CASES)
def test_the_smallest_change_is_small_proved_and_true(name: str) -> None:
    problem, expected = CASES[name].make(), CASES[name].change
    change = explained(problem).change
    assert change is not None
    assert len(change.assumptions) == len(expected)
    assert change.proved_smallest
    assert not change.uses_goal
    assert validate(change.problem, change.plan).valid
    assert solve(change.problem).has_plan
    assert not solve(problem).has_plan


@pytest.mark.parametrize("name", [name for name in CASES if "nothing to replace" not in name])
def test_the_change_names_the_facts(name: str) -> None:
    change = explained(CASES[name].make()).change
    assert change is not None
    assert tuple(sorted(map(str, change.assumptions))) == CASES[name].change


def test_links_tell_the_chain_in_words() -> None:
    text = explained(in_office("sent(p)")).describe()
    assert text.splitlines() == [
        "errand has no plan.",
        "sent(p) cannot be reached:",
        "  sent(p): send(p) would provide it, but needs approved(p)",
        "  approved(p): approve(boss, p) would provide it, but needs present(boss)",
        "  present(boss): it does not hold initially, and no action ever changes it",
        "  missing: present(boss), needed by approve(boss, p) ← send(p) ← the goal sent(p)",
        "It would have a plan if, from the start:",
        "  present(boss)",
        "One fact is enough apart from the goal itself.",
        "The plan would then be, at cost 2:",
        "  1. approve(boss, p)",
        "  2. send(p)",
    ]


def test_what_must_have_run_is_told_as_such() -> None:
    (part,) = explained(in_office("archived(p)")).unreachable
    assert [str(link) for link in part.links][:2] == [
        "archived(p): archive(p) would provide it, but needs send(p) has run",
        "send(p) has run: send(p) would provide it, but needs approved(p)",
    ]


def test_an_item_with_one_value_gets_a_new_one_instead() -> None:
    domain = Domain("tram", types=["tram", "stop"], constants={"depot": "stop", "park": "stop"})
    domain.action(
        "leave",
        {"tram": "tram"},
        requires=["at(tram, depot)"],
        provides=["at(tram, park)"],
        modifies=["at(tram, _)"],
    )
    domain.action("wash", {"tram": "tram"}, requires=["at(tram, depot)"], provides=["clean(tram)"])
    change = explained(domain.problem(objects={"t": "tram"}, initial=["at(t, park)"], goal=["clean(t)"])).change
    assert change is not None
    assert list(map(str, change.assumptions)) == ["at(t, depot) instead of at(t, park)"]
    assert list(map(str, change.problem.initial)) == ["at(t, depot)"]


def test_what_contradicts_itself_is_beyond_help() -> None:
    diagnosis = explained(in_office("sent(p)", "(not (sent p))"))
    assert diagnosis.solvable is False
    assert diagnosis.change is None
    assert "helps" in diagnosis.describe()


def test_an_impossible_goal_is_said_to_be_one() -> None:
    diagnosis = explained(in_office("(exists (?x - room) (not (= ?x ?x)))"))
    assert [each.cause for each in diagnosis.missing] == [Cause.IMPOSSIBLE]
    assert diagnosis.change is None


def test_a_goal_that_only_its_own_facts_help() -> None:
    domain = Domain("weather")
    domain.predicate("sunny")
    domain.action("rest", requires=["busy"], provides=["calm"])
    change = explained(domain.problem(initial=[], goal=["sunny"])).change
    assert change is not None
    assert change.uses_goal
    assert tuple(map(str, change.assumptions)) == ("sunny",)
    assert len(change.plan) == 0


def test_a_solvable_problem_is_said_to_be_one() -> None:
    problem = in_office("inside(b, kitchen)")
    diagnosis = explained(problem)
    assert diagnosis.solvable is True
    assert diagnosis.change is None
    assert diagnosis.plan is not None
    assert validate(problem, diagnosis.plan).valid
    assert "has a plan of 3 steps, cost 3" in diagnosis.describe()


def test_a_used_up_budget_is_reported_and_not_raised() -> None:
    diagnosis = explained(vault(), seconds=0)
    assert diagnosis.stopped_by is StoppedBy.TIME
    assert diagnosis.solvable is None
    assert "no plan is known" in diagnosis.describe()


def test_bounds_on_costs_are_bounds_on_assumptions() -> None:
    assert [
        bound_assumptions(cost) for cost in (0, 1, STEPS, PRICE, DEAREST, PRICE + STEPS, 2 * PRICE, 3 * DEAREST)
    ] == [*(0, 0, 0, 1, 1, 1, 2, 3)]


def test_a_search_without_an_end_claims_nothing() -> None:
    numbers = range(9)
    domain = Domain("vault", types=["key", "door"])
    domain.action(
        "unlock",
        {"key": "key", "door": "door"},
        requires=["have(key)", "shut(door)"],
        provides=["open(door)", "not shut(door)", "not have(key)"],
    )
    domain.action("lock", {"door": "door"}, requires=["open(door)"], provides=["shut(door)", "not open(door)"])
    domain.action("enter", requires=["(forall (?d - door) (open ?d))"], provides=["inside"])
    problem = domain.problem(
        objects={f"key{n}": "key" for n in numbers} | {f"door{n}": "door" for n in numbers},
        initial=["have(key0)", "have(key1)", *[f"shut(door{n})" for n in numbers]],
        goal=["inside"],
    )
    diagnosis = explained(problem, seconds=3)
    assert diagnosis.solvable is not True
    if diagnosis.change is not None:
        assert validate(diagnosis.change.problem, diagnosis.change.plan).valid
        assert diagnosis.change.at_least <= 7 <= len(diagnosis.change.assumptions)


@pytest.mark.parametrize(
    ("at_least", "solvable", "words"),
    [
        (0, None, "Whether fewer would do apart from the goal itself, or none at all, is not known"),
        (1, False, "At least 1 would be needed apart from the goal itself; 2 is the best found (the time limit ended"),
        (2, False, "No smaller change does apart from the goal itself.\n"),
    ],
)
def test_what_is_not_proved_is_not_said(at_least, solvable, words) -> None:
    change = explained(CASES["two goals, two gaps"].make()).change
    assert change is not None
    less = replace(change, at_least=at_least)
    assert less.proved_smallest is (at_least == 2)
    assert words in Diagnosis("errand", solvable, (), less, None, StoppedBy.TIME).describe()


def test_the_data_are_ready_for_json() -> None:
    data = json.loads(json.dumps(explained(in_office("sent(p)")).to_dict()))
    assert data["missing"] == [
        {
            "fact": "present(boss)",
            "cause": "static",
            "needed_by": ["approve(boss, p)", "send(p)", "the goal sent(p)"],
        }
    ]
    assert data["change"]["assumptions"] == [{"fact": "present(boss)", "holds": True, "instead_of": []}]
    assert data["change"]["proved_smallest"] is True
    assert [link["lacks"] for link in data["unreachable"][0]["links"]] == [["approved(p)"], ["present(boss)"], []]


def test_demands_that_clash_are_named() -> None:
    trip = Domain("trip")
    trip.action("fly", {}, provides=["there"], uses={"money": 200})
    trip.action("ride", {}, provides=["there"], uses={"money": 50})
    problem = trip.problem(goal=["there"], constraints=[forbidden("ride")], budgets={"money": 100})
    found = explain_unsolvable(problem, Limits(10))
    assert found.solvable is False
    text = "They cannot hold together: goal there; constraint never done ride; money at most 100."
    assert text in found.describe()
    assert found.to_dict()["conflicts"][0]["smallest"] is True


def test_a_budget_on_the_cost_is_a_demand_and_changes_of_facts_keep_it() -> None:
    shop = Domain("shop")
    shop.action("order", {"thing": "object"}, provides=["have(thing)"], cost=1, uses={"money": 5})
    shop.action("fetch", {"thing": "object"}, provides=["have(thing)"], cost=4, uses={"money": 2})
    problem = shop.problem(
        objects={"cake": "object", "chairs": "object"},
        goal=["have(cake)", "have(chairs)"],
        budgets={"cost": 4, "money": 6},
    )
    found = explain_unsolvable(problem, Limits(10))
    assert found.solvable is False
    (conflict,) = found.conflicts
    assert len(conflict.demands) == 4
    assert found.change is not None
    assert found.change.uses_goal
    assert len(found.change.assumptions) == 1
    assert validate(found.change.problem, found.change.plan).valid


@pytest.mark.parametrize(
    ("limits", "assumed", "cost"),
    [
        ({"budgets": {"cost": 8}}, "rail(a, c)", 2),
        ({"budgets": {"money": 1}}, "road(a, c)", 5),
        ({"deadline": 65}, "rail(a, c)", 2),
        ({"budgets": {"cost": 8}, "constraints": [sometime("at(b)")]}, "rail(b, c)", 7),
        ({"deadline": 5}, "at(c)", 0),
    ],
)
def test_changes_keep_the_limits(limits: dict[str, Any], assumed: str, cost: int) -> None:
    trip = Domain("trip", types=["place"])
    legs = {"parameters": {"a": "place", "b": "place"}, "provides": ["at(b)"], "modifies": ["at(_)"]}
    trip.action("walk", requires=["at(a)", "road(a, b)"], cost=5, duration=50, uses={"money": 1}, **legs)
    trip.action("ride", requires=["at(a)", "rail(a, b)"], cost=2, duration=10, uses={"money": 4}, **legs)
    initial = ["at(a)", "road(a, b)", "road(b, c)"]
    objects = dict.fromkeys("abc", "place")
    found = explain_unsolvable(trip.problem(objects=objects, initial=initial, goal="at(c)", **limits), Limits(10))
    assert found.solvable is False
    assert found.change is not None
    assert found.change.proved_smallest
    assert [str(each.literal) for each in found.change.assumptions] == [assumed]
    assert found.change.plan.cost == cost
    assert validate(found.change.problem, found.change.plan).valid


HOPELESS = """
domain: ring
types: [c]
predicates: {on: [c], nx: [c, c]}
actions:
  flip: {parameters: {a: c, b: c}, requires: ["on(a)", "nx(a,b)", "not on(b)"], provides: ["on(b)", "not on(a)"]}
---
problem: x
domain: ring
objects: {a0: c, a1: c, a2: c, a3: c}
initial: ["on(a0)", "nx(a0,a1)", "nx(a1,a2)", "nx(a2,a3)", "nx(a3,a0)"]
goal: ["on(a1)", "on(a2)"]
"""


def test_a_limit_that_cut_an_explanation_short_is_said(tmp_path):
    (tmp_path / "d.yaml").write_text(HOPELESS)
    problem = load(tmp_path / "d.yaml")
    found = explain_unsolvable(problem, Limits(0.0))
    assert (found.solvable, found.stopped_by) == (None, StoppedBy.TIME)
    assert "the time limit ended the search" in str(found)
    proved = found.as_unsolvable()
    assert proved.solvable is False
    assert str(proved).startswith("x has no plan.")
    whole = explain_unsolvable(problem, Limits(20))
    assert whole.solvable is False
    assert whole.as_unsolvable() == whole


def test_what_is_modified_in_place_does_not_end():
    domain = Domain("sink", types=["plate"])
    domain.action("wash", {"x": "plate"}, requires=["dirty(x)"], provides=["washed(x)"], modifies=["dirty(x)"])
    problem = domain.problem(objects={"p": "plate"}, initial=["dirty(p)"], goal=["not dirty(p)"])
    diagnosis = explain_unsolvable(problem, Limits(time_limit=10))
    assert [each.cause for each in diagnosis.missing] == [Cause.IN_PLACE]
