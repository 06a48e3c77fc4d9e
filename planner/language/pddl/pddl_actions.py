"""Read actions, effects, outcomes and derived predicates of PDDL, and the names that a file declares before their use.

Effects are flattened to literals, numeric effects, conditional and universal effects, and cost terms. Outcomes of the
model have no conditions: an action with `(probabilistic 0.4 (when (armed ?x) (broken)))` becomes two versions of which
one can be done, the first where `(armed ?x)` holds, with the outcome, and the other where it does not. Younes and
Littman (2004, "PPDDL1.0") define such effects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import prod

from planner.errors import PddlError
from planner.language.pddl import syntax
from planner.language.pddl.pddl_conditions import (
    check_length,
    has_preferences,
    is_flat,
    read_condition,
    read_precondition,
    subtree,
)
from planner.language.pddl.pddl_numbers import OPERATORS, read_expression, read_numeric_effect
from planner.language.pddl.pddl_vocabulary import Scope, Types, Vocabulary, extend_scope, read_typed_list
from planner.language.pddl.sections import read_name, read_number, read_parts
from planner.language.pddl.syntax import (
    TOTAL_COST,
    Source,
    Tree,
    is_number,
    quote,
    refuse_construct,
    suggest_grouping,
    suggest_nearest,
    warn,
)
from planner.lightweight import TYPE_CHECKING, Final, dataclass, field, replace
from planner.model.actions import Action, CostTerm, Literal, NumericEffect, Outcome, Stated, When
from planner.model.domain import ROOT_TYPE, Axiom, Function, Predicate
from planner.model.formulas import OPEN, TRUE, Arithmetic, Atom, Equals, Formula, Not, Object, Variable, conjunction

if TYPE_CHECKING:
    from planner.language.pddl.uncertain_effects import Choice, Option, Part

_CHANCES: Final = frozenset({"oneof", "probabilistic"})
"""Effects with alternative outcomes."""


@dataclass(slots=True)
class Effects:
    """The effects of one action, in the order of the file."""

    provides: list[Literal] = field(default_factory=list)
    numbers: list[NumericEffect] = field(default_factory=list)
    when: list[_Branch] = field(default_factory=list)
    cost: list[CostTerm] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    """The alternatives of each effect with several outcomes."""

    def conditional(self) -> tuple[When, ...]:
        """Return the conditional and universal effects that change anything."""
        branches = [each for each in self.when if each.literals or each.numbers]
        return tuple(
            [When(conjunction(x.conditions), tuple(x.literals), (), x.variables, tuple(x.numbers)) for x in branches]
        )


@dataclass(slots=True)
class _Branch:
    """Effects under `conditions`, for all objects of `variables`; the outermost branch has neither."""

    literals: list[Literal]
    numbers: list[NumericEffect]
    conditions: tuple[Formula, ...] = ()
    variables: tuple[Variable, ...] = ()


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the effects of one action; no effect may write a predicate of `derived`."""

    words: Vocabulary
    derived: frozenset[str]
    found: Effects

    def read(self, tree: Tree, scope: Scope, branch: _Branch) -> None:
        if not tree:
            return
        head = tree[0]
        if head.__class__ is not str:
            message = f"found {quote(tree)}, expected an effect"
            raise self.words.source.error(message, tree, None, suggest_grouping(tree))
        if head in self.words.arities and (head not in _KEYWORDS or is_flat(tree)):
            branch.literals.append(self._read_atom(tree, scope))
        elif head in _READERS:
            _READERS[head](self, tree, scope, branch)
        elif head in _CHANCES:
            self._read_chance(tree, scope, branch)
        elif head in syntax.EFFECTS and not is_flat(tree):
            raise refuse_construct(self.words.source, syntax.EFFECTS[head], tree)
        else:
            self._refuse_conditions(tree)
            self._refuse_misspelt(tree)
            branch.literals.append(self._read_atom(tree, scope))

    def _read_chance(self, tree: Tree, scope: Scope, branch: _Branch) -> None:
        """Read an effect with several outcomes: `(oneof a b)`, `(probabilistic 0.3 a 0.7 b)`."""
        from planner.language.pddl import uncertain_effects

        is_weighed = tree[0] == "probabilistic"
        if len(tree) == 1:
            example = "(probabilistic 0.3 (p) 0.7 (q))" if is_weighed else "(oneof (p) (q))"
            message = f"found {quote(tree)} without parts, expected effects of which one comes about"
            raise self.words.source.error(message, tree, None, f"such as '{example}'")
        options: list[Option] = []
        for index in range(2, len(tree) + 1, 2) if is_weighed else range(1, len(tree)):
            parts, choices = self._read_option(tree, index, scope, branch)
            options += uncertain_effects.read_options(self.words.source, tree, index, parts, choices)
        self.found.choices.append(uncertain_effects.read_choice(self.words.source, tree, options))
        if prod(map(len, self.found.choices)) > uncertain_effects.MOST_OUTCOMES:
            raise refuse_construct(self.words.source, syntax.MANY_OUTCOMES, tree)

    def _read_option(self, tree: Tree, index: int, scope: Scope, branch: _Branch) -> tuple[list[Part], list[Choice]]:
        """Read the effect at item `index` of `tree`, which stands in `branch`."""
        inner = Effects()
        start = _Branch([], [], branch.conditions, branch.variables) if branch.conditions or branch.variables else None
        inner.when += [start] if start else []
        reader = _Reader(self.words, self.derived, inner)
        reader.read(self._effect_at(tree, index), scope, start or _Branch(inner.provides, inner.numbers))
        written = [_Branch(inner.provides, inner.numbers), *inner.when]
        total = self.words.numbers.total
        if inner.cost or any(effect.fluent.predicate == total for each in written for effect in each.numbers):
            raise refuse_construct(self.words.source, syntax.COST_OF_OUTCOME, tree)
        parts = [
            (
                conjunction(each.conditions),
                (*(self._read_retractions(each, tree) if each.variables else each.literals), *each.numbers),
            )
            for each in written
            if each.literals or each.numbers
        ]
        return parts, inner.choices

    def _read_retractions(self, branch: _Branch, tree: Tree) -> Iterator[Literal]:
        """Yield the universal deletes of `branch` with open arguments; raises for other universal effects."""
        if branch.numbers:
            raise refuse_construct(self.words.source, syntax.UNIVERSAL_CHANCE, tree)
        types = {variable.name: variable.types for variable in branch.variables}
        for literal in branch.literals:
            atom = literal.part if isinstance(literal, Not) else None
            if branch.conditions or not isinstance(atom, Atom) or not self._covers_all(atom, types):
                raise refuse_construct(self.words.source, syntax.UNIVERSAL_CHANCE, tree)
            yield Not(atom.substitute(dict.fromkeys(types, OPEN)))

    def _covers_all(self, atom: Atom, types: Mapping[str, tuple[str, ...]]) -> bool:
        """Return whether `atom` with variables of `types` covers all facts of its pattern."""
        declared = self.words.predicates.get(atom.predicate)
        if declared is None or any(atom.args.count(name) != 1 for name in types):
            return False
        pairs = zip(declared.parameters, atom.args, strict=True)
        return all(self.words.types.hierarchy.is_a(each.types, types[arg]) for each, arg in pairs if arg in types)

    def _refuse_conditions(self, tree: Tree) -> None:
        if tree[0] in ("or", "imply", "exists", "="):
            message = f"found {quote(tree)}, expected an effect: {quote(tree[0])} belongs to conditions"
            raise self.words.source.error(
                message, tree, None, "say it in ':precondition' or before the effect of a 'when'"
            )

    def _refuse_misspelt(self, tree: Tree) -> None:
        """Raise an error where `tree` is no atom, but begins nearly like an effect."""
        hint = None if is_flat(tree) else suggest_nearest(tree[0], _KEYWORDS)
        if hint:
            raise self.words.source.error(f"found {quote(tree[0])}, expected an effect", tree, 0, hint)

    def _read_atom(self, tree: Tree, scope: Scope) -> Atom:
        if tree[0] in self.derived:
            message = f"the derived predicate {quote(tree[0])} is written by an effect"
            raise self.words.source.error(message, tree, None, "write what it is derived from")
        return self.words.atom(tree, scope)

    def _effect_at(self, tree: Tree, index: int) -> Tree:
        return subtree(self.words.source, tree, index, "an effect")

    def and_(self, tree: Tree, scope: Scope, branch: _Branch) -> None:
        for index in range(1, len(tree)):
            self.read(self._effect_at(tree, index), scope, branch)

    def not_(self, tree: Tree, scope: Scope, branch: _Branch) -> None:
        atom = subtree(self.words.source, tree, 1, "an atom")
        check_length(self.words.source, tree, 2, "'not'")
        if not atom or not isinstance(atom[0], str) or (atom[0] in _KEYWORDS and not is_flat(atom)):
            message = f"found {quote(atom)} under 'not' in an effect, expected an atom"
            raise self.words.source.error(message, atom, None, "delete each atom on its own: '(not (atom …))'")
        branch.literals.append(Not(self._read_atom(atom, scope)))

    def forall(self, tree: Tree, scope: Scope, branch: _Branch) -> None:
        variables = self.words.types.variables(subtree(self.words.source, tree, 1, "variables"))
        effect = self._effect_at(tree, 2)
        check_length(self.words.source, tree, 3, "'forall'")
        inner, renamed = extend_scope(scope, variables)
        self.read(effect, inner, self._branch(branch.conditions, (*branch.variables, *renamed)))

    def when(self, tree: Tree, scope: Scope, branch: _Branch) -> None:
        condition = subtree(self.words.source, tree, 1, "a condition")
        effect = self._effect_at(tree, 2)
        check_length(self.words.source, tree, 3, "'when'")
        formula = read_condition(condition, self.words, scope)
        if formula == TRUE:
            self.read(effect, scope, branch)
        else:
            self.read(effect, scope, self._branch((*branch.conditions, formula), branch.variables))

    def _branch(self, conditions: tuple[Formula, ...], variables: tuple[Variable, ...]) -> _Branch:
        branch = _Branch([], [], conditions, variables)
        self.found.when.append(branch)
        return branch

    def change(self, tree: Tree, scope: Scope, branch: _Branch) -> None:
        """Read a numeric effect: an unconditional increase of the total cost as terms of the cost."""
        if len(tree) == 3 and tree[1] in ([TOTAL_COST], TOTAL_COST):
            if tree[0] == "increase" and branch.literals is self.found.provides:
                self.found.cost.extend(self._terms(tree, 2, scope))
                return
            self.words.numbers.is_total_odd = True
        effect = read_numeric_effect(tree, self.words, scope)
        for other in branch.numbers:
            if other.fluent == effect.fluent and not _agree(other, effect):
                message = f"the effects '{other}' and '{effect}' on one function exclude each other"
                hint = "increases and decreases add up; any other effect stands alone"
                raise self.words.source.error(message, tree, None, hint)
        branch.numbers.append(effect)

    def _terms(self, tree: Tree, index: int, scope: Scope) -> list[CostTerm]:
        """Read the terms of the sum at item `index` of `tree`."""
        item = tree[index]
        if isinstance(item, list) and item[:1] == ["+"] and len(item) > 1:
            return [term for place in range(1, len(item)) for term in self._terms(item, place, scope)]
        if isinstance(item, str) and is_number(item):
            try:
                return [read_number(self.words.source, tree, index)]
            except PddlError as error:
                self.words.numbers.bad_costs.append(error)
        term = read_expression(tree, index, self.words, scope)
        return list(term.operands) if isinstance(term, Arithmetic) and term.operator == "+" else [term]


