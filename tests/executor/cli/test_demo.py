"""The executor's part of the demo: it breaks what it says and mends it; and a sentence is carried out."""

import pytest

from executor.agent import agent_demo
from executor.demo import BROKEN, LIAR, show, show_faults
from executor.errors import Unreachable
from executor.testing import ScriptedModel
from planner.errors import InputError


def test_the_demo_breaks_and_patches():
    lines = []
    assert show_faults(lines.append, lines.append, lines.append)
    assert any(line.startswith(f"  failed  {BROKEN}") for line in lines)
    assert any(line.startswith("  patch") for line in lines)
    assert any(line.startswith(f"  retry   {LIAR}") for line in lines)
    assert lines[-1].startswith("SUCCEEDED")


def shown(monkeypatch, model, show=agent_demo.show_sentence):
    monkeypatch.setattr(agent_demo, "model_of", model)
    lines = []
    assert show(lines.append, lines.append, lines.append)
    return "\n".join(lines)


def test_a_sentence_becomes_a_goal_a_plan_and_a_run(monkeypatch):
    text = shown(monkeypatch, lambda: None, show)
    assert "objection: 'bord' in sent(memo, bord) is no object of the problem" in text
    assert "- sent(memo, board)\nOn the way:\n- never sent(memo, ada)" in text
    assert "summarise(survey)   the model fills in words = 200" in text
    assert text.count("SUCCEEDED: the goal was observed") == 2
    assert "how to configure one" in text


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (lambda: ScriptedModel(agent_demo.ANSWERS), "8. The same, by the language model that is configured"),
        (lambda: ScriptedModel([Unreachable("down")]), "no answer: down\nnothing is done: the language model gave"),
    ],
)
def test_a_model_that_is_configured_speaks_too(monkeypatch, model, said):
    assert said in shown(monkeypatch, model)


def test_a_model_that_cannot_be_had_does_not_break_the_demo(monkeypatch):
    def none():
        raise InputError("no such provider")

    assert "cannot be had: no such provider" in shown(monkeypatch, none)
