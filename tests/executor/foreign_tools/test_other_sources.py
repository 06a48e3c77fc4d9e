"""Toolsets of pydantic-ai, tools of LangChain and LangGraph, and plain functions become actions."""

import asyncio
from typing import Annotated, Literal

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.tools import ToolException, tool
from pydantic import BaseModel
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai import FunctionToolset, ModelRetry, RunContext
from pydantic_ai.models.test import TestModel

from executor import (
    Executor,
    RunStatus,
    StepStatus,
    ToolLimits,
    World,
    function_tools,
    langchain_tools,
    toolset_tools,
)
from planner import Domain, Entity, From, InputError

pytestmark = pytest.mark.anyio


class Address(BaseModel):
    street: str
    zip: str | None = None


GET, SEND = (
    {"provides": ["known(order_id)"], "tags": ["read_only", "trusted"]},
    {
        "parameters": {"amount": {"from": {"fact": "known(order_id)", "path": "data.amount"}}},
        "requires": ["known(order_id)"],
        "provides": ["sent(order_id)"],
        "tags": ["trusted"],
    },
)
CONTRACTS = {"get_order": GET, "send": SEND}


async def send_one(tools, **options):
    domain = Domain("shop")
    tools.add_to(domain)
    problem = domain.problem(objects={"o1": "order"}, goal=["sent(o1)"])
    return await Executor(World(domain)).run(problem, **options)


async def test_a_toolset_is_called_with_what_it_depends_on():
    calls = []
    toolset = FunctionToolset()

    @toolset.tool
    def get_order(context: RunContext[str], order_id: str) -> dict[str, float]:
        """Get an order."""
        calls.append((context.deps, order_id))
        return {"amount": 20}

    @toolset.tool_plain
    def send(order_id: str, amount: float, to: Address | None = None, how: Literal["fast", "slow"] = "fast") -> str:
        """Send an order."""
        calls.append((order_id, amount, to, how))
        return "sent"

    async with toolset_tools(toolset, deps="shop", contracts=CONTRACTS) as tools:
        outcome = await send_one(tools, memory={"to": {"street": "Elm"}})
    assert outcome.succeeded
    assert calls == [("shop", "o1"), ("o1", 20.0, Address(street="Elm"), "fast")]
    assert all("context" not in tools[name].parameters for name in tools)


async def test_the_tools_of_an_agent_are_those_that_its_model_calls():
    calls = []

    def get_order(order_id: str) -> dict[str, float]:
        """Get an order."""
        calls.append(order_id)
        return {"amount": 20}

    agent = PydanticAgent(TestModel(), tools=[get_order])
    await agent.run("Look it up.")
    assert len(calls) == 1
    contracts = {"get_order": {"provides": ["known(order_id)"], "tags": ["trusted"]}}
    async with toolset_tools(agent, contracts=contracts) as tools:
        domain = Domain("shop")
        tools.add_to(domain)
        outcome = await Executor(World(domain)).run(domain.problem(objects={"o1": "order"}, goal=["known(o1)"]))
    assert outcome.succeeded
    assert calls[1:] == ["o1"]


async def test_a_tool_with_a_model_of_its_own_is_a_tool():
    model = FakeListChatModel(responses=["Short."])

    @tool
    async def sum_up(text: str) -> str:
        """Sum a text up."""
        return str((await model.ainvoke(f"Sum up: {text}")).content)

    tools = langchain_tools(sum_up, contracts={"sum_up": {"provides": ["summed"], "tags": ["trusted"]}})
    domain = Domain("any")
    tools.add_to(domain)
    outcome = await Executor(World(domain)).run(domain.problem(goal=["summed"]), memory={"text": "A long text."})
    assert outcome.succeeded
    assert outcome.steps[0].result["data"] == "Short."


TROUBLE = {
    "asks to be called otherwise": (ModelRetry("no such order"), StepStatus.FAILED, "no such order"),
    "raises": (ValueError("broken"), StepStatus.FAILED, "broken"),
    "runs out of time": (TimeoutError(), StepStatus.IN_DOUBT, "time limit"),
    "leaves": (SystemExit(1), StepStatus.FAILED, "SystemExit"),
}


@pytest.mark.parametrize(("error", "status", "said"), TROUBLE.values(), ids=TROUBLE)
@pytest.mark.parametrize("kind", ["pydantic-ai", "LangChain"])
async def test_a_tool_that_fails_fails_its_step(kind, error, status, said):
    def act() -> str:
        """Act."""
        raise error

    contracts = {"act": {"provides": ["acted"], "tags": []}}
    if kind == "pydantic-ai":
        tools = toolset_tools(FunctionToolset([act]), contracts=contracts)
    else:
        tools = langchain_tools([tool(act)], contracts=contracts)
    async with tools:
        domain = Domain("any")
        tools.add_to(domain)
        outcome = await Executor(World(domain)).run(domain.problem(goal=["acted"]))
    assert outcome.steps[0].status is status
    assert said in outcome.steps[0].reason


async def test_a_toolset_that_wants_approval_is_approved_here():
    def wipe() -> str:
        """Wipe."""
        return "wiped"

    toolset = FunctionToolset()
    toolset.tool_plain(requires_approval=True)(wipe)
    async with toolset_tools(toolset, contracts={"wipe": {"provides": ["wiped"]}}) as tools:
        assert tools["wipe"].tags == {"irreversible", "needs_approval"}


