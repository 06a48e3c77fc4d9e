"""Problems in both directions: `from_unified_planning` and `to_unified_planning` convert problems of every kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.language.pddl.timed_form import asks_for_time
from planner.limits import Limits
from planner.model import Problem
from planner.problem_kinds import AnyProblem, service_of
from planner.unified_planning.problem_features import TIME, OtherIncoming, converter
from planner.unified_planning.problem_reader import Incoming, Reading
from planner.unified_planning.problem_writer import Outgoing, write_problem
from planner.unified_planning.timed_reader import TimedReading
from planner.unified_planning.timed_writer import write_timed_problem

if TYPE_CHECKING:
    import unified_planning.model as up
    from unified_planning.environment import Environment

    from planner.unified_planning.problem_features import OtherOutgoing

AnyIncoming = Incoming | OtherIncoming


def from_unified_planning(source: up.Problem) -> AnyIncoming:
    """Return `source` as a problem of the model, with plans mapped both ways.

    A hierarchical problem becomes an `HtnProblem` (see `planner.unified_planning.problem_features`); one with actions
    that last, or changes at known times, asks for a plan in time. Raises `UnsupportedError`, which names the construct,
    for what happens inside an action, goals at times, soft goals, several agents, trajectory constraints other than
    invariants, numbers without an exact decimal, and fluents that are no numbers without an initial value, and
    `InputError` where an initial value is outside the bounds of its fluent.
    """
    features = frozenset(source.kind.features)
    other = converter(features)
    if other is not None:
        found: OtherIncoming = other.from_unified_planning(source)
        return found
    return (Reading if TIME.isdisjoint(features) else TimedReading)(source, features).result()


def to_unified_planning(
    problem: AnyProblem, environment: Environment | None = None, limits: Limits | None = None
) -> Outgoing | OtherOutgoing:
    """Return `problem` as one of unified-planning, in the given or the global environment, with the way back for plans.

    Names become legal for all planners, and costs integers, unless there are other numbers beside them. A hierarchical
    problem becomes a `HierarchicalProblem`, and one in time has durative actions. Wishes of a sequence become actions
    that grant or forgo them at a cost, and budgets numbers. Raises `UnsupportedError` for derived predicates, wishes in
    time and beside tasks, facts declared unknown, created objects, uncertain outcomes, and metrics that weigh time with
    anything else, which unified-planning cannot express, and `LimitReached` where `limits` end the work on costs.
    """
    limits = limits or Limits()
    if not isinstance(problem, Problem):
        found: OtherOutgoing = service_of(problem).to_unified_planning(problem, environment, limits)
        return found
    return (write_timed_problem if asks_for_time(problem) else write_problem)(problem, environment, limits)
