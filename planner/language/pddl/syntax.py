"""Parse PDDL text to nested lists of words, and find the line and column of any list.

Parsing is two C-speed passes over the text and one short loop. Words carry no positions: where an error needs one,
`Source` splits the text a second time and counts words. Files may be UTF-8, UTF-16 with a mark, or Latin-1. Errors for
constructs beyond the ADL level name them and tools that support them. Constructs that PDDL forbids and other tools
accept give a warning.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import warnings
from collections.abc import Iterable, Iterator

from planner.errors import InputError, Location, PddlError, UnsupportedError, did_you_mean
from planner.lightweight import Any, Final

Tree = list[Any]
"""A parenthesised list: its items are words (`str`) and further trees."""

MAX_DEPTH: Final = 100
"""Most levels of parentheses; functions that walk formulas may recurse."""

SECTIONS: Final = frozenset(
    {":requirements", ":types", ":constants", ":predicates", ":functions", ":action", ":derived", ":domain"}
    | {":objects", ":init", ":goal", ":metric", ":durative-action", ":constraints", ":axiom"}
    | {":task", ":method", ":htn"}
)
"""Words that start a section at the second level; deeper inside, they show that a parenthesis before them is open."""

_KEYS: Final = frozenset(
    {":parameters", ":precondition", ":effect", ":task", ":condition", ":duration"}
    | {":subtasks", ":tasks", ":ordered-subtasks", ":ordered-tasks", ":ordering"}
)
"""Words that stand at the third level, for the same purpose."""

TOTAL_COST: Final = "total-cost"
"""The function that sums the costs of actions."""
_NUMBER: Final = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?"
_WORD: Final = r"[()]|\?[^\s()?]*|[^\s()?]+"
_COMMENT: Final = r";[^\n\r]*"
_LINE_END: Final = r"\r\n|\r|\n"
_LONGEST_QUOTE: Final = 60
_MANY: Final = 2_000


class Source:
    """A text, its name for messages, and its trees `expressions`.

    Raises `PddlError` where parentheses do not match or nest deeper than `MAX_DEPTH`.
    """

    __slots__ = ("expressions", "name", "text")

    def __init__(self, text: str, name: str, *, keep_case: bool = False) -> None:
        self.text = text
        self.name = name
        words = _split(text if keep_case else text.lower())
        self.expressions: Tree = []
        try:
            _nest(words, self.expressions)
        except _NestingError:
            raise self._nesting_error(words) from None

    def error(self, message: str, tree: Tree, index: int | None = None, hint: str | None = None) -> PddlError:
        """Make an error at the wrong word of `tree`, or at its item `index`.

        The place is that of the item where the word is not in its line; one past the last is the closing parenthesis.
        """
        from planner.language.wrong_words import point_at_word

        place = point_at_word(self.location(tree, index), self._blank_comments(), message, hint)
        return PddlError(message, place, hint)

    def location(self, tree: Tree, index: int | None = None) -> Location:
        """Return the place of `tree`, or of its item `index`."""
        return self._find_place(self._find_number(tree, index))

    def _find_place(self, number: int) -> Location:
        import re

        blank = self._blank_comments()
        words = enumerate(re.finditer(_WORD, blank))
        offset = next((word.start() for count, word in words if count == number), len(blank))
        ends = [end.end() for end in re.compile(_LINE_END).finditer(self.text, 0, offset)]
        return Location(self.name, len(ends) + 1, offset - (ends[-1] if ends else 0) + 1)

    def _blank_comments(self) -> str:
        import re

        return re.sub(_COMMENT, lambda comment: " " * len(comment[0]), self.text)

    def _find_number(self, wanted: Tree, index: int | None) -> int:
        """Return the number of the word that starts `wanted`, or its item `index`."""
        number = 0
        stack: list[tuple[Tree, Iterator[tuple[int, Any]]]] = [(self.expressions, enumerate(self.expressions))]
        while stack:
            tree, items = stack[-1]
            for position, item in items:
                if (item is wanted and index is None) or (tree is wanted and position == index):
                    return number
                number += 1
                if isinstance(item, list):
                    stack.append((item, enumerate(item)))
                    break
            else:
                if tree is wanted:
                    return number
                number += 1
                stack.pop()
        return number

    def _nesting_error(self, words: list[str]) -> PddlError:
        """Make the error for the parentheses of `words`, at the wrong one."""
        opened: list[int] = []
        first: tuple[int, int] | None = None
        first_word = words[1] if len(words) > 1 else ""
        for number, word in enumerate(words):
            if word == ")" and not opened:
                return self._surplus_error(number, first)
            if word == ")":
                start = opened.pop()
                first = first or (None if opened else (start, number))
            elif word in _KEYS and len(opened) > 2:
                return self._unclosed_error(opened[-1], f"still open where {quote(word)} stands at", number)
            elif word in _KEYS and len(opened) < 2 and first_word == "define":
                return self._early_error(words, number, word)
            elif word == "(":
                follower = words[number + 1] if number + 1 < len(words) else ""
                if first_word == "define" and _is_astray(len(opened), follower, number):
                    return self._early_error(words, number, f"({follower}")
                if len(opened) > 1 and follower in SECTIONS:
                    return self._unclosed_error(opened[-1], f"still open where '({follower}' starts at", number)
                opened.append(number)
                if len(opened) > MAX_DEPTH:
                    message = f"parentheses nest deeper than {MAX_DEPTH} levels"
                    return PddlError(message, self._find_place(number), "write the formula flatter")
        return self._unclosed_error(opened[-1], "still open at the end,", len(words))

    def _unclosed_error(self, opened: int, complaint: str, number: int) -> PddlError:
        place = self._find_place(number)
        message = f"this '(' is never closed: it is {complaint} line {place.line}"
        return PddlError(message, self._find_place(opened), "add ')' where it should end")

    def _early_error(self, words: list[str], number: int, found: str) -> PddlError:
        """Make the error for the last ')' before the word `number`, which closes what the word belongs to."""
        closing = max((each for each in range(number) if words[each] == ")"), default=number)
        line = self._find_place(number).line
        message = f"this ')' is one too many: it ends the part to which {quote(found)} of line {line} belongs"
        return PddlError(message, self._find_place(closing), "remove it, or add a '(' before it")

    def _surplus_error(self, number: int, first: tuple[int, int] | None) -> PddlError:
        if first is None:
            return PddlError("found ')' where no '(' is open", self._find_place(number), "remove it")
        start, end = (self._find_place(each) for each in first)
        known = f"the '(' of line {start.line} was closed already at line {end.line}, column {end.column}"
        return PddlError(f"found ')' where no '(' is open: {known}", self._find_place(number), "remove one of them")


def _is_astray(depth: int, follower: str, number: int) -> bool:
    """Return whether a list cannot stand at this depth of a definition: a section outside, or no section inside."""
    if depth == 0:
        return number > 0 and follower in SECTIONS
    return depth == 1 and number > 2 and follower[:1] not in (":", "(", ")", "")


class _NestingError(Exception):
    """The parentheses do not match, or nest too deep."""


def _split(text: str) -> list[str]:
    """Split `text` into words; a variable starts a word, even without a space before it, as in `(truck?t)`.

    Equal words become one string, which saves memory and makes hashing and comparing fast.
    """
    if ";" in text:
        lines = text.replace("\r", "\n").split("\n")
        text = "\n".join([line[: line.find(";")] if ";" in line else line for line in lines])
    words = text.replace("(", " ( ").replace(")", " ) ").replace("?", " ?").split()
    one_of_each: dict[str, str] = {}
    return list(map(one_of_each.setdefault, words, words))


def _nest(words: list[str], current: Tree) -> None:
    """Nest `words` by their parentheses, and append them to `current`."""
    stack: list[Tree] = []
    for word in words:
        if word == "(":
            child: Tree = []
            current.append(child)
            stack.append(current)
            current = child
            if len(stack) > MAX_DEPTH:
                raise _NestingError
        elif word != ")":
            current.append(word)
        elif stack:
            current = stack.pop()
        else:
            raise _NestingError
    if stack:
        raise _NestingError


def is_number(word: str) -> bool:
    """Return whether `word` is a number as PDDL writes them."""
    if word[:1] not in "+-.0123456789":
        return False
    if word.isascii() and word.isdigit():
        return True
    import re

    return re.fullmatch(_NUMBER, word, re.IGNORECASE | re.ASCII) is not None


def quote(item: Tree | str | None) -> str:
    """Quote `item` for messages, and cut it where it is long."""
    if item is None:
        return "nothing"
    text = item if isinstance(item, str) else _flatten(item)
    return f"'{text}'" if len(text) <= _LONGEST_QUOTE else f"'{text[:_LONGEST_QUOTE]}…'"


def _flatten(tree: Tree) -> str:
    """Return the beginning of `tree` as text, as long as `quote` needs it."""
    text = "("
    stack = [iter(tree)]
    while stack and len(text) <= _LONGEST_QUOTE:
        for item in stack[-1]:
            text += "(" if isinstance(item, list) else f"{item} "
            if isinstance(item, list):
                stack.append(iter(item))
            break
        else:
            text = f"{text.rstrip()}) "
            stack.pop()
    return text.rstrip()


def pluralize(number: int, word: str) -> str:
    """Join `number` and `word`, in the plural unless `number` is 1."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def suggest_grouping(tree: Tree) -> str | None:
    """Return a hint where `tree` begins with a list instead of a word; None where it does not."""
    if not tree or isinstance(tree[0], str):
        return None
    return "join several with '(and …)'" if len(tree) > 1 else "remove one pair of parentheses"


