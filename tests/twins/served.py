"""A server of `forethought serve` for tests, and tasks for it: small ones, and some that take long or much memory."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import httpx

LAMPS = "(define (domain lamps) (:predicates (lit ?l)) (:action light :parameters (?l) :effect (lit ?l)))"
EVENING = "(define (problem evening) (:domain lamps) (:objects a b) (:init) (:goal (and (lit a) (lit b))))"
SMALL = {"domain": LAMPS, "problem": EVENING}
TILES = """
(define (domain tiles) (:predicates (at ?t ?p) (free ?p) (next ?p ?q))
  (:action slide :parameters (?t ?p ?q)
    :precondition (and (at ?t ?p) (free ?q) (next ?p ?q))
    :effect (and (not (at ?t ?p)) (at ?t ?q) (free ?p) (not (free ?q)))))
"""
HUNGRY = {
    "domain": "(define (domain hungry) (:predicates (ate ?a ?b ?c ?d ?e ?f)) (:action eat"
    " :parameters (?a ?b ?c ?d ?e ?f) :precondition (not (ate ?a ?b ?c ?d ?e ?f)) :effect (ate ?a ?b ?c ?d ?e ?f)))",
    "problem": "(define (problem feast) (:domain hungry)"
    f" (:objects {' '.join(f'x{number}' for number in range(40))}) (:init)"
    f" (:goal (and {' '.join(f'(ate x{n} x{n} x{n} x{n} x{n} x{n})' for n in range(40))})))",
}
"""A task with 40⁶ ground actions."""


def puzzle(size, seed=1):
    """Return a sliding puzzle: a plan is found soon, and a proof of its cost takes very long."""
    places = [(row, column) for row in range(size) for column in range(size)]
    tiles = list(range(size * size))
    dice, free = random.Random(seed), 0
    for _ in range(size**4):
        row, column = divmod(free, size)
        near = [
            (row + a) * size + column + b
            for a, b in ((1, 0), (-1, 0), (0, 1), (0, -1))
            if 0 <= row + a < size and 0 <= column + b < size
        ]
        other = dice.choice(near)
        tiles[free], tiles[other] = tiles[other], tiles[free]
        free = other
    name = lambda place: f"p{place[0]}-{place[1]}"  # noqa: E731 - used in the texts below only
    at = [f"(at t{tile} {name(place)})" for tile, place in zip(tiles, places, strict=True) if tile]
    goal = [f"(at t{tile} {name(place)})" for tile, place in enumerate(places) if tile]
    next_to = [
        f"(next {name(p)} {name(q)})" for p in places for q in places if abs(p[0] - q[0]) + abs(p[1] - q[1]) == 1
    ]
    objects = [*[f"t{tile}" for tile in tiles if tile], *map(name, places)]
    problem = f"""(define (problem puzzle) (:domain tiles) (:objects {" ".join(objects)})
        (:init {" ".join([*at, *next_to])} (free {name(places[free])})) (:goal (and {" ".join(goal)})))"""
    return {"domain": TILES, "problem": problem}


def odd_puzzle(size):
    """Return a sliding puzzle without a plan, as two tiles are exchanged: a proof takes very long."""
    made = puzzle(size)
    start, goal = made["problem"].split("(:goal")
    return {**made, "problem": f"{start}(:goal{goal.replace('t1 ', 't0 ').replace('t2 ', 't1 ').replace('t0 ', 't2 ')}"}


ENDLESS = {**puzzle(4), "search": "astar", "heuristic": "blind"}
"""A task that no search here solves within minutes."""


class Served:
    """A running server."""

    def __init__(self, process, url):
        self.process, self.url = process, url

    def client(self, key=None, **options):
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        return httpx.Client(base_url=self.url, timeout=50, headers=headers, **options)

    def children(self):
        """Return the processes of the pool."""
        lists = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        return [int(word) for each in lists for word in each.read_text(encoding="ascii").split()]

    def busy_child(self):
        """Return the process of the pool that has used most time of processors."""

        def ticks(pid):
            text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
            return sum(map(int, text.rpartition(")")[2].split()[11:13]))

        return max(self.children(), key=ticks)


@contextmanager
def serve(*options, env=None, workers=1):
    """Run a server until the body ends; it must end by itself when it is told to."""
    command = [sys.executable, "-m", "planner.cli", "serve", "--listen", "127.0.0.1:0", "--workers", str(workers)]
    process = subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True, env=os.environ | (env or {}))
    try:
        line = process.stderr.readline()
        found = re.search(r"http://\S+", line)
        assert found, line + process.stderr.read()
        served = Served(process, found[0])
        wait_until(lambda: httpx.get(f"{served.url}/health").status_code == 200)
        yield served
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def wait_until(holds, seconds=50):
    """Wait until `holds` returns something true, and return that."""
    deadline = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < deadline, "it has not come to that"
        time.sleep(0.05)
    return found
