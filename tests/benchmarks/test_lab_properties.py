"""Properties of downward-lab: read, told from our results, and written so that nothing is lost."""

from __future__ import annotations

import json
import lzma
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from benchmarks.cli import app
from benchmarks.lab_properties import adopt_suites, attributes_of, parse_properties, read_results, write_properties
from benchmarks.planners import Outcome
from benchmarks.records import Record, read_records, write_records
from planner.errors import DocumentError

RUN: dict[str, Any] = {
    "algorithm": "lmcut",
    "component_options": ["--search", "astar(lmcut())"],
    "cost": 11.0,
    "coverage": 1,
    "domain": "gripper",
    "driver_options": [],
    "error": "success",
    "evaluated": 70,
    "evaluations": 75,
    "expansions": 64,
    "id": ["lmcut", "gripper", "prob01.pddl"],
    "initial_h_values": {"lmcut": 9},
    "memory": 10240,
    "node": "vm",
    "plan_length": 11,
    "planner_exit_code": 0,
    "planner_memory": 25600,
    "planner_memory_limit": 2048,
    "planner_time": 0.09,
    "planner_time_limit": 300.0,
    "planner_wall_clock_time": 0.2,
    "problem": "prob01.pddl",
    "raw_memory": 10240,
    "score_total_time": float("inf"),
    "search_time": 0.01,
    "total_time": 0.02,
    "translator_axioms": 0,
    "translator_time_done": 0.07,
    "unsolvable": 0,
}
UNANSWERED = {name: value for name, value in RUN.items() if name not in ("cost", "planner_time", "memory")}
OURS = [
    Record(
        "ipc",
        "gripper",
        "gripper/prob01.pddl",
        "ours",
        "ours:mode=optimal",
        Outcome.OPTIMAL,
        cost=11,
        lower_bound=11,
        plan_length=11,
        cpu_seconds=0.25,
        wall_seconds=0.5,
        translate_seconds=0.125,
        search_seconds=0.2,
        evaluations=70,
        expansions=64,
        generated=99,
        stored_states=70,
        effort_seconds=0.1,
        peak_mib=25.0,
        checks={"forethought": "valid"},
        sizes={"facts": 7},
        features=("costs",),
        by="astar lmcut",
        tier="reference",
        limits={"cpu_seconds": 30.0, "memory_gib": 4.0},
        tracks=("opt",),
        versions={"python": "3.11"},
        date="2026-11-24",
    ),
    Record("ipc", "gripper", "gripper/prob05.pddl", "ours", "c", Outcome.TIME, cpu_seconds=30, expansions=5),
    Record("ipc", "walks", "p1.pddl", "ours", "c", Outcome.INVALID, cost=3, detail="v says invalid"),
    Record("ipc", "opt/x", "opt/x/p1.pddl", "ours", "c", Outcome.UNSOLVABLE, cpu_seconds=1),
]


def read(run: Any) -> Record:
    (record,) = parse_properties(json.dumps({"x": run}), Path("properties"))
    return record


def test_a_run_of_lab() -> None:
    found = read(RUN)
    assert (found.planner, found.domain, found.task, found.suite) == ("lmcut", "gripper", "gripper/prob01.pddl", "")
    assert (found.outcome, found.cost, found.lower_bound, found.plan_length) == (Outcome.OPTIMAL, 11, 11, 11)
    assert (found.cpu_seconds, found.wall_seconds, found.peak_mib) == (0.09, 0.2, 25.0)
    assert (found.translate_seconds, found.search_seconds, found.effort_seconds) == (0.07, 0.02, 0.01)
    assert (found.evaluations, found.expansions, found.generated) == (70, 64, None)
    assert found.limits == {"cpu_seconds": 300, "memory_gib": 2}
    assert found.configuration == "--search astar(lmcut())"


