"""Processor time of `forethought check`: on libraries of tools, shipped domains, and large tasks of competitions.

`python -m benchmarks.check_speed --out FOLDER [--data FOLDER] [--files FILE…]` prints a row for each case, and writes
what `check --json` says of each to FOLDER. With `--checkout`, the code of another checkout is measured instead;
`--beside FOLDER` compares with what that wrote: the ratio of the times, and whether the findings are the same.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks.process import Limits, run_limited
from benchmarks.suite import BenchmarkTask, load_suite
from benchmarks.tools.tool_library import declare_problem
from benchmarks.tools.tool_profiles import generate
from planner.language.documents.document_writer import write_yaml
from planner.language.loading.python_files import list_shipped_names

PROFILES: Final = ("groups", "dense", "multi")
SIZES: Final = (100, 1_000, 10_000)
SUITES: Final = ("ipc-classical", "ipc2020-htn", "ipc2023-numeric", "ipc-temporal")
ROOT: Final = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Case:
    """What is checked: the words of the command after `check`."""

    name: str
    words: tuple[str, ...]


def write_tool_cases(folder: Path, sizes: Iterable[int]) -> Iterator[Case]:
    """Write libraries of tools as YAML, each with a problem."""
    for size in sizes:
        for profile in PROFILES:
            library = generate(profile, size)
            path = folder / f"{library.name}.yaml"
            path.write_text(write_yaml(declare_problem(library)), encoding="utf-8")
            yield Case(f"tools-{library.name}", (str(path),))


def find_large_tasks(data: Path, most: int) -> Iterator[Case]:
    """Yield the task with the largest files of each of `most` domains, spread over the suite, of each suite."""
    for suite in [data / each for each in SUITES if (data / each).is_dir()]:
        largest: dict[str, BenchmarkTask] = {}
        for task in load_suite(suite):
            known = largest.get(task.domain)
            if known is None or _count_bytes(task) > _count_bytes(known):
                largest[task.domain] = task
        chosen = [largest[name] for name in sorted(largest)]
        for task in chosen[:: max(1, math.ceil(len(chosen) / most))]:
            name = f"{suite.name}-{task.name}".replace("/", "-")
            yield Case(name, (str(task.domain_path), str(task.problem_path)))


def pair_files(files: Iterable[str]) -> Iterator[Case]:
    """Yield a case of each file or folder, and of `x.domain.pddl` with `x.problem.pddl`."""
    for each in files:
        problem = Path(each.replace(".domain.", ".problem."))
        if ".problem." not in each:
            words = (each, str(problem)) if str(problem) != each and problem.is_file() else (each,)
            yield Case(each.strip("/").replace("/", "-"), words)


def _count_bytes(task: BenchmarkTask) -> int:
    return sum(path.stat().st_size for path in (task.domain_path, task.problem_path))


def measure(case: Case, checkout: Path, seconds: float) -> dict[str, Any]:
    """Check a case in a process of its own; return processor time, exit code, and what it says."""
    command = [sys.executable, "-m", "planner.cli", "check", *case.words, "--json", "--quiet"]
    command += ["--time-limit", str(seconds)]
    with TemporaryDirectory() as folder:
        limits = Limits(seconds * 2 + 10, 8.0)
        run = run_limited(command, Path(folder), limits, environment={"PYTHONPATH": str(checkout)})
    said = json.loads(run.stdout) if run.stdout.startswith("{") else {"error": run.last_words}
    return {"case": case.name, "cpu": run.cpu_seconds, "code": run.returncode, "said": said}


def report(found: dict[str, Any], before: dict[str, Any] | None) -> str:
    """Return the row of a case."""
    said = found["said"]
    counts = ", ".join(f"{number} {level}" for level, number in said.get("counts", {}).items() if number)
    cells = [found["case"], f"{found['cpu']:.2f}", counts or said.get("error", "nothing")[:60]]
    if before is not None:
        same = "same" if before["said"] == said and before["code"] == found["code"] else "other findings"
        cells[1:1] = [f"{before['cpu']:.2f}"]
        cells += [f"{before['cpu'] / found['cpu']:.2f}", same]
    return "| " + " | ".join(cells) + " |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="the folder for what is found")
    parser.add_argument("--beside", type=Path, help="such a folder, to compare with")
    parser.add_argument("--checkout", type=Path, default=ROOT, help="the code that is measured")
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES, help="of the libraries of tools")
    parser.add_argument("--data", type=Path, help="a folder of suites, of which large tasks are checked")
    parser.add_argument("--domains", type=int, default=12, help="so many domains of each suite")
    parser.add_argument("--files", nargs="*", default=[], help="files and folders that are checked alone")
    parser.add_argument("--shipped", action=argparse.BooleanOptionalAction, default=True, help="check shipped domains")
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for each check")
    given = parser.parse_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    library_folder = given.out.parent / "libraries"  # the same for what is compared: findings name the files
    library_folder.mkdir(exist_ok=True)
    cases = [*write_tool_cases(library_folder, given.sizes)]
    cases += [Case(f"shipped-{name}", (name,)) for name in list_shipped_names()] if given.shipped else []
    cases += pair_files(given.files)
    cases += find_large_tasks(given.data, given.domains) if given.data else []
    for case in cases:
        found = measure(case, given.checkout, given.time_limit)
        (given.out / f"{case.name}.json").write_text(json.dumps(found, indent=1), encoding="utf-8")
        path = given.beside / f"{case.name}.json" if given.beside else None
        before = json.loads(path.read_text(encoding="utf-8")) if path and path.exists() else None
        sys.stdout.write(report(found, before) + "\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