def _agree(first: NumericEffect, second: NumericEffect) -> bool:
    """Return whether two effects of one action may change the same function."""
    return (first.is_additive and second.is_additive) or (first.operator == ":=" and first == second)


def read_effects(tree: Tree, words: Vocabulary, scope: Scope, derived: frozenset[str]) -> Effects:
    """Read the effect `tree`, and join nested conditions and quantifiers.

    Raises `PddlError` for what is no effect, `UnsupportedError` for effects beyond PDDL 2.1, level 2.
    """
    found = Effects()
    _Reader(words, derived, found).read(tree, scope, _Branch(found.provides, found.numbers))
    return found


_READERS: Final[dict[str, Callable[[_Reader, Tree, Scope, _Branch], None]]] = {
    "and": _Reader.and_,
    "not": _Reader.not_,
    "forall": _Reader.forall,
    "when": _Reader.when,
    **dict.fromkeys(OPERATORS, _Reader.change),
}
_KEYWORDS: Final = frozenset(_READERS) | frozenset(syntax.EFFECTS) | _CHANCES


def read_objects(section: Tree, types: Types, known: Mapping[str, Object]) -> dict[str, Object]:
    """Read the objects that `section` declares; one that is declared twice, or is in `known`, has both types."""
    found: dict[str, Object] = {}
    for name, kinds, index in read_typed_list(types.source, section, 1, "an object"):
        types.check(kinds, section, index)
        if name[0] == "?":
            raise types.source.error(f"found the variable {quote(name)}, expected an object", section, index)
        before = found.get(name) or known.get(name)
        if before is None or before.types == kinds:
            found[name] = Object(name, kinds)
        else:
            both = tuple(dict.fromkeys((*before.types, *kinds)))
            found[name] = Object(name, tuple(kind for kind in both if kind != ROOT_TYPE))
    return found


