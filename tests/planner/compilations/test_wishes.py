"""Soft goals and soft constraints: which plan is best, what it forgoes, and how that is said."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from htn import problem_kind
from htn.compilations.methods_from_actions import as_htn
from htn.language.declare import Methods
from planner import Domain, Status, at_most, done, improve, never, solve, sometime, validate
from planner.cli import Exit, main
from planner.compilations.soft_goals import compile_wishes
from planner.model import Metric
from planner.testing import steps_from
from planner.validation.validate import check_steps

ROOMS = [f"r{number}" for number in range(4)]


def office(**more):
    domain = Domain("office")
    domain.type("robot")
    domain.type("room")
    domain.action(
        "move",
        parameters={"robot": "robot", "origin": "room", "target": "room"},
        requires=["at(robot, origin)", "origin != target"],
        provides=["at(robot, target)"],
        modifies=["at(robot, _)"],
        cost=2,
    )
    domain.action(
        "clean", parameters={"robot": "robot", "room": "room"}, requires="at(robot, room)", provides="neat(room)"
    )
    objects = {"rob": "robot", **dict.fromkeys(ROOMS, "room")}
    return domain.problem(objects=objects, initial=["at(rob, r0)"], **more)


def wanting(soft, hard="neat(r3)", **more):
    return office(goal={"hard": hard, "soft": soft}, **more)


def test_a_wish_comes_true_where_it_is_worth_its_cost():
    problem = wanting({"neat(r1)": 4, "neat(r2)": 2})
    result = solve(problem)
    assert (result.status, result.cost, result.utility, result.net_benefit) == (Status.OPTIMAL, 6, 4, -2)
    assert [str(wish) for wish in result.forgone] == ["neat(r2)"]
    assert all(step.action in problem.domain.actions for step in result.expect_plan().steps)
    assert validate(problem, result.expect_plan()).forgone == result.forgone


def test_all_wishes_may_be_forgone_and_all_may_come_true():
    nothing = solve(wanting({"neat(r1)": 1, "neat(r2)": 1}))
    assert (nothing.cost, nothing.utility, len(nothing.forgone)) == (3, 0, 2)
    everything = solve(wanting({"neat(r1)": 9, "neat(r2)": "9.5"}))
    assert (everything.cost, everything.net_benefit, everything.forgone) == (9, 9.5, ())


def test_a_soft_constraint_is_kept_where_that_is_worth_it():
    for utility, cost in ((1, 3), (3, 5)):
        problem = office(goal="neat(r3)", constraints=[sometime("at(rob, r2)", utility=utility)])
        result = solve(problem)
        assert (result.status, result.cost, bool(result.forgone)) == (Status.OPTIMAL, cost, utility == 1)


def test_wishes_and_constraints_go_together():
    constraints = [never("at(rob, r0)", utility=7), at_most(2, done("move")), never("at(rob, r1)")]
    problem = wanting({"neat(r1)": 99, "neat(r2)": 5, "at(rob, r0)": 3}, constraints=constraints)
    result = solve(problem)
    assert (result.status, result.cost, result.utility) == (Status.OPTIMAL, 6, 5)
    assert [str(wish) for wish in result.forgone] == ["neat(r1)", "at(rob, r0)", "never at(rob, r0)"]


def test_where_length_counts_utilities_are_steps():
    result = solve(replace(wanting({"neat(r1)": "1.5", "neat(r2)": "2.5"}), metric=Metric.LENGTH))
    assert (result.cost, result.utility) == (4, 2.5)


def test_a_budget_on_the_cost_is_for_steps_alone():
    problem = wanting({"neat(r1)": 50, "neat(r2)": 40}, budgets={"cost": 6})
    result = solve(problem)
    assert (result.status, result.cost, result.utility) == (Status.OPTIMAL, 6, 50)
    short = solve(replace(problem, budgets={"cost": 2}))
    assert short.status is Status.UNSOLVABLE
    assert "@" not in short.reason
    assert "cost" in short.reason


def test_results_say_what_they_forgo():
    result = solve(wanting({"neat(r1)": 4, "neat(r2)": 2}))
    words = "net benefit -2 (at most -2): utility 4, cost 6; without neat(r2) (worth 2)"
    assert words in result.describe()
    data = result.to_dict()
    assert (data["utility"], data["net_benefit"], data["cost"], data["lower_bound"]) == (4, -2, 6, 8)
    assert data["forgone"] == [{"wish": "neat(r2)", "utility": 2}]
    assert "utility" not in solve(office(goal="neat(r3)")).to_dict()


@pytest.mark.parametrize("wish", ["(forall (?r - room) (neat ?r))", "(exists (?r - room) (and (neat ?r) (at rob ?r)))"])
def test_wishes_may_be_any_condition(wish):
    result = solve(wanting({wish: 20}))
    assert (result.status, result.forgone) == (Status.OPTIMAL, ())


def test_hard_goals_that_cannot_be_are_named_as_without_wishes():
    wishing = solve(wanting({"neat(r1)": 4}, hard="(and (at rob r1) (at rob r2))"))
    assert wishing.status is Status.UNSOLVABLE
    broken = solve(wanting({"neat(r1)": 4}, constraints=[never("at(rob, r0)")]))
    assert broken.reason == "nothing can keep this constraint: never at(rob, r0)"


def test_better_plans_gain_more_as_they_come():
    async def benefits():
        problem = wanting({"neat(r1)": 40, "neat(r2)": 20})
        return [result.net_benefit async for result in improve(problem) if result.has_plan]

    found = asyncio.run(benefits())
    assert found == sorted(found)
    assert found[-1] == 60 - 9


def test_what_is_created_counts():
    domain = Domain("desk", types=["ticket"])
    domain.action("create", provides="open(t)", creates={"t": "ticket"}, cost=2)
    domain.action("close", {"t": "ticket"}, requires="open(t)", provides=["not open(t)", "closed(t)"])
    soft = {"(exists (?t - ticket) (closed ?t))": 9, "(exists (?t - ticket) (open ?t))": 1}
    problem = domain.problem(goal={"hard": (), "soft": soft})
    result = solve(problem)
    assert (result.status, result.cost, result.net_benefit) == (Status.OPTIMAL, 3, 6)
    assert result.forgone == problem.goal.soft[1:]


def test_what_unknown_facts_decide_is_wished_for_too():
    domain = Domain("mail", types=["box"])
    domain.action("look", {"b": "box"}, senses="full(b)")
    domain.action("fetch", {"b": "box"}, requires="full(b)", provides=["got(b)"])
    problem = domain.problem(objects={"a": "box"}, unknown="full(_)", goal={"hard": (), "soft": {"got(a)": 5}})
    result = solve(problem)
    assert (result.utility, result.forgone) == (5, ())


@pytest.mark.parametrize("search", [None, "depth-first", "greedy", "weighted", "astar"])
def test_decompositions_take_wishes(search):
    problem = as_htn(wanting({"neat(r1)": 4, "neat(r2)": 2}, constraints=[sometime("at(rob, r2)", utility=1)]))
    result = solve(problem, search=search)
    verdict = problem_kind.validate(problem, result.expect_plan())
    assert (verdict.valid, verdict.forgone) == (True, result.forgone)
    assert all(node.task.predicate[0] != "@" for node in result.plan.tree.nodes)
    if search in (None, "astar"):
        assert (result.status, result.cost, result.net_benefit) == (Status.OPTIMAL, 6, -2)
        assert [str(wish) for wish in result.forgone] == ["neat(r2)", "sometime at(rob, r2)"]


def test_decompositions_gain_more_as_they_come():
    seen = []
    problem = as_htn(wanting({"neat(r1)": 40, "neat(r2)": 20}))
    solve(problem, on_progress=lambda progress: seen.append(progress.plan))
    charges = [plan.charge for plan in seen if plan is not None]
    assert charges == sorted(charges, reverse=True)
    assert charges[-1] == 9


def test_what_tasks_create_counts():
    domain = Domain("desk", types=["ticket"])
    domain.action("create", provides="open(t)", creates={"t": "ticket"}, cost=2)
    how = Methods(domain)
    how.task("ask")
    how.method("loudly", {"t": "ticket"}, task="ask", subtasks=["create(t)"])
    how.method("not-at-all", task="ask", subtasks=[])
    soft = {"(exists (?t - ticket) (open ?t))": 9}
    result = solve(how.problem(tasks=["ask"], goal={"hard": (), "soft": soft}))
    assert (result.status, result.cost, result.net_benefit) == (Status.OPTIMAL, 2, 7)
    assert (result.forgone, len(result.plan.tree.nodes)) == ((), 2)


WORKSHOP = """
domain: rounds
types: {room: object}
actions:
  move: {parameters: {a: room, b: room}, requires: ["at(a)"], provides: ["at(b)"], modifies: ["at(_)"], cost: 2}
