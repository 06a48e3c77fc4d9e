"""Whose turn it is: rates by parameter, rates that refuse, and locks that the executors of one journal share."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from executor import (
    ActionPlan,
    ExecutionPolicy,
    Executor,
    Journal,
    PlanStep,
    Rate,
    RunOutcome,
    RunStatus,
    StepStatus,
    World,
)
from executor.testing import run_virtual
from planner import Domain, PlanError
from planner.errors import InputError


def bank(
    policy: ExecutionPolicy, accounts: tuple[str, ...] = ("a1", "a2")
) -> tuple[World, ActionPlan, list[tuple[str, float]]]:
    """Return a world in which each account is charged twice, a plan without any order, and a list of the charges."""
    domain, begun = Domain("bank", types=["account"]), list[tuple[str, float]]()
    domain.action("charge", {"account": "account", "amount": int}, tags=["trusted"])
    world = World(domain)

    @world.handler("charge", policy=policy)
    async def charge(account: str, amount: int) -> None:  # noqa: ARG001 - handlers take what the action has
        begun.append((account, asyncio.get_running_loop().time()))

    steps = [
        PlanStep(
            id=f"{account}-{amount}", action="charge", arguments={"account": account}, parameters={"amount": amount}
        )
        for account in accounts
        for amount in (1, 2)
    ]
    return world, ActionPlan(model="dag", objects=dict.fromkeys(accounts, "account"), steps=steps), begun


def seconds(begun: list[tuple[str, float]]) -> list[tuple[str, int]]:
    """Return who was charged in which second, counted from the first."""
    return sorted((account, round(at - begun[0][1])) for account, at in begun)


def test_a_rate_by_parameter_counts_its_values_apart() -> None:
    world, plan, begun = bank(ExecutionPolicy(rate=Rate(1, 10, by=("account",))))
    assert run_virtual(Executor(world).run(plan)).status is RunStatus.SUCCEEDED
    assert seconds(begun) == [("a1", 0), ("a1", 10), ("a2", 0), ("a2", 10)]


def test_a_rate_without_parameters_counts_all_steps_together() -> None:
    world, plan, begun = bank(ExecutionPolicy(rate=Rate(2, 10)))
    run_virtual(Executor(world).run(plan))
    assert sorted(at for _, at in seconds(begun)) == [0, 0, 10, 10]


@pytest.mark.parametrize(
    ("rate", "timeout"),
    [(Rate(1, 60, wait=False), None), (Rate(1, 60), 5), ((1, 60), 5)],
    ids=["refuses", "short", "pair"],
)
def test_a_rate_refuses_what_cannot_begin_in_time(rate: Rate, timeout: float | None) -> None:
    world, plan, begun = bank(ExecutionPolicy(rate=rate, timeout=timeout, retries=0, on_error="continue"), ("a1",))
    loop_time: list[float] = []

    async def main() -> RunOutcome:
        executor = Executor(world)
        outcome = await executor.run(plan)
        loop_time.append(asyncio.get_running_loop().time() - begun[0][1])
        return outcome

    outcome = run_virtual(main())
    assert len(begun) == 1
    assert loop_time[0] < 5
    refused = [each for each in outcome.steps if each.status is StepStatus.FAILED]
    assert [each.attempts for each in refused] == [1]
    assert "its rate does not let it begin: at most 1 in 60 s" in refused[0].reason


def test_a_refused_irreversible_step_is_tried_again_as_it_has_not_begun() -> None:
    domain, begun = Domain("till"), list[int]()
    for name in ("pay", "tip"):
        domain.action(name, provides=[f"{name}ed"], tags=["irreversible", "trusted"])
    world = World(domain)
    policy = ExecutionPolicy(rate=Rate(1, 3, wait=False), retries=4, backoff=2, longest=2, jitter=0)
    world.handler("pay", policy=policy)(lambda: begun.append(1))
    executor = Executor(world)

    async def main() -> list[RunStatus]:
        problem = domain.problem(goal=["payed"])
        return [(await executor.run(problem, occasion=month)).status for month in ("May", "June")]

    assert run_virtual(main()) == [RunStatus.SUCCEEDED] * 2
    assert len(begun) == 2


def test_a_refused_step_takes_no_turn() -> None:
    """Those that are refused do not push back those that come later."""
    domain, begun = Domain("bell"), list[float]()
    domain.action("ring", provides=["rung"], tags=["trusted"])
    world = World(domain)

    async def ring() -> None:
        begun.append(asyncio.get_running_loop().time())

    world.handler("ring", policy=ExecutionPolicy(rate=Rate(1, 10, wait=False), retries=0))(ring)
    executor = Executor(world)

    async def main() -> None:
        for pause in (0, 4, 4, 3):
            await asyncio.sleep(pause)
            await executor.run(domain.problem(goal=["rung"]))

    run_virtual(main())
    assert [round(at - begun[0]) for at in begun] == [0, 11]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Rate(0, 1), "positive number of steps, got 0"),
        (lambda: Rate(1, 0), "seconds of a Rate must be a number above 0"),
        (lambda: Rate(1, 1, by="account"), r"write \('account',\)"),  # type: ignore[arg-type]
        (lambda: Rate(1, 1, wait=1), "wait of a Rate must be True or False"),  # type: ignore[arg-type]
        (
            lambda: bank(ExecutionPolicy(rate=Rate(1, 1, by=("acount",)))),
            "no parameter 'acount' to rate by; did you mean",
        ),
        (lambda: ExecutionPolicy(rate=3), "a Rate, or"),  # type: ignore[arg-type]
    ],
    ids=["none", "no time", "text", "wait", "misspelt", "number"],
)
def test_rates_that_mean_nothing(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_a_step_of_a_plan_states_its_rate_as_data() -> None:
    world, plan, begun = bank(ExecutionPolicy(), ("a1",))
    data = plan.model_dump(mode="json")
    for step in data["steps"]:
        step["policy"] = {"rate": {"most": 1, "seconds": 10, "by": ["account"]}}
    run_virtual(Executor(world).run(ActionPlan.model_validate(data)))
    assert seconds(begun) == [("a1", 0), ("a1", 10)]
    wrong = ActionPlan.model_validate_json(json.dumps(data).replace('["account"]', '["acount"]'))
    with pytest.raises(PlanError, match="no parameter 'acount' to rate by"):
        run_virtual(Executor(world).run(wrong))


class Room:
    """Guests of which each stays for a moment; `most` is how many were inside at once."""

    def __init__(self, name: str = "hotel", pause: float = 0.02) -> None:
        self.inside, self.most, self.pause = 0, 0, pause
        self.guard = threading.Lock()
        self.domain = Domain(name, types=["room"])
        self.domain.action("stay", {"room": "room"}, provides=["stayed(room)"], tags=["trusted"])

    def world(self, policy: ExecutionPolicy) -> World:
        world = World(self.domain)
        world.handler("stay", policy=policy)(self.stay)
        return world

    async def stay(self, room: str) -> None:  # noqa: ARG002 - handlers take what the action has
        with self.guard:
            self.inside += 1
            self.most = max(self.most, self.inside)
        await asyncio.sleep(self.pause)
        with self.guard:
            self.inside -= 1

    def problem(self) -> object:
        return self.domain.problem(objects={"r1": "room"}, goal=["stayed(r1)"])


@pytest.mark.parametrize("shares", [True, False], ids=["one journal", "two"])
def test_executors_of_one_journal_share_locks(tmp_path: Path, shares: bool) -> None:
    room = Room(pause=0.02 if shares else 2.0)  # two are inside together, however busy the machine is

    async def main() -> None:
        paths = [tmp_path / name for name in ("j.db", "j.db" if shares else "k.db")]
        executors = [Executor(room.world(ExecutionPolicy(lock=True)), journal=Journal(path)) for path in paths]
        runs = [(executor, f"r{number}") for number, executor in enumerate(2 * executors)]
        await asyncio.gather(*[executor.run(room.problem(), run=name) for executor, name in runs])

    asyncio.run(main())
    assert room.most == (1 if shares else 2)


def test_executors_of_one_journal_share_locks_in_other_threads(tmp_path: Path) -> None:
    room = Room()

    def run(name: str) -> None:
        executor = Executor(room.world(ExecutionPolicy(lock=True)), journal=Journal(tmp_path / "j.db"))
        asyncio.run(executor.run(room.problem(), run=name))

    threads = [threading.Thread(target=run, args=[f"r{number}"]) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert room.most == 1


OTHER = """
import asyncio, sys
from executor import Executor, Journal, ExecutionPolicy, World
from planner import Domain, PlanError

