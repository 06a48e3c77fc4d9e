"""Malformed plans, each with all that is to be said about it."""

# ruff: noqa: E501 - what is said stands in one piece

from __future__ import annotations

import json
from typing import Annotated

import pytest

from executor import World
from executor.plan_check import plan_findings
from executor.plan_check.check_plan import check_plan, errors_in
from executor.plan_check.estimate import estimate
from executor.plan_check.read_plan import read_plan
from executor.plans.action_plan import ActionPlan
from planner import Domain, From, solve, validate
from planner.errors import did_you_mean


def office():
    """Return a domain of errands: robots move, list and choose tasks, open tickets."""
    domain = Domain("office", types=["robot", "room", "ticket", "note"])
    domain.predicate("parked", robot="robot", stale_with=["at(robot, _)"])
    domain.action(
        "move",
        {"robot": "robot", "origin": "room", "target": "room"},
        requires=["at(robot, origin)", "door(origin, target)"],
        provides=["at(robot, target)"],
        modifies=["at(robot, _)"],
        cost=2,
        duration=5,
        similes=["walk"],
    )
    domain.action("park", {"robot": "robot"}, requires=["not parked(robot)"], provides=["parked(robot)"], duration=1)
    domain.action("list_tasks", {"room": "room", "limit": int}, provides=["listed(room)"], tags=["read_only"])
    domain.action(
        "choose",
        {"room": "room", "tasks": Annotated[list[str], From("listed(room)", "data.tasks")]},
        requires=["listed(room)"],
        provides=["chosen(room)"],
    )
    domain.action("open_ticket", {"room": "room"}, provides=["about(ticket, room)"], creates={"ticket": "ticket"})
    domain.action("close", {"ticket": "ticket", "room": "room"}, requires=["about(ticket, room)"])
    domain.action("file", {"note": "note"}, provides=["filed(note)"], after=["close(_, _)"])
    return domain


OFFICE = office().model
GOOD = {
    "id": "errands",
    "model": "dag",
    "objects": {"r": "robot", "hall": "room", "lab": "room", "memo": "note"},
    "initial": ["at(r, hall)", "door(hall, lab)", "door(lab, hall)"],
    "goal": ["at(r, lab)", "chosen(lab)", "filed(memo)"],
    "steps": [
        {"id": "go", "action": "move", "arguments": {"robot": "r", "origin": "hall", "target": "lab"}},
        {"id": "list", "action": "list_tasks", "arguments": {"room": "lab"}, "parameters": {"limit": 3}},
        {"id": "pick", "action": "choose", "arguments": {"room": "lab"}, "depends_on": ["go"]},
        {"id": "open", "action": "open_ticket", "arguments": {"room": "lab"}, "creates": {"ticket": "t1"}},
        {"id": "shut", "action": "close", "arguments": {"ticket": "t1", "room": "lab"}},
        {"id": "note", "action": "file", "arguments": {"note": "memo"}},
    ],
}
"""A plan that is well formed and valid."""


def changed(*changes):
    """Return the good plan as data, with values set at paths such as `steps.0.action`; `del` takes one out."""
    data = json.loads(json.dumps(GOOD))
    for path, value in changes:
        *parents, last = [int(part) if part.isdecimal() else part for part in path.split(".")]
        part = data
        for each in parents:
            part = part[each]
        if value is DEL:
            del part[last]
        elif isinstance(part, list) and last == len(part):
            part.append(value)
        else:
            part[last] = value
    return data


DEL = object()
MOVE_BACK = {"id": "back", "action": "move", "arguments": {"robot": "r", "origin": "lab", "target": "hall"}}

NO_TIME = [(f"steps.{number}.duration", 0) for number in range(1, 6)]

