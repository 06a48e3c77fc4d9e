"""Numbers in bits of shared words: the states are those of exact arithmetic, whatever the range and the effect."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import pytest
from numeric_astar import search_numbers
from numeric_steps import Packed

from planner.grounding.ground_numeric import ground_numeric
from planner.jit.common_kernel import ENTRIES
from planner.language.pddl import parse_domain, parse_problem
from planner.limits import Limits
from planner.search.best_first_compiled import BestFirst
from planner.search.search_run import Ending, Run
from planner.task import numeric_task_compiled
from planner.task.ground_task import State, bits
from planner.task.numeric_ranges import Ranges
from planner.task.numeric_space import NumericSpace
from planner.task.numeric_task import NumericTask

MOST_STATES = 150
EFFECTS = {
    "increase": ["(increase (x) 3)", "(decrease (x) 2)"],
    "assign": ["(assign (x) {top})", "(assign (x) {bottom})", "(assign (x) (+ (y) {bottom}))"],
    "scale": ["(scale-up (x) 2)", "(scale-down (x) -1)", "(assign (x) (+ (* 3 (x)) (y)))"],
    "several": ["(and (increase (x) 3) (increase (y) 1))", "(and (decrease (x) (y)) (assign (y) 0))"],
    "conditional": ["(and (increase (x) 1) (when (p) (increase (x) 40)) (when (p) (decrease (x) 38)))", "(not (p))"],
}
RANGES = {
    "known": (0, 11, "(and (>= (x) {bottom}) (<= (x) {top}))"),
    "negative": (-9, -2, "(and (>= (x) {bottom}) (<= (x) {top}))"),
    "on both sides": (-7, 9, "(and (>= (x) {bottom}) (<= (x) {top}))"),
    "large": (10**9, 10**9 + 12, "(and (>= (x) {bottom}) (<= (x) {top}))"),
    "bounded below": (0, 11, "(>= (x) {bottom})"),
    "unknown": (-3, 8, "(and)"),
}
"""The least and greatest value that actions ask for, and how they ask: they look before they change the value."""


def ground(effects: str, reach: str) -> NumericTask:
    """Return a task whose actions have these effects, and look at the range of x before; y stays from 0 to 4."""
    bottom, top, asks = RANGES[reach]
    names = {"bottom": bottom, "top": top}
    actions = [
        f"(:action a{number} :parameters () :precondition (and (<= (y) 3) {asks.format(**names)})"
        f" :effect {effect.format(**names)})"
        for number, effect in enumerate(EFFECTS[effects])
    ]
    domain = (
        "(define (domain numbers) (:requirements :numeric-fluents :conditional-effects)"
        f" (:predicates (p)) (:functions (x) (y)) {' '.join(actions)})"
    )
    middle = (bottom + top) // 2
    problem = (
        f"(define (problem one) (:domain numbers) (:init (p) (= (x) {middle}) (= (y) 1))"
        f" (:goal (and (= (x) {middle + 1}) (>= (y) 1))))"
    )
    return ground_numeric(parse_problem(problem, parse_domain(domain)), Limits())


Description = tuple[State, tuple[int, ...]]
"""The facts that hold and the values of the variables."""


def list_packed(source: NumericTask) -> Iterator[tuple[Description, set[tuple[str, Description]]]]:
    """Yield each state, breadth first, and where actions lead from there, in packed states."""
    packed = Packed(source)

    def describe(state: tuple[int, ...]) -> Description:
        held = packed.facts([*state])
        return bits([fact for fact, holds in enumerate(held) if holds]), tuple(packed.values([*state]))

    queue, known = [tuple(packed.space.initial)], {tuple(packed.space.initial)}
    for state in queue:
        after = {str(step): tuple(target) for step, target in packed.successors([*state]).items()}
        queue += [target for target in dict.fromkeys(after.values()) if target not in known]
        known.update(after.values())
        yield describe(state), {(step, describe(target)) for step, target in after.items()}


def list_exact(source: NumericTask) -> Iterator[tuple[Description, set[tuple[str, Description]]]]:
    """Yield the same in exact arithmetic."""
    space = NumericSpace(source)
    queue, known = [space.initial], {space.initial}
    for state in queue:
        after = {str(source.task.actions[action].step): target for action, target in space.successors(state)}
        queue += [target for target in dict.fromkeys(after.values()) if target not in known]
        known.update(after.values())
        yield describe_exact(space, state), {(step, describe_exact(space, target)) for step, target in after.items()}


def describe_exact(space: NumericSpace, state: State) -> Description:
    return space.closed(state), space.values(state)


@pytest.mark.parametrize("reach", RANGES)
@pytest.mark.parametrize("effects", EFFECTS)
def test_packed_states_are_those_of_exact_arithmetic(effects: str, reach: str) -> None:
    source = ground(effects, reach)
    packed, exact = (list(islice(states(source), MOST_STATES)) for states in (list_packed, list_exact))
    assert len(exact) > 1
    assert {each for each, _ in packed} == {each for each, _ in exact}
    assert dict(packed) == dict(exact)


def find_distance(source: NumericTask) -> int | None:
    """Return the length of a shortest plan in exact arithmetic; None where all states are known and none is a goal."""
    space = NumericSpace(source)
    goal, distance, queue = bits(source.task.goal), {space.initial: 0}, [space.initial]
    for state in queue:
        if not goal & ~space.closed(state):
            return distance[state]
        for _, after in space.successors(state):
            if after not in distance and len(distance) < 20 * MOST_STATES:
                distance[after] = distance[state] + 1
                queue.append(after)
    return None


@pytest.mark.parametrize("reach", [reach for reach in RANGES if reach not in ("unknown", "bounded below")])
@pytest.mark.parametrize("effects", EFFECTS)
def test_searches_find_what_exact_arithmetic_finds(effects: str, reach: str) -> None:
    source = ground(effects, reach)
    space, best = Packed(source).space, find_distance(source)
    for heuristic in ("blind", "hmax", "lmcut", "equation"):
        ending, run = search_numbers(space, heuristic)
        assert ending is Ending.EXHAUSTED
        assert (run.plan and len(run.plan)) == best
    run = Run()
    for _ in BestFirst(space, ENTRIES, [1] * len(source.task.actions), options=("novel",), room=4).steps(run):
        pass
    assert (run.plan is None) == (best is None)


def test_known_ranges_share_a_word_and_others_have_their_own() -> None:
    known, unknown = (Packed(ground("increase", reach)).space.space.numbers.fields for reach in ("known", "unknown"))
    assert (list(known.words), len(set(known.word))) == ([1], 1)
    assert -1 not in known.mask
    assert -1 in unknown.mask


def test_a_range_that_is_too_small_leaves_states_out_and_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The initial value alone counts as the range: what leaves it is left out, and touches no other variable."""

    def find_too_small(source: NumericTask) -> Ranges:
        initial = [each.initial for each in source.variables]
        return Ranges([*initial], [*initial])

    source = ground("increase", "known")
    assert find_distance(source) is not None
    monkeypatch.setattr(numeric_task_compiled, "find_ranges", find_too_small)
    assert len(list(list_packed(source))) == 1
    ending, run = search_numbers(Packed(source).space, "blind")
    assert (ending, run.plan) == (Ending.INCOMPLETE, None)
