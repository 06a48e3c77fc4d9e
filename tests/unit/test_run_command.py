"""`forethought run`: simulated worlds, bound handlers, journals, and what the exit codes say."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from planner.cli import main
from planner.cli.exits import Exit

Run = Callable[..., tuple[int, str, str]]
LAMPS = """
import asyncio
from pathlib import Path

from executor import World
from planner.declare import Domain, Entity


class Lamp(Entity): ...


lamps = Domain("lamps")
lit = Path(__file__).with_suffix(".lit")
lit.touch()
begun = lit.read_text()
desk, hall = Lamp("desk"), Lamp("hall")


@lamps.action(requires=["wired(lamp)"], provides=["on(lamp)"], tags=["{tag}"])
def light(lamp: Lamp) -> None:
    assert isinstance(lamp, Lamp)
    {body}


world = World(lamps)


@world.observer("on(lamp)")
def is_on(lamp: Lamp) -> bool:
    return lamp.name in lit.read_text()


problem = lamps.problem(objects=[desk, hall], initial=["wired(desk)", "wired(hall)"], goal=["on(desk)", "on(hall)"])
"""

LIGHT = "lit.write_text(lit.read_text() + lamp.name + ' ')"
ASLEEP = "await asyncio.sleep(0 if begun or lit.read_text().count(' ') < 2 else 60)"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def called(*words: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            main(["run", *map(str, words)])
        said = capsys.readouterr()
        code = end.value.code
        assert isinstance(code, int)
        return code, said.out, said.err

    return called


@pytest.fixture
def lamps(tmp_path: Path) -> Callable[..., Path]:
    def written(body: str = LIGHT, tag: str = "idempotent") -> Path:
        path = tmp_path / "lamps.py"
        path.write_text(LAMPS.replace("{body}", body).replace("{tag}", tag))
        return path

    return written


@pytest.mark.parametrize("model", ["sequential", "parallel", "dag", "reactive"])
def test_a_plan_is_carried_out_in_the_simulated_world(run: Run, model: str) -> None:
    code, out, err = run("courier", "one-parcel", "--model", model)
    assert code == Exit.OK
    assert len(out.splitlines()) == 6
    assert all(line.startswith("succeeded") for line in out.splitlines())
    assert "SUCCEEDED, the goal was observed; in the simulated world, the goal holds" in err


def test_a_hierarchical_plan_too(run: Run) -> None:
    code, out, _ = run("household", "supper", "--json", "--quiet")
    assert code == Exit.OK
    assert (json.loads(out)["model"], json.loads(out)["simulated"]) == ("hierarchical", {"goal": True})


def test_json_says_everything_and_nothing_else_is_said(run: Run) -> None:
    code, out, err = run("courier", "--json", "--quiet")
    found = json.loads(out)
    assert (code, err) == (Exit.OK, "")
    assert found["status"] == "SUCCEEDED"
    assert found["steps"][0] == {
        "id": "s1",
        "action": "move",
        "arguments": ["r2", "office", "hall"],
        "status": "SUCCEEDED",
        "attempts": 1,
        "reason": "",
    }


def test_faults_are_drawn_by_the_seed_and_no_success_is_false(run: Run) -> None:
    codes = set()
    for seed in range(12):
        code, out, _ = run("courier", "--faults", 0.4, "--seed", seed, "--json", "--quiet")
        found = json.loads(out)
        codes.add(code)
        assert found["simulated"]["goal"] or found["status"] != "SUCCEEDED"
        assert code == {"SUCCEEDED": Exit.OK, "FAILED": Exit.NEGATIVE, "COMPENSATED": Exit.NEGATIVE}.get(
            found["status"], Exit.NO_VERDICT
        )
    assert {Exit.OK, Exit.NEGATIVE} <= codes


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("nosuch",), Exit.USAGE, "no file, folder or shipped domain 'nosuch'"),
        (("courier", "nosuch"), Exit.USAGE, "no problem 'nosuch'"),
        (("courier", "--model", "dagg"), Exit.USAGE, "did you mean 'dag'?"),
        (("courier", "--real"), Exit.USAGE, "no action of 'courier' has a handler"),
        (("courier", "--real", "--faults", 0.5), Exit.USAGE, "--faults belongs to the simulated world"),
        (("courier", "--resume", "x"), Exit.USAGE, "--journal FILE"),
        (("courier", "--resume", "x", "--journal", "/nowhere/j.db"), Exit.USAGE, "no such journal"),
        (("courier", "--answer", "doubt:s1=yes"), Exit.USAGE, "--answer belongs to --resume RUN"),
        (("courier", "--answer", "yes"), Exit.USAGE, "QUESTION=ANSWER"),
        (("courier", "--time-limit", "soon"), Exit.USAGE, "'soon' is not a number of seconds"),
        (("courier", "--faults", 2), Exit.USAGE, "'--faults': Input should be less than or equal to 1"),
    ],
)
def test_mistakes_are_messages(run: Run, words: tuple[object, ...], code: Exit, message: str) -> None:
    found, out, err = run(*words)
    assert (found, out) == (code, "")
    assert message in err
    assert "Traceback" not in err


def test_without_a_plan_nothing_is_carried_out(run: Run, tmp_path: Path) -> None:
    (tmp_path / "d.yaml").write_text(
        "domain: d\nactions:\n  a: {requires: [p], provides: [q]}\n---\nproblem: x\ndomain: d\ninitial: []\ngoal: [q]\n"
    )
    code, out, err = run(tmp_path / "d.yaml")
    assert (code, out) == (Exit.NEGATIVE, "")
    assert "UNSOLVABLE" in err


def test_bound_handlers_are_called(run: Run, lamps: Callable[..., Path]) -> None:
    code, out, err = run(lamps(), "--real", "--json")
    assert code == Exit.OK, err
    assert "simulated" not in json.loads(out)
    assert {step["status"] for step in json.loads(out)["steps"]} == {"SUCCEEDED"}


def test_a_handler_that_does_nothing_is_no_success(run: Run, lamps: Callable[..., Path]) -> None:
    code, out, err = run(lamps("pass"), "--real")
    assert code == Exit.NEGATIVE
    assert "failed" in out
    assert "FAILED" in err


def test_approval_is_asked_for_and_given_later(run: Run, lamps: Callable[..., Path], tmp_path: Path) -> None:
    path, journal = lamps(tag="needs_approval"), tmp_path / "runs.db"
    code, _, err = run(path, "--real", "--yes")
    assert code == Exit.OK, err
    words: tuple[object, ...] = (path, "--real", "--journal", journal, "--json")
    code, out, err = run(*words)
    for _ in range(2):  # one for each lamp
        found = json.loads(out)
        assert (code, found["status"]) == (Exit.NO_VERDICT, "WAITING")
        [question] = found["questions"]
        assert f"--resume {found['run']} --answer '{question}=…'" in err
        code, out, err = run(*words, "--resume", found["run"], "--answer", f"{question}=yes")
    assert code == Exit.OK, err
    code, _, err = run(path, "--journal", journal, "--resume", found["run"])
    assert code == Exit.USAGE
    assert "has no simulated world" in err


def test_a_run_that_is_over_is_not_run_again(run: Run, tmp_path: Path) -> None:
    journal = tmp_path / "runs.db"
    _, out, _ = run("courier", "--journal", journal, "--json")
    first = json.loads(out)
    code, out, _ = run("courier", "--journal", journal, "--resume", first["run"], "--json")
    assert (code, json.loads(out)["status"]) == (Exit.OK, "SUCCEEDED")
    assert json.loads(out)["steps"] == first["steps"]
    assert run("courier", "--journal", journal, "--resume", "another")[0] == Exit.USAGE


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_what_was_interrupted_is_taken_up_again(run: Run, lamps: Callable[..., Path], tmp_path: Path, how: int) -> None:
    """The first lamp is lit in a file; the process ends while the second is being lit, and is not asked again."""
    path = lamps(f"{LIGHT}\n    {ASLEEP}")
    path.write_text(path.read_text().replace("def light", "async def light"))
    log = path.with_suffix(".lit")
    log.touch()
    journal = tmp_path / "runs.db"
    words = [sys.executable, "-m", "planner.cli", "run", str(path), "--real", "--journal", str(journal)]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 30
    while log.read_text().count(" ") < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(process.pid, how)
    _, err = process.communicate(timeout=30)
    assert process.returncode == (Exit.INTERRUPTED if how == signal.SIGINT else -signal.SIGKILL), err
    if how == signal.SIGINT:
        assert "--resume" in err
    from executor import Journal

    with Journal(journal) as kept:
        [record] = kept.runs()
    code, out, err = run(path, "--real", "--journal", journal, "--resume", record.run)
    assert code == Exit.OK, err
    assert out.count("succeeded") == 2
    assert log.read_text().count(" ") == 2
