"""Causal links, partial orders and purposes, on plans whose dependencies are plain to see."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise

import pytest

from planner.errors import PlanError
from planner.model.actions import Action, When
from planner.model.domain import Axiom, DomainModel, Predicate
from planner.model.formulas import TRUE, And, Exists, Forall, Imply, Not, Object, Or, Variable
from planner.model.problem import Goal, Problem
from planner.partial_order.causal_links import causal_links, find_purposes
from planner.scheduling.plan_order import partial_order
from planner.scheduling.schedule import schedule
from planner.testing import atom_from, plan, steps_from

X, Y, Z = Variable("?x"), Variable("?y"), Variable("?z")


def atoms(*texts):
    return tuple(atom_from(text) for text in texts)


def literals(*texts):
    return tuple(Not(atom_from(text[4:])) if text.startswith("not ") else atom_from(text) for text in texts)


def action(name, requires=(), provides=(), modifies=(), **rest):
    condition = And(literals(*requires)) if isinstance(requires, tuple | list) else requires
    return Action(name, (), condition, literals(*provides), atoms(*modifies), **rest)


def planned(steps, *actions, initial=(), goal=(), axioms=(), predicates=()):
    """Return the plan of these steps, replayed."""
    domain = DomainModel(
        "d",
        predicates={predicate.name: predicate for predicate in predicates},
        actions={each.name: each for each in actions},
        axioms=axioms,
    )
    things = tuple(Object(name) for name in "abc")
    condition = And(literals(*goal)) if isinstance(goal, tuple | list) else goal
    builder = plan(Problem("p", domain, things, atoms(*initial), Goal(condition)))
    for step in steps.split():
        builder.step(step)
    return builder.end()


def edges(found):
    graph = partial_order(found.problem, found)
    return {(one, other, graph.edges[one, other]["reason"]) for one, other in graph.edges}


def links(found):
    return {(link.provider, link.consumer, str(link.condition)) for link in causal_links(found.problem, found)}


def test_links_from_the_initial_state_through_steps_to_the_goal():
    found = planned(
        "boil brew",
        action("boil", ["water"], ["hot"]),
        action("brew", ["hot", "not cold"], ["tea"]),
        initial=["water"],
        goal=["tea", "water"],
    )
    assert links(found) == {(0, 1, "water"), (1, 2, "hot"), (0, 2, "not cold"), (2, 3, "tea"), (0, 3, "water")}
    assert edges(found) == {(1, 2, "link")}
    why = find_purposes(found.problem, found)
    assert [str(link.condition) for link in why[1]] == ["hot", "tea"]
    assert [(link.provider, link.consumer) for link in why[2]] == [(2, 3)]


def test_a_step_that_nothing_needs_has_no_purpose():
    found = planned("idle act", action("idle", provides=["q"]), action("act", provides=["p"]), goal=["p"])
    assert find_purposes(found.problem, found)[1] == ()
    assert edges(found) == set()


def test_independent_steps_are_unordered_and_the_graph_is_reduced():
    found = planned(
        "a b c d",
        action("a", provides=["p"]),
        action("b", provides=["q"]),
        action("c", ["p", "q"], ["r"]),
        action("d", ["p", "r"], ["s"]),
        goal=["s"],
    )
    assert edges(found) == {(1, 3, "link"), (2, 3, "link"), (3, 4, "link")}
    graph = partial_order(found.problem, found)
    assert [str(graph.nodes[number]["step"]) for number in graph] == ["a()", "b()", "c()", "d()"]
    assert [str(link.condition) for link in graph.edges[1, 3]["links"]] == ["p"]


def test_a_threat_comes_after_the_consumer_or_before_the_provider():
    found = planned(
        "use drop again",
        action("use", ["p"], ["done"]),
        action("drop", provides=["not p"]),
        action("again", provides=["p"]),
        initial=["p"],
        goal=["done", "p"],
    )
    assert edges(found) == {(1, 2, "threat"), (2, 3, "threat")}


ITEMS = [
    ("both write it in place", ("w1", ["settings"], []), ("w2", ["settings"], []), True),
    ("other items", ("w1", ["doc(a)"], []), ("w2", ["doc(b)"], []), False),
    ("open patterns that meet", ("w1", ["at(a, _)"], []), ("w2", ["at(_, b)"], []), True),
    ("open patterns that do not meet", ("w1", ["at(a, _)"], []), ("w2", ["at(b, _)"], []), False),
    ("one writes, the other provides", ("w1", ["doc(a)"], []), ("w2", [], ["doc(a)"]), True),
    ("one writes, the other retracts", ("w1", ["doc(a)"], []), ("w2", [], ["not doc(a)"]), True),
    ("both only provide it", ("w1", [], ["doc(a)"]), ("w2", [], ["doc(a)"]), False),
]


@pytest.mark.parametrize(("first", "second", "ordered"), [row[1:] for row in ITEMS], ids=[row[0] for row in ITEMS])
def test_items(first, second, ordered):
    steps = [action(name, (), provides, modifies) for name, modifies, provides in (first, second)]
    found = planned("w1 w2", *steps)
    assert edges(found) == ({(1, 2, "item")} if ordered else set())
    assert edges(planned("w2 w1", *steps)) == ({(1, 2, "item")} if ordered else set())


def test_reading_an_item_that_another_step_writes():
    found = planned(
        "edit send", action("edit", ["doc"], modifies=["doc"]), action("send", ["doc"], ["sent"]), initial=["doc"]
    )
    assert edges(found) == {(1, 2, "item")}


def test_what_goes_stale_is_a_threat():
    summary = Predicate("summary", (X,), atoms("doc(?x)"))
    steps = [action("send", ["summary(a)"], ["sent"]), action("edit", modifies=["doc(a)"])]
    other = action("edit_other", modifies=["doc(b)"])
    found = planned("send edit edit_other", *steps, other, initial=["summary(a)"], predicates=[summary], goal=["sent"])
    assert edges(found) == {(1, 2, "threat")}


REACH = (
    Axiom("reach", (X, Y), atom_from("edge(?x, ?y)")),
    Axiom("reach", (X, Y), Exists((Z,), And(atoms("reach(?x, ?z)", "edge(?z, ?y)")))),
)


def test_reads_through_axioms_are_reads_of_base_facts():
    found = planned(
        "build build_aside go",
        action("build", provides=["edge(b, c)"]),
        action("build_aside", provides=["edge(c, a)"]),
        action("go", ["reach(a, c)"], ["there"]),
        initial=["edge(a, b)"],
        goal=["there"],
        axioms=REACH,
    )
    assert links(found) == {(0, 3, "edge(a, b)"), (1, 3, "edge(b, c)"), (3, 4, "there")}
    assert edges(found) == {(1, 3, "link")}


def test_the_absence_of_a_derived_fact_is_traced_too():
    found = planned(
        "cut build hide",
        action("cut", provides=["not edge(a, b)"]),
        action("build", provides=["edge(b, c)"]),
        action("hide", ["not reach(a, c)"], ["safe"]),
        initial=["edge(a, b)"],
        goal=["safe"],
        axioms=REACH,
    )
    assert (1, 3, "not edge(a, b)") in links(found)
    assert edges(found) == {(1, 3, "link")}


def test_quantified_conditions_are_linked_to_what_the_plan_changes():
    done = Forall((X,), Imply(atom_from("part(?x)"), atom_from("done(?x)")))
    found = planned(
        "do_a do_c ship",
        action("do_a", provides=["done(a)"]),
        action("do_c", provides=["done(c)"]),
        action("ship", Or((atom_from("never"), done)), ["shipped"]),
        initial=["part(a)", "part(b)", "done(b)"],
        goal=["shipped"],
    )
    assert links(found) == {(1, 3, "done(a)"), (3, 4, "shipped")}


def test_what_a_step_gives_back_at_once_is_no_threat():
    found = planned(
        "use refresh",
        action("use", ["p"], ["done"]),
        action("refresh", provides=["not p", "p"]),
        initial=["p"],
        goal=["done"],
    )
    assert edges(found) == set()


def test_a_quantified_condition_is_protected():
    found = planned(
        "ship spoil",
        action("ship", Forall((X,), atom_from("done(?x)")), ["shipped"]),
        action("spoil", provides=["not done(b)"]),
        initial=["done(a)", "done(b)", "done(c)"],
        goal=["shipped"],
    )
    assert links(found) == {(0, 1, "done(b)"), (1, 3, "shipped")}
    assert edges(found) == {(1, 2, "threat")}


def test_quantifiers_inside_quantifiers():
    found = planned(
        "hire ship",
        action("hire", provides=["knows(c, a)"]),
        action("ship", Forall((X,), Exists((Y,), atom_from("knows(?x, ?y)"))), ["shipped"]),
        initial=["knows(a, b)", "knows(b, b)"],
        goal=["shipped"],
    )
    assert links(found) == {(1, 2, "knows(c, a)"), (2, 3, "shipped")}


def test_no_proof_goes_in_a_circle():
    found = planned(
        "begin go",
        action("begin", provides=["start(a)"]),
        action("go", ["reached(b)", "reached(a)"], ["there"]),
        initial=["edge(a, b)", "edge(b, a)"],
        goal=["there"],
        axioms=(
            Axiom("reached", (Y,), Exists((X,), And(atoms("reached(?x)", "edge(?x, ?y)")))),
            Axiom("reached", (Y,), atom_from("start(?y)")),
        ),
    )
    assert links(found) == {(1, 2, "start(a)"), (0, 2, "edge(a, b)"), (2, 3, "there")}


def test_conditions_of_effects_are_read_whether_they_hold_or_not():
    found = planned(
        "flip alarm",
        action(
            "flip", when=(When(atom_from("armed"), literals("loud")), When(Not(atom_from("armed")), literals("ok")))
        ),
        action("alarm", provides=["armed"]),
        goal=["ok"],
    )
    assert edges(found) == {(1, 2, "threat")}


def test_after_is_a_link():
    found = planned("b a c", action("a"), action("b"), action("c", after=atoms("a")))
    assert links(found) == {(2, 3, "ran-a")}
    assert edges(found) == {(2, 3, "link")}


def test_an_invalid_plan_has_no_order():
    found = planned("a", action("a"))
    with pytest.raises(PlanError, match="only a valid plan has an order: step 1 b"):
        partial_order(found.problem, type(found)(steps_from("b()"), found.problem))


def test_a_long_chain_of_axioms():
    names = [f"o{number}" for number in range(3000)]
    facts = tuple(atom_from(f"edge({one}, {other})") for one, other in pairwise(names))
    reached = Axiom(
        "reached", (Y,), Or((atom_from("start(?y)"), Exists((X,), And(atoms("reached(?x)", "edge(?x, ?y)")))))
    )
    go = action("go", [f"reached({names[-1]})"], ["there"])
    domain = DomainModel("d", actions={"go": go}, axioms=(reached,))
    things = tuple(map(Object, names))
    problem = Problem("p", domain, things, (*facts, atom_from(f"start({names[0]})")), Goal(atom_from("there")))
    found = causal_links(problem, plan(problem).step("go").end())
    assert len(found) == 3001
    assert TRUE not in [link.condition for link in found]


def timed(name, seconds, *args, **rest):
    return action(name, *args, duration=Decimal(seconds), **rest)


def test_steps_begin_as_soon_as_what_they_wait_for_is_over():
    boil, chop = timed("boil", 10, (), ["hot"]), timed("chop", 4, (), ["cut"])
    cook = timed("cook", 5, ["hot", "cut"], ["done"])
    found = schedule(planned("boil chop cook", boil, chop, cook, goal=["done"]))
    assert found.starts == (0, 0, 10)
    assert found.ends == (10, 4, 15)
    assert found.makespan == 15
    assert found.critical_path == (1, 3)


def test_a_plan_without_steps_takes_no_time():
    found = schedule(planned("", initial=["p"], goal=["p"]))
    assert found.makespan == 0
    assert found.critical_path == ()
