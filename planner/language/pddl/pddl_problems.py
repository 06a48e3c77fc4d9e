"""Read problem files: objects, initial states, goals and metrics, and complete the domain with them.

Initial states are by far the longest part of most files, so the reader checks facts by column.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Mapping
from decimal import Decimal

from planner.errors import PddlError, UnsupportedError
from planner.garbage_collection import pause_collector
from planner.language.pddl import syntax
from planner.language.pddl.pddl_actions import TOTAL_COST, read_objects
from planner.language.pddl.pddl_conditions import (
    check_length,
    has_preferences,
    instantiate,
    is_number,
    read_condition,
    read_constraints,
    read_goal,
    subtree,
)
from planner.language.pddl.pddl_domains import read_domain
from planner.language.pddl.pddl_vocabulary import Types, Vocabulary, describe_wrong_type
from planner.language.pddl.sections import Definition, choose_free_name, read_definition, read_number
from planner.language.pddl.syntax import (
    Source,
    Tree,
    quote,
    read_text,
    refuse_construct,
    suggest_nearest,
    warn,
    warn_at,
)
from planner.lightweight import Final, dataclass, field, replace
from planner.model.actions import Action, Constraint, Stated
from planner.model.domain import DomainModel, Unfinished
from planner.model.formulas import And, Atom, Formula, Not, Number, Object, conjunction, exact_number
from planner.model.problem import Goal, Metric, Problem, SoftGoal, seal

MOST_PREFERENCES: Final = 6
"""Most counted preferences of one action; each doubles the number of its versions."""


def with_constants(domain: DomainModel, types: Types, known: Mapping[str, Object]) -> DomainModel:
    """Make constants of the objects that `domain` names without declaring them; `known` are the declared objects.

    Raises `PddlError` where there is no such object, or it is of another type than where it is named.
    """
    moved = []
    for name, mentions in domain.unfinished.undeclared.items():
        place = mentions[0].place
        if name not in known:
            hint = suggest_nearest(name, known) or "declare it in ':constants', or in the problem's ':objects'"
            raise PddlError(f"the object {quote(name)} is not declared", place, hint)
        for mention in mentions:
            if mention.types and not types.hierarchy.is_a(known[name].types, mention.types):
                message = describe_wrong_type(name, known[name].types, mention.types, mention.role)
                raise PddlError(message, mention.place, "use another object, or correct its type")
        warn_at(place, f"the domain names the object {quote(name)}, which only the problem declares")
        moved.append(known[name])
    return replace(domain, constants=(*domain.constants, *moved))


def with_counted_preferences(domain: DomainModel, worth: Mapping[str, Number], words: Vocabulary) -> DomainModel:
    """Add a version of each action for each set of preferences that a step may break, at its additional cost.

    Preferences that the metric does not count are left out. Plans use the name of the file's action for all versions.
    """
    actions: dict[str, Action] = {}
    versions = dict(domain.versions)
    taken = set(domain.actions)
    for name, action in domain.actions.items():
        counted = [each for each in domain.unfinished.preferences.get(name, ()) if worth.get(each.preference)]
        for version in _enumerate_versions(action, list(instantiate(counted, words)), worth, taken):
            actions[version.name] = version
            if version.name != name:
                versions[version.name] = domain.versions.get(name, name)
    return replace(domain, actions=actions, versions=versions) if len(actions) > len(domain.actions) else domain


def _enumerate_versions(
    action: Action, preferences: list[Stated], worth: Mapping[str, Number], taken: set[str]
) -> Iterable[Action]:
    """Yield a version of `action` for each set of `preferences` that its steps may break, the empty set first."""
    if len(preferences) > MOST_PREFERENCES:
        construct = f"{len(preferences)} counted preferences in the precondition of '{action.name}'"
        raise UnsupportedError(construct, f"at most {MOST_PREFERENCES} are counted")
    for broken in itertools.product((False, True), repeat=len(preferences)):
        requires: list[Formula] = [action.requires]
        names = []
        for each, is_broken in zip(preferences, broken, strict=True):
            assert not isinstance(each.wanted, Constraint)
            requires.append(Not(each.wanted) if is_broken else each.wanted)
            names += [each.preference] if is_broken else []
        name = choose_free_name(f"{action.name}-without-{'-'.join(names)}", taken) if names else action.name
        cost = (*action.cost, *(worth[each] for each in names))
        yield replace(action, name=name, requires=conjunction(requires), cost=cost)


def read_initial(
    sections: list[Tree], words: Vocabulary, derived: frozenset[str]
) -> tuple[tuple[Atom, ...], dict[Atom, Number], tuple[Atom, ...]]:
    """Read the `:init` sections: their facts, each once and in order, and the values of functions.

    The third result are facts whose predicates the domain does not have, if it has no similar names. `(not …)` changes
    nothing, but is an error where the fact is stated as well.
    """
    reader = _Reader(words, derived)
    for section in sections:
        reader.read(section)
    return reader.facts(sections), reader.values, tuple(reader.unmentioned)


class _Reader:
    """Sorts entries into facts by predicate, values, and negated facts."""

    def __init__(self, words: Vocabulary, derived: frozenset[str]) -> None:
        self.values: dict[Atom, Number] = {}
        self.unmentioned: list[Atom] = []
        self._words = words
        self._derived = derived
        self._by_predicate: dict[str, list[Tree]] = {name: [] for name in words.predicates if name != "not"}
        self._negated: dict[tuple[str, ...], Tree] = {}
        self._no_facts: set[int] = set()

    def read(self, section: Tree) -> None:
        """Read the entries of `section`; `facts` collects its facts later, in their order."""
        by_predicate = self._by_predicate
        for index in range(1, len(section)):
            entry = section[index]
            try:
                rows = by_predicate[entry[0]]
            except (KeyError, TypeError, IndexError):
                rows = None
            if rows is None or entry.__class__ is str:
                self._read_other(section, index)
            else:
                rows.append(entry)

    def facts(self, sections: list[Tree]) -> tuple[Atom, ...]:
        """Check and return the facts."""
        for name, rows in self._by_predicate.items():
            if rows:
                self._check_columns(name, rows)
        entries = itertools.chain.from_iterable(section[1:] for section in sections)
        unique = dict.fromkeys([tuple(entry) for entry in entries if id(entry) not in self._no_facts])
        for row, tree in self._negated.items():
            if row in unique:
                message = f"{quote(list(row))} is stated, and its negation as well"
                raise self._words.source.error(message, tree, None, "remove one")
        return tuple([Atom(row[0], row[1:]) for row in unique])

    def _check_columns(self, name: str, rows: list[Tree]) -> None:
        """Raise an error where one of `rows`, all of predicate `name`, has arguments of wrong number or type."""
        parameters = self._words.predicates[name].parameters
        if name in self._derived:
            message = f"the derived predicate {quote(name)} is in the initial state"
            raise self._words.source.error(message, rows[0], None, "state what it is derived from")
        try:
            columns = list(zip(*rows, strict=True))[1:]
            extents = [self._words.extent(parameter.types) for parameter in parameters]
            if len(columns) == len(parameters) and all(map(set.issuperset, extents, columns)):
                return
        except (TypeError, ValueError):
            pass
        for row in rows:
            self._refuse(row)
            self._words.atom(row, {})

    def _read_other(self, section: Tree, index: int) -> None:
        """Read an entry that is no atom of a declared predicate, or raise an error."""
        source, entry = self._words.source, section[index]
        if not isinstance(entry, list) or not entry or not isinstance(entry[0], str):
            hint = f"write '({entry})'" if isinstance(entry, str) else "write facts side by side, such as '(ready a)'"
            raise source.error(f"found {quote(entry)}, expected a fact", section, index, hint)
        match entry:
            case ["=", *_]:
                self._read_value(entry)
                self._no_facts.add(id(entry))
            case ["not", [str(name), *args] as atom] if self._is_unmentioned(name, args):
                self._take_unmentioned(atom)
                self._no_facts.add(id(entry))
            case ["not", [str(), *_] as atom]:
                self._words.atom(atom, {})
                self._negated.setdefault(tuple(atom), atom)
                self._no_facts.add(id(entry))
            case [str(name), *args] if self._is_unmentioned(name, args):
                self._take_unmentioned(entry)
                self._no_facts.add(id(entry))
            case _:
                self._refuse(entry)
                self._words.atom(entry, {})

    def _is_unmentioned(self, name: str, args: list[Tree]) -> bool:
        """Return whether the entry may be a fact, and nothing in the domain has the name `name` or a similar one."""
        if name[0] in "?:" or is_number(name) or name in syntax.INITIAL or name in ("at", "and", "=", TOTAL_COST):
            return False
        known = [*self._words.predicates, *self._words.functions]
        return name not in known and all(isinstance(each, str) for each in args) and not suggest_nearest(name, known)

    def _take_unmentioned(self, tree: Tree) -> None:
        """Keep the fact `tree`, whose predicate the domain does not have; raise an error where it has a variable."""
        for index, term in enumerate(tree):
            if term[0] == "?":
                message = f"the variable {quote(term)} is not bound"
                raise self._words.source.error(message, tree, index, "name an object")
        self.unmentioned.append(Atom(tree[0], tuple(tree[1:])))

    def _refuse(self, entry: Tree) -> None:
        """Raise an error where `entry` is a construct beyond the ADL level."""
        match entry:
            case ["at", str(time), [*_]] if is_number(time):
                raise refuse_construct(self._words.source, syntax.TIMED_FACT, entry)
            case [str(word), *_, [*_]] if word in syntax.INITIAL:
                raise refuse_construct(self._words.source, syntax.INITIAL[word], entry)

    def _read_value(self, entry: Tree) -> None:
        """Read `(= (function object…) number)`."""
        source = self._words.source
        if len(entry) != 3:
            message = f"found {quote(entry)}, expected a value such as '(= (distance a b) 3)'"
            raise source.error(message, entry)
        term = entry[1] if isinstance(entry[1], list) else [entry[1]]
        is_plain = bool(term) and isinstance(term[0], str) and isinstance(entry[2], str)
        if is_plain and self._is_unmentioned(term[0], term[1:]):
            self._take_unmentioned(term)
            return
        value = read_number(source, entry, 2)
        if entry[1] in ([TOTAL_COST], TOTAL_COST):
            return
        atom = self._read_function_term(entry)
        if self.values.setdefault(atom, value) != value:
            message = f"{quote(entry[1])} has a second value; the first is {self.values[atom]}"
            raise source.error(message, entry, None, "remove one")

    def _read_function_term(self, entry: Tree) -> Atom:
        """Read the term whose value `entry` states; a term without arguments may lack its parentheses."""
        if isinstance(entry[1], list):
            return self._words.function_term(entry[1], {})
        function = self._words.functions.get(entry[1])
        if function is None or function.parameters:
            hint = suggest_nearest(entry[1], self._words.functions)
            raise self._words.source.error(f"found {quote(entry[1])}, expected a function", entry, 1, hint)
        return Atom(entry[1])


_EXAMPLE = "'(:metric minimize (total-cost))'"
CONSTANT = ""
"""The key of the constant term of a sum."""


@dataclass(frozen=True, slots=True)
class Weights:
    """A metric: how the cost of a plan is counted, whether action costs count, and the worth of each preference."""

    metric: Metric
    costs: bool = True
    worth: Mapping[str, Number] = field(default_factory=dict)


def read_metric(definition: Definition) -> Weights:
    """Read the metric of a problem; without one, the cost of a plan is its length.

    Raises `PddlError` for what is no metric, `UnsupportedError` for other metrics than sums of the total cost and of
    violated preferences.
    """
    section = definition.one(":metric")
    match section:
        case None:
            return Weights(Metric.LENGTH)
        case [_, "minimize", [str(name)] | str(name)] if name == TOTAL_COST:
            return Weights(Metric.COST)
        case [_, "maximize", ["reward"] | "reward"]:
            warn(definition.source, section, None, "the reward is left out: what counts is that the goal is reached")
            return Weights(Metric.LENGTH)
        case [_, "minimize" | "maximize", list(tree)]:
            return _read_weights(definition, section, tree)
        case [_, "minimize" | "maximize", _]:
            raise refuse_construct(definition.source, syntax.METRIC, section)
        case [_, str(word), *_] if word not in ("minimize", "maximize"):
            hint = suggest_nearest(word, ("minimize", "maximize"))
            message = f"found {quote(word)}, expected 'minimize'"
            raise definition.source.error(message, section, 1, hint)
        case _:
            raise definition.source.error(f"found {quote(section)}, expected {_EXAMPLE}", section)


def _read_weights(definition: Definition, section: Tree, tree: Tree) -> Weights:
    terms = _read_sum(tree)
    if terms is None:
        raise refuse_construct(definition.source, syntax.METRIC, section)
    sign = 1 if section[1] == "minimize" else -1
    found = {name: sign * weight for name, weight in terms.items() if name != CONSTANT and weight}
    cost = found.pop(TOTAL_COST, Decimal(0))
    worth = {name.removeprefix("!"): weight / (cost or 1) for name, weight in found.items()}
    exact = all(value * (cost or 1) == found[f"!{name}"] for name, value in worth.items())
    if cost < 0 or any(value < 0 for value in worth.values()) or not exact or not found:
        raise refuse_construct(definition.source, syntax.METRIC, section)
    return Weights(Metric.COST, bool(cost), {name: exact_number(value) for name, value in worth.items()})


def _read_sum(tree: Tree | str) -> dict[str, Decimal] | None:
    """Read the terms of a linear expression: the total cost, preferences (after `!`), and the constant."""
    match tree:
        case str(word) if is_number(word):
            return {CONSTANT: Decimal(word)}
        case str(name) | [str(name)] if name == TOTAL_COST:
            return {TOTAL_COST: Decimal(1)}
        case ["is-violated", str(name)]:
            return {f"!{name}": Decimal(1)}
        case ["+" | "-" as sign, *parts] if parts:
            return _add([_read_sum(part) for part in parts], sign == "-")
        case ["*", *parts] if parts:
            return _multiply([_read_sum(part) for part in parts])
    return None


def _add(parts: list[dict[str, Decimal] | None], minus: bool) -> dict[str, Decimal] | None:
    found: dict[str, Decimal] = {}
    for number, part in enumerate(parts):
        if part is None:
            return None
        sign = -1 if minus and (number or len(parts) == 1) else 1
        for name, weight in part.items():
            found[name] = found.get(name, Decimal(0)) + sign * weight
    return found


def _multiply(parts: list[dict[str, Decimal] | None]) -> dict[str, Decimal] | None:
    found: dict[str, Decimal] = {CONSTANT: Decimal(1)}
    for part in parts:
        if part is None:
            return None
        if set(found) > {CONSTANT} and set(part) > {CONSTANT}:
            return None
        constant, other = (found, part) if set(found) == {CONSTANT} else (part, found)
        if set(constant) != {CONSTANT}:
            return None
        found = {name: weight * constant[CONSTANT] for name, weight in other.items()}
    return found


SECTIONS: Final = (":domain", ":objects", ":init", ":goal", ":constraints", ":metric")
WITHOUT_MEANING: Final = frozenset({":requirements", ":length", ":situation", ":irrelevant", ":goal-reward"})
"""Sections that say nothing about which plans there are: hints to some planner, or what the domain says already."""


def read(domain: str | os.PathLike[str], problem: str | os.PathLike[str]) -> Problem:
    """Return the problem in two PDDL files; raises what `parse_domain` and `parse_problem` raise."""
    return read_problem(problem, read_domain(domain))


def read_problem(path: str | os.PathLike[str], domain: DomainModel) -> Problem:
    """Return the problem for `domain` in the file at `path`; raises what `parse_problem` raises."""
    return parse_problem(read_text(path), domain, os.fspath(path))


@pause_collector()
def parse_problem(text: str, domain: DomainModel, source: str = "<string>") -> Problem:
    """Parse the problem for `domain` in `text`; `source` names it in messages. Names become lower-case.

    With `(:metric minimize (total-cost))`, a plan costs the sum of its actions, without a metric its length.
    Constraints and preferences are those of PDDL 3; the metric gives the worth of a preference, by default 0.

    Raises `PddlError` for mistakes, `UnsupportedError` for what is beyond the ADL level.
    """
    definition = read_definition(Source(text, source), "problem", SECTIONS, WITHOUT_MEANING)
    if not definition.all(":goal"):
        hint = "add '(:goal (and …))'"
        raise definition.source.error("the problem has no goal", definition.tree, len(definition.tree), hint)
    return build_problem(definition, domain)[0]


def build_problem(definition: Definition, domain: DomainModel, *, same_name: bool = True) -> tuple[Problem, Vocabulary]:
    """Build the problem from the sections of `definition`; return it and the vocabulary of its conditions.

    Sections of other kinds are ignored; without a goal section, the goal is true. Where `same_name`, the problem must
    name `domain`.
    """
    _check_domain(definition, domain, same_name=same_name)
    types = Types(definition.source, domain.types)
    constants = {constant.name: constant for constant in domain.constants}
    objects = _read_objects(definition, types, constants)
    if domain.unfinished.undeclared:
        domain = with_constants(domain, types, {**constants, **objects})
        constants = {constant.name: constant for constant in domain.constants}
        objects = {name: item for name, item in objects.items() if name not in constants}
    words = Vocabulary(definition.source, types, dict(domain.predicates), constants | objects, dict(domain.functions))
    initial, values, unmentioned = read_initial(definition.all(":init"), words, domain.derived)
    weights = read_metric(definition)
    goal, constraints = _read_demands(definition, words, weights, domain.unfinished)
    domain = domain if weights.costs else drop_action_costs(domain)
    if domain.unfinished.is_any:
        domain = replace(with_counted_preferences(domain, weights.worth, words), unfinished=Unfinished())
    if domain.spelling is not None and not definition.source.text.islower():
        domain = replace(domain, spelling=domain.spelling.extend(definition.source.text))
    stated = Problem(definition.name, domain, tuple(objects.values()), initial, goal, values, weights.metric)
    stated = replace(stated, unmentioned=unmentioned) if unmentioned else stated
    return seal(replace(stated, constraints=constraints) if constraints else stated), words


def _check_domain(definition: Definition, domain: DomainModel, *, same_name: bool) -> None:
    section = definition.one(":domain")
    match section:
        case [_, str(name)]:
            if name == domain.name.lower() or not same_name:
                return
            hint = "give the domain and the problem that belong together"
            message = f"this problem is for the domain {quote(name)}, not for {quote(domain.name)}"
            raise definition.source.error(message, section, 1, hint)
        case None:
            message, tree = "the problem does not name its domain", definition.tree
        case _:
            message, tree = f"found {quote(section)}, expected '(:domain {domain.name})'", section
    raise definition.source.error(message, tree, None, f"add '(:domain {domain.name})'")


def _read_objects(definition: Definition, types: Types, constants: dict[str, Object]) -> dict[str, Object]:
    """Read the objects, except those that are constants already."""
    found: dict[str, Object] = {}
    for section in definition.all(":objects"):
        for name, item in read_objects(section, types, found).items():
            if name not in constants:
                found[name] = item
            elif not set(item.types) <= types.above(constants[name].types):
                kinds = " ".join(constants[name].types)
                message = f"the object {quote(name)} is a constant of the domain, of type {quote(kinds)}"
                raise types.source.error(message, section, section.index(name), "give it that type, or another name")
    return found


def _read_demands(
    definition: Definition, words: Vocabulary, weights: Weights, unfinished: Unfinished
) -> tuple[Goal, tuple[Constraint, ...]]:
    """Read the hard and soft goals and constraints; soft ones have the worth that the metric gives them."""
    templates = [*_read_goal(definition, words), *unfinished.constraints]
    for section in definition.all(":constraints"):
        templates += read_constraints(section, words)
    in_preconditions = [each for found in unfinished.preferences.values() for each in found]
    known = {each.preference for each in (*templates, *in_preconditions) if each.preference}
    stated = list(instantiate(templates, words))
    for name in weights.worth:
        if name not in known:
            message = f"the metric speaks of the preference {quote(name)}, and there is none"
            raise definition.source.error(message, definition.all(":metric")[0], None, suggest_nearest(name, known))
    hard = [each.wanted for each in stated if not each.preference]
    soft = [(each.wanted, weights.worth.get(each.preference, 0)) for each in stated if each.preference]
    goals = [each for each in hard if not isinstance(each, Constraint)]
    wishes = tuple([SoftGoal(each, worth) for each, worth in soft if worth and not isinstance(each, Constraint)])
    ways = [each for each in hard if isinstance(each, Constraint)]
    ways += [replace(each, utility=worth) for each, worth in soft if worth and isinstance(each, Constraint)]
    return Goal(goals[0] if len(goals) == 1 else And(tuple(goals)), wishes), tuple(ways)


def _read_goal(definition: Definition, words: Vocabulary) -> Iterable[Stated]:
    section = definition.one(":goal")
    if section is None:
        return ()
    condition = subtree(definition.source, section, 1, "a condition")
    check_length(definition.source, section, 2, "the goal")
    if has_preferences(condition, words):
        return read_goal(condition, words)
    return (Stated(read_condition(condition, words, {})),)


def drop_action_costs(domain: DomainModel) -> DomainModel:
    """Make the actions of `domain` free, for a metric without the total cost."""
    return replace(domain, actions={name: replace(each, cost=()) for name, each in domain.actions.items()})
