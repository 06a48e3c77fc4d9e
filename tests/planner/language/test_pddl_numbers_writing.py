"""Write numbers as PDDL: what is written reads back as the same problem, and other readers take it."""

from __future__ import annotations

from decimal import Decimal
from itertools import product
from random import Random

import pytest

from planner.errors import UnsupportedError
from planner.language.pddl import parse_domain, parse_problem
from planner.language.pddl.export import export
from planner.lightweight import replace
from planner.model import (
    TOTAL_COST,
    Action,
    And,
    Arithmetic,
    Atom,
    Comparison,
    DomainModel,
    Expression,
    Forall,
    Formula,
    Function,
    Goal,
    Imply,
    Metric,
    Not,
    NumericEffect,
    NumericMetric,
    Object,
    Outcome,
    Predicate,
    Problem,
    Variable,
    When,
)
from planner.model.problem import seal
from planner.plan import Plan, Step
from planner.validation.validate import validate

FUEL, USED = Atom("fuel", ("?t",)), Atom("used")
TRUCK = Variable("?t", ("truck",))


def drive(**changes: object) -> Action:
    return Action("drive", (TRUCK,), numbers=(NumericEffect(FUEL, "-=", 3),), cost=(), **changes)  # type: ignore[arg-type]


def trucks(action: Action, metric: Metric | NumericMetric = Metric.LENGTH, **changes: object) -> Problem:
    domain = DomainModel(
        "trucks",
        {"truck": ("object",)},
        predicates={"late": Predicate("late", (TRUCK,))},
        functions={"fuel": Function("fuel", (TRUCK,), **changes), "used": Function("used")},  # type: ignore[arg-type]
        actions={action.name: action},
    )
    values = {Atom("fuel", ("t1",)): Decimal("7.5"), Atom("fuel", ("t2",)): -2, USED: 0}
    goal = Goal(Comparison(Atom("fuel", ("t1",)), "<", 5))
    return Problem("one", domain, (Object("t1", ("truck",)), Object("t2", ("truck",))), (), goal, values, metric)


def read_back(problem: Problem) -> Problem:
    written = export(problem)
    return parse_problem(written.problem, parse_domain(written.domain))


def test_the_text_of_numbers() -> None:
    low = Comparison(FUEL, ">=", Arithmetic("+", (USED, Decimal("0.25"))))
    action = drive(requires=low, when=(When(Atom("late", ("?t",)), (), numbers=(NumericEffect(USED, "*=", 2),)),))
    written = export(trucks(action, NumericMetric(Arithmetic("-", (USED, Atom("fuel", ("t1",)))), maximize=True)))
    for line in (
        "(:requirements :strips :typing :conditional-effects :numeric-fluents)",
        "(fuel ?t - truck) - number",
        ":precondition (>= (fuel ?t) (+ (used) 0.25))",
        "(decrease (fuel ?t) 3)",
        "(when (late ?t) (scale-up (used) 2))",
        "(= (fuel t1) 7.5)",
        "(= (fuel t2) -2)",
        "(:metric maximize (- (used) (fuel t1)))",
    ):
        assert line in written.domain + written.problem
    assert "total-cost" not in written.domain + written.problem


def test_numbers_are_no_strips() -> None:
    with pytest.raises(UnsupportedError, match="numbers in STRIPS"):
        export(trucks(drive()), "strips")


def test_costs_beside_a_metric_of_numbers() -> None:
    expression = Arithmetic("+", (TOTAL_COST, Atom("fuel", ("t1",))))
    priced = replace(drive(), cost=(2, Arithmetic("*", (3, Atom("toll")))))
    problem = trucks(priced, NumericMetric(expression))
    toll = {**problem.domain.functions, "toll": Function("toll")}
    problem = replace(
        problem, domain=replace(problem.domain, functions=toll), values={**problem.values, Atom("toll"): 1}
    )
    assert read_back(problem) == problem


def test_names_of_functions_become_legal() -> None:
    problem = trucks(drive())
    functions = {"fuel": problem.domain.functions["fuel"], "Übrig?": Function("Übrig?"), "used": Function("used")}
    action = replace(drive(), numbers=(NumericEffect(Atom("Übrig?"), ":=", Arithmetic("-", (FUEL,))),))
    named = replace(
        problem,
        domain=replace(problem.domain, functions=functions, actions={"drive": action}),
        values={**problem.values, Atom("Übrig?"): 1},
        metric=NumericMetric(Atom("Übrig?")),
    )
    again = read_back(named)
    assert again.metric == NumericMetric(Atom("ubrig"))
    assert again == export(named).written


