"""Forethought's planner: declarations in, validated plans out.

Everything public is here: `from planner import Domain, Entity, solve`. Names are imported when they are first used,
so that `import planner` costs next to nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

from planner.lightweight import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planner.compilations.determinization import expected_costs
    from planner.compilations.object_creation import (
        compile_object_creation,
        created_by,
        declared_arguments,
        for_steps,
    )
    from planner.errors import (
        DeclarationError,
        DocumentError,
        EngineError,
        ForethoughtError,
        InputError,
        NoPlan,
        PddlError,
        PlanError,
        UnsupportedError,
    )
    from planner.explain.contrastive_answer import WhyNot
    from planner.explain.plan_explanation import explain_plan
    from planner.explain.unsolvability import explain_unsolvable
    from planner.explain.why_not import why_not
    from planner.language.declare import (
        FIXED,
        Domain,
        Entity,
        From,
        Outcome,
        When,
        always,
        at_most,
        before,
        done,
        forbidden,
        mandatory,
        never,
        never_after,
        resolve_action,
        sometime,
    )
    from planner.language.documents import json_schema, read_documents, write_json, write_yaml
    from planner.language.loading.load import load, load_domain
    from planner.limits import Limits
    from planner.lint.findings import Finding
    from planner.lint.problem_lint import check_domain, check_problem
    from planner.model.actions import Action, Case, Constraint, ConstraintKind, DataParameter, Done
    from planner.model.domain import DomainModel
    from planner.model.formulas import OPEN, TRUE, And, Atom, Equals, Exists, Forall, Formula, Not, Object, Or, Variable
    from planner.model.problem import Goal, Metric, Problem, SoftGoal
    from planner.partial_order.causal_links import causal_links
    from planner.plan import History, Plan, Progress, Result, Statistics, Status, Step, StoppedBy
    from planner.policies.decide import decide
    from planner.policies.decision import Decision, Objective
    from planner.policies.evaluation import Execution, evaluate, executions
    from planner.policies.markov_decision_process import Kept
    from planner.policies.policy import Policy
    from planner.ranking.rank import Ranking, rank
    from planner.ranking.relevant_actions import RelevantAction, relevant_actions
    from planner.repair.mending import mend
    from planner.repair.patching import Patch, patch
    from planner.repair.undoing import Undo, Written, undo
    from planner.resources import resources
    from planner.scheduling.plan_order import partial_order
    from planner.scheduling.schedule import makespan, schedule, starts
    from planner.search.expansion import Expansion
    from planner.solve import improve, solve
    from planner.topk.candidates import Candidates, candidates
    from planner.topk.diverse import diverse
    from planner.topk.top_k import k_best
    from planner.validation.validate import validate
    from planner.validation.verdict import Verdict

# fmt: off
__all__ = [
    "FIXED", "OPEN", "TRUE", "Action", "And", "Atom", "Candidates", "Case", "Constraint", "ConstraintKind",
    "DataParameter", "Decision", "DeclarationError", "DocumentError", "Domain", "DomainModel", "Done", "EngineError",
    "Entity", "Equals", "Execution", "Exists", "Expansion", "Finding", "Forall", "ForethoughtError", "Formula",
    "From", "Goal", "History", "InputError", "Kept", "Limits", "Metric", "NoPlan", "Not", "Object", "Objective", "Or",
    "Outcome", "Patch", "PddlError", "Plan", "PlanError", "Policy", "Problem", "Progress", "Ranking", "RelevantAction",
    "Result", "SoftGoal", "Statistics", "Status", "Step", "StoppedBy", "Undo", "UnsupportedError", "Variable",
    "Verdict", "When", "WhyNot", "Written", "always", "at_most", "before", "candidates", "causal_links",
    "check_domain", "check_problem",
    "compile_object_creation", "created_by", "decide", "declared_arguments", "diverse", "done", "evaluate",
    "executions", "expected_costs", "explain_plan", "explain_unsolvable", "for_steps", "forbidden", "improve",
    "json_schema", "k_best", "load", "load_domain", "makespan", "mandatory", "mend", "never", "never_after",
    "partial_order", "patch", "rank", "read_documents", "relevant_actions", "resolve_action", "resources", "schedule",
    "solve", "sometime", "starts", "undo", "validate", "why_not", "write_json", "write_yaml",
]
# fmt: on

_MODULES = {
    "compilations.determinization": "expected_costs",
    "compilations.object_creation": "compile_object_creation created_by declared_arguments for_steps",
    "errors": "DeclarationError DocumentError EngineError ForethoughtError InputError NoPlan PddlError PlanError "
    "UnsupportedError",
    "explain.plan_explanation": "explain_plan",
    "explain.unsolvability": "explain_unsolvable",
    "explain.contrastive_answer": "WhyNot",
    "explain.why_not": "why_not",
    "language.declare": "FIXED Domain Entity From Outcome When always at_most before done forbidden mandatory never "
    "never_after resolve_action sometime",
    "language.documents": "json_schema read_documents write_json write_yaml",
    "language.loading.load": "load load_domain",
    "limits": "Limits",
    "lint.findings": "Finding",
    "lint.problem_lint": "check_domain check_problem",
    "model.actions": "Action Case Constraint ConstraintKind DataParameter Done",
    "model.domain": "DomainModel",
    "model.formulas": "OPEN TRUE And Atom Equals Exists Forall Formula Not Object Or Variable",
    "model.problem": "Goal Metric Problem SoftGoal",
    "partial_order.causal_links": "causal_links",
    "plan": "History Plan Progress Result Statistics Status Step StoppedBy",
    "policies.decide": "decide",
    "policies.decision": "Decision Objective",
    "policies.evaluation": "Execution evaluate executions",
    "policies.markov_decision_process": "Kept",
    "policies.policy": "Policy",
    "ranking.rank": "Ranking rank",
    "ranking.relevant_actions": "RelevantAction relevant_actions",
    "repair.mending": "mend",
    "repair.patching": "Patch patch",
    "repair.undoing": "Undo Written undo",
    "resources": "resources",
    "scheduling.plan_order": "partial_order",
    "scheduling.schedule": "makespan schedule starts",
    "search.expansion": "Expansion",
    "solve": "improve solve",
    "topk.candidates": "Candidates candidates",
    "topk.diverse": "diverse",
    "topk.top_k": "k_best",
    "validation.validate": "validate",
    "validation.verdict": "Verdict",
}
"""The names that each module defines."""
_HOMES = {name: f"planner.{module}" for module, names in _MODULES.items() for name in names.split()}


FACADES = ("lab", "questions")
"""Packages whose names users write out, as in `planner.lab.ground`."""


class _Package(ModuleType):
    """This package. Where a function is named like a module (`solve`, `resources`), the attribute is the function."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and name in _HOMES):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name in FACADES:  # so that `planner.lab` is there after `import planner`
        return import_module(f"planner.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'planner' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *FACADES})
