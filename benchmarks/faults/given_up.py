"""What a run of a fault campaign gave up, and whether that could have been had: asked of what is really so."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from benchmarks.faults.fault_setting import Setting
from benchmarks.faults.reachable_goal import are_tasks_reachable, is_goal_reachable
from executor.events.events import StepStatus
from executor.events.failures import Tried
from executor.events.run_state import RunState
from executor.recovery.hierarchy import make_plan_so_far
from executor.recovery.options import MOST_TRIES
from executor.testing.simulated_world import SimulatedWorld
from planner.model import Atom, DomainModel
from planner.plan import Plan
from planner.semantics.simulation import Simulation

if TYPE_CHECKING:
    from htn.model import HtnProblem


@dataclass(frozen=True, slots=True)
class Tasks:
    """The tasks of a run: what they came to in its `plan`, of which the steps at some places are done or failed."""

    problem: HtnProblem
    plan: Plan
    done: tuple[int, ...]
    failed: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class GivenUp:
    """What there was when a run gave up: the true state, what had failed, what it had created, and its tasks.

    Objects have their real names.
    """

    simulation: Simulation
    tried: Mapping[Atom, Tried]
    created: frozenset[str]
    tasks: Tasks | None
    can_create: bool
    """Whether there is a placeholder left of each type of object that actions create."""

    @classmethod
    def of(cls, simulated: SimulatedWorld, state: RunState) -> GivenUp:
        """Return what there is now."""
        names, domain = state.objects.created, state.domain
        tried = {
            _real(Atom(*key), names): replace(
                each,
                facts=_facts(each.facts, names, domain),
                earlier=tuple([_facts(facts, names, domain) for facts in each.earlier]),
            )
            for key, each in state.tried.items()
            if state.objects.exists(Atom(key[0], key[1][: len(domain.actions[key[0]].parameters)]))
        }
        created = frozenset(names.values())
        return cls(simulated.truth.simulation.copy(), tried, created, _tasks(state), _can_create(simulated, state))

    def could_go_on(self, setting: Setting, simulated: SimulatedWorld, *, anew: bool) -> bool | None:
        """Return whether what is left can be had; without `anew`, by what has not failed before in the same state.

        None where a search does not tell.
        """
        faults, skills = setting.faults, setting.skills
        here = self.simulation.facts
        bars = {} if anew else self.tried
        unused = [key for key, each in bars.items() if each.spent or each.times >= MOST_TRIES or each.was_in(here)]
        not_where = {key: each.facts for key, each in bars.items() if key not in unused}
        if self.tasks is None:
            return is_goal_reachable(
                self.simulation,
                faults,
                skills=skills,
                unused=unused,
                not_where=not_where,
                stated=simulated.problem,
                created=self.created,
            )
        tasks = self.tasks
        return are_tasks_reachable(
            tasks.problem,
            tasks.plan,
            tasks.done,
            self.simulation,
            faults,
            skills=skills,
            unused=unused,
            not_where=not_where,
            failed=tasks.failed,
        )


def _can_create(simulated: SimulatedWorld, state: RunState) -> bool:
    stated = {each.name for each in simulated.problem.all_objects}
    free = [each for each in state.beliefs.problem.objects if each.name not in (*stated, *state.objects.created)]
    kinds = {kind for action in state.domain.actions.values() for kind in action.creates.values()}
    return all(any(each.types == (kind,) for each in free) for kind in kinds)


def _tasks(state: RunState) -> Tasks | None:
    hierarchy = state.hierarchy
    if hierarchy is None:
        return None
    plan, done = make_plan_so_far(state, hierarchy)
    failed = [number for number, id_ in enumerate(hierarchy.steps) if state.steps[id_].status in _FAILED]
    return Tasks(hierarchy.problem, plan, tuple(done), tuple(failed))


def _facts(facts: Collection[Atom], names: Mapping[str, str], domain: DomainModel) -> frozenset[Atom]:
    """Return what the domain speaks of in `facts`, with real names."""
    return frozenset([_real(fact, names) for fact in facts if fact.predicate in domain.predicates])


def _real(atom: Atom, names: Mapping[str, str]) -> Atom:
    return Atom(atom.predicate, tuple([names.get(arg, arg) for arg in atom.args]))


_FAILED: Final = frozenset({StepStatus.FAILED, StepStatus.PARTIAL})
