"""Repairs a hierarchical plan: the task that failed is decomposed anew in the observed state, and all else stays.

From the step that failed outwards, each task that contains it is tried: its executed steps stay, and the same task is
decomposed again from here; the rest of the plan is kept with its decomposition and must work with that. So do Bansod,
Patra, Nau and Roberts (2022, "HTN Replanning from the Middle"). Goldman, Kuter and Freedman (2020, "Stable Plan Repair
for State-Space HTN Planning") call the replacement of the least subtree stable.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Sequence

from htn.compilations.htn_in_time import is_in_time, schedule_tasks
from htn.model import Decomposition, HtnProblem, Node
from htn.problem_kind import resolve
from htn.repair.remaining_problem import RemainingProblem, TaskProgress, build_remaining_problem
from htn.solve import answer
from htn.verification.chart_parsing import verify
from planner.errors import PlanError
from planner.lightweight import Final, dataclass, replace
from planner.limits import Limits, check_limits
from planner.model import Atom, Number, Problem
from planner.model.problem import NumericMetric
from planner.model.unknown_facts import fix_unknown_facts
from planner.options import SolveOptions
from planner.plan import Plan, Result, Status, Step, StoppedBy
from planner.repair.forbidden_steps import actions_of
from planner.repair.keeping_steps import find_misfits, forbid_steps
from planner.semantics.simulation import Simulation
from planner.validation.timed_replay import price_plan


def graft_subtrees(
    old: Decomposition, rest: RemainingProblem, anew: Collection[int], new: Decomposition, size: int
) -> Decomposition:
    """Return `old` with the subtrees of the tasks `anew`, and the numbers of all remaining steps, taken from `new`.

    `new` is the decomposition of a plan of `rest`; its steps are numbered after the `size` steps of the old plan.
    """
    offset = len(old.nodes)
    nodes = [*old.nodes, *(_renumber(node, offset, size) for node in new.nodes)]
    for place, root in zip(rest.places, new.roots, strict=True):
        if place in anew or old.nodes[place].step is not None:
            nodes[place] = nodes[offset + root]
    whole = Decomposition(tuple(nodes), old.roots, new.binding or old.binding)
    return _drop_unreachable(whole)


def _renumber(node: Node, offset: int, size: int) -> Node:
    if node.step is not None:
        return replace(node, step=node.step + size)
    return replace(node, children=tuple([child + offset for child in node.children]))


def _drop_unreachable(tree: Decomposition) -> Decomposition:
    """Return `tree` without the nodes that are below no root."""
    kept, stack = list[int](), [*reversed(tree.roots)]
    while stack:
        place = stack.pop()
        kept.append(place)
        stack += reversed(tree.nodes[place].children)
    return tree.keep(kept)


SHARE: Final = 0.25
"""Share of the remaining time for one task; all initial tasks together get the rest."""
INNER: Final = 0.5
"""Share of the time limit for single tasks, before all initial tasks are decomposed anew."""


@dataclass(frozen=True, slots=True)
class Repair:
    """How a hierarchical plan goes on: `steps`, of which some are `kept` from the old plan, and the others `new`.

    `origins` has for each of them its place in the old plan, None for new ones. `anew` are the tasks that are
    decomposed anew, at this `depth` (0 for initial tasks); there are none where the rest of the plan works as it is.
    `tree` is the decomposition of what was done and is not replaced, and of `steps`, whose numbers follow those of the
    old plan.

    `status` is OPTIMAL where no repair at this depth costs less and none deeper works, and UNSOLVABLE where there is
    none at all: then, as with UNKNOWN and UNSUPPORTED, `steps` is None. `reason` says in words what needs saying.
    `plan` has the steps with their times, and what they suppose and forgo.
    """

    status: Status
    stopped_by: StoppedBy
    steps: tuple[Step, ...] | None = None
    origins: tuple[int | None, ...] = ()
    new: int = 0
    kept: int = 0
    dropped: int = 0
    cost: Number | None = None
    tree: Decomposition | None = None
    anew: tuple[Atom, ...] = ()
    depth: int = 0
    reason: str = ""
    plan: Plan | None = None

    @property
    def has_plan(self) -> bool:
        """Whether there are steps to be taken, perhaps none, that do what is left of the tasks."""
        return self.steps is not None

    def __bool__(self) -> bool:
        raise TypeError("a Repair is neither true nor false; ask repair.has_plan, or compare repair.status with `is`")


def repair(
    problem: HtnProblem,
    plan: Plan,
    *,
    done: Collection[int] = (),
    failed: Collection[int] = (),
    forbidden: Iterable[Step] = (),
    not_first: Iterable[Step] = (),
    time_limit: float | None = 10.0,
    memory_limit: float | None = None,
    cancel: threading.Event | None = None,
) -> Repair:
    """Repair `plan`, which has a decomposition, when the steps `done` are executed and those in `failed` are not.

    `problem` has the observed state as its initial one, and in `ran` what has run. Steps are places in `plan`. Steps
    like those of `forbidden` are neither taken nor kept, and ones like those of `not_first` do not come first.

    If the remaining plan works as it is, it is kept, failed steps included. Otherwise the innermost task above these
    (or above the first step that does not work, where none has failed) whose repair works is decomposed anew, as
    cheaply as is found in time. A method that is kept and of which nothing is done must still be applicable. Each plan
    is checked by `htn.verification.chart_parsing`. When half of the time is over, all initial tasks that are left
    are decomposed anew.

    Raises `PlanError` for a plan without decomposition, `InputError` for limits that are none, and for names in the
    problem that nothing declares.
    """
    check_limits(time_limit, memory_limit)
    problem = resolve(problem)
    if plan.tree is None:
        raise PlanError(
            "the plan has no decomposition", hint="htn.verification.chart_parsing.find_decomposition looks for one"
        )
    free = forbid_steps(problem, actions_of(forbidden), actions_of(not_first))
    return _RepairSearch(free, plan, frozenset(done), Limits(time_limit, memory_limit, cancel)).find(failed)


def _find_misfit(problem: Problem, steps: Sequence[Step]) -> int | None:
    """Return the place of the first step that fits no action of `problem`, or creates objects: it is done anew."""
    actions, wrong = problem.domain.actions, find_misfits(problem, steps)
    return next((place for place, step in enumerate(steps) if place in wrong or actions[step.action].creates), None)


class _RepairSearch:
    """The search for one repair; actions that must not be taken are not applicable in `problem`."""

    def __init__(self, problem: HtnProblem, plan: Plan, done: frozenset[int], limits: Limits) -> None:
        self._problem = problem
        self._plan = plan
        self._tree: Decomposition = plan.tree
        self._progress = TaskProgress(problem, plan.tree, done)
        self._limits = limits
        self._left = sorted(step for step in self._progress.leaves if step not in done)

    def find(self, failed: Collection[int]) -> Repair:
        """Return the repair."""
        kept, culprit = self._repair_nothing()
        if kept is not None:
            return kept
        levels = self._candidate_levels([step for step in failed if step in self._left] or culprit)
        unproved: Result | None = None
        for anew in levels:
            is_last = anew is levels[-1]
            if is_last or not self._is_short():
                result = self._decompose_anew(self._remaining(anew), is_last=is_last)
                if result.plan is not None:
                    return self._make_repair(anew, result, is_deepest=unproved is None)
                if result.status is Status.UNSUPPORTED or result.stopped_by is StoppedBy.CANCELLED:
                    return Repair(result.status, result.stopped_by, reason=result.reason)
                unproved = unproved if result.status is Status.UNSOLVABLE else result
        return self._report_failure(unproved)

    def _remaining(self, anew: Collection[int]) -> RemainingProblem:
        times = self._plan.times
        return build_remaining_problem(self._problem, self._progress, anew, self._problem.classical, times)

    def _repair_nothing(self) -> tuple[Repair | None, list[int]]:
        """Return the repair that keeps the remaining plan, if it works; else None and the first step that does not."""
        steps = [self._plan.steps[place] for place in self._left]
        misfit = _find_misfit(self._problem.classical, steps)
        if misfit is not None:
            return None, [self._left[misfit]]
        rest = self._remaining(())
        plan, failing = self._price(rest, steps)
        if plan is None:
            return None, self._left[failing : failing + 1]
        verdict = verify(rest.problem, plan, self._limits)
        if not verdict.valid:
            return None, self._left[(verdict.failing_step or 0) - 1 :][:1]
        plan = replace(plan, suppositions=verdict.suppositions)
        status = Status.SOLVED if plan.suppositions else Status.OPTIMAL
        return self._describe_repair(rest, (), plan, status, StoppedBy.EXHAUSTED), []

    def _price(self, rest: RemainingProblem, steps: Sequence[Step]) -> tuple[Plan | None, int]:
        """Return the plan of `rest` that takes the remaining `steps`, with times and costs, and 0.

        Unknown facts are as the old plan supposes. Where a step cannot be taken, return None and its place.
        """
        supposed = self._plan.suppositions
        known = fix_unknown_facts(rest.problem.classical, [each.fact for each in supposed if each.holds])
        if is_in_time(rest.problem):
            kept = self._keep_steps(rest, steps)
            plan = schedule_tasks(replace(rest.problem, classical=known), kept)
            if plan is None and len(steps) == len(self._plan.times):
                # Steps that need each other have no schedule one after another: their own times may still do.
                own = price_plan(Plan(tuple(steps), known, times=self._plan.times))
                plan = replace(kept, steps=own.steps, times=own.times, time_cost=own.time_cost)
            return None if plan is None else replace(plan, problem=rest.problem, suppositions=supposed), 0
        simulation, priced = Simulation(known), list[Step]()
        for place, step in enumerate(steps):
            if isinstance(known.metric, NumericMetric):  # the state sets the price
                if simulation.find_objection(step) is not None:
                    return None, place
                priced.append(replace(step, cost=simulation.cost(step)))
                simulation.apply(step)
            else:
                priced.append(replace(step, cost=simulation.cost(step)))
        return replace(self._keep_steps(rest, priced), suppositions=supposed), 0

    def _keep_steps(self, rest: RemainingProblem, steps: Sequence[Step]) -> Plan:
        """Return the plan of `rest`, where nothing is decomposed anew, that takes the remaining `steps`."""
        number = {step: place for place, step in enumerate(self._left)}
        nodes = list[Node]()
        for subtask, place in zip(rest.problem.network.subtasks, rest.places, strict=True):
            step, task = self._progress.step(place), subtask.task
            nodes.append(Node(task, None, task.predicate) if step is None else Node(task, number[step]))
        return Plan(tuple(steps), rest.problem, Decomposition(tuple(nodes), tuple(range(len(nodes)))))

    def _candidate_levels(self, broken: Collection[int]) -> list[frozenset[int]]:
        """Return the tasks to try: the innermost above all `broken` steps, those above it, and all initial tasks."""
        progress = self._progress
        lines = [list(progress.line(progress.above[progress.leaves[step]])) for step in broken]
        common = set(lines[0]).intersection(*lines[1:]) if lines else set()
        whole = frozenset(progress.open.intersection(progress.children(progress.top)))
        levels = [frozenset({place}) for place in lines[0] if place in common] if lines else []
        return [*(each for each in levels if each != whole), *([whole] if whole else [])]

    def _is_short(self) -> bool:
        """Return whether the remaining time is reserved for all initial tasks together."""
        limit, left = self._limits.time_limit, self._limits.remaining
        return limit is not None and left is not None and left < limit * (1 - INNER)

    def _decompose_anew(self, rest: RemainingProblem, *, is_last: bool) -> Result:
        return answer(rest.problem, SolveOptions().within(self._limits, 1.0 if is_last else SHARE))

    def _make_repair(self, anew: frozenset[int], result: Result, *, is_deepest: bool) -> Repair:
        status = result.status if is_deepest else Status.SOLVED
        return self._describe_repair(self._remaining(anew), anew, result.expect_plan(), status, result.stopped_by)

    def _describe_repair(
        self, rest: RemainingProblem, anew: Collection[int], plan: Plan, status: Status, stopped_by: StoppedBy
    ) -> Repair:
        """Return the repair that takes `plan`, a plan of `rest`."""
        tree, progress, nodes = plan.tree, self._progress, self._tree.nodes
        origins: list[int | None] = [None] * len(plan.steps)
        for place, root in zip(rest.places, tree.roots, strict=True):
            step = progress.step(place)
            if place not in anew and step is not None:
                origins[tree.nodes[root].step] = step
        kept = len(origins) - origins.count(None)
        return Repair(
            status,
            stopped_by,
            plan.steps,
            tuple(origins),
            new=len(origins) - kept,
            kept=kept,
            dropped=len(self._left) - kept,
            cost=plan.cost,
            tree=graft_subtrees(self._tree, rest, anew, tree, len(self._plan.steps)),
            anew=tuple([nodes[place].task for place in sorted(anew)]),
            depth=progress.depth(min(anew)) if anew else 0,
            plan=plan,
        )

    def _report_failure(self, unproved: Result | None) -> Repair:
        if unproved is None:
            reason = "what is left of the tasks cannot be done from this state"
            reason = reason if self._left else "the tasks are done, and the goal does not hold"
            return Repair(Status.UNSOLVABLE, StoppedBy.EXHAUSTED, reason=reason)
        reason = f"no repair was found: {unproved.stopped_by.value}"
        return Repair(Status.UNKNOWN, unproved.stopped_by, reason=reason)
