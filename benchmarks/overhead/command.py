"""`forethought bench overhead`: what the executor takes for a step, beside what handlers and observers take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, Annotated, Final

import typer

from benchmarks.tables import markdown
from planner.cli.output import give, tell

if TYPE_CHECKING:
    from benchmarks.overhead.crowd import Crowd
    from benchmarks.overhead.gaps import Gaps
    from benchmarks.overhead.memory import Memory
    from benchmarks.overhead.setting import Setting

HEAD: Final = (
    "plan",
    "model",
    "looks",
    "steps",
    "start",
    "order",
    "step",
    "its CPU",
    "with journal",
    "its CPU",
)
MODELS: Final = ("sequential", "dag")


def overhead(
    *,
    steps: Annotated[
        str, typer.Option("--steps", help="Lengths of plans, with commas between.")
    ] = "1,10,100,1000,10000",
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Rounds of which the median counts.")] = 5,
    memory: Annotated[
        int, typer.Option("--memory", min=0, help="Steps of the plan whose memory is measured; 0: none.")
    ] = 100_000,
    runs: Annotated[int, typer.Option("--runs", min=0, help="How many runs are made at once; 0: none.")] = 1000,
    planned: Annotated[int, typer.Option("--planned", min=0, help="How many runs are planned at once; 0: none.")] = 100,
) -> None:
    """Time steps that do nothing, in microseconds, without and with a journal; and memory, and many runs at once."""
    from benchmarks.overhead.crowd import crowd  # noqa: PLC0415 - the command line starts without the executor
    from benchmarks.overhead.gaps import gaps  # noqa: PLC0415 - as above
    from benchmarks.overhead.memory import measured  # noqa: PLC0415 - as above

    give(markdown(HEAD, _rows(_settings(_lengths(steps)), rounds)))
    if memory:
        give(said_of_memory(measured(memory)))
    if runs:
        give(said_of_crowd(crowd(runs)))
    if planned:
        give(said_of_gaps(gaps(planned)))


def _lengths(text: str) -> list[int]:
    words = text.split(",")
    if not all(word.strip().isdecimal() and int(word) for word in words):
        raise typer.BadParameter("write numbers of steps with commas between, such as 1,10,100", param_hint="--steps")
    return [int(word) for word in words]


def _settings(lengths: Sequence[int]) -> Iterator[Setting]:
    from benchmarks.overhead.setting import PLANS, Setting  # noqa: PLC0415 - as above

    for plan, model, observed, steps in product(PLANS, MODELS, (False, True), lengths):
        yield Setting(plan, model, steps, observed)


def _rows(settings: Iterator[Setting], rounds: int) -> Iterator[list[object]]:
    from benchmarks.overhead.timing import once, timed  # noqa: PLC0415 - as above

    for number, each in enumerate(settings):
        if not number:
            once(each, None)  # what is imported late is imported now
        plain, kept = timed(each, journal=False, rounds=rounds), timed(each, journal=True, rounds=rounds)
        times = (plain.start, plain.order, plain.run, plain.cpu, kept.run, kept.cpu)
        looks = "one a step" if each.observed else "none"
        tell(
            f"{each.plan} {each.model} {each.steps} steps, looks: {looks}: {plain.run:.0f} and {kept.run:.0f} µs a step"
        )
        yield [each.plan, each.model, looks, each.steps, *[f"{one:.0f}" for one in times]]


def said_of_memory(found: Memory) -> str:
    """Return the memory of a run in words."""
    each, peak = found.run / found.steps, found.peak / 2**20
    return f"A run of {found.steps} steps takes {each:.0f} bytes a step; the process {peak:.0f} MiB at its peak."


def said_of_crowd(found: Crowd) -> str:
    """Return what many runs at once took, in words."""
    steps = found.runs * 10
    before, meanwhile, after = found.files
    return (
        f"{found.runs} runs of 10 steps at once, with a journal: {found.clock:.2f} s by the clock, {found.cpu:.2f} s "
        f"of CPU time, {1e6 * found.cpu / steps:.0f} µs a step; files open: {before} before, {meanwhile} meanwhile, "
        f"{after} after."
    )


def said_of_gaps(found: Gaps) -> str:
    """Return how long the event loop was held up, in words."""
    return (
        f"{found.runs} runs planned and carried out at once, with a journal: {found.seconds:.2f} s; the longest gap of "
        f"the event loop: {1000 * found.clock:.0f} ms by the clock, {1000 * found.cpu:.0f} ms of its own CPU time."
    )
