"""Load on `forethought serve`: questions a second and latencies up to saturation, and what bad clients do to others.

`python -m benchmarks.service_load` starts a server on this machine, and asks it small delivery tasks, each another one:
first with more and more clients, each of which asks again once it is answered; then beside clients that eat memory and
go away, whose quota is one question at work, and while processes of the pool are killed; and beside clients that hold
connections without a request, follow streams, and send bodies that blow up. It prints a table, with latencies in
milliseconds, and what the server has counted. The exit code is 1 if a question of a client that behaves was not
answered.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import itertools
import json
import os
import random
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from planner import load, solve
from planner.cli.output import give
from planner.subprocesses import module_command, module_environment

DOMAIN: Final = """
(define (domain delivery) (:requirements :strips :typing) (:types room item)
  (:predicates (in ?r - room) (door ?a ?b - room) (lies ?i - item ?r - room) (has ?i - item))
  (:action move :parameters (?a ?b - room) :precondition (and (in ?a) (door ?a ?b))
    :effect (and (not (in ?a)) (in ?b)))
  (:action take :parameters (?i - item ?r - room) :precondition (and (in ?r) (lies ?i ?r))
    :effect (and (has ?i) (not (lies ?i ?r))))
  (:action leave :parameters (?i - item ?r - room) :precondition (and (in ?r) (has ?i))
    :effect (and (lies ?i ?r) (not (has ?i)))))
"""
HUNGRY: Final = """
(define (domain hungry) (:predicates (ate ?a ?b ?c ?d ?e ?f))
  (:action eat :parameters (?a ?b ?c ?d ?e ?f) :precondition (not (ate ?a ?b ?c ?d ?e ?f))
    :effect (ate ?a ?b ?c ?d ?e ?f)))
"""
"""A domain with as many ground actions as the sixth power of the number of objects."""
ROOMS, ITEMS, MORE_DOORS = 8, 3, 3
SAMPLES: Final = 40
"""Tasks that are solved in this process, to know what the service adds."""
PATIENCE: Final = 90.0
"""Seconds after which an answer counts as missing."""
KILL_SECONDS: Final = 4.0
"""Seconds between two kills of a process of the pool."""
LEAVING_SECONDS: Final = 0.3
"""Seconds after which a client that leaves does so."""
SILENT, STREAMS = 600, 300
"""Connections on which a request never ends, and streams that one client follows."""
STREAM_SECONDS: Final = 5.0
"""Seconds until a client leaves its streams and begins new ones."""
REFUSED: Final = 429
GOOD, BAD, WORSE = (f"{name}-{secrets.token_urlsafe(16)}" for name in ("good", "bad", "worse"))
"""The keys of the clients that behave, and of the others."""
KEYS: Final = f"""
[good]
key = "{GOOD}"
[bad]
key = "{BAD}"
at_once = 1
[worse]
key = "{WORSE}"
at_once = 1
"""


def draw_task(rng: random.Random) -> dict[str, str]:
    """Return a task: a tree of rooms with some more doors, and items to bring elsewhere."""
    rooms, items = [f"r{number}" for number in range(ROOMS)], [f"i{number}" for number in range(ITEMS)]
    doors = [(rng.choice(rooms[:place]), room) for place, room in enumerate(rooms) if place]
    doors += [(rng.choice(rooms), rng.choice(rooms)) for _ in range(MORE_DOORS)]
    ways = sorted({f"(door {a} {b})" for pair in doors for a, b in (pair, pair[::-1]) if a != b})
    lie = [f"(lies {item} {rng.choice(rooms)})" for item in items]
    goal = [f"(lies {item} {rng.choice(rooms)})" for item in items]
    problem = f"""(define (problem p{rng.randrange(10**9)}) (:domain delivery)
        (:objects {" ".join(rooms)} - room {" ".join(items)} - item)
        (:init (in r0) {" ".join([*ways, *lie])}) (:goal (and {" ".join(goal)})))"""
    return {"domain": DOMAIN, "problem": problem}


def hungry_task(number: int) -> dict[str, Any]:
    """Return a task that takes more memory than there is."""
    objects = [f"x{each}" for each in range(40)]
    goal = " ".join(f"(ate {each} {each} {each} {each} {each} {each})" for each in objects)
    problem = (
        f"(define (problem feast{number}) (:domain hungry) (:objects {' '.join(objects)}) (:init) (:goal (and {goal})))"
    )
    return {"domain": HUNGRY, "problem": problem, "time_limit": 5}


@dataclass(slots=True)
class Sample:
    """What clients have seen: seconds of each answer, and counts of status codes; 0 is a connection that broke."""

    seconds: list[float] = field(default_factory=list)
    codes: Counter[int] = field(default_factory=Counter)
    lasted: float = 0.0

    def percentile(self, share: float) -> float:
        """Return the least of the times that so many are not above, in milliseconds."""
        ordered = sorted(self.seconds)
        return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")

    @property
    def failed(self) -> int:
        """The number of questions that were neither answered nor refused."""
        return sum(count for code, count in self.codes.items() if code not in (200, REFUSED))

    def row(self, name: str) -> str:
        """Return a row of the table."""
        rate = self.codes[200] / self.lasted
        times = [f"{self.percentile(share):.0f}" for share in (0.5, 0.9, 0.99, 1.0)]
        cells = [name, f"{rate:.1f}", *times, str(self.codes[REFUSED]), str(self.failed)]
        return f"| {' | '.join(cells)} |"


HEAD: Final = """| clients | answers a second | median | 90 % | 99 % | slowest | refused | failed |
|---|---|---|---|---|---|---|---|"""


class Connection:
    """A connection that stays open for one question after the other."""

    def __init__(self, port: int, key: str = GOOD) -> None:
        self._port = port
        self._key = key
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, body: dict[str, Any]) -> int:
        """Ask a question; return the status code of the answer. Raises `OSError` and others where there is none."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        text = json.dumps(body).encode()
        fields = ["Host: localhost", f"Content-Length: {len(text)}", f"Authorization: Bearer {self._key}"]
        head = "\r\n".join([f"POST {path} HTTP/1.1", *fields, "", ""])
        writer.write(head.encode() + text)
        await writer.drain()
        answer = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        length = re.search(r"(?i)content-length: (\d+)", answer)
        await reader.readexactly(int(length[1]) if length else 0)
        return int(answer.split()[1])

    async def close(self) -> None:
        """Close the connection at once."""
        if self._streams is not None:
            writer, self._streams = self._streams[1], None
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


