"""Parse the text of atoms: `name(arg, …)`, `name`, `not atom`, `a == b`, `a != b`. Names are not resolved here.

A name is any run of characters without spaces and without the signs that the notation itself uses.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from planner.model import Atom, Equals, Not

_NAME: Final = r"[^\s(),;?!='\"\[\]{}|\ud800-\udfff]+"
_TERM: Final = rf"\??{_NAME}"
_ATOM: Final = re.compile(rf"\s*({_NAME})\s*(?:\(\s*({_TERM}(?:\s*,\s*{_TERM})*)?\s*\)\s*)?\Z")
EQUALITY: Final = re.compile(rf"\s*({_TERM})\s*(==|!=)\s*({_TERM})\s*\Z")
SINGLE_SIGN: Final = re.compile(rf"\s*{_TERM}\s*=\s*{_TERM}\s*\Z")
"""An equality with one sign too few."""
_NEGATION: Final = re.compile(r"\s*not\s+(?=\S)")
_WHOLE_NAME: Final = re.compile(rf"{_NAME}\Z")
_SHOWN: Final = 60
_EXAMINED: Final = 2000
"""Most characters of a text that diagnoses examine."""


class NotationError(ValueError):
    """A text is no atom; `problem` says why, and `hint` how to mend it."""

    def __init__(self, problem: str, hint: str | None = None) -> None:
        super().__init__(problem, hint)
        self.problem = problem
        self.hint = hint


KEYWORDS: Final = frozenset({"and", "or", "not", "imply", "forall", "exists", "<", ">"})
"""Words of PDDL expressions, in any case: nothing else has such a name, or the two could not be told apart."""


def is_name(text: object) -> bool:
    """Return whether `text` may name something."""
    return isinstance(text, str) and text not in ("_", "-") and _WHOLE_NAME.match(text) is not None


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
_QUOTED: Final = 'write all of it as one text, "at(r2, hall)", in YAML with its quotes: commas end items of lists'
_DIAGNOSES: Final[tuple[tuple[str, str, str | None], ...]] = (
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
    (r"\([^()]*[^\s,(]\s+[^\s,()]", "is no atom", "arguments are separated by commas"),
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
