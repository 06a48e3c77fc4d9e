"""OpenTelemetry spans of questions, by `opentelemetry-api` alone (extra `otel`).

The application chooses the SDK and the exporter (`opentelemetry-instrument forethought serve`); without an SDK, nobody
gets spans. A span belongs to the trace that the client names in `traceparent`. It follows the conventions for
generative AI, where a question is a step of planning (`plan`) or a tool of an agent (`execute_tool`); attributes
`forethought.…` tell of the plan. No text of a client is in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from executor.service.jobs import Job

NAME: Final = "forethought"


class Tracing:
    """Makes a span for each question, where opentelemetry-api is installed.

    `tracer` is by default the global one.
    """

    def __init__(self, tracer: Any = None) -> None:
        try:
            from opentelemetry import trace
        except ImportError:
            self._tracer = None
        else:
            self._tracer = tracer or trace.get_tracer(NAME)

    def read_context(self, headers: Mapping[str, str]) -> Any:
        """Return the trace that a request belongs to."""
        if self._tracer is None:
            return None
        from opentelemetry.propagate import extract

        return extract(headers)

    def begin(self, job: Job, context: Any) -> Any:
        """Return the span of a question, which has begun."""
        if self._tracer is None:
            return None
        from opentelemetry.trace import SpanKind

        kind = job.question.kind
        operation = "plan" if kind == "solve" else "execute_tool"
        known: dict[str, Any] = {
            "gen_ai.operation.name": operation,
            **({"gen_ai.agent.name": NAME} if kind == "solve" else {"gen_ai.tool.name": kind}),
            "forethought.job.id": job.id,
            "forethought.question.kind": kind,
            "forethought.question.hash": job.content_hash,
            "forethought.client": job.client.name,
            "forethought.time_limit": job.time_limit,
            "forethought.priority": job.priority,
        }
        name = f"plan {NAME}" if kind == "solve" else f"execute_tool {kind}"
        return self._tracer.start_span(name, context, kind=SpanKind.SERVER, attributes=known)

    def end(self, job: Job) -> None:
        """End the span of a question with what has come of it."""
        if job.span is None:
            return
        from opentelemetry.trace import Status, StatusCode

        job.span.set_attributes(_describe_end(job))
        if job.error is not None:
            job.span.set_attribute("error.type", job.error["kind"])
            job.span.set_status(Status(StatusCode.ERROR, job.error["kind"]))
        job.span.end()


def _describe_end(job: Job) -> dict[str, Any]:
    known = {
        "state": job.state.value,
        "cached": job.cached,
        "queue_seconds": job.waited,
        "seconds": job.seconds,
        **{f"plan.{name}": value for name, value in job.facts.items()},
    }
    return {f"forethought.{name}": value for name, value in known.items() if value is not None}
