"""Policies begin irreversible steps late: the reversible steps that come anyway, and could still fail, come first."""

from __future__ import annotations

import asyncio
import random

import pytest

from benchmarks.random_problems import Features, random_problem
from executor import ActionPlan, ActionResult, Executor, RunStatus, World
from executor.recovery.reversible_first import take_reversible_first
from planner import Domain, Outcome, When, decide, evaluate
from planner.lightweight import replace
from planner.model import COST

IRREVERSIBLE = ["irreversible"]


def plain(problem):
    """Return `problem` without tags, for which policies do not care what is irreversible."""
    actions = {name: replace(each, tags=frozenset()) for name, each in problem.domain.actions.items()}
    return replace(problem, domain=replace(problem.domain, actions=actions))


def decide_carelessly(problem, **options):
    """Return a policy for `problem` that was made without its tags."""
    return replace(decide(plain(problem), **options).policy, problem=problem)


def make_shop(**wrap):
    """Return a problem: who orders pays, wraps and sends; `pay` is declared first."""
    shop = Domain("shop")
    shop.action("pay", provides=["paid"], tags=IRREVERSIBLE)
    shop.action("wrap", **(wrap or {"provides": ["wrapped"]}))
    shop.action("send", requires=["paid", "wrapped"], provides=["sent"])
    return shop.problem(goal=["sent"])


TORN = {"outcomes": [Outcome("0.9", ["wrapped"]), Outcome("0.1", ["torn"])], "requires": ["not torn"]}


def serve(problem, results=()):
    """Return a world that carries `problem` out, and the calls; `results` are the facts that `wrap` brings, in turn."""
    world, calls, facts = World(problem.domain), [], set()
    given = iter(results)

    def carry_out(name, fact):
        calls.append(name)
        fact = next(given, fact) if name == "wrap" else fact
        if not fact:
            return ActionResult.failed("no paper")
        facts.add(fact)
        return None

    for name, fact in (("pay", "paid"), ("wrap", "wrapped"), ("send", "sent")):
        world.handler(name)(lambda name=name, fact=fact: carry_out(name, fact))
    for fact in problem.domain.predicates:
        world.observer(fact, conclusive=True)(lambda fact=fact: fact in facts)
    return world, calls


def first_steps(policy):
    """Return the steps of the likeliest run of `policy`."""
    found, node = [], policy.nodes[0]
    while node.step is not None and len(found) < 20:
        found.append(node.step.action)
        node = policy.nodes[node.branches[0].node]
    return found


@pytest.mark.parametrize("way", ["decided", "model", "written"])
def test_a_policy_pays_after_the_reversible_step_that_may_fail(way):
    problem = make_shop()
    world, calls = serve(problem, [""])
    if way == "model":
        outcome = asyncio.run(Executor(world, model="policy").run(problem))
    else:
        outcome = asyncio.run(Executor(world).run(decide(problem) if way == "decided" else decide_carelessly(problem)))
    assert calls == ["wrap"]
    assert outcome.status is RunStatus.FAILED


def test_a_written_policy_reaches_its_goal_in_the_new_order():
    problem = make_shop()
    policy = decide_carelessly(problem)
    assert first_steps(policy) == ["pay", "wrap", "send"]
    world, calls = serve(problem)
    outcome = asyncio.run(Executor(world).run(policy))
    assert outcome.succeeded
    assert calls == ["wrap", "pay", "send"]
    assert not outcome.recovery


def test_a_policy_does_not_pay_after_an_outcome_from_which_no_goal_is_reached():
    problem = make_shop(**TORN)
    world, calls = serve(problem, ["torn"])
    outcome = asyncio.run(Executor(world).run(decide_carelessly(problem, search="plans")))
    assert calls == ["wrap"]
    assert outcome.status is RunStatus.IMPOSSIBLE


def test_a_step_that_fails_by_its_risk_is_tried_again_before_the_policy_pays():
    problem = make_shop(provides=["wrapped"], risk="0.5")
    policy = take_reversible_first(decide_carelessly(problem, search="plans"))
    assert first_steps(policy)[-2:] == ["pay", "send"]
    worth = evaluate(problem, policy)
    assert (worth.success, worth.cost) == pytest.approx((1, 4))


def test_a_policy_that_is_decided_anew_pays_late_too():
    shop = Domain("shop")
    shop.action("pay", requires=["not torn"], provides=["paid"], tags=IRREVERSIBLE)
    shop.action("settle", requires=["torn"], provides=["paid"], tags=IRREVERSIBLE)
    shop.action("tape", requires=["torn"], provides=["wrapped"])
    shop.action("wrap", **TORN)
    shop.action("send", requires=["paid", "wrapped"], provides=["sent"])
    problem = shop.problem(goal=["sent"])
    world, calls = serve(problem, ["torn"])
    world.handler("settle")(lambda: calls.append("settle"))

    @world.handler("tape")
    def tape():
        calls.append("tape")
        return ActionResult.failed("no tape")

    outcome = asyncio.run(Executor(world).run(decide_carelessly(problem)))
    assert calls == ["wrap", "tape"]
    assert outcome.status is RunStatus.FAILED


