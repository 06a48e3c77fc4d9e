"""The stages of an answer to a contrastive question that know about tasks, see `planner.explain.contrast_stages`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from htn.compilations.htn_foils import MethodFoil, make_optional, may_skip_tasks, restore_names
from htn.compilations.htn_in_time import is_in_time, order_tasks, schedule_tasks, steps_below
from htn.explain.contrastive_questions import HtnQuestionReader
from htn.explain.foil_names import name_foils
from htn.explain.task_explanations import explain_plan, explain_unsolvable
from htn.language.plan_text import has_decomposition, plan_from_text
from htn.model import Decomposition, HtnProblem
from htn.problem_kind import resolve
from htn.verification.chart_parsing import find_decomposition, verify
from planner.compilations.foils import Foil, FoilKind
from planner.errors import PlanError, UnsupportedError
from planner.explain.conflicts import Conflict, Demand, Kind, find_conflicts, keep_any
from planner.explain.contrast_stages import ContrastStages, avoided_steps, invalid_plan, qualify
from planner.explain.contrastive_questions import Question
from planner.explain.cost_proof import CostShare
from planner.explain.step_order import explain_order
from planner.lightweight import Any, Final, replace
from planner.limits import LimitReached, Limits
from planner.model import Atom
from planner.options import SolveOptions
from planner.plan import Plan, Result, Step
from planner.problem_kinds import Reasons
from planner.questions.notation import AnySteps, read_steps

LEVELS: Final = 3
"""Most tasks above a step that are named."""


class HtnStages(ContrastStages):
    """The stages for problems with tasks: an answer is a plan with its decomposition."""

    def resolve(self, problem: HtnProblem) -> HtnProblem:
        """Return the problem with its names looked up."""
        return resolve(problem)

    def is_in_time(self, problem: HtnProblem) -> bool:
        """Return whether plans of `problem` have times."""
        return is_in_time(problem)

    def read_question(self, problem: HtnProblem, text: str, steps: Sequence[Step] | None) -> Question:
        """Return the question, which may be about methods and tasks."""
        return HtnQuestionReader(problem, steps).read(text)

    def complete_plan(self, problem: HtnProblem, given: AnySteps, limits: Limits) -> Plan:
        """Return the given plan with a decomposition, which is searched for if it comes without one."""
        plan = _read_plan(problem, given)
        verdict = verify(problem, plan, limits)
        if not verdict.valid:
            raise invalid_plan(verdict.reason)
        if not isinstance(plan.tree, Decomposition):
            try:
                plan = replace(plan, tree=find_decomposition(problem, plan.steps, limits))
            except LimitReached:
                hint = "give the plan with its tasks, as `solve` writes it"
                raise PlanError("no decomposition of this plan was found in time", hint=hint) from None
        timed = schedule_tasks(problem, plan) if is_in_time(problem) and not plan.times else plan
        return plan if timed is None else timed

    def solve(self, problem: HtnProblem, limits: Limits) -> Result:
        """Return what `htn.solve` answers for a resolved problem, perhaps with foils."""
        from htn.solve import answer

        return qualify(problem.classical, answer(problem, SolveOptions().within(limits)))

    def lift(self, plan: Plan, source: HtnProblem) -> Plan:
        """Return a plan of a problem with foils as one of `source`."""
        tree = restore_names(plan.tree) if isinstance(plan.tree, Decomposition) else None
        return replace(plan, problem=source, tree=tree)

    def find_conflicts(self, problem: HtnProblem, foils: Sequence[Foil], limits: Limits) -> tuple[Conflict, ...]:
        """Return smallest sets of demands that no plan meets together; tasks that are not in one are optional."""
        from htn.solve import answer

        tasks = [
            Demand(Kind.TASK, (place, each.task))
            for place, each in enumerate(problem.network.subtasks)
            if may_skip_tasks(problem)
        ]
        return find_conflicts(problem, limits, answer, foils=foils, tasks=tasks, keep=keep_demands)

    def explain_no_plan(self, problem: HtnProblem, limits: Limits) -> Reasons | None:
        """Return which tasks cannot be done, and why; None for what explanations do not take, such as numbers."""
        with suppress(UnsupportedError):
            return explain_unsolvable(problem, limits)
        return None

    def diagnose(self, problem: HtnProblem, source: Any, compiled: HtnProblem, limits: Limits) -> Reasons | None:
        """Return which tasks cannot be done as the question asks, and why, if that is proved."""
        del source  # no change of facts is looked for
        with suppress(UnsupportedError):
            found = replace(explain_unsolvable(compiled, limits), conflicts=())
            return name_foils(found, problem.domain, compiled.domain) if found.proved else None
        return None

    def find_shares(self, problem: Any, limits: Limits) -> tuple[CostShare, ...]:
        """Return nothing: what every decomposition pays is not known step by step."""
        del problem, limits
        return ()

    def explain_end(self, plan: Plan) -> Iterator[str]:
        """Yield when a plan in time ends."""
        yield f"The plan ends at {plan.makespan}."

    def explain_order(self, problem: HtnProblem, plan: Plan, first: int, second: int) -> tuple[list[str], Plan | None]:
        """Return why one step comes before another: by a method, or by what they need; or the plan turned round."""
        methods = dict(_order_by_methods(problem, plan))
        reasons, other = explain_order(problem.classical, plan, first, second, methods)
        if other is None:
            return reasons, None
        moved = replace(other, problem=problem, tree=_move_steps(plan, other))
        return (reasons, moved) if verify(problem, moved, Limits()).valid else ([], None)

    def explain_parts(self, problem: HtnProblem, plan: Plan, foils: Sequence[Foil]) -> Iterator[str]:
        """Yield what the avoided steps are there for, and what the avoided methods do."""
        avoided = avoided_steps(foils)
        if any(steps.covers(step) for steps in avoided for step in plan.steps):
            explained = explain_plan(problem, plan)
            for number, (step, purpose) in enumerate(zip(plan.steps, explained.purposes, strict=True), start=1):
                if any(steps.covers(step) for steps in avoided):
                    above = ", ".join([f"for {task} by {method}" for task, method in purpose[:LEVELS]])
                    yield f"Step {number}, {step}, is {above or 'a task of the problem itself'}."
        methods = [each for each in foils if isinstance(each, MethodFoil) and each.kind is FoilKind.AVOID]
        nodes = [node for node in plan.tree.nodes if any(each.covers(node) for each in methods)] if methods else []
        yield from dict.fromkeys([f"The plan does {node.task} by {node.method}." for node in nodes])

    def compare(self, plan: Plan, reference: Plan) -> tuple[str, ...]:
        """Return which tasks, the topmost ones, `plan` does by another method than `reference`."""
        trees = plan.tree, reference.tree
        if not all(isinstance(each, Decomposition) for each in trees):
            return ()
        return tuple(_compare_trees(*trees))


def _compare_trees(tree: Decomposition, other: Decomposition) -> Iterator[str]:
    """Yield the topmost tasks of `tree` that are done by other methods in `other`, or with other objects."""
    stack = [*zip(tree.roots, other.roots, strict=True)][::-1]
    while stack:
        here, there = stack.pop()
        node, old = tree.nodes[here], other.nodes[there]
        if node.step is not None and old.step is not None:
            continue
        if (node.method, node.binding) == (old.method, old.binding) and len(node.children) == len(old.children):
            stack += [*zip(node.children, old.children, strict=True)][::-1]
        elif node.task == old.task and node.method != old.method:
            yield f"{node.task} by {node.method}, not by {old.method}"
        else:
            before = f"{Atom(old.method, old.binding)}"
            before += "" if node.task == old.task else f" for {old.task}"
            yield f"{node.task} by {Atom(node.method, node.binding)}, not by {before}"


def keep_demands(problem: HtnProblem, demands: Sequence[Demand]) -> HtnProblem:
    """Return `problem` with these demands only; initial tasks that are not among them are optional."""
    if may_skip_tasks(problem):
        kept = {each.what[0] for each in demands if each.kind is Kind.TASK}
        problem = make_optional(problem, {*range(len(problem.network.subtasks))} - kept)
    found: HtnProblem = keep_any(problem, demands)
    return found


def _read_plan(problem: HtnProblem, given: AnySteps) -> Plan:
    """Return the given plan with the costs of its steps, and with its decomposition if it has one."""
    from planner.semantics.simulation import price_steps
    from planner.validation.validate import check_steps

    if isinstance(given, Plan):
        return given
    if isinstance(given, str) and has_decomposition(given):
        return plan_from_text(given, problem)
    steps = read_steps(problem.classical, given)
    if not is_in_time(problem) and check_steps(problem.classical, steps).valid:
        steps = price_steps(problem.classical, steps)
    return Plan(steps, problem)


def _move_steps(plan: Plan, other: Plan) -> Decomposition:
    """Return the decomposition of `plan` for `other`, which has its steps in another order."""
    places: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for place, step in enumerate(other.steps):
        places.setdefault((step.action, step.arguments), []).append(place)
    new = [places[step.action, step.arguments].pop(0) for step in plan.steps]
    tree: Decomposition = plan.tree
    return tree.move_steps(dict(enumerate(new)))


def _order_by_methods(problem: HtnProblem, plan: Plan) -> Iterator[tuple[tuple[int, int], str]]:
    """Yield pairs of steps, by their numbers from 1, that the decomposition orders, and the reason."""
    tree = plan.tree
    if not isinstance(tree, Decomposition):
        return
    steps = steps_below(tree)
    for node, first, second in order_tasks(problem, tree, steps):
        what = f"{tree.nodes[first].task} before {tree.nodes[second].task}"
        reason = f"the problem asks for {what}" if node is None else f"{node.method}, for {node.task}, does {what}"
        for earlier in steps[first]:
            for later in steps[second]:
                yield (earlier + 1, later + 1), reason
