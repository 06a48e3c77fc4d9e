"""Results in the shapes of other frameworks: all that they say is kept, and a failure never counts as a success."""

import asyncio
import dataclasses
import enum
from typing import Any, NamedTuple, NotRequired, TypedDict

import numpy as np
import pytest
from pydantic import BaseModel, computed_field

from executor import ActionPlan, ActionResult, Executor, Metrics, RunStatus, StepStatus, Wait, World
from executor.testing import run_virtual
from executor.tools.returned_values import may_have, result_of
from planner import Domain, InputError


class Paid(BaseModel):
    success: bool = True
    error: str | None = None
    code: int = 0


class Envelope(BaseModel):
    success: bool = True
    data: dict[str, int] | None = None
    trace: str = ""


@dataclasses.dataclass(slots=True)
class Answer:
    success: bool
    text: str | None = None
    values: dict[str, Any] | None = None
    error: Any = None
    cost: int = 0


@dataclasses.dataclass
class Computed:
    faults: tuple[str, ...]

    @property
    def success(self) -> bool:
        return not self.faults


class ComputedModel(BaseModel):
    faults: tuple[str, ...]

    @computed_field
    @property
    def ok(self) -> bool:
        return not self.faults


class Part(BaseModel):
    text: str


class ToolResult(BaseModel):
    content: list[Part]
    isError: bool = False  # noqa: N815 - as the protocol names it


class Pair(NamedTuple):
    success: bool
    error: str


class Response:
    """What HTTP clients return."""

    def __init__(self, *, ok, reason):
        self.ok = ok
        self.reason = reason

    def __repr__(self):
        return f"Response(ok={self.ok}, reason={self.reason!r})"

    success = "a class attribute that is no verdict"


class State(enum.Enum):
    DONE = "done"
    FAILED = 2


@dataclasses.dataclass
class Job:
    status: State


@pytest.mark.parametrize(
    ("returned", "fields"),
    [
        ({"success": True, "latency_ms": 12}, {"data": {"latency_ms": 12}}),
        ({"success": True, "data": {"n": 1}, "latency_ms": 12}, {"data": {"n": 1, "latency_ms": 12}}),
        ({"success": True, "data": {"n": 1}, "n": 2}, {"data": {"data": {"n": 1}, "n": 2}}),
        ({"success": True, "data": [1], "page": 2}, {"data": {"data": [1], "page": 2}}),
        ({"success": True, "data": [1]}, {"data": [1]}),
        ({"success": True, "text": None, "error": None, "values": None, "metrics": None, "data": None}, {}),
        (
            {"success": True, "text": "sent", "values": {"k": 1}, "id": "m1"},
            {"text": "sent", "values": {"k": 1}, "data": {"id": "m1"}},
        ),
        ({"success": True, "metrics": {"tokens": 5}}, {"metrics": Metrics(tokens=5)}),
        (
            {"success": True, "metrics": {"tokens": 5, "latency_ms": 9}},
            {"metrics": Metrics(tokens=5), "data": {"metrics": {"tokens": 5, "latency_ms": 9}}},
        ),
        ({"success": True, "status": "failed", "id": 7}, {"data": {"status": "failed", "id": 7}}),
        ({"status": "ok", "result": {"n": 1}, "ms": 12}, {"data": {"status": "ok", "result": {"n": 1}, "ms": 12}}),
        ({"ok": True, "status": "failed"}, {"data": {"ok": True, "status": "failed"}}),
        ({"ok": 3, "error": None, "isError": False}, {"data": {"ok": 3, "error": None, "isError": False}}),
        ({"error": [], "access": False}, {"data": {"error": [], "access": False}}),
        ({1: 2, "success rate of all the calls": False}, {"data": {1: 2, "success rate of all the calls": False}}),
        (Paid(code=3), {"data": Paid(code=3)}),
        (Envelope(data={"n": 1}, trace="t"), {"data": {"n": 1, "trace": "t"}}),
        (Envelope(trace="t"), {"data": {"trace": "t"}}),
        (Answer(success=True, text="sent", values={"k": 1}, cost=2), {"text": "sent", "values": {"k": 1}}),
        (Computed(()), {}),
        (ToolResult(content=[]), {"data": ToolResult(content=[])}),
        (Job(State.DONE), {"data": Job(State.DONE)}),
        (Pair(True, ""), {"data": Pair(True, "")}),
        ((found := Response(ok=True, reason="OK")), {"data": found}),
    ],
    ids=str,
)  # fmt: skip
def test_a_success_keeps_all_that_it_says(returned, fields):
    found = result_of(returned)
    assert found.success
    assert found.error == ""
    assert {name: getattr(found, name) for name in fields} == fields


