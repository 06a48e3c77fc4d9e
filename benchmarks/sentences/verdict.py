"""What became of an answer, and whether that was as it may be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.sentences.meant import meant, same
from benchmarks.sentences.recorded import Ending, Sentence
from benchmarks.sentences.replay import Replayed, replayed
from executor.agent.proposals import Standing
from executor.record.status import RunStatus

ENDINGS: Final[dict[Ending, str]] = {
    "done": "understood as meant, confirmed, carried out",
    "approved": "understood as meant; steps for what no fact expresses were approved and carried out",
    "mended": "understood as meant after objections",
    "asked": "somebody is asked who, or which of several readings, is meant",
    "lacking": "nothing gives it, or no plan was found: that is said",
    "nothing": "nothing is asked for",
    "refused": "refused by the checks",
    "shown": "stopped by a person who was shown the goal in words",
    "reads": "carried out unconfirmed: its plan only reads",
}
_STANDING: Final[dict[Standing, Ending]] = {
    Standing.UNREAD: "refused",
    Standing.UNKNOWN: "asked",
    Standing.AMBIGUOUS: "asked",
    Standing.UNREACHABLE: "lacking",
    Standing.UNPLANNED: "lacking",
    Standing.UNMODELLED: "lacking",
    Standing.NOTHING: "nothing",
    Standing.DECLINED: "shown",
}


@dataclass(frozen=True, slots=True)
class Judged:
    """One answer: what was to become of it, and what did; `violation` is what must not happen, if it did."""

    sentence: Sentence
    why: str
    expected: Ending
    ending: Ending | None
    violation: str = ""
    calls: int = 0
    tokens: int = 0

    @property
    def is_right(self) -> bool:
        """Whether it is the right answer."""
        return not self.why


def judged(sentence: Sentence) -> list[Judged]:
    """Return what becomes of all recorded answers to `sentence`, the right one first."""
    answers: list[tuple[str, Sequence[Any], Ending]] = [("", [sentence.right], sentence.right_ends)]
    answers += [(each.why, each.said, each.ends) for each in sentence.wrong]
    return [_judged(sentence, *each) for each in answers]


def _judged(sentence: Sentence, why: str, said: Sequence[Any], expected: Ending) -> Judged:
    found = replayed(sentence, said)
    ending = _ending(found, is_right=not why)
    usage = found.first.usage
    return Judged(sentence, why, expected, ending, _violation(found, ending, expected, why), usage.calls, usage.tokens)


def _ending(found: Replayed, *, is_right: bool) -> Ending | None:
    """Return what became of an answer; None for what must not happen."""
    outcome, proposal = found.achieved.outcome, found.achieved.proposal
    if outcome is None:
        return _STANDING.get(proposal.standing)
    if not _as_meant(found):
        return None if found.has_effects else "reads"
    if proposal.improvised is not None:
        return "approved" if outcome.status is RunStatus.UNVERIFIED else None
    if not outcome.succeeded or not found.simulated.holds(found.simulated.problem.goal.hard):
        return None if not outcome.succeeded else "done" if is_right else "mended"
    return "done" if is_right else "mended"


def _as_meant(found: Replayed) -> bool:
    wanted, problem = found.person.wanted, found.achieved.proposal.problem
    if wanted is None or problem is None:
        return False
    if found.achieved.proposal.improvised is not None:
        problem = found.achieved.proposal.readings[0].problem
    return same(problem, wanted)


def _violation(found: Replayed, ending: Ending | None, expected: Ending, why: str) -> str:
    if found.person.misled:
        return "the words do not tell goals apart"
    if found.achieved.outcome is None and found.simulated.acts:
        return "something was done, and there was no run"
    if ending is None:
        return f"it ended as nothing may: {found.achieved.proposal.standing.name}, {found.achieved.outcome}"
    if ending != expected:
        reason = found.achieved.proposal.reason or found.achieved.proposal.words
        return f"{expected} was expected, and it is {ending}: {reason}"
    return "" if why else _misunderstood(found)


def _misunderstood(found: Replayed) -> str:
    """Return how the right answer was understood otherwise than it is meant."""
    sentence, readings = found.sentence, found.first.readings
    means = meant(sentence)
    if len(readings) != len(means) or not all(same(one.problem, two) for one, two in zip(readings, means, strict=True)):
        return f"it was taken to mean: {'; '.join(each.words for each in readings) or 'nothing'}"
    for reading in readings:
        if list(reading.unmodelled) != sentence.left or dict(reading.unknown) != sentence.asks:
            return f"left are {reading.unmodelled}, asked for is {dict(reading.unknown)}"
    return ""
