"""Load domains and problems from texts: PDDL, HDDL, YAML or JSON as it would stand in files.

A text has a line break between two characters, or begins as a definition does; all else names a file, a folder or a
shipped domain. A `pathlib.Path` is never a text. Errors name `<domain text>` or `<problem text>`, with line and column.
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
_NO_BREAK: Final = re.compile(r"[^\n\r]")


def open_text(text: str) -> Source:
    """Return the source of a domain that `text` defines, and maybe of its problem."""
    if _is_document(text):
        return TextDocuments(text)
    return Definitions(text)


def read_problem_text(text: str, domain: Source) -> AnyProblem:
    """Read the problem that `text` defines, for the domain of `domain`."""
    if isinstance(domain, FolderSource):
        domain = domain.domain_file
    model = domain.domain()
    if _is_document(text):
        from planner.language.documents.document_reader import parse_documents

        return pick_problem(parse_documents(text, PROBLEM_TEXT, domain=model), model, PROBLEM_TEXT)
    if isinstance(domain, DocumentSource | TextDocuments | PddlSource | Definitions | OtherSource):
        return _parse_problem(_cut(text, "problem"), model)
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
        text = _cut(self._text, "domain")
        if _HIERARCHY.search(text):
            found: AnyDomain = _find_hierarchical_reader(DOMAIN_TEXT).parse_domain(text, DOMAIN_TEXT)
            return found
        from planner.language.pddl import parse_domain

        return parse_domain(text, DOMAIN_TEXT)

    def domain(self) -> AnyDomain:
        """Return the domain of the text."""
        return self._domain

    def problems(self) -> Mapping[str, AnyProblem]:
        """Return the problem in the text, if it has one, under the name `problem`."""
        has_problem = any(kind == "problem" for kind, _, _ in _find_definitions(self._text))
        if not has_problem:
            return {}
        return LazyProblems({"problem": lambda: _parse_problem(_cut(self._text, "problem"), self._domain)})


def _find_definitions(text: str) -> list[tuple[str, int, int]]:
    """Return the kind, the start and the end of each definition at the top level of `text`."""
    found, depth, start = [], 0, 0
    for match in _PARENTHESIS.finditer(text):
        if match[0] == "(":
            start = start if depth else match.start()
            depth += 1
        elif match[0] == ")":
            depth -= 1
            kind = _KIND.match(text, start)
            if depth == 0 and kind:
                found.append((kind[1].lower(), start, match.end()))
            depth = max(depth, 0)
    return found


def _cut(text: str, kind: str) -> str:
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
