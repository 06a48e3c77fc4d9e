"""Terms, atoms, formulas, arithmetic and exact numbers.

    Formula = Atom | Equals | Comparison | Not | And | Or | Imply | Forall | Exists
    Expression = Number | Atom | Arithmetic

A *term* is a string. Terms that start with `?` are variables, the term `_` leaves an argument of a pattern open, and
all others name objects or constants. `TRUE` is the empty conjunction and `FALSE` the empty disjunction. In a formula,
an atom is a fact; in an expression, an atom is the value of a function. Costs, utilities and values are ints where
integral and decimals elsewhere, never floats.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation

from planner.lightweight import Any, Final, dataclass

Term = str
OPEN: Final = "_"

Number = int | Decimal


def is_variable(term: Term) -> bool:
    """Return whether `term` is a variable."""
    return term.startswith("?")


@dataclass(frozen=True, slots=True)
class Atom:
    """`predicate(args…)`: a fact when ground, a pattern when arguments are variables or open."""

    predicate: str
    args: tuple[Term, ...] = ()

    @property
    def is_ground(self) -> bool:
        """Whether no argument is a variable or open."""
        return not any(arg == OPEN or arg.startswith("?") for arg in self.args)

    def substitute(self, binding: Mapping[Term, Term]) -> Atom:
        """Return this atom with its terms replaced where `binding` has them."""
        return Atom(self.predicate, tuple([binding.get(arg, arg) for arg in self.args]))

    def matches(self, fact: Atom) -> bool:
        """Return whether this pattern covers the ground `fact`: open arguments cover everything."""
        return (
            self.predicate == fact.predicate
            and len(self.args) == len(fact.args)
            and all(mine in (OPEN, other) for mine, other in zip(self.args, fact.args, strict=True))
        )

    def __str__(self) -> str:
        return f"{self.predicate}({', '.join(self.args)})" if self.args else self.predicate


@dataclass(frozen=True, slots=True)
class Variable:
    """A typed variable; `name` starts with `?`; more than one type means `either`."""

    name: str
    types: tuple[str, ...] = ("object",)

    def __str__(self) -> str:
        return f"{self.name} - {' | '.join(self.types)}"


@dataclass(frozen=True, slots=True)
class Object:
    """A named object of the world, or a constant of a domain."""

    name: str
    types: tuple[str, ...] = ("object",)

    def __str__(self) -> str:
        return self.name


def terms_of(atoms: Iterable[Atom]) -> set[Term]:
    """Return every term that occurs in `atoms`."""
    return {arg for atom in atoms for arg in atom.args}


@dataclass(frozen=True, slots=True)
class Equals:
    """Both terms name the same object."""

    left: Term
    right: Term

    def __str__(self) -> str:
        return f"{self.left} == {self.right}"


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """The `operator` (`+`, `-`, `*` or `/`) applied to `operands`.

    Sums and products have any number of operands, `-` one or two, `/` two. An expression is undefined where one of its
    functions has no value, and where its divisor is 0.
    """

    operator: str
    operands: tuple[Expression, ...]

    @property
    def strength(self) -> int:
        """How strongly the operator binds: 1 for sums and differences, 2 for products and quotients, 3 for negation."""
        return 3 if len(self.operands) == 1 else 1 if self.operator in "+-" else 2

    def __str__(self) -> str:
        first, *others = [self._bracket(place, each) for place, each in enumerate(self.operands)]
        return f" {self.operator} ".join([first, *others]) if others else f"{self.operator}{first}"

    def _bracket(self, place: int, operand: Expression) -> str:
        """Return an operand as text, in brackets where it would be read otherwise without them."""
        if isinstance(operand, Arithmetic):
            needed = self.strength + (place > 0 or operand.operator == self.operator)
            return str(operand) if operand.strength >= needed and operand.strength < 3 else f"({operand})"
        is_negative = not isinstance(operand, Atom) and operand < 0
        return f"({operand})" if is_negative and place > 0 else str(operand)


Expression = Number | Atom | Arithmetic

RELATIONS: Final = {"<": ">=", "<=": ">", "=": "!=", ">=": "<", ">": "<="}
"""The relations of comparisons, and their complements."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """`left` is in `relation` (`<`, `<=`, `=`, `>=` or `>`) to `right`; false where one of them is undefined."""

    left: Expression
    relation: str
    right: Expression

    @property
    def functions(self) -> tuple[Atom, ...]:
        """The function terms on both sides, from left to right."""
        return (*functions_in(self.left), *functions_in(self.right))

    def substitute(self, binding: Mapping[Term, Term]) -> Comparison:
        """Return this comparison with the terms of its functions replaced where `binding` has them."""
        left, right = substitute_expression(self.left, binding), substitute_expression(self.right, binding)
        return Comparison(left, self.relation, right)

    def __str__(self) -> str:
        return f"{self.left} {'==' if self.relation == '=' else self.relation} {self.right}"


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not hold."""

    part: Formula

    def __str__(self) -> str:
        if isinstance(self.part, Equals):
            return f"{self.part.left} != {self.part.right}"
        if isinstance(self.part, Comparison) and self.part.relation == "=":
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


Formula = Atom | Equals | Comparison | Not | And | Or | Imply | Forall | Exists
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


