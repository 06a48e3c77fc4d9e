"""No run ends as FAILED while a step of its own is in doubt: it ends as IN_DOUBT, and asks."""

import pytest

from executor import ActionResult, ExecutionPolicy, Executor, RunStatus, StepStatus, World
from executor.events.answers import HAPPENED, NOTHING
from executor.journal import Journal
from executor.testing import VirtualClock, run_virtual
from planner import Domain, Outcome


class Shop:
    """Orders that are paid; the payment of o7 calls `handler`, and observers never see the facts in `sees`."""

    def __init__(self, handler, *, sees=(), tags=("irreversible",), policy=None, **declared):
        self.domain = Domain("shop", types=["order"])
        self.domain.action("pay", {"o": "order"}, provides=["paid(o)"], tags=tags, **declared)
        self.domain.action("pack", {"o": "order"}, requires=["paid(o)"], provides=["packed(o)"])
        self.world, self.called = World(self.domain), []
        failing = self.world.handler("pack", policy=ExecutionPolicy(on_error="abort"))
        failing(lambda o: ActionResult.failed("no box"))  # noqa: ARG005

        @self.world.handler("pay", policy=policy)
        def pay(o):
            self.called.append(o)
            return handler() if o == "o7" else None

        for fact in sees:
            self.world.observer(f"{fact}(o)", conclusive=True, settle_within=0)(lambda o: False)  # noqa: ARG005

    def carry_out(self, place, orders=("o7",), *, answer=None, model="sequential", **options):
        """Carry out a run named "r", or take it up with the `answer` to its only question."""
        options = {"goal": [f"paid({each})" for each in orders], **options}
        problem = self.domain.problem(objects=dict.fromkeys(orders, "order"), **options)

        async def go_on(executor):
            if answer is None:
                return await executor.run(problem, run="r")
            (question,) = executor.state_of("r").open_questions
            return await executor.resume("r", answers={question: answer})

        with Journal(place) as journal:
            outcome = run_virtual(go_on(Executor(self.world, journal=journal, model=model, clock=VirtualClock())))
            doubts = [each.text for each in journal.ledger.flights() if each.doubt]
        return outcome, doubts


def lose():
    raise RuntimeError("lost")


OUTCOMES = [Outcome("0.8", ["paid(o)"]), Outcome("0.2", ["bounced(o)"])]


@pytest.mark.parametrize("handler", [lambda: None, lose])
@pytest.mark.parametrize("sees", [["paid"], ["bounced"], []])
def test_an_outcome_that_nobody_has_seen_leaves_no_failure_without_a_question(handler, sees, tmp_path):
    shop = Shop(handler, sees=sees, outcomes=OUTCOMES)
    outcome, doubts = shop.carry_out(tmp_path / "runs.db")
    if outcome.status is RunStatus.UNVERIFIED:
        assert (handler is not lose, doubts) == (True, [])
        return
    assert (outcome.status, outcome.steps[0].status) == (RunStatus.IN_DOUBT, StepStatus.IN_DOUBT)
    assert (len(outcome.questions), doubts) == (1, ["pay(o7)"])


@pytest.mark.parametrize(("answer", "calls"), [(HAPPENED, 1), (NOTHING, 2)])
def test_the_answer_settles_whether_an_outcome_came_about(answer, calls, tmp_path):
    shop = Shop(lambda: None, sees=["paid"], outcomes=OUTCOMES)
    shop.carry_out(tmp_path / "runs.db")
    outcome, doubts = shop.carry_out(tmp_path / "runs.db", answer=answer)
    assert (len(shop.called), len(doubts)) == (calls, calls - 1)
    assert len(outcome.questions) == 1, "the goal is seen to be missing, and so it may be asked for once more"


def test_an_outcome_that_was_seen_not_to_come_about_is_a_failure(tmp_path):
    shop = Shop(lambda: None, sees=["paid", "bounced"], outcomes=OUTCOMES)
    assert shop.carry_out(tmp_path / "runs.db")[0].status is RunStatus.FAILED
    assert shop.carry_out(tmp_path / "runs.db")[1] == []


def test_a_failure_that_the_handler_reports_is_a_failure(tmp_path):
    shop = Shop(lambda: ActionResult.failed("no money"), outcomes=OUTCOMES)
    outcome, doubts = shop.carry_out(tmp_path / "runs.db")
    assert (outcome.status, doubts) == (RunStatus.FAILED, [])


def test_an_idempotent_step_whose_retries_all_raised_is_asked_about(tmp_path):
    shop = Shop(lose, tags=("irreversible", "idempotent"))
    outcome, doubts = shop.carry_out(tmp_path / "runs.db")
    assert len(shop.called) > 1
    assert (outcome.status, len(outcome.questions), doubts) == (RunStatus.IN_DOUBT, 1, ["pay(o7)"])


def test_a_run_that_another_failure_aborts_asks_about_its_doubt(tmp_path):
    shop = Shop(lose)
    goal = {"goal": ["paid(o7)", "packed(o8)"]}
    outcome, doubts = shop.carry_out(tmp_path / "runs.db", ("o7", "o8"), model="dag", **goal)
    assert (outcome.status, len(outcome.questions), doubts) == (RunStatus.IN_DOUBT, 1, ["pay(o7)"])
    outcome, doubts = shop.carry_out(tmp_path / "runs.db", ("o7", "o8"), model="dag", answer=HAPPENED, **goal)
    assert (outcome.status, doubts) == (RunStatus.FAILED, [])
    assert "no box" in outcome.reason


def test_a_step_whose_failure_aborts_the_run_goes_on_where_it_happened(tmp_path):
    shop = Shop(lose, policy=ExecutionPolicy(on_error="abort"))
    assert shop.carry_out(tmp_path / "runs.db")[0].status is RunStatus.IN_DOUBT
    outcome, doubts = shop.carry_out(tmp_path / "runs.db", answer=HAPPENED)
    assert (outcome.status, doubts) == (RunStatus.UNVERIFIED, []), outcome.reason
