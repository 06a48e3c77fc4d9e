"""HDDL as it is written, and under which names."""

from __future__ import annotations

import pytest

from htn.language.hddl import parse_domain, parse_problem
from htn.language.hddl.hddl_writer import write_domain, write_problem
from htn.model import HtnDomain, HtnProblem, Method, Network, Subtask, Task, sequence
from planner import Domain, Entity, UnsupportedError
from planner.model.actions import Action
from planner.model.domain import DomainModel, Predicate
from planner.model.formulas import TRUE, And, Atom, Equals, Exists, Formula, Not, Object, Variable
from planner.model.problem import Goal, Metric, Problem, SoftGoal

DOMAIN = """\
(define (domain rooms)
  (:requirements :hierarchy :strips :typing :equality :negative-preconditions :method-preconditions)
  (:types room)
  (:constants lobby - room)
  (:predicates
    (at ?x - room)
    (door ?x ?y - room)
  )
  (:task visit
    :parameters (?x - room)
  )
  (:task tour
    :parameters ()
  )
  (:method there
    :parameters (?x - room)
    :task (visit ?x)
    :precondition (at ?x)
    :subtasks ()
  )
  (:method through
    :parameters (?x ?y ?z - room)
    :task (visit ?z)
    :precondition (and
      (at ?x)
      (not (door ?x ?z)))
    :ordered-subtasks (and
      (move ?x ?y)
      (visit ?z))
    :constraints (not (= ?x ?y))
  )
  (:method round
    :parameters (?x - room)
    :task (tour)
    :subtasks (and
      (a (visit ?x))
      (b (tour))
      (c (visit lobby)))
    :ordering (and
      (< c b)
      (< a b))
    :constraints (and
      (= ?x ?x)
      (not (= ?x lobby)))
  )
  (:action move
    :parameters (?x ?y - room)
    :precondition (door ?x ?y)
    :effect (and
      (not (at ?x))
      (at ?y))
  )
)
"""

PROBLEM = """\
(define (problem one)
  (:domain rooms)
  (:objects kitchen - room)
  (:htn
    :parameters (?x - room)
    :ordered-subtasks (and
      (tour)
      (last (visit ?x)))
  )
  (:init
    (at lobby)
  )
  (:goal (and
      (at kitchen)
      (at lobby)))
)
"""


def written(problem: HtnProblem) -> HtnProblem:
    """Return what is read of what is written of `problem`."""
    return parse_problem(write_problem(problem), parse_domain(write_domain(problem.domain)))


def test_what_is_written_in_our_own_way_comes_back_letter_by_letter() -> None:
    domain = parse_domain(DOMAIN)
    assert write_domain(domain) == DOMAIN
    text = PROBLEM.replace("(tour)\n", "(t1 (tour))\n")
    assert write_problem(parse_problem(PROBLEM, domain)) == text
    assert write_problem(parse_problem(text, domain)) == text


def test_without_a_goal_none_is_written() -> None:
    domain = HtnDomain(DomainModel("d"))
    assert ":goal" not in write_problem(HtnProblem(domain, Problem("p", domain.classical)))


def network(*labels: str, ordering: tuple[tuple[int, int], ...]) -> Network:
    return Network(tuple([Subtask(Atom("t"), label) for label in labels]), ordering)


@pytest.mark.parametrize(
    ("given", "labels", "key"),
    [
        (network("", "", "", ordering=()), ["", "", ""], ":subtasks"),
        (network("", "", "", ordering=((0, 1), (1, 2))), ["", "", ""], ":ordered-subtasks"),
        (network("", "", "", ordering=((1, 2), (0, 1))), ["t1", "t2", "t3"], ":ordering"),
        (network("", "x", "", ordering=((0, 2),)), ["t1", "x", "t3"], ":ordering"),
        (network("X", "x", "x", ordering=((0, 2),)), ["x-2", "x", "x-3"], ":ordering"),
        (network("", "t1", "?", ordering=((2, 1),)), ["t1-2", "t1", "x"], ":ordering"),
        (network("a b", "é", "(", ordering=((2, 1),)), ["a-b", "e", "x"], ":ordering"),
        (network("", ordering=()), [""], ":ordered-subtasks"),
    ],
)
def test_orderings_and_labels(given: Network, labels: list[str], key: str) -> None:
    domain = HtnDomain(DomainModel("d"), {"t": Task("t")}, {"m": Method("m", Atom("t"), network=given)})
    text = write_domain(domain)
    found = parse_domain(text).methods["m"].network
    assert found == given
    assert [each.label for each in found.subtasks] == labels
    assert key in text


FIRST = Variable("?x", ("My Type",))


