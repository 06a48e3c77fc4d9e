"""Result files: written as it comes, read back, resumed after a kill."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.planners import Outcome
from benchmarks.records import Record, append_record, lock_results, read_records, resume, write_records
from planner.errors import DocumentError

RECORD = Record(
    suite="s",
    domain="blocks",
    task="blocks/p1.pddl",
    planner="fd",
    configuration="fd:astar(lmcut())",
    outcome=Outcome.OPTIMAL,
    cost=2.5,
    lower_bound=2.5,
    plan_length=3,
    cpu_seconds=0.25,
    checks={"forethought": "valid"},
    sizes={"facts": 7},
    features=("axioms", "costs"),
    limits={"cpu_seconds": 30, "memory_gib": 4.0},
    versions={"python": "3.11"},
    plan="(move a b)\n; cost = 2.5\n",
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "results.jsonl"


def test_records_are_read_as_written(path: Path) -> None:
    others = [replace(RECORD, round=number, outcome=outcome) for number, outcome in enumerate(Outcome)]
    assert resume(path) == set()
    for record in others:
        append_record(path, record)
    assert read_records(path) == others
    assert resume(path) == {record.key for record in others}


def test_a_last_line_that_was_not_finished_is_cut_off(path: Path) -> None:
    resume(path)
    append_record(path, RECORD)
    with path.open("a") as file:
        file.write(replace(RECORD, round=1).to_line()[:40])
    assert read_records(path) == [RECORD]
    assert resume(path) == {RECORD.key}
    append_record(path, replace(RECORD, round=2))
    assert [record.round for record in read_records(path)] == [0, 2]


def test_only_line_feeds_end_a_record(path: Path) -> None:
    odd = replace(RECORD, detail="a\u2028b\x85c\x0cd\re")
    resume(path)
    write_records(path, [odd, RECORD])
    assert read_records(path) == [odd, RECORD]


def test_a_last_line_that_ends_within_a_letter_is_cut_off(path: Path) -> None:
    resume(path)
    line = replace(RECORD, detail="é").to_line().encode()
    path.write_bytes(line + line[: line.index("é".encode()) + 1])
    assert resume(path) == {RECORD.key}
    assert path.read_bytes() == line


@pytest.mark.parametrize("content", ["{}", '{"a": {"algorithm": "b"}}', "notes", RECORD.to_line() + "}"])
def test_what_is_no_unfinished_record_is_not_cut_off(content: str, path: Path) -> None:
    resume(path)
    path.write_text(content)
    with pytest.raises(DocumentError, match="no unfinished record; nothing was changed"):
        resume(path)
    assert path.read_text() == content


@pytest.mark.parametrize("line", ["{", "[]", "3", "{}", '{"suite": "s", "outcome": "won"}'])
def test_any_other_line_that_is_no_record_is_an_error(line: str, path: Path) -> None:
    resume(path)
    path.write_text(f"{RECORD.to_line()}{line}\n{RECORD.to_line()}")
    with pytest.raises(DocumentError, match=r"results\.jsonl:2: this line is no benchmark record"):
        read_records(path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cpu_seconds", '"quick"'),
        ("cpu_seconds", "NaN"),
        ("cost", "Infinity"),
        ("cost", "true"),
        ("task", "3"),
        ("limits", "3"),
        ("evaluations", "1.5"),
        ("peak_mib", "null"),
    ],
)
def test_values_of_other_kinds_are_errors(name: str, value: str, path: Path) -> None:
    resume(path)
    path.write_text(RECORD.to_line().replace("{", f'{{"{name}": {value}, ', 1))
    assert read_records(path) == [RECORD]  # of two values the last one counts
    path.write_text(RECORD.to_line().replace("}\n", f', "{name}": {value}}}\n'))
    with pytest.raises(DocumentError, match=rf"this line is no benchmark record \({name} is "):
        read_records(path)


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="it cannot be written: Is a directory"):
        write_records(tmp_path, [RECORD])
    (tmp_path / "file").touch()
    with (
        pytest.raises(DocumentError, match="it cannot be written: "),
        lock_results(tmp_path / "file" / "results.jsonl"),
    ):
        pass


def test_fields_of_newer_versions_are_ignored(path: Path) -> None:
    resume(path)
    path.write_text(RECORD.to_line().replace("{", '{"new": 1, ', 1))
    assert read_records(path) == [RECORD]


def test_writing_all_replaces_the_file(path: Path) -> None:
    resume(path)
    append_record(path, RECORD)
    write_records(path, [replace(RECORD, round=5)])
    assert [record.round for record in read_records(path)] == [5]


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({"outcome": Outcome.TIME, "cpu_seconds": 9.0, "date": "later", "versions": {}}, True),
        ({"task": "blocks/p2.pddl"}, False),
        ({"planner": "other"}, False),
        ({"configuration": "fd:astar(blind())"}, False),
        ({"limits": {"cpu_seconds": 60, "memory_gib": 4.0}}, False),
        ({"round": 1}, False),
    ],
)
def test_what_makes_another_run_unnecessary(change: dict[str, object], same: bool) -> None:
    assert (replace(RECORD, **change).key == RECORD.key) is same  # type: ignore[arg-type]
