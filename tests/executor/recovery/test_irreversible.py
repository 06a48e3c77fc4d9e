"""Irreversible steps: late, never twice, never part of an undo, and held back while somebody is asked."""

from __future__ import annotations

import asyncio
import itertools
import random

import pytest

from executor import (
    CANNOT_SAY,
    ActionPlan,
    ActionResult,
    Executor,
    NothingDone,
    Recovery,
    RunStatus,
    StepStatus,
    World,
)
from executor.events.events import Asked, Rung, StepStarted
from executor.loop.dispatch import defer_irreversible, linearise
from executor.testing import run_virtual
from executor.tools.step_policy import ExecutionPolicy, Rate
from planner import Domain

MODELS = ("sequential", "parallel", "dag", "reactive")


class Shop:
    """A world of actions without parameters; observers are conclusive and see what `truth` has."""

    def __init__(self, **actions):
        self.domain, self.truth, self.calls = Domain("shop"), set(), []
        for name, options in actions.items():
            self.domain.action(name, **options)
        self.world = World(self.domain)
        self.does = {}
        for name, options in actions.items():
            self.world.handler(name)(self._handler(name, options.get("provides", [])))

    def _handler(self, name, provides):
        async def handler(**_):
            self.calls.append(name)
            if name in self.does:
                done = self.does[name]()
                return await done if asyncio.iscoroutine(done) else done
            for fact in provides:
                (self.truth.discard if fact.startswith("not ") else self.truth.add)(fact.removeprefix("not "))
            return None

        return handler

    def watch(self, *facts, conclusive=True):
        for fact in facts:
            self.world.observer(fact, conclusive=conclusive, settle_within=0)(lambda fact=fact: fact in self.truth)
        return self

    def run(self, goal, run=None, **options):
        return run_virtual(Executor(self.world, **options).run(self.domain.problem(goal=goal), run=run))


def fails():
    return ActionResult.failed("no")


def raises():
    raise ConnectionError("down")


PAY = {"provides": ["paid"], "tags": ["irreversible"]}


@pytest.mark.parametrize("model", MODELS)
def test_an_undo_contains_no_irreversible_step(model):
    shop = Shop(
        open_ticket={"provides": ["open"]},
        pay={"requires": ["open"], **PAY},
        close={"requires": ["open", "paid"], "provides": ["not open", "closed"]},
        ship={"requires": ["open"], "provides": ["shipped"]},
    ).watch("open", "closed", "shipped", "paid")
    shop.does["ship"] = raises
    outcome = shop.run(["shipped"], model=model)
    assert "pay" not in shop.calls
    assert outcome.status is RunStatus.FAILED
    assert "open is not as before: no reversible steps restore it" in outcome.reason


@pytest.mark.parametrize("model", MODELS)
def test_reversible_steps_that_may_fail_come_first(model):
    shop = Shop(
        pay=PAY,
        check_fraud={"provides": ["checked"]},
        mail={"requires": ["paid", "checked"], "provides": ["mailed"]},
    ).watch("paid", "checked", "mailed")
    shop.does["check_fraud"] = raises
    outcome = shop.run(["mailed"], model=model)
    assert set(shop.calls) == {"check_fraud"}
    assert outcome.status is RunStatus.FAILED
    shop.calls.clear()
    del shop.does["check_fraud"]
    assert shop.run(["mailed"], model=model).succeeded
    assert shop.calls == ["check_fraud", "pay", "mail"]


@pytest.mark.parametrize("model", MODELS)
def test_plans_written_by_hand_are_reordered_too_and_dependencies_kept(model):
    shop = Shop(pay=PAY, first={"provides": ["a"]}, second={"provides": ["b"]}).watch("paid", "a", "b")
    steps = [
        {"id": "s1", "action": "pay", "arguments": {}},
        {"id": "s2", "action": "first", "arguments": {}, "depends_on": ["s1"]},
        {"id": "s3", "action": "second", "arguments": {}},
    ]
    plan = ActionPlan.model_validate({"steps": steps, "model": model, "goal": ["paid", "a", "b"]})
    assert run_virtual(Executor(shop.world).run(plan)).succeeded
    assert shop.calls == ["second", "pay", "first"]


def random_order(seed):
    draw = random.Random(seed)
    order = [f"s{number}" for number in range(draw.randrange(1, 9))]
    before = {later: {earlier for earlier in order[:at] if draw.random() < 0.25} for at, later in enumerate(order)}
    return order, before, {id_ for id_ in order if draw.random() < 0.4}


def ancestors(id_, before):
    found, stack = set(), [id_]
    while stack:
        fresh = set(before.get(stack.pop(), ())) - found
        found |= fresh
        stack += fresh
    return found


