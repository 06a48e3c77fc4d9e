"""Questions of a run as forms for the person at the client, and answers from these forms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mcp_types as types
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from executor.events.answers import APPROVE, WAIT


def can_ask(context: Context) -> bool:
    """Return whether the client can show forms to a person."""
    capabilities = context.client_capabilities
    asks = None if capabilities is None else capabilities.elicitation
    return asks is not None and (asks.form is not None or asks.url is None)


def make_request(question: Mapping[str, Any]) -> types.ElicitRequest:
    """Make the form for a question of a run."""
    text = "\n".join([question["text"], *map(str, question.get("known", ()))])
    choices = list(question["choices"])
    answer: dict[str, Any] = {"type": "string", "title": "Answer"} | ({"enum": choices} if choices else {})
    created = {name: {"type": "string", "title": f"Created: {name}"} for name in question.get("creates", ())}
    schema = {"type": "object", "properties": {"answer": answer, **created}, "required": ["answer"]}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=text, requested_schema=schema))


async def ask_now(context: Context, questions: list[dict[str, Any]]) -> dict[str, Any]:
    """Ask the questions one after the other in the midst of a call, and return the answers that were given.

    A client that fails to ask has given no answer: the run waits, and its questions are in the answer of the call.
    """
    given: dict[str, Any] = {}
    for each in questions:
        params = make_request(each).params
        try:
            reply = await context.session.elicit_form(
                params.message, params.requested_schema, related_request_id=context.request_id
            )
        except (MCPError, ValidationError):
            return given
        given |= read_responses({each["question"]: reply})
    return given


def read_responses(responses: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answers in the forms that came back: to decline an approval or a wait is to refuse it."""
    found: dict[str, Any] = {}
    for question, reply in responses.items():
        action, content = getattr(reply, "action", None), getattr(reply, "content", None) or {}
        if action == "accept" and "answer" in content:
            created = {name: value for name, value in content.items() if name != "answer" and value}
            found[question] = {"created": created} if created else content["answer"]
        elif action == "decline" and question.startswith((APPROVE, WAIT)):
            found[question] = "no"
    return found
