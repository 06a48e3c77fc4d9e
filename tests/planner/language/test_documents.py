"""YAML and JSON documents: what they mean, and how they are written."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from planner import (
    Atom,
    Case,
    DataParameter,
    DocumentError,
    Domain,
    Entity,
    Goal,
    Metric,
    Object,
    Problem,
    SoftGoal,
    UnsupportedError,
    json_schema,
    read_documents,
    write_json,
    write_yaml,
)
from planner.language.documents.schema import ActionDocument, DomainDocument, ProblemDocument
from planner.model import From, When
from planner.model.formulas import TRUE

COURIER = """\
domain: courier
types: {robot: object, room: object}
predicates: {at: {parameters: [robot, room]}}          # optional
actions:
  move:
    parameters: {robot: robot, origin: room, target: room}
    requires: ["at(robot, origin)", "door(origin, target)"]
    provides: ["at(robot, target)"]
    modifies: ["at(robot, _)"]
    cost: 2
---
problem: one-parcel
domain: courier
objects: {r2: robot, hall: room, lab: room}
initial: ["at(r2, hall)", "door(hall, lab)"]
goal: ["at(r2, lab)"]                                  # or {hard: [...], soft: {"at(r2, lab)": 5}}
"""

WRITTEN = """\
domain: courier
types: {robot: object, room: object}
predicates:
  at:
    parameters: [robot, room]
  door:
    parameters: [room, room]
actions:
  move:
    parameters: {robot: robot, origin: room, target: room}
    requires: ["at(robot, origin)", "door(origin, target)"]
    provides: ["at(robot, target)"]
    modifies: ["at(robot, _)"]
    cost: 2