@pytest.mark.parametrize("seed", range(200))
def test_deferral_keeps_the_order_and_puts_nothing_irreversible_before_what_does_not_need_it(seed):
    order, before, irreversible = random_order(seed)
    deferred = defer_irreversible(order, before, irreversible)
    line = linearise(order, deferred)
    assert sorted(line) == sorted(order), "there is no cycle"
    assert all(before[id_] <= deferred[id_] for id_ in order)
    ranks = {id_: at for at, id_ in enumerate(line)}
    for id_ in line:
        if id_ in irreversible:
            later = [each for each in line if ranks[each] > ranks[id_] and each not in irreversible]
            for each in later:
                needed = ancestors(each, before) & irreversible
                assert any(ranks[other] >= ranks[id_] for other in needed), "it waits for this or a later one"


def disputing(shop):
    """Have two observers disagree about the payment, as long as it was made."""
    shop.world.observer("paid")(lambda: "paid" in shop.truth)
    shop.world.observer("paid")(lambda: False)
    return shop


@pytest.mark.parametrize("model", MODELS)
def test_nothing_irreversible_is_repeated_while_observers_disagree(model):
    shop = disputing(Shop(pay=PAY))
    outcome = shop.run(["paid"], model=model)
    assert outcome.status is RunStatus.IN_DOUBT
    assert shop.calls == ["pay"]
    assert "saw paid" in outcome.reason


@pytest.mark.parametrize(
    ("answer", "calls", "status"),
    [("it happened", 1, RunStatus.UNVERIFIED), ("it did not happen", 2, RunStatus.IN_DOUBT)],
)
def test_a_person_settles_what_observers_disagree_about(tmp_path, answer, calls, status):
    shop = disputing(Shop(pay=PAY))
    journal = tmp_path / "runs.db"
    assert shop.run(["paid"], run="r", journal=journal).status is RunStatus.IN_DOUBT
    again = Executor(shop.world, journal=journal, ask="later")
    outcome = run_virtual(again.resume("r"))
    assert outcome.status is RunStatus.IN_DOUBT
    (question,) = outcome.questions
    outcome = run_virtual(again.resume("r", answers={question.question: answer}))
    assert outcome.status is status
    assert shop.calls == ["pay"] * calls


def test_observers_that_disagree_later_bring_a_step_back_into_doubt():
    shop = Shop(pay=PAY, pack={"requires": ["paid"], "provides": ["packed"]}).watch("packed")
    shop.world.observer("paid")(lambda: "paid" in shop.truth)
    shop.world.observer("paid")(lambda: "paid" in shop.truth and "packed" not in shop.truth)
    outcome = shop.run(["paid", "packed"])
    assert outcome.status is RunStatus.IN_DOUBT
    assert shop.calls == ["pay", "pack"]


def test_observers_have_their_time_before_they_are_taken_to_disagree():
    shop, looks = Shop(pay=PAY), itertools.count()
    shop.world.observer("paid")(lambda: "paid" in shop.truth)
    shop.world.observer("paid", settle_within=60)(lambda: "paid" in shop.truth and next(looks) > 3)
    outcome = shop.run(["paid"])
    assert outcome.status is RunStatus.SUCCEEDED
    assert shop.calls == ["pay"]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("conclusive", [False, True])
@pytest.mark.parametrize("failure", [fails, raises, lambda: None])
def test_only_a_conclusive_look_permits_another_attempt(model, conclusive, failure):
    """The handler fails, raises, or says that it succeeded, and the observer sees nothing."""
    shop = Shop(pay=PAY, top_up={"provides": ["funds"]}).watch("paid", conclusive=conclusive)
    shop.does["pay"] = failure
    shop.world.policies["pay"] = ExecutionPolicy(retries=2, backoff=0, jitter=0)
    outcome = shop.run(["paid"], model=model)
    assert not outcome.succeeded
    assert (len(shop.calls) > 1) is conclusive


