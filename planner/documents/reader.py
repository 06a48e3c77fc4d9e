"""From documents to domains and problems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from planner.collector import collector_paused
from planner.declare.places import Place
from planner.documents.domains import declarations_of
from planner.documents.hierarchy import hierarchies
from planner.documents.json_text import json_positions, parse_json
from planner.documents.mistakes import document_error
from planner.documents.places import Document
from planner.documents.problems import problem_of
from planner.documents.schema import DomainDocument, ProblemDocument
from planner.documents.yaml_text import parse_yaml, yaml_positions
from planner.errors import DocumentError, Location, did_you_mean
from planner.kinds import AnyDomain, AnyProblem
from planner.model import DomainModel


@dataclass(frozen=True, slots=True)
class Documents:
    """What a file declares, in its order."""

    domains: tuple[AnyDomain, ...] = ()
    problems: tuple[AnyProblem, ...] = ()

    @property
    def classical_domains(self) -> tuple[DomainModel, ...]:
        """The domains without tasks."""
        return tuple([each for each in self.domains if isinstance(each, DomainModel)])


def read_documents(source: str | Path, *, domain: AnyDomain | None = None) -> Documents:
    """Return the domains and problems of a YAML or JSON file, or of a text that is one.

    A text is told from a path by a line break or a brace. Problems whose domain is not in the same text are those of
    `domain`. Those with tasks are hierarchical. Raises `DocumentError` with file, line and column.
    """
    with collector_paused():
        return _read(_documents(source), domain)


def _read(documents: list[Document], domain: AnyDomain | None) -> Documents:
    kinds = [(document, _kind(document)) for document in documents]
    domains: dict[str, AnyDomain] = {}
    for document, kind in kinds:
        if kind is DomainDocument:
            model = _domain(_validated(document, DomainDocument), document.place)
            if model.name in domains:
                raise document.place.within("domain").error(f"two domains are named {model.name!r}")
            domains[model.name] = model
    problems: list[AnyProblem] = []
    for document, kind in kinds:
        if kind is ProblemDocument:
            found = _validated(document, ProblemDocument)
            problems.append(_problem(found, _domain_of(found, document, domains, domain), document.place))
    return Documents(tuple(domains.values()), tuple(problems))


def _domain(document: DomainDocument, place: Place) -> AnyDomain:
    classical = declarations_of(document, place).model()
    if not document.model_fields_set & {"tasks", "methods", "derived_methods"}:
        return classical
    return hierarchies("tasks and methods").domain_of(document, classical, place)


def _problem(document: ProblemDocument, domain: AnyDomain, place: Place) -> AnyProblem:
    if document.tasks is None and isinstance(domain, DomainModel):
        return problem_of(document, domain, place)
    return hierarchies("tasks").problem_of(document, domain, place)


def _documents(source: str | Path) -> list[Document]:
    if isinstance(source, str) and ("\n" in source or "{" in source):
        return _parse(source, "<text>", is_json=source.lstrip()[:1] in ("{", "["))
    from planner.pddl.text import read_text  # noqa: PLC0415 - a text needs no file

    path = Path(source)
    return _parse(read_text(path, DocumentError), str(path), is_json=path.suffix.lower() == ".json")


def _parse(text: str, name: str, *, is_json: bool) -> list[Document]:
    if is_json:
        data = parse_json(text, name)
        found = [Document(each, name, number, lambda: json_positions(text)) for number, each in enumerate(data)]
    else:
        data = parse_yaml(text, name)
        found = [Document(each, name, number, lambda: yaml_positions(text, name)) for number, each in enumerate(data)]
    kept = [document for document in found if document.data is not None]
    if not kept:
        raise DocumentError("the file is empty", Location(name), "it begins with 'domain: NAME' or 'problem: NAME'")
    return kept


def _kind(document: Document) -> type[DomainDocument | ProblemDocument]:
    data = document.data
    if not isinstance(data, Mapping):
        raise document.place.error("a document is a mapping", "it begins with 'domain: NAME' or 'problem: NAME'")
    if "problem" in data:
        return ProblemDocument
    if "domain" in data:
        return DomainDocument
    near = next(((key, hint) for key in data if (hint := did_you_mean(key, ("domain", "problem")))), None)
    if near:
        raise document.place.within(near[0]).error(f"a document has no key {near[0]!r}", near[1])
    raise document.place.error("a document needs the key 'domain' or 'problem'")


def _validated(document: Document, schema: type[Any]) -> Any:
    try:
        return schema.model_validate(document.data)
    except ValidationError as error:
        raise document_error(error, document, schema) from None


def _domain_of(
    problem: ProblemDocument, document: Document, domains: Mapping[str, AnyDomain], given: AnyDomain | None
) -> AnyDomain:
    known: dict[str, AnyDomain] = {**domains, **({given.name: given} if given else {})}
    place = document.place.within("domain")
    if problem.domain is None and len(known) == 1:
        return next(iter(known.values()))
    if problem.domain in known:
        return known[problem.domain]
    if not known:
        raise place.error(
            f"the domain of problem {problem.problem!r} is not in this file", "give its file before the problem's"
        )
    return _unknown_domain(problem, known, place)


def _unknown_domain(problem: ProblemDocument, known: Iterable[str], place: Any) -> DomainModel:
    names = ", ".join(known)
    if problem.domain is None:
        raise place.error(f"problem {problem.problem!r} does not say of which domain it is", f"one of {names}")
    raise place.error(
        f"problem {problem.problem!r} is of domain {problem.domain!r}, but what is given is {names}",
        did_you_mean(problem.domain, known),
    )
