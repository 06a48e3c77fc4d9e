"""Malformed documents, and the exact message that each mistake gives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planner import DocumentError, UnsupportedError, read_documents

YAML = """\
domain: courier
types: {robot: object, room: object, hub: room}
constants: {hall: hub}
predicates:
  at: {parameters: [robot, room]}
  mapped: {parameters: {r: room}, stale_with: ["door(r, _)"]}
functions: {distance: [room, room]}
actions:
  move:
    parameters: {robot: robot, origin: room, target: room, note: {type: str, default: none}}
    requires:
      - at(robot, origin)
      - door(origin, target)
    provides: ["at(robot, target)"]
    modifies: at(robot, _)
    when: {requires: lit, provides: ["seen(target)"]}
    cost: 2.5
    outcomes: [{probability: 0.9, provides: ["at(robot, target)"]}, {probability: 0.1}]
    tags: idempotent
derived:
  - {head: ready(r), parameters: {r: room}, condition: mapped(r)}
---
problem: one-parcel
objects: {r2: robot, lab: room}
initial: ["at(r2, hall)", "door(hall, lab)"]
goal: {hard: ["at(r2, lab)"], soft: {"lit": 5}}
values: {"distance(hall, lab)": 4}
unknown: ["at(_, lab)"]
metric: cost
likely: {"at(r2, lab)": 0.3}
constraints:
  - {always: ["not lit", "ready(hall)"], utility: 2}
  - sometime: {done: "move(r2, _, lab)"}
  - at_most: {times: 2, what: lit}
  - before: {first: lit, then: {done: move}}
  - forbidden: move(r2, lab, _)
budgets: {cost: 7.5}
deadline: 60
"""

JSON = """\
{
  "domain": "lamp",
  "actions": {
    "light": {"provides": ["lit"], "cost": 2},
    "smash": {"provides": ["not lit"], "uses": {"oil": 1}, "senses": "lit"}
  }
}
"""

GOLDEN = Path(__file__).parents[2] / "golden" / "document_errors.txt"


def cases() -> list[object]:
    """Return which text is meant, what is replaced in it, by what, and the message."""
    found: list[object] = []
    for block in GOLDEN.read_text(encoding="utf-8").split("\n\n")[1:]:
        title, *change, message = block.strip().split("\n")
        old, new = (line[2:].replace("\\n", "\n").replace("\\t", "\t") for line in change)
        name, kind = title.split(", ")
        found.append(pytest.param(kind, old, new, message[2:], id=name.replace(" ", "-")))
    return found


def changed(kind: str, old: str, new: str) -> str:
    """Return the text of a kind with one part replaced; `*` is all of it."""
    text = YAML if kind == "yaml" else JSON
    assert old == "*" or text.count(old) == 1
    return new if old == "*" else text.replace(old, new)


def test_the_texts_themselves_are_sound() -> None:
    assert len(read_documents(YAML).problems) == 1
    assert len(read_documents(JSON).domains) == 1


@pytest.mark.parametrize(("kind", "old", "new", "message"), cases())
def test_mistakes_and_their_messages(kind: str, old: str, new: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / f"file.{kind}"
    path.write_text(changed(kind, old, new), encoding="utf-8")
    expected = UnsupportedError if message.startswith("unsupported: ") else DocumentError
    with pytest.raises(expected) as caught:
        read_documents(path)
    assert str(caught.value).replace(str(path), path.name) == message


def test_a_text_is_called_a_text() -> None:
    with pytest.raises(DocumentError) as caught:
        read_documents("domain: lamp\nactions: {light: {provide: lit}}\n")
    assert str(caught.value) == "<text>:2:19: actions.light has no key 'provide'; did you mean 'provides'?"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "courier.yaml").write_text(YAML, encoding="utf-8")
    with pytest.raises(DocumentError) as caught:
        read_documents(tmp_path / "courrier.yaml")
    assert str(caught.value) == (f"{tmp_path / 'courrier.yaml'}: there is no such file; did you mean 'courier.yaml'?")


@pytest.mark.parametrize("depth", [60, 100_000])
@pytest.mark.parametrize("brackets", ["[]", "{}"])
def test_nesting_has_a_limit(depth: int, brackets: str) -> None:
    opening = "[" if brackets == "[]" else "{a: "
    with pytest.raises(DocumentError) as caught:
        read_documents("domain: lamp\ntypes: " + opening * depth)
    assert str(caught.value).endswith("lists and mappings nest deeper than 50 levels")


def test_json_nesting_has_a_limit() -> None:
    with pytest.raises(DocumentError) as caught:
        read_documents('{"domain": ' + "[" * 100_000 + "]" * 100_000 + "}")
    assert str(caught.value) == "<text>:1:100011: lists and objects nest too deep; write them flatter"
    with pytest.raises(DocumentError, match=r"^<text>:100000:3: lists and objects nest too deep"):
        read_documents("[\n" * 99_999 + '  {"]": "[["}' + "]" * 99_999)


def test_aliases_are_no_bomb() -> None:
    lines = ["x0: &x0 [a, a, a, a, a, a, a, a, a, a]"]
    lines += [f"x{level}: &x{level} [{', '.join([f'*x{level - 1}'] * 10)}]" for level in range(1, 12)]
    with pytest.raises(DocumentError) as caught:
        read_documents("\n".join(lines))
    assert str(caught.value) == "<text>:7:30: with its aliases, this holds more than 5000000 values"


def test_aliases_within_reason_are_read() -> None:
    text = "domain: lamp\nactions:\n  light: &light {provides: lit}\n  ignite: *light\n"
    model = read_documents(text).domains[0]
    assert model.actions["ignite"].provides == model.actions["light"].provides


@pytest.mark.parametrize("number", ["1" * 5000, "9" * 59, "1e999999999", "0." + "1" * 50])
@pytest.mark.parametrize("kind", ["yaml", "json"])
def test_huge_numbers_are_refused(number: str, kind: str) -> None:
    text = f"domain: d\nactions: {{a: {{cost: {number}}}}}\n"
    if kind == "json":
        text = json.dumps({"domain": "d", "actions": {"a": {"cost": "N"}}}).replace('"N"', number)
    with pytest.raises(DocumentError, match=r"out of range|at most 28 digits"):
        read_documents(text)
