"""Suppressions: comments that say why a finding is no mistake.

    # forethought: ignore FT101 methods choose the driver
    ; forethought: ignore FT307, FT308 the egg is meant to break

A comment after code covers its line, or the declaration that begins there; a comment in a line of its own covers the
next line of code likewise. `ignore-file` covers the file. One without a reason, or for what is not found, is a finding.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from planner.lightweight import Final
from planner.lint.codes import code_of, find_rule
from planner.lint.findings import Finding, Level
from planner.lint.outlines import SourceText

_COMMENT: Final = re.compile(r"(?P<mark>[#;]+)[ \t]*forethought:[ \t]*ignore(?P<all>-file)?\b[ \t]*(?P<rest>[^\n\r]*)")
_CODE: Final = re.compile(r"\s*((?:FT\d+|[a-z]+(?:-[a-z]+)+)\b)\s*,?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Suppression:
    """One comment: the codes, the reason, and the offsets from `start` up to `end` that it covers."""

    source: SourceText
    codes: tuple[str, ...]
    reason: str
    place: tuple[int, int]
    start: int
    end: int

    def covers(self, finding: Finding) -> bool:
        """Return whether the comment is about `finding`."""
        span = finding.span
        if span is None or span.source != self.source.name or finding.code not in self.codes:
            return False
        return self.start <= self.source.offset(span.line, span.column) <= self.end


def find_suppressions(source: SourceText) -> list[Suppression]:
    """Find the suppressions in a text; JSON has no comments."""
    if source.language == "json":
        return []
    wanted = ";" if source.language == "pddl" else "#"
    return [_read(match, source) for match in _COMMENT.finditer(source.text) if match["mark"][0] == wanted]


def _read(match: re.Match[str], source: SourceText) -> Suppression:
    codes, rest = [], match["rest"]
    while code := _CODE.match(rest):
        codes.append(code_of(find_rule(code[1].lower() if "-" in code[1] else code[1]) or code[1]))
        rest = rest[code.end() :]
    start, end = _covered(match, source)
    if match["all"]:
        start, end = 0, len(source.text)
    return Suppression(source, tuple(codes), rest.strip(" \t-:—"), (match.start(), match.end()), start, end)


def _covered(match: re.Match[str], source: SourceText) -> tuple[int, int]:
    """Return the offsets of the line of code that a comment is about, and of the declaration that begins there."""
    text = source.text
    start = text.rfind("\n", 0, match.start()) + 1
    if not text[start : match.start()].strip():
        start = match.end()
        while start < len(text) and re.match(r"\s*([#;].*)?$", text[start : (_next_line(text, start))]):
            start = _next_line(text, start)
    end = _next_line(text, start)
    within = [entry.end for entry in source.outline().values() if start <= entry.start < end]
    return start, max([end - 1, *within])


def _next_line(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end + 1


def suppress(
    findings: Iterable[Finding],
    everything: Iterable[Finding],
    texts: Sequence[SourceText],
    *,
    is_read: bool,
    always: frozenset[str] | None,
) -> list[Finding]:
    """Return the findings that no comment suppresses, and those about the comments themselves.

    A comment has a use if it covers one of `everything` that was found with any problem. Nothing is said about use
    where the files were not read as a whole; and of comments in the text of the domain, the first, only if all problems
    of the domain were looked at (`always` is None), or if their rules are in `always`: they go by single declarations.
    """
    comments = [each for source in texts for each in find_suppressions(source)]
    kept = [each for each in findings if not any(comment.covers(each) for comment in comments)]
    found = [*everything]
    for comment in comments:
        rules = {find_rule(code) for code in comment.codes}
        is_sure = always is None or comment.source is not texts[0] or rules <= always
        is_used = not (is_read and is_sure) or any(comment.covers(each) for each in found)
        kept += _judge(comment, is_used)
    return kept


def _judge(comment: Suppression, is_used: bool) -> list[Finding]:
    """Return what is wrong with a comment."""
    span = comment.source.span(*comment.place)
    found = []
    if not comment.codes:
        hint = "write 'forethought: ignore FT101 reason'"
        found.append(Finding(Level.WARNING, "unknown-code", "comment", "it names no code", hint, span=span))
    unknown = [code for code in comment.codes if find_rule(code) is None and re.fullmatch(r"FT\d+", code)]
    found += [Finding(Level.WARNING, "unknown-code", "comment", f"there is no code {x}", span=span) for x in unknown]
    if comment.codes and not comment.reason:
        message, hint = (
            f"it ignores {', '.join(comment.codes)} without a reason",
            "say after the code why it is no mistake",
        )
        found.append(Finding(Level.WARNING, "no-reason", "comment", message, hint, span=span))
    if comment.codes and not is_used and not unknown:
        message = f"nothing here is {' or '.join(comment.codes)}"
        found.append(Finding(Level.HINT, "idle-suppression", "comment", message, "leave the comment out", span=span))
    return found
