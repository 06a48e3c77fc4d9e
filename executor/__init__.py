"""Forethought's executor: plans are carried out, their effects observed, and patched where these do not come about.

Everything public is here: `from executor import World, Executor`. Names are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from executor.agent.agent import Agent
    from executor.agent.events import AgentEvent
    from executor.agent.foreign import Repaired, RepairStatus, repair
    from executor.agent.missing import Missing
    from executor.agent.proposals import Achieved, Proposal, Standing
    from executor.agent.reading import Readings
    from executor.agent.rooms import Room
    from executor.agent.why import Why
    from executor.engine import Executor
    from executor.errors import DamagedError, DrivenError, JournalError, NoRunError, RunError
    from executor.follow.listeners import Follower
    from executor.follow.show import Show
    from executor.follow.summary import summary
    from executor.follow.tracing import Spans
    from executor.handle import Outcome, Run
    from executor.journal import Journal
    from executor.language.allowance import Allowance
    from executor.language.asking import ModelClient, TextAnswer
    from executor.language.protocol import LanguageModel
    from executor.language.settings import model_of
    from executor.learning.experience import Experience, learn
    from executor.learning.options import Learning
    from executor.learning.tallies import Tally
    from executor.plans.action_plan import ActionPlan, PlanStep
    from executor.record.events import Event, Rung
    from executor.record.facts import Note, Provenance
    from executor.record.outline import Outline
    from executor.record.status import RunStatus, StepStatus
    from executor.record.stored import Retention, RunInfo
    from executor.recovery.asking import Request
    from executor.recovery.policy import Recovery
    from executor.world.context import Context, Memory, MemoryChange
    from executor.world.hooks import HandlerCall, Proceed
    from executor.world.observers import CANNOT_SAY, Facts, Seen
    from executor.world.policy import Policy, Rate
    from executor.world.results import ActionResult, Metrics, Wait
    from executor.world.world import World

__all__ = [
    "CANNOT_SAY",
    "Achieved",
    "ActionPlan",
    "ActionResult",
    "Agent",
    "AgentEvent",
    "Allowance",
    "Context",
    "DamagedError",
    "DrivenError",
    "Event",
    "Executor",
    "Experience",
    "Facts",
    "Follower",
    "HandlerCall",
    "Journal",
    "JournalError",
    "LanguageModel",
    "Learning",
    "Memory",
    "MemoryChange",
    "Metrics",
    "Missing",
    "ModelClient",
    "NoRunError",
    "Note",
    "Outcome",
    "Outline",
    "PlanStep",
    "Policy",
    "Proceed",
    "Proposal",
    "Provenance",
    "Rate",
    "Readings",
    "Recovery",
    "RepairStatus",
    "Repaired",
    "Request",
    "Retention",
    "Room",
    "Run",
    "RunError",
    "RunInfo",
    "RunStatus",
    "Rung",
    "Seen",
    "Show",
    "Spans",
    "Standing",
    "StepStatus",
    "Tally",
    "TextAnswer",
    "Wait",
    "Why",
    "World",
    "learn",
    "model_of",
    "repair",
    "summary",
]

_MODULES = {
    "agent.agent": "Agent",
    "agent.foreign": "RepairStatus Repaired repair",
    "agent.events": "AgentEvent",
    "agent.missing": "Missing",
    "agent.proposals": "Achieved Proposal Standing",
    "agent.reading": "Readings",
    "agent.rooms": "Room",
    "agent.why": "Why",
    "engine": "Executor",
    "errors": "DamagedError DrivenError JournalError NoRunError RunError",
    "follow.listeners": "Follower",
    "follow.show": "Show",
    "follow.summary": "summary",
    "follow.tracing": "Spans",
    "handle": "Outcome Run",
    "journal": "Journal",
    "language.allowance": "Allowance",
    "language.asking": "ModelClient TextAnswer",
    "language.protocol": "LanguageModel",
    "language.settings": "model_of",
    "learning.experience": "Experience learn",
    "learning.options": "Learning",
    "learning.tallies": "Tally",
    "plans.action_plan": "ActionPlan PlanStep",
    "record.events": "Event Rung",
    "record.outline": "Outline",
    "record.facts": "Note Provenance",
    "record.status": "RunStatus StepStatus",
    "record.stored": "Retention RunInfo",
    "recovery.asking": "Request",
    "recovery.policy": "Recovery",
    "world.context": "Context Memory MemoryChange",
    "world.hooks": "HandlerCall Proceed",
    "world.observers": "CANNOT_SAY Facts Seen",
    "world.policy": "Policy Rate",
    "world.results": "ActionResult Metrics Wait",
    "world.world": "World",
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
