"""Each row of the table that rules whether an irreversible step may begin, by its name."""

import pytest

from executor.ledger import rulings
from executor.ledger.records import WAITS, Entry, Flight, Outcome
from executor.ledger.rulings import Asker, Sight, Verdict, rule

FLIGHT = Flight("i", "pay(o7)", "other", "s1", "k", 0.0)
DOUBTED = Flight("i", "pay(o7)", "other", "s1", "k", 0.0, doubt="connection lost")
WAITING = Flight("i", "pay(o7)", "other", "s1", "k", 0.0, doubt=WAITS)
ME = Asker("me")


def entry(outcome=Outcome.DONE, run="other", **named):
    return Entry("i", "pay(o7)", outcome, run, "s1", "k", 0.0, **named)


SEEN, REPORTED, REFUSED = entry(seen=True), entry(), entry(Outcome.REFUSED)
ROWS = {
    "holds": (Sight.HOLDS, None, [], ME, Verdict.ALREADY, rulings.HELD),
    "holds, done before": (Sight.HOLDS, None, [SEEN], ME, Verdict.ALREADY, rulings.HELD),
    "holds, though refused": (Sight.HOLDS, None, [REFUSED], ME, Verdict.ALREADY, rulings.HELD),
    "holds while in doubt": (Sight.HOLDS, DOUBTED, [], ME, Verdict.ALREADY, rulings.HELD),
    "refused, a person asks": (Sight.MISSING, None, [REFUSED], ME, Verdict.ASK_AGAIN, rulings.REFUSED),
    "refused, nobody asks": (
        Sight.MISSING,
        None,
        [REFUSED],
        Asker("me", may_ask=False),
        Verdict.REFUSED,
        rulings.REFUSED,
    ),
    "refused, then accepted": (
        Sight.MISSING,
        None,
        [REFUSED],
        Asker("me", accepts=True),
        Verdict.BEGIN,
        rulings.ACCEPTED,
    ),
    "refused, then done": (Sight.MISSING, None, [REFUSED, SEEN], ME, Verdict.BEGIN, rulings.CHANGED_BACK),
    "refused on another occasion": (
        Sight.MISSING,
        None,
        [entry(Outcome.REFUSED, occasion="2026-10")],
        Asker("me", "2026-11"),
        Verdict.BEGIN,
        rulings.FIRST,
    ),
    "somebody is at it": (Sight.MISSING, FLIGHT, [], ME, Verdict.WAIT, rulings.UNDER_WAY),
    "somebody's step waits": (Sight.UNKNOWN, WAITING, [], ME, Verdict.WAIT, rulings.UNDER_WAY),
    "missing, in doubt": (Sight.MISSING, DOUBTED, [], ME, Verdict.BEGIN, rulings.DID_NOT_HAPPEN),
    "unknown, in doubt": (Sight.UNKNOWN, DOUBTED, [], ME, Verdict.ASK_DOUBT, rulings.IN_DOUBT),
    "partly, in doubt": (Sight.PARTLY, DOUBTED, [], ME, Verdict.ASK_DOUBT, rulings.IN_DOUBT),
    "disputed, in doubt": (Sight.DISPUTED, DOUBTED, [], ME, Verdict.ASK_DOUBT, rulings.IN_DOUBT),
    "accepted, but in doubt": (
        Sight.UNKNOWN,
        DOUBTED,
        [],
        Asker("me", accepts=True),
        Verdict.ASK_DOUBT,
        rulings.IN_DOUBT,
    ),
    "idempotent, in doubt": (
        Sight.UNKNOWN,
        DOUBTED,
        [],
        Asker("me", is_idempotent=True),
        Verdict.BEGIN,
        rulings.IDEMPOTENT,
    ),
    "disputed": (Sight.DISPUTED, None, [], ME, Verdict.ASK_AGAIN, rulings.DISPUTED),
    "missing, never done": (Sight.MISSING, None, [], ME, Verdict.BEGIN, rulings.FIRST),
    "missing, only tried in vain": (Sight.MISSING, None, [entry(Outcome.NOT_DONE)], ME, Verdict.BEGIN, rulings.FIRST),
    "changed back, a new request": (Sight.MISSING, None, [SEEN], ME, Verdict.BEGIN, rulings.CHANGED_BACK),
    "changed back in this run": (
        Sight.MISSING,
        None,
        [entry(run="me", seen=True)],
        ME,
        Verdict.ASK_AGAIN,
        rulings.CHANGED_BACK,
    ),
    "changed back, and the plan has it twice": (
        Sight.MISSING,
        None,
        [entry(run="me", seen=True)],
        Asker("me", repeats=True),
        Verdict.BEGIN,
        rulings.FIRST,
    ),
    "missing, done by report alone": (Sight.MISSING, None, [REPORTED], ME, Verdict.ASK_AGAIN, rulings.REPORTED_ONLY),
    "partly, as the plan knows": (
        Sight.PARTLY,
        None,
        [],
        Asker("me", knew_part=True),
        Verdict.BEGIN,
        rulings.KNOWN_PART,
    ),
    "partly, unforeseen": (Sight.PARTLY, None, [], ME, Verdict.ASK_AGAIN, rulings.PARTLY),
    "partly, done before": (Sight.PARTLY, None, [SEEN], Asker("me", knew_part=True), Verdict.ASK_AGAIN, rulings.PARTLY),
    "unknown, never done": (Sight.UNKNOWN, None, [], ME, Verdict.BEGIN, rulings.UNSEEN_FIRST),
    "claimed, never done": (Sight.CLAIMED, None, [], ME, Verdict.ASK_AGAIN, rulings.CLAIMED),
    "unknown, done on another occasion": (
        Sight.UNKNOWN,
        None,
        [entry(occasion="2026-10")],
        Asker("me", "2026-11"),
        Verdict.BEGIN,
        rulings.UNSEEN_FIRST,
    ),
    "unknown, done on this occasion": (
        Sight.UNKNOWN,
        None,
        [entry(occasion="2026-11")],
        Asker("me", "2026-11"),
        Verdict.ASK_AGAIN,
        rulings.UNSEEN_DONE,
    ),
    "unknown, done, no occasion": (
        Sight.UNKNOWN,
        None,
        [entry(occasion="2026-10")],
        ME,
        Verdict.ASK_AGAIN,
        rulings.UNSEEN_DONE,
    ),
    "unknown, done, and wanted again": (
        Sight.UNKNOWN,
        None,
        [SEEN],
        Asker("me", accepts=True),
        Verdict.BEGIN,
        rulings.ACCEPTED,
    ),
}