def read_predicates(sections: list[Tree], types: Types) -> dict[str, Predicate]:
    """Read the predicates that `sections` declare; `=` is built in."""
    found: dict[str, Predicate] = {}
    for section in sections:
        for index in range(1, len(section)):
            name, variables = read_head(types, section, index, "a predicate")
            if name != "=":
                _check_same(types.source, found.get(name), variables, section[index])
                found.setdefault(name, Predicate(name, variables))
    return found


def read_functions(sections: list[Tree], types: Types) -> dict[str, Function]:
    """Read the functions that `sections` declare, except `total-cost`, the sum of costs."""
    found: dict[str, Function] = {}
    for section in sections:
        for index in _function_heads(types.source, section):
            name, variables = read_head(types, section, index, "a function")
            if name != TOTAL_COST:
                _check_same(types.source, found.get(name), variables, section[index])
                found.setdefault(name, Function(name, variables))
    return found


def _function_heads(source: Source, section: Tree) -> Iterator[int]:
    """Yield the indices of declarations of functions in `section`: all items except `- number`."""
    items = iter(range(1, len(section)))
    for index in items:
        if section[index] == "-number":
            continue
        if section[index] != "-":
            yield index
            continue
        index = next(items, len(section))  # noqa: PLW2901 - the type is the next item, and the loop skips it
        kind = section[index] if index < len(section) else None
        if kind != "number":
            if isinstance(kind, str):
                raise refuse_construct(source, syntax.OBJECT_FUNCTION, section, index)
            raise source.error(f"found {quote(kind)} after '-', expected 'number'", section, index)


