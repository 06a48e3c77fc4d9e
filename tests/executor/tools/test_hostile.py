"""What others' values and exceptions do when they are touched ends no run: hostile values by where they come to."""

import asyncio
import logging
import signal
import time
from decimal import Decimal
from functools import partial
from typing import Annotated, Any

import numpy as np
import pytest
from pydantic import AfterValidator, BaseModel

from executor import ActionResult, ExecutionPolicy, Executor, Metrics, RunStatus, Wait, World, summary
from executor.loop.parameters import Fillings
from executor.tools.containment import describe_error, quote_value
from executor.tools.observers import Facts, Seen
from planner import Domain, InputError
from planner.cli.interrupt import interruptible
from planner.limits import LimitReached
from planner.plan import StoppedBy

METHODS = ("__bool__", "__len__", "__str__", "__repr__", "__eq__", "__iter__", "__getattr__", "__hash__", "__format__")


def hostile(*names, base=object, value=(), error=RuntimeError):
    """Return an instance of a subclass of `base` in which the methods `names` raise `error`."""

    def bad(*_, **__):
        raise LimitReached(StoppedBy.TIME) if error is LimitReached else error("no")

    found = dict.fromkeys(names, bad)
    if "__hash__" not in names:
        found["__hash__"] = base.__hash__ or object.__hash__
    return type("Hostile", (base,), found)(*value)


class Named:
    @property
    def name(self):
        raise RuntimeError("no")


class Classless:
    @property
    def __class__(self):
        raise RuntimeError("no")


class Model(BaseModel):
    text: str = "x"

    @property
    def success(self):
        raise RuntimeError("no")


def deep(levels=50_000):
    found: list[Any] = []
    for _ in range(levels):
        found = [found]
    return found


def circular():
    found: list[Any] = []
    found.append(found)
    return found


OBJECTS = {
    "array": np.arange(3),
    "array of one": np.array([1]),
    **{name: hostile(name) for name in METHODS},
    "all": hostile(*METHODS),
    "exit": hostile(*METHODS, error=SystemExit),
    "limit": hostile(*METHODS, error=LimitReached),
    "name": Named(),
    "class": Classless(),
    "model": Model(),
    "deep": deep(),
    "circular": circular(),
    "number": 10**6000,
    "not a number": Decimal("NaN"),
    "key": {hostile("__eq__", "__str__"): 1},
    "nested": {"a": [hostile(*METHODS, error=SystemExit), np.arange(2)]},
}
"""Values that a handler may return as data: there is nothing wrong with the step."""
SUBTYPES = {
    "text": hostile("__str__", "__repr__", "__eq__", "__len__", "__bool__", "strip", "encode", base=str, value=["x"]),
    "list": hostile("__iter__", "__len__", "__bool__", "__eq__", "__repr__", base=list, value=[[1]]),
    "dict": hostile("__iter__", "__len__", "__contains__", "__eq__", "items", base=dict, value=[{"success": True}]),
    "number": hostile("__bool__", "__eq__", "__lt__", "__le__", "__repr__", "__float__", base=int, value=[1]),
    "surrogate": "\ud800",
    "exception": ValueError("x"),
}
VALUES = {**OBJECTS, **{f"subtype {name}": each for name, each in SUBTYPES.items()}}
RETRIED = partial(ExecutionPolicy, 5, 1, 0, 0, 0)
SOON = ExecutionPolicy(retries=1, backoff=0, jitter=0)


def world(handler, tags=("trusted",), data=None, policy=SOON):
    domain = Domain("one")
    domain.action("do", data or {}, provides=["done"], tags=tags)
    found = World(domain)
    found.handler("do", policy=policy)(handler)
    return found


def returning(value, *, is_async=False, policy=SOON):
    async def asynchronous():
        return value

    return world(asynchronous if is_async else lambda: value, policy=policy), {}


def observing(look):
    found = world(lambda: None, tags=())
    found.observer("done", conclusive=True)(look)
    return found, {}


def checking(check):
    found = world(lambda: None)
    found.check("do")(check)
    return found, {}


def filling(fill, annotation=Any):
    return world(lambda text: None, data={"text": annotation}), {"fill": fill}  # noqa: ARG005 - as its action has