@pytest.mark.parametrize("model", MODELS)
def test_what_was_done_unseen_is_not_done_again_by_another_plan(model):
    """The replica never sees the payment; what packing needs breaks, and the plan is made anew."""
    shop = Shop(pay=PAY, pack={"requires": ["paid"], "provides": ["packed"]}).watch("packed")
    shop.does["pay"] = lambda: shop.truth.add("paid")
    shop.world.observer("paid")(lambda: False)
    outcome = shop.run(["packed"], model=model)
    assert shop.calls == ["pay"]
    assert outcome.status is RunStatus.IN_DOUBT
    assert "the handler reports success, but paid was not seen" in outcome.reason


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("failure", ["raises", "is not seen", "says that it failed"])
def test_no_other_irreversible_action_does_what_one_that_failed_may_have_done(model, failure):
    """The first way to pay may have paid; only where its handler says that it did not is another way taken."""
    shop = Shop(
        pay={"provides": ["paid"], "tags": ["irreversible"]},
        pay_by_card={"provides": ["paid"], "tags": ["irreversible"], "cost": 3},
    ).watch("paid", conclusive=False)
    shop.does["pay"] = {
        "raises": raises,
        "is not seen": lambda: True,
        "says that it failed": lambda: ActionResult.failed("no"),
    }[failure]
    outcome = shop.run(["paid"], model=model)
    if failure == "says that it failed":
        assert outcome.succeeded
        assert shop.calls == ["pay", "pay_by_card"]
    else:
        assert not outcome.succeeded
        assert shop.calls == ["pay"]


@pytest.mark.parametrize("model", MODELS)
def test_another_irreversible_action_is_taken_where_a_conclusive_look_saw_that_nothing_happened(model):
    shop = Shop(
        pay={"provides": ["paid"], "tags": ["irreversible"]},
        pay_by_card={"provides": ["paid"], "tags": ["irreversible"], "cost": 30},
    ).watch("paid")
    shop.does["pay"] = raises
    shop.world.policies["pay"] = ExecutionPolicy(retries=0)
    outcome = shop.run(["paid"], model=model)
    assert outcome.succeeded
    assert shop.calls[-1] == "pay_by_card"


@pytest.mark.parametrize("model", MODELS)
def test_observers_that_disagree_while_a_patch_is_made_bring_a_step_into_doubt(model):
    """`ship` fails; when the run looks around, the observers of the payment disagree: no other payment is made."""
    shop = Shop(
        pay=PAY,
        ship={"requires": ["paid"], "provides": ["shipped"]},
        pay_by_card={"provides": ["paid"], "tags": ["irreversible"], "cost": 30},
    ).watch("paid", "shipped")
    shop.does["ship"] = lambda: ActionResult.failed("no")
    shop.world.observer("paid", conclusive=True)(lambda: "paid" in shop.truth and "ship" not in shop.calls)
    outcome = shop.run(["shipped"], model=model)
    assert outcome.status is RunStatus.IN_DOUBT
    assert {"pay", "pay_by_card"} & set(shop.calls) == {"pay"}
    assert shop.calls.count("pay") == 1


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("seen", [True, False], ids=["seen before", "never seen"])
def test_an_effect_that_was_used_up_is_no_evidence_that_nothing_happened(model, seen):
    """The ticket that the credit was used for gets lost: another one would take another payment."""
    shop = Shop(
        pay={"provides": ["credit"], "tags": ["irreversible"]},
        use={"requires": ["credit"], "provides": ["ticket", "not credit"]},
        ride={"requires": ["ticket"], "provides": ["there", "not ticket"]},
    ).watch("ticket", "there")
    shop.does["ride"] = lambda: shop.truth.discard("ticket")

    @shop.world.observer("credit", conclusive=True, settle_within=0)
    def credit():
        return "credit" in shop.truth if seen or "use" in shop.calls else CANNOT_SAY

    outcome = shop.run(["there"], model=model)
    assert outcome.status is RunStatus.FAILED
    assert shop.calls.count("pay") == 1


def test_what_came_about_and_was_lost_is_not_done_again():
    shop = Shop(pay=PAY, pack={"requires": ["paid"], "provides": ["packed"]}).watch("paid", "packed")

    def lose():
        shop.truth.discard("paid")
        return ActionResult.failed("no")

    shop.does["pack"] = lose
    outcome = shop.run(["packed"])
    assert outcome.status is RunStatus.FAILED
    assert shop.calls.count("pay") == 1
    cause, _, consequence = outcome.reason.splitlines()[0].partition("; ")
    assert cause.startswith("pack(): no")
    assert consequence.endswith("pay() is irreversible and was carried out: it is not repeated")


@pytest.mark.parametrize("rungs", [Recovery().rungs, (Rung.PATCH, Rung.REPLAN), (Rung.COMPENSATE,)])
def test_the_reason_names_what_is_not_repeated_only_where_nothing_else_is_in_the_way(rungs):
    """`fetch` fails for good: a plan that pays again would not help."""
    shop = Shop(
        pay=PAY,
        book={"requires": ["paid"], "provides": ["booked"]},
        fetch={"requires": ["booked"], "provides": ["fetched"]},
    ).watch("paid", "booked", "fetched")
    shop.does["fetch"] = fails
    outcome = shop.run(["fetched"], recovery=Recovery(rungs=rungs))
    assert outcome.status is RunStatus.FAILED
    assert outcome.reason.startswith("fetch()")
    assert "it is not repeated" not in outcome.reason


