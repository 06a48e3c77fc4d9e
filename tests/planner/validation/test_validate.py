"""The plan checker on small declared problems: one table row for each rule of the semantics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from planner.errors import InputError, PlanError, UnsupportedError
from planner.model import Action as Declared
from planner.model.actions import CostFunction, Literal, When
from planner.model.domain import Axiom, DomainModel, Function, Predicate
from planner.model.formulas import TRUE, And, Atom, Equals, Exists, Forall, Formula, Imply, Not, Object, Or, Variable
from planner.model.problem import Goal, Metric, Problem
from planner.plan import Plan, Step
from planner.resources import resources
from planner.semantics.simulation import Simulation
from planner.validation.validate import check_steps, simulate, validate


def atom(text: str) -> Atom:
    name, _, rest = text.partition("(")
    return Atom(name, tuple(arg.strip() for arg in rest.removesuffix(")").split(",")) if rest else ())


def literal(text: str) -> Literal:
    return Not(atom(text.removeprefix("not "))) if text.startswith("not ") else atom(text)


def atoms(*texts: str) -> tuple[Atom, ...]:
    return tuple(atom(text) for text in texts)


def literals(*texts: str) -> tuple[Literal, ...]:
    return tuple(literal(text) for text in texts)


X, Y = Variable("?x"), Variable("?y")


def problem_of(
    *actions: Declared, initial: Iterable[str] = (), goal: Formula = TRUE, objects: str = "a b c", **rest: Any
) -> Problem:
    known = {"predicates", "axioms", "functions", "types", "constants"}
    domain = DomainModel(
        "d", actions={action.name: action for action in actions}, **{k: v for k, v in rest.items() if k in known}
    )
    things = tuple(Object(name) for name in objects.split())
    return Problem(
        "p",
        domain,
        things,
        atoms(*initial),
        Goal(goal),
        **{k: v for k, v in rest.items() if k not in known},
    )


def steps(*texts: str) -> list[Step]:
    return [Step(each.predicate, each.args) for each in atoms(*texts)]


def after(problem: Problem, *texts: str) -> set[str]:
    """The facts at the end of the steps."""
    return {str(fact) for fact in list(simulate(problem, steps(*texts)))[-1]}


MOVE = Declared(
    "move",
    (Variable("?r", ("robot",)), Variable("?from", ("room",)), Variable("?to", ("room",))),
    And(atoms("at(?r, ?from)", "door(?from, ?to)")),
    atoms("at(?r, ?to)"),
    atoms("at(?r, _)"),
    cost=(2,),
)
OFFICE = Problem(
    "one",
    DomainModel(
        "office",
        types={"robot": ("object",), "room": ("object",)},
        actions={
            "move": MOVE,
            "lock": Declared(
                "lock",
                (Variable("?a", ("room",)), Variable("?b", ("room",))),
                provides=literals("not door(?a, ?b)"),
            ),
        },
    ),
    (
        Object("r2", ("robot",)),
        Object("hall", ("room",)),
        Object("lab", ("room",)),
        Object("roof", ("room",)),
    ),
    atoms("at(r2, hall)", "door(hall, lab)", "door(lab, hall)"),
    Goal(atom("at(r2, lab)")),
)

FAILURES = [
    (
        "a fact that never held",
        ["move(r2, hall, lab)", "move(r2, lab, roof)"],
        (
            "step 2 move(r2, lab, roof): requires door(lab, roof), "
            "which is false in the initial state and never provided before"
        ),
    ),
    (
        "a fact that a step retracted",
        ["lock(hall, lab)", "move(r2, hall, lab)"],
        "step 2 move(r2, hall, lab): requires door(hall, lab), which was retracted by step 1 lock(hall, lab)",
    ),
    (
        "the goal",
        ["move(r2, hall, lab)", "move(r2, lab, hall)"],
        "at the end, the goal requires at(r2, lab), which was retracted by step 2 move(r2, lab, hall)",
    ),
    ("an unknown action", ["mov(r2, hall, lab)"], "step 1 mov(r2, hall, lab): no action is called 'mov'; did you"),
    ("too few arguments", ["lock(hall)"], "step 1 lock(hall): lock(a, b) takes 2 arguments, not 1"),
    ("an unknown object", ["lock(hall, labb)"], "step 1 lock(hall, labb): no object is called 'labb'; did you mean"),
    (
        "a wrong type",
        ["lock(hall, r2)"],
        "step 1 lock(hall, r2): its argument 'r2' is of type robot, but ?b wants room",
    ),
]


@pytest.mark.parametrize(("plan", "reason"), [row[1:] for row in FAILURES], ids=[row[0] for row in FAILURES])
def test_reasons(plan: list[str], reason: str) -> None:
    verdict = check_steps(OFFICE, steps(*plan))
    assert not verdict.valid
    assert verdict.reason.startswith(reason)
    assert str(verdict).startswith("invalid: ")


def test_a_valid_plan_and_its_cost() -> None:
    verdict = check_steps(OFFICE, steps("move(r2, hall, lab)"))
    assert verdict.valid
    assert verdict.cost == 2
    assert verdict.to_dict() == {
        "valid": True,
        "cost": 2,
        "reason": "",
        "failing_step": None,
        "condition": None,
        "unmet": [],
        "constraint": None,
        "forgone": [],
        "stopped_by": None,
    }


def test_a_verdict_is_neither_true_nor_false() -> None:
    with pytest.raises(TypeError, match=r"verdict\.valid"):
        bool(check_steps(OFFICE, []))


@pytest.mark.parametrize("steps", [None, "x", 3, ["move"], [None]])
def test_what_is_no_plan(steps: Any) -> None:
    problem = Problem("p", DomainModel("d"))
    for check in (validate, lambda *given: list(simulate(*given))):
        with pytest.raises(InputError):
            check(problem, steps)
        with pytest.raises(InputError):
            check(None, [])


def test_cost_claims() -> None:
    plan = steps("move(r2, hall, lab)")
    assert check_steps(OFFICE, plan, claimed_cost=2).valid
    assert check_steps(OFFICE, plan, claimed_cost=3).reason == "the plan claims cost 3, but its steps cost 2"
    assert check_steps(OFFICE, Plan((Step("move", ("r2", "hall", "lab"), 2),), OFFICE)).valid
    assert not check_steps(OFFICE, Plan(tuple(plan), OFFICE)).valid


def test_the_trajectory_stops_where_a_step_cannot_be_applied() -> None:
    states = simulate(OFFICE, steps("lock(hall, lab)", "move(r2, hall, lab)"))
    assert {str(fact) for fact in next(states)} == {"at(r2, hall)", "door(hall, lab)", "door(lab, hall)"}
    assert {str(fact) for fact in next(states)} == {"at(r2, hall)", "door(lab, hall)"}
    with pytest.raises(PlanError, match="step 2"):
        next(states)


def act(provides: Iterable[str] = (), modifies: Iterable[str] = (), **rest: Any) -> Declared:
    return Declared("act", provides=literals(*provides), modifies=atoms(*modifies), **rest)


STALE = {
    "doc": Predicate("doc", (X,)),
    "draft": Predicate("draft", (X,), atoms("doc(?x)")),
    "sent": Predicate("sent", (X, Y), atoms("draft(?x)")),
    "index": Predicate("index", (), atoms("doc(_)")),
    "only": Predicate("only", (), atoms("doc(b)")),
    "twin": Predicate("twin", (X,), atoms("pair(?x, ?x)")),
}
HELD = ["doc(a)", "draft(a)", "draft(b)", "sent(a, c)", "sent(b, c)", "index", "only", "twin(a)", "twin(b)"]

EFFECTS = [
    ("adding wins over retracting", act(["not p", "p"]), ["p"], {"p"}),
    ("a pattern with open arguments retracts all matches", act(["at(a, c)"], ["at(a, _)"]),
     ["at(a, a)", "at(a, b)", "at(b, b)"], {"at(a, c)", "at(b, b)"}),
    ("a pattern provided again is kept", act(["at(a, b)"], ["at(_, _)"]), ["at(a, b)", "at(b, b)"], {"at(a, b)"}),
    ("an item changed in place keeps its truth", act([], ["p"]), ["p"], {"p"}),
    ("an item changed in place stays false", act([], ["p"]), [], set()),
    ("stale with what is modified", act([], ["doc(a)"]), HELD,
     {"doc(a)", "draft(b)", "sent(b, c)", "only", "twin(a)", "twin(b)"}),
    ("stale with what is provided", act(["doc(b)"]), HELD,
     {"doc(a)", "doc(b)", "draft(a)", "sent(a, c)", "twin(a)", "twin(b)"}),
    ("stale with what is retracted", act(["not doc(a)"]), HELD,
     {"draft(b)", "sent(b, c)", "only", "twin(a)", "twin(b)"}),
    ("stale through a link that is given back", act(["draft(a)"], ["doc(a)"]), HELD,
     {"doc(a)", "draft(a)", "draft(b)", "sent(b, c)", "only", "twin(a)", "twin(b)"}),
    ("stale with an open pattern means all", act([], ["doc(_)"]), HELD, {"twin(a)", "twin(b)"}),
    ("one variable for two arguments", act([], ["pair(a, _)"]), HELD, set(HELD) - {"twin(a)"}),
    ("two arguments that differ are not one variable", act([], ["pair(a, b)"]), HELD, set(HELD)),
    ("conditions are evaluated in the state before",
     act(when=(When(atom("p"), literals("not p", "q")), When(atom("q"), literals("not q", "p")))), ["p"], {"q"}),
    ("all retractions come before all additions",
     act(when=(When(And(), literals("p")), When(And(), literals("not p")))), [], {"p"}),
    ("an effect for all objects", act(when=(When(atom("on(?x)"), literals("not on(?x)", "off(?x)"), (), (X,)),)),
     ["on(a)", "on(c)", "off(b)"], {"off(a)", "off(b)", "off(c)"}),
    ("an effect for all objects that no fact guards",
     act(when=(When(Not(atom("on(?x)")), literals("on(?x)"), (), (X,)),)),
     ["on(a)"], {"on(a)", "on(b)", "on(c)"}),
    ("what a conditional effect modifies",
     act(when=(When(atom("p"), (), atoms("at(a, _)")), When(atom("q"), (), atoms("at(b, _)")))),
     ["p", "at(a, a)", "at(b, b)"], {"p", "at(b, b)"}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("action", "initial", "expected"), [row[1:] for row in EFFECTS], ids=[row[0] for row in EFFECTS]
)
def test_effects(action: Declared, initial: list[str], expected: set[str]) -> None:
    problem = problem_of(action, initial=initial, predicates=STALE if initial is HELD else {})
    assert after(problem, "act") == expected


EDGES = ["edge(a, b)", "edge(b, c)"]
CONDITIONS = [
    (And(), True),
    (Or(), False),
    (atom("edge(a, b)"), True),
    (Not(atom("edge(a, b)")), False),
    (Equals("a", "a"), True),
    (Not(Equals("a", "b")), True),
    (Imply(atom("edge(a, b)"), atom("edge(c, a)")), False),
    (Imply(atom("edge(c, a)"), Or()), True),
    (Exists((X,), atom("edge(?x, c)")), True),
    (Exists((X,), atom("edge(?x, ?x)")), False),
    (Exists((X,), And()), True),
    (Exists((Variable("?x", ("nothing",)),), And()), False),
    (Forall((Variable("?x", ("nothing",)),), Or()), True),
    (Exists((X, Y), And((atom("edge(?x, b)"), atom("edge(b, ?y)"), Not(Equals("?x", "?y"))))), True),
    (Exists((X,), Equals("?x", "c")), True),
    (Exists((X, Y), And((Equals("?x", "?y"), atom("edge(?x, ?y)")))), False),
    (Exists((X,), And((Not(atom("edge(?x, b)")), Not(atom("edge(?x, c)"))))), True),
    (Exists((X,), Or((Equals("?x", "a"), atom("edge(?x, a)")))), True),
    (Exists((X,), Or((And((Equals("?x", "a"), atom("edge(?x, c)"))), atom("edge(?x, a)")))), False),
    (Forall((X,), Or((Equals("?x", "c"), Exists((Y,), atom("edge(?x, ?y)"))))), True),
    (Forall((X,), Exists((Y,), atom("edge(?x, ?y)"))), False),
    (Not(Forall((X,), Exists((Y,), atom("edge(?x, ?y)")))), True),
    (Forall((X, Y), Imply(atom("edge(?x, ?y)"), Not(Equals("?x", "?y")))), True),
    (Forall((X,), Forall((Y,), Imply(atom("edge(?x, ?y)"), Not(atom("edge(?y, ?x)"))))), True),
    (Exists((X,), And((atom("edge(a, ?x)"), Exists((X,), atom("edge(?x, c)"))))), True),
    (Exists((X,), And((atom("edge(a, ?x)"), Forall((Y,), Imply(atom("edge(?x, ?y)"), Equals("?y", "c")))))), True),
    (Exists((Variable("?x", ("small", "big")),), atom("edge(b, ?x)")), False),
]  # fmt: skip


@pytest.mark.parametrize(("condition", "expected"), CONDITIONS, ids=[str(row[0]) for row in CONDITIONS])
def test_conditions(condition: Formula, expected: bool) -> None:
    problem = problem_of(initial=EDGES, types={"nothing": (), "small": (), "big": ()})
    assert Simulation(problem).holds(condition) is expected
    assert Simulation(problem).holds(Not(condition)) is not expected


SMALLEST = [
    (And((atom("p"), Or((atom("q"), atom("r"))))), "q or r, which does not hold in this state"),
    (And((atom("p"), And((Not(Not(atom("q"))), atom("r"))))), "q, which is false in the initial state and never"),
    (Or((atom("q"),)), "q, which is false in the initial state"),
    (Imply(atom("p"), atom("q")), "q, which is false in the initial state"),
    (Not(atom("p")), "not p, but p is true in the initial state and never retracted before"),
    (Not(Or((atom("q"), atom("p")))), "not p, but p is true"),
    (Not(And((atom("p"), atom("on(a)")))), "not (p and on(a)), which does not hold in this state"),
    (Forall((X,), Imply(atom("on(?x)"), Not(Equals("?x", "b")))), "b != b, which is false"),
    (Forall((X,), Not(atom("on(?x)"))), "not on(a), but on(a) is true"),
    (Not(Exists((X,), And((atom("on(?x)"), Not(Equals("?x", "a")))))), "not (on(b) and b != a), which does not"),
    (Exists((X,), And((atom("on(?x)"), atom("q")))), "for some ?x - object: (on(?x) and q), which does not hold"),
    (atom("lit"), "lit, which is derived and does not hold in this state"),
]  # fmt: skip


@pytest.mark.parametrize(("condition", "reason"), SMALLEST, ids=[str(row[0]) for row in SMALLEST])
def test_the_smallest_part_that_fails(condition: Formula, reason: str) -> None:
    action = Declared("act", requires=condition)
    axioms = (Axiom("lit", (), atom("q")),)
    problem = problem_of(action, initial=["p", "on(a)", "on(b)"], axioms=axioms)
    assert check_steps(problem, steps("act")).reason.startswith(f"step 1 act(): requires {reason}")
    unmet = check_steps(replace(problem, goal=Goal(condition)), [])
    assert unmet.reason.startswith(f"at the end, the goal requires {reason}")


def test_a_negative_condition_names_the_step_that_provided_the_fact() -> None:
    problem = problem_of(act(["p"]), Declared("rest", requires=Not(atom("p"))))
    verdict = check_steps(problem, steps("act", "rest"))
    assert verdict.reason == "step 2 rest(): requires not p, which ended when step 1 act() provided p"
    assert verdict.failing_step == 2
    assert verdict.condition == Not(atom("p"))


def test_all_unmet_goals_are_named() -> None:
    problem = problem_of(initial=["p"], goal=And(literals("p", "q", "not p")))
    assert check_steps(problem, []).unmet == literals("q", "not p")


def test_after() -> None:
    first = Declared("first", (X,))
    second = Declared("second", (X,), after=atoms("first(?x)"))
    third = Declared("third", after=atoms("second(_)"))
    problem = problem_of(first, second, third)
    assert check_steps(problem, steps("first(a)", "second(a)", "third")).valid
    reason = check_steps(problem, steps("first(a)", "second(b)")).reason
    assert reason == "step 2 second(b): it comes after first(b), which has not run before it"
    assert check_steps(problem, steps("first(a)", "third")).failing_step == 2


REACH = (
    Axiom("reach", (X, Y), atom("edge(?x, ?y)")),
    Axiom("reach", (X, Y), Exists((Variable("?z"),), And(atoms("reach(?x, ?z)", "reach(?z, ?y)")))),
    Axiom("lonely", (X,), Not(Exists((Y,), Or(atoms("reach(?x, ?y)", "reach(?y, ?x)"))))),
    Axiom("well", (X,), Forall((Y,), Imply(atom("edge(?x, ?y)"), atom("well(?y)")))),
)


def test_derived_predicates() -> None:
    cut = Declared("cut", (X, Y), provides=literals("not edge(?x, ?y)"))
    problem = problem_of(cut, initial=[*EDGES, "edge(d, d)"], objects="a b c d e", axioms=REACH)
    simulation = Simulation(problem)
    derived = "reach(a, c)", "lonely(e)", "well(a)", "reach(d, d)"
    assert [simulation.holds(atom(text)) for text in derived] == [True] * 4
    for text in ("lonely(a)", "well(d)", "reach(c, a)"):
        assert not simulation.holds(atom(text))
    simulation.apply(Step("cut", ("b", "c")))
    assert [simulation.holds(atom(text)) for text in derived] == [False, True, True, True]
    assert simulation.holds(atom("lonely(c)"))
    simulation.apply(Step("cut", ("d", "d")))
    assert simulation.holds(And(atoms("well(d)", "lonely(d)")))


def test_negation_in_a_cycle_is_an_error() -> None:
    axioms = (Axiom("p", (), Not(atom("q"))), Axiom("q", (), atom("p")))
    with pytest.raises(InputError, match="depends on its own negation"):
        check_steps(problem_of(axioms=axioms), [])


def test_costs_are_exact_sums() -> None:
    action = Declared("act", (X,), cost=(Decimal("0.1"), Decimal("0.2"), atom("weight(?x)")))
    problem = problem_of(action, functions={"weight": Function("weight", (X,))}, values={atom("weight(a)"): 3})
    assert check_steps(problem, steps("act(a)")).cost == Decimal("3.3")
    assert check_steps(replace(problem, metric=Metric.LENGTH), steps("act(a)", "act(a)")).cost == 2
    assert not check_steps(replace(problem, metric=Metric.LENGTH), steps("act(b)")).valid
    reason = check_steps(problem, steps("act(a)", "act(b)")).reason
    assert reason == "step 2 act(b): its cost weight(b) has no value in problem 'p'"
    negative = replace(problem, values={atom("weight(a)"): -1})
    assert "its cost weight(a) is -1" in check_steps(negative, steps("act(a)")).reason


def test_costs_by_python() -> None:
    measured = Declared("act", (X,), cost=(CostFunction(lambda name: len(name) / 3, Decimal("0.01")),))
    assert check_steps(problem_of(measured), steps("act(a)")).cost == Decimal("0.33")
    broken = Declared("act", (X,), cost=(CostFunction(lambda name: len(name) / 3),))
    assert "float" in check_steps(problem_of(broken), steps("act(a)")).reason


def test_budgets_limit_the_sums_of_what_steps_use() -> None:
    pay = Declared("pay", (X,), provides=atoms("had(?x)"), cost=(Decimal("1.5"),), uses={"money": (2, atom("fee(?x)"))})
    functions = {"fee": Function("fee", (X,))}
    values = {atom("fee(a)"): Decimal("0.25"), atom("fee(b)"): 1}
    problem = problem_of(pay, functions=functions, values=values)
    both = steps("pay(a)", "pay(b)")
    assert resources(Plan(tuple(both), problem)) == {"money": Decimal("5.25")}
    assert check_steps(replace(problem, budgets={"money": Decimal("5.25"), "cost": 3, "air": 0}), both).valid
    verdict = check_steps(replace(problem, budgets={"money": 5, "cost": 2}), both)
    assert not verdict.valid
    assert verdict.reason == "the plan uses 5.25 of money, and the budget is 5; the plan costs 3, and the budget is 2"


def test_uses_without_a_value_are_named() -> None:
    pay = Declared("pay", (X,), provides=atoms("had(?x)"), uses={"money": (atom("fee(?x)"),)})
    verdict = check_steps(problem_of(pay, functions={"fee": Function("fee", (X,))}), steps("pay(a)"))
    assert verdict.reason == "step 1 pay(a): its use of money fee(a) has no value in problem 'p'"


def test_what_is_unknown_has_no_states_to_go_through() -> None:
    with pytest.raises(UnsupportedError, match="unknown"):
        next(simulate(problem_of(unknown=atoms("p")), []))


def test_copies_go_their_own_way() -> None:
    one = Simulation(OFFICE)
    two = one.copy()
    two.apply(*steps("move(r2, hall, lab)"))
    assert one.holds(atom("at(r2, hall)"))
    assert next(str(step) for step in two.applicable()) == "move(r2, lab, hall)"
    assert [step.cost for step in one.applicable()] == [2, *[1] * 9]
