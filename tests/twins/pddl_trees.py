"""PDDL files as trees in a canonical form, read by nothing but this module: two files are the same if these are.

Left out are: upper and lower case, comments, `:requirements`, what `object` says of types, `- object`, repetitions in
lists, `(= (total-cost) 0)`, how typed lists are grouped, how `and` is nested, in which order effects stand, whether
an effect's quantifiers and conditions are nested or joined, and what bound variables are called.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

Form = Any
TRUE = ("and",)


def read_tree(text: str) -> list[Any]:
    """Return the first parenthesised expression of `text`."""
    stack: list[list[Any]] = [[]]
    for token in re.findall(r"[()]|[^\s()?]+|\?[^\s()?]*", re.sub(r";[^\n\r]*", " ", text.lower())):
        if token == "(":
            stack.append([])
        elif token == ")":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(token)
    (tree,) = stack[0]
    assert isinstance(tree, list)
    return tree


def canonical_domain(text: str) -> Form:
    """Return the canonical form of the domain in `text`."""
    define, (_, name), *sections = read_tree(text)
    assert define == "define"
    found: dict[str, Any] = {"name": name, "types": {}, "constants": {}, "actions": {}, "derived": []}
    found |= {"predicates": {}, "functions": {}}
    for keyword, *items in sections:
        match keyword:
            case ":types":
                for kind, parents in typed(items):
                    found["types"].setdefault(kind, set()).update(parents - {kind})
                    for parent in parents:
                        found["types"].setdefault(parent, set())
            case ":constants":
                found["constants"] |= dict(typed(items))
            case ":predicates" | ":functions":
                heads = [item for item in items if isinstance(item, list) and item[0] not in ("=", "total-cost")]
                found[keyword[1:]] |= {head: [kinds for _, kinds in typed(rest)] for head, *rest in heads}
            case ":derived":
                (head, *parameters), condition = items
                scope = dict(typed(parameters))
                found["derived"].append(
                    (head, list(scope.items()), canonical_condition(condition, {x: x for x in scope}))
                )
            case ":action":
                found["actions"][items[0]] = canonical_action(dict(zip(items[1::2], items[2::2], strict=True)))
    found["types"].pop("object", None)
    return found


def canonical_problem(text: str, constants: dict[str, Any]) -> Form:
    """Return the canonical form of the problem in `text` for a domain with `constants`."""
    _, (_, name), *sections = read_tree(text)
    found: dict[str, Any] = {"name": name, "objects": {}, "facts": {}, "values": {}, "goal": TRUE, "metric": None}
    for keyword, *items in sections:
        match keyword:
            case ":domain" | ":metric":
                found[keyword] = items
            case ":objects":
                found["objects"] |= {each: kinds for each, kinds in typed(items) if each not in constants}
            case ":init":
                for item in items:
                    if item[0] != "=":
                        found["facts"][tuple(item)] = None
                    elif item[1] != ["total-cost"]:
                        found["values"][tuple(item[1])] = float(item[2])
            case ":goal":
                found["goal"] = canonical_condition(items[0], {})
    found["facts"] = list(found["facts"])
    return found


def typed(items: list[Any]) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the names of a typed list with their types, without `object`."""
    names: list[str] = []
    queue = list(items)
    while queue:
        item = queue.pop(0)
        if item != "-":
            names.append(item)
            continue
        kind = queue.pop(0)
        kinds = frozenset(kind[1:] if isinstance(kind, list) else [kind]) - {"object"}
        yield from ((name, kinds) for name in names)
        names = []
    yield from ((name, frozenset()) for name in names)


def canonical_action(parts: dict[str, Any]) -> Form:
    """Return parameters, condition, effects and costs of an action."""
    parameters = list(typed(parts.get(":parameters", [])))
    scope = {name: name for name, _ in parameters}
    effects = list(canonical_effects(parts.get(":effect", []), scope, (), ()))
    costs = Counter(effect[1] for effect in effects if effect[0] == "cost")
    literals = Counter(effect for effect in effects if effect[0] != "cost")
    return parameters, canonical_condition(parts.get(":precondition", []), scope), literals, costs


def canonical_condition(tree: list[Any], scope: dict[str, str]) -> Form:
    """Return a condition as nested tuples, bound variables numbered by depth and conjunctions flat."""
    if not tree:
        return TRUE
    head = tree[0]
    if head == "and":
        parts = [canonical_condition(part, scope) for part in tree[1:]]
        flat = [piece for part in parts for piece in (part[1:] if part[0] == "and" else [part])]
        return flat[0] if len(flat) == 1 else ("and", *flat)
    if head in ("or", "not", "imply"):
        return (head, *(canonical_condition(part, scope) for part in tree[1:]))
    if head in ("forall", "exists"):
        inner, kinds = bound(tree[1], scope)
        return (head, kinds, canonical_condition(tree[2], inner))
    return (head, *(scope.get(term, term) for term in tree[1:]))


def bound(variables: list[Any], scope: dict[str, str]) -> tuple[dict[str, str], Form]:
    """Return `scope` with `variables`, and their types."""
    entries = list(typed(variables))
    return {**scope, **{name: f"?{len(scope) + place}" for place, (name, _) in enumerate(entries)}}, tuple(
        kinds for _, kinds in entries
    )


def canonical_effects(tree: list[Any], scope: dict[str, str], kinds: Form, conditions: Form) -> Iterator[Form]:
    """Yield each literal with the types of its variables and its conditions, and each term of the cost."""
    match tree:
        case []:
            return
        case ["and", *parts]:
            for part in parts:
                yield from canonical_effects(part, scope, kinds, conditions)
        case ["forall", variables, part]:
            inner, more = bound(variables, scope)
            yield from canonical_effects(part, inner, (*kinds, *more), conditions)
        case ["when", condition, part]:
            found = canonical_condition(condition, scope)
            pieces = found[1:] if found[0] == "and" else (found,)
            yield from canonical_effects(part, scope, kinds, (*conditions, *pieces))
        case ["increase", _, ["+", *terms]]:
            for term in terms:
                yield from canonical_effects(["increase", ["total-cost"], term], scope, kinds, conditions)
        case ["increase", _, [*term]]:
            yield ("cost", canonical_condition(term, scope))
        case ["increase", _, number]:
            yield ("cost", float(number))
        case _:
            yield (kinds, conditions, canonical_condition(tree, scope))
