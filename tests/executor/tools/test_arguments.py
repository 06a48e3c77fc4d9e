"""What authors give worlds, policies and handlers is refused where they give it, if it means nothing."""

# ruff: noqa: ARG001, ARG005 - functions take what actions have, whether they need it or not

import asyncio
import logging

import pytest

from executor import ExecutionPolicy, Executor, Recovery, Rung, RunStatus, StepStatus, Wait, World
from executor.plan_check.check_plan import check_plan
from executor.plan_check.read_plan import read_plan
from planner import Domain
from planner.errors import InputError


def lamps(**more):
    domain = Domain("lamps", types=["lamp"])
    domain.action("light", {"lamp": "lamp"}, provides=["on(lamp)"], tags=["read_only"], **more)
    domain.action("dim", {"lamp": "lamp"}, provides=["not on(lamp)"])
    return domain


def light(lamp):
    """Do what the action does."""


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"rate": ("a", "b")}, "most of a Rate must be a positive number of steps, got 'a'"),
        ({"rate": 5}, "rate must be a Rate, or (how many, in how many seconds), got 5"),
        ({"rate": (1,)}, "rate must be"),
        ({"rate": (0, 1)}, "most of a Rate must be"),
        ({"rate": (1, 0)}, "seconds of a Rate must be"),
        ({"lock": "o"}, "lock must be True, or a tuple of parameters, got 'o'; write ('o',)"),
        ({"lock": ["a", "b"]}, "write ('a', 'b',)"),
        ({"lock": (1,)}, "lock must be"),
        ({"retries": True}, "retries must be a number of further attempts, got True"),
        ({"retries": -1}, "retries must be"),
        ({"timeout": True}, "timeout must be a number of seconds, got True"),
        ({"timeout": float("inf")}, "timeout must be a number of seconds, got inf; leave it out"),
        ({"timeout": float("nan")}, "timeout must be"),
        ({"backoff": -1}, "backoff must be"),
        ({"longest": "9"}, "longest must be"),
        ({"jitter": None}, "jitter must be"),
        ({"cache_for": None}, "cache_for must be"),
        ({"retry_on": "x"}, "retry_on must be a tuple of exception types, or a function, got 'x'; such as"),
        ({"retry_on": int}, "retry_on must be a tuple of exception types, or a function"),
        ({"retry_on": (KeyError, 5)}, "retry_on must be"),
        ({"retry_on": ()}, "retry_on must be"),
        ({"on_error": "patsch"}, "on_error must be one of abort, continue, patch, got 'patsch'; did you mean 'patch'?"),
        ({"skills": "in ordre"}, "did you mean 'in order'?"),
    ],
    ids=str,
)
def test_policies_that_mean_nothing_are_refused(fields, message):
    with pytest.raises(InputError) as error:
        ExecutionPolicy(**fields)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"rungs": ("compensate",)}, "got 'compensate'; did you mean 'Rung.COMPENSATE'?"),
        ({"rungs": "patch"}, "got 'patch'; did you mean 'Rung.PATCH'?"),
        ({"rungs": (Rung.RETRY,)}, "rungs must be a tuple of rungs after retries"),
        ({"weight": -5}, "weight must be a number, 0 or more, got -5"),
        ({"weight": "1"}, "weight must be"),
        ({"time_limit": 0}, "time_limit must be a number of seconds above 0, got 0"),
        ({"most_patches": 1.5}, "most_patches must be a number"),
        ({"leave_tasks": "yes"}, "leave_tasks must be True or False"),
    ],
    ids=str,
)
def test_ways_to_recover_that_mean_nothing_are_refused(fields, message):
    with pytest.raises(InputError) as error:
        Recovery(**fields)
    assert message in str(error.value)


def test_one_rung_is_a_ladder():
    assert Recovery(rungs=Rung.PATCH).rungs == Recovery(rungs=[Rung.PATCH]).rungs == (Rung.PATCH,)


