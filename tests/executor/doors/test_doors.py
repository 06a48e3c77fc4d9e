"""Every door keeps every promise under every fault: a share of the cells with each commit, all in `make test-all`.

Three doors are tried with a journal in PostgreSQL too: a run, a worker, and an agent that calls tools. What is left out
there: a disk that is full, as the database has another one, and leases that expire, as they end in real time
(tests/executor/workers has both).
"""

from __future__ import annotations

import pytest
from doors.cells import judge, list_cells

from executor.journal import read_place
from executor.journal.postgres.effects import LedgerInPostgres

CELLS = list_cells()
BLOCKS = 144
ON_POSTGRES = [
    each for each in CELLS if each.door in ("sequential", "worker", "planned calls") and each.fault.name != "disk full"
]
POSTGRES_BLOCKS = 36


@pytest.mark.parametrize("block", range(BLOCKS))
def test_every_promise_holds_at_every_door_under_every_fault(block):
    found = {str(cell): judge(cell)[1] for cell in CELLS[block::BLOCKS]}
    assert {name: broken for name, broken in found.items() if broken} == {}


@pytest.mark.parametrize("block", range(POSTGRES_BLOCKS))
def test_every_promise_holds_on_postgres(block, postgres):
    found = {str(cell): judge_on(postgres, cell) for cell in ON_POSTGRES[block::POSTGRES_BLOCKS]}
    assert {name: broken for name, broken in found.items() if broken} == {}


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
