"""Define observers: functions that look at the world; and read their answers as facts."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from executor.events.fluent_values import FluentValue, is_numeric_fluent, pattern_of, read_number
from executor.observe.discovery import name_misfit
from executor.plans.created_objects import is_object, term_of_value
from executor.tools.containment import quote_value
from executor.tools.json_data import dump_json
from executor.tools.step_policy import Rate
from planner.errors import InputError, did_you_mean
from planner.language.declare.action_parameters import is_context
from planner.language.declare.atom_syntax import NotationError, parse_atom, read_terms
from planner.language.declare.fields import Place, find_definition
from planner.language.declare.marks import Entity
from planner.model import OPEN, Atom, DomainModel, Number
from planner.model.arithmetic import show_number
from planner.model.domain import numeric_fluents

_COMPARABLE: Final = frozenset({str, int, bool, type(None)})


class _CannotSay:
    """The type of `CANNOT_SAY`."""

    def __repr__(self) -> str:
        return "CANNOT_SAY"


CANNOT_SAY: Final = _CannotSay()
"""Returned by an observer that cannot decide; `None` means that there is no value."""


@dataclass(frozen=True, slots=True)
class Seen:
    """An observed value with the `version` of the item: any comparable value that changes with the item."""

    value: Any = True
    version: Any = None


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts of one look, as `{"at(r1, hall)": True, "fuel(r1)": 41.7}`; facts not named stay unknown."""

    facts: Mapping[str | Atom, Any]


@dataclass(frozen=True, slots=True)
class Sighting:
    """Result of one look: truth values of facts; all other facts that match `others_false` are false, if it is set.

    A value counts as seen if it differs by no more than the tolerance of its function in `tolerances`.
    """

    facts: Mapping[Atom, bool] = field(default_factory=dict)
    others_false: Atom | None = None
    version: Any = None
    tolerances: Mapping[str, Number] = field(default_factory=dict)

    def __str__(self) -> str:
        told = [str(fact) if holds else f"not {fact}" for fact, holds in self.facts.items()]
        others = [] if self.others_false is None else [f"no other {self.others_false}"]
        return ", ".join([*told, *others]) or "it cannot say"

    def about(self, fact: Atom) -> bool | None:
        """Return whether `fact` holds; None if this look does not decide it."""
        if fact in self.facts:
            return self.facts[fact]
        if isinstance(fact, FluentValue):
            seen = [each for each in self.facts if isinstance(each, FluentValue) and each.key == fact.key]
            if seen:
                return any(fact.is_near(each, self.tolerances.get(fact.predicate, 0)) for each in seen)
        if self.others_false is None or not self.others_false.matches(fact):
            return None
        return isinstance(fact, FluentValue) and fact.value is None


NOTHING: Final = Sighting()


