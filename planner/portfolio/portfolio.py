"""Which searches are run for a task, and how they share the time.

Where deletes do not bind, a cheapest relaxed plan is all that is needed. Else Python searches a small state space
fastest without any estimate, a larger one with LM-cut, and finds a first plan fastest by greedy search. No look at a
task tells which it is, so they take turns on it, and share what they find: the best plan cuts off what costs as much in
all of them, and the first that is exhausted has the proof.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection

from planner.errors import InputError, did_you_mean
from planner.heuristics import REGISTRY as HEURISTICS
from planner.lightweight import Any, Final, dataclass
from planner.options import SolveOptions
from planner.portfolio.tiers import Contender, take_turns
from planner.portfolio.workplace import Workplace, heuristic_for
from planner.search import REGISTRY as SEARCHES
from planner.search import Ending
from planner.search.search_run import Steps

ELSEWHERE: Final = {"search": ("depth-first",), "heuristic": ("composition",)}
"""Names that are for hierarchical problems only."""
MODES: Final = ("anytime", "first", "optimal")
BLIND_STATES: Final = 4_000_000
"""States after which uniform-cost search in plain Python gives up: they take about a GiB."""
FEW_STATES: Final = 100_000
"""The same where any plan will do: what is larger, estimates find sooner."""
HEAD_START: Final = 0.03
"""Seconds in which relaxed plans are tried before anything else: where deletes do not bind, nothing else is needed."""
PATIENCE: Final = 0.1
"""Seconds that the search for a proof is at work before it is looked for what no plan needs."""
PATIENCE_FOR_ACTION: Final = 1e-5
"""Seconds more for each action: where there are many, that takes longer."""
PRUNING: Final = 3.0
"""Seconds for that."""
UNPREPARED: Final = 1.0
"""Seconds, times their shares, that other searches have before abstractions are prepared for."""
FEWER: Final = 0.98
"""The part of the actions that may be left, unless states are left out, if that search is to begin again."""


Start = Callable[[Workplace], Steps]


@dataclass(frozen=True, slots=True)
class Entry:
    """A search of a portfolio: `share` is its part of the time against the others'.

    It begins as if it had used up `late` seconds of processor time already; below 0, it goes first for so long.
    """

    start: Start
    share: int
    why: str
    late: float = 0.0
    when: Callable[[Workplace], bool] = lambda _: True


def named(search: str, heuristic: str | None = None, **options: Any) -> Start:
    """Return what starts the search called `search`, with the options of `Workplace.search`."""
    return lambda workplace: workplace.search(search, heuristic, **options)


def run_portfolio(name: str, workplace: Workplace) -> Steps:
    """Let the searches of the portfolio called `name`, such as one for a mode, take turns until one has the proof."""
    return take_turns(contenders(name, workplace), workplace.run)


def contenders(name: str, workplace: Workplace) -> list[Contender]:
    """Return the searches of the portfolio called `name` that suit the task."""
    entries = [each for each in PORTFOLIOS[name] if each.when(workplace)]
    return [Contender(each.start(workplace), each.share, spent=each.late) for each in entries]


def run_named_search(workplace: Workplace, search: str, heuristic: str | None) -> tuple[Steps, str]:
    """Return the search that was asked for, and what it cannot prove, in words ("" if nothing)."""
    name, caveat = heuristic_for(search, heuristic), ""
    kind = HEURISTICS[name or "blind"]
    if not SEARCHES[search].complete:
        caveat = f"{search} proves nothing: it may give up states that lead to the goal"
    elif not workplace.safe(kind):
        caveat = f"{search} proves nothing with {name}, which may give up states that lead to the goal"
    elif SEARCHES[search].needs_admissible and not kind.admissible:
        caveat = f"{search} proves nothing with {name}, which may estimate too much"
    workplace.run.trusted = not caveat
    return workplace.search(search, heuristic), caveat


def prove(workplace: Workplace) -> Steps:
    """Search for a cheapest plan: for a moment as the task is, then without what no plan needs, and in more ways."""
    steps = run_portfolio("proof", workplace)
    until = time.thread_time() + PATIENCE + PATIENCE_FOR_ACTION * len(workplace.task.actions)
    while time.thread_time() < until:
        try:
            next(steps)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        yield
    pruned = yield from workplace.without_needless(PRUNING)
    if pruned is not None and not pruned.solvable:
        workplace.run.by = (pruned.by, "")
        return Ending.EXHAUSTED
    if pruned is None or not (pruned.task.conflicts or len(pruned.actions) <= FEWER * len(workplace.task.actions)):
        begun = Contender(steps, 3, by=workplace.run.by)
        return (yield from take_turns([begun, *contenders("abstractions", workplace)], workplace.run))
    steps.close()
    return (yield from workplace.elsewhere(pruned, lambda left: run_portfolio("proof of what is left", left)))


def improving(workplace: Workplace) -> Steps:
    """Find a plan soon, and then better ones."""
    if (yield from workplace.search("greedy", landmarks=True)) is Ending.EXHAUSTED:
        return Ending.EXHAUSTED
    yield  # the first plan may be all that is wanted
    return (yield from run_portfolio("improvement", workplace))


def makes_abstractions(workplace: Workplace) -> bool:
    """Return whether machine code can make abstractions of the task."""
    return workplace.compiles() and HEURISTICS["scp"].supports(workplace.task)


_RELAXED: Final = Entry(
    lambda workplace: workplace.relaxed(),
    3,
    "where deletes do not bind, a cheapest relaxed plan is all that is needed",
    late=-HEAD_START,
)
_PROOF: Final = Entry(prove, 3, "only a search for a cheapest plan has the proof")
_IMPROVING: Final = Entry(improving, 4, "a first plan cuts off what costs as much, and users want one soon")
_SMALL: Final = "without estimates, a small state space is searched the fastest"
_EXACT: Final = (
    Entry(named("astar"), 2, "LM-cut guides best where the state space is large"),
    Entry(named("uniform", states=BLIND_STATES), 1, _SMALL),
)
_ABSTRACTIONS: Final = (
    Entry(
        named("astar", "scp"),
        2,
        "abstractions see what LM-cut does not, but take long to prepare: others go first for a while",
        late=2 * UNPREPARED,
        when=makes_abstractions,
    ),
)
PORTFOLIOS: Final[dict[str, tuple[Entry, ...]]] = {
    "first": (_IMPROVING, Entry(named("uniform", states=FEW_STATES), 1, _SMALL)),
    "anytime": (_RELAXED, _PROOF, _IMPROVING),
    "optimal": (_RELAXED, _PROOF),
    "proof": _EXACT,
    "abstractions": _ABSTRACTIONS,
    "proof of what is left": _EXACT + _ABSTRACTIONS,
    "improvement": (
        Entry(lambda workplace: workplace.windows(), 1, "pieces of the best plan are small problems"),
        Entry(named("weighted", landmarks=True), 1, "with ever less weight on the estimate, plans become cheaper"),
    ),
}
"""Which searches take turns, for each mode and within those: which, with which share of the time, when and why."""


def named_search(options: SolveOptions) -> str | None:
    """Return the search that was asked for, if any; a heuristic alone asks for A*."""
    return options.search or ("astar" if options.heuristic else None)


def check_names(options: SolveOptions) -> str | None:
    """Return the search that was asked for, if any; raises `InputError` for unknown names."""
    checked_name("mode", options.mode, MODES)
    checked_name("search", options.search, SEARCHES)
    checked_name("heuristic", options.heuristic, HEURISTICS)
    return named_search(options)


def check_any(search: str | None, heuristic: str | None) -> None:
    """Raise `InputError` for names that no kind of problem knows."""
    checked_name("search", search, (*SEARCHES, *ELSEWHERE["search"]))
    checked_name("heuristic", heuristic, (*HEURISTICS, *ELSEWHERE["heuristic"]))


def checked_name(what: str, name: str | None, known: Collection[str]) -> None:
    """Raise `InputError` if `name`, the name of `what`, is not `known`."""
    if name is not None and not (isinstance(name, str) and name in known):
        hint = did_you_mean(str(name), known) or f"there are {', '.join(known)}"
        raise InputError(f"there is no {what} '{name}'", hint=hint)
