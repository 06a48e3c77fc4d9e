"""Pairs of functions in different files that use nearly the same names: candidates for one function.

`python -m benchmarks.alike [FOLDER]` prints the pairs in `planner`, `htn` and `executor` of a checkout (without FOLDER:
this one), most alike first: the likeness, and the place, name and lines of code of each. The last line counts them.

The likeness of two functions is the cosine of the angle between their bags of names: how often each reads or writes a
variable or an attribute of that name; `self` and `cls` are left out. Docstrings, comments and blank lines are no lines
of code. A function inside another one belongs to that one.
"""

from __future__ import annotations

import argparse
import ast
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import typer

PACKAGES: Final = ("planner", "htn", "executor")
LEAST_LINES: Final = 12
"""Shorter functions use too few names to tell them apart."""
LEAST_LIKENESS: Final = 0.8
ROOT: Final = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Function:
    """A function in a file, with its lines of code and the names that it uses."""

    path: str
    line: int
    name: str
    lines: int
    names: Counter[str]

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.name} ({self.lines})"


def read_functions(folder: Path) -> Iterator[Function]:
    """Yield the functions of `LEAST_LINES` lines of code and more in the packages of the checkout `folder`."""
    for package in PACKAGES:
        for path in sorted((folder / package).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            for name, node in _list_functions(ast.parse(text), ""):
                lines = count_lines(node, text.splitlines())
                if lines >= LEAST_LINES:
                    yield Function(str(path.relative_to(folder)), node.lineno, name, lines, count_names(node))


def _list_functions(tree: ast.Module | ast.ClassDef, prefix: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield from _list_functions(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{prefix}{node.name}", node  # type: ignore[misc]  # an asynchronous one has the same fields


def count_lines(function: ast.FunctionDef, lines: list[str]) -> int:
    """Return the number of lines of `function` in the `lines` of its file, without docstring, comments and blanks."""
    assert function.end_lineno is not None
    inside = range(function.lineno, function.end_lineno + 1)
    if ast.get_docstring(function, clean=False) is not None:
        text = function.body[0]
        inside = [line for line in inside if not text.lineno <= line <= (text.end_lineno or 0)]  # type: ignore[assignment]
    return sum(bool(lines[line - 1].strip()) and not lines[line - 1].lstrip().startswith("#") for line in inside)


def count_names(function: ast.FunctionDef) -> Counter[str]:
    """Return how often the body of `function` uses each name of a variable or an attribute."""
    nodes = [node for statement in function.body for node in ast.walk(statement)]
    names = [node.id for node in nodes if isinstance(node, ast.Name) and node.id not in ("self", "cls")]
    return Counter(names + [node.attr for node in nodes if isinstance(node, ast.Attribute)])


def find_pairs(functions: list[Function], least: float = LEAST_LIKENESS) -> list[tuple[float, Function, Function]]:
    """Return the pairs of functions in different files that are more alike than `least`, most alike first."""
    places = {
        name: place for place, name in enumerate(dict.fromkeys(name for each in functions for name in each.names))
    }
    bags = np.zeros((len(functions), len(places)), dtype=np.float32)
    for row, function in enumerate(functions):
        size = math.sqrt(sum(count * count for count in function.names.values()))
        for name, count in function.names.items():
            bags[row, places[name]] = count / size
    found: list[tuple[float, Function, Function]] = []
    for row, function in enumerate(functions):
        likeness = bags[row + 1 :] @ bags[row]
        for other in np.flatnonzero(likeness > least):
            twin = functions[row + 1 + int(other)]
            if twin.path != function.path:
                found.append((float(likeness[other]), function, twin))
    return sorted(found, key=lambda pair: (-round(pair[0], 3), str(pair[1]), str(pair[2])))


def main() -> None:
    """Print the pairs of the checkout that the command names."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.alike", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT, help="the checkout (default: this one)")
    parser.add_argument("--least", type=float, default=LEAST_LIKENESS, help="the likeness that pairs exceed")
    given = parser.parse_args()
    functions = list(read_functions(given.folder))
    pairs = find_pairs(functions, given.least)
    for likeness, one, other in pairs:
        typer.echo(f"{likeness:.3f}  {one}  {other}")
    typer.echo(f"{len(pairs)} pairs of {len(functions)} functions")


if __name__ == "__main__":
    main()
