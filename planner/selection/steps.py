"""Which steps are meant: those of a tag (`@irreversible`) or of an action (`pay`, `pay(alice, _)`)."""

from __future__ import annotations

from planner.declare.syntax import NotationError, parse_atom
from planner.errors import InputError, did_you_mean
from planner.model import OPEN, TAGS, Action, Atom, DomainModel, Problem, TypeHierarchy
from planner.model.domain import creates_objects
from planner.plan import Plan, Step
from planner.records import dataclass


@dataclass(frozen=True, slots=True)
class Steps:
    """Those with `tag`, or those that `pattern` covers: open arguments stand for everything."""

    tag: str = ""
    pattern: Atom | None = None

    def __str__(self) -> str:
        return f"@{self.tag}" if self.pattern is None else str(self.pattern)

    def cover(self, step: Step, domain: DomainModel) -> bool:
        """Return whether `step`, one of an action of `domain`, is meant."""
        if self.pattern is None:
            return self.tag in domain.actions[step.action].tags
        return self.pattern.matches(Atom(step.action, step.arguments))

    def among(self, plan: Plan) -> tuple[int, ...]:
        """Return the numbers, from 1, of the steps of `plan` that are meant."""
        domain = classical(plan).domain
        return tuple([number for number, step in enumerate(plan.steps, start=1) if self.cover(step, domain)])


def classical(plan: Plan) -> Problem:
    """Return the problem of `plan`; for a plan that came of tasks, the classical part of it."""
    problem: Problem = plan.problem if isinstance(plan.problem, Problem) else plan.problem.classical
    return problem


def steps_meant(text: str, problem: Problem) -> Steps:
    """Return the steps of `problem` that `text` means; raises `InputError` where it means none."""
    text, domain = text.strip(), problem.domain
    if text.startswith("@"):
        tag = text[1:]
        known = TAGS.union(*[action.tags for action in domain.actions.values()])
        if tag not in known:
            raise InputError(f"there is no tag '{tag}'", hint=did_you_mean(tag, known) or f"there are {_listed(known)}")
        return Steps(tag)
    try:
        pattern = parse_atom(text)
    except NotationError as mistake:
        raise InputError(mistake.problem, hint="write an action, or @ and a tag") from None
    name = pattern.predicate
    action = domain.actions.get(name)
    if action is None:
        raise InputError(f"there is no action '{name}'", hint=did_you_mean(name, domain.actions))
    arity = len(action.step_parameters)
    if not pattern.args:
        return Steps(pattern=Atom(name, (OPEN,) * arity))
    if len(pattern.args) != arity:
        raise InputError(f"{pattern} has {len(pattern.args)} arguments, not {arity}", hint=f"it is {action.signature}")
    if not creates_objects(domain):  # what is created has names that nobody declared
        _check_objects(pattern, action, problem)
    return Steps(pattern=pattern)


def _check_objects(pattern: Atom, action: Action, problem: Problem) -> None:
    """Raise `InputError` where `pattern` names what is no object, or none that `action` takes there."""
    objects, types = {each.name: each for each in problem.all_objects}, TypeHierarchy(problem.domain.types)
    for name, parameter in zip(pattern.args, action.parameters, strict=True):
        if name == OPEN:
            continue
        if name not in objects:
            hint = did_you_mean(name, objects) or f"'_' stands for any; it is {action.signature}"
            raise InputError(f"{pattern}: there is no object '{name}'", hint=hint)
        if not types.is_a(objects[name].types, parameter.types):
            kind = " or ".join(parameter.types)
            raise InputError(f"{pattern}: '{name}' is no {kind}", hint=f"it is {action.signature}")


def _listed(names: frozenset[str]) -> str:
    return ", ".join(sorted(names))
