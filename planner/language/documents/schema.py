"""The schema of YAML and JSON documents, in pydantic; it also gives editors a JSON Schema.

`document_error` turns what pydantic finds into one sentence at its place. The schema includes tasks and methods; the
entry point `tasks` of the group `forethought.documents` names a module with the functions of `Hierarchies`, which reads
and writes them.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Final, Protocol, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainValidator,
    Tag,
    TypeAdapter,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from planner.errors import DocumentError, UnsupportedError, did_you_mean
from planner.language.declare.fields import Place
from planner.language.documents.text_formats import Document, DocumentPlace, Path
from planner.model import DomainModel
from planner.problem_kinds import AnyDomain, Named, OtherDomain, OtherProblem

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError
    from pydantic_core import ErrorDetails

_TEXT: Final = {"type": "string"}
_TEXTS: Final = {"anyOf": [_TEXT, {"type": "array", "items": _TEXT}]}
_NUMBER: Final = {"type": "number"}
_TERM: Final = {"anyOf": [_NUMBER, _TEXT]}

_WINDOWS: Final = {"anyOf": [_TEXT, {"type": "array", "items": {"anyOf": [_TERM, {"type": "array", "items": _TERM}]}}]}


def _wrap_in_list(value: Any) -> Any:
    """Return one value as a list of one."""
    return value if isinstance(value, list) else [value]


def _check_number(value: Any) -> int | Decimal:
    """Return a number as the readers give it: a float is left only of what is infinite or no number."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise PydanticCustomError("kind", "expected a number")
    if isinstance(value, float):
        raise PydanticCustomError("kind", "expected a finite number")
    return value


def _check_term(value: Any) -> int | Decimal | str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise PydanticCustomError("kind", "expected a number or a function such as distance(a, b)")
    return _check_number(value)


def _check_text(value: Any) -> str:
    if not isinstance(value, str):
        advice = "" if isinstance(value, list | dict) or value is None else ": put quotes around it"
        raise PydanticCustomError("kind", "expected a text{advice}", {"advice": advice})
    return value


Text = Annotated[str, PlainValidator(_check_text), WithJsonSchema(_TEXT)]
Texts = Annotated[list[Text], BeforeValidator(_wrap_in_list), WithJsonSchema(_TEXTS)]
Number = Annotated[Any, PlainValidator(_check_number), WithJsonSchema(_NUMBER)]
Term = Annotated[Any, PlainValidator(_check_term), WithJsonSchema(_TERM)]
Terms = Annotated[
    list[Annotated[Any, PlainValidator(_check_term), WithJsonSchema(_TERM)]],
    BeforeValidator(_wrap_in_list),
    WithJsonSchema({"anyOf": [_NUMBER, _TEXT, {"type": "array", "items": _TERM}]}),
]


class DocumentPart(BaseModel):
    """A mapping in a document: no unknown keys; a key without a value counts as left out."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _without_empty(cls, value: Any) -> Any:
        if isinstance(value, dict) and any(each is None for each in value.values()):
            return {key: each for key, each in value.items() if each is not None}
        return {} if value is None else value


def _shape(value: Any) -> str:
    """Return which of the two forms `value` has."""
    return "mapping" if isinstance(value, dict | BaseModel) else "list"


MappingForm = TypeVar("MappingForm")
ListForm = TypeVar("ListForm")
EitherForm = Annotated[Annotated[MappingForm, Tag("mapping")] | Annotated[ListForm, Tag("list")], Discriminator(_shape)]
"""A value that is written as a mapping or else, as a list or a single text."""
Types = EitherForm[dict[Text, Texts], Texts]
Parameters = EitherForm[dict[Text, Texts], list[Texts]]


class _Signature(DocumentPart):
    parameters: Parameters = []

    @model_validator(mode="before")
    @classmethod
    def _from_list(cls, value: Any) -> Any:
        return {"parameters": value} if isinstance(value, list) else value


class PredicateDocument(_Signature):
    """A predicate: its parameters (name → type, or types alone), and what makes its facts stale.

    `functional` says that an item has one value at a time: the last argument, or the parameter that it names.
    """

    stale_with: Texts = []
    tags: Texts = []
    description: Text = ""
    functional: bool | Text = False


class FunctionDocument(_Signature):
    """A numeric function, its bounds, and by how much an observed value may differ from the expected one."""

    low: Number | None = None
    high: Number | None = None
    tolerance: Number = 0
    description: Text = ""


class FromDocument(DocumentPart):
    """Where a data parameter's value comes from: the step that provides `fact`, its result's field at `path`.

    With `approved`, an agent lets text from there reach an irreversible step without asking anybody.
    """

    fact: Text
    path: Text = ""
    approved: bool = False


class DataDocument(BaseModel):
    """A parameter that search ignores and execution fills."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    type: Text = "str"
    default: Any = None
    source: FromDocument | None = Field(default=None, alias="from")
    fixed: bool = False
    description: Text = ""


