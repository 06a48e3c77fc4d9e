"""OpenTelemetry spans of runs, steps and attempts, by `opentelemetry-api` alone (extra `otel`).

The application chooses the SDK and the exporter; without an SDK there are no spans. The span of a run is a child of the
current span, and spans that a handler makes are children of its attempt. Spans name actions, arguments and reasons, but
neither data parameters nor results, which may be secret.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from executor.events import events
from executor.events.run_state import RunState
from executor.report.progress import line_of
from planner.errors import InputError

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, Tracer

NAME: Final = "forethought"
REASON: Final = 500
"""Most characters of a reason in a span."""
BAD: Final = frozenset(
    {
        *(events.StepStatus.FAILED, events.StepStatus.PARTIAL, events.StepStatus.IN_DOUBT),
        *(
            events.RunStatus.IMPOSSIBLE,
            events.RunStatus.FAILED,
            events.RunStatus.IN_DOUBT,
            events.RunStatus.COMPENSATED,
        ),
    }
)
"""Statuses that spans report as errors."""
GOOD: Final = frozenset({events.StepStatus.SUCCEEDED, events.RunStatus.SUCCEEDED})
AGAIN: Final = frozenset({events.Rung.RETRY, events.Rung.SKILL})


class Spans:
    """Makes spans of runs: a follower for the `listeners` of an `Executor`.

    `tracer` is by default the global one. Raises `InputError` where opentelemetry-api is missing.
    """

    def __init__(self, tracer: Tracer | None = None) -> None:
        try:
            from opentelemetry import trace
        except ImportError as error:
            hint = "pip install 'forethought[otel]'"
            raise InputError(f"spans need opentelemetry-api, which cannot be imported ({error})", hint=hint) from None
        self._tracer = tracer or trace.get_tracer(NAME)

    @contextmanager
    def follow(self, state: RunState, run: str) -> Iterator[Callable[[events.Event], None]]:
        """Make the spans of one run while the body lasts."""
        from opentelemetry import context

        trace = Trace(self._tracer, state, run)
        token = context.attach(trace.context)
        try:
            yield trace.take if trace.is_wanted else _ignore
        finally:
            trace.end()
            context.detach(token)


def _ignore(_: events.Event) -> None:
    """Ignore an event: without an SDK nobody gets the spans."""


class Trace:
    """The open spans of one run."""

    def __init__(self, tracer: Tracer, state: RunState, run: str) -> None:
        from opentelemetry.trace import set_span_in_context

        self._tracer = tracer
        self._state = state
        self._within = set_span_in_context
        plan = state.plan
        known: dict[str, Any] = {"run.id": run, "plan.id": plan.id, "plan.name": plan.name, "run.model": plan.model}
        self._run = tracer.start_span(
            f"run {plan.name}", attributes=_attributes(known | {"plan.steps": len(state.order)})
        )
        self.context: Context = set_span_in_context(self._run)
        self._steps: dict[str, tuple[Span, Context]] = {}
        self._attempts: dict[str, Span] = {}

    @property
    def is_wanted(self) -> bool:
        """Whether there is an SDK: without one, spans have no identity."""
        return self._run.get_span_context().is_valid

    def take(self, event: events.Event) -> None:
        """Begin, change or end spans by `event`."""
        match event:
            case events.StepStarted():
                self._begin(event)
            case events.StepProgress(step, text, fraction):
                share = {} if fraction is None else {"fraction": fraction}
                self._step(step)[0].add_event("progress", _attributes({"text": line_of(text), **share}))
            case events.StepReturned(step, result):
                said = {"success": bool(result.get("success", True))}
                self._step(step)[0].add_event("returned", _attributes(said))
            case events.StepWaiting(step, wait):
                self._end_attempt(step)
                self._step(step)[0].add_event("waiting", _attributes({"for": _waits_for(wait)}))
                _make_current(self.context)
            case events.StepEnded():
                self._end_step(event)
            case events.RungTaken(rung, step, reason) if rung in AGAIN:
                self._step(step)[0].add_event("rung", _rung_attributes(event))
                self._end_attempt(step, reason)
            case events.RunEnded(status, reason, metrics):
                numbers = {name: value for name, value in metrics.items() if isinstance(value, int | float)}
                self._run.set_attributes(_attributes({"run.status": status.name, **_prefixed("run", numbers)}))
                _set_status(self._run, status, reason)
            case _:
                self._note(event)

    def end(self) -> None:
        """End all open spans."""
        for span in (*self._attempts.values(), *(span for span, _ in self._steps.values()), self._run):
            span.end()

    def _begin(self, event: events.StepStarted) -> None:
        _, around = self._step(event.step)
        known = {"step.id": event.step, "attempt": event.attempt, "skill": event.skill, "key": event.key}
        attempt = self._tracer.start_span(f"attempt {event.attempt}", around, attributes=_attributes(known))
        self._attempts[event.step] = attempt
        _make_current(self._within(attempt, around))

    def _step(self, id_: str) -> tuple[Span, Context]:
        """Return the span of a step; begin it if there is none yet."""
        if id_ not in self._steps:
            step = self._state.steps[id_].step
            known = {"step.id": id_, "action": step.action, "arguments": tuple(step.arguments)}
            span = self._tracer.start_span(f"step {step.action}", self.context, attributes=_attributes(known))
            self._steps[id_] = span, self._within(span, self.context)
        return self._steps[id_]

    def _end_attempt(self, id_: str, reason: str | None = None) -> None:
        attempt = self._attempts.pop(id_, None)
        if attempt is not None:
            if reason is not None:
                _set_status(attempt, events.StepStatus.FAILED, reason)
            attempt.end()

    def _end_step(self, event: events.StepEnded) -> None:
        self._end_attempt(event.step, event.reason if event.status in BAD else None)
        span, _ = self._step(event.step)
        del self._steps[event.step]
        metrics = (event.result or {}).get("metrics", {})
        record = self._state.steps[event.step]
        known = {"step.status": event.status.name, "attempts": record.attempts, **_prefixed("step", metrics)}
        known |= {"step.obstacle": line_of(event.reason, REASON)} if event.obstacle else {}
        span.set_attributes(_attributes(known))
        _set_status(span, event.status, event.reason)
        span.end()
        _make_current(self.context)

    def _note(self, event: events.Event) -> None:
        """Add an event that belongs to no single step to the span of the run."""
        match event:
            case events.RungTaken():
                self._run.add_event("rung", _rung_attributes(event))
            case events.PlanChanged(_, kept, new, dropped, reason):
                known = {"kept": kept, "new": new, "dropped": dropped, "reason": line_of(reason, REASON)}
                self._run.add_event("plan changed", _attributes(known))
            case events.GoalDropped(condition, utility):
                self._run.add_event("goal dropped", _attributes({"condition": condition, "utility": utility}))
            case events.GoalChanged(_, reason):
                self._run.add_event("goal changed", _attributes({"reason": line_of(reason, REASON)}))
            case events.Asked(question, step, text):
                self._run.add_event(
                    "asked", _attributes({"question": question, "step.id": step, "text": line_of(text)})
                )
            case events.Answered(question):
                self._run.add_event("answered", _attributes({"question": question}))
            case events.Disagreement(facts, reason):
                known = {"facts": tuple(map(str, facts)), "reason": line_of(reason, REASON)}
                self._run.add_event("disagreement", _attributes(known))
            case events.FactsSeen(facts, cause):
                self._run.add_event("facts seen", _attributes({"facts": len(facts), "cause": cause}))
            case events.ObjectsFound(objects, source):
                self._run.add_event("objects found", _attributes({"objects": len(objects), "source": source}))
            case events.RunResumed():
                self._run.add_event("resumed")


def _attributes(known: dict[str, Any]) -> dict[str, Any]:
    """Prefix the names of attributes with `forethought.`."""
    return {f"{NAME}.{name}": value for name, value in known.items()}


def _prefixed(what: str, metrics: dict[str, Any]) -> dict[str, Any]:
    return {f"{what}.{name}": value for name, value in metrics.items()}


def _rung_attributes(event: events.RungTaken) -> dict[str, Any]:
    known = {"rung": event.rung.name, "step.id": event.step, "reason": line_of(event.reason, REASON)}
    return _attributes({**known, "cost": event.cost, "seconds": event.seconds})


def _waits_for(wait: Any) -> str:
    return line_of(next((wait[key] for key in ("question", "event", "text") if wait.get(key)), "time"))


def _set_status(span: Span, status: events.StepStatus | events.RunStatus, reason: str) -> None:
    from opentelemetry.trace import Status, StatusCode

    if status in BAD:
        span.set_status(Status(StatusCode.ERROR, line_of(reason or status.value, REASON)))
    elif status in GOOD:
        span.set_status(Status(StatusCode.OK))


def _make_current(context: Context) -> None:
    """Make spans that begin from here on children of `context`, until the task ends or the run is left."""
    from opentelemetry.context import attach

    attach(context)
