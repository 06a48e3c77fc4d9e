"""The part of a page about a domain: its types and actions, who provides what for whom, and what `check` finds.

Declarations are shown as documents (YAML, JSON) write them. A domain with names that documents cannot express, as some
in PDDL are, is shown with its conditions as they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from executor.desk.pages import document as doc
from executor.desk.pages.layout import lay_out
from planner.errors import ForethoughtError
from planner.lint.findings import Finding, collect_usage
from planner.lint.problem_lint import sort_by_level
from planner.model import ROOT_TYPE, Action, DomainModel, Problem
from planner.model.formulas import conjuncts
from planner.problem_kinds import AnyDomain, AnyProblem, classical_of, is_other_domain

_TITLES: Final = {
    "task": "Decomposes",
    "requires": "Requires",
    "provides": "Provides",
    "modifies": "Modifies",
    "when": "When",
    "subtasks": "Subtasks",
    "throughout": "Throughout",
    "at_start": "At start",
    "at_end": "At end",
    "cost": "Cost",
    "duration": "Duration",
}
"""Titles of the parts of declarations, in the order in which a page shows them; others follow by their names."""
_APART: Final = ("description", "parameters", "tags")
"""Parts of declarations that a page shows in other ways."""
MOST_OBJECTS: Final = 400
"""Most objects of each type that a page names."""


def domain_item(
    domain: AnyDomain, problem: AnyProblem | None = None, findings: Iterable[Finding] = ()
) -> doc.DomainItem:
    """Return `domain` for a page, with the objects of `problem`."""
    classical = _classical(domain)
    written = _write(domain)
    items = [*_declared(written, "task"), *_declared(written, "method")] if written else []
    items += _declared(written, "action") if written else [_plain_action(each) for each in classical.actions.values()]
    items += _predicates(classical, written)
    return doc.DomainItem(
        domain.name,
        tuple(items),
        classical.description,
        tuple(_types(classical, None if problem is None else classical_of(problem))),
        tuple([_finding(each) for each in sort_by_level(list(findings))]),
        provider_graph(classical),
    )


def domain_page(domain: AnyDomain, problem: AnyProblem | None = None, findings: Iterable[Finding] = ()) -> doc.Page:
    """Return the page of a domain alone."""
    item = domain_item(domain, problem, findings)
    classical = _classical(domain)
    tones: dict[str, doc.Tone] = {"error": "bad", "warning": "warn"}
    worst: doc.Tone = tones.get(item.findings[0].level, "plain") if item.findings else "good"
    figures = (
        doc.Figure("actions", str(len(classical.actions))),
        doc.Figure("predicates", str(len(classical.predicates))),
        doc.Figure("types", str(len([name for name in classical.types if name != ROOT_TYPE]))),
        doc.Figure("findings", str(len(item.findings)), worst),
    )
    return doc.Page("domain", domain.name, classical.description or "a domain", figures, domain=item)


def _classical(domain: AnyDomain) -> DomainModel:
    if isinstance(domain, DomainModel):
        return domain
    assert is_other_domain(domain), "every domain has a classical part"
    found: DomainModel = domain.classical  # type: ignore[attr-defined]  # the check says so
    return found


def _write(domain: AnyDomain) -> dict[str, Any]:
    """Return the domain as its document; nothing where documents cannot express it."""
    from planner.language.documents.document_writer import write_json

    try:
        found = json.loads(write_json(domain))
    except ForethoughtError:
        return {}
    return found if isinstance(found, dict) else dict(found[0])


def _declared(written: Mapping[str, Any], kind: Any) -> Iterator[doc.ActionItem]:
    """Yield the declarations of one kind."""
    for name, data in written.get(f"{kind}s", {}).items():
        declared = data or {}
        parameters = _parameters(declared.get("parameters", {}))
        names = ", ".join(each for each, _ in parameters)
        yield doc.ActionItem(
            name,
            f"{name}({names})" if names else name,
            kind,
            tuple(parameters),
            declared.get("description", ""),
            tuple(_lines(declared.get("tags", ()))),
            tuple(_sections(declared)),
        )


def _parameters(data: Any) -> list[tuple[str, str]]:
    if isinstance(data, Mapping):
        return [(name, " or ".join(_lines(kind))) for name, kind in data.items()]
    return [(str(kind).lower(), str(kind)) for kind in data]


def _sections(data: Mapping[str, Any]) -> Iterator[doc.Section]:
    """Yield the parts of a declaration."""
    known = [name for name in _TITLES if name in data]
    others = [name for name in data if name not in _TITLES and name not in _APART]
    for name in (*known, *others):
        lines = tuple(_lines(data[name]))
        if lines:
            yield doc.Section(_TITLES.get(name, name.replace("_", " ").capitalize()), lines)


def _lines(data: Any) -> list[str]:
    """Return plain data as lines of text."""
    match data:
        case str():
            return [data]
        case bool():
            return ["yes" if data else "no"]
        case Mapping():
            return [f"{key}: {', '.join(_lines(value))}" for key, value in data.items()]
        case list() | tuple():
            return [", ".join(_lines(each)) for each in data]
        case _:
            return [str(data)]


def _plain_action(action: Action) -> doc.ActionItem:
    """Return an action with its conditions as they are."""
    parts = {
        "Requires": [str(each) for each in conjuncts(action.requires)],
        "Provides": [str(each) for effect in action.effects for each in effect.provides],
        "Modifies": [str(each) for effect in action.effects for each in effect.modifies],
        "Cost": [str(each) for each in action.cost],
    }
    sections = [doc.Section(title, tuple(_bare(lines))) for title, lines in parts.items() if lines]
    parameters = [(each.name.removeprefix("?"), " or ".join(each.types)) for each in action.parameters]
    tags = tuple(sorted(action.tags))
    return doc.ActionItem(
        action.name, action.signature, "action", tuple(parameters), action.description, tags, tuple(sections)
    )


def _bare(lines: Iterable[str]) -> list[str]:
    return [each.replace("?", "") for each in lines]


def _predicates(domain: DomainModel, written: Mapping[str, Any]) -> Iterator[doc.ActionItem]:
    """Yield the predicates, each with who requires, provides and ends it."""
    uses, derived = collect_usage(domain), domain.derived
    for name, predicate in domain.predicates.items():
        parameters = [(each.name.removeprefix("?"), " or ".join(each.types)) for each in predicate.parameters]
        names = ", ".join(each for each, _ in parameters)
        tables = {"Provided by": uses.provided, "Required by": uses.required, "Ended by": uses.ended}
        sections = [doc.Section(title, tuple(table[name])) for title, table in tables.items() if name in table]
        rules = [each for each in written.get("derived", ()) if str(each.get("head", "")).partition("(")[0] == name]
        sections += [doc.Section("Derived from", tuple(_lines(each.get("condition", ())))) for each in rules]
        yield doc.ActionItem(
            name,
            f"{name}({names})" if names else name,
            "predicate",
            tuple(parameters),
            predicate.description,
            ("derived",) if name in derived else tuple(sorted(predicate.tags)),
            tuple(sections),
        )


def _types(domain: DomainModel, problem: Problem | None) -> Iterator[doc.TypeItem]:
    objects = domain.constants if problem is None else problem.all_objects
    by_type: dict[str, list[str]] = {}
    for each in objects:
        for name in each.types:
            by_type.setdefault(name, []).append(each.name)
    for name in dict.fromkeys((*domain.types, *by_type)):
        named = by_type.get(name, [])
        if name == ROOT_TYPE and not named:
            continue
        parents = tuple([each for each in domain.types.get(name, ()) if each != ROOT_TYPE])
        more = [f"… {len(named) - MOST_OBJECTS:,} more"] if len(named) > MOST_OBJECTS else []
        yield doc.TypeItem(name, parents, (*named[:MOST_OBJECTS], *more))


def _finding(found: Finding) -> doc.FindingItem:
    return doc.FindingItem(found.level.name.lower(), found.rule, found.place, found.message, found.hint)


def provider_graph(domain: DomainModel) -> doc.Graph | None:
    """Return who provides what for whom: providers on the left, predicates, and on the right who requires them."""
    uses = collect_usage(domain)
    nodes: dict[tuple[int, str], int] = {}
    edges: dict[tuple[int, int], None] = {}
    for name in domain.predicates:
        providers, consumers = uses.provided.get(name, []), uses.required.get(name, [])
        if not providers and not consumers:
            continue
        middle = nodes.setdefault((1, name), len(nodes))
        for place in providers:
            edges[nodes.setdefault((0, place), len(nodes)), middle] = None
        for place in consumers:
            edges[middle, nodes.setdefault((2, place), len(nodes))] = None
    if not edges:
        return None
    drawn = lay_out(len(nodes), edges, [layer for layer, _ in nodes])
    made = []
    for (layer, place), y in zip(nodes, drawn.heights, strict=True):
        kind, _, name = place.rpartition(" ")
        what = "predicate" if layer == 1 else "axiom" if kind.startswith("derived") else "action"
        made.append(doc.GraphNode(name, layer, y, what, ("provides", "", "requires")[layer], name))
    arrows = [doc.GraphEdge(source, target, "link" if drawn.layers[source] else "gives") for source, target in edges]
    return doc.Graph(tuple(made), tuple(arrows))
