"""A move of a run between two journals that is killed at each write; a program of its own, as it forks and kills.

    python tests/killed_copies.py SOURCE TARGET

SOURCE and TARGET are places of empty journals, with `{}` for the number of the kill. Prints, as JSON, one line for each
place where the move was killed: in how many journals the run was due then, and after the same copy again.
"""

import json
import os
import signal
import sys

from killed_workers import in_child

from executor.events.stored_runs import copy_run
from executor.journal import open_journal
from executor.ledger.records import Entry, Flight, Outcome

WRITES = ("create", "set_move", "restore", "delete")
LEDGER_WRITES = ("take", "add")
FLIGHT = Flight("pay", "pay()", "r", "s1", "k1", 5.0, doubt="lost")
ENTRIES = [Entry("mail", "mail()", Outcome.DONE, "r", "s0", "k0", 4.0)]
DUE = ("PROPOSED", "ACTIVE", "WAITING")


def kill_at_write(journals, number):
    """Let this process be killed before the write with this number, from 0, or after the last one."""
    writes = iter(range(number))

    def kill_in_turn(write):
        def killed(*args, **options):
            if next(writes, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)
            return write(*args, **options)

        return killed

    for journal in journals:
        for part, names in ((journal, WRITES), (journal.ledger, LEDGER_WRITES)):
            for name in names:
                setattr(part, name, kill_in_turn(getattr(part, name)))


def copy(places, kill_at=None):
    source, target = map(open_journal, places)
    with source, target:
        if kill_at is not None:
            kill_at_write((source, target), kill_at)
        return copy_run(source, target, "r")


def prepare(place):
    with open_journal(place) as journal:
        journal.create("r")
        with journal.drive("r"):
            journal.append("r", "RunStarted", '{"plan": {"id": "p"}}', status="ACTIVE")
        journal.posted.post("r", "doubt:s1", "shown", "yes")
        journal.ledger.take(FLIGHT)
        journal.ledger.doubt(FLIGHT)
        journal.ledger.add(ENTRIES[0])


def look(places):
    """Return where the run is due, and where it is, with its number of events."""
    due, events = [], []
    for place in places:
        with open_journal(place) as journal:
            due += [place for each in journal.free(DUE) if each.run == "r"]
            events.append([each.events for each in journal.runs()])
    return due, events


def main(*patterns):
    for kill_at in range(100):
        places = [each.format(kill_at) for each in patterns]
        in_child(lambda: prepare(places[0]))  # noqa: B023 - done at once
        code = in_child(lambda: copy(places, kill_at))  # noqa: B023 - as above
        killed, _ = look(places)
        again = 0 if code == 0 else in_child(lambda: copy(places))  # noqa: B023 - as above
        due, events = look(places)
        with open_journal(places[1]) as journal:
            answers = [each.answer for each in journal.posted.read("r")]
            ledger = [each.doubt for each in journal.ledger.flights()], len(journal.ledger.entries())
        line = {"at": kill_at, "code": code, "killed": killed, "again": again, "due": due, "events": events}
        sys.stdout.write(json.dumps(line | {"places": places, "answers": answers, "ledger": ledger}) + "\n")
        if code == 0:
            break


if __name__ == "__main__":
    main(*sys.argv[1:])
