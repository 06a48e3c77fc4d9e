"""The world of a problem with unknown facts, for the evaluation of policies.

It draws an unknown fact when it first matters: when a step senses it, or when the policy tries a step that depends on
it. It uses the interpreter of `planner.semantics`, and no code of grounding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from planner.errors import PlanError
from planner.lightweight import Any, dataclass
from planner.model import Atom, Formula, Problem
from planner.model.constructs import CONSTRAINED, has
from planner.model.formulas import substitute
from planner.model.unknown_facts import find_hidden_variables, fix_unknown_facts
from planner.plan import Step, exact_sum
from planner.policies.evaluation import Declared, Spent, View, World
from planner.policies.markov_decision_process import Kept
from planner.semantics.constraint_monitors import ConstraintMonitors
from planner.semantics.incomplete_knowledge import KnowledgeModel
from planner.semantics.simulation import Simulation, bind_parameters


@dataclass(frozen=True, slots=True)
class Watch:
    """The monitors of constraints, of the validator and for the policy."""

    monitors: ConstraintMonitors
    kept: Kept

    def after(self, before: Simulation, step: Step, after: Simulation) -> Watch:
        """Return the monitors after `step`, which led from one state to another."""
        monitors = self.monitors.copy()
        monitors.look(before, step)
        monitors.look(after)
        return Watch(monitors, self.kept.after(before.facts, step, before.values))


class Insight(View):
    """A `simulation` of the known facts, and the `unknown` facts, which it takes to be false.

    `watch` has the monitors of constraints, which read known facts alone, if there are any.
    """

    def __init__(self, simulation: Simulation, unknown: Mapping[Atom, None], watch: Watch | None = None) -> None:
        super().__init__(simulation)
        self.unknown = unknown
        self.watch = watch

    def without(self, patterns: Iterable[Atom]) -> dict[Atom, None]:
        """Return the unknown facts that none of `patterns` covers."""
        patterns = [*patterns]
        return {fact: None for fact in self.unknown if not any(pattern.matches(fact) for pattern in patterns)}


class HiddenWorld(World):
    """The world of a problem with unknown facts, for the evaluation of policies."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(fix_unknown_facts(problem, ()))
        self._prospect = KnowledgeModel(problem)
        variables = find_hidden_variables(problem)
        self._owner = {fact: variable for variable in variables for fact in variable.facts}
        first: Simulation = self.declared.initial
        watch = Watch(ConstraintMonitors(first), Kept.of(problem)) if has(problem, *CONSTRAINED) else None
        initial = Insight(first, dict.fromkeys(self._owner), watch)
        for variable in variables:
            if not variable.none and len(variable.facts) == 1:
                initial = self._learn(initial, variable.facts[0], holds=True)
        self.declared = _Outcomes(self, self.declared, initial)

    def key(self, state: Insight, spent: Spent) -> tuple[object, ...]:
        """Return what distinguishes states."""
        watched = () if state.watch is None else (state.watch.monitors.key, state.watch.kept.facts)
        return *super().key(state, spent), frozenset(state.unknown), *watched

    def next_step_of(self, strategy: Any, state: Insight, spent: Spent, **more: Any) -> Step | None:
        """Call `strategy` with the state and the unknown facts."""
        if state.watch is not None:
            more["kept"] = state.watch.kept.facts
        return super().next_step_of(strategy, state, spent, unknown=frozenset(state.unknown), **more)

    def check_step(self, state: Insight, step: Step) -> None:
        """Raise `PlanError` if `step` is certainly inapplicable in `state`."""
        if not self._holds(self.required(step), state, surely=False):
            raise PlanError(f"{step} cannot be taken, however the unknown facts are")

    def surely_holds(self, state: Insight, formula: Formula) -> bool:
        """Return whether the ground `formula` is known to hold in `state`."""
        return self._holds(formula, state, surely=True)

    def worth(self, state: Insight) -> tuple[bool, float]:
        """Return whether the goal is known to hold in `state`, and the utility of ending there."""
        monitors = None if state.watch is None else state.watch.monitors
        if not self._holds(self.problem.goal.hard, state, surely=True):
            return False, 0.0
        if monitors is not None and (monitors.broken or any(monitors.unmet)):
            return False, 0.0
        wishes = [each for each in self.problem.goal.soft if self._holds(each.condition, state, surely=True)]
        kept = [] if monitors is None else [*self.problem.wishes[len(self.problem.goal.soft) :]]
        lost = [] if monitors is None else [-(each.utility or 0) for each in monitors.forgone]
        return True, float(exact_sum([*[wish.utility or 0 for wish in (*wishes, *kept)], *lost]))

    def required(self, step: Step) -> Formula:
        """Return the ground condition of `step`."""
        action = self.problem.domain.actions[step.action]
        return substitute(action.requires, dict(bind_parameters(action, step)))

    def _holds(self, formula: Formula, state: Insight, *, surely: bool) -> bool:
        values = state.simulation.world.state.values
        return self._prospect.holds(formula, state.facts, state.unknown, surely=surely, values=values)

    def draw_before(self, state: Insight, step: Step) -> Iterator[tuple[float, Insight]]:
        """Yield the probabilities and states of drawing the facts on which the outcome of `step` depends."""
        facts = [] if self._holds(self.required(step), state, surely=True) else [self.required(step)]
        facts += [each.requires for each in self.problem.domain.actions[step.action].when]
        about = dict.fromkeys(fact for formula in facts for fact, _ in self._prospect.about(formula, state.unknown))
        yield from self.draw(state, about)

    def draw(self, state: Insight, facts: Iterable[Atom]) -> Iterator[tuple[float, Insight]]:
        """Yield the probabilities and states of drawing the unknown ones of `facts`."""
        fact = next((fact for fact in facts if fact in state.unknown), None)
        if fact is None:
            yield 1.0, state
            return
        variable = self._owner[fact]
        left = [share for each, share in zip(variable.facts, variable.chances, strict=True) if each in state.unknown]
        share = variable.chances[variable.facts.index(fact)] / (sum(left) + variable.none)
        for holds, chance in ((True, share), (False, 1 - share)):
            if chance:
                for rest, after in self.draw(self._learn(state, fact, holds=holds), facts):
                    yield float(chance) * rest, after

    def _learn(self, state: Insight, fact: Atom, *, holds: bool) -> Insight:
        """Return the state after learning whether the unknown `fact` holds, with all conclusions."""
        variable = self._owner[fact]
        gone = variable.facts if holds else (fact,)
        left = {each: None for each in state.unknown if each not in gone}
        simulation = state.simulation.copy()
        if holds:
            simulation.world.update((), [fact])
        after = Insight(simulation, left, state.watch)
        others = [each for each in variable.facts if each in left]
        if len(others) == 1 and not variable.none and not holds:
            return self._learn(after, others[0], holds=True)
        return after


