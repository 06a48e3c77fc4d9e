"""Decide whether a run that gave up could have reached its goal or done its tasks, from the true state of the world."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from benchmarks.faults.fault_setting import Setting
from executor.events.events import StepStatus
from executor.events.failures import Tried
from executor.events.run_state import RunState
from executor.recovery.hierarchy import make_plan_so_far
from executor.recovery.options import MOST_TRIES
from executor.testing.faults import Fault, pattern_of
from executor.testing.simulated_world import SimulatedWorld
from executor.testing.true_state import instances
from planner.language.declare.local_closed_world import listings_of
from planner.model import FALSE, And, Atom, DomainModel, Equals, Formula, Not, Or, Problem
from planner.model.actions import negated_atoms, positive_atoms
from planner.model.formulas import OPEN
from planner.plan import Plan, Status
from planner.semantics.simulation import Simulation
from planner.solve import solve

if TYPE_CHECKING:
    from htn.model import HtnProblem


SECONDS = 10.0


def is_goal_reachable(
    simulation: Simulation,
    faults: Iterable[Fault] = (),
    *,
    skills: int = 1,
    unused: Iterable[Atom] = (),
    not_where: Mapping[Atom, Collection[Atom]] | None = None,
    stated: Problem | None = None,
    created: Collection[str] = (),
    seconds: float = SECONDS,
) -> bool | None:
    """Return whether steps that none of `faults` keeps from working for good lead from the present state to the goal.

    None where a search of so many `seconds` does not tell. An action works as long as one of its `skills` handlers
    does. Ground actions that the patterns of `unused` cover are left out of account, and each of `not_where` in the one
    state in which exactly these facts hold. Where actions create objects, `stated` is the problem as its author stated
    it, and of what was created only the objects in `created` may be used: nobody knows of others.
    """
    problem = problem_now(simulation) if stated is None else restrict_objects(problem_now(simulation), stated, created)
    problem = drop_unusable(problem, find_broken_patterns(faults, skills), unused, not_where or {})
    result = solve(problem, mode="first", time_limit=seconds)
    if result.has_plan:
        return True
    return False if result.status is Status.UNSOLVABLE else None


def are_tasks_reachable(
    tasks: HtnProblem,
    plan: Plan,
    done: Collection[int],
    simulation: Simulation,
    faults: Iterable[Fault] = (),
    *,
    skills: int = 1,
    unused: Iterable[Atom] = (),
    not_where: Mapping[Atom, Collection[Atom]] | None = None,
    failed: Collection[int] = (),
    seconds: float = SECONDS,
) -> bool | None:
    """Return whether what is left of `tasks` can be done from the present state, so that the goal holds then, too.

    `plan`, with its decomposition, is what the tasks came to; the steps at the places `done` of it are done, and those
    in `failed` are not. All else is as for `is_goal_reachable`. What was done of a task stays done, or is done anew.
    """
    from htn.repair.subtree_repair import repair

    now = drop_unusable(problem_now(simulation), find_broken_patterns(faults, skills), unused, not_where or {})
    left = replace(tasks, classical=replace(now, goal=tasks.classical.goal))
    ways = dict.fromkeys([tuple(failed), ()])
    found = [repair(left, plan, done=done, failed=way, time_limit=seconds) for way in ways]
    if any(each.has_plan for each in found):
        return True
    return False if all(each.status is Status.UNSOLVABLE for each in found) else None


def find_broken_patterns(faults: Iterable[Fault], skills: int = 1) -> list[str]:
    """Return patterns of the ground actions for which all `skills` handlers are broken for good."""
    for_good = [fault for fault in faults if fault.is_for_good]
    return [each.at for each in for_good if not each.skill or _others_are_broken(each, for_good, skills)]


def drop_unusable(
    problem: Problem, patterns: Iterable[str], unused: Iterable[Atom], not_where: Mapping[Atom, Collection[Atom]]
) -> Problem:
    """Return `problem` without the ground actions that are covered, and with others where they may be used only.

    A pattern or step that names an object which `problem` lacks covers none of its ground actions; what a step creates
    does not count.
    """
    names = {OPEN, *(each.name for each in problem.all_objects)}
    domain = problem.domain

    def is_known(pattern: Atom) -> bool:
        action = domain.actions.get(pattern.predicate)
        return action is not None and names.issuperset(action.declared_arguments(pattern.args))

    for pattern in (*map(pattern_of, patterns), *unused):
        if pattern is None or is_known(pattern):
            domain = drop_pattern(domain, pattern)
    problem = replace(problem, domain=domain)
    for step, facts in not_where.items():
        if is_known(step):
            problem = forbid_in_state(problem, step, facts)
    return problem


def problem_now(simulation: Simulation) -> Problem:
    """Return the problem as it stands now: with the present state for its initial one."""
    return replace(simulation.problem, initial=tuple(simulation.world.state), ran=tuple(simulation.history))


def restrict_objects(now: Problem, stated: Problem, created: Collection[str]) -> Problem:
    """Return `stated` as it stands `now`, with those of the new objects that are among `created`."""
    objects = (*stated.objects, *(each for each in now.objects if each.name in created and each not in stated.objects))
    names = {each.name for each in (*objects, *stated.domain.constants)}
    return replace(
        stated,
        objects=objects,
        initial=tuple([fact for fact in now.initial if names.issuperset(fact.args)]),
        unknown=(),
        ran=tuple([_drop_created(action, stated.domain) for action in now.ran]),
    )


def _drop_created(action: Atom, domain: DomainModel) -> Atom:
    return Atom(action.predicate, domain.actions[action.predicate].declared_arguments(action.args))


def forbid_in_state(problem: Problem, step: Atom, facts: Collection[Atom]) -> Problem:
    """Return `problem` in which the ground action `step` is not possible where exactly `facts` hold."""
    action = problem.domain.actions[step.predicate]
    named = zip(action.parameters, step.args, strict=False)
    others: list[Formula] = [Not(Equals(each.name, value)) for each, value in named]
    for name in _changing_predicates(problem.domain):
        pattern = Atom(name, (OPEN,) * len(problem.domain.predicates[name].parameters))
        others += [Not(fact) if fact in facts else fact for fact in instances(problem, pattern)]
    changed = replace(action, requires=And((action.requires, Or(tuple(others)))))
    return replace(problem, domain=replace(problem.domain, actions={**problem.domain.actions, action.name: changed}))


def _changing_predicates(domain: DomainModel) -> list[str]:
    """Return the predicates whose facts some action changes."""
    written = {
        atom.predicate
        for action in domain.actions.values()
        for effect in action.effects
        for atom in (*positive_atoms(effect.provides), *negated_atoms(effect.provides), *effect.modifies)
    }
    return [name for name, each in domain.predicates.items() if name in written or each.stale_with]


def _others_are_broken(fault: Fault, for_good: list[Fault], skills: int) -> bool:
    return len({each.skill for each in for_good if each.skill and each.at == fault.at}) >= skills


def drop_pattern(domain: DomainModel, pattern: Atom | None) -> DomainModel:
    """Return `domain` in which the ground actions that `pattern` covers are never possible; None covers all."""
    actions = dict(domain.actions)
    for name, action in domain.actions.items():
        if pattern is None or (pattern.predicate == name and set(pattern.args) <= {OPEN}):
            actions[name] = replace(action, requires=FALSE)
        elif pattern.predicate == name:
            named = zip(action.parameters, pattern.args, strict=False)
            other = [Not(Equals(each.name, value)) for each, value in named if value != OPEN]
            actions[name] = replace(action, requires=And((action.requires, Or(tuple(other)))))
    return replace(domain, actions=actions)


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
        """Record the present state of the world and of the run."""
        names, domain = state.objects.created, state.domain
        tried = {
            _rename_objects(Atom(*key), names): replace(
                each,
                facts=_rename_facts(each.facts, names, domain),
                earlier=tuple([_rename_facts(facts, names, domain) for facts in each.earlier]),
            )
            for key, each in state.tried.items()
            if state.objects.exists(Atom(key[0], key[1][: len(domain.actions[key[0]].parameters)]))
        }
        created = frozenset(names.values())
        return cls(simulated.truth.simulation.copy(), tried, created, _find_tasks(state), _can_create(simulated, state))

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


def _find_tasks(state: RunState) -> Tasks | None:
    hierarchy = state.hierarchy
    if hierarchy is None:
        return None
    plan, done = make_plan_so_far(state, hierarchy)
    records = [state.steps[id_] for id_ in hierarchy.steps]
    failed = [number for number, each in enumerate(records) if each.is_obstructed or each.status in _FAILED]
    return Tasks(hierarchy.problem, plan, tuple(done), tuple(failed))


def _rename_facts(facts: Collection[Atom], names: Mapping[str, str], domain: DomainModel) -> frozenset[Atom]:
    """Return the facts of declared predicates, with real names of objects; what is listed is no fact of the world."""
    known = domain.predicates.keys() - {each.fact for each in listings_of(domain)}
    return frozenset([_rename_objects(fact, names) for fact in facts if fact.predicate in known])


def _rename_objects(atom: Atom, names: Mapping[str, str]) -> Atom:
    return Atom(atom.predicate, tuple([names.get(arg, arg) for arg in atom.args]))


_FAILED: Final = frozenset({StepStatus.FAILED, StepStatus.PARTIAL})
