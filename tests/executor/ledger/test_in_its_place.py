"""What a run has paid for is not paid in another way by a patch, a policy or a repair, unless somebody says so.

An order is booked after a payment, or in another way after a transfer. The payment is done, the booking fails, and
the other way is all that is left.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest

from executor import ActionPlan, Executor, Journal, NothingDone, Recovery, RunStatus, World
from executor.adapters.planned_calls import PlannedCalls
from executor.testing import run_virtual
from htn.language.declare import Methods
from planner import Domain, Outcome, decide

MODELS = ("sequential", "parallel", "dag", "reactive", "timed")
ORDER = {"objects": {"o7": "order"}, "goal": ["booked(o7)"]}


class Till:
    """A till at which an order is paid, and booked; `paid` has the payments, and `broken` the actions that fail."""

    def __init__(
        self,
        *,
        timed: bool = False,
        seen: bool = True,
        broken: tuple[str, ...] = ("book",),
        approved: tuple[str, ...] = (),
    ) -> None:
        self.domain, self.paid, self.broken = Domain("till", types=["order"]), [], {*broken}
        slow = {"duration": 9} if timed else {"cost": 9}
        time = {"duration": 1} if timed else {}
        order = {"o": "order"}
        tags = {each: ["irreversible", *(["needs_approval"] if each in approved else [])] for each in ("pay", "wire")}
        self.domain.action("pay", order, provides=["paid(o)"], tags=tags["pay"], **time)
        self.declare_booking(time)
        self.domain.action("wire", order, provides=["wired(o)"], tags=tags["wire"], **slow)
        self.domain.action("bookw", order, requires=["wired(o)"], provides=["booked(o)"], **time)
        self.objective = {"objective": "makespan"} if timed else {}
        self.bind(self.domain, seen=seen)

    def declare_booking(self, time: dict[str, Any]) -> None:
        """Declare how an order is booked after it was paid, and other actions."""
        self.domain.action("book", {"o": "order"}, requires=["paid(o)"], provides=["booked(o)"], **time)

    def bind(self, declared: Any, *, seen: bool) -> None:
        self.world = World(declared)
        self.booked = list[str]()
        for name in self.domain.model.actions:
            self.world.handler(name)(self.make_handler(name))
        self.world.observer("booked(_)", conclusive=True, settle_within=0)(lambda: list(self.booked))
        for name, fact in (("pay", "paid"), ("wire", "wired")) if seen else ():
            observe = self.world.observer(f"{fact}(_)", conclusive=True, settle_within=0)
            observe(lambda name=name: ["o7"] if name in self.paid else [])

    def make_handler(self, name: str) -> Any:
        return lambda **given: self.act(name, **given)

    def act(self, name: str, **_: Any) -> None:
        if name in self.broken:
            raise NothingDone(f"{name} does not work")
        if name in {"pay", "wire"}:
            self.paid.append(name)
        elif name.startswith("book"):
            self.booked.append("o7")

    @property
    def problem(self) -> Any:
        return self.domain.problem(**ORDER, **self.objective)


def open_executor(till, tmp_path, *, has_journal=True, **options):
    return Executor(till.world, journal=Journal(tmp_path / "runs.db") if has_journal else None, **options)


def check_asked(outcome, till, what="booked(o7)"):
    assert outcome.status is RunStatus.WAITING, outcome.reason
    assert till.paid == ["pay"]
    [question] = outcome.questions
    assert f"This run has done pay(o7) for {what} at " in question.text
    assert "wire(o7) would be done in its place" in question.text
    return question.question


@pytest.mark.parametrize("has_journal", [True, False])
@pytest.mark.parametrize("model", MODELS)
def test_a_patch_that_pays_in_another_way_is_asked(model, has_journal, tmp_path):
    till = Till(timed=model == "timed")
    options = {} if model == "timed" else {"model": model}
    outcome = run_virtual(open_executor(till, tmp_path, has_journal=has_journal, **options).run(till.problem))
    check_asked(outcome, till)


@pytest.mark.parametrize("answer", ["yes", "no", "it is so already"])
def test_the_answer_counts(answer, tmp_path):
    till = Till()
    executor = open_executor(till, tmp_path)
    question = check_asked(run_virtual(executor.run(till.problem, run="a")), till)
    outcome = run_virtual(executor.resume("a", answers={question: answer}))
    if answer == "yes":
        assert outcome.status is RunStatus.SUCCEEDED
    assert (till.paid, till.booked) == ((["pay", "wire"], ["o7"]) if answer == "yes" else (["pay"], []))


@pytest.mark.parametrize(("answer", "paid"), [("yes", ["pay", "wire"]), ("no", ["pay"])])
@pytest.mark.parametrize("seen", [True, False])
def test_an_approval_that_shows_what_is_replaced_is_one_question(answer, paid, seen, tmp_path):
    till = Till(approved=("wire",), seen=seen)
    executor = open_executor(till, tmp_path)
    outcome = run_virtual(executor.run(till.problem, run="a"))
    [question] = outcome.questions
    assert question.question.startswith("approve:")
    assert "wire(o7) would be done in its place" in " ".join(question.known)
    assert till.paid == ["pay"]
    outcome = run_virtual(executor.resume("a", answers={question.question: answer}))
    assert (till.paid, outcome.status.is_over, list(outcome.questions)) == (paid, True, [])


@pytest.mark.parametrize(("said", "is_asked"), [(True, True), ("yes", True), ("again", False)])
def test_a_function_that_approves_has_to_say_that_it_knows_what_is_replaced(said, is_asked, tmp_path):
    till = Till(approved=("wire",))
    outcome = run_virtual(open_executor(till, tmp_path, approve=lambda _: said).run(till.problem))
    if is_asked:
        check_asked(outcome, till)
    else:
        assert (outcome.status, till.paid) == (RunStatus.SUCCEEDED, ["pay", "wire"])


def test_what_was_paid_by_report_alone_is_asked_about_too(tmp_path):
    till = Till(seen=False)
    check_asked(run_virtual(open_executor(till, tmp_path).run(till.problem)), till)


def test_a_request_for_both_payments_is_asked_nothing(tmp_path):
    till = Till(broken=())
    steps = [
        {"id": f"s{at}", "action": each, "arguments": {"o": "o7"}} for at, each in enumerate(["pay", "wire", "bookw"])
    ]
    plan = ActionPlan.model_validate({"objects": {"o7": "order"}, "goal": ["booked(o7)"], "steps": steps})
    outcome = run_virtual(open_executor(till, tmp_path).run(plan))
    assert (outcome.status, till.paid) == (RunStatus.SUCCEEDED, ["pay", "wire"])


def test_a_patch_of_another_run_is_asked_too(tmp_path):
    till = Till()
    helpless = open_executor(till, tmp_path, recovery=Recovery(rungs=()))
    assert run_virtual(helpless.run(till.problem, run="a")).status is RunStatus.FAILED
    outcome = run_virtual(open_executor(till, tmp_path).run(till.problem, run="b"))
    assert (outcome.status, till.paid) == (RunStatus.WAITING, ["pay"])
    assert "Run 'a' has done pay(o7) for booked(o7) at " in outcome.questions[0].text


class SlowTill(Till):
    """A till that pays at once, and says so much later."""

    def make_handler(self, name: str) -> Any:
        return self.pay if name == "pay" else super().make_handler(name)

    async def pay(self, **_: Any) -> None:
        self.paid.append("pay")
        await asyncio.sleep(1000)


def test_what_a_cancelled_run_is_seen_to_have_paid_is_asked_about_by_a_patch_of_another(tmp_path):
    till = SlowTill()

    async def main():
        executor = open_executor(till, tmp_path)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(5):
                await executor.run(till.problem, run="a")
        return await executor.run(till.problem, run="b")

    outcome = run_virtual(main())
    assert (outcome.status, till.paid) == (RunStatus.WAITING, ["pay"])
    assert "Run 'a' has done pay(o7) for booked(o7) at " in outcome.questions[0].text


class DeskOfTwo(Till):
    """An order is booked after a deposit, which is exchanged for a voucher, and the payment of the balance."""

    def declare_booking(self, time: dict[str, Any]) -> None:
        super().declare_booking(time)
        order = {"o": "order"}
        self.domain.action("deposit", order, provides=["deposited(o)"], tags=["irreversible"])
        self.domain.action("exchange", order, requires=["deposited(o)"], provides=["voucher(o)", "not deposited(o)"])
        self.domain.action("settle", order, provides=["settled(o)"], tags=["irreversible"], cost=2)
        self.domain.action("fill", order, provides=["filled(o)"])
        self.domain.action("ask", order, provides=["filled(o)"], cost=2)
        needs = ["voucher(o)", "settled(o)", "filled(o)"]
        self.domain.action("close", order, requires=needs, provides=["closed(o)"])
        self.domain.action("settle_late", order, provides=["settled(o)"], tags=["irreversible"], cost=3)

    def act(self, name: str, **given: Any) -> None:
        super().act(name, **given)
        if name in {"deposit", "settle", "settle_late"}:
            self.paid.append(name)


@pytest.mark.parametrize("broken", ["fill", "settle"])
def test_what_is_left_and_builds_on_the_payment_is_asked_nothing(broken, tmp_path):
    """A patch gets the balance, or the form, in another way; the voucher that the deposit has bought is used."""
    till = DeskOfTwo(broken=(broken,))
    outcome = run_virtual(
        open_executor(till, tmp_path).run(till.domain.problem(objects={"o7": "order"}, goal=["closed(o7)"]))
    )
    assert outcome.status is RunStatus.UNVERIFIED, outcome.reason
    assert till.paid == ["deposit", "settle_late" if broken == "settle" else "settle"]


class Uncertain(Till):
    """A till at which it is uncertain whether the booking succeeds."""

    def declare_booking(self, time: dict[str, Any]) -> None:
        outcomes = [Outcome("0.7", ["booked(o)"]), Outcome("0.3", ["refused(o)"])]
        needs = ["paid(o)", "not refused(o)"]
        self.domain.action(
            "try_book", {"o": "order"}, requires=needs, provides=["booked(o)"], outcomes=outcomes, **time
        )

    def bind(self, declared, *, seen):
        super().bind(declared, seen=seen)
        self.refused = []
        self.world.observer("refused(_)", conclusive=True, settle_within=0)(lambda: self.refused)

    def act(self, name, **given):
        if name == "try_book":
            self.refused.append("o7")
        super().act("" if name == "try_book" else name, **given)


@pytest.mark.parametrize("how", ["decided", "policy", "sequential"])
def test_another_branch_of_a_policy_is_asked(how, tmp_path):
    till = Uncertain()
    executor = open_executor(till, tmp_path, **({} if how == "decided" else {"model": how}))
    outcome = run_virtual(executor.run(decide(till.problem) if how == "decided" else till.problem))
    check_asked(outcome, till)


def test_another_method_of_a_task_is_asked(tmp_path):
    till = Till()
    how = Methods(till.domain)
    how.task("deal", o="order")
    how.method("by_card", {"o": "order"}, task="deal(o)", subtasks=["pay(o)", "book(o)"])
    how.method("by_bank", {"o": "order"}, task="deal(o)", subtasks=["wire(o)", "bookw(o)"])
    till.bind(how, seen=True)
    problem = how.problem(objects={"o7": "order"}, tasks=["deal(o7)"])
    outcome = run_virtual(open_executor(till, tmp_path).run(problem))
    check_asked(outcome, till, "deal(o7)")


@pytest.mark.parametrize("model", MODELS)
def test_what_is_refused_is_not_paid_in_another_way(model, tmp_path):
    till = Till(timed=model == "timed", approved=("pay",))
    executor = open_executor(till, tmp_path, **({} if model == "timed" else {"model": model}))
    waiting = run_virtual(executor.run(till.problem, run="a"))
    outcome = run_virtual(executor.resume("a", answers={waiting.questions[0].question: "no"}))
    assert (outcome.status, till.paid) == (RunStatus.WAITING, [])
    assert "Pay(o7) is for the same, and it was refused" in outcome.questions[0].text


def test_a_call_that_an_agent_of_another_framework_chooses_is_asked(tmp_path):
    till = Till()

    async def call():
        with Journal(tmp_path / "runs.db") as journal:
            calls = PlannedCalls(till.world, till.problem, journal=journal)
            return [(await calls.call(each, {"o": "o7"})) for each in ("pay", "book", "wire")]

    told = run_virtual(call())
    assert [each.status for each in told] == ["SUCCEEDED", "FAILED", "WAITING"]
    assert till.paid == ["pay"]


class Counter:
    """A counter at which an order is paid by card or in cash, or by both; nobody sees what was paid in cash."""

    def __init__(self) -> None:
        self.domain, self.paid = Domain("counter", types=["order"]), []
        for way in ("card", "cash"):
            self.domain.action(way, {"o": "order"}, provides=[f"by_{way}(o)"], tags=["irreversible"])
        self.world = World(self.domain)
        for way in ("card", "cash"):
            self.world.handler(way)(lambda way=way, **_: self.paid.append(way))
        self.world.observer("by_card(_)", conclusive=True, settle_within=0)(
            lambda: ["o7"] if "card" in self.paid else []
        )

    def ask(self, executor, *goal, orders=("o7",)):
        problem = self.domain.problem(objects=dict.fromkeys(orders, "order"), goal=goal)
        return run_virtual(executor.run(problem, join=False))


EITHER = {
    "or": "(or (by_card o7) (by_cash o7))",
    "with what holds": "(or (by_card o7) (and (by_cash o7) (not (by_card o7))))",
    "exists": "(exists (?o - order) (or (by_card ?o) (by_cash ?o)))",
    "imply": "(imply (not (by_cash o7)) (by_card o7))",
}


@pytest.mark.parametrize("has_journal", [True, False])
@pytest.mark.parametrize("goal", EITHER.values(), ids=EITHER)
def test_what_one_part_of_a_goal_has_been_paid_for_is_not_paid_for_by_another(goal, has_journal, tmp_path):
    counter = Counter()
    executor = open_executor(counter, tmp_path, has_journal=has_journal)
    counter.ask(executor, "by_cash(o7)")
    outcome = counter.ask(executor, goal)
    assert (outcome.status, counter.paid) == (RunStatus.WAITING, ["cash"])


def test_both_payments_are_made_where_both_are_wanted(tmp_path):
    counter = Counter()
    executor = open_executor(counter, tmp_path)
    counter.ask(executor, "by_cash(o7)")
    assert counter.ask(executor, "by_card(o7)").status is RunStatus.SUCCEEDED
    assert counter.paid == ["cash", "card"]


def check_left_behind(outcome, till):
    assert outcome.status is RunStatus.WAITING, outcome.reason
    assert till.paid == ["pay"]
    [question] = outcome.questions
    assert "aid(o7) is so already, and wire(o7) would be done in its place" in " ".join(
        [question.text, *question.known]
    )
    return question.question


@pytest.mark.parametrize("has_journal", [True, False])
@pytest.mark.parametrize("model", MODELS)
def test_what_somebody_else_has_paid_is_not_paid_in_another_way_by_a_patch(model, has_journal, tmp_path):
    till = Till(timed=model == "timed")
    till.paid.append("pay")
    options = {} if model == "timed" else {"model": model}
    executor = open_executor(till, tmp_path, has_journal=has_journal, **options)
    check_left_behind(run_virtual(executor.run(till.problem)), till)


@pytest.mark.parametrize("approved", [(), ("wire",)])
@pytest.mark.parametrize(("answer", "paid"), [("yes", ["pay", "wire"]), ("no", ["pay"]), ("it is so already", ["pay"])])
def test_the_answer_about_what_somebody_else_has_paid_counts(approved, answer, paid, tmp_path):
    till = Till(approved=approved)
    till.paid.append("pay")
    executor = open_executor(till, tmp_path)
    question = check_left_behind(run_virtual(executor.run(till.problem, run="a")), till)
    outcome = run_virtual(executor.resume("a", answers={question: answer}))
    assert (till.paid, outcome.status.is_over, list(outcome.questions)) == (paid, True, [])
    assert outcome.succeeded == (answer != "no")


def test_another_method_of_a_task_is_asked_about_where_somebody_else_has_paid(tmp_path):
    till = Till()
    how = Methods(till.domain)
    how.task("deal", o="order")
    how.method("by_card", {"o": "order"}, task="deal(o)", subtasks=["pay(o)", "book(o)"])
    how.method("by_bank", {"o": "order"}, task="deal(o)", subtasks=["wire(o)", "bookw(o)"])
    till.bind(how, seen=True)
    till.paid.append("pay")
    problem = how.problem(objects={"o7": "order"}, tasks=["deal(o7)"])
    check_left_behind(run_virtual(open_executor(till, tmp_path).run(problem)), till)


def test_what_was_stated_and_is_left_behind_is_asked_about_only_where_nothing_undoes_it(tmp_path):
    till = Till()
    till.domain.action("refund", {"o": "order"}, requires=["refunding"], provides=["paid(o)"])  # brings it about, too
    till.bind(till.domain, seen=True)
    till.paid.append("pay")
    outcome = run_virtual(open_executor(till, tmp_path).run(till.problem))
    assert (outcome.status, till.paid) == (RunStatus.SUCCEEDED, ["pay", "wire"])


def test_an_approval_that_shows_what_was_done_takes_the_answer_that_it_is_so(tmp_path):
    till = Till(seen=False, broken=(), approved=("pay",))
    executor = open_executor(till, tmp_path)
    waiting = run_virtual(executor.run(till.problem, run="a"))
    assert list(waiting.questions[0].choices) == ["yes", "no"]
    assert (
        run_virtual(executor.resume("a", answers={waiting.questions[0].question: "yes"})).status is RunStatus.SUCCEEDED
    )
    till.booked.clear()
    waiting = run_virtual(executor.run(till.problem, run="b"))
    assert "was done" in " ".join(waiting.questions[0].known)
    outcome = run_virtual(executor.resume("b", answers={waiting.questions[0].question: "it is so already"}))
    assert (outcome.status, till.paid) == (RunStatus.SUCCEEDED, ["pay"])


@pytest.mark.parametrize("answers", [["no"], [None, "no"], [None, None]])
@pytest.mark.parametrize("model", MODELS)
def test_no_counts_though_nobody_would_ask_any_more(model, answers, tmp_path):
    till = Till(timed=model == "timed")
    executor = open_executor(till, tmp_path, **({} if model == "timed" else {"model": model}))
    question = check_asked(run_virtual(executor.run(till.problem, run="a")), till)
    till.booked.append("o7")  # by somebody else
    for answer in answers:
        outcome = run_virtual(executor.resume("a", answers={} if answer is None else {question: answer}))
        if outcome.status.is_over:
            break
    assert till.paid == ["pay"]
    assert outcome.status is RunStatus.SUCCEEDED or not any(answers)
