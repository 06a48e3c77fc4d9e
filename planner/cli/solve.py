"""`forethought solve`: find a plan, and prove it optimal where time allows; with `--objective`, find a policy.

On a terminal a line shows the progress of the search; a pipe receives nothing but the result.
"""

from __future__ import annotations

import errno
import sys
import threading
import time
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

from planner.cli import options
from planner.cli.candidates import add_candidate_options, run_candidates
from planner.cli.interrupt import delay_interrupts, interruptible, limit_memory, remaining_seconds
from planner.cli.output import (
    Exit,
    check_writable,
    exit_of,
    give,
    is_stream,
    is_terminal,
    number_file,
    tell,
    write_atomically,
)
from planner.cli.parser import Parser, choice_of, option, read_amount, read_positive_number, read_whole_number
from planner.errors import InputError, UnsupportedError
from planner.garbage_collection import pause_collector
from planner.lightweight import TYPE_CHECKING, Any, Final
from planner.limits import STOPS, stop_reason
from planner.model.problem import counts_makespan_alone
from planner.plan import Plan, Progress, Result, Status, StoppedBy, describe_forgone, json_number
from planner.problem_kinds import classical_of, service_of

if TYPE_CHECKING:
    from rich.live import Live

    from planner.policies.decision import Decision

DRAW_AFTER_SECONDS: Final = 0.4
"""Delay of the progress line, in seconds: shorter work neither draws it nor loads the library that draws."""
REDRAWS_PER_SECOND: Final = 4


class PlanFile:
    """Writes each better plan to a file, or to `FILE.1`, `FILE.2` and so on; a killed process leaves the last one."""

    def __init__(self, path: Path, *, numbered: bool) -> None:
        """Raise `OSError` if plans cannot be written to `path`."""
        check_writable(path)
        if numbered:
            check_writable(number_file(path, 1))
        self._path = path
        self._numbered = numbered
        self._count = 0
        self._written: Plan | None = None

    def write(self, plan: Plan) -> None:
        """Write `plan`, unless it is the last one that was written; raises `OSError`."""
        if self._written is not None and plan.steps == self._written.steps:
            return
        path = number_file(self._path, self._count + 1) if self._numbered else self._path
        write_atomically(path, options.plan_text(plan))
        self._count += 1
        self._written = plan

    def keep(self, plan: Plan) -> None:
        """Write `plan` during the search, for which a full disk is no end: `write` tries again at the end.

        A pipe or device gets the last plan only.
        """
        if not is_stream(self._path):
            with suppress(OSError):
                self.write(plan)


class Watch:
    """Keeps the latest `Progress`, for the progress line and for the result of an interrupted search.

    Its plans also go to `file`.
    """

    def __init__(self, file: PlanFile | None = None) -> None:
        self.latest: Progress | None = None
        self._file = file
        self._started = time.monotonic()

    def __call__(self, progress: Progress) -> None:
        """Note `progress`."""
        self.latest = progress
        if self._file is not None and progress.plan is not None:
            self._file.keep(progress.plan)

    def result(self, stopped_by: StoppedBy) -> Result:
        """Make the result of a search that `stopped_by` has ended, from the latest progress."""
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
def show_progress(watch: Watch, *, quiet: bool) -> Iterator[None]:
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
OBJECTIVES: Final = ("success", "cost", "utility")
POLICY_SEARCHES: Final = "For policies: vi, lao, plans or mcts."
"""The part of the help on `--search` about policies; written here so that no policy search is loaded for the help."""
POLICY_OPTIONS: Final = (
    "domain problem objective penalty search simulations seed exploration budget deadline soft time_limit memory_limit"
    " plan_file json quiet"
)
"""The options of `solve` that apply to policies."""


def _search_help() -> str:
    """Write the help on `--search`, with the names of the registry."""
    from planner.search import REGISTRY

    hierarchical = "For hierarchical problems: depth-first, greedy, weighted, astar or uniform."
    return f"Search to run instead of several in turn: {_join(REGISTRY)}. {hierarchical} {POLICY_SEARCHES}"


def _heuristic_help() -> str:
    """Write the help on `--heuristic`, with the names of the registry."""
    from planner.heuristics import REGISTRY

    hierarchical = "For hierarchical problems: composition or blind."
    return f"Heuristic to use instead of the search's default: {_join(REGISTRY)}. {hierarchical}"


