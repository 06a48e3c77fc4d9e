"""`forethought generate`: random instances of a domain, after one of its problems."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from planner.cli.interrupt import interruptible, limit_memory
from planner.cli.output import Exit, give, tell, write_atomically
from planner.errors import InputError, Location
from planner.language.loading.load import DOCUMENTS, FolderSource, Source, find_languages, load_from, open_source
from planner.problem_kinds import AnyProblem, is_other_problem

if TYPE_CHECKING:
    from executor.desk.loop.templates import Template

app = typer.Typer()
ATTEMPTS: Final = 20
"""How many instances are drawn for one that has a plan."""
MOST_OBJECTS: Final = 10_000
"""Most objects of a type."""


@app.command()
def generate(
    domain: Annotated[str, typer.Argument(metavar="DOMAIN", help="A domain's file, a folder, or a shipped domain.")],
    problem: Annotated[
        str | None, typer.Argument(metavar="TEMPLATE", help="A problem to go by, by default the domain's first.")
    ] = None,
    *,
    size: Annotated[
        list[str] | None, typer.Option("--size", metavar="TYPE=N", help="Number of objects of a type; may be repeated.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Determines all that is drawn.")] = 0,
    count: Annotated[int, typer.Option("--count", min=1, help="Number of instances.")] = 1,
    solvable: Annotated[bool, typer.Option("--solvable", help="Only instances for which a plan is found.")] = False,
    time_limit: Annotated[
        float, typer.Option("--time-limit", min=0.01, metavar="SECONDS", help="With --solvable: for each search.")
    ] = 10.0,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Write files into DIR instead of to stdout.")
    ] = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print no messages.")] = False,
) -> None:
    """Draw random problems of any size that have the structure of another one."""
    from executor.desk.loop.templates import Template

    sizes = _read_sizes(size or [])
    if out is None and count > 1:
        raise InputError("several instances go to files", hint="name their folder with --out DIR")
    limit_memory(None)
    with interruptible():
        source = open_source(domain)
        template = Template(load_from(source, problem))
        ending = _ending_of(source)
        texts, missing = {}, 0
        for number in range(1, count + 1):
            name = f"{template.problem.name}-{seed}{f'-{number}' if count > 1 else ''}"
            found = _draw(template, name, sizes, f"{seed} {number}", time_limit if solvable else None)
            if found is None:
                missing += 1
            else:
                texts[f"{name}{ending}"] = _write(found, ending)
    _deliver(texts, out)
    if missing:
        tell(f"for {missing} of {count}, no plan was found for any of {ATTEMPTS} instances within {time_limit:g} s")
    if not quiet:
        _warn_of_goals(template)
    raise typer.Exit(Exit.NO_VERDICT if missing else Exit.OK)


def _read_sizes(given: list[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for text in given:
        type_, _, number = text.partition("=")
        if not type_ or not number.isascii() or not number.isdigit() or not 0 < int(number) <= MOST_OBJECTS:
            hint = f"such as --size room=8, {MOST_OBJECTS} at most"
            raise InputError(f"--size takes TYPE=N, not {text!r}", hint=hint)
        if type_ in found:
            raise InputError(f"there are two sizes of {type_!r}", hint="leave one out")
        found[type_] = int(number)
    return found


def _draw(template: Template, name: str, sizes: dict[str, int], seed: str, seconds: float | None) -> AnyProblem | None:
    """Draw an instance; with `seconds` for a search, one that has a plan, or None."""
    from executor.desk.loop.instances import make_instance
    from planner.solve import solve

    for attempt in range(1 if seconds is None else ATTEMPTS):
        found = make_instance(template, name, sizes, random.Random(f"{seed} {attempt}"))
        if seconds is None or solve(found, mode="first", time_limit=seconds).has_plan:
            return found
    return None


def _ending_of(source: Source) -> str:
    """Return the ending of files in the language of the domain; Python's problems are written as YAML."""
    file = Path(source.domain_file.name if isinstance(source, FolderSource) else source.name)
    suffix = file.suffix.lower()
    return suffix if suffix in DOCUMENTS or suffix == ".pddl" or suffix in find_languages() else ".yaml"


def _write(problem: AnyProblem, ending: str) -> str:
    """Return the problem in the language of files with this ending."""
    from planner.language.documents import write_json, write_yaml

    writers: dict[str, Callable[[AnyProblem], str]] = {
        ".pddl": _write_pddl,
        ".json": lambda item: write_json(item, domain=False),
        ".yaml": lambda item: write_yaml(item, domain=False),
        ".yml": lambda item: write_yaml(item, domain=False),
    }
    if ending in writers:
        return writers[ending](problem)
    text: str = find_languages()[ending].load().write(problem)["problem" + ending]
    return text


def _write_pddl(problem: AnyProblem) -> str:
    from planner.language.pddl.export import export
    from planner.problem_kinds import unsupported_kind

    if is_other_problem(problem):
        raise unsupported_kind(problem, "writing PDDL for")
    return export(problem, "adl").problem  # type: ignore[arg-type]  # the kind that is left


def _deliver(texts: dict[str, str], out: Path | None) -> None:
    """Print the one text, or write all to files, none over another text."""
    if out is None:
        give("".join(texts.values()))
        return
    for name, text in texts.items():
        path = out / name
        if path.exists() and path.read_text(encoding="utf-8", errors="replace") != text:
            message = "this file is there already, with another text"
            raise InputError(message, Location(str(path)), "take another seed or folder")
    out.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        write_atomically(out / name, text)
        give(str(out / name))


def _warn_of_goals(template: Template) -> None:
    from executor.desk.loop.templates import describes_facts

    if not describes_facts(template.classical.goal.hard):
        tell("parts of the goal that are no facts stay as they are in the template")
