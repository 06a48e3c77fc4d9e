"""The executor's part of the demo: it breaks what it says and mends it; and a sentence is carried out."""

from pathlib import Path

import pytest

from executor.agent import agent_demo
from executor.demo import BROKEN, KILLED, LIAR, show_run
from executor.errors import Unreachable
from executor.testing import ScriptedModel
from planner.errors import InputError


def test_the_demo_catches_a_lie_patches_and_survives_a_kill(tmp_path):
    lines = []
    assert show_run(lines.append, lines.append, lines.append, tmp_path)
    assert any(line.startswith(f"  failed  {BROKEN}") for line in lines)
    assert any(line.startswith("  patch") for line in lines)
    [caught] = [line for line in lines if line.startswith(f"  caught  {LIAR}: the handler reports success, but")]
    [killed] = [line for line in lines if line.startswith(f"  killed  {KILLED}")]
    [found] = [line for line in lines if line.startswith(f"  done    {KILLED}: the process stopped")]
    assert lines.index(caught) < lines.index(killed) < lines.index(found)
    assert lines[-2:] == ["SUCCEEDED: the goal was observed, though 4 things went wrong", f"{KILLED} was done once"]


def test_a_demo_whose_process_is_not_killed_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("executor.demo.sys.executable", "false")
    lines = []
    assert not show_run(lines.append, lines.append, lines.append, tmp_path)
    assert lines[-1] == "the process was to be killed, and ended with 1"


def shown(monkeypatch, model):
    monkeypatch.setattr(agent_demo, "model_of", model)
    lines = []
    assert agent_demo.show_sentence(lines.append, lines.append, lines.append, Path())
    return "\n".join(lines)


def test_a_sentence_becomes_a_goal_a_plan_and_a_run(monkeypatch):
    text = shown(monkeypatch, lambda: None)
    assert "objection: 'bord' in sent(memo, bord) is no object of the problem" in text
    assert "- sent(memo, board)\nOn the way:\n- never sent(memo, ada)" in text
    assert "summarise(survey)   the model fills in words = 200" in text
    assert text.count("SUCCEEDED: the goal was observed") == 1
    assert "how to configure one" in text


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (lambda: ScriptedModel(agent_demo.ANSWERS), "The same, by the language model that is configured"),
        (lambda: ScriptedModel([Unreachable("down")]), "no answer: down\nnothing is done: the language model gave"),
    ],
)
def test_a_model_that_is_configured_speaks_too(monkeypatch, model, said):
    assert said in shown(monkeypatch, model)


def test_a_model_that_cannot_be_had_does_not_break_the_demo(monkeypatch):
    def none():
        raise InputError("no such provider")

    assert "cannot be had: no such provider" in shown(monkeypatch, none)
