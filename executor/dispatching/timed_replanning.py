"""Change the plan of a run in time: find a plan from the present state that meets the deadlines that are left.

Running steps stay as they are, and steps of the old plan keep their ids. Where no plan is in time, soft goals are given
up, the least useful first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from executor.dispatching.dispatcher import Dispatcher
from executor.dispatching.present_problem import Present, find_running, is_at_work, make_searchable
from executor.dispatching.timetable import Planned, as_decimal, write_times
from executor.events.events import GoalDropped, PlanChanged, Rung
from executor.events.steps import StepRecord
from executor.plans.action_plan import PlanStep
from executor.plans.suppositions import texts_by_step
from executor.recovery.hierarchy import inherit_fields
from executor.recovery.options import Options
from executor.recovery.recovery_policy import PROOF_SECONDS
from executor.recovery.replanning import Replanning
from planner.errors import ForethoughtError, InputError, PlanError, UnsupportedError
from planner.lightweight import replace
from planner.model import Problem
from planner.model.problem import seal
from planner.plan import Plan, Result, Status, Step, StepTime, StoppedBy, exact_sum
from planner.repair.patching import Patch
from planner.scheduling.happening_schedule import in_sequence, schedule_happenings
from planner.semantics.snap_actions import make_snap_problem
from planner.validation.timed_replay import TimedReplay

LEAST_SECONDS: Final = 0.2
"""Least time limit of a search, in seconds, however near the deadline is."""
SHARE: Final = 0.25
"""Part of the time to the next deadline that a search may take."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The `times` of the steps of a `patch`, in seconds since the run began.

    `ends` has the times at which the steps at work are thought to end, by id. `supposes` are texts of what each step
    supposes, and `goal` of what the goal does.
    """

    patch: Patch
    times: tuple[StepTime, ...]
    ends: Mapping[str, Decimal]
    supposes: tuple[tuple[str, ...], ...]
    goal: tuple[str, ...]


def search_present(
    present: Present, without: Iterable[str], forbidden: Iterable[Step], time_limit: float
) -> tuple[Plan | None, Result]:
    """Search for a plan from the present state that meets all deadlines; return it with the result of the search.

    The plan includes the actions that stand for the steps at work.
    """
    from planner.solve import solve

    searched = seal(make_searchable(present, without, forbidden))
    result = solve(searched, time_limit=time_limit, mode="first")
    plan = result.plan
    if plan is None or not plan.steps:
        return plan, result
    if plan.times:
        return _drop_unneeded(searched, plan), result
    snap = make_snap_problem(searched)
    return schedule_happenings(searched, snap, plan.steps, in_sequence(len(plan.steps))), result


def _drop_unneeded(problem: Problem, plan: Plan) -> Plan:
    """Return `plan` without steps that it works without: a first plan may do what it does already in another way.

    Where facts are unknown, it stays as it is: its suppositions name its steps.
    """
    if problem.unknown:
        return plan
    for place in reversed(range(len(plan.steps))):
        steps = (*plan.steps[:place], *plan.steps[place + 1 :])
        times = (*plan.times[:place], *plan.times[place + 1 :])
        is_own = not is_at_work(plan.steps[place].action)
        if times and is_own and TimedReplay(problem, steps, times).judge(None).valid:
            plan = replace(plan, steps=steps, times=times)
    return plan


@dataclass(slots=True, eq=False)
class TimedOptions(Options):
    """Determines what a run of a plan in time may do next."""

    dispatcher: Dispatcher = field(kw_only=True)

    def still_works(self, left: Iterable[StepRecord]) -> bool:
        """Return whether the steps at work and those `left` lead to the goal, and meet the deadlines, from now on."""
        left = list(left)
        try:
            network = self.dispatcher.build(left)
        except (PlanError, InputError, UnsupportedError):
            return False
        if not network.keeps_limits(self.dispatcher.now()):
            return False
        barred = self.find_barred()
        return not any(Step(each.step.action, each.step.arguments) in barred for each in left)

    def find_repeatable(self) -> list[StepRecord]:
        """Return no step: a step that failed is planned anew."""
        return []

    def repeats(self, steps: Iterable[Step]) -> bool:
        """Return whether `steps` begin with an action that has failed in the present state."""
        del steps  # the search leaves these out
        return False


@dataclass(slots=True, eq=False)
class TimedReplanning(Replanning):
    """Changes the plan of one run in time."""

    dispatcher: Dispatcher = field(kw_only=True)
    _schedule: Schedule | None = field(init=False, default=None)
    """The times of the patch that was found last."""
    _futile: set[tuple[int, int, int]] = field(init=False, default_factory=set)
    """Counts of events, of plan changes and of dropped goals at which no plan was found."""

    async def catch_up(self, late: str) -> bool:
        """Change the plan that is too `late`, at once; give up soft goals if nothing else helps.

        Return whether there is a plan in time.
        """
        about = next((each.id for each in find_running(self.state)), "")
        if self.state.hierarchy is not None:
            return False
        forbidden = self.options.find_barred()
        self.reasons.append(late)
        if await self._search(Rung.PATCH, about, forbidden=forbidden, not_first=set()):
            return True
        return await self._lower(about, forbidden)

    async def _lower(self, about: str, forbidden: set[Step]) -> bool:
        """Give up soft goals, the least useful first, until there is a plan in time; return whether there is one."""
        while self.state.soft:
            wish = min(self.state.soft, key=lambda each: each.utility)
            self.emit(GoalDropped(str(wish.condition), float(wish.utility)))
            if self.options.still_works(self.options.find_remaining()):
                self.keep()
                return True
            if await self._search(Rung.REPLAN, about, forbidden=forbidden, not_first=set()):
                return True
        return False

    async def take_candidate(self, about: str) -> bool:
        """Return False: plans in time have no candidates."""
        del about
        return False

    async def list_first(self, about: str) -> bool:
        """Return False: what is unknown is not planned for in time."""
        del about
        return False

    async def explain_bars(self, about: str) -> None:
        """Record nothing."""

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
        key = self.state.version, self.state.changes, len(self.state.dropped)
        if key in self._futile:
            return False
        found = await Replanning._search(  # noqa: SLF001 - its own, which `super` does not find in a class with slots
            self, rung, about, forbidden=forbidden | not_first, not_first=set(), again=again, works=works
        )
        if not found:
            self._futile.add((self.state.version, self.state.changes, len(self.state.dropped)))
        return found

    def _make_search(
        self,
        left: Sequence[StepRecord],
        forbidden: set[Step],
        not_first: set[Step],
        wanted: Sequence[Step],
        time_limit: float,
    ) -> Callable[[], Any]:
        """Return the search for a plan from the present state."""
        del wanted
        present, without = self.dispatcher.make_present(), self.options.without_handler
        limit = self._limit_time(present, time_limit)

        def search() -> Patch | Schedule:
            priced = present
            if self.pricing is not None:
                priced = replace(present, problem=self.pricing.apply_durations(present.problem))
            try:
                plan, result = search_present(priced, without, forbidden | not_first, limit)
            except (ForethoughtError, ValueError) as error:
                return Patch(Status.UNKNOWN, StoppedBy.INCOMPLETE, reason=str(error))
            if plan is None:
                return Patch(result.status, result.stopped_by, reason=result.reason or result.status.value)
            return _make_schedule(plan, present, left, result)

        return search

    def _receive(self, found: Any) -> Patch:
        """Return the result of a search that is over, and keep the times of a plan."""
        self._schedule = found if isinstance(found, Schedule) else None
        patch: Patch = found.patch if isinstance(found, Schedule) else found
        return patch

    def _limit_time(self, present: Present, time_limit: float) -> float:
        """Return the time limit of a search: the nearer the deadline, the shorter."""
        left = [Decimal(each.by) for each in present.problem.due]
        left += [] if present.problem.deadline is None else [Decimal(present.problem.deadline)]
        nearest = min([each for each in left if each > 0], default=None)
        if nearest is None:
            return time_limit
        return min(time_limit, max(float(nearest) * SHARE, LEAST_SECONDS), max(PROOF_SECONDS, LEAST_SECONDS))

    def _make_plan_steps(self, found: Any, left: Sequence[StepRecord]) -> list[PlanStep]:
        """Convert `found` to steps of the plan; those of the old plan keep their ids."""
        schedule = self._schedule
        if schedule is None or found is not schedule.patch:
            return Replanning._make_plan_steps(self, found, left)  # noqa: SLF001 - as above
        assert found.steps is not None, "it has a plan"
        by_step: dict[tuple[str, tuple[str, ...]], list[StepRecord]] = {}
        for record in left:
            by_step.setdefault((record.step.action, record.step.arguments), []).append(record)
        chosen: list[Step | StepRecord] = []
        for step in found.steps:
            same = by_step.get((step.action, step.arguments))
            chosen.append(same.pop(0) if same else step)
        steps = inherit_fields(self.state, chosen)
        return [
            each.model_copy(update={"start": as_decimal(at.start), "duration": float(at.duration), "supposes": texts})
            for each, at, texts in zip(steps, schedule.times, schedule.supposes, strict=True)
        ]

    def _change_plan(
        self, kept: Sequence[StepRecord], new: int, dropped: int, reason: str, found: Patch | None = None
    ) -> None:
        running, planned = self.options.find_fixed(), dict(self.dispatcher.timetable.planned)
        schedule, kept_count, supposes = self._schedule, len(kept), self.state.supposes or ()
        if schedule is not None and found is schedule.patch:
            rest, supposes = self._make_plan_steps(found, self.options.find_remaining()), schedule.goal
            for id_, end in schedule.ends.items():
                lasts = planned[id_].duration if id_ in planned else Decimal(0)
                planned[id_] = Planned(end - lasts, lasts)
            planned |= {each.id: Planned(as_decimal(each.start or 0), as_decimal(each.duration or 0)) for each in rest}
            ids = {each.id for each in rest}
            kept_count = sum(id_ in self.state.steps for id_ in ids)
            new, dropped = len(rest) - kept_count, sum(each.id not in ids for each in self.state.pending())
        else:
            rest = [record.plan for record in kept]
        data = write_times([*[record.plan for record in running], *rest], planned)
        self.emit(PlanChanged(tuple(data), kept_count, new, dropped, reason, supposes=supposes))


def _make_schedule(plan: Plan, present: Present, left: Sequence[StepRecord], result: Result) -> Schedule:
    """Return `plan` as a patch with times since the beginning of the run, new steps first."""
    names = {name: id_ for id_, name in present.running.items()}
    times = plan.times or tuple([StepTime(0, 0) for _ in plan.steps])
    texts, goal = texts_by_step(plan.suppositions, len(plan.steps))
    own = [each for each in zip(plan.steps, times, texts, strict=True) if not is_at_work(each[0].action)]
    ends = {
        names[step.action]: present.now + Decimal(time.end)
        for step, time in zip(plan.steps, times, strict=True)
        if step.action in names
    }
    shifted = [(step, StepTime(present.now + Decimal(time.start), time.duration), said) for step, time, said in own]
    old = [(each.step.action, each.step.arguments) for each in left]
    new: list[tuple[Step, StepTime, tuple[str, ...]]] = []
    kept: list[tuple[Step, StepTime, tuple[str, ...]]] = []
    for each in shifted:
        key = each[0].action, each[0].arguments
        if key in old:
            old.remove(key)
            kept.append(each)
        else:
            new.append(each)
    steps = [*new, *kept]
    cost = exact_sum([step.cost for step, *_ in steps])
    patch = Patch(
        result.status,
        result.stopped_by,
        tuple([step for step, *_ in steps]),
        len(new),
        len(kept),
        len(old),
        cost,
        cost,
    )
    supposes = tuple([said for *_, said in steps])
    return Schedule(patch, tuple([time for _, time, _ in steps]), ends, supposes, goal)
