"""`forethought bench candidates`: the k cheapest plans by our planner, SymK and K*, each in a process of its own."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.commands.options import (
    CpuSeconds,
    DomainFilter,
    MemoryGib,
    NameFilter,
    SuiteFolder,
    check_choices,
    hint_at_installation,
    parse_positive,
    select_tasks,
)
from benchmarks.planners.environments import find_installed, find_interpreter, find_package_folder
from benchmarks.process import Limits, Run, run_limited
from benchmarks.report import format_table
from benchmarks.suite import BenchmarkTask
from planner.cli.output import tell


def candidates(
    suite: SuiteFolder,
    *,
    domain: DomainFilter = None,
    name: NameFilter = None,
    k: Annotated[str, typer.Option("-k", help="Numbers of plans, separated by commas.")] = "10,100",
    lister: Annotated[
        list[str] | None, typer.Option("--planner", help="Run this planner only; may be repeated.")
    ] = None,
    time_limit: CpuSeconds = 60.0,
    memory_limit: MemoryGib = 4.0,
) -> None:
    """List the k cheapest plans of tasks with each planner, and compare their costs and CPU time."""
    known = [each.label for each in LISTERS]
    check_choices("--planner", lister or (), known)
    numbers = [int(parse_positive(word)) for word in k.split(",")]
    chosen = [each for each in LISTERS if not lister or each.label in lister]
    for each in chosen:
        if each.package and not find_installed((each.package,)):
            tell(f"{each.label} is left out: {each.package} is not installed; {hint_at_installation(each.package)}")
    chosen = [each for each in chosen if not each.package or find_installed((each.package,))]
    tasks = select_tasks(suite, track=None, domains=domain, names=name)
    found = []
    for listed in run_listers(tasks, chosen, numbers, Limits(time_limit, memory_limit)):
        found.append(listed)
        tell(f"{listed.task} k={listed.k} {listed.lister}: {len(listed.costs)} plans, {listed.seconds:.2f} s")
    typer.echo(listing_table(found), nl=False)


@dataclass(frozen=True, slots=True)
class Lister:
    """A planner; `package` is the distribution that it comes with, if it is not ours.

    `command` takes domain file, problem file and k; `costs` reads those of the plans from the process and its folder.
    """

    label: str
    command: Callable[[Path, Path, int], Sequence[str]]
    costs: Callable[[Run, Path], list[float]]
    package: str = ""


def _make_our_command(*options: str) -> Callable[[Path, Path, int], Sequence[str]]:
    def command(domain: Path, problem: Path, k: int) -> Sequence[str]:
        asked = ["--candidates", str(k), "--time-limit", "none", "--json", "--quiet", *options]
        return [sys.executable, "-m", "planner.cli", "solve", str(domain), str(problem), *asked]

    return command


def _read_our_costs(run: Run, _folder: Path) -> list[float]:
    if run.returncode:
        return []
    found = json.loads(run.stdout)
    return [plan["cost"] for plan in found["candidates"]] if found["proved"] else []


def _symk_command(domain: Path, problem: Path, k: int) -> Sequence[str]:
    script = find_package_folder("up_symk") / "symk" / "fast-downward.py"
    search = f"symk_bd(plan_selection=top_k(num_plans={k},dump_plans=false))"
    whole = ["--translate-options", "--keep-unimportant-variables", "--search-options", "--search", search]
    return [find_interpreter("up-symk"), str(script), "--plan-file", "plan", str(domain), str(problem), *whole]


def _read_symk_costs(run: Run, folder: Path) -> list[float]:
    """Return the costs in the plan files; without an end in good order there are none."""
    texts = [path.read_text(encoding="utf-8") for path in folder.glob("plan*")] if not run.returncode else []
    return sorted(float(found[1]) for text in texts if (found := re.search(r"cost = ([\d.]+)", text)))


def _kstar_command(domain: Path, problem: Path, k: int) -> Sequence[str]:
    build = find_package_folder("kstar_planner") / "builds" / "release" / "bin"
    symmetries = (
        "sym=structural_symmetries(time_bound=0,search_symmetries=oss,stabilize_initial_state=false,"
        "keep_operator_symmetries=true)"
    )
    search = (
        f"kstar(lmcut(transform=undo_to_origin()), k={k}, find_unordered_plans=false, dump_plan_files=false, "
        "json_file_to_dump=plans.json, symmetries=sym)"
    )
    driver = [find_interpreter("kstar-planner"), "-B", "-m", "kstar_planner.driver.main", "--build", str(build)]
    return [*driver, str(domain), str(problem), "--symmetries", symmetries, "--search", search]


def _read_kstar_costs(run: Run, folder: Path) -> list[float]:
    file = folder / "plans.json"
    if run.returncode or not file.exists():
        return []
    return sorted(float(plan["cost"]) for plan in json.loads(file.read_text(encoding="utf-8"))["plans"])


LISTERS = (
    Lister("ours", _make_our_command("--orders", "--wasteful"), _read_our_costs),
    Lister("symk", _symk_command, _read_symk_costs, "up-symk"),
    Lister("kstar", _kstar_command, _read_kstar_costs, "kstar-planner"),
    Lister("ours-distinct", _make_our_command(), _read_our_costs),
)
"""The last one leaves out what differs only in order, and what is wasteful: its costs are no others'."""