@dataclass(frozen=True, slots=True, eq=False)
class Observer:
    """Observes the facts that match `pattern`: its arguments are parameters of `function`, constants, or open.

    If a `conclusive` observer does not see an effect `settle_within` seconds after the act (None: not stated), the act
    did not happen. An observer that takes longer than `timeout` seconds cannot decide. A look counts for `max_age`
    seconds in its run, unless a step has acted on its fact since; without it, each look is made anew. All looks of
    `function` share its `rate`.
    """

    name: str
    pattern: Atom
    function: Callable[..., Any]
    parameters: Mapping[str, int]
    conclusive: bool = False
    settle_within: float | None = None
    timeout: float | None = 10.0
    max_age: float | None = None
    rate: Rate | None = None
    arities: Mapping[str, int] = field(default_factory=dict)
    tolerances: Mapping[str, Number] = field(default_factory=dict)
    """Tolerances of the numeric fluents, by name."""
    context_as: str = ""
    """The parameter that takes the context; "" if none does."""

    @classmethod
    def of(cls, function: Callable[..., Any], pattern: str, domain: DomainModel, **options: Any) -> Observer:
        """Make an observer of `function`; raises `DeclarationError` if `function` does not fit `pattern`."""
        place = find_definition(function)
        atom = _parse_pattern(pattern, domain, place)
        taken = inspect.signature(function).parameters
        own = next((name for name, each in taken.items() if is_context(each)), "context" if "context" in taken else "")
        wanted = {name: each for name, each in taken.items() if name != own}
        terms = [arg.removeprefix("?") for arg in atom.args]
        for name, each in wanted.items():
            if name not in terms and each.default is each.empty and each.kind is not each.VAR_KEYWORD:
                near = did_you_mean(name, terms) or f"the pattern is {pattern}"
                raise place.error(f"the observer takes {name!r}, which its pattern does not have", near)
        constants = {each.name for each in domain.constants}
        parameters = {term: at for at, term in enumerate(terms) if term in wanted}
        for at, term in enumerate(terms):
            if term != OPEN and term not in parameters and (term not in constants or atom.args[at][0] == "?"):
                raise place.error(
                    f"{term!r} in {pattern} is neither a parameter of the observer nor a constant",
                    "an argument that the observer finds out is written _",
                )
        rate = options.get("rate")
        for each in () if rate is None else rate.by:
            if each not in parameters:
                near = did_you_mean(each, parameters) or f"the pattern is {pattern}"
                raise place.error(f"the observer has no parameter {each!r} to rate by", near)
        name = getattr(function, "__name__", pattern)
        plain = replace(atom, args=tuple(terms))
        arities = {predicate.name: len(predicate.parameters) for predicate in domain.predicates.values()}
        fluents = [domain.functions[each] for each in sorted(numeric_fluents(domain)) if each in domain.functions]
        arities |= {each.name: len(each.parameters) for each in fluents}
        tolerances = {each.name: each.tolerance for each in fluents}
        return cls(name, plain, function, parameters, arities=arities, tolerances=tolerances, context_as=own, **options)

    @property
    def settles_doubt(self) -> bool:
        """Whether an irreversible step did not happen whose effects this observer does not see in time."""
        return self.conclusive and self.settle_within is not None

    @property
    def open(self) -> tuple[int, ...]:
        """Positions of the open arguments, which a look determines."""
        return tuple([at for at, arg in enumerate(self.pattern.args) if arg == OPEN])

    def look_for(self, fact: Atom) -> Atom | None:
        """Return the pattern of the look that decides `fact`; None if this observer cannot decide it."""
        if fact.predicate != self.pattern.predicate or type(fact) is not type(self.pattern):
            return None
        bound = set(self.parameters.values())
        args = []
        for at, (mine, other) in enumerate(zip(self.pattern.args, fact.args, strict=True)):
            if mine != OPEN and at not in bound and OPEN not in (mine, other) and mine != other:
                return None
            args.append(OPEN if mine == OPEN else other)
        return replace(fact, args=tuple(args))

    def look_over(self, pattern: Atom) -> Atom | None:
        """Return the pattern of a look that decides all facts that match `pattern`; None if there is none."""
        look = self.look_for(pattern)
        is_found_out = look is not None and {at for at, arg in enumerate(look.args) if arg == OPEN} <= set(self.open)
        return look if is_found_out else None

    def bind(self, look: Atom) -> tuple[tuple[str, str], ...]:
        """Return the object names for each parameter of the function in `look`."""
        return tuple([(name, look.args[at]) for name, at in self.parameters.items()])

    def read(
        self,
        look: Atom,
        answer: Any,
        plan_name: Callable[[str], str] = str,
        domain: DomainModel | None = None,
    ) -> Sighting:
        """Convert `answer` to truth values of the facts of `look`; raises `InputError` for an invalid answer.

        `look` has the plan's names of objects, and `plan_name` returns those of the real names in the answer. Where the
        answer has an entity of a class that `domain` does not have in its place, only the facts about such are in it.
        """
        version = None
        if isinstance(answer, Seen):
            answer, version = answer.value, as_comparable_version(answer.version)
        if answer is CANNOT_SAY:
            return NOTHING
        if isinstance(answer, Facts):
            said = dict([self._read_statement(fact, value) for fact, value in answer.facts.items()])
            renamed = {
                fact.substitute({name: plan_name(name) for name in fact.args}): holds for fact, holds in said.items()
            }
            return Sighting(renamed, None, version, self.tolerances)
        if OPEN not in look.args:
            if not isinstance(answer, bool):
                hint = "True, False or CANNOT_SAY; an argument that it finds out is written _ in the pattern"
                raise InputError(f"the observer {self.name} of {look} returned {quote_value(answer)}", hint=hint)
            return Sighting({look: answer}, None, version)
        if isinstance(look, FluentValue):
            return self._read_values(look, answer, version, plan_name)
        answered = self._read_rows(answer)
        misfits = [row for row in (self._name_misfits(each, domain) for each in answered) if row]
        if misfits:
            return Sighting({self._fill_pattern(look, row): True for row in misfits}, None, version)
        rows = [tuple([plan_name(term_of_value(value)) for value in row]) for row in answered]
        return Sighting({self._fill_pattern(look, row): True for row in rows}, look, version)

    def _read_values(self, look: FluentValue, answer: Any, version: Any, plan_name: Callable[[str], str]) -> Sighting:
        """Convert the `answer` of an observer of a numeric fluent: a number, or one for each of its open arguments."""
        if isinstance(answer, Mapping):
            answer = [(*(name if isinstance(name, tuple) else (name,)), value) for name, value in answer.items()]
        rows = self._read_rows(answer)
        if len(rows) > 1 and len(self.open) == 1:
            raise InputError(f"the observer {self.name} of {look.fluent} returned {len(rows)} numbers, not one")
        found = {}
        for *names, value in rows:
            named = [plan_name(term_of_value(each)) for each in names]
            found[self._fill_pattern(look, (*named, self._read_number(look.fluent, value)))] = True
        return Sighting(found, look, version, self.tolerances)

    def _read_number(self, fluent: Atom, value: Any) -> str:
        """Return the text of a number; raises `InputError` for anything else."""
        number = read_number(value)
        if number is None:
            hint = "return an int, a Decimal or a finite float; None where it has no value"
            raise InputError(f"the observer {self.name} says that {fluent} is {quote_value(value)}", hint=hint)
        return show_number(number)

    def _read_statement(self, fact: str | Atom, value: Any) -> tuple[Atom, bool]:
        """Parse a fact in `Facts`, with its truth value or number; raises `InputError` where these are invalid."""
        found = _parse_fact(fact)
        if self.arities.get(found.predicate) != len(found.args):
            raise InputError(f"the observer {self.name} speaks of {found}, which is no fact of the domain")
        if found.predicate in self.tolerances:
            return FluentValue(found.predicate, (*found.args, self._read_number(found, value))), True
        if not isinstance(value, bool):
            raise InputError(
                f"the observer {self.name} says of {found} that it is {quote_value(value)}", hint="say True or False"
            )
        return found, value

    def _read_rows(self, answer: Any) -> list[tuple[Any, ...]]:
        """Read the values of the open arguments, one row for each fact."""
        size = len(self.open)
        if answer is None:
            return []
        if isinstance(answer, bool):
            raise InputError(
                f"the observer {self.name} returned {quote_value(answer)}", hint="it finds out values: None is none"
            )
        if isinstance(answer, Mapping | bytes | bytearray):  # their items are no values of the pattern
            hint = "return a list of the values for which it holds, or Facts({…}) of facts that hold or not"
            raise InputError(f"the observer {self.name} returned {quote_value(answer)}", hint=hint)
        if isinstance(answer, str | Entity) or (isinstance(answer, tuple) and size > 1):
            answer = [answer]
        if not isinstance(answer, Iterable):
            answer = [answer]
        rows = [each if size > 1 and isinstance(each, tuple) else (each,) for each in answer]
        for row in rows:
            if not all(map(is_object, row)):
                raise InputError(f"the observer {self.name} returned {quote_value(answer)}", hint="values are objects")
            if len(row) != size:
                problem = f"returned {quote_value(row)}, but {self.pattern} has {size} open arguments"
                raise InputError(f"the observer {self.name} {problem}")
        return rows

    def _name_misfits(self, row: tuple[Any, ...], domain: DomainModel | None) -> tuple[str, ...]:
        """Return the terms of a row with an entity of a class that its place does not have; nothing for other rows."""
        if domain is None or not any(isinstance(value, Entity) for value in row):
            return ()
        places = domain.predicates[self.pattern.predicate].parameters
        pairs = zip(row, self.open, strict=True)
        misfits = [name_misfit(value, places[at].types, domain) for value, at in pairs]
        named = [misfit or term_of_value(value) for misfit, value in zip(misfits, row, strict=True)]
        return tuple(named) if any(misfits) else ()

    def _fill_pattern(self, look: Atom, row: tuple[str, ...]) -> Atom:
        values = iter(row)
        return replace(look, args=tuple([next(values) if arg == OPEN else arg for arg in look.args]))


