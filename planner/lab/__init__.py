"""Ground problems for researchers: states and successors, landmarks, mutexes, abstractions, relaxed plans, heuristics.

from planner import lab

task = lab.ground("domain.pddl", "problem.pddl")
for successor in task.successors(task.initial): ...
"""

from planner.lab.abstract_spaces import Abstraction, AbstractState, AbstractTransition
from planner.lab.evaluators import Evaluator
from planner.lab.ground_problem import GroundProblem, ground
from planner.lab.landmark_graph import ActionLandmark, Landmark, LandmarkGraph, LmCutLandmarks, Order, Ordering
from planner.lab.pair_mutexes import PairMutexes
from planner.lab.relaxed_solutions import RelaxedSolution
from planner.lab.state_space import (
    ActionInstance,
    Fact,
    FiniteDomainVariable,
    GroundEffect,
    GroundState,
    Successor,
)

__all__ = [
    "AbstractState",
    "AbstractTransition",
    "Abstraction",
    "ActionInstance",
    "ActionLandmark",
    "Evaluator",
    "Fact",
    "FiniteDomainVariable",
    "GroundEffect",
    "GroundProblem",
    "GroundState",
    "Landmark",
    "LandmarkGraph",
    "LmCutLandmarks",
    "Order",
    "Ordering",
    "PairMutexes",
    "RelaxedSolution",
    "Successor",
    "ground",
]
