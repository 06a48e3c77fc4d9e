"""Lint of what is taken and never given back: slots of machines, hands and people, which apply once to each then."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from planner.lightweight import Final
from planner.lint.findings import Finding, Level, conjoined_atoms, enders_of, givers_of
from planner.model.actions import Action, negated_atoms, positive_atoms
from planner.model.domain import DomainModel
from planner.model.formulas import TRUE, Atom, Formula, Not, conjuncts, literals_in, unmarked

_FREE: Final = ("free", "available", "empty", "idle", "vacant", "handempty", "unlocked", "unused")


def check_given_back(domain: DomainModel, wanted: frozenset[str]) -> Iterator[Finding]:
    """Yield what actions take and no action gives back; `wanted` are the predicates that goals and methods mention.

    An action requires that something is not so, and makes it so; nobody ends it, and nobody asks for it.
    """
    ended = {*wanted, *_positively_required(domain), *enders_of(domain)}
    for action in domain.actions.values():
        negated = {x.part for x in conjuncts(action.requires) if isinstance(x, Not) and isinstance(x.part, Atom)}
        for atom in dict.fromkeys(positive_atoms(action.provides)):
            if atom in negated and atom.predicate not in ended and not domain.predicates[atom.predicate].stale_with:
                level = Level.WARNING if _is_undone(action, atom, domain) else Level.HINT
                yield _report_taken(action, f"not {unmarked(atom)}", f"{unmarked(atom)}", atom, level)
        sure = [each for each in action.effects if each.requires == TRUE and not each.variables]
        away = {atom for each in sure for atom in negated_atoms(each.provides)}
        for atom in sorted(away.intersection(conjoined_atoms(action.requires)), key=str):
            if (
                atom.predicate not in givers_of(domain)
                and atom.predicate.startswith(_FREE)
                and atom.predicate not in domain.derived
            ):
                yield from _report_kept(action, atom, domain)


def _is_undone(action: Action, taken: Atom, domain: DomainModel) -> bool:
    """Return whether what else `action` provides for the objects of `taken` can be ended: they are used again.

    What ends it by giving these objects a fact for good takes them on instead: a picture that is taken, then uploaded.
    """
    for other in positive_atoms(action.provides):
        places = [place for place, arg in enumerate(other.args) if arg in taken.args]
        for ender, ended in enders_of(domain).get(other.predicate, ()) if other != taken and places else ():
            objects = [ended.args[place] for place in places if place < len(ended.args)]
            if not _is_taken_on(ender, objects, domain):
                return True
    return False


def _is_taken_on(ender: Action, objects: Collection[str], domain: DomainModel) -> bool:
    """Return whether `ender` gives `objects` alone a fact that nobody ends."""
    given = positive_atoms(ender.provides)
    return any(x.args and set(x.args) <= set(objects) and x.predicate not in enders_of(domain) for x in given)


def _report_taken(action: Action, needed: str, made: str, atom: Atom, level: Level) -> Finding:
    message = f"it requires {needed} and makes it {made}, and no action gives it back: it applies once to each"
    hint = f"let some action provide {needed}"
    return Finding(level, "never-given-back", f"action {action.name}", message, hint, "provides", atom)


def _report_kept(taker: Action, atom: Atom, domain: DomainModel) -> Iterator[Finding]:
    """Yield what nobody gives back at the one action that ends what it was taken for, else where it is taken.

    What is taken for another fact of it, which nobody ends, is used up.
    """
    from planner.lint.pair_lint import find_leak

    leak = find_leak(atom, taker, domain)
    if leak is None:
        given = [x for each in taker.effects for x in positive_atoms(each.provides)]
        is_kept = any(set(atom.args) <= set(x.args) for x in given)
        if _is_undone(taker, atom, domain) or not is_kept:
            yield _report_taken(taker, unmarked(atom), f"not {unmarked(atom)}", atom, Level.HINT)
        return
    action, fact = leak
    message = (
        f"it ends {unmarked(fact)}, for which action {taker.name} takes {unmarked(atom)}, and no action gives it back"
    )
    hint = f"provide {atom.predicate} here: else it is taken once and for all"
    yield Finding(Level.HINT, "never-given-back", f"action {action.name}", message, hint, "provides")


def _positively_required(domain: DomainModel) -> set[str]:
    found: set[str] = set()
    for action in domain.actions.values():
        formulas: list[Formula] = [action.requires, *[each.requires for each in action.effects]]
        found |= {atom.predicate for each in formulas for atom in _positive_in(each)}
        found |= {each.predicate for each in action.senses}
    for axiom in domain.axioms:
        found |= {atom.predicate for atom in _positive_in(axiom.condition)}
    return found


def _positive_in(formula: Formula) -> Iterator[Atom]:
    return (atom for atom, positive in literals_in(formula) if positive)
