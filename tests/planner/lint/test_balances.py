"""What is given back in part, numbers that move apart, limits that are added, divisors of 0, and what calls off."""

from __future__ import annotations

import pytest

from planner.lint.check_files import check_texts
from planner.lint.findings import Finding
from planner.lint.outlines import SourceText

DOMAIN = """\
domain: rooms
types: {guest: object, room: object, day: object, tank: object}
predicates:
  open: {parameters: [room, day]}
  asks: {parameters: [guest, day]}
functions:
  stock: {parameters: [tank], low: 0}
  poured: {parameters: [guest], low: 0}
  total: {parameters: [], low: 0}
  room: {parameters: [tank]}
  flow: {parameters: [tank]}
actions:
  book:
    parameters: {g: guest, r: room, d: day}
    requires: ["open(r, d)", "asks(g, d)"]
    provides: ["booked(g, r, d)", "not open(r, d)", "not asks(g, d)"]
  cancel:
    parameters: {g: guest, r: room, d: day}
    requires: ["booked(g, r, d)"]
    provides: ["open(r, d)", "asks(g, d)", "not booked(g, r, d)"]
  lodge:
    parameters: {g: guest, r: room, d: day}
    requires: ["booked(g, r, d)"]
    provides: ["lodged(g)", "not booked(g, r, d)"]
  pour:
    parameters: {g: guest, t: tank}
    requires: ["stock(t) >= 2"]
    modifies: ["stock(t) -= 2", "poured(g) += 2", "total += 2"]
  spill:
    parameters: {g: guest}
    requires: ["poured(g) >= 1"]
    modifies: ["poured(g) -= 1", "total -= 1"]
  drink:
    parameters: {g: guest}
    requires: ["poured(g) >= 2"]
    provides: ["merry(g)"]
    modifies: ["poured(g) -= 2", "total -= 2"]
  refill:
    parameters: {t: tank}
    requires: ["stock(t) < room(t)"]
    modifies: ["stock(t) := room(t)"]
    duration: room(t) / flow(t)
  blend:
    parameters: {a: tank, b: tank}
    requires: ["stock(a) >= 1", "stock(b) >= 2", "a != b"]
    provides: ["blended"]
    modifies: ["stock(a) -= 1", "stock(b) -= 2"]
---
problem: weekend
objects: {kim: guest, r1: room, sat: day, beer: tank, ale: tank}
initial: ["open(r1, sat)", "asks(kim, sat)"]
values: {stock(beer): 0, stock(ale): 0, poured(kim): 0, total: 0,
  room(beer): 5, flow(beer): 1, room(ale): 5, flow(ale): 2}
goal: ["lodged(kim)", "merry(kim)", "blended", "total <= 9"]
"""


def found(*changes: tuple[str, str]) -> list[Finding]:
    text = DOMAIN
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return list(check_texts([SourceText("rooms.yaml", text)]).findings)


def test_a_use_that_calling_off_undoes_is_clean() -> None:
    assert found() == []


@pytest.mark.parametrize(
    ("old", "new", "rule", "line"),
    [
        ('"asks(g, d)", "not booked(g, r, d)"]', '"not booked(g, r, d)"]', "partly-returned", 20),
        ('["poured(g) -= 1", "total -= 1"]', '["poured(g) -= 1"]', "moves-apart", 32),
        ('["stock(a) -= 1", "stock(b) -= 2"]', '["stock(a) -= 1"]', "moves-apart", 45),
        ("stock(t) := room(t)", "stock(t) += room(t)", "adds-limit", 41),
        ("flow(ale): 2", "flow(ale): 0", "zero-divisor", 53),
    ],
)
def test_slips_of_balances(old: str, new: str, rule: str, line: int) -> None:
    findings = found((old, new))
    assert [each.span.line for each in findings if each.rule == rule and each.span] == [line]
