"""Numbers that are declared unknown, and actions that sense them: in Python, YAML and JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from planner import Domain, When, always, load, write_json, write_yaml
from planner.errors import InputError, UnsupportedError
from planner.language.pddl.pddl_writer import write_problem
from planner.model import Atom, Problem
from planner.model.unknown_numbers import find_unread

AMOUNT = Atom("amount", ("r1",))


def shop(**read: Any) -> Domain:
    domain = Domain("shop", types=["receipt"])
    domain.function("amount", ["receipt"], low=0)
    domain.action("read", {"r": "receipt"}, **{"senses": ["amount(r)"], **read})
    domain.action("approve", {"r": "receipt"}, requires=["amount(r) <= 100"], provides=["approved(r)"])
    domain.action("pay", {"r": "receipt"}, requires="approved(r)", modifies="spent += amount(r)", provides="paid(r)")
    return domain


def problem_of(domain: Domain, values: Mapping[str, int] | None = None, **more: Any) -> Problem:
    given = {"objects": {"r1": "receipt", "r2": "receipt"}, "unknown": ["amount(r1)"], "goal": ["paid(r1)"], **more}
    return domain.problem(values={"spent": 0, "amount(r1)": 30, **(values or {})}, **given)


def read_text(path: Path, text: str) -> Problem:
    path.write_text(textwrap.dedent(text))
    found = load(path)
    assert isinstance(found, Problem)
    return found


def test_what_reads_a_number_needs_it_to_be_known() -> None:
    actions = shop().model.actions
    assert actions["read"].senses == ()
    assert actions["read"].measures == (Atom("amount", ("?r",)),)
    assert list(map(str, actions["read"].provides)) == ["known_amount(?r)"]
    assert str(actions["approve"].requires) == "known_amount(?r) and amount(?r) <= 100"
    assert str(actions["pay"].requires) == "approved(?r) and known_amount(?r)"


def test_all_numbers_are_known_but_those_that_are_declared_unknown() -> None:
    assert find_unread(problem_of(shop())) == [AMOUNT]
    assert find_unread(problem_of(shop(), unknown=["amount(_)"])) == [AMOUNT, Atom("amount", ("r2",))]
    assert find_unread(problem_of(shop(), unknown=())) == []


@pytest.mark.parametrize(
    ("condition", "needed"),
    [
        ("(not (<= (amount ?r) 100))", "known_amount(?r) and amount(?r) > 100"),
        ("(not (= (amount ?r) 5))", "(known_amount(?r) and amount(?r) < 5) or (known_amount(?r) and amount(?r) > 5)"),
        ("(or (free ?r) (> (amount ?r) 5))", "free(?r) or (known_amount(?r) and amount(?r) > 5)"),
        ("(imply (> (amount ?r) 5) (free ?r))", "(known_amount(?r) and amount(?r) <= 5) or free(?r)"),
        ("(forall (?x - receipt) (> (amount ?x) 5))", "for all ?x - receipt: (known_amount(?x) and amount(?x) > 5)"),
        ("(>= (amount ?r) 0)", "not known_amount(?r) or amount(?r) >= 0"),
        ("(< (spent) 7)", "spent < 7"),
    ],
)
def test_comparisons_of_numbers_that_may_be_unknown(condition: str, needed: str) -> None:
    domain = shop()
    domain.action("do", {"r": "receipt"}, requires=[condition], provides=["done(r)"])
    assert str(domain.model.actions["do"].requires) == needed


def test_conditional_effects_need_their_numbers() -> None:
    domain = shop()
    effect = When("amount(r) > 100", provides=["large(r)"])
    domain.action("file", {"r": "receipt"}, when=[effect], provides=["filed(r)"])
    assert str(domain.model.actions["file"].requires) == "known_amount(?r) and amount(?r) >= 0"


def test_an_assignment_makes_a_number_known() -> None:
    domain = shop()
    domain.action("settle", {"r": "receipt"}, modifies=["amount(r) := 5"])
    domain.action("add", {"r": "receipt"}, modifies=["amount(r) += 5"])
    actions = domain.model.actions
    assert list(map(str, actions["settle"].provides)) == ["known_amount(?r)"]
    assert str(actions["settle"].requires) == "true"
    assert str(actions["add"].requires) == "known_amount(?r)"


def test_one_step_may_tell_all_numbers() -> None:
    domain = shop()
    domain.action("read_all", senses=["amount(_)"])
    (effect,) = domain.model.actions["read_all"].when
    assert [str(each) for each in effect.provides] == ["known_amount(?any1)"]
    assert [each.types for each in effect.variables] == [("receipt",)]


@pytest.mark.parametrize("unknown", [["amount(r1)"], ["amount(_)"], ()])
@pytest.mark.parametrize(("write", "suffix"), [(write_yaml, "yaml"), (write_json, "json")])
def test_documents_keep_what_is_unknown(tmp_path: Path, write: Any, suffix: str, unknown: Any) -> None:
    domain = shop()
    domain.action("read_all", senses=["amount(_)"])
    problem = problem_of(domain, unknown=unknown)
    text = write(problem)
    again = read_text(tmp_path / f"shop.{suffix}", text)
    assert again.domain == problem.domain
    assert again == problem
    assert find_unread(again) == find_unread(problem)
    assert write(again) == text


def test_a_domain_is_declared_anew_as_it_was() -> None:
    domain = shop()
    domain.action("read_all", senses=["amount(_)"])
    domain.action("settle", {"r": "receipt"}, modifies=["amount(r) := 5"])
    conditions = [
        "(>= (amount ?r) 0)",
        "(not (= (amount ?r) 5))",
        "(forall (?x - receipt) (or (cut ?x) (> (amount ?x) 1)))",
    ]
    effect = When("amount(r) > 100", provides=["large(r)"])
    domain.action("file", {"r": "receipt"}, requires=conditions, when=[effect], provides=["filed(r)"])
    assert Domain.of(domain.model).model == domain.model


def test_yaml_has_one_notation_for_facts_and_numbers(tmp_path: Path) -> None:
    text = """
    domain: shop
    types: {receipt: object}
    functions: {amount: {parameters: [receipt]}}
    actions:
      look: {parameters: {r: receipt}, senses: ["torn(r)", "amount(r)"]}
      take: {parameters: {r: receipt}, requires: ["not torn(r)", "amount(r) > 3"], provides: ["taken(r)"]}
    ---
    problem: one
    domain: shop
    objects: {r1: receipt}
    unknown: ["torn(_)", "amount(_)"]
    values: {"amount(r1)": 7}
    goal: ["taken(r1)"]
    """
    problem = read_text(tmp_path / "one.yaml", text)
    look = problem.domain.actions["look"]
    assert (look.senses, look.measures) == ((Atom("torn", ("?r",)),), (Atom("amount", ("?r",)),))
    assert problem.unknown == (Atom("torn", ("_",)),)
    assert find_unread(problem) == [AMOUNT]


def test_number_that_no_action_senses_cannot_be_unknown() -> None:
    with pytest.raises(InputError, match=r"spent is unknown, and no action senses 'spent'") as caught:
        problem_of(shop(), unknown=["spent"])
    assert "unknown" in str(caught.value.location or caught.value)
    assert "senses=['spent']" in str(caught.value)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            {"constraints": [always("amount(r1) <= 100")]},
            r"a constraint reads amount\(r1\), which is unknown",
        ),
        ({"metric": "minimize amount(r1)"}, r"the metric reads amount\(r1\), which is unknown"),
        ({"unknown": ["amount(r9)"]}, "r9"),
        ({"unknown": ["amount(r1, r2)"]}, "2 arguments"),
        ({"unknown": ["amout(r1)"]}, "did you mean"),
    ],
)
def test_refusals_of_problems(more: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        problem_of(shop(), **more)


def test_known_numbers_may_be_constrained() -> None:
    assert problem_of(shop(), unknown=(), constraints=[always("amount(r1) <= 100")]).constraints


@pytest.mark.parametrize("field", ["cost", "uses"])
def test_costs_read_no_number_that_is_sensed(field: str) -> None:
    domain = shop()
    domain.action("do", {"r": "receipt"}, **{field: "amount(r)" if field == "cost" else {"money": "amount(r)"}})
    with pytest.raises(InputError, match=r"of action 'do' reads amount\(r\)"):
        _ = domain.model


def test_derived_facts_read_no_number_that_is_sensed() -> None:
    domain = shop()
    domain.derive("large(r)", {"r": "receipt"}, "amount(r) > 100")
    with pytest.raises(InputError, match="derived predicate 'large' reads 'amount', which actions measure"):
        _ = domain.model


def test_function_is_declared_before_it_is_sensed() -> None:
    domain = Domain("shop", types=["receipt"])
    domain.action("read", {"r": "receipt"}, senses=["amount(r)"])
    domain.action("take", {"r": "receipt"}, requires=["amount(r) > 3"], provides=["taken(r)"])
    with pytest.raises(InputError, match="declare the function 'amount' before the action that senses it"):
        _ = domain.model


def test_predicate_with_the_name_of_the_fact() -> None:
    domain = shop()
    domain.predicate("known_amount")
    with pytest.raises(InputError, match="the predicate 'known_amount' has 0 arguments"):
        _ = domain.model


def test_pddl_has_no_unknown_numbers() -> None:
    with pytest.raises(UnsupportedError, match="numbers declared unknown, in PDDL"):
        write_problem(problem_of(shop()))
    assert "known_amount" in write_problem(problem_of(shop(), unknown=()))


def test_files_name_the_place_of_a_mistake(tmp_path: Any) -> None:
    path = tmp_path / "shop.yaml"
    path.write_text(write_yaml(problem_of(shop())).replace('"amount(r1)"]', '"spent"]'))
    with pytest.raises(InputError, match=r"shop\.yaml.*spent is unknown, and no action senses 'spent'"):
        load(path)
