"""Lint of items, which have one value at a time: `at(robot, _)` is where a robot is.

`modifies at(robot, _)` and `functional` on a predicate declare items. Others look like items: a fact is required, one
that differs in an argument is provided, and in the initial state each object has one such fact. An item keeps one value
if each action that gives it a value ends the old one; that is checked action by action (an invariant of one predicate,
as those of Helmert, 2009), so that the action that breaks it is known. Mutex groups prove what one predicate cannot.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from planner.grounding.ground import find_single_valued
from planner.lightweight import Final
from planner.limits import LimitReached, Limits
from planner.lint.findings import Finding, Level, Mend, conjoined_atoms, ended_atoms, enders_of, givers_of
from planner.model.actions import Action, Outcome, When, has_open_argument, negated_atoms, positive_atoms
from planner.model.domain import DomainModel, cache_per_domain, has_numbers
from planner.model.formulas import OPEN, TRUE, Atom, Equals, Formula, Not, conjuncts, is_variable, literals_in, unmarked
from planner.model.problem import Problem, is_temporal

PROOF_SECONDS: Final = 5.0
"""Most time for the proof that an item, of which the goal names two values, has one."""


@dataclass(frozen=True, slots=True)
class Item:
    """The facts of `predicate` that differ in argument `place` only are values of one item."""

    predicate: str
    place: int

    def key(self, atom: Atom) -> tuple[str, ...]:
        """Return the arguments that name the item."""
        return atom.args[: self.place] + atom.args[self.place + 1 :]

    def pattern(self, atom: Atom) -> Atom:
        """Return the item of `atom`, as `modifies` has it."""
        return Atom(atom.predicate, (*atom.args[: self.place], OPEN, *atom.args[self.place + 1 :]))


@cache_per_domain
def declared_items(domain: DomainModel) -> Mapping[Item, str]:
    """Return the items that `functional` and `modifies` declare, each with the declaration that does so first."""
    found = {
        Item(each.name, each.functional): f"predicate {each.name}"
        for each in domain.predicates.values()
        if each.functional is not None
    }
    for action in domain.actions.values():
        for pattern in ended_atoms(action):
            if pattern.args.count(OPEN) == 1 and len(pattern.args) > 1:
                found.setdefault(Item(pattern.predicate, pattern.args.index(OPEN)), f"action {action.name}")
    return found


def check_items(domain: DomainModel, problem: Problem | None = None) -> Iterator[Finding]:
    """Yield the findings about items that need no proof by mutex groups."""
    declared = declared_items(domain)
    seeming = {} if problem is None else {item: "" for item in _seeming_items(problem) if item not in declared}
    for item in {**declared, **seeming}:
        breaches = list(_find_breaches(item, domain))
        yield from (_report_breach(item, each, domain, is_seeming=item in seeming) for each in breaches)
    for action in domain.actions.values():
        clashes = list(_check_required_values(action, declared))
        yield from clashes or _check_same_values(action)
    yield from _check_unended(domain, problem)
    if problem is not None:
        yield from _check_carried(problem)
        kept = {item: where for item, where in {**balanced_items(domain), **declared}.items() if item not in seeming}
        yield from _check_initial_values(problem, kept)


def _check_unended(domain: DomainModel, problem: Problem | None) -> Iterator[Finding]:
    """Yield facts that an action modifies in place, and that something needs to be false, though nothing ends them."""
    needed = {each.predicate: where for each, where in _negative_reads(domain, problem)}
    ended = {atom.predicate for action in domain.actions.values() for atom in _atoms_ended_by(action)}
    ended |= {each.name for each in domain.predicates.values() if each.stale_with}
    for action in domain.actions.values():
        for atom in dict.fromkeys(_atoms_in_place(action)):
            if atom.predicate in needed and atom.predicate not in ended:
                negated = f"not {unmarked(atom)}"
                message = (
                    f"it modifies {unmarked(atom)}, which stays true: without an open argument, it changes in place;"
                    f" {needed[atom.predicate]} needs it to be false, and no action ends it"
                )
                place, mend = f"action {action.name}", Mend("add", "provides", unmarked(atom), negated)
                hint = f"to end it, provide {negated}"
                yield Finding(Level.WARNING, "unended-fact", place, message, hint, "modifies", atom, mend=mend)


def _atoms_in_place(action: Action) -> Iterator[Atom]:
    """Yield the facts that an action modifies in place, and neither gives anew nor ends."""
    effects: list[When | Outcome] = [*action.effects, *action.outcomes]
    for effect in effects:
        given = {*positive_atoms(effect.provides), *negated_atoms(effect.provides)}
        yield from (each for each in effect.modifies if not has_open_argument(each) and each not in given)


def _atoms_ended_by(action: Action) -> Iterator[Atom]:
    """Yield the facts and patterns that an action may end."""
    effects: list[When | Outcome] = [*action.effects, *action.outcomes]
    for effect in effects:
        yield from negated_atoms(effect.provides)
        yield from (each for each in effect.modifies if has_open_argument(each))


def _negative_reads(domain: DomainModel, problem: Problem | None) -> Iterator[tuple[Atom, str]]:
    """Yield the facts that something needs to be false, and what does."""
    conditions: list[tuple[Formula, str]] = [] if problem is None else [(problem.goal.hard, "the goal")]
    if problem is not None:
        conditions += [(each.condition, "a wish") for each in problem.goal.soft]
    conditions += [(each.condition, f"derived predicate {each.predicate}") for each in domain.axioms]
    for action in domain.actions.values():
        conditions += [
            (each, f"action {action.name}") for each in (action.requires, *[x.requires for x in action.when])
        ]
    for condition, where in conditions:
        yield from ((atom, where) for atom, positive in literals_in(condition) if not positive)


def _check_carried(problem: Problem) -> Iterator[Finding]:
    """Yield conditional effects that give an object a second place, as the action moves what carries it.

    The action ends one place and gives another, and so it does for the object, but without ending its old place, though
    each object of the type begins with one place, and no action ever ends one.
    """
    domain, ended = problem.domain, enders_of(problem.domain)
    wanted = {item for item, _, _ in _goal_pairs(problem)}
    for action in domain.actions.values():
        moves = dict(_moves_in(action))
        for effect in action.effects:
            given = positive_atoms(effect.provides) if effect.requires != TRUE else ()
            for fact in given:
                places = [n for n, arg in enumerate(fact.args) if arg in moves]
                if len(places) != 1 or len(fact.args) < 2 or fact.predicate in ended:
                    continue
                item, old = Item(fact.predicate, places[0]), moves[fact.args[places[0]]]
                keys = [item.key(each) for each in problem.initial if each.predicate == fact.predicate]
                single = keys and len(set(keys)) == len(keys) and _covers_type(keys, problem)
                if single and item not in wanted and _is_joined(item, action, domain):
                    stays = Atom(fact.predicate, (*fact.args[: item.place], old, *fact.args[item.place + 1 :]))
                    message = f"an effect provides {unmarked(fact)}"
                    message += f", and {unmarked(stays)} stays true, which nothing ever ends"
                    hint = f"let the effect provide not {unmarked(stays)}, too, if there is one at a time"
                    pddl = f"add {_pddl(stays)} to that effect, if there is one at a time"
                    place = f"action {action.name}"
                    yield Finding(Level.WARNING, "second-value", place, message, hint, "provides", fact, hint_pddl=pddl)


def _moves_in(action: Action) -> Iterator[tuple[str, str]]:
    """Yield the new and the old value of the items that the action moves, both parameters of one type."""
    away = [x for x in conjoined_atoms(action.requires) if x in ended_atoms(action) or _is_opened(x, action)]
    for new in positive_atoms(action.provides):
        for old in away:
            if old.predicate == new.predicate and sum(x != y for x, y in zip(old.args, new.args, strict=True)) == 1:
                place = next(n for n, (x, y) in enumerate(zip(old.args, new.args, strict=True)) if x != y)
                yield new.args[place], old.args[place]


def _is_opened(fact: Atom, action: Action) -> bool:
    return any(OPEN in each.args and each.matches(fact) for each in action.modifies if each.predicate == fact.predicate)


def _is_joined(item: Item, mover: Action, domain: DomainModel) -> bool:
    """Return whether some action requires a value of `item` at the value of what `mover` moves: both are places."""
    moved = {x.predicate for x in positive_atoms(mover.provides)}
    for action in domain.actions.values():
        own = list(conjoined_atoms(action.requires))
        values = {x.args[item.place] for x in own if x.predicate == item.predicate}
        if any(values.intersection(x.args) for x in own if x.predicate in moved):
            return True
    return False


def _pddl(fact: Atom) -> str:
    """Write the deletion of `fact` in PDDL."""
    return f"(not ({' '.join([fact.predicate, *fact.args])}))"


def _check_same_values(action: Action) -> Iterator[Finding]:
    """Yield the items that the action modifies, and whose old value it provides again."""
    for effect in action.effects:
        required = set(conjoined_atoms(action.requires)) | set(conjoined_atoms(effect.requires))
        provided = list(dict.fromkeys(positive_atoms(effect.provides)))
        for atom in provided:
            ended = [x for x in effect.modifies if has_open_argument(x) and x.matches(atom)]
            others = [x for x in provided if x != atom and any(y.matches(x) for y in ended)]
            if atom in required and ended and not others:
                message = f"it modifies {unmarked(ended[0])}"
                message += f", and provides {unmarked(atom)}, which it requires: nothing changes"
                near = _suggest_value(action, atom, ended[0].args.index(OPEN))
                hint = f"provide the new value, such as {near}" if near else "provide the new value"
                mend = Mend("replace", "provides", unmarked(atom), near) if near else None
                place = f"action {action.name}"
                yield Finding(Level.WARNING, "same-value", place, message, hint, "provides", atom, mend=mend)


def _suggest_value(action: Action, atom: Atom, place: int) -> str:
    """Return `atom` with the one parameter of the same type that the action does not provide yet, or ""."""
    types = {each.name: each.types for each in action.parameters}
    wanted = types.get(atom.args[place])
    others = [name for name, kind in types.items() if kind == wanted and name not in atom.args]
    if wanted is None or len(others) != 1:
        return ""
    return unmarked(Atom(atom.predicate, (*atom.args[:place], others[0], *atom.args[place + 1 :])))


def _check_required_values(action: Action, declared: Iterable[Item]) -> Iterator[Finding]:
    """Yield two values of one item that an action requires at once, though they are said to be different."""
    atoms = list(dict.fromkeys(conjoined_atoms(action.requires)))
    different = [
        {x.part.left, x.part.right}
        for x in conjuncts(action.requires)
        if isinstance(x, Not) and isinstance(x.part, Equals)
    ]
    named = {atom.predicate for atom in atoms}
    for item in [each for each in declared if each.predicate in named]:
        own = [atom for atom in atoms if atom.predicate == item.predicate]
        for one, other in combinations(own, 2):
            values = {one.args[item.place], other.args[item.place]}
            unequal = values in different or not any(is_variable(each) for each in values)
            if item.key(one) == item.key(other) and len(values) == 2 and unequal:
                message = f"it can never apply: {unmarked(one)} and {unmarked(other)} are two values of one item"
                yield Finding(
                    Level.ERROR, "contradicting-requires", f"action {action.name}", message, "", "requires", other
                )


@dataclass(frozen=True, slots=True)
class _Breach:
    """An action that requires the value `old` of an item and provides `new` without ending `old`."""

    action: Action
    old: Atom
    new: Atom


def _find_breaches(item: Item, domain: DomainModel) -> Iterator[_Breach]:
    for action in givers_of(domain).get(item.predicate, ()):
        for effect in action.effects:
            required = [*conjoined_atoms(action.requires), *conjoined_atoms(effect.requires)]
            for new in positive_atoms(effect.provides):
                if new.predicate == item.predicate and not _is_ended(item, new, action, effect):
                    yield from (_Breach(action, old, new) for old in required if _is_other_value(item, old, new))


def _is_other_value(item: Item, old: Atom, new: Atom) -> bool:
    return old.predicate == item.predicate and item.key(old) == item.key(new) and old != new


def _is_ended(item: Item, new: Atom, action: Action, effect: When) -> bool:
    """Return whether the step ends other values of the item of `new`."""
    always = [each for each in action.effects if each.requires == TRUE and not each.variables]
    parts = [effect, *always]
    if any(
        pattern.matches(new) and pattern.args[item.place] == OPEN
        for x in parts
        for pattern in x.modifies
        if pattern.predicate == new.predicate
    ):
        return True
    ended = [atom for x in parts for atom in (*negated_atoms(x.provides), *x.modifies)]
    forall = [atom for x in action.effects if x.variables for atom in negated_atoms(x.provides)]
    return any(
        atom.predicate == new.predicate and item.key(atom) == item.key(new) and atom != new
        for atom in (*ended, *forall)
    )


def _report_breach(item: Item, breach: _Breach, domain: DomainModel, *, is_seeming: bool) -> Finding:
    pattern = unmarked(item.pattern(breach.new))
    functional = domain.predicates[item.predicate].functional == item.place
    message = (
        f"it provides {unmarked(breach.new)}, and {unmarked(breach.old)} stays true: {pattern} has two values then"
    )
    mend = Mend("add", "modifies", unmarked(breach.old), pattern)
    rule = "not-functional" if functional else "second-value"
    if functional:
        message = f"'{item.predicate}' is functional, but it {message.removeprefix('it ')}"
    level = Level.ERROR if functional else Level.WARNING if len(breach.new.args) > 1 else Level.HINT
    hint = f"add {pattern} to 'modifies'" + (", if it has one value at a time" if is_seeming else "")
    pddl = f"add {_pddl(breach.old)} to the effect" + (", if there is one value at a time" if is_seeming else "")
    place = f"action {breach.action.name}"
    own = None if is_seeming else mend
    return Finding(level, rule, place, message, hint, "provides", breach.new, mend=own, hint_pddl=pddl)


def _seeming_items(problem: Problem) -> Iterator[Item]:
    """Yield what looks like an item: an action moves it to another value, and each object starts with one."""
    domain = problem.domain
    moved = {
        item
        for action in domain.actions.values()
        for new in positive_atoms(action.provides)
        for old in conjoined_atoms(action.requires)
        if old.predicate == new.predicate
        for item in _difference(action, old, new, fewest=1)
    }
    if not moved:
        return
    facts: dict[str, list[Atom]] = defaultdict(list)
    for fact in problem.initial:
        facts[fact.predicate].append(fact)
    for item in sorted(moved, key=lambda each: (each.predicate, each.place)):
        keys = [item.key(fact) for fact in facts[item.predicate]]
        is_single = len(keys) == 1 and keys[0] == ()
        if keys and len(set(keys)) == len(keys) and (is_single or _covers_type(keys, problem)):
            yield item


def _difference(action: Action, old: Atom, new: Atom, fewest: int = 2) -> Iterator[Item]:
    """Yield the item of which two atoms are values: they differ in one argument, by parameters of one type.

    They have the `fewest` arguments: an item without a name, as in `level(_)`, is a guess.
    """
    types = {each.name: each.types for each in action.parameters}
    places = [n for n, (x, y) in enumerate(zip(old.args, new.args, strict=True)) if x != y]
    if len(places) == 1 and len(old.args) >= fewest:
        before, after = types.get(old.args[places[0]]), types.get(new.args[places[0]])
        if before is not None and before == after:
            yield Item(old.predicate, places[0])


def _covers_type(keys: list[tuple[str, ...]], problem: Problem) -> bool:
    """Return whether each object of the types of the known objects with a value has one, in their first argument."""
    kinds = {each.name: each.types for each in problem.all_objects}
    named = {key[0] for key in keys}
    types = {kind for name in named for kind in kinds.get(name, ())}
    return all(name in named for name, kind in kinds.items() if types.intersection(kind))


def balanced_items(domain: DomainModel) -> dict[Item, str]:
    """Return the items of which each action that gives them a value ends the old one."""
    found: dict[Item, str] = {}
    for action in domain.actions.values():
        for new in positive_atoms(action.provides):
            for old in conjoined_atoms(action.requires):
                if old.predicate == new.predicate:
                    found.update(dict.fromkeys(_difference(action, old, new), f"action {action.name}"))
    return {item: place for item, place in found.items() if is_balanced(item, domain)}


def is_balanced(item: Item, domain: DomainModel) -> bool:
    """Return whether every action that provides a value of `item` ends the one that it requires, and gives one only."""
    for action in givers_of(domain).get(item.predicate, ()):
        if any(fact.predicate == item.predicate for x in action.outcomes for fact in positive_atoms(x.provides)):
            return False
        new = [
            (fact, each)
            for each in action.effects
            for fact in positive_atoms(each.provides)
            if fact.predicate == item.predicate
        ]
        keys = [item.key(fact) for fact, _ in new]
        if len(set(keys)) < len(keys):
            return False
        for fact, effect in new:
            open_ended = any(
                p.matches(fact) and p.args[item.place] == OPEN
                for p in (*effect.modifies, *action.modifies)
                if p.predicate == fact.predicate
            )
            old = [x for x in conjoined_atoms(action.requires) if _is_other_value(item, x, fact)]
            ended = {
                *negated_atoms(effect.provides),
                *negated_atoms(action.provides),
                *effect.modifies,
                *action.modifies,
            }
            if not open_ended and not ended.intersection(old):
                return False
    return True


def _check_initial_values(problem: Problem, items: dict[Item, str]) -> Iterator[Finding]:
    """Yield the first second value of each item in the initial state."""
    facts: dict[str, list[Atom]] = defaultdict(list)
    for fact in problem.initial:
        facts[fact.predicate].append(fact)
    for item, where in items.items():
        if is_doubted(item, problem):
            yield _report_doubted(item, where, problem)
            continue
        seen: dict[tuple[str, ...], Atom] = {}
        second = [(seen[item.key(x)], x) for x in facts[item.predicate] if seen.setdefault(item.key(x), x) != x]
        keys = len(seen)
        if second and (
            len(second) == 1
            or 4 * len(second) <= keys
            or problem.domain.predicates[item.predicate].functional == item.place
        ):
            one, other = second[0]
            message = f"{one} and {other} are two values of one item: {where} takes {item.pattern(one)} for one"
            hint = "leave one out" if len(second) == 1 else f"leave one out; {len(second) - 1} more are like it"
            yield Finding(Level.WARNING, "two-initial-values", "initial", message, hint, part=other)


def is_doubted(item: Item, problem: Problem) -> bool:
    """Return whether initial state and goal both have several values of `item`, which only `modifies` declares."""
    domain = problem.domain
    if domain.predicates[item.predicate].functional == item.place or not declared_items(domain).get(item):
        return False
    in_goal = any(each == item for each, _, _ in _goal_pairs(problem))
    return in_goal and not _starts_single(item, problem)


def _report_doubted(item: Item, where: str, problem: Problem) -> Finding:
    """Report the action that takes for one item what the problem has several values of."""
    action = problem.domain.actions[where.removeprefix("action ")]
    pattern = next(x for x in ended_atoms(action) if x.predicate == item.predicate and x.args[item.place] == OPEN)
    message = f"it modifies {unmarked(pattern)}, so ends all of them, and initial state and goal have several"
    required = next((x for x in conjoined_atoms(action.requires) if x.predicate == item.predicate), None)
    places = [n for n in range(len(pattern.args)) if n != item.place and required is not None]
    single = [n for n in places if _starts_single(Item(item.predicate, n), problem)]
    meant = unmarked(Item(item.predicate, single[0]).pattern(required)) if single and required is not None else ""
    hint = f"should it be {meant}?" if meant else "name the one that it ends"
    return Finding(Level.WARNING, "several-values", where, message, hint, "modifies", pattern)


def check_goal_values(problem: Problem, limits: Limits, may_hold: Callable[[Atom], bool]) -> Iterator[Finding]:
    """Yield two values of one item that the goal asks for; raises `LimitReached`.

    A proof says nothing of facts that are out of reach: `may_hold` tells which are not. In time nothing is proved:
    mutex groups are those of sequences of steps, which know no moments within a step and no changes at known times.
    """
    pairs = [x for x in _goal_pairs(problem) if may_hold(x[1]) and may_hold(x[2])]
    doubted = {item for item in dict.fromkeys(item for item, _, _ in pairs) if is_doubted(item, problem)}
    pairs = [each for each in pairs if each[0] not in doubted]
    if not pairs:
        return
    declared = declared_items(problem.domain)
    try:
        items = {} if is_temporal(problem) else {item: one for item, one, _ in pairs}
        proved = _prove(items, problem, limits.part(PROOF_SECONDS))
    except LimitReached:
        limits.check()
        proved = {}
    for item, one, other in pairs:
        if (proved.get(item) and not has_numbers(problem.domain)) or item in declared:
            message = f"{one} and {other} are two values of one item, which has one at a time"
            level = Level.ERROR if proved.get(item) else Level.WARNING
            yield Finding(level, "two-goal-values", "goal", message, "leave one out", part=other)


def _goal_pairs(problem: Problem) -> Iterator[tuple[Item, Atom, Atom]]:
    """Yield the pairs of goal facts that differ in one argument, of predicates that actions provide."""
    atoms: dict[str, list[Atom]] = defaultdict(list)
    for atom in dict.fromkeys(conjoined_atoms(problem.goal.hard)):
        if len(atom.args) > 1:
            atoms[atom.predicate].append(atom)
    written = givers_of(problem.domain)
    for name, own in atoms.items():
        for item in [Item(name, place) for place in range(len(own[0].args))] if name in written else []:
            seen: dict[tuple[str, ...], Atom] = {}
            for atom in own:
                first = seen.setdefault(item.key(atom), atom)
                if first != atom:
                    yield item, first, atom


def _prove(items: dict[Item, Atom], problem: Problem, limits: Limits) -> dict[Item, bool]:
    """Return which items have one value: by their actions alone, or else by mutex groups."""
    found = {item: is_balanced(item, problem.domain) and _starts_single(item, problem) for item in items}
    open_items = {item: _general(item, problem.domain) for item, proved in found.items() if not proved}
    if open_items:
        by_groups = find_single_valued(problem, list(open_items.values()), limits)
        found.update({item: by_groups[pattern] for item, pattern in open_items.items()})
    return found


def _general(item: Item, domain: DomainModel) -> Atom:
    size = len(domain.predicates[item.predicate].parameters)
    return Atom(item.predicate, tuple([OPEN if n == item.place else f"?{n + 1}" for n in range(size)]))


def _starts_single(item: Item, problem: Problem) -> bool:
    keys = [item.key(fact) for fact in problem.initial if fact.predicate == item.predicate]
    return len(set(keys)) == len(keys)


def check_functional(problem: Problem, limits: Limits) -> Iterator[Finding]:
    """Yield the functional predicates that cannot be proved, where no action is known to break them."""
    own = [
        Item(each.name, each.functional) for each in problem.domain.predicates.values() if each.functional is not None
    ]
    doubtful = [
        item for item in own if _starts_single(item, problem) and not list(_find_breaches(item, problem.domain))
    ]
    if not doubtful:
        return
    proved = _prove({item: _general(item, problem.domain) for item in doubtful}, problem, limits)
    for item in doubtful:
        if not proved[item]:
            message = f"that {unmarked(_general(item, problem.domain))} has one value at a time cannot be proved"
            givers = [
                each.name
                for each in givers_of(problem.domain).get(item.predicate, ())
                if any(x.predicate == item.predicate for y in each.effects for x in positive_atoms(y.provides))
            ]
            careless = _find_careless(item, problem.domain)
            if careless is not None:
                yield _report_careless(item, *careless)
                continue
            hint = f"look at what gives it a value: {', '.join(givers)}" if givers else ""
            yield Finding(Level.WARNING, "unproved-functional", f"predicate {item.predicate}", message, hint)


def _find_careless(item: Item, domain: DomainModel) -> tuple[Action, Atom] | None:
    """Return the one action that gives `item` a value and ends none, nor takes anything else for it."""
    found: dict[str, tuple[Action, Atom]] = {}
    for action in givers_of(domain).get(item.predicate, ()):
        takes = {*ended_atoms(action)}.intersection(conjoined_atoms(action.requires))
        for effect in action.effects:
            for fact in positive_atoms(effect.provides):
                if fact.predicate == item.predicate and not _is_ended(item, fact, action, effect) and not takes:
                    found.setdefault(action.name, (action, fact))
    return next(iter(found.values())) if len(found) == 1 else None


def _report_careless(item: Item, action: Action, fact: Atom) -> Finding:
    pattern = unmarked(item.pattern(fact))
    message = (
        f"'{item.predicate}' is functional, but it provides {unmarked(fact)}, and ends no other value of {pattern}"
    )
    hint = f"add {pattern} to 'modifies', or require that there is no other"
    place, mend = f"action {action.name}", Mend("add", "modifies", unmarked(fact), pattern)
    return Finding(Level.WARNING, "unproved-functional", place, message, hint, "provides", fact, mend=mend)
