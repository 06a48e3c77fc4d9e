"""Parse arithmetic, comparisons and numeric effects: `fuel(r) >= distance(a, b) + 2`, `fuel(r) -= 3`.

An operator stands between spaces, numbers and parentheses, since names may contain some of its signs: `total-cost` is a
name, `total - cost` a difference. Names are not resolved here.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

from planner.language.declare.atom_syntax import (
    EQUALITY,
    SINGLE_SIGN,
    NotationError,
    abbreviate,
    is_atom_name,
    reading_quoted,
)
from planner.model.actions import DURATION, NumericEffect
from planner.model.arithmetic import parse_number
from planner.model.formulas import Arithmetic, Atom, Comparison, Expression, Formula, Not

_TOKEN: Final = re.compile(
    r"""\s*(?:
    (?P<number>\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|\.\d+)(?![\w.])
    |(?P<operator>[-+*/()])
    |(?P<name>\??[^\s(),;?!='"\[\]{}|<>*/+\ud800-\udfff]+)(?:\((?P<arguments>[^()]*)\))?
    )""",
    re.VERBOSE,
)
_RELATION: Final = re.compile(r"<=|>=|==|!=|=|(?<=\))\s*[<>](?!=)|(?<=\s)[<>](?=[\s(.\d-])")
"""Names may have < and > in them, but no =."""
_CHANGE: Final = re.compile(r"\s*([^=]*?[^\s:=<>!+*/-])\s*(\+=|-=|\*=|/=|:=)(.*)\Z", re.DOTALL)
_SHOWN: Final = "arithmetic is written like fuel(r) >= distance(a, b) + 2"


@reading_quoted
def has_relation(text: str) -> bool:
    """Return whether `text` compares something that is no plain name, outside parentheses."""
    body = text.removeprefix("not ")
    if "=!" in text or not _RELATION.search(text) or EQUALITY.match(body) or SINGLE_SIGN.match(body):
        return False
    return any(_depth_at(text, found.start()) == 0 for found in _RELATION.finditer(text))


@reading_quoted
def parse_comparison(text: str) -> Formula | None:
    """Parse the comparison `text`; None where it has no relation outside parentheses. Raises `NotationError`."""
    negated = text.lstrip().startswith("not ")
    body = text.lstrip()[4:] if negated else text
    relations = [found for found in _RELATION.finditer(body) if _depth_at(body, found.start()) == 0]
    if not relations:
        return None
    if len(relations) > 1:
        raise NotationError(f"{abbreviate(text)} compares more than two numbers", "write two comparisons")
    (found,) = relations
    sign = "=" if found[0] in ("==", "!=", "=") else found[0].strip()
    sides = [(body[: found.start()], "left"), (body[found.end() :], "right")]
    for side, which in sides:
        if not side.strip():
            raise NotationError(f"the {which} side of {abbreviate(body.strip())} lacks a number or a function", _SHOWN)
    comparison = Comparison(parse_arithmetic(sides[0][0]), sign, parse_arithmetic(sides[1][0]))
    return Not(comparison) if negated is not (found[0] == "!=") else comparison


@reading_quoted
def parse_numeric_effect(text: str) -> NumericEffect | None:
    """Parse the effect `text`; None where it assigns nothing. Raises `NotationError`."""
    found = _CHANGE.match(text)
    if found is None:
        return None
    fluent = parse_arithmetic(found[1])
    if not isinstance(fluent, Atom):
        raise NotationError(f"{abbreviate(text)} changes {fluent}, which is no function", "write fuel(r) -= 3")
    return NumericEffect(fluent, found[2], parse_arithmetic(found[3]))


@reading_quoted
def is_numeric_effect(text: str) -> bool:
    """Return whether `text` assigns or changes a number."""
    return _CHANGE.match(text) is not None


def _depth_at(text: str, place: int) -> int:
    return text.count("(", 0, place) - text.count(")", 0, place)


@reading_quoted
def parse_arithmetic(text: str) -> Expression:
    """Parse the expression `text`. Raises `NotationError`."""
    parser = _Parser(text)
    found = parser.sum()
    parser.expect_end()
    return found


def is_function_name(name: str) -> bool:
    """Return whether `name` may name a function: expressions must tell it from a number and an operator."""
    try:
        return parse_arithmetic(name) == Atom(name)
    except NotationError:
        return False


class _Parser:
    """Parses by recursive descent: sums of products of factors; operators of one strength associate to the left."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(self._split(text))
        self._at = 0
        self._depth = 0

    def _split(self, text: str) -> list[tuple[str, str, str | None]]:
        found, place, end = [], 0, len(text.rstrip())
        while place < end:
            token = _TOKEN.match(text, place)
            if token is None:
                rest = text[place:].strip()
                raise NotationError(f"{abbreviate(text.strip())} is no arithmetic at {abbreviate(rest)}", _SHOWN)
            kind = token.lastgroup if token["name"] is None else "name"
            found.append((str(kind), token[str(kind)], token["arguments"]))
            place = token.end()
        return found

    def _peek(self, *operators: str) -> bool:
        if self._at == len(self._tokens):
            return False
        kind, text, _ = self._tokens[self._at]
        return kind == "operator" and text in operators

    def expect_end(self) -> None:
        """Raise `NotationError` if something is left."""
        if self._at < len(self._tokens):
            left = self._tokens[self._at][1]
            raise NotationError(f"{abbreviate(self._text.strip())} goes on with {left!r}, without an operator", _SHOWN)

    def sum(self) -> Expression:
        """Parse a sum or a difference."""
        return self._chain(("+", "-"), self._product)

    def _product(self) -> Expression:
        return self._chain(("*", "/"), self._factor)

    def _chain(self, operators: tuple[str, str], part: object) -> Expression:
        assert callable(part)
        found: Expression = part()
        while self._peek(*operators):
            operator = self._tokens[self._at][1]
            self._at += 1
            operands = [found, part()]
            while operator in "+*" and self._peek(operator):
                self._at += 1
                operands.append(part())
            found = Arithmetic(operator, tuple(operands))
        return found

    def _factor(self) -> Expression:
        if self._at == len(self._tokens):
            raise NotationError(f"{abbreviate(self._text.strip())} lacks a number or a function", _SHOWN)
        kind, text, arguments = self._tokens[self._at]
        self._at += 1
        if kind == "number":
            try:
                return parse_number(text)
            except ValueError as error:
                raise NotationError(f"{abbreviate(text)}: {error}", None) from None
        if kind == "name":
            return self._function(text, arguments)
        if text == "-":
            inner = self._factor()
            if isinstance(inner, Atom | Arithmetic):
                return Arithmetic("-", (inner,))
            return inner.copy_negate() if isinstance(inner, Decimal) else -inner  # '-' rounds to 28 digits
        if text == "(":
            return self._inside()
        raise NotationError(f"{abbreviate(self._text.strip())} lacks a number before {text!r}", _SHOWN)

    def _inside(self) -> Expression:
        self._depth += 1
        if self._depth > DEEPEST:
            raise NotationError(f"an expression nests deeper than {DEEPEST} levels", "write it flatter")
        found = self.sum()
        if not self._peek(")"):
            raise NotationError(f"{abbreviate(self._text.strip())} lacks a ')'", None)
        self._at += 1
        self._depth -= 1
        return found

    def _function(self, name: str, arguments: str | None) -> Atom:
        if name == DURATION.predicate and arguments is None:
            return DURATION
        if not is_atom_name(name) or name[0].isdigit():
            raise NotationError(f"{abbreviate(name)} is neither a number nor the name of a function", _SHOWN)
        inside = (arguments or "").strip()
        terms = tuple([term.strip() for term in inside.split(",")]) if inside else ()
        if not all(re.fullmatch(r"\??[^\s(),;?!='\"\[\]{}|]+", term) for term in terms):
            raise NotationError(f"{abbreviate(f'{name}({inside})')} is no function term", "write name(object, …)")
        return Atom(name, terms)


DEEPEST: Final = 60
"""Deepest nesting of parentheses in an expression."""