class WhenDocument(DocumentPart):
    """An effect under a condition, for all objects of `variables` (name → type)."""

    requires: Texts = []
    provides: Texts = []
    modifies: Texts = []
    variables: dict[Text, Texts] = {}


class OutcomeDocument(DocumentPart):
    """One of the results that an action may have."""

    probability: Number
    provides: Texts = []
    modifies: Texts = []
    name: Text = ""


class CaseDocument(DocumentPart):
    """What is likely where the arguments of an action are these objects; `_` stands for any."""

    arguments: Texts
    risk: Number = 0
    outcomes: list[Number] = []


class MomentDocument(DocumentPart):
    """What a step requires and changes at its start or at its end."""

    requires: Texts = []
    provides: Texts = []
    modifies: Texts = []
    when: EitherForm[WhenDocument, list[WhenDocument]] = []


class RangeDocument(DocumentPart):
    """A range of durations in seconds, each a number or an expression."""

    at_least: Term | None = None
    at_most: Term | None = None


class ActionDocument(DocumentPart):
    """An action."""

    parameters: dict[Text, EitherForm[DataDocument, Texts]] = {}
    requires: Texts = []
    provides: Texts = []
    modifies: Texts = []
    when: EitherForm[WhenDocument, list[WhenDocument]] = []
    cost: Terms = [1]
    uses: dict[Text, Terms] = {}
    resolution: Number | None = None
    after: Texts = []
    creates: dict[Text, Text] = {}
    duration: EitherForm[RangeDocument, Term] | None = None
    throughout: Texts = []
    at_start: MomentDocument | None = None
    at_end: MomentDocument | None = None
    holds: EitherForm[dict[Text, Terms], Texts] = {}
    risk: Number = 0
    outcomes: list[OutcomeDocument] = []
    cases: list[CaseDocument] = []
    senses: Texts = []
    lists: Texts = []
    tags: Texts = []
    description: Text = ""
    similes: Texts = []
    examples: Texts = []


class DerivedDocument(DocumentPart):
    """A rule: `head` holds wherever `condition` does."""

    head: Text
    parameters: dict[Text, Texts] = {}
    condition: Texts


class NetworkDocument(DocumentPart):
    """Tasks to be done: `name(arg, …)` or `label: name(arg, …)`, one after the other.

    With `ordered: false` they may be done in any order, with `ordering` in that of pairs of labels or texts `a < b`.
    """

    subtasks: Texts = []
    ordered: bool | None = None
    ordering: list[Texts] | None = None
    constraints: Texts = []
    parameters: dict[Text, Texts] = {}


class TaskDocument(DocumentPart):
    """A compound task, which methods do."""

    parameters: dict[Text, Texts] = {}
    description: Text = ""


class MethodDocument(NetworkDocument):
    """One way to do `task`, where `requires` holds: by its subtasks."""

    task: Text
    requires: Texts = []
    description: Text = ""


class ForEachDocument(DocumentPart):
    """A task that is done for each item: its `parameters` and those of the items, and what is to be done with each.

    An item is left while `items` holds and `until` does not.
    """

    parameters: dict[Text, Texts]
    items: Texts
    do: Texts
    until: Texts = []
    description: Text = ""


class EarlierNamesDocument(DocumentPart):
    """Names of earlier versions, each with the present one; `null` says that an action or parameter is lost."""

    types: dict[Text, Text] = {}
    actions: dict[Text, Text | None] = {}
    parameters: dict[Text, dict[Text, Text | None]] = {}


class DomainDocument(DocumentPart):
    """A domain: what can be, and what can be done."""

    domain: Text
    description: Text = ""
    resolution: Number | None = None
    types: Types = {}
    constants: dict[Text, Texts] = {}
    predicates: dict[Text, PredicateDocument] = {}
    functions: dict[Text, FunctionDocument] = {}
    actions: dict[Text, ActionDocument] = {}
    derived: list[DerivedDocument] = []
    tasks: dict[Text, TaskDocument] = {}
    methods: dict[Text, MethodDocument] = {}
    for_each: dict[Text, ForEachDocument] = {}
    derived_methods: bool = False
    was: EarlierNamesDocument = EarlierNamesDocument()


class SoftDocument(DocumentPart):
    """A soft goal, where conditions repeat and so cannot be keys."""

    condition: Texts
    utility: Number


class GoalDocument(DocumentPart):
    """What must hold at the end, and what would be good to have (condition → utility)."""

    hard: Texts = []
    soft: EitherForm[dict[Text, Number], list[SoftDocument]] = {}


class DoneDocument(DocumentPart):
    """A step: `action(args…)` with `_` for any object, or the action's name alone."""

    done: Text


