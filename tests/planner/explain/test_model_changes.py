"""Changes of actions that give an unsolvable problem a plan: conditions dropped, effects added, actions added."""

from __future__ import annotations

import json

import pytest

from benchmarks.random_problems import random_problem
from planner import Domain, Limits, Status, explain_unsolvable, solve, validate, write_yaml
from planner.cli import Exit, main
from planner.explain.model_changes import ActionChange, NewAction, find_model_changes
from planner.lightweight import replace
from planner.model.formulas import conjuncts
from planner.model.problem import seal


def office(initial=(), **extra):
    domain = Domain("office", types=["paper", "person"])
    domain.action(
        "approve",
        {"who": "person", "what": "paper"},
        requires=["present(who)", "chief(who)"],
        provides=["approved(what)"],
    )
    domain.action("send", {"what": "paper"}, requires=["approved(what)", "stamped(what)"], provides=["sent(what)"])
    domain.action("stamp", {"what": "paper"}, provides="marked(what)", **extra)
    return domain.problem(objects={"ada": "person", "memo": "paper"}, initial=[*initial], goal=["sent(memo)"])


def changes_of(problem):
    return explain_unsolvable(problem, Limits(20), model_changes=True)


def test_a_condition_is_dropped_where_something_is_missing() -> None:
    found = changes_of(office(["chief(ada)", "present(ada)"]))
    texts = [str(change.changes[0]) for change in found.model_changes]
    assert texts[:2] == ["send did not require stamped(what)", "approve also provided stamped(what)"]
    assert texts[2] == "there were an action (paper: paper) that gives stamped(paper)"
    assert all(change.proved_smallest for change in found.model_changes)
    for change in found.model_changes:
        assert validate(change.plan.problem, change.plan).valid
    assert "It would also have a plan if\n  send did not require stamped(what); then a plan costs 2:" in str(found)
    json.dumps(found.to_dict())


def test_an_action_needs_what_holds_of_the_objects_of_missing_facts() -> None:
    domain = Domain("office", types=["paper", "person"])
    domain.action("approve", {"who": "person"}, requires=["present(who)", "chief(who)"], provides="done")
    problem = domain.problem(objects={"ada": "person"}, initial=["chief(ada)"], goal=["done"])
    (dropped, shaped) = changes_of(problem).model_changes
    assert str(dropped.changes[0]) == "approve did not require present(who)"
    (new,) = shaped.changes
    assert isinstance(new, NewAction)
    assert new.to_dict() == {
        "parameters": {"person": ["person"]},
        "needs": ["chief(person)"],
        "gives": ["present(person)"],
    }


def test_several_changes_are_found_where_one_is_not_enough() -> None:
    dropped, *_ = changes_of(office(["present(ada)"])).model_changes
    assert {str(each) for each in dropped.changes} == {
        "send did not require stamped(what)",
        "send did not require approved(what)",
    } or len(dropped.changes) == 2
    assert dropped.proved_smallest


def test_a_condition_on_numbers_may_be_dropped() -> None:
    domain = Domain("debts")
    domain.function("money")
    domain.action("pay", {}, requires="money >= 7", modifies="money -= 7", provides="paid")
    (dropped,) = changes_of(domain.problem(values={"money": 5}, goal=["paid"])).model_changes
    assert str(dropped.changes[0]) == "pay did not require money >= 7"
    assert [str(step) for step in dropped.plan.steps] == ["pay()"]


def test_a_solvable_problem_has_none_and_they_are_looked_for_only_if_asked() -> None:
    assert explain_unsolvable(office(), Limits(20)).model_changes == ()
    assert changes_of(office(["chief(ada)", "present(ada)", "stamped(memo)"])).model_changes == ()


def test_the_command_names_them(tmp_path, capsys) -> None:
    path = tmp_path / "office.yaml"
    path.write_text(write_yaml(office(["chief(ada)", "present(ada)"])), encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        main(["explain", str(path), "--quiet"])
    assert ended.value.code == Exit.NEGATIVE
    assert "send did not require stamped(what)" in capsys.readouterr().out


@pytest.mark.parametrize("seed", range(60))
def test_dropped_conditions_are_as_few_as_trying_each_says(seed: int) -> None:
    problem = seal(random_problem(seed))
    if solve(problem, mode="first").status is not Status.UNSOLVABLE:
        return
    found = [each for each in find_model_changes(problem, Limits(20)) if not isinstance(each.changes[0], NewAction)]
    for change in found:
        assert validate(change.plan.problem, change.plan).valid
    dropped = next((each for each in found if each.changes[0].dropped is not None), None)
    helps = any(
        _solves(problem, name, part)
        for name, action in problem.domain.actions.items()
        for part in conjuncts(action.requires)
    )
    assert (dropped is not None and len(dropped.changes) == 1) is helps


def _solves(problem, name, part) -> bool:
    action = ActionChange(name, dropped=part).apply(problem.domain.actions[name])
    domain = replace(problem.domain, actions={**problem.domain.actions, name: action})
    return solve(seal(replace(problem, domain=domain)), mode="first").has_plan
