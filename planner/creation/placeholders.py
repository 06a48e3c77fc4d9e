"""Problems in which what may be created has placeholders: objects that do not exist before an action creates them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import count, islice, pairwise

from planner.annotations import Final
from planner.classical import check_classical
from planner.creation.expansion import Expansion, created_types, in_any_order, in_order, padded
from planner.creation.guards import Guards
from planner.errors import InputError, UnsupportedError
from planner.model import OPEN, Action, Atom, DomainModel, Object, Problem, TypeHierarchy
from planner.model.domain import creates_objects
from planner.model.hidden import covered
from planner.plan import Step
from planner.records import replace

_NAME: Final = re.compile(r"[^\s(),;?]+")


def with_placeholders(problem: Problem, number: int | Mapping[str, int]) -> Problem:
    """Return `problem` with `number` placeholders for each type that is created, or as many as it maps the type to.

    The result creates nothing: its plans are the plans of `problem` that create no more than that, placeholders taken
    in the order of their names. A problem that creates nothing is returned unchanged. Raises `InputError` for a
    negative number, and for what is no classical problem.
    """
    check_classical(problem, "with_placeholders", "give its classical part: problem.classical")
    if not creates_objects(problem.domain):
        return problem
    types = created_types(problem.domain.actions.values())
    counts = dict.fromkeys(types, number) if isinstance(number, int) else number
    if min(counts.values(), default=0) < 0:
        raise InputError(f"{min(counts.values())} placeholders for a type", hint="give a number from 0 up")
    return _expanded(problem, in_order(problem.domain), _named(problem, counts))


def with_placeholders_in_any_order(problem: Problem, counts: Mapping[str, int]) -> Problem:
    """Return the same with placeholders that may be taken in whatever order."""
    return _expanded(problem, in_any_order(problem.domain), _named(problem, counts))


def for_steps(problem: Problem, steps: Iterable[Step], *, spare: int = 0) -> Problem:
    """Return `problem` with what the creating steps among `steps` name as placeholders, to be created in any order.

    Whatever name stands where something is created and is no object of `problem` becomes a placeholder. With `spare`,
    there are so many more of each type, for steps that may come to these. A problem that creates nothing is returned
    unchanged.
    """
    if not creates_objects(problem.domain):
        return problem
    known = {each.name for each in problem.all_objects}
    found: dict[str, str] = {}
    for step in steps:
        action = problem.domain.actions.get(step.action)
        if action is not None and len(step.arguments) == len(action.parameters) + len(action.creates):
            created = step.arguments[len(action.parameters) :]
            for name, kind in zip(created, action.creates.values(), strict=True):
                if name not in known and name != OPEN and _NAME.fullmatch(name):
                    found.setdefault(name, kind)
    types = created_types(problem.domain.actions.values())
    more = _named(problem, dict.fromkeys(types, spare), found)
    names = {each: [*(name for name, kind in found.items() if kind == each), *more[each]] for each in types}
    return _expanded(problem, in_any_order(problem.domain), names)


def refuse_creation(domain: DomainModel, where: str) -> None:
    """Raise `UnsupportedError` if an action of `domain` creates objects; `where` says where nothing stands for them."""
    name = next((name for name, action in domain.actions.items() if action.creates), None)
    if name is not None:
        hint = "planner.creation.with_placeholders(problem, number) gives the problem objects for them"
        raise UnsupportedError(f"created objects (in {name}), {where}", hint)


def created_by(source: Problem | DomainModel, step: Step) -> dict[str, str]:
    """Return what `step` creates: names of created objects, as declared, and the placeholders that stand for them."""
    action = _action(source, step)
    names = [name.removeprefix("?") for name in action.creates]
    return dict(zip(names, step.arguments[len(action.parameters) :], strict=False))


def declared_arguments(source: Problem | DomainModel, step: Step) -> tuple[str, ...]:
    """Return the arguments of `step` without what it creates: those of the declared parameters."""
    return step.arguments[: len(_action(source, step).parameters)]


def _action(source: Problem | DomainModel, step: Step) -> Action:
    domain = source.domain if isinstance(source, Problem) else source
    if step.action not in domain.actions:
        raise InputError(f"domain '{domain.name}' has no action '{step.action}'")
    return domain.actions[step.action]


def _named(problem: Problem, counts: Mapping[str, int], others: Iterable[str] = ()) -> dict[str, list[str]]:
    """Return as many names for each type as `counts` says, none that an object has, or one of `others`, in any case."""
    taken = {name.casefold() for name in (*[each.name for each in problem.all_objects], *others)}
    found: dict[str, list[str]] = {}
    for kind in created_types(problem.domain.actions.values()):
        candidates = (f"new-{kind.casefold()}-{number}" for number in count(1))
        found[kind] = list(islice((name for name in candidates if name not in taken), counts.get(kind, 0)))
        taken.update(found[kind])
    return found


def _of_old(pattern: Atom, problem: Problem, created: Iterable[str], types: TypeHierarchy) -> Iterable[Atom]:
    """Return what `pattern` covers of the objects of `problem`: of what does not exist yet, nothing is unknown."""
    parameters = problem.domain.predicates[pattern.predicate].parameters
    open_ = [each.types for arg, each in zip(pattern.args, parameters, strict=True) if arg == OPEN]
    return covered(problem, pattern) if any(types.is_a(created, each) for each in open_) else [pattern]


def _expanded(problem: Problem, expansion: Expansion, placeholders: Mapping[str, Sequence[str]]) -> Problem:
    """Return `problem` over the domain of `expansion`, with these placeholders for each type."""
    domain = problem.domain
    types = TypeHierarchy(domain.types)
    guards = Guards(expansion.existing, placeholders, types)
    hard = guards.condition(problem.goal.hard)
    soft = tuple([replace(wish, condition=guards.condition(wish.condition)) for wish in problem.goal.soft])
    constraints = tuple(
        [
            each.mapped(guards.condition, lambda step: padded(step, domain.actions[step.predicate]))
            for each in problem.constraints
        ]
    )
    guarded = expansion.guarded | guards.types
    facts = [Atom(expansion.existing, (each.name,)) for each in problem.all_objects if types.is_a(each.types, guarded)]
    for kind, names in placeholders.items():
        free = names if expansion.follows is None else names[:1]
        facts += [Atom(expansion.fresh[kind], (name,)) for name in free]
        if expansion.follows is not None:
            facts += [Atom(expansion.follows, pair) for pair in pairwise(names)]
    return replace(
        problem,
        domain=expansion.domain,
        objects=(*problem.objects, *(Object(name, (kind,)) for kind, names in placeholders.items() for name in names)),
        initial=(*problem.initial, *facts),
        goal=replace(problem.goal, hard=hard, soft=soft),
        constraints=constraints,
        unknown=tuple([each for pattern in problem.unknown for each in _of_old(pattern, problem, placeholders, types)]),
        ran=tuple([padded(action, domain.actions[action.predicate]) for action in problem.ran]),
    )