def choosing(choose):
    found = world(lambda: False, tags=["trusted", "idempotent"], policy=ExecutionPolicy(retries=0, skills=choose))
    found.handler("do", name="other")(lambda: None)
    return found, {}


def in_context(use):
    return world(lambda context: use(context) and None), {}


async def given(value):
    return value


APPROVED = ("trusted", "needs_approval")
PLACES = {
    "a result": returning,
    "a result of an asynchronous handler": lambda value: returning(value, is_async=True),
    "a result in time": lambda value: returning(value, is_async=True, policy=ExecutionPolicy(timeout=5)),
    "data": lambda value: (world(lambda: ActionResult(data=value)), {}),
    "values": lambda value: (world(lambda: ActionResult(values={"k": value})), {}),
    "text": lambda value: (world(lambda: ActionResult(text=value)), {}),
    "error": lambda value: (world(lambda: ActionResult(success=False, error=value)), {}),
    "success": lambda value: (world(lambda: {"success": value}), {}),
    "observed": lambda value: (world(lambda: ActionResult(observed=(value,))), {}),
    "next_actions": lambda value: (world(lambda: ActionResult(success=False, next_actions=(value,))), {}),
    "confidence": lambda value: (world(lambda: ActionResult(confidence=value)), {}),
    "created": lambda value: (world(lambda: ActionResult(created={"k": value})), {}),
    "metrics": lambda value: (world(lambda: ActionResult(metrics=Metrics(tokens=value))), {}),
    "the text of a wait": lambda value: (world(lambda: Wait(value)), {}),
    "the event of a wait": lambda value: (world(lambda: Wait(event=value)), {}),
    "the choices of a wait": lambda value: (world(lambda: Wait(choices=(value,))), {}),
    "what is seen": lambda value: observing(lambda: value),
    "a version": lambda value: observing(lambda: Seen(True, value)),
    "a seen fact": lambda value: observing(lambda: Facts({"done": value})),
    "facts": lambda value: observing(lambda: Facts(value)),
    "a check": lambda value: checking(lambda: value),
    "permit": lambda value: (world(lambda: None), {"permit": lambda _: value}),
    "approve": lambda value: (world(lambda: None, APPROVED), {"approve": lambda _: value}),
    "ask": lambda value: (world(lambda: None, APPROVED), {"ask": lambda _: value}),
    "ask after a failure": lambda value: (world(lambda: False), {"ask": lambda _: value}),
    "fill": lambda value: filling(lambda _: given(value)),
    "fillings": lambda value: filling(lambda _: given(Fillings({"text": value}))),
    "typed fillings": lambda value: filling(lambda _: given(Fillings({"text": value})), str),
    "the mapping of fillings": lambda value: filling(lambda _: given(Fillings(value, thought=value))),
    "retry_on": lambda value: (world(lambda: False, ("idempotent",), policy=RETRIED(lambda _: value)), {}),
    "skills": lambda value: choosing(lambda *_: value),
    "memory": lambda value: in_context(lambda context: context.memory.set("k", value)),
    "progress": lambda value: in_context(lambda context: context.progress(value)),
    "the fraction of progress": lambda value: in_context(lambda context: context.progress("", value)),
    "a request for another plan": lambda value: in_context(lambda context: context.request_replanning(value)),
}


async def outcomes(build, values, **options):
    """Return how runs end in the worlds that `build` makes of `values`, by name."""
    found = {}
    for name, value in values.items():
        made, callbacks = build(value)
        executor = Executor(made, **options, **callbacks)
        outcome = found[name] = await asyncio.wait_for(executor.run(made.domain.problem(goal=["done"])), 30)
        assert summary(outcome.state)
    return found


@pytest.mark.parametrize("place", PLACES)
def test_no_value_ends_a_run_by_an_exception(place):
    found = asyncio.run(outcomes(PLACES[place], VALUES))
    assert all(each.status.is_over or each.status is RunStatus.WAITING for each in found.values())


def test_events_with_such_values_are_kept_and_read_again(tmp_path):
    async def main():
        journal = tmp_path / "runs.db"
        await outcomes(PLACES["a result"], OBJECTS, journal=journal)
        executor = Executor(world(lambda: None), journal=journal)
        return [executor.state_of(run).status for run in executor.runs()]

    assert asyncio.run(main()) == [RunStatus.SUCCEEDED] * len(OBJECTS)


