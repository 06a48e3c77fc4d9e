"""What a run does about failures, doubts, waits, and a world that changes by itself; all in virtual time."""

import asyncio
import json

import pytest

from executor import (
    ActionPlan,
    ActionResult,
    ExecutionPolicy,
    Executor,
    Recovery,
    Rung,
    RunStatus,
    StepStatus,
    Wait,
    World,
)
from executor.events.answers import GIVE_UP, HAPPENED, NOTHING
from executor.events.events import RungTaken, StepEnded
from executor.testing import run_virtual
from planner import Domain, InputError

MODELS = ("sequential", "parallel", "dag", "reactive")


class House:
    """A robot among rooms; `truth` is where it really is, `deeds` what its handlers did."""

    def __init__(self, *, tags=(), settle=0.0, conclusive=True, observed=True):
        self.truth = {"r2": "hall"}
        self.deeds = []
        self.script = {}
        self.domain = Domain("house", types=["robot", "room"])
        self.domain.action(
            "move",
            {"robot": "robot", "origin": "room", "target": "room"},
            requires=["at(robot, origin)", "door(origin, target)"],
            provides=["at(robot, target)"],
            modifies=["at(robot, _)"],
            tags=tags,
        )
        self.world = World(self.domain)
        self.world.handler("move")(self.move)
        if observed:
            self.world.observer("at(robot, _)", conclusive=conclusive, settle_within=settle)(self.where)

    async def move(self, robot, origin, target):  # noqa: ARG002 - handlers take what the action has
        self.deeds.append(target)
        told = self.script.get(target)
        if callable(told):
            return await told()
        if isinstance(told, list) and told:
            answer = told.pop(0)
            if isinstance(answer, Exception):
                raise answer
            if answer is not None:
                return answer
        self.truth[robot] = target
        return None

    async def where(self, robot):
        return self.truth[robot]

    def problem(self, goal="at(r2, lab)"):
        doors = [("hall", "lab"), ("hall", "annex"), ("annex", "lab"), ("lab", "attic"), ("annex", "hall")]
        return self.domain.problem(
            objects={"r2": "robot", **dict.fromkeys(["hall", "lab", "annex", "attic"], "room")},
            initial=["at(r2, hall)", *[f"door({one}, {other})" for one, other in doors]],
            goal=[goal],
        )

    def run(self, goal="at(r2, lab)", **options):
        return run_virtual(Executor(self.world, **options).run(self.problem(goal)))


def rungs(outcome):
    return [each.rung for each in outcome.state.rungs]


@pytest.mark.parametrize("model", MODELS)
def test_a_step_that_fails_is_patched_around(model):
    house = House()
    house.script["lab"] = [False]
    outcome = house.run(model=model)
    assert outcome.status is RunStatus.SUCCEEDED
    assert house.deeds == ["lab", "annex", "lab"]
    assert rungs(outcome) == [Rung.PATCH]


def test_what_is_idempotent_is_tried_again_first():
    house = House(tags=["idempotent"])
    house.script["lab"] = [False, ConnectionError("gone")]
    outcome = house.run()
    assert outcome.status is RunStatus.SUCCEEDED
    assert house.deeds == ["lab", "lab", "lab"]
    assert rungs(outcome) == [Rung.RETRY, Rung.RETRY]


def test_pauses_between_attempts_double_and_end():
    house = House(tags=["idempotent"])
    house.world.policy("move", ExecutionPolicy(retries=4, backoff=1, longest=3, jitter=0))
    house.script["lab"] = [False] * 4
    outcome = house.run()
    assert [each.seconds for each in outcome.state.rungs] == [1, 2, 3, 3]


def test_only_the_errors_that_are_named_are_tried_again():
    house = House(tags=["idempotent"])
    house.world.policy("move", ExecutionPolicy(retry_on=(ConnectionError,)))
    house.script["lab"] = [ConnectionError("gone"), ValueError("wrong")]
    outcome = house.run()
    assert rungs(outcome) == [Rung.RETRY, Rung.PATCH]


def test_another_skill_takes_over():
    house = House(tags=["idempotent"])
    house.world.handler("move", name="crawl")(house.move)
    house.script["lab"] = [False]
    outcome = house.run()
    assert outcome.status is RunStatus.SUCCEEDED
    assert rungs(outcome) == [Rung.SKILL]


