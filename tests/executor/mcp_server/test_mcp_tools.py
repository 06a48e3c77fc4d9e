"""The tools of the MCP server, called by the SDK's own client in this process, in both ages of the protocol."""

from __future__ import annotations

import asyncio
import json
import time

import jsonschema
import pytest
from mcp_setting import LONG, MODES, call, fail, make_server, sliding_problem, talk, until, write_parcels, write_real
from mcp_types import ElicitResult

from domains import travel
from executor.mcp_server.call_limits import CallLimits
from htn.language.plan_text import write_plan
from planner import Step, load, solve, validate
from planner.cli import main

pytestmark = pytest.mark.parametrize("mode", MODES)
PLAN = ["go(lobby, lab)", "take(box, lab)", "go(lab, lobby)", "hand_over(box)"]


@pytest.fixture
def parcels(tmp_path):
    return make_server(write_parcels(tmp_path))[0]


def replay(problem, steps):
    return validate(problem, [Step(each["action"], tuple(each["arguments"])) for each in steps])


def test_every_tool_has_schemas_and_hints_and_keeps_them(parcels, mode) -> None:
    async def look(client):
        tools = {each.name: each for each in (await client.list_tools()).tools}
        answers = {
            "describe": {},
            "plan": {},
            "candidates": {},
            "validate": {"steps": PLAN},
            "explain": {"steps": PLAN},
            "why_not": {"question": "without go"},
            "repair": {"steps": PLAN[1:]},
            "applicable": {},
            "progress": {"steps": PLAN},
            "landmarks": {},
            "relevant": {},
            "reachable": {},
            "simplify": {"steps": PLAN},
            "first_steps": {},
            "run": {},
            "state": {},
        }
        assert set(tools) == set(answers) | {"answer", "resume"}
        for name, arguments in answers.items():
            jsonschema.validate(arguments, tools[name].input_schema)
            jsonschema.validate(await call(client, name, **arguments), tools[name].output_schema)
        return tools

    tools = talk(parcels, look, mode=mode)
    acting = {"run", "answer", "resume"}
    assert {name for name, each in tools.items() if not each.annotations.read_only_hint} == acting
    assert not any(tools[name].annotations.destructive_hint for name in acting), "the world is simulated"
    assert all(each.description for each in tools.values())


def test_plans_are_proved_and_valid_also_for_other_goals_and_states(parcels, mode, tmp_path) -> None:
    problem = load(tmp_path / "parcels.yaml")

    async def ask(client):
        own = await call(client, "plan")
        other = await call(client, "plan", about={"goal": ["has(box)"], "state": ["at(lab)", "lies(box, lab)"]})
        more = await call(client, "candidates", number=2)
        return own, other, more

    own, other, more = talk(parcels, ask, mode=mode)
    assert own["status"] == "OPTIMAL"
    assert own["cost"] == own["lower_bound"] == 6
    assert replay(problem, own["steps"]).valid
    assert other["steps"] == [{"action": "take", "arguments": ["box", "lab"], "cost": 1}]
    assert all(replay(problem, each["steps"]).valid for each in more["candidates"])


def test_plans_of_others_are_judged_explained_and_repaired(parcels, mode, tmp_path) -> None:
    problem = load(tmp_path / "parcels.yaml")

    async def ask(client):
        wrong = await call(client, "validate", steps=PLAN[1:])
        why = await call(client, "explain", steps=PLAN)
        mended = await call(client, "repair", steps="1. take box\n2. hand_over(box)")
        lacks = await call(client, "why_not", step="take(box, lab)")
        locked = await call(client, "why_not", about={"problem": "locked"})
        return wrong, why, mended, lacks, locked

    wrong, why, mended, lacks, locked = talk(parcels, ask, mode=mode)
    assert not wrong["valid"]
    assert (wrong["failing_step"], wrong["condition"]) == (1, "at(lab)")
    assert "hand_over" in why["text"]
    assert mended["status"] == "REPAIRED"
    assert replay(problem, mended["steps"]).valid
    assert lacks["data"]["condition"] == "at(lab)"
    assert locked["data"]["solvable"] is False
    assert "cannot be reached" in locked["text"]