---
problem: one-parcel
domain: courier
objects: {r2: robot, hall: room, lab: room}
initial: ["at(r2, hall)", "door(hall, lab)"]
goal: ["at(r2, lab)"]
"""


def courier() -> Problem:
    """Return the problem of the documents above, declared in Python."""
    domain = Domain("courier", types=["robot", "room"])
    at = domain.predicate("at", "robot", "room")
    domain.action(
        "move",
        parameters={"robot": "robot", "origin": "room", "target": "room"},
        requires=["at(robot, origin)", "door(origin, target)"],
        provides=at("robot", "target"),
        modifies=at("robot", "_"),
        cost=2,
    )
    return domain.problem(
        "one-parcel",
        objects={"r2": "robot", "hall": "room", "lab": "room"},
        initial=[at("r2", "hall"), "door(hall, lab)"],
        goal=at("r2", "lab"),
    )


def domain(text: str) -> Domain:
    """Return the one domain that `text` declares."""
    return Domain.of(read_documents(text).domains[0])


def test_documents_say_what_python_says() -> None:
    assert read_documents(COURIER).problems == (courier(),)


def test_how_documents_are_written() -> None:
    assert write_yaml(courier()) == WRITTEN
    assert write_yaml(courier().domain) + "---\n" + write_yaml(courier(), domain=False) == WRITTEN


def test_json_is_one_object_or_a_list() -> None:
    both = json.loads(write_json(courier()))
    assert [next(iter(each)) for each in both] == ["domain", "problem"]
    alone = write_json(courier().domain)
    assert json.loads(alone)["domain"] == "courier"
    assert read_documents(alone).domains == (courier().domain,)


def test_problems_beside_their_domain(tmp_path: Path) -> None:
    (tmp_path / "domain.yaml").write_text(write_yaml(courier().domain), encoding="utf-8")
    (tmp_path / "problem.json").write_text(write_json(courier(), domain=False), encoding="utf-8")
    model = read_documents(tmp_path / "domain.yaml").domains[0]
    assert read_documents(tmp_path / "problem.json", domain=model).problems == (courier(),)
    with pytest.raises(DocumentError, match="the domain of problem 'one-parcel' is not in this file"):
        read_documents(str(tmp_path / "problem.json"))


def test_several_domains_and_problems_in_any_order() -> None:
    text = "problem: p\ndomain: b\n---\ndomain: a\n---\ndomain: b\n---\nproblem: q\ndomain: a\n---\n"
    found = read_documents(text)
    assert [each.name for each in found.domains] == ["a", "b"]
    assert [(each.name, each.domain.name) for each in found.problems] == [("p", "b"), ("q", "a")]
    with pytest.raises(DocumentError, match="problem 'r' does not say of which domain it is; one of a, b"):
        read_documents(text + "problem: r\n")
    with pytest.raises(DocumentError, match="two domains are named 'a'"):
        read_documents(text + "domain: a\n")


def test_words_are_those_of_yaml_1_2() -> None:
    text = "domain: d\ntypes: [yes, off]\nconstants: {no: yes, on: off, y: yes, 1: yes, null: yes, 0x1: off}\n"
    model = read_documents(text).domains[0]
    assert list(model.types) == ["yes", "off"]
    assert [each.name for each in model.constants] == ["no", "on", "y", "1", "null", "0x1"]
    assert write_yaml(model) == (
        'domain: d\ntypes: {"yes": object, "off": object}\n'
        'constants: {"no": "yes", "on": "off", "y": "yes", "1": "yes", "null": "yes", "0x1": "off"}\n'
    )


def test_a_part_without_value_is_left_out() -> None:
    model = read_documents("domain: d\ntypes:\nactions:\n  a:\n  b:\n    requires:\n    cost:\n").domains[0]
    assert [action.cost for action in model.actions.values()] == [(1,), (1,)]
    assert model.actions["b"].requires == TRUE


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("types: [a]", "types: {a: object}"),
        ("types: {a: []}", "types: {a: []}"),
        ("types: [a]\npredicates: {p: [a]}", "types: {a: object}\npredicates: {p: {parameters: {a: a}}}"),
        ("types: [a, b]\nconstants: {c: a | b}", "types: [a, b]\nconstants: {c: [a, b]}"),
        ("actions: {a: {requires: p}}", "actions: {a: {requires: [p]}}"),
        ("actions: {a: {requires: [p, q]}}", "actions: {a: {requires: (and (p) (q))}}"),
        ("actions: {a: {cost: 2.50}}", "actions: {a: {cost: ['2.5']}}"),
        ("actions: {a: {cost: 1}}", "actions: {a: }"),
        ("actions: {a: {when: {provides: p}}}", "actions: {a: {when: [{requires: [], provides: [p]}]}}"),
        ("actions: {a: {parameters: {t: str}}}", "actions: {a: {parameters: {t: {type: str}}}}"),
        ("actions: {a: {parameters: {t: 'int | None'}}}", "actions: {a: {parameters: {t: {type: 'int|None'}}}}"),
        ("actions: {a: {tags: trusted}}", "actions: {a: {tags: [trusted]}}"),
        ("derived: [{head: p, condition: q}]", "derived: [{head: p(), parameters: {}, condition: [q]}]"),
    ],
)
def test_short_and_long_ways_to_write(short: str, long: str) -> None:
    assert read_documents(f"domain: d\n{short}\n") == read_documents(f"domain: d\n{long}\n")


def test_numbers_are_exact() -> None:
    text = "domain: d\nresolution: 0.01\nactions: {a: {cost: 0.1}, b: {cost: 1e2}, c: {cost: 2.345}, d: {cost: 0o17}}\n"
    costs = [action.cost for action in read_documents(text).domains[0].actions.values()]
    assert costs == [(Decimal("0.1"),), (100,), (Decimal("2.34"),), (15,)]


def test_problems_have_the_resolution_of_their_domain_unless_they_have_one() -> None:
    domain = "domain: d\nresolution: 0.5\ntypes: [town]\nfunctions: {far: [town]}\n"
    problem = "problem: p\nobjects: {x: town}\nvalues: {far(x): 2.3}\n"
    (model,) = read_documents(domain).domains
    inside, beside = read_documents(domain + "---\n" + problem), read_documents(problem, domain=model)
    own = read_documents(problem + "resolution: 0.1\n", domain=model)
    found = [one.problems[0].values[Atom("far", ("x",))] for one in (inside, beside, own)]
    assert found == [Decimal("2.5"), Decimal("2.5"), Decimal("2.3")]
    python = Domain.of(model)
    assert python.problem("p", objects={"x": "town"}, values={"far(x)": 2.3}).values == inside.problems[0].values


def test_data_parameters() -> None:
    text = """\