@pytest.mark.parametrize("rungs", [Recovery().rungs, (Rung.PATCH, Rung.REPLAN)])
def test_the_reason_names_an_irreversible_action_that_is_not_repeated_after_its_handler_says_that_it_failed(rungs):
    """An observer that may be late does not see the payment, either."""
    shop = (
        Shop(book={"provides": ["booked"]}, pay={"requires": ["booked"], **PAY}, unbook={"provides": ["not booked"]})
        .watch("booked")
        .watch("paid", conclusive=False)
    )
    shop.does["pay"] = fails
    outcome = shop.run(["paid"], recovery=Recovery(rungs=rungs))
    cause, _, consequence = outcome.reason.splitlines()[0].partition("; ")
    assert cause == "pay(): no"
    assert consequence == "pay() is irreversible and has failed, as its handler says: it is not repeated"
    assert shop.calls.count("pay") == 1


def test_a_call_that_breaks_off_leaves_an_irreversible_action_in_doubt():
    """An observer that may be late does not see the payment: nothing is undone, and a person is asked."""
    shop = Shop(book={"provides": ["booked"]}, pay={"requires": ["booked"], **PAY}, unbook={"provides": ["not booked"]})
    shop.watch("booked").watch("paid", conclusive=False)
    shop.does["pay"] = raises
    outcome = shop.run(["paid"])
    assert outcome.status is RunStatus.IN_DOUBT
    assert outcome.reason == "pay(): ConnectionError: down"
    assert [each.question for each in outcome.questions] == ["doubt:s2"]
    assert shop.calls == ["book", "pay"]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("retries", [0, 2])
def test_a_handler_that_has_done_nothing_is_called_again(model, retries):
    """It says so by `NothingDone`: its policy, or a person, lets it try again though nobody can look."""
    shop = Shop(pay=PAY).watch("paid", conclusive=False)

    def pay():
        if shop.calls.count("pay") == 1:
            raise NothingDone("the line is busy")
        shop.truth.add("paid")

    shop.does["pay"] = pay
    shop.world.policies["pay"] = ExecutionPolicy(retries=retries, backoff=0, jitter=0)
    outcome = shop.run(["paid"], model=model, ask=lambda _: "try again")
    assert outcome.status is RunStatus.SUCCEEDED
    assert shop.calls == ["pay", "pay"]


def test_a_plan_may_take_an_irreversible_step_twice_on_purpose():
    shop = Shop(
        launch={"provides": ["up"], "tags": ["irreversible"]},
        land={"requires": ["up"], "provides": ["not up", "landed"]},
        rest={"requires": ["landed"], "provides": ["rested"]},
    ).watch("up", "landed", "rested")
    actions = ("launch", "land", "rest", "launch")
    steps = [{"id": f"s{at}", "action": name, "arguments": {}} for at, name in enumerate(actions)]
    plan = ActionPlan.model_validate({"steps": steps, "goal": ["up", "rested"]})
    assert run_virtual(Executor(shop.world).run(plan)).succeeded
    assert shop.calls == ["launch", "land", "rest", "launch"]


def test_a_killed_run_remembers_what_must_not_be_repeated(tmp_path):
    shop = Shop(pay=PAY, pack={"requires": ["paid"], "provides": ["packed"]})
    shop.world.observer("packed", conclusive=True, settle_within=0)(lambda: "packed" in shop.truth)
    shop.does["pack"] = fails
    executor = Executor(shop.world, journal=tmp_path / "runs.db", ask="later")
    outcome = run_virtual(executor.run(shop.domain.problem(goal=["packed"]), run="r"))
    assert outcome.status is RunStatus.WAITING
    (question,) = outcome.questions
    again = Executor(shop.world, journal=tmp_path / "runs.db", ask="later")
    del shop.does["pack"]
    outcome = run_virtual(again.resume("r", answers={question.question: "try again"}))
    assert outcome.succeeded
    assert shop.calls.count("pay") == 1
    assert again.state_of("r").irreversible.list_barred() != set()


@pytest.mark.parametrize("model", MODELS)
def test_an_open_question_holds_irreversible_steps_for_the_same_goal_back(model):
    shop = Shop(
        send={"provides": ["sent"], "tags": ["needs_approval"]},
        pay=PAY,
        note={"provides": ["noted"]},
        close={"requires": ["sent", "paid", "noted"], "provides": ["closed"]},
    ).watch("sent", "paid", "noted", "closed")
    executor = Executor(shop.world, model=model, ask="later")
    outcome = run_virtual(executor.run(shop.domain.problem(goal=["closed"]), run="r"))
    assert outcome.status is RunStatus.WAITING
    assert "pay" not in shop.calls
    outcome = run_virtual(executor.resume("r", answers={"approve:" + outcome.questions[0].step: "yes"}))
    assert outcome.succeeded
    assert shop.calls[-2:] == ["pay", "close"]


