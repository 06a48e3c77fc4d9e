"""Environments of peers, made from a local folder of stand-ins: once, again, after a kill, and where that fails."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import zipfile
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from benchmarks.cli import app
from benchmarks.peer_installation import PEERS, explain_pip, find_installation, read_licence
from benchmarks.planners import find_missing, planner_of
from benchmarks.planners.environments import (
    VARIABLE,
    find_interpreter,
    find_own_version,
    find_package_folder,
    find_site_packages,
    interpreter_of,
    unfinished_mark_of,
)
from planner.errors import DocumentError

pytestmark = pytest.mark.timeout(300)  # ensurepip takes seconds, and many on a machine that is busy
ROOT = Path(__file__).parents[2]
RETRYING = (
    "WARNING: Retrying after connection broken by 'NewConnectionError('<x>: Failed to establish a new "
    "connection: [Errno 111] Connection refused')': /simple/x/"
)
OTHER_PYTHON = "require a different python version: 1.0 Requires-Python >=3.99"
NO_MATCH = "ERROR: No matching distribution found for x"
BINARY = "#!/bin/sh\necho help\n"


def make_wheel(folder: Path, package: str, files: dict[str, str], *, needs: str = "", tag: str = "any") -> None:
    """Write a wheel that installs `files`, all of them executable."""
    name = package.replace("-", "_")
    info = f"{name}-9.1.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {package}\nVersion: 9.1\nLicense: MIT\n"
    content = {
        **files,
        f"{info}/METADATA": metadata + (f"Requires-Dist: {needs}\n" if needs else ""),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-{tag}\n",
        f"{info}/RECORD": "",
    }
    with zipfile.ZipFile(folder / f"{name}-9.1-py3-none-{tag}.whl", "w") as wheel:
        for path, text in content.items():
            entry = zipfile.ZipInfo(path, (2026, 1, 1, 0, 0, 0))
            entry.external_attr = 0o100755 << 16
            wheel.writestr(entry, text)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("index")
    make_wheel(folder, "jupyddl", {"jupyddl.py": ""}, needs="companion")
    make_wheel(folder, "companion", {"companion.py": ""})
    make_wheel(folder, "up-aries", {"up_aries.py": "raise OSError('wrong glibc')"})
    make_wheel(folder, "kairos-planner", {"kairos.py": ""}, tag="some_other_machine")
    make_wheel(folder, "up-enhsp", {"up_enhsp/ENHSP/enhsp.jar": "enhsp"})
    binary = "up_symk/symk/builds/release/bin/downward"
    make_wheel(folder, "up-symk", {binary: BINARY, "up_symk/symk/fast-downward.py": ""})
    return folder


@pytest.fixture(autouse=True)
def peers(tmp_path: Path, index: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in settings(tmp_path / "peers", index).items():
        monkeypatch.setenv(name, value)
    return tmp_path / "peers"


def settings(peers: Path, index: Path) -> dict[str, str]:
    return {VARIABLE: str(peers), "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(index), "PIP_CONFIG_FILE": os.devnull}


def install(*words: str) -> Result:
    return CliRunner().invoke(app, ["peers", "install", *words])


def test_an_environment_is_made_once_and_used(peers: Path) -> None:
    ran = install("jupyddl", "jupyddl")
    assert ran.exit_code == 0, ran.stderr
    assert ran.stdout == "jupyddl 9.1 (MIT), with companion 9.1 (MIT)\n"
    assert find_missing(planner_of("jupyddl-astar-lmcut")) is None
    made = interpreter_of("jupyddl").lstat().st_ino
    assert install("jupyddl").stdout == "jupyddl 9.1 (MIT) was there already, with companion 9.1 (MIT)\n"
    assert interpreter_of("jupyddl").lstat().st_ino == made
    listed = CliRunner().invoke(app, ["peers"])
    assert "| jupyddl | 9.1 | MIT | in its own environment | jupyddl-astar-lmcut, jupyddl-gbfs-hff |" in listed.stdout
    assert str(peers) in listed.stderr
    assert "| gtpyhop |  |  | not installed | gtpyhop |" in listed.stdout


@pytest.mark.slow
def test_a_peer_with_a_binary_comes_before_the_one_beside_us() -> None:
    assert install("up-symk").exit_code == 0
    assert find_own_version("up-symk") == "9.1"
    assert find_package_folder("up_symk") == Path(find_site_packages("up-symk")[0], "up_symk")
    assert find_interpreter("up-symk") == str(interpreter_of("up-symk"))
    assert find_installation("up-symk").users == "symk-bd, `bench candidates`"


@pytest.mark.slow
def test_a_peer_in_java_must_load(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text('#!/bin/sh\n[ "$1 $2" = "--dry-run -jar" ] && grep -q enhsp "$3"\n')
    java.chmod(0o755)
    monkeypatch.setenv("PATH", f"{java.parent}{os.pathsep}{os.environ['PATH']}")
    ran = install("up-enhsp")
    assert ran.exit_code == 0, ran.stderr
    assert find_missing(planner_of("enhsp-sat")) is None
    assert "enhsp-sat" in find_installation("up-enhsp").users


def test_failures_are_told_for_each_peer_and_leave_nothing(peers: Path) -> None:
    ran = install("kairos-planner", "up-aries")
    assert ran.exit_code == 10
    assert "kairos-planner: not installed: no file of kairos-planner for Python 3." in ran.stderr
    assert "up-aries: not installed: it is installed, but does not start: OSError: wrong glibc" in ran.stderr
    assert "2 not installed: kairos-planner, up-aries" in ran.stderr
    assert not [path.name for path in peers.iterdir() if not path.name.endswith(".lock")]


def test_a_killed_installation_is_made_anew(peers: Path, index: Path) -> None:
    command = [sys.executable, "-m", "benchmarks", "peers", "install", "jupyddl"]
    environment = {**os.environ, **settings(peers, index)}
    with subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True) as process:
        while not interpreter_of("jupyddl").exists():
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)
    assert unfinished_mark_of("jupyddl").exists()
    assert find_own_version("jupyddl") is None
    assert "not installed, unfinished" in CliRunner().invoke(app, ["peers"]).stdout
    (peers / "jupyddl" / "left").touch()
    assert install("jupyddl").exit_code == 0
    assert find_own_version("jupyddl") == "9.1"
    assert not (peers / "jupyddl" / "left").exists()
    assert not unfinished_mark_of("jupyddl").exists()


def test_what_somebody_else_has_put_there_stays(peers: Path) -> None:
    (peers / "jupyddl").mkdir(parents=True)
    (peers / "jupyddl" / "thesis.tex").touch()
    for options in ([], ["--fresh"]):
        ran = install("jupyddl", *options)
        assert ran.exit_code == 10
        assert "is there, and is no environment of jupyddl; remove it" in ran.stderr
    assert (peers / "jupyddl" / "thesis.tex").exists()
    (peers / "jupyddl" / "pyvenv.cfg").touch()
    assert "; --fresh makes it anew" in install("jupyddl").stderr


def test_names_and_folders_that_do_not_do(peers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = install("jupydl")
    assert ran.exit_code == 2
    assert "there is no peer 'jupydl'" in ran.stderr
    assert not peers.exists()
    (tmp_path / "file").touch()
    monkeypatch.setenv(VARIABLE, str(tmp_path / "file" / "peers"))
    with pytest.raises(DocumentError, match="it cannot be written"):
        CliRunner().invoke(app, ["peers", "install", "jupyddl"], catch_exceptions=False)


def test_a_planner_that_is_left_out_says_what_installs_it(tmp_path: Path) -> None:
    (tmp_path / "domain.pddl").write_text("(define (domain d))")
    (tmp_path / "p.pddl").write_text("(define (problem p) (:domain d))")
    out = ["--out", str(tmp_path / "r.jsonl")]
    ran = CliRunner().invoke(app, ["run", str(tmp_path), "--planner", "jupyddl-gbfs-hff", *out])
    assert "jupyddl is not installed; `forethought bench peers install jupyddl` installs it" in ran.stderr


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        (
            f"{RETRYING}\n{NO_MATCH}",
            "the package index cannot be reached: Failed to establish a new connection: [Errno 111] Connection refused",
        ),
        (f"ERROR: Ignored the following versions that {OTHER_PYTHON}\n{NO_MATCH}", "no release of x is for Python"),
        ("  error: subprocess-exited-with-error\nERROR: Failed building wheel for x\n", "there is no wheel for Python"),
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n", "No space left"),
        ("odd\nexit code 3", "pip could not install x: odd"),
    ],
)
def test_reasons(told: str, reason: str) -> None:
    assert reason in explain_pip(told, "x")


@pytest.mark.parametrize(
    ("metadata", "licence"),
    [
        ("License-Expression: MIT\nLicense: other", "MIT"),
        ("License: UNKNOWN\nClassifier: License :: OSI Approved :: BSD License", "BSD License"),
        ("License: The text\n        of it\nClassifier: License :: Public Domain", "Public Domain"),
        ("Summary: none", "licence not stated"),
    ],
)
def test_licences(metadata: str, licence: str, tmp_path: Path) -> None:
    (tmp_path / "METADATA").write_text(f"Metadata-Version: 2.1\nName: x\nVersion: 1\n{metadata}\n")
    assert read_licence(PathDistribution(tmp_path)) == licence


def test_every_peer_is_run_by_something() -> None:
    assert all(find_installation(package).users for package in PEERS)
