"""Any domain and problem that can be declared reads back from YAML and JSON as the same."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from planner import Domain, Metric, Problem, read_documents, write_json, write_yaml
from planner.language.declare.arithmetic_reader import is_function_name
from planner.language.declare.atom_syntax import is_atom_name
from planner.language.declare.declared_names import name_parameters
from planner.model import And, Atom, Equals, Exists, Forall, Formula, Imply, Not, Or
from planner.model.actions import (
    DURATION,
    NO_MOMENT,
    REQUIRED,
    TAGS,
    Action,
    Constraint,
    ConstraintKind,
    DataParameter,
    Done,
    Duration,
    DurationRange,
    From,
    Happening,
    Moment,
    NumericEffect,
    Outcome,
    When,
)
from planner.model.domain import Axiom, DomainModel, Function, Predicate, TypeHierarchy, resources_of
from planner.model.formulas import OPEN, TRUE, Arithmetic, Expression, Number, Object, Variable, conjuncts
from planner.model.problem import COST, Goal, NumericMetric, SoftGoal
from planner.model.timing import TOTAL_TIME, GoalDeadline, TimedEffect

Draw = Callable[[st.SearchStrategy[Any]], Any]
Variables = tuple[Variable, ...]

WORDS = ["a", "b", "at", "robot", "a-b", "a:b", "object1", "A", "é", "日本"]
TRAPS = ["yes", "No", "null", "~", "1", "0x1F", "1e3", "#a", "&a", "*", "--", "%TAG", "...", "<<", "@x", "`", "on", "+"]
KEYWORDS = ["and", "forall", "Not", ">", "either", "object"]
name = st.sampled_from([*WORDS, *TRAPS, *KEYWORDS])
type_name = name.filter(lambda each: each != "object")
atom_name = name.filter(is_atom_name)
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
decimal = st.decimals(0, 1000, places=3).map(lambda each: int(each) if each == int(each) else each)
number = st.integers(0, 10**18 - 1) | decimal
chance = st.sampled_from([Decimal("0.25"), Decimal("0.999")])
chances = st.sampled_from([(), ("1",), ("0.25", "0.75"), ("0.3333333333", "0.3333333333", "0.3333333334")])
weight = st.none() | number.filter(lambda each: each > 0)
STARTS = [
    None,
    dt.datetime(2026, 11, 27, 8, 30, tzinfo=dt.timezone(dt.timedelta(hours=5, minutes=30))),
    dt.datetime(2026, 3, 29, 1, 59, 59, 250_000, tzinfo=ZoneInfo("Europe/Berlin")),
]
DATA: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (str, text),
    (int, st.integers(-(10**20), 10**20)),
    (float, st.floats(allow_nan=False, allow_infinity=False, width=32)),
    (bool, st.booleans()),
    (Decimal, st.decimals(-1000, 1000, places=3)),
    (dt.date, st.dates()),
    (list[str], st.lists(text, max_size=3)),
    (dict[str, int], st.dictionaries(text, st.integers(0, 9), max_size=2)),
    (int | None, st.none() | st.integers(0, 9)),
    (list[int | None] | None, st.none()),
]


def some(items: Sequence[Any] | st.SearchStrategy[Any], least: int = 0, most: int = 2) -> st.SearchStrategy[Any]:
    """Return lists of distinct ones of `items`; the empty list where there are none."""
    if not isinstance(items, st.SearchStrategy):
        items = st.sampled_from(items) if items else st.nothing()
    return st.lists(items, min_size=least, max_size=0 if items.is_empty else most, unique=True)


class World:
    """Draws parts that fit a vocabulary."""

    def __init__(
        self,
        draw: Draw,
        types: dict[str, tuple[str, ...]],
        objects: tuple[Object, ...] = (),
        predicates: dict[str, Variables] | None = None,
    ) -> None:
        self.draw = draw
        self.types = types
        self.hierarchy = TypeHierarchy(types)
        self.objects = objects
        self.predicates = predicates or {}

    def with_predicates(self, names: Sequence[str]) -> World:
        return World(self.draw, self.types, self.objects, {each: self.predicates[each] for each in names})

    def some_types(self) -> tuple[str, ...]:
        return tuple(self.draw(some(["object", *self.types], least=1)))

    def some_objects(self, taken: Sequence[Object] = ()) -> tuple[Object, ...]:
        known = {each.name for each in taken}
        return tuple([Object(each, self.some_types()) for each in self.draw(some(name, most=3)) if each not in known])

    def variables(self, least: int = 0, taken: Variables = ()) -> Variables:
        used = {each.name for each in taken}
        found = self.draw(some(name.filter(lambda each: f"?{each}" not in used), least))
        return tuple([Variable(f"?{each}", self.some_types()) for each in found])

    def signature(self) -> Variables:
        variables = self.variables()
        return name_parameters([each.types for each in variables]) if self.draw(st.booleans()) else variables

    def args(self, signature: Variables, scope: Variables, *, may_open: bool = False) -> tuple[str, ...] | None:
        """Return arguments of fitting types, or None where nothing fits."""
        is_a = self.hierarchy.is_a
        found = []
        for parameter in signature:
            fitting = [each.name for each in (*scope, *self.objects) if is_a(each.types, parameter.types)]
            fitting += [OPEN] if may_open else []
            if not fitting:
                return None
            found.append(self.draw(st.sampled_from(fitting)))
        return tuple(found)

    def atoms(self, scope: Variables, *, most: int = 2, may_open: bool = False) -> tuple[Atom, ...]:
        found = []
        for each in self.draw(some([*self.predicates], most=most)):
            args = self.args(self.predicates[each], scope, may_open=may_open)
            found += [Atom(each, args)] if args is not None else []
        return tuple(found)

    def literals(self, scope: Variables) -> tuple[Any, ...]:
        return tuple([Not(each) if self.draw(st.booleans()) else each for each in self.atoms(scope)])

    def formula(self, scope: Variables, depth: int = 2) -> Formula:
        kinds = [Atom, Equals] if depth == 0 else [Atom, Equals, Not, And, Or, Imply, Exists, Forall]
        kind: Any = self.draw(st.sampled_from(kinds))
        terms = [each.name for each in (*scope, *self.objects)]
        if kind is Equals and terms:
            return Equals(self.draw(st.sampled_from(terms)), self.draw(st.sampled_from(terms)))
        if kind in (Atom, Equals):
            return next(iter(self.atoms(scope, most=1)), TRUE)
        if kind in (Exists, Forall):
            variables = self.variables(1, scope)
            return kind(variables, self.formula((*scope, *variables), depth - 1))
        arity = {Not: 1, Imply: 2}.get(kind) or self.draw(st.integers(0, 3))
        parts = tuple([self.formula(scope, depth - 1) for _ in range(arity)])
        return kind(parts) if kind in (And, Or) else kind(*parts)

    def happening(self, actions: dict[str, Action]) -> Happening:
        for each in self.draw(some([*actions], most=1)):
            args = self.args(actions[each].parameters, (), may_open=True)
            return Done(Atom(each, args or ()))
        return self.formula(())

    def constraint(self, actions: dict[str, Action]) -> Constraint:
        kind = self.draw(st.sampled_from(ConstraintKind))
        what = self.formula(()) if kind is ConstraintKind.ALWAYS else self.happening(actions)
        relates = kind in (ConstraintKind.BEFORE, ConstraintKind.NEVER_AFTER)
        times = self.draw(st.integers(0, 3)) if kind is ConstraintKind.AT_MOST else 1
        utility = self.draw(st.none() | number.filter(lambda each: each > 0))
        return Constraint(kind, what, self.happening(actions) if relates else None, times, utility)

    def timed(self, time: Number) -> TimedEffect:
        return TimedEffect(time, self.literals(()))

    def goal(self) -> Goal:
        wishes = self.draw(st.lists(number.filter(lambda each: each > 0), max_size=2))
        return Goal(self.formula(()), tuple([SoftGoal(self.formula(()), each) for each in wishes]))


class Actions:
    """Draws actions: `world` has all predicates, `writable` those that are not derived; they change `fluents`."""

    def __init__(self, world: World, writable: World, functions: dict[str, Variables], fluents: list[str]) -> None:
        self.draw = world.draw
        self.world = world
        self.writable = writable
        self.functions = functions
        self.fluents = fluents
        self.static = [each for each in functions if each not in fluents]
        self.actions: dict[str, Action] = {}

    def add(self, named: str) -> None:
        draw, world = self.draw, self.world
        parameters = world.variables()
        known = {each.name for each in parameters}
        data = [each for each in draw(some(name)) if f"?{each}" not in known]
        taken = (*parameters, *[Variable(f"?{each}") for each in data])
        created = tuple([Variable(each.name, each.types[:1]) for each in world.variables(0, taken)])
        requires = world.formula(parameters)
        inside = (*parameters, *created)
        duration = self.duration(parameters)
        self.actions[named] = Action(
            named,
            parameters,
            requires,
            self.writable.literals(inside),
            self.writable.atoms(parameters, may_open=True),
            tuple([self.when(parameters, created, taken) for _ in range(draw(st.integers(0, 2)))]),
            self.cost(parameters),
            self.after(parameters),
            {each.name: each.types[0] for each in created},
            tuple([self.data(each, requires) for each in data]),
            duration,
            draw(st.sampled_from([Decimal(0), Decimal("0.25")])),
            tuple([self.outcome(each, inside) for each in draw(chances)]),
            frozenset(draw(some(sorted(TAGS)))),
            draw(text),
            (),
            tuple(draw(st.lists(text, max_size=2))),
            {each: self.cost(parameters) for each in draw(some(name.filter(lambda each: each != COST)))},
            self.writable.atoms(parameters, may_open=True),
            **({} if duration is None else self.timing(duration, parameters, created, taken)),
        )

    def duration(self, parameters: Variables) -> Duration | None:
        bounds = [self.length(parameters), self.length(parameters)]
        if all(isinstance(each, Decimal) for each in bounds):
            bounds = sorted(bounds)
        return self.draw(st.sampled_from([None, bounds[0], DurationRange(*bounds), DurationRange(bounds[0])]))

    def length(self, parameters: Variables) -> Expression:
        for each in self.draw(some([*self.functions], most=1)):
            args = self.world.args(self.functions[each], parameters)
            term = Atom(each, args or ())
            if args is not None:
                return self.draw(st.sampled_from([term, Arithmetic("/", (Arithmetic("+", (term, 3)), 2))]))
        return self.draw(st.decimals(0, 100, places=2))

    def timing(self, duration: Duration, parameters: Variables, created: Variables, taken: Variables) -> dict[str, Any]:
        start, end = (self.moment(duration, parameters, created, taken) for _ in range(2))
        throughout = self.world.formula(parameters) if self.draw(st.booleans()) else TRUE
        holds = {each: self.cost(parameters) for each in self.draw(some(name, most=1))}
        return {"throughout": throughout, "at_start": start, "at_end": end, "holds": holds}

    def moment(self, duration: Duration, parameters: Variables, created: Variables, taken: Variables) -> Moment:
        if self.draw(st.booleans()):
            return NO_MOMENT
        numbers: tuple[NumericEffect, ...] = ()
        for each in self.draw(some(self.fluents, most=1)):
            args = self.world.args(self.functions[each], parameters)
            value = DURATION if isinstance(duration, DurationRange) else 2
            numbers = (NumericEffect(Atom(each, args), "-=", value),) if args is not None else ()
        found = Moment(
            self.world.formula(parameters),
            self.writable.literals((*parameters, *created)),
            self.writable.atoms(parameters, may_open=True),
            tuple([self.when(parameters, created, taken) for _ in range(self.draw(st.integers(0, 1)))]),
            numbers,
        )
        return NO_MOMENT if found.is_empty else found

    def when(self, parameters: Variables, created: Variables, taken: Variables) -> When:
        variables = self.world.variables(0, (*taken, *created))
        scope = (*parameters, *variables)
        return When(
            self.world.formula(scope),
            self.writable.literals((*scope, *created)),
            self.writable.atoms(scope, may_open=True),
            variables,
        )

    def outcome(self, probability: str, scope: Variables) -> Outcome:
        return Outcome(Decimal(probability), self.writable.literals(scope), name=self.draw(text))

    def cost(self, parameters: Variables) -> tuple[Any, ...]:
        terms: list[Any] = self.draw(st.lists(number, max_size=2))
        for each in self.draw(some(self.static, most=1)):
            args = self.world.args(self.functions[each], parameters)
            terms += [Atom(each, args)] if args is not None else []
        return tuple(terms)

    def after(self, parameters: Variables) -> tuple[Atom, ...]:
        found = []
        for each in self.draw(some([*self.actions], most=1)):
            args = self.world.args(self.actions[each].parameters, parameters, may_open=True)
            found.append(Atom(each, args or ()))
        return tuple(found)

    def data(self, named: str, requires: Formula) -> DataParameter:
        annotation, values = self.draw(st.sampled_from(DATA))
        sources = [From(each, "data.x") for each in conjuncts(requires) if isinstance(each, Atom)]
        source = self.draw(st.sampled_from([None, *sources]))
        return DataParameter(
            named, annotation, self.draw(st.just(REQUIRED) | values), source, self.draw(st.booleans()), self.draw(text)
        )


@st.composite
def domains(draw: Draw) -> DomainModel:
    """Draw a domain with everything that can be declared."""
    types: dict[str, tuple[str, ...]] = {}
    for each in draw(some(type_name, most=4)):
        types[each] = tuple(draw(some(["object", *types], least=1)))
    world = World(draw, types)
    constants = world.objects = world.some_objects()
    world.predicates = {each: world.signature() for each in draw(some(atom_name, least=1, most=4))}
    order = [*world.predicates]
    axioms = tuple([axiom(world, order, each) for each in draw(some(order))])
    derived = {each.predicate for each in axioms}
    free = atom_name.filter(lambda each: is_function_name(each) and each not in world.predicates)
    functions = {each: world.signature() for each in draw(some(free))}
    writable = world.with_predicates([each for each in order if each not in derived])
    actions = Actions(world, writable, functions, draw(some([*functions])))
    for each in draw(some(atom_name, most=3)):
        actions.add(each)
    return DomainModel(
        draw(name),
        types,
        constants,
        {each: predicate(world, order, each, derived) for each in order},
        {each: Function(each, parameters) for each, parameters in functions.items()},
        actions.actions,
        axioms,
        draw(text),
    )


def axiom(world: World, order: list[str], head: str) -> Axiom:
    """Draw a rule whose condition names predicates after its own, so that it is stratified."""
    parameters = world.predicates[head]
    later = world.with_predicates(order[order.index(head) + 1 :])
    return Axiom(head, parameters, later.formula(parameters))


def predicate(world: World, order: list[str], named: str, derived: set[str]) -> Predicate:
    """Draw a predicate that is stale with ones before it, so that there is no circle."""
    parameters = world.predicates[named]
    earlier = world.with_predicates([each for each in order[: order.index(named)] if each not in derived])
    stale = () if named in derived else earlier.atoms(parameters, may_open=True)
    marks = frozenset(world.draw(some(["trusted"])))
    return Predicate(named, parameters, stale, marks, world.draw(text))


@st.composite
def problems(draw: Draw) -> Problem:
    """Draw a problem of a drawn domain."""
    model = draw(domains())
    signatures = {each.name: each.parameters for each in model.predicates.values()}
    world = World(draw, dict(model.types), predicates=signatures)
    objects = world.some_objects(model.constants)
    world.objects = (*model.constants, *objects)
    stated = world.with_predicates([each for each in model.predicates if each not in model.derived])
    initial, unknown = stated.atoms((), most=4), stated.atoms((), may_open=True)
    likely = [each for each in unknown if OPEN not in each.args and each not in initial]
    values = {}
    for function in model.functions.values():
        args = world.args(function.parameters, ())
        values.update({Atom(function.name, args): draw(number)} if args is not None else {})
    return Problem(
        draw(name),
        model,
        objects,
        initial,
        world.goal(),
        values,
        draw(st.sampled_from([*Metric, NumericMetric(TOTAL_TIME), NumericMetric(Arithmetic("*", (4, TOTAL_TIME)))])),
        unknown,
        {each: draw(chance) for each in likely},
        tuple([world.constraint(dict(model.actions)) for _ in range(draw(st.integers(0, 2)))]),
        {each: draw(number) for each in draw(some([COST, *resources_of(model)]))},
        draw(st.none() | decimal.filter(lambda each: each > 0)),
        timed=tuple([each for each in map(stated.timed, draw(st.lists(decimal, max_size=3))) if each.provides]),
        due=tuple(
            [GoalDeadline(world.formula(()), each, draw(weight)) for each in draw(st.lists(decimal, max_size=2))]
        ),
        capacity={each: draw(number) for action in model.actions.values() for each in action.holds},
        starts_at=draw(st.sampled_from(STARTS)),
    )


@settings(max_examples=examples(40))
@given(problems())
def test_a_problem_reads_back_from_yaml(problem: Problem) -> None:
    assert read_documents(write_yaml(problem)).problems == (problem,)


@settings(max_examples=examples(40))
@given(problems())
def test_a_problem_reads_back_from_json_beside_its_domain(problem: Problem) -> None:
    assert read_documents(write_json(problem)).problems == (problem,)
    alone = write_json(problem, domain=False)
    assert read_documents(alone, domain=problem.domain).problems == (problem,)


@settings(max_examples=examples(40))
@given(domains())
def test_a_model_declared_anew_is_the_same(model: DomainModel) -> None:
    assert Domain.of(model).model == model
