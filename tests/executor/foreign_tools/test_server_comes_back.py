"""The process of an MCP server is killed, and comes back: calls go on, and what was under way is in doubt."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from executor import Executor, RunStatus, StepStatus, World, mcp_tools
from executor.foreign_tools.tool import ToolServerError
from planner import Domain

pytestmark = pytest.mark.anyio

SERVER = """
import os, pathlib, signal, sys
from mcp.server import MCPServer

here = pathlib.Path(__file__).parent
server = MCPServer("crm")


def note(text):
    with open(here / "log.txt", "a") as log:
        log.write(text + chr(10))
    if (here / "die").exists():
        (here / "die").unlink()
        os.kill(os.getpid(), signal.SIGKILL)


@server.tool()
def set_flag(name: str) -> str:
    "Set a flag."
    note(f"set_flag {name}")
    return "ok"


@server.tool()
def pay(name: str) -> str:
    "Pay."
    note(f"pay {name}")
    return "ok"


if (here / "new").exists():

    @server.tool()
    def extra(name: str) -> str:
        "Something new."
        note(f"extra {name}")
        return "ok"


if (here / "changed").exists():

    @server.tool()
    def tell(name: str, loudly: bool) -> str:
        "Tell."
        note(f"tell {name} loudly")
        return "ok"
else:

    @server.tool()
    def tell(name: str) -> str:
        "Tell."
        note(f"tell {name}")
        return "ok"


(here / "pid").write_text(str(os.getpid()))
if (here / "broken").exists():
    sys.exit("no licence any more")
server.run("stdio")
"""
CONTRACTS = {
    "set_flag": {"provides": ["flagged(name)"], "tags": []},
    "tell": {"requires": ["flagged(name)"], "provides": ["told(name)"], "tags": []},
    "pay": {"provides": ["paid(name)"], "tags": ["irreversible"]},
    "extra": {"provides": ["extra(name)"], "tags": []},
}


class Desk:
    """A folder with a server, and what its tools have done."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "server.py").write_text(SERVER, encoding="utf-8")
        (folder / "log.txt").touch()

    def connect(self):
        return mcp_tools([sys.executable, str(self.folder / "server.py")], contracts=CONTRACTS)

    def kill(self) -> None:
        os.kill(int((self.folder / "pid").read_text()), signal.SIGKILL)

    def mark(self, name: str) -> None:
        (self.folder / name).touch()

    @property
    def log(self) -> list[str]:
        return (self.folder / "log.txt").read_text(encoding="utf-8").splitlines()

    def make_world(self, tools, *, sees_payments: bool = False) -> tuple[World, Domain]:
        domain = Domain("crm")
        tools.add_to(domain)
        world = World(domain)
        world.observer("flagged(name)", conclusive=True)(lambda name: f"set_flag {name}" in self.log)
        world.observer("told(name)", conclusive=True)(lambda name: any(f"tell {name}" in each for each in self.log))
        if sees_payments:
            world.observer("paid(name)", conclusive=True, settle_within=0)(lambda name: f"pay {name}" in self.log)
        return world, domain


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


async def test_a_call_after_the_server_was_killed_is_made_by_the_next_one(desk):
    async with desk.connect() as tools:
        world, domain = desk.make_world(tools)
        executor = Executor(world)
        for name in ("o1", "o2", "o3"):
            outcome = await executor.run(domain.problem(objects={name: "name"}, goal=[f"told({name})"]))
            assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
            desk.kill()
    assert desk.log == [f"{each} {name}" for name in ("o1", "o2", "o3") for each in ("set_flag", "tell")]


async def test_a_run_goes_on_after_a_call_that_killed_the_server_and_nothing_is_repeated(desk):
    async with desk.connect() as tools:
        world, domain = desk.make_world(tools)
        desk.mark("die")
        outcome = await Executor(world).run(domain.problem(objects={"o1": "name"}, goal=["told(o1)"]))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert desk.log == ["set_flag o1", "tell o1"]


@pytest.mark.parametrize("sees", [True, False])
async def test_an_irreversible_call_under_way_is_in_doubt_and_never_repeated(desk, sees):
    async with desk.connect() as tools:
        world, domain = desk.make_world(tools, sees_payments=sees)
        problem = domain.problem(objects={"o1": "name"}, goal=["paid(o1)"])
        executor = Executor(world)
        desk.mark("die")
        first = await executor.run(problem)
        again = await executor.run(problem)
    assert desk.log == ["pay o1"]
    if sees:
        assert (first.status, again.status) == (RunStatus.SUCCEEDED, RunStatus.SUCCEEDED)
    else:
        assert first.steps[-1].status is StepStatus.IN_DOUBT
        assert again.status in (RunStatus.IN_DOUBT, RunStatus.WAITING)


async def test_a_server_that_does_not_come_back_is_named_and_tried_again_later(desk):
    async with desk.connect() as tools:
        world, domain = desk.make_world(tools)
        desk.mark("broken")
        desk.kill()
        problem = domain.problem(objects={"o1": "name"}, goal=["told(o1)"])
        failed = await Executor(world).run(problem)
        assert failed.status is RunStatus.FAILED
        assert "crm" in failed.reason
        (desk.folder / "broken").unlink()
        assert (await Executor(world).run(problem)).status is RunStatus.SUCCEEDED
    assert desk.log == ["set_flag o1", "tell o1"]


async def test_a_server_that_comes_back_broken_says_why(desk):
    async with desk.connect() as tools:
        desk.mark("broken")
        desk.kill()
        with pytest.raises(ToolServerError, match=r"no licence any more|Connection closed"):
            await tools.source.list_tools()
        with pytest.raises(ToolServerError, match="no licence any more"):
            await tools.source.list_tools()


async def test_new_tools_are_taken_within_a_session_and_changed_ones_are_not_called_unseen(desk):
    async with desk.connect() as tools:
        world, domain = desk.make_world(tools)
        desk.mark("new")
        desk.mark("changed")
        desk.kill()
        problem = domain.problem(objects={"o1": "name"}, goal=["told(o1)"])
        stale = await Executor(world).run(problem)
        assert stale.status is RunStatus.FAILED
        assert "has changed since it was added" in stale.reason
        found = {each.tool: each.what for each in await tools.take_changes()}
        assert found == {"tell": "changed", "extra": "new"}
        again = await Executor(world).run(problem)
        assert again.status is RunStatus.FAILED, "the earlier world has the tool as it was"
        world, domain = desk.make_world(tools)
        wanted = domain.problem(objects={"o1": "name"}, goal=["extra(o1)"])
        assert (await Executor(world).run(wanted)).steps[-1].status is not StepStatus.FAILED
        told = await Executor(world).run(
            domain.problem(objects={"o1": "name"}, goal=["told(o1)"]), memory={"loudly": True}
        )
        assert told.status is RunStatus.SUCCEEDED, told.reason
    assert {each for each in desk.log if not each.startswith("set_flag")} == {"extra o1", "tell o1 loudly"}
