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
    from planner.compilations.object_creation.placeholders import (
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
        Location,
        NoPlan,
        PddlError,
        PlanError,
        UnsupportedError,
    )
    from planner.explain.plan_steps import PlanExplanation, explain_plan
    from planner.explain.unsolvable import Diagnosis, explain_unsolvable
    from planner.language.declare import (
        FIXED,
        Domain,
        Entity,
        From,
        Outcome,
        PredicateRef,
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
    from planner.language.documents import Documents, json_schema, read_documents, write_json, write_yaml
    from planner.language.loading.load import load, load_domain
    from planner.language.loading.sources import LazyProblems
    from planner.limits import Limits
    from planner.lint.check import check_domain, check_problem
    from planner.lint.findings import Finding
    from planner.model.actions import Action, Case, Constraint, ConstraintKind, DataParameter, Done
    from planner.model.domain import DomainModel
    from planner.model.formulas import (
        OPEN,
        TRUE,
        And,
        Atom,
        Equals,
        Exists,
        Forall,
        Formula,
        Imply,
        Not,
        Object,
        Or,
        Variable,
    )
    from planner.model.problem import Goal, Metric, Problem, SoftGoal
    from planner.partial_order.causal_links import CausalLink, causal_links, partial_order
    from planner.plan import Plan, Progress, Result, Statistics, Status, Step, StoppedBy, Supposition
    from planner.policies.decide import decide
    from planner.policies.decision import Decision, Objective
    from planner.policies.evaluation import Execution, Worth, evaluate, executions
    from planner.policies.markov_decision_process import Kept
    from planner.policies.policy import Policy
    from planner.ranking.criteria import Criterion
    from planner.ranking.rank import Ranking, rank
    from planner.repair.mending import Mended, mend
    from planner.repair.patching import Patch, patch
    from planner.repair.undoing import Left, Undo, UndoStep, Written, undo
    from planner.resources import resources
    from planner.scheduling.schedule import Schedule, makespan, schedule, starts
    from planner.solve import improve, solve
    from planner.topk.candidates import Candidates, candidates
    from planner.topk.diverse import diverse
    from planner.topk.top_k import CandidateSet, Diversity, k_best
    from planner.validation.validate import simulate, validate
    from planner.validation.verdict import Verdict

__all__ = [
    "FIXED",
    "OPEN",
    "TRUE",
    "Action",
    "And",
    "Atom",
    "CandidateSet",
    "Candidates",
    "Case",
    "CausalLink",
    "Constraint",
    "ConstraintKind",
    "Criterion",
    "DataParameter",
    "Decision",
    "DeclarationError",
    "Diagnosis",
    "Diversity",
    "DocumentError",
    "Documents",
    "Domain",
    "DomainModel",
    "Done",
    "EngineError",
    "Entity",
    "Equals",
    "Execution",
    "Exists",
    "Finding",
    "Forall",
    "ForethoughtError",
    "Formula",
    "From",
    "Goal",
    "Imply",
    "InputError",
    "Kept",
    "LazyProblems",
    "Left",
    "Limits",
    "Location",
    "Mended",
    "Metric",
    "NoPlan",
    "Not",
    "Object",
    "Objective",
    "Or",
    "Outcome",
    "Patch",
    "PddlError",
    "Plan",
    "PlanError",
    "PlanExplanation",
    "Policy",
    "PredicateRef",
    "Problem",
    "Progress",
    "Ranking",
    "Result",
    "Schedule",
    "SoftGoal",
    "Statistics",
    "Status",
    "Step",
    "StoppedBy",
    "Supposition",
    "Undo",
    "UndoStep",
    "UnsupportedError",
    "Variable",
    "Verdict",
    "When",
    "Worth",
    "Written",
    "always",
    "at_most",
    "before",
    "candidates",
    "causal_links",
    "check_domain",
    "check_problem",
    "compile_object_creation",
    "created_by",
    "decide",
    "declared_arguments",
    "diverse",
    "done",
    "evaluate",
    "executions",
    "expected_costs",
    "explain_plan",
    "explain_unsolvable",
    "for_steps",
    "forbidden",
    "improve",
    "json_schema",
    "k_best",
    "load",
    "load_domain",
    "makespan",
    "mandatory",
    "mend",
    "never",
    "never_after",
    "partial_order",
    "patch",
    "rank",
    "read_documents",
    "resolve_action",
    "resources",
    "schedule",
    "simulate",
    "solve",
    "sometime",
    "starts",
    "undo",
    "validate",
    "write_json",
    "write_yaml",
]

_MODULES = {
    "compilations.determinization": "expected_costs",
    "compilations.object_creation.placeholders": "created_by declared_arguments for_steps compile_object_creation",
    "errors": "DeclarationError DocumentError EngineError ForethoughtError InputError Location NoPlan "
    "PddlError PlanError UnsupportedError",
    "explain.plan_steps": "PlanExplanation explain_plan",
    "explain.unsolvable": "Diagnosis explain_unsolvable",
    "language.declare": "Domain Entity FIXED From Outcome PredicateRef When always at_most before done "
    "forbidden mandatory never never_after resolve_action sometime",
    "language.documents": "Documents json_schema read_documents write_json write_yaml",
    "language.loading.load": "load load_domain",
    "language.loading.sources": "LazyProblems",
    "limits": "Limits",
    "lint.check": "check_domain check_problem",
    "lint.findings": "Finding",
    "model": "Action And Atom Case Constraint ConstraintKind DataParameter DomainModel Done Equals Exists "
    "Forall Formula Goal Imply Metric Not OPEN Object Or Problem SoftGoal TRUE Variable",
    "partial_order.causal_links": "CausalLink causal_links partial_order",
    "plan": "Plan Progress Result Statistics Status Step StoppedBy Supposition",
    "policies.decide": "decide",
    "policies.decision": "Decision Objective",
    "policies.evaluation": "Execution Worth evaluate executions",
    "policies.markov_decision_process": "Kept",
    "policies.policy": "Policy",
    "ranking.criteria": "Criterion",
    "ranking.rank": "Ranking rank",
    "repair.mending": "Mended mend",
    "repair.patching": "Patch patch",
    "repair.undoing": "Left Undo UndoStep Written undo",
    "scheduling.schedule": "Schedule makespan schedule starts",
    "solve": "improve solve",
    "topk.candidates": "Candidates candidates",
    "topk.diverse": "diverse",
    "topk.top_k": "CandidateSet Diversity k_best",
    "resources": "resources",
    "validation.validate": "simulate validate",
    "validation.verdict": "Verdict",
}
"""Which module has which names."""
_HOMES = {name: f"planner.{module}" for module, names in _MODULES.items() for name in names.split()}


class _Package(ModuleType):
    """This package. Where a function is named like a module (`solve`, `resources`), the attribute is the function."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and name in _HOMES):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'planner' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
