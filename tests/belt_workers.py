"""A world of steps one after the other in a file, and the commands that enqueue its run and start its workers."""

import json
import subprocess
import sys
import time

from executor.journal import open_journal

WORLD = '''
import os, threading, time
from pathlib import Path
from executor import World
from planner import Domain

FOLDER = Path(__file__).parent
STEPS = 8
belt = Domain("belt")
for number in range(STEPS):
    needs = [f"done{number - 1}"] if number else []
    belt.action(f"do{number}", {}, requires=needs, provides=[f"done{number}"], tags=["idempotent"])
world = World(belt)
problem = belt.problem(goal=[f"done{STEPS - 1}"])


def acts():
    """Return what was done, as (step, process) in its order."""
    path = FOLDER / "acts"
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


def act(name, token):
    """Do it, unless it is done; requests of processes that were fenced off are refused by their tokens."""
    tokens = FOLDER / "token"
    newest = int(tokens.read_text()) if tokens.exists() else 0
    if token < newest:
        raise RuntimeError(f"{name} comes from a process that was fenced off")
    fresh = FOLDER / f"token-{os.getpid()}-{threading.get_ident()}"
    fresh.write_text(str(token))
    fresh.replace(tokens)
    if name not in [each for each, _ in acts()]:
        with (FOLDER / "acts").open("a") as file:
            file.write(f"{name} {token}\\n")


def bind(number):
    @world.handler(f"do{number}")
    def do(context):
        time.sleep(0.1)
        act(f"do{number}", context.token)

    @world.observer(f"done{number}", conclusive=True)
    def done():
        return f"do{number}" in [each for each, _ in acts()]


for number in range(STEPS):
    bind(number)
'''


def acts_of(belt):
    path = belt.parent / "acts"
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


def start_worker(belt, place, *options, stderr=subprocess.PIPE):
    command = [sys.executable, "-m", "planner.cli", "worker", belt, "--journal", place, "--poll", "0.1", *options]
    return subprocess.Popen(list(map(str, command)), stderr=stderr, text=True)


def enqueue(belt, place):
    command = [sys.executable, "-m", "planner.cli", "run", belt, "--real", "--journal", place, "--enqueue", "--json"]
    command += ["--time-limit", "none"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=90, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["run"]


def wait_until(condition, seconds=80.0):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def status_of(place, run):
    with open_journal(place) as journal:
        return {each.run: each.status for each in journal.runs()}[run]
