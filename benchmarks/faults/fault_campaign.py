"""`forethought bench faults`: random runs in which something goes wrong, judged by how they end.

The report counts endings by kind of fault and by execution model; `--only` replays one run.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import typer

from benchmarks.faults.fault_setting import KINDS, MODELS, Setting, classical_part, draw_setting
from benchmarks.faults.fault_verdict import Ending, Verdict, judge_run
from benchmarks.faults.numeric_setting import draw_numeric_setting
from benchmarks.faults.open_world import draw_open_setting
from benchmarks.report import Table
from executor.cli.places import journal_place
from executor.testing import FaultKind
from planner.cli.output import give, is_terminal, tell


def faults(
    *,
    runs: Annotated[int, typer.Option("--runs", min=1, help="Number of runs.")] = 1000,
    first: Annotated[
        int, typer.Option("--first", min=0, help="Number of the first run: a campaign may be carried out in parts.")
    ] = 0,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the campaign.")] = 0,
    only: Annotated[
        int | None, typer.Option("--only", help="Replay this run of the campaign, and print its events.")
    ] = None,
    open_world: Annotated[
        bool,
        typer.Option("--open-world", help="Runs in which objects turn up, vanish and are renamed, in place of others."),
    ] = False,
    numbers: Annotated[
        bool, typer.Option("--numbers", help="Runs on accounts, stocks and batteries, in place of others.")
    ] = False,
    in_time: Annotated[
        bool,
        typer.Option("--time", help="Runs in time: slow steps, windows that move, deadlines, in place of others."),
    ] = False,
    journal: Annotated[
        Any,
        typer.Option(
            parser=journal_place, metavar="PLACE", help="Carry each run out on this journal, too, and compare the ends."
        ),
    ] = None,
    temporal: Annotated[
        bool,
        typer.Option("--temporal", help="Carry each run out on a server of Temporal, too, and compare: in real time."),
    ] = False,
) -> None:
    """Run plans in simulated worlds in which something goes wrong, and judge how each run ends.

    The exit code is 1 where a run violated a promise: false success, effects that came twice, a goal given up that
    could have been reached, an irreversible step too early, repeated, in an undo or despite an open question, an error.
    """
    seeds = range(first, first + runs)
    if open_world + numbers + in_time + temporal > 1:
        raise typer.BadParameter("--open-world, --numbers, --time and --temporal name campaigns: say one of them")
    if journal is not None and (in_time or temporal or only is not None):
        raise typer.BadParameter("--journal compares whole campaigns, and not those of --time or --temporal")
    if in_time:
        from benchmarks.faults.timed_campaign import give_timed_campaign, replay_in_time
        from benchmarks.faults.timed_setting import draw_timed_setting

        if only is not None:
            replay_in_time(draw_timed_setting(only, seed))
        else:
            give_timed_campaign(seeds, seed)
        return
    if temporal:
        from benchmarks.faults.temporal_campaign import give_temporal_campaign

        give_temporal_campaign(seeds if only is None else [only], seed)
        return
    draw = draw_open_setting if open_world else draw_numeric_setting if numbers else draw_setting
    if only is not None:
        replay(draw(only, seed))
        return
    if journal is not None:
        from benchmarks.faults.journal_comparison import compare_journals

        compare_journals(seeds, seed, draw, journal)
        return
    started, judged = time.monotonic(), []
    for each in run_campaign(seeds, seed, draw):
        judged.append(each)
        if each.verdict.violation:
            tell(f"{each.setting}: {each.verdict.violation.value}: {_abridge(each.verdict.detail)}")
        elif is_terminal(typer.get_text_stream("stderr")) and len(judged) % 100 == 0:
            tell(f"{len(judged)} runs")
    give(format_report(judged))
    crashes = sum(each.crashes for each in judged)
    found = f", {sum(each.found for each in judged)} objects turned up" if open_world else ""
    tell(f"{runs} runs, {crashes} taken up after their process died{found}, in {time.monotonic() - started:.0f} s")
    if any(each.verdict.ending is Ending.VIOLATION for each in judged):
        raise typer.Exit(1)


def run_campaign(
    seeds: Iterable[int], seed: int = 0, draw: Callable[[int, int], Setting] = draw_setting
) -> Iterator[Judged]:
    """Yield the runs of the campaign `seed` that `seeds` number and `draw` draws, carried out and judged."""
    from benchmarks.faults.fault_run import carry_out

    with tempfile.TemporaryDirectory(prefix="forethought-faults-") as folder:
        for number in seeds:
            drawn = draw(number, seed)
            carried = carry_out(drawn, Path(folder))
            verdict = judge_run(drawn, carried)
            found = len(carried.outcome.state.found) if carried.outcome else 0
            yield Judged(drawn, verdict, carried.seconds, carried.crashes, carried.strikes, found)


def replay(drawn: Setting) -> None:
    """Carry out one run, and print what happens in it, and what was really done."""
    from benchmarks.faults.fault_run import carry_out
    from executor.testing.virtual_time import now

    give(f"{drawn}\n{drawn.plan}\n{drawn.observe}\n{drawn.policy}")
    with tempfile.TemporaryDirectory(prefix="forethought-faults-") as folder:
        carried = carry_out(drawn, Path(folder), lambda event: give(f"{now():10.2f} {event}"))
    for act in carried.simulated.acts:
        changes = [*(f"+{fact}" for fact in act.added), *(f"-{fact}" for fact in act.removed)]
        give(f"{act.at:10.2f} {act.step} by {act.by or 'somebody else'}: {' '.join(changes) or 'nothing changed'}")
    judged = judge_run(drawn, carried)
    give(judged.ending.value if judged.violation is None else f"{judged.violation.value}: {judged.detail}")


def _abridge(text: str) -> str:
    first, *others = text.strip().splitlines()
    return f"{first} … {others[-1]}" if others else first


HEADS: Final = {
    Ending.REACHED: "goal seen",
    Ending.UNSEEN: "unverified",
    Ending.ASKED: "asks",
    Ending.OUT_OF_REACH: "out of reach",
    Ending.SPENT: "spent",
    Ending.UNDONE: "undone",
    Ending.REFUSED: "refused",
    Ending.BLIND: "blind",
    Ending.VIOLATION: "**violations**",
}


class Judged(NamedTuple):
    """A run of the campaign: how it was drawn, what is to be said about it, and seconds of real time."""

    setting: Setting
    verdict: Verdict
    seconds: float
    crashes: int
    strikes: Mapping[FaultKind, int]
    """How often each kind of fault struck."""
    found: int = 0
    """How many objects turned up."""


def format_report(judged: Sequence[Judged]) -> str:
    """Return the tables of a campaign as Markdown."""
    kinds = [kind for kind in FaultKind if kind in KINDS or any(kind in each.strikes for each in judged)]
    by_kind = _ending_table("fault", [kind.name for kind in kinds], judged, lambda each: [each.setting.kind.name])
    by_model = _ending_table("model", MODELS, judged, lambda each: [each.setting.model])
    tables = [by_kind, by_model, strike_table(judged, kinds), grid_table(judged, kinds)]
    worlds = [each.setting.open_world for each in judged if each.setting.open_world is not None]
    if worlds:
        turns = sorted({turn.value for world in worlds for turn in world.turns})
        tables.append(_ending_table("meanwhile", turns, judged, _list_turns))
        names = sorted({world.name for world in worlds})
        tables.append(_ending_table("problem", names, judged, lambda each: [classical_part(each.setting.plan).name]))
    legend = "\n".join(f"- {head.strip('*')}: {ending.value}" for ending, head in HEADS.items())
    return "\n".join([*(each.markdown() for each in tables), legend])


def _list_turns(judged: Judged) -> list[str]:
    """Return what somebody else did to the objects of a run in an open world."""
    world = judged.setting.open_world
    return [] if world is None else [turn.value for turn in world.turns]


def _ending_table(
    head: str, names: Iterable[str], judged: Sequence[Judged], list_names: Callable[[Judged], Collection[str]]
) -> Table:
    """Return how runs ended: a row for each of `names`; a run is in the rows of all its own names."""

    def count(runs: Iterable[Judged]) -> list[int]:
        counts = Counter(each.verdict.ending for each in runs)
        return [counts.total(), *[counts[ending] for ending in HEADS]]

    names = list(names)
    rows = [[name, *count([each for each in judged if name in list_names(each)])] for name in names]
    total = ["all", *count([each for each in judged if not set(names).isdisjoint(list_names(each))])]
    return Table([head, "runs", *HEADS.values()], rows, total)


def strike_table(judged: Sequence[Judged], kinds: Iterable[FaultKind] = KINDS) -> Table:
    """Return how often each of `kinds` of faults struck."""
    counts = {kind.name: sum(each.strikes.get(kind, 0) for each in judged) for kind in kinds}
    return Table(["fault", "times that it struck"], list(map(list, counts.items())), ["all", sum(counts.values())])


def grid_table(judged: Sequence[Judged], kinds: Iterable[FaultKind] = KINDS) -> Table:
    """Return, for each of `kinds` of faults and model, runs that reached the goal / that did not / violations."""
    rows = []
    for kind in kinds:
        row = [kind.name]
        for model in MODELS:
            endings = [
                each.verdict.ending for each in judged if (each.setting.kind, each.setting.model) == (kind, model)
            ]
            reached, broken = endings.count(Ending.REACHED), endings.count(Ending.VIOLATION)
            row.append(f"{reached} / {len(endings) - reached - broken} / {broken}")
        rows.append(row)
    return Table(["reached / not / violations", *MODELS], rows)
