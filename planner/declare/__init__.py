"""Declaring domains in Python: `Domain`, `Entity`, and what stands inside declarations."""

from planner.declare.domain import Domain
from planner.declare.entity import Entity
from planner.declare.marks import FIXED, From, Outcome, When
from planner.declare.names import resolve_action
from planner.declare.refs import PredicateRef

__all__ = ["FIXED", "Domain", "Entity", "From", "Outcome", "PredicateRef", "When", "resolve_action"]
