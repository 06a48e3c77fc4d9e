"""Clients of planutils and of the PDDL extension of VS Code, played as they call: shapes, waiting, mistakes."""

from __future__ import annotations

import http.client
import json
import time
from urllib.parse import urljoin, urlsplit

import pytest
from served import SMALL, odd_puzzle, serve

from executor.service.planutils import read_steps
from planner import load, validate
from planner.language.pddl.plan_files import read_plan

KEY = "a-key-for-everyone"
BROKEN = {**SMALL, "problem": "(define (problem p) (:domain lamps) (:init) (:goal (lit zed)))"}
HOPELESS = {**SMALL, "domain": SMALL["domain"].replace(":effect (lit ?l)", ":precondition (lit ?l) :effect (lit ?l)")}
TIMED = {
    "domain": "(define (domain walk) (:requirements :durative-actions) (:predicates (there))"
    " (:durative-action go :parameters () :duration (= ?duration 3) :condition () :effect (at end (there))))",
    "problem": "(define (problem w) (:domain walk) (:init) (:goal (there)) (:metric minimize (total-time)))",
}


@pytest.fixture(scope="module")
def server():
    with serve("--time-limit", "20", env={"FORETHOUGHT_SERVE_KEY": KEY}) as running:
        yield running


@pytest.fixture
def client(server):
    with server.client(KEY) as made:
        yield made


class Extension:
    """Calls as pddl-planning-service-client does: plain POST and GET, the key in the URL, no other header."""

    def __init__(self, url):
        self.url = url.replace("http://", f"http://me:{KEY}@")

    def call(self, method, url, body=None):
        parts = urlsplit(url)
        import base64

        headers = {"Authorization": "Basic " + base64.b64encode(f"{parts.username}:{parts.password}".encode()).decode()}
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=50)
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        text = response.read()
        connection.close()
        assert response.headers["content-type"].startswith("application/json")
        return response.status, json.loads(text)

    def solve_by_package(self, package, task):
        url = f"{self.url}/package/{package}/solve"
        code, data = self.call("POST", url, task | {"searchDebuggerEnabled": False})
        assert code <= 202
        if "Error" in data:
            return data
        url = urljoin(url, data["result"])
        while data.get("status") in (None, "PENDING"):
            time.sleep(0.1)
            code, data = self.call("GET", url)
            assert code == 200
        return data


@pytest.fixture
def extension(server):
    return Extension(server.url)


def test_packages_are_listed_with_what_clients_read(extension):
    code, packages = extension.call("GET", f"{extension.url}/package")
    assert code == 200
    for name, manifest in packages.items():
        assert manifest["package_name"] == name
        assert manifest["runnable"]
        solve = manifest["endpoint"]["services"]["solve"]
        assert [each["name"] for each in solve["args"]] == ["domain", "problem"]
        assert solve["call"].split()[1:] == ["solve", "{domain}", "{problem}"]
    assert extension.call("GET", f"{extension.url}/package/forethought")[1] == packages["forethought"]
    assert extension.call("POST", f"{extension.url}/package", {"domain": "", "problem": ""})[0] >= 400, "it is there"


@pytest.mark.parametrize("package", ["forethought", "forethought-first", "forethought-optimal"])
def test_a_package_solves(extension, package):
    found = extension.solve_by_package(package, SMALL)
    assert found["status"] == "ok"
    [text] = found["result"]["output"].values()
    problem = load(SMALL["domain"], SMALL["problem"])
    assert validate(problem, read_plan(text, problem).steps).valid
    assert "cost 2" in found["result"]["stdout"]
    assert found["result"]["stderr"] == ""


def test_options_of_a_package_are_in_its_query(extension):
    url = f"{extension.url}/package/forethought/solve"
    _, data = extension.call("POST", f"{url}?mode=first&fresh=true&time_limit=5", SMALL)
    status = "PENDING"
    while status == "PENDING":
        _, found = extension.call("GET", urljoin(url, data["result"]))
        status = found["status"]
    assert found["result"]["stdout"].startswith("SOLVED; stopped by first_plan")
    assert "did you mean 'time_limit'?" in extension.call("POST", f"{url}?tim_limit=5", SMALL)[1]["Error"]


