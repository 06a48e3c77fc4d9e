"""Whether a run of a fault campaign ended honestly, and with as much as could be had."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from benchmarks.faults.fault_run import Carried
from benchmarks.faults.fault_setting import CHANGES, Setting
from benchmarks.faults.open_promises import OpenEvidence, find_broken_open_promises
from benchmarks.faults.promises import Evidence, find_broken_promises
from benchmarks.faults.reachable_goal import GivenUp
from executor.events.events import RunStatus, StepEnded, StepStatus
from executor.recovery.recovery_policy import Recovery
from executor.run import RunOutcome
from executor.testing import FaultKind, SimulatedWorld
from planner.language.declare.local_closed_world import listings_of
from planner.model import Action, Atom, Goal

REPEATS: Final = Recovery().most_repeats
HARMLESS: Final = frozenset({"idempotent", "read_only"})


class Violation(Enum):
    """What must not happen."""

    ERROR = "error"
    PROMISE = "broken promise"
    DOUBLE = "double effect"
    FALSE = "false success"
    SILENT = "no reason"
    GAVE_UP = "gave up"


class Ending(Enum):
    """How a run ended."""

    REACHED = "the goal was reached, and seen"
    UNSEEN = "UNVERIFIED: nobody could see the whole goal"
    ASKED = "the run waits for somebody who knows what happened"
    OUT_OF_REACH = "FAILED: no handler that is left leads to the goal, or does the tasks"
    SPENT = "FAILED: only what had failed before in the same state would do that, or more objects than a run may create"
    UNDONE = "FAILED: as often as a run may take the same steps from the same state, somebody else had undone them"
    REFUSED = "FAILED: it could have been done, but somebody refused to approve a step"
    BLIND = "FAILED, or refused at the start: it could have been done, but not everything could be seen"
    VIOLATION = "something that must not happen"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to be said about one run; `violation` is None where all is well, and `detail` says more where not."""

    ending: Ending
    violation: Violation | None = None
    detail: str = ""

    @classmethod
    def of(cls, violation: Violation, detail: str) -> Verdict:
        """Return that something happened which must not."""
        return cls(Ending.VIOLATION, violation, detail)


def judge_run(setting: Setting, carried: Carried) -> Verdict:
    """Return how a run ended, and what was wrong with that."""
    if carried.refusal and not (setting.is_clear or carried.simulated.calls):  # refused before anything was done
        return Verdict(Ending.BLIND)
    if carried.outcome is None:
        return Verdict.of(Violation.ERROR, carried.error or carried.refusal or "no outcome")
    if setting.careless:
        return _judge_numbers(setting, carried, carried.outcome)
    broken = find_broken_promises(evidence_of(setting, carried))
    if setting.open_world is not None:
        broken += find_broken_open_promises(OpenEvidence.of(setting, carried))
    if broken:
        return Verdict.of(Violation.PROMISE, "; ".join(broken))
    double = find_doubled_effects(setting, carried)
    if double:
        return Verdict.of(Violation.DOUBLE, double)
    return _judge_ending(setting, carried, carried.outcome)


def _judge_numbers(setting: Setting, carried: Carried, outcome: RunOutcome) -> Verdict:
    """Return how a run with numbers ended; that it could have gone on is no violation, and counts as `BLIND`."""
    from benchmarks.faults.numeric_promises import find_broken_numeric_promises, is_out_of_reach

    broken = find_broken_numeric_promises(setting, carried)
    if broken:
        return Verdict.of(Violation.PROMISE, "; ".join(broken))
    match outcome.status:
        case RunStatus.SUCCEEDED | RunStatus.LOWERED:
            return Verdict(Ending.REACHED)
        case RunStatus.UNVERIFIED:
            return Verdict(Ending.UNSEEN)
        case _ if not outcome.reason:
            return Verdict.of(Violation.SILENT, outcome.status.name)
        case RunStatus.IN_DOUBT | RunStatus.WAITING:
            return Verdict(Ending.ASKED)
        case RunStatus.IMPOSSIBLE if not (carried.simulated.lies or is_out_of_reach(carried)):
            return Verdict.of(Violation.FALSE, f"not impossible: {outcome.reason}")
        case _:
            return Verdict(Ending.OUT_OF_REACH if is_out_of_reach(carried) else Ending.SPENT)


def evidence_of(setting: Setting, carried: Carried) -> Evidence:
    """Return the evidence that the promises about a run are checked against."""
    simulated, problem = carried.simulated, carried.simulated.problem
    if setting.open_world is not None:  # what is listed is no fact of the world
        problem = replace(problem, goal=Goal(setting.open_world.promised(wishes=False)))
    return Evidence(
        problem,
        carried.events,
        simulated.calls,
        simulated.sightings,
        simulated.strangers,
        setting.observe.conclusive,
        simulated.truth.at,
    )


def _judge_ending(setting: Setting, carried: Carried, outcome: RunOutcome) -> Verdict:
    match outcome.status:
        case RunStatus.SUCCEEDED | RunStatus.LOWERED:
            is_checked = carried.simulated.lies or setting.open_world is not None  # its promises say what is true
            false = "" if is_checked else find_untruth(setting, carried, outcome)
            return Verdict.of(Violation.FALSE, false) if false else Verdict(Ending.REACHED)
        case RunStatus.COMPENSATED if not carried.simulated.lies and (left := find_not_undone(carried.simulated)):
            return Verdict.of(Violation.FALSE, f"said to be undone, but {', '.join(map(str, left))} is not as before")
        case RunStatus.UNVERIFIED:
            return Verdict(Ending.UNSEEN)
        case _ if not outcome.reason:
            return Verdict.of(Violation.SILENT, outcome.status.name)
        case RunStatus.IN_DOUBT | RunStatus.WAITING:
            return Verdict(Ending.ASKED)
        case _:
            return _judge_failure(setting, carried, outcome)