def _join(names: Iterable[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}"


SEARCHES: Final = (
    option(
        "--mode",
        "Improve plans until the proof, stop at the first plan, or search for the proof only (default: anytime).",
        type=choice_of(*MODES),
        default="anytime",
        metavar="|".join(MODES),
    ),
    option("--search", _search_help, metavar="NAME"),
    option("--heuristic", _heuristic_help, metavar="NAME"),
    option("--engine", "Planner of unified-planning to use instead of our own.", metavar="NAME"),
    option(
        "--simulations", "Number of simulations after which '--search mcts' stops.", type=read_whole_number, metavar="N"
    ),
    option(
        "--seed",
        "Seed of the random choices of a search (default: %(default)s).",
        type=read_whole_number,
        default=0,
        metavar="N",
    ),
    option(
        "--exploration",
        "Weight of rarely tried steps in '--search mcts' for policies (default: 0.3).",
        type=read_amount,
        metavar="N",
    ),
    option(
        "--jobs",
        "Number of searches that may be at work at the same time, each on a processor (default: 1).",
        type=read_positive_number,
        metavar="N",
    ),
)
DUMP: Final = (
    option(
        "--search-tree-dump",
        "Tell the search debugger at URL, on this machine, of each expansion; implies --plain.",
        metavar="URL",
    ),
)
OUTPUT: Final = (
    option(
        "--plan-file",
        "Write the plan to FILE as well; in mode 'anytime', write each better plan as soon as it is found.",
        type=Path,
        metavar="FILE",
    ),
    option(
        "--every-plan",
        "Write the plans to FILE.1, FILE.2 and so on, each better than the one before.",
        action="store_true",
    ),
    option("--proved", "Give no plan but one that is proved optimal.", action="store_true"),
    option("--tree", "Draw the decomposition tree of a hierarchical plan on stderr.", action="store_true"),
    option("--json", "Print the result as JSON.", action="store_true"),
)


def add_arguments(parser: Parser) -> None:
    """Declare the arguments of the command."""
    options.add_domain(parser)
    options.add_problem(parser)
    parser.add_all(SEARCHES)
    options.add_plain(parser)
    parser.add_all(DUMP)
    add_objective(parser)
    options.add_problem_changes(parser)
    add_candidate_options(parser)
    options.add_limits(parser, default=10.0)
    parser.add_all(OUTPUT)
    options.add_quiet(parser)


def run(started: float, given: Namespace) -> Exit:
    """Print a plan, or a policy where an objective is given, or several plans."""
    if given.objective is not None:
        return run_objective(started, given)
    if given.penalty is not None:
        raise InputError("--penalty is for policies", hint="add '--objective cost'")
    if given.exploration is not None:
        raise InputError("--exploration is for policies", hint="add '--objective success --search mcts'")
    if given.candidates is not None or given.within is not None:
        return run_candidates(started, given)
    for name in ("orders", "wasteful", "fill", "diverse", "least", "rank", "rule", "pareto"):
        if getattr(given, name):
            raise InputError(f"--{name} is for several plans", hint="add '--candidates 5'")
    return run_search(started, given)


def run_search(started: float, given: Namespace) -> Exit:
    """Print the plan or the whole result."""
    if given.every_plan and given.plan_file is None:
        raise InputError("--every-plan is for plan files", hint="add '--plan-file FILE'")
    if given.proved and given.mode == "first":
        raise InputError("--proved goes without --mode first", hint="the first plan is rarely proved optimal")
    debugger = None if given.search_tree_dump is None else open_debugger(given.search_tree_dump)
    if debugger is not None:
        given.plain = True
    plain = options.plain_options(given) | ({} if debugger is None else {"on_expansion": debugger})
    file = None if given.plan_file is None else PlanFile(given.plan_file, numbered=given.every_plan)
    keep = None if given.proved or given.mode != "anytime" else file
    memory, watch = limit_memory(given.memory_limit), Watch(keep)

    def solve_given() -> Result:
        from planner.portfolio.portfolio import check_names_of_any_kind
        from planner.solve import solve

        check_names_of_any_kind(given.search, given.heuristic)
        with interruptible(remaining_seconds(given.time_limit, started)) as watchman:
            problem = options.load_changed(given)
            of_problem = options.name_source(given.domain, given.problem) if given.engine is None else nullcontext()
            with of_problem, watchman.searching() as cancel:
                return solve(
                    problem,
                    mode=given.mode,
                    search=given.search,
                    heuristic=given.heuristic,
                    engine=given.engine,
                    simulations=given.simulations,
                    seed=given.seed,
                    time_limit=remaining_seconds(given.time_limit, started),
                    memory_limit=memory,
                    on_progress=watch,
                    cancel=cancel,
                    jobs=given.jobs or 1,
                    **plain,
                )

    with show_progress(watch, quiet=given.quiet):
        result = attempt(solve_given, watch)
    if debugger is not None:
        debugger.end(result.plan)
    with delay_interrupts(), pause_collector():
        if not given.quiet or result.status is Status.UNSUPPORTED:
            tell(summarise(result))
        if given.tree and result.plan is not None:
            tell(_draw_tree(result.plan))
        withheld = given.proved and result.status is Status.SOLVED
        try:
            if result.plan is not None and file is not None and not withheld:
                file.write(result.plan)
        finally:
            _print_result(result, json=given.json, withheld=withheld)
    return Exit.NO_VERDICT if withheld and exit_of(result) is Exit.OK else exit_of(result)


def open_debugger(url: str) -> Any:
    """Return what tells the search debugger at `url` of expansions; raises `InputError` where there is none.

    The package that knows debuggers names its class in the entry point `http` of the group
    `forethought.search_debuggers`.
    """
    from importlib.metadata import entry_points

    for entry in entry_points(group="forethought.search_debuggers", name="http"):
        return entry.load()(url)
    raise InputError("no installed package knows search debuggers")


def attempt(work: Callable[[], Result], watch: Watch) -> Result:
    """Do `work`; if a limit or a signal ends it, return the latest result of `watch`."""
    try:
        return work()
    except STOPS as stop:
        return watch.result(stop_reason(stop))
    except OSError as error:
        if error.errno != errno.ENOMEM:
            raise
        return watch.result(StoppedBy.MEMORY)
    except UnsupportedError as error:
        return Result(Status.UNSUPPORTED, StoppedBy.INCOMPLETE, reason=str(error).removeprefix("unsupported: "))


def _print_result(result: Result, *, json: bool, withheld: bool) -> None:
    """Print the result on stdout: as JSON, or the plan in the competition's format unless it is `withheld`."""
    if json:
        from json import dumps

        give(dumps(_as_json(result), check_circular=False))
    elif result.plan is not None and not withheld:
        give(options.plan_text(result.plan))


def _draw_tree(plan: Plan) -> str:
    """Draw the decomposition tree of `plan` as text."""
    if plan.tree is None:
        return "no tree: the steps came of no tasks"
    return service_of(plan.problem).draw_plan(plan)


def summarise(result: Result) -> str:
    """Describe the result and the work in one line, and each forgone soft goal and each failed search in one."""
    took = result.statistics
    how = " with ".join(name for name in (took.search, took.heuristic) if name)
    seconds = took.ground_seconds + took.search_seconds
    expanded = f"{took.expanded:,} states expanded" if took.expanded else ""
    work = ", ".join(filter(None, [how, expanded, f"{seconds:.2f} s"]))
    failures = map(str, result.history.failures)
    return "\n".join([f"{describe_status(result)} [{work}]", *describe_forgone(result.forgone), *failures])


def describe_status(result: Result) -> str:
    """Describe the status of `result` and its plan in words."""
    ended = f"{result.stopped_by.value} ({result.reason})" if result.reason else result.stopped_by.value
    match result.status:
        case Status.OPTIMAL:
            return f"proved optimal: {_describe_plan(result)}"
        case Status.SOLVED:
            return f"solved: {_describe_plan(result)}; {_describe_bound(result)}; ended: {ended}"
        case Status.UNSOLVABLE:
            return f"proved unsolvable{': ' if result.reason else ''}{result.reason}"
        case Status.UNKNOWN:
            bound = "" if result.lower_bound is None else f", a plan costs {result.lower_bound} or more"
            return f"unknown: no plan found and none excluded{bound}; ended: {ended}"
        case Status.UNSUPPORTED:
            return f"unsupported: {result.reason}"


def _as_json(result: Result) -> dict[str, Any]:
    """Return `result` as JSON-ready data, with the plan's use of limited resources."""
    from planner.resources import spent

    used = {} if result.plan is None else spent(result.plan)
    uses = {"uses": {name: json_number(number) for name, (number, _) in used.items()}} if used else {}
    return result.to_dict() | uses


def _describe_plan(result: Result) -> str:
    """Describe the plan as "cost 5, 3 steps", with its utility and its use of limited resources."""
    from planner.resources import spent

    plan = result.expect_plan()
    gained = [] if result.utility is None else [f"net benefit {result.net_benefit}", f"utility {result.utility}"]
    is_makespan = bool(plan.times) and counts_makespan_alone(classical_of(plan.problem))
    cost = f"makespan {result.cost} s" if is_makespan else f"cost {result.cost}"
    size = [*gained, cost, f"{len(plan)} step{'' if len(plan) == 1 else 's'}"]
    return ", ".join([*size, *[f"{used} of {most} {name}" for name, (used, most) in spent(plan).items()]])


def _describe_bound(result: Result) -> str:
    """Describe the lower bound with the gap, or the upper bound on the net benefit."""
    if result.lower_bound is None:
        return "no lower bound"
    if result.utility is not None:
        return f"net benefit {result.most_net_benefit} at most"
    gap = "" if result.gap is None else f" (gap {result.gap:.1%})"
    return f"lower bound {result.lower_bound}{gap}"


def add_objective(parser: Parser) -> None:
    """Add `--objective` and `--penalty`."""
    about = "Find a policy for uncertain outcomes that maximises success or utility, or minimises the cost."
    parser.add_argument("--objective", type=choice_of(*OBJECTIVES), metavar="|".join(OBJECTIVES), help=about)
    about = "Cost of giving up, for '--objective cost'; by default, the probability of success comes first."
    parser.add_argument("--penalty", type=read_amount, metavar="N", help=about)


def run_objective(started: float, given: Namespace) -> Exit:
    """Print the policy or the whole decision."""
    from json import dumps

    options.refuse_options(given, POLICY_OPTIONS, "objective", "it finds policies, not plans")
    if given.plan_file is not None:
        check_writable(given.plan_file)
    decision = _decide(given, remaining_seconds(given.time_limit, started), limit_memory(given.memory_limit))
    with delay_interrupts():
        if not given.quiet or decision.status is Status.UNSUPPORTED:
            tell(_summarise_decision(decision))
        if decision.policy is not None and given.plan_file is not None:
            write_atomically(given.plan_file, dumps(decision.policy.to_dict(), check_circular=False))
        if given.json:
            give(dumps(decision.to_dict(), check_circular=False))
        elif decision.policy is not None:
            give(str(decision.policy))
    return exit_of(Result(decision.status, decision.stopped_by))


def _summarise_decision(decision: Decision) -> str:
    """Describe the decision and the work in one line."""
    took = decision.statistics
    how = " with ".join(name for name in (took.search, took.heuristic) if name)
    seconds = took.ground_seconds + took.search_seconds
    work = [how, f"{took.expanded:,} states expanded", f"{seconds:.2f} s"] if how else [f"{seconds:.2f} s"]
    return f"{decision.describe()} [{', '.join(work)}]"


def _decide(given: Namespace, seconds: float | None, memory: float | None) -> Decision:
    """Find a policy; when a limit or a signal ends the work, return a decision without one."""
    from planner.policies.decide import decide
    from planner.policies.decision import Decision, Objective

    objective = Objective[given.objective.upper()]
    try:
        with interruptible(seconds) as watchman:
            problem = options.load_changed(given)
            with options.name_source(given.domain, given.problem), watchman.searching() as cancel:
                return decide(
                    problem,
                    objective=objective,
                    penalty=given.penalty,
                    search=given.search,
                    simulations=given.simulations,
                    seed=given.seed,
                    exploration=given.exploration,
                    time_limit=seconds,
                    memory_limit=memory,
                    cancel=cancel,
                )
    except STOPS as stop:
        return Decision(Status.UNKNOWN, stop_reason(stop), objective)
