"""A page that follows a run, in a browser: it shows what happens, takes answers, and keeps what somebody does in it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import pytest
from live_pages import Post, Running, served, wait_until
from pydantic import Field

from benchmarks.pages.chromium import Browser, browser, find_chromium
from executor import Executor, InDoubt, Wait, World
from executor.desk.pages.live_server import Access, LiveServer
from executor.events.events import RunStatus
from executor.events.open_questions import load_open_questions, post_answer
from executor.journal import Journal
from planner import Domain

pytestmark = [
    pytest.mark.skipif(find_chromium() is None, reason="Chromium is not installed"),
    pytest.mark.timeout(300),
]


NEWS = "document.querySelector('[aria-live][role=status].hidden').textContent"
"""What a screen reader was told last."""


@pytest.fixture(scope="module")
def browsing() -> Iterator[Browser]:
    pytest.importorskip("websockets")
    with browser() as opened:
        yield opened


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture
def journal(path: Path) -> Iterator[Journal]:
    with Journal(path) as opened:
        yield opened


@pytest.fixture
def server(journal: Journal) -> Iterator[LiveServer]:
    with served(journal) as serving:
        yield serving


@pytest.fixture
def tab(browsing: Browser, server: LiveServer) -> Iterator[Browser]:
    """A wide tab; whatever a test does with it, the console stays empty, and nothing but the server is asked."""
    browsing.resize(1440, 900)
    yield browsing
    assert browsing.messages == []
    hosts = {urlsplit(each).netloc for each in browsing.requests if not each.startswith(("data:", "about:"))}
    assert hosts == {urlsplit(server.url).netloc}
    browsing.visit("about:blank")


def enter(tab: Browser, server: LiveServer, run: str = "") -> None:
    """Open the address with the token, and then the page of `run`."""
    with suppress(RuntimeError):  # the first page goes on to the next
        tab.visit(server.url_with(server.access.token))
    until(tab, "location.search === '' && !!document.documentElement.dataset.ready")
    if run:
        tab.run(f"location.href = {json.dumps(server.url + '?run=' + run)}")
        until(tab, f"location.search === '?run={run}' && !!document.documentElement.dataset.ready")
    until(tab, "document.querySelector('.live').innerText !== 'connecting …'")


def until(tab: Browser, condition: str) -> None:
    """Wait until a JavaScript condition holds."""

    def holds() -> bool:
        try:
            return bool(tab.run(condition))
        except RuntimeError:  # another page is being loaded
            return False

    wait_until(holds)


def text(tab: Browser, selector: str) -> str:
    return tab.run(f"(document.querySelector({json.dumps(selector)}) || {{}}).innerText || ''")


def has(selector: str, words: str) -> str:
    """Return the condition that an element has these words."""
    found = f"[...document.querySelectorAll({json.dumps(selector)})]"
    return f"{found}.some((e) => e.innerText.includes({json.dumps(words)}))"


def test_a_run_is_followed_approved_and_seen_to_end(tab: Browser, server: LiveServer, path: Path) -> None:
    enter(tab, server)
    assert text(tab, "h1") == "No run yet"
    post = Post(letters=2)
    running = Running(post, path, "r1")
    until(tab, has(".ask h2", "May send(letter1) be done?") + " || " + has(".ask h2", "May send(letter2) be done?"))
    until(tab, has(".live", "live: waits for you"))
    until(tab, "document.title.startsWith('(2) ')")
    assert "It cannot be called back." in text(tab, ".ask")
    assert post.sent == set()
    tab.click(".ask .primary")
    until(tab, "document.querySelectorAll('.ask').length === 1")
    assert tab.run("document.activeElement.matches('.ask, .stage')"), "the focus goes to the next question, or on"
    tab.click(".ask .primary")
    until(tab, has(".live", "over"))
    assert running.end().status is RunStatus.SUCCEEDED
    assert len(post.sent) == 2
    assert "succeeded" in text(tab, ".figures")
    assert tab.run("document.querySelector('.questions').hidden") is True
    assert tab.run(NEWS) == "The run is over: succeeded"
    assert tab.run("document.querySelectorAll('.lane .block.good').length") == 4
    assert not tab.run("document.title").startswith("(")


def test_what_somebody_does_in_the_page_outlasts_newer_documents(tab: Browser, server: LiveServer, path: Path) -> None:
    post = Post(letters=12)
    running = Running(post, path, "r1")
    enter(tab, server)
    until(tab, "!!document.querySelector('.ask')")
    tab.click("#tab-events")
    tab.click(".stage .row.event:nth-child(3)")
    detail = text(tab, ".detail h2")
    tab.run("document.querySelector('.stage .list').scrollTop = 60")
    tab.press("/")
    for letter in "letter":
        tab.press(letter)
    before = tab.run("[document.querySelector('.stage .list').scrollTop, location.hash].join()")
    question = text(tab, ".ask h2")
    with Journal(path) as elsewhere:
        name = next(iter(load_open_questions(elsewhere, "r1")))
        post_answer(elsewhere, "r1", name, "yes")
    until(tab, f"document.querySelector('.ask h2').innerText !== {json.dumps(question)}")
    assert tab.run("document.activeElement === document.querySelector('.filter input')")
    assert tab.run("document.querySelector('.filter input').value") == "letter"
    assert tab.run("[document.querySelector('.stage .list').scrollTop, location.hash].join()") == before
    assert text(tab, ".detail h2") == detail
    assert tab.run("document.querySelector('[role=tab][aria-selected=true]').id") == "tab-events"
    with Journal(path) as elsewhere:
        name = wait_until(lambda: next(iter(load_open_questions(elsewhere, "r1")), None))
        post_answer(elsewhere, "r1", name, "no")
    running.end()
    until(tab, "document.querySelector('.live').innerText === 'waits for you'")


def test_a_refusal_keeps_its_reason_while_the_page_changes(
    tab: Browser, server: LiveServer, path: Path, journal: Journal
) -> None:
    post = Post()
    running = Running(post, path, "r1")
    enter(tab, server)
    until(tab, "!!document.querySelector('.ask')")
    tab.click(".ask-controls .button:nth-child(2)")
    assert tab.run("document.activeElement.tagName") == "INPUT"
    for letter in "it rains":
        tab.press(letter)
    journal.posted.post("r1", "no question", "", '"a change beside"')
    tab.run("new Promise((done) => setTimeout(done, 900))")
    assert tab.run("document.activeElement.value") == "it rains"
    tab.press("Enter")
    until(tab, "document.querySelector('.questions').hidden")
    assert "it rains" in running.end().reason
    assert post.sent == set()


def test_a_bad_answer_is_told_in_the_page(tab: Browser, server: LiveServer, path: Path) -> None:
    """As where somebody else has answered a moment before."""
    post = Post()
    Running(post, path, "r1", stay=False).end()
    enter(tab, server)
    until(tab, "!!document.querySelector('.ask')")
    assert text(tab, ".live") == "waits for you"
    tab.run("JSON.stringify = ((real) => (data) => real({ ...data, shown: '0' }))(JSON.stringify), 1")
    tab.click(".ask .primary")
    until(tab, has("[role=alert]", "is not what it was; look at it again"))
    assert tab.run("document.querySelector('.ask .primary').disabled") is False
    assert any("422" in each for each in tab.messages)  # the browser itself reports refusals
    tab.messages.clear()


def test_an_answer_waits_for_the_run_to_be_taken_up(tab: Browser, server: LiveServer, path: Path) -> None:
    Running(Post(), path, "r1", stay=False).end()
    enter(tab, server)
    until(tab, "!!document.querySelector('.ask')")
    tab.click(".ask .primary")
    until(tab, has(".ask-note", "Answered: yes. It is kept in the journal"))
    assert "--resume r1" in text(tab, ".ask-note")
    assert text(tab, ".live").startswith("no process drives it")


PLAIN = """
import time
from pathlib import Path

