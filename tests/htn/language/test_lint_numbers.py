"""Lint of numbers in hierarchies: functions that methods compare are used."""

from __future__ import annotations

from htn.lint.hierarchy_lint import check_hierarchy
from planner import read_documents

TEXT = """
domain: rounds
types: [robot]
functions: {fuel: [robot], size: [robot]}
actions:
  go: {parameters: {r: robot}, modifies: ["fuel(r) += 1"]}
tasks: {ready: {parameters: {r: robot}}}
methods:
  fill: {task: ready(r), parameters: {r: robot}, requires: ["fuel(r) > 2"], subtasks: ["go(r)"]}
"""


def test_functions_that_only_methods_read_are_used() -> None:
    (domain,) = read_documents(TEXT).domains
    found = [str(each) for each in check_hierarchy(domain)]
    assert found == ["warning: function size: it is used nowhere in the domain [unused-function]"]
