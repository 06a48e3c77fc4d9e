"""Spans: one for each run, step and attempt, in that nesting; errors say so; nothing is made where nobody takes it."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest
from opentelemetry import context, trace
from opentelemetry.trace import Span, SpanContext, Status, StatusCode, TraceFlags, Tracer

from executor import ActionPlan, ExecutionPolicy, Executor, RunStatus, Wait, World
from executor.report.tracing import Spans
from planner import Domain
from planner.errors import InputError


class Recorded(Span):
    """A span that remembers what is said of it, and refuses to be ended twice or spoken of later."""

    def __init__(self, number, name, parent, attributes):
        self.number, self.name, self.parent = number, name, parent
        self.known, self.events, self.status, self.ended = dict(attributes), [], Status(), False

    def end(self, *_):
        assert not self.ended
        self.ended = True

    def get_span_context(self):
        return SpanContext(1, self.number, is_remote=False, trace_flags=TraceFlags(1))

    def set_attributes(self, attributes):
        assert not self.ended
        self.known |= attributes

    def set_attribute(self, key, value):
        self.set_attributes({key: value})

    def add_event(self, name, attributes=None, *_):
        assert not self.ended
        self.events.append((name, dict(attributes or {})))

    def update_name(self, name):
        self.name = name

    def is_recording(self):
        return not self.ended

    def set_status(self, status, *_):
        assert not self.ended
        self.status = status

    def record_exception(self, *_, **__):
        raise NotImplementedError

    @property
    def said(self):
        return {name.removeprefix("forethought."): value for name, value in self.known.items()}


class Recorder(Tracer):
    """A tracer that keeps its spans."""

    def __init__(self):
        self.spans = []

    def start_span(self, name, context=None, *_, attributes=None, **__):
        parent = trace.get_current_span(context)
        number = len(self.spans) + 1
        span = Recorded(number, name, parent if isinstance(parent, Recorded) else None, attributes or {})
        self.spans.append(span)
        return span

    def start_as_current_span(self, *_, **__):
        raise NotImplementedError

    def named(self, start):
        return [span for span in self.spans if span.name.startswith(start)]


def world(sees=True, **handlers):
    domain = Domain("meal")
    domain.action("boil", {}, provides=["boiled"], tags=["idempotent"])
    domain.action("serve", {}, requires=["boiled"], provides=["served"])
    found = World(domain)
    for name in ("boil", "serve"):
        found.handler(name)(handlers.get(name, lambda: None))
    for fact in ("boiled", "served"):
        found.observer(fact)(lambda: sees)
    return found, domain.problem(goal=["served"])


def traced(found, problem, **options):
    recorder = Recorder()
    executor = Executor(found, listeners=(Spans(recorder),), **options)
    return recorder, executor, asyncio.run(executor.run(problem, run="r"))


@pytest.mark.parametrize("model", ["sequential", "dag"])
def test_attempts_are_in_steps_and_these_in_runs(model):
    recorder, _, outcome = traced(*world(), model=model)
    assert outcome.status is RunStatus.SUCCEEDED
    nested = [(span.name, span.parent and span.parent.name) for span in recorder.spans]
    run = f"run {outcome.state.plan.name}"
    assert nested == [
        (run, None),
        ("step boil", run),
        ("attempt 1", "step boil"),
        ("step serve", run),
        ("attempt 1", "step serve"),
    ]
    assert all(span.ended for span in recorder.spans)
    first, step, attempt = recorder.spans[:3]
    assert first.said["run.id"] == "r"
    assert first.said["run.status"] == "SUCCEEDED"
    assert first.status.status_code is StatusCode.OK
    assert step.said["action"] == "boil"
    assert step.said["step.status"] == "SUCCEEDED"
    assert step.said["attempts"] == 1
    assert attempt.said["key"] == "r/s1"


@pytest.mark.parametrize("model", ["sequential", "dag"])
@pytest.mark.parametrize("plain", [True, False])
def test_what_a_handler_calls_belongs_to_its_attempt(model, plain):
    recorder = Recorder()

    async def serve():
        recorder.start_span("request")

    found, problem = world(serve=(lambda: recorder.start_span("request") and None) if plain else serve)

    async def inside():
        with trace.use_span(recorder.start_span("application"), end_on_exit=True):
            before = context.get_current()
            await Executor(found, listeners=(Spans(recorder),), model=model).run(problem)
            assert context.get_current() == before

    asyncio.run(inside())
    (request,), (run,) = recorder.named("request"), recorder.named("run")
    assert (request.parent.name, request.parent.parent.name) == ("attempt 1", "step serve")
    assert run.parent.name == "application"


def test_each_attempt_that_fails_is_an_error_and_so_is_what_fails_for_good():
    calls = []

    def boil():
        calls.append(1)
        raise ConnectionError("no gas" if len(calls) < 3 else "no pot")

    found, problem = world(sees=False, boil=boil)
    found.policy("boil", ExecutionPolicy(retries=2, backoff=0, jitter=0))
    recorder, _, outcome = traced(found, problem)
    assert outcome.status is RunStatus.FAILED
    attempts = recorder.named("attempt")
    assert [span.name for span in attempts] == ["attempt 1", "attempt 2", "attempt 3"]
    assert {span.status.status_code for span in attempts} == {StatusCode.ERROR}
    (step,), (run,) = recorder.named("step"), recorder.named("run")
    assert [known["forethought.rung"] for name, known in step.events if name == "rung"] == ["RETRY", "RETRY"]
    assert "no pot" in step.status.description
    assert "no pot" in run.status.description
    assert "PATCH" in [known["forethought.rung"] for name, known in run.events if name == "rung"]
    assert all(span.ended for span in recorder.spans)


def test_a_step_that_is_never_begun_has_a_span_without_attempts():
    found, problem = world(sees=False)
    found.check("boil")(lambda: "the kettle is broken")
    recorder, _, outcome = traced(found, problem)
    assert outcome.status is RunStatus.FAILED
    assert not recorder.named("attempt")
    (step,) = recorder.named("step")
    assert step.status.status_code is StatusCode.UNSET
    assert step.known["forethought.step.status"] == "PENDING"
    assert "the kettle is broken" in step.known["forethought.step.obstacle"]
    assert step.ended


def test_a_run_that_waits_ends_its_spans_and_begins_others_when_it_is_taken_up(tmp_path):
    found, problem = world(serve=lambda: Wait("for the guests", event="doorbell"))
    recorder, executor, outcome = traced(found, problem, journal=tmp_path / "runs.db")
    assert outcome.status is RunStatus.WAITING
    assert all(span.ended for span in recorder.spans)
    assert ("waiting", {"forethought.for": "doorbell"}) in recorder.named("step serve")[0].events

    async def taken_up():
        before = context.get_current()
        await executor.resume("r", results={"s2": True})
        assert context.get_current() == before

    asyncio.run(taken_up())
    again = recorder.spans[len(recorder.spans) - 2 :]
    assert [span.name for span in again] == [f"run {outcome.state.plan.name}", "step serve"]
    assert again[0].events[0][0] == "resumed"
    assert again[1].parent is again[0]
    assert all(span.ended for span in again)


def test_spans_keep_no_data():
    domain = Domain("post")
    domain.action("send", {"text": str}, provides=["sent"])
    found = World(domain)
    found.handler("send")(lambda text: {"receipt": text})
    step = {"id": "s1", "action": "send", "parameters": {"text": "my secret"}}
    recorder, _, _ = traced(found, ActionPlan.model_validate({"steps": [step]}))
    assert len(recorder.spans) == 3
    assert "secret" not in str(
        [(span.name, span.known, span.events, span.status.description) for span in recorder.spans]
    )


def test_without_an_sdk_only_the_run_asks_for_a_span(monkeypatch):
    asked = []
    tracer = trace.NoOpTracer()
    start = tracer.start_span
    monkeypatch.setattr(tracer, "start_span", lambda *given, **options: asked.append(given) or start(*given, **options))
    found, problem = world()
    outcome = asyncio.run(Executor(found, listeners=(Spans(tracer),)).run(problem))
    assert outcome.status is RunStatus.SUCCEEDED
    assert len(asked) == 1


def test_the_library_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(InputError, match=r"opentelemetry-api.*pip install 'forethought\[otel\]'"):
        Spans()


def test_nothing_loads_it_unasked():
    code = "import executor.executor, executor.report.tracing, sys; sys.exit('opentelemetry' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
