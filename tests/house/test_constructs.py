"""Who reads the fields of constructs: few modules outside those that declare, write, check or compile them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HOMES = {"model", "language", "semantics", "validation", "lint", "compilations"}
PROBLEMS = {"problem", "_problem", "classical", "_classical", "compiled", "part", "rest", "source", "declared", "plain"}
"""Names of variables and attributes that are problems."""
OF_ACTIONS = {"modifies", "outcomes", "creates"}
"""Fields of actions and effects: whoever reads one of any object counts."""
MOST = 12


def find_readers(field: str) -> list[str]:
    """Return the modules of `planner` and `htn` outside the homes that read `field` of a problem."""
    paths = [path for package in ("planner", "htn") for path in sorted((ROOT / package).rglob("*.py"))]
    return [
        str(path.relative_to(ROOT))
        for path in paths
        if not HOMES.intersection(path.relative_to(ROOT).parts)
        if any(_reads(node, field) for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    ]


def _reads(node: ast.AST, field: str) -> bool:
    if not (isinstance(node, ast.Attribute) and node.attr == field):
        return False
    owner = node.value
    return (
        field in OF_ACTIONS
        or (owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")) in PROBLEMS
    )


@pytest.mark.parametrize("field", ["budgets", "constraints", "deadline", "unknown", *sorted(OF_ACTIONS)])
def test_few_modules_read_a_construct(field: str) -> None:
    readers = find_readers(field)
    assert 0 < len(readers) <= MOST, readers


def test_changes_are_compiled_at_one_place() -> None:
    paths = [path for package in ("planner", "htn", "executor") for path in (ROOT / package).rglob("*.py")]
    calls = [
        path.name
        for path in paths
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "compile_adl"
    ]
    assert calls == ["passes.py"]
