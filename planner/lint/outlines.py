"""Outlines of files: where each declaration, and each of its fields, stands in YAML, JSON, PDDL, HDDL or Python.

The model knows no places, so that reading stays fast. Lint looks for the declaration of a finding in the outline, for
its field there, and for the atom or name in the field: the nearest that is found is the place of the finding.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePath

from planner.language.wrong_words import word_pattern
from planner.lightweight import Any, Final
from planner.lint.findings import Span
from planner.model.formulas import OPEN, Atom

Key = tuple[str, ...]
"""The kind of a declaration, its name, and the field: ("action", "drive", "requires"); or a section: ("goal",)."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A declaration or field: its text from `start` up to `end`, its name from `name_start` up to `name_end`."""

    start: int
    end: int
    name_start: int
    name_end: int
    path: tuple[Any, ...] = ()
    """Keys and indices that lead to it in a document, from the number of the document on."""


@dataclass(frozen=True, slots=True)
class Node:
    """A list, mapping or scalar of a document: where its key and value stand, and whether it is written in brackets."""

    kind: str
    key: tuple[int, int] | None
    start: int
    end: int
    is_flow: bool


@dataclass
class SourceText:
    """A file's text and name; a name in angle brackets, such as `<domain text>`, is a text without a file.

    Of a document with several problems, the outline has the goal and the objects of `problem`, or else of the first.
    """

    name: str
    text: str
    problem: str | None = None
    entries: dict[Key, Entry] = field(default_factory=dict, init=False)
    _is_outlined: bool = field(default=False, init=False)

    def of_problem(self, problem: str | None) -> SourceText:
        """Return the same text with the outline for this problem; most texts have one problem, and are shared."""
        if self.language not in ("yaml", "json") or len(re.findall(r"\bproblem[\"']?\s*:", self.text)) < 2:
            return self
        return SourceText(self.name, self.text, problem)

    @property
    def language(self) -> str:
        """The language: yaml, json, pddl or python."""
        suffix = PurePath(self.name).suffix.lower()
        if suffix == ".py":
            return "python"
        if suffix in (".pddl", ".hddl"):
            return "pddl"
        if suffix in (".yaml", ".yml"):
            return "yaml"
        if suffix == ".json" or self.text.lstrip()[:1] in ("{", "["):
            return "json"
        return "pddl" if not suffix and self.text.lstrip("\ufeff \t\r\n")[:1] in ("(", ";") else "yaml"

    @cached_property
    def _lines(self) -> list[int]:
        return [0, *[match.end() for match in re.finditer(r"\r\n|\r|\n", self.text)]]

    def span(self, start: int, end: int) -> Span:
        """Return the span from offset `start` up to `end`."""
        return Span(self.name, *self._position(start), *self._position(max(start, end)))

    def _position(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    def offset(self, line: int, column: int) -> int:
        """Return the offset of a place."""
        if line > len(self._lines):
            return len(self.text)
        return min(self._lines[line - 1] + column - 1, len(self.text))

    @cached_property
    def nodes(self) -> dict[tuple[Any, ...], Node]:
        """The parts of a YAML or JSON file, by the paths to them; empty where it is not read."""
        return dict(_read_nodes(self.text)) if self.language in ("yaml", "json") else {}

    @cached_property
    def blank(self) -> str:
        """The text with its comments blanked out; only of PDDL, whose comments may hold anything."""
        if self.language != "pddl":
            return self.text
        return re.sub(r";[^\n\r]*", lambda comment: " " * len(comment[0]), self.text)

    def outline(self) -> dict[Key, Entry]:
        """Return the places of declarations and fields."""
        if not self._is_outlined:
            self._is_outlined = True
            readers = {"pddl": _outline_pddl, "python": _outline_python}
            for key, entry in readers.get(self.language, _outline_document)(self):
                self.entries.setdefault(key, entry)
        return self.entries

    def search(self, part: Atom | str, start: int, end: int) -> tuple[int, int] | None:
        """Find an atom or a name between two offsets."""
        for pattern in _patterns_of(part):
            found = re.compile(pattern, re.IGNORECASE).search(self.blank, start, end)
            if found:
                return found.start(), found.end()
        return None


def _patterns_of(part: Atom | str) -> Iterator[str]:
    """Yield the expressions that find `part`, the best first: as it is written in documents, in PDDL, and its name."""
    if isinstance(part, str):
        yield word_pattern(part)
        return
    args = [r"[?\w-]+" if arg == OPEN else rf"\??{re.escape(arg.removeprefix('?'))}" for arg in part.args]
    name = re.escape(part.predicate)
    if args:
        listed, spaced = r"\s*,\s*".join(args), r"\s+".join([name, *args])
        yield rf"(?<![\w-]){name}\(\s*{listed}\s*\)"
        yield rf"\(\s*{spaced}\s*\)"
    else:
        yield rf"(?<![\w(-]){name}(?![\w(-])"
        yield rf"\(\s*{name}\s*\)"
    yield word_pattern(part.predicate)


_SECTIONS: Final = {
    "action": "actions", "predicate": "predicates", "type": "types", "function": "functions", "task": "tasks",
    "method": "methods", "constant": "constants", "capacity": "capacity", "resource": "budgets",
}  # fmt: skip
"""The keys of documents for the kinds of declarations."""
_PLAIN: Final = (
    "goal", "initial", "objects", "values", "constraints", "deadline", "timed", "windows", "due", "unknown", "tasks",
    "problem", "budgets", "metric", "objective",
)  # fmt: skip


def _read_nodes(text: str) -> Iterator[tuple[tuple[Any, ...], Node]]:
    """Yield the nodes of a document in YAML (of which JSON is a part), the inner ones first."""
    from planner.language.documents.yaml_events import read_events

    stack: list[list[Any]] = []  # path, kind, start, is_flow, key, number of items
    number = 0
    try:
        for event in read_events(text):
            kind = event.kind
            if kind in ("map", "list"):
                path, key = _take_place(stack, number)
                stack.append([path, kind, event.start, event.is_flow, None, 0, key])
            elif kind == "end":
                path, form, start, is_flow, _, _, key = stack.pop()
                yield path, Node(form, key, start, event.end, is_flow)
            elif kind in ("scalar", "alias"):
                place = event.start, event.end
                if stack and stack[-1][1] == "map" and stack[-1][4] is None:
                    stack[-1][4] = (event.value, place)
                else:
                    path, key = _take_place(stack, number)
                    yield path, Node("scalar", key, *place, is_flow=False)
            number += kind == "document end"
    except Exception:  # noqa: BLE001 - the scanner has more ways to stumble than it declares
        return


def _take_place(stack: list[list[Any]], number: int) -> tuple[tuple[Any, ...], tuple[int, int] | None]:
    """Return the path of the next value, and where its key stands."""
    if not stack:
        return (number,), None
    frame = stack[-1]
    if frame[1] == "list":
        frame[5] += 1
        return (*frame[0], frame[5] - 1), None
    name, place = frame[4] or ("", None)
    frame[4] = None
    return (*frame[0], name), place


def _outline_document(source: SourceText) -> Iterator[tuple[Key, Entry]]:
    kinds = {key: kind for kind, key in _SECTIONS.items()}
    for full, node in _choose_nodes(source):
        in_list = source.language == "json" and len(full) > 1 and isinstance(full[1], int)
        path = full[1:] if in_list else full
        key = node.key or (node.start, node.start)
        entry = Entry(key[0] if node.key else node.start, node.end, *key, full)
        if len(path) == 2 and path[1] in _PLAIN and (path[1] != "tasks" or node.kind != "map"):
            yield (path[1],), entry
        if len(path) in (3, 4) and path[1] in kinds and isinstance(path[2], str):
            yield (kinds[path[1]], *map(str, path[2:4])), entry
        if len(path) == 3 and path[1] in ("types", "derived") and isinstance(path[2], int):
            text = source.text[node.start : node.end]
            name = re.search(r"head[\"']?:\s*[\"']?([\w-]+)|^[\"']?([\w-]+)", text)
            found = next(filter(None, name.groups()), "") if name else ""
            yield ("derived" if path[1] == "derived" else "type", found), entry


def _choose_nodes(source: SourceText) -> Iterator[tuple[tuple[Any, ...], Node]]:
    """Yield the nodes, those of the chosen problem first; leave out those of other problems."""
    names = {}
    for path, node in source.nodes.items():
        if path[-1:] == ("problem",) and (len(path) == 2 or (len(path) == 3 and isinstance(path[1], int))):
            names[path[:-1]] = source.text[node.start : node.end].strip("\"'")
    own = next((document for document, name in names.items() if name == source.problem), None)
    if own is not None:
        yield from ((path, node) for path, node in source.nodes.items() if path[: len(own)] == own)
    for path, node in source.nodes.items():
        if own is None or not any(path[: len(each)] == each for each in names):
            yield path, node


_PDDL_KINDS: Final = {
    ":action": "action", ":durative-action": "action", ":method": "method", ":task": "task", ":derived": "derived",
    ":predicates": "predicate", ":functions": "function", ":types": "types", ":constants": "constants",
    ":init": "initial", ":goal": "goal", ":objects": "objects", ":constraints": "constraints", ":htn": "tasks",
    ":metric": "metric",
}  # fmt: skip
_PDDL_FIELDS: Final = {
    ":parameters": "parameters", ":precondition": "requires", ":condition": "requires", ":effect": "provides",
    ":duration": "duration", ":subtasks": "subtasks", ":ordered-subtasks": "subtasks", ":tasks": "subtasks",
    ":ordered-tasks": "subtasks", ":ordering": "ordering", ":task": "task",
}  # fmt: skip


def _outline_pddl(source: SourceText) -> Iterator[tuple[Key, Entry]]:
    """Yield the sections of a definition, the fields of actions and methods, and the declared predicates."""
    opened: list[int] = []
    for match in re.finditer(r"[()]", source.blank):
        if match[0] == "(":
            opened.append(match.start())
        elif opened:
            start = opened.pop()
            if len(opened) == 1:
                yield from _outline_section(source, start, match.end())


def _outline_section(source: SourceText, start: int, end: int) -> Iterator[tuple[Key, Entry]]:
    named = re.compile(r"\(\s*problem\s+([^\s()]+)", re.IGNORECASE).match(source.blank, start, end)
    if named:
        yield ("problem",), Entry(start, end, *named.span(1))
    words = re.compile(r"\(\s*(:[\w-]+)\s*(?:\(\s*)?([^\s()]*)").match(source.blank, start, end)
    kind = _PDDL_KINDS.get(words[1].lower()) if words else None
    if words is None or kind is None:
        return
    whole = Entry(start, end, words.start(2), words.end(2))
    if kind in ("predicate", "function"):
        for each in re.compile(r"\(\s*([^\s():]+)[^()]*\)").finditer(source.blank, start + 1, end):
            yield (kind, each[1].lower()), Entry(each.start(), each.end(), *each.span(1))
    elif kind in ("action", "method", "task", "derived"):
        name = words[2].lower()
        yield (kind, name), whole
        keys = list(re.compile(r"(?<=\s)(:[\w-]+)").finditer(source.blank, words.end(2), end))
        for number, key in enumerate(keys):
            stop = keys[number + 1].start() if number + 1 < len(keys) else end - 1
            if key[1].lower() in _PDDL_FIELDS:
                yield (kind, name, _PDDL_FIELDS[key[1].lower()]), Entry(key.start(), stop, *key.span())
    else:
        yield (kind,), Entry(start, end, *words.span(1))


def _outline_python(source: SourceText) -> Iterator[tuple[Key, Entry]]:
    """Yield the calls and functions that declare something, by their names, and the keywords of calls."""
    try:
        tree = ast.parse(source.text)
    except (SyntaxError, ValueError):
        return
    starts = [0]
    for line in source.text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    data = source.text.encode()

    def place(node: ast.AST, name: ast.AST | None = None) -> Entry:
        ends = [starts[each.lineno - 1] + each.col_offset for each in (node, name or node)]  # type: ignore[attr-defined]
        last = starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
        start, own, end = (len(data[:each].decode(errors="replace")) for each in (*ends, last))
        return Entry(start, end, own, own)

    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _outline_function(node, place)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield from _outline_call(node, _KINDS.get(node.func.attr, node.func.attr), place)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Domain":
            yield from (((each.arg,), place(each)) for each in node.keywords if each.arg in ("types", "constants"))


_KINDS: Final = {"derive": "derived", "for_each": "task"}
"""What calls declare, where they have another name."""


def _outline_function(node: ast.FunctionDef | ast.AsyncFunctionDef, place: Any) -> Iterator[tuple[Key, Entry]]:
    """Yield a function that is decorated, and the keywords of its decorators."""
    for each in node.decorator_list:
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute):
            yield from (((each.func.attr, node.name, one.arg), place(one)) for one in each.keywords if one.arg)
            yield (each.func.attr, node.name), place(node)
    yield ("action", node.name), place(node)


