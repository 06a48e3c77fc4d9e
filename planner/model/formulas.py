"""Conditions as trees, kept as they were written.

    Formula = Atom | Equals | Not | And | Or | Imply | Forall | Exists

`TRUE` is the empty conjunction and `FALSE` the empty disjunction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from planner.annotations import Final
from planner.model.atoms import Atom, Term, Variable, is_variable
from planner.records import dataclass


@dataclass(frozen=True, slots=True)
class Equals:
    """Both terms name the same object."""

    left: Term
    right: Term

    def __str__(self) -> str:
        return f"{self.left} == {self.right}"


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not hold."""

    part: Formula

    def __str__(self) -> str:
        if isinstance(self.part, Equals):
            return f"{self.part.left} != {self.part.right}"
        return f"not {self.part}" if isinstance(self.part, Atom) else f"not ({self.part})"


@dataclass(frozen=True, slots=True)
class And:
    """All parts hold."""

    parts: tuple[Formula, ...] = ()

    def __str__(self) -> str:
        return " and ".join(_grouped(part) for part in self.parts) or "true"


@dataclass(frozen=True, slots=True)
class Or:
    """At least one part holds."""

    parts: tuple[Formula, ...] = ()

    def __str__(self) -> str:
        return " or ".join(_grouped(part) for part in self.parts) or "false"


@dataclass(frozen=True, slots=True)
class Imply:
    """The premise does not hold, or the conclusion does."""

    premise: Formula
    conclusion: Formula

    def __str__(self) -> str:
        return f"{_grouped(self.premise)} implies {_grouped(self.conclusion)}"


@dataclass(frozen=True, slots=True)
class Forall:
    """The part holds for all objects of the variables' types."""

    variables: tuple[Variable, ...]
    part: Formula

    def __str__(self) -> str:
        return f"for all {', '.join(map(str, self.variables))}: {_grouped(self.part)}"


@dataclass(frozen=True, slots=True)
class Exists:
    """The part holds for some objects of the variables' types."""

    variables: tuple[Variable, ...]
    part: Formula

    def __str__(self) -> str:
        return f"for some {', '.join(map(str, self.variables))}: {_grouped(self.part)}"


Formula = Atom | Equals | Not | And | Or | Imply | Forall | Exists
TRUE: Final = And()
FALSE: Final = Or()


def _grouped(part: Formula) -> str:
    return f"({part})" if isinstance(part, And | Or | Imply | Forall | Exists) else str(part)


def children(formula: Formula) -> tuple[Formula, ...]:
    """Return the direct parts of `formula`."""
    match formula:
        case And(parts) | Or(parts):
            return parts
        case Not(part) | Forall(_, part) | Exists(_, part):
            return (part,)
        case Imply(premise, conclusion):
            return (premise, conclusion)
        case _:
            return ()


def with_children(formula: Formula, parts: tuple[Formula, ...]) -> Formula:
    """Return `formula` with its direct parts replaced, in the order that `children` gives."""
    match formula:
        case And():
            return And(parts)
        case Or():
            return Or(parts)
        case Not():
            return Not(parts[0])
        case Imply():
            return Imply(parts[0], parts[1])
        case Forall(variables) | Exists(variables):
            return type(formula)(variables, parts[0])
        case _:
            return formula


def walk(formula: Formula) -> Iterator[Formula]:
    """Yield `formula` and all formulas inside it, outermost first."""
    stack = [formula]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(children(current)))


def atoms_in(formula: Formula) -> Iterator[Atom]:
    """Yield every atom that occurs in `formula`."""
    return (part for part in walk(formula) if isinstance(part, Atom))


def literals_in(formula: Formula, *, positive: bool = True) -> Iterator[tuple[Atom, bool]]:
    """Yield every atom in `formula` (negated, unless `positive`), and whether an even number of negations is above it.

    Where what is said so of each atom holds in more states, `formula` holds in more states.
    """
    stack = [(formula, positive)]
    while stack:
        part, sign = stack.pop()
        match part:
            case Atom():
                yield part, sign
            case And(parts) | Or(parts):
                stack.extend([(each, sign) for each in parts])
            case Not(inner):
                stack.append((inner, not sign))
            case Imply(premise, conclusion):
                stack.extend([(premise, not sign), (conclusion, sign)])
            case Forall(_, inner) | Exists(_, inner):
                stack.append((inner, sign))


def substitute(formula: Formula, binding: Mapping[Term, Term]) -> Formula:
    """Return `formula` with its free terms replaced where `binding` has them; bound variables shadow."""
    match formula:
        case Atom():
            return formula.substitute(binding)
        case Equals(left, right):
            return Equals(binding.get(left, left), binding.get(right, right))
        case Forall(variables, _) | Exists(variables, _):
            hidden = {variable.name for variable in variables}
            binding = {term: value for term, value in binding.items() if term not in hidden}
    return with_children(formula, tuple([substitute(part, binding) for part in children(formula)]))


def free_variables(formula: Formula) -> set[Term]:
    """Return the variables of `formula` that no quantifier in it binds."""
    match formula:
        case Atom(_, args):
            return {arg for arg in args if is_variable(arg)}
        case Equals(left, right):
            return {term for term in (left, right) if is_variable(term)}
        case Forall(variables, part) | Exists(variables, part):
            return free_variables(part) - {variable.name for variable in variables}
        case _:
            return {name for part in children(formula) for name in free_variables(part)}


def conjuncts(formula: Formula) -> Iterator[Formula]:
    """Yield the parts of a conjunction, nested ones included; any other formula yields itself."""
    if isinstance(formula, And):
        for part in formula.parts:
            yield from conjuncts(part)
    else:
        yield formula


def conjunction(parts: Iterable[Formula]) -> Formula:
    """Return the conjunction of `parts`: the part itself where there is only one."""
    found = tuple(parts)
    return found[0] if len(found) == 1 else And(found)
