"""`forethought compile`: the same domain and problem in another language."""

from __future__ import annotations

from pathlib import Path

from planner.cli.exit_codes import Exit
from planner.cli.interrupt import interruptible, left, limit_memory
from planner.cli.options import add_domain, add_limits, add_problem
from planner.cli.output import give, tell, write_atomically
from planner.cli.parser import one_of
from planner.errors import InputError, UnsupportedError
from planner.lightweight import TYPE_CHECKING, Any, Final, cast, replace
from planner.model import DomainModel, Metric, Problem
from planner.model.domain import creates_objects
from planner.problem_kinds import AnyDomain, AnyProblem, is_other_domain, not_classical

if TYPE_CHECKING:
    from planner.cli.parser import Parser
    from planner.language.pddl.export import Level

ABOUT: Final = "Write a domain, and a problem if there is one, in another language."
Source = AnyProblem | AnyDomain
LANGUAGES: Final = ("pddl", "hddl", "yaml", "json")
LEVELS: Final = ("strips", "adl")
"""How much of PDDL may be used."""


def arguments(parser: Parser) -> None:
    """Declare what the command takes."""
    add_domain(parser)
    add_problem(parser, optional=True)
    languages = "|".join(LANGUAGES)
    parser.add_argument(
        "--to", type=one_of(*LANGUAGES), required=True, metavar=languages, help="The language to write."
    )
    lowest = "For PDDL (default: the lowest that the domain allows)."
    parser.add_argument("--level", type=one_of(*LEVELS), metavar="|".join(LEVELS), help=lowest)
    placeholders = "For PDDL and HDDL: so many objects that actions may create, of each type (default: %(default)s)."
    parser.add_argument("--placeholders", type=how_many, default=3, metavar="N", help=placeholders)
    determinize = "For PDDL: write the intended outcome of each action alone, for planners that know no chances."
    parser.add_argument("--determinize", action="store_true", help=determinize)
    parser.add_argument("--out", type=Path, metavar="DIR", help="Write files into DIR instead of to stdout.")
    add_limits(parser, default=60.0)


def run(
    started: float,
    *,
    domain: str,
    problem: str | None,
    to: str,
    level: Level | None,
    placeholders: int,
    determinize: bool,
    out: Path | None,
    time_limit: float,
    memory_limit: float | None,
) -> Exit:
    """Write a domain, and a problem if there is one."""
    if level is not None and to != "pddl":
        raise InputError("--level belongs to --to pddl")
    if determinize and to != "pddl":
        raise InputError("--determinize belongs to --to pddl")
    limit_memory(memory_limit)
    with interruptible(left(time_limit, started)):
        source = _writable(domain, problem, to, placeholders, determinize=determinize)
        texts = {"": as_one_text(source, to, level)} if out is None else as_files(source, to, level)
    if out is None:
        give(texts[""])
        return Exit.OK
    out.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        write_atomically(out / name, text)
    return Exit.OK


def _writable(domain: str, problem: str | None, to: str, placeholders: int, *, determinize: bool) -> Source:
    """Return what the arguments name, with placeholders where the language `to` knows no creation of objects."""
    from planner.cli.options import domain_or_problem

    source = domain_or_problem(domain, problem)
    if to == "pddl" and not isinstance(source, Problem | DomainModel):
        raise not_classical(source, "writing PDDL for")
    if to not in ("pddl", "hddl"):
        return source
    if determinize:
        source = _determinized(source)
    _tell_unlikely(source)
    return without_creation(source, placeholders)


def _determinized(source: Source) -> Source:
    """Return `source` with the intended outcome of each action alone."""
    from planner.language.pddl.export import determinize

    if isinstance(source, Problem):
        return replace(source, domain=determinize(source.domain))
    return determinize(source) if isinstance(source, DomainModel) else source


def _tell_unlikely(source: Source) -> None:
    """Say which actions intend an outcome that readers do not take for the intended one."""
    from planner.language.pddl.export import find_unlikely

    domain: Any = getattr(source, "domain", source)
    for name in find_unlikely(getattr(domain, "classical", domain)):
        message = f"the action '{name}' intends an outcome that is not the likeliest"
        tell(f"{message}, for which PDDL has no word (--to yaml has)")


def how_many(text: str) -> int:
    """Read a whole number above 0."""
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text)
    from argparse import ArgumentTypeError

    raise ArgumentTypeError(f"{text!r} is not a whole number above 0")


def without_creation(source: Source, number: int) -> Source:
    """Return `source` with objects in place of those that actions create, and say so; raises where it cannot be."""
    if not isinstance(source, Problem | DomainModel):
        return source
    if not creates_objects(source if isinstance(source, DomainModel) else source.domain):
        return source
    if isinstance(source, DomainModel):
        message = f"actions of '{source.name}' create objects, which stand among the objects of a problem"
        raise InputError(message, hint="name a problem")
    from planner.compilations.object_creation import compile_object_creation

    tell(f"up to {number} new objects of each type are written; plans that create more are lost")
    compiled: Problem = compile_object_creation(source, number).problem
    return compiled


def as_one_text(source: Source, to: str, level: Level | None) -> str:
    """Return domain and problem in one text."""
    from planner.language.documents import write_json, write_yaml

    match to:
        case "yaml":
            return write_yaml(source)
        case "json":
            return write_json(source)
        case _:
            return "\n".join(as_files(source, to, level).values())


def as_files(source: Source, to: str, level: Level | None) -> dict[str, str]:
    """Return domain and problem as files: names and texts."""
    from planner.language.documents import write_json, write_yaml

    if isinstance(source, Problem | DomainModel) and to == "pddl":
        return as_pddl(source, level)
    if to == "hddl":
        return as_hddl(source)
    write = write_yaml if to == "yaml" else write_json
    if isinstance(source, DomainModel) or is_other_domain(source):
        return {f"domain.{to}": write(source)}
    problem = cast("AnyProblem", source)
    return {f"domain.{to}": write(problem.domain), f"problem.{to}": write(problem, domain=False)}


def as_hddl(source: Source) -> dict[str, str]:
    """Return HDDL; what is classical is written with the methods that follow from its actions."""
    from planner.language.loading.sources import find_languages

    language = find_languages().get(".hddl")
    if language is None:
        raise UnsupportedError("writing HDDL", "install all packages of forethought")
    files: dict[str, str] = language.load().write(source)
    return files


def as_pddl(source: Problem | DomainModel, level: Level | None) -> dict[str, str]:
    """Return PDDL; a domain alone is written on the level "adl", since what "strips" takes depends on the problem."""
    from planner.language.pddl.export import export

    if isinstance(source, Problem):
        written = export(source, level)
        return {"domain.pddl": written.domain, "problem.pddl": written.problem}
    if level == "strips":
        raise InputError("STRIPS is written for a domain with a problem", hint="name the problem, or use --level adl")
    metric = Metric.LENGTH if all(action.cost in ((), (1,)) for action in source.actions.values()) else Metric.COST
    return {"domain.pddl": export(Problem(source.name, source, metric=metric), "adl").domain}