@pytest.mark.parametrize(
    ("returned", "error"),
    [
        ({"success": False, "error": "card declined", "code": 402}, "card declined"),
        ({"success": False, "message": "card declined", "error": None}, "card declined"),
        ({"success": False, "text": "card declined"}, "card declined"),
        ({"success": False, "error": {"code": 402, "message": "card declined"}}, "card declined"),
        ({"success": False, "error": {"code": 402}}, "{'code': 402}"),
        ({"success": False, "error": ValueError("card declined")}, "ValueError: card declined"),
        ({"success": False, "ok": True}, "the result says that it succeeded, but 'success' is False"),
        ({"success": False}, "the handler returned a result in which 'success' is False"),
        ({"success": True, "error": "declined"}, "the result says that it succeeded, but 'error' is 'declined'"),
        ({"success": True, "isError": True}, "the result says that it succeeded, but 'isError' is True"),
        ({"Success": False, "Error": "card declined"}, "card declined"),
        ({"ok": False, "error": "card_declined"}, "card_declined"),
        ({"ok": 0.0, "detail": "card declined"}, "card declined"),
        ({"succeeded": False}, "the handler returned a result in which 'succeeded' is False"),
        ({"error": "card declined"}, "card declined"),
        ({"error": True, "reason": "card declined"}, "card declined"),
        ({"jsonrpc": "2.0", "error": {"code": -32000, "message": "card declined"}}, "card declined"),
        ({"status": "error", "error_message": "card declined"}, "card declined"),
        ({"status": " FAILED "}, "the handler returned a result in which 'status' is ' FAILED '"),
        ({"isError": True, "content": [{"type": "text", "text": "card"}, {"text": "declined"}]}, "card\ndeclined"),
        (ToolResult(content=[Part(text="card declined")], isError=True), "card declined"),
        (Paid(success=False, error="card declined"), "card declined"),
        (Answer(success=False, error=ValueError("card declined")), "ValueError: card declined"),
        (Computed(("card declined",)), "the handler returned a result in which 'success' is False"),
        (ComputedModel(faults=("card declined",)), "the handler returned a result in which 'ok' is False"),
        (Pair(False, "card declined"), "card declined"),
        (np.bool_(False), "the handler returned False"),
        ({"success": np.bool_(False), "error": "card declined"}, "card declined"),
        ({"ok": np.bool_(False), "error": "card declined"}, "card declined"),
        (Pair(True, "card declined"), "the result says that it succeeded, but 'error' is 'card declined'"),
        (Response(ok=False, reason="Payment Required"), "Payment Required"),
        ({"isSuccess": False, "errors": ["card", "declined"]}, "card\ndeclined"),
        (Job(State.FAILED), "the handler returned a result in which 'status' is <State.FAILED: 2>"),
    ],
    ids=str,
)  # fmt: skip
def test_a_failure_in_any_shape_is_one_with_its_reason(returned, error):
    found = result_of(returned)
    assert not found.success
    assert found.error == error


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ({"success": "no"}, "success must be True or False, got 'no'"),
        ({"success": None}, "success must be True or False, got None"),
        ({"success": True, "error": 3}, "error of a result must be a text, got 3"),
        ({"success": False, "error": 3}, "error of a result must be a text, got 3"),
        ({"error": 3}, "error of a result must be a text, got 3"),
        ({"ok": "false"}, "ok must be True or False, got 'false'"),
        ({"success": True, "values": [1]}, "values of a result must be a mapping, got [1]"),
        ({"success": True, "metrics": {"tokens": "many"}}, "metrics must be numbers"),
        ({"sucess": False}, "did you mean 'success'?"),
        (Answer(success="no"), "success must be True or False, got 'no'"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused_with_the_reason(returned, message):
    with pytest.raises(InputError) as refused:
        result_of(returned)
    assert message in str(refused.value)


def shop(handler, model="sequential"):
    """Return an executor whose `pay` nobody observes and everybody trusts, and a plan that pays and then ships."""
    domain = Domain("shop")
    domain.action("pay", provides=["paid"], tags=["trusted", "irreversible"])
    domain.action("ship", {"code": int}, requires=["paid"], provides=["shipped"], tags=["trusted"])
    world, shipped = World(domain), []
    world.handler("pay")(handler)
    world.handler("ship")(lambda code: shipped.append(code))  # noqa: PLW0108 - its parameter has a name
    steps = [{"id": "s1", "action": "pay"}, {"id": "s2", "action": "ship", "parameters": {"code": "{{s1.data.code}}"}}]
    return world, ActionPlan.model_validate({"goal": ["shipped"], "model": model, "steps": steps}), shipped


@pytest.mark.parametrize("model", ["sequential", "dag", "parallel", "reactive"])
@pytest.mark.parametrize(
    ("returned", "reason", "status"),
    [
        ({"success": False, "error": "card declined", "code": 402}, "card declined", "FAILED"),
        ({"success": "no", "code": 402}, "success must be True or False, got 'no'", "IN_DOUBT"),
        ({"success": True, "error": 3, "code": 402}, "error of a result must be a text, got 3", "IN_DOUBT"),
        ({"error": "card declined", "code": 402}, "card declined", "FAILED"),
        ({"status": "failed", "code": 402}, "'status' is 'failed'", "FAILED"),
    ],
)
def test_no_run_succeeds_by_a_result_that_says_no(model, returned, reason, status):
    """What cannot be read says neither that something irreversible was done nor that it was not."""
    world, plan, shipped = shop(lambda: returned, model)
    outcome = run_virtual(Executor(world).run(plan))
    assert outcome.status is RunStatus[status]
    assert outcome.steps[0].status is StepStatus[status]
    assert reason in outcome.steps[0].reason
    assert reason in outcome.reason.splitlines()[0]
    assert shipped == []


def test_a_failed_step_keeps_what_came_with_its_error():
    world, plan, _ = shop(lambda: {"success": False, "error": "card declined", "code": 402})
    outcome = run_virtual(Executor(world).run(plan))
    assert outcome.steps[0].result["data"] == {"code": 402}


def test_later_steps_take_what_was_kept_under_data():
    world, plan, shipped = shop(lambda: {"success": True, "code": 7})
    assert run_virtual(Executor(world).run(plan)).status is RunStatus.SUCCEEDED
    assert shipped == [7]


@pytest.mark.parametrize(
    ("result", "status"),
    [
        ({"success": True, "code": 7}, RunStatus.SUCCEEDED),
        ({"success": False, "error": "card declined", "code": 402}, RunStatus.FAILED),
        ({"error": "card declined"}, RunStatus.FAILED),
    ],
)
def test_a_result_from_outside_is_read_in_the_same_way(tmp_path, result, status):
    world, plan, _ = shop(lambda: Wait(event="bank"))
    executor = Executor(world, journal=tmp_path / "runs.db")
    waiting = run_virtual(executor.run(plan))
    assert waiting.status is RunStatus.WAITING
    assert run_virtual(executor.resume(waiting.run, results={"s1": result})).status is status


def test_a_result_that_was_kept_is_not_read_anew_after_a_restart(tmp_path):
    """The journal has results as `ActionResult`, in which a success may come with an error that was got over."""
    domain = Domain("slow")
    domain.action("do", provides=["done"])

    def world(*, is_killed):
        found = World(domain)
        found.handler("do")(lambda: ActionResult(data={"ok": False}, error="got over"))

        async def look():
            if is_killed:
                raise KeyboardInterrupt
            return True

        found.observer("done", conclusive=True)(look)
        return found

    journal = tmp_path / "runs.db"
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(Executor(world(is_killed=True), journal=journal).run(domain.problem(goal=["done"]), run="r"))
    outcome = asyncio.run(Executor(world(is_killed=False), journal=journal).resume("r"))
    assert outcome.status is RunStatus.SUCCEEDED
    assert outcome.steps[0].result["data"] == {"ok": False}


class Typed(TypedDict):
    success: bool
    error: NotRequired[str]
    code: int


class TypedWithData(TypedDict):
    success: bool
    data: dict[str, dict[str, int]]
    page: int


@pytest.mark.parametrize(
    ("annotation", "has", "lacks"),
    [
        (Typed, ["data", "data.code", "text", "values.k"], ["data.cod", "data.success", "data.code.x"]),
        (TypedWithData, ["data.page", "data.k", "data.k.n", "data.data.k"], ["data.k.n.x"]),
        (Answer, ["data.cost", "data.success", "values.k"], ["data.other"]),
        (Paid, ["data.code", "values.k"], ["data.cod"]),
        (Envelope, ["data.n", "data.trace", "data.data"], ["data.n.x", "data.trace.x"]),
    ],
)
def test_plans_may_name_what_such_a_result_keeps(annotation, has, lacks):
    def handler(): ...

    handler.__annotations__ = {"return": annotation}
    assert {path: may_have(handler, path) for path in has} == dict.fromkeys(has, True)
    assert {path: may_have(handler, path) for path in lacks} == dict.fromkeys(lacks, False)
