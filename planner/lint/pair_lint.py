"""Lint of pairs: two facts that actions exchange, such as `empty(k)` and `holds_wort(k, b)`, of which one holds.

An action *takes* `empty(k)` where it requires and ends it, and provides `holds_wort(k, b)`, whose arguments contain
those of the first. All actions that end the second are expected to give the first back, and none to do so and leave
the second. These are invariants of two predicates, as those of Helmert (2009), looked for where a single action breaks
them: it is told then.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

from planner.lightweight import Final
from planner.lint.findings import Finding, Level, conjoined_atoms, ended_atoms
from planner.lint.item_lint import Item, declared_items
from planner.model.actions import Action, When, negated_atoms, positive_atoms
from planner.model.domain import DomainModel, cache_per_domain, numeric_effects
from planner.model.formulas import OPEN, TRUE, Atom, Comparison, conjuncts, functions_in, is_variable, unmarked
from planner.model.problem import Problem


@dataclass(frozen=True, slots=True)
class Pair:
    """Facts of `taken` and `given` exclude each other; argument n of the one is argument `places[n]` of the other."""

    taken: str
    given: str
    places: tuple[int, ...]

    def free(self, fact: Atom) -> Atom:
        """Return the fact of `taken` that `fact`, one of `given`, excludes."""
        return Atom(self.taken, tuple([fact.args[each] for each in self.places]))


@dataclass(frozen=True)
class Effects:
    """What `action` requires, provides and ends without a condition."""

    action: Action
    required: tuple[Atom, ...]
    provided: tuple[Atom, ...]
    ended: tuple[Atom, ...]

    @classmethod
    def of(cls, action: Action) -> Effects:
        """Collect them; an item of `modifies` without an open argument stays true."""
        sure = [each for each in action.effects if each.requires == TRUE and not each.variables]
        ended = [atom for each in sure for atom in negated_atoms(each.provides)]
        ended += [item for each in sure for item in each.modifies if OPEN in item.args]
        return cls(
            action,
            tuple(conjoined_atoms(action.requires)),
            tuple([atom for each in sure for atom in positive_atoms(each.provides)]),
            tuple(ended),
        )

    def ends(self, fact: Atom) -> bool:
        """Return whether the action ends `fact` and does not provide it."""
        return fact not in self.provided and any(
            each.predicate == fact.predicate and each.matches(fact) for each in self.ended
        )

    def goes_on(self, free: Atom) -> bool:
        """Return whether the action provides anything of all objects of `free`, as by moving them to a third state."""
        return any(set(free.args) <= set(fact.args) for fact in self.provided)

    @cached_property
    def taken(self) -> tuple[Atom, ...]:
        """What the action requires and ends."""
        return tuple([fact for fact in self.required if self.ends(fact)])


@cache_per_domain
def effects_of(domain: DomainModel) -> Mapping[str, Effects]:
    """Return what each action requires and changes, by its name."""
    return {each.name: Effects.of(each) for each in domain.actions.values()}


def check_pairs(domain: DomainModel) -> Iterator[Finding]:
    """Yield the one action that breaks a pair that all others keep."""
    if any(action.outcomes for action in domain.actions.values()):
        return
    effects = [*effects_of(domain).values()]
    giving, needing = defaultdict[str, list[Effects]](list), defaultdict[str, list[Effects]](list)
    for each in effects:
        for name in {atom.predicate for atom in each.provided}:
            giving[name].append(each)
        for name in {atom.predicate for atom in each.required}:
            needing[name].append(each)
    items = [item for item in declared_items(domain) if item.predicate in giving]
    for pair, takers in _find_pairs(effects).items():
        if pair.taken not in domain.derived:
            if _is_exclusive(pair, giving[pair.given]):
                yield from _check_pair(pair, takers[0], needing[pair.given], items)
            yield from _check_careless(pair, takers, giving[pair.given], needing[pair.given])


def _check_pair(pair: Pair, taker: Effects, users: list[Effects], items: list[Item]) -> Iterator[Finding]:
    losers = [each for each in users if _loses(pair, each) is not None]
    backs = [each for each in users if each not in losers and _gives_back(pair, each)]
    doubles = [each for each in users if _doubles(pair, each) is not None]
    if any(each.provided for each in losers):
        backs = [each for each in backs if not _calls_off(each, taker)]
    if len(losers) == 1 and backs and not doubles:
        yield _report_loss(pair, losers[0], taker, backs[0])
    is_single = any(item.predicate == pair.given and item.place not in pair.places for item in items)
    if len(doubles) == 1 and not losers and (is_single or backs):
        yield _report_double(pair, doubles[0], taker, Level.WARNING if is_single else Level.HINT)


def _calls_off(back: Effects, taker: Effects) -> bool:
    """Return whether an action brings back just the state before `taker`: that shows nothing of what uses take up."""
    given = {x.predicate for x in taker.provided}
    needed, restored = {x.predicate for x in back.required}, {x.predicate for x in back.provided}
    return needed <= given and restored <= {x.predicate for x in taker.taken}


def _check_careless(
    pair: Pair, takers: list[Effects], givers: list[Effects], users: list[Effects]
) -> Iterator[Finding]:
    """Yield the one action that gives a fact of the pair, and requires its counterpart without taking it."""
    careless = [
        (each, fact)
        for each in givers
        for fact in each.provided
        if fact.predicate == pair.given and pair.free(fact) in each.required and pair.free(fact) not in each.taken
    ]
    if len(careless) == 1 and len(takers) + 1 == len(givers) and any(_gives_back(pair, each) for each in users):
        effects, fact = careless[0]
        free = unmarked(pair.free(fact))
        message = f"it gives {unmarked(fact)}, and leaves {free}, which action {takers[0].action.name} takes for it"
        place, hint = f"action {effects.action.name}", f"end {free}, too"
        yield Finding(Level.WARNING, "unlike-pair", place, message, hint, "provides", fact)


def _find_pairs(effects: list[Effects]) -> dict[Pair, list[Effects]]:
    """Return the pairs with the actions that take the one and give the other, and nothing else of its objects."""
    found: dict[Pair, list[Effects]] = defaultdict(list)
    for each in effects:
        for taken in each.taken:
            counterparts = [x for x in each.provided if set(taken.args) <= set(x.args)] if taken.args else []
            if len(counterparts) == 1 and counterparts[0].predicate != taken.predicate:
                given = counterparts[0]
                pair = Pair(taken.predicate, given.predicate, tuple([given.args.index(arg) for arg in taken.args]))
                if not _holds_both(pair, each):
                    found[pair].append(each)
    return found


def _holds_both(pair: Pair, effects: Effects) -> bool:
    """Return whether the action requires a fact of the pair and its counterpart: they do not exclude each other."""
    return any(x.predicate == pair.given and pair.free(x) in effects.required for x in effects.required)


def _is_exclusive(pair: Pair, effects: list[Effects]) -> bool:
    """Return whether every action that gives a fact of the pair takes its counterpart, or another fact of its kind."""
    for each in effects:
        for fact in each.provided:
            if fact.predicate == pair.given:
                others = [x for x in each.taken if x.predicate == pair.given and pair.free(x) == pair.free(fact)]
                if pair.free(fact) not in each.taken and not others:
                    return False
    return True


def _loses(pair: Pair, effects: Effects) -> Atom | None:
    """Return the fact that the action takes without giving its counterpart back, or another fact of its kind."""
    for fact in effects.taken:
        if fact.predicate == pair.given and not effects.goes_on(pair.free(fact)):
            return fact
    return None


def _gives_back(pair: Pair, effects: Effects) -> bool:
    return any(each.predicate == pair.given and pair.free(each) in effects.provided for each in effects.taken)


def _doubles(pair: Pair, effects: Effects) -> Atom | None:
    """Return the fact that the action requires and leaves, while it gives the counterpart."""
    for fact in effects.required:
        if fact.predicate == pair.given and pair.free(fact) in effects.provided and not effects.ends(fact):
            return fact
    return None


def _report_loss(pair: Pair, loser: Effects, taker: Effects, back: Effects) -> Finding:
    fact = _loses(pair, loser)
    assert fact is not None
    free = unmarked(pair.free(fact))
    message = (
        f"it ends {unmarked(fact)} and does not give {free} back, as action {back.action.name} does;"
        f" action {taker.action.name} took it"
    )
    place, hint = f"action {loser.action.name}", f"provide {free}"
    return Finding(Level.WARNING, "unlike-pair", place, message, hint, "provides")


def _report_double(pair: Pair, effects: Effects, taker: Effects, level: Level) -> Finding:
    fact = _doubles(pair, effects)
    assert fact is not None
    free, kept = unmarked(pair.free(fact)), unmarked(fact)
    message = f"it gives {free} back, and leaves {kept}, for which action {taker.action.name} took it: both hold then"
    place, hint = f"action {effects.action.name}", f"end {kept}, too"
    return Finding(level, "unlike-pair", place, message, hint, "provides", pair.free(fact))


def find_leak(taken: Atom, taker: Action, domain: DomainModel) -> tuple[Action, Atom] | None:
    """Return the one action that ends what `taker` provides for `taken`, so that it should give that back."""
    effects = effects_of(domain)
    own = effects[taker.name]
    found: list[tuple[Action, Atom]] = []
    for given in own.provided:
        if set(taken.args) <= set(given.args) and taken.args:
            found += [
                (each.action, fact)
                for name, each in effects.items()
                if name != taker.name
                for fact in each.taken
                if fact.predicate == given.predicate and not each.goes_on(_match(taken, given, fact))
            ]
    names = {action.name for action, _ in found}
    return found[0] if len(names) == 1 else None


def _match(taken: Atom, given: Atom, fact: Atom) -> Atom:
    """Return `taken` with the arguments of `fact`, a fact like `given`."""
    return taken.substitute(dict(zip(given.args, fact.args, strict=True)))


def check_undoing(domain: DomainModel) -> Iterator[Finding]:
    """Yield what an action does not take though the one that undoes it gives it back, and numbers likewise.

    Action B undoes A where it ends what A gives. If B gives what A requires, and nobody ever ends that, it is given
    back and never taken. If A raises a number only up to a limit, B is expected to lower it again.
    """
    if any(action.outcomes for action in domain.actions.values()):
        return
    effects = [*effects_of(domain).values()]
    ended = {atom.predicate for action in domain.actions.values() for atom in ended_atoms(action)} | {*domain.derived}
    undoers, rising = _find_undoers(effects), _find_rising(domain)
    for doer in effects:
        told: dict[tuple[str, str], Finding] = {}
        for given, undoer, undone in [(x, *each) for x in doer.provided for each in undoers.get(x.predicate, ())]:
            if undoer is doer:
                continue
            found = [*_check_untaken(doer, undoer, given, undone, ended)]
            for each in (*found, *_check_unlowered(doer, undoer, given, domain, rising)):
                told.setdefault((each.rule, each.place), each)
        yield from told.values()


def _find_undoers(effects: list[Effects]) -> dict[str, list[tuple[Effects, Atom]]]:
    """Return the actions that require and end a fact of each predicate, with the first such fact of each."""
    found = defaultdict[str, list[tuple[Effects, Atom]]](list)
    for each in effects:
        for fact in {fact.predicate: fact for fact in reversed(each.taken)}.values():
            found[fact.predicate].append((each, fact))
    return found


def _check_untaken(doer: Effects, undoer: Effects, given: Atom, undone: Atom, ended: set[str]) -> Iterator[Finding]:
    """Yield what `doer` requires and leaves, `undoer` gives, and nobody ends."""
    binding = dict(zip(undone.args, given.args, strict=True))
    for back in undoer.provided:
        for needed in doer.required:
            if back.predicate != needed.predicate or back.predicate in ended:
                continue
            shared = [place for place, arg in enumerate(back.args) if binding.get(arg) == needed.args[place]]
            if (shared or not back.args) and back not in undoer.required and needed not in doer.provided:
                level = Level.WARNING if shared and len(shared) == len(back.args) else Level.HINT
                message = (
                    f"it requires {unmarked(needed)} and leaves it, though action {undoer.action.name}, which ends"
                    f" {unmarked(undone)}, gives {unmarked(back)} back; nothing ever ends {back.predicate}"
                )
                place, hint = f"action {doer.action.name}", f"should it provide not {unmarked(needed)}?"
                pddl = f"should its effect have (not ({' '.join([needed.predicate, *needed.args])}))?"
                yield Finding(level, "never-taken", place, message, hint, "provides", hint_pddl=pddl)


def _find_rising(domain: DomainModel) -> frozenset[str]:
    """Return the functions that actions increase and do not change otherwise."""
    changes = {(x.fluent.predicate, x.operator) for each in domain.actions.values() for x in numeric_effects(each)}
    return frozenset([name for name, _ in changes]) - {name for name, operator in changes if operator != "+="}


def _check_unlowered(
    doer: Effects, undoer: Effects, given: Atom, domain: DomainModel, rising: frozenset[str]
) -> Iterator[Finding]:
    """Yield that `undoer` does not lower a number, one of those `rising`, that `doer` raises up to a limit."""
    changed = {effect.fluent.predicate for effect in numeric_effects(undoer.action)}
    for effect in numeric_effects(doer.action):
        name = effect.fluent.predicate
        if name in changed or name not in rising or not _is_limited(effect.fluent, doer.action, domain):
            continue
        message = (
            f"it ends {unmarked(given)}, which action {doer.action.name} gives, and does not lower"
            f" {unmarked(effect.fluent)}, which that one raises up to a limit; nothing else lowers it"
        )
        place, hint = (
            f"action {undoer.action.name}",
            f"should it do {unmarked(effect.fluent)} -= {unmarked(effect.value)}?",
        )
        yield Finding(Level.HINT, "never-given-back", place, message, hint, "modifies")


def _is_limited(fluent: Atom, action: Action, domain: DomainModel) -> bool:
    """Return whether a bound, or a condition of `action`, limits `fluent` from above."""
    declared = domain.functions.get(fluent.predicate)
    if declared is not None and declared.high is not None:
        return True
    for part in conjuncts(action.requires):
        if isinstance(part, Comparison):
            left, right = part.left, part.right
            small = left if part.relation in ("<", "<=") else right if part.relation in (">", ">=") else None
            if small is not None and fluent in set(functions_in(small)):
                return True
    return False


def check_copies(domain: DomainModel) -> Iterator[Finding]:
    """Yield the actions that do just what one before them does, but for the names of their parameters."""
    seen: dict[tuple[object, ...], Action] = {}
    for action in domain.actions.values():
        if action.data or action.creates or not action.effects or len(action.parameters) > MOST_PARAMETERS:
            continue
        key = min(_forms(action), key=str)
        first = seen.setdefault(key, action)
        if first is not action:
            message = f"it requires and changes just what action {first.name} does, for the same cost"
            hint = "is it a copy that was not edited? Change it, or leave it out"
            yield Finding(Level.WARNING, "equal-actions", f"action {action.name}", message, hint)


MOST_PARAMETERS: Final = 5
"""Most parameters of actions that are compared in each order of these."""


def _forms(action: Action) -> Iterator[tuple[object, ...]]:
    """Yield the action as text, with its parameters numbered in each order."""
    for order in permutations(action.parameters):
        names = {each.name: f"?{place}" for place, each in enumerate(order)}

        def write(part: object, names: dict[str, str] = names) -> str:
            return re.sub(r"\?[\w-]+", lambda name: names.get(name[0], name[0]), str(part))

        owners = (action, action.at_start, action.at_end)
        conditions = [tuple(sorted(map(write, conjuncts(each.requires)))) for each in owners]
        effects = [
            (tuple(sorted(map(write, x.provides))), tuple(sorted(map(write, (*x.modifies, *x.numbers)))), write(x.when))
            for x in owners
        ]
        rest = (
            action.cost,
            tuple(sorted(action.tags)),
            action.uses,
            action.duration,
            action.throughout,
            action.holds,
            action.outcomes,
        )
        kinds = (*[each.types for each in order], *sorted(action.tags))
        yield kinds, *conditions, *effects, tuple(map(write, (*rest, action.senses, action.after, action.risk)))


def check_kept(domain: DomainModel) -> Iterator[Finding]:
    """Yield the one action in time that takes at its start what all like it give back at their ends."""
    keepers: dict[str, list[tuple[Action, Atom]]] = defaultdict(list)
    givers: dict[str, list[Action]] = defaultdict(list)
    for action in domain.actions.values():
        needs = {*conjuncts(action.requires), *conjuncts(action.at_start.requires)}
        given = {*positive_atoms(action.provides), *positive_atoms(action.at_end.provides)}
        for atom in negated_atoms(action.at_start.provides):
            if atom in needs and atom in given:
                givers[atom.predicate].append(action)
            elif atom in needs and not any(set(atom.args) <= set(each.args) for each in given):
                keepers[atom.predicate].append((action, atom))
    for name, own in keepers.items():
        if len(own) == 1 and givers[name]:
            action, atom = own[0]
            message = (
                f"it takes {unmarked(atom)} at its start and keeps it; {givers[name][0].name} gives it back at its end"
            )
            hint = f"provide {unmarked(atom)} at its end"
            yield Finding(Level.WARNING, "never-given-back", f"action {action.name}", message, hint, "provides", atom)


def check_moves(problem: Problem) -> Iterator[Finding]:
    """Yield the effects that move an object from a place where nothing says that it is.

    They end one value of an item and give another one; they ask for something of that value, and for nothing of the
    object. Each object begins with one value at most.
    """
    for action in problem.domain.actions.values():
        for effect in action.effects:
            required = [*conjoined_atoms(action.requires), *conjoined_atoms(effect.requires)]
            for old, new, item in _find_moves(effect):
                names = {arg for arg in item.key(old) if is_variable(arg)}
                is_placed = any(old.args[item.place] in each.args for each in required)
                is_asked = any(names & {*each.args} for each in required)
                if names and is_placed and not is_asked and _begins_single(item, problem):
                    yield _report_unasked(action, old, new)


def _find_moves(effect: When) -> Iterator[tuple[Atom, Atom, Item]]:
    """Yield the facts that `effect` ends and gives of one item, whose values are variables."""
    for old in negated_atoms(effect.provides):
        for new in positive_atoms(effect.provides):
            if new.predicate == old.predicate and len(new.args) > 1:
                places = [n for n, pair in enumerate(zip(old.args, new.args, strict=True)) if pair[0] != pair[1]]
                if len(places) == 1 and is_variable(old.args[places[0]]):
                    yield old, new, Item(old.predicate, places[0])


def _begins_single(item: Item, problem: Problem) -> bool:
    """Return whether the initial state has values of the item, and one for each object."""
    keys = [item.key(each) for each in problem.initial if each.predicate == item.predicate]
    return len(keys) > 0 and len(keys) == len(set(keys))


def _report_unasked(action: Action, old: Atom, new: Atom) -> Finding:
    message = (
        f"it gives {unmarked(new)} and ends {unmarked(old)}, which it does not ask for: what has another value keeps it"
    )
    hint = f"require {unmarked(old)}, or make it the condition of the effect"
    return Finding(Level.WARNING, "second-value", f"action {action.name}", message, hint, "provides", old)
