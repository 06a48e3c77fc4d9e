"""The promises about irreversible steps and unknown objects, checked against the events, the calls and the world.

Nothing here asks the executor what is allowed: the checks read the events of a run, the calls and sightings of its
simulated world, and simulate steps with the planner's validator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from executor.events.answers import NOTHING
from executor.events.events import (
    Answered,
    Asked,
    Event,
    PlanChanged,
    RunEnded,
    RunStarted,
    RunStatus,
    StepEnded,
    StepStarted,
    StepStatus,
)
from executor.testing.simulated_handlers import Call
from executor.testing.simulated_observers import Sighting
from planner.model import Atom, Formula, Object, Problem
from planner.model.formulas import Forall, conjuncts, substitute
from planner.plan import Step
from planner.semantics.simulation import Simulation

ORDERED = frozenset({"hierarchical", "policy"})
"""The execution models in which more than the effects of steps says which one comes first."""
Timed = tuple[float, Event]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known about one run of `problem`; `state_at` returns the true state of the world at a time.

    `conclusive`: whether the observers are. `strangers` are the facts about unknown objects that somebody told.
    """

    problem: Problem
    events: Sequence[Timed]
    calls: Sequence[Call]
    sightings: Sequence[Sighting]
    strangers: Sequence[Atom]
    conclusive: bool
    state_at: Callable[[float], Simulation]
    run: str = "r"

    def is_final(self, action: str) -> bool:
        """Return whether `action` is irreversible."""
        return "irreversible" in self.problem.domain.actions[action].tags


@dataclass(slots=True)
class Course:
    """Where a run stands after some of its events: the steps by id, those that are left, and the open questions."""

    problem: Problem
    steps: dict[str, Step] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)
    undoing: set[str] = field(default_factory=set)
    open: dict[str, str] = field(default_factory=dict)
    """The step that each open question is about."""

    def take(self, event: Event) -> None:
        """Take in what happened next."""
        match event:
            case RunStarted():
                self._plan(event.plan["steps"])
            case PlanChanged():
                self._plan(event.steps)
                if event.undoes:
                    self.undoing |= {each["id"] for each in event.steps}
            case StepEnded(step, status) if status is not StepStatus.IN_DOUBT:
                self.left = [each for each in self.left if each != step]
                self.open = {name: about for name, about in self.open.items() if about != step}
            case Asked(question, step):
                self.open[question] = step
            case Answered(question):
                self.open.pop(question, None)

    def _plan(self, steps: Sequence[Mapping[str, Any]]) -> None:
        actions = self.problem.domain.actions
        for each in steps:
            named, action = each.get("arguments", {}), actions[each["action"]]
            names = [parameter.name.removeprefix("?") for parameter in action.parameters]
            self.steps[each["id"]] = Step(action.name, tuple([named[name] for name in names]))
        self.left = [each["id"] for each in steps]


def find_broken_promises(evidence: Evidence) -> list[str]:
    """Return which promises the run broke, in words."""
    checks = (
        find_undoing_final_steps,
        find_repeated_steps,
        find_early_steps,
        find_steps_despite_questions,
        find_successes_with_strangers,
    )
    return [found for check in checks for found in check(evidence)]


def find_undoing_final_steps(evidence: Evidence) -> Iterator[str]:
    """Yield the irreversible steps that belong to an undo, planned or called."""
    course, keys = Course(evidence.problem), set()
    for _, event in evidence.events:
        course.take(event)
        keys |= {f"{evidence.run}/{each}" for each in course.undoing}
        if isinstance(event, PlanChanged) and event.undoes:
            planned = [course.steps[each["id"]] for each in event.steps]
            yield from (
                f"{step} is irreversible and part of an undo" for step in planned if evidence.is_final(step.action)
            )
    for call in evidence.calls:
        if call.by in keys and evidence.is_final(call.step.predicate):
            yield f"{call.step} is irreversible and was called to undo something"


def find_repeated_steps(evidence: Evidence) -> Iterator[str]:
    """Yield the irreversible ground actions that were called again without evidence that they had no effect."""
    latest: dict[Atom, Call] = {}
    for call in evidence.calls:
        if not evidence.is_final(call.step.predicate):
            continue
        before = latest.get(call.step)
        if before is not None and not _was_settled(evidence, before, call):
            yield f"{call.step} was called at {before.at:g} and again at {call.at:g} without conclusive evidence"
        latest[call.step] = call


def _was_settled(evidence: Evidence, before: Call, after: Call) -> bool:
    """Return whether a person or conclusive observers said between two calls that the first had no effect.

    The latest answer of each observer counts, and those that speak of an effect must agree. Where the first call could
    change nothing in the true world, all that its action provides must have been seen to be missing.
    """
    id_ = before.by.removeprefix(f"{evidence.run}/")
    for when, event in evidence.events:
        is_between = before.at <= when <= after.at
        if is_between and isinstance(event, Answered) and event.question == f"doubt:{id_}" and event.answer == NOTHING:
            return True
    if not evidence.conclusive:
        return False
    looks = [each for each in evidence.sightings if before.at <= each.at <= after.at]
    step = Step(before.step.predicate, before.step.args)
    changed = evidence.state_at(before.at - 1e-9).changes(step)
    effects = [*[(fact, True) for fact in changed.added], *[(fact, False) for fact in changed.removed]]
    effects = effects or [(fact, True) for fact in changed.provided]
    return bool(effects) and all(_is_absent(fact, holds, looks) for fact, holds in effects)


def _is_absent(fact: Atom, holds: bool, looks: Sequence[Sighting]) -> bool:
    latest = {look.by: look.says(fact) for look in looks if look.says(fact) is not None}
    return bool(latest) and all(said is not holds for said in latest.values())


