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
