"""Actions that create objects: exact outcomes, placeholders, and plans in every form."""

from __future__ import annotations

import asyncio
import json
from decimal import Decimal
from pathlib import Path

import pytest
from brute_force import brute_force

from htn.compilations.methods_from_actions import as_htn
from planner import (
    Domain,
    Entity,
    InputError,
    Status,
    StoppedBy,
    UnsupportedError,
    When,
    causal_links,
    check_domain,
    check_problem,
    compile_object_creation,
    created_by,
    declared_arguments,
    explain_plan,
    explain_unsolvable,
    for_steps,
    improve,
    read_documents,
    solve,
    validate,
    write_yaml,
)
from planner.cli import main
from planner.language.pddl.export import export
from planner.lightweight import replace
from planner.limits import Limits
from planner.model import Atom, Object, Problem
from planner.plan import Plan, Step
from planner.testing import plan, steps_from

DESK = """\
domain: desk
types: {person: object, ticket: object, bug: ticket}
predicates: {approved: [ticket], licensed: [person]}
actions:
  create:
    parameters: {p: person}
    requires: ["free(p)"]
    provides: ["open(t)", "by(t, p)"]
    creates: {t: ticket}
  report:
    parameters: {p: person}
    provides: ["open(b)", "reported(b)", "not free(p)"]
    creates: {b: bug}
    cost: 2
  split:
    parameters: {t: ticket}
    requires: ["open(t)"]
    provides: ["not open(t)", "open(one)", "open(two)", "pair(one, two)"]
    creates: {one: ticket, two: ticket}
    cost: 3
  configure: {parameters: {t: ticket}, requires: ["open(t)"], provides: ["configured(t)"]}
  greet: {parameters: {t: ticket}, provides: ["greeted(t)"]}
  approve: {parameters: {t: ticket, p: person}, requires: ["licensed(p)"], provides: ["approved(t)"]}
---
problem: one
domain: desk
objects: {alice: person, bob: person, old: ticket}
initial: ["free(alice)"]
goal: GOAL
"""


def desk(*goal: str):
    """Return the problem with this goal, read from YAML."""
    return read_documents(DESK.replace("GOAL", json.dumps(list(goal)))).problems[0]


