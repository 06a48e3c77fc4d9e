"""One wrong indentation, bracket or quotation mark: the one mistake is told at its place, and nothing that follows."""

from __future__ import annotations

from pathlib import Path

import pytest

import domains
from planner.errors import InputError
from planner.language.loading.load import load_domain
from planner.lint.check_files import check_texts
from planner.lint.findings import Level
from planner.lint.outlines import SourceText

HOME = Path(domains.__file__).parent
DAY = """
---
problem: day
objects: {s: stop, m: museum, k: kitchen}
initial: ["at(s)", "way(s, m)", "way(m, k)"]
values: {"effort(s, m)": 1, "effort(m, k)": 1, "price(m)": 3, "price(k)": 9}
budgets: {money: 40}
goal: ["seen(m)", fed]
"""
JSON = """{
  "domain": "lamp",
  "types": ["room"],
  "actions": {
    "light": {
      "parameters": {"r": "room"},
      "requires": ["not lit(r)"],
      "provides": ["lit(r)"]
    }
  }
}
"""
PYTHON = """from planner import Domain

lamps = Domain("lamps", types=["room"])
lamps.action(
    "light",
    {"r": "room"},
    requires=["dark(r)"],
    provides=["lit(r)"],
)
day = lamps.problem("day", objects={"hall": "room"}, initial=["dark(hall)"], goal=["lit(hall)"])
"""
TEXTS = {
    "outing.yaml": (HOME / "outing" / "domain.yaml").read_text() + DAY,
    "runbook.yaml": (HOME / "runbook" / "domain.yaml").read_text(),
    "elevator.pddl": (HOME / "elevator" / "domain.pddl").read_text(),
    "quarrel.pddl": (HOME / "elevator" / "problems" / "quarrel.pddl").read_text(),
    "household.hddl": (HOME / "household" / "domain.hddl").read_text(),
    "lamp.json": JSON,
    "lamps.py": PYTHON,
}
REQUIRES = '    requires: ["at(a)", "way'
RUNS = '      - "runs(host, service)"'

BROKEN = [
    ("outing.yaml", REQUIRES, " " + REQUIRES, (18, 6), "indent it by 4 spaces"),
    ("outing.yaml", REQUIRES, REQUIRES[1:], (18, 4), "indent it by 4 spaces"),
    ("outing.yaml", REQUIRES, REQUIRES[2:], (18, 3), "indent it by 4 spaces"),
    ("outing.yaml", REQUIRES, REQUIRES[4:], (18, 1), "indent it by 4 spaces"),
    ("outing.yaml", REQUIRES, "\t" + REQUIRES[4:], (18, 1), "YAML takes spaces only"),
    ("outing.yaml", "  ride:\n", "ride:\n", (23, 1), "indent it by 2 spaces"),
    ("outing.yaml", "  ride:\n", "   ride:\n", (23, 4), "indent it by 2 spaces"),
    ("outing.yaml", "  ride:\n", "    ride:\n", (23, 5), "indent it by 2 spaces"),
    ("outing.yaml", "  ride:\n", "  ride\n", (23, 3), "'ride' has no ':' after it; add one"),
    ("outing.yaml", "    cost: 1\n", "    cost:1\n", (29, 5), "no space after the ':' of 'cost'"),
    ("outing.yaml", "\nactions:", "\n actions:", (14, 2), "let it begin the line"),
    ("outing.yaml", 'goal: ["seen', ' goal: ["seen', (55, 2), "let it begin the line"),
    ("outing.yaml", '"way(a, b)"]', '"way(a, b)"', (18, 15), "this '[' is never closed"),
    ("outing.yaml", '"way(a, b)"]', '"way(a, b)"]]', (18, 37), "found ']' where nothing is open; remove it"),
    ("outing.yaml", '"way(a, b)"]', '"way(a, b)]', (18, 25), 'this " is never closed'),
    ("outing.yaml", '"way(a, b)"]', 'way(a, b)"]', (18, 25), "'way(a' lacks a ')'"),
    ("outing.yaml", '"at(a)", "way', '"at(a)" "way', (18, 24), "a ',' is missing before this"),
    ("outing.yaml", "kitchen: place}", "kitchen: place", (4, 8), "this '{' is never closed"),
    ("runbook.yaml", RUNS, RUNS[1:], (38, 6), "indent it by 6 spaces"),
    ("runbook.yaml", RUNS, RUNS[3:], (38, 4), "indent it by 6 spaces"),
    ("runbook.yaml", RUNS, RUNS.replace("- ", "  "), (38, 9), "no '-' before it"),
    ("runbook.yaml", RUNS, RUNS.replace("- ", "-"), (38, 7), "no space after the '-'"),
    ("lamp.json", '"not lit(r)"],', '"not lit(r)",', (7, 19), "this '[' is never closed"),
    ("lamp.json", '"not lit(r)"],', '"not lit(r)"]', (8, 7), "a ',' is missing before this"),
    ("lamp.json", '["lit(r)"]\n', '["lit(r)"],\n', (8, 29), "this ',' has nothing after it"),
    ("lamp.json", '["not lit(r)"]', '["not lit(r)]', (7, 20), 'this " is never closed'),
    ("elevator.pddl", "(tense ?l)))\n    :eff", "(tense ?l))\n    :eff", (30, 19), "still open where ':effect' stands"),
    ("elevator.pddl", "(tense ?l)))\n    :eff", "(tense ?l))))\n    :eff", (30, 72), "one too many"),
    ("elevator.pddl", "(total-cost) 2)))", "(total-cost) 2))", (28, 3), "still open where '(:action' starts"),
    ("elevator.pddl", "(total-cost) 2)))", "(total-cost) 2))))", (31, 77), "one too many"),
    ("elevator.pddl", "(next ?from ?to)", "(next ?from ?to", (30, 19), "still open where ':effect' stands"),
    ("elevator.pddl", "(next ?from ?to)", "next ?from ?to)", (30, 70), "or add a '(' before it"),
    ("elevator.pddl", "(lobby ?f - floor)", "(lobby ?f - floor", (7, 3), "still open where '(:functions' starts"),
    ("elevator.pddl", "(lobby ?f - floor)", "lobby ?f - floor)", (10, 21), "or add a '(' before it"),
    ("elevator.pddl", "(lobby ?f - floor)", "(lobby ?f - floor))", (10, 23), "one too many"),
    ("quarrel.pddl", "(next first second)", "(next first second", (5, 3), "still open where '(:goal' starts"),
    ("quarrel.pddl", "(next first second)", "(next first second))", (5, 81), "one too many"),
    ("quarrel.pddl", "(total-cost)))", "(total-cost))", (2, 1), "still open at the end"),
    ("household.hddl", "(take ?t ?r)))", "(take ?t ?r))", (35, 3), "still open where '(:method' starts"),
    ("household.hddl", "(take ?t ?r)))", "(take ?t ?r))))", (37, 50), "one too many"),
    ("lamps.py", '["dark(r)"]', '["dark(r)"', (7, 14), "opening parenthesis '['"),
    ("lamps.py", "\n)\n", "\n", (4, 13), "'(' was never closed"),
    ("lamps.py", '"dark(r)"]', '"dark(r)]', (7, 15), "unterminated string literal"),
    ("lamps.py", "\nday", "\n day", (10, 1), "unexpected indent"),
]


