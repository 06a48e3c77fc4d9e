"""What is irreversible is done once between runs: at once, one after the other, nested, and where nobody can look."""

import asyncio

import pytest

from executor import ActionResult, Agent, Executor, NothingDone, PlannedCalls, RunStatus, StepStatus, World
from executor.ledger.records import Entry, Flight, LedgerInMemory, Outcome
from executor.testing import SimulatedWorld
from planner import Domain
from planner.errors import InputError


class Shop:
    """A world in which money is paid; `observed` says how observers see it, if they do."""

    def __init__(self, observed=None, tags=("irreversible",)):
        self.domain, self.bank = Domain("shop"), []
        self.domain.action("pay", provides=["paid"], tags=list(tags))
        self.world = World(self.domain)
        self.acts = lambda: None
        self.world.handler("pay")(self.pay)
        if observed is not None:
            self.world.observer("paid", conclusive=True, **observed)(lambda: "pay" in self.bank)

    async def pay(self):
        self.bank.append("pay")
        return self.acts()

    def wanted(self):
        return self.domain.problem(goal=["paid"])

    def run(self, **options):
        return asyncio.run(Executor(self.world).run(self.wanted(), **options))


def raises(error):
    def act():
        raise error

    return act


SEES = {"settle_within": 0}


def test_the_second_run_does_not_pay_what_is_seen_to_be_paid():
    shop = Shop(SEES)
    assert [shop.run().status for _ in range(2)] == [RunStatus.SUCCEEDED] * 2
    assert shop.bank == ["pay"]


def test_what_nobody_can_see_is_asked_about_the_second_time():
    shop = Shop()
    assert shop.run().status is RunStatus.UNVERIFIED
    second = shop.run()
    assert second.status is RunStatus.WAITING
    assert "was done" in second.questions[0].known[1]
    assert shop.bank == ["pay"]


def test_an_occasion_or_a_request_for_another_time_needs_no_question():
    shop = Shop()
    for options in ({"occasion": "10"}, {"occasion": "11"}, {"again": ("pay()",)}):
        assert shop.run(**options).status is RunStatus.UNVERIFIED
    assert len(shop.bank) == 3
    assert shop.run(occasion="11").status is RunStatus.WAITING


@pytest.mark.parametrize(
    ("answer", "times", "status"), [("yes", 2, RunStatus.UNVERIFIED), ("no", 1, RunStatus.UNVERIFIED)]
)
def test_the_answer_counts(answer, times, status):
    shop = Shop()
    shop.run()

    async def main():
        executor = Executor(shop.world)
        waiting = await executor.run(shop.wanted())
        return await executor.resume(waiting.run, answers={waiting.questions[0].question: answer})

    assert asyncio.run(main()).status is status
    assert len(shop.bank) == times


def test_doubt_blocks_every_run_until_a_person_says_what_happened():
    shop = Shop()
    shop.acts = raises(ConnectionError("reset"))

    async def main():
        executor = Executor(shop.world)
        first = await executor.run(shop.wanted())
        others = [await executor.run(shop.wanted()) for _ in range(3)]
        assert {each.status for each in others} == {RunStatus.WAITING}
        assert shop.bank == ["pay"]
        question = others[0].questions[0]
        assert "reset" in question.text
        ended = await executor.resume(others[0].run, answers={question.question: "it happened"})
        return first.status, ended.status, (await executor.run(shop.wanted())).status

    assert asyncio.run(main()) == (RunStatus.IN_DOUBT, RunStatus.UNVERIFIED, RunStatus.WAITING)
    assert shop.bank == ["pay"]


@pytest.mark.parametrize("observed", [{}, SEES], ids=["states no delay", "sees at once"])
def test_only_an_observer_that_states_its_delay_ends_doubt_by_a_no(observed):
    shop = Shop(observed)
    shop.world.observers.clear()
    shop.world._looks.clear()
    shop.world.observer("paid", conclusive=True, **observed)(lambda: len(shop.bank) > 1)
    shop.acts = lambda: raises(ConnectionError("reset"))() if len(shop.bank) == 1 else None
    assert shop.run().status is (RunStatus.SUCCEEDED if observed else RunStatus.IN_DOUBT)
    assert len(shop.bank) == (2 if observed else 1)


