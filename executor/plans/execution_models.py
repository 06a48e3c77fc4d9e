"""The execution models, and tests for policies, decisions and candidate sets that do not load the modules of these."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from planner.policies.decision import Decision
    from planner.policies.policy import Policy
    from planner.topk.top_k import CandidateSet

ExecutionModel = Literal["sequential", "parallel", "dag", "reactive", "hierarchical", "policy", "timed"]
RunModel = ExecutionModel | Literal["offered"]
OFFERED: Final = "offered"
"""The execution model of runs in which a driver from outside chooses each step."""


def is_policy(value: object) -> TypeIs[Policy]:
    """Return whether `value` is a `Policy`."""
    return _is("planner.policies.policy", "Policy", value)


def is_decision(value: object) -> TypeIs[Decision]:
    """Return whether `value` is a `Decision`."""
    return _is("planner.policies.decision", "Decision", value)


def is_candidate_set(value: object) -> TypeIs[CandidateSet]:
    """Return whether `value` is a `CandidateSet`."""
    return _is("planner.topk.top_k", "CandidateSet", value)


def _is(module: str, name: str, value: object) -> bool:
    found = sys.modules.get(module)
    return found is not None and isinstance(value, getattr(found, name))
