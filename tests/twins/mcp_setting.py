"""Domains for the tests of the MCP server, and calls of the SDK's own client."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from pathlib import Path

from mcp import Client
from mcp.client.stdio import StdioServerParameters

from executor.cli.execute import RunOptions
from executor.mcp_server.build_server import build_server
from executor.mcp_server.call_limits import CallLimits
from planner.language.loading.load import open_source

ROOT = Path(__file__).parents[2]
MODES = ["auto", "legacy"]
"""The protocol since 2026 and before it."""

PARCELS = """
domain: parcels
types: {room: object, parcel: object}
actions:
  go:
    parameters: {a: room, b: room}
    requires: [at(a), "door(a, b)"]
    provides: [at(b)]
    modifies: [at(_)]
    cost: 2
  take:
    parameters: {p: parcel, r: room}
    requires: [at(r), "lies(p, r)"]
    provides: [has(p), "not lies(p, r)"]
  hand_over:
    parameters: {p: parcel}
    requires: [has(p), at(lobby)]
    provides: [delivered(p), not has(p)]
    tags: [irreversible, needs_approval]
constants: {lobby: room}
---
problem: one
domain: parcels
objects: {lab: room, box: parcel}
initial: [at(lobby), "door(lobby, lab)", "door(lab, lobby)", "lies(box, lab)"]
goal: [delivered(box)]
---
problem: locked
domain: parcels
objects: {lab: room, box: parcel}
initial: [at(lobby), "lies(box, lab)"]
goal: [delivered(box)]
"""

REAL = """
import asyncio, time
from pathlib import Path
from planner import Domain
from executor import World, ActionResult

LOG = Path(__file__).with_name("log.txt")

def note(text):
    with LOG.open("a") as file:
        file.write(text + "\\n")

work = Domain("work", types=["job"])
for name, before in [("first", None), ("second", "first"), ("third", "second")]:
    work.action(name, {"j": "job"}, requires=[f"{before}_done(j)"] if before else [], provides=[f"{name}_done(j)"],
                tags=["irreversible"] if name == "third" else [])
world = World(work)

def make(name):
    async def handler(j: str):
        note(f"begin {name} {j}")
        await asyncio.sleep(SECONDS)
        note(f"end {name} {j}")
    return handler

def seen(name):
    return lambda j: f"end {name} {j}" in (LOG.read_text() if LOG.exists() else "")

for name in ("first", "second", "third"):
    world.handler(name)(make(name))
    world.observer(f"{name}_done(j)", conclusive=True)(seen(name))

problem = work.problem("one", objects={"x": "job"}, goal=["third_done(x)"])
"""

LONG = """(define (domain sliding) (:requirements :strips)
  (:predicates (at ?t ?p) (blank ?p) (near ?p ?q))
  (:action slide :parameters (?t ?p ?q)
    :precondition (and (at ?t ?p) (blank ?q) (near ?p ?q))
    :effect (and (not (at ?t ?p)) (not (blank ?q)) (at ?t ?q) (blank ?p))))"""


def sliding_problem(side: int = 5) -> str:
    """Return a sliding puzzle whose proof takes long."""
    cells = [(x, y) for y in range(side) for x in range(side)]
    names = {cell: f"p{cell[0]}-{cell[1]}" for cell in cells}
    tiles = [f"t{number}" for number in range(1, side * side)]
    near = " ".join(
        f"(near {names[a]} {names[b]})" for a in cells for b in cells if abs(a[0] - b[0]) + abs(a[1] - b[1]) == 1
    )
    start = " ".join(f"(at {tile} {names[cell]})" for tile, cell in zip(reversed(tiles), cells, strict=False))
    goal = " ".join(f"(at {tile} {names[cell]})" for tile, cell in zip(tiles, cells, strict=False))
    objects = " ".join([*tiles, *names.values()])
    return f"""(define (problem s) (:domain sliding) (:objects {objects})
      (:init {near} {start} (blank {names[cells[-1]]})) (:goal (and {goal})))"""


def write_parcels(folder: Path) -> Path:
    path = folder / "parcels.yaml"
    path.write_text(PARCELS, encoding="utf-8")
    return path


def write_real(folder: Path, seconds: float = 0.0) -> Path:
    path = folder / "work.py"
    path.write_text(REAL.replace("SECONDS", str(seconds)), encoding="utf-8")
    return path


def make_server(domain, problem=None, limits=None, **options):
    source = open_source(str(domain))
    return build_server(source, problem, RunOptions(str(domain), problem, **options), limits or CallLimits())


def subprocess_of(*arguments: object) -> StdioServerParameters:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    words = ["-m", "planner.cli", "mcp", *map(str, arguments)]
    return StdioServerParameters(command=sys.executable, args=words, env=environment)


def talk(server, conversation, **options):
    """Return what `conversation(client)` returns with a client of `server`."""

    async def main():
        async with Client(server, **options) as client:
            return await conversation(client)

    return asyncio.run(main())


async def call(client: Client, tool: str, **arguments):
    """Return the structured content of a result that is no error."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content[0].text
    return result.structured_content


async def fail(client: Client, tool: str, **arguments) -> str:
    """Return the text of a result that is an error."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    text = result.content[0].text
    assert "Traceback" not in text
    return text


def talk_until_lost(server, conversation, **options) -> None:
    """Let `conversation(client)` lose its server."""
    with contextlib.suppress(Exception):
        talk(server, conversation, **options)


async def until(happens) -> None:
    """Wait until `happens()`."""
    while not happens():  # noqa: ASYNC110 - other processes write files
        await asyncio.sleep(0.02)
