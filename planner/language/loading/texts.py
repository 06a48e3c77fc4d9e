"""Load domains and problems from texts: PDDL, HDDL, YAML or JSON as it would stand in files.

A text has a line break between two characters, or begins as a definition does; all else names a file, a folder or a
shipped domain. A `pathlib.Path` is never a text. Errors name `<domain text>` or `<problem text>`, with line and column.
Of a text with fenced blocks of Markdown, as language models answer, the blocks with definitions are read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property

from planner.errors import InputError, Location
from planner.language.loading.load import (
    DocumentSource,
    FolderSource,
    LazyProblems,
    OtherSource,
    PddlSource,
    Source,
    find_languages,
    pick_problem,
)
from planner.lightweight import TYPE_CHECKING, Any, Final
from planner.model import DomainModel
from planner.problem_kinds import AnyDomain, AnyProblem

if TYPE_CHECKING:
    from planner.language.documents import Documents

DOMAIN_TEXT: Final = "<domain text>"
PROBLEM_TEXT: Final = "<problem text>"
_HIERARCHY: Final = re.compile(r"\(\s*:(task|method|htn)\b", re.IGNORECASE)
_PARENTHESIS: Final = re.compile(r";[^\n\r]*|[()]")
_KIND: Final = re.compile(r"\(\s*define\s*\(\s*(domain|problem)\b", re.IGNORECASE)
_PROBLEM_NAME: Final = re.compile(r"\(\s*define\s*\(\s*problem\s+([^\s();]+)", re.IGNORECASE)
_NO_BREAK: Final = re.compile(r"[^\n\r]")
_FENCED: Final = re.compile(r"^[ \t]*(```+|~~~+)[^`\n]*\n(.*?)(?:^[ \t]*\1[ \t]*\r?$|\Z)", re.MULTILINE | re.DOTALL)
_KEY: Final = re.compile(r"(?:^|[{,])[ \t]*([\"']?)(?:domain|problem)\1[ \t]*:", re.MULTILINE)
_KEY_AND_NAME: Final = re.compile(r"^(domain|problem):[ \t]+\S", re.MULTILINE)
_SHORT: Final = 10_000
"""Most characters of a text without a key `domain` or `problem` that the reader of YAML says what is wrong with."""
_DEEPEST: Final = 1_000
"""Levels of parentheses at which no more definitions are looked for; the reader refuses fewer."""


def open_text(text: str) -> Source:
    """Return the source of a domain that `text` defines, and maybe of its problem."""
    text = _take_fenced(text, DOMAIN_TEXT)
    if _is_document(text):
        _check_document(text, DOMAIN_TEXT)
        return TextDocuments(text)
    return Definitions(text)


def read_problem_text(text: str, domain: Source) -> AnyProblem:
    """Read the problem that `text` defines, for the domain of `domain`."""
    if isinstance(domain, FolderSource):
        domain = domain.domain_file
    model = domain.domain()
    text = _take_fenced(text, PROBLEM_TEXT)
    if _is_document(text):
        _check_document(text, PROBLEM_TEXT)
        from planner.language.documents.document_reader import parse_documents

        return pick_problem(parse_documents(text, PROBLEM_TEXT, domain=model), model, PROBLEM_TEXT)
    if isinstance(domain, DocumentSource | TextDocuments | PddlSource | Definitions | OtherSource):
        return _parse_problem(cut_definition(text, "problem"), model)
    message = f"the problem is not in a language that goes with the domain of {domain.name}"
    raise InputError(message, Location(PROBLEM_TEXT), "give the domain as PDDL, too")


def _parse_problem(text: str, domain: AnyDomain) -> AnyProblem:
    """Parse the problem in PDDL, or HDDL for a domain with tasks."""
    if not isinstance(domain, DomainModel):
        found: AnyProblem = _find_hierarchical_reader(PROBLEM_TEXT).parse_problem(text, domain, PROBLEM_TEXT)
        return found
    from planner.language.pddl import parse_problem

    return parse_problem(text, domain, PROBLEM_TEXT)


def _is_document(text: str) -> bool:
    """Return whether `text` is YAML or JSON: it begins with neither a parenthesis nor a comment of PDDL."""
    return text.lstrip("\N{ZERO WIDTH NO-BREAK SPACE} \t\r\n")[:1] not in ("(", ";")


def _take_fenced(text: str, name: str) -> str:
    """Return `text` with all but its fenced blocks that define something blanked out, if it has some; places stay."""
    nul = text.find("\0")
    if nul >= 0:
        raise InputError("found a NUL character, expected text", _locate(text, nul, name))
    blocks = [match for match in _FENCED.finditer(text) if _KIND.search(match[2]) or _KEY.search(match[2])]
    if not blocks:
        return text
    before = text[: blocks[0].start()]
    if _KIND.search(before) or _KEY_AND_NAME.search(before):
        return text
    found, end = [], 0
    for match in blocks:
        found += [_NO_BREAK.sub(" ", text[end : match.start(2)]), match[2]]
        end = match.end(2)
        is_next = match is not blocks[0]
        if is_next and _is_document(match[2]):  # documents of YAML need a mark between them
            found[-2] = f"{found[-2][:-1].rstrip(' ')}---\n"
    return "".join([*found, _NO_BREAK.sub(" ", text[end:])])


def _check_document(text: str, name: str) -> None:
    """Raise `InputError` for what is no YAML or JSON of ours, where the reader would take long or not say why."""
    definition = _KIND.search(text)
    if _KEY.search(text) is None and definition is not None:
        hint = "give the definition alone, or fenced by ``` in lines of their own"
        raise InputError("there is other text before this definition", _locate(text, definition.start(), name), hint)
    if len(text) > _SHORT and _KEY.search(text) is None:
        hint = "PDDL begins with '(define', YAML with 'domain: NAME' or 'problem: NAME'"
        raise InputError("the text is neither PDDL nor a document in YAML or JSON", Location(name, 1, 1), hint)


def _locate(text: str, place: int, name: str) -> Location:
    return Location(name, text.count("\n", 0, place) + 1, place - text.rfind("\n", 0, place))


class TextDocuments:
    """A domain, and maybe problems, in YAML or JSON."""

    name = DOMAIN_TEXT

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _documents(self) -> Documents:
        from planner.language.documents.document_reader import parse_documents

        return parse_documents(self._text, DOMAIN_TEXT)

    def domain(self) -> AnyDomain:
        """Return the one domain of the text."""
        found = self._documents.domains
        if len(found) != 1:
            message = f"the text declares {len(found)} domains, expected one"
            raise InputError(message, Location(DOMAIN_TEXT), "it begins with 'domain: NAME'")
        return found[0]

    def problems(self) -> Mapping[str, AnyProblem]:
        """Return the problems of the text."""
        return {problem.name: problem for problem in self._documents.problems}


class Definitions:
    """A domain, and maybe its problem, in PDDL or HDDL."""

    name = DOMAIN_TEXT

    def __init__(self, text: str) -> None:
        self._text = text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}")

    @cached_property
    def _domain(self) -> AnyDomain:
        text = cut_definition(self._text, "domain")
        if _HIERARCHY.search(text):
            found: AnyDomain = _find_hierarchical_reader(DOMAIN_TEXT).parse_domain(text, DOMAIN_TEXT)
            return found
        from planner.language.pddl import parse_domain

        return parse_domain(text, DOMAIN_TEXT)

    def domain(self) -> AnyDomain:
        """Return the domain of the text."""
        return self._domain

    def problems(self) -> Mapping[str, AnyProblem]:
        """Return the problem in the text, if it has one, under its name."""
        starts = [start for kind, start, _ in _find_definitions(self._text) if kind == "problem"]
        if not starts:
            return {}
        named = _PROBLEM_NAME.match(self._text, starts[0])
        name = named[1] if named else "problem"
        return LazyProblems({name: lambda: _parse_problem(cut_definition(self._text, "problem"), self._domain)})


def _find_definitions(text: str) -> list[tuple[str, int, int]]:
    """Return the kind, the start and the end of each definition at the top level of `text`."""
    found, depth, start = [], 0, 0
    for match in _PARENTHESIS.finditer(text):
        if match[0] == "(":
            start = start if depth else match.start()
            depth += 1
            if depth > _DEEPEST:
                break
        elif match[0] == ")":
            depth -= 1
            kind = _KIND.match(text, start)
            if depth == 0 and kind:
                found.append((kind[1].lower(), start, match.end()))
            depth = max(depth, 0)
    return found


def has_definition(text: str, kind: str) -> bool:
    """Return whether `text` defines a `kind`, "domain" or "problem", or begins to, where its parentheses are wrong."""
    found = [each for each, _, _ in _find_definitions(text)] or [each[1].lower() for each in _KIND.finditer(text)]
    return kind in found


def parser_of(text: str, name: str, domain: AnyDomain | None = None) -> Any:
    """Return the module with `parse_domain` and `parse_problem` for `text`: of HDDL if it or its `domain` has tasks."""
    is_hierarchy = not isinstance(domain, DomainModel) if domain is not None else _HIERARCHY.search(text) is not None
    if is_hierarchy:
        return _find_hierarchical_reader(name)
    from planner.language import pddl

    return pddl


def cut_definition(text: str, kind: str) -> str:
    """Return `text` with the definitions of other kinds blanked out, if it has one of this kind; places stay."""
    found = _find_definitions(text)
    if all(each != kind for each, _, _ in found):
        return text
    for each, start, end in found:
        if each != kind:
            text = text[:start] + _NO_BREAK.sub(" ", text[start:end]) + text[end:]
    return text


def _find_hierarchical_reader(name: str) -> Any:
    language = find_languages().get(".hddl")
    if language is None:
        raise InputError("the text has tasks of a hierarchy, and no reader of HDDL is installed", Location(name))
    try:
        return language.load()
    except ImportError as error:
        raise InputError(f"the reader {language.value} of HDDL cannot be imported: {error}", Location(name)) from error
