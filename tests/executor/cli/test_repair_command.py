"""`forethought repair`: plans of others in files and on stdin, what is said of them, and what the exit codes say."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from planner import load, validate
from planner.cli import main
from planner.cli.options import read_plan_file
from planner.cli.output import Exit
from planner.limits import LimitReached
from planner.plan import StoppedBy

PLAN = "1. search web(heating)\n2. fetch(survey)\n3. teleport(memo)\n4. summarise(survey)\n5. send(memo, board)\n"


@pytest.fixture
def repair(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    def called(text: str, *words: object) -> tuple[int, str, str]:
        path = tmp_path / "plan.txt"
        path.write_text(text)
        with pytest.raises(SystemExit) as end:
            main(["repair", "assistant", "one-page", str(path), *map(str, words)])
        said = capsys.readouterr()
        return end.value.code, said.out, said.err

    return called


def test_a_plan_is_repaired_and_written(repair, tmp_path: Path) -> None:
    code, out, err = repair(PLAN, "--plan-file", tmp_path / "plan")
    assert code == Exit.OK
    problem = load("assistant", "one-page")
    assert validate(problem, read_plan_file(tmp_path / "plan", problem)[0]).valid
    assert (tmp_path / "plan").read_text() == out
    assert "step 3 teleport(memo): no action is called 'teleport'" in err
    assert "left out  3. teleport(memo): there is no action 'teleport'" in err
    assert "new       6. write_report(memo)" in err


def test_a_plan_that_works_stays_as_it_is(repair) -> None:
    _, out, _ = repair(PLAN, "--quiet")
    code, again, err = repair(out, "--quiet")
    assert (code, again, err) == (Exit.OK, out, "")


def test_json_says_everything(repair) -> None:
    code, out, err = repair(PLAN, "--json", "--quiet")
    found = json.loads(out)
    assert (code, err) == (Exit.OK, "")
    assert (found["status"], found["kept"], found["left_out"], found["least"]) == ("REPAIRED", [0, 1, 3, 4], [2], True)
    assert found["counterexample"]["failing_step"] == 3


def test_work_that_a_limit_ends_before_the_search_has_a_json_document(repair, monkeypatch) -> None:
    def load_for_ever(*_):
        raise LimitReached(StoppedBy.TIME)

    monkeypatch.setattr("executor.cli.repair.load", load_for_ever)
    code, out, err = repair(PLAN, "--json")
    found = json.loads(out)
    assert (code, "time limit" in err) == (Exit.NO_VERDICT, True)
    assert (found["status"], found["search"], found["plan"], found["given"]) == ("REFUSED", "UNKNOWN", None, [])
    assert "time limit" in found["reason"]
    code, out, _ = repair(PLAN)
    assert (code, out) == (Exit.NO_VERDICT, "")


def test_what_cannot_be_repaired_is_refused_with_the_counterexample(repair) -> None:
    code, out, err = repair(PLAN, "--goal", "archived(survey)")
    assert (code, out) == (Exit.NEGATIVE, "")
    assert "REFUSED" in err
    assert "as it was given: step 3 teleport(memo)" in err


def test_another_goal_may_be_stated(repair) -> None:
    code, out, _ = repair(PLAN, "--goal", "summarised(survey)", "--goal", "written(memo)")
    assert code == Exit.OK
    assert "(write_report memo)" in out


def test_a_plan_is_read_from_stdin(monkeypatch, capsys) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("search_web(heating)"))
    with pytest.raises(SystemExit) as end:
        main(["repair", "assistant", "one-page", "-", "--goal", "found(heating)"])
    assert end.value.code == Exit.OK
    assert "VALID" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        ("[{", (), "no plan in JSON"),
        ('{"nothing": 1}', (), "names no action"),
        (PLAN, ("--goal", "written(nothing)"), "Error: --goal: 'nothing' in written(nothing)"),
        (PLAN, ("--time-limit", "soon"), "soon"),
    ],
)
def test_mistakes_are_messages(repair, text: str, words: tuple, message: str) -> None:
    code, out, err = repair(text, *words)
    assert (code, out) == (Exit.USAGE, "")
    assert message in err
    assert "Traceback" not in err


KITCHEN = """
domain: kitchen
types: {cup: object}
actions:
  boil: {parameters: {c: cup}, provides: ["hot(c)"], duration: 3}
  brew: {parameters: {c: cup}, requires: ["hot(c)"], provides: ["tea(c)"], duration: 2}
"""
TASKS = """
tasks: {make: {parameters: {c: cup}}}
methods: {boil-it: {task: "make(c)", parameters: {c: cup}, subtasks: ["boil(c)", "brew(c)"]}}
"""
GOAL = """
---
problem: tea
domain: kitchen
objects: {a: cup, b: cup}
"""
IN_TIME = f'{KITCHEN}{GOAL}goal: ["tea(a)", "tea(b)"]\nmetric: minimize total-time\n'
OF_TASKS = f'{KITCHEN}{TASKS}{GOAL}tasks: {{subtasks: ["make(a)", "make(b)"], ordered: false}}\ndeadline: 30\n'
TIMED_TEXT = "0.000: (boil a) [3.000]\n0.000: (boil b) [3]\n3.001: (brew b) [2]\n3.001: (brew a) [2.000]\n"
TREE_TEXT = """==>
0 boil a
1 boil b
2 brew b
3 brew a
root 4 5
4 make a -> boil-it 0 3
5 make b -> boil-it 1 2
<==
"""


@pytest.mark.parametrize(
    ("document", "text", "foreign"),
    [
        (IN_TIME, TIMED_TEXT, "3.001: (fly a) [2]\n"),
        (OF_TASKS, TREE_TEXT, None),
        (OF_TASKS, TIMED_TEXT, "9: (fly a)"),
        (IN_TIME, TREE_TEXT.replace("0 boil a", "0 boil a\n7 fly a"), None),
    ],
)
def test_texts_with_times_and_decompositions_are_read_step_by_step(document, text, foreign, tmp_path, capsys) -> None:
    (tmp_path / "tea.yaml").write_text(document)

    def run(*words: object) -> str:
        with pytest.raises(SystemExit) as end:
            main([str(word) for word in words])
        assert end.value.code == Exit.OK
        return capsys.readouterr().out

    (tmp_path / "plan").write_text(text)
    found = json.loads(run("repair", tmp_path / "tea.yaml", "tea", tmp_path / "plan", "--json", "--quiet"))
    known = [each for each in found["given"] if not each["wrong"]]
    assert sorted(each["step"] for each in known) == ["boil(a)", "boil(b)", "brew(a)", "brew(b)"]
    assert (len(found["kept"]), found["inserted"]) == (4, [])
    assert found["status"] == ("REPAIRED" if "fly" in text else "VALID")
    if foreign is not None:
        (tmp_path / "plan").write_text(text + foreign)
        found = json.loads(run("repair", tmp_path / "tea.yaml", "tea", tmp_path / "plan", "--json", "--quiet"))
        assert (found["status"], len(found["kept"]), found["left_out"]) == ("REPAIRED", 4, [4])
    (tmp_path / "plan").write_text(run("repair", tmp_path / "tea.yaml", "tea", tmp_path / "plan", "--quiet"))
    assert "valid" in run("validate", tmp_path / "tea.yaml", "tea", tmp_path / "plan")
