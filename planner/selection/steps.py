"""Which steps are meant: those of a tag (`@irreversible`) or of an action (`pay`, `pay(alice, _)`)."""

from __future__ import annotations

from planner.declare.syntax import NotationError, parse_atom
from planner.errors import InputError, did_you_mean
from planner.model import OPEN, TAGS, Atom, DomainModel, Problem
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


def steps_meant(text: str, domain: DomainModel) -> Steps:
    """Return the steps of `domain` that `text` means; raises `InputError` where it means none."""
    text = text.strip()
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
    return Steps(pattern=pattern)


def _listed(names: frozenset[str]) -> str:
    return ", ".join(sorted(names))
