"""Handlers that ask for another plan, and that say what had better come next."""

import pytest

from executor import ActionResult, Executor, Rung, RunStatus, World
from executor.testing import run_virtual
from planner import Domain

MODELS = ("sequential", "parallel", "dag", "reactive")


def trip(first, *, walk=1, ride=1):
    """Return a world in which one goes to the shop, and then home by one of two ways; and what was done."""
    domain, done = Domain("trip"), []
    domain.action("go", {}, provides=["shop"])
    domain.action("call", {}, requires=["shop"], provides=["car"])
    domain.action("walk", {}, requires=["shop"], provides=["home"], cost=walk)
    domain.action("ride", {}, requires=["shop", "car"], provides=["home"], cost=ride)
    domain.action("tram", {}, requires=["shop"], provides=["home"], cost=walk)
    world = World(domain)

    def go(context):
        done.append("go")
        return first(context)

    world.handler("go")(go)
    for name in ("call", "walk", "ride", "tram"):
        world.handler(name)(lambda name=name: done.append(name))
    for fact, deeds in {"shop": {"go"}, "home": {"walk", "ride", "tram"}}.items():
        world.observer(fact, conclusive=True)(lambda deeds=deeds: not deeds.isdisjoint(done))
    return domain.problem(goal=["home"]), world, done


def asks(**result):
    def answer(context):
        context.request_replanning("things have changed")
        return ActionResult(**result)

    return answer


@pytest.mark.parametrize("model", MODELS)
def test_another_plan_is_made_from_what_is_believed_though_the_old_one_works(model):
    problem, world, done = trip(asks(observed=("car",)), walk=5)
    outcome = run_virtual(Executor(world, model=model).run(problem))
    assert outcome.status is RunStatus.SUCCEEDED
    assert done == ["go", "ride"]
    assert [each.rung for each in outcome.state.rungs] == [Rung.REPLAN]


@pytest.mark.parametrize("model", MODELS)
def test_a_plan_that_is_as_good_as_any_is_kept(model):
    problem, world, done = trip(asks(), walk=2)
    outcome = run_virtual(Executor(world, model=model).run(problem))
    assert outcome.status is RunStatus.SUCCEEDED
    assert len(done) == 2
    assert not [each for each in outcome.state.rungs if each.found]


@pytest.mark.parametrize("hint", ["walk", "tram", "walk()", "tram()"])
def test_of_plans_that_cost_the_same_one_begins_with_what_the_handler_suggests(hint):
    problem, world, done = trip(asks(next_actions=(hint,)))
    assert run_virtual(Executor(world).run(problem)).status is RunStatus.SUCCEEDED
    assert done == ["go", hint.removesuffix("()")]


@pytest.mark.parametrize("hint", ["call", "fly(", "go to the moon", "ride"])
def test_what_would_cost_more_or_means_nothing_is_not_done(hint):
    problem, world, done = trip(asks(next_actions=(hint,)))
    assert run_virtual(Executor(world).run(problem)).status is RunStatus.SUCCEEDED
    assert done in (["go", "walk"], ["go", "tram"])


def test_hints_alone_change_nothing():
    problem, world, done = trip(lambda _: None)
    plain = run_virtual(Executor(world).run(problem)).steps[-1].step.action
    other = {"walk": "tram", "tram": "walk"}[plain]
    problem, world, done = trip(lambda _: ActionResult(next_actions=(other,)))
    run_virtual(Executor(world).run(problem))
    assert done == ["go", plain]
