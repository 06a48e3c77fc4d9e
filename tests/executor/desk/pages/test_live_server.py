"""The server of live pages: who may see and answer, what is refused and how it says so, and what its streams tell."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from live_pages import Post, Running, served, wait_until

from executor.desk.pages.html import live_policy
from executor.desk.pages.live_server import COOKIE, MOST_BYTES, LiveServer
from executor.events.events import RunStatus
from executor.events.open_questions import load_open_questions
from executor.journal import Journal
from planner.cli import main
from planner.cli.output import Exit
from planner.errors import InputError

Answer = tuple[int, dict[str, str], str]


class Client:
    """Asks `server` as a browser does that has its cookie; headers may be replaced, or left out by None."""

    def __init__(self, server: LiveServer) -> None:
        self.server = server
        self.host = urlsplit(server.url).netloc

    def headers(self, **changes: str | None) -> dict[str, str]:
        found = {
            "Host": self.host,
            "Cookie": f"{COOKIE}={self.server.access.session}",
            "Origin": f"http://{self.host}",
            "Sec-Fetch-Site": "same-origin",
            "Content-Type": "application/json",
        }
        found |= {name.replace("_", "-"): value for name, value in changes.items()}
        return {name: value for name, value in found.items() if value is not None}

    def ask(self, method: str, path: str, body: bytes = b"", **changes: str | None) -> Answer:
        connection = HTTPConnection("127.0.0.1", self.server.socket.getsockname()[1], timeout=10)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            headers = self.headers(**changes)
            for name, value in ({"Content-Length": str(len(body))} | headers if body else headers).items():
                connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read().decode()
        finally:
            connection.close()

    def get(self, path: str = "", **changes: str | None) -> Answer:
        return self.ask("GET", self.server.access.base + path, **changes)

    def post(self, data, **changes: str | None) -> tuple[int, dict[str, str]]:
        status, _, text = self.ask("POST", f"{self.server.access.base}answers", json.dumps(data).encode(), **changes)
        return status, json.loads(text) if text.startswith("{") else {}

    def messages(self, path: str, **changes: str | None) -> Iterator[tuple[str, str, object]]:
        """Yield the messages of a stream: kind, mark, data."""
        connection = HTTPConnection("127.0.0.1", self.server.socket.getsockname()[1], timeout=10)
        try:
            connection.request("GET", self.server.access.base + path, headers=self.headers(**changes))
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            fields: dict[str, str] = {}
            for line in iter(answer.readline, b""):
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name:
                    fields[name] = value
                elif fields:
                    yield fields["event"], fields.get("id", ""), json.loads(fields["data"])
                    fields = {}
        finally:
            connection.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The journal of one run that waits for an approval, and that nobody drives."""
    found = tmp_path / "runs.db"
    Running(Post(), found, "r1", stay=False).end()
    return found


@pytest.fixture
def journal(path: Path) -> Iterator[Journal]:
    with Journal(path) as opened:
        yield opened


@pytest.fixture
def client(journal: Journal) -> Iterator[Client]:
    with served(journal) as server:
        yield Client(server)


def question(journal: Journal, run: str = "r1") -> dict[str, str]:
    """Return the open question of a run as the page has it."""
    from executor.desk.pages.run_page import run_page

    found = run_page(journal, run).run.questions[0]
    return {"run": run, "question": found.name, "shown": found.shown}


def test_the_token_is_exchanged_for_a_cookie_that_scripts_and_other_sites_do_not_get(client: Client) -> None:
    status, headers, text = client.get(f"?token={client.server.access.token}", Cookie=None)
    assert status == 200
    cookie = headers["Set-Cookie"]
    assert cookie.startswith(f"{COOKIE}={client.server.access.session}; ")
    assert {"HttpOnly", "SameSite=Strict", f"Path={client.server.access.base}"} <= {*cookie.split("; ")}
    assert client.server.access.token not in text
    status, headers, text = client.get()
    assert status == 200
    assert headers["Content-Security-Policy"] == live_policy()
    assert "May send(letter1) be done?" in text


