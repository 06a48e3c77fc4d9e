"""A condition that was only stated, and is not so any more: whoever can look does, and nothing acts on it twice.

What is deployed must have been tested. That it was is stated, and untrue by now, or goes stale with an edit.
"""

import pytest

from executor import ActionPlan, ActionResult, Executor, RunStatus, StepStatus, World
from executor.testing import run_virtual
from planner import Domain
from planner.errors import PlanError

MODELS = ("sequential", "parallel", "dag", "reactive", "policy")
TAGS = ([], ["idempotent"], ["irreversible"], ["irreversible", "needs_approval"])


class Lab:
    """A lab in which something is tested and deployed; `calls` are those of handlers, `so` is what is so in truth."""

    def __init__(self, tags, *, edits=False, sees=True, so=()):
        self.calls, self.so, self.domain = [], set(so), Domain("lab")
        self.initial = ["tested", *(["code"] if edits else [])]
        if edits:
            self.domain.predicate("code")
            self.domain.predicate("tested", stale_with=["code"])
            self.domain.action("edit", {}, provides=["edited"], modifies=["code"])
        self.domain.action("test", {}, provides=["tested"], cost=5)
        needs = ["tested", *(["edited"] if edits else [])]
        self.domain.action("deploy", {}, requires=needs, provides=["deployed"], tags=tags)
        self.world = World(self.domain)
        for action, fact in {"test": "tested", **({"edit": "edited"} if edits else {})}.items():
            self.world.handler(action)(lambda action=action, fact=fact: self.calls.append(action) or self.so.add(fact))
        self.world.handler("deploy")(self.deploy)
        for fact in ("deployed", *(["tested"] if sees else []), *(["edited"] if edits else [])):
            observe = self.world.observer(fact, conclusive=True, settle_within=0)
            observe(lambda fact=fact: fact in self.so)

    def deploy(self):
        self.calls.append("deploy")
        if "tested" not in self.so:
            return ActionResult.failed("it was not tested")
        self.so.add("deployed")
        return None

    def run(self, model, **options):
        problem = self.domain.problem(initial=self.initial, goal=["deployed"])
        return run_virtual(Executor(self.world, model=model, approve=lambda _: True, **options).run(problem))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("tags", TAGS)
@pytest.mark.parametrize("so", [(), ("tested",)])
def test_what_was_only_stated_is_looked_at_before_a_step_rests_on_it(so, tags, model):
    lab = Lab(tags, so=so)
    assert lab.run(model).status is RunStatus.SUCCEEDED
    assert lab.calls == [*([] if so else ["test"]), "deploy"]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("tags", TAGS)
@pytest.mark.parametrize("sees", [True, False])
def test_what_has_gone_stale_is_provided_anew_before_a_step_rests_on_it(sees, tags, model):
    lab = Lab(tags, edits=True, so=["tested"], sees=sees)
    if "irreversible" in tags and not sees:
        with pytest.raises(PlanError, match=r"deploy\(\) can never begin: it rests on tested"):
            lab.run(model)
        assert lab.calls == []
        return
    assert lab.run(model).succeeded
    assert lab.calls == ["edit", "test", "deploy"]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("tags", [[], ["irreversible"], ["irreversible", "needs_approval"]])
def test_where_nobody_can_look_a_stated_condition_is_acted_on_once(tags, model):
    lab = Lab(tags, sees=False)
    assert lab.run(model).status is RunStatus.FAILED
    assert lab.calls == ["deploy"]


@pytest.mark.parametrize("model", MODELS)
def test_what_has_changed_while_an_approval_was_awaited_is_looked_at_again(model, tmp_path):
    lab = Lab(["irreversible", "needs_approval"], so=["tested"])
    executor = Executor(lab.world, tmp_path / "runs.db", model=model)
    waiting = run_virtual(executor.run(lab.domain.problem(initial=lab.initial, goal=["deployed"])))
    assert waiting.status is RunStatus.WAITING
    lab.so.clear()
    outcome = run_virtual(executor.resume(waiting.run, answers={waiting.questions[0].question: "yes"}))
    assert (lab.calls[:1], lab.calls.count("deploy")) == (["test"], int(outcome.succeeded))


class Desk:
    """A desk at which a plan without a goal signs, pays and seals; `seal` needs a member, who was only stated."""

    def __init__(self, is_member):
        self.done, domain = list[str](), Domain("desk")
        domain.predicate("member")
        domain.action("sign", provides=["signed"])
        domain.action("pay", requires=["signed"], provides=["paid"], tags=["irreversible"])
        domain.action("seal", requires=["paid", "member"], provides=["sealed"])
        domain.action("mail", requires=["signed"], provides=["mailed"], tags=["irreversible"])
        self.world = World(domain)
        for name, fact in {"sign": "signed", "pay": "paid", "seal": "sealed", "mail": "mailed"}.items():
            self.world.handler(name)(lambda name=name: self.done.append(name))
            self.world.observer(fact, conclusive=True, settle_within=0)(lambda name=name: name in self.done)
        self.world.observer("member", conclusive=True, settle_within=0)(lambda: is_member)

    def run(self, model, *names):
        steps = [{"id": name, "action": name} for name in names]
        plan = {"model": model, "initial": ["member"], "steps": steps}
        return run_virtual(Executor(self.world).run(ActionPlan.model_validate(plan)))


@pytest.mark.parametrize("model", MODELS[:4])
def test_a_plan_without_a_goal_is_not_done_where_nothing_of_it_was_done(model):
    desk = Desk(is_member=False)
    outcome = desk.run(model, "sign", "pay", "seal")
    assert outcome.status is RunStatus.FAILED
    assert "it requires member" in outcome.reason
    assert desk.done == ["sign"], "what `seal` builds on is not paid, as `seal` cannot follow"


@pytest.mark.parametrize("model", MODELS[:4])
def test_a_plan_without_a_goal_goes_on_with_what_does_not_lead_to_an_impossible_step(model):
    desk = Desk(is_member=False)
    assert desk.run(model, "sign", "mail", "pay", "seal").status is RunStatus.FAILED
    assert desk.done == ["sign", "mail"]


@pytest.mark.parametrize("model", MODELS[:4])
def test_a_plan_without_a_goal_is_done_though_one_of_its_payments_was_seen_before(model):
    desk = Desk(is_member=True)
    desk.done.append("mail")
    outcome = desk.run(model, "sign", "pay", "seal", "mail")
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert desk.done == ["mail", "sign", "pay", "seal"]
    assert [each.reason for each in outcome.steps if each.status is StepStatus.SKIPPED] == ["already so"]
