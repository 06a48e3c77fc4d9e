"""Immutable actions with all that can be declared about them, and trajectory constraints.

A plan of n steps goes through the states 0 (the initial one) to n; step k leads from state k - 1 to state k and happens
between them. A condition *happens* in every state in which it holds, `Done` at every step that it covers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from enum import Enum

from planner.errors import DeclarationError, Location
from planner.lightweight import Any, Final, dataclass, field, replace
from planner.model.formulas import (
    OPEN,
    TRUE,
    Arithmetic,
    Atom,
    Expression,
    Formula,
    Not,
    Number,
    Term,
    Variable,
    exact_number,
    functions_in,
    substitute_expression,
)


@dataclass(frozen=True, slots=True)
class Done:
    """The happening of a step that the pattern `action(args…)` covers; open arguments match everything."""

    action: Atom

    def __str__(self) -> str:
        return f"done {self.action}"


Happening = Formula | Done
"""What a constraint is about: a condition that holds in a state, or a step."""


class ConstraintKind(Enum):
    """How a plan is constrained (Gerevini, Haslum, Long, Saetti and Dimopoulos, 2009: PDDL 3)."""

    ALWAYS = "the condition holds in every state"
    SOMETIME = "it happens at least once"
    AT_MOST = "it happens so many times at most: a condition counts each time that it begins to hold"
    BEFORE = "before the other happens, this has happened"
    NEVER_AFTER = "after the other has happened, this does not happen"


@dataclass(frozen=True, slots=True)
class Constraint:
    """A constraint on `what`, and on `other` where the kind relates two happenings; `times` is for `AT_MOST`.

    BEFORE and NEVER_AFTER are strict: happenings in the same state are neither before nor after each other. With a
    `utility` the constraint is soft, and a plan that keeps it gains so much; without one, a plan must keep it.
    """

    kind: ConstraintKind
    what: Happening
    other: Happening | None = None
    times: int = 1
    utility: Number | None = None

    @property
    def happenings(self) -> tuple[Happening, ...]:
        """The one or two happenings that the constraint is about."""
        return (self.what,) if self.other is None else (self.what, self.other)

    @property
    def conditions(self) -> tuple[Formula, ...]:
        """The conditions among its happenings."""
        return tuple([each for each in self.happenings if not isinstance(each, Done)])

    @property
    def steps(self) -> tuple[Atom, ...]:
        """The patterns of steps among its happenings."""
        return tuple([each.action for each in self.happenings if isinstance(each, Done)])

    def mapped(self, condition: Callable[[Formula], Formula], step: Callable[[Atom], Atom]) -> Constraint:
        """Apply `condition` to each condition and `step` to each pattern of steps."""
        what, *others = [
            Done(step(each.action)) if isinstance(each, Done) else condition(each) for each in self.happenings
        ]
        return replace(self, what=what, other=others[0] if others else None)

    def __str__(self) -> str:
        match self.kind:
            case ConstraintKind.AT_MOST if self.times == 0:
                return f"never {self.what}"
            case ConstraintKind.AT_MOST:
                return f"at most {self.times} times {self.what}"
            case ConstraintKind.BEFORE:
                return f"{self.what} before {self.other}"
            case ConstraintKind.NEVER_AFTER:
                return f"never {self.what} after {self.other}"
        return f"{self.kind.name.lower()} {self.what}"


@dataclass(frozen=True, slots=True)
class Stated:
    """A condition or constraint of a PDDL file: hard, or a preference with the name `preference`.

    It holds for all objects of `variables`; each instance of a preference is a soft goal or constraint of its own.
    """

    wanted: Formula | Constraint
    preference: str = ""
    variables: tuple[Variable, ...] = ()


Literal = Atom | Not
"""An atom, or `Not` around an atom."""

TAGS: Final = frozenset({
    "irreversible", "read_only", "idempotent", "needs_approval", "needs_observed", "trusted", "trusted_names",
    "unconfirmed",
})  # fmt: skip

CHECK: Final = "check"
"""Tag of actions that only check their precondition, and need no handler."""


@dataclass(frozen=True, slots=True)
class CostFunction:
    """A cost that Python computes at grounding: `function(*argument names)` → non-negative number."""

    function: Callable[..., Number | float]
    resolution: Decimal | None = None

    def value(self, arguments: tuple[str, ...]) -> Number:
        """Compute the exact cost for `arguments`; raises `DeclarationError` where the function fails."""
        try:
            result = self.function(*arguments)
        except MemoryError:
            raise
        except Exception as error:
            raise self._error(arguments, f"it raises {type(error).__name__}: {error}") from error
        try:
            number = exact_number(result, self.resolution)
        except ValueError as error:
            raise self._error(arguments, str(error)) from None
        if number < 0:
            raise self._error(arguments, f"it gave {number}, and a cost is never negative")
        return number

    def _error(self, arguments: tuple[str, ...], reason: str) -> DeclarationError:
        code = getattr(self.function, "__code__", None)
        place = Location(code.co_filename, code.co_firstlineno) if code else None
        return DeclarationError(f"this cost function fails for ({', '.join(arguments)}): {reason}", place)


CostTerm = Number | Atom | Arithmetic | CostFunction
"""An expression over static functions, such as `2 * distance(?a, ?b)`, or a Python function."""


CHANGES: Final = ("+=", "-=", "*=", "/=", ":=")
"""The operators of numeric effects."""


@dataclass(frozen=True, slots=True)
class NumericEffect:
    """A change of the value of `fluent` (Fox and Long, 2003: PDDL 2.1).

    `operator` is `+=`, `-=`, `*=` or `/=` for a change by `value`, and `:=` for an assignment. The state before the
    action gives `value`. Increases and decreases of one fluent by one action add up; any two other effects on it
    exclude each other.
    """

    fluent: Atom
    operator: str
    value: Expression

    @property
    def is_additive(self) -> bool:
        """Whether it is an increase or a decrease."""
        return self.operator in ("+=", "-=")

    def substitute(self, binding: Mapping[Term, Term]) -> NumericEffect:
        """Return this effect with its terms replaced where `binding` has them."""
        return NumericEffect(self.fluent.substitute(binding), self.operator, substitute_expression(self.value, binding))

    def __str__(self) -> str:
        return f"{self.fluent} {self.operator} {self.value}"


@dataclass(frozen=True, slots=True)
class When:
    """A conditional effect, for all objects of `variables`; `numbers` are its changes of numeric fluents.

    Moments of declared actions have effects at the end of a step, where `begun` held when the step began.
    """

    requires: Formula = TRUE
    provides: tuple[Literal, ...] = ()
    modifies: tuple[Atom, ...] = ()
    variables: tuple[Variable, ...] = ()
    numbers: tuple[NumericEffect, ...] = ()
    begun: Formula = TRUE

    @property
    def written(self) -> tuple[Atom, ...]:
        """The atoms that it makes true or false, and the items that it modifies."""
        return (*positive_atoms(self.provides), *negated_atoms(self.provides), *self.modifies)

    @property
    def retracted(self) -> tuple[Atom, ...]:
        """The atoms that it makes false, and the patterns of which it makes every match false."""
        return (*negated_atoms(self.provides), *[item for item in self.modifies if has_open_argument(item)])

    @property
    def in_place(self) -> tuple[Atom, ...]:
        """The items that it modifies and whose truth stays as it is."""
        return tuple([item for item in self.modifies if not has_open_argument(item)])


@dataclass(frozen=True, slots=True)
class Moment:
    """What a step that lasts requires, and what it changes, at its start or at its end."""

    requires: Formula = TRUE
    provides: tuple[Literal, ...] = ()
    modifies: tuple[Atom, ...] = ()
    when: tuple[When, ...] = ()
    numbers: tuple[NumericEffect, ...] = ()

    @property
    def effects(self) -> tuple[When, ...]:
        """All effects: the unconditional one, if there is any, then the conditional ones."""
        return _join_effects(self.provides, self.modifies, self.numbers, self.when)

    @property
    def is_empty(self) -> bool:
        """Whether it requires nothing and changes nothing."""
        return self.requires == TRUE and not self.effects


NO_MOMENT: Final = Moment()


def _is_nothing(moment: Moment) -> bool:
    """Return whether `moment` is empty; a copy from another process is not `NO_MOMENT` itself."""
    return moment is NO_MOMENT or moment == NO_MOMENT


DURATION: Final = Atom("?duration")
"""The duration of a step, in the numeric effects of its action."""


@dataclass(frozen=True, slots=True)
class DurationRange:
    """The least and the greatest duration of a step, which the plan chooses; without `high`, it may last for ever."""

    low: Expression = 0
    high: Expression | None = None

    def __str__(self) -> str:
        return f"{self.low}..{'' if self.high is None else self.high}"


Duration = Expression | DurationRange
"""Seconds: a number, an expression that the state at the start of a step gives a value, or a range."""


def functions_of_duration(duration: Duration | None) -> Iterator[Atom]:
    """Yield the functions that `duration` reads."""
    bounds = (duration.low, duration.high) if isinstance(duration, DurationRange) else (duration,)
    for bound in bounds:
        if bound is not None:
            yield from functions_in(bound)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One possible result of an action, with its probability."""

    probability: Decimal
    provides: tuple[Literal, ...] = ()
    modifies: tuple[Atom, ...] = ()
    name: str = ""
    numbers: tuple[NumericEffect, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """Risk and probabilities of the outcomes for steps that `arguments` cover; open arguments match everything.

    `outcomes` are the probabilities of the action's outcomes, in their order; without any, the declared ones hold.
    """

    arguments: tuple[Term, ...]
    risk: Decimal = Decimal(0)
    outcomes: tuple[Decimal, ...] = ()

    def covers(self, arguments: tuple[Term, ...]) -> bool:
        """Return whether the case covers a step with these `arguments`; objects that it creates may follow them."""
        return all(mine in (OPEN, other) for mine, other in zip(self.arguments, arguments, strict=False))


@dataclass(frozen=True, slots=True)
class From:
    """A data parameter's source: the field at `path` of the result of the step that provides `fact`.

    Where it is `approved`, an agent may pass text from there to an irreversible step without asking for approval.
    """

    fact: Atom
    path: str = ""
    approved: bool = False


REQUIRED: Final = "<required>"


@dataclass(frozen=True, slots=True)
class DataParameter:
    """A parameter that search ignores and the executor fills; `annotation` is its Python type, kept opaque."""

    name: str
    annotation: Any = str
    default: Any = REQUIRED
    source: From | None = None
    fixed: bool = False
    description: str = ""

    @property
    def has_default(self) -> bool:
        """Whether it has a default; values of other types, such as arrays, are not compared."""
        return type(self.default) is not str or self.default != REQUIRED


@dataclass(frozen=True, slots=True)
class Action:
    """One action schema; search binds its `parameters`.

    `provides`, `modifies` and `numbers` are the unconditional effects, `when` the conditional and universal ones. A
    step costs the sum of the terms of `cost`; an empty tuple costs 0. `uses` has such terms for each resource; budgets
    limit the sums. `after` are patterns `action(args…)` of actions that must have run before. `senses` are patterns of
    facts whose truth the step reports, `measures` patterns of functions whose values it reports, `lists` patterns whose
    items are all known after it. The first of the `cases` that covers a step gives its risk and the probabilities of
    its outcomes.

    `duration` is in seconds; without one, steps take no time. Where time is planned, `requires` must hold at the start
    of a step, `throughout` between start and end. What a step ends, it ends at the start: by `modifies`, so that no
    other step reads or writes the items until the end, and by `not …` in `provides`, but for facts that `at_start`
    provides. What else `provides` and `when` say comes at the end, and so do `numbers`, by amounts of the start. The
    conditions of `when` are about the start, too.
    `at_start` and `at_end` say anything else. A step holds the capacities in `holds` from its start to its end.

    A step is inapplicable where one of its amounts has no value. Compilations that leave amounts out, or replace them,
    keep those in `needs_values` that decide whether the step is applicable.
    """

    name: str
    parameters: tuple[Variable, ...] = ()
    requires: Formula = TRUE
    provides: tuple[Literal, ...] = ()
    modifies: tuple[Atom, ...] = ()
    when: tuple[When, ...] = ()
    cost: tuple[CostTerm, ...] = (1,)
    after: tuple[Atom, ...] = ()
    creates: Mapping[str, str] = field(default_factory=dict)
    data: tuple[DataParameter, ...] = ()
    duration: Duration | None = None
    risk: Decimal = Decimal(0)
    outcomes: tuple[Outcome, ...] = ()
    tags: frozenset[str] = frozenset()
    description: str = ""
    similes: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    uses: Mapping[str, tuple[CostTerm, ...]] = field(default_factory=dict)
    senses: tuple[Atom, ...] = ()
    measures: tuple[Atom, ...] = ()
    cases: tuple[Case, ...] = ()
    lists: tuple[Atom, ...] = ()
    numbers: tuple[NumericEffect, ...] = ()
    throughout: Formula = TRUE
    at_start: Moment = NO_MOMENT
    at_end: Moment = NO_MOMENT
    holds: Mapping[str, tuple[CostTerm, ...]] = field(default_factory=dict)
    needs_values: tuple[Atom | Arithmetic, ...] = ()

    def declared_arguments(self, arguments: tuple[str, ...]) -> tuple[str, ...]:
        """Return the `arguments` of a step for the parameters, without the objects that it creates."""
        return arguments[: len(self.parameters)]

    def created_arguments(self, arguments: tuple[str, ...]) -> tuple[str, ...]:
        """Return the objects that a step with these `arguments` creates."""
        return arguments[len(self.parameters) :]

    def odds(self, arguments: tuple[Term, ...]) -> tuple[Decimal, tuple[Decimal, ...]]:
        """Return the risk of a step with these `arguments`, and the probabilities of the outcomes."""
        declared = tuple([each.probability for each in self.outcomes])
        for case in self.cases:
            if case.covers(arguments):
                return case.risk, case.outcomes or declared
        return self.risk, declared

    def name_amounts(self) -> Iterator[tuple[str, Atom | Arithmetic]]:
        """Yield each amount that functions of numbers give, after what it is."""
        named: list[tuple[str, object]] = [("cost", term) for term in self.cost]
        named += [(f"use of {name}", term) for name, terms in self.uses.items() for term in terms]
        named += [(f"use of {name}", term) for name, terms in self.holds.items() for term in terms]
        duration = self.duration
        bounds = (duration.low, duration.high) if isinstance(duration, DurationRange) else (duration,)
        named += [("duration", bound) for bound in bounds]
        named += [("amount", term) for term in self.needs_values]
        yield from ((what, term) for what, term in named if isinstance(term, Atom | Arithmetic))

    @property
    def is_uncertain(self) -> bool:
        """Whether its steps have several outcomes, or may fail."""
        return bool(self.risk or self.outcomes or self.cases)

    @property
    def effects(self) -> tuple[When, ...]:
        """All effects: the unconditional one, if there is any, the conditional ones, those of both moments."""
        own = _join_effects(self.provides, self.modifies, self.numbers, self.when)
        if self.at_start is NO_MOMENT and self.at_end is NO_MOMENT:
            return own
        return (*own, *self.at_start.effects, *self.at_end.effects)

    @property
    def has_moments(self) -> bool:
        """Whether it says of time what a sequence of steps cannot show: conditions and effects at moments, a range."""
        return (
            not _is_nothing(self.at_start)
            or not _is_nothing(self.at_end)
            or self.throughout != TRUE
            or isinstance(self.duration, DurationRange)
        )

    @property
    def step_parameters(self) -> tuple[Variable, ...]:
        """The parameters that the arguments of its steps bind: its own, and then the objects that it creates."""
        if not self.creates:
            return self.parameters
        return (*self.parameters, *(Variable(name, (kind,)) for name, kind in self.creates.items()))

    @property
    def signature(self) -> str:
        """`name(parameter, …)`, as people write it."""
        names = ", ".join(parameter.name.removeprefix("?") for parameter in self.parameters)
        return f"{self.name}({names})"


def _join_effects(
    provides: tuple[Literal, ...],
    modifies: tuple[Atom, ...],
    numbers: tuple[NumericEffect, ...],
    when: tuple[When, ...],
) -> tuple[When, ...]:
    if not (provides or modifies or numbers):
        return when
    return (When(TRUE, provides, modifies, numbers=numbers), *when)


def positive_atoms(literals: tuple[Literal, ...]) -> tuple[Atom, ...]:
    """Return the atoms that `literals` make true."""
    return tuple([literal for literal in literals if isinstance(literal, Atom)])


def negated_atoms(literals: tuple[Literal, ...]) -> tuple[Atom, ...]:
    """Return the atoms that `literals` make false."""
    return tuple([x.part for x in literals if isinstance(x, Not) and isinstance(x.part, Atom)])


def has_open_argument(pattern: Atom) -> bool:
    """Return whether `pattern` leaves an argument open."""
    return OPEN in pattern.args