async def ask_in_turn(port: int, rng: random.Random, end: float, sample: Sample) -> None:
    """Ask small tasks until `end`, each once the last one is answered."""
    connection = Connection(port)
    while time.monotonic() < end:
        began = time.monotonic()
        try:
            code = await asyncio.wait_for(connection.post("/v1/solve", draw_task(rng) | {"fresh": True}), PATIENCE)
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            code = 0
            await connection.close()
        sample.codes[code] += 1
        if code == 200:
            sample.seconds.append(time.monotonic() - began)
        elif code == REFUSED:
            await asyncio.sleep(0.1)
    await connection.close()


async def measure(port: int, clients: int, seconds: float, seed: int) -> Sample:
    """Let so many clients ask for some seconds."""
    sample, began = Sample(), time.monotonic()
    rngs = [random.Random(f"{seed} {clients} {number}") for number in range(clients)]
    await asyncio.gather(*[ask_in_turn(port, rng, began + seconds, sample) for rng in rngs])
    sample.lasted = time.monotonic() - began
    return sample


async def measure_beside(others: Iterable[Coroutine[Any, Any, None]], work: Coroutine[Any, Any, Sample]) -> Sample:
    """Let clients ask while others do what they do."""
    bad = [asyncio.ensure_future(each) for each in others]
    try:
        return await work
    finally:
        for each in bad:
            each.cancel()
        await asyncio.gather(*bad, return_exceptions=True)


async def eat_memory(port: int, first: int = 0) -> None:
    """Ask hungry tasks again and again."""
    for number in itertools.count(first):
        connection = Connection(port, BAD)
        try:
            await connection.post("/v1/solve", hungry_task(number))
        except (OSError, asyncio.IncompleteReadError):
            continue
        finally:
            await connection.close()


async def leave_early(port: int) -> None:
    """Ask hungry tasks, and go away before they are answered."""
    for number in itertools.count(10**7):
        connection = Connection(port, BAD)
        try:
            await asyncio.wait_for(connection.post("/v1/solve", hungry_task(number)), LEAVING_SECONDS)
        except (TimeoutError, OSError, asyncio.IncompleteReadError):
            continue
        finally:
            await connection.close()


async def kill_processes(server: int, seed: int) -> None:
    """Kill a process of the pool from time to time."""
    rng = random.Random(seed)
    while True:
        await asyncio.sleep(KILL_SECONDS)
        children = find_children(server)
        if children:
            with suppress(ProcessLookupError):
                os.kill(rng.choice(children), signal.SIGKILL)


async def hold_connections(port: int) -> None:
    """Hold connections by headers that go on and on, and open those again that the server has closed."""

    async def hold() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
            while not reader.at_eof():
                writer.write(b"X: y\r\n")
                with suppress(TimeoutError):
                    await asyncio.wait_for(reader.read(1000), 2)
        finally:
            await close_all([writer])

    async def hold_on() -> None:
        while True:
            with suppress(OSError):
                await hold()

    await asyncio.gather(*[hold_on() for _ in range(SILENT)])


async def follow_streams(port: int) -> None:
    """Follow one question by more streams than a client may have, and read none of them."""
    writers: list[asyncio.StreamWriter] = []

    async def send(line: str, body: str = "") -> asyncio.StreamReader:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writers.append(writer)
        fields = ["Host: localhost", f"Content-Length: {len(body)}", f"Authorization: Bearer {WORSE}"]
        writer.write("\r\n".join([f"{line} HTTP/1.1", *fields, "", body]).encode())
        await writer.drain()
        return reader

    for number in itertools.count(10**8):
        try:
            reader = await send("POST /v1/solve", json.dumps(hungry_task(number) | {"wait": False}))
            found = re.search(rb'"id":"([^"]+)"', await reader.readuntil(b"}"))
            for _ in range(STREAMS if found is not None else 0):
                assert found is not None
                await send(f"GET /v1/jobs/{found[1].decode()}/events")
            await asyncio.sleep(STREAM_SECONDS)
        finally:
            await close_all(writers)


