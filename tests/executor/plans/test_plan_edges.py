"""Which steps come before which, and why, on plans whose dependencies are plain to see."""

from __future__ import annotations

from typing import Annotated

import pytest
from pydantic import ValidationError

from executor.plans.action_plan import ActionPlan, PlanStep, StepPolicy, steps_of
from executor.plans.partial_order import order_of, predecessors_of
from executor.tools.step_policy import ExecutionPolicy
from planner import Domain, From, load, solve
from planner.errors import InputError, NoPlan, PlanError
from planner.plan import Plan, Result, Status, Step, StoppedBy


def tasks():
    """Return a domain of actions that say little about the world, but where their data come from."""
    domain = Domain("tasks", types=["user"])
    domain.action("list_tasks", {"u": "user"}, provides=["listed(u)"])
    tasks = Annotated[list[str], From("listed(u)", "data.tasks")]
    domain.action("choose", {"u": "user", "tasks": tasks}, requires=["listed(u)"])
    domain.action("think", {"about": str})
    domain.action("open", {}, provides=["ready(page)"], creates={"page": "user"})
    domain.action("greet", {"u": "user"})
    return domain


def planned(*steps, **fields):
    """Return a plan of these steps, which are about ann where they do not say otherwise, and its problem."""
    found = [PlanStep(**{"arguments": {"u": "ann"}, **each}) for each in steps]
    plan = ActionPlan(steps=tuple(found), objects={"ann": "user"}, **fields)
    return plan, plan.problem(tasks().model)


def why(order):
    return {(edge.earlier, edge.later, edge.reason, edge.about) for edge in order.edges}


LISTED = {"initial": ["listed(ann)"]}
"""The tasks were listed before, so that no causal link leads to whoever wants them."""


def test_data_flow_alone_orders_list_before_choose():
    plan, problem = planned({"id": "b", "action": "list_tasks"}, {"id": "a", "action": "choose"}, **LISTED)
    order = order_of(problem, plan.steps)
    assert order.before == {"b": frozenset(), "a": frozenset({"b"})}
    assert order.sources == {("a", "tasks"): "b"}
    assert why(order) == {("b", "a", "data", "listed(ann)")}
    assert [edge.reason for edge in order.why("b", "a")] == ["data"]


def test_what_the_plan_gives_needs_no_provider():
    chosen = {"id": "a", "action": "choose", "parameters": {"tasks": ["sweep"]}}
    plan, problem = planned({"id": "b", "action": "list_tasks"}, chosen, **LISTED)
    assert predecessors_of(problem, plan.steps) == {"b": frozenset(), "a": frozenset()}


def test_data_come_from_the_last_provider_and_others_keep_away():
    plan, problem = planned(
        {"id": "l1", "action": "list_tasks"},
        {"id": "c1", "action": "choose"},
        {"id": "l2", "action": "list_tasks"},
        {"id": "l3", "action": "list_tasks"},
        {"id": "c3", "action": "choose"},
        {"id": "l4", "action": "list_tasks"},
        **LISTED,
    )
    order = order_of(problem, plan.steps)
    assert order.sources == {("c1", "tasks"): "l1", ("c3", "tasks"): "l3"}
    assert order.before == {
        "l1": frozenset(),
        "c1": frozenset({"l1"}),
        "l2": frozenset({"c1"}),
        "l3": frozenset({"c1", "l2"}),
        "c3": frozenset({"l3"}),
        "l4": frozenset({"c3"}),
    }


def test_references_and_declared_dependencies_are_edges():
    plan, problem = planned(
        {"id": "a", "action": "greet"},
        {"id": "b", "action": "think", "arguments": {}, "parameters": {"about": "so: {{a.text}}, {{ gone.data }}"}},
        {"id": "c", "action": "greet", "depends_on": ["b", "gone"]},
    )
    order = order_of(problem, plan.steps)
    assert why(order) == {("a", "b", "data", "a"), ("b", "c", "declared", "")}


def test_what_is_created_comes_before_what_uses_it():
    plan, problem = planned(
        {"id": "a", "action": "open", "arguments": {}, "creates": {"page": "new"}},
        {"id": "b", "action": "greet", "arguments": {"u": "new"}},
        {"id": "c", "action": "greet"},
    )
    order = order_of(problem, plan.steps)
    assert ("a", "b", "object", "new") in why(order)
    assert order.before["c"] == frozenset()


def test_plain_words_are_tags_that_order_steps():
    domain = Domain("tags")
    domain.action("read", {}, provides=["message_context"])
    domain.action("answer", {}, requires=["message_context"])
    domain.action("log", {})
    steps = [PlanStep(id=each, action=each) for each in ("read", "log", "answer")]
    plan = ActionPlan(steps=tuple(steps))
    order = order_of(plan.problem(domain.model), plan.steps)
    assert why(order) == {("read", "answer", "link", "message_context")}


def test_stated_conditions_order_steps_that_have_none():
    plan, problem = planned(
        {"id": "a", "action": "greet", "expects": ["listed(ann)"]},
        {"id": "b", "action": "think", "arguments": {}, "parameters": {"about": "x"}, "requires": ["listed(ann)"]},
        {"id": "c", "action": "greet", "expects": ["not listed(ann)"]},
    )
    assert why(order_of(problem, plan.steps)) == {
        ("a", "b", "link", "listed(ann)"),
        ("b", "c", "threat", "listed(ann)"),
        ("a", "c", "undone", "listed(ann)"),
    }