def odd_names() -> HtnProblem:
    """Return a problem with names that HDDL does not take, or that it takes for something else."""
    model = DomainModel(
        "A Domain",
        {"My Type": (), "object-2": ("My Type",), "and": ()},
        (Object("The Hall", ("My Type",)),),
        {"At": Predicate("At", (FIRST,)), "not": Predicate("not", (FIRST,)), "at": Predicate("at", (FIRST,))},
        actions={"Go": Action("Go", (FIRST,), Atom("not", ("?x",)), (Atom("At", ("?x",)),))},
    )
    other = Variable("?é", ("and",))
    tasks = {"go": Task("go", (FIRST,)), "GO": Task("GO"), "when": Task("when", (other,))}
    inner: Formula = Exists((Variable("?Y", ("object-2",)),), And((Atom("At", ("?Y",)), Not(Equals("?Y", "The Hall")))))
    methods = {
        "m": Method("m", Atom("go", ("?x",)), (FIRST,), inner, sequence(Atom("Go", ("?x",)), Atom("GO"))),
        "M": Method("M", Atom("GO"), network=sequence(Atom("Go", ("The Hall",)))),
        "M-2": Method("M-2", Atom("when", ("?é",)), (other,)),
    }
    objects = (Object("the-hall", ("My Type",)), Object("ß", ("and",)))
    classical = Problem("1", model, objects, (Atom("not", ("the-hall",)),), Goal(Atom("at", ("The Hall",))))
    tasks_to_do = sequence(Atom("go", ("the-hall",)), Atom("when", ("?é",)), Atom("when", ("ß",)))
    return HtnProblem(HtnDomain(model, tasks, methods), classical, tasks_to_do, (other,))


def test_names_are_made_legal() -> None:
    found = written(odd_names())
    domain = found.domain
    assert (domain.name, found.name) == ("a-domain", "x1")
    assert list(domain.classical.types) == ["my-type", "object-2", "and-2"]
    assert list(domain.classical.predicates) == ["at-2", "not-2", "at"]
    assert list(domain.classical.actions) == ["go-2"]
    assert list(domain.tasks) == ["go", "go-3", "when-2"]
    assert list(domain.methods) == ["m", "m-2", "m-2-2"]
    assert [each.name for each in found.classical.all_objects] == ["the-hall", "the-hall-2", "ss"]
    assert [str(each.task) for each in found.network.subtasks] == ["go(the-hall-2)", "when-2(?e)", "when-2(ss)"]


def test_names_of_the_domain_do_not_depend_on_the_problem() -> None:
    problem = odd_names()
    alone = parse_domain(write_domain(problem.domain))
    assert parse_problem(write_problem(problem), alone).domain == alone
    assert "(at the-hall)" in write_problem(problem)
    assert "(= ?y the-hall)" in write_domain(problem.domain)


def test_legal_names_stay() -> None:
    once = written(odd_names())
    assert written(once) == once


class Thing(Entity):
    """What has a state."""


def declared() -> HtnDomain:
    shed = Domain("shed")
    shed.predicate("at", Thing, Thing)

    @shed.action(requires="at(x, y)", modifies="at(x, _)", provides="at(x, z)", cost=2)
    def move(x: Thing, y: Thing, z: Thing) -> None: ...

    carry = Method("carry", Atom("bring", ("?a",)), (Variable("?a", ("Thing",)),))
    task = Task("bring", (Variable("?a", ("Thing",)),))
    return HtnDomain(shed.model, {"bring": task}, {"carry": carry})


def test_other_declarations_become_plain() -> None:
    found = parse_domain(write_domain(declared())).classical
    assert found.actions["move"].when[0].provides == (Not(Atom("at", ("?x", "?any0"))),)
    assert found.actions["move"].cost == (2,)


def test_costs() -> None:
    domain = declared()
    things = (Object("a", ("Thing",)),)
    for metric in Metric:
        problem = HtnProblem(
            domain, Problem("p", domain.classical, things, metric=metric), sequence(Atom("bring", "a"))
        )
        assert written(problem).classical.metric is metric


def test_what_cannot_be_said() -> None:
    domain = HtnDomain(DomainModel("d", predicates={"p": Predicate("p")}))
    wish = Goal(TRUE, (SoftGoal(Atom("p"), 2),))
    with pytest.raises(UnsupportedError, match="soft goals"):
        write_problem(HtnProblem(domain, Problem("p", domain.classical, goal=wish)))
    with pytest.raises(UnsupportedError, match="facts declared unknown"):
        write_problem(HtnProblem(domain, Problem("p", domain.classical, unknown=(Atom("p"),))))
    priced = DomainModel("d", actions={"a": Action("a", cost=(lambda: 3,))})
    with pytest.raises(UnsupportedError, match="Python computes"):
        write_domain(HtnDomain(priced))
