"""`forethought format`: one layout, all comments, the same meaning, and nothing left to do the second time."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from executor.desk.loop.format import format_text
from planner import DocumentError, PddlError, load, load_domain, read_documents, write_yaml
from planner.language.documents.document_writer import write_json
from planner.language.loading.load import open_source
from planner.language.loading.python_files import list_shipped_names
from planner.language.pddl.export import export

ROOT = Path(__file__).parents[4]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
WRITTEN = {name: write_yaml(load_domain(name)) for name in ("courier", "mules", "workshop", "outing", "travel")}
EXPORTED = [
    getattr(export(load(name)), part) for name in ("courier", "mules", "errands") for part in ("domain", "problem")
]

YAML = """\
# The header.

actions:   # all of them
    # about move
    move:
        requires: ["at(robot,origin)",   "door(origin, target)"]  # why
        parameters:
            robot:   robot
            target: room
        cost: 2
        # what holds after
        provides:
          # first
          - at(robot, target) # there
          - not at(robot, origin)


        description: >
            Folded text
            over lines.
    wait: {provides: [waited], cost: 3}
    long: {parameters: {robot: robot, origin: room, target: room}, provides: [ "at(robot, target)"], requires: ["x(r)"]}
types: {robot: object,
  room: object}
domain: courier   # name
# the foot
---
# the problem
goal: ["at(r2, lab)"]
problem: one
"""
YAML_FORMATTED = """\
# The header.

domain: courier # name
types: {robot: object, room: object}
actions: # all of them
  # about move
  move:
    description: >
        Folded text
        over lines.
    parameters:
      robot: robot
      target: room
    requires: ["at(robot,origin)", "door(origin, target)"] # why
    # what holds after
    provides:
      # first
      - at(robot, target) # there
      - not at(robot, origin)
    cost: 2
  wait: {provides: [waited], cost: 3}
  long:
    parameters: {robot: robot, origin: room, target: room}
    requires: ["x(r)"]
    provides: ["at(robot, target)"]
