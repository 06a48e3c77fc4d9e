"""Plans found before are taken again for the same problem under other names, adapted for similar ones, and lifted."""

from __future__ import annotations

import contextlib
import os
import random
import sqlite3
import subprocess
import sys

import pytest
from effort import share

from benchmarks.random_problems import random_problem
from planner import Domain, Problem, Status, load, solve, validate
from planner.errors import InputError
from planner.lightweight import replace
from planner.model import Atom, Object
from planner.plan import StoppedBy
from planner.reuse.plan_cache import PlanCache
from planner.reuse.problem_shapes import shape_of
from planner.reuse.templates import lift


def courier(rooms: int, names: str = "room", goal: int = 0) -> Problem:
    domain = Domain("courier")
    domain.type("robot")
    domain.type("room")
    domain.action(
        "move",
        {"robot": "robot", "origin": "room", "target": "room"},
        requires=["at(robot, origin)", "door(origin, target)"],
        provides=["at(robot, target)"],
        modifies=["at(robot, _)"],
    )
    objects = {"r2": "robot", **{f"{names}{number}": "room" for number in range(rooms)}}
    doors = [f"door({names}{a}, {names}{a + 1})" for a in range(rooms - 1)]
    return domain.problem(
        objects=objects, initial=[f"at(r2, {names}0)", *doors], goal=[f"at(r2, {names}{goal or rooms - 1})"]
    )


def renamed(problem: Problem, seed: int) -> Problem:
    """Return `problem` with other names for its objects, in another order."""
    names = [each.name for each in problem.objects]
    other = [f"x{number}" for number in range(len(names))]
    random.Random(seed).shuffle(other)
    new = dict(zip(names, other, strict=True))
    from planner.model.formulas import substitute

    objects = [Object(new[each.name], each.types) for each in problem.objects]
    random.Random(seed + 1).shuffle(objects)
    initial = [atom.substitute(new) for atom in problem.initial]
    random.Random(seed + 2).shuffle(initial)
    goal = replace(problem.goal, hard=substitute(problem.goal.hard, new))
    values = {term.substitute(new): number for term, number in problem.values.items()}
    return replace(problem, objects=tuple(objects), initial=tuple(initial), goal=goal, values=values)


def test_the_same_problem_under_other_names_is_not_searched_again() -> None:
    cache = PlanCache()
    first = cache.solve(courier(5))
    again = cache.solve(courier(5, "hall"))
    assert (cache.savings.hits, cache.savings.misses) == (1, 1)
    assert again.status is first.status is Status.OPTIMAL
    assert again.cost == first.cost == 4
    assert validate(again.plan.problem, again.plan).valid
    assert [step.arguments[2] for step in again.plan.steps] == ["hall1", "hall2", "hall3", "hall4"]


def test_problems_that_differ_are_told_apart() -> None:
    cache = PlanCache()
    assert cache.solve(courier(5)).cost == 4
    assert cache.solve(courier(5, goal=3)).cost == 3
    assert cache.solve(courier(6)).cost == 5
    assert cache.savings.hits == 0


def test_shapes_of_random_problems_keep_under_renaming_and_their_plans_with_them() -> None:
    kept = hits = 0
    for seed in share(range(120), 4):
        problem = random_problem(seed)
        other = renamed(problem, seed)
        mine, theirs = shape_of(problem), shape_of(other)
        kept += mine.text == theirs.text
        cache = PlanCache()
        result = cache.solve(problem, time_limit=5)
        again = cache.solve(other, time_limit=5)
        assert again.status is result.status
        assert again.cost == result.cost
        if again.plan is not None:
            assert validate(other, again.plan).valid
        hits += cache.savings.hits
    assert kept >= 27
    assert hits >= 5


def test_a_similar_problem_s_plan_is_adapted_where_any_plan_will_do() -> None:
    cache = PlanCache()
    cache.solve(courier(5), mode="first")
    result = cache.solve(courier(7, goal=4), mode="first")
    assert (cache.savings.adapted, cache.savings.misses) == (1, 1)
    assert result.status is Status.SOLVED
    assert validate(result.plan.problem, result.plan).valid


