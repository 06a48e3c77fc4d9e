"""Read problem files: objects, initial states and goals, and complete the domain with them.

Initial states are by far the longest part of most files, so the reader checks facts by column.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Mapping

from planner.errors import PddlError, UnsupportedError
from planner.garbage_collection import pause_collector
from planner.language.pddl import syntax
from planner.language.pddl.pddl_actions import read_objects
from planner.language.pddl.pddl_conditions import (
    check_length,
    has_preferences,
    instantiate,
    read_condition,
    read_constraints,
    read_goal,
    subtree,
)
from planner.language.pddl.pddl_costs import TOTAL_AS_FUNCTION, Pricing, count_total
from planner.language.pddl.pddl_domains import read_domain
from planner.language.pddl.pddl_durations import is_timed, read_timed
from planner.language.pddl.pddl_metrics import Weights, read_metric
from planner.language.pddl.pddl_numbers import read_exact, read_expression
from planner.language.pddl.pddl_vocabulary import NumberUses, Types, Vocabulary, describe_wrong_type
from planner.language.pddl.sections import Definition, choose_free_name, read_definition, read_number
from planner.language.pddl.syntax import (
    TOTAL_COST,
    Source,
    Tree,
    is_number,
    quote,
    read_text,
    refuse_construct,
    suggest_nearest,
    warn,
    warn_at,
)
from planner.lightweight import Final, replace
from planner.model.actions import Action, Constraint, Stated
from planner.model.arithmetic import as_number, evaluate
from planner.model.domain import DomainModel, Unfinished, has_numbers
from planner.model.formulas import And, Arithmetic, Atom, Formula, Not, Number, Object, conjunction, functions_in
from planner.model.problem import Goal, Problem, SoftGoal, seal
from planner.model.timing import TimedEffect

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


Initial = tuple[tuple[Atom, ...], dict[Atom, Number], tuple[Atom, ...], tuple[TimedEffect, ...]]
"""The facts of an initial state, the values of functions, facts whose predicates the domain does not have, and changes
at known times."""


def read_initial(sections: list[Tree], words: Vocabulary, derived: frozenset[str]) -> Initial:
    """Read the `:init` sections: their facts, each once and in order, and the values of functions.

    Facts are unmentioned only if the domain has no similar names. `(not …)` changes nothing, but is an error where the
    fact is stated as well. Values that no cost may have add errors to the `bad_costs` of `words`.
    """
    reader = _Reader(words, derived)
    for section in sections:
        reader.read(section)
    return reader.facts(sections), reader.values, tuple(reader.unmentioned), tuple(reader.timed)


class _Reader:
    """Sorts entries into facts by predicate, values, and negated facts."""

    def __init__(self, words: Vocabulary, derived: frozenset[str]) -> None:
        self.values: dict[Atom, Number] = {}
        self.unmentioned: list[Atom] = []
        self.timed: list[TimedEffect] = []
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
        if "at" in self._by_predicate:
            self._by_predicate["at"] = [row for row in self._by_predicate["at"] if not self._read_timed(row)]
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

    def _read_timed(self, entry: Tree) -> bool:
        """Read `entry` if it is a timed initial literal; return whether it is one."""
        if not is_timed(entry):
            return False
        self.timed.append(read_timed(entry, self._words, self._derived))
        self._no_facts.add(id(entry))
        return True

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
            case ["at", *_] if self._read_timed(entry):
                pass
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
        if isinstance(entry[1], str) and is_number(entry[1]):
            message = f"found {quote(entry[1])}, expected a function with its arguments"
            hint = f"write '(= (f) {entry[1]})'"
            raise source.error(message, entry, 1, hint)
        value = self._read_number(entry)
        atom = self._read_function_term(entry)
        if self.values.get(atom, value) != value:
            message = (
                f"{quote(entry[1])} has a second value; this one counts, and the first, {self.values[atom]}, does not"
            )
            warn(source, entry, None, message)
        self.values[atom] = value

    def _read_number(self, entry: Tree) -> Number:
        """Read the value in `entry`: a number, or arithmetic on numbers such as `(- 5)`."""
        words = self._words
        if isinstance(entry[2], list):
            expression = read_expression(entry, 2, words, {})
            value = None if any(functions_in(expression)) else evaluate(expression, lambda _: None, {})
            number = None if value is None else as_number(value)
            if number is None:
                raise words.source.error(f"found {quote(entry[2])}, expected a number", entry, 2)
            return number
        if not words.numbers.bad_costs:
            try:
                return read_number(words.source, entry, 2)
            except PddlError as error:
                words.numbers.bad_costs.append(error)
        return read_exact(words.source, entry, 2)

    def _read_function_term(self, entry: Tree) -> Atom:
        """Read the term whose value `entry` states; a term without arguments may lack its parentheses."""
        if isinstance(entry[1], list):
            return self._words.function_term(entry[1], {})
        if entry[1] == TOTAL_COST:
            return Atom(self._words.numbers.total)
        function = self._words.functions.get(entry[1])
        if function is None or function.parameters:
            hint = suggest_nearest(entry[1], self._words.functions)
            raise self._words.source.error(f"found {quote(entry[1])}, expected a function", entry, 1, hint)
        return Atom(entry[1])


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
    With another metric, it costs what its actions add to the metric; functions that nothing else reads become costs.
    Constraints and preferences are those of PDDL 3; the metric gives the worth of a preference, by default 0.

    Raises `PddlError` for mistakes, `UnsupportedError` for what is beyond PDDL 2.1, level 3.
    """
    definition = read_definition(Source(text, source), "problem", SECTIONS, WITHOUT_MEANING)
    if not definition.all(":goal"):
        hint = "add '(:goal (and …))'"
        raise definition.source.error("the problem has no goal", definition.tree, len(definition.tree), hint)
    return build_problem(definition, domain)[0]


