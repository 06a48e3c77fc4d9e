"""`forethought test` where objects turn up: the world of a case's runs has objects that its problem does not name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

SHOP = """\
domain: shop
types: {order: object, customer: object}
predicates: {pending: [order], packed: [order], broken: [order], greeted: [customer]}
actions:
  list_orders: {lists: ["pending(_)"]}
  pack: {parameters: {o: order}, requires: ["pending(o)", "not broken(o)"], provides: ["packed(o)"]}
  ship: {parameters: {o: order}, requires: ["packed(o)"], provides: ["not pending(o)"]}
  refund: {parameters: {o: order}, requires: ["broken(o)"], provides: ["not pending(o)"]}
---
problem: today
objects: {o1: order, Meier: customer}
initial: ["pending(o1)"]
goal: ["(forall (?o - order) (not (pending ?o)))"]
---
cases:
  today:
    runs:
      - %s
"""


@pytest.mark.parametrize(
    ("run", "used"),
    [
        ("{seeds: [0]}", {"list_orders", "pack", "ship"}),
        ('{objects: {o7: order}, adding: ["pending(o7)"]}', {"list_orders", "pack", "ship"}),
        ('{objects: {o7: order}, adding: ["pending(o7)", "broken(o7)"]}', {"list_orders", "pack", "ship", "refund"}),
        ('{adding: ["broken(o1)"]}', {"list_orders", "pack", "ship", "refund"}),
        (
            """
        objects: {o7: order, o 8: order}
        adding: ["pending(o7)", 'pending("o 8")', "broken(o7)"]
        unseen: [pending]
        outcome: UNVERIFIED""",
            {"list_orders", "pack", "ship", "refund"},
        ),
    ],
)
def test_coverage_counts_the_actions_on_objects_that_turn_up(forethought, run, used):
    Path("shop.yaml").write_text(SHOP % run)
    ran = forethought("test", "shop.yaml", "--json")
    assert ran.code == 0, ran.out
    assert set(json.loads(ran.out)["coverage"][0]["actions"]["used"]) == used


@pytest.mark.parametrize(
    ("run", "code", "said"),
    [
        ('{objects: {o7: order}, adding: ["pending(o7)"]}', 0, "2 passed"),
        ('{objects: {o7: order}, adding: ["pending(o7)"], unseen: pending, outcome: UNVERIFIED}', 0, "2 passed"),
        ('{objects: {o7: order}, adding: ["pending(o7)"], without: ["pending(o1)"]}', 0, "2 passed"),
        ("{objects: {'order:\"Meier\"': order}, adding: ['pending(order:\"Meier\")']}", 0, "2 passed"),
        ("{objects: {o1: order}}", 2, "shop.yaml:18:20: the problem 'today' has an object 'o1' already"),
        ("{objects: {o7: ordr}}", 2, "did you mean 'order'"),
        ('{adding: ["pending(o7)"]}', 2, "o7"),
        ('{without: ["packed(o1)"]}', 2, "packed(o1) does not hold in problem 'today' anyway"),
        ("{unseen: [pendin]}", 2, "did you mean 'pending'?"),
    ],
)
def test_what_the_world_of_a_run_has_is_read_and_checked(forethought, run, code, said):
    Path("shop.yaml").write_text(SHOP % run)
    ran = forethought("test", "shop.yaml")
    assert ran.code == code, ran.out + ran.err
    assert said in ran.out + ran.err
