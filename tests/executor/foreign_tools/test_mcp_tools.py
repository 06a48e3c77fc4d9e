"""Tools of an MCP server become actions: names, types, roles, tags, contracts."""

import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import tool_server
import uvicorn
from mcp.server import MCPServer
from mcp.types import ToolAnnotations
from tool_server import make_server

from executor import Executor, RunStatus, World, function_tools, mcp_tools
from planner import Domain, Entity, InputError, solve
from planner.language.documents import read_documents
from planner.language.documents.document_writer import write_yaml

SCRIPT = str(Path(tool_server.__file__))
pytestmark = pytest.mark.anyio
CONTRACTS = {
    "get_order": {"provides": ["known(order_id)"], "tags": ["read_only"]},
    "list_orders": {"provides": ["listed"], "tags": ["read_only"]},
    "refund": {
        "parameters": {"amount": {"from": {"fact": "known(order_id)", "path": "data.amount"}}},
        "requires": ["known(order_id)"],
        "provides": ["refunded(order_id)"],
        "tags": ["irreversible"],
    },
}


def is_paid(calls, order):
    return any(f"refund {order}" in each for each in calls)


async def refund_one(tools, paid=None):
    """Add `tools` to a domain, and run to a refund; return the outcome."""
    domain = Domain("shop")
    tools.add_to(domain)
    world = World(domain)
    world.observe_tool("known(order_id)", tools["get_order"], at="amount", equals=20)
    if paid is not None:
        world.observer("refunded(order_id)", conclusive=True)(
            lambda order_id: any(f"refund {order_id}" in each for each in paid)
        )
    return await Executor(world).run(domain.problem(objects={"o1": "order"}, goal=["refunded(o1)"]))


async def test_a_server_in_this_process_is_planned_for_and_called():
    calls = []
    async with mcp_tools(make_server(calls=calls), contracts=CONTRACTS) as tools:
        outcome = await refund_one(tools, calls)
    assert outcome.status is RunStatus.SUCCEEDED
    assert calls[-1] == "refund o1 20 none"


COMMANDS = {"text": f"{sys.executable} {SCRIPT} nothing", "words": [sys.executable, SCRIPT, "nothing"]}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
async def test_a_command_is_started_and_stopped(command):
    async with mcp_tools(command, contracts=CONTRACTS) as tools:
        outcome = await refund_one(tools)
        assert tools.source.name == "crm"
    assert outcome.status is RunStatus.UNVERIFIED  # nobody has seen the refund
    assert [str(each.step) for each in outcome.steps] == ["get_order(o1)", "refund(o1)"]


@contextmanager
def serve(app, port):
    """Serve `app` in a thread."""
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error", lifespan="on"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(10)


async def test_a_url_is_reached_with_headers(free_tcp_port):
    inner, seen = make_server().streamable_http_app(), set()

    async def app(scope, receive, send):
        if scope["type"] == "http":
            seen.add(dict(scope["headers"]).get(b"x-key"))
        await inner(scope, receive, send)

    url = f"http://127.0.0.1:{free_tcp_port}/mcp"
    with serve(app, free_tcp_port):
        async with mcp_tools(url, headers={"X-Key": "secret"}, contracts=CONTRACTS) as tools:
            outcome = await refund_one(tools)
    assert outcome.status is RunStatus.UNVERIFIED
    assert seen == {b"secret"}


async def test_roles_are_shown_and_overridden():
    async with mcp_tools(make_server(), contracts=CONTRACTS, parameters={"refund.reason": "Reason"}) as tools:
        shown = tools.describe()
        roles = {each.name: each.type_name or "data" for each in tools["refund"].roles}
    assert roles == {"order_id": "order", "amount": "data", "reason": "Reason"}
    assert "its contract uses it in an atom" in shown
    assert "you say so" in shown


async def test_types_follow_from_the_schema():
    async with mcp_tools(make_server(), contracts=CONTRACTS) as tools:
        domain = Domain("shop")
        tools.add_to(domain)
    amount, reason = domain.model.actions["refund"].data
    assert (amount.name, amount.annotation, amount.has_default) == ("amount", float, False)
    assert (reason.annotation, reason.default) == (str, "none")
    (status,) = domain.model.actions["list_orders"].data
    assert "pending" in str(status.annotation)


