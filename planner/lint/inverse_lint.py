"""Lint of inverses: actions that bring back what others took, at once or in a round of several.

Two actions are *inverse* where each ends what the other gives, as `load` and `unload` do. What one of them requires of
its arguments is expected of the other, and a number that one raises the other is expected to lower. A *round* leads an
object from one fact to the next and back to the first, as a book is lent, returned and put on its shelf again.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Iterator, Mapping, Sequence

from planner.lightweight import Final
from planner.lint.findings import Finding, Level, ended_atoms
from planner.lint.guard_lint import guards_of, sign_of
from planner.lint.pair_lint import Effects, effects_of
from planner.model.domain import DomainModel, numeric_effects
from planner.model.formulas import is_variable, unmarked

MOST_STEPS: Final = 4
"""Most actions of a round after the first."""


def check_inverses(domain: DomainModel) -> Iterator[Finding]:
    """Yield what an action lacks beside its inverse, and what it leaves though a round gives it back."""
    if any(action.outcomes for action in domain.actions.values()):
        return
    effects = [*effects_of(domain).values()]
    givers, takers = defaultdict[str, list[Effects]](list), defaultdict[str, list[Effects]](list)
    for each in effects:
        for name in dict.fromkeys(x.predicate for x in each.provided):
            givers[name].append(each)
        for name in dict.fromkeys(x.predicate for x in each.taken):
            takers[name].append(each)
    pairs = {
        (one.action.name, other.action.name): (one, other)
        for name in givers.keys() & takers.keys()
        for one, other in ((givers[name][0], takers[name][0]),)
        if len(givers[name]) == len(takers[name]) == 1 and one is not other
    }
    for one, other in pairs.values():
        binding = _find_inverse(one, other)
        if binding is not None:
            yield from _check_requirements(one, other, binding, domain)
            yield from _check_numbers(one, other, binding, domain)
    ended = {atom.predicate for action in domain.actions.values() for atom in ended_atoms(action)}
    for each in effects:
        yield from _check_rounds(each, takers, givers.keys() - ended - {*domain.derived})


def _find_inverse(one: Effects, other: Effects) -> dict[str, str] | None:
    """Return the arguments of `one` that stand for the parameters of `other`, if they are inverse; else None."""
    binding: dict[str, str] = {}
    for given, taken in ((one.provided, list(other.taken)), (list(one.taken), other.provided)):
        pair = next(((x, y) for x in given for y in taken if x.predicate == y.predicate), None)
        if pair is None or not pair[0].args:
            return None
        for mine, its in zip(pair[0].args, pair[1].args, strict=True):
            if binding.setdefault(its, mine) != mine:
                return None
    return binding


def _check_requirements(
    one: Effects, other: Effects, binding: dict[str, str], domain: DomainModel
) -> Iterator[Finding]:
    """Yield a fact about several parameters that `other` requires, and whose like `one` neither requires nor ties."""
    given = {fact.predicate for fact in (*one.provided, *one.ended, *other.taken)}
    for fact in other.required:
        meant = fact.substitute(binding)
        known = len(set(fact.args)) > 1 and all(arg in binding and is_variable(arg) for arg in fact.args)
        if not known or fact.predicate in given or fact.predicate in domain.derived:
            continue
        if not any({*meant.args} <= {*each.args} or each.predicate == fact.predicate for each in one.required):
            message = f"it does not require {unmarked(meant)}, as action {other.action.name}, which undoes it, does"
            place, hint = f"action {one.action.name}", f"require {unmarked(meant)}"
            yield Finding(Level.HINT, "unlike-inverse", place, message, hint, "requires")
            return


def _check_numbers(one: Effects, other: Effects, binding: dict[str, str], domain: DomainModel) -> Iterator[Finding]:
    """Yield a limited number that both of two inverse actions, and no others, move in one direction."""
    if list(domain.actions).index(one.action.name) < list(domain.actions).index(other.action.name):
        return
    for effect in numeric_effects(one.action):
        name, sign = effect.fluent.predicate, sign_of(effect)
        movers = {
            x.name for x in domain.actions.values() if any(y.fluent.predicate == name for y in numeric_effects(x))
        }
        like = [each for each in numeric_effects(other.action) if each.substitute(dict(binding)) == effect]
        declared = domain.functions.get(name)
        bound = None if declared is None else (declared.low if sign < 0 else declared.high)
        guarded = any(x.fluent.predicate == name and x.sign == sign for y in (one, other) for x in guards_of(y.action))
        if sign and like and movers == {one.action.name, other.action.name} and (guarded or bound is not None):
            turned = "-=" if effect.operator == "+=" else "+="
            message = f"it does {unmarked(effect)}, as action {other.action.name} does, which undoes it"
            hint = f"should one of them do {unmarked(effect.fluent)} {turned} {unmarked(effect.value)}?"
            yield Finding(Level.HINT, "wrong-sign", f"action {one.action.name}", message, hint, "modifies", name)


def _check_rounds(first: Effects, takers: Mapping[str, Sequence[Effects]], kept: Collection[str]) -> Iterator[Finding]:
    """Yield what `first` requires and leaves, one of those `kept`, though its facts lead round to that again."""
    for needed in first.required:
        if needed.predicate not in kept or needed in first.provided:
            continue
        for place, arg in enumerate(needed.args):
            last = _find_round(first, needed.predicate, place, arg, takers) if is_variable(arg) else None
            if last is not None:
                message = (
                    f"it requires {unmarked(needed)} and leaves it, though what it gives leads on to action"
                    f" {last.action.name}, which gives {needed.predicate} again; nothing ever ends {needed.predicate}"
                )
                hint = f"should it provide not {unmarked(needed)}?"
                pddl = f"should its effect have (not ({' '.join([needed.predicate, *needed.args])}))?"
                where = f"action {first.action.name}"
                yield Finding(Level.HINT, "never-taken", where, message, hint, "provides", hint_pddl=pddl)
                return


def _find_round(
    first: Effects, predicate: str, place: int, arg: str, takers: Mapping[str, Sequence[Effects]]
) -> Effects | None:
    """Return the last action of a round of two or more that gives the predicate of the same object again."""
    queue = deque([((x.predicate, n), 0) for x in first.provided for n, own in enumerate(x.args) if own == arg])
    seen = {state for state, _ in queue}
    while queue:
        (name, at), steps = queue.popleft()
        for each in takers.get(name, ()) if steps < MOST_STEPS else ():
            for taken in each.taken:
                if each is first or taken.predicate != name or _requires(each, predicate, place, taken.args[at]):
                    continue
                for new in _states_of(each, taken.args[at]):
                    if new == (predicate, place) and steps:
                        return each
                    if new not in seen:
                        seen.add(new)
                        queue.append((new, steps + 1))
    return None


def _requires(effects: Effects, predicate: str, place: int, arg: str) -> bool:
    return any(x.predicate == predicate and x.args[place] == arg for x in effects.required)


def _states_of(effects: Effects, arg: str) -> Iterator[tuple[str, int]]:
    for fact in effects.provided:
        yield from ((fact.predicate, place) for place, own in enumerate(fact.args) if own == arg)
