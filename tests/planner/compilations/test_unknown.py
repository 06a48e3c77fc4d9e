"""Plans for problems of which facts are unknown: what they look at, what they suppose, and what is said of that."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from brute_force import brute_force
from unknown_random import random_unknown

from planner import (
    Domain,
    Entity,
    Goal,
    Not,
    Plan,
    PlanError,
    SoftGoal,
    Status,
    Step,
    StoppedBy,
    When,
    at_most,
    causal_links,
    explain_plan,
    never,
    partial_order,
    patch,
    solve,
    validate,
)
from planner.language.declare.atom_syntax import parse_atom
from planner.model import COST, TRUE
from planner.model.unknown_facts import find_hidden_variables
from planner.plan import Supposition
from planner.testing import enumerate_worlds, steps_from


class Room(Entity):
    """A room."""


def house(*, look=1, detour=9, tags=()):
    """Return a domain in which doors may be locked, and can be looked at, and another way is known to be open."""
    domain = Domain("house")

    @domain.action(requires=["at(a)", "door(a, b)", "not locked(a, b)"], provides=["at(b)"], modifies=["at(_)"], cost=4)
    def go(a: Room, b: Room): ...

    @domain.action(requires=["at(a)", "path(a, b)"], provides=["at(b)"], modifies=["at(_)"], cost=detour)
    def walk(a: Room, b: Room): ...

    if look is not None:

        @domain.action(requires=["at(a)", "door(a, b)"], senses=["locked(a, b)"], tags=["read_only"], cost=look)
        def look_at(a: Room, b: Room): ...

    @domain.action(requires=["at(a)", "door(a, b)", "not locked(a, b)"], provides=["blown(a)"], tags=tags)
    def blow(a: Room, b: Room): ...

    return domain


def asked(domain, goal="at(lab)", *, unknown=("locked(_, _)",), likely=None, more=()):
    initial = ["at(hall)", "door(hall, lab)", *more]
    objects = {"hall": "Room", "lab": "Room"}
    return domain.problem(objects=objects, initial=initial, goal=[goal], unknown=unknown, likely=likely or {})


def texts(plan):
    return [str(step) for step in plan.steps]


def fact(text):
    return parse_atom(text)


LOCKED = fact("locked(hall, lab)")


@pytest.mark.parametrize(
    ("look", "detour", "likely", "steps", "seen"),
    [
        (1, 9, {}, ["look_at(hall, lab)", "go(hall, lab)"], 1),
        (3, 9, {}, ["go(hall, lab)"], None),
        (1, 9, {"locked(hall, lab)": "0.1"}, ["go(hall, lab)"], None),
        (None, 9, {}, ["go(hall, lab)"], None),
        (1, 9, {"locked(hall, lab)": "0.9"}, ["walk(hall, lab)"], None),
        (1, 5, {}, ["walk(hall, lab)"], None),
    ],
)
def test_a_plan_looks_where_that_is_cheaper_than_to_be_wrong(look, detour, likely, steps, seen) -> None:
    problem = asked(house(look=look, detour=detour), likely=likely, more=["path(hall, lab)"])
    result = solve(problem)
    assert (result.status, texts(result.plan)) == (Status.SOLVED, steps)
    supposed = () if steps == ["walk(hall, lab)"] else (Supposition(LOCKED, False, (len(steps),), seen=seen),)
    assert result.plan.suppositions == supposed == validate(problem, result.plan).suppositions
    assert result.lower_bound == 4


def test_what_a_plan_rests_on_is_said() -> None:
    result = solve(asked(house()))
    said = "not locked(hall, lab) (step 1 looks at it; step 2 rests on it)"
    assert result.reason == f"it supposes {said}"
    data = {"fact": "locked(hall, lab)", "holds": False, "steps": [2], "goal": False, "seen": 1}
    assert json.loads(json.dumps(result.to_dict()))["plan"]["suppositions"] == [data]
    assert str(validate(result.plan.problem, result.plan)) == f"valid, cost 5, if {said}"
    explained = explain_plan(result.plan.problem, result.plan)
    assert explained.describe().endswith(f"The plan supposes {said}.")
    assert explained.to_dict()["suppositions"] == [data]
    assert explained.leaner is None
    assert "1. look_at(hall, lab)\n   sees not locked(hall, lab), needed by 2. go(hall, lab)" in str(explained)


def test_a_goal_may_rest_on_what_is_unknown() -> None:
    result = solve(asked(house(), "not locked(lab, hall)"))
    assert result.plan.steps == ()
    assert result.reason == "it supposes not locked(lab, hall) (no step looks at it; the goal rests on it)"


def test_looks_come_before_what_rests_on_them() -> None:
    problem = asked(house())
    plan = solve(problem).plan
    assert (1, 2, Not(LOCKED)) in [
        (each.provider, each.consumer, each.condition) for each in causal_links(problem, plan)
    ]
    assert list(partial_order(problem, plan).edges) == [(1, 2)]
    assert causal_links(problem, Plan(plan.steps, problem)) == causal_links(problem, plan)
    with pytest.raises(PlanError):
        causal_links(problem, Plan((), problem))


def test_irreversible_steps_do_not_rest_on_what_could_be_looked_at() -> None:
    problem = asked(house(look=9, tags=["irreversible"]), "blown(hall)")
    result = solve(problem)
    assert texts(result.plan) == ["look_at(hall, lab)", "blow(hall, lab)"]
    verdict = validate(problem, steps_from("blow(hall, lab)"))
    assert (verdict.valid, verdict.failing_step) == (False, 1)
    assert verdict.reason.startswith("step 1 blow(hall, lab), which is irreversible, rests on locked(hall, lab), ")
    blind = asked(house(look=None, tags=["irreversible"]), "blown(hall)")
    assert texts(solve(blind).plan) == ["blow(hall, lab)"]


def test_what_no_unknown_fact_could_help_is_unsolvable() -> None:
    domain = house()
    barred = replace(asked(domain, "at(lab)"), initial=(fact("at(hall)"),))
    result = solve(barred)
    assert (result.status, result.stopped_by, result.plan) == (Status.UNSOLVABLE, StoppedBy.EXHAUSTED, None)
    assert result.reason == "no plan reaches the goal, however the unknown facts turn out"
    assert solve(replace(barred, unknown=())).status is Status.UNSOLVABLE


def test_unknown_facts_that_do_not_matter_change_nothing() -> None:
    domain = house()
    domain.predicate("dusty", Room)
    given = asked(domain, unknown=["dusty(_)"])
    result = solve(given)
    assert (result.status, texts(result.plan), result.plan.suppositions) == (Status.OPTIMAL, ["go(hall, lab)"], ())
    assert result.plan.problem is given


def test_a_plan_that_rests_on_nothing_unknown_may_be_proved_optimal() -> None:
    result = solve(asked(house(detour=3), more=["path(hall, lab)"]))
    assert (result.status, texts(result.plan), result.reason) == (Status.OPTIMAL, ["walk(hall, lab)"], "")


def test_budgets_limit_real_steps_and_no_prices() -> None:
    problem = asked(house(), more=["path(hall, lab)"])
    assert texts(solve(replace(problem, budgets={COST: 5})).plan) == ["look_at(hall, lab)", "go(hall, lab)"]
    assert texts(solve(replace(problem, budgets={COST: 4})).plan) == ["go(hall, lab)"]
    assert solve(replace(problem, budgets={COST: 3})).status is Status.UNSOLVABLE


def test_the_validator_supposes_what_a_plan_needs_and_says_where_none_will_do() -> None:
    problem = asked(house())
    verdict = validate(problem, steps_from("go(hall, lab)"))
    assert verdict.suppositions == (Supposition(LOCKED, False, (1,)),)
    late = validate(problem, steps_from("go(lab, hall)"))
    assert late.reason == "step 1 go(lab, hall): requires at(lab), which does not hold, whatever is unknown"
    assert (late.failing_step, late.condition) == (1, fact("at(lab)"))
    short = validate(problem, steps_from("look_at(hall, lab)"))
    assert short.reason == "at the end, the goal requires at(lab), which does not hold, whatever is unknown"
    assert short.unmet == (fact("at(lab)"),)
    assert not validate(problem, [Step("fly", ())]).valid


def test_what_effects_rest_on_is_supposed_where_it_counts() -> None:
    domain = Domain("lamp")
    domain.action("press", when=[When(requires=["wired"], provides=["lit"])])
    domain.action("read", requires=["lit"], provides=["done"])
    problem = domain.problem(goal=["done"], unknown=["wired"])
    plan = solve(problem).plan
    assert texts(plan) == ["press()", "read()"]
    assert plan.suppositions == (Supposition(fact("wired"), True, (1,)),)
    assert validate(problem, plan.steps).suppositions == plan.suppositions


def test_derived_facts_rest_on_what_they_are_derived_from() -> None:
    domain = Domain("net")
    domain.action("send", requires=["(or (wire) (radio))"], provides=["sent"])
    problem = domain.problem(goal=["sent"], unknown=["wire", "radio"], likely={"radio": 0.9})
    plan = solve(problem).plan
    assert plan.suppositions == (Supposition(fact("radio"), True, (1,)),)


def test_facts_of_one_item_exclude_each_other() -> None:
    domain = Domain("post")
    domain.type("room")
    domain.action("carry", {"a": "room", "b": "room"}, requires=["at(a)"], provides=["at(b)"], modifies=["at(_)"])
    objects = dict.fromkeys(["hall", "lab", "loft"], "room")
    problem = domain.problem(objects=objects, goal=["at(lab)", "not at(hall)"], unknown=["at(_)"])
    (item,) = find_hidden_variables(problem)
    assert (len(item.facts), item.chances, item.none) == (3, (Fraction(1, 3),) * 3, 0)
    plan = solve(problem).plan
    assert (plan.steps, plan.suppositions) == ((), (Supposition(fact("at(lab)"), True, goal=True),))
    likelier = replace(problem, likely={fact("at(hall)"): 1, fact("at(loft)"): 0})
    assert [chance for chance, _ in enumerate_worlds(likelier)] == [1]


def test_single_facts_of_an_item_may_all_be_false() -> None:
    domain = Domain("post")
    domain.type("room")
    domain.action("carry", {"a": "room", "b": "room"}, requires=["at(a)"], provides=["at(b)"], modifies=["at(_)"])
    problem = domain.problem(objects=dict.fromkeys(["hall", "lab"], "room"), goal=["at(lab)"], unknown=["at(hall)"])
    assert [(chance, len(world.initial)) for chance, world in enumerate_worlds(problem)] == [
        (Fraction(1, 2), 1),
        (Fraction(1, 2), 0),
    ]
    assert [brute_force(world) for _, world in enumerate_worlds(problem)] == [1, None]


def test_wishes_count_only_where_they_surely_come_true() -> None:
    problem = asked(house(), more=["path(hall, lab)"])
    for wish in (LOCKED, Not(LOCKED)):
        result = solve(replace(problem, goal=Goal(TRUE, (SoftGoal(wish, 20),))))
        holds = wish is LOCKED
        assert (result.status, result.utility, texts(result.plan)) == (Status.SOLVED, 20, ["look_at(hall, lab)"])
        assert result.plan.suppositions == (Supposition(LOCKED, holds, goal=True, seen=1),)
        silent = validate(result.plan.problem, result.plan.steps)
        assert (silent.valid, silent.forgone, silent.suppositions) == (True, result.plan.problem.goal.soft, ())
    cheap = solve(replace(problem, goal=Goal(TRUE, (SoftGoal(LOCKED, Decimal("0.5")),))))
    assert (cheap.utility, texts(cheap.plan)) == (0, [])


def test_constraints_on_what_is_unknown_are_kept_on_suppositions() -> None:
    domain = Domain("lamp")
    domain.action("press", when=[When(requires=["wired"], provides=["lit"])], provides=["done"])
    for fact_ in ("wired", "lit"):
        problem = domain.problem(goal=["done"], unknown=["wired"], constraints=[never(fact_)])
        result = solve(problem)
        assert [each.literal for each in result.expect_plan().suppositions] == ["not wired"]
        assert validate(problem, result.plan.steps).valid
    counted = domain.problem(goal=["done"], unknown=["wired"], constraints=[at_most(2, "lit", utility=3)])
    result = solve(counted)
    assert result.status is Status.UNSUPPORTED
    assert result.reason == "the soft constraint 'at most 2 times lit', which counts what may be unknown"


def test_nothing_is_unknown_of_what_does_not_exist_yet() -> None:
    domain = Domain("desk", types=["ticket"])
    domain.action("open", creates={"ticket": "ticket"}, provides=["there(ticket)"])
    domain.action("close", {"t": "ticket"}, requires=["there(t)", "not stuck(t)"], provides=["shut(t)"])
    domain.action("free", {"t": "ticket"}, senses=["stuck(t)"])
    goal = "(exists (?t - ticket) (shut ?t))"
    problem = domain.problem(objects={"old": "ticket"}, goal=[goal], unknown=["stuck(_)"])
    result = solve(problem)
    assert (result.status, texts(result.plan)[-1]) == (Status.OPTIMAL, "close(new-ticket-1)")
    kept = solve(replace(problem, goal=Goal(fact("shut(old)")), initial=(fact("there(old)"),)))
    assert [str(each.fact) for each in kept.plan.suppositions] == ["stuck(old)"]


def test_patches_suppose_what_is_still_unknown() -> None:
    problem = asked(house(), more=["path(hall, lab)"])
    rest = steps_from("go(hall, lab)")
    kept = patch(problem, rest)
    assert (kept.status, kept.new, kept.kept, texts(kept)) == (
        Status.SOLVED,
        1,
        1,
        ["look_at(hall, lab)", "go(hall, lab)"],
    )
    assert kept.suppositions == (Supposition(LOCKED, False, (2,), seen=1),)
    assert (kept.cost, kept.objective, kept.lower_bound) == (5, 5, None)
    assert kept.reason == f"it supposes {kept.suppositions[0]}"
    seen = patch(replace(problem, unknown=(), initial=(*problem.initial, LOCKED)), rest)
    assert (seen.status, texts(seen), seen.suppositions) == (Status.OPTIMAL, ["walk(hall, lab)"], ())


def test_patches_do_not_begin_with_what_is_not_to_come_first() -> None:
    problem = asked(house(), more=["path(hall, lab)"])
    banned = [*steps_from("look_at(hall, lab)"), *steps_from("go(hall, lab)")]
    assert texts(patch(problem, (), not_first=banned)) == ["walk(hall, lab)"]
    assert texts(patch(problem, (), forbidden=banned[:1])) == ["go(hall, lab)"]


def test_patches_go_on_from_what_is_at_work() -> None:
    problem = asked(house(), "blown(lab)", more=["door(lab, hall)"])
    found = patch(problem, (), fixed=steps_from("go(hall, lab)"))
    assert [str(each.fact) for each in found.suppositions] == ["locked(lab, hall)"]
    assert texts(found)[-1] == "blow(lab, hall)"


def test_there_is_no_patch_for_what_no_case_allows() -> None:
    found = patch(replace(asked(house()), initial=()), ())
    assert (found.status, found.steps) == (Status.UNSOLVABLE, None)
    assert found.reason == "no plan reaches the goal, however the unknown facts turn out"


@pytest.mark.parametrize("seed", [1874, 1893])
def test_effects_that_read_what_is_unknown_and_never_come_about_are_no_internal_error(seed):
    problem = random_unknown(seed)
    found = solve(problem, time_limit=10)
    if found.plan is None:
        assert "no irreversible step rests on what could be looked at before" in found.reason
    else:
        assert validate(problem, found.plan).valid