@pytest.mark.parametrize("cookie", [None, "", f"{COOKIE}=guessed", f"{COOKIE}=", "other=1", f"{COOKIE}=\u00e9"])
@pytest.mark.parametrize("where", ["", "?token=guessed", "?run=r1", "events?run=r1", "alive", "elsewhere"])
def test_nothing_is_shown_without_the_cookie(client: Client, cookie: str | None, where: str) -> None:
    status, headers, text = client.get(where, Cookie=cookie)
    assert status == 403
    assert "letter1" not in text
    assert "Set-Cookie" not in headers


@pytest.mark.parametrize("where", ["/", "/answers", "/guessed/", "/favicon.ico", "//evil.example/"])
def test_other_paths_are_refused(client: Client, where: str) -> None:
    assert client.ask("GET", where)[0] == 404
    assert client.ask("GET", where, Cookie=None)[0] == 403


def test_a_token_for_the_browser_works_once(client: Client) -> None:
    token = client.server.access.issue_once()
    assert client.get(f"?token={token}", Cookie=None)[0] == 200
    assert client.get(f"?token={token}", Cookie=None)[0] == 403


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "[::1", None])
def test_foreign_names_are_refused(client: Client, host: str | None) -> None:
    for method, path in (("GET", ""), ("GET", f"?token={client.server.access.token}"), ("POST", "answers")):
        status, headers, text = client.ask(method, client.server.access.base + path, b"{}", Host=host)
        assert (status, "letter1" in text, "Set-Cookie" in headers) == (421, False, False)


@pytest.mark.parametrize("host", ["localhost:1", "127.0.0.1", "[::1]:80", "192.0.2.7:9"])
def test_addresses_are_no_names(client: Client, host: str) -> None:
    """Nobody but this machine decides where an address leads: a tunnel may use another port."""
    assert client.get("", Host=host)[0] == 200


@pytest.mark.parametrize(
    "changes",
    [
        {"Origin": None},
        {"Origin": "null"},
        {"Origin": "http://evil.example"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Cookie": None},
    ],
)
def test_answers_of_other_sites_are_refused(client: Client, journal: Journal, changes: dict[str, str | None]) -> None:
    status, said = client.post({**question(journal), "answer": "yes"}, **changes)
    assert status == 403
    assert said["problem"]
    assert journal.posted.read("r1") == []


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_answers_are_json(client: Client, journal: Journal, kind: str | None) -> None:
    """What a form of another site could send without asking is never read."""
    assert client.post({**question(journal), "answer": "yes"}, Content_Type=kind)[0] == 415
    assert journal.posted.read("r1") == []


def test_streams_are_for_this_site_alone(client: Client) -> None:
    assert client.get("events?run=r1", Sec_Fetch_Site="cross-site")[0] == 403


def test_an_answer_goes_the_way_of_all_answers(client: Client, journal: Journal) -> None:
    asked = question(journal)
    assert client.post({**asked, "answer": "no: it rains"}) == (200, {})
    (posted,) = journal.posted.read("r1")
    assert (posted.question, posted.shown, posted.answer) == (asked["question"], asked["shown"], '"no: it rains"')


def test_the_second_of_two_who_answer_at_once_is_told(client: Client, journal: Journal) -> None:
    asked = question(journal)
    assert client.post({**asked, "answer": "no: the address is wrong"})[0] == 200
    status, said = client.post({**asked, "answer": "yes"})
    assert status == 409
    assert said["problem"].startswith("somebody has answered this question meanwhile: no: the address is wrong")
    assert [json.loads(each.answer) for each in journal.posted.read("r1")] == ["no: the address is wrong"]


def test_bad_answers_are_refused_in_the_words_of_the_command(client: Client, journal: Journal) -> None:
    asked = question(journal)
    status, said = client.post({**asked, "answer": "perhaps"})
    assert (status, said["hint"]) == (422, "say one of: yes, no, or 'no: …' with the reason")
    assert said["problem"] == f"'perhaps' is no answer to '{asked['question']}'"
    assert client.post({**asked, "answer": {"a": 1}})[0] == 422
    assert client.post(asked)[0] == 422
    assert "is not what it was" in client.post({**asked, "shown": "0" * 16, "answer": "yes"})[1]["problem"]
    assert (
        "does not ask 'approve:s9'" in client.post({**asked, "question": "approve:s9", "answer": "yes"})[1]["problem"]
    )
    assert client.post({**asked, "run": "r9", "answer": "yes"})[0] == 404
    assert journal.posted.read("r1") == []


@pytest.mark.parametrize("body", [b"", b"nothing", b"[]", b"{", b'{"run": 1}', b"[" * 50_000])
def test_what_is_no_answer_is_refused(client: Client, body: bytes) -> None:
    status, _, text = client.ask("POST", f"{client.server.access.base}answers", body)
    assert status in (400, 415)
    assert json.loads(text)["problem"]


def test_an_answer_is_not_too_long(client: Client) -> None:
    size = str(MOST_BYTES + 1)
    assert client.ask("POST", f"{client.server.access.base}answers", b"{}", Content_Length=size)[0] == 413
    assert client.ask("POST", f"{client.server.access.base}answers", b"{}", Content_Length="-1")[0] == 415
    assert client.ask("POST", f"{client.server.access.base}elsewhere", b"{}")[0] == 404


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE"])
def test_other_methods_do_not_exist(client: Client, method: str) -> None:
    assert client.ask(method, client.server.access.base)[0] == 501


def test_an_unknown_run_is_named(client: Client) -> None:
    status, _, text = client.get("?run=r9")
    assert status == 404
    assert "there is no run 'r9'" in json.loads(text)["problem"]
    kind, _, said = next(client.messages("events?run=r9"))
    assert kind == "gone"
    assert "there is no run 'r9'" in said["problem"]


def test_nobody_else_keeps_or_frames_a_page(client: Client) -> None:
    for path in ("", "alive", "?run=r9"):
        headers = client.get(path)[1]
        assert headers["Cache-Control"] == "no-store"
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert "Access-Control-Allow-Origin" not in headers
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]


