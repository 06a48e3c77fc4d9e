"""Read durative actions (Fox and Long, 2003: PDDL 2.1, level 3) and timed initial literals (Edelkamp, Hoffmann, 2004).

Conditions and effects are divided by their moment: a tree for the start, one for the end, and for conditions one for
the time between. `and` and `forall` above a moment are kept in each of them. All effects become those of the two
moments, so that PDDL's own rules hold for them, not those of declared actions. Where an effect at the end is under a
condition about the start, the start writes a fact where the condition holds, and the end reads it.
"""

from __future__ import annotations

from collections.abc import Iterator

from planner.language.pddl import syntax
from planner.language.pddl.pddl_actions import Effects, read_effects
from planner.language.pddl.pddl_conditions import check_length, is_flat, read_condition, subtree
from planner.language.pddl.pddl_numbers import read_exact, read_expression
from planner.language.pddl.pddl_vocabulary import Scope, Vocabulary
from planner.language.pddl.sections import read_name, read_parts
from planner.language.pddl.syntax import Tree, is_number, quote, refuse_construct
from planner.lightweight import Final, dataclass, field, replace
from planner.model.actions import NO_MOMENT, Action, Duration, DurationRange, Moment, NumericEffect
from planner.model.domain import Predicate
from planner.model.formulas import (
    Atom,
    Expression,
    Forall,
    Formula,
    Not,
    Number,
    Variable,
    with_conjuncts,
)
from planner.model.timing import TimedEffect, fix_duration

_KEYS: Final = {
    ":parameters": "variables",
    ":duration": "a duration",
    ":condition": "a condition",
    ":effect": "an effect",
}
_WITHOUT_MEANING: Final = frozenset({":comment", ":documentation", ":name"})
_MOMENTS: Final = {("at", "start"): "start", ("at", "end"): "end", ("over", "all"): "all"}


@dataclass(frozen=True, slots=True)
class _Divided:
    """The parts of a condition or an effect by moment; the trees in them are those of the file."""

    start: Tree = field(default_factory=lambda: ["and"])
    all: Tree = field(default_factory=lambda: ["and"])
    end: Tree = field(default_factory=lambda: ["and"])
    noted: list[tuple[tuple[Variable, ...], Tree]] = field(default_factory=list)
    """The facts by which the end knows what held at the start, for all objects of some variables."""

    def part(self, moment: str) -> Tree:
        """Return the part of `moment`."""
        part: Tree = getattr(self, moment)
        return part


def read_durative_action(tree: Tree, words: Vocabulary, derived: frozenset[str]) -> Action:
    """Read the durative action that the section `tree` declares; no effect may write a predicate of `derived`.

    Raises `PddlError` for mistakes, `UnsupportedError` for continuous effects, and for effects under conditions over
    all, or at the start under conditions of the end.
    """
    source = words.source
    name = read_name(source, tree, "an action")
    words.owner = f"action {name}"
    parts = read_parts(source, tree, 2, _KEYS, f"the action {quote(name)}", ignored=_WITHOUT_MEANING)
    declared = words.types.variables(parts.get(":parameters", []))
    scope: Scope = {variable.name: variable for variable in declared}
    if ":duration" not in parts:
        hint = "such as ':duration (= ?duration 5)'"
        raise source.error(f"the action {quote(name)} has no ':duration'", tree, len(tree), hint)
    duration = _read_duration(parts[":duration"], words, scope)
    conditions, effects = _Divided(), _Divided()
    if parts.get(":condition"):
        _divide_condition(parts[":condition"], words, conditions, [])
    words.numbers.has_duration = True
    try:
        if parts.get(":effect"):
            _divide_effect(parts[":effect"], words, effects, [])
        _declare_notes(effects, name, tuple(declared), words)
        starting, ending = [read_effects(each, words, scope, derived) for each in (effects.start, effects.end)]
    finally:
        words.numbers.has_duration = False
    requires, throughout, at_end = [
        read_condition(_unwrap(each), words, scope) for each in (conditions.start, conditions.all, conditions.end)
    ]
    unnoted = [_rule_out(variables, words.atom(fact, {**scope, **{x.name: x for x in variables}}))
               for variables, fact in effects.noted]  # fmt: skip
    for found in (starting, ending):
        if found.choices:
            raise refuse_construct(source, syntax.UNIVERSAL_CHANCE, parts[":effect"])
    words.numbers.costs_at_start[name] = len(starting.cost)
    start, end = map(_moment_of, (starting, ending))
    end = replace(end, requires=at_end)
    action = Action(
        name,
        tuple(declared),
        with_conjuncts(requires, *unnoted),
        cost=(*starting.cost, *ending.cost),
        duration=duration,
        throughout=throughout,
        at_start=NO_MOMENT if start.is_empty else start,
        at_end=NO_MOMENT if end.is_empty else end,
    )
    return fix_duration(action)