# the foot
---
# the problem
problem: one
goal: ["at(r2, lab)"]
"""
PDDL = """\
; header
(define (domain x) ; the name
  (:types a b - object
     c - a ; sub
  )
  (:predicates (p ?x - a) ; good
     ; own
     (q)


     (r ?x)
  )
  (:action go :parameters (?x - a
        ?y - b)
     ; pre
     :precondition (and (p ?x)
         (not (Q)) ; trail
     )
     :effect (r ?x) ; end
  ) ; after go
)
"""
PDDL_FORMATTED = """\
; header
(define (domain x)  ; the name
  (:types
    a b - object
    c - a  ; sub
  )
  (:predicates
    (p ?x - a)  ; good
    ; own
    (q)

    (r ?x)
  )
  (:action go
    :parameters (?x - a ?y - b)
    ; pre
    :precondition (and
      (p ?x)
      (not (Q))  ; trail
    )
    :effect (r ?x)  ; end
  )  ; after go
)
"""


@pytest.mark.parametrize(
    ("name", "text", "formatted"),
    [
        ("a.yaml", YAML, YAML_FORMATTED),
        ("a.pddl", PDDL, PDDL_FORMATTED),
        ("a.yaml", "derived:\n- 1\n-   # c\n   a: 1\n", "derived:\n  - 1\n  # c\n  - a: 1\n"),
        ("a.yaml", f"x:\n  - [{'a' * 60}, {'b' * 60}]\n", f"x:\n  - - {'a' * 60}\n    - {'b' * 60}\n"),
        ("a.yaml", "domain: a\ntypes:\n", "domain: a\ntypes:\n"),
        ("a.yaml", "domain: a\nx: &a [1]\ny: *a\n", "domain: a\nx: &a [1]\ny: *a\n"),
        ("a.yaml", "types: [a,\n # c\n b]\ndomain: d", "domain: d\ntypes: [a,\n # c\n b]\n"),
        ("a.yaml", "\n# c\n", "\n# c\n"),
        ("a.hddl", "(define (problem p)(:htn :ordered-subtasks (and (a) (b))))", None),
        ("a.json", '{"actions": {"a": {"cost": 2.50, "requires": []}}, "domain": "d"}', None),
    ],
)
def test_layouts(name, text, formatted):
    found = format_text(text, name)
    if formatted is not None:
        assert found == formatted
    assert format_text(found, name) == found
    assert sorted(re.findall("[#;].*", text)) == sorted(re.findall("[#;].*", found))


def test_json_keeps_numbers_and_sorts_keys():
    found = format_text('{"actions": {"a": {"cost": 2.50, "requires": []}}, "domain": "d"}', "a.json")
    assert "2.50" in found
    assert list(json.loads(found)) == ["domain", "actions"]
    assert list(json.loads(found)["actions"]["a"]) == ["requires", "cost"]


@pytest.mark.parametrize("name", list_shipped_names())
def test_what_we_write_is_laid_out(name):
    source = open_source(name)
    problem = next(iter(source.problems().values()))
    for item in (source.domain(), problem):
        try:
            text = write_yaml(item)
        except Exception:  # noqa: BLE001 - Python computes something
            continue
        assert format_text(text, "a.yaml") == text
        again = write_json(item)
        assert format_text(again, "a.json") == again


@pytest.mark.parametrize("text", EXPORTED)
def test_the_pddl_that_we_write_is_laid_out(text):
    assert format_text(text, "a.pddl") == text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_documents_of_pages(page):
    for text in re.findall(r"^```yaml\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE):
        found = format_text(text, "a.yaml")
        assert format_text(found, "a.yaml") == found
        if "domain:" in text:
            try:
                before = read_documents(text)
            except DocumentError:
                continue
            assert read_documents(found) == before


def disturb(text: str, seed: int, comment: str) -> str:
    """Add comments and blank lines at random places between lines and behind them."""
    draw = random.Random(seed)
    lines = []
    for number, line in enumerate(text.split("\n")):
        if draw.random() < 0.15:
            lines.append(" " * draw.randrange(8) + f"{comment} own {number}")
        if draw.random() < 0.1:
            lines += [""] * draw.randrange(1, 3)
        lines.append(f"{line}  {comment} behind {number}" if line and draw.random() < 0.15 else line)
    return "\n".join(lines)


@pytest.mark.drawn
@given(name=st.sampled_from(sorted(WRITTEN)), seed=st.integers(0, 10**6))
def test_disturbed_documents_mean_the_same(name, seed):
    text = disturb(WRITTEN[name], seed, "#")
    found = format_text(text, "a.yaml")
    assert format_text(found, "a.yaml") == found
    assert read_documents(found) == read_documents(WRITTEN[name])
    assert sorted(re.findall("# (?:own|behind) [0-9]+", text)) == sorted(re.findall("# (?:own|behind) [0-9]+", found))


@pytest.mark.drawn
@given(text=st.sampled_from(EXPORTED), seed=st.integers(0, 10**6))
def test_disturbed_pddl_means_the_same(text, seed):
    disturbed = disturb(text.replace(" (", "\n(") if seed % 2 else text, seed, ";")
    found = format_text(disturbed, "a.pddl")
    assert format_text(found, "a.pddl") == found
    assert re.findall("; .*", disturbed) == re.findall("; .*", found)


def test_files_are_changed_or_checked(forethought):
    Path("a.yaml").write_text(YAML)
    Path("b.pddl").write_text(PDDL_FORMATTED)
    Path(".hidden").mkdir()
    Path(".hidden/c.yaml").write_text(YAML)
    ran = forethought("format", ".", "--check")
    assert (ran.code, ran.out, ran.err) == (10, "a.yaml\n", "1 of 2 files would change\n")
    assert Path("a.yaml").read_text() == YAML
    assert forethought("format", "a.yaml", "b.pddl").out == "a.yaml\n"
    assert Path("a.yaml").read_text() == YAML_FORMATTED
    assert forethought("format", ".", "--check", "-q").code == 0
    assert Path(".hidden/c.yaml").read_text() == YAML


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("a.yaml", "domain: [", "a.yaml:1:"),
        ("a.yaml", "a: 1\na: 2\n", "a.yaml:2:1"),
        ("a.pddl", "(define (domain x)", "a.pddl:1:1"),
        ("a.json", "{", "a.json:1:"),
        ("a.py", "", "formatters of Python"),
        ("a.txt", "", "no layout"),
    ],
)
def test_nothing_is_written_where_there_is_a_mistake(forethought, name, text, place):
    Path("0.yaml").write_text(YAML)
    Path(name).write_text(text)
    ran = forethought("format", "0.yaml", name)
    assert ran.code == 2
    assert place in ran.err
    assert Path("0.yaml").read_text() == YAML
    assert Path(name).read_text() == text


def test_mistakes_are_of_the_kind_of_the_file():
    with pytest.raises(PddlError):
        format_text("(", "a.hddl")
    with pytest.raises(DocumentError):
        format_text("{", "a.yaml")
