"""Tasks that can never be done: what each method lacks, even if nothing that holds ever ended.

What tasks and methods are called in explanations: those that splitting made are none that anybody wrote.

What the tasks of a problem may lead to when nothing that holds ever ends.

As for grounding, a hierarchical problem becomes a classical one along the hierarchy, but each thing by itself, so that
what is missing shows where it is missing: a task is *demanded* by the method above it; a method *applies* where its
task is demanded and its precondition may hold; and a task is *done* by an action that may apply, or by a method all of
whose subtasks may be done.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from htn.compilations.method_splitting import PART, ROOT, rooted, split
from htn.compilations.pulled_up_preconditions import Needs, changes
from htn.explain.report import Attempt, Failure, Lack, WhyNot
from htn.model import HtnDomain, HtnProblem, Method
from planner.compilations.adl import compile_adl
from planner.compilations.normal_form import Conjunction, Schema, normalise, to_negation_normal_form
from planner.explain.near_misses import NearMiss, Provider, Relaxed, matching, near_misses
from planner.lightweight import Final, dataclass, replace
from planner.limits import LimitReached, Limits
from planner.model import Action, Atom, Formula, Literal, Not, Predicate, Problem, is_variable
from planner.model.formulas import conjunction, conjuncts, substitute
from planner.plan import StoppedBy

INITIAL_TASKS: Final = "the tasks of the problem"
"""What the task above the initial network is called."""


def shown(task: Atom) -> str:
    """Return what `task` is called; a part is called after the subtask whose objects it chooses."""
    if task.predicate == ROOT:
        return INITIAL_TASKS
    if not task.predicate.startswith(PART):
        return str(task)
    method, _, place = task.predicate.removeprefix(PART).rpartition(" ")
    number = int(place) + 1
    known = f" for {', '.join(task.args)}" if task.args else ""
    return f"task {number} of the problem{known}" if method == ROOT else f"subtask {number} of {method}{known}"


def title(method: Method) -> str:
    """Return what `method` is called; that of a part only chooses objects, and nobody gave the initial one a name."""
    if method.name == ROOT:
        return "the initial task network"
    return "the choice" if method.name.startswith(PART) else method.name


def label_of(method: Method, binding: dict[str, str]) -> str:
    """Return `method` for certain objects as people write it."""
    if method.name == ROOT:
        known = ", ".join(binding[each.name] for each in method.parameters)
        return f"{title(method)} for {known}" if known else title(method)
    return f"{title(method)}({', '.join(binding[each.name] for each in method.parameters)})"


_DEMANDED: Final = "@do "
_APPLIES: Final = "@by "
_ENDS: Final = "@end "
_DONE: Final = "@done "


class Reach:
    """The relaxed world of a hierarchical problem; raises `LimitReached` while it is explored.

    With `pulled`, methods require what their subtasks need, where nothing in between may bring it about, and choose
    objects for one subtask alone when they come to it: that is less to look at, but what is missing then shows higher
    up, and some tasks are parts of methods.
    """

    def __init__(self, problem: HtnProblem, limits: Limits, *, pulled: bool = False) -> None:
        classical = compile_adl(problem.classical).problem
        self.domain: HtnDomain = replace(rooted(problem), classical=classical.domain)
        if pulled:
            written = _written(classical)
            self.domain = split(self.domain, lambda predicate: predicate not in written)
        needs = Needs(self.domain, problem.classical.all_objects, alone=problem.is_ordered) if pulled else None
        self.normal = normalise(_program(self.domain, classical, needs))
        self.relaxed = Relaxed(self.normal, limits)
        self.schemas: dict[str, list[Schema]] = {}
        for schema in self.normal.schemas:
            self.schemas.setdefault(schema.action.name, []).append(schema)

    def may_be_done(self, task: Atom) -> bool:
        """Return whether the ground `task`, which some method leads to, may be done."""
        return self.relaxed.may(done(task))

    def choices(self, method: Method, task: Atom) -> Iterator[dict[str, str]]:
        """Yield for which objects `method` may apply to the ground `task`."""
        names = [each.name for each in method.parameters]
        bound = unified(method.task, task)
        if bound is None:
            return
        pattern = _head(_APPLIES + method.name, method)
        for row in sorted(matching(self.relaxed.relation(pattern.predicate), pattern, bound)):
            yield dict(zip(names, row, strict=True))

    def cases(self, method: Method) -> list[Schema]:
        """Return the conjunctive cases of when `method` applies; the demand of its task is left out."""
        cases = self.schemas.get(_APPLIES + method.name, [])
        return [replace(each, condition=_without_demand(each)) for each in cases]

    def is_changed(self, atom: Atom) -> bool:
        """Return whether any action writes facts of the predicate of `atom`."""
        return atom.predicate in self.relaxed.database.growing


def _written(classical: Problem) -> set[str]:
    """Return the predicates that actions write or axioms derive."""
    actions = classical.domain.actions.values()
    return {predicate for action in actions for predicate, _ in changes(action)} | classical.domain.derived


def unified(pattern: Atom, task: Atom) -> dict[str, str] | None:
    """Return what the variables of `pattern` stand for where it is `task`; None where it cannot be."""
    bound: dict[str, str] = {}
    for term, value in zip(pattern.args, task.args, strict=True):
        if (bound.setdefault(term, value) if is_variable(term) else term) != value:
            return None
    return bound


def done(task: Atom) -> Atom:
    """Return the fact that `task` was done."""
    return Atom(_DONE + task.predicate, task.args)


def _demanded(task: Atom) -> Atom:
    return Atom(_DEMANDED + task.predicate, task.args)


def _without_demand(schema: Schema) -> Conjunction:
    atoms = tuple([atom for atom in schema.condition.atoms if not atom.predicate.startswith(_DEMANDED)])
    return replace(schema.condition, atoms=atoms)


def _program(domain: HtnDomain, classical: Problem, needs: Needs | None) -> Problem:
    """Return the classical problem whose relaxed world says what may be demanded, apply and be done."""
    actions = [_reached_action(each) for each in domain.classical.actions.values()]
    for method in domain.methods.values():
        actions += [_begin(method, needs), _end(method)]
    heads = {task.name: task.parameters for task in domain.tasks.values()}
    heads |= {action.name: action.parameters for action in domain.classical.actions.values()}
    kinds = (_DEMANDED, _DONE)
    predicates = [Predicate(kind + name, parameters) for name, parameters in heads.items() for kind in kinds]
    predicates += [Predicate(_APPLIES + each.name, each.parameters) for each in domain.methods.values()]
    grown = replace(
        domain.classical,
        actions={action.name: action for action in actions},
        predicates={**domain.classical.predicates, **{each.name: each for each in predicates}},
    )
    return replace(classical, domain=grown, initial=(*classical.initial, _demanded(Atom(ROOT))))


def _reached_action(action: Action) -> Action:
    task = _head(action.name, action)
    requires = conjunction([_demanded(task), *conjuncts(action.requires)])
    return replace(action, requires=requires, provides=(*action.provides, done(task)))


def _begin(method: Method, needs: Needs | None) -> Action:
    parts = [_demanded(method.task), *conjuncts(method.precondition), *conjuncts(method.network.constraints)]
    parts += [need for need in needs.of_method(method) if need not in parts] if needs is not None else []
    demands = dict.fromkeys(_demanded(each.task) for each in method.network.subtasks)
    name = _APPLIES + method.name
    return Action(name, method.parameters, conjunction(parts), (_head(name, method), *demands), cost=(0,))


def _end(method: Method) -> Action:
    parts = [_head(_APPLIES + method.name, method), *(done(each.task) for each in method.network.subtasks)]
    needs = conjunction(dict.fromkeys(parts))
    return Action(_ENDS + method.name, method.parameters, needs, (done(method.task),), cost=(0,))


def _head(name: str, declared: Action | Method) -> Atom:
    return Atom(name, tuple([each.name for each in declared.parameters]))


FOLLOWED: Final = 2000
"""So many tasks are followed: the first that fails down to its deepest reason, then the next."""
TASKS: Final = 24
"""So many tasks are told."""
CHOICES: Final = 3
"""So many choices of objects are followed for each method."""


@dataclass(frozen=True, slots=True, eq=False)
class _Wanted:
    """A task that fails, and the one that it is there for; the root is at depth 0."""

    task: Atom
    above: _Wanted | None = None
    depth: int = 0

    @property
    def path(self) -> tuple[str, ...]:
        """The tasks above this one, nearest first."""
        found, upper = [], self.above
        while upper is not None and upper.depth:
            found.append(shown(upper.task))
            upper = upper.above
        return tuple(found)


def impossible(reach: Reach) -> tuple[Failure, ...]:
    """Return tasks that can never be done and that the root leads to, the deepest first; none where it can be."""
    if reach.may_be_done(Atom(ROOT)):
        return ()
    failing = _failing(reach)
    told = failing[1:] or failing
    told.sort(key=lambda wanted: -wanted.depth)
    return tuple([_told(each, reach) for each in told[:TASKS]])


def _failing(reach: Reach) -> list[_Wanted]:
    """Return the root and the tasks below it that can never be done, as they are found from the left."""
    stack, found = [_Wanted(Atom(ROOT))], list[_Wanted]()
    seen: set[Atom] = set()
    while stack and len(found) < FOLLOWED:
        wanted = stack.pop()
        if wanted.task not in seen:
            reach.relaxed.limits.check()
            seen.add(wanted.task)
            found.append(wanted)
            methods = reach.domain.methods_for(wanted.task.predicate)
            applied = [each for method in methods for each in _applied(method, wanted.task, reach)]
            leads = dict.fromkeys(task for _, tasks, _ in applied for task in tasks)
            stack += [_Wanted(each, wanted, wanted.depth + 1) for each in reversed(leads)]
    return found


def _told(wanted: _Wanted, reach: Reach) -> Failure:
    """Return what was tried for a task that fails."""
    if wanted.task.predicate in reach.domain.classical.actions:
        return Failure(shown(wanted.task), (_action(wanted.task, reach),), wanted.path)
    attempts: list[Attempt] = []
    for method in reach.domain.methods_for(wanted.task.predicate):
        applied = [*_applied(method, wanted.task, reach)]
        attempts += [
            Attempt(label, undoable=tuple(map(shown, tasks)), others=others) for label, tasks, others in applied
        ]
        attempts += [] if applied else [_near(method, wanted.task, reach)]
    return Failure(shown(wanted.task), tuple(attempts), wanted.path)


def _applied(method: Method, task: Atom, reach: Reach) -> Iterator[tuple[str, list[Atom], int]]:
    """Yield for which objects `method` applies to `task`, as people write it, and which of its subtasks fail.

    The number says how many further choices of objects there are.
    """
    choices = [*reach.choices(method, task)]
    for place, binding in enumerate(choices[:CHOICES], start=1):
        tasks = [each for each in _subtasks(method, binding) if not reach.may_be_done(each)]
        yield label_of(method, binding), tasks, len(choices) - CHOICES if place == CHOICES else 0


def lacking(formula: Formula, reach: Reach) -> tuple[Lack, ...] | None:
    """Return the fewest literals whose impossibility rules out the ground `formula`; None where no facts would do."""
    sets = reach.relaxed.lacks(to_negation_normal_form(formula, itertools.count()))
    return tuple([lack(each, reach) for each in sets[0]]) if sets else None


def lack(literal: Literal, reach: Reach) -> Lack:
    """Return why `literal` can never hold."""
    atom = literal.part if isinstance(literal, Not) else literal
    assert isinstance(atom, Atom)
    if isinstance(literal, Not):
        ends = "nothing that the tasks lead to ends it" if reach.is_changed(atom) else "no action ends it"
        return Lack(str(literal), f"but it holds, and {ends}")
    makes = "nothing that the tasks lead to makes it true" if reach.is_changed(atom) else "no action makes it true"
    return Lack(str(literal), f"which does not hold, and {makes}")


def _subtasks(method: Method, binding: dict[str, str]) -> list[Atom]:
    return [*dict.fromkeys(each.task.substitute(binding) for each in method.network.subtasks)]


def _action(task: Atom, reach: Reach) -> Attempt:
    """Return what the action for `task` lacks."""
    action = reach.domain.classical.actions[task.predicate]
    for parameter, value in zip(action.parameters, task.args, strict=True):
        if value not in reach.relaxed.database.members(parameter.types):
            return Attempt("the action", remark=f"{value} is no {' or '.join(parameter.types)}")
    binding = {parameter.name: value for parameter, value in zip(action.parameters, task.args, strict=True)}
    lacks = lacking(substitute(action.requires, binding), reach)
    if lacks is None:
        return Attempt("the action", remark="no facts at all would let it apply to these objects")
    return Attempt("the action", lacks)


def _near(method: Method, task: Atom, reach: Reach) -> Attempt:
    """Return the instance of `method` for `task` that lacks least; it has none that applies."""
    stand_in = Action(title(method), method.parameters)
    found: list[NearMiss] = []
    for case in reach.cases(method):
        variables = (*method.parameters, *case.condition.variables)
        provider = Provider(stand_in, variables, case.condition, (done(method.task),))
        found += near_misses(provider, done(task), reach.relaxed)
    found.sort(key=lambda miss: len(miss.lacks))
    if not found:
        fitting = "its parameters" if method.name == ROOT else "it for this task"
        return Attempt(title(method), remark=f"no objects fit {fitting}")
    labels = {miss.label for miss in found if len(miss.lacks) == len(found[0].lacks)}
    return Attempt(found[0].label, tuple([lack(each, reach) for each in found[0].lacks]), others=len(labels) - 1)


EXACT_SECONDS: Final = 2.0
"""So long, and for a third of the time at most, it is tried to find each condition where it is missing."""


MEMORY_SHARE: Final = 0.7
"""The part of the memory that the relaxed world may take; what is met without it needs some, too."""


def _proved(problem: HtnProblem, limits: Limits) -> WhyNot | Reach | StoppedBy:
    """Return why there can be no plan; or the relaxed world, where that does not show; or what limit was reached."""
    try:
        reach = relaxed_world(problem, limits)
        failures = impossible(reach)
        lacks = lacking(problem.classical.goal.hard, reach)
    except LimitReached as limit:
        return limit.stopped_by
    if lacks is None:
        lacks = (Lack(str(problem.classical.goal.hard), "which no facts at all would make true"),)
    return WhyNot(problem.name, failures, lacks) if failures or lacks else reach


def is_impossible(problem: HtnProblem, limits: Limits) -> bool:
    """Return whether the tasks cannot be done even with deletes ignored; raises `LimitReached`."""
    found = _proved(problem, limits)
    limits.check()
    return isinstance(found, WhyNot)


def relaxed_world(problem: HtnProblem, limits: Limits) -> Reach:
    """Return the relaxed world; a large one, in which methods require what their subtasks need."""
    try:
        found = Reach(problem, _part(limits, 1 / 3, EXACT_SECONDS))
    except LimitReached as limit:
        if limit.stopped_by is not StoppedBy.TIME:
            raise
        found = Reach(problem, _part(limits, 2 / 3), pulled=True)
    found.relaxed.limits = limits
    return found


def _part(limits: Limits, share: float, most: float = math.inf) -> Limits:
    """Return a `share` of what is left of `limits`, `most` seconds at most; of the memory, most of it."""
    memory = None if limits.memory_limit is None else limits.memory_limit * MEMORY_SHARE
    seconds = most if limits.remaining is None else min(most, limits.remaining * share)
    return Limits(None if math.isinf(seconds) else seconds, memory, limits.cancel)