domain = Domain("hotel", types=["room"])
domain.action("stay", {"room": "room"}, provides=["stayed(room)"], tags=["trusted"])
world = World(domain)

@world.handler("stay", policy=ExecutionPolicy(lock=True))
def stay(room):
    print("inside", flush=True)
    sys.stdin.readline()

problem = domain.problem(objects={"r1": "room"}, goal=["stayed(r1)"])
asyncio.run(Executor(world, journal=Journal(sys.argv[1])).run(problem))
"""


@pytest.mark.parametrize("end", ["returns", "kill -9"])
def test_executors_in_other_processes_share_locks(tmp_path: Path, end: str) -> None:
    """Another process is inside; this one waits until it has returned, or is gone."""
    path, room = tmp_path / "j.db", Room()
    other = subprocess.Popen(
        [sys.executable, "-c", OTHER, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdin is not None
    assert other.stdout is not None
    try:
        assert other.stdout.readline() == "inside\n"

        async def main() -> tuple[bool, RunStatus]:
            executor = Executor(room.world(ExecutionPolicy(lock=True)), journal=Journal(path))
            run = executor.start(room.problem(), join=False)
            await asyncio.sleep(0.3)
            waited = room.most == 0
            if end == "returns":
                other.stdin.write("\n")
                other.stdin.flush()
            else:
                other.kill()
            return waited, (await run).status

        waited, status = asyncio.run(main())
        assert waited
        assert status.is_over
        assert room.most == 1
    finally:
        other.kill()
        other.communicate()


def test_a_handler_that_was_given_up_keeps_its_lock_from_other_executors(tmp_path: Path) -> None:
    """The second executor waits as long as its own timeout says, and does not begin; a later one does."""
    room, released, entered = Room(), threading.Event(), list[int]()

    def stay(room: str) -> None:  # noqa: ARG001 - handlers take what the action has
        entered.append(1)
        released.wait(10)

    worlds = [World(room.domain) for _ in range(3)]
    for world, timeout in zip(worlds, (0.05, 0.1, 5), strict=True):
        world.handler("stay", policy=ExecutionPolicy(lock=True, timeout=timeout, retries=0))(stay)

    async def main() -> list[str]:
        executors = [Executor(world, journal=Journal(tmp_path / "j.db")) for world in worlds]
        reasons = [(await executor.run(room.problem())).reason for executor in executors[:2]]
        released.set()
        reasons.append((await executors[2].run(room.problem())).reason)
        return reasons

    reasons = asyncio.run(main())
    assert "its lock is kept" in reasons[1]
    assert len(entered) == 2
    assert "lock" not in reasons[2]
