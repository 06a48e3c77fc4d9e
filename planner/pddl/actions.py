"""Actions and derived predicates."""

from __future__ import annotations

from planner.annotations import Final
from planner.model import TRUE, Action, Axiom, Equals, Formula, Outcome, Variable
from planner.model.constraints import Stated
from planner.model.formulas import conjunction
from planner.pddl import refused
from planner.pddl.conditions import check_length, read_condition, subtree
from planner.pddl.declarations import read_head
from planner.pddl.effects import Effects, read_effects
from planner.pddl.lenient import warn
from planner.pddl.parts import read_name, read_parts
from planner.pddl.preferences import has_preferences, read_precondition
from planner.pddl.refused import unsupported
from planner.pddl.trees import Tree, quote
from planner.pddl.vocabulary import Scope, Vocabulary, widened
from planner.records import replace

_KEYS: Final = {
    ":parameters": "variables",
    ":vars": "variables",
    ":precondition": "a condition",
    ":effect": "an effect",
}
_WITHOUT_MEANING: Final = frozenset({":comment", ":documentation", ":name"})


def read_action(tree: Tree, words: Vocabulary, derived: frozenset[str]) -> tuple[list[Action], tuple[Stated, ...]]:
    """Return the action that the section `tree` declares, and the preferences of its precondition.

    Where outcomes have conditions, there is a version of it for each case, all of one name. No effect of it may write a
    predicate of `derived`. `:vars` of PDDL 1.2 are parameters like the others.
    """
    source = words.source
    name = read_name(source, tree, "an action")
    words.owner = f"action {name}"
    parts = read_parts(source, tree, 2, _KEYS, f"the action {quote(name)}", ignored=_WITHOUT_MEANING)
    declared = [variable for key in (":parameters", ":vars") for variable in words.types.variables(parts.get(key, []))]
    scope = {variable.name: variable for variable in declared}
    if len(scope) < len(declared):
        raise source.error("a variable of ':vars' is a parameter already", parts[":vars"], None, "rename one")
    precondition, effect = parts.get(":precondition"), parts.get(":effect")
    requires, preferences = _precondition(precondition or [], words, scope, name)
    effects = Effects() if effect is None else read_effects(effect, words, scope, derived)
    when, cost = effects.conditional(), tuple(effects.cost)
    action = Action(name, tuple(declared), requires, tuple(effects.provides), when=when, cost=cost)
    if not effects.choices:
        return [action], preferences
    from planner.pddl import chances  # noqa: PLC0415 - few actions come out in several ways

    if len(chances.conditions_of(effects.choices)) > chances.MOST_CONDITIONS:
        raise unsupported(source, refused.MANY_CONDITIONS, tree)
    return [_version(action, *each) for each in chances.versions(action.provides, effects.choices)], preferences


def _version(action: Action, demand: Formula, outcomes: tuple[Outcome, ...]) -> Action:
    """Return `action` where `demand` holds, of which these `outcomes` may come."""
    requires = action.requires if demand == TRUE else conjunction([action.requires, demand])
    several = outcomes if len(outcomes) > 1 else ()
    intended = outcomes[0]
    return replace(action, requires=requires, provides=intended.provides, modifies=intended.modifies, outcomes=several)


def _precondition(tree: Tree, words: Vocabulary, scope: Scope, name: str) -> tuple[Formula, tuple[Stated, ...]]:
    if not has_preferences(tree, words):
        return read_condition(tree, words, scope), ()
    hard, preferences = read_precondition(tree, words, scope)
    message = f"the precondition of the action {quote(name)} has preferences"
    warn(words.source, tree, None, f"{message}: a step that breaks one costs what the metric says")
    return conjunction(hard), preferences


def derived_name(tree: Tree) -> str:
    """Return the predicate that the section `tree` derives, or "" where it is not well-formed."""
    match tree:
        case [_, [str(name), *_], *_]:
            return name
        case _:
            return ""


def read_axiom(tree: Tree, words: Vocabulary) -> Axiom:
    """Return the rule in the section `tree`: `(:derived (predicate variables…) condition)`."""
    name, variables = read_head(words.types, tree, 1, "a derived predicate", twice=True)
    words.owner = f"derived {name}"
    words.check_predicate(name, len(variables), tree[1])
    condition = subtree(words.source, tree, 2, "a condition")
    check_length(words.source, tree, 3, f"the rule for {quote(name)}")
    scope, _ = widened({}, variables)
    written = read_condition(condition, words, scope)
    return Axiom(name, variables, conjunction([written, *_same(words, tree, variables)]))


def _same(words: Vocabulary, tree: Tree, variables: tuple[Variable, ...]) -> list[Equals]:
    """Return that variables of a head are the same which it names twice, and the model has once each."""
    named = {each for each in tree[1] if isinstance(each, str)}
    found = []
    for variable in variables:
        if variable.name not in named:
            first = variable.name.rpartition("-")[0]
            warn(words.source, tree[1], None, f"{quote(first)} stands twice in the head: both are the same object")
            found.append(Equals(first, variable.name))
    return found
