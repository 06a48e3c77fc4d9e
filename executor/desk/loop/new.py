"""`forethought new`: a small domain to start from, with a problem, cases and a README."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Annotated, Final

import typer

from planner.cli.output import give, tell
from planner.errors import InputError, Location, did_you_mean

app = typer.Typer()

_YAML: Final = """\
# What can be done. An action says what it requires, what holds after it (provides), and which items it changes:
# modifies: ["at(robot, _)"] means that the robot is nowhere else afterwards. What ends is provided with a "not":
# modifies: ["free(robot)"] would leave it true: it is changed in place.
domain: {name}
types: {{robot: object, parcel: object, room: object}}
predicates:
  at: {{parameters: [robot, room]}}
  lies: {{parameters: [parcel, room]}}
  carries: {{parameters: [robot, parcel]}}
  free: {{parameters: [robot], description: the robot carries nothing}}
  door: {{parameters: [room, room]}}
actions:
  move:
    parameters: {{robot: robot, origin: room, target: room}}
    requires: ["at(robot, origin)", "door(origin, target)"]
    provides: ["at(robot, target)"]
    modifies: ["at(robot, _)"]
  take:
    parameters: {{robot: robot, parcel: parcel, room: room}}
    requires: ["at(robot, room)", "lies(parcel, room)", "free(robot)"]
    provides: ["carries(robot, parcel)", "not free(robot)"]
    modifies: ["lies(parcel, _)"]
  put:
    parameters: {{robot: robot, parcel: parcel, room: room}}
    requires: ["at(robot, room)", "carries(robot, parcel)"]
    provides: ["lies(parcel, room)", "free(robot)"]
    modifies: ["carries(robot, _)"]
"""
_YAML_PROBLEM: Final = """\
problem: first
domain: {name}
objects: {{r1: robot, box: parcel, hall: room, office: room, lab: room}}
initial:
  - at(r1, hall)
  - free(r1)
  - lies(box, lab)
  - door(hall, office)
  - door(office, hall)
  - door(office, lab)
  - door(lab, office)
