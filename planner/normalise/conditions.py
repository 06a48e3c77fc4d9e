"""Conditions in normal form: a disjunction of conjunctions of literals, with what cannot be split kept apart.

Implications disappear, negations move to the atoms, variables are renamed apart, existential variables move out, and
small disjunctions are multiplied out. Universal quantifiers and large disjunctions stay as *residual* formulas: they
are expanded ground action by ground action, where most of their parts are known to be true or false.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from planner.annotations import Final, TypeVar
from planner.model import (
    TRUE,
    And,
    Atom,
    Equals,
    Exists,
    Forall,
    Formula,
    Imply,
    Not,
    Or,
    Variable,
)
from planner.model.formulas import free_variables, substitute, walk
from planner.records import dataclass

SPLIT_LIMIT: Final = 12
"""How many conjunctions the condition of one action may be multiplied out to."""


@dataclass(frozen=True, slots=True)
class Conjunction:
    """`atoms` and not `negated` and (in)equalities and `residual`, for some objects of `variables`."""

    variables: tuple[Variable, ...] = ()
    atoms: tuple[Atom, ...] = ()
    negated: tuple[Atom, ...] = ()
    equal: tuple[Equals, ...] = ()
    unequal: tuple[Equals, ...] = ()
    residual: tuple[Formula, ...] = ()


def disjuncts(formula: Formula, limit: int = SPLIT_LIMIT, fresh: Iterator[int] | None = None) -> list[Conjunction]:
    """Return conjunctions whose disjunction is `formula`; an empty list means that it is false.

    `fresh` numbers the variables that are renamed apart; formulas that share an iterator share no such variable.
    """
    normal = negation_normal(formula, itertools.count() if fresh is None else fresh)
    return [_conjunction(pieces) for pieces in _split(normal, limit)]


def negation_normal(formula: Formula, fresh: Iterator[int], *, negate: bool = False) -> Formula:
    """Return `formula` (or its negation) with negations at the atoms and quantified variables renamed apart."""
    match formula:
        case Not(part):
            return negation_normal(part, fresh, negate=not negate)
        case And(parts) | Or(parts):
            kind = And if isinstance(formula, And) is not negate else Or
            return _joined(kind, [negation_normal(part, fresh, negate=negate) for part in parts])
        case Imply(premise, conclusion):
            return negation_normal(Or((Not(premise), conclusion)), fresh, negate=negate)
        case Forall(variables, part) | Exists(variables, part):
            kind_of_quantifier = Forall if isinstance(formula, Forall) is not negate else Exists
            renamed = {variable.name: f"{variable.name}@{next(fresh)}" for variable in variables}
            body = negation_normal(substitute(part, renamed), fresh, negate=negate)
            new = tuple([Variable(renamed[variable.name], variable.types) for variable in variables])
            return _quantified(kind_of_quantifier, new, body)
        case _:
            return Not(formula) if negate else formula


def _joined(kind: type[And | Or], parts: list[Formula]) -> Formula:
    flat: list[Formula] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, kind) else (part,))
    return flat[0] if len(flat) == 1 else kind(tuple(flat))


def _quantified(kind: type[Forall | Exists], variables: tuple[Variable, ...], body: Formula) -> Formula:
    """Push a quantifier in where it distributes: for all over `and`, for some over `or`.

    What has quantifiers of its own and does not use the `variables` moves out, or it would be instantiated for each.
    """
    through, across = (And, Or) if kind is Forall else (Or, And)
    if isinstance(body, through):
        return through(tuple([_quantified(kind, variables, part) for part in body.parts]))
    names = {variable.name for variable in variables}
    parts = list(body.parts) if isinstance(body, across) else [body]
    outside = [part for part in parts if _is_quantified(part) and not free_variables(part) & names]
    if outside:
        inside = _joined(across, [part for part in parts if part not in outside])
        return _joined(across, [*outside, _quantified(kind, variables, inside)])
    if isinstance(body, kind):
        return kind((*variables, *body.variables), body.part)
    return kind(variables, body)


def _is_quantified(formula: Formula) -> bool:
    return any(isinstance(part, Forall | Exists) for part in walk(formula))


def _split(formula: Formula, limit: int) -> list[list[Formula]]:
    match formula:
        case Or(parts):
            branches = _branches(parts, limit)
            return branches if len(branches) <= limit else [[formula]]
        case And(parts):
            return _multiply([_split(part, limit) for part in parts], limit)
        case Exists(variables, part):
            return [[Exists(variables, TRUE), *pieces] for pieces in _split(part, limit)]
        case _:
            return [[formula]]


def _branches(parts: tuple[Formula, ...], limit: int) -> list[list[Formula]]:
    """Return the alternatives of a disjunction, so that objects that differ from others are in one of them only.

    An inequality leaves almost all objects in the running. With but one other part, the disjunction stays whole: of
    each ground action it says one thing.
    """
    unequal = [part for part in parts if isinstance(part, Not) and isinstance(part.part, Equals)]
    others = [part for part in parts if part not in unequal]
    if unequal and len(others) <= 1:
        return [[Or(parts)]]
    branches = [pieces for part in others for pieces in _split(part, limit)]
    if not unequal:
        return branches
    equal = [part.part for part in unequal]
    return [[_joined(Or, [*unequal])], *[[*equal, *pieces] for pieces in branches]]


def _multiply(factors: list[list[list[Formula]]], limit: int) -> list[list[Formula]]:
    """Multiply disjunctions out, smallest first; the factors past the limit stay whole."""
    product: list[list[Formula]] = [[]]
    for branches in sorted(factors, key=len):
        if len(product) * len(branches) > max(limit, 1) and len(branches) > 1:
            product = [[*pieces, _whole(branches)] for pieces in product]
        else:
            product = [[*pieces, *branch] for pieces in product for branch in branches]
    return product


def _whole(branches: list[list[Formula]]) -> Formula:
    """Put the branches of a disjunction together again."""
    return Or(tuple([_rebuilt(pieces) for pieces in branches]))


def _rebuilt(pieces: list[Formula]) -> Formula:
    variables = tuple([v for piece in pieces if isinstance(piece, Exists) for v in piece.variables])
    rest = [piece for piece in pieces if not isinstance(piece, Exists)]
    body = rest[0] if len(rest) == 1 else And(tuple(rest))
    return Exists(variables, body) if variables else body


def _conjunction(pieces: list[Formula]) -> Conjunction:
    rest = [piece for piece in pieces if not isinstance(piece, Exists) or piece.part != TRUE]
    return Conjunction(
        variables=tuple(
            [v for piece in pieces if isinstance(piece, Exists) and piece.part == TRUE for v in piece.variables]
        ),
        atoms=_unique(piece for piece in rest if isinstance(piece, Atom)),
        negated=_unique(piece.part for piece in rest if isinstance(piece, Not) and isinstance(piece.part, Atom)),
        equal=_unique(piece for piece in rest if isinstance(piece, Equals)),
        unequal=_unique(piece.part for piece in rest if isinstance(piece, Not) and isinstance(piece.part, Equals)),
        residual=_unique(piece for piece in rest if not isinstance(piece, Atom | Not | Equals)),
    )


Part = TypeVar("Part")


def _unique(parts: Iterable[Part]) -> tuple[Part, ...]:
    return tuple(dict.fromkeys(parts))
