"""`forethought compile`: write a domain and a problem in another language."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from planner.cli.interrupt import interruptible, limit_memory, remaining_seconds
from planner.cli.options import add_domain, add_limits, add_problem
from planner.cli.output import Exit, give, tell, write_atomically
from planner.cli.parser import Parser, choice_of, option, read_positive_number
from planner.errors import InputError, UnsupportedError
from planner.language.loading.load import find_languages, load_named, open_source
from planner.lightweight import TYPE_CHECKING, Any, Final, cast, replace
from planner.model import TOTAL_COST, TOTAL_TIME, Arithmetic, DomainModel, Metric, NumericMetric, Problem
from planner.model.domain import creates_objects, has_durations
from planner.model.problem import is_temporal
from planner.problem_kinds import AnyDomain, AnyProblem, is_other_domain, unsupported_kind

if TYPE_CHECKING:
    from planner.language.pddl.export import Level

ABOUT: Final = "Write a domain, and a problem if there is one, in another language."
Source = AnyProblem | AnyDomain
LANGUAGES: Final = ("pddl", "hddl", "yaml", "json")
LEVELS: Final = ("strips", "adl")
"""The levels of PDDL that may be written."""


OPTIONS: Final = (
    option("--to", "Language to write.", type=choice_of(*LANGUAGES), required=True, metavar="|".join(LANGUAGES)),
    option(
        "--level",
        "Level of PDDL (default: the lowest that the domain allows).",
        type=choice_of(*LEVELS),
        metavar="|".join(LEVELS),
    ),
    option(
        "--placeholders",
        "For PDDL and HDDL: number of objects of each type that actions may create (default: %(default)s).",
        type=read_positive_number,
        default=3,
        metavar="N",
    ),
    option(
        "--determinize",
        "For PDDL: write only the intended outcome of each action, for planners without uncertain outcomes.",
        action="store_true",
    ),
    option("--out", "Write files into DIR instead of to stdout.", type=Path, metavar="DIR"),
)


def add_arguments(parser: Parser) -> None:
    """Declare the arguments of the command."""
    add_domain(parser)
    add_problem(parser)
    parser.add_all(OPTIONS)
    add_limits(parser, default=60.0)


def run(started: float, given: Namespace) -> Exit:
    """Write a domain, and a problem if there is one."""
    if given.level is not None and given.to != "pddl":
        raise InputError("--level belongs to --to pddl")
    if given.determinize and given.to != "pddl":
        raise InputError("--determinize belongs to --to pddl")
    limit_memory(given.memory_limit)
    with interruptible(remaining_seconds(given.time_limit, started)):
        source = _load_writable(given)
        files = {} if given.out is None else as_files(source, given.to, given.level)
        text = as_one_text(source, given.to, given.level) if given.out is None else ""
    if given.out is None:
        give(text)
        return Exit.OK
    given.out.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        write_atomically(given.out / name, content)
    return Exit.OK


def _load_writable(given: Namespace) -> Source:
    """Load the domain or problem, and remove outcomes and object creation that the language lacks."""
    source = load_named(open_source(given.domain), given.problem)
    if given.to == "pddl" and not isinstance(source, Problem | DomainModel):
        raise unsupported_kind(source, "writing PDDL for")
    if given.to not in ("pddl", "hddl"):
        return source
    if given.determinize:
        source = _keep_intended_outcomes(source)
    _warn_of_unlikely_outcomes(source)
    _warn_of_separations(source)
    return _replace_created_objects(source, given.placeholders)


def _keep_intended_outcomes(source: Source) -> Source:
    """Keep only the intended outcome of each action."""
    from planner.language.pddl.export import determinize

    if isinstance(source, Problem):
        return replace(source, domain=determinize(source.domain))
    return determinize(source) if isinstance(source, DomainModel) else source


def _warn_of_unlikely_outcomes(source: Source) -> None:
    """Warn of intended outcomes that are not the likeliest: PDDL readers take the likeliest as intended."""
    from planner.language.pddl.export import find_unlikely

    domain: Any = getattr(source, "domain", source)
    for name in find_unlikely(getattr(domain, "classical", domain)):
        message = f"the action '{name}' intends an outcome that is not the likeliest"
        tell(f"{message}, for which PDDL has no word (--to yaml has)")


def _warn_of_separations(source: Source) -> None:
    """Warn where steps that `source` lets begin at once begin one after the other in PDDL."""
    problem: Any = getattr(source, "classical", source)
    if not isinstance(problem, Problem) or not is_temporal(problem):
        return
    shared = [f"a capacity of {amount} '{name}'" for name, amount in problem.capacity.items() if amount > 1]
    if shared or problem.due:
        from planner.semantics.durations import SEPARATION

        construct = shared[0] if shared else f"a deadline of {problem.due[0].condition}"
        tell(
            f"{construct}: steps may have to come {SEPARATION} s later in PDDL, which lets none read what others write"
        )


def _replace_created_objects(source: Source, number: int) -> Source:
    """Replace created objects by `number` placeholders of each type, and say so.

    Raises `InputError` for a domain without a problem, because placeholders are objects of a problem.
    """
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
    """Return the domain and the problem as one text."""
    from planner.language.documents import write_json, write_yaml

    match to:
        case "yaml":
            return write_yaml(source)
        case "json":
            return write_json(source)
        case _:
            return "\n".join(as_files(source, to, level).values())


def as_files(source: Source, to: str, level: Level | None) -> dict[str, str]:
    """Return the domain and the problem as files: names and texts."""
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
    """Return HDDL files; a classical problem gets methods that follow from its actions."""
    language = find_languages().get(".hddl")
    if language is None:
        raise UnsupportedError("writing HDDL", "install all packages of forethought")
    files: dict[str, str] = language.load().write(source)
    return files


def as_pddl(source: Problem | DomainModel, level: Level | None) -> dict[str, str]:
    """Return PDDL files; a domain alone is written on the level "adl", as writing STRIPS depends on the problem."""
    from planner.language.pddl.export import export

    if isinstance(source, Problem):
        written = export(source, level)
        return {"domain.pddl": written.domain, "problem.pddl": written.problem}
    if level == "strips":
        raise InputError("STRIPS is written for a domain with a problem", hint="name the problem, or use --level adl")
    has_costs = any(action.cost not in ((), (1,)) for action in source.actions.values())
    metric: Metric | NumericMetric = Metric.COST if has_costs else Metric.LENGTH
    if has_durations(source):
        metric = NumericMetric(Arithmetic("+", (TOTAL_TIME, TOTAL_COST)) if has_costs else TOTAL_TIME)
    return {"domain.pddl": export(Problem(source.name, source, metric=metric), "adl").domain}
