"""Constraints on the way: what a solved plan does, what the plan checker says, and where else they hold."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from htn import problem_kind
from htn.language.declare import Methods
from planner import (
    Domain,
    Plan,
    Status,
    Step,
    always,
    before,
    explain_unsolvable,
    makespan,
    mend,
    never,
    partial_order,
    patch,
    solve,
    undo,
    validate,
)
from planner.compilations.lifted_relevance import remove_irrelevant_actions
from planner.compilations.passes import compile_away
from planner.grounding.ground import ground
from planner.limits import Limits
from planner.model import Atom, Constraint, ConstraintKind, Done, Not, Or
from planner.model.constructs import CONSTRAINED
from planner.repair.undoing import Written
from planner.testing import steps_from

ALWAYS, SOMETIME, AT_MOST, BEFORE, NEVER_AFTER = ConstraintKind
ROOMS = [f"r{number}" for number in range(4)]


def office():
    domain = Domain("office")
    domain.type("robot")
    domain.type("room")
    domain.action(
        "move",
        parameters={"robot": "robot", "origin": "room", "target": "room"},
        requires=["at(robot, origin)", "origin != target"],
        provides=["at(robot, target)"],
        modifies=["at(robot, _)"],
    )
    domain.action(
        "clean", parameters={"robot": "robot", "room": "room"}, requires="at(robot, room)", provides="neat(room)"
    )
    domain.action("ring", provides="rang")
    return domain


def problem(*constraints, goal="neat(r3)", initial=("at(rob, r0)",)):
    made = office().problem(objects={"rob": "robot", **dict.fromkeys(ROOMS, "room")}, initial=initial, goal=goal)
    return replace(made, constraints=constraints)


def at(room):
    return Atom("at", ("rob", room))


def neat(room):
    return Atom("neat", (room,))


def done(name, *args):
    return Done(Atom(name, args))


THERE, CLEAN = "move(rob, r0, r3)", "clean(rob, r3)"
KEPT = [
    (Constraint(ALWAYS, Or((at("r0"), at("r3")))), [THERE, CLEAN]),
    (Constraint(SOMETIME, at("r2")), ["move(rob, r0, r2)", "move(rob, r2, r3)", CLEAN]),
    (Constraint(SOMETIME, done("ring")), ["ring()", THERE, CLEAN]),
    (Constraint(BEFORE, at("r1"), neat("r3")), ["move(rob, r0, r1)", "move(rob, r1, r3)", CLEAN]),
    (Constraint(BEFORE, Atom("rang"), at("r3")), ["ring()", THERE, CLEAN]),
    (Constraint(BEFORE, done("clean", "rob", "_"), neat("r3")), [THERE, CLEAN]),
    (Constraint(BEFORE, done("ring"), done("clean", "_", "r3")), ["ring()", THERE, CLEAN]),
    (Constraint(AT_MOST, done("move", "_", "_", "_"), times=1), [THERE, CLEAN]),
    (Constraint(AT_MOST, done("move", "_", "r0", "r3"), times=0), ["move(rob, r0, r1)", "move(rob, r1, r3)", CLEAN]),
    (Constraint(NEVER_AFTER, at("r0"), Not(at("r0"))), [THERE, CLEAN]),
]


@pytest.mark.parametrize(("constraint", "steps"), KEPT, ids=str)
def test_a_constraint_makes_the_cheapest_plan_another(constraint, steps):
    made = problem(constraint)
    result = solve(made)
    assert (result.status, result.cost) == (Status.OPTIMAL, len(steps))
    assert validate(made, steps_from("\n".join(steps))).valid
    assert validate(made, result.expect_plan()).valid


IMPOSSIBLE = [
    (Constraint(ALWAYS, at("r3")), "nothing can keep this constraint: always at(rob, r3)"),
    (Constraint(ALWAYS, Not(at("r3"))), "nothing makes this part of the goal true: neat(r3)"),
    (Constraint(AT_MOST, done("clean", "_", "r3"), times=0), "nothing makes this part of the goal true: neat(r3)"),
    (Constraint(AT_MOST, at("r0"), times=0), "nothing can keep this constraint: never at(rob, r0)"),
    (Constraint(BEFORE, done("ring"), at("r0")), "nothing can keep this constraint: done ring before at(rob, r0)"),
]


@pytest.mark.parametrize(("constraint", "reason"), IMPOSSIBLE, ids=str)
def test_what_no_plan_can_keep_is_named(constraint, reason):
    result = solve(problem(constraint))
    told = [reason, f"{reason}; cannot hold together: goal neat(r3); constraint {constraint}"]
    assert (result.status, result.reason) == (Status.UNSOLVABLE, told["goal" in reason])


def test_which_constraints_cannot_be_kept_together_is_said():
    constraints = Constraint(BEFORE, neat("r3"), at("r1")), Constraint(BEFORE, at("r1"), neat("r3"))
    for goal in ("neat(r3)", {"hard": "neat(r3)", "soft": {"rang": 2}}):
        made = problem(*constraints, goal=goal)
        result = solve(made)
        assert result.status is Status.UNSOLVABLE
        together = "goal neat(r3); constraint neat(r3) before at(rob, r1); constraint at(rob, r1) before neat(r3)"
        assert result.reason == f"cannot hold together: {together}"
        assert "cannot hold together" in str(explain_unsolvable(made, Limits(10)))


@pytest.mark.parametrize("times", [3, 8, 9, 500, 10**30])
@pytest.mark.parametrize("utility", [None, 1])
def test_large_numbers_of_times_are_no_trouble(times, utility):
    constraints = [Constraint(AT_MOST, what, times=times, utility=utility) for what in (done("move"), at("r1"))]
    result = solve(problem(*constraints, goal="neat(r3)"))
    assert (result.status, result.cost, result.forgone) == (Status.OPTIMAL, 2, ())


BROKEN = [
    (Constraint(ALWAYS, Not(at("r2"))), "move(rob, r0, r2)", 1),
    (Constraint(AT_MOST, done("ring"), times=1), "ring()\nmove(rob, r0, r3)\nring()", 3),
    (Constraint(AT_MOST, at("r0"), times=1), "move(rob, r0, r1)\nmove(rob, r1, r0)", 2),
    (Constraint(BEFORE, Atom("rang"), at("r3")), "move(rob, r0, r3)\nring()", 1),
    (Constraint(NEVER_AFTER, done("ring"), at("r3")), "move(rob, r0, r3)\nring()", 2),
    (Constraint(NEVER_AFTER, at("r3"), Atom("rang")), "move(rob, r0, r3)\nring()\nclean(rob, r3)", 3),
]


@pytest.mark.parametrize(("constraint", "steps", "number"), BROKEN, ids=str)
def test_the_step_that_breaks_a_constraint_is_named(constraint, steps, number):
    taken = steps_from(steps)
    verdict = validate(problem(constraint, goal=()), taken)
    assert (verdict.valid, verdict.failing_step, verdict.constraint) == (False, number, constraint)
    assert verdict.reason == f"step {number} {taken[number - 1]} breaks the constraint '{constraint}'"
    assert verdict.to_dict()["constraint"] == str(constraint)


def test_what_is_broken_at_first_and_what_is_not_met_at_the_end_have_no_step():
    first = validate(problem(Constraint(ALWAYS, at("r1"))), [])
    assert (first.failing_step, first.reason) == (
        None,
        "the initial state breaks the constraint 'always at(rob, r1)'",
    )
    last = validate(problem(Constraint(SOMETIME, at("r1")), goal=()), [])
    assert (last.failing_step, last.reason) == (None, "at the end, the constraint 'sometime at(rob, r1)' is not met")


def test_wishes_that_a_valid_plan_does_without_are_listed():
    wish = Constraint(SOMETIME, at("r1"), utility=3)
    verdict = validate(problem(wish), steps_from(f"{THERE}\n{CLEAN}"))
    assert (verdict.valid, verdict.forgone) == (True, (wish,))
    assert str(verdict) == "valid, cost 2\nwithout sometime at(rob, r1) (worth 3)"


def test_what_only_a_constraint_asks_for_is_relevant():
    free, bound = problem(), problem(Constraint(SOMETIME, done("ring")))
    assert "ring" not in remove_irrelevant_actions(free).domain.actions
    assert "ring" in remove_irrelevant_actions(bound).domain.actions


def test_constraints_on_steps_need_no_conditional_effects():
    constraints = [
        Constraint(SOMETIME, done("ring")),
        Constraint(AT_MOST, done("move", "rob", "_", "r1"), times=1),
        Constraint(BEFORE, done("ring"), done("clean", "_", "r3")),
        Constraint(NEVER_AFTER, done("ring"), done("move", "_", "r0", "_")),
    ]
    task = ground(problem(*constraints), Limits())
    assert not task.has_conditional_effects
    assert not task.has_axioms
    steps = [(action.step.action, action.step.arguments) for action in task.actions]
    assert len(steps) == len(set(steps))


def test_a_problem_without_constraints_is_returned_as_it_is():
    made = problem()
    assert compile_away(made, *CONSTRAINED) is made


def test_repairs_keep_constraints():
    made = problem(Constraint(NEVER_AFTER, at("r2"), Atom("rang")), initial=("at(rob, r1)", "rang"))
    through = steps_from("move(rob, r1, r2)\nmove(rob, r2, r3)\nclean(rob, r3)")
    patched = patch(made, through)
    assert [str(step) for step in patched.steps] == ["move(rob, r1, r3)", "clean(rob, r3)"]
    mended = mend(made, through)
    assert validate(made, mended.steps).valid
    assert mended.left_out == (0, 1)


def test_undoing_does_not_do_what_must_never_be_done():
    made = problem(Constraint(AT_MOST, done("move", "_", "r3", "r0"), times=0), initial=("at(rob, r3)",))
    written = [Written(Atom("at", ("rob", "_")), "s1")]
    steps = [str(each.step) for each in undo(made, [at("r0")], written).steps]
    assert (len(steps), steps[-1].endswith("r0)")) == (2, True)


def test_plans_keep_constraints_in_whatever_order_their_steps_are_taken():
    steps = steps_from("ring()\nmove(rob, r0, r3)\nclean(rob, r3)")
    free, counted = problem(), problem(Constraint(AT_MOST, done("ring"), times=1))
    assert [(1, 2) in partial_order(each, Plan(steps, each)).edges for each in (free, counted)] == [False, False]
    for constraint in (Constraint(BEFORE, done("ring"), at("r3")), Constraint(BEFORE, Atom("rang"), done("move"))):
        bound = problem(constraint)
        plan = Plan(steps, bound)
        assert partial_order(bound, plan).edges[1, 2]["reason"] == "item"


def test_what_takes_its_turn_takes_its_time():
    made = problem(Constraint(BEFORE, done("ring"), done("move")))
    lasting = {name: replace(each, duration=Decimal(3)) for name, each in made.domain.actions.items()}
    made = replace(made, domain=replace(made.domain, actions=lasting))
    steps = steps_from("ring()\nmove(rob, r0, r3)\nclean(rob, r3)")
    assert makespan(Plan(steps, made)) == 9
    assert makespan(Plan(steps, replace(made, constraints=()))) == 6
    for deadline, in_time in ((9, True), (8, False)):
        assert validate(replace(made, deadline=deadline), steps).valid is in_time


def test_what_a_wish_needs_is_not_undone_by_another_order():
    made = problem(goal={"hard": "neat(r3)", "soft": {"at(rob, r0)": 9}})
    plan = solve(made).expect_plan()
    assert [str(step) for step in plan.steps] == [THERE, CLEAN, "move(rob, r3, r0)"]
    assert len(partial_order(made, plan).edges) == 2


def test_decompositions_keep_constraints():
    domain = office()
    how = Methods(domain)
    how.task("tidy", room="room")
    parameters = {"robot": "robot", "here": "room", "room": "room"}
    how.method(
        "straight",
        parameters,
        task="tidy(room)",
        requires=["at(robot, here)"],
        subtasks=["move(robot, here, room)", "clean(robot, room)"],
    )
    how.method(
        "ringing",
        parameters,
        task="tidy(room)",
        requires=["at(robot, here)"],
        subtasks=["ring", "move(robot, here, room)", "clean(robot, room)"],
    )
    objects = {"rob": "robot", **dict.fromkeys(ROOMS, "room")}
    made = how.problem(objects=objects, initial=["at(rob, r0)"], tasks=["tidy(r3)"])
    assert solve(made).cost == 2
    bound = replace(made, classical=replace(made.classical, constraints=(Constraint(BEFORE, Atom("rang"), at("r3")),)))
    result = solve(bound)
    assert (result.status, result.cost) == (Status.OPTIMAL, 3)
    assert problem_kind.validate(bound, result.expect_plan()).valid
    assert "breaks the constraint" in problem_kind.validate(bound, solve(made).expect_plan()).reason


def test_constraints_on_facts_declared_unknown_are_kept_on_suppositions() -> None:
    domain = Domain("u")
    domain.action("smash", {}, provides=["in_"], cost=5)
    domain.action("open", {}, requires=["unlocked"], provides=["in_"], cost=50)
    domain.derive("free", {}, "unlocked")
    for constraint, supposed in (
        (never("unlocked"), ["not unlocked"]),
        (always("free"), ["unlocked"]),
        (before("unlocked", "in_"), ["unlocked"]),
    ):
        problem = domain.problem(goal=["in_"], unknown=["unlocked"], constraints=[constraint])
        result = solve(problem)
        assert [step.action for step in result.expect_plan().steps] == ["smash"]
        assert [each.literal for each in result.plan.suppositions] == supposed
        verdict = validate(problem, [Step("smash")])
        assert [each.literal for each in verdict.suppositions] == supposed
    wished = domain.problem(goal=["in_"], unknown=["unlocked"], constraints=[never("unlocked", utility=3)])
    assert solve(wished).expect_plan().charge in (5, 8)
    free = domain.problem(goal=["in_"], unknown=["unlocked"], constraints=[never(done("open"))])
    assert [step.action for step in solve(free).expect_plan().steps] == ["smash"]
