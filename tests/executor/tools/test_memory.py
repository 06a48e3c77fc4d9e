"""The history of working memory: each change has its time and its step, also after a restart and in older journals."""

import json

import pytest

from executor import ActionResult, Executor, Journal, Memory, MemoryChange, RunStatus, World
from executor.events.events import MemoryDropped
from executor.testing import run_virtual
from planner import Domain
from planner.errors import InputError


def office(*, is_killed=False):
    """Return a world whose first step sets a value, and returns it once more, and whose second step reads it."""
    domain = Domain("office")
    domain.action("count", provides=["counted"], tags=["trusted"])
    domain.action("tell", requires=["counted"], provides=["told"], tags=["trusted", "idempotent"])
    world, read = World(domain), []

    @world.handler("count")
    def count(context):
        context.memory.set("number", 2, relevance=1)
        return ActionResult(values={"number": 3})

    @world.handler("tell")
    async def tell(context):
        if is_killed:
            raise KeyboardInterrupt
        read.append(context.memory.history("number"))
        context.memory.merge({"said": [3]})

    return world, domain.problem(goal=["told"]), read


def times(path, run="r"):
    """Return the times of the events of a run that change memory, by kind and step, as its journal has them."""
    with Journal(path) as journal:
        return {(each.kind, json.loads(each.data).get("step")): each.time for each in journal.read(run)}


@pytest.mark.parametrize("is_killed", [False, True])
def test_each_change_has_its_time_and_its_step(tmp_path, is_killed):
    path = tmp_path / "runs.db"
    world, problem, read = office(is_killed=is_killed)
    executor = Executor(world, journal=path)
    if is_killed:
        with pytest.raises(KeyboardInterrupt):
            run_virtual(executor.run(problem, run="r", memory={"number": 1}))
        executor.journal.close()
        world, _, read = office()
        outcome = run_virtual(Executor(world, journal=path).resume("r"))
    else:
        outcome = run_virtual(executor.run(problem, run="r", memory={"number": 1}))
    assert outcome.status is RunStatus.SUCCEEDED
    at = times(path)
    assert read == [outcome.state.memory.history("number")]
    assert read[0] == (
        MemoryChange(1, at["RunStarted", None]),
        MemoryChange(2, at["MemorySet", "s1"], "s1"),
        MemoryChange(3, at["StepEnded", "s1"], "s1"),
    )
    assert outcome.state.memory.history("said") == (MemoryChange([3], at["MemorySet", "s2"], "s2"),)
    first = outcome.steps[0]
    assert first.started <= read[0][1].at <= read[0][2].at == first.ended
    again = Executor(office()[0], journal=path).state_of("r")
    assert again.memory.history("number") == read[0]


def test_without_a_journal_a_run_that_is_taken_up_keeps_the_times():
    world, problem, _ = office()
    executor = Executor(world)

    async def main():
        run = executor.start(problem, run="r", memory={"number": 1})
        run.interrupt()
        first = await run
        before = first.state.memory.history("number")
        assert (await executor.resume("r")).status is RunStatus.SUCCEEDED
        return before

    before = run_virtual(main())
    assert [(each.value, each.step) for each in before] == [(1, "")]
    assert before[0].at > 0


def test_a_journal_of_an_older_version_is_read(tmp_path):
    world, problem, _ = office()
    run_virtual(Executor(world, journal=tmp_path / "new.db").run(problem, run="r", memory={"number": 1}))
    with Journal(tmp_path / "new.db") as new, Journal(tmp_path / "old.db") as old:
        old.create("r")
        with old.drive("r"):
            for each in new.read("r"):
                data = json.loads(each.data)
                if each.kind == "MemorySet":
                    del data["step"]
                old.append("r", each.kind, json.dumps(data))
    history = Executor(office()[0], journal=tmp_path / "old.db").state_of("r").memory.history("number")
    assert [(each.value, each.step) for each in history] == [(1, ""), (2, ""), (3, "s1")]
    assert all(each.at > 0 for each in history)


def test_a_memory_of_no_run_has_no_times():
    memory = Memory()
    memory.of_step("s1").set("number", [1])
    memory.set("number", [2])
    assert memory.history("number") == (MemoryChange([1], None, "s1"), MemoryChange([2]))
    memory.history("number")[0].value.append(3)
    assert memory.history("number")[0].value == [1]
    memory.set("number", None)
    assert (memory.history("number"), "number" in memory) == ((), False)


def make_pad(pieces, **more):
    """Return a world whose steps leave an entry each in working memory, and a problem of so many steps."""
    domain = Domain("pad", types=["page"])
    domain.action("write", {"page": "page"}, provides=["written(page)"], tags=["trusted"])
    domain.action("sum_up", {"total": int}, provides=["summed"], tags=["trusted"])
    world, sums = World(domain), []
    world.handler("write")(lambda page: ActionResult(values={f"about {page}": 1, **more}))
    world.handler("sum_up")(lambda total: sums.append(total))  # noqa: PLW0108 - its parameter has a name
    pages = {f"p{number}": "page" for number in range(pieces)}
    return world, domain.problem(objects=pages, goal=[*(f"written({each})" for each in pages), "summed"]), sums


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_full_memory_says_what_it_dropped_and_keeps_what_a_later_step_needs(is_kept, tmp_path, caplog):
    world, problem, sums = make_pad(6)
    heard = []
    executor = Executor(world, tmp_path / "runs.db" if is_kept else None, capacity=3, listeners=(heard.append,))
    outcome = run_virtual(executor.run(problem, run="r", memory={"total": 7}))
    assert (outcome.status, sums) == (RunStatus.SUCCEEDED, [7])
    memory = outcome.state.memory
    gone = [key for event in heard if isinstance(event, MemoryDropped) for key in event.keys]
    assert gone == [f"about p{number}" for number in range(4)]
    assert list(memory.dropped) == gone
    assert memory.to_dict() == {"total": 7, "about p4": 1, "about p5": 1}
    assert "about p0" in caplog.text
    assert "capacity=3" in caplog.text
    if is_kept:
        again = Executor(world, tmp_path / "runs.db", capacity=1).state_of("r").memory
        assert (again.to_dict(), again.dropped) == (memory.to_dict(), memory.dropped)


def test_a_memory_that_has_only_what_is_needed_grows_beyond_its_capacity():
    world, problem, sums = make_pad(1)
    outcome = run_virtual(Executor(world, capacity=1).run(problem, memory={"total": 7}))
    assert (outcome.status, sums) == (RunStatus.SUCCEEDED, [7])
    assert outcome.state.memory.to_dict() == {"total": 7, "about p0": 1}


def test_what_the_handler_of_a_later_step_names_is_kept():
    domain = Domain("pad")
    domain.action("first", provides=["first"], tags=["trusted"])
    domain.action("second", requires=["first"], provides=["second"], tags=["trusted"])
    world, read = World(domain), []
    world.handler("first")(lambda: ActionResult(values={"wanted": 1, "other": 2, "last": 3}))
    world.handler("second")(lambda context: read.append(context.memory.get("wanted")))
    outcome = run_virtual(Executor(world, capacity=2).run(domain.problem(goal=["second"])))
    assert (outcome.status, read) == (RunStatus.SUCCEEDED, [1])
    assert list(outcome.state.memory.dropped) == ["other"]


def test_more_values_than_there_is_room_for_are_refused():
    world, problem, _ = make_pad(1)
    with pytest.raises(InputError, match="has room for 1 entries, and is given 2"):
        run_virtual(Executor(world, capacity=1).run(problem, memory={"total": 7, "more": 8}))