SAME = ("ours", "symk", "kstar")
"""Those that are asked for the same plans."""


@dataclass(frozen=True, slots=True)
class Listed:
    """What one planner did: the costs of its k plans, empty where it reached a limit, and seconds of CPU."""

    task: str
    k: int
    lister: str
    costs: tuple[float, ...]
    seconds: float


def run_listers(
    tasks: Sequence[BenchmarkTask], listers: Sequence[Lister], numbers: Sequence[int], limits: Limits
) -> Iterator[Listed]:
    """Yield what each of `listers` does on each task for each k; they alternate on each task."""
    for task in tasks:
        for k in numbers:
            for lister in listers:
                with tempfile.TemporaryDirectory() as room:
                    folder = Path(room)
                    run = run_limited(lister.command(task.domain_path, task.problem_path, k), folder, limits)
                    yield Listed(task.name, k, lister.label, tuple(lister.costs(run, folder)), run.cpu_seconds)


def listing_table(found: Sequence[Listed]) -> str:
    """Return seconds by task and planner, our costs from and to, and whether others that gave k plans gave the same."""
    labels = list(dict.fromkeys(each.lister for each in found))
    rows: list[list[str]] = []
    for task, k in dict.fromkeys((each.task, each.k) for each in found):
        of = {each.lister: each for each in found if (each.task, each.k) == (task, k)}
        times = [f"{of[label].seconds:.2f}" if label in of and of[label].costs else "—" for label in labels]
        costs = [of[label].costs for label in SAME if label in of]
        rows.append([task, str(k), _format_span(next(filter(None, costs), ())), _compare_costs(costs), *times])
    return format_table(("task", "k", "costs", "costs are", *(f"{label}, CPU s" for label in labels)), rows)


def _compare_costs(costs: Sequence[tuple[float, ...]]) -> str:
    """Return how the costs of the first planner, whose plans were validated, are to those of the others."""
    ours, others = costs[0], [each for each in costs[1:] if each]
    if not ours or not others:
        return "—"
    if all(each == ours for each in others):
        return "the same"
    fewer = all(mine <= theirs for each in others for mine, theirs in zip(ours, each, strict=False))
    return "lower: others miss plans" if fewer else "different"


def _format_span(costs: Sequence[float]) -> str:
    return "" if not costs else f"{costs[0]:g}" if costs[0] == costs[-1] else f"{costs[0]:g} to {costs[-1]:g}"
