"""Models that hold numbers go through the look-up of names unchanged, and their mistakes are found."""

from decimal import Decimal
from typing import Any

import pytest

from planner import Domain
from planner.errors import InputError
from planner.language.declare.domain_authoring import declare_model
from planner.language.declare.fields import CodePlace
from planner.language.declare.model_builder import Declarations
from planner.language.declare.name_resolution import resolve_names
from planner.language.documents.document_reader import read_documents
from planner.language.documents.document_writer import write_yaml
from planner.lightweight import replace
from planner.model.actions import Action, NumericEffect, Outcome, When
from planner.model.domain import Axiom, DomainModel, Function, Predicate
from planner.model.formulas import And, Arithmetic, Atom, Comparison, Exists, Forall, Formula, Not, Object, Variable
from planner.model.problem import TOTAL_COST, Goal, NumericMetric, Problem, SoftGoal
from planner.reuse.problem_shapes import shape_of

ROBOT, ROOM, OTHER = Variable("?robot", ("robot",)), Variable("?from", ("room",)), Variable("?to", ("room",))
FUEL, DISTANCE = Atom("fuel", ("?robot",)), Atom("distance", ("?from", "?to"))
LOAD = Atom("load", ("?robot",))
MOVE = Action(
    "move",
    (ROBOT, ROOM, OTHER),
    And((Atom("at", ("?robot", "?from")), Comparison(FUEL, ">=", Arithmetic("+", (DISTANCE, 2))))),
    (Atom("at", ("?robot", "?to")),),
    (Atom("at", ("?robot", "_")),),
    cost=(Arithmetic("*", (2, DISTANCE)),),
    numbers=(NumericEffect(FUEL, "-=", DISTANCE), NumericEffect(FUEL, "-=", Decimal("0.5"))),
    when=(When(Comparison(FUEL, "<", 3), numbers=(NumericEffect(LOAD, ":=", Arithmetic("-", (FUEL,))),)),),
)
REFUEL = Action(
    "refuel",
    (ROBOT,),
    Not(Comparison(FUEL, "=", 100)),
    outcomes=(
        Outcome(Decimal("0.5"), numbers=(NumericEffect(FUEL, "+=", Arithmetic("/", (LOAD, 3))),)),
        Outcome(Decimal("0.5"), numbers=(NumericEffect(FUEL, "*=", 10**30),)),
    ),
)
DOMAIN = DomainModel(
    "courier",
    types={"robot": ("object",), "room": ("object",)},
    predicates={"at": Predicate("at", (ROBOT, ROOM)), "tired": Predicate("tired", (ROBOT,))},
    functions={
        "fuel": Function("fuel", (ROBOT,), -5, 100, Decimal("0.5"), "what is left"),
        "load": Function("load", (ROBOT,)),
        "distance": Function("distance", (ROOM, OTHER)),
    },
    actions={"move": MOVE, "refuel": REFUEL},
    axioms=(Axiom("tired", (ROBOT,), Comparison(FUEL, "<", 1)),),
)
PROBLEM = Problem(
    "delivery",
    DOMAIN,
    (Object("r2", ("robot",)), Object("hall", ("room",)), Object("lab", ("room",))),
    (Atom("at", ("r2", "hall")),),
    Goal(
        And((Atom("at", ("r2", "lab")), Forall((ROBOT,), Comparison(FUEL, ">", 0)))),
        (SoftGoal(Exists((ROBOT,), Comparison(FUEL, "=", LOAD)), 3),),
    ),
    {
        Atom("fuel", ("r2",)): Decimal("39.5"),
        Atom("load", ("r2",)): -(10**40),
        Atom("distance", ("hall", "lab")): Decimal("1." + "3" * 60),
    },
    NumericMetric(Arithmetic("+", (Atom("fuel", ("r2",)), TOTAL_COST)), maximize=True),
)


def test_a_model_with_numbers_stays_what_it_is() -> None:
    assert resolve_names(PROBLEM) == PROBLEM
    declarations = Declarations(DOMAIN.name, CodePlace("here", 1))
    declare_model(declarations, DOMAIN, CodePlace("here", 1))
    assert declarations.model() == DOMAIN


def test_functions_of_finished_actions_need_no_declaration() -> None:
    domain = Domain(DOMAIN.name, types=DOMAIN.types)
    assert [domain.add(MOVE), domain.add(REFUEL)] == [MOVE, REFUEL]
    assert [each.types for each in domain.model.functions["distance"].parameters] == [("room",), ("room",)]
    with pytest.raises(InputError, match="function 'fuel' 2 arguments, but it is used with 1"):
        domain.add(replace(REFUEL, name="more", requires=Comparison(Atom("fuel", ("?robot", "?robot")), ">", 1)))


def with_goal(condition: Formula) -> Problem:
    return replace(PROBLEM, goal=Goal(condition))


