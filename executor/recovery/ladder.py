"""Recover from a failure that retries did not mend, by the rungs of the ladder: patch, replan, ask, compensate.

`Ladder.climb` takes the rungs in order until the run can go on. `prove_impossible` decides whether the observed facts
prove that no plan reaches the goal.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, Final

from executor.background_searches import search_in_turn
from executor.dispatching.dispatcher import Dispatcher
from executor.dispatching.timed_replanning import TimedOptions, TimedReplanning
from executor.events.events import Event, Note, ProvedImpossible, Provenance, Rung, StepEnded, StepStatus
from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.learning.experience import Pricing
from executor.observe.observe import Survey
from executor.plan_check.remaining_means import RemainingMeans
from executor.recovery.ask_people import Asking, Questions
from executor.recovery.compensation import Compensation
from executor.recovery.options import Options
from executor.recovery.policy_execution import PolicyExecution
from executor.recovery.recovery_policy import PROOF_SECONDS, Recovery
from executor.recovery.replanning import Replanning
from executor.recovery.rungs import action_of
from planner.compilations.unlisted_objects import may_find_more
from planner.errors import ForethoughtError
from planner.explain.unsolvability import explain_unsolvable
from planner.lightweight import replace
from planner.limits import LimitReached, Limits
from planner.model import Goal, Problem
from planner.model.domain import may_find_out
from planner.model.problem import seal
from planner.options import ANY_PLAN
from planner.plan import Status
from planner.solve import answer

_UNSEEN: Final = frozenset({Provenance.ASSUMED, Provenance.REPORTED, Provenance.UNKNOWN})
"""Provenances without an observation: such a belief may be wrong."""


async def prove_impossible(state: RunState, options: Options) -> Mapping[str, Any] | None:
    """Return the diagnosis (`Diagnosis.to_dict`) why no plan reaches the hard goal; None without a proof.

    Unobserved facts may have either value, and while something is not listed or read, objects and numbers may turn up.
    Failed actions and actions without a handler count as possible, and budgets and the deadline are ignored: none of
    these is evidence about the world. Search and explanation take at most `PROOF_SECONDS` each.
    """
    problem = options.make_problem()
    may_find = may_find_out(problem.domain)
    if not state.has_goal or (may_find and await search_in_turn(lambda: may_find_more(problem))):
        return None
    domain, goal = state.beliefs.problem.domain, Goal(state.problem.goal.hard)
    problem = replace(problem, domain=domain, goal=goal, budgets={}, deadline=None)
    observed = _as_observed(problem, state)
    return await search_in_turn(lambda: _search_proof(problem, observed))


def _as_observed(problem: Problem, state: RunState) -> Problem:
    """Return `problem` with all unobserved facts unknown, and those that an irreversible step may have changed."""
    beliefs = state.beliefs
    unseen = {note.fact for note in beliefs.notes() if note.provenance in _UNSEEN and not beliefs.is_trusted(note.fact)}
    possible = state.irreversible.find_possible_effects()
    unseen |= {fact for fact, holds in possible.items() if beliefs.holds(fact) is not holds}
    unseen -= {fact for fact in unseen if beliefs.is_internal(fact)}
    initial = tuple([fact for fact in problem.initial if fact not in unseen])
    return replace(problem, initial=initial, unknown=tuple(sorted(unseen, key=str)), likely={})


def _search_proof(believed: Problem, observed: Problem) -> Mapping[str, Any] | None:
    try:
        if answer(observed, ANY_PLAN.within(Limits(PROOF_SECONDS))).status is not Status.UNSOLVABLE:
            return None
        return explain_unsolvable(seal(believed), Limits(PROOF_SECONDS)).as_unsolvable().to_dict()
    except (LimitReached, ForethoughtError):  # what search or the explanation does not take is no proof
        return None


PLANS: Final = frozenset({Rung.CANDIDATE, Rung.PATCH, Rung.REPLAN})
MEANWHILE: Final = frozenset({Rung.CANDIDATE, Rung.PATCH})
"""Rungs that may be taken while steps are at work, if they come first."""


@dataclass(slots=True, eq=False)
class Ladder:
    """Recovers one run."""

    state: RunState
    emit: Callable[[Event], None]
    asking: Asking
    recovery: Recovery
    means: RemainingMeans
    survey: Survey
    pricing: Pricing | None = None
    dispatcher: Dispatcher | None = None
    """Dispatches the plan, if it is one in time."""
    has_other_done: Callable[[StepRecord], Awaitable[bool]] = field(init=False)
    """Function whether another run has done a step that cannot begin, or may have: then somebody is asked."""
    options: Options = field(init=False)
    replanning: Replanning = field(init=False)
    questions: Questions = field(init=False)
    compensation: Compensation = field(init=False)
    following: PolicyExecution = field(init=False)

    def __post_init__(self) -> None:
        lacking = frozenset(self.means.world.without_handler())
        if self.dispatcher is None:
            self.options = Options(self.state, lacking)
        else:
            self.options = TimedOptions(self.state, lacking, dispatcher=self.dispatcher)
        parts = self.state, self.emit, self.options, self.recovery, self.means, self.pricing
        if self.dispatcher is None:
            self.replanning = Replanning(*parts)
        else:
            self.replanning = TimedReplanning(*parts, dispatcher=self.dispatcher)
        self.questions = Questions(self.state, self.emit, self.asking)
        self.compensation = Compensation(
            self.state,
            self.emit,
            self.survey.lookout,
            self.options,
            self.recovery.time_limit,
            self.reasons,
        )
        self.following = PolicyExecution(*parts, self.reasons)

    @property
    def reasons(self) -> list[str]:
        """Reasons why the latest rungs did not help."""
        return self.replanning.reasons

    async def climb(
        self, failed: Sequence[StepRecord], *, meanwhile: bool = False, is_asked_by: str | None = None
    ) -> bool:
        """Take the rungs in order until the run can go on; return whether it can.

        Only the rungs of `MEANWHILE` are taken `meanwhile`, that is, while other steps are at work. If the step
        `is_asked_by` requests replanning, a plan that still works is kept only if there is none better.
        """
        self.reasons.clear()
        about = failed[-1].id if failed else is_asked_by or ""
        if self.state.is_undoing:
            return not meanwhile and await self.compensation.plan_undo(about)
        await self.survey.look_near(failed)
        if self.reopen_doubt():
            return True
        if self._is_at_the_goal:
            self.replanning.skip(len(self.options.find_remaining()))
            return True
        if self.state.policy is not None:
            if meanwhile:
                return False
            if await self._follow(about):
                return True
            if await self.survey.look_everywhere() and (self.reopen_doubt() or await self._follow(about)):
                return True
        elif self.state.hierarchy is None and self.options.still_works(self.options.find_remaining()):
            if is_asked_by is None or self._is_spent or not await self.replanning.improve(about):
                self.replanning.keep()
            return True
        given_up = PLANS if self.following.gives_up else ()
        rungs = [each for each in self._list_rungs(meanwhile=meanwhile) if each not in given_up]
        return await self._take_one(rungs, about, meanwhile=meanwhile)

    async def _take_one(self, rungs: Iterable[Rung], about: str, *, meanwhile: bool) -> bool:
        """Take the first of `rungs` that helps; return whether one does.

        If no other plan helps, list what is not listed yet: objects that turn up may help. Then find out whether other
        runs have done irreversible steps of the plan. Otherwise, record the irreversible actions that bar a plan before
        asking people or undoing steps.
        """
        is_explained = meanwhile
        for rung in (*rungs, None):
            if rung not in PLANS and not is_explained:
                if await self.replanning.list_first(about) or await self._find_done_by_others():
                    return True
                await self.replanning.explain_bars(about)
                is_explained = True
            if rung is not None and await action_of(rung)(self, about):
                return True
        return False

    async def _find_done_by_others(self) -> bool:
        """Return whether other runs have done an irreversible step that is still to come, or may have done it."""
        pending = [each for each in self.state.pending() if not each.attempts and self.state.is_irreversible(each)]
        return any([await self.has_other_done(each) for each in pending])

    async def _follow(self, about: str) -> bool:
        """Take the next step of the policy, or decide on another policy; return whether there is a next step."""
        if self.following.is_for_this and self.following.go_on(about):
            return True
        if self.options.still_works(()):
            self.replanning.keep()
            return True
        return not self._is_spent and await self.following.decide_again(about)

    def reopen_doubt(self) -> bool:
        """Put done irreversible steps back in doubt if one of their effects is unknown now; return whether any is."""
        beliefs, found = self.state.beliefs, False
        for begun in self.state.irreversible.find_done():
            unknown = next((fact for fact in begun.effects if beliefs.holds(fact) is None), None)
            if unknown is None:
                continue
            found = True
            reason = f"it was done, but {beliefs.note(unknown).source or f'nobody can say whether {unknown} holds'}"
            awaited = tuple([Note(fact, holds, Provenance.ASSUMED) for fact, holds in begun.effects.items()])
            self.emit(StepEnded(begun.step, StepStatus.IN_DOUBT, reason, repeatable=False, awaited=awaited))
        return found

    @property
    def _is_at_the_goal(self) -> bool:
        """Whether observations of derived facts make the goal true although it does not follow by the axioms."""
        state = self.state
        if not state.beliefs.has_seen_derived or state.hierarchy is not None or not state.has_goal or state.unmet:
            return False
        return state.beliefs.is_true(state.goal) and not state.beliefs.simulation.holds(state.goal)

    @property
    def _is_spent(self) -> bool:
        """Whether the run has used up its patches and new plans since objects turned up last."""
        since = self.state.rungs[self.state.rungs_at_find :]
        found = sum(1 for each in since if each.found and each.rung in PLANS)
        return found >= self.recovery.most_patches

    def _list_rungs(self, *, meanwhile: bool) -> list[Rung]:
        """List the rungs that may be taken now."""
        rungs = self.recovery.rungs
        if meanwhile:
            rungs = tuple(takewhile(MEANWHILE.__contains__, rungs))
        if self._is_spent:
            most = self.recovery.most_patches
            self.reasons.append(f"there were {most} patches and new plans, and no more are allowed")
            rungs = tuple([rung for rung in rungs if rung is Rung.COMPENSATE])
        return list(rungs)

    async def prove_impossible(self) -> None:
        """Emit `ProvedImpossible` if the observed facts prove that no plan reaches the goal."""
        if self.state.missing is None and not self.state.is_undoing and self.dispatcher is None:
            missing = await prove_impossible(self.state, self.options)
            if missing is not None:
                self.emit(ProvedImpossible(missing))
