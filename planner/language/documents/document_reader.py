"""Read YAML and JSON documents to domains and problems; each mistake has its place in the file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from planner.errors import DocumentError, Location, did_you_mean
from planner.garbage_collection import pause_collector
from planner.language.declare.action_parameters import parse_data_type, read_parameters
from planner.language.declare.condition_reader import read_atom
from planner.language.declare.declared_names import Types
from planner.language.declare.fields import Place, resolution_of
from planner.language.declare.marks import Moment, Outcome, Source, When
from planner.language.declare.model_builder import Declarations, make_function, objects_of
from planner.language.declare.problem_builder import ProblemBuilder
from planner.language.documents.document_conditions import demand_of, read_default
from planner.language.documents.schema import DomainDocument, ProblemDocument, document_error, load_hierarchies
from planner.language.documents.text_formats import Document, json_positions, parse_json, parse_yaml, yaml_positions
from planner.model import REQUIRED, Case, DataParameter, DomainModel, Problem
from planner.problem_kinds import AnyDomain, AnyProblem

if TYPE_CHECKING:
    from planner.language.documents.schema import (
        ActionDocument,
        DataDocument,
        DomainDocument,
        MomentDocument,
        ProblemDocument,
    )


def declarations_of(document: DomainDocument, place: Place) -> Declarations:
    """Read the declarations of `document`; raises `DocumentError` at the first mistake."""
    resolution = resolution_of(document.resolution, place.within("resolution"))
    found = Declarations(document.domain, place.within("domain"), document.description, resolution)
    types = document.types if isinstance(document.types, dict) else {name: ["object"] for name in document.types}
    found.types.declare({name: tuple(parents) for name, parents in types.items()}, place.within("types"))
    for name, type_ in document.constants.items():
        found.constant(name, type_, place.within("constants", name))
    for name, predicate in document.predicates.items():
        here = place.within("predicates", name)
        found.predicate(
            name,
            found.variables(predicate.parameters, here.within("parameters")),
            here,
            stale_with=predicate.stale_with,
            tags_=predicate.tags,
            description=predicate.description,
            functional=predicate.functional,
        )
    for name, function in document.functions.items():
        here = place.within("functions", name)
        variables = found.variables(function.parameters, here.within("parameters"))
        bounds = function.low, function.high, function.tolerance
        found.function(make_function(name, variables, bounds, function.description, here), here)
    for name, action in document.actions.items():
        _declare_action(found, name, action, place.within("actions", name))
    for number, rule in enumerate(document.derived):
        here = place.within("derived", number)
        head = read_atom(rule.head, here.within("head"), "atom", "name(arg, …)")
        found.derive(head, rule.parameters, rule.condition, here)
    found.earlier.read(document.was.model_dump(exclude_defaults=True), place.within("was"))
    return found


def _declare_action(found: Declarations, name: str, action: ActionDocument, place: Place) -> None:
    here = place.within("parameters")
    written = {
        key: (value if len(value) > 1 else value[0] if value else "")
        if isinstance(value, list)
        else _read_data_parameter(key, value, here.within(key))
        for key, value in action.parameters.items()
    }
    parameters = read_parameters(written, found.types, here)
    found.action(name, parameters, read_action_fields(action), place)


def read_action_fields(action: ActionDocument) -> Any:
    """Return the fields of `action`, besides its parameters, as declarations take them."""
    duration = action.duration
    if duration is not None and not isinstance(duration, int | Decimal | str):
        duration = duration.model_dump()
    return {
        **{field: getattr(action, field) for field in _PLAIN},
        "duration": duration,
        "at_start": _read_moment(action.at_start),
        "at_end": _read_moment(action.at_end),
        "when": _read_whens(action.when),
        "outcomes": [Outcome(each.probability, each.provides, each.modifies, each.name) for each in action.outcomes],
        "cases": [Case(tuple(each.arguments), each.risk, tuple(each.outcomes)) for each in action.cases],
    }


def _read_whens(written: Any) -> list[When]:
    whens = written if isinstance(written, list) else [written]
    return [When(each.requires, each.provides, each.modifies, each.variables) for each in whens]


def _read_moment(written: MomentDocument | None) -> Moment | None:
    if written is None:
        return None
    return Moment(written.requires, written.provides, written.modifies, _read_whens(written.when))


_PLAIN = (
    "requires", "provides", "modifies", "cost", "uses", "resolution", "after", "creates", "throughout", "holds", "risk",
    "senses", "lists", "tags", "description", "similes", "examples",
)  # fmt: skip
"""The fields that declarations accept as they stand in documents."""


def _read_data_parameter(name: str, data: DataDocument, place: Place) -> DataParameter:
    annotation = parse_data_type(data.type)
    if annotation is None:
        hint = "write a planning type, or one such as str, list[int], date | None"
        raise place.within("type").error(f"{data.type!r} is no type of data", hint)
    default = read_default(data.default, annotation, place) if "default" in data.model_fields_set else REQUIRED
    source: Any = Source(data.source.fact, data.source.path, data.source.approved) if data.source else None
    return DataParameter(name, annotation, default, source, data.fixed, data.description)


def problem_of(document: ProblemDocument, domain: DomainModel, place: Place) -> Problem:
    """Return the problem; raises `DocumentError` at the first mistake."""
    types = Types.of(domain.types)
    objects, _ = objects_of(document.objects, types, place.within("objects"))
    goal: Any = document.goal
    if not isinstance(goal, list):
        soft = goal.soft
        wishes = soft if isinstance(soft, dict) else [(each.condition, each.utility) for each in soft]
        goal = {"hard": goal.hard, "soft": wishes}
    timed: Any = document.timed
    if isinstance(timed, list):
        timed = [(each.time, each.changes) for each in timed]
    here = place.within("constraints")
    return ProblemBuilder(domain, objects, place).build(
        document.problem,
        document.initial,
        goal,
        values=document.values,
        unknown=document.unknown,
        likely=document.likely,
        constraints=[demand_of(each, here.within(at)) for at, each in enumerate(document.constraints)],
        budgets=document.budgets,
        deadline=document.deadline,
        timed=timed,
        windows=document.windows,
        due=_read_due(document.due),
        capacity=document.capacity,
        starts_at=document.starts_at,
        objective=document.objective,
        ran=document.ran,
        metric=document.metric,
        resolution=resolution_of(document.resolution, place.within("resolution")) or domain.resolution,
        entities={},
    )


def _read_due(written: Any) -> Any:
    """Return deadlines as declarations take them."""
    if isinstance(written, list):
        return [(each.condition, {"by": each.by, "weight": each.weight}) for each in written]
    return {
        condition: each if isinstance(each, int | Decimal | str) else {"by": each.by, "weight": each.weight}
        for condition, each in written.items()
    }


@dataclass(frozen=True, slots=True)
class Documents:
    """The domains and problems of a file, in its order."""

    domains: tuple[AnyDomain, ...] = ()
    problems: tuple[AnyProblem, ...] = ()

    @property
    def classical_domains(self) -> tuple[DomainModel, ...]:
        """The domains without tasks."""
        return tuple([each for each in self.domains if isinstance(each, DomainModel)])


def read_documents(source: str | Path, *, domain: AnyDomain | None = None) -> Documents:
    """Read the domains and problems of a YAML or JSON file, or of a text with its contents.

    A text, unlike a path, has a line break or a brace. Problems whose domain is not in the same text are those of
    `domain`; those with tasks are hierarchical. Raises `DocumentError` with file, line and column.
    """
    with pause_collector():
        return read_parsed(open_documents(source), domain)


def parse_documents(text: str, name: str, *, domain: AnyDomain | None = None) -> Documents:
    """Read the domains and problems in `text`, YAML or JSON, as `read_documents` does; messages call it `name`."""
    with pause_collector():
        return read_parsed(split_documents(text, name), domain)


def read_parsed(documents: list[Document], domain: AnyDomain | None) -> Documents:
    """Read the domains and problems of parsed `documents`; problems without a domain there are those of `domain`."""
    kinds = [(document, _find_kind(document)) for document in documents if not has_cases(document)]
    domains: dict[str, AnyDomain] = {}
    for document, kind in kinds:
        if kind is DomainDocument:
            model = _build_domain(validate_document(document, DomainDocument), document.place)
            if model.name in domains:
                raise document.place.within("domain").error(f"two domains are named {model.name!r}")
            domains[model.name] = model
    problems: list[AnyProblem] = []
    for document, kind in kinds:
        if kind is ProblemDocument:
            found = validate_document(document, ProblemDocument)
            problems.append(_build_problem(found, _domain_of(found, document, domains, domain), document.place))
    return Documents(tuple(domains.values()), tuple(problems))


def _build_domain(document: DomainDocument, place: Place) -> AnyDomain:
    classical = declarations_of(document, place).model()
    if not document.model_fields_set & {"tasks", "methods", "for_each", "derived_methods"}:
        return classical
    return load_hierarchies("tasks and methods").domain_of(document, classical, place)


def _build_problem(document: ProblemDocument, domain: AnyDomain, place: Place) -> AnyProblem:
    if document.tasks is None and isinstance(domain, DomainModel):
        return problem_of(document, domain, place)
    return load_hierarchies("tasks").problem_of(document, domain, place)


def open_documents(source: str | Path) -> list[Document]:
    """Parse a YAML or JSON file, or a text with its contents, to documents that are not empty.

    Raises `DocumentError` with file, line and column.
    """
    if isinstance(source, str) and ("\n" in source or "{" in source):
        return split_documents(source, "<text>")
    from planner.language.pddl.syntax import read_text

    path = Path(source)
    return _parse(read_text(path, DocumentError), str(path), is_json=path.suffix.lower() == ".json")


def split_documents(text: str, name: str) -> list[Document]:
    """Parse a text to documents that are not empty; messages call it `name`. Raises `DocumentError`."""
    return _parse(text, name, is_json=text.lstrip()[:1] in ("{", "["))


def _parse(text: str, name: str, *, is_json: bool) -> list[Document]:
    try:
        if is_json:
            data, locate = parse_json(text, name), partial(json_positions, text)
        else:
            data, locate = parse_yaml(text, name), partial(yaml_positions, text, name)
    except DocumentError as error:
        from planner.language.documents.text_repairs import repair_text

        repaired = repair_text(text, error, is_json=is_json)
        raise (repaired.error if repaired else error) from None
    found = [Document(each, name, number, locate, text) for number, each in enumerate(data)]
    kept = [document for document in found if document.data is not None]
    if not kept:
        raise DocumentError("the file is empty", Location(name), "it begins with 'domain: NAME' or 'problem: NAME'")
    return kept


def has_cases(document: Document) -> bool:
    """Return whether `document` holds test cases, which are read by `forethought test` and nobody else."""
    return isinstance(document.data, Mapping) and "cases" in document.data


def _find_kind(document: Document) -> type[DomainDocument | ProblemDocument]:
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


def validate_document(document: Document, schema: type[Any]) -> Any:
    """Return the data of `document` as a value of `schema`; raises `DocumentError` at the first mistake."""
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
        message = f"the domain of problem {problem.problem!r} is not in this file"
        raise place.error(message, "give its file before the problem's")
    return _refuse_unknown_domain(problem, known, place)


def _refuse_unknown_domain(problem: ProblemDocument, known: Iterable[str], place: Any) -> DomainModel:
    names = ", ".join(known)
    if problem.domain is None:
        raise place.error(f"problem {problem.problem!r} does not say of which domain it is", f"one of {names}")
    message = f"problem {problem.problem!r} is of domain {problem.domain!r}, but what is given is {names}"
    raise place.error(message, did_you_mean(problem.domain, known))
