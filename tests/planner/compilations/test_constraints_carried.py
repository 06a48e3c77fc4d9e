"""What problems say besides their goal goes wherever they go, or is refused by name."""

from __future__ import annotations

import pytest

from executor.plan_check.check_plan import check_plan
from executor.plans.action_plan import ActionPlan, statement_of
from htn import problem_kind
from htn.compilations.methods_from_actions import as_htn
from htn.language.hddl.hddl_writer import write
from planner import (
    Domain,
    Problem,
    UnsupportedError,
    always,
    before,
    compile_object_creation,
    done,
    for_steps,
    forbidden,
    never,
    sometime,
)
from planner.language.pddl.export import export
from planner.model import Atom
from planner.plan import Step
from planner.unified_planning.conversion import to_unified_planning


def walks() -> Domain:
    domain = Domain("walks", types=["room"])
    walk = {"requires": "at(a)", "provides": "at(b)", "modifies": "at(_)", "uses": {"shoes": 2}}
    domain.action("walk", {"a": "room", "b": "room"}, duration=3, senses="dirty(b)", **walk)
    return domain


def walking(**more: object) -> Problem:
    return walks().problem(objects={"x": "room", "y": "room"}, initial="at(x)", **{"goal": "at(y)", **more})


EVERYTHING = {
    "unknown": "dirty(_)",
    "likely": {"dirty(y)": "0.3"},
    "constraints": [
        always("not dirty(x)"),
        before("at(x)", done("walk(_, y)"), utility="2.5"),
        sometime("(exists (?r - room) (and (at ?r) (not (dirty ?r))))", utility=3),
    ],
    "budgets": {"cost": 7, "shoes": "4.5"},
    "deadline": "9.5",
}
ONE_EACH = [
    ({"goal": {"hard": "at(y)", "soft": {"at(x)": 2}}}, "soft goals|wishes"),
    ({"unknown": "dirty(_)"}, "unknown"),
    ({"constraints": never("dirty(y)", utility=2)}, "constraints|wishes"),
    ({"budgets": {"shoes": 3}}, "budget"),
]
# Passes compile these away for a language that cannot say them.
COMPILED_AWAY = {
    "unified-planning": {"soft goals|wishes", "constraints|wishes", "budget"},
    "unified-planning-htn": {"budget"},
}


def hddl(problem: Problem) -> object:
    return write(as_htn(problem))


TARGETS = {
    "pddl": lambda problem: (found := export(problem)).domain + found.problem,
    "strips": lambda problem: (found := export(problem, "strips")).domain + found.problem,
    "hddl": hddl,
    "unified-planning": lambda problem: str(to_unified_planning(problem).problem),
    "unified-planning-htn": lambda problem: str(problem_kind.to_unified_planning(as_htn(problem)).problem),
}


@pytest.mark.parametrize(("more", "construct"), ONE_EACH)
@pytest.mark.parametrize("target", TARGETS)
def test_what_other_languages_cannot_say_is_refused_or_compiled_away(target, more, construct) -> None:
    without = TARGETS[target](walking())
    if construct in COMPILED_AWAY.get(target, ()):
        assert TARGETS[target](walking(**more)) != without
    else:
        with pytest.raises(UnsupportedError, match=construct):
            TARGETS[target](walking(**more))


@pytest.mark.parametrize("target", ["pddl", "hddl", "unified-planning"])
def test_deadlines_are_said_where_actions_may_last(target) -> None:
    assert TARGETS[target](walking(deadline=3)) != TARGETS[target](walking())


@pytest.mark.parametrize("target", ["strips", "unified-planning-htn"])
def test_deadlines_are_refused_elsewhere(target) -> None:
    with pytest.raises(UnsupportedError, match=r"deadline|time in STRIPS"):
        TARGETS[target](walking(deadline=3))


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_hard_constraints_are_refused_or_compiled_away(target) -> None:
    problem = walking(constraints=never(done("walk(x, _)")))
    if target is hddl:
        with pytest.raises(UnsupportedError, match="constraints"):
            target(problem)
    else:
        assert target(problem) != target(walking())


def test_plans_as_data_state_it_all() -> None:
    problem = walking(**EVERYTHING)
    plan = ActionPlan(**statement_of(problem))
    assert plan.problem(walks().model) == problem
    assert ActionPlan.model_validate_json(plan.model_dump_json()).problem(walks().model) == problem
    assert ActionPlan.model_validate(plan.model_dump(mode="json")) == plan


def test_all_that_is_wrong_with_it_in_a_plan_is_told() -> None:
    found = check_plan(
        ActionPlan(
            objects={"x": "room"},
            initial=("at(x)",),
            goal="at(x)",
            unknown=("dirty(_)",),
            likely={"dirty(x)": "0.5", "at(x)": "0.5"},
            constraints=[{"never": "dirty(x)"}, {"forbidden": "run"}, {"never": "dirty(y)"}, {}],
            budgets={"cost": 1, "gold": 2},
            deadline=0,
        ),
        walks().model,
    )
    said = {each.path: each.message for each in found}
    assert said[("likely", "at(x)")].startswith("at(x) is said to be likely, but is not declared unknown")
    assert "no action 'run'" in said[("constraints", 1)]
    assert "'y' in dirty(y) is no object" in said[("constraints", 2)]
    assert "a constraint says nothing" in said[("constraints", 3)]
    assert "a budget of 'gold'" in said[("budgets", "gold")]
    assert "the deadline is 0" in said[("deadline",)]
    assert ("constraints", 0) not in said


def tickets(*constraints: object) -> Problem:
    domain = Domain("tickets", types=["person", "ticket"])
    domain.action(
        "open", {"p": "person"}, provides="of(t, p)", creates={"t": "ticket"}, uses={"paper": lambda p: 1 + len(p)}
    )
    return domain.problem(objects={"ann": "person"}, constraints=constraints)


def test_constraints_speak_of_what_exists_and_of_steps_that_create() -> None:
    problem = tickets(always("(forall (?t - ticket) (of ?t ann))"), forbidden("open(ann)"), sometime(done("open")))
    for expanded in (compile_object_creation(problem, 2).problem, for_steps(problem, [Step("open", ("ann", "t1"))])):
        every, not_for_ann, once = expanded.constraints
        assert str(every.what) == "for all ?t - ticket: (existing(?t) implies of(?t, ann))"
        assert not_for_ann.steps == (Atom("open", ("ann", "_")),)
        assert once.steps == (Atom("open", ("_", "_")),)
        assert expanded.domain.actions["open"].uses["paper"][0].value(("ann", "new-ticket-1")) == 4
