"""What processes on several hosts share through one database: named locks, rates, reservations and posted answers.

Locks end with the process that holds them. The start of a rated step counts until its time is over, and a reservation
stays until its step is over, whoever takes the run up: what the step has done may not show yet.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction
from typing import Final

from executor.journal.posted_answers import PostedAnswer
from executor.journal.postgres.connection import Database, Statements
from executor.journal.postgres.leases import Lease, bury
from executor.journal.reservations import Reservation, read_amount
from planner.model.arithmetic import Exact

_TAKE: Final = "INSERT INTO locks VALUES (:name, :holder) ON CONFLICT DO NOTHING RETURNING holder"
_FREE: Final = "DELETE FROM locks WHERE name = :name AND holder NOT IN (SELECT number FROM holders) RETURNING 1"


class LocksInPostgres:
    """Named locks in the database; `lease` is that of this process."""

    def __init__(self, database: Database, lease: Lease) -> None:
        self._database = database
        self._lease = lease
        self._held: dict[str, int] = {}
        """The holder as which this process has taken each lock."""

    def hold(self, name: str) -> bool:
        """Try to take the lock for this process; return whether this process has it."""
        holder = self._lease.begin()
        if self._held.get(name) == holder:
            return True
        self._lease.do_chores()  # none of them may release what is taken now

        def take(run: Statements, _: bool) -> bool:
            if run(_TAKE, name=name, holder=holder):
                return True
            bury(run)
            if run(_FREE, name=name) and run(_TAKE, name=name, holder=holder):
                return True
            return run("SELECT holder FROM locks WHERE name = :name", name=name) == [[holder]]

        if not self._database.repeat(take):
            return False
        self._held[name] = holder
        return True

    def let_go(self, name: str) -> None:
        """Release the lock, if this process has it."""
        holder = self._held.pop(name, None)
        if holder is not None:
            release = "DELETE FROM locks WHERE name = :name AND holder = :holder"
            self._lease.run_soon(release, name=name, holder=holder)


_STARTS: Final = """SELECT extract(epoch FROM starts - clock_timestamp())::float8 FROM starts WHERE name = :name
    ORDER BY starts DESC LIMIT 1 OFFSET :most - 1"""
_RESERVE: Final = """INSERT INTO starts(name, starts, ends)
    SELECT :name, at, at + CAST(:seconds AS float8) * interval '1 second'
    FROM (SELECT clock_timestamp() + CAST(:delay AS float8) * interval '1 second' AS at) AS now RETURNING number"""


class RatesInPostgres:
    """Start times of the steps that share a rate, by the database's clock."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def reserve(self, name: str, most: int, seconds: float, patience: float | None) -> tuple[int | None, float]:
        """Reserve the next possible start; return its number, and in how many seconds it comes.

        The number is None, and nothing is reserved, if it does not come within `patience` seconds.
        """

        def reserve(run: Statements, _: bool) -> tuple[int | None, float]:
            run("SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))", name=f"rate {name}")
            run("DELETE FROM starts WHERE name = :name AND ends < clock_timestamp()", name=name)
            found = run(_STARTS, name=name, most=most)
            delay = max(found[0][0] + seconds, 0.0) if found else 0.0
            if patience is not None and delay > patience:
                return None, delay
            ((number,),) = run(_RESERVE, name=name, seconds=seconds, delay=delay)
            return number, delay

        return self._database.repeat(reserve, together=True)

    def give_back(self, number: int) -> None:
        """Release a reserved start."""
        self._database.run("DELETE FROM starts WHERE number = :number", number=number)


_MAKE: Final = """INSERT INTO reservations(run, step, item, amount) VALUES (:run, :step, :item, :amount)
    ON CONFLICT DO NOTHING"""
_EARLIER: Final = """SELECT run, item, amount, step FROM reservations WHERE run <> :run AND item = ANY(:items)
    AND number < (SELECT min(number) FROM reservations WHERE run = :run AND step = :step) ORDER BY number"""


class ReservationsInPostgres:
    """What steps have reserved of numbers that runs share; reservations are no events."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def reserve(self, run: str, step: str, amounts: Mapping[str, Exact]) -> list[Reservation]:
        """Reserve `amounts` by item for a step, once; return the earlier reservations of other runs on these items."""

        def reserve(execute: Statements, _: bool) -> list[list[str]]:
            if not execute("SELECT 1 FROM reservations WHERE run = :run AND step = :step LIMIT 1", run=run, step=step):
                execute("SELECT pg_advisory_xact_lock(hashtextextended('reservations', 0))")  # numbers in their order
                for item, amount in amounts.items():
                    execute(_MAKE, run=run, step=step, item=item, amount=str(Fraction(amount)))
            return execute(_EARLIER, run=run, step=step, items=list(amounts))

        earlier = self._database.repeat(reserve, together=True)
        return [Reservation(other, item, read_amount(text), its_step) for other, item, text, its_step in earlier]

    def release(self, run: str, step: str) -> None:
        """Release what a step has reserved."""
        self._database.run("DELETE FROM reservations WHERE run = :run AND step = :step", run=run, step=step)

    def keep(self, run: str, steps: Collection[str]) -> None:
        """Release what other steps of `run` than these have reserved."""
        statement = "DELETE FROM reservations WHERE run = :run AND NOT step = ANY(:steps)"
        self._database.run(statement, run=run, steps=list(steps))


_POST: Final = """INSERT INTO posted_answers VALUES (:run, :question, :shown, :answer, :time, '')
    ON CONFLICT (run, question) DO UPDATE
    SET shown = :shown, answer = :answer, time = :time, objection = ''"""
_REFUSE: Final = """UPDATE posted_answers SET objection = :objection
    WHERE run = :run AND question = :question AND time = CAST(:time AS float8)"""
_REMOVE: Final = """DELETE FROM posted_answers
    WHERE run = :run AND question = :question AND time = CAST(:time AS float8)"""


class PostedAnswersInPostgres:
    """Answers that people have posted to runs, and that no driver has taken yet; they are no events."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def post(self, run: str, question: str, shown: str, answer: str) -> None:
        """Keep an answer in place of an earlier one to the same question."""
        now = self._database.clock.time()
        self._database.run(_POST, run=run, question=question, shown=shown, answer=answer, time=now)

    def read(self, run: str) -> list[PostedAnswer]:
        """Return the answers posted to `run`, refused ones too, the oldest first."""
        statement = "SELECT question, shown, answer, time, objection FROM posted_answers WHERE run = :run ORDER BY time"
        return [PostedAnswer(*row) for row in self._database.run(statement, run=run)]

    def runs(self) -> set[str]:
        """Return the runs to which answers were posted that nobody has taken or refused."""
        found = self._database.run("SELECT DISTINCT run FROM posted_answers WHERE objection = ''")
        return {run for (run,) in found}

    def refuse(self, run: str, posted: PostedAnswer, objection: str) -> None:
        """Keep the objection to an answer, unless another one was posted meanwhile."""
        values = {"run": run, "question": posted.question, "time": posted.time, "objection": objection}
        self._database.run(_REFUSE, **values)

    def remove(self, run: str, posted: PostedAnswer) -> None:
        """Delete an answer that was taken, unless another one was posted meanwhile."""
        self._database.run(_REMOVE, run=run, question=posted.question, time=posted.time)
