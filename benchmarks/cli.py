"""`forethought bench`: run suites, tabulate and compare results, check plans again."""

from __future__ import annotations

import typer

from benchmarks.adversary.command import adversary
from benchmarks.candidates.command import candidates
from benchmarks.commands import listing, reading, running
from benchmarks.faults.command import faults
from benchmarks.foreign.command import foreign
from benchmarks.learning.command import learning
from benchmarks.overhead.command import overhead
from benchmarks.patching.command import patch
from benchmarks.savings.command import savings
from benchmarks.sentences.command import sentences
from benchmarks.simulations.command import simulations
from benchmarks.tools.command import tools
from benchmarks.uncertain.command import uncertain
from benchmarks.unsolvable.command import unsolvable

app = typer.Typer(no_args_is_help=True, help="Benchmark suites, peers and reports.")
for command in (
    running.run,
    running.ground,
    reading.table,
    reading.compare,
    reading.html,
    reading.rates,
    reading.proofs,
    running.validate,
    listing.suites,
    listing.planners,
    tools,
    faults,
    overhead,
    patch,
    candidates,
    foreign,
    sentences,
    savings,
    adversary,
    learning,
    uncertain,
    simulations,
    unsolvable,
):
    app.command()(command)
