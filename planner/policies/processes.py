"""The decision process of a problem: with states, with beliefs where facts are unknown, or with steps in time."""

from __future__ import annotations

from planner.limits import Limits
from planner.model.constructs import Construct, has
from planner.model.problem import Problem, is_temporal
from planner.policies.belief_states import sensing_process_of
from planner.policies.markov_decision_process import Process, known_process_of
from planner.policies.timed_process import timed_process_of
from planner.semantics.spending import make_sequential


def process_of(problem: Problem, limits: Limits, *, whole: bool = False) -> Process:
    """Ground the decision process of `problem`: all that some outcomes can reach and the goal needs.

    With `whole`, keep what the goal does not need, too.
    Where no outcomes lead to the hard goal, the task has only `unreachable_goal`. Where facts are unknown, the states
    are belief states. Raises as `ground` does, and `UnsupportedError` where unknown facts affect more than the
    applicability of actions.
    """
    if is_temporal(problem):
        return timed_process_of(problem, limits)
    if has(problem, Construct.UNKNOWN):
        return sensing_process_of(make_sequential(problem), limits, whole=whole)
    return known_process_of(problem, limits, whole=whole)
