"""`forethought diff`: what changed in the model, in costs, and in the validity of plans."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from executor.desk.loop.diff import Compared
from executor.desk.loop.model_changes import compare_domains
from planner import Domain, load_domain
from planner.language.loading.python_files import list_shipped_names
from planner.plan import Plan, Result, Status, Step, StoppedBy
from planner.validation.verdict import Verdict

OLD = """\
domain: office
types: {robot: object, room: object}
actions:
  move:
    parameters: {robot: robot, origin: room, target: room}
    requires: ["at(robot, origin)", "door(origin, target)"]
    provides: ["at(robot, target)"]
    modifies: ["at(robot, _)"]
  ring: {parameters: {robot: robot}, provides: [rung]}
---
problem: one
objects: {r: robot, a: room, b: room, c: room}
initial: ["at(r, a)", "door(a, b)", "door(b, c)", "door(a, c)"]
goal: ["at(r, c)"]
"""


def compare(forethought, old: str, new: str, *more: str):
    Path("old.yaml").write_text(old)
    Path("new.yaml").write_text(new)
    return forethought("diff", "old.yaml", "new.yaml", *more)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("ring:", "toll:"), ["action ring: is now called toll", "the old plan is still valid, cost 1"]),
        (("move:", "go:"), ["action move: is now called go", "the old plan is still valid, cost 1"]),
        (("{robot: object,", "{robot: m, m: object,"), ["type m: added", "type robot: object → m"]),
        (("  ring: {parameters: {robot: robot}, provides: [rung]}\n", ""), ["action ring: removed"]),
        (
            ("    modifies:", "    cost: 3\n    modifies:"),
            ["action move: cost 1 → 3", "cost 1 (proved) → cost 3 (proved)"],
        ),
        (("    modifies:", "    duration: 3\n    modifies:"), ["action move: duration nothing → 3"]),
        (
            ('target)"]\n    prov', 'target)", rung]\n    prov'),
            ["move: requires + rung", "step 1 move(r, a, c): requires"],
        ),
        (('"at(robot, origin)", ', ""), ["action move: requires - at(robot, origin)"]),
        (("[rung]", "[rung, done]"), ["action ring: provides + done"]),
        (("origin: room, target: room", "target: room, origin: room"), ["action move: parameters"]),
        (('"door(a, c)"', '"door(c, a)"'), ["problem one: initial door(a, c) → door(c, a)", "→ cost 2"]),
        (
            ('goal: ["at(r, c)"]', "goal: [rung, not rung]"),
            ["cost 1 (proved) → no plan (proved)", "not valid any more"],
        ),
        (("domain: office", "domain: bureau"), ["domain: name office → bureau"]),
    ],
)
def test_changes(forethought, change, said):
    ran = compare(forethought, OLD, OLD.replace(*change))
    assert ran.code == 10, ran.err
    for each in said:
        assert each in ran.out


def test_nothing_changed(forethought):
    ran = compare(forethought, OLD, OLD.replace("robot: object, room", "robot:   object, room"))
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "problem one: cost 1 (proved), as before",
        "problem one: the old plan is still valid, cost 1",
    ]


def result(status: Status, cost: int | None = None, bound: int | None = None) -> Result:
    plan = None if cost is None else Plan((Step("pay", (), cost),), None)
    stopped_by = StoppedBy.TIME if status in (Status.SOLVED, Status.UNKNOWN) else StoppedBy.EXHAUSTED
    return Result(status, stopped_by, plan, cost if status is Status.OPTIMAL else bound)


VALID, INVALID, BROKEN_OFF = Verdict(True, 3), Verdict(False, 3), Verdict(False, 3, stopped_by=StoppedBy.TIME)


@pytest.mark.parametrize(
    ("old", "new", "verdict", "differs"),
    [
        (result(Status.OPTIMAL, 3), result(Status.OPTIMAL, 3), VALID, False),
        (result(Status.OPTIMAL, 3), result(Status.OPTIMAL, 3), INVALID, True),
        (result(Status.OPTIMAL, 3), result(Status.OPTIMAL, 3), BROKEN_OFF, None),
        (result(Status.OPTIMAL, 3), result(Status.OPTIMAL, 4), VALID, True),
        (result(Status.UNSOLVABLE), result(Status.UNSOLVABLE), None, False),
        (result(Status.UNSOLVABLE), result(Status.SOLVED, 3), VALID, True),
        (result(Status.UNSOLVABLE), result(Status.UNKNOWN), None, None),
        (result(Status.UNKNOWN), result(Status.UNKNOWN), None, None),
        (result(Status.UNKNOWN), result(Status.OPTIMAL, 3), VALID, None),
        (result(Status.UNKNOWN, bound=4), result(Status.SOLVED, 3), VALID, True),
        (result(Status.SOLVED, 5, 2), result(Status.SOLVED, 3, 2), VALID, None),
        (result(Status.SOLVED, 5, 2), result(Status.SOLVED, 3, 2), INVALID, True),
        (result(Status.SOLVED, 5, 4), result(Status.SOLVED, 3, 2), VALID, True),
        (result(Status.SOLVED, 5), result(Status.OPTIMAL, 3), VALID, None),
    ],
)
def test_only_what_is_proved_is_a_difference(old, new, verdict, differs):
    for results in ((old, new), (new, old)):
        found = Compared("one", results, new_plan=verdict)
        assert found.differs is differs
        assert any("not decided" in line for line in found.describe()) is (differs is None)
        assert Compared("one", results, is_same=True, new_plan=verdict).differs is False


def test_limits_are_no_difference(forethought):
    ran = compare(forethought, OLD, OLD, "--time-limit", "0.000001")
    assert (ran.code, ran.out) == (0, "problem one: no plan known (UNKNOWN), as before\n")
    ran = compare(
        forethought, OLD, OLD.replace("    modifies:", "    cost: 3\n    modifies:"), "--time-limit", "0.000001"
    )
    assert ran.code == 10, "the model differs"
    assert "problem one: no plan known (UNKNOWN), as before, not decided" in ran.out
    assert "plans of 0 of 1 problems differ, 1 not decided" in ran.err


PRICES = """\
from planner import Domain

