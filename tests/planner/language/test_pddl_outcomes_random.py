"""Uncertain actions written as `probabilistic` effects: what is read of them comes out as it did."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import replace

import pytest

from benchmarks.random_problems import Features, random_problem
from planner.errors import UnsupportedError
from planner.language.pddl import parse_domain, parse_problem
from planner.language.pddl.export import Export, export
from planner.model import Atom, Problem
from planner.plan import Step
from planner.policies.evaluation import Declared
from planner.semantics.simulation import Simulation

UNCERTAIN = Features(uncertain=True)
LIMIT = 150

Distribution = dict[frozenset[Atom], float]


def read_back(written: Export) -> Problem:
    return parse_problem(written.problem, parse_domain(written.domain))


def process(
    problem: Problem, step: Callable[[Step], Step], shown: Callable[[Atom], bool]
) -> dict[frozenset[Atom], tuple[bool, dict[Step, Distribution]]] | None:
    """Return for each state whether it is a goal, and what may come of each step; None where there are many states."""
    declared = Declared(problem)
    found: dict[frozenset[Atom], tuple[bool, dict[Step, Distribution]]] = {}
    queue: deque[Simulation] = deque([declared.initial])
    while queue:
        state = queue.popleft()
        facts = frozenset(filter(shown, state.facts))
        if facts in found:
            continue
        after: dict[Step, Distribution] = {}
        for each in state.applicable():
            shares: defaultdict[frozenset[Atom], float] = defaultdict(float)
            for probability, then in declared.outcomes(state, each):
                shares[frozenset(filter(shown, then.facts))] += probability
                queue.append(then.copy())
            after[step(each)] = {key: round(share, 9) for key, share in shares.items()}
        found[facts] = state.holds(problem.goal.hard), after
        if len(found) > LIMIT:
            return None
    return found


def without_history(problem: Problem) -> Problem:
    """Return `problem` without what has to have run before, which states have beside their facts."""
    actions = {name: replace(action, after=()) for name, action in problem.domain.actions.items()}
    return replace(problem, domain=replace(problem.domain, actions=actions))


def told(step: Step) -> Step:
    """Return `step` without what it costs, which is scaled in files."""
    return Step(step.action, step.arguments)


@pytest.mark.parametrize("seed", range(60))
def test_what_is_read_comes_out_as_it_did(seed: int) -> None:
    problem = without_history(random_problem(seed, UNCERTAIN))
    try:
        written = export(problem)
    except UnsupportedError as error:
        assert "uncertain outcomes of" in str(error) or "depend on its arguments" in str(error)  # noqa: PT017
        return
    again = read_back(written)

    def shown(fact: Atom) -> bool:
        return fact.predicate in problem.domain.predicates

    ours = process(problem, told, shown)
    theirs = process(again, lambda step: told(written.lift(step)), shown)
    assert ours == theirs


def test_many_random_problems_are_written() -> None:
    def is_written(seed: int) -> bool:
        try:
            export(random_problem(seed, UNCERTAIN))
        except UnsupportedError:
            return False
        return True

    assert sum(map(is_written, range(60))) >= 20
