"""Plans that other frameworks write as JSON are imported, checked like any other, and carried out as they say."""

# ruff: noqa: E501 - what is said stands in one piece

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from executor import ActionResult, Executor, RunStatus, StepStatus, World
from executor.plan_check.check_plan import errors_in
from executor.plan_check.read_plan import read_plan
from executor.testing import run_virtual
from planner import Domain

DESK = Domain("desk", types=["room", "ticket"])
DESK.action("LIST_TASKS", {"max_count": int}, provides=["listed"], tags=["trusted"])
DESK.action(
    "SEND_MAIL",
    {"room": "room", "subject_line": str},
    requires=["listed"],
    provides=["mailed(room)"],
    tags=["trusted"],
    similes=["email"],
)
DESK.action("OPEN_TICKET", {"room": "room"}, provides=["about(ticket, room)"], creates={"ticket": "ticket"})
DESK.action("CLOSE_TICKET", {"ticket": "ticket"}, provides=["closed(ticket)"], tags=["trusted"])

PLAN = {
    "id": "6b0c",
    "goal": ["mailed(hall)"],
    "executionModel": "dag",
    "objects": {"hall": "room"},
    "steps": [
        {
            "id": "b-2",
            "actionName": "sendMail",
            "parameters": {"room": "Hall", "subjectLine": "{{a-1.data.title}}"},
            "dependencies": ["a-1"],
        },
        {"id": "a-1", "actionName": "LIST_TASKS", "parameters": {"max_count": 3}, "dependencies": []},
    ],
}
SNAKE = {
    "goal": ["mailed(hall)"],
    "execution_model": "dependency",
    "objects": {"hall": "room"},
    "actions": [
        {"step_id": "a-1", "action_name": "list-tasks", "params": {"maxCount": 3}},
        {
            "step_id": "b-2",
            "action_name": "email",
            "params": {"ROOM": {"name": "hall"}, "subject_line": "{{a-1.data.title}}"},
            "depends_on": "a-1",
        },
    ],
}


def desk():
    """Return a world for the domain, and what its handlers have done."""
    world, done = World(DESK), []
    world.handler("LIST_TASKS")(lambda max_count: (done.append(("list", max_count)), {"title": "all well"})[1])
    world.handler("SEND_MAIL")(lambda room, subject_line: done.append(("mail", room, subject_line)))
    world.handler("OPEN_TICKET")(lambda room: (done.append(("open", room)), ActionResult(created={"ticket": "T-1"}))[1])
    world.handler("CLOSE_TICKET")(lambda ticket: done.append(("close", ticket)))
    return world, done


def changed(step: int | None = None, **fields: Any) -> dict[str, Any]:
    """Return `PLAN` with other fields, or with others in the step at the place `step`; `...` leaves a field out."""
    found = copy.deepcopy(PLAN)
    part = found if step is None else found["steps"][step]
    part |= fields
    for name in [name for name, value in fields.items() if value is ...]:
        del part[name]
    return found


def read(given, **options):
    plan, findings = read_plan(given, DESK, **options)
    assert errors_in(findings) == []
    return plan, [each.rule for each in findings if each.rule in ("not-imported", "goal-in-words")]


@pytest.mark.parametrize("given", [PLAN, json.dumps(PLAN), SNAKE, {"plan": PLAN}, {"actionPlan": SNAKE}])
def test_a_plan_is_imported_and_carried_out(given):
    plan, left = read(given)
    assert left == []
    assert plan.model == "dag"
    assert [(step.id, step.depends_on) for step in plan.steps] == [("a-1", ()), ("b-2", ("a-1",))]
    world, done = desk()
    assert run_virtual(Executor(world).run(plan)).status is RunStatus.SUCCEEDED
    assert done == [("list", 3), ("mail", "hall", "all well")]