TABLE = [
    ("nothing is wrong", [], []),
    ("a simile means its action", [("steps.0.action", "Walk")], []),
    (
        "an unknown action",
        [("steps.0.action", "mvoe")],
        [
            "steps[1].action: error: step 'go': there is no action 'mvoe' in domain 'office'; did you mean 'move'? [unknown-action]"
        ],
    ),
    (
        "an unknown action far from all",
        [("steps.0.action", "teleport")],
        ["steps[1].action: error: step 'go': there is no action 'teleport' in domain 'office' [unknown-action]"],
    ),
    (
        "no action of that name, and nothing can be said of what needs it",
        [("steps.1.action", "list_taks")],
        [
            "steps[2].action: error: step 'list': there is no action 'list_taks' in domain 'office'; did you mean 'list_tasks'? [unknown-action]"
        ],
    ),
    (
        "a missing argument",
        [("steps.0.arguments.origin", DEL)],
        [
            "steps[1].arguments: error: step 'go': move(robot, origin, target) lacks the argument 'origin'; name an object of type 'room' [missing-argument]"
        ],
    ),
    (
        "an unknown argument",
        [("steps.0.arguments.speed", "lab")],
        [
            "steps[1].arguments.speed: error: step 'go': move(robot, origin, target) has no parameter 'speed' [unknown-argument]"
        ],
    ),
    (
        "a misspelt argument",
        [("steps.0.arguments.origin", DEL), ("steps.0.arguments.orign", "hall")],
        [
            "steps[1].arguments: error: step 'go': move(robot, origin, target) lacks the argument 'origin'; name an object of type 'room' [missing-argument]",
            "steps[1].arguments.orign: error: step 'go': move(robot, origin, target) has no parameter 'orign'; did you mean 'origin'? [unknown-argument]",
        ],
    ),
    (
        "an unknown object",
        [("steps.0.arguments.target", "lba")],
        [
            "steps[1].arguments.target: error: step 'go': no object is called 'lba'; did you mean 'lab'? [unknown-object]"
        ],
    ),
    (
        "an object of another type",
        [("steps.0.arguments.robot", "hall")],
        ["steps[1].arguments.robot: error: step 'go': 'hall' is 'room', but 'robot' takes 'robot' [type]"],
    ),
    (
        "data among the arguments",
        [("steps.1.arguments.limit", "lab")],
        [
            "steps[2].arguments.limit: error: step 'list': list_tasks(room) has no parameter 'limit'; it is data: write it under 'parameters' [unknown-argument]"
        ],
    ),
    (
        "an object among the data",
        [("steps.1.parameters.room", "lab")],
        [
            "steps[2].parameters.room: error: step 'list': list_tasks has no data parameter 'room'; it is an object: write it under 'arguments' [unknown-parameter]"
        ],
    ),
    (
        "an unknown data parameter",
        [("steps.1.parameters.limti", 4)],
        [
            "steps[2].parameters.limti: error: step 'list': list_tasks has no data parameter 'limti'; did you mean 'limit'? [unknown-parameter]"
        ],
    ),
    (
        "a missing data parameter",
        [("steps.1.parameters", {})],
        ["steps[2].parameters: error: step 'list': list_tasks lacks a value for 'limit' [missing-parameter]"],
    ),
    (
        "data of another type",
        [("steps.1.parameters.limit", "many")],
        [
            "steps[2].parameters.limit: error: step 'list': 'limit' cannot be 'many'; input should be a valid integer, unable to parse string as an integer [type]"
        ],
    ),
    (
        "data of another type inside",
        [("steps.2.parameters", {"tasks": ["sweep", 7]})],
        [
            "steps[3].parameters.tasks[2]: error: step 'pick': 'tasks' cannot be 7; input should be a valid string [type]"
        ],
    ),
    (
        "data that nobody provides",
        [("steps.1.arguments.room", "hall")],
        [
            "steps[3]: error: step 'pick': it requires listed(lab), which is false in the initial state and never provided before [condition]",
            "steps[3].parameters: warning: step 'pick': no step before it provides listed(lab), with which 'tasks' comes; give its value under 'parameters', unless working memory has it [missing-parameter]",
        ],
    ),
    ("a reference instead of it", [("steps.2.parameters", {"tasks": "{{list.data.tasks}}"})], []),
    (
        "a reference to no step",
        [("steps.2.parameters", {"tasks": "{{lst.data.tasks}}"})],
        [
            "steps[3].parameters.tasks: error: step 'pick': {{lst.data.tasks}} refers to 'lst', which is no step; did you mean 'list'? [unknown-step]"
        ],
    ),
    (
        "a reference to a later step",
        [("steps.1.parameters.limit", "{{pick.data.limit}}")],
        [
            "steps[2].parameters.limit: error: step 'list': {{pick.data.limit}} refers to the result of 'pick', which comes after it [later-step]"
        ],
    ),
    (
        "a reference to itself",
        [("steps.1.parameters.limit", "{{list.data.limit}}")],
        [
            "steps[2].parameters.limit: error: step 'list': {{list.data.limit}} refers to the result of this step itself [later-step]"
        ],
    ),
    (
        "a reference to what no result has",
        [("steps.2.parameters", {"tasks": "{{list.dta.tasks}}"})],
        [
            "steps[3].parameters.tasks: error: step 'pick': {{list.dta.tasks}}: a result has no 'dta'; did you mean 'data'? [reference]"
        ],
    ),
    (
        "braces that are no reference",
        [("steps.2.parameters", {"tasks": ["{{list.data.tasks}"]})],
        [
            "steps[3].parameters.tasks: error: step 'pick': '{{list.data.tasks}' holds no reference; write {{step.data.field}} [reference]"
        ],
    ),
    (
        "a dependency on no step",
        [("steps.2.depends_on", ["goo"])],
        [
            "steps[3].depends_on[1]: error: step 'pick': it depends on 'goo', which is no step; did you mean 'go'? [unknown-step]"
        ],
    ),
    (
        "a dependency on itself",
        [("steps.2.depends_on", ["pick"])],
        ["steps[3].depends_on[1]: error: step 'pick': it depends on itself [cycle]"],
    ),
    (
        "a dependency on a later step",
        [("steps.0.depends_on", ["list"])],
        [
            "steps[1].depends_on[1]: error: step 'go': it depends on 'list', which comes after it; list the steps in an order in which they can run [later-step]"
        ],
    ),
    (
        "a cycle",
        [("steps.0.depends_on", ["pick"])],
        [
            "steps[1].depends_on: error: step 'go': 'go' → 'pick' → 'go': each of these waits for the next, so that none begins [cycle]"
        ],
    ),
    (
        "a cycle of three",
        [("steps.0.depends_on", ["shut"]), ("steps.4.depends_on", ["list"]), ("steps.1.depends_on", ["go"])],
        [
            "steps[1].depends_on: error: step 'go': 'go' → 'shut' → 'list' → 'go': each of these waits for the next, so that none begins [cycle]"
        ],
    ),
    (
        "two steps of one id",
        [("steps.1.id", "go")],
        ["steps[2].id: error: step 'go': two steps have the id 'go': it is that of step 1, too [same-id]"],
    ),
    (
        "no placeholder",
        [("steps.3.creates", {})],
        [
            'steps[4].creates: error: step \'open\': open_ticket creates \'ticket\', and the step gives it no placeholder; write "creates": {"ticket": "new-ticket"} [missing-placeholder]',
            "steps[5].arguments.ticket: error: step 'shut': no object is called 't1'; declare it under 'objects' [unknown-object]",
        ],
    ),
    (
        "a placeholder for nothing",
        [("steps.3.creates.page", "p1")],
        [
            "steps[4].creates.page: error: step 'open': open_ticket creates no 'page'; it creates ticket [unknown-argument]"
        ],
    ),
    (
        "a placeholder that is an object",
        [("steps.3.creates.ticket", "memo"), ("steps.4.arguments.ticket", "memo")],
        [
            "steps[4].creates.ticket: error: step 'open': 'memo' is the name of an object already [same-placeholder]",
            "steps[5].arguments.ticket: error: step 'shut': 'memo' is 'note', but 'ticket' takes 'ticket' [type]",
        ],
    ),
    (
        "a placeholder twice",
        [
            (
                "steps.6",
                {"id": "again", "action": "open_ticket", "arguments": {"room": "hall"}, "creates": {"ticket": "t1"}},
            )
        ],
        ["steps[7].creates.ticket: error: step 'again': 't1' is what step 'open' creates already [same-placeholder]"],
    ),
    (
        "something that does not exist yet",
        [
            ("steps.3.creates.ticket", "t2"),
            ("steps.4.arguments.ticket", "t3"),
            (
                "steps.6",
                {"id": "again", "action": "open_ticket", "arguments": {"room": "hall"}, "creates": {"ticket": "t3"}},
            ),
        ],
        [
            "steps[5].arguments.ticket: error: step 'shut': 't3' does not exist yet: step 'again' creates it [later-step]"
        ],
    ),
    (
        "a condition that was retracted",
        [("steps.6", MOVE_BACK), ("steps.7", {**MOVE_BACK, "id": "twice"}), ("goal", [])],
        [
            "steps[8]: error: step 'twice': it requires at(r, lab), which was retracted by step 'back' move(r, lab, hall) [condition]"
        ],
    ),
    (
        "a condition that never held",
        [("steps.0.arguments", {"robot": "r", "origin": "lab", "target": "hall"}), ("goal", [])],
        [
            "steps[1]: error: step 'go': it requires at(r, lab), which is false in the initial state and never provided before [condition]"
        ],
    ),
    (
        "a condition that ended",
        [
            ("steps.6", {"id": "p", "action": "park", "arguments": {"robot": "r"}}),
            ("steps.7", {"id": "q", "action": "park", "arguments": {"robot": "r"}}),
        ],
        [
            "steps[8]: error: step 'q': it requires not parked(r), which ended when step 'p' park(r) provided parked(r) [condition]"
        ],
    ),
    (
        "something that has to run before",
        [("steps.4", DEL)],
        ["steps[5]: error: step 'note': it comes after close(_, _), which has not run before it [condition]"],
    ),
    (
        "the goal is not reached",
        [("goal.3", "parked(r)")],
        [
            "goal.hard: error: at the end, the goal requires parked(r), which is false in the initial state and never provided before [goal]"
        ],
    ),
    (
        "the goal is undone",
        [("steps.6", MOVE_BACK)],
        [
            "goal.hard: error: at the end, the goal requires at(r, lab), which was retracted by step 'back' move(r, lab, hall) [goal]"
        ],
    ),
    (
        "a fact of no predicate",
        [("initial.3", "dor(hall, lab)")],
        ["initial[4]: error: dor(hall, lab): domain 'office' has no predicate 'dor'; did you mean 'door'? [statement]"],
    ),
    (
        "a fact of another type",
        [("initial.0", "at(hall, r)")],
        [
            (
                "initial[1]: error: 'hall' in at(hall, r) is 'room', but predicate 'at' takes 'robot' there; did you mean "
                "'at(r, hall)'? [statement]"
            )
        ],
    ),
    (
        "a goal of no predicate",
        [("goal.0", "att(r, lab)")],
        ["goal.hard[1]: error: att(r, lab): domain 'office' has no predicate 'att'; did you mean 'at'? [statement]"],
    ),
    ("a goal that is no atom", [("goal.0", "at(r, lab")], ["goal.hard[1]: error: 'at(r, lab' lacks a ')' [statement]"]),
    (
        "an object of no type",
        [("objects.cellar", "rom")],
        ["objects.cellar: error: unknown type 'rom'; did you mean 'room'? [statement]"],
    ),
    (
        "a condition of a step that never held",
        [("steps.1.requires", ["at(r, hall)"])],
        [
            "steps[2].requires: error: step 'list': it requires at(r, hall), which was retracted by step 'go' move(r, hall, lab) [condition]"
        ],
    ),
    (
        "a condition of a step that is none",
        [("steps.1.requires", ["at(r, cellar)"])],
        ["steps[2].requires[1]: error: step 'list': 'cellar' in at(r, cellar) is no object of the problem [condition]"],
    ),
    (
        "what a step expects holds for others",
        [("steps.1.expects", ["parked(r)"]), ("steps.2.requires", ["parked(r)"])],
        [],
    ),
    (
        "a step expects what its action ends",
        [("steps.0.expects", ["at(r, hall)"])],
        ["steps[1].expects: error: step 'go': it is to leave at(r, hall), but its action ends at(r, hall) [expects]"],
    ),
    (
        "a step expects what does not come",
        [("steps.1.expects", ["(or (parked r) (filed memo))"])],
        [
            "steps[2].expects: error: step 'list': it is to leave parked(r) or filed(memo), which does not hold in this state [condition]"
        ],
    ),
    (
        "a lock on no parameter",
        [("steps.0.policy", {"lock": ["robto"]})],
        [
            "steps[1].policy.lock: error: step 'go': move(robot, origin, target) has no parameter 'robto' to lock; did you mean 'robot'? [unknown-argument]"
        ],
    ),
    (
        "answers kept of what is not only read",
        [("steps.0.policy", {"cache_for": 5})],
        [
            "steps[1].policy.cache_for: error: step 'go': cache_for needs a read-only action, and move is not tagged read_only [cache]"
        ],
    ),
    (
        "too dear",
        [("metadata", {"constraints": {"cost": 6}})],
        ["metadata.constraints.cost: error: the plan is thought to cost 7, and no more than 6 is allowed [limit]"],
    ),
    (
        "too long",
        [("metadata", {"constraints": {"duration": 4}}), *NO_TIME],
        [
            "metadata.constraints.duration: error: the plan is thought to take 5 s, and no more than 4 s is allowed [limit]"
        ],
    ),
    (
        "nobody knows how long",
        [("metadata", {"constraints": {"duration": 60}})],
        [
            "metadata.constraints.duration: warning: nothing says how long these steps take, and they count as no time: list, pick, open, shut, note; give actions or steps a duration [duration]"
        ],
    ),
    (
        "estimated to be too long",
        [("metadata", {"estimated_duration": 90, "constraints": {"duration": 60}}), *NO_TIME],
        [
            "metadata.constraints.duration: error: the plan is thought to take 90 s, and no more than 60 s is allowed [limit]"
        ],
    ),
    (
        "too many tokens",
        [("metadata", {"constraints": {"tokens": 100}}), ("steps.1.tokens", 60), ("steps.2.tokens", 60)],
        [
            "metadata.constraints.tokens: error: the plan is thought to take 120 tokens, and no more than 100 tokens is allowed [limit]"
        ],
    ),
    (
        "a policy, of nothing",
        [("model", "policy")],
        [
            "model: error: the execution model is policy, but the plan does not say what it follows; choose another model, or give its policy [policy]"
        ],
    ),
    (
        "hierarchical, of nothing",
        [("model", "hierarchical")],
        [
            "model: error: the execution model is hierarchical, but the plan does not say what it came of; choose another model, or give its decomposition [decomposition]"
        ],
    ),
    (
        "of other steps",
        [("decomposition", {"roots": [0], "nodes": [{"task": "move", "arguments": ["r", "hall", "lab"], "step": 1}]})],
        [
            "decomposition: error: the decomposition does not lead to the steps of the plan; leave it out, with another execution model [decomposition]"
        ],
    ),
    (
        "two things at once",
        [("steps.0.action", "mvoe"), ("steps.1.parameters.limit", "many"), ("steps.3.depends_on", ["x"])],
        [
            "steps[1].action: error: step 'go': there is no action 'mvoe' in domain 'office'; did you mean 'move'? [unknown-action]",
            "steps[2].parameters.limit: error: step 'list': 'limit' cannot be 'many'; input should be a valid integer, unable to parse string as an integer [type]",
            "steps[4].depends_on[1]: error: step 'open': it depends on 'x', which is no step; the steps are go, list, pick, open, shut, note [unknown-step]",
        ],
    ),
    (
        "no such field",
        [("steps.0.argument", {})],
        ["steps[1].argument: error: step 'go': steps[1] has no key 'argument'; did you mean 'arguments'? [form]"],
    ),
    ("no id", [("steps.0.id", DEL)], ["steps[1]: error: steps[1] lacks the key 'id' [form]"]),
    (
        "an id that cannot be referred to",
        [("steps.0.id", "go there")],
        [
            "steps[1].id: error: step 'go there': steps[1].id: found the text 'go there', expected a name without spaces, dots and braces [form]"
        ],
    ),
    (
        "no such model",
        [("model", "concurrent")],
        [
            "model: error: model: found the text 'concurrent', input should be 'sequential', 'parallel', 'dag', 'reactive', 'hierarchical', 'policy' or 'timed' [form]"
        ],
    ),
    (
        "several malformed fields",
        [("model", 5), ("steps.0.arguments.robot", 7), ("steps.1.duration", -1)],
        [
            "steps[1].arguments.robot: error: step 'go': steps[1].arguments.robot: found the number 7, expected a text [form]",
            "steps[2].duration: error: step 'list': steps[2].duration: found the number -1, input should be greater than or equal to 0 [form]",
            "model: error: model: found the number 5, input should be 'sequential', 'parallel', 'dag', 'reactive', 'hierarchical', 'policy' or 'timed' [form]",
        ],
    ),
    (
        "steps that are no list",
        [("steps", {"id": "a"})],
        ["steps: error: steps: found a mapping, expected a list [form]"],
    ),
]


