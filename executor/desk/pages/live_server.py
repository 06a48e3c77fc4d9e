"""Serve pages of runs that follow the journal live, and take answers of people: `forethought view RUNS.db --serve`.

Who may see and answer: whoever has the token in the address that is printed. The token is exchanged for a cookie that
scripts cannot read and other sites do not send, below a path that other servers on this machine cannot guess: browsers
send cookies to all ports of a host. A request whose `Host` is a foreign name is refused (DNS rebinding), and so is an
answer whose `Origin` is not this server (cross-site requests). The page may load nothing, run its one script, and
connect to this server only.

An answer goes the one way that answers from outside go: `executor.events.open_questions.post_answer`.
"""

from __future__ import annotations

import hmac
import ipaddress
import json
import secrets
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, TypeVar
from urllib.parse import parse_qs, urlsplit

from executor.cli.places import open_existing
from executor.desk.pages.document import Page, to_json
from executor.desk.pages.html import live_policy, write_live_html
from executor.desk.pages.live_runs import Runs, empty_page, page_after
from executor.desk.pages.run_page import find_latest
from executor.errors import JournalError, NoRunError, ReplacedError
from executor.events.open_questions import post_answer
from executor.journal import AnyJournal, Place
from executor.listening.addresses import Address, listen, name_url
from executor.report.progress import line_of
from executor.tools.json_data import load_json
from planner.cli.interrupt import interruptible
from planner.cli.output import give, tell
from planner.errors import InputError

Answer = TypeVar("Answer")
COOKIE: Final = "forethought"
MOST_BYTES: Final = 100_000
"""Longest answer, in bytes."""
MOST_STREAMS: Final = 32
"""Most pages that follow at once; each has a thread."""
LOOK_SECONDS: Final = 0.2
"""Time between two looks at the journal, in seconds."""
BEAT_SECONDS: Final = 5.0
"""Longest silence of the stream of a page: the page takes a longer one for a lost connection."""
IDLE_SECONDS: Final = 30.0
"""Seconds that a connection may stay open without a request, or take to send one."""
SAFE_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
ENTER: Final = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0;url={0}"><link rel="icon" href="data:,">
<title>forethought</title><a href="{0}">To the run</a></html>
"""
"""A page that goes on to the runs: with what it asks for, a browser sends the cookie, wherever itself came from."""
CLOSED_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"
CLOSED: Final = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,"><title>forethought</title>
<body style="font: 16px/1.5 system-ui, sans-serif; margin: 3rem auto; max-width: 34rem; padding: 0 1rem">
<p>Open the address that <code>forethought view --serve</code> has printed: it has a token, and this one has none.</p>
</body></html>
"""


@dataclass(frozen=True, slots=True)
class Access:
    """What opens the pages: tokens for addresses, and what the cookie holds."""

    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    session: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    base: str = field(default_factory=lambda: f"/{secrets.token_hex(6)}/")
    """The path of the pages, to which the cookie is bound."""
    once: set[str] = field(default_factory=set)
    """Tokens that work a single time: others see them in the list of processes."""

    def issue_once(self) -> str:
        """Return a new token that works a single time."""
        self.once.add(token := secrets.token_urlsafe(24))
        return token

    def admits(self, token: str) -> bool:
        """Return whether `token` opens the pages."""
        if token in self.once:
            self.once.discard(token)
            return True
        return _is_same(token, self.token)

    def knows(self, cookies: str) -> bool:
        """Return whether the header `cookies` has the cookie."""
        pairs = [each.strip().partition("=") for each in cookies.split(";")]
        return any(name == COOKIE and _is_same(value, self.session) for name, _, value in pairs)


def _is_same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(errors="replace"), other.encode())


