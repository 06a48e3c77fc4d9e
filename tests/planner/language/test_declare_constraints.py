"""What is declared about the way to a goal: resources, sensing, constraints, budgets, deadlines, what is likely."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest

from htn.language.declare import Methods
from planner import (
    TRUE,
    And,
    Atom,
    Constraint,
    ConstraintKind,
    Domain,
    Done,
    Entity,
    Equals,
    Exists,
    Not,
    Problem,
    always,
    at_most,
    before,
    done,
    forbidden,
    json_schema,
    mandatory,
    never,
    never_after,
    read_documents,
    sometime,
    write_json,
    write_yaml,
)
from planner.errors import DeclarationError
from planner.language.documents.document_conditions import KINDS
from planner.model import OPEN, CostFunction
from planner.model.domain import resources_of


class Robot(Entity): ...


class Room(Entity): ...


R2, HALL, LAB = Robot("r2"), Room("hall"), Room("lab")


def office() -> Domain:
    domain = Domain("office")
    domain.action(
        "move",
        {"robot": Robot, "origin": Room, "target": Room},
        requires=["at(robot, origin)"],
        provides=["at(robot, target)"],
        modifies=["at(robot, _)"],
    )
    domain.action("ring", provides=["rung"])
    return domain


def problem(*constraints: object) -> Problem:
    return office().problem(objects=[R2, HALL, LAB], initial=["at(r2, hall)"], constraints=constraints)


AT_LAB, RUNG = Atom("at", ("r2", "lab")), Atom("rung")
KIND = ConstraintKind
CASES = [
    (always("not rung"), "always not rung"),
    (always(["rung", "at(r2, lab)"]), "always rung and at(r2, lab)"),
    (always("(exists (?x - Room) (at r2 ?x))"), None),
    (sometime("at(r2, lab)"), "sometime at(r2, lab)"),
    (sometime(done("move(r2, _, lab)")), "sometime done move(r2, _, lab)"),
    (at_most(2, "rung"), "at most 2 times rung"),
    (never(AT_LAB), "never at(r2, lab)"),
    (before("rung", done("move")), "rung before done move(_, _, _)"),
    (never_after("rung", "at(r2, lab)"), "never rung after at(r2, lab)"),
    (forbidden("move(r2, _, lab)"), "never done move(r2, _, lab)"),
    (mandatory("ring"), "sometime done ring"),
]


@pytest.mark.parametrize(("demand", "said"), CASES)
def test_constraints_and_how_they_read(demand: object, said: str | None) -> None:
    (found,) = problem(demand).constraints
    assert said is None or str(found) == said
    assert problem(found).constraints == (found,)


def test_what_constraints_are_made_of() -> None:
    found = problem(
        always("rung"),
        at_most(3, done("ring()")),
        before("rung", then=done("move(r2, hall, _)"), utility="0.5"),
        never_after("rung", after=done(Atom("move", ("r2", OPEN, OPEN)))),
        sometime("(exists (?x - Room) (at r2 ?x))", utility=2),
        forbidden(done("ring")),
        always([]),
    ).constraints
    assert found[0] == Constraint(KIND.ALWAYS, RUNG)
    assert found[1] == Constraint(KIND.AT_MOST, Done(Atom("ring")), times=3)
    assert found[2] == Constraint(KIND.BEFORE, RUNG, Done(Atom("move", ("r2", "hall", OPEN))), utility=Decimal("0.5"))
    assert found[3] == Constraint(KIND.NEVER_AFTER, RUNG, Done(Atom("move", ("r2", OPEN, OPEN))))
    assert isinstance(found[4].what, Exists)
    assert found[4].utility == 2
    assert found[5] == Constraint(KIND.AT_MOST, Done(Atom("ring")), times=0)
    assert found[6] == Constraint(KIND.ALWAYS, TRUE)


def test_one_constraint_needs_no_list() -> None:
    domain = office()
    assert (
        domain.problem(constraints=never("rung")).constraints == domain.problem(constraints=[never("rung")]).constraints
    )
    assert domain.problem(constraints=()).constraints == ()


def test_conditions_of_constraints_may_be_lists() -> None:
    (found,) = problem(never(["rung", AT_LAB])).constraints
    assert found.what == And((RUNG, AT_LAB))


def test_what_steps_use() -> None:
    shop = Domain("shop", types=["thing"])
    action = shop.action(
        "buy",
        {"x": "thing"},
        provides=["have(x)"],
        uses={"money": ["price(x)", 2], "tokens": lambda x: 2 * len(x), "time": 0, "paper": "0.5"},
    )
    assert action.uses["money"] == (Atom("price", ("?x",)), 2)
    assert action.uses["time"] == (0,)
    assert action.uses["paper"] == (Decimal("0.5"),)
    (tokens,) = action.uses["tokens"]
    assert isinstance(tokens, CostFunction)
    assert tokens.value(("four",)) == 8
    assert action.cost == (1,)
    assert [*shop.model.functions] == ["price"]
    assert resources_of(shop.model) == ("money", "tokens", "time", "paper")
    assert Domain.of(shop.model).model == shop.model


def test_uses_are_rounded_as_costs_are() -> None:
    shop = Domain("shop", resolution="0.01")
    assert shop.action("buy", uses={"money": 1 / 3}).uses["money"] == (Decimal("0.33"),)


def test_what_steps_sense() -> None:
    domain = office()
    action = domain.action("look", {"room": Room}, senses=["dirty(room)", "at(_, room)"])
    assert action.senses == (Atom("dirty", ("?room",)), Atom("at", (OPEN, "?room")))
    assert "dirty" in domain.model.predicates
    assert Domain.of(domain.model).model == domain.model


def test_budgets_and_deadlines() -> None:
    domain = office()
    domain.action("pay", uses={"money": 2})
    found = domain.problem(budgets={"cost": 10, "money": "2.50"}, deadline=1.5)
    assert found.budgets == {"cost": 10, "money": Decimal("2.5")}
    assert found.deadline == Decimal("1.5")
    assert domain.problem(deadline=30.0).deadline == 30
    assert domain.problem().deadline is None


def test_what_is_likely() -> None:
    domain = office()
    found = domain.problem(objects=[R2, HALL, LAB], unknown="at(r2, _)", likely={"at(r2, hall)": 0.3, AT_LAB: "0.25"})
    assert found.likely == {Atom("at", ("r2", "hall")): Decimal("0.3"), AT_LAB: Decimal("0.25")}
    given = {"at(r2, _)": "0.1", "at(r2, lab)": "0.9"}
    found = domain.problem(
        objects=[R2, HALL, LAB, Room("den")], initial="at(r2, den)", unknown="at(_, _)", likely=given
    )
    assert found.likely == {Atom("at", ("r2", "hall")): Decimal("0.1"), AT_LAB: Decimal("0.9")}


@pytest.mark.parametrize(
    ("likely", "message"),
    [
        (
            {"at(r2, hall)": 0.7, "at(r2, lab)": "0.31"},
            "only one of at(r2, hall), at(r2, lab) can hold, and their probabilities sum to 1.01",
        ),
        ({"at(r2, _)": 0.6}, "their probabilities sum to 1.2"),
    ],
)
def test_what_excludes_each_other_cannot_be_likelier_than_certain(likely, message) -> None:
    with pytest.raises(DeclarationError, match=re.escape(message)):
        office().problem(objects=[R2, HALL, LAB], unknown="at(r2, _)", likely=likely)


def test_numbers_are_not_likely() -> None:
    domain = Domain("till", types=["receipt"])
    domain.function("amount", "receipt")
    domain.action("read", {"r": "receipt"}, senses=["amount(r)"])
    domain.action("book", {"r": "receipt"}, provides=["booked(r)"], modifies=["amount(r) -= 1"])
    with pytest.raises(DeclarationError, match=r"amount\(r3\) is a number, and only facts are likely"):
        domain.problem(objects={"r3": "receipt"}, unknown=["amount(_)"], likely={"amount(r3)": 0.5})


WRITTEN = """\
  - always: [rung, "not at(r2, lab)"]
  - {sometime: "at(r2, lab)", utility: 2.5}
  - {mandatory: "move(r2, _, lab)"}
  - {forbidden: ring}
  - {never: rung}
  - at_most: {times: 2, what: rung}
  - at_most:
      times: 1
      what: {done: "move(_, _, _)"}
  - before:
      first: rung
      then: {done: ring}
  - never_after:
      what: [rung, "at(r2, hall)"]
      after: "at(r2, lab)"
