"""Policies for problems of which facts are unknown: what they look at, what they dare, what they know."""

from __future__ import annotations

import json

import pytest

from planner import Domain, Objective, PlanError, Status, When, decide
from planner.language.declare.atom_syntax import parse_atom
from planner.limits import Limits
from planner.policies.decision import Aim, Hopes
from planner.policies.evaluation import evaluate, executions
from planner.policies.policy import Policy
from planner.policies.policy_mcts import make_hopes
from planner.policies.process_grounding import process_of

ROOMS = {"a": "room", "b": "room"}


def house(*, look=1, tags=()):
    """Return a domain in which doors may be locked, and there is a way round."""
    domain = Domain("house", types=["room"])
    through = ["at(a)", "door(a, b)", "not locked(a, b)"]
    domain.action("go", ROOMS, requires=through, provides=["at(b)"], modifies=["at(_)"], cost=4, tags=tags)
    domain.action("walk", ROOMS, requires=["at(a)", "path(a, b)"], provides=["at(b)"], modifies=["at(_)"], cost=9)
    domain.action("look", ROOMS, requires=["at(a)", "door(a, b)"], senses=["locked(a, b)"], cost=look)
    return domain


def asked(domain, *, likely=None, goal="at(lab)", initial=("at(hall)", "door(hall, lab)", "path(hall, lab)")):
    objects, unknown = {"hall": "room", "lab": "room"}, ["locked(_, _)"]
    return domain.problem(objects=objects, initial=initial, goal=[goal], unknown=unknown, likely=likely or {})


LOCKED = parse_atom("locked(hall, lab)")


@pytest.mark.parametrize(
    ("look", "chance", "first", "cost"),
    [
        (1, "0.5", "look(hall, lab)", 1 + 2 + 4.5),
        (3, "0.5", "go(hall, lab)", 4 + 4.5),
        (1, "0.1", "go(hall, lab)", 4 + 0.9),
        (1, "0.9", "walk(hall, lab)", 9),
    ],
)
def test_a_policy_looks_where_that_is_cheaper(look, chance, first, cost) -> None:
    found = decide(asked(house(look=look), likely={"locked(hall, lab)": chance}))
    assert (found.status, found.validated) == (Status.OPTIMAL, True)
    assert (str(found.policy.nodes[0].step), found.policy.success) == (first, 1)
    assert found.policy.cost == pytest.approx(cost)


def test_simulations_of_unknown_facts_are_not_left_to_kernels_which_know_none() -> None:
    problem = asked(house())
    aim = Aim(process_of(problem, Limits()), Objective.SUCCESS)
    assert aim.process.unknown
    assert isinstance(make_hopes(aim, lambda: None), Hopes)
    found = decide(problem, search="mcts")
    assert (found.status, found.success_bound, found.policy.cost) == (Status.OPTIMAL, 1, pytest.approx(7.5))


def test_a_policy_is_asked_with_what_is_unknown() -> None:
    policy = decide(asked(house())).policy
    here = [parse_atom(text) for text in ("at(hall)", "door(hall, lab)", "path(hall, lab)")]
    assert policy.nodes[0].unknown == {LOCKED}
    assert str(policy.next_step(here, unknown=[LOCKED])) == "look(hall, lab)"
    assert str(policy.next_step(here)) == "go(hall, lab)"
    assert str(policy.next_step([*here, LOCKED])) == "walk(hall, lab)"


def test_what_a_step_supposes_is_said() -> None:
    problem = asked(house(look=9))
    policy = decide(problem).policy
    assert policy.nodes[0].supposed == (LOCKED, False)
    assert str(policy).startswith("1. go(hall, lab), supposing not locked(hall, lab)\n")
    assert "50 %: locked(hall, lab) → 2" in str(policy)
    again = Policy.from_dict(json.loads(json.dumps(policy.to_dict())), problem)
    assert again == policy
    wrong = policy.to_dict()
    wrong["nodes"][0]["supposed"] = ["locked(hall, lab)"]
    with pytest.raises(PlanError, match="nothing that is supposed"):
        Policy.from_dict(wrong, problem)


def test_irreversible_steps_are_not_dared() -> None:
    policy = decide(asked(house(look=9, tags=["irreversible"]))).policy
    assert str(policy.nodes[0].step) == "walk(hall, lab)"


def test_executions_go_as_the_world_is() -> None:
    problem = asked(house(look=2), likely={"locked(hall, lab)": "0.25"})
    policy = decide(problem).policy
    runs = [*executions(problem, policy, 400)]
    assert all(run.success for run in runs)
    assert {run.cost for run in runs} == {4, 13}
    assert sum(run.cost for run in runs) / 400 == pytest.approx(policy.cost, rel=0.1)
    assert evaluate(problem, policy).cost == pytest.approx(policy.cost)


