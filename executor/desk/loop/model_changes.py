"""Differences between two versions of a domain or problem, in the notation of documents whatever their language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from planner.language.documents.document_writer import documents_of
from planner.lightweight import replace
from planner.model import Atom, DomainModel
from planner.model.actions import Action, CostFunction
from planner.problem_kinds import AnyDomain, AnyProblem

COMPUTED: Final = Atom("computed-in-python", ("_",))
"""What stands for a cost that Python computes, of which nobody can say whether it changed."""
_NOUNS: Final = {
    "types": "type",
    "constants": "constant",
    "predicates": "predicate",
    "functions": "function",
    "actions": "action",
    "tasks": "task",
    "methods": "method",
}
_DEFAULTS: Final[dict[str, Any]] = {"cost": 1}


@dataclass(frozen=True, slots=True)
class Change:
    """One difference: of a declaration (`what`, such as "action move") or of one `part` of it.

    `removed` and `added` are the texts that only the old and only the new version has. `renamed_to` is the new name of
    a declaration that is otherwise the same.
    """

    what: str
    part: str = ""
    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    renamed_to: str = ""

    @property
    def renames_action(self) -> bool:
        """Whether an action has another name now."""
        return bool(self.renamed_to) and self.what.startswith("action ")

    def __str__(self) -> str:
        if self.renamed_to:
            return f"{self.what}: is now called {self.renamed_to}"
        if not self.part and not (self.removed and self.added):
            return f"{self.what}: {f'added, {self.added[0]}' if self.added else 'removed'}"
        head = f"{self.what}: {self.part}".rstrip()
        if len(self.removed) == len(self.added) == 1:
            return f"{head} {self.removed[0]} → {self.added[0]}"
        return "\n".join([*(f"{head} - {each}" for each in self.removed), *(f"{head} + {each}" for each in self.added)])

    def to_dict(self) -> dict[str, Any]:
        """Return the change as JSON-ready data."""
        found = {"what": self.what, "part": self.part, "removed": list(self.removed), "added": list(self.added)}
        return found | ({"renamed_to": self.renamed_to} if self.renamed_to else {})


def compare_domains(old: AnyDomain, new: AnyDomain) -> list[Change]:
    """Return the differences between two versions of a domain; `UnsupportedError` where one cannot be written."""
    before, after = (documents_of(_without_python(each), domain=True)[0] for each in (old, new))
    found = list(_compare_values("domain", "name", before["domain"], after["domain"]))
    found += _compare_values("domain", "description", before.get("description"), after.get("description"))
    for section, noun in _NOUNS.items():
        found += _compare_sections(noun, before.get(section, {}), after.get(section, {}))
    return [*found, *_compare_values("derived", "rules", *(_rules_of(each) for each in (before, after)))]


def compare_problems(old: AnyProblem, new: AnyProblem) -> list[Change]:
    """Return the differences between two versions of a problem, their domains left aside."""
    before, after = (documents_of(each, domain=False)[0] for each in (old, new))
    what = f"problem {before['problem']}"
    keys = [key for key in dict.fromkeys((*before, *after)) if key not in ("problem", "domain")]
    return [change for key in keys for change in _compare_values(what, key, before.get(key), after.get(key))]


def computes_costs(domain: AnyDomain) -> bool:
    """Return whether Python computes a cost: equal documents do not make such domains equal."""
    return any(map(_computes_costs, _classical_part(domain).actions.values()))


def _classical_part(domain: AnyDomain) -> Any:
    return getattr(domain, "classical", domain)


def _computes_costs(action: Action) -> bool:
    return any(isinstance(term, CostFunction) for terms in (action.cost, *action.uses.values()) for term in terms)


def _without_python(domain: AnyDomain) -> AnyDomain:
    """Replace costs that Python computes, which no document can say."""
    if not computes_costs(domain):
        return domain
    classical = _classical_part(domain)
    actions = {name: _without_computed_costs(action) for name, action in classical.actions.items()}
    changed = replace(classical, actions=actions)
    return changed if isinstance(domain, DomainModel) else replace(domain, classical=changed)  # type: ignore[type-var]


def _without_computed_costs(action: Action) -> Action:
    def shown(terms: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple([COMPUTED if isinstance(term, CostFunction) else term for term in terms])

    return replace(action, cost=shown(action.cost), uses={name: shown(terms) for name, terms in action.uses.items()})


def _rules_of(document: Mapping[str, Any]) -> list[str]:
    """Return the derivation rules as texts."""
    return [
        f"{_show(rule.get('parameters', {}))} {rule['head']} if {_show(rule['condition'])}"
        for rule in document.get("derived", [])
    ]


def _compare_sections(noun: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    """Yield the differences between declarations of one kind; equal ones with other names are renamed."""
    gone, come = [name for name in old if name not in new], [name for name in new if name not in old]
    for name in list(gone):
        twin = next(
            (each for each in come if noun not in ("type", "constant") and _show(new[each]) == _show(old[name])), None
        )
        if twin is not None and old[name] not in (None, {}):
            gone.remove(name)
            come.remove(twin)
            yield Change(f"{noun} {name}", renamed_to=twin)
    yield from (Change(f"{noun} {name}", removed=(_head(name, old[name]),)) for name in gone)
    yield from (Change(f"{noun} {name}", added=(_head(name, new[name]),)) for name in come)
    for name in old:
        if name in new and _show(old[name]) != _show(new[name]):
            yield from _compare_declarations(f"{noun} {name}", old[name], new[name])


def _head(name: str, declared: Any) -> str:
    """Return a declaration in short: its name with its parameters, or its types."""
    if isinstance(declared, dict) and "parameters" in declared:
        parameters = declared["parameters"]
        names = list(parameters) if isinstance(parameters, dict) else [_show(each) for each in parameters]
        return f"{name}({', '.join(names)})"
    return name if isinstance(declared, dict) else f"{name} - {_show(declared)}"


def _compare_declarations(what: str, old: Any, new: Any) -> Iterator[Change]:
    if not isinstance(old, dict) or not isinstance(new, dict):
        yield from _compare_values(what, "", old, new)
        return
    for part in dict.fromkeys((*old, *new)):
        default = _DEFAULTS.get(part) if what.startswith("action ") else None
        yield from _compare_values(what, part, old.get(part, default), new.get(part, default))


def _compare_values(what: str, part: str, old: Any, new: Any) -> Iterator[Change]:
    """Yield the difference of one value: what only one of two lists or mappings has, or both values."""
    if old == new and (not isinstance(old, dict) or list(old) == list(new)):
        return
    before, after = _texts_of(old), _texts_of(new)
    if not isinstance(old if old is not None else new, list | dict):
        yield Change(what, part, (_show(old),), (_show(new),))
        return
    removed, added = (
        list((Counter(before) - Counter(after)).elements()),
        list((Counter(after) - Counter(before)).elements()),
    )
    if removed or added:
        yield Change(what, part, tuple(removed), tuple(added))
    elif part in ("parameters", "subtasks", "arguments") or not part:
        yield Change(what, part, (_show(old),), (_show(new),))


def _texts_of(value: Any) -> list[str]:
    match value:
        case None:
            return []
        case dict():
            return [f"{key}: {_show(each)}" for key, each in value.items()]
        case list():
            return [_show(each) for each in value]
    return [_show(value)]


def _show(value: Any) -> str:
    match value:
        case None:
            return "nothing"
        case dict():
            return "{" + ", ".join(f"{key}: {_show(each)}" for key, each in value.items()) + "}"
        case list():
            return _show(value[0]) if len(value) == 1 else "[" + ", ".join(_show(each) for each in value) + "]"
    return str(value)