@pytest.mark.parametrize(
    ("word", "model"),
    [
        ("sequential", "sequential"),
        ("PARALLEL", "parallel"),
        ("dag", "dag"),
        ("graph", "dag"),
        ("reactive", "reactive"),
    ],
)
def test_the_execution_model_is_kept(word, model):
    given = changed(executionModel=word)
    given["steps"].reverse()
    plan, _ = read(given)
    assert plan.model == model
    world, done = desk()
    assert run_virtual(Executor(world).run(plan)).status is RunStatus.SUCCEEDED
    assert [each[0] for each in done] == ["list", "mail"]


def test_a_sequence_stays_in_its_order_and_a_dependency_against_it_is_an_error():
    _, findings = read_plan(changed(executionModel="sequential"), DESK)
    assert errors_in(findings)[0].rule == "later-step"
    given = {"executionModel": "sequential", "steps": [{"actionName": "LIST_TASKS", "parameters": {"maxCount": 1}}] * 2}
    plan, _ = read(given)
    assert [step.id for step in plan.steps] == ["s1", "s2"]


def test_without_an_execution_model_steps_follow_each_other_as_they_depend():
    for given in (changed(executionModel=...), changed(executionModel=None)):
        plan, _ = read(given)
        assert (plan.model, [step.id for step in plan.steps]) == ("sequential", ["a-1", "b-2"])


def test_what_a_step_creates_reaches_later_steps():
    steps = [
        {"id": "close", "actionName": "CLOSE_TICKET", "parameters": {"ticket": "{{open.created.ticket}}"}},
        {"id": "open", "actionName": "OPEN_TICKET", "parameters": {"room": "hall"}},
    ]
    plan, _ = read({"executionModel": "dag", "objects": {"hall": "room"}, "steps": steps})
    world, done = desk()
    outcome = run_virtual(Executor(world).run(plan))
    assert [step.id for step in plan.steps] == ["open", "close"]
    assert done == [("open", "hall"), ("close", "T-1")]
    assert [step.status for step in outcome.steps] == [StepStatus.UNVERIFIED, StepStatus.SUCCEEDED]


def test_how_steps_are_tried_and_what_a_plan_may_take_are_imported_in_seconds():
    retry = {"maxRetries": 2, "backoffMs": 1500, "backoffMultiplier": 2, "maxBackoffMs": 9000, "onError": "skip"}
    given = changed(0, retryPolicy=retry, timeoutMs=2500)
    limits = [{"type": "time", "value": 60000}, {"type": "cost", "value": 20}, {"type": "tokens", "value": 100}]
    given["metadata"] = {"priority": 2, "createdAt": 1700000000000, "estimatedDuration": 30000, "constraints": limits}
    plan, left = read(given)
    policy, metadata = plan.of_step("b-2").policy, plan.metadata
    assert (policy.retries, policy.backoff, policy.longest, policy.timeout, policy.on_error) == (
        2,
        1.5,
        9,
        2.5,
        "continue",
    )
    assert (metadata.priority, metadata.created.year, metadata.estimated_duration) == (2, 2023, 30)
    assert (metadata.constraints.duration, metadata.constraints.cost, metadata.constraints.tokens) == (60, 20, 100)
    assert left == []


def test_a_goal_in_words_is_never_more_than_unverified():
    plan, left = read(changed(goal="Tell everybody"))
    assert left == ["goal-in-words"]
    world, _ = desk()
    outcome = run_virtual(Executor(world).run(plan))
    assert outcome.status is RunStatus.UNVERIFIED
    assert "nothing confirms 'Tell everybody'" in outcome.reason


@pytest.mark.parametrize(
    ("text", "is_condition"),
    [
        ("listed", True),
        ("mailed(hall)", True),
        ("not mailed(hall)", True),
        ("(and (listed) (mailed hall))", True),
        ("fuel(hall) >= 5", True),
        ("Listed", False),
        ("Tell everybody (today)", False),
        ("not too late", False),
        ("Spend <= 5 EUR", False),
    ],
)
def test_what_is_written_as_a_condition_is_one(text, is_condition):
    _, findings = read_plan(changed(goal=text), DESK)
    assert ("goal-in-words" not in [each.rule for each in findings]) is is_condition


