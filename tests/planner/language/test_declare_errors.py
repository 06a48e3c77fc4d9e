"""Malformed declarations, and the exact message that each mistake gives."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pytest

from planner import Constraint, ConstraintKind, Domain, Entity, InputError, UnsupportedError
from planner.language import declare

GOLDEN = Path(__file__).parents[2] / "golden" / "declaration_errors.txt"


class Robot(Entity): ...


class Room(Entity): ...


def world() -> dict[str, object]:
    """Return the names that the snippets use."""
    hall = Room("hall")
    office = Domain("office", constants=[hall])
    names = {"Annotated": Annotated, "Constraint": Constraint, "ConstraintKind": ConstraintKind, **vars(declare)}
    names |= {"Robot": Robot, "Room": Room, "hall": hall, "r2": Robot("r2")}
    return {**names, "__name__": "office", "office": office, "at": office.predicate("at", Robot, Room)}


def cases() -> list[object]:
    """Return the snippets and their messages."""
    found: list[object] = []
    for block in GOLDEN.read_text(encoding="utf-8").split("\n\n")[1:]:
        title, *lines, message = block.strip().split("\n")
        found.append(pytest.param("\n".join(lines), message.removeprefix("> "), id=title.replace(" ", "-")))
    return found


@pytest.mark.parametrize(("snippet", "message"), cases())
def test_mistakes_and_their_messages(snippet: str, message: str) -> None:
    names = world()
    code = compile(snippet, "office.py", "exec", dont_inherit=True)
    expected = UnsupportedError if message.startswith("unsupported: ") else InputError
    with pytest.raises(expected) as caught:
        exec(code, names)
    said = str(caught.value).replace(str(Path(__file__)), "test.py")
    assert said == message
