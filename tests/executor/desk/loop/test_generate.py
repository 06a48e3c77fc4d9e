"""`forethought generate`: instances are larger, keep what the template keeps, and are read again."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from executor.desk.loop.instances import make_instance
from executor.desk.loop.static_graphs import grow_graph
from executor.desk.loop.templates import Template
from planner import InputError, Status, load, read_documents, solve, validate
from planner.model import Atom
from planner.problem_kinds import classical_of, resolve_problem

BLOCKS = """
(define (domain blocks)
  (:predicates (on ?x ?y) (table ?x) (clear ?x) (free) (holding ?x))
  (:action pick :parameters (?x) :precondition (and (clear ?x) (table ?x) (free))
    :effect (and (not (table ?x)) (not (clear ?x)) (not (free)) (holding ?x)))
  (:action put :parameters (?x) :precondition (holding ?x)
    :effect (and (not (holding ?x)) (clear ?x) (free) (table ?x)))
  (:action stack :parameters (?x ?y) :precondition (and (holding ?x) (clear ?y))
    :effect (and (not (holding ?x)) (not (clear ?y)) (clear ?x) (free) (on ?x ?y)))
  (:action unstack :parameters (?x ?y) :precondition (and (on ?x ?y) (clear ?x) (free))
    :effect (and (holding ?x) (clear ?y) (not (clear ?x)) (not (free)) (not (on ?x ?y)))))
"""
BLOCKS_PROBLEM = """
(define (problem tower) (:domain blocks) (:objects b1 b2 b3 b4)
  (:init (free) (clear b1) (on b1 b2) (table b2) (clear b3) (on b3 b4) (table b4))
  (:goal (and (on b2 b3) (on b3 b1))))
"""
UNTYPED = """
(define (domain vans)
  (:predicates (van ?x) (place ?x) (box ?x) (at ?x ?y) (in ?x ?y) (road ?x ?y))
  (:action drive :parameters (?v ?a ?b) :precondition (and (van ?v) (at ?v ?a) (road ?a ?b))
    :effect (and (not (at ?v ?a)) (at ?v ?b)))
  (:action load :parameters (?v ?b ?a) :precondition (and (van ?v) (box ?b) (at ?v ?a) (at ?b ?a))
    :effect (and (not (at ?b ?a)) (in ?b ?v)))
  (:action drop :parameters (?v ?b ?a) :precondition (and (van ?v) (box ?b) (at ?v ?a) (in ?b ?v))
    :effect (and (not (in ?b ?v)) (at ?b ?a))))
"""
UNTYPED_PROBLEM = """
(define (problem one) (:domain vans) (:objects v1 p1 p2 p3 b1)
  (:init (van v1) (place p1) (place p2) (place p3) (box b1) (at v1 p1) (at b1 p2)
         (road p1 p2) (road p2 p1) (road p2 p3) (road p3 p2))
  (:goal (at b1 p3)))
