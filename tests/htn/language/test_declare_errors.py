"""Malformed hierarchies, and the exact message that each mistake gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from htn.language.declare import Methods
from planner import Domain, Entity, InputError, UnsupportedError

GOLDEN = Path(__file__).parents[2] / "golden" / "htn_declaration_errors.txt"


class Robot(Entity): ...


class Room(Entity): ...


def world() -> dict[str, object]:
    """Return the names that the snippets use."""
    office = Domain("office", constants=[Room("hall")])
    at = office.predicate("at", Robot, Room)
    office.action(
        "move",
        {"robot": Robot, "origin": Room, "target": Room},
        requires=["at(robot, origin)"],
        provides=["at(robot, target)", "not at(robot, origin)"],
    )
    how = Methods(office)
    visit = how.task("visit", robot=Robot, room=Room)
    names = {"Domain": Domain, "Entity": Entity, "Methods": Methods, "Robot": Robot, "Room": Room}
    both = {"robot": Robot, "room": Room}
    return {**names, "__name__": "office", "office": office, "at": at, "how": how, "visit": visit, "both": both}


def cases() -> list[object]:
    """Return the snippets and their messages."""
    found: list[object] = []
    for block in GOLDEN.read_text(encoding="utf-8").split("\n\n")[1:]:
        title, *lines, message = block.strip().split("\n")
        found.append(pytest.param("\n".join(lines), message.removeprefix("> "), id=title.replace(" ", "-")))
    return found


@pytest.mark.parametrize(("snippet", "message"), cases())
def test_mistakes_and_their_messages(snippet: str, message: str) -> None:
    code = compile(snippet, "office.py", "exec", dont_inherit=True)
    expected = UnsupportedError if message.startswith("unsupported: ") else InputError
    with pytest.raises(expected) as caught:
        exec(code, world())
    assert str(caught.value).replace(str(Path(__file__)), "test.py") == message


def test_there_are_many_cases() -> None:
    assert len(cases()) >= 30