def with_move(**fields: Any) -> Problem:
    return replace(PROBLEM, domain=replace(DOMAIN, actions={"move": replace(MOVE, **fields), "refuel": REFUEL}))


def with_fuel(**fields: Any) -> Problem:
    functions = {**DOMAIN.functions, "fuel": replace(DOMAIN.functions["fuel"], **fields)}
    return replace(PROBLEM, domain=replace(DOMAIN, functions=functions))


def with_value(value: Any) -> Problem:
    return replace(PROBLEM, values={Atom("fuel", ("r2",)): value})


HALL, R2 = Atom("fuel", ("hall",)), Atom("fuel", ("r2",))


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (with_goal(Comparison(Atom("feul", ("r2",)), ">", 1)), "has no function 'feul'.*did you mean 'fuel'"),
        (with_goal(Comparison(HALL, ">", 1)), "'hall' in fuel.hall. is .*room.*, but function 'fuel' takes .*robot"),
        (with_goal(Comparison(Atom("fuel", ("r2", "r2")), ">", 1)), "gives function 'fuel' 2 arguments; it takes 1"),
        (with_goal(Comparison(Atom("fuel", ("r3",)), ">", 1)), "'r3' in fuel.r3. is no object"),
        (with_goal(Comparison(R2, "!=", 1)), "is no relation of numbers"),
        (with_goal(Comparison(R2, "=", 0.5)), "0.5 is a float.*Decimal"),  # type: ignore[arg-type]
        (with_goal(Comparison(R2, "=", Arithmetic("/", (1, 0)))), "divides by 0"),
        (with_goal(Comparison(R2, "=", Arithmetic("^", (1, 2)))), "no operator"),
        (with_goal(Comparison(R2, "=", Arithmetic("-", (1, 2, 3)))), "does not take 3 operands"),
        (with_move(requires=Comparison(Atom("fuel", ("?from",)), ">", 1)), "is of type .*room.*takes .*robot"),
        (with_move(numbers=(NumericEffect(FUEL, "=", 1),)), "is no numeric effect"),
        (with_move(numbers=(NumericEffect(FUEL, "/=", 0),)), "divides by 0"),
        (
            with_move(numbers=(NumericEffect(FUEL, ":=", 1), NumericEffect(FUEL, "+=", 1))),
            "only increases and decreases add up",
        ),
        (with_fuel(low=101), "at least 101 and at most 100"),
        (with_fuel(tolerance=-1), "tolerance .* may not be negative"),
        (with_value(-6), "is -6 initially, but it is at least -5"),
        (with_value(101), "is 101 initially, but it is at most 100"),
        (with_value(True), "not a number"),
        (with_value(Decimal("NaN")), "no finite number"),
        (replace(PROBLEM, metric=NumericMetric(Atom("fuel"))), "takes 1"),
        (replace(PROBLEM, metric=NumericMetric(Atom("fule", ("r2",)))), "has no function 'fule'"),
    ],
)
def test_mistakes_in_numbers_are_found(problem: Problem, message: str) -> None:
    with pytest.raises(InputError, match="(?s)" + message):
        resolve_names(problem)


def test_the_key_of_cached_plans_has_the_numbers() -> None:
    others = [
        with_fuel(low=-4),
        with_move(numbers=MOVE.numbers[:1]),
        with_move(when=()),
        with_value(3),
        with_goal(Comparison(R2, ">", 1)),
        with_goal(Comparison(R2, ">", 2)),
        replace(PROBLEM, metric=NumericMetric(R2)),
        replace(PROBLEM, metric=NumericMetric(R2, maximize=True)),
    ]
    keys = {shape_of(each).key for each in (PROBLEM, *others)}
    assert len(keys) == 1 + len(others)


def test_the_key_of_cached_plans_ignores_names_in_the_metric() -> None:
    renamed = {"r2": "r7", "hall": "hall", "lab": "lab"}
    other = replace(
        PROBLEM,
        objects=(Object("r7", ("robot",)), *PROBLEM.objects[1:]),
        initial=(Atom("at", ("r7", "hall")),),
        goal=replace(PROBLEM.goal, hard=And((Atom("at", ("r7", "lab")), Forall((ROBOT,), Comparison(FUEL, ">", 0))))),
        values={term.substitute(renamed): value for term, value in PROBLEM.values.items()},
        metric=NumericMetric(Arithmetic("+", (Atom("fuel", ("r7",)), TOTAL_COST)), maximize=True),
    )
    assert shape_of(other).key == shape_of(PROBLEM).key


def test_documents_keep_the_numbers() -> None:
    assert read_documents(write_yaml(PROBLEM)).problems == (PROBLEM,)
    assert read_documents(write_yaml(DOMAIN)).domains == (DOMAIN,)
