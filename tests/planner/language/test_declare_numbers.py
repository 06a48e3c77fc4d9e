"""Numbers in declarations: the notation, terms in Python, documents, and problems made by hand."""

from __future__ import annotations

import random
from decimal import Decimal

import pytest

from planner import Domain, Entity, Problem, solve
from planner.errors import DeclarationError
from planner.language.declare.arithmetic_reader import parse_arithmetic, parse_comparison, parse_numeric_effect
from planner.language.declare.atom_syntax import NotationError
from planner.language.declare.name_resolution import resolve_names
from planner.language.documents.document_reader import read_documents
from planner.language.documents.document_writer import write_json, write_yaml
from planner.lightweight import replace
from planner.model import Arithmetic, Atom, Comparison, Expression, Not, NumericEffect, NumericMetric
from planner.validation.validate import validate

FUEL, B, C = Atom("fuel", ("r",)), Atom("b"), Atom("total-cost")


class Robot(Entity): ...


class Room(Entity): ...


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fuel(r) + 2", Arithmetic("+", (FUEL, 2))),
        ("fuel(r) + b + 2.50", Arithmetic("+", (FUEL, B, Decimal("2.50")))),
        ("fuel(r) - b - 2", Arithmetic("-", (Arithmetic("-", (FUEL, B)), 2))),
        ("fuel(r) - (b - 2)", Arithmetic("-", (FUEL, Arithmetic("-", (B, 2))))),
        ("2 * fuel(r) / (b + 1)", Arithmetic("/", (Arithmetic("*", (2, FUEL)), Arithmetic("+", (B, 1))))),
        ("-(b * 2)", Arithmetic("-", (Arithmetic("*", (B, 2)),))),
        ("total-cost - b", Arithmetic("-", (C, B))),
        ("b*2+total-cost", Arithmetic("+", (Arithmetic("*", (B, 2)), C))),
        ("-3", -3),
    ],
)
def test_expressions_are_read_and_print_as_what_reads_back(text: str, expected: object) -> None:
    found = parse_arithmetic(text)
    assert found == expected
    assert parse_arithmetic(str(found)) == found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fuel(r) >= 2", Comparison(FUEL, ">=", 2)),
        ("fuel(r)<b", Comparison(FUEL, "<", B)),
        ("fuel(r) == 2", Comparison(FUEL, "=", 2)),
        ("fuel(r) != 2", Not(Comparison(FUEL, "=", 2))),
        ("not fuel(r) > b", Not(Comparison(FUEL, ">", B))),
        ("(b + 2) * 3 <= fuel(r)", Comparison(Arithmetic("*", (Arithmetic("+", (B, 2)), 3)), "<=", FUEL)),
        ("at(r, hall)", None),
    ],
)
def test_comparisons_are_read(text: str, expected: object) -> None:
    assert parse_comparison(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fuel(r) -= 3", NumericEffect(FUEL, "-=", 3)),
        ("fuel(r) := b * 2", NumericEffect(FUEL, ":=", Arithmetic("*", (B, 2)))),
        ("b+=fuel(r)", NumericEffect(B, "+=", FUEL)),
        ("b /= 2", NumericEffect(B, "/=", 2)),
        ("at(r, _)", None),
    ],
)
def test_effects_are_read(text: str, expected: object) -> None:
    assert parse_numeric_effect(text) == expected


@pytest.mark.parametrize("text", ["b +", "(b", "b b", "b )", "2..5", "f(a, (b))", "b ? 2", "* b", "f(a,,b)"])
def test_what_is_no_arithmetic_is_refused(text: str) -> None:
    with pytest.raises(NotationError):
        parse_arithmetic(text)


def office() -> Problem:
    """Return a robot's round trip on fuel, declared in text and in Python's operators."""
    domain = Domain("office")
    fuel = domain.function("fuel", Robot, low=0, high=100, tolerance=Decimal("0.5"), description="litres")
    distance = domain.function("distance", Room, Room)
    domain.action(
        "move",
        {"robot": Robot, "origin": Room, "target": Room},
        requires=["at(robot, origin)", "fuel(robot) >= distance(origin, target)"],
        provides=["at(robot, target)"],
        modifies=["at(robot, _)", "fuel(robot) -= distance(origin, target)"],
        cost="distance(origin, target) + 1",
    )
    domain.action(
        "refuel", {"robot": Robot}, requires=fuel("?robot") <= 100 - 10, modifies=fuel("?robot").increase(10), cost=2
    )
    rooms = [Room(name) for name in "abc"]
    return domain.problem(
        objects=[Robot("r2"), *rooms],
        initial=["at(r2, a)", "fuel(r2) = 5"],
        values={distance(rooms[0], rooms[1]): 7, "distance(b, c)": "2.5"},
        goal=["at(r2, c)", "fuel(r2) >= 4"],
    )


