"""Policies are followed: what was observed says which step comes next, and what nobody foresaw is decided again."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from executor import ActionPlan, ExecutionPolicy, Executor, Journal, Recovery, Rung, RunStatus, StepStatus, World
from executor.testing import Crash, Fault, FaultKind, SimulatedWorld, run_virtual
from planner import (
    Atom,
    Domain,
    InputError,
    NoPlan,
    Objective,
    Outcome,
    PlanError,
    at_most,
    before,
    decide,
    done,
    evaluate,
    solve,
)
from planner.lightweight import replace


def desk(**more):
    """A parcel is sent by a courier who may lose it on the way, or be late; what is lost can be searched for."""
    domain = Domain("desk")
    domain.action(
        "send",
        {},
        requires=["here"],
        provides=["there", "not here"],
        cost=2,
        outcomes=[
            Outcome("0.6", ["there", "not here"]),
            Outcome("0.3", ["lost", "not here"], name="lost"),
            Outcome("0.1", ["late"], name="late"),
        ],
        **more,
    )
    domain.action("search", {}, requires=["lost"], provides=["here", "not lost"], cost=1, risk="0.5")
    domain.action("carry", {}, requires=["here"], provides=["there", "not here"], cost=8)
    return domain


def parcel(domain=None, **more):
    return (domain or desk()).problem(initial=["here"], goal=["there"], **more)


def seeds(problem, number=80):
    for seed in range(number):
        simulated = SimulatedWorld(problem, seed=seed, chances=True)
        for name in problem.domain.actions:
            simulated.world.policy(name, ExecutionPolicy(retries=0))
        yield simulated


def names(outcome):
    return [each.step.action for each in outcome.steps]


def test_what_was_observed_says_what_comes_next():
    problem = parcel()
    decision = decide(problem)
    seen = set()
    for simulated in seeds(problem):
        outcome = run_virtual(Executor(simulated.world).run(decision, run="r"))
        assert outcome.status is RunStatus.SUCCEEDED
        assert simulated.holds("there")
        assert "carry" not in names(outcome)
        assert not [each for each in outcome.state.rungs if each.rung not in (Rung.RETRY, Rung.PATCH)]
        seen.add(tuple(names(outcome)))
        for one, other in zip(outcome.steps, outcome.steps[1:], strict=False):
            failed = one.step.action == "search" and one.status is StepStatus.FAILED
            expected = {"send": ("search", "send"), "search": ("search",) if failed else ("send",)}
            assert other.step.action in expected[one.step.action]
    assert ("send",) in seen
    assert ("send", "search", "send") in seen
    assert ("send", "search", "search", "send") in seen


def test_a_run_costs_what_its_policy_is_said_to_cost():
    problem = parcel()
    policy = decide(problem).expect_policy()
    prices = {"send": 2, "search": 1, "carry": 8}
    total, number = 0, 100
    for simulated in seeds(problem, number):
        outcome = run_virtual(Executor(simulated.world).run(policy, run="r"))
        total += sum(prices[each] for each in names(outcome))
    assert abs(total / number - policy.cost) < 0.15 * policy.cost
    assert evaluate(problem, policy).cost == pytest.approx(policy.cost)


def test_policies_are_followed_within_constraints():
    domain = desk()
    domain.action("pack", {}, requires=["here"], provides=["packed"], cost=1)
    problem = parcel(domain, constraints=[at_most(1, done("send")), before(done("pack"), done("search"))])
    policy = decide(problem).expect_policy()
    assert 0.6 < policy.success <= 1.0
    assert evaluate(problem, policy).success == pytest.approx(policy.success)
    seen = set()
    for simulated in seeds(problem):
        outcome = run_virtual(Executor(simulated.world).run(policy, run="r"))
        done_steps = names(outcome)
        assert done_steps.count("send") <= 1
        if "search" in done_steps:
            assert "pack" in done_steps[: done_steps.index("search")]
        seen.add(tuple(done_steps))
        assert not [each for each in outcome.state.rungs if each.rung is Rung.REPLAN]
    assert len(seen) > 1


def test_problems_are_decided_in_the_model_policy():
    problem = parcel()
    world = next(seeds(problem)).world
    outcome = run_virtual(Executor(world, model="policy").run(problem, objective=Objective.COST, penalty=1))
    assert outcome.status is RunStatus.FAILED  # giving up is cheaper
    world = next(seeds(problem)).world
    outcome = run_virtual(Executor(world, model="policy").run(problem, objective=Objective.COST, penalty=1000))
    assert outcome.status is RunStatus.SUCCEEDED
    assert outcome.state.model == "policy"


def test_what_nobody_foresaw_is_decided_again():
    problem = parcel()
    decision = decide(problem)
    change = Fault(FaultKind.CHANGE_BEFORE, "send", facts=("not here", "lost"))
    simulated = SimulatedWorld(problem, faults=[change])
    outcome = run_virtual(Executor(simulated.world).run(decision, run="r"))
    assert outcome.status is RunStatus.SUCCEEDED
    domain = desk()
    domain.action("find", {}, requires=["dropped"], provides=["lost", "not dropped"])
    problem = parcel(domain)
    decision = decide(problem)
    assert not any("dropped" in map(str, node.facts) for node in decision.expect_policy().nodes)
    change = Fault(FaultKind.CHANGE_BEFORE, "send", facts=("not here", "dropped"))
    simulated = SimulatedWorld(problem, faults=[change])
    outcome = run_virtual(Executor(simulated.world).run(decision, run="r"))
    assert outcome.status is RunStatus.SUCCEEDED
    assert [each for each in outcome.state.rungs if each.rung is Rung.REPLAN and each.found]
    assert names(outcome)[1:] == ["find", "search", "carry"]  # what failed is not tried again by other policies


def test_what_is_broken_for_good_is_decided_without():
    """The courier changes nothing in 19 of 100 cases: five in a row are no bad luck, and the parcel is carried."""
    problem = parcel(desk(risk="0.1"))
    simulated = SimulatedWorld(problem, faults=[Fault(FaultKind.FAILS, "send", times=None)])
    simulated.world.policy("send", ExecutionPolicy(retries=0))
    outcome = run_virtual(Executor(simulated.world).run(decide(problem), run="r"))
    assert outcome.status is RunStatus.SUCCEEDED
    assert names(outcome) == ["send"] * 5 + ["carry"]


def test_what_might_be_done_twice_is_not_tried_again():
    """Nobody can see whether the courier has it: a failure is no reason to send it again."""
    domain = desk(risk="0.4")
    problem = parcel(domain)
    world = World(domain)

    async def works() -> None: ...

    async def raises() -> None:
        raise RuntimeError("no answer")

    for name in ("search", "carry"):
        world.handler(name)(works)
    world.handler("send", policy=ExecutionPolicy(retries=0))(raises)
    outcome = run_virtual(Executor(world).run(decide(problem), run="r"))
    assert names(outcome).count("send") == 1


def lost_parcel():
    problem = parcel(desk(tags=["irreversible"]))
    return decide(problem), SimulatedWorld(replace(problem, initial=(Atom("lost"),)), seed=1)


def test_irreversible_steps_are_looked_at_afresh():
    decision, simulated = lost_parcel()
    outcome = run_virtual(Executor(simulated.world, look="never").run(decision, run="r"))
    assert outcome.status is RunStatus.SUCCEEDED
    assert "send" in outcome.steps[0].step.action
    assert outcome.steps[0].attempts == 0
    assert names(outcome)[1:] == ["search", "send"]


def test_what_a_policy_rests_on_is_looked_at_before_its_first_step():
    decision, simulated = lost_parcel()
    outcome = run_virtual(Executor(simulated.world).run(decision, run="r"))
    assert outcome.status is RunStatus.SUCCEEDED
    assert names(outcome) == ["search", "send"]


def test_budgets_hold_on_the_way():
    problem = parcel(budgets={"cost": 9})
    decision = decide(problem)
    for simulated in seeds(problem, 15):
        outcome = run_virtual(Executor(simulated.world, recovery=Recovery(rungs=())).run(decision, run="r"))
        prices = {"send": 2, "search": 1, "carry": 8}
        assert sum(prices[each.step.action] * each.attempts for each in outcome.steps) <= 9


def test_soft_goals_that_the_policy_leaves_are_given_up():
    domain = desk()
    domain.action("wrap", {}, requires=["here"], provides=["wrapped"], cost=1)
    domain.action("gild", {}, requires=["golden"], provides=["shining"], cost=1)
    problem = domain.problem(initial=["here"], goal={"hard": ["there"], "soft": {"wrapped": 5, "shining": 2}})
    decision = decide(problem, objective=Objective.UTILITY)
    for simulated in seeds(problem, 5):
        outcome = run_virtual(Executor(simulated.world).run(decision, run="r"))
        assert outcome.status is RunStatus.LOWERED
        assert outcome.state.dropped == ["shining"]
        assert simulated.holds("wrapped")


@pytest.mark.parametrize("kind", [FaultKind.CRASH_BEFORE, FaultKind.CRASH_AFTER])
@pytest.mark.parametrize("skip", [0, 1])
def test_a_policy_is_followed_on_after_a_crash(tmp_path, kind, skip):
    problem = parcel()
    decision = decide(problem)
    done = 0
    for seed in range(8):
        ledger, path = tmp_path / f"world-{seed}", tmp_path / f"{seed}.db"
        faults = [Fault(kind, "send", skip=skip), Fault(kind, "search", skip=skip)]

        def simulated(seed=seed, faults=faults, ledger=ledger):
            return SimulatedWorld(problem, seed=seed, faults=faults, ledger=ledger, chances=True)

        with Journal(path) as journal:
            try:
                run_virtual(Executor(simulated().world, journal=journal).run(decision, run="r"))
                continue
            except Crash as crash:
                crash.bury()
        for _ in range(3):
            with Journal(path) as journal:
                try:
                    outcome = run_virtual(Executor(simulated().world, journal=journal).resume("r"))
                    break
                except Crash as crash:
                    crash.bury()
        done += 1
        assert outcome.status is RunStatus.SUCCEEDED
        assert outcome.state.model == "policy"
        world = simulated()
        assert world.holds("there")
        assert max(Counter(act.by for act in world.acts if act.added or act.removed).values()) == 1
    assert done


@pytest.mark.parametrize("seed", range(6))
def test_each_beginning_of_a_run_can_be_taken_up(tmp_path, seed):
    """The journal is cut after each event in turn: the run that goes on from there reaches the goal."""
    problem = parcel()
    simulated = SimulatedWorld(problem, seed=seed, chances=True)
    decision = decide(problem)
    with Journal(tmp_path / "whole.db") as journal:
        whole = run_virtual(Executor(simulated.world, journal=journal).run(decision, run="r"))
        events = [(each.kind, each.data) for each in journal.read("r")]
    assert whole.succeeded
    place = random.Random(seed).randrange(1, len(events))
    with Journal(tmp_path / "part.db") as journal:
        journal.create("r")
        with journal.drive("r"):
            journal.extend("r", [(kind, data, "ACTIVE") for kind, data in events[:place]])
        state = Executor(simulated.world, journal=journal).state_of("r")
        now = replace(problem, initial=tuple(state.beliefs.simulation.facts))
        world = SimulatedWorld(now, seed=seed, chances=True)
        again = run_virtual(Executor(world.world, journal=journal).resume("r"))
        assert again.succeeded


def test_a_policy_is_a_plan_as_data():
    decision = decide(parcel())
    plan = ActionPlan.of(decision, id="parcel")
    again = ActionPlan.model_validate_json(plan.model_dump_json())
    assert again == plan
    outcome = run_virtual(Executor(next(seeds(parcel())).world).run(again))
    assert outcome.succeeded


def test_what_cannot_be_followed_is_refused():
    problem, world = parcel(), next(seeds(parcel())).world
    decision, plan = decide(problem), solve(problem)
    for executor, what, options, said in [
        (Executor(world, model="policy"), plan, {}, "a plan without one"),
        (Executor(world, model="dag"), decision, {}, "not carried out as dag"),
        (Executor(world, model="policy"), problem, {"mode": "first"}, "no option 'mode'"),
        (Executor(world), decision, {"time_limit": 3}, "there is a plan already"),
    ]:
        with pytest.raises(InputError, match=said):
            run_virtual(executor.run(what, **options))
    broken = ActionPlan.of(decision, policy={"nodes": [{"facts": []}], "watched": []})
    with pytest.raises(PlanError, match="node 0 is no node of a policy"):
        run_virtual(Executor(world).run(broken))
    with pytest.raises(NoPlan):
        run_virtual(Executor(world).run(decide(desk().problem(goal=["there"]))))