@pytest.mark.parametrize(("on_error", "status"), [("abort", RunStatus.FAILED), ("continue", RunStatus.FAILED)])
def test_a_policy_may_keep_a_failure_from_being_patched(on_error, status):
    house = House()
    house.world.policy("move", ExecutionPolicy(on_error=on_error))
    house.script["lab"] = [False]
    outcome = house.run()
    assert outcome.status is status
    assert house.deeds == ["lab"]
    assert outcome.reason


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("goal", "status"), [(["b"], "SUCCEEDED"), (["b", "c"], "FAILED"), ([], "FAILED")])
def test_a_run_goes_on_with_all_that_does_not_depend_on_a_step_that_may_fail(model, goal, status):
    """`c` requires what `a` provides, `d` names it, `e` names `d`; `b` and `f` go their own way."""
    domain, done = Domain("two-ways"), []
    for name in "abcdef":
        requires = ["a"] if name == "c" else []
        domain.action(f"do_{name}", {}, requires=requires, provides=[name])
    world = World(domain)
    for name in "abcdef":
        world.handler(f"do_{name}")(lambda name=name: name != "a" and not done.append(name))
        world.observer(name, conclusive=True)(lambda name=name: name in done)
    world.policy("do_a", ExecutionPolicy(on_error="continue"))
    named = {"d": ["a"], "e": ["d"]}
    steps = [{"id": name, "action": f"do_{name}", "depends_on": named.get(name, [])} for name in "abcdef"]
    plan = ActionPlan.model_validate({"model": model, "goal": goal, "steps": steps})
    outcome = run_virtual(Executor(world).run(plan))
    assert sorted(done) == ["b", "f"]
    assert outcome.status.name == status
    assert [each.id for each in outcome.steps if each.status is StepStatus.PENDING] == ["c", "d", "e"]
    assert outcome.succeeded or "do_a() " in outcome.reason.replace(":", " ")


@pytest.mark.parametrize("model", MODELS)
def test_a_run_whose_steps_undo_each_other_ends_and_says_so(model):
    domain, truth, calls = Domain("seesaw"), set(), []
    domain.action("left_up", {}, provides=["left"])
    domain.action("right_up", {}, provides=["right"])
    world = World(domain)
    for side, other in (("left", "right"), ("right", "left")):

        def lift(side=side, other=other):
            calls.append(side)
            truth.add(side)
            truth.discard(other)

        world.handler(f"{side}_up")(lift)
        world.observer(side, conclusive=True)(lambda side=side: side in truth)
    outcome = run_virtual(Executor(world, model=model).run(domain.problem(goal=["left", "right"])))
    assert outcome.status is RunStatus.FAILED
    assert len(calls) <= 10
    assert "in circles" in outcome.reason
    calls.clear()
    recovery = Recovery(most_patches=2)
    outcome = run_virtual(Executor(world, model=model, recovery=recovery).run(domain.problem(goal=["left", "right"])))
    assert len(calls) <= 5
    assert "2 patches" in outcome.reason


def test_somebody_who_undoes_a_step_twice_does_not_end_a_run():
    house, pushed = House(), []

    def push(event):
        if isinstance(event, StepEnded) and house.truth["r2"] == "lab" and len(pushed) < 2:
            pushed.append(event.step)
            house.truth["r2"] = "hall"

    async def move(robot, origin, target):
        return await house.move(robot, origin, target) if house.truth[robot] == origin else False

    house.world.handler("move")(move)
    outcome = house.run("at(r2, attic)", listeners=(push,))
    assert outcome.status is RunStatus.SUCCEEDED
    assert house.deeds == ["lab", "lab", "lab", "attic"]


def test_a_reactive_run_does_not_do_what_somebody_else_has_done_meanwhile():
    domain, ledger, checked = Domain("bill"), [], []
    domain.action("check_stock", {}, provides=["checked"])
    domain.action("pay", {}, provides=["paid"], tags=["irreversible"])
    world = World(domain)

    @world.handler("check_stock")
    async def check_stock():
        checked.append(True)
        ledger.append("paid by ada")

    world.handler("pay")(lambda: ledger.append("paid by us"))
    world.observer("checked")(lambda: bool(checked))
    world.observer("paid", conclusive=True)(lambda: bool(ledger))
    steps = [{"id": "1", "action": "check_stock"}, {"id": "2", "action": "pay"}]
    plan = ActionPlan.model_validate({"model": "reactive", "goal": ["checked", "paid"], "steps": steps})
    outcome = run_virtual(Executor(world).run(plan))
    assert outcome.status is RunStatus.SUCCEEDED
    assert ledger == ["paid by ada"]
    assert outcome.steps[1].status is StepStatus.SKIPPED