async def test_a_tool_that_hangs_is_given_up():
    async def act() -> str:
        """Act."""
        await asyncio.sleep(30)
        return "done"

    limits = ToolLimits(call_seconds=0.05)
    contracts = {"act": {"provides": ["acted"], "tags": []}}
    async with toolset_tools(FunctionToolset([act]), contracts=contracts, limits=limits) as tools:
        domain = Domain("any")
        tools.add_to(domain)
        outcome = await Executor(World(domain)).run(domain.problem(goal=["acted"]))
    assert outcome.steps[0].status is StepStatus.IN_DOUBT


@tool
def get_order(order_id: str) -> dict:
    """Get an order."""
    return {"amount": 20, "id": order_id}


@tool(response_format="content_and_artifact")
async def send(order_id: str, amount: float, how: Literal["fast", "slow"] = "fast"):
    """Send an order."""
    return f"{order_id} {how}", {"paid": amount}


async def test_langchain_tools_are_called():
    tools = langchain_tools([get_order, send], contracts=CONTRACTS)
    outcome = await send_one(tools)
    assert outcome.succeeded
    assert outcome.steps[-1].result["data"] == {"paid": 20.0}
    assert outcome.steps[-1].result["text"] == "o1 fast"


async def test_a_tool_node_of_langgraph_is_a_list_of_tools():
    from langgraph.prebuilt import ToolNode

    tools = langchain_tools(ToolNode([get_order, send]), contracts=CONTRACTS)
    assert list(tools) == ["get_order", "send"]


async def test_an_error_that_a_tool_puts_in_words_is_no_success():
    @tool
    def act() -> str:
        """Act."""
        raise ToolException("no such card")

    act.handle_tool_error = True
    tools = langchain_tools(act, contracts={"act": {"provides": ["acted"], "tags": ["trusted"]}})
    domain = Domain("any")
    tools.add_to(domain)
    outcome = await Executor(World(domain)).run(domain.problem(goal=["acted"]))
    assert outcome.status is RunStatus.FAILED
    assert "no such card" in outcome.reason


async def test_hints_of_langchain_tools_are_tags_and_metadata():
    @tool
    def look() -> str:
        """Look."""
        return "seen"

    look.tags = ["read_only"]
    assert langchain_tools(look, trusted=True)["look"].tags == {"read_only", "idempotent", "unconfirmed"}
    look.tags, look.metadata = None, {"destructiveHint": False, "_meta": {"provides": ["looked"]}}
    found = langchain_tools(look, trusted=True)["look"]
    assert (found.tags, found.contract.document.provides) == (set(), ["looked"])


class Order(Entity): ...


async def test_functions_keep_their_signatures():
    sent = []

    def get_order(order: Order) -> dict[str, float]:
        """Get an order."""
        assert isinstance(order, Order)
        return {"amount": 20}

    async def send(order: Order, to: Address, amount: Annotated[float, From("known(order)", "data.amount")]) -> None:
        sent.append((order.name, amount, to))

    contracts = {
        "get_order": {"provides": ["known(order)"], "tags": ["read_only", "trusted"]},
        "send": {"requires": ["known(order)"], "provides": ["sent(order)"], "tags": ["trusted"]},
    }
    tools = function_tools(get_order, send, contracts=contracts)
    domain = Domain("shop")
    tools.add_to(domain)
    problem = domain.problem(objects=[Order("o1")], goal=["sent(o1)"])
    outcome = await Executor(World(domain)).run(problem, memory={"to": {"street": "Elm"}})
    assert outcome.succeeded
    assert sent == [("o1", 20.0, Address(street="Elm"))]


async def test_functions_take_whole_numbers_where_they_want_them():
    seen = []

    def pay(order_id: int, cents: int = 5) -> None:
        seen.append((order_id, cents))

    tools = function_tools(pay, contracts={"pay": {"provides": ["paid(order_id)"], "tags": ["trusted"]}})
    domain = Domain("shop")
    tools.add_to(domain)
    for name, fits in (("17", True), ("o17", False)):
        outcome = await Executor(World(domain)).run(domain.problem(objects={name: "order"}, goal=[f"paid({name})"]))
        assert outcome.succeeded is fits
    assert seen == [(17, 5)]
    assert "whole number" in outcome.reason


async def test_a_function_observes():
    def get_order(order_id: str) -> dict[str, str]:
        return {"status": "paid" if order_id == "o1" else "open"}

    contracts = {"get_order": {"provides": ["looked(order_id)"], "tags": ["read_only"]}}
    tools = function_tools(get_order, contracts=contracts)
    domain = Domain("shop")
    tools.add_to(domain)
    domain.action("ship", {"order_id": "order"}, requires=["paid(order_id)"], provides=["shipped(order_id)"])
    world, shipped = World(domain), []

    @world.handler("ship")
    def ship(order_id):
        shipped.append(order_id)

    world.observe_tool("paid(order_id)", tools["get_order"], at="status", equals="paid", conclusive=True)
    for order in ("o1", "o2"):
        problem = domain.problem(objects={order: "order"}, goal=[f"shipped({order})"], unknown=["paid(_)"])
        await Executor(world).run(problem)
    assert shipped == ["o1"]


MISTAKES = [
    (lambda: toolset_tools([1]), "no toolset of pydantic-ai"),
    (lambda: langchain_tools([len]), "no tool of LangChain"),
    (lambda: langchain_tools(7), "no list of tools"),
    (lambda: function_tools(7), "no function"),
    (lambda: function_tools(lambda x: x), "without a type"),
    (lambda: function_tools(send_one, send_one), "two functions"),
    (lambda: ToolLimits(call_seconds=0), "above 0"),
]


@pytest.mark.parametrize(("make", "said"), MISTAKES, ids=[said for _, said in MISTAKES])
def test_mistakes_are_told(make, said):
    with pytest.raises(InputError, match=said):
        make()
