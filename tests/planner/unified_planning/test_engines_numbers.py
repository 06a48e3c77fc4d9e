"""Problems with numbers in both directions: the same steps and values, as unified-planning's own simulator says."""

from __future__ import annotations

import random
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import product

import pytest
from numeric_problems import random_numeric_problem
from unified_planning.engines import PlanGenerationResultStatus, ValidationResultStatus
from unified_planning.engines.plan_validator import SequentialPlanValidator
from unified_planning.engines.sequential_simulator import UPSequentialSimulator
from unified_planning.exceptions import UPInvalidActionError
from unified_planning.model import ProblemKind
from unified_planning.shortcuts import (
    GE,
    Equals,
    Fluent,
    InstantaneousAction,
    IntType,
    MaximizeExpressionOnFinalState,
    MinimizeActionCosts,
    MinimizeExpressionOnFinalState,
    Object,
    Plus,
    RealType,
    Times,
    UserType,
)
from unified_planning.shortcuts import Problem as ForeignProblem

from benchmarks.random_numeric import ALL, random_numeric_task
from planner import Domain
from planner.errors import ForethoughtError, InputError, UnsupportedError
from planner.language.pddl import parse_domain, parse_problem
from planner.model import Atom, Problem
from planner.model.domain import TypeHierarchy, numeric_fluents
from planner.plan import Step
from planner.semantics.simulation import Simulation
from planner.solve import solve
from planner.unified_planning.conversion import from_unified_planning, to_unified_planning
from planner.unified_planning.engine import ForethoughtEngine, ForethoughtOptimalEngine, convert_verdict
from planner.unified_planning.problem_reader import Incoming
from planner.unified_planning.problem_writer import Outgoing
from planner.validation.validate import validate

BLOCK = 15
"""Random problems of one test."""
LENGTH = 6
"""Steps of a random walk."""


class Theirs:
    """A problem of unified-planning as its simulator carries it out, in the words of the problem it was made of."""

    def __init__(self, outgoing: Outgoing) -> None:
        self.problem = outgoing.problem
        self.simulator = UPSequentialSimulator(self.problem, error_on_failed_checks=False)
        self.state = self.simulator.get_initial_state()
        self.functions = {name: word for word, name in outgoing.functions.items()}
        self.objects = {name: self.problem.object(word) for word, name in outgoing.objects.items()}
        words = {name: word for word, name in outgoing.actions.items() if self.problem.has_action(word)}
        self.actions = {name: self.problem.action(word) for name, word in words.items()}

    def after(self, step: Step):
        """Return the state after `step`; None where it is not applicable."""
        if step.action not in self.actions:
            return None
        arguments = tuple([self.objects[name] for name in step.arguments])
        try:
            return self.simulator.apply(self.state, self.actions[step.action], arguments)
        except UPInvalidActionError:  # its condition is false whatever the state
            return None

    def values(self, terms: list[Atom]) -> list[Fraction]:
        fluents = [
            self.problem.fluent(self.functions[term.predicate])(*[self.objects[name] for name in term.args])
            for term in terms
        ]
        return [Fraction(self.state.get_value(fluent).constant_value()) for fluent in fluents]


class Back:
    """What `from_unified_planning` makes of that problem."""

    def __init__(self, outgoing: Outgoing, incoming: Incoming) -> None:
        self.simulation, self.goal = Simulation(incoming.problem), incoming.problem.goal.hard
        self.words = {name: word for word, name in outgoing.objects.items()}
        self.functions = {name: word for word, name in outgoing.functions.items()}
        self.actions = {name: word for word, name in outgoing.actions.items()}

    def renamed(self, step: Step) -> Step:
        return Step(self.actions[step.action], tuple([self.words[name] for name in step.arguments]))

    def term(self, term: Atom) -> Atom:
        return Atom(self.functions[term.predicate], tuple([self.words[name] for name in term.args]))


def all_steps(problem: Problem) -> list[Step]:
    members = TypeHierarchy(problem.domain.types).objects_by_type(problem.all_objects)
    domains = {
        action.name: [sorted({name for kind in each.types for name in members[kind]}) for each in action.parameters]
        for action in problem.domain.actions.values()
    }
    return [Step(name, arguments) for name, places in domains.items() for arguments in product(*places)]


def changes_something(simulation: Simulation, step: Step) -> bool:
    after = simulation.copy()
    after.apply(step)
    return after.facts != simulation.facts or after.values != simulation.values


