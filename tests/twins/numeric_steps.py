"""Compare the ground numeric task, in its packed form, with the simulation: step by step along random walks."""

from __future__ import annotations

import random
from fractions import Fraction

from planner.compilations.number_abstraction import VIOLATES
from planner.grounding.ground_numeric import ground_numeric
from planner.grounding.numeric_meaning import DEFINED
from planner.limits import Limits
from planner.model import Atom, Not, Problem
from planner.plan import Step
from planner.semantics.simulation import Simulation
from planner.task.numeric_task import NumericTask
from planner.task.numeric_task_compiled import pack_numeric_task
from planner.task.packed_facts_kernel import holds
from planner.task.packed_numbers_kernel import APPLIED, value_of
from planner.task.packed_states_kernel import apply


class Packed:
    """A numeric task as arrays, whose states are lists of words."""

    def __init__(self, source: NumericTask) -> None:
        self.source, self.task = source, source.task
        space = pack_numeric_task(source)
        assert space is not None
        self.space = space
        rules = [rule for layer in self.task.axioms for rule in layer.rules]
        self.read_by_axioms = {fact for rule in rules for fact in rule.body}
        """Facts that may only matter where they do not hold."""

    def successors(self, state: list[int]) -> dict[Step, list[int]]:
        """Return the states after all applicable actions."""
        space, found = self.space, {}
        for number, action in enumerate(self.task.actions):
            if holds(space.preconditions, number, state, 0):
                rows = [*state, *[0] * len(state)]
                if apply(space.space, number, rows, 0, len(state), space.words) == APPLIED:
                    step, after = Step(action.step.action, action.step.arguments), rows[len(state) :]
                    assert found.setdefault(step, after) == after, f"copies of {step} lead to different states"
        return found

    def facts(self, state: list[int]) -> list[bool]:
        """Return which facts hold."""
        places = map(self.space.packing.places.__getitem__, range(len(self.task.facts)))
        return [state[word] & mask == bits for word, mask, bits in places]

    def values(self, state: list[int]) -> list[int]:
        """Return the values of the variables."""
        fields, variables = self.space.space.numbers.fields, range(len(self.source.variables))
        return [value_of(fields, variable, state, self.space.words) for variable in variables]

    def is_goal(self, state: list[int]) -> bool:
        """Return whether the goal holds."""
        return holds(self.space.space.goal, 0, state, 0)


def describe(packed: Packed, simulation: Simulation, state: list[int]) -> str:
    """Return how `state` differs from that of `simulation`; "" where it does not."""
    values, numbers = simulation.values, packed.values(state)
    for variable, number in zip(packed.source.variables, numbers, strict=True):
        value = values.get(variable.fluent)
        if value is not None and Fraction(number, variable.scale) != value:
            return f"{variable.fluent} is {Fraction(number, variable.scale)}, not {value}"
    facts = packed.facts(state)
    for condition in packed.source.conditions:
        total = sum(weight * numbers[variable] for variable, weight in condition.terms) + condition.constant
        if facts[condition.fact] != (total >= 0):
            return f"condition {condition} is {facts[condition.fact]}"
    for literal, holds_now in zip(packed.task.facts, facts, strict=True):
        known = truth(literal, simulation)
        if known is not None and known != holds_now:
            return f"{literal} is {holds_now}"
    return ""


def truth(literal: Atom | Not, simulation: Simulation) -> bool | None:
    """Return whether a fact of the task holds; None for one that grounding has made."""
    if isinstance(literal, Not):
        known = truth(literal.part, simulation)
        return None if known is None else not known
    if literal.predicate == DEFINED:
        return literal.args[0] in {str(fluent) for fluent in simulation.values}
    return None if literal.predicate.startswith(("@", VIOLATES)) else simulation.holds(literal)


def compare_walk(problem: Problem, rng: random.Random, length: int) -> None:
    """Assert that the ground task and the simulation agree along a random walk."""
    simulation, source = Simulation(problem), ground_numeric(problem, Limits())
    if source.task.unreachable_goal is not None:
        for _ in range(length):
            assert not simulation.holds(problem.goal.hard), f"unreachable: {source.task.unreachable_goal}"
            steps = list(simulation.applicable())
            if not steps:
                return
            simulation.apply(rng.choice(steps))
        return
    packed = Packed(source)
    state = list(packed.space.initial)
    for _ in range(length):
        difference = describe(packed, simulation, state)
        assert not difference, difference
        assert packed.is_goal(state) == simulation.holds(problem.goal.hard), "the goal differs"
        wanted = {Step(step.action, step.arguments) for step in simulation.applicable()}
        found = packed.successors(state)
        assert found.keys() <= wanted, f"not applicable: {sorted(map(str, found.keys() - wanted))}"
        for step in sorted(wanted - found.keys(), key=str):
            after = simulation.copy()
            after.apply(step)
            difference = find_gain(packed, state, after)
            assert not difference, f"{step} is missing, and after it {difference}"
        if not found:
            return
        step = rng.choice(sorted(found, key=str))
        state = found[step]
        simulation.apply(step)


def find_gain(packed: Packed, state: list[int], after: Simulation) -> str:
    """Return a change that a step which is not in the task makes although something may need it."""
    for variable, number in zip(packed.source.variables, packed.values(state), strict=True):
        value = after.values.get(variable.fluent)
        if value is not None and Fraction(number, variable.scale) != value:
            return f"{variable.fluent} is {value}"
    for fact, (literal, before) in enumerate(zip(packed.task.facts, packed.facts(state), strict=True)):
        if not before and fact not in packed.read_by_axioms and truth(literal, after):
            return f"{literal} holds"
    return ""
