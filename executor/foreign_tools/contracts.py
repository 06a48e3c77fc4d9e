"""Keep what an author knows of tools from elsewhere: their contracts, in a YAML file beside the code.

    source: crm
    contracts:
      refund:
        confirmed: false
        parameters: {order_id: Order, amount: data}
        requires: ["paid(order_id)"]
        provides: ["refunded(order_id)"]
        tags: [irreversible]
        seen: {fingerprint: 3f…, parameters: {order_id: string, amount: "number, optional"}}

A contract has the fields of an action. `confirmed` is for its author: until then it is a proposal. `seen` is the tool
as it was when the contract was written, so that a change is noticed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Any, Final

from pydantic import Field, ValidationError

from executor.foreign_tools.json_schemas import SchemaReader
from executor.foreign_tools.tool import ForeignTool
from planner.errors import DocumentError, InputError, Location
from planner.language.declare.atom_syntax import NotationError, parse_atom
from planner.language.documents.document_writer import WIDTH
from planner.language.documents.schema import ActionDocument, DocumentPart, Text, document_error
from planner.language.documents.text_formats import Document, parse_yaml, yaml_positions
from planner.lightweight import dataclass, field

DATA: Final = "data"
"""What a contract writes for a parameter that search ignores."""


class SeenDocument(DocumentPart):
    """A tool as it was when its contract was written: the types of parameters and result in words, by name."""

    fingerprint: Text = ""
    description: Text = ""
    parameters: dict[Text, Text] = Field(default_factory=dict)
    result: dict[Text, Text] = Field(default_factory=dict)
    hints: dict[Text, bool] = Field(default_factory=dict)


class ContractDocument(ActionDocument):
    """The contract of a tool: what an action declares, and whether its author has confirmed it.

    `action` is the name of the action, if it is another than that of the tool. `created` are the paths in the result
    to the names of the objects that `creates` declares; `found` those to names of further objects, by type, which are
    the items that `lists` declares.
    """

    confirmed: bool = False
    action: Text = ""
    created: dict[Text, Text] = Field(default_factory=dict)
    found: dict[Text, Text] = Field(default_factory=dict)
    proposed_by: Text = ""
    why: Text = ""
    seen: SeenDocument | None = None


class ContractsDocument(DocumentPart):
    """A file of contracts."""

    source: Text = ""
    contracts: dict[Text, ContractDocument] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Contract:
    """The contract of a tool, and where it stands; `is_confirmed` is that of an author whom one may believe."""

    document: ContractDocument
    where: str
    is_confirmed: bool = False
    changes: tuple[str, ...] = ()
    """How the tool differs from what the contract was written for."""

    @property
    def is_stated(self) -> bool:
        """Whether its tags are stated."""
        return "tags" in self.document.model_fields_set

    @property
    def texts(self) -> list[str]:
        """All texts in which parameters may occur as arguments."""
        document = self.document
        effects = [document, *_as_list(document.when), *document.outcomes]
        found = [*document.after, *document.senses, *document.lists]
        for each in effects:
            found += [*getattr(each, "requires", ()), *each.provides, *each.modifies]
        sources = [
            each.source.fact for each in document.parameters.values() if not isinstance(each, list) and each.source
        ]
        return [*found, *sources, *[str(term) for terms in (document.cost, *document.uses.values()) for term in terms]]

    @property
    def arguments(self) -> frozenset[str]:
        """The names that stand as arguments in its atoms."""
        return frozenset(name for text in self.texts for name in _iterate_arguments(text))


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _iterate_arguments(text: str) -> Iterator[str]:
    """Yield the names in `text` that may be parameters: arguments of an atom, or variables of a PDDL expression."""
    if text.lstrip().startswith("("):
        yield from (
            word.removeprefix("?") for word in text.replace("(", " ").replace(")", " ").split() if word[0] == "?"
        )
        return
    try:
        atom = parse_atom(text.strip().removeprefix("not "))
    except NotationError:
        yield from (word.removeprefix("?") for word in text.replace("!=", " ").replace("==", " ").split())
        return
    yield from (each.removeprefix("?") for each in atom.args)


@dataclass(slots=True)
class ContractFile:
    """The contracts of a YAML file, which need not exist yet."""

    path: Path
    contracts: Mapping[str, Contract] = field(default_factory=dict)

    @classmethod
    def read(cls, path: str | Path) -> ContractFile:
        """Read a file; raises `DocumentError` with the place of a mistake."""
        path = Path(path)
        if not path.exists():
            return cls(path)
        from planner.language.pddl.syntax import read_text

        name, text = str(path), read_text(path, DocumentError)
        documents = parse_yaml(text, name)
        if len(documents) != 1 or not isinstance(documents[0], Mapping):
            raise DocumentError("contracts are one mapping", Location(name), "with the key 'contracts'")
        document = Document(documents[0], name, 0, lambda: yaml_positions(text, name))
        try:
            found = ContractsDocument.model_validate(document.data)
        except ValidationError as error:
            raise document_error(error, document, ContractsDocument) from None
        place = document.place.within("contracts")
        return cls(
            path,
            {
                tool: Contract(each, str(place.within(tool).location), each.confirmed)
                for tool, each in found.contracts.items()
            },
        )

    def write(self, source: str, contracts: Mapping[str, ContractDocument]) -> None:
        """Write `contracts` into the file, in place of those of the same tools; comments and all else stay."""
        from ruamel.yaml import YAML

        yaml = YAML(typ="rt")
        yaml.width, yaml.default_flow_style = WIDTH, None
        path = self.path.resolve()
        ContractFile.read(path)  # somebody may have edited it meanwhile
        data = (yaml.load(path.read_text(encoding="utf-8")) if path.exists() else None) or {"source": source}
        if data.get("contracts") is None:
            data["contracts"] = {}
        data["contracts"].update({tool: _as_plain(each) for tool, each in contracts.items()})
        text = StringIO()
        yaml.dump(data, text)
        new = path.with_name(f".{path.name}.new")
        try:
            new.write_text(text.getvalue(), encoding="utf-8")
            new.replace(path)
        except OSError as error:
            raise InputError(f"the contracts cannot be written: {error.strerror}", Location(str(self.path))) from None


def _as_plain(contract: ContractDocument) -> dict[str, Any]:
    """Return a contract as plain data: `confirmed` first, and the fields that are stated."""
    found = {"confirmed": contract.confirmed, **contract.model_dump(by_alias=True, exclude_unset=True)}
    if contract.seen is not None:
        found["seen"] = {key: value for key, value in found["seen"].items() if value}
    if "parameters" in found:
        roles = found["parameters"].items()
        found["parameters"] = {
            name: role[0] if isinstance(role, list) and role[1:] == [] else role for name, role in roles
        }
    return {key: _without_decimals(value) for key, value in found.items()}


def _without_decimals(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_decimals(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_without_decimals(each) for each in value]
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value


def read_contract(given: Any, where: str, *, is_confirmed: bool) -> Contract:
    """Read the contract of a tool from a mapping, as in YAML; raises `InputError` for anything else.

    What was written in Python or by a trusted source `is_confirmed`, unless it says otherwise itself.
    """
    if isinstance(given, ContractDocument):
        return Contract(given, where, is_confirmed)
    document = Document(given, where, 0, dict)
    if not isinstance(given, Mapping):
        raise InputError(f"{where}: a contract is a mapping", hint="{'requires': […], 'provides': […]}")
    try:
        found = ContractDocument.model_validate(dict(given))
    except ValidationError as error:
        raise document_error(error, document, ContractDocument) from None
    return Contract(found, where, is_confirmed and given.get("confirmed", True) is True)


def see(tool: ForeignTool) -> SeenDocument:
    """Describe a tool as it is now."""
    result = SchemaReader(tool.output_schema).signature(tool.output_schema)
    return SeenDocument(
        fingerprint=tool.fingerprint,
        description=" ".join(tool.description.split())[:1000],
        parameters=SchemaReader(tool.input_schema).signature(tool.input_schema),
        result=result,
        hints=tool.hints.to_dict(),
    )


def compare(before: SeenDocument, now: SeenDocument) -> tuple[str, ...]:
    """Return how a tool has changed, a sentence for each difference; none where the fingerprints are equal."""
    if before.fingerprint == now.fingerprint:
        return ()
    found = list[str]()
    for what, old, new in (("parameter", before.parameters, now.parameters), ("result", before.result, now.result)):
        found += [
            f"{what} {name!r} was {old[name]}, and is {new[name]}"
            for name in old
            if new.get(name, old[name]) != old[name]
        ]
        found += [f"{what} {name!r} ({old[name]}) is gone" for name in old if name not in new]
        found += [f"{what} {name!r} ({new[name]}) is new" for name in new if name not in old]
    for name in dict.fromkeys([*before.hints, *now.hints]):
        old_hint, new_hint = before.hints.get(name), now.hints.get(name)
        if old_hint is not new_hint:
            found.append(f"the hint {name!r} was {_say(old_hint)}, and is {_say(new_hint)}")
    return tuple(found or ["its schema is another in a detail"])


def _say(hint: bool | None) -> str:
    return "not given" if hint is None else str(hint).lower()