def compare_walk(problem: Problem, rng: random.Random) -> None:
    """Assert that three ways to carry out `problem` agree along a random walk."""
    outgoing = to_unified_planning(problem)
    back = Back(outgoing, from_unified_planning(outgoing.problem))
    ours, theirs = Simulation(problem), Theirs(outgoing)
    fluents = [term for term in problem.values if term.predicate in numeric_fluents(problem.domain)]
    for _ in range(LENGTH):
        assert back.simulation.holds(back.goal) == ours.holds(problem.goal.hard)
        applicable = {Step(step.action, step.arguments) for step in ours.applicable()}
        useful = {step for step in applicable if changes_something(ours, step)}
        again = {Step(step.action, step.arguments) for step in back.simulation.applicable()}
        renamed = {back.renamed(step): step for step in all_steps(problem)}
        assert useful <= {renamed[step] for step in again} <= applicable
        assert theirs.simulator.is_goal(theirs.state) == ours.holds(problem.goal.hard)
        assert useful <= {step for step in all_steps(problem) if theirs.after(step) is not None} <= applicable
        assert theirs.values(fluents) == [ours.values[term] for term in fluents]
        if not useful:
            return
        step = rng.choice(sorted(useful, key=str))
        ours.apply(step)
        back.simulation.apply(back.renamed(step))
        values = {term: back.simulation.values.get(back.term(term)) for term in fluents}
        assert {term: ours.values[term] for term, value in values.items() if value is not None} == {
            term: value for term, value in values.items() if value is not None
        }
        theirs.state = theirs.after(step)


def complete(problem: Problem) -> Problem:
    """Return `problem` with the value 0 for all functions without one, which unified-planning takes for errors."""
    members = TypeHierarchy(problem.domain.types).objects_by_type(problem.all_objects)
    terms = [
        Atom(function.name, arguments)
        for function in problem.domain.functions.values()
        for arguments in product(*[members[each.types[0]] for each in function.parameters])
    ]
    return replace(problem, values={**dict.fromkeys(terms, 0), **problem.values})


@pytest.mark.parametrize("block", range(6))
def test_there_and_back_again_counts_the_same(block: int) -> None:
    compared = 0
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        drawn = random_numeric_problem(seed)
        problem = complete(replace(drawn, domain=replace(drawn.domain, axioms=())))
        try:
            compare_walk(problem, random.Random(seed))
        except UnsupportedError:
            continue
        compared += 1
    assert compared > BLOCK // 3


@pytest.mark.parametrize("block", range(4))
def test_their_validator_takes_our_plans_and_finds_the_same_value(block: int) -> None:
    """Problems of PDDL: our engine solves what unified-planning holds, and its own validator judges the plan."""
    compared = 0
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        task = random_numeric_task(seed, replace(ALL, undefined=False))
        try:
            problem = parse_problem(task.problem, parse_domain(task.domain))
            outgoing = to_unified_planning(problem)
            incoming = from_unified_planning(outgoing.problem)
            result = solve(incoming.problem, mode="first", time_limit=2)
        except ForethoughtError:
            continue
        if result.plan is None:
            continue
        plan = incoming.plan(result.plan)
        theirs = SequentialPlanValidator().validate(outgoing.problem, plan)
        ours = convert_verdict(incoming.verdict(plan), plan, incoming, "forethought")
        assert theirs.status is ours.status is ValidationResultStatus.VALID
        assert {key: Fraction(value) for key, value in theirs.metric_evaluations.items()} == ours.metric_evaluations
        assert validate(problem, outgoing.steps(plan)).valid
        compared += 1
    assert compared > BLOCK // 5


