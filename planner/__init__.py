"""Forethought's planner: declarations in, validated plans out.

Everything public is here: `from planner import Domain, Entity, solve`. Names are imported when they are first used,
so that `import planner` costs next to nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

from planner.annotations import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planner.budget import Budget
    from planner.candidates import Candidates, CandidateSet, Diversity, candidates, diverse, k_best
    from planner.check import Finding, check_domain, check_problem
    from planner.creation import created_by, declared_arguments, for_steps, with_placeholders
    from planner.declare import (
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
    from planner.documents import Documents, json_schema, read_documents, write_json, write_yaml
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
    from planner.explain import Diagnosis, PlanExplanation, explain_plan, explain_unsolvable
    from planner.load import LazyProblems, load, load_domain
    from planner.model import (
        OPEN,
        TRUE,
        Action,
        And,
        Atom,
        Case,
        Constraint,
        ConstraintKind,
        DataParameter,
        DomainModel,
        Done,
        Equals,
        Exists,
        Forall,
        Formula,
        Goal,
        Imply,
        Metric,
        Not,
        Object,
        Or,
        Problem,
        SoftGoal,
        Variable,
    )
    from planner.order import CausalLink, Schedule, causal_links, makespan, partial_order, schedule, starts
    from planner.plan import Plan, Progress, Result, Statistics, Status, Step, StoppedBy, Supposition
    from planner.repair import Left, Mended, Patch, Undo, UndoStep, Written, mend, patch, undo
    from planner.selection import Criterion, Ranking, rank
    from planner.solve import improve, solve
    from planner.uncertain.aims import Objective
    from planner.uncertain.decide import decide
    from planner.uncertain.decision import Decision
    from planner.uncertain.evaluation import Execution, Worth, evaluate, executions
    from planner.uncertain.expected import expected_costs
    from planner.uncertain.kept import Kept
    from planner.uncertain.policy import Policy
    from planner.validate import Verdict, resources, simulate, validate

__all__ = [
    "FIXED",
    "OPEN",
    "TRUE",
    "Action",
    "And",
    "Atom",
    "Budget",
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
    "with_placeholders",
    "write_json",
    "write_yaml",
]

_MODULES = {
    "budget": "Budget",
    "candidates": "CandidateSet Candidates Diversity candidates diverse k_best",
    "check": "Finding check_domain check_problem",
    "creation": "created_by declared_arguments for_steps with_placeholders",
    "declare": "FIXED Domain Entity From Outcome PredicateRef When always at_most before done forbidden mandatory "
    "never never_after resolve_action sometime",
    "documents": "Documents json_schema read_documents write_json write_yaml",
    "errors": "DeclarationError DocumentError EngineError ForethoughtError InputError Location NoPlan PddlError "
    "PlanError UnsupportedError",
    "explain": "Diagnosis PlanExplanation explain_plan explain_unsolvable",
    "load": "LazyProblems load load_domain",
    "model": "OPEN TRUE Action And Atom Case Constraint ConstraintKind DataParameter DomainModel Done Equals Exists "
    "Forall Formula Goal Imply Metric Not Object Or Problem SoftGoal Variable",
    "order": "CausalLink Schedule causal_links makespan partial_order schedule starts",
    "plan": "Plan Progress Result Statistics Status Step StoppedBy Supposition",
    "repair": "Left Mended Patch Undo UndoStep Written mend patch undo",
    "selection": "Criterion Ranking rank",
    "solve": "improve solve",
    "uncertain.expected": "expected_costs",
    "uncertain.aims": "Objective",
    "uncertain.decide": "decide",
    "uncertain.decision": "Decision",
    "uncertain.evaluation": "Execution Worth evaluate executions",
    "uncertain.kept": "Kept",
    "uncertain.policy": "Policy",
    "validate": "Verdict resources simulate validate",
}
"""Which module has which names."""
_HOMES = {name: f"planner.{module}" for module, names in _MODULES.items() for name in names.split()}


class _Package(ModuleType):
    """This package. Where a function is named like its module (`validate`), the attribute is the function."""

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType) and _HOMES.get(name) == value.__name__:
            value = getattr(value, name)
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