def test_why_not_otherwise_is_answered_as_the_command_answers(parcels, mode, tmp_path, capsys) -> None:
    roundabout = [*PLAN[:3], "go(lobby, lab)", "go(lab, lobby)", PLAN[3]]

    async def ask(client):
        dearer = await call(client, "why_not", question="if not door(lobby, lab)")
        order = await call(client, "why_not", question="why take before hand_over")
        cheaper = await call(client, "why_not", question="cheaper", steps=roundabout)
        own = await call(client, "why_not", question="without go", about={"state": ["at(lobby)", "has(box)"]})
        return dearer, order, cheaper, own

    closed, order, cheaper, own = talk(parcels, ask, mode=mode)
    assert (closed["data"]["outcome"], closed["data"]["proved"]) == ("IMPOSSIBLE", True)
    assert "2. take(box, lab) comes before 4. hand_over(box), as it provides has(box) for it." in order["text"]
    assert (cheaper["data"]["outcome"], cheaper["data"]["extra"]) == ("CHEAPER", -4)
    assert own["data"]["outcome"] == "SAME"
    with pytest.raises(SystemExit):
        main(
            ["explain", str(tmp_path / "parcels.yaml"), "one", "--what-if", "not door(lobby, lab)", "--json", "--quiet"]
        )
    assert json.loads(capsys.readouterr().out) == closed["data"]


def test_why_not_otherwise_is_answered_for_tasks(mode) -> None:
    plan = write_plan(solve(travel.problems()["board"]).expect_plan())

    async def ask(client):
        best = await call(client, "why_not", question="by method by_train and without fly")
        mine = await call(client, "why_not", question="without step 1", steps=plan)
        wrong = await fail(client, "why_not", question="by method by_trian")
        return best, mine, wrong

    best, mine, wrong = talk(make_server("travel", "board")[0], ask, mode=mode)
    assert best["data"]["plan"]["decomposition"]
    assert best["data"]["proved"]
    assert mine["data"]["reasons"][0].startswith("Step 1, ")
    assert "did you mean 'by_train'" in wrong


def test_states_steps_and_landmarks(parcels, mode) -> None:
    async def ask(client):
        applicable = await call(client, "applicable", about={"state": ["at(lab)", "lies(box, lab)"]})
        partly = await call(client, "progress", steps=[*PLAN[:2], "hand_over(box)"])
        whole = await call(client, "progress", steps=PLAN)
        landmarks = await call(client, "landmarks")
        relevant = await call(client, "relevant")
        return applicable, partly, whole, landmarks, relevant

    applicable, partly, whole, landmarks, relevant = talk(parcels, ask, mode=mode)
    assert applicable == {
        "steps": [{"action": "take", "arguments": ["box", "lab"], "cost": 1}],
        "total": 1,
        "complete": True,
    }
    assert partly["failing_step"] == 3
    assert partly["changes"][1] == {"step": "take(box, lab)", "added": ["has(box)"], "removed": ["lies(box, lab)"]}
    assert whole["goal_reached"]
    assert "delivered(box)" in whole["state"]
    assert "has(box)" in [each["fact"] for each in landmarks["landmarks"]]
    assert landmarks["complete"]
    assert relevant["actions"][0]["needed"]


def test_questions_about_what_can_be_reached_left_out_and_done_first(parcels, mode) -> None:
    async def ask(client):
        locked = {"problem": "locked"}
        asked = await call(client, "reachable", facts=["at(lab)", "has(box)"], steps=["go(lab, lobby)"], about=locked)
        everything = await call(client, "reachable", about=locked)
        lean = await call(client, "simplify", steps=["go(lobby, lab)", "go(lab, lobby)", *PLAN])
        first = await call(client, "first_steps")
        return asked, everything, lean, first

    asked, everything, lean, first = talk(parcels, ask, mode=mode)
    assert [each["reachable"] for each in asked["answers"]] == [False, False, False]
    assert "at(lab)" in everything["unreachable_facts"]
    assert "take(box, lab)" in everything["unreachable_steps"]
    assert (lean["plan"], lean["removed"], lean["least"]) == (PLAN, [0, 1], True)
    assert first["steps"] == ["go(lobby, lab)"]


