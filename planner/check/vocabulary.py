"""Lint of a domain's vocabulary: predicates and types that nothing provides, requires or uses."""

from __future__ import annotations

from collections.abc import Iterator

from planner.check.findings import Finding, Level
from planner.check.usage import Usage, wanted_atoms
from planner.errors import did_you_mean
from planner.model import ROOT_TYPE, DomainModel, Problem


def check_predicates(domain: DomainModel, uses: Usage, problem: Problem | None) -> Iterator[Finding]:
    """Yield predicates with a missing side; with a problem, its facts and goal count too."""
    stated = {fact.predicate for fact in (*problem.initial, *problem.unknown)} if problem else set()
    wanted = {atom.predicate for atom in wanted_atoms(problem)} if problem else set()
    for name in domain.predicates:
        required, provided = name in uses.required or name in wanted, name in uses.provided
        if not required and not provided and name in uses.sensed:
            message = f"{_listed(uses.sensed[name])} senses it, and nothing requires it"
            yield Finding(Level.NOTE, "never-required", f"predicate {name}", message)
        elif not required and not provided:
            used = "only ended" if name in uses.ended else "used nowhere"
            yield Finding(Level.WARNING, "unused-predicate", f"predicate {name}", f"it is {used} in the domain")
        elif not required:
            message = f"nothing requires it, though {_listed(uses.provided[name])} provides it"
            yield Finding(
                Level.NOTE, "never-required", f"predicate {name}", message, "it may be a goal of some problem"
            )
        elif not provided and name not in stated and name in uses.needed:
            yield from _never_provided(name, domain, uses, problem)


def check_unmentioned(problem: Problem) -> Iterator[Finding]:
    """Yield the stated facts of whose predicates the domain knows nothing, a predicate once."""
    names = dict.fromkeys(fact.predicate for fact in problem.unmentioned)
    for name in names:
        facts = [str(fact) for fact in problem.unmentioned if fact.predicate == name]
        message = f"the domain knows nothing of {_listed(facts)}: nothing rests on it"
        yield Finding(Level.NOTE, "unmentioned-fact", "initial", message, "leave it out, or declare the predicate")


def _never_provided(name: str, domain: DomainModel, uses: Usage, problem: Problem | None) -> Iterator[Finding]:
    """Report a required predicate without a provider: with a problem, or where its name looks misspelt.

    A problem need not use all of its domain, so that this alone is no mistake; a name close by makes it one.
    """
    arity = len(domain.predicates[name].parameters)
    others = [other for other in domain.predicates if other != name and other not in uses.needed]
    near = did_you_mean(name, [other for other in others if len(domain.predicates[other].parameters) == arity])
    needed = _listed(uses.needed[name])
    if problem is not None:
        level = Level.NOTE if near is None else Level.WARNING
        message = f"neither an action nor the initial state provides it, so {needed} can never apply"
        yield Finding(level, "never-provided", f"predicate {name}", message, near or "")
    elif near is not None:
        message = f"{needed} requires it and no action provides it; unless initial states do, it is misspelt"
        yield Finding(Level.NOTE, "never-provided", f"predicate {name}", message, near)


def check_types(domain: DomainModel) -> Iterator[Finding]:
    """Yield the types that no parameter, constant or other type uses."""
    used = {name for parents in domain.types.values() for name in parents}
    used |= {name for item in domain.constants for name in item.types}
    for predicate in domain.predicates.values():
        used |= {name for parameter in predicate.parameters for name in parameter.types}
    for action in domain.actions.values():
        used |= {name for parameter in action.parameters for name in parameter.types} | set(action.creates.values())
    for name, parents in domain.types.items():
        if name not in used and name != ROOT_TYPE and not used.intersection(parents) - {ROOT_TYPE}:
            yield Finding(Level.NOTE, "unused-type", f"type {name}", "no parameter, constant or other type uses it")


def check_undeclared(domain: DomainModel) -> Iterator[Finding]:
    """Yield the objects that the domain names without declaring them."""
    for name, mentions in domain.unfinished.undeclared.items():
        near = did_you_mean(name, [item.name for item in domain.constants])
        message = f"the object '{name}' is not declared, so that each problem has to declare it"
        hint = near or "declare it in ':constants'"
        yield Finding(Level.WARNING, "undeclared-object", str(mentions[0].place), message, hint)


def _listed(places: list[str]) -> str:
    """Return "action a", or "action a and 3 others"."""
    others = len(places) - 1
    return places[0] if not others else f"{places[0]} and {others} other{'s' if others > 1 else ''}"