def suggest_nearest(name: str, known: Iterable[str]) -> str | None:
    """Return "did you mean …?" for `name`; among very many names, compare only those that begin alike."""
    names = list(known)
    if len(names) > _MANY:
        names = [each for each in names if each[:1] == name[:1] and abs(len(each) - len(name)) < 3]
    return did_you_mean(name, names[:_MANY])


_MARKS: Final = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}

MOST_BYTES: Final = 1 << 28
"""Size limit of files in bytes: longer ones are no text that somebody wrote."""
_PART: Final = 1 << 20


def read_text(path: str | os.PathLike[str], error: type[InputError] = PddlError) -> str:
    """Return the text of the file at `path`.

    Raises `error` where there is no such file, where it may not be read, and where it holds no text.
    """
    place = Location(os.fspath(path))
    try:
        data = read_bytes(path)
    except FileNotFoundError:
        raise error("there is no such file", place, _nearest_file(path)) from None
    except IsADirectoryError:
        raise error("this is a folder, and a file was expected", place, "name a file inside it") from None
    except PermissionError:
        raise error("the file may not be read", place, "give yourself permission to read it") from None
    except (OSError, ValueError) as problem:
        raise error(f"the file cannot be read: {problem}", place) from None
    try:
        if data is None:
            raise _TooLongError  # noqa: TRY301 - as below
        return _decode(data)
    except _TooLongError:
        message = f"the file has more than {MOST_BYTES >> 20} MiB"
        raise error(message, place, "domains, problems and plans are shorter") from None
    except UnicodeDecodeError as problem:
        raise error(f"the file is damaged: {problem}", place) from None
    except _NotTextError as problem:
        raise error(f"the file is binary: it has a zero byte at offset {problem}", place, "name a text file") from None


