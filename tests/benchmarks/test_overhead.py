"""The overhead benchmark: its worlds do what their plans say, and its tables have a line for each setting."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from benchmarks.cli import app
from benchmarks.overhead.executor_overhead import HEAD, MODELS, run_crowd
from benchmarks.overhead.look_costs import LOOK_HEAD, STEPS, list_look_settings, measure_looks
from benchmarks.overhead.overhead_setting import PLANS, Setting, Timed, measure_memory_here, medians, time_once
from planner import validate


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("observed", [False, True])
def test_plans_are_as_long_as_they_say_and_valid(plan: str, *, observed: bool) -> None:
    world, made = Setting(plan, "dag", 4, observed).made()
    assert len(made.steps) == 4
    assert bool(world.observers) is observed
    assert validate(made.problem, made).valid


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("plan", PLANS)
def test_every_part_of_a_run_takes_time(plan: str, model: str) -> None:
    found = time_once(Setting(plan, model, 3, observed=True), None)
    assert min(found.start, found.order, found.run) > 0


def test_medians_are_taken_of_each_part() -> None:
    assert medians([Timed(1, 9, 2, 5), Timed(2, 8, 3, 6), Timed(3, 7, 1, 7)]) == Timed(2, 8, 2, 6)


def test_what_many_runs_open_they_close() -> None:
    found = run_crowd(3)
    before, meanwhile, after = found.files
    assert before == after
    assert meanwhile >= before
    assert found.clock > 0


def test_memory_is_that_of_the_run() -> None:
    found = measure_memory_here(10)
    assert found.peak > found.run >= 0


@pytest.mark.parametrize("setting", [*list_look_settings()], ids=str)
def test_facts_are_looked_at_first_around_each_step_and_for_the_goal(setting):
    found = measure_looks(setting, runs=1)
    first = STEPS if setting.look == "goal" or (setting.look == "plan" and setting.irreversible) else 0
    before = STEPS + STEPS - 1 if setting.irreversible else 0  # its effect, and what it requires
    assert (found.before, found.looks) == (first + bool(before), first + before + STEPS + STEPS)


@pytest.mark.slow
@pytest.mark.usefixtures("small_heap")
def test_the_command_prints_a_line_for_each_setting() -> None:
    done = CliRunner().invoke(
        app, ["overhead", "--steps", "10", "--rounds", "1", "--memory", "10", "--runs", "2", "--planned", "2"]
    )
    assert done.exit_code == 0, done.output
    lines = [line for line in done.stdout.splitlines() if line.startswith("|")]
    rows = 2 + len(PLANS) * len(MODELS) * 2
    assert len(lines) == rows + 2 + len([*list_look_settings()])
    assert all(line.count("|") == len(HEAD) + 1 for line in lines[:rows])
    assert all(line.count("|") == len(LOOK_HEAD) + 1 for line in lines[rows:])
    assert "A run of 10 steps" in done.stdout
    assert "2 runs of 10 steps" in done.stdout


def test_lengths_are_numbers_of_steps() -> None:
    done = CliRunner().invoke(app, ["overhead", "--steps", "1,0"])
    assert done.exit_code == 2
    assert "write numbers of steps" in done.output
