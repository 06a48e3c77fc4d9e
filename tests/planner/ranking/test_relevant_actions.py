"""Relevant actions: what the goal needs comes first, nothing that a plan needs is missing, and mistakes are named."""

from __future__ import annotations

from dataclasses import replace

import pytest
from brute_force import brute_force

from benchmarks.random_problems import ALL, random_problem
from benchmarks.tools.tool_library import declare_problem
from benchmarks.tools.tool_profiles import PROFILES, generate
from planner import Domain, InputError, Not, load, relevant_actions
from planner.compilations.lifted_relevance import remove_irrelevant_actions


def shop() -> Domain:
    domain = Domain("shop", types=["order"])
    domain.action("find", {"o": "order"}, provides=["known(o)"], tags=["read_only"])
    domain.action("check", {"o": "order"}, requires=["known(o)"], provides=["paid(o)"])
    domain.action("pack", {"o": "order"}, requires=["paid(o)"], provides=["packed(o)"])
    domain.action("ship", {"o": "order"}, requires=["packed(o)", "not blocked(o)"], provides=["shipped(o)"])
    domain.action("fly", {"o": "order"}, requires=["packed(o)"], provides=["shipped(o)"], cost=50)
    domain.action("unblock", {"o": "order"}, provides=["not blocked(o)"])
    domain.action("block", {"o": "order"}, provides=["blocked(o)"])
    domain.action("greet", provides=["greeted"])
    return domain


def names(found) -> list[str]:
    return [each.name for each in found]


def test_the_relaxed_plan_comes_first_in_the_order_in_which_it_can_be_done() -> None:
    found = relevant_actions(shop(), "shipped(o7)", state=[])
    assert names(found)[:4] == ["find", "check", "pack", "ship"]
    assert [each.needed for each in found] == [True] * 4 + [False] * (len(found) - 4)
    assert [each.ready for each in found[:4]] == [True, False, False, False]
    assert set(names(found)) == {"find", "check", "pack", "ship", "fly", "unblock"}
    assert found[3].distance == 1
    assert found[0].distance == 4


def test_what_the_state_has_already_is_not_needed() -> None:
    found = relevant_actions(shop(), ["shipped(o7)"], state=["packed(o7)", "blocked(o7)"])
    assert names(found)[:2] == ["unblock", "ship"]
    assert not any(each.needed for each in found[2:])
    assert relevant_actions(shop(), ["packed(o7)"], state=["packed(o7)"], limit=0) == ()
    assert not any(each.needed for each in relevant_actions(shop(), ["packed(o7)"], state=["packed(o7)"]))


def test_the_objects_of_the_goal_are_carried_back() -> None:
    state = ["packed(o1)", "paid(o1)", "known(o7)"]
    found = relevant_actions(shop(), "shipped(o7)", state=state)
    assert [(each.name, dict(each.arguments)) for each in found if each.needed] == [
        (name, {"o": "o7"}) for name in ("check", "pack", "ship")
    ]
    assert found[0].to_dict()["arguments"] == {"o": "o7"}


def test_other_objects_do_not_meet_what_a_schema_names() -> None:
    domain = Domain("pair", types=["thing"], constants={"a": "thing", "b": "thing"})
    domain.action("make_a", provides=["made(a)"])
    domain.action("make_b", provides=["made(b)"])
    domain.action("join", requires=["made(a)", "made(b)"], provides=["joined"])
    found = relevant_actions(domain, "joined", state=["made(a)"])
    assert [each.name for each in found if each.needed] == ["make_b", "join"]


def test_without_a_state_nothing_holds_but_what_no_action_provides() -> None:
    domain = Domain("office", types=["room"])
    domain.action("go", {"a": "room", "b": "room"}, requires=["at(a)", "door(a, b)"], provides=["at(b)"])
    domain.action("start", {"a": "room"}, requires=["entrance(a)"], provides=["at(a)"])
    assert [each.name for each in relevant_actions(domain, "at(lab)") if each.needed] == ["start"]


@pytest.mark.parametrize("limit", [0, 1, 3, 5, 100])
def test_a_limit_takes_the_first(limit: int) -> None:
    everything = relevant_actions(shop(), "shipped(o7)", state=[])
    assert names(relevant_actions(shop(), "shipped(o7)", state=[], limit=limit)) == names(everything)[:limit]


@pytest.mark.parametrize("seed", range(300))
def test_what_is_missing_is_of_no_use(seed: int) -> None:
    """Lifted relevance keeps at least as much, unless no instance of an action fits: then the optimum stays."""
    problem = random_problem(seed, ALL)
    found = names(relevant_actions(problem))
    assert len(found) == len(set(found))
    missing = remove_irrelevant_actions(problem).domain.actions.keys() - set(found)
    if missing:
        kept = {name: action for name, action in problem.domain.actions.items() if name in found}
        assert brute_force(replace(problem, domain=replace(problem.domain, actions=kept))) == brute_force(problem)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("size", [20, 200])
def test_the_needed_tools_reach_the_goal_if_nothing_is_deleted(profile: str, size: int) -> None:
    problem = declare_problem(generate(profile, size, 1))
    planned = [each for each in relevant_actions(problem) if each.needed]
    facts = set(problem.initial)
    for each in planned:
        assert all(part in facts or isinstance(part, Not) for part in _parts(each.action.requires))
        facts |= {literal for literal in each.action.provides if not isinstance(literal, Not)}
    assert all(part in facts or isinstance(part, Not) for part in _parts(problem.goal.hard))


def _parts(formula):
    return getattr(formula, "parts", (formula,))


def test_axioms_actions_that_must_come_before_and_steps_that_look_count() -> None:
    domain = Domain("lab", types=["sample"])
    domain.derive("ready(x)", {"x": "sample"}, ["clean(x)", "labelled(x)"])
    domain.action("wash", {"x": "sample"}, provides=["clean(x)"])
    domain.action("label", {"x": "sample"}, provides=["labelled(x)"], after=["wash(x)"])
    domain.action("test", {"x": "sample"}, requires=["ready(x)", "safe(x)"], provides=["tested(x)"])
    domain.action("look", {"x": "sample"}, senses=["safe(x)"])
    found = [each.name for each in relevant_actions(domain, "tested(s1)", state=[]) if each.needed]
    assert set(found) == {"wash", "label", "test", "look"}
    assert found[-1] == "test"


def test_hierarchical_domains_give_their_actions() -> None:
    assert relevant_actions(load("travel"))


@pytest.mark.parametrize(
    ("goal", "words"),
    [
        ("shiped(o7)", "did you mean 'shipped'"),
        ("shipped(o7, o8)", "takes 1"),
        ("shipped(", "shipped("),
        (None, "no goal"),
        (7, "no condition"),
        ([7], "no condition"),
    ],
)
def test_mistakes_are_named(goal, words: str) -> None:
    with pytest.raises(InputError, match=r".") as raised:
        relevant_actions(shop(), goal)
    assert words in str(raised.value)


@pytest.mark.parametrize("given", [None, 7, "shop", []])
def test_what_is_no_domain_is_refused(given) -> None:
    with pytest.raises(InputError, match="expected a problem or a domain"):
        relevant_actions(given, "x")


def test_a_limit_that_is_no_number_is_refused() -> None:
    with pytest.raises(InputError, match="limit"):
        relevant_actions(shop(), "shipped(o7)", limit=-1)
    with pytest.raises(InputError, match="is no fact"):
        relevant_actions(shop(), "shipped(o7)", state=["not packed(o7)"])