---
problem: home
domain: rounds
objects: {hall: room, lab: room}
initial: ["at(hall)"]
goal: []
"""


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("rounds.yaml").write_text(WORKSHOP, encoding="utf-8")

    def call(*words):
        with pytest.raises(SystemExit) as ended:
            main(["solve", "rounds.yaml", *words])
        return ended.value.code, *capsys.readouterr()

    return call


def test_the_command_takes_wishes_and_says_what_is_forgone(run):
    code, out, err = run("--soft", "at(lab)=5", "--soft", "(and (at hall) (not (at lab)))=2.5")
    assert code is Exit.OK
    assert out.startswith("(move hall lab)")
    assert "proved optimal: net benefit 3, utility 5, cost 2, 1 step" in err
    assert "without at(hall) and not at(lab) (worth 2.5)" in err
    _, out, _ = run("--soft", "at(lab)=1", "--json")
    data = json.loads(out)
    assert (data["net_benefit"], data["forgone"]) == (0, [{"wish": "at(lab)", "utility": 1}])


TASKS = """
domain: rounds
actions:
  ring: {provides: [rang], cost: 2}
tasks: {visit: {}}
methods:
  quietly: {task: visit, subtasks: []}
  loudly: {task: visit, subtasks: [ring]}
---
problem: home
domain: rounds
tasks: [visit]
"""


def test_the_command_takes_wishes_for_tasks(run):
    Path("rounds.yaml").write_text(TASKS, encoding="utf-8")
    code, out, err = run("--soft", "rang=5")
    assert code is Exit.OK
    assert "loudly" in out
    assert "@" not in out
    assert "net benefit 3" in err
    assert "without rang (worth 1)" in run("--soft", "rang=1")[2]


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ("at(lab)", "is no wish, such as 'at(r2, lab)=5'"),
        ("at(lab)=much", "is not a number"),
        ("at(lab)=0", "it must be above 0"),
        ("at(cellar)=3", "cellar"),
        ("in(lab)=3", "in"),
    ],
)
def test_wishes_that_make_no_sense_are_refused_with_the_reason(run, wish, message):
    code, _, err = run("--soft", wish)
    assert code is Exit.USAGE
    assert message in err
    assert "Traceback" not in err


def test_special_steps_come_last_and_settle_each_wish():
    problem = wanting({"neat(r1)": 4})
    compiled = compile_wishes(problem).problem
    assert not compiled.wishes
    taken = steps_from("move(rob, r0, r3)\nclean(rob, r3)\n@end()\n@forgo-0()")
    assert check_steps(compiled, taken).cost == 7
    assert not check_steps(compiled, [*taken[:2], *taken[3:]]).valid