budgets: {cost: 7, money: 2.5}
deadline: 60
"""


def written() -> Problem:
    """Return the problem whose document ends as above."""
    domain = office()
    uses = {"money": ["price(room)", 1], "tokens": 3}
    domain.action("pay", {"room": Room}, uses=uses, senses=["rung", "at(_, room)"])
    return domain.problem(
        objects=[R2, HALL, LAB],
        unknown="at(r2, lab)",
        likely={"at(r2, lab)": 0.3},
        constraints=[
            always(["rung", "not at(r2, lab)"]),
            sometime("at(r2, lab)", utility="2.5"),
            mandatory("move(r2, _, lab)"),
            forbidden("ring"),
            never("rung"),
            at_most(2, "rung"),
            at_most(1, done("move")),
            before("rung", done("ring")),
            never_after(["rung", "at(r2, hall)"], "at(r2, lab)"),
        ],
        budgets={"cost": 7, "money": "2.5"},
        deadline=60,
    )


def test_how_documents_say_it() -> None:
    text = write_yaml(written())
    assert text.endswith(WRITTEN)
    assert 'likely: {"at(r2, lab)": 0.3}\n' in text
    assert '    uses:\n      money: ["price(room)", 1]\n      tokens: 3\n    senses: [rung, "at(_, room)"]\n' in text
    assert read_documents(text).problems == (written(),)
    assert read_documents(write_json(written())).problems == (written(),)


def test_editors_know_the_kinds_of_constraints() -> None:
    known = json_schema()["$defs"]["ConstraintDocument"]["properties"]
    assert known.keys() == {*KINDS, "utility"}


def test_hierarchical_problems_have_both_kinds_of_constraints() -> None:
    how = Methods(office())
    found = how.problem(
        objects=[R2, HALL, LAB],
        tasks=["move(r2, a, b)"],
        parameters={"a": Room, "b": Room},
        constraints=["a != b", never("rung")],
        budgets={"cost": 3},
        deadline=5,
        unknown="at(r2, _)",
        likely={"at(r2, lab)": 0.5},
    )
    assert found.network.constraints == Not(Equals("?a", "?b"))
    assert found.classical.constraints == problem(never("rung")).constraints
    assert (found.classical.budgets, found.classical.deadline) == ({"cost": 3}, 5)
    assert how.problem(tasks=["ring"], constraints=never("rung")).network.constraints == TRUE
    assert read_documents(write_yaml(found)).problems == (found,)


@pytest.mark.parametrize("name", ["duration", "seconds"])
def test_time_is_no_resource(name: str) -> None:
    with pytest.raises(DeclarationError, match=f"'{name}' is no resource, but how long a step takes"):
        Domain("d").action("act", {}, provides=["p"], uses={name: 1})
