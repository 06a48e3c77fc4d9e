"""A condition that was only stated, and is not so any more: whoever can look does, and nothing acts on it twice.

What is deployed must have been tested. That it was is stated, and untrue by now, or goes stale with an edit.
"""

import pytest

from executor import ActionResult, Executor, RunStatus, World
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
