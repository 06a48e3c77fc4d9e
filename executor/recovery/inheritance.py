"""Steps of a changed plan inherit what was written by hand into earlier steps with the same ground action.

A search knows actions and arguments only. Parameters, policies, conditions and estimates of a plan written by hand
belong to its ground actions, and references to results follow a step that gets another id.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from executor.plans.action_plan import PlanStep, steps_of
from executor.plans.references import REFERENCE, references
from executor.record.status import TROUBLE, StepStatus
from executor.record.steps import StepRecord
from planner.model import DomainModel
from planner.plan import Step

if TYPE_CHECKING:
    from executor.record.state import RunState

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
"""The fields of a step that a search does not know."""
Rest = Sequence[Step | StepRecord]
"""The rest of a plan in its order: steps that were searched for, and records of steps that are kept."""


def inherited(state: RunState, rest: Rest) -> list[PlanStep]:
    """Return `rest` as steps of the plan of a run.

    A searched step inherits from a step of the run with the same ground action: a pending one that `rest` does not
    keep also gives it its id; others are steps that failed, were skipped or are done. A kept step that has failed gets
    a new id. References and `depends_on` follow the new ids; a `depends_on` that nothing fulfils any more is dropped.
    """
    kept = {each.id for each in rest if isinstance(each, StepRecord)}
    donors = _Donors(state, kept)
    steps, renamed = list[PlanStep](), dict[str, str]()
    fresh = steps_of([each if isinstance(each, Step) else each.step for each in rest], state.domain, state.steps)
    for each, new in zip(rest, list(fresh), strict=True):
        record = donors.take(each) if isinstance(each, Step) else each
        if record is None:
            steps.append(new)
        elif record.status is StepStatus.PENDING:
            steps.append(record.plan)
        else:
            stated = {name: getattr(record.plan, name) for name in INHERITED}
            steps.append(new.model_copy(update=stated))
            renamed[record.id] = new.id
    return list(_relinked(state, steps, renamed))


def lost_reference(state: RunState, steps: Sequence[PlanStep]) -> str:
    """Return why some step of `steps` will not have a result that it refers to; nothing where all will have theirs."""
    known = _known(state)
    for each in steps:
        for id_ in references(each.parameters):
            if id_ not in known:
                return f"{each.action} takes data from the step {id_!r}, which would not be done"
        known.add(each.id)
    return ""


def _known(state: RunState) -> set[str]:
    """Return the ids of steps whose results are there, or will be as nothing changes these steps."""
    going = {StepStatus.RUNNING, StepStatus.WAITING, StepStatus.IN_DOUBT}
    return {id_ for id_, each in state.steps.items() if each.status.is_done or each.status in going}


class _Donors:
    """The steps of a run that others may inherit from, by action and declared arguments, the best ones first."""

    def __init__(self, state: RunState, kept: Collection[str]) -> None:
        self._domain = state.domain
        self._found: dict[tuple[str, tuple[str, ...]], list[StepRecord]] = {}
        records = [each for each in state.steps.values() if each.id not in kept and not each.plan.undoes]
        place = {id_: number for number, id_ in enumerate(state.order)}
        records.sort(key=lambda each: (_rank(each), place.get(each.id, -1)))
        for each in records:
            self._found.setdefault(_key(each.step, self._domain), []).append(each)

    def take(self, step: Step) -> StepRecord | None:
        """Return the step that `step` inherits from; each gives once, but for the last of its kind."""
        found = self._found.get(_key(step, self._domain), [])
        if not found:
            return None
        return found.pop(0) if len(found) > 1 or found[0].status is StepStatus.PENDING else found[0]


def _rank(record: StepRecord) -> int:
    if record.status is StepStatus.PENDING:
        return 0
    return 1 if record.status in TROUBLE else 2 if record.status is StepStatus.SKIPPED else 3


def _key(step: Step, domain: DomainModel) -> tuple[str, tuple[str, ...]]:
    """Return the action and its declared arguments; placeholders for what it creates may differ."""
    return step.action, step.arguments[: len(domain.actions[step.action].parameters)]


def _relinked(state: RunState, steps: Sequence[PlanStep], renamed: Mapping[str, str]) -> Iterator[PlanStep]:
    """Yield `steps` with the ids that they name as these are now."""
    known = _known(state)
    for each in steps:
        depends = tuple([id_ for id_ in (renamed.get(old, old) for old in each.depends_on) if id_ in known])
        update: dict[str, Any] = {} if depends == each.depends_on else {"depends_on": depends}
        if not renamed.keys().isdisjoint(references(each.parameters)):
            update["parameters"] = _renamed(each.parameters, renamed)
        known.add(each.id)
        yield each.model_copy(update=update) if update else each


def _renamed(value: Any, renamed: Mapping[str, str]) -> Any:
    """Return `value` with references to the steps of `renamed` by their new ids."""
    match value:
        case str():
            return REFERENCE.sub(lambda found: _reference(found[0], found[1], renamed), value)
        case dict():
            return {key: _renamed(each, renamed) for key, each in value.items()}
        case list() | tuple():
            return [_renamed(each, renamed) for each in value]
        case _:
            return value


def _reference(text: str, id_: str, renamed: Mapping[str, str]) -> str:
    return text.replace(id_, renamed.get(id_, id_), 1)
