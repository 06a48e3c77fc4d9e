"""Our proved optima are Fast Downward's: on competition tasks by recorded figures, on random problems by running it."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks.random_problems import random_problem
from planner.language.pddl import read
from planner.language.pddl.export import export
from planner.plan import Status
from planner.solve import solve

DATA = Path(__file__).parents[3] / "shared" / "data" / "ipc-classical"
DOMAINS = {
    "blocks", "driverlog", "elevators-opt08-strips", "gripper", "logistics00", "maintenance-opt14-adl", "miconic",
    "movie", "openstacks-opt08-strips", "parcprinter-08-strips", "pathways", "psr-small", "rovers", "satellite",
    "sokoban-opt08-strips", "storage", "tpp", "transport-opt08-strips", "woodworking-opt08-strips", "zenotravel",
}  # fmt: skip
SECONDS = 0.02
"""Tasks that took Fast Downward's A* with LM-cut no longer are taken."""


def rows(name):
    with (DATA / name).open(encoding="utf-8") as lines:
        yield from csv.DictReader(lines, delimiter="\t")


def easy_tasks():
    """Return (domain file, problem file, optimal cost) of each."""
    if not DATA.exists():
        return []
    domain_files = {(row["domain"], row["problem_file"]): row["domain_file"] for row in rows("tasks.tsv")}
    proved = [row for row in rows("baseline.tsv") if row["planner"] == "fd-astar-lmcut" and row["outcome"] == "solved"]
    easy = [row for row in proved if row["domain"] in DOMAINS and float(row["search_s"]) <= SECONDS]
    tasks = []
    for row in easy:
        key, folder = (row["domain"], row["problem_file"]), DATA / row["domain"]
        tasks.append(pytest.param(folder / domain_files[key], folder / key[1], int(row["cost"]), id="-".join(key)))
    return tasks


@pytest.mark.skipif(not DATA.exists(), reason="the competition's tasks do not lie beside the checkout")
@pytest.mark.parametrize(("domain", "problem", "cost"), easy_tasks())
def test_competition_tasks(domain, problem, cost):
    result = solve(read(domain, problem), mode="optimal", time_limit=50)
    assert result.status is Status.OPTIMAL
    assert result.cost == cost


@pytest.mark.skipif(find_spec("up_fast_downward") is None, reason="Fast Downward is not installed")
@pytest.mark.parametrize("seed", range(8))
def test_random_problems(seed, tmp_path):
    problem = random_problem(seed)
    written = export(problem, "adl")
    (tmp_path / "domain.pddl").write_text(written.domain, encoding="utf-8")
    (tmp_path / "problem.pddl").write_text(written.problem, encoding="utf-8")
    result = solve(problem, mode="optimal", time_limit=None)
    cost = optimum(tmp_path)
    assert (result.status is Status.UNSOLVABLE) == (cost is None)
    if cost is not None:
        assert result.cost * written.resolution == cost


def optimum(folder: Path) -> int | None:
    """What Fast Downward's blind A* proves; it takes conditional effects and axioms."""
    spec = find_spec("up_fast_downward")
    driver = Path(spec.submodule_search_locations[0]) / "downward" / "fast-downward.py"
    command = [sys.executable, str(driver), "domain.pddl", "problem.pddl", "--search", "astar(blind())"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=50, check=False)
    if done.returncode in {10, 11, 12}:
        return None
    assert done.returncode == 0, done.stdout + done.stderr
    return int(re.search(r"Plan cost: (\d+)", done.stdout)[1])
