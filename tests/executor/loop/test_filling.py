"""Open parameters are filled by whoever was named for it: once, kept, typed, in their order, or asked for."""

from __future__ import annotations

import asyncio
from typing import Annotated

import pytest

from executor import ActionPlan, ActionResult, Executor, RunStatus, World
from executor.events.events import ParametersFilled, StepStarted
from executor.loop.parameters import Fillings, FillRequest
from planner import FIXED, Domain, From, solve
from planner.errors import PlanError


def office(tags: tuple[str, ...] = ()) -> tuple[World, list]:
    domain, sent = Domain("office"), []
    domain.action("find", {}, provides=["found"])
    domain.action(
        "send",
        {"to": str, "subject": str, "copies": int, "body": Annotated[str, From("found", "data.text", approved=True)]},
        requires=["found"],
        provides=["sent"],
        tags=tags,
    )
    world = World(domain)
    world.handler("find")(lambda: ActionResult(data={"text": "news"}))
    world.handler("send")(lambda **given: sent.append(given))
    world.observer("found", conclusive=True)(lambda: True)
    world.observer("sent", conclusive=True)(lambda: bool(sent))
    return world, sent


def run(world: World, fill, **options):
    problem = Domain.of(world.model).problem(goal=["sent"])
    events: list = []
    executor = Executor(world, fill=fill, listeners=(events.append,), **options)
    return asyncio.run(executor.run(problem, memory={"subject": "hello"})), events


def filler(*answers):
    requests, left = [], list(answers)

    async def fill(request: FillRequest) -> Fillings:
        requests.append(request)
        return left.pop(0)

    return fill, requests


def test_a_plan_as_data_may_leave_open_what_somebody_fills() -> None:
    world, sent = office()
    plan = ActionPlan.of(solve(Domain.of(world.model).problem(goal=["sent"])))
    fill, _ = filler(Fillings({"to": "ada", "copies": 2, "subject": "hello"}))
    outcome = asyncio.run(Executor(world, fill=fill).run(plan))
    assert outcome.status is RunStatus.SUCCEEDED
    assert sent == [{"to": "ada", "subject": "hello", "copies": 2, "body": "news"}]
    with pytest.raises(PlanError, match="lacks a value for 'to'"):
        asyncio.run(Executor(world).run(plan))


def test_what_nothing_known_fills_is_asked_for_once_and_kept() -> None:
    world, sent = office()
    fill, requests = filler(Fillings({"to": "ada", "copies": 2, "subject": "other"}, "she asked for it"))
    outcome, events = run(world, fill)
    assert outcome.status is RunStatus.SUCCEEDED
    assert sent == [{"to": "ada", "subject": "hello", "copies": 2, "body": "news"}]
    (request,) = requests
    assert [each.name for each in request.parameters] == ["to", "copies"]
    assert request.values == {"subject": "hello", "body": "news"}
    (told,) = [each for each in events if isinstance(each, ParametersFilled)]
    assert (dict(told.values), told.thought) == ({"to": "ada", "copies": 2}, "she asked for it")
    started = [each for each in events if isinstance(each, StepStarted)][-1]
    assert started.sources == {"to": "filled", "copies": "filled", "subject": "memory", "body": "step s1"}


def test_a_value_of_another_type_never_reaches_the_handler() -> None:
    world, sent = office()
    outcome, _ = run(world, filler(Fillings({"to": "ada", "copies": "many"}))[0])
    assert outcome.status is not RunStatus.SUCCEEDED
    assert sent == []
    assert "'copies' cannot be 'many'" in outcome.state.steps["s2"].reason


def test_what_is_left_out_fails_the_step() -> None:
    world, sent = office()
    outcome, _ = run(world, filler(Fillings({"to": "ada"}))[0])
    assert "the parameter 'copies' of send() has no value" in outcome.state.steps["s2"].reason
    assert sent == []


def test_whoever_raises_fills_nothing() -> None:
    async def fill(_request: FillRequest) -> Fillings:
        raise RuntimeError("no idea")

    world, sent = office()
    outcome, _ = run(world, fill)
    assert "were not filled: RuntimeError: no idea" in outcome.state.steps["s2"].reason
    assert sent == []


def test_a_question_is_put_to_a_person_and_the_run_waits_for_the_answer(tmp_path) -> None:
    world, sent = office()
    fill, requests = filler(Fillings({}, question="To whom, and how many copies?"))
    journal = tmp_path / "runs.db"
    outcome, _ = run(world, fill, journal=journal)
    assert outcome.status is RunStatus.WAITING
    assert outcome.state.questions["fill:s2"].text == "To whom, and how many copies?"
    executor = Executor(world, journal=journal, fill=fill)
    answers = {"fill:s2": {"to": "ben", "copies": 1}}
    outcome = asyncio.run(executor.resume(outcome.run, answers=answers))
    assert outcome.status is RunStatus.SUCCEEDED
    assert sent == [{"to": "ben", "subject": "hello", "copies": 1, "body": "news"}]
    assert len(requests) == 1


@pytest.mark.parametrize(("marked", "waits"), [(True, True), (False, False)])
def test_values_from_tools_reach_an_irreversible_step_only_with_approval(*, marked: bool, waits: bool) -> None:
    world, sent = office(("irreversible", "needs_observed"))
    outcome, _ = run(world, filler(Fillings({"to": "mallory", "copies": 1}, marked=marked))[0])
    assert (outcome.status is RunStatus.WAITING) is waits
    assert bool(sent) is not waits
    if waits:
        question = outcome.state.questions["approve:s2"]
        assert 'to = "mallory" (a tool returned this)' in question.known


def test_fixed_parameters_are_not_asked_for() -> None:
    domain = Domain("fixed")
    domain.action("pay", {"account": Annotated[str, FIXED]}, provides=["paid"])
    world = World(domain)
    world.handler("pay")(lambda account: account)
    fill, requests = filler(Fillings({"account": "mine"}))
    with pytest.raises(PlanError, match="pay lacks a value for"):
        asyncio.run(Executor(world, fill=fill).run(domain.problem(goal=["paid"])))
    assert requests == []


def test_values_stay_the_same_in_all_attempts(tmp_path) -> None:
    domain, calls = Domain("again"), []
    domain.action("try_it", {"word": str}, provides=["done"], tags=["idempotent"])
    world = World(domain)

    @world.handler("try_it")
    async def try_it(word: str) -> bool:
        calls.append(word)
        return len(calls) > 1

    world.observer("done", conclusive=True)(lambda: len(calls) > 1)
    fill, requests = filler(Fillings({"word": "please"}), Fillings({"word": "now"}))
    outcome = asyncio.run(Executor(world, fill=fill, journal=tmp_path / "runs.db").run(domain.problem(goal=["done"])))
    assert outcome.status is RunStatus.SUCCEEDED
    assert calls == ["please", "please"]
    assert len(requests) == 1
