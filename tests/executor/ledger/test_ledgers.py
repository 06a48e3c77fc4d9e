"""The ledgers of each kind do alike: in memory, in a file, and in PostgreSQL."""

import contextlib
import json
import sqlite3
import threading
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from pydantic import BaseModel

from executor.journal import open_journal
from executor.journal.effects import GONE
from executor.ledger.records import WAITS, Entry, Flight, LedgerInMemory, Outcome
from executor.loop.step_identity import identify_step, make_key
from planner.lightweight import replace

ITEM = identify_step("bank", "pay", ["o7"], {"amount": 10})
OWN = Flight(ITEM, "pay(o7)", "r1", "s1", make_key(ITEM, "", 1), 5.0)
OTHER = Flight(ITEM, "pay(o7)", "r2", "s1", make_key(ITEM, "", 1), 6.0)
DONE = Entry(ITEM, "pay(o7)", Outcome.DONE, "r1", "s1", OWN.key, 7.0, "2026-11", seen=True, reason="well")


@pytest.fixture(params=["memory", "file", "postgres"])
def ledger(request, tmp_path):
    """An empty ledger of each kind."""
    if request.param == "memory":
        yield LedgerInMemory()
        return
    place = tmp_path / "journal.db" if request.param == "file" else request.getfixturevalue("address")
    with open_journal(place) as journal:
        yield journal.ledger


def test_an_empty_ledger_knows_nothing(ledger):
    assert ledger.read(ITEM) == (None, [])
    assert (ledger.flights(), ledger.entries()) == ([], [])


def test_only_one_has_the_flight(ledger):
    assert ledger.take(OWN) == OWN
    assert ledger.take(OTHER) == OWN
    assert ledger.take(OTHER, instead=replace(OWN, since=1.0)) == OWN
    assert ledger.take(OTHER, instead=OWN) == OTHER


def test_a_flight_ends_once_with_its_entry(ledger):
    ledger.take(OWN)
    ledger.end(OTHER, DONE)
    assert ledger.read(ITEM) == (OWN, [])
    ledger.doubt(replace(OWN, doubt="lost"))
    assert ledger.read(ITEM)[0] == replace(OWN, doubt="lost")
    ledger.end(OWN, DONE)
    ledger.end(OWN, DONE)
    assert ledger.read(ITEM) == (None, [DONE])


def test_an_entry_needs_no_flight(ledger):
    refused = replace(DONE, outcome=Outcome.REFUSED, seen=False)
    ledger.add(refused)
    assert ledger.read(ITEM) == (None, [refused])
    assert ledger.entries() == [refused]


def test_of_many_at_once_one_has_the_flight(ledger):
    taken = []
    each = [Flight(ITEM, "pay(o7)", f"r{number}", "s1", OWN.key, float(number)) for number in range(8)]
    threads = [threading.Thread(target=lambda flight=flight: taken.append(ledger.take(flight))) for flight in each]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(taken)) == 1


def test_a_journal_is_filled_once(journal):
    assert not journal.ledger.is_filled("bank")
    assert journal.ledger.fill(["bank", "a"], [OWN], [DONE])
    assert not journal.ledger.fill(["bank", "b"], [OWN], [DONE], instead=["a"]), "somebody has filled it"
    assert journal.ledger.list_filled() == {"bank", "a"}
    assert journal.ledger.fill(["b"], [], [], instead=["a"])
    assert journal.ledger.list_filled() == {"bank", "b"}
    assert journal.ledger.is_filled("bank")
    assert not journal.ledger.is_filled("other")
    assert journal.ledger.read(ITEM) == (OWN, [DONE])


def test_the_ledger_outlives_the_run(journal):
    journal.create("r1")
    journal.ledger.add(DONE)
    journal.delete("r1")
    assert journal.ledger.entries() == [DONE]


def test_identities_tell_steps_apart():
    same = identify_step("bank", "pay", ["o7"], {"amount": 10})
    assert same == ITEM
    others = [
        identify_step("other", "pay", ["o7"], {"amount": 10}),
        identify_step("bank", "refund", ["o7"], {"amount": 10}),
        identify_step("bank", "pay", ["o8"], {"amount": 10}),
        identify_step("bank", "pay", ["o7"], {"amount": 11}),
        identify_step("bank", "pay", ["o7"], {}),
    ]
    assert len({ITEM, *others}) == 6
    assert identify_step("bank", "pay", [], {"a": 1, "b": 2}) == identify_step("bank", "pay", [], {"b": 2, "a": 1})
    assert identify_step("bank", "pay", ["o7"], {"amount": 10.0}) == ITEM
    one, two = "<X object at 0x7f1>", "<X object at 0x7f2>"
    assert identify_step("bank", "pay", [], {"by": one}) == identify_step("bank", "pay", [], {"by": two})
    assert identify_step("bank", "pay", [], {"n": 1}) != identify_step("bank", "pay", [], {"n": "1"})
    assert identify_step("bank", "pay", [], {"n": 1}) != identify_step("bank", "pay", [], {"n": True})


class Invoice(BaseModel):
    due: datetime
    amount: Decimal = Decimal(5)
    names: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Bill:
    due: datetime
    amount: Decimal = Decimal(5)


