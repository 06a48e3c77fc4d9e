"""Report the end of a run: as text, as JSON, and as an exit code."""

from __future__ import annotations

from collections.abc import Iterator
from json import dumps
from typing import Any, Final

from executor import Proposal, RunStatus, Standing, StepStatus
from executor.cli.execute import RunReport
from executor.events.answers import asks_for_wait, describe_question, name_wait
from executor.events.steps import StepRecord
from executor.report.progress import line_of, status_text
from executor.tools.json_data import dump_json, load_json
from planner.cli.output import Exit, give, judge, tell
from planner.cli.output import exit_of as exit_of_result

WHOLE: Final = 5000
"""Most characters of a text that is shown in full."""


def exit_of(ended: RunReport) -> Exit:
    """Return the exit code for the outcome of a run."""
    if ended.error is not None:
        return judge(ended.error)[0]
    if ended.is_enqueued:
        return Exit.OK
    return exit_of_status(ended.outcome.status)


def exit_of_status(status: RunStatus) -> Exit:
    """Return the exit code for a run with this status."""
    match status:
        case RunStatus.SUCCEEDED | RunStatus.LOWERED:
            return Exit.OK
        case RunStatus.IMPOSSIBLE | RunStatus.FAILED | RunStatus.COMPENSATED:
            return Exit.NEGATIVE
        case RunStatus.CANCELLED:
            return Exit.INTERRUPTED
        case _:
            return Exit.NO_VERDICT


def print_not_begun(error: BaseException) -> None:
    """Print, as JSON on stdout, why no run was begun."""
    give(dumps({"run": None, "status": None, "reason": judge(error)[1], "steps": []}))


def show_proposal(proposal: Proposal, *, json: bool, quiet: bool) -> Exit:
    """Report why a sentence leads to no run, and return the exit code."""
    said = proposal.standing.value
    if json:
        nothing: dict[str, Any] = {"run": None, "status": None, "reason": said, "steps": []}
        give(dumps(nothing | {"proposal": proposal.to_dict()}))
    if not quiet or proposal.standing is Standing.UNREAD:
        plan = f"Plan, cost {proposal.plan.cost}:\n{proposal.plan}" if proposal.plan is not None else ""
        tell("\n".join(filter(None, [f"nothing was done: {said}", proposal.question, plan, proposal.reason])))
    if proposal.standing is Standing.UNREACHABLE:
        return Exit.NEGATIVE
    is_unplanned = proposal.standing is Standing.UNPLANNED and proposal.result is not None
    return exit_of_result(proposal.result) if is_unplanned else Exit.NO_VERDICT  # type: ignore[arg-type]  # as said


def show(ended: RunReport, *, json: bool, quiet: bool) -> None:
    """Print the steps, or everything as JSON, on stdout, and the verdict on stderr.

    Of a run that was recorded for workers, print the id alone on stdout if `quiet`.
    """
    outcome = ended.outcome
    if json:
        give(dumps(to_dict(ended)))
    elif ended.is_enqueued and quiet:
        give(outcome.run)
    else:
        width = max((len(each.id) for each in outcome.steps), default=0)
        lines = [f"{status_text(each.status):12} {each.id:{width}} {each.step}" for each in outcome.steps]
        if lines:
            give("\n".join(lines))
    if quiet:
        return
    tell(f"run {outcome.run}: {describe_end(ended)}")
    for line in _list_open_points(ended):
        tell(line)


def _list_open_points(ended: RunReport) -> Iterator[str]:
    """Yield what the run waits for, and how to continue it."""
    state = ended.outcome.state
    for question in ended.outcome.questions:
        choices = f" ({' or '.join(question.choices)})" if question.choices else ""
        yield f"open: {line_of(question.text, WHOLE)}{choices}"
        yield from (f"  {line_of(each, WHOLE)}" for each in question.known)
        if ended.again:
            yield f"  to answer it: {ended.again} --answer '{question.question}=…'"
    for record in state.with_status(StepStatus.WAITING):
        wait = record.wait or {}
        if "question" not in wait and not asks_for_wait(record):
            known = str(wait.get("text") or "")
            yield line_of(f"waits: {record.id} {record.step}{': ' if known else ''}{known}", WHOLE)
    if ended.outcome.status is RunStatus.WAITING and not ended.again:
        yield "nothing keeps this run; with --journal FILE it could be answered and taken up"
    if ended.error is not None and ended.again:
        yield f"to take it up: {ended.again}"


def _describe_wait(record: StepRecord) -> dict[str, Any]:
    """Return what a step waits for, with the name of the question whose answer it waits for, if there is one."""
    found: dict[str, Any] = {name: (record.wait or {}).get(name) for name in ("text", "event", "choices", "question")}
    if asks_for_wait(record):
        found["question"] = name_wait(record.id, record.attempts)
    return found | {"choices": list(found["choices"] or ())}


def describe_end(ended: RunReport) -> str:
    """Describe the outcome of a run in words."""
    outcome = ended.outcome
    if ended.is_enqueued:
        return "recorded, for `forethought worker` to carry out"
    said = f"{outcome.status.name}, {outcome.status.value}"
    reason = outcome.reason if ended.error is None else judge(ended.error)[1]
    why = f" ({line_of(reason, WHOLE)})" if reason else ""
    if ended.holds is None:
        return said + why
    return f"{said}{why}; in the simulated world, the goal {'holds' if ended.holds else 'does not hold'}"


def to_dict(ended: RunReport) -> dict[str, Any]:
    """Return the outcome of a run as JSON-ready data."""
    outcome, state = ended.outcome, ended.outcome.state
    found: dict[str, Any] = {
        "run": outcome.run,
        "status": outcome.status.name,
        "reason": outcome.reason if ended.error is None else judge(ended.error)[1],
        "model": state.model,
        "steps": [
            {
                "id": each.id,
                "action": each.step.action,
                "arguments": list(each.step.arguments),
                "status": each.status.name,
                "attempts": each.attempts,
                "started": each.started,
                "ended": each.ended,
                "reason": each.reason,
                **({"filled": load_json(dump_json(each.filled)), "thought": each.thought} if each.filled else {}),
            }
            for each in outcome.steps
        ],
        "dropped": list(state.dropped),
        "missing": outcome.missing,
        "recovery": [
            {"rung": each.rung.name, "step": each.step, "reason": each.reason, "cost": each.cost, "found": each.found}
            for each in outcome.recovery
        ],
        "questions": [describe_question(each) for each in outcome.questions],
        "waits": {each.id: _describe_wait(each) for each in state.with_status(StepStatus.WAITING)},
        "metrics": dict(outcome.metrics),
    }
    if ended.is_enqueued:
        found["enqueued"] = True
    if ended.proposal is not None:
        found["proposal"] = ended.proposal.to_dict()
    return found if ended.holds is None else found | {"simulated": {"goal": ended.holds}}
