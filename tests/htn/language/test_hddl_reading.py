"""What real HDDL files do, and what it means."""

from __future__ import annotations

import gc

import pytest

from htn.language.hddl import parse_domain, parse_problem
from htn.model import HtnDomain, HtnProblem, Method, Network, Task
from planner.errors import PddlError, UnsupportedError
from planner.language.pddl import parse_domain as parse_pddl_domain
from planner.language.pddl.syntax import FileWarning
from planner.model import TRUE, And, Atom, Equals, Forall, Metric, Not, Variable

BASE = """(:types place thing - object ship - (either place thing) town - place)
  (:predicates (at ?x - thing ?p - place) (ready ?x)) (:task visit :parameters (?p - place)) (:task rest)
  (:action go :parameters (?p ?q - place)) (:action stop :parameters ())"""


def domain(sections: str, base: str = BASE) -> HtnDomain:
    return parse_domain(f"(define (domain d) {base} {sections})")


def method(body: str) -> Method:
    """Return the method with this body for a task without parameters."""
    return domain(f"(:method m {body} :task (rest))").methods["m"]


def network(body: str) -> Network:
    return method(f":parameters (?p ?q ?r - place) {body}").network


def problem(sections: str, of: str = "") -> HtnProblem:
    return parse_problem(f"(define (problem p) (:domain d) {sections})", domain(of))


def tasks_of(found: Network) -> list[str]:
    return [str(each.task) for each in found.subtasks]


GO, STOP = "go(?p, ?q)", "stop"


class TestTasks:
    def test_a_task_and_its_parameters(self) -> None:
        assert domain("").tasks == {"visit": Task("visit", (Variable("?p", ("place",)),)), "rest": Task("rest")}

    def test_its_precondition_and_effect_are_left_out(self) -> None:
        found = domain("(:task t :parameters (?x - thing) :precondition (ready ?x) :effect (and (not (ready ?x))))")
        assert found.tasks["t"] == Task("t", (Variable("?x", ("thing",)),))

    def test_tasks_and_actions_may_be_declared_after_their_use(self) -> None:
        found = parse_domain(
            "(define (domain d) (:method m :task (t) :subtasks (a)) (:action a) (:task t :parameters ()))"
        )
        assert tasks_of(found.methods["m"].network) == ["a"]

    def test_predicates_may_be_declared_by_their_use_in_methods(self) -> None:
        found = parse_domain(
            "(define (domain d) (:task t) (:method m :parameters (?x) :task (t) :precondition (p ?x)))"
        )
        assert [len(each.parameters) for each in found.classical.predicates.values()] == [1]

    def test_names_become_lower_case(self) -> None:
        found = parse_domain("(DEFINE (DOMAIN D) (:TASK T) (:METHOD M :TASK (T) :SUBTASKS (AND (L (T)))))")
        assert found.methods["m"].task == Atom("t")
        assert [(each.label, each.task) for each in found.methods["m"].network.subtasks] == [("l", Atom("t"))]

    def test_a_domain_without_tasks_is_classical(self) -> None:
        text = "(define (domain d) (:predicates (p)) (:action a :effect (p)))"
        assert parse_domain(text) == HtnDomain(parse_pddl_domain(text))


class TestMethods:
    def test_a_method(self) -> None:
        found = domain(
            "(:method m :parameters (?p - town ?q - place) :task (visit ?p)"
            " :precondition (forall (?x - thing) (at ?x ?q)) :subtasks (go ?q ?p))"
        ).methods["m"]
        assert found.task == Atom("visit", ("?p",))
        assert found.parameters == (Variable("?p", ("town",)), Variable("?q", ("place",)))
        assert found.precondition == Forall((Variable("?x", ("thing",)),), Atom("at", ("?x", "?q")))
        assert tasks_of(found.network) == ["go(?q, ?p)"]

    def test_of_what_is_missing_there_is_none(self) -> None:
        assert method("") == Method("m", Atom("rest"))

    @pytest.mark.parametrize("empty", ["()", "(and)"])
    def test_empty_lists(self, empty: str) -> None:
        found = method(f":precondition {empty} :subtasks {empty} :ordering {empty} :constraints {empty}")
        assert found == Method("m", Atom("rest"))

    def test_methods_keep_the_order_of_the_file(self) -> None:
        found = domain("(:method b :task (rest)) (:method c :task (rest)) (:method a :task (rest))")
        assert [each.name for each in found.methods_for("rest")] == ["b", "c", "a"]

    def test_constants_as_arguments(self) -> None:
        found = domain("(:constants home - town) (:method m :task (visit home) :subtasks (go home home))").methods["m"]
        assert found.task == Atom("visit", ("home",))

    @pytest.mark.parametrize("kind", ["place", "town", "object", "ship", "(either town thing)", "(either thing ship)"])
    def test_a_type_that_may_fit_is_a_condition(self, kind: str) -> None:
        assert method(f":parameters (?p - {kind}) :subtasks (visit ?p)").parameters[0].types

    @pytest.mark.parametrize("kind", ["thing", "(either thing crew)", "crew"])
    def test_a_type_that_never_fits(self, kind: str) -> None:
        with pytest.raises(PddlError, match="no object is of both types"):
            parse_domain(
                "(define (domain d) (:types place thing crew) (:task visit :parameters (?p - place)) (:task rest)"
                f" (:method m :parameters (?p - {kind}) :task (rest) :subtasks (visit ?p)))"
            )

    def test_an_object_of_two_types_fits_both(self) -> None:
        found = parse_domain(
            "(define (domain d) (:types place thing) (:constants raft - place raft - thing)"
            " (:task visit :parameters (?p - place)) (:method m :parameters (?x - thing) :task (visit ?x)))"
        )
        assert found.methods["m"].task == Atom("visit", ("?x",))


