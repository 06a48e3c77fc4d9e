"""Malformed PDDL, and the exact message that each mistake gives."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

import pytest

from planner.errors import PddlError, UnsupportedError
from planner.language.pddl import parse_condition, parse_domain, parse_problem, read_domain

DOMAIN = """\
(define (domain rooms)
  (:requirements :typing)
  (:types robot room - object box)
  (:constants hall - room)
  (:predicates (at ?r - robot ?x - room) (door ?x ?y - room) (clean ?x - room) (safe ?x - room))
  (:functions (distance ?x ?y - room) - number (total-cost) - number)
  (:derived (safe ?x - room) (clean ?x))
  (:action move
    :parameters (?r - robot ?x ?y - room)
    :precondition (and (at ?r ?x) (door ?x ?y))
    :effect (and (not (at ?r ?x)) (at ?r ?y) (increase (total-cost) (distance ?x ?y)))))
"""

PROBLEM = """\
(define (problem one)
  (:domain rooms)
  (:objects r2 - robot kitchen - room)
  (:init (at r2 hall) (door hall kitchen) (= (distance hall kitchen) 3))
  (:goal (at r2 kitchen))
  (:metric minimize (total-cost)))
"""

GOLDEN = Path(__file__).parents[2] / "golden" / "pddl_errors.txt"


def cases() -> list[object]:
    """Return which file is meant, what is replaced in it, by what, and the message."""
    found: list[object] = []
    for block in GOLDEN.read_text(encoding="utf-8").split("\n\n")[1:]:
        title, old, new, message = (line.replace("\\n", "\n") for line in block.strip().split("\n"))
        name, kind = title.split(", ")
        found.append(pytest.param(kind, old[2:], new[2:], message[2:], id=name.replace(" ", "-")))
    return found


def read_changed(kind: str, old: str, new: str) -> None:
    text = DOMAIN if kind == "domain" else PROBLEM
    assert old == "*" or text.count(old) == 1
    text = new if old == "*" else text.replace(old, new)
    if kind == "domain":
        parse_problem(PROBLEM, parse_domain(text, "domain.pddl"), "problem.pddl")
    else:
        parse_problem(text, parse_domain(DOMAIN), "problem.pddl")


def test_the_texts_themselves_are_sound() -> None:
    problem = parse_problem(PROBLEM, parse_domain(DOMAIN))
    assert len(problem.initial) == 2


@pytest.mark.parametrize(("kind", "old", "new", "message"), cases())
def test_mistakes_and_their_messages(kind: str, old: str, new: str, message: str) -> None:
    expected = UnsupportedError if message.startswith("unsupported: ") else PddlError
    with pytest.raises(expected) as caught:
        read_changed(kind, old, new)
    assert str(caught.value) == message


def test_problem_in_place_of_the_domain() -> None:
    with pytest.raises(PddlError) as caught:
        parse_domain(PROBLEM, "domain.pddl")
    assert str(caught.value) == (
        "domain.pddl:1:9: this file defines a problem, and a domain was expected; "
        "the domain file comes first, then the problem file"
    )


def test_domain_in_place_of_the_problem() -> None:
    with pytest.raises(PddlError) as caught:
        parse_problem(DOMAIN, parse_domain(DOMAIN), "problem.pddl")
    assert str(caught.value) == (
        "problem.pddl:1:9: this file defines a domain, and a problem was expected; "
        "the domain file comes first, then the problem file"
    )


def test_text_after_the_definition() -> None:
    with pytest.raises(PddlError) as caught:
        parse_domain(DOMAIN + "(define (domain other))", "domain.pddl")
    assert str(caught.value) == (
        "domain.pddl:12:1: found '(define (domain other))' after the end of the definition, "
        "which was closed at line 11; remove it, or a ')' too many at line 11, column 88 or before"
    )


def test_nesting_has_a_limit() -> None:
    with pytest.raises(PddlError) as caught:
        read_changed("domain", "(clean ?x))", "(not " * 120 + "(clean ?x)" + ")" * 121)
    assert str(caught.value) == (
        "domain.pddl:7:520: parentheses nest deeper than 100 levels; write the formula flatter"
    )


def test_the_type_hierarchy_has_a_limit() -> None:
    with pytest.raises(PddlError) as caught:
        read_changed("domain", "robot room", " ".join(f"t{i} - t{i + 1}" for i in range(150)) + " robot room")
    assert str(caught.value) == (
        "domain.pddl:3:11: the type 't0' is more than 100 levels below 'object'; make the hierarchy flatter"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "goal:1:1: found nothing, expected a condition; '()' is always true"),
        ("ready", "goal:1:1: found 'ready', expected a condition in parentheses; write '(ready)'"),
        (
            "(ready) (done)",
            "goal:1:9: found '(done)' after the end of the condition; join conditions with '(and …)'",
        ),
        (
            "(or\n(ready)",
            "goal:1:1: this '(' is never closed: it is still open at the end, line 2; add ')' where it should end",
        ),
        ("(not ready)", "goal:1:6: found 'ready', expected a condition in parentheses; write '(ready)'"),
        (
            "(when (a) (b))",
            "goal:1:1: found '(when (a) (b))', expected a condition: 'when' belongs to effects; use 'imply'",
        ),
    ],
)
def test_mistakes_in_single_conditions(text: str, message: str) -> None:
    with pytest.raises(PddlError) as caught:
        parse_condition(text, source="goal")
    assert str(caught.value) == message


def test_missing_file_names_its_neighbour(tmp_path: Path) -> None:
    (tmp_path / "domain.pddl").write_text(DOMAIN)
    with pytest.raises(PddlError) as caught:
        read_domain(tmp_path / "domian.pddl")
    assert str(caught.value) == f"{tmp_path}/domian.pddl: there is no such file; did you mean 'domain.pddl'?"


def test_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(PddlError) as caught:
        read_domain(tmp_path / "nowhere" / "domain.pddl")
    assert str(caught.value) == f"{tmp_path}/nowhere/domain.pddl: there is no such file"


def test_folder_in_place_of_a_file(tmp_path: Path) -> None:
    with pytest.raises(PddlError) as caught:
        read_domain(tmp_path)
    assert str(caught.value) == f"{tmp_path}: this is a folder, and a file was expected; name a file inside it"


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "domain.pddl"
    path.write_text(DOMAIN)
    path.chmod(0)
    with pytest.raises(PddlError) as caught:
        read_domain(path)
    assert str(caught.value) == f"{path}: the file may not be read; give yourself permission to read it"


def test_permission_denied_whoever_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, mode: str, buffering: int) -> NoReturn:  # noqa: ARG001 - the signature is Python's
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("planner.language.pddl.syntax.open", refuse, raising=False)
    with pytest.raises(PddlError, match="the file may not be read; give yourself permission to read it"):
        read_domain(tmp_path / "domain.pddl")


def test_binary_file(tmp_path: Path) -> None:
    path = tmp_path / "domain.pddl"
    path.write_bytes(b"(define\0(domain x))")
    with pytest.raises(PddlError) as caught:
        read_domain(path)
    assert str(caught.value) == f"{path}: the file is binary: it has a zero byte at offset 7; name a text file"


def test_damaged_utf16(tmp_path: Path) -> None:
    path = tmp_path / "domain.pddl"
    path.write_bytes(b"\xff\xfe(\0d")
    with pytest.raises(PddlError, match=r"the file is damaged: .*utf-16"):
        read_domain(path)


def test_impossible_path() -> None:
    with pytest.raises(PddlError, match="the file cannot be read: embedded null"):
        read_domain("a\0b")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_whatever_ends_them(end: str) -> None:
    text = DOMAIN.replace("(door ?x ?y))\n", "(dor ?x ?y))\n").replace("\n", end)
    with pytest.raises(PddlError, match=r"^<string>:10:36: "):
        parse_domain(text)


def test_comments_before_the_mistake_are_counted() -> None:
    text = DOMAIN.replace("(:requirements :typing)", ";; (all of (this\n  (:requirements :typing) ; and )) this")
    with pytest.raises(PddlError, match=r"^<string>:11:36: "):
        parse_domain(text.replace("(door ?x ?y))\n", "(dor ?x ?y))\n"))


def test_long_words_are_cut_in_messages() -> None:
    with pytest.raises(PddlError) as caught:
        parse_domain("x" * 100_000)
    assert len(str(caught.value)) < 200


def test_a_hundred_thousand_parentheses() -> None:
    with pytest.raises(PddlError, match="nest deeper than 100 levels"):
        parse_domain("(" * 100_000)