def test_problems_come_as_text_of_either_language(parcels, mode) -> None:
    pddl = {"domain_text": LONG, "problem_text": sliding_problem(2)}
    text = "problem: q\ndomain: parcels\nobjects: {lab: room}\ninitial: [at(lab)]\ngoal: [at(lab)]"
    yaml = {"problem_text": text}

    async def ask(client):
        wrong = await fail(client, "plan", about={"domain_text": LONG.replace("(blank ?q)", "(blank ?z)")})
        return await call(client, "plan", about=pddl), await call(client, "plan", about=yaml), wrong

    sliding, empty, wrong = talk(parcels, ask, mode=mode)
    assert sliding["status"] in ("OPTIMAL", "UNSOLVABLE")
    assert empty["steps"] == []
    assert "<domain text>:4" in wrong


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("plan", {"about": {"problem": "../secret"}}, "there is no problem '../secret'"),
        ("plan", {"about": {"goal": ["deliverd(box)"]}}, "deliverd"),
        ("plan", {"about": {"state": ["at(moon)"]}}, "moon"),
        ("plan", {"about": {"objects": {"b2": "parcl"}}}, "unknown type 'parcl'"),
        ("plan", {"about": {"objects": {"box": "room"}}}, "already"),
        ("plan", {"about": {"domain_text": "/etc/passwd"}}, "no domain"),
        ("plan", {"about": {"gaol": []}}, "`about.gaol` is no argument"),
        ("plan", {"mode": "quick"}, "mode"),
        ("plan", {"time_limit": -1}, "time_limit"),
        ("plan", {"abuot": {}}, "abuot"),
        ("plan", {"about": {"domain_text": "(define (domain x)"}}, "<domain text>:1"),
        ("plan", {"about": {"domain_text": ""}}, ""),
        ("plan", {"about": {"problem_text": "\x00"}}, ""),
        ("plan", {"about": {"problem": "one", "problem_text": "(define)"}}, "both"),
        ("candidates", {"number": 0}, "number"),
        ("validate", {"steps": 7}, "steps"),
        ("validate", {}, "`steps` is missing"),
        ("validate", {"steps": ["fly(box)"]}, "fly"),
        ("repair", {"steps": [{"colour": "red"}]}, "names no action"),
        ("explain", {"steps": ["hand_over(box)"]}, "requires has(box)"),
        ("why_not", {"step": ["take(box, lab)", "go(lab, lobby)"]}, "one step"),
        ("why_not", {"question": "by lorry"}, "no action or object 'lorry'"),
        ("why_not", {"question": "cheaper", "step": "go(lobby, lab)"}, "both `step` and `question`"),
        ("why_not", {"question": "cheaper", "steps": ["go(lobby, lab)"]}, "this plan is not valid"),
        ("why_not", {"steps": ["go(lobby, lab)"]}, "no question is about it"),
        ("progress", {"steps": "(" * 5000}, ""),
        ("run", {"about": {"domain_text": LONG}}, "served domain"),
        ("run", {"about": {"problem": "locked"}}, "no plan"),
        ("run", {"name": "../../x"}, "no name of a run"),
        ("run", {"steps": ["fly(box)"]}, "fly"),
        ("run", {"memory": 5}, "`memory` must be an object"),
        ("run", {"again": "x"}, "`again` must be an array"),
        ("run", {"name": 7}, "`name` must be a string"),
        ("run", {"join": "perhaps"}, "`join` must be true or false"),
        ("state", {"run": "nobody"}, "no run 'nobody'"),
        ("resume", {"run": "nobody"}, "no run 'nobody'"),
        ("answer", {"run": "nobody", "question": "q", "answer": 1}, "no run 'nobody'"),
        ("no_such_tool", {}, "no_such_tool"),
    ],
)
def test_mistakes_are_errors_of_tools_with_our_words(parcels, mode, tool, arguments, words) -> None:
    async def ask(client):
        text = await fail(client, tool, **arguments)
        assert (await call(client, "plan"))["status"] == "OPTIMAL", "the server goes on"
        return text

    text = talk(parcels, ask, mode=mode)
    assert words in text
    assert "Error executing tool" not in text
    assert len(text) < 1000


