"""`forethought serve`, asked over HTTP: answers, streams, jobs, limits; clients and tasks that do others no harm."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from served import ENDLESS, EVENING, HUNGRY, LAMPS, SMALL, puzzle, serve, wait_until

from planner import load, validate
from planner.language.pddl.plan_files import read_plan

COURIER = """
domain: courier
types: {robot: object, room: object}
actions:
  move:
    parameters: {robot: robot, origin: room, target: room}
    requires: ["at(robot, origin)", "door(origin, target)"]
    provides: ["at(robot, target)"]
    modifies: ["at(robot, _)"]
---
problem: monday
domain: courier
objects: {r2: robot, hall: room, lab: room}
initial: ["at(r2, hall)", "door(hall, lab)"]
goal: ["at(r2, lab)"]
"""


@pytest.fixture(scope="module")
def server():
    with serve("--memory-limit", "0.6", "--time-limit", "40", workers=2) as running:
        yield running


@pytest.fixture
def client(server):
    with server.client() as made:
        yield made


def number(client, name):
    """Return the value of a gauge or counter, with its labels, of the metrics."""
    lines = [line for line in client.get("/metrics").text.splitlines() if line.startswith(f"forethought_{name} ")]
    return float(lines[0].split()[-1]) if lines else 0.0


def is_idle(client):
    return number(client, "running") == 0


def replay(task, text):
    problem = load(task["domain"], task.get("problem"))
    verdict = validate(problem, read_plan(text, problem).steps)
    assert verdict.valid
    return verdict.cost


@pytest.mark.parametrize(
    "task", [SMALL, {"domain": f"{LAMPS}\n{EVENING}"}, {"domain": COURIER}], ids=["two", "one", "yaml"]
)
def test_solve(client, task):
    found = client.post("/v1/solve", json=task)
    assert found.status_code == 200
    answer = found.json()["answer"]
    assert answer["status"] == "OPTIMAL"
    assert replay(task, answer["plan_text"]) == answer["cost"] == len(answer["plan"]["steps"])


def test_validate(client):
    good = client.post("/v1/validate", json={**SMALL, "plan": "(light a)\n(light b)"}).json()["answer"]
    steps = [{"action": "light", "arguments": ["a"]}]
    bad = client.post("/v1/validate", json={**SMALL, "plan": steps}).json()["answer"]
    assert good["valid"]
    assert not bad["valid"]
    assert bad["unmet"] == ["lit(b)"]


PRICES = {
    "domain": "(define (domain lamps) (:requirements :action-costs) (:predicates (lit ?l)) (:functions (total-cost))"
    " (:action light :parameters (?l) :effect (and (lit ?l) (increase (total-cost) 0.1))))",
    "problem": f"{EVENING[:-1]} (:metric minimize (total-cost)))",
}
IN_TIME = {
    "domain": "(define (domain walk) (:requirements :durative-actions) (:predicates (there))"
    " (:durative-action go :parameters () :duration (= ?duration 3.3) :condition () :effect (at end (there))))",
    "problem": "(define (problem w) (:domain walk) (:init) (:goal (there)) (:metric minimize (total-time)))",
}
NUMBERS = {
    "domain": """
domain: lamps
functions: {power: {}}
actions: {light: {requires: ["power >= 2"], modifies: ["power -= 2"], provides: [lit], cost: 3}}
---
problem: evening
values: {power: 3}
goal: [lit]
"""
}
TASKS = {
    "domain": """
domain: lamps
types: {lamp: object}
actions:
  light: {parameters: {l: lamp}, provides: ["lit(l)"], cost: 1.5}
  candle: {parameters: {l: lamp}, provides: ["lit(l)"], cost: 4}
tasks: {brighten: {parameters: {l: lamp}}}
methods:
  electric: {parameters: {l: lamp}, task: brighten(l), subtasks: [light(l)]}
  old: {parameters: {l: lamp}, task: brighten(l), subtasks: [candle(l)]}
