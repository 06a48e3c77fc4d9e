"""Models that say anything: runs end as they may, what must not happen is noticed, and a seed determines all."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from random import Random

import pytest
from typer.testing import CliRunner

from benchmarks.adversary.adversary_campaign import adversary_table, judge_run, run_campaign
from benchmarks.adversary.adversary_models import CunningModel, draw_wild_plan
from benchmarks.adversary.adversary_run import WAYS, Counting, carry_out, draw_setting
from benchmarks.cli import app
from benchmarks.sentences.sentence_replay import problem_of
from executor.agent.describe_problem import describe_domain
from executor.agent.goal_reading.goal_problem import Meanings
from executor.language_model import Allowance, Origin, Part, Purpose, Request, Usage
from executor.testing import ScriptedModel
from planner.lightweight import replace

PROBLEM = problem_of("assistant/with-chart")
ASKED = Request(
    Purpose.GOAL, "", (Part("What there is", describe_domain(PROBLEM)), Part("Said", "do it", Origin.USER)), Meanings
)


def test_runs_with_any_model_end_as_they_may() -> None:
    found = list(run_campaign(range(24), 7))
    assert [each.violations for each in found] == [()] * 24, [str(each.setting) for each in found if each.violations]
    assert {each.setting.way for each in found} == set(WAYS)
    assert len({each.ending for each in found}) >= 5
    assert any(each.setting.is_hostile for each in found)
    lines = adversary_table(found).splitlines()
    assert lines[-1].startswith("| all | 24 | 0 |")
    assert len(lines) == 2 + len(WAYS) + 1


def test_a_seed_determines_a_run() -> None:
    drawn = [draw_setting(11, 3), draw_setting(11, 3)]
    assert drawn[0] == drawn[1]
    ends = [judge_run(each, carry_out(each)) for each in drawn]
    assert [(each.ending, each.calls, each.tokens) for each in ends] == [
        (ends[0].ending, ends[0].calls, ends[0].tokens)
    ] * 2


def test_a_cunning_model_knows_the_vocabulary() -> None:
    said = [asyncio.run(CunningModel(PROBLEM, seed, wild=0).answer(ASKED)).value for seed in range(40)]
    goals = [text for each in said for meaning in each["meanings"] for text in meaning["goal"]]
    assert (
        sum(text.removeprefix("not ").partition("(")[0] in PROBLEM.domain.predicates for text in goals) > len(goals) / 2
    )
    assert len({json.dumps(each, sort_keys=True) for each in said}) > 30


def test_wild_plans_are_of_all_kinds() -> None:
    kinds = {type(draw_wild_plan(PROBLEM, Random(seed))) for seed in range(200)}
    assert {str, dict, list, type(None), int} <= kinds


def test_what_must_not_happen_is_noticed() -> None:
    drawn = next(
        each
        for each in map(draw_setting, range(1, 600, len(WAYS)))
        if each.approves and each.has_memory and not each.faults
    )
    carried = carry_out(drawn)
    assert carried.outcomes[0].succeeded
    honest = judge_run(drawn, carried)
    assert honest.violations == ()
    thrifty = dataclasses.replace(drawn, allowance=Allowance(calls=1, tokens=1, money=0.01))
    carried.model.spent, carried.model.before = {0: Usage(2, 1, 1, 0.02)}, {0: Usage(1, 1, 1, 0.01)}
    assert set(judge_run(thrifty, carried).violations) == {
        *("more calls than allowed", "a call without tokens left", "a call without money left")
    }
    carried.model.spent, carried.model.before = {}, {}
    unasked = dataclasses.replace(drawn, way="sentence", confirms=None, waived=False)
    assert "something was done that nobody has confirmed" in judge_run(unasked, carried).violations
    carried.error = "Traceback"
    assert judge_run(drawn, carried).violations == ("it crashed",)


def test_success_that_is_none_is_noticed() -> None:
    drawn = next(
        each
        for each in map(draw_setting, range(1, 1200, len(WAYS)))
        if each.where == "outing/stroll" and not each.faults
    )
    carried = carry_out(drawn)
    assert carried.outcomes[0].succeeded
    assert judge_run(drawn, carried).violations == ()
    carried.held[0] = False
    assert "success that is none" in judge_run(drawn, carried).violations
    stranger = dataclasses.replace(drawn, where="courier/one-parcel")
    assert "an action that was never declared" in judge_run(stranger, carried).violations


def test_calls_are_counted_by_request() -> None:
    model = Counting(ScriptedModel(["one", "two", "three"]))
    filling = replace(ASKED, purpose=Purpose.FILL)
    asyncio.run(model.answer(ASKED))
    model.changing = True
    asyncio.run(model.answer(ASKED))
    asyncio.run(model.answer(filling))
    assert [each.calls for each in model.spent.values()] == [2, 1]


@pytest.mark.parametrize("options", [["--runs", "8"], ["--only", "3"]])
def test_the_command_prints_a_table(options: list[str]) -> None:
    ran = CliRunner().invoke(app, ["adversary", *options])
    assert ran.exit_code == 0, ran.output
    assert "| all |" in ran.stdout
