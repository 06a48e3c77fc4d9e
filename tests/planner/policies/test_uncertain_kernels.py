"""Monte-Carlo tree search for policies: kernels make the graphs of the readable twin, and the policies from them."""

from __future__ import annotations

import contextlib

import pytest
from uncertain_aims import PLAIN, UNCERTAIN, WAYS, aim_of, board_of, compiled, never

from benchmarks.random_problems import random_problem
from planner import Status, decide, evaluate
from planner.jit import library
from planner.jit import slots_kernel as slot
from planner.limits import LimitReached
from planner.plan import StoppedBy
from planner.policies import policy_mcts
from planner.policies.lao_star import Bounds, search_all_states
from planner.policies.markov_decision_process import Graph
from planner.policies.policy_mcts import FIRST_SWEEP, Mcts, search_by_simulations
from planner.policies.policy_mcts_compiled import CompiledTrials, KernelHopes, ProcessBoard
from planner.policies.policy_mcts_kernel import NO_NODE


def reference(aim, simulations):
    search, sweep = Mcts(Graph(aim.process, aim), 3), FIRST_SWEEP
    for done in range(1, simulations + 1):
        if search.values.settled[0]:
            break
        search.simulate()
        if done == sweep:
            search.sweeps.sweep(never)
            sweep += sweep // 2
    return search


def assert_same(search, twin):
    """The same nodes, with the same values, of the same states."""
    graph, values, outlook = twin.graph, twin.values, search.outlook
    nodes, parts = len(graph), len(values.parts)
    assert search.number[slot.NODES] == nodes
    assert list(outlook.visits[:nodes]) == values.visits
    assert [bool(each) for each in outlook.settled[:nodes]] == values.settled
    assert [list(outlook.value[part : nodes * parts : parts]) for part in range(parts)] == list(values.parts)
    budgets, words = search.number[slot.BUDGETS], search.board.packed.words
    for node in range(nodes):
        state, *left = search.rows.state[node * (1 + budgets) : (node + 1) * (1 + budgets)]
        assert search.board.unpack(search.registry.state[state * words : (state + 1) * words]) == graph.states[node]
        assert tuple(left) == graph.left[node]


@pytest.mark.parametrize("simulations", [3, 40, 150])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(10))
def test_both_tiers_make_the_same_graphs(seed, way, simulations):
    twin = reference(board_of(seed, way).aim, simulations)
    assert_same(compiled(board_of(seed, way), simulations), twin)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(100, 112))
def test_they_do_where_there_are_many_choices_and_little_room(seed, way, monkeypatch):
    monkeypatch.setattr(policy_mcts, "WIDE", 1)
    monkeypatch.setattr("planner.policies.policy_mcts_compiled.WIDE", 1)
    twin = reference(board_of(seed, way).aim, 60)
    assert_same(compiled(board_of(seed, way), 60, room=1, work=50), twin)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(100, 106))
def test_whoever_gives_up_finds_all_nodes_entered(seed, way):
    search = CompiledTrials(board_of(seed, way), 3, room=1, work=1)

    def check():
        assert search.number[slot.ENTERED] == search.number[slot.NODES]

    search.simulate(20, check)


def exact(aim):
    graph, bounds = Graph(aim.process, aim), Bounds(())

    def check():
        if len(graph) > 200:
            pytest.skip("too many states")

    search_all_states(graph, bounds, check)
    return bounds.values


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(200, 230))
def test_policies_of_kernels_are_worth_what_is_said(seed, way, monkeypatch):
    monkeypatch.setattr(library, "_loaded", {"planner": PLAIN})
    for simulations in (4, 400):
        board, bounds = board_of(seed, way), Bounds(())
        solution = search_by_simulations(Graph(board.aim.process, board.aim), bounds, never, simulations=simulations)
        values, best = [each[0] for each in solution.values], exact(board.aim)
        if bounds.proved:
            assert values == pytest.approx(best, abs=1e-7)
        elif simulations > 4:
            assert values == pytest.approx(best, rel=0.01)
        if len(values) > 1:
            assert values[0] - 1e-9 <= best[0] <= (*bounds.values, 1.0)[0] + 1e-9
        else:
            assert (*bounds.values, 0.0)[0] - 1e-9 <= best[0] <= values[0] + 1e-9


@pytest.mark.parametrize("seed", range(300, 310))
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("calls", [1, 5, 20])
def test_limits_leave_a_policy_of_what_is_known(seed, way, calls, monkeypatch):
    monkeypatch.setattr(library, "_loaded", {"planner": PLAIN})
    monkeypatch.setattr("planner.policies.policy_mcts_compiled.WORK", 100)
    board, bounds, left = board_of(seed, way), Bounds((0.0,)), [calls]

    def check():
        left[0] -= 1
        if not left[0]:
            raise LimitReached(StoppedBy.TIME)

    graph = Graph(board.aim.process, board.aim)
    with contextlib.suppress(LimitReached):
        search_by_simulations(graph, bounds, check)
    known, best = policy_mcts.solve_known_part(graph, bounds, never).values[0][0], exact(board.aim)
    assert known <= best[0] + 1e-9 if len(best) > 1 else known >= best[0] - 1e-9


def test_hopes_of_kernels_are_those_of_the_reference_where_these_are_unique(monkeypatch):
    monkeypatch.setattr("planner.policies.decision.GUIDE", "hmax")
    monkeypatch.setattr("planner.policies.policy_mcts_compiled.guide", lambda _: "hmax")
    for seed in range(20):
        aim = aim_of(seed, "budget")
        if aim.hopes is not None:
            hopes, graph = KernelHopes(ProcessBoard(aim, PLAIN)), Graph(aim.process, aim)
            search_all_states(graph, Bounds(()), never)
            for state in graph.states[:50]:
                assert hopes.expected(state) == aim.hopes.expected(state)
                assert hopes.luckiest(state) == aim.hopes.luckiest(state)


def test_decisions_are_the_same_in_both_tiers(monkeypatch):
    for seed in range(1000, 1020):
        problem = random_problem(seed, UNCERTAIN)
        found = []
        for entries in ([], [PLAIN]):
            monkeypatch.setattr(library, "_loaded", entries)
            monkeypatch.setattr(library, "load", lambda *_, entries=entries: entries[0] if entries else None)
            found.append(decide(problem, search="mcts", simulations=100))
        one, other = found
        assert one.status is other.status
        assert one.statistics.simulations == other.statistics.simulations
        if one.policy is not None:
            assert one.policy.success == pytest.approx(other.policy.success)
            assert one.expected_cost == pytest.approx(other.expected_cost)
            assert evaluate(problem, other.policy).success == pytest.approx(other.policy.success)
            assert (other.status is Status.OPTIMAL) == (other.stopped_by is StoppedBy.EXHAUSTED)


def test_searches_begin_between_two_simulations():
    board = board_of(0, "success")
    assert board.number[slot.PENDING] == NO_NODE
