"""Whatever listens does so on loopback by default, and answers nobody without the key."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path

import httpx
import pytest
import typer

from executor import Executor, World
from executor.listening.addresses import read_address
from planner import Domain

ROOT = Path(__file__).parents[2]
SECRET = "a-secret-of-these-tests"
LISTENING = "0A"
"""The state of a socket in /proc/net/tcp."""
LOOPBACK = {"0100007F", "00000000000000000000000001000000"}
SECONDS = 200.0


def make_journal(folder: Path) -> str:
    import asyncio

    shop = Domain("shop")
    shop.action("pack", {}, provides=["packed"], tags=["trusted"])
    world = World(shop)
    world.handler("pack")(lambda: True)
    executor = Executor(world, folder / "runs.db")
    asyncio.run(executor.run(shop.problem(goal=["packed"])))
    assert executor.journal is not None
    executor.journal.close()
    return str(folder / "runs.db")


COMMANDS: Mapping[str, tuple[list[str], str, Mapping[str, str]]] = {
    "serve": (["serve", "--workers", "1"], "--listen", {"FORETHOUGHT_SERVE_KEY": SECRET}),
    "mcp": (["mcp", "errands"], "--http", {"FORETHOUGHT_MCP_TOKEN": SECRET}),
    "view": (["view", "JOURNAL", "--serve"], "--address", {}),
}
"""The words of each command that listens, its option for the address, and the variables with a key."""


def words_of(name: str, folder: Path) -> list[str]:
    return [make_journal(folder) if word == "JOURNAL" else word for word in COMMANDS[name][0]]


@contextmanager
def started(name: str, folder: Path, variables: Mapping[str, str]) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start a command on a free port, and give its process and the URL that it tells."""
    pytest.importorskip({"serve": "uvicorn", "mcp": "mcp"}.get(name, "http"))
    words = [*words_of(name, folder), COMMANDS[name][1], "127.0.0.1:0"]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("FORETHOUGHT_")} | variables
    log = folder / "log"
    with log.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "planner.cli", *words], stdout=file, stderr=file, env=environment, cwd=ROOT
        )
    try:
        end = time.monotonic() + SECONDS
        while not (found := re.search(r"http://[^\s)]+", log.read_text())):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < end
            time.sleep(0.1)
        yield process, found.group()
    finally:
        process.kill()
        process.wait()


def find_open_sockets(pid: int) -> dict[str, str]:
    """Return the local addresses and ports on which a process listens."""
    inodes = set()
    for path in Path(f"/proc/{pid}/fd").iterdir():
        try:
            inodes |= set(re.findall(r"socket:\[(\d+)\]", str(path.readlink())))
        except OSError:
            continue
    found = {}
    for name in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENING and fields[9] in inodes:
                address, _, port = fields[1].partition(":")
                found[port] = address
    return found


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="needs /proc")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", COMMANDS)
def test_who_has_no_key_gets_no_answer(name: str, tmp_path: Path) -> None:
    with started(name, tmp_path, COMMANDS[name][2]) as (process, url):
        bare = url.partition("?")[0]
        base = re.match(r"http://[^/]+", url).group()
        with httpx.Client(timeout=SECONDS) as client:
            for headers in ({}, {"Authorization": "Bearer wrong-wrong-wrong-wrong"}, {"Cookie": "forethought=wrong"}):
                for path in (bare, f"{base}/", f"{base}/metrics", f"{base}/v1/jobs/x"):
                    for method in ("GET", "POST"):
                        answer = client.request(method, path, headers=headers)
                        assert answer.status_code in (401, 403, 404), (method, path, answer.text)
                        assert "errands" not in answer.text
                        assert "packed" not in answer.text
        sockets = find_open_sockets(process.pid)
    assert sockets
    assert set(sockets.values()) <= LOOPBACK


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", ["serve", "mcp"])
def test_beyond_loopback_a_key_is_needed(name: str, tmp_path: Path) -> None:
    pytest.importorskip({"serve": "uvicorn", "mcp": "mcp"}[name])
    environment = {key: value for key, value in os.environ.items() if not key.startswith("FORETHOUGHT_")}
    words = [*words_of(name, tmp_path), COMMANDS[name][1], "0.0.0.0:0"]
    command = [sys.executable, "-m", "planner.cli", *words]
    found = subprocess.run(
        command, capture_output=True, text=True, env=environment, cwd=ROOT, timeout=SECONDS, check=False
    )
    assert found.returncode == 2
    assert "0.0.0.0 can be reached from other machines, and there is no token" in found.stderr


@pytest.mark.parametrize("name", ["serve", "view"])
def test_the_default_address_is_this_machine(name: str) -> None:
    (entry,) = entry_points(group="forethought.commands", name=name)
    command = typer.main.get_command(entry.load())
    option = COMMANDS[name][1]
    (parameter,) = [each for each in command.params if option in each.opts]
    assert read_address(parameter.default, option).is_loopback


def test_the_page_names_all_that_listens() -> None:
    """A module that opens a socket for others is known here, and its command has a line in the table."""
    words = (r"(?<!\.)(?<!def )\blisten\(", r"found\.listen\(", r"uvicorn\.Server\(", r"HTTPServer\(", r"\.bind\(\(")
    opens = re.compile("|".join((*words, r"start_server\(")))
    found = {
        path.relative_to(ROOT).as_posix()
        for package in ("planner", "htn", "executor", "domains")
        for path in (ROOT / package).rglob("*.py")
        if opens.search(path.read_text(encoding="utf-8"))
    }
    assert found == {
        "executor/desk/pages/live_server.py",
        "executor/listening/bounded_http.py",
        "executor/cli/serve_mcp.py",
        "executor/listening/addresses.py",
        "executor/testing/temporal_server.py",
        "executor/workers/health.py",
        "executor/service/command.py",
    }
    page = (ROOT / "docs" / "how-to" / "deploying.md").read_text(encoding="utf-8")
    for words in ("forethought serve", "forethought mcp --http", "forethought view --serve", "forethought worker"):
        assert f"| `{words}`" in page
