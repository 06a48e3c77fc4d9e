"""Initial states: by far the longest part of most files, so facts are checked by the column, not one by one."""

from __future__ import annotations

import itertools

from planner.model import Atom, Number, Variable
from planner.pddl import refused
from planner.pddl.conditions import NUMBER
from planner.pddl.effects import TOTAL_COST, read_number
from planner.pddl.refused import unsupported
from planner.pddl.trees import Tree, nearest, quote
from planner.pddl.vocabulary import Vocabulary


def read_initial(
    sections: list[Tree], words: Vocabulary, derived: frozenset[str]
) -> tuple[tuple[Atom, ...], dict[Atom, Number]]:
    """Return the facts of the `:init` sections, each once and in their order, and the values of the functions.

    `(not …)` says what is so anyway, unless the fact is stated as well: that is an error.
    """
    reader = _Reader(words, derived)
    for section in sections:
        reader.read(section)
    return reader.facts(sections), reader.values


class _Reader:
    """Sorts entries into facts by predicate, values, and negated facts."""

    def __init__(self, words: Vocabulary, derived: frozenset[str]) -> None:
        self.values: dict[Atom, Number] = {}
        self._words = words
        self._derived = derived
        self._by_predicate: dict[str, list[Tree]] = {name: [] for name in words.predicates}
        self._negated: dict[tuple[str, ...], Tree] = {}

    def read(self, section: Tree) -> None:
        """Take what `section` states; only its facts are left in their order for `facts`."""
        by_predicate = self._by_predicate
        for index in range(1, len(section)):
            entry = section[index]
            try:
                by_predicate[entry[0]].append(entry)
            except (KeyError, TypeError, IndexError):
                self._other(section, index)

    def facts(self, sections: list[Tree]) -> tuple[Atom, ...]:
        """Check the facts that were read and return them."""
        for name, rows in self._by_predicate.items():
            if rows:
                self._check_columns(name, rows)
        entries = itertools.chain.from_iterable(section[1:] for section in sections)
        known = self._by_predicate
        unique = dict.fromkeys([tuple(entry) for entry in entries if entry[0] in known])
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
        return self._words.extent(parameter).issuperset(column)

    def _other(self, section: Tree, index: int) -> None:
        """Take an entry that is no atom of a declared predicate, or raise."""
        source, entry = self._words.source, section[index]
        if not isinstance(entry, list) or not entry or not isinstance(entry[0], str):
            hint = f"write '({entry})'" if isinstance(entry, str) else "write facts side by side, such as '(ready a)'"
            raise source.error(f"found {quote(entry)}, expected a fact", section, index, hint)
        match entry:
            case ["=", *_]:
                self._value(entry)
            case ["not", [str(name), *_] as atom] if name in self._words.arities:
                self._words.atom(atom, {})
                self._negated.setdefault(tuple(atom), atom)
            case _:
                self._refuse(entry)
                self._words.atom(entry[1] if entry[0] == "not" and _is_list(entry, 1) else entry, {})

    def _refuse(self, entry: Tree) -> None:
        """Raise where `entry` is a construct beyond the ADL level."""
        match entry:
            case ["at", str(time), [*_]] if NUMBER.fullmatch(time):
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
        if term == [TOTAL_COST]:
            read_number(source, entry, 2)
            return
        if isinstance(entry[1], str) and term[0] not in self._words.functions:
            hint = nearest(term[0], self._words.functions) or "name a function"
            raise source.error(f"the function {quote(term[0])} is not declared", entry, 1, hint)
        atom, value = self._words.function_term(term, {}), read_number(source, entry, 2)
        if self.values.setdefault(atom, value) != value:
            message = f"{quote(term)} has a second value; the first is {self.values[atom]}"
            raise source.error(message, entry, None, "remove one")


def _is_list(tree: Tree, index: int) -> bool:
    return len(tree) > index and isinstance(tree[index], list)
