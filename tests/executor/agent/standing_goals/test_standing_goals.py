"""Standing goals: what is in force and unmet is pursued, urgent goals first, together where that costs less."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from executor import ActionResult, Agent, Provenance, World
from executor.agent import agent_events as told
from executor.errors import RunError
from executor.events.events import FactsSeen, StepStarted
from executor.testing.virtual_time import run_virtual
from planner import Domain, Entity
from planner.errors import InputError


class Shop:
    """A shop whose orders come from outside; `done` are the acts, and `events` what the agent told."""

    def __init__(self, *, observes: bool = True, seconds: float = 1.0, **options: Any) -> None:
        domain = Domain("shop", types=["order", "shelf"])
        domain.predicate("pending", "order")
        domain.predicate("urgent", "order")
        domain.action("fetch_cart", {}, provides=["cart"], cost=5, tags=["trusted"])
        domain.action(
            "ship", {"o": "order"}, requires=["pending(o)"], provides=["handled(o)", "not pending(o)"], cost=1
        )
        domain.action("store", {"s": "shelf"}, requires=["cart"], provides=["stored(s)"], cost=1)
        domain.action("return_cart", {}, requires=["cart"], provides=["not cart"], cost=5, tags=["trusted"])
        domain.action("light", {}, provides=["lit", "not dark"], tags=["trusted"])
        domain.action("dim", {}, provides=["dark", "not lit"], tags=["trusted"])
        domain.action("order_more", {}, provides=["ordered"], tags=["trusted"])
        domain.action("report", {}, provides=["reported_today"], tags=["trusted"])
        domain.action(
            "refund", {"o": "order"}, requires=["pending(o)"], provides=["refunded(o)"], tags=["irreversible"]
        )
        self.world, self.pending, self.done, self.events = World(domain), [], [], []
        for name in domain.model.actions:

            @self.world.handler(name)
            async def act(name=name, **given) -> None:
                await asyncio.sleep(seconds)
                self.done.append(" ".join([name, *map(str, given.values())]))
                if name == "ship" and str(given["o"]) in self.pending:
                    self.pending.remove(str(given["o"]))

        if observes:
            self.world.observer("pending(_)")(lambda: list(self.pending))
            self.world.observer("handled(_)")(lambda: [each[5:] for each in self.done if each.startswith("ship ")])
            self.world.observer("stored(_)")(lambda: [each[6:] for each in self.done if each.startswith("store ")])
        self.agent = Agent(self.world, domain.problem(objects={"top": "shelf", "low": "shelf"}), **options)

    def attend(self, **options: Any):
        loop = asyncio.get_running_loop()
        return self.agent.attend(tell=self.events.append, clock=loop.time, **options)

    def run(self, story: Callable[[Any], Coroutine[Any, Any, Any]], **options: Any) -> Any:
        async def attended() -> Any:
            async with self.attend(**options) as attending:
                return await story(attending)

        return run_virtual(attended())

    def of(self, kind: type) -> list[Any]:
        return [each for each in self.events if isinstance(each, kind)]


async def settle(attending) -> None:
    await attending.settled()


def test_objects_that_observers_name_are_handled_and_take_the_type_of_their_place() -> None:
    shop = Shop()
    shop.agent.when("pending(o)", "handled(o)")
    shop.pending += ["o1", "o2"]
    shop.run(settle)
    assert shop.done == ["ship o1", "ship o2"]
    assert {each.name: each.types for each in shop.agent.problem.objects}["o1"] == ("order",)


def test_a_report_is_reacted_to_at_once_and_needs_no_observer() -> None:
    shop = Shop(observes=False)
    shop.agent.when("pending(o)", "handled(o)")

    async def story(attending):
        await attending.settled()
        start = asyncio.get_running_loop().time()
        shop.agent.notify("pending(o7)")
        await attending.settled()
        return asyncio.get_running_loop().time() - start

    assert shop.run(story, poll=None) == pytest.approx(1.0), "the step itself, and no waiting for a look"
    assert shop.done == ["ship o7"]
    seen = next(each for each in shop.of(FactsSeen) if each.cause == "reported from outside")
    assert [(str(note.fact), note.provenance) for note in seen.facts] == [("pending(o7)", Provenance.REPORTED)]


def test_reports_before_anybody_attends_count_and_threads_may_report() -> None:
    shop = Shop(observes=False)
    shop.agent.when("pending(o)", "handled(o)")
    shop.agent.notify("pending(o1)")

    async def story(attending):
        await asyncio.to_thread(shop.agent.notify, "pending(o2)")
        await attending.settled()

    shop.run(story)
    assert sorted(shop.done) == ["ship o1", "ship o2"]


def test_what_was_only_reported_does_not_carry_an_irreversible_step() -> None:
    shop = Shop(observes=False)
    shop.agent.when("pending(o)", "refunded(o)")
    shop.agent.notify("pending(o1)")
    shop.run(settle)
    assert "refund o1" not in shop.done
    ((_, reason),) = shop.agent.standing_goals["when pending(o): refunded(o)"].paused.items()
    assert "it rests on pending(o1) and nobody can observe that" in reason


def test_the_irreversible_step_of_a_standing_goal_needs_an_approval_that_nobody_has_shown_a_plan_for() -> None:
    asked = []
    shop = Shop(approve=lambda request: asked.append(request.action) or True)
    shop.pending.append("o1")
    shop.agent.when("pending(o)", "refunded(o)")
    shop.run(settle)
    assert shop.done == ["refund o1"]


def test_goals_are_merged_where_one_plan_costs_less() -> None:
    shop = Shop(observes=False)
    shop.agent.when("urgent(o)", ["stored(top)", "not cart"])
    shop.agent.when("pending(o)", ["stored(low)", "not cart"])
    shop.agent.notify("urgent(o1)", "pending(o1)")
    shop.run(settle)
    assert sorted(shop.done) == ["fetch_cart", "return_cart", "store low", "store top"]
    (pursued,) = shop.of(told.Pursued)
    assert len(pursued.goals) == 2
    (compared,) = shop.of(told.Compared)
    assert (compared.together, compared.apart, compared.is_merged) == ("12", "22", True)
    assert compared.reason == "one plan costs less"


def test_goals_are_kept_apart_where_that_costs_the_same() -> None:
    shop = Shop()
    shop.agent.when("pending(o)", "handled(o)")
    shop.pending += ["o1", "o2"]
    shop.run(settle)
    (compared,) = shop.of(told.Compared)
    assert (compared.together, compared.apart, compared.is_merged) == ("2", "2", False)
    assert [len(each.goals) for each in shop.of(told.Pursued)] == [1, 1]


def test_of_goals_that_exclude_each_other_the_less_urgent_one_gives_way_and_both_are_named() -> None:
    shop = Shop(observes=False)
    shop.agent.when("urgent(o)", "lit", priority=1)
    low = shop.agent.when("pending(o)", "dark", name="sleep")
    shop.agent.notify("urgent(o1)", "pending(o2)")

    async def story(attending):
        await attending.settled()
        first = list(shop.done), dict(low.paused)
        shop.agent.notify("not urgent(o1)")
        await attending.settled()
        return first

    done, paused = shop.run(story)
    assert done == ["light"]
    ((occasion, reason),) = paused.items()
    assert str(occasion) == "sleep [o2]"
    assert "when urgent(o): lit [o1]" in reason
    (conflict,) = shop.of(told.Conflict)
    assert conflict.words == "lit; dark"
    assert conflict.gives_way == "sleep [o2]"
    assert shop.done == ["light", "dim"], "it is pursued when the other goal is in force no more"


def test_equal_goals_that_exclude_each_other_are_found_in_one_batch() -> None:
    shop = Shop(observes=False)
    shop.agent.when("urgent(o)", "lit")
    shop.agent.when("pending(o)", "dark")
    shop.agent.notify("urgent(o1)", "pending(o2)")
    shop.run(settle)
    assert shop.done == ["light"]
    assert len(shop.of(told.Conflict)) == 1


def test_a_more_urgent_goal_interrupts_at_the_end_of_a_step_and_the_run_goes_on_afterwards() -> None:
    shop = Shop(observes=False, seconds=10)
    shop.agent.when("pending(o)", ["stored(top)"])
    shop.agent.when("urgent(o)", "lit", priority=5)

    async def story(attending):
        shop.agent.notify("pending(o1)")
        await asyncio.sleep(1)
        shop.agent.notify("urgent(o1)")
        await attending.settled()

    shop.run(story)
    assert shop.done == ["fetch_cart", "light", "store top"]
    assert len(shop.of(told.Preempted)) == 1
    assert len(shop.of(told.Pursued)) == 2


def test_goals_that_undo_each_other_are_paused_and_named() -> None:
    shop = Shop(observes=False)
    shop.agent.when("lit", "dark", name="night")
    shop.agent.when("dark", "lit", name="day")
    shop.agent.notify("lit")
    shop.run(settle)
    assert len(shop.done) < 15
    paused = {**shop.agent.standing_goals["night"].paused, **shop.agent.standing_goals["day"].paused}
    assert any("times by day" in each or "times by night" in each for each in paused.values())


def test_a_goal_that_the_world_undoes_is_paused_until_a_person_resumes_it() -> None:
    shop = Shop(observes=False)
    goal = shop.agent.maintain("lit", tries=3)

    async def story(attending):
        for _ in range(10):
            await attending.settled()
            shop.agent.notify("not lit")
        await attending.settled()
        before = len(shop.done)
        ((_, reason),) = goal.paused.items()
        goal.resume()
        await attending.settled()
        return before, reason

    before, reason = shop.run(story)
    assert before == 3
    assert reason == "lit was reached and undone again 3 times: 3 times by the world"
    assert len(shop.done) == 4


def test_what_stays_reached_long_enough_is_no_loop() -> None:
    shop = Shop(observes=False)
    shop.agent.maintain("lit", tries=2, calm=60)

    async def story(attending):
        for _ in range(6):
            await attending.settled()
            await asyncio.sleep(120)
            shop.agent.notify("not lit")
        await attending.settled()

    shop.run(story)
    assert len(shop.done) == 7


def test_a_goal_without_a_plan_is_paused_with_what_is_missing_and_tried_again_when_something_changes() -> None:
    shop = Shop(observes=False)
    goal = shop.agent.when("urgent(o)", "handled(o)", tries=2)

    async def story(attending):
        shop.agent.notify("urgent(o1)")
        await attending.settled()
        paused = dict(goal.paused)
        shop.agent.notify("pending(o1)")
        await attending.settled()
        return paused

    ((_, reason),) = shop.run(story).items()
    assert "2 times in vain" in reason
    assert "pending(o1)" in reason
    assert shop.done == ["ship o1"]


def test_a_goal_whose_run_fails_is_tried_with_growing_pauses_and_then_paused() -> None:
    shop, calls = Shop(observes=False), []

    @shop.world.handler("light")
    async def broken() -> bool:
        calls.append(asyncio.get_running_loop().time())
        return False

    goal = shop.agent.maintain("lit", tries=3)
    shop.run(settle)
    assert len(goal.paused) == 1
    assert 3 <= len(calls) <= 12
    assert max(calls) >= 3, "it waited 1 and 2 seconds"


def test_a_number_that_leaves_its_bounds_is_restored() -> None:
    shop, stock = Shop(observes=False), [7]

    @shop.world.handler("order_more")
    async def order_more() -> None:
        shop.done.append("order_more")
        stock[0] += 10

    def amount() -> int:
        return stock[0]

    shop.agent.maintain(amount, low=5, restore="ordered")

    async def story(attending):
        await attending.settled()
        assert not shop.done
        stock[0] = 3
        await asyncio.sleep(10)
        stock[0] = 4
        await asyncio.sleep(100)

    shop.run(story)
    assert shop.done == ["order_more", "order_more"]
    assert stock == [14]


def test_a_condition_in_python_ranges_over_the_objects_of_its_parameters() -> None:
    class Lamp(Entity): ...

    house, broken, done = Domain("house"), {"hall"}, []

    @house.action(provides=["mended(lamp)"], tags=["trusted"])
    async def mend(lamp: Lamp) -> None:
        broken.discard(lamp.name)
        done.append(lamp)

    world = World(house)
    agent = Agent(world, house.problem(objects=[Lamp("hall"), Lamp("attic")]))

    def is_broken(lamp: Lamp) -> bool:
        return lamp.name in broken

    agent.when(is_broken, "mended(lamp)")

    async def story():
        async with agent.attend() as attending:
            await attending.settled()

    run_virtual(story())
    assert done == [Lamp("hall")]


def test_a_condition_that_fails_or_says_odd_things_is_told_and_nothing_is_done() -> None:
    shop = Shop(observes=False)

    def level() -> str:
        return "low"

    shop.agent.maintain(level, low=5, restore="ordered")
    shop.run(settle)
    assert not shop.done
    assert "with low= or high= it returns a number" in str(shop.events)


def test_conditions_may_be_conjunctions_and_pddl_expressions() -> None:
    shop = Shop(observes=False)
    shop.agent.when(["pending(o)", "not urgent(o)"], "handled(o)")
    shop.agent.when("(and (pending ?o) (urgent ?o) (forall (?s - shelf) (stored ?s)))", "(handled ?o)")
    shop.agent.notify("pending(o1)", "urgent(o2)", "pending(o2)")
    shop.run(settle)
    assert shop.done == ["ship o1"]

    async def story(attending):
        shop.agent.notify("stored(top)", "stored(low)")
        await attending.settled()

    shop.run(story)
    assert shop.done == ["ship o1", "ship o2"]


def test_goals_may_be_added_and_ended_while_somebody_attends() -> None:
    shop = Shop(observes=False)

    async def story(attending):
        await attending.settled()
        goal = shop.agent.maintain("lit")
        await attending.settled()
        goal.end()
        shop.agent.notify("not lit")
        await attending.settled()

    shop.run(story)
    assert shop.done == ["light"]
    assert not shop.agent.standing_goals


def test_requests_beside_standing_goals_are_taken_into_account() -> None:
    shop = Shop(observes=False)
    shop.agent.when("lit", "stored(top)")

    async def story(attending):
        await attending.settled()
        await shop.agent.achieve(["lit"])
        await attending.settled()

    shop.run(story)
    assert shop.done == ["light", "fetch_cart", "store top"]


def test_facts_that_are_reported_during_a_run_are_known_after_it() -> None:
    shop = Shop(observes=False, seconds=10)
    shop.agent.when("pending(o)", "handled(o)")

    async def story(attending):
        shop.agent.notify("pending(o1)")
        await asyncio.sleep(1)
        shop.agent.notify("pending(o2)", "urgent(o1)")
        await attending.settled()

    shop.run(story)
    assert shop.done == ["ship o1", "ship o2"]
    assert "urgent(o1)" in map(str, shop.agent.problem.initial)


def test_attending_ends_when_cancelled_and_the_step_at_work_ends() -> None:
    shop = Shop(observes=False, seconds=10)
    shop.agent.when("pending(o)", ["stored(top)"])
    shop.agent.notify("pending(o1)")

    async def serve() -> None:
        await shop.attend()

    async def story() -> None:
        task = asyncio.create_task(serve())
        await asyncio.sleep(5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert shop.done == ["fetch_cart"]
        async with shop.attend() as attending:
            await attending.settled()

    run_virtual(story())
    assert shop.done == ["fetch_cart", "store top"]
    assert len(shop.of(StepStarted)) == 2


def test_an_approval_may_be_given_later_and_is_taken_note_of() -> None:
    domain, done = Domain("bank", types=["bill"]), []
    domain.action("pay", {"b": "bill"}, requires=["due(b)"], provides=["paid(b)"], tags=["needs_approval", "trusted"])
    domain.action("light", {}, provides=["lit"], tags=["trusted"])
    world = World(domain)
    world.handler("pay")(lambda b: done.append(f"pay {b}"))
    world.handler("light")(lambda: done.append("light"))
    agent = Agent(world)
    agent.when("due(b)", "paid(b)")
    agent.maintain("lit")
    agent.notify("due(b1)")

    async def story() -> None:
        async with agent.attend(poll=None) as attending:
            await attending.settled()
            assert done == ["light"]
            (run,) = attending.waiting
            (question,) = agent.executor.state_of(run).open_questions
            await agent.resume(run, answers={question: "yes"})
            await attending.settled()
            assert not attending.waiting

    run_virtual(story())
    assert done == ["light", "pay b1"]


def test_a_plan_that_cannot_be_begun_is_a_failure_with_a_reason() -> None:
    domain = Domain("post", types=["letter"])
    domain.action("write", {"a": "letter", "text": str}, provides=["written(a)"])
    world = World(domain)
    world.handler("write")(lambda **_: None)
    agent = Agent(world, domain.problem(objects={"x": "letter"}))
    goal = agent.maintain("written(x)", tries=2)

    async def story() -> None:
        async with agent.attend() as attending:
            await attending.settled()
            for _ in range(100):  # between two tries the goal is not due, so that nothing may be left to do
                if not goal.paused:
                    await asyncio.sleep(60)

    run_virtual(story())
    ((_, reason),) = goal.paused.items()
    assert "text" in reason


def test_a_listener_that_fails_changes_nothing() -> None:
    shop = Shop()
    shop.pending.append("o1")
    shop.agent.when("pending(o)", "handled(o)")

    async def story() -> None:
        async with shop.agent.attend(tell=lambda _: 1 / 0) as attending:
            await attending.settled()

    run_virtual(story())
    assert shop.done == ["ship o1"]


def test_a_listener_may_report_and_state_goals() -> None:
    shop = Shop(observes=False)

    def react(event) -> None:
        if isinstance(event, told.PursuitEnded) and "lit" not in shop.agent.standing_goals:
            shop.agent.maintain("lit")
            shop.agent.notify("pending(o2)")

    async def story() -> None:
        shop.agent.when("pending(o)", "handled(o)")
        shop.agent.notify("pending(o1)")
        async with shop.agent.attend(tell=react) as attending:
            await attending.settled()

    run_virtual(story())
    assert sorted(shop.done) == ["light", "ship o1", "ship o2"]


def test_observers_that_name_odd_things_or_fail_are_told_and_the_rest_goes_on() -> None:
    shop = Shop(observes=False)
    shop.world.observer("pending(_)")(lambda: ["o1", "order 7; drop table", "", "top", "ö", "x" * 100_000])

    @shop.world.observer("urgent(_)")
    def broken() -> None:
        raise RuntimeError("no connection")

    shop.agent.when("pending(o)", "handled(o)")
    shop.agent.when("urgent(o)", "lit")
    shop.run(settle)
    assert "ship o1" in shop.done
    assert "light" not in shop.done
    assert "no connection" in str(shop.events)


def test_objects_that_a_run_creates_are_known_by_their_names_afterwards() -> None:
    desk, made = Domain("desk", types=["client", "ticket"]), []
    desk.predicate("about", "ticket", "client")
    desk.action(
        "open_ticket",
        {"c": "client"},
        requires=["asked(c)"],
        creates={"t": "ticket"},
        provides=["about(t, c)"],
        tags=["trusted"],
    )
    world = World(desk)

    @world.handler("open_ticket")
    async def open_ticket(c) -> ActionResult:
        made.append(str(c))
        return ActionResult(created={"t": f"T{len(made)}"})

    agent = Agent(world)
    agent.when("asked(c)", "(exists (?t - ticket) (about ?t ?c))")

    async def story() -> None:
        async with agent.attend(poll=None) as attending:
            for client in ("ann", "bob"):
                agent.notify(f"asked({client})")
                await attending.settled()

    run_virtual(story())
    assert made == ["ann", "bob"], "each once: a ticket that was opened is known"
    assert {"about(T1, ann)", "about(T2, bob)"} <= set(map(str, agent.problem.initial))


def test_what_nobody_knows_does_not_count_as_reached() -> None:
    house, shut = Domain("house", types=["door"]), []
    house.action("shut", {"d": "door"}, requires=["open(d)"], provides=["not open(d)"])
    house.predicate("night")
    world = World(house)

    @world.handler("shut")
    async def close(d) -> None:
        shut.append(str(d))

    @world.observer("open(d)")
    async def is_open(d) -> bool:
        return str(d) not in shut

    agent = Agent(world, house.problem(objects={"front": "door"}, unknown=["open(_)"]))
    agent.when("night", "(forall (?d - door) (not (open ?d)))")
    agent.notify("night")

    async def story() -> None:
        async with agent.attend() as attending:
            await attending.settled()

    run_virtual(story())
    assert shut == ["front"]


def test_one_attends_at_a_time() -> None:
    shop = Shop()

    async def story(_):
        with pytest.raises(RunError, match="attends to the standing goals of this agent already"):
            await shop.attend()

    shop.run(story)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (lambda agent: agent.when("pendin(o)", "handled(o)"), "did you mean 'pending'"),
        (lambda agent: agent.when("pending(o)", "handled(p)"), "neither an object nor a variable of the condition"),
        (lambda agent: agent.when("pending(o, p)", "handled(o)"), "has 2 arguments, but pending has 1"),
        (lambda agent: agent.when("stored(topp)", "lit"), "did you mean 'top'"),
        (lambda agent: agent.when(["pending(o)", "stored(o)"], "lit"), "order in one place and shelf in another"),
        (lambda agent: agent.when("pending(o)", []), "there is no goal to achieve"),
        (lambda agent: agent.when("pending(o)", {"soft": {"lit": 3}}), "no soft goals"),
        (lambda agent: agent.when("pending(", "lit"), "pending"),
        (lambda agent: agent.when(7, "lit"), "no condition"),
        (lambda agent: agent.maintain("stock(widget) >= 5"), "compares numbers"),
        (lambda agent: agent.maintain("lit", low=5), "facts have none"),
        (lambda agent: agent.maintain(lambda: True), "restore="),
        (lambda agent: agent.when(lambda _: True, "lit"), "has no planning type"),
        (lambda agent: agent.when("lit", "dark", tries=0), "tries must be"),
        (lambda agent: agent.when("lit", "dark", calm="long"), "calm must be"),
        (lambda agent: agent.when("lit", "dark", priority="high"), "priority must be"),
        (lambda agent: agent.when("lit", "dark", name=7), "name must be"),
        (lambda agent: [agent.when("lit", "dark") for _ in range(2)], "already a standing goal"),
        (lambda agent: agent.notify(), "nothing was reported"),
        (lambda agent: agent.notify("pending"), "has 0 arguments"),
        (lambda agent: agent.notify('pending(shelf:"top")'), "'top' is a shelf, not an order"),
        (lambda agent: agent.notify("penden(o1)"), "did you mean 'pending'"),
        (lambda agent: agent.notify(7), "is no fact"),
        (lambda agent: agent.notify("(or (lit) (dark))"), "no fact"),
        (lambda agent: agent.attend(poll=0), "poll must be"),
        (lambda agent: agent.attend(tell=7), "tell must be"),
    ],
)
def test_mistakes_are_named(state, message) -> None:
    with pytest.raises(InputError) as caught:
        state(Shop().agent)
    assert message in str(caught.value)


@pytest.mark.parametrize("stated", ["maintain", "restore", "when"])
def test_a_goal_that_somebody_undoes_is_pursued_again(stated):
    domain = Domain("home")
    domain.predicate("dark")
    domain.action("switch_on", provides=["light"])
    world, lamp, log = World(domain), {"light": False}, []

    @world.handler("switch_on")
    async def switch_on():
        lamp["light"] = True
        log.append("on")

    world.observer("light", conclusive=True)(lambda: lamp["light"])
    world.observer("dark", conclusive=True)(lambda: True)
    agent = Agent(world)
    if stated == "when":
        agent.when("dark", achieve="light")
    else:
        agent.maintain("light", **({"restore": "light"} if stated == "restore" else {}))

    async def live():
        clock = asyncio.get_running_loop().time
        async with agent.attend(poll=5, clock=clock) as attending:
            for _ in range(3):
                await attending.settled()
                assert lamp["light"]
                lamp["light"] = False
                await asyncio.sleep(100)
            assert lamp["light"]

    run_virtual(live())
    assert log == ["on"] * 4
