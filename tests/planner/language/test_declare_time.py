"""What problems and actions say of time, and what plans then are."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from planner import Domain, Problem, Status, When, read_documents, solve, validate
from planner.language.declare import Moment
from planner.model.actions import NO_MOMENT, Action, DurationRange, NumericEffect
from planner.model.actions import Moment as ModelMoment
from planner.model.calendar import moment_at, parse_moment, seconds_between, write_moment
from planner.model.formulas import Arithmetic, Atom, Not, Object
from planner.model.problem import Metric, NumericMetric, is_temporal
from planner.model.timing import TOTAL_TIME, GoalDeadline, TimedEffect

R = {"r": "robot"}


def town() -> Domain:
    """Return a domain with the types robot and shop, a function and a predicate."""
    found = Domain("town", types=["robot", "shop"])
    found.function("speed", r="robot")
    found.predicate("open", "shop")
    found.predicate("at", "robot", "shop")
    return found


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (5, 5),
        (2.5, Decimal("2.5")),
        ("7.25", Decimal("7.25")),
        ("6 / 4", Decimal("1.5")),
        ("10 / 3", Arithmetic("/", (10, 3))),
        ("speed(r)", Atom("speed", ("?r",))),
        ("3 / speed(r)", Arithmetic("/", (3, Atom("speed", ("?r",))))),
        ("1..5", DurationRange(1, 5)),
        ("1.5..", DurationRange(Decimal("1.5"))),
        ("..speed(r)", DurationRange(0, Atom("speed", ("?r",)))),
        ({"at_least": 2}, DurationRange(2)),
        ({"at_least": "speed(r)", "at_most": "2 * speed(r)"}, DurationRange(
            Atom("speed", ("?r",)), Arithmetic("*", (2, Atom("speed", ("?r",))))
        )),
    ],
)  # fmt: skip
def test_durations(written: Any, meant: Any) -> None:
    assert town().action("wait", R, duration=written).duration == meant
    text = f"domain: town\ntypes: [robot]\nfunctions: {{speed: [robot]}}\nactions:\n  wait:\n    parameters: {R}\n"
    document = f"{text}    duration: {written!r}\n".replace("'robot'", "robot")
    assert read_documents(document).classical_domains[0].actions["wait"].duration == meant


def test_moments_and_capacities() -> None:
    action = town().action(
        "serve",
        {**R, "s": "shop"},
        duration="1..speed(r)",
        throughout=["open(s)", "at(r, s)"],
        at_start={"requires": "rested(r)", "provides": "busy(r)", "modifies": ["at(r, _)", "power(r) -= ?duration"]},
        at_end=Moment(when=When("open(s)", "served(s)", "sales += 2")),
        holds=["till"],
    )
    power, sales = Atom("power", ("?r",)), Atom("sales")
    assert action.at_start == ModelMoment(
        Atom("rested", ("?r",)),
        (Atom("busy", ("?r",)),),
        (Atom("at", ("?r", "_")),),
        numbers=(NumericEffect(power, "-=", Atom("?duration")),),
    )
    (when,) = action.at_end.when
    assert (when.provides, when.numbers) == ((Atom("served", ("?s",)),), (NumericEffect(sales, "+=", 2),))
    assert (str(action.throughout), dict(action.holds)) == ("open(?s) and at(?r, ?s)", {"till": (1,)})


def test_a_fixed_duration_stands_in_effects_that_read_it() -> None:
    action = town().action("charge", R, duration="2 * speed(r)", modifies="power(r) += ?duration / 2", at_end={})
    double = Arithmetic("*", (2, Atom("speed", ("?r",))))
    assert action.numbers == (NumericEffect(Atom("power", ("?r",)), "+=", Arithmetic("/", (double, 2))),)
    assert action.at_end is NO_MOMENT
    assert not action.has_moments


def test_an_empty_moment_from_another_process_is_empty() -> None:
    action: Action = pickle.loads(pickle.dumps(town().action("wait", duration=3)))
    assert not action.has_moments


def shopping(**fields: Any) -> Problem:
    """Return the problem of serving two shops, each for 60 seconds while it is open."""
    domain = town()
    domain.action("serve", {"s": "shop"}, duration=60, throughout="open(s)", provides="served(s)", holds={"worker": 1})
    shops = {"bakery": "shop", "florist": "shop"}
    given = {"initial": ["open(bakery)", "open(florist)"], "goal": ["served(bakery)", "served(florist)"]}
    return domain.problem(**{"objects": shops, "capacity": {"worker": 1}, **given, **fields})


def test_times_are_seconds_times_of_day_or_absolute() -> None:
    florist = Atom("open", ("florist",))
    assert shopping(timed={"9:00": "not open(bakery)", "0:00:02.5": "open(florist)"}).timed == (
        TimedEffect(Decimal("2.5"), (florist,)),
        TimedEffect(32_400, (Not(Atom("open", ("bakery",))),)),
    )
    on_a_day = shopping(
        starts_at="2026-11-27T08:30+01:00",
        timed={
            "9:00": "not open(florist)",
            "2026-11-27T08:00Z": "open(florist)",
            "2026-11-28T08:30": "not open(florist)",
        },
        deadline="31:30",
        due={"served(florist)": {"by": "17:30", "weight": "0.5"}, "served(bakery)": 90},
    )
    assert [each.time for each in on_a_day.timed] == [1800, 1800, 86_400]
    assert on_a_day.deadline == 23 * 3600
    assert on_a_day.due == (
        GoalDeadline(Atom("served", ("florist",)), 9 * 3600, Decimal("0.5")),
        GoalDeadline(Atom("served", ("bakery",)), 90),
    )


def test_windows_are_timed_facts() -> None:
    problem = shopping(
        initial=(),
        windows={"open(bakery)": ["0:00..0:02", "0:10..0:12"], "open(florist)": [120, "0:10"]},
        objective="makespan",
    )
    bakery, florist = (Atom("open", (name,)) for name in ("bakery", "florist"))
    assert problem.initial == (bakery,)
    assert problem.timed == (
        TimedEffect(120, (Not(bakery), florist)),
        TimedEffect(600, (bakery, Not(florist))),
        TimedEffect(720, (Not(bakery),)),
    )
    result = solve(problem, time_limit=20)
    assert result.plan is not None
    assert validate(problem, result.plan).valid
    assert [str(step) for step in result.plan.steps] == ["serve(bakery)", "serve(florist)"]
    assert result.plan.makespan == 180


@pytest.mark.parametrize(
    ("objective", "metric"),
    [
        ("makespan", NumericMetric(TOTAL_TIME)),
        ("4 * makespan + cost", NumericMetric(Arithmetic("+", (Arithmetic("*", (4, TOTAL_TIME)), Atom("total-cost"))))),
        ("cost", Metric.COST),
    ],
)
def test_objectives(objective: str, metric: Metric | NumericMetric) -> None:
    found = shopping(objective=objective)
    assert found.metric == metric == shopping(metric=objective if " " not in objective else metric).metric


def test_capacities_are_kept() -> None:
    alone, both = shopping(objective="makespan"), shopping(objective="makespan", capacity={"worker": 2})
    assert is_temporal(alone)
    for problem, end in ((alone, Decimal("120.001")), (both, 60)):
        result = solve(problem, time_limit=20)
        assert result.plan is not None
        assert result.plan.makespan == end
        assert validate(problem, result.plan).valid
    assert solve(both).status is Status.OPTIMAL


BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-27T08:00+01:00", datetime(2026, 11, 27, 8, tzinfo=timezone(timedelta(hours=1)))),
        ("2026-11-27T08:00Z", datetime(2026, 11, 27, 8, tzinfo=UTC)),
        ("2026-11-27 08:00:30.5 Europe/Berlin", datetime(2026, 11, 27, 8, 0, 30, 500_000, BERLIN)),
    ],
)
def test_absolute_times(text: str, moment: datetime) -> None:
    assert parse_moment(text) == moment == parse_moment(write_moment(moment))
    assert parse_moment(write_moment(moment)).tzinfo == moment.tzinfo


def test_the_clock_goes_on_when_the_clocks_are_changed() -> None:
    evening = datetime(2026, 3, 28, 22, tzinfo=BERLIN)
    assert seconds_between(evening, datetime(2026, 3, 29, 8, tzinfo=BERLIN)) == 9 * 3600
    assert moment_at(evening, 9 * 3600) == datetime(2026, 3, 29, 8, tzinfo=BERLIN)
    assert moment_at(evening, Decimal("9.5")).isoformat() == "2026-03-28T22:00:09.500000+01:00"
    problem = shopping(
        starts_at=evening, timed={"32:00": "not open(bakery)"}, deadline=datetime(2026, 3, 29, 9, tzinfo=BERLIN)
    )
    assert (problem.timed[0].time, problem.deadline) == (9 * 3600, 10 * 3600)


def test_a_replaced_field_is_read_again() -> None:
    from planner.lightweight import replace

    late = replace(shopping(objective="makespan"), due=(GoalDeadline("served(bakery)", 60),))  # type: ignore[arg-type]
    result = solve(replace(late, objects=(*late.objects, Object("mint", ("shop",)))), time_limit=20)
    assert result.plan is not None
    assert str(result.plan.steps[0]) == "serve(bakery)"