class TestNetworks:
    @pytest.mark.parametrize("key", [":ordered-subtasks", ":ordered-tasks"])
    def test_sequences(self, key: str) -> None:
        found = network(f"{key} (and (go ?p ?q) (stop) (rest))")
        assert tasks_of(found) == [GO, STOP, "rest"]
        assert found.ordering == ((0, 1), (1, 2))

    @pytest.mark.parametrize("key", [":subtasks", ":tasks"])
    def test_no_order(self, key: str) -> None:
        found = network(f"{key} (and (go ?p ?q) (stop))")
        assert tasks_of(found) == [GO, STOP]
        assert found.ordering == ()

    @pytest.mark.parametrize("text", ["(go ?p ?q)", "(t1 (go ?p ?q))", "(and (go ?p ?q))", "(and (t1 (go ?p ?q)))"])
    def test_one_task(self, text: str) -> None:
        for key in (":subtasks", ":ordered-subtasks"):
            found = network(f"{key} {text}")
            assert tasks_of(found) == [GO]
            assert found.ordering == ()
            assert found.subtasks[0].label == ("t1" if "t1" in text else "")

    @pytest.mark.parametrize(
        ("text", "ordering"),
        [
            ("(and (< a b) (< b c))", ((0, 1), (1, 2))),
            ("(and (< b c) (< a b))", ((1, 2), (0, 1))),
            ("(< a c)", ((0, 2),)),
            ("(a < c)", ((0, 2),)),
            ("(and (c < a) (< b a))", ((2, 0), (1, 0))),
            ("(and (< a b) (< a b))", ((0, 1),)),
            ("()", ()),
        ],
    )
    def test_orderings(self, text: str, ordering: object) -> None:
        found = network(f":subtasks (and (a (rest)) (b (stop)) (c (rest))) :ordering {text}")
        assert found.ordering == ordering

    def test_the_ordering_may_come_first(self) -> None:
        assert network(":ordering (< b a) :subtasks (and (a (rest)) (b (stop)))").ordering == ((1, 0),)

    def test_a_sequence_with_an_ordering(self) -> None:
        found = network(":ordered-subtasks (and (a (rest)) (b (stop)) (c (rest))) :ordering (and (< a c) (< a b))")
        assert found.ordering == ((0, 1), (1, 2), (0, 2))

    def test_not_all_tasks_need_labels(self) -> None:
        assert network(":subtasks (and (rest) (b (stop)) (stop) (a (rest))) :ordering (< a b)").ordering == ((3, 1),)

    def test_labels_may_be_names_of_tasks(self) -> None:
        found = network(":subtasks (and (stop (rest)) (rest (stop))) :ordering (< rest stop)")
        assert tasks_of(found) == ["rest", "stop"]
        assert found.ordering == ((1, 0),)

    def test_labels_are_no_part_of_comparison(self) -> None:
        assert network(":subtasks (and (a (rest)))") == network(":subtasks (and (b (rest)))")

    def test_a_label_may_be_given_twice_where_nothing_asks_for_it(self) -> None:
        assert len(network(":subtasks (and (a (rest)) (a (rest)))").subtasks) == 2

    def test_long_orderings(self) -> None:
        size = 3_000
        tasks = " ".join(f"(t{place} (rest))" for place in range(size))
        order = " ".join(f"(< t{place} t{place - 1})" for place in range(1, size))
        found = network(f":subtasks (and {tasks}) :ordering (and {order})")
        assert len(found.ordering) == size - 1


