"""Questions of a run as forms for the person at the client, and answers from these forms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import mcp_types as types
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from executor.mcp_server.tool_data import RunAnswer

WAIT: Final = "wait:"
"""Prefix of the forms for steps that wait for a choice."""


def can_ask(context: Context) -> bool:
    """Return whether the client can show forms to a person."""
    capabilities = context.client_capabilities
    asks = None if capabilities is None else capabilities.elicitation
    return asks is not None and (asks.form is not None or asks.url is None)


def list_forms(found: RunAnswer) -> list[dict[str, Any]]:
    """Return what a person can be asked: the open questions, and steps that wait for one of several choices."""
    choosing = [each for each in found.waits if each["choices"] and not each["question"]]
    return [
        *found.questions,
        *[
            {"question": f"{WAIT}{each['step']}", "text": each["text"] or each["step"], "choices": each["choices"]}
            for each in choosing
        ],
    ]


def split_answers(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the answers to questions, and the results of waiting steps."""
    answers = {name: value for name, value in given.items() if not name.startswith(WAIT)}
    results = {name.removeprefix(WAIT): value for name, value in given.items() if name.startswith(WAIT)}
    return answers, results


def make_request(question: Mapping[str, Any]) -> types.ElicitRequest:
    """Make the form for a question of a run, or for a step that waits."""
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
    """Return the answers in the forms that came back: to decline an approval is to refuse it, else no answer."""
    found: dict[str, Any] = {}
    for question, reply in responses.items():
        action, content = getattr(reply, "action", None), getattr(reply, "content", None) or {}
        if action == "accept" and "answer" in content:
            created = {name: value for name, value in content.items() if name != "answer" and value}
            found[question] = {"created": created} if created else content["answer"]
        elif action == "decline" and question.startswith("approve:"):
            found[question] = "no"
    return found
