"""What real PDDL files do, and what it means."""

from __future__ import annotations

import gc
from decimal import Decimal
from pathlib import Path

import pytest

from planner.errors import PddlError
from planner.language.pddl import parse_condition, parse_domain, parse_problem, read
from planner.model import And, Atom, Equals, Exists, Forall, Formula, Imply, Not, Or
from planner.model.actions import When
from planner.model.domain import Axiom
from planner.model.formulas import FALSE, TRUE, Object, Variable
from planner.model.problem import Metric


def domain(sections: str, name: str = "d") -> str:
    return f"(define (domain {name}) {sections})"


def problem(sections: str, goal: str = "()", name: str = "d") -> str:
    return f"(define (problem p) (:domain {name}) {sections} (:goal {goal}))"


PREDICATES = "(:predicates (p ?x) (q ?x) (r ?x ?y) (s))"


def action(body: str, declared: str = PREDICATES) -> str:
    return domain(f"{declared} (:action a {body})")


class TestLayout:
    def test_names_become_lower_case(self) -> None:
        read_domain = parse_domain(
            "(DEFINE (DOMAIN D) (:PREDICATES (P ?X)) (:ACTION A :PARAMETERS (?X) :EFFECT (P ?x)))"
        )
        assert read_domain.name == "d"
        assert read_domain.actions["a"].parameters == (Variable("?x"),)
        assert read_domain.actions["a"].provides == (Atom("p", ("?x",)),)

    def test_no_space_is_needed_around_parentheses_and_before_variables(self) -> None:
        tight = parse_domain(
            "(define(domain d)(:predicates(p?x)(q?x))(:action a:parameters(?x):precondition(p?x)))".replace(
                "a:p", "a :p"
            )
        )
        assert tight.actions["a"].requires == Atom("p", ("?x",))

    def test_comments_end_with_their_line_whatever_ends_it(self) -> None:
        for end in ("\n", "\r\n", "\r"):
            text = f"; (one{end}(define ; two ){end}(domain d)){end};;"
            assert parse_domain(text).name == "d"

    def test_sections_in_any_order(self) -> None:
        shuffled = domain("(:action a :parameters (?x - t) :effect (p ?x)) (:predicates (p ?x - t)) (:types t)")
        assert parse_domain(shuffled).actions["a"].parameters == (Variable("?x", ("t",)),)
        read_problem = parse_problem(
            "(define (problem p) (:goal (p b)) (:init (p a)) (:objects a b - t) (:domain d))", parse_domain(shuffled)
        )
        assert read_problem.initial == (Atom("p", ("a",)),)

    def test_sections_may_be_repeated(self) -> None:
        twice = parse_domain(domain("(:predicates (p ?x)) (:predicates (q ?x)) (:constants a) (:constants b)"))
        assert list(twice.predicates) == ["p", "q"]
        assert [constant.name for constant in twice.constants] == ["a", "b"]

    def test_everything_but_the_name_may_be_missing(self) -> None:
        empty = parse_domain("(define (domain d))")
        assert not empty.actions
        bare = parse_problem("(define (problem p) (:domain d) (:goal ()))", empty)
        assert (bare.objects, bare.initial, bare.goal.hard) == ((), (), TRUE)

    @pytest.mark.parametrize(
        "section",
        [
            "(:invariant :name n :vars (?x) :set-constraint (exactly-n 1 (p ?x)))",
            "(:requirements :wibble)",
            "(:extends e)",
        ],
    )
    def test_sections_without_meaning_are_left_out(self, section: str) -> None:
        assert parse_domain(domain(f"{section} {PREDICATES}")) == parse_domain(domain(PREDICATES))

    def test_hints_to_planners_are_left_out_of_problems(self) -> None:
        read_domain = parse_domain(domain(PREDICATES))
        text = problem("(:requirements :strips) (:length (:serial 3)) (:objects a) (:init (p a))")
        assert parse_problem(text, read_domain).initial == (Atom("p", ("a",)),)

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
    def test_any_encoding(self, tmp_path: Path, encoding: str) -> None:
        text = "(define (domain café) ; naïve\n (:predicates (größe ?x)))"
        (tmp_path / "d.pddl").write_text(text, encoding=encoding)
        (tmp_path / "p.pddl").write_text("(define (problem ü) (:domain CAFÉ) (:goal ()))", encoding=encoding)
        found = read(tmp_path / "d.pddl", str(tmp_path / "p.pddl"))
        assert (found.name, found.domain.name, list(found.domain.predicates)) == ("ü", "café", ["größe"])

    def test_the_collector_runs_again_after_reading(self) -> None:
        assert gc.isenabled()
        parse_domain("(define (domain d))")
        assert gc.isenabled()

    def test_a_collector_that_was_off_stays_off(self) -> None:
        gc.disable()
        try:
            parse_domain("(define (domain d))")
            assert not gc.isenabled()
        finally:
            gc.enable()


