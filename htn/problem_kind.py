"""The functions that `planner` calls for hierarchical problems: see `planner.problem_kinds.ProblemKind`.

The entry point `hierarchical` names this module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from htn.model import HtnDomain, HtnProblem, seal_problem
from planner.lightweight import Final
from planner.limits import Limits
from planner.lint.findings import Finding
from planner.options import SolveOptions
from planner.plan import Plan, Result, StepTime
from planner.problem_kinds import Reasons
from planner.validation.verdict import Verdict

if TYPE_CHECKING:
    from planner.explain.contrastive_answer import WhyNot

CHECK_SECONDS: Final = 10.0
"""Time limit, in seconds, of the search for a decomposition of a plan that comes without one, where none is given."""


def resolve(problem: HtnProblem) -> HtnProblem:
    """Return `problem` with its texts read and its names looked up; raises `InputError` for a mistake."""
    if problem.is_sealed:
        return problem
    from htn.language.declare.resolve_htn import resolve_htn

    return resolve_htn(problem)


def seal(problem: HtnProblem) -> HtnProblem:
    """Return `problem`, in which all names were looked up, sealed."""
    return seal_problem(problem)


def solve(problem: HtnProblem, options: SolveOptions) -> Result:
    """Return the answer; see `htn.solve.solve`."""
    from htn.solve import solve as solve_hierarchical

    return solve_hierarchical(problem, options)


def decision_process(problem: HtnProblem, limits: Limits) -> Any:
    """Return the decision process of `problem`; see `htn.policies.task_process`."""
    from htn.policies.task_process import decision_process as process_of_tasks

    return process_of_tasks(resolve(problem), limits)


def with_placeholders(problem: HtnProblem, number: int) -> HtnProblem:
    """Return `problem` with `number` placeholders for each type of object that actions create."""
    from htn.compilations.htn_reductions import replace_classical
    from planner.compilations.object_creation import compile_object_creation

    return replace_classical(problem, compile_object_creation(problem.classical, number).problem)


def name_created(problem: HtnProblem, steps: Any) -> HtnProblem:
    """Return `problem` with the objects that `steps` create; as it is where actions create none."""
    from htn.compilations.htn_reductions import add_placeholders_of_steps

    return add_placeholders_of_steps(problem, steps)


def policy_world(problem: HtnProblem) -> Any:
    """Return the world in which policies for `problem` are evaluated; see `htn.policies.task_world`."""
    from htn.policies.task_world import TaskWorld

    return TaskWorld(resolve(problem))


def candidates(problem: HtnProblem, limits: Limits, which: Any) -> Any:
    """Return the plans for the problem by their costs; see `htn.topk.htn_candidates`."""
    from htn.topk.htn_candidates import candidates as hierarchical_candidates

    return hierarchical_candidates(resolve(problem), limits, which)


def check_domain(domain: HtnDomain) -> list[Finding]:
    """Return what lint says about `domain` without objects."""
    from htn.lint.hierarchy_lint import check_hierarchy

    return check_hierarchy(domain)


def check(problem: HtnProblem, limits: Limits) -> list[Finding]:
    """Return what lint says about `problem` and its domain; raises `LimitReached`."""
    from htn.lint.hierarchy_lint import check_htn_problem

    return check_htn_problem(resolve(problem), limits)


def read_plan(problem: HtnProblem, text: str, source: str = "<string>") -> Plan:
    """Return the plan that `text` writes; see `htn.language.plan_text.plan_from_text`."""
    from htn.language.plan_text import plan_from_text

    return plan_from_text(text, problem, source)


def write_plan(plan: Plan) -> str:
    """Return `plan` in the competition's format; see `htn.language.plan_text`."""
    from htn.language.plan_text import write_plan as write

    return write(plan)


def draw_plan(plan: Plan) -> str:
    """Return the decomposition of `plan`, drawn as a tree."""
    from htn.language.plan_drawing import draw_tree

    return draw_tree(plan)


def validate(problem: HtnProblem, plan: Plan, limits: Limits | None = None) -> Verdict:
    """Return whether `plan` works; without a decomposition, one is searched for within `limits` (None: 10 s)."""
    from htn.verification.chart_parsing import verify

    return verify(resolve(problem), plan, limits or Limits(CHECK_SECONDS))


def partial_order(problem: HtnProblem, plan: Plan) -> Any:
    """Return the order of the steps of `plan` as a graph; see `htn.verification.plan_order`."""
    from htn.verification.plan_order import partial_order as order
    from htn.verification.plan_order import partial_order_in_time

    return partial_order_in_time(resolve(problem), plan) if plan.times else order(resolve(problem), plan)


def find_times(problem: HtnProblem, plan: Plan) -> tuple[StepTime, ...]:
    """Return the earliest times of the steps of `plan`, which has a decomposition; nothing where it needs no times."""
    from htn.compilations.htn_in_time import find_earliest, is_in_time

    problem = resolve(problem)
    return find_earliest(problem, plan) if is_in_time(problem) else ()


def explain_plan(problem: HtnProblem, plan: Plan, limits: Limits | None = None) -> Reasons:
    """Return which tasks each step of `plan`, a valid one, is there for; raises `LimitReached`."""
    from htn.explain.task_explanations import explain_plan as explain

    return explain(resolve(problem), plan, limits)


def explain_unsolvable(problem: HtnProblem, limits: Limits) -> Reasons:
    """Return why there is no plan, as far as that shows within `limits`."""
    from htn.explain.task_explanations import explain_unsolvable as explain

    return explain(resolve(problem), limits)


def why_not(problem: HtnProblem, question: Any, limits: Limits, plan: Any = None) -> WhyNot:
    """Answer a contrastive question about `plan`, or about the best plan; see `planner.explain.why_not.ask`."""
    from htn.explain.contrast_stages import HtnStages
    from planner.explain.why_not import ask_by

    return ask_by(HtnStages(), problem, question, limits, plan)


def to_unified_planning(
    problem: HtnProblem, environment: Any = None, limits: Limits | None = None, *, is_ground: bool = False
) -> Any:
    """Return the problem as one of unified-planning; see `htn.unified_planning`."""
    from htn import unified_planning

    convert: Any = unified_planning.to_ground_unified_planning if is_ground else unified_planning.to_unified_planning
    return convert(resolve(problem), environment, limits)


def for_another_process(problem: HtnProblem, limits: Limits) -> HtnProblem:
    """Return the problem without Python values; raises `LimitReached`."""
    from htn.unified_planning.htn_outgoing import prepare_for_process

    return prepare_for_process(problem, limits)
