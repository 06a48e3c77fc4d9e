"""The decision process of a problem in time, whose steps are taken in turn (`planner.semantics.turns`)."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from planner.compilations.determinization import ROUNDING, determinize, outcome_probabilities
from planner.grounding.action_tables import common_resolution, make_cost_function, make_use_function
from planner.limits import Limits
from planner.model import COST, Atom, Number, Problem
from planner.model.arithmetic import exact_value
from planner.plan import Step
from planner.policies.layered_process import LayeredProcess
from planner.policies.markov_decision_process import EMPTY, Choice, Left, Process, Purse
from planner.policies.process_grounding import ground_process, keep_idle_steps
from planner.semantics.numeric_state import Values
from planner.semantics.turns import Clock, Turns, refuse_in_turn
from planner.task.ground_task import State


def timed_process_of(problem: Problem, limits: Limits) -> Process:
    """Return the decision process of `problem`, which is in time. Raises as `process_of` does."""
    refuse_in_turn(problem)
    turns = Turns(problem)
    compiled = determinize(keep_idle_steps(turns.problem))
    actions = compiled.problem.domain.actions
    base = ground_process(compiled.problem, compiled.ways, actions, limits, whole=True, by_ends=True)
    return TimedProcess(base, turns)


class GroundEngine:
    """The states of a ground process, to which snap actions are applied."""

    def __init__(self, base: Process, problem: Problem) -> None:
        self._base = base
        self._statics = Values.of(problem)
        self._numbers: dict[tuple[str, tuple[str, ...]], list[int]] = {}
        for number, choice in enumerate(base.choices):
            self._numbers.setdefault((choice.step.action, choice.step.arguments), []).append(number)
        self._applicable: dict[State, frozenset[int]] = {}

    def apply(self, state: State, action: str, arguments: tuple[str, ...]) -> State | None:
        """Return the state after a snap action; None where it is not applicable."""
        if state not in self._applicable:
            self._applicable[state] = frozenset(self._base.applicable(state))
        here = self._applicable[state]
        number = next((each for each in self._numbers.get((action, arguments), ()) if each in here), None)
        if number is None:
            return None
        ((_, after),) = self._base.outcomes(state, number)
        return after

    def values(self, state: State) -> Values:
        """Return the values of functions in `state`."""
        values = self._base.values(state).items()
        known = {(term.predicate, term.args): exact_value(value) for term, value in values}
        return Values({**self._statics.statics, **self._statics.fluents}, known)

    def arguments_of(self, action: str) -> list[tuple[str, ...]]:
        """Return the arguments for which a snap action is reachable."""
        return [arguments for name, arguments in self._numbers if name == action]


class TimedProcess(LayeredProcess[Clock]):
    """The process of steps in turn over the process `base` of their moments."""

    def __init__(self, base: Process, turns: Turns) -> None:
        self._turns, self._engine = turns, GroundEngine(base, turns.problem)
        super().__init__(base, turns.begin(self._engine, base.initial))
        self._resolution = base.task.resolution
        self._outcomes: list[tuple[list[int], list[float]]] = []
        self.is_metric = True
        self.choices: list[Choice] = []
        self._add_choices()
        self.purse = self._make_purse()
        self._results: dict[tuple[State, int], list[tuple[float, State, Number, bool]] | None] = {}
        self._ends: dict[State, tuple[State, bool, Number] | None] = {}

    def values(self, state: State) -> dict[Atom, Number]:
        """Return the values of the declared fluents in `state`, without those that only split steps have."""
        declared = self._turns.source.domain.functions
        return {term: value for term, value in super().values(state).items() if term.predicate in declared}

    def _add_choices(self) -> None:
        for name, action in self._turns.source.domain.actions.items():
            price = make_cost_function(action, self._turns.source)
            for arguments in self._engine.arguments_of(self._turns.moments[name][0].start):
                odds = outcome_probabilities(action, arguments)
                likely = [number for number, share in enumerate(odds) if share]
                failing = 1 - sum(odds, Decimal(0))
                declared = price(arguments)
                cost = float(self._turns.cost_of(declared) * self._resolution)
                rest = float(failing) if failing > ROUNDING else 0.0
                self.choices.append(Choice(Step(name, arguments, declared), cost, (), (), rest))
                self._outcomes.append((likely, [float(odds[number]) for number in likely]))

    def _make_purse(self) -> Purse:
        source = self._turns.source
        if not source.budgets:
            return EMPTY
        names = sorted(source.budgets, key=lambda name: name != COST)
        amounts: list[list[Number]] = []
        for name in names:
            pickers = {
                each.name: make_cost_function(each, source) if name == COST else make_use_function(name, each, source)
                for each in source.domain.actions.values()
            }
            amounts.append([pickers[each.step.action](each.step.arguments) for each in self.choices])
        scales = [
            common_resolution({*column, source.budgets[name]}) for name, column in zip(names, amounts, strict=True)
        ]
        full = [int(source.budgets[name] * scale) for name, scale in zip(names, scales, strict=True)]
        rows = [[int(each * scale) for each in column] for column, scale in zip(amounts, scales, strict=True)]
        return Purse(tuple(names), tuple(scales), tuple(full), tuple(zip(*rows, strict=True)))

    def applicable(self, state: State) -> list[int]:
        """Return the numbers of the choices that can be taken from `state` on, in ascending order."""
        return [number for number in range(len(self.choices)) if self._take(state, number) is not None]

    def test(self, state: State, choice: int, read: Iterable[str]) -> State | None:
        """Return the state in which the condition of `choice` holds first, perhaps after waiting; None without one."""
        step, engine = self.choices[choice].step, self._engine
        action = self._turns.moments[step.action][0].start

        def holds(world: State) -> bool:
            return engine.apply(world, action, step.arguments) is not None

        found = self._turns.wait(engine, self.inner(state), self.more(state), holds, read)
        return None if found is None else self.number(*found)

    def _take(self, state: State, choice: int) -> list[tuple[float, State, Number, bool]] | None:
        """Return the probabilities, states and costs of time of the outcomes of `choice`; None where it cannot be."""
        key = state, choice
        if key not in self._results:
            likely, shares = self._outcomes[choice]
            step, failing = self.choices[choice].step, self.choices[choice].failing
            taken = self._turns.take(self._engine, self.inner(state), self.more(state), step, likely or [0])
            if taken is None:
                self._results[key] = None
            else:
                runs, idle = taken
                found = [
                    (share, self.number(after, clock), cost, True)
                    for share, (after, clock, cost) in zip(shares, runs, strict=False)
                ]
                if failing:
                    found.append((failing, self.number(idle[0], idle[1]), idle[2], False))
                self._results[key] = found
        return self._results[key]

    def results(self, state: State, choice: int) -> list[tuple[float, State, bool]]:
        """Return the distribution of the state after `choice`, and of whether its step has happened."""
        found: dict[tuple[State, bool], float] = {}
        for share, after, _, happened in self._take(state, choice) or ():
            found[after, happened] = found.get((after, happened), 0.0) + share
        return [(share, after, happened) for (after, happened), share in found.items()]

    def charge(self, state: State, choice: int) -> float:
        """Return the expected cost of `choice` in `state`, with that of the time that it takes."""
        time = sum([share * float(cost) for share, _, cost, _ in self._take(state, choice) or ()])
        return self.choices[choice].cost + time * self._resolution

    def left_after(self, choice: int, left: Left) -> Left | None:
        """Return the rest of the budgets after `choice`; None where it exceeds one."""
        return self.purse.after(choice, left) if left else left

    def _finish(self, state: State) -> tuple[State, bool, Number] | None:
        if state not in self._ends:
            self._ends[state] = self._turns.finish(self._engine, self.inner(state), self.more(state))
        return self._ends[state]

    def is_goal(self, state: State) -> bool:
        """Return whether the hard goal holds when all changes have happened, and what was due was reached."""
        ended = self._finish(state)
        return ended is not None and ended[1] and self.base.is_goal(ended[0])

    def utility(self, state: State) -> Number:
        """Return the sum of the utilities of the wishes that are fulfilled when all changes have happened."""
        ended = self._finish(state)
        return 0 if ended is None else self.base.utility(ended[0])

    def end_price(self, state: State) -> float:
        """Return the price of ending in `state`, with what changes at known times cost after it."""
        ended = self._finish(state)
        if ended is None:
            return self.base.end_price(self.inner(state))
        return self.base.end_price(ended[0]) + float(ended[2] * self._resolution)

    def time(self, state: State) -> Number | None:
        """Return when the next step can begin in `state`; None where time does not matter any more."""
        return self._turns.begins(self.more(state))
