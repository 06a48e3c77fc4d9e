"""Bugs that are planted in the executor, a line or two each: the matrix finds every one by the promise it breaks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import pytest

from doors.promises import PROMISES
from executor import Executor
from executor import executor as executor_module
from executor.events.answers import NOTHING
from executor.events.events import Asked, StepStatus
from executor.journal.effects import LedgerInJournal
from executor.journal.journal import Journal
from executor.ledger.records import Outcome
from executor.ledger.rulings import Sight
from executor.loop import aftermath, asker, clearance, evidence, flights, parameters, run_loop, step
from executor.loop.attempt import Performer
from executor.loop.books import BookInJournal
from executor.loop.evidence import Evidence, View
from executor.loop.flights import Flights
from executor.loop.other_ways import OtherWays
from executor.loop.step import Stepper
from executor.loop.step_identity import Brought, identify_step
from executor.observe import beliefs, reports, step_verdict
from executor.observe.discovery import find_new_objects
from executor.observe.observe import Lookout, LookResult
from executor.recovery.ask_people import Questions
from executor.run import Run, RunOutcome
from planner.model.object_names import is_name

Patch = pytest.MonkeyPatch


@dataclass(frozen=True, slots=True)
class Plant:
    """A bug: `apply` plants it, and each of `cells` finds it by a `promise` that holds there without it."""

    name: str
    promise: str
    cells: tuple[str, ...]
    apply: Callable[[Patch], None]


PLANTS: list[Plant] = []


def plant(name: str, promise: str, *cells: str) -> Callable[[Callable[[Patch], None]], Callable[[Patch], None]]:
    """Return a decorator that lists a bug."""

    assert promise in PROMISES

    def add(apply: Callable[[Patch], None]) -> Callable[[Patch], None]:
        PLANTS.append(Plant(name, promise, cells, apply))
        return apply

    return add


def _returning(value: Any) -> Callable[..., Any]:
    return lambda *_, **__: value


def _answering(value: Any) -> Callable[..., Any]:
    async def answer(*_: Any, **__: Any) -> Any:
        return value

    return answer


@plant("the flight is always free", "irreversible at most once", "sequential:two-wishes-at-once:blind")
def free_all_flights(patch: Patch) -> None:
    read = LedgerInJournal.read
    patch.setattr(LedgerInJournal, "take", lambda _, flight, *__: flight)
    patch.setattr(LedgerInJournal, "read", lambda self, item: (None, read(self, item)[1]))


@plant("entries are forgotten", "irreversible at most once", "sequential:none:blind", "agent:none:blind")
def forget_entries(patch: Patch) -> None:
    read = LedgerInJournal.read
    patch.setattr(LedgerInJournal, "read", lambda self, item: (read(self, item)[0], []))


@plant(
    "a doubt is dropped when the run is broken off",
    "irreversible at most once",
    "sequential:cancelled-after-acting:blind",
)
def drop_doubt(patch: Patch) -> None:
    settle = BookInJournal.settle

    async def free(self: BookInJournal, flight: Any) -> Any:
        left = await settle(self, flight)
        if left is not None and left.doubt:
            self.end(left, None)
            return None
        return left

    def leave_all(self: Flights) -> None:
        for id_ in list(self._held):
            self.leave(self.state.steps[id_])

    patch.setattr(Flights, "break_off", leave_all)
    patch.setattr(BookInJournal, "settle", free)


@plant(
    "looks are skipped before irreversible steps",
    "already so is not done again",
    "sequential:done-by-hand-meanwhile:seen",
)
def skip_looks(patch: Patch) -> None:
    patch.setattr(Evidence, "look", _answering(View(LookResult(), {}, {})))


@plant("nobody is asked for approval", "approval honoured, and with these values", "sequential:none:approved")
def skip_approval(patch: Patch) -> None:
    patch.setattr(Stepper, "_ask_for_approval", _answering(""))


@plant("a refusal counts as an approval", "no means no", "sequential:none:refused")
def ignore_refusal(patch: Patch) -> None:
    ask = Stepper._ask_for_approval

    async def approve(*given: Any) -> Any:
        refused = await ask(*given)
        return None if refused is None else ""

    patch.setattr(Stepper, "_ask_for_approval", approve)


@plant("values become texts", "typed or refused", "sequential:none:typed")
def lose_types(patch: Patch) -> None:
    fill = step.filling.fill_parameters

    def as_texts(*given: Any) -> Any:
        values, sources = fill(*given)
        return {name: str(each) for name, each in values.items()}, sources

    patch.setattr(step.filling, "fill_parameters", as_texts)


@plant("values are changed after the approval", "approval honoured, and with these values", "sequential:none:approved")
def change_values(patch: Patch) -> None:
    attempt = Stepper._attempt

    async def change(*given: Any, **named: Any) -> Any:
        *first, (values, sources) = given
        more = {name: each + 1 if name == "amount" else each for name, each in values.items()}
        return await attempt(*first, (more, sources), **named)

    patch.setattr(Stepper, "_attempt", change)


@plant(
    "irreversible steps begin as early as they can",
    "not before what can fail",
    "plan-by-hand:none:seen",
    "plan-by-hand:none:no-form",
)
def begin_early(patch: Patch) -> None:
    patch.setattr(
        run_loop, "defer_irreversible", lambda order, before, _: {id_: before.get(id_, frozenset()) for id_ in order}
    )


@plant("a step that raised was not done", "irreversible at most once", "sequential:raises-after-acting:blind")
def forget_doubt(patch: Patch) -> None:
    patch.setattr(flights, "outcome_of", lambda status, **_: Outcome.DONE if status.is_done else Outcome.NOT_DONE)
    decide = step_verdict._decide_status

    def fail(*given: Any, **named: Any) -> Any:
        status, reason = decide(*given, **named)
        return (StepStatus.FAILED if status is StepStatus.IN_DOUBT else status), reason

    patch.setattr(step_verdict, "_decide_status", fail)


@plant(
    "observers are not given their time to settle",
    "irreversible at most once",
    "sequential:slow-observer-and-raises:seen",
)
def hurry(patch: Patch) -> None:
    from executor.tools.observers import Observer

    make = Observer.__init__

    def hasten(self: Any, *given: Any, **named: Any) -> None:
        make(self, *given, **named)
        object.__setattr__(self, "settle_within", 0.0)

    patch.setattr(Observer, "__init__", hasten)
    patch.setattr(Lookout, "settle_within", _returning(0.0))


@plant("what a handler reports counts as seen", "success only if observed", "sequential:lie:seen")
def believe_reports(patch: Patch) -> None:
    note = step_verdict._note_effects

    def note_unseen(action: Any, result: Any, expected: Any, looked: Any, *given: Any, **named: Any) -> Any:
        return note(action, result, expected, replace(looked, notes=()), *given, **named)

    patch.setattr(step_verdict, "_note_effects", note_unseen)
    patch.setattr(step_verdict, "_decide_status", _returning((StepStatus.SUCCEEDED, "")))


@plant("the owner of a flight counts as dead", "irreversible at most once", "sequential:two-wishes-at-once:seen")
def bury_owners(patch: Patch) -> None:
    patch.setattr(BookInJournal, "is_at_work", _answering(False))


@plant("reservations are not released", "never overdrawn, and released", "sequential:none:budget")
def keep_reservations(patch: Patch) -> None:
    patch.setattr(Performer, "release", _returning(None))
    patch.setattr(Performer, "keep", _returning(None))
    patch.setattr(Run, "_release_reserved", _returning(None))


@plant("a step is done once more unasked", "irreversible at most once", "sequential:none:blind")
def accept_repetitions(patch: Patch) -> None:
    patch.setattr(asker, "_is_accepted", _returning(True))


@plant("a payment takes the place of another one unasked", "irreversible at most once", "sequential:none:detour")
def pay_in_its_place(patch: Patch) -> None:
    patch.setattr(OtherWays, "_find_replaced", _returning(None))
    patch.setattr(OtherWays, "_find_left_behind", _returning(None))


@plant(
    "a payment takes the place of somebody else's unasked",
    "already so is not done again",
    "sequential:none:detour-paid",
)
def pay_in_the_place_of_others(patch: Patch) -> None:
    patch.setattr(OtherWays, "_find_left_behind", _returning(None))


@plant("each step in doubt may be tried again", "irreversible at most once", "sequential:killed-after-acting:blind")
def retry_in_doubt(patch: Patch) -> None:
    patch.setattr(asker, "_may_repeat", _returning(True))
    patch.setattr(asker, "_is_accepted", _returning(True))
    patch.setattr(BookInJournal, "settle", _answering(None))


@plant(
    "observers that disagree see nothing",
    "irreversible at most once",
    "sequential:disagreeing-observers:paid-already",
)
def ignore_disputes(patch: Patch) -> None:
    judge = evidence.judge_sight

    def settle(*given: Any, **named: Any) -> Any:
        sight = judge(*given, **named)
        return Sight.MISSING if sight is Sight.DISPUTED else sight

    patch.setattr(evidence, "judge_sight", settle)


@plant("reasons are left out", "ends with status and reason", "sequential:none:no-form")
def leave_out_reasons(patch: Patch) -> None:
    make = RunOutcome.of.__func__
    patch.setattr(RunOutcome, "of", classmethod(lambda cls, *given: replace(make(cls, *given), reason="")))


@plant("questions are left out", "ends with status and reason", "sequential:none:approved")
def leave_out_questions(patch: Patch) -> None:
    patch.setattr(RunOutcome, "questions", property(_returning(())))


@plant("an answer to a doubt is turned round", "irreversible at most once", "sequential:raises-after-acting:blind")
def turn_answers_round(patch: Patch) -> None:
    make = Questions._make_settlement

    def turn(self: Questions, record: Any, result: Any, *, happened: bool) -> Any:
        return make(self, record, result, happened=not happened)

    patch.setattr(Questions, "_make_settlement", turn)


@plant(
    "what a dead process had begun was not begun", "irreversible at most once", "sequential:killed-after-acting:blind"
)
def forget_beginnings(patch: Patch) -> None:
    read = Journal.read
    patch.setattr(Journal, "read", lambda self, run: (each for each in read(self, run) if each.kind != "StepStarted"))


@plant("identities differ from process to process", "irreversible at most once", "sequential:none:blind")
def vary_identities(patch: Patch) -> None:
    describe = Brought.of.__func__

    def vary(world: str) -> str:
        own = vars(asyncio.get_running_loop()).setdefault("name_of_process", uuid4().hex)
        return f"{world} of {own}"

    patch.setattr(flights, "identify_step", lambda world, *given: identify_step(vary(world), *given))
    made = classmethod(lambda cls, world, *given, **named: describe(cls, vary(world), *given, **named))
    patch.setattr(Brought, "of", made)


@plant("a person's no to one more payment is not heard", "irreversible at most once", "sequential:none:blind")
def ignore_no(patch: Patch) -> None:
    def hear(asked: Asked, answer: Any) -> str:
        return asked.choices[0] if answer != NOTHING else NOTHING

    for each in (asker, clearance):
        patch.setattr(each, "interpret_answer", hear)


@plant("the toolset offers irreversible steps out of turn", "not before what can fail", "planned-calls:none:no-form")
def offer_everything(patch: Patch) -> None:
    patch.setattr(run_loop.Loop, "_defer_irreversible", lambda _, order, before, __: (order, before))


@plant("what a handler reports is not heard", "reported is believed", "sequential:none:reported-over")
def ignore_reports(patch: Patch) -> None:
    patch.setattr(aftermath, "read_report", _returning(reports.NOTHING))


@plant("only names without quotes join a run", "nothing named is dropped", "sequential:none:found")
def drop_names(patch: Patch) -> None:
    def find(*given: Any) -> dict[str, Any]:
        return {name: types for name, types in find_new_objects(*given).items() if is_name(name)}

    patch.setattr(beliefs, "find_new_objects", find)


@plant("answers of others are not taken", "answered anywhere", "sequential:none:answered-elsewhere")
def leave_posted(patch: Patch) -> None:
    patch.setattr(Run, "take_posted", _returning(None))


@plant(
    "nobody looks whether others have answered",
    "answered anywhere",
    "planned-calls:none:answered-elsewhere",
    "maintain:none:answered-elsewhere",
)
def ignore_posted(patch: Patch) -> None:
    patch.setattr(Executor, "is_answered", _returning(False))


@plant("questions are kept from others", "answered anywhere", "langgraph:none:answered-elsewhere")
def keep_questions(patch: Patch) -> None:
    patch.setattr(executor_module, "load_open_questions", _returning({}))


@plant("refusals are forgotten", "refused stays refused", "sequential:none:refused-first", "agent:none:refused")
def forget_refusals(patch: Patch) -> None:
    patch.setattr(Flights, "note_refusal", _returning(None))


@plant("values of an approval are dropped", "these values", "sequential:none:edited", "langgraph:none:edited")
def drop_approved_values(patch: Patch) -> None:
    patch.setattr(parameters, "read_changes", _returning({}))


@plant("a hook changes what was approved", "these values", "sequential:none:edited")
def let_hooks_change(patch: Patch) -> None:
    patch.setattr(parameters, "check_approved", _returning(None))