def test_a_run_that_is_resumed_goes_on_in_the_new_order(tmp_path):
    problem = make_shop()
    plan = ActionPlan.of(decide_carelessly(problem))
    world, calls = serve(problem)

    async def begin():
        run = Executor(world, tmp_path / "runs.db", listeners=(lambda _: calls and run.interrupt(),)).start(
            plan, run="r"
        )
        return await run

    assert asyncio.run(begin()).status is RunStatus.WAITING
    assert calls == ["wrap"]
    outcome = asyncio.run(Executor(world, tmp_path / "runs.db").resume("r"))
    assert outcome.succeeded
    assert calls == ["wrap", "pay", "send"]
    assert not outcome.recovery


DEPENDENT = {
    "needs the payment": {"requires": ["paid"], "provides": ["wrapped"]},
    "prevents the payment": {"provides": ["wrapped", "closed"]},
    "may prevent the payment": {
        "outcomes": [Outcome("0.5", ["wrapped"]), Outcome("0.5", ["wrapped", "closed"], name="closed")]
    },
    "prevents the payment in some states": {"provides": ["wrapped"], "when": [When(["late"], ["closed"])]},
}


@pytest.mark.parametrize("wrap", DEPENDENT)
def test_a_step_that_is_not_independent_of_the_payment_stays_after_it(wrap):
    shop = Domain("shop")
    shop.predicate("closed")
    shop.predicate("late")
    shop.action("pay", requires=["not closed"], provides=["paid"], tags=IRREVERSIBLE)
    shop.action("wrap", **DEPENDENT[wrap])
    policy = decide_carelessly(shop.problem(goal=["paid", "wrapped"], initial=["late"]))
    assert first_steps(policy) == ["pay", "wrap"]
    assert take_reversible_first(policy).nodes == policy.nodes


def make_random_problem(seed):
    """Return a problem with few dependencies, uncertain outcomes, dead ends, and irreversible actions."""
    draw = random.Random(seed)
    domain, facts = Domain("d"), [f"f{number}" for number in range(5)]
    for number, fact in enumerate(facts):
        needs = [each for each in facts[:number] if draw.random() < 0.25]
        bad = Outcome("0.3", ["torn"]), Outcome("0.3", [f"bad{number}"])
        kind = draw.randrange(4)
        more = [{"risk": "0.2"}, *({"outcomes": [Outcome("0.7", [fact]), each]} for each in bad), {}][kind]
        if kind == 2:
            domain.action(f"mend{number}", requires=[f"bad{number}"], provides=[fact, f"not bad{number}"], cost=3)
        tags, cost = IRREVERSIBLE if draw.random() < 0.5 else [], draw.randrange(3)
        can = ["not torn", *([f"not bad{number}"] if kind == 2 else []), *needs]
        domain.action(f"a{number}", requires=can, provides=[fact], cost=cost, tags=tags, **more)
        if draw.random() < 0.3:
            domain.action(f"b{number}", requires=needs, provides=[fact], cost=4, tags=IRREVERSIBLE)
    budgets = {COST: draw.randrange(8, 16)} if draw.random() < 0.3 else {}
    return domain.problem(goal=[each for each in facts if draw.random() < 0.8] or facts, budgets=budgets)


def tag_at_random(problem, seed):
    draw = random.Random(seed)
    actions = {
        name: replace(each, tags=each.tags | {"irreversible"}) if draw.random() < 0.5 else each
        for name, each in problem.domain.actions.items()
    }
    return replace(problem, domain=replace(problem.domain, actions=actions))


@pytest.mark.parametrize("seed", range(60))
def test_random_policies_reach_their_goals_as_often_in_the_new_order(seed):
    uncertain = random_problem(seed, Features(uncertain=True, decimals=True))
    problem = make_random_problem(seed) if seed % 3 else tag_at_random(uncertain, seed)
    found = decide(plain(problem), time_limit=5, search="plans" if seed % 2 else None)
    if found.policy is None:
        return
    policy = replace(found.policy, problem=problem)
    changed = take_reversible_first(policy)
    one, other = evaluate(problem, policy), evaluate(problem, changed)
    assert (one.success, one.utility) == pytest.approx((other.success, other.utility))


def test_some_random_policies_were_changed():
    changed = [
        seed
        for seed in range(20)
        for policy in [decide_carelessly(make_random_problem(seed), time_limit=5)]
        if policy is not None and take_reversible_first(policy).nodes != policy.nodes
    ]
    assert changed
