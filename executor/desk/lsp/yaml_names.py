"""The names in a domain or a problem in YAML or JSON, by the keys under which they stand."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from executor.desk.lsp.names import Entry, Index, Kind, Role
from executor.desk.lsp.pddl_names import index_expression
from planner.language.documents.yaml_events import read_events

_NAME: Final = re.compile(r"\?[^\s(),:=<>!+*/]*|[^\s(),:=<>!+*/?\"'-][^\s(),:=<>!+*/\"']*")
_NUMBER: Final = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?")
_WORDS: Final = frozenset({"not", "and", "or", "makespan", "cost", "true", "false"})
_ROLES: Final = {
    "requires": Role.REQUIRES,
    "throughout": Role.REQUIRES,
    "condition": Role.REQUIRES,
    "provides": Role.PROVIDES,
    "modifies": Role.MODIFIES,
    "senses": Role.PROVIDES,
    "lists": Role.PROVIDES,
    "head": Role.PROVIDES,
    "constraints": Role.REQUIRES,
    "items": Role.REQUIRES,
    "until": Role.REQUIRES,
    "cost": Role.USES,
    "duration": Role.USES,
    "at_least": Role.USES,
    "at_most": Role.USES,
    "initial": Role.INITIAL,
    "unknown": Role.INITIAL,
    "goal": Role.GOAL,
    "hard": Role.GOAL,
    "stale_with": Role.MODIFIES,
}
_HEADS: Final = {"after": Kind.ACTION, "subtasks": Kind.TASK, "tasks": Kind.TASK, "task": Kind.TASK, "do": Kind.TASK}
_KEYED: Final = {"soft": Role.GOAL, "due": Role.GOAL, "windows": Role.INITIAL, "values": Role.INITIAL}
"""Mappings whose keys are conditions."""
_DECLARING: Final = {
    "types": Kind.TYPE,
    "constants": Kind.OBJECT,
    "objects": Kind.OBJECT,
    "predicates": Kind.PREDICATE,
    "functions": Kind.FUNCTION,
    "actions": Kind.ACTION,
    "methods": Kind.METHOD,
    "for_each": Kind.TASK,
}


@dataclass(slots=True)
class Node:
    """A value of the text: a scalar with its `value`, or a list or mapping with its `parts`; a mapping has pairs."""

    start: int
    end: int
    value: str = ""
    quoted: bool = False
    parts: list[Node] = field(default_factory=list)
    kind: str = "scalar"

    @property
    def pairs(self) -> Iterator[tuple[Node, Node]]:
        """The keys of a mapping with their values."""
        return zip(self.parts[::2], self.parts[1::2], strict=False) if self.kind == "map" else iter(())

    @property
    def items(self) -> list[Node]:
        """The items of a list; the value itself, where it is none."""
        return self.parts if self.kind == "seq" else [self]


def parse(text: str) -> list[Node]:
    """Return the documents of `text`; raises what the YAML parser raises."""
    documents: list[Node] = []
    stack: list[Node] = []
    anchors: dict[str, Node] = {}
    for event in read_events(text):
        kind = event.kind
        if kind == "scalar":
            node = Node(event.start, event.end, event.value, event.style in ("'", '"'))
        elif kind in ("map", "list"):
            node = Node(event.start, len(text), kind="map" if kind == "map" else "seq")
        elif kind == "end":
            stack.pop().end = event.end
            continue
        elif kind == "alias":
            node = anchors.get(event.anchor or "", Node(event.start, event.end))
        else:
            continue
        if event.anchor and kind != "alias":
            anchors[event.anchor] = node
        (stack[-1].parts if stack else documents).append(node)
        if kind in ("map", "list"):
            stack.append(node)
    return documents


def index_yaml(text: str) -> Index:
    """Return the index of a YAML or JSON text; raises what the YAML parser raises for text that is neither."""
    index = Index(text)
    documents = parse(text)
    functions = frozenset(_declared_functions(documents))
    for document in documents:
        _Reader(index, document, functions).read()
    _settle(index, functions)
    return index


def _declared_functions(documents: Iterable[Node]) -> Iterator[str]:
    for document in documents:
        for key, value in document.pairs:
            if key.value == "functions":
                yield from (name.value for name, _ in value.pairs)


def _settle(index: Index, functions: Collection[str]) -> None:
    """Give names the kinds that declarations tell: functions, and actions among the tasks."""
    actions = index.declared(Kind.ACTION)
    for place, each in enumerate(index.found):
        kind = each.kind
        if kind is Kind.PREDICATE and each.name in functions:
            kind = Kind.FUNCTION
        elif kind is Kind.TASK and each.name in actions:
            kind = Kind.ACTION
        if kind is not each.kind:
            index.found[place] = type(each)(kind, each.name, each.start, each.end, each.role, each.owner)


class _Reader:
    """Reads one document."""

    def __init__(self, index: Index, document: Node, functions: Collection[str]) -> None:
        self._index, self._document, self._functions = index, document, functions
        self._parameters: frozenset[str] = frozenset()

    def read(self) -> None:
        keys = {key.value for key, _ in self._document.pairs}
        is_problem = "problem" in keys
        for key, value in self._document.pairs:
            if key.value == "problem":
                self._title(Kind.PROBLEM, value, declares=True)
        for key, value in self._document.pairs:
            if key.value == "domain":
                self._title(Kind.DOMAIN, value, declares=not is_problem)
        for key, value in self._document.pairs:
            if key.value in _DECLARING:
                self._declare(_DECLARING[key.value], value)
            elif key.value == "tasks" and not is_problem:
                self._declare(Kind.TASK, value)
            elif key.value == "derived":
                for rule in value.items:
                    self._schema(rule, "")
            elif key.value not in ("domain", "problem", "description"):
                self._field(key, value, "")

    def _title(self, kind: Kind, value: Node, *, declares: bool) -> None:
        self._add(kind, value, Role.DECLARES if declares else Role.USES, "")
        if declares:
            document = self._document
            self._index.outline.append(Entry(kind, value.value, document.start, document.end, value.start))

    @property
    def _outline(self) -> list[Entry]:
        return self._index.outline[-1].parts if self._index.outline else self._index.outline

    def _add(self, kind: Kind, node: Node, role: Role, owner: str) -> None:
        start = node.start + node.quoted
        self._index.add(kind, node.value, start, role, owner)

    def _declare(self, kind: Kind, value: Node) -> None:
        for key, each in value.pairs:
            self._add(kind, key, Role.DECLARES, "")
            entry = Entry(kind, key.value, key.start, each.end, key.start + key.quoted)
            self._outline.append(entry)
            self._describe(kind, key, each, entry)
        if kind in (Kind.TYPE, Kind.OBJECT):
            for each in value.parts if value.kind == "seq" else ():
                self._add(kind, each, Role.DECLARES, "")
                self._outline.append(Entry(kind, each.value, each.start, each.end, each.start + each.quoted))

    def _describe(self, kind: Kind, key: Node, value: Node, entry: Entry) -> None:
        name = key.value
        if kind in (Kind.TYPE, Kind.OBJECT):
            kinds = [each for each in value.items if each.kind == "scalar" and each.value]
            for each in kinds:
                self._add(Kind.TYPE, each, Role.USES, "")
            words = tuple(each.value for each in kinds)
            if kind is Kind.TYPE:
                self._index.parents[name] = words
            self._index.types["", name] = entry.detail = " ".join(words)
            return
        inside = f"{kind.value} {name}" if kind in (Kind.PREDICATE, Kind.FUNCTION) else name
        signature = self._signature(value, inside)
        self._index.signatures[kind, name] = signature
        entry.detail = "(" + ", ".join(f"{each}: {of}" if of else each for each, of in signature) + ")"
        if kind in (Kind.PREDICATE, Kind.FUNCTION):
            for inner, each in value.pairs:
                if inner.value == "stale_with":
                    self._conditions(each, Role.MODIFIES, name)
        else:
            self._schema(value, name)

    def _signature(self, value: Node, owner: str) -> list[tuple[str, str]]:
        parameters = (
            value if value.kind == "seq" else next((v for k, v in value.pairs if k.value == "parameters"), value)
        )
        found: list[tuple[str, str]] = []
        if parameters.kind == "seq":
            for each in parameters.parts:
                self._add(Kind.TYPE, each, Role.USES, "")
                found.append(("", each.value))
        elif parameters is not value:
            for name, each in parameters.pairs:
                word = name.value.removeprefix("?")
                start = name.start + name.quoted + len(name.value) - len(word)
                self._index.add(Kind.VARIABLE, word, start, Role.DECLARES, owner)
                kinds = [one for one in each.items if one.kind == "scalar"]
                for one in kinds:
                    self._add(Kind.TYPE, one, Role.USES, "")
                words = " ".join(one.value for one in kinds)
                self._index.types[owner, word] = words
                found.append((word, words))
        return found

    def _schema(self, value: Node, owner: str) -> None:
        """Read the fields of an action, a method, or a part of one."""
        outer = self._parameters
        named = [v for k, v in value.pairs if k.value in ("parameters", "variables", "creates")]
        self._parameters = outer | {key.value.removeprefix("?") for each in named for key, _ in each.pairs}
        for key, each in value.pairs:
            if key.value in ("variables", "creates") or (key.value == "parameters" and not owner):
                for name, kind in each.pairs:
                    self._index.add(Kind.VARIABLE, name.value.removeprefix("?"), name.start, Role.DECLARES, owner)
                    for one in kind.items:
                        self._add(Kind.TYPE, one, Role.USES, "")
            elif key.value != "parameters":
                self._field(key, each, owner)
        self._parameters = outer

    def _field(self, key: Node, value: Node, owner: str) -> None:
        name = key.value
        if name in _HEADS:
            for each in value.items:
                self._step(each, owner, _HEADS[name])
        elif name in ("when", "outcomes", "at_start", "at_end"):
            for each in value.items:
                self._schema(each, owner)
        elif name in ("goal", "duration") and value.kind == "map":
            self._schema(value, owner)
        elif name in _KEYED and value.kind == "map":
            for inner, _ in value.pairs:
                self._conditions(inner, _KEYED[name], owner)
        elif name == "timed" and value.kind == "map":
            for _, each in value.pairs:
                self._conditions(each, Role.INITIAL, owner)
        elif name == "uses" and value.kind == "map":
            for _, each in value.pairs:
                self._conditions(each, Role.USES, owner)
        elif name in _ROLES:
            self._conditions(value, _ROLES[name], owner)

    def _conditions(self, value: Node, role: Role, owner: str) -> None:
        for each in value.items:
            if each.kind == "scalar":
                self._condition(each, role, owner)
            elif each.kind == "map":
                self._schema(each, owner)

    def _raw(self, node: Node) -> tuple[str, int] | None:
        """Return the text of a scalar and its offset; None where the text has it in other letters."""
        start = node.start + node.quoted
        text = self._index.text[start : start + len(node.value)]
        return (text, start) if text == node.value else None

    def _condition(self, node: Node, role: Role, owner: str) -> None:
        raw = self._raw(node)
        if raw is None:
            return
        text, start = raw
        if text.lstrip().startswith("("):
            index_expression(self._index, text, start, role, owner)
            return
        if text.startswith("not ") and role is Role.PROVIDES:
            role = Role.MODIFIES
        self._atoms(text, start, role, owner)

    def _atoms(self, text: str, start: int, role: Role, owner: str) -> None:
        depth = 0
        compared = bool(re.search(r"[=<>]", text))
        position = 0
        for match in _NAME.finditer(text):
            between = text[position : match.start()]
            depth = max(0, depth + between.count("(") - between.count(")"))
            position = match.end()
            word = match[0]
            if word in ("_", "-") or _NUMBER.fullmatch(word) or (not depth and word in _WORDS):
                continue
            called = text[match.end() : match.end() + 1] == "("
            bare = word.removeprefix("?")
            at = start + match.start() + len(word) - len(bare)
            if called or (not depth and not compared):
                self._index.add(Kind.PREDICATE, word, start + match.start(), role, owner)
            elif bare in self._parameters:
                self._index.add(Kind.VARIABLE, bare, at, Role.USES, owner)
            elif depth:
                self._index.add(Kind.OBJECT, bare, at, Role.USES, owner)
            else:
                kind = Kind.FUNCTION if bare in self._functions else Kind.OBJECT
                self._index.add(kind, bare, at, role, owner)

    def _step(self, node: Node, owner: str, kind: Kind) -> None:
        """Read `name(arg, …)` or `label: name(arg, …)`."""
        raw = self._raw(node) if node.kind == "scalar" else None
        if raw is None:
            return
        text, start = raw
        label = re.match(r"\s*[^\s():]+:\s+", text)
        skipped = label.end() if label else 0
        head = _NAME.search(text, skipped)
        if head is None:
            return
        self._index.add(kind, head[0], start + head.start(), Role.USES, owner)
        rest = text[head.end() :]
        for match in _NAME.finditer(rest):
            bare = match[0].removeprefix("?")
            if bare == "_" or _NUMBER.fullmatch(bare):
                continue
            at = start + head.end() + match.end() - len(bare)
            known = Kind.VARIABLE if bare in self._parameters else Kind.OBJECT
            self._index.add(known, bare, at, Role.USES, owner)
