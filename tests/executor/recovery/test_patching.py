"""Patches that come before the failing step, and what was written by hand into the steps that they keep."""

import json
from decimal import Decimal
from typing import Annotated

import pytest

from executor import ActionPlan, ActionResult, ExecutionPolicy, Executor, Recovery, Rung, RunStatus, StepStatus, World
from executor.events.events import PlanChanged
from executor.testing import run_virtual
from htn.language.declare import Methods
from planner import Domain, From, solve

MODELS = ("sequential", "parallel", "dag", "reactive")
PATCH_ONLY = Recovery(rungs=(Rung.PATCH,))
REPLAN_ONLY = Recovery(rungs=(Rung.REPLAN,))


class Gate:
    """Somebody goes through a gate and greets; `shuts` times, the gate is shut at the moment of going through.

    `facts` is what is true, `deeds` are what handlers were called with. Climbing costs `climbing`.
    """

    def __init__(self, *, shuts=1, climbing=None):
        self.facts, self.deeds, self.shuts = {"open"}, [], shuts
        domain = self.domain = Domain("gate")
        domain.action("open_gate", provides=["open"])
        domain.action("enter", {"badge": str}, requires=["open"], provides=["through"])
        domain.action("greet", {"words": str}, requires=["through"], provides=["greeted"])
        if climbing is not None:
            domain.action("climb", provides=["through"], cost=climbing)
        self.world = World(domain)
        self.world.handler("open_gate")(self.open_gate)
        self.world.handler("enter", policy=ExecutionPolicy(retries=0))(self.enter)
        self.world.handler("greet")(self.greet)
        if climbing is not None:
            self.world.handler("climb")(lambda: self.did("climb", "through"))
        for fact in ("open", "through", "greeted"):
            self.world.observer(fact, conclusive=True)(lambda fact=fact: fact in self.facts)

    def did(self, deed, fact):
        self.deeds.append(deed)
        self.facts.add(fact)

    def open_gate(self):
        self.did("open", "open")

    def enter(self, badge):
        if self.shuts:
            self.shuts -= 1
            self.facts.discard("open")
        self.deeds.append(f"enter {badge}")
        if "open" not in self.facts:
            return ActionResult.failed("the gate is shut")
        self.facts.add("through")
        return ActionResult(data={"name": "Ada"})

    def greet(self, words):
        self.did(f"greet {words}", "greeted")

    def run(self, plan, model="sequential", **options):
        self.events = []
        executor = Executor(self.world, model=model, listeners=(self.events.append,), **options)
        return run_virtual(executor.run(plan, memory={"badge": "none", "words": "none"}))


ENTER = {"id": "in", "action": "enter", "parameters": {"badge": "B1"}, "policy": {"retries": 0, "timeout": 50}}
GREET = {"id": "hello", "action": "greet", "parameters": {"words": "hi"}, "policy": {"timeout": 60}}


def by_hand(*steps, **fields):
    return ActionPlan.model_validate({"goal": ["greeted"], "initial": ["open"], "steps": list(steps), **fields})


def rungs(outcome):
    return [(each.rung, each.found) for each in outcome.state.rungs if each.rung not in (Rung.RETRY, Rung.SKILL)]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("recovery", [Recovery(), PATCH_ONLY])
def test_a_patch_comes_before_the_step_that_has_failed(model, recovery):
    gate = Gate()
    outcome = gate.run(solve(gate.domain.problem(initial=["open"], goal=["greeted"])), model, recovery=recovery)
    assert outcome.status is RunStatus.SUCCEEDED
    assert gate.deeds == ["enter none", "open", "enter none", "greet none"]
    assert rungs(outcome) == [(Rung.PATCH, True)]


@pytest.mark.parametrize("model", MODELS)
def test_a_patch_comes_before_a_step_that_could_not_begin(model):
    gate = Gate(shuts=0)
    gate.facts.clear()  # the problem says that the gate is open, and it is not
    outcome = gate.run(by_hand(ENTER, GREET), model)
    assert outcome.status is RunStatus.SUCCEEDED
    assert gate.deeds[-3:] == ["open", "enter B1", "greet hi"]
    assert rungs(outcome) == [(Rung.PATCH, True)]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("climbing", "way"), [(5, ["open", "enter B1"]), (1, ["climb"])])
