"""`forethought solve --objective …`: find a policy for actions with several possible outcomes."""

from __future__ import annotations

from argparse import Namespace

from planner.cli.exit_codes import Exit, exit_of
from planner.cli.interrupt import delay_interrupts, interruptible, limit_memory, remaining_seconds
from planner.cli.output import check_writable, give, tell, write_atomically
from planner.cli.parser import Parser, choice_of, read_amount
from planner.lightweight import TYPE_CHECKING, Final
from planner.limits import STOPS, stop_reason
from planner.plan import Result, Status

if TYPE_CHECKING:
    from planner.policies.decision import Decision

OBJECTIVES: Final = ("success", "cost", "utility")
POLICY_SEARCHES: Final = "For policies: vi, lao, plans or mcts."
"""The part of the help on `--search` about policies; written here, as only the searches asked for are loaded."""
TAKEN: Final = (
    "domain problem objective penalty search simulations seed budget deadline soft time_limit memory_limit plan_file"
    " json quiet"
)
"""The options of `solve` that apply to policies."""


def add_objective(parser: Parser) -> None:
    """Add `--objective` and `--penalty`."""
    about = "Find a policy for uncertain outcomes that maximises success or utility, or minimises the cost."
    parser.add_argument("--objective", type=choice_of(*OBJECTIVES), metavar="|".join(OBJECTIVES), help=about)
    about = "Cost of giving up, for '--objective cost'; by default, the probability of success comes first."
    parser.add_argument("--penalty", type=read_amount, metavar="N", help=about)


def run_objective(started: float, given: Namespace) -> Exit:
    """Print the policy or the whole decision."""
    from json import dumps

    from planner.cli.options import refuse_options

    refuse_options(given, TAKEN, "objective", "it finds policies, not plans")
    if given.plan_file is not None:
        check_writable(given.plan_file)
    decision = _decide(given, remaining_seconds(given.time_limit, started), limit_memory(given.memory_limit))
    with delay_interrupts():
        if not given.quiet or decision.status is Status.UNSUPPORTED:
            tell(_summarise(decision))
        if decision.policy is not None and given.plan_file is not None:
            write_atomically(given.plan_file, dumps(decision.policy.to_dict(), check_circular=False))
        if given.json:
            give(dumps(decision.to_dict(), check_circular=False))
        elif decision.policy is not None:
            give(str(decision.policy))
    return exit_of(Result(decision.status, decision.stopped_by))


def _summarise(decision: Decision) -> str:
    """Return one line for people: the decision and the work that it took."""
    took = decision.statistics
    how = " with ".join(name for name in (took.search, took.heuristic) if name)
    seconds = took.ground_seconds + took.search_seconds
    work = [how, f"{took.expanded:,} states expanded", f"{seconds:.2f} s"] if how else [f"{seconds:.2f} s"]
    return f"{decision.describe()} [{', '.join(work)}]"


def _decide(given: Namespace, seconds: float | None, memory: float | None) -> Decision:
    """Return the decision; where a limit or a signal breaks the work off, one without a policy."""
    from planner.cli.options import load_changed, name_source
    from planner.policies.decide import decide
    from planner.policies.decision import Decision, Objective

    objective = Objective[given.objective.upper()]
    try:
        with interruptible(seconds) as watchman:
            problem = load_changed(given)
            with name_source(given.domain, given.problem), watchman.searching() as cancel:
                return decide(
                    problem,
                    objective=objective,
                    penalty=given.penalty,
                    search=given.search,
                    simulations=given.simulations,
                    seed=given.seed,
                    time_limit=seconds,
                    memory_limit=memory,
                    cancel=cancel,
                )
    except STOPS as stop:
        return Decision(Status.UNKNOWN, stop_reason(stop), objective)
