"""`forethought solve`: find a plan, and prove it optimal where time allows.

On a terminal a line shows progress while the search goes on; a pipe gets nothing but the result.
"""

from __future__ import annotations

import errno
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from planner.cli.candidates import add_choosing, run_choosing
from planner.cli.exit_codes import Exit, exit_of
from planner.cli.interrupt import finishing, interruptible, left, limit_memory
from planner.cli.options import (
    add_domain,
    add_limiting,
    add_limits,
    add_problem,
    add_quiet,
    add_wishing,
    limited,
    wishing,
)
from planner.cli.output import check_writable, give, is_terminal, tell, write_atomically
from planner.cli.parser import one_of, whole
from planner.cli.policies import POLICY_SEARCHES, add_objective, run_objective
from planner.errors import InputError, UnsupportedError
from planner.garbage_collection import collector_paused
from planner.lightweight import TYPE_CHECKING, Any, Final
from planner.limits import LimitReached
from planner.plan import Plan, Progress, Result, Status, StoppedBy, without
from planner.problem_kinds import service_of

if TYPE_CHECKING:
    from rich.live import Live

    from planner.cli.options import Wish
    from planner.cli.parser import Parser
    from planner.model import Number

DRAW_AFTER_SECONDS: Final = 0.4
"""Work that ends sooner draws nothing, and does not load what draws."""
REDRAWS_PER_SECOND: Final = 4


class Watch:
    """Remembers the latest `Progress`: what an interrupted search still has to show, and what the live line says."""

    def __init__(self) -> None:
        self.latest: Progress | None = None
        self._started = time.monotonic()

    def __call__(self, progress: Progress) -> None:
        """Take note of `progress`."""
        self.latest = progress

    def result(self, stopped_by: StoppedBy) -> Result:
        """Return what is known, as the result of work that `stopped_by` broke off."""
        if self.latest is None:
            return Result(Status.UNKNOWN, stopped_by)
        status = Status.UNKNOWN if self.latest.plan is None else Status.SOLVED
        return Result(status, stopped_by, self.latest.plan, self.latest.lower_bound, self.latest.statistics)

    def __str__(self) -> str:
        elapsed = f"{time.monotonic() - self._started:.1f} s"
        if self.latest is None:
            return f"reading and grounding · {elapsed}"
        known = self.result(StoppedBy.CANCELLED)
        best = "no plan yet" if known.cost is None else f"best cost {known.cost}"
        bound = "" if known.lower_bound is None else f" · lower bound {known.lower_bound}"
        gap = "" if known.gap is None else f" · gap {known.gap:.1%}"
        return f"{best}{bound}{gap} · {known.statistics.expanded:,} states · {elapsed}"

    def __rich__(self) -> str:
        return f"[bold cyan]planning[/] {self}"


@contextmanager
def shown(watch: Watch, *, quiet: bool) -> Iterator[None]:
    """Show `watch` as a live line on stderr while the body runs, if stderr is a terminal."""
    if quiet or not is_terminal(sys.stderr):
        yield
        return
    drawn: list[Live] = []
    timer = threading.Timer(DRAW_AFTER_SECONDS, _draw, (watch, drawn))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        for live in drawn:
            live.stop()


