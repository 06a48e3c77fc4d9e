"""Read numbers, arithmetic, comparisons and numeric effects (Fox and Long, 2003: PDDL 2.1, level 2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import reduce

from planner.language.pddl.pddl_vocabulary import Scope, Vocabulary
from planner.language.pddl.syntax import REWARD as REWARD_REFUSED
from planner.language.pddl.syntax import (
    TOTAL_COST,
    Source,
    Tree,
    is_number,
    pluralize,
    quote,
    refuse_construct,
    suggest_nearest,
)
from planner.lightweight import Final
from planner.model.actions import DURATION, NumericEffect
from planner.model.arithmetic import MOST_DIGITS, evaluate, parse_number
from planner.model.formulas import RELATIONS, Arithmetic, Atom, Comparison, Expression, Number

_SHORT: Final = 18
"""Digits of numbers that are read the fast way."""
REWARD: Final = "reward"
"""The function that PPDDL counts rewards with."""

OPERATORS: Final[Mapping[str, str]] = {
    "increase": "+=",
    "decrease": "-=",
    "assign": ":=",
    "scale-up": "*=",
    "scale-down": "/=",
}
"""The words of numeric effects, and the operators of the model."""

Special = Mapping[str, Callable[[Tree, int], Expression]]
"""Readers of words that have a meaning of their own in an expression, by word; they take a tree and an index in it."""
NOTHING: Final[Special] = {}


def read_exact(source: Source, tree: Tree, index: int) -> Number:
    """Read the number at item `index` of `tree` exactly: an int where it is integral, else a decimal."""
    item = tree[index] if index < len(tree) else None
    if not isinstance(item, str) or not is_number(item):
        raise source.error(f"found {quote(item)}, expected a number", tree, index)
    if len(item) <= _SHORT and item.isdigit():
        return int(item)
    try:
        return parse_number(item)
    except ValueError as error:
        message = f"the number {quote(item)} has more than {MOST_DIGITS} digits"
        raise source.error(message, tree, index) from error


def read_expression(tree: Tree, index: int, words: Vocabulary, scope: Scope, special: Special = NOTHING) -> Expression:
    """Read the expression at item `index` of `tree`: a number, a function with its arguments, or arithmetic.

    A function without arguments may lack its parentheses. Raises `PddlError` for what has no value, and for divisions
    by the constant 0.
    """
    item = tree[index]
    name = item if isinstance(item, str) else item[0] if item else None
    if isinstance(name, str) and name in special:
        return special[name](tree, index)
    if isinstance(item, str):
        return read_exact(words.source, tree, index) if is_number(item) else _read_bare(tree, index, words, scope)
    if item and item[0] in ("+", "-", "*", "/"):
        return _read_arithmetic(item, words, scope, special)
    if item and isinstance(item[0], str):
        _refuse_valueless(item, 0, words)
    term = words.function_term(item, scope)
    words.numbers.reads.add(term.predicate)
    return term


def _read_bare(tree: Tree, index: int, words: Vocabulary, scope: Scope) -> Atom:
    """Read the word at item `index` of `tree`, a function without arguments."""
    item = tree[index]
    if item == DURATION.predicate and words.numbers.has_duration:
        return DURATION
    if item in scope or item in words.objects or item[0] == "?":
        message = f"found the object {quote(item)}, expected a number or a function with its arguments"
        raise words.source.error(message, tree, index, "objects have no values of their own")
    function = words.functions.get(item)
    if item != TOTAL_COST and not words.unresolved and (function is None or function.parameters):
        message = f"found {quote(item)}, expected a number or a function in parentheses"
        raise words.source.error(message, tree, index, suggest_nearest(item, words.functions))
    term = words.function_term([item], scope)
    words.numbers.reads.add(term.predicate)
    return term


def _refuse_valueless(tree: Tree, index: int, words: Vocabulary) -> None:
    """Raise an error where item `index` of `tree` is the name of something without a value."""
    name = tree[index]
    if name in words.functions or name == TOTAL_COST or words.unresolved:
        return
    if name in words.arities:
        message = f"{quote(name)} is a predicate, and has no value; expected a function"
        raise words.source.error(message, tree, index, suggest_nearest(name, words.functions))
    if is_number(name):
        message = f"found {quote(tree)}, expected a number or a function"
        raise words.source.error(message, tree, None, f"write '{name}' without parentheses")
    if name[0] not in "?_" and not name[0].isalnum():
        message = f"the operator {quote(name)} is not known"
        raise words.source.error(message, tree, index, "arithmetic has '+', '-', '*' and '/'")


def _read_arithmetic(tree: Tree, words: Vocabulary, scope: Scope, special: Special) -> Expression:
    operator = tree[0]
    operands = [read_expression(tree, place, words, scope, special) for place in range(1, len(tree))]
    if not operands or (operator == "/" and len(operands) == 1):
        message = f"{quote(operator)} has {pluralize(len(operands), 'argument')} here, expected 2"
        raise words.source.error(message, tree, None, f"write '({operator} a b)'")
    if operator == "/":
        for place, divisor in enumerate(operands[1:], start=2):
            refuse_zero(divisor, words.source, tree, place)
    if len(operands) == 1:
        return _negate(operands[0]) if operator == "-" else operands[0]
    if operator in ("+", "*"):
        return Arithmetic(operator, tuple(operands))
    return reduce(lambda left, right: Arithmetic(operator, (left, right)), operands)


def _negate(operand: Expression) -> Expression:
    """Negate `operand`; a number stays a number."""
    if isinstance(operand, int):
        return -operand
    return operand.copy_negate() if isinstance(operand, Decimal) else Arithmetic("-", (operand,))


def refuse_zero(divisor: Expression, source: Source, tree: Tree, index: int) -> None:
    """Raise an error where `divisor`, read from item `index` of `tree`, is the constant 0."""
    if evaluate(divisor, lambda _: None, {}) == 0:
        message = f"{quote(tree)} divides by {quote(tree[index])}"
        raise source.error(message, tree, index, "no number is the result: divide by something else")


def read_comparison(tree: Tree, words: Vocabulary, scope: Scope) -> Comparison:
    """Read the comparison `tree`, such as `(>= (fuel ?r) 5)`."""
    relation = tree[0]
    if len(tree) != 3:
        message = f"{quote(relation)} has {pluralize(len(tree) - 1, 'argument')} here, expected 2"
        raise words.source.error(message, tree, None, f"write '({relation} (f) 1)'")
    left, right = (read_expression(tree, index, words, scope) for index in (1, 2))
    return Comparison(left, relation, right)


def compares_numbers(tree: Tree, words: Vocabulary, scope: Scope) -> bool:
    """Return whether the equality `tree` compares numbers, not objects."""
    return any(_is_numeric(item, words, scope) for item in tree[1:])


def _is_numeric(item: Tree | str, words: Vocabulary, scope: Scope) -> bool:
    if isinstance(item, list):
        return True
    if item in scope or item in words.objects:
        return False
    return (is_number(item) and not words.unresolved) or item in words.functions


def read_numeric_effect(tree: Tree, words: Vocabulary, scope: Scope) -> NumericEffect:
    """Read the effect `tree`, such as `(decrease (fuel ?r) (distance ?a ?b))`."""
    source, word = words.source, tree[0]
    if len(tree) != 3:
        example = "(increase (total-cost) 1)" if word == "increase" else f"({word} (f) 1)"
        message = f"{quote(word)} has {pluralize(len(tree) - 1, 'argument')} here, expected 2"
        raise source.error(message, tree, None, f"write '{example}'")
    fluent = _read_fluent(tree, words, scope)
    value = read_expression(tree, 2, words, scope)
    if word == "scale-down":
        refuse_zero(value, source, tree, 2)
    words.numbers.changed.add(fluent.predicate)
    return NumericEffect(fluent, OPERATORS[word], value)


def _read_fluent(tree: Tree, words: Vocabulary, scope: Scope) -> Atom:
    """Read the function that the effect `tree` changes."""
    item = tree[1]
    if item in ([TOTAL_COST], TOTAL_COST):
        return Atom(words.numbers.total)
    head = item if isinstance(item, str) else item[0] if item else None
    if head in ("+", "-", "*", "/") or (isinstance(item, str) and is_number(item)):
        message = f"found {quote(item)}, expected the function that {quote(tree[0])} changes"
        raise words.source.error(message, tree, 1, f"write '({tree[0]} (f) 1)'")
    if head == REWARD and head not in words.functions:
        raise refuse_construct(words.source, REWARD_REFUSED, tree)
    if isinstance(item, str):
        return _read_bare_fluent(tree, words, scope)
    if isinstance(head, str):
        _refuse_valueless(item, 0, words)
    return words.function_term(item, scope)


def _read_bare_fluent(tree: Tree, words: Vocabulary, scope: Scope) -> Atom:
    item = tree[1]
    function = words.functions.get(item)
    if function is None or function.parameters:
        message = f"found {quote(item)}, expected the function that {quote(tree[0])} changes, in parentheses"
        raise words.source.error(message, tree, 1, suggest_nearest(item, words.functions))
    return words.function_term([item], scope)


def is_relation(word: str) -> bool:
    """Return whether `word` compares numbers, and nothing else."""
    return word in RELATIONS and word != "="


FOREIGN_RELATIONS: Final[Mapping[str, str]] = {
    "==": "write '(= a b)'",
    "!=": "write '(not (= a b))'",
    "<>": "write '(not (= a b))'",
    "=<": "write '(<= a b)'",
    "=>": "write '(>= a b)', or '(imply a b)'",
}
"""Relations as other languages write them, and what to write in PDDL."""
