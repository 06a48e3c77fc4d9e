"""`forethought run`: carry out plans, in a simulated world or, with `--real`, by the bound handlers."""

from __future__ import annotations

import json
import math
import time
from argparse import ArgumentTypeError
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from executor.cli.places import journal_place
from executor.plans.execution_models import ExecutionModel
from planner.cli.interrupt import finite_limit, interruptible, remaining_seconds
from planner.cli.parser import read_gibibytes, read_seconds
from planner.errors import InputError

app = typer.Typer()
MODELS = get_args(ExecutionModel)


def seconds_of(text: str | float) -> float:
    """Read a number of seconds above 0, `none` for infinity; raises Typer's error for anything else."""
    return _read(read_seconds, text)


def gibibytes_of(text: str | float) -> float:
    """Read a number of GiB above 0, `none` for infinity; raises Typer's error for anything else."""
    return _read(read_gibibytes, text)


def _read(read: Callable[[str], float], text: str | float) -> float:
    try:
        return read(str(text))
    except ArgumentTypeError as error:
        raise typer.BadParameter(str(error)) from None


Memory = Annotated[
    float | None,
    typer.Option(
        "--memory-limit",
        parser=gibibytes_of,
        metavar="GiB",
        help="Memory of the process; 'none' for no limit.",
        show_default="80 % of what is available",
    ),
]


@app.command()
def run(
    context: typer.Context,
    domain: Annotated[str, typer.Argument(help="A .py, .yaml, .json, .pddl or .hddl file, or a shipped domain.")],
    problem: Annotated[str | None, typer.Argument(help="A file, or the name of a problem.")] = None,
    *,
    plan: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Carry out this plan: an ActionPlan, another framework's plan (JSON, YAML), or what solve writes.",
        ),
    ] = None,
    model: Annotated[str | None, typer.Option(metavar="|".join(MODELS), help="How steps follow each other.")] = None,
    real: Annotated[bool, typer.Option("--real", help="Call the handlers that are bound to the domain.")] = False,
    faults: Annotated[float, typer.Option(min=0, max=1, metavar="RATE", help="How likely a call goes wrong.")] = 0.0,
    chances: Annotated[
        bool, typer.Option("--chances", help="Simulated steps fail, and come out, as likely as they declare.")
    ] = False,
    learn: Annotated[
        bool, typer.Option("--learn", help="Plan with the risks and costs that runs in the journal have shown.")
    ] = False,
    quantile: Annotated[
        float | None,
        typer.Option(
            min=0.01, max=1, metavar="SHARE", help="With --learn: plan with durations that so large a share kept."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Determines what is random in the simulated world.")] = 0,
    journal: Annotated[
        Any,
        typer.Option(
            parser=journal_place,
            metavar="PLACE",
            help="Keep what happens in a file, or at postgresql://user@host/name.",
        ),
    ] = None,
    enqueue: Annotated[
        bool, typer.Option("--enqueue", help="Record the run, or the answers to it, for `forethought worker`.")
    ] = False,
    name: Annotated[
        str | None,
        typer.Option(
            "--run", metavar="NAME", help="Name the run: one of that name, with the same goal and values, is joined."
        ),
    ] = None,
    occasion: Annotated[
        str, typer.Option(metavar="TEXT", help="What it is for, such as 2026-11: done on another one counts no more.")
    ] = "",
    again: Annotated[
        list[str] | None,
        typer.Option(metavar="STEP", help="Do this irreversible step, such as 'pay(o7)', once more if it was done."),
    ] = None,
    memory: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE|FILE",
            help="Values of working memory, as JSON or else as text, or a file of them, in JSON or YAML.",
        ),
    ] = None,
    resume: Annotated[str | None, typer.Option(metavar="RUN", help="Take up a run from the journal.")] = None,
    answer: Annotated[
        list[str] | None, typer.Option(metavar="QUESTION=ANSWER", help="Answer an open question of that run.")
    ] = None,
    complete: Annotated[
        list[str] | None,
        typer.Option(metavar="STEP=RESULT", help="Give a waiting step of that run its result, as JSON."),
    ] = None,
    stay: Annotated[
        bool, typer.Option("--stay", help="Wait for answers from 'view --serve' or 'runs answer', and go on with them.")
    ] = False,
    say: Annotated[
        str | None, typer.Option(metavar="SENTENCE", help="What is wanted, in words: a language model is asked.")
    ] = None,
    language_model: Annotated[
        str | None, typer.Option(metavar="NAME", help="That model, such as openai:gpt-5; else the configured one.")
    ] = None,
    endpoint: Annotated[
        str | None, typer.Option(metavar="URL", help="Where that model is, if it speaks OpenAI's protocol.")
    ] = None,
    tokens: Annotated[int | None, typer.Option(min=0, help="The most that the language model may take.")] = None,
    new: Annotated[
        list[str] | None, typer.Option(metavar="TYPE", help="The sentence may name new objects of this type.")
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep plans, and what sentences meant, in FILE.")
    ] = None,
    templates: Annotated[
        Path | None, typer.Option(metavar="FILE", help="How things are done: plans with parameters, in YAML or JSON.")
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Approve all that needs approval, and what a sentence was taken to mean.")
    ] = False,
    time_limit: Annotated[
        float, typer.Option(parser=seconds_of, metavar="SECONDS", help="For reading and planning; 'none' for no limit.")
    ] = 10.0,
    memory_limit: Memory = None,
    stop_after: Annotated[
        float,
        typer.Option(
            parser=seconds_of, metavar="SECONDS", help="Break the run off so long after it began.", show_default="none"
        ),
    ] = math.inf,
    as_json: Annotated[bool, typer.Option("--json", help="Print how the run ended as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No messages and no progress; errors only.")] = False,
) -> None:
    """Carry out a plan in a simulated world, or with bound handlers."""
    started = context.obj if isinstance(context.obj, float) else time.monotonic()
    with interruptible(remaining_seconds(time_limit, started)):
        from executor.cli.execute import RunOptions, carry_out
        from executor.cli.outcome import exit_of, print_not_begun, show, show_proposal
        from executor.cli.sentence import NotCarriedOut, read_options
    try:
        wanted = RunOptions(
            domain,
            problem,
            plan,
            model,  # type: ignore[arg-type]  # whether it is one of them is asked where it is used
            is_real=real,
            faults=faults,
            chances=chances,
            learns=learn,
            quantile=quantile,
            seed=seed,
            journal=journal,
            enqueues=enqueue,
            run=name,
            occasion=occasion,
            again=tuple(again or ()),
            values=read_memory(memory or []),
            resume=resume,
            answers=_read_answers(answer or []),
            results=_read_results(complete or []),
            approves=yes,
            stays=stay,
            quiet=quiet,
            memory=memory_limit,
            said=read_options(
                say,
                model=language_model,
                endpoint=endpoint,
                tokens=tokens,
                open_types=tuple(new) if new else None,
                cache=cache,
                templates=templates,
            ),
        )
        ended = carry_out(wanted, lambda: remaining_seconds(time_limit, started), finite_limit(stop_after))
    except NotCarriedOut as stopped:
        raise typer.Exit(show_proposal(stopped.proposal, json=as_json, quiet=quiet)) from None
    except BaseException as error:
        if as_json:
            print_not_begun(error)
        raise
    show(ended, json=as_json, quiet=quiet)
    raise typer.Exit(exit_of(ended))


