"""The portfolio: which searches run for a task, when, with which share of the time, and why.

Nothing that is known of a task before the search tells which algorithm is best for it. So several take turns and share
the incumbent: the best plan prunes in all of them, and the first search that is exhausted proves it optimal. Where
deletes do not bind, a cheapest relaxed plan is optimal; a small state space is searched fastest without an estimate, a
larger one with LM-cut or abstractions; greedy search finds a first plan fastest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from planner.errors import InputError, UnsupportedError, did_you_mean
from planner.heuristics import REGISTRY as HEURISTICS
from planner.lightweight import Any, Final, dataclass
from planner.limits import work_seconds
from planner.options import SolveOptions
from planner.portfolio.tiers import Contender, Guard, contain_errors, contend, run_while, take_turns
from planner.portfolio.workplace import ABSTRACTIONS, Workplace, heuristic_of
from planner.search import REGISTRY as SEARCHES
from planner.search import Ending, Run
from planner.search.search_run import Steps

ELSEWHERE: Final = {"search": ("depth-first",), "heuristic": ("composition",)}
"""Names that only hierarchical problems know."""
MODES: Final = ("anytime", "first", "optimal")

BLIND_STATES: Final = 4_000_000
"""States after which uniform-cost search in plain Python gives up: they take about a GiB."""
FEW_STATES: Final = 100_000
"""The same in mode "first": in larger state spaces, searches with estimates find a plan sooner."""
HEAD_START: Final = 0.03
"""Seconds in which relaxed plans are tried before any other search begins."""
AHEAD: Final = 2.0
"""Seconds that lookahead has before greedy search begins to take turns with it."""
UNPREPARED: Final = 1.0
"""Seconds, times their shares, that other searches get before A* with abstractions prepares these.

In mode "first", before uniform search prepares its arrays: of 123 first plans, it found none.
"""
PATIENCE: Final = 0.1
"""Delay before h² pruning starts, in seconds."""
PATIENCE_FOR_ACTION: Final = 1e-5
"""Additional delay for each action, in seconds: with many actions, h² takes longer."""
PRUNING: Final = 3.0
"""Time limit of h² pruning, in seconds of processor time."""
FEWER: Final = 0.98
"""Restart the search for a proof only if h² leaves at most this fraction of the actions, or finds mutex states."""


Start = Callable[[Workplace], Steps]


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the portfolio table."""

    start: Start
    share: int
    """Share of the time, relative to the other searches of the portfolio."""
    why: str
    late: float = 0.0
    """Seconds of processor time that count as spent at the beginning; a negative number lets the search go first."""
    when: Callable[[Workplace], bool] = lambda _: True
    """The tasks for which the search runs."""
    improving: int = 0
    """Its share where there are lanes and a plan is known: improving plans leaves a core to proofs then."""
    apart: bool = True
    """Whether it may run in a lane; others share abstractions."""


def search_by(search: str, heuristic: str | None = None, **options: Any) -> Start:
    """Return the start of the search with this name, with the options of `Workplace.search`."""
    return lambda workplace: workplace.search(search, heuristic, **options)


def prove(workplace: Workplace) -> Steps:
    """Search for a cheapest plan; if that takes long, prune the task by h² and search what is left."""
    steps = run_portfolio("proof", workplace)
    until = work_seconds() + PATIENCE + PATIENCE_FOR_ACTION * len(workplace.task.actions)
    ending = yield from run_while(steps, lambda: work_seconds() < until)
    if ending is not None:
        return ending
    by, workplace.run.by = workplace.run.by, ("h2", "")
    pruned = yield from contain_errors(workplace.prune_by_h2(PRUNING), workplace.run)
    workplace.run.by = by
    if pruned is not None and not pruned.solvable:
        workplace.run.by = (pruned.by, "")
        return Ending.EXHAUSTED
    # If there is little to gain from the pruned task, go on with the searches that have begun, and add abstractions.
    if pruned is None or not (pruned.task.conflicts or len(pruned.actions) <= FEWER * len(workplace.task.actions)):
        begun = Contender(steps, 3, by=workplace.run.by)
        return (yield from take_turns([begun, *select_contenders("abstractions", workplace)], workplace.run))
    steps.close()
    return (yield from workplace.search_pruned(pruned, lambda left: run_portfolio("pruned proof", left)))


def search_anytime(workplace: Workplace) -> Steps:
    """Search for a first plan, and then for better ones."""
    known = workplace.run.plan
    workplace.relax()  # which all searches need, so that it takes nobody's time
    first = [
        Contender(workplace.look_ahead(), 1),
        Contender(workplace.search("greedy", landmarks=True), 1, spent=AHEAD),
    ]
    turns = take_turns(first, workplace.run)
    if (yield from run_while(turns, lambda: workplace.run.plan is known)) is Ending.EXHAUSTED:
        return Ending.EXHAUSTED
    turns.close()
    yield  # in mode "first", the search ends here
    return (yield from run_portfolio("improvement", workplace))


def can_make_abstractions(workplace: Workplace) -> bool:
    """Return whether machine code can compute abstractions of the task."""
    return workplace.has_machine_code(ABSTRACTIONS) and HEURISTICS["scp"].supports(workplace.task)