def hangs(house, *, after=None):
    async def told():
        if after:
            house.truth["r2"] = after
        await asyncio.sleep(1000)

    return told


def test_a_timeout_is_a_doubt_that_an_observer_settles():
    house = House(settle=2.0)
    house.world.policy("move", ExecutionPolicy(timeout=1.0))
    house.script["lab"] = hangs(house, after="lab")
    outcome = house.run()
    assert outcome.status is RunStatus.SUCCEEDED
    assert house.deeds == ["lab"]
    assert "but all its effects were seen" in outcome.steps[0].reason


def test_what_conclusively_did_not_happen_is_done_again_once_and_then_patched():
    house = House(settle=2.0)
    house.world.policy("move", ExecutionPolicy(timeout=1.0))
    house.script["lab"] = hangs(house)
    outcome = house.run()
    assert outcome.steps[0].status is StepStatus.FAILED
    assert house.deeds[:3] == ["lab", "lab", "annex"]


@pytest.mark.parametrize("answer", [HAPPENED, NOTHING])
def test_where_nobody_can_tell_somebody_is_asked(answer):
    house = House(observed=False)
    house.world.policy("move", ExecutionPolicy(timeout=1.0))
    house.script["lab"] = hangs(house)
    questions = []

    def ask(question):
        questions.append(question)
        return answer if question.question.startswith("doubt") else GIVE_UP

    outcome = house.run(ask=ask)
    assert questions[0].question == "doubt:s1"
    if answer == HAPPENED:
        assert (outcome.status, house.deeds) == (RunStatus.UNVERIFIED, ["lab"])
    else:
        assert house.deeds[:4] == ["lab", "lab", "lab", "annex"], "again while it did not happen, but not for ever"


@pytest.mark.parametrize("answer", ["yes", "It Happened", True])
def test_a_doubt_may_be_answered_in_other_words(answer):
    house = House(observed=False)
    house.world.policy("move", ExecutionPolicy(timeout=1.0))
    house.script["lab"] = hangs(house)
    assert house.run(ask=lambda _: answer).status is RunStatus.UNVERIFIED


@pytest.mark.parametrize("answer", ["perhaps", 7, ["it happened"]])
def test_what_is_no_answer_settles_nothing(answer, tmp_path):
    house = House(observed=False)
    house.world.policy("move", ExecutionPolicy(timeout=1.0))
    house.script["lab"] = hangs(house)
    outcome = house.run(ask=lambda _: answer, journal=tmp_path / "runs.db")
    assert outcome.status is RunStatus.IN_DOUBT
    with pytest.raises(InputError, match="is no answer to 'doubt:s1'; say one of: it happened, it did not happen"):
        run_virtual(
            Executor(house.world, journal=tmp_path / "runs.db").resume(outcome.run, answers={"doubt:s1": answer})
        )


def test_without_anybody_to_ask_the_run_ends_in_doubt_and_is_taken_up_later(tmp_path):
    house = House(observed=False)
    house.world.policy("move", ExecutionPolicy(timeout=1.0))
    house.script["lab"] = hangs(house)
    journal = tmp_path / "runs.db"
    outcome = house.run(journal=journal)
    assert outcome.status is RunStatus.IN_DOUBT
    assert list(outcome.state.questions) == ["doubt:s1"]
    again = run_virtual(Executor(house.world, journal=journal).resume(outcome.run, answers={"doubt:s1": HAPPENED}))
    assert (again.status, house.deeds) == (RunStatus.UNVERIFIED, ["lab"])


def test_a_payment_whose_ledger_shows_it_late_is_paid_once():
    domain = Domain("till")
    domain.action("pay", {}, provides=["paid"])
    world, paid = World(domain), []

    @world.handler("pay", policy=ExecutionPolicy(timeout=0.5, retries=3))
    async def pay():
        paid.append(asyncio.get_running_loop().time())
        await asyncio.sleep(60)

    @world.observer("paid", conclusive=True, settle_within=3.0)
    async def ledger() -> bool:
        return bool(paid) and asyncio.get_running_loop().time() >= paid[0] + 2

    outcome = run_virtual(Executor(world).run(domain.problem(goal=["paid"])))
    assert outcome.status is RunStatus.SUCCEEDED
    assert len(paid) == 1