Happening = EitherForm[DoneDocument, Texts]


class AtMostDocument(DocumentPart):
    """How many times something may happen."""

    times: Number
    what: Happening


class BeforeDocument(DocumentPart):
    """What has to have happened `first`, whenever something happens `then`."""

    first: Happening
    then: Happening


class NeverAfterDocument(DocumentPart):
    """What may not happen any more, after something has happened."""

    what: Happening
    after: Happening


class ConstraintDocument(DocumentPart):
    """A constraint on the way to the goal, by one of its kinds; with a `utility`, a wish."""

    always: Happening | None = None
    sometime: Happening | None = None
    never: Happening | None = None
    at_most: AtMostDocument | None = None
    before: BeforeDocument | None = None
    never_after: NeverAfterDocument | None = None
    mandatory: Text | None = None
    forbidden: Text | None = None
    utility: Number | None = None


class TimedDocument(DocumentPart):
    """What happens at one time; several of these may have the same time."""

    time: Term
    changes: Texts


class DueDocument(DocumentPart):
    """By when a condition must be reached; with a `weight`, what each second of lateness costs."""

    by: Term
    weight: Number | None = None


class DueConditionDocument(DueDocument):
    """A deadline whose condition is no key, as conditions repeat."""

    condition: Texts


class ProblemDocument(DocumentPart):
    """A problem of a domain, which stands in the same file or is given beside it."""

    problem: Text
    domain: Text | None = None
    objects: dict[Text, Texts] = {}
    initial: Texts = []
    goal: EitherForm[GoalDocument, Texts] = []
    values: dict[Text, Term] = {}
    resolution: Number | None = None
    unknown: Texts = []
    likely: dict[Text, Number] = {}
    constraints: list[ConstraintDocument] = []
    budgets: dict[Text, Number] = {}
    deadline: Term | None = None
    timed: EitherForm[dict[Text, Texts], list[TimedDocument]] = {}
    windows: dict[Text, Annotated[list[Any], BeforeValidator(_wrap_in_list), WithJsonSchema(_WINDOWS)]] = {}
    due: EitherForm[dict[Text, EitherForm[DueDocument, Term]], list[DueConditionDocument]] = {}
    capacity: dict[Text, Number] = {}
    starts_at: Text | None = None
    objective: Text | None = None
    ran: Texts = []
    metric: Text = "cost"
    tasks: EitherForm[NetworkDocument, Texts] | None = None


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a document: a domain, a problem, or a list of these.

    A value may be left empty, and signatures may be lists of types, as the reader takes them.
    """
    kinds = DomainDocument | ProblemDocument | list[DomainDocument | ProblemDocument]
    return schema_of(kinds, "A domain or problem of Forethought")


def schema_of(kind: Any, title: str) -> dict[str, Any]:
    """Return the JSON Schema of what is annotated as `kind`, a part of documents or a choice of these."""
    schema = TypeAdapter(kind).json_schema()
    _allow_nulls(schema)
    parts = schema.get("$defs", {})
    for part in parts.values():
        _allow_nulls(part)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": title}


def _allow_nulls(part: dict[str, Any]) -> None:
    """Let the keys of a mapping that are not required be empty."""
    required = part.get("required", ())
    for key, value in part.get("properties", {}).items():
        part["properties"][key] = value if key in required else _allow_null(value)


_SIGNATURES: Final = frozenset(f"#/$defs/{each.__name__}" for each in (PredicateDocument, FunctionDocument))


def _allow_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Extend the schema of a value, and of the values of a mapping, by null."""
    values = schema.get("additionalProperties")
    if isinstance(values, dict) and "$ref" in values:
        lists = [{"type": "array", "items": _TEXTS}] if values["$ref"] in _SIGNATURES else []
        schema = {**schema, "additionalProperties": {"anyOf": [values, *lists, {"type": "null"}]}}
    return {"anyOf": [schema, {"type": "null"}]}


GROUP: Final = "forethought.documents"


class Hierarchies(Protocol):
    """Reads documents with tasks and methods, and writes them."""

    def domain_of(self, document: DomainDocument, classical: DomainModel, place: Place) -> OtherDomain:
        """Read the domain with this classical part; raises `DocumentError` at the first mistake."""

    def problem_of(self, document: ProblemDocument, domain: AnyDomain, place: Place) -> OtherProblem:
        """Read the problem; raises `DocumentError` at the first mistake."""

    def documents_of(self, item: Named, *, domain: bool) -> list[dict[str, Any]]:
        """Write a domain, or a problem with or without its domain, as plain data; raises `UnsupportedError`."""