def find_untruth(setting: Setting, carried: Carried, outcome: RunOutcome) -> str:
    """Return the false claim of a run that reports success; empty if there is none."""
    simulated = carried.simulated
    if not simulated.holds(simulated.problem.goal.hard):
        return f"{simulated.problem.goal.hard} does not hold"
    if outcome.state.has_goal or any(fault.kind in CHANGES for fault in setting.faults):
        return ""
    done = [record for record in outcome.steps if record.status is StepStatus.SUCCEEDED]
    undone = [str(each.step) for each in done if not simulated.applied.get(f"{outcome.run}/{each.id}")]
    return f"nobody did {', '.join(undone)}" if undone else ""


def find_not_undone(simulated: SimulatedWorld) -> list[Atom]:
    """Return the facts that steps changed and compensation did not restore, unless somebody else changed them too.

    What was written in place stays written, but for what did not exist before and is gone again.
    """
    actions = simulated.problem.domain.actions
    acts = [act for act in simulated.acts if act.step is None or "read_only" not in actions[act.step.predicate].tags]
    listed = {each.fact for each in listings_of(simulated.problem.domain)}
    before: dict[Atom, bool] = {}
    for act in acts:
        for fact in (*act.added, *act.removed):
            before.setdefault(fact, fact in act.removed)
    others = {fact for act in acts if not act.by for fact in (*act.added, *act.removed, *act.written)}
    now = simulated.facts
    written = [fact for act in acts for fact in act.written if fact in now or before.get(fact, True)]
    left = [fact for fact, held in before.items() if (fact in now) is not held]
    found = dict.fromkeys([*left, *written])
    return [fact for fact in found if fact not in others and fact.predicate not in listed]


def find_doubled_effects(setting: Setting, carried: Carried) -> str:
    """Return which step had its effects twice, and is not idempotent.

    A handler may do that by itself, or say that it failed and did nothing, where the policy has that tried again; and
    observers may lie about what was done. What has changed nothing was not done. While observers disagree, only
    irreversible steps must not be repeated.
    """
    if carried.simulated.lies:
        return ""
    actions = carried.simulated.problem.domain.actions
    by_itself = {FaultKind.TWICE} | ({FaultKind.FAILS_DONE} if setting.policy.retries else set())
    excused = [fault for fault in setting.faults if fault.kind in by_itself]
    found = []
    done: dict[Atom, set[str]] = {}
    for act in carried.simulated.acts:
        if not act.by or act.step is None:  # somebody else: what we did may be undone, so that it has to be done again
            done.clear()
        elif carried.simulated.disputed and "irreversible" not in actions[act.step.predicate].tags:
            continue
        elif not _is_harmless(actions[act.step.predicate]) and not any(x.covers(act.step) for x in excused):
            declared = actions[act.step.predicate].declared_arguments(act.step.args)
            before = done.setdefault(Atom(act.step.predicate, declared), set())
            changed = bool(act.added or act.removed)
            if act.by in before and (changed or act.written):
                found.append(f"{act.step} was done twice for one step")
            elif not changed and _stands_in(act.by, before, setting, carried):
                found.append(f"{act.step} was done again for another step, and changed nothing")
            if changed or act.written:
                before.add(act.by)
    return ", ".join(found)


def _is_harmless(action: Action) -> bool:
    """Return whether doing `action` again changes nothing more, as listing something again."""
    return bool(action.lists) or not action.tags.isdisjoint(HARMLESS)


def _stands_in(key: str, before: set[str], setting: Setting, carried: Carried) -> bool:
    """Return whether the step with this key is a new one, for one of those `before` that nobody knew to be done.

    A step that undoes something may be needed for what it takes away, which only seems to be there. Steps that came
    into the plan together were meant to be done one after the other. A step of which some effects were seen to be
    missing may be done again for these.
    """
    outcome = carried.outcome
    if outcome is None or any(each.plan.undoes for each in outcome.steps if f"{outcome.run}/{each.id}" == key):
        return False
    planned = {f"{outcome.run}/s{number}" for number in range(1, len(setting.plan.steps) + 1)}
    came = {f"{outcome.run}/{each.id}": each.because for each in outcome.steps}
    ends = [event for _, event in carried.events if isinstance(event, StepEnded)]
    known = {each.step for each in ends if each.status in {StepStatus.SUCCEEDED, StepStatus.PARTIAL}}
    unsure = {f"{outcome.run}/{each.id}" for each in outcome.steps if each.id not in known}
    return key not in planned and any(came[each] != came[key] for each in before & unsure)


def _judge_failure(setting: Setting, carried: Carried, outcome: RunOutcome) -> Verdict:
    """Return whether a run could have gone on that says it failed."""
    if not outcome.state.has_aim:  # a plan of steps alone: what comes after a failed one cannot be done for it
        return Verdict(Ending.OUT_OF_REACH)
    given_up = carried.undoing or GivenUp.of(carried.simulated, outcome.state)
    if not given_up.could_go_on(setting, carried.simulated, anew=True):
        return Verdict(Ending.OUT_OF_REACH)
    if not given_up.can_create or not given_up.could_go_on(setting, carried.simulated, anew=False):
        return Verdict(Ending.SPENT)
    undone = Counter(act.step for act in carried.simulated.acts if act.step is not None and not act.by)
    if max(undone.values(), default=0) >= REPEATS:
        return Verdict(Ending.UNDONE)
    if setting.is_refused:
        return Verdict(Ending.REFUSED)
    return Verdict.of(Violation.GAVE_UP, outcome.reason) if setting.is_clear else Verdict(Ending.BLIND)