def _outline_call(node: ast.Call, kind: str, place: Any) -> Iterator[tuple[Key, Entry]]:
    first = node.args[0] if node.args else None
    name = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
    name = name.partition("(")[0]
    for keyword in node.keywords:
        if keyword.arg and name:
            yield (kind, name, keyword.arg), place(keyword)
        elif keyword.arg in _PLAIN and kind == "problem":
            yield (keyword.arg,), place(keyword)
    if kind == "problem":
        yield (kind,), place(node, first)
    if name:
        if len(node.args) > 1 and kind in ("action", "task", "method", "derived"):
            yield (kind, name, "parameters"), place(node.args[1])
        yield (kind, name), place(node, first)
        if kind == "problem":
            yield from (((keyword.arg,), place(keyword)) for keyword in node.keywords if keyword.arg in _PLAIN)


def keys_of(place: str) -> list[Key]:
    """Return the keys under which a declaration such as "action drive" may stand, the likeliest first."""
    place = re.sub(r"^\S+:\d+(?::\d+)?: ", "", place)
    kind, _, name = place.partition(" ")
    if kind == "derived":
        return [("derived", name.removeprefix("predicate "))]
    if kind == "predicate":
        return [(kind, name), ("derived", name)]
    if kind == "type":
        return [(kind, name), ("types",)]
    if kind == "constraint":
        return [("constraints",)]
    if kind == "task" and "(" in name:
        return [("tasks",), (kind, name.partition("(")[0])]
    if place == "the initial tasks" or kind == "tasks":
        return [("tasks",)]
    if kind == "deadline":
        return [("due",), ("goal",)] if " of " in place else [("deadline",), ("goal",)]
    if kind == "resource":
        return [(kind, name), ("budgets",)]
    if kind in ("values", "window"):
        own = [("windows",), ("timed",), ("initial",)] if kind == "window" else [("values",), ("initial",)]
        return [*own, ("goal",), ("problem",)]
    if kind == "metric":
        return [(kind,), ("objective",)]
    if kind in ("goal", "initial", "objects"):  # what a problem leaves out belongs to its goal, or to all of it
        return list(dict.fromkeys([(kind,), ("goal",), ("problem",)]))
    if kind == "problem":
        return [(kind,)]
    return [(kind, name)]


