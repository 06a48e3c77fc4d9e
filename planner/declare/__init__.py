"""Declaring domains in Python: `Domain`, `Entity`, and what stands inside declarations."""

from planner.declare.constraints import (
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
from planner.declare.domain import Domain
from planner.declare.entity import Entity
from planner.declare.marks import FIXED, From, Outcome, When
from planner.declare.names import resolve_action
from planner.declare.refs import PredicateRef

__all__ = [
    "FIXED",
    "Demand",
    "Domain",
    "Entity",
    "From",
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
