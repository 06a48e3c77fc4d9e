"""What handlers, memories and plans are given is kept as it was: nothing is gone through twice."""

import io
import itertools

import pytest
from pydantic import ValidationError

from executor import ActionPlan, Executor, RunExists, World
from executor.plans.action_plan import PlanStep
from executor.testing import run_virtual
from executor.tools.context import Memory
from executor.tools.isolated_values import replace_iterators
from planner import Domain, InputError


def numbers():
    return (each for each in range(3))


@pytest.mark.parametrize(
    ("make", "kept"),
    [
        (lambda: {"rows": numbers()}, {"rows": [0, 1, 2]}),
        (lambda: [("a", map(str, [1])), zip("a", "b", strict=True)], [("a", ["1"]), [("a", "b")]]),
        (lambda: iter([numbers(), reversed([1, 2])]), [[0, 1, 2], [2, 1]]),
        (lambda: itertools.chain([1], [2]), [1, 2]),
    ],
)
def test_iterators_become_lists(make, kept):
    assert replace_iterators(make()) == kept


def test_an_iterator_that_stands_twice_is_the_same_list_twice():
    each = numbers()
    assert replace_iterators({"a": each, "b": [each]}) == {"a": [0, 1, 2], "b": [[0, 1, 2]]}


def test_what_has_no_iterators_stays_the_same_object():
    round_about = [io.StringIO("text"), {"a": (1, 2)}]
    round_about.append(round_about)
    deep = []
    for _ in range(100_000):
        deep = [deep]
    for value in (round_about, deep, "text", range(3)):
        assert replace_iterators(value) is value


def test_an_iterator_without_end_is_refused(monkeypatch):
    monkeypatch.setattr("executor.tools.isolated_values.MOST", 10)
    with pytest.raises(InputError, match="gives more than 10"):
        replace_iterators({"a": itertools.count()})


def one(handler):
    domain = Domain("one")
    domain.action("do", {}, provides=["done"], tags=["trusted"])
    world = World(domain)
    world.handler("do")(handler)
    return world, domain.problem(goal=["done"])


def test_the_journal_and_the_run_have_the_same_data(tmp_path):
    world, problem = one(lambda: {"success": True, "data": {"rows": numbers()}, "values": {"all": numbers()}})
    for journal in (None, tmp_path / "runs.db"):
        executor = Executor(world, journal=journal)
        outcome = run_virtual(executor.run(problem, run="r", memory={"given": numbers()}))
        states = [outcome.state] if journal is None else [outcome.state, executor.state_of("r")]
        for state in states:
            assert state.steps["s1"].result["data"] == {"rows": [0, 1, 2]}
            assert (state.memory.get("all"), state.memory.get("given")) == ([0, 1, 2], [0, 1, 2])


def test_memory_keeps_what_an_iterator_gives():
    memory, told = Memory(), []
    memory.listen(lambda key, value, _: (told.append(list(value)), memory.restore(key, value)))
    memory.set("a", numbers())
    assert (told, memory.get("a")) == ([[0, 1, 2]], [0, 1, 2])


def test_an_id_is_that_of_one_run(tmp_path):
    world, problem = one(lambda: None)

    async def twice(journal):
        executor = Executor(world, journal=journal)
        first = executor.start(problem, run="r")
        try:
            executor.start(problem, run="r", join=False)
        finally:
            await first

    for journal in (None, tmp_path / "runs.db"):
        with pytest.raises(RunExists, match="there is already a run 'r'"):
            run_virtual(twice(journal))


@pytest.mark.parametrize("value", [object(), {"a": [object()]}, lambda: 0])
def test_a_plan_is_made_of_what_can_be_kept(value):
    with pytest.raises(ValidationError, match="expected data that JSON can hold"):
        PlanStep(id="s1", action="do", parameters={"x": value})


def test_a_plan_keeps_what_an_iterator_gives():
    plan = ActionPlan(steps=(PlanStep(id="s1", action="do", parameters={"x": numbers()}),))
    assert [plan.model_dump(mode="json")["steps"][0]["parameters"] for _ in range(2)] == [{"x": [0, 1, 2]}] * 2
