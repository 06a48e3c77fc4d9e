"""Lint of files: all mistakes at once, at their places, with fixes and suppressions, in every format."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from planner.cli.output import Exit
from planner.lint.check_files import Checked, check_files, check_texts
from planner.lint.codes import CODES
from planner.lint.outlines import SourceText
from planner.lint.reports import format_finding

BROKEN = """\
domain: m
types: {robot: object, room: object}
predicates:
  at: [robot, room]
  door: [room, rom]
actions:
  go:
    parameters: {r: robot, a: room, b: room}
    requires: ["at(r, a)", "door(a, b)"]
    provides: ["at(r, c)"]
    modifies: ["at(r, _)"]
  wait:
    parameters: {r: robo}
    require: ["at(r, a)"]
---
problem: p
objects: {x: robot, h: room, k: roon}
initial: ["at(x, h)", "at(x)", "at(h, x)"]
goal: ["at(x, l)", "atx(x, h)"]
"""

BROKEN_PDDL = """\
(define (domain d)
  (:requirements :strips :typing)
  (:types robot room)
  (:predicates (at ?r - robot ?a - room) (door ?a ?b - room))
  (:action go
    :parameters (?r - robot ?a ?b - room ?z - rom)
    :precondition (and (at ?r ?a) (dor ?a ?b))
    :effect (and (at ?r ?c) (not (at ?r ?a))))
  (:action back
    :parameters (?r - robot ?a ?b - room)
    :precondition (and (at ?r ?a) (door ?a ?b))
    :effect (and (att ?r ?b) (not (at ?r ?a)))))
"""

BROKEN_PROBLEM = """\
(define (problem p) (:domain d)
  (:objects x - robot h l - room)
  (:init (at x h) (att x l) (at x l z))
  (:goal (and (at x l) (att x h))))
"""

HAUL = """\
domain: haul  # carries things
types: {cart: object, place: object}
actions:
  move:
    parameters: {c: cart, a: place, b: place, spare: place}  # from a to b
    requires: ["at(c, a)", "road(a, b)"]
    provides: ["at(c, b)"]
    modifies: ["at(c, _)"]
---
problem: short
objects: {c: cart, here: place, there: place}
initial: ["at(c, here)", "road(here, there)"]
goal: ["at(c, there)"]
"""


def found(checked: Checked) -> list[tuple[int, int, str]]:
    return [(each.span.line, each.span.column, each.code) for each in checked.findings if each.span]


def test_all_mistakes_of_a_document_are_told_at_their_places() -> None:
    checked = check_texts([SourceText("m.yaml", BROKEN)])
    assert not checked.is_read
    assert [each for each in found(checked) if each[2] < "FT100"] == [
        (5, 16, "FT005"),
        (10, 23, "FT005"),
        (13, 21, "FT005"),
        (14, 5, "FT004"),
        (14, 22, "FT005"),
        (17, 33, "FT005"),
        (18, 24, "FT007"),
        (18, 36, "FT006"),
        (19, 15, "FT005"),
        (19, 21, "FT005"),
    ]


def test_all_mistakes_of_pddl_are_told_at_their_places() -> None:
    checked = check_texts([SourceText("d.pddl", BROKEN_PDDL), SourceText("p.pddl", BROKEN_PROBLEM)])
    places = [(each.span.source, each.span.line, each.code) for each in checked.findings if each.span]
    assert [each for each in places if each[2] < "FT100"] == [
        ("d.pddl", 6, "FT005"),
        ("d.pddl", 7, "FT005"),
        ("d.pddl", 8, "FT005"),
        ("d.pddl", 12, "FT005"),
        ("p.pddl", 3, "FT005"),
        ("p.pddl", 3, "FT007"),
        ("p.pddl", 4, "FT005"),
    ]


def test_findings_stand_where_the_declaration_is(tmp_path: Path) -> None:
    path = tmp_path / "haul.yaml"
    path.write_text(HAUL)
    (finding,) = check_files(str(path)).findings
    assert format_finding(finding).startswith(f"{path}:5:47: warning FT101: action move: the parameter 'spare' is used")
    assert (finding.span.end_line, finding.span.end_column) == (5, 52)


def test_fixes_keep_comments_and_layout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "haul.yaml"
    path.write_text(HAUL.replace("provides:", "provids:"))
    assert _run("check", str(path), "--fix") == Exit.OK
    assert path.read_text() == HAUL.replace(", spare: place", "")
    assert capsys.readouterr().out == ""


def test_a_mended_file_takes_the_place_of_the_old_one_as_a_whole(tmp_path: Path) -> None:
    path, link = tmp_path / "haul.yaml", tmp_path / "link"
    old = HAUL.replace("provides:", "provids:")
    path.write_text(old)
    link.hardlink_to(path)
    assert _run("check", str(path), "--fix") == Exit.OK
    assert link.read_text() == old, "the old file was not written to"
    assert path.read_text() != old


def test_fixes_remove_lines_and_write_json(tmp_path: Path) -> None:
    block = "{c: cart, a: place, b: place, spare: place}"
    lines = "\n      c: cart\n      a: place\n      b: place"
    path = tmp_path / "haul.yaml"
    path.write_text(HAUL.replace(block, f"{lines}\n      spare: place"))
    _run("check", str(path), "--fix")
    assert path.read_text() == HAUL.replace(f"{block}  # from a to b", lines)
    path = tmp_path / "haul.json"
    text = '{"domain": "h", "actions": {"a": {"parameters": {"x": "object", "y": "object"}, "provides": ["on(x)"]}}}'
    path.write_text(text)
    _run("check", str(path), "--fix")
    assert path.read_text() == text.replace(', "y": "object"', "")


def test_fixes_of_pddl(tmp_path: Path) -> None:
    path = tmp_path / "d.pddl"
    path.write_text(BROKEN_PDDL.replace("?z - rom", "?z - room").replace("?r ?c", "?r ?b"))
    _run("check", str(path), "--fix")
    text = path.read_text()
    assert "(door ?a ?b))\n    :effect (and (at ?r ?b)" in text
    assert "(at ?r ?b) (not (at ?r ?a)))))" in text
    assert ":parameters (?r - robot ?a ?b - room)" in text


def test_suppressions_need_a_reason_and_a_finding() -> None:
    def codes(comment: str) -> list[str]:
        text = HAUL.replace("# from a to b", comment)
        return [each.code for each in check_texts([SourceText("haul.yaml", text)]).findings]

    assert codes("# forethought: ignore FT101 methods fill it") == []
    assert codes("# forethought: ignore unused-parameter methods fill it") == []
    assert codes("# forethought: ignore FT101") == ["FT901"]
    assert codes("# forethought: ignore FT105 it waits") == ["FT101", "FT902"]
    assert codes("# forethought: ignore FT999 what") == ["FT101", "FT903"]
    assert codes("# forethought: ignore") == ["FT101", "FT903"]


def test_a_suppression_above_a_declaration_covers_it() -> None:
    above = HAUL.replace("  move:", "  # forethought: ignore FT101 methods fill it\n  move:")
    assert check_texts([SourceText("haul.yaml", above)]).findings == ()
    whole = f"# forethought: ignore-file FT101 methods fill it\n{HAUL}"
    assert check_texts([SourceText("haul.yaml", whole)]).findings == ()


def test_suppressions_in_pddl() -> None:
    text = """\
