"""A plan that somebody else drew up, made one that works: with the least change, or refused with the reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

from executor.agent.foreign.resolving import Said, resolve
from executor.agent.foreign.shapes import calls_in
from planner.declare import Domain
from planner.model import Atom, DomainModel, Object, Problem
from planner.plan import Plan, Status, Step
from planner.records import dataclass, field, replace
from planner.repair import mend
from planner.validate import Simulation, Verdict, validate


class RepairStatus(Enum):
    """What became of a plan; compare with `is`."""

    VALID = "it works as it stands"
    REPAIRED = "it works with changes"
    REFUSED = "no change of it was found that works"


@dataclass(frozen=True, slots=True)
class Repaired:
    """The answer to a plan of somebody else's.

    `given` are its steps as they were understood. `plan` works, unless the plan is `REFUSED`; `origins` has, for each
    of its steps, the place in `given`, and None where it is new. `counterexample` says where the given plan fails;
    `least` whether no plan keeps more of it. `data` are values for data parameters by the place in `plan`.
    """

    status: RepairStatus
    given: tuple[Said, ...]
    plan: Plan | None = None
    origins: tuple[int | None, ...] = ()
    least: bool = False
    counterexample: Verdict | None = None
    reason: str = ""
    data: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def kept(self) -> tuple[int, ...]:
        """The places of the given steps that are kept."""
        return tuple([place for place in self.origins if place is not None])

    @property
    def misunderstood(self) -> tuple[tuple[int, str], ...]:
        """The places of the given steps that mean nothing, and why."""
        return tuple([(place, said.wrong) for place, said in enumerate(self.given) if said.wrong])

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
    """Return what becomes of `steps`, a plan in any of the forms that `executor.agent.foreign.shapes` reads.

    `state` are the facts that hold, `goal` is a condition. `objects` are names with their types; without them, they are
    those that `state` names, of the types that its facts ask for. Raises `InputError` for a state or a goal that means
    nothing in `domain`, and `PlanError` for what is no plan at all.
    """
    declared = domain if isinstance(domain, Domain) else Domain.of(domain)
    facts = [state] if isinstance(state, str | Atom) else list(state)
    named = objects if objects is not None else _objects(declared, facts)
    return repaired(declared.problem(objects=named, initial=facts, goal=goal), steps, time_limit=time_limit)


def repaired(problem: Problem, steps: Any, *, time_limit: float | None = 10.0) -> Repaired:
    """Return what becomes of `steps` as a plan for `problem`. Raises `PlanError` for what is no plan at all."""
    given = tuple(resolve(problem, calls_in(steps)))
    understood = tuple([said.step for said in given])
    verdict = validate(problem, understood)
    if verdict.valid:
        places = tuple(range(len(given)))
        plan = _plan(problem, understood)
        return Repaired(RepairStatus.VALID, given, plan, places, least=True, data=_data(given, places))
    mended = mend(problem, understood, time_limit=time_limit)
    if mended.steps is None:
        return Repaired(RepairStatus.REFUSED, given, counterexample=verdict, reason=mended.reason)
    return Repaired(
        RepairStatus.REPAIRED,
        given,
        Plan(mended.steps, problem),
        mended.origins,
        mended.status is Status.OPTIMAL,
        verdict,
        mended.reason,
        _data(given, mended.origins),
    )


def _plan(problem: Problem, steps: tuple[Step, ...]) -> Plan:
    simulation = Simulation(problem)
    return Plan(tuple([replace(step, cost=simulation.cost(step)) for step in steps]), problem)


def _data(given: tuple[Said, ...], origins: Iterable[int | None]) -> dict[int, Mapping[str, Any]]:
    return {
        place: given[origin].data for place, origin in enumerate(origins) if origin is not None and given[origin].data
    }


def _objects(domain: Domain, facts: Iterable[str | Atom]) -> list[Object]:
    """Return the objects that `facts` name, each of the types that they ask for; constants are there already."""
    from planner.declare.syntax import NotationError, parse_atom  # noqa: PLC0415 - only where objects are not given

    constants = {each.name for each in domain.model.constants}
    found: dict[str, tuple[str, ...]] = {}
    for fact in facts:
        try:
            atom = parse_atom(fact) if isinstance(fact, str) else fact
        except NotationError:
            continue  # told with its place when the problem is declared
        predicate = domain.model.predicates.get(atom.predicate)
        for arg, parameter in zip(atom.args, predicate.parameters if predicate else (), strict=False):
            if arg not in constants and (arg not in found or found[arg] == ("object",)):
                found[arg] = parameter.types
    return [Object(name, types) for name, types in found.items()]
