"""`forethought run`: plans are carried out, in a simulated world or, with `--real`, by the bound handlers."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, get_args

import typer

from executor.plans.action_plan import ExecutionModel
from planner.cli.limits import seconds
from planner.errors import InputError, did_you_mean

app = typer.Typer()
MODELS = get_args(ExecutionModel)


def _seconds(text: str | float) -> float:
    from argparse import ArgumentTypeError  # noqa: PLC0415 - only this asks for it

    try:
        return seconds(str(text))
    except ArgumentTypeError as error:
        raise typer.BadParameter(str(error)) from None


@app.command()
def run(
    context: typer.Context,
    domain: Annotated[str, typer.Argument(help="A .py, .yaml, .json, .pddl or .hddl file, or a shipped domain.")],
    problem: Annotated[str | None, typer.Argument(help="A file, or the name of a problem.")] = None,
    *,
    model: Annotated[str | None, typer.Option(metavar="|".join(MODELS), help="How steps follow each other.")] = None,
    real: Annotated[bool, typer.Option("--real", help="Call the handlers that are bound to the domain.")] = False,
    faults: Annotated[float, typer.Option(min=0, max=1, metavar="RATE", help="How likely a call goes wrong.")] = 0.0,
    seed: Annotated[int, typer.Option(help="Determines what is random in the simulated world.")] = 0,
    journal: Annotated[Path | None, typer.Option(metavar="FILE", help="Keep what happens in FILE.")] = None,
    resume: Annotated[str | None, typer.Option(metavar="RUN", help="Take up a run from the journal.")] = None,
    answer: Annotated[
        list[str] | None, typer.Option(metavar="QUESTION=ANSWER", help="Answer an open question of that run.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Approve all that needs approval.")] = False,
    time_limit: Annotated[float, typer.Option(parser=_seconds, metavar="SECONDS", help="'none' for no limit.")] = 60.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print how the run ended as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No messages and no progress; errors only.")] = False,
) -> None:
    """Carry out a plan in a simulated world, or with bound handlers."""
    from executor.command.carry import Wanted, carry_out  # noqa: PLC0415 - help needs none of it
    from executor.command.ending import exit_of, show  # noqa: PLC0415 - as above
    from planner.cli.interrupt import interruptible  # noqa: PLC0415 - as above
    from planner.cli.limits import left  # noqa: PLC0415 - as above

    if model is not None and model not in MODELS:
        hint = did_you_mean(model, MODELS) or f"there are {', '.join(MODELS)}"
        raise InputError(f"there is no execution model {model!r}", hint=hint)
    started = context.obj if isinstance(context.obj, float) else time.monotonic()
    wanted = Wanted(
        domain,
        problem,
        model,  # type: ignore[arg-type]  # one of them, as was asked above
        is_real=real,
        faults=faults,
        seed=seed,
        journal=journal,
        resume=resume,
        answers=_answers(answer or []),
        approves=yes,
        quiet=quiet,
    )
    with interruptible(left(time_limit, started)):
        ended = carry_out(wanted, left(time_limit, started))
    show(ended, json=as_json, quiet=quiet)
    raise typer.Exit(exit_of(ended))


def _answers(texts: list[str]) -> dict[str, str]:
    """Return the answers to questions; raises `InputError` for what is none."""
    found = {}
    for text in texts:
        question, equals, answer = text.rpartition("=")
        if not equals or not question:
            raise InputError(f"--answer takes QUESTION=ANSWER, not {text!r}", hint="such as --answer doubt:s3=yes")
        found[question] = answer
    return found
