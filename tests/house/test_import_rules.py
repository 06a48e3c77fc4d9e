"""Rules of imports that a linter of packages cannot say: circles of files, and what files may import by their names.

All imports count: those at the top of a file, in functions, and those for type checkers.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("planner", "htn", "executor", "domains", "desk", "service", "benchmarks")
MOST_IN_A_CIRCLE = 7
ARRAYS = {"__future__", "array", "collections", "math", "numpy", "typing"}
"""What kernels may import besides kernels."""


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@functools.cache
def modules() -> dict[str, list[ast.Import | ast.ImportFrom]]:
    """Return the imports of each module, at any depth; the trees, which are large, are kept no longer."""
    paths = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    return {name_of(path): [*imports_in(ast.parse(path.read_text(encoding="utf-8")))] for path in paths}


def imports_in(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the imports within a node; no expression, which most nodes are, has any."""
    for each in ast.iter_child_nodes(node):
        if isinstance(each, ast.Import | ast.ImportFrom):
            yield each
        elif isinstance(each, ast.stmt | ast.excepthandler | ast.match_case):
            yield from imports_in(each)


def imported_by(name: str) -> set[str]:
    """Return the modules, ours by their whole names, that a module imports anywhere."""
    found = set()
    for node in modules()[name]:
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        else:
            assert node.level == 0, f"{name} has a relative import"
            base = node.module or ""
            found |= {inner if (inner := f"{base}.{each.name}") in modules() else base for each in node.names}
    return found - {name}


@functools.cache
def imports() -> nx.DiGraph[str]:
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(modules())
    graph.add_edges_from((name, other) for name in modules() for other in imported_by(name) if other in modules())
    return graph


def is_kernel(name: str) -> bool:
    return name.endswith("_kernel")


def test_there_are_modules() -> None:
    assert len(modules()) > 300
    assert imports().number_of_edges() > 1000


def test_no_circle_is_large() -> None:
    circles = [sorted(each) for each in nx.strongly_connected_components(imports()) if len(each) > MOST_IN_A_CIRCLE]
    assert circles == []


def test_nothing_imports_in_a_circle_at_the_top() -> None:
    """What is imported when a module is imported: circles there break at random."""
    graph = nx.DiGraph()
    for name, found in modules().items():
        top = [node for node in found if isinstance(node, ast.ImportFrom) and node.col_offset == 0]
        for node in top:
            inner = {f"{node.module}.{each.name}" for each in node.names}
            graph.add_edges_from(
                (name, other) for other in (inner & modules().keys()) or {node.module} & modules().keys()
            )
    graph.remove_edges_from(nx.selfloop_edges(graph))
    assert list(nx.simple_cycles(graph)) == []


def test_kernels_import_kernels_only() -> None:
    kernels = [name for name in modules() if is_kernel(name)]
    assert len(kernels) > 20
    for name in kernels:
        others = {each for each in imported_by(name) if not is_kernel(each)}
        assert {each.partition(".")[0] for each in others} <= ARRAYS, name


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("executor.events", "executor.recovery"),
        ("executor.events", "executor.loop"),
        ("planner.model", "planner.lint"),
        ("planner.plan", "planner.validation"),
        ("htn.model", "htn.problem_kind"),
        ("htn.model", "planner.lint"),
        ("planner.search", "planner.portfolio"),
        ("planner.heuristics", "planner.search.astar"),
    ],
)
def test_what_is_below_does_not_import_what_is_above(importer: str, imported: str) -> None:
    """The state does not import the recovery, a problem no lint, a plan no checker."""
    importers = [name for name in modules() if name == importer or name.startswith(f"{importer}.")]
    assert importers
    guilty = [
        (name, other)
        for name in importers
        for other in imported_by(name)
        if other == imported or other.startswith(f"{imported}.")
    ]
    assert guilty == []


def test_searches_of_the_reference_tier_import_no_heuristic() -> None:
    """A search takes any estimate; the compiled ones are fused with those that there are kernels for."""
    searches = [
        name
        for name in modules()
        if name.startswith("planner.search.") and not name.endswith(("_kernel", "_compiled", "_driver"))
    ]
    assert len(searches) > 8
    guilty = [(name, each) for name in searches for each in imported_by(name) if each.startswith("planner.heuristics")]
    assert guilty == []