def _declare_notes(effects: _Divided, name: str, parameters: tuple[Variable, ...], words: Vocabulary) -> None:
    """Declare the predicates of the facts that the start of the action `name` notes, and complete these facts."""
    for number, (variables, fact) in enumerate(effects.noted, start=1):
        predicate = f"{name}-began-{number}"
        while predicate in words.arities:
            predicate += "-"
        arguments = tuple({each.name: each for each in (*parameters, *variables)}.values())
        words.predicates[predicate] = Predicate(predicate, arguments)
        words.arities[predicate] = len(arguments)
        fact += [predicate, *[each.name for each in arguments]]


def _rule_out(variables: tuple[Variable, ...], fact: Atom) -> Formula:
    """Return that no step with the same arguments has noted `fact` already, and still runs."""
    return Forall(variables, Not(fact)) if variables else Not(fact)


def _unwrap(tree: Tree) -> Tree:
    """Return the one part of the conjunction `tree`; the whole, if it has several; nothing, if it has none."""
    if len(tree) > 2:
        return tree
    part: Tree = tree[1] if len(tree) == 2 else []
    return part


def _moment_of(effects: Effects) -> Moment:
    return Moment(provides=tuple(effects.provides), when=effects.conditional(), numbers=tuple(effects.numbers))


def _read_duration(tree: Tree, words: Vocabulary, scope: Scope) -> Duration:
    """Read the constraints on `?duration`."""
    bounds = dict(_read_bounds(tree, words, scope))
    if "=" in bounds:
        if len(bounds) > 1:
            raise words.source.error(f"{quote(tree)} fixes the duration and bounds it", tree, None, "keep one of them")
        return bounds["="]
    return DurationRange(bounds.get(">=", 0), bounds.get("<="))


def _read_bounds(tree: Tree, words: Vocabulary, scope: Scope) -> Iterator[tuple[str, Expression]]:
    source = words.source
    match tree:
        case [] | ["and"]:
            return
        case ["and", *_]:
            for index in range(1, len(tree)):
                yield from _read_bounds(subtree(source, tree, index, "a constraint on ?duration"), words, scope)
        case ["at", "start" | "end", [*inner]]:
            yield from _read_bounds(inner if tree[2] is inner else tree[2], words, scope)
        case ["=" | "<=" | ">=" as relation, "?duration", _]:
            yield relation, read_expression(tree, 2, words, scope)
        case _:
            hint = "write '(= ?duration 5)', or '(and (>= ?duration 1) (<= ?duration 5))'"
            raise source.error(f"found {quote(tree)}, expected a constraint on '?duration'", tree, None, hint)


def _find_moment(tree: Tree, words: Vocabulary) -> str:
    """Return the moment that `tree` begins with; "" where it begins with none."""
    if len(tree) < 2 or not isinstance(tree[0], str) or not isinstance(tree[1], str) or is_flat(tree):
        return ""
    moment = _MOMENTS.get((tree[0], tree[1]), "")
    if moment:
        check_length(words.source, tree, 3, quote(f"{tree[0]} {tree[1]}"))
    return moment


def _wrap(tree: Tree, around: list[Tree]) -> Tree:
    for outer in reversed(around):
        tree = [*outer, tree]
    return tree


def _divide_condition(tree: Tree, words: Vocabulary, found: _Divided, around: list[Tree]) -> None:
    """Divide the condition `tree` by its moments; `around` are the beginnings of the `forall`s around it."""
    source = words.source
    if not tree:
        return
    moment = _find_moment(tree, words)
    if moment:
        found.part(moment).append(_wrap(subtree(source, tree, 2, "a condition"), around))
    elif tree[0] == "and" and not is_flat(tree):
        for index in range(1, len(tree)):
            _divide_condition(subtree(source, tree, index, "a condition"), words, found, around)
    elif tree[0] == "forall" and not is_flat(tree):
        inner = subtree(source, tree, 2, "a condition")
        check_length(source, tree, 3, "'forall'")
        _divide_condition(inner, words, found, [*around, tree[:2]])
    elif tree != ["and"]:
        message = f"found {quote(tree)}, expected a condition with its moment"
        raise source.error(message, tree, None, "write '(at start …)', '(at end …)' or '(over all …)' around it")


