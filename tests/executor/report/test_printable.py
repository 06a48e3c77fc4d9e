"""Names and texts of others reach a terminal without characters that steer it."""

from __future__ import annotations

import io
import logging
import sys

import pytest

from executor import ActionResult, ExecutionPolicy, Executor, World
from executor.cli import sentence
from executor.report.live import Show
from executor.testing import run_virtual
from executor.tools.containment import log_failure
from planner import Domain
from planner.cli import Exit, main
from planner.cli.output import give, tell, write_atomically
from planner.errors import printable

EVIL = "\x1b[31mred\x07\x9b2J\u202egnp\u2066\u200f\x00\r\x7f"
TAME = "[31mred2Jgnp"
CONTROLS = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0), 0x061C, 0x200E, 0x200F)]
CONTROLS += [chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))]


class Terminal(io.StringIO):
    """A stream that somebody looks at."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


class Pipe(io.StringIO):
    encoding = "utf-8"


@pytest.mark.parametrize("control", CONTROLS, ids=lambda each: f"U+{ord(each):04X}")
def test_controls_are_stripped(control: str) -> None:
    kept = control if control in "\n\t" else ""
    assert printable(f"a{control}b é 漢 😀") == f"a{kept}b é 漢 😀"


def test_messages_are_stripped_and_results_where_somebody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream, result in ((Terminal(), TAME), (Pipe(), EVIL)):
        errors = Pipe()
        monkeypatch.setattr(sys, "stdout", stream)
        monkeypatch.setattr(sys, "stderr", errors)
        give(EVIL)
        tell(EVIL)
        assert stream.getvalue() == f"{result}\n"
        assert errors.getvalue() == f"{TAME}\n"


def test_files_get_what_was_found(tmp_path) -> None:
    write_atomically(tmp_path / "plan", EVIL)
    assert (tmp_path / "plan").read_bytes().decode() == EVIL


def test_prompts_are_stripped(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = Terminal()
    monkeypatch.setattr(sys, "stderr", errors)
    monkeypatch.setattr(sys, "stdin", io.StringIO("yes\n"))
    assert sentence.ask_yes_or_no(f"May {EVIL} be done?")
    assert errors.getvalue() == f"May {TAME} be done? [yes/no]\n> "


def evil() -> tuple[World, object]:
    domain = Domain("evil")
    domain.action("pay", provides=["paid"])
    world = World(domain)
    world.handler("pay", policy=ExecutionPolicy(retries=0))(lambda: ActionResult.failed(f"no {EVIL} today"))
    return world, domain.problem(goal=["paid"])


@pytest.mark.parametrize("kind", [Terminal, Pipe])
def test_progress_is_stripped(kind: type[io.StringIO], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = kind()
    world, problem = evil()
    outcome = run_virtual(Executor(world, listeners=(Show(stream),)).run(problem))
    assert EVIL in outcome.reason
    shown = stream.getvalue()
    assert "[31mred" in shown
    assert not set(shown) & set(CONTROLS) - set("\n\x1b\r")
    assert "\x1b[31mred" not in shown


def test_what_is_logged_is_stripped(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        log_failure(logging.getLogger("evil"), "nobody answered %s", EVIL, error=RuntimeError(EVIL))
    assert f"nobody answered {TAME}" in caplog.text
    assert f"RuntimeError: {TAME}" in caplog.text
    assert "\x1b" not in caplog.text


def test_errors_of_the_command_are_stripped(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    from planner.cli import main

    path = tmp_path / "d.yaml"
    path.write_text('domain: d\ntypes: ["\\e[31mevil\\u202e"]\nactions: {a: {requires: ["\\e[2Jp("]}}\n')
    with pytest.raises(SystemExit):
        main(["solve", str(path)])
    shown = capsys.readouterr().err
    assert shown
    assert not set(shown) & {"\x1b", "\u202e", "\x9b"}


@pytest.mark.parametrize(
    "arguments",
    [["run", "--foo\u202e"], ["repair", "--x\u2066"], ["runs", "prune", "a", "b\u200f"], ["runs", "list\u202e"]],
    ids=["option", "isolate", "argument", "command"],
)
def test_what_is_said_of_wrong_arguments_is_printable(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == Exit.USAGE
    said = capsys.readouterr().err
    assert "Error: " in said
    assert said.splitlines()[0].startswith("Usage: forethought")
    assert not {"\u202e", "\u2066", "\u200f"} & set(said)