def test_approved_steps_wait_for_the_other_answers_about_the_same_goal():
    pay, close = {"tags": ["irreversible", "needs_approval"]}, {"requires": ["one", "two"], "provides": ["closed"]}
    shop = Shop(pay_one={"provides": ["one"], **pay}, pay_two={"provides": ["two"], **pay}, close=close)
    shop.watch("one", "two", "closed")
    executor = Executor(shop.world, model="dag", ask="later")
    outcome = run_virtual(executor.run(shop.domain.problem(goal=["closed"]), run="r"))
    first, second = [each.question for each in outcome.questions]
    outcome = run_virtual(executor.resume("r", answers={first: "yes"}))
    assert (outcome.status, shop.calls) == (RunStatus.WAITING, [])
    outcome = run_virtual(executor.resume("r", answers={second: "yes"}))
    assert outcome.succeeded
    assert sorted(shop.calls) == ["close", "pay_one", "pay_two"]


def stuck():
    shop = Shop(
        book={"provides": ["booked"]},
        cancel={"requires": ["booked"], "provides": ["not booked"]},
        fly={"requires": ["booked"], "provides": ["gone"]},
    ).watch("booked", "gone")
    shop.does["fly"] = fails
    return shop


@pytest.mark.parametrize("ask", ["later", lambda _: None])
def test_nothing_is_undone_while_a_question_is_open(ask):
    shop = stuck()
    executor = Executor(shop.world, ask=ask)
    outcome = run_virtual(executor.run(shop.domain.problem(goal=["gone"]), run="r"))
    assert outcome.status is RunStatus.WAITING
    assert "cancel" not in shop.calls
    (question,) = outcome.questions
    outcome = run_virtual(executor.resume("r", answers={question.question: "give up"}))
    assert outcome.status is RunStatus.COMPENSATED
    assert shop.calls[-1] == "cancel"


def test_approvals_say_what_a_step_is_for():
    asked, seen = {}, []
    shop = Shop(
        book={"provides": ["booked"], "tags": ["needs_approval"]},
        cancel={"requires": ["booked"], "provides": ["not booked"], "tags": ["needs_approval"]},
        fly={"requires": ["booked"], "provides": ["gone"]},
        swim={"requires": ["booked"], "provides": ["gone"], "tags": ["needs_approval"], "cost": 9},
    ).watch("booked", "gone")
    shop.does["fly"] = shop.does["swim"] = fails

    def approve(request):
        asked[request.action] = (request.purpose, request.undoes)
        return True

    outcome = shop.run(["gone"], approve=approve, listeners=(seen.append,))
    assert outcome.status is RunStatus.COMPENSATED
    assert asked == {"book": ("plan", ()), "swim": ("patch", ()), "cancel": ("undo", ("s1",))}
    texts = {each.purpose: each.text for each in seen if isinstance(each, Asked)}
    assert texts == {
        "plan": "May book() be done?",
        "patch": "May swim() be done (patch after s2)?",
        "undo": "May cancel() be done to undo book()?",
    }


@pytest.mark.parametrize("model", MODELS)
def test_a_person_may_be_asked_and_then_something_irreversible_is_done(model):
    shop = Shop(
        ask_customer={"senses": ["agreed"], "tags": ["read_only"]},
        pay={"requires": ["agreed"], **PAY},
    ).watch("paid")
    shop.does["ask_customer"] = lambda: ActionResult(observed=["agreed"])
    problem = shop.domain.problem(goal=["paid"], unknown=["agreed"])
    outcome = run_virtual(Executor(shop.world, model=model).run(problem))
    assert outcome.succeeded, outcome.reason
    assert shop.calls == ["ask_customer", "pay"]


def test_an_unsure_answer_is_not_enough_for_something_irreversible():
    shop = Shop(
        ask_customer={"senses": ["agreed"], "tags": ["read_only"]},
        pay={"requires": ["agreed"], **PAY},
    ).watch("paid")
    shop.does["ask_customer"] = lambda: ActionResult(observed=["agreed"], confidence=0.5)
    outcome = run_virtual(Executor(shop.world).run(shop.domain.problem(goal=["paid"], unknown=["agreed"])))
    assert not outcome.succeeded
    assert "pay" not in shop.calls


