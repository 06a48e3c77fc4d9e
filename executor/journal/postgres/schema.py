"""The tables of a journal in PostgreSQL, and the migrations that bring an older schema forward.

A row of `runs` never changes. What changes is in `heads`: the last event of each run, who drives it, and its fencing
token. `holders` are the processes that drive runs or hold locks, with the end of their leases by the database's clock.
Triggers keep events, runs and documents append-only; deleting a run names it in the setting `forethought.deleting`.
`counts` has the numbers of all runs and documents ever made, so that missing ones show.
"""

from __future__ import annotations

from typing import Final

from executor.errors import JournalError
from executor.journal.postgres.connection import Database, Statements
from executor.journal.records import NO_JOURNAL

_FIRST: Final = """
CREATE TABLE counts(what TEXT PRIMARY KEY, count BIGINT NOT NULL) WITH (fillfactor = 50);
INSERT INTO counts VALUES ('runs', 0), ('documents', 0);
CREATE TABLE runs(number BIGINT PRIMARY KEY, name TEXT NOT NULL UNIQUE, created DOUBLE PRECISION NOT NULL,
    checksum BIGINT NOT NULL);
CREATE TABLE heads(run BIGINT PRIMARY KEY REFERENCES runs, events BIGINT NOT NULL DEFAULT 0,
    updated DOUBLE PRECISION NOT NULL, status TEXT NOT NULL DEFAULT '', checksum BIGINT NOT NULL,
    holder BIGINT, since DOUBLE PRECISION, token BIGINT NOT NULL DEFAULT 0) WITH (fillfactor = 50);
CREATE INDEX heads_status ON heads(status);
CREATE TABLE events(run BIGINT NOT NULL REFERENCES runs, seq BIGINT NOT NULL, time DOUBLE PRECISION NOT NULL,
    kind TEXT NOT NULL, data TEXT NOT NULL, status TEXT NOT NULL, checksum BIGINT NOT NULL, PRIMARY KEY (run, seq));
CREATE TABLE documents(number BIGINT PRIMARY KEY, sort TEXT NOT NULL, name TEXT NOT NULL,
    time DOUBLE PRECISION NOT NULL, status TEXT NOT NULL, data TEXT NOT NULL, checksum BIGINT NOT NULL);
CREATE TABLE holders(number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, host TEXT NOT NULL,
    machine TEXT NOT NULL, process BIGINT NOT NULL,
    started TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(), expires TIMESTAMPTZ NOT NULL) WITH (fillfactor = 50);
CREATE TABLE locks(name TEXT PRIMARY KEY, holder BIGINT NOT NULL);
CREATE TABLE starts(number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name TEXT NOT NULL,
    starts TIMESTAMPTZ NOT NULL, ends TIMESTAMPTZ NOT NULL);
CREATE INDEX starts_name ON starts(name);
CREATE TABLE reservations(number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, run TEXT NOT NULL, step TEXT NOT NULL,
    item TEXT NOT NULL, amount TEXT NOT NULL, UNIQUE (run, step, item));
CREATE VIEW history AS SELECT runs.name AS run, seq, to_timestamp(time) AS time, kind, data, status
    FROM events JOIN runs ON run = number ORDER BY number, seq;

CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE deleted TEXT := current_setting('forethought.deleting', true);
BEGIN
    IF TG_TABLE_NAME = 'events' AND TG_OP = 'DELETE' THEN
        IF OLD.run::text = deleted THEN RETURN OLD; END IF;
    ELSIF TG_TABLE_NAME = 'runs' AND TG_OP = 'UPDATE' THEN
        IF OLD.number = NEW.number AND OLD.number::text = deleted THEN RETURN NEW; END IF;
    END IF;
    RAISE EXCEPTION 'a journal is append-only' USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE FUNCTION follow() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE last BIGINT;
BEGIN
    IF TG_TABLE_NAME = 'events' THEN
        SELECT max(seq) INTO last FROM events WHERE run = NEW.run;
        IF NEW.seq = coalesce(last, 0) + 1 THEN RETURN NEW; END IF;
    ELSE
        EXECUTE format('SELECT max(number) FROM %I', TG_TABLE_NAME) INTO last;
        IF NEW.number = coalesce(last, 0) + 1 THEN RETURN NEW; END IF;
    END IF;
    RAISE EXCEPTION 'numbers follow each other' USING ERRCODE = 'unique_violation';
END $$;
"""
_APPEND_ONLY: Final = """
CREATE TRIGGER {0}_stay BEFORE UPDATE OR DELETE ON {0} FOR EACH ROW EXECUTE FUNCTION keep();
CREATE TRIGGER {0}_last BEFORE TRUNCATE ON {0} FOR EACH STATEMENT EXECUTE FUNCTION keep();
CREATE TRIGGER {0}_follow BEFORE INSERT ON {0} FOR EACH ROW EXECUTE FUNCTION follow();
"""
_POSTED: Final = """
CREATE TABLE posted_answers(run TEXT NOT NULL, question TEXT NOT NULL, shown TEXT NOT NULL, answer TEXT NOT NULL,
    time DOUBLE PRECISION NOT NULL, objection TEXT NOT NULL, PRIMARY KEY (run, question));
"""
_EFFECTS: Final = """
CREATE TABLE flights(item TEXT PRIMARY KEY, text TEXT NOT NULL, run TEXT NOT NULL, step TEXT NOT NULL,
    key TEXT NOT NULL, since DOUBLE PRECISION NOT NULL, occasion TEXT NOT NULL, doubt TEXT NOT NULL);
CREATE TABLE entries(number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, item TEXT NOT NULL, text TEXT NOT NULL,
    outcome TEXT NOT NULL, run TEXT NOT NULL, step TEXT NOT NULL, key TEXT NOT NULL, at DOUBLE PRECISION NOT NULL,
    occasion TEXT NOT NULL, seen BOOLEAN NOT NULL, reason TEXT NOT NULL);
CREATE INDEX entries_item ON entries(item);
CREATE TABLE filled_ledgers(world TEXT PRIMARY KEY);
"""
MIGRATIONS: Final = (
    _FIRST + "".join(_APPEND_ONLY.format(each) for each in ("runs", "events", "documents")),
    _POSTED,
    "ALTER TABLE heads ADD COLUMN move TEXT NOT NULL DEFAULT ''",
    _EFFECTS,
    """ALTER TABLE flights ADD COLUMN traces TEXT NOT NULL DEFAULT '',
    ADD COLUMN until DOUBLE PRECISION NOT NULL DEFAULT 0""",
    """ALTER TABLE flights ADD COLUMN brings TEXT NOT NULL DEFAULT '';
    ALTER TABLE entries ADD COLUMN brings TEXT NOT NULL DEFAULT '';
    CREATE TABLE marks(mark TEXT NOT NULL, item TEXT NOT NULL, PRIMARY KEY (mark, item));""",
)
"""The statements that lead from each version to the next one, the first from nothing."""
_LOCK: Final = 0x466F7265
"""Key of the advisory lock under which schemas are made and changed: "Fore"."""


