"""What tests of the executor share: a PostgreSQL server, and journals of each kind."""

import itertools

import pytest
from postgres_server import PostgresServer, find_obstacle

from executor.journal import open_journal

_schemas = itertools.count(1)


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server, started for the first test that needs one."""
    obstacle = find_obstacle()
    if obstacle:
        pytest.skip(obstacle)
    server = PostgresServer()
    yield server
    server.stop()


@pytest.fixture
def address(postgres):
    """The address of an empty journal in PostgreSQL."""
    return postgres.address(f"t{next(_schemas)}", patience=10)


@pytest.fixture(params=["file", "postgres"])
def place(request, tmp_path):
    """The place of an empty journal of each kind."""
    return tmp_path / "journal.db" if request.param == "file" else request.getfixturevalue("address")


@pytest.fixture
def journal(place):
    """An empty journal of each kind."""
    with open_journal(place) as opened:
        yield opened
