"""What became of the tasks of a run, and their repair in the subtree that broke."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from executor.plans.action_plan import ActionPlan, PlanStep
from executor.record.status import StepStatus
from executor.recovery.inheritance import inherited
from planner.declare.places import CodePlace
from planner.errors import Location, PlanError
from planner.model import Problem
from planner.plan import Plan, Step

if TYPE_CHECKING:
    from executor.record.state import RunState
    from executor.record.steps import StepRecord
    from htn.model import HtnDomain, HtnProblem
    from htn.plan import Decomposition
    from htn.repair import Repair

TASKS: Final = "the tasks"
"""What a run drops that goes on to its goal without them."""
_HAPPENED: Final = frozenset({StepStatus.SUCCEEDED, StepStatus.UNVERIFIED})


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """The tasks of a run: `problem` states them, `tree` is what they are decomposed into now.

    The steps of `tree` are numbered as their ids are in `steps`.
    """

    problem: HtnProblem
    tree: Decomposition
    steps: tuple[str, ...]

    @classmethod
    def of(
        cls, plan: ActionPlan, problem: Problem, methods: HtnDomain | None, expanded: Problem | None = None
    ) -> Hierarchy | None:
        """Return the tasks of `plan`, which solves `problem`; None for one that is carried out without them.

        `expanded` is the problem with placeholders for what steps create, where some do.
        Raises `PlanError` where there are no tasks or no methods for them, or the decomposition is none.
        """
        from htn.creation import over  # noqa: PLC0415 - most plans came of no tasks
        from htn.documents import with_tasks  # noqa: PLC0415 - as above
        from htn.plan_files import tree_from_data  # noqa: PLC0415 - as above

        if plan.model != "hierarchical" or plan.decomposition is None:
            return None
        name, otherwise = f"plan {plan.id}", "or run it in another execution model, without tasks"
        if methods is None:
            hint = f"make the World of the domain with the methods, {otherwise}"
            raise PlanError(f"{name} came of tasks, and the domain of the world has no methods", hint=hint)
        if plan.tasks is None:
            hint = f"say tasks: [name(arg, …)], {otherwise}"
            raise PlanError(f"{name} has a decomposition, and does not say of which tasks", hint=hint)
        stated = with_tasks(problem, plan.tasks, methods, CodePlace(name).within("tasks"), name)
        stated = over(stated, expanded or problem)
        return cls(stated, tree_from_data(plan.decomposition, Location(name)), tuple([each.id for each in plan.steps]))

    def changed(self, data: Mapping[str, Any]) -> Hierarchy:
        """Return the tasks with another decomposition, as `to_dict` gives it."""
        from htn.plan_files import tree_from_data  # noqa: PLC0415 - as above

        return replace(self, tree=tree_from_data(data, Location("journal")), steps=tuple(data["steps"]))

    def to_dict(self) -> dict[str, Any]:
        """Return the decomposition as JSON-ready data, with the ids of its steps."""
        return {**self.tree.to_dict(), "steps": list(self.steps)}


def check_tasks(plan: ActionPlan, problem: Problem, methods: HtnDomain | None) -> None:
    """Raise `PlanError` where `plan` came of tasks and does not do them."""
    from htn.verify import validate  # noqa: PLC0415 - as above
    from planner.creation import for_steps  # noqa: PLC0415 - as above
    from planner.validate import Simulation  # noqa: PLC0415 - as above

    found = Hierarchy.of(plan, problem, methods)
    if found is None:
        return
    steps = [each.step(problem.domain) for each in plan.steps]
    simulation = Simulation(for_steps(problem, steps))
    steps = [step if simulation.rules.misfit(step) else replace(step, cost=simulation.cost(step)) for step in steps]
    verdict = validate(found.problem, Plan(tuple(steps), found.problem, found.tree))
    if not verdict.valid:
        raise PlanError(f"plan {plan.id} does not do its tasks: {verdict.reason}")


def repairing(
    state: RunState,
    now: Problem,
    fixed: Sequence[StepRecord],
    left: Collection[StepRecord],
    *,
    forbidden: Iterable[Step],
    not_first: Iterable[Step],
    time_limit: float,
) -> Callable[[], Repair]:
    """Return the search for a repair of the run from `now`; `fixed` steps are taken for done.

    Steps that are not among those `left` do not come about as they stand: they have failed, or rest on what has.
    """
    from htn.repair import repair  # noqa: PLC0415 - most runs need none
    from planner.repair.patching import after  # noqa: PLC0415 - as above

    hierarchy = state.hierarchy
    assert hierarchy is not None  # noqa: S101 - or else there are no tasks to repair
    kept = {record.id for record in left}
    plan, done = so_far(state, hierarchy, {record.id for record in fixed})
    lost = [number for number, id_ in enumerate(hierarchy.steps) if id_ not in kept and number not in {*done}]
    classical = after(now, [record.step for record in fixed])
    return partial(
        repair,
        replace(hierarchy.problem, classical=classical),
        plan,
        done=done,
        failed=lost,
        forbidden=forbidden,
        not_first=not_first,
        time_limit=time_limit,
    )


def so_far(state: RunState, hierarchy: Hierarchy, going: Collection[str] = ()) -> tuple[Plan, list[int]]:
    """Return the steps that the tasks are decomposed into, and the places of those that are done, or `going` on."""
    records = [state.steps[id_] for id_ in hierarchy.steps]
    done = [number for number, each in enumerate(records) if each.status in _HAPPENED or each.id in going]
    return Plan(tuple([record.step for record in records]), hierarchy.problem, hierarchy.tree), done


def goes_on(state: RunState, found: Repair) -> tuple[list[PlanStep], Hierarchy]:
    """Return the steps that a repair leaves to do, and what the tasks are decomposed into then."""
    hierarchy = state.hierarchy
    assert hierarchy is not None  # noqa: S101 - it was repaired
    assert found.steps is not None and found.tree is not None  # noqa: S101, PT018 - as above
    origins = [None if each is None else state.steps[hierarchy.steps[each]] for each in found.origins]
    steps = inherited(state, [record or step for record, step in zip(origins, found.steps, strict=True)])
    ids = (*hierarchy.steps, *(each.id for each in steps))
    return steps, _numbered(replace(hierarchy, tree=found.tree, steps=ids))


def task_order(state: RunState, order: Sequence[str]) -> dict[str, set[str]]:
    """Return what each step of `order` waits for by the order of its tasks.

    Beginnings and ends of compound tasks stand between the steps: they have names that no step has. Nothing where the
    decomposition does not fit the tasks.
    """
    from htn.verify.frames import FlawError, frames_of  # noqa: PLC0415 - most plans came of no tasks
    from htn.verify.ordering import events_of  # noqa: PLC0415 - as above

    hierarchy = state.hierarchy
    assert hierarchy is not None  # noqa: S101 - or else there are no tasks
    steps = tuple([state.steps[id_].step for id_ in hierarchy.steps])
    universe = state.beliefs.simulation.rules.universe
    try:
        events = events_of(hierarchy.tree, frames_of(hierarchy.problem, steps, hierarchy.tree, universe))
    except FlawError:
        return {}
    left = set(order)
    names = [f"@{event}" for event in range(len(events.following))]
    for event, number in events.steps.items():
        if hierarchy.steps[number] in left:
            names[event] = names[event + 1] = hierarchy.steps[number]
    before: dict[str, set[str]] = {}
    for event, following in enumerate(events.following):
        for other in following:
            if names[event] != names[other]:
                before.setdefault(names[other], set()).add(names[event])
    return before


def permits(state: RunState, line: Sequence[str]) -> bool:
    """Return whether the tasks of a run are done by its steps in the order of `line`, if they are in the present one.

    `line` has the steps that are left.
    """
    from htn.verify import validate  # noqa: PLC0415 - most plans came of no tasks

    hierarchy = state.hierarchy
    assert hierarchy is not None  # noqa: S101 - or else there are no tasks
    left = set(line)
    ids = (*(id_ for id_ in hierarchy.steps if id_ not in left), *(id_ for id_ in line if id_ in hierarchy.steps))
    place = {id_: at for at, id_ in enumerate(ids)}

    def is_valid(hierarchy: Hierarchy) -> bool:
        steps = tuple([state.steps[id_].step for id_ in hierarchy.steps])
        return validate(hierarchy.problem, Plan(steps, hierarchy.problem, hierarchy.tree)).valid

    def moved(node: Any) -> Any:
        return node if node.step is None else replace(node, step=place[hierarchy.steps[node.step]])

    tree = replace(hierarchy.tree, nodes=tuple([moved(node) for node in hierarchy.tree.nodes]))
    return is_valid(replace(hierarchy, tree=tree, steps=ids)) or not is_valid(hierarchy)


def _numbered(hierarchy: Hierarchy) -> Hierarchy:
    """Return the same with the steps numbered anew: those that are not in the decomposition any more have no number."""
    tree = hierarchy.tree
    used = sorted(node.step for node in tree.nodes if node.step is not None)
    number = {step: place for place, step in enumerate(used)}
    nodes = [node if node.step is None else replace(node, step=number[node.step]) for node in tree.nodes]
    return replace(
        hierarchy, tree=replace(tree, nodes=tuple(nodes)), steps=tuple([hierarchy.steps[each] for each in used])
    )