@pytest.mark.parametrize(
    ("run", "outcome"),
    [
        (RUN | {"component_options": ["--search", "eager_greedy([ff()])"]}, Outcome.SOLVED),
        (RUN | {"translator_axioms": 3}, Outcome.SOLVED),
        (RUN | {"error": "search-plan-found-and-out-of-time"}, Outcome.SOLVED),
        (RUN | {"driver_options": ["--alias", "seq-opt-bjolp"], "component_options": []}, Outcome.OPTIMAL),
        (UNANSWERED | {"coverage": 0, "error": "search-unsolvable", "unsolvable": 1}, Outcome.UNSOLVABLE),
        (UNANSWERED | {"coverage": 0, "error": "search-unsolved-incomplete"}, Outcome.UNKNOWN),
        (UNANSWERED | {"coverage": 0, "error": "translate-out-of-memory"}, Outcome.MEMORY),
        (UNANSWERED | {"coverage": 0, "error": "search-out-of-memory-and-time"}, Outcome.TIME),
        (UNANSWERED | {"coverage": 0, "error": "timeout"}, Outcome.TIME),
        (UNANSWERED | {"coverage": 0, "error": "search-unsupported"}, Outcome.UNSUPPORTED),
        (UNANSWERED | {"coverage": 0, "error": "sigkill"}, Outcome.ERROR),
        (UNANSWERED | {"coverage": 0, "error": None, "planner_exit_code": 22}, Outcome.MEMORY),
        ({"algorithm": "a", "domain": "d", "problem": "p"}, Outcome.UNKNOWN),
        ({"algorithm": "a", "domain": "d", "problem": "p", "cost": 3}, Outcome.SOLVED),
    ],
)
def test_outcomes(run: dict[str, Any], outcome: Outcome) -> None:
    assert read(run).outcome is outcome


def test_a_time_out_took_its_limit() -> None:
    assert read(UNANSWERED | {"coverage": 0, "error": "search-out-of-time"}).cpu_seconds == 300


def test_lab_to_lab_loses_nothing(tmp_path: Path) -> None:
    runs = {"lmcut-gripper-prob01.pddl": RUN, "b-d-p": {"algorithm": "b", "domain": "d", "problem": "p", "suite": [1]}}
    (tmp_path / "properties").write_text(json.dumps(runs, indent=2))
    content, repeated = write_properties(read_results(tmp_path))
    assert json.loads(content) == runs
    assert repeated == 0


def test_ours_to_lab_to_ours_loses_nothing(tmp_path: Path) -> None:
    for name in ("properties", "some.xz"):
        content, repeated = write_properties(OURS, packed=name.endswith("xz"))
        (tmp_path / name).write_bytes(content)
        found = [replace(record, attributes={}) for record in read_results(tmp_path / name)]
        assert (found, repeated) == (OURS, 0)


def test_what_no_answer_took_is_left_out_of_labs_means() -> None:
    optimal, time_out, invalid, unsolvable = map(attributes_of, OURS)
    assert (optimal["coverage"], optimal["cost"], optimal["planner_time"], optimal["memory"]) == (1, 11, 0.25, 25600)
    assert (time_out["coverage"], time_out["error"]) == (0, "search-out-of-time")
    assert (time_out["raw_expansions"], time_out["raw_planner_time"]) == (5, 30)
    assert not {"expansions", "planner_time", "cost", "memory"} & {*time_out, *invalid}
    assert (invalid["raw_cost"], invalid["unexplained_errors"]) == (3, ["v says invalid"])
    assert (unsolvable["unsolvable"], unsolvable["coverage"], unsolvable["planner_time"]) == (1, 0, 1)
    assert (unsolvable["domain"], unsolvable["problem"]) == ("opt/x", "p1.pddl")


def test_runs_of_one_id_are_all_written() -> None:
    content, repeated = write_properties([OURS[0], replace(OURS[0], round=1)])
    assert repeated == 1
    assert list(json.loads(content)) == ["ours-gripper-prob01.pddl", "ours-gripper-prob01.pddl-2"]