---
problem: evening
objects: {a: lamp, b: lamp}
tasks: [brighten(a), brighten(b)]
"""
}
TASKS_IN_TIME = {
    "domain": TASKS["domain"].replace("cost: 4", "cost: 4, duration: 2").replace("cost: 1.5", "duration: 3.5")
    + "objective: makespan\n"
}


@pytest.mark.parametrize(
    "task",
    [SMALL, PRICES, IN_TIME, NUMBERS, TASKS, TASKS_IN_TIME],
    ids=["steps", "decimal costs", "decimal times", "numbers", "tasks", "tasks in time"],
)
def test_plans_are_validated_in_each_form_in_which_they_are_given(client, task):
    answer = client.post("/v1/solve", json=task).json()["answer"]
    for plan in (answer, answer["plan"], answer["plan"]["steps"], json.dumps(answer), answer["plan_text"]):
        verdict = client.post("/v1/validate", json={**task, "plan": plan}).json()
        assert verdict["answer"]["valid"], (plan, verdict)
        assert verdict["answer"]["cost"] == answer["cost"]


def test_explain(client):
    found = client.post("/v1/explain", json=SMALL).json()["answer"]
    assert "needed by the goal" in found["text"]
    given = client.post("/v1/explain", json={**SMALL, "plan": "(light a)"}).json()["answer"]
    assert not given["verdict"]["valid"]
    hopeless = client.post("/v1/explain", json={"domain": COURIER.replace("door(hall, lab)", "door(lab, hall)")})
    assert hopeless.json()["answer"]["result"]["status"] == "UNSOLVABLE"
    contrast = client.post("/v1/explain", json={**SMALL, "question": "cheaper"}).json()["answer"]
    assert contrast["text"]


@pytest.mark.parametrize("task", [NUMBERS, TASKS], ids=["numbers", "tasks"])
def test_contrastive_questions_take_numbers_and_tasks(client, task):
    found = client.post("/v1/explain", json={**task, "question": "cheaper"}).json()["answer"]
    assert "It is proved that no plan costs less than 3" in found["text"]
    answer = client.post("/v1/solve", json=task).json()["answer"]
    for plan in (answer["plan"], answer["plan_text"]):
        given = client.post("/v1/explain", json={**task, "plan": plan}).json()["answer"]
        assert given["verdict"]["valid"]


def test_candidates(client):
    found = client.post("/v1/candidates", json={**SMALL, "number": 2, "orders": True}).json()["answer"]
    assert [each["cost"] for each in found["candidates"]] == [2, 2]
    assert {replay(SMALL, text) for text in found["plan_texts"]} == {2}


def test_answers_are_kept_by_the_hash_of_their_questions(client):
    task = {**SMALL, "seed": 17}
    first, second = (client.post("/v1/solve", json=task).json() for _ in range(2))
    assert (first["cached"], second["cached"]) == (False, True)
    assert first["hash"] == second["hash"]
    assert first["answer"] == second["answer"]
    assert client.get(f"/v1/answers/{first['hash']}").json()["answer"] == first["answer"]
    assert client.get(f"/v1/answers/{'0' * 64}").status_code == 404
    assert not client.post("/v1/solve", json={**task, "fresh": True}).json()["cached"]
    assert client.post("/v1/solve", json={**task, "seed": 18}).json()["hash"] != first["hash"]


def read_events(lines):
    """Return names and data of server-sent events."""
    found, name = [], None
    for line in lines:
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            found.append((name, json.loads(line.removeprefix("data: "))))
    return found


EVENTS = {"Accept": "text/event-stream"}


def test_better_plans_are_streamed(client):
    task = puzzle(3, seed=4)
    with client.stream("POST", "/v1/solve", json={**task, "time_limit": 20}, headers=EVENTS) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        events = read_events(stream.iter_lines())
    costs = [data["cost"] for name, data in events if name == "plan"]
    assert costs
    assert costs == sorted(set(costs), reverse=True)
    assert [replay(task, data["plan_text"]) for name, data in events if name == "plan"] == costs
    assert events[-1][0] == "end"
    assert events[-1][1]["state"] == "done"
    assert replay(task, events[-1][1]["answer"]["plan_text"]) <= costs[-1]


def test_a_job_is_asked_for_later_and_followed(client):
    accepted = client.post("/v1/solve", json={**SMALL, "wait": False, "fresh": True})
    assert accepted.status_code == 202
    place = accepted.headers["location"]
    assert client.get(place, params={"wait": 30}).json()["answer"]["status"] == "OPTIMAL"
    assert read_events(client.get(f"{place}/events").iter_lines())[-1][0] == "end"
    assert client.get("/v1/jobs/nothing").status_code == 404


def test_cancelling_a_job_gives_the_best_plan_so_far(client):
    task = {**puzzle(4), "wait": False, "fresh": True}
    place = client.post("/v1/solve", json=task).headers["location"]
    wait_until(lambda: "progress" in client.get(place).json())
    ended = client.delete(place).json()
    assert ended["state"] == "cancelled"
    assert ended["answer"]["stopped_by"] == "cancelled"
    assert replay(task, ended["answer"]["plan_text"]) == ended["answer"]["cost"]
    assert client.delete(place).json() == ended, "a second time changes nothing"


@pytest.mark.parametrize(
    ("kind", "body", "code", "says"),
    [
        ("solve", {"domain": "(define (domain x"}, 422, "never closed"),
        ("solve", {"domain": LAMPS}, 422, "no problem"),
        ("solve", {**SMALL, "search": "fast"}, 422, "fast"),
        ("solve", {**SMALL, "engine": "fast-downward"}, 400, "no field 'engine'"),
        ("solve", {**SMALL, "jobs": 2}, 400, "no field 'jobs'"),
        ("solve", {**SMALL, "problm": ""}, 400, "no field 'problm'"),
        ("solve", {"domain": "/etc/passwd"}, 400, "no domain or problem"),
        ("solve", {"domain": "courier"}, 400, "no domain or problem"),
        ("solve", {"domain": "domains/courier/__init__.py"}, 400, "no domain or problem"),
        ("solve", {**SMALL, "problem": "problem.pddl"}, 400, "no domain or problem"),
        ("solve", {**SMALL, "time_limit": 0}, 400, "number of seconds from 0.001"),
        ("solve", {**SMALL, "time_limit": "10"}, 400, "`time_limit` must be"),
        ("solve", {**SMALL, "priority": 10}, 400, "integer from 0 to 9"),
        ("solve", {**SMALL, "mode": "best"}, 400, "anytime, first or optimal"),
        ("solve", {**SMALL, "time_limit": 1e10}, 400, "from 0.001 to 1,000,000,000, got 1"),
        ("solve", {**SMALL, "search": "x" * 201}, 400, "200 characters at most, got 201"),
        ("solve", [], 400, "must be a JSON object"),
        ("solve", {}, 400, "`domain` is missing"),
        ("validate", SMALL, 400, "`plan` is missing"),
        ("validate", {**SMALL, "plan": "(dim a)"}, 422, "no action 'dim'"),
        ("validate", {**SMALL, "plan": {"steps": 3}}, 422, "no steps"),
        ("explain", {**SMALL, "question": "by nobody"}, 422, "nobody"),
        ("candidates", {**SMALL, "number": 0}, 400, "integer from 1 to 1000"),
    ],
)
def test_mistakes_are_told(client, kind, body, code, says):
    found = client.post(f"/v1/{kind}", json=body)
    error = found.json()["error"]
    assert found.status_code == code, error
    assert error["kind"] == "input"
    assert says in error["message"] + str(error.get("hint"))


def test_the_place_of_a_mistake_is_told(client):
    error = client.post("/v1/solve", json={"domain": LAMPS, "problem": EVENING.replace("(lit b)", "(lit c)")}).json()[
        "error"
    ]
    assert error["location"]["source"] == "<problem text>"
    assert error["location"]["line"] == 1


def test_names_that_stand_twice_are_refused(client):
    for text in (b'{"domain": "a", "domain": "b"}', b'{"plan": [{"action": "a", "action": "b"}]}'):
        told = client.post("/v1/solve", content=text)
        assert told.status_code == 400
        assert "twice" in told.json()["error"]["message"]


@pytest.mark.parametrize("wait", ["soon", "nan", ""])
def test_no_number_of_seconds_is_refused(client, wait):
    place = client.post("/v1/solve", json={**SMALL, "wait": False}).headers["location"]
    assert client.get(place, params={"wait": wait}).status_code == 400


@pytest.mark.parametrize("body", [b"", b"{", b"[" * 100_000, b"\xff\xfe", b'"a"', b"NaN", b"1e999999"])
def test_bodies_that_are_no_questions_are_refused(client, body):
    assert client.post("/v1/solve", content=body).status_code == 400


def test_bodies_that_are_too_long_are_refused(client):
    assert client.post("/v1/solve", json={"domain": "x" * 5_000_000}).status_code == 413


def test_other_paths_and_methods_are_refused(client):
    refused = client.get("/v1/solve")
    assert refused.status_code == 405
    assert refused.json()["error"]["hint"] == "/v1/solve takes POST"
    assert client.post("/v1/solve/", json=SMALL).json()["error"]["hint"] == "did you mean '/v1/solve'?"
    missing = client.post("/v1/slove", json=SMALL)
    assert missing.status_code == 404
    assert missing.json()["error"]["hint"] == "did you mean '/v1/solve'?"


def test_pages_of_other_sites_may_not_ask(client):
    assert client.post("/v1/solve", json=SMALL, headers={"Origin": "http://evil.example"}).status_code == 403
    assert client.post("/v1/solve", json=SMALL, headers={"Host": "evil.example:8000"}).status_code == 403
    for bad in ({"Origin": "http://[::1"}, {"Origin": "null"}, {"Host": "[::1"}, {"Host": "127.0.0.1.evil.example"}):
        assert client.post("/v1/solve", json=SMALL, headers=bad).status_code == 403


def test_a_time_limit_holds(client):
    began = time.monotonic()
    found = client.post("/v1/solve", json={**ENDLESS, "time_limit": 1}).json()
    assert found["answer"]["status"] == "UNKNOWN"
    assert found["answer"]["stopped_by"] == "time"
    assert time.monotonic() - began < 20
    assert not client.post("/v1/solve", json={**ENDLESS, "time_limit": 1}).json()["cached"]


def test_a_task_that_eats_memory_harms_nobody_else(server, client):
    lost = number(client, 'workers_lost_total{reason="crashed"}')
    with ThreadPoolExecutor(4) as threads, server.client() as other:
        hungry = [
            threads.submit(other.post, "/v1/solve", json={**HUNGRY, "time_limit": 35, "seed": n}) for n in range(2)
        ]
        small = [client.post("/v1/solve", json={**SMALL, "fresh": True}) for _ in range(5)]
        ended = [each.result() for each in hungry]
    assert {each.status_code for each in small} == {200}
    for each in ended:
        told = each.json()
        assert "memory" in (told.get("answer", {}).get("stopped_by"), told.get("error", {}).get("kind")), told
    assert number(client, 'workers_lost_total{reason="crashed"}') == lost


def test_a_client_that_goes_away_ends_its_question_and_no_other(server, client):
    wait_until(lambda: is_idle(client))
    place = client.post("/v1/solve", json={**ENDLESS, "wait": False, "time_limit": 30, "seed": 5}).headers["location"]
    with pytest.raises(httpx.ReadTimeout), server.client() as impatient:
        impatient.post("/v1/solve", json={**ENDLESS, "time_limit": 30}, timeout=1.0)
    wait_until(lambda: number(client, "running") == 1)
    assert number(client, 'questions_total{kind="solve",outcome="cancelled"}') >= 1
    assert client.get(place).json()["state"] == "running"
    client.delete(place)


def test_a_stream_that_is_left_ends_its_question(server, client):
    wait_until(lambda: is_idle(client))
    with server.client() as leaver, leaver.stream("POST", "/v1/solve", json=ENDLESS, headers=EVENTS) as stream:
        for line in stream.iter_lines():
            if "running" in line:
                break
    wait_until(lambda: is_idle(client))


def test_a_stream_that_does_not_wait_may_be_left(server, client):
    task = {**ENDLESS, "time_limit": 30, "wait": False, "fresh": True}
    with server.client() as leaver, leaver.stream("POST", "/v1/solve", json=task, headers=EVENTS) as stream:
        place = next(json.loads(line[6:])["id"] for line in stream.iter_lines() if line.startswith("data: "))
    time.sleep(1)
    assert client.get(f"/v1/jobs/{place}").json()["state"] in ("queued", "running")
    client.delete(f"/v1/jobs/{place}")


def test_clients_that_leave_while_they_wait_for_a_job_hold_nothing(server, client):
    place = client.post("/v1/solve", json={**ENDLESS, "time_limit": 30, "wait": False}).headers["location"]
    host, port = server.url.removeprefix("http://").split(":")
    request = f"GET {place}?wait=300 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    connections = [socket.create_connection((host, int(port))) for _ in range(256)]
    for each in connections:
        each.sendall(request)
    wait_until(lambda: client.get(place).status_code == 429)
    for each in connections:
        each.close()
    wait_until(lambda: client.get(place).status_code == 200)
    client.delete(place)


def test_clients_that_break_off_in_a_request_harm_nobody(server, client):
    host, port = server.url.removeprefix("http://").split(":")
    for text in (b"GET", b"POST /v1/solve HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n{", b"\x00\xff" * 9):
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(text)
    assert client.post("/v1/solve", json={**SMALL, "fresh": True}).status_code == 200


def test_a_process_that_is_killed_is_replaced_and_its_question_asked_again(server, client):
    wait_until(lambda: is_idle(client))
    task = {**ENDLESS, "time_limit": 4, "wait": False}
    place = client.post("/v1/solve", json=task).headers["location"]
    wait_until(lambda: client.get(place).json()["state"] == "running")
    time.sleep(0.5)
    os.kill(server.busy_child(), signal.SIGKILL)
    assert client.post("/v1/solve", json={**SMALL, "fresh": True}).status_code == 200
    ended = client.get(place, params={"wait": 40}).json()
    assert ended["answer"]["stopped_by"] in ("time", "memory")
    assert number(client, 'workers_lost_total{reason="crashed"}') >= 1
    wait_until(lambda: number(client, "workers") == 3)


def test_an_idle_process_that_is_killed_is_counted_and_replaced(server, client):
    wait_until(lambda: is_idle(client) and number(client, "workers") == 3)
    os.kill(server.children()[0], signal.SIGKILL)
    wait_until(lambda: number(client, 'workers_lost_total{reason="idle"}') == 1)
    assert client.post("/v1/solve", json={**SMALL, "fresh": True}).json()["waited"] < 0.5
    wait_until(lambda: number(client, "workers") == 3)


def test_health_and_metrics(client):
    assert client.post("/v1/solve", json=SMALL).status_code == 200
    assert client.get("/health").json() == {"status": "ok"}
    found = client.get("/metrics")
    assert found.headers["content-type"].startswith("text/plain; version=0.0.4")
    samples = [line for line in found.text.splitlines() if not line.startswith("#")]
    assert all(float(line.rpartition(" ")[2]) >= 0 for line in samples)
    assert 'forethought_question_seconds_bucket{kind="solve",le="+Inf"}' in found.text


# One process, a short queue, and keys.

KEYS = """
[alice]
key = "alice-alice-alice"

