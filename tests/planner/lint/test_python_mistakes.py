"""Python files with several mistakes: all are found in one go, each at its place, and none that only follows."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from benchmarks.check_trials import OWN, try_as_python
from planner.errors import InputError
from planner.lint.check_files import check_files
from planner.lint.findings import Level

OFFICE = '''\
"""An office."""
from planner import Domain, Entity
from htn.language.declare import Methods


class Robot(Entity): ...


class Room(Entity): ...


office = Domain("office", types={"box": "thing"})
office.predicate("at", Robot, Room, tags=["trustd"])


@office.action(
    requires=["at(robot, origin)", "dor(origin, tarjet)"],
    provides=["at(robot, target)", "seen(target"],
    modifies=["at(robot, _)"],
    cots=2,
)
async def move(robot: Robot, origin: Room, target: Room): ...


@office.action(provides="clean(room)")
def sweep(room: "Rom"): ...


for name in ("first", "second"):
    office.action(name, {"r": "room"}, requires=["clean(r)", "at(r, r)"], provides=[f"{name}_done(r)"])

office.action("sweep", {"r": Room}, provides=["clean(x)"])
how = Methods(office)
how.task("tidy", r=Room)
how.method("both", {"r": Room, "x": Robot}, task="tidy(r)", subtasks=["sweep(r)", "mov(x, r, r)"])
sweep("x", 1, 2)
problem = how.problem(
    objects={"r2": Robot, "hall": Room},
    initial=["at(r2, hall)", "at(hall, r2)", "att(r2)"],
    tasks=["tidy(hal)"],
    goal=["clean(hall)"],
)
'''
EXPECTED = [
    *[(12, 42, "FT005"), (13, 44, "FT005"), (17, 49, "FT005"), (18, 37, "FT001"), (20, 5, "FT004")],
    *[(26, 18, "FT005"), (30, 32, "FT005"), (30, 63, "FT006"), (32, 16, "FT003"), (35, 84, "FT005")],
    *[(36, 1, "FT001"), (39, 34, "FT006"), (39, 46, "FT007"), (39, 47, "FT005"), (40, 18, "FT005")],
]


def find_errors(path: Path, text: str) -> list[tuple[int, int, str]]:
    path.write_text(text, encoding="utf-8")
    found = [each for each in check_files(str(path)).findings if each.level is Level.ERROR]
    return [(each.span.line, each.span.column, each.code) for each in found]


def test_all_mistakes_are_found_at_once_each_at_its_place(tmp_path) -> None:
    path = tmp_path / "office.py"
    assert find_errors(path, OFFICE) == EXPECTED
    hints = {each.hint for each in check_files(str(path)).findings}
    assert {"did you mean 'target'?", "did you mean 'cost'?", "did you mean 'Room'?"} <= hints


@pytest.mark.parametrize("block", range(12))
def test_what_others_write_in_yaml_is_found_in_python(block: int) -> None:
    trials = try_as_python(sorted(OWN.iterdir())[block::12])
    assert [(each.name, each.missed) for each in trials if each.missed] == []
    assert trials


def test_mistakes_besides_one_in_the_syntax_are_found(tmp_path) -> None:
    text = """from planner import Domain
d = Domain("d", types=["room"])
d.action("go", {"a": "room"}, requires=["at(b)"], provides=["been(a)"])
wrong = d.action("fly", {"a": "room"}, provides=[
d.action("stay", {"a": "rom"}, provides=["stayed(a)"])
print(wrong)
"""
    assert find_errors(tmp_path / "d.py", text) == [(3, 45, "FT005"), (4, 49, "FT002"), (5, 25, "FT005")]


def test_what_follows_from_a_mistake_is_not_told(tmp_path) -> None:
    text = """from planner import Domain
d = Domain("d", types=["room"])
go = d.action("go", 5, provides=["been(here)"])
print(go.name)
p = d.problem("p", objects={"x": "room"}, goal=["been(x)"])
"""
    assert find_errors(tmp_path / "d.py", text) == [(3, 21, "FT001")]


def test_a_file_that_raises_is_read_on_after_the_statement(tmp_path) -> None:
    text = """from planner import Domain
d = Domain("d", types=["room"])
rooms = [1][3]
for each in rooms:
    d.action(each, {})
d.action("go", {"a": "rom"}, provides="been(a)")
"""
    assert find_errors(tmp_path / "d.py", text) == [(3, 1, "FT001"), (6, 23, "FT005")]


def test_a_file_without_mistakes_is_executed_once(tmp_path) -> None:
    path = tmp_path / "d.py"
    log = tmp_path / "log"
    path.write_text(
        f"""from pathlib import Path
from planner import Domain
with Path({str(log)!r}).open("a") as file:
    file.write("x")
d = Domain("d", types=["room"])
d.action("go", {{"a": "room"}}, provides=["been(a)"])
"""
    )
    check_files(str(path))
    assert log.read_text() == "x"


def test_one_name_of_a_file_stops_at_its_first_mistake(tmp_path) -> None:
    path = tmp_path / "office.py"
    path.write_text(OFFICE)
    checked = check_files(f"{path}:problem")
    assert [each.level for each in checked.findings] == [Level.ERROR]


@pytest.mark.parametrize("seed", range(24))
def test_damaged_files_are_read_to_their_end(tmp_path, seed: int) -> None:
    rng = random.Random(seed)
    lines = OFFICE.splitlines()
    for _ in range(rng.randint(1, 3)):
        place = rng.randrange(4, len(lines))
        lines[place] = rng.choice([
            lambda line: line[:0],
            lambda line: line[: rng.randrange(len(line) + 1)],
            lambda line: line.replace("r", "q", 1),
            lambda line: line + line,
        ])(lines[place])  # fmt: skip
    path = tmp_path / "office.py"
    path.write_text("\n".join(lines))
    try:
        found = check_files(str(path)).findings
    except InputError:  # no place in the file, such as one that leaves no domain behind
        return
    assert found
    assert all(1 <= each.span.line <= len(lines) + 1 for each in found if each.span)


def test_a_problem_that_is_put_together_wrongly_is_told(tmp_path) -> None:
    path = tmp_path / "one.py"
    path.write_text("""from planner import Domain, Problem
d = Domain("d")
d.action("a", {}, requires=["p"], provides=["q"])
problem = Problem("one", d, initial=["p"], goal=["q"])
""")
    with pytest.raises(InputError, match=r"the domain is a Domain; give a DomainModel, such as domain\.model"):
        check_files(str(path))
