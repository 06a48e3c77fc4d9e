"""Names of objects, and the terms that stand for them in atoms.

Any text is the name of an object. Its *term* is the name itself where no sign of the notation is in it, and otherwise
the name in quotes, as JSON writes a string: the term of `o 7` is `"o 7"`. Models, plans and journals hold terms; each
name has one term, so that equal terms are equal names. Of two objects with one name, the later one has its type before
the quotes: `customer:"x"`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache, lru_cache

from planner.lightweight import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    import re

NAME: Final = r"[^\s(),;?!='\"\[\]{}|\ud800-\udfff]+"
"""A name without quotes: no space, and no sign that the notation itself uses."""
_PLAIN: Final = rf"{NAME}\Z"
_QUOTED: Final = rf'(?:({NAME}):)?("(?:[^"\\]|\\.)*")'
_STANDS_ALONE: Final = rf"(?<![^\s(,=<>]){_QUOTED}(?![^\s),=!<>])"


class Terms(Protocol):
    """Tells which terms stand for objects."""

    def __contains__(self, term: str, /) -> bool: ...


def is_name(text: object) -> bool:
    """Return whether `text` is a name that needs no quotes."""
    return isinstance(text, str) and text not in ("_", "-") and _compile(_PLAIN).match(text) is not None


@lru_cache(maxsize=16384)
def term_of(name: str) -> str:
    """Return the term of the object called `name`."""
    return name if is_name(name) else _quote(name)


def qualified_term(name: str, kind: str) -> str:
    """Return the term of an object of the type `kind` whose `name` another object has, too."""
    return f"{kind}:{_quote(name)}"


@lru_cache(maxsize=16384)
def object_name(term: str) -> str:
    """Return the name of the object that `term` stands for; any text that is no term in quotes stays."""
    quoted = _compile(_QUOTED).fullmatch(term) if term.endswith('"') else None
    name = None if quoted is None else _unquote(quoted[2])
    return term if name is None else name


def term_type(term: str) -> str | None:
    """Return the type that `term` has before its quotes; None where it has none."""
    quoted = _compile(_QUOTED).fullmatch(term) if term.endswith('"') else None
    return None if quoted is None else quoted[1]


def read_term(text: str) -> str:
    """Return the term that `text` is, or else the term of the object with this name."""
    quoted = _compile(_QUOTED).fullmatch(text) if text.endswith('"') else None
    name = None if quoted is None else _unquote(quoted[2])
    if quoted is None or name is None:
        return term_of(text)
    return term_of(name) if quoted[1] is None else qualified_term(name, quoted[1])


def written_name(term: str) -> str:
    """Return the name of an object; its `term` where `read_term` reads the name otherwise."""
    name = object_name(term)
    return name if read_term(name) == term else term


def find_term(text: str, known: Terms, types: Iterable[str] = ()) -> str:
    """Return the term among `known` that `text` is or names in a place of `types`; `text` where there is none."""
    name = object_name(text)
    own = [qualified_term(name, each) for each in types]
    return next((each for each in (*own, text, read_term(text)) if each in known), text)


def protect_quoted(text: str) -> tuple[str, dict[str, str]]:
    """Replace the terms in quotes by names without quotes, and return what they stand for."""
    mark = next(chr(code) for code in range(0xE000, 0xF8FF) if chr(code) not in text)
    terms: dict[str, str] = {}

    def stand_in(quoted: re.Match[str]) -> str:
        if _unquote(quoted[2]) is None:
            return quoted[0]
        name = f"{mark}{len(terms)}{mark}"
        terms[name] = read_term(quoted[0])
        return name

    return _compile(_STANDS_ALONE).sub(stand_in, text), terms


def restore_quoted(text: str, terms: Mapping[str, str]) -> str:
    """Put the `terms` that `protect_quoted` took out of `text` back, also where `repr` has shown their stand-ins."""
    for name, term in terms.items():
        text = text.replace(name, term).replace(ascii(name)[1:-1], term)
    return text


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    import re  # imported here: reading and grounding PDDL do without it, and it takes long to import

    return re.compile(pattern, re.DOTALL)


def _quote(name: str) -> str:
    import json

    written = json.dumps(name, ensure_ascii=False)
    return "".join([each if each.isprintable() else json.dumps(each)[1:-1] for each in written])


def _unquote(quoted: str) -> str | None:
    """Return the name in quotes; None where the text is no string of JSON."""
    import json

    try:
        return str(json.loads(quoted, strict=False))
    except ValueError:
        return None
