"""Suites: folders of planning tasks, and which of their tasks to take.

A suite is a folder with a `tasks.tsv` (columns `domain`, `domain_file`, `problem_file`, `optimal_track`,
`satisficing_track`; the files lie in a folder named by the domain), or any folder that has PDDL files in it or below:
a file with "domain" in its name is a domain, any other `.pddl` file a problem of it.
"""

from __future__ import annotations

import csv
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from planner.errors import DocumentError, Location


@dataclass(frozen=True, slots=True)
class BenchmarkTask:
    """A domain file and a problem file; `name` is unique in the suite, `tracks` are of "opt" and "sat"."""

    suite: str
    domain: str
    name: str
    domain_path: Path
    problem_path: Path
    tracks: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Selection:
    """Which tasks to take: of one track, of domains and with names that match any pattern, a random sample of these."""

    track: str | None = None
    domains: Sequence[str] = ()
    names: Sequence[str] = ()
    sample: int | None = None
    seed: int = 0

    def of(self, tasks: Iterable[BenchmarkTask]) -> list[BenchmarkTask]:
        """Return the selected tasks in the order of the suite."""
        found = [task for task in tasks if self._takes(task)]
        if self.sample is None or self.sample >= len(found):
            return found
        chosen = random.Random(self.seed).sample(range(len(found)), self.sample)  # noqa: S311 - no secret
        return [found[index] for index in sorted(chosen)]

    def _takes(self, task: BenchmarkTask) -> bool:
        return (
            (self.track is None or self.track in task.tracks)
            and matches(task.domain, self.domains)
            and matches(task.name, self.names)
        )


def matches(text: str, patterns: Sequence[str]) -> bool:
    """Return whether `text` is like one of `patterns`, or there is none."""
    return not patterns or any(fnmatchcase(text, pattern) for pattern in patterns)


def load_suite(folder: Path) -> list[BenchmarkTask]:
    """Return the tasks of the suite in `folder`; raises `DocumentError` where there are none."""
    folder = folder.resolve()
    table = folder / "tasks.tsv"
    tasks = _from_table(table) if table.exists() else _from_files(folder)
    if not tasks:
        raise DocumentError(
            "no planning tasks found; a suite is a folder with tasks.tsv or with .pddl files", Location(str(folder))
        )
    return tasks


def _from_table(table: Path) -> list[BenchmarkTask]:
    suite = table.parent.name
    tasks = []
    with table.open(encoding="utf-8", newline="") as file:
        for line, row in enumerate(csv.DictReader(file, delimiter="\t"), start=2):
            try:
                domain, domain_file, problem_file = row["domain"], row["domain_file"], row["problem_file"]
            except KeyError as missing:
                raise DocumentError(f"there is no column {missing}", Location(str(table), line)) from None
            tasks.append(
                BenchmarkTask(
                    suite=suite,
                    domain=domain,
                    name=f"{domain}/{problem_file}",
                    domain_path=table.parent / domain / domain_file,
                    problem_path=table.parent / domain / problem_file,
                    tracks=frozenset(filter(None, (row.get("optimal_track"), row.get("satisficing_track")))),
                )
            )
    return tasks


def _from_files(folder: Path) -> list[BenchmarkTask]:
    tasks = []
    for place in sorted({path.parent for path in folder.rglob("*.pddl")}):
        files = sorted(place.glob("*.pddl"))
        domains = [path for path in files if "domain" in path.stem.lower()]
        relative = place.relative_to(folder).as_posix()
        for problem in (path for path in files if path not in domains):
            domain = domain_of(problem, domains)
            if domain is not None:
                name = problem.relative_to(folder).as_posix()
                tasks.append(
                    BenchmarkTask(folder.name, folder.name if relative == "." else relative, name, domain, problem)
                )
    return tasks


def domain_of(problem: Path, domains: Sequence[Path]) -> Path | None:
    """Return the domain file that belongs to `problem`, or None.

    Without its "domain" the name of a problem's own domain file (`p01-domain`, `domain_p01`, `domain01`) is the
    beginning of the problem's name or its number; the longest such name wins, and a plain `domain.pddl` takes the rest.
    """
    stem = _bare(problem)
    number = re.sub(r"^\D+", "", stem)
    fitting = [path for path in domains if stem.startswith(_bare(path)) or (number and _bare(path) == number)]
    return max(fitting, key=lambda path: len(_bare(path)), default=None)


def _bare(path: Path) -> str:
    return re.sub(r"domain", "", path.stem.lower()).strip("-_.")
