"""Runs what README.md and the pages in docs show: Python blocks, files, and console sessions with their output.

A block after the comment `<!-- file: NAME -->` is written to NAME; the Python blocks of a document share one
namespace; in a console block the lines that start with `$ forethought` are run, and the lines below each must be what
is printed, where `…` stands for anything within a line.
"""

from __future__ import annotations

import ast
import asyncio
import re
import shlex
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from inspect import CO_COROUTINE
from pathlib import Path
from types import FunctionType

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(
    r"(?:<!-- file: (?P<file>\S+) -->\n)?```(?P<language>\w+)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)


@dataclass(frozen=True)
class Block:
    """A fenced block; `line` is that of its first line of text."""

    language: str
    text: str
    line: int
    file: str | None


def blocks_of(document: Path) -> Iterator[Block]:
    text = document.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("text")) + 1
        yield Block(match["language"], match["text"], line, match["file"])


def run_python(block: Block, document: Path, namespace: dict[str, object]) -> None:
    """Execute the block, with its line numbers; `await` and `async for` may stand at the top."""
    padded = "\n" * (block.line - 1) + block.text
    code = compile(padded, str(document), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    if code.co_flags & CO_COROUTINE:
        asyncio.run(FunctionType(code, namespace)())
    else:
        exec(code, namespace)


def sessions(block: Block) -> Iterator[tuple[str, list[str]]]:
    """Yield each command of a console block with the output that is shown below it."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, *output = part.rstrip("\n").split("\n")
        yield command, [line for line in output if line]


def run_command(command: str, expected: list[str], folder: Path) -> None:
    program, *arguments = shlex.split(command, comments=True)
    assert program == "forethought", f"only forethought is run here, not {program}"
    done = subprocess.run(
        [sys.executable, "-m", "planner.cli", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=50,
        check=False,
    )
    printed = [line for line in done.stdout.splitlines() if line]
    assert done.returncode not in (1, 2), done.stdout
    for shown, real in zip(expected, printed, strict=True):
        pattern = ".*".join(re.escape(piece) for piece in shown.split("…"))
        assert re.fullmatch(pattern, real), f"{command}\nshown: {shown}\nreal:  {real}"


def run_document(document: Path, folder: Path) -> Counter[str]:
    """Run all blocks of `document` in `folder`; return how many of each kind ran."""
    ran: Counter[str] = Counter()
    namespace: dict[str, object] = {"__name__": "document"}
    for block in blocks_of(document):
        if block.file is not None:
            (folder / block.file).write_text(block.text, encoding="utf-8")
            ran["file"] += 1
        elif block.language == "python":
            run_python(block, document, namespace)
            ran["python"] += 1
        elif block.language == "console":
            for command, expected in sessions(block):
                run_command(command, expected, folder)
                ran["command"] += 1
    return ran


@pytest.mark.parametrize("document", DOCUMENTS[1:], ids=lambda path: path.name)
def test_what_a_document_shows_is_so(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shown = sum(block.file is not None or block.language in ("python", "console") for block in blocks_of(document))
    ran = run_document(document, tmp_path)
    assert bool(ran) is bool(shown)


def test_readme_shows_every_kind_of_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run_document(ROOT / "README.md", tmp_path)
    assert ran["python"] >= 1
    assert ran["file"] >= 1
    assert ran["command"] >= 2


def test_links_lead_somewhere() -> None:
    links = [
        (document, target)
        for document in DOCUMENTS
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", document.read_text(encoding="utf-8"))
        if "://" not in target
    ]
    assert links
    assert [(document.name, target) for document, target in links if not (document.parent / target).exists()] == []


def anchors_of(document: Path) -> set[str]:
    """Return the anchors of all headings, as GitHub and the site make them."""
    text = re.sub(r"^```.*?^```$", "", document.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    titles = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title) for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE)]
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", title.lower())) for title in titles}


def test_anchors_are_headings() -> None:
    links = [
        (document, document.parent / target if target else document, anchor)
        for document in DOCUMENTS
        for target, anchor in re.findall(r"\]\(([^)#]*)#([^)]*)\)", document.read_text(encoding="utf-8"))
        if "://" not in target
    ]
    assert links
    assert [(here.name, there.name, anchor) for here, there, anchor in links if anchor not in anchors_of(there)] == []


KILL = "    __import__('os').kill(__import__('os').getpid(), 9)\n"
MOVED = "    place.write_text(target.name)\n"
SEEN = "    print(repr(robot), *[repr(each) for each in (locals().get('origin'), locals().get('target')) if each])\n"


@pytest.mark.parametrize("killed", [KILL + MOVED, MOVED + KILL], ids=["before", "after"])
def test_the_example_is_killed_while_it_moves_and_resumed_in_another_process(tmp_path: Path, killed: str) -> None:
    blocks = [each.text for each in blocks_of(ROOT / "README.md") if each.language == "python"]
    [carried_out] = [text for text in blocks if "executor.run(" in text]
    [resumed] = [text for text in blocks if "executor.resume(" in text]
    start = 'place.write_text("hall")\n'
    declared, begin = carried_out.split(start)
    executor, _ = begin.split("outcome", 1)
    watched = declared.replace(MOVED, SEEN + MOVED).replace("    return place", SEEN + "    return place")
    (tmp_path / "begin.py").write_text(declared.replace(MOVED, killed) + start + begin)
    (tmp_path / "again.py").write_text(watched + executor + resumed)
    first = subprocess.run([sys.executable, "begin.py"], cwd=tmp_path, timeout=50, check=False)
    assert first.returncode == -signal.SIGKILL
    was_at = (tmp_path / "r2.txt").read_text()
    again = [sys.executable, "again.py"]
    done = subprocess.run(again, cwd=tmp_path, timeout=50, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "r2.txt").read_text() == "lab"
    printed = done.stdout.splitlines()
    assert printed.count("Robot('r2') Room('hall') Room('lab')") == (was_at == "hall")
    assert "Robot('r2')" in printed
