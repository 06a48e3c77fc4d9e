"""What is written, and that a problem can be read back from it."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from planner.errors import PlanError, UnsupportedError
from planner.language.pddl import parse_domain, parse_problem
from planner.language.pddl.export import export
from planner.language.pddl.legal_names import make_legal
from planner.language.pddl.pddl_writer import write_domain, write_problem
from planner.model.actions import Action, CostFunction, When
from planner.model.domain import Axiom, DomainModel, Function, Predicate
from planner.model.formulas import TRUE, And, Atom, Equals, Exists, Forall, Formula, Imply, Not, Object, Or, Variable
from planner.model.problem import Goal, Metric, Problem, SoftGoal
from planner.plan import Step

X, Y = Variable("?x"), Variable("?y")
P, Q = Atom("p", ("?x",)), Atom("q", ("?x",))
PREDICATES = {"p": Predicate("p", (X,)), "q": Predicate("q", (X,))}


def one_action(action: Action, **parts: object) -> DomainModel:
    return DomainModel("d", predicates=PREDICATES, actions={action.name: action}, **parts)  # type: ignore[arg-type]


DELIVERY = DomainModel(
    "delivery",
    types={"robot": ("object",), "room": ("object",)},
    constants=(Object("hall", ("room",)),),
    predicates={
        "at": Predicate("at", (Variable("?r", ("robot",)), Variable("?x", ("room",)))),
        "lit": Predicate("lit", (Variable("?x", ("room",)),)),
    },
    functions={"distance": Function("distance", (Variable("?x", ("room",)), Variable("?y", ("room",))))},
    actions={
        "move": Action(
            "move",
            (Variable("?r", ("robot",)), Variable("?x", ("room",)), Variable("?y", ("room",))),
            And((Atom("at", ("?r", "?x")), Atom("lit", ("?y",)))),
            (Atom("at", ("?r", "?y")), Not(Atom("at", ("?r", "?x")))),
            cost=(1, Atom("distance", ("?x", "?y"))),
        )
    },
)
ONE = Problem(
    "one",
    DELIVERY,
    (Object("r", ("robot",)), Object("lab", ("room",))),
    (Atom("at", ("r", "hall")), Atom("lit", ("lab",))),
    Goal(Atom("at", ("r", "lab"))),
    {Atom("distance", ("hall", "lab")): Decimal("2.5")},
)


def test_domain_text() -> None:
    assert (
        write_domain(DELIVERY, costs=True)
        == """\
(define (domain delivery)
  (:requirements :strips :typing :action-costs)
  (:types robot room)
  (:constants hall - room)
  (:predicates
    (at ?r - robot ?x - room)
    (lit ?x - room)
  )
  (:functions
    (total-cost) - number
    (distance ?x ?y - room) - number
  )
  (:action move
    :parameters (?r - robot ?x ?y - room)
    :precondition (and
      (at ?r ?x)
      (lit ?y))
    :effect (and
      (at ?r ?y)
      (not (at ?r ?x))
      (increase (total-cost) 1)
      (increase (total-cost) (distance ?x ?y)))
  )
)
"""
    )


def test_problem_text() -> None:
    assert (
        write_problem(ONE)
        == """\