def test_steps_begin_in_the_deferred_order_and_the_journal_has_it(tmp_path):
    shop = Shop(pay=PAY, check={"provides": ["checked"]}).watch("paid", "checked")
    seen = []
    outcome = shop.run(["paid", "checked"], listeners=(seen.append,), journal=tmp_path / "runs.db")
    begun = [outcome.state.steps[each.step].step.action for each in seen if isinstance(each, StepStarted)]
    assert begun == ["check", "pay"]
    assert {each.status for each in outcome.steps} == {StepStatus.SUCCEEDED}


def test_whoever_forbids_undoing_has_nothing_undone():
    shop = stuck()
    outcome = shop.run(["gone"], recovery=Recovery(rungs=(Rung.PATCH,)))
    assert outcome.status is RunStatus.FAILED
    assert "cancel" not in shop.calls


@pytest.mark.parametrize("model", ["parallel", "dag"])
@pytest.mark.parametrize("works", [True, False], ids=["works", "fails"])
def test_another_attempt_waits_for_reversible_steps_that_a_patch_has_brought(model, works):
    """While `pay` pauses between two attempts, `send` fails, and a patch has to `prepare` first, which may fail."""
    domain, calls, facts = Domain("desk"), [], {"ready"}
    domain.action("prepare", provides=["ready"])
    domain.action("send", requires=["ready"], provides=["sent"], tags=["irreversible"])
    domain.action("pay", provides=["paid"], tags=["irreversible"])
    world = World(domain)
    for fact in ("ready", "sent", "paid"):
        world.observer(fact, conclusive=True, settle_within=0)(lambda fact=fact: fact in facts)

    @world.handler("pay", policy=ExecutionPolicy(retries=2, backoff=5, jitter=0))
    async def pay():
        calls.append("pay")
        if calls.count("pay") == 1:
            raise OSError("no line")
        facts.add("paid")

    @world.handler("send", policy=ExecutionPolicy(retries=0))
    async def send():
        calls.append("send")
        await asyncio.sleep(1)
        if calls.count("send") == 1:
            facts.discard("ready")
            return False
        facts.add("sent")
        return True

    @world.handler("prepare", policy=ExecutionPolicy(retries=0))
    async def prepare():
        calls.append("prepare")
        await asyncio.sleep(20)
        if works:
            facts.add("ready")
        return works

    outcome = run_virtual(Executor(world, model=model).run(domain.problem(initial=["ready"], goal=["sent", "paid"])))
    assert sorted(calls[:2]) == ["pay", "send"]
    assert calls[2] == "prepare"
    if works:
        assert outcome.status is RunStatus.SUCCEEDED
        assert sorted(calls[3:]) == ["pay", "send"]
        assert {each.step.action: each.attempts for each in outcome.steps if each.step.action == "pay"} == {"pay": 2}
    else:
        assert outcome.status is not RunStatus.SUCCEEDED
        assert calls[3:] == []


def slow_to_begin(how, world):
    """Have it take 5 seconds until `pay` may begin; return options of the executor that see to it."""

    async def slow(*request):
        if not request or request[0].action == "pay":
            await asyncio.sleep(5)
        return True

    if how == "check":
        world.check("pay")(slow)
        return {}
    return {how: slow}


@pytest.mark.parametrize("model", ["parallel", "dag"])
@pytest.mark.parametrize("how", ["permit", "approve", "check"])
@pytest.mark.parametrize("tags", [["irreversible"], []], ids=["irreversible", "reversible"])
def test_a_step_is_not_begun_that_a_patch_has_left_out_meanwhile(model, how, tags):
    shop = Shop(
        ask={"provides": ["asked"], "tags": tags},
        pay={"provides": ["paid"], "tags": [*tags, *(["needs_approval"] if how == "approve" else [])]},
        finish={"requires": ["asked", "paid"], "provides": ["done"]},
        other={"provides": ["done"], "cost": 50},
    ).watch("asked", "paid", "done", conclusive=False)
    shop.does["ask"] = fails
    outcome = shop.run(["done"], model=model, **slow_to_begin(how, shop.world))
    assert outcome.succeeded
    assert shop.calls == ["ask", "other"]
    assert {each.step.action: each.status for each in outcome.steps}["pay"] is StepStatus.SKIPPED
    assert not outcome.questions


