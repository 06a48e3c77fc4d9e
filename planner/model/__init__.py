"""The immutable model that every stage reads: atoms, formulas, actions, domain, problem."""

from planner.model.actions import (
    REQUIRED,
    TAGS,
    Action,
    Case,
    CostFunction,
    CostTerm,
    DataParameter,
    From,
    Literal,
    Outcome,
    When,
)
from planner.model.atoms import OPEN, Atom, Object, Term, Variable, is_variable
from planner.model.constraints import Constraint, ConstraintKind, Done, Happening
from planner.model.domain import ROOT_TYPE, Axiom, DomainModel, Function, Predicate, TypeHierarchy
from planner.model.formulas import FALSE, TRUE, And, Equals, Exists, Forall, Formula, Imply, Not, Or
from planner.model.numbers import Number
from planner.model.problem import COST, Goal, Metric, Problem, SoftGoal

__all__ = [
    "COST",
    "FALSE",
    "OPEN",
    "REQUIRED",
    "ROOT_TYPE",
    "TAGS",
    "TRUE",
    "Action",
    "And",
    "Atom",
    "Axiom",
    "Case",
    "Constraint",
    "ConstraintKind",
    "CostFunction",
    "CostTerm",
    "DataParameter",
    "DomainModel",
    "Done",
    "Equals",
    "Exists",
    "Forall",
    "Formula",
    "From",
    "Function",
    "Goal",
    "Happening",
    "Imply",
    "Literal",
    "Metric",
    "Not",
    "Number",
    "Object",
    "Or",
    "Outcome",
    "Predicate",
    "Problem",
    "SoftGoal",
    "Term",
    "TypeHierarchy",
    "Variable",
    "When",
    "is_variable",
]