@pytest.mark.parametrize(("changes", "said"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_all_that_is_wrong_is_said(changes, said):
    _, found = read_plan(changed(*changes), OFFICE)
    assert [str(each) for each in found] == said


def test_findings_have_places_in_the_file(tmp_path):
    path = tmp_path / "plan.json"
    data = changed(("steps.0.action", "mvoe"), ("steps.1.parameters.limit", "many"), ("steps.2.depends_on", ["goo"]))
    path.write_text(json.dumps(data, indent=1))
    plan, found = read_plan(path, OFFICE)
    assert plan == ActionPlan.model_validate(data)
    lines = path.read_text().splitlines()
    said = [(each.location.source, lines[each.location.line - 1].strip()) for each in found]
    assert said == [(str(path), '"action": "mvoe",'), (str(path), '"limit": "many"'), (str(path), '"goo"')]
    assert str(found[0]).startswith(f"{path}:{found[0].location.line}:{found[0].location.column}: error: step 'go'")


def test_malformed_fields_have_places_too():
    text = '{\n "goal": ["at(r, lab)"],\n "steps": [\n  {"id": "a b", "action": "move"},\n  {"action": 7}]\n}'
    plan, found = read_plan(text, OFFICE)
    assert plan is None
    assert [(each.path, each.location.line, each.location.column) for each in found] == [
        (("steps", 0, "id"), 4, 4),
        (("steps", 1), 5, 3),
        (("steps", 1, "action"), 5, 4),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"goal": [}', "<text>:1:11: error: this is no JSON: expecting value [no-plan]"),
        ('{"id": "a", "id": "b"}', "the key 'id' stands twice"),
        ("[1, 2]\n", "a plan is one mapping"),
        ("steps: [\n", "error"),
        ("nowhere.json", "nowhere.json"),
    ],
)
def test_what_is_no_plan_is_said_to_be_none(text, said):
    plan, found = read_plan(text, OFFICE)
    assert plan is None
    assert [each.rule for each in found] == ["no-plan"]
    assert said in str(found[0])


def test_yaml_is_read_with_its_places():
    text = (
        "goal: chosen(lab)\nobjects: {lab: room}\nsteps:\n"
        "- {id: a, action: list_tasks, arguments: {room: lab}, parameters: {limit: 0.5}}\n"
        "- {id: b, action: choose, arguments: {room: lba}}\n"
    )
    plan, found = read_plan(text, OFFICE)
    assert plan.steps[0].parameters == {"limit": 0.5}
    assert [(each.rule, each.step, each.location.line) for each in found] == [
        ("type", "a", 4),
        ("unknown-object", "b", 5),
    ]


def test_handlers_are_missing_only_where_steps_need_them():
    world = World(office())
    for name in ("move", "choose", "close", "file"):
        world.handler(name)(lambda **_: None)
    found = check_plan(ActionPlan.model_validate(GOOD), world)
    assert [(each.rule, each.step) for each in found] == [("no-handler", "list"), ("no-handler", "open")]


def test_memory_and_a_language_model_fill_parameters():
    plan = ActionPlan.model_validate(changed(("steps.1.parameters", {})))
    assert [each.rule for each in check_plan(plan, OFFICE)] == ["missing-parameter"]
    assert check_plan(plan, OFFICE, memory=["limit"]) == check_plan(plan, OFFICE, model=True) == []


def test_conditions_on_what_is_unknown_are_not_judged():
    wrong = changed(("initial", ["door(hall, lab)"]))
    assert [each.step for each in errors_in(check_plan(ActionPlan.model_validate(wrong), OFFICE))] == ["go"]
    plan = ActionPlan.model_validate({**wrong, "unknown": ["at(r, _)"]})
    assert check_plan(plan, OFFICE) == []


def test_estimates_follow_the_execution_model():
    plan = ActionPlan.model_validate(changed(*[(f"steps.{number}.duration", number) for number in range(1, 6)]))
    problem = plan.problem(OFFICE)
    assert estimate(problem, plan.steps, "sequential").duration == 5 + 1 + 2 + 3 + 4 + 5
    assert estimate(problem, plan.steps, "dag").duration == 3 + 4 + 5
    assert estimate(problem, plan.steps, "parallel").duration == max(5, 1, 3) + max(2, 4) + 5
    assert estimate(problem, plan.steps).cost == 2 + 1 + 1 + 1 + 1 + 1


def test_the_good_plan_is_valid_to_the_planner():
    plan = ActionPlan.model_validate(GOOD)
    problem = plan.problem(OFFICE)
    assert validate(problem, [each.step(OFFICE) for each in plan.steps]).valid


def test_names_are_looked_for_as_long_as_somebody_reads_it(monkeypatch):
    """Each look goes through all names, so that a plan with a mistake in each step would take the square of them."""
    looks = []
    monkeypatch.setattr(
        plan_findings, "did_you_mean", lambda name, known: looks.append(name) or did_you_mean(name, known)
    )
    steps = [{"id": f"s{number}", "action": "rest", "depends_on": [f"s{number}x"]} for number in range(300)]
    domain = Domain("idle")
    domain.action("rest", {}, provides=["rested"])
    found = check_plan(ActionPlan.model_validate({"steps": steps}), domain)
    assert len(found) == 300
    assert found[0].hint == "did you mean 's0'?"
    assert (len(looks), found[-1].hint) == (plan_findings.MOST, "the steps are s0, s1, s2, s3, s4, s5, s6, s7")


@pytest.mark.parametrize(("fields", "empty"), [({}, True), ({"goal": ["rested"], "initial": ["rested"]}, False)])
def test_a_plan_of_which_nothing_can_come_is_told(fields, empty):
    domain = Domain("idle")
    domain.action("rest", {}, provides=["rested"])
    found = check_plan(ActionPlan.model_validate(fields), domain)
    assert [each.rule for each in found] == (["empty"] if empty else [])


@pytest.mark.parametrize("status", ["proposed", "active", "completed", "abandoned"])
def test_a_plan_that_is_over_is_not_run_again(status):
    plan = ActionPlan.model_validate({"status": status, "steps": [{"id": "1", "action": "tidy"}]})
    domain = Domain("home")
    domain.action("tidy", {}, provides=["tidy"])
    over = status in ("completed", "abandoned")
    assert [each.rule for each in errors_in(check_plan(plan, domain))] == ["status"] * over


def test_plans_that_were_found_say_how_long_they_take_where_all_actions_do():
    domain = Domain("home", types=["room"])
    domain.action("sweep", {"room": "room"}, provides=["swept(room)"], duration=5)
    domain.action("air", {"room": "room"}, provides=["aired(room)"])
    rooms = {"hall": "room", "attic": "room"}
    found = solve(domain.problem(objects=rooms, goal=["swept(hall)", "swept(attic)"]))
    assert ActionPlan.of(found).metadata.estimated_duration == 10
    assert ActionPlan.of(found, model="dag").metadata.estimated_duration == 5
    assert ActionPlan.of(found, model="dag").metadata.created is not None
    found = solve(domain.problem(objects=rooms, goal=["swept(hall)", "aired(attic)"]))
    assert ActionPlan.of(found).metadata.estimated_duration is None
