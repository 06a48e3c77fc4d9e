"""Fast Downward on many small tasks at once: one process translates them all, each in a fork of its own.

`python downward.py FOLDER…` solves domain.pddl and problem.pddl of each folder with A* and the blind heuristic, which
takes axioms and conditional effects. What it leaves there: `plan`, if there is one, and its exit code in `code`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from importlib.util import find_spec
from pathlib import Path

import pytest

NO_PLAN = {10, 11, 12}
"""Exit codes that say there is no plan; 12 is what a complete search says of a task with axioms, too."""


def binaries():
    """Return the folder with the search and the translator; skip the test where there is none."""
    spec = find_spec("up_fast_downward")
    folder = Path(spec.origin).parent / "downward/builds/release/bin" if spec else None
    if folder is None or not (folder / "downward").exists():
        pytest.skip("Fast Downward is not installed")
    return folder


def optimal_plans(folder, tasks):
    """Return, for each pair of domain and problem text, the text of an optimal plan, or None where there is no plan."""
    places = [folder / str(number) for number in range(len(tasks))]
    for place, (domain, problem) in zip(places, tasks, strict=True):
        place.mkdir()
        (place / "domain.pddl").write_text(domain, encoding="utf-8")
        (place / "problem.pddl").write_text(problem, encoding="utf-8")
    command = [sys.executable, __file__, str(binaries()), *map(str, places)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [found_in(place) for place in places]


def found_in(place):
    code = int((place / "code").read_text())
    assert code == 0 or code in NO_PLAN, (place / "log").read_text()
    return (place / "plan").read_text() if code == 0 else None


def translate(place):
    """Translate the task in `place`, in a child process; return its exit code."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.chdir(place)
            log = os.open("log", os.O_CREAT | os.O_WRONLY)
            os.dup2(log, 1)
            os.dup2(log, 2)
            from fast_downward.translate.main import main
            from fast_downward.translate.options import set_options

            set_options(["domain.pddl", "problem.pddl"])
            main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        except Exception:  # noqa: BLE001 - whatever it is, it belongs in the log
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            sys.stdout.flush()
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def search(place, binary):
    command = [str(binary), "--search", "astar(blind())", "--internal-plan-file", "plan"]
    with (place / "output.sas").open() as task, (place / "log").open("a") as log:
        return subprocess.run(command, cwd=place, stdin=task, stdout=log, stderr=log, check=False).returncode


if __name__ == "__main__":
    binary_folder = Path(sys.argv[1])
    sys.path.insert(0, str(binary_folder))
    import fast_downward.translate.main  # noqa: F401 - loaded once, before the forks

    for task_folder in map(Path, sys.argv[2:]):
        status = translate(task_folder) or search(task_folder, binary_folder / "downward")
        (task_folder / "code").write_text(str(status))
