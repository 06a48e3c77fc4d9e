"""Diagnostics: the findings of `forethought check` about texts that are perhaps not saved yet."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from executor.desk.loop.case_documents import check_text, is_cases_file
from executor.desk.lsp.names import Index
from executor.desk.lsp.workspace import Texts
from planner.errors import ForethoughtError, InputError
from planner.limits import LimitReached, Limits
from planner.lint.check_files import check_texts
from planner.lint.findings import Finding, Level
from planner.lint.outlines import SourceText

SECONDS: Final = 5.0
"""For the checks of one file; what they have not found by then stays unsaid."""
CHARACTERS: Final = 50_000
"""Characters of a text for which the checks have a second more; 10,000 tools, a million characters, take 10 s."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A finding in one text: the offsets of its part, and `fix` as a title with edits of offsets, if it has one."""

    start: int
    end: int
    level: str
    code: str
    message: str
    fix: tuple[str, tuple[tuple[int, int, str], ...]] | None = None


def find_diagnostics(
    path: Path, texts: Texts, seconds: float = SECONDS, cancel: threading.Event | None = None
) -> list[Diagnostic]:
    """Return what `forethought check` says about the text of `path`, together with the domain that it names.

    Where `cancel` is set meanwhile, there may be nothing.
    """
    texts.refresh(path)
    text = texts.text(path)
    if text is None or not text.strip():
        return []
    if is_cases_file(path):
        return _check_cases(path, text)
    chosen = [SourceText(str(path), text)]
    domain = texts.domain_of(path)
    if domain is not None and domain != path:
        chosen.insert(0, SourceText(str(domain), texts.text(domain) or ""))
    try:
        size = sum(len(each.text) for each in chosen)
        findings = check_texts(chosen, Limits(seconds + size / CHARACTERS, cancel=cancel)).findings
    except LimitReached:
        return []
    except ForethoughtError as error:
        return [_as_diagnostic(error, path, text)]
    lines = Index(text).lines
    return [found for each in findings if (found := _convert(each, path, text, lines)) is not None]


def _check_cases(path: Path, text: str) -> list[Diagnostic]:
    """Return the first mistake in a file of test cases; `forethought test` runs them."""
    try:
        check_text(path, text)
    except ForethoughtError as error:
        return [_as_diagnostic(error, path, text)]
    return []


def _as_diagnostic(error: ForethoughtError, path: Path, text: str) -> Diagnostic:
    place = error.location if isinstance(error, InputError) else None
    start = 0
    if place is not None and place.source == str(path) and place.line is not None:
        start = _offset(Index(text).lines, text, place.line, place.column or 1)
    message = error.message if isinstance(error, InputError) else str(error)
    hint = f"; {error.hint}" if isinstance(error, InputError) and error.hint else ""
    return Diagnostic(start, min(len(text), start + 1), "ERROR", "", f"{message}{hint}")


def _convert(finding: Finding, path: Path, text: str, lines: list[int]) -> Diagnostic | None:
    """Return a finding about `path` with offsets; None for one about another file."""
    span = finding.span
    if span is not None and span.source != str(path):
        return None
    start, end = 0, min(1, len(text))
    if span is not None:
        start = _offset(lines, text, span.line, span.column)
        end = max(start + 1, _offset(lines, text, span.end_line, span.end_column))
    fix = None
    if finding.fix is not None and all(each.source == str(path) for each in finding.fix.edits):
        fix = finding.fix.title, tuple([(each.start, each.end, each.text) for each in finding.fix.edits])
    hint = f"; {finding.hint}" if finding.hint else ""
    level = {Level.ERROR: "ERROR", Level.WARNING: "WARNING"}.get(finding.level, "HINT")
    return Diagnostic(start, end, level, finding.code, f"{finding.message}{hint}", fix)


def _offset(lines: list[int], text: str, line: int, column: int) -> int:
    """Return the offset of a line and a column that count characters from 1."""
    return min(len(text), lines[min(line, len(lines)) - 1] + column - 1)