def test_of_the_ways_on_the_cheapest_is_taken(model, climbing, way):
    gate = Gate(climbing=climbing)
    outcome = gate.run(by_hand(ENTER, GREET), model)
    assert outcome.status is RunStatus.SUCCEEDED
    assert gate.deeds == ["enter B1", *way, "greet hi"]
    assert rungs(outcome) == [(Rung.PATCH, True)]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("recovery", [PATCH_ONLY, REPLAN_ONLY])
def test_what_was_written_by_hand_is_kept(model, recovery):
    gate = Gate()
    enter = {**ENTER, "cost": 7, "duration": 3, "tokens": 2, "description": "by the north gate", "expects": ["through"]}
    outcome = gate.run(by_hand(enter, {**GREET, "depends_on": ["in"]}), model, recovery=recovery)
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert gate.deeds == ["enter B1", "open", "enter B1", "greet hi"]
    (again,) = [each for each in outcome.steps if each.step.action == "enter" and each.id != "in"]
    first = outcome.state.steps["in"]
    assert (first.status, again.status) == (StepStatus.FAILED, StepStatus.SUCCEEDED)
    assert again.plan == first.plan.model_copy(update={"id": again.id})
    hello = outcome.state.steps["hello"]
    assert (hello.status, hello.plan.policy.timeout) == (StepStatus.SUCCEEDED, 60)
    assert hello.plan.depends_on == (again.id,)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("recovery", [PATCH_ONLY, REPLAN_ONLY])
@pytest.mark.parametrize("words", ["{{in.data.name}}", "hello {{ in.data.name }}, hello {{in.text}}"])
def test_references_follow_a_step_that_is_done_once_more(model, recovery, words):
    gate = Gate()
    outcome = gate.run(by_hand(ENTER, {**GREET, "parameters": {"words": words}}), model, recovery=recovery)
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert gate.deeds[-1] == ("greet Ada" if words.startswith("{") else "greet hello Ada, hello ")


@pytest.mark.parametrize("recovery", [PATCH_ONLY, REPLAN_ONLY])
def test_declared_flows_of_data_are_kept(recovery):
    domain = Domain("gate")
    domain.action("open_gate", provides=["open"])
    domain.action("enter", {"badge": str}, requires=["open"], provides=["through"])
    domain.action(
        "greet", {"words": Annotated[str, From("through", "data.name")]}, requires=["through"], provides=["greeted"]
    )
    gate = Gate()
    world = World(domain)
    for name in ("open_gate", "enter", "greet"):
        world.handler(name, policy=ExecutionPolicy(retries=0))(getattr(gate, name))
    for fact in ("open", "through", "greeted"):
        world.observer(fact, conclusive=True)(lambda fact=fact: fact in gate.facts)
    gate.world = world
    outcome = run_virtual(Executor(world, recovery=recovery).run(by_hand(ENTER, {"id": "hello", "action": "greet"})))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert gate.deeds[-1] == "greet Ada"


def test_a_step_whose_result_is_wanted_is_not_dropped_because_what_it_provides_holds():
    domain, done = Domain("desk"), []
    domain.action("fail", provides=["f"])
    domain.action("instead", provides=["f", "known"], cost=2)
    domain.action("look_up", provides=["known"])
    domain.action("tell", {"number": int}, requires=["known", "f"], provides=["told"])
    world = World(domain)
    world.handler("fail", policy=ExecutionPolicy(retries=0))(lambda: False)
    world.handler("instead")(lambda: done.append("instead"))
    world.handler("look_up")(lambda: done.append("look_up") or ActionResult(data={"number": 7}))
    world.handler("tell")(lambda number: done.append(number) or None)
    for fact in ("f", "known", "told"):
        world.observer(fact, conclusive=True)(
            lambda fact=fact: {"f": "instead" in done, "known": bool(done), "told": 7 in done}[fact]
        )
    steps = [
        {"id": "s1", "action": "fail"},
        {"id": "s2", "action": "look_up"},
        {"id": "s3", "action": "tell", "parameters": {"number": "{{s2.data.number}}"}},
    ]
    plan = ActionPlan.model_validate({"goal": ["told"], "steps": steps})
    outcome = run_virtual(Executor(world).run(plan))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert done == ["instead", "look_up", 7]
    assert outcome.state.steps["s2"].status is outcome.state.steps["s3"].status is StepStatus.SUCCEEDED


