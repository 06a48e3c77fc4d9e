"""Repair the decomposition of a hierarchical run, and carry stated fields over to the steps of a changed plan.

A search returns ground actions only. Steps with the same ground action inherit parameters, policies, conditions and
estimates of the old plan, and references to results follow a step that gets another id.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from executor.events.events import ALREADY_SO, BEGUN, TROUBLE, StepStatus
from executor.events.steps import StepRecord
from executor.events.tasks import Hierarchy
from executor.plans.action_plan import REFERENCE, ActionPlan, PlanStep, references, steps_of
from planner.errors import PlanError
from planner.model import DomainModel, Problem
from planner.plan import Plan, Step

if TYPE_CHECKING:
    from executor.events.run_state import RunState
    from executor.events.steps import StepRecord
    from htn.model import HtnDomain
    from htn.repair.subtree_repair import Repair

INHERITED: Final = (
    "parameters",
    "depends_on",
    "requires",
    "expects",
    "policy",
    "cost",
    "duration",
    "tokens",
    "description",
)
"""Fields of a step that a search does not set."""
Rest = Sequence[Step | StepRecord]
"""The rest of a plan in order: new steps of a search, and records of kept steps."""


def inherit_fields(state: RunState, rest: Rest) -> list[PlanStep]:
    """Convert `rest` to steps of the plan of a run.

    A new step inherits from a step of the run with the same ground action: from a pending one that `rest` does not
    keep, also the id; else from a failed, skipped or done one. A kept step that has failed or could not begin gets a
    new id. References and `depends_on` follow the new ids; a `depends_on` without a remaining step is dropped.
    """
    kept = {each.id for each in rest if isinstance(each, StepRecord)}
    donors = _Donors(state, kept)
    steps, renamed = list[PlanStep](), dict[str, str]()
    fresh = steps_of([each if isinstance(each, Step) else each.step for each in rest], state.domain, state.steps)
    for each, new in zip(rest, list(fresh), strict=True):
        record = donors.take(each) if isinstance(each, Step) else each
        if record is None:
            steps.append(new)
        elif record.is_pending:
            steps.append(record.plan)
        else:
            stated = {name: getattr(record.plan, name) for name in INHERITED}
            steps.append(new.model_copy(update=stated))
            renamed[record.id] = new.id
    return list(_relink(state, steps, renamed))


def find_lost_reference(state: RunState, steps: Sequence[PlanStep]) -> str:
    """Return the reason why a result that some step refers to will be missing; an empty text if all exist."""
    known = _find_known(state)
    for each in steps:
        for id_ in references(each.parameters):
            if id_ not in known:
                return f"{each.action} takes data from the step {id_!r}, which would not be done"
        known.add(each.id)
    return ""


def _find_known(state: RunState) -> set[str]:
    """Return the ids of steps that have a result, or are at work on it."""
    return {id_ for id_, each in state.steps.items() if each.is_done or each.status in BEGUN}


class _Donors:
    """Steps of a run to inherit from, by action and declared arguments, the best ones first."""

    def __init__(self, state: RunState, kept: Collection[str]) -> None:
        self._domain = state.domain
        self._found: dict[tuple[str, tuple[str, ...]], list[StepRecord]] = {}
        records = [each for each in state.steps.values() if each.id not in kept and not each.plan.undoes]
        place = {id_: number for number, id_ in enumerate(state.order)}
        records.sort(key=lambda each: (_rank(each), place.get(each.id, -1)))
        for each in records:
            self._found.setdefault(_inheritance_key(each.step, self._domain), []).append(each)

    def take(self, step: Step) -> StepRecord | None:
        """Return the step that `step` inherits from, or None; only the last one of a kind serves several times."""
        found = self._found.get(_inheritance_key(step, self._domain), [])
        if not found:
            return None
        return found.pop(0) if len(found) > 1 or found[0].is_pending else found[0]


def _rank(record: StepRecord) -> int:
    if record.is_pending:
        return 0
    return 1 if record.is_obstructed or record.status in TROUBLE else 2 if record.status is StepStatus.SKIPPED else 3


def _inheritance_key(step: Step, domain: DomainModel) -> tuple[str, tuple[str, ...]]:
    """Return the action with its declared arguments, without placeholders of created objects."""
    return step.action, domain.actions[step.action].declared_arguments(step.arguments)


def _relink(state: RunState, steps: Sequence[PlanStep], renamed: Mapping[str, str]) -> Iterator[PlanStep]:
    """Yield `steps` with references and `depends_on` by the present ids."""
    known = _find_known(state)
    for each in steps:
        depends = tuple([id_ for id_ in (renamed.get(old, old) for old in each.depends_on) if id_ in known])
        update: dict[str, Any] = {} if depends == each.depends_on else {"depends_on": depends}
        if not renamed.keys().isdisjoint(references(each.parameters)):
            update["parameters"] = _rename_references(each.parameters, renamed)
        known.add(each.id)
        yield each.model_copy(update=update) if update else each


def _rename_references(value: Any, renamed: Mapping[str, str]) -> Any:
    """Replace ids in the references inside `value` by those in `renamed`."""
    match value:
        case str():
            return REFERENCE.sub(lambda found: _rename_reference(found[0], found[1], renamed), value)
        case dict():
            return {key: _rename_references(each, renamed) for key, each in value.items()}
        case list() | tuple():
            return [_rename_references(each, renamed) for each in value]
        case _:
            return value


def _rename_reference(text: str, id_: str, renamed: Mapping[str, str]) -> str:
    return text.replace(id_, renamed.get(id_, id_), 1)


_HAPPENED: Final = frozenset({StepStatus.SUCCEEDED, StepStatus.UNVERIFIED})


def check_tasks(plan: ActionPlan, problem: Problem, methods: HtnDomain | None) -> None:
    """Raise `PlanError` if `plan` does not do its tasks."""
    from htn.verification.plan_verification import validate
    from planner.compilations.object_creation import for_steps
    from planner.semantics.simulation import Simulation

    found = Hierarchy.of(plan, problem, methods)
    if found is None:
        return
    steps = [each.step(problem.domain) for each in plan.steps]
    simulation = Simulation(for_steps(problem, steps))
    steps = [step if simulation.rules.misfit(step) else replace(step, cost=simulation.cost(step)) for step in steps]
    verdict = validate(found.problem, Plan(tuple(steps), found.problem, found.tree))
    if not verdict.valid:
        raise PlanError(f"plan {plan.id} does not do its tasks: {verdict.reason}")


def make_repair_search(
    state: RunState,
    now: Problem,
    fixed: Sequence[StepRecord],
    left: Collection[StepRecord],
    *,
    forbidden: Iterable[Step],
    not_first: Iterable[Step],
    time_limit: float,
) -> Callable[[], Repair]:
    """Return the search for a repair of the decomposition from `now`; `fixed` steps count as done.

    Steps that are neither `fixed`, done nor `left` count as failed.
    """
    from htn.repair.subtree_repair import repair
    from planner.repair.patching import apply_steps

    hierarchy = state.hierarchy
    assert hierarchy is not None
    kept = {record.id for record in left}
    plan, done = make_plan_so_far(state, hierarchy, {record.id for record in fixed})
    lost = [number for number, id_ in enumerate(hierarchy.steps) if id_ not in kept and number not in {*done}]
    classical = apply_steps(now, [record.step for record in fixed])
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


def make_plan_so_far(state: RunState, hierarchy: Hierarchy, going: Collection[str] = ()) -> tuple[Plan, list[int]]:
    """Return the plan of the present decomposition, and the places of the steps that are done or `going` on."""
    records = [state.steps[id_] for id_ in hierarchy.steps]
    done = [number for number, each in enumerate(records) if _counts_as_done(each) or each.id in going]
    return Plan(tuple([record.step for record in records]), hierarchy.problem, hierarchy.tree), done


def _counts_as_done(record: StepRecord) -> bool:
    return record.status in _HAPPENED or (record.status is StepStatus.SKIPPED and record.reason.startswith(ALREADY_SO))


def read_repair(state: RunState, found: Repair) -> tuple[list[PlanStep], Hierarchy]:
    """Return the remaining steps and the decomposition after a repair."""
    hierarchy = state.hierarchy
    assert hierarchy is not None
    assert found.steps is not None and found.tree is not None  # noqa: PT018 - as above
    origins = [None if each is None else state.steps[hierarchy.steps[each]] for each in found.origins]
    steps = inherit_fields(state, [record or step for record, step in zip(origins, found.steps, strict=True)])
    ids = (*hierarchy.steps, *(each.id for each in steps))
    return steps, _renumber(replace(hierarchy, tree=found.tree, steps=ids))


def order_by_tasks(state: RunState, order: Sequence[str]) -> dict[str, set[str]]:
    """Return the predecessors of each step in `order` by the order of the tasks.

    Beginnings and ends of compound tasks are nodes between the steps, with names of their own. The result is empty if
    the decomposition does not fit the tasks.
    """
    from htn.verification.decomposition_tree import FlawError, events_of, frames_of

    hierarchy = state.hierarchy
    assert hierarchy is not None
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


def tasks_permit(state: RunState, line: Sequence[str]) -> bool:
    """Return whether the remaining steps in the order of `line` still do the tasks, if the present order does."""
    from htn.verification.plan_verification import validate

    hierarchy = state.hierarchy
    assert hierarchy is not None
    left = set(line)
    ids = (*(id_ for id_ in hierarchy.steps if id_ not in left), *(id_ for id_ in line if id_ in hierarchy.steps))
    place = {id_: at for at, id_ in enumerate(ids)}

    def is_valid(hierarchy: Hierarchy) -> bool:
        steps = tuple([state.steps[id_].step for id_ in hierarchy.steps])
        return validate(hierarchy.problem, Plan(steps, hierarchy.problem, hierarchy.tree)).valid

    tree = hierarchy.tree.move_steps({at: place[id_] for at, id_ in enumerate(hierarchy.steps)})
    return is_valid(replace(hierarchy, tree=tree, steps=ids)) or not is_valid(hierarchy)


def _renumber(hierarchy: Hierarchy) -> Hierarchy:
    """Renumber the steps of the decomposition, and drop the ids of steps that are no longer in it."""
    tree = hierarchy.tree
    used = sorted(node.step for node in tree.nodes if node.step is not None)
    number = {step: place for place, step in enumerate(used)}
    return replace(hierarchy, tree=tree.move_steps(number), steps=tuple([hierarchy.steps[each] for each in used]))
