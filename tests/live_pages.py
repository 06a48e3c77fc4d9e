"""What tests of live pages share: a world with steps that need approvals, runs in threads, and a server."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from executor import Executor, RunOutcome, World
from executor.desk.pages.live_server import Access, LiveServer
from executor.journal import Journal
from executor.listening.addresses import Address, listen
from planner import Domain
from planner.model import Problem


class Post:
    """A world in which letters are sealed, and sent with an approval; `sent` is what really happened."""

    def __init__(self, letters: int = 1, seconds: float = 0.0) -> None:
        self.done: set[str] = set()
        domain = Domain("post", types=["letter"])
        domain.action("seal", {"letter": "letter"}, requires=["draft(letter)"], provides=["sealed(letter)"])
        domain.action(
            "send",
            {"letter": "letter"},
            requires=["sealed(letter)"],
            provides=["sent(letter)"],
            tags=["irreversible", "needs_approval"],
            description="It cannot be called back.",
        )
        self.world = World(domain)
        for action, fact in (("seal", "sealed"), ("send", "sent")):
            self.world.handler(action)(self._handler(fact, seconds))
            self.world.observer(f"{fact}(letter)")(self._observer(fact))
        names = [f"letter{number}" for number in range(1, letters + 1)]
        self.problem: Problem = domain.problem(
            "post",
            objects=dict.fromkeys(names, "letter"),
            initial=[f"draft({name})" for name in names],
            goal=[f"sent({name})" for name in names],
        )

    def _handler(self, fact: str, seconds: float) -> Callable[..., None]:
        def handle(letter: str) -> None:
            time.sleep(seconds)
            self.done.add(f"{fact}({letter})")

        return handle

    def _observer(self, fact: str) -> Callable[..., bool]:
        return lambda letter: f"{fact}({letter})" in self.done

    @property
    def sent(self) -> set[str]:
        """The letters that were sent."""
        return {each for each in self.done if each.startswith("sent")}


class Running:
    """A run in a thread of its own, which stays for answers; `end()` waits for its outcome."""

    def __init__(self, post: Post, path: Path, run: str, *, stay: bool = True) -> None:
        self._outcome: list[RunOutcome] = []
        self._thread = threading.Thread(target=self._drive, args=(post, path, run, stay), daemon=True)
        self._thread.start()

    def _drive(self, post: Post, path: Path, run: str, stay: bool) -> None:
        with Journal(path) as journal:
            executor = Executor(post.world, journal=journal, stay=stay)
            self._outcome.append(asyncio.run(executor.run(post.problem, run=run)))

    def end(self) -> RunOutcome:
        """Wait for the end of the run, and return its outcome."""
        self._thread.join(60)
        return self._outcome[0]


@contextmanager
def served(journal: Journal, run: str | None = None, **options: Any) -> Iterator[LiveServer]:
    """Serve the runs of `journal` on this machine; options: `port`, `access` and `reopen`."""
    address = Address("127.0.0.1", options.get("port", 0))
    with listen(address) as listening:
        access, reopen = options.get("access", Access()), options.get("reopen")
        server = LiveServer(listening, address, journal, run, access=access, reopen=reopen)
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join(10)


def wait_until(holds: Callable[[], Any], seconds: float = 60.0) -> Any:
    """Return the first value of `holds()` that is true; fails after so many `seconds`."""
    until = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < until, "it does not come about"
        time.sleep(0.05)
    return found