def _read_results(texts: list[str]) -> dict[str, Any]:
    """Read the results of waiting steps, as JSON or else as text."""
    pairs = split_pairs("--complete", texts, "STEP=RESULT", "s3=true")
    return {step: _parse_value(text) for step, text in pairs.items()}


def _read_answers(texts: list[str]) -> dict[str, Any]:
    pairs = split_pairs("--answer", texts, "QUESTION=ANSWER", "doubt:s3=yes")
    return {question: read_answer(text) for question, text in pairs.items()}


def read_answer(text: str) -> Any:
    """Read an answer: a form or a result as JSON, or else a text."""
    return _parse_value(text) if text.lstrip().startswith("{") else text


def read_memory(texts: list[str]) -> dict[str, Any]:
    """Read values of working memory: pairs, or files of them; what comes later counts. Raises `InputError`."""
    found = dict[str, Any]()
    for text in texts:
        if "=" in text:
            pairs = split_pairs("--memory", [text], "NAME=VALUE or FILE", "--memory guest=Ada")
            found |= {name: _parse_value(value) for name, value in pairs.items()}
        else:
            found |= _read_values(Path(text))
    return found


def _read_values(path: Path) -> dict[str, Any]:
    """Read a file of values, in JSON or YAML; raises `InputError` for one without a mapping."""
    from planner.errors import Location
    from planner.language.documents.text_formats import parse_json, parse_yaml

    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise InputError(
            f"cannot be read: {error}", Location(str(path)), "--memory takes NAME=VALUE or a file"
        ) from None
    read = parse_json if path.suffix.lower() == ".json" else parse_yaml
    values = list(read(text, str(path)))
    if len(values) != 1 or not isinstance(values[0], dict):
        raise InputError("working memory is a mapping from names to values", Location(str(path)))
    return values[0]


def _parse_value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def split_pairs(option: str, texts: list[str], form: str, example: str) -> dict[str, str]:
    """Split each of `texts` at its "="; raises `InputError` for a text without one."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise InputError(f"{option} takes {form}, not {text!r}", hint=f"such as {option} {example}")
        found[name] = value
    return found