def as_comparable_version(version: Any) -> Any:
    """Return `version` in a form that equals itself after it was kept in a journal."""
    return version if type(version) in _COMPARABLE else dump_json({"version": version})


def _parse_pattern(pattern: str, domain: DomainModel, place: Place) -> Atom:
    try:
        atom = parse_atom(pattern)
    except NotationError as mistake:
        raise place.error(mistake.problem, mistake.hint) from None
    is_number = is_numeric_fluent(atom.predicate, domain)
    declared = domain.functions[atom.predicate] if is_number else domain.predicates.get(atom.predicate)
    if declared is None:
        if atom.predicate in domain.functions:
            hint = "no action changes it: its values are stated once, in the problem"
            raise place.error(f"{atom.predicate!r} is a static function, which nobody observes", hint)
        near = did_you_mean(atom.predicate, [*domain.predicates, *numeric_fluents(domain)])
        raise place.error(f"there is no predicate {atom.predicate!r} in domain {domain.name!r}", near)
    if len(declared.parameters) != len(atom.args):
        raise place.error(
            f"{pattern} has {len(atom.args)} arguments, but {declared.name} has {len(declared.parameters)}"
        )
    return pattern_of(atom) if is_number else atom


def _parse_fact(fact: str | Atom) -> Atom:
    if isinstance(fact, Atom):
        return read_terms(fact)
    try:
        return parse_atom(fact)
    except NotationError as mistake:
        raise InputError(
            f"an observer named the fact {quote_value(fact)}: {mistake.problem}", hint=mistake.hint
        ) from None
