"""Documents with test cases: their schema, and the suites of cases in files and folders.

A suite is a document with the key `cases`, in a file `NAME.cases.yaml` beside the domain or in the file of the domain
itself. Without the key `domain`, it is about the domain of its own file, or of the file `NAME.*` or `domain.*` beside
it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import Field

from planner.errors import InputError, Location
from planner.language.documents.document_reader import has_cases, open_documents, split_documents, validate_document
from planner.language.documents.schema import DocumentPart, EitherForm, Number, Term, Text, Texts
from planner.language.documents.text_formats import Document, DocumentPlace
from planner.language.loading.load import (
    CASES,
    DOCUMENTS,
    KNOWN,
    Source,
    find_languages,
    is_readable,
    is_text,
    open_source,
)


class StepsDocument(DocumentPart):
    """A plan: its steps, each `action(args…)`, or a plan file; and what it costs."""

    steps: Texts | None = None
    file: Text | None = None
    cost: Number | None = None


class InvalidDocument(DocumentPart):
    """A plan that must not be valid: the number of the step that fails, or `goal`, and words of the reason."""

    steps: Texts | None = None
    file: Text | None = None
    fails_at: Term | None = None
    because: Text | None = None


class PropertyDocument(DocumentPart):
    """What holds in every state (`always`), in none (`never`), or in some state (`eventually`).

    The states are those that the plan goes through (`over: plan`), or all that can be reached (`over: states`).
    """

    always: Texts | None = None
    never: Texts | None = None
    eventually: Texts | None = None
    over: Literal["plan", "states"] = "plan"


class RunDocument(DocumentPart):
    """A run in a simulated world for each of the `seeds`, and the statuses one of which it ends with.

    `faults` is how likely a call goes wrong; with `chances`, steps fail and come out as likely as they declare. The
    world may have `objects` that the problem does not name (name → type), and other facts: they turn up in the run.
    Nobody observes the predicates `unseen`.
    """

    seeds: list[int] = Field(default=[0])
    faults: Number = 0
    chances: bool = False
    outcome: Texts = Field(default=["SUCCEEDED"])
    objects: dict[Text, Texts] = Field(default_factory=dict)
    adding: Texts = Field(default_factory=list)
    without: Texts = Field(default_factory=list)
    unseen: Texts = Field(default_factory=list)


class CaseDocument(DocumentPart):
    """What is expected of a problem, which may be changed: facts that are added or left out, another goal.

    `problem` is the name of a problem of the domain, or a file; without it, the problem with the name of the case, or
    the only one. `optimum` is the least cost, `makespan` the least time, `at_most` a cost that some plan keeps.
    """

    problem: Text | None = None
    description: Text = ""
    adding: Texts = Field(default_factory=list)
    without: Texts = Field(default_factory=list)
    goal: Texts | None = None
    optimum: Number | None = None
    makespan: Number | None = None
    at_most: Number | None = None
    unsolvable: bool | None = None
    valid: list[EitherForm[StepsDocument, Texts]] = Field(default_factory=list)
    invalid: list[EitherForm[InvalidDocument, Texts]] = Field(default_factory=list)
    properties: list[PropertyDocument] = Field(default_factory=list)
    runs: list[RunDocument] = Field(default_factory=list)
    time_limit: Number | None = None


class CasesDocument(DocumentPart):
    """Cases by name. `domain` is a file, a folder or a shipped domain; `time_limit` is in seconds for each search."""

    cases: dict[Text, CaseDocument]
    domain: Text | None = None
    description: Text = ""
    time_limit: Number = 10


PROPERTIES: Final = ("always", "never", "eventually")


@dataclass(frozen=True, slots=True)
class Suite:
    """The cases of one document of `file`, and the source of their domain, which messages call `domain`."""

    file: Path
    domain: str
    source: Source
    written: CasesDocument
    place: DocumentPlace


def find_suites(path: Path) -> list[Suite]:
    """Return the suites of a file with cases, of a domain's file, or of a folder and the folders in it.

    Raises `InputError` for mistakes, and where there are no cases.
    """
    if not path.exists():
        raise InputError("there is no such file or folder", Location(str(path)))
    found = [suite for file in _list_files(path) for suite in read_suites(file)]
    if not found:
        hint = "write them to a file NAME.cases.yaml beside the domain; 'forethought new NAME' shows one"
        raise InputError("there are no cases", Location(str(path)), hint)
    return found


def _list_files(path: Path) -> Iterator[Path]:
    """Yield the files that may hold cases for `path`."""
    if path.is_dir():
        inside = sorted(each for each in path.rglob("*") if each.suffix.lower() in DOCUMENTS and each.is_file())
        yield from (each for each in inside if not any(part.startswith(".") for part in each.relative_to(path).parts))
        return
    if path.suffix.lower() in DOCUMENTS:
        yield path
    if not is_cases_file(path):
        yield from sorted(
            each for each in path.parent.glob(f"{path.stem}{CASES}.*") if each.suffix.lower() in DOCUMENTS
        )


def is_cases_file(path: Path) -> bool:
    """Return whether the file holds cases and nothing else, by its name."""
    return Path(path.stem).suffix.lower() == CASES and path.suffix.lower() in DOCUMENTS


def read_suites(file: Path) -> Iterator[Suite]:
    """Yield the suites in `file`; other documents there are left alone, and so are files that say nothing of cases."""
    if not is_cases_file(file) and b"cases" not in file.read_bytes():
        return
    yield from _read_documents(file, open_documents(file))


def check_text(file: Path, text: str) -> None:
    """Raise `InputError` at the first mistake in `text`, which is to be that of a file with cases."""
    for _ in _read_documents(file, split_documents(text, str(file))):
        pass


def _read_documents(file: Path, found: list[Document]) -> Iterator[Suite]:
    documents = [each for each in found if has_cases(each)]
    if not documents and is_cases_file(file):
        raise InputError("there are no cases in this file", Location(str(file)), "it begins with 'cases:'")
    for document in documents:
        yield _read_suite(file, document)


def _read_suite(file: Path, document: Document) -> Suite:
    written: CasesDocument = validate_document(document, CasesDocument)
    place = document.place
    if not written.cases:
        raise place.within("cases").error("there are no cases here", "a case is 'NAME: {optimum: 5}'")
    named = _find_domain(file, written.domain, place)
    try:
        source = open_source(named)
    except InputError as error:
        raise place.within("domain").error(error.message, error.hint) from None
    _check_limits(written, place)
    return Suite(file, named, source, written, place)


def _check_limits(written: CasesDocument, place: DocumentPlace) -> None:
    cases = {name: case.time_limit for name, case in written.cases.items() if case.time_limit is not None}
    limits = [(place, written.time_limit), *((place.within("cases", name), limit) for name, limit in cases.items())]
    for here, limit in limits:
        if limit <= 0:
            raise here.within("time_limit").error(f"a time limit is a number of seconds above 0, not {limit}")


def _find_domain(file: Path, domain: str | None, place: DocumentPlace) -> str:
    """Return the file, folder or name of the domain of the cases in `file`."""
    if domain is not None:
        beside = file.parent / domain
        if beside.exists():
            return str(beside)
        if is_readable(domain) and not is_text(domain):
            raise place.within("domain").error(f"there is no file {str(beside)!r}", "its path begins at this file")
        return domain
    if not is_cases_file(file):
        return str(file)
    endings = sorted(KNOWN.union(find_languages()))
    stem = Path(file.stem).stem
    candidates = [file.parent / f"{name}{ending}" for name in (stem, "domain") for ending in endings]
    found = next((each for each in candidates if each.is_file()), None)
    if found is None:
        names = ", ".join(f"{stem}{ending}" for ending in endings)
        raise place.error(
            "it is not said which domain the cases are about", f"write 'domain: FILE', or name it {names}"
        )
    return str(file.parent) if found.stem == "domain" else str(found)


def plan_of(written: Any) -> StepsDocument | InvalidDocument:
    """Return a plan that may be written as the list of its steps in the other form."""
    return StepsDocument(steps=written) if isinstance(written, list) else written
