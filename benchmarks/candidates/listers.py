"""Planners that list the k cheapest plans: the command of each, and where it leaves the costs."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.planners.base import package_folder
from benchmarks.process import Run


@dataclass(frozen=True, slots=True)
class Lister:
    """A planner; `package` is the distribution that it comes with, if it is not ours.

    `command` takes domain file, problem file and k; `costs` reads those of the plans from the process and its folder.
    """

    label: str
    command: Callable[[Path, Path, int], Sequence[str]]
    costs: Callable[[Run, Path], list[float]]
    package: str = ""


def _ours(*options: str) -> Callable[[Path, Path, int], Sequence[str]]:
    def command(domain: Path, problem: Path, k: int) -> Sequence[str]:
        asked = ["--candidates", str(k), "--time-limit", "none", "--json", "--quiet", *options]
        return [sys.executable, "-m", "planner.cli", "solve", str(domain), str(problem), *asked]

    return command


def _our_costs(run: Run, _folder: Path) -> list[float]:
    if run.returncode:
        return []
    found = json.loads(run.stdout)
    return [plan["cost"] for plan in found["candidates"]] if found["proved"] else []


def _symk(domain: Path, problem: Path, k: int) -> Sequence[str]:
    script = package_folder("up_symk") / "symk" / "fast-downward.py"
    search = f"symk_bd(plan_selection=top_k(num_plans={k},dump_plans=false))"
    whole = ["--translate-options", "--keep-unimportant-variables", "--search-options", "--search", search]
    return [sys.executable, str(script), "--plan-file", "plan", str(domain), str(problem), *whole]


def _symk_costs(run: Run, folder: Path) -> list[float]:
    """Return the costs in the plan files; without an end in good order there are none."""
    texts = [path.read_text(encoding="utf-8") for path in folder.glob("plan*")] if not run.returncode else []
    return sorted(float(found[1]) for text in texts if (found := re.search(r"cost = ([\d.]+)", text)))


def _kstar(domain: Path, problem: Path, k: int) -> Sequence[str]:
    build = package_folder("kstar_planner") / "builds" / "release" / "bin"
    symmetries = (
        "sym=structural_symmetries(time_bound=0,search_symmetries=oss,stabilize_initial_state=false,"
        "keep_operator_symmetries=true)"
    )
    search = (
        f"kstar(lmcut(transform=undo_to_origin()), k={k}, find_unordered_plans=false, dump_plan_files=false, "
        "json_file_to_dump=plans.json, symmetries=sym)"
    )
    driver = [sys.executable, "-B", "-m", "kstar_planner.driver.main", "--build", str(build)]
    return [*driver, str(domain), str(problem), "--symmetries", symmetries, "--search", search]


def _kstar_costs(run: Run, folder: Path) -> list[float]:
    file = folder / "plans.json"
    if run.returncode or not file.exists():
        return []
    return sorted(float(plan["cost"]) for plan in json.loads(file.read_text(encoding="utf-8"))["plans"])


LISTERS = (
    Lister("ours", _ours("--orders", "--wasteful"), _our_costs),
    Lister("symk", _symk, _symk_costs, "up_symk"),
    Lister("kstar", _kstar, _kstar_costs, "kstar_planner"),
    Lister("ours-distinct", _ours(), _our_costs),
)
"""The last one leaves out what differs only in order, and what is wasteful: its costs are no others'."""