def test_labs_runs_are_of_the_suite_that_has_their_tasks() -> None:
    mine = [OURS[0], replace(OURS[3], task="opt/gripper/prob05.pddl", domain="opt/gripper")]
    labs = [read(RUN), read(RUN | {"problem": "prob05.pddl"}), read(RUN | {"problem": "prob09.pddl"})]
    assert [record.task_id for record in adopt_suites([*labs, *mine])[:3]] == [
        ("ipc", "gripper/prob01.pddl"),
        ("ipc", "opt/gripper/prob05.pddl"),
        ("", "gripper/prob09.pddl"),
    ]
    flat = replace(mine[0], domain="gripper", task="prob01.pddl")
    assert adopt_suites([flat, labs[0]])[1].task_id == ("ipc", "prob01.pddl")
    twice = [mine[0], replace(mine[0], suite="other")]
    assert adopt_suites([labs[0], *twice])[0].suite == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{\n "x": {"algorithm": "a",, }', r"properties:2:25: the properties are no JSON"),
        ('{\n"x": 3}', r"properties: run 'x': it is 3, expected an object"),
        ('{"x": {"domain": "d", "problem": "p"}}', r"run 'x': the attribute `algorithm` is missing, expected a name"),
        ('{"x": {"algorithm": 7, "domain": "d", "problem": "p"}}', r"the attribute `algorithm` is 7, expected a name"),
        (
            '{"x": {"algorithm": "a", "domain": "d", "problem": "p", "cost": "much"}}',
            r"run 'x': the attribute `cost` is \"much\", expected a finite number",
        ),
        ('{"x": {"algorithm": "a", "domain": "d", "problem": "p", "cost": NaN}}', r"`cost` is NaN, expected a finite"),
        (
            '{"x": {"algorithm": "a", "domain": "d", "problem": "p", "cost": 1' + 400 * "0" + "}}",
            "expected a finite number",
        ),
        (
            '{"x": {"algorithm": "a", "domain": "d", "problem": "p", "outcome": "time", "configuration": "", "by": 1}}',
            r"run 'x': the attribute by is 1",
        ),
    ],
)
def test_broken_properties_are_told_with_their_place(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "properties").write_text(text)
    with pytest.raises(DocumentError, match=message):
        CliRunner().invoke(app, ["table", str(tmp_path / "properties")], catch_exceptions=False)


def test_other_files_and_folders_that_are_no_properties(tmp_path: Path) -> None:
    for name, content, message in (
        ("p.xz", b"no xz", "cannot be unpacked"),
        ("empty", b"", "there are no results"),
        ("none", b"{}", "there are no results"),
        ("list", b"[1]\n", "no benchmark record"),
        ("latin", '{\n"x": "\xe9"}'.encode("latin-1"), "the file is no UTF-8 text"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DocumentError, match=message):
            CliRunner().invoke(app, ["table", str(tmp_path / name)], catch_exceptions=False)
    with pytest.raises(DocumentError, match="a folder without a file `properties`"):
        CliRunner().invoke(app, ["table", str(tmp_path)], catch_exceptions=False)


def test_all_commands_that_read_results_read_properties(tmp_path: Path) -> None:
    lab, results = tmp_path / "exp-eval", tmp_path / "r.jsonl"
    lab.mkdir()
    (lab / "properties.xz").write_bytes(lzma.compress(json.dumps({"lmcut-gripper-prob01.pddl": RUN}).encode()))
    write_records(results, OURS)
    table = CliRunner().invoke(app, ["table", str(results), str(lab)])
    assert "| gripper | 2 | 1 | 1 |" in table.stdout
    compared = CliRunner().invoke(app, ["compare", str(results), str(lab)])
    assert "on 1 tasks of both: median 2.78" in compared.stdout
    merged = tmp_path / "properties"
    written = CliRunner().invoke(app, ["properties", str(results), str(lab), "--out", str(merged)])
    assert written.exit_code == 0
    assert json.loads(merged.read_text())["lmcut-gripper-prob01.pddl"] == RUN
    assert read_records(results) == OURS
