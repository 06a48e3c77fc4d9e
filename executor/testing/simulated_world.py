"""`SimulatedWorld`: handlers that change a simulated state as declared, and observers of that state."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

from executor.testing import simulated_observers
from executor.testing.faults import SECOND, Fault, Faults, Source
from executor.testing.simulated_handlers import Call, Told, handler, sample, wanted_of
from executor.testing.true_state import Act, Truth
from executor.tools.world import MAIN, World
from planner.language.declare.atom_syntax import parse_literal
from planner.model import Action, Atom, Formula, Problem, is_temporal
from planner.model.actions import DurationRange
from planner.model.arithmetic import Exact, exact_value
from planner.model.domain import numeric_effects
from planner.plan import Step
from planner.problem_kinds import AnyProblem, is_other_problem
from planner.semantics.simulation import bind_parameters


class SimulatedWorld:
    """A world in which actions have their intended effects, unless `faults` strike; the seed makes it reproducible.

    With `chances`, each attempt fails without an effect with the declared risk, and otherwise has one of the declared
    outcomes, drawn independently. The problem may differ from the one planned for, for example in probabilities or
    objects that the planner does not know: listings and observers name the objects.

    `world` has a handler for every action, and observers as `observe` says. Handlers take `seconds`, or the declared
    duration of their action, times what `stretch` draws for each step. A random share `plain` of the actions has plain
    functions as handlers, which run in threads, and each action has `skills` handlers. In a `careless` world, handlers
    change numbers without a look at bounds and comparisons, as scripts do. In a `timed` world (by default, where the
    problem asks for plans in time), steps start and end, and their duration may depend on the state. With a `ledger`, a
    file, the state outlives the process. A fault that makes the process die raises `Crash` (see `run_virtual`), or, if
    the world is `deadly`, kills the process.
    """

    def __init__(
        self,
        problem: AnyProblem,
        *,
        seed: int = 0,
        faults: Iterable[Fault] = (),
        observe: simulated_observers.Observe = simulated_observers.ALL,
        seconds: float | None = None,
        plain: float = 0.0,
        skills: int = 1,
        ledger: Path | None = None,
        deadly: bool = False,
        chances: bool = False,
        careless: bool = False,
        timed: bool | None = None,
        stretch: Callable[[Step, random.Random], float] | None = None,
    ) -> None:
        self.problem: Problem = problem.classical if is_other_problem(problem) else problem  # type: ignore[assignment]
        self.seed = seed
        self.timed = is_temporal(self.problem) if timed is None else timed
        self.truth = Truth(self.problem, seed, ledger, careless=careless, timed=self.timed)
        self.refusals: list[tuple[float, Atom, str]] = []
        """The steps that could not start, or come to an end, with the times and the reasons."""
        self._stretch = stretch
        self.faults = Faults(faults, seed, self.truth.struck)
        self.in_place = simulated_observers.in_place_predicates(self.problem.domain)
        self.wanted = wanted_of(self.problem.domain)
        self.lies: list[Atom] = []
        self.disputed: list[Atom] = []
        """What the second of two observers said wrongly."""
        self.sightings: list[simulated_observers.Sighting] = []
        """What observers answered, in order."""
        self.calls: list[Call] = []
        """The calls of handlers, in order."""
        self.listings: list[Told] = []
        """What listings told, in order."""
        self.strangers: list[Atom] = []
        """The facts about objects that the problem lacks which observers and results told."""
        self.world = World(problem.domain)
        self.world.is_simulated = True
        self.world.withheld.clear()  # what must not be carried out can be simulated
        self.deadly = deadly
        self.chances = chances
        self._calls = itertools.count(1)
        self._runs: dict[str, int] = {}
        self._seconds = seconds
        self._add_handlers(plain, skills)
        self._add_observers(observe)

    def _add_handlers(self, plain: float, skills: int) -> None:
        for name, action in self.problem.domain.actions.items():
            is_plain = random.Random(f"plain {self.seed} {name}").random() < plain
            for number in range(1, skills + 1):
                skill = MAIN if number == 1 else f"skill-{number}"
                self.world.handler(name, name=skill)(handler(self, action, skill, is_plain=is_plain))

    def _add_observers(self, observe: simulated_observers.Observe) -> None:
        domain = self.problem.domain
        looks = {**simulated_observers.observation_patterns(domain), **simulated_observers.fluent_patterns(domain)}
        for name in observe.chosen(self.problem.domain, self.seed):
            for skill in (MAIN, SECOND) if observe.twice else (MAIN,):
                self.world.observer(
                    str(looks[name]),
                    conclusive=observe.conclusive,
                    settle_within=observe.settle_within,
                    timeout=observe.timeout,
                )(simulated_observers.look_at(self, looks[name], observe.lag, skill))

    @property
    def applied(self) -> dict[str, int]:
        """How often each step (as "run/step") and each ground action changed the true state."""
        return self.truth.applied

    @property
    def acts(self) -> list[Act]:
        """The changes of the true state, in order."""
        return self.truth.acts

    @property
    def facts(self) -> frozenset[Atom]:
        """The true facts, derived ones left out."""
        return self.truth.facts

    @property
    def values(self) -> dict[Atom, Exact]:
        """The true values of numeric fluents."""
        return self.truth.values

    def holds(self, formula: Formula | str) -> bool:
        """Return whether `formula`, or a literal as text, is true."""
        return self.truth.holds(parse_literal(formula) if isinstance(formula, str) else formula)

    def next_call(self) -> int:
        """Return the number of a call outside a run."""
        return next(self._calls)

    def number_of(self, run: str) -> int:
        """Return the number of `run` in the order of first calls; unlike its name, that is reproducible."""
        return self._runs.setdefault(run, len(self._runs))

    def seconds_of(self, action: Action) -> float:
        """Return the duration of handlers of `action`; 0 where it depends on the arguments or the state."""
        if self._seconds is not None:
            return self._seconds
        return float(action.duration or 0) if isinstance(action.duration, int | Decimal | None) else 0.0

    def time_handler(self, step: Step, by: str) -> float:
        """Return how many seconds the handler of `step` takes in a world that is not timed."""
        return self._draw_stretch(step, by) * self.seconds_of(self.problem.domain.actions[step.action])

    def _draw_stretch(self, step: Step, by: str) -> float:
        return 1.0 if self._stretch is None else self._stretch(step, self.faults.dice("stretch", by.rpartition("/")[2]))

    def time_step(self, step: Step, by: str, planned: float | None) -> float:
        """Return how many seconds `step` takes in a timed world: what is `planned`, if its action has a range."""
        if self._seconds is not None:
            return self._seconds
        action = self.problem.domain.actions[step.action]
        ranges = isinstance(action.duration, DurationRange) and planned is not None
        seconds = planned if ranges and planned is not None else self.truth.seconds_of(step)
        return round(seconds * self._draw_stretch(step, by), 6)

    def strike(self, name: Atom, skill: str = "", *, source: Source = "handler") -> tuple[int, Fault] | None:
        """Return the fault that strikes a call for a ground action or a fact, with its number."""
        found = self.faults.strike(name, skill, source=source)
        if found is not None:
            self.truth.strike(self.faults.about(found[0], name))
        return found

    def change_from_outside(self, number: int, fault: Fault, but: Atom) -> None:
        """Change the state as `fault` says: by its facts, or by a random ground action other than `but`.

        The fault draws a rank for each ground action, and the first applicable one comes: what else is applicable,
        which depends on the moment, changes little.
        """
        if fault.facts:
            self.truth.change(fault.facts)
            return
        steps = [step for step in self.truth.applicable() if Atom(step.action, step.arguments) != but]
        if steps:
            self.truth.apply(min(steps, key=lambda step: self.faults.dice_of(number, but, "change", step).random()))

    def change_numbers_from_outside(self, number: int, step: Step) -> None:
        """Change a numeric fluent that `step` changes, by up to half of its value, within its bounds."""
        fluents = fluents_of(self.problem.domain.actions[step.action], step)
        now = {each: value for each, value in self.values.items() if each in fluents}
        if now:
            dice = self.faults.dice_of(number, Atom(step.action, step.arguments), "jump")
            fluent = dice.choice(sorted(now, key=str))
            declared = self.problem.domain.functions[fluent.predicate]
            most = max(abs(int(now[fluent])) // 2, 1)
            value = now[fluent] + dice.choice([each for each in range(-most, most + 1) if each])
            value = value if declared.low is None else max(value, exact_value(declared.low))
            value = value if declared.high is None else min(value, exact_value(declared.high))
            self.truth.set_number(fluent, value)

    def parameters(self, action: str) -> dict[str, Any]:
        """Make sample values for the data parameters of `action` without a source or a default."""
        return {
            each.name: sample(each.annotation, f"{each.name} of {action}")
            for each in self.problem.domain.actions[action].data
            if each.source is None and not each.has_default
        }


def fluents_of(action: Action, step: Step) -> set[Atom]:
    """Return the numeric fluents that `step`, an instance of `action`, changes for its own arguments."""
    binding = dict(bind_parameters(action, step))
    return {each.fluent.substitute(binding) for each in numeric_effects(action)}