"""


def draw(template: Template, seed: int, **sizes: int):
    return make_instance(template, "drawn", sizes, random.Random(seed))


@pytest.mark.drawn
@given(seed=st.integers(0, 10**6), blocks=st.integers(2, 9))
def test_towers_of_blocks(seed, blocks):
    problem = draw(Template(load(BLOCKS, BLOCKS_PROBLEM)), seed, object=blocks)
    facts = set(problem.initial)
    names = [each.name for each in problem.objects]
    assert len(names) == blocks
    assert Atom("free") in facts
    for name in names:
        below = [fact for fact in facts if fact.predicate in ("on", "table") and fact.args[0] == name]
        above = [fact for fact in facts if fact.predicate in ("on", "clear") and fact.args[-1] == name]
        assert len(below) == len(above) == 1
    assert nx.is_directed_acyclic_graph(nx.DiGraph([fact.args for fact in facts if fact.predicate == "on"]))
    if blocks <= 6:
        result = solve(resolve_problem(problem), mode="first")
        assert result.plan is not None
        assert validate(problem, result.plan).valid


@pytest.mark.drawn
@given(seed=st.integers(0, 10**6), van=st.integers(1, 3), place=st.integers(2, 6), box=st.integers(1, 4))
def test_predicates_stand_for_types(seed, van, place, box):
    problem = draw(Template(load(UNTYPED, UNTYPED_PROBLEM)), seed, van=van, place=place, box=box)
    facts = problem.initial
    for predicate, count in {"van": van, "place": place, "box": box}.items():
        assert sum(fact.predicate == predicate for fact in facts) == count
    places = {fact.args[0] for fact in facts if fact.predicate == "place"}
    at = [fact.args for fact in facts if fact.predicate == "at"]
    assert len({name for name, _ in at}) == len(at) == van + box
    assert {where for _, where in at} <= places
    roads = nx.DiGraph([fact.args for fact in facts if fact.predicate == "road"])
    assert nx.is_strongly_connected(roads)
    assert {*roads} == places
    assert solve(problem, mode="first").has_plan


GRAPHS = {
    "chain": [("a", "b"), ("b", "c")],
    "ring": [("a", "b"), ("b", "c"), ("c", "a")],
    "complete": [(x, y) for x in "abc" for y in "abc" if x != y],
    "order": [("a", "b"), ("a", "c"), ("b", "c")],
    "symmetric tree": [("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")],
    "tree": [("a", "b"), ("a", "c")],
    "loops": [("a", "a"), ("b", "b"), ("c", "c")],
    "nothing": [],
    "star": [("b", "a"), ("c", "a")],
}


@pytest.mark.drawn
@given(name=st.sampled_from(sorted(GRAPHS)), seed=st.integers(0, 10**6), size=st.integers(1, 9))
def test_graphs_keep_their_structure(name, seed, size):
    new = ["a", "b", "c", "d", "e", "f", "g", "h", "i"][:size]
    edges = grow_graph(GRAPHS[name], ["a", "b", "c"], new, random.Random(seed))
    graph = nx.DiGraph(edges)
    graph.add_nodes_from(new)
    assert {*graph} == {*new}
    proper = [edge for edge in edges if edge[0] != edge[1]]
    match name:
        case "chain":
            assert proper == list(pairwise(new))
        case "ring" if size > 1:
            assert nx.is_strongly_connected(graph)
            assert len(proper) == size
        case "complete" if size > 1:
            assert len(proper) == size * (size - 1)
        case "order":
            assert len(proper) == size * (size - 1) // 2
            assert nx.is_directed_acyclic_graph(graph)
        case "symmetric tree":
            assert len(proper) == 2 * (size - 1)
            assert nx.is_strongly_connected(graph)
            assert max(degree for _, degree in graph.out_degree()) <= 2
        case "tree" | "star":
            assert nx.is_tree(graph.to_undirected())
            degrees = graph.in_degree() if name == "tree" else graph.out_degree()
            assert max(degree for _, degree in degrees) <= 1
        case "loops":
            assert edges == [(each, each) for each in new]
        case "nothing":
            assert edges == []


def test_values_follow_the_relation_that_they_go_with():
    template = Template(load("courier", "one-parcel"))
    problem = draw(template, 1, Room=7)
    corridors = {fact.args for fact in problem.initial if fact.predicate == "corridor"}
    distances = {term.args: value for term, value in problem.values.items() if term.predicate == "distance"}
    assert corridors == {*distances}
    assert {*distances.values()} <= {*template.classical.values.values()}
    assert all(distances[other, one] == value for (one, other), value in distances.items())
    assert solve(problem, mode="first").has_plan


def test_what_does_not_grow_stays():
    template = Template(load("courier", "one-parcel"))
    problem = draw(template, 1, Parcel=3)
    corridors = {fact for fact in template.classical.initial if fact.predicate == "corridor"}
    assert {fact for fact in problem.initial if fact.predicate == "corridor"} == corridors
    assert problem.values == template.classical.values


def test_seeds_determine_instances():
    template = Template(load("courier", "one-parcel"))
    assert draw(template, 5, Room=6) == draw(Template(load("courier", "one-parcel")), 5, Room=6)
    assert draw(template, 5, Room=6) != draw(template, 6, Room=6)


def test_sizes_must_be_of_the_template():
    with pytest.raises(InputError, match="did you mean 'Room'"):
        draw(Template(load("courier", "one-parcel")), 1, Rom=6)


def test_structure_that_no_size_keeps():
    problem = load(
        "(define (domain d) (:types a b) (:predicates (p ?x - a ?y - b)) (:action go :parameters (?x - a ?y ?z - b)"
        " :precondition (p ?x ?y) :effect (and (not (p ?x ?y)) (p ?x ?z))))",
        "(define (problem q) (:domain d) (:objects x - a y z - b) (:init (p x y)) (:goal (p x z)))",
    )
    with pytest.raises(InputError, match="no facts for such sizes"):
        draw(Template(problem), 1, b=1)


@pytest.mark.parametrize(
    ("language", "ending"), [("yaml", "yaml"), ("pddl", "pddl"), ("hddl", "hddl"), ("python", "yaml")]
)
def test_files_are_in_the_language_of_the_domain(forethought, language, ending):
    assert forethought("new", "shop", "--language", language).code == 0
    room, parcel = ("Room", "Parcel") if language == "python" else ("room", "parcel")
    words = ["generate", "shop", "--size", f"{room}=5", "--size", f"{parcel}=2", "--seed", "4", "--solvable"]
    ran = forethought(*words, "--out", "more", "--count", "2")
    assert ran.code == 0, ran.err
    files = [f"more/first-4-{number}.{ending}" for number in (1, 2)]
    assert ran.out.split() == files
    for file in files:
        problem = load("shop", file)
        assert len(classical_of(problem).objects) == 8
        assert solve(problem, mode="first").has_plan
    assert forethought(*words, "--out", "more", "--count", "2").code == 0
    Path(files[1]).write_text("mine")
    assert forethought(*words, "--out", "more", "--count", "2").code == 2
    assert Path(files[1]).read_text() == "mine"


def test_one_instance_is_printed(forethought):
    assert forethought("new", "shop").code == 0
    ran = forethought("generate", "shop", "first", "--size", "room=4")
    assert (ran.code, ran.err) == (0, "")
    (problem,) = read_documents(Path("shop/domain.yaml").read_text() + "---\n" + ran.out).problems
    assert problem.name == "first-0"


@pytest.mark.parametrize(
    "words",
    [["--size", "room"], ["--size", "room=0"], ["--size", "room=2", "--size", "room=3"], ["--count", "2"], ["nix"]],
)
def test_mistakes_of_usage(forethought, words):
    assert forethought("new", "shop").code == 0
    ran = forethought("generate", "shop", *words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("Error: ")


def test_instances_without_a_plan_are_not_given(forethought):
    Path("d.yaml").write_text(
        "domain: d\ntypes: {a: object}\nactions: {b: {parameters: {x: a}, requires: ['q(x)'], provides: ['p(x)']}}\n"
        "---\nproblem: one\nobjects: {x1: a}\ngoal: ['p(x1)']\n"
    )
    ran = forethought("generate", "d.yaml", "--solvable", "--time-limit", "1")
    assert (ran.code, ran.out.strip()) == (11, "")
    assert "for 1 of 1, no plan was found" in ran.err
    assert solve(draw(Template(load("d.yaml")), 0, a=2)).status is Status.UNSOLVABLE
