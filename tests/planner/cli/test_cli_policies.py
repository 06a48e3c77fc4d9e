"""`forethought solve --objective`: what it prints, where, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planner import Policy, load
from planner.cli import Exit, interrupt, main

BRIDGE = """
domain: bridge
actions:
  cross:
    requires: [here, bridge]
    provides: [there, not here]
    outcomes: [{probability: 0.75, provides: [there, not here]}, {probability: 0.25, provides: [not bridge]}]
  mend: {requires: [here], provides: [bridge], risk: 0.5, cost: 2}
---
problem: over
domain: bridge
initial: [here, bridge]
goal: [there]
---
problem: nowhere
domain: bridge
initial: [bridge]
goal: [there]
"""


@pytest.fixture
def solve(tmp_path, monkeypatch, capsys):
    """Return a function that runs the command beside `bridge.yaml`: its exit code, stdout and stderr."""
    (tmp_path / "bridge.yaml").write_text(BRIDGE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(interrupt.resource, "setrlimit", lambda *_: None)

    def call(*words):
        with pytest.raises(SystemExit) as stop:
            main(["solve", *words])
        out, err = capsys.readouterr()
        return stop.value.code or 0, out, err

    return call


def test_a_policy_on_stdout_and_what_it_is_worth_on_stderr(solve):
    code, out, err = solve("bridge.yaml", "over", "--objective", "success")
    assert code == Exit.OK
    assert out.splitlines()[:3] == ["1. cross()", "     75 %: there, not here → the goal", "     25 %: not bridge → 2"]
    assert "success 100 %; expected cost 2.66667" in err
    assert "[vi, 3 states expanded" in err


def test_a_policy_as_json_and_in_a_file(solve):
    code, out, err = solve("bridge.yaml", "over", "--objective", "cost", "--json", "-q", "--plan-file", "policy.json")
    assert code == Exit.OK
    assert not err
    data = json.loads(out)
    assert data["status"] == "OPTIMAL"
    problem = load("bridge.yaml", "over")
    policy = Policy.from_dict(json.loads(Path("policy.json").read_text(encoding="utf-8")), problem)
    assert policy == Policy.from_dict(data["policy"], problem)
    assert len(policy) == 3


def test_a_penalty_for_giving_up(solve):
    code, out, err = solve("bridge.yaml", "over", "--objective", "cost", "--penalty", "0.3")
    assert code == Exit.OK
    assert out == "no steps\n"
    assert "expected cost 0.3" in err


def test_no_policy_reaches_the_goal(solve):
    code, out, err = solve("bridge.yaml", "nowhere", "--objective", "success", "--search", "vi")
    assert code == Exit.NEGATIVE
    assert not out
    assert "UNSOLVABLE" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--penalty", "3"], "--penalty is for policies; add '--objective cost'"),
        (["--objective", "luck"], "'luck' is not one of success, cost, utility"),
        (["--objective", "cost", "--penalty", "-1"], "'-1' is not a number, 0 or more"),
        (["--objective", "success", "--penalty", "1"], "only the objective COST weighs a penalty"),
        (["--objective", "success", "--engine", "tamer"], "--objective goes without --engine"),
        (["--objective", "success", "--mode", "first"], "--objective goes without --mode"),
        (["--objective", "success", "--search", "astar"], "no search 'astar' for policies; there are lao, vi, "),
    ],
)
def test_mistakes_of_usage(solve, words, message):
    code, out, err = solve("bridge.yaml", "over", *words)
    assert code == Exit.USAGE
    assert not out
    assert message in err


def test_policies_keep_budgets_and_count_wishes_that_are_asked_for(solve):
    code, out, err = solve("bridge.yaml", "--objective", "success", "--budget", "cost=1")
    assert code == 0
    assert "success 75 %" in err
    assert "mend()" not in out
    code, _, err = solve("bridge.yaml", "--objective", "utility", "--soft", "bridge=5")
    assert code == 0
    assert "expected utility" in err
    code, _, err = solve("bridge.yaml", "--objective", "success", "--deadline", "9")
    assert "one step is done after another" in err


def test_the_weight_of_exploration_is_for_one_search_for_policies(solve):
    code, _, err = solve("bridge.yaml", "--objective", "success", "--search", "mcts", "--exploration", "0.7")
    assert code == 0
    assert "success 100 %" in err
    code, _, err = solve("bridge.yaml", "--exploration", "0.7")
    assert code == Exit.USAGE
    assert "--exploration is for policies" in err
    code, _, err = solve("bridge.yaml", "--objective", "success", "--exploration", "0.7")
    assert code == Exit.USAGE
    assert "search 'mcts' only" in err
