"""Run plans on Temporal: the run is a workflow, a step an activity; past one machine, and past its death.

The extra `temporal` installs what this needs. `TemporalExecutor` has the interface of `Executor`, `TemporalWorker`
carries out the runs of one world, and `TemporalJournal` reads their events as a file's journal does.

A run is the same code as on one machine: `executor.loop` and `executor.recovery` in a workflow (`plan_run`), whose
event loop is Temporal's and deterministic. What touches the outside goes through `outside`, as activities whose results
Temporal records: handlers, checks and callbacks by a task queue, observers and searches in the worker that drives the
run. On replay the recorded results are taken, so that nothing is done, looked at or searched twice. What runs share is
kept by a workflow of its own (`shared_limits`).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from executor.temporal.connection import connect
    from executor.temporal.temporal_executor import TemporalExecutor, TemporalRun
    from executor.temporal.temporal_journal import TemporalJournal
    from executor.temporal.temporal_worker import TemporalWorker

__all__ = ["TemporalExecutor", "TemporalJournal", "TemporalRun", "TemporalWorker", "connect"]

_MODULES = {
    "TemporalExecutor": "temporal_executor",
    "TemporalJournal": "temporal_journal",
    "TemporalRun": "temporal_executor",
    "TemporalWorker": "temporal_worker",
    "connect": "connection",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