def comparisons_in(formula: Formula) -> Iterator[Comparison]:
    """Yield every comparison of numbers that occurs in `formula`."""
    return (part for part in walk(formula) if isinstance(part, Comparison))


def functions_in(expression: Expression) -> Iterator[Atom]:
    """Yield every function term that occurs in `expression`."""
    stack: list[Expression] = [expression]
    while stack:
        match stack.pop():
            case Atom() as term:
                yield term
            case Arithmetic(_, operands):
                stack.extend(reversed(operands))


def substitute_expression(expression: Expression, binding: Mapping[Term, Term]) -> Expression:
    """Return `expression` with the terms of its functions replaced where `binding` has them."""
    match expression:
        case Atom():
            return expression.substitute(binding)
        case Arithmetic(operator, operands):
            return Arithmetic(operator, tuple([substitute_expression(each, binding) for each in operands]))
        case _:
            return expression


def literals_in(formula: Formula, *, positive: bool = True) -> Iterator[tuple[Atom, bool]]:
    """Yield every atom in `formula` (negated, unless `positive`), and whether an even number of negations is above it.

    The formula is monotone in the literals that this gives.
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
        case Atom() | Comparison():
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
        case Comparison():
            return {arg for term in formula.functions for arg in term.args if is_variable(arg)}
        case Forall(variables, part) | Exists(variables, part):
            return free_variables(part) - {variable.name for variable in variables}
        case _:
            return {name for part in children(formula) for name in free_variables(part)}


def unmarked(part: object) -> str:
    """Return a part of a model as authors write it: parameters without `?`."""
    return str(part).replace("?", "")


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


def join_parts(kind: type[And | Or], parts: Iterable[Formula]) -> Formula:
    """Return the conjunction or disjunction of `parts`, without parts of its own kind: the part itself if it is one."""
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, kind) else (part,))]
    return flat[0] if len(flat) == 1 else kind(tuple(flat))


def push_negations(formula: Formula, *, holds: bool = True) -> Formula:
    """Return `formula`, or its negation unless it `holds`, in negation normal form.

    There, only atoms, equalities and comparisons are negated, and nothing is an implication.
    """
    match formula:
        case Not(part):
            return push_negations(part, holds=not holds)
        case And(parts) | Or(parts):
            joined = And if isinstance(formula, And) is holds else Or
            return join_parts(joined, [push_negations(part, holds=holds) for part in parts])
        case Imply(premise, conclusion):
            return push_negations(Or((Not(premise), conclusion)), holds=holds)
        case Forall(variables, part) | Exists(variables, part):
            quantified = Forall if isinstance(formula, Forall) is holds else Exists
            return quantified(variables, push_negations(part, holds=holds))
        case _:
            return formula if holds else Not(formula)


def negate(formula: Formula) -> Formula:
    """Return the negation of `formula` in negation normal form, see `push_negations`."""
    return push_negations(formula, holds=False)


def with_conjuncts(formula: Formula, *parts: Formula) -> Formula:
    """Return the conjunction of `formula` and `parts`, with the conjuncts of `formula` beside them."""
    return conjunction([*conjuncts(formula), *parts])


LIMIT: Final = 10**18
"""Numbers stay below this, so that sums of costs fit into 64 bits."""
DIGITS: Final = 28
"""Significant digits that decimal arithmetic keeps exactly."""


def exact_number(value: Any, resolution: Decimal | None = None) -> Number:
    """Return `value` exactly: an int where it is integral, else a `Decimal`; a multiple of `resolution` if given.

    A float is taken only with a resolution, since what it stands for is rarely what was meant. Raises `ValueError`
    with the reason for anything that is no finite number, is 10^18 or more, or has more than 28 digits.
    """
    if type(value) is int and resolution is None and -LIMIT < value < LIMIT:
        return value
    if isinstance(value, float) and resolution is None:
        raise ValueError(f"{value!r} is a float, which is not exact: write Decimal('{value!r}'), or give a resolution")
    number = exact_decimal(value)
    if resolution is not None:
        number = (number / resolution).to_integral_value(ROUND_HALF_EVEN) * resolution
    return int(number) if number == number.to_integral_value() else number.normalize()


def exact_resolution(value: Any) -> Decimal:
    """Return a resolution (`0.01`, `"0.01"`, …) as a positive decimal, or raise `ValueError`."""
    resolution = exact_decimal(value)
    if resolution <= 0:
        raise ValueError(f"a resolution is positive, not {value!r}")
    return resolution


def exact_decimal(value: Any) -> Decimal:
    """Return `value` as a decimal; a float as the shortest decimal that it prints as. Raises `ValueError`."""
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        raise ValueError(f"{value!r} is not a number")  # noqa: TRY004 - one kind of error for all bad numbers
    if isinstance(value, int) and abs(value) >= LIMIT:
        raise ValueError("a number of 10^18 or more is out of range")
    try:
        number = Decimal(repr(value) if isinstance(value, float) else value)
    except InvalidOperation:
        raise ValueError(f"{value!r} is not a number") from None
    if not number.is_finite():
        raise ValueError(f"{value} is not a finite number")
    if number and number.adjusted() >= 18:
        raise ValueError("a number of 10^18 or more is out of range")
    if number and (number.adjusted() < -DIGITS or len(number.as_tuple().digits) > DIGITS):
        raise ValueError(f"a number has at most {DIGITS} digits")
    return number