def test_the_page_may_run_its_own_script_alone() -> None:
    policy = live_policy()
    assert "script-src 'sha256-" in policy
    assert "connect-src 'self'" in policy
    assert "unsafe-inline" not in policy.partition("script-src")[2].partition(";")[0]


def test_a_stream_tells_what_is_new_and_goes_on_where_it_was_lost(client: Client, journal: Journal) -> None:
    stream = client.messages("events?run=r1&after=2")
    kind, mark, data = next(stream)
    count = len([*journal.read("r1")])
    assert (kind, data["from"], mark) == ("document", 2, str(count))
    assert len(data["page"]["run"]["events"]) == count - 2
    assert data["page"]["run"]["questions"][0]["kind"] == "approval"
    kind, _, listed = next(stream)
    assert (kind, [each["run"] for each in listed]) == ("runs", ["r1"])
    client.post({**question(journal), "answer": "yes"})
    kind, _, data = next(stream)
    assert (kind, data["from"], data["page"]["run"]["events"]) == ("document", count, [])
    assert data["page"]["run"]["questions"][0]["answer"] == "yes"
    again = next(client.messages("events?run=r1&after=0", Last_Event_ID=mark))
    assert again[2]["from"] == count
    too_far = next(client.messages("events?run=r1&after=9999"))
    assert (too_far[2]["from"], len(too_far[2]["page"]["run"]["events"])) == (0, count)


def test_a_stream_follows_a_run_to_its_end(tmp_path: Path) -> None:
    post = Post()
    with Journal(tmp_path / "runs.db") as journal, served(journal) as server:
        client = Client(server)
        assert "No run yet" in client.get()[2]
        running = Running(post, tmp_path / "runs.db", "r1")
        wait_until(lambda: "r1" in {each.run for each in journal.runs()} and load_open_questions(journal, "r1"))
        seen = []
        for kind, _, data in client.messages("events?run=r1"):
            if kind != "document":
                continue
            run = data["page"]["run"]
            seen += run["events"]
            if run.get("questions") and not run["questions"][0].get("answer"):
                assert run["driven"] is True
                client.post({**question(journal), "answer": "yes"})
            if run.get("is_over"):
                break
        assert running.end().status is RunStatus.SUCCEEDED
        assert [each["kind"] for each in seen] == [each.kind for each in journal.read("r1")]