@pytest.mark.parametrize("model", ["parallel", "dag"])
@pytest.mark.parametrize("how", ["permit", "check"])
def test_a_step_that_is_about_to_begin_waits_for_what_a_patch_has_brought(model, how):
    """While it takes its time until the payment may begin, the other step fails, and a patch brings `prepare`."""
    shop = Shop(
        send={"requires": ["ready"], "provides": ["sent"], "tags": ["irreversible"]},
        pay=PAY,
        prepare={"provides": ["ready"]},
    ).watch("sent", "paid", "ready")
    shop.truth.add("ready")

    def send():
        if shop.calls.count("send") == 1:
            shop.truth.discard("ready")
            raise ConnectionError
        shop.truth.add("sent")

    shop.does["send"] = send
    shop.world.policies["send"] = ExecutionPolicy(retries=0)
    executor = Executor(shop.world, model=model, **slow_to_begin(how, shop.world))
    outcome = run_virtual(executor.run(shop.domain.problem(initial=["ready"], goal=["sent", "paid"])))
    assert outcome.succeeded
    assert shop.calls[:2] == ["send", "prepare"]
    assert sorted(shop.calls[2:]) == ["pay", "send"]


@pytest.mark.parametrize("model", ["parallel", "dag"])
@pytest.mark.parametrize("how", ["permit", "check"])
def test_a_step_that_is_about_to_begin_is_held_back_by_a_failure(model, how):
    shop = Shop(
        send={"provides": ["sent"], "tags": ["irreversible"]},
        pay=PAY,
    ).watch("sent", "paid", conclusive=False)
    shop.does["send"] = fails
    outcome = shop.run(["sent", "paid"], model=model, **slow_to_begin(how, shop.world))
    assert outcome.status is RunStatus.FAILED
    assert shop.calls == ["send"]


@pytest.mark.parametrize("model", ["parallel", "dag"])
@pytest.mark.parametrize("how", ["permit", "approve", "check"])
def test_a_step_that_was_about_to_begin_when_another_was_put_back_is_done_once(model, how):
    """The first attempt at `send` fails while it takes its time until `pay` may begin."""
    shop = Shop(
        pay={"provides": ["paid"], "tags": ["irreversible", *(["needs_approval"] if how == "approve" else [])]},
        send={"provides": ["sent"], "tags": ["irreversible"]},
        tidy={"requires": ["paid"], "provides": ["tidied"]},
    ).watch("paid", "sent", "tidied")

    async def send():
        await asyncio.sleep(1)
        if shop.calls.count("send") == 1:
            raise ConnectionError
        await asyncio.sleep(2)
        shop.truth.add("sent")

    shop.does["send"] = send
    shop.world.policies["send"] = ExecutionPolicy(retries=1, backoff=0, jitter=0)
    steps = [
        {"id": "s2", "action": "send"},
        {"id": "s1", "action": "pay"},
        {"id": "s3", "action": "tidy", "depends_on": ["s1", "s2"]},
    ]
    plan = ActionPlan.model_validate({"steps": steps, "goal": ["paid", "sent", "tidied"], "model": model})
    outcome = run_virtual(Executor(shop.world, model=model, **slow_to_begin(how, shop.world)).run(plan))
    assert outcome.succeeded
    assert sorted(shop.calls) == ["pay", "send", "send", "tidy"]


@pytest.mark.parametrize("model", MODELS)
def test_a_patch_leaves_out_a_step_that_waits_to_be_allowed(model, tmp_path):
    shop = Shop(
        ask={"provides": ["asked"], "tags": ["irreversible"]},
        pay={"provides": ["paid"], "tags": ["irreversible", "needs_approval"]},
        finish={"requires": ["asked", "paid"], "provides": ["done"]},
        other={"provides": ["done"], "cost": 50},
    ).watch("asked", "paid", "done", conclusive=False)
    shop.does["ask"] = fails
    outcome = shop.run(["done"], run="r", model=model, journal=tmp_path / "runs.db")
    assert outcome.succeeded
    assert shop.calls == ["ask", "other"]
    assert not outcome.questions
    assert Executor(shop.world, journal=tmp_path / "runs.db").state_of("r").status is RunStatus.SUCCEEDED


@pytest.mark.parametrize("model", ["parallel", "dag"])
def test_a_step_that_waits_to_be_allowed_stays_in_a_patch_that_needs_it(model, tmp_path):
    shop = Shop(
        ask={"provides": ["asked"], "tags": ["irreversible"]},
        pay={"provides": ["paid"], "tags": ["irreversible", "needs_approval"]},
        beg={"provides": ["asked"], "cost": 50},
        finish={"requires": ["asked", "paid"], "provides": ["done"]},
    ).watch("asked", "paid", "done", conclusive=False)
    shop.does["ask"] = fails
    outcome = shop.run(["done"], run="r", model=model, journal=tmp_path / "runs.db")
    assert outcome.status is RunStatus.WAITING
    assert shop.calls == ["ask", "beg"]
    (question,) = outcome.questions
    outcome = run_virtual(
        Executor(shop.world, journal=tmp_path / "runs.db").resume("r", answers={question.question: "yes"})
    )
    assert outcome.succeeded
    assert shop.calls == ["ask", "beg", "pay", "finish"]


