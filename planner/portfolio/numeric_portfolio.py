"""The searches that run for a numeric task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import cache, partial
from threading import Lock

from planner.errors import PlanError, UnsupportedError
from planner.grounding.ground_numeric import ground_numeric
from planner.heuristics.numeric_lmcut_compiled import bound_numeric
from planner.heuristics.numeric_state_equation_compiled import write_state_equation
from planner.lightweight import TYPE_CHECKING, Final, TypeVar, dataclass
from planner.limits import LimitReached, work_seconds
from planner.options import SolveOptions
from planner.plan import Result, Status, Step, StoppedBy, unsupported_result
from planner.portfolio.classical_beside_numeric import run_classical_beside
from planner.portfolio.incumbent import Incumbent
from planner.portfolio.search_history import Recorder
from planner.portfolio.tiers import Contender, Guard, contend, run_until_plan, run_while, take_turns
from planner.search.search_run import Ending, Run, Steps
from planner.task.numeric_task_compiled import NumericSpace, pack_numeric_task

if TYPE_CHECKING:
    from planner.jit.library import Call
    from planner.limits import Limits
    from planner.model import Problem
    from planner.task.numeric_pricing import Pricing

T = TypeVar("T")

KERNELS: Final = ("best_first", "astar", "numeric_action_elimination")
"""Modules of kernels that search numeric tasks."""
WORK: Final = 2_000_000
"""Steps of inner loops between two pauses of A*: some milliseconds."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the portfolio table."""

    search: str
    heuristic: str
    share: int
    """Its share of the time of the searches for the mode."""
    modes: tuple[str, ...]
    why: str
    weight: int = 1
    """What its estimates are multiplied by."""


TABLE: Final = (
    Entry("numeric", "hmrp", 8, ("first", "anytime"), "finds a first plan, by the searches of `FIRST_PLAN`"),
    Entry(
        "astar",
        "blind",
        1,
        ("first", "anytime", "optimal"),
        "the fastest way to a proof in small state spaces, which may also be that there is no plan",
    ),
    Entry("astar", "equation", 2, ("anytime", "optimal"), "sees how far sums are from what the goal needs"),
    Entry(
        "astar",
        "equation+lmcut",
        3,
        ("anytime", "optimal"),
        "sees also what actions require, but LM-cut takes ten times as long",
    ),
    Entry("weighted astar", "lmcut", 1, ("anytime",), "finds better plans, which it does not prove", weight=3),
)
"""The searches for numeric tasks, in the order of their first turns, each from the beginning of the search.

On the 100 tasks of the competition of 2023 in 30 s, those of mode "first" solve 95 and those of mode "optimal" prove 40
(docs/reference/benchmarks.md).
"""
FIRST_PLAN: Final[tuple[tuple[int, int, tuple[str, ...]], ...]] = (
    (3, 2_000, ("novel", "jumps")),
    (2, 2_000, ("novel", "jumps", "pays")),
    (1, 0, ("novel", "youngest")),
    (1, 0, ("youngest",)),
)
"""The searches for a first plan: share, evaluations before the next one begins, and options."""
SHORTENING: Final = (0.01, 0.1)
"""Processor time to shorten the first plan: so many seconds, and this part of the time of the search for it.

On the 100 tasks of the competition of 2023, plans of 28,923 and 3,267 steps take 80 and 46 ms.
"""


def search_numeric(incumbent: Incumbent, options: SolveOptions) -> Result:
    """Ground the numeric problem of `incumbent` and search. Raises `LimitReached`."""
    refused = _refuse(options)
    if refused is not None:
        return refused
    try:
        return _search_compiled(incumbent, options)
    except PlanError as error:  # the metric has no value in some state, or one that is no decimal
        return unsupported_result(str(error))


