"""`check` of standing goals: an irreversible effect that outlives its occasion is told, and shown to do so in a run."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from executor import Agent, World
from executor.agent.standing_goals.goal_checks import check_standing_goal
from executor.testing.virtual_time import run_virtual
from planner import Domain
from planner.cli import main

MONTHLY = "0 0 1 * *"
START = datetime(2030, 1, 1, 0, 0, tzinfo=UTC).timestamp()
FILE = """
from executor import Agent, World
from planner import Domain

rent = Domain("rent", types=["landlord"])
rent.action("pay", {{"to": "landlord"}}, provides=["paid(to)"], tags=["irreversible", "trusted"])
agent = Agent(World(rent), rent.problem(objects={{"ann": "landlord"}}))
agent.{stated}
"""


def rent(**terms):
    """Return an agent that pays a landlord each month, and the payments; `terms` are those of its only goal."""
    domain = Domain("rent", types=["landlord", "month"])
    domain.predicate("current", "month")
    domain.action("pay", {"to": "landlord"}, provides=["paid(to)"], tags=["irreversible"])
    domain.action(
        "pay_for", {"to": "landlord", "month": "month"}, provides=["paid_for(to, month)"], tags=["irreversible"]
    )
    domain.action("settle", {"to": "landlord"}, provides=["settled(to)"], tags=["irreversible"])
    domain.action("close", {"to": "landlord"}, requires=["settled(to)"], modifies=["settled(to)"])
    domain.action("greet", {"to": "landlord"}, provides=["greeted(to)"])
    world, paid = World(domain), []

    @world.handler("pay")
    async def pay(to) -> None:
        paid.append(to)

    @world.observer("paid(_)", conclusive=True, settle_within=0)
    async def see() -> list[str]:
        return [*paid]

    agent = Agent(world, domain.problem(objects={"ann": "landlord", "may": "month"}, initial=["current(may)"]))
    agent.every(MONTHLY, **terms)
    return agent, paid


def check(agent):
    goals = agent.standing_goals.values()
    return [each for goal in goals for each in check_standing_goal(goal, agent.runs.problem.domain)]


def test_a_lasting_effect_is_told_and_done_only_once():
    agent, paid = rent(achieve="paid(ann)")
    (found,) = check(agent)
    assert (found.rule, found.place) == ("lasting-effect", "standing goal paid(ann), every '0 0 1 * *' (UTC)")
    assert found.message == (
        "paid(ann) names no period, and no action ends it: "
        "after the first pay it is reached at each later time, and nothing is done"
    )
    assert found.hint == (
        "name the period in it, as paid(ann, month) with when='current(month)', or let an action end it"
    )

    async def live() -> None:
        loop = asyncio.get_running_loop()
        async with agent.attend(poll=None, clock=lambda: START + loop.time()):
            await asyncio.sleep(100 * 24 * 3600)

    run_virtual(live())
    assert paid == ["ann"]


@pytest.mark.parametrize(
    "terms",
    [
        {"achieve": "paid_for(ann, m)", "when": "current(m)"},
        {"achieve": "settled(ann)"},
        {"achieve": "greeted(ann)"},
    ],
    ids=["period", "ended", "reversible"],
)
def test_effects_with_a_period_or_an_end_are_not_told(terms):
    agent, _ = rent(**terms)
    assert check(agent) == []


@pytest.mark.parametrize(
    ("stated", "is_told"),
    [
        ('every("0 0 1 * *", "paid(ann)", name="monthly")', True),
        ('at(__import__("datetime").datetime(2030, 1, 1, tzinfo=__import__("datetime").UTC), "paid(ann)")', False),
        ('when("not paid(l)", "paid(l)")', False),
    ],
    ids=["every", "at", "when"],
)
def test_check_reads_the_agents_of_a_file(stated, is_told, tmp_path, capsys):
    path = tmp_path / "rent.py"
    path.write_text(FILE.format(stated=stated))
    with pytest.raises(SystemExit):
        main(["check", str(path)])
    told = capsys.readouterr().out
    assert ("warning FT711: standing goal monthly: paid(ann) names no period" in told) is is_told, told
