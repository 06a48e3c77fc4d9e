"""Whether a plan that works meets its deadline."""

from __future__ import annotations

from collections.abc import Sequence

from planner.model import Number, Problem
from planner.plan import Plan, Step
from planner.validate.replay import Replay


def lateness(problem: Problem, steps: Sequence[Step]) -> str:
    """Return in words by how much `steps`, a valid plan but for this, miss the deadline of `problem`; "" where not.

    The schedule is not taken on trust: taken in the order in which they begin, and in that in which they end, the steps
    are replayed.
    """
    from planner.order.timing import schedule  # noqa: PLC0415 - few problems have a deadline

    if problem.deadline is None:
        return ""
    timed = schedule(Plan(tuple(steps), problem))
    for times in (timed.starts, timed.ends):
        _check(problem, steps, times)
    if timed.makespan <= problem.deadline:
        return ""
    return f"the plan takes {timed.makespan} seconds, and the deadline is {problem.deadline}"


def _check(problem: Problem, steps: Sequence[Step], times: Sequence[Number]) -> None:
    """Raise `RuntimeError` where the steps do not work in the order of these times."""
    replay = Replay(problem)
    for place in sorted(range(len(steps)), key=times.__getitem__):
        verdict = replay.objection(steps[place])
        if verdict is not None:
            raise RuntimeError(f"internal error: a plan has a schedule in which it does not work: {verdict.reason}")
        replay.apply(steps[place])
    if not (verdict := replay.end(None)).valid:
        raise RuntimeError(f"internal error: a plan has a schedule in which it does not work: {verdict.reason}")
