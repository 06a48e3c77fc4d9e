"""The independent checker of hierarchical plans: a plan, and the decomposition that justifies it.

It shares no code with what finds plans. First the tree is compared with the tasks and methods (`frames`), then the
order of its steps (`ordering`), then states (`sweep`): steps, preconditions of methods, and the goal. Plans whose tasks
are all in a total order are accepted in a single pass (`line`), which leaves the others to these. What is to be
checked of a decomposition is stated by Behnke, Höller and Biundo (2015, "On the Complexity of HTN Plan Verification and
Its Implications for Plan Recognition") and by Höller et al. (2020, "HDDL: An Extension to PDDL for Expressing
Hierarchical Planning Problems").
"""

from __future__ import annotations

from htn.model import HtnProblem
from htn.plan import Decomposition
from htn.verify.frames import FlawError, frames_of
from htn.verify.line import Line, is_line
from htn.verify.ordering import check_order, events_of
from htn.verify.sweep import Sweep, check_constraints
from planner.annotations import Any
from planner.errors import InputError, kind_of
from planner.model.domain import creates_objects
from planner.plan import Plan
from planner.records import replace
from planner.validate import Replay, Verdict

__all__ = ["completed", "thorough", "validate"]


def validate(problem: HtnProblem, plan: Plan) -> Verdict:
    """Check that `plan.tree` decomposes the tasks of `problem` into the steps of `plan`, and that these can be done.

    A method's precondition holds in some state after everything that is ordered before its task, and before the first
    of its steps. Where a method (or the initial network) has no binding, any that fits will do. Never raises for a bad
    plan; raises `InputError` for what is no plan of a hierarchical problem, and as `planner.validate.validate` does.
    """
    return _checked(problem, plan)[0]


def completed(problem: HtnProblem, plan: Plan) -> Plan:
    """Return `plan` with bindings for all methods that have none, where it is valid; otherwise as it is."""
    verdict, found = _checked(problem, plan)
    if not verdict.valid:
        return plan
    tree: Decomposition = plan.tree
    nodes = [
        replace(node, binding=found[place]) if node.step is None else node for place, node in enumerate(tree.nodes)
    ]
    return replace(plan, tree=Decomposition(tuple(nodes), tree.roots, found[len(nodes)]))


def _checked(problem: HtnProblem, plan: Plan) -> tuple[Verdict, dict[int, tuple[str, ...]]]:
    _check_arguments(problem, plan)
    if creates_objects(problem.classical.domain):
        from htn.creation import named_by  # noqa: PLC0415 - few domains need it

        problem = named_by(problem, plan.steps)
    if plan.tree is None:
        return _flawed("the plan has no decomposition"), {}
    if is_line(problem, plan.tree):
        line = Line(problem, plan)
        verdict = line.verdict()
        if verdict is not None:
            return verdict, line.found
    return thorough(problem, plan)


def thorough(problem: HtnProblem, plan: Plan) -> tuple[Verdict, dict[int, tuple[str, ...]]]:
    """Return the verdict on `plan`, which has a decomposition, and the objects for the parameters of each method."""
    replay = Replay(problem.classical)
    try:
        frames = frames_of(problem, plan.steps, plan.tree, replay.simulation.rules.universe)
        events = events_of(plan.tree, frames)
        check_order(events, frames, plan.steps)
        check_constraints(frames, replay.simulation)
    except FlawError as flaw:
        return _flawed(str(flaw)), {}
    sweep = Sweep(replay, frames, events)
    return sweep.verdict(plan), sweep.found


def _flawed(reason: str) -> Verdict:
    return Verdict(valid=False, cost=0, reason=reason)


def _check_arguments(problem: Any, plan: Any) -> None:
    if not isinstance(problem, HtnProblem):
        raise InputError(f"{kind_of(problem)} is no hierarchical problem", hint="planner.validate checks others")
    if not isinstance(plan, Plan):
        raise InputError(f"{kind_of(plan)} is no plan", hint="Plan(steps, problem, decomposition) is one")
    if plan.tree is not None and not isinstance(plan.tree, Decomposition):
        raise InputError(f"{kind_of(plan.tree)} is no decomposition", hint="htn.plan has the class")
