"""Plan where objects and numbers may turn up: what is not listed or read yet, and what that means for answers.

Search knows the objects of the problem alone. A plan that goes through a listing assumes that it names nothing new, and
says so; whoever carries it out plans again for what turned up. Without a plan, listing something may help, and so may
reading a number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, product

from planner.compilations import reserve_name
from planner.compilations.number_abstraction import abstract_numbers
from planner.compilations.unread_numbers import find_readable, may_read_more, qualify_by_values
from planner.language.declare.local_closed_world import listings_of
from planner.lightweight import Final, replace
from planner.limits import LimitReached, Limits
from planner.model import OPEN, Atom, Goal, Object, Or, Problem
from planner.model.actions import positive_atoms
from planner.model.domain import TypeHierarchy, creates_objects, lists_patterns, may_find_out
from planner.model.formulas import atoms_in
from planner.model.problem import Metric, is_numeric, is_temporal, seal, seal_like
from planner.model.unknown_facts import instances_of
from planner.model.unknown_numbers import find_unread
from planner.plan import Result, Status, StoppedBy

LIST_FIRST: Final = "no plan is known with the objects known so far: something is listed first"
READ_FIRST: Final = "no plan is known with the numbers known so far: an unknown number is read first"
SECONDS: Final = 5.0
"""Time limit for the relaxed reachability with objects that may turn up, in seconds."""
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


def describe_unlisted(problem: Problem) -> str:
    """Return which listing has not taken place, perhaps one of what will be created; an empty text if all have."""
    for fact in find_unlisted(problem):
        return f"{fact.predicate} does not hold yet"
    types = TypeHierarchy(problem.domain.types)
    made = {(kind,) for action in problem.domain.actions.values() for kind in action.creates.values()}
    for listing in listings_of(problem.domain) if made else ():
        for each in problem.domain.predicates[listing.fact].parameters:
            if any(types.is_a(new, each.types) or types.is_a(each.types, new) for new in made):
                return f"{listing.fact} does not hold of what is created"
    return ""


def aims_at_finding(problem: Problem) -> Iterator[Problem]:
    """Yield `problem` with the goals to list or read something that is not known yet; none if none of it can help.

    The numbers that a plan needs come first, and then all.
    """
    unlisted = find_unlisted(problem) if may_list_more(problem) else []
    for numbers in find_readable(problem) or ([] if not unlisted else [[]]):
        yield replace(problem, goal=Goal(Or((*unlisted, *numbers))), constraints=(), due=())


def may_find_more(problem: Problem) -> bool:
    """Return whether objects or numbers that turn up might lead to the goal of `problem`, as far as is known."""
    return may_list_more(problem) or may_read_more(problem)


def may_list_more(problem: Problem) -> bool:
    """Return whether objects that turn up in a listing might lead to the goal of `problem`, as far as is known.

    They might unless the goal is relaxed unreachable also with such objects, of which all is supposed to hold. In time,
    that is not looked at.
    """
    if not (lists_patterns(problem.domain) and describe_unlisted(problem)):
        return False
    if is_temporal(problem):
        return True
    supposed = suppose_found(problem)
    if supposed is None or creates_objects(problem.domain):
        return True
    from planner.grounding.ground import ground

    plain = replace(supposed, unknown=(), likely={}, constraints=(), budgets={}, deadline=None)
    plain = replace(
        plain, initial=(*plain.initial, *(fact for each in problem.unknown for fact in instances_of(problem, each)))
    )
    plain = replace(plain, goal=Goal(plain.goal.hard))
    if is_numeric(plain):  # of numbers, every comparison counts as possible
        plain = replace(abstract_numbers(plain).problem, metric=Metric.COST)
    try:
        return ground(seal(plain), Limits(SECONDS)).unreachable_goal is None
    except LimitReached:
        return True


MOST_SUPPOSED: Final = 20_000
"""Most facts that are supposed of objects that may turn up."""


def suppose_found(problem: Problem) -> Problem | None:
    """Return a relaxation of `problem` in which objects that may turn up are there, one for each open place.

    What no action provides, and what is listed, holds of them, and so does all that the goal does not mention. So what
    is relaxed unreachable there is so whatever turns up. Return None if there would be too many facts, and `problem`
    where everything is listed.
    """
    unlisted = find_unlisted(problem)
    if not unlisted:
        return problem
    domain, names, more = problem.domain, {each.name for each in problem.all_objects}, list[Object]()
    for listing in listings_of(domain):
        parameters = domain.predicates[listing.pattern.predicate].parameters
        for parameter, arg in zip(parameters, listing.pattern.args, strict=True):
            name = reserve_name(f"found-{parameter.types[0]}", names) if arg == OPEN else ""
            more += [Object(name, parameter.types)] if name else []
    objects = (*problem.objects, *more)
    by_type = TypeHierarchy(domain.types).objects_by_type((*domain.constants, *objects))
    listed = {each.pattern.predicate for each in listings_of(domain)}
    provided = {
        atom.predicate
        for action in domain.actions.values()
        for each in action.effects
        for atom in positive_atoms(each.provides)
    }
    wanted = {atom.predicate for atom in atoms_in(problem.goal.hard)} & provided - listed
    new, facts = {each.name for each in more}, list[Atom]()
    for predicate in domain.predicates.values():
        if predicate.name in domain.derived or predicate.name in wanted:
            continue
        columns = [
            dict.fromkeys(name for kind in each.types for name in by_type.get(kind, ()))
            for each in predicate.parameters
        ]
        rows = (row for row in product(*columns) if not new.isdisjoint(row))
        facts += [Atom(predicate.name, row) for row in islice(rows, MOST_SUPPOSED + 1)]
        if len(facts) > MOST_SUPPOSED:
            return None
    known = dict.fromkeys([*problem.initial, *facts])
    return seal_like(replace(problem, objects=objects, initial=tuple(known)), problem)


def plan_to_find(problem: Problem, solve: Callable[[Problem], Result]) -> Result | None:
    """Search for a plan that lists or reads something that is not known yet; None if there is none that may help.

    Whoever carries it out plans again for what turned up; nobody does so in time, where nothing is found. `solve`
    searches.
    """
    aims = () if is_temporal(problem) else aims_at_finding(problem)
    results = (solve(seal_like(aim, problem)) for aim in aims)
    found = next((each for each in results if each.plan is not None), None)
    if found is None or found.plan is None:
        return None
    reason = LIST_FIRST if any(problem.domain.actions[each.action].lists for each in found.plan.steps) else READ_FIRST
    return replace(found, plan=replace(found.plan, problem=problem, suppositions=()), reason=reason)


def qualify_by_findings(problem: Problem, result: Result) -> Result:
    """Say in `result` which listings its plan assumes to find nothing new, and which values of numbers it supposes.

    What turns up might reach the goal, so that a search without it proves nothing unsolvable; nor does one with values
    that are supposed prove a plan optimal.
    """
    if not may_find_out(problem.domain):
        return result
    if result.status is Status.UNSOLVABLE:
        if not may_find_more(problem):
            return result
        found = describe_unlisted(problem)
        unread = find_unread(problem)
        said = [f"objects may turn up: {found}"] if found else []
        said += [f"{_join_terms(unread)} {'is' if len(unread) == 1 else 'are'} unknown"] if unread else []
        reason = "; ".join(filter(None, [result.reason, *said]))
        return replace(result, status=Status.UNKNOWN, stopped_by=StoppedBy.INCOMPLETE, reason=reason)
    return qualify_by_values(problem, _qualify_by_listings(problem, result))


def _join_terms(terms: Sequence[Atom]) -> str:
    return ", ".join(map(str, terms[:3])) + (f" and {len(terms) - 3} more" if len(terms) > 3 else "")


def _qualify_by_listings(problem: Problem, result: Result) -> Result:
    actions = problem.domain.actions
    steps = [step for step in (result.plan.steps if result.plan else ()) if actions[step.action].lists]
    if not steps:
        return result
    reason = f"planned as if {', '.join(dict.fromkeys(map(str, steps)))} found nothing new"
    return replace(result, reason="; ".join(filter(None, [result.reason, reason])))