def test_a_declared_problem_is_solved_and_its_plan_replays() -> None:
    problem = office()
    plan = solve(problem, mode="first").expect_plan()
    assert [str(step) for step in plan.steps] == ["refuel(r2)", "move(r2, a, b)", "move(r2, b, c)"]
    assert plan.cost == Decimal("13.5")
    assert validate(problem, plan).valid


@pytest.mark.parametrize("write", [write_yaml, write_json])
def test_numbers_are_written_and_read_back(write: object) -> None:
    problem = replace(office(), metric=NumericMetric(Arithmetic("*", (2, Atom("fuel", ("r2",)))), maximize=True))
    assert callable(write)
    documents = read_documents(write(problem))
    assert documents.problems == (problem,)


def test_a_problem_made_by_hand_keeps_its_numbers() -> None:
    problem = office()
    assert resolve_names(replace(problem, seal=())) == problem


def test_numbers_have_any_size() -> None:
    domain = Domain("wei")
    domain.action("pay", modifies="account -= 1000000000000000000000.5")
    problem = domain.problem(initial="account = 123456789012345678901234567890.25", goal="account < 1")
    assert problem.values[Atom("account")] == Decimal("123456789012345678901234567890.25")


def draw_expression(rng: random.Random, depth: int) -> Expression:
    """Draw an expression of at most this depth."""
    if depth == 0 or rng.random() < 0.3:
        leaves: list[Expression] = [0, 7, -3, Decimal("2.5"), C, FUEL, Atom("d", ("a", "b"))]
        return rng.choice(leaves)
    operator = rng.choice("+-*/")
    count = rng.randint(2, 3) if operator in "+*" else 2
    return Arithmetic(operator, tuple([draw_expression(rng, depth - 1) for _ in range(count)]))


def test_printed_numbers_read_back() -> None:
    for seed in range(200):
        rng = random.Random(seed)
        left, right = draw_expression(rng, 4), draw_expression(rng, 4)
        found = Comparison(left, rng.choice(["<", "<=", "=", ">=", ">"]), right)
        assert parse_comparison(str(found)) == found
        effect = NumericEffect(FUEL, rng.choice(["+=", "-=", "*=", "/=", ":="]), right)
        assert parse_numeric_effect(str(effect)) == effect


def test_functions_are_inferred_from_their_uses() -> None:
    domain = Domain("courier", types=["robot", "room"])
    domain.action(
        "move",
        {"robot": "robot", "origin": "room", "target": "room"},
        requires=["fuel(robot) >= distance(origin, target)", "battery == 5.5"],
        modifies="total-load += 2 * fuel(robot)",
    )
    functions = domain.model.functions
    assert {name: [each.types[0] for each in found.parameters] for name, found in functions.items()} == {
        "fuel": ["robot"],
        "distance": ["room", "room"],
        "battery": [],
        "total-load": [],
    }


def test_a_name_is_a_predicate_or_a_function() -> None:
    office = Domain("office")
    office.action("rest", {"r": Robot}, requires=["fuel(r)"], provides=["rested(r)"])
    office.action("go", {"r": Robot}, requires=["fuel(r) > 0"], provides=["gone(r)"])
    with pytest.raises(DeclarationError, match="'fuel' is a"):
        _ = office.model


def test_costs_do_not_read_what_actions_change() -> None:
    office = Domain("office")
    office.function("price")
    office.action("raise-it", modifies="price += 1", provides="raised")
    office.action("buy", provides="bought", cost="price")
    with pytest.raises(DeclarationError, match="which an action changes"):
        _ = office.model


def test_negative_numbers_keep_all_digits() -> None:
    office = Domain("office")
    office.function("debt", high=0)
    office.action("pay", requires=["debt <= -0.1234567890123456789012345678901234567"], provides="paid")
    assert "-0.1234567890123456789012345678901234567" in str(office.model.actions["pay"].requires)
