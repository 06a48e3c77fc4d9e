"""Corrections of texts: from terms of declarations to edits, and edits to a new text.

Edits replace spans, so that comments, order and layout of all else stay as the author wrote them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from planner.lightweight import replace
from planner.lint.findings import Edit, Finding, Fix, Mend
from planner.lint.outlines import Entry, Node, SourceText, keys_of, locate


def place_findings(findings: Iterable[Finding], texts: list[SourceText]) -> list[Finding]:
    """Return `findings` with their spans in `texts`, and with the fixes that can be written there."""
    return [_place(finding, texts) for finding in findings]


def _place(finding: Finding, texts: list[SourceText]) -> Finding:
    if finding.span is not None:
        return finding
    found = locate(finding.at or finding.place, finding.field, finding.part, texts)
    if found is None:
        return replace(finding, span=texts[-1].span(0, 0)) if texts else finding
    source, start, end = found
    fix = finding.fix or (_write(finding.mend, finding.at or finding.place, source) if finding.mend else None)
    hint = finding.hint_pddl if source.language == "pddl" and finding.hint_pddl else finding.hint
    return replace(finding, span=source.span(start, end), fix=fix, hint=hint, hint_pddl="")


def _write(mend: Mend, place: str, source: SourceText) -> Fix | None:
    """Return the edits that make `mend` in the declaration `place`; None where the language needs another one."""
    outline = source.outline()
    key = next((each for each in keys_of(place) if each in outline), None)
    if key is None or source.language == "python":
        return None
    entry, inside = outline[key], outline.get((*key, mend.field), None)
    if mend.kind == "replace":
        edit = _replace(source, inside or entry, mend)
    elif mend.kind == "remove":
        edit = _remove(source, inside, mend)
    elif source.language == "pddl":
        edit = _add_delete(source, outline.get((*key, "provides")), mend)
    else:
        edit = _add_item(source, entry, inside, mend)
    titles = {
        "replace": f"write {mend.new} for {mend.old}",
        "add": f"add {mend.new} to {mend.field}",
        "remove": f"remove {mend.old}",
    }
    return None if edit is None else Fix(titles[mend.kind], (edit,))


def _replace(source: SourceText, entry: Entry, mend: Mend) -> Edit | None:
    from planner.model.formulas import Atom

    part: Atom | str = mend.old
    found = re.fullmatch(r"([^\s(]+)\((.*)\)", mend.old)
    if found:
        part = Atom(found[1], tuple([each.strip() for each in found[2].split(",")]))
    place = source.search(part, entry.start, entry.end)
    if place is None:
        return None
    text = mend.new
    written = source.text[place[0] : place[1]]
    if isinstance(part, str) and written.startswith("?"):
        text = "?" + text.removeprefix("?")
    if isinstance(part, Atom) and written.startswith("("):
        new = re.fullmatch(r"([^\s(]+)\((.*)\)", mend.new)
        if new is None:
            return None
        around = re.findall(r"\?[\w-]+", source.text[entry.start : entry.end])
        marks = {word.removeprefix("?"): word for word in (*around, *written.strip("()").split())}
        args = [each.strip() for each in new[2].split(",")]
        text = f"({' '.join([new[1], *[marks.get(each, each) for each in args]])})"
    return Edit(source.name, *place, text)


def _remove(source: SourceText, inside: Entry | None, mend: Mend) -> Edit | None:
    """Remove the item `mend.old` of a mapping or list in brackets, or the parameter of PDDL with its type."""
    if inside is None:
        return None
    place = source.search(mend.old, inside.name_end, inside.end)
    if place is None:
        return None
    start, end = place
    if source.language == "pddl":
        if ";" in source.text[end : source.text.find("\n", end)]:
            return None
        typed = re.compile(r"\s*-\s*(?:\(either[^()]*\)|[\w-]+)").match(source.blank, end)
        alone = re.search(r"\(\s*$|-\s*[^\s()]+\s*$", source.blank[inside.start : start])
        end = typed.end() if typed and alone else end
        left = len(source.blank[:start].rstrip(" "))
        if left < start and source.blank[left - 1] != "(":
            return Edit(source.name, left, end, "")
        return Edit(source.name, start, end + len(source.blank[end:]) - len(source.blank[end:].lstrip(" ")), "")
    node = source.nodes.get((*inside.path, mend.old))
    if node is None or node.key is None:
        return None
    parent = source.nodes.get(inside.path)
    if parent is None:
        return None
    if not parent.is_flow:
        return _remove_line(source, inside, node)
    start, end = node.key[0], node.end
    after = re.compile(r"\s*,\s*").match(source.text, end)
    before = re.search(r"\s*,\s*$", source.text[inside.start : start])
    if after:
        end = after.end()
    elif before:
        start = inside.start + before.start()
    return Edit(source.name, start, end, "")


def remove_item(source: SourceText, start: int, end: int) -> Fix | None:
    """Return the edit that removes a list's item between two offsets; None in Python, and where a comment tells of it.

    A line that holds nothing else goes as a whole.
    """
    text = source.text
    first, stop = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    stop = len(text) if stop < 0 else stop
    before, after = text[first:start], text[end:stop]
    title = f"remove {' '.join(text[start:end].split())}"
    if source.language == "python":
        return None
    if before.strip() in ("", "-") and after.strip() in ("", ",") and "\n" not in text[start:end]:
        is_last = not after.strip() and source.language != "pddl" and before.strip() != "-"
        return None if is_last else Fix(title, (Edit(source.name, first, min(stop + 1, len(text)), ""),))
    if source.language == "pddl":
        left = len(text[:start].rstrip(" "))
        is_alone = not before.strip() or re.match(r"\s*;", after) is not None
        return None if is_alone else Fix(title, (Edit(source.name, left, end, ""),))
    comma = re.search(r",[ \t]*$", before)
    return Fix(title, (Edit(source.name, first + comma.start(), end, ""),)) if comma else None


def _remove_line(source: SourceText, inside: Entry, node: Node) -> Edit | None:
    """Remove the line of an entry, with its comment, unless it is the only entry or takes more than a line."""
    others = [path for path in source.nodes if path[:-1] == inside.path]
    start = source.text.rfind("\n", 0, node.start) + 1
    end = source.text.find("\n", node.end) + 1 or len(source.text)
    if len(others) < 2 or node.key is None or source.text[start : node.key[0]].strip():
        return None
    return Edit(source.name, start, end, "")


def _add_delete(source: SourceText, effect: Entry | None, mend: Mend) -> Edit | None:
    """Let an effect of PDDL delete `mend.old`, the value that the item had."""
    found = re.fullmatch(r"([^\s(]+)\((.*)\)", mend.old)
    if effect is None or found is None:
        return None
    own = [f"?{each.strip()}" if not each.strip().startswith("?") else each.strip() for each in found[2].split(",")]
    deleted = f"(not ({' '.join([found[1], *own])}))"
    start = re.compile(r"\(\s*and\b").search(source.blank, effect.start, effect.end)
    if start:
        return Edit(source.name, start.end(), start.end(), f" {deleted}")
    form = re.compile(r"\(").search(source.blank, effect.start, effect.end)
    if form is None:
        return None
    end = len(source.blank[: effect.end].rstrip())
    return Edit(source.name, form.start(), end, f"(and {source.text[form.start() : end]} {deleted})")


def _add_item(source: SourceText, entry: Entry, inside: Entry | None, mend: Mend) -> Edit | None:
    """Add `mend.new` to a list of a document, which begins with it where there is none."""
    text = f'"{mend.new}"'
    node = source.nodes.get(inside.path) if inside is not None else None
    if inside is not None and node is not None:
        return _extend(source, inside, node, text)
    last = next((source.outline()[key] for key in _siblings(source, entry)), None)
    parent = source.nodes.get(entry.path)
    if last is None or parent is None:
        return None
    key = f'"{mend.field}"' if source.language == "json" else mend.field
    if parent.is_flow:
        return Edit(source.name, last.end, last.end, f", {key}: [{text}]")
    end = _line_end(source, last)
    margin = " " * (last.name_start - source.text.rfind("\n", 0, last.name_start) - 1)
    return Edit(source.name, end, end, f"\n{margin}{key}: [{text}]")


def _siblings(source: SourceText, entry: Entry) -> list[tuple[str, ...]]:
    """Return the keys of the fields of `entry` after which another one may stand, the best first."""
    fields = [key for key, each in source.outline().items() if len(key) == 3 and each.path[:-1] == entry.path]
    best = {"provides": 0, "requires": 1, "parameters": 2}
    return sorted(fields, key=lambda key: best.get(key[2], 3))


def _line_end(source: SourceText, entry: Entry) -> int:
    """Return the end of the last line of a field, without the blank lines and comments after it."""
    stop = len(source.text[: entry.end].rstrip())
    end = source.text.find("\n", stop)
    return len(source.text) if end < 0 else end


def _extend(source: SourceText, inside: Entry, node: Node, text: str) -> Edit | None:
    if node.kind == "scalar":
        value = source.text[node.start : node.end]
        return Edit(source.name, node.start, node.end, f"[{value}, {text}]" if value.strip() else f"[{text}]")
    if node.kind != "list":
        return None
    if node.is_flow:
        is_empty = source.text[node.start + 1 : node.end - 1].strip() == ""
        end = node.start + len(source.text[node.start : node.end - 1].rstrip())
        return Edit(source.name, end, end, text if is_empty else f", {text}")
    last = [each for path, each in source.nodes.items() if path[:-1] == inside.path][-1]
    end = source.text.find("\n", last.end)
    end = len(source.text) if end < 0 else end
    dash = source.text.rfind("-", 0, last.start)
    margin = " " * (dash - source.text.rfind("\n", 0, dash) - 1)
    return Edit(source.name, end, end, f"\n{margin}- {text}")


def apply_fixes(text: SourceText, fixes: Sequence[Fix]) -> tuple[str, int]:
    """Return the text with all fixes of it that do not overlap, and their number."""
    taken: list[Edit] = []
    made = 0
    for fix in fixes:
        own = [edit for edit in fix.edits if edit.source == text.name]
        if own and len(own) == len(fix.edits) and not any(_overlap(edit, other) for edit in own for other in taken):
            taken += own
            made += 1
    found = text.text
    for edit in sorted(taken, key=lambda each: each.start, reverse=True):
        found = found[: edit.start] + edit.text + found[edit.end :]
    return found, made


def _overlap(one: Edit, other: Edit) -> bool:
    return (one.start < other.end and other.start < one.end) or (one.start, one.end) == (other.start, other.end)
