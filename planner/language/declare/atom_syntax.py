"""Parse the text of atoms: `name(arg, …)`, `name`, `not atom`, `a == b`, `a != b`. Names are not resolved here.

A name is any run of characters without spaces and without the signs that the notation itself uses; the names of objects
may be any texts, in quotes: `pending("o 7")`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache, wraps
from typing import Any, Final, TypeVar

from planner.model import Arithmetic, Atom, Equals, Formula, Not, NumericEffect
from planner.model.formulas import OPEN, is_variable, substitute, substitute_expression
from planner.model.object_names import NAME, is_name, protect_quoted, read_term, restore_quoted

_TERM: Final = rf"\??{NAME}"
_ATOM: Final = re.compile(rf"\s*({NAME})\s*(?:\(\s*({_TERM}(?:\s*,\s*{_TERM})*)?\s*\)\s*)?\Z")
EQUALITY: Final = re.compile(rf"\s*({_TERM})\s*(==|!=)\s*({_TERM})\s*\Z")
SINGLE_SIGN: Final = re.compile(rf"\s*{_TERM}\s*=\s*{_TERM}\s*\Z")
"""An equality with one sign too few."""
_NEGATION: Final = re.compile(r"\s*not\s+(?=\S)")
_SHOWN: Final = 60
_EXAMINED: Final = 2000
"""Most characters of a text that diagnoses examine."""


class NotationError(ValueError):
    """A text is no atom; `problem` says why, and `hint` how to mend it."""

    def __init__(self, problem: str, hint: str | None = None) -> None:
        super().__init__(problem, hint)
        self.problem = problem
        self.hint = hint


def read_terms(fact: Atom) -> Atom:
    """Return `fact` with the term of each object that it names, if names stand there that need quotes."""
    if all(map(_is_term, fact.args)):
        return fact
    return fact.substitute({arg: read_term(arg) for arg in fact.args if not _is_term(arg)})


def _is_term(arg: str) -> bool:
    return is_name(arg) or arg == OPEN or is_variable(arg) or read_term(arg) == arg


KEYWORDS: Final = frozenset({"and", "or", "not", "imply", "forall", "exists", "<", ">"})
"""Words of PDDL expressions, in any case: nothing else has such a name, or the two could not be told apart."""


def is_atom_name(text: object) -> bool:
    """Return whether `text` may name a predicate, function or action, which stand before parentheses."""
    return isinstance(text, str) and _is_atom_name(text)


@lru_cache(maxsize=16384)
def _is_atom_name(text: str) -> bool:
    return is_name(text) and text.lower() not in KEYWORDS


def explain_bad_name(text: object, what: str) -> tuple[str, str]:
    """Return the message that `text` cannot be the name of `what`, and the rule that it breaks."""
    if isinstance(text, str) and text.lower() in KEYWORDS:
        rule = "PDDL expressions begin with this word, so that nothing else may"
    elif text in ("_", "-"):
        rule = "this sign has a meaning of its own"
    else:
        rule = "a name has no spaces, commas, quotes or brackets, and none of ; ? ! = |"
    return f"{abbreviate(text)} cannot name {what}", rule


Parsed = TypeVar("Parsed")


def reading_quoted(parse: Callable[[str], Parsed]) -> Callable[[str], Parsed]:
    """Let `parse` read texts with names in quotes: it sees stand-ins, and gets the terms back in what it returns."""

    @wraps(parse)
    def read(text: str) -> Parsed:
        if '"' not in text:
            return parse(text)
        plain, terms = protect_quoted(text)
        try:
            found = parse(plain)
        except NotationError as mistake:
            shown = [None if each is None else restore_quoted(each, terms) for each in (mistake.problem, mistake.hint)]
            raise NotationError(str(shown[0]), shown[1]) from None
        restored: Parsed = _restore_terms(found, terms)
        if any(name in str(restored) for name in terms):
            raise NotationError(f"{abbreviate(text)} has quotes where no object stands", _IN_QUOTES)
        return restored

    return read


def _restore_terms(found: Any, terms: Mapping[str, str]) -> Any:
    """Return what was parsed with the terms that the names in it stand for."""
    if isinstance(found, NumericEffect):
        return NumericEffect(found.fluent.substitute(terms), found.operator, substitute_expression(found.value, terms))
    if isinstance(found, Formula):
        return substitute(found, terms)
    return substitute_expression(found, terms) if isinstance(found, Arithmetic) else found


@reading_quoted
def parse_atom(text: str) -> Atom:
    """Parse the atom `text`; its terms stay as written. Raises `NotationError`."""
    match = _ATOM.match(text)
    if match is None or match[1] == "_" or match[1].lower() in KEYWORDS:
        raise _diagnose(text)
    inside = match[2]
    if inside is None:
        return Atom(match[1])
    if "," not in inside:
        return Atom(match[1], (inside.rstrip(),))
    return Atom(match[1], tuple([term.strip() for term in inside.split(",")]))


@reading_quoted
@lru_cache(maxsize=16384)
def parse_literal(text: str) -> Atom | Equals | Not:
    """Parse the atom, equality or negation `text`; raises `NotationError`."""
    negated = _NEGATION.match(text)
    body = text[negated.end() :] if negated else text
    equality = EQUALITY.match(body) if "=" in body else None
    part: Atom | Equals | Not
    if equality is None:
        part = parse_atom(body)
    else:
        same = Equals(equality[1], equality[3])
        part = same if equality[2] == "==" else Not(same)
    return Not(part) if negated else part


def abbreviate(text: object) -> str:
    """Shorten a text, in quotes, or any other value for a message."""
    what = text if isinstance(text, str) else repr(text)
    cut = what if len(what) <= _SHOWN else what[: _SHOWN - 1] + "…"
    return repr(cut) if isinstance(text, str) else cut


_MIXED: Final = r"\)\s*(and|or|&&?|\|\|?|,|->|implies)\s|^\S+\s+(and|or|&&?|\|\|?)\s"
_IN_QUOTES: Final = 'a name in quotes stands alone, as in pending("o 7"), with \\" and \\\\ for the signs themselves'
_QUOTED: Final = 'write all of it as one text, "at(r2, hall)", in YAML with its quotes: commas end items of lists'
_DIAGNOSES: Final[tuple[tuple[str, str, str | None], ...]] = (
    (r'"', "has a quote without its pair", _IN_QUOTES),
    (r"^_$", "is no atom", "'_' leaves an argument open, as in at(robot, _)"),
    (r"^(?i:and|or|imply|forall|exists)\b", "begins like a PDDL expression", "write '(and …)', in parentheses"),
    (r"^(?i:not)\b", "is no negated atom", "write 'not name(arg, …)', or '(not (name arg))'"),
    (r"^[^(),]*\([^(),]*$", "lacks a ')'", _QUOTED),
    (r"^[^()]*\([^()]*$", "lacks a ')'", None),
    (r"^[^(),]*\)$", "has a ')' too many", _QUOTED),
    (r"^[^()]*\)|^[^()]*\([^()]*\)[^()]*\)", "has a ')' too many", None),
    (r"^[^()]*,", "is more than one atom", "write a list of atoms"),
    (_MIXED, "is more than one atom", "write a list of atoms, or a PDDL expression '(or …)'"),
    (r"[^=!]=[^=]", "is no atom", "equality is written a == b"),
    (r"\(.*\(", "has parentheses inside an atom", "arguments are names, '_' or parameters"),
    (r",\s*[,)]|\(\s*,", "lacks an argument at a comma", None),
    (r"\([^()]*[^\s,(]\s+[^\s,()]", "is no atom", "commas separate arguments, and quotes enclose names with spaces"),
)
"""Likely mistakes in a text: a pattern, the complaint, and how to mend it; the first match counts."""


def _diagnose(text: str) -> NotationError:
    stripped = text.strip()
    if not stripped:
        return NotationError("an empty text is no atom")
    beginning = stripped[:_EXAMINED]
    for sign, complaint, hint in _DIAGNOSES:
        if re.search(sign, beginning):
            return NotationError(f"{abbreviate(stripped)} {complaint}", hint)
    return NotationError(f"{abbreviate(stripped)} is no atom", "an atom is written name(arg, …) or name")