@pytest.mark.parametrize("model", MODELS)
def test_a_change_from_outside_is_found_and_patched(model):
    house = House()

    async def pushed():
        house.truth["r2"] = "annex"

    house.script["lab"] = pushed
    house.script["attic"] = []
    problem_goal = "at(r2, attic)"

    async def once():
        house.script["lab"] = []
        house.truth["r2"] = "annex"

    house.script["lab"] = once
    outcome = house.run(problem_goal, model=model)
    assert outcome.status is RunStatus.SUCCEEDED
    assert house.deeds == ["lab", "lab", "attic"]


def test_reactive_runs_skip_what_has_become_true_by_itself():
    house = House()

    async def carried_on():
        house.truth["r2"] = "attic"

    house.script["lab"] = carried_on
    outcome = house.run("at(r2, attic)", model="reactive")
    assert outcome.status is RunStatus.SUCCEEDED
    assert house.deeds == ["lab"]


def test_a_step_may_wait_for_time():
    house = House()

    async def told():
        house.truth["r2"] = "lab"
        return Wait(seconds=3600)

    house.script["lab"] = told
    assert house.run().status is RunStatus.SUCCEEDED


@pytest.mark.parametrize(("conclusive", "status"), [(False, StepStatus.IN_DOUBT), (True, StepStatus.FAILED)])
def test_nobody_knows_what_came_of_a_step_at_its_deadline_unless_its_author_says_so(conclusive, status):
    house = House(conclusive=False)
    house.script["lab"] = [Wait("a person opens the door", deadline=60, conclusive=conclusive)]
    outcome = house.run(stay=True)
    assert outcome.steps[0].status is status
    assert outcome.steps[0].reason == "no answer came within 60 s"


def test_a_waiting_step_is_completed_from_outside_and_across_restarts(tmp_path):
    house = House()
    house.script["lab"] = [Wait("a person opens the door", choices=("open", "shut"))]
    journal = tmp_path / "runs.db"
    outcome = house.run(journal=journal)
    assert outcome.status is RunStatus.WAITING
    house.truth["r2"] = "lab"
    results = {"s1": ActionResult(text="open")}
    again = run_virtual(Executor(house.world, journal=journal).resume(outcome.run, results=results))
    assert again.status is RunStatus.SUCCEEDED
    assert again.steps[0].result["text"] == "open"


def test_a_waiting_step_is_completed_while_the_run_goes_on():
    house = House()
    house.script["lab"] = [Wait("a person opens the door")]
    executor = Executor(house.world, stay=True)

    async def both():
        run = executor.start(house.problem())
        await asyncio.sleep(5)
        house.truth["r2"] = "lab"
        executor.complete(run.id, "s1")
        return await run

    assert run_virtual(both()).status is RunStatus.SUCCEEDED


@pytest.mark.parametrize(("answer", "done"), [(True, ["lab"]), ("yes", ["lab"]), (False, []), ("not on Sundays", [])])
def test_what_needs_approval_waits_for_it(answer, done):
    house = House(tags=["needs_approval"])
    outcome = house.run("at(r2, lab)", approve=lambda _: answer)
    assert house.deeds == done
    assert (outcome.status is RunStatus.SUCCEEDED) is bool(done)


def test_an_approval_may_come_later(tmp_path):
    house = House(tags=["needs_approval"])
    journal = tmp_path / "runs.db"
    outcome = house.run(journal=journal)
    assert (outcome.status, house.deeds) == (RunStatus.WAITING, [])
    again = run_virtual(Executor(house.world, journal=journal).resume(outcome.run, answers={"approve:s1": "yes"}))
    assert (again.status, house.deeds) == (RunStatus.SUCCEEDED, ["lab"])


def test_a_handler_may_ask_for_another_plan():
    house = House()
    domain_calls = []

    async def asking():
        house.truth["r2"] = "lab"
        return ActionResult(next_actions=("move",))

    house.script["lab"] = asking
    outcome = house.run(listeners=(domain_calls.append,))
    assert outcome.status is RunStatus.SUCCEEDED
    assert house.deeds == ["lab"], "hints never run unasked"


