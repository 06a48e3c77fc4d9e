"""A journal whose files were damaged is whole, or says that it is not; any text comes back as it was."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from executor.errors import JournalError
from executor.journal import Journal

DAMAGES = 12
"""For each kind of damage to each file in each state."""
DATABASE, LOG, LOCK = "journal.db", "journal.db-wal", "journal.db-lock"
FILLS = """
import os, sys
from executor.journal import Journal
journal = Journal(sys.argv[1])
def fill(run, count, size):
    for number in range(count):
        journal.append(run, "Step", f"{run}-{number} " + "x" * size, status=("ACTIVE", "WAITING")[number % 2])
    journal.save_plan(f"plan of {run}", "y" * size, status="ACTIVE")
for run in ("r1", "r2", "r3"):
    journal.create(run)
with journal.drive("r1"), journal.drive("r2"):
    fill("r1", 40, 30)
    fill("r2", 3, 9000)
    journal.save_goal("g1", "first")
    if sys.argv[2] == "half": # what comes now is in the log only
        journal._store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        fill("r1", 40, 30)
        fill("r2", 3, 9000)
        journal.save_goal("g1", "second")
if sys.argv[2] == "closed":
    journal.close()
os._exit(0)
"""


def content(folder):
    """Return all that is in the journal in `folder`; raises `JournalError`."""
    with Journal(folder / DATABASE) as journal:
        runs = journal.runs()
        events = [list(journal.read(each.run)) for each in runs]
        return runs, events, list(journal.goals()), list(journal.plans())


def flip(data, chance):
    place = chance.randrange(len(data))
    data[place] ^= 1 << chance.randrange(8)


def overwrite(data, chance):
    place, size = chance.randrange(len(data)), chance.choice([1, 30, 512, 4096])
    data[place : place + size] = bytes(len(data[place : place + size]))


def scramble(data, chance):
    place = chance.randrange(len(data))
    data[place : place + 16] = chance.randbytes(len(data[place : place + 16]))


def truncate(data, chance):
    del data[chance.choice([chance.randrange(len(data)), chance.randrange(1 + len(data) // 4096) * 4096]) :]


def swap(data, chance):
    """Exchange two pages, as a file system that lost its way."""
    one, two = (chance.randrange(1 + len(data) // 4096) * 4096 for _ in range(2))
    data[one : one + 4096], data[two : two + 4096] = data[two : two + 4096], data[one : one + 4096]


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """Return three journals: closed; all in a log of a process that ended suddenly; half of it in such a log."""
    found = {}
    for state in ("closed", "open", "half"):
        folder = tmp_path_factory.mktemp(state)
        subprocess.run([sys.executable, "-c", FILLS, str(folder / DATABASE), state], check=True, timeout=50)
        assert (folder / LOG).exists() is (state != "closed")
        copied = folder.with_name(f"{folder.name}-copy")
        shutil.copytree(folder, copied)
        found[state] = (folder, content(copied))
    return found


@pytest.mark.parametrize("damage", [flip, overwrite, scramble, truncate, swap])
@pytest.mark.parametrize(
    ("state", "file"),
    [("closed", DATABASE), ("open", DATABASE), ("open", LOG), ("half", DATABASE), ("half", LOG), ("closed", LOCK)],
)
def test_what_is_read_from_damaged_files_is_whole_or_an_error(originals, tmp_path, state, file, damage):
    original, expected = originals[state]
    chance = random.Random(f"{state} {file} {damage.__name__}")
    told = []
    for number in range(DAMAGES):
        folder = tmp_path / str(number)
        shutil.copytree(original, folder)
        data = bytearray((folder / file).read_bytes())
        damage(data, chance)
        (folder / file).write_bytes(data)
        try:
            found = content(folder)
        except JournalError as error:
            told.append(str(error))
        else:
            assert found == expected
        shutil.rmtree(folder)
    assert all(DATABASE in message and "; " in message for message in told)
    assert told or file == LOCK or (state, file) == ("open", DATABASE)


@pytest.mark.parametrize("state", ["open", "half"])
def test_a_log_that_was_deleted_is_missed(originals, tmp_path, state):
    folder = tmp_path / "copy"
    shutil.copytree(originals[state][0], folder)
    (folder / LOG).unlink()
    with pytest.raises(JournalError, match="are left of"):
        content(folder)


def test_what_no_file_says_any_more_cannot_be_missed(originals, tmp_path):
    """With the log and the counts beside it gone, an older state looks like a whole one."""
    folder = tmp_path / "copy"
    shutil.copytree(originals["half"][0], folder)
    (folder / LOG).unlink()
    (folder / LOCK).unlink()
    assert [each.events for each in content(folder)[0]] == [40, 3, 0]


@settings(deadline=None, max_examples=examples(40))
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["r1", "r2", "run three"]),
            st.lists(st.tuples(st.text(max_size=9), st.text(), st.none() | st.text(max_size=5)), max_size=4),
            st.booleans(),
        ),
        max_size=12,
    )
)
def test_any_events_come_back_in_their_order(tmp_path_factory, script):
    path = tmp_path_factory.mktemp("any") / DATABASE
    twin: dict[str, list[tuple[str, str]]] = {}
    statuses: dict[str, str] = {}
    journal = Journal(path)
    for run, events, again in script:
        if run not in twin:
            journal.create(run)
            twin[run], statuses[run] = [], ""
        with journal.drive(run):
            assert journal.extend(run, events) == len(twin[run]) + len(events)
        for kind, data, status in events:
            twin[run].append((kind, data))
            statuses[run] = statuses[run] if status is None else status
        if again:
            journal.close()
            journal = Journal(path)
    with journal:
        assert {each.run: each.status for each in journal.runs()} == statuses
        for run, events in twin.items():
            found = list(journal.read(run))
            assert [(entry.kind, entry.data) for entry in found] == events
            assert [entry.seq for entry in found] == list(range(1, len(events) + 1))