def test_what_is_not_proved_is_no_answer_to_who_wants_the_proof() -> None:
    cache = PlanCache()
    cache.solve(courier(5), mode="first")
    result = cache.solve(courier(5))
    assert result.status is Status.OPTIMAL
    assert cache.solve(courier(5, "hall")).status is Status.OPTIMAL
    assert cache.savings.hits == 1


def test_a_cache_is_kept_in_a_file_and_is_no_longer_than_it_may_be(tmp_path) -> None:
    path = tmp_path / "plans.db"
    cache = PlanCache(path, capacity=2)
    for rooms in (3, 4, 5):
        cache.solve(courier(rooms))
    again = PlanCache(path, capacity=2)
    assert len(again) == 2
    again.solve(courier(5, "hall"))
    again.solve(courier(3, "hall"))
    assert (again.savings.hits, again.savings.misses) == (1, 1)


def test_a_file_that_is_no_cache_is_refused(tmp_path) -> None:
    text, other = tmp_path / "plans.db", tmp_path / "other.db"
    text.write_text("no database " * 100)
    with contextlib.closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE mine(x)")
    for path in (text, other, tmp_path):
        with pytest.raises(InputError, match="no cache of plans"):
            PlanCache(path)
    with pytest.raises(InputError, match=r"there is no folder .*missing; make it"):
        PlanCache(tmp_path / "missing" / "plans.db")
    with pytest.raises(InputError, match="room for 1 or more"):
        PlanCache(capacity=0)


def test_a_cache_that_cannot_be_used_keeps_nobody_from_planning(tmp_path) -> None:
    cache = PlanCache(tmp_path / "plans.db")
    cache.solve(courier(4))
    cache.close()
    assert cache.solve(courier(4)).status is Status.OPTIMAL
    assert cache.savings.misses == 2
    assert len(cache) == 0


def test_entries_that_mean_nothing_are_misses(tmp_path) -> None:
    path = tmp_path / "plans.db"
    cache = PlanCache(path)
    cache.solve(courier(4))
    for data in ("", "[]", "{}", '{"steps": 7}'):
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("UPDATE kept SET data = ?", (data,))
        assert cache.solve(courier(4)).cost == 3
    assert cache.savings.hits == 0


def test_two_caches_of_one_file_know_what_each_other_found(tmp_path) -> None:
    one, other = PlanCache(tmp_path / "plans.db"), PlanCache(tmp_path / "plans.db")
    one.solve(courier(4))
    other.solve(courier(4, "hall"))
    assert other.savings.to_dict() == {"hits": 1, "adapted": 0, "misses": 0, "seconds": other.savings.seconds}


