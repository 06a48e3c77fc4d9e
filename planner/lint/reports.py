"""Reports of findings: lines for people, JSON, and SARIF 2.1.0, which code hosts and editors read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from planner.lint.codes import CODES
from planner.lint.findings import Edit, Finding, Level
from planner.lint.outlines import SourceText


def format_finding(finding: Finding) -> str:
    """Return "file:line:column: severity CODE place: message; hint [rule]"."""
    where = f"{finding.span}: " if finding.span else ""
    place = "" if finding.place == "file" else f"{finding.place}: "
    hint = f"; {finding.hint}" if finding.hint else ""
    fix = " (--fix)" if finding.fix else ""
    return f"{where}{finding.level.name.lower()} {finding.code}: {place}{finding.message}{hint} [{finding.rule}]{fix}"


def count_levels(findings: Iterable[Finding]) -> str:
    """Count findings: "1 error, 2 warnings", or "nothing to report"."""
    levels = Counter(finding.level for finding in findings)
    found = [(levels[level], level.name.lower()) for level in Level if levels[level]]
    return ", ".join(f"{number} {name}{'s' if number > 1 else ''}" for number, name in found) or "nothing to report"


def to_json(name: str, findings: Sequence[Finding]) -> dict[str, Any]:
    """Return `findings` about the domain or problem `name` as data."""
    levels = Counter(finding.level for finding in findings)
    return {
        "name": name,
        "findings": [_finding_data(each) for each in findings],
        "counts": {level.name.lower(): levels[level] for level in Level},
    }


def _finding_data(finding: Finding) -> dict[str, Any]:
    span = finding.span
    found: dict[str, Any] = {"file": None, "line": None, "column": None, "end_line": None, "end_column": None}
    if span:
        found = {
            "file": span.source,
            "line": span.line,
            "column": span.column,
            "end_line": span.end_line,
            "end_column": span.end_column,
        }
    found |= {"code": finding.code, "rule": finding.rule, "severity": finding.level.name.lower()}
    found |= {"place": finding.place, "message": finding.message, "hint": finding.hint}
    if finding.fix:
        edits = [{"file": x.source, "start": x.start, "end": x.end, "text": x.text} for x in finding.fix.edits]
        found["fix"] = {"title": finding.fix.title, "edits": edits}
    return found


_SARIF_LEVELS = {Level.ERROR: "error", Level.WARNING: "warning", Level.HINT: "note"}


def to_sarif(findings: Sequence[Finding], texts: Sequence[SourceText], version: str) -> dict[str, Any]:
    """Return `findings` as a log of SARIF 2.1.0 (OASIS, 2020)."""
    rules = sorted({each.rule for each in findings}, key=lambda rule: CODES.get(rule, (rule,))[0])
    places = {rule: number for number, rule in enumerate(rules)}
    driver = {
        "name": "forethought",
        "version": version,
        "rules": [
            {
                "id": CODES[rule][0] if rule in CODES else rule,
                "name": rule,
                "shortDescription": {"text": CODES[rule][1] if rule in CODES else rule},
            }
            for rule in rules
        ],
    }
    known = {each.name: each for each in texts}
    results = [_sarif_result(each, places[each.rule], known) for each in findings]
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}],
    }


def _sarif_result(finding: Finding, number: int, texts: dict[str, SourceText]) -> dict[str, Any]:
    hint = f"; {finding.hint}" if finding.hint else ""
    found: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": number,
        "level": _SARIF_LEVELS[finding.level],
        "message": {"text": f"{finding.place}: {finding.message}{hint}"},
    }
    span = finding.span
    if span:
        region = {
            "startLine": span.line,
            "startColumn": span.column,
            "endLine": span.end_line,
            "endColumn": span.end_column,
        }
        location = {"artifactLocation": {"uri": _uri(span.source)}, "region": region}
        found["locations"] = [{"physicalLocation": location}]
    if finding.fix:
        changes = [_sarif_change(edit, texts[edit.source]) for edit in finding.fix.edits if edit.source in texts]
        found["fixes"] = [{"description": {"text": finding.fix.title}, "artifactChanges": changes}]
    return found


def _sarif_change(edit: Edit, source: SourceText) -> dict[str, Any]:
    span = source.span(edit.start, edit.end)
    region = {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }
    replaced = {"deletedRegion": region, "insertedContent": {"text": edit.text}}
    return {"artifactLocation": {"uri": _uri(edit.source)}, "replacements": [replaced]}


def _uri(name: str) -> str:
    from urllib.parse import quote

    path = Path(name)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