shop = Domain("shop")
shop.action("pay", requires=[], provides=["paid"], cost=lambda: {price})
problem = shop.problem("one", goal=["paid"])
"""


@pytest.mark.parametrize(("price", "limit", "code"), [(3, "10", 0), (3, "0.000001", 11), (4, "10", 10)])
def test_prices_that_only_python_knows(forethought, price, limit, code):
    Path("old.py").write_text(PRICES.format(price=3))
    Path("new.py").write_text(PRICES.format(price=price))
    assert forethought("diff", "old.py", "new.py", "--time-limit", limit).code == code


def test_languages_are_compared_by_what_they_mean(forethought):
    text = OLD.replace('    modifies: ["at(robot, _)"]\n', "")
    Path("old.yaml").write_text(text.replace('target)"]\n', 'target)", "not at(robot, origin)"]\n'))
    assert forethought("compile", "old.yaml", "--to", "pddl", "--out", "new").code == 0
    ran = forethought("diff", "old.yaml", "new/domain.pddl")
    assert ran.code == 10
    assert "action move: parameters" not in ran.out
    assert "requires" not in ran.out


def test_json(forethought):
    ran = compare(forethought, OLD, OLD.replace("    modifies:", "    cost: 3\n    modifies:"), "one", "--json")
    told = json.loads(ran.out)
    assert told["changes"] == [{"what": "action move", "part": "cost", "removed": ["1"], "added": ["3"]}]
    (problem,) = told["problems"]
    assert (problem["old"]["cost"], problem["new"]["cost"], problem["old_plan_in_new"]["valid"]) == (1, 3, True)


def test_problems_that_only_one_version_reads(forethought):
    new = OLD.replace("{r: robot,", "{r: robto,")
    ran = compare(forethought, OLD, new)
    assert (ran.code, ran.out) == (2, "")
    assert "new.yaml:" in ran.err
    ran = compare(forethought, OLD, OLD.partition("---")[0], "one")
    assert ran.code == 10
    assert "problem one: cannot be read with the new version" in ran.out
    assert compare(forethought, OLD, OLD, "two").code == 2
    assert forethought("diff", "old.yaml", "new.yaml", "--time-limit", "soon").code == 2


@pytest.mark.parametrize("name", list_shipped_names())
def test_a_domain_equals_itself(name):
    assert compare_domains(load_domain(name), load_domain(name)) == []


def test_tasks_and_methods(forethought):
    assert forethought("new", "shop", "--language", "hddl", "--into", "old").code == 0
    assert forethought("new", "shop", "--language", "hddl", "--into", "new").code == 0
    file = Path("new/domain.hddl")
    text = file.read_text().replace(
        ":precondition (lies ?parcel ?from)", ":precondition (and (lies ?parcel ?from) (free ?robot))"
    )
    file.write_text(text.replace("(:method be-there", "(:method stay"))
    ran = forethought("diff", "old", "new", "first")
    assert ran.out.splitlines() == [
        "method be-there: is now called stay",
        "method carry: requires + free(robot)",
        "problem first: cost 6 (proved), as before",
        "problem first: the old plan is still valid, cost 6",
    ]


def test_costs_that_python_computes_count_as_equal():
    one, other = Domain("a"), Domain("a")
    for each in (one, other):
        each.action("pay", requires=[], provides=["paid"], cost=lambda: 3)
    assert compare_domains(one.model, other.model) == []