def test_questions_are_data_for_clients_that_cannot_ask(parcels, mode) -> None:
    async def ask(client):
        waiting = await call(client, "run", name="r1")
        refused = await fail(client, "run", name="r1")
        wrong = await fail(client, "answer", run="r1", question="approve:nothing", answer="yes")
        early = {waiting["questions"][0]["step"]: True}
        assert "answer that, and give no result" in await fail(client, "resume", run="r1", results=early)
        stated = await call(client, "state", run="r1")
        [question] = waiting["questions"]
        done = await call(client, "answer", run="r1", question=question["question"], answer="yes")
        again = await call(client, "resume", run="r1")
        return waiting, refused, wrong, stated, done, again, await call(client, "state")

    waiting, refused, wrong, stated, done, again, everything = talk(parcels, ask, mode=mode)
    assert waiting["status"] == "WAITING"
    assert waiting["questions"][0]["choices"] == ["yes", "no"]
    assert [each["status"] for each in waiting["steps"]][:3] == ["SUCCEEDED"] * 3
    assert "already a run" in refused
    assert "nobody has asked" in wrong
    assert stated["runs"][0]["status"] == "WAITING"
    assert (done["status"], done["goal_holds"]) == ("SUCCEEDED", True)
    assert again["status"] == "SUCCEEDED"
    assert everything["runs"] == [{"run": "r1", "status": "SUCCEEDED"}]


@pytest.mark.parametrize(
    ("action", "content", "status"),
    [
        ("accept", {"answer": "yes"}, "SUCCEEDED"),
        ("accept", {"answer": "no"}, "FAILED"),
        ("decline", None, "WAITING"),
        ("cancel", None, "WAITING"),
    ],
)
def test_people_are_asked_by_clients_that_can(parcels, mode, action, content, status) -> None:
    asked = []

    async def elicit(_, params):
        asked.append(params)
        return ElicitResult(action=action, content=content)

    async def ask(client):
        return await call(client, "run")

    ended = talk(parcels, ask, mode=mode, elicitation_callback=elicit)
    assert ended["status"] == status
    if action == "decline":
        assert "refused" in str(ended["steps"])
    assert "May hand_over(box) be done" in asked[0].message
    assert asked[0].requested_schema["properties"]["answer"]["enum"] == ["yes", "no"]


def test_progress_is_told_and_grows(parcels, mode) -> None:
    told = []

    async def progress(done, total, message):
        told.append((done, total, message))

    async def ask(client):
        await client.call_tool("run", {}, progress_callback=progress)

    talk(parcels, ask, mode=mode)
    numbers = [done for done, _, _ in told]
    assert numbers == sorted(set(numbers))
    assert any("take(box, lab)" in message for _, _, message in told)
    assert told[-1][1] == 4


def test_a_cancelled_search_ends_and_leaves_its_turn(tmp_path, mode) -> None:
    server, _ = make_server(write_parcels(tmp_path), limits=CallLimits(concurrent=1, time_limit=50))
    about = {"domain_text": LONG, "problem_text": sliding_problem()}

    async def ask(client):
        began = time.monotonic()
        task = asyncio.ensure_future(client.call_tool("plan", {"about": about, "mode": "optimal"}))
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        found = await call(client, "plan")
        return found, time.monotonic() - began

    found, seconds = talk(server, ask, mode=mode)
    assert found["status"] == "OPTIMAL"
    assert seconds < 40, "the turn of the cancelled call was free again"


def test_a_time_limit_is_a_result(parcels, mode) -> None:
    about = {"domain_text": LONG, "problem_text": sliding_problem()}

    async def ask(client):
        return await call(client, "plan", about=about, mode="optimal", time_limit=0.5)

    found = talk(parcels, ask, mode=mode)
    assert (found["status"], found["stopped_by"]) == ("UNKNOWN", "time")


def test_calls_at_once_give_what_they_give_alone(parcels, mode) -> None:
    async def ask(client):
        tools = ["plan", "landmarks", "applicable", "candidates", "describe", "relevant"] * 5
        return await asyncio.gather(*[call(client, tool) for tool in tools])

    found = talk(parcels, ask, mode=mode)
    assert [each["status"] for each in found[::6]] == ["OPTIMAL"] * 5
    assert all(found[place] == found[place % 6] for place in range(1, 30) if place % 6)


