"""Why a plan in time ends when it does."""

from __future__ import annotations

from timed_domains import letters

from planner import Domain, solve
from planner.explain.timed_explanation import draw_chart, explain_times
from planner.language.pddl.plan_files import read_plan

PLAN = """
0.000: (light desk0) [10.000]
0.000: (write letter0 desk0) [3.000]
3.001: (write letter1 desk0) [4.000]
5.000: (post letter0) [1.000]
"""


def test_the_chain_goes_back_from_the_end_and_slack_is_what_steps_may_wait() -> None:
    problem = letters(timed="(at 4 (post-open))")
    plan = read_plan(PLAN, problem)
    found = explain_times(problem, plan)
    assert found.slack[0] == 0
    assert all(slack > 0 for slack in found.slack[1:])
    assert [str(link) for link in found.chain] == ["0: light(desk0) starts", "10: light(desk0) ends, as it lasts 10 s"]


def test_a_chain_leads_over_the_steps_that_wait_for_each_other() -> None:
    problem = letters((9, 30), desks=2)
    text = "0.000: (light desk0) [10.000]\n0.000: (write letter0 desk0) [3.000]\n"
    plan = read_plan(text + "3.001: (light desk1) [10.000]\n3.001: (write letter1 desk1) [10.000]\n", problem)
    chain = explain_times(problem, plan).chain
    assert [link.time for link in chain] == [0, 3, plan.times[3].start, plan.makespan, plan.makespan]
    assert "not before write(letter0, desk0) ends at 3: awake" in str(chain[2])


def test_a_chart_has_a_bar_for_each_step() -> None:
    plan = read_plan(PLAN, letters(timed="(at 4 (post-open))"))
    lines = draw_chart(plan, width=10).splitlines()
    assert [line.count("█") for line in lines] == [10, 3, 4, 1]
    assert lines[3].index("█") - lines[0].index("█") == 5


def test_chains_name_capacities_as_declared() -> None:
    domain = Domain("oven")
    for name in ("bread", "cake"):
        domain.action(f"bake_{name}", provides=name, duration=3, holds={"oven": 1})
    problem = domain.problem(goal=["bread", "cake"], capacity={"oven": 1}, objective="makespan")
    chain = explain_times(problem, solve(problem, time_limit=5).expect_plan()).chain
    assert str(chain[2]).endswith("ends at 3: 1 of oven")
