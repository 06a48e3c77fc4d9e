"""The command `forethought mcp` as a process: on stdin and stdout, over HTTP with and without its token, and killed."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_setting import (
    LONG,
    MODES,
    ROOT,
    call,
    fail,
    sliding_problem,
    subprocess_of,
    talk,
    talk_until_lost,
    until,
    write_parcels,
    write_real,
)

from planner.cli import interrupt, main

TOKEN = "a-token-that-nobody-guesses"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
ENVIRONMENT.pop("FORETHOUGHT_MCP_TOKEN", None)


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "planner.cli", "mcp", *map(str, arguments)]


def refuse(*arguments: object, **environment: str) -> str:
    """Return what the command says that refuses to serve."""
    done = subprocess.run(
        command(*arguments), env=ENVIRONMENT | environment, capture_output=True, text=True, timeout=50, check=False
    )
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.fixture
def refuse_here(monkeypatch, capsys):
    """Return what does as `refuse`, in this process."""
    monkeypatch.delenv("FORETHOUGHT_MCP_TOKEN", raising=False)
    monkeypatch.setattr(interrupt.resource, "setrlimit", lambda *_: None)

    def refuse(*arguments: object) -> str:
        with pytest.raises(SystemExit) as ended:
            main(["mcp", *map(str, arguments)])
        out, err = capsys.readouterr()
        assert (ended.value.code, out) == (2, ""), err
        return err

    return refuse


@contextmanager
def serving(*arguments: object, **environment: str):
    """Serve over HTTP while the body lasts; the value is the URL and the process."""
    words = command(*arguments, "--http", "127.0.0.1:0")
    process = subprocess.Popen(words, env=ENVIRONMENT | environment, stderr=subprocess.PIPE, text=True)
    try:
        line = process.stderr.readline()
        url = re.search(r"http://\S+", line)
        assert url, line + process.stderr.read()
        yield url[0], process
    finally:
        process.kill()
        process.communicate(timeout=20)


def talk_with_token(url: str, token: str | None, conversation, **options):
    """Return what `conversation(client)` returns with a client that sends `token`."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    async def main():
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as session,
            Client(streamable_http_client(url, http_client=session), **options) as client,
        ):
            return await conversation(client)

    return asyncio.run(main())


@pytest.mark.parametrize("mode", MODES)
def test_stdin_and_stdout_carry_the_protocol_and_nothing_else(tmp_path, mode) -> None:
    noisy = write_real(tmp_path).read_text(encoding="utf-8") + "\nprint('noise of the domain')\n"
    (tmp_path / "work.py").write_text(noisy, encoding="utf-8")

    async def ask(client):
        found = await call(client, "plan")
        ended = await call(client, "run")
        wrong = await fail(client, "plan", about={"goal": ["nothing(x)"]})
        return found, ended, wrong

    found, ended, wrong = talk(subprocess_of(tmp_path / "work.py", "--real"), ask, mode=mode)
    assert found["status"] == "OPTIMAL"
    assert ended["status"] == "SUCCEEDED"
    assert "nothing" in wrong


def test_what_is_no_protocol_is_answered_and_the_server_goes_on(tmp_path) -> None:
    write_parcels(tmp_path)
    process = subprocess.Popen(
        command(tmp_path / "parcels.yaml"), env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    begin = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        },
    }
    lines = ["hello", "[" * 10_000, "{}", json.dumps(begin)]
    out, _ = process.communicate("".join(f"{line}\n" for line in lines), timeout=50)
    answers = [json.loads(line) for line in out.splitlines()]
    assert any(each.get("id") == 1 and "result" in each for each in answers)
    assert process.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_and_lets_the_step_at_work_end(tmp_path, number) -> None:
    write_real(tmp_path, 0.5)
    log, journal = tmp_path / "log.txt", tmp_path / "runs.db"
    with serving(tmp_path / "work.py", "--real", "--journal", journal) as (url, process):

        async def ask(client):
            task = asyncio.ensure_future(client.call_tool("run", {"name": "r"}))
            await until(log.exists)
            process.send_signal(number)
            await asyncio.wait([task], timeout=20)
            task.cancel()

        talk_until_lost(url, ask)
        process.wait(timeout=30)
    assert "end first x" in log.read_text(encoding="utf-8")

    async def go_on(client):
        return await call(client, "resume", run="r")

    ended = talk(subprocess_of(tmp_path / "work.py", "--real", "--journal", journal), go_on)
    assert ended["status"] == "SUCCEEDED"
    lines = log.read_text(encoding="utf-8").split("\n")
    assert sum(line == "begin first x" for line in lines) == 1