def test_limits_refuse_with_a_reason(tmp_path, mode) -> None:
    limits = CallLimits(concurrent=1, waiting=0, rate=4, size=2000)
    server, _ = make_server(write_parcels(tmp_path), limits=limits)
    about = {"domain_text": LONG, "problem_text": sliding_problem()}

    async def ask(client):
        huge = await fail(client, "plan", about=about)
        deep = await fail(client, "validate", steps=[{"action": "go", "arguments": _nest(200)}])
        await call(client, "describe")
        both = await asyncio.gather(*[client.call_tool("plan", {}) for _ in range(2)])
        last = await client.call_tool("describe", {})
        return huge, deep, both, last, await fail(client, "describe")

    huge, deep, both, last, many = talk(server, ask, mode=mode)
    assert "longer than 2,000" in huge
    assert "nested" in deep
    assert sorted(each.is_error for each in both) == [False, True]
    assert not last.is_error
    assert "4 calls in a minute" in many


def _nest(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


def test_a_cancelled_run_of_real_handlers_begins_no_more_steps_and_goes_on_later(tmp_path, mode) -> None:
    domain = write_real(tmp_path, 0.4)
    server, runs = make_server(domain, is_real=True)
    log = tmp_path / "log.txt"

    async def ask(client):
        task = asyncio.ensure_future(client.call_tool("run", {"name": "r"}))
        await until(log.exists)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await runs.interrupt_all()
        stopped = await call(client, "state", run="r")
        before = log.read_text(encoding="utf-8")
        return stopped, before, await call(client, "resume", run="r")

    stopped, before, ended = talk(server, ask, mode=mode)
    assert stopped["runs"][0]["status"] == "WAITING"
    assert before == "begin first x\nend first x\n"
    assert ended["status"] == "SUCCEEDED"
    lines = log.read_text(encoding="utf-8").split("\n")
    assert [each for each in lines if each.startswith("begin")] == ["begin first x", "begin second x", "begin third x"]


def test_equal_runs_of_real_handlers_at_once_are_one_run_also_if_one_client_leaves(tmp_path, mode) -> None:
    server, _ = make_server(write_real(tmp_path, 0.4), is_real=True)
    log = tmp_path / "log.txt"

    async def ask(client):
        first, *others = [asyncio.ensure_future(call(client, "run")) for _ in range(3)]
        await until(log.exists)
        first.cancel()
        return await asyncio.gather(*others), await call(client, "state")

    (one, other), stated = talk(server, ask, mode=mode)
    assert (one["run"], one["status"], other["status"]) == (other["run"], "SUCCEEDED", "SUCCEEDED")
    assert len(stated["runs"]) == 1
    assert log.read_text(encoding="utf-8").count("begin") == 3


def test_an_action_with_endless_instances_is_counted_no_further_than_a_limit(parcels, mode) -> None:
    variables = " ".join(f"?v{number}" for number in range(12))
    domain = f"(define (domain many) (:action a :parameters ({variables}) :effect (p)) (:predicates (p)))"
    objects = " ".join(f"o{number}" for number in range(60))
    problem = f"(define (problem m) (:domain many) (:objects {objects}) (:init) (:goal (p)))"
    about = {"domain_text": domain, "problem_text": problem}

    async def ask(client):
        return await call(client, "applicable", about=about, most=3), await call(
            client, "plan", about=about, time_limit=1
        )

    listed, planned = talk(parcels, ask, mode=mode)
    assert (len(listed["steps"]), listed["complete"]) == (3, False)
    assert planned["status"] in ("OPTIMAL", "SOLVED", "UNKNOWN")


def test_a_client_that_fails_to_ask_gets_the_question_as_data(parcels, mode) -> None:
    async def elicit(*_):
        raise RuntimeError("no person is here")

    async def ask(client):
        result = await client.call_tool("run", {"name": "r"})
        return result, await call(client, "state", run="r")

    if mode == "auto":  # the client itself ends the call, before the server is asked again
        with pytest.raises(BaseException, match=r"."):
            talk(parcels, ask, mode=mode, elicitation_callback=elicit)
        return
    result, state = talk(parcels, ask, mode=mode, elicitation_callback=elicit)
    assert result.structured_content["status"] == "WAITING"
    assert state["runs"][0]["questions"]


def test_a_person_who_thinks_keeps_nobody_from_planning(tmp_path, mode) -> None:
    if mode == "auto":
        return  # since 2026 the server has ended the call by then
    server, _ = make_server(write_parcels(tmp_path), limits=CallLimits(concurrent=1))
    asked, answered = asyncio.Event(), asyncio.Event()

    async def elicit(*_):
        asked.set()
        await answered.wait()
        return ElicitResult(action="accept", content={"answer": "yes"})

    async def ask(client):
        running = asyncio.ensure_future(client.call_tool("run", {}))
        await asked.wait()
        found = await call(client, "plan")
        answered.set()
        return found, (await running).structured_content

    found, ended = talk(server, ask, mode=mode, elicitation_callback=elicit)
    assert found["status"] == "OPTIMAL"
    assert ended["status"] == "SUCCEEDED"


ASKING = """
from executor import Wait, World
from planner import Domain

desk = Domain("desk")
desk.action("ask_ada", provides=["agreed"])
world, said = World(desk), []
world.handler("ask_ada")(lambda: Wait("Does Ada agree?", choices=("she does", "she does not")))
problem = desk.problem("one", goal=["agreed"])
"""


def test_a_step_that_waits_for_a_choice_is_asked_for_too(tmp_path, mode) -> None:
    (tmp_path / "desk.py").write_text(ASKING, encoding="utf-8")
    asked = []

    async def elicit(_, params):
        asked.append(params)
        return ElicitResult(action="accept", content={"answer": "she does"})

    async def ask(client):
        return await call(client, "run")

    ended = talk(make_server(tmp_path / "desk.py", is_real=True)[0], ask, mode=mode, elicitation_callback=elicit)
    assert ended["steps"][0]["status"] == "UNVERIFIED", "nobody can see whether Ada agrees"
    assert "Does Ada agree?" in asked[0].message
    assert asked[0].requested_schema["properties"]["answer"]["enum"] == ["she does", "she does not"]
    waiting = talk(make_server(tmp_path / "desk.py", is_real=True)[0], ask, mode=mode)
    assert waiting["waits"][0]["choices"] == ["she does", "she does not"]


def test_working_memory_is_given_to_a_run(tmp_path, mode) -> None:
    path = tmp_path / "inn.py"
    path.write_text(
        "import pathlib\n"
        "from executor import World\n"
        "from planner import Domain\n"
        "inn = Domain('inn')\n"
        "inn.action('book', {'guest': str}, provides=['booked'], tags=['trusted'])\n"
        "world = World(inn)\n"
        "world.handler('book')(lambda guest: pathlib.Path(__file__).with_suffix('.seen').write_text(guest))\n"
        "problem = inn.problem(goal=['booked'])\n",
        encoding="utf-8",
    )
    server, _ = make_server(path, is_real=True)

    async def ask(client):
        return await call(client, "run", memory={"guest": "Ada"})

    assert talk(server, ask, mode=mode)["status"] == "SUCCEEDED"
    assert path.with_suffix(".seen").read_text(encoding="utf-8") == "Ada"


KITCHEN = """
domain: kitchen
types: {cup: object}
actions:
  boil: {parameters: {c: cup}, provides: ["hot(c)"], duration: 3}
  brew: {parameters: {c: cup}, requires: ["hot(c)"], provides: ["tea(c)"], duration: 2}
tasks: {make: {parameters: {c: cup}}}
methods: {boil-it: {task: "make(c)", parameters: {c: cup}, subtasks: ["boil(c)", "brew(c)"]}}
---
problem: tea
domain: kitchen
objects: {a: cup}
tasks: ["make(a)"]
deadline: 30
"""


def test_plans_of_tasks_in_time_are_repaired_whole(mode, tmp_path) -> None:
    (tmp_path / "kitchen.yaml").write_text(KITCHEN)

    async def ask(client):
        return await call(client, "repair", steps=["brew(a)"]), await call(client, "plan")

    mended, made = talk(make_server(tmp_path / "kitchen.yaml")[0], ask, mode=mode)
    assert (mended["status"], mended["inserted"], mended["kept"]) == ("REPAIRED", [0], [0])
    assert [(each["action"], each["start"], each["duration"]) for each in mended["steps"]] == [
        ("boil", 0, 3),
        ("brew", 3.001, 2),
    ]
    assert mended["decomposition"]["roots"] == made["decomposition"]["roots"]
    assert mended["makespan"] == 5.001
