"""Describe who wants to begin an irreversible step: what its run, its request and the answers of people say about it.

The questions that a person has answered are known by their names: `again:<step>` asks whether a step is to be done
again, `flight:<step>:<run>/<step>:<time>` what became of an attempt, and `approve:<step>` shows what was done before.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

from executor.events.answers import AGAIN, FLIGHT, REPEAT, YES, interpret_answer, name_approval
from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.ledger.records import Entry, Outcome
from executor.ledger.rulings import Asker
from executor.loop.flights import Flights
from planner.language.declare.atom_syntax import parse_atom
from planner.plan import Step

SETTLED: Final = "somebody says that it happened"
DENIED: Final = "somebody says that it did not happen"
BY_WORD: Final = "somebody settled it in the ledger"


def describe_asker(flights: Flights, record: StepRecord, entries: Sequence[Entry]) -> Asker:
    """Describe the run of `flights`, which wants to begin a step with these `entries`."""
    state = flights.state
    own = sum(1 for each in entries if each.run == state.run and each.outcome is Outcome.DONE)
    return Asker(
        state.run,
        state.occasion,
        accepts=_is_accepted(state, record, entries) or _is_denied(state, record, entries),
        approves=is_approved_again(state, record, describe_latest(entries)),
        wants=_count_wanted(flights, record) > 0 and not own,
        repeats=_may_repeat(flights, record, own),
        may_ask=not state.plan.basis.is_unattended,
    )


def _is_accepted(state: RunState, record: StepRecord, entries: Sequence[Entry]) -> bool:
    """Return whether a person has said that the step is to be done, knowing what the `entries` tell."""
    name = name_question(record, entries)
    asked = state.answered.get(name)
    return asked is not None and interpret_answer(asked, state.answers.get(name)) == YES


def _is_denied(state: RunState, record: StepRecord, entries: Sequence[Entry]) -> bool:
    """Return whether a person has told this run that the latest attempt did not happen: then it may be made."""
    if not entries or entries[-1].outcome is not Outcome.NOT_DONE or entries[-1].reason not in {DENIED, BY_WORD}:
        return False
    last = entries[-1]
    return (last.run, last.step) == (state.run, record.id) or find_word(state, record, last) is not None


def is_approved_again(state: RunState, record: StepRecord, earlier: tuple[str, ...]) -> bool:
    """Return whether an approval that showed the `earlier` entries is meant for another time.

    A function that approves has to say so, as one that approves everything knows nothing of them.
    """
    question = name_approval(record.id)
    asked, answer = state.answered.get(question), state.answers.get(question)
    if not earlier or asked is None or not {*earlier} <= {*asked.known}:
        return False
    return answer == AGAIN if question in state.answered_here else answer is not None


def _count_wanted(flights: Flights, record: StepRecord) -> int:
    """Return how often the request says that the step is to be done again."""
    wanted = [each.replace(" ", "") for each in flights.state.again]
    return wanted.count(str(flights.name(record)).replace(" ", ""))


def describe_unused(flights: Flights) -> list[str]:
    """Say of which steps the request wanted done again, and this run has not begun, why that is so."""
    state, found = flights.state, list[str]()
    begun = {str(flights.name(each)).replace(" ", "") for each in state.steps.values() if each.attempts}
    for text in dict.fromkeys(state.again):
        if text.replace(" ", "") in begun:
            continue
        named = parse_atom(text.strip().removesuffix("()"))
        arguments = [state.objects.plan_name(each) for each in named.args]
        declared = flights.finder.find_declared(Step(named.predicate, tuple(arguments)))
        holds = [str(fact) if value else f"not {fact}" for fact, value in declared.items()]
        is_so = bool(declared) and all(state.beliefs.holds(fact) is value for fact, value in declared.items())
        why = f"it is so already ({', '.join(holds)})" if is_so else "the plan did not need it"
        found.append(f"{text} was to be done again, and was not done: {why}")
    return found


def _may_repeat(flights: Flights, record: StepRecord, done: int) -> bool:
    """Return whether the plan has more such steps than the `done` ones; a policy has one, and those wanted again."""
    state = flights.state
    if state.purpose_of(record) != "plan":
        return False
    if state.policy is not None:
        return done <= _count_wanted(flights, record)
    planned = [each.step for each in state.steps.values() if not each.because]
    same = record.step.action, flights.name_given(record.step)
    return done < sum(1 for step in planned if (step.action, flights.name_given(step)) == same)


def find_word(state: RunState, record: StepRecord, entry: Entry) -> Any:
    """Return what a person has told this run of the attempt that has left `entry`; None if nothing.

    What was told for another step counts for one that was added to the plan.
    """
    asked, about = f"{FLIGHT}{'' if record.because else f'{record.id}:'}", f":{entry.run}/{entry.step}:"
    return next((answer for name, answer in state.answers.items() if name.startswith(asked) and about in name), None)


def name_question(record: StepRecord, entries: Sequence[Entry]) -> str:
    """Name the question whether a step is to be done, in the light of so many entries."""
    told = sum(1 for each in entries if each.outcome is not Outcome.NOT_DONE)
    return f"{REPEAT}{record.id}" + (f":{told}" if told else "")


def describe_entry(entry: Entry) -> str:
    """Describe what an entry tells, for people."""
    occasion = f" for {entry.occasion}" if entry.occasion else ""
    how = "was refused" if entry.outcome is Outcome.REFUSED else "was done" if entry.seen else "was done, as reported,"
    return f"{entry.text} {how} by run {entry.run!r}{occasion} at {_describe_time(entry.at)}"


def describe_replacement(done: Entry, goals: Sequence[str], step: str, run: str) -> str:
    """Describe what was `done` for `goals` and is used no more, and what `run` would do in its place, for people."""
    who = "this run" if done.run == run else f"run {done.run!r}"
    was = f"{who} has done {done.text} for {' and '.join(goals)} at {_describe_time(done.at)}"
    return f"{was}; {step} would be done in its place"


def _describe_time(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(at))


def describe_latest(entries: Sequence[Entry]) -> tuple[str, ...]:
    """Describe what was done and what was refused last: a refusal does not hide what was done before it."""
    told = [each for each in entries if each.outcome is not Outcome.NOT_DONE]
    latest = {each.outcome: each for each in told}
    return tuple([describe_entry(each) for each in told if each in latest.values()])
