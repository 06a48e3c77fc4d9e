"""Acting in a world of which facts are unknown, by the declared problem: what is known, and what may turn out.

How an unknown fact is, is drawn when it first matters: when it is looked at, or when a step is tried that rests on it.
Until then it makes no difference. All else is the plan checker's simulation; nothing here knows of grounding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from planner.errors import PlanError
from planner.model import Atom, Formula, Problem
from planner.model.formulas import substitute
from planner.model.hidden import decided, hidden
from planner.plan import Step, exact_sum
from planner.uncertain.declared import Declared
from planner.uncertain.evaluation import Spent, Strategy, View, World
from planner.validate import Simulation
from planner.validate.outlook import Prospect
from planner.validate.simulation import bound


class Insight(View):
    """A `simulation` of what is known, and the `unknown` facts, none of which holds there."""

    def __init__(self, simulation: Simulation, unknown: Mapping[Atom, None]) -> None:
        super().__init__(simulation)
        self.unknown = unknown

    def without(self, patterns: Iterable[Atom]) -> dict[Atom, None]:
        """Return the unknown facts that none of `patterns` covers."""
        patterns = [*patterns]
        return {fact: None for fact in self.unknown if not any(pattern.matches(fact) for pattern in patterns)}


class HiddenWorld(World):
    """`problem`, of which facts are unknown, as one acts in it."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(decided(problem, ()))
        self._prospect = Prospect(problem)
        variables = hidden(problem)
        self._owner = {fact: variable for variable in variables for fact in variable.facts}
        initial = Insight(self.declared.initial, dict.fromkeys(self._owner))
        for variable in variables:
            if not variable.none and len(variable.facts) == 1:
                initial = self._told(initial, variable.facts[0], holds=True)
        self.declared = _Outcomes(self, self.declared, initial)

    def key(self, state: Insight, spent: Spent) -> tuple[object, ...]:
        """Return what tells states apart."""
        return state.facts, frozenset(state.history), spent, frozenset(state.unknown)

    def asked(self, strategy: Strategy, state: Insight, spent: Spent) -> Step | None:
        """Return the step that `strategy` takes; raises `PlanError` where nobody could think that it can be taken."""
        step = self.said(strategy, state, spent, unknown=frozenset(state.unknown))
        if step is None or self._holds(self.required(step), state, surely=False):
            return step
        raise PlanError(f"{step} cannot be taken, however the unknown facts are")

    def worth(self, state: Insight) -> tuple[bool, float]:
        """Return whether the goal is known to hold in `state`, and what ending there is worth."""
        if not self._holds(self.problem.goal.hard, state, surely=True):
            return False, 0.0
        wishes = [each for each in self.problem.goal.soft if self._holds(each.condition, state, surely=True)]
        return True, float(exact_sum([wish.utility for wish in wishes]))

    def required(self, step: Step) -> Formula:
        """Return what `step` requires, ground."""
        action = self.problem.domain.actions[step.action]
        return substitute(action.requires, dict(bound(action, step)))

    def _holds(self, formula: Formula, state: Insight, *, surely: bool) -> bool:
        return self._prospect.holds(formula, state.facts, state.unknown, surely=surely)

    def tried(self, state: Insight, step: Step) -> Iterator[tuple[float, Insight]]:
        """Yield how the facts may be on which it rests what comes of trying `step`, with probabilities."""
        facts = [] if self._holds(self.required(step), state, surely=True) else [self.required(step)]
        facts += [each.requires for each in self.problem.domain.actions[step.action].when]
        about = dict.fromkeys(fact for formula in facts for fact, _ in self._prospect.about(formula, state.unknown))
        yield from self.drawn(state, about)

    def drawn(self, state: Insight, facts: Iterable[Atom]) -> Iterator[tuple[float, Insight]]:
        """Yield how those of `facts` may be that are unknown, with probabilities."""
        fact = next((fact for fact in facts if fact in state.unknown), None)
        if fact is None:
            yield 1.0, state
            return
        variable = self._owner[fact]
        left = [share for each, share in zip(variable.facts, variable.chances, strict=True) if each in state.unknown]
        share = variable.chances[variable.facts.index(fact)] / (sum(left) + variable.none)
        for holds, chance in ((True, share), (False, 1 - share)):
            if chance:
                for rest, after in self.drawn(self._told(state, fact, holds=holds), facts):
                    yield float(chance) * rest, after

    def _told(self, state: Insight, fact: Atom, *, holds: bool) -> Insight:
        """Return what is known when the unknown `fact` holds, or does not, and what follows from that."""
        variable = self._owner[fact]
        gone = variable.facts if holds else (fact,)
        left = {each: None for each in state.unknown if each not in gone}
        simulation = state.simulation.copy()
        if holds:
            simulation.world.update((), [fact])
        after = Insight(simulation, left)
        others = [each for each in variable.facts if each in left]
        if len(others) == 1 and not variable.none and not holds:
            return self._told(after, others[0], holds=True)
        return after


class _Outcomes:
    """What may come of steps in a hidden world."""

    def __init__(self, world: HiddenWorld, declared: Declared, initial: Insight) -> None:
        self._world = world
        self._declared = declared
        self.initial = initial

    def outcomes(self, state: Insight, step: Step) -> Iterator[tuple[float, Insight]]:
        """Yield `(probability, next state)` for all that may come of trying `step`; where it fails, nothing changes."""
        action = self._world.problem.domain.actions[step.action]
        senses = [pattern.substitute(dict(bound(action, step))) for pattern in action.senses]
        for chance, tried in self._world.tried(state, step):
            if tried.simulation.objection(step) is not None:
                yield chance, tried
                continue
            for share, after, changes in self._declared.ways(tried.simulation, step):
                written = [] if changes is None else [*changes.provided, *changes.retracted]
                reached = Insight(after, tried.without(written))
                seen = [fact for fact in reached.unknown if any(pattern.matches(fact) for pattern in senses)]
                for each, known in self._world.drawn(reached, seen):
                    yield chance * share * each, known
