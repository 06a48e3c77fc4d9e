"""Forethought's executor: plans are carried out, their effects observed, and patched where these do not come about.

Everything public is here: `from executor import World, Executor`. Names are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from executor.asking import Request
    from executor.context import Context, Memory
    from executor.engine import Executor, Outcome, Run
    from executor.errors import DamagedError, DrivenError, JournalError, RunError
    from executor.events import Event, Note, Provenance, Rung
    from executor.journal import Journal
    from executor.listeners import Follower
    from executor.observers import CANNOT_SAY, Facts, Seen
    from executor.plans import ActionPlan, PlanStep
    from executor.policy import Policy
    from executor.recovery import Recovery
    from executor.results import ActionResult, Metrics, Wait
    from executor.show import Show
    from executor.status import RunStatus, StepStatus
    from executor.stored import RunInfo
    from executor.tracing import Spans
    from executor.world import World

__all__ = [
    "CANNOT_SAY",
    "ActionPlan",
    "ActionResult",
    "Context",
    "DamagedError",
    "DrivenError",
    "Event",
    "Executor",
    "Facts",
    "Follower",
    "Journal",
    "JournalError",
    "Memory",
    "Metrics",
    "Note",
    "Outcome",
    "PlanStep",
    "Policy",
    "Provenance",
    "Recovery",
    "Request",
    "Run",
    "RunError",
    "RunInfo",
    "RunStatus",
    "Rung",
    "Seen",
    "Show",
    "Spans",
    "StepStatus",
    "Wait",
    "World",
]

_MODULES = {
    "asking": "Request",
    "context": "Context Memory",
    "engine": "Executor Outcome Run",
    "errors": "DamagedError DrivenError JournalError RunError",
    "events": "Event Note Provenance Rung",
    "journal": "Journal",
    "listeners": "Follower",
    "observers": "CANNOT_SAY Facts Seen",
    "plans": "ActionPlan PlanStep",
    "policy": "Policy",
    "recovery": "Recovery",
    "results": "ActionResult Metrics Wait",
    "show": "Show",
    "status": "RunStatus StepStatus",
    "stored": "RunInfo",
    "tracing": "Spans",
    "world": "World",
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