def prepare(database: Database, *, makes: bool = True) -> None:
    """Make the schema, or bring it to the present version; raises `JournalError` for a newer or a foreign one.

    All changes are one transaction, and processes that open a journal at once take turns. Raises `JournalError` where
    there is no schema and it `makes` none.
    """
    version = _read_version(database.run)
    if not version and not makes:
        raise JournalError(database.place, f"there is no journal in the schema {database.address.schema!r}", NO_JOURNAL)
    if version < len(MIGRATIONS):
        database.repeat(lambda run, _: _migrate(run, database), together=True)
    version = _read_version(database.run)
    if version > len(MIGRATIONS):
        found = f"its schema has version {version}, and this forethought reads {len(MIGRATIONS)}"
        raise JournalError(database.place, found, "use the version of forethought that wrote it, or a newer one")


def _migrate(run: Statements, database: Database) -> None:
    schema = database.address.schema
    run(f"SELECT pg_advisory_xact_lock({_LOCK})")
    tables = _list_tables(run)
    version = _read_number(run) if "version" in tables else 0
    if version == 0:
        if tables:
            found = f"its schema {schema} has tables of another program"
            raise JournalError(database.place, found, "name another schema: …?schema=NAME; it was not touched")
        run(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
        run("CREATE TABLE version(number INTEGER PRIMARY KEY, applied TIMESTAMPTZ NOT NULL DEFAULT now())")
        ((encoding,),) = run("SHOW server_encoding")
        if encoding != "UTF8":
            found = f"the encoding of the database is {encoding}"
            raise JournalError(database.place, found, "make one with `createdb --encoding=UTF8`")
    for number, statements in enumerate(MIGRATIONS[version:], version + 1):
        run(statements)
        run("INSERT INTO version VALUES (:number)", number=number)


def _list_tables(run: Statements) -> set[str]:
    """Return the names of all that the schema has.

    Reads the catalogue: `to_regclass` may answer from a time before another process made the schema, since a
    connection that waited for an advisory lock has not heard of that.
    """
    rows = run("SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(current_setting('search_path'))")
    return {name for (name,) in rows}


def _read_version(run: Statements) -> int:
    """Return the version of the schema; 0 without one."""
    return 0 if run("SELECT to_regclass('version') IS NULL") == [[True]] else _read_number(run)


def _read_number(run: Statements) -> int:
    """Return the version that the schema states."""
    ((version,),) = run("SELECT coalesce(max(number), 0) FROM version")
    return int(version)
