"""Take up the runs of a journal that nobody drives: whose process has died, that were enqueued, or that were answered.

Several workers, also on several hosts, may share one journal: each run is driven by one of them. Workers ask the
journal for runs from time to time. A run whose process died again and again without any progress is given up, as it may
be what kills them; before that, a worker drives one such run at a time, as the others would die with it.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from executor.errors import DamagedError, DrivenError, FencedError, JournalError, NoRunError, RunError
from executor.events.events import Event, RunEnded, RunStatus, StepEnded, event_to_data
from executor.events.stored_runs import Retention, delete_expired
from executor.executor import Executor
from executor.journal import AnyJournal, Entry, RunRecord
from executor.loop.run_loop import INTERRUPTED
from executor.plan_check.remaining_means import is_lacking
from executor.run import Run
from executor.tools.json_data import dump_json, load_json
from executor.workers.health import WorkerHealth
from planner.errors import ForethoughtError, InputError

_log = logging.getLogger(__name__)

UNDRIVEN: Final = (RunStatus.PROPOSED.name, RunStatus.ACTIVE.name, RunStatus.WAITING.name)
"""Statuses of runs that may be due, the last if they were interrupted or lacked means; those in doubt are due when
somebody answers."""
GRACE_SECONDS: Final = 30.0
"""Time for steps at work to end when a worker is stopped, in seconds; then their runs are left as they are."""
RETRY_SECONDS: Final = 5.0
"""Time after which a run is taken up again that the journal broke off, in seconds."""
SUSPECT: Final = 2
"""Number of deaths from which a run is suspected to kill its processes: a worker drives one such run at a time."""
LEISURE: Final = 10
"""Shortest time from one list of free runs to the next, as a multiple of the time that the list took."""
SHUFFLED: Final = 4
"""Number of runs, for each that a worker may drive at once, that it tries in any order."""
_PRUNING: Final = "retention"
"""The lock of the process that deletes expired runs: one of those that share a journal does it at a time."""
_PROGRESS: Final = frozenset({"StepEnded", "StepReturned", "Answered"})
"""Kinds of events that show that a run gets on."""
_MOST_JUDGED: Final = 10_000
"""Number of runs that are not due and whose histories are not read again."""


class History(NamedTuple):
    """What the events of a run say to a worker.

    `actions` are those of its first plan, which was made when it `began`, in seconds since 1970. `deaths` is the number
    of processes that died while they drove the run, since it last got on; `at_work` are the steps whose handlers had
    been called then. `awaited` are the irreversible steps for whose end, in other runs, steps of a run wait.
    """

    domain: str
    deaths: int
    at_work: tuple[str, ...]
    is_due: bool
    actions: tuple[str, ...] = ()
    began: float = 0.0
    world: str = ""
    awaited: tuple[str, ...] = ()

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> History:
        """Read the events of a run."""
        domain, world, deaths, at_work, is_driven, last = "", "", 0, dict[str, None](), False, None
        actions, began, awaited = (), 0.0, dict[str, str]()
        for last in entries:
            if last.kind == "RunStarted":
                started, began = load_json(last.data), last.time
                domain, is_driven = started.get("domain", ""), last.status == RunStatus.ACTIVE.name
                world = started.get("world", "")
                actions = tuple(dict.fromkeys(each.get("action") for each in started.get("plan", {}).get("steps", ())))
            elif last.kind == "RunResumed":
                deaths, is_driven = deaths + is_driven, True
            elif last.kind == "RunEnded":
                deaths, is_driven = 0, False
            elif last.kind in _PROGRESS:
                deaths = 0
            if last.kind == "StepStarted":
                at_work[load_json(last.data)["step"]] = None
                awaited.pop(load_json(last.data)["step"], None)
            elif last.kind in ("StepEnded", "StepWaiting"):
                told = load_json(last.data)
                at_work.pop(told["step"], None)
                awaited.pop(told["step"], None)
                if "flight" in told.get("wait", {}):
                    awaited[told["step"]] = told["wait"]["flight"]
        reason = load_json(last.data)["reason"] if last is not None and last.kind == "RunEnded" else ""
        goes_on = reason == INTERRUPTED or is_lacking(reason)
        is_due = last is not None and last.status in UNDRIVEN and (last.status != UNDRIVEN[-1] or goes_on)
        waits = tuple(awaited.values()) if last is not None and last.status == UNDRIVEN[-1] else ()
        return cls(domain, deaths + is_driven, tuple(at_work), is_due, actions, began, world, waits)


@dataclass(slots=True, eq=False)
class Worker:
    """Takes up the runs of the domain of `executor`, which has a journal; at most `concurrency` at once.

    `poll` is the time between questions to the journal, in seconds. A run is given up after `deaths` of its processes
    without any progress: it ends as IN_DOUBT, or as FAILED where no step was at work. `entities` are the Python values
    of objects. `tell` is called with messages for people. Runs that have expired by `retention` are deleted, by one
    worker of the journal at a time.
    """

    executor: Executor
    concurrency: int = 16
    poll: float = 1.0
    deaths: int = 5
    entities: Mapping[str, object] | None = None
    tell: Callable[[str], None] = lambda _: None
    retention: Retention | None = None
    health: WorkerHealth = field(init=False)
    """What this worker has done, and when its journal answered last."""
    open: dict[str, RunStatus | None] = field(init=False, default_factory=dict)
    """The runs that `work(once=True)` has driven and that did not succeed, with their last status; None: broken off."""
    done: int = field(init=False, default=0)
    """Number of runs that were driven here until they ended or waited."""
    _at_work: dict[str, tuple[Run, asyncio.Task[None]]] = field(init=False, default_factory=dict)
    _judged: dict[tuple[str, float], int] = field(init=False, default_factory=dict)
    """Number of events, when they were judged, of the runs that are not due here, by name and time of creation."""
    _awaited: dict[tuple[str, float], tuple[str, ...]] = field(init=False, default_factory=dict)
    """The steps of other runs for which those among them wait that do: they are due when one of these is over."""
    _broken: set[tuple[str, float]] = field(init=False, default_factory=set)
    """The runs among them that could not be driven here."""
    _listed: list[RunRecord] = field(init=False, default_factory=list)
    """The free runs that were listed last and not looked at yet, in reverse order."""
    _listed_until: float = field(init=False, default=0.0)
    """When the list is old, in seconds of the monotonic clock."""
    _left: dict[str, float] = field(init=False, default_factory=dict)
    """Until when runs are left to the workers that were faster, or to a database that does not answer; monotonic."""
    _suspects: dict[str, set[str]] = field(init=False, default_factory=dict)
    """The kinds of events that were heard of the runs at work here that may kill this process."""
    _news: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    _is_stopping: bool = field(init=False, default=False)
    _is_once: bool = field(init=False, default=False)
    _deletion_due: float = field(init=False, default=0.0)
    """When expired runs are deleted next, in seconds of the monotonic clock."""
    _journal: AnyJournal = field(init=False)

    def __post_init__(self) -> None:
        for name in ("concurrency", "deaths"):
            value = getattr(self, name)
            if not (isinstance(value, int) and value >= 1):
                raise InputError(f"{name} of a worker is a whole number above 0, not {value!r}")
        if self.executor.journal is None:
            raise InputError("a worker needs a journal", hint="Executor(world, 'postgresql://…')")
        self._journal = self.executor.journal
        self.health = WorkerHealth(self.poll)

    async def work(self, *, once: bool = False) -> None:
        """Take up runs until `stop` is called; with `once`, until no run is due any more.

        Errors of single runs are told. Raises `JournalError` with `once`; otherwise a journal that cannot be read is
        tried again.
        """
        self._is_once = once
        try:
            while not self._is_stopping:
                was_idle = not self._at_work
                begun = await self._take_up_due(once=once)
                if once and was_idle and not begun:
                    return
                self._news.clear()
                is_full = len(self._at_work) >= self.concurrency
                if not self._is_stopping and not (begun and not is_full) and (was_idle or self._at_work):
                    await self._wait()
        finally:
            await self._end()

    def stop(self) -> None:
        """Take up no more runs, and interrupt those at work; a second call breaks off their steps. Thread-unsafe."""
        if self._is_stopping:
            for _, task in self._at_work.values():
                task.cancel()
        self._is_stopping = True
        for run, _ in self._at_work.values():
            run.interrupt()
        self._news.set()

    async def _wait(self) -> None:
        """Wait for the next question to the journal, or until a run has ended."""
        try:
            async with asyncio.timeout(self.poll * random.uniform(0.8, 1.2)):
                await self._news.wait()
        except TimeoutError:
            pass

    async def _end(self) -> None:
        """Wait until the runs at work have been interrupted, and leave those that do not end in time."""
        for run, _ in self._at_work.values():
            run.interrupt()
        tasks = [task for _, task in self._at_work.values()]
        if tasks:
            _, left = await asyncio.wait(tasks, timeout=GRACE_SECONDS)
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    async def _take_up_due(self, *, once: bool) -> int:
        """Take up runs that are due, as many as there is room for; return how many."""
        begun, room = 0, self.concurrency - len(self._at_work)
        try:
            is_fresh = once and not self._at_work
            found = await asyncio.to_thread(self._find_due, room, is_fresh=is_fresh)
            await asyncio.to_thread(self._delete_expired_if_due)
        except JournalError as error:
            if once:
                raise
            self.health.count("journal_errors")
            self.tell(str(error))
            return 0
        for run, history in found:
            if self._is_stopping:
                break
            if history.deaths >= self.deaths:
                self._give_up(run, history)
            else:
                self._begin(run, history)
            begun += 1
        return begun

    def _find_due(self, room: int, *, is_fresh: bool) -> list[tuple[str, History]]:
        """Return up to `room` runs of this domain that are due; ask the journal without room, too.

        Raises `JournalError`.

        At most one of them may be what kills its processes, so that the others do not die with it again and again.
        """
        found, has_suspect = list[tuple[str, History]](), self._has_suspect()
        self._left = {run: until for run, until in self._left.items() if until > time.monotonic()}
        with self.health.look():
            answered = self._journal.posted.runs()
        if room <= 0:
            return found
        self._list_free(has_answers=bool(answered), is_fresh=is_fresh)
        while self._listed and len(found) < room:
            record = self._listed.pop()
            if record.run in self._at_work or record.run in self._left:
                continue
            is_answered = record.run in answered
            if record.status == RunStatus.IN_DOUBT.name and not is_answered:
                continue
            key = record.run, record.created
            is_known = self._judged.get(key) == record.events
            if is_known and (key in self._broken or not (is_answered or self._is_any_over(self._awaited.get(key, ())))):
                continue
            try:
                history = History.of(self._journal.read(record.run))
            except NoRunError:
                continue
            is_due = history.is_due or is_answered or self._is_any_over(history.awaited)
            if not (is_due and self._is_ours(history)):
                self._note_judged(record, history.awaited)
            elif not (has_suspect and self._is_suspect(history)):
                has_suspect = has_suspect or self._is_suspect(history)
                found.append((record.run, history))
        return found

    def _is_ours(self, history: History) -> bool:
        """Return whether a run is one of this worker's domain and world; those of early versions may be."""
        world = self.executor.world
        return history.domain in ("", world.model.name) and history.world in ("", world.label, *world.earlier_names)

    def _list_free(self, *, has_answers: bool, is_fresh: bool) -> None:
        """List the runs that nobody drives, if `is_fresh` or the last list is old: the longer, the longer it took.

        The first of them are shuffled, so that workers that list them at once do not all try the same ones.
        """
        began = time.monotonic()
        if began < self._listed_until and not is_fresh:
            return
        self._listed = self._journal.free((*UNDRIVEN, RunStatus.IN_DOUBT.name) if has_answers else UNDRIVEN)
        self.health.free = Counter(each.status for each in self._listed)
        first = self._listed[: SHUFFLED * self.concurrency]
        random.shuffle(first)
        self._listed[: len(first)] = first
        self._listed.reverse()
        ended = time.monotonic()
        self._listed_until = ended + max(self.poll / 2, LEISURE * (ended - began))

    def _is_suspect(self, history: History) -> bool:
        """Return whether a run may be what kills its processes, and is not given up yet."""
        return SUSPECT <= history.deaths < self.deaths

    def _has_suspect(self) -> bool:
        """Return whether a run is at work here that may kill this process: one that has not got on yet."""
        return any(heard.isdisjoint(_PROGRESS) for heard in list(self._suspects.values()))

    def _is_any_over(self, awaited: Iterable[str]) -> bool:
        """Return whether other runs are done with one of the steps `awaited`, or nobody goes on with it."""
        return any(map(self.executor.book.is_free, awaited))

    def _note_judged(self, record: RunRecord, awaited: tuple[str, ...] = ()) -> None:
        if len(self._judged) >= _MOST_JUDGED:
            self._judged.clear()
            self._awaited.clear()
        self._judged[record.run, record.created] = record.events
        self._awaited.pop((record.run, record.created), None)
        if awaited:
            self._awaited[record.run, record.created] = awaited

    def _begin(self, name: str, history: History) -> None:
        """Take up a run in a task of its own."""
        died = f" after {history.deaths} of its processes died" if history.deaths > 1 else ""
        self.tell(f"{name}: taken up{died}")
        run = self.executor.take_up(name, entities=self.entities)
        heard: set[str] = set()
        if self._is_suspect(history):
            self._suspects[name] = heard

        def hear(event: Event) -> None:
            heard.add(type(event).__name__)
            if isinstance(event, StepEnded):
                self.health.count("steps_ended", status=event.status.name)

        run.listen(hear)
        task = asyncio.get_running_loop().create_task(self._drive(name, run, heard, history))
        self._at_work[name] = run, task
        self.health.at_work = len(self._at_work)
        self.health.count("runs_taken_up", died="yes" if history.deaths else "no")

    async def _drive(self, name: str, run: Run, heard: Collection[str], history: History) -> None:
        """Drive a run until it ends or waits, and say how; of one that had ended elsewhere, nothing is `heard`."""
        try:
            outcome = await run
        except FencedError as error:
            self.tell(f"{name}: {error}")
            self._left[name] = time.monotonic() + self.poll
            self.health.count("runs_broken_off", reason="fenced")
        except DrivenError as error:
            _log.info("%s", error)  # another worker was faster, or has taken it over
            self._left[name] = time.monotonic() + self.poll
        except (DamagedError, NoRunError) as error:
            self.tell(f"{name}: {error}")
            self._leave_alone(name, "damaged")
        except JournalError as error:
            self.tell(f"{name}: {error}; it is taken up again after {RETRY_SECONDS:g} s")
            self._left[name] = time.monotonic() + RETRY_SECONDS
            self._note_open(name, None)
            self.health.count("runs_broken_off", reason="journal")
        except ForethoughtError as error:
            is_misfit = isinstance(error, InputError) and not isinstance(error, RunError) and not heard
            self.tell(f"{name}: {self._explain_misfit(name, history, error) if is_misfit else error}")
            self._leave_alone(name, "version" if is_misfit else "input")
        except Exception as error:  # noqa: BLE001 - what breaks one run off must not end the others
            _log.exception("the run %s broke off", name)
            self.tell(f"{name}: broke off by {type(error).__name__}: {error}")
            self._leave_alone(name, "internal")
        else:
            if heard:
                self._note_end(name, outcome.status)
            if is_lacking(outcome.reason):
                self._leave_alone(name, "means")
            self.tell(f"{name}: {outcome.status.name}{f' ({outcome.reason})' if outcome.reason else ''}")
        finally:
            del self._at_work[name]
            self.health.at_work = len(self._at_work)
            self._suspects.pop(name, None)
            self._news.set()

    def _note_end(self, name: str, status: RunStatus) -> None:
        self.done += 1
        self.health.count("runs_ended", status=status.name)
        self._note_open(name, status)

    def _note_open(self, name: str, status: RunStatus | None) -> None:
        """Note how a run that was driven here stands; a worker that works on and on would note ever more."""
        self.open.pop(name, None)
        if self._is_once and status not in (RunStatus.SUCCEEDED, RunStatus.LOWERED):
            self.open[name] = status

    def _explain_misfit(self, name: str, history: History, error: ForethoughtError) -> str:
        """Say that the plan of a run was made with another version of the domain, and what to do."""
        made = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(history.began))
        domain = self.executor.world.model
        there, here = ", ".join(history.actions), ", ".join(domain.actions)
        return (
            f"its plan does not fit this worker's version of the domain {domain.name!r}: {error}; the plan was made on "
            f"{made} with the actions {there}, and this version has {here}; start a worker with the file that the plan "
            f"was made with, or delete the run: forethought runs delete {self._journal.place} {name}"
        )

    def _delete_expired_if_due(self) -> None:
        """Delete expired runs, if that is due and no other process is deleting some; raises `JournalError`."""
        now = time.monotonic()
        if self.retention is None or now < self._deletion_due or not self._journal.locks.hold(_PRUNING):
            return
        try:
            for run in delete_expired(self._journal, self.retention):
                self.health.count("runs_deleted")
                self.tell(f"{run}: deleted, as it has expired")
        finally:
            self._journal.locks.let_go(_PRUNING)
        self._deletion_due = now + self.retention.pause

    def _leave_alone(self, name: str, reason: str) -> None:
        """Take a run that cannot be driven here up no more, until something is appended to it."""
        self._note_open(name, None)
        self.health.count("runs_broken_off", reason=reason)
        try:
            for record in self._journal.runs():
                if record.run == name:
                    self._note_judged(record)
                    self._broken.add((record.run, record.created))
        except JournalError as error:
            self.tell(str(error))

    def _give_up(self, run: str, history: History) -> None:
        """End a run that kills its processes, without looking at its state: that may be what kills them."""
        steps = ", ".join(history.at_work)
        last = f" while {steps} {'was' if len(history.at_work) == 1 else 'were'} at work" if steps else ""
        reason = f"given up: {history.deaths} processes died one after the other{last}, and it got no further"
        status = RunStatus.IN_DOUBT if steps else RunStatus.FAILED
        ended = RunEnded(status, reason)
        try:
            with self._journal.drive(run):
                self._journal.append(run, "RunEnded", dump_json(event_to_data(ended)), status=status.name)
        except DrivenError:
            return
        if status.is_over:
            left = [each.step for each in self._journal.ledger.flights() if each.run == run]
            self.executor.performer.keep(run, left)
        self._note_end(run, status)
        self.tell(f"{run}: {status.name} ({reason})")
