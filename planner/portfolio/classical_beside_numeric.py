"""Classical search beside numeric search, for tasks whose fluents take few values.

The values become facts (`planner.task.numbers_as_facts`), and the classical portfolio for a proof searches that task:
LM-cut, abstractions, h², symmetries and symbolic search. Nothing tells before which side has the proof sooner. So the
classical side starts late, and its share of the time depends on the bounds: the side with the better one is likely to
close the gap first.
"""

from __future__ import annotations

import time

from planner.lightweight import TYPE_CHECKING, Final, dataclass
from planner.portfolio.portfolio import run_portfolio
from planner.portfolio.symbolic_process import run_symbolic_beside
from planner.portfolio.tiers import run_while
from planner.portfolio.workplace import Workplace
from planner.search import Ending, Run, Space
from planner.search.search_run import Steps, search_reduced_task
from planner.task.numbers_as_facts import NumberEnumeration

if TYPE_CHECKING:
    from planner.limits import Limits
    from planner.task.ground_task import Task
    from planner.task.numeric_pricing import Pricing
    from planner.task.numeric_task import NumericTask

PATIENCE: Final = 0.3
"""Seconds of numeric search before the values are enumerated: it solves many tasks by then."""
CLASSICAL: Final = ("numbers as facts", "")
"""The names of the classical side before its searches begin."""
TRIAL: Final = 3.0
"""Seconds for which classical search gets half of the time in any case."""
LEADING: Final = 0.75
"""Its share of the time after the trial if its bound is the best one."""
TRAILING: Final = 0.15
"""Its share if its bound is not."""


def run_classical_beside(
    numeric: Steps, source: NumericTask, pricing: Pricing | None, run: Run, limits: Limits
) -> Steps:
    """Run the `numeric` steps for a proof, and after a while the classical portfolio beside them.

    The first side that is exhausted has the proof. Plans are those of `source`, or of the source of `pricing`.
    """
    until = time.thread_time() + PATIENCE
    first: Exception | None = None
    try:
        ending = yield from run_while(numeric, lambda: time.thread_time() < until)
    except Exception as error:  # noqa: BLE001 - the history tells it
        run.contain(error)
        first, ending = error, Ending.INCOMPLETE
    if ending is Ending.EXHAUSTED:
        return ending
    classical = ClassicalSide(source, pricing, limits)
    sides = [_Side(numeric, run.by)] if ending is None else []
    sides.append(_Side(classical.steps(run), CLASSICAL))
    has_ended = ending is not None and first is None
    while sides:
        side = min(sides, key=lambda each: each.due)
        began, run.by = time.monotonic(), side.by
        try:
            next(side.steps)
        except StopIteration as stop:
            if stop.value is Ending.EXHAUSTED:
                return Ending.EXHAUSTED
            sides.remove(side)
            has_ended = True
        except Exception as error:  # noqa: BLE001 - the history tells it
            run.contain(error)
            sides.remove(side)
            first = first or error
        side.by = run.by
        share = classical.share(run)
        side.due += (time.monotonic() - began) / (1 - share if side.steps is numeric else share)
        yield
    if first is not None and not has_ended:
        raise first
    return Ending.INCOMPLETE


@dataclass(slots=True)
class _Side:
    """One side of the race: it goes next if its `due`, the time it has had divided by its share, is the least."""

    steps: Steps
    by: tuple[str, str]
    due: float = 0.0


class ClassicalSide:
    """Enumerates the values of the fluents of a numeric task, and runs the portfolio for a proof on the classical task.

    `reason` says why there is none, once that is known.
    """

    def __init__(self, source: NumericTask, pricing: Pricing | None, limits: Limits) -> None:
        weights = [] if pricing is None else [*pricing.prices.step]
        self._numbers = NumberEnumeration(source if pricing is None else pricing.source, weights)
        self._limits = limits
        self._run: Run | None = None
        self._began = time.monotonic()

    def share(self, run: Run) -> float:
        """Return the share of the time that this side gets; `run` has the best bound."""
        if time.monotonic() - self._began < TRIAL:
            return 0.5
        return LEADING if self._run is not None and self._run.lower_bound >= run.lower_bound else TRAILING

    def steps(self, run: Run) -> Steps:
        """Enumerate the values and search; report plans, as actions of the numeric task, and bounds to `run`."""
        for _ in self._numbers.steps():
            yield
        if self._numbers.result is None:
            return Ending.INCOMPLETE
        found = self._numbers.result
        return (yield from search_reduced_task(lambda own: self._search(found.task, own), run, found.actions))

    def _search(self, task: Task, run: Run) -> Steps:
        self._run = run
        workplace = Workplace(task, Space(task), run, self._limits.check)
        return run_symbolic_beside(run_portfolio("optimal", workplace), workplace, self._limits)
