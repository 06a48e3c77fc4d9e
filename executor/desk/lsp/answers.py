"""What the server says of a name: what it is, who provides and requires it; and which names fit where one types."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from executor.desk.lsp.names import Index, Kind, Occurrence, Role
from executor.desk.lsp.workspace import PDDL

_ORDER: Final = (Role.PROVIDES, Role.REQUIRES, Role.MODIFIES, Role.INITIAL, Role.GOAL)
_PLURALS: Final = {
    Role.PROVIDES: "provided by",
    Role.REQUIRES: "required by",
    Role.MODIFIES: "modified by",
    Role.INITIAL: "in the initial state of",
    Role.GOAL: "in the goal of",
}
MOST_NAMES: Final = 12
"""Names that one line of a hover lists."""


def describe(wanted: Occurrence, related: Mapping[Path, Index]) -> str:
    """Return Markdown about the name at an occurrence: its kind and signature, and who does what with it."""
    signature = _find_signature(wanted, related.values())
    lines = [f"**{wanted.kind.value}** `{wanted.name}{signature}`"]
    if wanted.kind is Kind.VARIABLE:
        kind = _find_type(wanted.owner, wanted.name, related.values())
        lines = [f"**parameter** `{wanted.name}`" + (f" of type `{kind}`" if kind else "")]
    elif wanted.kind is Kind.OBJECT:
        kind = _find_type("", wanted.name, related.values())
        lines = [f"**object** `{wanted.name}`" + (f" of type `{kind}`" if kind else "")]
    elif wanted.kind is Kind.TYPE:
        lines += _describe_type(wanted.name, related.values())
    elif wanted.kind in (Kind.ACTION, Kind.METHOD):
        lines += _describe_action(wanted, related.values())
    elif wanted.kind is Kind.TASK:
        lines += _describe_task(wanted, related.values())
    if wanted.kind in (Kind.PREDICATE, Kind.FUNCTION):
        lines += _describe_users(wanted, related)
    return "\n\n".join(lines)


def _find_signature(wanted: Occurrence, indices: Iterable[Index]) -> str:
    for index in indices:
        found = index.signatures.get((wanted.kind, wanted.name))
        if found is not None:
            return "(" + ", ".join(f"{name}: {kind}" if name and kind else name or kind for name, kind in found) + ")"
    return ""


def _find_type(owner: str, name: str, indices: Iterable[Index]) -> str:
    return next((index.types[owner, name] for index in indices if (owner, name) in index.types), "")


def _list(names: Iterable[str]) -> str:
    found = list(dict.fromkeys(names))
    more = f" and {len(found) - MOST_NAMES} more" if len(found) > MOST_NAMES else ""
    return ", ".join(f"`{name}`" for name in found[:MOST_NAMES]) + more


def _describe_type(name: str, indices: Iterable[Index]) -> list[str]:
    above: list[str] = []
    below: list[str] = []
    objects: list[str] = []
    for index in indices:
        above += index.parents.get(name, ())
        below += [each for each, parents in index.parents.items() if name in parents]
        objects += [each for (owner, each), kind in index.types.items() if not owner and name in kind.split()]
    words = (("is a", above), ("has the subtypes", below), ("has the objects", [x for x in objects if x not in below]))
    return [f"{word} {_list(names)}" for word, names in words if names]


def _describe_action(wanted: Occurrence, indices: Iterable[Index]) -> list[str]:
    found: dict[Role, list[str]] = {}
    for index in indices:
        for each in index.found:
            if each.owner == wanted.name and each.kind in (Kind.PREDICATE, Kind.FUNCTION):
                found.setdefault(each.role, []).append(each.name)
    return [f"{role.value} {_list(found[role])}" for role in _ORDER if role in found]


def _describe_task(wanted: Occurrence, indices: Iterable[Index]) -> list[str]:
    methods = [
        each.owner
        for index in indices
        for each in index.found
        if each.kind is Kind.TASK and each.name == wanted.name and each.owner
    ]
    return [f"in the methods {_list(methods)}"] if methods else []


def _describe_users(wanted: Occurrence, related: Mapping[Path, Index]) -> list[str]:
    found: dict[Role, list[str]] = {}
    for path, index in related.items():
        for each in index.found:
            if each.kind is wanted.kind and each.name == wanted.name and each.role in _PLURALS:
                found.setdefault(each.role, []).append(each.owner or path.name)
    lines = [f"{_PLURALS[role]} {_list(found[role])}" for role in _ORDER if role in found]
    if wanted.kind is Kind.PREDICATE and not {Role.PROVIDES, Role.INITIAL} & found.keys():
        lines.append("nothing provides it, and no initial state has it")
    return lines


@dataclass(frozen=True, slots=True)
class Offer:
    """A name that may be written: of which kind, with what behind it."""

    name: str
    kind: Kind | None
    detail: str = ""


_PDDL_WORDS: Final = ("and", "or", "not", "imply", "forall", "exists", "when", "increase", "decrease", "assign")
_PDDL_KEYS: Final = (
    ":parameters",
    ":precondition",
    ":effect",
    ":duration",
    ":condition",
    ":action",
    ":durative-action",
    ":predicates",
    ":functions",
    ":types",
    ":constants",
    ":objects",
    ":init",
    ":goal",
    ":metric",
    ":requirements",
    ":task",
    ":method",
    ":subtasks",
    ":ordered-subtasks",
    ":ordering",
)
_CONDITION_KEYS: Final = re.compile(
    r"\b(requires|provides|modifies|throughout|initial|goal|hard|soft|condition|head|when|senses|constraints|due"
    r"|windows|stale_with)\b"
)


def complete(path: Path, text: str, offset: int, related: Mapping[Path, Index], own: Index) -> list[Offer]:
    """Return the names that fit at `offset` of `text`, by what stands before it."""
    if path.suffix.lower() in PDDL:
        return _complete_pddl(text, offset, related, own)
    return _complete_document(text, offset, related, own)


def _complete_pddl(text: str, offset: int, related: Mapping[Path, Index], own: Index) -> list[Offer]:
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    word = re.search(r"[^\s()]*$", line)
    typed = word[0] if word else ""
    before = line[: len(line) - len(typed)].rstrip()
    owner = own.owner_at(offset)
    if typed.startswith(":"):
        return [Offer(key, None) for key in _PDDL_KEYS]
    if typed.startswith("?"):
        return _offer_variables(owner, related)
    if before.endswith(" -") or before == "-":
        return _offer(Kind.TYPE, related)
    if line.endswith("(") or re.search(r"\([^\s()]*$", line):
        inside = [*_offer(Kind.PREDICATE, related), *_offer(Kind.FUNCTION, related)]
        if re.search(r":(ordered-)?(subtasks|tasks)|:task|:htn", text[max(0, offset - 300) : offset]):
            inside += [*_offer(Kind.TASK, related), *_offer(Kind.ACTION, related)]
        return [*inside, *[Offer(each, None) for each in _PDDL_WORDS]]
    return [*_offer_variables(owner, related), *_offer(Kind.OBJECT, related)]


def _complete_document(text: str, offset: int, related: Mapping[Path, Index], own: Index) -> list[Offer]:
    start = text.rfind("\n", 0, offset) + 1
    line = text[start:offset]
    owner = own.owner_at(offset)
    if re.search(r"\([^()]*$", line):
        return [*_offer_variables(owner, related), *_offer(Kind.OBJECT, related)]
    if _CONDITION_KEYS.search(line) or re.match(r"\s*- ", line):
        return [*_offer(Kind.PREDICATE, related), *_offer(Kind.FUNCTION, related), *_offer_variables(owner, related)]
    if re.search(r"\b(subtasks|task|tasks|do|after)\b", line):
        return [*_offer(Kind.TASK, related), *_offer(Kind.ACTION, related)]
    if ":" in line:
        return _offer(Kind.TYPE, related)
    return [Offer(each, None) for each in _document_keys(text, start)]


def _document_keys(text: str, start: int) -> list[str]:
    """Return the keys of the mapping that the line at `start` is in: of a document, or of an action."""
    from planner.language.documents.schema import ActionDocument, DomainDocument, ProblemDocument

    rest = text[start:].splitlines()
    width = len(text[start:]) - len(text[start:].lstrip(" ")) if rest else 0
    if width == 0:
        part = text.rfind("\n---", 0, start)
        document = text[part + 1 :] if part >= 0 else text
        model = ProblemDocument if re.search(r"^problem:", document, re.MULTILINE) else DomainDocument
        return list(model.model_fields)
    return list(ActionDocument.model_fields)


def _offer(kind: Kind, related: Mapping[Path, Index]) -> list[Offer]:
    found: dict[str, Offer] = {}
    for index in related.values():
        for name in index.names(kind):
            if name not in found:
                found[name] = Offer(name, kind, _signature(kind, name, related.values()))
    return list(found.values())


def _signature(kind: Kind, name: str, indices: Iterable[Index]) -> str:
    for index in indices:
        signature = index.signatures.get((kind, name))
        if signature is not None:
            return "(" + ", ".join(of or each for each, of in signature) + ")"
        if ("", name) in index.types and kind is Kind.OBJECT:
            return index.types["", name]
    return ""


def _offer_variables(owner: str, related: Mapping[Path, Index]) -> list[Offer]:
    found = {name: None for index in related.values() for name in index.names(Kind.VARIABLE, owner)}
    return [Offer(name, Kind.VARIABLE, _find_type(owner, name, related.values())) for name in found]