@pytest.mark.parametrize(
    "action",
    [
        drive(),
        replace(drive(), numbers=(NumericEffect(FUEL, "+=", 5), NumericEffect(FUEL, "-=", 1))),
        replace(drive(), numbers=(NumericEffect(FUEL, ":=", Arithmetic("*", (FUEL, 2))),)),
        replace(
            drive(), numbers=(), when=(When(Comparison(FUEL, ">", 0), (), numbers=(NumericEffect(FUEL, "-=", 3),)),)
        ),
        Action(
            "move",
            (TRUCK, Variable("?u", ("truck",))),
            numbers=(NumericEffect(FUEL, "-=", 4), NumericEffect(Atom("fuel", ("?u",)), "+=", 4)),
            cost=(),
        ),
    ],
    ids=["decrease", "both", "assign", "when", "transfer"],
)
def test_bounds_become_conditions(action: Action) -> None:
    problem = trucks(action, low=0, high=9)
    written = export(problem)
    again = parse_problem(written.problem, parse_domain(written.domain))
    assert all((each.low, each.high) == (None, None) for each in again.domain.functions.values())
    count = len(action.parameters)
    steps = [Step(action.name, arguments) for arguments in product(("t1", "t2"), repeat=count)]
    verdicts = set()
    for sequence in [(one, other) for one in steps for other in steps]:
        bounded = validate(seal(replace(problem, goal=Goal())), Plan(sequence, problem))
        conditional = validate(seal(replace(again, goal=Goal())), Plan(sequence, again))
        assert bounded.valid is conditional.valid
        verdicts.add(bounded.valid)
    assert False in verdicts


def test_bounds_that_no_condition_says_are_refused() -> None:
    half = Decimal("0.5")
    outcomes = (Outcome(half, numbers=(NumericEffect(FUEL, "-=", 3),)), Outcome(half))
    with pytest.raises(UnsupportedError, match="which has bounds, in PDDL"):
        export(trucks(drive(outcomes=outcomes), low=0))


def test_outcomes_keep_their_numbers() -> None:
    half = Decimal("0.5")
    own = (NumericEffect(FUEL, "-=", 3),)
    outcomes = (
        Outcome(half, numbers=own),
        Outcome(half, (Atom("late", ("?t",)),), numbers=(NumericEffect(USED, "+=", 1),)),
    )
    problem = trucks(drive(outcomes=outcomes))
    assert read_back(problem).domain.actions["drive"].outcomes == outcomes
    assert (
        "(probabilistic 0.5 (decrease (fuel ?t) 3) 0.5 (and (late ?t) (increase (used) 1)))" in export(problem).domain
    )


class Numbers:
    """Makes random expressions, conditions and effects over two functions and a predicate."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def expression(self, terms: list[Atom], depth: int = 2) -> Expression:
        random = self.random
        if depth == 0 or random.random() < 0.3:
            number = Decimal(random.randint(-(10**20), 10**20)).scaleb(-random.randint(1, 25))
            whole = random.randint(-9, 9)
            return random.choice([*terms, whole, number.normalize() if number != int(number) else whole])
        operator = random.choice("+-*/")
        parts = [self.expression(terms, depth - 1) for _ in range(random.randint(2, 3) if operator in "+*" else 2)]
        if operator == "/":
            parts[1] = random.choice(terms)
        return Arithmetic(operator, tuple(parts))

    def condition(self, terms: list[Atom], depth: int = 2) -> Formula:
        random = self.random
        match random.randrange(5 if depth else 1):
            case 0:
                relation = random.choice(["<", "<=", "=", ">=", ">"])
                return Comparison(self.expression(terms), relation, self.expression(terms))
            case 1:
                return Not(self.condition(terms, depth - 1))
            case 2:
                return And((self.condition(terms, depth - 1), self.condition(terms, depth - 1)))
            case 3:
                return Imply(self.condition(terms, depth - 1), self.condition(terms, depth - 1))
        inner = Variable(f"?z{depth}", ("truck",))
        return Forall((inner,), self.condition([*terms, Atom("fuel", (inner.name,))], depth - 1))

    def effect(self, fluent: Atom, terms: list[Atom]) -> NumericEffect:
        operator = self.random.choice(["+=", "-=", ":=", "*="])
        return NumericEffect(fluent, operator, self.expression(terms))


@pytest.mark.parametrize("seed", range(60))
def test_random_problems_survive_the_round_trip(seed: int) -> None:
    random = Random(seed)
    make = Numbers(random)
    terms = [FUEL, USED]
    action = Action(
        "drive",
        (TRUCK,),
        make.condition(terms),
        numbers=(make.effect(FUEL, terms), make.effect(USED, terms)),
        when=(When(make.condition(terms), (Atom("late", ("?t",)),), numbers=(make.effect(FUEL, terms),)),),
        cost=(),
    )
    ground = [Atom("fuel", ("t1",)), Atom("fuel", ("t2",)), USED]
    metric = NumericMetric(make.expression(ground), random.random() < 0.5)
    kept = NumericMetric(Arithmetic("*", (USED, USED, metric.expression)), metric.maximize)
    problem = replace(trucks(action, kept), goal=Goal(make.condition(ground)))
    assert read_back(problem) == problem


def test_unified_planning_reads_what_is_written() -> None:
    reader = pytest.importorskip("unified_planning.io")
    low = Comparison(FUEL, ">=", Arithmetic("-", (USED, -2)))
    problem = trucks(drive(requires=low), NumericMetric(Arithmetic("+", (USED, Atom("fuel", ("t1",)), 1))))
    written = export(problem)
    foreign = reader.PDDLReader().parse_problem_string(written.domain, written.problem)
    assert {each.name for each in foreign.fluents} == {"late", "fuel", "used"}
    assert len(foreign.quality_metrics) == 1
    bare = replace(problem, domain=replace(problem.domain, predicates={}))
    written = export(bare)
    foreign = reader.PDDLReader().parse_problem_string(written.domain, written.problem)
    assert {each.name for each in foreign.fluents} == {"fuel", "used"}
