"""Find the word that an error is about, so that every command tells the same column for the same mistake.

Readers know where an item begins, such as "at(robt, _)" in its quotes or a form of PDDL; the message names the word in
it that is wrong. A place is that of the first character of the word, where it stands in the line of the item.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from planner.errors import Location
from planner.lightweight import Final

_ALIKE: Final = 0.75
"""Least likeness, from 0 to 1, of a name and the known one that is written for it."""
_SUGGESTED: Final = re.compile(r"did you mean '([^']+)'\?")
_KIND: Final = re.compile(r"\bunknown \w+ '([^'\n]+)'")
_QUOTED: Final = re.compile(r"'([^'\n]*\w[^'\n]*)'")


def word_pattern(word: str) -> str:
    """Return the expression that finds `word`, as a name of its own or a parameter with its mark."""
    return rf"(?<![\w-])\??{re.escape(word.removeprefix('?'))}(?![\w-])"


def suggested_word(message: str, hint: str | None) -> tuple[str, str] | None:
    """Return the name that an error takes for misspelt, and what its hint suggests in its place."""
    import difflib

    suggested = _SUGGESTED.match(hint or "")
    if suggested is None or "(" in suggested[1]:
        return None
    token = r":?[\w-]+" if suggested[1].startswith(":") else r"[\w-]+"
    words = [each for each in re.findall(token, message) if each != suggested[1]]
    near = difflib.get_close_matches(suggested[1], words, n=1, cutoff=_ALIKE)
    return (near[0], suggested[1]) if near else None


def wrong_words(message: str, hint: str | None) -> Iterator[str]:
    """Yield the words that an error may be about, the likeliest first."""
    pair = suggested_word(message, hint)
    if pair is not None:
        yield pair[0]
    yield from _KIND.findall(message)
    yield from _QUOTED.findall(message)


def find_wrong_word(text: str, start: int, end: int, message: str, hint: str | None) -> tuple[int, int] | None:
    """Return where the word that an error is about stands between two offsets; None where it does not stand there."""
    for word in wrong_words(message, hint):
        found = re.compile(word_pattern(word), re.IGNORECASE).search(text, start, end)
        if found:
            return found.span()
    return None


def point_at_word(location: Location, text: str, message: str, hint: str | None) -> Location:
    """Return the place of the wrong word in the line of `text` that `location` is in, else `location`."""
    if location.line is None or location.column is None:
        return location
    lines = re.split(r"\r\n|\r|\n", text)
    if location.line > len(lines):
        return location
    line = lines[location.line - 1]
    found = find_wrong_word(line, location.column - 1, len(line), message, hint)
    return location if found is None else Location(location.source, location.line, found[0] + 1)
