"""Errands that come again: references and caches save calls and tokens, and every run still succeeds."""

from __future__ import annotations

from typer.testing import CliRunner

from benchmarks.cli import app
from benchmarks.savings import WAYS, carry_out_errands, draw_errands, drop_references
from benchmarks.sentences.sentence_replay import problem_of


def test_errands_come_again_and_are_the_same_for_the_same_seed() -> None:
    drawn = draw_errands(60, 1)
    assert drawn == draw_errands(60, 1)
    assert drawn != draw_errands(60, 2)
    assert len({each.say for each in drawn}) < 50


def test_without_references_all_parameters_are_open() -> None:
    problem = drop_references(problem_of("assistant/with-chart"))
    assert not any(each.source or each.fixed for action in problem.domain.actions.values() for each in action.data)


def test_references_and_caches_save_calls_and_tokens() -> None:
    drawn = [each for each in draw_errands(60, 3) if each.where.startswith("assistant")][:4] * 2
    found = {
        name: carry_out_errands(drawn, references=references, caches=caches)
        for name, (references, caches) in WAYS.items()
    }
    assert all(each.succeeded for errands in found.values() for each in errands)
    nothing, references, caches = [[sum(x) for x in zip(*_figures(errands), strict=True)] for errands in found.values()]
    assert references[0] == nothing[0] > caches[0]
    assert references[1] == caches[1] < nothing[1]
    assert caches[2] < references[2] < nothing[2]
    assert sum(each.was_found for each in found["references and caches"]) >= 4


def _figures(errands) -> list[tuple[int, int, int]]:
    return [(each.reading, each.filling, each.tokens) for each in errands]


def test_the_command_prints_a_table() -> None:
    done = CliRunner().invoke(app, ["savings", "--runs", "2"])
    assert done.exit_code == 0
    assert "| references and caches | 2 | 2 |" in done.output