[bob]
key = "bob-bob-bob-bob-bob"
per_minute = 3
priority = 2
time_limit = 2
"""
ALICE, BOB = "alice-alice-alice", "bob-bob-bob-bob-bob"


@pytest.fixture(scope="module")
def narrow(tmp_path_factory):
    path = tmp_path_factory.mktemp("keys") / "keys.toml"
    path.touch(0o600)
    path.write_text(KEYS, encoding="utf-8")
    with serve("--queue", "4", "--keys", str(path), "--time-limit", "30") as running:
        yield running


@pytest.fixture
def alice(narrow):
    with narrow.client(ALICE) as made:
        wait_until(lambda: is_idle(made))
        yield made


def test_keys_are_needed(narrow):
    with narrow.client() as stranger:
        for path in ("/metrics", "/package", "/v1/jobs/x", "/check/x", "/nothing"):
            refused = stranger.get(path)
            assert refused.status_code == 401
            assert "Bearer" in refused.headers["www-authenticate"]
        assert stranger.post("/v1/solve", json=SMALL).status_code == 401
        assert stranger.get("/health").status_code == 200
        assert stranger.get("/metrics", headers={"Authorization": "Bearer wrong-wrong-wrong"}).status_code == 401
        assert stranger.get("/metrics", auth=("me", ALICE)).status_code == 200


def test_a_client_sees_no_job_of_another(narrow, alice):
    place = alice.post("/v1/solve", json={**SMALL, "wait": False}).headers["location"]
    with narrow.client(BOB) as bob:
        assert bob.get(place).status_code == 404
        assert bob.delete(place).status_code == 404
    assert alice.get(place).status_code == 200


def test_quotas_hold_for_a_key(narrow, alice):
    with narrow.client(BOB) as bob:
        first = bob.post("/v1/solve", json={**SMALL, "priority": 9, "time_limit": 25}).json()
        assert (first["priority"], first["time_limit"]) == (2, 2)
        codes = [bob.post("/v1/solve", json=SMALL).status_code for _ in range(3)]
        assert codes == [200, 200, 429]
        assert int(bob.post("/v1/solve", json=SMALL).headers["retry-after"]) <= 60
    assert alice.post("/v1/solve", json=SMALL).status_code == 200


def test_a_full_queue_refuses_and_priorities_order_it(alice):
    def begin(**more):
        return alice.post("/v1/solve", json={"wait": False, "fresh": True, **more})

    at_work = begin(**ENDLESS, time_limit=25).headers["location"]
    wait_until(lambda: alice.get(at_work).json()["state"] == "running")
    low = begin(**SMALL, priority=1).headers["location"]
    high = begin(**SMALL, priority=9).headers["location"]
    refused = begin(**SMALL)
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) >= 1
    assert refused.json()["error"]["kind"] == "busy"
    assert alice.delete(at_work).json()["state"] == "cancelled"
    ended = {name: alice.get(place, params={"wait": 30}).json() for name, place in (("low", low), ("high", high))}
    assert ended["high"]["waited"] < ended["low"]["waited"]
    assert {each["answer"]["status"] for each in ended.values()} == {"OPTIMAL"}


def test_a_question_in_the_queue_can_be_cancelled(alice):
    places = [
        alice.post("/v1/solve", json={**ENDLESS, "time_limit": 25, "wait": False, "seed": seed}).headers["location"]
        for seed in range(2)
    ]
    second = alice.delete(places[1]).json()
    assert second["error"]["kind"] == "cancelled"
    assert second["seconds"] == 0
    alice.delete(places[0])


def test_a_server_that_stops_gives_the_best_plan_so_far():
    task, told = puzzle(4), []

    def ask():
        with httpx.Client(base_url=running.url, timeout=50) as asking:
            told.append(asking.post("/v1/solve", json=task))

    with serve("--time-limit", "45") as running:
        processes = running.children()
        asking = threading.Thread(target=ask)
        asking.start()
        with running.client() as client:
            wait_until(lambda: number(client, "running") == 1)
        time.sleep(6)
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(20) == 0
        asking.join()
    ended = told[0].json()
    assert told[0].status_code == 200, ended
    assert ended["answer"]["stopped_by"] == "cancelled"
    assert replay(task, ended["answer"]["plan_text"]) == ended["answer"]["cost"]
    assert not any(is_alive(pid) for pid in processes)


def test_a_server_that_is_killed_leaves_no_process():
    with serve("--time-limit", "45") as running, running.client() as client:
        client.post("/v1/solve", json={**ENDLESS, "wait": False})
        processes = running.children()
        running.process.kill()
        running.process.wait()
    wait_until(lambda: not any(is_alive(pid) for pid in processes))


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize(
    ("options", "env", "says"),
    [
        (["--listen", "0.0.0.0:0"], {}, "can be reached from other machines"),
        (["--listen", "[::]:0"], {}, "can be reached from other machines"),
        (["--listen", "example:port"], {}, "--listen takes HOST:PORT"),
        (["--listen", "0.0.0.0:0"], {"FORETHOUGHT_SERVE_KEY": "short"}, "16 characters or more"),
        (["--time-limit", "none"], {}, "must be finite"),
        (["--keys", "{keys}"], {}, "two clients have the same key"),
    ],
)
def test_bad_usage_is_told(tmp_path, options, env, says):
    keys = tmp_path / "keys.toml"
    keys.touch(0o600)
    keys.write_text(f"{KEYS}\n[carol]\nkey = '{ALICE}'", encoding="utf-8")
    words = [each.format(keys=keys) for each in options]
    done = subprocess.run(
        [sys.executable, "-m", "planner.cli", "serve", *words],
        env=os.environ | env,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == 2
    assert says in done.stderr
