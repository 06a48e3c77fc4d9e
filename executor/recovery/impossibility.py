"""Whether what was observed proves that no plan reaches the goal of a run, and what is missing then."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from executor.record.facts import Provenance
from executor.record.state import RunState
from executor.recovery.options import Options
from executor.recovery.policy import PROOF_SECONDS
from executor.searches import search_in_turn
from planner.budget import Budget
from planner.errors import ForethoughtError
from planner.explain import explain_unsolvable
from planner.model import Goal, Problem
from planner.model.problem import sealed
from planner.plan import Status
from planner.records import replace
from planner.solve import solve_plainly

_UNSEEN: Final = frozenset({Provenance.ASSUMED, Provenance.REPORTED, Provenance.UNKNOWN})
"""Facts of this provenance may be otherwise than is believed."""


async def prove_impossible(state: RunState, options: Options) -> Mapping[str, Any] | None:
    """Return why no plan reaches the hard goal, as `Diagnosis.to_dict` has it; None where that is not proved.

    Facts that nobody has seen may be either way. Steps that failed, and those that nobody carries out, count as
    possible, and budgets and the deadline are left out: none of these says anything of the world. Search takes
    `PROOF_SECONDS` at most, and so does the explanation.
    """
    if not state.has_goal:
        return None
    problem = options.problem()
    domain, goal = state.beliefs.problem.domain, Goal(state.problem.goal.hard)
    problem = replace(problem, domain=domain, goal=goal, budgets={}, deadline=None)
    observed = _as_observed(problem, state)
    return await search_in_turn(lambda: _proof(problem, observed))


def _as_observed(problem: Problem, state: RunState) -> Problem:
    """Return `problem` with all facts unknown that nobody has seen."""
    beliefs = state.beliefs
    unseen = {note.fact for note in beliefs.notes() if note.provenance in _UNSEEN and not beliefs.is_trusted(note.fact)}
    unseen -= {fact for fact in unseen if beliefs.is_internal(fact)}
    initial = tuple([fact for fact in problem.initial if fact not in unseen])
    return replace(problem, initial=initial, unknown=tuple(sorted(unseen, key=str)), likely={})


def _proof(believed: Problem, observed: Problem) -> Mapping[str, Any] | None:
    try:
        if solve_plainly(observed, mode="first", time_limit=PROOF_SECONDS).status is not Status.UNSOLVABLE:
            return None
        return explain_unsolvable(sealed(believed), Budget(PROOF_SECONDS)).knowing_unsolvable().to_dict()
    except ForethoughtError:  # what search or the explanation does not take is no proof
        return None
