"""Search trees for a debugger: what a listener on loopback is sent, read as the PDDL extension of VS Code reads it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from served import SMALL, puzzle

from executor.service.search_debugger import SearchDebugger
from planner import load, solve
from planner.errors import InputError


class Tree:
    """What the extension makes of the messages; it raises for what the extension does not understand."""

    def __init__(self):
        self.states, self.plan, self.log = {}, None, []

    def take(self, path, data):
        self.log.append((path, data))
        assert re.fullmatch(r"\d+", data["id"])
        if path == "/state/heuristic":
            assert data["relaxedPlan"] == data["helpfulActions"] == []
            self.states[data["id"]] |= {"h": data["h"], "totalMakespan": data["totalMakespan"]}
            return
        for happening in data["planHead"]:
            assert happening["kind"] in ("START", "END", "INSTANTANEOUS", "TIMED")
            assert {"actionName", "earliestTime", "shotCounter"} <= set(happening)
        if path == "/state/initial":
            assert not self.states
            assert data["planHead"] == []
        else:
            assert data["parentId"] in self.states
            assert data["appliedAction"] == data["planHead"][-1] if data["planHead"] else True
            before = self.states[data["parentId"]]["planHead"]
            assert data["planHead"][:-1] == before
        if path == "/plan":
            assert data["id"] in self.states
            self.plan = data
            return
        assert path in ("/state", "/state/initial")
        assert data["id"] not in self.states
        self.states[data["id"]] = data


@contextmanager
def listen(stop_after=None):
    """Run a debugger until the body ends; it breaks off after so many messages."""
    tree, wrong = Tree(), []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            data = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            try:
                tree.take(self.path, data)
            except (AssertionError, KeyError) as error:
                wrong.append((self.path, data, repr(error)))
            if stop_after is not None and len(tree.log) >= stop_after:
                self.close_connection = True
                server.socket.close()
                return
            self.send_response(201)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    port = server.server_port
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield tree, f"http://localhost:{port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert wrong == []


def search(task, url, **options):
    debugger = SearchDebugger(url)
    result = solve(load(task["domain"], task["problem"]), plain=True, on_expansion=debugger, **options)
    debugger.end(result.plan)
    return result


@pytest.mark.parametrize(
    ("name", "heuristic"),
    [("astar", "hmax"), ("astar", "lmcut"), ("greedy", "hff"), ("uniform", None), ("bfws", None), ("weighted", "hff")],
)
@pytest.mark.parametrize("task", [SMALL, puzzle(2, seed=3)], ids=["lamps", "puzzle"])
def test_a_debugger_is_sent_the_tree_and_the_plan(task, name, heuristic):
    with listen() as (tree, url):
        result = search(task, url, search=name, heuristic=heuristic, time_limit=None)
    paths = [path for path, _ in tree.log]
    assert paths[0] == "/state/initial"
    assert paths.count("/plan") == 1
    steps = [f"{' '.join([step.action, *step.arguments])}" for step in result.plan.steps]
    assert [each["actionName"] for each in tree.plan["planHead"]] == steps
    assert tree.plan["g"] == result.cost
    assert len(tree.states) >= min(result.statistics.expanded, 2)
    if heuristic is not None:
        assert tree.states["0"]["h"] > 0


def test_estimates_and_costs_are_those_of_the_search():
    told = []
    task = puzzle(2, seed=3)
    problem = load(task["domain"], task["problem"])
    solve(problem, plain=True, search="astar", heuristic="hmax", on_expansion=told.append)
    with listen() as (tree, url):
        search(task, url, search="astar", heuristic="hmax")
    estimates = [(data["id"], data["h"]) for path, data in tree.log if path == "/state/heuristic"]
    assert [h for _, h in estimates] == [each.h for each in told]
    assert [tree.states[id_]["g"] for id_, _ in estimates] == [each.g for each in told]


def test_a_debugger_that_goes_away_does_not_end_the_search():
    with listen(stop_after=3) as (tree, url):
        result = search(puzzle(2, seed=3), url, search="astar", heuristic="blind")
    assert len(tree.log) == 3
    assert result.plan is not None


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://example.org:80", "at a port of this machine"),
        ("https://localhost:80", "at a port of this machine"),
        ("localhost:80", "at a port of this machine"),
        ("http://localhost", "at a port of this machine"),
        ("http://localhost:undefined", "at a port of this machine"),
        ("http://localhost:99999", "at a port of this machine"),
        ("http://127.0.0.1:1", "no search debugger listens"),
    ],
)
def test_debuggers_that_are_none_are_refused(url, says):
    with pytest.raises(InputError, match=says):
        SearchDebugger(url)


def run_solve(tmp_path, *options):
    for name in ("domain", "problem"):
        (tmp_path / f"{name}.pddl").write_text(SMALL[name], encoding="utf-8")
    command = [sys.executable, "-m", "planner.cli", "solve", "domain.pddl", "problem.pddl", *options]
    return subprocess.run(
        command,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path or "." for path in sys.path)},
    )


def test_the_command_takes_what_the_extension_appends(tmp_path):
    with listen() as (tree, url):
        done = run_solve(tmp_path, "--time-limit=none", f"--search-tree-dump={url}")
    assert done.returncode == 0, done.stderr
    assert len(tree.plan["planHead"]) == 2
    refused = run_solve(tmp_path, "--search-tree-dump=http://localhost:1")
    assert refused.returncode == 2
    assert "no search debugger listens" in refused.stderr


def test_no_debugger_costs_nothing():
    code = "import sys; from planner import load, solve; solve(load(sys.argv[1], sys.argv[2])); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code, SMALL["domain"], SMALL["problem"]], capture_output=True, text=True, check=True
    )
    assert not {"service", "http.client"} & set(done.stdout.split())
