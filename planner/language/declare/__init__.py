"""Declaring domains in Python: `Domain`, `Entity`, and what stands inside declarations."""

from planner.language.declare.condition_reader import (
    Demand,
    always,
    at_most,
    before,
    done,
    forbidden,
    mandatory,
    never,
    never_after,
    sometime,
)
from planner.language.declare.declared_names import resolve_action
from planner.language.declare.domain_authoring import Domain
from planner.language.declare.marks import FIXED, Entity, From, Moment, Outcome, PredicateRef, When

__all__ = [
    "FIXED",
    "Demand",
    "Domain",
    "Entity",
    "From",
    "Moment",
    "Outcome",
    "PredicateRef",
    "When",
    "always",
    "at_most",
    "before",
    "done",
    "forbidden",
    "mandatory",
    "never",
    "never_after",
    "resolve_action",
    "sometime",
]