def locate(place: str, field: str, part: Atom | str, texts: list[SourceText]) -> tuple[SourceText, int, int] | None:
    """Find the text and the offsets of `part` in the `field` of the declaration `place`, or of what is around it."""
    if place.startswith("deadline of "):
        part = part or place.removeprefix("deadline of ")
    for key in keys_of(place):
        for source in reversed(texts):
            outline = source.outline()
            lowered = key if source.language != "pddl" else tuple([each.lower() for each in key])
            entry = outline.get(lowered)
            if entry is not None:
                return (source, *_find_within(source, lowered, entry, field, part))
    for source in texts:  # what nobody declares stands where it is used
        name = part or place.rpartition(" ")[2]
        found = source.search(name, 0, len(source.text)) if name else None
        if found:
            return (source, *found)
    return None


_ELSEWHERE: Final = {"modifies": "provides", "throughout": "requires"}
"""The fields of PDDL that hold what documents have fields of their own for."""


def _find_within(source: SourceText, key: Key, entry: Entry, field: str, part: Atom | str) -> tuple[int, int]:
    if part and not field and key == ("types",):
        return source.search(part, entry.start, entry.end) or (entry.name_start, entry.name_end)
    inside = source.outline().get((*key, field)) if field else None
    if field in _ELSEWHERE and inside is None:
        inside = source.outline().get((*key, _ELSEWHERE[field]))
    for each in (inside, entry):
        found = source.search(part, each.start, each.end) if part and each is not None else None
        if found:
            return found
    best = inside or entry
    return best.name_start, best.name_end or best.name_start