def test_what_is_found_elsewhere_need_not_be_looked_for() -> None:
    domain = Domain("search", types=["room"])
    domain.action("search", {"room": "room"}, senses=["in(room)"], cost=2)
    domain.action("take", {"room": "room"}, requires=["in(room)"], provides=["had"], modifies=["in(_)"], cost=5)
    rooms = dict.fromkeys(["hall", "lab", "loft"], "room")
    problem = domain.problem(objects=rooms, goal=["had"], unknown=["in(_)"], likely={"in(lab)": "0.6"})
    found = decide(problem)
    assert (found.policy.success, found.validated) == (1, True)
    assert found.policy.cost == pytest.approx(2 + 5 + 0.4 * 2)
    assert [str(node.step) for node in found.policy.nodes if node.step][:2] == ["search(lab)", "take(lab)"]


def test_nothing_is_unsolvable_where_unknown_facts_matter() -> None:
    found = decide(asked(house(), initial=["at(hall)"]))
    assert (found.status, found.policy) == (Status.UNKNOWN, None)
    assert found.reason == "no policy ever comes to know that it has reached the goal"


def test_facts_that_do_not_matter_are_left_out() -> None:
    domain = house()
    domain.predicate("dusty", "room")
    rooms = dict.fromkeys(["hall", "lab"], "room")
    initial = ["at(hall)", "path(hall, lab)"]
    found = decide(domain.problem(objects=rooms, initial=initial, goal=["at(lab)"], unknown=["dusty(_)"]))
    assert (found.status, found.policy.cost, found.validated) == (Status.OPTIMAL, 9, True)


def lamp():
    domain = Domain("lamp")
    domain.action("press", when=[When(requires=["wired"], provides=["lit"])])
    return domain.problem(goal=["lit"], unknown=["wired"])


def net():
    domain = Domain("net")
    domain.action("solder", provides=["wired"])
    domain.derive("linked", {}, "wired")
    domain.action("send", requires=["linked"], provides=["sent"])
    return domain.problem(goal=["sent"], unknown=["wired"])


def crowd():
    domain = Domain("crowd", types=["door"])
    domain.action("look_around", senses=["open(_)"])
    domain.action("go", {"door": "door"}, requires=["open(door)"], provides=["out"])
    return domain.problem(objects={f"d{number}": "door" for number in range(11)}, goal=["out"], unknown=["open(_)"])


@pytest.mark.parametrize(
    ("problem", "construct"),
    [
        (lamp, "effects that rest on unknown facts, as those of 'press'"),
        (net, "derived facts that rest on unknown ones, such as those of 'linked'"),
        (crowd, "so many independent facts in one look, as in look_around()"),
    ],
)
def test_what_policies_do_not_take(problem, construct) -> None:
    found = decide(problem())
    assert (found.status, found.reason) == (Status.UNSUPPORTED, construct)


@pytest.mark.parametrize(("budget", "steps", "success"), [(4, ["go", "swim"], 1), (3, ["swim"], 1), (2, ["go"], 0.5)])
def test_a_budget_on_the_cost_is_kept_in_every_case(budget, steps, success) -> None:
    town = Domain("town")
    town.action("look", senses=["wet"])
    town.action("go", requires=["not wet"], provides=["there"])
    town.action("swim", provides=["there"], cost=3)
    found = decide(town.problem(unknown=["wet"], goal=["there"], budgets={"cost": budget}))
    assert (found.status, found.validated, found.policy.success) == (Status.OPTIMAL, True, success)
    assert [node.step.action for node in found.policy.nodes if node.step is not None] == steps


def test_what_nothing_reads_may_become_known_for_nothing() -> None:
    domain = Domain("street", types=["place"])
    domain.action("go", {"b": "place"}, provides=["at(b)"])
    domain.action("look", {"b": "place"}, senses=["locked(b)"], tags=["read_only"])
    domain.action("unlock", {"b": "place"}, provides=["not locked(b)"], cost=0)
    domain.action("drop", {"b": "place"}, requires=["at(b)", "sells(b)", "not locked(b)"], provides=["done"])
    street = domain.problem(
        objects={"shop": "place", "home": "place"}, initial=["sells(shop)"], goal=["done"], unknown=["locked(_)"]
    )
    decision = decide(street)
    assert decision.status is Status.OPTIMAL
    assert decision.validated
    assert (decision.expect_policy().success, decision.expect_policy().cost) == (1.0, 2.0)
