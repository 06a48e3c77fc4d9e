"""Lint of constraints, budgets, deadlines, sensing and outcomes: each rule, and clean problems that break none."""

from __future__ import annotations

import pytest

from planner import (
    Domain,
    Outcome,
    Problem,
    always,
    at_most,
    before,
    check_domain,
    check_problem,
    done,
    forbidden,
    mandatory,
    never,
    never_after,
    sometime,
)


def walks(**more: object) -> Domain:
    domain = Domain("walks", types=["room", "cat"])
    walk = {"requires": ["at(a)", "door(a, b)"], "provides": "at(b)", "modifies": "at(_)"}
    domain.action("walk", {"a": "room", "b": "room"}, **{**walk, "duration": 2, **more})
    domain.action("leave", {"a": "room"}, requires=["at(a)", "exit(a)"], provides="left", duration=1)
    domain.action("feed", {"c": "cat"}, provides="fed(c)", requires="not fed(c)", duration=1)
    return domain


def walking(*constraints: object, domain: Domain | None = None, **more: object) -> Problem:
    fields = {"initial": ["at(x)", "door(x, y)"], "goal": "at(y)", "constraints": constraints, **more}
    return (domain or walks()).problem(objects={"x": "room", "y": "room", "z": "room"}, **fields)


def said(problem: Problem, about: str) -> list[str]:
    """Return what is said about the places that begin so."""
    found = [x for x in check_problem(problem) if x.place.startswith(about) and x.rule != "single-repair"]
    return [str(each).removeprefix(f"{each.level.name.lower()}: {each.place}: ") for each in found]


def levels(problem: Problem) -> list[str]:
    found = [each for each in check_problem(problem) if each.rule != "single-repair"]
    return [each.level.name for each in found if each.place.startswith("constraint")]


CONSTRAINTS = [
    (always("at(y)"), "it does not hold in the initial state [broken-constraint]"),
    (never("at(x)"), "it is so in the initial state already [broken-constraint]"),
    (before("at(y)", "at(x)"), "at(x) in the initial state already [broken-constraint]"),
    (sometime("at(z)"), "nothing can bring it about [unreachable-constraint]"),
    (sometime(["at(y)", "not at(y)"]), "nothing can bring it about [unreachable-constraint]"),
    (mandatory("leave(x)"), "nothing can bring it about [unreachable-constraint]"),
    (forbidden("leave"), "done leave(_) can never be: it asks for nothing [idle-constraint]"),
    (at_most(2, "at(z)"), "at(z) can never be: it asks for nothing [idle-constraint]"),
    (before("at(y)", done("leave")), "done leave(_) can never be: it asks for nothing [idle-constraint]"),
    (before("left", "at(y)"), "left can never be, so that at(y) may not, either [forbidding-constraint]"),
    (never_after("left", "at(y)"), "left can never be: it asks for nothing [idle-constraint]"),
    (never_after("at(y)", "left"), "left can never be: it asks for nothing [idle-constraint]"),
]


@pytest.mark.parametrize(("constraint", "message"), CONSTRAINTS)
def test_constraints_that_cannot_be_meant(constraint: object, message: str) -> None:
    assert said(walking(constraint), "constraint") == [message]


FINE = [
    always("(or (at x) (at y))"),
    sometime("at(y)"),
    mandatory("walk(x, _)"),
    forbidden("walk(y, x)"),
    at_most(0, "at(y)"),
    at_most(1, "at(x)"),
    before("at(x)", "at(y)"),
    never_after("at(x)", "at(y)"),
]


@pytest.mark.parametrize("constraint", FINE)
def test_constraints_that_may_be_meant(constraint: object) -> None:
    assert said(walking(constraint), "constraint") == []


def test_wishes_that_cannot_be_kept_are_no_errors() -> None:
    assert levels(walking(always("at(y)"), sometime("at(z)"))) == ["ERROR", "ERROR"]
    assert levels(walking(always("at(y)", utility=1), sometime("at(z)", utility=1))) == ["WARNING", "WARNING"]


def test_unknown_facts_may_hold() -> None:
    assert said(walking(sometime("left")), "constraint")
    assert not said(walking(sometime("left"), unknown="exit(_)"), "constraint")
    assert not said(walking(always("exit(x)"), unknown="exit(_)"), "constraint")
    assert said(walking(initial=["at(x)", "door(z, y)"]), "action walk")
    assert not said(walking(initial=["at(x)", "door(z, y)"], unknown="door(x, _)"), "action walk")
    assert said(walking(goal="at(z)"), "goal")
    assert not said(walking(goal="at(z)", unknown="door(y, z)"), "goal")


def test_other_outcomes_may_be_what_is_asked_for() -> None:
    outcomes = [
        Outcome(0.5, provides="at(b)", modifies="at(_)"),
        Outcome(0.5, provides="left", modifies="at(_)"),
    ]
    domain = walks(outcomes=outcomes)
    assert not said(walking(sometime("left"), domain=domain), "constraint")
    assert not said(walking(domain=domain, goal="left"), "goal")


