"""Lays PDDL and HDDL out as our writer does, with all comments, and without a look at what it means.

A comment on a line of its own stays before what it stood before, one behind something stays behind it. Of several blank
lines one is left.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from planner.errors import PddlError
from planner.language.pddl.syntax import Source

WIDTH: Final = 110
"""Most columns of what is written on one line although it could be broken."""
_TOKEN: Final = re.compile(r"(?P<space>\s+)|(?P<comment>;[^\n\r]*)|(?P<word>[()]|\?[^\s()?;]*|[^\s()?;]+)")
_FACTS: Final = (":predicates", ":functions", ":init")
_TYPED: Final = (":types", ":constants", ":objects")
_ONE_VALUE: Final = (":goal", ":metric", ":constraints", ":domain", ":requirements", ":derived")
_BLANK: Final = ""


@dataclass(slots=True, eq=False)
class Item:
    """A word, or a list of items.

    `before` are the comments and blank lines on lines of their own before it, `after` the comment behind it, and `foot`
    those of a list before its closing parenthesis. `spread` tells whether a list was written on several lines.
    """

    word: str = ""
    items: list[Item] = field(default_factory=list)
    before: list[str] = field(default_factory=list)
    after: str = ""
    foot: list[str] = field(default_factory=list)
    spread: bool = False

    @property
    def is_list(self) -> bool:
        """Whether it is a list."""
        return not self.word

    @property
    def head(self) -> str:
        """The first word of a list, in lower case."""
        return self.items[0].word.lower() if self.items else ""

    @property
    def has_comments(self) -> bool:
        """Whether there are comments inside."""
        inside = any(each.after or any(each.before) or each.has_comments for each in self.items)
        return inside or any(self.foot)

    def flat(self) -> str:
        """Return it on one line, without comments."""
        return self.word or f"({' '.join(each.flat() for each in self.items)})"


@dataclass(slots=True)
class Line:
    """A line and the comment behind it."""

    text: str
    comment: str = ""

    def __str__(self) -> str:
        return f"{self.text}  {self.comment}".rstrip() if self.text.strip() else f"{self.text}{self.comment}".rstrip()


def format_pddl(text: str, name: str) -> str:
    """Return the PDDL or HDDL `text`, laid out; raises `PddlError` where its parentheses do not match."""
    Source(text, name, keep_case=True)
    root = _read(text)
    lines: list[Line] = []
    for item in root.items:
        lines += _lay_before(item, "", is_first=not lines)
        lines += _lay_item(item, "")
    lines += [Line(each) for each in _trim(root.foot)]
    formatted = "\n".join(str(line) for line in lines).strip("\n") + "\n"
    if not _is_same(text, formatted):  # no known text comes here
        raise PddlError(f"{name} cannot be laid out without a change of what it says: it stays as it is")
    return formatted


def _is_same(text: str, other: str) -> bool:
    """Return whether both texts have the same words, lists and comments."""
    trees = [Source(each, "text", keep_case=True).expressions for each in (text, other)]
    comments = [[m[0].rstrip() for m in _TOKEN.finditer(each) if m.lastgroup == "comment"] for each in (text, other)]
    return trees[0] == trees[1] and comments[0] == comments[1]


def _read(text: str) -> Item:
    """Read `text` to a list of its lists and words."""
    root = Item()
    stack, last, before = [root], None, []
    starts_line = True
    for token in _TOKEN.finditer(text):
        kind, word = token.lastgroup, token[0]
        if kind == "space":
            breaks = len(re.findall(r"\r\n|\r|\n", word))
            starts_line = starts_line or breaks > 0
            stack[-1].spread = stack[-1].spread or breaks > 0
            before += [_BLANK] if breaks > 1 else []
        elif kind == "comment":
            if starts_line or last is None or last.after:
                before.append(word.rstrip())
            else:
                last.after = word.rstrip()
        else:
            starts_line = False
            last, before = _take_word(word, stack, before)
    root.foot = before
    return root


def _take_word(word: str, stack: list[Item], before: list[str]) -> tuple[Item | None, list[str]]:
    """Add a word or a parenthesis; return the item that a comment behind it belongs to, and the comments left over."""
    if word == ")":
        closed = stack.pop()
        closed.foot = before
        return closed, []
    item = Item("" if word == "(" else word, before=before)
    stack[-1].items.append(item)
    if word != "(":
        return item, []
    stack.append(item)
    return None, []


def _trim(notes: Sequence[str]) -> list[str]:
    """Return comments and blank lines without blank lines at the end, or several of them in a row."""
    found: list[str] = []
    for each in notes:
        if each or (found and found[-1]):
            found.append(each)
    return found[:-1] if found and not found[-1] else found


def _lay_before(item: Item, indent: str, *, is_first: bool, blanks: bool = True) -> list[Line]:
    """Return the lines before an item: comments, and blank lines unless it is the first."""
    found: list[str] = []
    for each in item.before:
        if each or (blanks and not (is_first and not found) and not (found and not found[-1])):
            found.append(each)
    return [Line(f"{indent}{each}" if each else "") for each in found]


def _lay_item(item: Item, indent: str) -> list[Line]:
    """Return the lines of an item, the comment behind it included."""
    lines = _lay_list(item, indent) if item.is_list else [Line(f"{indent}{item.word}")]
    return _comment(lines, item.after, indent)


def _comment(lines: list[Line], comment: str, indent: str) -> list[Line]:
    if comment and lines[-1].comment:
        return [*lines, Line(f"{indent}{comment}")]
    if comment:
        lines[-1].comment = comment
    return lines


def _lay_list(item: Item, indent: str) -> list[Line]:
    head = item.head
    if head == "define":
        return _lay_parts(item, indent, kept=2, own_line=True)
    if head in _FACTS:
        return _lay_facts(item, indent)
    if head in _TYPED:
        return _lay_typed(item, indent)
    if head in _ONE_VALUE:
        return _lay_value_section(item, indent)
    if head.startswith(":"):
        return _lay_keyed(item, indent)
    return _lay_formula(item, indent, is_outermost=False)


def _fits(item: Item, indent: str) -> bool:
    return not item.has_comments and len(indent) + len(item.flat()) <= WIDTH


def _lay_parts(item: Item, indent: str, *, kept: int, own_line: bool, blanks: bool = True) -> list[Line]:
    """Lay a list out: `kept` items on its first line, each other one on a line of its own."""
    inner = f"{indent}  "
    lines = [Line(f"{indent}(")]
    for number, each in enumerate(item.items):
        if number < kept and not any(each.before) and not each.has_comments and not lines[-1].comment:
            lines[-1].text += f"{'' if number == 0 else ' '}{each.flat()}"
            _comment(lines, each.after, inner)
            continue
        lines += _lay_before(each, inner, is_first=number <= kept and not blanks, blanks=blanks)
        lines += _lay_item(each, inner)
    return _close(lines, item, indent, own_line=own_line)


def _close(lines: list[Line], item: Item, indent: str, *, own_line: bool) -> list[Line]:
    lines += [Line(f"{indent}  {each}" if each else "") for each in _trim(item.foot)]
    is_note = lines[-1].text.lstrip().startswith(";") or bool(lines[-1].comment)
    if is_note or (own_line and len(lines) > 1):
        return [*lines, Line(f"{indent})")]
    lines[-1].text += ")"
    return lines


def _lay_facts(item: Item, indent: str) -> list[Line]:
    """Lay a section out with a fact, predicate or function a line; a type stays behind its function."""
    lines = [Line(f"{indent}({item.items[0].word}", item.items[0].after)]
    inner = f"{indent}  "
    for number, each in enumerate(item.items[1:]):
        joins = not each.is_list and len(lines) > 1 and not lines[-1].comment and not any(each.before)
        if joins:
            lines[-1].text += f" {each.word}"
            _comment(lines, each.after, inner)
            continue
        lines += _lay_before(each, inner, is_first=number == 0)
        lines += _lay_item(each, inner)
    return _close(lines, item, indent, own_line=True)


def _lay_typed(item: Item, indent: str) -> list[Line]:
    """Lay a typed list out: on one line as it was, or each type with its names on a line."""
    if _fits(item, indent) and not item.spread:
        return [Line(f"{indent}{item.flat()}")]
    inner = f"{indent}  "
    lines = [Line(f"{indent}({item.items[0].word}", item.items[0].after)]
    fresh = True
    rest = item.items[1:]
    for number, each in enumerate(rest):
        if any(each.before) or (each.before and fresh):
            lines += _lay_before(each, inner, is_first=number == 0)
            fresh = True
        text = each.flat()
        if fresh or lines[-1].comment or len(lines[-1].text) + len(text) >= WIDTH:
            lines.append(Line(f"{inner}{text}"))
        else:
            lines[-1].text += f" {text}"
        _comment(lines, each.after, inner)
        fresh = number > 0 and rest[number - 1].word == "-"
    return _close(lines, item, indent, own_line=True)


def _lay_value_section(item: Item, indent: str) -> list[Line]:
    """Lay a section with one formula out, on one line if it fits and is no conjunction."""
    if item.head == ":derived" and len(item.items) == 3:
        if item.has_comments:
            return _lay_parts(item, indent, kept=2, own_line=False)
        inner = f"{indent}  "
        lines = [Line(f"{indent}(:derived {item.items[1].flat()}"), *_lay_outermost(item.items[2], inner)]
        return _close(lines, item, indent, own_line=False)
    if len(item.items) != 2 or item.items[0].after or any(item.items[1].before):
        return (
            [Line(f"{indent}{item.flat()}")]
            if not item.has_comments
            else _lay_parts(item, indent, kept=1, own_line=True)
        )
    value = _lay_outermost(item.items[1], f"{indent}  ")
    value[0].text = f"{indent}({item.items[0].word} {value[0].text.strip()}"
    return _close(value, item, indent, own_line=False)


def _lay_outermost(item: Item, indent: str) -> list[Line]:
    """Lay a value out; the parts of an outermost conjunction have lines of their own."""
    lines = _lay_formula(item, indent, is_outermost=True) if item.is_list else [Line(f"{indent}{item.word}")]
    return _comment(lines, item.after, indent)


def _lay_keyed(item: Item, indent: str) -> list[Line]:
    """Lay an action, a method or another section with keys out: a line for each key with its value."""
    inner = f"{indent}  "
    lines = [Line(f"{indent}(")]
    for number, each in enumerate(item.items):
        is_key = each.word.startswith(":") and number > 0
        if is_key:
            lines += _lay_before(each, inner, is_first=False, blanks=False)
            lines.append(Line(f"{inner}{each.word}"))
        elif any(each.before) or lines[-1].comment:
            lines += _lay_before(each, f"{inner}  ", is_first=False, blanks=False)
            lines += _lay_outermost(each, f"{inner}  ")
            continue
        elif each.is_list:
            value = _lay_outermost(each, inner)
            lines[-1].text += f" {value[0].text.strip()}"
            lines[-1].comment = value[0].comment
            lines += value[1:]
            continue
        else:
            lines[-1].text += f"{'' if number == 0 else ' '}{each.word}"
        _comment(lines, each.after, inner)
    return _close(lines, item, indent, own_line=True)


def _lay_formula(item: Item, indent: str, *, is_outermost: bool) -> list[Line]:
    """Lay a formula out: on one line if it fits, else its parts on lines of their own."""
    is_conjunction = is_outermost and item.head == "and" and len(item.items) > 2
    if _fits(item, indent) and not is_conjunction:
        return [Line(f"{indent}{item.flat()}")]
    return _lay_parts(item, indent, kept=_count_kept(item), own_line=False, blanks=False)


def _count_kept(item: Item) -> int:
    """Return how many items stay on the first line: words at the beginning, and variables of quantifiers."""
    words = next((number for number, each in enumerate(item.items) if each.is_list), len(item.items))
    return words + 1 if item.head in ("forall", "exists") else max(words, 0)


def words_of(text: str) -> Iterator[str]:
    """Yield the words and parentheses of `text`, without comments."""
    return (match[0] for match in _TOKEN.finditer(text) if match.lastgroup == "word")