class _Outcomes:
    """The outcomes of steps in a hidden world."""

    def __init__(self, world: HiddenWorld, declared: Declared, initial: Insight) -> None:
        self._world = world
        self._declared = declared
        self.initial = initial

    def outcomes(self, state: Insight, step: Step) -> Iterator[tuple[float, Insight]]:
        """Yield `(probability, next state)` for the outcomes of trying `step`; if it fails, only knowledge changes."""
        return ((share, after) for share, after, _ in self.results(state, step))

    def results(self, state: Insight, step: Step) -> Iterator[tuple[float, Insight, bool]]:
        """Yield each outcome as `outcomes` does, with whether the step has happened."""
        action = self._world.problem.domain.actions[step.action]
        senses = [pattern.substitute(dict(bind_parameters(action, step))) for pattern in action.senses]
        for chance, tried in self._world.draw_before(state, step):
            if tried.simulation.find_objection(step) is not None:
                yield chance, tried, False
                continue
            for share, after, changes in self._declared.ways(tried.simulation, step):
                written = [] if changes is None else [*changes.provided, *changes.retracted]
                happened = changes is not None
                watch = tried.watch
                if watch is not None and happened:
                    watch = watch.after(tried.simulation, step, after)
                reached = Insight(after, tried.without(written), watch)
                seen = [fact for fact in reached.unknown if any(pattern.matches(fact) for pattern in senses)]
                for each, known in self._world.draw(reached, seen):
                    yield chance * share * each, known, happened
