"""Planned calls as a toolset and a capability of pydantic-ai, with its own test models."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import pytest
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ToolApproved, ToolDenied
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from support_desk import desk_problem, desk_world

from executor import World
from executor.adapters.pydantic_ai_toolset import ForethoughtCapability, ForethoughtToolset
from planner import Domain, From

seen: list[AgentInfo] = []


def ask(agent: Agent, *words, **options):
    """Run `agent` in a loop of its own: `run_sync` leaves one behind."""
    return asyncio.run(agent.run(*words, **options))


@pytest.fixture(autouse=True)
def forget() -> None:
    seen.clear()


def obedient(_, info: AgentInfo) -> ModelResponse:
    """Call all tools that are offered, with the first value of each enumeration, until none is left."""
    seen.append(info)
    if not info.function_tools:
        return ModelResponse([TextPart("done")])
    return ModelResponse([ToolCallPart(each.name, fill(each.parameters_json_schema)) for each in info.function_tools])


def fill(schema: dict) -> dict:
    values = {"string": "text", "integer": 7}
    properties = schema["properties"].items()
    return {name: each["enum"][0] if "enum" in each else values[each["type"]] for name, each in properties}


def returns(result) -> list[dict]:
    parts = [part for message in result.all_messages() for part in message.parts]
    return [part.content for part in parts if isinstance(part, ToolReturnPart)]


def test_the_agent_keeps_its_loop_and_sees_only_what_comes_next() -> None:
    world, desk = desk_world()
    toolset = ForethoughtToolset(world, desk_problem(world, "shipped(o7)"))
    result = ask(Agent(FunctionModel(obedient), toolsets=[toolset]), "ship o7, please")
    assert [[each.name for each in info.function_tools] for info in seen] == [["find"], ["pack"], ["ship"], []]
    assert desk.log == ["find o7", "pack o7", "ship o7"]
    assert toolset.calls.is_reached
    assert [each["goal"] for each in returns(result)] == ["open", "open", "reached"]


def test_the_instructions_say_the_goal_and_what_is_next() -> None:
    world, _ = desk_world()
    toolset = ForethoughtToolset(world, desk_problem(world, "packed(o7)"))
    ask(Agent(FunctionModel(obedient), toolsets=[toolset], instructions="Be polite."), "pack o7")
    said = [info.instructions for info in seen]
    assert "Be polite." in said[0]
    assert "Next (a plan of 2 steps): find(o7)." in said[0]
    assert "The goal is reached" in said[-1]


def test_a_surprise_is_told_and_the_offer_changes() -> None:
    world, desk = desk_world()
    desk.lying.add("ship")
    toolset = ForethoughtToolset(world, desk_problem(world, "shipped(o7)"))
    result = ask(Agent(FunctionModel(obedient), toolsets=[toolset]), "ship o7")
    told = returns(result)
    assert told[2]["status"] == "FAILED"
    assert told[2]["unexpected"] == ["not shipped(o7)"]
    assert told[2]["next"] == ["courier(o7)"]
    assert desk.log == ["find o7", "pack o7", "ship o7", "ship o7", "courier o7"], "it was seen that nothing happened"


def test_a_call_that_is_not_offered_does_nothing() -> None:
    world, desk = desk_world()
    toolset = ForethoughtToolset(world, desk_problem(world, "packed(o7)"))

    def stubborn(messages, _: AgentInfo) -> ModelResponse:
        if len(messages) > 3:
            return ModelResponse([TextPart("I give up")])
        return ModelResponse([ToolCallPart("ship", {"o": "o7"})])

    ask(Agent(FunctionModel(stubborn), toolsets=[toolset], retries=3), "ship o8")
    assert desk.log == []


def test_several_calls_of_one_turn_are_made_one_after_the_other() -> None:
    world, desk = desk_world()
    toolset = ForethoughtToolset(world, desk_problem(world, "packed(o7)", "packed(o8)"))

    def eager(messages, info: AgentInfo) -> ModelResponse:
        if len(messages) > 2:
            return obedient(messages, info)
        return ModelResponse([ToolCallPart("find", {"o": each}) for each in ("o7", "o8")])

    ask(Agent(FunctionModel(eager), toolsets=[toolset]), "pack both")
    assert desk.log[:2] == ["find o7", "find o8"]
    assert toolset.calls.is_reached


def test_the_test_model_calls_what_is_offered() -> None:
    world, desk = desk_world()
    toolset = ForethoughtToolset(world, desk_problem(world, "packed(o7)"))
    ask(Agent(TestModel(), toolsets=[toolset]), "pack o7")
    assert desk.log == ["find o7"], "it calls each tool of the first offer once"


def test_an_approval_is_deferred_as_pydantic_ai_does_it() -> None:
    world, desk = desk_world()
    toolset = ForethoughtToolset(world, desk_problem(world, "refunded(o7)"))
    agent = Agent(FunctionModel(obedient), toolsets=[toolset], output_type=[str, DeferredToolRequests])
    first = ask(agent, "refund o7")
    [asked] = first.output.approvals
    assert asked.tool_name == "refund"
    assert desk.log == ["find o7"]
    answer = DeferredToolResults(approvals={asked.tool_call_id: True})
    last = ask(agent, message_history=first.all_messages(), deferred_tool_results=answer)
    assert last.output == "done"
    assert desk.log == ["find o7", "refund o7"]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (False, "approval was refused"),
        (ToolDenied("not this supplier"), "approval was refused: no: not this supplier"),
        (ToolDenied("yes"), "approval was refused: no: yes"),
    ],
)
def test_a_refusal_reaches_the_run_and_nothing_is_asked_again(answer: Any, reason: str) -> None:
    world, desk = desk_world()
    toolset = ForethoughtToolset(world, desk_problem(world, "refunded(o7)"))
    agent = Agent(FunctionModel(obedient), toolsets=[toolset], output_type=[str, DeferredToolRequests])
    first = ask(agent, "refund o7")
    [asked] = first.output.approvals
    answers = DeferredToolResults(approvals={asked.tool_call_id: answer})
    last = ask(agent, message_history=first.all_messages(), deferred_tool_results=answers)
    assert isinstance(last.output, str)
    again = ask(agent, "refund o7")
    assert isinstance(again.output, str)
    assert desk.log == ["find o7"]
    assert reason in [each.reason for each in toolset.calls.reports]


def bills() -> tuple[World, list[tuple[str, int]]]:
    """Return a world whose amounts are read from bills, and what was paid."""
    domain, paid = Domain("bills", types=["bill"]), []
    domain.action("read", {"b": "bill"}, provides=["known(b)"], tags=["read_only", "trusted"])
    amount = Annotated[int, From("known(b)", "data.amount")]
    tags = ["irreversible", "needs_approval", "trusted"]
    domain.action(
        "pay", {"b": "bill", "amount": amount, "note": str}, requires=["known(b)"], provides=["paid(b)"], tags=tags
    )
    world = World(domain)
    world.handler("read")(lambda b: {"bill": b, "amount": 70})
    world.handler("pay")(lambda b, amount, note: paid.append((b, amount, note)))
    return world, paid


@pytest.mark.parametrize(
    ("changed", "paid"),
    [
        ({"amount": 3}, ("b 1", 3, "text")),
        ({"b": "b 1", "note": "thanks", "amount": "3"}, ("b 1", 3, "thanks")),
        ({}, ("b 1", 70, "text")),
    ],
)
def test_an_approval_with_other_values_is_done_with_them(changed: dict[str, Any], paid: tuple[Any, ...]) -> None:
    """Also with those that the domain takes from a result, which no model may give."""
    world, book = bills()
    problem = world.domain.problem(objects={"b 1": "bill"}, goal=['paid("b 1")'])
    toolset = ForethoughtToolset(world, problem)
    agent = Agent(FunctionModel(obedient), toolsets=[toolset], output_type=[str, DeferredToolRequests])
    first = ask(agent, "pay")
    [asked] = first.output.approvals
    wrong = DeferredToolResults(approvals={asked.tool_call_id: ToolApproved(override_args={"amout": 3})})
    again = ask(agent, message_history=first.all_messages(), deferred_tool_results=wrong)
    [asked] = again.output.approvals
    assert "has no value 'amout'" in again.output.metadata[asked.tool_call_id]["objection"]
    assert book == []
    right = DeferredToolResults(approvals={asked.tool_call_id: ToolApproved(override_args=changed)})
    last = ask(agent, message_history=again.all_messages(), deferred_tool_results=right)
    assert last.output == "done"
    assert book == [paid]


def test_a_capability_brings_the_toolset() -> None:
    world, desk = desk_world()
    planned = ForethoughtCapability(world, desk_problem(world, "packed(o7)"))
    ask(Agent(FunctionModel(obedient), capabilities=[planned]), "pack o7")
    assert planned.calls.is_reached
    assert "find(o7)" in seen[0].instructions
    assert desk.log == ["find o7", "pack o7"]


def test_it_stands_beside_other_tools_and_wrappers() -> None:
    world, _ = desk_world()
    toolset = ForethoughtToolset(world, desk_problem(world, "packed(o7)")).prefixed("desk")
    agent = Agent(FunctionModel(obedient), toolsets=[toolset])

    @agent.tool_plain
    def weather() -> str:
        return "rain"

    def once(_, info: AgentInfo) -> ModelResponse:
        seen.append(info)
        return ModelResponse([TextPart("done")])

    with agent.override(model=FunctionModel(once)):
        ask(agent, "what is there?")
    assert {each.name for each in seen[0].function_tools} == {"weather", "desk_find"}


def test_one_toolset_goes_on_in_a_later_run_of_the_agent() -> None:
    world, desk = desk_world()
    toolset = ForethoughtToolset(world, desk_problem(world, "packed(o7)"))

    def one_call(messages, info: AgentInfo) -> ModelResponse:
        return obedient(messages, info) if len(messages) == 1 else ModelResponse([TextPart("later")])

    agent = Agent(FunctionModel(one_call), toolsets=[toolset])
    ask(agent, "begin")
    assert desk.log == ["find o7"]
    asyncio.run(agent.run("go on"))
    assert desk.log == ["find o7", "pack o7"]


def test_working_memory_is_given_to_the_toolset() -> None:
    domain, seen_by = Domain("inn"), []
    domain.action("book", {"guest": str}, provides=["booked"], tags=["trusted"])
    world = World(domain)
    world.handler("book")(lambda guest: seen_by.append(guest))  # noqa: PLW0108 - its parameter has a name

    def book(messages, _):
        return ModelResponse([ToolCallPart("book", {})] if len(messages) == 1 else [TextPart("done")])

    toolset = ForethoughtToolset(world, domain.problem(goal=["booked"]), memory={"guest": "Ada"})
    ask(Agent(FunctionModel(book), toolsets=[toolset]), "book")
    assert seen_by == ["Ada"]
