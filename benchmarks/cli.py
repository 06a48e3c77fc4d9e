"""`forethought bench`: run suites, tabulate and compare results, check plans again."""

from __future__ import annotations

import typer

from benchmarks.adversary.adversary_campaign import adversary
from benchmarks.commands import exporting, peers, reading, running
from benchmarks.commands import running as listing
from benchmarks.faults.fault_campaign import faults
from benchmarks.foreign_plans.foreign_plan_repair import foreign
from benchmarks.learning_runs import learning
from benchmarks.mcts_convergence import simulations
from benchmarks.overhead.executor_overhead import overhead
from benchmarks.overhead.reaction_times import reactions
from benchmarks.patch_comparison import measure_patches
from benchmarks.savings import savings
from benchmarks.sentences.sentence_replay import sentences
from benchmarks.tools.relevant_tools import relevant
from benchmarks.tools.tool_benchmark import tools
from benchmarks.topk_comparison import candidates
from benchmarks.uncertain.uncertain_campaign import uncertain
from benchmarks.unsolvable.unsolvable_campaign import unsolvable

app = typer.Typer(no_args_is_help=True, help="Run benchmark suites and peers, and report on results.")
for command in (
    running.run,
    running.ground,
    reading.table,
    reading.compare,
    reading.html,
    exporting.csv,
    exporting.latex,
    exporting.properties,
    reading.rates,
    reading.proofs,
    running.validate,
    listing.suites,
    listing.planners,
    tools,
    relevant,
    faults,
    overhead,
    reactions,
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
app.command("patch")(measure_patches)
app.add_typer(peers.app, name="peers")