class Called:
    """An object that can be called."""

    def __call__(self, lamp):
        return lamp


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (
            lambda world: world.policy("light", {"timeout": 3}),
            "a policy must be an ExecutionPolicy, got {'timeout': 3}",
        ),
        (lambda world: world.handler("light", policy={"timeout": 3})(light), "a policy must be an ExecutionPolicy"),
        (
            lambda world: world.policy("light", ExecutionPolicy(lock=("lmap",))),
            "light(lamp) has no parameter 'lmap' to lock; did",
        ),
        (lambda world: world.policy("dim", ExecutionPolicy(cache_for=5)), "dim is not tagged read_only"),
        (lambda world: world.handler(light), "@world.handler takes the name of an action; @world.handler('move')"),
        (lambda world: world.handler("light")(5), "5 is no function whose parameters are known"),
        (lambda world: world.check(light), "@world.check takes the name of an action"),
        (lambda world: world.check("light")(5), "5 is no function whose parameters are known"),
        (lambda world: world.check("light")(dict), "no function whose parameters are known"),
        (
            lambda world: world.check("light")(lambda lmap: True),
            "takes 'lmap', which the action does not have; did you",
        ),
        (lambda world: world.check("light")(lambda lamp, /: True), "takes 'lamp' by position only"),
        (
            lambda world: world.observer(light),
            "@world.observer takes patterns of facts; @world.observer('at(robot, _)')",
        ),
        (lambda world: world.observer("on(_)")(5), "5 is no function"),
        (lambda world: world.observer("on(_)", settle_within=-1), "settle_within must be a number of seconds, got -1"),
        (
            lambda world: world.observer("on(_)", timeout=-1),
            "timeout must be a number of seconds above 0, or None, got -1",
        ),
        (lambda world: world.observer("on(_)", timeout=0), "timeout must be a number of seconds above 0"),
        (lambda world: World("courier"), "expected a domain, got a str"),
        (
            lambda world: Wait(deadline=1795971483.5),
            "deadline of a Wait must be a number of seconds, got 1795971483.5; the time is counted from now",
        ),
        (lambda world: Wait(seconds=1e9), "seconds of a Wait must be a number of seconds"),
        (lambda world: Wait(deadline=-1), "deadline of a Wait must be a number of seconds, got -1"),
        (lambda world: Wait(choices="yes"), "choices must be a tuple of texts, got 'yes'; write ('yes',)"),
        (lambda world: Wait(choices=(1, 2)), "choices must be a tuple of texts"),
        (lambda world: check_plan(None, "lamps"), "expected a domain, got a str"),
    ],
)
def test_what_means_nothing_to_a_world_is_refused(declare, message):
    with pytest.raises(InputError) as error:
        declare(World(lamps()))
    assert message in str(error.value)


def test_what_is_right_is_taken():
    domain = lamps()

    @domain.action(provides=["told"])
    def tell(text: str):
        """Tell somebody."""

    world = World(domain)
    world.policy("tell", ExecutionPolicy(lock=("text",), timeout=3, retry_on=(OSError,)))
    world.policy("light", ExecutionPolicy(cache_for=5, lock=True))
    for check in (lambda: None, lambda lamp: True, lambda lamp, more=1: True, lambda **all_: None, Called()):
        world.check("light")(check)


@pytest.mark.parametrize(
    ("retry_on", "calls"),
    [
        (KeyError, 1),
        (OSError, 3),
        ((KeyError,), 1),
        ((KeyError, OSError), 3),
        (lambda failure: isinstance(failure, OSError), 3),
        (lambda failure: False, 1),
        (lambda failure: failure.nothing, 1),
        (lambda: True, 1),
    ],
)
def test_what_is_tried_again_is_what_was_named(retry_on, calls, caplog):
    """A function that raises says no, and the run tells of the failure as ever."""
    domain, called = lamps(), []
    world = World(domain)

    @world.handler("light", policy=ExecutionPolicy(retry_on=retry_on, retries=2, backoff=0, jitter=0))
    def flicker(lamp):
        called.append(lamp)
        raise OSError("no current")

    with caplog.at_level(logging.CRITICAL):
        problem = domain.problem(objects={"desk": "lamp"}, goal=["on(desk)"])
        outcome = asyncio.run(Executor(world, recovery=Recovery(rungs=())).run(problem))
    assert (outcome.status, len(called)) == (RunStatus.FAILED, calls)
    assert outcome.steps[0].reason == "OSError: no current"


@pytest.mark.parametrize("fraction", ["half", 50, -0.1, float("nan")])
def test_progress_is_a_fraction(fraction):
    domain = lamps()
    world = World(domain)

    @world.handler("light", policy=ExecutionPolicy(retries=0))
    def slowly(lamp, context):
        context.progress("begun", 0.5)
        context.progress(7)
        context.progress("much", fraction)

    heard = []
    problem = domain.problem(objects={"desk": "lamp"}, goal=["on(desk)"])
    outcome = asyncio.run(Executor(world, listeners=(heard.append,)).run(problem))
    assert outcome.steps[0].status is StepStatus.FAILED
    assert f"the fraction of progress must be between 0 and 1, got {fraction!r}" in outcome.steps[0].reason
    told = [(each.text, each.fraction) for each in heard if type(each).__name__ == "StepProgress"]
    assert told == [("begun", 0.5), ("7", None)]


@pytest.mark.parametrize("what", [lamps(), lamps().model, World(lamps())], ids=["Domain", "model", "World"])
def test_a_plan_is_checked_against_whatever_is_a_domain(what):
    plan, findings = read_plan({"steps": [{"id": "a", "action": "dimm", "arguments": {"lamp": "desk"}}]}, what)
    assert plan is not None
    assert "did you mean 'dim'?" in str(findings[0])


@pytest.mark.parametrize(("source", "message"), [("", "the text is empty"), (" \n", "empty"), (5, "an int is no plan")])
def test_what_is_no_plan_is_told(source, message):
    plan, findings = read_plan(source, lamps())
    assert (plan, len(findings)) == (None, 1)
    assert message in str(findings[0])
