"""A run whose later careful step rests on what nobody can observe is refused before its first step."""

from __future__ import annotations

import asyncio
import contextlib
import random

import pytest

from executor import ActionPlan, ActionResult, Agent, Executor, Recovery, World
from executor.adapters.planned_calls import PlannedCalls
from executor.plan_check import check_means, remaining_means
from executor.plan_check.check_plan import check_plan
from executor.testing import run_virtual
from planner import Domain, NoPlan, Outcome, PlanError, decide, k_best, solve

MODELS = ("sequential", "parallel", "dag", "reactive")
STUCK = r"publish\(\) can never begin: it rests on legal_ok, which legal\(\) changes, and nobody can observe that"


def review(*, tags=(), legal=(), sees=(), senses=(), initial=(), unknown=(), **options):
    """Return a problem whose plan mails, asks the lawyers and publishes; its world, and what was done."""
    domain, done = Domain("review"), []
    domain.predicate("legal_ok", tags=list(tags))
    domain.action("notify", provides=["notified"], tags=["irreversible"])
    if senses:
        domain.action("hear", requires=["notified"], senses=list(senses))
    else:
        domain.action("legal", requires=["notified"], provides=["legal_ok"], tags=list(legal))
    domain.action("publish", provides=["published"], tags=["irreversible"], **{"requires": ["legal_ok"], **options})
    world = World(domain)
    for name in domain.model.actions:
        reports = tuple(senses) if name == "hear" else ()
        world.handler(name)(lambda name=name, reports=reports: done.append(name) or ActionResult(observed=reports))
    made = {"notified": "notify", "published": "publish", "legal_ok": "legal"}
    for fact in ("notified", "published", *sees):
        world.observer(fact, conclusive=True)(lambda fact=fact: made[fact] in done)
    return domain.problem(initial=list(initial), goal=["published"], unknown=list(unknown)), world, done


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("form", range(5))
def test_no_mail_leaves_when_a_later_step_can_never_begin(model, form):
    problem, world, done = review()
    plan = solve(problem)
    what = [problem, plan, plan.plan, k_best(problem, 2), ActionPlan.of(plan)][form]
    with pytest.raises(PlanError, match=STUCK):
        run_virtual(Executor(world, model=model).run(what))
    assert done == []
    [found] = [each for each in check_plan(ActionPlan.of(plan), world) if each.is_error]
    assert (found.rule, found.step) == ("unobservable-condition", "s3")
    assert "@world.observer('legal_ok') says who looks, or tag legal_ok or legal 'trusted'" in found.hint


def test_the_other_doors_refuse_it_too(tmp_path):
    problem, world, done = review()
    for begin in (
        lambda: Agent(world).achieve(["published"]),
        lambda: Executor(world, tmp_path / "j").enqueue(problem),
        lambda: PlannedCalls(world, problem).call("notify"),
    ):
        with pytest.raises(PlanError, match=STUCK):
            asyncio.run(begin())
    assert done == []


@pytest.mark.parametrize(
    "mended",
    [{"sees": ["legal_ok"]}, {"tags": ["trusted"]}, {"legal": ["trusted"]}, {"initial": ["legal_ok"]}],
    ids=lambda each: next(iter(each)),
)
def test_what_is_seen_trusted_or_stated_is_carried_out(mended):
    problem, world, done = review(**mended)
    assert run_virtual(Executor(world).run(problem)).succeeded
    assert done[-1] == "publish"


def test_what_a_step_senses_counts_as_observed():
    problem, world, done = review(senses=["legal_ok"], unknown=["legal_ok"], requires=["legal_ok", "notified"])
    assert run_virtual(Executor(world).run(problem)).succeeded
    assert done == ["notify", "hear", "publish"]


def test_a_supposition_is_no_observation():
    problem, world, done = review(senses=["legal_ok"], unknown=["legal_ok"], requires=["legal_ok", "notified"])
    plan = ActionPlan.of(solve(problem))
    steps = tuple([each for each in plan.steps if each.action != "hear"])
    with pytest.raises(PlanError, match="rests on legal_ok"):
        run_virtual(Executor(world).run(plan.model_copy(update={"steps": steps})))
    assert done == []


@pytest.mark.parametrize("irreversible", [True, False])
def test_another_way_is_taken_where_there_is_one(irreversible):
    _, world, done = review()
    domain = Domain.of(world.model)
    domain.action("whisper", provides=["published"], cost=9, tags=["irreversible"] if irreversible else [])
    other = World(domain)
    for name in domain.model.actions:
        other.handler(name)(lambda name=name: done.append(name))
    other.observer("published", conclusive=True)(lambda: "whisper" in done)
    other.observer("notified", conclusive=True)(lambda: "notify" in done)
    outcome = run_virtual(Executor(other).run(domain.problem(goal=["published"])))
    assert outcome.succeeded
    assert done == ["whisper"]
    assert "@never" not in str(outcome.state.plan.initial)


