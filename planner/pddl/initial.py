"""Initial states: by far the longest part of most files, so facts are checked by the column, not one by one."""

from __future__ import annotations

import itertools

from planner.model import Atom, Number, Variable
from planner.pddl import refused
from planner.pddl.conditions import is_number
from planner.pddl.effects import TOTAL_COST, read_number
from planner.pddl.refused import unsupported
from planner.pddl.trees import Tree, nearest, quote
from planner.pddl.vocabulary import Vocabulary


def read_initial(
    sections: list[Tree], words: Vocabulary, derived: frozenset[str]
) -> tuple[tuple[Atom, ...], dict[Atom, Number], tuple[Atom, ...]]:
    """Return the facts of the `:init` sections, each once and in their order, and the values of the functions.

    The last are facts and functions of which the domain knows nothing, unless a name near theirs is declared.

    `(not …)` says what is so anyway, unless the fact is stated as well: that is an error.
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
        """Take what `section` states; its facts are left in their order for `facts`."""
        by_predicate = self._by_predicate
        for index in range(1, len(section)):
            entry = section[index]
            try:
                rows = by_predicate[entry[0]]
            except (KeyError, TypeError, IndexError):
                rows = None
            if rows is None or entry.__class__ is str:
                self._other(section, index)
            else:
                rows.append(entry)

    def facts(self, sections: list[Tree]) -> tuple[Atom, ...]:
        """Check the facts that were read and return them."""
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
        """Raise where one of `rows`, all of predicate `name`, has arguments that do not fit."""
        parameters = self._words.predicates[name].parameters
        if name in self._derived:
            message = f"the derived predicate {quote(name)} is in the initial state"
            raise self._words.source.error(message, rows[0], None, "state what it is derived from")
        try:
            columns = list(zip(*rows, strict=True))[1:]
            if len(columns) == len(parameters) and all(map(self._fits, columns, parameters)):
                return
        except (TypeError, ValueError):
            pass
        for row in rows:
            self._refuse(row)
            self._words.atom(row, {})

    def _fits(self, column: tuple[str, ...], parameter: Variable) -> bool:
        return self._words.extent(parameter.types).issuperset(column)

    def _other(self, section: Tree, index: int) -> None:
        """Take an entry that is no atom of a declared predicate, or raise."""
        source, entry = self._words.source, section[index]
        if not isinstance(entry, list) or not entry or not isinstance(entry[0], str):
            hint = f"write '({entry})'" if isinstance(entry, str) else "write facts side by side, such as '(ready a)'"
            raise source.error(f"found {quote(entry)}, expected a fact", section, index, hint)
        match entry:
            case ["=", *_]:
                self._value(entry)
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
        """Return whether nothing in the domain is called `name`, or nearly so, and the entry can be a fact."""
        if name[0] in "?:" or is_number(name) or name in refused.INITIAL or name in ("at", "and", "=", TOTAL_COST):
            return False
        known = [*self._words.predicates, *self._words.functions]
        return name not in known and all(isinstance(each, str) for each in args) and not nearest(name, known)

    def _take_unmentioned(self, tree: Tree) -> None:
        """Keep the fact `tree`, of which the domain knows nothing; raise where it has a variable."""
        for index, term in enumerate(tree):
            if term[0] == "?":
                message = f"the variable {quote(term)} is not bound"
                raise self._words.source.error(message, tree, index, "name an object")
        self.unmentioned.append(Atom(tree[0], tuple(tree[1:])))

    def _refuse(self, entry: Tree) -> None:
        """Raise where `entry` is a construct beyond the ADL level."""
        match entry:
            case ["at", str(time), [*_]] if is_number(time):
                raise unsupported(self._words.source, refused.TIMED_FACT, entry)
            case [str(word), *_, [*_]] if word in refused.INITIAL:
                raise unsupported(self._words.source, refused.INITIAL[word], entry)

    def _value(self, entry: Tree) -> None:
        """Take `(= (function object…) number)`."""
        source = self._words.source
        if len(entry) != 3:
            message = f"found {quote(entry)}, expected a value such as '(= (distance a b) 3)'"
            raise source.error(message, entry)
        term = entry[1] if isinstance(entry[1], list) else [entry[1]]
        if (
            term
            and all(isinstance(each, str) for each in (term[0], entry[2]))
            and self._is_unmentioned(term[0], term[1:])
        ):
            self._take_unmentioned(term)
            return
        value = read_number(source, entry, 2)
        if entry[1] in ([TOTAL_COST], TOTAL_COST):
            return
        atom = self._function_term(entry)
        if self.values.setdefault(atom, value) != value:
            message = f"{quote(entry[1])} has a second value; the first is {self.values[atom]}"
            raise source.error(message, entry, None, "remove one")

    def _function_term(self, entry: Tree) -> Atom:
        """Return the term whose value `entry` states; parentheses may be missing where it has no arguments."""
        if isinstance(entry[1], list):
            return self._words.function_term(entry[1], {})
        function = self._words.functions.get(entry[1])
        if function is None or function.parameters:
            hint = nearest(entry[1], self._words.functions)
            raise self._words.source.error(f"found {quote(entry[1])}, expected a function", entry, 1, hint)
        return Atom(entry[1])
