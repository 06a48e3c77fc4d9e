"""What is said where a domain or a problem in time has a mistake, or can have no plan for a plain reason."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from planner import DeclarationError, Domain, InputError, Plan, Problem, Status, check_problem, load, solve, validate
from planner.model.calendar import find_gap
from planner.plan import Step, StepTime

BERLIN = ZoneInfo("Europe/Berlin")
TRIP = """domain: trip
types: [place]
predicates: {here: [place], there: [place]}
functions: {way: [place]}
actions:
  go:
    parameters: {p: place}
    requires: ["here(p)"]
    provides: ["there(p)"]
    duration: DURATION
---
problem: one
objects: {x: place}
initial: ["here(x)", "way(x) = 4"]
goal: ["there(x)"]
objective: makespan
"""


def write(folder: Path, text: str) -> Path:
    file = folder / "trip.yaml"
    file.write_text(text)
    return file


@pytest.mark.parametrize(
    ("duration", "hint"), [("wey(p)", "did you mean 'way'?"), ("way(p) + abc", "declare it among the functions")]
)
def test_a_duration_of_no_function_is_an_error_where_it_is_written(tmp_path: Path, duration: str, hint: str) -> None:
    with pytest.raises(InputError, match="of which there is no function") as caught:
        load(write(tmp_path, TRIP.replace("DURATION", duration)))
    assert "trip.yaml:10:5: the duration of action 'go'" in str(caught.value)
    assert hint in str(caught.value)
    assert load(write(tmp_path, TRIP.replace("DURATION", "2 * way(p)")))


def test_an_action_whose_duration_has_no_value_is_a_finding(tmp_path: Path) -> None:
    text = TRIP.replace("DURATION", "abc").replace("functions: {way: [place]}\n", "").replace(', "way(x) = 4"', "")
    found = [each for each in check_problem(load(write(tmp_path, text))) if each.rule == "no-value"]
    assert ["the duration of action go needs abc, which has no value" in each.message for each in found] == [True]
    known = load(write(tmp_path, text.replace('"here(x)"]', '"here(x)", "abc = 3"]')))
    assert not [each for each in check_problem(known) if each.rule == "no-value"]


def test_a_domain_and_a_problem_in_one_document_are_told_apart(tmp_path: Path) -> None:
    text = TRIP.replace("DURATION", "1").replace("---\n", "")
    with pytest.raises(InputError, match=r"has no key 'types'; .* a document of its own, behind a line '---'"):
        load(write(tmp_path, text))


def visit(window: Any = "18:00..20:00", *, starts_at: Any = "2026-03-28T20:00 Europe/Berlin", **more: Any) -> Problem:
    domain = Domain("visits", types=["shop"])
    domain.action(
        "visit", {"s": "shop"}, provides="seen(s)", duration=60, throughout="open(s)", **more.pop("fields", {})
    )
    windows = {"open(bakery)": window}
    return domain.problem(
        objects={"bakery": "shop"}, goal=["seen(bakery)"], starts_at=starts_at, windows=windows, **more
    )


@pytest.mark.parametrize("window", ["26:30..29:00", "2026-03-29T02:30..29:00", "21:00..2026-03-29T02:00"])
def test_a_local_time_that_clocks_leave_out_is_an_error(window: str) -> None:
    gap = "does not exist: clocks in this time zone are put forward from 02:00 to 03:00 on 2026-03-29"
    with pytest.raises(DeclarationError, match=gap):
        visit(window)
    assert visit("27:00..29:00").timed[0].time == 6 * 3600


def test_a_start_that_clocks_leave_out_is_an_error() -> None:
    for start in ("2026-03-29T02:30 Europe/Berlin", datetime(2026, 3, 29, 2, 30, tzinfo=BERLIN)):
        with pytest.raises(DeclarationError, match="does not exist"):
            visit(starts_at=start)
    assert visit(starts_at="2026-03-29T02:30+01:00").starts_at is not None
    assert visit(starts_at="2026-10-25T02:30 Europe/Berlin").starts_at is not None  # twice, and the first one is meant


def test_a_gap_is_found_in_all_zones() -> None:
    lord_howe = datetime(2026, 10, 4, 2, 10, tzinfo=ZoneInfo("Australia/Lord_Howe"))
    assert [str(each) for each in find_gap(lord_howe) or ()] == ["2026-10-04 02:00:00", "2026-10-04 02:30:00"]
    assert find_gap(datetime(2026, 3, 29, 3, tzinfo=BERLIN)) is None
    assert find_gap(datetime(2026, 3, 29, 1, 59, 59, 999_999, BERLIN)) is None


def test_the_reason_names_a_window_that_is_over() -> None:
    result = solve(visit("8:00..17:15", starts_at="2026-11-27T18:00 Europe/Berlin"), time_limit=20)
    assert result.status is Status.UNSOLVABLE
    assert "the last window of open(bakery) ended 2700 s before the plan begins" in result.reason
    both = visit(["8:00..17:15", "19:00..20:00"], starts_at="2026-11-27T18:00 Europe/Berlin")
    assert both.past == ()
    assert solve(both, time_limit=20).plan is not None


@pytest.mark.parametrize("amount", [0, Decimal("0.5")])
def test_the_reason_names_a_capacity_that_no_step_fits_in(amount: Decimal) -> None:
    result = solve(visit(fields={"holds": {"car": 1}}, capacity={"car": amount}), time_limit=20)
    assert result.status is Status.UNSOLVABLE
    assert f"no step of visit can start, as it holds 1 of car, and there is {amount}" in result.reason


def blink(duration: Any, **more: Any) -> Problem:
    domain = Domain("blinks", types=["lamp"])
    domain.function("length", "lamp")
    domain.action("blink", {"l": "lamp"}, provides="seen(l)", duration=duration, throughout="lit")
    domain.action("light", {}, provides="lit", duration=2)
    objects = dict.fromkeys(more, "lamp")
    values = [f"length({name}) = {value}" for name, value in more.items()]
    return domain.problem(
        objects=objects, initial=values, goal=[f"seen({name})" for name in more], objective="makespan"
    )


def test_a_step_of_no_time_needs_nothing_throughout() -> None:
    for problem in (blink(0, a=1), blink("length(l)", a=0), blink("0..0", a=1)):
        result = solve(problem, time_limit=20)
        assert result.status is Status.OPTIMAL
        assert result.plan is not None
        assert [str(each) for each in result.plan.steps] == ["blink(a)"]
        assert validate(problem, Plan((Step("blink", ("a",)),), problem, times=(StepTime(0, 0),))).valid


def test_a_step_of_some_time_needs_it_beside_others_of_none() -> None:
    result = solve(blink("length(l)", a=0, b=3), time_limit=20)
    assert (result.status, result.cost) == (Status.OPTIMAL, 5)
    short = blink(1, a=1)
    assert not validate(short, Plan((Step("blink", ("a",)),), short, times=(StepTime(0, 1),))).valid
