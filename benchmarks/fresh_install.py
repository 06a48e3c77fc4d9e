"""What a fresh install costs: the wheel in a new environment beside this checkout with its machine code made.

`python -m benchmarks.fresh_install WHEEL FOLDER --cache CACHE` installs the wheel into a new environment with an empty
cache, draws tasks from the suite in FOLDER (`tasks.tsv`, as `forethought bench` reads it) whose first plan takes this
checkout some time, and lets both find the first plan of each in turn, on one processor. It prints processor times and
ratios, the time for a tiny task, and the size of the environment.
"""

from __future__ import annotations

import argparse
import compileall
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.suite import BenchmarkTask, load_suite

ROOT: Final = Path(__file__).parents[1]
MEDIUM: Final = (0.4, 10.0)
"""Seconds of processor time from the start of the process to the first plan of a medium task."""
TINY: Final = {
    "domain": "(define (domain light) (:predicates (lit)) (:action press :parameters () :effect (lit)))",
    "problem": "(define (problem dark) (:domain light) (:init) (:goal (lit)))",
}


class Run(NamedTuple):
    """One run of a command: seconds of processor time and of wall-clock time, and whether it found a plan."""

    cpu: float
    wall: float
    planned: bool


class Install(NamedTuple):
    """An environment with the command, and its cache folder."""

    command: Path
    cache: Path

    def solve(self, arguments: Sequence[str], seconds: float) -> Run:
        """Run `forethought solve` on one processor."""
        environment = {**os.environ, "FORETHOUGHT_CACHE": str(self.cache), "PYTHONHASHSEED": "0"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        command = [str(self.command), "solve", *arguments, "--mode", "first", "--quiet", "--time-limit", str(seconds)]
        before = os.times()
        done = subprocess.run(command, env=environment, capture_output=True, check=False, cwd="/")
        after = os.times()
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        return Run(cpu, after.elapsed - before.elapsed, done.returncode == 0)


def main() -> None:
    """Measure, and print tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path, help="a wheel with machine code for this computer")
    parser.add_argument("folder", type=Path, help="the folder of a suite")
    parser.add_argument("--tasks", type=int, default=20, help="so many tasks")
    parser.add_argument("--runs", type=int, default=3, help="runs of each task in each environment")
    parser.add_argument("--seed", type=int, default=0, help="of the draw of tasks")
    parser.add_argument("--cache", type=Path, required=True, help="the checkout's cache, filled by `forethought warm`")
    given = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as room:
        fresh = install(given.wheel, Path(room))
        for package in ("planner", "htn", "executor", "domains", "benchmarks"):
            compileall.compile_dir(ROOT / package, quiet=1)
        checkout = Install(Path(sys.prefix) / "bin" / "forethought", given.cache)
        size = sum(path.lstat().st_size for path in Path(room, "environment").rglob("*"))
        tell(f"size of the environment: {size / 1e6:.0f} MB")
        tiny = [Path(room) / f"{name}.pddl" for name in TINY]
        for path, text in zip(tiny, TINY.values(), strict=True):
            path.write_text(text, encoding="utf-8")
        for name, each in (("wheel", fresh), ("checkout", checkout)):
            runs = [each.solve([*map(str, tiny)], 10.0) for _ in range(11)][1:]
            cpu, wall = (statistics.median(column) for column in list(zip(*runs, strict=True))[:2])
            tell(f"tiny task, {name}: {cpu:.3f} s of CPU, {wall:.3f} s (medians of 10)")
        compare(fresh, checkout, draw_tasks(given.folder, given.seed), given.tasks, given.runs)


def tell(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def install(wheel: Path, room: Path) -> Install:
    """Install a wheel into a new environment."""
    place = room / "environment"
    venv.create(place, with_pip=True)
    pip = [str(place / "bin" / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    subprocess.run([*pip, str(wheel.resolve())], check=True)
    return Install(place / "bin" / "forethought", room / "cache")


def draw_tasks(folder: Path, seed: int) -> list[BenchmarkTask]:
    """Return the tasks of a suite in random order."""
    tasks = load_suite(folder)
    random.Random(seed).shuffle(tasks)
    return tasks


def compare(
    fresh: Install, checkout: Install, tasks: list[BenchmarkTask], many: int, runs: int, *, name: str = "wheel"
) -> None:
    """Print a row for each of so `many` medium tasks, and the ratio over all; `name` is that of the first column."""
    ratios: list[float] = []
    sums = [0.0, 0.0]
    tell(f"| task | {name}, s of CPU | checkout | ratio |\n|---|---|---|---|")
    for task in tasks:
        files = [str(task.domain_path), str(task.problem_path)]
        first = checkout.solve(files, MEDIUM[1])
        if not (first.planned and MEDIUM[0] <= first.cpu <= MEDIUM[1]):
            continue
        pairs = [(fresh.solve(files, 60.0), checkout.solve(files, 60.0)) for _ in range(runs)]
        if not all(run.planned for pair in pairs for run in pair):
            tell(f"| {task.name} | no plan | | |")
            continue
        one, other = (statistics.median(run.cpu for run in side) for side in zip(*pairs, strict=True))
        ratios.append(one / other)
        sums[0], sums[1] = sums[0] + one, sums[1] + other
        tell(f"| {task.name} | {one:.2f} | {other:.2f} | {one / other:.2f} |")
        if len(ratios) == many:
            break
    mean = math.exp(statistics.mean(map(math.log, ratios)))
    tell(f"| all {len(ratios)} | {sums[0]:.1f} | {sums[1]:.1f} | {sums[0] / sums[1]:.2f} |")
    tell(f"geometric mean of the ratios {mean:.2f}, greatest {max(ratios):.2f}")


if __name__ == "__main__":
    main()
