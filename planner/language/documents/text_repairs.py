"""Find the one character or indentation for which a text is no YAML or JSON, by trying what would mend it.

A parser notices a missing bracket or a wrong indentation lines later, or in a way that says nothing to an author. Each
repair near that place is tried: what the text says then decides which one is meant. Of repairs after which parsing gets
equally far, that with the fewest keys that a document does not have is taken.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from planner.errors import DocumentError, Location
from planner.language.documents.text_formats import parse_json, parse_yaml

SECONDS: Final = 1.0
"""Time limit of the search for a repair, in seconds."""
LARGEST: Final = 200_000
"""Most characters of a text that is parsed again to find a repair: a parser reads some 300,000 a second."""
_BACK: Final = 30
"""Lines before the mistake in which its cause is looked for."""
_CLOSERS: Final = {"[": "]", "{": "}"}
_TOKEN: Final = re.compile(
    r"\"(?:[^\"\\]|\\.)*(?:\"|\Z)|'(?:[^']|'')*(?:'|\Z)|(?:(?<=\s)|^)#[^\n]*|[\[\]{}]", re.MULTILINE | re.DOTALL
)
_ENDING: Final = re.compile(r"[\s,\]}]*(?:\s#[^\n]*)?$")


@dataclass(frozen=True, slots=True)
class Repair:
    """A change that may make a text readable: the offsets `start` to `end` become `text`; `at` is what is wrong."""

    start: int
    end: int
    text: str
    at: int
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class Repaired:
    """The error at the place that is wrong, the repair, and the text after it."""

    error: DocumentError
    repair: Repair
    text: str


def repair_text(text: str, error: DocumentError, *, is_json: bool) -> Repaired | None:
    """Return what is really wrong with `text`, of which a parser raises `error`; None where no single repair helps.

    A repair helps if the next mistake, if any, is on a later line. It adds no line, and takes none away.
    """
    language, parse = ("JSON", parse_json) if is_json else ("YAML", parse_yaml)
    place = error.location
    is_twin = "stands twice" in error.message
    is_broken = is_twin or error.message.startswith(f"this is no {language}")
    if place is None or place.line is None or not is_broken or len(text) > LARGEST:
        return None
    lines = _find_lines(text)
    line = min(place.line, len(lines)) - 1
    until = time.monotonic() + SECONDS
    best: tuple[tuple[int, int], Repair, str] | None = None
    at = min(lines[line] + (place.column or 1) - 1, len(text))
    for each in _repair_parent(text, lines, line) if is_twin else _find_repairs(text, lines, line, at):
        changed = text[: each.start] + each.text + text[each.end :]
        reach = _measure(changed, place.source, parse)
        if reach[0] > max(line + 1, _line_of(lines, each.start) + 1) and (best is None or reach > best[0]):
            best = reach, each, changed
        if (best is not None and best[0] == _PERFECT) or time.monotonic() > until:
            break
    if best is None:
        return None
    _, repair, changed = best
    row = _line_of(lines, repair.at)
    told = Location(place.source, row + 1, repair.at - lines[row] + 1)
    return Repaired(DocumentError(f"this is no {language}: {repair.message}", told, repair.hint), repair, changed)


def _find_repairs(text: str, lines: list[int], line: int, at: int) -> Iterator[Repair]:
    yield from _repair_quotes(text, lines, line)
    yield from _repair_brackets(text, lines, line, at)
    yield from _repair_marks(text, lines, line)
    for row in range(line, max(line - _BACK, -1), -1):
        yield from _repair_indentation(text, lines, row)


def _repair_parent(text: str, lines: list[int], line: int) -> Iterator[Repair]:
    """Yield other indentations of a key without a value, where the keys of that stand at its level, and so twice."""
    code = text[lines[line - 1] : _code_end(text, lines, line - 1)] if line else ""
    own = text[lines[line] : _code_end(text, lines, line)]
    if code.endswith(":") and len(own) - len(own.lstrip()) <= len(code) - len(code.lstrip()):
        yield from _repair_indentation(text, lines, line - 1)


def _repair_brackets(text: str, lines: list[int], line: int, at: int) -> Iterator[Repair]:
    """Yield a bracket more or less, another one, or a comma, where a list or mapping in brackets goes wrong."""
    opened = _open_brackets(text, at)
    found = text[at : at + 1]
    for start in reversed(opened[-3:]):
        closer = _CLOSERS[text[start]]
        told = (
            f"this '{text[start]}' is never closed: it is still open at line {line + 1}",
            f"add '{closer}' where it should end",
        )
        first = _line_of(lines, start)
        for row in range(line - 1, first - 1, -1):
            end = _code_end(text, lines, row)
            for stop in (end - 1, end) if text[end - 1 : end] == "," else (end,):
                if stop > start:
                    yield Repair(stop, stop, closer, start, *told)
        yield Repair(at, at, closer, start, *told)
    if found and found in "]}":
        if opened:
            wanted = _CLOSERS[text[opened[-1]]]
            told = (
                f"found '{found}' where '{wanted}' has to close the '{text[opened[-1]]}' before it",
                f"write '{wanted}'",
            )
            yield Repair(at, at + 1, wanted, at, *told)
        comma = len(text[:at].rstrip()) - 1
        if text[comma : comma + 1] == ",":
            yield Repair(comma, comma + 1, "", comma, "this ',' has nothing after it", "remove it")
        yield Repair(at, at + 1, "", at, f"found '{found}' where nothing is open", "remove it")
    if opened and found:
        yield Repair(at, at, ", ", at, "a ',' is missing before this", "commas stand between the items")


def _repair_quotes(text: str, lines: list[int], line: int) -> Iterator[Repair]:
    """Yield an end for each quoted text that goes on over the end of its line."""
    for match in _TOKEN.finditer(text):
        quote = match[0][0]
        row = _line_of(lines, match.start())
        if row > line:
            return
        if row < line - _BACK:
            continue
        if quote in "\"'" and "\n" in match[0] and _begins_value(text, match.start()):
            stop = text.find("\n", match.start())
            ending = _ENDING.search(text[match.start() : stop])
            end = match.start() + (ending.start() if ending else stop - match.start())
            yield Repair(
                end, end, quote, match.start(), f"this {quote} is never closed", "add another one where the text ends"
            )


def _repair_marks(text: str, lines: list[int], line: int) -> Iterator[Repair]:
    """Yield a colon, a space or a dash more in the lines before the place, and spaces for tabs."""
    for row in range(line, max(line - 3, -1), -1):
        start, end = lines[row], _code_end(text, lines, row)
        code = text[start:end]
        margin = len(code) - len(code.lstrip())
        if "\t" in code[:margin]:
            for width in _levels(text, lines, row):
                told = "a tab indents this line", "YAML takes spaces only"
                yield Repair(start, start + margin, " " * width, start, *told)
        joined = re.match(r"\s*(?:- )?[\w-]+(:)(?=[^\s:])", code)
        if joined:
            told = f"there is no space after the ':' of '{code[margin : joined.start(1)]}'", "add one"
            yield Repair(start + joined.end(1), start + joined.end(1), " ", start + margin, *told)
        if re.match(r"\s*-[^\s-]", code):
            yield Repair(
                start + margin + 1,
                start + margin + 1,
                " ",
                start + margin,
                "there is no space after the '-'",
                "add one",
            )
        elif re.fullmatch(r"\s*[\w-]+", code):
            yield Repair(end, end, ":", start + margin, f"'{code.strip()}' has no ':' after it", "add one")
        elif code.strip() and not code.lstrip().startswith("-"):
            for width in _levels(text, lines, row):
                told = "this item of a list has no '-' before it", "add '- '"
                yield Repair(start, start + margin, " " * width + "- ", start + margin, *told)


def _repair_indentation(text: str, lines: list[int], row: int) -> Iterator[Repair]:
    """Yield other indentations of a line, those in use around it."""
    start = lines[row]
    code = text[start : _code_end(text, lines, row)]
    margin = len(code) - len(code.lstrip())
    if code.strip() and not code.startswith("---"):
        for width in _levels(text, lines, row):
            if width != margin:
                told = (
                    f"this line is indented by {_count(margin)}, and {_count(width)} would fit the lines around it",
                    (f"indent it by {_count(width)}" if width else "let it begin the line"),
                )
                yield Repair(start, start + margin, " " * width, start + margin, *told)


def _count(spaces: int) -> str:
    return f"{spaces or 'no'} space{'' if spaces == 1 else 's'}"


def _levels(text: str, lines: list[int], row: int) -> list[int]:
    """Return the indentations in use around a line, those of the nearest lines first."""
    near = sorted(range(max(0, row - _BACK), min(len(lines), row + 4)), key=lambda each: abs(each - row))
    found = []
    for each in near:
        code = text[lines[each] : _code_end(text, lines, each)]
        if each != row and code.strip() and not code.startswith("---") and "\t" not in code:
            found.append(len(code) - len(code.lstrip()))
    return list(dict.fromkeys([*found, 0]))


def _open_brackets(text: str, at: int) -> list[int]:
    """Return the offsets of the brackets that are open at an offset, the outermost first."""
    opened: list[int] = []
    for match in _TOKEN.finditer(text):
        if match.start() >= at:
            break
        if match[0] in _CLOSERS:
            if _begins_value(text, match.start()):
                opened.append(match.start())
        elif match[0] in ("]", "}") and opened:
            opened.pop()
    return opened


def _begins_value(text: str, at: int) -> bool:
    """Return whether a quotation mark or bracket begins a value: elsewhere it is a character of a plain text."""
    before = text[text.rfind("\n", 0, at) + 1 : at].rstrip()
    return not before or before[-1] in "[{,:-"


def _code_end(text: str, lines: list[int], row: int) -> int:
    """Return the end of a line without its comment and the spaces before it."""
    stop = lines[row + 1] - 1 if row + 1 < len(lines) else len(text)
    code = re.sub(r"(^|\s)#[^\"'\n]*$", "", text[lines[row] : stop])
    return lines[row] + len(code.rstrip())


def _find_lines(text: str) -> list[int]:
    return [0, *[match.end() for match in re.finditer("\n", text)]]


def _line_of(lines: list[int], at: int) -> int:
    from bisect import bisect_right

    return bisect_right(lines, at) - 1


_END: Final = 1 << 60
_PERFECT: Final = (_END, 0)


def _measure(text: str, name: str, parse: Callable[[str, str], list[Any]]) -> tuple[int, int]:
    """Return the line of the next mistake, and minus the number of parts of the documents that do not fit a schema."""
    try:
        data = parse(text, name)
    except DocumentError as error:
        return (error.location.line or 0) if error.location else 0, 0
    return _END, -sum(map(_count_misfits, data))


def _count_misfits(data: Any) -> int:
    from pydantic import ValidationError

    from planner.language.documents.schema import DomainDocument, ProblemDocument

    if not isinstance(data, dict) or not {"domain", "problem"} & data.keys():
        return data is not None and "cases" not in data
    try:
        (ProblemDocument if "problem" in data else DomainDocument).model_validate(data)
    except ValidationError as error:
        return error.error_count()
    return 0
