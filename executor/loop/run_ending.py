"""How runs end: with which status, and what they took."""

from __future__ import annotations

from executor.events.events import RunEnded, RunStatus, StepStatus
from executor.events.run_state import RunState
from executor.observe.goal import GoalLook, Verdict


def end_run(state: RunState, status: RunStatus, reason: str = "") -> RunEnded:
    """Return the end of a run, with what its steps took together."""
    return RunEnded(status, reason, state.spent.to_dict())


def end_at_goal(state: RunState, look: GoalLook) -> RunEnded:
    """Return the end of a run whose goal is not `MISSING`: success is claimed only for what was seen."""
    unverified = ", ".join(map(repr, state.plan.basis.unverified))
    if look.verdict is not Verdict.SEEN or unverified:
        reasons = [f"nothing confirms {unverified}"] if unverified else []
        return end_run(state, RunStatus.UNVERIFIED, "; ".join([*reasons, *filter(None, [look.reason])]))
    left = ", ".join(map(repr, state.plan.basis.left))
    if left:
        return end_run(state, RunStatus.LOWERED, f"nothing was done about {left}")
    return end_run(state, RunStatus.LOWERED if state.dropped else RunStatus.SUCCEEDED)


def end_waiting(state: RunState) -> RunEnded:
    """Return the end of a run that goes on when answers come."""
    found = [f"{record.step} waits" for record in state.with_status(StepStatus.WAITING)]
    asked = [f"open question: {each.text}" for each in state.open_questions.values()]
    return end_run(state, RunStatus.WAITING, "; ".join(found or asked))
