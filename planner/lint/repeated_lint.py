"""Lint of lists: facts, goals and tasks that stand in a text twice.

Readers keep one of two equal facts, so that the model does not show them: the texts are compared.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from planner.lightweight import Final
from planner.lint.findings import Finding, Level
from planner.lint.fixes import remove_item
from planner.lint.outlines import Entry, SourceText

LISTS: Final = {"goal": Level.WARNING, "initial": Level.HINT, "tasks": Level.HINT}
"""The sections that list facts or tasks, with how much it matters that they do so twice."""
MOST_CHARACTERS: Final = 500_000
"""Most length of a list that is compared: longer ones come from programs."""
_VERBS: Final = {"goal": "the goal asks for", "initial": "the initial state has", "tasks": "the tasks are"}

Item = tuple[str, int, int]
"""What a list has, without its layout, and the offsets where it stands."""


def check_repeated(texts: Iterable[SourceText]) -> Iterator[Finding]:
    """Yield what stands in a list twice, at its second place."""
    for source in texts:
        for section, level in LISTS.items():
            entry = source.outline().get((section,))
            seen: dict[str, int] = {}
            for text, start, end in (
                _items_of(source, section, entry) if entry and entry.end - entry.start < MOST_CHARACTERS else ()
            ):
                if text in seen:
                    line = source.span(seen[text], seen[text]).line
                    message = f"{_VERBS[section]} {text} twice, first in line {line}"
                    hint, span = "should one of them be about something else?", source.span(start, end)
                    fix = remove_item(source, start, end) if section == "initial" else None  # it changes no model
                    yield Finding(level, "stated-twice", section, message, hint, span=span, fix=fix)
                seen.setdefault(text, start)


def _items_of(source: SourceText, section: str, entry: Entry) -> Iterator[Item]:
    if source.language == "pddl":
        yield from _forms_of(source, section, entry)
    elif source.language == "python":
        yield from _elements_of(source, entry)
    else:
        paths = [path for path in source.nodes if path[:-1] in (entry.path, (*entry.path, "hard"))]
        for path in paths:
            node = source.nodes[path]
            if node.kind == "scalar" and isinstance(path[-1], int):
                yield _normalise(source.text[node.start : node.end].strip("\"'")), node.start, node.end


def _normalise(text: str) -> str:
    return re.sub(r"\s*([(),:])\s*", r"\1", " ".join(text.split())).replace(",", ", ").replace(":", ": ")


def _forms_of(source: SourceText, section: str, entry: Entry) -> Iterator[Item]:
    """Yield the forms of a section of PDDL: those of its conjunction in a goal, and of its list of tasks."""
    text, wanted = source.blank, {"initial": 2, "goal": 3}.get(section, 0)
    opened: list[int] = []
    heads: list[str] = []
    for found in re.compile(r"\(\s*([^\s()]*)|\)").finditer(text, entry.start, entry.end):
        if found[0] != ")":
            opened.append(found.start())
            heads.append(found[1].lower())
            continue
        if not opened:
            return
        start = opened.pop()
        heads.pop()
        if len(opened) + 1 == wanted and (section != "goal" or heads[-1] == "and"):
            yield " ".join(text[start : found.end()].split()).lower(), start, found.end()


def _elements_of(source: SourceText, entry: Entry) -> Iterator[Item]:
    """Yield the elements of the list that a keyword of Python has."""
    begin = source.text.find("=", entry.start, entry.end) + 1
    text = f"({source.text[begin : entry.end]})"
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return
    lines = [0, *[found.end() for found in re.finditer("\n", text)]]
    for each in node.elts if isinstance(node, ast.List | ast.Tuple) else ():
        if each.end_lineno is not None and each.end_col_offset is not None:
            start = begin - 1 + lines[each.lineno - 1] + each.col_offset
            end = begin - 1 + lines[each.end_lineno - 1] + each.end_col_offset
            is_text = isinstance(each, ast.Constant) and isinstance(each.value, str)
            yield _normalise(str(each.value)) if is_text else ast.unparse(each), start, end  # type: ignore[attr-defined]