def entered(*words: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    assert isinstance(ended.value.code, int)
    return ended.value.code


CONFIGURED = "(exists (?t - ticket) (and (configured ?t) (by ?t alice)))"
TWO = "(exists (?t ?u - ticket) (and (by ?t alice) (by ?u alice) (not (= ?t ?u)) (configured ?t) (greeted ?u)))"
OUTCOMES = [
    ("greeted(old)", Status.OPTIMAL, 1),
    (CONFIGURED, Status.OPTIMAL, 2),
    (TWO, Status.OPTIMAL, 4),
    ("(exists (?b - bug) (configured ?b))", Status.OPTIMAL, 3),
    ("(exists (?b - bug) (by ?b alice))", Status.UNSOLVABLE, None),
    ("(exists (?t ?u - ticket) (and (pair ?t ?u) (greeted ?u) (by ?t alice)))", Status.UNKNOWN, None),
    ("(exists (?t ?u - ticket) (and (pair ?t ?u) (greeted ?u)))", Status.OPTIMAL, 5),
    ("(exists (?t ?u - ticket) (and (pair ?t ?u) (not (open ?u))))", Status.OPTIMAL, 7),
    ("(forall (?t - ticket) (greeted ?t))", Status.OPTIMAL, 1),
    ("(exists (?t - ticket) (not (greeted ?t)))", Status.OPTIMAL, 0),
    ("(exists (?t ?u - ticket) (not (= ?t ?u)))", Status.OPTIMAL, 1),
    ("(exists (?t - ticket) (and (or (by ?t alice) (not (= ?t old))) (not (greeted ?t))))", Status.OPTIMAL, 1),
    ("(exists (?t - ticket) (approved ?t))", Status.UNSOLVABLE, None),
    ("(and (exists (?t - ticket) (by ?t alice)) (forall (?t - ticket) (open ?t)))", Status.UNSOLVABLE, None),
]


@pytest.mark.parametrize(("goal", "status", "cost"), OUTCOMES)
def test_outcomes(goal, status, cost):
    result = solve(desk(goal), time_limit=60 if status is not Status.UNKNOWN else 0.3)
    assert (result.status, result.cost) == (status, cost), result.describe()
    if cost is not None:
        assert result.lower_bound == cost
        assert validate(desk(goal), result.plan).valid
    if status is Status.UNSOLVABLE:
        assert result.stopped_by is StoppedBy.EXHAUSTED


def test_what_only_creation_would_give_is_unsolvable_where_it_is_limited():
    forms = Domain("forms", types=["form", "ticket"])
    used_up = ["not blank(f)", "open(t)"]
    forms.action("fill", {"f": "form"}, requires=["blank(f)"], provides=used_up, creates={"t": "ticket"})
    different = "(not (= ?a ?b)) (not (= ?a ?c)) (not (= ?b ?c))"
    goal = f"(exists (?a ?b ?c - ticket) (and (open ?a) (open ?b) (open ?c) {different}))"
    objects = {"one": "form", "two": "form", "three": "form"}
    enough = forms.problem(objects=objects, initial=["blank(one)", "blank(two)", "blank(three)"], goal=goal)
    assert solve(enough).cost == 3
    too_few = forms.problem(objects=objects, initial=["blank(one)", "blank(two)"], goal=goal)
    result = solve(too_few)
    assert result.status is Status.UNSOLVABLE
    assert solve(compile_object_creation(enough, 2).problem).status is Status.UNSOLVABLE


def test_what_creates_two_at_once_needs_two_placeholders_that_are_left():
    forms = Domain("forms", types=["ticket"])
    forms.action("open_one", requires=["blank"], provides=["not blank", "open(t)"], creates={"t": "ticket"})
    pair = {"one": "ticket", "two": "ticket"}
    forms.action("split", {"t": "ticket"}, requires=["open(t)"], provides=["pair(one, two)"], creates=pair)
    problem = forms.problem(initial=["blank"], goal="(exists (?t ?u - ticket) (pair ?t ?u))")
    assert solve(compile_object_creation(problem, 2).problem).status is Status.UNSOLVABLE
    assert solve(problem).cost == 2


def test_the_relaxation_bounds_the_cost_whatever_the_number_of_objects():
    shop = Domain("shop", types=["token"])
    shop.action("mint", provides=["minted(t)"], creates={"t": "token"}, cost=0)
    shop.action("pay", {"t": "token"}, requires=["minted(t)"], provides=["paid"], cost=Decimal("1.5"))
    result = solve(shop.problem(goal=["paid"]))
    assert (result.status, result.cost, result.lower_bound) == (Status.OPTIMAL, Decimal("1.5"), Decimal("1.5"))


@pytest.mark.usefixtures("counted_clock")
def test_a_plan_is_not_called_optimal_where_more_objects_might_be_cheaper():
    """Nothing bounds how many objects that cost nothing a cheaper plan creates."""
    shop = Domain("shop", types=["token"])
    shop.action("mint", provides=["minted(t)"], creates={"t": "token"}, cost=0)
    for bill in "ab":
        paid = [f"paid_{bill}", "not rested"]
        shop.action(f"pay_{bill}", {"t": "token"}, requires=["minted(t)", "rested"], provides=paid)
    shop.action("rest", provides=["rested"])
    problem = shop.problem(initial=["rested"], goal=["paid_a", "paid_b"])
    result = solve(problem, time_limit=10)
    assert (result.status, result.cost, result.lower_bound) == (Status.SOLVED, 3, 2)
    assert (solve(compile_object_creation(problem, 5).problem).status) is Status.OPTIMAL


def test_bounds_are_those_of_more_objects_too():
    result = solve(desk(TWO), mode="first")
    assert result.stopped_by in (StoppedBy.FIRST_PLAN, StoppedBy.EXHAUSTED)
    assert result.lower_bound <= 4 <= result.cost
    assert solve(desk(TWO), mode="optimal").status is Status.OPTIMAL
    assert solve(desk(TWO), search="astar", heuristic="hmax").status is Status.OPTIMAL
    assert solve(desk(TWO), search="greedy", heuristic="hff").has_plan


def test_progress_only_gets_better():
    seen = []
    result = solve(desk(TWO), on_progress=seen.append)
    costs = [each.plan.cost for each in seen if each.plan is not None]
    bounds = [each.lower_bound for each in seen if each.lower_bound is not None]
    assert costs == sorted(costs, reverse=True)
    assert bounds == sorted(bounds)
    assert max(bounds, default=0) <= result.cost
    assert all(each.plan is None or each.plan.problem == desk(TWO) for each in seen)


async def every(problem):
    return [each async for each in improve(problem)]


def test_improve_ends_with_the_proof():
    found = asyncio.run(every(desk(CONFIGURED)))
    assert found[-1].status is Status.OPTIMAL
    assert found[-1].cost == 2


def test_placeholders_are_named_beside_what_there_is():
    names = [each.name for each in compile_object_creation(desk(TWO), 2).problem.objects]
    assert names == ["alice", "bob", "old", "new-ticket-1", "new-ticket-2", "new-bug-1", "new-bug-2"]
    taken = desk().domain, (Object("New-Ticket-1", ("ticket",)),)
    names = [each.name for each in compile_object_creation(Problem("two", *taken), {"ticket": 1}).problem.objects]
    assert names == ["New-Ticket-1", "new-ticket-2"]
    with pytest.raises(InputError, match="-1 placeholders"):
        compile_object_creation(desk(TWO), -1)


def test_what_creates_nothing_stays_as_it_is():
    plain = Domain("plain")
    plain.action("go", provides=["gone"])
    problem = plain.problem(goal=["gone"])
    assert compile_object_creation(problem, 3).problem is problem
    assert for_steps(problem, [Step("go")]) is problem


def test_expanded_problems_are_plain_ones():
    expanded = compile_object_creation(desk(TWO), 2).problem
    text = write_yaml(expanded)
    assert "creates" not in text
    assert read_documents(text).problems[0] == expanded
    assert brute_force(expanded) == 4


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ("create(alice, x)\nconfigure(x)", ""),
        ("create(alice, new-ticket-7)\nconfigure(new-ticket-7)", ""),
        ("create(alice, b)\ncreate(alice, a)\nconfigure(a)", ""),
        (
            "configure(x)\ncreate(alice, x)",
            "step 1 configure(x): requires open(x), which is false in the initial state",
        ),
        ("greet(x)\ncreate(alice, x)", "step 1 greet(x): requires existing(x), which is false in the initial state"),
        ("create(alice, x)\ncreate(alice, x)", "requires unborn-ticket(x), which was retracted by step 1"),
        ("create(alice, old)", "requires unborn-ticket(old), which is false"),
        ("create(alice, bob)", "its argument 'bob' is of type person, but ?t wants ticket"),
        ("create(alice)", "takes 2 arguments, not 1"),
        ("create(alice, x)\nconfigure(y)", "no object is called 'y'"),
        ("create(alice, ?x)", "no object is called '?x'"),
        ("create(alice, _)", "no object is called '_'"),
        ("report(alice, x)\ncreate(alice, x)", "requires free(alice)"),
        ("split(old, a, a)", "requires open(old)"),
        ("create(alice, x)\nsplit(x, a, a)", "requires a != a"),
    ],
)
def test_plans_are_checked_with_whatever_names_they_give(steps, reason):
    verdict = validate(desk(CONFIGURED), steps_from(steps))
    assert verdict.valid is not bool(reason)
    assert reason in verdict.reason