def _draw(watch: Watch, drawn: list[Live]) -> None:
    from rich.console import Console
    from rich.live import Live

    live = Live(
        watch,
        console=Console(stderr=True),
        refresh_per_second=REDRAWS_PER_SECOND,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    live.start()
    drawn.append(live)


ABOUT: Final = "Find a plan, and prove it optimal where time allows."
MODES: Final = ("anytime", "first", "optimal")


def search_help() -> str:
    """Return the help on `--search`, with the names of the registry."""
    from planner.search import REGISTRY

    hierarchical = "For hierarchical problems: depth-first, greedy, weighted, astar or uniform."
    return f"{_one_of('One search instead of several in turn', REGISTRY)} {hierarchical} {POLICY_SEARCHES}"


def heuristic_help() -> str:
    """Return the help on `--heuristic`, with the names of the registry."""
    from planner.heuristics import REGISTRY

    return f"{_one_of('What it goes by instead of its own', REGISTRY)} For hierarchical problems: composition or blind."


def _one_of(what: str, names: Iterable[str]) -> str:
    *others, last = names
    return f"{what}: {', '.join(others)} or {last}."


def arguments(parser: Parser) -> None:
    """Declare what the command takes."""
    add_domain(parser)
    add_problem(parser, optional=True)
    modes = "Improve until proved; stop at the first plan; go for the proof (default: %(default)s)."
    parser.add_argument("--mode", type=one_of(*MODES), default="anytime", metavar="|".join(MODES), help=modes)
    parser.add_argument("--search", metavar="NAME", help=search_help())
    parser.add_argument("--heuristic", metavar="NAME", help=heuristic_help())
    parser.add_argument("--engine", metavar="NAME", help="A planner known to unified-planning.")
    parser.add_argument("--simulations", type=whole, metavar="N", help="Stop '--search mcts' after so many.")
    parser.add_argument("--seed", type=whole, default=0, metavar="N", help="What its random choices begin with.")
    add_objective(parser)
    add_limiting(parser)
    add_wishing(parser)
    add_choosing(parser)
    add_limits(parser, default=10.0)
    parser.add_argument("--plan-file", type=Path, metavar="FILE", help="Write the plan to FILE as well.")
    parser.add_argument("--tree", action="store_true", help="Draw what the tasks came to, on stderr; for HTN plans.")
    parser.add_argument("--json", action="store_true", help="Print the result as JSON.")
    add_quiet(parser)


def run(started: float, *, objective: str | None, penalty: Number | None, **options: Any) -> Exit:
    """Print a plan; or a policy where an objective is given, or several plans."""
    if objective is not None:
        return run_objective(started, objective=objective, penalty=penalty, **options)
    if penalty is not None:
        raise InputError("--penalty is for policies", hint="add '--objective cost'")
    if options["candidates"] is not None or options["within"] is not None:
        return run_choosing(started, **options)
    for name in ("candidates", "within", "orders", "wasteful", "fill", "diverse", "least", "rank", "rule", "pareto"):
        if options.pop(name):
            raise InputError(f"--{name} is for several plans", hint="add '--candidates 5'")
    return run_search(started, **options)


def run_search(
    started: float,
    *,
    domain: str,
    problem: str | None,
    mode: str,
    search: str | None,
    heuristic: str | None,
    engine: str | None,
    simulations: int | None,
    seed: int,
    budget: list[tuple[str, Number]] | None,
    deadline: Number | None,
    soft: list[Wish] | None,
    time_limit: float,
    memory_limit: float | None,
    plan_file: Path | None,
    tree: bool,
    json: bool,
    quiet: bool,
) -> Exit:
    """Print the plan or the whole result."""
    if plan_file is not None:
        check_writable(plan_file)
    memory, watch = limit_memory(memory_limit), Watch()

    def work() -> Result:
        from planner.cli.options import named
        from planner.language.loading.load import load
        from planner.portfolio.portfolio import check_any
        from planner.solve import solve as solve_problem

        check_any(search, heuristic)

        with interruptible(left(time_limit, started)) as watchman:
            loaded = wishing(limited(load(domain, problem), budget, deadline), soft)
            of_problem = named(domain, problem) if engine is None else nullcontext()
            with of_problem, watchman.searching() as cancel:
                return solve_problem(
                    loaded,
                    mode=mode,
                    search=search,
                    heuristic=heuristic,
                    engine=engine,
                    simulations=simulations,
                    seed=seed,
                    time_limit=left(time_limit, started),
                    memory_limit=memory,
                    on_progress=watch,
                    cancel=cancel,
                )

    with shown(watch, quiet=quiet):
        result = attempt(work, watch)
    with finishing(), collector_paused():
        if not quiet or result.status is Status.UNSUPPORTED:
            tell(summary(result))
        if tree and result.plan is not None:
            tell(drawn(result.plan))
        try:
            if result.plan is not None and plan_file is not None:
                write_atomically(plan_file, ipc_text(result))
        finally:
            show(result, json=json)
    return exit_of(result)


def attempt(work: Callable[[], Result], watch: Watch) -> Result:
    """Do `work`; where it is broken off from outside, what `watch` has seen is the result."""
    try:
        return work()
    except KeyboardInterrupt:
        return watch.result(StoppedBy.CANCELLED)
    except LimitReached as limit:
        return watch.result(limit.stopped_by)
    except MemoryError:
        return watch.result(StoppedBy.MEMORY)
    except OSError as error:
        if error.errno != errno.ENOMEM:
            raise
        return watch.result(StoppedBy.MEMORY)
    except UnsupportedError as error:
        return Result(Status.UNSUPPORTED, StoppedBy.INCOMPLETE, reason=str(error).removeprefix("unsupported: "))


def show(result: Result, *, json: bool) -> None:
    """Print the result on stdout: JSON, or the plan in the competition's format, or nothing where there is none."""
    if json:
        from json import dumps

        give(dumps(as_json(result), check_circular=False))
    elif result.plan is not None:
        give(ipc_text(result))


def ipc_text(result: Result) -> str:
    """Return the plan in the competition's format; what came of tasks is written with them."""
    from planner.language.pddl.plans import write_plan

    plan = result.expect_plan()
    if plan.tree is not None:
        return service_of(plan.problem).write_plan(plan)
    return write_plan(plan)


def drawn(plan: Plan) -> str:
    """Return the tasks that the steps of `plan` came of, drawn."""
    if plan.tree is None:
        return "no tree: the steps came of no tasks"
    return service_of(plan.problem).draw_plan(plan)


def summary(result: Result) -> str:
    """Return a line for people, what is known and what it took, and one for each wish that the plan does without."""
    took = result.statistics
    how = " with ".join(name for name in (took.search, took.heuristic) if name)
    seconds = took.ground_seconds + took.search_seconds
    expanded = f"{took.expanded:,} states expanded" if took.expanded else ""
    work = ", ".join(filter(None, [how, expanded, f"{seconds:.2f} s"]))
    return "\n".join([f"{verdict(result)} [{work}]", *without(result.forgone)])


def verdict(result: Result) -> str:
    """Return what is known, in words."""
    match result.status:
        case Status.OPTIMAL:
            return f"proved optimal: {plan_size(result)}"
        case Status.SOLVED:
            bound = known_bound(result)
            return f"solved: {plan_size(result)}; {bound}; ended: {ended(result)}"
        case Status.UNSOLVABLE:
            return f"proved unsolvable{': ' if result.reason else ''}{result.reason}"
        case Status.UNKNOWN:
            bound = "" if result.lower_bound is None else f", a plan costs {result.lower_bound} or more"
            return f"unknown: no plan found and none excluded{bound}; ended: {ended(result)}"
        case Status.UNSUPPORTED:
            return f"unsupported: {result.reason}"


def ended(result: Result) -> str:
    """Return what has ended the work, and why, where there is more to say."""
    return f"{result.stopped_by.value} ({result.reason})" if result.reason else result.stopped_by.value


def as_json(result: Result) -> dict[str, Any]:
    """Return `result` as JSON-ready data, with what its plan uses of what is limited, if there is any such thing."""
    from planner.plan import json_number
    from planner.resources import spent

    used = {} if result.plan is None else spent(result.plan)
    uses = {"uses": {name: json_number(number) for name, (number, _) in used.items()}} if used else {}
    return result.to_dict() | uses


def plan_size(result: Result) -> str:
    """Return "cost 5, 3 steps", and what is used of what may be."""
    plan = result.expect_plan()
    gained = [] if result.utility is None else [f"net benefit {result.net_benefit}", f"utility {result.utility}"]
    size = [*gained, f"cost {result.cost}", f"{len(plan)} step{'' if len(plan) == 1 else 's'}"]
    from planner.resources import spent

    return ", ".join([*size, *[f"{used} of {most} {name}" for name, (used, most) in spent(plan).items()]])


def known_bound(result: Result) -> str:
    """Return how good plans may be at most."""
    if result.lower_bound is None:
        return "no lower bound"
    if result.utility is not None:
        return f"net benefit {result.most_net_benefit} at most"
    gap = "" if result.gap is None else f" (gap {result.gap:.1%})"
    return f"lower bound {result.lower_bound}{gap}"