CENTRAL_EUROPE = timezone(timedelta(hours=1))
NOON, ELEVEN = datetime(2026, 11, 1, 12, tzinfo=CENTRAL_EUROPE), datetime(2026, 11, 1, 11, tzinfo=UTC)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (NOON, ELEVEN),
        ([NOON], [ELEVEN]),
        ({"due": NOON}, {"due": ELEVEN}),
        (Invoice(due=NOON), Invoice(due=ELEVEN)),
        (Invoice(due=NOON, amount=Decimal("5.00")), Invoice(due=NOON)),
        (Invoice(due=NOON, names=frozenset("abcdef")), Invoice(due=NOON, names=frozenset("fedcba"))),
        (Bill(NOON), Bill(ELEVEN)),
        (Bill(NOON, Decimal("5.00")), Bill(NOON)),
    ],
    ids=["time", "list", "mapping", "model", "decimal in a model", "set in a model", "dataclass", "decimal in it"],
)
def test_equal_values_have_one_identity(one, other):
    assert one == other
    assert identify_step("bank", "pay", [], {"v": one}) == identify_step("bank", "pay", [], {"v": other})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (NOON, NOON.replace(tzinfo=UTC)),
        (NOON, NOON.replace(tzinfo=None)),
        (Invoice(due=NOON), Invoice(due=NOON, amount=6)),
        (Bill(NOON), Bill(NOON, Decimal(6))),
        (datetime.min.replace(tzinfo=CENTRAL_EUROPE), datetime.min.replace(tzinfo=UTC)),
    ],
    ids=["zone", "no zone", "model", "dataclass", "earliest time"],
)
def test_different_values_have_different_identities(one, other):
    assert identify_step("bank", "pay", [], {"v": one}) != identify_step("bank", "pay", [], {"v": other})


def test_keys_tell_entries_apart():
    assert len({make_key(ITEM, "", 1), make_key(ITEM, "", 2), make_key(ITEM, "2026-11", 1)}) == 3


def test_a_flight_keeps_what_was_seen_before_its_step_began(ledger):
    ledger.take(OWN)
    seen = replace(OWN, traces='{"open(_)": ["open(T-1)"]}')
    assert ledger.take(seen, instead=OWN) == seen
    ledger.doubt(replace(OWN, doubt="lost"))
    assert ledger.read(ITEM)[0] == replace(seen, doubt="lost")
    ledger.end(OWN, DONE)
    assert ledger.read(ITEM) == (None, [DONE])


def bring(flight, *marks):
    return replace(flight, brings=json.dumps({"marks": marks}))


def test_a_flight_taken_in_place_of_itself_is_found_by_what_it_brings_now(ledger):
    ledger.take(bring(OWN, "a"))
    ledger.take(bring(OWN, "a", "b"), instead=bring(OWN, "a"))
    assert [ledger.find_like([mark]) for mark in "abc"] == [[ITEM], [ITEM], []]


def test_marks_are_written_where_a_flight_brings_something_else(tmp_path):
    with open_journal(tmp_path / "journal.db") as journal:
        first, other, statements = bring(OWN, "a"), bring(OWN, "b"), []
        journal.ledger.take(first)
        journal.ledger._store.connection.set_trace_callback(statements.append)
        seen = journal.ledger.take(replace(first, traces="{}"), instead=first)
        assert [each for each in statements if "INTO marks" in each] == []
        journal.ledger.take(other, instead=seen)
        assert len([each for each in statements if "INTO marks" in each]) == 1


def test_a_file_from_before_flights_kept_that_opens(tmp_path):
    with open_journal(tmp_path / "journal.db") as journal:
        journal.ledger.take(OWN)
        journal.ledger.doubt(replace(OWN, doubt="lost"))
    with contextlib.closing(sqlite3.connect(tmp_path / "journal.db")) as file:
        for column in ("traces", "until", "brings"):
            file.execute(f"ALTER TABLE flights DROP COLUMN {column}")
        file.execute("ALTER TABLE entries DROP COLUMN brings")
        file.execute("DROP TABLE marks")
    with open_journal(tmp_path / "journal.db") as one, open_journal(tmp_path / "journal.db") as other:
        assert one.ledger.read(ITEM) == other.ledger.read(ITEM) == (replace(OWN, doubt="lost"), [])
        later = replace(OTHER, traces="{}")
        assert other.ledger.take(later, instead=OWN) == later
        assert one.ledger.flights() == [later]
        one.ledger.add(DONE)
        assert other.ledger.entries() == [DONE]


@pytest.mark.parametrize("doubt", ["", WAITS, "lost"])
def test_a_deleted_run_keeps_what_its_steps_in_doubt_have_reserved(journal, doubt):
    journal.create("r")
    for run, step in (("r", "s1"), ("r", "s2"), ("other", "s1")):
        journal.reservations.reserve(run, step, {"gold": -1})
    for run in ("r", "other"):
        journal.ledger.take(Flight(f"item {run}", "pay(o1)", run, "s1", "k", 1.0, doubt=doubt))
    journal.delete("r")
    left = journal.reservations.reserve("late", "s1", {"gold": -1})
    assert [(each.run, each.step) for each in left] == [("r", "s1"), ("other", "s1")]
    doubts = {each.run: each.doubt for each in journal.ledger.flights()}
    assert doubts == {"r": doubt if doubt == "lost" else GONE, "other": doubt}