def test_the_way_back():
    problem = desk(CONFIGURED)
    split = Step("split", ("x", "a", "b"))
    assert created_by(problem, split) == {"one": "a", "two": "b"}
    assert created_by(problem.domain, Step("create", ("alice", "x"))) == {"t": "x"}
    assert created_by(problem, Step("create", ("alice",))) == {}
    assert created_by(problem, Step("greet", ("old",))) == {}
    assert declared_arguments(problem, split) == ("x",)
    assert declared_arguments(problem.domain, Step("greet", ("old",))) == ("old",)
    with pytest.raises(InputError, match="no action 'fly'"):
        created_by(problem, Step("fly"))


def test_spare_placeholders_are_for_steps_that_may_come():
    problem = desk(TWO)
    steps = steps_from("create(alice, new-ticket-1)")
    names = [each.name for each in for_steps(problem, steps, spare=2).objects]
    assert names == ["alice", "bob", "old", "new-ticket-1", "new-ticket-2", "new-ticket-3", "new-bug-1", "new-bug-2"]
    assert solve(for_steps(problem, steps, spare=1)).cost == 4


def test_what_was_done_before_counts_for_those_that_come_after():
    desk = Domain("desk", types=["ticket"])
    desk.action("open_one", provides=["open(t)"], creates={"t": "ticket"})
    desk.action("close", {"t": "ticket"}, requires=["open(t)"], provides=["closed"], after=["open_one"])
    objects, initial = {"old": "ticket"}, ["open(old)"]
    problem = desk.problem(objects=objects, initial=initial, goal="closed")
    assert solve(problem).cost == 2
    ran = replace(problem, ran=(Atom("open_one"),))
    result = solve(ran)
    assert result.cost == 1
    assert causal_links(ran, result.plan)