def _search_compiled(incumbent: Incumbent, options: SolveOptions) -> Result:
    problem, limits = incumbent.problem, incumbent.limits
    try:
        task = ground_numeric(problem, limits)
    except UnsupportedError as error:
        return _search_exactly(incumbent, options, unsupported_result(error.construct, error.hint))
    incumbent.has_bounds = task.is_priced  # else a limit before the steps are priced would leave a bound of 0
    incumbent.take_task(task.task)
    if task.task.unreachable_goal is not None:
        return incumbent.unreachable_result()
    space = pack_numeric_task(task, limits.check)
    if space is None:
        return _search_exactly(incumbent, options, unsupported_result("numbers too great for search in 64 bits"))
    from planner.jit import library
    from planner.search.task_compiled import tier_of

    entries = library.load_or_plain()
    incumbent.run.note_tier(tier_of(entries, *KERNELS))
    if task.is_priced:
        found = incumbent.improve(run_searches(space, entries, incumbent, options.mode), options.mode)
        is_open = found.status is Status.UNKNOWN and found.stopped_by is StoppedBy.INCOMPLETE
        return _search_exactly(incumbent, options, found) if is_open else found
    priced = _price_by_state(problem, limits)
    if priced is not None:
        incumbent.take_task(priced[1].source.task)
        incumbent.offset, incumbent.has_bounds = priced[1].offset, True
        return incumbent.improve(_search_both(space, priced, entries, incumbent, options.mode), options.mode)
    incumbent.caveat = "there is no bound of how far steps improve the metric: any plan will do"
    steps = run_until_plan(run_searches(space, entries, incumbent, "first"), incumbent.run)
    return _improve_unpriced(incumbent, options, steps)


def _improve_unpriced(incumbent: Incumbent, options: SolveOptions, steps: Steps) -> Result:
    """Search for any plan by `steps`, then for the best in the states one by one, if there are few."""
    found = incumbent.improve(steps, options.mode)
    is_open = found.status is Status.UNKNOWN and found.stopped_by is StoppedBy.INCOMPLETE
    if is_open:
        return _search_exactly(incumbent, options, found)
    if found.plan is None or options.mode == "first":
        return found
    better = _search_exactly(incumbent, options, found)
    return better if better.plan is not None and better.plan.cost <= found.plan.cost else found


def _search_exactly(incumbent: Incumbent, options: SolveOptions, other: Result) -> Result:
    """Search the states one by one, if there are few; return the `other` result where that finds nothing in time."""
    from planner.search.exact_numeric_search import search_exactly

    is_first, began = options.mode == "first", incumbent.limits.elapsed
    try:
        found = search_exactly(incumbent.problem, incumbent.limits, other.reason, first=is_first)
    except LimitReached as limit:
        if limit.stopped_by is StoppedBy.TIME:
            return other
        raise
    if found is None:
        return other
    recorder, now = Recorder(), incumbent.limits.elapsed
    recorder.take_turns(other.history, 0.0)
    recorder.note_turn((found.statistics.search, found.statistics.heuristic), began, now)
    return recorder.finish(now, found)


Priced = tuple[NumericSpace, "Pricing"]


def _price_by_state(problem: Problem, limits: Limits) -> Priced | None:
    """Ground `problem` with its metric, and price steps by the state; return None where that gives no costs."""
    from planner.task.numeric_pricing import price_by_state

    try:
        task = ground_numeric(problem, limits, with_metric=True)
    except UnsupportedError:
        return None
    pricing = None if task.task.unreachable_goal is not None else price_by_state(task)
    space = None if pricing is None else pack_numeric_task(pricing.source, limits.check)
    return None if pricing is None or space is None else (space, pricing)


def _search_both(
    space: NumericSpace, priced: Priced, entries: Mapping[str, Call], incumbent: Incumbent, mode: str
) -> Steps:
    """Search for any plan in `space`, which has no metric, and for the best one in the space that is `priced`."""
    run, (whole, pricing) = incumbent.run, priced
    proofs = run_searches(whole, entries, incumbent, "optimal", pricing)
    if mode == "optimal":
        return proofs
    number = {_name(action.step): place for place, action in enumerate(pricing.source.task.actions)}

    def find_any() -> Steps:
        own, before = Run(by=run.by, failures=run.failures), Run()
        for _ in find_first_plan(space, entries, own):
            run.add(own, before)
            if own.plan is not None:
                break
            yield
        if own.plan is None:
            return Ending.INCOMPLETE
        plan = [number[_name(space.source.task.actions[action].step)] for action in own.plan]
        run.report_plan(plan, incumbent.price_plan(plan), own.found_by)
        yield
        return Ending.FIRST_PLAN

    return take_turns([Contender(find_any(), 8, by=("numeric", "hmrp")), Contender(proofs, 6)], run)


def _name(step: Step) -> tuple[str, tuple[str, ...]]:
    return step.action, step.arguments