@pytest.mark.parametrize("place", ["a result", "a result in time", "data", "values", "memory"])
def test_there_is_nothing_wrong_with_a_step_that_returns_any_object(place):
    found = asyncio.run(outcomes(PLACES[place], OBJECTS))
    assert {name: each.status for name, each in found.items()} == dict.fromkeys(OBJECTS, RunStatus.SUCCEEDED)


def test_nothing_but_consent_is_consent():
    for place in ("permit", "approve"):
        found = asyncio.run(outcomes(PLACES[place], VALUES))
        assert RunStatus.SUCCEEDED not in {each.status for each in found.values()}


def test_a_default_may_be_an_array():
    domain, got = Domain("one"), []

    numbers = np.arange(2)

    @domain.action(provides=["done"], tags=["trusted"])
    def do(numbers: Annotated[Any, "numbers"] = numbers):
        got.append(numbers)

    assert asyncio.run(Executor(World(domain)).run(domain.problem(goal=["done"]))).succeeded
    assert got[0].tolist() == [0, 1]


def test_data_of_others_reach_later_parameters_and_locks():
    domain = Domain("two")
    domain.action("first", provides=["known"], tags=["trusted"])
    domain.action("second", {"text": str, "thing": Any}, requires=["known"], provides=["done"], tags=["trusted"])
    plan = {"s1": "{{s1.data}} and {{s1.data.name}}", "thing": "{{s1.data}}"}
    from executor import ActionPlan

    steps = [
        {"id": "s1", "action": "first"},
        {"id": "s2", "action": "second", "parameters": {"text": plan["s1"], "thing": plan["thing"]}},
    ]

    async def main():
        for value in VALUES.values():
            made = World(domain)
            made.handler("first")(lambda value=value: ActionResult(data=value))
            made.handler("second", policy=ExecutionPolicy(lock=True))(lambda text, thing: None)  # noqa: ARG005 - as declared
            outcome = await Executor(made).run(ActionPlan.model_validate({"goal": ["done"], "steps": steps}))
            assert outcome.status.is_over

    asyncio.run(main())


@pytest.mark.parametrize("how", ["complete", "announce", "answer"])
def test_what_comes_from_outside_is_refused_where_it_comes_and_the_run_goes_on(how):
    async def main(value):
        made = world(lambda: Wait(event="e"), ("trusted", "needs_approval") if how == "answer" else ("trusted",))
        if how == "answer":
            made.handler("do")(lambda: None)
        run = Executor(made, stay=True).start(made.domain.problem(goal=["done"]))
        async for event in run.events():
            if type(event).__name__ == "StepWaiting":
                break
        about = {"complete": "s1", "announce": "e", "answer": "approve:s1"}[how]
        try:
            getattr(run, how)(about, value)
        except InputError:
            run.cancel()
        return (await run).status

    for value in VALUES.values():
        assert asyncio.run(main(value)).is_over


def unprintable(base=Exception, error=RuntimeError):
    def bad(*_, **__):
        raise LimitReached(StoppedBy.TIME) if error is LimitReached else error("no")

    return type("Unprintable", (base,), dict.fromkeys(("__str__", "__repr__", "__format__", "__bool__", "__eq__"), bad))


ERRORS = {
    "exit": lambda: SystemExit(3),
    "limit": lambda: LimitReached(StoppedBy.TIME),
    "unprintable": unprintable(),
    "unprintable by an exit": unprintable(error=SystemExit),
    "unprintable by a limit": unprintable(error=LimitReached),
    "unprintable exit": unprintable(SystemExit, SystemExit),
    "unprintable of its own": unprintable(BaseException),
    "unprintable end": unprintable(StopIteration),
    "cancelled": asyncio.CancelledError,
    "generator": GeneratorExit,
    "recursion": RecursionError,
}


class Following:
    def __init__(self, at_start, at_event, at_end):
        self.at_start, self.at_event, self.at_end = at_start, at_event, at_end

    def follow(self, state, run):  # noqa: ARG002 - as followers do
        self.at_start()
        return self

    def __enter__(self):
        return lambda _: self.at_event()

    def __exit__(self, *_):
        self.at_end()


def nothing(*_):
    pass