@pytest.mark.parametrize("says", [raises(NothingDone("closed")), lambda: ActionResult.failed("closed"), lambda: False])
def test_who_says_that_nothing_was_done_leaves_no_doubt(says):
    shop = Shop()
    shop.acts = says
    assert shop.run().status is RunStatus.FAILED
    shop.acts = lambda: None
    assert shop.run().status is RunStatus.UNVERIFIED


def test_runs_at_once_pay_once():
    shop = Shop(SEES)

    async def main():
        executor = Executor(shop.world)
        return await asyncio.gather(*[executor.run(shop.wanted(), join=False) for _ in range(5)])

    found = asyncio.run(main())
    assert {each.status for each in found} == {RunStatus.SUCCEEDED}
    assert shop.bank == ["pay"]
    assert sorted(each.steps[0].status.name for each in found if each.steps).count("SUCCEEDED") == 1


def test_what_was_done_between_two_looks_at_the_ledger_is_not_done_again():
    shop = Shop()

    class Late(LedgerInMemory):
        """A ledger in which another run pays between the first look of a run and its flight."""

        def take(self, flight, instead=None):
            if not self.entries():
                other = Flight(flight.item, flight.text, "other", "s1", flight.key, flight.since)
                super().take(other)
                self.end(other, Entry(flight.item, flight.text, Outcome.DONE, "other", "s1", flight.key, flight.since))
            return super().take(flight, instead)

    shop.world.ledger = Late()
    assert shop.run().status is RunStatus.WAITING
    assert shop.bank == []


def test_a_run_of_a_handler_does_not_wait_for_the_step_that_has_begun_it():
    shop = Shop()
    executor = Executor(shop.world)
    inner = []

    async def pay_by_another_run():
        if not inner:
            inner.append(None)
            inner[0] = await executor.run(shop.wanted(), run="inner")

    shop.world.handler("pay")(pay_by_another_run)
    outcome = asyncio.run(asyncio.wait_for(executor.run(shop.wanted()), 20))
    assert outcome.status is RunStatus.UNVERIFIED
    assert inner[0].status is RunStatus.FAILED
    assert "whose handler has begun this run" in inner[0].reason


def test_a_function_that_approves_everything_pays_nothing_twice():
    shop = Shop(tags=("irreversible", "needs_approval"))
    shown = []
    executor = Executor(shop.world, approve=lambda request: shown.append(request.earlier) or True)
    assert asyncio.run(executor.run(shop.wanted())).status is RunStatus.UNVERIFIED
    assert asyncio.run(executor.run(shop.wanted())).status is RunStatus.WAITING
    assert (len(shop.bank), shown[0]) == (1, ())
    assert "was done" in shown[1][0]
    executor.approve = lambda _: "again"
    assert asyncio.run(executor.run(shop.wanted())).status is RunStatus.UNVERIFIED
    assert len(shop.bank) == 2


def test_a_refusal_is_remembered():
    shop = Shop(tags=("irreversible", "needs_approval"))
    executor = Executor(shop.world)

    async def main():
        waiting = await executor.run(shop.wanted())
        refused = await executor.resume(waiting.run, answers={waiting.questions[0].question: "no"})
        another = await executor.run(shop.wanted())
        return refused, another

    refused, another = asyncio.run(main())
    assert refused.status is RunStatus.FAILED
    assert another.status is RunStatus.WAITING
    assert any("was refused" in each for each in another.questions[0].known)
    assert not shop.bank


@pytest.mark.parametrize("tags", [("irreversible", "needs_approval"), ("needs_approval",)])
def test_every_door_shows_an_earlier_refusal_when_it_asks_again(tags):
    shop, shown = Shop(tags=tags), []
    executor = Executor(shop.world, approve=lambda request: shown.append(request.earlier) or None)

    async def main():
        waiting = await executor.run(shop.wanted())
        await executor.resume(waiting.run, answers={waiting.questions[0].question: "no"})
        await executor.run(shop.wanted())
        calls = PlannedCalls(shop.world, shop.wanted())
        before = await calls.ask_for_approval("pay", {})
        return before, (await calls.call("pay", {})).question

    before, asked = asyncio.run(main())
    assert len(shown) == 2
    assert [each.count("was refused") for each in map(str, shown)] == [0, 1]
    assert "was refused" in str(before["known"])
    assert "was refused" in str(asked["known"])
    assert not shop.bank


