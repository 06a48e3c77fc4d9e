"""Whatever is given to a declaration, it is taken or refused with an error that names the place."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from effort import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st

from planner import (
    DeclarationError,
    Domain,
    Entity,
    Outcome,
    UnsupportedError,
    When,
    always,
    at_most,
    before,
    done,
    forbidden,
    mandatory,
    never,
    never_after,
    sometime,
)
from planner.language.declare.atom_syntax import NotationError, parse_literal
from planner.language.declare.marks import ActionFields


class Room(Entity): ...


texts = st.text("abhl?_(),=! not.-0159<>\t\n'\"é", max_size=14) | st.sampled_from(
    ["at(a, hall)", "(at ?a hall)", "lit"]
)
things = st.sampled_from([None, object(), Room, Room("r"), b"x", Decimal(1), Outcome(1), When("lit", "lit")])
leaves = things | st.booleans() | st.integers() | st.floats() | st.decimals() | texts
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(texts | st.integers(), inner, max_size=3)
        | st.tuples(inner)
        | st.tuples(texts, st.integers())
    ),
    max_leaves=4,
)
fields = st.sampled_from(sorted(ActionFields.__annotations__))


def office() -> Domain:
    """Return a domain with something of everything."""
    domain = Domain("office", types=["robot"], constants=[Room("hall")])
    domain.predicate("at", "robot", Room)
    domain.function("distance", Room)
    domain.action("wait", {"a": "robot"}, requires="lit", uses={"time": "distance(hall)"}, senses="lit")
    return domain


def located(error: Exception) -> bool:
    """Return whether the error says that the mistake is in this file."""
    return Path(__file__).name in str(error)


@settings(max_examples=examples(400))
@given(texts)
def test_any_text_is_a_literal_or_a_mistake(text: str) -> None:
    try:
        literal = parse_literal(text)
    except NotationError:
        return
    assert parse_literal(str(literal)) == literal


@settings(max_examples=examples(400))
@given(fields, values)
@example("when", When(5, {"a": 1}, object(), 7))
@example("outcomes", [Outcome("x", 5, None, 3)])
@example("holds", ([],))
def test_any_field_of_an_action(field: str, value: Any) -> None:
    domain = office()
    refused: Exception | None = None
    try:
        domain.action("go", parameters={"a": "robot"}, **{field: value})
        model = domain.model
    except (DeclarationError, UnsupportedError) as error:
        refused = error
    assert located(refused) if refused else Domain.of(model).model == model


CALLS = {
    "domain": Domain,
    "types": lambda value: Domain("d", types=value),
    "constants": lambda value: Domain("d", constants=value),
    "resolution": lambda value: Domain("d", resolution=value),
    "type": lambda value: office().type(value),
    "parent": lambda value: office().type("t", value),
    "constant": lambda value: office().constant(value),
    "constant type": lambda value: office().constant("c", value),
    "predicate": lambda value: office().predicate(value),
    "predicate type": lambda value: office().predicate("p", value),
    "stale_with": lambda value: office().predicate("p", stale_with=value),
    "predicate tags": lambda value: office().predicate("p", tags=value),
    "function": lambda value: office().function(value, Room),
    "parameters": lambda value: office().action("go", parameters=value),
    "parameter": lambda value: office().action("go", parameters={"x": value}),
    "head": lambda value: office().derive(value, {"x": Room}, "at(x, x)"),
    "rule parameters": lambda value: office().derive("ready(x)", value, "lit"),
    "condition": lambda value: office().derive("ready(x)", {"x": Room}, value),
    "bind": lambda value: office().bind("go", value),
    "name": lambda value: office().problem(value),
    "objects": lambda value: office().problem(objects=value),
    "initial": lambda value: office().problem(initial=value),
    "goal": lambda value: office().problem(goal=value),
    "soft": lambda value: office().problem(goal={"soft": value}),
    "values": lambda value: office().problem(values=value),
    "value": lambda value: office().problem(values={"distance(hall)": value}),
    "unknown": lambda value: office().problem(unknown=value),
    "metric": lambda value: office().problem(metric=value),
    "likely": lambda value: office().problem(unknown="lit", likely=value),
    "likelihood": lambda value: office().problem(unknown="lit", likely={"lit": value}),
    "budgets": lambda value: office().problem(budgets=value),
    "budget": lambda value: office().problem(budgets={"cost": value}),
    "deadline": lambda value: office().problem(deadline=value),
    "constraints": lambda value: office().problem(constraints=value),
    "always": lambda value: office().problem(constraints=always(value)),
    "sometime": lambda value: office().problem(constraints=sometime(value)),
    "never": lambda value: office().problem(constraints=[never("lit"), never(value)]),
    "times": lambda value: office().problem(constraints=at_most(value, "lit")),
    "at most": lambda value: office().problem(constraints=at_most(2, value)),
    "first": lambda value: office().problem(constraints=before(value, "lit")),
    "then": lambda value: office().problem(constraints=before("lit", value)),
    "after": lambda value: office().problem(constraints=never_after("lit", value)),
    "forbidden": lambda value: office().problem(constraints=forbidden(value)),
    "mandatory": lambda value: office().problem(constraints=mandatory(value)),
    "done": lambda value: office().problem(constraints=sometime(done(value))),
    "utility": lambda value: office().problem(constraints=always("lit", utility=value)),
}


@pytest.mark.parametrize("call", CALLS)
@settings(max_examples=examples(60))
@given(values)
def test_any_argument_of_a_declaration(call: str, value: Any) -> None:
    refused: Exception | None = None
    try:
        CALLS[call](value)
    except (DeclarationError, UnsupportedError) as error:
        refused = error
    assert refused is None or located(refused)