def read_bytes(path: str | os.PathLike[str]) -> bytes | None:
    """Read the file at `path`, up to its first part with a zero byte; return None for more than `MOST_BYTES`.

    The file is read part by part, so that a limit or a signal can interrupt the reading of an endless one.
    """
    data = bytearray()
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - a path object would cost more
        while part := file.read(_PART):
            data += part
            if len(data) > MOST_BYTES:
                return None
            if b"\0" in part and not data.startswith(tuple(_MARKS)):
                break
    return bytes(data)


class _TooLongError(Exception):
    """The file is longer than any text that is read."""


class _NotTextError(Exception):
    """The data has a zero byte."""


def _decode(data: bytes) -> str:
    for mark, encoding in _MARKS.items():
        if data.startswith(mark):
            return data.decode(encoding)
    if b"\0" in data:
        raise _NotTextError(data.index(b"\0"))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def encode_alike(text: str, data: bytes) -> bytes:
    """Return `text` in the encoding of `data`, as `read_text` finds it; in UTF-8 where that lacks a character."""
    for mark, encoding in _MARKS.items():
        if data.startswith(mark):
            own = {"utf-8-sig": "utf-8"}.get(encoding, "utf-16-be" if mark == codecs.BOM_UTF16_BE else "utf-16-le")
            return mark + text.encode(own)
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        with contextlib.suppress(UnicodeEncodeError):
            return text.encode("latin-1")
    return text.encode("utf-8")


def _nearest_file(name: str | os.PathLike[str]) -> str | None:
    from pathlib import Path

    path = Path(name)
    try:
        near = [sibling.name for sibling in path.parent.iterdir() if did_you_mean(path.stem, [sibling.stem])]
        return did_you_mean(path.name, near)
    except (OSError, ValueError):
        return None


_DURATIVE: Final = "declare it as '(:durative-action …)'"
_HYBRID: Final = "engines for PDDL+ take it, such as 'enhsp'"
_HIERARCHICAL: Final = "write it to an .hddl file"
_TRAJECTORY: Final = "state it in the problem, in (:constraints …)"
_PREFERENCE: Final = "preferences stand at the top of goals, preconditions and constraints, under 'and' and 'forall'"
_CONFORMANT: Final = "state which facts hold"

