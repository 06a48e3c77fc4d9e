"""Tools of a server that nobody here wrote: npm's `@modelcontextprotocol/server-everything`.

`npm install -g @modelcontextprotocol/server-everything` puts `mcp-server-everything` on the PATH; EVERYTHING_SERVER
names another place.
"""

import os
import shutil

import pytest

from executor import Executor, RunStatus, StepStatus, ToolLimits, World, mcp_tools
from planner import Domain, InputError, NoPlan

SERVER = os.environ.get("EVERYTHING_SERVER") or shutil.which("mcp-server-everything")
pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(SERVER is None, reason="no mcp-server-everything on the PATH, nor in EVERYTHING_SERVER"),
]


def connect(**options):
    return mcp_tools([SERVER, "stdio"], **options)


async def run(tools, goal, **options):
    domain = Domain("everything")
    tools.add_to(domain)
    return await Executor(World(domain)).run(domain.problem(goal=goal), **options)


async def test_all_its_tools_become_actions(tmp_path):
    async with connect(contracts=tmp_path / "everything.yaml") as tools:
        domain = Domain("everything")
        actions = {each.name: each for each in tools.add_to(domain)}
        assert {"echo", "get-sum", "get-structured-content", "trigger-long-running-operation"} <= set(actions)
        assert [(each.name, each.annotation) for each in actions["get-sum"].data] == [("a", float), ("b", float)]
        assert all("unconfirmed" in each.tags for each in actions.values())
        text = tools.write_contracts().read_text()
        assert "confirmed: true" not in text
    path = tmp_path / "everything.yaml"
    path.write_text(text.replace("confirmed: false", "confirmed: true"))
    async with connect(contracts=path) as tools:
        assert not tools.findings
        assert all(tools[name].contract.is_confirmed for name in tools)


async def test_results_of_steps_flow_into_others():
    contracts = {
        "get-structured-content": {"provides": ["weather_known"], "tags": ["read_only", "trusted"]},
        "get-sum": {
            "parameters": {
                "a": {"from": {"fact": "weather_known", "path": "data.temperature"}},
                "b": {"from": {"fact": "weather_known", "path": "data.humidity"}},
            },
            "requires": ["weather_known"],
            "provides": ["summed"],
            "tags": ["trusted"],
        },
    }
    async with connect(contracts=contracts) as tools:
        outcome = await run(tools, ["summed"], memory={"location": "Chicago"})
        assert outcome.status is RunStatus.SUCCEEDED
        first, second = outcome.steps
        total = first.result["data"]["temperature"] + first.result["data"]["humidity"]
        assert f"is {total}" in second.result["text"]
        with pytest.raises(InputError, match="location"):
            await run(tools, ["summed"])
        wrong = await run(tools, ["summed"], memory={"location": "Atlantis"})
        assert wrong.status is RunStatus.FAILED
        assert "Chicago" in wrong.reason


async def test_what_is_not_confirmed_is_not_called():
    contracts = {"echo": {"provides": ["echoed"], "tags": ["trusted"]}}
    async with connect(contracts=contracts) as tools:
        with pytest.raises(NoPlan, match="simulate-research-query must not be carried out"):
            await run(tools, ["echoed", "done_toggle_simulated_logging"], memory={"message": "hi"})


async def test_a_long_operation_is_given_up():
    contracts = {"trigger-long-running-operation": {"provides": ["triggered"], "tags": []}}
    async with connect(contracts=contracts, limits=ToolLimits(call_seconds=0.3)) as tools:
        outcome = await run(tools, ["triggered"])
    assert outcome.steps[0].status is StepStatus.IN_DOUBT
    assert "ToolLimits.call_seconds" in outcome.steps[0].reason