@pytest.mark.parametrize("mode", MODES)
def test_http_wants_the_token(tmp_path, mode) -> None:
    write_parcels(tmp_path)
    (tmp_path / "token").touch(0o600)
    (tmp_path / "token").write_text(TOKEN + "\n", encoding="utf-8")
    with serving(tmp_path / "parcels.yaml", "--token-file", tmp_path / "token") as (url, _):

        async def ask(client):
            return await call(client, "plan")

        assert talk_with_token(url, TOKEN, ask, mode=mode)["status"] == "OPTIMAL"
        for token in (None, "wrong", TOKEN + "x", TOKEN[:-1]):
            with pytest.raises(BaseException, match=r".*"):
                talk_with_token(url, token, ask, mode=mode)


def _post(url: str, body: bytes, **headers: str) -> tuple[int, str]:
    host, port = re.search(r"//([\d.]+):(\d+)", url).groups()
    connection = http.client.HTTPConnection(host, int(port), timeout=20)
    given = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers}
    connection.request("POST", "/mcp", body, given)
    answer = connection.getresponse()
    text = answer.read().decode(errors="replace")
    connection.close()
    return answer.status, text


def test_http_refuses_what_is_wrong_too_large_or_from_another_page(tmp_path) -> None:
    write_parcels(tmp_path)
    ping = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}).encode()
    with serving(tmp_path / "parcels.yaml", "--size", "10000", FORETHOUGHT_MCP_TOKEN=TOKEN) as (url, process):
        right = {"Authorization": f"Bearer {TOKEN}"}
        assert _post(url, ping)[0] == 401
        assert _post(url, ping, Authorization="Bearer no")[0] == 401
        assert _post(url, ping, Authorization=TOKEN)[0] == 401
        assert _post(url, b"x" * 20_000, **right)[0] == 413
        assert _post(url, ping, Origin="http://evil.example", **right)[0] == 403
        assert _post(url, ping, Host="evil.example", **right)[0] == 421
        assert _post(url, b"{", **right)[0] == 400
        assert process.poll() is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--http", "0.0.0.0:0"], "can be reached from other machines"),
        (["--http", "[::]:0"], "can be reached from other machines"),
        (["--http", "nowhere"], "--http takes HOST:PORT"),
        (["--http", "127.0.0.1:99999"], "--http takes HOST:PORT"),
        (["--http", "::1:80"], "--http takes HOST:PORT"),
        (["--http", "no.such.host.invalid:80"], "can be reached"),
        (["--token-file", "/dev/null"], "for HTTP"),
        (["--http", "127.0.0.1:0", "--token-file", "/dev/null"], "a token has"),
        (["--http", "127.0.0.1:0", "--token-file", "/nowhere/token"], "/nowhere/token"),
        (["--http", "127.0.0.1:0", "--token-file", __file__], "others may read this secret"),
        (["--real"], "has a handler"),
        (["--journal", "/"], "folder"),
        (["--concurrent", "0"], "concurrent"),
        (["no-such-problem"], "no-such-problem"),
    ],
)
def test_mistakes_of_usage_are_told(tmp_path, refuse_here, arguments, words) -> None:
    assert words in refuse_here(write_parcels(tmp_path), *arguments)


def test_a_domain_that_is_none_is_told() -> None:
    assert "no-such-domain" in refuse("no-such-domain")


@pytest.mark.parametrize("mode", MODES)
def test_a_run_that_was_killed_goes_on_in_another_server(tmp_path, mode) -> None:
    write_real(tmp_path, 0.4)
    log, journal = tmp_path / "log.txt", tmp_path / "runs.db"
    with serving(tmp_path / "work.py", "--real", "--journal", journal) as (url, process):

        async def ask(client):
            task = asyncio.ensure_future(client.call_tool("run", {"name": "r"}))
            await until(lambda: log.exists() and "begin second" in log.read_text(encoding="utf-8"))
            process.kill()
            task.cancel()

        talk_until_lost(url, ask, mode=mode)

    async def go_on(client):
        before = await call(client, "state", run="r")
        after = await call(client, "resume", run="r")
        return before, after

    before, after = talk(subprocess_of(tmp_path / "work.py", "--real", "--journal", journal), go_on, mode=mode)
    assert before["runs"][0]["status"] == "ACTIVE"
    assert after["status"] == "SUCCEEDED", after
    lines = log.read_text(encoding="utf-8").split("\n")
    assert sum(line == "begin first x" for line in lines) == 1
    assert sum(line == "begin third x" for line in lines) == 1