domain: mail
types: [user]
actions:
  tell:
    parameters:
      u: user
      tasks: {type: "list[str]", from: {fact: tasks(u), path: data.tasks}, description: What to do.}
      limit: {type: float, default: 1, fixed: true}
      day: {type: date | None, default: 2024-05-01}
      extra: {type: any, default: {a: [1, 2.5, null]}}
    requires: tasks(u)
"""
    model = read_documents(text).domains[0]
    tasks, limit, day, extra = model.actions["tell"].data
    assert tasks == DataParameter(
        "tasks", list[str], source=From(Atom("tasks", ("?u",)), "data.tasks"), description="What to do."
    )
    assert limit == DataParameter("limit", float, 1.0, fixed=True)
    assert str(day.default) == "2024-05-01"
    assert extra.default == {"a": [1, 2.5, None]}
    assert read_documents(write_yaml(model)).domains == (model,)


def test_problems_with_everything() -> None:
    text = WRITTEN.replace('goal: ["at(r2, lab)"]', 'goal: {hard: "at(r2, lab)", soft: {"at(r2, hall)": 0.5}}')
    text = text.replace("actions:", "functions: {distance: [room, room]}\nactions:")
    text += "values: {'distance(hall, lab)': 3}\nunknown: 'door(lab, _)'\nmetric: length\n"
    problem = read_documents(text).problems[0]
    assert problem.goal == Goal(Atom("at", ("r2", "lab")), (SoftGoal(Atom("at", ("r2", "hall")), Decimal("0.5")),))
    assert problem.values == {Atom("distance", ("hall", "lab")): 3}
    assert problem.unknown == (Atom("door", ("lab", "_")),)
    assert problem.metric is Metric.LENGTH
    assert read_documents(write_yaml(problem)).problems == (problem,)


def test_an_object_named_like_a_parameter() -> None:
    model = domain("domain: d\ntypes: [room]\nconstants: {hall: room}\n").model
    text = write_yaml(model) + "actions:\n  go:\n    parameters: {hall: room}\n"
    text += '    requires: ["near(?hall, ?hall)", "(near ?hall hall)"]\n    provides: ["(not (near hall ?hall))"]\n'
    found = read_documents(text).domains[0]
    assert [str(each) for each in found.actions["go"].requires.parts] == ["near(?hall, ?hall)", "near(?hall, hall)"]
    assert read_documents(write_yaml(found)).domains == (found,)


class Part(Entity): ...


def test_what_only_python_can_hold() -> None:
    parts = Domain("parts")
    parts.action("count", cost=lambda: 3)
    with pytest.raises(UnsupportedError, match="a cost of 'count' that Python computes, in a document"):
        write_yaml(parts.model)
    other = Domain("parts")
    other.action("make", parameters={"plan": DataParameter("plan", complex)})
    with pytest.raises(UnsupportedError, match="data parameter 'plan' of 'make' in a document"):
        write_json(other.model)
    wrong = Domain("parts")
    wrong.action("make", parameters={"plan": DataParameter("plan", int, "many")})
    with pytest.raises(UnsupportedError, match="the default 'many' of data parameter 'plan' of 'make'"):
        write_json(wrong.model)


def test_handlers_are_left_out() -> None:
    parts = Domain("parts")

    @parts.action(provides="made(part)")
    def make(part: Part) -> None: ...

    found = read_documents(write_yaml(parts.model)).domains[0]
    assert found == parts.model
    assert found.handlers == {}


def test_names_that_conditions_use_are_not_written() -> None:
    problem = courier()
    odd = replace(problem.domain, actions={"and": replace(problem.domain.actions["move"], name="and")})
    with pytest.raises(UnsupportedError, match="the name 'and' in a document; it is a word of conditions: rename it"):
        write_yaml(odd)


def test_a_model_made_by_hand_is_written() -> None:
    """Objects that repeat constants, and effects without condition, stay as they are."""
    problem = courier()
    move = replace(problem.domain.actions["move"], when=(When(provides=(Atom("at", ("?robot", "?origin")),)),), cost=())
    model = replace(problem.domain, constants=(Object("hall", ("room",)),), actions={"move": move})
    problem = replace(problem, domain=model)
    assert read_documents(write_yaml(problem)).problems == (problem,)


def test_a_cost_of_an_object_that_is_named_like_a_parameter() -> None:
    shop = Domain("shop", types=["thing"], constants={"x": "thing"})
    shop.action("buy", {"x": "thing"}, cost="(price x ?x)", uses={"money": ["(price ?x x)", 1]})
    assert shop.model.actions["buy"].cost == (Atom("price", ("x", "?x")),)
    assert read_documents(write_yaml(shop.model)).domains == (shop.model,)


@pytest.mark.parametrize("model", [DomainDocument, ProblemDocument, ActionDocument])
def test_the_schema_knows_all_keys(model: type[DomainDocument]) -> None:
    schema = json_schema()
    known = schema["$defs"][model.__name__]["properties"]
    assert set(known) == {field.alias or name for name, field in model.model_fields.items()}
    assert schema["$defs"][model.__name__]["additionalProperties"] is False
    assert all("$ref" in each or each["type"] == "array" for each in schema["anyOf"])
    assert json.loads(json.dumps(schema)) == schema


@pytest.mark.parametrize("length", range(0, len(COURIER), 7))
def test_a_file_that_breaks_off(length: int) -> None:
    try:
        found = read_documents(COURIER[:length] + "\n").domains
    except DocumentError:
        found = ()
    assert all("courier".startswith(each.name) for each in found)


@settings(max_examples=examples(300))
@given(st.data())
def test_a_damaged_file_gives_an_error_or_a_problem(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from([COURIER, write_json(courier())]))
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = start + data.draw(st.integers(0, 5))
        text = text[:start] + data.draw(st.text("{}[]:,-\"'#&*!|>%@`?()_ \n\tabé0.~\\", max_size=5)) + text[end:]
    try:
        problems = read_documents(text + "\n").problems
    except (DocumentError, UnsupportedError):
        problems = ()
    assert all(read_documents(write_yaml(each)).problems == (each,) for each in problems)


def test_cases_of_actions() -> None:
    text = """\
domain: desk
types: {tool: object, text: object}
actions:
  send:
    parameters: {tool: tool, text: text}
    provides: ["sent(text)"]
    risk: 0.1
    outcomes: [{probability: 0.5, provides: ["sent(text)"]}, {probability: 0.5, name: lost}]
    cases:
      - {arguments: [fax, _], risk: 0.3}
      - {arguments: [mail, _], outcomes: [0.75, 0.25]}
"""
    found = domain(text).model
    assert found.actions["send"].cases == (
        Case(("fax", "_"), Decimal("0.3")),
        Case(("mail", "_"), Decimal(0), (Decimal("0.75"), Decimal("0.25"))),
    )
    for written in (write_yaml(found), write_json(found)):
        assert domain(written).model == found
    with pytest.raises(DocumentError, match=r"10:22: the arguments of a case are 2 names"):
        domain(text.replace("[fax, _]", "[fax]"))
