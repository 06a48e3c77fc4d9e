"""Answers to whether a step happened: they may carry its result, and say what it created."""

import json

import pytest

from executor import ActionResult, Executor, RunStatus, StepStatus, World
from executor.testing import run_virtual
from planner import Domain, Entity
from planner.errors import InputError


class Ticket(Entity): ...


def desk(*, killed=False):
    """Return a world in which a ticket is opened and answered, its problem, and what was done."""
    domain, done = Domain("desk"), []
    domain.action("open", provides=["opened(t)"], creates={"t": Ticket})
    domain.action("reply", {"t": Ticket}, requires=["opened(t)"], provides=["replied(t)"], tags=["trusted"])
    world = World(domain)

    @world.handler("open")
    async def open_() -> ActionResult:
        done.append("open")
        if killed:
            raise KeyboardInterrupt
        return ActionResult(created={"t": f"T-{len(done)}"})

    @world.handler("reply")
    def reply(t: Ticket) -> None:
        done.append(f"reply {t!r}")

    return world, domain.problem(objects=[Ticket("T-0")], goal="(exists (?t - Ticket) (replied ?t))"), done


def waiting(tmp_path):
    """Return an executor whose run was broken off inside a step that creates something, and what is done from then."""
    world, problem, done = desk(killed=True)
    with pytest.raises(KeyboardInterrupt):
        run_virtual(Executor(world, journal=tmp_path / "j").run(problem, run="x"))
    assert done == ["open"]
    world, _, done = desk()
    executor = Executor(world, journal=tmp_path / "j")
    outcome = run_virtual(executor.resume("x"))
    assert outcome.status is RunStatus.IN_DOUBT
    [question] = outcome.questions
    assert question.creates == ("t",)
    assert '{"created": {"t": …}}' in question.text
    return executor, question.question, done


ANSWERS = [
    ActionResult(created={"t": "T-9"}),
    ActionResult(created={"t": Ticket("T-9")}, values={"n": 1}),
    {"created": {"t": "T-9"}},
    {"success": True, "created": {"t": "T-9"}},
    json.dumps({"created": {"t": "T-9"}}),
]


@pytest.mark.parametrize("answer", ANSWERS, ids=str)
def test_an_answer_says_what_was_created(tmp_path, answer):
    executor, question, done = waiting(tmp_path)
    outcome = run_virtual(executor.resume("x", answers={question: answer}))
    assert done == ["reply Ticket('T-9')"]
    assert [each.status for each in outcome.steps] == [StepStatus.UNVERIFIED, StepStatus.SUCCEEDED]
    again = Executor(desk()[0], journal=tmp_path / "j").state_of("x")
    assert list(again.objects.created.values()) == ["T-9"]


@pytest.mark.parametrize("answer", ["it did not happen", False, {"success": False}, ActionResult.failed("no")], ids=str)
def test_what_did_not_happen_is_done_again(tmp_path, answer):
    executor, question, done = waiting(tmp_path)
    outcome = run_virtual(executor.resume("x", answers={question: answer}))
    assert done == ["open", "reply Ticket('T-1')"]
    assert outcome.status in {RunStatus.SUCCEEDED, RunStatus.UNVERIFIED}


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("it happened", '"created": {"t": …}'),
        (True, '"created": {"t": …}'),
        ({"created": {"u": "T-9"}}, '"created": {"t": …}'),
        ({"create": {"t": "T-9"}}, "no answer"),
        ("{created: t}", "no answer"),
        ({"created": {"t": "T-0"}}, "an object that was there before"),
        ({"created": {"t": ["no name"]}}, "with a name"),
        ("maybe", "no answer"),
    ],
    ids=str,
)
def test_an_answer_that_does_not_say_it_is_refused_and_the_run_stays_as_it_was(tmp_path, answer, message):
    executor, question, done = waiting(tmp_path)
    with pytest.raises(InputError) as refused:
        run_virtual(executor.resume("x", answers={question: answer}))
    assert message in str(refused.value)
    assert done == []
    outcome = run_virtual(executor.resume("x", answers={question: {"created": {"t": "T-9"}}}))
    assert done == ["reply Ticket('T-9')"]
    assert outcome.status in {RunStatus.SUCCEEDED, RunStatus.UNVERIFIED}


@pytest.mark.parametrize(
    ("answer", "is_taken"),
    [({"created": {"t": "T-9"}}, True), ({"created": {"t": "T-0"}}, False), (True, False), ("maybe", False)],
)
def test_a_callback_may_say_it_too_and_what_means_nothing_leaves_the_question_open(tmp_path, answer, is_taken):
    world, problem, done = desk(killed=True)
    with pytest.raises(KeyboardInterrupt):
        run_virtual(Executor(world, journal=tmp_path / "j").run(problem, run="x"))
    world, _, done = desk()
    outcome = run_virtual(Executor(world, journal=tmp_path / "j", ask=lambda _: answer).resume("x"))
    if is_taken:
        assert done == ["reply Ticket('T-9')"]
    else:
        assert (outcome.status, done) == (RunStatus.IN_DOUBT, [])
        assert len(outcome.questions) == 1