def test_a_run_that_is_deleted_ends_its_stream(client: Client, journal: Journal) -> None:
    stream = client.messages("events?run=r1")
    assert [next(stream)[0] for _ in range(2)] == ["document", "runs"]
    journal.delete("r1")
    kind, _, said = next(each for each in stream if each[0] != "document")
    assert kind == "gone"
    assert "r1" in said["problem"]


def test_a_journal_that_is_replaced_is_not_followed_like_a_ghost(client: Client, journal: Journal, path: Path) -> None:
    asked = question(journal)
    stream = client.messages("events?run=r1")
    assert [next(stream)[0] for _ in range(2)] == ["document", "runs"]
    path.rename(path.with_name("old.db"))
    path.write_bytes(path.with_name("old.db").read_bytes())
    kind, _, said = next(each for each in stream if each[0] not in ("document", "beat"))
    assert kind == "gone"
    assert "deleted, moved or replaced while it was open" in said["problem"]
    status, refused = client.post({**asked, "answer": "yes"})
    assert (status, refused["problem"]) == (500, "the file was deleted, moved or replaced while it was open")


def test_a_journal_that_is_replaced_is_opened_anew(path: Path) -> None:
    opened: list[Journal] = []

    def reopen() -> Journal:
        if not path.is_file():
            raise InputError("there is none")
        opened.append(Journal(path))
        return opened[-1]

    with Journal(path) as journal, served(journal, reopen=reopen) as server:
        client = Client(server)
        asked = question(journal)
        stream = client.messages("events?run=r1")
        assert [next(stream)[0] for _ in range(2)] == ["document", "runs"]
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(path.with_name("new.db"))) as target:
            source.backup(target)
        for each in path.parent.glob("runs.db*"):
            if not each.name.endswith("locks"):
                each.rename(each.with_name(f"old-{each.name}"))
        kind, _, said = next(each for each in stream if each[0] not in ("document", "beat"))
        assert kind == "gone"
        assert "as soon as there is a journal in its place" in said["problem"]
        path.with_name("new.db").rename(path)
        stream = client.messages("events?run=r1")
        assert next(stream)[::2] == ("opened", {"has_run": True})
        status, _ = client.post({**asked, "answer": "yes"})
        assert status == 200
        assert len(opened) == 1
        assert [each.question for each in opened[0].posted.read("r1")] == [asked["question"]]
        opened[0].close()


def test_the_command_serves_until_it_is_told_to_stop(path: Path) -> None:
    words = [sys.executable, "-m", "planner.cli", "view", str(path), "--serve"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ))
    try:
        address = urlsplit(process.stdout.readline().strip())
        assert address.hostname == "127.0.0.1"
        with socket.create_connection((address.hostname, address.port), 10) as connection:
            connection.sendall(
                f"GET {address.path}?{address.query} HTTP/1.1\r\nHost: {address.netloc}\r\n\r\n".encode()
            )
            assert connection.recv(100).startswith(b"HTTP/1.1 200")
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == Exit.OK, err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["courier", "--serve"], "--serve follows runs in a journal, and courier is none"),
        (["{journal}", "--serve", "--out", "page.html"], "leave --out"),
        (["{journal}", "r9", "--serve"], "there is no run 'r9'"),
        (["{journal}", "--serve", "--address", "nowhere"], "--address takes HOST:PORT, not 'nowhere'"),
        (["{journal}", "--serve", "--address", "192.0.2.1:0"], "nothing can be served at 192.0.2.1:0"),
    ],
)
def test_what_cannot_be_served_is_said(path: Path, capsys, words: list[str], what: str) -> None:
    with pytest.raises(SystemExit) as end:
        main(["view", *[each.format(journal=path) for each in words]])
    assert end.value.code == Exit.USAGE
    assert what in capsys.readouterr().err
