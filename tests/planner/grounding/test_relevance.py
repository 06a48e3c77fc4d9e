"""Which actions are kept for a goal: one construct at a time."""

from __future__ import annotations

import pickle

import pytest

from planner import Domain, When
from planner.compilations.lifted_relevance import remove_irrelevant_actions
from planner.lightweight import replace
from planner.model import DomainModel, Problem
from planner.model.domain import cache_per_domain


def kept(problem: Problem) -> list[str]:
    """Return the names of the actions that are left."""
    return list(remove_irrelevant_actions(problem).domain.actions)


def library() -> Domain:
    """Return a domain with actions that nothing needs."""
    domain = Domain("library", types=["item"], constants={"one": "item", "two": "item"})
    domain.action("unrelated", provides="elsewhere")
    domain.action("spoil", requires="elsewhere", provides=["not ready"])
    return domain


def test_what_the_goal_needs_and_what_that_needs_in_order_of_declaration() -> None:
    domain = library()
    domain.action("last", requires=["middle"], provides=["ready"])
    domain.action("first", provides=["middle", "more"])
    assert kept(domain.problem(goal="ready")) == ["last", "first"]


def test_a_problem_that_needs_everything_is_the_same_one() -> None:
    domain = Domain("all")
    domain.action("only", provides="ready")
    problem = domain.problem(goal="ready")
    assert remove_irrelevant_actions(problem) is problem


def test_constants_tell_patterns_apart_and_variables_do_not() -> None:
    domain = library()
    domain.action("do-one", provides="done(one)")
    domain.action("do-two", provides="done(two)")
    domain.action("do-any", {"x": "item"}, provides="done(x)")
    assert kept(domain.problem(goal="done(one)")) == ["do-one", "do-any"]
    assert kept(domain.problem(goal="(exists (?x - item) (done ?x))")) == ["do-one", "do-two", "do-any"]


def test_negative_conditions_keep_what_deletes() -> None:
    domain = library()
    domain.action("clear", {"x": "item"}, modifies="on(x, _)")
    domain.action("put", {"x": "item"}, provides="on(x, x)")
    domain.action("end", requires="not on(one, two)", provides="ended")
    assert kept(domain.problem(goal=["ended", "not ready"])) == ["unrelated", "spoil", "clear", "end"]


def test_what_goes_stale_with_a_write_is_deleted_by_it() -> None:
    domain = library()
    domain.predicate("text(x)", "item")
    domain.predicate("summary(x)", "item", stale_with="text(x)")
    domain.predicate("mail(x)", "item", stale_with="summary(x)")
    domain.action("edit", {"x": "item"}, modifies="text(x)")
    domain.action("sum", {"x": "item"}, provides="summary(x)")
    assert kept(domain.problem(goal="not mail(one)")) == ["edit", "sum"]
    assert kept(domain.problem(goal="summary(one)")) == ["sum"]


def test_conditions_of_conditional_effects_count_either_way() -> None:
    domain = library()
    domain.action("switch", provides="light", when=When("wet", "not light"))
    domain.action("dry", provides="not wet")
    domain.action("water", provides="wet")
    assert kept(domain.problem(goal="light")) == ["switch", "dry", "water"]


def test_after_keeps_what_has_to_run_before() -> None:
    domain = library()
    domain.action("end", provides="ended", after="middle")
    domain.action("middle", requires="begun", after="check")
    domain.action("check", after="check")
    domain.action("begin", provides="begun")
    assert kept(domain.problem(goal="ended")) == ["end", "middle", "check", "begin"]


@pytest.mark.parametrize(("goal", "expected"), [("fine", ["good"]), ("not fine", ["bad", "heal"])])
def test_axioms_are_followed_in_the_sense_in_which_they_are_read(goal: str, expected: list[str]) -> None:
    domain = library()
    domain.action("good", provides="healthy")
    domain.action("bad", provides="not healthy")
    domain.action("heal", provides=["ill"])
    domain.derive("fine", {}, "(and (healthy) (not (ill)))")
    assert kept(domain.problem(goal=goal)) == expected


def test_what_is_kept_with_a_domain_is_found_once_and_copied_never() -> None:
    asked = []

    @cache_per_domain
    def names(domain: DomainModel) -> list[str]:
        asked.append(domain)
        return list(domain.actions)

    model = library().model
    assert names(model) is names(model)
    others = [replace(model, actions={}), pickle.loads(pickle.dumps(model))]
    assert [names(other) for other in others] == [[], ["unrelated", "spoil"]]
    assert len(asked) == 3
