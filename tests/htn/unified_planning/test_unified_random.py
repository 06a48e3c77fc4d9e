"""Random hierarchical problems as unified-planning's and back: the same plans, and the same optimum."""

from __future__ import annotations

from dataclasses import replace

import pytest
from unified_planning.engines import UPSequentialSimulator
from unified_planning.model.htn import HierarchicalProblem
from unified_planning.plans import HierarchicalPlan

from benchmarks.random_hierarchies import ORDERED, PARTIAL, WILD, HtnFeatures, random_htn
from htn import problem_kind
from htn.verification.plan_verification import validate
from planner.plan import Status
from planner.solve import solve
from planner.unified_planning.conversion import from_unified_planning, to_unified_planning
from planner.unified_planning.engine_forms import GoalUnreachableError

KINDS = {
    "partial": PARTIAL,
    "ordered": ORDERED,
    "wild": HtnFeatures(classical=replace(WILD, axioms=False)),
}
SEEDS = range(20)
SECONDS = 2

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # the simulator says that it does not know of tasks


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", SEEDS)
def test_there_and_back_again(seed: int, kind: str) -> None:
    problem = random_htn(seed, KINDS[kind])
    outgoing = to_unified_planning(problem)
    incoming = from_unified_planning(outgoing.problem)
    check_shape(problem, outgoing, incoming.problem)
    before, after = solve(problem, time_limit=SECONDS), solve(incoming.problem, time_limit=SECONDS)
    if Status.OPTIMAL is before.status is after.status:
        assert before.cost == after.cost
    assert {before.status, after.status} != {Status.OPTIMAL, Status.UNSOLVABLE}
    if after.plan is not None:
        foreign = incoming.plan(after.plan)
        back = outgoing.plan(foreign)
        assert incoming.read(foreign) == after.plan
        assert incoming.verdict(foreign).valid
        verdict = validate(problem, back)
        assert (verdict.valid, verdict.cost) == (True, after.cost), verdict
        check_replayed(outgoing.problem, foreign)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", SEEDS)
def test_ground(seed: int, kind: str) -> None:
    problem = random_htn(seed, KINDS[kind])
    before = solve(problem, time_limit=SECONDS)
    try:
        outgoing = problem_kind.to_unified_planning(problem, is_ground=True)
    except GoalUnreachableError:
        assert before.status is Status.UNSOLVABLE
        return
    assert all(not each.parameters and not each.conditional_effects for each in outgoing.problem.actions)
    incoming = from_unified_planning(outgoing.problem)
    after = solve(incoming.problem, time_limit=SECONDS)
    assert {before.status, after.status} != {Status.OPTIMAL, Status.UNSOLVABLE}
    if after.plan is not None:
        foreign = incoming.plan(after.plan)
        plan = outgoing.plan(foreign)
        verdict = validate(problem, plan)
        assert (verdict.valid, verdict.cost) == (True, plan.cost), verdict
        if Status.OPTIMAL is before.status is after.status:
            assert before.cost == plan.cost
        assert outgoing.plan(foreign.action_plan).steps == plan.steps


def check_replayed(problem: HierarchicalProblem, plan: HierarchicalPlan) -> None:
    """The steps can be done, and reach the goal, by unified-planning's own simulator."""
    simulator = UPSequentialSimulator(problem, error_on_failed_checks=False)
    state = simulator.get_initial_state()
    for step in plan.action_plan.actions:
        state = simulator.apply(state, step)
        assert state is not None, step
    assert simulator.is_goal(state)


def check_shape(before, outgoing, after) -> None:
    """Names apart, tasks, methods and networks are what they were; a task above the network is one more."""
    extra = int(outgoing.is_rooted)
    assert len(after.domain.tasks) == len(before.domain.tasks) + extra
    assert set(outgoing.actions) == set(after.domain.classical.actions)
    assert len(after.classical.all_objects) == len(before.classical.all_objects)
    for name, method in after.domain.methods.items():
        if name not in outgoing.methods:
            continue
        source = before.domain.methods[outgoing.methods[name]]
        network = source.network
        assert [each.task.predicate for each in method.network.subtasks] == [
            word_of(outgoing, each.task.predicate) for each in network.subtasks
        ]
        assert method.network.ordering == tuple(dict.fromkeys(network.ordering))
        assert len(method.parameters) >= len(source.parameters)
    if not extra:
        assert len(after.parameters) == len(before.parameters)
        assert after.network.ordering == tuple(dict.fromkeys(before.network.ordering))


def word_of(outgoing, name: str) -> str:
    """Return what an action or a task is called there: the random names are legal, but those of several kinds."""
    words = {source: word for word, source in outgoing.actions.items()}
    if name in words:
        return words[name]
    return next(each.name for each in outgoing.problem.tasks if each.name.startswith(name))