def test_a_plan_cannot_say_itself_what_confirms_it():
    plan, left = read(changed(goal="Tell everybody", basis={"confirmed": "the user"}, status="pending"))
    assert left == ["goal-in-words", "not-imported"]
    assert (plan.basis.confirmed, dict(plan.basis.unverified)) == ("", {"Tell everybody": ()})


def test_conditions_beside_a_sentence_stay_conditions():
    plan, left = read(changed(goal=["mailed(hall)", "Tell everybody"]))
    assert left == ["goal-in-words"]
    assert plan.goal.hard == ("mailed(hall)",)
    assert plan.basis.unverified == {"Tell everybody": ()}


def test_a_problem_says_what_the_goal_in_words_means():
    problem = DESK.problem(objects={"hall": "room"}, goal=["mailed(hall)"])
    given = changed(goal="Tell everybody", objects=...)
    plan, left = read(given, problem=problem)
    assert left == []
    assert plan.basis.request == "Tell everybody"
    world, _ = desk()
    assert run_virtual(Executor(world).run(plan)).status is RunStatus.SUCCEEDED
    _, findings = read_plan(PLAN, DESK, problem=problem)
    assert "the plan states its problem itself: goal, objects" in str(findings[0])


WRONG = {
    "unknown action": (changed(1, actionName="LIST_TAKS"), "steps[2].actionName", "did you mean 'LIST_TASKS'?"),
    "no action": (changed(1, actionName=...), "steps[2]", "the step names no action"),
    "unknown dependency": (changed(0, dependencies=["a-2"]), "steps[1].dependencies[1]", "'a-2', which is no step"),
    "no dependency": (changed(0, dependencies=[{}]), "steps[1].dependencies[1]", "is the id of a step, not a dict"),
    "cycle": (changed(1, dependencies=["b-2"]), "steps[1].dependencies", "'b-2' → 'a-1' → 'b-2'"),
    "missing data": (changed(1, parameters={}), "steps[2].parameters", "LIST_TASKS lacks a value for 'max_count'"),
    "missing object": (
        changed(0, parameters={"subjectLine": "x"}),
        "steps[1].parameters",
        "lacks the argument 'room'",
    ),
    "no parameters": (changed(1, parameters=...), "steps[2].parameters", "lacks a value for 'max_count'"),
    "nothing as parameters": (changed(1, params=None, parameters=...), "steps[2].params", "lacks a value for 'max_count'"),
    "unknown parameter": (changed(1, parameters={"max_count": 1, "mode": 2}), "steps[2].parameters.mode", "no data parameter"),
    "wrong type": (changed(1, parameters={"maxCount": "many"}), "steps[2].parameters.maxCount", "cannot be 'many'"),
    "twice": (changed(1, parameters={"maxCount": 1, "max_count": 2}), "steps[2].parameters.max_count", "given twice"),
    "by place": (changed(1, parameters=[3]), "steps[2].parameters", "are given by name"),
    "unknown object": (changed(0, parameters={"room": "attic"}), "steps[1].parameters.room", "no object is called 'attic'"),
    "no object": (changed(0, parameters={"room": ["hall"]}), "steps[1].parameters.room", "not a list"),
    "data as an object": (changed(0, parameters={"room": "{{a-1.data.room}}"}), "steps[1].parameters.room", "is no object"),
    "unknown model": (changed(executionModel="swarm"), "executionModel", "there are sequential, parallel, dag, reactive"),
    "condition": (changed(0, condition="{{a-1.data.ok}}"), "steps[1].condition", "cannot be imported"),
    "loop": (changed(0, forEach="room"), "steps[1].forEach", "cannot be imported"),
    "timeout": (changed(0, timeout=5), "steps[1].timeout", "write timeoutMs, for milliseconds"),
    "time in words": (changed(0, timeoutMs="5 s"), "steps[1].timeoutMs", "are milliseconds, not a str"),
    "negative retries": (changed(0, retryPolicy={"maxRetries": -1}), "steps[1].retryPolicy.maxRetries", "greater than"),
    "way on": (changed(0, onError="shrug"), "steps[1].onError", "no way to go on after an error"),
    "a step that is done": (changed(0, status="completed"), "steps[1].status", "a run begins anew"),
    "a plan that is begun": (changed(state={"status": "running"}), "state", "'running', and a run begins anew"),
    "constraint": (changed(metadata={"constraints": [{"type": "mood"}]}), "metadata.constraints[1]", "no limit that a run keeps"),
    "goal": (changed(goal=7), "goal", "neither a sentence nor conditions"),
    "goal that is none": (changed(goal="mailed(attic)"), "goal[1]", "attic"),
    "same id": (changed(1, id="b-2"), "steps[2].id", "two steps have the id 'b-2'"),
    "bad id": (changed(0, id="b 2"), "steps[1].id", "expected a name without spaces"),
    "no steps": (changed(steps=[]), "", "the plan has no list of steps"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_told_with_its_place_in_the_document(name):
    given, path, message = WRONG[name]
    _, findings = read_plan(given, DESK)
    said = [str(each) for each in errors_in(findings)]
    assert any(each.startswith(f"{path}: error: ".removeprefix(": ")) and message in each for each in said), said
    text = json.dumps(given, indent=1)
    _, findings = read_plan(text, DESK)
    [found] = [each for each in errors_in(findings) if message in str(each)][:1]
    line, last = text.splitlines()[found.location.line - 1], (found.path or (0,))[-1]
    assert isinstance(last, int) or last in line or (line.strip() == "{" and name == "no parameters")


JUNK = [None, -1, 10**30, "{{", "x", [None], {1: []}, {"a": {}}]


def paths(part, path=()):
    """Yield the path of each part of a document."""
    for key, each in part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ():
        yield (*path, key)
        yield from paths(each, (*path, key))


def replaced(part, path, value):
    """Return a copy of `part` with `value` where `path` leads."""
    if not path:
        return value
    found = copy.copy(part)
    found[path[0]] = replaced(part[path[0]], path[1:], value)
    return found


def test_no_value_anywhere_ends_reading_by_an_exception():
    whole = changed(0, retryPolicy={"maxRetries": 2, "onError": "skip"}, creates={}, status="pending")
    whole["metadata"] = {"priority": 2, "createdAt": 1, "constraints": [{"type": "cost", "value": 1}]}
    whole["steps"].append({"id": "o", "actionName": "OPEN_TICKET", "parameters": {"room": "hall"}})
    places = list(paths(whole))
    assert len(places) > 30
    for path in places:
        for value in JUNK:
            _, findings = read_plan(replaced(whole, path, value), DESK)
            assert all(str(each) for each in findings)


def test_each_mistake_is_told_once():
    given = changed(0, actionName="x", dependencies=["y"], parameters={"z": 1})
    _, findings = read_plan(given, DESK)
    assert [each.rule for each in errors_in(findings)] == ["unknown-step", "unknown-action"]


def test_what_only_is_not_used_is_a_warning():
    plan, left = read(changed(0, colour="red", thought="why not", description="tell them"))
    assert left == ["not-imported"]
    assert plan.of_step("b-2").description == "tell them"


def test_a_plan_in_yaml_is_imported_too():
    text = "executionModel: sequential\nsteps:\n  - actionName: LIST_TASKS\n    parameters: {maxCount: many}\n"
    _, findings = read_plan(text, DESK)
    [found] = errors_in(findings)
    assert (found.location.line, found.rule) == (4, "type")


def test_a_plan_of_our_own_is_none_of_others():
    own = {"goal": ["listed"], "steps": [{"id": "a", "action": "LIST_TASKS", "parameters": {"maxCount": 3}}]}
    _, findings = read_plan(own, DESK)
    assert "no data parameter 'maxCount'" in str(errors_in(findings)[0])