def _divide_effect(tree: Tree, words: Vocabulary, found: _Divided, around: list[Tree]) -> None:
    """Divide the effect `tree` by its moments; `around` are the beginnings of `forall` and `when` around it."""
    source = words.source
    if not tree:
        return
    moment = _find_moment(tree, words)
    if moment == "all":
        raise source.error(f"found {quote(tree)}, expected an effect at start or at end", tree, 0, "say 'at end'")
    if moment:
        part = subtree(source, tree, 2, "an effect")
        crossed = [outer for outer in around if outer[0] == "when" and outer[-1] != moment]
        if crossed and moment != "end":
            raise refuse_construct(source, syntax.CROSSED_MOMENTS, tree)
        if crossed:
            around = _note(words, found, around)
        found.part(moment).append(_wrap(part, _begin(around)))
    elif tree[0] == "and" and not is_flat(tree):
        for index in range(1, len(tree)):
            _divide_effect(subtree(source, tree, index, "an effect"), words, found, around)
    elif tree[0] == "forall" and not is_flat(tree):
        inner = subtree(source, tree, 2, "an effect")
        check_length(source, tree, 3, "'forall'")
        _divide_effect(inner, words, found, [*around, tree[:2]])
    elif tree[0] == "when" and not is_flat(tree):
        _divide_when(tree, words, found, around)
    elif tree[0] in ("increase", "decrease") and not is_flat(tree) and "#t" in _words_of(tree):
        raise refuse_construct(source, syntax.CONTINUOUS, tree)
    elif tree != ["and"]:
        message = f"found {quote(tree)}, expected an effect with its moment"
        raise source.error(message, tree, None, "write '(at start …)' or '(at end …)' around it")


def _begin(around: list[Tree]) -> list[Tree]:
    """Return the beginnings of the trees around an effect, without the moments of their conditions."""
    return [outer[:2] if outer[0] == "forall" else ["when", outer[1]] for outer in around]


def _note(words: Vocabulary, found: _Divided, around: list[Tree]) -> list[Tree]:
    """Let the start note by a fact where those conditions `around` an effect hold that are about the start.

    The end takes the fact back. Return what is around the effect at the end.
    """
    fact: Tree = []
    quantified = [outer for outer in around if outer[0] == "forall"]
    variables = tuple([each for outer in quantified for each in words.types.variables(outer[1])])
    found.noted.append((variables, fact))
    found.part("start").append(_wrap(fact, _begin([outer for outer in around if outer[-1] != "end"])))
    found.part("end").append(_wrap(["not", fact], [*_begin(quantified), ["when", fact]]))
    late = [outer for outer in around if outer[0] == "forall" or outer[-1] == "end"]
    return [*late, ["when", fact, "end"]]


def _divide_when(tree: Tree, words: Vocabulary, found: _Divided, around: list[Tree]) -> None:
    """Divide a conditional effect, whose condition is about the start, the end, or both."""
    source = words.source
    condition, effect = subtree(source, tree, 1, "a condition"), subtree(source, tree, 2, "an effect")
    check_length(source, tree, 3, "'when'")
    divided = _Divided()
    _divide_condition(condition, words, divided, [])
    used = [moment for moment in ("start", "all", "end") if len(divided.part(moment)) > 1]
    if not used or "all" in used:
        raise refuse_construct(source, syntax.CROSSED_MOMENTS, tree)
    inner: list[Tree] = [["when", _unwrap(divided.part(moment)), moment] for moment in used]
    _divide_effect(effect, words, found, [*around, *inner])


def _words_of(tree: Tree) -> Iterator[str]:
    for item in tree:
        if isinstance(item, list):
            yield from _words_of(item)
        else:
            yield item


def is_timed(entry: Tree) -> bool:
    """Return whether the entry of an initial state is a timed initial literal, such as `(at 9.5 (open shop))`."""
    return len(entry) == 3 and isinstance(entry[1], str) and is_number(entry[1]) and isinstance(entry[2], list)


def read_timed(entry: Tree, words: Vocabulary, derived: frozenset[str]) -> TimedEffect:
    """Read a timed initial literal; raises `PddlError` where it has no effect, or one of a time before 0."""
    source = words.source
    time: Number = read_exact(source, entry, 1)
    if time < 0:
        raise source.error(f"found the time {quote(entry[1])}, which is before the beginning", entry, 1, "0 or later")
    match entry[2]:
        case ["=", [str(), *_] as term, value]:
            number = (
                read_exact(source, entry[2], 2) if isinstance(value, str) else read_expression(entry[2], 2, words, {})
            )
            words.numbers.changed.add(term[0])
            return TimedEffect(time, numbers=(NumericEffect(words.function_term(term, {}), ":=", number),))
        case ["not", [str(name), *_] as atom]:
            literal: Atom | Not = Not(words.atom(atom, {}))
        case [str(name), *_] as atom:
            literal = words.atom(atom, {})
        case other:
            raise source.error(f"found {quote(other)}, expected a fact or its negation", entry, 2)
    if name in derived:
        raise source.error(f"the derived predicate {quote(name)} is written", entry, 2, "write what it is derived from")
    return TimedEffect(time, (literal,))