def test_an_approval_shows_what_was_refused_for_the_same_and_answers_for_it():
    shop = Shop(tags=("irreversible", "needs_approval"))
    shop.domain.action("transfer", provides=["paid"], tags=["irreversible", "needs_approval"], cost=9)
    world = World(shop.domain)
    world.handler("pay")(shop.pay)
    world.handler("transfer")(lambda: shop.bank.append("transfer"))
    executor = Executor(world)

    async def main():
        waiting = await executor.run(shop.domain.problem(goal=["paid"]))
        asked = await executor.resume(waiting.run, answers={waiting.questions[0].question: "no"})
        assert [each.startswith("pay() was refused") for each in asked.questions[0].known] == [True]
        return await executor.resume(waiting.run, answers={asked.questions[0].question: "yes"})

    assert asyncio.run(main()).status is RunStatus.UNVERIFIED
    assert shop.bank == ["transfer"]


def test_worlds_of_different_names_are_different_accounts():
    shop, executed = Shop(), []
    for name in ("account 1", "account 2"):
        world = World(shop.domain, name=name)
        world.ledger = shop.world.ledger
        world.handler("pay")(shop.pay)
        executed.append(asyncio.run(Executor(world).run(shop.wanted())).status)
    assert executed == [RunStatus.UNVERIFIED] * 2
    assert len(shop.bank) == 2


def test_what_was_simulated_is_not_known_to_the_ledger_of_the_journal(tmp_path):
    shop, place = Shop(), tmp_path / "runs.db"
    simulated = SimulatedWorld(shop.wanted())
    assert asyncio.run(Executor(simulated.world, place).run(shop.wanted())).succeeded
    assert len(simulated.acts) == 1
    executor = Executor(shop.world, place)
    assert executor.journal.ledger.entries() == []
    assert asyncio.run(executor.run(shop.wanted(), join=False)).status is RunStatus.UNVERIFIED
    assert shop.bank == ["pay"]
    assert len(executor.journal.ledger.entries()) == 1


def test_a_step_that_was_not_begun_says_why():
    shop = Shop(SEES)
    shop.bank.append("pay")
    problem = shop.domain.problem(goal=["paid"])
    outcome = asyncio.run(Executor(shop.world, look="never").run(problem))
    assert outcome.status is RunStatus.SUCCEEDED
    assert (outcome.steps[0].status, outcome.steps[0].reason) == (StepStatus.SKIPPED, "already so")


def test_a_refusal_covers_every_irreversible_step_that_is_for_the_same():
    shop = Shop(tags=("irreversible", "needs_approval"))
    shop.domain.action("transfer", provides=["paid"], tags=["irreversible"], cost=9)
    world = World(shop.domain)
    world.handler("pay")(shop.pay)
    world.handler("transfer")(lambda: shop.bank.append("transfer"))
    executor = Executor(world)

    async def main():
        waiting = await executor.run(shop.domain.problem(goal=["paid"]))
        asked = await executor.resume(waiting.run, answers={waiting.questions[0].question: "no"})
        assert asked.status is RunStatus.WAITING, asked.reason
        assert not shop.bank
        return await executor.resume(waiting.run, answers={asked.questions[0].question: "no"})

    assert asyncio.run(main()).status in {RunStatus.FAILED, RunStatus.IMPOSSIBLE}
    assert not shop.bank


def test_an_approval_shows_what_was_done_before_a_refusal():
    shop = Shop(tags=("irreversible", "needs_approval"))
    shown = []

    async def main():
        executor = Executor(shop.world)
        for answer in ("yes", "no", "no"):
            waiting = await executor.run(shop.wanted())
            shown.append(waiting.questions[0].known)
            await executor.resume(waiting.run, answers={waiting.questions[0].question: answer})

    asyncio.run(main())
    assert shop.bank == ["pay"]
    assert [each.count("was done") for each in map(str, shown)] == [0, 1, 1]
    assert "was refused" in str(shown[2])


