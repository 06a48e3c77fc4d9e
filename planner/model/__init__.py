"""The immutable model that every stage reads: atoms, formulas, actions, domain, problem."""

from planner.model.actions import (
    REQUIRED,
    TAGS,
    Action,
    CostFunction,
    CostTerm,
    DataParameter,
    From,
    Literal,
    Outcome,
    When,
)
from planner.model.atoms import OPEN, Atom, Object, Term, Variable, is_variable
from planner.model.domain import ROOT_TYPE, Axiom, DomainModel, Function, Predicate, TypeHierarchy
from planner.model.formulas import FALSE, TRUE, And, Equals, Exists, Forall, Formula, Imply, Not, Or
from planner.model.numbers import Number
from planner.model.problem import Goal, Metric, Problem, SoftGoal

__all__ = [
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
    "CostFunction",
    "CostTerm",
    "DataParameter",
    "DomainModel",
    "Equals",
    "Exists",
    "Forall",
    "Formula",
    "From",
    "Function",
    "Goal",
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
