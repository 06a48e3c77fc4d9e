"""Repair a plan from elsewhere with the fewest changes, or refuse it with the reason."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from itertools import product
from typing import Any, Final

from executor.agent.foreign_plans.parse_steps import ForeignStep, has_times_or_tree, read_calls, resolve_calls
from executor.tools.world import domain_model_of
from planner.compilations.object_creation import for_steps
from planner.errors import InputError, PlanError, kind_of
from planner.language.declare import Domain
from planner.lightweight import dataclass, field, replace
from planner.model import OPEN, Atom, DomainModel, Object, Problem, TypeHierarchy
from planner.model.constructs import Construct, has
from planner.model.problem import is_temporal
from planner.plan import Plan, Status, Step, name_as_written
from planner.plan_json import read_written_plan
from planner.problem_kinds import AnyProblem, classical_of
from planner.repair.mending import mend
from planner.reuse.templates import make_valid_plan
from planner.semantics.simulation import Simulation
from planner.validation.validate import check_steps, choose_versions
from planner.validation.verdict import Verdict

MOST: Final = 2_000
"""Most ground steps that are tried for a step with missing arguments."""


def complete_arguments(problem: Problem, given: Sequence[ForeignStep]) -> list[ForeignStep]:
    """Complete missing arguments where only one choice of objects makes a step applicable at its place.

    Inapplicable steps before it are skipped.
    """
    if not any(said.ways for said in given):
        return list(given)
    simulation = Simulation(for_steps(problem, [said.step for said in given if not said.wrong]))
    found = []
    for said in given:
        meant = _complete_step(simulation, said) if said.ways else said
        found.append(meant)
        if not meant.wrong and simulation.find_objection(meant.step) is None:
            simulation.apply(meant.step)
    return found


def _complete_step(simulation: Simulation, said: ForeignStep) -> ForeignStep:
    possible = [step for step in _possible_steps(simulation.problem, said) if simulation.find_objection(step) is None]
    if len(possible) == 1:
        return replace(said, step=possible[0], wrong="", is_completed=True)
    if not possible:
        return said
    return replace(said, wrong=f"{said.wrong}; it may be {' or '.join(map(str, possible[:3]))}")


def _possible_steps(problem: Problem, said: ForeignStep) -> Iterator[Step]:
    """Yield the steps that `said` may mean, each once; none where there are too many."""
    hierarchy = TypeHierarchy(problem.domain.types)
    parameters = problem.domain.actions[said.step.action].parameters
    fitting = [
        [each.name for each in problem.all_objects if hierarchy.is_a(each.types, parameter.types)]
        for parameter in parameters
    ]
    found: dict[tuple[str, ...], None] = {}
    for way in said.ways:
        choices = [fitting[place] if name == OPEN else [name] for place, name in enumerate(way)]
        for arguments in product(*choices):
            found[arguments] = None
            if len(found) > MOST:
                return
    yield from (Step(said.step.action, arguments) for arguments in found)


COMPLETED: Final = "arguments that were left out are those with which alone the steps can be done where they stand"


class RepairStatus(Enum):
    """Results of a repair; compare with `is`."""

    VALID = "it works as it stands"
    REPAIRED = "it works with changes"
    REFUSED = "no change of it was found that works"


@dataclass(frozen=True, slots=True)
class Repaired:
    """The result of a repair.

    `given` are the steps as resolved. `plan` is valid, unless the status is `REFUSED`; `origins` has, for each of its
    steps, the position in `given`, or None for a new step. `counterexample` is the verdict on the given plan if it
    fails for more than missing arguments; `least` says whether no plan keeps more of it. `data` are values for data
    parameters by position in `plan`. `search` is the status of the search for a repair; UNSOLVABLE proves that no plan
    reaches the goal.
    """

    status: RepairStatus
    given: tuple[ForeignStep, ...]
    plan: Plan | None = None
    origins: tuple[int | None, ...] = ()
    least: bool = False
    counterexample: Verdict | None = None
    reason: str = ""
    data: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    search: Status | None = None

    @property
    def kept(self) -> tuple[int, ...]:
        """The positions of the given steps that are kept."""
        return tuple([place for place in self.origins if place is not None])

    @property
    def misunderstood(self) -> tuple[tuple[int, str], ...]:
        """The positions of the unresolved given steps, with the reasons."""
        return tuple([(place, said.wrong) for place, said in enumerate(self.given) if said.wrong])

    @property
    def left_out(self) -> tuple[int, ...]:
        """The positions of the given steps that are left out."""
        return tuple([place for place in range(len(self.given)) if place not in self.kept])

    @property
    def inserted(self) -> tuple[int, ...]:
        """The positions of the new steps in `plan`."""
        return tuple([place for place, origin in enumerate(self.origins) if origin is None])

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON-ready data; positions count from 0."""
        return {
            "status": self.status.name,
            "given": [
                {"text": said.text, "step": str(said.step), "wrong": said.wrong, "data": dict(said.data)}
                for said in self.given
            ],
            "plan": None if self.plan is None else self.plan.to_dict(),
            "kept": list(self.kept),
            "left_out": list(self.left_out),
            "inserted": list(self.inserted),
            "least": self.least,
            "counterexample": None if self.counterexample is None else self.counterexample.to_dict(),
            "reason": self.reason,
            "search": None if self.search is None else self.search.name,
        }

    def __bool__(self) -> bool:
        raise TypeError("a Repaired is neither true nor false; compare repaired.status with `is`")


