"""Where names stand: each occurrence is the name itself, and unfinished text is read as far as it goes."""

from __future__ import annotations

import pytest

from executor.desk.lsp.names import Index, Kind, Role
from executor.desk.lsp.pddl_names import index_pddl
from executor.desk.lsp.yaml_names import index_yaml
from planner.language.documents.document_writer import write_yaml
from planner.language.loading.load import open_source

COURIER = """domain: courier
types: {robot: object, room: object}
predicates: {at: {parameters: [robot, room]}, door: [room, room]}
functions: {fuel: {parameters: [robot]}}
actions:
  move:
    parameters: {robot: robot, origin: room, target: room}
    requires: ["at(robot, origin)", "door(origin, target)", "fuel(robot) >= 2", "origin != target"]
    provides: ["at(robot, target)", "not asleep"]
    modifies: ["at(robot, _)", fuel(robot) -= 1]
---
problem: one-parcel
domain: courier
objects: {r2: robot, hall: room, lab: room}
initial: ["at(r2, hall)", "door(hall, lab)", "fuel(r2) = 7"]
goal: ["at(r2, lab)", "(exists (?r - robot) (at ?r lab))"]
"""
DELIVERY = """(define (domain delivery)
  (:types truck - object place)
  (:predicates (at ?t - truck ?p - place) (cut ?p - place)) ; (not a name)
  (:functions (length ?a ?b - place))
  (:task deliver :parameters (?p - place))
  (:method by-truck :parameters (?t - truck ?p - place) :task (deliver ?p)
    :precondition (at ?t ?p) :ordered-subtasks (and (one (drive ?t ?p ?p)) (deliver ?p)))
  (:durative-action drive :parameters (?t - truck ?a ?b - place)
    :duration (= ?duration (length ?a ?b))
    :condition (and (at start (at ?t ?a)) (over all (forall (?x - place) (not (cut ?x)))))
    :effect (and (at start (not (at ?t ?a))) (at end (at ?t ?b)) (at end (increase (length ?a ?b) 1)))))
"""


def roles(index: Index, name: str) -> list[tuple[Kind, Role, str]]:
    return [(each.kind, each.role, each.owner) for each in index.found if each.name == name]


@pytest.mark.parametrize("index", [index_yaml(COURIER), index_pddl(DELIVERY)], ids=["yaml", "pddl"])
def test_each_occurrence_is_the_name_itself(index: Index) -> None:
    assert index.found
    for each in index.found:
        assert index.text[each.start : each.end] == each.name
        assert index.offset(*index.position(each.start)) == each.start


def test_roles_in_documents() -> None:
    index = index_yaml(COURIER)
    at = roles(index, "at")
    assert at[0] == (Kind.PREDICATE, Role.DECLARES, "")
    assert [role for _, role, _ in at[1:]] == [
        Role.REQUIRES,
        Role.PROVIDES,
        Role.MODIFIES,
        Role.INITIAL,
        Role.GOAL,
        Role.GOAL,
    ]
    assert {kind for kind, _, _ in roles(index, "fuel")} == {Kind.FUNCTION}
    assert roles(index, "asleep") == [(Kind.PREDICATE, Role.MODIFIES, "move")]
    assert {kind for kind, _, _ in roles(index, "origin")} == {Kind.VARIABLE}
    assert {kind for kind, _, _ in roles(index, "lab")} == {Kind.OBJECT}
    assert index.signatures[Kind.ACTION, "move"] == [("robot", "robot"), ("origin", "room"), ("target", "room")]
    assert [(each.kind, each.name) for each in index.outline] == [
        (Kind.DOMAIN, "courier"),
        (Kind.PROBLEM, "one-parcel"),
    ]


def test_roles_in_pddl() -> None:
    index = index_pddl(DELIVERY)
    assert [role for _, role, owner in roles(index, "at") if owner == "drive"] == [
        Role.REQUIRES,
        Role.MODIFIES,
        Role.PROVIDES,
    ]
    assert {kind for kind, _, _ in roles(index, "length")} == {Kind.FUNCTION}
    assert roles(index, "deliver")[0] == (Kind.TASK, Role.DECLARES, "")
    assert [owner for kind, _, owner in roles(index, "drive") if kind is Kind.TASK] == ["by-truck"]
    assert index.parents["truck"] == ("object",)
    assert index.types["drive", "?a"] == "place"


def test_parameters_belong_to_their_action() -> None:
    index = index_pddl(DELIVERY)
    here = next(each for each in index.found if each.name == "?p" and each.owner == "by-truck")
    assert {each.owner for each in index.same_as(here)} == {"by-truck"}


@pytest.mark.parametrize("cut", range(0, len(DELIVERY), 37))
def test_unfinished_text_is_read_as_far_as_it_goes(cut: int) -> None:
    index = index_pddl(DELIVERY[:cut])
    whole = {(each.kind, each.name, each.start) for each in index_pddl(DELIVERY).found}
    known = {(each.kind, each.name, each.start) for each in index.found}
    last = max([start for _, _, start in known], default=0)
    assert {each for each in known - whole if each[2] < last} <= {
        each for each in known if each[0] in (Kind.PREDICATE, Kind.OBJECT, Kind.TASK)
    }


@pytest.mark.parametrize("name", ["elevator", "household", "workshop", "purchasing", "travel"])
def test_names_of_shipped_domains_are_those_of_the_model(name: str) -> None:
    domain = open_source(name).domain()
    index = index_yaml(write_yaml(domain))
    classical = getattr(domain, "classical", domain)
    assert index.declared(Kind.ACTION) == set(classical.actions)
    assert set(index.names(Kind.PREDICATE)) >= set(classical.predicates)


def test_positions_count_utf16_units() -> None:
    index = index_yaml('domain: d\ndescription: "🚚"\nactions: {go: {requires: ["at(🚚x)"]}}\n')
    line = index.text.splitlines()[2]
    found = next(each for each in index.found if each.kind is Kind.OBJECT)
    assert index.position(found.start) == (2, line.index("🚚"))
    assert index.position(found.end) == (2, line.index("🚚") + 3)
    assert index.offset(2, line.index("🚚") + 3) == found.end
