"""The order of plans of tasks: each linearisation of it is a plan, by the plan checker."""

from __future__ import annotations

from itertools import islice

import networkx as nx
import pytest
from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from benchmarks.random_hierarchies import random_htn
from htn.language.declare import Methods
from htn.verification.plan_verification import Sweep
from planner import Domain, InputError, Plan, PlanError, Step, causal_links, partial_order, schedule, solve, validate
from planner.lightweight import replace
from planner.plan import StepTime

MOST = 40


def reorder(plan, order):
    """Return `plan` with its steps in another order, and its decomposition for that."""
    places = {number - 1: place for place, number in enumerate(order)}
    return Plan(tuple([plan.steps[number - 1] for number in order]), plan.problem, plan.tree.move_steps(places))


def declare_gate():
    domain = Domain("gate")
    domain.action("pass", provides=["through"])
    domain.action("unlock", provides=["open"])
    return domain


def declare(domain=None):
    how = Methods(domain or declare_gate())
    how.task("enter")
    how.method("by-day", {}, task="enter", requires=["open"], subtasks=["pass"])
    return how


def test_what_the_precondition_of_a_method_waits_for_comes_before_its_steps():
    problem = declare().problem(tasks=["enter", "unlock"], ordered=False)
    plan = solve(problem).expect_plan()
    names = [step.action for step in plan.steps]
    graph = partial_order(problem, plan)
    assert [(names[one - 1], names[other - 1]) for one, other in graph.edges] == [("unlock", "pass")]
    assert [data["reason"] for _, _, data in graph.edges(data=True)] == ["task"]
    assert not validate(problem, [Step("pass"), Step("unlock")]).valid


def test_a_plan_without_a_decomposition_has_no_order():
    problem = declare().problem(initial=["open"], tasks=["enter"])
    with pytest.raises(PlanError, match="no decomposition"):
        partial_order(problem, Plan((Step("pass"),), problem))
    with pytest.raises(InputError, match="causal_links takes classical problems"):
        causal_links(problem, Plan((Step("pass"),), problem))


@settings(max_examples=examples(60))
@given(seed=st.integers(0, 10**9))
def test_all_linearisations_are_plans_of_the_same_cost(seed):
    problem = random_htn(seed)
    found = solve(problem, time_limit=0.5)
    assume(found.plan is not None and found.plan.steps)
    graph = partial_order(problem, found.plan)
    for order in islice(nx.all_topological_sorts(graph), MOST):
        verdict = validate(problem, reorder(found.plan, order))
        assert verdict.valid, (order, verdict.reason)
        assert verdict.cost == found.plan.cost


def test_tasks_without_order_run_at_once_in_the_schedule():
    domain = Domain("kitchen")
    domain.action("boil", provides=["hot"], duration=3)
    domain.action("set", provides=["laid"], duration=2)
    problem = Methods(domain).problem(tasks=["boil", "set"], ordered=False)
    assert schedule(solve(problem).expect_plan()).makespan == 3
    problem = Methods(domain).problem(tasks=["boil", "set"], ordered=True)
    assert schedule(solve(problem).expect_plan()).makespan == 5


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("duration", [None, 2])
def test_schedules_of_tasks_with_a_deadline_keep_steps_apart(ordered, duration):
    domain = Domain("kitchen")
    lasting = {} if duration is None else {"duration": duration}
    domain.action("boil", provides=["hot"], **lasting)
    domain.action("brew", requires=["hot"], provides=["tea"], modifies=["hot"], **lasting)
    problem = Methods(domain).problem(tasks=["boil", "brew", "boil"], ordered=ordered, deadline=20)
    plan = replace(solve(problem).expect_plan(), times=())
    found = schedule(plan)
    times = [StepTime(start, end - start) for start, end in zip(found.starts, found.ends, strict=True)]
    verdict = validate(problem, replace(plan, times=tuple(times)))
    assert verdict.valid, verdict.reason
    assert found.makespan > 2 * (duration or 0)


def test_steps_of_tasks_that_are_late_or_without_a_decomposition_have_no_schedule():
    domain = Domain("kitchen")
    domain.action("boil", provides=["hot"], duration=2)
    how = Methods(domain)
    plan = replace(solve(how.problem(tasks=["boil"], deadline=3)).expect_plan(), times=())
    with pytest.raises(PlanError, match="deadlines"):
        schedule(replace(plan, problem=how.problem(tasks=["boil"], deadline=1)))
    with pytest.raises(PlanError, match="no decomposition"):
        schedule(replace(plan, tree=None))


def test_the_order_of_tasks_in_time_checks_their_sequence_once(monkeypatch):
    domain = Domain("errands")
    domain.action("wash", provides=["clean"], duration=2)
    domain.action("dress", requires=["clean"], provides=["ready"], duration=1)
    tasks = Methods(domain).problem(tasks=["wash", "dress"], ordered=False)
    later = domain.problem(metric="makespan")
    problem = replace(tasks, classical=replace(later, domain=tasks.domain.classical, seal=()), seal=())
    plan = solve(problem).expect_plan()
    judged = []
    verdict = Sweep.verdict
    monkeypatch.setattr(Sweep, "verdict", lambda sweep, plan: judged.append(plan) or verdict(sweep, plan))
    graph = partial_order(problem, plan)
    assert nx.has_path(graph, (1, "start"), (2, "start"))
    assert len(judged) == 1


def test_changes_at_known_times_stand_in_the_order_of_tasks_in_time():
    gate = declare_gate()
    tasks = declare(gate).problem(tasks=["enter"])
    later = gate.problem(timed={2: ["open"]}, metric="makespan")
    problem = replace(tasks, classical=replace(later, domain=tasks.domain.classical, seal=()), seal=())
    graph = partial_order(problem, solve(problem).expect_plan())
    assert nx.has_path(graph, (1, "event"), (1, "start"))