def is_refused(requires, *, provides=("on",), sees=(), initial=()):
    """Return whether a careful step with this condition is refused after a step whose effects nobody sees."""
    domain, done = Domain("lamp"), []
    domain.predicate("given")
    domain.predicate("off")
    domain.action("switch", provides=list(provides))
    domain.action("pay", requires=requires, provides=["paid"], tags=["irreversible"])
    world = World(domain)
    world.handler("switch")(lambda: done.append("switch"))
    world.handler("pay")(lambda: done.append("pay"))
    for fact in sees:
        world.observer(fact)(lambda: True)
    steps = [{"id": "a", "action": "switch"}, {"id": "b", "action": "pay"}]
    plan = ActionPlan.model_validate(
        {"name": "p", "initial": list(initial), "goal": {"hard": ["paid"]}, "steps": steps}
    )
    found = [each.rule for each in check_plan(plan, world) if each.is_error]
    assert set(found) <= {"unobservable-condition"}
    return bool(found)


def test_only_what_decides_the_condition_has_to_be_observed():
    assert is_refused(["on"])
    assert is_refused(["not off"], provides=["not off"], initial=["off"])
    assert not is_refused(["not off"], provides=["on"], initial=[])
    assert not is_refused("(or (on) (given))", initial=["given"])
    assert is_refused("(or (on) (given))")
    assert not is_refused(["on"], sees=["on"])


def test_a_policy_is_refused_where_a_careful_step_rests_on_what_nobody_sees():
    def run_all(*sees):
        domain, done = Domain("post"), []
        outcomes = [Outcome("0.7", ["packed"]), Outcome("0.3", ["torn"])]
        domain.action("pack", requires=["not packed", "not torn"], provides=["packed"], outcomes=outcomes)
        domain.action("mend", requires=["torn"], provides=["packed", "not torn"])
        domain.action("send", requires=["packed"], provides=["sent"], tags=["irreversible"])
        world = World(domain)
        for name in domain.model.actions:
            world.handler(name)(lambda name=name: done.append(name))
        for fact, action in {"torn": "-", "sent": "send", **dict.fromkeys(sees, "pack")}.items():
            world.observer(fact, conclusive=True)(lambda action=action: action in done)
        problem = domain.problem(goal=["sent"])
        for what in (problem, decide(problem), ActionPlan.of(decide(problem))):
            done.clear()
            with contextlib.nullcontext() if sees else pytest.raises(PlanError, match=r"send\(\) can never begin"):
                assert run_virtual(Executor(world, model="policy").run(what)).succeeded
            assert bool(done) is bool(sees)

    run_all()
    run_all("packed")


def test_a_reported_fact_is_refused_before_the_first_step():
    problem, world, done = review(initial=["legal_ok"])
    fact = next(each for each in problem.initial if each.predicate == "legal_ok")
    with pytest.raises(PlanError, match="rests on legal_ok"):
        run_virtual(Executor(world).run(problem, reported={fact: True}))
    assert done == []


class Blind:
    """A random world whose handlers do what they declare, and whose observers see only some facts."""

    def __init__(self, seed):
        dice, self.domain, self.done = random.Random(seed), Domain("blind"), []
        size = dice.randint(2, 6)
        for number in range(size):
            requires = [f"{dice.choice(['', '', 'not '])}f{each}" for each in range(number) if dice.random() < 0.4]
            ends = [f"not f{each}" for each in range(number) if dice.random() < 0.15]
            tags = dice.choice([[], [], ["irreversible"], ["needs_observed"], ["trusted"]])
            self.domain.action(f"a{number}", requires=requires, provides=[f"f{number}", *ends], tags=tags)
        self.world, truth = World(self.domain), set()
        for name, action in self.domain.model.actions.items():
            self.world.handler(name)(lambda action=action: self.act(action, truth))
        for number in range(size):
            if dice.random() < 0.6:
                self.world.observer(f"f{number}", conclusive=True)(lambda fact=f"f{number}": fact in truth)
        self.problem = self.domain.problem(goal=[f"f{dice.randrange(size)}", f"f{size - 1}"])

    def act(self, action, truth):
        self.done.append(action.name)
        for fact in map(str, action.provides):
            name = fact.removeprefix("not ").removeprefix("(not ").strip("()")
            (truth.discard if "not" in fact else truth.add)(name)

    def run(self):
        plan = solve(self.problem)
        return run_virtual(Executor(self.world, recovery=Recovery(rungs=())).run(plan.expect_plan()))


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_a_plan_is_refused_exactly_where_it_would_get_stuck(first, monkeypatch):
    refused = 0
    for seed in range(first, first + 50):
        try:
            outcome = Blind(seed).run()
        except NoPlan:
            continue
        except PlanError:
            outcome = None
        with monkeypatch.context() as patched:
            for module in (check_means, remaining_means):
                patched.setattr(module, "find_unobservable", lambda *_: [])
            tried = Blind(seed).run()
        stuck = [each for each in tried.steps if "rests on" in each.reason]
        assert bool(stuck) is (outcome is None), seed
        refused += outcome is None
    assert refused
