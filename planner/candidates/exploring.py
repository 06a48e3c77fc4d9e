"""Explorations that take turns, each in the tier that suits it."""

from __future__ import annotations

from collections.abc import Callable

from planner.annotations import Final
from planner.candidates.explore import Explored
from planner.candidates.listing import Exploration
from planner.candidates.part import Part
from planner.heuristics import REGISTRY
from planner.search.run import Ending, Run, Steps
from planner.tiers import tiered
from planner.turns import Contender, take_turns
from planner.workplace import COMPACT, Workplace

BLIND_STATES: Final = 1_000_000
"""States after which exploring without estimates gives up in plain Python."""

Work = Callable[[Exploration], Steps]


class Tiered:
    """An exploration that begins in plain Python; what lasts begins again in machine code.

    With a number of `states` it gives up after about so many, or four times as many in machine code.
    """

    def __init__(self, workplace: Workplace, heuristic: str, *, past_goals: bool, states: int | None = None) -> None:
        self._workplace, self._heuristic, self._past_goals = workplace, heuristic, past_goals
        self._most = states
        self._now: Exploration = self._reference()
        self._may_change = workplace.fits()

    def _reference(self) -> Exploration:
        space, check = self._workplace.space, self._workplace.check
        estimate = REGISTRY[self._heuristic].build(self._workplace.task, space.costs, check)
        return Explored(space, estimate, past_goals=self._past_goals)

    def _compiled(self) -> Exploration:
        from planner.compiled.explored import CompiledExplored  # noqa: PLC0415 - only for what lasts

        most = None if self._most is None else COMPACT * self._most
        board = self._workplace.packed()
        return CompiledExplored(board, self._heuristic, past_goals=self._past_goals, states=most)

    @property
    def optimum(self) -> int | None:
        """What the cheapest plan costs, once that is known."""
        return self._now.optimum

    @property
    def lowest(self) -> int:
        """What a plan costs at least that goes through a state that was not expanded; `INFINITY`: none is left."""
        return self._now.lowest

    @property
    def expanded(self) -> int:
        """How many states were expanded."""
        return self._now.expanded

    def first(self) -> Steps:
        """Expand until the cheapest plan is known, or that there is none; INCOMPLETE where it gives up."""
        return self._in_tiers(lambda now: now.first())

    def through(self, bound: int) -> Steps:
        """Expand all states through which a plan might cost no more than `bound`; INCOMPLETE where it gives up."""
        return self._in_tiers(lambda now: now.through(bound))

    def part(self, bound: int) -> Part:
        """Return what plans go through that cost no more than `bound`, as far as it was expanded."""
        return self._now.part(bound)

    def _in_tiers(self, work: Work) -> Steps:
        """Do `work`, after what came before it where that begins again."""
        if not self._may_change:
            return (yield from work(self._now))

        def reference() -> Steps:
            if not self._may_change:
                self._now = self._reference()
                yield from self._now.first()
            for _ in work(self._now):
                if self._most is not None and self._now.expanded >= self._most:
                    return Ending.INCOMPLETE
                yield
            return Ending.EXHAUSTED

        def compiled() -> Steps:
            self._may_change = False
            self._now = self._compiled()
            ending = yield from self._now.first()
            return (yield from work(self._now)) if ending is Ending.EXHAUSTED else ending

        return (yield from tiered(reference, compiled, large=self._workplace.is_large(), again=self._most is None))


class Race:
    """Explorations that take turns up to the first plan: the one that finds it goes on, and another if it gives up.

    Each comes with its share of the time.
    """

    def __init__(self, runners: list[tuple[Exploration, int]]) -> None:
        self._runners = runners
        self._leader = runners[0][0]

    @property
    def optimum(self) -> int | None:
        """What the cheapest plan costs, once that is known."""
        return self._leader.optimum

    @property
    def lowest(self) -> int:
        """What a plan costs at least that goes through a state that was not expanded; `INFINITY`: none is left."""
        return self._leader.lowest

    @property
    def expanded(self) -> int:
        """How many states were expanded by the one that goes on."""
        return self._leader.expanded

    def first(self) -> Steps:
        """Expand until the cheapest plan is known, or that there is none; INCOMPLETE where all give up."""
        contenders = [Contender(self._leading(runner), share) for runner, share in self._runners]
        return (yield from take_turns(contenders, Run()))

    def _leading(self, runner: Exploration) -> Steps:
        ending = yield from runner.first()
        if ending is Ending.EXHAUSTED:
            self._leader = runner
        return ending

    def through(self, bound: int) -> Steps:
        """Expand all states through which a plan might cost no more than `bound`; INCOMPLETE where all give up."""
        ending = yield from self._leader.through(bound)
        if ending is Ending.INCOMPLETE:
            self._runners = [(runner, share) for runner, share in self._runners if runner is not self._leader]
            if self._runners:
                yield from self.first()
                ending = yield from self.through(bound)
        return ending

    def part(self, bound: int) -> Part:
        """Return what plans go through that cost no more than `bound`, as far as it was expanded."""
        return self._leader.part(bound)


def exploration(workplace: Workplace, *, past_goals: bool) -> Exploration:
    """Return what explores the state space of a task; `past_goals`: beyond goal states, too."""
    guided = Tiered(workplace, "lmcut", past_goals=past_goals)
    blind = Tiered(workplace, "blind", past_goals=past_goals, states=BLIND_STATES)
    return Race([(guided, 3), (blind, 1)])