def test_shapes_do_not_depend_on_the_process() -> None:
    code = "import planner, planner.reuse.problem_shapes as c; print(c.shape_of(planner.load('assistant')).key)"
    run = [sys.executable, "-c", code]
    keys = {
        subprocess.run(
            run, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    }
    assert keys == {f"{shape_of(load('assistant')).key}\n"}


def test_what_python_functions_say_is_not_proved_for_others() -> None:
    def office(names: list[str]) -> Problem:
        domain = Domain("office", types=["room"])
        domain.action(
            "move",
            {"origin": "room", "target": "room"},
            requires=["at(origin)", "door(origin, target)"],
            provides=["at(target)"],
            modifies=["at(_)"],
            cost=lambda target: 9 if target == "wet" else 1,
        )
        doors = [f"door({a}, {b})" for a in names[:-1] for b in names[1:]]
        return domain.problem(
            objects=dict.fromkeys(names, "room"), initial=[f"at({names[0]})", *doors], goal=[f"at({names[-1]})"]
        )

    cache = PlanCache()
    assert cache.solve(office(["a", "b", "c"])).status is Status.OPTIMAL
    wet = cache.solve(office(["a", "b", "wet"]))
    assert (wet.status, wet.lower_bound) == (Status.OPTIMAL, 9)
    assert cache.savings.hits == 0
    first = cache.solve(office(["a", "b", "c"]), mode="first")
    assert (first.status, first.lower_bound, cache.savings.hits) == (Status.SOLVED, None, 1)


def test_an_unproved_plan_is_taken_where_search_had_as_much_time(monkeypatch) -> None:
    def slow(problem, **options):
        found = solve(problem, **options)
        return replace(found, status=Status.SOLVED, stopped_by=StoppedBy.TIME, lower_bound=2)

    clock = iter(range(0, 10_000, 5))
    monkeypatch.setattr("planner.reuse.plan_cache.solve", slow)
    monkeypatch.setattr("planner.reuse.plan_cache.read_clock", lambda: next(clock))
    cache = PlanCache()
    cache.solve(courier(5), time_limit=5)
    found = cache.solve(courier(5, "hall"), time_limit=5)
    assert (found.status, found.cost, found.lower_bound) == (Status.SOLVED, 4, 2)
    assert found.statistics.search == "cache"
    cache.solve(courier(5), time_limit=60)
    assert (cache.savings.hits, cache.savings.misses) == (1, 2)


def test_an_unproved_plan_is_taken_where_search_had_ended_by_itself() -> None:
    problem = load("outing", "afternoon")
    cache = PlanCache()
    first, again = cache.solve(problem, time_limit=5), cache.solve(problem, time_limit=5)
    assert (first.status, first.stopped_by) == (again.status, again.stopped_by) == (Status.SOLVED, StoppedBy.INCOMPLETE)
    assert (again.net_benefit, again.lower_bound) == (first.net_benefit, first.lower_bound)
    assert cache.savings.hits == 1


def test_plans_that_suppose_something_are_searched_each_time() -> None:
    domain = Domain("d")
    domain.action("go", {}, requires=["open"], provides=["in"])
    problem = domain.problem(unknown=["open"], goal=["in"])
    cache = PlanCache()
    assert [cache.solve(problem).status for _ in range(2)] == [solve(problem).status] * 2
    assert len(cache) == 0


def test_a_template_fits_other_objects_and_more_facts() -> None:
    template = lift(solve(courier(4)).expect_plan(), "three-doors")
    assert {each.name for each in template.parameters} == {"?r2", "?room0", "?room1", "?room2", "?room3"}
    assert Atom("at", ("?r2", "?room0")) in template.requires.parts
    problem = courier(6, "hall", goal=3)
    plan = template.plan_for(problem)
    assert [step.arguments for step in plan.steps] == [("r2", f"hall{a}", f"hall{a + 1}") for a in range(3)]
    assert validate(problem, plan).valid
    assert template.plan_for(courier(6, "hall", goal=5)) is None


@pytest.mark.parametrize("name", ["assistant", "secretary", "runbook", "helpdesk", "courier", "tools"])
def test_templates_of_shipped_domains_fit_their_own_problems(name) -> None:
    problem = load(name)
    plan = solve(problem).expect_plan()
    found = lift(plan)
    assert found.plan_for(problem).cost == plan.cost
    assert found.plan_for(renamed(problem, 5)).cost == plan.cost


def test_where_more_than_facts_is_needed_a_template_needs_what_its_steps_read() -> None:
    problem = load("assistant", "one-page")
    found = lift(solve(problem).expect_plan(), "memo")
    assert Atom("covers", ("?survey", "?heating")) in found.requires.parts
    plan = found.plan_for(load("assistant", "one-page"))
    assert validate(problem, plan).valid
    assert found.plan_for(load("assistant", "with-chart")) is None


def test_what_does_not_work_is_not_lifted() -> None:
    plan = solve(courier(4)).expect_plan()
    with pytest.raises(InputError, match="cannot be lifted"):
        lift(replace(plan, steps=plan.steps[1:]))


def test_a_template_has_nothing_to_do_where_the_goal_holds() -> None:
    found = lift(solve(courier(3)).expect_plan())
    problem = courier(3)
    assert found.plan_for(replace(problem, initial=(Atom("at", ("r2", "room2")), *problem.initial[1:]))) is None


def test_plans_that_create_objects_are_found_again() -> None:
    problem = load("helpdesk")
    cache = PlanCache()
    first = cache.solve(problem, time_limit=5)
    again = cache.solve(renamed(problem, 3), time_limit=5)
    assert (cache.savings.hits, again.status, again.cost) == (1, first.status, first.cost)
    assert lift(first.expect_plan()).plan_for(renamed(problem, 4)) is not None