from executor import World
from planner import Domain

domain, here = Domain("post"), Path(__file__).with_suffix(".log")
domain.action("seal", {}, provides=["sealed"])
domain.action("send", {}, requires=["sealed"], provides=["sent"], tags=["irreversible", "needs_approval"])
world = World(domain)
world.handler("seal")(lambda: None)
world.observer("sealed")(lambda: True)
world.handler("send")(lambda: here.write_text("sent"))
world.observer("sent", conclusive=True)(lambda: here.exists())
problem = domain.problem("letter", goal=["sent"])
"""


def drive(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    """Drive a run in a process of its own, which stays for answers."""
    command = [sys.executable, "-m", "planner.cli", "run", "letters.py", "--real", "--journal", "runs.db"]
    options = ("--stay", "--quiet", "--time-limit", "none", *words)
    return subprocess.Popen([*command, *options], cwd=folder, env=dict(os.environ), stdout=subprocess.DEVNULL)


def test_a_driver_is_killed_and_another_takes_the_run_up(
    tab: Browser, server: LiveServer, tmp_path: Path, journal: Journal
) -> None:
    (tmp_path / "letters.py").write_text(PLAIN, encoding="utf-8")
    process = drive(tmp_path)
    try:
        enter(tab, server)
        until(tab, has(".live", "live: waits for you"))
        process.send_signal(signal.SIGKILL)
        process.wait()
        until(tab, "document.querySelector('.live').innerText === 'waits for you'")
        (run,) = journal.runs()
        process = drive(tmp_path, "--resume", run.run)
        until(tab, has(".live", "live: waits for you"))
        tab.click(".ask .primary")
        until(tab, has(".live", "over"))
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
    assert (tmp_path / "letters.log").read_text() == "sent"
    assert "succeeded" in text(tab, ".figures")


def test_runs_are_listed_and_chosen(tab: Browser, server: LiveServer, path: Path) -> None:
    for name in ("r1", "r2"):
        Running(Post(), path, name, stay=False).end()
    enter(tab, server, "r1")
    until(tab, has(".runs-button", "2"))
    assert tab.run("document.querySelector('.runs-button').ariaLabel") == "Runs: 2, of which 1 wait"
    tab.press("r")
    assert tab.run("document.querySelector('.runs-dialog').open")
    assert tab.run("document.activeElement.ariaCurrent") == "page"
    rows = tab.run("[...document.querySelectorAll('.run-name')].map((e) => e.innerText)")
    assert sorted(rows) == ["post\nr1", "post\nr2"]
    tab.press("ArrowUp")
    tab.press("Enter")
    until(tab, "location.search === '?run=r2' && !!document.documentElement.dataset.ready")
    assert "run r2" in text(tab, ".head-sub")
    Running(Post(), path, "r3", stay=False).end()
    until(tab, has(".runs-button", "3"))


def test_a_lost_connection_is_said_and_found_again(browsing: Browser, journal: Journal, path: Path) -> None:
    Running(Post(), path, "r1", stay=False).end()
    access = Access()
    with served(journal, access=access) as first:
        port = first.socket.getsockname()[1]
        enter(browsing, first)
        until(browsing, "!!document.querySelector('.ask')")
    until(browsing, has(".live", "no connection; trying again"))
    assert "no connection" in browsing.run(NEWS)
    browsing.click(".ask .primary")
    until(browsing, has("[role=alert]", "the answer was not sent"))
    with served(journal, access=access, port=port) as again:
        until(browsing, has(".live", "waits for you"))
        browsing.click(".ask .primary")
        until(browsing, has(".ask-note", "Answered: yes"))
        assert again.access is access
    with served(journal, port=port):
        until(browsing, has(".live", "open the address that it has printed"))
    browsing.visit("about:blank")


def test_every_control_has_a_name_and_the_page_fits_a_phone(tab: Browser, server: LiveServer, path: Path) -> None:
    Running(Post(), path, "r1", stay=False).end()
    enter(tab, server)
    until(tab, "!!document.querySelector('.ask')")
    tab.resize(390, 844)
    tab.settle()
    assert tab.run("document.documentElement.scrollWidth") <= 390
    assert tab.run("Math.min(...[...document.querySelectorAll('.ask button')].map((e) => e.offsetHeight))") >= 44
    tab.click(".ask-controls .button:nth-child(2)")
    nameless = tab.run(
        "[...document.querySelectorAll('button, input, textarea, dialog, section, [role=listbox], [tabindex=\"0\"]')]"
        ".filter((e) => !(e.ariaLabel || e.getAttribute('aria-labelledby') || e.textContent || e.labels?.length))"
        ".map((e) => e.outerHTML.slice(0, 90))"
    )
    assert nameless == []


STRANGE = """o "7" <script>alert(1)</script> & 'x' Müller"""
"""The name of an object, which a page must show as it is."""


def follow_counter(path: Path) -> tuple[list[Any], threading.Thread]:
    """Begin a run that asks for an approval, a choice, a result and a doubt, in a thread; return what it has done."""
    domain, done = Domain("counter", types=["order"]), list[Any]()
    values = {"amount": Annotated[int, Field(default=60)], "note": str}
    tags = ["irreversible", "trusted"]
    domain.action("pay", {"o": "order", **values}, provides=["paid(o)"], tags=[*tags, "needs_approval"])
    domain.action("ask", {"o": "order"}, requires=["paid(o)"], provides=["asked(o)"], tags=["trusted"])
    domain.action("weigh", {"o": "order"}, requires=["asked(o)"], provides=["weighed(o)"], tags=["trusted"])
    domain.action("mail", {"o": "order"}, requires=["weighed(o)"], provides=["mailed(o)"], tags=tags)
    world = World(domain)
    world.handler("pay")(lambda o, amount, note: done.append((o, amount, note)))
    world.handler("ask")(lambda o: Wait(f"Is {o} <i>right</i>?", choices=("sure <b>", "perhaps")))
    world.handler("weigh")(lambda o: Wait(f"How heavy is {o}?"))

    @world.handler("mail")
    def mail(o: str) -> None:
        raise InDoubt(f"{o[:1]}: the line is <dead>")

    problem = domain.problem("counter", objects={STRANGE: "order"}, goal=["(exists (?o - order) (mailed ?o))"])

    def drive() -> None:
        with Journal(path) as journal:
            executor = Executor(world, journal, stay=True)
            outcome = asyncio.run(executor.run(problem, run="r1", memory={"note": "<img src=x onerror=alert(2)>"}))
            done.extend(each.result["data"] for each in outcome.steps[1:3] if each.result)
            done.append(outcome.status)

    thread = threading.Thread(target=drive, daemon=True)
    thread.start()
    return done, thread


def fill(tab: Browser, label: str, value: str) -> None:
    """Write a value into the field with this label."""
    fields = "[...document.querySelectorAll('.ask-field')]"
    field = f"{fields}.find((e) => e.innerText.includes({json.dumps(label)})).querySelector('input, textarea')"
    assert tab.run(f"({field}).value = {json.dumps(value)}") == value


def test_each_kind_of_question_is_answered_about_a_strange_name(
    tab: Browser, server: LiveServer, path: Path, journal: Journal
) -> None:
    done, thread = follow_counter(path)
    enter(tab, server)
    until(tab, has(".ask h2", "May pay("))
    assert "<script>alert(1)</script> & 'x' Müller" in text(tab, ".ask h2")
    assert 'note = "<img src=x onerror=alert(2)>"' in text(tab, ".ask")
    tab.click(".ask .button:nth-child(2)")
    fill(tab, "amount", "many")
    tab.click(".ask .primary")
    until(tab, has("[role=alert]", "'amount' cannot be 'many'"))
    fill(tab, "amount", "20")
    fill(tab, "note", "123")  # a text of digits is a text
    tab.click(".ask .primary")
    until(tab, has(".ask h2", f"Is {STRANGE} <i>right</i>?"))
    assert done == [(STRANGE, 20, "123")]
    buttons = tab.run("[...document.querySelectorAll('.ask .button')].map((e) => e.innerText).join('|')")
    assert buttons == "Sure <b>|Perhaps"
    tab.click(".ask .button")
    until(tab, has(".ask h2", f"How heavy is {STRANGE}?"))
    fill(tab, "What came of it", "7 <b>kg</b>")
    tab.click(".ask .primary")
    until(tab, has(".ask h2", "the line is <dead>. Did it?"))
    thread.join(60)
    assert done[1:] == ["sure <b>", "7 <b>kg</b>", RunStatus.IN_DOUBT]
    tab.click(".ask .button")
    until(tab, has(".ask-note", "Answered: it happened."))
    assert [each.answer for each in journal.posted.read("r1")] == ['"it happened"']
    assert tab.run("document.querySelectorAll('.ask script, .ask img, .stage script, .stage img').length") == 0
    assert all("422" in each for each in tab.messages)  # the browser itself reports refusals
    tab.messages.clear()


@pytest.mark.parametrize("is_gone", [False, True])
def test_a_late_answer_is_told_in_the_page(tab: Browser, server: LiveServer, path: Path, *, is_gone: bool) -> None:
    """Somebody has answered while this answer is on its way."""
    follow_counter(path)
    enter(tab, server)
    until(tab, has(".ask h2", "May pay("))
    tab.run("window.real = window.fetch, window.free = new Promise((go) => { window.go = go; }), 1")
    tab.run("window.fetch = (...all) => window.free.then(() => window.real(...all)), 1")
    tab.click(".ask .primary")
    with Journal(path) as elsewhere:
        post_answer(elsewhere, "r1", "approve:s1", "no: closed")
        wait_until(lambda: "approve:s1" not in load_open_questions(elsewhere, "r1"))
    if is_gone:
        until(tab, "!document.querySelector('.ask')")
    tab.run("window.go(), 1")
    until(tab, has("[role=alert]", "the answer to 'approve:s1' of the run 'r1' comes too late"))
    until(tab, "!document.querySelector('.ask')")
    assert "comes too late" in text(tab, ".questions")
    tab.messages.clear()  # the browser itself reports refusals
