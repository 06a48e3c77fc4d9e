"""Grounding by example: each feature against the declared problem itself, state by state."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from grounding_twin import check_grounding

from planner.errors import InputError
from planner.grounding.ground import find_single_valued, ground
from planner.language.pddl import parse_domain, parse_problem
from planner.limits import LimitReached, Limits
from planner.model import (
    Action,
    And,
    Arithmetic,
    Atom,
    DomainModel,
    Goal,
    Metric,
    Not,
    Object,
    Predicate,
    Problem,
    Variable,
    When,
)
from planner.plan import StoppedBy

HEADER = "(define (domain d) (:requirements :adl :derived-predicates :action-costs) (:types a b - thing)"


def problem(domain, objects, initial, goal, metric=""):
    model = parse_domain(f"{HEADER} {domain})")
    text = f"(define (problem p) (:domain d) (:objects {objects}) (:init {initial}) (:goal {goal}) {metric})"
    return parse_problem(text, model)


CASES = {
    "strips": problem(
        """(:predicates (at ?x - thing ?y - b) (door ?x ?y - b))
        (:action go :parameters (?r - a ?x ?y - b) :precondition (and (at ?r ?x) (door ?x ?y))
         :effect (and (not (at ?r ?x)) (at ?r ?y)))""",
        "r - a h l k - b",
        "(at r h) (door h l) (door l k) (door k h)",
        "(at r k)",
    ),
    "the same fact deleted and added": problem(
        """(:predicates (at ?y - b))
        (:action go :parameters (?x ?y - b) :precondition (at ?x) :effect (and (not (at ?x)) (at ?y)))""",
        "h l - b",
        "(at h)",
        "(and (at l) (not (at h)))",
    ),
    "negative and equality": problem(
        """(:predicates (on ?x - b) (lit ?x - b))
        (:action toggle :parameters (?x ?y - b) :precondition (and (not (on ?x)) (not (= ?x ?y)) (not (lit ?y)))
         :effect (and (on ?x) (lit ?y)))
        (:action off :parameters (?x - b) :precondition (on ?x) :effect (not (on ?x)))""",
        "h l k - b",
        "(on h)",
        "(and (not (on h)) (lit h) (lit l))",
    ),
    "disjunction and existential": problem(
        """(:constants c1 c2 c3 - b) (:predicates (p ?x - b) (q ?x - b) (done))
        (:action make :parameters (?x - b) :precondition (or (p ?x) (exists (?y - b) (and (q ?y) (not (= ?x ?y)))))
         :effect (and (p ?x) (not (q ?x))))
        (:action finish :precondition (or (and (p c1) (p c2)) (imply (q c3) (p c3))) :effect (done))""",
        "",
        "(q c3) (q c2)",
        "(and (done) (exists (?x - b) (p ?x)))",
    ),
    "universal": problem(
        """(:predicates (p ?x - b) (near ?x ?y - b) (q ?x - b))
        (:action do :parameters (?x - b)
         :precondition (forall (?y - b) (imply (near ?x ?y) (or (p ?y) (q ?y)))) :effect (p ?x))
        (:action undo :parameters (?x - b) :precondition (p ?x) :effect (and (not (p ?x)) (q ?x)))""",
        "h l k - b",
        "(near h l) (near l k) (near h k)",
        "(and (p h) (forall (?x - b) (or (p ?x) (q ?x))))",
    ),
    "conditional effects": problem(
        """(:predicates (p ?x - b) (q ?x - b) (flag))
        (:action flip :parameters (?x - b) :precondition (not (flag))
         :effect (and (when (p ?x) (and (not (p ?x)) (q ?x))) (when (q ?x) (p ?x))
                      (forall (?y - b) (when (and (p ?y) (not (= ?x ?y))) (q ?y)))))
        (:action raise :effect (flag))
        (:action lower :precondition (flag) :effect (and (not (flag)) (forall (?y - b) (not (q ?y)))))""",
        "h l - b",
        "(p h) (p l)",
        "(and (q h) (q l) (not (p h)))",
    ),
    "adding wins over a conditional delete, where the opposite is needed": problem(
        """(:predicates (p) (c) (d))
        (:action mix :effect (and (when (c) (p)) (when (d) (not (p)))))
        (:action c :effect (c)) (:action d :effect (d))
        (:action notc :precondition (not (p)) :effect (not (c)))""",
        "h - b",
        "(p)",
        "(and (not (p)) (d))",
    ),
    "derived": problem(
        """(:predicates (edge ?x ?y - b) (path ?x ?y - b) (cut ?x - b) (apart ?x ?y - b))
        (:derived (path ?x ?y - b) (and (edge ?x ?y) (not (cut ?x))))
        (:derived (path ?x ?y - b) (exists (?z - b) (and (path ?x ?z) (path ?z ?y))))
        (:derived (apart ?x ?y - b) (not (path ?x ?y)))
        (:action link :parameters (?x ?y - b) :precondition (apart ?x ?y) :effect (edge ?x ?y))
        (:action cut :parameters (?x - b) :precondition (path ?x ?x) :effect (cut ?x))""",
        "h l - b",
        "(edge h l)",
        "(and (path l h) (forall (?x - b) (imply (cut ?x) (apart ?x ?x))) (cut l))",
    ),
    "either and constants": problem(
        """(:constants best - b) (:predicates (p ?x - (either a b)) (q ?x))
        (:action go :parameters (?x - (either a b)) :precondition (p best) :effect (and (p ?x) (q ?x)))
        (:action best :effect (p best))""",
        "x - a y - b z - thing",
        "",
        "(and (q x) (q y))",
    ),
    "axioms that are true from the start": problem(
        """(:predicates (s ?x - b) (d ?x - b) (p ?x - b))
        (:derived (d ?x - b) (s ?x))
        (:action go :parameters (?x - b) :precondition (and (d ?x) (not (p ?x))) :effect (p ?x))""",
        "h l - b",
        "(s h)",
        "(p h)",
    ),
}


@pytest.mark.parametrize("least", [1, 10**9], ids=["in tables", "one by one"])
@pytest.mark.parametrize("name", CASES)
def test_the_task_does_what_the_declarations_say(name, least, monkeypatch):
    monkeypatch.setattr("planner.grounding.action_tables.LEAST_ROWS", least)
    task = check_grounding(CASES[name])
    assert task.unreachable_goal is None
    assert task.actions


def declared(action, predicates, initial=(), goal=(), **other):
    domain = DomainModel(
        "d",
        types={"b": ()},
        predicates={
            name: Predicate(name, tuple(Variable(f"?v{i}", ("b",)) for i in range(n))) for name, n in predicates
        },
        actions={a.name: a for a in ([action] if isinstance(action, Action) else action)},
    )
    objects = tuple(Object(name, ("b",)) for name in "hlk")
    return Problem("p", domain, objects, tuple(initial), Goal(*goal), **other)


def test_open_modifies_retracts_what_matches_and_stale_facts_follow():
    go = Action("go", (Variable("?x", ("b",)),), provides=(Atom("at", ("?x",)),), modifies=(Atom("at", ("_",)),))
    done = Action("look", (Variable("?x", ("b",)),), Atom("at", ("?x",)), (Atom("seen", ("?x",)),))
    base = declared(
        [go, done], [("at", 1), ("seen", 1)], [Atom("at", ("h",)), Atom("at", ("l",))], [Atom("seen", ("k",))]
    )
    task = check_grounding(base)
    assert {len(group) for group in task.variables} >= {1}
    predicates = dict(base.domain.predicates) | {
        "seen": Predicate("seen", base.domain.predicates["at"].parameters, (Atom("at", ("?v0",)),))
    }
    check_grounding(replace(base, domain=replace(base.domain, predicates=predicates)))


def test_an_item_with_one_value_becomes_one_variable():
    task = check_grounding(CASES["strips"])
    assert [len(group) for group in task.variables] == [3]


def test_a_group_needs_one_initial_fact_only():
    two = CASES["strips"]
    task = check_grounding(replace(two, initial=(*two.initial, Atom("at", ("r", "l")))))
    assert all(len(group) == 1 for group in task.variables)


def test_what_no_action_provides_is_named():
    task = ground(replace(CASES["strips"], goal=Goal(Atom("door", ("l", "h")))), Limits())
    assert task.unreachable_goal == Atom("door", ("l", "h"))


def test_a_negative_goal_that_always_fails_is_named():
    stuck = declared(Action("a", provides=(Atom("p", ()),)), [("p", 0)], [Atom("p")], [Not(Atom("p"))])
    assert ground(stuck, Limits()).unreachable_goal == Not(Atom("p"))


def test_irrelevant_actions_and_facts_are_dropped():
    useful, idle = Action("useful", provides=(Atom("p"),)), Action("idle", provides=(Atom("q"),))
    task = ground(declared([useful, idle], [("p", 0), ("q", 0)], goal=[Atom("p")]), Limits())
    assert [action.step.action for action in task.actions] == ["useful"]
    assert task.facts == (Atom("p"),)


def test_costs_are_exact_in_units_of_the_resolution():
    table = {Atom("far", ("h",)): Decimal("0.25"), Atom("far", ("l",)): 2, Atom("far", ("k",)): Decimal("1.5")}
    go = Action("go", (Variable("?x", ("b",)),), provides=(Atom("p", ("?x",)),), cost=(1, Atom("far", ("?x",))))
    task = ground(declared(go, [("p", 1)], goal=[Atom("p", ("h",))], values=table), Limits())
    assert task.resolution == 100
    assert [(action.step.cost, action.cost) for action in task.actions] == [(Decimal("1.25"), 125)]


@pytest.mark.parametrize("metric", Metric)
def test_a_step_without_a_value_for_its_cost_is_left_out(metric):
    go = Action("go", (Variable("?x", ("b",)),), provides=(Atom("p", ("?x",)),), cost=(Atom("far", ("?x",)),))
    source = replace(declared(go, [("p", 1)], goal=[Atom("p", ("h",))]), metric=metric)
    assert ground(source, Limits()).unreachable_goal == Atom("p", ("h",))
    task = ground(replace(source, values={Atom("far", ("h",)): 2}), Limits(), whole=True)
    assert [str(action.step) for action in task.actions] == ["go(h)"]


@pytest.mark.parametrize("cost", [Atom("far", ("?x",)), Arithmetic("-", (1, Atom("far", ("?x",))))])
def test_a_negative_cost_is_an_error_that_names_it(cost):
    value = -2 if isinstance(cost, Atom) else 3
    go = Action("go", (Variable("?x", ("b",)),), provides=(Atom("p", ("?x",)),), cost=(cost,))
    table = {Atom("far", ("h",)): value, Atom("far", ("l",)): 0, Atom("far", ("k",)): 0}
    with pytest.raises(InputError, match=r"the cost of go\(h\) is -2, by .*; it is never negative; state 0 or more"):
        ground(declared(go, [("p", 1)], goal=[Atom("p", ("h",))], values=table), Limits())


def test_axioms_that_rest_on_their_own_absence_are_refused():
    paradox = problem(
        "(:predicates (p) (q)) (:derived (p) (not (p))) (:action a :precondition (p) :effect (q))", "", "", "(q)"
    )
    with pytest.raises(InputError, match=r"derived fact p depends on its own negation; axioms must be stratified"):
        ground(paradox, Limits())


@pytest.mark.parametrize(
    ("limits", "expected"), [(Limits(time_limit=0), StoppedBy.TIME), (Limits(memory_limit=1e-9), StoppedBy.MEMORY)]
)
def test_limits_end_grounding(limits, expected):
    with pytest.raises(LimitReached) as caught:
        ground(CASES["strips"], limits)
    assert caught.value.stopped_by is expected


def test_a_product_of_objects_is_not_enumerated():
    parameters = tuple(Variable(f"?x{i}", ("b",)) for i in range(8))
    chain = tuple(Atom("next", (f"?x{i}", f"?x{i + 1}")) for i in range(7))
    walk = Action("walk", parameters, And(chain), (Atom("p", ("?x7",)),))
    objects = tuple(Object(f"o{i}", ("b",)) for i in range(100))
    base = declared(walk, [("next", 2), ("p", 1)], [Atom("next", (f"o{i}", f"o{i + 1}")) for i in range(99)])
    task = ground(replace(base, objects=objects, goal=Goal(Atom("p", ("o50",)))), Limits(time_limit=20))
    assert [action.step.arguments[0] for action in task.actions] == ["o43"]


def test_single_values_are_proved_or_not():
    assert find_single_valued(CASES["strips"], [Atom("at", ("_", "_")), Atom("at", ("?r", "_"))], Limits()) == {
        Atom("at", ("_", "_")): True,
        Atom("at", ("?r", "_")): True,
    }
    assert find_single_valued(CASES["universal"], [Atom("p", ("_",))], Limits()) == {Atom("p", ("_",)): False}


def test_conditional_effects_are_kept_and_when_is_read_in_the_state_before():
    swap = Action(
        "swap", when=(When(Atom("p"), (Atom("q"), Not(Atom("p")))), When(Atom("q"), (Atom("p"), Not(Atom("q")))))
    )
    task = check_grounding(declared(swap, [("p", 0), ("q", 0)], [Atom("p")], [Atom("q")]))
    assert len(task.actions[0].conditional) == 2
    assert task.variables == ((0, 1),)
