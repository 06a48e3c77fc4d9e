"""Decide whether the goal of a run holds, and with which status the run ends.

Observers always look at the goal afresh; assumed facts are no evidence for it. Where the goal is about all objects,
they may find objects that the problem lacks: these join the run before the goal is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from executor.events.answers import describe_wait
from executor.events.events import Event, FactsSeen, RunEnded, RunStatus, StepStatus
from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.observe.beliefs import Beliefs
from executor.observe.condition_facts import patterns_against, patterns_of
from executor.observe.observe import Lookout, LookResult, adopt_look
from executor.plans.suppositions import parse_suppositions
from executor.tools.results import SURE
from planner.language.declare.local_closed_world import listings_of
from planner.model import OPEN, Atom
from planner.plan import Step
from planner.semantics.simulation import bind_parameters


class Verdict(Enum):
    """Result of a look at the goal."""

    SEEN = "it was seen to hold"
    ASSUMED = "nothing of it was seen to be missing, but not all was seen"
    MISSING = "it does not hold"
    UNEXPLAINED = "it was seen not to hold, and nothing that can be changed says why"


@dataclass(frozen=True, slots=True)
class GoalLook:
    """Verdict on the goal, with a reason if it was not seen to hold."""

    verdict: Verdict
    reason: str = ""


SEEN: Final = GoalLook(Verdict.SEEN)
MISSING: Final = GoalLook(Verdict.MISSING)


async def look_at_goal(state: RunState, lookout: Lookout, emit: Callable[[Event], None]) -> GoalLook:
    """Look at the goal of `state` and judge it; tasks, and a run without a goal, are judged by their steps.

    A goal with unmet trajectory constraints is missing. What the run has not seen of its constraints is assumed.
    """
    if state.unmet:
        return MISSING
    look = await _judge_aim(state, lookout, emit)
    if state.evidence is None or look.verdict not in {Verdict.SEEN, Verdict.ASSUMED}:
        return look
    open_facts = [fact for fact in state.evidence.list_open_facts(state.beliefs) if lookout.can_see(fact)]
    if open_facts:
        adopt_look(await lookout.look(open_facts, state.beliefs), state.beliefs, emit, "the constraints")
    unseen = [*filter(None, [look.reason]), *state.evidence.describe_unseen()]
    return GoalLook(Verdict.ASSUMED, _join_reasons(unseen)) if unseen else look


async def _judge_aim(state: RunState, lookout: Lookout, emit: Callable[[Event], None]) -> GoalLook:
    if state.hierarchy is None:
        had_goal = state.has_goal or bool(state.dropped)
        return await _judge_goal(state, lookout, emit) if had_goal else _judge_steps(state, state.steps)
    if not all(state.steps[id_].is_done for id_ in state.hierarchy.steps):
        return MISSING
    tasks = _judge_steps(state, state.hierarchy.steps)
    if not state.has_goal:
        return tasks
    goal = await _judge_goal(state, lookout, emit)
    return tasks if goal.verdict is Verdict.SEEN else goal


def _judge_steps(state: RunState, ids: Iterable[str]) -> GoalLook:
    """Judge steps by their statuses."""
    records = [state.steps[id_] for id_ in ids]
    if any(each.is_obstructed or each.status in {StepStatus.FAILED, StepStatus.PARTIAL} for each in records):
        return MISSING
    unverified = [f"{each.step}: {each.reason}" for each in records if _is_unverified(each)]
    return GoalLook(Verdict.ASSUMED, _join_reasons(unverified)) if unverified else SEEN


def _is_unverified(record: StepRecord) -> bool:
    """Return whether nobody has seen that a step was done, though somebody may have said so."""
    return record.status is StepStatus.UNVERIFIED or (record.status is StepStatus.SKIPPED and record.by_word)


async def _judge_goal(state: RunState, lookout: Lookout, emit: Callable[[Event], None]) -> GoalLook:
    beliefs = state.beliefs
    looked = await _look(state, lookout, emit)
    if not beliefs.is_true(state.goal):
        contradicted = beliefs.simulation.holds(state.goal)
        return GoalLook(Verdict.UNEXPLAINED, _describe_contradiction(state)) if contradicted else MISSING
    rests = beliefs.find_decisive(
        state.goal, lambda fact: state.objects.exists(fact) and not is_confirmed(fact, looked, beliefs)
    )
    unsure = [*_describe_misfits(state), *(_explain_unseen(fact, looked) for fact in rests)]
    unsure += _describe_unlisted(state, looked)
    unsure = unsure or list(_find_unsure_steps(state))
    return GoalLook(Verdict.ASSUMED, _join_reasons(unsure)) if unsure else SEEN


async def _look(state: RunState, lookout: Lookout, emit: Callable[[Event], None]) -> LookResult:
    """Look at all facts of the goal; unobserved causes of a derived fact that was seen to be false become unknown."""
    beliefs = state.beliefs
    facts = [*beliefs.facts_of(state.goal, {}), *beliefs.derived_of(state.goal)]
    over = patterns_of(state.goal, state.problem.domain)
    looked = await lookout.look([fact for fact in facts if lookout.can_see(fact)], beliefs, over)
    adopt_look(looked, beliefs, emit, "the goal")
    doubted = [note for fact in beliefs.find_unexplained(state.goal) for note in beliefs.doubt_causes(fact)]
    if doubted:
        emit(FactsSeen(tuple(doubted), "the goal"))
    supposing = beliefs.list_suppositions(parse_suppositions(state.supposes))
    if supposing:
        emit(FactsSeen(tuple(supposing), "supposed"))
    return looked


def _describe_misfits(state: RunState) -> list[str]:
    """Return what was last told of objects that cannot join the run, where the goal speaks of all objects."""
    over = patterns_of(state.goal, state.problem.domain)
    told = [fact for fact, note in state.strangers.items() if note.holds and state.beliefs.describe_stranger(fact)]
    reasons = {each.facts[0]: each.reason for each in state.disagreements if each.strangers}
    return [reasons[fact] for fact in told if any(pattern.matches(fact) for pattern in over)]


def _describe_unlisted(state: RunState, looked: LookResult) -> Iterator[str]:
    """Yield which facts nobody has told all of, where one about an object that turns up might break the goal.

    Of patterns that actions list, the goal itself needs the fact that they are listed.
    """
    listed = {each.pattern.predicate for each in listings_of(state.problem.domain)}
    for pattern in patterns_against(state.goal, state.problem.domain):
        if pattern in looked.unlisted and pattern.predicate not in listed:
            yield "; ".join(filter(None, [f"nobody has told which {pattern} there are", looked.unlisted[pattern]]))


def _find_unsure_steps(state: RunState) -> Iterator[str]:
    """Yield the steps that contributed to the goal and whose handlers report a confidence below 1.

    A fact rests on the step that changed it last before it was needed. A step rests on the facts of its precondition
    and conditional effects, and on the steps that it has to come after.
    """
    beliefs, seen = state.beliefs, set[tuple[int, str]]()
    waiting = list(_find_last_changes(state, beliefs.facts_of(state.goal, {}), len(state.finished)))
    while waiting:
        place, on = waiting.pop()
        if (place, on) in seen:
            continue
        seen.add((place, on))
        record = state.steps[state.finished[place]]
        waiting += _find_last_changes(state, beliefs.facts_of_precondition(record.step), place)
        if on:
            waiting += _find_last_changes(state, beliefs.facts_of_effects(record.step, on=on), place)
        waiting += [(earlier, "") for earlier in _find_earlier_runs(state, record.step, place)]
        if _confidence_of(record) < SURE:
            yield f"{record.step}: the handler is sure only to {_confidence_of(record):g}"


def _find_last_changes(state: RunState, facts: Iterable[Atom], until: int) -> Iterator[tuple[int, str]]:
    """Yield the place of the step that last changed each of `facts` before the place `until`, and the predicate."""
    for fact in facts:
        place = state.steps.find_last_change(fact, until)
        if place is not None:
            yield place, fact.predicate


def _find_earlier_runs(state: RunState, step: Step, until: int) -> Iterator[int]:
    """Yield the place of the most confident step for each pattern in `after` of the action."""
    action = state.problem.domain.actions[step.action]
    binding = dict(bind_parameters(action, step)) if action.after else {}
    for pattern in action.after:
        wanted = [binding.get(each, each) for each in pattern.args]
        places = [
            (_confidence_of(record), place)
            for place, record in enumerate(state.steps[id_] for id_ in state.finished[:until])
            if record.status.is_done and _is_like(record.step, pattern.predicate, wanted)
        ]
        if places:
            yield max(places)[1]


def _is_like(step: Step, action: str, wanted: Sequence[str]) -> bool:
    given = zip(wanted, step.arguments, strict=False)
    return step.action == action and all(each in (OPEN, argument) for each, argument in given)


def _confidence_of(record: StepRecord) -> float:
    found: float = (record.result or {}).get("confidence", SURE)
    return found


def _explain_unseen(fact: Atom, looked: LookResult) -> str:
    reasons = [each.reason for each in looked.disagreements if fact in each.facts]
    return reasons[0] if reasons else f"nobody has seen that {fact} is as the goal wants it"


def _join_reasons(reasons: Sequence[str]) -> str:
    return "; ".join(dict.fromkeys(reasons))


def is_confirmed(fact: Atom, looked: LookResult, beliefs: Beliefs) -> bool:
    """Return whether the look confirms the believed value of `fact`; a stale fact may differ for a while."""
    return looked.seen[fact] is beliefs.holds(fact) if fact in looked.seen else beliefs.is_trusted(fact)


def _describe_contradiction(state: RunState) -> str:
    beliefs = state.beliefs
    seen = [
        f"{beliefs.get_seen_derived(fact).source} saw that {fact} does not hold"
        for fact in beliefs.find_unexplained(state.goal)
    ]
    return f"{_join_reasons(seen)}, though it follows from facts that hold"


def end_run(state: RunState, status: RunStatus, reason: str = "") -> RunEnded:
    """Return the end of a run, with the total metrics of its steps."""
    return RunEnded(status, reason, state.spent.to_dict())


def end_at_goal(state: RunState, look: GoalLook) -> RunEnded:
    """Return the end of a run whose goal is not `MISSING`: SUCCEEDED only if the goal was seen to hold."""
    unverified = ", ".join(map(repr, state.plan.basis.unverified))
    if look.verdict is not Verdict.SEEN or unverified:
        reasons = [f"nothing confirms {unverified}"] if unverified else []
        return end_run(state, RunStatus.UNVERIFIED, "; ".join([*reasons, *filter(None, [look.reason])]))
    left = ", ".join(map(repr, state.plan.basis.left))
    if left:
        return end_run(state, RunStatus.LOWERED, f"nothing was done about {left}")
    return end_run(state, RunStatus.LOWERED if state.dropped else RunStatus.SUCCEEDED)


UNCHOSEN: Final = "nobody has chosen the next step"
"""Reason why a run waits whose driver has the choice."""


def end_waiting(state: RunState) -> RunEnded:
    """Return the end of a run that waits for answers."""
    waiting, questions = state.with_status(StepStatus.WAITING), state.open_questions
    found = [describe_wait(record, questions) for record in waiting]
    shown = {(record.wait or {}).get("question") for record in waiting}
    asked = [f"open question: {each.text}" for each in state.undecided_questions if each.question not in shown]
    return end_run(state, RunStatus.WAITING, "; ".join([*found, *asked]) or UNCHOSEN)