class LiveServer(ThreadingHTTPServer):
    """Serves the runs of `journal` on a socket that listens; `run` is the one to show first, None the latest.

    Where the file of the journal was replaced, `reopen` opens the new one.
    """

    daemon_threads = True
    block_on_close = False

    def __init__(
        self, listening: socket.socket, address: Address, journal: AnyJournal, run: str | None = None, *,
        access: Access | None = None, reopen: Callable[[], AnyJournal] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(listening.getsockname()[:2], LiveHandler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.address = address
        self.run = run
        self.runs = Runs(journal)
        self._reopen = reopen
        self._reopening = threading.Lock()
        self.answering = threading.Lock()
        self.access = access or Access()
        self.stopping = threading.Event()
        self.streams = threading.BoundedSemaphore(MOST_STREAMS)

    @property
    def url(self) -> str:
        """The address of the pages, without a token."""
        return name_url(self.socket, self.address, self.access.base)

    def url_with(self, token: str) -> str:
        """Return the address that opens the pages by `token`."""
        return f"{self.url}?token={token}"

    def ask(self, act: Callable[[Runs], Answer]) -> Answer:
        """Return what `act` finds in the runs of the journal, of the new one where its file was replaced."""
        runs = self.runs
        try:
            return act(runs)
        except ReplacedError:
            if not self.open_again(runs):
                raise
            return act(self.runs)

    def open_again(self, old: Runs) -> bool:
        """Open the journal anew, unless another thread has; return whether there is another one than `old` now."""
        with self._reopening:
            if self.runs is old and self._reopen is not None:
                with suppress(InputError, JournalError):
                    self.runs = Runs(self._reopen())
                    old.journal.close()
            return self.runs is not old

    def shutdown(self) -> None:
        """Stop serving; streams end within a moment."""
        self.stopping.set()
        super().shutdown()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that go away; all else is a defect, and is told as one."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            super().handle_error(request, client_address)

    def is_own_name(self, host: str) -> bool:
        """Return whether the header `host` names this server by an address, or by the name that it was given.

        Any port counts: a tunnel may have another one. A foreign name may lead here only by DNS rebinding.
        """
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if name in ("localhost", self.address.host.lower()):
            return True
        with suppress(ValueError):
            return bool(ipaddress.ip_address(name))
        return False


class _Refused(Exception):
    """A request that is refused, with a status and the reason."""

    def __init__(self, status: HTTPStatus, problem: str, hint: str = "") -> None:
        super().__init__(problem)
        self.status, self.problem, self.hint = status, problem, hint


class LiveHandler(BaseHTTPRequestHandler):
    """Handles the requests of one connection."""

    server: LiveServer
    protocol_version = "HTTP/1.1"
    server_version = "forethought"
    sys_version = ""
    timeout = IDLE_SECONDS
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Answer with a page, or with the stream of what is new in a run."""
        self._answer(self._get)

    def do_POST(self) -> None:
        """Take an answer of a person."""
        self._answer(self._post)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        """Log nothing: addresses hold tokens."""

    def _answer(self, act: Callable[[], None]) -> None:
        if self.server.stopping.is_set():  # a connection may outlast the socket that it came from
            self.close_connection = True
            return
        try:
            self._check_host()
            act()
        except _Refused as refused:
            self.close_connection = True
            if self.command == "POST" or refused.status is not HTTPStatus.FORBIDDEN:
                self._send_json({"problem": refused.problem, "hint": refused.hint}, refused.status)
            else:
                self._send(CLOSED, "text/html; charset=utf-8", refused.status)

    def _check_host(self) -> None:
        if not self.server.is_own_name(self.headers.get("Host", "")):
            raise _Refused(HTTPStatus.MISDIRECTED_REQUEST, "this server does not answer to that name")

    def _get(self) -> None:
        address = urlsplit(self.path)
        asked = {name: values[-1] for name, values in parse_qs(address.query).items()}
        access, base = self.server.access, self.server.access.base
        if address.path == base and access.admits(asked.get("token", "")):
            self._enter()
            return
        self._check_cookie()
        if address.path == base:
            self._send_page(asked.get("run"))
        elif address.path == f"{base}events":
            self._check_site()
            self._stream(asked.get("run", ""), self._count_kept(asked.get("after", "")))
        elif address.path == f"{base}alive":
            self._send_json({})
        else:
            raise _Refused(HTTPStatus.NOT_FOUND, "there is nothing here")

    def _enter(self) -> None:
        """Exchange the token for the cookie."""
        access = self.server.access
        self._send(
            ENTER.format(access.base),
            "text/html; charset=utf-8",
            headers={"Set-Cookie": f"{COOKIE}={access.session}; Path={access.base}; HttpOnly; SameSite=Strict"},
        )

    def _check_cookie(self) -> None:
        if not self.server.access.knows(self.headers.get("Cookie", "")):
            raise _Refused(HTTPStatus.FORBIDDEN, "this page is open to those only who have its token")

    def _check_site(self) -> None:
        """Raise where another site has made the browser ask."""
        if self.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
            raise _Refused(HTTPStatus.FORBIDDEN, "another site asks")

    def _send_page(self, run: str | None) -> None:
        self._send(
            write_live_html(self._find_page(run)),
            "text/html; charset=utf-8",
            headers={"Content-Security-Policy": live_policy()},
        )

    def _find_page(self, run: str | None) -> Page:
        """Return the page of `run`, by default of the one to show first."""
        try:
            run = run or self.server.run or self.server.ask(lambda runs: find_latest(runs.journal))
            if run is None:
                return empty_page("No run yet", "This page shows the first run as soon as it begins.")
            named = run
            return self.server.ask(lambda runs: runs.feed(named)).page()
        except JournalError as error:
            raise _as_refused(error) from error

    def _count_kept(self, after: str) -> int:
        """Return how many events the page has: after a lost connection, the browser names the last message."""
        text = self.headers.get("Last-Event-ID", after)
        return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else 0

    def _stream(self, run: str, kept: int) -> None:
        if not self.server.streams.acquire(blocking=False):
            raise _Refused(HTTPStatus.SERVICE_UNAVAILABLE, "too many pages follow at once", "close some of them")
        try:
            self.close_connection = True
            self.send_response(HTTPStatus.OK)
            self._send_headers({"Content-Type": "text/event-stream", "Connection": "close"})
            _Stream(self, run, kept).follow()
        finally:
            self.server.streams.release()

    def say(self, kind: str, data: str, mark: int | None = None) -> None:
        """Send a message of the stream; `mark` is what the browser names after a lost connection."""
        named = "" if mark is None else f"id: {mark}\n"
        self.wfile.write(f"event: {kind}\n{named}data: {data}\n\n".encode())
        self.wfile.flush()

    def _post(self) -> None:
        self._check_cookie()
        if self.headers.get("Origin") != f"http://{self.headers.get('Host')}":
            raise _Refused(HTTPStatus.FORBIDDEN, "another site asks", "answer on the page of this server")
        self._check_site()
        if self.path != f"{self.server.access.base}answers":
            raise _Refused(HTTPStatus.NOT_FOUND, "there is nothing here")
        given = self._read_json()
        run, question, shown = (_text_in(given, name) for name in ("run", "question", "shown"))
        try:
            with self.server.answering:
                self.server.ask(lambda runs: _post_first(runs.journal, run, question, given.get("answer"), shown))
        except (InputError, JournalError) as error:
            raise _as_refused(error) from error
        self._send_json({})

    def _read_json(self) -> dict[str, Any]:
        """Return the body of a request as a JSON object."""
        kind = self.headers.get("Content-Type", "").partition(";")[0].strip()
        length = self.headers.get("Content-Length", "")
        if kind != "application/json" or not (length.isascii() and length.isdigit()):
            raise _Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "an answer is JSON, with its length")
        if int(length) > MOST_BYTES:
            raise _Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"an answer has {MOST_BYTES:,} bytes at most")
        try:
            found = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise _Refused(HTTPStatus.BAD_REQUEST, "this is no JSON object")
        return found

    def _send_json(self, data: Mapping[str, Any], status: HTTPStatus = HTTPStatus.OK) -> None:
        self._send(json.dumps(data), "application/json", status)

    def _send(
        self, text: str, kind: str, status: HTTPStatus = HTTPStatus.OK, headers: Mapping[str, str] | None = None
    ) -> None:
        body = text.encode(errors="replace")
        self.send_response(status)
        closed = {"Connection": "close"} if self.close_connection else {}
        self._send_headers({"Content-Type": kind, "Content-Length": str(len(body)), **closed, **(headers or {})})
        self.wfile.write(body)

    def _send_headers(self, headers: Mapping[str, str]) -> None:
        fallback = {"Content-Security-Policy": CLOSED_POLICY}
        for name, value in {**fallback, **SAFE_HEADERS, **headers}.items():
            self.send_header(name, value)
        self.end_headers()


class _Stream:
    """What one page is told: documents of its run, the list of runs, and why there is nothing more to tell."""

    def __init__(self, handler: LiveHandler, run: str, kept: int) -> None:
        self._handler, self._server, self._runs = handler, handler.server, handler.server.runs
        self._run, self._kept = run, kept
        self._version, self._listed = 0, ""
        self._quiet_since = self._next_page = time.monotonic()

    def follow(self) -> None:
        """Tell what is new until the client goes away or the server stops."""
        while not self._server.stopping.wait(0 if not self._version else LOOK_SECONDS):
            try:
                self._tell_document()
                self._tell_runs()
            except JournalError as error:
                self._tell_end(error)
                return
            if time.monotonic() - self._quiet_since > BEAT_SECONDS:
                self._say("beat", "{}")

    def _tell_end(self, error: JournalError) -> None:
        """Tell that the journal was opened anew and has the run, or why there is nothing more to tell."""
        is_lost = isinstance(error, ReplacedError)
        if self._server.runs is self._runs and not (is_lost and self._server.open_again(self._runs)):
            hint = "the page goes on as soon as there is a journal in its place" if is_lost else error.hint
            self._handler.say("gone", json.dumps({"problem": f"{error.place}: {error.found}; {hint}"}))
            return
        with suppress(JournalError):
            self._server.runs.feed(self._run)
            self._handler.say("opened", '{"has_run": true}')
            return
        self._handler.say("opened", '{"has_run": false}')

    def _say(self, kind: str, data: str) -> None:
        self._handler.say(kind, data, self._kept)
        self._quiet_since = time.monotonic()

    def _tell_document(self) -> None:
        if not self._run:
            self._version = 1
            return
        feed = self._runs.feed(self._run)
        if feed.version == self._version or time.monotonic() < self._next_page:
            return
        self._version = feed.version
        page = feed.page()
        left_out, rest = page_after(page, self._kept)
        self._kept = 0 if page.run is None else len(page.run.events)
        self._say("document", f'{{"from": {left_out}, "page": {to_json(rest)}}}')
        self._next_page = time.monotonic() + feed.pause

    def _tell_runs(self) -> None:
        listed = json.dumps([each.to_dict() for each in self._runs.list()])
        if listed != self._listed:
            self._listed = listed
            self._say("runs", listed)


def _as_refused(error: InputError | JournalError) -> _Refused:
    """Return the refusal that tells of an error."""
    if isinstance(error, JournalError):
        status = HTTPStatus.NOT_FOUND if isinstance(error, NoRunError) else HTTPStatus.INTERNAL_SERVER_ERROR
        return _Refused(status, error.found, error.hint)
    return _Refused(HTTPStatus.UNPROCESSABLE_ENTITY, error.message, error.hint or "")


def _post_first(journal: AnyJournal, run: str, question: str, answer: Any, shown: str) -> None:
    """Post an answer unless another person's waits to be taken: whoever comes second has not seen it."""
    for each in journal.posted.read(run):
        if (each.question, each.shown, each.objection) == (question, shown, ""):
            found = line_of(load_json(each.answer))
            raise _Refused(HTTPStatus.CONFLICT, f"somebody has answered this question meanwhile: {found}")
    post_answer(journal, run, question, answer, shown=shown)


def _text_in(given: Mapping[str, Any], name: str) -> str:
    found = given.get(name)
    if not isinstance(found, str):
        raise _Refused(HTTPStatus.BAD_REQUEST, f"the answer needs {name!r}, a text")
    return found


def serve(place: Place, run: str | None, address: Address, *, open_page: bool, quiet: bool) -> None:
    """Serve the runs of the journal at `place` until a signal comes; print the address on stdout.

    Raises `InputError` for an unknown `run` and where nothing can be served, and `JournalError`.
    """
    with open_existing(place) as journal, listen(address) as listening:
        if run is not None:
            Runs(journal).feed(run)
        server = LiveServer(listening, address, journal, run, reopen=partial(open_existing, place))
        give(server.url_with(server.access.token))
        if not quiet:
            reach = "" if address.is_loopback else "; others in the network can read along: this is no HTTPS"
            tell(f"serving the runs in {journal.place} to whoever has this address{reach}; Ctrl-C ends it")
        if open_page:
            webbrowser.open(server.url_with(server.access.issue_once()))
        serving = threading.Thread(target=server.serve_forever, daemon=True)
        serving.start()
        with suppress(KeyboardInterrupt), interruptible():
            serving.join()
        server.shutdown()
        server.runs.journal.close()