def texts_of(name: str, text: str) -> list[SourceText]:
    if name == "quarrel.pddl":
        return [SourceText("elevator.pddl", TEXTS["elevator.pddl"]), SourceText(name, text)]
    return [SourceText(name, text)]


@pytest.mark.parametrize("name", TEXTS)
def test_the_texts_themselves_are_sound(name: str) -> None:
    told = check_texts(texts_of(name, TEXTS[name])).findings
    assert not [each for each in told if each.level is Level.ERROR]


@pytest.mark.parametrize(("name", "old", "new", "place", "said"), BROKEN)
def test_one_slip_is_told_once_at_its_place(name: str, old: str, new: str, place: tuple[int, int], said: str) -> None:
    assert old in TEXTS[name]
    told = [x for x in check_texts(texts_of(name, TEXTS[name].replace(old, new, 1))).findings if x.level != Level.HINT]
    assert [(each.span.line, each.span.column) for each in told if each.span] == [place]
    assert said in f"{told[0].message}; {told[0].hint}"


@pytest.mark.parametrize(
    ("name", "changes", "places"),
    [
        ("outing.yaml", {"  ride:\n": "  ride\n", '"at(s)", "not seen': '"att(t)", "not seen'}, [(23, 3), (35, 21)]),
        ("outing.yaml", {'"way(a, b)"]': '"way(a, b)"', "cost: 1\n": "cost:1\n"}, [(18, 15), (29, 5)]),
        ("outing.yaml", {'["at(a)", "way(a, b)"]': '["at(a)" "way(a, d)"]'}, [(18, 24), (18, 32)]),
        ("elevator.pddl", {"?f))\n    :eff": "?f)\n    :eff", "(lobby ?to)": "(loby ?to)"}, [(40, 39), (45, 19)]),
        ("elevator.pddl", {"2)))\n": "2))\n", "(halts ?l ?f))\n": "(halts ?l ?f)\n"}, [(28, 3), (45, 19)]),
    ],
)  # fmt: skip
def test_what_else_is_wrong_is_told_too(name: str, changes: dict[str, str], places: list[tuple[int, int]]) -> None:
    text = TEXTS[name]
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new, 1)
    told = check_texts(texts_of(name, text)).findings
    assert sorted((x.span.line, x.span.column) for x in told if x.span and x.level is Level.ERROR) == places


def test_other_commands_tell_the_same(tmp_path: Path) -> None:
    path = tmp_path / "outing.yaml"
    path.write_text(TEXTS["outing.yaml"].replace("  ride:\n", "ride:\n"))
    with pytest.raises(InputError, match=r"outing.yaml:23:1: this is no YAML: this line is indented by no spaces"):
        load_domain(str(path))


def test_a_key_that_stands_twice_is_no_wrong_indentation() -> None:
    text = TEXTS["outing.yaml"].replace("    cost: 1\n", "    cost: 1\n    cost: 2\n", 1)
    (finding,) = [x for x in check_texts([SourceText("a.yaml", text)]).findings if x.level is Level.ERROR]
    assert finding.rule == "twice"