async def close_all(writers: list[asyncio.StreamWriter]) -> None:
    """Close connections, and forget them."""
    for each in writers:
        each.close()
    while writers:
        with suppress(OSError):
            await writers.pop().wait_closed()


async def send_bombs(port: int) -> None:
    """Send texts that grow when they are read, and bodies that are long, deep, or no text."""
    lists = "\n".join(f"a{n + 1}: &a{n + 1} [{', '.join([f'*a{n}'] * 9)}]" for n in range(9))
    bombs: list[Any] = [
        {"domain": f"domain: bomb\na0: &a0 [x, x, x, x, x, x, x, x, x]\n{lists}\n", "time_limit": 3},
        {"domain": "(define " + "(" * 400_000, "time_limit": 3},
        {"domain": "(define (domain d) " + "(:predicates (p)) " * 150_000, "time_limit": 3},
        [[]] * 1_000_000,
    ]
    for bomb in itertools.cycle(bombs):
        connection = Connection(port, WORSE)
        try:
            await connection.post("/v1/solve", bomb)
        except (OSError, asyncio.IncompleteReadError):
            continue
        finally:
            await connection.close()


def find_children(process: int) -> list[int]:
    """Return the processes that `process` has started."""
    lists = Path(f"/proc/{process}/task").glob("*/children")
    return [int(word) for each in lists for word in each.read_text(encoding="ascii").split()]


@contextmanager
def run_server(*options: str) -> Iterator[tuple[int, int]]:
    """Run a server while the body lasts; yield its port and its process."""
    command = module_command("planner.cli", "serve", "--listen", "127.0.0.1:0", *options)
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=module_environment()) as server:
        try:
            assert server.stderr is not None
            line = server.stderr.readline()
            found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
            if found is None:
                raise SystemExit(f"no server: {line}{server.stderr.read()}")
            port = int(found[1])
            asyncio.run(_wait_until_ready(port))
            yield port, server.pid
        finally:
            server.terminate()


async def _wait_until_ready(port: int) -> None:
    connection = Connection(port)
    await connection.post("/v1/solve", draw_task(random.Random(0)))
    await connection.close()


def count_outcomes(port: int) -> str:
    """Return how questions have ended, and how many processes were lost, as the server counts them."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {GOOD}"})
    lines = connection.getresponse().read().decode().splitlines()
    connection.close()
    counted = [line for line in lines if line.startswith(("forethought_questions_total", "forethought_workers_lost_t"))]
    return "\n".join(counted)


def solve_here(seed: int) -> float:
    """Return the mean of the seconds that reading and solving a task takes in this process."""
    rng = random.Random(seed)
    tasks = [draw_task(rng) for _ in range(SAMPLES)]
    solve(load(tasks[0]["domain"], tasks[0]["problem"]))
    began = time.perf_counter()
    for task in tasks:
        solve(load(task["domain"], task["problem"]))
    return (time.perf_counter() - began) / SAMPLES


def main(words: Sequence[str] | None = None) -> int:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=10.0, help="for each row")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 2, 4, 8, 16, 32, 64])
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--memory-limit", type=float, default=0.5, metavar="GiB", help="of each process")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(words)
    give(f"in one process, a task takes {1000 * solve_here(given.seed):.1f} ms\n\n{HEAD}")
    options = ["--workers", str(given.workers), "--memory-limit", str(given.memory_limit), "--queue", "1000"]
    with tempfile.TemporaryDirectory() as folder:
        keys = Path(folder) / "keys.toml"
        keys.touch(0o600)
        keys.write_text(KEYS, encoding="utf-8")
        return measure_all(given, *options, "--keys", str(keys))


def measure_all(given: argparse.Namespace, *options: str) -> int:
    """Measure a server with these options, and print the rows of the table; return the exit code."""
    failed = 0
    with run_server(*options) as (port, server):
        for clients in given.clients:
            sample = asyncio.run(measure(port, clients, given.seconds, given.seed))
            give(sample.row(str(clients)))
            failed += sample.failed
        most = max(given.clients[: len(given.clients) // 2 + 1])
        bad = [eat_memory(port), eat_memory(port, 10**6), leave_early(port), kill_processes(server, given.seed)]
        worse = [hold_connections(port), follow_streams(port), send_bombs(port)]
        for name, others in {"hungry": bad, "hostile": worse}.items():
            work = measure(port, most, 2 * given.seconds, given.seed)
            sample = asyncio.run(measure_beside(others, work))
            give(sample.row(f"{most}, beside {name} ones"))
            failed += sample.failed
        give(f"\n{count_outcomes(port)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
