"""Schedules of standing goals: absolute times, cron expressions, time zones, and times that were missed."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from executor import Agent, World
from executor.agent import agent_events as told
from executor.agent.standing_goals.schedules import MOST_COUNTED, Once, find_due, read_cron
from executor.errors import JournalError
from executor.testing.virtual_time import run_virtual
from planner import Domain
from planner.errors import InputError

START = datetime(2030, 1, 1, 8, 0, tzinfo=UTC)


class Office:
    """An office that backs up its data and tidies its rooms; its clock begins at `START`."""

    def __init__(self, journal: Any = None) -> None:
        domain = Domain("office", types=["room"])
        domain.action("back_up", {}, provides=["backed_up"], tags=["trusted"])
        domain.action("tidy", {"room": "room"}, provides=["tidy(room)"], tags=["trusted"])
        domain.predicate("used", "room")
        world = World(domain)
        self.done: list[tuple[str, float]] = []
        self.broken = False

        @world.handler("back_up")
        async def back_up() -> bool:
            self.done.append(("back_up", self.clock()))
            return not self.broken

        @world.handler("tidy")
        async def tidy(room) -> None:
            self.done.append((f"tidy {room}", self.clock()))

        problem = domain.problem(objects={"hall": "room", "attic": "room"})
        self.agent, self.events, self.offset = Agent(world, problem, journal=journal), [], START.timestamp()

    def clock(self) -> float:
        return self.offset + asyncio.get_running_loop().time()

    def live(self, seconds: float) -> None:
        """Attend for so many seconds; the clock goes on from there."""

        async def attended() -> None:
            async with self.agent.attend(clock=self.clock, tell=self.events.append):
                await asyncio.sleep(seconds)

        run_virtual(attended())
        self.offset += seconds

    def of(self, kind: type) -> list[Any]:
        return [each for each in self.events if isinstance(each, kind)]


def times(office: Office) -> list[datetime]:
    return [datetime.fromtimestamp(time, UTC) for _, time in office.done]


def test_a_goal_is_pursued_once_at_its_time() -> None:
    office = Office()
    office.agent.at(datetime(2030, 1, 1, 10, 30, tzinfo=ZoneInfo("Europe/Berlin")), "backed_up")
    office.live(2 * 3600)
    assert times(office) == [datetime(2030, 1, 1, 9, 30, tzinfo=UTC)]
    assert not office.agent.standing_goals, "it is over"


def test_a_goal_is_pursued_anew_at_each_time_of_a_cron_expression() -> None:
    office = Office()
    office.agent.every("*/15 9 * * *", "backed_up")
    office.live(26 * 3600)
    quarters = [datetime(2030, 1, day, 9, minute, tzinfo=UTC) for day in (1, 2) for minute in (0, 15, 30, 45)]
    assert times(office) == quarters


def test_a_goal_that_is_not_renewed_is_left_alone_while_it_is_believed() -> None:
    office = Office()
    office.agent.every("*/15 9 * * *", "backed_up", renew=False)
    office.live(26 * 3600)
    assert len(office.done) == 1
    assert len(office.of(told.Fired)) == 8


def test_a_scheduled_goal_may_have_a_condition_with_variables() -> None:
    office = Office()
    office.agent.every("0 20 * * *", "tidy(r)", when="used(r)")
    office.agent.notify("used(hall)")
    office.live(24 * 3600)
    assert [name for name, _ in office.done] == ["tidy hall"]


def test_wall_clock_times_follow_the_zone_also_where_clocks_change() -> None:
    cron = read_cron("30 2 * * *", "Europe/Berlin")
    time, found = datetime(2030, 3, 29, 12, tzinfo=UTC).timestamp(), []
    for _ in range(3):
        time = cron.after(time)
        found.append(datetime.fromtimestamp(time, UTC).isoformat())
    assert found[0] == "2030-03-30T01:30:00+00:00"
    assert len(set(found)) == 3, "a time that does not exist on the day when clocks go forward is made up for"
    autumn = read_cron("30 2 * * *", ZoneInfo("Europe/Berlin"))
    first = autumn.after(datetime(2030, 10, 26, 12, tzinfo=UTC).timestamp())
    assert autumn.after(first) - first > 23 * 3600, "an hour that comes twice counts once"


def test_the_last_of_the_times_that_are_due_is_found_and_all_are_counted() -> None:
    cron, now = read_cron("*/10 * * * *", "UTC"), START.timestamp()
    assert find_due(cron, now, now + 599) is None
    assert find_due(cron, now, now + 600) == (now + 600, 1)
    assert find_due(cron, now - 3600, now + 5) == (now, 6)
    assert find_due(cron, 0.0, now) == (now, MOST_COUNTED)
    assert find_due(Once(now), 0.0, now) == (now, 1)
    assert find_due(Once(now), now, now + 5) is None
    due = [cron.before(now + seconds) for seconds in range(0, 1200, 7)]
    assert all(one <= other for one, other in pairwise(due))


@pytest.mark.parametrize(("missed", "made_up"), [("once", 1), ("skip", 0)])
def test_times_that_pass_while_nobody_attends_are_made_up_for_once_or_skipped(tmp_path, missed, made_up) -> None:
    office = Office(tmp_path / "runs.db")
    office.agent.every("0 * * * *", "backed_up", missed=missed, name="hourly")
    office.live(90 * 60)  # until 9:30
    later = Office(tmp_path / "runs.db")
    later.agent.every("0 * * * *", "backed_up", missed=missed, name="hourly")
    later.offset = (START + timedelta(hours=5, minutes=30)).timestamp()  # 10:00 to 13:00 were missed
    later.live(60)
    assert [name for name, _ in (*office.done, *later.done)] == ["back_up"] * (1 + made_up)
    (fired,) = later.of(told.Fired)
    assert (fired.missed, fired.skipped) == (3, missed == "skip")
    again = Office(tmp_path / "runs.db")
    again.agent.every("0 * * * *", "backed_up", missed=missed, name="hourly")
    again.offset = later.offset
    again.live(60)
    assert not again.done, "no time is served twice"


def test_the_journal_keeps_a_goal_with_a_time_and_a_process_pursues_it_that_never_stated_it(tmp_path) -> None:
    office = Office(tmp_path / "runs.db")
    office.agent.at(START + timedelta(hours=1), ["backed_up"], priority=3)
    office.live(60)
    later = Office(tmp_path / "runs.db")
    later.offset = (START + timedelta(hours=3)).timestamp()
    later.live(60)
    assert [name for name, _ in later.done] == ["back_up"]
    again = Office(tmp_path / "runs.db")
    again.agent.at(START + timedelta(hours=1), ["backed_up"], priority=3)
    again.offset = later.offset
    again.live(60)
    assert not again.done, "it is over, also for a process that states it again"


def test_a_time_in_the_past_is_made_up_for_or_skipped() -> None:
    office = Office()
    office.agent.at(START - timedelta(days=1), "backed_up", name="made up for")
    office.agent.at(START - timedelta(days=1), "tidy(hall)", missed="skip", name="skipped")
    office.live(60)
    assert [name for name, _ in office.done] == ["back_up"]
    assert not office.agent.standing_goals


def test_a_scheduled_goal_that_fails_is_given_up_until_the_next_time() -> None:
    office = Office()
    office.broken = True
    goal = office.agent.every("0 * * * *", "backed_up", tries=2)
    office.live(3 * 3600 - 60)
    assert len(goal.paused) == 1
    first = len(office.done)
    office.broken = False
    office.live(120)
    assert len(office.done) == first + 1
    assert not goal.paused


def test_a_clock_that_is_put_back_fires_nothing_twice(tmp_path) -> None:
    office = Office(tmp_path / "runs.db")
    office.agent.every("0 * * * *", "backed_up")
    office.live(90 * 60)
    office.offset -= 3600
    office.live(45 * 60)
    assert len(office.done) == 1


def test_one_process_attends_at_a_time(tmp_path) -> None:
    one, other = Office(tmp_path / "runs.db"), Office(tmp_path / "runs.db")

    async def story() -> None:
        async with one.agent.attend(clock=one.clock):
            with pytest.raises(JournalError, match="attended to already"):
                await other.agent.attend(clock=other.clock)
        async with other.agent.attend(clock=other.clock):
            pass

    run_virtual(story())
    assert other.agent.executor.runs() == {}, "a log is no run"


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (lambda agent: agent.at(START.replace(tzinfo=None), "backed_up"), "has no time zone"),
        (lambda agent: agent.at("tomorrow", "backed_up"), "takes a datetime"),
        (lambda agent: agent.at(START, "backed_up", missed="never"), "missed is 'once' or 'skip'"),
        (lambda agent: agent.at(START, "backed_up", missed=[]), "missed is 'once' or 'skip'"),
        (lambda agent: agent.every("hourly", "backed_up"), "no cron expression"),
        (lambda agent: agent.every("61 * * * *", "backed_up"), "Bad minute"),
        (lambda agent: agent.every("0 0 31 2 *", "backed_up"), "no cron expression"),
        (lambda agent: agent.every(5, "backed_up"), "takes a cron expression"),
        (lambda agent: agent.every("* * * * *", "backed_up", zone="Mars/Base"), "no time zone 'Mars/Base'"),
        (lambda agent: agent.every("* * * * *", "backed_up", zone=3), "no time zone"),
    ],
)
def test_mistakes_are_named(state, message) -> None:
    with pytest.raises(InputError) as caught:
        state(Office().agent)
    assert message in str(caught.value)


def make_shop(known: dict[str, str]) -> tuple[Agent, list[str]]:
    """Return an agent of a shop in which an observer names the order o1, and what it has paid."""
    shop, paid = Domain("shop", types=["order"]), list[str]()
    shop.predicate("pending", "order")
    shop.action("pay", {"o": "order"}, requires=["pending(o)"], provides=["paid(o)"])
    world = World(shop)
    world.handler("pay")(lambda o: paid.append(str(o)))
    world.observer("pending(_)", conclusive=True)(lambda: ["o1"])
    world.observer("paid(o)", conclusive=True)(lambda o: str(o) in paid)
    return Agent(world, shop.problem(objects=known)), paid


def attend_once(agent: Agent, poll: float | None) -> list[Any]:
    """Attend until nothing is left to do; return the reasons of the goals that ended."""
    events: list[Any] = []

    async def attended() -> None:
        async with agent.attend(poll=poll, clock=START.timestamp, tell=events.append) as attending:
            await attending.settled()

    run_virtual(attended())
    return [each.reason for each in events if isinstance(each, told.GoalEnded)]


@pytest.mark.parametrize("poll", [None, 5])
def test_what_is_due_at_once_is_looked_at_before_it_counts_as_reached(poll) -> None:
    agent, paid = make_shop({})
    agent.at(START - timedelta(days=1), achieve="paid(o)", when="pending(o)")
    assert attend_once(agent, poll) == ["it was reached"]
    assert paid == ["o1"]


def test_a_goal_about_nothing_that_is_known_is_not_told_as_reached() -> None:
    agent, paid = make_shop({})
    agent.at(START - timedelta(days=1), achieve="paid(o)")
    assert attend_once(agent, 5) == ["there was nothing that it was about"]
    assert paid == []


def test_the_end_of_the_calendar_is_no_time() -> None:
    agent, _ = make_shop({"o1": "order"})
    with pytest.raises(InputError, match="is no time of this calendar"):
        agent.at(datetime.max.replace(tzinfo=UTC), achieve="paid(o1)")
