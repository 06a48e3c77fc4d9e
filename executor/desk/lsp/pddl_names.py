"""The names in PDDL and HDDL text, as far as its parentheses tell.

Text may be unfinished: a parenthesis that is missing is closed where the text ends, one too many is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from executor.desk.lsp.names import Entry, Index, Kind, Role

_WORD: Final = re.compile(r";[^\n]*|[()]|\?[^\s()?;]*|[^\s()?;]+")
_ARITHMETIC: Final = frozenset(
    {"<", ">", "<=", ">=", "+", "-", "*", "/", "increase", "decrease", "assign", "scale-up", "scale-down"}
)
_CONNECTIVES: Final = _ARITHMETIC | {"and", "or", "not", "imply", "when", "forall", "exists", "=", "preference"}
_CONNECTIVES_OF_TIME: Final = frozenset(
    {"always", "sometime", "within", "at-most-once", "sometime-after", "sometime-before", "hold-after", "hold-during"}
    | {"at-end", "always-within", "probabilistic", "oneof", "start", "end", "all", "over"}
)
_NUMBER: Final = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?|#t")
_VARIABLE_SECTIONS: Final = (":parameters", ":vars")
_SUBTASKS: Final = frozenset({":subtasks", ":tasks", ":ordered-subtasks", ":ordered-tasks"})


@dataclass(slots=True)
class Node:
    """A word, or a list of nodes between `start` and `end`."""

    start: int
    end: int
    word: str = ""
    parts: list[Node] = field(default_factory=list)
    is_list: bool = False

    @property
    def head(self) -> str:
        """The first word of a list, lower case; "" where it begins with none."""
        return self.parts[0].word.lower() if self.is_list and self.parts else ""


def parse(text: str, base: int = 0) -> list[Node]:
    """Return the expressions of `text`, whose offsets count from `base`."""
    root = Node(base, base + len(text), is_list=True)
    stack = [root]
    for match in _WORD.finditer(text):
        word, start = match[0], base + match.start()
        if word.startswith(";"):
            continue
        if word == "(":
            inner = Node(start, base + len(text), is_list=True)
            stack[-1].parts.append(inner)
            stack.append(inner)
        elif word == ")":
            if len(stack) > 1:
                stack.pop().end = start + 1
        else:
            stack[-1].parts.append(Node(start, start + len(word), word))
    return root.parts


def index_pddl(text: str) -> Index:
    """Return the index of a PDDL or HDDL text; names are lower case, as PDDL does not tell cases apart."""
    index = Index(text)
    for expression in parse(text):
        if expression.head == "define":
            _Definition(index, expression).read()
    _settle_functions(index)
    return index


def _settle_functions(index: Index) -> None:
    """Call what stands for a function by that kind, wherever it was taken for a predicate."""
    functions = index.declared(Kind.FUNCTION)
    index.found = [
        type(each)(Kind.FUNCTION, each.name, each.start, each.end, each.role, each.owner)
        if each.kind is Kind.PREDICATE and each.name in functions
        else each
        for each in index.found
    ]


class _Definition:
    """Reads one `(define …)`."""

    def __init__(self, index: Index, node: Node) -> None:
        self._index, self._node = index, node

    def read(self) -> None:
        titles = [part for part in self._node.parts[1:] if part.is_list]
        for part in titles:
            if part.head in ("domain", "problem") and len(part.parts) > 1:
                self._title(part)
            elif part.head.startswith(":"):
                self._section(part)

    def _title(self, part: Node) -> None:
        kind = Kind.DOMAIN if part.head == "domain" else Kind.PROBLEM
        name = part.parts[1]
        self._index.add(kind, name.word.lower(), name.start, Role.DECLARES)
        node = self._node
        self._index.outline.append(Entry(kind, name.word.lower(), node.start, node.end, name.start))

    @property
    def _outline(self) -> list[Entry]:
        return self._index.outline[-1].parts if self._index.outline else self._index.outline

    def _section(self, part: Node) -> None:
        inner = part.parts[1:]
        match part.head:
            case ":domain" if inner:
                self._index.add(Kind.DOMAIN, inner[0].word.lower(), inner[0].start)
            case ":types":
                self._types(inner)
            case ":constants" | ":objects":
                self._objects(inner)
            case ":predicates":
                self._signatures(inner, Kind.PREDICATE)
            case ":functions":
                self._signatures(inner, Kind.FUNCTION)
            case ":action" | ":durative-action":
                self._schema(part, Kind.ACTION)
            case ":task":
                self._schema(part, Kind.TASK)
            case ":method":
                self._schema(part, Kind.METHOD)
            case ":htn" | ":htn-tasks":
                self._schema(part, Kind.METHOD, named=False)
            case ":derived":
                for each in inner:
                    self._formula(each, Role.PROVIDES if each is inner[0] else Role.REQUIRES, "")
            case ":init":
                for each in inner:
                    self._formula(_without_time(each), Role.INITIAL, "")
            case ":goal":
                for each in inner:
                    self._formula(each, Role.GOAL, "")
            case ":metric" | ":constraints":
                for each in inner:
                    self._formula(each, Role.USES, "", number=part.head == ":metric")

    def _types(self, parts: Sequence[Node]) -> None:
        for name, kinds in _typed(parts):
            self._index.add(Kind.TYPE, name.word.lower(), name.start, Role.DECLARES)
            self._use_types(kinds)
            above = tuple(each.word.lower() for each in kinds)
            self._index.parents[name.word.lower()] = above
            self._outline.append(_entry(Kind.TYPE, name, " ".join(above)))

    def _use_types(self, kinds: Sequence[Node]) -> None:
        for each in kinds:
            self._index.add(Kind.TYPE, each.word.lower(), each.start)

    def _objects(self, parts: Sequence[Node]) -> None:
        for name, kinds in _typed(parts):
            self._index.add(Kind.OBJECT, name.word.lower(), name.start, Role.DECLARES)
            self._use_types(kinds)
            words = " ".join(each.word.lower() for each in kinds)
            self._index.types["", name.word.lower()] = words
            self._outline.append(_entry(Kind.OBJECT, name, words))

    def _signatures(self, parts: Sequence[Node], kind: Kind) -> None:
        for part in parts:
            if part.is_list and part.parts:
                name = part.parts[0]
                self._index.add(kind, name.word.lower(), name.start, Role.DECLARES)
                signature = self._variables(part.parts[1:], f"{kind.value} {name.word.lower()}")
                self._index.signatures[kind, name.word.lower()] = signature
                self._outline.append(_entry(kind, name, _show(signature), part))

    def _variables(self, parts: Sequence[Node], owner: str) -> list[tuple[str, str]]:
        signature = []
        for name, kinds in _typed(parts):
            words = " ".join(each.word.lower() for each in kinds)
            self._index.add(Kind.VARIABLE, name.word.lower(), name.start, Role.DECLARES, owner)
            self._index.types[owner, name.word.lower()] = words
            self._use_types(kinds)
            signature.append((name.word.lower(), words))
        return signature

    def _schema(self, part: Node, kind: Kind, *, named: bool = True) -> None:
        owner, rest = "", part.parts[1:]
        if named:
            if not rest or rest[0].is_list:
                return
            name, rest = rest[0], rest[1:]
            owner = name.word.lower()
            self._index.add(kind, owner, name.start, Role.DECLARES)
            self._outline.append(_entry(kind, name, "", part))
        for key, value in pairwise(rest):
            if not key.is_list and key.word.startswith(":") and value.is_list:
                self._field(key.word.lower(), value, owner, kind)

    def _field(self, key: str, value: Node, owner: str, kind: Kind) -> None:
        if key in _VARIABLE_SECTIONS:
            signature = self._variables(value.parts, owner)
            if kind is not Kind.METHOD or owner:
                self._index.signatures[kind, owner] = signature
                self._outline[-1].detail = _show(signature)
        elif key in _SUBTASKS:
            for each in value.parts if value.head == "and" or (value.parts and value.parts[0].is_list) else [value]:
                self._subtask(each, owner)
        elif key == ":task":
            self._subtask(value, owner)
        elif key in (":precondition", ":condition"):
            self._formula(value, Role.REQUIRES, owner)
        elif key == ":effect":
            self._formula(value, Role.PROVIDES, owner)
        elif key in (":duration", ":constraints"):
            self._formula(value, Role.USES, owner, number=key == ":duration")

    def _subtask(self, node: Node, owner: str) -> None:
        if not node.is_list or not node.parts:
            return
        if len(node.parts) == 2 and node.parts[1].is_list and not node.parts[0].is_list:
            node = node.parts[1]
        if node.parts and not node.parts[0].is_list and node.head != "and":
            self._index.add(Kind.TASK, node.head, node.parts[0].start, Role.USES, owner)
            self._terms(node.parts[1:], owner)

    def _formula(self, node: Node, role: Role, owner: str, *, number: bool = False) -> None:
        """Walk a condition, an effect or an expression without recursion on deep text."""
        stack = [(node, role, number)]
        while stack:
            current, role, number = stack.pop()
            if not current.is_list:
                self._terms([current], owner)
                continue
            head = current.head
            if head in ("forall", "exists") and len(current.parts) > 1 and current.parts[1].is_list:
                self._variables(current.parts[1].parts, owner)
                stack += [(each, role, number) for each in current.parts[2:]]
            elif head == "when":
                stack += [(each, Role.REQUIRES, False) for each in current.parts[1:2]]
                stack += [(each, role, number) for each in current.parts[2:]]
            elif head == "not" and role is Role.PROVIDES:
                stack += [(each, Role.MODIFIES, number) for each in current.parts[1:]]
            elif head in ("increase", "decrease", "assign", "scale-up", "scale-down"):
                stack += [(each, Role.MODIFIES, True) for each in current.parts[1:2]]
                stack += [(each, Role.USES, True) for each in current.parts[2:]]
            elif _is_moment(current):
                stack += [(each, role, number) for each in current.parts[2:]]
            elif head in _CONNECTIVES or head in _CONNECTIVES_OF_TIME or not head:
                inside = number or head in _ARITHMETIC
                parts = current.parts[1:] if head else current.parts
                stack += [(each, role, inside) for each in reversed(parts)]
            else:
                kind = Kind.FUNCTION if number else Kind.PREDICATE
                self._index.add(kind, head, current.parts[0].start, role, owner)
                self._terms(current.parts[1:], owner)

    def _terms(self, parts: Sequence[Node], owner: str) -> None:
        for each in parts:
            word = each.word.lower()
            if each.is_list or not word or _NUMBER.fullmatch(word) or word in ("minimize", "maximize"):
                continue
            if word.startswith("?"):
                self._index.add(Kind.VARIABLE, word, each.start, Role.USES, owner)
            elif not word.startswith(":") and word not in ("total-time", "total-cost", "undefined"):
                self._index.add(Kind.OBJECT, word, each.start, Role.USES, owner)


def index_expression(index: Index, text: str, base: int, role: Role, owner: str) -> None:
    """Add the names of a PDDL expression inside another text, at the offset `base`."""
    for expression in parse(text, base):
        _Definition(index, expression)._formula(expression, role, owner)  # noqa: SLF001 - a definition without a title


def _is_moment(node: Node) -> bool:
    words = [each.word.lower() for each in node.parts[:2]]
    return words in (["at", "start"], ["at", "end"], ["over", "all"]) and len(node.parts) > 2


def _without_time(node: Node) -> Node:
    """Return the literal of a timed initial literal, `(at 9 (open))`; another node itself."""
    parts = node.parts
    if node.head == "at" and len(parts) == 3 and parts[2].is_list and _NUMBER.fullmatch(parts[1].word):
        return parts[2]
    return node


def _typed(parts: Sequence[Node]) -> Iterator[tuple[Node, list[Node]]]:
    """Yield each name of a typed list, with the words of its type; `(either a b)` gives two."""
    waiting: list[Node] = []
    rest = list(parts)
    while rest:
        each = rest.pop(0)
        if each.word == "-" and rest:
            kind = rest.pop(0)
            kinds = kind.parts[1:] if kind.is_list else [kind]
            yield from ((name, kinds) for name in waiting)
            waiting = []
        elif not each.is_list and each.word != "-":
            waiting.append(each)
    yield from ((name, []) for name in waiting)


def _entry(kind: Kind, name: Node, detail: str, whole: Node | None = None) -> Entry:
    around = whole or name
    return Entry(kind, name.word.lower(), around.start, around.end, name.start, detail)


def _show(signature: Sequence[tuple[str, str]]) -> str:
    return "(" + ", ".join(f"{name}: {kind}" if kind else name for name, kind in signature) + ")"
