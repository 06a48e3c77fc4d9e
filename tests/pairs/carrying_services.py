"""The services that hand problems on, or carry plans out: files, other planners, servers, pages, runs."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from pairs.enumeration import optimum
from pairs.interpreter import World
from pairs.judging import RIGHT, Case, Kind, Verdict, judge_result, service, wrong

from executor import ActionPlan, Executor, RunOutcome, RunStatus
from executor.desk.pages.html import write_html
from executor.desk.pages.plan_page import plan_page
from executor.mcp_server.planning_tools import PlanningTools
from executor.mcp_server.tool_data import Given
from executor.service.answers import answer
from executor.service.questions import read_request
from executor.testing import SimulatedWorld, VirtualClock, run_virtual
from executor.testing.virtual_time import now
from htn.model import HtnProblem
from planner import Limits, load, read_documents, write_json, write_yaml
from planner.cli.compile import as_hddl, as_pddl
from planner.language.loading.load import open_source
from planner.unified_planning.conversion import from_unified_planning, to_unified_planning

SEPARATED = Fraction(2, 100)
"""How much later plans in time may be in PDDL, where steps that share an amount begin 0.001 s apart."""


def judge_copy(case: Case, copy: Any) -> Verdict:
    """Judge a problem that was written and read back: it has the same optimum."""
    found, truth = optimum(copy), case.truth
    if (found is None) != (truth is None):
        return wrong(f"the optimum is {truth}, but of what was written {found}")
    if found is None or truth is None:
        return Verdict(Kind.PROVED)
    late = found.charge - truth.charge
    if late == 0 or found.charge in (10 * truth.charge, 100 * truth.charge):  # costs are written as whole numbers
        return Verdict(Kind.PROVED)
    if case.is_in_time and 0 < late <= SEPARATED:
        return Verdict(Kind.PROVED)
    return wrong(f"the optimum is {truth.charge}, but of what was written {found.charge}: {found.steps}")


@service
def judge_pddl(case: Case) -> Verdict:
    files = as_hddl(case.problem) if isinstance(case.problem, HtnProblem) else as_pddl(case.problem, None)
    return judge_copy(case, load(*[text for _, text in sorted(files.items())]))


@service
def judge_documents(case: Case) -> Verdict:
    for write in (write_yaml, write_json):
        (copy,) = read_documents(write(case.problem)).problems
        verdict = judge_copy(case, copy)
        if verdict.kind is not Kind.PROVED:
            return verdict
    return verdict


@service
def judge_unified_planning(case: Case) -> Verdict:
    outgoing = to_unified_planning(case.problem, limits=Limits(case.limit))
    return judge_copy(case, from_unified_planning(outgoing.problem).problem)


@service
def judge_pages(case: Case) -> Verdict:
    page = write_html(plan_page(case.plan, limits=Limits(case.limit)))
    missing = [step for step in case.plan.steps if step.action not in page]
    return wrong(f"the page says nothing of {missing[0]}") if missing else RIGHT


@service
def judge_mcp(case: Case) -> Verdict:
    text = write_yaml(case.problem)
    tools = PlanningTools(open_source(text))
    told = tools.plan(Given(), Limits(case.limit))
    return judge_told(case, told.status, told.steps, told.reason)


@service
def judge_http(case: Case) -> Verdict:
    request = read_request("solve", {"domain": write_yaml(case.problem), "time_limit": case.limit})
    told = answer(request.question, Limits(case.limit), lambda _: None)
    return judge_told(case, told["status"], told.get("plan"), told.get("reason", ""))


def judge_told(case: Case, status: Any, plan: Any, reason: str) -> Verdict:
    """Judge what a server tells by what `solve` says of the same problem."""
    result = case.result
    if str(getattr(status, "name", status)) != result.status.name and not (plan and result.plan):
        return wrong(f"it tells {status} ({reason}), but solve says {result.status.name}")
    return judge_result(case, result)


@service
def judge_run(case: Case) -> Verdict:
    simulated = SimulatedWorld(case.problem)
    plan = ActionPlan.of(case.result) if case.result.has_plan else case.problem

    async def carry_out() -> RunOutcome:
        simulated.truth.began = now()
        return await Executor(simulated.world, clock=VirtualClock()).run(plan)

    outcome = run_virtual(carry_out())
    if not outcome.succeeded and outcome.status is not RunStatus.LOWERED:
        return Verdict(Kind.NOTHING, f"{outcome.status.name}: {outcome.reason}")
    world = World(case.classical)
    start = world.start()
    end = type(start)(frozenset(simulated.facts), start.values)
    is_plain = not any((world.domain.functions, world.domain.axioms, "listings" in case.names))
    if is_plain and not world.holds(case.classical.goal.hard, end):
        return wrong(f"the run succeeded, but the goal does not hold in {sorted(map(str, simulated.facts))}")
    return RIGHT
