"""Which searches are run for a task, and how they share the time.

Where deletes do not bind, a cheapest relaxed plan is all that is needed. Else Python searches a small state space
fastest without any estimate, a larger one with LM-cut, and finds a first plan fastest by greedy search. No look at a
task tells which it is, so they take turns on it, and share what they find: the best plan cuts off what costs as much in
all of them, and the first that is exhausted has the proof.
"""

from __future__ import annotations

import time
from collections.abc import Collection

from planner.errors import InputError, did_you_mean
from planner.heuristics import REGISTRY as HEURISTICS
from planner.lightweight import Any, Final
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


def chosen(workplace: Workplace, search: str, heuristic: str | None) -> tuple[Steps, str]:
    """Return the search that was asked for, and what it cannot prove, in words ("" if nothing)."""
    name, caveat = heuristic_for(search, heuristic), ""
    kind = HEURISTICS[name or "blind"]
    if not workplace.safe(kind):
        caveat = f"{search} proves nothing with {name}, which may give up states that lead to the goal"
    elif SEARCHES[search].needs_admissible and not kind.admissible:
        caveat = f"{search} proves nothing with {name}, which may estimate too much"
    workplace.run.trusted = not caveat
    return workplace.search(search, heuristic), caveat


def automatic(workplace: Workplace, mode: str) -> Steps:
    """Let the searches that suit `mode` take turns until one has the proof."""
    if mode == "first":
        blind = Contender(workplace.search("uniform", states=FEW_STATES), 1)
        return take_turns([Contender(improving(workplace), 4), blind], workplace.run)
    relaxed = Contender(workplace.relaxed(), 3, spent=-HEAD_START)
    proof = Contender(proving(workplace), 3)
    others = [] if mode == "optimal" else [Contender(improving(workplace), 4)]
    return take_turns([relaxed, proof, *others], workplace.run)


def proving(workplace: Workplace) -> Steps:
    """Search for a cheapest plan: for a moment as the task is, then without what no plan needs, and in more ways."""
    steps = take_turns(_exact(workplace), workplace.run)
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
        return (yield from take_turns([Contender(steps, 3, by=workplace.run.by), *_abstract(workplace)], workplace.run))
    steps.close()
    return (
        yield from workplace.elsewhere(pruned, lambda left: take_turns([*_exact(left), *_abstract(left)], left.run))
    )


def _exact(workplace: Workplace) -> list[Contender]:
    """Return the searches for a cheapest plan that need no preparation."""
    blind = workplace.search("uniform", states=BLIND_STATES)
    return [Contender(workplace.search("astar"), 2), Contender(blind, 1)]


def _abstract(workplace: Workplace) -> list[Contender]:
    """Return the search that is guided by abstractions, where machine code makes them; others go first for a while."""
    if not (workplace.compiles() and HEURISTICS["scp"].supports(workplace.task)):
        return []
    return [Contender(workplace.search("astar", "scp"), 2, spent=2 * UNPREPARED)]


def improving(workplace: Workplace) -> Steps:
    """Find a plan soon, and then better ones."""
    if (yield from workplace.search("greedy", landmarks=True)) is Ending.EXHAUSTED:
        return Ending.EXHAUSTED
    yield  # the first plan may be all that is wanted
    weighted = Contender(workplace.search("weighted", landmarks=True), 1)
    return (yield from take_turns([Contender(workplace.windows(), 1), weighted], workplace.run))


def checked_names(mode: str, search: str | None, heuristic: str | None) -> str | None:
    """Return the search that was asked for, if any (a heuristic alone: A*); raises `InputError` for unknown names."""
    checked_name("mode", mode, MODES)
    checked_name("search", search, SEARCHES)
    checked_name("heuristic", heuristic, HEURISTICS)
    return search or ("astar" if heuristic else None)


def check_any(search: str | None, heuristic: str | None) -> None:
    """Raise `InputError` for names that no kind of problem knows."""
    checked_name("search", search, (*SEARCHES, *ELSEWHERE["search"]))
    checked_name("heuristic", heuristic, (*HEURISTICS, *ELSEWHERE["heuristic"]))


def check_simulations(search: str | None, simulations: Any, seed: Any) -> None:
    """Raise `InputError` for numbers of simulations and seeds that are none, and for simulations of other searches."""
    if simulations is not None and not (isinstance(simulations, int) and simulations > 0):
        raise InputError(f"simulations are a whole number above 0, not {simulations!r}", hint="None is no limit")
    if simulations is not None and search != "mcts":
        raise InputError("simulations are made by search 'mcts' only", hint="search='mcts' asks for it")
    if not (isinstance(seed, int) and seed >= 0):
        raise InputError(f"a seed is a whole number, 0 or more, not {seed!r}")


def checked_name(what: str, name: str | None, known: Collection[str]) -> None:
    """Raise `InputError` if `name`, the name of `what`, is not `known`."""
    if name is not None and not (isinstance(name, str) and name in known):
        hint = did_you_mean(str(name), known) or f"there are {', '.join(known)}"
        raise InputError(f"there is no {what} '{name}'", hint=hint)