_RELAXED: Final = Entry(
    lambda workplace: workplace.try_relaxed_plans(),
    3,
    "where deletes do not bind, a cheapest relaxed plan is optimal",
    late=-HEAD_START,
)
_PROOF: Final = Entry(prove, 3, "only a search for a cheapest plan gives bounds")
_ANYTIME: Final = Entry(
    search_anytime, 4, "users want a first plan soon, and its cost prunes all searches", improving=1
)
_SMALL: Final = "a small state space is searched fastest without an estimate"
_EXACT: Final = (
    Entry(search_by("astar"), 2, "LM-cut is the best guide in a large state space", apart=False),
    Entry(search_by("uniform", states=BLIND_STATES), 1, _SMALL),
)
_ABSTRACTIONS: Final = (
    Entry(
        search_by("astar", "scp"),
        2,
        "abstractions see interactions that LM-cut ignores, but take long to prepare: the others go first",
        late=2 * UNPREPARED,
        when=can_make_abstractions,
        apart=False,
    ),
)
PORTFOLIOS: Final[dict[str, tuple[Entry, ...]]] = {
    # one for each mode
    "first": (_ANYTIME, Entry(search_by("uniform", states=FEW_STATES, pruning=()), 1, _SMALL, late=UNPREPARED)),
    "anytime": (_RELAXED, _PROOF, _ANYTIME),
    "optimal": (_RELAXED, _PROOF),
    # within `prove`: before h² pruning, after it on the same task, and after it on the pruned task
    "proof": _EXACT,
    "abstractions": _ABSTRACTIONS,
    "pruned proof": _EXACT + _ABSTRACTIONS,
    # within `search_anytime`, after the first plan
    "improvement": (
        Entry(lambda workplace: workplace.improve_windows(), 1, "windows of the incumbent are small problems"),
        Entry(search_by("weighted", landmarks=True), 1, "with falling weights of the estimate, plans become cheaper"),
    ),
}
"""The portfolio table: the searches that take turns in each mode, and within some of these searches."""


def run_portfolio(name: str, workplace: Workplace) -> Steps:
    """Let the searches of the portfolio called `name` take turns until one is exhausted."""
    return take_turns(select_contenders(name, workplace), workplace.run)


def select_contenders(name: str, workplace: Workplace) -> list[Contender]:
    """Return the searches of the portfolio called `name` that suit the task."""
    found = []
    for each in PORTFOLIOS[name]:
        if each.when(workplace):

            def begin(run: Run, guard: Guard | None, start: Start = each.start) -> Steps:
                return start(workplace.branch(run, guard))

            found.append(
                contend(workplace.run, begin, each.share, spent=each.late, improving=each.improving)
                if each.apart
                else Contender(each.start(workplace), each.share, spent=each.late)
            )
    return found


def run_named_search(workplace: Workplace, search: str, heuristic: str | None) -> tuple[Steps, str]:
    """Start the search that the options name; return it, and a sentence about what it cannot prove ("" for nothing)."""
    name, caveat = heuristic_of(search, heuristic), ""
    kind = HEURISTICS[name or "blind"]
    if not SEARCHES[search].complete:
        caveat = f"{search} proves nothing: it may give up states that lead to the goal"
    elif not workplace.is_safe(kind):
        caveat = f"{search} proves nothing with {name}, which may give up states that lead to the goal"
    elif SEARCHES[search].needs_admissible and not kind.admissible:
        caveat = f"{search} proves nothing with {name}, which may estimate too much"
    workplace.run.trusted = not caveat
    return workplace.search(search, heuristic), caveat


def run_plain_search(
    workplace: Workplace, search: str, heuristic: str | None, pruning: Collection[str]
) -> tuple[Steps, str]:
    """Start one search with the named pruning; return it, and a sentence about what it cannot prove.

    Raises `InputError` for pruning that the search does not know with this heuristic.
    """
    steps, caveat = run_named_search(workplace, search, heuristic)
    named = heuristic_of(search, heuristic)
    for name in pruning:
        if name != "h2" and not workplace.has_kernels(search, named):
            raise InputError(f"{search} does not prune by {name} with {named}", hint="only kernels do")
    return _prune_first(workplace, search, heuristic) if "h2" in pruning else steps, caveat


def _prune_first(workplace: Workplace, search: str, heuristic: str | None) -> Steps:
    """Prune the task by h² to the end, and search what is left; raises `UnsupportedError` if it is too large."""
    pruned = yield from workplace.prune_by_h2(None)
    if pruned is None:
        raise UnsupportedError("the task is too large for h²", hint="leave `pruning` out")
    if not pruned.solvable:
        workplace.run.by = (pruned.by, "")
        return Ending.EXHAUSTED
    return (yield from workplace.search_pruned(pruned, lambda left: left.search(search, heuristic)))


def check_names(options: SolveOptions) -> str | None:
    """Return the search that the options name, if any; raise `InputError` for unknown names."""
    check_name("mode", options.mode, MODES)
    check_name("search", options.search, SEARCHES)
    check_name("heuristic", options.heuristic, HEURISTICS)
    return options.names[0]


def check_names_of_any_kind(search: str | None, heuristic: str | None) -> None:
    """Raise `InputError` for names that neither classical nor hierarchical problems know."""
    check_name("search", search, (*SEARCHES, *ELSEWHERE["search"]))
    check_name("heuristic", heuristic, (*HEURISTICS, *ELSEWHERE["heuristic"]))


def check_name(what: str, name: str | None, known: Collection[str]) -> None:
    """Raise `InputError` if `name`, the name of a `what`, is not `known`."""
    if name is not None and not (isinstance(name, str) and name in known):
        hint = did_you_mean(str(name), known) or f"there are {', '.join(known)}"
        raise InputError(f"there is no {what} '{name}'", hint=hint)
