"""Offer planned calls to agents of LangGraph: a node that asks the model, a node that calls, and both as a graph.

The state of the graph has `messages`, as `MessagesState` has. `plan_node` binds the tools that are offered now, so that
the model sees no others; `call_node` calls them and answers with what was observed.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from typing import Any

from langchain_core.messages import AIMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import StructuredTool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.runtime import get_runtime
from langgraph.types import Command, Send, interrupt

from executor.adapters.offers import Offer
from executor.adapters.planned_calls import PlannedCalls
from executor.events.answers import read_approved_form
from planner.errors import InputError


def planned_agent(calls: PlannedCalls, model: Any, **options: Any) -> Any:
    """Return a compiled graph: the model is asked, calls are made and observed, until the model calls no more.

    `options` are those of `StateGraph.compile`, such as a `checkpointer`, which questions to people need.
    """
    graph = StateGraph(MessagesState)
    graph.add_node("plan", plan_node(calls, model))
    graph.add_node("call", call_node(calls))
    graph.add_conditional_edges("plan", _route, {"call": "call", END: END})
    if options.get("checkpointer"):
        graph.add_node("ask", ask_node(calls), destinations=("ask", "plan"))
    first = "ask" if options.get("checkpointer") else "plan"  # a run that is taken up may wait for an answer
    graph.add_edge(START, first)
    graph.add_edge("call", first)
    return graph.compile(**options)


def _route(state: Mapping[str, Any]) -> str:
    return "call" if getattr(state["messages"][-1], "tool_calls", None) else str(END)


def plan_node(calls: PlannedCalls, model: Any) -> Any:
    """Return a node that asks `model`, a chat model, with the tools that are offered now and what comes next."""

    async def ask(state: Mapping[str, Any]) -> dict[str, Any]:
        _take_deps(calls)
        tools = [_describe_tool(each) for each in await calls.offers()]
        asked = model.bind_tools(tools) if tools else model
        said = [SystemMessage(await calls.describe()), *state["messages"]]
        return {"messages": [await asked.ainvoke(said)]}

    return _node(ask, "plan")


def call_node(calls: PlannedCalls) -> Any:
    """Return a node that makes the calls of the latest message, one after the other, and reports each.

    Where a call needs an approval, the graph is interrupted with the call and the question: its `text`, what is
    `known`, with all values, and the `form` of an answer. It is resumed with `Command(resume=answer)`; an answer that
    does not fit has it interrupted again, with the `objection`.
    """

    async def act(state: Mapping[str, Any]) -> dict[str, Any]:
        _take_deps(calls)
        message = state["messages"][-1]
        asked = message.tool_calls if isinstance(message, AIMessage) else []
        answers = dict[int, Any]()  # by the place of the call: ids are the model's, and may be given twice
        for place, each in enumerate(
            asked
        ):  # before anything is done: LangGraph begins the node again after an interrupt
            wanted = await calls.ask_for_approval(each["name"], each["args"])
            while wanted is not None:
                answers[place] = interrupt({"approve": each["name"], "arguments": each["args"], **wanted})
                objection = await calls.object_to_approval(each["name"], each["args"], answers[place])
                wanted = {**wanted, "objection": objection} if objection else None
        return {"messages": [await _answer_call(calls, each, place, answers) for place, each in enumerate(asked)]}

    return _node(act, "call")


def ask_node(calls: PlannedCalls) -> Any:
    """Return a node that interrupts the graph with the open question of the run, and goes on with the answer.

    The question is for what a call waits, whether a step in doubt happened, or any other but an approval. The node
    comes again while another one is open, and else goes on to the node "plan". An answer that does not fit has the
    question asked again, with the `objection`; one that comes after somebody else's is dropped.
    """

    async def ask(state: Mapping[str, Any]) -> Any:
        _take_deps(calls)
        shown = state.get("question")
        if shown is None:
            question = await calls.find_question()
            return Command(goto="plan" if question is None else _ask_for(question))
        answer = interrupt(shown)  # what was shown is in the state: the answer is for no other question
        try:
            await calls.answer(shown["question"], answer)
        except InputError as error:
            question = await calls.find_question()
            if question is not None and question["question"] == shown["question"]:
                return Command(goto=_ask_for({**question, "objection": str(error)}))
        return Command(goto="ask")

    return _node(ask, "ask")


def _take_deps(calls: PlannedCalls) -> None:
    """Let handlers have the context of the graph as their deps, if it is given one: `graph.invoke(…, context=…)`."""
    with suppress(RuntimeError, KeyError, AttributeError):  # outside of a graph
        calls.take_deps(get_runtime().context)


def _ask_for(question: Mapping[str, Any]) -> Send:
    return Send("ask", {"question": dict(question)})


async def _answer_call(
    calls: PlannedCalls, asked: Mapping[str, Any], place: int, answers: Mapping[int, Any]
) -> ToolMessage:
    name, arguments = asked["name"], asked["args"]
    if place not in answers and await calls.ask_for_approval(name, arguments) is not None:
        reason = "a person has to approve it, which was not asked before this turn; call it again"
        report = {"step": name, "status": "REFUSED", "reason": reason}
    else:
        report = (await calls.call(name, arguments, approved=_read_decision(answers.get(place)))).to_dict()
    failed = report["status"] in ("REFUSED", "FAILED", "PARTIAL", "IN_DOUBT")
    return ToolMessage(
        json.dumps(report),
        tool_call_id=asked["id"],
        name=asked["name"],
        artifact=report,
        status="error" if failed else "success",
    )


def _read_decision(answer: Any) -> Any:
    """Return what a person has decided, the words of a refusal or a form; None where nobody was asked."""
    if answer is None or isinstance(answer, bool) or read_approved_form(answer) is not None:
        return answer
    return True if str(answer).strip().casefold() in ("yes", "y", "true") else str(answer)


async def planned_tools(calls: PlannedCalls, names: list[str] | None = None) -> list[StructuredTool]:
    """Return tools for `create_agent` and other graphs that want a fixed list: those in `names`, or of the plan.

    Each answers with its report; one that is called out of turn says what comes next.
    """
    if names is None:
        plan = await calls.plan()
        steps = () if plan is None else plan.steps
        names = [*dict.fromkeys(step.action for step in steps), *calls.always]
    return [_make_tool(calls, each) for each in calls.offers_of(names)]


def _make_tool(calls: PlannedCalls, offer: Offer) -> StructuredTool:
    async def call(**arguments: Any) -> str:
        _take_deps(calls)
        return str(await calls.call(offer.name, arguments))

    return StructuredTool(
        name=offer.name,
        description=offer.description,
        args_schema=dict(offer.parameters),
        func=_make_plain(call),
        coroutine=call,
    )


def _describe_tool(offer: Offer) -> dict[str, Any]:
    """Return an offer in the form that chat models bind."""
    described = {"name": offer.name, "description": offer.description, "parameters": dict(offer.parameters)}
    return {"type": "function", "function": described}


def _node(function: Callable[[Mapping[str, Any]], Awaitable[Any]], name: str) -> RunnableLambda:
    """Return a node for `invoke` and `ainvoke`."""
    return RunnableLambda(_make_plain(function), afunc=function, name=name)


def _make_plain(function: Callable[..., Awaitable[Any]]) -> Callable[..., Any]:
    """Return a plain function that runs `function` in an event loop of its own, also where one is running."""

    def call(*given: Any, **named: Any) -> Any:
        async def main() -> Any:
            return await function(*given, **named)

        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(main())
        with ThreadPoolExecutor(1) as thread:  # LangGraph keeps what an interrupt needs in the context
            return thread.submit(copy_context().run, asyncio.run, main()).result()

    return call