class Van:
    """A van that burns what the way takes, and fills up for money."""

    def __init__(self) -> None:
        self.place = UserType("place")
        self.at = Fluent("at", self.place)
        self.fuel = Fluent("fuel", RealType(Fraction(0), Fraction(25, 2)))
        self.way = Fluent("way", IntType(), origin=self.place, target=self.place)
        self.drive = InstantaneousAction("drive", target=self.place)
        target = self.drive.target
        self.drive.add_precondition(GE(self.fuel, self.way(self.at, target)))
        self.drive.add_decrease_effect(self.fuel, self.way(self.at, target))
        self.drive.add_effect(self.at, target)
        self.fill = InstantaneousAction("fill")
        self.fill.add_increase_effect(self.fuel, Fraction(5, 2))
        self.money = Fluent("money", IntType(0, 20))
        self.fill.add_decrease_effect(self.money, 3)
        self.yard, self.dock = Object("yard", self.place), Object("dock", self.place)
        self.problem = ForeignProblem("van")
        self.problem.add_fluent(self.at, default_initial_value=self.yard)
        self.problem.add_fluent(self.fuel, default_initial_value=Fraction(3))
        self.problem.add_fluent(self.way, default_initial_value=7)
        self.problem.add_fluent(self.money, default_initial_value=10)
        self.problem.add_actions([self.drive, self.fill])
        self.problem.add_objects([self.yard, self.dock])
        self.problem.add_goal(Equals(self.at, self.dock))

    def solve(self, metric=None):
        if metric is not None:
            self.problem.add_quality_metric(metric)
        return ForethoughtOptimalEngine().solve(self.problem, timeout=20)


def test_numbers_of_object_fluents_are_read_by_conditions_and_effects() -> None:
    van = Van()
    read = from_unified_planning(van.problem).problem
    assert (read.domain.functions["fuel"].low, read.domain.functions["fuel"].high) == (0, Decimal("12.5"))
    result = van.solve()
    assert [str(action) for action in result.plan.actions] == ["fill", "fill", "drive(dock)"]


def test_costs_that_depend_on_the_state_are_added_up() -> None:
    van = Van()
    costs = {van.drive: Plus(van.way(van.at, van.drive.target), Times(2, van.fuel)), van.fill: 1}
    result = van.solve(MinimizeActionCosts(costs))
    assert result.status is PlanGenerationResultStatus.SOLVED_OPTIMALLY
    theirs = SequentialPlanValidator().validate(van.problem, result.plan)
    assert list(theirs.metric_evaluations.values()) == [7 + 2 * 8 + 2]


@pytest.mark.parametrize(("maximize", "value"), [(True, 10 - 2 * 3), (False, -2 * (10 - 2 * 3))])
def test_the_value_at_the_end_is_proved_best(maximize: bool, value: int) -> None:
    van = Van()
    best = MaximizeExpressionOnFinalState(van.money)
    result = van.solve(best if maximize else MinimizeExpressionOnFinalState(Times(-2, van.money)))
    assert result.status is PlanGenerationResultStatus.SOLVED_OPTIMALLY
    (found,) = SequentialPlanValidator().validate(van.problem, result.plan).metric_evaluations.values()
    assert found == value
    (same,) = ForethoughtEngine().validate(van.problem, result.plan).metric_evaluations.values()
    assert same == value


def test_a_start_outside_the_bounds_is_an_error() -> None:
    van = Van()
    van.problem._initial_value[van.fuel()] = van.problem.environment.expression_manager.Int(13)
    with pytest.raises(InputError, match="the initial value 13 of fuel is outside its bounds, 0 to 25/2"):
        from_unified_planning(van.problem)


def tank(**changes) -> Problem:
    """A tank to fill, `high` at most."""
    domain = Domain("tank")
    level = domain.function("level", low=0, **changes)
    domain.action("fill", modifies="level += 1.25")
    domain.action("halve", requires=["level > 1"], modifies="level *= 0.5")
    assert level is not None
    return domain.problem(values={"level": 0}, goal=["level >= 2"])


def test_fractions_are_written_exactly() -> None:
    target = to_unified_planning(tank(high=10)).problem
    assert str(target.action("fill").effects[0]) == "level += 5/4"
    assert target.fluent("level").type == target.environment.type_manager.RealType(Fraction(0), Fraction(10))


def test_amounts_outside_the_bounds_make_conditions_of_them() -> None:
    target = to_unified_planning(tank(high=1)).problem
    assert target.fluent("level").type == target.environment.type_manager.RealType()
    assert "((level + 5/4) <= 1)" in str(target.action("fill").preconditions)


@pytest.mark.parametrize("more", [set(), {"HIERARCHICAL", "METHOD_PRECONDITIONS"}])
def test_numbers_are_taken(more: set[str]) -> None:
    kind = ProblemKind({"ACTION_BASED", "INT_FLUENTS", "GENERAL_NUMERIC_PLANNING", "FINAL_VALUE", *more}, version=2)
    assert ForethoughtEngine.supports(kind)
