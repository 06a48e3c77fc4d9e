"""`Domain` collects the declarations that authors write in Python, each with its place in their code."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeVar, Unpack, overload

from planner.errors import InputError
from planner.language.declare.action_parameters import Parameters, read_parameters, read_signature
from planner.language.declare.atom_syntax import abbreviate
from planner.language.declare.condition_reader import Constraints, read_atom
from planner.language.declare.declared_names import name_parameters
from planner.language.declare.fields import (
    Place,
    check_text,
    check_texts,
    find_caller,
    find_caller_names,
    find_definition,
    resolution_of,
)
from planner.language.declare.marks import (
    ActionFields,
    Condition,
    Entity,
    FunctionRef,
    Patterns,
    PredicateRef,
    TypeLike,
)
from planner.language.declare.model_builder import Declarations, make_function, objects_of
from planner.language.declare.problem_builder import Facts, GoalLike, ProblemBuilder
from planner.model import Action, Atom, Axiom, DomainModel, Metric, Number, NumericMetric, Object, Problem, Variable
from planner.model.timing import GoalDeadline, TimedEffect

Function = TypeVar("Function", bound=Callable[..., Any])
Parameterised = Mapping[str, Any] | Iterable[Any]


class Domain:
    """Collects the declarations of a domain, checks each where it is made, and gives the immutable `model`.

    `types` maps names to parents; classes derived from `Entity` need not be listed. Costs and values that are floats
    are rounded to multiples of `resolution`. `was` has names of earlier versions: see `planner.model.Renames`. All
    methods raise `DeclarationError` with the place of the mistake.
    """

    def __init__(
        self,
        name: str,
        *,
        description: str = "",
        types: Mapping[str, str | Iterable[str]] | Iterable[str] = (),
        constants: Mapping[str, Any] | Iterable[Entity | Object] = (),
        resolution: Number | float | str | None = None,
        was: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        place = find_caller()
        self._declarations = Declarations(name, place, description, resolution_of(resolution, place))
        self._entities: dict[str, Entity] = {}
        self._model: DomainModel | None = None
        self._declarations.types.declare(_read_parents(types, place), place)
        self._add_constants(constants, place)
        self._declarations.earlier.read(was or {}, place.within("was"))

    @classmethod
    def of(cls, model: DomainModel) -> Domain:
        """Make a domain with all declarations of `model`, to be extended and bound."""
        place = find_caller()
        domain = cls(model.name, description=model.description, constants=())
        declare_model(domain._declarations, model, place)
        domain._declarations.resolution = model.resolution  # for what comes now: the model's numbers are as they are
        return domain

    @property
    def classes(self) -> Mapping[str, type[Entity]]:
        """The classes derived from `Entity`, by the names of their types."""
        return self._declarations.types.classes

    @property
    def name(self) -> str:
        """The name of the domain."""
        return self._declarations.name

    @property
    def resolution(self) -> Decimal | None:
        """The resolution of costs and values that are floats, unless an action or a problem has its own."""
        return self._declarations.resolution

    @property
    def entities(self) -> dict[str, Entity]:
        """The entities among the constants, by name."""
        return dict(self._entities)

    @property
    def model(self) -> DomainModel:
        """The immutable domain; raises `DeclarationError` where declarations contradict each other."""
        if self._model is None:
            self._model = self._declarations.model()
        return self._model

    def __str__(self) -> str:
        try:
            return str(self.model)
        except InputError as error:
            return f"domain {self._declarations.name}: {error}"

    def type(self, name: str, parent: str | Iterable[str] = "object", *, was: str | Iterable[str] = ()) -> str:
        """Declare a type below `parent` (or several parents), and return its name; it `was` called so before."""
        place = find_caller()
        declarations = self._invalidate_model()
        declarations.types.declare({check_text(name, "a type", place): check_texts(parent, "types", place)}, place)
        declarations.earlier.add_all("types", was, name, place.within("was"))
        return name

    def constant(self, item: Entity | str, type_: TypeLike = "object") -> str:
        """Declare an object that every problem has (an entity, or a name and a type), and return its name."""
        place = find_caller()
        if isinstance(item, Entity):
            self._add_constants([item], place)
            return item.name
        self._invalidate_model().constant(item, type_, place)
        return item

    def predicate(
        self,
        name: str,
        *types: TypeLike,
        stale_with: Patterns = (),
        tags: str | Iterable[str] = (),
        description: str = "",
        functional: bool | str = False,
        **parameters: TypeLike,
    ) -> PredicateRef:
        """Declare a predicate, and return it as a callable value.

        Its parameters are named in the text (`predicate("summarised(d)", Document)`), by keyword
        (`predicate("summarised", d=Document)`), or else after their types; patterns in `stale_with` use these names.
        `functional` says that an item has one value at a time, which is the last argument, or the parameter it names.
        """
        place = find_caller()
        bare, variables = self._read_signature(name, types, parameters, place)
        self._invalidate_model().predicate(
            bare, variables, place, stale_with=stale_with, tags_=tags, description=description, functional=functional
        )
        return PredicateRef(bare, tuple([each.types for each in variables]), self._declarations.types)

    def function(
        self,
        name: str,
        *types: TypeLike,
        low: Number | str | None = None,
        high: Number | str | None = None,
        tolerance: Number | str = 0,
        description: str = "",
        **parameters: TypeLike,
    ) -> FunctionRef:
        """Declare a numeric function, and return it as a callable value, whose terms take part in arithmetic.

        Its parameters are named as those of predicates. Its values stay between `low` and `high`: an action that would
        leave this range is not applicable. An observed value equals the expected one if they differ by at most
        `tolerance`.
        """
        place = find_caller()
        bare, variables = self._read_signature(name, types, parameters, place)
        declared = make_function(bare, variables, (low, high, tolerance), description, place)
        self._invalidate_model().function(declared, place)
        return FunctionRef(bare, tuple([each.types for each in variables]), self._declarations.types)

    @overload
    def action(self, name: Function, /) -> Function: ...

    @overload
    def action(
        self, name: None = None, /, *, named: str = "", **fields: Unpack[ActionFields]
    ) -> Callable[[Function], Function]: ...

    @overload
    def action(self, name: str, /, parameters: Parameterised = (), **fields: Unpack[ActionFields]) -> Action: ...

    def action(self, name: Any = None, /, parameters: Parameterised = (), *, named: str = "", **fields: Any) -> Any:
        """Declare an action: as a decorator, or by name without a function.

        As a decorator it takes the name (unless `named` says otherwise), the parameters and the description from the
        function, and returns the function unchanged. By name, `parameters` maps names to types, and the immutable
        action is returned.
        """
        if isinstance(name, str):
            place = find_caller()
            read = read_parameters(parameters, self._declarations.types, place.within("parameters"))
            return self._declare(name, read, fields, place)
        names = find_caller_names()
        if name is not None:
            return self._declare_function(name, named, fields, names)
        return lambda function: self._declare_function(function, named, fields, names)

    def _declare_function(self, function: Function, named: str, fields: Any, names: Mapping[str, Any]) -> Function:
        place = find_definition(function)
        name = named or getattr(function, "__name__", "")
        if isinstance(function, type) or not callable(function):
            what = f"the class {name}" if isinstance(function, type) else abbreviate(function)
            raise place.error(f"{what} is no function", "decorate a function, or give a name: action('name', …)")
        if not name:
            raise place.error("the function has no name", "say named='…'")
        read = read_signature(function, self._declarations.types, place, names)
        if "description" not in fields and function.__doc__:
            fields = {**fields, "description": inspect.cleandoc(function.__doc__)}
        self._declare(name, read, fields, place)
        self._declarations.handlers[name] = function
        return function

    def _declare(self, name: str, parameters: Parameters, fields: Any, place: Place) -> Action:
        return self._invalidate_model().action(name, parameters, fields, place).action

    def add(self, action: Action) -> Action:
        """Declare a finished action, checked as all others; names without `?` in it are objects."""
        place = find_caller()
        return add_action(self._invalidate_model(), action, place)

    def bind(self, name: str, function: Function) -> Function:
        """Attach the function that carries action `name` out, and return it."""
        place = find_definition(function) if name in self._declarations.actions else find_caller()
        self._invalidate_model().bind(name, function, place)
        return function

    def derive(self, head: str, parameters: Mapping[str, Any], condition: Condition) -> None:
        """Declare that `head` holds wherever `condition` does.

        `parameters` gives the types of the head's arguments, and of further variables: some object must fit those.
        """
        place = find_caller()
        self._invalidate_model().derive(_read_head(head, place), parameters, condition, place)

    def problem(
        self,
        name: str = "",
        *,
        objects: Mapping[str, Any] | Iterable[Entity | Object] = (),
        initial: Facts = (),
        goal: GoalLike = (),
        values: Mapping[str | Atom, Any] | None = None,
        unknown: Patterns = (),
        likely: Mapping[str | Atom, Number | float | str] | None = None,
        constraints: Constraints = (),
        budgets: Mapping[str, Number | str] | None = None,
        deadline: Number | float | str | datetime | None = None,
        timed: Mapping[Any, Any] | Iterable[TimedEffect] | None = None,
        windows: Mapping[str | Atom, Any] | None = None,
        due: Mapping[Any, Any] | Iterable[GoalDeadline] | None = None,
        capacity: Mapping[str, Number | str] | None = None,
        starts_at: str | datetime | None = None,
        objective: str | None = None,
        metric: Metric | NumericMetric | str = Metric.COST,
        resolution: Number | float | str | None = None,
    ) -> Problem:
        """Declare a problem of this domain, whose name it has by default.

        `goal` is a condition, or `{"hard": condition, "soft": {condition: utility}}`. `values` are those of functions;
        `initial` may state them, too: `"fuel(r2) = 40"`. Facts that a pattern of `unknown` covers may be true or false,
        with the probabilities in `likely`; all others not in `initial` are false. `constraints` (`always(…)`,
        `at_most(…)`, …) hold on the way to the goal. `budgets` limit the cost of a plan (`"cost"`) and its use of
        resources, `deadline` its duration. `metric` is "cost", "length", or an expression over functions at the end:
        "minimize fuel-used + 2 * total-cost".

        `timed` says what happens when (`{"9:00": ["open(shop)", "not closed(shop)"]}`), `windows` when facts hold
        (`{"open(shop)": "9:00..17:00"}`), and `due` by when conditions must be reached: `{"served(x)": 600}`, or
        `{"served(x)": {"by": 600, "weight": 2}}` to pay 2 for each second of lateness. `capacity` is how much there is
        of what steps hold. A time is in seconds from the beginning, a time of day ("9:00"; from midnight, or from the
        time of day of `starts_at`), or an absolute time, where `starts_at` says when plans begin. `objective` is
        "makespan", or what is to be least: "4 * makespan + cost".
        """
        place = find_caller()
        declarations = self._declarations
        before = len(declarations.types.parents)
        found, entities = objects_of(objects, declarations.types, place.within("objects"))
        if len(declarations.types.parents) != before:
            self._model = None
        return ProblemBuilder(self.model, found, place).build(
            name or self.name,
            initial,
            goal,
            values=values or {},
            unknown=unknown,
            likely=likely,
            constraints=constraints,
            budgets=budgets,
            deadline=deadline,
            timed=timed,
            windows=windows,
            due=due,
            capacity=capacity,
            starts_at=starts_at,
            objective=objective,
            metric=metric,
            resolution=resolution_of(resolution, place) or declarations.resolution,
            entities={**self._entities, **entities},
        )

    def _invalidate_model(self) -> Declarations:
        self._model = None
        return self._declarations

    def _add_constants(self, constants: Any, place: Place) -> None:
        found, entities = objects_of(constants, self._declarations.types, place.within("constants"))
        self._entities.update(entities)
        for name, each in found.items():
            self._invalidate_model().constant(name, each.types, place.within("constants", name))

    def _read_signature(
        self, head: str, types: tuple[TypeLike, ...], parameters: Mapping[str, TypeLike], place: Place
    ) -> tuple[str, tuple[Variable, ...]]:
        if parameters:
            if types or "(" in head:
                raise place.error(f"{head}: parameters are given by keyword and otherwise too", "use one of the ways")
            return head, self._declarations.variables(parameters, place)
        if "(" not in check_text(head, "a name", place):
            return head, name_parameters([self._declarations.types.resolve(each, place) for each in types])
        atom = _read_head(head, place)
        if len(atom.args) != len(types):
            raise place.error(f"{head} names {len(atom.args)} parameters, but {len(types)} types are given")
        pairs = [(each.removeprefix("?"), type_) for each, type_ in zip(atom.args, types, strict=True)]
        if len(dict(pairs)) < len(pairs):
            raise place.error(f"{head} has two parameters of one name")
        return atom.predicate, self._declarations.variables(dict(pairs), place)


def _read_head(head: str, place: Place) -> Atom:
    return read_atom(check_text(head, "what is declared", place), place, "atom", "name(arg, …)")


def _read_parents(types: Any, place: Place) -> dict[str, tuple[str, ...]]:
    """Read types as a mapping to their parents."""
    if isinstance(types, Mapping):
        return {name: check_texts(each, "types", place) for name, each in types.items()}
    if not isinstance(types, Iterable):
        raise place.error(f"types are a list of names, or a mapping from names to parents, not {abbreviate(types)}")
    names = check_texts(list(types) if not isinstance(types, str) else types, "types", place)
    for name in names:
        if names.count(name) > 1:
            raise place.error(f"type {name!r} is declared twice")
    return dict.fromkeys(names, ("object",))


def declare_model(declarations: Declarations, model: DomainModel, place: Place) -> None:
    """Declare all that `model` holds."""
    declarations.types.declare(dict(model.types), place)
    for constant in model.constants:
        declarations.constant(constant.name, constant.types, place)
    for predicate in model.predicates.values():
        value = predicate.functional
        declarations.predicate(
            predicate.name,
            predicate.parameters,
            place,
            stale_with=predicate.stale_with,
            tags_=predicate.tags,
            description=predicate.description,
            functional=False if value is None else predicate.parameters[value].name.removeprefix("?"),
            exact=True,
        )
    for function in model.functions.values():
        declarations.function(function, place)
    for action in model.actions.values():
        add_action(declarations, action, place)
    for axiom in model.axioms:
        add_axiom(declarations, axiom, place)
    declarations.earlier.read(model.renames.to_dict(), place)
    declarations.handlers.update(model.handlers)  # type: ignore[arg-type]  # opaque in the model


def add_action(declarations: Declarations, action: Action, place: Place) -> Action:
    """Declare a finished action."""
    parameters = read_parameters([*action.parameters, *action.data], declarations.types, place)
    names = [each for each in ActionFields.__annotations__ if each not in ("resolution", "was")]
    fields: Any = {name: getattr(action, name) for name in names}
    fields["modifies"] = (*action.modifies, *action.numbers)
    fields["senses"] = (*action.senses, *action.measures)
    return declarations.action(action.name, parameters, fields, place, exact=True).action


def add_axiom(declarations: Declarations, axiom: Axiom, place: Place) -> None:
    """Declare a finished axiom."""
    declarations.rule(axiom.predicate, axiom.parameters, (), axiom.condition, place, exact=True)