async def test_classes_of_the_author_are_the_types():
    class Order(Entity): ...

    domain = Domain("shop")
    domain.predicate("placed", Order)
    contracts = {"refund": {"provides": ["refunded(order_id)"], "tags": []}}
    async with mcp_tools(make_server(), contracts=contracts, only=["refund"]) as tools:
        (action,) = tools.add_to(domain)
    assert action.parameters[0].types == ("Order",)


async def test_an_action_that_is_declared_keeps_its_declaration():
    text = """
domain: shop
types: [order]
actions:
  get_order: {parameters: {order_id: order}, provides: ["fetched(order_id)"], tags: [read_only]}
"""
    (model,) = read_documents(text).domains
    domain = Domain.of(model)
    async with mcp_tools(make_server(), only=["get_order"]) as tools:
        (action,) = tools.add_to(domain)
        outcome = await Executor(World(domain)).run(domain.problem(objects={"o1": "order"}, goal=["fetched(o1)"]))
    assert action == model.actions["get_order"]
    assert outcome.steps[0].result["data"]["amount"] == 20


HINTS = [
    (None, ["irreversible"]),
    ({"readOnlyHint": True}, ["idempotent", "read_only"]),
    ({"destructiveHint": True, "idempotentHint": True}, ["idempotent", "irreversible"]),
    ({"destructiveHint": False}, []),
    ({"idempotentHint": True}, ["idempotent", "irreversible"]),
]


@pytest.mark.parametrize(("hints", "believed"), HINTS, ids=str)
@pytest.mark.parametrize("trusted", [True, False])
async def test_hints_are_believed_towards_caution_only(hints, believed, trusted):
    server = MCPServer("any")
    server.tool(name="act", annotations=ToolAnnotations(**hints) if hints else None)(lambda: "done")
    confirmed = {"act": {"provides": ["acted"]}}
    async with mcp_tools(server, contracts=confirmed, trusted=trusted) as tools:
        assert tools["act"].tags == (set(believed) if trusted else {"irreversible"})
    async with mcp_tools(server, trusted=trusted) as tools:
        assert tools["act"].tags == (set(believed) if trusted else {"irreversible"}) | {"unconfirmed"}


async def test_the_author_has_the_last_word_on_tags():
    async with mcp_tools(
        make_server(), contracts={"refund": {"provides": ["refunded(order_id)"], "tags": []}}
    ) as tools:
        assert tools["refund"].tags == set()


async def test_a_contract_in_meta_is_a_proposal_unless_its_server_is_trusted():
    server = MCPServer("any")
    meta = {"example.org/requires": ["open"], "example.org/provides": ["shut"]}
    server.tool(name="shut", meta=meta, annotations=ToolAnnotations(destructiveHint=False))(lambda: "done")
    async with mcp_tools(server) as tools:
        assert not tools["shut"].contract.is_confirmed
        assert tools["shut"].withheld
    async with mcp_tools(server, trusted=True) as tools:
        domain = Domain("door")
        tools.add_to(domain)
        result = solve(domain.problem(initial=["open"], goal=["shut"]))
    assert [step.action for step in result.expect_plan().steps] == ["shut"]


async def test_found_objects_join_the_run():
    contracts = {
        "list_orders": {"lists": ["pending(_)"], "found": {"order": "data.orders.*.id"}, "tags": ["read_only"]},
        "refund": {
            "parameters": {"amount": "data"},
            "requires": ["pending(order_id)"],
            "provides": ["refunded(order_id)"],
            "tags": ["trusted"],
        },
    }
    calls = []
    domain = Domain("shop", types=["order"])
    async with mcp_tools(make_server(calls=calls), contracts=contracts, only=contracts) as tools:
        tools.add_to(domain)
        goal = "(forall (?o - order) (imply (pending ?o) (refunded ?o)))"
        outcome = await Executor(World(domain)).run(domain.problem(goal=goal), memory={"amount": 5})
    assert sorted(each for each in calls if each.startswith("refund")) == ["refund o1 5 none", "refund o2 5 none"]
    assert outcome.status in (RunStatus.SUCCEEDED, RunStatus.UNVERIFIED)


async def test_tools_of_two_servers_are_told_apart_by_a_prefix():
    contracts = {"refund": {"provides": ["refunded(order_id)"]}}
    domain = Domain("shop")
    for prefix in ("a_", "b_"):
        async with mcp_tools(make_server(), contracts=contracts, only=["refund"], prefix=prefix) as tools:
            tools.add_to(domain)
    assert list(domain.model.actions) == ["a_refund", "b_refund"]


