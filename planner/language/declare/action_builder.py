"""Build the immutable `Action` from its fields as authors write them, each checked at its place.

The fields include costs and uses (numbers, static functions, Python functions) and cases (probabilities for certain
arguments).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, ClassVar, Final

from planner.errors import did_you_mean
from planner.language.declare.action_parameters import Parameters
from planner.language.declare.action_timing import check_timed_fields, read_duration, read_holds
from planner.language.declare.arithmetic_reader import parse_arithmetic
from planner.language.declare.atom_syntax import NotationError, abbreviate, explain_bad_name, is_atom_name, parse_atom
from planner.language.declare.condition_reader import NOTHING, Conditions, read_item
from planner.language.declare.declared_names import NO_NAMES, Scope, Types, Use
from planner.language.declare.fields import (
    Place,
    check_action_tags,
    check_decimal,
    check_distribution,
    check_list,
    check_mapping,
    check_number,
    check_risk,
    check_text,
    check_texts,
    resolution_of,
)
from planner.language.declare.marks import ActionFields, Moment, Outcome, When
from planner.lightweight import dataclass, replace
from planner.model import Moment as ModelMoment
from planner.model import Outcome as ModelOutcome
from planner.model import When as ModelWhen
from planner.model.actions import NO_MOMENT, Action, Case, CostFunction, CostTerm, DataParameter, From
from planner.model.formulas import OPEN, Arithmetic, Atom, Expression, Formula, Object, Variable, conjuncts, unmarked
from planner.model.object_names import is_name
from planner.model.problem import COST
from planner.model.timing import fix_duration

_NUMERIC: Final = re.compile(r"\s*[-+.]?\d[^()]*\Z")
"""Texts that are numbers, or mistakes in numbers; `1()` is a function."""
_ARITHMETIC: Final = re.compile(r"[+*/]|\s-\s|\)\s*-|-\s*\(|^\s*-")
_TRUTHS: Final = frozenset({"yes", "no", "on", "off", "true", "false"})
"""Words that are no names of functions: authors who write them mean something else."""


TIME: Final = frozenset({"duration", "seconds"})
"""Names of the time that a plan takes, in answers."""


@dataclass(frozen=True, slots=True)
class Amounts:
    """Reads the amounts of one action; `scope` has its parameters, and records uses of functions.

    Where `exact`, names without `?` never mean parameters, as in finished models.
    """

    scope: Scope
    resolution: Decimal | None
    exact: bool

    def resources(self, value: Any, place: Place) -> dict[str, tuple[CostTerm, ...]]:
        """Read the amounts of each resource that a step uses."""
        found = {}
        for name, amount in check_mapping(value, "uses", place).items():
            here = place.within(name)
            if not is_name(name):
                raise here.error(*explain_bad_name(name, "a resource"))
            if name == COST:
                raise here.error("'cost' is no resource, but what a step costs", "say it with the field 'cost'")
            if name in TIME:
                hint = "say it with the field 'duration', or name the resource otherwise"
                raise here.error(f"{name!r} is no resource, but how long a step takes", hint)
            found[name] = self.terms(amount, f"the use of {name}", here)
        return found

    def terms(self, value: Any, what: str, place: Place) -> tuple[CostTerm, ...]:
        """Read the terms whose sum is `value`; messages call the amount `what`."""
        if isinstance(value, list | tuple):
            return tuple([self._read_term(item, what, place.within(index)) for index, item in enumerate(value)])
        return (self._read_term(value, what, place),)

    def _read_term(self, value: Any, what: str, place: Place) -> CostTerm:
        match value:
            case CostFunction():
                return value
            case Atom() | Arithmetic():
                return self._resolve_expression(value, place, bare=not self.exact)
            case str() if value.strip().lower() in _TRUTHS:
                raise place.error(f"{what} is a number or a function, not {abbreviate(value)}")
            case str() if not _NUMERIC.match(value) or _ARITHMETIC.search(value.strip()[1:]):
                return self._read_function_term(value, what, place)
        if callable(value):
            return CostFunction(self._adapt_function(value, what, place), self.resolution)
        return check_number(value, what, place, self.resolution)

    def _read_function_term(self, text: str, what: str, place: Place) -> CostTerm:
        if text.lstrip().startswith("(") and not _ARITHMETIC.search(text):
            found, _ = read_item(text, place)
            if isinstance(found, Atom):
                return self.scope.atom(found, place, bare=False)
            raise place.error(f"{what} is a number or a function, not {abbreviate(text)}")
        try:
            return self._resolve_expression(_parse_amount(text), place, bare=not self.exact)
        except NotationError as mistake:
            raise place.error(f"{what} {mistake.problem}", mistake.hint) from None

    def _resolve_expression(self, expression: Any, place: Place, *, bare: bool) -> Expression:
        """Resolve a function or an expression; record the functions where the costs of actions are noted."""
        before = len(self.scope.functions)
        found = self.scope.expression(expression, place, bare=bare)
        if self.scope.uses is not self.scope.functions:
            self.scope.uses.extend(self.scope.functions[before:])
            del self.scope.functions[before:]
        return found

    def _adapt_function(self, function: Callable[..., Any], what: str, place: Place) -> Callable[..., Any]:
        """Adapt `function`, which may name the planning parameters that it needs in any order, to take all of them."""
        try:
            wanted = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):
            return function
        if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in wanted):
            return function
        mine = [name.removeprefix("?") for name in self.scope.variables]
        required = [each.name for each in wanted if each.name in mine or each.default is each.empty]
        for name in required:
            if name not in mine:
                near = did_you_mean(name, mine) or f"its parameters are {', '.join(mine) or 'none'}"
                message = f"the function for {what} takes {name!r}, which is no parameter of {self.scope.owner}"
                raise place.error(message, near)
        if required == mine:
            return function
        positions = [mine.index(name) for name in required]
        return lambda *names: function(**{name: names[at] for name, at in zip(required, positions, strict=True)})


def _parse_amount(text: str) -> Expression:
    """Parse a function or an expression; names of functions may have signs of operators in them."""
    try:
        return parse_atom(text)
    except NotationError:
        if _ARITHMETIC.search(text):
            return parse_arithmetic(text)
        raise


def _all_changes(effect: When | ModelWhen | Outcome | ModelOutcome | Moment | ModelMoment) -> Any:
    """Return all that an effect, an outcome or a moment modifies; finished ones keep numeric effects apart."""
    if isinstance(effect, ModelWhen | ModelOutcome | ModelMoment):
        return (*effect.modifies, *effect.numbers)
    return effect.modifies


def cases_of(value: Any, parameters: Collection[Any], outcomes: Collection[Any], place: Place) -> tuple[Case, ...]:
    """Read the cases of an action with these `parameters` and `outcomes`; raises an error at `place`."""
    items = enumerate(check_list(value, "cases", place))
    return tuple([_read_case(item, len(parameters), len(outcomes), place.within(index)) for index, item in items])


def _read_case(item: Any, parameters: int, outcomes: int, place: Place) -> Case:
    if not isinstance(item, Case):
        message = f"{abbreviate(item)} is no case"
        raise place.error(message, "write Case(arguments, risk), where '_' stands for any object")
    names: Any = item.arguments
    if isinstance(names, str) or not all(isinstance(name, str) for name in names) or len(names) != parameters:
        message = f"the arguments of a case are {parameters} names of objects, or '_' for any, not {abbreviate(names)}"
        raise place.within("arguments").error(message)
    likely = tuple([check_decimal(each, "a probability", place.within("outcomes")) for each in item.outcomes])
    if likely and len(likely) != outcomes:
        message = f"a case has the probabilities of all {outcomes} outcomes, or none, not {len(likely)}"
        raise place.within("outcomes").error(message)
    check_distribution(likely, place.within("outcomes"))
    return Case(tuple(names), check_risk(item.risk, place.within("risk")), likely)


_FIELDS = frozenset(ActionFields.__annotations__)
MOMENT_FIELDS: Final = tuple(Moment.__annotations__)
NO_OBJECTS: Final[Mapping[str, str]] = {}
_USUAL = frozenset({"requires", "provides", "modifies", "cost", "creates", "resolution", "uses"})


@dataclass(frozen=True, slots=True)
class Declared:
    """An action and its place; `after` are patterns that name other actions."""

    action: Action
    place: Place
    after: Sequence[Use]


class ActionBuilder:
    """Builds one action; where `exact`, names without `?` never mean parameters, as in finished models.

    `known` maps texts that other actions with the same parameters have used to formulas.
    """

    def __init__(
        self,
        name: str,
        parameters: Parameters,
        types: Types,
        constants: Mapping[str, Object],
        place: Place,
        *,
        exact: bool,
        known: Mapping[str, Formula],
        functions: Container[str] = NO_NAMES,
    ) -> None:
        if not is_atom_name(name):
            raise place.error(*explain_bad_name(name, "an action"))
        self._name = name
        self._parameters = parameters
        self._types = types
        self._place = place
        self._exact = exact
        self._scope = Scope(
            f"action {name!r}",
            {variable.name: variable.types for variable in parameters.planning},
            constants,
            frozenset([parameter.name for parameter in parameters.data]) if parameters.data else NO_NAMES,
            known_functions=functions,
        )
        self.uses = self._scope.uses
        self._known = known
        self._outside = self._condition_reader(self._scope, known)
        self._inside = self._outside
        self.function_uses = self._scope.functions
        self._after: list[Use] = []

    def build(self, fields: ActionFields, default_resolution: Decimal | None) -> Declared:
        """Build the action that `fields` describe."""
        place = self._place
        if not _FIELDS.issuperset(fields):
            field = next(field for field in fields if field not in _FIELDS)
            raise place.error(f"an action has no field {field!r}", did_you_mean(field, sorted(_FIELDS)))
        creates = self._read_creates(fields.get("creates") or {}) if "creates" in fields else NO_OBJECTS
        if fields.get("duration") is not None:
            self._scope = replace(self._scope, lasts=True)
            self._outside = self._inside = self._condition_reader(self._scope, self._known)
        if creates:
            self._scope = replace(self._scope, created={name: (type_,) for name, type_ in creates.items()})
            self._outside = self._condition_reader(self._scope)
            self._inside = self._condition_reader(self._scope.with_created())
        requires = self._outside.formula(fields.get("requires"), place.within("requires"))
        resolution = resolution_of(fields.get("resolution"), place.within("resolution")) or default_resolution
        modifies, numbers = self._outside.changes(fields.get("modifies"), place.within("modifies"))
        action = Action(
            name=self._name,
            parameters=self._parameters.planning,
            requires=requires,
            provides=self._inside.literals(fields.get("provides"), place.within("provides")),
            modifies=modifies,
            numbers=numbers,
            cost=self._read_cost(fields.get("cost", 1), resolution, place.within("cost")),
            creates=creates,
            data=tuple([self._resolve_source(parameter, requires) for parameter in self._parameters.data]),
            uses=self._amount_reader(resolution).resources(fields["uses"], place.within("uses"))
            if "uses" in fields
            else {},
            **({} if _USUAL.issuperset(fields) else self._read_rare_fields(fields, resolution)),
        )
        if not _USUAL.issuperset(fields):
            check_timed_fields(action, place)
            action = fix_duration(action)
        return Declared(action, place, self._after or ())

    def _read_rare_fields(self, fields: Mapping[str, Any], resolution: Decimal | None) -> dict[str, Any]:
        place = self._place
        found: dict[str, Any] = {
            field: read(self, fields[field], place.within(field)) for field, read in self._READERS if field in fields
        }
        sensed, known = found.pop("senses", ()), self._scope.known_functions
        found["measures"] = tuple([each for each in sensed if each.predicate in known])
        found["senses"] = tuple([each for each in sensed if each.predicate not in known])
        if fields.get("cases"):
            planning, outcomes = self._parameters.planning, found.get("outcomes", ())
            found["cases"] = cases_of(fields["cases"], planning, outcomes, place.within("cases"))
        amounts = self._amount_reader(resolution)
        if fields.get("duration") is not None:
            found["duration"] = read_duration(fields["duration"], amounts, place.within("duration"))
        if fields.get("holds"):
            found["holds"] = read_holds(fields["holds"], amounts, place.within("holds"))
        return found

    def _condition_reader(self, scope: Scope, known: Mapping[str, Formula] = NOTHING) -> Conditions:
        return Conditions(scope, self._types.parents, exact=self._exact, known=known)

    @property
    def fresh(self) -> Mapping[str, Formula]:
        """The texts that this action reads first, where only parameters and constants have names."""
        return self._outside.fresh

    def _read_creates(self, creates: Mapping[str, Any]) -> dict[str, str]:
        found = {}
        for key, value in check_mapping(creates, "creates", self._place.within("creates")).items():
            name, place = key.removeprefix("?"), self._place.within("creates", key)
            if not is_name(name):
                raise place.error(*explain_bad_name(name, "a created object"))
            if f"?{name}" in self._scope.variables or name in self._scope.data:
                raise place.error(f"{self._scope.owner} creates {name!r}, which is one of its parameters")
            types = self._types.resolve(value, place)
            if len(types) != 1:
                raise place.error(f"a created object has one type, not {len(types)}")
            found[f"?{name}"] = types[0]
        return found

    def _read_when(self, value: Any, place: Place) -> tuple[ModelWhen, ...]:
        if value is None:
            return ()
        if isinstance(value, When | ModelWhen):
            return (self._read_one_when(value, place),)
        items = enumerate(check_list(value, "when", place))
        return tuple([self._read_one_when(item, place.within(index)) for index, item in items])

    def _read_one_when(self, when: Any, place: Place) -> ModelWhen:
        if not isinstance(when, When | ModelWhen):
            message = f"{abbreviate(when)} is no conditional effect"
            raise place.error(message, "write When(requires, provides, modifies)")
        variables = self._read_variables(when.variables, place.within("variables"))
        scope = self._scope.inside(variables) if variables else self._scope
        outside, inside = self._condition_reader(scope), self._condition_reader(scope.with_created())
        requires = outside.formula(when.requires, place.within("requires"))
        provides = inside.literals(when.provides, place.within("provides"))
        modifies, numbers = outside.changes(_all_changes(when), place.within("modifies"))
        return ModelWhen(requires, provides, modifies, variables, numbers)

    def _read_variables(self, value: Mapping[str, Any] | Iterable[Variable], place: Place) -> tuple[Variable, ...]:
        if isinstance(value, tuple):
            value = {each.name: each.types for each in value}
        found = self._types.variables(value, "variables", place)
        for variable in found:
            if variable.name in self._scope.variables or variable.name in self._scope.created:
                name = variable.name[1:]
                raise place.within(name).error(f"the variable {name!r} of When hides another of {self._scope.owner}")
        return found

    def _read_cost(self, value: Any, resolution: Decimal | None, place: Place) -> tuple[CostTerm, ...]:
        if type(value) is int and value >= 0 and resolution is None:  # most actions: no need for a reader of amounts
            return (check_number(value, "the cost", place),)
        return self._amount_reader(resolution).terms(value, "the cost", place)

    def _amount_reader(self, resolution: Decimal | None) -> Amounts:
        return Amounts(replace(self._scope, uses=self.function_uses), resolution, self._exact)

    def _read_after(self, value: Any, place: Place) -> tuple[Atom, ...]:
        return self._condition_reader(replace(self._scope, uses=self._after)).patterns(value, place) if value else ()

    def _resolve_source(self, parameter: DataParameter, requires: Formula) -> DataParameter:
        source = (self._parameters.sources or {}).get(parameter.name)
        if source is None:
            return parameter
        place = self._place.within("parameters", parameter.name, "from")
        facts = self._condition_reader(self._scope).patterns(source.fact, place)
        if len(facts) != 1 or facts[0] not in conjuncts(requires):
            wanted = ", ".join(map(str, facts))
            raise place.error(
                f"data parameter {parameter.name!r} comes from {wanted}, which {self._scope.owner} does not require",
                "add it to requires: the step that provides it is where the data come from",
            )
        if not isinstance(source.approved, bool):
            raise place.error(f"approved is True or False, not {abbreviate(source.approved)}")
        return replace(parameter, source=From(facts[0], source.path, source.approved))

    def _read_outcomes(self, value: Any, place: Place) -> tuple[ModelOutcome, ...]:
        if not value:
            return ()
        inside = self._inside
        found = []
        for index, item in enumerate(check_list(value, "outcomes", place)):
            if not isinstance(item, Outcome | ModelOutcome):
                message = f"{abbreviate(item)} is no outcome"
                raise place.within(index).error(message, "write Outcome(probability, provides=…)")
            here = place.within(index)
            probability = check_decimal(item.probability, "the probability of an outcome", here.within("probability"))
            provides = inside.literals(item.provides, here.within("provides"))
            modifies, numbers = inside.changes(_all_changes(item), here.within("modifies"))
            name = check_text(item.name, "an outcome's name", here.within("name"))
            found.append(ModelOutcome(probability, provides, modifies, name, numbers))
        check_distribution([outcome.probability for outcome in found], place)
        return tuple(found)

    def _read_moment(self, value: Any, place: Place) -> ModelMoment:
        """Read what a step requires and changes at its start or its end."""
        if isinstance(value, Mapping):
            unknown = next((key for key in value if key not in MOMENT_FIELDS), None)
            if unknown is not None:
                near = did_you_mean(str(unknown), MOMENT_FIELDS) or f"it has {', '.join(MOMENT_FIELDS)}"
                raise place.error(f"a moment of an action has no {abbreviate(unknown)}", near)
            value = Moment(**{key: each for key, each in value.items() if each is not None})
        if value is None:
            return NO_MOMENT
        if not isinstance(value, Moment | ModelMoment):
            message = f"{abbreviate(value)} says nothing of a moment"
            raise place.error(message, "write {'requires': [...], 'provides': [...], 'modifies': [...], 'when': [...]}")
        modifies, numbers = self._outside.changes(_all_changes(value), place.within("modifies"))
        found = ModelMoment(
            self._outside.formula(value.requires, place.within("requires")),
            self._inside.literals(value.provides, place.within("provides")),
            modifies,
            self._read_when(value.when, place.within("when")),
            numbers,
        )
        return NO_MOMENT if found.is_empty else found

    def _read_lists(self, value: Any, place: Place) -> tuple[Atom, ...]:
        found = self._outside.patterns(value, place)
        for pattern in found:
            if OPEN not in pattern.args:
                message = f"{self._scope.owner} lists {unmarked(pattern)}, which leaves nothing open"
                raise place.error(message, "write _ for the objects that the listing names: 'pending(_)'")
        return found

    def _read_senses(self, value: Any, place: Place) -> tuple[Atom, ...]:
        """Read patterns of facts, and of functions whose values a step tells."""
        before, known = len(self.uses), self._scope.known_functions
        found = self._outside.patterns(value, place)
        uses = self.uses[before:]
        self.uses[before:] = [each for each in uses if each.atom.predicate not in known]
        self.function_uses.extend([each for each in uses if each.atom.predicate in known])
        return found

    _READERS: ClassVar[tuple[tuple[Any, Callable[[Any, Any, Place], Any]], ...]] = (
        ("when", _read_when),
        ("after", _read_after),
        ("throughout", lambda self, value, place: self._outside.formula(value, place)),
        ("at_start", _read_moment),
        ("at_end", _read_moment),
        ("risk", lambda _, value, place: check_risk(value, place)),
        ("outcomes", _read_outcomes),
        ("senses", _read_senses),
        ("lists", _read_lists),
        ("tags", lambda _, value, place: check_action_tags(value, place)),
        ("description", lambda _, value, place: check_text(value, "a description", place)),
        ("similes", lambda _, value, place: check_texts(value, "similes", place)),
        ("examples", lambda _, value, place: check_texts(value, "examples", place)),
    )
    """The readers of the fields that few actions have, in order."""
