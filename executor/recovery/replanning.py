"""Change the plan of a run: continue another candidate, patch the plan, or replan.

Among equally good plans, one that begins with an action suggested by a handler is preferred.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from executor.background_searches import SearchStopped, read_timer, search_in_turn
from executor.events.events import Event, GoalDropped, PlanChanged, Rung, RungTaken
from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.events.tasks import TASKS
from executor.learning.experience import Pricing
from executor.plan_check.remaining_means import RemainingMeans
from executor.plans.action_plan import PlanStep
from executor.plans.execution_models import OFFERED
from executor.plans.suppositions import texts_by_step
from executor.recovery.hierarchy import find_lost_reference, inherit_fields, make_repair_search, read_repair
from executor.recovery.options import Options
from executor.recovery.recovery_policy import MORE, PROOF_SECONDS, Recovery
from planner.compilations.unlisted_objects import aims_at_finding
from planner.errors import InputError
from planner.language.declare import resolve_action
from planner.language.declare.atom_syntax import NotationError, parse_atom
from planner.lightweight import replace
from planner.model import Number, Problem
from planner.model.domain import may_find_out
from planner.model.formulas import exact_decimal
from planner.model.problem import seal
from planner.plan import Status, Step, StoppedBy, exact, exact_sum
from planner.repair.patching import Patch, apply_steps, patch
from planner.repair.regression import Unclear, regress_suffixes
from planner.semantics.simulation import Simulation
from planner.validation.validate import check_steps

if TYPE_CHECKING:
    from htn.repair.subtree_repair import Repair


def read_hints(state: RunState, about: str) -> Iterator[Step]:
    """Yield the ground actions in `next_actions` of the result of the step `about`; skip texts that name none."""
    record = state.steps.get(about)
    for text in (record.result or {}).get("next_actions", ()) if record else ():
        try:
            named = parse_atom(str(text).strip().removesuffix("()"))
            yield Step(resolve_action(state.domain, named.predicate).name, named.args)
        except (NotationError, InputError):
            continue


def prefer_hinted(
    found: Patch,
    wanted: Collection[Step],
    problem: Problem,
    fixed: Sequence[Step],
    search: Callable[[Sequence[Step]], Patch],
) -> Patch:
    """Return a patch as good as `found` that begins with one of the steps `wanted`, or else `found`.

    `search` returns the best patch after given steps, which include `fixed`.
    """
    simulation = Simulation(problem)
    for step in fixed:
        simulation.apply(step)
    for step in wanted:
        if found.steps and _key_of(found.steps[0]) == _key_of(step):
            return found
        if found.objective is None or simulation.find_objection(step) is not None:
            continue
        step = replace(step, cost=simulation.cost(step))  # noqa: PLW2901 - the same step
        rest = search([*fixed, step])
        if rest.steps is None or rest.objective is None or exact_sum([rest.objective, step.cost]) > found.objective:
            continue
        cost, objective = (exact_sum([each or 0, step.cost]) for each in (rest.cost, rest.objective))
        steps = (step, *rest.steps)
        return replace(rest, status=found.status, steps=steps, new=rest.new + 1, cost=cost, objective=objective)
    return found


def _key_of(step: Step) -> tuple[str, tuple[str, ...]]:
    return step.action, step.arguments


CHOSEN: Final = "chosen beside the plan"
"""Reason for a step that a driver put in front of the plan."""
LISTED: Final = "nothing that is listed or read can help"
NONE_FITS: Final = "no candidate leads from here to the goal"


@dataclass(slots=True, eq=False)
class Candidates:
    """The alternative plans of one run, whose ends may lead from the believed state to the goal."""

    options: Options
    weight: float

    def exist(self) -> bool:
        """Return whether the run has alternative plans."""
        return bool(self.options.state.plan.alternatives)

    def patch(self, now: Problem, left: Sequence[Step]) -> Patch:
        """Return the end of a candidate that leads from `now` to the goal with the least objective.

        `left` are the remaining steps of the plan; those of its end that the candidate shares are kept, and dropped
        steps count as in other patches. The plan checker validates the end; as nothing is searched, there may be better
        patches. New steps that are not needed are left out. No action is repeated in a state in which it has failed.
        """
        found = [self._make_patch(steps, left) for steps in self._find_fitting_ends(now)]
        for each in sorted(found, key=lambda patch: (patch.objective, -patch.kept)):
            if check_steps(now, each.steps or ()).valid:
                shortest = _drop_unneeded(now, each.steps or (), each.new)
                if not self.options.repeats(shortest):
                    return self._make_patch(shortest, left)
        return Patch(Status.UNKNOWN, StoppedBy.INCOMPLETE, reason=NONE_FITS)

    def _find_fitting_ends(self, now: Problem) -> Iterator[tuple[Step, ...]]:
        """Yield the ends of candidates that may lead to the goal, with the costs of steps."""
        simulation = Simulation(now)
        for texts in self.options.state.plan.alternatives:
            steps = [_parse_step(text) for text in texts]
            if not any(simulation.rules.misfit(each) for each in steps):
                priced = [replace(each, cost=simulation.cost(each)) for each in steps]
                yield from (tuple(priced[place:]) for place in _find_entries(simulation, priced))

    def _make_patch(self, steps: tuple[Step, ...], left: Sequence[Step]) -> Patch:
        kept = 0
        for mine, old in zip(reversed(steps), reversed(left), strict=False):
            if (mine.action, mine.arguments) != (old.action, old.arguments):
                break
            kept += 1
        dropped, cost = len(left) - kept, exact_sum(each.cost for each in steps)
        objective: Number = exact(cost + exact_decimal(self.weight) * dropped)
        new = len(steps) - kept
        return Patch(Status.SOLVED, StoppedBy.FIRST_PLAN, steps, new, kept, dropped, cost, objective)


def _drop_unneeded(now: Problem, steps: tuple[Step, ...], new: int) -> tuple[Step, ...]:
    """Drop unneeded steps among the first `new` of a plan, one after the other."""
    place = 0
    while place < new:
        others = (*steps[:place], *steps[place + 1 :])
        if check_steps(now, others).valid:
            steps, new = others, new - 1
        else:
            place += 1
    return steps


def _parse_step(text: str) -> Step:
    atom = parse_atom(text)
    return Step(atom.predicate, atom.args)


def _find_entries(now: Simulation, steps: Sequence[Step]) -> list[int]:
    """Return the places from which on `steps` lead to the goal by regression; all places if that is unclear."""
    with suppress(Unclear):
        return [place for place, needs in regress_suffixes(now, steps, now.problem.goal.hard) if not needs.unmet]
    return list(range(len(steps) + 1))


KEEP_MOST: Final = 10**6
"""Weight of a dropped step in a search for a patch that keeps as many steps as possible."""


def has_run_out(found: Patch | Repair) -> bool:
    """Return whether a search has run out of time before it found any steps."""
    return not found.steps and found.stopped_by is StoppedBy.TIME


def describe_time(found: Patch | Repair, seconds: float) -> str:
    """Return the reason of a search that ran out of time, with its time limit."""
    return f"{found.reason or f'nothing was found: {found.stopped_by.value}'} ({seconds:g} s of processor time)"


_Search = tuple[Sequence[StepRecord], Callable[[], "Patch | Repair"]]
"""The remaining steps, and a search for their replacement."""


@dataclass(slots=True, eq=False)
class Replanning:
    """Changes the plan of one run."""

    state: RunState
    emit: Callable[[Event], None]
    options: Options
    recovery: Recovery
    means: RemainingMeans
    pricing: Pricing | None = None
    reasons: list[str] = field(default_factory=list)
    """Reasons why the searches since the latest failure have found nothing."""

    def keep(self) -> None:
        """Go on with the rest of the plan."""
        self._change_plan(self.options.find_remaining(), 0, 0, "the rest of the plan still works")

    def skip(self, number: int) -> None:
        """Skip the next `number` steps."""
        self._change_plan(
            self.options.find_remaining()[number:], 0, number, "what they are for has come about by itself"
        )

    def put_in_front(self, step: PlanStep) -> None:
        """Put a step that the driver of the run has chosen in front of the plan; it may be tried though it failed here.

        The rest of the plan stays, whether or not it works after the step.
        """
        self.pardon((step,))

    def pardon(self, new: Sequence[PlanStep] = ()) -> None:
        """Go on with the `new` steps and the rest of the plan, which may be tried though they failed in this state."""
        fixed = [record.plan for record in self.options.find_fixed()]
        rest = [record.plan for record in self.options.find_remaining()]
        data = tuple([plan.model_dump(mode="json") for plan in (*fixed, *new, *rest)])
        self.emit(PlanChanged(data, len(rest), len(new), 0, CHOSEN, supposes=self.state.supposes, follows=True))

    def drop(self, reason: str) -> None:
        """Drop the rest of the plan: no plan is known."""
        fixed = tuple([record.plan.model_dump(mode="json") for record in self.options.find_fixed()])
        self.emit(PlanChanged(fixed, 0, 0, len(self.state.pending()), reason))

    async def take_candidate(self, about: str) -> bool:
        """Go on with the end of another candidate that leads from the believed state to the goal, if there is one."""
        candidates = Candidates(self.options, self.recovery.weight)
        if self.state.hierarchy is not None or self.options.make_open_problem().unknown or not candidates.exist():
            return False
        barred, limit = self.options.find_barred(), min(PROOF_SECONDS, self.recovery.time_limit)

        def look(declared: Problem, steps: Sequence[Step], done: Sequence[Step]) -> Patch:
            problem = declared if self.pricing is None else seal(self.pricing.apply_expected_costs(declared))
            found = candidates.patch(apply_steps(problem, done), steps)
            if found.objective is None or not self.recovery.compares:
                return found
            weight = self.recovery.weight
            other = patch(problem, steps, weight=weight, fixed=done, forbidden=barred, time_limit=limit)
            return found if other.objective is None or other.objective >= found.objective else _reject(found, other)

        def prepare(_: float) -> _Search:
            left, done = self.options.find_remaining(), [record.step for record in self.options.find_fixed()]
            return left, partial(look, self.options.make_open_problem(), [record.step for record in left], done)

        return await self._search_and_change(Rung.CANDIDATE, about, prepare, self.recovery.time_limit)

    async def patch(self, about: str) -> bool:
        """Search for the cheapest patch; a failed step may be part of it if its precondition does not hold now."""
        again = self.options.find_repeatable()
        retried = {(each.step.action, each.step.arguments) for each in again}
        barred = {each for each in self.options.find_barred() if (each.action, each.arguments) not in retried}
        return await self._search(Rung.PATCH, about, forbidden=barred, not_first=set(), again=again)

    async def plan_again(self, about: str) -> bool:
        """Replan with all steps that are not barred, after a person has asked for another try."""
        barred = self.state.list_barred()
        return await self._search(Rung.REPLAN, about, forbidden=barred, not_first=set())

    async def improve(self, about: str) -> bool:
        """Search for a better plan than the present one, which works; return whether there is one."""
        return await self._search(Rung.REPLAN, about, forbidden=self.options.find_barred(), not_first=set(), works=True)

    async def replan(self, about: str) -> bool:
        """Replan with failed actions allowed after other steps, and then without soft goals, the least useful first.

        In a run whose driver chooses the steps, they may come first, too: how often they are tried is up to the driver.
        """
        never = self.options.find_spent()
        failed = self.options.find_barred() - never
        later = set() if self.state.model == OFFERED else failed
        if failed and await self._search(Rung.REPLAN, about, forbidden=never, not_first=later):
            return True
        while self.state.soft:
            wish = min(self.state.soft, key=lambda each: each.utility)
            self.emit(GoalDropped(str(wish.condition), float(wish.utility)))
            if await self._search(Rung.REPLAN, about, forbidden=never, not_first=later):
                return True
        if self.state.hierarchy is not None and self.recovery.leave_tasks and self.state.has_goal:
            self.emit(GoalDropped(TASKS, 0.0))
            return await self._search(Rung.REPLAN, about, forbidden=never, not_first=later)
        return False

    async def list_first(self, about: str) -> bool:
        """Search for steps that list or read something which is not known yet; return whether there are any.

        The run plans again when it is known: objects and numbers that turned up may lead to the goal.
        """
        if self.state.hierarchy is not None or not may_find_out(self.state.domain):
            return False

        def prepare(seconds: float) -> _Search:
            problem, forbidden = self.options.make_problem(), self.options.find_barred()
            done = [record.step for record in self.options.find_fixed()]

            def search() -> Patch:
                found = Patch(Status.UNKNOWN, StoppedBy.INCOMPLETE, reason=LISTED)
                for aim in aims_at_finding(problem):
                    found = patch(seal(aim), (), fixed=done, forbidden=forbidden, time_limit=seconds)
                    if found.steps is not None:
                        break
                return found

            return (), search

        limit = min(PROOF_SECONDS, self.recovery.time_limit)
        return await self._search_and_change(Rung.REPLAN, about, prepare, limit)

    async def explain_bars(self, about: str) -> None:
        """Record which irreversible actions a plan would have to repeat, if there is no plan without them."""
        barred = self.state.irreversible.list_barred()
        if not barred:
            return
        forbidden = self.options.find_spent() - barred
        search = self._make_search(
            self.options.find_remaining(), forbidden, set(), (), min(PROOF_SECONDS, self.recovery.time_limit)
        )
        found = await self._run_search(search)
        for bar in self.state.irreversible.describe_bars(found.steps or ()):
            self.reasons.append(bar)
            self.emit(RungTaken(Rung.REPLAN, about, bar, found=False))

    async def _search(
        self,
        rung: Rung,
        about: str,
        *,
        forbidden: set[Step],
        not_first: set[Step],
        again: Sequence[StepRecord] = (),
        works: bool = False,
    ) -> bool:
        wanted = [each for each in read_hints(self.state, about) if each not in forbidden | not_first]

        def prepare(seconds: float) -> _Search:
            left = self.options.find_remaining(again if self.state.hierarchy is None else ())
            return left, self._make_search(left, forbidden, not_first, wanted, seconds)

        return await self._search_and_change(rung, about, prepare, self.recovery.time_limit, works=works)

    async def _search_and_change(
        self,
        rung: Rung,
        about: str,
        prepare: Callable[[float], _Search],
        seconds: float,
        *,
        works: bool = False,
    ) -> bool:
        """Make the result of the search that `prepare` returns for so many `seconds` the plan; return whether it helps.

        A search that runs out of time is tried once more with more, unless the plan at hand `works`.
        """
        started = read_timer()
        left, found = await self._search_while_standing(partial(prepare, seconds))
        if has_run_out(found) and not works:
            self._tell_in_vain(rung, about, describe_time(found, seconds), read_timer() - started)
            seconds, started = MORE * seconds, read_timer()
            left, found = await self._search_while_standing(partial(prepare, seconds))
        took = read_timer() - started
        why = describe_time(found, seconds) if has_run_out(found) else self._find_objection(found, left)
        if works and not why and not (found.new or found.dropped):
            why = "the plan at hand is as good as any"
        if why or found.steps is None:
            self._tell_in_vain(rung, about, why, took)
            return False
        self.emit(
            RungTaken(
                rung, about, _describe_found(found), float(exact_sum(each.cost for each in _new_steps_of(found))), took
            )
        )
        reason = rung.name.lower() + (f" after {about}" if about else "")
        if isinstance(found, Patch):
            self._change_plan(left[len(left) - found.kept :], found.new, found.dropped, reason, found)
        else:
            self._change_decomposition(found, reason)
        return True

    def _tell_in_vain(self, rung: Rung, about: str, why: str, took: float) -> None:
        """Note and tell why a search has found nothing that helps."""
        self.reasons.append(f"{rung.name.lower()}: {why}")
        self.emit(RungTaken(rung, about, self.reasons[-1], seconds=took, found=False))

    async def _search_while_standing(
        self, prepare: Callable[[], _Search]
    ) -> tuple[Sequence[StepRecord], Patch | Repair]:
        """Run the search that `prepare` returns; return the remaining steps, and the result.

        The search runs again if a step began or ended in the meantime: its result would repeat that step.
        """
        standing = None
        while standing != (standing := self._snapshot_open_steps()):
            left, search = prepare()
            found = await self._run_search(search)
        return left, found

    async def _run_search(self, search: Callable[[], Any]) -> Patch | Repair:
        """Run `search` in a thread, and return its result."""
        try:
            return self._receive(await search_in_turn(search))
        except SearchStopped as stop:
            return Patch(Status.UNKNOWN, stop.stopped_by, reason=str(stop))

    def _receive(self, found: Any) -> Patch | Repair:
        """Return the result of a search that is over, all of which `found` has."""
        result: Patch | Repair = found
        return result

    def _snapshot_open_steps(self) -> frozenset[tuple[str, bool]]:
        """Return the ids of the steps that are not over, with whether each has begun."""
        begun, pending = self.options.find_fixed(), self.state.pending()
        return frozenset([*[(each.id, True) for each in begun], *[(each.id, False) for each in pending]])

    def _find_objection(self, found: Patch | Repair, left: Sequence[StepRecord]) -> str:
        """Return the reason why the result `found` does not help; an empty text if it may."""
        if found.steps is None:
            return found.reason or found.status.value
        steps = self._make_plan_steps(found, left)
        why = find_lost_reference(self.state, steps) or self.means.find_doom_of(steps)
        if why:
            return why
        if self.options.repeats(found.steps) and self.state.model != OFFERED:  # how often is up to its driver
            return "nothing else would be tried than what has failed already"
        needless = self.options.find_needless(found.steps, _new_steps_of(found)) if isinstance(found, Patch) else None
        if needless is not None:
            return f"nothing else would be tried than what has failed already, and {needless}, which nothing needs"
        times = self.state.count_times_taken(found.steps)
        if times < self.recovery.most_repeats or self.options.is_chancy(found.steps):
            return ""
        return f"the run goes in circles: {times} times the same steps were taken from the same state"

    def _make_search(
        self,
        left: Sequence[StepRecord],
        forbidden: set[Step],
        not_first: set[Step],
        wanted: Sequence[Step],
        time_limit: float,
    ) -> Callable[[], Patch | Repair]:
        """Return the search for other steps: a repair of the decomposition, or a patch of the plan."""
        limits: dict[str, Any] = {"forbidden": forbidden, "time_limit": time_limit}
        fixed = self.options.find_fixed()
        if self.state.hierarchy is not None:
            return make_repair_search(
                self.state, self.options.make_problem(), fixed, left, not_first=not_first, **limits
            )
        declared, done = self.options.make_open_problem(), [record.step for record in fixed]
        remaining = [record.step for record in left]
        limits |= {"weight": self.recovery.weight, "proof_time": PROOF_SECONDS}

        def search() -> Patch:
            problem = declared if self.pricing is None else seal(self.pricing.apply_expected_costs(declared))
            found = patch(problem, remaining, fixed=done, not_first=not_first, **limits)
            if found.steps is not None and find_lost_reference(self.state, self._make_plan_steps(found, left)):
                found = patch(problem, remaining, fixed=done, not_first=not_first, **limits | {"weight": KEEP_MOST})
            if not wanted or found.steps is None or problem.unknown:
                return found
            return prefer_hinted(
                found, wanted, problem, done, lambda steps: patch(problem, remaining, fixed=steps, **limits)
            )

        return search

    def _change_decomposition(self, found: Repair, reason: str) -> None:
        """Adopt a repaired decomposition."""
        steps, hierarchy = read_repair(self.state, found)
        plans = [*(record.plan for record in self.options.find_fixed()), *steps]
        data = tuple([each.model_dump(mode="json") for each in plans])
        counts = found.kept, found.new, found.dropped
        self.emit(PlanChanged(data, *counts, reason, decomposition=hierarchy.to_dict()))

    def _change_plan(
        self, kept: Sequence[StepRecord], new: int, dropped: int, reason: str, found: Patch | None = None
    ) -> None:
        fixed = [record.plan for record in self.options.find_fixed()]
        rest = [record.plan for record in kept] if found is None else self._make_plan_steps(found, kept)
        supposes: tuple[str, ...] = self.state.supposes if found is None else ()
        if found is not None and (found.suppositions or any(each.supposes for each in rest)):
            texts, supposes = texts_by_step(found.suppositions, len(rest))
            rest = [plan.model_copy(update={"supposes": each}) for plan, each in zip(rest, texts, strict=True)]
        data = tuple([plan.model_dump(mode="json") for plan in (*fixed, *rest)])
        self.emit(PlanChanged(data, len(kept), new, dropped, reason, supposes=supposes))

    def _make_plan_steps(self, found: Patch | Repair, left: Sequence[StepRecord]) -> list[PlanStep]:
        """Convert the result `found` for the remaining steps `left` to steps of the plan."""
        if isinstance(found, Patch):
            return inherit_fields(self.state, [*_new_steps_of(found), *left[len(left) - found.kept :]])
        return read_repair(self.state, found)[0]


def _reject(found: Patch, other: Patch) -> Patch:
    """Return an unsolved patch: the candidate `found` costs more than the patch `other`."""
    reason = f"a patch has the objective {other.objective}, and the best candidate {found.objective}"
    return Patch(Status.UNKNOWN, found.stopped_by, reason=reason)


def _new_steps_of(found: Patch | Repair) -> list[Step]:
    """Return the steps that are not from the old plan."""
    steps = found.steps or ()
    if isinstance(found, Patch):
        return list(steps[: found.new])
    return [step for step, origin in zip(steps, found.origins, strict=True) if origin is None]


def _describe_found(found: Patch | Repair) -> str:
    """Describe the result of a search."""
    if isinstance(found, Patch) or not found.anew:
        return found.status.value
    return f"{found.status.value}; done anew: {', '.join(map(str, found.anew))}"