@pytest.mark.parametrize("recovery", [PATCH_ONLY, REPLAN_ONLY])
def test_a_step_that_was_done_and_undone_by_others_is_repeated_with_its_parameters(recovery):
    gate = Gate(shuts=0)
    greet = gate.greet

    def thrown_out(words):
        if "thrown out" not in gate.deeds:
            gate.deeds.append("thrown out")
            gate.facts.discard("through")
            raise RuntimeError("nobody is there")
        greet(words)

    gate.world.handler("greet", policy=ExecutionPolicy(retries=0))(thrown_out)
    outcome = gate.run(by_hand(ENTER, GREET), recovery=recovery)
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert gate.deeds == ["enter B1", "thrown out", "enter B1", "greet hi"]


def test_a_step_that_fails_with_all_that_it_requires_is_no_part_of_a_patch():
    gate = Gate(shuts=0, climbing=9)
    gate.world.handler("enter", policy=ExecutionPolicy(retries=0))(
        lambda badge: gate.deeds.append(f"enter {badge}") or False
    )
    outcome = gate.run(by_hand(ENTER, GREET))
    assert outcome.status is RunStatus.SUCCEEDED
    assert gate.deeds == ["enter B1", "climb", "greet hi"]


def test_a_gate_that_is_always_shut_again_is_given_up():
    gate = Gate(shuts=100)
    outcome = gate.run(by_hand(ENTER, GREET), recovery=Recovery(rungs=(Rung.PATCH, Rung.REPLAN)))
    assert outcome.status is RunStatus.FAILED
    assert gate.deeds.count("enter B1") == 3


def test_a_patched_run_is_taken_up_with_what_was_written_by_hand(tmp_path):
    gate = Gate()

    def killed(event):
        if isinstance(event, PlanChanged):
            run.interrupt()

    async def main():
        nonlocal run
        run = Executor(gate.world, journal=tmp_path / "runs.db", listeners=(killed,)).start(
            by_hand(ENTER, {**GREET, "parameters": {"words": "{{in.data.name}}"}})
        )
        outcome = await run
        assert outcome.status is RunStatus.WAITING
        return await Executor(gate.world, journal=tmp_path / "runs.db").resume(outcome.run)

    run = None
    outcome = run_virtual(main())
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert gate.deeds == ["enter B1", "open", "enter B1", "greet Ada"]


def test_estimates_and_data_of_steps_stay_exact():
    gate = Gate()
    outcome = gate.run(by_hand({**ENTER, "cost": Decimal("0.1")}, GREET))
    (again,) = [each for each in outcome.steps if each.step.action == "enter" and each.id != "in"]
    assert again.plan.cost == Decimal("0.1")
    assert json.loads(again.plan.model_dump_json())["parameters"] == {"badge": "B1"}


def test_in_a_hierarchical_run_steps_come_before_the_failing_one_and_keep_their_parameters():
    gate = Gate()
    how = Methods(gate.domain)
    how.task("visit")
    how.method("straight", {}, task="visit()", requires=["open"], subtasks=["enter()", "greet()"])
    how.method("unlock", {}, task="visit()", requires=["not open"], subtasks=["open_gate()", "enter()", "greet()"])
    gate.world.domain = how
    made = ActionPlan.of(solve(how.problem(initial=["open"], tasks=["visit()"])))
    written = {"enter": {"badge": "B1"}, "greet": {"words": "hi"}}
    steps = tuple([each.model_copy(update={"parameters": written[each.action]}) for each in made.steps])
    outcome = gate.run(made.model_copy(update={"steps": steps}), None)
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert gate.deeds == ["enter B1", "open", "enter B1", "greet hi"]
    assert rungs(outcome) == [(Rung.PATCH, True)]