goal: ["lies(box, hall)"]
"""
_PDDL_ACTIONS: Final = """\
  (:action move
    :parameters (?robot - robot ?origin ?target - room)
    :precondition (and
      (at ?robot ?origin)
      (door ?origin ?target))
    :effect (and
      (not (at ?robot ?origin))
      (at ?robot ?target))
  )
  (:action take
    :parameters (?robot - robot ?parcel - parcel ?room - room)
    :precondition (and
      (at ?robot ?room)
      (lies ?parcel ?room)
      (free ?robot))
    :effect (and
      (not (lies ?parcel ?room))
      (not (free ?robot))
      (carries ?robot ?parcel))
  )
  (:action put
    :parameters (?robot - robot ?parcel - parcel ?room - room)
    :precondition (and
      (at ?robot ?room)
      (carries ?robot ?parcel))
    :effect (and
      (not (carries ?robot ?parcel))
      (free ?robot)
      (lies ?parcel ?room))
  )
)
"""
_PDDL_HEAD: Final = """\
; What can be done: {what}.
(define (domain {{name}})
  (:requirements {requirements})
  (:types robot parcel room - object)
  (:predicates
    (at ?robot - robot ?room - room)
    (lies ?parcel - parcel ?room - room)
    (carries ?robot - robot ?parcel - parcel)
    (free ?robot - robot)
    (door ?origin ?target - room)
  )
"""
_PDDL: Final = (
    _PDDL_HEAD.format(what="actions with what they need and change", requirements=":strips :typing") + _PDDL_ACTIONS
)
_PDDL_PROBLEM: Final = """\
(define (problem first)
  (:domain {name})
  (:objects r1 - robot box - parcel hall office lab - room)
{htn}  (:init
    (at r1 hall)
    (free r1)
    (lies box lab)
    (door hall office)
    (door office hall)
    (door office lab)
    (door lab office)
  ){goal}
)
"""
_METHODS: Final = """\
  (:task deliver
    :parameters (?parcel - parcel ?room - room)
  )
  (:task go
    :parameters (?robot - robot ?room - room)
  )
  (:method carry
    :parameters (?robot - robot ?parcel - parcel ?from ?to - room)
    :task (deliver ?parcel ?to)
    :precondition (lies ?parcel ?from)
    :ordered-subtasks (and
      (go ?robot ?from)
      (take ?robot ?parcel ?from)
      (go ?robot ?to)
      (put ?robot ?parcel ?to))
  )
  (:method be-there
    :parameters (?robot - robot ?room - room)
    :task (go ?robot ?room)
    :precondition (at ?robot ?room)
    :ordered-subtasks ()
  )
  (:method go-on
    :parameters (?robot - robot ?from ?to ?room - room)
    :task (go ?robot ?room)
    :precondition (and
      (at ?robot ?from)
      (door ?from ?to))
    :ordered-subtasks (and
      (move ?robot ?from ?to)
      (go ?robot ?room))
  )
"""
_HDDL: Final = (
    _PDDL_HEAD.format(
        what="actions, tasks, and the methods that do them", requirements=":typing :hierarchy :method-preconditions"
    )
    + _METHODS
    + _PDDL_ACTIONS
)
_PYTHON: Final = '''\
"""What can be done: actions with what they require, provide and modify. Handlers may be bound to them later."""

from planner import Domain, Entity


class Robot(Entity):
    """Something that moves and carries."""


class Parcel(Entity):
    """Something to be carried."""


class Room(Entity):
    """A place."""


domain = Domain("{name}")
at = domain.predicate("at", robot=Robot, room=Room)
lies = domain.predicate("lies", parcel=Parcel, room=Room)
carries = domain.predicate("carries", robot=Robot, parcel=Parcel)
free = domain.predicate("free", robot=Robot, description="the robot carries nothing")
door = domain.predicate("door", origin=Room, target=Room)

domain.action(
    "move",
    {{"robot": Robot, "origin": Room, "target": Room}},
    requires=[at("robot", "origin"), door("origin", "target")],
    provides=[at("robot", "target")],
    modifies=[at("robot", "_")],
)
domain.action(
    "take",
    {{"robot": Robot, "parcel": Parcel, "room": Room}},
    requires=[at("robot", "room"), lies("parcel", "room"), free("robot")],
    provides=[carries("robot", "parcel"), "not free(robot)"],
    modifies=[lies("parcel", "_")],
)
domain.action(
    "put",
    {{"robot": Robot, "parcel": Parcel, "room": Room}},
    requires=[at("robot", "room"), carries("robot", "parcel")],
    provides=[lies("parcel", "room"), free("robot")],
    modifies=[carries("robot", "_")],
)

r1, box, hall, office, lab = Robot("r1"), Parcel("box"), Room("hall"), Room("office"), Room("lab")
first = domain.problem(
    name="first",
    objects=[r1, box, hall, office, lab],
    initial=[at(r1, hall), free(r1), lies(box, lab)]
    + [door(*pair) for pair in [(hall, office), (office, hall), (office, lab), (lab, office)]],
    goal=[lies(box, hall)],
)
'''
_CASES: Final = """\
# What is expected: 'forethought test' runs these cases; with --update it writes optima that are missing.
cases:
  first:
    optimum: 6
    invalid:
      - {{steps: ["move(r1, hall, lab)"], fails_at: 1, because: "door(hall, lab)"}}
    properties:
      - {{never: ["carries(r1, box)", "free(r1)"], over: states}}
    runs:
      - {{seeds: [1, 2], faults: 0.1, outcome: [SUCCEEDED, UNVERIFIED]}}
  no-way-back:
    problem: first
    without: ["door(lab, office)"]
    unsolvable: true
"""
_README: Final = """\
# {name}
Actions are in `{domain}`, a problem is in `{problem}`, and what is expected of them in `domain.cases.yaml`.
`forethought check .` looks for mistakes, `forethought solve . first` plans, `forethought explain . first` says why.
`forethought test` runs the cases again after each change (`--watch` does so by itself).
`forethought generate . first --size room=8 --seed 1` makes a larger problem, `forethought format` tidies the files up.
"""

_HTN: Final = "  (:htn\n    :ordered-subtasks (and (deliver box hall))\n  )\n"
_GOAL: Final = "\n  (:goal (lies box hall))"
LANGUAGES: Final = {
    "yaml": {"domain.yaml": _YAML, "first.yaml": _YAML_PROBLEM},
    "pddl": {"domain.pddl": _PDDL, "first.pddl": _PDDL_PROBLEM.replace("{htn}", "").replace("{goal}", _GOAL)},
    "hddl": {"domain.hddl": _HDDL, "first.hddl": _PDDL_PROBLEM.replace("{htn}", _HTN).replace("{goal}", "")},
    "python": {"domain.py": _PYTHON},
}
"""The files of each language: the domain's first, and then that of the problem, if it has one."""


@app.command()
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the domain.")],
    *,
    language: Annotated[
        str, typer.Option("--language", metavar="|".join(LANGUAGES), help="The language to write.")
    ] = "yaml",
    into: Annotated[
        Path | None, typer.Option("--into", metavar="FOLDER", help="The folder of the files; by default NAME.")
    ] = None,
) -> None:
    """Write a small domain to start from, with a problem, test cases and a README."""
    if language not in LANGUAGES:
        hint = did_you_mean(language, LANGUAGES) or f"the languages are {', '.join(LANGUAGES)}"
        raise InputError(f"there is no language {language!r} to write", hint=hint)
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name):
        raise InputError(f"{name!r} is no name of a domain", hint="take letters, digits, '-' and '_', a letter first")
    folder = Path(name) if into is None else into
    texts = _write_texts(name, language)
    create_files(folder, texts)
    for each in texts:
        give(str(folder / each))
    tell(f"now: forethought test {folder}")


def _write_texts(name: str, language: str) -> dict[str, str]:
    files = LANGUAGES[language]
    domain, problem = next(iter(files)), list(files)[-1]
    texts = {file: text.format(name=name) for file, text in files.items()}
    texts["domain.cases.yaml"] = _CASES.format()
    return texts | {"README.md": _README.format(name=name, domain=domain, problem=problem)}


def create_files(folder: Path, texts: dict[str, str]) -> None:
    """Create all files in `folder`, or none: nothing that is there is overwritten.

    Raises `InputError` where one of them, or a domain in another language, is there already.
    """
    taken = next((folder / name for name in texts if os.path.lexists(folder / name)), None)
    if taken is None and folder.is_dir():
        taken = next((path for path in sorted(folder.glob("domain.*"))), None)
    if taken is not None or (folder.exists() and not folder.is_dir()):
        hint = "name another folder with --into"
        raise InputError("this is there already, and is not overwritten", Location(str(taken or folder)), hint)
    folder.mkdir(parents=True, exist_ok=True)
    made: list[Path] = []
    try:
        with tempfile.TemporaryDirectory(dir=folder) as beside:
            for name, text in texts.items():
                (Path(beside) / name).write_text(text, encoding="utf-8")
            for name in texts:
                os.link(Path(beside) / name, folder / name)  # unlike a move, this overwrites nothing
                made.append(folder / name)
    except BaseException:
        for path in made:
            path.unlink(missing_ok=True)
        raise