def test_costs_of_python_know_the_declared_parameters():
    class Size(Entity): ...

    class Box(Entity): ...

    works = Domain("works")
    works.action(
        "make", {"s": Size}, provides=["made(b)"], creates={"b": Box}, cost=lambda s: {"big": 3, "small": 2}[s]
    )
    problem = works.problem(objects=[Size("big"), Size("small")], goal="(exists (?b - Box) (made ?b))")
    result = solve(problem)
    assert str(result.plan) == "1. make(small, new-box-1)"
    assert result.cost == 2
    assert validate(problem, result.plan).valid


@pytest.mark.usefixtures("counted_clock")
def test_effects_on_everything_leave_out_what_the_step_creates_and_what_comes_later():
    desk = Domain("desk", types=["ticket"])
    seen = When(requires=[], provides=["seen(x)"], variables={"x": "ticket"})
    desk.action("create", provides=["open(t)"], creates={"t": "ticket"}, when=[seen])
    objects = {"old": "ticket"}
    everything = desk.problem(objects=objects, goal=["seen(old)", "(forall (?t - ticket) (seen ?t))"])
    assert solve(everything, time_limit=0.3).status is not Status.OPTIMAL
    first = desk.problem(objects=objects, goal="(exists (?t - ticket) (and (open ?t) (seen ?t)))")
    assert solve(first).cost == 2


def test_derived_facts_are_of_what_exists():
    desk = Domain("desk", types=["ticket"])
    desk.action("create", provides=["open(t)"], creates={"t": "ticket"})
    desk.derive("idle(t)", {"t": "ticket"}, "not busy(t)")
    desk.action("work", {"t": "ticket"}, requires=["open(t)"], provides=["busy(t)"])
    problem = desk.problem(goal="(exists (?t - ticket) (idle ?t))")
    assert solve(problem).cost == 1


def test_a_goal_cannot_name_what_is_created():
    with pytest.raises(InputError) as caught:
        desk("configured(t)")
    assert "'t' in configured(t) is created by an action, and no object of the problem" in str(caught.value)
    assert "(exists (?t - ticket) …)" in str(caught.value)


def test_a_variable_of_an_effect_does_not_hide_what_is_created():
    desk = Domain("desk", types=["ticket"])
    hidden = When(requires=["open(t)"], provides=["seen(t)"], variables={"t": "ticket"})
    with pytest.raises(InputError, match="the variable 't' of When hides another"):
        desk.action("create", provides=["open(t)"], creates={"t": "ticket"}, when=[hidden])


def test_plans_by_hand():
    built = plan(desk(CONFIGURED)).step("create", "alice", "it").holds("open(it)").step("configure", "it").end()
    assert built.cost == 2
    with pytest.raises(AssertionError, match="requires unborn-ticket"):
        plan(desk(CONFIGURED)).step("create", "alice", "it").step("create", "alice", "it")


def test_why_each_step_is_there():
    problem = desk(CONFIGURED)
    steps = steps_from("create(alice, b)\ncreate(alice, a)\ngreet(a)\nconfigure(a)")
    explained = explain_plan(problem, Plan(steps, problem))
    assert explained.redundant == (1, 3)
    assert explained.leaner.problem is problem
    assert "2. create(alice, a)\n   provides by(a, alice), needed by the goal" in str(explained)


def test_why_there_is_no_plan():
    found = explain_unsolvable(desk("(exists (?t - ticket) (and (by ?t alice) (approved ?t)))"), Limits(20))
    assert found.solvable is False
    assert [str(each) for each in found.change.assumptions] in (["licensed(alice)"], ["licensed(bob)"])
    assert found.change.proved_smallest
    assert explain_unsolvable(desk(CONFIGURED), Limits(20)).solvable


