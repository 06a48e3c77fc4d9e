"""What is written in PDDL for problems in time has the optimum of the problem, and takes the same plans."""

from __future__ import annotations

import json
from decimal import Decimal
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

from planner import Domain, Plan, Problem, Status, Step, load, read_documents, solve, validate
from planner.cli import main
from planner.errors import UnsupportedError
from planner.language.pddl.export import Export, export
from planner.language.pddl.plan_files import write_plan
from planner.model.formulas import Number
from planner.plan import StepTime
from planner.semantics.durations import SEPARATION
from planner.validation.timed_replay import TimedReplay
from planner.validation.verdict import Verdict

CHARGE = """\
domain: d
functions: {level: {parameters: {}, low: LOW, high: HIGH}}
actions:
  charge: {duration: "1..20", modifies: ["level RISE"]}
  drain: {duration: "1..20", modifies: ["level FALL"]}
  work: {requires: ["level >= 4"], provides: [made], duration: 3}
---
problem: p
initial: ["level = 0"]
goal: [made]
objective: makespan
"""
RISES = ("+= 2 * ?duration", "+= ?duration * ?duration / 2", "+= 5", "-= -1 * ?duration")
FALLS = ("-= ?duration", "-= 3", "+= -3", ":= 4")


def read_only_problem(text: str) -> Problem:
    """Read the one problem that `text` declares."""
    (problem,) = read_documents(text).problems
    assert isinstance(problem, Problem)
    return problem


def charging(rise: str, fall: str, low: str = "0", high: str = "8") -> Problem:
    text = CHARGE.replace("RISE", rise).replace("FALL", fall).replace("LOW", low).replace("HIGH", high)
    return read_only_problem(text)


def read_back(written: Export) -> Problem:
    """Return the problem that the written texts define."""
    problem = load(written.domain, written.problem)
    assert isinstance(problem, Problem)
    return problem


def judge(problem: Problem, plan: Plan) -> Verdict:
    """Replay the steps of `plan` at their times in `problem`."""
    return TimedReplay(problem, plan.steps, plan.times).judge(None)


def draw_plan(random: Random, problem: Problem) -> Plan:
    """Draw a plan of charging, draining and working, at times that often coincide."""
    names = [*(random.choice(["charge", "drain", "charge"]) for _ in range(random.randint(1, 3))), "work"]
    moments: list[Number] = [0, 1, 4, Decimal("4.001"), 9]
    starts = sorted([*(random.choice(moments) for _ in names[:-1]), random.choice([5, 14, 30])])
    lasting = [random.choice([1, 2, 4]) for _ in names[:-1]]
    times = [StepTime(start, seconds) for start, seconds in zip(starts, [*lasting, 3], strict=True)]
    return Plan(tuple([Step(name, (), 0) for name in names]), problem, times=tuple(times))


@pytest.mark.parametrize(("rise", "fall"), [*product(RISES, FALLS)])
def test_bounds_of_what_changes_by_the_duration_take_the_same_plans(rise: str, fall: str) -> None:
    problem = charging(rise, fall)
    back = read_back(export(problem))
    assert not any(function.low or function.high for function in back.domain.functions.values())
    random, verdicts = Random(7), set()
    for _ in range(150):
        plan = draw_plan(random, problem)
        own, other = judge(problem, plan), judge(back, plan)
        verdicts.add(own.valid)
        if own.valid != other.valid:
            # PDDL lets no two steps read and write a number at one time: both apart, they are valid.
            assert own.valid
            assert "apart" in str(other.reason), (plan, other.reason)
    assert verdicts == {True, False}


def test_the_optimum_with_a_range_of_durations_is_kept_whatever_steps_coincide() -> None:
    problem = charging("+= 2 * ?duration", "-= 1", high="50")
    back = read_back(export(problem))
    own, other = (solve(each, mode="first", time_limit=60) for each in (problem, back))
    assert own.has_plan
    assert other.plan is not None
    assert judge(problem, other.plan).valid
    best = Plan(
        tuple([Step(name, (), 0) for name in ("charge", "charge", "work")]),
        back,
        times=(StepTime(0, 1), StepTime(0, 1), StepTime(Decimal("1.001"), 3)),
    )
    assert judge(problem, best).valid
    assert judge(back, best).valid


