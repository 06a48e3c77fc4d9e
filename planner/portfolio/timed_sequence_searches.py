"""Searches for scheduled sequences that take turns: a first plan, restarts in other ways, and other ends of the best.

Restarts differ in how much a step counts against the time that a plan takes, in what relaxed plans prefer, and by
chance in the costs of actions. A large-neighbourhood search keeps a part of the best plan from its beginning, and
searches for another end of it (Shaw, 1998).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from random import Random

from planner.jit.common_kernel import NOTHING
from planner.jit.library import Call
from planner.lightweight import Final, dataclass, field, replace
from planner.model.formulas import Not
from planner.plan import Plan, Step
from planner.search.search_run import Run
from planner.search.timed_sequences_compiled import COST, SequenceSpace, TimedSequences
from planner.semantics.snap_actions import SnapProblem
from planner.task.temporal_task import ENDING, TemporalTask

FIRST: Final = 4_000
"""Evaluations of each search for a first plan."""
RESTART: Final = 1_000
"""Evaluations of a restart without a better plan."""
OTHER_END: Final = 200
"""Evaluations of a search for another end of the best plan without a better one, and so many more for each step."""
OTHER_END_STEP: Final = 5
GREED: Final = 3
"""Longest steps that each step to come counts in searches for a first plan.

On 29 tasks of the competitions, 1 takes 1.03 and infinity 1.08 times as long as the least makespan that is known. Where
they differ most, 2 and 3 evaluate fewest states of these and 5 and 10 (2026-12-01).
"""
PACES: Final = (1.0, 0.5, 2.0, 0.25, 4.0)
"""How much steps to come count, by what they take on average in the best plan."""
DISTURBED: Final = 3
"""One of so many restarts has its costs undisturbed."""


@dataclass(slots=True)
class TimedSequenceSearches:
    """Searches in `shared` that take turns; `take` is told the happenings of each plan and returns the new limit.

    The best plan so far is `best()`.
    """

    shared: SequenceSpace
    snap: SnapProblem
    entries: Mapping[str, Call]
    take: Callable[[list[int]], int]
    best: Callable[[], Plan | None]
    limit: Callable[[], int]
    run: Run
    random: Random
    _numbers: dict[Step, list[int]] = field(default_factory=dict)

    def turns(self) -> Iterator[None]:
        """Search, and pause from time to time."""
        task = self.shared.task
        for number, action in enumerate(task.source.task.actions):
            if task.begins[number] != ENDING:
                self._numbers.setdefault(replace(action.step, cost=0), []).append(number)
        longest, average = self._measure_steps()
        pace = GREED * longest
        rounds = 0
        while self.best() is None:
            step = average // COST // (1 if rounds % 2 == 0 else 10)
            evaluations, costs = FIRST << (rounds // 2), self._disturb(rounds > 1)
            if (yield from self._search(evaluations, pace=pace, step=step, costs=costs)) and self.best() is None:
                return  # no sequence of steps reaches the goal
            rounds += 1
        while True:
            plan = self.best()
            assert plan is not None
            if self.random.random() < 0.6:
                yield from self._search_other_end(plan)
            else:
                yield from self._restart(plan)

    def _measure_steps(self) -> tuple[int, int]:
        """Return the ticks of the longest step, and of steps on average."""
        task = self.shared.task
        ticks = [lapse.ticks for lapse in task.lapses[: task.events] if lapse.variable is None]
        return max([1, *ticks]), max(1, sum(ticks) // max(1, len(ticks)))

    def _restart(self, plan: Plan) -> Iterator[None]:
        pace, step = self._choose_weights(plan)
        yield from self._search(
            RESTART, pace=pace, step=step, costs=self._disturb(self.random.randrange(DISTURBED) > 0)
        )

    def _choose_weights(self, plan: Plan) -> tuple[int, int]:
        """Return what a step to come counts, and what relaxed plans let it count."""
        ticks = int((plan.makespan or 0) * self.shared.task.resolution)
        pace = int(self.random.choice(PACES) * ticks / max(1, len(plan.steps)) / COST)
        step = int(self.random.choice((1.0, 0.3, 0.1, 0.02, 0.0)) * self._measure_steps()[1] / COST)
        return max(1, pace), step

    def _search_other_end(self, plan: Plan) -> Iterator[None]:
        prefix = self.number_steps(plan)
        kept = self.random.randrange(len(prefix) + 1)
        pace, step = self._choose_weights(plan)
        evaluations = OTHER_END + OTHER_END_STEP * (len(prefix) - kept)
        costs = self._disturb(self.random.randrange(DISTURBED) > 0)
        yield from self._search(evaluations, pace=pace, step=step, costs=costs, prefix=prefix[:kept])

    def number_steps(self, plan: Plan) -> list[int]:
        """Return the actions that start the steps of `plan`, up to the first that the task does not have."""
        found = []
        for step in plan.steps:
            start = self.snap.actions[step.action].start
            numbers = self._numbers.get(Step(start, step.arguments))
            if numbers is None:
                break
            found.append(numbers[0])
        return found

    def _disturb(self, disturbed: bool) -> list[int]:
        """Return costs of actions for relaxed plans, drawn at random where `disturbed`; else none."""
        if not disturbed:
            return []
        begins = self.shared.task.begins
        return [0 if begun == ENDING else self.random.randint(COST - 2, COST + 4) for begun in begins]

    def _search(
        self, evaluations: int, *, pace: int, step: int, costs: Sequence[int], prefix: Sequence[int] = ()
    ) -> Generator[None, None, bool]:
        """Search until that many evaluations have brought no better plan; return whether no more is left to search."""
        until, is_found = evaluations, False

        def take(found: list[tuple[int, int, int, int]]) -> int:  # names no search, whose memory is freed at once
            nonlocal is_found
            is_found = True
            return self.take(happenings_of(self.shared.task, found))

        youngest = self.random.random() < 0.5
        search = TimedSequences(
            self.shared, self.entries, take, pace=pace, step=step, youngest=youngest, costs=costs, prefix=prefix
        )
        search.limit = self.limit()
        for _ in search.steps(self.run):
            search.limit = min(search.limit, self.limit())
            if is_found:
                until, is_found = search.evaluations + evaluations, False
            yield
            if search.evaluations >= until:
                return False
        yield
        return True


def happenings_of(task: TemporalTask, found: Sequence[tuple[int, int, int, int]]) -> list[int]:
    """Return the actions of a scheduled sequence, with the changes at known times between them."""
    happenings = []
    for place, (start, end, ticks, lasts) in enumerate(found):
        happenings.append((ticks, 1, 2 * place, start))
        if end != NOTHING:
            happenings.append((ticks + lasts, 1, 2 * place + 1, end))
    facts, actions = task.source.task.facts, task.source.task.actions
    for lapse in task.lapses[task.events :]:
        for event in lapse.ends[:1]:
            opens = any(not isinstance(facts[fact], Not) for fact in actions[event].adds)
            happenings.append((lapse.ticks, 0 if opens else 2, 0, event))
    if task.events < len(task.lapses):
        happenings.sort()
    return [action for _, _, _, action in happenings]