async def test_no_tool_takes_the_place_of_another():
    domain = Domain("shop")
    async with mcp_tools(make_server()) as tools:
        tools.add_to(domain)
        with pytest.raises(InputError, match="has a handler already; prefix="):
            tools.add_to(domain)


async def test_a_contract_of_a_server_that_does_not_fit_is_left_out():
    server = MCPServer("any")
    meta = {"provides": ["shut(nobody)"], "creates": {"x": "two words"}, "similes": ["close"]}
    server.tool(name="shut", meta=meta)(lambda: "done")
    async with mcp_tools(server) as tools:
        (action,) = tools.add_to(Domain("door"))
        assert [each.what for each in tools.findings] == ["refused"]
    assert str(action.provides[0]) == "done_shut"


async def test_a_default_of_a_contract_counts():
    contract = {"parameters": {"amount": {"default": 2.5}}, "provides": ["refunded(order_id)"], "tags": ["trusted"]}
    calls, domain = [], Domain("shop")
    async with mcp_tools(make_server(calls=calls), contracts={"refund": contract}, only=["refund"]) as tools:
        tools.add_to(domain)
        await Executor(World(domain)).run(domain.problem(objects={"o1": "order"}, goal=["refunded(o1)"]))
    assert calls == ["refund o1 2.5 none"]


async def test_the_domain_can_be_written():
    async with mcp_tools(make_server(), contracts=CONTRACTS, only=["get_order"]) as tools:
        domain = Domain("shop")
        tools.add_to(domain)
    assert "known(order_id)" in write_yaml(domain.model)


MISTAKES = [
    (lambda: mcp_tools(""), "empty"),
    (lambda: mcp_tools("'"), "no command"),
    (lambda: mcp_tools(7), "no MCP server"),
    (lambda: mcp_tools("server", contracts=7), "contracts must be a mapping"),
    (lambda: mcp_tools("server", parameters=[1]), "parameters must be a mapping"),
    (lambda: mcp_tools("server", limits=7), "limits must be ToolLimits"),
    (lambda: mcp_tools("server", prefix="a b"), "prefix must begin"),
    (lambda: mcp_tools("server", prefix=7), "prefix must begin"),
]


@pytest.mark.parametrize(("make", "said"), MISTAKES, ids=range(len(MISTAKES)))
def test_mistakes_are_told(make, said):
    with pytest.raises(InputError, match=said):
        make()


BAD_CONTRACTS = [
    ({"refund": {"provides": ["refunded(amount)", "known(order"]}}, "known"),
    ({"refund": {"provdes": ["x"]}}, "provides"),
    ({"refund": []}, "mapping"),
    ({"refund": {"parameters": {"nothing": "data"}, "provides": ["x"]}}, "no parameter 'nothing'"),
    ({"refund": {"provides": ["refunded(ordr)"]}}, "ordr"),
    ({"refund": {"provides": ["x"], "tags": ["irreversable"]}}, "irreversible"),
]


@pytest.mark.parametrize(("contracts", "said"), BAD_CONTRACTS, ids=[said for _, said in BAD_CONTRACTS])
async def test_contracts_that_do_not_fit_are_told(contracts, said):
    with pytest.raises(InputError, match=said):
        async with mcp_tools(make_server(), contracts=contracts) as tools:
            tools.add_to(Domain("shop"))


async def test_tools_are_looked_up_by_name():
    async with mcp_tools(make_server()) as tools:
        assert len(tools) == 3
        assert "refund" in tools
        with pytest.raises(InputError, match="did you mean 'refund'"):
            tools["refnd"]
        with pytest.raises(InputError, match="Domain"):
            tools.add_to(World(Domain("shop")))


def test_nothing_is_imported_before_it_is_needed():
    heavy = "mcp", "pydantic_ai", "langchain_core", "sqlalchemy"
    code = f"import sys; from executor import World, mcp_tools; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


async def test_two_tools_whose_names_become_one_action_are_both_named():
    def make(name):
        def tell(order_id: str) -> str:
            return order_id

        tell.__name__ = name
        return tell

    async with function_tools(make("a b"), make("a_b")) as tools:
        with pytest.raises(
            InputError, match="a_b of the tool 'a_b' has a handler already from the tool 'a b'; prefix="
        ):
            tools.add_to(Domain("clash"))
