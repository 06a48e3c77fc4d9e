"""Actions and derived predicates."""

from __future__ import annotations

from planner.annotations import Final
from planner.model import TRUE, Action, Axiom
from planner.pddl.conditions import check_length, read_condition, subtree
from planner.pddl.declarations import read_head
from planner.pddl.effects import Effects, read_effects
from planner.pddl.trees import Source, Tree, nearest, quote
from planner.pddl.vocabulary import Vocabulary, widened

_KEYS: Final = {
    ":parameters": "variables",
    ":vars": "variables",
    ":precondition": "a condition",
    ":effect": "an effect",
}
_WITHOUT_MEANING: Final = frozenset({":comment", ":documentation", ":name"})


def read_action(tree: Tree, words: Vocabulary, derived: frozenset[str]) -> Action:
    """Return the action that the section `tree` declares; no effect of it may write a predicate of `derived`.

    `:vars` of PDDL 1.2 are parameters like the others.
    """
    source = words.source
    name = tree[1] if len(tree) > 1 else None
    if not isinstance(name, str) or name[0] in "?:":
        raise source.error(f"found {quote(name)}, expected the name of an action", tree, 1)
    parts = _parts(source, tree, f"the action {quote(name)}")
    declared = [variable for key in (":parameters", ":vars") for variable in words.types.variables(parts.get(key, []))]
    scope = {variable.name: variable.name for variable in declared}
    if len(scope) < len(declared):
        raise source.error("a variable of ':vars' is a parameter already", parts[":vars"], None, "rename one")
    precondition, effect = parts.get(":precondition"), parts.get(":effect")
    requires = TRUE if precondition is None else read_condition(precondition, words, scope)
    effects = Effects() if effect is None else read_effects(effect, words, scope, derived)
    provides, cost = tuple(effects.provides), tuple(effects.cost)
    return Action(name, tuple(declared), requires, provides, when=effects.conditional(), cost=cost)


def _parts(source: Source, tree: Tree, what: str) -> dict[str, Tree]:
    """Return the trees that follow the keywords of the action `tree`."""
    found: dict[str, Tree] = {}
    for index in range(2, len(tree), 2):
        key = tree[index]
        if not isinstance(key, str) or (key not in _KEYS and key not in _WITHOUT_MEANING):
            hint = nearest(key, _KEYS) if isinstance(key, str) else None
            raise source.error(f"found {quote(key)} in {what}, expected one of {', '.join(_KEYS)}", tree, index, hint)
        if key in found:
            raise source.error(f"a second {quote(key)} in {what}", tree, index, "join the two with '(and …)'")
        if key in _KEYS:
            found[key] = subtree(source, tree, index + 1, _KEYS[key])
    return found


def derived_name(tree: Tree) -> str:
    """Return the predicate that the section `tree` derives, or "" where it is not well-formed."""
    match tree:
        case [_, [str(name), *_], *_]:
            return name
        case _:
            return ""


def read_axiom(tree: Tree, words: Vocabulary) -> Axiom:
    """Return the rule in the section `tree`: `(:derived (predicate variables…) condition)`."""
    name, variables = read_head(words.types, tree, 1, "a derived predicate", twice=False)
    words.check_predicate(name, len(variables), tree[1])
    condition = subtree(words.source, tree, 2, "a condition")
    check_length(words.source, tree, 3, f"the rule for {quote(name)}")
    scope, _ = widened({}, variables)
    return Axiom(name, variables, read_condition(condition, words, scope))