def test_a_package_says_why_there_is_no_plan(extension):
    broken = extension.solve_by_package("forethought", BROKEN)
    assert broken["status"] == "ok"
    assert broken["result"]["output"] == {}
    assert "<problem text>:1:" in broken["result"]["stderr"]
    hopeless = extension.solve_by_package("forethought", HOPELESS)
    assert "UNSOLVABLE" in hopeless["result"]["stdout"]
    assert "`problem` is missing" in extension.solve_by_package("forethought", {"domain": SMALL["domain"]})["Error"]
    assert extension.call("POST", f"{extension.url}/package/lama/solve", SMALL)[0] == 404
    assert extension.call("GET", f"{extension.url}/check/nothing")[0] == 404


def test_validation_is_a_service_too(extension):
    url = f"{extension.url}/package/forethought/validate"
    _, data = extension.call("POST", url, {**SMALL, "plan": "(light a)\n(light b)\n"})
    for _ in range(100):
        _, found = extension.call("POST", urljoin(url, data["result"]))
        if found["status"] == "ok":
            break
        time.sleep(0.1)
    assert found["result"]["stdout"] == "valid, cost 2"


def test_planutils_may_write_two_slashes(extension):
    _, data = extension.call("POST", f"{extension.url}/package/forethought/solve", SMALL)
    host = urlsplit(extension.url)
    connection = http.client.HTTPConnection(host.hostname, host.port)
    connection.request("GET", f"/{data['result']}", headers={"Authorization": f"Bearer {KEY}"})
    assert connection.getresponse().status == 200
    connection.close()


def test_solve_answers_at_once(client):
    found = client.post("/solve", params={"mode": "first", "time_limit": "5"}, json=SMALL).json()
    assert found["status"] == "ok"
    assert sorted(step["name"] for step in found["result"]["plan"]) == ["(light a)", "(light b)"]
    broken = client.post("/solve", json=BROKEN).json()
    assert broken["status"] == "error"
    assert "zed" in broken["result"]["error"]
    hopeless = client.post("/solve", json=HOPELESS).json()
    assert hopeless["status"] == "ok"
    assert "plan" not in hopeless["result"]
    assert client.post("/solve", json={"domain": "", "problem": ""}).status_code == 400, "by this the extension asks"


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("time_limit", "soon", "must be a number"),
        ("time_limit", "nan", "from 0.001"),
        ("seed", "1.5", "must be an integer"),
        ("fresh", "yes", "must be true or false"),
        ("wait", "false", "no option 'wait'"),
        ("domain", "/etc/passwd", "no option 'domain'"),
        ("tim_limit", "3", "did you mean 'time_limit'?"),
    ],
)
def test_mistakes_in_the_query_are_told(client, option, value, says):
    told = client.post("/solve", params={option: value}, json=SMALL)
    assert told.status_code == 400
    assert says in told.text


def test_a_query_may_ask_for_a_new_answer(client):
    assert client.post("/solve", params={"fresh": "true", "priority": "7"}, json=SMALL).json()["status"] == "ok"


def wrap(task, **configuration):
    files = {name: {"name": name, "format": "PDDL", "content": task[name]} for name in ("domain", "problem")}
    return {**files, "configuration": {"planFormat": "JSON", **configuration}}


def test_request_answers_at_once(client):
    found = client.post("/request", params={"async": "false"}, json=wrap(TIMED, timeout=20)).json()
    assert found["status"]["status"] == "STOPPED"
    [plan] = found["plans"]
    [step] = json.loads(plan["content"])
    assert (step["name"], step["duration"]) == ("(go)", 3)
    assert plan["makespan"] == 3
    assert client.post("/request", json=wrap(BROKEN)).json()["status"]["status"] == "FAILED"
    late = client.post("/request", json=wrap(odd_puzzle(4), timeout=2)).json()
    assert (late["status"], late["plans"]) == ({"status": "STOPPED", "reason": "TIMEOUT"}, [])
    called_back = wrap(SMALL) | {"callbacks": [{"type": "STATES", "url": "http://localhost:1"}]}
    assert "--search-tree-dump" in client.post("/request", json=called_back).json()["output"]
    assert client.post("/request", json={"domain": "", "problem": ""}).status_code == 400


def test_steps_are_read_from_plans():
    assert read_steps("; a comment\n(move r1 a)\n0.500: (go) [3.000]\n; cost = 2\n") == [
        {"name": "(move r1 a)"},
        {"name": "(go)", "time": 0.5, "duration": 3.0},
    ]
