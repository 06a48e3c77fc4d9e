"""What a problem states beside its domain, arguments in the wrong order, and documents against the schema."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
import warnings
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import domains
from planner import Domain, load, solve
from planner.errors import InputError
from planner.language.documents import read_documents, write_json, write_yaml
from planner.language.documents.schema import json_schema
from planner.language.documents.text_formats import parse_yaml
from planner.language.pddl.syntax import FileWarning
from planner.lint.problem_lint import check_problem
from planner.model import Atom
from planner.plan import Status

YAML = """
domain: rooms
types: [robot, room]
predicates: {at: [robot, room]}
actions:
  go: {parameters: {r: robot, p: room, q: room}, requires: ["at(r,p)"], provides: ["at(r,q)"], modifies: ["at(r,_)"]}
---
problem: x
domain: rooms
objects: {r1: robot, a: room, b: room}
initial: ["at(r1,a)", FACTS]
goal: ["at(r1,b)"]
"""
PDDL = """(define (domain rooms) (:requirements :typing) (:types robot room) (:predicates (at ?r - robot ?p - room))
(:action go :parameters (?r - robot ?p ?q - room) :precondition CONDITION :effect (and (at ?r ?q) (not (at ?r ?p)))))"""
PROBLEM = """(define (problem x) (:domain rooms) (:objects r1 - robot a b - room)
(:init (at r1 a) FACTS) (:goal (at r1 b)))"""


def yaml(tmp_path: Path, facts: str):
    (tmp_path / "d.yaml").write_text(YAML.replace("FACTS", facts))
    return load(tmp_path / "d.yaml")


def pddl(tmp_path: Path, facts: str = "", condition: str = "(at ?r ?p)"):
    (tmp_path / "d.pddl").write_text(PDDL.replace("CONDITION", condition))
    (tmp_path / "p.pddl").write_text(PROBLEM.replace("FACTS", facts))
    return load(tmp_path / "d.pddl", tmp_path / "p.pddl")


def declared(*facts: str):
    domain = Domain("rooms", types=["robot", "room"])
    go = {"r": "robot", "p": "room", "q": "room"}
    domain.action("go", go, requires=["at(r,p)"], provides=["at(r,q)"], modifies=["at(r,_)"])
    objects = {"r1": "robot", "a": "room", "b": "room"}
    return domain.problem(objects=objects, initial=["at(r1,a)", *facts], goal=["at(r1,b)"])


@pytest.mark.parametrize("way", ["yaml", "pddl", "python"])
def test_facts_of_which_the_domain_knows_nothing_are_a_finding(tmp_path: Path, way: str) -> None:
    problem = {
        "yaml": lambda: yaml(tmp_path, '"weather(sunny)", raining'),
        "pddl": lambda: pddl(tmp_path, "(weather sunny) (raining)"),
        "python": lambda: declared("weather(sunny)", "raining"),
    }[way]()
    assert problem.unmentioned == (Atom("weather", ("sunny",)), Atom("raining"))
    assert problem.initial == (Atom("at", ("r1", "a")),)
    found = [each for each in check_problem(problem) if each.rule == "unmentioned-fact"]
    assert [each.message.split(":")[0] for each in found] == [
        "the domain knows nothing of weather(sunny)",
        "the domain knows nothing of raining",
    ]
    assert solve(problem).status is Status.OPTIMAL


@pytest.mark.parametrize(
    ("stated", "atom"),
    [
        ("(= (fuel r1) 3)", Atom("fuel", ("r1",))),
        ("(= fuel -3)", Atom("fuel")),
        ("(= (owner r1) bob)", Atom("owner", ("r1",))),
        ("(not (zork r1))", Atom("zork", ("r1",))),
    ],
)
def test_values_and_negated_facts_of_which_the_domain_knows_nothing_are_a_finding(
    tmp_path: Path, stated: str, atom: Atom
) -> None:
    problem = pddl(tmp_path, stated)
    assert problem.unmentioned == (atom,)
    assert (problem.initial, problem.values) == ((Atom("at", ("r1", "a")),), {})
    assert solve(problem).status is Status.OPTIMAL


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ("(weather ?x)", "the variable '?x' is not bound; name an object"),
        ("(not (weather ?x))", "the variable '?x' is not bound"),
        ("(= (fuel ?x) 3)", "the variable '?x' is not bound"),
        ("(?x a)", "the predicate '?x' is not declared"),
        ("(3 a)", "the predicate '3' is not declared"),
        ("(= 3 (fuel a))", "found '3', expected a function"),
        ("(= (fuel a) (+ 1 2))", "the function 'fuel' is not declared"),
        ("(= (att r1) 3)", "the function 'att' is not declared"),
        ("(not (att r1 a))", "did you mean 'at'"),
    ],
)
def test_what_no_fact_can_be_is_a_mistake_with_its_place(tmp_path: Path, stated: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        pddl(tmp_path, stated)
    assert str(caught.value.location).startswith(f"{tmp_path / 'p.pddl'}:")


@pytest.mark.parametrize("way", ["yaml", "python"])
def test_a_fact_with_a_variable_is_a_mistake(tmp_path: Path, way: str) -> None:
    with pytest.raises(InputError, match=r"\?x"):
        {"yaml": lambda: yaml(tmp_path, '"weather(?x)"'), "python": lambda: declared("weather(?x)")}[way]()


@pytest.mark.parametrize("way", ["yaml", "pddl", "python"])
@pytest.mark.parametrize("fact", ["att(r1,a)", "at(r1,nowhere)", "at(a,r1)", "at(r1)"])
def test_facts_that_look_misspelt_are_mistakes(tmp_path: Path, way: str, fact: str) -> None:
    with pytest.raises(InputError):
        {
            "yaml": lambda: yaml(tmp_path, f'"{fact}"'),
            "pddl": lambda: pddl(tmp_path, f"({fact.replace('(', ' ').replace(',', ' ')}"),
            "python": lambda: declared(fact),
        }[way]()


@pytest.mark.parametrize(
    ("condition", "is_found"), [("(at ?p ?r)", True), ("(at ?r ?p)", False), ("(not (at ?q ?r))", True)]
)
def test_arguments_in_the_wrong_order_are_found_in_pddl(tmp_path: Path, condition: str, is_found: bool) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        problem = pddl(tmp_path, condition=condition)
    found = [each for each in check_problem(problem) if each.rule == "type"]
    assert bool(found) is is_found
    column = (tmp_path / "d.pddl").read_text().splitlines()[1].index(condition) + condition.index("(at ") + 5
    place = f"{tmp_path / 'd.pddl'}:2:{column}"
    assert all("argument 1 of at(" in each.message and each.place == f"{place}: action go" for each in found)
    assert all(each.category is FileWarning for each in told)
    assert [str(each.message).split(": ")[0] for each in told[:1]] == [place] * is_found


@pytest.mark.parametrize("name", [each.name for each in pkgutil.iter_modules(domains.__path__)])
def test_the_schema_accepts_every_shipped_domain(name: str) -> None:
    schema = Draft202012Validator(json_schema())
    for problem in importlib.import_module(f"domains.{name}").problems().values():
        for text in (write_json(problem), write_yaml(problem)):
            documents = [json.loads(text)] if text.lstrip()[:1] in "[{" else parse_yaml(text, "x")
            for each in [*documents, [part for one in documents for part in (one if isinstance(one, list) else [one])]]:
                data = json.loads(json.dumps(each, default=float))
                assert not list(schema.iter_errors(data)), next(schema.iter_errors(data)).message


@pytest.mark.parametrize(
    "text",
    [
        "domain: d\nfunctions: {distance: [place, place], fee: }\ntypes: [place]\npredicates: {ready: , at: [place]}\n",
        "domain: d\ntypes:\nactions:\n  go:\n---\nproblem: p\ndomain: d\ninitial:\n",
    ],
)
def test_the_schema_accepts_what_the_reader_does(text: str) -> None:
    read_documents(text)
    schema = Draft202012Validator(json_schema())
    documents = parse_yaml(text, "x")
    assert all(schema.is_valid(each) for each in [*documents, documents])
    assert not schema.is_valid({"domain": "d", "actoins": {}})


def _shop(requires: str) -> list[str]:
    """Return the findings on a shop whose orders are listed, and closed where `requires` holds."""
    shop = Domain("shop", types=["order"])
    shop.predicate("pending", "order")
    shop.action("list_orders", lists="pending(_)", tags=["read_only"])
    shop.action("close", {"o": "order"}, requires=["pending(o)", requires], provides=["not pending(o)"])
    problem = shop.problem(goal="(forall (?o - order) (not (pending ?o)))")
    return [f"{each.code} {each.place}" for each in check_problem(problem)]


def test_what_is_listed_may_turn_up_and_what_it_lacks_is_still_found() -> None:
    assert _shop("pending(o)") == []
    assert _shop("signed(o)") == ["FT114 predicate signed"]
