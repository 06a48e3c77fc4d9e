"""Hierarchical runs: what broke is repaired in its subtree, and success is that the tasks are done."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from functools import cache

import pytest
from htn_incidents import replicated

from domains.household import read_shipped_problem
from domains.incident import shop as outage
from domains.travel import board, couple, methods, trips
from executor import ActionPlan, Executor, RunStatus, StepStatus, World
from executor.events.events import PlanChanged, Provenance, Rung, RungTaken, StepStarted
from executor.events.run_state import RunState
from executor.observe.goal import Verdict, look_at_goal
from executor.observe.observe import Lookout
from executor.recovery.recovery_policy import Recovery
from executor.testing import NOBODY, Crash, Fault, FaultKind, Observe, SimulatedWorld, run_virtual
from htn.language.plan_text import tree_from_data
from htn.model import HtnProblem
from htn.testing import plan_of
from htn.verification.plan_verification import validate
from planner.errors import Location, PlanError
from planner.model import Goal
from planner.plan import Plan
from planner.solve import solve

ALWAYS = {"times": None}


def driven(problem, *faults, observe=None, **options):
    """Return how a run of `problem` in a simulated world ended, the world, and the events."""
    simulated = SimulatedWorld(problem, faults=faults, **({} if observe is None else {"observe": observe}))
    events = []
    options = {"approve": lambda _: True, **options}
    executor = Executor(simulated.world, listeners=(events.append,), **options)
    memory = {"text": "the shop is down"}
    return run_virtual(executor.run(solved(problem), memory=memory)), simulated, events


@cache
def solved_by_name(name):
    return solve(PROBLEMS[name], time_limit=None)


def solved(problem):
    """Return the best plan of a problem; those of `PROBLEMS` are searched for once."""
    known = PROBLEMS.get(problem.name)
    return solved_by_name(problem.name) if known == problem else solve(problem, time_limit=None)


def done(simulated):
    return [str(act.step) for act in simulated.acts if act.by]


def changes_of(events):
    return [(each.kept, each.new, each.dropped) for each in events if isinstance(each, PlanChanged)]


def anew(events):
    """Return what the record says about each repair."""
    return [each.reason.partition("done anew: ")[2] for each in events if isinstance(each, RungTaken) and each.cost]


def check_tree(problem, outcome):
    """What the steps in the decomposition were done for: it is one of the tasks, as the checker of plans says."""
    state = outcome.state
    tree = state.hierarchy.tree
    steps = tuple([state.steps[id_].step for id_ in state.hierarchy.steps])
    assert all(state.steps[id_].status.is_done for id_ in state.hierarchy.steps)
    whole = Plan(steps, problem, tree)
    verdict = validate(problem, replace(whole, steps=priced(problem, steps)))
    assert verdict.valid, verdict.reason


def priced(problem, steps):
    return plan_of(problem, "\n".join(map(str, steps))).steps


PROBLEMS = {
    each.name: each
    for each in (
        board(),
        couple(),
        replicated(),
        read_shipped_problem("supper"),
        read_shipped_problem("guests"),
        outage(),
    )
}


def test_a_plan_without_trouble_is_carried_out():
    outcome, simulated, events = driven(board())
    assert outcome.status is RunStatus.SUCCEEDED
    assert outcome.state.model == "hierarchical"
    assert len(done(simulated)) == len(outcome.steps) == 9
    assert changes_of(events) == []
    check_tree(board(), outcome)


@pytest.mark.parametrize(
    ("problem", "fault", "repaired", "counts"),
    [
        (board(), Fault(FaultKind.FAILS, "book_flight", **ALWAYS), "reach(ada, nice)", (7, 4, 2)),
        (board(), Fault(FaultKind.RAISES, "book_flight", **ALWAYS), "reach(ada, nice)", (7, 4, 2)),
        (board(), Fault(FaultKind.LIES, "fly", **ALWAYS), "reach(ada, nice)", (7, 4, 1)),
        (couple(), Fault(FaultKind.FAILS, "fly(ben, _, _)", **ALWAYS), "reach(ben, nice)", (4, 2, 1)),
        (replicated(), Fault(FaultKind.FAILS, "fail_over", **ALWAYS), "mend(store)", (3, 6, 1)),
        (
            read_shipped_problem("supper"),
            Fault(FaultKind.CHANGE_BEFORE, "take(book, _)", facts=("not lies(book, kitchen)", "lies(book, hall)")),
            "bring(book, parlour)",
            (0, 4, 4),
        ),
    ],
    ids=lambda value: value.name if isinstance(value, HtnProblem) else str(getattr(value, "at", "")) or None,
)
def test_what_broke_is_repaired_in_its_subtree(problem, fault, repaired, counts):
    outcome, simulated, events = driven(problem, fault)
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert anew(events) == [repaired]
    assert changes_of(events) == [counts]
    assert all(count == 1 for key, count in simulated.applied.items() if "/" in key)
    started = [each.step for each in events if isinstance(each, StepStarted)]
    ended = [id_ for id_ in started if outcome.state.steps[id_].status is StepStatus.SUCCEEDED]
    assert len(ended) == len(set(ended)) == len(done(simulated))
    assert problem.classical.goal.hard == Goal().hard or simulated.holds(problem.classical.goal.hard)


def test_a_second_failure_is_repaired_in_the_plan_that_the_first_has_left():
    problem = trips(
        "two-ways",
        {("bern", "lyon"): 5, ("lyon", "nice"): 3},
        {("bern", "nice"): 3, ("lyon", "nice"): 4},
        homes={"ada": "bern"},
        meetings={"board": "nice"},
        hotels={"palace": ("nice", 4)},
        visits={"ada": ["board"]},
    )
    faults = [Fault(FaultKind.FAILS, f"book_{name}", **ALWAYS) for name in ("flight(_, bern, _)", "train(_, _, nice)")]
    outcome, simulated, events = driven(problem, *faults)
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert anew(events) == ["reach(ada, nice)", "reach(ada, nice)"]
    assert changes_of(events) == [(7, 4, 2), (7, 2, 2)]
    assert done(simulated)[:4] == [
        "book_train(ada, bern, lyon)",
        "ride(ada, bern, lyon)",
        "book_flight(ada, lyon, nice)",
        "fly(ada, lyon, nice)",
    ]
    check_leaves(outcome)
    check_tree(problem, outcome)


def check_leaves(outcome):
    """All that the tasks are decomposed into is done, and nothing of it twice."""
    state = outcome.state
    tree = state.hierarchy.tree
    leaves = sorted(node.step for node in tree.nodes if node.step is not None)
    assert leaves == list(range(len(state.hierarchy.steps)))
    for node in tree.nodes:
        if node.step is not None:
            step = state.steps[state.hierarchy.steps[node.step]].step
            assert (step.action, step.arguments) == (node.task.predicate, node.task.args)
    assert all(state.steps[id_].status.is_done for id_ in state.hierarchy.steps)


def test_tasks_that_cannot_be_done_fail_though_the_goal_could_be_reached():
    problem = couple()
    only_goal = Fault(FaultKind.FAILS, "meet(ada, _, _)", **ALWAYS)
    outcome, simulated, _ = driven(problem, only_goal, recovery=Recovery(rungs=(Rung.PATCH, Rung.REPLAN)))
    assert outcome.status is RunStatus.FAILED
    assert "meet(ada, board, nice)" in outcome.reason
    assert "what is left of the tasks cannot be done from this state" in outcome.reason
    assert simulated.holds(problem.classical.goal.hard)


def test_an_author_may_leave_the_tasks_for_the_goal():
    problem = couple()
    fault = Fault(FaultKind.FAILS, "meet(ada, _, _)", **ALWAYS)
    outcome, simulated, _ = driven(problem, fault, recovery=Recovery(leave_tasks=True))
    assert outcome.status is RunStatus.LOWERED
    assert outcome.state.dropped == ["the tasks"]
    assert simulated.holds(problem.classical.goal.hard)


def test_without_a_goal_tasks_are_not_left():
    fault = Fault(FaultKind.FAILS, "wash", **ALWAYS)
    recovery = Recovery(rungs=(Rung.PATCH, Rung.REPLAN), leave_tasks=True)
    outcome, _, _ = driven(read_shipped_problem("supper"), fault, recovery=recovery)
    assert outcome.status is RunStatus.FAILED
    assert outcome.state.dropped == []


@pytest.mark.parametrize(
    ("observe", "status"),
    [
        (None, RunStatus.SUCCEEDED),
        (NOBODY, RunStatus.UNVERIFIED),
        (Observe(predicates={"rested"}), RunStatus.UNVERIFIED),
    ],
)
def test_tasks_are_done_as_surely_as_their_steps(observe, status):
    outcome, _, _ = driven(board(), observe=observe)
    assert outcome.status is status
    check_tree(board(), outcome)


def test_a_run_is_taken_up_with_its_tasks(tmp_path):
    problem = board()
    faults = [Fault(FaultKind.FAILS, "book_flight", **ALWAYS), Fault(FaultKind.CRASH_BEFORE, "ride(ada, lyon, nice)")]
    simulated = SimulatedWorld(problem, faults=faults)
    path = tmp_path / "runs.db"
    with pytest.raises(Crash) as crash:
        run_virtual(Executor(simulated.world, path).run(solved(problem), run="r"))
    crash.value.bury()
    again = Executor(simulated.world, path)
    kept = again.state_of("r").hierarchy
    assert [node.method for node in kept.tree.nodes if node.task.predicate == "reach"][:2] == ["by_train", "by_train"]
    outcome = run_virtual(again.resume("r"))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert max(count for key, count in simulated.applied.items() if "/" in key) == 1
    check_leaves(outcome)


def plan_with_tasks():
    problem = board()
    return problem, ActionPlan.of(solve(problem, time_limit=None))


def test_plans_carry_their_tasks_as_data():
    problem, plan = plan_with_tasks()
    again = ActionPlan.model_validate_json(plan.model_dump_json())
    assert again == plan
    assert again.model == "hierarchical"
    simulated = SimulatedWorld(problem)
    outcome = run_virtual(Executor(simulated.world).run(again))
    assert outcome.status is RunStatus.SUCCEEDED
    stated = outcome.state.hierarchy.problem
    assert stated.network == problem.network
    assert stated.domain is problem.domain


def test_a_plan_that_does_not_do_its_tasks_is_refused():
    problem, plan = plan_with_tasks()
    world = SimulatedWorld(problem).world
    with pytest.raises(PlanError, match="does not do its tasks"):
        Executor(world).start(plan.model_copy(update={"tasks": ["visit(ada, board)"]}))
    with pytest.raises(PlanError, match="does not say of which tasks"):
        Executor(world).start(plan.model_copy(update={"tasks": None}))
    with pytest.raises(PlanError, match="the decomposition is none"):
        Executor(world).start(plan.model_copy(update={"decomposition": {**plan.decomposition, "roots": "x"}}))


def test_tasks_need_methods():
    problem, plan = plan_with_tasks()
    classical = World(problem.domain.classical)
    classical.skills.update(SimulatedWorld(problem).world.skills)
    with pytest.raises(PlanError, match="no methods") as caught:
        Executor(classical).start(plan)
    assert "another execution model" in str(caught.value)


def test_in_another_execution_model_the_steps_are_all_there_is():
    outcome, _, _ = driven(board(), model="sequential")
    assert outcome.status is RunStatus.SUCCEEDED
    assert outcome.state.hierarchy is None


def test_the_journal_has_the_tree_of_each_plan():
    outcome, _, events = driven(board(), Fault(FaultKind.FAILS, "book_flight", **ALWAYS))
    (changed,) = [each for each in events if isinstance(each, PlanChanged)]
    assert tree_from_data(changed.decomposition, Location("journal")) == outcome.state.hierarchy.tree
    assert tuple(changed.decomposition["steps"]) == outcome.state.hierarchy.steps


def test_a_world_of_declared_methods_knows_them():
    world = World(methods())
    assert world.hierarchy is methods().model
    assert World(methods().model).hierarchy is methods().model
    assert World(methods().model.classical).hierarchy is None


STRIKING = (
    FaultKind.FAILS,
    FaultKind.RAISES,
    FaultKind.LIES,
    FaultKind.FAILS_DONE,
    FaultKind.RAISES_DONE,
    FaultKind.PARTLY,
    FaultKind.CHANGE_BEFORE,
    FaultKind.CHANGE_AFTER,
)


@pytest.mark.parametrize("block", range(3))
def test_no_success_is_claimed_that_is_none(block):
    ended = Counter()
    for seed in range(100 * block, 100 * block + 15):
        rng = random.Random(seed)
        problem = rng.choice([*PROBLEMS.values()])
        steps = solved(problem).expect_plan().steps
        struck = rng.sample(range(len(steps)), min(2, len(steps)))
        faults = [Fault(rng.choice(STRIKING), str(steps[place]), times=rng.choice([1, 1, None])) for place in struck]
        outcome, simulated, _ = driven(problem, *faults)
        ended[outcome.status] += 1
        if outcome.status is not RunStatus.SUCCEEDED:
            assert outcome.reason
            continue
        assert simulated.holds(problem.classical.goal.hard), seed
        check_leaves(outcome)
        assert all(was_seen(outcome, simulated, id_) for id_ in outcome.state.hierarchy.steps), seed
        assert not [step for step in twice(simulated) if not harmless(problem, step)], seed
    assert ended[RunStatus.SUCCEEDED] > 3
    assert ended.total() - ended[RunStatus.SUCCEEDED] > 2


def twice(simulated):
    """Return the actions of steps that have changed something again, though nobody else had undone it."""
    found, done = set(), {}
    for act in simulated.acts:
        key = act.by, act.step.predicate
        if not act.by:
            done = {other: added for other, added in done.items() if added.isdisjoint(act.removed)}
        elif act.added or act.removed:
            found |= {act.step.predicate} if key in done else set()
            done[key] = set(act.added)
    return found


def harmless(problem, action):
    """Return whether an action may be done twice."""
    return not problem.classical.domain.actions[action].tags.isdisjoint({"idempotent", "read_only"})


def was_seen(outcome, simulated, id_):
    """Return whether a step was done, or somebody else has done what it is for and that was seen."""
    if any(act.by.endswith(f"/{id_}") for act in simulated.acts):
        return True
    return all(note.provenance is Provenance.OBSERVED for note in outcome.state.steps[id_].facts)


def test_tasks_of_which_steps_are_left_are_not_done_whatever_holds():
    problem, plan = plan_with_tasks()
    world = SimulatedWorld(problem).world
    state = RunState(world.model, plan, problem.classical, world.hierarchy)
    assert state.beliefs.is_true(state.goal)
    events = []
    assert run_virtual(look_at_goal(state, Lookout(world, state.objects), events.append)).verdict is Verdict.MISSING
