"""Lint of what methods ask for: predicates whose facts nothing ever gives are probably misspelt."""

from __future__ import annotations

from collections.abc import Iterator

from htn.model import HtnDomain
from planner.check import Finding, Level
from planner.check.usage import plain_atoms, usage
from planner.errors import did_you_mean
from planner.model import Problem
from planner.model.formulas import atoms_in


def check_conditions(domain: HtnDomain, problem: Problem | None) -> Iterator[Finding]:
    """Yield the predicates that methods ask for and nothing provides; with a problem, its initial state provides, too.

    A declared one that some method needs is worth a note, and a warning where another name is near; one that nobody
    declared is a warning however methods name it. Without a problem, initial states may provide all but those that
    nobody declared and whose names are near another one.
    """
    uses = usage(domain.classical)
    given = {*uses.provided, *domain.classical.derived, *uses.needed}
    if problem is not None:
        given |= {fact.predicate for fact in (*problem.initial, *problem.unknown)}
    asking, needing = _methods(domain)
    for name, method in asking.items():
        is_new, near = name in domain.inferred, _near(name, domain)
        if name in given or not (is_new or name in needing) or (problem is None and not (is_new and near)):
            continue
        if problem is None:
            message = f"method {method} asks for it and no action provides it; unless initial states do, it is misspelt"
        else:
            so = f"method {needing[name]} can never apply" if name in needing else "it never holds"
            message = f"neither an action nor the initial state provides it, so {so}"
        if is_new:
            message = f"only method {method} names it, at {domain.inferred[name]}, and nobody declares it; {message}"
        level = Level.WARNING if is_new or near else Level.NOTE
        yield Finding(level, "never-provided", f"predicate {name}", message, near or "")


def _methods(domain: HtnDomain) -> tuple[dict[str, str], dict[str, str]]:
    """Return the first method that asks for each predicate, and the first that cannot do without a fact of it."""
    asking: dict[str, str] = {}
    needing: dict[str, str] = {}
    for method in domain.methods.values():
        for atom in atoms_in(method.precondition):
            asking.setdefault(atom.predicate, method.name)
        for atom in plain_atoms(method.precondition):
            needing.setdefault(atom.predicate, method.name)
    return asking, needing


def _near(name: str, domain: HtnDomain) -> str | None:
    """Return which declared predicate may be meant by `name`: one with as many arguments, if there is one."""
    predicates = domain.classical.predicates
    arity = len(predicates[name].parameters)
    known = [each for each in predicates if each != name and each not in domain.inferred]
    alike = [each for each in known if len(predicates[each].parameters) == arity]
    return did_you_mean(name, alike) or did_you_mean(name, known)
