"""A corridor in which each run has a robot of its own; as a script, a worker that kills itself.

    python corridor.py ADDRESS LEDGER FLAGS

The ledger keeps the true state between processes. In FLAGS, a file `RUN at N` kills the worker when run RUN has its
event number N; the file is gone by then, so that each kills once.
"""

import asyncio
import os
import signal
import sys
from datetime import timedelta
from pathlib import Path

from executor import ExecutionPolicy
from executor.testing import SimulatedWorld
from planner import Domain, Entity

LENGTH = 20
ROBOTS = 80
QUEUE = "corridor"


class Robot(Entity): ...


class Room(Entity): ...


domain = Domain("corridor")
domain.action(
    "move",
    {"robot": Robot, "origin": Room, "target": Room},
    requires=["at(robot, origin)", "door(origin, target)"],
    provides=["at(robot, target)"],
    modifies=["at(robot, _)"],
)


def make_problem(robots, goal=()):
    """Return the problem of `robots` in the corridor."""
    doors = [f"door(x{number}, x{number + 1})" for number in range(LENGTH)]
    return domain.problem(
        objects={**dict.fromkeys(robots, Robot), **{f"x{number}": Room for number in range(LENGTH + 1)}},
        initial=[*[f"at({robot}, x0)" for robot in robots], *doors],
        goal=list(goal),
    )


def make_world(ledger):
    """Return the world whose state `ledger` keeps."""
    simulated = SimulatedWorld(make_problem([f"r{number}" for number in range(ROBOTS)]), seconds=0.02, ledger=ledger)
    simulated.world.policy("move", ExecutionPolicy(backoff=0.01, jitter=0.0))
    return simulated


async def serve(address, ledger, flags):
    """Serve the runs of the corridor, and die as `flags` say."""
    from temporalio.client import Client

    from executor.temporal import TemporalWorker
    from executor.temporal.plan_run import WorkflowRun

    emit = WorkflowRun.emit

    def emit_and_die(self, event):
        emit(self, event)
        flag = flags / f"{self.id} at {len(self._entries)}"
        if flag.exists():
            flag.unlink()
            os.kill(os.getpid(), signal.SIGKILL)

    WorkflowRun.emit = emit_and_die
    client = await Client.connect(address)
    options = {"sticky_queue_schedule_to_start_timeout": timedelta(seconds=1)}
    await TemporalWorker(make_world(ledger).world, client, QUEUE, **options).run()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])))