def test_outcomes_that_are_alike_and_none_that_is_meant() -> None:
    outcomes = [Outcome(0.5, provides="left"), Outcome(0.25), Outcome(0.25, name="idle")]
    unintended, alike = [each for each in check_domain(walks(outcomes=outcomes).model) if each.place == "action walk"]
    assert (unintended.level.name, unintended.rule) == ("WARNING", "unintended-outcomes")
    assert unintended.message == "none of its outcomes is what it provides and modifies, which plans may count on"
    assert (alike.level.name, alike.rule) == ("HINT", "equal-outcomes")
    assert alike.message == "its outcomes 2 and 3 have the same effects"
    intended = [Outcome(0.5, provides="at(b)", modifies="at(_)"), Outcome(0.5)]
    assert not [each for each in check_domain(walks(outcomes=intended).model) if each.place == "action walk"]


def test_resources_that_are_left_out_of_the_budgets() -> None:
    domain = walks(uses={"money": 2, "shoes": 1})
    assert said(walking(domain=domain, budgets={"money": 7}), "resource") == [
        "actions use it, and it has no budget, though other resources do [no-budget]"
    ]
    assert not said(walking(domain=domain, budgets={"money": 7, "shoes": 3}), "resource")
    assert not said(walking(domain=domain, budgets={"cost": 7}), "resource")
    assert not said(walking(domain=domain), "resource")


def test_deadlines_without_durations() -> None:
    assert said(walking(deadline=5), "deadline") == []
    assert said(walking(domain=walks(duration=None), deadline=5), "deadline") == [
        "walk without a duration: such steps take no time [untimed-action]"
    ]
    timeless = Domain("timeless")
    timeless.action("shine", provides="lit")
    assert "no action has a duration: every plan takes no time [untimed-deadline]" in said(
        timeless.problem(goal="lit", deadline=5), "deadline"
    )


def test_sensing_what_is_known() -> None:
    domain = walks()
    domain.action("look", {"a": "room"}, requires="at(a)", senses="exit(a)")
    message = "it senses exit(a), and no such fact is declared unknown [nothing-to-sense]"
    assert said(walking(domain=domain), "action look") == [message]
    assert said(walking(domain=domain, unknown="exit(_)"), "action look") == []
    domain.action("listen", {"c": "cat"}, senses="purrs(c)")
    found = [str(each) for each in check_domain(domain.model) if "purrs" in each.place]
    assert found == ["hint: predicate purrs: action listen senses it, and nothing requires it [never-required]"]


def receipts(**read: object) -> Domain:
    domain = Domain("shop", types=["receipt"])
    domain.function("amount", ["receipt"], low=0)
    domain.action("read", {"r": "receipt"}, **{"senses": "amount(r)", **read})
    domain.action("approve", {"r": "receipt"}, requires="amount(r) <= 100", provides="approved(r)")
    domain.action("ask", {"r": "receipt"}, requires="amount(r) > 100", provides="approved(r)", cost=5)
    return domain


@pytest.mark.parametrize("values", [{}, {"amount(r1)": 30}, {"amount(r1)": 300}])
def test_unknown_numbers_may_have_any_value(values: dict[str, int]) -> None:
    problem = receipts().problem(objects={"r1": "receipt"}, values=values, unknown="amount(_)", goal="approved(r1)")
    assert not check_problem(problem)


def test_unknown_numbers_that_no_step_tells() -> None:
    domain = receipts(requires="opened(r)")
    domain.predicate("opened", ["receipt"])
    problem = domain.problem(
        objects={"r1": "receipt"}, values={"amount(r1)": 30}, unknown="amount(r1)", goal="approved(r1)"
    )
    (message,) = said(problem, "unknown")
    assert message.startswith("amount(r1) is unknown, and no step that can be done tells it")
    assert message.endswith("[untold-number]")


def test_sensing_numbers_that_are_known() -> None:
    problem = receipts().problem(objects={"r1": "receipt"}, values={"amount(r1)": 30}, goal="approved(r1)")
    message = "it senses amount(r), and no such number is declared unknown [nothing-to-sense]"
    assert said(problem, "action read") == [message]


def test_no_proof_where_objects_or_numbers_may_turn_up() -> None:
    problem = receipts().problem(
        objects={"r1": "receipt"},
        values={"amount(r1)": 3},
        unknown="amount(_)",
        goal=["approved(r1)", "amount(r1) > 50"],
    )
    assert "error" not in {each.level.value for each in check_problem(problem)}


def test_what_only_uses_and_senses_speak_of_is_used() -> None:
    domain = walks()
    domain.action("buy", {"c": "cat"}, provides="bought", uses={"money": "price(c)"})
    domain.action("pay", {"c": "cat"}, provides="paid", uses={"money": lambda c: 2 if c == "tom" else 1})
    domain.action("pet", {"c": "cat"}, senses="purrs(c)")
    assert not {each.rule for each in check_domain(domain.model)} & {"unused-parameter", "no-effect"}