def _check_same(
    source: Source, known: Predicate | Function | None, variables: tuple[Variable, ...], tree: Tree
) -> None:
    if known is not None and [each.types for each in known.parameters] != [each.types for each in variables]:
        raise source.error(f"{quote(known.name)} is declared twice, with other parameters", tree, None, "remove one")


def read_head(
    types: Types, section: Tree, index: int, what: str, *, twice: bool = True
) -> tuple[str, tuple[Variable, ...]]:
    """Read the name and parameters at item `index` of `section`; where `twice`, names of parameters may repeat."""
    tree = subtree(types.source, section, index, what)
    if not tree or not isinstance(tree[0], str) or tree[0][0] in "?:":
        raise types.source.error(f"found {quote(tree)}, expected {what} with its parameters", section, index)
    return tree[0], types.variables(tree, 1, twice=twice)


_KEYS: Final = {
    ":parameters": "variables",
    ":vars": "variables",
    ":precondition": "a condition",
    ":effect": "an effect",
}
_WITHOUT_MEANING: Final = frozenset({":comment", ":documentation", ":name"})


def read_action(tree: Tree, words: Vocabulary, derived: frozenset[str]) -> tuple[list[Action], tuple[Stated, ...]]:
    """Read the action that the section `tree` declares, and the preferences of its precondition.

    Where outcomes have conditions, the action has a version for each case, all of one name. No effect may write a
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
    requires, preferences = _split_precondition(precondition or [], words, scope, name)
    effects = Effects() if effect is None else read_effects(effect, words, scope, derived)
    when, cost, numbers = effects.conditional(), tuple(effects.cost), tuple(effects.numbers)
    action = Action(name, tuple(declared), requires, tuple(effects.provides), when=when, cost=cost, numbers=numbers)
    if not effects.choices:
        return [action], preferences
    from planner.language.pddl import uncertain_effects

    if len(uncertain_effects.conditions_of(effects.choices)) > uncertain_effects.MOST_CONDITIONS:
        raise refuse_construct(source, syntax.MANY_CONDITIONS, tree)
    versions = uncertain_effects.enumerate_versions((*action.provides, *numbers), effects.choices)
    return [_make_version(action, *each) for each in versions], preferences


def _make_version(action: Action, demand: Formula, outcomes: tuple[Outcome, ...]) -> Action:
    """Make the version of `action` that applies where `demand` holds, with these `outcomes`."""
    requires = action.requires if demand == TRUE else conjunction([action.requires, demand])
    several = outcomes if len(outcomes) > 1 else ()
    intended = outcomes[0]
    certain = replace(action, provides=intended.provides, modifies=intended.modifies, numbers=intended.numbers)
    return replace(certain, requires=requires, outcomes=several)


def _split_precondition(tree: Tree, words: Vocabulary, scope: Scope, name: str) -> tuple[Formula, tuple[Stated, ...]]:
    if not has_preferences(tree, words):
        return read_condition(tree, words, scope), ()
    hard, preferences = read_precondition(tree, words, scope)
    message = f"the precondition of the action {quote(name)} has preferences"
    warn(words.source, tree, None, f"{message}: a step that breaks one costs what the metric says")
    return conjunction(hard), preferences


def derived_name(tree: Tree) -> str:
    """Return the predicate that the section `tree` derives, or "" where the section is malformed."""
    match tree:
        case [_, [str(name), *_], *_]:
            return name
        case _:
            return ""


def read_axiom(tree: Tree, words: Vocabulary) -> Axiom:
    """Read the axiom in the section `tree`: `(:derived (predicate variables…) condition)`."""
    name, variables = read_head(words.types, tree, 1, "a derived predicate", twice=True)
    words.owner = f"derived {name}"
    words.check_predicate(name, len(variables), tree[1])
    condition = subtree(words.source, tree, 2, "a condition")
    check_length(words.source, tree, 3, f"the rule for {quote(name)}")
    scope, _ = extend_scope({}, variables)
    written = read_condition(condition, words, scope)
    return Axiom(name, variables, conjunction([written, *_equate_repeated(words, tree, variables)]))


def _equate_repeated(words: Vocabulary, tree: Tree, variables: tuple[Variable, ...]) -> list[Equals]:
    """Equate the variables that a head names twice, since variables of the model are distinct."""
    named = {each for each in tree[1] if isinstance(each, str)}
    found = []
    for variable in variables:
        if variable.name not in named:
            first = variable.name.rpartition("-")[0]
            warn(words.source, tree[1], None, f"{quote(first)} stands twice in the head: both are the same object")
            found.append(Equals(first, variable.name))
    return found
