"""Collect the declarations of one domain, each with its place, and build the model from them.

Some checks need the whole domain: derived predicates that actions write, cycles of `stale_with`, and stratification.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final

from planner.errors import did_you_mean
from planner.garbage_collection import Keeper
from planner.language.declare.action_builder import ActionBuilder, Declared
from planner.language.declare.action_parameters import Parameters, check_handler
from planner.language.declare.arithmetic_reader import is_function_name
from planner.language.declare.atom_syntax import abbreviate, explain_bad_name, is_atom_name
from planner.language.declare.condition_reader import Conditions
from planner.language.declare.declared_names import Scope, Signatures, Types, Use, check_similes, name_parameters
from planner.language.declare.earlier_names import EarlierNames
from planner.language.declare.fields import Place, check_tags, check_text, check_value, name_types
from planner.language.declare.known_numbers import add_known_facts
from planner.language.declare.marks import ActionFields, Entity, Patterns, TypeLike
from planner.lightweight import replace
from planner.model.actions import Action, CostFunction, Outcome, When, functions_of_duration
from planner.model.domain import Axiom, DomainModel, Function, Predicate, lists_patterns, numeric_fluents
from planner.model.formulas import (
    OPEN,
    Atom,
    Exists,
    Formula,
    Not,
    Object,
    Variable,
    free_variables,
    functions_in,
    literals_in,
    unmarked,
)
from planner.model.object_names import is_name, qualified_term, read_term, term_of


def check_derived(
    derived: Mapping[str, Place],
    actions: Iterable[Action],
    predicates: Mapping[str, Predicate],
    places: tuple[Mapping[str, Place], Mapping[str, Place]],
) -> None:
    """Raise an error where an action writes or senses a derived predicate, or `stale_with` mentions one."""
    if not derived:
        return
    action_places, predicate_places = places
    for action in actions:
        written = [("writes", atom, "write what it is derived from") for atom in written_atoms(action)]
        sensed_hint = "say what it is derived from: that is what may be unknown"
        for verb, atom, hint in [*written, *[("senses", atom, sensed_hint) for atom in action.senses]]:
            if atom.predicate in derived:
                where = f"{atom.predicate!r} is derived, at {derived[atom.predicate].location}"
                message = f"action {action.name!r} {verb} {unmarked(atom)}, but {where}"
                raise action_places[action.name].error(message, hint)
    for predicate in predicates.values():
        for name in (predicate.name, *[pattern.predicate for pattern in predicate.stale_with]):
            if predicate.stale_with and name in derived:
                where = f"{name!r} is derived, at {derived[name].location}"
                message = f"{predicate.name!r} is stale with {unmarked(predicate.stale_with[0])}, but {where}"
                raise predicate_places[predicate.name].error(message, "what is derived is neither written nor stale")


def written_atoms(action: Action) -> Iterator[Atom]:
    """Yield every atom and pattern that `action` may write."""
    effects: list[When | Outcome] = [*action.effects, *action.outcomes]
    for effect in effects:
        yield from effect.modifies
        for literal in effect.provides:
            part = literal.part if isinstance(literal, Not) else literal
            if isinstance(part, Atom):
                yield part


def check_stale_cycles(predicates: Mapping[str, Predicate], places: Mapping[str, Place]) -> None:
    """Raise an error where `stale_with` has a cycle."""
    edges = {
        name: [pattern.predicate for pattern in predicate.stale_with]
        for name, predicate in predicates.items()
        if predicate.stale_with
    }
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        names = error.args[1][:0:-1]
        first = min(range(len(names)), key=lambda at: list(edges).index(names[at]))
        cycle = [*names[first:], *names[: first + 1]]
        raise places[cycle[0]].error(f"stale_with runs in a circle: {' → '.join(cycle)}") from None


def check_stratified(axioms: Sequence[Axiom], places: Mapping[str, Place]) -> None:
    """Raise an error where a derived predicate depends on its own negation."""
    derived = {axiom.predicate for axiom in axioms}
    edges: dict[str, list[str]] = {}
    negative: set[tuple[str, str]] = set()
    for axiom in axioms:
        for atom, positive in literals_in(axiom.condition):
            if atom.predicate in derived:
                edges.setdefault(axiom.predicate, []).append(atom.predicate)
                if not positive:
                    negative.add((axiom.predicate, atom.predicate))
    if not negative:
        return
    import networkx as nx

    for inside in nx.strongly_connected_components(nx.DiGraph(edges)):
        for head, body in sorted(negative):
            if head in inside and body in inside:
                message = f"derived predicate {head!r} rests on its own negation, through {body!r}"
                raise places[head].error(message, "a definition may use 'not' only on what is defined without it")


def check_after(uses: Iterable[Use], actions: Mapping[str, Action], types: Types) -> None:
    """Raise an error where a pattern of `after` matches no declared action."""
    for use in uses:
        action = actions.get(use.atom.predicate)
        if action is None:
            near = did_you_mean(use.atom.predicate, actions)
            raise use.place.error(f"after names the unknown action {use.atom.predicate!r}", near)
        if not use.atom.args:
            continue
        said = f"after says {unmarked(use.atom)}"
        if len(use.atom.args) != len(action.parameters):
            raise use.place.error(f"{said}, but the action is {action.signature}", "'_' leaves one open")
        for given, parameter in zip(use.types, action.parameters, strict=True):
            if given is not None and not types.overlap(given, parameter.types):
                name = parameter.name.removeprefix("?")
                wanted = name_types(parameter.types)
                raise use.place.error(f"{said}, but parameter {name!r} of {action.signature} is {wanted}")


def open_all_arguments(pattern: Atom, actions: Mapping[str, Action]) -> Atom:
    """Complete a pattern of steps: the name of an action alone leaves all its arguments open."""
    return pattern if pattern.args else Atom(pattern.predicate, (OPEN,) * len(actions[pattern.predicate].parameters))


def _find_value(functional: bool | str, parameters: tuple[Variable, ...], place: Place) -> int | None:
    """Return the number of the parameter that is the value of an item, from 0; None where the predicate has none."""
    if functional is False:
        return None
    if not parameters:
        raise place.error("a functional predicate needs an argument for its value")
    if functional is True:
        return len(parameters) - 1
    names = [each.name.removeprefix("?") for each in parameters]
    if not isinstance(functional, str) or functional not in names:
        hint = f"write true for the last argument, or one of {', '.join(names)}"
        raise place.error(f"functional is {abbreviate(functional)}, which is no parameter of the predicate", hint)
    return names.index(functional)


PREDICATE_TAGS = frozenset({"trusted"})
ACTIONS_PER_COLLECTION: Final = 32
"""Actions between two calls of the keeper; after about twice as many, the garbage collector would scan them."""


class Declarations:
    """Collects declarations; `model()` makes the checks that need all of them, and builds the immutable domain."""

    def __init__(self, name: str, place: Place, description: str = "", resolution: Decimal | None = None) -> None:
        if not is_name(name):
            raise place.error(*explain_bad_name(name, "a domain"))
        self.name = name
        self.description = description
        self.resolution = resolution
        self.types = Types()
        self.constants: dict[str, Object] = {}
        self.predicates = Signatures("predicate", Predicate)
        self.functions = Signatures("function", Function)
        self.actions: dict[str, Declared] = {}
        self.handlers: dict[str, Callable[..., Any]] = {}
        self._models: dict[str, Action] = {}
        self._later: list[str] = []
        """Actions that have `after`."""
        self._named: list[str] = []
        """Actions that have similes."""
        self._keeper: Keeper | None = None
        self._declared: dict[str, Predicate] = {}
        self._functions: dict[str, Function] = {}
        self._predicate_places: dict[str, Place] = {}
        self._axioms: list[Axiom] = []
        self._axiom_places: dict[str, Place] = {}
        self._constant_places: dict[str, Place] = {}
        self.earlier = EarlierNames()
        self._readings: dict[tuple[Variable, ...], dict[str, Formula]] = {}
        """Formulas of texts, by the parameters of the actions that use them."""

    def constant(self, name: str, type_: TypeLike, place: Place) -> None:
        """Add an object that every problem has."""
        name = _read_name(name, place)
        found = Object(name, self.types.resolve(type_, place))
        if name in self.constants and self.constants[name] != found:
            known, where = " | ".join(self.constants[name].types), self._constant_places[name].location
            given = " | ".join(found.types)
            raise place.error(f"constant {name!r} of type {given} is already declared as {known} at {where}")
        self.constants[name] = found
        self._readings.clear()
        self._constant_places.setdefault(name, place)

    def predicate(
        self,
        name: str,
        parameters: tuple[Variable, ...],
        place: Place,
        *,
        stale_with: Patterns = (),
        tags_: str | Iterable[str] = (),
        description: str = "",
        functional: bool | str = False,
        exact: bool = False,
    ) -> None:
        """Add a predicate; `stale_with` may name its parameters, and `functional` that of the value (else the last)."""
        if not is_atom_name(name):
            raise place.error(*explain_bad_name(name, "a predicate"))
        _check_distinct(parameters, f"predicate {name!r}", place)
        scope = Scope(f"predicate {name!r}", {each.name: each.types for each in parameters}, self.constants)
        conditions = Conditions(scope, self.types.parents, exact=exact)
        patterns = conditions.patterns(stale_with, place.within("stale_with"))
        marks = check_tags(tags_, PREDICATE_TAGS, "a predicate", place.within("tags"))
        value = _find_value(functional, parameters, place.within("functional"))
        found = Predicate(name, parameters, patterns, marks, description, value)
        self.predicates.check_arities(scope.uses)
        self.predicates.declare(name, parameters, place)
        self.predicates.note(scope.uses)
        self._declared[name] = found
        self._predicate_places[name] = place

    def function(self, function: Function, place: Place) -> None:
        """Add a numeric function."""
        name, parameters = function.name, function.parameters
        if not is_atom_name(name):
            raise place.error(*explain_bad_name(name, "a function"))
        if not is_function_name(name):
            hint = "begin with a letter: expressions could not tell this name from a number or an operator"
            raise place.error(f"{abbreviate(name)} cannot name a function", hint)
        _check_distinct(parameters, f"function {name!r}", place)
        self.functions.declare(name, parameters, place)
        low, high = function.low, function.high
        if function.tolerance < 0:
            raise place.error(f"the tolerance of {name!r} is {function.tolerance}, but may not be negative")
        if low is not None and high is not None and low > high:
            raise place.error(f"function {name!r} is at least {low} and at most {high}, which no value is")
        self._functions[name] = function

    def action(
        self, name: str, parameters: Parameters, fields: ActionFields, place: Place, *, exact: bool = False
    ) -> Declared:
        """Add an action; one with a mistake leaves nothing behind."""
        if name in self.actions:
            raise place.error(f"action {name!r} is already declared at {self.actions[name].place.location}")
        known = {} if exact else self._readings.setdefault(parameters.planning, {})
        builder = ActionBuilder(
            name, parameters, self.types, self.constants, place, exact=exact, known=known, functions=self.functions
        )
        declared = builder.build(fields, self.resolution)
        if builder.uses or builder.function_uses:
            self.predicates.check_arities(builder.uses)
            self.functions.check_arities(builder.function_uses)
            self.predicates.note(builder.uses)
            self.functions.note(builder.function_uses)
            known.update(builder.fresh)
        self._keep_action(declared)
        self.earlier.add_all("actions", fields.get("was"), name, place.within("was"))
        return declared

    def _keep_action(self, declared: Declared) -> None:
        action = declared.action
        self.actions[action.name] = declared
        self._models[action.name] = action
        if action.after:
            self._later.append(action.name)
        if action.similes:
            self._named.append(action.name)
        if len(self.actions) % ACTIONS_PER_COLLECTION == 0:
            self._keeper = self._keeper or Keeper()
            self._keeper.keep()

    def derive(self, head: Atom, parameters: Mapping[str, TypeLike], condition: Any, place: Place) -> None:
        """Add an axiom: `head` holds where `condition` does, for some objects of the `parameters` not in `head`."""
        variables = self.variables(parameters, place.within("parameters"))
        known = {each.name: each for each in variables}
        arguments = [f"?{each.removeprefix('?')}" for each in head.args]
        for argument in arguments:
            if argument not in known:
                near = did_you_mean(argument[1:], [name[1:] for name in known])
                message = f"argument {argument[1:]!r} of {head} is not among the parameters"
                raise place.within("head").error(message, near)
        if len(set(arguments)) < len(arguments):
            raise place.within("head").error(f"{head} has an argument twice", "write '==' in the condition instead")
        hidden = tuple([each for each in variables if each.name not in arguments])
        self.rule(head.predicate, tuple([known[each] for each in arguments]), hidden, condition, place)

    def rule(
        self,
        name: str,
        parameters: tuple[Variable, ...],
        hidden: tuple[Variable, ...],
        condition: Any,
        place: Place,
        *,
        exact: bool = False,
    ) -> None:
        """Add an axiom: `name(parameters…)` holds where `condition` does for some objects of the `hidden` variables."""
        owner = f"derived predicate {name!r}"
        _check_distinct((*parameters, *hidden), owner, place)
        variables = {each.name: each.types for each in (*parameters, *hidden)}
        scope = Scope(owner, variables, self.constants, known_functions=self.functions)
        formula = Conditions(scope, self.types.parents, exact=exact).formula(condition, place.within("condition"))
        unused = {each.name for each in hidden} - free_variables(formula)
        if unused:
            message = f"parameter {min(unused)[1:]!r} occurs neither in the head nor in the condition of {owner}"
            raise place.error(message)
        axiom = Axiom(name, parameters, Exists(hidden, formula) if hidden else formula)
        scope.atom(axiom.head, place, bare=False)
        self.predicates.check_arities(scope.uses)
        self.functions.check_arities(scope.functions)
        self.predicates.note(scope.uses)
        self.functions.note(scope.functions)
        self._axioms.append(axiom)
        self._axiom_places.setdefault(axiom.predicate, place)

    def bind(self, name: str, handler: Callable[..., Any], place: Place) -> None:
        """Attach the function that carries action `name` out; its parameters must be those of the action."""
        if name not in self.actions:
            raise place.error(f"there is no action {name!r} to bind a function to", did_you_mean(name, self.actions))
        check_handler(self.actions[name].action, handler, self.types, place)
        self.handlers[name] = handler

    def model(self) -> DomainModel:
        """Build the domain; raises the error of the first declaration that contradicts another."""
        actions = dict(self._models)
        check_after([use for name in self._later for use in self.actions[name].after], actions, self.types)
        places = (
            {name: declared.place for name, declared in self.actions.items()} if self._named or self._axioms else {}
        )
        if self._named:
            check_similes(actions.values(), places)
        predicates = {**self._declared, **self.predicates.inferred(self.types)}
        functions = {**self._functions, **self.functions.inferred(self.types)}
        self._check_kinds(predicates.keys() & functions.keys())
        check_stale_cycles(self._declared, self._predicate_places)
        check_derived(self._axiom_places, actions.values(), predicates, (places, self._predicate_places))
        check_stratified(self._axioms, self._axiom_places)
        for name in self._later:
            each = actions[name]
            actions[name] = replace(each, after=tuple([open_all_arguments(pattern, actions) for pattern in each.after]))
        found = DomainModel(
            name=self.name,
            types=dict(self.types.parents),
            constants=tuple(self.constants.values()),
            predicates=predicates,
            functions=functions,
            actions=actions,
            axioms=tuple(self._axioms),
            description=self.description,
            handlers=dict(self.handlers),
            resolution=self.resolution,
            renames=self.earlier.make(self.types, actions),
        )
        if functions:
            self._check_costs(found)
        if self._functions:
            self._check_durations(numeric_fluents(found))
        if lists_patterns(found):
            from planner.language.declare.local_closed_world import add_listed_facts

            found = add_listed_facts(found)
        return add_known_facts(found)

    def _check_kinds(self, names: Iterable[str]) -> None:
        """Raise an error for the first of `names`, which are used for both a predicate and a function."""
        for name in sorted(names):
            kinds: list[Signatures[Any]] = [self.functions, self.predicates]
            known, wrong = reversed(kinds) if name in self._declared and name not in self._functions else kinds
            message = f"{name!r} is a {wrong.kind} here, but a {known.kind} at {known.place_of(name).location}"
            hint = "a function has a value, as in 'fuel(r) > 0', and a predicate holds or not; rename one of them"
            if any(each.predicate == name for action in self._models.values() for each in action.senses):
                hint = f"declare the function {name!r} before the action that senses it"
            raise wrong.place_of(name).error(message, hint)

    def _check_costs(self, domain: DomainModel) -> None:
        """Raise an error where the cost of an action, or its use of a resource, reads what an action changes."""
        changing = numeric_fluents(domain)
        for name, action in self._models.items() if changing else ():
            for what, terms in (
                ("the cost", action.cost),
                *[(f"the use of {k}", each) for k, each in action.uses.items()],
            ):
                read = [each for term in terms if not isinstance(term, CostFunction) for each in functions_in(term)]
                wrong = next((each for each in read if each.predicate in changing), None)
                if wrong is not None:
                    message = f"{what} of action {name!r} reads {unmarked(wrong)}, which an action changes"
                    hint = f"write modifies='spent += {unmarked(wrong)}', and metric='minimize spent' in the problem"
                    raise self.actions[name].place.error(message, hint)

    def _check_durations(self, changing: Container[str]) -> None:
        """Raise an error where a duration has a function that the domain does not declare beside others."""
        for name, action in self._models.items():
            for term in functions_of_duration(action.duration):
                if term.predicate not in self._functions and term.predicate not in changing:
                    hint = did_you_mean(term.predicate, self._functions) or "declare it among the functions"
                    message = f"the duration of action {name!r} is {unmarked(term)}, of which there is no function"
                    raise self.actions[name].place.within("duration").error(message, hint)

    def variables(self, value: Mapping[str, TypeLike] | Iterable[TypeLike], place: Place) -> tuple[Variable, ...]:
        """Read parameters from a mapping (name → type) or a list of types."""
        if not isinstance(value, list):
            return self.types.variables(value, "parameters", place)
        return name_parameters([self.types.resolve(each, place.within(at)) for at, each in enumerate(value)])


def make_function(
    name: str, parameters: tuple[Variable, ...], limits: tuple[Any, Any, Any], description: Any, place: Place
) -> Function:
    """Return the function with these `limits`: bounds and tolerance, checked; raises an error at `place`."""
    low, high, tolerance = limits
    bounds = [
        None if bound is None else check_value(bound, f"the bound of {name}", place.within(field))
        for field, bound in (("low", low), ("high", high))
    ]
    slack = check_value(tolerance, f"the tolerance of {name}", place.within("tolerance"))
    text = check_text(description, "a description", place.within("description"))
    return Function(name, parameters, bounds[0], bounds[1], slack, text)


def objects_of(value: Any, types: Types, place: Place) -> tuple[dict[str, Object], dict[str, Entity]]:
    """Read the objects of `value`, and the Python entities among them, by name.

    `value` is a mapping (name → type) or a sequence of entities and `Object`s. The names are terms: of two entities
    with one name, the second has its type in its term.
    """
    if not isinstance(value, Iterable) or isinstance(value, str):
        raise place.error(f"{abbreviate(value)} are no objects", "give entities, or a mapping: {'name': type}")
    is_mapping = isinstance(value, Mapping)
    items = value.items() if isinstance(value, Mapping) else ((_name_of(item, place), item) for item in value)
    objects: dict[str, Object] = {}
    entities: dict[str, Entity] = {}
    for given, item in items:
        here = place.within(given)
        name = _read_name(given, here) if is_mapping or isinstance(item, Object) else term_of(given)
        if isinstance(item, Entity):
            kind = types.register(type(item), here)
            if name in objects and objects[name].types != (kind,):
                name = qualified_term(item.name, kind)
            _check_new(name, objects, here)
            entities[name] = item
            objects[name] = Object(name, (kind,))
        else:
            _check_new(name, objects, here)
            objects[name] = Object(name, types.resolve(item.types if isinstance(item, Object) else item, here))
    return objects, entities


def _check_new(name: str, objects: Mapping[str, Object], place: Place) -> None:
    if name in objects:
        raise place.error(f"object {name!r} is declared twice")


def _read_name(name: Any, place: Place) -> str:
    """Return the term that a key of a mapping is, or of the object with this name."""
    if not isinstance(name, str):
        raise place.error(f"{abbreviate(name)} cannot name an object", "a name is a text: write it in quotes")
    return read_term(name)


def _name_of(item: Any, place: Place) -> str:
    if isinstance(item, Entity | Object):
        return item.name
    raise place.error(f"{abbreviate(item)} is no object", "give entities, or a mapping: {'name': type}")


def _check_distinct(parameters: tuple[Variable, ...], owner: str, place: Place) -> None:
    names = [each.name for each in parameters]
    for name in names:
        if names.count(name) > 1:
            raise place.error(f"{owner} has two parameters named {name[1:]!r}")