RAISING = {
    "handler": lambda raises: (world(raises), {}),
    "handler in time": lambda raises: (world(raises, policy=ExecutionPolicy(timeout=5)), {}),
    "observer": observing,
    "check": checking,
    "permit": lambda raises: (world(lambda: None), {"permit": raises}),
    "approve": lambda raises: (world(lambda: None, APPROVED), {"approve": raises}),
    "ask": lambda raises: (world(lambda: False), {"ask": raises}),
    "fill": filling,
}
PLAIN = {
    "retry_on": lambda raises: (world(lambda: False, ("idempotent",), policy=RETRIED(raises)), {}),
    "skills": choosing,
    "validator": lambda raises: filling(
        lambda _: given(Fillings({"text": "x"})), Annotated[str, AfterValidator(raises)]
    ),
    "listener": lambda raises: (world(lambda: None), {"listeners": (raises,)}),
    "follower": lambda raises: (world(lambda: None), {"listeners": (Following(raises, nothing, nothing),)}),
    "follower told": lambda raises: (world(lambda: None), {"listeners": (Following(nothing, raises, nothing),)}),
    "follower leaving": lambda raises: (world(lambda: None), {"listeners": (Following(nothing, nothing, raises),)}),
}
TOLD = {"handler", "handler in time", "check", "permit", "approve", "fill"}
"""Places of which the reason of the step says what was raised."""


def raising(error, *, is_async):
    async def asynchronous(_=None, __=None):
        raise error()

    def plain(_=None, __=None):
        raise error()

    return asynchronous if is_async else plain


@pytest.mark.parametrize(
    ("place", "is_async"),
    [*((place, kind) for place in RAISING for kind in (False, True)), *((e, False) for e in PLAIN)],
)
def test_no_exception_ends_a_run_and_its_type_is_told(place, is_async):
    build = {**RAISING, **PLAIN}[place]
    errors = {name: raising(error, is_async=is_async) for name, error in ERRORS.items()}
    logging.disable(logging.CRITICAL)
    try:
        found = asyncio.run(outcomes(build, errors))
    finally:
        logging.disable(logging.NOTSET)
    for name, outcome in found.items():
        assert outcome.status.is_over or outcome.status is RunStatus.WAITING
        if place in TOLD:  # a coroutine cannot raise a StopIteration, and Python says so
            names = {type(ERRORS[name]()).__name__} | ({"StopIteration"} if name == "unprintable end" else set())
            assert any(each in outcome.steps[0].reason for each in names)
        if place.startswith(("listener", "follower")):
            assert outcome.status is RunStatus.SUCCEEDED


def test_failures_are_logged_though_they_cannot_be_printed(caplog):
    made, options = PLAIN["listener"](raising(unprintable(), is_async=False))
    assert asyncio.run(Executor(made, **options).run(made.domain.problem(goal=["done"]))).succeeded
    assert "failed at RunStarted" in caplog.text
    assert "Unprintable" in caplog.text


@pytest.mark.parametrize("give", [lambda listener: Executor(world(lambda: None), listeners=(listener,)), None])
def test_an_asynchronous_listener_is_refused(give):
    async def listener(event): ...

    async def listens():
        made = world(lambda: None)
        run = Executor(made).start(made.domain.problem(goal=["done"]))
        try:
            run.listen(listener)
        finally:
            await run

    with pytest.raises(InputError, match="plain function"):
        asyncio.run(listens()) if give is None else give(listener)


@pytest.mark.parametrize("is_async", [False, True])
def test_the_alarm_of_a_time_limit_still_ends_a_run(is_async):
    async def sleeps():
        time.sleep(9)  # noqa: ASYNC251 - the alarm wakes it

    made = world(sleeps if is_async else lambda: None, policy=ExecutionPolicy(retries=0))
    listeners = () if is_async else (lambda _: time.sleep(9),)
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(LimitReached), interruptible(0.3):
        asyncio.run(Executor(made, listeners=listeners).run(made.domain.problem(goal=["done"])))
    assert signal.getsignal(signal.SIGALRM) is before


def test_messages_about_values_are_short_and_never_raise():
    assert quote_value(hostile("__repr__")) == "<a Hostile>"
    assert len(quote_value("x" * 10_000)) == 200
    assert describe_error(unprintable()()) == "Unprintable"
    assert len(describe_error(ValueError("x" * 100_000))) == 10_000