def load_hierarchies(what: str) -> Hierarchies:
    """Load the reader and writer of hierarchies; raises `UnsupportedError` for `what` where none is installed."""
    from importlib.metadata import entry_points

    for entry in entry_points(group=GROUP, name="tasks"):
        found: Hierarchies = entry.load()
        return found
    raise UnsupportedError(f"{what} in a document", "install all packages of forethought")


_EXPECTED = {
    "model_type": "expected a mapping",
    "dict_type": "expected a mapping",
    "list_type": "expected a list",
    "bool_type": "expected true or false",
    "bool_parsing": "expected true or false",
    "int_type": "expected a whole number",
    "int_parsing": "expected a whole number",
    "int_from_float": "expected a whole number",
}


def document_error(error: ValidationError, document: Document, schema: type[BaseModel]) -> DocumentError:
    """Make the error for the first mistake in `error`, unknown keys before others."""
    mistakes = error.errors(include_url=False)
    mistake = next((each for each in mistakes if each["type"] == "extra_forbidden"), mistakes[0])
    return locate_mistake(mistake, document, schema)[1]


def locate_mistake(mistake: ErrorDetails, document: Document, schema: type[BaseModel]) -> tuple[Path, DocumentError]:
    """Return the path of a mistake in `document`, and the error for it."""
    path, missing = _find_path(mistake["loc"], document.data)
    place = DocumentPlace(document, path)
    what = _format_path(path)
    if mistake["type"] == "extra_forbidden":
        known = _known_keys(schema, mistake["loc"][:-1])
        hint = did_you_mean(str(path[-1]), known) or f"the keys are {', '.join(known)}"
        if schema in (DomainDocument, ProblemDocument) and len(path) == 1:
            hint = _tell_apart(str(path[0]), schema) or hint
        return path, place.error(f"{_format_path(path[:-1])} has no key {path[-1]!r}", hint)
    if mistake["type"] == "missing":
        return path, place.error(f"{what} lacks the key {missing!r}")
    if mistake["input"] is None and _is_cut(path):
        return path, place.error(f"{what}: between braces a comma ends the value", 'quote it: "price(a, b)"')
    reason = _EXPECTED.get(mistake["type"], mistake["msg"].replace("Input should be", "expected"))
    if mistake["type"] == "list_type" and mistake["loc"][-1] == "list":
        reason = "expected a mapping, or a list of them"
    expected, _, hint = reason.partition(": ")
    return path, place.error(f"{what}: found {_describe_value(mistake['input'])}, {expected}", hint or None)


def _tell_apart(key: str, schema: type[BaseModel]) -> str | None:
    """Return what to write where `key` of a document of the one kind is a key of the other kind."""
    kind, other, theirs = (
        ("problem", "domain", DomainDocument) if schema is ProblemDocument else ("domain", "problem", ProblemDocument)
    )
    if key not in _known_keys(theirs, ()):
        return None
    return f"this is a {kind}; a {other} in the same file is a document of its own, behind a line '---'"


def _find_path(steps: tuple[str | int, ...], data: Any) -> tuple[Path, str | int | None]:
    """Return the path in `data` along pydantic's `steps`, and the last key if `data` lacks it.

    Steps that only name the form that pydantic tried are left out.
    """
    path: list[str | int] = []
    for step in steps:
        is_key = isinstance(data, dict) and step in data
        if is_key or (isinstance(data, list) and isinstance(step, int) and step < len(data)):
            data = data[step]
            path.append(step)
    last = steps[-1] if steps else None
    return tuple(path), None if path and path[-1] == last else last


def _is_cut(path: Path) -> bool:
    """Return whether the key at the end of `path` is the rest of an atom that a comma has cut in two."""
    key = path[-1] if path else 0
    return isinstance(key, str) and key.count(")") > key.count("(")


def _known_keys(schema: type[BaseModel], steps: tuple[str | int, ...]) -> list[str]:
    """Return the keys that the part of `schema` at pydantic's `steps` takes."""
    from pydantic import BaseModel as Model

    found: Any = schema
    for step in steps:
        fields = {field.alias or name: field for name, field in found.model_fields.items()}
        if step in fields:
            found = _inner_model(fields[str(step)], Model) or found
    return [field.alias or name for name, field in found.model_fields.items()]


def _inner_model(field: Any, model: type) -> Any:
    """Return the model inside a field's annotation, however it is wrapped."""
    stack = [field.annotation]
    while stack:
        each = stack.pop()
        if isinstance(each, type) and issubclass(each, model):
            return each
        stack.extend(getattr(each, "__args__", ()))
    return None


def _format_path(path: Path) -> str:
    """Format a path as people write it: `actions.move.requires[2]`."""
    text = "".join(f"[{step + 1}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".") or "the document"


def _describe_value(value: Any) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case str():
            return f"the text {value!r}" if len(value) <= 40 else f"the text {value[:39] + '…'!r}"
    return f"the number {value}"
