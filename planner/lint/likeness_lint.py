"""Lint by likeness: what one action leaves out, or turns round, of what all others do with the same facts.

Each rule asks for at least two others that agree, since one alone is no custom.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from planner.lightweight import Final
from planner.lint.findings import Finding, Level, conjoined_atoms
from planner.lint.item_lint import Item, balanced_items, declared_items
from planner.lint.pair_lint import Effects, effects_of
from planner.model.actions import Action
from planner.model.domain import DomainModel, TypeHierarchy
from planner.model.formulas import OPEN, Atom, Not, atoms_in, comparisons_in, conjuncts, is_variable, unmarked

FEWEST: Final = 2
"""Other actions that have to agree."""


def check_likeness(domain: DomainModel) -> Iterator[Finding]:
    """Yield conditions that one action lacks, or has negated, unlike all others."""
    effects = [*effects_of(domain).values()]
    told: set[str] = set()
    items = [*declared_items(domain), *balanced_items(domain)]
    for each in (
        *_check_origins(effects, items),
        *_check_ended(effects, domain),
        *_check_ties(effects, domain, items),
        *_check_signs(effects, items),
    ):
        if each.place not in told:
            told.add(each.place)
            yield each


def _check_origins(effects: list[Effects], items: list[Item]) -> Iterator[Finding]:
    """Yield an action that moves an item to a value from nowhere, beside a parameter for where it may come from."""
    for each in effects:
        types = {x.name: x.types for x in each.action.parameters}
        changed = {arg for fact in (*each.provided, *each.ended) for arg in fact.args}
        for new in each.provided:
            own = [x for x in items if x.predicate == new.predicate and len(new.args) > 1]
            needed = any(x.predicate == new.predicate for x in atoms_in(each.action.requires))
            ends = any(x.predicate == new.predicate and OPEN in x.args and x.matches(new) for x in each.ended)
            for item in own if ends and not needed else ():
                value = new.args[item.place]
                spare = [x for x, kind in types.items() if kind == types.get(value) and x not in changed]
                if len(spare) == 1 and value in types and spare[0] not in _linked(new.args[1 - item.place], each):
                    old = unmarked(Atom(new.predicate, tuple([spare[0] if x == value else x for x in new.args])))
                    message = (
                        f"it moves {unmarked(new)} from wherever that is; nothing ties '{spare[0].lstrip('?')}' to it"
                    )
                    place, hint = f"action {each.action.name}", f"require {old}"
                    yield Finding(Level.HINT, "unlike-condition", place, message, hint, "requires")
                    break


def _check_ended(effects: list[Effects], domain: DomainModel) -> Iterator[Finding]:
    """Yield what an action ends without requiring it, though the others that end it, or give it back, are pairs."""
    enders_of, givers_of = defaultdict[str, list[Effects]](list), defaultdict[str, list[Effects]](list)
    for each in effects:
        for name in dict.fromkeys(x.predicate for x in each.ended):
            enders_of[name].append(each)
        for name in dict.fromkeys(x.predicate for x in each.provided):
            givers_of[name].append(each)
    for each in effects:
        negative = {x.part for x in conjuncts(each.action.requires) if isinstance(x, Not)}
        read = {*atoms_in(each.action.requires)}
        for fact in dict.fromkeys(each.ended):
            if (
                not fact.args
                or fact in read | negative
                or fact in each.provided
                or not all(map(is_variable, fact.args))
            ):
                continue
            if any(x.predicate == fact.predicate for x in read) or fact.predicate in domain.derived:
                continue
            enders = [x for x in enders_of[fact.predicate] if x is not each]
            takers = [x for x in enders if any(y.predicate == fact.predicate for y in x.taken)]
            maker = _find_maker(fact, each, givers_of[fact.predicate])
            if maker is None and (len(takers) < FEWEST or takers != enders):
                continue
            why = f"action {maker.action.name} gives it for what this one gives back" if maker else ""
            why = why or f"action {takers[0].action.name} and all others that end such a fact require it"
            message = f"it ends {unmarked(fact)} without requiring it; {why}"
            place, hint = f"action {each.action.name}", f"require {unmarked(fact)}"
            yield Finding(Level.HINT, "unlike-condition", place, message, hint, "requires")
            break


def _find_maker(fact: Atom, ender: Effects, givers: list[Effects]) -> Effects | None:
    """Return the one of `givers`, which give such a fact, that takes for it what `ender` gives."""
    back = {x.predicate for x in ender.provided if x.args and {*x.args} <= {*fact.args}}
    taking = (x for x in givers if x is not ender and any(y.predicate in back for y in x.taken))
    return next(taking, None) if back else None


def _check_ties(effects: list[Effects], domain: DomainModel, items: list[Item]) -> Iterator[Finding]:
    """Yield the action that ties two parameters by nothing, where all others like it require that one has the other."""
    hierarchy = TypeHierarchy(domain.types)
    for name in dict.fromkeys(item.predicate for item in items):
        kinds = [each.types for each in domain.predicates[name].parameters]
        if len(kinds) != FEWEST or name in domain.derived:
            continue
        fitting = [x for x in effects if _fits(x.action, kinds, hierarchy)]
        users = [x for x in fitting if any(y.predicate == name for y in (*x.required, *x.provided))]
        readers = [x for x in users if any(y.predicate == name for y in x.required)]
        odd = [each for each in fitting if each not in users]
        if len(odd) == 1 and len(readers) >= FEWEST:
            yield from _report_tie(odd[0], name, kinds, readers[0], hierarchy)


def _fits(action: Action, kinds: list[tuple[str, ...]], hierarchy: TypeHierarchy) -> bool:
    """Return whether the action has different parameters for the two types."""
    first, second = (_members(action, kind, hierarchy) for kind in kinds)
    return bool(first) and bool(second) and len(first | second) > 1


def _members(action: Action, kind: tuple[str, ...], hierarchy: TypeHierarchy) -> set[str]:
    return {each.name for each in action.parameters if hierarchy.is_a(each.types, kind)}


def _report_tie(
    odd: Effects, name: str, kinds: list[tuple[str, ...]], other: Effects, hierarchy: TypeHierarchy
) -> Iterator[Finding]:
    """Yield the finding if the action changes something of both parameters, and no chain of conditions links them."""
    first, second = (_members(odd.action, kind, hierarchy) for kind in kinds)
    if len(first) != 1 or len(second) != 1:
        return
    one, two = min(first), min(second)
    changed = {arg for fact in (*odd.provided, *odd.ended) for arg in fact.args}
    changed |= {arg for effect in odd.action.effects for x in effect.numbers for arg in x.fluent.args}
    if two not in changed or two in _linked(one, odd):
        return
    fact = unmarked(Atom(name, (one, two)))
    message = (
        f"nothing ties '{one.removeprefix('?')}' to '{two.removeprefix('?')}': all other actions with both require"
    )
    message += f" {name}, as {other.action.name} does"
    place, hint = f"action {odd.action.name}", f"require {fact}"
    yield Finding(Level.HINT, "unlike-condition", place, message, hint, "requires")


def _linked(start: str, effects: Effects) -> set[str]:
    """Return the parameters that conditions tie to `start`, directly or by others."""
    groups = [{*fact.args} for fact in atoms_in(effects.action.requires) if fact in effects.required]
    groups += [
        {arg for term in part.functions for arg in term.args} for part in comparisons_in(effects.action.requires)
    ]
    found, size = {start}, 0
    while size < len(found):
        size = len(found)
        for group in groups:
            if group & found:
                found |= group
    return found


def _check_signs(effects: list[Effects], items: list[Item]) -> Iterator[Finding]:
    """Yield the one action that needs an item not to have a value, where all others need it to have one."""
    names = {item.predicate for item in items}
    readers: dict[tuple[str, bool], list[tuple[Effects, Atom]]] = defaultdict(list)
    for each in effects:
        for fact in dict.fromkeys(conjoined_atoms(each.action.requires)):
            readers[fact.predicate, True].append((each, fact))
        for part in dict.fromkeys(conjuncts(each.action.requires)):
            if isinstance(part, Not) and isinstance(part.part, Atom):
                readers[part.part.predicate, False].append((each, part.part))
    for (name, truth), own in readers.items():
        others = {x.action.name for x, _ in readers.get((name, not truth), ())}
        each, fact = own[0]
        mine = any(x.predicate == name for x in (*each.provided, *each.ended))
        is_odd = len(own) == 1 and len(others) > FEWEST and each.action.name not in others and not mine
        if is_odd and not truth and name in names:
            message = f"it requires not {unmarked(fact)}, where {len(others)} other actions require {name}"
            place, hint = f"action {each.action.name}", f"should it be {unmarked(fact)}?"
            yield Finding(Level.HINT, "unlike-condition", place, message, hint, "requires", fact)