def test_a_person_may_say_that_it_is_so_already():
    shop = Shop()
    shop.world.observer("paid", conclusive=True)(lambda: True)
    shop.world.observer("paid", conclusive=True)(lambda: False)

    async def main():
        executor = Executor(shop.world)
        waiting = await executor.run(shop.wanted())
        assert waiting.status is RunStatus.WAITING
        return await executor.resume(waiting.run, answers={waiting.questions[0].question: "it is so already"})

    assert asyncio.run(main()).steps[0].status is StepStatus.SKIPPED
    assert not shop.bank


@pytest.mark.parametrize("again", ["payy()", "pay", "pay(", "order(o1)"])
def test_again_names_steps_of_the_world(again):
    with pytest.raises(InputError, match="again names steps"):
        Shop().run(again=(again,))


def test_an_occasion_is_a_text():
    with pytest.raises(InputError, match="an occasion is a text"):
        Shop().run(occasion=5)


@pytest.mark.parametrize("said", ["maybe later", "perhaps", "not sure", 7])
def test_an_unclear_answer_of_a_callback_leaves_the_question_open(said):
    shop = Shop()
    shop.run()
    outcome = asyncio.run(Executor(shop.world, ask=lambda _: said).run(shop.wanted()))
    assert (outcome.status, [each.question for each in outcome.questions]) == (RunStatus.WAITING, ["again:s1:1"])
    refused = asyncio.run(Executor(shop.world, ask=lambda _: "no: not now").run(shop.wanted()))
    assert (refused.status.is_over, shop.bank) == (True, ["pay"])


def crash(_):
    raise ValueError("crashed")


def test_nobody_has_refused_where_the_callback_raises():
    shop = Shop(tags=("irreversible", "needs_approval"))

    async def main():
        first = await Executor(shop.world, approve=crash).run(shop.wanted())
        return first, await Executor(shop.world, approve=lambda _: True).run(shop.wanted())

    first, second = asyncio.run(main())
    assert "crashed" in first.reason
    assert second.status is RunStatus.UNVERIFIED
    assert shop.bank == ["pay"]


async def keep_paid(world, problem, journal, lives=2, changes=2):
    """Attend to a standing goal in several processes, answer every question with "no", and return the questions."""
    asked, told = [], []
    for _ in range(lives):
        agent = Agent(world, problem, journal=journal)
        agent.maintain("paid", name="keep")
        async with agent.attend(poll=None, tell=told.append) as attending:
            for _ in range(changes):
                await asyncio.wait_for(attending.settled(), 20)
                for run in list(attending.waiting):
                    open_ = agent.executor.state_of(run).open_questions
                    asked += open_.values()
                    await agent.resume(run, answers=dict.fromkeys(open_, "no"))
                agent.notify("rain")
                await asyncio.wait_for(attending.settled(), 20)
                agent.notify("not rain")
        agent.executor.journal.close()
    return asked, [each.reason for each in told if type(each).__name__ == "Paused"]


@pytest.mark.parametrize("other", [False, True], ids=["the same step", "another step for the same"])
def test_a_standing_goal_that_was_refused_is_not_asked_about_again(other, tmp_path):
    shop = Shop(tags=("irreversible", "needs_approval"))
    shop.domain.predicate("rain")
    if other:
        tags = ["irreversible", "needs_approval"]
        shop.domain.action("transfer", provides=["paid"], tags=tags, cost=9)
    world = World(shop.domain)
    world.handler("pay")(shop.pay)
    if other:
        world.handler("transfer")(lambda: shop.bank.append("transfer"))
    asked, paused = asyncio.run(keep_paid(world, shop.domain.problem(), tmp_path / "runs.db"))
    assert [each.question for each in asked] == ["approve:s1"]
    assert any("approval was refused before: pay() was refused by run" in each for each in paused)
    assert shop.bank == []

    async def ask_as_a_person():
        return await Executor(world, tmp_path / "runs.db").run(shop.wanted())

    waiting = asyncio.run(ask_as_a_person())
    assert waiting.status is RunStatus.WAITING
    assert any("was refused" in each for each in waiting.questions[0].known)