def find_early_steps(evidence: Evidence) -> Iterator[str]:
    """Yield the irreversible steps that began before a reversible step that could have come first.

    A step that somebody is asked about may come after a step for another part of the goal.

    The order of tasks binds hierarchical runs, a policy says itself which step is next, and constraints on the way keep
    the order of the steps that they are about: none of these runs is looked at.
    """
    if evidence.problem.constraints or any(
        isinstance(event, RunStarted) and event.model in ORDERED for _, event in evidence.events
    ):
        return
    course = Course(evidence.problem)
    for when, event in evidence.events:
        course.take(event)
        if not isinstance(event, StepStarted) or not evidence.is_final(course.steps[event.step].action):
            continue
        state = evidence.state_at(when)
        beside = {about for about in course.open.values() if not _is_held_up(state, course, event.step, about)}
        others = [each for each in course.left if each != event.step and each not in beside]
        first = _could_come_first(evidence, state, course, event.step, others)
        if first:
            yield f"{course.steps[event.step]} began before {', '.join(str(course.steps[each]) for each in first)}"


def _could_come_first(
    evidence: Evidence, state: Simulation, course: Course, id_: str, others: Sequence[str]
) -> list[str]:
    """Return the reversible steps of `others` that can come before step `id_` so that all of them are possible.

    What the irreversible steps provide counts as false before them, even if somebody else has made it true: the plan
    takes it from them.
    """
    if id_ in course.undoing:
        return []
    twin, first, rest = state.copy(), [], [id_]
    final = [course.steps[each] for each in (id_, *others) if evidence.is_final(course.steps[each].action)]
    twin.world.update([fact for step in final for fact in twin.changes(step).provided], ())
    for each in others:
        step = course.steps[each]
        if evidence.is_final(step.action) or twin.find_objection(step) is not None:
            rest.append(each)
        else:
            twin.apply(step)
            first.append(each)
    for each in rest:
        if twin.find_objection(course.steps[each]) is not None:
            return []
        twin.apply(course.steps[each])
    return first


def find_steps_despite_questions(evidence: Evidence) -> Iterator[str]:
    """Yield the irreversible steps that began, and the undos that were planned, while a question was open.

    A step may begin while something is asked about another step without which it brings a part of the goal about.
    """
    course = Course(evidence.problem)
    for when, event in evidence.events:
        course.take(event)
        if isinstance(event, StepStarted) and evidence.is_final(course.steps[event.step].action) and course.open:
            state = evidence.state_at(when)
            found = [name for name, about in course.open.items() if _is_held_up(state, course, event.step, about)]
            if found:
                yield f"{course.steps[event.step]} began while {', '.join(found)} had no answer"
        if isinstance(event, PlanChanged) and event.undoes and course.open:
            yield f"an undo was planned while {', '.join(course.open)} had no answer"


def _is_held_up(state: Simulation, course: Course, id_: str, about: str) -> bool:
    """Return whether step `id_` brings no part of the goal about unless step `about` happens, too.

    What that step provides counts as false, even if it has happened.
    """
    if about not in course.steps or about == id_:
        return True
    before = state.copy()
    before.world.update(before.changes(course.steps[about]).provided, ())
    rest = [course.steps[each] for each in course.left if each not in {id_, about}]
    with_it, without = _simulate_all(before, [course.steps[id_], *rest]), _simulate_all(before, rest)
    return not any(with_it.holds(part) and not without.holds(part) for part in _list_parts(state, course.problem))


def _list_parts(state: Simulation, problem: Problem) -> Iterator[Formula]:
    """Yield the parts of the goal; one about all objects has a part for each that there is in `state`."""
    for part in conjuncts(problem.goal.hard):
        if isinstance(part, Forall):
            domains = state.rules.universe.domains(part.variables)
            for objects in product(*domains.values()):
                yield substitute(part.part, dict(zip(domains, objects, strict=True)))
        else:
            yield part


def _simulate_all(state: Simulation, steps: Sequence[Step]) -> Simulation:
    """Return the state after all of `steps` that can be done from `state` on, in whatever order."""
    twin, left = state.copy(), list(steps)
    while ready := next((each for each in left if twin.find_objection(each) is None), None):
        left.remove(ready)
        twin.apply(ready)
    return twin


def find_successes_with_strangers(evidence: Evidence) -> Iterator[str]:
    """Yield that a run succeeded though its goal does not hold with the unknown objects that somebody told of."""
    ends = [event.status for _, event in evidence.events if isinstance(event, RunEnded)]
    if not ends or ends[-1] not in {RunStatus.SUCCEEDED, RunStatus.LOWERED} or not evidence.strangers:
        return
    if not any(_holds_with(evidence, told) for told in (evidence.strangers, ())):
        yield f"the run succeeded, though {', '.join(map(str, dict.fromkeys(evidence.strangers)))} was told"


def _holds_with(evidence: Evidence, told: Sequence[Atom]) -> bool:
    """Return whether the goal holds in the end with the unknown objects, of which exactly the facts `told` hold."""
    problem = evidence.problem
    known = {each.name for each in problem.all_objects}
    more = {
        arg: Object(arg, parameter.types)
        for fact in evidence.strangers
        for arg, parameter in zip(fact.args, problem.domain.predicates[fact.predicate].parameters, strict=True)
        if arg not in known
    }
    facts = (*evidence.state_at(float("inf")).facts, *told)
    wider = replace(problem, objects=(*problem.objects, *more.values()), initial=tuple(dict.fromkeys(facts)))
    return Simulation(wider).holds(problem.goal.hard)