(define (domain d)
  (:predicates (on ?x))
  ; forethought: ignore FT101 engines want it
  (:action light :parameters (?x ?y) :effect (on ?x)))
"""
    assert [each.code for each in check_texts([SourceText("d.pddl", text)]).findings] == ["FT113"]


def test_json_and_sarif(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "haul.yaml"
    path.write_text(HAUL)
    assert _run("check", str(path), "--json") == Exit.NEGATIVE
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert (finding["line"], finding["column"], finding["code"], finding["severity"]) == (5, 47, "FT101", "warning")
    assert finding["fix"]["edits"][0]["text"] == ""
    assert _run("check", str(path), "--format", "sarif") == Exit.NEGATIVE
    log = json.loads(capsys.readouterr().out)
    (result,) = log["runs"][0]["results"]
    region = result["locations"][0]["physicalLocation"]["region"]
    assert (log["version"], result["ruleId"], region["startLine"], region["startColumn"]) == ("2.1.0", "FT101", 5, 47)
    assert result["fixes"][0]["artifactChanges"][0]["replacements"][0]["insertedContent"] == {"text": ""}


def test_a_file_with_mistakes_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(BROKEN)
    assert _run("check", str(path)) == Exit.USAGE
    assert len(capsys.readouterr().out.splitlines()) >= 10


def test_every_code_is_unique_and_documented() -> None:
    codes = [code for code, _ in CODES.values()]
    assert len(set(codes)) == len(codes)
    page = Path(__file__).parents[3].joinpath("docs", "reference", "check.md").read_text()
    for rule, (code, summary) in CODES.items():
        assert f"| {code} | `{rule}` | " in page, rule
        assert f" | {summary} |" in page, rule


def _run(*line: str) -> int:
    from planner.cli import main

    with pytest.raises(SystemExit) as end:
        main(list(line))
    return int(end.value.code or 0)


def test_files_in_pddl_are_checked_without_the_schema_of_documents() -> None:
    script = (
        "import sys\nfrom planner.lint.check_files import check_texts\nfrom planner.lint.outlines import SourceText\n"
        f"check_texts([SourceText('d.pddl', {BROKEN_PDDL!r})])\nprint(*{{'pydantic', 'ruamel'}} & set(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "\n"


def summary(capsys: pytest.CaptureFixture[str], *given: str) -> str:
    from planner.cli import main

    with pytest.raises(SystemExit):
        main(["check", *given])
    return capsys.readouterr().err.strip()


def test_the_summary_names_the_files_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    domain = "(define (domain d) (:predicates (p) (q)) (:action a :precondition (p) :effect (q)))"
    problem = "(define (problem x) (:domain d) (:init (p)) (:goal (q)))"
    for name, text in (("d.pddl", domain), ("x.pddl", problem)):
        Path(name).write_text(text)
        Path(f"wrong-{name}").write_text(text.replace("(p)", "(pp)").replace("predicates (pp)", "predicates (p)"))
    assert summary(capsys, "d.pddl", "x.pddl").startswith("x: ")
    assert summary(capsys, "d.pddl", "wrong-x.pddl") == "wrong-x.pddl: 1 error"
    assert summary(capsys, "wrong-d.pddl", "x.pddl") == "wrong-d.pddl: 1 error"
    assert summary(capsys, "wrong-d.pddl", "wrong-x.pddl") == "wrong-d.pddl, wrong-x.pddl: 2 errors"


def test_the_summary_names_the_module_with_the_mistake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("rooms_of_summary.py").write_text(
        'from planner import Domain\nd = Domain("d", types=["room"])\n'
        'd.action("go", {"a": "room"}, requires=["at(b)"], provides=["been(a)"])\n'
    )
    Path("day.py").write_text('import rooms_of_summary\np = rooms_of_summary.d.problem("p", goal=[])\n')
    told = check_files("day.py").findings
    assert [(Path(each.span.source).name, each.span.line) for each in told if each.span] == [("rooms_of_summary.py", 3)]
    assert summary(capsys, "day.py").endswith("rooms_of_summary.py: 1 error")
