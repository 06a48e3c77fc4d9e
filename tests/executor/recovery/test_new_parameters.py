"""A new version of the domain gives an action a data parameter: a run of the old one asks for its value."""

import pytest

from executor import ActionResult, Context, Executor, RunStatus, StepStatus, Wait, World
from executor.events.events import StepEnded
from executor.testing import run_virtual
from planner import Domain

MODELS = ("sequential", "parallel", "dag", "reactive")


def trips(data, *, tags=()):
    """Return a world in which somebody books, waits, and pays with `data`, a problem, and the payments."""
    domain, paid = Domain("trips"), []
    domain.action("book", provides=["booked"], tags=["trusted"])
    domain.action("pay", data, requires=["booked"], provides=["paid"], tags=[*tags])
    world = World(domain)
    world.handler("book")(lambda: Wait(event="confirmed"))
    world.handler("pay")(lambda **values: paid.append(values))
    world.observer("paid", conclusive=True, settle_within=0)(lambda: bool(paid))
    return world, domain.problem(goal=["paid"]), paid


@pytest.mark.parametrize("tags", [(), ("irreversible",)])
@pytest.mark.parametrize("model", MODELS)
def test_a_new_parameter_without_a_value_is_asked_for(tmp_path, model, tags):
    old, problem, _ = trips({}, tags=tags)
    place = tmp_path / "runs.db"
    first = run_virtual(Executor(old, journal=place, model=model).run(problem, run="r"))
    assert first.status is RunStatus.WAITING
    world, _, paid = trips({"amount": int}, tags=tags)
    executor = Executor(world, journal=place, model=model)
    waiting = run_virtual(executor.resume("r", results={"s1": ActionResult()}))
    assert waiting.status is RunStatus.WAITING, waiting.reason
    (question,) = waiting.questions
    assert question.question == "fill:s2"
    assert "amount" in question.text
    assert paid == []
    done = run_virtual(executor.resume("r", answers={"fill:s2": {"amount": "12"}}))
    assert done.status is RunStatus.SUCCEEDED, done.reason
    assert paid == [{"amount": 12}]


def test_what_does_not_fit_is_no_value():
    world, problem, paid = trips({"amount": int})
    world.handler("book", name="sure")(lambda: ActionResult(values={"amount": "a lot"}))
    world.skills["book"] = [each for each in world.skills["book"] if each.name == "sure"]
    outcome = run_virtual(Executor(world).run(problem))
    assert outcome.status is RunStatus.FAILED
    assert paid == []
    assert outcome.steps[1].status is StepStatus.SKIPPED


@pytest.mark.parametrize("model", MODELS)
def test_a_value_that_no_earlier_step_left_is_asked_for_after_a_restart(tmp_path, model):
    domain, paid = Domain("trips"), []
    domain.action("book", provides=["booked"], tags=["trusted"])
    domain.action("confirm", requires=["booked"], provides=["confirmed"], tags=["trusted"])
    domain.action("pay", {"amount": int}, requires=["confirmed"], provides=["paid"], tags=["irreversible"])
    world = World(domain)
    world.handler("confirm")(ActionResult)

    @world.handler("book")
    def book(context: Context) -> None:
        assert context.memory is not None  # an amount may be left here, and is not

    world.handler("pay")(lambda **values: paid.append(values))
    world.observer("paid", conclusive=True, settle_within=0)(lambda: bool(paid))
    problem, place = domain.problem(goal=["paid"]), tmp_path / "runs.db"

    async def begin():
        run = Executor(world, journal=place, model=model).start(problem, run="r")
        async for event in run.events():
            if isinstance(event, StepEnded):
                run.interrupt()
        return await run

    assert run_virtual(begin()).status is RunStatus.WAITING
    waiting = run_virtual(Executor(world, journal=place, model=model).resume("r"))
    assert [each.question for each in waiting.questions] == ["fill:s3"], waiting.reason
    done = run_virtual(Executor(world, journal=place, model=model).resume("r", answers={"fill:s3": 12}))
    assert (done.status, paid) == (RunStatus.SUCCEEDED, [{"amount": 12}])
