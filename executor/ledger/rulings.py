"""Rule whether an irreversible step may begin, by what is seen of its effect and what the ledger knows of it.

`rule` is the table: the first row that fits decides. Rows are named, so that each has a test by its name.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final

from executor.ledger.records import Entry, Flight, Outcome
from planner.lightweight import dataclass


class Sight(Enum):
    """What observers say of the effect of a step."""

    HOLDS = "conclusive observers see all of it"
    MISSING = "conclusive observers see that all of it is missing"
    PARTLY = "conclusive observers see a part of it, and another part missing"
    CLAIMED = "observers that are not conclusive say that it holds"
    UNKNOWN = "nobody can say conclusively whether it holds"
    DISPUTED = "observers contradict each other"


class Verdict(Enum):
    """What may become of a step."""

    ALREADY = "it is so already: it is not begun"
    BEGIN = "it may begin"
    WAIT = "somebody else is at it"
    ASK_DOUBT = "a person has to say whether the attempt in doubt happened"
    ASK_AGAIN = "a person has to say whether it is to be done"
    REFUSED = "a person has refused it"
    NEEDLESS = "what it is for in the end has come about in another way: the run plans anew"


@dataclass(frozen=True, slots=True)
class Asker:
    """Who wants to begin a step: a run, and what its request says.

    `accepts` tells that a person has said so to the very question, `approves` that an approval showed the earlier
    entries, and `wants` that the request names the step as one to be done again.
    `repeats` tells that the plan has more such steps than the run has done. `may_ask` is false where no person has
    asked for the run. `knew_part` tells that the plan was made knowing which part of the effect holds.
    """

    run: str
    occasion: str = ""
    accepts: bool = False
    approves: bool = False
    wants: bool = False
    repeats: bool = False
    may_ask: bool = True
    knew_part: bool = False
    is_idempotent: bool = False


@dataclass(frozen=True, slots=True)
class Ruling:
    """The verdict on a step, by which `row` of the table; `entry` is the earlier entry that counts, if one does.

    If it `settles` the flight in doubt, that flight is over with this outcome.
    """

    verdict: Verdict
    row: str
    entry: Entry | None = None
    settles: Outcome | None = None


HELD: Final = "the effect holds"
UNDER_WAY: Final = "somebody is at it"
DID_NOT_HAPPEN: Final = "the attempt in doubt did not happen"
IN_DOUBT: Final = "an attempt is in doubt"
IDEMPOTENT: Final = "an attempt in doubt may be repeated under its key"
REFUSED: Final = "it was refused"
DISPUTED: Final = "observers disagree"
FIRST: Final = "the effect is missing, and it was never done"
CHANGED_BACK: Final = "it was done and seen, and the world was changed back"
REPORTED_ONLY: Final = "it was done by report alone, and its effect is missing"
KNOWN_PART: Final = "the plan knows that a part of the effect holds"
PARTLY: Final = "a part of the effect holds"
UNSEEN_FIRST: Final = "nobody can look, and it was never done"
CLAIMED: Final = "an observer that is not conclusive says that the effect holds"
UNSEEN_DONE: Final = "it was done, and no observer can say for sure that it is undone"
ACCEPTED: Final = "the request wants it done again"


def rule(sight: Sight, flight: Flight | None, entries: Sequence[Entry], asker: Asker, *, is_alive: bool) -> Ruling:
    """Return the ruling on a step whose effect is in `sight`.

    `flight` is that of another step or run, or of an earlier attempt at this one; `is_alive` tells whether its owner is
    still at it. `entries` are those of the step, the oldest first.
    """
    if sight is Sight.HOLDS:
        is_over = flight is not None and not (is_alive or flight.is_waiting)
        return Ruling(Verdict.ALREADY, HELD, _find_last(entries), Outcome.DONE if is_over else None)
    refusal = find_refusal(entries, asker.occasion)
    if refusal is not None and not (asker.accepts or asker.approves):
        return Ruling(Verdict.ASK_AGAIN if asker.may_ask else Verdict.REFUSED, REFUSED, refusal)
    if flight is not None and (is_alive or flight.is_waiting):
        return Ruling(Verdict.WAIT, UNDER_WAY)
    if flight is not None and sight is Sight.MISSING:
        return Ruling(Verdict.BEGIN, DID_NOT_HAPPEN, settles=Outcome.NOT_DONE)
    if flight is not None and asker.is_idempotent:
        return Ruling(Verdict.BEGIN, IDEMPOTENT, settles=Outcome.NOT_DONE)
    if flight is not None:
        return Ruling(Verdict.ASK_DOUBT, IN_DOUBT)
    if refusal is not None:
        return Ruling(Verdict.BEGIN, ACCEPTED, refusal)
    found = _rule_by_history(sight, find_last_done(entries, asker), asker)
    return Ruling(Verdict.BEGIN, ACCEPTED, found.entry) if _is_answered(found, asker) else found


def _is_answered(found: Ruling, asker: Asker) -> bool:
    """Return whether the question of a ruling is answered; beforehand only that of doing once more what was done."""
    is_repetition = found.row in {UNSEEN_DONE, REPORTED_ONLY, CHANGED_BACK}
    beforehand = is_repetition and (asker.approves or asker.wants)
    return found.verdict is Verdict.ASK_AGAIN and (asker.accepts or beforehand)


def _rule_by_history(sight: Sight, done: Entry | None, asker: Asker) -> Ruling:
    """Return the ruling on a step without a flight; `done` is the entry of the last time that it was done."""
    match sight, done:
        case Sight.DISPUTED, _:
            return Ruling(Verdict.ASK_AGAIN, DISPUTED, done)
        case Sight.MISSING, None:
            return Ruling(Verdict.BEGIN, FIRST)
        case Sight.MISSING, Entry(seen=True):
            is_new = done.run != asker.run
            return Ruling(Verdict.BEGIN if is_new else Verdict.ASK_AGAIN, CHANGED_BACK, done)
        case Sight.MISSING, _:
            return Ruling(Verdict.ASK_AGAIN, REPORTED_ONLY, done)
        case Sight.PARTLY, None if asker.knew_part:
            return Ruling(Verdict.BEGIN, KNOWN_PART)
        case Sight.PARTLY, _:
            return Ruling(Verdict.ASK_AGAIN, PARTLY, done)
        case Sight.CLAIMED, None:
            return Ruling(Verdict.ASK_AGAIN, CLAIMED)
        case _, None:
            return Ruling(Verdict.BEGIN, UNSEEN_FIRST)
        case _:
            return Ruling(Verdict.ASK_AGAIN, UNSEEN_DONE, done)


def _find_last(entries: Sequence[Entry]) -> Entry | None:
    return next((each for each in reversed(entries) if each.outcome is Outcome.DONE), None)


def find_last_done(entries: Sequence[Entry], asker: Asker) -> Entry | None:
    """Return the last entry of `asker`'s occasion that says that the step was done; None if the plan may repeat it."""
    counting = [each for each in entries if not asker.occasion or each.occasion == asker.occasion]
    if asker.repeats:
        counting = [each for each in counting if each.run != asker.run]
    return _find_last(counting)


def find_refusal(entries: Sequence[Entry], occasion: str) -> Entry | None:
    """Return the refusal that counts on `occasion`: the last word that a person said, and nothing was done since."""
    for each in reversed(entries):
        if each.occasion and occasion and each.occasion != occasion:
            continue
        if each.outcome is Outcome.DONE:
            return None
        if each.outcome is Outcome.REFUSED:
            return each
    return None
