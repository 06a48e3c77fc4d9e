"""List and delete the runs, plans and goals that a journal keeps."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from executor.errors import DrivenError, JournalError, NoRunError
from executor.events.events import RunStarted, RunStatus
from executor.journal import AnyJournal, Entry, RunHistory
from executor.journal.records import check_same
from executor.plans.action_plan import ActionPlan, Goals, PlanStatus
from executor.tools.containment import quote_value
from executor.tools.json_data import load_json
from executor.tools.step_policy import is_amount
from planner.errors import InputError
from planner.lightweight import replace

PLAN_STATUS: Final[Mapping[RunStatus, PlanStatus]] = {
    RunStatus.PROPOSED: "proposed",
    RunStatus.ACTIVE: "active",
    RunStatus.WAITING: "active",
    RunStatus.IN_DOUBT: "active",
    RunStatus.SUCCEEDED: "completed",
    RunStatus.UNVERIFIED: "completed",
    RunStatus.LOWERED: "completed",
    RunStatus.IMPOSSIBLE: "abandoned",
    RunStatus.FAILED: "abandoned",
    RunStatus.COMPENSATED: "abandoned",
    RunStatus.CANCELLED: "abandoned",
}
"""Status of a plan by the status of its run."""


@dataclass(frozen=True, slots=True)
class RunInfo:
    """A run in a list, with the times of its creation and its latest event (seconds since 1970).

    An ACTIVE run is being driven, or its process has died: `Executor.resume` takes it up, or says who drives it.
    """

    run: str
    plan: str
    status: RunStatus
    created: float
    updated: float
    events: int
    move: str = ""
    """"to PLACE" or "from PLACE" while the run is on its way from one journal to another: nobody drives it."""


_PLAN_ID: Final = re.compile(r'\{"run":"[^"\\]*","plan":\{"id":"([^"\\]*)"')
"""Beginning of a `RunStarted`, unless a name in it has a character that JSON escapes."""
PLANNING: Final = 3600.0
"""Shortest retention of a run without events, in seconds: its plan may still be searched."""


@dataclass(frozen=True, slots=True)
class Retention:
    """Retention of runs in seconds after their latest event; None keeps them for ever.

    `over` is for runs that are over, `unfinished` for all others, such as waiting ones: these cannot be resumed after
    their deletion.
    """

    over: float | None = None
    unfinished: float | None = None

    def __post_init__(self) -> None:
        for name in ("over", "unfinished"):
            value = getattr(self, name)
            if not (value is None or is_amount(value)):
                raise InputError(
                    f"{name} of a Retention must be a number of seconds, or None, got {quote_value(value)}"
                )

    @property
    def pause(self) -> float:
        """Seconds between deletions of expired runs: a tenth of the shorter retention, at most an hour."""
        return min(3600.0, *[each / 10 for each in (self.over, self.unfinished) if each is not None], math.inf)

    def seconds(self, status: RunStatus) -> float:
        """Return the retention of a run with `status`; a proposed run may still be planned."""
        found = self.over if status.is_over else self.unfinished
        if found is None:
            return math.inf
        return max(found, PLANNING) if status is RunStatus.PROPOSED else found


def delete_expired(journal: AnyJournal, retention: Retention) -> list[str]:
    """Delete expired runs that nobody drives; return their ids. Raises `JournalError`."""
    deleted, now = [], journal.clock.time()
    for each in journal.runs():
        status = RunStatus[each.status] if each.status else RunStatus.PROPOSED
        if now - each.updated < retention.seconds(status):
            continue
        with contextlib.suppress(DrivenError, NoRunError):
            if journal.delete(each.run, events=each.events):
                deleted.append(each.run)
    return deleted


def _are_same(place: Path | str, other: Path | str) -> bool:
    """Return whether two journals are the same file or database."""
    if isinstance(place, Path) and isinstance(other, Path) and place.exists() and other.exists():
        return place.samefile(other)
    return place == other


def copy_run(source: AnyJournal, target: AnyJournal, run: str) -> str:
    """Copy `run` with all its events; return "copied", or "moved" for a run that is not over: it leaves `source`.

    What its irreversible steps have done, and left in doubt, is copied from ledger to ledger.

    Called again, it finishes a move that broke off; meanwhile, nobody drives the run in either journal. A run that
    `target` has already, with the same events, counts as copied. Raises `DrivenError` for a run that is being driven,
    `JournalError` if `target` has another run of this name, or another flight of one of its steps, and `InputError` if
    both are the same journal.
    """
    if _are_same(source.place, target.place):
        raise InputError(f"{source.place} is the source and the target", hint="name another journal to copy to")
    leaving, arriving = f"to {target.place}", f"from {source.place}"
    here, there = _find_move(source, run), _find_move(target, run)
    if here is None and there == arriving:
        _end_move(target, run, arriving)
        return "moved"
    with source.drive(run, move=leaving if here == leaving else ""):
        entries = list(source.read(run))
        is_over = bool(entries) and RunStatus[entries[-1].status or "PROPOSED"].is_over
        if there is None:
            target.create(run)
        with target.drive(run, move=arriving if there == arriving else "") as events:
            if events:
                check_same(target.place, run, target.read(run), entries)
            _check_filled(source, target, run, entries)
            _copy_effects(source, target, run)
            if not is_over:
                source.set_move(run, leaving)
                target.set_move(run, arriving)
            if not events:
                target.restore(run, entries)
    if is_over:
        return "copied"
    for posted in source.posted.read(run):
        target.posted.post(run, posted.question, posted.shown, posted.answer)
    source.delete(run, events=len(entries), move=leaving)
    for flight in [each for each in source.ledger.flights() if each.run == run]:
        source.ledger.doubt(replace(flight, doubt=f"its run was moved to {target.place}"))
    _end_move(target, run, arriving)
    return "moved"


def _check_filled(source: AnyJournal, target: AnyJournal, run: str, entries: Sequence[Entry]) -> None:
    """Raise `JournalError` for a run from before the ledger that neither ledger would ever hear of."""
    told = load_json(entries[0].data) if entries and entries[0].kind == RunStarted.__name__ else {"world": run}
    world = told.get("domain", "")
    if not told.get("world") and target.ledger.is_filled(world) and not source.ledger.is_filled(world):
        problem = f"run {run!r} is from before the ledger of effects, and {target.place} has read such runs already"
        raise JournalError(
            source.place, problem, "begin or resume a run there, which fills its ledger; then copy again"
        )


def _copy_effects(source: AnyJournal, target: AnyJournal, run: str) -> None:
    """Copy what the ledger of `source` has of `run`, once; raises `JournalError` for a flight that another run has."""
    flights = [each for each in source.ledger.flights() if each.run == run]
    for flight in flights:
        taken = target.ledger.take(flight)
        if not taken.is_same(flight):
            problem = f"{flight.text} of run {run!r} is under way or in doubt, and so it is in run {taken.run!r} there"
            raise JournalError(target.place, problem, "settle one of them first: see `forethought runs ledger`")
        target.ledger.doubt(flight)
    for entry in [each for each in source.ledger.entries() if each.run == run]:
        if entry not in target.ledger.read(entry.item)[1]:
            target.ledger.add(entry)
    for flight in target.ledger.flights():
        if flight.run == run and not any(map(flight.is_same, flights)):
            target.ledger.end(flight, None)  # it was settled where the run has been meanwhile


def _find_move(journal: AnyJournal, run: str) -> str | None:
    """Return the way of `run`, None where the journal has no such run."""
    with contextlib.suppress(NoRunError):
        return journal.find_move(run)
    return None


def _end_move(journal: AnyJournal, run: str, move: str) -> None:
    with journal.drive(run, move=move):
        journal.set_move(run, "")


def load_goals(journal: AnyJournal) -> dict[str, Goals]:
    """Return all goals by name, in the order of their first saving; raises `JournalError`."""
    return {each.name: Goals.model_validate_json(each.data) for each in journal.goals()}


def load_runs(journal: RunHistory) -> dict[str, RunInfo]:
    """Return all runs by id, the oldest first; raises `JournalError`."""
    return {info.run: info for info, _ in _iterate_runs(journal)}


def load_plans(journal: AnyJournal) -> dict[str, ActionPlan]:
    """Return the saved plans, and then other plans that ran, by id, each with its status.

    The status is that of the latest run, or of a later saving; a plan is active while one of its runs is. Raises
    `JournalError`.
    """
    found: dict[str, ActionPlan] = {}
    times: dict[str, float] = {}
    for document in journal.plans():
        found[document.name] = ActionPlan.model_validate_json(document.data)
        times[document.name] = document.time
    for info, first in _iterate_runs(journal):
        if first is None:
            continue
        status = PLAN_STATUS[info.status]
        known = found.get(info.plan) or ActionPlan.model_validate(load_json(first.data)["plan"])
        heard = math.inf if status == "active" else info.updated
        if heard >= times.get(info.plan, 0.0):
            times[info.plan] = heard
            found[info.plan] = known.model_copy(update={"status": status})
    return found


def _iterate_runs(journal: RunHistory) -> Iterator[tuple[RunInfo, Entry | None]]:
    """Yield the runs, each with its first event."""
    for record, first in journal.iterate_first_events():
        status = RunStatus[record.status] if record.status else RunStatus.PROPOSED
        plan = "" if first is None else _read_plan_id(first.data)
        yield RunInfo(record.run, plan, status, record.created, record.updated, record.events, record.move), first


def _read_plan_id(started: str) -> str:
    """Return the id of the plan in a `RunStarted`, which begins with it: the rest may be megabytes."""
    found = _PLAN_ID.match(started)
    return found[1] if found else str(load_json(started)["plan"]["id"])
