"""Suites: folders of planning tasks, and which of their tasks to take.

A suite is a folder with a `tasks.tsv`, or any folder that has PDDL or HDDL files in it or below: a file with "domain"
in its name is a domain, any other one a problem of it. A table has columns `domain`, `domain_file` and `problem_file`,
and either `optimal_track` and `satisficing_track`, where the files lie in a folder named by the domain, or `track`,
where they lie in such a folder inside one named by the track. A column `class` says how a task uses numbers: "simple",
"linear", or "?" where its files have to say it. Beside it there may be a `best_known.tsv` (columns
`track`, `domain`, `problem_file`, `shortest_known`: the number of steps of the shortest plan known).
"""

from __future__ import annotations

import csv
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import Final

from benchmarks.pddltext import classify_numeric, read_features
from planner.errors import DocumentError, Location

PDDL: Final = ".pddl"
HDDL: Final = ".hddl"
BEST_KNOWN: Final = "best_known.tsv"
UNKNOWN_CLASS: Final = "?"
DEFINITION: Final = re.compile(r"\s*\(\s*define\s*\(\s*(domain|problem)\s", re.IGNORECASE)
LONGEST_HEAD: Final = 10
"""How many lines that are more than comments are read to see what a file defines."""


@dataclass(frozen=True, slots=True)
class BenchmarkTask:
    """A domain file and a problem file; `name` is unique in the suite.

    `tracks` are of "opt" and "sat", or of "total-order" and "partial-order", or the class of a task with numbers,
    "simple" or "linear"; `shortest_known` is the number of steps of the shortest plan that is known from elsewhere.
    """

    suite: str
    domain: str
    name: str
    domain_path: Path
    problem_path: Path
    tracks: frozenset[str] = frozenset()
    shortest_known: int | None = None

    @property
    def suffix(self) -> str:
        """The language of its files: ".pddl", or ".hddl" where it is hierarchical."""
        return HDDL if self.problem_path.suffix == HDDL else PDDL

    def fault(self) -> str | None:
        """Return the fault of its files that shows before reading them: one is missing, or defines the wrong thing.

        Of a file that begins with anything but a definition, nothing is said: that is for planners to judge.
        """
        for path, wanted in ((self.domain_path, "domain"), (self.problem_path, "problem")):
            if not path.is_file():
                return f"there is no file {path}"
            found = find_definition(path)
            if found is not None and found != wanted:
                return f"{path} defines a {found}, not a {wanted}"
        return None


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
        chosen = random.Random(self.seed).sample(range(len(found)), self.sample)
        return [found[index] for index in sorted(chosen)]

    def _takes(self, task: BenchmarkTask) -> bool:
        return (
            (self.track is None or self.track in task.tracks)
            and domain_matches(task.domain, self.domains)
            and matches(task.name, self.names)
        )


def domain_matches(domain: str, patterns: Sequence[str]) -> bool:
    """Return whether `domain`, with or without the folders above it, is like one of `patterns`, or there is none."""
    return matches(domain, patterns) or matches(domain.rpartition("/")[2], patterns)


def matches(text: str, patterns: Sequence[str]) -> bool:
    """Return whether `text` is like one of `patterns`, or there is none."""
    return not patterns or any(fnmatchcase(text, pattern) for pattern in patterns)


def load_suite(folder: Path) -> list[BenchmarkTask]:
    """Return the tasks of the suite in `folder`; raises `DocumentError` where there are none."""
    folder = folder.resolve()
    table = folder / "tasks.tsv"
    tasks = _read_table(table) if table.exists() else _find_tasks(folder)
    if not tasks:
        message = "no planning tasks found; a suite is a folder with tasks.tsv, or with .pddl or .hddl files"
        raise DocumentError(message, Location(str(folder)))
    return tasks


def _read_table(table: Path) -> list[BenchmarkTask]:
    known = _read_shortest_known(table.with_name(BEST_KNOWN))
    tasks = []
    for line, row in _read_rows(table):
        try:
            folder, domain_file, problem_file = _task_folder(row), row["domain_file"], row["problem_file"]
        except KeyError as missing:
            raise DocumentError(f"there is no column {missing}", Location(str(table), line)) from None
        name = f"{folder}/{problem_file}"
        files = table.parent / folder / domain_file, table.parent / folder / problem_file
        tracks = {*map(row.get, ("track", "optimal_track", "satisficing_track")), _find_class(row.get("class"), *files)}
        tasks.append(
            BenchmarkTask(
                suite=table.parent.name,
                domain=folder,
                name=name,
                domain_path=files[0],
                problem_path=files[1],
                tracks=frozenset(track for track in tracks if track),
                shortest_known=known.get(name),
            )
        )
    return tasks


def _find_class(stated: str | None, domain_path: Path, problem_path: Path) -> str | None:
    """Return the class of a task with numbers that its table states, or that its files show where it states "?"."""
    if stated != UNKNOWN_CLASS:
        return stated
    there = domain_path.is_file() and problem_path.is_file()
    return classify_numeric(read_features(domain_path, problem_path)) if there else None


def _read_rows(table: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the number of each line of a table under its head, and the cells by the names of their columns."""
    with table.open(encoding="utf-8", newline="") as file:
        yield from enumerate(csv.DictReader(file, delimiter="\t"), start=2)


def _task_folder(row: Mapping[str, str]) -> str:
    """Return the folder in which the task of a row lies, relative to the suite."""
    return "/".join(filter(None, (row.get("track"), row["domain"])))


def _read_shortest_known(table: Path) -> dict[str, int]:
    """Return the number of steps of the shortest known plan for each task that `table`, if it exists, has one of."""
    known: dict[str, int] = {}
    for line, row in _read_rows(table) if table.exists() else ():
        try:
            known[f"{_task_folder(row)}/{row['problem_file']}"] = int(row["shortest_known"])
        except (KeyError, TypeError, ValueError):
            message = f"found {'  '.join(map(str, row.values()))!r}, expected a problem and a number of steps"
            raise DocumentError(message, Location(str(table), line)) from None
    return known


def _find_tasks(folder: Path) -> list[BenchmarkTask]:
    tasks = []
    found = (path for suffix in (PDDL, HDDL) for path in folder.rglob(f"*{suffix}"))
    for place, suffix in sorted({(path.parent, path.suffix) for path in found}):
        files = sorted(place.glob(f"*{suffix}"))
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


def find_definition(path: Path) -> str | None:
    """Return whether the file at `path` begins with the definition of a "domain" or a "problem"; None for neither."""
    with path.open(encoding="utf-8", errors="replace") as file:
        words = (bare for line in file if (bare := line.partition(";")[0].strip()))
        found = DEFINITION.match("\n".join([*islice(words, LONGEST_HEAD), ""]))
    return found.group(1).lower() if found else None


def domain_of(problem: Path, domains: Sequence[Path]) -> Path | None:
    """Return the domain file that belongs to `problem`, or None.

    Without its "domain" the name of a problem's own domain file (`p01-domain`, `domain_p01`, `domain01`) is the
    beginning of the problem's name or its number; the longest such name wins, and a plain `domain.pddl` takes the rest.
    """
    stem = _strip_domain(problem)
    number = re.sub(r"^\D+", "", stem)
    fitting = [
        path for path in domains if stem.startswith(_strip_domain(path)) or (number and _strip_domain(path) == number)
    ]
    return max(fitting, key=lambda path: len(_strip_domain(path)), default=None)


def _strip_domain(path: Path) -> str:
    return re.sub(r"domain", "", path.stem.lower()).strip("-_.")
