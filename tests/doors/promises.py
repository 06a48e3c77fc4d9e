"""The promises: each judges a story by what the bank saw, and by what the door told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from doors.agent_doors import HOUR
from doors.bank import PAYMENTS, START
from doors.scenes import AMOUNT, DAY, EDITED, ORDER, SLIP
from doors.story import DONE_BEFORE, REFUSED, Story
from executor.events.answers import HAPPENED

Judge = Callable[[Story], Iterator[str]]
PROMISES: dict[str, Judge] = {}
"""Every promise by its name; it yields what is broken."""
STATUSES = frozenset(
    {"SUCCEEDED", "UNVERIFIED", "LOWERED", "IMPOSSIBLE", "FAILED", "COMPENSATED", "IN_DOUBT", "CANCELLED", "WAITING"}
    | {"REFUSED", "OPEN", "PARTIAL", "RAISED"}
)
OVER = frozenset({"SUCCEEDED", "UNVERIFIED", "LOWERED", "IMPOSSIBLE", "COMPENSATED", "CANCELLED"})
"""Statuses of runs that are over; a step of an agent may have failed, too."""
GOOD = frozenset({"SUCCEEDED", "UNVERIFIED"})


def promise(name: str) -> Callable[[Judge], Judge]:
    """Return a decorator that registers a promise."""

    def register(judge: Judge) -> Judge:
        PROMISES[name] = judge
        return judge

    return register


@promise("irreversible at most once")
def judge_once(story: Story) -> Iterator[str]:
    """Count the payments of the bank; an occasion is another wish, also after one for none.

    Where nobody can see that it was paid for none, it is paid for the occasion.
    """
    paid = len(story.bank.acts(*PAYMENTS))
    if paid > 1 and not (story.scene.sight != "conclusive" and _is_once_each(story)):
        yield f"paid {paid} times"


def _is_once_each(story: Story) -> bool:
    """Return whether there was one payment for each occasion, the first beyond doubt when the second was begun.

    Of two doors, one asks for an occasion and the other one for none, or for another one; or a goal comes up each hour.
    """
    made, log = [story.door, story.other or story.door], story.bank.log
    paid = [at for at, each in enumerate(log) if (each.kind, each.what) == ("act", "pay")]
    if len(paid) != len(made):
        return False
    first, second = paid
    is_hourly = story.names == ["every"] and log[first].at // HOUR != log[second].at // HOUR
    are_two = story.other is not None and any(each.has_occasion for each in made)
    if not (are_two or is_hourly):
        return False
    between = log[first:second]
    return any((each.kind, each.what) == ("return", "pay") or each.detail == HAPPENED for each in between)


@promise("not before what can fail")
def judge_late(story: Story) -> Iterator[str]:
    """Look whether the reversible step was done before any payment."""
    names = [each.what for each in story.bank.acts("prepare", *PAYMENTS)]
    if any(each != "prepare" for each in names) and names[0] != "prepare":
        yield "paid before the reversible step was done"


@promise("approval honoured, and with these values")
def judge_approved(story: Story) -> Iterator[str]:
    """Look whether each payment was approved before, with the amount that was shown; a transfer has none."""
    if story.scene.approval != "yes":
        return
    allowed = 0
    for each in story.bank.log:
        if (
            each.kind == "answer"
            and each.detail == "yes"
            and not each.what.startswith(("May transfer()", "May wire()"))
        ):
            allowed += 1
            if str(AMOUNT) not in each.what:
                yield f"approved without the amount: {each.what}"
        if (each.kind, each.what) == ("act", "pay") and each.detail == "run":
            allowed -= 1
        if (each.kind, each.what) == ("call", "pay") and each.detail != repr(AMOUNT):
            yield f"approved with {AMOUNT}, and called with {each.detail}"
        if allowed < 0 or (each.kind, each.what, allowed) == ("call", "pay", 0):
            yield "pay was called without an approval"
            return


@promise("no means no")
def judge_refused(story: Story) -> Iterator[str]:
    """Look whether anything was paid after it was refused, or without an approval that nobody gives."""
    if story.scene.approval != "no":
        return
    is_refused = False
    for each in story.bank.log:
        is_refused = is_refused or (each.kind, each.detail) == ("answer", "no")
        is_paid = each.kind == "act" and each.what in PAYMENTS and each.detail == "run"
        if is_paid and (is_refused or each.what == "pay"):
            yield f"refused, and done: {each.what}"
            return


@promise("refused stays refused")
def judge_stays_refused(story: Story) -> Iterator[str]:
    """Look whether anything was paid after a refusal, before a person who was shown it has said yes.

    Whoever asks for an occasion is shown what was refused on it, or for none. Of two who ask at once, the second may
    have been asked before the first refused.
    """
    is_refused, has_occasion = False, any(each.has_occasion for each in (story.door, story.other or story.door))
    is_asked_before = story.fault.host.startswith("two")
    for each in story.bank.log:
        if each.kind == "answer" and each.detail == "no" and not DONE_BEFORE.search(each.what):
            is_unaware = "May pay()" in each.what and REFUSED not in each.what
            if is_refused and is_unaware and not (has_occasion or is_asked_before):
                yield f"refused, and asked again without a word of it: {each.what}"
                return
            is_refused = True
        elif each.kind == "answer" and each.detail == "yes" and REFUSED in each.what:
            is_refused = False
        elif is_refused and each.kind in ("call", "act") and each.what in PAYMENTS and each.detail != "hand":
            yield f"refused, and {each.what} was begun before anybody who was shown that said yes"
            return


@promise("these values")
def judge_values(story: Story) -> Iterator[str]:
    """Look whether what was approved with other values was done with these."""
    if story.scene.approval != "edited":
        return
    wanted = None
    for each in story.bank.log:
        if each.kind == "answer" and isinstance(each.detail, dict):
            wanted = repr(EDITED)
        elif (each.kind, each.what) == ("call", "pay") and each.detail != wanted:
            yield f"approved with {wanted}, and called with {each.detail}"


@promise("answered anywhere")
def judge_answered(story: Story) -> Iterator[str]:
    """Look whether another executor listed what was asked, and whether the run went on with the answer."""
    for each in story.bank.log:
        if each.kind == "not listed":
            yield f"nobody else lists {each.detail}: {each.what}"
        elif each.kind == "asked again":
            yield f"answered, and asked again: {each.detail}: {each.what}"


@promise("questions close with their run")
def judge_closed(story: Story) -> Iterator[str]:
    """Look whether a run that is over still asks something."""
    for each in story.told:
        if each.questions and each.status in OVER:
            yield f"{each.status}, and asks {each.questions[0].name}"


@promise("looked at before")
def judge_looked(story: Story) -> Iterator[str]:
    """Look whether somebody looked between the latest request or answer and the call.

    Of two processes, or where looks are slow, one may ask between the look and the call of the other.
    """
    has_gap = story.has_processes or story.fault.looks == "slow"
    if story.scene.sight != "conclusive" or (has_gap and story.fault.host.startswith("two")):
        return
    has_looked = False
    for each in story.bank.log:
        has_looked = has_looked or (each.kind, each.what) == ("look", "paid")
        has_looked = has_looked and each.kind not in ("ask", "answer")
        if (each.kind, each.what) == ("call", "pay") and not has_looked:
            yield "pay was called, and nobody had looked"
            return


@promise("already so is not done again")
def judge_already(story: Story) -> Iterator[str]:
    """Look whether a run paid what a person had paid, and was seen to have paid, before, or did so in another way."""
    log = story.bank.log
    by_hand = next((n for n, each in enumerate(log) if each.kind == "act" and each.detail == "hand"), None)
    if by_hand is None:
        return
    if any((each.kind, each.what) == ("call", "pay") for each in log[by_hand:]):
        yield "paid by hand before, and called"
    others = [each for each in log[by_hand:] if each.kind == "act" and each.what in PAYMENTS and each.detail == "run"]
    if any(each.what != "pay" for each in others):
        yield "paid by hand before, and in another way"


@promise("success only if observed")
def judge_observed(story: Story) -> Iterator[str]:
    """Look whether a success was told of a goal that did not hold."""
    if any(each.status == "SUCCEEDED" for each in story.told) and not story.bank.holds("sealed"):
        yield "told SUCCEEDED, and it is not sealed"
    if story.bank.acts("seal", "seal_wired") and not (story.bank.holds("paid") or story.bank.holds("wired")):
        yield "sealed without a payment"


@promise("reported is believed")
def judge_reported(story: Story) -> Iterator[str]:
    """Look whether anything was paid although the check has reported that it is over the limit."""
    if story.scene.reports == "over" and story.bank.acts("pay"):
        yield "the check has reported 'over', and it was paid"


@promise("nothing named is dropped")
def judge_named(story: Story) -> Iterator[str]:
    """Look whether the order that was observed was stamped, by its own name, where a success was told.

    A plan without a goal is about no order.
    """
    if not (story.scene.has_found and story.door.has_goal and (story.other or story.door).has_goal):
        return
    stamped = [each.detail for each in story.bank.log if (each.kind, each.what) == ("act", "stamp")]
    if any(each != ORDER for each in stamped):
        yield f"stamped by another name: {stamped}"
    if not stamped and any(each.status in GOOD for each in story.told):
        yield f"told a success, and {ORDER!r} is not stamped"


@promise("typed or refused")
def judge_typed(story: Story) -> Iterator[str]:
    """Look whether handlers were given the values that were stated, as what they are."""
    amount = EDITED if story.scene.approval == "edited" else AMOUNT
    stated = {("call", "pay"): amount, ("given", "day"): DAY, ("given", "slip"): SLIP}
    for each in story.bank.log:
        wanted = stated.get((each.kind, each.what))
        if wanted is not None and each.detail != repr(wanted):
            yield f"{each.what} was given {each.detail}"


@promise("never overdrawn, and released")
def judge_overdrawn(story: Story) -> Iterator[str]:
    """Look whether more was spent than there was, and whether anything stays reserved that nobody can spend.

    Of two runs, one that died and that nobody takes up keeps what it has reserved.
    """
    if not story.scene.has_budget:
        return
    if story.bank.money() < 0:
        yield f"overdrawn: {story.bank.money()} of {START}"
    is_left = story.crashes > 0 and story.fault.host.startswith("two")
    if story.reserved and not is_left:
        yield f"still reserved: {story.reserved}"


@promise("ends with status and reason")
def judge_ends(story: Story) -> Iterator[str]:
    """Look whether every request ended with a status, a reason, and no error of ours."""
    for each in story.told:
        if each.error is not None and not is_refusal(each.error):
            yield f"raised {type(each.error).__name__}: {each.error}"
        elif each.status not in STATUSES:
            yield f"status {each.status}"
        elif each.status not in GOOD and not (each.reason or each.questions):
            yield f"{each.status} without a reason"
        elif each.status == "WAITING" and not each.questions:
            yield f"waits, and asks nothing: {each.reason}"


@promise("resumed")
def judge_resumed(story: Story) -> Iterator[str]:
    """Look whether the goal is reached at last, by whoever answers truthfully and asks again."""
    if not story.scene.is_reachable:
        return
    last = story.told[-1]
    if not story.bank.holds("sealed"):
        yield f"not reached at last: {last.status}: {last.reason[:200]}"
    elif last.status not in GOOD and not _has_declined(story):
        yield f"reached, and told {last.status}: {last.reason[:200]}"


def _has_declined(story: Story) -> bool:
    """Return whether a person has said no to paying once more: what is told then may be that it was refused."""
    log = story.bank.log
    paid = next((at for at, each in enumerate(log) if each.kind == "act" and each.what == "pay"), len(log))
    return any(each.kind == "answer" and each.detail == "no" for each in log[paid:])


def is_refusal(error: Any) -> bool:
    """Return whether an error is one that tells a user what is wrong."""
    from executor.errors import JournalError, RunError
    from planner.errors import ForethoughtError

    return isinstance(error, ForethoughtError | JournalError | RunError)