(define (problem one)
  (:domain delivery)
  (:objects r - robot lab - room)
  (:init
    (= (total-cost) 0)
    (at r hall)
    (lit lab)
    (= (distance hall lab) 2.5)
  )
  (:goal (at r lab))
  (:metric minimize (total-cost))
)
"""
    )


def test_without_costs_nothing_is_said_of_them() -> None:
    text = write_domain(DELIVERY, costs=False) + write_problem(ONE, costs=False)
    assert not any(word in text for word in ("total-cost", "distance", "metric", "action-costs"))


def test_both_are_read_back() -> None:
    assert parse_problem(write_problem(ONE), parse_domain(write_domain(DELIVERY, costs=True))) == ONE


@pytest.mark.parametrize(
    ("condition", "text", "requirements"),
    [
        (TRUE, "(and)", ":strips"),
        (P, "(p ?x)", ":strips"),
        (Or(), "(or)", ":strips :disjunctive-preconditions"),
        (Not(P), "(not (p ?x))", ":strips :negative-preconditions"),
        (Not(Not(P)), "(not (not (p ?x)))", ":strips :negative-preconditions :disjunctive-preconditions"),
        (Equals("?x", "?x"), "(= ?x ?x)", ":strips :equality"),
        (Not(Equals("?x", "?x")), "(not (= ?x ?x))", ":strips :equality"),
        (Imply(P, Q), "(imply (p ?x) (q ?x))", ":strips :disjunctive-preconditions"),
        (
            Forall((Y,), Atom("p", ("?y",))),
            "(forall (?y) (p ?y))",
            ":strips :universal-preconditions",
        ),
        (
            Exists((Y,), And((P, Atom("p", ("?y",))))),
            "(exists (?y) (and (p ?x) (p ?y)))",
            ":strips :existential-preconditions",
        ),
    ],
)
def test_conditions_and_the_requirements_they_have(condition: Formula, text: str, requirements: str) -> None:
    domain = one_action(Action("a", (X,), condition, (P,), cost=()))
    written = write_domain(domain, costs=False)
    assert f":precondition {text}\n" in written
    assert f"(:requirements {requirements})" in written
    assert parse_domain(written) == domain


@pytest.mark.parametrize(
    ("effect", "text"),
    [
        (When(P, (Q,)), "(when (p ?x) (q ?x))"),
        (When(P, (Q, Not(P))), "(when (p ?x) (and (q ?x) (not (p ?x))))"),
        (When(TRUE, (Atom("q", ("?y",)),), (), (Y,)), "(forall (?y) (q ?y))"),
        (When(Atom("p", ("?y",)), (Not(Q),), (), (Y,)), "(forall (?y) (when (p ?y) (not (q ?x))))"),
    ],
)
def test_effects_and_the_requirement_they_have(effect: When, text: str) -> None:
    domain = one_action(Action("a", (X,), when=(effect,), cost=()))
    written = write_domain(domain, costs=False)
    assert f":effect {text}\n" in written
    assert ":conditional-effects" in written
    assert parse_domain(written) == domain


def test_derived_predicates() -> None:
    domain = DomainModel("d", predicates=PREDICATES, axioms=(Axiom("p", (X,), Or((Q, Not(Q)))), Axiom("p", (X,), Q)))
    written = write_domain(domain, costs=False)
    assert ":derived-predicates" in written
    assert parse_domain(written) == domain


def test_types_are_written_with_all_their_parents() -> None:
    types = {"a": ("b", "c"), "b": ("object",), "c": ("object",), "d": ("b",)}
    domain = DomainModel("d", types=types, predicates={"p": Predicate("p", (X, Variable("?y", ("a", "d"))))})
    written = write_domain(domain, costs=False)
    assert "(:types a - b a - c b c - object d - b)" in written
    assert "(p ?x - object ?y - (either a d))" in written
    assert parse_domain(written) == domain


PLAIN = Action("a", (X,), P, (Q,))


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        (one_action(Action("a", (X,), modifies=(Atom("p", ("_",)),))), "'modifies' of 'a', in PDDL"),
        (
            one_action(Action("a", (X,), when=(When(modifies=(P,)),))),
            "'modifies' of a conditional effect of 'a', in PDDL",
        ),
        (one_action(Action("a", (X,), after=(Atom("b"),))), "'after' of 'a', in PDDL"),
        (one_action(Action("a", (X,), creates={"t": "ticket"})), "'creates' of 'a', in PDDL"),
        (one_action(Action("a", (X,), cost=(CostFunction(len),))), "a cost of 'a' that Python computes, in PDDL"),
        (DomainModel("d", predicates={"p": Predicate("p", stale_with=(Atom("q"),))}), "'stale_with' of 'p', in PDDL"),
        (DomainModel("my domain"), "the name 'my domain', in PDDL"),
        (one_action(Action("send mail", (X,))), "the name 'send mail', in PDDL"),
    ],
)
def test_what_pddl_cannot_say_is_refused(domain: DomainModel, message: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        write_domain(domain, costs=True)
    assert caught.value.construct == message


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (
            Problem("p", one_action(PLAIN), goal=Goal(soft=(SoftGoal(TRUE, 1),))),
            "soft goals, in PDDL without preferences",
        ),
        (Problem("p", one_action(PLAIN), unknown=(Atom("p", ("_",)),)), "facts declared unknown, in PDDL"),
        (Problem("p", one_action(PLAIN), objects=(Object("?x"),)), "the name '?x', in PDDL"),
    ],
)
def test_what_problems_cannot_say_is_refused(problem: Problem, message: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        write_problem(problem)
    assert caught.value.construct == message


class TestNames:
    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("move", "move"),
            ("Send E-mail", "send-e-mail"),
            ("Größe", "grosse"),
            ("naïve", "naive"),
            ("2nd", "x2nd"),
            ("?", "x"),
            ("(a)", "a"),
            ("日本", "x"),
            ("a_b", "a_b"),
        ],
    )
    def test_legal(self, name: str, expected: str) -> None:
        assert make_legal(name) == expected

    def test_names_that_clash_are_told_apart_and_mapped_back(self) -> None:
        room = ("Room",)
        domain = DomainModel(
            "My Domain",
            types={"Room": ("object",), "room": ("object",)},
            predicates={
                "and": Predicate("and", (Variable("?X", room), Variable("?x", ("room",)))),
                "Hall": Predicate("Hall"),
            },
            actions={
                name: Action(
                    name, (Variable("?X", room), Variable("?x", ("room",))), TRUE, (Atom("and", ("?X", "?x")),)
                )
                for name in ("Send Mail", "send-mail", "or")
            },
        )
        objects = (Object("hall", room), Object("Lab 1", ("room",)), Object("lab-1", ("room",)))
        goal = Goal(Atom("and", ("hall", "Lab 1")))
        written = export(Problem("The Problem", domain, objects, (), goal))
        for text in (
            "(domain my-domain)",
            "(:types room-2 room)",
            "(and-2 ?x-2 - room-2 ?x - room)",
            "(:action send-mail-2\n    :parameters (?x-2 - room-2 ?x - room)",
            "(:action or-2\n",
        ):
            assert text in written.domain
        assert "(:objects hall - room-2 lab-1-2 lab-1 - room)" in written.problem
        assert "(hall-2)" in written.domain
        assert written.lift(Step("SEND-MAIL-2", ("hall", "lab-1-2"))) == Step("Send Mail", ("hall", "Lab 1"), 1)

    def test_steps_that_the_files_do_not_have(self) -> None:
        written = export(ONE)
        with pytest.raises(PlanError, match="the exported problem has no action 'fly'"):
            written.lift(Step("fly"))
        with pytest.raises(PlanError, match="the exported problem has no object 'nowhere'"):
            written.lift(Step("move", ("r", "hall", "nowhere")))


class TestCosts:
    def test_decimals_become_integers_and_come_back(self) -> None:
        written = export(ONE)
        assert written.resolution == 10
        assert "(increase (total-cost) (cost-of-move ?x ?y))" in written.domain
        assert "(= (cost-of-move hall lab) 35)" in written.problem
        plan = written.read_plan("(move r hall lab)")
        assert plan.cost == Decimal("3.5")
        assert plan.problem is ONE

    def test_several_terms_become_one_where_all_have_a_value(self) -> None:
        terms = (1, Atom("weight", ("?x",)), Atom("fee"), Atom("weight", ("?x",)), 2)
        functions = {"weight": Function("weight", (X,)), "fee": Function("fee")}
        domain = replace(one_action(Action("a", (X,), P, (Q,), cost=terms)), functions=functions)
        values = {Atom("weight", ("o",)): 5, Atom("fee"): 7}
        problem = Problem("p", domain, (Object("o"), Object("n")), values=values)
        written = export(problem)
        assert written.written.values[Atom("cost-of-a", ("o",))] == 20
        assert Atom("cost-of-a", ("n",)) not in written.written.values
        constants = replace(problem, domain=one_action(Action("a", (X,), P, (Q,), cost=(2, 3))), values={})
        assert "(increase (total-cost) 5)" in export(constants).domain

    def test_a_cost_without_an_effect_is_written_inside_and(self) -> None:
        text = export(Problem("p", one_action(Action("a", (X,), P, cost=(7,))), (Object("o"),))).domain
        assert ":effect (and\n      (increase (total-cost) 7))" in text

    def test_a_cost_of_one_everywhere_is_the_length(self) -> None:
        problem = Problem("p", one_action(PLAIN), (Object("o"),), goal=Goal(Atom("q", ("o",))))
        assert "total-cost" not in export(problem).domain + export(problem).problem

    def test_costs_do_not_count_where_the_length_does(self) -> None:
        domain = one_action(Action("a", (X,), P, (Q,), cost=(7,)))
        problem = Problem("p", domain, (Object("o"),), metric=Metric.LENGTH)
        assert "total-cost" not in export(problem).domain
        assert export(problem).lift(Step("a", ("o",))).cost == 1

    def test_costs_are_left_out_on_request(self) -> None:
        written = export(ONE, costs=False)
        assert "(distance" not in written.domain + written.problem
        assert "(has-distance ?x ?y)" in written.domain  # what has no cost is applicable nowhere
        assert written.lift(Step("move", ("r", "hall", "lab"))).cost == Decimal("3.5")

    def test_costs_that_python_computes_become_a_table_of_what_can_be_reached(self) -> None:
        def cost(name: str) -> int:
            return {"near": 2, "far": 5}[name]

        domain = one_action(Action("a", (X,), P, (Q,), cost=(1, CostFunction(cost))))
        initial = (Atom("p", ("near",)), Atom("p", ("far",)))
        goal = Goal(Atom("q", ("far",)))
        problem = Problem("p", domain, (Object("near"), Object("far"), Object("never")), initial, goal)
        written = export(problem)
        assert set(written.written.values.items()) == {
            (Atom("cost-of-a", ("near",)), 3),
            (Atom("cost-of-a", ("far",)), 6),
        }
        assert "(has-cost-a ?x)\n      (p ?x)" in written.domain
        assert written.lift(Step("a", ("far",))) == Step("a", ("far",), 6)


class TestPlainTypes:
    def test_a_tree_is_left_alone(self) -> None:
        assert "(:types robot room)" in export(ONE).domain

    def test_alternatives_in_declarations_of_predicates_are_dropped(self) -> None:
        parameters = (Variable("?x", ("robot", "room")),)
        domain = DomainModel("d", {"robot": (), "room": ()}, predicates={"p": Predicate("p", parameters)})
        written = export(Problem("p", domain))
        assert "(p ?x)" in written.domain
        assert "(:types robot room)" in written.domain

    @pytest.mark.parametrize(
        ("types", "objects"),
        [
            ({"a": ("b", "c"), "b": (), "c": ()}, (Object("o", ("a",)), Object("n", ("b",)))),
            ({"a": (), "b": (), "c": ()}, (Object("o", ("a", "b", "c")), Object("n", ("b",)))),
        ],
    )
    def test_types_become_facts_where_they_are_no_tree(
        self, types: dict[str, tuple[str, ...]], objects: tuple[Object, ...]
    ) -> None:
        a, c, both = Variable("?x", ("a",)), Variable("?y", ("c",)), Variable("?z", ("b", "c"))
        py, pz = Atom("p", ("?y",)), Atom("p", ("?z",))
        action = Action(
            "act",
            (a, both),
            And((P, Forall((c,), py), Exists((c,), py), Forall((Variable("?w"),), Atom("p", ("?w",))))),
            (Q,),
            when=(When(TRUE, (Not(py),), (), (c,)), When(pz, (Q,))),
        )
        domain = one_action(action, types=types, axioms=())
        domain = DomainModel(
            "d", types, (), {**PREDICATES, "r": Predicate("r", (a,))}, {}, domain.actions, (Axiom("r", (a,), P),)
        )
        written = export(Problem("p", domain, objects, (), Goal(Forall((c,), py))))
        assert ":types" not in written.domain
        assert ":parameters (?x ?z)" in written.domain
        for text in (
            "(is-a ?x)\n      (is-b-or-c ?z)\n      (p ?x)",
            "(forall (?y) (imply (and (is-c ?y)) (p ?y)))",
            "(exists (?y) (and (is-c ?y) (p ?y)))",
            "(forall (?w) (p ?w))",
            "(forall (?y) (when (is-c ?y) (not (p ?y))))",
            "(when (p ?z) (q ?x))",
            "(:derived (r ?x)\n    (and\n      (is-a ?x)\n      (p ?x)))",
        ):
            assert text in written.domain
        facts = {str(fact) for fact in written.written.initial}
        assert facts == {"is-a(o)", "is-c(o)", "is-b-or-c(o)", "is-b-or-c(n)"}


class TestLevels:
    def test_strips_where_it_will_do(self) -> None:
        assert export(ONE).level == "strips"
        assert export(ONE, "adl").level == "adl"

    def test_adl_where_it_is_needed(self) -> None:
        domain = one_action(Action("a", (X,), Or((P, Q)), (Not(P),)))
        assert export(Problem("p", domain, (Object("o"),))).level == "adl"

    def test_ground_strips_on_request(self) -> None:
        domain = one_action(Action("a", (X,), Or((P, Not(Q))), (Q,), cost=(3,)))
        problem = Problem("p", domain, (Object("the one"),), (), Goal(Atom("q", ("the one",))))
        written = export(problem, "strips")
        assert written.level == "strips"
        assert "(:action a-the-one\n    :parameters ()" in written.domain
        assert ":requirements :strips :action-costs" in written.domain
        plan = written.read_plan("(a-the-one)")
        assert plan.steps == (Step("a", ("the one",), 3),)

    def test_ground_goal_that_cannot_be_reached(self) -> None:
        domain = one_action(Action("a", (X,), Or((P, Atom("p", ("?x",)))), (Not(P),)))
        problem = Problem("p", domain, (Object("o"),), (), Goal(Or((Atom("q", ("o",)), Atom("p", ("o",))))))
        written = export(problem, "strips")
        assert "(:goal (unreachable-goal))" in written.problem
        assert not written.written.domain.actions

    @pytest.mark.parametrize(
        ("domain", "message"),
        [
            (
                one_action(Action("a", (X,), when=(When(P, (Q, Not(P))),))),
                "conditional effects in STRIPS, as a(o) has them",
            ),
            (
                DomainModel(
                    "d",
                    predicates={**PREDICATES, "r": Predicate("r", (X,))},
                    actions={"a": Action("a", (X,), P, (Q, Not(P))), "b": Action("b", (X,), Q, (P, Not(Q)))},
                    axioms=(Axiom("r", (X,), Q),),
                ),
                "derived predicates, or conditions that have to be derived, in STRIPS",
            ),
        ],
    )
    def test_what_ground_strips_cannot_say(self, domain: DomainModel, message: str) -> None:
        wanted = "r" if domain.axioms else "q"
        problem = Problem("p", domain, (Object("o"),), (Atom("p", ("o",)),), Goal(Atom(wanted, ("o",))))
        with pytest.raises(UnsupportedError) as caught:
            export(problem, "strips")
        assert caught.value.construct == message
