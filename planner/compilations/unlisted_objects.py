"""Plan where objects may turn up: what is not listed yet, and what that means for answers.

Search knows the objects of the problem alone. A plan that goes through a listing assumes that it names nothing new, and
says so; whoever carries it out plans again for what turned up. Without a plan, listing something may help.
"""

from __future__ import annotations

from itertools import islice, product

from planner.language.declare.local_closed_world import listings_of
from planner.lightweight import Final, replace
from planner.model import Atom, Goal, Or, Problem
from planner.model.domain import TypeHierarchy
from planner.plan import Result, Status, StoppedBy

MOST_FACTS: Final = 1000
"""Most facts that a goal to list something names."""


def find_unlisted(problem: Problem) -> list[Atom]:
    """Return the facts of listings that do not hold in the initial state of `problem`, up to a limit."""
    types, held = TypeHierarchy(problem.domain.types), set(problem.initial)
    by_type = types.objects_by_type(problem.all_objects)
    found: list[Atom] = []
    for listing in listings_of(problem.domain):
        parameters = problem.domain.predicates[listing.fact].parameters
        columns = [dict.fromkeys(name for kind in each.types for name in by_type.get(kind, ())) for each in parameters]
        facts = (Atom(listing.fact, row) for row in product(*columns))
        found += islice((fact for fact in facts if fact not in held), MOST_FACTS - len(found))
    return found


def aim_at_listing(problem: Problem) -> Problem | None:
    """Return `problem` with the goal to list something that is not listed yet; None if everything is."""
    unlisted = find_unlisted(problem)
    return replace(problem, goal=Goal(Or(tuple(unlisted))), constraints=()) if unlisted else None


def qualify_by_listings(problem: Problem, result: Result) -> Result:
    """Say in `result` which listings the plan assumes to find nothing new; UNSOLVABLE becomes UNKNOWN.

    Objects that turn up in a listing might reach the goal, so that a search without them proves nothing unsolvable.
    """
    if not listings_of(problem.domain):
        return result
    if result.status is Status.UNSOLVABLE:
        unlisted = find_unlisted(problem)
        if not unlisted:
            return result
        reason = f"objects may turn up: {unlisted[0].predicate} does not hold yet"
        reason = "; ".join(filter(None, [result.reason, reason]))
        return replace(result, status=Status.UNKNOWN, stopped_by=StoppedBy.INCOMPLETE, reason=reason)
    actions = problem.domain.actions
    steps = [step for step in (result.plan.steps if result.plan else ()) if actions[step.action].lists]
    if not steps:
        return result
    reason = f"planned as if {', '.join(dict.fromkeys(map(str, steps)))} found nothing new"
    return replace(result, reason="; ".join(filter(None, [result.reason, reason])))