def repair(
    domain: Domain | DomainModel,
    state: Iterable[str | Atom],
    steps: Any,
    goal: Any,
    *,
    objects: Mapping[str, str] | None = None,
    time_limit: float | None = 10.0,
) -> Repaired:
    """Repair `steps`, a plan in any form that `executor.agent.foreign_plans.parse_steps` reads.

    `state` are the true facts, `goal` is a condition. `objects` are names with their types; by default, they are those
    in `state`, with the types of its predicates. Raises `InputError` for a state or a goal that is invalid in `domain`,
    and `PlanError` where `steps` cannot be read.
    """
    facts = _check_facts(state)
    declared = domain if isinstance(domain, Domain) else Domain.of(domain_model_of(domain))
    named = objects if objects is not None else _infer_objects(declared, facts)
    try:
        problem = declared.problem(objects=named, initial=facts, goal=goal)
    except InputError as error:
        raise error.without_place() from None
    return repair_plan(problem, steps, time_limit=time_limit)


def _check_facts(state: object) -> list[Any]:
    if not isinstance(state, Iterable):
        hint = "such as problem.initial; with a problem, Agent.repair(steps, goal)"
        raise InputError(f"a state is the facts that hold, not {kind_of(state)}", hint=hint)
    return [state] if isinstance(state, str | Atom) else list(state)


def repair_plan(
    problem: AnyProblem,
    steps: Any,
    *,
    time_limit: float | None = 10.0,
    memory_limit: float | None = None,
    cancel: threading.Event | None = None,
) -> Repaired:
    """Repair `steps` as a plan for `problem`; setting `cancel` ends the search.

    Plans in time, for tasks, or with unknown facts are not looked at as they stand: one with the least changes is
    searched for, and the status is VALID where it has none. Their missing arguments are not completed.

    `time_limit` is in seconds, `memory_limit` in GiB of the process; None is no limit. Raises `PlanError` where `steps`
    cannot be read.
    """
    classical = classical_of(problem)
    is_simulated = problem is classical and not is_temporal(classical) and not has(classical, Construct.UNKNOWN)
    said = resolve_calls(classical, read_calls(_read_written(problem, steps)))
    given = tuple(complete_arguments(classical, said) if is_simulated else said)
    understood = tuple([said.step for said in given])
    understood = choose_versions(understood, classical) if is_simulated else understood
    verdict = check_steps(classical, understood) if is_simulated else None
    plan = None
    if verdict is not None and verdict.valid:
        plan = make_valid_plan(classical, [(step.action, step.arguments) for step in understood], {})
    if plan is not None:
        places = tuple(range(len(given)))
        added = any(said.is_completed for said in given)
        status, reason = (RepairStatus.REPAIRED, COMPLETED) if added else (RepairStatus.VALID, "")
        return Repaired(status, given, plan, places, least=True, reason=reason, data=_data_by_place(given, places))
    mended = mend(problem, understood, time_limit=time_limit, memory_limit=memory_limit, cancel=cancel)
    if mended.steps is None:
        return Repaired(RepairStatus.REFUSED, given, counterexample=verdict, reason=mended.reason, search=mended.status)
    origins = _trace_versions(mended.steps, mended.origins, understood, classical)
    is_unchanged = not is_simulated and origins == tuple(range(len(given)))
    return Repaired(
        RepairStatus.VALID if is_unchanged else RepairStatus.REPAIRED,
        given,
        mended.plan,
        origins,
        mended.keeps_most,
        verdict,
        mended.reason,
        _data_by_place(given, origins),
        mended.status,
    )


def _read_written(problem: AnyProblem, steps: Any) -> Any:
    """Return the plan that a text with times or a decomposition writes; anything else, and what does not fit, as given.

    Steps that do not fit are told one by one.
    """
    if isinstance(steps, str) and has_times_or_tree(steps):
        with suppress(PlanError):
            return read_written_plan(steps, problem, "<plan>")[0]
    return steps


def _trace_versions(
    steps: Sequence[Step], origins: Sequence[int | None], given: Sequence[Step], problem: Problem
) -> tuple[int | None, ...]:
    """Complete `origins`: a new step comes from a left-out given one if they are versions of one action."""
    written, known = name_as_written(steps, problem), name_as_written(given, problem)
    found = list(origins)
    last = -1
    for place, origin in enumerate(origins):
        if origin is None:
            end = next((each for each in origins[place:] if each is not None), len(given))
            new = (written[place].action, written[place].arguments)
            same = [each for each in range(last + 1, end) if (known[each].action, known[each].arguments) == new]
            found[place] = same[0] if same else None
        last = last if found[place] is None else max(last, found[place] or 0)
    return tuple(found)


def _data_by_place(given: tuple[ForeignStep, ...], origins: Iterable[int | None]) -> dict[int, Mapping[str, Any]]:
    return {
        place: given[origin].data for place, origin in enumerate(origins) if origin is not None and given[origin].data
    }


def _infer_objects(domain: Domain, facts: Iterable[Any]) -> list[Object]:
    """Return the objects in `facts`, with the types of the predicates; constants are declared already."""
    from planner.language.declare.atom_syntax import NotationError, parse_atom

    constants = {each.name for each in domain.model.constants}
    found: dict[str, tuple[str, ...]] = {}
    for fact in facts:
        try:
            atom = parse_atom(fact) if isinstance(fact, str) else fact
        except NotationError:
            continue  # told when the problem is declared
        if not isinstance(atom, Atom):
            continue  # as above
        predicate = domain.model.predicates.get(atom.predicate)
        for arg, parameter in zip(atom.args, predicate.parameters if predicate else (), strict=False):
            if arg not in constants and (arg not in found or found[arg] == ("object",)):
                found[arg] = parameter.types
    return [Object(name, types) for name, types in found.items()]