def test_each_rung_is_noted_with_what_it_costs():
    house = House()
    house.script["lab"] = [False]
    events = []
    house.run(listeners=(events.append,))
    [rung] = [each for each in events if isinstance(each, RungTaken)]
    assert (rung.rung, rung.step, rung.cost) == (Rung.PATCH, "s1", 2)
    assert rung.seconds > 0


def test_low_confidence_leaves_a_step_unverified():
    house = House()

    async def unsure():
        house.truth["r2"] = "lab"
        return ActionResult(confidence=0.4)

    house.script["lab"] = unsure
    outcome = house.run()
    assert outcome.steps[0].status is StepStatus.UNVERIFIED


def test_the_journal_holds_json(tmp_path):
    house = House()
    executor = Executor(house.world, journal=tmp_path / "runs.db")
    outcome = run_virtual(executor.run(house.problem()))
    kinds = [each.kind for each in executor.journal.read(outcome.run)]
    assert kinds[0] == "RunStarted"
    assert kinds[-1] == "RunEnded"
    assert all(json.loads(each.data) for each in executor.journal.read(outcome.run))


def branches(*, broken):
    """Return a world in which `b` follows `a`, and `d` follows `c`, which is slow; `e` is another way to `b`."""
    domain = Domain("branches")
    for name, needs, gives in (("a", [], "a1"), ("b", ["a1"], "b1"), ("c", [], "c1"), ("d", ["c1"], "d1")):
        domain.action(f"do_{name}", {}, requires=needs, provides=[gives])
    domain.action("do_e", {}, provides=["b1"], cost=9)
    world, truth, ended = World(domain), set(), {}

    def doing(name, fact):
        async def handler():
            await asyncio.sleep({"c": 50, "d": 50}.get(name, 1))
            if name in broken:
                return False
            truth.add(fact)
            ended[name] = asyncio.get_running_loop().time()
            return True

        return handler

    for name, fact in (("a", "a1"), ("b", "b1"), ("c", "c1"), ("d", "d1"), ("e", "b1")):
        world.handler(f"do_{name}")(doing(name, fact))
    for fact in ("a1", "b1", "c1", "d1"):
        world.observer(fact, conclusive=True)(lambda fact=fact: fact in truth)
    return world, domain.problem(goal=["b1", "d1"]), ended


def test_a_patch_does_not_wait_for_what_goes_on():
    world, problem, ended = branches(broken={"a"})
    outcome = run_virtual(Executor(world, model="dag").run(problem))
    assert outcome.status is RunStatus.SUCCEEDED
    assert ended["e"] < ended["c"] < ended["d"]


def test_a_failed_step_blocks_exactly_its_dependents():
    world, problem, ended = branches(broken={"a", "e"})
    outcome = run_virtual(Executor(world, model="dag").run(problem))
    assert outcome.status is RunStatus.FAILED
    assert set(ended) == {"c", "d"}


def test_somebody_may_say_that_it_is_worth_another_try():
    house = House()
    house.script["lab"] = [False]
    house.script["annex"] = [False]
    asked = []
    outcome = house.run(ask=lambda question: asked.append(question.question) or "try again")
    assert outcome.status is RunStatus.SUCCEEDED
    assert asked == ["stuck:s2:1"]
    assert house.deeds == ["lab", "annex", "lab"]


@pytest.mark.parametrize(("most", "status"), [(1, RunStatus.SUCCEEDED), (0, RunStatus.FAILED)])
def test_retries_are_no_patches(most, status):
    house = House(tags=["idempotent"])
    house.script["lab"] = [False, False, False]
    outcome = house.run(recovery=Recovery(most_patches=most, rungs=(Rung.PATCH, Rung.REPLAN)))
    assert outcome.status is status
    assert rungs(outcome) == [Rung.RETRY, Rung.RETRY, Rung.PATCH][: 2 + most]


def test_what_may_have_been_done_in_part_is_not_retried_though_retries_are_stated():
    """Of two effects one is seen to be missing, and nobody looks at the other one; the handler says that it is done."""
    domain, calls = Domain("desk"), []
    domain.action("file", {}, provides=["filed", "counted"])
    world = World(domain)
    world.handler("file", policy=ExecutionPolicy(retries=2))(lambda: calls.append("file"))
    world.observer("filed", conclusive=True)(lambda: False)
    outcome = run_virtual(Executor(world).run(domain.problem(goal=["filed"])))
    assert outcome.status is RunStatus.FAILED
    assert calls == ["file"]
