"""Read files as far as possible: collect all mistakes, not only the first.

A reader stops at its first mistake. Lint notes it, mends it or leaves out the smallest part that holds it, and reads
again, until nothing is wrong. A name with a near one known is mended, so that what rests on it is still checked; what
is left out taints its names, and errors about tainted names alone are not told: they follow from the first.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from planner.errors import DocumentError, InputError, Location
from planner.language.pddl.syntax import SECTIONS
from planner.language.wrong_words import find_wrong_word, suggested_word
from planner.lightweight import TYPE_CHECKING, Final
from planner.lint.findings import Edit, Finding, Fix, Level, Span
from planner.lint.outlines import SourceText
from planner.model.formulas import Atom
from planner.problem_kinds import AnyDomain, AnyProblem

if TYPE_CHECKING:  # files in PDDL need no schema of documents, which takes longer to import than most take to check
    from planner.language.documents.document_reader import Documents
    from planner.language.documents.text_formats import Document
    from planner.language.documents.text_repairs import Repaired

MOST: Final = 200
"""Mistakes of a file after which reading ends."""
SECONDS: Final = 10.0
"""Time after which a file with mistakes is not read again."""

_RULES: Final = (
    (r"^the file raises (?!.*unexpected keyword)", "input"),
    (r"^this is no |is never closed|is one too many|where no '\('|NUL character|the file is empty", "syntax"),
    (r"stands twice|is already declared|is declared twice|^a second |two (domains|actions) are named|twice", "twice"),
    (r"has no (key|field)|unexpected keyword argument|is not known in a|expected one of :", "unknown-key"),
    (
        r"argument \d+ of .* is of type|has to be of type|takes '[^']*' there|, but predicate '[^']*' takes",
        "wrong-type",
    ),
    (r"\bwrites .* is derived", "writes-derived"),
    (r"needs .*, which .* gives no value", "no-value"),
    (r"\barguments?\b.*(declared|elsewhere|takes|has|expected)|takes \d+", "wrong-arity"),
    (r"unknown (type|action|tag|name|object)|neither a parameter|is no object", "unknown-name"),
    (r"has no (predicate|function|action|type)", "unknown-name"),
    (r"is not declared|nobody declares|is not bound|there is no task|unknown", "unknown-name"),
)
"""What the words of an error say about its rule."""


@dataclass(slots=True)
class Reading:
    """What was read, the mistakes on the way, and whether something was left out for them."""

    domain: AnyDomain | None = None
    problems: list[AnyProblem] = field(default_factory=list)
    mistakes: list[Finding] = field(default_factory=list)
    is_partial: bool = False
    spoilt: set[str] = field(default_factory=set)
    """The declarations of which a part was left out, such as "action drive"."""


def mistake_of(error: InputError, texts: Mapping[str, SourceText], within: tuple[int, int] | None = None) -> Finding:
    """Return the finding for `error`, with the span of the word at its place, or `within` two offsets."""
    rule = next((rule for pattern, rule in _RULES if re.search(pattern, error.message)), "input")
    location = error.location
    finding = Finding(Level.ERROR, rule, "file", error.message, error.hint or "")
    source = texts.get(location.source) if location else None
    if rule == "no-value" and (term := re.search(r"needs ([^\s(]+)(?:\(([^)]*)\))?, which", error.message)):
        missing = Atom(term[1], tuple(term[2].split(", ") if term[2] else ()))
        return replace(finding, place="values", part=missing)
    if location is None or source is None:
        return _with_place(finding, location)
    if within is not None:
        found = find_wrong_word(source.blank, *within, error.message, error.hint)
        start, end = found or (within[0], min(within[1], _line_end(source, within[0])))
        return replace(finding, span=source.span(start, end))
    start, end = _find_word(source, location)
    if rule == "syntax":
        return replace(finding, span=source.span(start, end))
    found = find_wrong_word(source.blank, start, _line_end(source, end), error.message, error.hint)
    place = found or (start, end)
    fix = _write_suggestion(source, place, error) if found else None
    if rule == "wrong-type":
        fix = _write_swap(source, start, error)
    return replace(finding, span=source.span(*place), fix=fix)


def _write_suggestion(source: SourceText, place: tuple[int, int], error: InputError) -> Fix | None:
    """Return the edit that writes what `error` suggests at `place`, if that is the word it takes for misspelt."""
    pair = suggested_word(error.message, error.hint)
    written = source.text[place[0] : place[1]]
    if pair is None or source.language == "python" or written.lstrip("?").lower() != pair[0].lower():
        return None
    mark = "?" if written[0] == "?" else ""
    return Fix(f"write {pair[1]} for {pair[0]}", (Edit(source.name, *place, mark + pair[1]),))


def _write_swap(source: SourceText, start: int, error: InputError) -> Fix | None:
    """Return the edit of the item at `start` that swaps two arguments of an atom in a document, as `error` suggests."""
    suggested = re.match(r"did you mean '([^']+\([^']+\))'\?", error.hint or "")
    written = re.search(r"([\w-]+)\(([^()]*)\)", error.message)
    if suggested is None or written is None or source.language not in ("yaml", "json"):
        return None
    atom = Atom(written[1], tuple(written[2].split(", ")))
    place = source.search(atom, start, _line_end(source, start))
    if place is None or not re.match(r"[\w-]+\(", source.text[slice(*place)]):
        return None
    return Fix(f"write {suggested[1]} for {atom}", (Edit(source.name, *place, suggested[1]),))


def _with_place(finding: Finding, location: Location | None) -> Finding:
    if location is None:
        return finding
    line, column = location.line or 1, location.column or 1
    return replace(finding, span=Span(location.source, line, column, line, column))


def _find_word(source: SourceText, location: Location) -> tuple[int, int]:
    if location.line is None:
        return 0, 0
    start = source.offset(location.line, location.column or 1)
    found = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|:?[^\s()\[\]{},:\"']+|.").match(source.text, start)
    return start, found.end() if found else start


def _line_end(source: SourceText, start: int) -> int:
    end = source.text.find("\n", start)
    return len(source.text) if end < 0 else end


def read_all(texts: list[SourceText], given: AnyDomain | None = None) -> Reading:
    """Read the domain and problems in `texts`, the domain's first, with all mistakes.

    Python files are executed once for each mistake. `given` is the domain where no text has one.
    """
    found = Reading(given)
    named = {each.name: each for each in texts}
    for source in texts:
        if source.language == "python":
            from planner.lint.python_reading import read_python

            read_python(source, found, named)
            found.problems = found.problems if len(texts) == 1 else []
        elif source.language in ("yaml", "json"):
            _read_document(source, found, named)
        elif source.language == "pddl":
            _read_pddl(source, found, named)
    return found


_UNKNOWN: Final = re.compile(
    r"'([^']+)' in .* is (?:neither|no object)|has no \w+ '([^']+)'|unknown type '([^']+)'"
    r"|the \w+ '([^']+)' is not declared"
)
"""Errors about a name, which follow from an earlier one if its declaration was left out."""


def note(
    error: InputError,
    found: Reading,
    texts: Mapping[str, SourceText],
    tainted: set[str],
    within: tuple[int, int] | None = None,
) -> None:
    """Note the mistake, unless it follows from an earlier one, by a name that is `tainted`."""
    name = _UNKNOWN.search(error.message)
    if name and tainted.intersection(name.groups()):
        return
    finding = mistake_of(error, texts, within)
    if all((each.span, each.message) != (finding.span, finding.message) for each in found.mistakes):
        found.mistakes.append(finding)


@dataclass(slots=True)
class _Data:
    """The data of a document while it is mended: the positions of what is left, by its paths."""

    data: Any
    number: int
    positions: dict[tuple[Any, ...], tuple[int, int]]

    def document(self, source: str) -> Document:
        from planner.language.documents.text_formats import Document

        return Document(self.data, source, 0, lambda: self.positions)

    def find(self, location: Location) -> tuple[Any, ...] | None:
        """Return the path of the value at `location`, the deepest if several begin there."""
        at = (location.line, location.column)
        return max((path for path, place in self.positions.items() if place == at), key=len, default=None)

    def remove(self, path: tuple[Any, ...]) -> None:
        """Leave out the value at `path`, and let the later items of its list move up."""
        parent = self.value(path[1:-1])
        last = path[-1]
        if isinstance(parent, list):
            del parent[last]
        elif isinstance(parent, dict):
            parent.pop(last, None)
        kept = {}
        size = len(path)
        for each, place in self.positions.items():
            if each[:size] == path:
                continue
            beside = isinstance(parent, list) and each[: size - 1] == path[:-1] and len(each) >= size
            moves = beside and each[size - 1] > last
            kept[(*each[: size - 1], each[size - 1] - 1, *each[size:]) if moves else each] = place
        self.positions = kept

    def value(self, path: tuple[Any, ...]) -> Any:
        found = self.data
        for each in path:
            found = found[each]
        return found

    def put(self, path: tuple[Any, ...], value: Any) -> None:
        """Replace the value at `path`."""
        self.value(path[1:-1])[path[-1]] = value

    def rename(self, path: tuple[Any, ...], name: str) -> None:
        """Give the key at the end of `path` another name, in its place."""
        parent = self.value(path[1:-1])
        items = [(name if key == path[-1] else key, value) for key, value in parent.items()]
        parent.clear()
        parent.update(items)
        size = len(path)
        self.positions = {
            ((*path[:-1], name, *each[size:]) if each[:size] == path else each): place
            for each, place in self.positions.items()
        }


def _read_document(source: SourceText, found: Reading, texts: Mapping[str, SourceText]) -> None:
    from planner.language.documents.document_reader import Documents, read_parsed

    tainted: set[str] = set()
    mended: set[tuple[Any, ...]] = set()
    parts = _parse_all(source, found, texts, tainted)
    until = time.monotonic() + SECONDS
    last: tuple[Any, ...] | None = None
    for _ in range(MOST):
        documents = [each.document(source.name) for each in parts if each.data is not None]
        try:
            _keep(read_parsed(documents, found.domain) if documents else Documents(), found)
        except InputError as error:
            part, path = _find_part(error, parts, source.name)
            if part is not None and (_add_capacities(part, error) or (path and _join_items(part, path, error))):
                note(error, found, texts, tainted)
                continue
            if time.monotonic() > until:
                found.is_partial = True
                note(error, found, texts, tainted)
                return
            if path is None or (part and (part.number, *path) not in mended):  # else it follows from the name written
                note(error, found, texts, tainted)
            if part is None or path is None or len(path) < 2:
                found.is_partial = True
                if not _drop_problem(parts):
                    return
                continue
            this = (part.number, path, error.message)
            if this != last and (part.number, *path) not in mended and _mend_data(part, path, error):
                mended.add((part.number, *path))
            else:
                _leave_out(part, path, tainted, error)
                found.is_partial = True
                found.spoilt.add(f"{path[1].removesuffix('s')} {path[2]}" if len(path) > 2 else str(path[1]))
            last = this
        else:
            return


def _keep(read: Documents, found: Reading) -> None:
    if read.domains:
        found.domain = read.domains[0]
    found.problems += read.problems


def _drop_problem(parts: list[_Data]) -> bool:
    """Leave out the problems after a mistake without a place; return whether there was one."""
    for part in parts:
        if isinstance(part.data, dict) and "problem" in part.data:
            part.data = None
            return True
    return False


def _find_part(error: InputError, parts: list[_Data], name: str) -> tuple[_Data | None, tuple[Any, ...] | None]:
    if error.location is None or error.location.source != name or error.location.line is None:
        return None, None
    for part in parts:
        path = part.find(error.location)
        if path is not None and part.data is not None:
            return part, path
    return None, None


def _mend_data(part: _Data, path: tuple[Any, ...], error: InputError) -> bool:
    """Take the suggestion of `error`; return whether that changed something."""
    pair = suggested_word(error.message, error.hint)
    if pair is None:
        return False
    word, suggested = pair
    for deeper in sorted((each for each in part.positions if each[: len(path)] == path), key=len):
        value = part.value(deeper[1:])
        if deeper[-1] == word:
            if suggested in part.value(deeper[1:-1]):
                return False
            part.rename(deeper, suggested)
            return True
        if isinstance(value, str):
            text = re.sub(rf"(?<![\w-]){re.escape(word)}(?![\w-])", suggested, value)
            if text != value:
                part.put(deeper, text)
                return True
    return False


def _add_capacities(part: _Data, error: InputError) -> bool:
    """Add the capacities that the problem lacks, as the hint of `error` says; return whether it is about these."""
    if "the problem has no capacity" not in error.message or not isinstance(part.data, dict):
        return False
    known = part.data.get("capacity") or {}
    missing = {name: 1 for name in re.findall(r"[{,] ?\"?([^\s\",{}]+?)\"?: ", error.hint or "") if name not in known}
    part.data["capacity"] = {**known, **missing}
    return bool(missing)


def _join_items(part: _Data, path: tuple[Any, ...], error: InputError) -> bool:
    """Make one item of those into which commas cut an atom without quotes; return whether `error` is about that."""
    items = part.value(path[1:-1])
    if not re.search(r"lacks a '\)'", error.message) or not isinstance(items, list):
        return False
    first = path[-1]
    for last in range(first + 1, len(items)):
        if not isinstance(items[last], str) or "(" in items[last]:
            return False
        if ")" in items[last]:
            items[first] = ", ".join(items[first : last + 1]).replace('"', "")
            for _ in range(first, last):
                part.remove((*path[:-1], first + 1))
            return True
    return False


def _leave_out(part: _Data, path: tuple[Any, ...], tainted: set[str], error: InputError) -> None:
    """Leave out the smallest part that can go: an item or entry, or the declaration whose parameters it spoils."""
    if ("parameters" in path[:-1] and path.index("parameters") > 1) or path[-1] in ("parameters", "head", "task"):
        path = path[: path.index(path[-1]) if path[-1] in ("parameters", "head", "task") else path.index("parameters")]
    if len(path) == 2 and path[1] in ("domain", "problem"):
        part.data = None
        return
    value = part.value(path[1:])
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        path = (*path, 0)
    declares = len(path) == 3 and path[1] in (
        "actions",
        "types",
        "predicates",
        "functions",
        "objects",
        "tasks",
        "methods",
    )
    if declares:
        tainted.add(str(path[-1]))
    if re.match(r"unknown type '([^']+)'", error.message):
        tainted.update(re.findall(r"unknown type '([^']+)'", error.message))
    tainted.update(re.findall(r"[\w-]+(?=\()", str(part.value(path[1:]))))
    part.remove(path)


def _parse_all(source: SourceText, found: Reading, texts: Mapping[str, SourceText], tainted: set[str]) -> list[_Data]:
    """Parse the documents; a key that stands twice is kept once, and what is no YAML or JSON is repaired."""
    from planner.language.documents.text_formats import json_positions, parse_json, parse_yaml, yaml_positions
    from planner.language.documents.text_repairs import repair_text

    text = source.text
    shifts: list[tuple[int, int, int]] = []
    for _ in range(MOST):
        try:
            data = parse_json(text, source.name) if source.language == "json" else parse_yaml(text, source.name)
            break
        except DocumentError as error:
            repaired = repair_text(text, error, is_json=source.language == "json")
            note(_unshift(repaired.error if repaired else error, shifts), found, texts, tainted)
            found.is_partial = True
            changed = repaired.text if repaired else _drop_twin(text, error, tainted)
            if changed is None:
                return []
            if repaired:
                shifts.append(_shift_of(repaired))
            text = changed
    else:
        return []
    positions = json_positions(text) if source.language == "json" else yaml_positions(text, source.name)
    positions = {path: _unshift_place(place, shifts) for path, place in positions.items()}
    parts = []
    for number, each in enumerate(data):
        own = {(0, *path[1:]): place for path, place in positions.items() if path and path[0] == number}
        parts.append(_Data(each, number, own))
    return parts


def _drop_twin(text: str, error: DocumentError, tainted: set[str]) -> str | None:
    """Leave out the entry of a key that stands twice in YAML, and taint the names in it; None for other mistakes."""
    lines = text.split("\n")
    at = (error.location.line or 1) - 1 if error.location else 0
    if at >= len(lines) or "stands twice" not in error.message or text.lstrip()[:1] in ("{", "["):
        return None
    changed = _drop_entry(lines, at, len(lines[at]) - len(lines[at].lstrip()))
    kept = set(changed.split("\n"))
    tainted.update(re.findall(r"[\w-]+(?=\()", "\n".join(each for each in lines if each not in kept)))
    return changed


def _drop_entry(lines: list[str], at: int, column: int) -> str:
    """Blank out the entry that begins in line `at` at `column`, with the deeper lines after it."""
    end = at + 1
    while end < len(lines) and (not lines[end].strip() or lines[end][: column + 1].strip() == ""):
        end += 1
    return "\n".join([*lines[:at], *[""] * (end - at), *lines[end:]])


def _read_pddl(source: SourceText, found: Reading, texts: Mapping[str, SourceText]) -> None:
    text, tainted = source.text, set[str]()
    last: tuple[Any, ...] | None = None
    shifts: list[tuple[int, int, int]] = []
    until = time.monotonic() + SECONDS
    for _ in range(MOST):
        try:
            _parse_definitions(text, source, found)
        except InputError as error:
            note(_unshift(error, shifts), found, texts, tainted)
            place = error.location
            if place is None or place.line is None or place.source != source.name or time.monotonic() > until:
                found.is_partial = True
                return
            at = SourceText(source.name, text).offset(place.line, place.column or 1)
            this = (at, error.message)
            changed = None if this == last else _mend_text(text, at, error, shifts)
            if found.mistakes and found.mistakes[-1].rule == "syntax":
                found.is_partial = True
                changed = _blank_section(text, at, tainted)
            elif changed is None:
                found.is_partial = True
                changed = _blank_form(text, at, tainted)
                found.spoilt.update(_declaration_at(text, at))
            if changed is None or changed == text:
                return
            text, last = changed, this
        else:
            return


def _parse_definitions(text: str, source: SourceText, found: Reading) -> None:
    """Read the domain or the problem of a text in PDDL or HDDL."""
    from planner.language.loading.texts import cut_definition, has_definition, parser_of

    if has_definition(text, "domain"):
        parser = parser_of(text, source.name)
        found.domain = parser.parse_domain(cut_definition(text, "domain"), source.name)
    if has_definition(text, "problem") or not has_definition(text, "domain"):
        if found.domain is None:
            return
        parser = parser_of(text, source.name, found.domain)
        found.problems.append(parser.parse_problem(cut_definition(text, "problem"), found.domain, source.name))


def _shift_of(repaired: Repaired) -> tuple[int, int, int]:
    """Return the line and column of a repair, and by how much it moves what is after it."""
    repair, text = repaired.repair, repaired.text
    line, column = text.count("\n", 0, repair.start) + 1, repair.start - text.rfind("\n", 0, repair.start)
    return line, column, len(repair.text) - (repair.end - repair.start)


def _unshift_place(place: tuple[int, int], shifts: list[tuple[int, int, int]]) -> tuple[int, int]:
    """Return the line and column that `place` had before the changes `shifts` of its line."""
    line, column = place
    for row, start, by in reversed(shifts):
        if row == line and start < column:
            column = max(column - by, 1)
    return line, column


def _unshift(error: InputError, shifts: list[tuple[int, int, int]]) -> InputError:
    """Return `error` with its column before all names of other lengths were written into its line."""
    place = error.location
    if place is None or place.line is None or place.column is None or not shifts:
        return error
    own = _unshift_place((place.line, place.column), shifts)
    return type(error)(error.message, Location(place.source, *own), error.hint)


def _mend_text(text: str, at: int, error: InputError, shifts: list[tuple[int, int, int]]) -> str | None:
    """Take the suggestion of `error` in the text after the offset `at`; note in `shifts` how it moves its line."""
    pair = suggested_word(error.message, error.hint)
    if other := re.match(r"this problem is for the domain '([^']+)', not for '([^']+)'", error.message):
        pair = other[1], other[2]
    if pair is None:
        return None
    word, suggested = pair
    found = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])", re.IGNORECASE).search(text, at)
    if found is None:
        return None
    line, column = text.count("\n", 0, found.start()) + 1, found.start() - text.rfind("\n", 0, found.start())
    shifts.append((line, column, len(suggested) - len(word)))
    return text[: found.start()] + suggested + text[found.end() :]


def _declaration_at(text: str, at: int) -> list[str]:
    """Return the action or method around offset `at`, such as "action drive"."""
    heads = [
        re.match(r"\(\s*:(?:durative-)?(action|method)\s+(\S+)", text[start:end])
        for start, end in _enclosing_forms(text, at)
    ]
    return [f"{each[1]} {each[2].lower()}" for each in heads if each]


_LIST_HEADS: Final = re.compile(r"\(\s*(and|:init|:predicates|:functions|:goal)(?![\w-])", re.IGNORECASE)


def _blank_form(text: str, at: int, tainted: set[str]) -> str | None:
    """Blank out the smallest form at offset `at` that may be missing: a conjunct, a fact, a section."""
    enclosing = list(_enclosing_forms(text, at))
    for (start, end), parents in _with_parents(enclosing):
        is_item = parents is not None and _LIST_HEADS.match(text, parents[0]) is not None
        if is_item or len(enclosing) - enclosing.index((start, end)) == 2:
            tainted.update(re.findall(r"[\w-]+", text[start:end])[1:2] if text[start + 1 : start + 2] == ":" else ())
            tainted.update(re.findall(r"(?<=\()[\w-]+", text[start:end]))
            return text[:start] + re.sub(r"[^\n\r]", " ", text[start:end]) + text[end:]
    return None


_SECTION_START: Final = re.compile(r"\(\s*(?::([\w-]+)|define)(?![\w-])", re.IGNORECASE)
_NAMING: Final = frozenset({"types", "constants", "objects", "predicates", "functions", "requirements"})
"""Sections of which every word may be a name that the rest of a file uses."""


def _blank_section(text: str, at: int, tainted: set[str]) -> str | None:
    """Blank out the section around a parenthesis at offset `at` that is too many, or never closed; taint its names.

    A definition that ends without its ')' gets one. None means that the place is in no section.
    """
    blank = _blank_comments(text)
    starts = [each for each in _SECTION_START.finditer(blank) if each[1] is None or f":{each[1].lower()}" in SECTIONS]
    before = [each for each in starts if each.start() <= at]
    if not before:
        return None
    if before[-1][1] is None:
        return f"{text})" if before[-1] is starts[-1] or before[-1].start() == at == starts[0].start() else None
    start = before[-1].start()
    end = next((each.start() for each in starts if each.start() > start), None)
    if end is None or blank[end : end + 8].lower().find("define") >= 0:
        last = blank.rfind(")", start, end)
        end = last if last > start else len(text)
    words = re.findall(r"[\w-]+", blank[start:end])
    tainted.update(words if words[:1] and words[0].lower() in _NAMING else words[1:2])
    return text[:start] + re.sub(r"[^\n\r]", " ", text[start:end]) + text[end:]


def _blank_comments(text: str) -> str:
    return re.sub(r";[^\n\r]*", lambda comment: " " * len(comment[0]), text)


def _with_parents(forms: list[tuple[int, int]]) -> Iterator[tuple[tuple[int, int], tuple[int, int] | None]]:
    for number, form in enumerate(forms):
        yield form, forms[number + 1] if number + 1 < len(forms) else None


def _enclosing_forms(text: str, at: int) -> Iterator[tuple[int, int]]:
    """Yield the lists around offset `at`, the innermost first."""
    blank = _blank_comments(text)
    opened: list[int] = []
    for match in re.finditer(r"[()]", blank):
        if match[0] == "(":
            opened.append(match.start())
        elif opened:
            start = opened.pop()
            if start <= at < match.end():
                yield start, match.end()
