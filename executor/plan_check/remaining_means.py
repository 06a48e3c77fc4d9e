"""Check whether the world of a run has the means for the rest of its plan: handlers, values, and observers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from executor.events.events import BEGUN, StepStatus
from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.plan_check.check_means import check_values, lacks_value
from executor.plan_check.unobservable_conditions import find_unobservable, find_unobservable_nodes
from executor.plans.action_plan import PlanStep
from executor.plans.partial_order import find_wanted_facts
from executor.tools.deps import describe_missing
from executor.tools.returned_values import list_texts
from executor.tools.world import World
from planner.language.declare import resolve_action
from planner.model import Atom

LACKING: Final = "this process lacks what the rest of the plan needs"
"""Beginning of the reason of a run that waits for means, such as a handler."""


def is_lacking(reason: str) -> bool:
    """Return whether `reason` is that of a run that waits for means."""
    return reason.startswith(LACKING)


def list_needed(state: RunState) -> list[str]:
    """Return the actions of the steps of a run that are not over, which need handlers."""
    begun, pending = state.with_status(*BEGUN), state.pending()
    names = [each.step.action for each in (*begun, *pending) if _needs_handler(each)]
    return list(dict.fromkeys([*names, *_list_policy(state)]))


def _list_policy(state: RunState) -> Iterable[str]:
    """Return the actions that the policy of the run may take."""
    nodes = () if state.policy is None or state.is_undoing else state.policy["nodes"]
    return [each["step"]["action"] for each in nodes if each["step"]]


@dataclass(slots=True, eq=False)
class RemainingMeans:
    """Checks what `world` lacks for the rest of the plan of one run.

    `fills` says that a language model or a person fills open parameters that are not fixed.
    """

    state: RunState
    world: World
    fills: bool = False
    has_deps: bool = True
    """Whether the run has what was given for it alone when it began, if anything was."""
    _judged: tuple[int, int] = field(init=False, default=(-1, -1))
    """Counts of plan changes and surprises when the present plan was looked at last."""
    _asked: frozenset[str] = field(init=False, default=frozenset())
    """Findings about values that a person is asked for: the plan of a run that goes on lacks them."""
    _values: str = field(init=False, default="")
    _observers: str = field(init=False, default="")

    def find_lack(self) -> str:
        """Return what is lacking for the steps that are not over; an empty text if nothing is.

        A value that a person can give is not lacking: its step asks for it.
        """
        names = list_needed(self.state)
        missing = [each for each in names if each not in self.state.lost and not self.world.skills.get(each)]
        left = [_with_filled(each) for each in self.state.pending()]
        self._asked = frozenset(self._list_askable(left)).intersection(self._iterate_open_values(left))
        handlers = self.world.explain_missing_handlers(missing) if missing else ""
        return "; ".join(filter(None, [handlers, self._find_missing_deps(names), self.find_doom()]))

    def _find_missing_deps(self, actions: Iterable[str]) -> str:
        """Return what was given for the run alone, is missing, and is asked for by handlers of `actions`."""
        if self.has_deps or not self.state.deps:
            return ""
        taking = [each for each in dict.fromkeys(actions) if self.world.takes_deps(each) or self._has_asked(each)]
        return describe_missing(self.state.deps, taking) if taking else ""

    def _has_asked(self, action: str) -> bool:
        """Return whether the run waits as a handler of `action` has asked for its deps."""
        return self.state.reason == f"{LACKING}: {describe_missing(self.state.deps, [action])}"

    def find_doom(self) -> str:
        """Return why a pending step can never begin, although all have handlers; an empty text if all may."""
        now, before = (self.state.changes, self.state.surprises), self._judged
        if now != before:
            pending = [_with_filled(each) for each in self.state.pending()]
            self._values = self._values if now[0] == before[0] else self._find_open_values(pending)
            self._observers = self._find_unobservable(pending)
            self._judged = now
        return "; ".join(filter(None, [self._values, self._observers]))

    def find_doom_of(self, new: Sequence[PlanStep]) -> str:
        """Return why one of the steps `new`, which are to take the place of the pending ones, can never begin."""
        known = self.state.steps
        steps = [_with_filled(known[each.id]) if each.id in known else each for each in new]
        return "; ".join(filter(None, [self._find_open_values(steps), self._find_unobservable(steps)]))

    def find_doom_of_policy(self, policy: Mapping[str, Any]) -> str:
        """Return why a step of `policy`, as data, can never begin from the believed state."""
        found = find_unobservable_nodes(policy, self.state.problem, self.world, self.state.beliefs)
        return "; ".join(f"{each}; {each.hint}" for each in found)

    def find_memory_needed(self) -> set[str]:
        """Return the entries of working memory that a later step may need, as far as anybody can know.

        These are the data parameters of all actions, as another plan may take any, and the texts in the code of the
        handlers of steps that are not over.
        """
        names = {each.name for action in self.world.model.actions.values() for each in action.data}
        steps = (*self.state.with_status(*BEGUN), *self.state.pending())
        actions = dict.fromkeys([*(each.step.action for each in steps), *_list_policy(self.state)])
        skills = (skill for action in actions for skill in self.world.skills.get(action, ()))
        return names.union(*(list_texts(each.function) for each in skills))

    def _find_open_values(self, pending: Sequence[PlanStep]) -> str:
        """Return which data parameters of the steps `pending` nothing can fill, and nobody is asked for."""
        return "; ".join(each for each in self._iterate_open_values(pending) if each not in self._asked)

    def _iterate_open_values(self, pending: Sequence[PlanStep]) -> Iterator[str]:
        """Yield which data parameters of the steps `pending` nothing can fill."""
        state = self.state
        if state.is_undoing or not any(resolve_action(self.world.model, each.action).data for each in pending):
            return
        steps = [*(each.plan for each in state.with_status(*BEGUN)), *pending]
        results = {**dict.fromkeys(map(str, [*state.providers, *self._list_done(pending)])), **state.plan.results}
        plan = state.plan.model_copy(update={"steps": tuple(steps), "results": results, "policy": None})
        memory, ids = self._list_memory(), {each.id for each in pending}
        found = check_values(plan, state.beliefs.problem, self.world, memory, fills=self.fills)
        yield from (each.message for each in found if each.step in ids and each.rule == "missing-parameter")

    def _list_askable(self, pending: Sequence[PlanStep]) -> Iterator[str]:
        """Yield the findings about values of the steps `pending` that a person may be asked for."""
        for action in [resolve_action(self.world.model, each.action) for each in pending]:
            yield from (lacks_value(action, each) for each in action.data if each.source is None and not each.fixed)

    def _list_memory(self) -> set[str]:
        """Return the data parameters that working memory has, under their names or earlier ones."""
        known, renamed = self.state.memory.to_dict(), self.world.model.renames.parameters.values()
        return {*known, *(new for names in renamed for old, new in names.items() if new and old in known)}

    def _list_done(self, pending: Sequence[PlanStep]) -> Iterator[Atom]:
        """Yield the facts whose results the steps `pending` need, and no value need be found for now.

        A person can tell the results of facts that hold. A step cannot begin before a fact holds that it requires, and
        where its provider has failed, that is for recovery to mend.
        """
        beliefs = self.state.beliefs
        for each in pending:
            action, step = resolve_action(self.world.model, each.action), each.step(self.state.domain)
            fixed = {parameter.name for parameter in action.data if parameter.fixed}
            required = beliefs.facts_of_precondition(step)
            for name, fact in find_wanted_facts(action, each, step):
                if fact in required if beliefs.holds(fact) is not True else name not in fixed:
                    yield fact

    def _find_unobservable(self, pending: Sequence[PlanStep]) -> str:
        """Return which careful steps among `pending`, and of the policy, rest on what nobody can observe."""
        state = self.state
        if state.is_undoing:
            return ""
        steps = [*(each.plan for each in state.with_status(*BEGUN)), *pending]
        found = find_unobservable(steps, state.problem, self.world, state.beliefs)
        return "; ".join(f"{each}; {each.hint}" for each in found)


def _needs_handler(record: StepRecord) -> bool:
    """Return whether a step that is not over may call its handler: the first time, or again."""
    match record.status:
        case StepStatus.RUNNING:
            return record.result is None
        case StepStatus.WAITING:
            return not record.takes_result
        case status:
            return status is StepStatus.PENDING


def _with_filled(record: StepRecord) -> PlanStep:
    """Return the entry of a step in the plan, with the open parameters that were filled."""
    if not record.filled:
        return record.plan
    return record.plan.model_copy(update={"parameters": {**record.filled, **record.plan.parameters}})
