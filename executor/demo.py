"""Show the executor's part of `forethought demo`: carry out a plan and a sentence despite faults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from executor.events.events import Event, PlanChanged, RungTaken, StepEnded, StepStatus
from executor.events.run_state import RunState
from executor.executor import Executor
from executor.run import RunOutcome
from executor.testing import Fault, FaultKind, SimulatedWorld, run_virtual
from planner.language.loading.load import load
from planner.plan import Plan
from planner.solve import solve

DOMAIN: Final = "assistant"
PROBLEM: Final = "with-chart"
BROKEN: Final = "recall(prices)"
LIAR: Final = "proofread(memo)"
FAULTS: Final = (Fault(FaultKind.FAILS, BROKEN, times=None), Fault(FaultKind.LIES, LIAR))
"""The archive fails always; the proofreader reports once a success without reading."""
VALUES: Final = {"query": "heat pumps in old houses", "words": 200, "style": "plain", "subject": "Heating"}
"""Values of the parameters that no step provides."""

Show = Callable[[str], None]


def show(heading: Show, good: Show, give: Show) -> bool:
    """Carry out a plan and a sentence, and show their events; return whether both goals were seen to hold."""
    from executor.agent.agent_demo import show_sentence

    carried_out = show_faults(heading, good, give)
    return show_sentence(heading, good, give) and carried_out


def show_faults(heading: Show, good: Show, give: Show) -> bool:
    """Carry out a plan with faults, and show its events; return whether the goal was seen to hold."""
    problem = load(DOMAIN, PROBLEM)
    plan = solve(problem).expect_plan()
    heading("6. Carried out, in a simulated world in which things go wrong")
    give(f"'{PROBLEM}', {len(plan)} steps; {BROKEN} never works, and {LIAR} says once that it is done when it is not.")
    simulated = SimulatedWorld(problem, faults=FAULTS)
    outcome = _carry_out(plan, simulated, give)
    if outcome.succeeded:
        good(f"{outcome.status.name}: {outcome.status.value}, though {_count_recoveries(outcome)} went wrong")
    else:
        give(f"{outcome.status.name}: {outcome.reason}")
    return outcome.succeeded and simulated.holds(plan.problem.goal.hard)


def _carry_out(plan: Plan, simulated: SimulatedWorld, give: Show) -> RunOutcome:
    def tell(event: Event) -> None:
        line = _describe_event(event, states[0]) if states else ""
        if line:
            give(line)

    states: list[RunState] = []
    executor = Executor(simulated.world, model="dag", approve=lambda _: True, listeners=(tell,))

    async def drive() -> RunOutcome:
        run = executor.start(plan, memory=VALUES)
        states.append(run.state)
        outcome: RunOutcome = await run
        return outcome

    return run_virtual(drive())


def _describe_event(event: Event, state: RunState) -> str:
    """Return a line about `event`, or an empty text."""
    match event:
        case StepEnded(step, StepStatus.SUCCEEDED):
            return f"  done    {state.steps[step].step}"
        case StepEnded(step, status, reason):
            return f"  {status.name.lower():7} {state.steps[step].step}: {reason}"
        case RungTaken(rung, step, reason):
            about = f"{state.steps[step].step}: " if step in state.steps else ""
            return f"  {rung.name.lower():7} {about}{reason}"
        case PlanChanged(_, kept, new):
            return f"          {new} new steps, {kept} kept"
    return ""


def _count_recoveries(outcome: RunOutcome) -> str:
    """Describe the number of recoveries."""
    number = len(outcome.state.rungs)
    return f"{number} thing{'s' * (number != 1)}"
