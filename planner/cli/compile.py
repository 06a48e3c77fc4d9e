"""`forethought compile`: the same domain and problem in another language."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from planner.cli import arguments
from planner.cli.output import give, write_atomically
from planner.errors import InputError, UnsupportedError
from planner.model import DomainModel, Metric, Problem

Source = Problem | DomainModel


class Language(StrEnum):
    """What can be written."""

    PDDL = "pddl"
    HDDL = "hddl"
    JSON = "json"
    YAML = "yaml"


WRITTEN: Final = (Language.PDDL, Language.YAML, Language.JSON)
"""What is written so far."""


class Level(StrEnum):
    """How much of PDDL may be used."""

    STRIPS = "strips"
    ADL = "adl"


def compile_command(
    domain: arguments.Domain,
    problem: arguments.OptionalProblem = None,
    *,
    to: Annotated[
        Language,
        typer.Option(parser=arguments.one_of(*WRITTEN), metavar="|".join(WRITTEN), help="The language to write."),
    ],
    level: Annotated[
        Level | None,
        typer.Option(
            parser=arguments.one_of(*Level),
            metavar="|".join(Level),
            help="For PDDL.",
            show_default="the lowest that the domain allows",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Write files into DIR instead of to stdout.")] = None,
) -> None:
    """Write a domain, and a problem if there is one, in another language."""
    from planner.cli.input import domain_or_problem  # noqa: PLC0415 - each command loads only what it runs

    if level is not None and to is not Language.PDDL:
        raise typer.BadParameter("--level belongs to --to pddl")
    if to is Language.HDDL:
        raise UnsupportedError("writing HDDL", "--to pddl writes what classical planners take")
    source = domain_or_problem(domain, problem)
    if out is None:
        give(as_one_text(source, to, level))
        return
    out.mkdir(parents=True, exist_ok=True)
    for name, text in as_files(source, to, level).items():
        write_atomically(out / name, text)


def as_one_text(source: Source, to: Language, level: Level | None) -> str:
    """Return domain and problem in one text."""
    from planner.documents import write_json, write_yaml  # noqa: PLC0415 - loaded only where documents are written

    match to:
        case Language.YAML:
            return write_yaml(source)
        case Language.JSON:
            return write_json(source)
        case _:
            return "\n".join(as_files(source, to, level).values())


def as_files(source: Source, to: Language, level: Level | None) -> dict[str, str]:
    """Return domain and problem as files: names and texts."""
    from planner.documents import write_json, write_yaml  # noqa: PLC0415 - as above

    if to is Language.PDDL:
        return as_pddl(source, level)
    write = write_yaml if to is Language.YAML else write_json
    if isinstance(source, DomainModel):
        return {f"domain.{to}": write(source)}
    return {f"domain.{to}": write(source.domain), f"problem.{to}": write(source, domain=False)}


def as_pddl(source: Source, level: Level | None) -> dict[str, str]:
    """Return PDDL; a domain alone is written on the level "adl", since what "strips" takes depends on the problem."""
    from planner.pddl.export import export  # noqa: PLC0415 - loaded only where PDDL is written

    if isinstance(source, Problem):
        written = export(source, None if level is None else level.value)
        return {"domain.pddl": written.domain, "problem.pddl": written.problem}
    if level is Level.STRIPS:
        raise InputError("STRIPS is written for a domain with a problem", hint="name the problem, or use --level adl")
    metric = Metric.LENGTH if all(action.cost in ((), (1,)) for action in source.actions.values()) else Metric.COST
    return {"domain.pddl": export(Problem(source.name, source, metric=metric), "adl").domain}
