"""`forethought solve` with budgets and deadlines, and with candidates that are ranked."""

from __future__ import annotations

import json
import shlex

import pytest

from planner import StoppedBy
from planner.cli import Exit, interrupt, main, options
from planner.limits import LimitReached

ERRANDS = """
domain: errands
types: {thing: object}
predicates: {needs: {parameters: [thing]}}
actions:
  order:
    parameters: {what: thing}
    requires: ["needs(what)"]
    provides: ["have(what)"]
    cost: 1
    uses: {money: 5}
    duration: 60
  fetch:
    parameters: {what: thing}
    requires: ["needs(what)"]
    provides: ["have(what)"]
    cost: 4
    uses: {money: 2}
    duration: 20
  borrow:
    parameters: {what: thing}
    requires: ["needs(what)"]
    provides: ["have(what)"]
    cost: 5
    duration: 20
    tags: [needs_approval]
---
problem: party
domain: errands
objects: {cake: thing, chairs: thing}
initial: ["needs(cake)", "needs(chairs)"]
goal: ["have(cake)", "have(chairs)"]
"""


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a command line in a folder with the domain; return the exit code, stdout and stderr."""
    (tmp_path / "errands.yaml").write_text(ERRANDS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(interrupt.resource, "setrlimit", lambda *_: None)

    def run_in_process(line):
        with pytest.raises(SystemExit) as ended:
            main(shlex.split(line))
        printed = capsys.readouterr()
        return Exit(ended.value.code or 0), printed.out, printed.err

    return run_in_process


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ("--budget money=10", Exit.OK, "proved optimal: cost 2, 2 steps, 10 of 10 money ["),
        ("--budget money=9", Exit.OK, "proved optimal: cost 5, 2 steps, 7 of 9 money ["),
        ("--budget money=6.5", Exit.OK, "cost 6, 2 steps, 5 of 6.5 money ["),
        ("--budget money=4 --budget cost=8", Exit.OK, "cost 8, 2 steps, 4 of 4 money ["),
        ("--budget money=3 --budget cost=8", Exit.NEGATIVE, "proved unsolvable: "),
        ("--deadline 60", Exit.OK, "proved optimal: cost 2, 2 steps, 60 of 60 seconds ["),
        ("--deadline 59", Exit.OK, "proved optimal: cost 8, 2 steps, 20 of 59 seconds ["),
        ("--deadline 19", Exit.NEGATIVE, "every plan takes 20 seconds or more, and the deadline is 19"),
        ("--deadline 20 --budget money=3", Exit.OK, "cost 9, 2 steps, 2 of 3 money, 20 of 20 seconds ["),
        ("--budget gold=3", Exit.USAGE, "no action uses 'gold'"),
        ("--budget money=1 --budget cost=2 --budget money=9", Exit.USAGE, "there are two budgets of 'money'"),
        ("--budget money", Exit.USAGE, "'money' is no budget, such as 'money=5'"),
        ("--budget money=much", Exit.USAGE, "'much' is not a number, 0 or more"),
        ("--deadline soon", Exit.USAGE, "'soon' is not a number, 0 or more"),
        ("--deadline 0", Exit.USAGE, "the deadline is 0; it must be above 0, in seconds"),
        ("--rank cost", Exit.USAGE, "--rank is for several plans"),
        ("--pareto", Exit.USAGE, "--pareto is for several plans"),
        ("--within 0.5", Exit.USAGE, "a factor of 1 or more, not 0.5"),
        ("--wasteful", Exit.USAGE, "--wasteful is for several plans"),
        ("--candidates 3 --mode first", Exit.USAGE, "--candidates goes without --mode"),
        ("--candidates 99999999999999999999", Exit.OK, "9 candidates: there are no others"),
        ("--candidates 2 --deadline 90", Exit.OK, "2 candidates, of which nothing is proved; others cost 2 or more"),
        ("--candidates 3 --rank price", Exit.USAGE, "there is no criterion 'price'"),
        ("--candidates 3 --rule 'maybe order'", Exit.USAGE, "'maybe order' is no rule"),
    ],
)
def test_what_is_said(run, options, code, said):
    found, _, err = run(f"solve errands.yaml {options}")
    assert found is code
    assert said in err


def test_data_of_a_plan_within_limits(run):
    _, out, _ = run("solve errands.yaml --budget money=9 --deadline 100 --json")
    assert json.loads(out)["uses"] == {"money": 7, "seconds": 60}
    _, out, _ = run("solve errands.yaml --json")
    assert "uses" not in json.loads(out)


@pytest.mark.parametrize(
    ("stop", "code", "stopped_by"),
    [
        (KeyboardInterrupt(), Exit.INTERRUPTED, "cancelled"),
        (MemoryError(), Exit.NO_VERDICT, "memory"),
        (LimitReached(StoppedBy.TIME), Exit.NO_VERDICT, "time"),
    ],
)
def test_data_of_work_that_was_broken_off(run, monkeypatch, stop, code, stopped_by):
    def broken_off(*_):
        raise stop

    monkeypatch.setattr(options, "load_changed", broken_off)
    found, out, err = run("solve errands.yaml --candidates 2 --json")
    assert found is code
    assert err == "no candidates: the work was broken off\n"
    data = json.loads(out)
    assert data["candidates"] == []
    assert (data["stopped_by"], data["proved"], data["complete"]) == (stopped_by, False, False)


def test_candidates_by_cost(run):
    code, out, err = run("solve errands.yaml --candidates 2 --quiet")
    assert code is Exit.OK
    assert err == ""
    assert out.startswith("; candidate 1\n(order cake)\n(order chairs)\n; cost = 2\n\n; candidate 2\n")


def test_candidates_within_budgets_are_ranked(run):
    code, out, err = run("solve errands.yaml --candidates 9 --budget money=7 --rank 'duration, cost'")
    assert code is Exit.OK
    assert "7 candidates, the cheapest" in err or "candidates: there are no others" in err
    assert "has the least duration (20 s)." in err or "have the least duration (20 s)." in err
    assert out.split("; candidate")[1].endswith("; cost = 8\n\n")


def test_what_no_other_plan_is_better_than_by_all_that_tells_plans_apart(run):
    code, out, err = run("solve errands.yaml --candidates 9 --pareto")
    assert code is Exit.OK
    assert "cost  duration  money" in err
    costs = [int(each.split("; cost = ")[1]) for each in out.split("; candidate ")[1:]]
    assert costs[0] == 2
    assert len(costs) > 3
    assert "Candidate 1 has the least cost (2)." in err


def test_candidates_may_forgo_wishes(run):
    code, out, _ = run("solve errands.yaml --candidates 2 --soft 'not have(cake)=9' --json")
    assert code is Exit.OK
    assert len(json.loads(out)["candidates"]) == 2


def test_rankings_as_data(run):
    _, out, _ = run("solve errands.yaml --candidates 9 --rank '2*cost + money' --rule 'never @needs_approval' --json")
    data = json.loads(out)
    assert len(data["candidates"]) == 9
    ranking = data["ranking"]
    assert [each["score"] for each in ranking["ranked"]] == [14, 17, 17, 20]
    assert len(ranking["excluded"]) == 5
    assert ranking["excluded"][0]["reasons"][0].startswith("never @needs_approval: step")


def test_the_pareto_set(run):
    _, out, _ = run("solve errands.yaml --candidates 9 --rank 'cost, money' --pareto --json")
    values = [tuple(each["values"].values()) for each in json.loads(out)["ranking"]["ranked"]]
    assert values == sorted(values)
    assert {(2, 10), (5, 7), (6, 5), (8, 4), (9, 2), (10, 0)} == set(values)


def test_each_goes_into_a_file_the_best_into_the_first(run, tmp_path):
    run("solve errands.yaml --candidates 9 --rank duration,cost --plan-file plan")
    assert (tmp_path / "plan.1").read_text(encoding="utf-8").endswith("; cost = 8\n")
    assert len([*tmp_path.glob("plan.*")]) == 9


def test_all_plans_within_a_factor(run):
    _, out, err = run("solve errands.yaml --within 2.5")
    assert out.count("; candidate") == 3
    assert "3 candidates, the cheapest; others cost 6 or more" in err
    _, out, _ = run("solve errands.yaml --within 2.5 --orders")
    assert out.count("; candidate") == 6
    _, out, _ = run("solve errands.yaml --within 2.5 --orders --wasteful --candidates 3")
    assert out.count("; candidate") == 3


def test_where_nothing_is_left_the_exit_code_says_no(run):
    rules = "--rule 'never order' --rule 'never fetch' --rule 'never borrow'"
    code, out, err = run(f"solve errands.yaml --candidates 9 {rules}")
    assert code is Exit.NEGATIVE
    assert out == ""
    assert "No plan is left to choose." in err
