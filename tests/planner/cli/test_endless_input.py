"""Inputs that never end, or hold gigabytes, end the work within its limits."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from planner.cli import Exit
from planner.errors import PddlError
from planner.language.pddl import syntax

KINDS = ("pddl", "hddl", "yaml", "json")
GIBIBYTES = 8
DOMAIN = "(define (domain d) (:predicates (p)) (:action a :effect (p)))"
PROBLEM = "(define (problem p) (:domain d) (:init) (:goal (p)))"


@contextmanager
def endless(path: Path, line: str) -> Iterator[Path]:
    """Make a FIFO at `path` that gives `line` again and again while the body runs."""
    os.mkfifo(path)
    code = f"import sys\nwith open({str(path)!r}, 'w') as file:\n    while True: file.write({line!r} * 1000)"
    writer = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    try:
        yield path
    finally:
        writer.kill()
        writer.wait()


def sparse(path: Path) -> Path:
    with path.open("wb") as file:
        file.truncate(GIBIBYTES << 30)
    return path


def run(*words: object) -> tuple[int, str]:
    command = [sys.executable, "-m", "planner.cli", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stderr


@pytest.fixture
def given(tmp_path: Path) -> Path:
    (tmp_path / "d.pddl").write_text(DOMAIN)
    (tmp_path / "p.pddl").write_text(PROBLEM)
    return tmp_path


@pytest.mark.parametrize("kind", KINDS)
def test_a_sparse_file_is_refused_at_its_first_part(given: Path, kind: str) -> None:
    code, said = run("solve", sparse(given / f"s.{kind}"), given / "p.pddl", "--memory-limit", 0.5)
    assert code == Exit.USAGE
    assert "the file is binary" in said


@pytest.mark.parametrize("kind", KINDS)
def test_random_bytes_without_end_are_refused(given: Path, kind: str) -> None:
    (given / f"u.{kind}").symlink_to("/dev/urandom")
    code, said = run("solve", given / f"u.{kind}", "--memory-limit", 0.5)
    assert code == Exit.USAGE
    assert "the file is binary" in said


@pytest.mark.parametrize("place", ["domain", "problem", "plan", "yaml", "json"])
def test_a_pipe_without_end_ends_with_the_time_limit_or_the_longest_text(given: Path, place: str) -> None:
    suffix = {"plan": "plan", "yaml": "yaml", "json": "json"}.get(place, "pddl")
    with endless(given / f"fifo.{suffix}", '["a", "b"]\n' if place == "json" else "(a b)\n") as fifo:
        words = {
            "domain": ["solve", fifo, given / "p.pddl"],
            "problem": ["solve", given / "d.pddl", fifo],
            "plan": ["validate", given / "d.pddl", given / "p.pddl", fifo],
        }.get(place, ["solve", fifo])
        code, said = run(*words, "--time-limit", 0.7, "--memory-limit", 1)
    assert code in {Exit.NO_VERDICT, Exit.USAGE}
    assert "limit" in said or "MiB" in said


def test_a_pipe_that_nobody_writes_to_ends_with_the_time_limit(given: Path) -> None:
    os.mkfifo(given / "fifo.pddl")
    code, said = run("solve", given / "fifo.pddl", given / "p.pddl", "--time-limit", 0.7)
    assert code == Exit.NO_VERDICT
    assert "time limit" in said


def test_a_text_longer_than_any_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(syntax, "MOST_BYTES", 3 << 20)
    path = tmp_path / "long.pddl"
    path.write_text("; a line\n" * 350_000)
    with pytest.raises(PddlError, match="more than 3 MiB"):
        syntax.read_text(path)
    path.write_text("; a line\n" * 300_000)
    assert len(syntax.read_text(path)) == 2_700_000


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_long_texts_of_all_encodings_are_read_whole(tmp_path: Path, encoding: str) -> None:
    written = "é word\n" * 400_000
    (tmp_path / "text").write_text(written, encoding=encoding)
    assert syntax.read_text(tmp_path / "text") == written


COMMANDS = {
    "solve": ("{fifo}", "{p}"),
    "check": ("{fifo}",),
    "validate": ("{fifo}", "{p}", "{p}"),
    "explain": ("{fifo}", "{p}"),
    "compile": ("{fifo}", "--to", "json"),
    "run": ("{fifo}", "{p}"),
    "repair": ("{fifo}", "{p}", "{p}"),
}
"""Each command that reads a domain, with a pipe in its place."""


def words_of(command: str, fifo: Path, folder: Path) -> list[str]:
    return [command, *(word.format(fifo=fifo, p=folder / "p.pddl") for word in COMMANDS[command])]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_that_reads_a_silent_pipe_ends_with_the_time_limit(given: Path, command: str) -> None:
    os.mkfifo(given / "fifo.pddl")
    code, said = run(*words_of(command, given / "fifo.pddl", given), "--time-limit", 0.7)
    assert code == Exit.NO_VERDICT
    assert "time limit" in said


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_that_reads_a_pipe_without_end_ends_with_the_memory_limit(given: Path, command: str) -> None:
    with endless(given / "fifo.pddl", "(a b)\n") as fifo:
        code, said = run(*words_of(command, fifo, given), "--time-limit", 50, "--memory-limit", 0.001)
    assert code == Exit.NO_VERDICT
    assert "memory limit" in said


@pytest.mark.parametrize("kind", KINDS)
def test_compiling_a_pipe_that_nobody_writes_to_ends_with_the_time_limit(given: Path, kind: str) -> None:
    os.mkfifo(given / f"fifo.{kind}")
    code, said = run("compile", given / f"fifo.{kind}", "--to", "json", "--time-limit", 0.7)
    assert code == Exit.NO_VERDICT
    assert "time limit" in said


def test_templates_from_a_pipe_that_nobody_writes_to_end_with_the_time_limit(given: Path) -> None:
    os.mkfifo(given / "fifo.yaml")
    words = ["run", given / "d.pddl", given / "p.pddl", "--say", "p", "--templates", given / "fifo.yaml"]
    words += ["--language-model", "m", "--endpoint", "http://localhost:9"]
    code, said = run(*words, "--time-limit", 1.5)
    assert code == Exit.NO_VERDICT
    assert "time limit" in said