def run_searches(
    space: NumericSpace, entries: Mapping[str, Call], incumbent: Incumbent, mode: str, pricing: Pricing | None = None
) -> Steps:
    """Run the searches of `TABLE` for `mode`, which take turns and share the incumbent.

    For a proof, the classical portfolio runs beside these searches where the fluents take few values.
    """
    from planner.search.astar_compiled import NO_PRICES, OWN_PRUNING, CompiledAstar
    from planner.search.numeric_astar_estimates_compiled import NumericEstimates, Relax, Write
    from planner.search.task_compiled import Board

    run, board = incumbent.run, Board(space.source.task, entries, incumbent.limits.check, numeric=space)
    costs = board.costs if pricing is None else pricing.least
    relax: Relax = partial(bound_numeric, space, costs)
    write: Write = partial(write_state_equation, space, costs)
    share = cache if run.lanes is None else _copy_for_each  # searches write to them
    relax, write = share(relax), share(write)

    def prepare_and_search(heuristic: str, weight: int, own: Run, guard: Guard | None) -> Steps:
        search = CompiledAstar(
            board if guard is None else board.branch(guard(board.check)),
            estimator=NumericEstimates(heuristic, costs, relax, write),
            weight=weight,
            prices=NO_PRICES if pricing is None else pricing.prices,
            pruning=() if mode == "first" else OWN_PRUNING,
            work=WORK,
        )
        return (yield from search.steps(own))

    def begin(entry: Entry) -> Contender:
        make = (
            partial(_find_apart, space, entries)
            if entry.search == "numeric"
            else partial(prepare_and_search, entry.heuristic, entry.weight)
        )
        return contend(run, make, entry.share, by=(entry.search, entry.heuristic))

    steps = take_turns([begin(entry) for entry in TABLE if mode in entry.modes], run)
    if mode == "first" or (pricing is not None and len(pricing.prices.end)):
        return steps
    return run_classical_beside(steps, space.source, pricing, run, incumbent.limits)


def _copy_for_each(make: Callable[[], T]) -> Callable[[], T]:
    """Return a function that calls `make` once, and returns a copy of what it returned to each search."""
    lock, made = Lock(), list[T]()

    def copy_made() -> T:
        with lock:
            if not made:
                made.append(make())
        return deepcopy(made[0])

    return copy_made


def _find_apart(space: NumericSpace, entries: Mapping[str, Call], run: Run, guard: Guard | None) -> Steps:
    """Search for any plan, with memory of its own for derived facts if it may be at work in a lane."""
    return find_first_plan(space if guard is None else space.branch(), entries, run)


def find_first_plan(space: NumericSpace, entries: Mapping[str, Call], run: Run) -> Steps:
    """Search for any plan by best-first searches, and shorten it where its steps have costs of their own."""
    began = work_seconds()
    ending = yield from _search_first(space, entries, run)
    if run.plan is None or not space.source.is_priced:
        return ending
    from planner.search.numeric_action_elimination import shorten_plan

    costs = [action.cost for action in space.source.task.actions]
    least, part = SHORTENING
    given, run.refining = run.plan, True
    plan = yield from shorten_plan(space, entries, given, least + part * (work_seconds() - began))
    run.refining = False
    if run.plan is given:
        run.plan = plan
    run.report_plan(plan, sum([costs[action] for action in plan]))
    return ending


def _go_on(steps: Callable[[Run], Steps], run: Run, _: Guard | None) -> Steps:
    """Run `steps`, which have memory of their own in any case."""
    return steps(run)


def _search_first(space: NumericSpace, entries: Mapping[str, Call], run: Run) -> Steps:
    """Search for any plan by best-first searches that take turns, in several orders of equal states."""
    from planner.search.best_first_compiled import BestFirst

    contenders: list[Contender] = []
    for share, alone, options in FIRST_PLAN:
        at = space if run.lanes is None else space.branch()
        search = BestFirst(at, entries, [1] * len(space.source.task.actions), options=options)
        contender = contend(run, partial(_go_on, search.steps), share, by=("numeric", "hmrp"))
        ending = yield from run_while(contender.run_here(run), partial(search.has_evaluated_fewer, alone))
        if ending is Ending.FIRST_PLAN:
            return ending
        if ending is None:
            contenders.append(contender)
    return (yield from run_until_plan(take_turns(contenders, run), run))


def _refuse(options: SolveOptions) -> Result | None:
    """Return a refusal of what numeric search does not take."""
    name, _ = options.names
    has = {
        f"the search {name!r}": name is not None,
        "plain search": options.plain,
    }
    found = next((what for what, there in has.items() if there), None)
    return None if found is None else unsupported_result(f"{found} in a problem with numbers")
