"""The promises about numbers, checked against the calls, the sightings and the true values of a simulated world.

A run never begins a step whose thresholds and bounds its latest look forbids, and so never overdraws an account, unless
somebody else draws on it between that look and the step, the handler takes another amount than it should, or observers
cannot say or lie. Each irreversible step happens once. A success is true.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from benchmarks.faults.fault_run import Carried
from benchmarks.faults.fault_setting import CHANGES, Setting
from benchmarks.faults.fault_verdict import evidence_of
from benchmarks.faults.promises import (
    find_repeated_steps,
    find_steps_despite_questions,
    find_undoing_final_steps,
)
from executor.events.events import RunStatus
from executor.events.fluent_values import FluentValue
from executor.testing import FaultKind
from executor.testing.simulated_handlers import Call
from executor.testing.simulated_observers import Sighting
from executor.testing.true_state import Act
from planner.errors import InputError
from planner.model import Atom, Problem
from planner.model.arithmetic import Exact, as_number, exact_value
from planner.model.domain import numeric_effects
from planner.model.formulas import comparisons_in
from planner.plan import Step
from planner.semantics.numeric_state import NumericObjection
from planner.semantics.simulation import Simulation, bind_parameters

WRONG: Final = frozenset({FaultKind.NUMBER_DRIFTS, FaultKind.TWICE, FaultKind.LATE, FaultKind.SLOW})
"""Faults of handlers that take more than they should, or when they should not."""
UNSURE: Final = frozenset({FaultKind.OBSERVER_FAILS, FaultKind.OBSERVER_LATE, FaultKind.OBSERVER_CANNOT_SAY})
"""Faults of observers that say nothing."""


def find_broken_numeric_promises(setting: Setting, carried: Carried) -> list[str]:
    """Return which promises a run with numbers broke, in words."""
    evidence = evidence_of(setting, carried)
    found = [each for check in _COMMON for each in check(evidence)]
    checks = (find_blind_calls, find_forbidden_calls, find_overdrafts, find_repeated_effects, find_false_success)
    return found + [each for check in checks for each in check(setting, carried)]


_COMMON: Final = (find_undoing_final_steps, find_repeated_steps, find_steps_despite_questions)


def find_blind_calls(setting: Setting, carried: Carried) -> Iterator[str]:
    """Yield the calls of handlers of numbers that have changed since the run looked at them last."""
    for call in carried.simulated.calls:
        for fluent, sighting in _latest_sightings(carried, call).items():
            if any(each.kind in UNSURE and each.covers(fluent) for each in setting.faults):
                continue
            since = carried.simulated.acts[sighting.acts : call.acts]
            if any(change.fluent == fluent for act in since for change in act.numbers):
                yield f"{call.step} was called at {call.at:g} without a look at {fluent}, which had changed"


def find_forbidden_calls(setting: Setting, carried: Carried) -> Iterator[str]:
    """Yield the calls of handlers that the latest sightings of numbers forbid."""
    del setting
    for call in carried.simulated.calls:
        step = Step(call.step.predicate, call.step.args)
        values = {fluent: value_in(each) for fluent, each in _latest_sightings(carried, call).items()}
        problem = _state_of(carried, call.at, values)
        simulation = Simulation(problem)
        action = problem.domain.actions[step.action]
        numbers = [each.substitute(bind_parameters(action, step)) for each in comparisons_in(action.requires)]
        failing = next((each for each in numbers if not simulation.holds(each)), None)
        if values and (failing is not None or _breaks_bounds(simulation, step)):
            seen = ", ".join(f"{fluent} = {value}" for fluent, value in values.items())
            yield f"{call.step} was called at {call.at:g}, though {seen} had been seen"


def _breaks_bounds(simulation: Simulation, step: Step) -> bool:
    """Return whether `step` would leave the bounds of a fluent."""
    try:
        simulation.numbers(step)
    except NumericObjection:
        return True
    return False


def find_overdrafts(setting: Setting, carried: Carried) -> Iterator[str]:
    """Yield the acts of the run that left the bounds of a fluent, and that nothing excuses."""
    functions = carried.simulated.problem.domain.functions
    if carried.simulated.lies or carried.simulated.disputed:
        return
    for act in carried.simulated.acts:
        for change in act.numbers if act.by else ():
            declared, after = functions[change.fluent.predicate], change.after
            assert after is not None, "acts give values"
            low, high = (None if each is None else exact_value(each) for each in (declared.low, declared.high))
            outside = (low is not None and after < low) or (high is not None and after > high)
            if outside and not _is_excused(setting, carried, act, change.fluent):
                yield f"{act.step} left {change.fluent} at {after} at {act.at:g}"


def _is_excused(setting: Setting, carried: Carried, act: Act, fluent: Atom) -> bool:
    """Return whether somebody else, or the handler itself, is to blame for the value of `fluent` after `act`."""
    if act.step is None or any(each.kind in WRONG and each.covers(act.step) for each in setting.faults):
        return True
    call = next(each for each in reversed(carried.simulated.calls) if each.by == act.by and each.at <= act.at)
    found = _latest_sightings(carried, call).get(fluent)
    is_final = "irreversible" in carried.simulated.problem.domain.actions[act.step.predicate].tags
    if found is None or any(each.kind in UNSURE and each.covers(fluent) for each in setting.faults):
        return not is_final
    until = carried.simulated.acts.index(act)
    others = [each for each in carried.simulated.acts[found.acts : until] if not each.by]
    return any(change.fluent == fluent for each in others for change in each.numbers)


def value_in(sighting: Sighting) -> Exact:
    """Return the number that an observer saw."""
    (fact,) = sighting.seen
    assert isinstance(fact, FluentValue), "it is about a fluent"
    assert fact.value is not None, "it has a value"
    return fact.value


def _latest_sightings(carried: Carried, call: Call) -> dict[Atom, Sighting]:
    """Return the latest sighting before `call` of each fluent that its step reads or changes."""
    problem = carried.simulated.problem
    action = problem.domain.actions[call.step.predicate]
    binding = bind_parameters(action, Step(call.step.predicate, call.step.args))
    terms = [each.fluent for each in numeric_effects(action)]
    terms += [term for each in comparisons_in(action.requires) for term in each.functions]
    wanted = {term.substitute(binding) for term in terms}
    found: dict[Atom, Sighting] = {}
    for sighting in carried.simulated.sightings:
        about = sighting.about
        is_before = sighting.at <= call.at and sighting.acts <= call.acts
        if isinstance(about, FluentValue) and about.fluent in wanted and is_before:
            found[about.fluent] = sighting
    return found


def _state_of(carried: Carried, when: float, values: Mapping[Atom, Exact]) -> Problem:
    """Return the problem with the true facts at a time, and the `values` that were seen."""
    then = carried.simulated.truth.at(when)
    numbers = {fluent: as_number(value) for fluent, value in {**then.values, **values}.items()}
    known: dict[Atom, Any] = {**carried.simulated.problem.values, **numbers}
    return replace(carried.simulated.problem, initial=tuple(then.facts), values=known, unknown=())


def find_repeated_effects(setting: Setting, carried: Carried) -> Iterator[str]:
    """Yield the irreversible ground actions that happened twice, though no handler does them twice by itself."""
    if carried.simulated.lies:
        return
    done: dict[Atom, str] = {}
    for act in carried.simulated.acts:
        if act.step is None or "irreversible" not in carried.simulated.problem.domain.actions[act.step.predicate].tags:
            continue
        twice = any(each.kind is FaultKind.TWICE and each.covers(act.step) for each in setting.faults)
        if act.by and act.step in done and not twice:
            yield f"{act.step} was done by {done[act.step]} and again by {act.by}"
        if act.by:
            done[act.step] = act.by


def find_false_success(setting: Setting, carried: Carried) -> Iterator[str]:
    """Yield that a run says it succeeded although its goal is not true, and nothing has changed behind its back."""
    outcome, simulated = carried.outcome, carried.simulated
    late = CHANGES | {FaultKind.NUMBER_JUMPS, FaultKind.LATE}
    if outcome is None or outcome.status is not RunStatus.SUCCEEDED or simulated.lies:
        return
    if any(each.kind in late for each in setting.faults) and simulated.acts and not simulated.acts[-1].by:
        return
    if not simulated.holds(simulated.problem.goal.hard):
        yield f"{simulated.problem.goal.hard} does not hold, with {simulated.values}"


def is_out_of_reach(carried: Carried) -> bool:
    """Return whether no plan leads from the true state to the goal."""
    from planner.solve import solve

    problem = _state_of(carried, float("inf"), {})
    try:
        return solve(problem, mode="first", time_limit=5.0).plan is None
    except InputError:  # a fluent is outside of its bounds: no step is applicable
        return True
