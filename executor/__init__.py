"""Carry out plans: call handlers, observe effects, and patch the plan if an expected effect does not come about.

All public names are here: `from executor import World, Executor`. They are imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from executor.adapters.planned_calls import PlannedCalls
    from executor.agent.agent import Agent
    from executor.agent.agent_events import AgentEvent
    from executor.agent.conversations.room import Room
    from executor.agent.foreign_plans.repair_plan import Repaired, RepairStatus, repair
    from executor.agent.goal_reading.confirmed_readings import Readings
    from executor.agent.plan_search import Missing
    from executor.agent.proposals import Achieved, Proposal, Standing
    from executor.agent.why import Why
    from executor.errors import DamagedError, DrivenError, JournalError, NoRunError, RunError, RunExists
    from executor.events.events import Event, Note, Provenance, Rung, RunStatus, StepStatus
    from executor.events.stored_runs import Retention, RunInfo
    from executor.executor import Executor
    from executor.foreign_tools.foreign_tools import ForeignTools
    from executor.foreign_tools.function_tools import function_tools
    from executor.foreign_tools.langchain_tools import langchain_tools
    from executor.foreign_tools.mcp_tools import mcp_tools
    from executor.foreign_tools.tool import ToolLimits
    from executor.foreign_tools.toolset_tools import toolset_tools
    from executor.journal import Journal
    from executor.language_model.checked_answers import ModelClient, TextAnswer
    from executor.language_model.protocol import Allowance, LanguageModel
    from executor.language_model.settings import model_of
    from executor.learning.attempts import Tally
    from executor.learning.experience import Experience, learn
    from executor.learning.learned_action import Learning
    from executor.plans.action_plan import ActionPlan, PlanStep
    from executor.recovery.ask_people import Request
    from executor.recovery.recovery_policy import Recovery
    from executor.report.live import Follower, Show
    from executor.report.progress import summary
    from executor.report.tracing import Spans
    from executor.run import Run, RunOutcome
    from executor.tools.context import Context, HandlerCall, Memory, MemoryChange, Outline, Proceed
    from executor.tools.observers import CANNOT_SAY, Facts, Seen
    from executor.tools.results import ActionResult, InDoubt, Metrics, NothingDone, Wait
    from executor.tools.step_policy import ExecutionPolicy, Rate
    from executor.tools.world import World

# fmt: off
__all__ = [
    "CANNOT_SAY", "Achieved", "ActionPlan", "ActionResult", "Agent", "AgentEvent", "Allowance", "Context",
    "DamagedError", "DrivenError", "Event", "ExecutionPolicy", "Executor", "Experience", "Facts", "Follower",
    "ForeignTools", "HandlerCall", "InDoubt", "Journal", "JournalError", "LanguageModel", "Learning", "Memory",
    "MemoryChange", "Metrics", "Missing", "ModelClient", "NoRunError", "Note", "NothingDone", "Outline", "PlanStep",
    "PlannedCalls", "Proceed", "Proposal", "Provenance", "Rate", "Readings", "Recovery", "RepairStatus", "Repaired",
    "Request", "Retention", "Room", "Run", "RunError", "RunExists", "RunInfo", "RunOutcome", "RunStatus", "Rung",
    "Seen", "Show", "Spans", "Standing", "StepStatus", "Tally", "TextAnswer", "ToolLimits", "Wait", "Why", "World",
    "function_tools", "langchain_tools", "learn", "mcp_tools", "model_of", "repair", "summary", "toolset_tools",
]
# fmt: on

_MODULES = {
    "adapters.planned_calls": "PlannedCalls",
    "agent.agent": "Agent",
    "agent.conversations.room": "Room",
    "agent.agent_events": "AgentEvent",
    "agent.foreign_plans.repair_plan": "RepairStatus Repaired repair",
    "agent.goal_reading.confirmed_readings": "Readings",
    "agent.plan_search": "Missing",
    "agent.proposals": "Achieved Proposal Standing",
    "agent.why": "Why",
    "errors": "DamagedError DrivenError JournalError NoRunError RunError RunExists",
    "events.events": "Event Note Provenance RunStatus Rung StepStatus",
    "events.stored_runs": "Retention RunInfo",
    "executor": "Executor",
    "foreign_tools.foreign_tools": "ForeignTools",
    "foreign_tools.function_tools": "function_tools",
    "foreign_tools.langchain_tools": "langchain_tools",
    "foreign_tools.mcp_tools": "mcp_tools",
    "foreign_tools.tool": "ToolLimits",
    "foreign_tools.toolset_tools": "toolset_tools",
    "journal": "Journal",
    "language_model.checked_answers": "ModelClient TextAnswer",
    "language_model.protocol": "Allowance LanguageModel",
    "language_model.settings": "model_of",
    "learning.attempts": "Tally",
    "learning.experience": "Experience learn",
    "learning.learned_action": "Learning",
    "plans.action_plan": "ActionPlan PlanStep",
    "recovery.ask_people": "Request",
    "recovery.recovery_policy": "Recovery",
    "report.live": "Follower Show",
    "report.progress": "summary",
    "report.tracing": "Spans",
    "run": "Run RunOutcome",
    "tools.context": "Context HandlerCall Memory MemoryChange Outline Proceed",
    "tools.observers": "CANNOT_SAY Facts Seen",
    "tools.results": "ActionResult InDoubt Metrics NothingDone Wait",
    "tools.step_policy": "Rate ExecutionPolicy",
    "tools.world": "World",
}
"""Which module has which names."""
_HOMES = {name: f"executor.{module}" for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'executor' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
