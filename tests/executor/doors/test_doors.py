"""Every door keeps every promise under every fault: a share of the cells with each commit, all in `make test-all`.

Each door that has a journal is tried with one in a file and with one in PostgreSQL. What is left out there: a disk that
is full, as the database has another one, and leases that expire, as they end in real time (tests/executor/workers has
both). A cell takes longer in a database: a seventh of them is drawn from with each commit.
"""

from __future__ import annotations

import pytest
from doors.cells import judge, list_cells
from doors.registry import DOORS
from effort import PARTS

from executor.journal import read_place
from executor.journal.postgres.effects import LedgerInPostgres

CELLS = list_cells()
BLOCKS = 144
ON_POSTGRES = list_cells("database")
POSTGRES_BLOCKS = 36
SEVENTHS = [0, *[pytest.param(number, marks=pytest.mark.slow) for number in range(1, 7)]]


@pytest.mark.parametrize("block", range(BLOCKS))
def test_every_promise_holds_at_every_door_under_every_fault(block):
    found = {str(cell): judge(cell)[1] for cell in CELLS[block::BLOCKS]}
    assert {name: broken for name, broken in found.items() if broken} == {}


@pytest.mark.parametrize("seventh", SEVENTHS)
@pytest.mark.parametrize("block", range(POSTGRES_BLOCKS))
def test_every_promise_holds_on_postgres(block, seventh, postgres):
    found = {str(cell): judge_on(postgres, cell) for cell in share_on_postgres(block, seventh)}
    assert {name: broken for name, broken in found.items() if broken} == {}


def test_each_door_with_a_journal_is_tried_on_postgres_in_every_share():
    doors = {name for name, made in DOORS.items() if made.has_journal}
    assert {each.door for each in ON_POSTGRES} == doors
    for part in range(PARTS):
        drawn = [cell for block in range(part, POSTGRES_BLOCKS, PARTS) for cell in share_on_postgres(block, 0)]
        assert {each.door for each in drawn} == doors
    shares = [share_on_postgres(block, seventh) for block in range(POSTGRES_BLOCKS) for seventh in range(7)]
    assert sorted(map(str, ON_POSTGRES)) == sorted(str(cell) for share in shares for cell in share)


def share_on_postgres(block, seventh):
    """Return every 252nd cell: those of one twelfth of the blocks are of all doors."""
    return ON_POSTGRES[7 * block + seventh :: 7 * POSTGRES_BLOCKS]


def judge_on(postgres, cell):
    """Return what is broken in a cell whose journal has a schema of its own."""
    try:
        return judge(cell, read_place(postgres.address("matrix", patience=10)))[1]
    finally:
        postgres.run_sql("DROP SCHEMA IF EXISTS matrix CASCADE")


def test_a_bug_of_the_ledger_in_postgres_is_found(postgres, monkeypatch):
    read = LedgerInPostgres.read
    monkeypatch.setattr(LedgerInPostgres, "read", lambda self, item: (read(self, item)[0], []))
    cell = next(each for each in ON_POSTGRES if str(each) == "sequential:none:blind")
    assert any(each.startswith("irreversible at most once") for each in judge_on(postgres, cell))
