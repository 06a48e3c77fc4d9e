"""Random decision processes with aims."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import islice

import pytest

from benchmarks.random_problems import Features, random_problem, reachable
from planner import Objective
from planner.jit import library
from planner.limits import Limits
from planner.model import COST, TRUE, Goal, SoftGoal
from planner.policies.decision import Aim, Hopes
from planner.policies.policy_mcts_compiled import CompiledTrials, KernelHopes, ProcessBoard
from planner.policies.process_grounding import process_of

UNCERTAIN = Features(uncertain=True, decimals=True)
PLAIN = library.ENTRIES
WAYS = ("success", "cost", "utility", "budget")


def never():
    pass


def aim_of(seed, way):
    """Return a random process with an aim; every other one with a budget or with wishes, where that is the way."""
    problem = random_problem(seed, UNCERTAIN)
    if way == "utility":
        *_, far = islice(reachable(problem), random.Random(seed).randint(2, 20))
        wishes = tuple([SoftGoal(fact, 3) for fact in sorted(far.facts, key=str)[:3]])
        problem = replace(problem, goal=Goal(TRUE if seed % 2 else problem.goal.hard, wishes))
    if way in ("budget", "utility"):
        problem = replace(problem, budgets={COST: 3})
    process = process_of(problem, Limits())
    objective = {"cost": Objective.COST, "utility": Objective.UTILITY}.get(way, Objective.SUCCESS)
    penalty = 4.0 * process.task.resolution if way == "cost" else None
    hopeless = process.task.unreachable_goal is not None
    return Aim(process, objective, penalty, None if hopeless else Hopes(process, never))


def board_of(seed, way, entries=PLAIN):
    """Return a board for a random process with an aim, whose hopes are those of the board."""
    aim = aim_of(seed, way)
    if aim.hopes is None:
        pytest.skip("nothing leads to the goal")
    board = ProcessBoard(aim, entries)
    aim.hopes = KernelHopes(board)
    return board


def compiled(board, simulations, **sizes):
    """Return a search on `board` after so many simulations."""
    search = CompiledTrials(board, 3, **sizes)
    search.simulate(simulations, never)
    return search