REPEATED = [(Sight.UNKNOWN, SEEN), (Sight.MISSING, REPORTED), (Sight.MISSING, entry(run="me"))]
UNCLEAR = [(Sight.DISPUTED, SEEN), (Sight.PARTLY, SEEN), (Sight.CLAIMED, entry(Outcome.NOT_DONE))]
BEFOREHAND = {
    "whether to repeat": (REPEATED, {"wants", "approves"}),
    "whether to do what was refused": ([(Sight.MISSING, REFUSED)], {"approves"}),
    "what is unclear": (UNCLEAR, set()),
}
"""Questions, by what is asked, and what answers them before they are asked."""


@pytest.mark.parametrize("flag", ["wants", "approves", "accepts"])
@pytest.mark.parametrize("asked", BEFOREHAND)
def test_a_request_and_an_approval_answer_only_whether_to_repeat(asked, flag):
    cases, answering = BEFOREHAND[asked]
    for sight, known in cases:
        found = rule(sight, None, [known], Asker("me", **{flag: True}), is_alive=False)
        begins = flag == "accepts" or flag in answering
        assert found.verdict is (Verdict.BEGIN if begins else Verdict.ASK_AGAIN), (sight, known)


@pytest.mark.parametrize("name", ROWS)
def test_row(name):
    sight, flight, entries, asker, verdict, row = ROWS[name]
    found = rule(sight, flight, entries, asker, is_alive=flight is FLIGHT)
    assert (found.verdict, found.row) == (verdict, row)


@pytest.mark.parametrize(
    ("sight", "flight", "outcome"),
    [
        (Sight.HOLDS, DOUBTED, Outcome.DONE),
        (Sight.MISSING, DOUBTED, Outcome.NOT_DONE),
        (Sight.HOLDS, FLIGHT, None),
        (Sight.HOLDS, WAITING, None),
        (Sight.UNKNOWN, DOUBTED, None),
    ],
)
def test_a_look_settles_a_flight_in_doubt_and_no_other(sight, flight, outcome):
    assert rule(sight, flight, [], ME, is_alive=flight is FLIGHT).settles is outcome


def test_every_sight_and_history_has_a_ruling():
    histories = [[], [SEEN], [REPORTED], [REFUSED], [entry(Outcome.NOT_DONE)]]
    for sight in Sight:
        for flight in (None, FLIGHT, DOUBTED, WAITING):
            for history in histories:
                assert rule(sight, flight, history, ME, is_alive=flight is FLIGHT).row


def test_nothing_begins_in_doubt_without_evidence_or_idempotence():
    for sight in set(Sight) - {Sight.MISSING}:
        for history in ([], [SEEN], [REPORTED]):
            for asker in (ME, Asker("me", accepts=True), Asker("me", repeats=True), Asker("me", "2026-11")):
                assert rule(sight, DOUBTED, history, asker, is_alive=False).verdict is not Verdict.BEGIN