def waits_for_its_turn(how, shop):
    """Have `pay` wait 5 seconds for its lock, its rate, its flight or a hook; return the executor."""
    policy = ExecutionPolicy(rate=Rate(1, 5)) if how == "rate" else ExecutionPolicy(lock=() if how == "lock" else False)
    shop.world.policies["pay"] = policy

    if how == "hook":

        async def slow(call, proceed):
            if call.action.name == "pay":
                await asyncio.sleep(5)
            return await proceed()

        shop.world.around(slow)
    return Executor(shop.world, model="dag")


async def another_run_pays(executor, shop, how):
    """Have another run take the lock or the flight, for 5 seconds, or the rate; a lock is that of all payments."""

    async def pay():
        await asyncio.sleep(5)

    shop.does["pay"] = pay
    memory = {"amount": 1 if how == "flight" else 2}
    problem = shop.domain.problem(goal=["paid"])
    other = asyncio.ensure_future(executor.run(problem, memory=memory, occasion="before"))
    await asyncio.sleep(0.1)
    del shop.does["pay"]
    shop.calls.clear()
    return other


@pytest.mark.parametrize("how", ["lock", "rate", "flight", "hook"])
@pytest.mark.parametrize("event", ["failure", "question", "patch", "cancel", "interrupt"])
def test_a_step_that_waits_for_its_turn_has_not_begun(how, event):
    """What comes up while `pay` waits for its turn holds it back."""
    shop = Shop(
        send={"provides": ["sent"], "tags": ["irreversible"]},
        pay={"parameters": {"amount": int}, **PAY},
        other={"provides": ["sent"], "cost": 50},
        close={"requires": ["sent", "paid"], "provides": ["closed"]},
    ).watch("sent")
    shop.world.observer("paid")(lambda: CANNOT_SAY)
    executor = waits_for_its_turn(how, shop)
    answers = []

    async def send():
        await asyncio.sleep(1)
        if event == "question":
            answers.append(list(shop.calls))
            await asyncio.sleep(8)
        if event in {"failure", "patch"}:
            return ActionResult.failed("no line")
        shop.truth.add("sent")
        return None

    shop.does["send"] = send
    if event == "failure":
        shop.world.policies["other"] = ExecutionPolicy(retries=0)
        shop.does["other"] = raises

    async def main():
        await another_run_pays(executor, shop, how) if how != "hook" else None
        problem = shop.domain.problem(goal=["closed"])
        run = executor.start(problem, memory={"amount": 1}, occasion="now")
        await asyncio.sleep(2)
        assert shop.calls[:1] == ["send"]
        assert "pay" not in shop.calls
        record = next(each for each in run.state.steps.values() if each.step.action == "pay")
        if how != "hook":
            assert record.status is StepStatus.PENDING, "it has not begun"
        if event == "question":
            run.emit(Asked("limit:test", "", "May it go on?", ("yes", "no")))
        elif event == "cancel":
            run.cancel()
        elif event == "interrupt":
            run.interrupt()
        if event == "question":
            await asyncio.sleep(6)
            assert "pay" not in shop.calls
            run.answer("limit:test", "yes")
        outcome = await run
        return outcome, record

    outcome, record = run_virtual(main())
    if event in {"failure", "cancel", "interrupt"}:
        assert "pay" not in shop.calls
        assert record.status is StepStatus.PENDING
    else:
        assert shop.calls.count("pay") == 1
        assert outcome.state.steps[record.id].status is StepStatus.UNVERIFIED
    if event == "patch":
        assert shop.calls.index("other") < shop.calls.index("pay")


def test_the_reason_begins_with_the_cause_where_something_else_changes_meanwhile():
    till = Domain("till")
    till.action("pay", {}, provides=["paid"], tags=["irreversible"])
    till.action("prepare", {}, provides=["prepared"])
    till.action("seal", {}, requires=["prepared", "paid"], provides=["sealed"])
    world, paid = World(till), []

    @world.handler("prepare")
    def prepare():
        paid.append("by hand")
        return ActionResult.failed("the form is not there")

    world.handler("pay")(lambda: paid.append("by the run"))
    world.handler("seal")(lambda: None)
    world.observer("paid", conclusive=True, settle_within=0)(lambda: bool(paid))
    outcome = asyncio.run(Executor(world).run(till.problem(goal=["sealed"])))
    assert (outcome.status, paid) == (RunStatus.FAILED, ["by hand"])
    assert outcome.reason.startswith("prepare(): the form is not there")
