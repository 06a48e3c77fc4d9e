"""A worker is killed at events of a run of twenty steps; another finishes, and each effect comes once."""

import asyncio
import subprocess
import sys
from collections import Counter
from datetime import timedelta
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

pytest.importorskip("temporalio", reason="the extra `temporal` is not installed")
SCRIPT = Path(__file__).with_name("corridor.py")
EVENTS = 63
"""Number of events of the run where nothing goes wrong: a start, three for each step, an end, and one look."""

PARTS = 4
"""Number of tests that share the events: workers die one after another."""


@pytest.fixture(scope="module")
def corridor():
    spec = spec_from_file_location("corridor", SCRIPT)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.timeout(300)
def test_killed_at_some_events(server, tmp_path, corridor):
    carry_out(server, tmp_path, corridor, [2, 3, 4, 31, 62])


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(PARTS))
def test_killed_at_every_event(server, tmp_path, corridor, part):
    carry_out(server, tmp_path, corridor, range(1 + part, EVENTS, PARTS))


def carry_out(server, folder, corridor, deaths):
    flags = folder / "flags"
    flags.mkdir()
    for death in deaths:
        (flags / f"kill{death} at {death}").touch()
    carry_out_once(server, folder, corridor, deaths)
    for flag in list(flags.iterdir()):  # the deaths of others left this run fewer events: it dies alone
        alone = folder / flag.name
        (alone / "flags").mkdir(parents=True)
        flag.rename(alone / "flags" / flag.name.replace("kill", "alone"))
        carry_out_once(server, alone, corridor, [int(flag.name.rpartition(" ")[2])], "alone")
        assert list((alone / "flags").iterdir()) == [], "each death came about"


def carry_out_once(server, folder, corridor, deaths, name="kill"):
    """Carry out a run for each of `deaths` with workers that all of them share, and check what came of it."""
    ledger = folder / "ledger"
    outcomes = asyncio.run(follow(server, ledger, folder / "flags", corridor, [f"{name}{each}" for each in deaths]))
    assert [each.succeeded for each in outcomes] == [True] * len(outcomes)
    for number, outcome in enumerate(outcomes):
        walk = [f"move(r{number}, x{room}, x{room + 1})" for room in range(corridor.LENGTH)]
        assert [str(each.step) for each in outcome.steps] == walk, "as where nothing goes wrong"
    left = corridor.make_world(ledger)
    robots = [f"r{number}" for number in range(len(outcomes))]
    assert [left.holds(f"at({robot}, x{corridor.LENGTH})") for robot in robots] == [True] * len(robots)
    applied = Counter(act.by for act in left.acts)
    assert applied == {f"{outcome.run}/{step.id}": 1 for outcome in outcomes for step in outcome.steps}


async def follow(server, ledger, flags, corridor, runs):
    from temporalio.client import Client

    from executor.temporal import TemporalExecutor

    client = await Client.connect(server)
    world = corridor.make_world(ledger).world
    executor = TemporalExecutor(world, client, corridor.QUEUE, heartbeat=2.0, task_timeout=timedelta(seconds=2))
    names = [f"r{number}" for number in range(len(runs))]
    serving = asyncio.create_task(keep_serving(server, ledger, flags))
    try:
        problems = [corridor.make_problem([robot], [f"at({robot}, x20)"]) for robot in names]
        begun = [executor.start(each, run=run, mode="first") for each, run in zip(problems, runs, strict=True)]
        return await asyncio.gather(*begun)
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)


async def keep_serving(server, ledger, flags):
    """Start a worker, and another whenever one has died."""
    command = [sys.executable, str(SCRIPT), server, str(ledger), str(flags)]
    while True:
        process = await asyncio.create_subprocess_exec(*command, stderr=subprocess.DEVNULL)
        try:
            await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