def test_bounds_that_no_text_can_carry_are_refused_by_name() -> None:
    domain = charging("+= ?duration", "-= 1").domain
    with pytest.raises(UnsupportedError, match=r"bounds of 'level', which changes by '\?duration'.*without a problem"):
        export(Problem("p", domain), "adl")
    text = CHARGE.replace("RISE", "+= ?duration").replace("FALL", "-= 1").replace("LOW", "0").replace("HIGH", "8")
    with pytest.raises(UnsupportedError, match="where it is set as well"):
        export(read_only_problem(text + 'timed: {5: "level := 3"}'))
    text = text.replace("?duration", "1")
    with pytest.raises(UnsupportedError, match="the change 'level := 9' at 5, which leaves the bounds"):
        export(read_only_problem(text + 'timed: {5: "level := 9"}'))
    kept = read_back(export(read_only_problem(text + 'timed: {5: "level := 8"}')))
    assert solve(kept, mode="first", time_limit=60).has_plan


@pytest.mark.parametrize(("budget", "is_enough"), [(5, True), (4, False)])
def test_a_budget_on_the_cost_beside_the_makespan_is_kept(budget: int, *, is_enough: bool) -> None:
    text = CHARGE.replace("RISE", "+= 1").replace("FALL", "-= 1").replace("LOW", "0").replace("HIGH", "8")
    problem = read_only_problem(text + f"budgets: {{cost: {budget}}}")
    for each in (problem, read_back(export(problem))):
        assert solve(each, mode="first", time_limit=20 if is_enough else 1).has_plan is is_enough


def drawn(seed: int) -> Problem:
    """Draw a small problem in time: needs throughout, windows, capacities, ranges, deadlines, conditional effects."""
    random = Random(seed)
    actions: dict[str, dict[str, Any]] = {
        "prep": {
            "parameters": {"x": "item"},
            "requires": ["raw(x)"],
            "provides": ["prepped(x)", "not raw(x)"],
            "duration": random.choice([2, 4, "size(x)", "1..3"]),
        },
        "finish": {
            "parameters": {"x": "item"},
            "requires": ["prepped(x)"],
            "provides": ["made(x)"],
            "throughout": [],
            "duration": random.choice([1, 3]),
        },
    }
    goal = ["made(a)", *random.choice([["made(b)"], []])]
    problem: dict[str, Any] = {"objective": random.choice(["makespan", "makespan", "makespan + cost"])}
    if random.random() < 0.4:
        rush = {"requires": ["raw(x)"], "provides": ["made(x)", "not raw(x)"], "cost": 3}
        actions["rush"] = {"parameters": {"x": "item"}, **rush, "duration": random.choice([5, 8])}
    if random.random() < 0.4:
        actions["finish"]["throughout"] += ["hot"]
        lasting = random.choice(["2..20", 6])
        actions["heat"] = {"duration": lasting, "at_start": {"provides": ["hot"]}, "provides": ["not hot"]}
    if random.random() < 0.4:
        actions["finish"]["throughout"] += ["open"]
        problem["windows"] = {"open": random.choice([["0:00:02", "0:00:20"], ["0:00:03", "0:00:08"]])}
    if random.random() < 0.4:
        actions["prep"]["holds"] = {"worker": 1}
        problem["capacity"] = {"worker": random.choice([1, 2])}
    if random.random() < 0.4:
        problem["deadline"] = random.choice([4, 5, 9, 14])
    if random.random() < 0.3:
        problem["due"] = {"made(a)": random.choice([5, 8])}
    if random.random() < 0.3:
        actions["prep"]["when"] = [{"requires": ["made(a)"], "provides": ["late(x)"]}]
        goal.append("not late(b)")
    if random.random() < 0.3:
        actions["prep"]["uses"] = {"gas": random.choice([1, "size(x)"])}
        actions["finish"]["uses"] = {"gas": 2}
        problem["budgets"] = {"gas": random.choice([3, 5, 6])}
    domain = {
        "domain": "lab",
        "types": {"item": "object"},
        "predicates": {"late": {"parameters": {"x": "item"}}},
        "constants": {"a": "item", "b": "item"},
        "functions": {"size": {"parameters": {"x": "item"}}},
        "actions": actions,
    }
    stated = {
        "initial": ["raw(a)", "raw(b)"],
        "values": {"size(a)": random.choice([1, 2]), "size(b)": random.choice([1, 3])},
        "goal": goal,
    }
    documents = [domain, {"problem": "p", "domain": "lab", **stated, **problem}]
    return read_only_problem(json.dumps(documents))


