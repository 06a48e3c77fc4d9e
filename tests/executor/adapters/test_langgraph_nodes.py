"""Planned calls as nodes and tools of LangGraph, with a scripted chat model."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command
from pydantic import Field
from support_desk import desk_problem, desk_world

from executor.adapters.langgraph_nodes import call_node, plan_node, planned_agent, planned_tools
from executor.adapters.planned_calls import PlannedCalls


class Obedient(BaseChatModel):
    """Calls the tools that are bound, with the first value of each enumeration, until none is bound."""

    bound: list[dict[str, Any]] = Field(default_factory=list)
    offers: list[list[str]] = Field(default_factory=list)
    told: list[str] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "obedient"

    def bind_tools(self, tools, **_):
        return self.model_copy(update={"bound": list(tools)})

    def _generate(self, messages, stop=None, run_manager=None, **_):  # noqa: ARG002 - as the base class has it
        functions = [each["function"] for each in self.bound]
        self.offers.append([each["name"] for each in functions])
        self.told += [each.content for each in messages if isinstance(each, SystemMessage)]
        calls = [
            {"name": each["name"], "args": fill(each["parameters"]), "id": f"{len(self.offers)}-{each['name']}"}
            for each in functions
        ]
        message = AIMessage("" if calls else "done", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])


def fill(schema: dict) -> dict:
    values = {"string": "text", "integer": 7}
    properties = schema["properties"].items()
    return {name: each["enum"][0] if "enum" in each else values[each["type"]] for name, each in properties}


def reports(state) -> list[dict]:
    return [json.loads(each.content) for each in state["messages"] if isinstance(each, ToolMessage)]


def invoke(graph, text: str, *, ways: str, **options):
    given = {"messages": [HumanMessage(text)]}
    return asyncio.run(graph.ainvoke(given, **options)) if ways == "async" else graph.invoke(given, **options)


@pytest.mark.parametrize("ways", ["async", "plain"])
def test_the_graph_offers_what_comes_next_until_the_goal_is_reached(ways) -> None:
    world, desk = desk_world()
    calls, model = PlannedCalls(world, desk_problem(world, "shipped(o7)")), Obedient()
    ended = invoke(planned_agent(calls, model), "ship o7", ways=ways)
    assert model.offers == [["find"], ["pack"], ["ship"], []]
    assert desk.log == ["find o7", "pack o7", "ship o7"]
    assert reports(ended)[-1]["goal"] == "reached"
    assert ended["messages"][-1].content == "done"
    assert "Next (a plan of 3 steps): find(o7)." in model.told[0]


def test_a_surprise_is_told_and_another_way_is_offered() -> None:
    world, desk = desk_world()
    desk.lying.add("ship")
    calls, model = PlannedCalls(world, desk_problem(world, "shipped(o7)")), Obedient()
    ended = invoke(planned_agent(calls, model), "ship o7", ways="async")
    assert model.offers == [["find"], ["pack"], ["ship"], ["courier"], []]
    assert reports(ended)[2]["unexpected"] == ["not shipped(o7)"]
    failed = [each for each in ended["messages"] if isinstance(each, ToolMessage)][2]
    assert failed.status == "error"
    assert failed.artifact["next"] == ["courier(o7)"]


def test_the_nodes_fit_into_graphs_of_ones_own() -> None:
    world, desk = desk_world()
    calls, model = PlannedCalls(world, desk_problem(world, "packed(o7)")), Obedient()
    graph = StateGraph(MessagesState)
    graph.add_node("agent", plan_node(calls, model))
    graph.add_node("tools", call_node(calls))
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", tools_condition, {"tools": "tools", END: END})
    graph.add_edge("tools", "agent")
    invoke(graph.compile(), "pack o7", ways="async")
    assert desk.log == ["find o7", "pack o7"]


@pytest.mark.parametrize("ways", ["async", "plain"])
@pytest.mark.parametrize("answer", [True, "no, too dear"])
def test_an_approval_interrupts_the_graph_and_nothing_is_done_twice(ways, answer) -> None:
    world, desk = desk_world()
    calls, model = PlannedCalls(world, desk_problem(world, "refunded(o7)")), Obedient()
    graph = planned_agent(calls, model, checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}, "recursion_limit": 9}
    stopped = invoke(graph, "refund o7", ways=ways, config=config)
    [asked] = stopped["__interrupt__"]
    assert asked.value["approve"] == "refund"
    assert "amount" in str(asked.value["known"])
    assert desk.log == ["find o7"]
    command = Command(resume=answer)
    ended = asyncio.run(graph.ainvoke(command, config)) if ways == "async" else graph.invoke(command, config)
    if answer is True:
        assert desk.log == ["find o7", "refund o7"]
        assert reports(ended)[-1]["goal"] == "reached"
    else:
        assert desk.log == ["find o7"]
        assert "too dear" in reports(ended)[-1]["reason"]


@pytest.mark.parametrize(
    "answer", ["ok", "", {"answer": "yes"}, {"values": {"amout": 3}}, {"values": {"amount": "lots"}}]
)
def test_an_approval_that_does_not_fit_is_asked_for_again(answer) -> None:
    world, desk = desk_world()
    graph = planned_agent(
        PlannedCalls(world, desk_problem(world, "refunded(o7)")), Obedient(), checkpointer=InMemorySaver()
    )
    config = {"configurable": {"thread_id": "1"}, "recursion_limit": 9}
    [first] = invoke(graph, "refund o7", ways="async", config=config)["__interrupt__"]
    [again] = asyncio.run(graph.ainvoke(Command(resume=answer), config))["__interrupt__"]
    assert {**first.value, "objection": again.value["objection"]} == again.value
    assert desk.log == ["find o7"]
    ended = asyncio.run(graph.ainvoke(Command(resume={"values": {"amount": 3}}), config))
    assert desk.log == ["find o7", "refund o7"]
    assert reports(ended)[-1]["goal"] == "reached"


def take_turns(calls: PlannedCalls, *turns: list[tuple[str, dict]]):
    """Return a graph whose model makes the calls of `turns`, all with the same id, and then says that it is done."""
    left = list(turns)

    class Scripted:
        def bind_tools(self, _):
            return self

        async def ainvoke(self, _):
            asked = left.pop(0) if left else []
            return AIMessage("", tool_calls=[{"name": name, "args": given, "id": "c"} for name, given in asked])

    return planned_agent(calls, Scripted(), checkpointer=InMemorySaver())


def test_a_call_that_becomes_ready_within_its_turn_is_asked_about_in_the_next() -> None:
    world, desk = desk_world()
    calls, refund = PlannedCalls(world, desk_problem(world, "refunded(o7)")), {"o": "o7", "reason": "x", "amount": 7}
    graph = take_turns(calls, [("find", {"o": "o7"}), ("refund", refund)], [("refund", refund)])
    config = {"configurable": {"thread_id": "1"}}
    stopped = invoke(graph, "refund o7", ways="async", config=config)
    assert [each["status"] for each in reports(stopped)] == ["SUCCEEDED", "REFUSED"]
    assert "call it again" in reports(stopped)[-1]["reason"]
    assert len(stopped["__interrupt__"]) == 1
    asyncio.run(graph.ainvoke(Command(resume=True), config))
    assert desk.log == ["find o7", "refund o7"]


def test_an_approval_is_for_its_own_call_also_where_ids_are_the_same() -> None:
    world, desk = desk_world()
    desk.facts |= {"known o7", "known o8"}
    problem = desk_problem(world, "refunded(o7)", "refunded(o8)")
    calls = PlannedCalls(world, problem)
    find = [("find", {"o": name}) for name in ("o7", "o8")]
    both = [("refund", {"o": name, "reason": "x", "amount": 7}) for name in ("o7", "o8")]
    graph = take_turns(calls, find, both)
    config = {"configurable": {"thread_id": "1"}}
    invoke(graph, "refund", ways="async", config=config)
    asyncio.run(graph.ainvoke(Command(resume="yes"), config))
    asyncio.run(graph.ainvoke(Command(resume="no"), config))
    assert [each for each in desk.log if "refund" in each] == ["refund o7"]


def test_fixed_tools_say_what_comes_next_if_they_are_called_out_of_turn() -> None:
    world, desk = desk_world()
    calls = PlannedCalls(world, desk_problem(world, "shipped(o7)"))

    async def main():
        tools = {each.name: each for each in await planned_tools(calls)}
        early = json.loads(await tools["ship"].ainvoke({"o": "o7"}))
        later = [json.loads(await tools[name].ainvoke({"o": "o7"})) for name in ("find", "pack", "ship")]
        return tools, early, later

    tools, early, later = asyncio.run(main())
    assert set(tools) == {"find", "pack", "ship"}
    assert (early["status"], early["next"]) == ("REFUSED", ["find(o7)"])
    assert later[-1]["goal"] == "reached"
    assert desk.log == ["find o7", "pack o7", "ship o7"]


def test_fixed_tools_work_in_langgraphs_own_tool_node() -> None:
    world, desk = desk_world()
    calls = PlannedCalls(world, desk_problem(world, "packed(o7)"))
    tools = asyncio.run(planned_tools(calls, ["find", "pack"]))
    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "tools")
    asked = AIMessage("", tool_calls=[{"name": "find", "args": {"o": "o7"}, "id": "1"}])
    ended = graph.compile().invoke({"messages": [asked]})
    assert json.loads(ended["messages"][-1].content)["next"] == ["pack(o7)"]
    assert desk.log == ["find o7"]


def test_wrong_calls_of_a_model_are_answered() -> None:
    world, desk = desk_world()
    calls = PlannedCalls(world, desk_problem(world, "packed(o7)"))
    wrong = [
        {"name": "nothing", "args": {}, "id": "1"},
        {"name": "find", "args": {"o": "moon"}, "id": "2"},
        {"name": "ship", "args": {"o": "o7"}, "id": "3"},
    ]
    graph = StateGraph(MessagesState)
    graph.add_node("call", call_node(calls))
    graph.add_edge(START, "call")
    ended = graph.compile().invoke({"messages": [AIMessage("", tool_calls=wrong)]})
    assert [each["status"] for each in reports(ended)] == ["REFUSED"] * 3
    assert desk.log == []
