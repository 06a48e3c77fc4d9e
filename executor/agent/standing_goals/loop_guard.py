"""Bound how often a goal is pursued that does not stay reached, or that is pursued in vain.

Each further attempt waits twice as long as the one before. After `tries` attempts the goal is paused, with a reason
that names the loop. A pursuit in vain is tried again when the facts on which it rests are as they never were before.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable
from typing import Final

from executor.agent.agent_events import GoalInstance, Paused
from planner.lightweight import dataclass, field

WORLD: Final = "the world"
"""Who undoes what no standing goal has undone."""
TRIES: Final = 5
"""Default number of attempts."""
CALM: Final = 60.0
"""Default time in seconds after which a goal counts as having stayed reached."""
FIRST_PAUSE: Final = 1.0
"""Pause before the second attempt after a failure or an undoing, in seconds; it doubles each time."""
LONGEST_PAUSE: Final = 300.0
"""Longest pause between attempts, in seconds."""


@dataclass(slots=True)
class Attempts:
    """What became of the pursuits of one instance."""

    failed: int = 0
    """Pursuits in vain since the last success."""
    reasons: list[str] = field(default_factory=list)
    undone: list[tuple[float, str]] = field(default_factory=list)
    """When it was found undone, and who has undone it."""
    reached: float | None = None
    """When a pursuit reached the goal, in seconds since 1970; None where it was undone since, or never reached."""
    seen: set[int] = field(default_factory=set)
    """Checksums of the states of the facts `rests` in which it was paused."""
    rests: tuple[str, ...] | None = ()
    """The facts whose change ends the pause; None for all."""
    until: float | None = None
    paused: str = ""
    """Why it is not pursued; empty if it may be, after `until`."""
    against: GoalInstance | None = None

    def may_be_pursued(self, now: float) -> bool:
        """Return whether it is neither paused nor has to wait."""
        return not self.paused and (self.until is None or self.until <= now)

    def note_failure(self, reason: str) -> None:
        """Count a pursuit in vain."""
        self.failed += 1
        self.reasons = [*self.reasons, reason][-TRIES:]

    def note_reached(self, now: float) -> None:
        """Note that a pursuit has reached the goal."""
        self.failed, self.reasons, self.reached, self.until = 0, [], now, None
        self.seen.clear()

    def note_undone(self, now: float, by: str, calm: float) -> None:
        """Count that the goal was found unmet after it was reached; after a calm time, count from the beginning."""
        if self.reached is not None and now - self.reached > calm:
            self.undone.clear()
        self.undone.append((now, by))
        self.reached = None

    def pause(self, paused: Paused) -> None:
        """Let it wait until a time, or for good."""
        self.until, self.against = paused.until, paused.against
        if paused.until is None:
            self.paused, self.rests = paused.reason, paused.rests
            self.seen.add(paused.state)

    def resume(self, *, forget: bool) -> None:
        """Let it be pursued again, with all its attempts; `forget` also the states in which it was paused."""
        self.failed, self.reasons, self.until, self.paused, self.against = 0, [], None, "", None
        self.undone.clear()
        if forget:
            self.seen.clear()


def next_pause(count: int) -> float:
    """Return the pause in seconds before the attempt after `count` failures or undoings."""
    return min(FIRST_PAUSE * 2 ** (count - 1), LONGEST_PAUSE) if count else 0.0


def describe_loop(goal: GoalInstance, attempts: Attempts) -> str:
    """Name the loop: how often the goal was undone, and by whom."""
    counts = Counter(by for _, by in attempts.undone)
    culprits = ", ".join(f"{count} times by {by}" for by, count in counts.most_common())
    return f"{goal} was reached and undone again {len(attempts.undone)} times: {culprits}"


def describe_vain(goal: GoalInstance, attempts: Attempts) -> str:
    """Say that the goal was pursued in vain, with the reasons."""
    reasons = "; ".join(dict.fromkeys(attempts.reasons))
    return f"{goal} was pursued {attempts.failed} times in vain: {reasons}"


def compute_digest(facts: Iterable[str]) -> int:
    """Return a checksum of a set of facts that is the same in every process."""
    return zlib.crc32("\n".join(sorted(facts)).encode("utf-8", "surrogatepass"))
