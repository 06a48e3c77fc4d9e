"""Tasks that can never be done: what each of their methods lacks, even if no fact ever ended (delete relaxation).

As for grounding, the hierarchical problem becomes a classical one along the hierarchy, but in smaller steps, so that
what is missing shows where it is missing: a task is *demanded* by the method above it; a method *applies* where its
task is demanded and its precondition may hold; and a task is *done* by an action that may apply, or by a method all of
whose subtasks may be done.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from htn.compilations.known_changes import add_changes
from htn.compilations.method_preprocessing import PART, ROOT, Needs, preprocess
from htn.explain.report import Attempt, Failure, Lack, WhyNot
from htn.grounding.instances import DEMANDED, METHOD, demanded_action, demanding_method, with_actions
from htn.model import HtnProblem, Method, Task, unify
from planner.compilations.normal_form import Conjunction, Schema, normalise, to_negation_normal_form
from planner.explain.near_misses import NearMiss, Provider, Relaxed, find_near_misses, matching_rows
from planner.lightweight import Final, dataclass, replace
from planner.limits import LimitReached, Limits
from planner.model import Action, Atom, Formula, Literal, Not, Predicate, Problem
from planner.model.formulas import conjunction, substitute
from planner.plan import StoppedBy
from planner.semantics.snap_actions import make_snap_problem

INITIAL_TASKS: Final = "the tasks of the problem"
"""The name of the root task in explanations."""
ENDS: Final = "@end "
"""Prefix of the action that ends a method; the name of the method follows."""
DONE: Final = "@done "
"""Prefix of the predicate that a task was done; the name of the task follows."""


def describe_task(task: Atom) -> str:
    """Return the name of `task` in explanations; a part is called after the subtask whose objects it chooses."""
    if task.predicate == ROOT:
        return INITIAL_TASKS
    if not task.predicate.startswith(PART):
        return str(task)
    method, _, place = task.predicate.removeprefix(PART).rpartition(" ")
    number = int(place) + 1
    known = f" for {', '.join(task.args)}" if task.args else ""
    return f"task {number} of the problem{known}" if method == ROOT else f"subtask {number} of {method}{known}"


def describe_method(method: Method) -> str:
    """Return the name of `method` in explanations; that of a part only chooses objects."""
    if method.name == ROOT:
        return "the initial task network"
    return "the choice" if method.name.startswith(PART) else method.name


def describe_instance(method: Method, binding: dict[str, str]) -> str:
    """Return the name of `method` with its objects in explanations."""
    name, known = describe_method(method), ", ".join(binding[each.name] for each in method.parameters)
    if method.name == ROOT:
        return f"{name} for {known}" if known else name
    return f"{name}({known})"


class RelaxedHierarchy:
    """The delete relaxation of a hierarchical problem; raises `LimitReached` while it is explored.

    With `pulled`, methods are split and require what their subtasks need. That is less to explore, but what is missing
    then shows higher up, and some tasks are parts of methods.
    """

    def __init__(self, problem: HtnProblem, limits: Limits, *, pulled: bool = False) -> None:
        plain = preprocess(problem, splitting=pulled)
        self.domain = plain.domain
        needs = Needs(self.domain, problem.classical.all_objects, alone=problem.is_ordered) if pulled else None
        self.relaxed = Relaxed(normalise(_done_problem(plain, needs)), limits)
        self._schemas: dict[str, list[Schema]] = {}
        for schema in self.relaxed.normal.schemas:
            self._schemas.setdefault(schema.action.name, []).append(schema)

    def may_be_done(self, task: Atom) -> bool:
        """Return whether the ground `task`, which some method leads to, may be done."""
        return self.relaxed.may(done_fact(task))

    def bindings(self, method: Method, task: Atom) -> Iterator[dict[str, str]]:
        """Yield the bindings with which `method` may apply to the ground `task`."""
        bound = unify(method.task, task, {})
        if bound is not None:
            pattern, names = _head(METHOD, method), [each.name for each in method.parameters]
            for row in sorted(matching_rows(self.relaxed.relation(pattern.predicate), pattern, bound)):
                yield dict(zip(names, row, strict=True))

    def cases(self, method: Method) -> list[Schema]:
        """Return the conjunctive cases of when `method` applies; the demand of its task is left out."""
        cases = self._schemas.get(METHOD + method.name, [])
        return [replace(each, condition=_without_demand(each)) for each in cases]

    def is_changed(self, atom: Atom) -> bool:
        """Return whether any action writes facts of the predicate of `atom`."""
        return atom.predicate in self.relaxed.database.growing


def done_fact(task: Atom) -> Atom:
    """Return the fact that `task` was done."""
    return Atom(DONE + task.predicate, task.args)


def _without_demand(schema: Schema) -> Conjunction:
    atoms = tuple([atom for atom in schema.condition.atoms if not atom.predicate.startswith(DEMANDED)])
    return replace(schema.condition, atoms=atoms)


def _done_problem(problem: HtnProblem, needs: Needs | None) -> Problem:
    """Return the classical problem whose relaxation says which tasks may be done, and which methods apply."""
    domain, classical = problem.domain, problem.classical
    actions = [demanded_action(each, done_fact(_head("", each))) for each in classical.domain.actions.values()]
    for method in domain.methods.values():
        actions += [demanding_method(method, needs, _head(METHOD, method)), _end(method)]
    heads: list[Task | Action] = [*domain.tasks.values(), *classical.domain.actions.values()]
    predicates = [Predicate(kind + each.name, each.parameters) for each in heads for kind in (DEMANDED, DONE)]
    predicates += [Predicate(METHOD + each.name, each.parameters) for each in domain.methods.values()]
    return with_actions(classical, actions, predicates)


def _end(method: Method) -> Action:
    """Return the action that ends `method`: its subtasks were done, and so its task is."""
    parts = [_head(METHOD, method), *(done_fact(each.task) for each in method.network.subtasks)]
    return Action(
        ENDS + method.name, method.parameters, conjunction(dict.fromkeys(parts)), (done_fact(method.task),), cost=(0,)
    )


def _head(prefix: str, declared: Action | Method) -> Atom:
    return Atom(prefix + declared.name, tuple([each.name for each in declared.parameters]))


FOLLOWED: Final = 2000
"""Most failing tasks that are followed: the first down to its deepest reason, then the next."""
TASKS: Final = 24
"""Most failing tasks in an explanation."""
CHOICES: Final = 3
"""Most choices of objects that are followed for a method."""


@dataclass(frozen=True, slots=True, eq=False)
class _FailingTask:
    """A task that fails, and the failing task above it; the root is at depth 0."""

    task: Atom
    above: _FailingTask | None = None
    depth: int = 0

    @property
    def path(self) -> tuple[str, ...]:
        """The tasks above this one, nearest first."""
        found, upper = [], self.above
        while upper is not None and upper.depth:
            found.append(describe_task(upper.task))
            upper = upper.above
        return tuple(found)


def find_impossible_tasks(hierarchy: RelaxedHierarchy) -> tuple[Failure, ...]:
    """Return tasks that can never be done and that the root leads to, the deepest first; none where it can be done."""
    if hierarchy.may_be_done(Atom(ROOT)):
        return ()
    found = _find_failing_tasks(hierarchy)
    told = found[1:] or found
    told.sort(key=lambda failing: -failing.depth)
    return tuple([_explain_failure(each, hierarchy) for each in told[:TASKS]])


def _find_failing_tasks(hierarchy: RelaxedHierarchy) -> list[_FailingTask]:
    """Return the root and the tasks below it that can never be done, as they are found from the left."""
    stack, found = [_FailingTask(Atom(ROOT))], list[_FailingTask]()
    seen: set[Atom] = set()
    while stack and len(found) < FOLLOWED:
        failing = stack.pop()
        if failing.task not in seen:
            hierarchy.relaxed.limits.check()
            seen.add(failing.task)
            found.append(failing)
            methods = hierarchy.domain.methods_for(failing.task.predicate)
            applied = [each for method in methods for each in _failing_subtasks(method, failing.task, hierarchy)]
            leads = dict.fromkeys(task for _, tasks, _ in applied for task in tasks)
            stack += [_FailingTask(each, failing, failing.depth + 1) for each in reversed(leads)]
    return found


def _explain_failure(failing: _FailingTask, hierarchy: RelaxedHierarchy) -> Failure:
    """Return the attempts to do a task that fails."""
    if failing.task.predicate in hierarchy.domain.classical.actions:
        return Failure(describe_task(failing.task), (_explain_action(failing.task, hierarchy),), failing.path)
    attempts: list[Attempt] = []
    for method in hierarchy.domain.methods_for(failing.task.predicate):
        applied = [
            Attempt(name, undoable=tuple(map(describe_task, tasks)), others=others)
            for name, tasks, others in _failing_subtasks(method, failing.task, hierarchy)
        ]
        attempts += applied or [_nearest_attempt(method, failing.task, hierarchy)]
    return Failure(describe_task(failing.task), tuple(attempts), failing.path)


def _failing_subtasks(method: Method, task: Atom, hierarchy: RelaxedHierarchy) -> Iterator[tuple[str, list[Atom], int]]:
    """Yield the instances of `method` that apply to `task`: name, failing subtasks, number of further instances."""
    choices = [*hierarchy.bindings(method, task)]
    for place, binding in enumerate(choices[:CHOICES], start=1):
        subtasks = dict.fromkeys(each.task.substitute(binding) for each in method.network.subtasks)
        tasks = [each for each in subtasks if not hierarchy.may_be_done(each)]
        yield describe_instance(method, binding), tasks, len(choices) - CHOICES if place == CHOICES else 0


def find_lacks(formula: Formula, hierarchy: RelaxedHierarchy) -> tuple[Lack, ...] | None:
    """Return the fewest literals whose impossibility rules out the ground `formula`; None where no facts would do."""
    sets = hierarchy.relaxed.lacks(to_negation_normal_form(formula, itertools.count()))
    return tuple([explain_lack(each, hierarchy) for each in sets[0]]) if sets else None


def explain_lack(literal: Literal, hierarchy: RelaxedHierarchy) -> Lack:
    """Return why `literal` can never hold."""
    atom = literal.part if isinstance(literal, Not) else literal
    assert isinstance(atom, Atom)
    if isinstance(literal, Not):
        ends = "nothing that the tasks lead to ends it" if hierarchy.is_changed(atom) else "no action ends it"
        return Lack(str(literal), f"but it holds, and {ends}")
    makes = "nothing that the tasks lead to makes it true" if hierarchy.is_changed(atom) else "no action makes it true"
    return Lack(str(literal), f"which does not hold, and {makes}")


def _explain_action(task: Atom, hierarchy: RelaxedHierarchy) -> Attempt:
    """Return what the action for `task` lacks."""
    action = hierarchy.domain.classical.actions[task.predicate]
    for parameter, value in zip(action.parameters, task.args, strict=True):
        if value not in hierarchy.relaxed.database.members(parameter.types):
            return Attempt("the action", remark=f"{value} is no {' or '.join(parameter.types)}")
    binding = {parameter.name: value for parameter, value in zip(action.parameters, task.args, strict=True)}
    lacks = find_lacks(substitute(action.requires, binding), hierarchy)
    if lacks is None:
        return Attempt("the action", remark="no facts at all would let it apply to these objects")
    return Attempt("the action", lacks)


def _nearest_attempt(method: Method, task: Atom, hierarchy: RelaxedHierarchy) -> Attempt:
    """Return the instance of `method` for `task` that lacks least; it has none that applies."""
    stand_in = Action(describe_method(method), method.parameters)
    found: list[NearMiss] = []
    for case in hierarchy.cases(method):
        variables = (*method.parameters, *case.condition.variables)
        provider = Provider(stand_in, variables, case.condition, (done_fact(method.task),))
        found += find_near_misses(provider, done_fact(task), hierarchy.relaxed)
    found.sort(key=lambda miss: len(miss.lacks))
    if not found:
        fitting = "its parameters" if method.name == ROOT else "it for this task"
        return Attempt(describe_method(method), remark=f"no objects fit {fitting}")
    labels = {miss.label for miss in found if len(miss.lacks) == len(found[0].lacks)}
    return Attempt(
        found[0].label, tuple([explain_lack(each, hierarchy) for each in found[0].lacks]), others=len(labels) - 1
    )


EXACT_SECONDS: Final = 2.0
"""Time limit, in seconds, of the exact relaxation, which finds each condition where it is missing."""
MEMORY_SHARE: Final = 0.7
"""Share of the memory that the relaxation may take; the search for dead ends needs some, too."""


def prove_unsolvable(problem: HtnProblem, limits: Limits) -> WhyNot | RelaxedHierarchy | StoppedBy:
    """Return why there can be no plan, or else the relaxation, which shows no reason, or the limit that was reached."""
    try:
        hierarchy = relax(problem, limits)
        failures = find_impossible_tasks(hierarchy)
        lacks = find_lacks(problem.classical.goal.hard, hierarchy)
    except LimitReached as limit:
        return limit.stopped_by
    if lacks is None:
        lacks = (Lack(str(problem.classical.goal.hard), "which no facts at all would make true"),)
    return WhyNot(problem.name, failures, lacks) if failures or lacks else hierarchy


def is_impossible(problem: HtnProblem, limits: Limits) -> bool:
    """Return whether the tasks cannot be done even with deletes ignored; raises `LimitReached`."""
    found = prove_unsolvable(problem, limits)
    limits.check()
    return isinstance(found, WhyNot)


def relax(problem: HtnProblem, limits: Limits) -> RelaxedHierarchy:
    """Return the exact relaxation of `problem`, or the one with pulled-up preconditions where that takes too long.

    Changes at known times are tasks of it.
    """
    if problem.classical.timed:
        problem = add_changes(problem, problem.classical, make_snap_problem(problem.classical))
    try:
        found = RelaxedHierarchy(problem, part_of(limits, 1 / 3, EXACT_SECONDS))
    except LimitReached as limit:
        if limit.stopped_by is not StoppedBy.TIME:
            raise
        found = RelaxedHierarchy(problem, part_of(limits, 2 / 3), pulled=True)
    found.relaxed.limits = limits
    return found


def part_of(limits: Limits, share: float, most: float = math.inf) -> Limits:
    """Return a `share` of what is left of `limits`, `most` seconds at most; of the memory, most of it."""
    memory = None if limits.memory_limit is None else limits.memory_limit * MEMORY_SHARE
    seconds = most if limits.remaining is None else min(most, limits.remaining * share)
    return Limits(None if math.isinf(seconds) else seconds, memory, limits.cancel)
