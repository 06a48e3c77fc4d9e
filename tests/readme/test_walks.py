"""The walks of the architecture page: each function is there, and one request calls them in the order of the page."""

from __future__ import annotations

import re
import sys
import threading
from inspect import signature
from pathlib import Path
from typing import Self

import pytest

from executor import World
from planner.cli import main
from planner.heuristics import REGISTRY as HEURISTICS
from planner.search import REGISTRY as SEARCHES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/explanation/architecture.md").read_text(encoding="utf-8")
GLOSSARY = (ROOT / "docs/reference/glossary.md").read_text(encoding="utf-8")
STEP = re.compile(r"^\| \d+ \| `(?P<file>[\w/]+\.py)::(?P<name>[\w.]+)` \|", re.MULTILINE)
README = (ROOT / "README.md").read_text(encoding="utf-8")
MOST_FILES = 60
"""Files between the command and the loop of A*: more, and the way has become longer."""

DOMAIN = """(define (domain office) (:requirements :strips :typing) (:types robot room)
  (:predicates (at ?r - robot ?a - room) (door ?a ?b - room))
  (:action move :parameters (?r - robot ?a ?b - room) :precondition (and (at ?r ?a) (door ?a ?b))
    :effect (and (not (at ?r ?a)) (at ?r ?b))))"""
PROBLEM = """(define (problem to-the-lab) (:domain office) (:objects r2 - robot hall stairs lab - room)
  (:init (at r2 hall) (door hall stairs) (door stairs lab)) (:goal (at r2 lab)))"""


def walk(title: str) -> list[tuple[str, str]]:
    """Return the files and functions of the walk below this heading."""
    part = PAGE.split(f"## {title}", 1)[1].split("\n## ", 1)[0]
    return [(step["file"], step["name"]) for step in STEP.finditer(part)]


class Trace:
    """The functions of ours that were called, each where it was first called, in order."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self._seen: set[object] = set()

    def __call__(self, frame, event, _) -> None:
        code = frame.f_code
        if event != "call" or code in self._seen or not code.co_flags & 1:
            return
        self._seen.add(code)
        path = Path(code.co_filename)
        if path.is_relative_to(ROOT) and ".venv" not in path.parts:
            self.calls.append((path.relative_to(ROOT).as_posix(), getattr(code, "co_qualname", code.co_name)))

    def __enter__(self) -> Self:
        sys.setprofile(self)
        threading.setprofile(self)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)


def check(steps: list[tuple[str, str]], calls: list[tuple[str, str]]) -> None:
    """Assert that all `steps` are among the `calls`, in their order."""
    assert len(steps) > 8
    known = [(file, name.rsplit(".", 1)[-1] if sys.version_info < (3, 11) else name) for file, name in steps]
    assert [step for step in known if step not in calls] == []
    assert known == sorted(known, key=calls.index)


def test_one_request_goes_as_the_page_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "domain.pddl").write_text(DOMAIN)
    (tmp_path / "problem.pddl").write_text(PROBLEM)
    files = [str(tmp_path / name) for name in ("domain.pddl", "problem.pddl")]
    with Trace() as trace, pytest.raises(SystemExit) as ended:
        raise SystemExit(main(["solve", *files, "--search", "astar", "--quiet"]))
    assert not ended.value.code
    assert "(move r2 stairs lab)" in capsys.readouterr().out
    check(walk("One request"), trace.calls)
    before = trace.calls[: trace.calls.index(("planner/search/astar.py", "astar"))]
    assert len({file for file, _ in before}) <= MOST_FILES


def test_one_modifies_goes_as_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    example = re.findall(r"```python\n(.*?)```", README, re.DOTALL)[0]
    with Trace() as trace:
        exec(compile(example, "README.md", "exec"), {"__name__": "example"})
    check(walk("One `modifies`"), trace.calls)


def test_the_glossary_names_what_is_there() -> None:
    places = re.findall(r"`((?:planner|htn|executor)/[^`]*)`", GLOSSARY)
    assert len(places) > 50
    assert [place for place in places if not (ROOT / place).exists()] == []
    named = re.findall(r"^\| `((?:planner|htn|executor)/[\w/]+)`", PAGE, re.MULTILINE)
    assert len(named) > 20
    assert [place for place in named if not (ROOT / place).exists()] == []


def test_the_tables_of_searches_and_heuristics_are_the_registries() -> None:
    page = (ROOT / "docs/explanation/searching.md").read_text(encoding="utf-8")
    rows = [
        f"| `{name}` | {one.what} | {f'`{one.heuristic}`' if one.heuristic else ''} |" for name, one in SEARCHES.items()
    ]
    rows += [f"| `{name}` | {one.what} | {'yes' if one.admissible else ''} |" for name, one in HEURISTICS.items()]
    assert re.findall(r"^\| `[\w+]+` \| .*$", page, re.MULTILINE) == rows


def test_the_defaults_of_observers_are_on_the_page() -> None:
    page = (ROOT / "docs/reference/executing.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ((?:`\w+=`(?:, )?)+) \| `([^`]+)` \|", page, re.MULTILINE)
    told = {name: default for names, default in rows for name in re.findall(r"`(\w+)=`", names)}
    options = signature(World.observer).parameters.values()
    assert told == {each.name: str(each.default) for each in options if each.kind is each.KEYWORD_ONLY}