def test_lint_knows_that_tickets_may_come_to_be():
    problem = desk(TWO)
    assert {each.rule for each in check_problem(problem)} == {"never-required", "never-provided", "useless-action"}
    unreachable = check_problem(desk("(exists (?t - ticket) (approved ?t))"))
    assert "unreachable-goal" in {each.rule for each in unreachable}
    lost = Domain("lost", types=["ticket"])
    lost.action("create", provides=["done"], creates={"t": "ticket"})
    (finding,) = [each for each in check_domain(lost.model) if each.rule == "unused-creation"]
    assert "it creates 't', of which no effect says anything" in str(finding)
    assert not [each for each in check_domain(problem.domain) if each.rule == "unused-creation"]


def test_pddl_has_placeholders_as_objects():
    problem = desk(TWO)
    with pytest.raises(UnsupportedError, match=r"created objects \(in create\), in PDDL"):
        export(problem)
    written = export(compile_object_creation(problem, 2).problem)
    back = written.read_plan("(create alice new-ticket-1)\n(create alice new-ticket-2)\n")
    assert validate(problem, back.steps).unmet
    assert not validate(problem, back.steps).failing_step


def test_hierarchies_take_placeholders_or_make_them():
    problem = desk(CONFIGURED)
    result = solve(as_htn(problem))
    assert result.status is Status.OPTIMAL
    assert validate(problem, result.plan.steps).valid
    solved = solve(as_htn(compile_object_creation(problem, 1).problem), mode="first", time_limit=20)
    assert validate(problem, solved.plan.steps).valid


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    source, text, data = tmp_path / "desk.yaml", tmp_path / "plan.txt", tmp_path / "plan.json"
    source.write_text(DESK.replace("GOAL", json.dumps([CONFIGURED])), encoding="utf-8")
    assert entered("solve", source, "--quiet") == 0
    text.write_text(capsys.readouterr().out, encoding="utf-8")
    assert text.read_text() == "(create alice new-ticket-1)\n(configure new-ticket-1)\n; cost = 2\n"
    assert entered("solve", source, "--quiet", "--json") == 0
    data.write_text(capsys.readouterr().out, encoding="utf-8")
    for plan_file in (text, data):
        assert entered("validate", source, "one", plan_file) == 0
        assert entered("explain", source, "one", plan_file) == 0
        assert "provides open(new-ticket-1), needed by 2. configure(new-ticket-1)" in capsys.readouterr().out
    text.write_text("(CREATE alice It)\n(configure IT)\n", encoding="utf-8")
    assert entered("validate", source, "one", text) == 0
    text.write_text("(create alice)\n", encoding="utf-8")
    assert entered("validate", source, "one", text) == 2
    assert "plan.txt:1:2: 'create' has 1 argument here, expected 2" in capsys.readouterr().err


def test_the_command_compiles(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    source, domain = tmp_path / "desk.yaml", tmp_path / "only.yaml"
    source.write_text(DESK.replace("GOAL", json.dumps([CONFIGURED])), encoding="utf-8")
    domain.write_text(DESK.partition("---")[0], encoding="utf-8")
    for language in ("pddl", "hddl"):
        assert entered("compile", source, "--to", language, "--placeholders", 2, "--out", tmp_path) == 0
        assert "up to 2 new objects of each type are written" in capsys.readouterr().err
        assert "new-ticket-2" in (tmp_path / f"problem.{language}").read_text()
        assert entered("compile", domain, "--to", language) == 2
        assert "name a problem" in capsys.readouterr().err
    assert entered("solve", tmp_path / "domain.pddl", tmp_path / "problem.pddl", "--quiet") == 0
    assert "; cost = 2" in capsys.readouterr().out
    assert entered("compile", source, "--to", "yaml") == 0
    assert "creates: {t: ticket}" in capsys.readouterr().out
    assert entered("compile", source, "--to", "pddl", "--placeholders", 0) == 2


def test_guards_stand_only_where_nothing_else_says_that_something_exists():
    expanded = compile_object_creation(desk(TWO), 1).problem.domain.actions
    assert expanded["greet"].requires == Atom("existing", ("?t",))
    assert "existing" not in str(expanded["configure"].requires)
    assert "existing" not in str(compile_object_creation(desk(TWO), 1).problem.goal)