def test_simulated_runs_outlive_the_server_with_a_journal(tmp_path) -> None:
    server = subprocess_of(write_parcels(tmp_path), "--journal", tmp_path / "runs.db")

    async def begin(client):
        return await call(client, "run", name="r", about={"goal": ["delivered(box)", "at(lab)"]})

    async def end(client):
        listed = await call(client, "state")
        return listed, await call(client, "resume", run="r", answers={"approve:s4": "yes"})

    waiting = talk(server, begin)
    assert waiting["status"] == "WAITING"
    [question] = waiting["questions"]
    listed, ended = talk(server, lambda client: _answer_and_list(client, question["question"]))
    assert listed["runs"] == [{"run": "r", "status": "WAITING"}]
    assert (ended["status"], ended["goal_holds"]) == ("SUCCEEDED", True)


async def _answer_and_list(client: Client, question: str):
    listed = await call(client, "state")
    return listed, await call(client, "resume", run="r", answers={question: "yes"})


def test_a_client_that_leaves_in_the_midst_of_a_search_does_no_harm(tmp_path) -> None:
    write_parcels(tmp_path)
    about = {"domain_text": LONG, "problem_text": sliding_problem()}
    with serving(tmp_path / "parcels.yaml", "--concurrent", "1") as (url, process):

        async def leave(client):
            task = asyncio.ensure_future(client.call_tool("plan", {"about": about, "mode": "optimal"}))
            await asyncio.sleep(1)
            task.cancel()

        async def ask(client):
            return await call(client, "plan")

        talk(url, leave)
        began = time.monotonic()
        assert talk(url, ask)["status"] == "OPTIMAL"
        assert time.monotonic() - began < 30
        assert process.poll() is None


def test_only_the_server_imports_the_sdk() -> None:
    code = "import sys, planner, executor, executor.cli.serve_mcp; executor.Executor; print('mcp' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_without_the_sdk_the_command_says_what_to_install(tmp_path) -> None:
    (tmp_path / "mcp").mkdir()
    (tmp_path / "mcp" / "__init__.py").write_text("raise ModuleNotFoundError('no', name='mcp')", encoding="utf-8")
    environment = {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    assert "pip install 'forethought[mcp]'" in refuse("courier", **environment)


def test_a_client_that_leaves_in_the_midst_of_a_run_leaves_a_run_that_waits(tmp_path) -> None:
    write_real(tmp_path, 0.5)
    log, journal = tmp_path / "log.txt", tmp_path / "runs.db"
    server = subprocess_of(tmp_path / "work.py", "--real", "--journal", journal)

    async def leave(client):
        task = asyncio.ensure_future(client.call_tool("run", {"name": "r"}))
        await until(log.exists)
        task.cancel()

    async def go_on(client):
        return await call(client, "state", run="r"), await call(client, "resume", run="r")

    talk_until_lost(server, leave)
    waiting, ended = talk(server, go_on)
    assert waiting["runs"][0]["status"] == "WAITING"
    assert ended["status"] == "SUCCEEDED"
    assert log.read_text(encoding="utf-8").count("begin first x") == 1


def test_two_servers_do_not_drive_one_run(tmp_path) -> None:
    work, go = write_real(tmp_path), tmp_path / "go"
    wait = f"while not os.path.exists({str(go)!r}):\n            await asyncio.sleep(0.02)"
    work.write_text("import os\n" + work.read_text().replace("await asyncio.sleep(0.0)", wait))
    log, journal = tmp_path / "log.txt", tmp_path / "runs.db"
    arguments = tmp_path / "work.py", "--real", "--journal", journal
    with serving(*arguments) as (url, _):

        async def both(client):
            task = asyncio.ensure_future(client.call_tool("run", {"name": "r"}))
            await until(log.exists)
            async with Client(subprocess_of(*arguments)) as other:
                refused = await fail(other, "resume", run="r")
            go.touch()
            return refused, (await task).structured_content

        refused, ended = talk(url, both)
    assert "driven" in refused or "drives" in refused
    assert ended["status"] == "SUCCEEDED"


def test_what_another_process_does_with_a_run_is_seen(tmp_path) -> None:
    parcels, journal = write_parcels(tmp_path), tmp_path / "runs.db"
    words = ["run", str(parcels), "--journal", str(journal), "--resume", "r", "--quiet"]

    async def ask(client):
        waiting = await call(client, "run", name="r")
        answer = f"{waiting['questions'][0]['question']}=yes"
        command = [sys.executable, "-m", "planner.cli", *words, "--answer", answer]
        done = await asyncio.to_thread(subprocess.run, command, env=ENVIRONMENT, capture_output=True, check=False)
        return done.returncode, await call(client, "state", run="r"), await call(client, "resume", run="r")

    code, state, again = talk(subprocess_of(parcels, "--journal", journal), ask)
    assert code == 0
    assert (state["runs"][0]["status"], state["runs"][0]["goal_holds"]) == ("SUCCEEDED", True)
    assert again["status"] == "SUCCEEDED"