class TestConstraints:
    def test_one(self) -> None:
        assert network(":constraints (= ?p ?q)").constraints == Equals("?p", "?q")

    def test_several(self) -> None:
        found = network(":constraints (and (not (= ?p ?q)) (= ?q ?r))")
        assert found.constraints == And((Not(Equals("?p", "?q")), Equals("?q", "?r")))

    @pytest.mark.parametrize("word", ["sortof", "sort", "typeof", "type"])
    @pytest.mark.parametrize(
        ("kind", "wanted", "narrowed"),
        [
            ("place", "place", ("place",)),
            ("place", "town", ("town",)),
            ("town", "place", ("town",)),
            ("object", "place", ("place",)),
            ("place", "object", ("place",)),
            ("place", "thing", ("ship",)),
            ("place", "(either town thing)", ("ship", "town")),
            ("(either town thing)", "place", ("ship", "town")),
        ],
    )
    def test_constraints_on_types_become_types(
        self, word: str, kind: str, wanted: str, narrowed: tuple[str, ...]
    ) -> None:
        found = method(f":parameters (?p - {kind}) :constraints (and ({word} ?p - {wanted}) (not (= ?p ?p)))")
        assert found.parameters == (Variable("?p", narrowed),)
        assert found.network.constraints == Not(Equals("?p", "?p"))


class TestProblems:
    def test_an_initial_network(self) -> None:
        found = problem(
            "(:objects a b - town) (:htn :parameters (?x - place) :tasks (and (visit a) (t (visit ?x)) (go a b))"
            " :ordering () :constraints (not (= ?x a))) (:init)"
        )
        assert tasks_of(found.network) == ["visit(a)", "visit(?x)", "go(a, b)"]
        assert found.parameters == (Variable("?x", ("place",)),)
        assert found.network.constraints == Not(Equals("?x", "a"))

    @pytest.mark.parametrize("text", ["(:htn)", "(:htn :tasks ())", "(:htn :parameters () :subtasks (and))"])
    def test_nothing_to_do(self, text: str) -> None:
        assert problem(f"{text} (:init)").network == Network()

    def test_goals_are_optional(self) -> None:
        assert problem("(:htn) (:init)").classical.goal.hard == TRUE
        goal = problem("(:objects a - thing) (:htn) (:init) (:goal (and (ready a)))").classical.goal
        assert goal.hard == And((Atom("ready", ("a",)),))

    def test_costs_count_as_in_pddl(self) -> None:
        assert problem("(:htn)").classical.metric is Metric.LENGTH
        assert problem("(:htn) (:metric minimize (total-cost))").classical.metric is Metric.COST

    def test_the_name_of_the_domain_is_not_compared(self) -> None:
        found = parse_problem("(define (problem p) (:domain another) (:htn))", domain(""))
        assert found.domain.name == "d"

    def test_other_hyphens_in_the_name_of_the_domain_are_told(self) -> None:
        sea = parse_domain("(define (domain sea-rescue))")
        with pytest.warns(FileWarning, match="<string>:1:30: the domain 'sea_rescue' is taken to be 'sea-rescue'"):
            found = parse_problem("(define (problem p) (:domain sea_rescue) (:htn))", sea)
        assert found.domain.name == "sea-rescue"

    def test_sections_in_any_order(self) -> None:
        found = problem("(:init (ready a)) (:htn :tasks (visit a)) (:objects a - ship)")
        assert found.classical.initial == (Atom("ready", ("a",)),)

    def test_what_pddl_refuses_is_refused(self) -> None:
        with pytest.raises(UnsupportedError, match=r"constraint 'within' at .*'sometime-before' are read"):
            problem("(:htn) (:constraints (within 3 (rest)))")
        with pytest.raises(UnsupportedError, match="process"):
            domain("(:process fly)")


def test_pddl_still_refuses_hierarchies() -> None:
    with pytest.raises(UnsupportedError, match=r"task of a hierarchy 'rest' at .*write it to an \.hddl file"):
        parse_pddl_domain("(define (domain d) (:task rest))")


def test_very_many_facts_and_tasks() -> None:
    names = [f"t{number}" for number in range(400)]
    facts = " ".join(f"(near {one} {other})" for one in names for other in names)
    text = f"""(define (problem p) (:domain d) (:objects {" ".join(names)} - town)
        (:htn :ordered-subtasks (and {" ".join(f"(visit {name})" for name in names)})) (:init {facts}))"""
    found = parse_problem(text, domain("", BASE.replace("(ready ?x)", "(near ?x ?y - place)")))
    assert len(found.classical.initial) == 160_000
    assert len(found.network.subtasks) == 400
    assert found.is_ordered
    assert gc.isenabled()
