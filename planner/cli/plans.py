"""Plans in files: the competition's format, or JSON as `solve --json` prints it."""

from __future__ import annotations

from pathlib import Path

from planner.errors import PlanError
from planner.model import Number, Problem
from planner.plan import Plan
from planner.plan_json import is_json, read_json_plan


def plan_from(path: Path, problem: Problem) -> tuple[Plan, Number | None]:
    """Return the plan for `problem` in the file at `path`, and the cost that the file claims for it, if it does.

    Raises `PlanError` with the place of what is wrong.
    """
    text = text_of(path)
    if is_json(text):
        return read_json_plan(text, problem, str(path))
    from planner.language.pddl.plans import read_plan

    return read_plan(text, problem, str(path)), None


def text_of(path: Path) -> str:
    """Return the text of the plan in the file at `path`, encoded as problem files are; raises `PlanError`."""
    from planner.language.pddl.syntax import read_text

    return read_text(path, PlanError)
