"""Every door, each by one line: all that follows tries the doors that are registered here."""

from __future__ import annotations

from doors.agent_doors import AgentDoor, RoomDoor, StandingDoor
from doors.call_doors import CallsDoor, GraphDoor, ToolsetDoor
from doors.command_door import CommandDoor
from doors.door import APART, DOORS, door
from doors.mcp_door import McpDoor
from doors.run_doors import ExecutorDoor, NestedDoor, WorkerDoor
from doors.temporal_door import TemporalDoor

__all__ = ["APART", "DOORS"]

for _model in ("sequential", "parallel", "dag", "reactive", "policy"):
    door(_model, ExecutorDoor, model=_model)
door("timed", ExecutorDoor, flavour="timed")
door("hierarchical", ExecutorDoor, flavour="tasks")
door("plan by hand", ExecutorDoor, is_listed=True)
door("plan without goal", ExecutorDoor, is_listed=True, has_goal=False)
door("named run", ExecutorDoor, is_named=True)
door("without journal", ExecutorDoor, has_journal=False)
door("agent", AgentDoor)
door("room", RoomDoor)
for _verb in ("maintain", "when", "at", "every"):
    door(_verb, StandingDoor, verb=_verb, has_occasion=_verb in ("at", "every"), is_virtual=_verb == "every")
door("planned calls", CallsDoor)
door("pydantic-ai", ToolsetDoor)
door("langgraph", GraphDoor)
door("mcp", McpDoor)
door("worker", WorkerDoor)
door("nested run", NestedDoor)
door("agent without journal", AgentDoor, has_journal=False)
door("calls without journal", CallsDoor, has_journal=False)
APART |= {each.name: each for each in (CommandDoor, TemporalDoor)}