def test_what_one_makes_true_and_another_false_is_not_written_at_once():
    domain = Domain("lamp")
    domain.action("light", {}, provides=["on"])
    domain.action("darken", {}, requires=["ready"], provides=["not on", "dark"])
    plan = ActionPlan(steps=tuple(PlanStep(id=each, action=each) for each in ("light", "darken")))
    problem = domain.problem(initial=["ready"], goal=["dark"])
    assert why(order_of(problem, plan.steps)) == {("light", "darken", "undone", "on")}


def test_plans_that_cannot_work_keep_the_order_of_what_conflicts():
    plan, problem = planned(
        {"id": "a", "action": "greet", "requires": ["listed(ann)"]},
        {"id": "b", "action": "greet"},
        {"id": "c", "action": "list_tasks"},
    )
    order = order_of(problem, plan.steps)
    assert why(order) == {("a", "c", "given", "listed(ann)")}
    assert order.before["b"] == frozenset()


def test_steps_that_are_no_instances_are_refused():
    plan, problem = planned({"id": "a", "action": "gret"})
    with pytest.raises(InputError, match="did you mean 'greet'"):
        predecessors_of(problem, plan.steps)
    plan, problem = planned({"id": "a", "action": "greet", "arguments": {}})
    with pytest.raises(PlanError, match="step 'a' lacks the argument 'u' of greet"):
        predecessors_of(problem, plan.steps)
    plan, problem = planned({"id": "a", "action": "greet", "requires": ["lsted(ann)"]})
    with pytest.raises(InputError, match="did you mean 'listed'"):
        predecessors_of(problem, plan.steps)


@pytest.mark.parametrize("name", ["assistant", "courier", "elevator", "helpdesk", "runbook", "secretary", "stacking"])
def test_plans_of_shipped_domains_are_data_and_back(name):
    problem = load(name)
    result = solve(problem, mode="first")
    plan = ActionPlan.of(result, model="dag")
    again = ActionPlan.model_validate_json(plan.model_dump_json())
    assert again == plan
    assert again.problem(problem.domain) == problem
    assert tuple([each.step(problem.domain) for each in again.steps]) == result.plan.steps
    assert plan.status == "proposed"
    assert plan.metadata.created is not None


def test_plans_of_hierarchical_problems_keep_what_they_came_of():
    problem = load("travel")
    result = solve(problem)
    plan = ActionPlan.of(result)
    assert plan.model == "hierarchical"
    assert plan.decomposition == result.plan.tree.to_dict()
    assert ActionPlan.model_validate_json(plan.model_dump_json()) == plan
    assert plan.problem(problem.classical.domain) == problem.classical


def test_without_a_plan_there_is_none_as_data():
    with pytest.raises(NoPlan):
        ActionPlan.of(Result(Status.UNSOLVABLE, StoppedBy.EXHAUSTED))


def test_ids_of_new_steps_are_not_those_that_are_taken():
    domain = tasks().model
    steps = [Step("greet", ("ann",), 1), Step("open", ("new",), 1)]
    found = list(steps_of(steps, domain, {"s1", "s3"}))
    assert [each.id for each in found] == ["s2", "s4"]
    assert found[1].creates == {"page": "new"}
    assert [each.step(domain) for each in found] == steps


def test_a_goal_may_be_one_text_a_list_or_hard_and_soft():
    one, several = ActionPlan(goal="p"), ActionPlan(goal=["p", "q"])
    assert one.goal.hard == ("p",)
    assert several.goal.hard == ("p", "q")
    assert ActionPlan(goal={"hard": "p", "soft": {"q": "2.5"}}).goal.soft == {"q": 2.5}


def test_unknown_fields_and_statuses_are_refused():
    for wrong in ({"stats": "active"}, {"status": "over"}, {"steps": [{"id": "a", "action": "b", "needs": []}]}):
        with pytest.raises(ValidationError):
            ActionPlan.model_validate(wrong)


def test_a_policy_of_a_step_changes_what_it_states():
    policy = StepPolicy(retries=2, retry_on=["OSError"]).over(ExecutionPolicy(timeout=3, backoff=9))
    assert (policy.timeout, policy.retries, policy.backoff) == (3, 2, 9)
    assert policy.retry_on(ConnectionError())
    assert not policy.retry_on(ValueError())
    assert StepPolicy(timeout=None).over(ExecutionPolicy(timeout=3)).timeout is None


def test_the_schema_names_every_field():
    schema = ActionPlan.model_json_schema()
    assert set(schema["properties"]) == set(ActionPlan.model_fields)
    assert set(schema["$defs"]["PlanStep"]["properties"]) == set(PlanStep.model_fields)
    assert schema["additionalProperties"] is False


def test_a_plan_of_the_planner_is_taken_as_well_as_a_result():
    problem = load("courier")
    plan = solve(problem).expect_plan()
    assert ActionPlan.of(Plan(plan.steps, problem)).steps == ActionPlan.of(plan).steps