class TestTypes:
    @pytest.mark.parametrize(
        ("types", "expected"),
        [
            ("", {}),
            ("a b", {"a": ("object",), "b": ("object",)}),
            ("a - b", {"a": ("b",), "b": ("object",)}),
            ("a b - c c - object", {"a": ("c",), "b": ("c",), "c": ("object",)}),
            ("a - (either b c) b c", {"a": ("b", "c"), "b": ("object",), "c": ("object",)}),
            ("a - b a - c", {"a": ("b", "c"), "b": ("object",), "c": ("object",)}),
            ("a - object a - b", {"a": ("b",), "b": ("object",)}),
            ("object - object a", {"a": ("object",)}),
            ("a - a", {"a": ("object",)}),
            ("a -b", {"a": ("b",), "b": ("object",)}),
        ],
    )
    def test_hierarchy(self, types: str, expected: dict[str, tuple[str, ...]]) -> None:
        assert parse_domain(domain(f"(:types {types})")).types == expected

    def test_either(self) -> None:
        found = parse_domain(domain("(:types a b) (:predicates (p ?x - (either a b) ?y))"))
        assert found.predicates["p"].parameters == (Variable("?x", ("a", "b")), Variable("?y"))

    def test_repeated_names_in_a_predicate_mean_nothing(self) -> None:
        found = parse_domain(domain("(:predicates (at ?obj ?obj))"))
        assert [each.name for each in found.predicates["at"].parameters] == ["?obj", "?obj-2"]


class TestObjects:
    def test_duplicates_count_once(self) -> None:
        read_domain = parse_domain(domain("(:types t u) (:constants c - t)"))
        found = parse_problem(problem("(:objects a - t b - u a - t c - t)"), read_domain)
        assert found.objects == (Object("a", ("t",)), Object("b", ("u",)))

    def test_an_object_declared_with_two_types_has_both(self) -> None:
        read_domain = parse_domain(domain("(:types t u) (:predicates (p ?x - t) (q ?x - u))"))
        found = parse_problem(problem("(:objects a - t a a - u) (:init (p a) (q a))"), read_domain)
        assert found.objects == (Object("a", ("t", "u")),)

    def test_a_constant_may_be_redeclared_with_a_wider_type(self) -> None:
        read_domain = parse_domain(domain("(:types t - u) (:constants c - t)"))
        assert parse_problem(problem("(:objects c - u)"), read_domain).objects == ()

    def test_object_of_a_subtype_fits(self) -> None:
        read_domain = parse_domain(domain("(:types t - u) (:predicates (p ?x - u))"))
        found = parse_problem(problem("(:objects a - t) (:init (p a))", "(p a)"), read_domain)
        assert found.goal.hard == Atom("p", ("a",))


