"""What irreversible steps may rest on where facts are unknown: search and plan checker agree on it."""

from __future__ import annotations

import pytest

from planner import Domain, Status, When, solve, validate
from planner.testing import steps_from


def texts(plan):
    return [str(step) for step in plan.steps]


def steps(*lines):
    return steps_from("\n".join(lines))


def seen_by(domain, *patterns):
    """Return `domain` with an action `look` that sees facts of `patterns`, at a price."""
    domain.action("look", senses=list(patterns), cost=9)
    return domain


def roof(*, tags=("irreversible",)):
    """Return a domain whose `open_roof` makes things wet if it rains."""
    domain = Domain("roof")
    domain.action("open_roof", when=[When(["raining"], ["wet"])], provides=["opened"], tags=tags)
    domain.action("cycle", requires=["raining", "opened"], provides=["washed"])
    return seen_by(domain, "raining")


@pytest.mark.parametrize("tag", ["irreversible", "needs_observed"])
def test_what_an_irreversible_step_does_rests_on_no_guess(tag) -> None:
    problem = roof(tags=[tag]).problem(goal=["wet"], unknown=["raining"])
    result = solve(problem)
    assert (result.status, texts(result.plan)) == (Status.SOLVED, ["look()", "open_roof()"])
    verdict = validate(problem, steps("open_roof"))
    assert (verdict.valid, verdict.failing_step) == (False, 1)
    said = f"step 1 open_roof(), which is {tag}, rests on raining, which is unknown"
    assert verdict.reason == f"{said}; look() would look at it before"
    assert texts(solve(roof(tags=[]).problem(goal=["wet"], unknown=["raining"])).plan) == ["open_roof()"]


def test_what_an_irreversible_step_does_beside_what_is_needed_may_stay_unknown() -> None:
    problem = roof().problem(goal=["washed"], unknown=["raining"])
    result = solve(problem)
    assert texts(result.plan) == ["open_roof()", "cycle()"]
    (supposed,) = result.plan.suppositions
    assert (str(supposed.fact), supposed.holds, supposed.steps) == ("raining", True, (2,))
    assert validate(problem, result.plan).suppositions == result.plan.suppositions


def test_a_later_look_does_not_help_a_step_that_is_over() -> None:
    problem = roof().problem(goal=["wet"], unknown=["raining"])
    assert validate(problem, steps("look", "open_roof")).valid
    assert validate(problem, steps("open_roof", "look", "open_roof")).valid
    verdict = validate(problem, steps("open_roof", "look"))
    assert (verdict.valid, verdict.failing_step) == (False, 1)


def test_effects_rest_on_facts_of_their_own_objects_alone() -> None:
    domain = Domain("workshop", types=["part"])
    domain.action("weld", {"part": "part"}, when=[When(["broken(part)"], ["new(part)"])], tags=["irreversible"])
    problem = seen_by(domain, "broken(_)").problem(
        objects={"bolt": "part", "nut": "part"},
        initial=["broken(bolt)"],
        goal=["new(bolt)", "not broken(nut)"],
        unknown=["broken(nut)"],
    )
    verdict = validate(problem, steps("weld(bolt)"))
    assert verdict.valid
    assert [(str(each.fact), each.steps, each.goal) for each in verdict.suppositions] == [("broken(nut)", (), True)]
    assert solve(problem).status is Status.SOLVED


@pytest.mark.parametrize(("looks", "valid"), [([], False), (["look"], True)])
def test_an_irreversible_step_does_not_rest_on_one_of_several_guesses(looks, valid) -> None:
    domain = Domain("keys")
    domain.action("try_red", requires=["red"], provides=["tried_red"])
    domain.action("try_blue", requires=["blue"], provides=["tried_blue"])
    fire = ["(or (red) (blue))", "tried_red", "tried_blue"]
    domain.action("fire", requires=fire, provides=["fired"], tags=["irreversible"])
    problem = seen_by(domain, "red", "blue").problem(goal=["fired"], unknown=["red", "blue"])
    verdict = validate(problem, steps(*looks, "try_red", "try_blue", "fire"))
    assert verdict.valid is valid
    assert valid or verdict.failing_step == 3


@pytest.mark.parametrize(
    ("looks", "failing"), [([], 2), (["look(lab)"], None), (["look(hall)"], None), (["look(loft)"], 3)]
)
def test_an_irreversible_step_does_not_rest_on_what_a_guess_rules_out(looks, failing) -> None:
    domain = Domain("cat", types=["room"])
    domain.action("meet", {"room": "room"}, requires=["cat_in(room)"], provides=["met"])
    domain.action("carry", {"room": "room"}, provides=["cat_in(room)"], modifies=["cat_in(_)"], cost=100)
    domain.action("look", {"room": "room"}, senses=["cat_in(room)"])
    domain.action("brick_up", {"room": "room"}, requires=["not cat_in(room)", "met"], provides=["bricked(room)"],
                  tags=["irreversible"])  # fmt: skip
    problem = domain.problem(
        objects=dict.fromkeys(["hall", "lab", "loft"], "room"), goal=["bricked(lab)"], unknown=["cat_in(_)"]
    )
    verdict = validate(problem, steps(*looks, "meet(hall)", "brick_up(lab)"))
    assert verdict.failing_step == failing
    if failing is None:
        assert [each.fact.args for each in verdict.suppositions] == [("hall",)]