def may_be_later(problem: Problem) -> bool:
    """Return whether PDDL may need separations that `problem` does not: shared capacities, looks at deadlines."""
    return bool(problem.due) or any(amount > 1 for amount in problem.capacity.values())


@pytest.mark.parametrize("seed", range(60))
def test_what_is_written_has_the_same_optimum(seed: int) -> None:
    problem = drawn(seed)
    written = export(problem)
    own, other = (solve(each, time_limit=5) for each in (problem, read_back(written)))
    if other.plan is not None:
        verdict = validate(problem, written.read_plan(write_plan(other.plan)))
        assert verdict.valid, verdict.reason
    proved = {Status.OPTIMAL, Status.UNSOLVABLE}
    if own.status not in proved or other.status not in proved:
        pytest.skip("one of the searches proves nothing within its limit")
    assert own.status is other.status
    if own.plan is None or other.plan is None:
        return
    later = other.plan.cost - own.plan.cost
    assert later == 0 or (may_be_later(problem) and 0 < later <= 3 * SEPARATION), (own.plan.cost, other.plan.cost)


SHARED = """\
domain: d
types: {job: object}
actions:
  work: {parameters: {j: job}, provides: ["done(j)"], duration: 3, holds: {worker: 1}}
---
problem: p
objects: {a: job, b: job}
goal: ["done(a)", "done(b)"]
objective: makespan
"""


@pytest.mark.parametrize(
    ("asked", "told", "later"),
    [
        ("capacity: {worker: 1}", "", "0"),
        ("capacity: {worker: 2}", "a capacity of 2 'worker': steps may have to come 0.001 s later", "0.001"),
        ("capacity: {worker: 1}\ndue: {done(a): 5}", "a deadline of done(a): steps may have to come", "0"),
    ],
)
def test_the_command_says_where_steps_come_later(
    asked: str, told: str, later: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "d.yaml").write_text(SHARED + asked)
    with pytest.raises(SystemExit) as ended:
        main(["compile", str(tmp_path / "d.yaml"), "--to", "pddl", "--out", str(tmp_path)])
    assert ended.value.code == 0
    said = capsys.readouterr().err
    assert (told in said) if told else not said
    own = solve(read_only_problem(SHARED + asked), time_limit=60)
    other = solve(load(tmp_path / "domain.pddl", tmp_path / "problem.pddl"), time_limit=60)
    assert own.status is other.status is Status.OPTIMAL
    assert other.expect_plan().cost - own.expect_plan().cost == Decimal(later)


@pytest.mark.parametrize("more", [{"deadline": 9}, {"due": {"there": 9}}])
def test_soft_goals_beside_deadlines_are_refused_and_not_lost(more: dict[str, Any]) -> None:
    domain = Domain("road")
    domain.action("go", provides=["there"], duration=4)
    domain.action("wave", provides=["greeted"])
    problem = domain.problem(goal={"hard": "there", "soft": {"greeted": 5}}, **more)
    with pytest.raises(UnsupportedError, match="soft goals"):
        export(problem)