Reason = tuple[str, str]
"""The name of a construct, and a hint."""

REFUSED_SECTIONS: Final[dict[str, Reason]] = {
    ":process": ("process", _HYBRID),
    ":event": ("event", _HYBRID),
    ":constraints": ("trajectory constraints", _TRAJECTORY),
    ":safety": ("safety constraints", _TRAJECTORY),
    ":task": ("task of a hierarchy", _HIERARCHICAL),
    ":method": ("method of a hierarchy", _HIERARCHICAL),
    ":htn": ("initial task network", _HIERARCHICAL),
    ":timeless": ("timeless facts", "state them in the problem's (:init …)"),
    ":axiom": ("axiom of PDDL 1.2", "write it as '(:derived (predicate ?x) condition)'"),
    ":class": ("class", _HYBRID),
}

_TRAJECTORY_WORDS: Final = frozenset(
    {"always", "sometime", "within", "at-most-once", "sometime-after", "sometime-before"}
    | {"always-within", "hold-during", "hold-after"}
)

CONDITIONS: Final[dict[str, Reason]] = {
    **dict.fromkeys(_TRAJECTORY_WORDS, ("trajectory constraint", _TRAJECTORY)),
    "preference": ("preference", _PREFERENCE),
    "at": ("timed condition in an action without a duration", _DURATIVE),
    "over": ("timed condition in an action without a duration", _DURATIVE),
}

EFFECTS: Final[dict[str, Reason]] = {
    "at": ("timed effect in an action without a duration", _DURATIVE),
}

INITIAL: Final[dict[str, Reason]] = {
    "oneof": ("unknown initial fact", _CONFORMANT),
    "unknown": ("unknown initial fact", _CONFORMANT),
    "or": ("unknown initial fact", _CONFORMANT),
    "forall": ("quantified initial fact", _CONFORMANT),
    "probabilistic": ("unknown initial fact", _CONFORMANT),
}

REWARD: Final[Reason] = ("reward", "declare a function of another name, and let the metric count it")
UNIVERSAL_CHANCE: Final[Reason] = (
    "outcome for all objects of a variable",
    "write its effects for each object; 'forall' may delete all facts of a pattern, whatever holds",
)
COST_OF_OUTCOME: Final[Reason] = (
    "cost that depends on the outcome",
    "write one '(increase (total-cost) …)' outside of the outcomes, such as their average",
)
MANY_OUTCOMES: Final[Reason] = ("action with more than 1000 outcomes", "let fewer effects come about independently")
MANY_CONDITIONS: Final[Reason] = (
    "action whose outcomes have more than 6 conditions",
    "write an action for each case, with the conditions in its ':precondition'",
)
OUTCOMES_OF_TASKS: Final[Reason] = (
    "outcome under a condition, in hierarchical domains,",
    "write an action for each case, with the condition in its ':precondition'",
)
OBJECT_FUNCTION: Final[Reason] = ("function whose values are objects", "use a predicate with one more argument")
CROSSED_MOMENTS: Final[Reason] = (
    "effect at the start under a condition of a later moment, or effect under a condition over all",
    "let the start write a fact, and read that at the end",
)
CONTINUOUS: Final[Reason] = ("continuous effect", "let the change come about at the start or at the end")
CONSTRAINT: Final[Reason] = (
    "constraint",
    "'always', 'sometime', 'at-most-once' and 'sometime-before' are read, and more in Python or YAML",
)
METRIC: Final[Reason] = (
    "metric that counts violated preferences beside numbers which are no costs of actions",
    "let it be a sum of costs and of violated preferences, none with a negative weight",
)
TIME_METRIC: Final[Reason] = (
    "metric that counts the steps, as (total-time), beside the total cost and other numbers",
    "leave out one of them",
)


def refuse_construct(
    source: Source, reason: Reason, tree: Tree, index: int | None = None, name: str = ""
) -> UnsupportedError:
    """Make the error for the unsupported construct at `tree` or its item `index`; `name` is its name in the file."""
    construct, hint = reason
    return UnsupportedError(f"{construct}{f' {name!r}' if name else ''} at {source.location(tree, index)}", hint)


class FileWarning(UserWarning):
    """A file violates its language, and is read as other tools read it."""


def warn(source: Source, tree: Tree, index: int | None, message: str) -> None:
    """Warn of item `index` of `tree`; `message` says how it is read."""
    warn_at(source.location(tree, index), message)


def warn_at(place: Location, message: str) -> None:
    """Warn of the construct at `place`; `message` says how it is read."""
    warnings.warn(f"{place}: {message}", FileWarning, stacklevel=3)
