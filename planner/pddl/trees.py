"""Text to nested lists of words, and from any list in them back to its line and column.

Reading is two C-speed passes over the text and one short loop. Words carry no positions: where an error needs one,
the tree is walked and the text is split a second time, counting words. That makes errors a little slower and
everything else as fast as Python allows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from planner.annotations import Any, Final
from planner.errors import Location, PddlError, did_you_mean

Tree = list[Any]
"""A parenthesised list: its items are words (`str`) and further trees."""

MAX_DEPTH: Final = 100
"""How deep parentheses may nest. What walks formulas later may recurse, so the bound is set here, once."""

SECTIONS: Final = frozenset(
    {":requirements", ":types", ":constants", ":predicates", ":functions", ":action", ":derived", ":domain"}
    | {":objects", ":init", ":goal", ":metric", ":durative-action", ":constraints", ":axiom"}
    | {":task", ":method", ":htn"}
)
"""Words that start a section at the second level, and so betray a parenthesis that was left open before them."""

_KEYS: Final = frozenset(
    {":parameters", ":precondition", ":effect", ":task"}
    | {":subtasks", ":tasks", ":ordered-subtasks", ":ordered-tasks", ":ordering"}
)
"""Words that stand at the third level, for the same purpose."""

_WORD: Final = r"[()]|\?[^\s()?]*|[^\s()?]+"
_COMMENT: Final = r";[^\n\r]*"
_LINE_END: Final = r"\r\n|\r|\n"
_LONGEST_QUOTE: Final = 60
_MANY: Final = 2_000


class Source:
    """A text, its name for messages, and its tree (`expressions`: what stands side by side at the top).

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
        """Return an error at `tree`, or at its item `index` (one past the last: at its closing parenthesis)."""
        return PddlError(message, self.location(tree, index), hint)

    def location(self, tree: Tree, index: int | None = None) -> Location:
        """Return where `tree`, or its item `index`, is written."""
        return self._place(self._number(tree, index))

    def _place(self, number: int) -> Location:
        import re  # noqa: PLC0415 - only mistakes have places

        blank = re.sub(_COMMENT, lambda comment: " " * len(comment[0]), self.text)
        words = enumerate(re.finditer(_WORD, blank))
        offset = next((word.start() for count, word in words if count == number), len(blank))
        ends = [end.end() for end in re.compile(_LINE_END).finditer(self.text, 0, offset)]
        return Location(self.name, len(ends) + 1, offset - (ends[-1] if ends else 0) + 1)

    def _number(self, wanted: Tree, index: int | None) -> int:
        """Return which word of the text starts `wanted`, or its item `index`."""
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
        """Return what is wrong with the parentheses of `words`, at the one to blame."""
        opened: list[int] = []
        first: tuple[int, int] | None = None
        for number, word in enumerate(words):
            if word == ")" and not opened:
                return self._surplus(number, first)
            if word == ")":
                start = opened.pop()
                first = first or (None if opened else (start, number))
            elif word in _KEYS and len(opened) > 2:
                return self._unclosed(opened[-1], f"still open where {quote(word)} stands at", number)
            elif word == "(":
                follower = words[number + 1] if number + 1 < len(words) else ""
                if len(opened) > 1 and follower in SECTIONS:
                    return self._unclosed(opened[-1], f"still open where '({follower}' starts at", number)
                opened.append(number)
                if len(opened) > MAX_DEPTH:
                    message = f"parentheses nest deeper than {MAX_DEPTH} levels"
                    return PddlError(message, self._place(number), "write the formula flatter")
        return self._unclosed(opened[-1], "still open at the end,", len(words))

    def _unclosed(self, opened: int, complaint: str, number: int) -> PddlError:
        place = self._place(number)
        message = f"this '(' is never closed: it is {complaint} line {place.line}"
        return PddlError(message, self._place(opened), "add ')' where it should end")

    def _surplus(self, number: int, first: tuple[int, int] | None) -> PddlError:
        if first is None:
            return PddlError("found ')' where no '(' is open", self._place(number), "remove it")
        start, end = (self._place(each) for each in first)
        known = f"the '(' of line {start.line} was closed already at line {end.line}, column {end.column}"
        return PddlError(f"found ')' where no '(' is open: {known}", self._place(number), "remove one of them")


class _NestingError(Exception):
    """The parentheses do not match, or nest too deep."""


def _split(text: str) -> list[str]:
    """Return the words of `text`; a variable starts one, even where no space is before it, as in `(truck?t)`.

    Equal words are one string: that saves memory, and the hashing and comparing of whoever works with them.
    """
    if ";" in text:
        lines = text.replace("\r", "\n").split("\n")
        text = "\n".join([line[: line.find(";")] if ";" in line else line for line in lines])
    words = text.replace("(", " ( ").replace(")", " ) ").replace("?", " ?").split()
    one_of_each: dict[str, str] = {}
    return list(map(one_of_each.setdefault, words, words))


def _nest(words: list[str], current: Tree) -> None:
    """Append what `words` say to the list `current`."""
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


def quote(item: Tree | str | None) -> str:
    """Return `item` as messages show it: in quotes, and cut where it is long."""
    if item is None:
        return "nothing"
    text = item if isinstance(item, str) else _flat(item)
    return f"'{text}'" if len(text) <= _LONGEST_QUOTE else f"'{text[:_LONGEST_QUOTE]}…'"


def _flat(tree: Tree) -> str:
    """Return `tree` as text, no longer than need be."""
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


def counted(number: int, word: str) -> str:
    """Return `number` and `word`, which is in the plural unless it is 1."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def ungrouped(tree: Tree) -> str | None:
    """Return how to mend `tree` where it begins with a list and a word was expected; None where it does not."""
    if not tree or isinstance(tree[0], str):
        return None
    return "join several with '(and …)'" if len(tree) > 1 else "remove one pair of parentheses"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return "did you mean …?" for `name`; among very many names only those that begin and end alike are compared."""
    names = list(known)
    if len(names) > _MANY:
        names = [each for each in names if each[:1] == name[:1] and abs(len(each) - len(name)) < 3]
    return did_you_mean(name, names[:_MANY])
