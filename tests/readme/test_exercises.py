"""The exercises of the how-to pages, done as the pages print them: lint, types and the tests of the registries pass."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILE = re.compile(r"^\*\*The file\*\*, `(?P<path>[^`]+)`:\n\n```python\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
LINE = re.compile(
    r"^\*\*The line\*\*, in `(?P<name>\w+)` in\s`(?P<path>[^`]+)`.*?\n\n    (?P<text>[^\n]+)\n",
    re.DOTALL | re.MULTILINE,
)
SCENARIO = re.compile(r"^```py\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass
class Exercise:
    """A page, its file, its line, and the line to put that after or before."""

    page: str
    import_of: str = ""
    before: str = ""
    tests: tuple[str, ...] = ()


EXERCISES = {
    "cheapest": Exercise(
        "add-a-heuristic",
        import_of="CHEAPEST",
        before='    "goalcount"',
        tests=(
            "tests/planner/heuristics/test_search_heuristics_random.py",
            "tests/planner/search/test_search_algorithms_random.py",
        ),
    ),
    "ehc": Exercise(
        "add-a-search",
        import_of="hill_climbing",
        before='    "mcts"',
        tests=("tests/planner/search/test_search.py", "tests/planner/search/test_search_algorithms_random.py"),
    ),
    "wait": Exercise("add-a-rung", before="    REPLAN ="),
    "once": Exercise(
        "add-a-construct", import_of="compile_once, has_once", before="    Pass(_CHANGES, _compile_changes),"
    ),
}


def do(exercise: Exercise, tree: Path) -> list[str]:
    """Write the file and the line of the page into `tree`; return the files that are new or changed."""
    page = (ROOT / f"docs/how-to/{exercise.page}.md").read_text(encoding="utf-8")
    file, line = FILE.search(page), LINE.search(page)
    assert file
    assert line
    (tree / file["path"]).write_text(file["text"], encoding="utf-8")
    place = tree / line["path"]
    text = place.read_text(encoding="utf-8")
    assert text.count(exercise.before) == 1
    if exercise.import_of:
        module = file["path"].removesuffix(".py").replace("/", ".")
        text = text.replace("\nfrom planner.", f"\nfrom {module} import {exercise.import_of}\nfrom planner.", 1)
    place.write_text(text.replace(exercise.before, f"    {line['text']}\n{exercise.before}"), encoding="utf-8")
    return [file["path"], line["path"]]


def run(tree: Path, *command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=tree, capture_output=True, text=True, check=False, timeout=400
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.timeout(300)
def test_the_exercises_pass_as_the_pages_print_them(tmp_path: Path) -> None:
    for name in ("planner", "htn", "executor", "tests"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    changed = [path for exercise in EXERCISES.values() for path in do(exercise, tmp_path)]
    run(tmp_path, "ruff", "check", "--quiet", "--fix", "--select", "I", *changed)  # sorts the imports
    run(tmp_path, "ruff", "check", "--quiet", *changed)
    run(tmp_path, "ruff", "format", "--check", "--quiet", *changed)
    run(tmp_path, "mypy", "--config-file", "pyproject.toml", "--follow-imports=silent", *changed)
    for name, exercise in EXERCISES.items():
        if exercise.tests:
            run(tmp_path, "pytest", "-p", "no:cacheprovider", "-k", name, *exercise.tests)
        page = (ROOT / f"docs/how-to/{exercise.page}.md").read_text(encoding="utf-8")
        for scenario in SCENARIO.finditer(page):
            (tmp_path / "scenario.py").write_text(scenario["text"], encoding="utf-8")
            run(tmp_path, "scenario")