class TestConditions:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("()", TRUE),
            ("(and)", TRUE),
            ("(or)", FALSE),
            ("(and ())", And((TRUE,))),
            ("(s)", Atom("s")),
            ("(and (p ?x) (q ?x))", And((Atom("p", ("?x",)), Atom("q", ("?x",))))),
            ("(or (p ?x) (not (s)))", Or((Atom("p", ("?x",)), Not(Atom("s"))))),
            ("(imply (p ?x) (s))", Imply(Atom("p", ("?x",)), Atom("s"))),
            ("(= ?x ?y)", Equals("?x", "?y")),
            ("(not (= ?x ?y))", Not(Equals("?x", "?y"))),
            ("(forall (?z) (p ?z))", Forall((Variable("?z"),), Atom("p", ("?z",)))),
            ("(exists (?z ?w) (r ?z ?w))", Exists((Variable("?z"), Variable("?w")), Atom("r", ("?z", "?w")))),
            ("(exists () (s))", Exists((), Atom("s"))),
            ("(forall (?x) (p ?x))", Forall((Variable("?x-2"),), Atom("p", ("?x-2",)))),
        ],
    )
    def test_formulas(self, text: str, expected: Formula) -> None:
        found = parse_domain(action(f":parameters (?x ?y) :precondition {text}"))
        assert found.actions["a"].requires == expected

    @pytest.mark.parametrize(
        "keyword", ["not", "and", "exists", "when", "at", "over", "=", "increase", "preference", "<"]
    )
    def test_predicates_named_like_keywords(self, keyword: str) -> None:
        declared = f"(:predicates ({keyword} ?x ?y) (p ?x))"
        if keyword == "=":
            declared = "(:predicates (= ?x ?y) (p ?x))"
        text = action(f":parameters (?x) :precondition ({keyword} ?x ?x) :effect (and ({keyword} ?x ?x))", declared)
        if keyword == "=":
            text = action(":parameters (?x) :precondition (= ?x ?x) :effect (p ?x)", declared)
        found = parse_domain(text).actions["a"]
        assert found.requires == (Equals("?x", "?x") if keyword == "=" else Atom(keyword, ("?x", "?x")))

    def test_a_predicate_without_arguments_may_be_called_always(self) -> None:
        found = parse_domain(action(":precondition (always) :effect (not (always))", "(:predicates (always))"))
        assert found.actions["a"].provides == (Not(Atom("always")),)

    def test_predicates_are_declared_by_use_without_their_section(self) -> None:
        found = parse_domain(domain("(:action a :parameters (?x) :precondition (p ?x ?x) :effect (q ?x))"))
        assert {name: len(each.parameters) for name, each in found.predicates.items()} == {"p": 2, "q": 1}

    def test_single_conditions_keep_case_and_look_nothing_up(self) -> None:
        text = "(OR (Ready robot) (forall (?y - Part) (imply (at ?y _) (not (= ?y Hall)))))"
        inner = Imply(Atom("at", ("?y", "_")), Not(Equals("?y", "Hall")))
        expected = Or((Atom("Ready", ("robot",)), Forall((Variable("?y", ("Part",)),), inner)))
        assert parse_condition(text) == expected

    def test_old_vars_are_parameters(self) -> None:
        found = parse_domain(action(":parameters (?x) :vars (?y) :precondition (r ?x ?y)")).actions["a"]
        assert found.parameters == (Variable("?x"), Variable("?y"))

    def test_keys_without_meaning_are_left_out(self) -> None:
        found = parse_domain(action(":comment (anything at all) :precondition (s)")).actions["a"]
        assert found.requires == Atom("s")


class TestEffects:
    @pytest.mark.parametrize(
        "text", ["", ":effect ()", ":effect (and)", ":effect (when (s) ())", ":effect (forall (?z) (and))"]
    )
    def test_nothing(self, text: str) -> None:
        found = parse_domain(action(f":parameters (?x) {text}")).actions["a"]
        assert (found.provides, found.when, found.cost) == ((), (), ())

    def test_nested_conjunctions_are_one(self) -> None:
        found = parse_domain(action(":parameters (?x) :effect (and (p ?x) (and (not (q ?x)) (and (s))))")).actions["a"]
        assert found.provides == (Atom("p", ("?x",)), Not(Atom("q", ("?x",))), Atom("s"))

    def test_conditional(self) -> None:
        found = parse_domain(action(":parameters (?x) :effect (and (s) (when (p ?x) (and (q ?x) (not (s)))))")).actions[
            "a"
        ]
        assert found.provides == (Atom("s"),)
        assert found.when == (When(Atom("p", ("?x",)), (Atom("q", ("?x",)), Not(Atom("s")))),)

    def test_nested_quantifiers_and_conditions_are_joined(self) -> None:
        effect = "(forall (?y) (when (p ?y) (and (s) (forall (?z) (when (r ?y ?z) (q ?z))))))"
        found = parse_domain(action(f":parameters (?x) :effect {effect}")).actions["a"]
        y, z = Variable("?y"), Variable("?z")
        assert found.when == (
            When(Atom("p", ("?y",)), (Atom("s"),), (), (y,)),
            When(And((Atom("p", ("?y",)), Atom("r", ("?y", "?z")))), (Atom("q", ("?z",)),), (), (y, z)),
        )

    def test_a_true_condition_is_none(self) -> None:
        found = parse_domain(action(":effect (when (and) (s))")).actions["a"]
        assert (found.provides, found.when) == ((Atom("s"),), ())

    def test_a_hidden_variable_is_not_caught(self) -> None:
        found = parse_domain(action(":parameters (?x) :effect (when (p ?x) (forall (?x) (q ?x)))")).actions["a"]
        assert found.when == (When(Atom("p", ("?x",)), (Atom("q", ("?x-2",)),), (), (Variable("?x-2"),)),)

    def test_new_names_do_not_meet_old_ones(self) -> None:
        text = action(":parameters (?x ?x-2) :effect (forall (?x) (r ?x ?x-2))")
        assert parse_domain(text).actions["a"].when[0].provides == (Atom("r", ("?x-3", "?x-2")),)


