"""Tool libraries as a suite of PDDL files, so that any planner can be run on the same tasks."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from benchmarks.tools.declare import declared
from benchmarks.tools.library import Library
from planner.pddl.export import export

COLUMNS = ("domain", "domain_file", "problem_file", "optimal_track", "satisficing_track", "optimum")


def write_suite(libraries: Iterable[Library], folder: Path) -> int:
    """Write the libraries and their `tasks.tsv` (with the certified optima) to `folder`; return how many there are."""
    rows = [COLUMNS]
    for library in libraries:
        profile, domain_file, problem_file = write_library(library, folder)
        rows.append((profile, domain_file, problem_file, "opt", "sat", str(library.optimum)))
    text = "".join("\t".join(row) + "\n" for row in rows)
    (folder / "tasks.tsv").write_text(text, encoding="utf-8")
    return len(rows) - 1


def write_library(library: Library, folder: Path) -> tuple[str, str, str]:
    """Write one library to a folder of its profile in `folder`; return the names of this folder and of both files."""
    place = folder / library.profile
    place.mkdir(parents=True, exist_ok=True)
    files = f"domain-{library.name}.pddl", f"{library.name}.pddl"
    exported = export(declared(library))
    for name, text in zip(files, (exported.domain, exported.problem), strict=True):
        (place / name).write_text(text, encoding="utf-8")
    return (library.profile, *files)
