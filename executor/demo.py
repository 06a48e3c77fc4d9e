"""Show the executor's part of `forethought demo`: carry out a plan though a tool lies and the process is killed.

python -m executor.demo FOLDER     begin the run, as the demo does in another process
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from executor.events.events import Event, PlanChanged, Rung, RungTaken, StepEnded, StepStatus
from executor.events.run_state import RunState
from executor.executor import Executor
from executor.run import RunOutcome
from executor.testing import Fault, FaultKind, SimulatedWorld, run_virtual
from planner.language.loading.load import load
from planner.solve import solve

DOMAIN: Final = "assistant"
PROBLEM: Final = "with-chart"
RUN: Final = "demo"
"""Name of the run in the journal of the demo."""
BROKEN: Final = "recall(prices)"
LIAR: Final = "proofread(memo)"
KILLED: Final = "send(memo, ada)"
FAULTS: Final = (
    Fault(FaultKind.LIES, LIAR),
    Fault(FaultKind.FAILS, BROKEN, times=None),
    Fault(FaultKind.CRASH_AFTER, KILLED),
)
"""The proofreader lies once, and reads nothing; the archive never works; the process dies as a mail leaves."""
VALUES: Final = {"query": "heat pumps in old houses", "words": 200, "style": "plain", "subject": "Heating"}
"""Values of the parameters that no step provides."""

Show = Callable[[str], None]


def show_run(heading: Show, good: Show, give: Show, folder: Path) -> bool:
    """Carry out a plan with faults, and show its events; return whether the goal was seen to hold.

    Another process begins the run and is killed; this one resumes it from the journal in `folder`.
    """
    heading("Carried out, though a tool lies, another is broken, and the process is killed")
    give(f"Domain '{DOMAIN}', problem '{PROBLEM}', in a simulated world whose state outlives the process:")
    give(f"{BROKEN} never works, and {LIAR} says once that it is done when it is not.")
    code = _begin_elsewhere(folder, good, give)
    if code != -signal.SIGKILL:
        give(f"the process was to be killed, and ended with {code}")
        return False
    give(f"  killed  {KILLED}: the process got signal 9 (kill -9) when the mail was out, and nobody had noted that")
    give("The next process takes the run up from its journal:")
    simulated, executor = _make_world(folder, give)
    outcome: RunOutcome = run_virtual(executor.resume(RUN))
    if not outcome.succeeded:
        give(f"{outcome.status.name}: {outcome.reason}")
        return False
    sent = sum(str(act.step) == KILLED for act in simulated.acts)
    good(f"{outcome.status.name}: {outcome.status.value}, though {_count_recoveries(outcome)} went wrong")
    good(f"{KILLED} was done {'once' if sent == 1 else f'{sent} times'}")
    return sent == 1 and simulated.holds(simulated.problem.goal.hard)


def begin(folder: Path, give: Show) -> None:
    """Begin the run, with its journal in `folder`; the process is killed before it ends."""
    simulated, executor = _make_world(folder, give)
    plan = solve(simulated.problem).expect_plan()
    run_virtual(executor.run(plan, memory=VALUES, run=RUN))


def _begin_elsewhere(folder: Path, good: Show, give: Show) -> int:
    """Begin the run in another process, and show what it prints; return its exit code, negative for a signal."""
    command = [sys.executable, "-m", "executor.demo", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8") as child:
        assert child.stdout is not None
        for line in child.stdout:
            (good if line.startswith("  caught") else give)(line.rstrip("\n"))
        return child.wait()


def _make_world(folder: Path, give: Show) -> tuple[SimulatedWorld, Executor]:
    simulated = SimulatedWorld(load(DOMAIN, PROBLEM), faults=FAULTS, ledger=folder / "world.jsonl", deadly=True)
    journal = folder / "runs.db"
    return simulated, Executor(
        simulated.world, journal=journal, model="dag", approve=lambda _: True, listeners=(_Teller(give),)
    )


class _Teller:
    """Shows the events of a run that a reader cares for."""

    def __init__(self, give: Show) -> None:
        self._give = give

    @contextmanager
    def follow(self, state: RunState, run: str) -> Iterator[Callable[[Event], None]]:  # noqa: ARG002 - a protocol
        """Give the listener for a run."""

        def tell(event: Event) -> None:
            line = _describe_event(event, state)
            if line:
                self._give(line)

        yield tell


def _describe_event(event: Event, state: RunState) -> str:
    """Return a line about `event`, or an empty text."""
    match event:
        case StepEnded(step, StepStatus.SUCCEEDED, reason):
            return f"  done    {state.steps[step].step}{f': {reason}' if reason else ''}"
        case StepEnded(step, status, reason):
            return f"  {status.name.lower():7} {state.steps[step].step}: {reason}"
        case RungTaken(Rung.RETRY, step, reason) if str(state.steps[step].step) == LIAR:
            return f"  caught  {LIAR}: {reason.partition(': ')[2]}; once more"
        case RungTaken(rung, step, reason):
            about = f"{state.steps[step].step}: " if step in state.steps else ""
            return f"  {rung.name.lower():7} {about}{reason}"
        case PlanChanged(_, kept, new):
            return f"          {new} new step{'s' * (new != 1)}, {kept} kept"
    return ""


def _count_recoveries(outcome: RunOutcome) -> str:
    """Describe the number of recoveries."""
    number = len(outcome.state.rungs)
    return f"{number} thing{'s' * (number != 1)}"


if __name__ == "__main__":
    begin(Path(sys.argv[1]), lambda line: print(line, flush=True))  # noqa: T201 - the demo reads it
