"""How a run ended, for people, for programs, and as an exit code."""

from __future__ import annotations

from typing import Any

from executor.command.carry import Ended
from executor.follow.progress import described
from executor.record.status import RunStatus
from planner.cli.exits import Exit
from planner.cli.output import give, tell


def exit_of(ended: Ended) -> Exit:
    """Return the exit code that says how a run ended."""
    match ended.outcome.status:
        case RunStatus.SUCCEEDED | RunStatus.LOWERED:
            return Exit.OK
        case RunStatus.FAILED | RunStatus.COMPENSATED:
            return Exit.NEGATIVE
        case RunStatus.CANCELLED:
            return Exit.INTERRUPTED
        case _:
            return Exit.NO_VERDICT


def show(ended: Ended, *, json: bool, quiet: bool) -> None:
    """Print the steps, or everything as JSON, on stdout, and the verdict on stderr."""
    outcome = ended.outcome
    if json:
        from json import dumps  # noqa: PLC0415 - loaded only where it is asked for

        give(dumps(to_dict(ended)))
    else:
        width = max((len(each.id) for each in outcome.steps), default=0)
        lines = [f"{described(each.status):12} {each.id:{width}} {each.step}" for each in outcome.steps]
        if lines:
            give("\n".join(lines))
    if quiet:
        return
    tell(f"run {outcome.run}: {verdict(ended)}")
    for question in outcome.state.questions.values():
        choices = f" ({' or '.join(question.choices)})" if question.choices else ""
        tell(f"open: {question.text}{choices}")
        tell(f"  to answer it: --resume {outcome.run} --answer '{question.question}=…'")


def verdict(ended: Ended) -> str:
    """Return how a run ended, in words."""
    outcome = ended.outcome
    said = f"{outcome.status.name}, {outcome.status.value}"
    why = f" ({outcome.reason})" if outcome.reason else ""
    if ended.holds is None:
        return said + why
    return f"{said}{why}; in the simulated world, the goal {'holds' if ended.holds else 'does not hold'}"


def to_dict(ended: Ended) -> dict[str, Any]:
    """Return how a run ended as JSON-ready data."""
    outcome, state = ended.outcome, ended.outcome.state
    found: dict[str, Any] = {
        "run": outcome.run,
        "status": outcome.status.name,
        "reason": outcome.reason,
        "model": state.model,
        "steps": [
            {
                "id": each.id,
                "action": each.step.action,
                "arguments": list(each.step.arguments),
                "status": each.status.name,
                "attempts": each.attempts,
                "reason": each.reason,
            }
            for each in outcome.steps
        ],
        "dropped": list(state.dropped),
        "questions": {name: each.text for name, each in state.questions.items()},
        "metrics": dict(outcome.metrics),
    }
    return found if ended.holds is None else found | {"simulated": {"goal": ended.holds}}