def build_problem(definition: Definition, domain: DomainModel, *, same_name: bool = True) -> tuple[Problem, Vocabulary]:
    """Build the problem from the sections of `definition`; return it and the vocabulary of its conditions.

    Sections of other kinds are ignored; without a goal section, the goal is true. Where `same_name`, the problem must
    name `domain`; a name that has other hyphens gets a warning.
    """
    _check_domain(definition, domain, same_name=same_name)
    types = Types(definition.source, domain.types)
    constants = {constant.name: constant for constant in domain.constants}
    objects = _read_objects(definition, types, constants)
    if domain.unfinished.undeclared:
        domain = with_constants(domain, types, {**constants, **objects})
        constants = {constant.name: constant for constant in domain.constants}
        objects = {name: item for name, item in objects.items() if name not in constants}
    words = Vocabulary(
        definition.source,
        types,
        dict(domain.predicates),
        constants | objects,
        dict(domain.functions),
        numbers=NumberUses(TOTAL_AS_FUNCTION),
    )
    initial, values, unmentioned, timed = read_initial(definition.all(":init"), words, domain.derived)
    demands = _read_demands(definition, words, domain.unfinished)
    domain = _settle_costs(domain, words, values)
    weights = read_metric(definition, Pricing(domain, words, values, frozenset(words.numbers.reads)))
    goal, constraints = _weigh_demands(definition, demands, weights, domain.unfinished)
    domain = weights.domain
    values = {term: value for term, value in values.items() if term not in weights.gone}
    if domain.unfinished.is_any:
        domain = replace(with_counted_preferences(domain, weights.worth, words), unfinished=Unfinished())
    if domain.spelling is not None and not definition.source.text.islower():
        domain = replace(domain, spelling=domain.spelling.extend(definition.source.text))
    stated = Problem(definition.name, domain, tuple(objects.values()), initial, goal, values, weights.metric)
    stated = replace(stated, unmentioned=unmentioned) if unmentioned else stated
    stated = replace(stated, timed=tuple(sorted(timed, key=lambda each: each.time))) if timed else stated
    return seal(replace(stated, constraints=constraints) if constraints else stated), words


def _settle_costs(domain: DomainModel, words: Vocabulary, values: dict[Atom, Number]) -> DomainModel:
    """Return `domain` with a function for `total-cost` where its increases are no costs, or the problem reads it.

    Without such a function, `values` loses its value. Raises the `PddlError` of a value that no cost may have, if there
    are no other numbers.
    """
    numbers = words.numbers
    total = Atom(numbers.total)
    is_sound = not numbers.bad_costs
    if numbers.bad_costs and not (has_numbers(domain) or numbers.reads):
        raise numbers.bad_costs[0]
    if not is_sound or any(isinstance(term, Arithmetic) for each in domain.actions.values() for term in each.cost):
        is_sound = Pricing(domain, words, values, frozenset()).has_sound_costs()
    if total.predicate not in domain.functions and (total.predicate in numbers.reads or not is_sound):
        domain = count_total(domain, keep=is_sound)
        words.functions |= domain.functions
    if total.predicate not in domain.functions:
        values.pop(total, None)
    return domain


def _check_domain(definition: Definition, domain: DomainModel, *, same_name: bool) -> None:
    section = definition.one(":domain")
    match section:
        case [_, str(name)]:
            known = domain.name.lower()
            if name == known:
                return
            if name.replace("_", "-") == known.replace("_", "-"):
                warn(definition.source, section, 1, f"the domain {quote(name)} is taken to be {quote(domain.name)}")
                return
            if not same_name:
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


def _read_demands(definition: Definition, words: Vocabulary, unfinished: Unfinished) -> list[Stated]:
    """Read the hard and soft goals and constraints."""
    templates = [*_read_goal(definition, words), *unfinished.constraints]
    for section in definition.all(":constraints"):
        templates += read_constraints(section, words)
    return list(instantiate(templates, words))


def _weigh_demands(
    definition: Definition, stated: list[Stated], weights: Weights, unfinished: Unfinished
) -> tuple[Goal, tuple[Constraint, ...]]:
    """Sort what is `stated` into goals and constraints; soft ones have the worth that the metric gives them."""
    in_preconditions = [each for found in unfinished.preferences.values() for each in found]
    known = {each.preference for each in (*stated, *in_preconditions) if each.preference}
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
