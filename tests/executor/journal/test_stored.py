"""Goals and plans are kept and listed, and the list says what has become of them, also while runs go."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3

import pytest

from executor import ActionPlan, Executor, RunStatus, StepStatus, Wait, World
from executor.errors import DamagedError, RunError
from executor.events.events import RunStarted, event_to_data
from executor.events.stored_runs import load_runs
from executor.journal import Journal
from executor.plans.action_plan import Goals
from executor.tools.json_data import dump_json
from planner import Domain


def world(handler=lambda: None, sees=True):
    domain = Domain("one")
    domain.action("do", {}, provides=["done"])
    found = World(domain)
    found.handler("do")(handler)
    found.observer("done", conclusive=True)(lambda: sees)
    return found


def plan(id_="p1", **fields):
    return ActionPlan(id=id_, goal=["done"], steps=[{"id": "s1", "action": "do"}], **fields)


def statuses(executor):
    return {name: each.status for name, each in executor.plans().items()}


def test_what_was_saved_is_listed_as_it_was_saved_last(place):
    executor = Executor(world(), place)
    executor.save_plan(plan("p1", name="first"))
    executor.save_plan(plan("p2"))
    executor.save_plan(plan("p1", name="better"))
    executor.save_goal("tidy", Goals(hard=["done"], soft={"done": 2}))
    again = Executor(world(), place)
    assert again.plans() == {"p1": plan("p1", name="better"), "p2": plan("p2")}
    assert again.goals() == {"tidy": Goals(hard=("done",), soft={"done": 2})}
    assert again.runs() == {}


@pytest.mark.parametrize(
    ("sees", "handler", "status"),
    [(True, lambda: None, "completed"), (False, lambda: False, "abandoned"), (True, lambda: Wait("for it"), "active")],
)
@pytest.mark.parametrize("saved", [True, False])
def test_a_plan_is_what_its_run_has_made_of_it(place, sees, handler, status, saved):
    executor = Executor(world(handler, sees), place)
    if saved:
        executor.save_plan(plan())
        assert statuses(executor) == {"p1": "proposed"}
    outcome = asyncio.run(executor.run(plan(), run="r1"))
    assert statuses(executor) == {"p1": status}
    info = Executor(world(), place).runs()["r1"]
    assert (info.plan, info.status) == ("p1", outcome.status)
    assert info.created <= info.updated


def test_the_latest_word_counts_but_a_run_that_is_not_over_counts_most(place):
    executor = Executor(world(), place)
    asyncio.run(executor.run(plan(), run="r1"))
    executor.save_plan(plan(status="abandoned"))
    assert statuses(executor) == {"p1": "abandoned"}
    asyncio.run(executor.run(plan(), run="r2"))
    assert statuses(executor) == {"p1": "completed"}
    waits = Executor(world(lambda: Wait("for it")), place)
    asyncio.run(waits.run(plan(), run="r3"))
    asyncio.run(executor.run(plan(), run="r4"))
    executor.save_plan(plan(status="proposed"))
    assert statuses(executor) == {"p1": "active"}
    asyncio.run(executor.resume("r3", results={"s1": True}))
    assert statuses(executor) == {"p1": "completed"}


def test_statuses_are_read_while_a_run_goes(place):
    async def followed():
        begun, may_end = asyncio.Event(), asyncio.Event()

        async def handler():
            begun.set()
            await may_end.wait()

        executor, other = Executor(world(handler), place), Executor(world(), place)
        run = executor.start(plan(), run="r1")
        assert executor.runs()["r1"].status is RunStatus.PROPOSED
        await begun.wait()
        assert executor.state_of("r1") is run.state
        for state in (run.state, other.state_of("r1")):
            assert (state.status, state.steps["s1"].status) == (RunStatus.ACTIVE, StepStatus.RUNNING)
        assert other.runs()["r1"].status is RunStatus.ACTIVE
        assert statuses(other) == {"p1": "active"}
        may_end.set()
        assert (await run).status is RunStatus.SUCCEEDED
        assert other.state_of("r1").steps["s1"].status is StepStatus.SUCCEEDED

    asyncio.run(followed())


def test_runs_are_listed_without_reading_them_one_by_one(journal, monkeypatch):
    names = [f"r{number}" for number in range(150)] + ['a "quoted" run', "gone", "waits to begin", "log:of something"]
    for name in names:
        journal.create(name)
        if name != "waits to begin":
            with journal.drive(name):
                started = RunStarted(name, plan(f"p of {name}").model_dump(mode="json"), "sequential", {})
                journal.append(name, "RunStarted", dump_json(event_to_data(started)), status="ACTIVE")
                journal.extend(name, [("Step", "{}", None), ("RunEnded", "{}", "FAILED")])
    journal.delete("gone")
    with journal.drive("r7"):
        journal.set_move("r7", "to elsewhere")
    monkeypatch.setattr(journal, "read", None)
    found = load_runs(journal)
    assert list(found) == [name for name in names if not name.startswith(("gone", "log:"))]
    assert {name: each.plan for name, each in found.items() if each.events} == {
        name: f"p of {name}" for name in found if name != "waits to begin"
    }
    assert {(each.events, each.status) for each in found.values()} == {(3, RunStatus.FAILED), (0, RunStatus.PROPOSED)}
    assert [name for name, each in found.items() if each.move] == ["r7"]


def test_a_file_lists_many_runs_with_few_statements(tmp_path):
    with Journal(tmp_path / "journal.db") as journal:
        for number in range(200):
            journal.create(f"r{number}")
        statements = []
        journal._store.connection.set_trace_callback(statements.append)
        assert len(load_runs(journal)) == 200
    assert len(statements) < 40, statements


def test_a_changed_first_event_is_not_listed(tmp_path):
    path = tmp_path / "journal.db"
    asyncio.run(Executor(world(), path).run(plan(), run="r1"))
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as file:
        trigger = file.execute("SELECT sql FROM sqlite_master WHERE name = 'events_stay'").fetchone()[0]
        file.execute("DROP TRIGGER events_stay")
        file.execute("""UPDATE events SET data = replace(data, '"p1"', '"p2"') WHERE seq = 1""")
        file.execute(trigger)
    with Journal(path) as journal, pytest.raises(DamagedError, match="event 1 of run 'r1' is missing or changed"):
        load_runs(journal)


@pytest.mark.parametrize(
    "asked",
    [
        lambda executor: executor.runs(),
        lambda executor: executor.plans(),
        lambda executor: executor.goals(),
        lambda executor: executor.save_plan(plan()),
        lambda executor: executor.save_goal("g", Goals()),
        lambda executor: executor.state_of("r1"),
        lambda executor: asyncio.run(executor.resume("r1")),
    ],
)
def test_what_is_kept_in_a_journal_needs_one(asked):
    with pytest.raises(RunError, match=r"Executor\(world, 'runs.db'\)"):
        asked(Executor(world()))