class TestDerived:
    def test_several_rules(self) -> None:
        text = domain(
            "(:types t) (:predicates (on ?x ?y) (above ?x ?y))"
            "(:derived (above ?x ?y - t) (on ?x ?y))"
            "(:derived (above ?x ?y) (exists (?z) (and (on ?x ?z) (above ?z ?y))))"
        )
        x, y = Variable("?x", ("t",)), Variable("?y", ("t",))
        found = parse_domain(text)
        assert found.axioms[0] == Axiom("above", (x, y), Atom("on", ("?x", "?y")))
        assert len(found.axioms) == 2
        assert found.derived == {"above"}


class TestCosts:
    FUNCTIONS = "(:functions (total-cost) (d ?x ?y) - number (c)) (:predicates (p ?x))"

    @pytest.mark.parametrize(
        ("increases", "expected"),
        [
            ("(increase (total-cost) 3)", (3,)),
            ("(increase total-cost 3)", (3,)),
            ("(increase (total-cost) 2.50)", (Decimal("2.5"),)),
            ("(increase (total-cost) 2.0)", (2,)),
            ("(increase (total-cost) 1e3)", (1000,)),
            ("(increase (total-cost) 0)", (0,)),
            ("(increase (total-cost) (d ?x ?x))", (Atom("d", ("?x", "?x")),)),
            ("(increase (total-cost) c)", (Atom("c"),)),
            ("(increase (total-cost) (+ 1 (c) (+ (d ?x ?x) 2)))", (1, Atom("c"), Atom("d", ("?x", "?x")), 2)),
            ("(increase (total-cost) 1) (increase (total-cost) (c))", (1, Atom("c"))),
        ],
    )
    def test_terms(self, increases: str, expected: tuple[object, ...]) -> None:
        found = parse_domain(action(f":parameters (?x) :effect (and (p ?x) {increases})", self.FUNCTIONS)).actions["a"]
        assert found.cost == expected
        assert found.provides == (Atom("p", ("?x",)),)

    def test_functions_are_declared_by_use_without_their_section(self) -> None:
        found = parse_domain(action(":parameters (?x) :effect (increase (total-cost) (far ?x))"))
        assert list(found.functions) == ["far"]

    def test_the_total_is_no_function_of_the_model(self) -> None:
        assert list(parse_domain(domain(self.FUNCTIONS)).functions) == ["d", "c"]

    def test_values(self) -> None:
        text = problem("(:objects a) (:init (= (total-cost) 0) (p a) (= (d a a) 3) (= c 1.5) (= (d a a) 3.0))")
        found = parse_problem(text, parse_domain(domain(self.FUNCTIONS)))
        assert found.values == {Atom("d", ("a", "a")): 3, Atom("c"): Decimal("1.5")}
        assert found.initial == (Atom("p", ("a",)),)

    @pytest.mark.parametrize(
        ("metric", "expected"),
        [
            ("", Metric.LENGTH),
            ("(:metric minimize (total-cost))", Metric.COST),
            ("(:metric minimize total-cost)", Metric.COST),
        ],
    )
    def test_metric(self, metric: str, expected: Metric) -> None:
        assert parse_problem(problem(metric), parse_domain("(define (domain d))")).metric is expected


class TestInitial:
    DOMAIN = parse_domain(domain(f"{PREDICATES} (:predicates (at ?x ?y) (not ?x))"))

    def read(self, facts: str) -> tuple[Atom, ...]:
        return parse_problem(problem(f"(:objects a b) (:init {facts})"), self.DOMAIN).initial

    def test_order_is_kept_and_duplicates_count_once(self) -> None:
        assert self.read("(p b) (s) (p a) (p b) (s)") == (Atom("p", ("b",)), Atom("s"), Atom("p", ("a",)))

    def test_negated_facts_say_what_is_so_anyway(self) -> None:
        assert self.read("(not (p a)) (p b)") == (Atom("p", ("b",)),)

    def test_facts_of_predicates_named_like_keywords(self) -> None:
        assert self.read("(at a b) (not a)") == (Atom("at", ("a", "b")), Atom("not", ("a",)))

    def test_a_letter_is_no_fact_of_the_predicate_of_that_name(self) -> None:
        with pytest.raises(PddlError, match="found 's', expected a fact; write"):
            self.read("s")
